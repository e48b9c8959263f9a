"""Sampled stacks as a tree of calls: read from collapsed text, small branches merged."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

SMALL = "small frames"


@dataclass
class Call:
    """A function at one place of the tree, with the samples in it and below."""

    name: str
    samples: int = 0
    below: dict[str, "Call"] = field(default_factory=dict)

    @property
    def own(self) -> int:
        """Samples in the function itself."""
        return self.samples - sum(one.samples for one in self.below.values())


@dataclass(frozen=True, slots=True)
class Function:
    """A function wherever it is called: samples in itself, and in it or below."""

    name: str
    own: int
    within: int


def stacks(collapsed: str) -> Iterator[tuple[list[str], int]]:
    """Frames from the outermost inwards, and samples, of lines such as `a;b;c 12`."""
    for line in collapsed.splitlines():
        frames, _, count = line.rpartition(" ")
        if frames and count.isdigit():
            yield frames.split(";"), int(count)


def tree(collapsed: str) -> Call:
    """All stacks as one tree; its root is no function."""
    root = Call("all")
    for frames, count in stacks(collapsed):
        root.samples += count
        at = root
        for frame in frames:
            at = at.below.setdefault(frame, Call(frame))
            at.samples += count
    return root


def without_small(root: Call, least: float) -> Call:
    """Calls of fewer samples than `least` that stand side by side become one without inside."""
    kept = Call(root.name, root.samples)
    small = 0
    for name, one in root.below.items():
        if one.samples >= least:
            kept.below[name] = without_small(one, least)
        else:
            small += one.samples
    if small >= least:
        kept.below[SMALL] = Call(SMALL, small)
    return kept


def count(root: Call) -> int:
    """How many calls the tree has, its root included."""
    return 1 + sum(count(one) for one in root.below.values())


def hottest(collapsed: str, most: int) -> list[Function]:
    """The functions with the most samples in themselves; recursion counts once."""
    own: Counter[str] = Counter()
    within: defaultdict[str, int] = defaultdict(int)
    for frames, samples in stacks(collapsed):
        own[frames[-1]] += samples
        for frame in set(frames):
            within[frame] += samples
    ranked = sorted(own.items(), key=lambda item: (-item[1], item[0]))
    return [Function(name, samples, within[name]) for name, samples in ranked[:most]]
