#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measured latencies of whole networks against simulated ones: error by GPU and precision, and of the gain of 2:4.

    scripts/network_accuracy.py FILE.csv                  # Markdown
    scripts/network_accuracy.py FILE.csv --gpu L40S       # only these rows
    scripts/network_accuracy.py FILE.csv --rows out.csv   # each row beside its simulation

FILE has the columns gpu, model, seq, batch, precision, sparsity (dense or 2:4) and avg_ms, and may have engine; lines that
begin with # are comments. A measured 2:4 network is compared with the fastest mix where the engine times its kernels
(TensorRT, FasterTransformer), else with all weights 2:4. Gains are those of rows that differ in nothing but the sparsity.
"""
import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRACES = {"bert large": ("bert_large",), "megatron large with sparsity": ("bert_large", "--dim", "norm_outputs=2"),
          "bert base": ("bert_base",)}
MIXES = ("tensorrt", "fastertransformer")
DTYPES = {"fp16": "f16", "int8": "s8", "bf16": "bf16", "fp8": "e4m3"}


def read_rows(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def simulate(arguments, row):
    trace, *dims = TRACES[row["model"].lower()]
    command = [arguments.sptcsim, "run", str(ROOT / "traces" / (trace + ".json")), *dims, "--engine", row["engine"], "--arch", arguments.arch or row["gpu"],
               "--dim", f"batch={row['batch']}", "--dim", f"seq={row['seq']}", "--dtype", DTYPES[row["precision"].lower()],
               "--fidelity", arguments.fidelity, "--check", "none", "--quiet", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)["totals"]


def with_simulation(arguments, rows):
    known = {}
    for row in rows:
        row["engine"] = row.get("engine") or arguments.engine
        key = (row["engine"], row["gpu"], row["model"], row["seq"], row["batch"], row["precision"])
        if key not in known:
            known[key] = simulate(arguments, row)
        totals = known[key]
        sparse = totals.get("mix" if row["engine"] in MIXES else "sparse") or totals["dense"]
        variant = totals["dense"] if row["sparsity"] == "dense" else sparse
        row["simulated_ms"] = variant["latency_us"] / 1e3
        row["error"] = row["simulated_ms"] / float(row["avg_ms"]) - 1
    return rows


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def correlation(pairs):
    xs, ys = zip(*pairs)
    dx = [x - mean(xs) for x in xs]
    dy = [y - mean(ys) for y in ys]
    norm = math.sqrt(sum(x * x for x in dx) * sum(y * y for y in dy))
    return sum(x * y for x, y in zip(dx, dy)) / norm if norm > 0 else 0


def gains(rows):
    """(measured, simulated) dense time over that with 2:4 weights, of rows alike but for the sparsity."""
    def key(row):
        return (row.get("tensorrt", ""), row["engine"], row["gpu"], TRACES[row["model"].lower()][0], row["seq"], row["batch"], row["precision"])
    sparse = {key(row): row for row in rows if row["sparsity"] != "dense"}
    pairs = [(row, sparse[key(row)]) for row in rows if row["sparsity"] == "dense" and key(row) in sparse]
    return [(float(a["avg_ms"]) / float(b["avg_ms"]), a["simulated_ms"] / b["simulated_ms"]) for a, b in pairs]


def report(rows):
    print("| engine, GPU | precision | rows | mean error % | bias % | worst % |\n|---|---|---:|---:|---:|---:|")
    for row in rows:
        row["place"] = f"{row['engine']}, {row['gpu']}"
        row["kind"] = row["precision"] + (" 2:4" if row["sparsity"] != "dense" else "")
    for place in sorted({row["place"] for row in rows}):
        here = [row for row in rows if row["place"] == place]
        for kind in sorted({row["kind"] for row in here}) + ["all"]:
            errors = [row["error"] for row in here if kind in ("all", row["kind"])]
            print(f"| {place} | {kind} | {len(errors)} | {100 * mean(map(abs, errors)):.1f} | {100 * mean(errors):+.1f} | "
                  f"{100 * max(errors, key=abs):+.1f} |")
    print(f"\nmean error of {len(rows)} rows: {100 * mean(abs(row['error']) for row in rows):.1f} %")
    pairs = gains(rows)
    if len(pairs) > 1:
        logs = [(math.log(a), math.log(b)) for a, b in pairs]
        print(f"gain of 2:4, {len(pairs)} pairs: mean error {mean(abs(b / a - 1) for a, b in pairs):.3f}, "
              f"correlation of the logarithms {correlation(logs):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--sptcsim", default=str(ROOT / "build" / "release" / "sptcsim"), metavar="FILE")
    parser.add_argument("--arch", help="instead of the GPU that a row names")
    parser.add_argument("--engine", default="tensorrt")
    parser.add_argument("--gpu", help="only rows of this GPU")
    parser.add_argument("--fidelity", default="timing", choices=("analytic", "timing"))
    parser.add_argument("--rows", metavar="FILE", help="write each row beside its simulation as CSV")
    arguments = parser.parse_args()
    rows = [row for row in read_rows(arguments.file) if arguments.gpu in (None, row["gpu"])]
    if not rows:
        sys.exit(f"{arguments.file}: no row of GPU {arguments.gpu}" if arguments.gpu else f"{arguments.file}: no rows")
    unknown = sorted({row["model"] for row in rows if row["model"].lower() not in TRACES})
    if unknown:
        sys.exit(f"{arguments.file}: unknown model '{unknown[0]}' (allowed: {', '.join(TRACES)})")
    rows = with_simulation(arguments, rows)
    if arguments.rows:
        with open(arguments.rows, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    report(rows)


if __name__ == "__main__":
    main()
