"""Turns a folder of weights into an ONNX file, once, and keeps it under a cache folder.

The file's name is a checksum of the weights, their configuration and the exporter's version, so a
changed model or exporter never meets an old file. Exporting runs in a child process: `onnx` and
the copies it makes would otherwise stay in the server's memory.
"""

import hashlib
import json
import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

from cortex.shared.errors import Misconfigured

log = logging.getLogger(__name__)

Precision = Literal["fp32", "int8"]

EXPORTER = "2"
"""Raise it whenever the graph written from the same weights changes."""

_DEADLINE_S = 600


def checksum(*paths: Path) -> str:
    """SHA-256 over the files' bytes, in order, as hexadecimal."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def graph_of(source: Path, cache: Path, precision: Precision) -> Path:
    """The ONNX file for `source`, a `.safetensors` or `.onnx` file; made when it is not cached.

    Two processes may ask at once: each writes its own temporary file and renames it into place.
    Raises `Misconfigured` with the exporter's reason.
    """
    if source.suffix == ".onnx" and precision == "fp32":
        return source
    parts = [source]
    if source.suffix == ".safetensors":
        parts.append(source.parent / "config.json")
    path = cache / "graphs" / f"{checksum(*parts)[:24]}-{precision}-{EXPORTER}.onnx"
    if path.exists():
        return path
    log.info("exporting the model, once", extra={"source": str(source), "target": str(path)})
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".making-") as work:
        made = Path(work) / "model.onnx"
        _export(source, made, precision)
        os.replace(made, path)
    return path


def _export(source: Path, target: Path, precision: Precision) -> None:
    command = [sys.executable, "-m", __name__, str(source), str(target), precision]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_DEADLINE_S)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise Misconfigured(f"{source} could not be exported to ONNX: {reason[0]}")


def main(source: Path, target: Path, precision: Precision) -> None:
    """Write `target` from `source`; what the child process runs."""
    fp32 = source
    if source.suffix == ".safetensors":
        from cortex.embedding.backends.bert_graph import write_graph
        from cortex.embedding.backends.safetensors import read_tensors

        fp32 = target if precision == "fp32" else target.with_name("fp32.onnx")
        config = json.loads((source.parent / "config.json").read_text())
        write_graph(read_tensors(source), config, fp32)
    if precision == "int8":
        from onnx import TensorProto
        from onnxruntime.quantization import QuantType, quantize_dynamic

        quantize_dynamic(
            fp32,
            target,
            per_channel=True,
            weight_type=QuantType.QInt8,
            # Shape inference knows no fused operator, so it is told what they all give.
            extra_options={"DefaultTensorType": TensorProto.FLOAT},
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), "int8" if sys.argv[3] == "int8" else "fp32")
