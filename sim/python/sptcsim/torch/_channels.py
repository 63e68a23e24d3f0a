# SPDX-License-Identifier: Apache-2.0
"""Channels of a model that may be permuted together, found in the graph that torch.fx traces.

A space is a set of channels in one order: rows of what makes them, k of what reads them, and all that goes by channel
between. Operations on single elements leave a space alone and join the spaces of their operands; what is not known here
fixes the order of all that it touches.
"""
from __future__ import annotations

import dataclasses
import operator

import torch
from torch import fx, nn
from torch.nn import functional

_ELEMENTWISE = (nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Mish, nn.Sigmoid, nn.Tanh, nn.Hardswish,
                nn.Hardsigmoid, nn.Softplus, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Identity)
_POOLS = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d, nn.AdaptiveAvgPool1d,
          nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d)
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_FUNCTIONS = {operator.add, operator.iadd, operator.mul, operator.imul, operator.sub, operator.truediv, operator.neg,
              torch.add, torch.mul, torch.sub, torch.relu, torch.sigmoid, torch.tanh, torch.square, functional.relu,
              functional.relu6, functional.gelu, functional.silu, functional.mish, functional.leaky_relu, functional.elu,
              functional.hardswish, functional.softplus, functional.sigmoid, functional.tanh, functional.dropout}
_METHODS = {"add", "add_", "mul", "mul_", "sub", "div", "neg", "relu", "relu_", "sigmoid", "tanh", "square", "float", "half",
            "bfloat16", "to", "type_as", "contiguous", "clone", "detach"}
_POOL_FUNCTIONS = {functional.max_pool1d, functional.max_pool2d, functional.avg_pool1d, functional.avg_pool2d,
                   functional.adaptive_avg_pool1d, functional.adaptive_avg_pool2d}


@dataclasses.dataclass
class Space:
    size: int
    fixed: bool = False
    axes: dict = dataclasses.field(default_factory=dict)  # (name of a tensor, axis): whether that is k of a layer
    joined: Space | None = None

    def root(self):
        return self if self.joined is None else self.joined.root()


class _Spaces:
    def __init__(self, tensors):
        self._tensors = tensors  # by name
        self._of_axis = {}  # (address of a tensor, axis): its space
        self.all = []

    def new(self, size):
        self.all.append(Space(size))
        return self.all[-1]

    def join(self, first, second):
        """One space of two; None is a space whose order is fixed."""
        a, b = (None if space is None else space.root() for space in (first, second))
        if a is None or b is None:
            for space in (a, b):
                if space is not None:
                    space.fixed = True
            return None
        if a is b:
            return a
        b.joined = a
        a.fixed = a.fixed or b.fixed or a.size != b.size
        a.axes.update(b.axes)
        return a

    def attach(self, space, tensor, axis, is_k=False):
        """Axis `axis` of a tensor has the order of `space`; a tensor that two modules share has one order."""
        if tensor not in self._tensors:
            return space
        key = (id(self._tensors[tensor]), axis)
        known = self._of_axis.get(key)
        if known is None:
            self._of_axis[key] = space
            space.root().axes[(tensor, axis)] = is_k
        return space.root() if known is None else self.join(space, known)


class _Walk:
    """Follows channels through the graph of a traced module whose name in the model is `prefix`.

    A value is (space, whether the channels are the second axis of several; else they are the last one).
    """

    def __init__(self, spaces, modules, prefix):
        self._spaces, self._modules, self._prefix = spaces, modules, prefix
        self._values = {}

    def walk(self, graph):
        for node in graph.nodes:
            value = self._value(node)
            if value is None:
                for argument in node.all_input_nodes:
                    self._spaces.join(self._values[argument][0], None)
            self._values[node] = value or (None, False)

    def _value(self, node):
        inputs = [self._values[argument] for argument in node.all_input_nodes]
        if not inputs:
            return None
        first = inputs[0]
        if node.op == "call_module":
            module = self._modules.get(self._prefix + node.target)
            return self._of_module(module, self._prefix + node.target, first) if len(inputs) == 1 else None
        is_elementwise = (node.op == "call_function" and node.target in _FUNCTIONS) or (
            node.op == "call_method" and node.target in _METHODS)
        if is_elementwise:
            return self._joined(inputs)
        if node.op == "call_function" and node.target in _POOL_FUNCTIONS and first[1]:
            return first
        is_flat = node.target in ("flatten", torch.flatten) and node.args[1:] == (1,)
        return (first[0], False) if is_flat and first[1] else None  # k of what follows says whether a pixel was left

    def _joined(self, inputs):
        space, second = inputs[0]
        for other, other_second in inputs[1:]:
            space = self._spaces.join(space, other if other_second == second else None)
        return (space, second) if space is not None else None

    def _of_module(self, module, path, value):
        space, second = value
        if isinstance(module, _ELEMENTWISE):
            return value
        if isinstance(module, _POOLS):
            return value if second else None
        if isinstance(module, nn.Flatten):
            return (space, False) if second and (module.start_dim, module.end_dim) == (1, -1) else None
        if isinstance(module, _NORMS):
            return self._by_channel(path, value, module.num_features, ("weight", "bias", "running_mean", "running_var"))
        if isinstance(module, nn.LayerNorm) and len(module.normalized_shape) == 1:
            return self._by_channel(path, value, module.normalized_shape[0], ("weight", "bias")) if not second else None
        if isinstance(module, nn.Embedding):
            return self._made(path, module.embedding_dim, 1, False)
        if isinstance(module, nn.Linear) and not second:
            self._read(path, space, module.in_features)
            return self._made(path, module.out_features, 0, False)
        if isinstance(module, _CONVOLUTIONS) and module.groups == 1:
            self._read(path, space if second else None, module.in_channels)
            return self._made(path, module.out_channels, 0, True)
        if isinstance(module, _CONVOLUTIONS) and module.groups == module.in_channels == module.out_channels and second:
            return self._by_channel(path, value, module.groups, ("weight", "bias"))
        return None

    def _by_channel(self, path, value, size, names):
        space, second = value
        if space is None or space.root().size != size:
            return None
        for name in names:
            space = self._spaces.attach(space, f"{path}.{name}", 0)
        return space, second

    def _made(self, path, size, axis, second):
        space = self._spaces.attach(self._spaces.new(size), f"{path}.weight", axis)
        if axis == 0:
            space = self._spaces.attach(space, f"{path}.bias", 0)
        return space, second

    def _read(self, path, space, size):
        own = self._spaces.attach(self._spaces.new(size), f"{path}.weight", 1, True)
        self._spaces.join(own, space)


def tensors_of(model):
    """Parameters and buffers by all their names, those of shared ones included."""
    return {f"{path}.{name}" if path else name: tensor for path, module in model.named_modules(remove_duplicate=False)
            for name, tensor in [*module._parameters.items(), *module._buffers.items()] if tensor is not None}


def spaces_of(model):
    """The spaces of a model that may be permuted: lists of (name of a tensor, axis, whether that is k of a layer).

    A module that cannot be traced is taken as its children, each by itself.
    """
    modules = dict(model.named_modules(remove_duplicate=False))
    spaces = _Spaces(tensors_of(model))
    _trace(model, "", spaces, modules)
    roots = {id(space.root()): space.root() for space in spaces.all}
    return [[(name, axis, is_k) for (name, axis), is_k in space.axes.items()] for space in roots.values()
            if not space.fixed and any(space.axes.values()) and not all(space.axes.values())]


def _trace(module, prefix, spaces, modules):
    if next(module.children(), None) is None:
        return
    try:
        graph = fx.Tracer().trace(module)
    except Exception:  # whatever the code of a model does with a value that is none
        for name, child in module.named_children():
            _trace(child, f"{prefix}{name}.", spaces, modules)
        return
    _Walk(spaces, modules, prefix).walk(graph)
