"""A contract case: a sentence, a check that raises when it does not hold, the record of both."""

import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.probes.contract.scene import At, CannotRun, Scene
from harness.probes.contract.speaking import Broken, Era
from harness.results import Case

Check = Callable[[At], None]
Outcome = Literal["passed", "failed", "error", "skipped"]

HANDSHAKE: Era = "handshake"
MODERN: Era = "2026-07-28"
BOTH: tuple[Era, ...] = (HANDSHAKE, MODERN)
SHOWN = 1_500


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractCase:
    """What is promised, and how it is looked at; `era` is empty where MCP is not spoken."""

    sentence: str
    service: str
    check: Check
    era: Era | Literal[""] = ""

    @property
    def name(self) -> str:
        """The sentence, with the service and era it is about: unique in a run."""
        return f"{self.service}: {self.sentence}" + (f" ({self.era} era)" if self.era else "")


class Chapter:
    """The cases of one module, in the order they are written."""

    def __init__(self, service: str, eras: Sequence[Era] = ()) -> None:
        self.cases: list[ContractCase] = []
        self._service = service
        self._eras = eras

    def case(self, sentence: str, eras: Sequence[Era] | None = None) -> Callable[[Check], Check]:
        """Make a function a case, once for each era."""

        def keep(check: Check) -> Check:
            self.add(sentence, check, eras)
            return check

        return keep

    def add(self, sentence: str, check: Check, eras: Sequence[Era] | None = None) -> None:
        """Keep a case that was made from a row of a table."""
        kinds: Sequence[Era | Literal[""]] = (self._eras if eras is None else eras) or ("",)
        for era in kinds:
            self.cases.append(
                ContractCase(sentence=sentence, service=self._service, check=check, era=era)
            )


def play(cases: Iterable[ContractCase], scene: Scene, require_all: bool) -> Iterable[Case]:
    """The record of each case, as it is known; a case that crashes is a record like any other."""
    for case in cases:
        started = time.perf_counter()
        outcome, expected, actual, note = _outcome(case, scene, require_all)
        yield Case(
            suite="contract",
            name=case.name,
            outcome=outcome,
            expected=expected[:SHOWN],
            actual=actual[:SHOWN],
            note=note[:SHOWN],
            service=case.service,
            era=case.era,
            took_s=round(time.perf_counter() - started, 4),
        )


def _outcome(case: ContractCase, scene: Scene, require_all: bool) -> tuple[Outcome, str, str, str]:
    try:
        case.check(scene.at(case.era))
    except Broken as err:
        return "failed", err.expected, err.actual, err.about
    except CannotRun as err:
        return "error" if require_all else "skipped", "a case that can run", "", str(err)
    except Exception as err:  # noqa: BLE001 - one case must not take the others along
        frame = traceback.extract_tb(err.__traceback__)[-1]
        where = f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
        told = f"{type(err).__name__}: {err}"
        return "error", "a case that ends", told, f"the case crashed at {where}: {told}"
    return "passed", "", "", ""
