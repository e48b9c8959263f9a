"""Small BERT models of random weights, as folders a hub would hold."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Weights = dict[str, npt.NDArray[np.float32]]

CONFIG: dict[str, Any] = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 64,
    "vocab_size": 30522,
}


def write_safetensors(weights: Weights, path: Path) -> None:
    header: dict[str, Any] = {}
    offset = 0
    for name, array in weights.items():
        end = offset + array.nbytes
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    blobs = [array.astype("<f4").tobytes() for array in weights.values()]
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(blobs))


def bert_weights(prefix: str = "") -> Weights:
    chance = np.random.default_rng(7)
    width, wide = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    weights: Weights = {}

    def random(name: str, *shape: int) -> None:
        weights[prefix + name] = chance.normal(0, 0.2, shape).astype(np.float32)

    def dense(name: str, inputs: int, outputs: int) -> None:
        random(f"{name}.weight", outputs, inputs)
        random(f"{name}.bias", outputs)

    random("embeddings.word_embeddings.weight", CONFIG["vocab_size"], width)
    random("embeddings.position_embeddings.weight", CONFIG["max_position_embeddings"], width)
    random("embeddings.token_type_embeddings.weight", 2, width)
    random("embeddings.LayerNorm.weight", width)
    random("embeddings.LayerNorm.bias", width)
    for number in range(CONFIG["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        for part in ("query", "key", "value"):
            dense(f"{layer}.attention.self.{part}", width, width)
        dense(f"{layer}.attention.output.dense", width, width)
        dense(f"{layer}.intermediate.dense", width, wide)
        dense(f"{layer}.output.dense", wide, width)
        for name in (f"{layer}.attention.output", f"{layer}.output"):
            random(f"{name}.LayerNorm.weight", width)
            random(f"{name}.LayerNorm.bias", width)
    dense("pooler.dense", width, width)
    return weights


def tiny_bert(folder: Path, tokenizer: Path) -> Path:
    """An embedding model of width 32 that reads 64 tokens."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    shutil.copy(tokenizer, folder / "tokenizer.json")
    write_safetensors(bert_weights(), folder / "model.safetensors")
    return folder


def tiny_cross_encoder(folder: Path, tokenizer: Path) -> Path:
    """A cross-encoder with one label."""
    folder.mkdir()
    config = {**CONFIG, "architectures": ["BertForSequenceClassification"]}
    (folder / "config.json").write_text(json.dumps(config))
    shutil.copy(tokenizer, folder / "tokenizer.json")
    weights = bert_weights("bert.")
    chance = np.random.default_rng(8)
    weights["classifier.weight"] = chance.normal(0, 1, (1, 32)).astype(np.float32)
    weights["classifier.bias"] = np.array([0.1], np.float32)
    write_safetensors(weights, folder / "model.safetensors")
    return folder
