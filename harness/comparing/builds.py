"""A build is a revision's stack: its tree, the Python it runs on, and the stack brought up of it.

A tree is checked out with `git worktree` for as long as it is needed. The stack is told apart by
`PYTHONPATH` alone, for both builds the same way, so that neither is installed differently.
"""

import contextlib
import fcntl
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import environment, interrupts, processes, progress, stack
from harness.errors import StackFailed, UsageMistake
from harness.targets import Targets

WORKING_TREE = ""
"""The name of what is not committed."""
INSTALLED_WITHIN_S = 1200.0
GIT_WITHIN_S = 120.0
LOCK = "requirements.lock"
PACKAGE = "stack/cortex"
"""What a tree must have to be a build."""


@dataclass(frozen=True, slots=True)
class Build:
    """A tree with its revision, the Python for it, and what stands before it on the path."""

    role: str
    tree: Path
    revision: str
    dirty: bool
    python: Path
    before: tuple[Path, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def environment(self) -> dict[str, str]:
        """What a process of this build sees: our own environment, and its tree first."""
        path = [*self.before, self.tree / "stack"]
        extra = {"PYTHONPATH": ":".join(map(str, path)), **dict(self.variables)}
        return processes.inherited("PYTHONPATH", extra)


@contextlib.contextmanager
def build(role: str, repository: Path, name: str, cache: Path, logs: Path) -> Iterator[Build]:
    """The build of a revision, or of the working tree; what was checked out is gone afterwards."""
    with contextlib.ExitStack() as open_:
        tree = repository
        if name != WORKING_TREE:
            tree = open_.enter_context(checked_out(repository, commit(repository, name)))
        found = environment.revision(tree)
        yield Build(role, tree, found.name, found.dirty, _python(tree, cache, logs))


def commit(repository: Path, name: str) -> str:
    """The commit a name stands for; a name git does not know is a mistake."""
    found = _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^0")
    if found.returncode:
        known = _git(repository, "rev-parse", "--is-inside-work-tree")
        what = "has no revision" if known.returncode == 0 else "is no git repository; it has no"
        raise UsageMistake(f"{repository} {what} {name!r}")
    return found.stdout.strip()


def check(repository: Path, name: str) -> None:
    """Refuse a revision git does not know, or a tree that has no stack in it."""
    if name == WORKING_TREE:
        there = (repository / PACKAGE).is_dir()
    else:
        there = not _git(
            repository, "cat-file", "-e", f"{commit(repository, name)}:{PACKAGE}"
        ).returncode
    if not there:
        raise UsageMistake(f"{name or 'the working tree'} of {repository} has no {PACKAGE}")


@contextlib.contextmanager
def checked_out(repository: Path, revision: str) -> Iterator[Path]:
    """A worktree of a commit outside of the repository; gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="cortex-compare-"))
    folder.chmod(0o711)
    tree = folder / revision[:10]
    try:
        with interrupts.held():
            made = _git(repository, "worktree", "add", "--detach", str(tree), revision)
        if made.returncode:
            raise StackFailed(f"git made no worktree of {revision}: {made.stderr.strip()}")
        yield tree
    finally:
        with interrupts.held():
            _remove(repository, tree)
            with contextlib.suppress(OSError):
                folder.rmdir()


def _remove(repository: Path, tree: Path) -> None:
    """Remove a worktree; where git will not, its files and git's note of it, and say so."""
    try:
        done = _git(repository, "worktree", "remove", "--force", str(tree))
        if not done.returncode:
            return
        why = done.stderr.strip()
    except StackFailed as err:
        why = str(err)
    if not tree.exists():
        return  # it was never made
    progress.say(f"git did not remove the worktree {tree} ({why}); removing its files")
    shutil.rmtree(tree, ignore_errors=True)
    with contextlib.suppress(StackFailed):
        _git(repository, "worktree", "prune")


def _git(repository: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            ["git", "-C", str(repository), *words],
            capture_output=True,
            text=True,
            timeout=GIT_WITHIN_S,
            check=False,
            # A Ctrl-C reaches us alone: a worktree is never left half made.
            start_new_session=True,
        )
    except OSError as err:
        raise StackFailed(f"git cannot be started ({err.strerror})") from err
    except subprocess.TimeoutExpired as err:
        raise StackFailed(f"git {words[0]} took more than {GIT_WITHIN_S:g} s") from err


def _python(tree: Path, cache: Path, logs: Path) -> Path:
    """Ours, where the tree locks the same dependencies; else one that has the tree's own."""
    lock, ours = tree / LOCK, environment.ROOT / LOCK
    if not lock.exists() or not ours.exists() or lock.read_bytes() == ours.read_bytes():
        return Path(sys.executable)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    digest = hashlib.sha256(version.encode() + lock.read_bytes()).hexdigest()[:16]
    folder = cache / digest
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{digest}.lock").open("w") as held:
        # Two comparisons at once: the second waits, and finds it made.
        fcntl.flock(held, fcntl.LOCK_EX)
        whole = folder / "whole"
        if not whole.exists():
            progress.say(f"installing {tree.name}'s own dependencies into {folder}")
            _install(tree, folder, logs)
            whole.touch()
    return folder / "bin" / "python"


def _install(tree: Path, folder: Path, logs: Path) -> None:
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps"]
    commands: Sequence[Sequence[str]] = (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [*pip, "--require-hashes", "-r", str(tree / LOCK)],
        # For the version it says of itself; its code comes from the tree all the same.
        [*pip, "--no-build-isolation", "--editable", str(tree)],
    )
    log = logs / "install.log"
    for command in commands:
        with processes.running(command, None, log) as child:
            processes.finish(child, INSTALLED_WITHIN_S, " ".join(command[1:4]), log)


@contextlib.contextmanager
def running(build: Build, logs: Path, cortex: Sequence[str] = ()) -> Iterator[Targets]:
    """The build's stack, up and ready; gone afterwards."""
    command = cortex or (str(build.python), *stack.CORTEX[1:])
    progress.say(f"bringing up {build.role}: {build.revision}{' and changes' * build.dirty}")
    with stack.own_stack("native", logs / build.role, command, build.environment) as found:
        yield found
