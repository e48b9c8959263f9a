"""A stack that was brought up by somebody else: asked through its own server, and left running."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import HERE, Harness

CORTEX = [sys.executable, str(HERE / "fake_cortex.py")]


@pytest.fixture
def running_stack(tmp_path: Path) -> Iterator[Path]:
    """A stack, and the file that describes it."""
    which = ["--name", "theirs", "--state-dir", str(tmp_path / "state")]
    out = tmp_path / "targets.json"
    subprocess.run([*CORTEX, "up", *which, "--out", str(out)], check=True)
    yield out
    subprocess.run([*CORTEX, "down", *which], check=True)


def test_relevance_is_measured_through_the_server_that_is_there(
    harness: Harness, running_stack: Path
) -> None:
    options = ["--stack", str(running_stack), "--allow-writes"]

    ended = harness.run("relevance", *options)
    again = harness.run("relevance", *options)

    assert ended.code == again.code == 0, ended.output + again.output
    kept = again.json
    assert kept["stack"]["name"] == "theirs"
    assert not kept["stack"]["owned"]
    assert not list(again.run.glob("logs/memory-*.log"))
    assert "nDCG" in (again.run / "report.html").read_text()


@pytest.mark.parametrize("service", ["memory", "embedding"])
def test_a_stack_that_is_down_ends_with_4_in_every_suite(
    harness: Harness, running_stack: Path, service: str
) -> None:
    described = json.loads(running_stack.read_text())
    described["services"][service] |= {"url": "http://127.0.0.1:9", "mcp_url": "http://127.0.0.1:9"}
    away = harness.folder / "away.json"
    away.write_text(json.dumps(described))

    for suite in ("contract", "relevance", "load"):
        ended = harness.run(suite, "--stack", str(away), "--allow-writes")
        assert ended.code == 4, ended.output
        assert f"the {service} serv" in ended.verdict


def test_an_address_that_is_none_is_named(harness: Harness, running_stack: Path) -> None:
    described = json.loads(running_stack.read_text())
    described["services"]["memory"]["mcp_url"] = "http://[::1"
    running_stack.write_text(json.dumps(described))

    ended = harness.run("relevance", "--stack", str(running_stack), "--allow-writes")
    running_stack.write_text(json.dumps(described).replace("http://[::1", "http://127.0.0.1:9"))

    assert ended.code == 2
    assert "services.memory.mcp_url: 'http://[::1' is no address" in ended.verdict


def test_strategies_that_cannot_be_started_are_said_to_be_not_applicable(
    harness: Harness, running_stack: Path
) -> None:
    gates = harness.evals / "gates.toml"
    gates.write_text(
        gates.read_text()
        + '\n[[gate]]\nid = "arms"\ntitle = "Arms"\nmetric = "relevance.ndcg@10"\nset = "each"\n'
        'variant = "hybrid"\nbest_of = ["text-only", "vector-only"]\n'
    )

    ended = harness.run("relevance", "--stack", str(running_stack), "--allow-writes")

    assert ended.code == 0, ended.output
    standings = {gate["id"]: gate["standing"] for gate in ended.json["gates"]}
    assert standings["arms/garage/strategies"] == "not-applicable"
    assert json.loads(running_stack.read_text())["stack"]["name"] == "theirs"
