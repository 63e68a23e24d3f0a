# SPDX-License-Identifier: Apache-2.0
"""Models in files: pruning, conversion between layouts, channel permutation."""
from __future__ import annotations

import numpy as np

from . import _arrays, _checks, _core
from ._core import InputError
from ._record import record
from ._types import Array, Path, Sequence


def prune_model(model: Path, out: Path | None = None, *, masks: Path | None = None, activations: Path | None = None,
                criterion: str = "magnitude", pattern: str | None = None, dtype: str | None = None, layout: str = "dense",
                layers: str | None = None, exclude: str | None = None, include: str | None = None,
                transposed: str | None = None, k_axis: str | None = None, permute: str | Sequence[str] = (),
                seed: int = 0) -> Record:
    """Prunes the weights of a model in a file, as `sptcsim prune` does, and writes it to `out`.

    model: .safetensors, .safetensors.index.json or its directory, .npz, .npy or .onnx. out, masks: files, or None for
        the report alone. activations: inputs of the layers, which criterion "wanda" and "sparsegpt" need.
    pattern: "2:4", "6:8", "64:2:8", ... dtype: the type that tensor cores will execute. layout: "dense", "canonical",
        "ptx", "cutlass", "cutlass-sm90", "cutlass-sm90-k64", "cutlass-sm100", "pytorch", "pytorch-old", "marlin" or
        "sparse-24-bitmask"; convert_model() has more (sim/prune/README.md). layers, exclude, include, transposed:
        regular expressions; include: names to prune, too, that stay dense by custom (heads, routers, ...). k_axis:
        "last" or "1", of weights of three axes.
    permute: "report", "auto" or a rule "producer[,..]=consumer[,..]", or a list of them.
    Returns a Record with the names of `sptcsim prune --format json`. Raises InputError; then nothing is written, but for
    shards of a directory, which a second call takes.
    """
    if not isinstance(permute, (str, list, tuple)):
        raise InputError(f"permute must be a word or a list of words, not {type(permute).__name__}")
    rules = [permute] if isinstance(permute, str) else permute
    words = _checks.words(criterion=criterion, pattern=pattern, dtype=dtype, layout=layout, layers=layers, exclude=exclude,
                          include=include, transposed=transposed, k_axis=k_axis)
    paths = {"out": out, "masks": masks, "activations": activations}
    words.update({name: _checks.path(name, value) for name, value in paths.items() if value is not None})
    return record(_core.prune_model(_checks.path("model", model), words, [_checks.word("permute", rule) for rule in rules],
                                    _checks.integer("seed", seed, 0, 2**63 - 1)))


def convert_model(model: Path, out: Path, layout: str, *, dtype: str | None = None, layers: str | None = None,
                  exclude: str | None = None, include: str | None = None, transposed: str | None = None,
                  k_axis: str | None = None) -> Record:
    """Writes the 2:4 weights of a model in another layout, as `sptcsim convert` does. Arguments as of prune_model().

    layout: one of those, or "marlin-24", "pack-quantized", "int-quantized", "float-quantized", "nvfp4-pack-quantized",
        "modelopt-nvfp4", of weights that are quantised.

    Returns a Record with the names of `sptcsim convert --format json`. Raises InputError; then nothing is written.
    """
    words = _checks.words(layout=layout, dtype=dtype, layers=layers, exclude=exclude, include=include, transposed=transposed,
                          k_axis=k_axis)
    return record(_core.convert_model(_checks.path("model", model), _checks.path("out", out), words))


def permutation_search(a: Array, seed: int = 0) -> np.ndarray:
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
