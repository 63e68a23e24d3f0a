#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each mechanism of the model is worth: errors on measured GEMMs with it and without it.

A mechanism is left out by another number of the architecture, another option or another library. Errors are those of
`sptcsim validate` on rows that are held out: their (m, k) has an odd CRC-32.

    scripts/parameter_effects.py FOLDER                     # every mechanism
    scripts/parameter_effects.py FOLDER clusters power      # those whose name has one of these words
    scripts/parameter_effects.py FOLDER --numbers a100      # numbers that no document states, halved and doubled, GPUs with such a name

FOLDER has the files of FILES below.
"""
import argparse
import csv
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAIRS = ["--l2", "warm", "--launch", "stream", "--algorithm", "best", "--warmup", "25", "--repeat", "50"]
GRAPHS = ["--dtype", "bf16", "--l2", "rotate:6", "--launch", "graph"]
COLD = ["--l2", "cold", "--launch", "stream"]
# Title, file, architecture and conditions.
FILES = [("A100 pairs", "pairs/pairs_a100-pcie-80gb.csv", "a100-pcie-80gb", PAIRS),
         ("H100 pairs", "pairs/pairs_h100-pcie.csv", "h100-pcie", PAIRS),
         ("B200 pairs", "pairs/pairs_b200.csv", "b200", PAIRS),
         ("RTX 4090 pairs", "pairs/pairs_rtx4090.csv", "rtx4090", PAIRS),
         ("A100 bf16", "bf16/bf16_a100_sxm__vllm__0.14.0.csv", "a100-sxm4-80gb", GRAPHS),
         ("H100 bf16", "bf16/bf16_h100_sxm__vllm__0.24.0.csv", "h100-sxm5-80gb", GRAPHS),
         ("H200 bf16", "bf16/bf16_h200_sxm__vllm__0.22.0.csv", "h200-sxm", GRAPHS),
         ("B200 bf16", "bf16/bf16_b200_sxm__vllm__0.22.0.csv", "b200", GRAPHS),
         ("L40S bf16", "bf16/bf16_l40s__vllm__0.24.0.csv", "l40s", GRAPHS),
         ("A100 f16", "gemm_fp16_a100-sxm4-80gb.csv", "a100-pcie-80gb", [*COLD, "--warmup", "2", "--repeat", "20"]),
         ("A40 f16", "gemm_fp16_a40.csv", "a40", COLD),
         ("H100 f16", "gemm_fp16_h100-sxm5-80gb.csv", "h100-sxm5-80gb",
          [*COLD, "--warmup", "2", "--repeat", "20", "--library", "cublas-sm90-xmma"])]
# Name, numbers of the architecture and options without it.
MECHANISMS = [("power limit", {}, ["--clock", "boost"]),
              ("board that starts idle", {}, ["--warmup", None, "--repeat", None]),
              ("L2 between launches", {}, ["--l2", "cold"]),
              ("launch", {"/kernels/launch_us": 0}, []),
              ("calls of a stream", {"/kernels/stream_us": 0, "/kernels/sparse_stream_us": 0}, []),
              ("cuSPARSELt's own calls", {"/kernels/sparse_stream_us": "/kernels/stream_us"}, []),
              ("second kernel of split-K", {"/kernels/reduction_launch_us": 0}, []),
              ("clusters", {"/kernels/cluster_ctas": 1}, []),
              ("partitions of the L2", {"/memory/l2_partitions": 1}, []),
              ("ports of the SMs", {"/memory/sm_port_bytes_per_cycle": 1024}, []),
              ("refresh of DRAM", {"/memory/dram_refresh_ns": 0.001, "/memory/dram_refresh_interval_ns": 1e6}, []),
              ("efficiency of DRAM", {"/memory/dram_efficiency_percent": 100}, []),
              ("latency of DRAM", {"/memory/dram_access_latency_cycles": 1}, []),
              ("barriers", {"/sm/barrier_latency_cycles": 2}, []),
              ("latency of shared memory", {"/sm/shared_memory_latency_cycles": 1}, []),
              ("gap of a warp", {"/sm/tensor_core/same_warp_gap_cycles": 0}, []),
              ("port of metadata", {"/sm/tensor_core/metadata_port_bytes_per_cycle": 1024}, []),
              ("ports of operands", {f"/sm/tensor_core/{port}_port_bytes_per_cycle": 1024
                                     for port in ("operand_a", "operand_b", "accumulator")}, []),
              ("banks of registers", {"/sm/tensor_core/register_bank_bytes_per_cycle": 4096}, []),
              ("instruction window", {"/sm/tensor_core/instruction_window": 64}, [])]


def held_out(row):
    return zlib.crc32(f"x{row['m']},{row['k']}".encode()) % 2 == 1


def draw(source, target, most):
    """Writes at most `most` of the held out rows of `source`, but those of s8, whose kernels no file names."""
    with open(source, encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if held_out(row) and row.get("dtype") != "s8"]
    if len(rows) > most and "sparsity" not in rows[0]:
        rows = random.Random(1).sample(rows, most)
    with open(target, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def shown(program, arch):
    done = subprocess.run([program, "arch", "show", arch, "--format", "json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def parameters(program, arch):
    return {number["pointer"]: number for number in shown(program, arch)["parameters"]}


def derived(base, numbers):
    design = {"base": base, "name": "changed"}
    for pointer, value in numbers.items():
        inner = design
        *sections, key = pointer.split("/")[1:]
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[key] = {"value": value, "evidence": "assumed", "source": "what if"}
    return design


def with_options(conditions, options):
    """`conditions` with the values of `options` instead, without those that are None."""
    values = dict(zip(conditions[::2], conditions[1::2])) | dict(zip(options[::2], options[1::2]))
    return [word for option, value in values.items() if value is not None for word in (option, value)]


class Validation:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, pathlib.Path(folder)
        self.files = []
        for title, name, arch, conditions in FILES:
            if arguments.files and not any(word in title for word in arguments.files):
                continue
            rows = self.folder / f"{len(self.files)}.csv"
            draw(pathlib.Path(arguments.folder) / name, rows, arguments.most)
            # A changed design would else get kernels of its own search.
            library = ["--library", shown(arguments.program, arch)["library"]]
            self.files.append((title, rows, arch, with_options(library, conditions)))

    def errors(self, rows, arch, numbers, options):
        """Mean errors in percent: of dense rows, of 2:4, of the speed-up; None where the design cannot be."""
        if numbers:
            design = self.folder / "changed.json"
            design.write_text(json.dumps(derived(arch, numbers)), encoding="utf-8")
            arch = str(design)
        done = subprocess.run([self.arguments.program, "validate", str(rows), "--arch", arch, *options, "--fidelity", "timing", "--quiet", "--format", "json"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            print(done.stderr.strip(), file=sys.stderr)
            return None
        result = json.loads(done.stdout)
        found = []
        for sparsity in ("dense", "2:4"):
            kinds = [kind for kind in result["by"] if kind["sparsity"] == sparsity]
            if kinds:
                found.append(sum(kind["count"] * kind["mape_percent"] for kind in kinds) / sum(kind["count"] for kind in kinds))
        return found + ([result["speedup"]["mean_error_percent"]] if len(found) > 1 else [])


def text(errors):
    return "-" if errors is None else ", ".join(f"{error:.1f}" for error in errors)


def table_of_mechanisms(validation, words):
    base = [validation.errors(rows, arch, {}, conditions) for _, rows, arch, conditions in validation.files]
    print(f"| without | {' | '.join(title for title, *_ in validation.files)} |\n|---|{'---:|' * len(base)}")
    print(f"| nothing | {' | '.join(map(text, base))} |", flush=True)
    for name, numbers, options in MECHANISMS:
        if words and not any(word in name for word in words):
            continue
        cells = []
        for (_, rows, arch, conditions), before in zip(validation.files, base):
            here = parameters(validation.arguments.program, arch)
            changes = {pointer: here[value]["value"] if isinstance(value, str) else value for pointer, value in numbers.items()}
            changes = {pointer: value for pointer, value in changes.items() if here[pointer]["value"] != value}
            other = with_options(conditions, options)
            same = not changes and other == conditions
            errors = before if same else validation.errors(rows, arch, changes, other)
            cells.append("" if same or errors == before else text(errors))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def table_of_numbers(validation, gpu):
    files = [file for file in validation.files if gpu in file[2]]
    print(f"| number | value | change | {' | '.join(title for title, *_ in files)} |\n|---|---:|---:|{'---:|' * len(files)}")
    print(f"| nothing | | | {' | '.join(text(validation.errors(rows, arch, {}, conditions)) for _, rows, arch, conditions in files)} |")
    for pointer, number in parameters(validation.arguments.program, files[0][2]).items():
        for factor in (0.5, 2) if number["evidence"] != "cited" and number["value"] else ():
            value = number["value"] * factor
            value = int(value) if isinstance(number["value"], int) else value
            cells = [text(validation.errors(rows, arch, {pointer: value}, conditions)) for _, rows, arch, conditions in files]
            print(f"| `{pointer.split('/')[-1]}` | {number['value']:g} | x {factor:g} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="has the files of FILES")
    parser.add_argument("words", nargs="*", default=[], help="of the mechanisms to leave out")
    parser.add_argument("--files", nargs="+", metavar="WORD", help="those whose title has one of these words")
    parser.add_argument("--numbers", metavar="GPU", help="halve and double numbers instead")
    parser.add_argument("--most", type=int, default=200, metavar="ROWS", help="of a file without pairs")
    parser.add_argument("--program", default=str(ROOT / "build/release/sptcsim"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        validation = Validation(arguments, folder)
        if arguments.numbers:
            table_of_numbers(validation, arguments.numbers)
        else:
            table_of_mechanisms(validation, arguments.words)


if __name__ == "__main__":
    main()
