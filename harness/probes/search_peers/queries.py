"""Query texts of which none is the same as another, so that nobody's cache answers."""

import random
from collections.abc import Iterator, Sequence

MOST_TRIES = 50


def variations(texts: Sequence[str], seed: int) -> Iterator[str]:
    """Each text with one to three words left out and the rest turned round, over and over.

    The same seed gives the same texts, each once and none of them among `texts`; ends where
    the texts give no more.
    """
    chance = random.Random(seed)
    seen = set(texts)
    fruitless = 0
    while fruitless < MOST_TRIES:
        found = 0
        for text in texts:
            made = _variation(text.split(), chance)
            if made not in seen:
                seen.add(made)
                found += 1
                yield made
        fruitless = 0 if found else fruitless + 1


def _variation(words: list[str], chance: random.Random) -> str:
    most = min(3, len(words) - 1)
    left_out = set(chance.sample(range(len(words)), chance.randint(min(1, most), most)))
    kept = [word for place, word in enumerate(words) if place not in left_out]
    turn = chance.randrange(len(kept))
    return " ".join(kept[turn:] + kept[:turn])
