"""What an embedding service says a request took, by stage."""

import contextlib
from collections.abc import Mapping

from cortex.contracts.embedding import STAGES

_TEI_HEADERS = {
    "tokenize": "x-tokenization-time",
    "queue": "x-queue-time",
    "inference": "x-inference-time",
}
"""Text Embeddings Inference tells the same stages, in whole milliseconds."""


def stages_told(headers: Mapping[str, str]) -> dict[str, float]:
    """Seconds by stage: of `Server-Timing`, else of the interface's own headers; else none."""
    if timing := headers.get("server-timing"):
        told = (part.strip().partition(";dur=") for part in timing.split(","))
        texts = {name: value.partition(";")[0] for name, _, value in told if name in STAGES}
    else:
        texts = {stage: headers.get(name, "") for stage, name in _TEI_HEADERS.items()}
    found: dict[str, float] = {}
    for name, text in texts.items():
        with contextlib.suppress(ValueError):
            found[name] = float(text) / 1000
    return found
