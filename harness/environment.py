"""What a run ran on: machine, versions, revision of the working tree; nothing secret."""

import importlib.metadata
import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
"""The repository: `evals/`, `loadtests/` and `reports/` lie in it."""

_PACKAGES = (
    "cortex-stack",
    "hdrhistogram",
    "ir-measures",
    "locust",
    "numpy",
    "pytrec-eval-terrier",
)


@dataclass(frozen=True, slots=True)
class Revision:
    """The working tree's commit, and whether it has changes that are not committed."""

    name: str
    dirty: bool


def revision(root: Path = ROOT) -> Revision:
    """The revision of a working tree; without git it is `unknown` and counts as dirty."""
    head = _git(root, "rev-parse", "--short=10", "HEAD")
    if not head:
        return Revision("unknown", dirty=True)
    return Revision(head, dirty=bool(_git(root, "status", "--porcelain")))


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def machine() -> dict[str, str]:
    """The machine in a few words: enough to see that two runs were not made on the same one."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 2**30:.1f} GiB",
        "load average": " ".join(f"{load:.2f}" for load in os.getloadavg()),
        "python": platform.python_version(),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def packages() -> dict[str, str]:
    """Versions of the packages a figure depends on."""
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions
