#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What patterns beyond 2:4 need: runs configs/sweeps/beyond-2-4 and writes its figures and tables.

    scripts/studies/beyond_2_4.py [--program build/release/sptcsim] [--jobs 2]
"""
import csv
import re

import figure
from study import Study, arguments, table

PATTERNS = ["2:4", "1:4", "4:8", "2:8"]
IDEAL = {"2:4": 2, "1:4": 4, "4:8": 2, "2:8": 4, "6:8": 8 / 6}
WIDTHS = {128: "1x", 256: "2x", 512: "4x"}
L2 = {64: "1x", 128: "2x", 256: "4x"}
METADATA = {20.6: "1x", 82.4: "4x"}


def best(rows, by="sparse_time_us", **wanted):
    """Of the instructions with 16 and with 32 bytes of A per row, the quicker one: what a kernel would use."""
    fitting = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    return min(fitting, key=lambda row: row[by])


def bound(row):
    return row["operations"][0]["sparse"]["bound_by"]


def one_gemm(study):
    rows = study.sweep("paths")
    at = lambda pattern, b, l2, metadata: best(rows, by="sparse_cycles", pattern=pattern, b_port=b, sm_port=l2, metadata_port=metadata)
    # Against dense on the A100 itself: wider paths help dense too. Cycles of the model, not times: those are scaled to
    # the kernels that libraries have, and no library has these.
    stock_row = best(rows, pattern="2:4", b_port=128, sm_port=64, metadata_port=20.6, mma_k_bytes=32)
    dense, joules, core = (stock_row[key] for key in ("dense_cycles", "dense_energy_uj_total", "tensor_core_area_mm2"))
    speedup = lambda row: dense / row["sparse_cycles"]
    panels = []
    for l2, name in L2.items():
        lines = [(pattern, [(width, speedup(at(pattern, b, l2, 82.4))) for b, width in WIDTHS.items()]) for pattern in PATTERNS]
        panels.append(figure.Panel(f"L2 and SM ports {name}", "speed-up over dense on the A100", list(WIDTHS.values()), lines=lines,
                                   x_title="register port of B and shared memory", y_from=1, y_to=4, reference=2))
    figure.write(study.folder / "paths.svg", panels, columns=3, width=260,
                 title="4096 x 4096 x 4096, f16, metadata port 4x: speed-up by pattern and by the width of what feeds it")

    cells = []
    for pattern in PATTERNS:
        widths = sorted(((b / 128) * (l2 / 64) * (port / 20.6), b, l2, port) for b in WIDTHS for l2 in L2 for port in METADATA)
        enough = next(((b, l2, port) for _, b, l2, port in widths if speedup(at(pattern, b, l2, port)) >= 0.85 * IDEAL[pattern]), None)
        stock, widest = at(pattern, 128, 64, 20.6), at(pattern, 512, 256, 82.4)
        needs = ("not reached" if enough is None else
                 f"B {WIDTHS[enough[0]]}, L2 {L2[enough[1]]}, metadata {METADATA[enough[2]]}")
        cells.append([pattern, f"{IDEAL[pattern]:.2f}", f"{speedup(stock):.2f} ({bound(stock)})", f"{speedup(widest):.2f} ({bound(widest)})",
                      needs, f"{100 * (stock['tensor_core_area_mm2'] / core - 1):+.1f} %", f"{stock['tensor_core_area_mm2'] - core:+.2f}",
                      f"{joules / stock['sparse_energy_uj_total']:.2f}", f"{joules / widest['sparse_energy_uj_total']:.2f}"])
    study.fill("gemm", table(["pattern", "ideal", "A100 paths", "widest paths", "85 % of ideal needs", "area of the tensor cores", "mm2",
                              "work per joule, A100 paths", "widest"], cells))


def networks(study):
    rows = study.sweep("networks")
    workloads = list(dict.fromkeys(row["workload"] for row in rows))
    patterns = PATTERNS + ["6:8"]
    panels, cells = [], []
    for workload in workloads:
        stock = best(rows, workload=workload, pattern="2:4", b_port=128, mma_k_bytes=32)["dense_time_us"]
        speedup = lambda pattern, b: stock / best(rows, workload=workload, pattern=pattern, b_port=b)["sparse_time_us"]
        bars = [(f"paths {name}", [(pattern, speedup(pattern, b)) for pattern in patterns]) for b, name in WIDTHS.items()]
        panels.append(figure.Panel(workload, "speed-up of all GEMMs over dense on the A100 (y axis from 0)", patterns, bars=bars, y_from=0,
                                   reference=1))
        wide = [stock / best(rows, workload=workload, pattern="2:4", b_port=b, mma_k_bytes=32)["dense_time_us"] for b in WIDTHS]
        cells.append([workload, "dense", "1.00", *(f"{ratio:.2f}" for ratio in wide)])
        for pattern in patterns:
            cells.append([workload, pattern + (" (decomposed on 2:4)" if pattern == "6:8" else ""), f"{IDEAL[pattern]:.2f}",
                          *(f"{speedup(pattern, b):.2f}" for b in WIDTHS)])
    figure.write(study.folder / "networks.svg", panels, title="Networks by pattern and width of all paths")
    study.fill("networks", table(["network", "pattern", "ideal", "A100 paths", "2x", "4x"], cells))


def sparseloop(study):
    text = (study.folder / "sparseloop.csv").read_text(encoding="utf-8").splitlines()
    published = list(csv.DictReader(line for line in text if not line.startswith("#")))
    dense = {(p["m"], p["k"], p["n"]): int(p["cycles"]) for p in published if p["pattern"] == "dense"}
    cells, ratios = [], {}
    for point in (p for p in published if p["pattern"] != "dense"):
        out = study.run("energy", "design", point["m"], point["n"], point["k"], "--pattern", point["pattern"])
        cycles, bound = re.search(r"cycles (\d+) \(bound by ([^;]+);", out).groups()
        reference = dense[point["m"], point["k"], point["n"]]
        ratios.setdefault(point["pattern"], []).append((reference / int(point["cycles"]), reference / int(cycles)))
        cells.append([f"{point['m']} x {point['n']} x {point['k']}", point["pattern"], point["cycles"], cycles,
                      f"{reference / int(point['cycles']):.2f}", f"{reference / int(cycles):.2f}", bound])
    study.fill("sparseloop", table(["layer, M x N x K", "weights", "published cycles", "ours", "published speed-up", "ours", "bound by"],
                                   cells))
    panel = figure.Panel("Sparseloop's sparse tensor core: mean of four layers", "speed-up over dense (y axis from 0)", list(ratios),
                         bars=[("published", [(p, sum(a for a, _ in r) / len(r)) for p, r in ratios.items()]),
                               ("ours", [(p, sum(b for _, b in r) / len(r)) for p, r in ratios.items()])], y_from=0, y_to=4, reference=2)
    figure.write(study.folder / "sparseloop.svg", [panel], title="Against published points")


def main():
    study = Study("beyond-2-4", arguments(__doc__))
    one_gemm(study)
    networks(study)
    sparseloop(study)


if __name__ == "__main__":
    main()
