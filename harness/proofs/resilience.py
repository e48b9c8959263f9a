"""Is every acknowledged write there after many faults, and is the stack whole again each time?"""

from harness.probes.resilience import proof
from harness.probes.resilience.faults import FAULTS
from harness.probes.resilience.repeated import ENOUGH, repeated
from harness.proofs import Asked, revision

SEED = 1729


def prove(asked: Asked) -> bool:
    """Two faults of each kind (fewer where fewer are asked for), and `resilience.md`."""
    count = max(ENOUGH, min(2 * len(FAULTS), 2 * asked.count)) if asked.count >= 20 else asked.count
    made = repeated(count, (), asked.kept / "resilience.jsonl", SEED, revision())
    (asked.pages / "resilience.md").write_text(proof.page(made), encoding="utf-8")
    return made.holds
