# SPDX-License-Identifier: Apache-2.0
"""Many runs: design-space exploration."""
from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile

from . import _checks, _core
from ._core import InputError
from ._record import Record, frame, record
from ._types import Any, Callable, Mapping, Path, Sequence

MOST_JOBS = 1024
_RETRIES = 3  # of a part that a worker of Dask fails to run


class SweepResult(Record):
    """What a sweep found: name, version, and points, a list with one record for each point.

    A point has position, status ("done", "failed"), reason, notes, the axes and the totals: workload, dense_time_us,
    sparse_time_us, speedup, ... as in the table `points` of the SQLite file.
    """

    __slots__ = ()

    def to_pandas(self) -> Any:
        """The points as a pandas.DataFrame."""
        return frame(self.to_dict()["points"])

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


def _shard(shard):
    if not isinstance(shard, (tuple, list)) or len(shard) != 2:
        raise InputError(f"shard must be (I, N), for example (2, 8), not {shard!r}")
    count = _checks.integer("N of shard", shard[1], 1, 1_000_000)
    return _checks.integer("I of shard", shard[0], 1, count), count


def _part(shard, text, file, jobs):
    """Runs one part of a sweep on a worker of Dask: the bytes of its SQLite file."""
    with tempfile.TemporaryDirectory(prefix="sptcsim-") as directory:
        path = os.path.join(directory, "part.sqlite")
        _core.sweep(text, file, 0, path, jobs, *shard, None)
        with open(path, "rb") as part:
            return part.read()


def _on_cluster(client, text, file, path, jobs, shards, progress):
    """Runs the parts of a sweep on the workers of `client`, and merges them in `path`: all, or those that came."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise ImportError("sweep(client=...) needs the package distributed: pip install sptcsim[explore]") from None
    if not isinstance(client, Client):
        raise InputError(f"client must be a distributed.Client, not {type(client).__name__}")
    if os.path.exists(path):
        raise InputError(f"results: {path} exists; give another, or let sweep() without a client do the rest")
    points = json.loads(_core.sweep_plan(text, file, 1, 1, 1, 0))["points"]
    if text is None:
        with open(file, encoding="utf-8") as spec:
            text = spec.read()
    count = min(shards, points)
    done, failed, parts = 0, 0, []
    with tempfile.TemporaryDirectory(prefix="sptcsim-") as directory:
        futures = client.map(_part, [(index, count) for index in range(1, count + 1)], text=text,
                             file=os.path.abspath(file), jobs=jobs, retries=_RETRIES, pure=False)
        try:
            for future in as_completed(futures):
                part = os.path.join(directory, f"{len(parts)}.sqlite")
                with open(part, "wb") as output:
                    output.write(future.result())
                future.release()  # the worker may forget the part
                parts.append(part)
                status = json.loads(_core.sweep_status([part]))
                done, failed = done + status["done"] + status["failed"], failed + status["failed"]
                if progress is not None:
                    progress(done, points, failed)
        finally:
            client.cancel(futures)
            if parts:
                _core.sweep_merge(parts, path, False)


def sweep(spec: Path | Mapping[str, Any], *, results: Path | None = None, jobs: int | None = None,
          progress: Callable[[int, int, int], object] | None = None, resimulate: int | None = None,
          shard: tuple[int, int] = (1, 1), client: Any = None, shards: int = 64) -> SweepResult:
    """Runs every point of a sweep, in worker processes of this machine or on the workers of a Dask cluster.

    spec: the path of a sweep file (configs/sweeps/README.md), or its JSON object as a dict, whose paths are relative to
        the current directory.
    results: an SQLite file that keeps the results; points that it has are not run again, and sweep_report() reads it.
        None: they are only returned.
    jobs: worker processes; None: all processors.
    progress: called as progress(done, total, failed) a few times per second.
    resimulate: of a sweep in closed form: SystemC simulates up to so many points on the Pareto front, or within 5 % of
        it, once more, on this machine; the columns timing_... hold what it says.
    shard: (I, N): every N-th point alone, from the I-th; sweep_merge() unites such parts.
    client: a distributed.Client, whose cluster is one of this machine (LocalCluster), of a batch system
        (dask_jobqueue.SLURMCluster), or any other. The sweep is cut into `shards` parts, which its workers run. They need
        this package, and the files that the spec names at the same paths, but no common place for results. The rows
        are those of a sweep without a client. A part whose worker dies runs again on another one. `jobs` are
        here the processes of one part, 1 by default, progress is called after each part, and `results` must not
        exist. What ends the sweep early leaves in `results` the parts that came; sweep() without a client does the rest.
    Returns a SweepResult. A point that fails is a row with its reason. Ctrl-C keeps what is done in `results`.
    Raises InputError; with a client ImportError without the package distributed, and what Dask raises.
    """
    text, file = _spec(spec)
    processes = _checks.count("jobs", jobs, MOST_JOBS)
    again = 0 if resimulate is None else _checks.integer("resimulate", resimulate, 1, 1 << 20)
    part, shards = _shard(shard), _checks.integer("shards", shards, 1, 1_000_000)
    if part != (1, 1) and (again or client is not None):
        raise InputError("shard runs a part of the sweep, resimulate and client the whole of it: give one")
    path = None if results is None else _checks.path("results", results)
    progress = _checks.function("progress", progress)
    with tempfile.TemporaryDirectory(prefix="sptcsim-") as directory:
        path = path or os.path.join(directory, "sweep.sqlite")
        if client is not None:
            _on_cluster(client, text, file, path, processes or 1, shards, progress)
        if client is None or again:
            _core.sweep(text, file, again, path, processes, *part, progress)
        return _read(path)


def sweep_plan(spec: Path | Mapping[str, Any], *, shard: tuple[int, int] = (1, 1), jobs: int | None = None,
               first: int = 5) -> Record:
    """What sweep() would run, without running it: points, time, time in closed form, designs without energies.

    spec: as of sweep(). shard: (I, N), part I of N. jobs: processes of the estimate; None: all processors.
    first: points to list. A few points are run to estimate the time.
    Returns a Record of the schema sweep-plan. Raises InputError.
    """
    text, file = _spec(spec)
    return record(_core.sweep_plan(text, file, *_shard(shard), _checks.count("jobs", jobs, MOST_JOBS),
                                              _checks.integer("first", first, 0, 1_000_000_000)))


def sweep_status(*results: Path) -> Record:
    """How far a sweep is: points done, failed and missing over all of its parts, and who works at each.

    results: paths of SQLite files; one that does not exist stands for its shards, NAME.1, NAME.2, ...
    Returns a Record of the schema sweep-status. Raises InputError.
    """
    return record(_core.sweep_status([_checks.path("results", file) for file in results]))


def sweep_merge(parts: Sequence[Path], out: Path, *, mixed_builds: bool = False) -> int:
    """Unites the results of the shards `parts` in the SQLite file `out`, which must not exist.

    mixed_builds: also those of different builds of the program. Returns the number of rows. Raises InputError.
    """
    files, out = [_checks.path("parts", part) for part in parts], _checks.path("out", out)
    if os.path.exists(out):
        raise InputError(f"out: {out} exists; remove it or give another")
    return _core.sweep_merge(files, out, bool(mixed_builds))


def sweep_report(results: Path, format: str = "markdown") -> str:
    """The results of a sweep as text: "markdown", "csv" or "html" (one page that needs no network). Raises InputError."""
    return _core.sweep_report(_checks.path("results", results), _checks.word("format", format))


def sweep_emit(spec: Path, kind: str, shards: int, *, results: Path | None = None, jobs: int = 1,
               program: Path | None = None, setup: Sequence[str] = (), time: str = "", mem: str = "", partition: str = "",
               account: str = "", whole_node: bool = False, at_once: int | None = None, sbatch: Sequence[str] = ()) -> str:
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
    name = _checks.path("spec", spec)
    path = os.path.splitext(os.path.basename(name))[0] + ".sqlite" if results is None else _checks.path("results", results)
    words = [_checks.word(key, value) for key, value in (("time", time), ("mem", mem), ("partition", partition),
                                                         ("account", account))]
    return _core.sweep_emit(name, kind == "slurm", _checks.path("program", found), path,
                            _checks.integer("shards", shards, 1, 1_000_000), _checks.integer("jobs", jobs, 1, 1024),
                            [_checks.word("setup", line) for line in setup], tuple(words),
                            _checks.switch("whole_node", whole_node),
                            0 if at_once is None else _checks.integer("at_once", at_once, 1, 1_000_000),
                            [_checks.word("sbatch", option) for option in sbatch])
