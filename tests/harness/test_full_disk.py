"""A disk that is full while results are written: said, and nothing lost that was written before."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Harness

from harness import results
from harness.errors import HarnessError
from harness.results import Result
from harness.runs import RunFolder

SIZE = "256k"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(place)], capture_output=True
    )
    if mounted.returncode:
        if os.environ.get("CORTEX_REQUIRE_ALL"):
            pytest.fail("a small file system is mounted by root alone")
        pytest.skip("a small file system is mounted by root alone")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fill(disk: Path, leave: int = 0) -> None:
    """Take all that is left of a disk but so many bytes."""
    with (disk / "ballast").open("ab", buffering=0) as ballast:
        try:
            while True:
                ballast.write(b"x" * 4096)
        except OSError:
            ballast.truncate(max(0, ballast.tell() - leave))


def test_records_written_before_stay_whole_and_readable(small_disk: Path) -> None:
    folder = RunFolder(small_disk)
    one = Result(suite="load", name="load.searches", value=1.0, unit="searches", note="n" * 300)
    folder.append(one)
    fill(small_disk)

    with pytest.raises(HarnessError, match="No space left on device"):
        _append_many(folder)
    with pytest.raises(HarnessError, match="what was written before is whole"):
        folder.write("summary.md", "x" * 9000)

    found = results.read(small_disk)
    assert found.results[0] == one
    assert not (small_disk / "summary.md").exists()
    assert [path.name for path in small_disk.iterdir() if path.name.startswith(".")] == []


def _append_many(folder: RunFolder) -> None:
    for number in range(100):
        folder.append(
            Result(suite="load", name="load.searches", value=1.0, unit="searches", part=f"{number}")
        )


def test_a_run_on_a_full_disk_ends_with_4_and_can_be_judged_later(
    harness: Harness, small_disk: Path
) -> None:
    fill(small_disk, leave=40 * 1024)

    ended = harness(
        *("run", "relevance", *harness.options),
        *("--out", str(small_disk / "runs"), "--seed", "7"),
    )

    assert ended.code == 4, ended.output
    assert "No space left on device" in ended.verdict
    run = next((small_disk / "runs").iterdir())
    (small_disk / "ballast").unlink()
    again = harness("gate", str(run), "--evals", str(harness.evals))
    assert again.code in (3, 4, 5), again.output
    assert "Traceback" not in again.output
