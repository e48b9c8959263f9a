"""Ports on the loopback address: who holds one, and which are free."""

import contextlib
import random
import socket
from pathlib import Path

import psutil

CALLERS_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
FREE_FROM = 20_000


def free(count: int) -> list[int]:
    """Ports nobody holds, below those the machine gives to callers.

    Of those a caller could take one while its service is restarted, even by calling that service.
    """
    given_from = int(CALLERS_PORTS.read_text().split()[0])
    candidates = range(FREE_FROM, max(given_from, FREE_FROM + 1000))
    found: list[int] = []
    with contextlib.ExitStack() as held:
        for port in random.sample(candidates, len(candidates)):
            if len(found) == count:
                break
            one = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                one.bind(("127.0.0.1", port))
                found.append(port)
    return found


def holder(port: int) -> str | None:
    """Who listens on a loopback port, for a person to read; None if nobody does."""
    for connection in psutil.net_connections("tcp"):
        if connection.status != psutil.CONN_LISTEN or not connection.laddr:
            continue
        if connection.laddr.port != port:
            continue
        if connection.pid is None:
            return "a process of another user"
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(connection.pid)
            return f"{process.name()} (process {process.pid})"
        return f"process {connection.pid}"
    return None
