# SPDX-License-Identifier: Apache-2.0
"""Bits: matrix instructions, whole GEMMs, whose arithmetic made D, and the diagnosis of a kernel."""
from __future__ import annotations

import functools
import json
import os
import tempfile

import numpy as np

from . import _arrays, _checks, _core
from ._architecture import loaded, target_word
from ._core import InputError
from ._record import record, wrap
from ._sparsity import Compressed, Metadata, decompress, layout_name
from ._types import Any, Arch, Array, Mapping, Path, Sparse


@functools.lru_cache(maxsize=4096)
def _instruction(name):
    return json.loads(_core.instruction(name))


def instructions(arch: Arch) -> list[Record]:
    """The matrix instructions of a target.

    arch: "sm_80", "ampere", "A100", or a name of architectures().
    Returns a list of records: name, m, n, k, a_type, b_type, c_type, d_type, sparse, block_scaled, scale_type ("ue8m0",
    "ue4m3") and scale_block (elements that share a scale; both None without scales), max_n, sass, software (a routine
    of several instructions), speed_warning (of a spelling that is slow, else "") and rules (as step_rules(); None where the arithmetic is not known).
    Raises InputError.
    """
    (target,) = json.loads(_core.instructions(target_word(arch)))["targets"]
    return wrap(target["instructions"])


def step_rules(instruction: str, arch: Arch = "A100", grouping: str = "H1", profile: str = "hardware") -> Record:
    """The arithmetic of an instruction: one step adds `products_per_step` products and the accumulator.

    instruction: a PTX name, whole ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") or its shape and types.
    grouping: what a sparse step counts, stored elements ("H1") or logical k ("H2").
    profile: "hardware", or "mma-sim" for the words of MMA-Sim.
    Returns a record: products_per_step, fraction_bits, rounding, exponent_floor, output, cleared_output_bits,
    lowered_fp8, zero_rule, scaled_window (of mxf4 and mxf4nvf4), evidence, source. Raises InputError.
    """
    return record(_core.step_rules(target_word(arch), _checks.word("an instruction", instruction),
                                              _checks.word("grouping", grouping), _checks.word("profile", profile)))


def _kept(a, metadata):
    """The kept elements of A and their metadata: both of a Compressed."""
    return (a.values, a.metadata() if metadata is None else metadata) if isinstance(a, Compressed) else (a, metadata)


def _require_depths(instruction, kind, a, b):
    """Refuses operands whose K are not those of one product, and says which of them is wrong."""
    rows, columns = (np.shape(b)[-2], a.shape[-1]) if np.ndim(b) >= 2 else (0, 0)
    if kind["sparse"] and rows == columns:
        raise InputError(f"A: {instruction} is sparse and takes the kept elements of A, [M, K/2], with metadata, not all "
                         f"{columns} of a row: give compress(A)")
    if not kind["sparse"] and rows == 2 * columns and kind["a_type"] != "b1":
        raise InputError(f"A: {instruction} is dense and takes all {rows} elements of a row of A, not {columns}")


def _operands(first, named):
    """Arrays as bits with three axes, and whether they had two. `named`: what, array, type."""
    axes = first.ndim
    if axes not in (2, 3):
        raise InputError(f"A must have 2 axes, or 3 with the case first, not the shape {list(first.shape)}")
    arrays = []
    for what, array, name in named:
        if array is None and what in ("A", "B"):
            raise InputError(f"{what} is missing")
        if array is None:
            arrays.append(None)
            continue
        array = _arrays.packed(_arrays.bits(_arrays.as_numpy(array, what), what, name, axes))
        arrays.append(array if axes == 3 else array[None])
    return arrays, axes == 2


def _metadata_bits(metadata, layout, selector, single):
    if metadata is None:
        return None, "canonical", 0
    if isinstance(metadata, Metadata):
        if metadata.layout in ("nibbles", "marlin"):
            metadata = metadata.convert("canonical")
        metadata, layout, selector = metadata.words, metadata.layout, metadata.selector
    layout = layout_name(layout)
    words = _arrays.as_numpy(metadata, "metadata")
    if words.dtype.kind not in "iu":
        raise InputError(f"metadata: elements must be integers, not {words.dtype}")
    words = _arrays.packed(words.view(f"u{words.itemsize}"))
    _checks.integer("selector", selector, 0, 3)
    return (words[None] if single else words), layout, selector


def mma(instruction: str, a: Array, b: Array, c: Array | None = None, metadata: Metadata | Array | None = None, *,
        arch: Arch = "A100", layout: str = "canonical", selector: int = 0, grouping: str = "H1", profile: str = "hardware",
        a_scales: Array | None = None, b_scales: Array | None = None) -> np.ndarray:
    """D = A B + C of one matrix instruction, bit for bit as the tensor core of `arch` computes it.

    instruction: a PTX name, as step_rules() takes it.
    a, b, c: [M, K], [K, N], [M, N], or a batch with the case as first axis. Sparse: A holds the kept elements,
        [M, K/2], or is what compress() returned. Elements have the type of the instruction (tf32: float32; 4-bit types: one element per byte; b1:
        eight per byte, [M, K/8]) or are its bits as unsigned integers. M may be less than the instruction's; K may be
        any multiple of its depth. c=None: zeros.
    metadata: places of the elements of a sparse A: Metadata, or integers in `layout` ("canonical", "cutlass",
        "ptx", "indices": the logical k of every element of A). selector: of ptx.
    a_scales, b_scales: bytes [M, K/block], [K/block, N] of block-scaled instructions, of the instruction's scale_type;
        block is its scale_block, and K counts elements of A as given, the kept ones where sparse. ue4m3 scales may be
        float8_e4m3fn.
    Returns D in the accumulator's type. Raises InputError.
    """
    kind = _instruction(_checks.word("an instruction", instruction))
    if isinstance(a, Compressed) and not kind["sparse"]:
        raise InputError(f"A is Compressed, and {instruction} is dense: give decompress(A)")
    a, metadata = _kept(a, metadata)
    first = _arrays.as_numpy(a, "A")
    if b is not None:
        _require_depths(instruction, kind, first, _arrays.as_numpy(b, "B"))
    scale = "e4m3" if kind["scale_type"] == "ue4m3" else "u8"
    (a, b, c, a_scales, b_scales), single = _operands(
        first, (("A", first, kind["a_type"]), ("B", b, kind["b_type"]), ("C", c, kind["c_type"]),
                ("the scales of A", a_scales, scale), ("the scales of B", b_scales, scale)))
    metadata, layout, selector = _metadata_bits(metadata, layout, selector, single)
    d, out = _arrays.result((a.shape[0], a.shape[1], b.shape[2]), kind["d_type"])
    _core.mma(target_word(arch), instruction, _checks.word("grouping", grouping), _checks.word("profile", profile), a, b, c,
              metadata, layout, selector, a_scales, b_scales, out)
    return d[0] if single else d


def identify(a: Array, b: Array, c: Array | None, d: Array, metadata: Metadata | Array | None = None, *,
             layout: str = "canonical", selector: int = 0, profile: str = "hardware") -> Record:
    """Whose arithmetic made D: tries every instruction of every architecture whose operands may have these sizes.

    a, b, c, d: as mma() takes and returns them; c=None: zeros. Types are not looked at, element sizes are.
    Returns a record: elements, candidates, matches (each with arch, instruction, sass, grouping, evidence, matching),
    nearest (where none matches). Raises InputError where no instruction fits the arrays.
    """
    a, metadata = _kept(a, metadata)
    named = []
    for what, array in (("A", a), ("B", b), ("C", c), ("D", d)):
        if array is None and what == "C":
            named.append((what, None, None))
            continue
        array = _arrays.as_numpy(array, what)
        size = {1: "u8", 2: "f16", 4: "f32", 8: "f64"}.get(array.itemsize)
        if size is None:
            raise InputError(f"{what}: elements of {array.itemsize} bytes are no operands")
        named.append((what, array.view(f"u{array.itemsize}"), size))
    (a, b, c, d), single = _operands(named[0][1], named)
    metadata, layout, selector = _metadata_bits(metadata, layout, selector, single)
    return record(_core.identify(a, b, c, d, metadata, layout, selector, _checks.word("profile", profile)))


_ACCUMULATOR = {"f64": "f64", "s8": "s32", "u8": "s32", "s4": "s32", "u4": "s32", "b1": "s32"}


def _is_sparse(sparse, name):
    """Whether `sparse` (False, None, True, "2:4") asks for the pattern of the hardware."""
    if sparse is False or sparse is None or isinstance(sparse, str) and sparse == "dense":
        return False
    pattern = _core.pattern(name)["name"]
    if sparse is not True and not (isinstance(sparse, str) and sparse == pattern):
        raise InputError(f"sparse must be False, True or \"{pattern}\" for {name}, not {sparse!r}")
    return True


def matmul(a: Array, b: Array, c: Array | None = None, *, arch: Arch = "A100", sparse: Sparse = False,
           dtype: str | None = None, d_dtype: str | None = None, split_k: int = 1, threads: int | None = None) -> np.ndarray:
    """D = A B + C as the GEMM kernels of `arch` compute it (wgmma on H100, tcgen05.mma on B200, else mma.sync): steps in
    increasing k, the accumulator rounded each time.

    a, b, c: [m, k], [k, n], [m, n] with extents of at least 1; any strides. c has the accumulator's type; None: zeros.
    arch: a name of architectures(), an alias ("A100"), a file, or an Architecture.
    sparse: True (or "2:4") runs the sparse instructions. A is then a matrix that obeys the pattern, as prune() makes
        it, or what compress() returned; one that does not is refused with row and group.
    dtype: operand type ("f16", "tf32", ...) where the array does not say it: float32 is tf32, whose low bits
        the instructions ignore.
    d_dtype: type of D, rounded to nearest even; None: the accumulator's, f32 (integers: s32, f64: f64).
    split_k: slices of K with an accumulator each. threads: of the host; None: all processors.
    Returns D [m, n]. Raises InputError.
    """
    if isinstance(a, Compressed):
        if sparse is False or sparse is None:
            raise InputError("A is Compressed: sparse=True runs it, decompress(A) is the dense matrix")
        a, dtype = decompress(a), dtype or a.dtype
    a = _arrays.as_numpy(a, "A")
    b = _arrays.as_numpy(b, "B")
    name = dtype or _arrays.operand_type(a, "A")
    a = _arrays.bits(a, "A", name, 2)
    b = _arrays.bits(b, "B", name, 2)
    if a.shape[1] != b.shape[0]:
        raise InputError(f"A is {list(a.shape)} and B is {list(b.shape)}: the columns of A must be the rows of B")
    accumulator = _ACCUMULATOR.get(name, "f32")
    if c is not None:
        c = _arrays.bits(_arrays.as_numpy(c, "C"), "C", accumulator, 2)
        if c.shape != (a.shape[0], b.shape[1]):
            raise InputError(f"C must be {[a.shape[0], b.shape[1]]}, not {list(c.shape)}")
    threads = _checks.count("threads", threads, 4096)
    split_k = _checks.integer("split_k", split_k, 1, 2**31 - 1)
    d_type = d_dtype or accumulator
    if d_type != accumulator and (accumulator != "f32" or d_type not in ("f16", "bf16")):
        raise InputError(f"d_dtype must be {'f32, f16 or bf16' if accumulator == 'f32' else accumulator} for {name}, "
                         f"not {d_dtype!r}")
    d, out = _arrays.result((a.shape[0], b.shape[1]), d_type)
    _core.matmul(loaded(arch), name, _is_sparse(sparse, name), a, b, c, d_type, split_k, threads, out)
    return d


def _kernel_entry(key, entry, directory):
    """The JSON of an operand of a kernel, its array in a file of `directory`."""
    if isinstance(entry, Metadata):
        if entry.layout in ("nibbles", "marlin"):
            entry = entry.convert("canonical")
        selector = {"selector": entry.selector} if entry.layout == "ptx" else {}
        entry = {"array": entry.words, "layout": entry.layout, **selector}
    entry = dict(entry) if isinstance(entry, dict) else {"array": entry}
    if "layout" in entry:
        entry["layout"] = layout_name(entry["layout"])
    if "array" not in entry:
        if "file" in entry:
            entry["file"] = os.path.abspath(_checks.path(f"the file of {key}", entry["file"]))
        return entry, None
    array = _arrays.as_numpy(entry.pop("array"), key.upper() if len(key) == 1 else key)
    name = _arrays.known_type(array)
    if key in ("c", "d") and name == "bf16":  # NumPy's files have no such type
        entry.setdefault("type", name)
    entry["file"] = _save(array, os.path.join(directory, key + ".npy"))
    return entry, name


def _save(array, path):
    if array.dtype.kind == "V":  # a type of ml_dtypes
        array = array.view(f"u{array.itemsize}")
    np.save(path, np.ascontiguousarray(array))
    return os.path.basename(path)


def crosscheck(kernel: Path | Mapping[str, Any], threads: int | None = None, *, d: Path | Array | None = None,
               launch: str | None = None, entry: int | None = None, html: Path | None = None, tolerance: str | None = None,
               arch: Arch | None = None, instruction: str | None = None, k_order: str | None = None) -> Record:
    """Why and where a kernel's D differs: computes it as declared, compares every word, looks for what explains the rest.

    kernel: the object of a kernel file (schema sptcsim-kernel/0.1), in which "a", "b", "c", "d" and "metadata" are
    arrays, or objects with the array under "array" beside "order", "type", "layout", "selector", "prune". "file" (.npy,
    .npz, .safetensors) and "tensor", a name in it, may stand for "array":

        {"architecture": "A100", "a": a, "b": {"array": b, "order": "column"}, "d": d, "k_order": {"split_k": 2}}

    "instruction", or "types" of a, b and the accumulator, may be left out where the arrays say the types. "sparse": True
    runs the sparse instructions: A is a matrix that obeys the pattern, what compress() returned, or its kept elements
    beside "metadata", which may be Metadata. D and C are f32 (integers: s32), f16 or bf16.

    Or kernel is the path of a kernel file, or of the .npz that save_operands= of gemm() and run() wrote. Of a file, d is
    the D of the kernel (an array, or the path of a .npy, .npz or .safetensors file), launch names one of several
    launches, and entry one GEMM of a batch. html: the path of a page to write, with a map of D.

    tolerance: by how much an element may be off, "ulps:4" (units of the last place) or "rel:1e-6" (of its sum of |a||b|).
    arch, instruction, k_order: instead of what the kernel says; k_order is "split_k=3,reduction=parallel".
    Returns a record with the keys of `sptcsim crosscheck --kernel --format json`. Raises InputError.
    """
    threads = _checks.count("threads", threads, 4096)
    html = os.fspath(html) if html is not None else ""
    words = _checks.words(tolerance=tolerance, arch=None if arch is None else target_word(arch), instruction=instruction,
                          k_order=k_order)
    if isinstance(kernel, (str, os.PathLike)):
        return _crosscheck_file(os.fspath(kernel), threads, d, entry, html, {**words, **_checks.words(launch=launch)})
    if not isinstance(kernel, dict):
        raise InputError(f"a kernel is a dict or the path of a file, not {type(kernel).__name__}")
    for name, value in (("d", d), ("launch", launch), ("entry", entry)):
        if value is not None:
            raise InputError(f"{name}= needs a kernel file: a dict names it itself")
    document = {"schema": "sptcsim-kernel/0.1", **kernel}
    a = document.get("a")
    a = a if isinstance(a, dict) else {"array": a}
    compressed = a.get("array")
    if isinstance(compressed, Compressed):
        values, document["metadata"] = _kept(compressed, document.get("metadata"))
        document["a"] = {**a, "array": values}
        if "instruction" not in document:
            document.setdefault("sparse", True)
    types = {}
    with tempfile.TemporaryDirectory(prefix="sptcsim-") as directory:
        for key in ("a", "b", "c", "d", "metadata"):
            if document.get(key) is None:
                document.pop(key, None)
            else:
                document[key], types[key] = _kernel_entry(key, document[key], directory)
        epilogue = document.get("epilogue")
        if isinstance(epilogue, dict) and epilogue.get("bias") is not None:
            bias, _ = _kernel_entry("bias", epilogue["bias"], directory)
            document["epilogue"] = {**epilogue, "bias": bias}
        if isinstance(compressed, Compressed):
            types["a"] = compressed.dtype
        if "types" not in document and "instruction" not in document and types.get("a") and types.get("b"):
            document["types"] = {"a": types["a"], "b": types["b"]}
        return record(_core.crosscheck(_checks.json_text("kernel", document), directory, words, threads, html))


def _crosscheck_file(file, threads, d, entry, html, words):
    entry = None if entry is None else _checks.integer("entry", entry, 0, 2**24)
    with tempfile.TemporaryDirectory(prefix="sptcsim-") as directory:
        if d is not None and not isinstance(d, (str, os.PathLike)):
            path = os.path.join(directory, "d.npy")
            _save(_arrays.as_numpy(d, "D"), path)
            d = path
        if d is not None:
            words["d"] = os.fspath(d)
        return record(_core.crosscheck_file(file, words, entry, threads, html))
