# SPDX-License-Identifier: Apache-2.0
"""The GEMMs of a model as a workload."""
from __future__ import annotations

import re

import torch

from .. import _core
from .._core import InputError
from .._types import Any, Callable
from . import _mode, _model, _products
from ._lowering import asp_prunes

SCHEMA = "gemm-workload/0.1"


def _matrix_product(product, weight):
    """m, n, k, batch. `weight`: the factor that is a weight, 0 or 1, or None."""
    a, b = product.first.shape, product.second.shape
    rows, k, columns = a[-2], a[-1], b[-1]
    m, n = (rows, columns) if weight == 0 else (columns, rows)
    op = {"m": m, "n": n, "k": k}
    if len(a) == 3 and a[0] != 1:
        op["batch"] = a[0]
    if weight is None:
        op["weight_operand"] = None
    return op


def _convolution(product):
    image, filters, geometry = product.first.shape, product.second.shape, product.geometry
    if geometry.transposed:
        # Each pixel of the image times the filters; the sum of what overlaps is not part of the GEMM.
        taps = filters[2:].numel()
        pixels = image[0] * image[2:].numel()
        return {"m": filters[1] * taps, "n": pixels, "k": image[1] // geometry.groups, "batch": geometry.groups}
    outputs = geometry.outputs(image, filters)
    if len(outputs) == 3:
        pixels = image[0] * torch.Size(outputs).numel()
        return {"m": filters[0] // geometry.groups, "n": pixels, "k": filters[1:].numel(), "batch": geometry.groups,
                "prunable_2_4": asp_prunes(filters[0], filters[1])}

    def height_and_width(values, missing):
        return [missing] * (2 - len(values)) + list(values)
    (h, w), (r, s) = (height_and_width(list(shape[2:]), 1) for shape in (image, filters))
    return {"kind": "conv2d", "conv": {
        "N": image[0], "C": image[1], "H": h, "W": w, "K": filters[0], "R": r, "S": s,
        "stride": height_and_width(geometry.stride, 1), "pad": height_and_width(geometry.padding, 0),
        "dilation": height_and_width(geometry.dilation, 1), "groups": geometry.groups}}


class _Recorder(_mode.ProductMode):
    def __init__(self, model, dtype):
        super().__init__(model)
        self._dtype = dtype
        self.operations = {}  # name and shape: the entry of the workload
        self.not_taken = {}

    def on_product(self, name, product, run):
        self._take(name, product)
        return run()

    def on_opaque(self, name, kind):
        self._refuse({"name": f"{self.model.path()}: {name}"}, f"{kind}: its GEMMs are inside another kernel")

    def on_grouped(self, name, grouped):
        factors = (grouped.first, grouped.second)
        layer = None if grouped.weight is None else self.model.layer_of(factors[grouped.weight])
        op = grouped.op if grouped.weight is not None else {**grouped.op, "weight_operand": None}
        self._enter(name, layer, op, factors[grouped.weight or 0])

    def _take(self, name, product):
        layers = [self.model.layer_of(tensor) for tensor in (product.first, product.second)]
        # x W^T is how layers multiply: of two weights the second is the one.
        weight = 1 if layers[1] is not None else 0 if layers[0] is not None else None
        if product.geometry is not None:
            op = _convolution(product)
            layer = layers[1]
            if layer is None:
                op["weight_operand"] = None
        else:
            op = _matrix_product(product, weight)
            layer = layers[weight] if weight is not None else None
        empty = 0 in [*product.first.shape, *product.second.shape]
        self._enter(name, layer, op, product.second if weight == 1 else product.first, empty)

    def _enter(self, name, layer, op, operand, empty=False):
        """A product of `operand` and another of its type."""
        layer = layer or f"{self.model.path()}.{name.split('.')[1].strip('_')}"
        element = operand.dtype
        dtype = self._dtype or _products.TYPES.get(element)
        entry = {"name": layer, **op, "dtype": dtype}
        extents = [value for key, value in op.items() if key in ("m", "n", "k", "batch")]
        if dtype is None:
            reason = f"{str(element).removeprefix('torch.')} is no type of a tensor core"
        elif 0 in extents or empty:
            reason = "an operand is empty"
        else:
            return self._count(self.operations, entry)
        self._refuse({key: entry[key] for key in ("name", "m", "n", "k", "batch") if key in entry}, reason)

    def _refuse(self, entry, reason):
        self._count(self.not_taken, {**entry, "reason": reason})

    @staticmethod
    def _count(entries, entry):
        known = entries.setdefault(repr(entry), entry)
        known["count"] = known.get("count", 0) + 1


def _merged(operations):
    """As one, operations whose names differ in numbers between dots or underscores alone: "layers.*.up"."""
    merged = {}
    for op in operations:
        pattern = re.sub(r"(?<![^._])\d+(?![^._])", "*", op["name"])
        key = repr({**op, "name": pattern, "count": 0})
        if key in merged:
            merged[key]["count"] += op["count"]
            merged[key]["name"] = pattern
        else:
            merged[key] = dict(op)
    return list(merged.values())


def record(model: torch.nn.Module | Callable[..., Any], *inputs: Any, name: str | None = None, dtype: str | None = None,
           merge: bool = False, **keywords: Any) -> dict[str, Any]:
    """The matrix products of model(*inputs, **keywords) as a workload, which sptcsim.run() takes.

    model: a torch.nn.Module, or any function. Nothing is computed where its tensors are on the device "meta":

        with torch.device("meta"):
            model = Llama(config_of_70b)
        workload = sptcsim.torch.record(model, torch.empty(1, 2048, dtype=torch.long, device="meta"), merge=True)

    name: of the workload; by default that of the class. dtype: type of all operands; None: that of the tensors, tf32
        for float32.
    merge: True makes one operation of those whose names differ in the number of a layer alone: "layers.*.up", with
        their count.
    Returns a dict (schema gemm-workload/0.1; json.dump() writes it to a file). An operation is called after its weight,
    and its weight is A: m = output features, n = tokens or pixels, k = input features. Products of two activations are
    called after the module that makes them. Experts of a grouped product are a batch and get as many tokens each.
    not_taken lists what is no GEMM of a tensor core, and why. Gradients are not recorded. Raises InputError where there
    is no matrix product.
    """
    if not callable(model):
        raise InputError(f"a model is a torch.nn.Module or a function, not {type(model).__name__}")
    if dtype is not None:
        _core.pattern(dtype)
    recorder = _Recorder(model, dtype)
    recorder.model.start()
    try:
        with torch.no_grad(), _model.plain_kernels(), recorder:
            model(*inputs, **keywords)
    finally:
        recorder.model.stop()
    operations = list(recorder.operations.values())
    title = name or type(model).__name__
    if not operations:
        raise InputError(f"{title} multiplies no matrices that a tensor core takes")
    workload = {"schema": SCHEMA, "name": title, "ops": _merged(operations) if merge else operations}
    if recorder.not_taken:
        workload["not_taken"] = list(recorder.not_taken.values())
    return workload
