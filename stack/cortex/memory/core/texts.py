"""The texts made of an item: what is embedded at position 0, and the words it is found by."""

from collections.abc import Mapping, Sequence

from cortex.memory.core.words import extra_words
from cortex.memory.records import CATEGORY_FIELDS


def embedded_text(
    category: str, title: str, content: str, fields: Mapping[str, str], tags: Sequence[str]
) -> str:
    """Title, content, the category's own fields and tags; a field that repeats another is not."""
    said = {title.strip(), content.strip()}
    lines = [title.strip()]
    if content.strip() != title.strip():
        lines.append(content.strip())
    for name in CATEGORY_FIELDS[category]:
        value = fields[name].strip()
        if value not in said:
            lines.append(f"{name.replace('_', ' ').capitalize()}: {value}")
            said.add(value)
    if tags:
        lines.append(f"Tags: {', '.join(tags)}")
    return "\n".join(line for line in lines if line)


def field_words(
    category: str, title: str, content: str, fields: Mapping[str, str], tags: Sequence[str]
) -> str:
    """The category's own fields and the tags, as far as title and content don't say the same."""
    said = {title.strip(), content.strip()}
    own = [fields[name] for name in CATEGORY_FIELDS[category] if fields[name].strip() not in said]
    return "\n".join([*own, *tags])


def added_words(*texts: str) -> str:
    """Words that stand beside the texts in the search vector."""
    return " ".join(word for text in texts for word in extra_words(text))
