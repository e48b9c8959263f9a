"""The measurements: service and bare session by turns, one figure and its limit for each rule."""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from harness.measures.schedule import arrivals
from harness.probes.embedding_cost.bare import BareSession
from harness.probes.embedding_cost.service import Answer, Connection, Service
from harness.probes.embedding_cost.texts import mixed_lengths, text_of

CLIENTS = 64
_CHUNK = 8
_MS = 1000
_HEALTH_EVERY_S = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One figure and the most (or, where `at_least`, the least) it may be."""

    name: str
    value: float
    limit: float
    unit: str
    at_least: bool = False
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether the figure keeps its limit."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit


class Measurement:
    """One service and one bare session on its file."""

    def __init__(self, service: Service, bare: BareSession) -> None:
        self._service = service
        self._bare = bare

    async def singles(self, tokens: int, turns: int) -> list[Check]:
        """One text at a time: what the service adds to a bare session, and that it never waits."""
        connection = Connection(self._service.port)
        ids = await self._token_ids(connection, [text_of(tokens)])
        await connection.ask("/embed", {"inputs": text_of(tokens)})
        marks, bare_s, queue_ms = [self._service.cpu_s()], [], []
        for turn in range(turns):
            answer = await connection.ask("/embed", {"inputs": text_of(tokens, turn)})
            queue_ms.append(answer.stage_ms("queue"))
            bare_s.append(self._bare.cpu_s(ids))
            marks.append(self._service.cpu_s())
        await connection.close()
        service_ms = median(after - before for before, after in pairwise(marks)) * _MS
        bare_ms = median(bare_s) * _MS
        note = f"service {service_ms:.2f} ms, bare {bare_ms:.2f} ms"
        limit = 1.10 + 0.4 / bare_ms
        ratio = service_ms / bare_ms
        return [
            Check(name=f"single, {tokens} tokens", value=ratio, limit=limit, unit="x", note=note),
            Check(
                name=f"queue when idle, {tokens} tokens",
                value=median(queue_ms),
                limit=1.0,
                unit="ms",
            ),
        ]

    async def batch(self, tokens: int, turns: int) -> Check:
        """Thirty-two texts of one length; the bare session may run them as it likes best."""
        connection = Connection(self._service.port)
        texts = [text_of(tokens, start) for start in range(32)]
        ids = await self._token_ids(connection, texts)
        chunks = [ids[at : at + _CHUNK] for at in range(0, len(ids), _CHUNK)]
        await connection.ask("/embed", {"inputs": texts})
        marks, whole_s, chunked_s = [self._service.cpu_s()], [], []
        for _ in range(turns):
            await connection.ask("/embed", {"inputs": texts})
            whole_s.append(self._bare.cpu_s(ids))
            chunked_s.append(sum(self._bare.cpu_s(chunk) for chunk in chunks))
            marks.append(self._service.cpu_s())
        await connection.close()
        service_ms = median(after - before for before, after in pairwise(marks)) * _MS / 32
        whole_ms, chunked_ms = (median(taken) * _MS / 32 for taken in (whole_s, chunked_s))
        note = (
            f"service {service_ms:.2f} ms a text, bare {whole_ms:.2f}, in eights {chunked_ms:.2f}"
        )
        return Check(
            name=f"batch of 32, {tokens} tokens",
            value=service_ms / whole_ms,
            limit=1.02,
            unit="x",
            note=note,
        )

    async def mixed(self, rounds: int) -> tuple[list[Check], float, float]:
        """Sixty-four clients of mixed lengths; also CPU seconds a text, and texts a second."""
        lengths = mixed_lengths()
        texts = [text_of(length, place) for place, length in enumerate(lengths)]
        connection = Connection(self._service.port)
        ids = [(await self._token_ids(connection, [text]))[0] for text in texts]
        await connection.close()
        service_s, bare_s, wall_s = 0.0, 0.0, 0.0
        answers: list[Answer] = []
        for _ in range(rounds):
            before, began = self._service.cpu_s(), time.perf_counter()
            answers += await self._closed_loop(texts)
            wall_s += time.perf_counter() - began
            service_s += self._service.cpu_s() - before
            for at in range(0, len(ids), _CHUNK):
                bare_s += self._bare.cpu_s(ids[at : at + _CHUNK])
        count = len(answers)
        took = sorted(answer.took_s for answer in answers)
        p50, p99 = took[count // 2], took[int(count * 0.99)]
        cycle_s = CLIENTS * wall_s / count
        longest_wait = max(answer.stage_ms("queue") for answer in answers) / _MS
        note = (
            f"service {service_s / count * _MS:.2f} ms a text, "
            f"eights in order of arrival {bare_s / count * _MS:.2f}"
        )
        checks = [
            Check(
                name="mixed, 64 clients", value=service_s / bare_s, limit=0.7, unit="x", note=note
            ),
            Check(
                name="mixed, p99 to p50",
                value=p99 / p50,
                limit=2.3,
                unit="x",
                note=f"p50 {p50 * _MS:.0f} ms, p99 {p99 * _MS:.0f} ms",
            ),
            Check(
                name="mixed, longest wait",
                value=longest_wait / cycle_s,
                limit=2.0,
                unit="cycles",
                note=f"a cycle is {cycle_s * _MS:.0f} ms: 64 texts at the measured rate",
            ),
        ]
        return checks, service_s / count, count / wall_s

    async def overload(self, cpu_s: float, per_second: float, seconds: float) -> list[Check]:
        """Twice what the service can take, from callers who do not wait for each other.

        The peak it is compared with is the mean of `cpu_s` and of another round right after it.
        """
        lengths = mixed_lengths()
        moments = list(arrivals(2 * per_second + CLIENTS / seconds, seconds, seed=1))
        health: list[int] = []
        watch = asyncio.create_task(self._watch_health(health))
        before, began = self._service.cpu_s(), time.perf_counter()
        pool: list[Connection] = []
        jobs = [
            asyncio.create_task(
                self._at(began + moment, pool, lengths[place % len(lengths)], place)
            )
            for place, moment in enumerate(moments)
        ]
        answers = await asyncio.gather(*jobs)
        taken_s = self._service.cpu_s() - before
        watch.cancel()
        for connection in pool:
            await connection.close()
        cpu_s = (cpu_s + await self._peak_cpu_s(lengths)) / 2
        accepted = [answer for answer, _ in answers if answer.status == 200]
        refused = sorted(late_s for answer, late_s in answers if answer.status == 429)
        others = len(answers) - len(accepted) - len(refused)
        tokens = sum(int(answer.headers["x-compute-tokens"]) for answer in accepted)
        mean = sum(lengths) / len(lengths)
        work = tokens / mean  # in texts of the mixed load: which are accepted is chance
        return [
            Check(
                name="overload, throughput to peak",
                value=cpu_s / (taken_s / work),
                limit=0.95,
                unit="x",
                at_least=True,
                note=f"a CPU second; {len(accepted)} accepted, {len(refused)} refused",
            ),
            Check(name="overload, neither 200 nor 429", value=others, limit=0, unit="answers"),
            Check(
                name="overload, 429 answered within (median)",
                value=(refused[len(refused) // 2] if refused else 1e9) * _MS,
                limit=50,
                unit="ms",
                note="0 refused"
                if not refused
                else f"p99 {refused[-len(refused) // 100] * _MS:.0f}",
            ),
            Check(
                name="overload, /health other than 200",
                value=sum(status != 200 for status in health) + (not health),
                limit=0,
                unit="answers",
                note=f"{len(health)} asked",
            ),
        ]

    async def _peak_cpu_s(self, lengths: Sequence[int]) -> float:
        before = self._service.cpu_s()
        texts = [text_of(length, place) for place, length in enumerate(lengths)]
        count = len(await self._closed_loop(texts))
        return (self._service.cpu_s() - before) / count

    async def _closed_loop(self, texts: Sequence[str]) -> list[Answer]:
        waiting = iter(texts)

        async def client() -> list[Answer]:
            connection = Connection(self._service.port)
            found = [await connection.ask("/embed", {"inputs": text}) for text in waiting]
            await connection.close()
            return found

        per_client = await asyncio.gather(*(client() for _ in range(CLIENTS)))
        answers = [answer for found in per_client for answer in found]
        assert all(answer.status == 200 for answer in answers)
        return answers

    async def _at(
        self, moment: float, pool: list[Connection], length: int, place: int
    ) -> tuple[Answer, float]:
        """Ask at a planned moment; the answer, and the seconds from that moment to it."""
        await asyncio.sleep(moment - time.perf_counter())
        connection = pool.pop() if pool else Connection(self._service.port)
        answer = await connection.ask("/embed", {"inputs": text_of(length, place)})
        pool.append(connection)
        return answer, time.perf_counter() - moment

    async def _watch_health(self, statuses: list[int]) -> None:
        connection = Connection(self._service.port)
        while True:
            statuses.append((await connection.ask("/health")).status)
            await asyncio.sleep(_HEALTH_EVERY_S)

    async def _token_ids(self, connection: Connection, texts: list[str]) -> list[list[int]]:
        answer = await connection.ask("/tokenize", {"inputs": texts})
        return [[token["id"] for token in tokens] for tokens in json.loads(answer.body)]
