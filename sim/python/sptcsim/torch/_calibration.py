# SPDX-License-Identifier: Apache-2.0
"""Sums over the inputs of layers, while a model runs on batches of the caller."""
import collections.abc
import contextlib

import numpy as np
import torch
from torch.utils import _pytree

from .._core import InputError
from . import _lowering, _mode, _model

# What is added to the diagonal of a Hessian before its factor is taken, of its mean; the least that works. SparseGPT adds
# ten times the largest.
_DAMPENING = (1e-6, 1e-5, 1e-4, 1e-3)


class _Sums(_mode.ProductMode):
    """Of each of `layers` a list, an entry for each group of a convolution: X'X [k, k] of its inputs X [samples, k], or
    the diagonal of that alone.
    """

    def __init__(self, model, layers, whole):
        super().__init__(model)
        self._layers = {layer.name: layer for layer in layers}
        self._whole = whole
        self.sums = {layer.name: [None] * layer.groups for layer in layers}

    def on_product(self, name, product, run):
        layer, weight_first = self.weight_of(product)
        if layer in self._layers and 0 not in product.first.shape:
            lowered = _lowering.lower(product, weight_first)
            for index, (_, columns) in enumerate(lowered.gemms):
                self._add(layer, index if product.geometry is not None else 0, columns.detach().t().float())
        return run()

    def _add(self, layer, group, inputs):
        sums = self.sums[layer]
        if inputs.shape[1] != self._layers[layer].matrix().shape[1]:
            return  # part of the weight
        more = inputs.t() @ inputs if self._whole else inputs.square().sum(0)
        sums[group] = more if sums[group] is None else sums[group].add_(more)


class Calibration:
    """Batches that a model is run on: what it takes, a dict of arguments, or a list whose first element is its input."""

    def __init__(self, model, batches, forward):
        self._model, self._forward = model, forward
        one = isinstance(batches, (torch.Tensor, collections.abc.Mapping))
        if not one and not isinstance(batches, collections.abc.Iterable):
            raise InputError(f"calibration must be an iterable of batches, not {type(batches).__name__}")
        is_spent = iter(batches) is batches  # after one pass
        self._batches = [batches] if one else list(batches) if is_spent else batches

    def _run(self, batch):
        place = next((weight.device for weight in self._model.parameters()), torch.device("cpu"))
        if isinstance(batch, collections.abc.Mapping):
            batch = dict(batch)
        batch = _pytree.tree_map(lambda value: value.to(place) if isinstance(value, torch.Tensor) else value, batch)
        if self._forward is not None:
            return self._forward(self._model, batch)
        if isinstance(batch, dict):
            return self._model(**batch)
        return self._model(batch[0] if isinstance(batch, (list, tuple)) else batch)

    def first(self):
        """What the model returns for the first batch."""
        with evaluating(self._model), torch.no_grad():
            for batch in self._batches:
                return self._run(batch)
        raise InputError("calibration has no batch")

    def sums(self, layers, whole):
        """{layer: sums of its inputs}, as _Sums has them, of all batches."""
        adding, count = _Sums(self._model, layers, whole), 0
        adding.model.start()
        try:
            with evaluating(self._model), torch.no_grad(), _model.plain_kernels(), adding:
                for batch in self._batches:
                    self._run(batch)
                    count += 1
        finally:
            adding.model.stop()
        if count == 0:
            raise InputError("calibration has no batch")
        return adding.sums


@contextlib.contextmanager
def evaluating(model):
    """The model as it is evaluated: without dropout, and batch normalisation by its running statistics."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def stand_in(name, total, whole):
    """Inputs [samples, k] whose sums are `total`: of X'X its upper triangular factor, of a diagonal one row."""
    total = total.detach().to("cpu", torch.float64)
    if not total.isfinite().all():
        raise InputError(f"layer '{name}' has an input that is not finite")
    if not whole:
        return total.sqrt().unsqueeze(0).float().numpy()
    reached = total.diagonal() > 0
    for share in _DAMPENING:
        added = torch.where(reached, share * total.diagonal().mean(), torch.ones(())).to(torch.float64)
        factor, failed = torch.linalg.cholesky_ex(total + torch.diag(added))
        if not failed:
            factor = factor.t().clone()
            factor[:, ~reached] = 0
            return np.ascontiguousarray(factor.float().numpy())
    raise InputError(f"layer '{name}': the Hessian of its calibration inputs is not positive definite")
