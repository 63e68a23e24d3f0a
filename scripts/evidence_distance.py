#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far simulated gains are from measured ones, by how near to a board anything was measured: configs/evidence/distance.json.

"board" is the mean error over the boards of configs/evidence as they stand: their launch overheads were read off those very
rows. For the others each board is left out in turn: it keeps its data sheet and takes launch overheads over from its nearest
other boards, those of its chip, else of its generation, else all. Every board weighs as much, and so does each of those.
A class that no board falls into stays null: not known.

    scripts/evidence_distance.py                  # writes configs/evidence/distance.json
    scripts/evidence_distance.py --out -          # prints it; on stderr an error for each board and neighbour
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
EVIDENCE = ROOT / "configs" / "evidence"
CLASSES = ("board", "chip", "generation", "none")
OVERHEADS = ("launch_us", "sparse_launch_us", "stream_us", "sparse_stream_us", "reduction_launch_us")
DESCRIPTION = ("Mean error of simulated gains by how near the measured pairs are: on the board itself, and with each board left out, "
               "on its chip, on its generation, on neither. scripts/evidence_distance.py writes it. null: not known.")


class Program:
    def __init__(self, path):
        self.path = path

    def json(self, *arguments):
        done = subprocess.run([self.path, *arguments, "--format", "json"], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"evidence_distance.py: sptcsim {' '.join(arguments)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def overheads(self, board):
        """Of the file of `board`: key to number with evidence and source."""
        rows = {row["pointer"]: row for row in self.json("arch", "show", board)["parameters"]}
        return {key: {part: rows[f"/kernels/{key}"][part] for part in ("value", "evidence", "source")}
                for key in OVERHEADS if f"/kernels/{key}" in rows}

    def gain_error(self, board, arch):
        """(mean error in percent, pairs) of the rows of `board` on the architecture `arch`."""
        found = self.json("validate", str(EVIDENCE / f"{board}.csv"), "--arch", str(arch), "--fidelity", "analytic", "--quiet")
        return found["speedup"]["mean_error_percent"], found["speedup"]["count"]


def nearest(board, others, rows):
    """The class of the nearest of `others`, and all that are as near."""
    for name, key in (("chip", "chip"), ("generation", "generation")):
        same = [other for other in others if rows[board][key] is not None and rows[other][key] == rows[board][key]]
        if same:
            return name, same
    return "none", others


def left_out(program, board, other, folder):
    """The path of `board` with the overheads of `other`, or its name where they are the same."""
    own, taken = program.overheads(board), program.overheads(other)
    kernels = {key: number for key, number in taken.items() if number != own.get(key)}
    if not kernels:
        return board
    path = pathlib.Path(folder) / "left_out.json"
    path.write_text(json.dumps({"base": board, "name": "left-out", "board": True, "kernels": kernels}))
    return path


def distances(program, boards):
    """By class: the boards that fall into it, their pairs, and their mean error."""
    rows = {row["name"]: row for row in program.json("arch", "list")["architectures"]}
    errors = {name: {} for name in CLASSES}
    pairs = {name: 0 for name in CLASSES}
    with tempfile.TemporaryDirectory() as folder:
        for board in boards:
            errors["board"][board], count = program.gain_error(board, board)
            pairs["board"] += count
            name, others = nearest(board, [other for other in boards if other != board], rows)
            found = []
            for other in others:
                found.append(program.gain_error(board, left_out(program, board, other, folder))[0])
                print(f"{board}, {name}: {found[-1]:.1f} % with the overheads of {other}", file=sys.stderr)
            if found:
                errors[name][board] = statistics.mean(found)
                pairs[name] += count
    return {name: {"boards": sorted(errors[name]) or None, "pairs": pairs[name] or None,
                   "mean_error_percent": round(statistics.mean(errors[name].values()), 1) if errors[name] else None}
            for name in CLASSES}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/sptcsim"))
    parser.add_argument("--out", default=str(EVIDENCE / "distance.json"), help="'-': standard output")
    arguments = parser.parse_args()
    boards = sorted(path.stem for path in EVIDENCE.glob("*.csv"))
    found = distances(Program(arguments.program), boards)
    rows = ",\n".join(f"    {json.dumps(name)}: {json.dumps(found[name])}" for name in CLASSES)
    text = f'{{\n  "description": {json.dumps(DESCRIPTION)},\n  "distances": {{\n{rows}\n  }}\n}}\n'
    if arguments.out == "-":
        print(text, end="")
    else:
        pathlib.Path(arguments.out).write_text(text)


if __name__ == "__main__":
    main()
