"""Is every acknowledged write there after many faults, and is the stack whole again each time?"""

from harness.probes.resilience import proof
from harness.probes.resilience.faults import FAULTS
from harness.probes.resilience.repeated import repeated
from harness.proofs import Asked, revision

SEED = 1729
LEAST = 30


def prove(asked: Asked) -> bool:
    """Two faults of each kind (fewer where fewer are asked for), and `resilience.md`."""
    count = max(LEAST, min(2 * len(FAULTS), 2 * asked.count)) if asked.count >= 20 else asked.count
    done = repeated(count, (), asked.kept / f"resilience-{revision()}.jsonl", SEED)
    (asked.pages / "resilience.md").write_text(proof.page(done), encoding="utf-8")
    return len(done) >= min(count, LEAST) and not any(one.failings for one in done)
