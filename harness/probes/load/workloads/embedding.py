"""Distinct single texts to embed: phrases of an eval set, as searches would send them."""

import json

from harness.probes.load.asked import Asked
from harness.probes.load.workloads import memory_search
from loadtests.plans import Call


def calls(asked: Asked, count: int) -> list[Call]:
    """The texts of so many different searches, one request each."""
    url, headers = f"{asked.embedding_url}/embed", {"content-type": "application/json"}
    bodies = (json.dumps({"inputs": text}) for text in memory_search.texts(asked, count))
    return [Call(url, headers, body, "embedding", "embed") for body in bodies]
