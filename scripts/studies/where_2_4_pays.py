#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where 2:4 pays: runs configs/sweeps/where-2-4-pays and writes its figures and tables.

    scripts/studies/where_2_4_pays.py [--program build/release/sptcsim] [--jobs 2]
"""
import json
import re

import figure
from study import ROOT, Study, arguments, spread, table

# Title, what the size counts, and the name of the workload with the size in it.
FAMILIES = [("BERT-Large, sequences of 384", "batch", r"BERT-Large .*\(batch=(\d+),"),
            ("ResNet-50 v1.5", "batch", r"ResNet-50 .*\(batch=(\d+),"),
            ("Llama-3-70B, prefill", "tokens", r"Llama 3 70B \(batch=1, context=(\d+), seq=\1\)"),
            ("Llama-3-70B, decode", "batch", r"Llama 3 70B \(batch=(\d+), context=2048, seq=1\)")]
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


def systemc(study, trace, batch):
    return json.loads(study.run("run", str(ROOT / "traces" / trace), "--dim", f"batch={batch}", "--clock", "boost",
                                "--kernels", "search", "--check", "none", "--format", "json"))


def second_opinion(study, bert, resnet):
    """BERT-Large at batch 8 and ResNet-50 at batch 32 by the SystemC model, beside the rows of the closed form."""
    simulated = systemc(study, "bert_large.json", 8)
    other = {op["name"]: op for op in simulated["operations"]}
    ratios = [op["dense"]["time_us"] / other[op["name"]]["dense"]["time_us"] for op in bert["operations"]]
    apart = max(abs(op["speedup"] - other[op["name"]]["speedup"]) for op in by_operation(bert))
    totals = simulated["totals"]
    least = min((op for op in systemc(study, "resnet50.json", 32)["operations"] if op["sparse"]), key=lambda op: op["speedup"])
    study.fill("systemc", f"""The SystemC model, a second opinion, says {totals['dense']['time_us'] / 1000:.2f} ms and {totals['speedup']:.2f} where the table has
{bert['dense_time_us'] / 1000:.2f} ms and {bert['speedup']:.2f} (BERT-Large, batch 8). Dense times of its GEMMs by the closed form are {spread(ratios)} of the SystemC
model's, speed-ups at most {apart:.2f} apart. The worst layer of ResNet-50 at batch 32 is
{least["name"]} with {least["speedup"]:.2f}, by the closed form {min(op["speedup"] for op in by_operation(resnet)):.2f}.""")


def what_it_shows(study, families):
    """The sentences of the page, from the same rows as its tables."""
    stock = {title: {size_of(row["workload"]): row for row in rows if row["dram"] == A100} for title, rows in families.items()}
    at = {title: {(size_of(row["workload"]), row["dram"]): row["speedup"] for row in rows} for title, rows in families.items()}
    bert, resnet, prefill, decode = (stock[title] for title, _, _ in FAMILIES)
    speedups = lambda rows: [op["speedup"] for row in rows for op in by_operation(row) if op["n"] > 1]
    bert_large = [row for size, row in bert.items() if size >= 8]
    large = speedups([*prefill.values(), *bert_large])
    small_decode = [decode[size]["speedup"] for size in (1, 16)]
    study.expect(min(large) > 1 and max(large) < 1.9, "large GEMMs gain, and well short of 2x")
    study.expect(max(small_decode) < 16 / 9, "decoding stays below the ceiling of its bytes")
    worst = {size: min(by_operation(row), key=lambda op: op["speedup"]) for size, row in resnet.items()}
    size, least = min(worst.items(), key=lambda item: item[1]["speedup"])
    study.expect(least["speedup"] < 1 and all(op["name"].startswith(("layer1", "fc")) for op in worst.values()),
                 "early layers of ResNet-50 and its classifier lose")
    best_layer = max((op["speedup"], f"{op['name']} at batch {size}") for size, row in resnet.items() for op in by_operation(row))
    last = decode[max(decode)]
    study.expect(share(last) > 0.25, "attention over the cache takes most of the gain at batch 128")
    resnet_at, decode_at = at[FAMILIES[1][0]], at[FAMILIES[3][0]]
    more = [(resnet_at[size, 2 * A100] - 1) / (resnet_at[size, A100] - 1) - 1 for size in resnet if size >= 32]
    study.expect(min(more) > 0, "ResNet-50 gains more with more bandwidth")
    decoding = [[decode_at[size, dram] for size in (1, 16)] for dram, _ in BANDWIDTHS]
    study.expect(all(half > more + 0.005 for half, _, more in zip(*decoding)), "decoding gains less with more bandwidth")
    study.fill("shows", f"""
- **It pays where weights or multiplications are the bottleneck.** The large GEMMs of Llama prefill and of BERT from batch 8
  on gain {spread(large)} each: dense keeps the tensor cores or the L2 busy, and at half the multiplications what feeds them
  takes over well short of 2x. Decoding at batch 1 to 16 gains {spread(small_decode)}: DRAM delivers the weights, and values with
  metadata are 9/16 of their bytes, which is a ceiling of {16 / 9:.2f} that no tensor core can lift.
- **It does not pay where activations or latencies are.** The early layers of ResNet-50 move activations; their weights are
  a few kilobytes. They gain next to nothing or lose: an instruction of 2:4 is twice as deep in k, K = 64 fills few of
  them, and the 2:4 library takes longer to launch. The worst layer of all is {least["name"]} at batch {size} with
  {least["speedup"]:.2f}, the best of ResNet-50 is {best_layer[1]} with {best_layer[0]:.2f}. At batch 1 a launch and the latency of DRAM are most of a layer's time.
- **What is left dense sets the network's figure.** BERT-Large gains {spread(speedups(bert_large))} on its prunable layers and
  {spread([row["speedup"] for row in bert_large])} in all from batch 8 on; decoding at batch {max(decode)} gains {spread(speedups([last]))} and in all {last["speedup"]:.2f}, because
  {100 * share(last):.0f} % of its time is attention over the cache, which no pruning touches.
- **More bandwidth helps it, except where it is the reason for it.** With twice the DRAM bandwidth the gain of ResNet-50 grows
  by {100 * min(more):.0f} to {100 * max(more):.0f} % (batch 32 and more). Decoding at small batch gains {spread(decoding[0])} with half of it and {spread(decoding[2])} with twice:
  DRAM bounds it at any of these rates, and the fixed costs of a launch weigh more.""")


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
                                   y_from=0.8, y_to=2, reference=1))
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

    what_it_shows(study, families)
    of_size = lambda title, size: next(row for row in families[title] if row["dram"] == A100 and size_of(row["workload"]) == size)
    second_opinion(study, of_size(FAMILIES[0][0], 8), of_size(FAMILIES[1][0], 32))
    study.finish()


if __name__ == "__main__":
    main()
