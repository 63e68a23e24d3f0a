#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measured latencies of whole networks against simulated ones: error by GPU and precision, and of the gain of 2:4.

    scripts/network_accuracy.py FILE.csv                  # Markdown
    scripts/network_accuracy.py FILE.csv --gpu L40S       # only these rows
    scripts/network_accuracy.py FILE.csv --rows out.csv   # each row beside its simulation
    scripts/network_accuracy.py FILE.csv --refit kernel_cycles=0,600,1000,1400   # errors of rows that are held out

FILE has the columns gpu, model, seq, batch, precision, sparsity (dense or 2:4) and avg_ms, and may have engine, context, gpus, link,
prefills and steps: avg_ms is then of so many passes and of so many decoding steps of all their sequences. Lines that begin with #
are comments. A measured 2:4 network is compared with the fastest mix where the engine times its kernels (TensorRT,
FasterTransformer but for INT8), else with all weights 2:4.
--refit chooses a number of the engine among the values given: on all rows but those of one GPU, and on every other row. Each
choice is judged by the rows that it has not seen. Gains are those of rows that differ in nothing but the sparsity.
"""
import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRACES = {"bert large": ("bert_large",), "megatron large with sparsity": ("bert_large", "--dim", "norm_outputs=2"),
          "bert base": ("bert_base",), "llama-3.2-3b": ("tests/fidelity/data/llama_3_2_3b_config.json",),
          "qwen2.5-7b": ("tests/fidelity/data/qwen_2_5_7b_config.json",), "llama-3-8b": ("llama3_8b",),
          "deepseek-r1": ("tests/fidelity/data/deepseek_r1_config.json",)}
MIXES = ("tensorrt", "fastertransformer")
DTYPES = {"fp16": "f16", "int8": "all=s8", "bf16": "bf16", "fp8": "e4m3", "w8a16": "w8a16", "nvfp4": "nvfp4"}


def read_rows(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def simulate(arguments, row, engines):
    trace, *dims = TRACES[row["model"].lower()]
    engine = engines.get(row["engine"], row["engine"])
    dtype = DTYPES[row["precision"].lower()]
    dtype = dtype.removeprefix("all=") if engine.startswith("vllm") else dtype  # whose attention stays in 16 bits
    path = ROOT / trace if "/" in trace else ROOT / "traces" / (trace + ".json")
    dims += ["--dim", f"context={row['context']}"] if row.get("context") else []
    gpus = ["--tp", row["gpus"], "--link", row["link"]] if int(row.get("gpus") or 1) > 1 else []
    command = [arguments.sptcsim, "run", str(path), *dims, *gpus, "--engine", engine, "--arch", arguments.arch or row["gpu"],
               "--dim", f"batch={row['batch']}", "--dim", f"seq={row['seq']}", "--dtype", dtype,
               "--fidelity", arguments.fidelity, "--check", "none", "--quiet", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)["totals"]


def decoding_ms(arguments, row, engines):
    """Of the dense steps behind prefills, each token with half of them in its context."""
    steps = int(row.get("steps") or 0)
    if steps == 0:
        return 0
    step = {**row, "seq": 1, "context": int(row["seq"]) + steps // 2, "batch": int(row["batch"]) * int(row["prefills"])}
    return steps * simulate(arguments, step, engines)["dense"]["latency_us"] / 1e3


def with_simulation(arguments, rows, engines={}):
    """`engines`: files instead of those of their names."""
    known = {}
    for row in rows:
        row["engine"] = row.get("engine") or arguments.engine
        key = (row["engine"], row["gpu"], row["model"], row["seq"], row.get("context"), row["batch"], row["precision"], row.get("steps"))
        if key not in known:
            known[key] = simulate(arguments, row, engines)
        totals = known[key]
        sparse = totals.get("mix" if row["engine"] in MIXES else "sparse") or totals["dense"]
        variant = totals["dense"] if row["sparsity"] == "dense" else sparse
        row["simulated_ms"] = int(row.get("prefills") or 1) * variant["latency_us"] / 1e3 + decoding_ms(arguments, row, engines)
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
        return (row.get("tensorrt", ""), row["engine"], row["gpu"], TRACES[row["model"].lower()][0],
                *(row.get(name) for name in ("seq", "context", "batch", "precision")))
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
        constant = math.exp(mean(log for log, _ in logs))
        print(f"gain of 2:4, {len(pairs)} pairs: mean error {mean(abs(b / a - 1) for a, b in pairs):.3f}, of the best constant "
              f"{mean(abs(constant / a - 1) for a, _ in pairs):.3f}, correlation of the logarithms {correlation(logs):.2f}")
        losses = [b < 1 for a, b in pairs if a < 0.97]
        print(f"of {len(losses)} that lose more than 3 %, {sum(losses)} called")


def errors_by_value(arguments, rows, key, values):
    """Of each value of the number `key` of --engine: the magnitudes of the errors of `rows`."""
    with open(ROOT / "configs" / "engines" / (arguments.engine + ".json"), encoding="utf-8") as file:
        engine = json.load(file)
    if "value" not in engine.get(key, {}):
        sys.exit(f"--refit: engine {arguments.engine} has no number '{key}'")
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        for value in values:
            engine[key]["value"] = value
            path = pathlib.Path(folder) / "engine.json"
            path.write_text(json.dumps(engine), encoding="utf-8")
            simulated = with_simulation(arguments, [dict(row) for row in rows], {arguments.engine: str(path)})
            result[value] = [abs(row["error"]) for row in simulated]
    return result


def report_refit(arguments, rows, key, values):
    errors = errors_by_value(arguments, rows, key, values)
    everything = range(len(rows))
    splits = [("all rows", everything, everything)]
    for gpu in sorted({row["gpu"] for row in rows}):
        out = [i for i in everything if rows[i]["gpu"] == gpu]
        splits.append((f"all but {gpu}", [i for i in everything if i not in out], out))
    splits += [("odd rows", everything[::2], everything[1::2]), ("even rows", everything[1::2], everything[::2])]
    print(f"| chosen on | {key} | error there % | rows held out | error held out % |\n|---|---:|---:|---:|---:|")
    for name, seen, out in splits:
        if not seen:
            continue
        best = min(errors, key=lambda value: mean(errors[value][i] for i in seen))
        held = [f"{len(out)}", f"{100 * mean(errors[best][i] for i in out):.1f}"] if out != seen else ["0", ""]
        print(f"| {name} | {best:g} | {100 * mean(errors[best][i] for i in seen):.1f} | {' | '.join(held)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--sptcsim", default=str(ROOT / "build" / "release" / "sptcsim"), metavar="FILE")
    parser.add_argument("--arch", help="instead of the GPU that a row names")
    parser.add_argument("--engine", default="tensorrt")
    parser.add_argument("--gpu", help="only rows of this GPU")
    parser.add_argument("--fidelity", default="timing", choices=("analytic", "timing"))
    parser.add_argument("--refit", metavar="KEY=VALUES", help="choose this number of --engine on a part of the rows, judge it on the rest")
    parser.add_argument("--rows", metavar="FILE", help="write each row beside its simulation as CSV")
    arguments = parser.parse_args()
    rows = [row for row in read_rows(arguments.file) if arguments.gpu in (None, row["gpu"])]
    if not rows:
        sys.exit(f"{arguments.file}: no row of GPU {arguments.gpu}" if arguments.gpu else f"{arguments.file}: no rows")
    unknown = sorted({row["model"] for row in rows if row["model"].lower() not in TRACES})
    if unknown:
        sys.exit(f"{arguments.file}: unknown model '{unknown[0]}' (allowed: {', '.join(TRACES)})")
    if arguments.refit:
        key, _, values = arguments.refit.partition("=")
        rows = [row for row in rows if (row.get("engine") or arguments.engine) == arguments.engine]
        try:
            report_refit(arguments, rows, key, [float(value) for value in values.split(",")])
        except ValueError:
            sys.exit(f"--refit: must be KEY=NUMBER,NUMBER,.., not '{arguments.refit}'")
        return
    rows = with_simulation(arguments, rows)
    if arguments.rows:
        with open(arguments.rows, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    report(rows)


if __name__ == "__main__":
    main()
