"""The yardstick: ONNX Runtime alone, on the file the service serves."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort


class BareSession:
    """A session that pads each chunk to its longest text and measures its own CPU time."""

    def __init__(self, graph: Path, threads: int) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session: Any = ort.InferenceSession(
            str(graph), options, providers=["CPUExecutionProvider"]
        )

    def cpu_s(self, chunk: Sequence[Sequence[int]]) -> float:
        """CPU seconds that one run of the chunk's token ids took."""
        longest = max(map(len, chunk))
        ids = np.zeros((len(chunk), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, text in enumerate(chunk):
            ids[row, : len(text)] = text
            mask[row, : len(text)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        began = time.process_time()
        self._session.run(None, feed)
        return time.process_time() - began
