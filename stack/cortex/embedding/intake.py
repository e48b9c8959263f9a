"""Checks texts and makes tokens of them; what takes long runs beside the event loop."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from cortex.contracts.embedding import CHARACTERS_PER_TOKEN, ErrorKind
from cortex.embedding.backends.tokenizing import Tokens
from cortex.embedding.records import Encoded, Input, Refused, Token, Wish

_PREFIX = "Input validation error: "

SHORT_CHARACTERS = 2000
"""Up to here reading takes about a millisecond: less harm to others than a thread costs."""

Answer = TypeVar("Answer")


class Intake:
    """Turns what callers send into what a model reads; raises `Refused` with the field and why."""

    def __init__(
        self,
        tokens: Tokens,
        *,
        auto_truncate: bool,
        prompts: Mapping[str, str],
        threads: ThreadPoolExecutor,
    ) -> None:
        self._tokens = tokens
        self._auto_truncate = auto_truncate
        self._prompts = prompts
        self._threads = threads
        self._max_characters = tokens.max_tokens * CHARACTERS_PER_TOKEN

    async def encode(self, inputs: Sequence[Input], wish: Wish) -> list[Encoded]:
        """Each input as the model reads it, cut if the caller or the service says so."""

        def work() -> list[Encoded]:
            prompt = self._prompt(wish.prompt_name)
            return [self._encode(given, prompt, wish) for given in inputs]

        return await self._run(sum(map(len, inputs)), work)

    async def encode_pairs(self, query: str, texts: Sequence[str], wish: Wish) -> list[Encoded]:
        """Each text beside the query, as a cross-encoder reads them."""

        def work() -> list[Encoded]:
            cut = self._cuts(wish)
            return [self._encode_pair(query, text, cut, wish.truncate_left) for text in texts]

        return await self._run(sum(map(len, texts)) + len(query) * len(texts), work)

    async def list_tokens(
        self, texts: Sequence[str], special: bool, prompt_name: str | None
    ) -> list[list[Token]]:
        """Every token of each text, however many."""

        def work() -> list[list[Token]]:
            prompt = self._prompt(prompt_name)
            for text in texts:
                self._check(prompt + text if text else text)
            return [self._tokens.list_tokens(prompt + text, special) for text in texts]

        return await self._run(sum(map(len, texts)), work)

    async def decode(self, ids: Sequence[Sequence[int]], skip_special: bool) -> list[str]:
        """The text each list of ids stands for."""

        def work() -> list[str]:
            if not all(ids):
                raise Refused(ErrorKind.EMPTY, f"{_PREFIX}`input_ids` cannot be empty")
            return [self._tokens.decode(one, skip_special) for one in ids]

        return await self._run(sum(map(len, ids)), work)

    async def _run(self, characters: int, work: Callable[[], Answer]) -> Answer:
        if characters <= SHORT_CHARACTERS:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _cuts(self, wish: Wish) -> bool:
        return self._auto_truncate if wish.truncate is None else wish.truncate

    def _prompt(self, name: str | None) -> str:
        if name is None:
            return ""
        if name in self._prompts:
            return self._prompts[name]
        known = (
            f"it is not one of the model's prompts: {', '.join(self._prompts)}"
            if self._prompts
            else "no prompts were found in the Sentence Transformers configuration"
        )
        raise Refused(
            ErrorKind.VALIDATION, f"{_PREFIX}`default-prompt-name` is set to `{name}` but {known}"
        )

    def _check(self, text: str) -> None:
        if not text:
            raise Refused(ErrorKind.EMPTY, f"{_PREFIX}`inputs` cannot be empty")
        if len(text) > self._max_characters:
            raise self._too_long(self._max_characters, "characters", len(text))

    def _too_long(self, limit: int, unit: str, given: int) -> Refused:
        message = f"{_PREFIX}`inputs` must have less than {limit} {unit}. Given: {given}"
        return Refused(ErrorKind.VALIDATION, message)

    def _encode(self, given: Input, prompt: str, wish: Wish) -> Encoded:
        cut = self._cuts(wish)
        if isinstance(given, str):
            given = prompt + given if given else given
            if cut and len(given) > self._max_characters:
                given = self._shorten(given, wish.truncate_left)
            self._check(given)
        elif not given:
            self._check("")
        found = self._tokens.encode(given)
        if len(found.ids) <= self._tokens.max_tokens:
            return found
        if not cut:
            raise self._too_long(self._tokens.max_tokens, "tokens", len(found.ids))
        return self._tokens.cut(given, wish.truncate_left)

    def _encode_pair(self, query: str, text: str, cut: bool, left: bool) -> Encoded:
        parts = (query, text)
        if not all(parts):
            self._check("")
        if cut:
            parts = (self._shorten(query, left), self._shorten(text, left))
        elif len(query) + len(text) > self._max_characters:
            raise self._too_long(self._max_characters, "characters", len(query) + len(text))
        found = self._tokens.encode_pair(*parts, cut, left)
        if len(found.ids) > self._tokens.max_tokens:
            raise self._too_long(self._tokens.max_tokens, "tokens", len(found.ids))
        return found

    def _shorten(self, text: str, left: bool) -> str:
        return text[-self._max_characters :] if left else text[: self._max_characters]
