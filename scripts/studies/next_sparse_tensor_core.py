#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the next sparse tensor core is worth: runs configs/sweeps/next-sparse-tensor-core and writes its figure and table.

    scripts/studies/next_sparse_tensor_core.py [--program build/release/sptcsim] [--jobs 2]
"""
import json
import pathlib
import re

import figure
from study import Study, arguments, table

PATTERNS = ["2:4", "1:4", "4:8", "2:8"]
WIDTHS = {48: "0.75x", 64: "1x", 96: "1.5x", 128: "2x"}
WORKLOADS = {"decode": "Llama-3-70B, a token, bf16", "prefill": "Llama-3-70B, 2,048 tokens, e4m3", "resnext": "ResNeXt-101 32x16d, 64 images, s8"}
BASE = "h100-sxm5-80gb"


def at(rows, pattern, width):
    return next(row for row in rows if row["pattern"] == pattern and row["sm_port"] == width)


def bound(row):
    """What bounds most of the time of the weights that are pruned."""
    times = {}
    for op in row["operations"]:
        if op["sparse"]:
            what = op["sparse"]["bound_by"]
            times[what] = times.get(what, 0) + op["count"] * op["sparse"]["time_us"]
    return max(times, key=times.get)


def worth(study, results, added):
    """By workload and pattern: gain in time over dense, and with paths twice as wide."""
    cells = []
    for name, title in WORKLOADS.items():
        gains = [[at(results[name], pattern, width)["speedup"] for width in (64, 128)] for pattern in PATTERNS]
        cells.append([title, *(f"{stock:.2f} ({wide:.2f})" for stock, wide in gains)])
    cells.append(["area over a dense core, %", *(added[pattern] for pattern in PATTERNS)])
    study.fill("worth", table(["work", *PATTERNS], cells))


def area(study):
    """Of each pattern: what its selector adds to a dense core, in per cent."""
    sold, added = {"selector_inputs": 4, "selector_kept": 2}, {}
    for pattern in PATTERNS:
        kept, inputs = map(int, pattern.split(":"))
        changes = {key: {"value": value, "evidence": "assumed", "source": "a design of the study"}
                   for key, value in (("selector_inputs", inputs), ("selector_kept", kept)) if value != sold[key]}
        design = BASE
        if changes:
            design = pathlib.Path(study.temporary.name) / "design.json"
            design.write_text(json.dumps({"base": BASE, "name": "design", "sm": {"tensor_core": changes}}), encoding="utf-8")
        added[pattern] = re.search(r"sparsity adds ([\d.]+) % to the core", study.run("energy", "area", str(design)))[1]
    return added


def draw(study, results):
    panels = []
    for name, title in WORKLOADS.items():
        lines = [(pattern, [(label, at(results[name], pattern, width)["speedup"]) for width, label in WIDTHS.items()]) for pattern in PATTERNS]
        panels.append(figure.Panel(title, "speed-up over dense on the same paths", list(WIDTHS.values()), lines=lines,
                                   x_title="L2, SM ports, shared memory, metadata port", y_from=0.8, y_to=3.2, reference=1))
    figure.write(study.folder / "paths.svg", panels, columns=3, width=270, title="H100 with other selectors: gain of sparse weights by the width of the on-chip paths")


def say(study, results):
    gain = lambda name, pattern, width=64: at(results[name], pattern, width)["speedup"]
    joules = lambda name, pattern, width=64: at(results[name], pattern, width)["performance_per_watt_ratio"]
    ratios = [gain("prefill", "1:4", width) / gain("prefill", "2:4", width) for width in WIDTHS]
    study.expect(bound(at(results["decode"], "1:4", 64)) == "hbm", "DRAM bounds decode at 1:4")
    study.expect(gain("decode", "1:4") > gain("decode", "2:8") > gain("decode", "2:4") > gain("decode", "4:8"), "the order of the patterns in decode")
    study.expect(bound(at(results["resnext"], "2:4", 64)) == "l2", "the L2 bounds ResNeXt")
    study.expect(gain("resnext", "1:4") < gain("resnext", "2:4", 128), "ResNeXt gains more from the L2 than from the pattern")
    study.expect(ratios == sorted(ratios) and ratios[-1] > ratios[0] + 0.1, "the wider the paths, the more 1:4 gains beyond 2:4 in prefill")
    study.fill("shows", f"""
- **Decode is where a sparser pattern pays.** DRAM bounds it. Per joule 1:4 gains {joules("decode", "1:4"):.2f}, 2:4 {joules("decode", "2:4"):.2f}.
- **Prefill hangs on paths that no document states.** Per joule 1:4 gains {joules("prefill", "1:4"):.2f}, 2:4 {joules("prefill", "2:4"):.2f}.
- **ResNeXt wants an L2 before a selector.**""")


def main():
    study = Study("next-sparse-tensor-core", arguments(__doc__))
    results = {name: study.sweep(name) for name in WORKLOADS}
    worth(study, results, area(study))
    draw(study, results)
    say(study, results)
    study.finish()


if __name__ == "__main__":
    main()
