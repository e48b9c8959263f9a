"""A small file system of its own, and the ballast that fills it."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness import interrupts, progress

SIZE_BYTES = 448 * 2**20
"""Room for a new database cluster, its write-ahead log and some minutes of load."""
BLOCK_BYTES = 2**20


class CannotMount(Exception):
    """This machine lets us have no file system of our own; the message says why."""


class SmallDisk:
    """A mounted file system."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self) -> None:
        """Use up all that is left of it, and whatever was freed since it was filled."""
        with self._ballast.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            size = BLOCK_BYTES
            while size:
                try:
                    file.write(bytes(size))
                    os.fsync(file.fileno())
                except OSError:
                    size //= 2

    def free(self) -> None:
        """Give back what was used up."""
        self._ballast.unlink(missing_ok=True)


@contextlib.contextmanager
def small_disk() -> Iterator[SmallDisk]:
    """An ext4 file system in a file; raises `CannotMount`. It is unmounted and gone afterwards."""
    if os.geteuid() != 0:
        raise CannotMount("only root may mount a file system")
    if missing := [word for word in ("mkfs.ext4", "mount", "umount") if not shutil.which(word)]:
        raise CannotMount(f"{', '.join(missing)} is not installed")
    with tempfile.TemporaryDirectory(prefix="cortex-disk-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        image, mounted = folder / "image", folder / "mounted"
        mounted.mkdir()
        with image.open("wb") as file:
            file.truncate(SIZE_BYTES)
        # No blocks kept for root, who would write on where Postgres' own user cannot.
        _do("mkfs.ext4", "-q", "-m", "0", str(image))
        try:
            # Held: an interrupt just after the mount would leave it behind.
            with interrupts.held():
                _do("mount", "-o", "loop", str(image), str(mounted))
            yield SmallDisk(mounted)
        finally:
            with interrupts.held():
                _unmount(mounted)


def _unmount(mounted: Path) -> None:
    if not mounted.is_mount():
        return
    words = ["umount", "--lazy", str(mounted)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        progress.say(f"  {mounted} stays mounted: {done.stderr.strip()[-200:]}")


def _do(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CannotMount(f"`{' '.join(command[:2])}` failed: {done.stderr.strip()[-200:]}")
