"""Reads safetensors files: named arrays mapped from disk, nothing else.

The format (https://github.com/huggingface/safetensors#format): eight bytes of header length, a
JSON header that gives each tensor's type, shape and byte range, then the bytes.
"""

import json
import mmap
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cortex.shared.errors import Misconfigured

_TYPES: Mapping[str, str] = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4"}


def read_tensors(path: Path) -> dict[str, npt.NDArray[np.generic]]:
    """Every tensor of the file as an array over mapped memory; raises `Misconfigured`."""
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    size = int.from_bytes(mapped[:8], "little")
    header = json.loads(mapped[8 : 8 + size])
    header.pop("__metadata__", None)
    tensors: dict[str, npt.NDArray[np.generic]] = {}
    for name, entry in header.items():
        if entry["dtype"] not in _TYPES:
            raise Misconfigured(
                f"tensor {name} in {path} is {entry['dtype']}; use {', '.join(_TYPES)}"
            )
        begin, end = entry["data_offsets"]
        raw = memoryview(mapped)[8 + size + begin : 8 + size + end]
        tensors[name] = np.frombuffer(raw, _TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors
