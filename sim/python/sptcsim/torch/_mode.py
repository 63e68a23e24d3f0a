# SPDX-License-Identifier: Apache-2.0
"""A mode in which every matrix product of PyTorch comes by."""
from torch.utils import _python_dispatch, _pytree

import torch

from .._core import InputError
from . import _model, _products


class ProductMode(_python_dispatch.TorchDispatchMode):
    """Calls on_product(product, run), which returns the result, for each matrix product of what runs in it."""

    def __init__(self, model=None):
        super().__init__()
        self.model = _model.RunningModel(model)

    def on_product(self, name, product, run):
        """`run` computes the product as PyTorch does."""
        raise NotImplementedError

    def weight_of(self, product):
        """The layer whose weight is a factor, or None, and whether that is the first one."""
        layer = self.model.layer_of(product.second)
        weight_first = layer is None and product.geometry is None and self.model.layer_of(product.first) is not None
        return (self.model.layer_of(product.first) if weight_first else layer), weight_first

    def on_opaque(self, name, kind):
        """An operation called `name` hides products of this kind."""

    def on_grouped(self, name, grouped):
        """An operation called `name` has the products of several experts."""
        self.on_opaque(name, "grouped product")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        product = _products.product_of(func, args, kwargs)
        if product is not None:
            result = self.on_product(str(func), product, lambda: func(*args, **kwargs))
            return _stored(func, args, kwargs, result)
        with self:
            result = func.decompose(*args, **kwargs)
        if result is not NotImplemented:
            return result
        if func.overloadpacket.__name__ == "_local_scalar_dense" and args[0].device.type == "meta":
            raise InputError(f"{self.model.path()} looks at a value of a tensor, and the device meta has none: give masks "
                             "and positions as arguments, switch that check off, or record on another device")
        kind = _products.opaque(func)
        grouped = _products.grouped_of(func, args, kwargs)
        if grouped is not None:
            self.on_grouped(str(func), grouped)
        elif kind is not None:
            self.on_opaque(str(func), kind)
        result = func(*args, **kwargs)
        inputs = [value for value in _pytree.tree_flatten((args, kwargs))[0] if isinstance(value, torch.Tensor)]
        self.model.follow(inputs, result)
        return result


def _stored(func, args, kwargs, result):
    """`result` where the operation wants it: in out=, in its first argument, or by itself."""
    target = kwargs.get("out")
    if target is None and func.overloadpacket.__name__.endswith("_"):
        target = args[0]
    if target is None or target is result:
        return result
    return target.copy_(result)
