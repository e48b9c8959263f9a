"""Runs the real command against a small fake stack, in folders of the test's own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from whole_run import whole_run

from harness import outputs
from harness.runs import RunFolder, RunRecord

HERE = Path(__file__).parent
SHOWN_CODES = {0, 1, 2, 3, 4, 5}


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    output: str
    runs: Path

    @property
    def verdict(self) -> str:
        """The last line that was printed."""
        return self.output.strip().splitlines()[-1]

    @property
    def run(self) -> Path:
        """The newest run folder."""
        return max(path for path in self.runs.iterdir() if path.is_dir())

    @property
    def json(self) -> dict:
        """The newest run's `run.json`."""
        return json.loads((self.run / "run.json").read_text())


class Harness:
    """The `cortex-harness` command with its folders; `evals` may be changed before a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.evals = folder / "evals"
        self.runs = folder / "runs"
        self.profiles = folder / "load"
        if not self.evals.exists():
            shutil.copytree(HERE / "data" / "evals", self.evals)
            shutil.copytree(HERE / "data" / "load", self.profiles)

    @property
    def options(self) -> list[str]:
        return [
            *("--evals", str(self.evals), "--out", str(self.runs)),
            *("--load-profiles", str(self.profiles), "--cache", str(self.folder / "cache.sqlite")),
            *("--cortex", f"{sys.executable} {HERE / 'fake_cortex.py'}"),
        ]

    def start(self, *words: str, **environment: str) -> "subprocess.Popen[str]":
        clean = {k: v for k, v in os.environ.items() if not k.startswith("CORTEX_")}
        return subprocess.Popen(
            [sys.executable, "-m", "harness", *words],
            env={**clean, **environment},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def end(self, child: "subprocess.Popen[str]", within_s: float = 120) -> Ended:
        output, _ = child.communicate(timeout=within_s)
        return Ended(child.returncode, output, self.runs)

    def __call__(self, *words: str, **environment: str) -> Ended:
        """Run a command as given."""
        return self.end(self.start(*words, **environment))

    def run(self, *words: str, **environment: str) -> Ended:
        """Run suites with this harness's folders."""
        return self("run", *words, *self.options, **environment)


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    """A harness with two tiny eval sets and small load profiles."""
    return Harness(tmp_path)


@pytest.fixture(scope="session")
def _finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One good run of relevance and load, made once."""
    made = Harness(tmp_path_factory.mktemp("finished"))
    ended = made.run("relevance", "load")
    assert ended.code == 0, ended.output
    return made.folder


@pytest.fixture
def finished(_finished: Path, tmp_path: Path) -> tuple[Harness, Ended]:
    """A copy of a good run, and the harness that made it."""
    folder = tmp_path / "finished"
    shutil.copytree(_finished, folder)
    made = Harness(folder)
    return made, Ended(0, "", made.runs)


@pytest.fixture
def accepted(finished: tuple[Harness, Ended], change_run: Callable[..., None]) -> Harness:
    """A harness whose baseline is a good run of its own."""
    made, ended = finished
    change_run(ended.run, dirty=False)
    done = made(
        "baseline", "accept", str(ended.run), "--evals", str(made.evals), "--reason", "first"
    )
    assert done.code == 0, done.output
    return made


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, RunRecord]:
    """A run of everything, with something of all that can go wrong: made once, for reading."""
    folder, run = whole_run(tmp_path_factory.mktemp("whole") / "run")
    outputs.write(folder, run)
    return folder, run


@pytest.fixture
def change_run() -> Callable[..., None]:
    """Changes keys of a run's `run.json`."""

    def change(run: Path, **keys: object) -> None:
        path = run / "run.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **keys}))

    return change
