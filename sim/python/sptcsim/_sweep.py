# SPDX-License-Identifier: Apache-2.0
"""Many runs: design-space exploration."""
import contextlib
import json
import os
import shutil
import sqlite3
import tempfile

from . import _checks, _core
from ._core import InputError
from ._record import Record


class SweepResult(Record):
    """What a sweep found: name, version, and points, a list with one record for each point.

    A point has position, status ("done", "failed"), reason, notes, the axes and the totals: workload, dense_time_us,
    sparse_time_us, speedup, ... as in the table `points` of the SQLite file.
    """

    __slots__ = ()

    def to_pandas(self):
        """The points as a pandas.DataFrame."""
        try:
            import pandas
        except ImportError:
            raise InputError("to_pandas needs the package pandas, which is not installed") from None
        return pandas.DataFrame(self.to_dict()["points"])

    def __repr__(self):
        points = self.to_dict()["points"]
        failed = sum(point["status"] == "failed" for point in points)
        return f"SweepResult({self.to_dict()['name']}: {len(points)} points, {failed} failed)"


def _read(path):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        entries = dict(database.execute("SELECT key, value FROM sweep"))
        rows = database.execute("SELECT * FROM points ORDER BY position")
        names = [column[0] for column in rows.description]
        points = [dict(zip(names, row)) for row in rows]
    return SweepResult({"name": entries["name"], "version": entries["version"], "points": points})


def _spec(spec):
    """The text of a spec, None for that of a file; and the path to which its paths are relative."""
    if isinstance(spec, dict):
        return _checks.json_text("sweep", spec), os.path.join(os.getcwd(), "sweep")
    if isinstance(spec, (str, os.PathLike)):
        return None, os.fspath(spec)
    raise InputError(f"a sweep is the path of a file or the object of its JSON, not {type(spec).__name__}")


def _path(name, value):
    if not isinstance(value, (str, os.PathLike)):
        raise InputError(f"{name} must be the path of a file, not {type(value).__name__}")
    return os.fspath(value)


def _jobs(jobs):
    return 0 if jobs is None else _checks.integer("jobs", jobs, 1, 1024)


def _budget(search, budget):
    if (search is None) != (budget is None):
        raise InputError("search=\"pareto\" and budget=N go together")
    if search is None:
        return 0
    if search not in _core.sweep_searches():
        raise InputError(f"search must be {' or '.join(map(repr, _core.sweep_searches()))}, not {search!r}")
    return _checks.integer("budget", budget, 1, 100_000_000)


def sweep(spec, *, results=None, jobs=None, progress=None, search=None, budget=None, resimulate=None):
    """Runs every point of a sweep, in worker processes of this machine.

    spec: the path of a sweep file (configs/sweeps/README.md), or its JSON object as a dict, whose paths are relative to
        the current directory.
    results: an SQLite file that keeps the results; points that it has are not run again, and sweep_report() reads it.
        None: they are only returned.
    jobs: worker processes; None: all processors.
    progress: called as progress(done, total, failed) a few times per second.
    search, budget: "pareto" and a number of points: only so many are run, which a search for the Pareto front chooses.
    resimulate: of a sweep in closed form: SystemC simulates up to so many points on the Pareto front, or within 5 % of
        it, once more; the columns timing_... hold what it says.
    Returns a SweepResult. A point that fails is a row with its reason. Ctrl-C keeps what is done in `results`.
    Raises InputError.
    """
    text, file = _spec(spec)
    points, processes = _budget(search, budget), _jobs(jobs)
    again = 0 if resimulate is None else _checks.integer("resimulate", resimulate, 1, 1 << 20)
    path = None if results is None else _path("results", results)
    progress = _checks.function("progress", progress)
    with tempfile.TemporaryDirectory(prefix="sptcsim-") as directory:
        path = path or os.path.join(directory, "sweep.sqlite")
        _core.sweep(text, file, points, again, path, processes, progress)
        return _read(path)


def sweep_plan(spec, *, search=None, budget=None, shard=(1, 1), jobs=None, first=5):
    """What sweep() would run, without running it: points, time, time in closed form, designs without energies.

    spec, search, budget: as of sweep(). shard: (I, N), part I of N. jobs: processes of the estimate; None: all
    processors. first: points to list. A few points are run to estimate the time.
    Returns a Record of the schema sweep-plan. Raises InputError.
    """
    text, file = _spec(spec)
    if not isinstance(shard, (tuple, list)) or len(shard) != 2:
        raise InputError(f"shard must be (I, N), for example (2, 8), not {shard!r}")
    index, count = shard
    _checks.integer("N of shard", count, 1, 1_000_000)
    _checks.integer("I of shard", index, 1, count)
    return Record(json.loads(_core.sweep_plan(text, file, _budget(search, budget), index, count, _jobs(jobs),
                                              _checks.integer("first", first, 0, 1_000_000_000))))


def sweep_status(*results):
    """How far a sweep is: points done, failed and missing over all of its parts, and who works at each.

    results: paths of SQLite files; one that does not exist stands for its shards, NAME.1, NAME.2, ...
    Returns a Record of the schema sweep-status. Raises InputError.
    """
    return Record(json.loads(_core.sweep_status([_path("results", file) for file in results])))


def sweep_merge(parts, out, *, mixed_builds=False):
    """Unites the results of the shards `parts` in the SQLite file `out`, which must not exist.

    mixed_builds: also those of different builds of the program. Returns the number of rows. Raises InputError.
    """
    files, out = [_path("parts", part) for part in parts], _path("out", out)
    if os.path.exists(out):
        raise InputError(f"out: {out} exists; remove it or give another")
    return _core.sweep_merge(files, out, bool(mixed_builds))


def sweep_report(results, format="markdown"):
    """The results of a sweep as text: "markdown", "csv" or "html" (one page that needs no network). Raises InputError."""
    return _core.sweep_report(_path("results", results), _checks.word("format", format))


def sweep_emit(spec, kind, shards, *, results=None, jobs=1, program=None, setup=(), time="", mem="", partition="",
               account="", whole_node=False, at_once=None, sbatch=()):
    """A job script that runs the shards of a sweep and merges them.

    spec: the path of a sweep file. kind: "slurm" or "gnu-parallel". shards: parts.
    results: the merged SQLite file; None: the name of the spec with .sqlite, here. jobs: worker processes of a part.
    program: the program sptcsim; None: the one of PATH. setup: lines of shell before it.
    Of Slurm: time ("1:30:00"), mem ("16G"), partition, account; whole_node: a part has a node for itself; at_once: parts
    that may run at once; sbatch: further options, such as "--qos=high".
    Returns the text of the script. Raises InputError.
    """
    if kind not in ("slurm", "gnu-parallel"):
        raise InputError(f"kind must be 'slurm' or 'gnu-parallel', not {kind!r}")
    found = program or shutil.which("sptcsim")
    if found is None:
        raise InputError("program: there is no sptcsim in PATH")
    name = _path("spec", spec)
    path = os.path.splitext(os.path.basename(name))[0] + ".sqlite" if results is None else _path("results", results)
    words = [_checks.word(key, value) for key, value in (("time", time), ("mem", mem), ("partition", partition),
                                                         ("account", account))]
    return _core.sweep_emit(name, kind == "slurm", _path("program", found), path,
                            _checks.integer("shards", shards, 1, 1_000_000), _checks.integer("jobs", jobs, 1, 1024),
                            [_checks.word("setup", line) for line in setup], tuple(words),
                            _checks.switch("whole_node", whole_node),
                            0 if at_once is None else _checks.integer("at_once", at_once, 1, 1_000_000),
                            [_checks.word("sbatch", option) for option in sbatch])
