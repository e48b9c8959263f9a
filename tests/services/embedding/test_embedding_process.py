"""The service as a process: what it does under load, in overload and when told to stop."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
from conftest import Process
from servers import wait_for

LONG = "time year people way day man thing woman " * 31


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024


async def ask_many(url: str, texts: list[str], clients: int) -> list[httpx.Response]:
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with httpx.AsyncClient(base_url=url, limits=limits, timeout=60) as client:
        asked = (client.post("/embed", json={"inputs": text}) for text in texts)
        return await asyncio.gather(*asked)


def test_open_requests_are_finished_after_sigterm(process: Callable[..., Process]) -> None:
    started = process(lanes=1)
    started.wait_until_it_answers()

    async def ask_and_stop() -> list[httpx.Response]:
        asked = asyncio.create_task(ask_many(started.url, [LONG] * 20, 20))
        async with httpx.AsyncClient(base_url=started.url, timeout=30) as watch:
            while "te_queue_size 0" in (await watch.get("/metrics")).text:
                pass
        started.child.send_signal(signal.SIGTERM)
        return await asked

    answers = asyncio.run(ask_and_stop())

    assert [answer.status_code for answer in answers] == [200] * 20
    assert started.child.wait(20) == 0
    assert not any(line.startswith("Traceback") for line in started.log.read_text().splitlines())


def test_overload_is_answered_429_at_once_and_health_stays_200(
    process: Callable[..., Process],
) -> None:
    started = process(max_concurrent_requests=2, lanes=1)
    started.wait_until_it_answers()

    async def overload() -> tuple[list[httpx.Response], list[int]]:
        asked = asyncio.create_task(ask_many(started.url, [LONG] * 20, 20))
        health: list[int] = []
        async with httpx.AsyncClient(base_url=started.url, timeout=30) as watch:
            while not asked.done():
                health.append((await watch.get("/health")).status_code)
                await asyncio.sleep(0.01)
        return await asked, health

    answers, health = asyncio.run(overload())

    statuses = sorted(answer.status_code for answer in answers)
    assert statuses[0] == 200
    assert statuses.count(429) >= 10
    assert set(statuses) == {200, 429}
    assert set(health) == {200}


def test_memory_stays_below_350_mb_under_load(process: Callable[..., Process]) -> None:
    started = process()
    started.wait_until_it_answers()

    for _ in range(2):
        answers = asyncio.run(ask_many(started.url, [LONG, "hi"] * 24, 48))
        assert {answer.status_code for answer in answers} == {200}

    assert resident_mb(started.child.pid) < 350


def test_a_second_service_on_the_port_ends_with_an_error(process: Callable[..., Process]) -> None:
    first = process()
    first.wait_until_it_answers()

    second = process(port=first.port)

    assert second.child.wait(30) != 0
    assert first.answers()


def test_one_line_is_logged_a_request(process: Callable[..., Process]) -> None:
    started = process()
    started.wait_until_it_answers()

    httpx.post(f"{started.url}/embed", json={"inputs": "a secret text"})
    wait_for("the log line", lambda: '"request answered"' in started.log.read_text())

    lines = [line for line in started.log.read_text().splitlines() if "request answered" in line]
    assert len(lines) == 1
    assert "color_message" not in started.log.read_text(), "escapes of terminals, from uvicorn"
    assert "secret" not in started.log.read_text()


def test_the_command_ends_with_a_wrong_setting_s_exit_code() -> None:
    words = [sys.executable, "-m", "cortex.cli", "embedding", "serve"]
    settings = {"CORTEX_EMBEDDING_MODEL": "bundled", "CORTEX_EMBEDDING_DIMENSION": "7"}

    done = subprocess.run(words, env=os.environ | settings, capture_output=True, text=True)

    assert done.returncode == 2
    assert "CORTEX_EMBEDDING_DIMENSION=384" in done.stderr
