#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the pairs.csv of a capture: its columns, the ranges of its values, and that both sparsities are there.

    check_pairs.py CAPTURE/pairs.csv
    check_pairs.py --standin PROGRAM --data tests     # captures of the stand-in device, and planted faults

A dense and a 2:4 time must stand for every shape, type of operands and of D, state of the L2 and way of launching. Exit 1
where something is wrong.
"""
import argparse
import collections
import csv
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile

COLUMNS = ("m,n,k,dtype,sparsity,d_dtype,time_us_median,power_w,power_limit_w,clock_mhz,l2,launch,algorithm,warmup,repeat,"
           "source").split(",")
RESULTS = {"f16": ("f16", "f32"), "bf16": ("bf16", "f32"), "s8": ("s32", "s8"), "e4m3": ("e4m3", "f16", "bf16", "f32")}
WORDS = {"sparsity": "dense|2:4", "l2": "cold|warm|rotate:[1-9][0-9]*", "launch": "stream|graph|eager",
         "algorithm": "heuristic|default|best", "m": "[1-9][0-9]*", "n": "[1-9][0-9]*", "k": "[1-9][0-9]*", "warmup": "[0-9]+",
         "repeat": "[1-9][0-9]*", "source": ".+"}
# Least and largest; the time must be there, the others are empty where nobody says them.
NUMBERS = {"time_us_median": (0.5, 1e6), "power_w": (5, 2000), "power_limit_w": (20, 2000), "clock_mhz": (100, 4000)}


def number(text, bounds):
    try:
        return bounds[0] <= float(text) <= bounds[1]
    except ValueError:
        return False


def problems_of(text):
    """Sentences about what is wrong in a file; its rows."""
    reader = csv.DictReader(io.StringIO(text), strict=True)
    rows = list(reader)
    if reader.fieldnames != COLUMNS:
        return [f"the columns are {reader.fieldnames}"], rows
    problems = [] if rows else ["there is no row"]
    seen = collections.Counter()
    sides = collections.defaultdict(set)
    for line, row in enumerate(rows, 2):
        wrong = [name for name, pattern in WORDS.items() if not re.fullmatch(pattern, row[name] or "")]
        wrong += [name for name, bounds in NUMBERS.items()
                  if not (number(row[name], bounds) or (row[name] == "" and name != "time_us_median"))]
        if None in row or row["d_dtype"] not in RESULTS.get(row["dtype"], ()):
            wrong.append("d_dtype")
        problems += [f"line {line}: {name} is '{row[name]}'" for name in wrong]
        point = tuple(row[name] for name in ("m", "n", "k", "dtype", "d_dtype", "l2", "launch"))
        sides[point].add(row["sparsity"])
        seen[point + (row["sparsity"], row["algorithm"], row["source"])] += 1
    problems += [f"{' '.join(point)}: only {', '.join(found)}" for point, found in sides.items() if len(found) < 2]
    return problems + [f"{' '.join(point)}: {count} times" for point, count in seen.items() if count > 1], rows


def capture(standin, data, *options, status=0):
    """items, text of pairs.csv, stderr of a capture of pairs."""
    with tempfile.TemporaryDirectory() as work:
        directory = pathlib.Path(work) / "capture"
        done = subprocess.run([standin, directory, "--data", data, "--pairs-only", *options], capture_output=True, text=True)
        assert done.returncode == status, done
        if status != 0:
            assert not directory.exists(), f"{options}: something was written"
            return {}, "", done.stderr
        items = {item["name"]: item for item in json.loads((directory / "capture.json").read_text())["items"]}
        file = directory / "pairs.csv"
        return items, file.read_text() if file.exists() else "", done.stderr


def check_quick(standin, data):
    items, text, _ = capture(standin, data, "--quick")
    assert {name: item["status"] for name, item in items.items()} == {"pairs/libraries": "ok", "pairs/own": "ok"}, items
    problems, rows = problems_of(text)
    assert not problems, problems
    # An A100 has no e4m3. Own kernels: base, two more L2, two more ways to launch, another D. cuBLASLt: its best kernel too.
    shapes, types, own, library = 5, 3, 2 * 6, 7
    assert len(rows) == shapes * types * (own + library), len(rows)
    sources = collections.Counter((row["sparsity"], row["source"].split(":")[0]) for row in rows)
    assert sources == {("dense", "own"): 90, ("2:4", "own"): 90, ("dense", "cublaslt"): 105}, sources
    assert all((row["power_limit_w"], row["warmup"], row["repeat"]) == ("400", "25", "50") for row in rows)
    # A board averages its power over 2 ms before it acts: launches hold the limit whose warm-up outlasts that.
    settled = [row for row in rows if int(row["warmup"]) * float(row["time_us_median"]) > 3000]
    assert any(float(row["clock_mhz"]) < 1410 for row in settled) and all(float(row["power_w"]) <= 1.02 * 400 for row in settled)
    return text


def check_options(standin, data):
    named = {"dtype": "s8", "d_dtype": "s8", "l2": "rotate:3", "launch": "eager", "algorithm": "default", "warmup": "2",
             "repeat": "5"}
    twice = {**named, "l2": "rotate:3,rotate:3"}
    options = [word for name, value in twice.items() for word in ("--" + name.replace("_", "-"), value)]
    _, text, _ = capture(standin, data, *options)
    problems, rows = problems_of(text)
    assert not problems and len(rows) == 12 * 3, (problems, len(rows))
    assert all(row[name] == value for row in rows for name, value in named.items())
    # Time that is up takes whole pairs.
    items, text, _ = capture(standin, data, "--pair-minutes", "0.005")
    assert items["pairs/own"]["status"] == "partial" and "left out for want of time" in items["pairs/own"]["reason"], items
    own = "".join(line for line in text.splitlines(keepends=True) if line.startswith("m,") or ",own: " in line)
    assert not problems_of(own)[0], problems_of(own)[0]
    # What the device lacks is absent.
    items, text, _ = capture(standin, data, "--dtype", "e4m3")
    assert {item["status"] for item in items.values()} == {"absent"} and text == "", (items, text)
    for wrong, message in ((("--l2", "warm,hot"), "unknown --l2 'hot'"), (("--repeat", "0"), "--repeat: Value 0 not in range"),
                           (("--l2", "rotate:0"), "--l2: '0' weights cannot take turns"),
                           (("--launch", "stream,batch"), "unknown --launch 'batch'"),
                           (("--algorithm", "worst"), "unknown --algorithm 'worst'"),
                           (("--dtype", "f64"), "unknown --dtype 'f64'"), (("--d-dtype", "f64"), "unknown --d-dtype 'f64'"),
                           (("--dtype", "f16", "--d-dtype", "s8"), "no operands of --dtype give results of s8"),
                           (("--pair-shapes", "/nowhere.csv"), "/nowhere.csv"),
                           (("--simulate", "A100"), "--simulate has none"), (("--bits-only",), "excludes")):
        assert message in capture(standin, data, *wrong, status=2)[2], message


def check_planted_faults(text):
    lines = text.splitlines(keepends=True)
    own = next(i for i, line in enumerate(lines) if ",2:4,f32," in line)
    def planted(old, new):
        assert old in lines[own], old
        return "".join(lines[:own] + [lines[own].replace(old, new, 1)] + lines[own + 1:])
    for wrong, message in (("".join(lines[:own] + lines[own + 1:]), "only dense"), (text + lines[own], "2 times"),
                           (lines[0], "there is no row"), (text.replace("d_dtype", "d", 1), "the columns are"),
                           (planted("2:4", "1:2"), "sparsity is '1:2'"), (planted(",f32,", ",s8,"), "d_dtype is 's8'"),
                           (planted(",warm,", ",hot,"), "l2 is 'hot'"), (planted(",400,", ",0,"), "power_limit_w is '0'"),
                           (planted(",f32,", ",f32,-"), "time_us_median is '-")):
        assert any(message in problem for problem in problems_of(wrong)[0]), (message, problems_of(wrong)[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?")
    parser.add_argument("--standin")
    parser.add_argument("--data")
    arguments = parser.parse_args()
    if arguments.standin:
        check_planted_faults(check_quick(arguments.standin, arguments.data))
        check_options(arguments.standin, arguments.data)
        print("check_pairs.py: passed")
        return 0
    if not arguments.file:
        parser.error("a file is needed")
    problems, rows = problems_of(pathlib.Path(arguments.file).read_text())
    print("\n".join(problems) if problems else f"{len(rows)} times, dense and 2:4 side by side")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
