#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How few bits an accumulator needs: runs configs/sweeps/accumulator-bits and writes its figures and tables.

    scripts/studies/accumulator_bits.py [--program build/release/sptcsim] [--jobs 2]
"""
import math

import figure
from study import Study, arguments, table

K = 16384
# D of N(0,1) operands has this deviation; half a place of f16 at that size is what storing D costs anyway.
DEVIATION = math.sqrt(K)
HALF_PLACE = 2.0 ** (math.floor(math.log2(DEVIATION)) - 10) / 2
STOCK = 24
ONE_IMAGE = 1.01 / 899


def network_name(workload):
    return workload.split()[0]


def main():
    study = Study("accumulator-bits", arguments(__doc__))
    digits = study.sweep("digits")
    gemm = study.sweep("gemm")
    energy = study.sweep("energy")

    bits = sorted({row["f"] for row in digits})
    networks = list(dict.fromkeys(row["workload"] for row in digits))
    lines, cells, first = [], [], {}
    for workload in networks:
        rows = {row["f"]: row for row in digits if row["workload"] == workload}
        for variant in ("dense", "sparse"):
            name = f"{network_name(workload)} {variant if variant == 'dense' else '2:4'}"
            lines.append((name, [(f, 100 * rows[f][f"{variant}_accuracy"]) for f in bits if f in rows]))
            stock = rows[STOCK]
            enough = [f for f in bits if f in rows and all(rows[g][f"{variant}_accuracy"] >= stock[f"{variant}_accuracy"] - ONE_IMAGE
                                                           for g in bits if g >= f and g in rows)]
            same = [f for f in bits if f in rows and all(rows[g][f"{variant}_disagreements"] == 0 for g in bits if g >= f and g in rows)]
            first[name] = min(enough)
            cells.append([name, f"{100 * stock[f'{variant}_accuracy']:.2f} %", min(enough), min(same) if same else "none",
                          ", ".join(f"{f}: {100 * rows[f][f'{variant}_accuracy']:.1f} %" for f in bits if f in rows and f < min(enough))])
    accuracy = figure.Panel("Digits: accuracy on 899 test images", "% right (axis from 80)", bits, lines=lines, x_title="F, fraction bits of the accumulator",
                            y_from=80, y_to=100)
    study.fill("digits", table(["network", f"F = {STOCK}", "least F that loses at most one image", "least F with no image classified unlike float64",
                                "below that"], cells))

    f_values = sorted({row["f"] for row in gemm})
    steps = sorted({row["step_bytes"] for row in gemm})
    lines = []
    for step in steps:
        for variant in ("dense", "sparse"):
            name = f"{'dense' if variant == 'dense' else '2:4'}, L = {step // 2}"
            lines.append((name, [(row["f"], math.log2(row[f"{variant}_worst_error"])) for row in gemm if row["step_bytes"] == step]))
    errors = figure.Panel(f"64 x 64 x {K}, N(0,1) operands, f16", "log2 of the worst error of D; dashed: half a place of D in f16", f_values,
                          lines=lines, x_title="F", reference=math.log2(HALF_PLACE))

    stock = next(row for row in energy if row["f"] == STOCK)
    saved = [(row["f"], 100 * (1 - row["dense_energy_uj_total"] / stock["dense_energy_uj_total"])) for row in energy]
    sparse_saved = [(row["f"], 100 * (1 - row["sparse_energy_uj_total"] / stock["sparse_energy_uj_total"])) for row in energy]
    area = [(row["f"], 100 * (1 - row["tensor_core_area_mm2"] / stock["tensor_core_area_mm2"])) for row in energy]
    savings = figure.Panel("4096 x 4096 x 4096 at the boost clock", f"% saved against F = {STOCK}", [row["f"] for row in energy],
                           lines=[("energy, dense", saved), ("energy, 2:4", sparse_saved), ("area of the tensor cores", area)], x_title="F",
                           y_from=0)
    figure.write(study.folder / "accuracy.svg", [accuracy], columns=1, width=640, title="Accuracy of trained networks by accumulator width")
    figure.write(study.folder / "error.svg", [errors], columns=1, width=640, title="Error of a deep GEMM by accumulator width")
    figure.write(study.folder / "savings.svg", [savings], columns=1, width=640, title="What narrower adders save")

    cells = []
    for f in f_values:
        by_step = {row["step_bytes"]: row for row in gemm if row["f"] == f}
        cells.append([f] + [f"{by_step[step][f'{variant}_worst_error']:.3g} ({by_step[step][f'{variant}_worst_error'] / HALF_PLACE:.2g})"
                            for step in steps for variant in ("dense", "sparse")])
    header = ["F"] + [f"{name}, L = {step // 2}" for step in steps for name in ("dense", "2:4")]
    study.fill("gemm", table(header, cells))
    part = lambda row, name: row[f"dense_energy_uj_{name}"]
    cells = [[row["f"], f"{100 * part(row, 'align_add') / row['dense_energy_uj_total']:.1f} %", f"{dict(saved)[row['f']]:.1f} %",
              f"{dict(sparse_saved)[row['f']]:.1f} %", f"{dict(area)[row['f']]:.1f} %"] for row in energy]
    study.fill("energy", table(["F", "aligning and adding, of the dense energy", "energy saved, dense", "energy saved, 2:4",
                                "area of the tensor cores saved"], cells))


if __name__ == "__main__":
    main()
