"""Texts to token ids and back, by the model's own `tokenizer.json`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from cortex.embedding.records import Encoded, Input, Token


class Tokens:
    """A model's tokenizer; every method may be called from any thread."""

    def __init__(self, path: Path, max_tokens: int) -> None:
        self.max_tokens = max_tokens
        self._tokenizer: Any = Tokenizer.from_file(str(path))
        # The file may cut and pad by itself; here each request says how to cut.
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def encode(self, given: Input) -> Encoded:
        """The whole text with its special tokens; ids are read as the text they stand for."""
        return Encoded(self._whole(given).ids)

    def cut(self, given: Input, left: bool) -> Encoded:
        """The text's last (`left`) or first tokens, as many as the model reads."""
        direction = "left" if left else "right"
        if not isinstance(given, str):
            found = self._whole(given)
            found.truncate(self.max_tokens, direction=direction)
            return Encoded(found.ids)
        bare = self._tokenizer.encode(given, add_special_tokens=False)
        room = self.max_tokens - self._tokenizer.num_special_tokens_to_add(False)
        bare.truncate(room, direction=direction)
        return Encoded(self._tokenizer.post_process(bare).ids)

    def encode_pair(self, first: str, second: str, cut: bool, left: bool) -> Encoded:
        """Two texts as one input; if `cut`, the longer loses tokens until both fit."""
        parts = [self._tokenizer.encode(part, add_special_tokens=False) for part in (first, second)]
        if cut:
            room = self.max_tokens - self._tokenizer.num_special_tokens_to_add(True)
            lengths = longest_first([len(part) for part in parts], room)
            for part, length in zip(parts, lengths, strict=True):
                part.truncate(length, direction="left" if left else "right")
        found = self._tokenizer.post_process(parts[0], parts[1])
        return Encoded(found.ids, found.type_ids)

    def list_tokens(self, text: str, special: bool) -> list[Token]:
        """Every token of the text, uncut, with its byte offsets."""
        found = self._tokenizer.encode(text, add_special_tokens=special)
        to_byte = byte_offsets(text)
        tokens = []
        columns = zip(
            found.ids, found.tokens, found.offsets, found.special_tokens_mask, strict=True
        )
        for number, name, (start, stop), is_special in columns:
            if is_special:
                tokens.append(Token(number, name, True, None, None))
            else:
                begin, end = to_byte[start], to_byte[stop]
                tokens.append(Token(number, text[start:stop], False, begin, end))
        return tokens

    def _whole(self, given: Input) -> Any:
        if isinstance(given, str):
            return self._tokenizer.encode(given)
        return self._tokenizer.encode(self.decode(given, False), add_special_tokens=False)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool) -> str:
        """The text that the ids stand for; ids outside the vocabulary vanish."""
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=skip_special_tokens)
        return text


def byte_offsets(text: str) -> Sequence[int]:
    """For each character, and the end, its offset in the text's UTF-8."""
    if text.isascii():
        return range(len(text) + 1)
    offsets = [0]
    for character in text:
        offsets.append(offsets[-1] + len(character.encode()))
    return offsets


def longest_first(lengths: list[int], room: int) -> list[int]:
    """Two lengths cut to `room` together, taking from the longer first."""
    first, second = lengths
    if first + second <= room:
        return lengths
    half = room // 2
    if min(first, second) <= half:
        shorter = min(first, second)
        return [shorter, room - shorter] if first <= second else [room - shorter, shorter]
    return [room - half, half]
