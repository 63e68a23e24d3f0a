#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where 2:4 pays: runs configs/sweeps/where-2-4-pays and writes its figures and sentences.

    scripts/studies/where_2_4_pays.py [--program build/release/sptcsim] [--jobs 2]
"""
import json
import re

import figure
from study import ROOT, Study, arguments, spread

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


def second_opinion(study, bert):
    """BERT-Large at batch 8 by the SystemC model, beside the row of the closed form."""
    simulated = json.loads(study.run("run", str(ROOT / "traces" / "bert_large.json"), "--dim", "batch=8", "--clock", "boost",
                                     "--kernels", "search", "--check", "none", "--format", "json"))
    other = {op["name"]: op for op in simulated["operations"]}
    apart = max(abs(op["speedup"] - other[op["name"]]["speedup"]) for op in by_operation(bert))
    study.fill("systemc", f"""SystemC gives BERT-Large at batch 8 a gain of {simulated["totals"]["speedup"]:.2f}, the closed form {bert["speedup"]:.2f}. \
Their layers are at most {apart:.2f} apart.""")


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
- **It pays where weights or multiplications limit.** Large GEMMs of Llama prefill and of BERT from batch 8 on gain {spread(large)}.
  Decoding at batch 1 to 16 gains {spread(small_decode)} of {16 / 9:.2f}, the ratio of its bytes.
- **It does not where activations or launches limit.** ResNet-50's worst layer is {least["name"]} at batch {size} with
  {least["speedup"]:.2f}, its best {best_layer[1]} with {best_layer[0]:.2f}.
- **What stays dense sets the network's gain.** BERT-Large gains {spread([row["speedup"] for row in bert_large])} from batch 8 on. Decoding at batch {max(decode)}
  gains {last["speedup"]:.2f}: attention takes {100 * share(last):.0f} % of its time.
- **Twice the DRAM bandwidth** raises what ResNet-50 gains by {spread([100 * grown for grown in more], 0)} % from batch 32 on. \
Decoding at batch 1 to 16 then gains {spread(decoding[2])}.""")


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

    what_it_shows(study, families)
    second_opinion(study, next(row for row in families[FAMILIES[0][0]] if row["dram"] == A100 and size_of(row["workload"]) == 8))
    study.finish()


if __name__ == "__main__":
    main()
