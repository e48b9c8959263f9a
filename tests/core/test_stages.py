"""Stages of a request: what the header says of those that run beside each other."""

import asyncio
import re

from cortex.shared.stages import MOST_STRETCHES, request_stages, stage, tell_part


def entries(header: str) -> list[tuple[str, float, float | None]]:
    found = re.findall(r"([\w.]+);dur=([\d.]+)(?:;start=([\d.]+))?", header)
    return [(name, float(dur), float(start) if start else None) for name, dur, start in found]


def test_each_stretch_of_a_stage_says_when_it_began() -> None:
    async def one(name: str, first: asyncio.Event, then: asyncio.Event) -> None:
        with stage(name):
            first.set()
            await then.wait()

    async def both() -> str:
        a, b = asyncio.Event(), asyncio.Event()
        with request_stages() as stages:
            await asyncio.gather(one("embed", a, b), one("text", b, a))
            with stage("text"):
                pass
            return stages.header()

    told = entries(asyncio.run(both()))

    assert [name for name, _, _ in told] == ["text", "text", "embed", "total"] or [
        name for name, _, _ in told
    ] == ["embed", "text", "text", "total"]
    starts = {name: start for name, _, start in reversed(told)}
    assert starts["embed"] is not None
    assert starts["total"] is None
    embed = next(one for one in told if one[0] == "embed")
    text = next(one for one in told if one[0] == "text")
    assert embed[2] <= text[2] <= embed[2] + embed[1] + 0.001
    assert told[-1][1] >= max(start + dur for _, dur, start in told[:-1])


def test_a_request_of_very_many_stretches_keeps_its_header_short_and_its_sums_whole() -> None:
    with request_stages() as stages:
        for _ in range(10 * MOST_STRETCHES):
            with stage("store"):
                pass

    told = [one for one in entries(stages.header()) if one[0] == "store"]

    assert len(told) == MOST_STRETCHES + 1
    assert told[-1][2] is None
    assert abs(sum(dur for _, dur, _ in told) / 1000 - stages.seconds["store"]) < 1e-4


def test_a_part_belongs_to_the_stage_it_is_told_in_and_to_nothing_outside_of_one() -> None:
    tell_part("queue", 1.0)
    with request_stages() as stages:
        tell_part("queue", 1.0)
        with stage("embed"):
            tell_part("queue", 0.25)
            tell_part("queue", 0.25)

    assert stages.seconds.keys() == {"embed", "embed.queue"}
    assert stages.seconds["embed.queue"] == 0.5
    assert ("embed.queue", 500.0, None) in entries(stages.header())
