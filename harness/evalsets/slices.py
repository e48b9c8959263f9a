"""Parts of an eval set's queries: by kind, language, length, and category of the answer."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from harness.evalsets.records import EvalSet, Query

LENGTHS = ((2, "1–2"), (5, "3–5"), (10, "6–10"), (20, "11–20"))
LONGEST = "21 and more"
MIXED = "several"


def of(found: EvalSet) -> dict[str, list[str]]:
    """Query ids by slice, such as `kind: typo`; a slice that is the whole set is none."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for query, names in named(found).items():
        for dimension, name in names.items():
            if name:
                groups[f"{dimension}: {name}"].append(query)
    return {
        name: queries
        for name, queries in sorted(groups.items())
        if len(queries) < len(found.queries)
    }


def named(found: EvalSet) -> dict[str, Mapping[str, str]]:
    """By query id, its slice of each dimension; empty where the set says nothing about it."""
    categories = {document.id: document.category for document in found.documents}
    return {
        query.id: {
            "kind": query.kind,
            "language": query.language,
            "length": _length(query),
            "category": _category(found.judgments.get(query.id, {}), categories),
        }
        for query in found.queries
    }


def _length(query: Query) -> str:
    """Words of the longest text; a text without spaces (Chinese, Japanese) is one word."""
    words = max(len(text.split()) for text in query.texts)
    return next((name for most, name in LENGTHS if words <= most), LONGEST)


def _category(grades: Mapping[str, int], categories: Mapping[str, str]) -> str:
    """The category most of a query's best answers have."""
    best = max(grades.values(), default=0)
    seen = Counter(
        category
        for document, grade in grades.items()
        if grade == best and (category := categories.get(document, ""))
    )
    if not seen:
        return ""
    (first, most), *rest = seen.most_common(2)
    return MIXED if rest and rest[0][1] == most else first
