# SPDX-License-Identifier: Apache-2.0
"""2:4 weights: pruning, compression, metadata and its layouts."""
from __future__ import annotations

import numpy as np

from . import _arrays, _checks, _core
from ._core import InputError
from ._types import Array

_ALIASES = {"reordered": "cutlass", "pytorch": "cutlass", "lanes": "ptx"}


def layout_name(layout):
    """The layout that a word means: "pytorch" and "reordered" are "cutlass", "lanes" is "ptx"."""
    return _ALIASES.get(_checks.word("a layout", layout), layout)


class Metadata:
    """Which elements of a sparse matrix are kept: words [..] in a layout.

    words: NumPy array of unsigned integers, of the shape that convert() describes. layout, dtype: names.
    instruction_k, selector: of the layout "ptx".
    """

    def __init__(self, words: Array, layout: str, dtype: str, instruction_k: int = 0, selector: int = 0) -> None:
        self.layout = layout_name(layout)
        self.dtype = dtype
        self.instruction_k = instruction_k
        self.selector = selector
        words = _arrays.as_numpy(words, "metadata")
        if words.dtype.kind not in "iu":
            raise InputError(f"metadata: elements must be integers, not {words.dtype}")
        if 0 in words.shape:
            raise InputError(f"metadata: the shape {list(words.shape)} has no element")
        self.words = _arrays.packed(words.view(f"u{words.itemsize}"))

    def convert(self, layout: str, *, instruction_k: int | None = None, selector: int | None = None) -> Metadata:
        """The same metadata in another layout.

        layout: "nibbles" [m, groups], four bits of each group in a byte; "canonical" [m, elements], row-major, 4
            (16- and 32-bit types) or 8 groups in an element of 16 or 32 bits; "cutlass" ("pytorch"), the
            same elements in the order that CUTLASS 2.x and PyTorch store, m a multiple of 32 (8-bit types: 16); "marlin",
            in that of Sparse-Marlin (vLLM, torchao), m a multiple of 64; "cutlass-sm90", "cutlass-sm90-k64" and
            "cutlass-sm100", bytes of two groups as CUTLASS 3.x has them for tiles of 128 and 64 columns, m a multiple
            of 64; "ptx" [m/16, k/instruction_k, 32], the
            registers of mma.sp.m16n8k<instruction_k>, in the lanes that `selector` names.
        Returns Metadata. Raises InputError where extents do not fill the layout.
        """
        layout = layout_name(layout)
        if layout == "ptx" and instruction_k is None:
            raise InputError("the layout 'ptx' needs instruction_k, the logical k of mma.sp")
        if self.layout == "ptx" and layout == "ptx":
            return self.convert("nibbles").convert("ptx", instruction_k=instruction_k, selector=selector)
        if instruction_k is not None:
            _checks.integer("instruction_k", instruction_k, 1, 1024)
        if selector is not None:
            _checks.integer("selector", selector, 0, 3)
        k = self.instruction_k if self.layout == "ptx" else instruction_k or 0
        chosen = self.selector if self.layout == "ptx" else selector or 0
        arguments = (self.words, self.dtype, self.layout, layout, k, chosen)
        bits = 8 if layout.startswith("cutlass-sm") else {"nibbles": 8, "ptx": 32}.get(layout) or _core.pattern(self.dtype)["metadata_bits"]
        out = np.empty(_core.metadata_shape(*arguments), f"u{bits // 8}")
        _core.convert_metadata(*arguments, out)
        return Metadata(out, layout, self.dtype, k if layout == "ptx" else 0, chosen if layout == "ptx" else 0)

    def __repr__(self):
        return f"Metadata({self.layout}, {self.dtype}, {'x'.join(map(str, self.words.shape))} of {self.words.dtype})"


class Compressed:
    """A sparse matrix [m, logical_k] as values [m, compressed_k] and nibbles [m, groups]."""

    def __init__(self, values, nibbles, dtype):
        self.values = values
        self.dtype = dtype
        self.pattern = _core.pattern(dtype)["name"]
        self.logical_k = nibbles.shape[1] * _core.pattern(dtype)["group"]
        self._nibbles = Metadata(nibbles, "nibbles", dtype)

    def metadata(self, layout: str = "canonical", *, instruction_k: int | None = None,
                 selector: int | None = None) -> Metadata:
        """Metadata in `layout`, as Metadata.convert() describes it."""
        if layout_name(layout) == "nibbles":
            return self._nibbles
        return self._nibbles.convert(layout, instruction_k=instruction_k, selector=selector)

    def __repr__(self):
        m, k = self.values.shape
        return f"Compressed({self.dtype}, {self.pattern}, {m}x{self.logical_k} as {m}x{k})"


def _weights(array, dtype):
    array = _arrays.as_numpy(array, "A")
    name = dtype or _arrays.operand_type(array, "A")
    if name == "f64":
        raise InputError("A: no sparse instruction has operands of f64; give float16, bfloat16 or float32")
    return _arrays.bits(array, "A", name, 2), name


def prune(a: Array, dtype: str | None = None) -> np.ndarray:
    """The weights with all but the largest of each group set to zero, at the pattern of the hardware.

    a: [m, k], k a multiple of the group: 2:4 for 16- and 8-bit types, 1:2 for tf32 (float32), 4:8 in pairs for 4-bit
        types. Of equals the first stays; NaN counts as larger than infinity.
    dtype: operand type where the array does not say it.
    Returns an array [m, k] of the same type. Raises InputError.
    """
    a, name = _weights(a, dtype)
    pruned, out = _arrays.result(a.shape, name)
    _core.prune(name, a, out)
    return pruned


def compress(a: Array, dtype: str | None = None) -> Compressed:
    """A matrix that obeys the pattern of its type, as values and metadata.

    a: [m, k], as prune() returns it. A group with too many non-zeros is refused with row and group.
    Returns Compressed: values [m, k/2] of the same type, metadata(layout). Raises InputError.
    """
    a, name = _weights(a, dtype)
    pattern = _core.pattern(name)
    groups = a.shape[1] // pattern["group"]
    values, out = _arrays.result((a.shape[0], groups * pattern["kept"]), name)
    nibbles = np.empty((a.shape[0], groups), np.uint8)
    _core.compress(name, a, out, nibbles)
    return Compressed(values, nibbles, name)


def decompress(values: Compressed | Array, metadata: Metadata | Array | None = None, dtype: str | None = None) -> np.ndarray:
    """The dense matrix [m, k] again, +0 where nothing was kept.

    values: Compressed, or an array [m, compressed k] with `metadata` (Metadata, or nibbles [m, groups]).
    Returns an array of the type of the values. Raises InputError where metadata is invalid or extents do not fit.
    """
    if isinstance(values, Compressed):
        metadata, dtype, values = values.metadata("nibbles"), values.dtype, values.values
    if metadata is None:
        raise InputError("decompress: metadata is needed, or what compress() returned")
    values, name = _weights(values, dtype)
    if not isinstance(metadata, Metadata):
        metadata = Metadata(metadata, "nibbles", name)
    nibbles = metadata.words if metadata.layout == "nibbles" else metadata.convert("nibbles").words
    if nibbles.ndim != 2:
        raise InputError(f"metadata: nibbles must have 2 axes, not the shape {list(nibbles.shape)}")
    dense, out = _arrays.result((values.shape[0], nibbles.shape[1] * _core.pattern(name)["group"]), name)
    _core.decompress(name, values, nibbles, out)
    return dense
