# SPDX-License-Identifier: Apache-2.0
"""Models in files: pruning, conversion between layouts, channel permutation."""
import json
import os

import numpy as np

from . import _arrays, _checks, _core
from ._core import InputError
from ._record import wrap


def _path(name, value):
    """A path as a string; "" of None."""
    if value is None:
        return ""
    try:
        return os.fsdecode(value)
    except TypeError:
        raise InputError(f"{name} must be a path, not {type(value).__name__}") from None


def _word(name, value):
    """A string; "" of None."""
    return "" if value is None else _checks.word(name, value)


def prune_model(model, out=None, *, masks=None, activations=None, criterion="magnitude", pattern=None, dtype=None,
                layout="dense", layers=None, exclude=None, include=None, transposed=None, k_axis=None, permute=(),
                seed=0):
    """Prunes the weights of a model in a file, as `sptcsim prune` does, and writes it to `out`.

    model: .safetensors, .safetensors.index.json or its directory, .npz, .npy or .onnx. out, masks: files, or None for
        the report alone. activations: inputs of the layers, which criterion "wanda" and "sparsegpt" need.
    pattern: "2:4", "6:8", "64:2:8", ... dtype: the type that tensor cores will execute. layout: "dense", "canonical",
        "ptx", "cutlass", "pytorch", "pytorch-old" or "marlin". layers, exclude, include, transposed:
        regular expressions; include: names to prune, too, that stay dense by custom (heads, routers, ...). k_axis:
        "last" or "1", of weights of three axes.
    permute: "report", "auto" or a rule "producer[,..]=consumer[,..]", or a list of them.
    Returns a Record with the names of `sptcsim prune --format json`. Raises InputError; then nothing is written.
    """
    if not isinstance(permute, (str, list, tuple)):
        raise InputError(f"permute must be a word or a list of words, not {type(permute).__name__}")
    rules = [permute] if isinstance(permute, str) else permute
    return wrap(json.loads(_core.prune_model(
        _path("model", model), _path("out", out), _path("masks", masks), _path("activations", activations),
        _word("criterion", criterion), _word("pattern", pattern), _word("dtype", dtype), _word("layout", layout),
        _word("layers", layers), _word("exclude", exclude), _word("include", include),
        _word("transposed", transposed), _word("k_axis", k_axis), [_word("permute", rule) for rule in rules],
        _checks.integer("seed", seed, 0, 2**63 - 1))))


def convert_model(model, out, layout, *, dtype=None, layers=None, exclude=None, include=None, transposed=None,
                  k_axis=None):
    """Writes the 2:4 weights of a model in another layout, as `sptcsim convert` does. Arguments as of prune_model().

    Returns a Record with the names of `sptcsim convert --format json`. Raises InputError; then nothing is written.
    """
    return wrap(json.loads(_core.convert_model(
        _path("model", model), _path("out", out), _word("layout", layout), _word("dtype", dtype),
        _word("layers", layers), _word("exclude", exclude), _word("include", include),
        _word("transposed", transposed), _word("k_axis", k_axis))))


def permutation_search(a, seed=0):
    """The order of the columns of a [rows, k] in which pruning to 2:4 keeps the most magnitude that was found.

    a: floating-point array, converted to float32. Returns an array of integers: a[:, order] is the matrix to prune.
    """
    values = np.ascontiguousarray(_arrays.as_numpy(a, "a"), dtype=np.float32)
    if values.size == 0:
        raise InputError(f"a: the shape {list(values.shape)} has no element; every extent must be at least 1")
    if not np.isfinite(values).all():
        raise InputError("a: weights must be finite")
    return np.array(_core.permutation_search(values.view(np.uint32), _checks.integer("seed", seed, 0, 2**63 - 1)),
                    dtype=np.int64)
