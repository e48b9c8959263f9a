"""The page of the comparing proof: what was promised, what came out, comparison by comparison."""

from collections.abc import Mapping, Sequence
from math import ceil
from statistics import median
from typing import Any

Row = Mapping[str, Any]
FOUND_OF_20 = 18
MOST_OPEN = 0.25
"""Share of undecided comparisons of a revision with itself above which finding nothing is cheap."""


def page(
    rows: Sequence[Row], revision: str, limits: Mapping[str, float], count: int
) -> tuple[str, bool]:
    """The page as Markdown, and whether every promise holds."""
    same = _of(rows, "same")
    slower = _of(rows, "slower")
    worse = {(row["number"]): row for row in _of(rows, "relevance")}
    false = [row for row in same if row["blamed"]]
    found = [row for row in slower if row["blamed"] == row["stage"]]
    losses = list(worse.values())
    large = [row for row in losses if row["loss"] >= 0.01]
    small = [row for row in losses if 0 < row["loss"] < 0.01]
    asis = [row for row in losses if row["loss"] == 0]
    caught = [row for row in large if row["fell"]]
    alarms = [row for row in [*small, *asis] if row["fell"]]
    needed = max(1, ceil(count * FOUND_OF_20 / 20))
    open_same = sum(bool(row["open"]) for row in same)
    whole = asis and all(len(part) >= count for part in (same, slower, large, small))
    holds = bool(
        whole
        and not false
        and open_same <= len(same) * MOST_OPEN
        and len(found) >= needed
        and len(caught) == len(large)
        and not alarms
    )
    named = ", ".join(f"{name} {value:g}" for name, value in limits.items())
    lines = [
        "# Proof: comparing",
        "",
        f"Made by `python -m harness.proofs comparing`, revision `{revision}`; limits: {named}.",
        f"{'It holds.' if holds else 'It does not hold, or is not whole yet.'}",
        "",
        "| promise | came out |",
        "|---|---|",
        f"| {count} comparisons of one revision with itself give no verdict of slower, "
        f"and at most {MOST_OPEN:.0%} are undecided "
        f"| {len(false)} of {len(same)}; {open_same} undecided |",
        f"| a stage that takes 20 % longer is found and blamed in {needed} of {count} "
        f"| {len(found)} of {len(slower)} |",
        f"| a loss of .02 macro nDCG@10 is caught | {len(caught)} of {len(large)} |",
        f"| a loss of .001 is not | {sum(bool(r['fell']) for r in small)} of {len(small)} caught |",
        f"| the rankings as they are fell nothing | {'; '.join(_fell(r) for r in asis) or '–'} |",
        "",
    ]
    for title, part in (("One revision with itself", same), ("One stage slowed", slower)):
        lines += [f"## {title}", "", *_table(part), ""]
    if losses:
        lines += [
            "## Rankings worsened",
            "",
            "| loss | shape | measured | fell |",
            "|---|---|---|---|",
        ]
        lines += [
            f"| {row['loss']:g} | {row['shape'] or 'as it is'} | {row['lost']:.4f} | {_fell(row)} |"
            for row in losses
        ]
        lines.append("")
    return "\n".join(lines), holds


def _of(rows: Sequence[Row], part: str) -> list[Row]:
    """The rows of a part in order of their numbers; of a number made twice the last one."""
    return [
        row
        for _, row in sorted({row["number"]: row for row in rows if row["part"] == part}.items())
    ]


def _fell(row: Row) -> str:
    return ", ".join(f"`{one}`" for one in row["fell"]) or "nothing"


def _table(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return ["Not measured yet."]
    shown = ("response", "embed", "text", "vector")
    lines = [f"| n | slowed | blamed | undecided | pairs | base ms | {' | '.join(shown)} |"]
    lines.append("|---" * (6 + len(shown)) + "|")
    ratios: dict[str, list[float]] = {name: [] for name in shown}
    for row in rows:
        found = {one["series"]: one for one in row["changes"]}
        for name in shown:
            if name in found and found[name]["ratio"] is not None:
                ratios[name].append(found[name]["ratio"])
        cells = [_ratio(found[name]) if name in found else "–" for name in shown]
        base = found["response"]["base_ms"] if "response" in found else 0.0
        lines.append(
            f"| {row['number'] + 1} | {row['stage'] or '–'} | {row['blamed'] or '–'} | "
            f"{', '.join(row['open']) or '–'} | {row['pairs']} | {base:.1f} | {' | '.join(cells)} |"
        )
    middles = [f"{median(values):.3f}" if values else "–" for values in ratios.values()]
    lines.append(f"| middle | | | | | | {' | '.join(middles)} |")
    return lines


def _ratio(one: Row) -> str:
    if one["ratio"] is None:
        return "–"
    return f"{one['ratio']:.3f} ({one['ratio_low']:.2f}–{one['ratio_high']:.2f})"
