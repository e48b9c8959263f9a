"""The table of faults: what is done to whom, and how long it lasts."""

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

import psutil
import psycopg

from harness.errors import StackFailed
from harness.probes.resilience.disks import SmallDisk
from harness.probes.resilience.relay import Relay

Where = Literal["stack", "relay", "small disk"]
PLACES: tuple[Where, ...] = ("stack", "relay", "small disk")
"""Which kind of stack a fault is for: the plain one, one behind relays, one on a small disk."""
PAUSED_FOR_S = 4.0
SLOW_FOR_S = 5.0
STOPPED_S, RUNNING_S = 0.08, 0.02
REFUSED_FOR_S = 3.0
FULL_FOR_S = 8.0
FILL_EVERY_S = 0.2
LOGGED_AT_ONCE = 40
"""Messages of 1 MB: more than two files of the write-ahead log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a fault may lay hands on: the stack's processes, and what stands between them."""

    pids: Mapping[str, int]
    database_url: str
    relays: Mapping[str, Relay]
    disk: SmallDisk | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """Something done to a service; over when `inflict` returns, but for what stays as it is."""

    name: str
    service: str
    about: str
    inflict: Callable[[Ground], None]
    where: Where = "stack"

    @property
    def id(self) -> str:
        """Its name with the service's: one of a kind."""
        return f"{self.name} {self.service}"


def _process(ground: Ground, service: str) -> psutil.Process:
    try:
        return psutil.Process(ground.pids[service])
    except (psutil.Error, KeyError) as err:
        raise StackFailed(f"{service} has no process to do something to: {err}") from err


def _tree(process: psutil.Process) -> list[psutil.Process]:
    """A process and all below it: each of Postgres' leads a group of its own."""
    return [process, *process.children(recursive=True)]


def _signal(processes: Sequence[psutil.Process], number: signal.Signals) -> None:
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.send_signal(number)


def _send(service: str, number: signal.Signals) -> Callable[[Ground], None]:
    return lambda ground: _signal([_process(ground, service)], number)


def _kill_backend(ground: Ground) -> None:
    """One of the processes that serve its callers; their titles name user and database."""
    url = urlsplit(ground.database_url)
    title = f"{url.username} {url.path.strip('/')} "
    backends = [
        one for one in _process(ground, "postgres").children() if title in " ".join(one.cmdline())
    ]
    if not backends:
        raise StackFailed("Postgres serves nobody; there is no backend to kill")
    _signal(backends[:1], signal.SIGKILL)


def _hang(service: str) -> Callable[[Ground], None]:
    return lambda ground: _signal(_tree(_process(ground, service)), signal.SIGSTOP)


def _pause(service: str) -> Callable[[Ground], None]:
    def inflict(ground: Ground) -> None:
        with _standing_still(_tree(_process(ground, service))):
            time.sleep(PAUSED_FOR_S)

    return inflict


def _slow(service: str) -> Callable[[Ground], None]:
    def inflict(ground: Ground) -> None:
        tree = _tree(_process(ground, service))
        over = time.monotonic() + SLOW_FOR_S
        while time.monotonic() < over:
            with _standing_still(tree):
                time.sleep(STOPPED_S)
            time.sleep(RUNNING_S)

    return inflict


@contextlib.contextmanager
def _standing_still(tree: Sequence[psutil.Process]) -> Iterator[None]:
    _signal(tree, signal.SIGSTOP)
    try:
        yield
    finally:
        _signal(tree, signal.SIGCONT)


def _hang_up(ground: Ground) -> None:
    with psycopg.connect(ground.database_url, autocommit=True, connect_timeout=10) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def _cut(service: str) -> Callable[[Ground], None]:
    def inflict(ground: Ground) -> None:
        relay = ground.relays[service]
        relay.refuse()
        relay.cut()
        time.sleep(REFUSED_FOR_S)
        relay.accept()

    return inflict


def _fill(*, the_log: bool) -> Callable[[Ground], None]:
    """Leave no space; with `the_log` also use up what Postgres laid by for its write-ahead log."""

    def inflict(ground: Ground) -> None:
        assert ground.disk is not None, "this fault is for a stack on a small disk"
        over = time.monotonic() + FULL_FOR_S
        try:
            while time.monotonic() < over:
                ground.disk.fill()
                if the_log:
                    _write_ahead(ground)
                time.sleep(FILL_EVERY_S)
        finally:
            ground.disk.free()

    return inflict


def _write_ahead(ground: Ground) -> None:
    """Log what is no data, until the server has no place for it and falls, as it must."""
    # It falls while it is asked, and is not there at the next time.
    with contextlib.suppress(psycopg.OperationalError):
        with psycopg.connect(ground.database_url, autocommit=True, connect_timeout=2) as connection:
            for _ in range(LOGGED_AT_ONCE):
                connection.execute(
                    "SELECT pg_logical_emit_message(false, 'harness', repeat('x', 1000000), true)"
                )


_EACH = ("postgres", "embedding", "memory")

FAULTS: tuple[Fault, ...] = (
    *(Fault("kill", name, "SIGKILL to its process", _send(name, signal.SIGKILL)) for name in _EACH),
    Fault(
        "kill a backend of", "postgres", "SIGKILL to one of its serving processes", _kill_backend
    ),
    *(
        Fault("hang", name, "SIGSTOP to all its processes, and never again a SIGCONT", _hang(name))
        for name in _EACH
    ),
    *(
        Fault("pause", name, f"SIGSTOP, and SIGCONT after {PAUSED_FOR_S:g} s", _pause(name))
        for name in _EACH
    ),
    *(
        Fault(
            "slow",
            name,
            f"stopped {STOPPED_S * 1000:.0f} ms of each 100 ms for {SLOW_FOR_S:g} s",
            _slow(name),
        )
        for name in _EACH
    ),
    *(
        Fault("restart", name, "SIGTERM to its process", _send(name, signal.SIGTERM))
        for name in _EACH
    ),
    Fault("hang up", "postgres", "pg_terminate_backend of every caller's connection", _hang_up),
    *(
        Fault(
            "cut",
            name,
            f"every connection to it reset, new ones refused for {REFUSED_FOR_S:g} s",
            _cut(name),
            where="relay",
        )
        for name in ("postgres", "embedding")
    ),
    Fault(
        "fill the disk of",
        "postgres",
        f"the stack's file system has no byte left for {FULL_FOR_S:g} s",
        _fill(the_log=False),
        where="small disk",
    ),
    Fault(
        "fill the log of",
        "postgres",
        f"the same, and its write-ahead log is used up until it falls, for {FULL_FOR_S:g} s",
        _fill(the_log=True),
        where="small disk",
    ),
)

QUICK = ("kill postgres", "kill embedding", "kill memory", "hang up postgres")
"""A few for each gate, half a minute: a crash of each service, and a pool that lost all it had.

One that hangs is first of all waited for, which is too long here; the full profile has it.
"""


def chosen(profile: str) -> tuple[Fault, ...]:
    """The faults of a profile of the gate."""
    return tuple(fault for fault in FAULTS if profile == "full" or fault.id in QUICK)
