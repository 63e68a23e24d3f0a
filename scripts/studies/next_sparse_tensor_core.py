#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the next sparse tensor core is worth: runs configs/sweeps/next-sparse-tensor-core and writes its figure and tables.

    scripts/studies/next_sparse_tensor_core.py [--program build/release/sptcsim] [--jobs 2]
"""
import json
import pathlib
import re

import figure
from study import Study, arguments, spread, table

PATTERNS = ["2:4", "1:4", "4:8", "2:8"]
WIDTHS = {48: "0.75x", 64: "1x", 96: "1.5x", 128: "2x"}
WORKLOADS = {"decode": "Llama-3-70B, a token, bf16", "prefill": "Llama-3-70B, 2,048 tokens, e4m3", "resnext": "ResNeXt-101 32x16d, 64 images, s8"}
DRAM = 3350
BASE = "h100-sxm5-80gb"


def at(rows, pattern, width, dram=DRAM):
    return next(row for row in rows if row["pattern"] == pattern and row["sm_port"] == width and row.get("dram_gb_per_s", DRAM) == dram)


def bound(row):
    """What bounds most of the time of the weights that are pruned."""
    times = {}
    for op in row["operations"]:
        if op["sparse"]:
            what = op["sparse"]["bound_by"]
            times[what] = times.get(what, 0) + op["count"] * op["sparse"]["time_us"]
    return max(times, key=times.get)


def worth(study, results):
    """By workload and pattern: gain in time and per joule over dense, and what the area of the core makes of it."""
    cells = []
    for name, title in WORKLOADS.items():
        sold = at(results[name], "2:4", 64)
        for pattern in PATTERNS:
            row, wide = at(results[name], pattern, 64), at(results[name], pattern, 128)
            area = row["tensor_core_area_mm2"] / sold["tensor_core_area_mm2"]
            cells.append([title, pattern, f"{row['speedup']:.2f} ({bound(row)})", f"{row['performance_per_watt_ratio']:.2f}",
                          f"{row['speedup'] / sold['speedup']:.2f}", f"{row['speedup'] / sold['speedup'] / area:.2f}",
                          f"{wide['speedup']:.2f} ({bound(wide)})", f"{wide['performance_per_watt_ratio']:.2f}"])
    study.fill("worth", table(["work", "pattern", "gain in time", "work per joule", "time, over 2:4", "the same per mm2 of tensor cores",
                               "time, paths 2x", "per joule, paths 2x"], cells))


def area(study):
    """Of the selectors: area with the table's numbers as they are, all low and all high."""
    cells = []
    for pattern in PATTERNS:
        kept, inputs = map(int, pattern.split(":"))
        changes = {key: {"value": value, "evidence": "assumed", "source": "a design of the study"}
                   for key, value in (("selector_inputs", inputs), ("selector_kept", kept)) if value != {"selector_inputs": 4, "selector_kept": 2}[key]}
        design = BASE
        if changes:
            design = pathlib.Path(study.temporary.name) / "design.json"
            design.write_text(json.dumps({"base": BASE, "name": "design", "sm": {"tensor_core": changes}}), encoding="utf-8")
        out = study.run("energy", "area", str(design))
        added = re.search(r"sparsity adds ([\d.]+) % to the core \(([\d.]+) with all numbers low, ([\d.]+) high\)", out)
        cores = re.search(r"cores take ([\d.]+) mm2 \(([\d.]+) to ([\d.]+)\)", out)
        cells.append([pattern, f"{added[1]} %", f"{added[2]}, {added[3]} %", cores[1], f"{cores[2]} to {cores[3]}"])
    study.fill("area", table(["selector", "added to a dense core", "all numbers low, high", "all cores, mm2", "low to high"], cells))
    return {row[0]: [float(number.strip(" %")) for number in [row[1], *row[2].split(",")]] for row in cells}


def draw(study, results):
    panels = []
    for name, title in WORKLOADS.items():
        lines = [(pattern, [(label, at(results[name], pattern, width)["speedup"]) for width, label in WIDTHS.items()]) for pattern in PATTERNS]
        panels.append(figure.Panel(title, "speed-up over dense on the same paths", list(WIDTHS.values()), lines=lines,
                                   x_title="L2, SM ports, shared memory, metadata port", y_from=0.8, y_to=3.2, reference=1))
    figure.write(study.folder / "paths.svg", panels, columns=3, width=270, title="H100 with other selectors: gain of sparse weights by the width of the on-chip paths")


def say(study, results, added):
    gain = lambda name, pattern, width=64, **dram: at(results[name], pattern, width, **dram)["speedup"]
    joules = lambda name, pattern, width=64: at(results[name], pattern, width)["performance_per_watt_ratio"]
    decode = [gain("decode", "1:4", width) for width in WIDTHS]
    ratios = [gain("prefill", "1:4", width) / gain("prefill", "2:4", width) for width in WIDTHS]
    study.expect(bound(at(results["decode"], "1:4", 64)) == "hbm", "DRAM bounds decode at 1:4")
    study.expect(gain("decode", "1:4") > gain("decode", "2:8") > gain("decode", "2:4") > gain("decode", "4:8"), "the order of the patterns in decode")
    study.expect(bound(at(results["resnext"], "2:4", 64)) == "l2", "the L2 bounds ResNeXt")
    study.expect(gain("resnext", "1:4") < gain("resnext", "2:4", 128), "ResNeXt gains more from the L2 than from the pattern")
    study.expect(ratios == sorted(ratios) and ratios[-1] > ratios[0] + 0.1, "the wider the paths, the more 1:4 gains beyond 2:4 in prefill")
    study.fill("shows", f"""
- **Decode is where a sparser pattern pays.** DRAM bounds a token, and 1:4 reads {gain("decode", "1:4"):.2f} times as fast as dense, 2:4
  {gain("decode", "2:4"):.2f} times; per joule it is {joules("decode", "1:4"):.2f} and {joules("decode", "2:4"):.2f}. No assumed path matters: from 0.75x to 2x the gain of
  1:4 stays at {spread(decode)}. With twice the DRAM rate it is {gain("decode", "1:4", dram=6700):.2f}.
- **Prefill is decided by paths that no document states.** On the H100's assumed port of 64 bytes per cycle and SM, 1:4 gains
  {gain("prefill", "1:4"):.2f} and 2:4 {gain("prefill", "2:4"):.2f}. At 0.75x they gain {gain("prefill", "1:4", 48):.2f} and {gain("prefill", "2:4", 48):.2f}, at 2x {gain("prefill", "1:4", 128):.2f} and
  {gain("prefill", "2:4", 128):.2f}. Wider paths are worth as much as the selector there. Per joule 1:4 gains {joules("prefill", "1:4"):.2f} and 2:4 {joules("prefill", "2:4"):.2f}.
- **ResNeXt wants an L2 before a selector.** On the H100's L2, 2:4 gains {gain("resnext", "2:4"):.2f} and 1:4 {gain("resnext", "1:4"):.2f}; on one twice as
  fast {gain("resnext", "2:4", 128):.2f} and {gain("resnext", "1:4", 128):.2f}. The joules are less choosy: {joules("resnext", "2:4"):.2f} and {joules("resnext", "1:4"):.2f} on the H100 as it is.
- **4:8 asks for more than it gives here.** It multiplies as often as 2:4, with longer indices, and is {100 * (1 - gain("decode", "4:8") / gain("decode", "2:4")):.0f} % slower in decode. What
  it buys is accuracy, which this page does not judge.
- **The silicon is small, whichever numbers hold.** Sparsity adds {added["1:4"][0]} % to a dense core with a 1:4 selector ({added["1:4"][1]} with all
  numbers low, {added["1:4"][2]} high), and {added["2:4"][0]} % with that of 2:4 ({added["2:4"][1]}, {added["2:4"][2]}).""")


def main():
    study = Study("next-sparse-tensor-core", arguments(__doc__))
    results = {name: study.sweep(name) for name in WORKLOADS}
    worth(study, results)
    draw(study, results)
    say(study, results, area(study))
    study.finish()


if __name__ == "__main__":
    main()
