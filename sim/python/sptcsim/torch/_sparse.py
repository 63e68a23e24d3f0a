# SPDX-License-Identifier: Apache-2.0
"""Layers that keep pruned weights compressed."""
from __future__ import annotations

import warnings

import numpy as np
import torch
from torch import nn

from .. import _arrays, _core
from .._architecture import chosen
from .._core import InputError
from .._sparsity import Metadata, compress, decompress
from .._types import Arch, Sequence
from .._values import matmul
from . import _layers, _products


def _tensor_of(array, dtype):
    """An array with the bits of a torch type, as a tensor."""
    return torch.from_numpy(array.view(f"i{array.itemsize}")).view(dtype)


class CompressedLinear(nn.Module):
    """A Linear whose weight is kept as the values and metadata that sparse tensor cores read, for any device.

    values: [out_features, in_features / 2], of 16-bit types. metadata: words of the layout "canonical", row-major. Its
    product is dense, of the weight decompressed at each call; with `arch` it is that of sptcsim.matmul() on the sparse
    instructions of that GPU, bit for bit. It is for inference: the weight has no gradient.
    """

    def __init__(self, linear: nn.Linear, arch: Arch | None = None) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.dtype_name = _products.TYPES[linear.weight.dtype]
        self.arch = None if arch is None else chosen(arch)
        packed = compress(linear.weight.detach().cpu().contiguous(), self.dtype_name)
        words = packed.metadata("canonical").words
        self.register_buffer("values", _tensor_of(packed.values, linear.weight.dtype).to(linear.weight.device))
        self.register_buffer("metadata", torch.from_numpy(words.view(f"i{words.itemsize}")).to(linear.weight.device))
        self.bias = linear.bias

    def _weight(self):
        words = self.metadata.cpu().numpy()
        return decompress(_arrays.as_numpy(self.values.cpu(), "values"),
                          Metadata(words.view(f"u{words.itemsize}"), "canonical", self.dtype_name), self.dtype_name)

    def dense_weight(self) -> torch.Tensor:
        """The weight [out_features, in_features] with its zeros."""
        return _tensor_of(self._weight(), self.values.dtype).to(self.values.device)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.arch is None:
            return nn.functional.linear(x, self.dense_weight(), self.bias)
        columns = _arrays.as_numpy(x.detach().cpu().to(self.values.dtype).reshape(-1, self.in_features).t(), "x")
        d = matmul(self._weight(), columns, arch=self.arch, sparse=True, dtype=self.dtype_name)
        result = torch.from_numpy(np.ascontiguousarray(d.T)).to(x.device).reshape(*x.shape[:-1], self.out_features)
        return (result if self.bias is None else result + self.bias).to(x.dtype)

    def extra_repr(self) -> str:
        how = "dense product" if self.arch is None else f"bits of {self.arch.name}"
        return f"{self.in_features}, {self.out_features}, bias={self.bias is not None}, {how}"


def _why_dense(linear, on_gpu):
    """Why a Linear that was pruned cannot be compressed; "" where it can."""
    dtype = linear.weight.dtype
    kind = str(dtype).removeprefix("torch.")
    if dtype == torch.float32:
        return "float32 runs as tf32, whose pattern is 1:2: model.half() or model.bfloat16() comes first"
    if dtype not in (torch.float16, torch.bfloat16):
        return f"its weight is {kind}, not float16 or bfloat16"
    rows, k = linear.weight.shape
    if not on_gpu:
        return "" if k % 16 == 0 else f"k = {k} is no multiple of 16"
    if not hasattr(torch.sparse, "to_sparse_semi_structured"):
        return "torch.sparse.to_sparse_semi_structured came with torch 2.1"
    if torch.cuda.get_device_capability(linear.weight.device) < (8, 0):
        return "the GPU has no sparse tensor cores"
    return "" if rows % 32 == 0 and k % 64 == 0 else f"PyTorch takes multiples of 32 x 64, not {rows} x {k}"


def _sparse_layer(linear, arch):
    if arch is not None or linear.weight.device.type != "cuda":
        return CompressedLinear(linear, arch)
    weight = torch.sparse.to_sparse_semi_structured(linear.weight.detach().contiguous())
    linear.weight = nn.Parameter(weight, requires_grad=False)
    return linear


def to_sparse(model: nn.Module, *, arch: Arch | None = None, layers: str | Sequence[str] | None = None) -> nn.Module:
    """The model with every Linear that obeys 2:4 compressed, in place, for inference.

    On a GPU with CUDA a weight becomes a torch.sparse.SparseSemiStructuredTensor, whose products run on the sparse tensor
    cores. Elsewhere the layer becomes a CompressedLinear, which keeps values and metadata and multiplies a dense matrix.
    arch: a GPU whose sparse instructions compute the products, simulated bit for bit by CompressedLinear, on any device.
    layers: names or patterns; None: all. A pruned layer that stays dense is named by a warning, with the reason.
    Returns the model; a model that is one Linear is not changed, and its compressed layer returned. Raises InputError where
    no layer can be compressed.
    """
    wanted = _layers.names("layers", layers)
    found, _ = _layers.layers_of(_layers.require_model(model))
    by_weight = {id(layer.weight): layer for layer in found}
    dense, done, result = {}, 0, model
    for path, module in [*model.named_modules()]:
        layer = by_weight.get(id(getattr(module, "weight", None)))
        if type(module) is not nn.Linear or layer is None or (wanted and not _layers.matches(layer.name, wanted)):
            continue
        if _layers.mask_of(layer, "2:4") is None:
            continue
        reason = _why_dense(module, arch is None and module.weight.device.type == "cuda")
        if reason:
            dense.setdefault(reason, []).append(layer.name)
            continue
        done += 1
        parent, _, child = path.rpartition(".")
        if path:
            setattr(model.get_submodule(parent), child, _sparse_layer(module, arch))
        else:
            result = _sparse_layer(module, arch)
    told = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in dense.items())
    if not done:
        raise InputError(f"no layer can be compressed: {told or 'none obeys 2:4, as prune_() makes it'}")
    if told:
        warnings.warn(f"layers stay dense: {told}", stacklevel=2)
    return result
