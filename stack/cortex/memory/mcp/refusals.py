"""What is wrong with a tool's arguments, said so that a model can mend them."""

import difflib
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel

MOST_FAULTS = 8
SHOWN = 60


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """One line a fault: which field, what is wrong, what would be right."""
    faults = error.errors(include_url=False)
    lines = [_fault(fault, model) for fault in faults[:MOST_FAULTS]]
    if len(faults) > MOST_FAULTS:
        lines.append(f"and {len(faults) - MOST_FAULTS} more")
    return "InvalidInput: " + "; ".join(lines)


def _fault(fault: Any, model: type[BaseModel]) -> str:
    where = ".".join(_cut(str(part)) for part in fault["loc"] if part != "function-before")
    kind, message = fault["type"], fault["msg"]
    if kind == "extra_forbidden":
        return f"{where}: unknown field{_nearest(_cut(str(fault['loc'][-1])), model)}"
    if kind == "missing":
        return f"{where}: is required"
    if kind == "value_error":
        message = str(fault["ctx"]["error"]) if "ctx" in fault else message
        return f"{where}: {message}" if where else message
    if kind == "string_too_long":
        given = len(fault["input"])
        return f"{where}: has {given} characters; at most {fault['ctx']['max_length']}"
    if kind in ("too_short", "too_long"):
        return f"{where}: has {fault['ctx']['actual_length']}; {_bounds(fault['ctx'])}"
    if kind == "string_pattern_mismatch":
        return f"{where}: {_shown(fault['input'])} has other characters than a-z, 0-9 and '-'"
    return f"{where}: {message[0].lower()}{message[1:]}, not {_shown(fault['input'])}"


def _bounds(context: Any) -> str:
    if "max_length" in context:
        return f"at most {context['max_length']}"
    return f"at least {context['min_length']}"


def _nearest(name: str, model: type[BaseModel]) -> str:
    known = [to_camel(field) for field in model.model_fields]
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; there are {', '.join(known)}"


def _shown(value: Any) -> str:
    text = (
        repr(value) if isinstance(value, str | int | float | bool | None) else type(value).__name__
    )
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
