#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How few bits an accumulator needs: runs configs/sweeps/accumulator-bits and writes its figures and table.

    scripts/studies/accumulator_bits.py [--program build/release/sptcsim] [--jobs 2]
"""
import math

import figure
from study import Study, arguments, spread, table

K = 16384
# D of N(0,1) operands has this deviation; half a place of f16 at that size is what storing D costs anyway.
DEVIATION = math.sqrt(K)
HALF_PLACE = 2.0 ** (math.floor(math.log2(DEVIATION)) - 10) / 2
STOCK = 24
SHOWN = (13, 20, 22, 24)
IMAGES = 899


def network_name(workload):
    return workload.split()[0]


def what_it_shows(study, digits, error):
    """The sentences of the page, from the same rows as its table. `error` by F, products of a step, and variant."""
    by_f = lambda f: [row for row in digits if row["f"] == f]
    stock = {row["workload"]: row for row in by_f(STOCK)}
    lost = lambda f: max((stock[row["workload"]][f"{variant}_accuracy"] - row[f"{variant}_accuracy"]) * IMAGES
                         for row in by_f(f) for variant in ("dense", "sparse"))
    study.expect(lost(8) < 1.5, "at 8 bits no network loses more than one image")
    study.expect(lost(4) < 0.02 * IMAGES, "at 4 bits less than two points are lost")
    doubling = [math.sqrt(error[f, 8, "dense"] / error[f + 2, 8, "dense"]) for f in (14, 16, 18)]
    study.expect(1.5 < min(doubling) and max(doubling) < 3, "below 20 bits the error about doubles with each bit")
    half_places = {f: [error[f, step, variant] / HALF_PLACE for step in (8, 16) for variant in ("dense", "sparse")] for f in (18, 20)}
    study.expect(max(half_places[20]) < 1 < min(half_places[18]), "errors are hidden by f16 at F = 20 and not at 18")
    study.fill("shows", f"""
- **[Networks of digits](digits.json) hardly care**: at 8 bits they lose at most {max(0, round(lost(8)))} of {IMAGES} images, at 4 bits {100 * lost(4) / IMAGES:.1f} points.
- **A deep GEMM does.** At K = {K}, each bit below 20 multiplies the worst error by {spread(doubling, 1)}. Down to F = 20 f16 hides it.""")


def main():
    study = Study("accumulator-bits", arguments(__doc__))
    digits = study.sweep("digits")
    gemm = study.sweep("gemm")
    energy = {row["f"]: row for row in study.sweep("energy")}

    bits = sorted({row["f"] for row in digits})
    lines = []
    for workload in dict.fromkeys(row["workload"] for row in digits):
        rows = {row["f"]: row for row in digits if row["workload"] == workload}
        lines += [(f"{network_name(workload)} {name}", [(f, 100 * row[f"{variant}_accuracy"]) for f, row in sorted(rows.items())])
                  for variant, name in (("dense", "dense"), ("sparse", "2:4"))]
    accuracy = figure.Panel(f"Digits: accuracy on {IMAGES} test images", "% right (axis from 80)", bits, lines=lines,
                            x_title="F, fraction bits of the accumulator", y_from=80, y_to=100)

    error = {(row["f"], row["step_bytes"] // 2, variant): row[f"{variant}_worst_error"] for row in gemm for variant in ("dense", "sparse")}
    f_values = sorted({row["f"] for row in gemm})
    lines = [(f"{name}, L = {step}", [(f, math.log2(error[f, step, variant])) for f in f_values])
             for step in sorted({step for _, step, _ in error}) for variant, name in (("dense", "dense"), ("sparse", "2:4"))]
    errors = figure.Panel(f"64 x 64 x {K}, N(0,1) operands, f16", "log2 of the worst error of D; dashed: half a place of D in f16", f_values,
                          lines=lines, x_title="F", reference=math.log2(HALF_PLACE))
    figure.write(study.folder / "accuracy.svg", [accuracy], columns=1, width=640, title="Accuracy of trained networks by accumulator width")
    figure.write(study.folder / "error.svg", [errors], columns=1, width=640, title="Error of a deep GEMM by accumulator width")

    saved = lambda f, what: f"{100 * (1 - energy[f][what] / energy[STOCK][what]):.1f}"
    study.fill("bits", table(["F", "error, dense", "error, 2:4", "energy", "area of the cores"],
                             [[f, *(f"{error[f, 8, variant] / HALF_PLACE:.2g}" for variant in ("dense", "sparse")),
                               saved(f, "dense_energy_uj_total"), saved(f, "tensor_core_area_mm2")] for f in SHOWN]))
    what_it_shows(study, digits, error)
    study.finish()


if __name__ == "__main__":
    main()
