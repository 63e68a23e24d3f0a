#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of README.md, configs/README.md and configs/ACCURACY.md that stand between comments, but for the one of boards
left out.

    scripts/page_tables.py           # writes them; run it again after a number, an error of errors.csv or the model changes
    scripts/page_tables.py --check   # writes nothing; exit 1 and their names where some are out of date

Errors of measured pairs are those of `sptcsim validate` in closed form, of power those of scripts/energy_fit.py, all others
those that tests hold (tests/fidelity/errors.csv).
"""
import argparse
import collections
import pathlib
import sys
import tempfile

import energy_fit
import evidence_distance
import network_table
import update_errors

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = ("measured", "cited", "derived", "assumed")
TYPES = ("f16", "bf16", "s8", "e4m3")
# Data set to what is compared, and the name of its error in errors.csv without "mean %". "worst %" of the name goes into brackets.
OTHERS = {
    "cuBLAS f16, A100: 52 rows held out": {
        "closed form": "A100 f16 held out analytic", "SystemC": "A100 f16 held out timing",
        "clock of the whole layer": "A100 f16 held out limited clock"},
    "the same, 52 others": {
        "closed form": "A100 f16 other rows analytic", "SystemC": "A100 f16 other rows timing",
        "clock of the layer": "A100 f16 other rows limited clock"},
    "PyTorch's f16 GEMMs, A100: 11 shapes": {
        "cuBLAS": "A100 cuBLAS f16", "cuSPARSELt": "A100 cuSPARSELt f16 2:4", "CUTLASS 2:4": "A100 CUTLASS f16 2:4",
        "gains in the wrong order": "A100 f16 2:4 gains in the wrong order %"},
    "BERT-Large, TensorRT: 36 rows": {
        "A100": "A100 40GB TensorRT BERT-Large", "L40S": "L40S TensorRT BERT-Large", "all": "TensorRT BERT-Large",
        "gains": "TensorRT BERT-Large gain"},
    "BERT-Base, A100: 52 rows": {
        name: f"{name} BERT-Base" for name in ("fastertransformer", "fastertransformer-int8", "pytorch", "pytorch-autocast",
                                               "inductor", "inductor-autocast")},
    "Llama-3-8B, DeepSeek-R1: 15 published passes": {
        "Llama decode": "llama-3-8b decode", "prefill": "llama-3-8b prefill", "DeepSeek decode": "deepseek-r1 decode",
        "its prefill": "deepseek-r1 prefill"},
    "FlashAttention-3, H100: 60 rows": {
        "f16": "H100 FlashAttention-3 f16", "e4m3": "H100 FlashAttention-3 e4m3",
        "from 8192 on": "H100 FlashAttention-3 e4m3 from 8192", "causal over full": "FlashAttention causal over full"},
    "training step of an MLP, A100": {
        "dense": "A100 MLP step dense", "2:4 weights": "A100 MLP step w24", "2:4 activations": "A100 MLP step act24"},
    "closed form against SystemC": {
        "A100": "A100 closed form from SystemC", "A40": "A40 closed form from SystemC",
        "L2 warm: H100": "warm H100 closed form from SystemC", "B200": "warm B200 closed form from SystemC"},
    "the same, a number halved or doubled": {
        "cases over 5 points apart": "moves of a design that differ %"},
}


def table(head, rows):
    """Markdown: the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    return "\n".join([lines[0], "|---|" + "---:|" * (len(head) - 1), *lines[1:]]) + "\n"


def boards(program):
    """Of each board, without slices of one: numbers by evidence, and how near GEMM times were measured."""
    def by_evidence(*words):
        counts = collections.Counter(number["evidence"] for number in program.json(*words)["parameters"])
        return "/".join(str(counts[kind]) for kind in KINDS)

    known = {row["name"]: row for row in program.json("arch", "list")["architectures"]}
    rows = evidence_distance.measured_rows()
    lines = []
    for board in sorted(name for name in known if "-mig-" not in name):
        near = str(len(rows[board])) if board in rows else evidence_distance.nearest(board, list(rows), known)[0]
        lines.append((board, by_evidence("arch", "show", board), by_evidence("energy", "show", board), near))
    return table(("board", "its numbers", "its energies", "GEMM times"), lines)


def pairs(program):
    """Tables of gains, of times, and of both by board, in closed form: errors of the model and of the best constant or roofline."""
    def cell(figures):
        return f"{figures[0]:.1f} ({figures[1]:.1f})" if None not in figures else f"{figures[0]:.1f}"

    gain_rows, time_rows, board_rows = [], [], []
    for path in sorted(evidence_distance.EVIDENCE.glob("*.csv")):
        board = path.stem
        found = program.json("validate", path, "--arch", board, "--fidelity", "analytic", "--quiet")
        for algorithm in ("best", "default"):
            kinds = {kind["dtype"]: (kind["mean_error_percent"], kind["constant_error_percent"])
                     for kind in found["speedup"]["by"] if kind["algorithm"] == algorithm and kind["l2"] == "warm"}
            name = board if algorithm == "best" else f"{board}, default kernels"
            if kinds:
                gain_rows.append((name, *(cell(kinds[dtype]) if dtype in kinds else "-" for dtype in TYPES)))
        times = {(kind["dtype"], kind["sparsity"]): kind["mape_percent"] for kind in found["by"]}
        times = {dtype: f"{times[dtype, 'dense']:.1f}, {times[dtype, '2:4']:.1f}" for dtype in TYPES if (dtype, "dense") in times}
        worst = found["worst"][0]
        roofline = found["baseline"] and found["baseline"]["mape_percent"]
        time_rows.append((board, *(times.get(dtype, "-") for dtype in TYPES), cell((found["mape_percent"], roofline)),
                          f"{worst['m']}x{worst['n']}x{worst['k']} {worst['dtype']} {worst['sparsity']} "
                          f"{worst['error_percent']:+.0f}"))
        gains = found["speedup"]
        board_rows.append((board, str(gains["count"]), cell((gains["mean_error_percent"], gains["constant_error_percent"])),
                           f"{gains['log_correlation']:.2f}", f"{gains['losses_called']} of {gains['losses_measured']}",
                           *time_rows[-1][-2:]))
    return (table(("gains", *TYPES), gain_rows),
            table(("times: dense, 2:4", *TYPES, "all", "worst row"), time_rows),
            table(("board", "pairs", "gain error (constant) %", "correlation", "losses called", "time error (roofline) %",
                   "worst row, %"), board_rows))


def others():
    """Table of the errors that tests hold on other data sets. Each error of errors.csv stands here or in those of pairs()."""
    errors = update_errors.read(update_errors.TABLE)
    of_pairs = tuple(f"{path.stem} " for path in evidence_distance.EVIDENCE.glob("*.csv"))
    left = {name for name in errors if not name.startswith(of_pairs)} - {"A100 instructions mean %"}  # the page has a table
    rows = []
    for what, names in OTHERS.items():
        cells = []
        for label, name in names.items():
            mean, worst = name if name.endswith("%") else f"{name} mean %", f"{name} worst %"
            cells.append(f"{label} {errors[mean]:.1f}" + (f" ({errors[worst]:.1f})" if worst in errors else ""))
            left -= {mean, worst}
        rows.append((what, ", ".join(cells)))
    if left:
        sys.exit(f"page_tables.py: OTHERS must have {sorted(left)} of errors.csv, too")
    return table(("data set", "mean error % (worst)"), rows)


def power(program):
    """Table of the rates that power limits allow, as scripts/energy_fit.py has them, without the zeros that give the ceiling."""
    sums = {"random": "", "integers": " small integers", "random/f16": " (f16 sums)"}
    rows = {}
    for board, dtype, data, factor, published, what in energy_fit.READINGS:
        if data in sums:
            tflops, _ = energy_fit.limited(program.path, board, dtype, data, factor)
            fitted = " (fitted)" if what.endswith("(fitted)") else ""
            rows.setdefault(f"{board.arch}, {board.limit_w} W", []).append(
                f"{dtype}{sums[data]} {100 * (tflops / published - 1):+.1f}{fitted}")
    return table(("board, limit", "error of TFLOP/s, %"), [(board, ", ".join(found)) for board, found in rows.items()])


def tables(program):
    """(page, name of the comments, table)."""
    gains, times, by_board = pairs(program)
    accuracy = "configs/ACCURACY.md"
    return [("README.md", "networks", network_table.network_table(program.path)), ("README.md", "accuracy", by_board),
            ("configs/README.md", "boards", boards(program)), (accuracy, "gains", gains), (accuracy, "times", times),
            (accuracy, "others", others()), (accuracy, "power", power(program))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/sptcsim"))
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = tables(evidence_distance.Program(arguments.program, folder))
    old = [(page, name, text) for page, name, text in found
           if f"<!-- {name} -->\n{text}<!-- /{name} -->" not in (ROOT / page).read_text(encoding="utf-8")]
    for page, name, text in old:
        if arguments.check:
            print(f"{page}: the table '{name}' is out of date; scripts/page_tables.py writes it", file=sys.stderr)
        else:
            evidence_distance.write_table(page, name, text)
            print(f"{page}: table '{name}' written")
    return 1 if old and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
