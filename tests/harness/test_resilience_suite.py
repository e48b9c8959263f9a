"""The resilience suite on real stacks: what it does, what it finds, what it leaves behind."""

import json
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
from conftest import Ended, Harness

from harness import mcp, results, stack
from harness.probes.resilience import outcomes
from harness.probes.resilience.checking import check
from harness.probes.resilience.faults import FAULTS
from harness.probes.resilience.ledger import Ledger
from harness.probes.resilience.load import Load
from harness.probes.resilience.stacks import Maker, Stand
from harness.probes.resilience.suffering import Suffered, whole_from
from harness.probes.workbench import told
from harness.runs import RunFolder

PROOF = [sys.executable, "-m", "harness.probes.resilience"]
ONLY = ["--only", "kill memory", "--only", "cut postgres"]


def prove(out: Path, count: int, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [*PROOF, "--faults", str(count), *ONLY, "--out", str(out), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_a_proof_goes_on_where_it_ended_and_nothing_is_lost(tmp_path: Path) -> None:
    out, page = tmp_path / "outcomes.jsonl", tmp_path / "page.md"

    first = prove(out, 1)
    kept = out.read_text()
    second = prove(out, 2, "--page", str(page))

    assert first.returncode == second.returncode == 0, first.stdout + second.stdout + second.stderr
    assert out.read_text().startswith(kept)
    done = [json.loads(line) for line in out.read_text().splitlines()]
    assert [f"{one['fault']} {one['service']}" for one in done] == ["kill memory", "cut postgres"]
    for one in done:
        assert one["writes"] > 0
        assert one["lost"] == one["unreported"] == one["strays"] == []
    assert done[0]["outcomes"]["unanswered"] > 0
    assert "kill memory: SIGKILL" in first.stdout
    assert "kill memory" not in second.stdout
    assert "- acknowledged writes lost or wrong: 0" in page.read_text()
    assert page.read_text().count("\n| ") == 3


def test_a_file_that_holds_no_outcomes_is_named_and_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "outcomes.jsonl"
    out.write_text('{"fault": "kill"}\n')

    done = prove(out, 1)

    assert done.returncode == 2
    assert f"{out}: not a file of outcomes" in done.stderr
    assert out.read_text() == '{"fault": "kill"}\n'


def test_what_was_acknowledged_and_is_gone_or_changed_is_found(tmp_path: Path) -> None:
    maker = Maker(runtime="native", cortex=stack.CORTEX, logs=tmp_path)
    with maker.standing("stack") as stand:
        ledger = _written(stand)
        with mcp.Client(stand.mcp_url) as client:
            before = check(client, ledger)
            with psycopg.connect(stand.database_url) as connection:
                gone, changed = (entry.id for entry in ledger.settled[:2])
                connection.execute("DELETE FROM memory_items WHERE id = %s", (gone,))
                connection.execute(
                    "UPDATE memory_items SET content = 'another' WHERE id = %s", (changed,)
                )
                durable = connection.execute("SHOW synchronous_commit").fetchone()
                synced = connection.execute("SHOW fsync").fetchone()
            after = check(client, ledger)
        left = stand.stack

    assert before.items > 4
    assert before.wrong == ()
    assert len(after.wrong) == 2
    assert "was acknowledged and is not there" in after.wrong[0]
    assert "content is 'another', not" in after.wrong[1]
    assert durable == synced == ("on",)
    assert left.processes() == {}


def _written(stand: Stand) -> Ledger:
    ledger = Ledger("tampered")
    load = Load(stand.mcp_url, None, ledger, seed=1, writers=2, searchers=1)
    with mcp.Client(stand.mcp_url) as client:
        told(client, "CreateProject", name="tampered", slug="tampered")
        deadline = time.monotonic() + 30
        with load.running():
            while len(ledger.settled) < 5:
                assert time.monotonic() < deadline, [call.words for call in load.calls][:5]
                time.sleep(0.05)
    return ledger


def test_a_stack_that_lets_a_look_wait_is_whole_at_its_end_and_not_before() -> None:
    load = Load("http://127.0.0.1:9/mcp", None, Ledger("nobody"), 1, 0, 0)
    comes_back = time.monotonic() + 0.5

    def look() -> bool:
        time.sleep(max(0.0, comes_back - time.monotonic()))  # as a server that retries does
        return True

    found = whole_from(look, load)

    assert found is not None
    assert found >= comes_back


FILL = next(one for one in FAULTS if (one.name, one.service) == ("fill the disk of", "postgres"))
FELL = Suffered(
    fault="kill",
    service="postgres",
    about="SIGKILL to its process",
    began_s=1.0,
    ended_s=1.0,
    recovery_s=2.5,
    writes=7,
    items=9,
    outcomes={"acknowledged": 20, "refused": 3},
    degraded=0,
    longest_s=1.2,
    lost=("<ladder> was acknowledged and is not there",),
    unreported=(),
    words={"AddItems: Unavailable": 3},
    seconds=((10, 0), (0, 3), (10, 0)),
)


@pytest.fixture
def fell(finished: tuple[Harness, Ended]) -> tuple[Harness, Path]:
    """A good run to which a fault that lost a write, and one that was left out, are added."""
    harness, ended = finished
    folder = RunFolder(ended.run)
    outcomes.write(folder, [FELL])
    away = outcomes.left_out(FILL, "only root may mount a file system", require_all=False)
    for record in (*outcomes.records(FELL), away, *outcomes.totals([FELL], [away])):
        folder.append(record)
    record = folder.load()
    record.suites["resilience"] = record.suites["load"]
    folder.save(record)
    return harness, ended.run


def test_the_report_shows_each_fault_and_a_lost_write_fells_the_gate(
    fell: tuple[Harness, Path],
) -> None:
    harness, run = fell
    gates = harness.evals / "gates.toml"
    gates.write_text(
        gates.read_text() + '\n[[gate]]\nid = "lost-writes"\ntitle = "None is lost"\n'
        'metric = "resilience.lost-writes"\nceiling = 0\n'
    )

    ended = harness("gate", str(run), "--evals", str(harness.evals))

    page = (run / "report.html").read_text()
    assert ended.code == 1, ended.output
    assert "lost-writes/ceiling" in ended.verdict
    assert 'id="resilience"' in page
    assert "&lt;ladder&gt; was acknowledged and is not there" in page
    assert f"{FILL.id}: left out." in page
    assert 'id="contract"' not in page
    assert len(page) < 300_000
    assert "<ladder>" not in page
    found = results.read(run).find("resilience.recovery")
    assert found is not None
    assert (found.value, found.note) == (2.5, "kill postgres")
