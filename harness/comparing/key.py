"""What makes two sides comparable: of two kept runs, and of two builds in one sitting.

What neither run recorded is not known to be the same: no speed is compared on it.
"""

from collections.abc import Collection, Iterator
from typing import Literal

from harness.comparisons import UNKNOWN, CompareRecord, KeyPart
from harness.runs import RunRecord, StackRecord

MACHINE = ("system", "processor", "cores", "memory")
About = Literal["relevance", "speed", "both", "noted"]


def of_runs(
    old: RunRecord, new: RunRecord, scored: tuple[Collection[str], Collection[str]]
) -> Iterator[KeyPart]:
    """Every part as each run has it; `scored` are the sets whose scores each has."""
    yield from _made_by(old, new)
    yield from _data(old, new, scored)


def of_builds(old: StackRecord, new: StackRecord) -> Iterator[KeyPart]:
    """What two builds differ in besides their code; the gates judge whether the model matters."""
    yield _part("model", "noted", old.model, new.model)
    yield _part("index parameters", "noted", _indexes(old), _indexes(new))
    for name in sorted(old.versions.keys() | new.versions.keys()):
        before, after = old.versions.get(name, UNKNOWN), new.versions.get(name, UNKNOWN)
        yield _part(f"version of {name}", "noted", before, after)
    yield _part("Postgres settings", "noted", _settings(old), _settings(new))


def differing(record: CompareRecord, about: About) -> list[str]:
    """The parts that stand in the way of comparing this."""
    return [one.part for one in record.key if not one.same and one.about in (about, "both")]


def shared(old: RunRecord, new: RunRecord) -> list[str]:
    """The eval sets both runs loaded."""
    return sorted(old.data.keys() & new.data.keys())


def _part(part: str, about: About, before: str, after: str) -> KeyPart:
    return KeyPart(part=part, about=about, base=before, candidate=after, same=before == after)


def _made_by(old: RunRecord, new: RunRecord) -> Iterator[KeyPart]:
    """Every part but the data."""
    parts: list[tuple[str, About, str, str]] = [
        ("status", "both", old.status, new.status),
        ("profile", "both", old.profile, new.profile),
        ("server", "both", old.adapter or "the product's", new.adapter or "the product's"),
        ("model", "both", _of_stack(old, "model"), _of_stack(new, "model")),
        ("index parameters", "both", _indexes(old.stack), _indexes(new.stack)),
        ("metrics library", "relevance", _package(old), _package(new)),
        ("runtime", "speed", _of_stack(old, "runtime"), _of_stack(new, "runtime")),
        ("Postgres and pgvector", "speed", _database(old), _database(new)),
        ("Postgres settings", "speed", _settings(old.stack), _settings(new.stack)),
        ("load profiles", "speed", _profiles(old), _profiles(new)),
        ("machine", "speed", _machine(old), _machine(new)),
    ]
    for part, about, before, after in parts:
        one = _part(part, about, before, after)
        if part == "status":
            # Two partial runs are alike, and still nothing to compare.
            one.same = one.same and before == "complete"
        elif one.same and UNKNOWN in before and about != "relevance":
            one.same, one.about = False, "speed"
        yield one


def _data(
    old: RunRecord, new: RunRecord, scored: tuple[Collection[str], Collection[str]]
) -> Iterator[KeyPart]:
    """The eval sets of each run, by what they were read from, and which of them were scored."""
    both = shared(old, new)
    # One that a run lacks leaves what was measured on the others as comparable as it was.
    about: About = "relevance" if both else "both"
    sets = _part("eval sets", about, _named(old.data), _named(new.data))
    sets.same = sets.same and bool(both)
    yield sets
    for name in both:
        before, after = old.data[name].fingerprint, new.data[name].fingerprint
        yield KeyPart(
            part=f"data of {name}",
            about="both",
            base=before[:16],
            candidate=after[:16],
            same=before == after,
        )
    was, now = scored
    if was or now:
        part = _part("sets with scores", "relevance", _named(was), _named(now))
        # A set whose queries failed has no scores in either run, and is no set that is as good.
        part.same = part.same and set(both) <= set(was)
        yield part


def _named(sets: Collection[str]) -> str:
    return ", ".join(sorted(sets)) or "none"


def _of_stack(run: RunRecord, field: str) -> str:
    found = str(getattr(run.stack, field)) if run.stack else ""
    return UNKNOWN if found in ("", "unknown") else found


def _indexes(stack: StackRecord | None) -> str:
    """How each vector index is defined; on a stack whose database is out of reach, unknown."""
    if stack is None or (not stack.indexes and "pgvector" not in stack.versions):
        return UNKNOWN
    return "; ".join(_parameters(one) for _, one in sorted(stack.indexes.items())) or "none"


def _parameters(definition: str) -> str:
    return definition.partition(" ON ")[2] or definition


def _database(run: RunRecord) -> str:
    versions = run.stack.versions if run.stack else {}
    return f"{versions.get('postgres', UNKNOWN)}, {versions.get('pgvector', UNKNOWN)}"


def _settings(stack: StackRecord | None) -> str:
    found = stack.settings if stack else {}
    return ", ".join(f"{name}={value}" for name, value in sorted(found.items())) or UNKNOWN


def _package(run: RunRecord) -> str:
    names = ("ir-measures", "pytrec-eval-terrier")
    return ", ".join(f"{name} {run.packages.get(name, UNKNOWN)}" for name in names)


def _profiles(run: RunRecord) -> str:
    found = sorted(run.load_profiles.items())
    return ", ".join(f"{name} {digest[:12]}" for name, digest in found) or UNKNOWN


def _machine(run: RunRecord) -> str:
    return ", ".join(run.machine.get(name, UNKNOWN) for name in MACHINE)
