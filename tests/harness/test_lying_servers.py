"""Servers that lie: what looks like success and is none never counts as a pass."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from conftest import Harness
from lying_server import lying

from harness import mcp, plain_get
from harness.errors import StackFailed
from harness.probes.load import locust
from harness.probes.load.judging import Measured, judged
from harness.probes.load.profiles import Closed, LoadProfile, Valid
from harness.probes.load.staging import stages_of
from loadtests.plans import Call, Plan, Shape

EACH = 5
SEARCHES = 30


@pytest.fixture(scope="module")
def liar() -> Iterator[str]:
    with lying() as address:
        yield address


def calls(address: str, lie: str, count: int, shape: Shape = "search") -> list[Call]:
    made = (mcp.request("FindItems", {"queries": [f"{lie} {n}"]}, None) for n in range(count))
    url = f"{address}/{lie}/mcp"
    return [Call(url, headers, body.decode(), f"{shape}-{lie}", shape) for headers, body in made]


def asked(all_: list[Call], folder: Path) -> Measured:
    plan = Plan(model="closed", calls=all_, users=2, moments=[], limit_s=60)
    size = Closed(users=2, searches=len(all_))
    # How busy this machine is says nothing about the answers.
    valid = Valid(client_share=1.0, client_cores=99.0, lag_p99_ms=60_000.0)
    profile = LoadProfile(name="lies", about="", model="closed", size=size, valid=valid)
    return judged(profile, size, plan, locust.run(plan, "lies", folder / "locust.log"), 1e9)


def test_no_answer_that_only_looks_like_one_counts_as_answered(liar: str, tmp_path: Path) -> None:
    lies = ["status-500", "status-302", "error-200", "empty", "no-list", "html", "json-list"]
    plan = [call for lie in lies for call in calls(liar, lie, EACH)]
    plan += calls(liar, "empty", EACH, "write") + calls(liar, "no-vectors", EACH, "embed")

    found = asked(plan, tmp_path)

    errors = found.recorded.errors
    assert sum(errors.values()) == len(plan) == found.recorded.answered, errors
    assert any("AddItem" in one for one in errors)
    assert any("vectors" in one for one in errors)
    assert found.recorded.with_hits == found.recorded.without_hits == 0


@pytest.mark.parametrize(
    ("lie", "says"),
    [
        ("no-hit", f"{SEARCHES} of {SEARCHES} searches found nothing"),
        ("same", f"all {SEARCHES} searches that found something had the same first hit"),
    ],
)
def test_a_server_that_need_not_search_makes_the_run_invalid(
    liar: str, tmp_path: Path, lie: str, says: str
) -> None:
    found = asked(calls(liar, lie, SEARCHES), tmp_path)

    assert found.recorded.errors == {}
    assert found.reasons == [says]
    assert found.client_reasons == []


def test_stage_times_no_call_can_have_neither_stop_the_client_nor_fill_its_memory(
    liar: str, tmp_path: Path
) -> None:
    plan = [call for lie in ("huge", "endless-names") for call in calls(liar, lie, EACH)]
    plan += calls(liar, "new-names", 300)

    found = asked(plan, tmp_path)

    assert found.reasons == []
    recorded = found.recorded
    assert recorded.errors == {}
    assert len(recorded.stages) < 130
    assert "search-new-names/other stages" in recorded.stages
    named = {one.name for one in stages_of(recorded) if one.workload == "search-huge"}
    assert named == set()


@pytest.mark.parametrize("lie", ["endless", "slow"])
def test_an_answer_without_an_end_is_an_error_within_its_time(liar: str, lie: str) -> None:
    with (
        mcp.Client(f"{liar}/{lie}/mcp", timeout_s=0.5) as client,
        pytest.raises((mcp.BadAnswer, httpx.ReadTimeout), match=r"no end|longer than"),
    ):
        client.call("FindItems", queries=["anything"])
    with pytest.raises(StackFailed, match=r"no end within|longer than"):
        plain_get.get(f"{liar}/{lie}/info", 0.5)


@pytest.mark.parametrize("lie", ["json-list", "json-null", "html", "endless"])
def test_a_service_that_does_not_say_what_it_is_ends_the_run_with_4_and_a_whole_folder(
    harness: Harness, liar: str, lie: str
) -> None:
    at = {"url": f"{liar}/{lie}"}
    services = {"memory": {"url": liar, "mcp_url": f"{liar}/mine/mcp"}, "embedding": at}
    stack = {"name": "theirs", "runtime": "native", "profile": "memory"}
    described = harness.folder / "targets.json"
    whole = {"schema": "cortex.targets/1", "stack": stack, "services": services}
    described.write_text(json.dumps(whole))

    ended = harness.run("load", "--stack", str(described), "--allow-writes")

    assert ended.code == 4, ended.output
    assert "Traceback" not in ended.output
    assert "the embedding service does not say what it is" in ended.verdict
    assert ended.json["verdict"]["line"] == ended.verdict
    assert (ended.run / "report.html").exists()
