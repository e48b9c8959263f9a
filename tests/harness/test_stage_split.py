"""Stages joined to the client's measure: what is waited for adds up, whatever runs beside what."""

import random

import pytest

from harness import mcp
from harness.measures.latency import Latencies
from harness.measures.stages import EXCESS, OUTSIDE, UNATTRIBUTED, Split, split
from harness.probes.load import staging
from harness.probes.load.locust import Recorded
from loadtests.recording import Recorder, merged, timing_of


def told(header: str, service_ms: float) -> Split:
    return split(mcp.stretches_of(header), service_ms)


def adds_up(found: Split, service_ms: float) -> bool:
    rests = found.rests.copy()
    excess = rests.pop(EXCESS, 0.0)
    return sum(found.waited.values()) + sum(rests.values()) - excess == pytest.approx(service_ms)


def test_a_stage_beside_a_longer_one_is_waited_for_by_nobody() -> None:
    found = told(
        "text;dur=6;start=1, embed;dur=10;start=0.5, vector;dur=4;start=11, total;dur=16", 18
    )

    assert found.ran == {"text": 6, "embed": 10, "vector": 4}
    assert found.waited == pytest.approx({"text": 0, "embed": 10, "vector": 4})
    assert found.rests == pytest.approx({UNATTRIBUTED: 2, OUTSIDE: 2})
    assert adds_up(found, 18)


def test_of_two_that_overlap_the_one_that_ends_last_is_waited_for() -> None:
    found = told("text;dur=10;start=2, embed;dur=5;start=0, total;dur=12", 12)

    assert found.waited == pytest.approx({"text": 10, "embed": 2})
    assert adds_up(found, 12)


def test_a_part_of_a_stage_is_shown_and_never_added() -> None:
    found = told("embed.queue;dur=3, embed;dur=5;start=0, total;dur=6", 6)

    assert found.ran["embed.queue"] == 3
    assert "embed.queue" not in found.waited
    assert adds_up(found, 6)


def test_a_server_without_starts_whose_stages_overlap_is_not_cut_to_fit() -> None:
    found = told("a;dur=6, b;dur=6, total;dur=10", 11)

    assert found.rests == pytest.approx({UNATTRIBUTED: 0, OUTSIDE: 1, EXCESS: 2})
    assert adds_up(found, 11)


def test_a_server_that_tells_no_total_or_nothing_at_all_is_read_for_what_it_tells() -> None:
    assert told("sql;dur=4", 10).rests == {UNATTRIBUTED: 6}
    assert told("", 10) == Split({}, {}, {})
    assert told('bad;dur=x, worse;dur=nan, no;dur=-1, "q";dur="2"', 10).ran == {'"q"': 2}


def test_whatever_runs_beside_whatever_the_parts_add_up() -> None:
    chance = random.Random(4)
    for _ in range(300):
        stretches = [
            (name, chance.uniform(0, 80), chance.uniform(0, 20)) for name in "abcd" for _ in "12"
        ]
        header = ", ".join(f"{name};dur={dur};start={start}" for name, start, dur in stretches)
        service_ms = chance.uniform(90, 140)

        found = told(f"{header}, total;dur=100", service_ms)

        assert adds_up(found, service_ms)
        assert all(found.waited[name] <= found.ran[name] + 1e-9 for name in found.waited)
        assert found.rests[UNATTRIBUTED] >= 0


def recorded(*recorders: Recorder) -> Recorded:
    return Recorded.model_validate(merged([one.found() for one in recorders]))


def test_stages_are_kept_by_workload_and_add_up_over_processes() -> None:
    recorders = [Recorder(), Recorder()]
    for recorder in recorders:
        recorder.start(0.0)
        for _ in range(50):
            recorder.add("memory-search", (0, 0, 0.020), "", "embed;dur=10;start=0, total;dur=15")
            recorder.add("memory-writes", (0, 0, 0.080), "", "embed;dur=50;start=0, total;dur=70")
        recorder.add("memory-search", (0, 0, 0.010), "HTTP 500", "embed;dur=1, total;dur=2")

    stages = staging.stages_of(recorded(*recorders))

    by_part = {one.part: one for one in stages}
    assert by_part["memory-search/embed"].times.n == 100
    assert by_part["memory-search/embed"].times.mean_ms == pytest.approx(10, rel=0.01)
    assert by_part["memory-writes/embed"].times.mean_ms == pytest.approx(50, rel=0.01)
    for workload, whole_ms in (("memory-search", 20), ("memory-writes", 80)):
        waited = sum(one.waited_ms for one in stages if one.workload == workload)
        assert waited == pytest.approx(whole_ms, rel=0.01)
    assert [one.name for one in stages][:3] == ["embed", UNATTRIBUTED, OUTSIDE]


def test_a_stage_that_only_some_calls_have_weighs_by_how_many_have_it() -> None:
    recorder = Recorder()
    recorder.start(0.0)
    for number in range(100):
        filtered = "filter;dur=8;start=0, " if number % 4 == 0 else ""
        recorder.add("memory-search", (0, 0, 0.010), "", f"{filtered}total;dur=10")

    (filtering,) = [one for one in staging.stages_of(recorded(recorder)) if one.name == "filter"]

    assert filtering.part == "filter"  # one workload: its name alone
    assert filtering.times.mean_ms == pytest.approx(8, rel=0.01)
    assert filtering.waited_ms == pytest.approx(2, rel=0.01)
    assert Latencies(recorded(recorder).service).n == 100


def test_the_headers_of_text_embeddings_inference_are_stages_too() -> None:
    tei = {"x-total-time": "9", "x-queue-time": "2", "x-inference-time": "6"}

    assert mcp.stages_of(timing_of(tei)) == {"queue": 2, "inference": 6, "total": 9}
    assert timing_of({**tei, "server-timing": "total;dur=1"}) == "total;dur=1"
    assert timing_of({}) == ""
