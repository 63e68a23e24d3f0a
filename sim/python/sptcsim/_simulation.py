# SPDX-License-Identifier: Apache-2.0
"""Time and energy: one GEMM, a workload, and what they return."""
from __future__ import annotations

import difflib
import functools
import html
import json
import os

from . import _checks, _core
from ._architecture import chosen
from ._core import InputError
from ._record import Record, frame, table
from ._types import Any, Arch, Mapping, Option, Path, Progress, Sparse

_VARIANTS = ("dense", "sparse")


class _Lazy(Record):
    """A Record whose values are made when somebody asks for them."""

    __slots__ = ("_make",)

    def __init__(self, make):
        super().__init__(None)
        object.__setattr__(self, "_make", make)

    def to_dict(self):
        """Everything, as a dict."""
        if self._values is None:
            object.__setattr__(self, "_values", self._make())
        return self._values


class Result(_Lazy):
    """What simulated operations took. Attributes have the names of `sptcsim run --format json`.

    operations (a list), totals, arch, fidelity, options, notes, assumed. An operation has name, m, n, k, batch, count,
    dtype, and per variant, `dense` and `sparse`, cycles, time_us, tflops, clock_mhz, power_w, energy_uj, kernel, ...
    """

    __slots__ = ("_run",)

    def __init__(self, run, arch):
        super().__init__(lambda: json.loads(run.json(arch)))
        object.__setattr__(self, "_run", run)

    def rows(self) -> list[dict[str, Any]]:
        """One dict for each operation and variant that was simulated: extents, variant, and all figures of it."""
        rows = []
        for operation in self.to_dict()["operations"]:
            common = {key: value for key, value in operation.items() if not isinstance(value, (dict, list))}
            rows += [{**common, "variant": variant, **operation[variant]} for variant in _VARIANTS
                     if operation.get(variant)]
        return rows

    def to_pandas(self) -> Any:
        """rows() as a pandas.DataFrame; objects inside become columns such as "kernel.stages"."""
        return frame(self.rows())

    def __repr__(self):
        values = self.to_dict()
        totals = values["totals"]
        times = ", ".join(f"{v} {totals[v]['time_us']:.4g} us" for v in _VARIANTS if totals.get(v))
        speedup = f", speed-up {totals['speedup']:.3f}" if totals.get("speedup") else ""
        return f"{type(self).__name__}({values['workload']} on {values['arch']}: {times}{speedup})"

    def _repr_html_(self):
        rows = []
        for operation in self.to_dict()["operations"]:
            times = [f"{operation[v]['time_us']:.4g}" if operation.get(v) else "" for v in _VARIANTS]
            speedup = operation.get("speedup")
            rows.append([operation["name"], operation["m"], operation["n"], operation["k"], *times,
                         f"{speedup:.3f}" if speedup else ""])
        head = ("operation", "m", "n", "k", "dense us", "2:4 us", "speed-up")
        return f"<b>{html.escape(repr(self))}</b>{table(head, rows)}"


class Variant(_Lazy):
    """Figures of one GEMM, dense or with pruned weights. Single numbers come without the JSON of all."""

    __slots__ = ("_figures",)

    def __init__(self, figures, make):
        super().__init__(make)
        object.__setattr__(self, "_figures", figures)

    def __getattr__(self, name):
        value = self._figures.get(name)
        return value if value is not None else super().__getattr__(name)


class GemmResult(Result):
    """A Result of one GEMM: `dense`, `sparse` and `speedup` are those of its operation."""

    __slots__ = ()

    def _operation(self):
        return self.to_dict()["operations"][0]

    def _variant(self, name):
        figures = self._run.figures(name == "sparse")
        if figures is None or (not figures and self._operation().get(name) is None):
            return None
        return Variant(figures, lambda: self._operation()[name])

    @property
    def dense(self) -> Record | None:
        """Figures of the dense GEMM; None where it was not simulated."""
        return self._variant("dense")

    @property
    def sparse(self) -> Record | None:
        """Figures of the GEMM with pruned weights; None where it was not simulated."""
        return self._variant("sparse")

    @property
    def speedup(self) -> float | None:
        """dense / sparse time; None unless both were simulated."""
        quick = self._run.speedup()
        return quick if quick is not None else self._operation().get("speedup")


@functools.lru_cache(maxsize=1)
def _options():
    return {row["name"].replace("-", "_"): row for row in _core.options()}


def options() -> list[Record]:
    """The options of gemm() and run(): records with name, type, help, affects, default."""
    return [Record({**row, "name": name}) for name, row in _options().items()]


@functools.lru_cache(maxsize=1)
def _figures():
    return _core.figures()


def figures() -> list[Record]:
    """What results hold: records with name, of ("operation" or "variant"), unit, meaning.

    A name such as "kernel.stages" is the attribute `result.operations[0].dense.kernel.stages`. Units are "us", "uJ",
    "W", "MHz", "cycles", "bytes", ...; "" stands for ratios, words and numbers of things.
    """
    return [Record(row) for row in _figures()]


def _text(name, value):
    """An option as the command line writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if value != value:
            raise InputError(f"{name} must not be NaN")
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, (tuple, list)) and all(isinstance(part, int) for part in value):
        return "x".join(map(str, value))  # tile=(128, 128, 32)
    raise InputError(f"{name} must be a number, a word, True or False, not {type(value).__name__}")


def _given(sparse, options):
    """Options by the names of the table, as text."""
    given = {}
    for name, value in options.items():
        row = _options().get(name)
        if row is None:
            near = difflib.get_close_matches(name, _options(), 1)
            hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(_options())}"
            raise InputError(f"unknown option '{name}'; {hint}")
        if value is not None:
            given[row["name"]] = _text(name, value)
    if sparse is not None:
        if "variants" in given:
            raise InputError("sparse and variants both say which weights to simulate: give one")
        if isinstance(sparse, str):
            given["pattern"] = sparse
        else:
            given["variants"] = "sparse" if _checks.switch("sparse, where it is no pattern,", sparse) else "dense"
    return given


def _extent(name, value):
    return _checks.integer(name, value, 1, _core.MOST_EXTENT)


def _simulated(workload, arch, sparse, explain, what_ifs, progress, options):
    """What the extension module makes of it, and the architecture that it takes."""
    architecture = chosen(arch)._core
    return _core.simulate(workload, architecture, _given(sparse, options), _checks.switch("explain", explain),
                          _checks.switch("what_ifs", what_ifs), _checks.function("progress", progress)), architecture


def gemm(m: int, n: int, k: int, *, dtype: str | None = None, sparse: Sparse = None, arch: Arch = "A100", batch: int = 1,
         explain: bool = False, what_ifs: bool = True, progress: Progress | None = None, **options: Option) -> GemmResult:
    """Simulates D[m, n] = A[m, k] B[k, n]; A is the weight.

    m, n, k, batch: elements, and independent GEMMs in one launch.
    dtype: "f16" (the default), "bf16", "tf32", "e4m3", "s8", "s4", "nvfp4", "mxfp8", "mxfp4", ...
    sparse: None simulates dense weights and the same at the hardware's pattern; False or True one of them; a pattern
        ("2:8", "64:2:8") replaces the hardware's.
    arch: a name of architectures(), an alias, a file, or an Architecture.
    explain: True adds what twice of each resource would gain, and where the joules go.
    what_ifs: False leaves `bound_by` away and makes a closed form several times quicker.
    progress: called as progress(done, total, next) before each operation and at the end.
    options: those of options(), for example fidelity="analytic" (a closed form, about 0.1 ms, in this process) or
        "timing" (the default; SystemC in a worker process), clock="boost", l2="warm", check="none",
        weight_dtype="s4".
    Returns a GemmResult: times in us, energies in uJ, powers in W, clocks in MHz, traffic in bytes.
    Raises InputError.
    """
    workload = _core.one_gemm(_extent("m", m), _extent("n", n), _extent("k", k), _extent("batch", batch))
    if dtype is not None:
        options["dtype"] = dtype
    return GemmResult(*_simulated(workload, arch, sparse, explain, what_ifs, progress, options))


def _dims(dims):
    dims = _checks.mapping("dims", dims, "extents by their names")
    return {name: _extent(name, value) for name, value in dims.items()}


def _workload(workload, dims):
    dims = _dims(dims)
    if isinstance(workload, (str, os.PathLike)):
        return _core.read_workload(os.fspath(workload), dims)
    if isinstance(workload, (dict, Record)):
        return _core.parse_workload(_checks.json_text("workload", workload), dims)
    raise InputError(f"a workload is the path of a file or the object of its JSON, not {type(workload).__name__}")


def run(workload: Path | Mapping[str, Any] | Record, *, dims: Mapping[str, int] | None = None, sparse: Sparse = None,
        arch: Arch = "A100", explain: bool = False, what_ifs: bool = True, progress: Progress | None = None,
        **options: Option) -> Result:
    """Simulates every operation of a workload.

    workload: the path of a .json or .csv file (traces/README.md), or the JSON object, a dict or load_workload().workload.
    dims: values of its dimensions in place of their defaults, for example {"batch": 8}.
    Everything else is that of gemm(). Returns a Result. Raises InputError.
    """
    return Result(*_simulated(_workload(workload, dims), arch, sparse, explain, what_ifs, progress, options))
