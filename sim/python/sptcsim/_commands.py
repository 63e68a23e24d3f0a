# SPDX-License-Identifier: Apache-2.0
"""What the commands of the program do beside simulating: compare, validate, import, show, verify, legal, energy, ..."""
from __future__ import annotations

import json
import math
import os
import tempfile

from . import _checks, _core
from ._architecture import chosen
from ._core import InputError
from ._record import Record, record
from ._simulation import _dims, _extent, _given
from ._sweep import MOST_JOBS
from ._types import Any, Arch, Callable, Mapping, Option, Path, Progress, Sequence, Sparse

_MOST_MMA_EXTENT = 256


def _jobs(jobs):
    return _checks.count("jobs", jobs, MOST_JOBS) or os.cpu_count() or 1


def _number(what, value):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(f"{what} must be a finite number, not {value!r}")
    return float(value)


def _names(what, value):
    return [value] if isinstance(value, (str, os.PathLike)) or not hasattr(value, "__iter__") else list(value)


def _lists(what, given):
    """{"batch": 8, "seq": [128, 384]} with a list for every name."""
    given = _checks.mapping(what, given, "extents by their names")
    return {name: [_extent(name, value) for value in _names(what, values)] for name, values in given.items()}


def _ways(types, sparsity, tp, ep, options):
    """Lists of what a comparison of types tries, none without types: then the others are options, a value each."""
    given = {"sparsity": sparsity, "tp": tp, "ep": ep}
    if types is None:
        for name, value in given.items():
            if isinstance(value, (list, tuple)):
                raise InputError(f"{name} is a list only beside types")
            options[name] = value
        return {}
    ways = {"types": [_checks.word("types", name) for name in _names("types", types)]}
    if not ways["types"]:
        raise InputError("types names no operand type")
    for name, value in given.items():
        ways[name] = [] if value is None else [str(part) for part in _names(name, value)]
    return ways


def compare(workload: Path | Mapping[str, Any] | Record, archs: Arch | Sequence[Arch] = ("A100", "H100"), *,
            dims: Mapping[str, int | Sequence[int]] | None = None, types: str | Sequence[str] | None = None,
            sparsity: str | Sequence[str] | None = None, tp: int | Sequence[int] | None = None,
            ep: int | Sequence[int] | None = None, sparse: Sparse = None, jobs: int | None = None,
            progress: Progress | None = None, **options: Option) -> Record:
    """Simulates a workload on several GPUs and with several extents, side by side.

    workload: the path of a workload or of a recording, or the JSON object of a workload as a dict.
    archs: names of architectures(), files or Architecture objects.
    dims: values of its dimensions, one or several of each: {"batch": [1, 8, 64]}.
    types: operand types to compare end to end, as dtype has them: ["bf16", "e4m3", "w4a16"]. With them sparsity lists
        weights ("dense", "2:4": both unless it is given), tp and ep numbers of GPUs. Without, they are options of
        gemm().
    sparse, options: those of gemm(). jobs: points that are simulated at once, each in a process of its own; None: all
        processors.
    progress: called as progress(begun, total, board).
    Returns a Record: workload, operations (names), points (board, dims, total, operations with times in us, energies in
    uJ and powers in W). Of types it has types, decisions (what is best where) and, in each point, candidates. Raises
    InputError.
    """
    boards = [chosen(arch)._core for arch in _names("archs", archs)]
    if not boards:
        raise InputError("archs names no architecture")
    ways = _ways(types, sparsity, tp, ep, options)
    arguments = (boards, _lists("dims", dims), ways, _given(sparse, options), _jobs(jobs),
                 _checks.function("progress", progress))
    if not isinstance(workload, (dict, Record)):
        return record(_core.compare(_checks.path("a workload", workload), *arguments))
    with tempfile.TemporaryDirectory(prefix="sptcsim-") as directory:
        path = os.path.join(directory, "workload.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(_checks.json_text("workload", workload))
        return record(_core.compare(path, *arguments))


def compare_saved(results: Sequence[Path]) -> Record:
    """Sets saved results of gemm() and run() side by side.

    results: paths of two files or more, as 'sptcsim run --format json --out FILE' or json.dump(result.to_dict(), file)
        writes them.
    Returns a Record like that of compare(): a point for each file, whose dims is its name. Raises InputError.
    """
    paths = [_checks.path("a saved result", result) for result in results]
    if len(paths) < 2:
        raise InputError("compare_saved takes two results or more")
    return record(_core.compare_saved(paths))


def validate(measurements: Path, *, arch: Path | None = None, dtype: str = "f16", sparse: bool = False, data: str = "random",
             jobs: int | None = None, progress: Progress | None = None, **options: Option) -> Record:
    """Simulates measured GEMMs and compares the times.

    measurements: the path of a CSV with the columns m, n, k, time_us_median and more ('sptcsim validate --help'), or of a
        recording with times.
    arch: None takes the GPU that a recording names, else the A100.
    dtype, sparse, data: of rows that do not say them: the type of the operands, whether A is 2:4, the operand values.
    options: those of options() that the command has, for example clock="boost", l2="warm", fidelity="analytic", which is
        that of more than 50 rows unless it is given. jobs: processes; None: all processors.
    progress: called as progress(done, total, "").
    Returns a Record: count, mape_percent, bias_percent, by, worst, ... Raises InputError.
    """
    board = "" if arch is None else _checks.path("arch", arch)
    return record(_core.validate(_checks.path("a file of measurements", measurements), board, _checks.word("dtype", dtype),
                                  _checks.switch("sparse", sparse), _checks.word("data", data), _given(None, options),
                                  _jobs(jobs), _checks.function("progress", progress)))


def plan_model(model: Path, *, workload: Path | None = None, arch: Arch = "A100", dims: Mapping[str, int] | None = None,
               inputs: Mapping[str, Sequence[int]] | None = None, activations: Path | None = None,
               criterion: str = "magnitude", layers: str | None = None, exclude: str | None = None,
               transposed: str | None = None, evaluate: str | None = None, metric: str = "higher", timeout: float = 600,
               jobs: int | None = None, max_loss: float | None = None, max_time: float | None = None,
               min_gain: float | None = None, out: Path | None = None,
               progress: Callable[[int, int, str], object] | None = None, **options: Option) -> Record:
    """Says which layers of a model to prune: what each loses and saves, and the best sets of them.

    model: .onnx; with `workload`, a file whose operations are called as the tensors or a config.json of Hugging Face,
        also .safetensors, its index or directory, .npz or .npy. dims, inputs: those of load_workload().
    activations, criterion, layers, exclude, transposed: those of prune_model().
    evaluate: a command that gets the path of a model as {} or in SPTCSIM_MODEL and prints a number on its last line, for
        the model and for each layer pruned alone; `metric` says whether "higher" or "lower" is better. timeout: seconds
        of one evaluation. jobs: models that are evaluated at once; None: all processors.
    max_loss, max_time (us), min_gain: at most one of them, which chooses a plan. out: a file for its list of layers, which
        prune_model(layers="@FILE") and run(sparsity=FILE) take.
    progress: called as progress(done, total, ""). options: those of gemm(); fidelity is "analytic".
    Returns a Record with the names of `sptcsim plan --format json`. Raises InputError; then nothing is written.
    """
    texts = _checks.words(criterion=criterion, layers=layers, exclude=exclude, transposed=transposed, evaluate=evaluate,
                          metric=metric)
    paths = {"workload": workload, "activations": activations, "out": out}
    texts.update({name: _checks.path(name, value) for name, value in paths.items() if value is not None})
    limits = {"max_loss": max_loss, "max_time": max_time, "min_gain": min_gain}
    numbers = {name: _number(name, value) for name, value in {**limits, "timeout": timeout}.items() if value is not None}
    if out is not None and not any(name in numbers for name in limits):
        raise InputError("out is a list of the layers of one plan: max_loss, max_time or min_gain chooses it")
    extents = {name: _extent(name, value) for name, value in (dims or {}).items()}
    return record(_core.plan_model(_checks.path("model", model), chosen(arch)._core, texts, numbers, extents,
                                    _lists("inputs", inputs), _jobs(jobs),
                                    _given(None, {"fidelity": "analytic", **options}),
                                    _checks.function("progress", progress)))


def load_workload(file: Path, *, dims: Mapping[str, int] | None = None, inputs: Mapping[str, Sequence[int]] | None = None,
                  convention: str = "weight-first", tf32: bool = False, strict: bool = False) -> Record:
    """Reads a workload, or what another program recorded: the command 'import'.

    file: a workload (.json, .csv), a profile, a log or a model; recognised by content (traces/README.md).
    dims: values of its dimensions, {"batch": 8}. inputs: extents of the inputs of an ONNX model, {"x": (1, 3, 224, 224)}.
    convention: what m of a CSV counts: "weight-first" (features) or "tokens-first" (as PyTorch).
    tf32: f32 GEMMs whose kernel is not recorded run as TF32. strict: a launch that is not taken is an error.
    Returns a Record: workload (the JSON object that run() takes) and account (what was taken and what was not).
    Raises InputError.
    """
    text, account = _core.load_workload(_checks.path("a workload", file), _dims(dims), _lists("inputs", inputs),
                                        _checks.word("convention", convention), _checks.switch("tf32", tf32),
                                        _checks.switch("strict", strict))
    return Record({"workload": json.loads(text), "account": account})


def show(instruction: str, *, arch: Path = "A100", row: int = 0, col: int = 0, selector: int = 0, data: str = "random",
         seed: int = 0) -> Record:
    """Takes one element of D of one matrix instruction apart: metadata, selected operands, sum, rounding.

    instruction: a PTX name, whole or in part: "mma.sp.m16n8k32.f32.f16.f16.f32". arch: a board, whose cycles are in the
    result, too, or a target ("sm_80", "ampere"). row, col: of D. selector: of mma.sp, 0 to 3: which lanes of a quad hold
    the metadata. data, seed: operand values, "random", "integers", "zeros" or "relu".
    Returns a Record with the keys of 'sptcsim show --format json'. Raises InputError.
    """
    return record(_core.show(_checks.word("instruction", instruction), _checks.path("arch", arch),
                              _checks.integer("row", row, 0, _MOST_MMA_EXTENT),
                              _checks.integer("col", col, 0, _MOST_MMA_EXTENT),
                              _checks.integer("selector", selector, 0, 3), _checks.word("data", data),
                              _checks.integer("seed", seed, 0, 2**64 - 1)))


def legal(*what: int | Path, arch: Path = "A100", dtype: str | None = None) -> Record:
    """Which shapes libraries take for 2:4 weights, and the nearest that they do.

    legal(m, n, k): one product with weights of m x k. legal(path): the layers of a model in a file, whose n is not known.
    arch: a board, or a target of matrix instructions ("sm_90"). dtype: the type that is executed: "f16", "bf16", "tf32",
        "e4m3", "e5m2", "s8" or "s4"; None: that of each tensor, float32 as tf32, and of m, n, k "f16".
    Returns a Record: target, shapes, each with libraries: library, accepts, reason, nearest, ... Raises InputError.
    """
    if len(what) == 3:
        model, extents = "", [_extent(name, value) for name, value in zip("mnk", what)]
    elif len(what) == 1:
        model, extents = _checks.path("a model", what[0]), [0, 0, 0]
    else:
        raise InputError(f"legal takes a model, or m, n and k, not {len(what)} arguments")
    return record(_core.legal(model, *extents, _checks.path("arch", arch),
                              "" if dtype is None else _checks.word("dtype", dtype)))


def crosscheck_capture(directory: Path, *, arch: Path | None = None, fidelity: str = "analytic", profile: str = "hardware",
                       threads: int | None = None) -> Record:
    """Compares a capture of a GPU with the simulator: words bit for bit, and times beside simulated ones.

    directory: a capture (tests/hardware/CAPTURE.md). arch: whose times are simulated; None goes by the name of the GPU.
    fidelity: of the GEMMs, "analytic" or "timing". profile: "hardware" or "mma-sim": whose rounding rules count.
    threads: of the host; None: all processors.
    Returns a Record with the keys of 'sptcsim crosscheck DIR --format json'. Raises InputError.
    """
    threads = _checks.count("threads", threads, 4096) or os.cpu_count() or 1
    board = "" if arch is None else _checks.path("arch", arch)
    return record(_core.crosscheck_capture(_checks.path("a capture", directory), board, _checks.word("fidelity", fidelity),
                                           _checks.word("profile", profile), threads))


def verify(directory: Path, *, profile: str = "hardware") -> Record:
    """Computes test vectors of matrix instructions and compares every bit.

    directory: array sets, in any subdirectory. profile: "hardware" or "mma-sim": whose rounding rules count.
    Returns a Record: sets with their elements and mismatches. Raises InputError.
    """
    return record(_core.verify(_checks.path("a directory", directory), _checks.word("profile", profile)))


def microbench(arch: Arch = "A100", instruction: str = "", *, warps: int | None = None, ilp: int | None = None) -> Record:
    """Simulates latency and throughput of instructions on one SM.

    instruction: a name as 'sptcsim microbench --help' explains; "" takes all rows that are published for the generation.
    warps, ilp: warps on the SM, and chains of dependent instructions per warp; None takes those of the published rows.
    Returns a Record: arch, rows with latency_cycles, fma_per_clk_per_sm, bytes_per_clk_per_sm. Raises InputError.
    """
    warps = _checks.count("warps", warps, _core.MOST_WARPS) or None
    ilp = _checks.count("ilp", ilp, _core.MOST_ILP) or None
    return record(_core.microbench(chosen(arch)._core, _checks.word("instruction", instruction), warps, ilp))


def energies() -> list[str]:
    """Names of the boards whose energies are known."""
    return _core.energy_names()


def energy(name: Path) -> list[Record]:
    """Every number of an energy file: records with pointer, value, low, high, node_nm, scale, evidence, source.

    name: one of energies(), a file, or the file of an architecture that is derived from a board. `low` and `high` say
    where the truth may lie; `scale` carries `value` from the process `node_nm` to that of the board. Raises InputError.
    """
    return record(_core.energy(_checks.path("an energy file", name))).parameters


def energy_area(arch: Arch = "A100") -> Record:
    """The coarse silicon of a tensor core and of a GPU: arrays and arithmetic, no wiring.

    arch: as gemm() takes it; a design takes the energies of the board that it is derived from.
    Returns a Record: core_um2 (by part), sparse_overhead_percent, gpu_mm2, each with value, low and high, which have all
    numbers of the energy file at that end of their ranges. Raises InputError.
    """
    return record(_core.energy_area(chosen(arch)._core))
