#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How few bits an accumulator needs: runs configs/sweeps/accumulator-bits and writes its figures and tables.

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
ONE_IMAGE = 1.01 / 899


def network_name(workload):
    return workload.split()[0]


def what_it_shows(study, digits, gemm, energy):
    """The sentences of the page, from the same rows as its tables."""
    images = round(1 / (ONE_IMAGE / 1.01))
    by_f = lambda f: [row for row in digits if row["f"] == f]
    stock = {row["workload"]: row for row in by_f(STOCK)}
    lost = lambda f: [(stock[row["workload"]][f"{variant}_accuracy"] - row[f"{variant}_accuracy"]) * images
                      for row in by_f(f) for variant in ("dense", "sparse")]
    study.expect(max(lost(8)) < 1.5, "at 8 bits no network loses more than one image")
    study.expect(max(lost(4)) < 0.02 * images, "at 4 bits less than two points are lost")
    error = {(row["f"], row["step_bytes"] // 2, variant): row[f"{variant}_worst_error"] for row in gemm for variant in ("dense", "sparse")}
    doubling = [math.sqrt(error[f, 8, "dense"] / error[f + 2, 8, "dense"]) for f in (14, 16, 18)]
    study.expect(1.5 < min(doubling) and max(doubling) < 3, "below 20 bits the error about doubles with each bit")
    study.expect(error[24, 8, "dense"] > error[22, 8, "dense"], "F = 24 is worse than F = 22 with L = 8")
    half_places = {f: [error[f, step, variant] / HALF_PLACE for step in (8, 16) for variant in ("dense", "sparse")] for f in (13, 18, 20)}
    study.expect(max(half_places[20]) < 1 < min(half_places[18]), "errors are hidden by f16 at F = 20 and not at 18")
    narrow = {row["f"]: row for row in energy}
    saved = lambda f, figure: 100 * (1 - narrow[f][figure] / narrow[STOCK][figure])
    joules, area = "dense_energy_uj_total", "tensor_core_area_mm2"
    align = 100 * narrow[STOCK]["dense_energy_uj_align_add"] / narrow[STOCK][joules]
    study.fill("shows", f"""
- **Two small networks hardly care**, dense or 2:4: at 8 bits none of them loses more than {max(0, round(max(lost(8))))} of {images} images, at 4 bits at
  most {100 * max(lost(4)) / images:.1f} points. Their sums are 9 to 576 products long, and a wrong last place rarely changes which of ten
  classes wins. That says nothing of training or of language models, whose sums are longer and whose outputs are not ten
  classes.
- **A deep GEMM does.** With K = {K} the truncation of every step points toward zero and adds up: below 20 bits the worst
  error grows {spread(doubling, 1)} times with each bit that is left out. Above 22 the 23 bits of the f32 accumulator itself are the limit, and
  more can be worse: dense with L = 8, F = 24 has {error[24, 8, "dense"] / error[22, 8, "dense"]:.1f} times the error of F = 22. Up to 23 bits it is the addends that
  are cut, whose signs differ; beyond, each sum is cut to the 23 bits of f32, always toward zero, and that drifts. As long
  as the error stays below half a place of the f16 in which D is stored, narrower adders change nothing that leaves the
  chip: that holds down to F = 20 (at most {max(half_places[20]):.2f} half places) and not at 18 (at least {min(half_places[18]):.1f}). Wider steps (L = 16)
  round half as often and help by less than a bit up to F = 22.
- **The saving is real and small.** Aligning and adding is {align:.0f} % of the energy by the table; from 24 to 20 bits saves {saved(20, joules):.1f} % of
  the energy and {saved(20, area):.0f} % of the tensor cores' area, and no time. The 13 bits that Ada gives fp8 would save {saved(13, joules):.0f} % and {saved(13, area):.0f} %,
  at an error of {min(half_places[13]):.0f} to {max(half_places[13]):.0f} times what f16 storage costs: fine for the small networks above, not for this GEMM.""")


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
    what_it_shows(study, digits, gemm, energy)
    study.finish()


if __name__ == "__main__":
    main()
