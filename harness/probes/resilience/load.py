"""The mixed load: writers and searchers that never stop, and what came of each of their calls."""

import contextlib
import random
import string
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import httpx

from harness import mcp
from harness.errors import HarnessError
from harness.probes.resilience.ledger import Entry, Form, Ledger, Unsure, deleted

CALL_WITHIN_S = 40.0
"""A caller's patience: above the memory server's own longest wait for a read."""
PAUSE_S, PAUSE_AFTER_FAILURE_S = 0.02, 0.1
WORDS = ("ladder", "shed", "roof", "gutter", "rain", "tank", "pump", "valve", "hose", "cellar")

Outcome = Literal["acknowledged", "refused", "unanswered", "unreported"]


@dataclass(frozen=True, slots=True)
class Call:
    """One call: when it began (s of the monotonic clock), how long it took, what came of it.

    `refused` is an answer that says it failed; `unanswered` a connection that broke, which tells
    the caller too; `unreported` all that looks like success and is none, or that never ends.
    """

    tool: str
    began_s: float
    took_s: float
    outcome: Outcome
    words: str = ""
    degraded: bool = False
    open: bool = False


class Wrong(Exception):
    """An answer that claims success and is not what was asked for."""


class Caller:
    """One client of a memory server; keeps every call it made."""

    def __init__(self, client: mcp.Client, ledger: Ledger, seed: int, calls: list[Call]) -> None:
        self._client = client
        self._ledger = ledger
        self._chance = random.Random(seed)
        self._calls = calls
        self._changeable: list[Entry] = []
        self.began_s: float | None = None
        """When the call that has not ended yet began."""

    def write(self) -> Call:
        """Add items, or change or delete one of those this caller added."""
        draw = self._chance.random()
        if not self._changeable or draw < 0.5:
            return self.add(self._chance.randint(1, 3))
        place = self._chance.randrange(len(self._changeable))
        return self._update(place) if draw < 0.85 else self._delete(place)

    def add(self, count: int) -> Call:
        """Add so many items in one call."""
        forms = tuple(self._form() for _ in range(count))
        call, content = self._ask(
            "AddItems",
            lambda content: _must(len(content["items"]) == count, "another number of items"),
            project=self._ledger.project,
            items=[form.as_new() for form in forms],
        )
        if call.outcome == "acknowledged":
            ids = [str(item["id"]) for item in content["items"]]
            self._changeable += self._ledger.added(forms, ids)
            self._ledger.acknowledged += 1
        else:
            self._ledger.unsure.append(Unsure(forms, refused=not call.open))
        return call

    def _update(self, place: int) -> Call:
        entry = self._changeable[place]
        fresh = self._form(entry.may_be[0].word)
        call, _ = self._ask(
            "UpdateItem",
            lambda content: _must(content["item"]["id"] == entry.id, "another item"),
            id=entry.id,
            title=fresh.title,
            content=fresh.content,
            tags=list(fresh.tags),
        )
        self._note(call, place, fresh)
        return call

    def _delete(self, place: int) -> Call:
        entry = self._changeable[place]
        call, _ = self._ask(
            "DeleteItem",
            lambda content: _must(content["item"]["id"] == entry.id, "another item"),
            id=entry.id,
        )
        gone = deleted(entry.may_be[0])
        self._note(call, place, gone)
        return call

    def _note(self, call: Call, place: int, form: Form) -> None:
        entry = self._changeable[place]
        if call.outcome == "acknowledged":
            entry.changed(form)
            self._ledger.acknowledged += 1
        elif call.open:
            entry.may_have_changed(form)
        # A change that is open may still come about: another one after it would prove nothing.
        if call.open or form.deleted:
            del self._changeable[place]

    def search(self) -> Call:
        """Search for an item that was acknowledged and is never changed; it must be found."""
        wanted = self._chance.choice(self._ledger.settled) if self._ledger.settled else None
        words = wanted.may_be[0].word if wanted else "ladder"
        query = f"{words} {self._chance.choice(WORDS)}"

        def check(content: dict[str, Any]) -> None:
            found = [hit["item"]["id"] for hit in content["hits"]]
            _must(wanted is None or wanted.id in found, "an acknowledged item is not found")

        return self._ask("FindItems", check, project=self._ledger.project, queries=[query])[0]

    def _form(self, word: str = "") -> Form:
        word = word or "".join(self._chance.choices(string.ascii_lowercase, k=12))
        some = self._chance.choices(WORDS, k=12)
        title = f"{some[0]} {some[1]} {word} {self._chance.randrange(10**6)}"
        return Form(word, title, f"{' '.join(some)} {word} " * 3, (some[2],))

    def _ask(
        self, tool: str, check: Callable[[dict[str, Any]], None], **arguments: object
    ) -> tuple[Call, dict[str, Any]]:
        began = self.began_s = time.monotonic()
        content: dict[str, Any] = {}
        outcome: Outcome = "acknowledged"
        words, is_open = "", False
        try:
            content = self._client.call(tool, **arguments).content
            check(content)
        except mcp.ToolRefused as err:
            outcome, words = "refused", str(err)
            is_open = words.startswith(("Uncertain", "InternalError"))
        except mcp.ProtocolRefused as err:
            outcome, words, is_open = "refused", str(err), True
        except httpx.ConnectError as err:
            outcome, words = "unanswered", f"ConnectError: {err}"
        except httpx.TimeoutException:
            outcome, words, is_open = "unreported", f"no end within {CALL_WITHIN_S:g} s", True
        except httpx.TransportError as err:
            outcome, words, is_open = "unanswered", f"{type(err).__name__}: {err}", True
        except (mcp.BadAnswer, Wrong, httpx.HTTPError, KeyError, TypeError) as err:
            outcome, words, is_open = "unreported", f"{type(err).__name__}: {err}", True
        took = time.monotonic() - began
        degraded = bool(content.get("degraded"))
        call = Call(tool, began, took, outcome, words[:300], degraded, is_open)
        self._calls.append(call)
        self.began_s = None
        return call, content


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Wrong(otherwise)


class Load:
    """So many writers and searchers on one memory server."""

    def __init__(
        self,
        mcp_url: str,
        token: str | None,
        ledger: Ledger,
        seed: int,
        writers: int,
        searchers: int,
    ) -> None:
        self.calls: list[Call] = []
        self.ledger = ledger
        self._target = (mcp_url, token)
        self._seed = seed
        self._kinds = ["write"] * writers + ["search"] * searchers
        self._over = threading.Event()
        self._callers: list[Caller] = []
        self._died: list[BaseException] = []

    @contextlib.contextmanager
    def running(self) -> Iterator[Caller]:
        """Under load while inside; gives one more caller, whose calls count as well.

        Raises at its end where one of the load's own threads died.
        """
        with mcp.Client(*self._target, timeout_s=CALL_WITHIN_S) as client:
            threads = [
                threading.Thread(target=self._call_on, args=(kind, self._caller(client, place)))
                for place, kind in enumerate(self._kinds)
            ]
            for thread in threads:
                thread.start()
            try:
                yield self._caller(client, len(threads))
            finally:
                self._over.set()
                for thread in threads:
                    thread.join(CALL_WITHIN_S + 10)
        if self._died:
            raise HarnessError(f"a caller of the load died: {self._died[0]!r}") from self._died[0]

    def has_open(self, since_s: float, until_s: float) -> bool:
        """Whether a call that began in a stretch of time (s of the monotonic clock) goes on."""
        began = [caller.began_s for caller in self._callers]
        return any(one is not None and since_s <= one <= until_s for one in began)

    def _caller(self, client: mcp.Client, place: int) -> Caller:
        made = Caller(client, self.ledger, self._seed * 1000 + place, self.calls)
        self._callers.append(made)
        return made

    def _call_on(self, kind: str, caller: Caller) -> None:
        try:
            self._call_until_over(kind, caller)
        except Exception as err:  # noqa: BLE001 - told once the load is over
            self._died.append(err)

    def _call_until_over(self, kind: str, caller: Caller) -> None:
        while not self._over.is_set():
            call = caller.write() if kind == "write" else caller.search()
            failed = call.outcome != "acknowledged"
            self._over.wait(PAUSE_AFTER_FAILURE_S if failed else PAUSE_S)
