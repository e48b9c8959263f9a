"""`compare --base`: two builds of a small fake stack side by side, and what comes of it."""

import json
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from conftest import Ended, Harness

from harness import gates_file
from harness.comparing import builds
from harness.comparing.relevance import about_what_was
from harness.errors import StackFailed

FOLDER = "comparisons"


def git(repository: Path, *words: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    done = subprocess.run(
        ["git", "-C", str(repository), *identity, *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose first commit, `good`, is a whole stack; what breaks it is up to a test."""
    made = tmp_path / "repository"
    (made / "stack").mkdir(parents=True)
    git(made, "init", "--quiet")
    (made / "stack" / "fault").write_text("")
    (made / "stack" / "cortex").mkdir()
    (made / "stack" / "cortex" / "__init__.py").write_text("")
    git(made, "add", "-A")
    git(made, "commit", "--quiet", "-m", "good")
    git(made, "tag", "good")
    return made


def break_(repository: Path, fault: str) -> None:
    (repository / "stack" / "fault").write_text(fault)


def words(harness: Harness, repository: Path, *more: str) -> list[str]:
    out = str(harness.folder / FOLDER)
    return [
        *("compare", "--base", "good", "--repository", str(repository), "--out", out),
        *("--evals", str(harness.evals), "--eval-set", "kitchen"),
        *("--cortex", harness.options[-1], *more),
    ]


def record(harness: Harness) -> dict:
    (folder,) = (harness.folder / FOLDER).iterdir()
    return json.loads((folder / "compare.json").read_text())


def agrees(harness: Harness, ended: Ended, *codes: int) -> dict:
    """The comparison's JSON, after code, last line and JSON were held against each other."""
    assert ended.code in codes, ended.output
    kept = record(harness)
    assert kept["verdict"]["exit_code"] == ended.code
    assert kept["verdict"]["line"] == ended.verdict
    assert f"(exit {ended.code}): " in ended.verdict
    return kept


def leaves_nothing(repository: Path) -> None:
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_a_build_beside_its_equal_is_not_slower(harness: Harness, repository: Path) -> None:
    ended = harness(*words(harness, repository, "--candidate", "good"))

    kept = agrees(harness, ended, 0, 3)  # a restless machine may leave it open
    assert kept["schema"] == "cortex.compare/1"
    assert kept["status"] == "complete"
    assert not [one for one in kept["changes"] if one["standing"] == "fell"]
    series = {one["series"] for one in kept["changes"]}
    assert {"response", "embed", "text", "vector", "outside the server"} <= series
    assert {gate["standing"] for gate in kept["gates"]} == {"held"}
    assert kept["losses"] == kept["wins"] == []
    (folder,) = (harness.folder / FOLDER).iterdir()
    blocks = [json.loads(line) for line in (folder / "blocks.jsonl").read_text().splitlines()]
    assert len(blocks) in (2 * 14, 3 * 2 * 14)  # the first look, or the last
    firsts = [block["build"] for block in blocks if block["first"]]
    assert firsts.count("base") == firsts.count("candidate")
    page = (folder / "report.html").read_text()
    assert "Candidate over base" in page
    assert "src=" not in page
    assert (folder / "summary.md").read_text().startswith(f"# {kept['verdict']['word']}")
    assert "secret-token-of-the-fake" not in json.dumps(kept)
    leaves_nothing(repository)


def test_a_slower_stage_fails_and_is_named(harness: Harness, repository: Path) -> None:
    break_(repository, "slow-vector")

    ended = harness(*words(harness, repository))

    kept = agrees(harness, ended, 1)
    assert kept["blamed"] == "vector"
    assert "slower: vector +" in ended.verdict
    assert kept["candidate"]["dirty"]
    assert not kept["base"]["dirty"]


@pytest.mark.parametrize(
    ("fault", "gone", "new"),
    [("renamed-stage", {"embed"}, {"encode"}), ("no-stages", {"embed", "text", "vector"}, set())],
)
def test_stages_that_one_build_alone_tells_leave_it_open(
    harness: Harness, repository: Path, fault: str, gone: set[str], new: set[str]
) -> None:
    break_(repository, fault)

    ended = harness(*words(harness, repository))

    kept = agrees(harness, ended, 3)
    found = {one["series"]: one for one in kept["changes"]}
    assert all("stage gone" in found[name]["why"] for name in gone)
    assert all("new stage" in found[name]["why"] for name in new)
    assert {found[name]["standing"] for name in gone | new} == {"not-comparable"}
    assert "stage gone: the base tells it, the candidate does not" in ended.verdict
    (folder,) = (harness.folder / FOLDER).iterdir()
    assert "stage gone" in (folder / "report.html").read_text()
    assert "with 99.5 % intervals" in (folder / "report.html").read_text()


def test_a_build_that_finds_less_fails_and_names_the_queries(
    harness: Harness, repository: Path
) -> None:
    break_(repository, "no-hits")

    ended = harness(*words(harness, repository))

    kept = agrees(harness, ended, 1)
    assert "less relevant: " in ended.verdict
    assert kept["losses"][0]["text"]
    assert kept["losses"][0]["now"] == 0.0


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("up-fails", "no space left on device"),
        ("degraded", "candidate: a search was degraded"),
        ("half-errors", "candidate: a search failed"),
    ],
)
def test_a_build_that_does_not_work_is_broken_and_never_slower(
    harness: Harness, repository: Path, fault: str, says: str
) -> None:
    break_(repository, fault)

    ended = harness(*words(harness, repository))

    kept = agrees(harness, ended, 4)
    assert says in ended.output
    assert kept["status"] == "failed"
    leaves_nothing(repository)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--candidate", "nowhere"], "has no revision 'nowhere'"),
        (["--base", ""], "--base is empty"),
        (["--base=--help"], "has no revision '--help'"),
        (["--repository", "/"], "is no git repository"),
        (["--eval-set", "attic"], "no eval set 'attic'; there are garage, kitchen"),
        (["--pairs", "3"], "3 is not in the range"),
        (["one", "two"], "give two run folders, or --base REF"),
    ],
)
def test_a_usage_mistake_ends_with_2_before_anything_starts(
    harness: Harness, repository: Path, more: list[str], says: str
) -> None:
    ended = harness(*words(harness, repository, *more))

    assert ended.code == 2, ended.output
    assert says in ended.verdict
    assert not (harness.folder / FOLDER).exists()


def test_a_tree_without_a_stack_is_a_usage_mistake(harness: Harness, repository: Path) -> None:
    git(repository, "rm", "-r", "--quiet", "stack/cortex")
    git(repository, "commit", "--quiet", "-m", "none")

    ended = harness(*words(harness, repository, "--candidate", "HEAD"))
    changed = harness(*words(harness, repository))

    assert ended.code == changed.code == 2
    assert "HEAD of " in ended.verdict
    assert "the working tree of " in changed.verdict
    assert "has no stack/cortex" in ended.verdict
    assert not (harness.folder / FOLDER).exists()


def test_a_worktree_git_will_not_remove_is_removed_and_said(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with builds.checked_out(repository, git(repository, "rev-parse", "HEAD").strip()) as tree:
        (tree / ".git").unlink()

    assert not tree.exists()
    assert "git did not remove the worktree" in "".join(capsys.readouterr())
    leaves_nothing(repository)


def test_a_git_that_hangs_is_named(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "GIT_WITHIN_S", 0.0)

    with pytest.raises(StackFailed, match="git rev-parse took more than 0 s"):
        builds.commit(repository, "good")


def test_a_waiver_forgives_a_build_and_is_in_the_record(harness: Harness, repository: Path) -> None:
    break_(repository, "no-hits")
    (harness.evals / "waivers.toml").write_text(
        "".join(
            f'[[waiver]]\ngate = "{one}"\nreason = "r"\nuntil = 2999-01-01\nby = "ann"\n'
            for one in sorted(_regressions(harness))
        )
    )

    ended = harness(*words(harness, repository))

    kept = agrees(harness, ended, 0, 3)
    standings = {gate["standing"] for gate in kept["gates"]}
    assert "waived" in standings
    assert "fell" not in standings
    assert "used" in {one["state"] for one in kept["waivers"]}
    assert {part["about"] for part in kept["key"]} == {"noted"}
    assert "model" in {part["part"] for part in kept["key"]}


def _regressions(harness: Harness) -> set[str]:
    found = gates_file.read(harness.evals / "gates.toml").gates
    return {gate.id for gate in about_what_was(found)}


def test_an_interrupted_comparison_leaves_a_whole_folder_and_nothing_else(
    harness: Harness, repository: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    trace.mkdir()
    break_(repository, "slow")
    child = harness.start(*words(harness, repository), CORTEX_FAKE_TRACE=str(trace))
    deadline = time.monotonic() + 60
    while not list((harness.folder).glob(f"{FOLDER}/*/blocks.jsonl")):
        assert time.monotonic() < deadline, "no block was asked within 60 s"
        time.sleep(0.05)

    child.send_signal(signal.SIGINT)
    ended = harness.end(child)

    kept = agrees(harness, ended, 4)
    assert ended.verdict == "verdict: BROKEN (exit 4): interrupted"
    assert kept["status"] == "partial"
    leaves_nothing(repository)
    pids = [pid for path in trace.iterdir() for pid in json.loads(path.read_text())]
    assert len(pids) == 4
    for pid in pids:
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline + 60, f"process {pid} is still there"
            time.sleep(0.05)


def test_an_environment_is_made_once_by_two_who_want_it_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    def install(tree: Path, folder: Path, logs: Path) -> None:
        made.append(folder)
        assert made == [folder], "the other one did not wait"
        time.sleep(0.2)
        folder.mkdir(parents=True)

    monkeypatch.setattr(builds, "_install", install)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / builds.LOCK).write_text("other==1\n")

    with ThreadPoolExecutor(2) as both:
        asked = [both.submit(builds._python, tree, tmp_path / "cache", tmp_path) for _ in "ab"]
        found = {one.result() for one in asked}

    assert len(found) == len(made) == 1
