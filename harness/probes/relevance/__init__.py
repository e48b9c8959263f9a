"""The relevance suite: how well each search strategy finds what people judged relevant.

Each eval set is loaded once; one server a strategy answers over the same database, the default one
twice (a second replica), so that a run that is not deterministic is found in the run itself.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.errors import NothingCollected
from harness.evalsets import leakage
from harness.evalsets.records import EvalSet
from harness.probes.relevance import ann, answers, files
from harness.probes.relevance.passes import AGAIN, Pass, passes
from harness.probes.relevance.scoring import count, macro, scored, stability
from harness.results import Record

if TYPE_CHECKING:
    from harness.suites import Context


def measure(context: "Context") -> Iterator[Record]:
    """Ask every set's queries in every way, and yield what was measured."""
    if not context.sets:
        raise NothingCollected("no eval set; put one into evals/relevance, see docs/guides")
    done: list[Pass] = []
    for found in context.sets:
        yield from _leaks(context, found)
        of_set = list(passes(context.bench, found))
        for one in of_set:
            yield from scored(one)
        yield from stability(of_set)
        yield from answers.measure(context, found, of_set[0])
        yield from ann.measure(context.bench, found)
        done += [one for one in of_set if one.variant != AGAIN.name]
        files.write(context.folder, done)
    yield from macro(done)
    hits, misses = context.bench.cached
    yield count("relevance.cache-hits", hits)
    yield count("relevance.cache-misses", misses)


def _leaks(context: "Context", found: EvalSet) -> Iterator[Record]:
    leaks = leakage.find(found)
    files.write_leaks(context.folder, found.name, leaks)
    sentences = {leak.query for leak in leaks if leak.words >= leakage.SENTENCE_WORDS}
    yield count("relevance.leaks", len(sentences), found.name)
