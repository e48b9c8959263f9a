"""Mixes, phases and ramps: how they are planned, and what is learnt from them."""

import json
from pathlib import Path

import pytest
from conftest import Harness

from harness import results
from harness.measures.latency import Latencies
from harness.measures.phases import Stretch, drift, recovery_s
from harness.probes.load import planning
from harness.probes.load.judging import Measured, judged
from harness.probes.load.locust import Recorded
from harness.probes.load.profiles import LoadProfile, Open, Phase, Ramp, Valid
from harness.probes.load.ramp import climb
from loadtests.plans import Plan

RAMP = Ramp(per_second=10, factor=2, most_steps=10, bisections=3, seconds=5)


def answered(rate: float, capacity: float) -> Measured:
    """What a server that serves `capacity` calls a second makes of a rate."""
    kept = min(1.0, capacity / rate)
    times = Latencies()
    times.record(0.01)
    recorded = Recorded(
        schema="cortex.load-result/2",
        response=times.encoded(),
        service=times.encoded(),
        lag=times.encoded(),
        workloads={},
        stages={},
        answered=round(100 * kept),
        dropped=0,
        errors={},
        elapsed_s=5.0,
        cpu_cores=[],
        samples=[],
    )
    size = Open(per_second=rate, seconds=5)
    profile = LoadProfile(name="r", about="", model="open", size=size, valid=Valid())
    return Measured(profile, recorded, 100, kept, rate * kept, 0.1, [], [], ceiling=1e9)


def test_a_ramp_ends_between_the_last_rate_that_held_and_the_first_that_did_not() -> None:
    found = climb(RAMP, lambda rate: answered(rate, 57.0))

    rates = [one.per_second for one in found.steps]
    assert rates == [10, 20, 40, 80, 60, 50, 55]  # 57 serves .98 of 58.2
    assert found.reached
    assert found.knee == 55
    assert found.best.per_second == 55
    assert [bool(one.too_much) for one in found.steps] == [False] * 3 + [True] * 2 + [False] * 2


def test_a_ramp_that_never_found_too_much_says_so() -> None:
    found = climb(RAMP.model_copy(update={"most_steps": 3}), lambda rate: answered(rate, 1e9))

    assert not found.reached
    assert found.knee == 40


def test_a_ramp_whose_first_rate_is_too_much_has_no_knee() -> None:
    found = climb(RAMP, lambda rate: answered(rate, 5.0))

    assert found.knee == 0
    assert len(found.steps) == 1
    assert found.steps[0].too_much == "achieved 0.500"


STRETCHES = [
    Stretch("before", 0, 10, 5),
    Stretch("spike", 10, 12, 50),
    Stretch("after", 12, 20, 5),
]


def samples(slow_until_s: float) -> list[tuple[float, float]]:
    """Five calls a second of 10 ms; from the spike on 1 s, until it is over."""
    moments = [place / 5 for place in range(100)]
    return [(due, 1.0 if 10 <= due < slow_until_s else 0.01) for due in moments]


@pytest.mark.parametrize(("slow_until_s", "seconds"), [(12, 0), (14.5, 3), (15, 3), (30, None)])
def test_recovery_counts_from_the_spike_s_end(slow_until_s: float, seconds: float | None) -> None:
    assert recovery_s(STRETCHES, samples(slow_until_s)) == seconds


def test_a_run_whose_first_phase_is_the_busiest_has_nothing_to_recover_to() -> None:
    assert recovery_s(STRETCHES[1:], samples(12)) is None


def test_drift_compares_the_last_fifth_with_the_first() -> None:
    assert drift([(place, 0.01 if place < 50 else 0.03) for place in range(100)]) == pytest.approx(
        3
    )
    assert drift([(0.0, 1.0)]) is None


def test_phases_follow_each_other_each_at_its_rate() -> None:
    size = Open(
        phases=[
            Phase(name="a", per_second=10, seconds=2),
            Phase(name="b", per_second=100, seconds=1),
            Phase(name="c", per_second=10, seconds=2),
        ]
    )

    moments = planning.planned(size.stretches, 7, size)

    assert moments == sorted(moments)
    assert [sum(a <= m < b for m in moments) for a, b in ((0, 2), (2, 3), (3, 5))] == [20, 100, 20]


@pytest.mark.parametrize(("ceiling", "counts"), [(399.0, False), (401.0, True)])
def test_a_rate_above_a_quarter_of_what_the_client_can_do_does_not_count(
    ceiling: float, counts: bool
) -> None:
    one = answered(100, 1e9)
    size = Open(per_second=100, seconds=1)
    plan = Plan(model="open", calls=[], moments=[step / 100 for step in range(100)])

    measured = judged(one.profile, size, plan, one.recorded, ceiling)

    said = (
        f"100 calls a second are more than 0.25 of what the client can do by itself ({ceiling:.0f})"
    )
    assert (said in measured.reasons) == (not counts)


def profile(harness: Harness, name: str, text: str) -> None:
    (harness.profiles / f"{name}.toml").write_text(f'schema = "cortex.load/1"\n{text}')


def only(harness: Harness, *names: str) -> None:
    for path in harness.profiles.glob("*.toml"):
        if path.stem not in names:
            path.unlink()
    gates = harness.evals / "gates.toml"
    gates.write_text(
        'schema = "cortex.gates/1"\n[[gate]]\nid = "errors"\ntitle = "None fails"\n'
        f'metric = "load.error-rate"\nvariant = "{names[0]}"\nceiling = 0\n'
    )


def value(run: Path, name: str, variant: str, part: str = "") -> results.Result:
    found = results.read(run).find(name, "", variant, part)
    assert found is not None, name
    return found


def test_a_mixed_run_sends_each_workload_its_share_and_tells_them_apart(harness: Harness) -> None:
    mix = "mix = { memory-search = 0.5, memory-writes = 0.25, embedding = 0.25 }"
    sizes = f"per_second = 20.0\nseconds = 4.0\n{mix}\n"
    profile(
        harness,
        "mixed",
        f'model = "open"\nabout = "all sorts"\n[quick]\n{sizes}[full]\n{sizes}'
        "[valid]\nclient_share = 1.0\nlag_p99_ms = 2000.0\n",
    )
    only(harness, "mixed")

    ended = harness.run("load")

    assert ended.code == 0, ended.output
    shares = {"memory-search": 40, "memory-writes": 20, "embedding": 20}
    for workload, count in shares.items():
        assert value(ended.run, "load.workload.p95", "mixed", workload).n == count
    report = (ended.run / "report.html").read_text()
    assert all(workload in report for workload in shares)


def test_a_ramp_finds_what_a_server_can_do(harness: Harness) -> None:
    sizes = (
        "per_second = 2.0\nfactor = 1.5\nmost_steps = 6\nbisections = 1\nseconds = 4.0\n"
        "warm_up_s = 0.5\npool = 4\n"
    )
    profile(
        harness,
        "ramp",
        f'model = "ramp"\nabout = "upwards"\n[quick]\n{sizes}[full]\n{sizes}'
        "[valid]\nclient_share = 1.0\nlag_p99_ms = 5000.0\nachieved = 0.0\n",
    )
    only(harness, "ramp")

    ended = harness.run("load", CORTEX_FAKE_FAULT="slow")  # serves one at a time, each for 0.2 s

    assert ended.code == 0, ended.output
    assert 2 <= value(ended.run, "load.knee", "ramp").value <= 5.5
    assert value(ended.run, "load.headroom", "ramp").value >= 1
    kept = json.loads((ended.run / "load" / "histograms.json").read_text())["ramp"]["steps"]
    assert [bool(one["too_much"]) for one in kept] == sorted(bool(o["too_much"]) for o in kept)
    report = (ended.run / "report.html").read_text()
    assert "knee" in report
    assert kept[-1]["too_much"] in report
