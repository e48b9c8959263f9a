"""The figures of a run as a page of `docs/`."""

from collections.abc import Sequence
from typing import Any

HNSW = "memory_item_embeddings_nearest"
MIB = 2**20
HEAD = """# A million vectors

Made by `make bench-scale`, which loads generated items by COPY (texts of Zipf words, vectors in
clusters around real ones), builds the indexes anew at each size, and asks a memory server over MCP
with real queries, one after the other, each with its own embedding call; some narrowed by a tag
that stands on a half, a twentieth or a two-hundredth of all items. Times are in ms and those of
this machine; what carries over is their growth.
"""


def written(found: dict[str, Any], broken: Sequence[str]) -> str:
    """Markdown: how long building took, how large all is, how fast and how right searches are.

    `broken` are the bounds that do not hold, in words.
    """
    about = ", ".join(f"{key} {value}" for key, value in sorted(found["machine"].items()))
    parts = [HEAD, f"Machine: {about}.\n", "## What stands there\n", _sizes(found["sizes"])]
    parts += ["\n## Searches\n", _cells(found["cells"]), "\n## Growth\n", _growth(found["cells"])]
    parts += ["\n## Bounds\n", *(f"- **Broken**: {one}." for one in broken)]
    if not broken:
        parts.append("All hold.")
    return "\n".join(parts) + "\n"


def _sizes(sizes: list[dict[str, Any]]) -> str:
    rows = [
        "| vectors | items | postings | load s | HNSW build s | HNSW MiB | all indexes s "
        "| vectors' table MiB | database MiB | Postgres' peak MiB |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for one in sizes:
        numbers = (
            f"{one['vectors']:,}",
            f"{one['items']:,}",
            f"{one['postings']:,}",
            f"{one['load_s']:.0f}",
            f"{one['index_s'][HNSW]:.0f}",
            f"{one['index_bytes'][HNSW] / MIB:,.0f}",
            f"{sum(one['index_s'].values()):.0f}",
            f"{one['table_bytes']['memory_item_embeddings'] / MIB:,.0f}",
            f"{one['database_bytes'] / MIB:,.0f}",
            f"{one['peak_pss_bytes'] / MIB:,.0f}",
        )
        rows.append(f"| {' | '.join(numbers)} |")
    return "\n".join(rows)


def _cells(cells: list[dict[str, Any]]) -> str:
    rows = [
        "| vectors | scope | its vectors | narrowed by | texts | p50 | p90 | p99 | embed (p50) "
        "| filter | text | vector | recall@10 | of | n | failed |",
        "|---:|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for one in cells:
        stages = one["stages_ms"]
        numbers = (
            f"{one['vectors']:,}",
            one["scope"],
            f"{one['scope_vectors']:,}",
            one["narrowed"],
            f"{one['texts']}",
            *(f"{one['find_ms'][name]:.1f}" for name in ("p50", "p90", "p99")),
            *(f"{stages.get(name, 0.0):.1f}" for name in ("embed", "filter", "text", "vector")),
            f"{one['recall']:.3f}",
            f"{one['recall_queries']}",
            f"{one['queries']}",
            f"{one['failed']}",
        )
        rows.append(f"| {' | '.join(numbers)} |")
    return "\n".join(rows)


def _growth(cells: list[dict[str, Any]]) -> str:
    """Each scope's largest size against its smallest, whole and without the embedding call."""
    rows = [
        "| scope | narrowed by | texts | vectors | p50 | p99 | p50 without embedding |",
        "|---|---|---:|---|---:|---:|---:|",
    ]
    for key in dict.fromkeys(map(_question, cells)):
        same = [one for one in cells if _question(one) == key]
        first, last = same[0], same[-1]
        ratios = [last["find_ms"][name] / first["find_ms"][name] for name in ("p50", "p99")]
        bare = [one["find_ms"]["p50"] - one["stages_ms"].get("embed", 0.0) for one in (first, last)]
        span = f"{first['vectors']:,} → {last['vectors']:,}"
        numbers = [f"{ratio:.2f} ×" for ratio in (*ratios, bare[1] / bare[0])]
        rows.append(f"| {' | '.join(key)} | {span} | {' | '.join(numbers)} |")
    return "\n".join(rows)


def _question(cell: dict[str, Any]) -> tuple[str, str, str]:
    return cell["scope"], cell["narrowed"], str(cell["texts"])
