#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What patterns beyond 2:4 need: runs configs/sweeps/beyond-2-4 and writes its figures and tables.

    scripts/studies/beyond_2_4.py [--program build/release/sptcsim] [--jobs 2]
"""
import figure
from study import Study, arguments, spread, table

PATTERNS = ["2:4", "1:4", "4:8", "2:8"]
WIDTHS = {128: "1x", 256: "2x", 512: "4x"}
L2 = {64: "1x", 128: "2x", 256: "4x"}


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
    dense, core = stock_row["dense_cycles"], stock_row["tensor_core_area_mm2"]
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
        stock, widest = at(pattern, 128, 64, 20.6), at(pattern, 512, 256, 82.4)
        cells.append([pattern, f"{speedup(stock):.2f} ({bound(stock)})", f"{speedup(widest):.2f} ({bound(widest)})",
                      f"{100 * (stock['tensor_core_area_mm2'] / core - 1):+.1f} %"])
    study.fill("gemm", table(["pattern", "A100 paths", "paths 4x", "cores' area"], cells))

    stock = {pattern: speedup(at(pattern, 128, 64, 20.6)) for pattern in PATTERNS}
    widest = {pattern: speedup(at(pattern, 512, 256, 82.4)) for pattern in PATTERNS}
    extra = {pattern: at(pattern, 128, 64, 20.6)["tensor_core_area_mm2"] - core for pattern in PATTERNS}
    fed = {pattern: speedup(at(pattern, 256, 128, 82.4)) for pattern in ("1:4", "2:8")}
    study.expect(all(bound(at(pattern, 128, 64, 20.6)) == "smem" for pattern in ("1:4", "2:8")), "shared memory bounds 1:4 and 2:8 on the A100's paths")
    study.expect(stock["1:4"] < 1.3 * stock["2:4"], "1:4 gains little over 2:4 on the A100's paths")
    study.expect(stock["4:8"] <= stock["2:4"], "4:8 comes out below 2:4")
    study.expect(min(fed.values()) >= 0.85 * 4, "1:4 and 2:8 reach 85 % of their ideal with B 2x, L2 2x, metadata 4x")
    study.expect(max(extra.values()) < 0.1 * core, "the selector is cheap")
    study.fill("shows-gemm", f"""
- **Shared memory limits.** With B's path and the L2 twice as fast, and more metadata, 1:4 and 2:8 reach {spread(list(fed.values()))}.""")
    return widest


def networks(study, of_gemm):
    rows = study.sweep("networks")
    workloads = list(dict.fromkeys(row["workload"] for row in rows))
    patterns = PATTERNS + ["6:8"]
    panels, cells, widest = [], [], []
    for workload in workloads:
        stock = best(rows, workload=workload, pattern="2:4", b_port=128, mma_k_bytes=32)["dense_time_us"]
        speedup = lambda pattern, b: stock / best(rows, workload=workload, pattern=pattern, b_port=b)["sparse_time_us"]
        bars = [(f"paths {name}", [(pattern, speedup(pattern, b)) for pattern in patterns]) for b, name in WIDTHS.items()]
        panels.append(figure.Panel(workload, "speed-up of all GEMMs over dense on the A100 (y axis from 0)", patterns, bars=bars, y_from=0,
                                   reference=1))
        shown = [speedup("2:4", 128), speedup("1:4", 128), speedup("1:4", 512), speedup("6:8", 128)]
        cells.append([workload.split(" (")[0].split(" SQuAD")[0], *(f"{gain:.2f}" for gain in shown)])
        widest.append({pattern: speedup(pattern, 512) for pattern in PATTERNS})
    figure.write(study.folder / "networks.svg", panels, title="Networks by pattern and width of all paths")
    study.expect(all(gains[pattern] < of_gemm[pattern] for gains in widest for pattern in PATTERNS),
                 "networks gain less than the one GEMM on the same paths")
    study.fill("shows-networks", "- **Networks gain less** ([networks.json](networks.json)):\n\n"
               + table(["network", "2:4", "1:4", "1:4, paths 4x", "6:8 on 2:4"], cells))


def main():
    study = Study("beyond-2-4", arguments(__doc__))
    networks(study, one_gemm(study))
    study.finish()


if __name__ == "__main__":
    main()
