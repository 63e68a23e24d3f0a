#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is left to be learnt from measured GEMM times: boosted trees on the errors of the closed form.

Trees that know shape, kernel and simulated time of the rows of some models are judged on those of others. Where they do not
come nearer than the closed form does, no rule of these features is worth a look. With every second row of the held-out
model known, too, they say what the rows themselves could teach. Needs scikit-learn (Debian: python3-sklearn).

    sptcsim validate gemm_f16.csv --fidelity analytic --rows rows.csv     # header m, n, k, time_us_median, source
    scripts/residual_trees.py rows.csv [--held-out internlm]
"""
import argparse
import csv
import math

import numpy
from sklearn.ensemble import HistGradientBoostingRegressor

# Leaves, trees, rows of a leaf, learning rate: from a rule that a person could read to one that nobody could.
SIZES = ((8, 50, 40, 0.1), (16, 200, 20, 0.05), (31, 400, 10, 0.1))


def features(row):
    m, n, k = (int(row[extent]) for extent in "mnk")
    tile = [int(extent) for extent in row["tile"].split("x")]
    split, time = int(row["split_k"]), float(row["simulated_us"])
    ctas = -(-m // tile[0]) * -(-n // tile[1]) * split
    return [math.log2(m), math.log2(n), math.log2(k), n, *(n % width for width in (8, 16, 32, 64, 128)), *tile, split, ctas,
            math.log2(time), m * n * k / time, (m * k + k * n + m * n) / time]


def trees(rows, size):
    leaves, count, least, rate = size
    model = HistGradientBoostingRegressor(loss="absolute_error", max_leaf_nodes=leaves, max_iter=count,
                                          min_samples_leaf=least, learning_rate=rate, random_state=0)
    return model.fit([features(row) for row in rows],
                     [math.log(float(row["measured_us"]) / float(row["simulated_us"])) for row in rows])


def error(rows, model=None):
    factor = numpy.exp(model.predict([features(row) for row in rows])) if model else numpy.ones(len(rows))
    return 100 * numpy.mean([abs(float(row["simulated_us"]) * by / float(row["measured_us"]) - 1)
                             for row, by in zip(rows, factor)])


def report(label, known, judged, sizes=SIZES):
    by_size = ", ".join(f"{error(judged, trees(known, size)):.2f}" for size in sizes)
    print(f"{label}: closed form {error(judged):.2f} %, with trees {by_size} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="+", help="of validate --rows")
    parser.add_argument("--held-out", default="internlm", help="part of the source of rows that are held out")
    arguments = parser.parse_args()
    rows = [row for file in arguments.rows for row in csv.DictReader(open(file, newline=""))]
    held_out = [row for row in rows if arguments.held_out in row["source"]]
    fitted = [row for row in rows if arguments.held_out not in row["source"]]
    if not held_out or not fitted:
        parser.error(f"rows of {arguments.held_out} and of others are needed")
    report("fitted rows to held-out ones", fitted, held_out)
    model_of = lambda row: row["source"].split("/")[0]
    models = sorted({model_of(row) for row in fitted})
    for model in models if len(models) > 1 else ():
        report(f"other fitted rows to {model}", [row for row in fitted if model_of(row) != model],
               [row for row in fitted if model_of(row) == model])
    report("these and every second held-out row to the rest", fitted + held_out[1::2], held_out[::2], SIZES[-1:])


if __name__ == "__main__":
    main()
