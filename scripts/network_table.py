#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A table of the README: what 2:4 gains on whole networks, GEMMs alone, on three boards.

    scripts/network_table.py            # prints it; scripts/page_tables.py writes it
"""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Title, file and dimensions.
NETWORKS = [("BERT-Large, sequence 384, batch 8", "bert_large", "batch=8"),
            ("Llama-3-8B prefill, 2048 tokens", "llama3_8b", "batch=1,seq=2048"),
            ("Llama-3-8B decode, batch 16", "llama3_8b", "batch=16,seq=1,context=2048"),
            ("DLRM-DCNv2, batch 2048", "dlrm_v2_dcn", "batch=2048"),
            ("ResNet-50 v1.5, batch 32", "resnet50", "batch=32")]
# Title, board and algorithm.
BOARDS = [("A100", "A100", "default"), ("H100", "H100", "default"), ("H100, searched", "H100", "best"),
          ("B200", "B200", "default")]


def gain(program, fidelity, trace, dims, board, algorithm):
    """Dense time over 2:4 time; bold where 2:4 is slower."""
    done = subprocess.run([program, "run", str(ROOT / "traces" / (trace + ".json")), "--dim", dims, "--arch", board,
                           "--algorithm", algorithm, "--fidelity", fidelity, "--check", "none", "--quiet", "--format", "json"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    result = json.loads(done.stdout)
    if "does_not_fit" in result:
        sys.exit(f"{trace}: {result['does_not_fit']}")
    text = f"{result['totals']['dense']['time_us'] / result['totals']['sparse']['time_us']:.2f}"
    return f"**{text}**" if float(text) < 1 else text


def network_table(program, fidelity="analytic"):
    """Markdown."""
    rows = [("network", *(title for title, _, _ in BOARDS))]
    rows += [(title, *(gain(program, fidelity, trace, dims, board, algorithm) for _, board, algorithm in BOARDS))
             for title, trace, dims in NETWORKS]
    lines = ["| " + " | ".join(row) + " |\n" for row in rows]
    return "".join([lines[0], "|---|" + "---:|" * len(BOARDS) + "\n", *lines[1:]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/sptcsim"))
    parser.add_argument("--fidelity", default="analytic", choices=("analytic", "timing"))
    arguments = parser.parse_args()
    print(network_table(arguments.program, arguments.fidelity), end="")


if __name__ == "__main__":
    main()
