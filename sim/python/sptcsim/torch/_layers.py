# SPDX-License-Identifier: Apache-2.0
"""Weights of a model that multiply inputs, as matrices [rows, k], and tables of what became of them."""
from __future__ import annotations

import collections
import dataclasses
import fnmatch

import numpy as np
import torch
from torch import nn

from .. import _core
from .._core import InputError
from .._record import Record, frame, table
from .._types import Any, Iterator
from . import _model

_WEIGHTS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
_ATTENTION = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight")


@dataclasses.dataclass
class Layer:
    """A weight: [rows, k], [k, rows], or filters [rows, channels, taps..]."""
    name: str  # as record() has it
    parameter: str  # its name in state_dict()
    weight: nn.Parameter
    transposed: bool = False  # [k, rows]
    groups: int = 1  # of a convolution

    @property
    def channels(self):
        """Neighbours along k: all of it, of filters those of one tap."""
        return self.weight.shape[0 if self.transposed else 1]

    def matrix(self, tensor=None):
        """The weight, or a tensor of its shape, as [rows, k]; of filters k is (taps, channels), channels innermost."""
        tensor = self.weight.detach() if tensor is None else tensor
        return tensor.t() if self.transposed else tensor.movedim(1, -1).reshape(tensor.shape[0], -1)

    def tensor(self, matrix):
        """A matrix [rows, k] in the shape of the weight."""
        shape = self.weight.shape
        return matrix.t() if self.transposed else matrix.reshape(shape[0], *shape[2:], shape[1]).movedim(-1, 1)


def layers_of(model):
    """The layers of a model, in the order of its modules, and for each name why it cannot be pruned at all, or ''."""
    owners = collections.Counter(id(weight) for module in model.modules() for weight in module.parameters(recurse=False))
    layers, obstacles = [], {}
    for path, module in model.named_modules():
        transposed = type(module).__name__ == "Conv1D"  # of transformers: a Linear of [k, rows]
        names = ["weight"] if transposed or isinstance(module, _WEIGHTS) else []
        names += _ATTENTION if isinstance(module, nn.MultiheadAttention) else ()
        for name in names:
            weight = dict(module.named_parameters(recurse=False)).get(name)
            if weight is None or isinstance(weight, nn.parameter.UninitializedTensorMixin):
                continue
            parameter = f"{path}.{name}" if path else name
            layer = Layer(_model.layer_name(parameter) or type(model).__name__, parameter, weight, transposed,
                          getattr(module, "groups", 1))
            layers.append(layer)
            obstacles[layer.name] = ("it shares its tensor with another module" if owners[id(weight)] > 1
                                     else _obstacle_of(weight))
    return layers, obstacles


def _obstacle_of(weight):
    if weight.device.type == "meta":
        return "it has no values on the device meta"
    if not weight.is_floating_point():
        return f"its elements are {str(weight.dtype).removeprefix('torch.')}"
    return "" if _model.has_storage(weight) else "its tensor is sparse already"


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def names(argument, given):
    """`given`, a name or pattern or several, as a list; None of None."""
    if given is None:
        return None
    for name in [given] if isinstance(given, str) else given:
        if not isinstance(name, str):
            raise InputError(f"{argument} must be names or patterns (\"encoder.*\"), not {type(name).__name__}")
    return [given] if isinstance(given, str) else list(given)


def require_model(model):
    if not isinstance(model, nn.Module):
        raise InputError(f"a model is a torch.nn.Module, not {type(model).__name__}")
    return model


def pruned_matrix(layer, matrix, inputs, method, pattern):
    """A matrix [rows, k] of float32 by prune_weights() of C++, and its mask, as NumPy arrays."""
    weights = np.ascontiguousarray(matrix.detach().to("cpu", torch.float32).numpy())
    if not np.isfinite(weights).all():
        raise InputError(f"layer '{layer.name}' has a weight that is not finite")
    pruned, mask = np.empty(weights.shape, np.uint32), np.empty(weights.shape, np.uint8)
    inputs = np.zeros((1, weights.shape[1]), np.float32) if inputs is None else np.ascontiguousarray(inputs, np.float32)
    try:
        _core.prune_weights(weights.view(np.uint32), inputs.view(np.uint32), method, pattern, pruned, mask)
    except InputError as error:
        raise InputError(f"layer '{layer.name}': {error}") from None
    return pruned.view(np.float32), mask


def mask_of(layer, pattern):
    """What of a weight that obeys `pattern` stays, as a tensor of its shape; None where it does not, or is 0 throughout."""
    group = _core.group_of(pattern)
    weight = layer.weight.detach()
    if layer.channels % group or not weight.numel() or not weight.any():
        return None
    matrix = layer.matrix()
    _, mask = pruned_matrix(layer, matrix, None, "magnitude", pattern)
    mask = torch.from_numpy(mask.astype(bool)).to(weight.device)
    return layer.tensor(mask).contiguous() if not (matrix.ne(0) & ~mask).any() else None


class LayerTable:
    """Rows by the names of layers: rows(), to_pandas(), or one by its name. What a class adds are rows and columns."""
    _columns: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each layer."""
        raise NotImplementedError

    def __getitem__(self, name: str) -> Record:
        known = {row["name"]: row for row in self.rows()}
        if name not in known:
            raise KeyError(f"no layer '{name}'; there are {', '.join(known)}")
        return Record(known[name])

    def __iter__(self) -> Iterator[str]:
        return (row["name"] for row in self.rows())

    def __len__(self) -> int:
        return len(self.rows())

    def to_pandas(self) -> Any:
        """rows() as a pandas.DataFrame."""
        return frame(self.rows())

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(self)})"

    def _repr_html_(self):
        cells = [[row.get(column, "") for column in self._columns] for row in self.rows()]
        return table(self._columns, [[f"{cell:.3g}" if isinstance(cell, float) else cell for cell in row] for row in cells])
