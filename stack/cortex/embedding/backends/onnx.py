"""The ONNX Runtime engine: encoded texts in, hidden states or logits out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from cortex.embedding.records import Encoded, Floats
from cortex.shared.errors import Misconfigured


class OnnxModel:
    """One loaded graph; `run` may be called from several threads at once."""

    def __init__(self, path: Path, threads: int) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Threads that spin while they wait slow a busy machine several times over.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        try:
            self._session: Any = ort.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as err:
            raise Misconfigured(f"{path} is not a graph that can run: {err}") from err
        self._inputs = {found.name for found in self._session.get_inputs()}
        self._output = _main_output(self._session)

    def run(self, batch: Sequence[Encoded]) -> Floats:
        """What the graph gives for texts padded on the right to the longest of them."""
        longest = max(len(text.ids) for text in batch)
        ids, mask, types = np.zeros((3, len(batch), longest), np.int64)
        for row, text in enumerate(batch):
            length = len(text.ids)
            ids[row, :length] = text.ids
            mask[row, :length] = 1
            if text.type_ids is not None:
                types[row, :length] = text.type_ids
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        wanted = {name: array for name, array in feed.items() if name in self._inputs}
        answer: Floats = self._session.run([self._output], wanted)[0]
        return answer


def _main_output(session: Any) -> str:
    names = [found.name for found in session.get_outputs()]
    for name in ("last_hidden_state", "token_embeddings", "logits"):
        if name in names:
            return name
    return str(names[0])
