#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the numbers of an architecture that no data sheet has are worth.

Halves and doubles each number of an architecture whose evidence is not "cited", one at a time as a derived design, and
prints how far the times of a few GEMMs move, in percent: halved and doubled, the dense launch and the 2:4 one; "-" where the
number cannot be that alone. Numbers that move nothing are listed behind the table. configs/CALIBRATION.md has the rows of the
A100.

    scripts/parameter_effects.py --also l1_latency_cycles
    scripts/parameter_effects.py --arch h100-sxm5-80gb 4096x4096x4096 512x512x512
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
VARIANTS = ("dense", "sparse")
FACTORS = (0.5, 2)


def numbers(program, arch, also):
    """(path, value) of every number that is not cited, or named in `also`."""
    done = subprocess.run([program, "arch", "show", arch, "--format", "json"], capture_output=True, text=True, check=True)
    for number in json.loads(done.stdout)["parameters"]:
        path = tuple(number["pointer"].split("/")[1:])
        if number["evidence"] != "cited" or path[-1] in also:
            yield path, number["value"]


def derived(base, path, value):
    document = {"value": value, "evidence": "assumed", "source": "what if"}
    for key in reversed(path):
        document = {key: document}
    return {"base": base, "name": "changed", **document}


def scaled(path, value, factor):
    """`value` times `factor` as the file may have it: whole where it is, and no share beyond 100 %."""
    result = value * factor
    if value == int(value) and not path[-1].endswith(("_percent", "_ns", "_us")):
        result = int(result)
    return min(result, 100) if path[-1].endswith("_percent") else result


def times(program, arch, shapes, options):
    """Microseconds of each shape and variant; None where the design cannot be."""
    result = []
    for shape in shapes:
        command = [program, "gemm", *shape.split("x"), "--arch", arch, "--check", "none", "--quiet", "--format", "json"]
        done = subprocess.run([*command, *options], capture_output=True, text=True)
        if done.returncode != 0:
            return None
        operation = json.loads(done.stdout)["operations"][0]
        result.append([operation[variant]["time_us"] for variant in VARIANTS if operation[variant]])
    return result


def effects(arguments, path, value, base, options):
    """Per shape a text for halved and one for doubled, and whether anything moved or, None, none of them can be."""
    cells, moved = [[] for _ in arguments.shapes], None
    for factor in FACTORS:
        other = scaled(path, value, factor)
        found = None
        if other != value:
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "changed.json"
                file.write_text(json.dumps(derived(arguments.arch, path, other)))
                found = times(arguments.program, str(file), arguments.shapes, options)
        for i, cell in enumerate(cells):
            if found is None:
                cell.append("-")
                continue
            changes = [100 * (new / old - 1) for new, old in zip(found[i], base[i])]
            moved = bool(moved) or any(abs(change) >= 0.05 for change in changes)
            cell.append(", ".join("0" if abs(change) < 0.05 else f"{change:+.1f}" for change in changes))
    return [text for cell in cells for text in cell], moved


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", default=["4096x4096x4096", "8192x16x8192", "4096x4096x128"])
    parser.add_argument("--arch", default="a100-sxm4-80gb", help="a shipped architecture")
    parser.add_argument("--also", nargs="*", default=[], help="cited numbers beside the others")
    parser.add_argument("--fidelity", nargs="*", default=["timing", "analytic"])
    parser.add_argument("--program", default=str(ROOT / "build/release/sptcsim"))
    arguments = parser.parse_args()

    for fidelity in arguments.fidelity:
        options = ["--fidelity", fidelity]
        base = times(arguments.program, arguments.arch, arguments.shapes, options)
        if base is None:
            sys.exit(f"{arguments.arch} cannot run these shapes")
        heads = [f"{shape} {which}" for shape in arguments.shapes for which in ("halved", "doubled")]
        print(f"| {fidelity} | value | {' | '.join(heads)} |\n|---|---|{'---:|' * len(heads)}")
        still, fixed = [], []
        for path, value in numbers(arguments.program, arguments.arch, arguments.also):
            cells, moved = effects(arguments, path, value, base, options)
            if moved:
                print(f"| `{path[-1]}` | {value:g} | {' | '.join(cells)} |", flush=True)
            else:
                (fixed if moved is None else still).append(path[-1])
        print(f"\nNothing moves by 0.05 %: {', '.join(still)}\nCannot be changed alone: {', '.join(fixed)}\n")


if __name__ == "__main__":
    main()
