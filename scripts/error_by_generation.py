#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The error of the same GEMM on every generation of tensor cores: a table, and a plot against the a-priori bound.

    scripts/error_by_generation.py                          # table for 256 x 256 x K
    scripts/error_by_generation.py --plot error.png         # and the plot (needs python3-matplotlib)
    scripts/error_by_generation.py --dtype bf16 --k 256 4096 --program build/release/sptcsim

Each figure is one run of `sptcsim gemm M N K --numerics NAME --check eigen`: all elements of D, computed bit for bit as
the generation does, against double precision. The a-priori bound is that of block FMA (Blanchard, Higham, Lopez, Mary,
Pranesh, SIAM J. Sci. Comput. 42(3), 2020) with the rounding of each step:
T ((L + 1) 2^-F + 2^-23) sum |a||b|, T = K / L steps.
"""
import argparse
import json
import pathlib
import subprocess
import sys

# Name of the arithmetic; L and F of f16 with f32 accumulation, for the a-priori line of the plot.
GENERATIONS = [
    ("volta", 4, 23),
    ("turing", 8, 24),
    ("ampere", 8, 24),
    ("ada", 8, 24),
    ("hopper", 16, 25),
    ("blackwell", 16, 25),
]
# E|a||b| of two independent standard normal numbers.
MEAN_PRODUCT = 2 / 3.141592653589793


def find_program(given):
    root = pathlib.Path(__file__).resolve().parent.parent
    places = [given] if given else [root / "build" / kind / "sptcsim" for kind in ("release", "quickstart")]
    for place in places:
        if place and pathlib.Path(place).is_file():
            return str(place)
    sys.exit("error_by_generation.py: no sptcsim at " + ", ".join(str(p) for p in places) + "; build it, or --program")


def measure(program, generation, args, k):
    """Check block of one run, or None where the generation has no such instruction."""
    command = [program, "gemm", str(args.m), str(args.n), str(k), "--numerics", generation, "--dtype", args.dtype,
               "--variants", "dense", "--check", "eigen", "--format", "json", "--quiet", "--seed", str(args.seed)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 2 and "no arithmetic is known" in done.stderr:
        return None
    if done.returncode != 0:
        sys.exit(f"error_by_generation.py: {' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)["operations"][0]["dense"]["check"]


def print_table(results, args):
    print(f"{args.dtype}, {args.m} x {args.n} x K, N(0,1) operands, seed {args.seed}: worst error of all elements "
          "(of its proved bound)")
    print("| K | " + " | ".join(name for name, _, _ in GENERATIONS) + " |")
    print("|---:|" + "---:|" * len(GENERATIONS))
    for k in args.k:
        cells = []
        for name, _, _ in GENERATIONS:
            check = results[name, k]
            cells.append("-" if check is None else f"{check['worst_error']:.2e} ({check['worst_ratio']:.0%})")
        print(f"| {k} | " + " | ".join(cells) + " |")


def draw(results, args):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(figsize=(8, 5))
    arithmetics = {}
    for name, products, bits in GENERATIONS:
        if all(results[name, k] for k in args.k):
            arithmetics.setdefault((products, bits), []).append(name)
    for (products, bits), names in arithmetics.items():
        # tf32 elements are twice as wide, so half as many meet in a step.
        width = products // 2 if args.dtype == "tf32" else products
        errors = [results[names[0], k]["worst_error"] for k in args.k]
        (line,) = axes.loglog(args.k, errors, marker="o", label=", ".join(names))
        bounds = [k / width * ((width + 1) * 2.0 ** -bits + 2.0 ** -23) * MEAN_PRODUCT * k for k in args.k]
        axes.loglog(args.k, bounds, linestyle="--", color=line.get_color(),
                    label=f"a-priori bound, L = {width}, F = {bits}")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("K")
    axes.set_ylabel(f"worst |error| of {args.m} x {args.n} elements")
    axes.set_title(f"{args.dtype} GEMM, the same operands on every generation")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(args.plot, dpi=120)
    print(f"plot: {args.plot}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--m", type=int, default=256)
    parser.add_argument("--n", type=int, default=256)
    parser.add_argument("--k", type=int, nargs="+", default=[64, 256, 1024, 4096, 16384])
    parser.add_argument("--dtype", default="f16")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", metavar="FILE", help="write the plot as PNG or SVG")
    parser.add_argument("--program", metavar="SPTCSIM")
    args = parser.parse_args()
    program = find_program(args.program)
    results = {(name, k): measure(program, name, args, k) for name, _, _ in GENERATIONS for k in args.k}
    print_table(results, args)
    if args.plot:
        draw(results, args)


if __name__ == "__main__":
    main()
