# SPDX-License-Identifier: Apache-2.0
"""Matrix products and convolutions as GEMMs of two matrices, and their results as PyTorch wants them."""
import dataclasses
import typing

import numpy as np
import torch


@dataclasses.dataclass
class Lowered:
    """gemms: pairs A [m, k], B [k, n] of one operation. result: makes its tensor of the D [m, n] of each."""
    gemms: list
    prunable: bool  # by the rule of NVIDIA's ASP, where A is a weight
    result: typing.Callable


def asp_prunes(rows, columns):
    """The rule of NVIDIA's ASP (apex/contrib/sparsity): outputs, inputs (of a convolution: channels of a group)."""
    return rows % 8 == 0 and columns % 16 == 0


def lower(product, weight_first):
    """The GEMMs of a product; `weight_first`: its first factor is A, else the second one, transposed."""
    return _convolution(product) if product.geometry is not None else _matrix_product(product, weight_first)


def _finished(values, product, addend):
    """alpha D + beta C in the accumulator's type, as a kernel's epilogue does it; `values` is a NumPy array."""
    values = torch.from_numpy(np.ascontiguousarray(values)).to(product.first.device)
    if product.alpha != 1:
        values = values * product.alpha
    if addend is not None and product.beta != 0:
        addend = addend.to(values.dtype)
        values = values + (addend if product.beta == 1 else product.beta * addend)
    return values.to(product.result_type or product.first.dtype)


def _matrix_product(product, weight_first):
    batches = product.first.dim() == 3
    firsts = product.first if batches else product.first.unsqueeze(0)
    seconds = product.second if batches else product.second.unsqueeze(0)
    pairs = list(zip(firsts, seconds))
    gemms = pairs if weight_first else [(second.t(), first.t()) for first, second in pairs]

    def result(parts):
        stacked = np.stack([part if weight_first else part.T for part in parts])
        values = stacked if batches else stacked[0]
        return _finished(values[..., 0] if product.vector else values, product, product.addend)
    return Lowered(gemms, asp_prunes(*gemms[0][0].shape), result)


def _patches(image, filters, geometry, group):
    """B [k, n] of one group: rows (taps, channels) with channels innermost, columns (image, output pixel)."""
    channels = filters.shape[1]
    part = image[:, group * channels:(group + 1) * channels]
    padding = [amount for pad in reversed(geometry.padding) for amount in (pad, pad)]
    part = torch.nn.functional.pad(part, padding)
    for axis, (taps, stride, dilation) in enumerate(zip(filters.shape[2:], geometry.stride, geometry.dilation)):
        part = part.unfold(2 + axis, dilation * (taps - 1) + 1, stride)[..., ::dilation]
    axes = filters.dim() - 2  # now [image, channel, output.., tap..]
    order = [*range(2 + axes, 2 + 2 * axes), 1, 0, *range(2, 2 + axes)]
    part = part.permute(order)
    return part.reshape(part.shape[:axes + 1].numel(), -1)


def _convolution(product):
    image, filters, geometry = product.first, product.second, product.geometry
    axes = filters.dim() - 2
    rows = filters.shape[0] // geometry.groups
    matrices = filters.permute(0, *range(2, 2 + axes), 1).reshape(geometry.groups, rows, -1)
    gemms = [(matrices[group], _patches(image, filters, geometry, group)) for group in range(geometry.groups)]
    outputs = geometry.outputs(image.shape, filters.shape)

    def result(parts):
        values = np.concatenate(parts).reshape(filters.shape[0], image.shape[0], *outputs)
        bias = None if product.addend is None else product.addend.reshape(-1, *[1] * axes)
        return _finished(np.moveaxis(values, 0, 1), product, bias)
    return Lowered(gemms, asp_prunes(filters.shape[0], filters.shape[1]), result)
