"""What a lane does with a batch: run a graph, then make of its output what was asked."""

from collections.abc import Sequence

from cortex.embedding.backends.onnx import OnnxModel
from cortex.embedding.core.pooling import pool
from cortex.embedding.records import Encoded, Floats, Pooling


class Embedder:
    """An embedding model; both methods give one result a text and may run on any thread."""

    def __init__(self, model: OnnxModel, pooling: Pooling) -> None:
        self._model = model
        self.pooling: Pooling = pooling

    def pooled(self, batch: Sequence[Encoded]) -> Sequence[Floats]:
        """One vector a text, at the length the model gives it."""
        states = self._model.run(batch)
        return list(pool(states, [len(text.ids) for text in batch], self.pooling))

    def states(self, batch: Sequence[Encoded]) -> Sequence[Floats]:
        """One (tokens, width) array a text, padding left out."""
        states = self._model.run(batch)
        return [states[row, : len(text.ids)].copy() for row, text in enumerate(batch)]


class Reranker:
    """A cross-encoder with one label."""

    def __init__(self, model: OnnxModel) -> None:
        self._model = model

    def scores(self, batch: Sequence[Encoded]) -> Sequence[float]:
        """One raw score a pair."""
        return [float(value) for value in self._model.run(batch)[:, 0]]
