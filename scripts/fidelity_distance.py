#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far the model is from itself, on random launches: closed form and SystemC, cycles that are carried on and all of them.

Draws GPUs in turn and shapes, f16 or s8, dense or 2:4 where the GPU has it, and prints mean, bias, the share beyond 2 % and the
worst launches.

    scripts/fidelity_distance.py                          # times of SystemC against --fidelity analytic
    scripts/fidelity_distance.py --against whole          # cycles and times against those of --no-extrapolate
    scripts/fidelity_distance.py --change                 # the first, each launch on a GPU with one number halved or doubled
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DENSE_ONLY = ("rtx2080ti", "t4", "v100-sxm2-16gb")
NUMBERS = {"L2 rate": ("/memory/l2_bytes_per_cycle",), "SMs": ("/sms",), "banks": ("/sm/shared_memory_banks",),
           "ports of SMs": ("/memory/sm_port_bytes_per_cycle",), "DRAM": ("/memory/dram_gb_per_s",),
           "clock": ("/boost_clock_mhz",),
           "dot units": ("/sm/tensor_core/dot_units", "/sm/tensor_core/f32_dot_units",
                         "/sm/tensor_core/selector_bytes_per_cycle", "/sm/tensor_core/f64_multipliers"),
           "L2 capacity": ("/memory/l2_capacity_bytes",)}


class Program:
    def __init__(self, path):
        self.path = path

    def json(self, *arguments):
        """What the program prints, or None where it refuses."""
        done = subprocess.run([self.path, *arguments, "--format", "json"], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def gemm(self, launch, *options):
        arch, shape, dtype, variant = launch
        result = self.json("gemm", *map(str, shape), "--arch", arch, "--dtype", dtype, "--variants", variant, "--check", "none",
                           "--quiet", *options)
        return result and result["operations"][0][variant]


def changed(program, arch, folder, rng):
    """The path of a design with one number halved or doubled, and what was changed."""
    what, factor = rng.choice(list(NUMBERS)), rng.choice((0.5, 2))
    values = {number["pointer"]: number["value"] for number in program.json("arch", "show", arch)["parameters"]}
    design = {"base": arch, "name": "changed"}
    for pointer in NUMBERS[what]:
        value = values[pointer] * factor
        if value > 0:
            inner = design
            *sections, key = pointer.split("/")[1:]
            for section in sections:
                inner = inner.setdefault(section, {})
            whole = isinstance(values[pointer], int)
            inner[key] = {"value": int(value) if whole else value, "evidence": "assumed", "source": "what if"}
    path = pathlib.Path(folder) / "changed.json"
    path.write_text(json.dumps(design))
    return str(path), f"{what} x {factor:g}"


def draw(rng, arch):
    low, high = 6, 12.5
    m, n, k = (int(2 ** rng.uniform(low, high)) for _ in range(3))
    variant = "dense" if arch in DENSE_ONLY or rng.random() < 0.5 else "sparse"
    dtype = "s8" if arch != "v100-sxm2-16gb" and rng.random() < 0.3 else "f16"
    return arch, (m, n, k // 8 * 8), dtype, variant


def distances(program, launch, against, l2):
    """By figure, how much longer the first of two takes, as a share; nothing where one refuses."""
    figures, options = ((("cycles", "time_us"), ("--no-extrapolate",)) if against == "whole" else
                        (("time_us",), ("--fidelity", "analytic")))
    first, second = program.gemm(launch, "--l2", l2), program.gemm(launch, *options, "--l2", l2)
    return {figure: first[figure] / second[figure] - 1 for figure in figures} if first and second else {}


def report(title, found, worst):
    sizes = [abs(share) for share, _ in found]
    beyond = sum(size > 0.02 for size in sizes)
    print(f"{title}: {len(found)} launches, mean {100 * statistics.mean(sizes):.2f} %, bias "
          f"{100 * statistics.mean(share for share, _ in found):+.2f} %, {beyond} beyond 2 %")
    for share, launch in sorted(found, key=lambda one: -abs(one[0]))[:worst]:
        print(f"    {100 * share:+6.1f} %  {launch}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", choices=("analytic", "whole"), default="analytic")
    parser.add_argument("--change", action="store_true", help="one number of each GPU halved or doubled")
    parser.add_argument("--l2", default="cold", help="what the L2 holds when a launch begins: cold, warm or rotate:N")
    parser.add_argument("--launches", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worst", type=int, default=5)
    parser.add_argument("--program", default=str(ROOT / "build/release/sptcsim"))
    arguments = parser.parse_args()
    program, rng = Program(arguments.program), random.Random(arguments.seed)
    architectures = sorted(path.stem for path in (ROOT / "configs").glob("*.json"))
    found, refused = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.launches):
            arch = architectures[number % len(architectures)]
            launch, what = draw(rng, arch), "as shipped"
            name = f"{arch} {' x '.join(map(str, launch[1]))} {launch[2]} {launch[3]}"
            if arguments.change:
                path, what = changed(program, arch, folder, rng)
                launch, name = (path, *launch[1:]), f"{name}, {what}"
            shares = distances(program, launch, arguments.against, arguments.l2)
            refused += not shares
            for figure, share in shares.items():
                found.setdefault(f"{what}, {figure}", []).append((share, name))
    for what in sorted(found):
        report(what, found[what], 1 if arguments.change else arguments.worst)
    print(f"{arguments.launches} drawn, {refused} refused, seed {arguments.seed}")


if __name__ == "__main__":
    main()
