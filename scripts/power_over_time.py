#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Power and clock of a network over time, dense above 2:4 ("power_over_time" of a JSON report).

Operations stand in the order of the trace, all launches of one together, without gaps; the shaded area is the energy. Needs
python3-matplotlib.

    scripts/power_over_time.py traces/bert_large.json power.svg -- --dim batch=8 --clock limited
    scripts/power_over_time.py traces/resnet50.json power.png -- --dim batch=32 --clock limited --power-limit 300 --data relu
"""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMED = 0.04  # of the time: shorter operations have no label


def simulate(program, trace, options):
    command = [program, "run", trace, "--check", "none", "--quiet", "--format", "json", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    result = json.loads(done.stdout)
    if not result.get("power_over_time"):
        sys.exit(f"{trace}: no energies of {result['arch']}: give a file with -- --energy")
    return result


def draw(axis, result, variant, trace):
    edges = [trace[0]["from_us"] * 1e-3] + [interval["to_us"] * 1e-3 for interval in trace]
    axis.stairs([interval["power_w"] for interval in trace], edges, fill=True, alpha=0.35, color="C0")
    axis.stairs([interval["power_w"] for interval in trace], edges, color="C0", label="average of a launch")
    axis.stairs([interval["peak_power_w"] for interval in trace], edges, color="C3", linewidth=0.8, linestyle=":",
                baseline=None, label="while the tensor cores are fed")
    whole = edges[-1] - edges[0]
    for interval, start, end in zip(trace, edges, edges[1:]):
        if end - start > NAMED * whole:
            name = result["operations"][interval["operation"]]["name"]
            axis.annotate(name[:28], ((start + end) / 2, 8), rotation=90, ha="center", va="bottom", fontsize=6)
    total = result["totals"][variant]
    axis.set_ylabel(f"{'dense' if variant == 'dense' else '2:4'}, W")
    axis.set_title(f"{total['energy_uj']['total'] * 1e-6:.3g} J, {total['power_w']:.0f} W on average, {whole:.3g} ms",
                   fontsize=8, loc="right")
    axis.grid(alpha=0.3)
    clock = axis.twinx()
    clock.stairs([interval["clock_mhz"] for interval in trace], edges, color="C2", linewidth=1, baseline=None)
    clock.set_ylabel("SM clock, MHz", color="C2")
    clock.set_ylim(0, 1.15 * max(interval["clock_mhz"] for interval in trace))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("plot", metavar="FILE", help="SVG, PNG or PDF by its ending")
    parser.add_argument("--program", default=str(ROOT / "build/release/sptcsim"))
    parser.add_argument("options", nargs="*", default=["--clock", "limited"], help="of sptcsim run, after --")
    arguments = parser.parse_args()

    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    result = simulate(arguments.program, arguments.trace, arguments.options)
    traces = [(variant, trace) for variant, trace in result["power_over_time"].items() if trace]
    figure, axes = plt.subplots(len(traces), 1, figsize=(9, 2.9 * len(traces)), sharex=True, sharey=True, squeeze=False)
    for axis, (variant, trace) in zip(axes[:, 0], traces):
        draw(axis, result, variant, trace)
    axes[0][0].set_ylim(0, 1.25 * max(interval["peak_power_w"] for _, trace in traces for interval in trace))
    axes[0][0].legend(fontsize=7, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, ncols=2)
    axes[-1][0].set_xlabel("ms, GEMMs only")
    figure.suptitle(f"{result['workload']} on {result['arch']}, clock {result['options']['clock']}", fontsize=9)
    figure.tight_layout()
    figure.savefig(arguments.plot, dpi=130)
    return 0


if __name__ == "__main__":
    sys.exit(main())
