# SPDX-License-Identifier: Apache-2.0
"""A kernel that computes a linear layer, against the arithmetic of a tensor core."""
from __future__ import annotations

import contextlib

import torch
from torch import nn

from .. import _values
from .._core import InputError
from .._record import Record
from .._sparsity import compress
from .._types import Any, Arch, Callable, Sparse
from . import _model

_TYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}


def _matrix(what, tensor, shape, dtypes=tuple(_TYPES)):
    """A copy of a tensor of `shape` (with ... in front: any axes before) on the CPU, as a matrix of its last axis."""
    own = tuple(getattr(tensor, "shape", ()))
    fits = own == shape or (shape[0] is ... and own[-1:] == shape[1:])
    is_tensor = isinstance(tensor, torch.Tensor)
    if not (is_tensor and tensor.dtype in dtypes and fits and 0 not in own and _model.has_storage(tensor)) or tensor.is_meta:
        given = f"{list(own)} of {tensor.dtype} ({tensor.layout}, {tensor.device})" if is_tensor else type(tensor).__name__
        expected = f"{list(shape)} of {' or '.join(map(str, dtypes))}".replace("Ellipsis", "..")
        raise InputError(f"{what} must be a dense tensor {expected}, not {given}".replace("torch.", ""))
    return tensor.detach().to("cpu", copy=True).reshape(-1, own[-1])


def crosscheck(kernel: Callable[[torch.Tensor], torch.Tensor], layer: nn.Linear, inputs: torch.Tensor, *, arch: Arch = "A100",
               tolerance: str | None = None, sparse: Sparse = None, **options: Any) -> Record:
    """Why and where kernel(inputs) differs from what the tensor cores of `arch` make of a linear layer, bit for bit.

    kernel: a function that returns the outputs [.., n] of `layer` in float16, bfloat16 or float32, on any device.
    layer: weight [n, k] and bias; float32 is tf32, whose low 13 bits are ignored. inputs: [.., k], of the weight's type.
    sparse: whether sparse instructions read the weight; None: where it obeys their pattern and `arch` has them.
    tolerance and options (instruction, k_order, threads, html): as sptcsim.crosscheck() takes them.
    Returns its record: rows of D are outputs, its columns inputs. Raises InputError.
    """
    if not isinstance(layer, nn.Linear) or not callable(kernel):
        raise InputError(f"a function and a torch.nn.Linear are needed, not {type(kernel).__name__} and {type(layer).__name__}")
    weight = _matrix("the weight of layer", layer.weight, (layer.out_features, layer.in_features))
    x = _matrix("inputs", inputs, (..., layer.in_features), [weight.dtype])
    with torch.no_grad():
        d = _matrix("what kernel returns", kernel(inputs), (*inputs.shape[:-1], layer.out_features))
    name = _TYPES[weight.dtype].replace("f32", "tf32")
    if sparse is None:
        sparse = False
        with contextlib.suppress(InputError):  # of a weight that does not obey the pattern
            compress(weight, name)
            sparse = any(one.sparse and one.a_type == name for one in _values.instructions(arch))
    document = {"types": {"a": name}, "sparse": _values._is_sparse(sparse, name), "a": weight,
                "b": {"array": x, "order": "column"}, "d": {"array": d, "order": "column", "type": _TYPES[d.dtype]}}
    if layer.bias is not None:
        bias = _matrix("the bias of layer", layer.bias, (layer.out_features,))
        document["epilogue"] = {"bias": {"array": bias, "along": "m", "type": _TYPES[bias.dtype]}}
    return _values.crosscheck(document, arch=arch, tolerance=tolerance, **options)
