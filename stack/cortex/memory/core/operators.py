"""Quoted phrases and `-word` in a query: operators only where the whole query uses them so.

A flag in a sentence (`rollback -f prod`, "docker run -it …") or a quotation in prose must never
exclude or require anything. A query is taken at its operators' word only if

- it holds nothing but quoted phrases, `-words`, `-"phrases"`, and at most five plain words, and
- what it excludes stands at its end, after something to search for, in words of three letters or
  more, and
- a phrase stands among plain words only where the query starts with it.
"""

import re
from dataclasses import dataclass

MOST_PLAIN_WORDS = 5
_TOKEN = re.compile(r'(?P<minus>-)?"(?P<phrase>[^"]+)"(?=\s|$)|(?P<word>\S+)')
_EXCLUDED = re.compile(r"-[^\W\d_]{3,}", re.UNICODE)
_PLAIN = re.compile(r"[\w./:@#+-]+", re.UNICODE)


@dataclass(frozen=True, slots=True)
class Operators:
    """A query's text to rank by, the phrases a hit must hold, and what it must not."""

    text: str
    required: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()


def read_operators(query: str) -> Operators:
    """The query's operators where it uses them deliberately, else the query as plain text."""
    required: list[str] = []
    excluded: list[str] = []
    plain: list[str] = []
    for token in _TOKEN.finditer(query.strip()):
        phrase, word = token["phrase"], token["word"]
        negative = token["minus"] is not None or (word is not None and _EXCLUDED.fullmatch(word))
        if excluded and not negative:
            return Operators(query)
        if negative:
            excluded.append(phrase or word[1:])
        elif phrase:
            if plain:
                return Operators(query)
            required.append(phrase)
        elif _PLAIN.fullmatch(word) and not word.startswith("-"):
            plain.append(word)
        else:
            return Operators(query)
    if not (required or excluded) or not (required or plain) or len(plain) > MOST_PLAIN_WORDS:
        return Operators(query)
    return Operators(" ".join([*required, *plain]), tuple(required), tuple(excluded))
