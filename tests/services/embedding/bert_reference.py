"""A BERT forward pass in numpy, straight from the weights: what the service is judged against."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def read_weights(path: Path) -> dict[str, Floats]:
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + size])
    weights = {}
    for name, entry in header.items():
        if entry.get("dtype") == "F32":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            weights[name] = (
                np.frombuffer(raw[begin:end], "<f4").reshape(entry["shape"]).astype(np.float64)
            )
    return weights


class Bert:
    """Hidden states of one text at a time, in double precision."""

    def __init__(self, folder: Path) -> None:
        self.weights = read_weights(folder / "model.safetensors")
        for name in [name for name in self.weights if name.startswith("bert.")]:
            self.weights[name.removeprefix("bert.")] = self.weights[name]
        self.config = json.loads((folder / "config.json").read_text())

    def hidden_states(self, ids: Sequence[int], type_ids: Sequence[int] | None = None) -> Floats:
        w = self.weights
        types = [0] * len(ids) if type_ids is None else list(type_ids)
        x = (
            w["embeddings.word_embeddings.weight"][list(ids)]
            + w["embeddings.position_embeddings.weight"][: len(ids)]
            + w["embeddings.token_type_embeddings.weight"][types]
        )
        x = self._normalise(x, "embeddings")
        for number in range(self.config["num_hidden_layers"]):
            layer = f"encoder.layer.{number}"
            x = self._normalise(x + self._attend(x, layer), f"{layer}.attention.output")
            wide = self._dense(x, f"{layer}.intermediate.dense")
            active = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
            x = self._normalise(x + self._dense(active, f"{layer}.output.dense"), f"{layer}.output")
        return x

    def mean_vector(self, ids: Sequence[int]) -> Floats:
        mean = self.hidden_states(ids).mean(axis=0)
        return mean / np.linalg.norm(mean)

    def _dense(self, x: Floats, name: str) -> Floats:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _normalise(self, x: Floats, name: str) -> Floats:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(
            (centred**2).mean(axis=-1, keepdims=True) + self.config["layer_norm_eps"]
        )
        return (
            scaled * self.weights[f"{name}.LayerNorm.weight"]
            + self.weights[f"{name}.LayerNorm.bias"]
        )

    def _attend(self, x: Floats, layer: str) -> Floats:
        heads = self.config["num_attention_heads"]
        query, key, value = (
            self._dense(x, f"{layer}.attention.self.{part}")
            .reshape(len(x), heads, -1)
            .transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        mixed = mixed.transpose(1, 0, 2).reshape(len(x), -1)
        return self._dense(mixed, f"{layer}.attention.output.dense")
