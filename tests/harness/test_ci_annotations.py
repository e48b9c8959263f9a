"""What a CI job gets beside the exit code: annotations, and a workflow that swallows nothing."""

import yaml
from conftest import Harness

from harness import annotations, progress
from harness.environment import ROOT
from harness.runs import GateRecord
from harness.verdicts import Outcome, Verdict

WORKFLOW = ROOT / ".github" / "workflows" / "gate.yml"


def gate(number: int, standing: str, why: str = "0.1 is below 0.5") -> GateRecord:
    return GateRecord.model_validate(
        {
            "id": f"g{number}/floor",
            "title": "Hits, first: good",
            "metric": "relevance.ndcg@10",
            "set": "all",
            "variant": "hybrid",
            "rule": "floor",
            "standing": standing,
            "why": why,
            "value": 0.1,
            "limit": 0.5,
            "low": None,
            "high": None,
            "n": 10,
            "losses": [],
        }
    )


def test_only_what_does_not_hold_is_annotated_the_worst_first() -> None:
    gates = [gate(1, "held"), gate(2, "inconclusive"), gate(3, "fell"), gate(4, "not-applicable")]

    assert list(annotations.lines(gates)) == [
        "::error title=Hits%2C first%3A good (fell)::g3/floor: 0.1 is below 0.5",
        "::warning title=Hits%2C first%3A good (inconclusive)::g2/floor: 0.1 is below 0.5",
    ]


def test_a_text_of_several_lines_stays_one_command() -> None:
    (line,) = annotations.lines([gate(1, "missing", "50 % lost\n::error::forged")])

    assert line.endswith("::g1/floor: 50 %25 lost%0A::error::forged")
    assert "\n" not in line


def test_no_more_are_printed_than_are_shown() -> None:
    assert len(list(annotations.lines([gate(n, "fell") for n in range(30)]))) == 10


def test_a_job_on_github_is_annotated_and_the_verdict_stays_the_last_line(
    harness: Harness,
) -> None:
    gates = harness.evals / "gates.toml"
    gates.write_text(gates.read_text().replace("floor = 0.5", "floor = 1.0"))

    ended = harness.run("relevance", GITHUB_ACTIONS="true")

    assert ended.code == 1
    assert "::error title=The best hits come first (fell)::ndcg/all/floor: " in ended.output
    assert ended.verdict.startswith("verdict: FAIL (exit 1)")
    again = harness("gate", str(ended.run), "--evals", str(harness.evals))
    assert "::error" not in again.output


def test_the_workflow_lets_the_gates_exit_code_decide() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text())

    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    runs = [step["run"] for step in steps if "run" in step]
    assert any(run.startswith("make gate") for run in runs)
    assert not any("continue-on-error" in step for step in steps)
    assert not any(word in run for run in runs for word in ("||", "; true", "| tee", "set +e"))
    kept = [step for step in steps if step.get("if") == "always()"]
    assert any("GITHUB_STEP_SUMMARY" in step.get("run", "") for step in kept)
    assert any("upload-artifact" in step.get("uses", "") for step in kept)
    (summary,) = [step["run"] for step in kept if "GITHUB_STEP_SUMMARY" in step.get("run", "")]
    assert "reports/runs/*" not in summary, "where no run was made, the shell finds no such file"
    assert workflow["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())


def test_nothing_that_is_quoted_becomes_a_command_of_the_runner_or_a_line_of_its_own() -> None:
    quoted = "it said\n  ::error::pwned\r::set-output name=x::y\n##[error]pwned \x1b[2J \u202eback"

    said = progress.plain(quoted)

    for line in said.replace("\r", "\n").split("\n"):
        assert not line.lstrip().startswith("::")
        assert "##[" not in line
    assert "\x1b" not in said
    assert "\u202e" not in said
    verdict = Verdict(outcome=Outcome.BROKEN, why=f"the suite failed: {quoted}")
    assert len(verdict.line.splitlines()) == 1
    assert verdict.line.startswith("verdict: BROKEN (exit 4): the suite failed: it said ::error::")
