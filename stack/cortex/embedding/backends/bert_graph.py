"""Writes a BERT encoder's weights as a fused fp32 ONNX graph, without torch.

The fused operators (https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md)
are ONNX Runtime's own: the embedding and the attention are one node each, and BiasGelu is the
exact, erf-based GELU. All else runs on (batch x tokens, hidden), where Gemm adds its bias for
free; the fused SkipLayerNormalization is left out because it was measured slower than its parts.
`docs/decisions/0003` has the figures.
Imported only by the child process that exports: `onnx` costs a server 60 MB it never uses.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from cortex.shared.errors import Misconfigured

CONTRIB = "com.microsoft"
Tensors = Mapping[str, npt.NDArray[np.generic]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BertShape:
    """What of `config.json` shapes the graph."""

    layers: int
    heads: int
    hidden: int
    epsilon: float

    @classmethod
    def of(cls, config: Mapping[str, object]) -> "BertShape":
        """Read from a model's `config.json`; raises `Misconfigured` when it is not plain BERT."""
        expected = {"model_type": "bert", "hidden_act": "gelu"}
        for key, value in expected.items():
            if config.get(key) != value:
                raise Misconfigured(
                    f"config.json has {key} {config.get(key)!r}; without onnx/model.onnx only"
                    f" {value!r} can be served"
                )
        if config.get("position_embedding_type", "absolute") != "absolute":
            raise Misconfigured("config.json asks for relative positions; only absolute is served")
        return cls(
            layers=int(str(config["num_hidden_layers"])),
            heads=int(str(config["num_attention_heads"])),
            hidden=int(str(config["hidden_size"])),
            epsilon=float(str(config.get("layer_norm_eps", 1e-12))),
        )


class _Graph:
    """Collects nodes and weights; each method adds one fused step and names its result."""

    def __init__(self, tensors: Tensors, shape: BertShape) -> None:
        self.tensors = tensors
        self.shape = shape
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, array: npt.NDArray[np.generic] | None = None) -> str:
        values = self.tensors[name] if array is None else array
        values = np.ascontiguousarray(values, np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        domain = "" if kind in _PLAIN else CONTRIB
        made = helper.make_node(kind, inputs, [output], name=output, domain=domain, **attributes)
        self.nodes.append(made)
        return output

    def dense(self, source: str, name: str, *, bias: bool = True) -> str:
        transposed = self.weight(f"{name}.transposed", self.tensors[f"{name}.weight"].T)
        inputs = [source, transposed]
        if bias:
            inputs.append(self.weight(f"{name}.bias"))
        return self.node("Gemm", inputs, f"{name}.output")

    def reshape(self, source: str, shape: str, output: str) -> str:
        return self.node("Reshape", [source, shape], output)

    def embed(self) -> str:
        for name in ("input_ids", "token_type_ids", "attention_mask"):
            self.node("Cast", [name], f"{name}.int32", to=TensorProto.INT32)
        tables = [
            self.weight(f"embeddings.{name}")
            for name in (
                "word_embeddings.weight",
                "position_embeddings.weight",
                "token_type_embeddings.weight",
                "LayerNorm.weight",
                "LayerNorm.bias",
            )
        ]
        made = helper.make_node(
            "EmbedLayerNormalization",
            ["input_ids.int32", "token_type_ids.int32", *tables, "attention_mask.int32"],
            ["embeddings.output", "mask_index"],
            name="embeddings",
            domain=CONTRIB,
            epsilon=self.shape.epsilon,
        )
        self.nodes.append(made)
        self.weights.append(
            numpy_helper.from_array(np.array([-1, self.shape.hidden], np.int64), _FLAT)
        )
        self.node("Shape", ["embeddings.output"], _DEEP)
        return self.reshape("embeddings.output", _FLAT, "embeddings.flat")

    def attend(self, source: str, layer: str) -> str:
        parts = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        weights = np.concatenate([self.tensors[f"{part}.weight"].T for part in parts], axis=1)
        biases = np.concatenate([self.tensors[f"{part}.bias"] for part in parts])
        qkv = self.weight(f"{layer}.qkv.weight", weights)
        bias = self.weight(f"{layer}.qkv.bias", biases)
        attended = self.node(
            "Attention",
            [self.reshape(source, _DEEP, f"{layer}.input"), qkv, bias, "mask_index"],
            f"{layer}.attended",
            num_heads=self.shape.heads,
        )
        return self.reshape(attended, _FLAT, f"{layer}.attended.flat")

    def add_and_normalise(self, source: str, residual: str, name: str) -> str:
        dense = self.dense(source, f"{name}.dense")
        total = self.node("Add", [dense, residual], f"{name}.sum")
        norm = [self.weight(f"{name}.LayerNorm.{part}") for part in ("weight", "bias")]
        return self.node(
            "LayerNormalization",
            [total, *norm],
            f"{name}.normal",
            axis=-1,
            epsilon=self.shape.epsilon,
        )

    def layer(self, source: str, number: int) -> str:
        layer = f"encoder.layer.{number}"
        attended = self.attend(source, layer)
        middle = self.add_and_normalise(attended, source, f"{layer}.attention.output")
        wide = self.dense(middle, f"{layer}.intermediate.dense", bias=False)
        bias = self.weight(f"{layer}.intermediate.dense.bias")
        active = self.node("BiasGelu", [wide, bias], f"{layer}.active")
        return self.add_and_normalise(active, middle, f"{layer}.output")

    def classify(self, source: str) -> str:
        self.weights.append(numpy_helper.from_array(np.array(0, np.int64), "first"))
        first = self.node("Gather", [source, "first"], "pooler.first", axis=1)
        for name, output in (("pooler.dense", "pooler.sum"), ("classifier", "logits")):
            weight, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
            first = self.node("Gemm", [first, weight, bias], output, transB=1)
            if name == "pooler.dense":
                first = self.node("Tanh", [first], "pooler.output")
        return first


_FLAT, _DEEP = "flat.shape", "deep.shape"
_PLAIN = frozenset(
    {"Add", "Cast", "Gather", "Gemm", "LayerNormalization", "Reshape", "Shape", "Tanh"}
)


def write_graph(tensors: Tensors, config: Mapping[str, object], path: Path) -> None:
    """Write the ONNX file: `last_hidden_state`, or `logits` where the weights have a classifier.

    Inputs are int64 `input_ids`, `attention_mask` (ones, then zeros: padding is on the right) and
    `token_type_ids`, each (batch, tokens). Raises `Misconfigured` for what is not plain BERT.
    """
    shape = BertShape.of(config)
    tensors = {name.removeprefix("bert."): array for name, array in tensors.items()}
    graph = _Graph(tensors, shape)
    classifies = "classifier.weight" in tensors
    state = graph.embed()
    for number in range(shape.layers):
        state = graph.layer(state, number)
    state = graph.reshape(state, _DEEP, "last_hidden_state")
    if classifies:
        labels = tensors["classifier.weight"].shape[0]
        output = helper.make_tensor_value_info(
            graph.classify(state), TensorProto.FLOAT, ["batch", labels]
        )
    else:
        output = helper.make_tensor_value_info(
            state, TensorProto.FLOAT, ["batch", "tokens", shape.hidden]
        )
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    made = helper.make_graph(graph.nodes, "bert", inputs, [output], graph.weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(CONTRIB, 1)]
    model = helper.make_model(made, opset_imports=opsets, producer_name="cortex", ir_version=8)
    onnx.save_model(model, path)
