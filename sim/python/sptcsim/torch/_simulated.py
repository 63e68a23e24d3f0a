# SPDX-License-Identifier: Apache-2.0
"""A model with the arithmetic of a tensor core."""
from __future__ import annotations

import contextlib
import dataclasses
import math

import numpy as np
import torch

from .. import _core
from .._architecture import chosen
from .._arrays import as_numpy, as_tf32
from .._core import InputError
from .._sparsity import prune
from .._types import Any, Arch, Iterator, Sequence, Sparse
from .._values import _is_sparse, matmul
from . import _lowering, _mode, _model, _products
from ._layers import LayerTable, matches, names


_SCALED = ("s8", "e4m3", "e5m2")


@dataclasses.dataclass
class _Sums:
    """Of squares, over all results of one layer."""
    calls: int = 0
    elements: int = 0
    exact: float = 0
    pruning: float = 0
    arithmetic: float = 0
    total: float = 0

    def add(self, exact, pruned, simulated):
        self.exact += _squares(exact)
        self.pruning += _squares(pruned - exact)
        self.arithmetic += _squares(simulated - pruned)
        self.total += _squares(simulated - exact)


def _squares(array):
    return float(np.vdot(array, array))


@dataclasses.dataclass
class _Pruned:
    weight: np.ndarray
    version: int
    storage: object  # as long as it is kept, no other tensor has its place


class Layers(LayerTable):
    """What the layers of a model lost: rows(), to_pandas(), or one by its name: layers["fc1"].error.

    A record has name, m, n, k (of the last call), calls, elements, sparse, dtype, and relative errors over all results
    D, |difference| / |D| in the Euclidean norm, against D in double precision from the weights as they were:
    `error` = that of simulated results, `pruning_error` = of pruned weights in double precision, `arithmetic_error` =
    simulated results against those of the same weights in double precision (rounding of operands included).
    """
    _columns = ("name", "m", "n", "k", "sparse", "pruning_error", "arithmetic_error", "error")

    def __init__(self):
        self._rows = {}
        self._sums = {}
        self.not_simulated = {}  # operation or layer: why, of what ran as PyTorch computes it

    def _note(self, row, errors):
        name = row["name"]
        sums = self._sums.setdefault(name, _Sums())
        sums.calls += 1
        sums.elements += row.pop("elements")
        if errors is not None:
            sums.add(*errors)
        self._rows[name] = row

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each layer, in the order of the first call."""
        return [self._row(name) for name in self._rows]

    def _row(self, name):
        sums = self._sums[name]
        row = {**self._rows[name], "calls": sums.calls, "elements": sums.elements}
        if sums.exact > 0:
            for key in ("pruning", "arithmetic", "total"):
                relative = math.sqrt(getattr(sums, key) / sums.exact)
                row["error" if key == "total" else f"{key}_error"] = relative
        return row


class _Simulator(_mode.ProductMode):
    def __init__(self, model, arch, sparse, layers, dtype, scales, errors):
        super().__init__(model)
        self._arch = chosen(arch)
        self._sparse = sparse
        self._layers = layers
        self._dtype = dtype
        self._scales = scales
        self._errors = errors
        self._pruned = {}  # a weight and its version: pruned
        self.result = Layers()

    def on_opaque(self, name, kind):
        self.result.not_simulated[name] = kind

    def on_product(self, name, product, run):
        layer, weight_first = self.weight_of(product)
        label = layer or f"{self.model.path()}.{name.split('.')[1].strip('_')}"
        if self._layers is not None and not matches(label, self._layers):
            return run()
        dtype = self._type_of(product)
        reason = self._why_not(product, dtype)
        if reason:
            self.result.not_simulated[label] = reason
            return run()
        return self._simulate(label, layer is not None, weight_first, product, dtype)

    def _type_of(self, product):
        own = _products.TYPES.get(product.first.dtype)
        return own if own == "s8" or self._dtype is None else self._dtype

    def _why_not(self, product, dtype):
        if dtype is None:
            return f"{str(product.first.dtype).removeprefix('torch.')} is no type of a tensor core"
        if "meta" in (product.first.device.type, product.second.device.type):
            return "tensors of the device meta have no values"
        if product.scaled:
            return "product with scales"
        if product.geometry is not None and product.geometry.transposed:
            return "transposed convolution"
        if 0 in product.first.shape or 0 in product.second.shape:
            return "an operand is empty"
        return None

    def _simulate(self, label, has_weight, weight_first, product, dtype):
        lowered = _lowering.lower(product, weight_first)
        sparse = has_weight and lowered.prunable and _is_sparse(self._sparse, dtype)
        owner = product.first if weight_first else product.second
        results, errors = [], []
        for index, (weight, columns) in enumerate(lowered.gemms):
            first, second = weight, columns
            if self._scales:
                scales = _scales(weight, dtype, has_weight), _scales(columns, dtype, False)
                first, second = weight / scales[0], columns / scales[1]
            a = self._pruned_weight(first, dtype, owner, index) if sparse else _operand(first, dtype)
            b = _operand(second, dtype)
            d = matmul(a, b, arch=self._arch, sparse=sparse, dtype=dtype)
            if self._scales:
                d = d.astype(np.float32) * (scales[0] * scales[1]).cpu().numpy()
            results.append(d)
            if self._errors:
                errors.append(_against_exact(weight, columns, a if sparse else None, dtype, d))
        row = {"name": label, "m": d.shape[0], "n": d.shape[1], "k": a.shape[1], "dtype": dtype, "sparse": sparse,
               "elements": sum(result.size for result in results)}
        joined = tuple(np.concatenate(parts, axis=None) for parts in zip(*errors)) if errors else None
        self.result._note(row, joined)
        return lowered.result(results)

    def _pruned_weight(self, weight, dtype, owner, index):
        """`weight` pruned, `owner` the tensor that it is part of: once for each state of a weight of the model."""
        if not self.model.owns(owner) or owner.is_inference():
            return prune(_operand(weight, dtype), dtype)
        storage = _model.storage_of(owner)
        key = (storage._cdata, owner.storage_offset(), owner.shape, owner.stride(), dtype, index)
        known = self._pruned.get(key)
        if known is None or known.version != owner._version:
            known = self._pruned[key] = _Pruned(prune(_operand(weight, dtype), dtype), owner._version, storage)
        return known.weight


def _operand(matrix, dtype):
    """A matrix of PyTorch, rounded to `dtype`, as a NumPy array."""
    target = next(kind for kind, name in _products.TYPES.items() if name == dtype)
    matrix = matrix.detach()
    if target == torch.int8 and matrix.is_floating_point():
        matrix = matrix.round().clamp(-127, 127)
    operand = as_numpy(matrix.to("cpu", target), "an operand")
    return as_tf32(operand) if dtype == "tf32" else operand


def _scales(matrix, dtype, by_row):
    """What a matrix is divided by, so that the largest magnitude, of each row or of all, is the largest of `dtype`."""
    target = next(kind for kind, name in _products.TYPES.items() if name == dtype)
    largest = 127 if target == torch.int8 else torch.finfo(target).max
    magnitudes = matrix.detach().abs().float()
    most = magnitudes.amax(1, keepdim=True) if by_row else magnitudes.max()
    return torch.where(most > 0, most, torch.ones_like(most)) / largest


def _against_exact(weight, columns, pruned, dtype, d):
    """D in double precision, the same with pruned weights, and as simulated."""
    columns = columns.detach().to("cpu", torch.float64).numpy()
    weight = weight.detach().to("cpu", torch.float64)
    exact = weight.numpy() @ columns
    if pruned is None:
        return exact, exact, d.astype(np.float64)
    kept = torch.from_numpy(pruned.view(f"u{pruned.itemsize}").astype(np.int64) != 0)
    return exact, (weight * kept).numpy() @ columns, d.astype(np.float64)


def _require_pattern(sparse, dtype):
    """Whether some type, or `dtype`, has this pattern; _is_sparse() of each layer looks at its own type."""
    types = [dtype] if dtype else ["tf32", "f16"]
    patterns = [_core.pattern(name)["name"] for name in types]
    if sparse not in (None, False, True, *patterns):
        raise InputError(f"sparse must be False, True or {' or '.join(patterns)}, not {sparse!r}")


@contextlib.contextmanager
def simulated(model: torch.nn.Module | None = None, *, arch: Arch = "A100", sparse: Sparse = False,
              layers: str | Sequence[str] | None = None, dtype: str | None = None, scales: bool = False,
              errors: bool = True) -> Iterator[Layers]:
    """A context in which PyTorch multiplies matrices with the arithmetic of a tensor core.

        with sptcsim.torch.simulated(arch="A100", sparse="2:4") as result:
            accuracy = evaluate(model, test_set)
        print(result["fc1"].pruning_error, result["fc1"].arithmetic_error)

    Each matmul, linear, bmm and convolution computes its sums as sptcsim.matmul() does, whatever device its tensors are
    on. Bias and other addends come after that, in float32, and the result has the type that PyTorch gives it. What
    is no product, and what `not_simulated` of the result names, runs as it always does.

    model: names layers by their place in it; without it they are named by their place in what is called outermost.
    arch: a name of architectures(), an alias, a file, or an Architecture.
    sparse: "2:4" (or True) prunes the weights that NVIDIA's ASP prunes, by magnitude, and multiplies them with the sparse
        instructions. A convolution has its filters as [K, (R, S, C)]. Weights that obey the pattern stay as they are.
    layers: names, or patterns such as "encoder.*", of the layers that are simulated; None: all.
    dtype: type that operands are rounded to: "f16", "bf16", "tf32", "e4m3", ...; None: that of the tensors, tf32 for
        float32.
    scales: True divides operands by scales before they are rounded to `dtype`, "s8", "e4m3" or "e5m2", and multiplies D by
        them. Each row of a weight has its own scale, and other operands have one; largest magnitudes fill the type.
    errors: False does not compute each product in double precision, too.
    Gives Layers. Raises InputError.
    """
    if model is not None and not isinstance(model, torch.nn.Module):
        raise InputError(f"a model is a torch.nn.Module, not {type(model).__name__}; arch= and others need their names")
    if dtype is not None and dtype not in _products.TYPES.values():
        _core.pattern(dtype)
        raise InputError(f"dtype must be one of {', '.join(_products.TYPES.values())}, not '{dtype}'")
    if scales and dtype not in _SCALED:
        raise InputError(f"scales need a dtype among {', '.join(_SCALED)}, not {dtype!r}")
    _require_pattern(sparse, dtype)
    simulator = _Simulator(model, arch, sparse, names("layers", layers), dtype, scales, errors)
    simulator.model.start()
    try:
        with _model.plain_kernels(), simulator:
            yield simulator.result
    finally:
        simulator.model.stop()
