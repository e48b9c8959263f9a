"""Records go to disk and come back; what is no measurement is refused."""

import json
import math
from pathlib import Path

import pytest
from conftest import Ended, Harness

from harness import results, targets
from harness.errors import UsageMistake
from harness.results import Case, Failure, Records, Result


def result(**keys: object) -> Result:
    made = {"suite": "relevance", "name": "relevance.ndcg@10", "value": 0.5, "unit": "score"}
    return Result(**{**made, **keys})  # type: ignore[arg-type]


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    records = [
        result(set="s", variant="hybrid", n=3, low=0.1, high=0.9, note="é"),
        Case(suite="contract", name="c", outcome="failed", expected="a", actual="b"),
        Failure(suite="load", name="search", message="m", variant="open"),
    ]
    (tmp_path / "results.jsonl").write_text("".join(results.to_line(r) + "\n" for r in records))

    assert list(results.read_lines(tmp_path / "results.jsonl")) == records


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"not a measure|finite number"):
        result(value=value)
    with pytest.raises(ValueError, match=r"not a measure|finite number"):
        result(low=value)


def test_a_metric_nobody_knows_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"nearest: relevance\.ndcg@10"):
        result(name="relevance.ndcg@1")


def test_a_result_or_case_there_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"relevance\.ndcg@10 / s / hybrid was recorded twice"):
        Records.of([result(set="s", variant="hybrid"), result(set="s", variant="hybrid", value=1)])
    case = Case(suite="contract", name="c", outcome="passed")
    with pytest.raises(ValueError, match="contract / c was recorded twice"):
        Records.of([case, case])


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(results.to_line(result()) + "\n" + '{"record": "result", "value": NaN}\n')

    with pytest.raises(UsageMistake, match=r"results.jsonl:2: not a record"):
        results.read(tmp_path)


def test_frames_hold_the_runs_data(finished: tuple[Harness, Ended]) -> None:
    run = finished[1].run

    measured = results.frame(run)
    scores = results.frame(str(run), "scores")

    hybrid = scores[(scores["set"] == "kitchen") & (scores["variant"] == "hybrid")]
    of_set = measured[
        (measured["name"] == "relevance.ndcg@10")
        & (measured["set"] == "kitchen")
        & (measured["variant"] == "hybrid")
    ]
    assert len(hybrid) == 20
    assert hybrid["ndcg@10"].mean() == pytest.approx(of_set["value"].iloc[0], abs=1e-6)
    assert len(results.frame(run, "samples")) > 60
    with pytest.raises(UsageMistake, match="no frame 'nonsense'"):
        results.frame(run, "nonsense")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema": "cortex.targets/9"}, "schema: Input should be 'cortex.targets/1'"),
        ({"services": {}}, "services.memory: Field required"),
    ],
)
def test_a_targets_file_that_is_none_is_refused_by_place(
    tmp_path: Path, change: dict, says: str
) -> None:
    path = tmp_path / "targets.json"
    good = {
        "schema": "cortex.targets/1",
        "stack": {"name": "n", "runtime": "native", "profile": "memory"},
        "services": {
            "memory": {"url": "http://127.0.0.1:1", "mcp_url": "http://127.0.0.1:1"},
            "embedding": {"url": "http://127.0.0.1:1"},
            "later": {"url": "http://127.0.0.1:1"},
        },
    }
    path.write_text(json.dumps(good))
    assert targets.read(path).services.memory.start is None

    path.write_text(json.dumps({**good, **change}))

    with pytest.raises(UsageMistake) as refused:
        targets.read(path)
    assert says in str(refused.value)
