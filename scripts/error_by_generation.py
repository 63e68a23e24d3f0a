#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A table: the error of the same GEMM on every generation of tensor cores.

    scripts/error_by_generation.py                          # table for 256 x 256 x K
    scripts/error_by_generation.py --dtype bf16 --k 256 4096 --program build/release/sptcsim

Each figure is one run of `sptcsim gemm M N K --numerics NAME --check eigen`: all elements of D, computed bit for bit as
the generation does, against double precision. In brackets stands its share of the bound that `--check eigen` proves.
"""
import argparse
import json
import pathlib
import subprocess
import sys

GENERATIONS = ("volta", "turing", "ampere", "ada", "hopper", "blackwell")


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
    print("| K | " + " | ".join(GENERATIONS) + " |")
    print("|---:|" + "---:|" * len(GENERATIONS))
    for k in args.k:
        cells = []
        for name in GENERATIONS:
            check = results[name, k]
            cells.append("-" if check is None else f"{check['worst_error']:.2e} ({check['worst_ratio']:.0%})")
        print(f"| {k} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--m", type=int, default=256)
    parser.add_argument("--n", type=int, default=256)
    parser.add_argument("--k", type=int, nargs="+", default=[64, 256, 1024, 4096, 16384])
    parser.add_argument("--dtype", default="f16")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--program", metavar="SPTCSIM")
    args = parser.parse_args()
    program = find_program(args.program)
    results = {(name, k): measure(program, name, args, k) for name in GENERATIONS for k in args.k}
    print_table(results, args)


if __name__ == "__main__":
    main()
