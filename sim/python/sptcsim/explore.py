# SPDX-License-Identifier: Apache-2.0
"""Searches in the space of a sweep: the Pareto front, and what each axis matters.

front(spec): points on the Pareto front, which Optuna searches. A point is on the front where no other one is at least as
good in every objective and better in one. sensitivity(spec): the share of a figure's variance that each axis explains, by
SALib. hypercube(axes, n): points spread evenly, by SciPy.
spec is that of sptcsim.sweep(), with one workload. An axis with "random" stands here for its whole interval, whatever
its count. Points are evaluated as sweep() does, by default in closed form. `pip install sptcsim[explore]` brings the
packages; a function whose package is missing raises ImportError.
"""
from __future__ import annotations

import importlib
import itertools
import json
import math
import os
import random
import re
import tempfile

from . import _checks, _core
from ._core import InputError
from ._record import Record
from ._sweep import MOST_JOBS, SweepResult, _read, _spec
from ._types import Any, Mapping, Sequence, Spec

__all__ = ["front", "hypercube", "sensitivity"]

_BATCH = 16  # points that Optuna chooses at a time
_TARGETS = ("parameter", "option", "dim", "arch")


def _package(name):
    """The module `name` of a package that not everybody has."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"sptcsim.explore needs the package {name.partition('.')[0]}: pip install sptcsim[explore]") from None


def _number(value):
    """A whole number as an int: parameters that count refuse 54.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _expanded(axis):
    """The values of an axis; None where it has an interval."""
    if "values" in axis:
        values = list(axis["values"])
        return sorted(values) if all(isinstance(v, (int, float)) for v in values) else values
    if "range" not in axis:
        return None
    first, last = axis["range"]["from"], axis["range"]["to"]
    step, factor = axis["range"].get("step"), axis["range"].get("factor")
    steps = (last - first) / step if step else math.log(last / first) / math.log(factor)
    return [_number(first + i * step if step else first * factor**i) for i in range(int(steps + 1e-9) + 1)]


class _Axis:
    """What varies by itself: an axis, or several that a zip advances together."""

    def __init__(self, axis):
        members = axis.get("zip", [axis])
        self.targets = [{key: member[key] for key in (*_TARGETS, "name") if key in member} for member in members]
        targets = [next(str(target[key]) for key in _TARGETS if key in target) for target in self.targets]
        self.names = [target.get("name") or re.split("[/.]", text)[-1] for target, text in zip(self.targets, targets)]
        self.name = " + ".join(self.names)
        self.interval = None
        if "zip" not in axis:
            values = _expanded(axis)
            self.interval = None if values is not None else axis["random"]
            self.values = values and [(value,) for value in values]
        elif any("random" in member for member in members):
            raise InputError(f"axis {self.name}: a zip of random axes is a sample already; give the axes without the zip")
        else:  # sorting would part what belongs together
            self.values = list(zip(*(member["values"] if "values" in member else _expanded(member) for member in members)))

    def at(self, unit):
        """The value of each member at `unit`, from 0 to 1."""
        if self.values is not None:
            return self.values[min(int(unit * len(self.values)), len(self.values) - 1)]
        low, high = self.interval["from"], self.interval["to"]
        value = low * (high / low)**unit if self.interval.get("scale") == "log" else low + (high - low) * unit
        return (round(value) if self.interval.get("integer") else _number(value),)

    def suggest(self, trial):
        """The value of each member that Optuna suggests. Numbers have an order, words have none."""
        if self.values is None:
            return self.at(trial.suggest_float(self.name, 0, 1))
        if len(self.values[0]) > 1 or not isinstance(self.values[0][0], str):
            return self.values[trial.suggest_int(self.name, 0, len(self.values) - 1)]
        return self.values[trial.suggest_categorical(self.name, list(range(len(self.values))))]


class _Space:
    """The axes of a spec, and the rows of the points that were evaluated."""

    def __init__(self, spec, jobs):
        text, self.file = _spec(spec)
        if text is None:
            try:
                with open(self.file, encoding="utf-8") as opened:
                    text = opened.read()
            except OSError as error:
                raise InputError(f"{self.file}: {error.strerror}") from None
        self.jobs = _checks.count("jobs", jobs, MOST_JOBS)
        # C++ checks the spec, and says what is wrong. One point of it is enough.
        try:
            document = json.loads(text)
            text = json.dumps({**document, "sample": {"points": 1}})
        except (TypeError, ValueError):
            pass
        plan = json.loads(_core.sweep_plan(text, self.file, 1, 1, 1, 0))
        if plan["axes"][0]["values"] != 1:
            raise InputError(f"{plan['name']}: a search takes one workload, and the spec has {plan['axes'][0]['values']}")
        self.name, self.version = plan["name"], plan["version"]
        self.document = {**document, "store": "totals"}
        self.document.pop("sample", None)
        archs = self.document.get("arch")
        self.axes = [_Axis({"arch": "arch", "values": archs})] if isinstance(archs, list) else []
        self.axes += [_Axis(axis) for axis in self.document.get("axes", [])]
        if not self.axes:
            raise InputError(f"{self.name}: the spec has no axes")
        self.rows = {}

    def evaluate(self, points):
        """The row of each of `points`, a list of tuples with the values of every axis; known ones are not run again."""
        new = [point for point in dict.fromkeys(points) if point not in self.rows]
        if isinstance(self.document.get("arch"), list):
            for arch in self.document["arch"]:
                self._run([point for point in new if point[0][0] == arch], arch)
        else:
            self._run(new, self.document.get("arch"))
        return [self.rows[point] for point in points]

    def _run(self, points, arch):
        if not points:
            return
        columns = zip(*(itertools.chain.from_iterable(point) for point in points))
        targets = [target for axis in self.axes for target in axis.targets]
        zipped = [{**target, "values": list(values)} for target, values in zip(targets, columns) if "arch" not in target]
        document = {**self.document, "axes": [{"zip": zipped}] if zipped else []}
        if arch is not None:
            document["arch"] = arch
        try:
            with tempfile.TemporaryDirectory(prefix="sptcsim-") as directory:
                path = os.path.join(directory, "points.sqlite")
                _core.sweep(_checks.json_text("sweep", document), self.file, 0, path, self.jobs, 1, 1, None)
                found = {row.pop("position"): row for row in _read(path).to_dict()["points"]}
        except InputError as error:
            if len(points) > 1:  # some of them are the reason
                for point in points:
                    self._run([point], arch)
                return
            found = {0: {**self._design(points[0]), "status": "refused", "reason": str(error)}}
        for position, point in enumerate(points):
            forbidden = {**self._design(point), "status": "refused", "reason": "'where' forbids it"}
            self.rows[point] = found.get(position, forbidden)

    def _design(self, point):
        return {name: value for axis, values in zip(self.axes, point) for name, value in zip(axis.names, values)}


def _figure(row, name):
    if name not in row:
        raise InputError(f"no figure '{name}' in the rows of a sweep; there are {', '.join(row)}")
    return row[name]


def _mark_front(rows, figures):
    """Sets `front` of each row. figures: of each row the objectives, to be minimised; None for a row without."""
    best = []
    for figure in sorted(set(filter(None, figures))):  # none is beaten by a later one
        if not any(all(b <= a for a, b in zip(figure, other)) for other in best):
            best.append(figure)
    best = set(best)
    for row, figure in zip(rows, figures):
        row["front"] = figure in best


def front(spec: Spec, objectives: Sequence[str] = ("sparse_time_us", "sparse_energy_uj_total"), *, trials: int = 200,
          seed: int = 0, jobs: int | None = None) -> SweepResult:
    """Searches the Pareto front of a sweep.

    spec: a path or a dict, as of sptcsim.sweep(); its "sample" is left away.
    objectives: columns of the points of a sweep, in their units (us, uJ, mm2, W), which are minimised; with "-" before
        it, such as "-speedup", a figure is maximised.
    trials: points to evaluate. A spec that has no more of them is evaluated as a whole, and `exact` is True.
    seed: of Optuna's sampler (TPE). Equal specs, seeds and trials give equal points.
    jobs: worker processes; None: all processors.
    Returns a SweepResult with `exact` and the rows of all points that were evaluated, in the order of the search, without
    `position`. `front` of a row says whether it is on the front of these points. Points that `where` forbids, or whose
    numbers do not go together, are rows with the status "refused" and a reason; they are no trials.
    Raises InputError, also where no point has all objectives; ImportError without Optuna.
    """
    optuna = _package("optuna")
    trials, seed = _checks.integer("trials", trials, 1, 100_000), _checks.integer("seed", seed, 0, 2**32 - 1)
    names = [_checks.word("objectives", name) for name in ([objectives] if isinstance(objectives, str) else objectives)]
    if not names:
        raise InputError("objectives must name a figure at least")
    space = _Space(spec, jobs)

    def figures(row):
        if row["status"] != "done":
            return None
        values = [_figure(row, name.removeprefix("-")) for name in names]
        return None if None in values else tuple(-v if n.startswith("-") else v for n, v in zip(names, values))

    exact = all(axis.values is not None for axis in space.axes) and math.prod(len(axis.values) for axis in space.axes) <= trials
    if exact:
        space.evaluate(list(itertools.product(*(axis.values for axis in space.axes))))
    else:
        _search(optuna, space, figures, len(names), trials, seed)
    rows = list(space.rows.values())
    found = [figures(row) for row in rows]
    if not any(found):
        reason = next((row["reason"] for row in rows if row.get("reason")), "an objective has no value at any of them")
        raise InputError(f"{space.name}: none of {len(rows)} points has all objectives: {reason}")
    _mark_front(rows, found)
    return SweepResult({"name": space.name, "version": space.version, "exact": exact, "points": rows})


def _search(optuna, space, figures, objectives, trials, seed):
    """Evaluates `trials` points that Optuna chooses; fewer where it finds no others."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=max(10, trials // 5))
        study = optuna.create_study(directions=["minimize"] * objectives, sampler=sampler)
        evaluated, draw = 0, random.Random(seed)
        for _ in range(4 * trials // _BATCH + 4):
            asked = [study.ask() for _ in range(min(_BATCH, trials - evaluated))]
            if not asked:
                break
            points = [tuple(axis.suggest(trial) for axis in space.axes) for trial in asked]
            # A point that is known teaches nothing: beside each such suggestion a random point is evaluated.
            others = [tuple(axis.at(draw.random()) for axis in space.axes) for point in points if point in space.rows]
            before = len(space.rows)
            rows = space.evaluate(points + others)
            new = list(space.rows.values())[before:]
            evaluated += sum(row["status"] != "refused" for row in new)
            for trial, row in zip(asked, rows):
                values = figures(row)
                state = optuna.trial.TrialState.COMPLETE if values else optuna.trial.TrialState.PRUNED
                study.tell(trial, values, state=state)
    finally:
        optuna.logging.set_verbosity(level)


def sensitivity(spec: Spec, figure: str = "sparse_time_us", *, samples: int = 256, seed: int = 0,
                jobs: int | None = None) -> Record:
    """Which share of a figure's variance each axis of a sweep explains: its Sobol indices.

    The values of an axis count as equally likely, and axes as independent: a spec with `where` is refused.
    spec: a path or a dict, as of sptcsim.sweep(); its "sample" is left away. figure: a column of the points of a sweep.
    samples: a power of 2; samples x (axes + 2) points are drawn, and equal ones are evaluated once.
    seed: of the draw. jobs: worker processes; None: all processors.
    Returns a Record: name, figure, points (evaluated ones), mean (in the unit of the figure), variance (its square) and
    axes. These are records with name, first (the share that the axis explains alone), total (what it explains
    alone and together with others), and the half widths of their 95 % intervals, first_error and total_error. Axes of
    one zip are one axis. All shares are 0 where the figure is the same at every point.
    Raises InputError, also where a point fails, for then the shares are unknown; ImportError without SALib.
    """
    sobol, analysis, numpy = _package("SALib.sample.sobol"), _package("SALib.analyze.sobol"), _package("numpy")
    samples, seed = _checks.integer("samples", samples, 2, 1 << 20), _checks.integer("seed", seed, 0, 2**32 - 1)
    if samples & (samples - 1):
        raise InputError(f"samples must be a power of 2, not {samples}")
    space = _Space(spec, jobs)
    if space.document.get("where"):
        raise InputError(f"{space.name}: sensitivity needs axes that vary independently, and the spec has 'where'")
    problem = {"num_vars": len(space.axes), "names": [axis.name for axis in space.axes], "bounds": [[0, 1]] * len(space.axes)}
    units = sobol.sample(problem, samples, calc_second_order=False, seed=seed).tolist()
    rows = space.evaluate([tuple(axis.at(unit) for axis, unit in zip(space.axes, row)) for row in units])
    for row in rows:
        if row["status"] != "done" or _figure(row, figure) is None:
            point = ", ".join(f"{name}={row.get(name)}" for axis in space.axes for name in axis.names)
            raise InputError(f"{space.name}: {point} has no {figure}: {row.get('reason') or 'it is empty there'}")
    values = numpy.array([row[figure] for row in rows], dtype=float)
    shares = {key: [0.0] * len(space.axes) for key in ("S1", "S1_conf", "ST", "ST_conf")}
    if numpy.ptp(values) > 0:
        shares = analysis.analyze(problem, values, calc_second_order=False, seed=seed)
    axes = [{"name": axis.name, "first": float(shares["S1"][i]), "first_error": float(shares["S1_conf"][i]),
             "total": float(shares["ST"][i]), "total_error": float(shares["ST_conf"][i])} for i, axis in enumerate(space.axes)]
    return Record({"name": space.name, "figure": figure, "points": len(space.rows), "mean": float(values.mean()),
                   "variance": float(values.var()), "axes": axes})


def hypercube(axes: Sequence[Mapping[str, Any]], n: int, *, seed: int = 0) -> list[dict[str, Any]]:
    """A Latin hypercube of n points: each axis is cut into n equal parts, and each part is met once.

    axes: a list, as `axes` of a spec. Returns `axes` for a spec with these points, a list with one zip; points that an
    axis of few values makes equal are there once. Raises InputError; ImportError without SciPy.
    """
    qmc = _package("scipy.stats.qmc")
    axes = [_Axis(axis) for axis in axes]
    n, seed = _checks.integer("n", n, 1, 100_000), _checks.integer("seed", seed, 0, 2**32 - 1)
    units = qmc.LatinHypercube(len(axes), seed=seed).random(n)
    points = dict.fromkeys(tuple(value for axis, unit in zip(axes, row) for value in axis.at(unit)) for row in units.tolist())
    targets = [target for axis in axes for target in axis.targets]
    return [{"zip": [{**target, "values": list(values)} for target, values in zip(targets, zip(*points))]}]
