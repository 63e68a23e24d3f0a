#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much the headline figures depend on the energies that nobody has measured.

Runs a workload with every number of an energy file that has a range at its low and at its high end, one at a time, and
prints what that does to time, energy and performance per watt of 2:4 against dense, largest effect first.

    scripts/energy_sensitivity.py traces/bert_large.json -- --dim batch=8 --clock limited --fidelity analytic
    scripts/energy_sensitivity.py --top 10 traces/resnext101_32x16d.json -- --dim batch=256 --clock limited --data relu
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def ranged(node, path=()):
    """(path, low, high) of every number with a range that enters a run."""
    if isinstance(node, dict):
        if "value" in node:
            if "range" in node and path[0] != "area":
                yield path, *node["range"]
            return
        for key, child in node.items():
            yield from ranged(child, (*path, key))


def with_value(document, path, value):
    changed = json.loads(json.dumps(document))
    place = changed
    for key in path:
        place = place[key]
    place["value"] = value
    return changed


def totals(program, workload, document, options):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "energy.json"
        file.write_text(json.dumps(document))
        command = [program, "run", workload, "--energy", str(file), "--check", "none", "--quiet", "--format", "json"]
        done = subprocess.run([*command, *options], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)["totals"]


def figures(result):
    return (result["dense"]["tflops"], result["dense"]["pj_per_flop"], result["speedup"],
            result["performance_per_watt_ratio"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload")
    parser.add_argument("--energy", default=str(ROOT / "configs/energy/a100-sxm4-80gb.json"), help="energy file")
    parser.add_argument("--program", default=str(ROOT / "build/release/sptcsim"))
    parser.add_argument("--top", type=int, default=15, help="rows to print")
    parser.add_argument("options", nargs="*", default=["--clock", "limited", "--fidelity", "analytic"],
                        help="of sptcsim run, after --")
    arguments = parser.parse_args()

    document = json.loads(pathlib.Path(arguments.energy).read_text())
    base = figures(totals(arguments.program, arguments.workload, document, arguments.options))
    rows = []
    for path, low, high in ranged(document):
        ends = []
        for value in (low, high):
            changed = with_value(document, path, value)
            ends.append(figures(totals(arguments.program, arguments.workload, changed, arguments.options)))
        effect = max(abs(end[i] / base[i] - 1) for end in ends for i in range(4))
        rows.append((effect, "/".join(path), low, high, ends))
    rows.sort(key=lambda row: -row[0])

    print(f"{'number':<36} {'range':>17} {'dense TFLOP/s':>17} {'dense pJ/flop':>17} {'speed-up':>13} {'perf/W':>13}")
    print(f"{'as in the file':<36} {'':>17} {base[0]:>17.1f} {base[1]:>17.3f} {base[2]:>13.3f} {base[3]:>13.3f}")
    for _, name, low, high, (at_low, at_high) in rows[:arguments.top]:
        print(f"{name:<36} {f'{low:g} to {high:g}':>17} {f'{at_low[0]:.1f} to {at_high[0]:.1f}':>17} "
              f"{f'{at_low[1]:.3f} to {at_high[1]:.3f}':>17} {f'{at_low[2]:.3f} to {at_high[2]:.3f}':>13} "
              f"{f'{at_low[3]:.3f} to {at_high[3]:.3f}':>13}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
