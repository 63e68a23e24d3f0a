#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Performance and performance per watt of 2:4 against dense by batch, under the power limit.

Per network and batch: GEMMs only; with the operations between them (softmax, normalisation, activation, residual) as a
declared approximation: the output of every GEMM is read and written once more in the operand type, at 85 % of the DRAM
bandwidth; and the same where each layer runs dense or 2:4, whichever is faster, as TensorRT chooses. Fused kernels move
less between the GEMMs, unfused ones more. The limit holds on average over the network, which runs over and over
(--limit-over group), at one clock for dense and one for 2:4. Times are closed forms, unless options say otherwise.

    scripts/sparsity_by_batch.py                              # the table, f16
    scripts/sparsity_by_batch.py --dtype s8                   # as the published figures were taken
    scripts/sparsity_by_batch.py --plot sparsity_by_batch.svg # and the plot (needs python3-matplotlib)
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NETWORKS = {"BERT-Large, sequence 384": ("bert_large", (1, 8, 32, 128, 256)),
            "ResNet-50 v1.5": ("resnet50", (1, 8, 32, 128, 256)),
            "ResNeXt-101 32x16d": ("resnext101_32x16d", (1, 8, 32, 128, 256))}
# TensorRT 8 on A100, ResNeXt-101 32x16d, int8, whole network: up to 20 % and 36 %.
PUBLISHED = {"ResNeXt-101 32x16d": (1.20, 1.36)}
BANDWIDTH_GB_S = 2039 * 0.85
BYTES = {"f16": 2, "bf16": 2, "s8": 1}  # of an element that is read and written


def simulate(program, document, options):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(document, file)
        file.flush()
        command = [program, "run", file.name, "--clock", "limited", "--limit-over", "group", "--check", "none", "--quiet",
                   "--format", "json", *options]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)


def with_rest(document, element_bytes):
    """The workload with what follows each GEMM: its output read and written once more."""
    changed = json.loads(json.dumps(document))
    for op in changed["ops"]:
        moved = 2 * op["m"] * op["n"] * op["batch"] * element_bytes
        op["rest_bytes"] = moved
        op["rest_ns"] = max(1, round(moved / BANDWIDTH_GB_S))
    return changed


def with_faster_variant(document, result):
    """The workload whose layers stay dense where 2:4 was not faster."""
    changed = json.loads(json.dumps(document))
    for op, row in zip(changed["ops"], result["operations"]):
        op["prunable_2_4"] = bool(row["sparse"]) and row["sparse"]["time_us"] < row["dense"]["time_us"]
    return changed


def ratios(result, rest):
    """(speed-up, performance per watt)."""
    if not result["totals"]["sparse"]:
        return 1.0, 1.0
    times, energies = [], []
    for variant in ("dense", "sparse"):
        total = result["totals"][variant]
        times.append(total["time_us"] + (total["rest"]["time_us"] if rest else 0))
        energies.append(total["energy_uj"]["total"] + (total["rest"]["energy_uj"] if rest else 0))
    return times[0] / times[1], energies[0] / energies[1]


def expanded(program, trace, batch):
    """The list with numbers for its extents."""
    command = [program, "import", str(ROOT / "traces" / (trace + ".json")), "--dim", f"batch={batch}"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def figures(program, trace, batch, dtype, options):
    document = expanded(program, trace, batch)
    options = [*options, "--dtype", dtype]
    alone = simulate(program, document, options)
    surrounded = with_rest(document, BYTES[dtype])
    all_sparse = simulate(program, surrounded, options)
    faster = simulate(program, with_faster_variant(surrounded, all_sparse), options)
    return *ratios(alone, False), *ratios(all_sparse, True), *ratios(faster, True)


def plot(rows, file):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(1, len(rows), figsize=(4 * len(rows), 4), sharey=True, squeeze=False)
    for axis, (network, points) in zip(axes[0], rows.items()):
        batches = [batch for batch, _ in points]
        for index, label, style in ((0, "performance, GEMMs only", "C0o-"), (1, "per watt, GEMMs only", "C1s-"),
                                    (2, "performance, with the rest", "C0o--"), (3, "per watt, with the rest", "C1s--"),
                                    (4, "performance, the faster per layer", "C0o:"), (5, "per watt, the faster per layer", "C1s:")):
            axis.plot(batches, [values[index] for _, values in points], style, label=label, markersize=4)
        for value, colour, what in zip(PUBLISHED.get(network, ()), ("C0", "C1"), ("performance", "per watt")):
            axis.axhline(value, color=colour, linestyle="-", alpha=0.4, label=f"published, {what}: up to {value:.2f}")
        axis.set(title=network, xscale="log", xlabel="batch", xticks=batches, xticklabels=batches)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("2:4 / dense")
    figure.legend(*axes[0][-1].get_legend_handles_labels(), loc="lower center", ncols=3, fontsize=8)
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    figure.savefig(file, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/sptcsim"))
    parser.add_argument("--energy", default=str(ROOT / "configs/energy/a100-sxm4-80gb.json"), help="energy file")
    parser.add_argument("--dtype", choices=BYTES, default="f16", help="operand type")
    parser.add_argument("--plot", metavar="FILE", help="write a plot")
    parser.add_argument("options", nargs="*", default=["--data", "relu", "--fidelity", "analytic"],
                        help="of sptcsim run, after --")
    arguments = parser.parse_args()

    rows = {}
    print(f"{'network':<26} {'batch':>5} {'GEMMs only':>21} {'with the rest':>21} {'the faster per layer':>21}")
    print(f"{'':<26} {'':>5}" + 3 * f" {'speed-up':>10} {'perf/W':>10}")
    for network, (trace, batches) in NETWORKS.items():
        for batch in batches:
            values = figures(arguments.program, trace, batch, arguments.dtype,
                             [*arguments.options, "--energy", arguments.energy])
            rows.setdefault(network, []).append((batch, values))
            print(f"{network:<26} {batch:>5} " + " ".join(f"{value:>10.3f}" for value in values), flush=True)
    if arguments.plot:
        plot(rows, arguments.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
