#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Performance and performance per watt of 2:4 against dense by batch, under the power limit.

Per network and batch: GEMMs only, and with the operations between them (softmax, normalisation, activation, residual) as
a declared approximation: the output of every GEMM is read and written once more in the operand type, at 85 % of the DRAM
bandwidth, with the energy per byte of the energy file (HBM, L2, interconnect) and its power at rest. Fused kernels do
less, unfused ones more.

    scripts/sparsity_by_batch.py                              # the table, f16
    scripts/sparsity_by_batch.py --dtype s8                   # as the published figures were taken
    scripts/sparsity_by_batch.py --plot sparsity_by_batch.svg # and the plot (needs python3-matplotlib)
"""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NETWORKS = {"BERT-Large, sequence 384": ("bert_large_s384_b{}", (1, 8, 32, 128)),
            "ResNet-50 v1.5": ("resnet50_v1_5_b{}", (1, 8, 32, 128, 256)),
            "ResNeXt-101 32x16d": ("resnext101_32x16d_b{}", (1, 8, 32, 128, 256))}
# TensorRT 8 on A100, ResNeXt-101 32x16d, int8, whole network: up to 20 % and 36 %.
PUBLISHED = {"ResNeXt-101 32x16d": (1.20, 1.36)}
BANDWIDTH_GB_S = 2039 * 0.85
BYTES = {"f16": 2, "bf16": 2, "s8": 1}  # of an element that is read and written


def simulate(program, trace, options):
    command = [program, "run", str(ROOT / "traces" / (trace + ".json")), "--clock", "limited", "--check", "none",
               "--quiet", "--format", "json", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)


def between_gemms(result, energy):
    """(us, uJ) of the operations between the GEMMs."""
    elements = sum(op["m"] * op["n"] * op["batch"] * op["count"] for op in result["operations"])
    moved = 2 * elements * BYTES[result["operations"][0]["dtype"]]
    us = moved / BANDWIDTH_GB_S * 1e-3
    events = energy["events"]
    pj = sum(events[key]["value"] for key in ("hbm_pj_per_byte", "l2_pj_per_byte", "interconnect_pj_per_byte"))
    return us, moved * pj * 1e-6 + us * energy["static"]["board_idle_w"]["value"]


def ratios(result, energy):
    """(speed-up, performance per watt) GEMMs only, then with the operations between them."""
    dense, sparse = result["totals"]["dense"], result["totals"]["sparse"]
    us, uj = between_gemms(result, energy)
    times = [dense["time_us"], sparse["time_us"]]
    energies = [dense["energy_uj"]["total"], sparse["energy_uj"]["total"]]
    return (times[0] / times[1], energies[0] / energies[1],
            (times[0] + us) / (times[1] + us), (energies[0] + uj) / (energies[1] + uj))


def plot(rows, file):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(1, len(rows), figsize=(4 * len(rows), 4), sharey=True, squeeze=False)
    for axis, (network, points) in zip(axes[0], rows.items()):
        batches = [batch for batch, _ in points]
        for index, label, style in ((0, "performance, GEMMs only", "C0o-"), (1, "per watt, GEMMs only", "C1s-"),
                                    (2, "performance, with the rest", "C0o--"), (3, "per watt, with the rest", "C1s--")):
            axis.plot(batches, [values[index] for _, values in points], style, label=label, markersize=4)
        for value, colour, what in zip(PUBLISHED.get(network, ()), ("C0", "C1"), ("performance", "per watt")):
            axis.axhline(value, color=colour, linestyle=":", label=f"published, {what}: up to {value:.2f}")
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
    parser.add_argument("options", nargs="*", default=["--data", "relu"], help="of sptcsim run, after --")
    arguments = parser.parse_args()

    energy = json.loads(pathlib.Path(arguments.energy).read_text())
    rows = {}
    print(f"{'network':<26} {'batch':>5} {'GEMMs only':>21} {'with the rest':>21}")
    print(f"{'':<26} {'':>5} {'speed-up':>10} {'perf/W':>10} {'speed-up':>10} {'perf/W':>10}")
    for network, (trace, batches) in NETWORKS.items():
        for batch in batches:
            result = simulate(arguments.program, trace.format(batch), [*arguments.options, "--dtype", arguments.dtype, "--energy",
                                                            arguments.energy])
            values = ratios(result, energy)
            rows.setdefault(network, []).append((batch, values))
            print(f"{network:<26} {batch:>5} " + " ".join(f"{value:>10.3f}" for value in values), flush=True)
    if arguments.plot:
        plot(rows, arguments.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
