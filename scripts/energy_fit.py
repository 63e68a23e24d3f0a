#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the two numbers of configs/energy that no publication gives, one to one reading each, and compares the rest.

operand_latch_pj_per_byte of a100-sxm4-80gb.json: an A100 at its 400 W limit, 88 W at rest, runs an f16 GEMM of 8192^3 at
257 TFLOP/s on N(0,1) and at 295 on zeros. node_scaling/7/logic of h800-pcie.json: an H800 at 350 W runs wgmma (f16, f32
accumulators) at 665.4 TFLOP/s on N(0,1) and at 728.5 on zeros.

The rate on zeros, which no power limit holds back, is taken as what the kernel reaches at the highest clock: the energies
do not depend on how well the simulated time agrees. Bytes and events are those of the kernels that the simulated library
chooses; of the H800's, nothing beyond the SMs counts, as in the microbenchmark that was read.

    scripts/energy_fit.py            # compare
    scripts/energy_fit.py --write    # fit, write the two numbers, compare; run it again after energies or counters change
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
EDGE = 8192
BEYOND_THE_SM = ("shared_memory_write", "l2", "interconnect", "hbm", "cuda_core_fma")
STATIC = ("leakage", "idle_sms", "constant", "board")
LOGIC = ("multiply", "align_add", "round", "instruction_issue", "cuda_core_fma", "operand_select")
REGISTERS = ("register_read", "register_write")


class Board:
    """One GPU as it was read. `ceiling`: TFLOP/s of its f16 kernel at `top_mhz` where power does not hold it back."""

    def __init__(self, arch, ceiling, top_mhz, limit_w, idle_w, microbenchmark):
        self.arch, self.ceiling, self.top_mhz = arch, ceiling, top_mhz
        self.limit_w, self.idle_w, self.microbenchmark = limit_w, idle_w, microbenchmark


A100 = Board("a100-sxm4-80gb", 295, 1410, 400, 88, False)
A100_PCIE = Board("a100-sxm4-80gb", 295, 1410, 250, 66.5, False)
H800 = Board("h800-pcie", 728.5, 1620, 350, None, True)

# board, type, data, relative to f16, published TFLOP/s, what
READINGS = (
    (A100, "f16", "random", 1, 257, "A100, 400 W, 8192^3 f16, N(0,1) (fitted)"),
    (A100, "f16", "integers", 1, 288, "the same, small integers"),
    (A100, "f16", "zeros", 1, 295, "the same, zeros (gives the ceiling)"),
    (A100_PCIE, "f16", "random", 1, 197.5, "A100 PCIe, 250 W, 8192^3 f16, N(0,1)"),
    (A100_PCIE, "bf16", "random", 1, 215.3, "the same, bf16"),
    (A100_PCIE, "tf32", "random", 0.5, 97.3, "the same, tf32"),
    (H800, "f16", "random", 1, 665.4, "H800, 350 W, wgmma f16, f32 accumulators, N(0,1) (fitted)"),
    (H800, "f16", "random/f16", 1, 704.5, "the same, f16 accumulators"),
    (H800, "e4m3", "random", 2, 1417.2, "e4m3, f32 accumulators"),
    (H800, "e4m3", "random/f16", 2, 1439.2, "e4m3, f16 accumulators"),
    (H800, "tf32", "random", 0.5, 357.1, "tf32"),
    (H800, "s8", "random", 2, 1442.3, "s8"),
    (H800, "f16", "zeros", 1, 728.5, "wgmma f16 on zeros, below 200 W (gives the ceiling)"),
)


def run(program, board, dtype, data, clock_mhz):
    command = [program, "gemm", *[str(EDGE)] * 3, "--arch", board.arch, "--dtype", dtype, "--data", data, "--clock",
               clock_mhz if isinstance(clock_mhz, str) else f"{clock_mhz:.3f}", "--variants", "dense", "--fidelity",
               "analytic", "--check", "none", "--quiet", "--format", "json"]
    command += ["--board-idle", str(board.idle_w)] if board.idle_w else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)["operations"][0]["dense"]


class Launch:
    """Joules by part, and watts at rest, of the kernel of a reading at one clock."""

    def __init__(self, program, board, dtype, data, clock_mhz):
        data, _, accumulators = data.partition("/")
        variant = run(program, board, dtype, data, clock_mhz)
        uj = {part: value for part, value in variant["energy_uj"].items() if part not in ("total", "low", "high")}
        self.rest_w = sum(uj.get(part, 0) for part in STATIC) / variant["time_us"]
        self.joules = {part: value * 1e-6 for part, value in uj.items()
                       if part not in STATIC and not (board.microbenchmark and part in BEYOND_THE_SM)}
        if accumulators == "f16":
            for part in REGISTERS:
                self.joules[part] /= 2

    def watts(self, tflops):
        return sum(self.joules.values()) / seconds(tflops) + self.rest_w


def seconds(tflops):
    return 2 * EDGE**3 / (tflops * 1e12)


def limited(program, board, dtype, data, factor):
    """(TFLOP/s, W) at the highest clock that the limit allows."""
    def at(mhz):
        tflops = board.ceiling * factor * mhz / board.top_mhz
        return tflops, Launch(program, board, dtype, data, mhz).watts(tflops)

    top = at(board.top_mhz)
    if top[1] <= board.limit_w:
        return top
    low, high = 210, board.top_mhz
    while high - low > 0.1:
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle)[1] <= board.limit_w else (low, middle)
    return at(low)


def factor_of(program, board, published, parts):
    """What `parts` must be multiplied with for the board to be at its limit where it was read."""
    launch = Launch(program, board, "f16", "random", board.top_mhz * published / board.ceiling)
    left = (board.limit_w - launch.rest_w) * seconds(published)
    fitted = sum(launch.joules.get(part, 0) for part in parts)
    return (left - sum(launch.joules.values()) + fitted) / fitted


def rewrite(name, *changes):
    """Multiplies the numbers that follow each of `changes`, (pattern, factor), in a file of configs/energy."""
    file = ROOT / "configs/energy" / f"{name}.json"
    text = file.read_text()
    for pattern, factor in changes:
        found = re.search(pattern + r'\{"value": ([0-9.e-]+)', text)
        value = f"{float(found[1]) * factor:.4g}"
        text = text[:found.start(1)] + value + text[found.end(1):]
        print(f"{name}: {pattern.strip()} {found[1]} -> {value}")
    json.loads(text)
    file.write_text(text)


def fit(program):
    rewrite(A100.arch, (r'"operand_latch_pj_per_byte": ', factor_of(program, A100, 257, ("operand_latch",))))
    logic = factor_of(program, H800, 665.4, LOGIC)
    rewrite(H800.arch, (r'"7": \{\s*"logic": ', logic), (r'"45": \{\s*"logic": ', logic))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/sptcsim"))
    parser.add_argument("--write", action="store_true", help="fit and write configs/energy/*.json")
    arguments = parser.parse_args()
    if arguments.write:
        fit(arguments.program)

    print(f"{'reading':<62} {'published':>9} {'model':>7} {'':>8} {'W':>6}")
    for board, dtype, data, factor, published, what in READINGS:
        tflops, watts = limited(arguments.program, board, dtype, data, factor)
        print(f"{what:<62} {published:>9} {tflops:>7.1f} {100 * (tflops / published - 1):>+7.1f}% {watts:>6.1f}",
              flush=True)
    print("\nwith the simulated time of the kernel that the library chooses (A100, 400 W, 88 W at rest):")
    rates = {}
    for data, published in (("random", 257), ("integers", 288), ("zeros", 295)):
        variant = run(arguments.program, A100, "f16", data, "limited")
        rates[data] = variant["tflops"]
        print(f"  {data:<9} {variant['tflops']:6.1f} TFLOP/s at {variant['clock_mhz']:6.1f} MHz, {variant['power_w']:5.1f} W; "
              f"published {published}; over random {rates[data] / rates['random']:.3f}, published {published / 257:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
