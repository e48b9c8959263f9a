"""Distinct items to keep: notes of sentences of an eval set, one `AddItem` each."""

import random

from harness import mcp
from harness.probes.load.asked import Asked
from loadtests.plans import Call

WRITES = True
WORDS = (20, 60)


def calls(asked: Asked, count: int) -> list[Call]:
    """So many different notes, always the same ones for a seed."""
    chance = random.Random(asked.seed)
    words = [w for one in asked.loaded.found.documents for w in one.text.split()] or ["word"]
    made = []
    for number in range(count):
        length = chance.randint(*WORDS)
        start = chance.randrange(max(1, len(words) - length))
        text = " ".join(words[start : start + length])[:4000]
        title = f"{' '.join(text.split()[:6])[:200]} {asked.seed}-{number}"
        arguments: dict[str, object] = {
            "project": asked.scratch_project,
            "category": "note",
            "title": title,
            "content": text,
            "subject": title,
            "body": title,
        }
        headers, body = mcp.request("AddItem", arguments, asked.token)
        made.append(Call(asked.memory_url, headers, body.decode(), "memory-writes", "write"))
    return made
