"""The peer comparison's own rules: distinct queries, clients that count, verdicts."""

import itertools
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.errors import StackFailed
from harness.probes.search_peers import comparing
from harness.probes.search_peers.clients import clients
from harness.probes.search_peers.comparing import Block, Figures, Timing
from harness.probes.search_peers.processor_time import ProcessorTime
from harness.probes.search_peers.queries import variations
from harness.probes.search_peers.recipes import RECIPES, sql
from harness.probes.search_peers.systems import Reply, Search

TEXTS = ["one two three four five six", "seven eight nine ten eleven"]


@dataclass(frozen=True)
class Echo:
    """A system that answers at once; `texts_of` files tell which texts it was asked."""

    name: str
    folder: Path
    fails: bool = False

    def open(self) -> Search:
        log = (self.folder / f"{self.name}-{os.getpid()}").open("a", buffering=1)

        def search(text: str) -> Reply:
            if self.fails:
                raise ValueError("no answer")
            log.write(f"{text}\n")
            time.sleep(0.002)
            return Reply([text], {"echo": 2.0})

        return search


def _block(count: int, **processor_s: float) -> Block:
    took = [0.001 * (place + 1) for place in range(count)]
    return Block(seconds=1.0, took_s=took, stages_ms=[{"sql": 1.0}], processor_s=processor_s)


def _figures(name: str, rates: list[int], ours: list[int]) -> Figures:
    blocks = [_block(rate, memory=0.5, clients=0.5) for rate in rates]
    return comparing.summed(name, blocks, [_block(rate) for rate in ours], ndcg=0.5)


def test_variations_never_repeat_a_text_and_never_are_the_text_itself() -> None:
    made = list(itertools.islice(variations(TEXTS, seed=1), 60))

    assert len(made) == 60
    assert len(set(made)) == 60
    assert not set(made) & set(TEXTS)
    assert all(set(text.split()) < set(" ".join(TEXTS).split()) for text in made)


def test_the_same_seed_makes_the_same_variations() -> None:
    first, second, other = (
        list(itertools.islice(variations(TEXTS, seed), 20)) for seed in (7, 7, 8)
    )

    assert first == second
    assert first != other


def test_variations_end_where_the_texts_give_no_more() -> None:
    assert set(variations(["one two"], seed=1)) == {"one", "two"}
    assert list(variations(["word"], seed=1)) == []


def test_clients_search_in_their_window_and_no_text_is_asked_twice(tmp_path: Path) -> None:
    systems = [Echo("a", tmp_path), Echo("b", tmp_path)]
    texts = [[f"{system.name} {number}" for number in range(4_000)] for system in systems]
    timing = Timing(warm_up_s=0.05, timed_s=0.2, rounds=2)

    with clients(systems, texts, 2) as made:
        used = ProcessorTime({"clients": made.pids, "none": ()})
        blocks = comparing.compare(made, systems, timing, used, lambda _: None)

    for name, own in zip("ab", blocks, strict=True):
        asked = [
            line for path in tmp_path.glob(f"{name}-*") for line in path.read_text().splitlines()
        ]
        assert len(own) == 2
        assert all(block.took_s and set(block.processor_s) == {"clients"} for block in own)
        assert len(asked) == len(set(asked)) > sum(len(block.took_s) for block in own)
        assert len(list(tmp_path.glob(f"{name}-*"))) == 2


def test_a_client_that_fails_ends_the_comparison_with_its_words(tmp_path: Path) -> None:
    timing = Timing(warm_up_s=0.0, timed_s=0.1, rounds=1)
    system = Echo("a", tmp_path, fails=True)

    with (
        clients([system], [["text"]], 1) as made,
        pytest.raises(StackFailed, match="ValueError: no answer"),
    ):
        comparing.compare(made, [system], timing, ProcessorTime({}), lambda _: None)


def test_clients_that_run_out_of_texts_say_so_instead_of_asking_again(tmp_path: Path) -> None:
    timing = Timing(warm_up_s=0.0, timed_s=5.0, rounds=1)
    system = Echo("a", tmp_path)

    with (
        clients([system], [["one", "two"]], 1) as made,
        pytest.raises(StackFailed, match="no query text is left"),
    ):
        comparing.compare(made, [system], timing, ProcessorTime({}), lambda _: None)


def test_figures_are_medians_of_blocks_and_processor_time_of_one_search() -> None:
    figures = _figures("peer", rates=[10, 20, 30], ours=[20, 20, 90])

    assert figures.per_second == 20
    assert figures.searches == 60
    assert figures.ratio == 2.0
    assert figures.processor_ms == pytest.approx({"memory": 25.0, "clients": 25.0})
    assert figures.stages_ms == {"sql": 1.0}


def test_a_peer_that_is_as_fast_as_ours_breaks_the_bound() -> None:
    ours = _figures("ours", rates=[20, 20], ours=[20, 20])
    slower = _figures("slower", rates=[10, 10], ours=[20, 20])
    as_fast = _figures("as fast", rates=[20, 20], ours=[20, 20])
    silent = _figures("silent", rates=[0, 0], ours=[0, 0])

    assert comparing.broken(ours, [slower]) == []
    assert [one.split(":")[0] for one in comparing.broken(ours, [slower, as_fast, silent])] == [
        "as fast",
        "silent",
    ]


def test_the_table_has_a_line_for_each_system() -> None:
    lines = comparing.table([_figures("ours", [20], [20]), _figures("peer", [10], [20])])

    assert [line.split()[0] for line in lines.splitlines()] == ["system", "ours", "peer"]
    assert "2.00" in lines.splitlines()[2]


def test_every_recipe_has_its_statement() -> None:
    assert all(f"CREATE FUNCTION {name}(" in sql(name) for name in RECIPES)


def test_without_eval_sets_it_says_so_and_ends_with_5(tmp_path: Path) -> None:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("CORTEX_")}
    command = [sys.executable, "-m", "harness.probes.search_peers"]

    unset = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=60)
    empty = subprocess.run(
        [*command, "--eval-sets", str(tmp_path)],
        env=clean,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (unset.returncode, empty.returncode) == (5, 5)
    assert "CORTEX_EVAL_SETS" in unset.stderr
    assert "has no scifact/" in empty.stderr
