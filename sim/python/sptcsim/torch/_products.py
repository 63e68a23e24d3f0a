# SPDX-License-Identifier: Apache-2.0
"""Which operations of PyTorch are matrix products: D[m, n] = A[m, k] B[k, n] with the weight as A."""
import dataclasses
import typing

import torch

# Names of sptcsim for the types of operands. float32 goes through a tensor core as tf32.
TYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "tf32", torch.int8: "s8"}
for _torch_name, _name in (("float8_e4m3fn", "e4m3"), ("float8_e5m2", "e5m2")):
    if hasattr(torch, _torch_name):
        TYPES[getattr(torch, _torch_name)] = _name

# Products whose two factors are the arguments `first` and `first` + 1; the addend, if any, is argument 0.
_MATRIX_PRODUCTS = {"mm": 0, "_int_mm": 0, "_scaled_mm": 0, "bmm": 0, "mv": 0, "addmm": 1, "addmm_": 1,
                    "baddbmm": 1, "baddbmm_": 1, "addmv": 1, "addmv_": 1}
_CONVOLUTIONS = ("convolution", "_convolution", "convolution_overrideable")

# Operations that multiply matrices inside a kernel of their own.
_OPAQUE = {"_addmm_activation": "fused activation", "_cdist_forward": "distance", "_cudnn_rnn": "recurrence",
           "_grouped_mm": "grouped product", "_native_multi_head_attention": "fused attention",
           "_scaled_grouped_mm": "grouped product", "_thnn_fused_gru_cell": "recurrence",
           "_thnn_fused_lstm_cell": "recurrence", "_transformer_encoder_layer_fwd": "fused layer",
           "_trilinear": "bilinear form", "addbmm": "sum of a batch", "convolution_backward": "backward convolution",
           "dot": "product of vectors", "miopen_rnn": "recurrence", "mkldnn_rnn_layer": "recurrence"}


@dataclasses.dataclass
class Product:
    """A matrix product: first[.., rows, k] second[.., k, columns], each with a batch in front or none.

    A convolution has first = the image, second = the filters, and its geometry.
    """
    first: torch.Tensor
    second: torch.Tensor
    addend: typing.Optional[torch.Tensor] = None
    alpha: float = 1
    beta: float = 1
    result_type: typing.Optional[torch.dtype] = None  # where it is not that of the factors
    vector: bool = False  # the second factor was a vector, and so is the result
    scaled: bool = False  # the result is multiplied by scales that are not here
    geometry: typing.Optional["Geometry"] = None


@dataclasses.dataclass
class Grouped:
    """Products of experts in one kernel, which are taken to get as many tokens."""
    first: torch.Tensor
    second: torch.Tensor
    weight: typing.Optional[int]  # the factor that holds the experts, 0 or 1; None: a gradient, or no tokens are shared
    op: dict  # m, n, k and, of several, batch


@dataclasses.dataclass
class Geometry:
    """Of a convolution, for each axis of the image."""
    stride: list
    padding: list
    dilation: list
    transposed: bool
    groups: int

    def outputs(self, image, filters):
        """Extents of the result of a convolution that is not transposed."""
        return [(extent + 2 * pad - dilation * (taps - 1) - 1) // stride + 1 for extent, taps, stride, pad, dilation in
                zip(image[2:], filters[2:], self.stride, self.padding, self.dilation)]


def _base(func):
    return func.overloadpacket.__name__


def opaque(func):
    """What kind of product `func` hides in a kernel of its own; None where it hides none."""
    name = _base(func)
    if name.startswith("_scaled_dot_product") or name in ("_flash_attention_forward", "_efficient_attention_forward"):
        return None if name.endswith("_backward") else "fused attention"
    return _OPAQUE.get(name)


def _per_axis(values, axes):
    values = list(values)
    return values * axes if len(values) == 1 else values


def _convolution(args):
    image, filters, bias, stride, padding, dilation, transposed, _, groups = args[:9]
    axes = filters.dim() - 2
    return Product(image, filters, bias, geometry=Geometry(_per_axis(stride, axes), _per_axis(padding, axes),
                                                           _per_axis(dilation, axes), transposed, groups))


# Where the ends of the groups stand.
_GROUPED = {"_grouped_mm": 2, "_scaled_grouped_mm": 4}


def grouped_of(func, args, kwargs):
    """The products of experts that calling `func` means, or None. Tokens are shared alike: along the rows of a first
    factor of two axes, the columns of such a second one, or, where both have two, along K.
    """
    ends = _GROUPED.get(_base(func))
    if ends is None:
        return None
    a, b = args[:2]
    groups = args[ends] if len(args) > ends else kwargs.get("offs")
    if a.dim() == 2 and b.dim() == 2 and groups is None:
        return None
    experts = groups.numel() if a.dim() == 2 and b.dim() == 2 else (a if a.dim() == 3 else b).shape[0]
    op = {"m": b.shape[-1], "n": a.shape[-2], "k": a.shape[-1]}
    shared, weight = {(2, 2): ("k", None), (3, 2): ("m", 0), (2, 3): ("n", 1)}.get((a.dim(), b.dim()), (None, None))
    batch = experts if shared is None else max(1, min(experts, op[shared]))
    if shared is not None:
        op[shared] = -(-op[shared] // batch)
    if weight == 0:  # A is the weight
        op["m"], op["n"] = op["n"], op["m"]
    if batch > 1:
        op["batch"] = batch
    return Grouped(a, b, weight, op)


def product_of(func, args, kwargs):
    """The product that calling `func` means, or None."""
    name = _base(func)
    if name in _CONVOLUTIONS:
        return _convolution(args)
    first = _MATRIX_PRODUCTS.get(name)
    if first is None:
        return None
    a, b = args[first], args[first + 1]
    vector = "mv" in name
    result_type = next((value for value in [*args, *kwargs.values()] if isinstance(value, torch.dtype)), None)
    if name == "_int_mm":
        result_type = torch.int32
    return Product(a, b.unsqueeze(-1) if vector else b, args[0] if first else None, kwargs.get("alpha", 1),
                   kwargs.get("beta", 1), result_type, vector, name == "_scaled_mm")
