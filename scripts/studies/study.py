# SPDX-License-Identifier: Apache-2.0
"""What the studies share: running sweeps, reading their results, and writing tables into a page."""
import argparse
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def arguments(doc):
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "sptcsim"))
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--db", default="", help="folder for the results (default: a temporary one)")
    return parser.parse_args()


def operations(database):
    """Of each point its operations in order, each with the figures of its variants: op["dense"]["time_us"], op["sparse"]
    None where there is none."""
    points = {}
    for row in database.execute("SELECT * FROM operations ORDER BY position, operation"):
        found = points.setdefault(row["position"], {})
        what = {key: row[key] for key in ("name", "m", "n", "k", "batch", "count")}
        operation = found.setdefault(row["operation"], what | {"dense": None, "sparse": None})
        operation[row["variant"]] = dict(row)
        if operation["dense"] and operation["sparse"]:
            operation["speedup"] = operation["dense"]["time_us"] / operation["sparse"]["time_us"]
    return {position: list(found.values()) for position, found in points.items()}


class Study:
    """One folder of configs/sweeps with its specs, figures and page."""

    def __init__(self, name, args):
        self.folder = ROOT / "configs" / "sweeps" / name
        self.args = args
        self.temporary = tempfile.TemporaryDirectory()
        self.results = pathlib.Path(args.db or self.temporary.name)
        self.results.mkdir(parents=True, exist_ok=True)
        self.broken = []

    def run(self, *command):
        done = subprocess.run([self.args.program, *command], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def sweep(self, spec):
        """Runs SPEC.json of the folder; rows as dictionaries, with their `operations`."""
        results = self.results / f"{spec}.sqlite"
        self.run("sweep", str(self.folder / f"{spec}.json"), "--db", str(results), "--jobs", self.args.jobs, "--quiet",
                 "--mixed-builds")
        database = sqlite3.connect(results)
        database.row_factory = sqlite3.Row
        rows = [dict(row) for row in database.execute("SELECT * FROM points ORDER BY position")]
        by_position = operations(database)
        for row in rows:
            row["operations"] = by_position.get(row["position"], [])
        failed = [row["reason"] for row in rows if row["status"] != "done"]
        if failed:
            sys.exit(f"{spec}: {len(failed)} points failed: {failed[0]}")
        return rows

    def expect(self, holds, sentence):
        """A sentence of the page that figures alone do not make: finish() fails where it holds no longer."""
        if not holds:
            self.broken.append(sentence)

    def finish(self):
        if self.broken:
            sys.exit("\n".join(f"{self.folder / 'README.md'}: no longer so: {sentence}" for sentence in self.broken))

    def fill(self, name, text):
        """Replaces what stands between <!-- name --> and <!-- /name --> in the page."""
        page = self.folder / "README.md"
        before = page.read_text(encoding="utf-8")
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        if begin not in before or end not in before:
            sys.exit(f"{page}: no place for '{name}'")
        head, rest = before.split(begin, 1)
        page.write_text(head + begin + "\n" + text.strip() + "\n" + end + rest.split(end, 1)[1], encoding="utf-8")


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" + "---:|" * (len(header) - 1)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def spread(values, digits=2):
    """"1.48 to 1.63", or one number where both ends look the same."""
    least, most = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return least if least == most else f"{least} to {most}"
