"""Neo4j's own jars, fetched once by the user's command and kept with their checksums.

The server is GPL-3.0: it is a process beside ours, and its files are never part of a release of
ours. Maven gives the exact set where it is installed; elsewhere a resolver in Python does.
"""

import contextlib
import fcntl
import hashlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from cortex.runtime.programs.program import Say
from cortex.shared.errors import Misconfigured, StackError
from cortex.shared.settings import inherited_environment

VERSION = "5.26.30"
"""The long-term release; supported to June 2028, runs on Java 17 and 21."""

FETCH_WITHIN_S = 900.0
TELL_EVERY_S = 5.0
# What the Python resolver brings though Maven does not: libraries of tests.
SUPERFLUOUS = ("junit-", "hamcrest-", "mockito-core-", "byte-buddy-", "objenesis-")
SUMS = "SHA256SUMS"
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>cortex</groupId><artifactId>neo4j-server</artifactId><version>1</version>
<dependencies><dependency>
<groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>{version}</version>
</dependency></dependencies>
</project>
"""


def cache() -> Path:
    """Where fetched programs are kept for every stack of this user."""
    root = inherited_environment().get("XDG_CACHE_HOME", "")
    base = Path(root) if root.startswith("/") else Path.home() / ".cache"
    return base / "cortex"


def jars() -> Path:
    """The folder of the jars; `Misconfigured` where they were never fetched or are not whole."""
    folder = cache() / f"neo4j-{VERSION}"
    if not (folder / SUMS).exists():
        raise Misconfigured(f"Neo4j {VERSION} is not fetched yet; `cortex up` does it")
    wanted = dict(_read_sums(folder))
    found = {path.name: path.stat().st_size for path in folder.glob("*.jar")}
    if found != {name: size for name, (size, _) in wanted.items()}:
        raise Misconfigured(f"{folder} is not as it was fetched; remove it and `cortex up` again")
    return folder


def fetch(say: Say) -> None:
    """Fetch the jars unless they are there and whole; what came before a break is not fetched anew.

    Raises `StackError` with the last lines of what failed.
    """
    folder = cache() / f"neo4j-{VERSION}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.parent / f".neo4j-{VERSION}.lock"):
        if (folder / SUMS).exists() and _is_whole(folder):
            return
        shutil.rmtree(folder, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".neo4j-") as place:
            partial = Path(place) / "lib"
            partial.mkdir()
            maven = shutil.which("mvn")
            say(f"fetching Neo4j {VERSION} {'with Maven' if maven else 'without Maven'}, 123 MB")
            (_by_maven if maven else _by_resolver)(partial, say)
            _write_sums(partial)
            partial.rename(folder)
    say(f"Neo4j {VERSION} is fetched")


def _by_maven(partial: Path, say: Say) -> None:
    pom = partial.parent / "pom.xml"
    pom.write_text(_POM.format(version=VERSION), encoding="utf-8")
    words = ["mvn", "-B", "-q", "-f", str(pom), "dependency:copy-dependencies"]
    words += ["-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
    _run(words, say, lambda: _sized(partial))


def _by_resolver(partial: Path, say: Say) -> None:
    """By jgo, whose own folder stays in the cache, so that a second try goes on."""
    kept = cache() / "jgo"
    words = [sys.executable, "-m", "jgo", "--resolver", "python", "--links", "copy"]
    words += ["--cache-dir", str(kept / "environments"), "--repo-cache", str(kept / "repository")]
    words += ["--timeout", "60", "info", "envdir", f"org.neo4j:neo4j:{VERSION}"]
    told = _run(words, say, lambda: _sized(kept / "repository"))
    made = Path(told.strip().splitlines()[-1])
    for jar in made.rglob("*.jar"):
        if not jar.name.startswith(SUPERFLUOUS):
            shutil.copy2(jar, partial / jar.name)
    if not any(partial.glob("neo4j-[0-9]*.jar")):
        raise StackError(f"the resolver left no server in {made}")
    shutil.rmtree(kept)


def _run(words: list[str], say: Say, so_far: Callable[[], int]) -> str:
    """Run a fetching program, telling every few seconds how much is there; its output."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd="/"
        )
        try:
            deadline = time.monotonic() + FETCH_WITHIN_S
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(TELL_EVERY_S)
                    break
                say(f"  {so_far() / 1e6:.0f} MB")
                if time.monotonic() > deadline:
                    raise StackError(f"Neo4j was not fetched within {FETCH_WITHIN_S:.0f} s")
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        output.seek(0)
        told = output.read()
    if process.returncode:
        raise StackError(f"`{' '.join(words[:3])} …` failed: {told.strip()[-800:]}")
    return told


def _sized(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _write_sums(folder: Path) -> None:
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.stat().st_size}  {path.name}\n"
        for path in sorted(folder.glob("*.jar"))
    ]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def _read_sums(folder: Path) -> Iterator[tuple[str, tuple[int, str]]]:
    for line in (folder / SUMS).read_text(encoding="utf-8").splitlines():
        digest, size, name = line.split("  ", 2)
        yield name, (int(size), digest)


def _is_whole(folder: Path) -> bool:
    """Every jar as it was fetched, by its checksum."""
    with contextlib.suppress(OSError, ValueError):
        return all(
            hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
            for name, (_, digest) in _read_sums(folder)
        )
    return False


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One fetch at a time; the lock goes with the process that holds it."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
