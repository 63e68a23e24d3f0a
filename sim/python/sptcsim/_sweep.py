# SPDX-License-Identifier: Apache-2.0
"""Many runs: design-space exploration."""
import contextlib
import os
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


def sweep(spec, *, results=None, jobs=None, progress=None):
    """Runs every point of a sweep, in worker processes of this machine.

    spec: the path of a sweep file (configs/sweeps/README.md), or its JSON object as a dict, whose paths are relative to
        the current directory.
    results: an SQLite file that keeps the results; points that it has are not run again, and `sptcsim sweep report`
        reads it. None: they are only returned.
    jobs: worker processes; None: all processors.
    progress: called as progress(done, total, failed) a few times per second.
    Returns a SweepResult. A point that fails is a row with its reason. Ctrl-C keeps what is done in `results`.
    Raises InputError.
    """
    if isinstance(spec, dict):
        text, file = _checks.json_text("sweep", spec), os.path.join(os.getcwd(), "sweep")
    elif isinstance(spec, (str, os.PathLike)):
        text, file = None, os.fspath(spec)
    else:
        raise InputError(f"a sweep is the path of a file or the object of its JSON, not {type(spec).__name__}")
    if jobs is not None:
        jobs = _checks.integer("jobs", jobs, 1, 1024)
    if results is not None and not isinstance(results, (str, os.PathLike)):
        raise InputError(f"results must be the path of a file, not {type(results).__name__}")
    progress = _checks.function("progress", progress)
    with tempfile.TemporaryDirectory(prefix="sptcsim-") as directory:
        path = os.path.join(directory, "sweep.sqlite") if results is None else os.fspath(results)
        _core.sweep(text, file, path, jobs or 0, progress)
        return _read(path)
