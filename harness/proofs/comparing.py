"""Does `compare` say nothing where nothing changed, and find and blame what did?

same       one revision against itself: no verdict of slower
slower     one stage of the candidate takes 20 % longer: found, and that stage blamed
relevance  the run's own rankings, worsened by a known loss of macro nDCG@10, before the gates

Several comparisons share a sitting (both stacks stay up), several sittings a part: what one pair of
processes happens to be like is then not taken for the rule. Each comparison is on disk before the
next; what is there of this revision is not measured again.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from harness import baselines, gates_file, kept_rows
from harness.comparing import blocks, builds, relevance, speed
from harness.comparing.running import ranked, scored
from harness.comparing.sitting import sitting
from harness.environment import ROOT
from harness.evalsets.collect import collect
from harness.evalsets.records import EvalSet
from harness.evidence import HYBRID, Evidence
from harness.gates import judge
from harness.progress import say
from harness.proofs import Asked, revision
from harness.proofs.page import page
from harness.proofs.relevance_loss import worsened
from harness.results import Records

EVALS = ROOT / "evals"
SLOWED = Path(__file__).parent / "slowed"
FACTOR = 1.2
STAGES = ("embed", "vector", "text")
SITTINGS = len(STAGES)
LOSSES = (0.02, 0.001)
SHAPES = ("few", "many")
PARTS = ("same", "slower", "relevance")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One comparison still to make; `stage` is the one that is slowed, if any."""

    part: str
    number: int
    sitting: int
    stage: str


def prove(asked: Asked) -> bool:
    """Make what is missing, write `comparing.md`; whether every promise holds."""
    of = revision()
    kept = asked.kept / "comparing.jsonl"
    found = collect(EVALS / "relevance", None, (), "quick").sets[0]
    parts = [part for part in PARTS if part in (asked.parts or PARTS)]
    done = {(row["part"], row["number"]) for row in _rows(kept, of)}
    for part in ("same", "slower"):
        if part in parts:
            wanted = [one for one in _wanted(part, asked.count) if (part, one.number) not in done]
            for row in _compared(wanted, found):
                _keep(kept, of, row)
    if "relevance" in parts and ("relevance", len(LOSSES) * asked.count) not in done:
        for row in _worsened(found, asked.count):
            _keep(kept, of, row)
    text, holds = page(_rows(kept, of), of, asdict(_gates().compare), asked.count)
    (asked.pages / "comparing.md").write_text(text, encoding="utf-8")
    return holds


def _wanted(part: str, count: int) -> list[_Wanted]:
    """The comparisons of a part, as evenly as it goes over its sittings; one stage a sitting."""
    each = -(-count // SITTINGS)
    return [
        _Wanted(part, number, number // each, STAGES[number // each] if part == "slower" else "")
        for number in range(count)
    ]


def _rows(kept: Path, of: str) -> list[dict[str, Any]]:
    return [row for row in kept_rows.read(kept) if row["revision"] == of]


def _keep(kept: Path, of: str, row: dict[str, Any]) -> None:
    kept_rows.keep(kept, {"revision": of, **row})


def _gates() -> gates_file.GatesFile:
    return gates_file.read(EVALS / "gates.toml")


# Speed.


def _compared(wanted: Sequence[_Wanted], found: EvalSet) -> Iterator[dict[str, Any]]:
    limits = _gates().compare
    left = list(wanted)
    while left:
        together = [one for one in left if one.sitting == left[0].sitting]
        left = [one for one in left if one not in together]
        with _sitting(together[0].stage, found) as sides:
            for one in together:
                # No seed twice: a server knows the vectors of what it was asked before.
                plan = blocks.Plan(
                    pairs=limits.most_pairs,
                    calls=limits.calls,
                    warm_up=limits.warm_up,
                    seed=1000 * (1 + PARTS.index(one.part)) + one.number,
                )
                asked = blocks.alternate(sides, plan)
                changes = speed.measured(asked, limits, lambda _: None)
                row = {
                    "part": one.part,
                    "number": one.number,
                    "stage": one.stage,
                    "blamed": speed.blamed(changes),
                    "pairs": max(change.n for change in changes),
                    "open": [c.series for c in changes if c.standing == "inconclusive"],
                    "changes": [
                        c.model_dump(
                            include={
                                "series",
                                "ratio",
                                "ratio_low",
                                "ratio_high",
                                "difference_ms",
                                "base_ms",
                                "standing",
                            }
                        )
                        for c in changes
                    ],
                }
                told = row["blamed"] or ("undecided" if row["open"] else "no change")
                say(f"  {one.part} {one.number + 1}{f' ({one.stage})' * bool(one.stage)}: {told}")
                yield row


@contextmanager
def _sitting(stage: str, found: EvalSet) -> Iterator[list[blocks.Side]]:
    """Both stacks of the working tree, one stage of the candidate slowed."""
    with ExitStack() as open_:
        folder = Path(open_.enter_context(tempfile.TemporaryDirectory(prefix="cortex-proof-")))
        base, candidate = (
            open_.enter_context(builds.build(role, ROOT, "", folder, folder / "logs"))
            for role in (blocks.BASE, blocks.CANDIDATE)
        )
        if stage:
            variables = (("SLOWED_STAGE", stage), ("SLOWED_BY", str(FACTOR)))
            candidate = replace(candidate, before=(SLOWED,), variables=variables)
        yield open_.enter_context(sitting([base, candidate], found, folder))


# Relevance.


def _worsened(found: EvalSet, count: int) -> Iterator[dict[str, Any]]:
    """The rankings of this revision as they are, then worsened, each before the real gates."""
    with ExitStack() as open_:
        folder = Path(open_.enter_context(tempfile.TemporaryDirectory(prefix="cortex-proof-")))
        build = open_.enter_context(
            builds.build(blocks.BASE, ROOT, builds.WORKING_TREE, folder, folder / "logs")
        )
        (side,) = open_.enter_context(sitting([build], found, folder))
        rankings = ranked(side, found)
    was = _macro(found, rankings)
    yield _before_the_gates(found, rankings, was, {"number": 0, "loss": 0.0, "shape": ""})
    number = 0
    for loss in LOSSES:
        for turn in range(count):
            number += 1
            shape = SHAPES[turn % len(SHAPES)]
            worse = worsened(found, rankings, loss, shape, seed=number)
            told = {"number": number, "loss": loss, "shape": shape}
            yield _before_the_gates(found, worse, was, told)


def _macro(found: EvalSet, rankings: Mapping[str, Sequence[str]]) -> float:
    return fmean(scored(found, rankings).scores["ndcg@10"].values())


def _before_the_gates(
    found: EvalSet, rankings: Mapping[str, Sequence[str]], was: float, told: dict[str, Any]
) -> dict[str, Any]:
    """Which of the gates about what was fall, against the committed baseline."""
    gates = gates_file.read(EVALS / "gates.toml")
    baseline = baselines.read(baselines.path_of(EVALS, "quick"))
    assert baseline is not None, "there is no committed baseline to lose against"
    scores = scored(found, rankings)
    evidence = Evidence(
        records=Records((), (), ()),
        profile="quick",
        suites=frozenset({"relevance"}),
        fingerprints={found.name: found.fingerprint},
        scores={(found.name, HYBRID): scores},
        model=baseline.model,
        baseline=baseline,
    )
    judged = judge(relevance.about_what_was(gates.gates), gates.groups, evidence)
    return {
        "part": "relevance",
        **told,
        "lost": was - fmean(scores.scores["ndcg@10"].values()),
        "fell": [one.id for one in judged if one.standing == "fell"],
        "others": {one.id: one.standing for one in judged if one.standing not in ("fell", "held")},
    }
