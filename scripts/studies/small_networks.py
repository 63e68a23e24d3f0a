# SPDX-License-Identifier: Apache-2.0
"""Small networks in PyTorch, with weights of files: digits of traces/, a sentence encoder, and graphs of ONNX files.

The weights of each are a dictionary of tensors by the names of its file, so that `sptcsim prune` can prune that file.
"""
import json
import struct

import numpy as np
import torch
from torch.nn import functional

KINDS = {"F16": "<f2", "F32": "<f4", "U8": "u1", "I64": "<i8"}


def read_safetensors(path):
    with open(path, "rb") as file:
        raw = file.read()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    return {name: np.frombuffer(raw, KINDS[entry["dtype"]], int(np.prod(entry["shape"])), 8 + size + entry["data_offsets"][0]).reshape(
        entry["shape"]) for name, entry in header.items() if name != "__metadata__"}


class Network(torch.nn.Module):
    """`tensors` as parameters; forward() of each class finds them by name in `self.t`."""

    def __init__(self, tensors):
        super().__init__()
        self.names = {}
        for name, values in tensors.items():
            values = torch.from_numpy(np.array(values))
            if values.is_floating_point() and name not in self.names:
                self.names[name] = name.replace(".", "_")
                self.register_parameter(self.names[name], torch.nn.Parameter(values.float()))

    @property
    def t(self):
        return {name: getattr(self, own) for name, own in self.names.items()}


class Perceptron(Network):
    """fc1, fc2, fc3 of traces/digits/mlp.safetensors."""

    def forward(self, x):
        t = self.t
        for layer in ("fc1", "fc2", "fc3"):
            x = functional.linear(x, t[layer + ".weight"], t[layer + ".bias"])
            x = x if layer == "fc3" else torch.relu(x)
        return x[:, :10]


class Convolutional(Network):
    """conv1, conv2, fc of traces/digits/cnn.safetensors, filters [rows, channels, 3, 3]; images [n, 8, 8, 1]."""

    def forward(self, x):
        t = self.t
        x = x.permute(0, 3, 1, 2)
        for layer, stride in (("conv1", 1), ("conv2", 2)):
            x = torch.relu(functional.conv2d(x, t[layer + ".weight"], t[layer + ".bias"], stride, 1))
        return functional.linear(x.permute(0, 2, 3, 1).flatten(1), t["fc.weight"], t["fc.bias"])[:, :10]


class Encoder(Network):
    """all-MiniLM-L6-v2: BERT of six layers. Sentences of a batch have the same number of tokens."""

    HEADS, LAYERS, EPSILON = 12, 6, 1e-12

    def linear(self, x, name):
        return functional.linear(x, self.t[name + ".weight"], self.t[name + ".bias"])

    def norm(self, x, name):
        return functional.layer_norm(x, x.shape[-1:], self.t[name + ".weight"], self.t[name + ".bias"], self.EPSILON)

    def attention(self, x, layer):
        batch, tokens, width = x.shape
        q, k, v = (self.linear(x, f"{layer}.attention.self.{part}").reshape(batch, tokens, self.HEADS, -1).transpose(1, 2)
                   for part in ("query", "key", "value"))
        shares = torch.softmax(q @ k.transpose(2, 3) / (width // self.HEADS) ** 0.5, -1)
        return self.linear((shares @ v).transpose(1, 2).reshape(x.shape), f"{layer}.attention.output.dense")

    def forward(self, ids):
        """Vectors of all tokens [batch, tokens, 384]."""
        t = self.t
        x = (t["embeddings.word_embeddings.weight"][ids] + t["embeddings.position_embeddings.weight"][:ids.shape[1]]
             + t["embeddings.token_type_embeddings.weight"][0])
        x = self.norm(x, "embeddings.LayerNorm")
        for i in range(self.LAYERS):
            layer = f"encoder.layer.{i}"
            x = self.norm(self.attention(x, layer) + x, f"{layer}.attention.output.LayerNorm")
            h = functional.gelu(self.linear(x, f"{layer}.intermediate.dense"))
            x = self.norm(self.linear(h, f"{layer}.output.dense") + x, f"{layer}.output.LayerNorm")
        return x

    @staticmethod
    def embeddings(vectors):
        return functional.normalize(vectors.mean(1), dim=-1)


class Graph(Network):
    """A graph of ONNX of the operators that convolutional networks have, one input and one output."""

    def __init__(self, path):
        import onnx
        graph = onnx.load(str(path)).graph
        constants = {tensor.name: tensor for tensor in graph.initializer}
        constants.update({node.output[0]: node.attribute[0].t for node in graph.node if node.op_type == "Constant"})
        values = {name: onnx.numpy_helper.to_array(tensor) for name, tensor in constants.items()}
        super().__init__(values)
        self.integers = {name: array.tolist() for name, array in values.items() if name not in self.names}
        self.nodes = [(node.op_type, list(node.input), node.output[0],
                       {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute})
                      for node in graph.node if node.op_type != "Constant"]
        self.input = graph.input[0].name

    def forward(self, x, is_logit=False):
        """Of a graph that ends with a Sigmoid also what that gets."""
        values = {**self.integers, **self.t, self.input: x}
        nodes = self.nodes[:-1] if is_logit and self.nodes[-1][0] == "Sigmoid" else self.nodes
        for op, inputs, output, attributes in nodes:
            if op not in OPERATORS:
                raise ValueError(f"no operator {op} (known: {', '.join(OPERATORS)})")
            values[output] = OPERATORS[op](attributes, *[values.get(name) for name in inputs])
        return values[nodes[-1][2]]


def _convolution(attributes, x, weight, bias=None):
    top, left, bottom, right = attributes["pads"]
    x = functional.pad(x, (left, right, top, bottom))
    return functional.conv2d(x, weight, bias, attributes["strides"], 0, attributes["dilations"], attributes["group"])


def _transposed_convolution(attributes, x, weight, bias=None):
    """Of strides as large as the filters: one product of matrices, whose rows are pixels beside each other."""
    channels, filters, height, width = weight.shape
    if list(attributes["strides"]) != [height, width] or any(attributes["pads"]):
        raise ValueError("ConvTranspose: strides must be the extents of the filters, without padding")
    d = weight.reshape(channels, -1).t() @ x.flatten(2)
    d = d.reshape(len(x), filters, height, width, *x.shape[2:]).permute(0, 1, 4, 2, 5, 3)
    d = d.reshape(len(x), filters, x.shape[2] * height, x.shape[3] * width)
    return d if bias is None else d + bias.reshape(-1, 1, 1)


def _resize(attributes, x, _, scales):
    if attributes["mode"] != b"nearest":
        raise ValueError("Resize: only the nearest pixel")
    return functional.interpolate(x, scale_factor=scales[2:].tolist(), mode="nearest")


OPERATORS = {
    "Add": lambda _, x, y: x + y,
    "BatchNormalization": lambda a, x, scale, bias, mean, variance:
        functional.batch_norm(x, mean.detach(), variance.detach(), scale, bias, eps=a["epsilon"]),
    "Cast": lambda _, x: x,
    "Clip": lambda _, x, least, most: torch.minimum(torch.maximum(x, least), most),
    "Concat": lambda a, *parts: torch.cat([torch.as_tensor(part) for part in parts], a["axis"]),
    "Conv": _convolution,
    "ConvTranspose": _transposed_convolution,
    "Div": lambda _, x, y: x / y,
    "GlobalAveragePool": lambda _, x: x.mean((2, 3), keepdim=True),
    "HardSigmoid": lambda a, x: torch.clamp(a["alpha"] * x + a["beta"], 0, 1),
    "Identity": lambda _, x: x,
    "MatMul": lambda _, x, y: x @ y,
    "MaxPool": lambda a, x: functional.max_pool2d(x, a["kernel_shape"], a["strides"], a["pads"][:2]),
    "Mul": lambda _, x, y: x * y,
    "Relu": lambda _, x: torch.relu(x),
    "Reshape": lambda _, x, extents: x.reshape([int(extent) for extent in extents]),
    "Resize": _resize,
    "Shape": lambda _, x: torch.tensor(x.shape),
    "Sigmoid": lambda _, x: torch.sigmoid(x),
    "Slice": lambda _, x, first, last, *axes: x[int(first[0]):int(last[0])],
    "Softmax": lambda a, x: torch.softmax(x, a["axis"]),
}
