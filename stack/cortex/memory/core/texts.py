"""The texts made of an item: what is embedded at position 0, and the words it is found by."""

from collections.abc import Mapping, Sequence

from cortex.memory.core.words import extra_words
from cortex.memory.records import CATEGORY_FIELDS


def embedded_text(
    category: str, title: str, content: str, fields: Mapping[str, str], tags: Sequence[str]
) -> str:
    """Title, content, the category's own fields and tags; a field that repeats another is not."""
    lines = list(dict.fromkeys([title.strip(), content.strip()]))
    lines += [
        f"{name.replace('_', ' ').capitalize()}: {value}"
        for name, value in _told_anew(category, title, content, fields)
    ]
    if tags:
        lines.append(f"Tags: {', '.join(tags)}")
    return "\n".join(line for line in lines if line)


def field_words(
    category: str, title: str, content: str, fields: Mapping[str, str], tags: Sequence[str]
) -> str:
    """The category's own fields and the tags, as far as title and content don't say the same."""
    own = [value for _, value in _told_anew(category, title, content, fields)]
    return "\n".join([*own, *tags])


def _told_anew(
    category: str, title: str, content: str, fields: Mapping[str, str]
) -> list[tuple[str, str]]:
    """The category's own fields by name, without those that repeat what was said before them."""
    said = {title.strip(), content.strip()}
    told = []
    for name in CATEGORY_FIELDS[category]:
        value = fields[name].strip()
        if value not in said:
            told.append((name, value))
            said.add(value)
    return told


def added_words(*texts: str) -> str:
    """Words that stand beside the texts in the search vector."""
    return " ".join(word for text in texts for word in extra_words(text))
