#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measured GEMM times against simulated ones under the clock that a power limit allows, beside the sustained clock.

The board of a profile is not the board of another reading: its one factor, the power it takes, is chosen on the rows that
do not match --held-out (default internlm), by the mean absolute error, and judged on those that do. The sustained clock has
its fall with the load fitted to the same rows. Operands are N(0,1): profiles do not say what theirs were.

    scripts/limited_clock_error.py gemm_f16.csv --arch a100-sxm4-80gb     # header m, n, k, time_us_median, source
"""
import argparse
import csv
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def times(arguments, workload, *options):
    command = [arguments.program, "run", str(workload), "--arch", arguments.arch, "--fidelity", "analytic", "--variants",
               "dense", "--check", "none", "--quiet", "--format", "csv", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return [float(row["time_us"]) for row in csv.DictReader(done.stdout.splitlines())]


def errors(simulated, rows, held_out):
    """(mean absolute error, bias) in percent of the rows that were held out, or of the others."""
    chosen = [100 * (time / float(row["time_us_median"]) - 1) for time, row in zip(simulated, rows)
              if held_out(row)]
    return statistics.mean(map(abs, chosen)), statistics.mean(chosen)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", help="CSV")
    parser.add_argument("--program", default=str(ROOT / "build/release/sptcsim"))
    parser.add_argument("--arch", default="a100-sxm4-80gb")
    parser.add_argument("--held-out", default="internlm", help="part of the source of rows that choose nothing")
    parser.add_argument("--limits", default="300,310,320,330,340,350,360,380,400", help="watts to try")
    arguments = parser.parse_args()

    with open(arguments.measured) as file:
        rows = list(csv.DictReader(file))
    judged = lambda row: arguments.held_out in row.get("source", "")
    chosen = lambda row: not judged(row)
    with tempfile.TemporaryDirectory() as folder:
        workload = pathlib.Path(folder) / "rows.csv"
        lines = [f"{row['m']},{row['n']},{row['k']},f16" for row in rows]
        workload.write_text("\n".join(["m,n,k,dtype", *lines]) + "\n")
        clocks = {clock: times(arguments, workload, "--clock", clock) for clock in ("boost", "sustained")}
        for limit in arguments.limits.split(","):
            clocks[f"limited, {limit} W"] = times(arguments, workload, "--clock", "limited", "--power-limit", limit)
    print(f"{'clock':<18} {'chosen on: error %':>20} {'bias':>7} {'held out: error %':>20} {'bias':>7}")
    for clock, simulated in clocks.items():
        print(f"{clock:<18} {'{:20.2f} {:+7.2f}'.format(*errors(simulated, rows, chosen))}"
              f" {'{:20.2f} {:+7.2f}'.format(*errors(simulated, rows, judged))}")
    limited = {clock: errors(simulated, rows, chosen)[0] for clock, simulated in clocks.items() if "limited" in clock}
    print(f"chosen: {min(limited, key=limited.get)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
