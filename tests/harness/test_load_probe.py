"""The load suite: what it counts, when a run is invalid, what a profile may ask for."""

import csv
import tomllib
from pathlib import Path

import pytest
from conftest import Ended, Harness

from harness import results
from harness.errors import UsageMistake
from harness.evalsets import beir
from harness.probes.load import profiles
from harness.probes.load.asked import Asked
from harness.probes.load.workloads import WORKLOADS
from harness.probes.workbench import Loaded


def find(ended: Ended, name: str, variant: str, part: str = "") -> results.Result:
    found = results.read(ended.run).find(name, "", variant, part)
    assert found is not None
    return found


def samples(ended: Ended, profile: str) -> list[dict[str, str]]:
    with (ended.run / "load" / "samples.csv").open(newline="") as lines:
        return [row for row in csv.DictReader(lines) if row["profile"] == profile]


def test_every_timed_search_is_counted_and_the_warm_up_is_not(
    finished: tuple[Harness, Ended],
) -> None:
    ended = finished[1]

    assert find(ended, "load.searches", "closed").value == 60
    assert find(ended, "load.service.p50", "closed").n == 60
    assert len(samples(ended, "closed")) == 60
    assert find(ended, "load.errors", "closed").value == 0
    assert find(ended, "load.invalid", "closed").value == 0


def test_an_open_run_keeps_its_plan_and_counts_from_the_planned_moment(
    finished: tuple[Harness, Ended],
) -> None:
    ended = finished[1]
    rows = samples(ended, "open")

    assert find(ended, "load.dropped", "open").value == 0
    assert find(ended, "load.achieved", "open").value > 0.98
    assert len(rows) == find(ended, "load.searches", "open").value
    for row in rows:
        lag, service, response = (float(row[key]) for key in ("lag_s", "service_s", "response_s"))
        assert lag >= -0.001
        assert response == pytest.approx(lag + service, abs=1e-6)


def test_stages_and_the_unattributed_rest_add_up_to_the_service_time(
    finished: tuple[Harness, Ended],
) -> None:
    ended = finished[1]
    stages = ["embed", "text", "vector", "unattributed", "outside the server"]

    together = sum(find(ended, "load.stage.mean", "closed", stage).value for stage in stages)

    assert together == pytest.approx(find(ended, "load.service.mean", "closed").value, rel=0.05)


def test_failed_and_degraded_searches_fall_under_the_gate(harness: Harness) -> None:
    ended = harness.run("load", CORTEX_FAKE_FAULT="half-errors")

    assert ended.code == 1, ended.output
    assert find(ended, "load.error-rate", "closed").value == pytest.approx(0.5, abs=0.1)
    assert "the store is on fire" in (ended.run / "results.jsonl").read_text()


def test_a_pool_that_is_full_drops_and_the_run_does_not_count(harness: Harness) -> None:
    (harness.profiles / "closed.toml").unlink()
    profile = harness.profiles / "open.toml"
    profile.write_text(profile.read_text().replace("pool = 16", "pool = 1"))
    gates = harness.evals / "gates.toml"
    gates.write_text(
        'schema = "cortex.gates/1"\n[[gate]]\nid = "valid"\ntitle = "Valid"\n'
        'metric = "load.invalid"\nvariant = "open"\nceiling = 0\nbeyond = "inconclusive"\n'
    )

    ended = harness.run("load", CORTEX_FAKE_FAULT="slow")

    assert ended.code == 3, ended.output
    assert find(ended, "load.dropped", "open").value > 10
    assert "arrivals dropped: the pool was full" in ended.output
    assert "measuring once more" in ended.output
    assert "This run does not count" in (ended.run / "report.html").read_text()


def asked(harness: Harness, **keys: object) -> Asked:
    found = beir.read(harness.evals / "relevance" / "kitchen")
    values = {
        "loaded": Loaded(found, None, {"all": "kitchen-all"}, {}),
        "memory_url": "http://127.0.0.1:1/mcp",
        "embedding_url": "http://127.0.0.1:1",
        "token": None,
        "scratch_project": "scratch",
        "seed": 3,
    }
    return Asked(**{**values, **keys})  # type: ignore[arg-type]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_calls_of_a_workload_are_all_different_and_the_same_each_time(
    finished: tuple[Harness, Ended], workload: str
) -> None:
    calls = WORKLOADS[workload].calls(asked(finished[0]), 40)

    assert len({call.body for call in calls}) == 40
    assert {call.workload for call in calls} == {workload}
    assert calls == WORKLOADS[workload].calls(asked(finished[0]), 40)
    assert calls != WORKLOADS[workload].calls(asked(finished[0], seed=4), 40)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("per_second = 20.0", "per_second = -1", "quick.per_second is -1"),
        ("per_second = 20.0", "per_second = 9999", "quick.per_second is 9999"),
        ("pool = 16", "pol = 16", "quick.pol is 16: Extra inputs"),
        ('model = "open"', 'model = "ajar"', "model is 'ajar'; one of closed, open, ramp"),
        ("pool = 16", "mix = { memory-serch = 1.0 }", "no workload 'memory-serch'; there are"),
        ("pool = 16", "mix = { embedding = 0.0 }", "each workload needs a share above 0"),
        (
            "pool = 16",
            'phases = [{ name = "a", per_second = 1.0, seconds = 1.0 }]',
            "give per_second and seconds above 0, or phases",
        ),
        ("warm_up_s = 0.5", "warm_up_s = 3.0", "warm_up_s leaves nothing to measure"),
        ("seconds = 3.0", "seconds = 0.01\nprocesses = 0", "quick.processes is 0"),
        ("seconds = 3.0", "seconds = = 3", "not TOML"),
        ("seconds = 3.0", "seconds = inf", "quick.seconds is inf"),
        ("seconds = 3.0", "seconds = 1e15", "quick.seconds is 1000000000000000.0"),
        (
            "per_second = 20.0\nseconds = 3.0",
            "per_second = 2000\nseconds = 80000",
            "160000000 calls",
        ),
        ("pool = 16", "mix = { embedding = nan }", "quick.mix.embedding is nan"),
        ("lag_p99_ms = 1000.0", "lag_p99_ms = nan", "valid.lag_p99_ms is nan"),
        ("lag_p99_ms = 1000.0", "achieved = nan", "valid.achieved is nan"),
        ("lag_p99_ms = 1000.0", "client_cores = -1", "valid.client_cores is -1"),
        (
            "per_second = 20.0\nseconds = 3.0",
            "phases = [{ name = 'a', per_second = 5, seconds = 1 },"
            " { name = 'a', per_second = 9, seconds = 1 }]",
            "two phases have the same name",
        ),
    ],
)
def test_an_impossible_profile_is_refused_by_file_and_key(
    harness: Harness, old: str, new: str, says: str
) -> None:
    path = harness.profiles / "open.toml"
    path.write_text(path.read_text().replace(old, new, 1))

    with pytest.raises(UsageMistake, match=r"open\.toml") as refused:
        profiles.read_all(harness.profiles, "quick")

    assert says in str(refused.value)


@pytest.mark.parametrize("content", [b"about = '\xe4'", None])
def test_a_profile_that_is_no_text_is_refused_by_name(
    harness: Harness, content: bytes | None
) -> None:
    path = harness.profiles / "broken.toml"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)

    with pytest.raises(UsageMistake, match=r"broken\.toml"):
        profiles.read_all(harness.profiles, "quick")


def test_the_committed_profiles_can_be_read() -> None:
    folder = Path(profiles.__file__).parents[3] / "loadtests" / "profiles"

    for profile in ("quick", "full"):
        assert {one.name for one in profiles.read_all(folder, profile)} >= {"closed", "open"}  # type: ignore[arg-type]

    full = {one.name for one in profiles.read_all(folder, "full")}
    assert full >= {"ramp", "spike", "soak", "mixed", "writes", "embedding"}


def test_every_committed_profile_must_keep_to_its_plan_for_a_pass() -> None:
    root = Path(profiles.__file__).parents[3]
    gates = tomllib.loads((root / "evals" / "gates.toml").read_text())["gate"]
    judged = {
        name
        for gate in gates
        if gate["metric"] == "load.invalid"
        for name in ([gate["variant"]] if isinstance(gate["variant"], str) else gate["variant"])
    }

    committed = (root / "loadtests" / "profiles").glob("*.toml")
    # What another server does is shown beside, and decides nothing.
    ours = {one.stem for one in committed if "adapter" not in tomllib.loads(one.read_text())}
    assert judged == ours
