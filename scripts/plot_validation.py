#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated over measured time of the rows of `validate --rows`, by measured time, as an image. Needs matplotlib.

    sptcsim validate measured.csv --rows rows.csv
    scripts/plot_validation.py rows.csv plot.svg
"""
import argparse
import csv
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", help="of validate --rows")
    parser.add_argument("image", help="file to write: .svg, .png, .pdf")
    arguments = parser.parse_args()
    kinds = {}
    with open(arguments.rows, newline="") as file:
        for row in csv.DictReader(file):
            measured, simulated = float(row["measured_us"]), float(row["simulated_us"])
            kinds.setdefault((row["dtype"], row["sparsity"]), []).append((measured, simulated / measured))
    if not kinds:
        parser.error(f"{arguments.rows} has no rows")
    figure, axes = pyplot.subplots(figsize=(9, 5))
    for (dtype, sparsity), points in kinds.items():
        axes.scatter(*zip(*points), s=4, alpha=0.5, label=f"{dtype} {sparsity}")
    for level, style in ((1, "-"), (1.1, ":"), (1 / 1.1, ":")):
        axes.axhline(level, color="black", linewidth=0.7, linestyle=style)
    axes.set(xscale="log", yscale="log", xlabel="measured time [us]", ylabel="simulated / measured")
    axes.legend(markerscale=3)
    figure.savefig(arguments.image, bbox_inches="tight")
    return 0


if __name__ == "__main__":
    sys.exit(main())
