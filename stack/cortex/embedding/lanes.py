"""Runs waiting texts on worker threads, a micro-batch at a time, without ever waiting to fill one.

The event loop owns all state here; a lane (a thread) only gets a batch and gives its results back.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from cortex.contracts.embedding import ErrorKind
from cortex.embedding.core.batching import micro_batches
from cortex.embedding.metrics import Metrics
from cortex.embedding.records import Encoded, Refused, Timings

log = logging.getLogger(__name__)

Work = Callable[[Sequence[Encoded]], Sequence[Any]]
"""What a lane does with a batch: one result a text, in order."""


class _Job:
    """The texts of one request on their way."""

    __slots__ = ("done", "missing", "results", "timings", "work")

    def __init__(self, work: Work, count: int, done: "asyncio.Future[None]") -> None:
        self.work = work
        self.results: list[Any] = [None] * count
        self.missing = count
        self.done = done
        self.timings = Timings()


@dataclass(slots=True)
class _Waiting:
    job: _Job
    place: int
    text: Encoded
    since: float


@dataclass(slots=True)
class _Batch:
    texts: list[_Waiting]
    lane: "SimpleQueue[_Batch | None] | None" = None
    began: float = 0.0
    ended: float = 0.0
    results: Sequence[Any] = ()
    error: Exception | None = None


class Lanes:
    """A fixed number of worker threads; `run` gives the results of one request's texts."""

    def __init__(self, count: int, *, max_texts: int, max_tokens: int, metrics: Metrics) -> None:
        self._max_texts = max_texts
        self._max_tokens = max_tokens
        self._metrics = metrics
        self._waiting: list[_Waiting] = []
        self._cycle: deque[_Batch] = deque()
        self._lanes: list[SimpleQueue[_Batch | None]] = [SimpleQueue() for _ in range(count)]
        # The lane that ran last is taken first: its core's caches still hold what it needs.
        self._idle = list(self._lanes)
        self._feeding = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._threads = [
            threading.Thread(target=self._serve, args=[lane], name=f"lane-{number}", daemon=True)
            for number, lane in enumerate(self._lanes)
        ]
        for thread in self._threads:
            thread.start()

    async def run(self, work: Work, texts: Sequence[Encoded]) -> tuple[list[Any], Timings]:
        """One result a text, in order, and the seconds spent; raises `Refused` (Backend).

        Texts of requests with the same `work` share batches.
        """
        self._loop = asyncio.get_running_loop()
        job = _Job(work, len(texts), self._loop.create_future())
        now = time.perf_counter()
        self._waiting += [_Waiting(job, place, text, now) for place, text in enumerate(texts)]
        self._metrics.queue_size += len(texts)
        if not self._feeding:
            # At the end of this turn of the loop, so that requests read in one turn share batches.
            self._feeding = True
            self._loop.call_soon(self._feed)
        await job.done
        return job.results, job.timings

    def close(self) -> None:
        """Let the lanes finish what they hold and end."""
        for lane in self._lanes:
            lane.put(None)
        for thread in self._threads:
            thread.join()

    def _feed(self) -> None:
        self._feeding = False
        while self._idle:
            if not self._cycle:
                self._begin_cycle()
            if not self._cycle:
                return
            batch = self._cycle.popleft()
            batch.lane = self._idle.pop()
            self._metrics.queue_size -= len(batch.texts)
            batch.lane.put(batch)

    def _begin_cycle(self) -> None:
        waiting, self._waiting = self._waiting, []
        kinds: dict[Work, list[_Waiting]] = {}
        for one in waiting:
            kinds.setdefault(one.job.work, []).append(one)
        for texts in kinds.values():
            lengths = [len(one.text.ids) for one in texts]
            groups = micro_batches(lengths, max_texts=self._max_texts, max_tokens=self._max_tokens)
            self._cycle += [_Batch([texts[place] for place in group]) for group in groups]

    def _serve(self, lane: "SimpleQueue[_Batch | None]") -> None:
        while (batch := lane.get()) is not None:
            batch.began = time.perf_counter()
            try:
                batch.results = batch.texts[0].job.work([one.text for one in batch.texts])
            except Exception as err:  # noqa: BLE001 - the seam to the engine; told to each caller
                batch.error = err
            batch.ended = time.perf_counter()
            assert self._loop is not None
            try:
                self._loop.call_soon_threadsafe(self._finish, batch)
            except RuntimeError:  # the loop is gone, and with it whoever asked
                return

    def _finish(self, batch: _Batch) -> None:
        assert batch.lane is not None
        self._idle.append(batch.lane)
        self._feed()
        sizes = [len(one.text.ids) for one in batch.texts]
        self._metrics.batch_size.observe(len(sizes))
        self._metrics.batch_tokens.observe(max(sizes) * len(sizes))
        if batch.error is not None:
            log.error("inference failed", exc_info=batch.error, extra={"texts": len(sizes)})
        for place, waiting in enumerate(batch.texts):
            job = waiting.job
            job.timings.queue_s += batch.began - waiting.since
            job.timings.inference_s += batch.ended - batch.began
            if job.done.done():
                continue
            if batch.error is not None:
                job.done.set_exception(
                    Refused(ErrorKind.BACKEND, "Backend error: inference failed")
                )
                continue
            job.results[waiting.place] = batch.results[place]
            job.missing -= 1
            if not job.missing:
                job.done.set_result(None)
