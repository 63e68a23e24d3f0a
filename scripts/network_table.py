#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first table of the README: what 2:4 buys on whole networks, and the prunable layer that gains least.

    scripts/network_table.py            # Markdown
"""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Title, file and dimensions.
NETWORKS = [("BERT-Large, sequence 384, batch 8", "bert_large", "batch=8"), ("ViT-L/16, batch 32", "vit_l_16", "batch=32"),
            ("Llama-3-8B prefill, 2048 tokens", "llama3_8b", "batch=1,seq=2048"),
            ("Llama-3-8B decode, batch 16", "llama3_8b", "batch=16,seq=1,context=2048"),
            ("DLRM-DCNv2, batch 2048", "dlrm_v2_dcn", "batch=2048"),
            ("ResNeXt-101 32x16d, batch 32", "resnext101_32x16d", "batch=32"),
            ("ResNet-50 v1.5, batch 32", "resnet50", "batch=32")]
WORDS = {"tensor": "tensor cores", "smem": "shared memory", "sm_port": "ports of the SMs", "l2": "L2", "hbm": "DRAM",
         "launch": "launch", "latency": "latency", "grid": "too few CTAs"}


def simulate(arguments, trace, dims):
    command = [arguments.sptcsim, "run", str(ROOT / "traces" / (trace + ".json")), "--dim", dims, "--arch", arguments.arch, "--fidelity", arguments.fidelity, "--check", "none", "--quiet", "--format", "json", "--explain"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    result = json.loads(done.stdout)
    if "does_not_fit" in result:
        sys.exit(f"{trace}: {result['does_not_fit']}")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sptcsim", default=str(ROOT / "build" / "release" / "sptcsim"), metavar="FILE")
    parser.add_argument("--arch", default="a100-sxm4-80gb")
    parser.add_argument("--fidelity", default="timing", choices=("analytic", "timing"))
    arguments = parser.parse_args()
    print("| network | dense ms | 2:4 ms | speed-up | per watt | least gain: layer (m x n x k), speed-up, bound |")
    print("|---|---:|---:|---:|---:|---|")
    for title, trace, dims in NETWORKS:
        result = simulate(arguments, trace, dims)
        dense, sparse = result["totals"]["dense"], result["totals"]["sparse"]
        pruned = [op for op in result["operations"] if op.get("speedup") is not None and op["prunable"]]
        least = min(pruned, key=lambda op: op["speedup"])
        gain = f"{least['speedup']:.2f}"
        gain = f"**{gain}**" if least["speedup"] < 1 else gain
        bound = least["sparse"]["bound_by"]
        print(f"| {title} | {dense['time_us'] / 1e3:.4g} | {sparse['time_us'] / 1e3:.4g} | "
              f"{dense['time_us'] / sparse['time_us']:.2f} | "
              f"{dense['energy_uj']['total'] / sparse['energy_uj']['total']:.2f} | "
              f"{least['name']} ({least['m']} x {least['n']} x {least['k']}), {gain}, {WORDS.get(bound, bound)} |")


if __name__ == "__main__":
    main()
