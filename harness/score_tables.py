"""Reads the per-query scores of a run folder back."""

import csv
import math
from collections import defaultdict
from pathlib import Path

from harness.errors import UsageMistake
from harness.evidence import SetScores
from harness.measures.ranking import MEASURES


def read(run: Path) -> dict[tuple[str, str], SetScores]:
    """Scores by set and strategy; a number that is none, or a query there twice, is an error."""
    path = run / "relevance" / "scores.csv"
    scores: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    hits: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as lines:
        for number, row in enumerate(csv.DictReader(lines), start=2):
            key, query = (row["set"], row["variant"]), row["query"]
            of_set = scores.setdefault(key, {metric: {} for metric in MEASURES})
            for metric in MEASURES:
                value = float(row[metric])
                if not math.isfinite(value) or query in of_set[metric]:
                    raise UsageMistake(
                        f"{path}:{number}: query {query!r} is {value} or there twice"
                    )
                of_set[metric][query] = value
            hits[key][query] = int(row["hits"])
    return {key: SetScores(scores[key], hits[key]) for key in scores}
