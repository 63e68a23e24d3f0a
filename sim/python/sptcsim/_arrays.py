# SPDX-License-Identifier: Apache-2.0
"""Arrays of the caller as raw bits, and results as arrays of their type."""
import sys

import numpy as np

from ._core import InputError

try:
    import ml_dtypes
except ImportError:  # bf16 and the small floats are then raw bits
    ml_dtypes = None

_UNSIGNED = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}

# Bytes of an element, and the NumPy types that hold it beside unsigned integers of that size.
_BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "f32": 4, "f64": 8, "s32": 4, "s8": 1, "u8": 1, "s4": 1, "u4": 1, "b1": 1,
          "e4m3": 1, "e5m2": 1, "e3m2": 1, "e2m3": 1, "e2m1": 1}
_NUMPY = {"f16": np.float16, "tf32": np.float32, "f32": np.float32, "f64": np.float64, "s32": np.int32, "s8": np.int8,
          "u8": np.uint8}
_ML_DTYPES = {"bf16": "bfloat16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "e3m2": "float6_e3m2fn",
              "e2m3": "float6_e2m3fn", "e2m1": "float4_e2m1fn", "s4": "int4", "u4": "uint4"}

_TYPE = {name: np.dtype(kind) for name, kind in _NUMPY.items()}
for _name, _kind in _ML_DTYPES.items():
    if ml_dtypes is not None and hasattr(ml_dtypes, _kind):
        _TYPE[_name] = np.dtype(getattr(ml_dtypes, _kind))

# What an operand of that type is, where nobody says otherwise.
_OPERAND = {dtype: name for name, dtype in _TYPE.items() if name not in ("f32", "u8")}
_OPERAND[np.dtype(np.uint8)] = "u8"

_TORCH_BITS = {"bfloat16": "int16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


def _from_torch(tensor, what):
    torch = sys.modules["torch"]
    if tensor.device.type != "cpu":
        raise InputError(f"{what}: a tensor on {tensor.device} must be moved to the CPU first")
    kind = str(tensor.dtype).removeprefix("torch.")
    tensor = tensor.detach()
    if kind not in _TORCH_BITS:
        return np.from_dlpack(tensor) if hasattr(tensor, "__dlpack__") else tensor.numpy()
    bits = tensor.view(getattr(torch, _TORCH_BITS[kind])).numpy()
    dtype = next((_TYPE[name] for name, own in _ML_DTYPES.items() if own == kind and name in _TYPE), None)
    return bits.view(dtype) if dtype is not None else bits.view(_UNSIGNED[bits.itemsize])


def as_numpy(array, what):
    """`array` as a NumPy array of native byte order; NumPy, DLPack and torch arrays are not copied."""
    if type(array) is not np.ndarray:
        if type(array).__module__.split(".")[0] == "torch":
            array = _from_torch(array, what)
        elif isinstance(array, np.ma.MaskedArray):
            raise InputError(f"{what}: a masked array must be filled first")
        elif isinstance(array, np.ndarray):
            array = np.asarray(array)
        elif hasattr(array, "__dlpack__"):
            try:
                array = np.from_dlpack(array)
            except (BufferError, RuntimeError, TypeError, ValueError):
                array = np.asarray(array)  # a type that NumPy's DLPack does not know
        else:
            raise InputError(f"{what} must be an array of NumPy, DLPack or torch, not {type(array).__name__}")
    if not array.dtype.isnative:
        raise InputError(f"{what}: elements of {array.dtype} are in the byte order of another machine")
    return array


def known_type(array):
    """The operand type that the elements of a NumPy array say: "f16" of float16, "tf32" of float32. None: they say none."""
    return _OPERAND.get(array.dtype)


def operand_type(array, what):
    """The same. InputError where they say none."""
    name = known_type(array)
    if name is None:
        raise InputError(f"{what}: elements of {array.dtype} are no operands of a tensor core; give dtype= for raw bits, "
                         f"or one of {', '.join(sorted(str(dtype) for dtype in _OPERAND))}")
    return name


def bytes_of(name):
    """Bytes of an element of type `name`; InputError for an unknown one."""
    size = _BYTES.get(name)
    if size is None:
        raise InputError(f"unknown type '{name}'; known are {', '.join(_BYTES)}")
    return size


def bits(array, what, name, axes=None):
    """`array` (of as_numpy) as unsigned integers, where its elements can be those of type `name`."""
    size = bytes_of(name)
    dtype = array.dtype
    if dtype != _TYPE.get(name) and dtype != _UNSIGNED[size]:
        expected = [str(kind) for kind in (_TYPE.get(name), _UNSIGNED[size]) if kind is not None]
        raise InputError(f"{what}: elements must be {' or '.join(dict.fromkeys(expected))} for {name}, not {dtype}")
    if axes is not None and array.ndim != axes:
        raise InputError(f"{what} must have {axes} axes, not the shape {list(array.shape)}")
    if 0 in array.shape:
        raise InputError(f"{what}: the shape {list(array.shape)} has no element; every extent must be at least 1")
    view = array.view(_UNSIGNED[size]) if dtype != _UNSIGNED[size] else array
    return view if view.flags.forc else np.ascontiguousarray(view)


def as_tf32(array):
    """float32 as cvt.rna.tf32.f32 rounds it: to 10 bits of mantissa, ties away from zero."""
    rounded = (array.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    return np.where(np.isnan(array), np.uint32(0x7FFFFFFF), rounded).view(np.float32)


def packed(array):
    """Row-major."""
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def result(shape, name):
    """An array for results of type `name`, and the same as unsigned integers."""
    size = bytes_of(name)
    array = np.empty(shape, _UNSIGNED[size])
    dtype = _TYPE.get(name)
    return (array.view(dtype) if dtype is not None else array), array
