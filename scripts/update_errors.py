#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests that hold errors against measurements, and writes tests/fidelity/errors.csv anew.

    update_errors.py            smaller errors and new rows are written; exit 1 where one got larger
    update_errors.py --accept   larger ones are written, too, and rows that no test has any more go
    update_errors.py --build DIR

The table is what the tests compare with, so a change of the model shows as a change of this file.
"""
import argparse
import csv
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "fidelity" / "errors.csv"


def read(path):
    with open(path, newline="") as file:
        return {name: float(error) for name, error in csv.reader(file) if name != "name"}


def measure(build):
    """What the tests of the label 'fidelity' say; a test that fails still says its figure."""
    with tempfile.TemporaryDirectory() as directory:
        errors = pathlib.Path(directory) / "errors.csv"
        environment = {**os.environ, "SPTC_ERRORS": str(errors)}
        subprocess.run(["ctest", "--test-dir", str(build), "-L", "fidelity", "--parallel", str(os.cpu_count())],
                       env=environment, stdout=subprocess.DEVNULL, check=False)
        if not errors.exists():
            sys.exit(f"update_errors.py: the tests of {build} said no error; is it built?")
        return read(errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accept", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    options = parser.parse_args()
    old = read(TABLE)
    new = measure(options.build)
    table = {} if options.accept else dict(old)
    worse = 0
    for name, error in sorted(new.items()):
        rounded = float(f"{error:.4g}")
        before = old.get(name)
        if before is None or rounded < before or options.accept:
            table[name] = rounded
        if before is None or rounded != before:
            print(f"{name}: {'new' if before is None else f'{before:.4g}'} -> {rounded:.4g}")
        worse += before is not None and rounded > before
    for name in sorted(set(old) - set(new)):
        print(f"{name}: no test says it")
    with open(TABLE, "w", newline="") as file:
        file.write("name,error\n")
        file.writelines(f"{name},{table[name]:.4g}\n" for name in sorted(table))
    if worse and not options.accept:
        print(f"{worse} errors got larger and stand as they were; --accept writes them")
    return 1 if worse and not options.accept else 0


if __name__ == "__main__":
    sys.exit(main())
