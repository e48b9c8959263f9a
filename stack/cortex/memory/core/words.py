"""The words a text is also found by: parts of identifiers and paths, CJK n-grams, unaccented forms.

Postgres' parser keeps `src/app/main.py`, `ABC-1234` and a run of Chinese as single tokens; what
this module adds stands beside the text in the item's search vector, and beside a query's words.
"""

import re
import unicodedata
from collections.abc import Iterator

LONGEST_WORD = 200
"""Characters; a longer run (base64, a minified line) is nobody's search word."""

MOST_BYTES = 450_000
WORD_COSTS = 6
"""Room for one text's different words, and what each costs beside its letters: an item's search
vector holds 1 MB. 100,000 characters of any language stay below; a text made to attack does not."""

_CJK = (
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_CJK_RUN = re.compile(f"[{_CJK}]+")
_COMPOUND = re.compile(
    r"\d{1,3}(?:,\d{3})+|[^\W_]+(?:[_\-./\\:@#+~&=?%]+[^\W_]+)+|[^\W_]+", re.UNICODE
)
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+", re.UNICODE)
_HYPHENATED = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)+")
_SPLIT = re.compile(r"[_\-./\\:@#+~&=?%]+")


def extra_words(text: str) -> list[str]:
    """Words to add to `text` for searching, in order, repeated as often as they occur."""
    found: list[str] = []
    known: set[str] = set()
    left = MOST_BYTES
    for word in _words(text):
        if word not in known:
            left -= len(word.encode()) + WORD_COSTS
            if left < 0:
                break
            known.add(word)
        found.append(word)
    return found


def _words(text: str) -> Iterator[str]:
    for run in _CJK_RUN.finditer(text):
        yield from _ngrams(run.group())
    for match in _COMPOUND.finditer(_CJK_RUN.sub(" ", text)):
        token = match.group()
        if len(token) <= LONGEST_WORD:
            yield from _parts(token)


def _ngrams(run: str) -> Iterator[str]:
    """Single characters and pairs: a query of one or more characters finds them anywhere."""
    for index, single in enumerate(run):
        yield single
        if index:
            yield run[index - 1 : index + 1]


def _parts(token: str) -> Iterator[str]:
    """What a compound is made of, and its letters without accents; nothing for a plain word."""
    if "," in token:
        yield token.replace(",", "")
        return
    pieces = [piece for piece in _SPLIT.split(token) if piece]
    several = len(pieces) > 1
    if several and _HYPHENATED.fullmatch(token):  # Postgres' parser gives its parts itself
        yield token.replace("-", "").lower()
        return
    for piece in pieces:
        if several and not piece.isdigit():
            yield piece.lower()
        elif several:
            yield piece
        inner = _PART.findall(piece)
        if len(inner) > 1:
            yield from (part.lower() for part in inner if len(part) > 1 or part.isdigit())
    plain = unaccented(token)
    if plain != token and not several:
        yield plain.lower()
    elif plain != token:
        yield from (unaccented(piece).lower() for piece in pieces if not piece.isascii())
    if several and len(pieces) <= 4:
        yield "".join(pieces).lower()


def unaccented(text: str) -> str:
    """`text` with the marks of its Latin letters removed; other scripts keep theirs."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    kept = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return kept.translate(_LETTERS)


_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ł": "l", "Ł": "L"}
    | {"đ": "d", "Đ": "D", "ı": "i", "þ": "th", "Þ": "Th"}
)
