"""`python -m harness.probes.search_peers`: loads scifact twice, compares, prints, writes JSON."""

import itertools
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from harness.environment import ROOT, machine, revision
from harness.errors import HarnessError, NothingCollected, StackFailed
from harness.evalsets import beir
from harness.evalsets.records import EvalSet
from harness.measures import ranking
from harness.probes import embedding_cache
from harness.probes.search_cost.variants import memory_server
from harness.probes.search_peers import comparing, loading
from harness.probes.search_peers.clients import clients
from harness.probes.search_peers.comparing import Figures, Timing
from harness.probes.search_peers.processor_time import ProcessorTime
from harness.probes.search_peers.queries import variations
from harness.probes.search_peers.recipes import RECIPES
from harness.probes.search_peers.systems import Ours, Recipe, System
from harness.progress import say
from harness.stack import own_stack
from harness.targets import Targets

SET = "scifact"
FASTEST_PER_S = 600
"""More searches a second than any system here does: so many texts are made ready for each."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The systems over the same documents, ours first, and which document each of our ids is."""

    systems: Sequence[System]
    documents: Mapping[str, str]


@click.command(help=__doc__)
@click.option(
    "--eval-sets",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="CORTEX_EVAL_SETS",
    help="Folder with a folder `scifact` in BEIR form. [CORTEX_EVAL_SETS]",
)
@click.option(
    "--cache",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="CORTEX_HARNESS_CACHE",
    default=ROOT / ".cortex" / "harness" / "embeddings.sqlite",
    help="Where computed embeddings are kept between runs. [CORTEX_HARNESS_CACHE]",
)
@click.option("--clients", "count", default=8, show_default=True, help="Clients at once.")
@click.option("--rounds", default=5, show_default=True, help="Blocks of each system.")
@click.option("--seconds", default=10.0, show_default=True, help="Timed length of a block.")
@click.option("--warm-up", default=2.0, show_default=True, help="Seconds before they count.")
@click.option(
    "--recipe",
    "recipes",
    multiple=True,
    type=click.Choice(list(RECIPES)),
    default=("tutorial", "indexed"),
    show_default=True,
)
@click.option("--seed", default=1729, show_default=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=ROOT / "reports" / "bench" / "search_peers.json",
)
def main(
    eval_sets: Path | None,
    cache: Path,
    count: int,
    rounds: int,
    seconds: float,
    warm_up: float,
    recipes: tuple[str, ...],
    seed: int,
    out: Path,
) -> None:
    """Compare as the command line says; exit 1 where ours is not faster than each peer."""
    timing = Timing(warm_up_s=warm_up, timed_s=seconds, rounds=rounds)
    try:
        found = _set(eval_sets)
        with ExitStack() as stack:
            figures = _run(stack, found, cache, count, timing, recipes, seed)
    except HarnessError as err:
        click.echo(str(err), err=True)
        sys.exit(err.exit_code)
    _write(out, figures, found, count, timing)
    say(comparing.table(figures))
    for one in figures:
        stages = ", ".join(f"{name} {value:.1f}" for name, value in one.stages_ms.items())
        say(f"{one.name}: stages in ms, median: {stages}")
    wrong = comparing.broken(figures[0], figures[1:])
    say("\n".join(f"BROKEN: {one}" for one in wrong) or "ours is faster than each peer")
    sys.exit(1 if wrong else 0)


def _set(folder: Path | None) -> EvalSet:
    if folder is None:
        raise NothingCollected(f"set CORTEX_EVAL_SETS to a folder of eval sets that has {SET}/")
    if not (folder / SET).is_dir():
        raise NothingCollected(f"{folder} has no {SET}/; this comparison is made on that set")
    return beir.read(folder / SET)


def _run(
    stack: ExitStack,
    found: EvalSet,
    cache: Path,
    count: int,
    timing: Timing,
    recipes: Sequence[str],
    seed: int,
) -> list[Figures]:
    logs = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    targets = stack.enter_context(own_stack("native", logs))
    compared = _loaded(targets, found, cache, logs, recipes)
    scores = [_ndcg(found, system, compared.documents) for system in compared.systems]
    wanted = int(FASTEST_PER_S * timing.rounds * (timing.warm_up_s + timing.timed_s))
    sources = [query.texts[0] for query in found.queries]
    texts = list(itertools.islice(variations(sources, seed), wanted))
    say(f"{count} clients, {len(texts)} distinct query texts for each system")
    made = stack.enter_context(clients(compared.systems, [texts] * len(compared.systems), count))
    services = targets.services
    used = ProcessorTime(
        {
            "memory": services.memory.pids,
            "postgres": services.postgres.pids if services.postgres else (),
            "embedding": services.embedding.pids,
            "clients": made.pids,
        }
    )
    blocks = comparing.compare(made, compared.systems, timing, used, say)
    return [
        comparing.summed(system.name, own, blocks[0], score)
        for system, own, score in zip(compared.systems, blocks, scores, strict=True)
    ]


def _loaded(
    targets: Targets, found: EvalSet, cache: Path, logs: Path, recipes: Sequence[str]
) -> Compared:
    """Both filled through the cache; what is measured afterwards asks the service itself."""
    services = targets.services
    if services.postgres is None:
        raise StackFailed("targets.json does not say where Postgres is")
    embedding_url, postgres_url = services.embedding.url, services.postgres.url
    with embedding_cache.serving(embedding_url, cache) as (cached_url, _):
        with memory_server(targets, logs, embedding_url=cached_url) as filler:
            documents = loading.fill_ours(f"{filler}/mcp", found)
        peers_url = loading.fill_peers(postgres_url, cached_url, found)
    loading.settle([postgres_url, peers_url])
    ours = Ours(name="FindItems over MCP", base_url=services.memory.url, project=loading.SLUG)
    peers = [
        Recipe(
            name=RECIPES[function],
            database_url=peers_url,
            embedding_url=embedding_url,
            function=function,
        )
        for function in recipes
    ]
    return Compared([ours, *peers], documents)


def _ndcg(found: EvalSet, system: System, documents: Mapping[str, str]) -> float:
    """Mean nDCG@10 over the judged queries; recipes give document ids, ours item ids."""
    search = system.open()
    rankings = {
        query.id: [documents.get(id_, id_) for id_ in search(query.texts[0]).ids]
        for query in found.queries
    }
    known = {document.id for document in found.documents}
    scores = ranking.score(found.judgments, rankings, known)["ndcg@10"]
    return sum(scores.values()) / len(scores)


def _write(
    out: Path, figures: Sequence[Figures], found: EvalSet, count: int, timing: Timing
) -> None:
    record = {
        "set": found.name,
        "documents": len(found.documents),
        "clients": count,
        "timing": asdict(timing),
        "revision": asdict(revision()),
        "machine": machine(),
        "systems": [asdict(one) for one in figures],
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
