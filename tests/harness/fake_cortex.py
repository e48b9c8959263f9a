"""A small `cortex` command for tests: `up`, `down`, `memory serve`, `memory migrate`.

`CORTEX_FAKE_FAULT=up-fails` makes `up` fail; a file `fault` in the first folder of `PYTHONPATH`
does the same for the stack of one tree. `CORTEX_FAKE_TRACE` names a folder where each stack
leaves its process ids, so that a test can see that all of them are gone.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve()


def main() -> None:
    if sys.argv[1:3] == ["memory", "serve"]:
        import fake_memory

        fake_memory.serve()
    elif sys.argv[1:3] == ["memory", "migrate"]:
        print("nothing to migrate")
    elif sys.argv[1:2] == ["embedding"]:
        import fake_embedding

        fake_embedding.serve(int(sys.argv[2]))
    else:
        options = _parse()
        {"up": up, "down": down}[options.command](options)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["up", "down"])
    for name in ("--runtime", "--profile", "--name"):
        parser.add_argument(name)
    parser.add_argument("--state-dir", type=Path)
    parser.add_argument("--out", type=Path)
    for flag in ("--free-ports", "--fast", "--wait", "--json", "--volumes"):
        parser.add_argument(flag, action="store_true")
    return parser.parse_args()


def _fault() -> str:
    first = Path(os.environ.get("PYTHONPATH", "").partition(":")[0] or ".", "fault")
    return first.read_text().strip() if first.exists() else os.environ.get("CORTEX_FAKE_FAULT", "")


def up(options: argparse.Namespace) -> None:
    fault = _fault()
    if fault == "up-fails":
        sys.exit("Postgres did not start: no space left on device")
    options.state_dir.mkdir(parents=True)
    embedding, memory = _free_port(), _free_port()
    environment = {
        "CORTEX_MEMORY_DATABASE_URL": f"sqlite:{options.state_dir / 'memory.sqlite'}",
        "CORTEX_MEMORY_EMBEDDING_URL": f"http://127.0.0.1:{embedding}",
        "CORTEX_MEMORY_PORT": str(memory),
        "CORTEX_FAKE_FAULT": fault,
    }
    command = [sys.executable, str(HERE), "memory", "serve"]
    children = [
        _start([sys.executable, str(HERE), "embedding", str(embedding)], {}),
        _start(command, environment),
    ]
    pids = [child.pid for child in children]
    (options.state_dir / "pids.json").write_text(json.dumps(pids))
    if trace := os.environ.get("CORTEX_FAKE_TRACE"):
        (Path(trace) / f"{options.name}.json").write_text(json.dumps(pids))
    for port in (embedding, memory):
        _wait(f"http://127.0.0.1:{port}/info")
    targets = {
        "schema": "cortex.targets/1",
        "stack": {"name": options.name, "runtime": "native", "profile": "memory", "revision": "r"},
        "services": {
            "embedding": {"url": f"http://127.0.0.1:{embedding}", "pids": pids[:1]},
            "memory": {
                "url": f"http://127.0.0.1:{memory}",
                "mcp_url": f"http://127.0.0.1:{memory}/mcp",
                "token": "secret-token-of-the-fake",
                "pids": pids[1:],
                "start": {"command": command, "environment": environment},
            },
        },
    }
    options.out.touch(mode=0o600)
    options.out.write_text(json.dumps(targets))


def down(options: argparse.Namespace) -> None:
    pids = options.state_dir / "pids.json"
    for pid in json.loads(pids.read_text()) if pids.exists() else []:
        os.kill(pid, signal.SIGKILL)


def _start(command: list[str], environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _wait(url: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    sys.exit(f"{url} did not answer")


if __name__ == "__main__":
    main()
