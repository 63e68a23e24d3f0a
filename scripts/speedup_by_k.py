#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed-up of 2:4 over dense GEMM by size, as in the GEMM figure of Mishra et al. 2021 (arXiv 2104.08378): M = N = 10240
with K swept (traces/cusparselt_sweep_fixed_mn.json), and square GEMMs, for f16 and s8.

    scripts/speedup_by_k.py                              # the table
    scripts/speedup_by_k.py --plot traces/speedup_by_k.svg   # and the plot (needs python3-matplotlib)
"""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SQUARE = (256, 512, 1024, 2048, 4096, 8192, 16384)
DTYPES = {"f16": "tab:blue", "s8": "tab:orange"}


def speedup(arguments, m, n, k, dtype):
    command = [arguments.sptcsim, "gemm", str(m), str(n), str(k), "--dtype", dtype, "--arch", arguments.arch,
               "--clock", arguments.clock, "--fidelity", arguments.fidelity, "--check", "none", "--quiet",
               "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)["operations"][0]["speedup"]


def plot(sweeps, arguments):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(1, len(sweeps), figsize=(9, 3.4), sharey=True)
    for axis, (title, label, rows) in zip(axes, sweeps):
        sizes = [row[0] for row in rows]
        for i, (dtype, color) in enumerate(DTYPES.items()):
            axis.plot(sizes, [row[1 + i] for row in rows], "o-", color=color, label=dtype, markersize=3)
        axis.axhline(2, color="gray", linestyle="--", linewidth=1)
        axis.axhline(1, color="gray", linewidth=0.5)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(label)
        axis.set_ylim(0.8, 2.1)
    axes[1].set_xscale("log", base=2)
    axes[0].set_ylabel("speed-up of 2:4 over dense")
    axes[0].legend(loc="lower right")
    figure.suptitle(f"{arguments.arch}, {arguments.clock} clock, simulated", fontsize=9)
    figure.tight_layout()
    figure.savefig(arguments.plot)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sptcsim", default=str(ROOT / "build" / "release" / "sptcsim"), metavar="FILE")
    parser.add_argument("--arch", default="a100-sxm4-80gb")
    parser.add_argument("--clock", default="limited")
    parser.add_argument("--fidelity", default="analytic", choices=("analytic", "timing"))
    parser.add_argument("--plot", metavar="FILE")
    arguments = parser.parse_args()
    trace = json.loads((ROOT / "traces" / "cusparselt_sweep_fixed_mn.json").read_text())
    sweeps = []
    for title, label, shapes in (
            ("M = N = 10240", "K", [(op["m"], op["n"], op["k"]) for op in trace["ops"]]),
            ("square", "M = N = K", [(size, size, size) for size in SQUARE])):
        rows = [(k, *(speedup(arguments, m, n, k, dtype) for dtype in DTYPES)) for m, n, k in shapes]
        sweeps.append((title, label, rows))
        print(f"\n{title}\n{label:>10}" + "".join(f"{dtype:>8}" for dtype in DTYPES))
        for row in rows:
            print(f"{row[0]:>10}" + "".join(f"{value:8.2f}" for value in row[1:]))
    if arguments.plot:
        plot(sweeps, arguments)


if __name__ == "__main__":
    main()
