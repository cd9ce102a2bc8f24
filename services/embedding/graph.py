"""The ONNX graph of a BERT sentence encoder, assembled from its weights: token ids in, vectors of unit length out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from services.embedding.embedder import Rows

OPSET = 20
IR_VERSION = 10
# The largest whole number of 8 bits.
LARGEST = 127
# Added to the scores of padding, so that no token attends to it.
_NEVER = -1e9

Weights = Mapping[str, Rows]


class Encoder:
    """Builds the graph step by step; every method adds nodes and returns the name of the result."""

    def __init__(self, weights: Weights, *, heads: int, epsilon: float, quantised: bool) -> None:
        self._weights = weights
        self._heads = heads
        self._epsilon = epsilon
        self._quantised = quantised
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def model(self, layers: int) -> onnx.ModelProto:
        """The whole encoder with mean pooling over the mask."""
        states = self._embeddings()
        bias = self._attention_bias()
        for layer in range(layers):
            states = self._layer(states, bias, f"encoder.layer.{layer}")
        self._pooled(states)
        width = self._weights["embeddings.word_embeddings.weight"].shape[1]
        graph = helper.make_graph(
            self._nodes,
            "encoder",
            [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in ("ids", "mask")],
            [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["batch", width])],
            self._constants,
        )
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)

    def _embeddings(self) -> str:
        words = self._constant(self._weights["embeddings.word_embeddings.weight"])
        # Every text is the first of its pair, so that the type of its tokens is part of their position.
        kinds = self._weights["embeddings.token_type_embeddings.weight"]
        places = self._constant(self._weights["embeddings.position_embeddings.weight"] + kinds[0])
        length = self._add("Gather", self._add("Shape", "ids"), self._integers([1]))
        first = self._add("Slice", places, self._integers([0]), length)
        summed = self._add("Add", self._add("Gather", words, "ids"), first)
        return self._normalised(summed, "embeddings.LayerNorm")

    def _attention_bias(self) -> str:
        mask = self._add("Cast", self._add("Unsqueeze", "mask", self._integers([1, 2])), to=TensorProto.FLOAT)
        padding = self._add("Sub", self._number(1.0), mask)
        return self._add("Mul", padding, self._number(_NEVER))

    def _layer(self, states: str, bias: str, name: str) -> str:
        attended = self._dense(
            self._attention(states, bias, f"{name}.attention.self"), f"{name}.attention.output.dense"
        )
        states = self._normalised(self._add("Add", attended, states), f"{name}.attention.output.LayerNorm")
        inner = self._add("Gelu", self._dense(states, f"{name}.intermediate.dense"))
        outer = self._dense(inner, f"{name}.output.dense")
        return self._normalised(self._add("Add", outer, states), f"{name}.output.LayerNorm")

    def _attention(self, states: str, bias: str, name: str) -> str:
        width = self._weights[f"{name}.query.bias"].shape[0]
        size = width // self._heads
        split = self._integers([0, 0, self._heads, size])
        # Scaling the queries at assembly scales the scores.
        query = self._turned(self._dense(states, f"{name}.query", 1.0 / np.sqrt(size)), split, (0, 2, 1, 3))
        key = self._turned(self._dense(states, f"{name}.key"), split, (0, 2, 3, 1))
        value = self._turned(self._dense(states, f"{name}.value"), split, (0, 2, 1, 3))
        scores = self._add("Softmax", self._add("Add", self._add("MatMul", query, key), bias), axis=-1)
        mixed = self._add("Transpose", self._add("MatMul", scores, value), perm=(0, 2, 1, 3))
        return self._add("Reshape", mixed, self._integers([0, 0, width]))

    def _turned(self, states: str, shape: str, order: tuple[int, ...]) -> str:
        return self._add("Transpose", self._add("Reshape", states, shape), perm=order)

    def _pooled(self, states: str) -> None:
        mask = self._add("Cast", self._add("Unsqueeze", "mask", self._integers([2])), to=TensorProto.FLOAT)
        summed = self._add("ReduceSum", self._add("Mul", states, mask), self._integers([1]), keepdims=0)
        # The mean has the direction of the sum, and only the direction is kept.
        self._nodes.append(helper.make_node("LpNormalization", [summed], ["vectors"], axis=-1, p=2))

    def _dense(self, states: str, name: str, scale: float = 1.0) -> str:
        weight = np.ascontiguousarray(self._weights[f"{name}.weight"].T) * np.float32(scale)
        bias = self._constant(self._weights[f"{name}.bias"] * np.float32(scale))
        multiplied = self._product8(states, weight) if self._quantised else self._product(states, weight)
        return self._add("Add", multiplied, bias)

    def _product(self, states: str, weight: Rows) -> str:
        return self._add("MatMul", states, self._constant(weight))

    def _product8(self, states: str, weight: Rows) -> str:
        """The product in whole numbers of 8 bits: weights scaled column by column, states as they come."""
        scale = np.abs(weight).max(axis=0) / np.float32(LARGEST)
        whole = self._constant(np.rint(weight / scale).astype(np.int8))
        node = f"DynamicQuantizeLinear_{len(self._nodes)}"
        outputs = [f"{node}_{part}" for part in ("whole", "scale", "zero")]
        self._nodes.append(helper.make_node("DynamicQuantizeLinear", [states], outputs))
        product = self._add("MatMulInteger", outputs[0], whole, outputs[2])
        scales = self._add("Mul", outputs[1], self._constant(scale))
        return self._add("Mul", self._add("Cast", product, to=TensorProto.FLOAT), scales)

    def _normalised(self, states: str, name: str) -> str:
        scale, shift = (self._constant(self._weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self._add("LayerNormalization", states, scale, shift, axis=-1, epsilon=self._epsilon)

    def _add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        output = f"{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def _constant(self, value: NDArray[np.generic]) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(value, name))
        return name

    def _integers(self, values: list[int]) -> str:
        return self._constant(np.array(values, dtype=np.int64))

    def _number(self, value: float) -> str:
        return self._constant(np.array(value, dtype=np.float32))
