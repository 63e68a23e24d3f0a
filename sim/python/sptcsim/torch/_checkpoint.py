# SPDX-License-Identifier: Apache-2.0
"""Models as .safetensors files, which `sptcsim prune`, `convert` and other programs read."""
from __future__ import annotations

import json
import os
import pathlib
import tempfile

import torch

from .. import _checks
from .._core import InputError
from .._model_pruning import convert_model
from .._types import Path
from . import _layers

_NAMES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
          torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL"}
for _own, _name in (("float8_e4m3fn", "F8_E4M3"), ("float8_e5m2", "F8_E5M2")):
    if hasattr(torch, _own):
        _NAMES[getattr(torch, _own)] = _name
_TYPES = {name: dtype for dtype, name in _NAMES.items()}
_COMPRESSED = "sptcsim-compressed/0.1"  # in the header of a file with compressed weights
_ONE = "model.safetensors"


def _bytes_of(tensor):
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()


def _write(path, tensors):
    """The file appears when all is written."""
    header, place = {"__metadata__": {"format": "pt"}}, 0
    for name, tensor in tensors.items():
        if tensor.layout != torch.strided or tensor.dtype not in _NAMES:
            raise InputError(f"'{name}' is {str(tensor.layout if tensor.dtype in _NAMES else tensor.dtype)[6:]}, which "
                             "a .safetensors file does not hold; export() comes before to_sparse()")
        end = place + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [place, end]}
        place = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for tensor in tensors.values():
                file.write(_bytes_of(tensor).data)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(f"{path}: {error.strerror}") from None


def export(model: torch.nn.Module, path: Path) -> None:
    """Writes a model, pruned weights with their zeros, to a .safetensors file or a directory.

    path: a file that ends in .safetensors, for state_dict(); or a directory, in which a model of transformers writes itself
        (save_pretrained: shards, config.json), and any other one model.safetensors. `sptcsim convert` makes values and
        metadata of either, plan and run read them, and load_() does. Raises InputError.
    """
    state = _layers.require_model(model).state_dict()
    target = pathlib.Path(_checks.path("path", path))
    if target.suffix == ".safetensors":
        return _write(target, state)
    if target.suffix or target.is_file():
        raise InputError(f"path must end in .safetensors or be a directory, not '{target}'")
    if hasattr(model, "save_pretrained"):
        return model.save_pretrained(target, safe_serialization=True)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{target}: {error.strerror}") from None
    return _write(target / _ONE, state)


def _header(path):
    """The header of a file and where its tensors begin."""
    try:
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            length = os.fstat(file.fileno()).st_size
            header = json.loads(file.read(size)) if 8 + size <= length else None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise InputError(f"{path}: this is no .safetensors file")
    return header, 8 + size, length


def _read_entry(path, name, entry, begin, length):
    """A tensor of a file, in memory of its own."""
    try:
        dtype, shape, (first, last) = _TYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
        extents = torch.Size(shape)
        size = extents.numel() * torch.empty(0, dtype=dtype).element_size()
        if min(first, *shape, 0) < 0 or last - first != size or begin + last > length:
            raise ValueError
    except (KeyError, TypeError, ValueError, RuntimeError, OverflowError):
        raise InputError(f"{path}: tensor '{name}' has a type, extents or offsets that do not go together") from None
    with open(path, "rb") as file:
        file.seek(begin + first)
        data = bytearray(file.read(size))
    if not data:
        return torch.empty(extents, dtype=dtype)
    return torch.frombuffer(data, dtype=torch.uint8).view(dtype).reshape(extents)


def _read(path):
    header, begin, length = _header(path)
    if _COMPRESSED in header.get("__metadata__", {}):
        with tempfile.TemporaryDirectory() as folder:
            dense = pathlib.Path(folder) / _ONE
            convert_model(path, dense, "dense")
            return _read(dense)
    return {name: _read_entry(path, name, entry, begin, length) for name, entry in header.items() if name != "__metadata__"}


def _files(path):
    """The files that a model at `path` is in."""
    if not path.is_dir():
        return [path]
    index = path / (_ONE + ".index.json")
    if not index.is_file():
        return [path / _ONE]
    try:
        names = sorted(set(json.loads(index.read_text())["weight_map"].values()))
        if any(pathlib.Path(name).name != name for name in names):
            raise ValueError
        return [path / name for name in names]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{index}: this is no list of shards") from None


def load_(model: torch.nn.Module, path: Path) -> torch.nn.Module:
    """Reads the tensors of a model, in place, from what export(), `sptcsim prune` or `sptcsim convert` wrote.

    path: a .safetensors file, or a directory with model.safetensors or its shards. Compressed weights become dense ones with
        zeros. Tensors get the type and device that those of the model have. Returns the model. Raises InputError where
        names or extents are not those of the model.
    """
    state = _layers.require_model(model).state_dict()
    target = pathlib.Path(_checks.path("path", path))
    tensors = {}
    for file in _files(target):
        tensors.update(_read(file))
    known = {tensor.data_ptr() for name, tensor in state.items() if name in tensors}  # others may share the memory of these
    missing = [name for name, tensor in state.items() if name not in tensors and tensor.data_ptr() not in known]
    unknown = [name for name in tensors if name not in state]
    if missing or unknown:
        what = f"no tensor '{missing[0]}'" if missing else f"a tensor '{unknown[0]}' that the model does not have"
        raise InputError(f"{target} has {what}")
    for name, tensor in tensors.items():
        if tensor.shape != state[name].shape:
            raise InputError(f"{target}: '{name}' is {list(tensor.shape)}, not {list(state[name].shape)}")
    model.load_state_dict(tensors, strict=False)
    return model
