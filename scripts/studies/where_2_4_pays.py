#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where 2:4 pays: runs configs/sweeps/where-2-4-pays and writes its figures and tables.

    scripts/studies/where_2_4_pays.py [--program build/release/sptcsim] [--jobs 2]
"""
import re

import figure
from study import Study, arguments, table

# Title, what the size counts, and the name of the workload with the size in it.
FAMILIES = [("BERT-Large, sequences of 384", "batch", r"BERT-Large .* batch (\d+)"),
            ("ResNet-50 v1.5", "batch", r"ResNet-50 .* batch (\d+)"),
            ("Llama-3-70B, prefill", "tokens", r"llama3_70b prefill_b1_s(\d+)"),
            ("Llama-3-70B, decode", "batch", r"llama3_70b decode_b(\d+)_")]
RESNET_LAYERS = ["layer1.0.conv1", "layer1.0.conv2", "layer1.0.conv3", "layer2.1.conv1", "layer2.1.conv2", "layer2.1.conv3",
                 "layer3.1.conv1", "layer3.1.conv2", "layer3.1.conv3", "layer4.1.conv1", "layer4.1.conv2", "layer4.1.conv3", "fc"]
BANDWIDTHS = [(1019.5, "half (1020 GB/s)"), (2039, "A100 (2039 GB/s)"), (4078, "twice (4078 GB/s)")]
A100 = 2039


def size_of(workload):
    return next(int(found[1]) for _, _, pattern in FAMILIES if (found := re.match(pattern, workload)))


def by_operation(row):
    return [op for op in row["operations"] if op["sparse"]]


def share(row):
    """Of the dense time: what 2:4 leaves as it is."""
    dense = sum(op["count"] * op["dense"]["time_us"] for op in row["operations"])
    kept = sum(op["count"] * op["dense"]["time_us"] for op in row["operations"] if not op["sparse"])
    return kept / dense


def bound_shares(row, variant):
    """Of the time of the prunable GEMMs: what bounds them."""
    total, shares = 0, {}
    for op in by_operation(row):
        time = op["count"] * op[variant]["time_us"]
        total += time
        shares[op[variant]["bound_by"]] = shares.get(op[variant]["bound_by"], 0) + time
    return ", ".join(f"{name} {100 * part / total:.0f} %" for name, part in sorted(shares.items(), key=lambda x: -x[1]))


def main():
    study = Study("where-2-4-pays", arguments(__doc__))
    rows = study.sweep("networks")
    families = {title: sorted((row for row in rows if re.match(pattern, row["workload"])), key=lambda row: size_of(row["workload"]))
                for title, _, pattern in FAMILIES}

    panels = []
    for title, axis, _ in FAMILIES:
        sizes = sorted({size_of(row["workload"]) for row in families[title]})
        lines = [(name, [(size_of(row["workload"]), row["speedup"]) for row in families[title] if row["dram"] == dram])
                 for dram, name in BANDWIDTHS]
        panels.append(figure.Panel(title, "speed-up of all GEMMs, dense time / 2:4 time", sizes, lines=lines, x_title=axis,
                                   y_from=1, y_to=2, reference=1))
    figure.write(study.folder / "by_batch.svg", panels, title="Speed-up of 2:4 by batch and DRAM bandwidth")

    panels = []
    for title, axis, _ in FAMILIES:
        stock = [row for row in families[title] if row["dram"] == A100]
        first, last = stock[0], stock[-1]
        names = [op["name"] for op in by_operation(last)]
        if "fc" in names:
            names = RESNET_LAYERS
        bars = []
        for row in (first, last):
            speedups = {op["name"]: op["speedup"] for op in by_operation(row)}
            bars.append((("smallest" if row is first else "largest") + " size", [(name, speedups.get(name)) for name in names]))
        panels.append(figure.Panel(f"{title}: {axis} {size_of(first['workload'])} and {size_of(last['workload'])}",
                                   "speed-up of one GEMM (y axis from 0)", names, bars=bars, y_from=0, y_to=2, reference=1))
    figure.write(study.folder / "by_layer.svg", panels, title="Speed-up of 2:4 by layer on the A100", bottom=110)

    cells = []
    for title, axis, _ in FAMILIES:
        for row in families[title]:
            if row["dram"] == A100:
                same = {r["dram"]: r for r in families[title] if r["workload"] == row["workload"]}
                cells.append([f"{title}, {axis} {size_of(row['workload'])}", f"{row['dense_time_us'] / 1000:.2f}",
                              f"{row['speedup']:.2f}", f"{same[1019.5]['speedup']:.2f}", f"{same[4078]['speedup']:.2f}",
                              f"{100 * share(row):.0f} %", f"{row['performance_per_watt_ratio']:.2f}",
                              bound_shares(row, "dense"), bound_shares(row, "sparse")])
    study.fill("networks", table(["network", "dense ms", "speed-up", "half DRAM", "twice DRAM", "time left dense", "per joule",
                                  "dense bound by", "2:4 bound by"], cells))

    cells = []
    for title, axis, _ in FAMILIES:
        for row in (r for r in families[title] if r["dram"] == A100):
            ops = sorted(by_operation(row), key=lambda op: op["speedup"])
            for op, which in ((ops[0], "least"), (ops[-1], "most")):
                cells.append([f"{title}, {axis} {size_of(row['workload'])}", which, op["name"],
                              f"{op['m']} x {op['n']} x {op['k']}" + (f", batch {op['batch']}" if op["batch"] > 1 else ""),
                              f"{op['dense']['time_us']:.1f}", f"{op['speedup']:.2f}", op["dense"]["bound_by"],
                              op["sparse"]["bound_by"]])
    study.fill("layers", table(["network", "gains", "layer", "M x N x K", "dense us", "speed-up", "dense bound by",
                                "2:4 bound by"], cells))


if __name__ == "__main__":
    main()
