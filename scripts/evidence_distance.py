#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far simulated times and gains are from measured ones where a board was not measured: each board is left out in turn.

Of a board that is left out the data sheet stays, and what others published of its chip. Each number that was read off rows
measured on it (READ_OFF) gives way to that of its nearest other measured boards, of its chip, else of its generation, else of
all: the mean of those that are not copies of it. Library facts read off its rows give way, too (LIBRARIES).

Beside them stands the best single constant, fitted on the other boards, each of which weighs as much: for gains one gain, for
times the roofline of the data sheet over one efficiency. Rows are those of configs/evidence and tests/fidelity/data.

    scripts/evidence_distance.py                  # writes configs/evidence/distance.json and its table in configs/ACCURACY.md
    scripts/evidence_distance.py --boards a40     # prints a line of the table each, and writes nothing
"""
import argparse
import csv
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIGS = ROOT / "configs"
EVIDENCE = CONFIGS / "evidence"
DATA = ROOT / "tests" / "fidelity" / "data"
CLASSES = ("board", "chip", "generation", "none")
TABLE = """| board | nearest | rows, gains | times: left out, fitted, constant | gains |
|---|---|---:|---:|---:|
"""
DESCRIPTION = ("Mean error of simulated gains by how near the measured pairs are: on the board itself, and with each board left out, "
               "on its chip, on its generation, on neither. scripts/evidence_distance.py writes it. null: not known.")
# Of Vidur's A100, a PCIe board by its rates: conditions of its profiles.
VIDUR_A100 = {"dtype": "f16", "l2": "cold", "launch": "stream", "warmup": "2", "repeat": "20"}
COLUMNS = ("m", "n", "k", "dtype", "sparsity", "d_dtype", "l2", "launch", "algorithm", "warmup", "repeat", "time_us_median",
           "layout", "alg")
BYTES = {"f16": 2, "bf16": 2, "e4m3": 1, "s8": 1, "s32": 4, "f32": 4}

STREAM = ("/kernels/stream_us", "/kernels/sparse_stream_us")
PROBES = ("/sm/async_copy_latency_cycles", "/sm/bulk_copy_latency_cycles", "/sm/tensor_core/operand_a_port_bytes_per_cycle",
          "/sm/tensor_core/metadata_port_bytes_per_cycle", "/memory/l2_near_latency_cycles", "/memory/l2_far_latency_cycles",
          "/memory/dram_access_latency_cycles")
# Board to numbers that were read off its rows, or by probes on it: of its architecture file, and of its energy file.
READ_OFF = {
    "a100-pcie-80gb": ((*STREAM, "/kernels/reduction_launch_us"), ("/clock/burst_ratio",)),
    "a100-sxm4-80gb": (("/kernels/launch_us",), ()),
    "a40": (("/kernels/reduction_launch_us",), ()),
    "b200": (("/kernels/launch_us", *STREAM, "/kernels/reduction_launch_us", "/sm/tensor_core/operand_a_port_bytes_per_cycle",
              "/memory/l2_bytes_per_cycle", "/memory/sm_port_bytes_per_cycle"),
             ("/events/hbm_pj_per_byte", "/static/board_idle_w", "/clock/boost_supply_v")),
    "h100-pcie": (STREAM, ("/clock/floor_supply_v", "/clock/burst_ratio")),
    "h100-sxm5-80gb": (("/kernels/launch_us", "/kernels/sparse_launch_us", "/kernels/reduction_launch_us", *PROBES,
                        "/sm/bulk_fill_bytes_per_cycle", "/sm/bulk_edge_elements_per_cycle", "/memory/sm_port_bytes_per_cycle"),
                       ("/events/operand_latch_pj_per_byte", "/static/leakage_per_sm_w", "/static/idle_sm_w", "/static/busy_sm_w",
                        "/static/board_idle_w", "/clock/loaded_clock_mhz", "/clock/burst_ratio")),
    "h200-sxm": (("/kernels/launch_us", *STREAM, *PROBES),
                 ("/events/shared_memory_write_pj_per_byte", "/events/l2_pj_per_byte", "/events/interconnect_pj_per_byte",
                  "/events/hbm_pj_per_byte", "/static/board_idle_w", "/clock/boost_supply_v")),
    "l40s": (("/kernels/launch_us",), ()),
    "rtx4090": ((*STREAM, "/kernels/reduction_launch_us"), ()),
}
# Board to the library of another, and to keys of its own that its rows gave.
LIBRARIES = {"a40": ("cublas-sm80", ()), "b200": ("cublas-sm100", ("integer_tiles",)),
             "h100-pcie": ("cublas-sm90", ("integer_best_tiles",)), "h100-sxm5-80gb": ("cublas-sm90-xmma", ()),
             "rtx4090": ("cublas-sm80", ())}


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, pathlib.Path(folder)
        # Libraries of boards that are left out.
        self.environment = os.environ | {"SPTCSIM_CONFIG_DIR": str(self.folder)}
        (self.folder / "libraries").mkdir()

    def json(self, *arguments):
        words = [*map(str, arguments), "--format", "json"]
        done = subprocess.run([self.path, *words], capture_output=True, text=True, env=self.environment)
        if done.returncode != 0:
            sys.exit(f"evidence_distance.py: sptcsim {' '.join(words)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def times(self, rows, *options):
        """Simulated microseconds of `rows` in closed form; those with a library of their own have it."""
        found = [0.0] * len(rows)
        for library in sorted({row["library"] for row in rows}):
            chosen = [i for i, row in enumerate(rows) if row["library"] == library]
            given, simulated = self.folder / "rows.csv", self.folder / "times.csv"
            with open(given, "w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS, restval="", extrasaction="ignore")
                writer.writeheader()
                writer.writerows(rows[i] for i in chosen)
            self.json("validate", given, *options, *(("--library", library) if library else ()), "--fidelity", "analytic", "--quiet",
                      "--rows", simulated)
            with open(simulated, encoding="utf-8", newline="") as file:
                written = list(csv.DictReader(file))
            for i, row in zip(chosen, written, strict=True):
                assert all(row[key] == rows[i][key] for key in ("m", "n", "k"))
                found[i] = float(row["simulated_us"])
        return found


# Rows --------------------------------------------------------------------------------------------

def measured_rows():
    """Board to its measured rows: those of configs/evidence, and dense ones of tests/fidelity/data."""
    rows = {}
    for path, conditions in [*((path, {"board": path.stem}) for path in sorted(EVIDENCE.glob("*.csv"))),
                             (DATA / "gemm_by_board.csv", {}),
                             (DATA / "gemm_f16_a100.csv", {"board": "a100-pcie-80gb"} | VIDUR_A100)]:
        with open(path, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                row = {"sparsity": "dense", "algorithm": "default", "library": "", "layout": "", "alg": ""} | row | conditions
                row["d_dtype"] = row.get("d_dtype") or row["dtype"]
                rows.setdefault(row["board"], []).append(row)
    return rows


def gains(rows, times):
    """Gains of 2:4 over dense, paired as `sptcsim validate` does: of shape, type, L2 and launch by algorithm and layout."""
    launches = {}
    for row, time in zip(rows, times):
        dense = row["sparsity"] == "dense"
        if dense and row["alg"] == "promoted":
            continue
        key = tuple(row[name] for name in ("m", "n", "k", "dtype", "l2", "launch"))
        path = "dense" if dense else (row["sparsity"], row["algorithm"], row["layout"] or "Kc/n-major")
        launches.setdefault(key, {}).setdefault(path, []).append(math.log(time))
    return [math.exp(statistics.mean(paths["dense"]) - statistics.mean(logs))
            for paths in launches.values() if "dense" in paths for path, logs in paths.items() if path != "dense"]


def roofline_us(row, sheet):
    """Of the data sheet: the longer of arithmetic at its peak rate and operands and D at its rate of DRAM."""
    m, n, k = (int(row[key]) for key in ("m", "n", "k"))
    sparse = row["sparsity"] == "2:4"
    peak = sheet["peaks"][row["dtype"]]["sparse_tflops" if sparse else "dense_tflops"]
    size = BYTES[row["dtype"]]
    moved = (m * k * (0.5 if sparse else 1) + k * n) * size + m * n * BYTES[row["d_dtype"]]
    return max(2e-6 * m * n * k / peak, 1e-3 * moved / sheet["dram_gb_per_s"])


def best_constant(boards):
    """The factor with the least mean of |factor * guess / measured - 1| of (guess, measured), all boards weighing as much."""
    ratios = sorted((measured / guess, guess / measured / len(pairs)) for pairs in boards for guess, measured in pairs)
    half, total = sum(weight for _, weight in ratios) / 2, 0
    for ratio, weight in ratios:
        total += weight
        if total >= half:
            return ratio


def error_percent(pairs, factor=1):
    return 100 * statistics.mean(abs(factor * guess / measured - 1) for guess, measured in pairs) if pairs else None


# Boards that are left out ------------------------------------------------------------------------

def number_of(folder, name, pointer, common):
    """As the file `name` or those that it is derived from have it, or `common`; None where none does or a file says null."""
    while name:
        document = json.loads((folder / f"{name}.json").read_text())
        inner = document
        for key in pointer.split("/")[1:]:
            if not isinstance(inner, dict) or key not in inner:
                break
            inner = inner[key]
        else:
            return inner
        name = document.get("base", common if name != common else None)
    return None


def nearest(board, others, known):
    """The class of the nearest of `others`, and all that are as near."""
    for name in ("chip", "generation"):
        same = [other for other in others if known[board][name] is not None and known[other][name] == known[board][name]]
        if same:
            return name, same
    return "none", others


def is_copy(number, own):
    return number == own or (number is not None and own is not None and number["value"] == own["value"] and
                             (number["evidence"] == "assumed" or number["source"] == own["source"]))


def taken_over(folder, board, pointer, boards, known, common):
    """The number of `board` without what was read off its rows: the mean of its nearest other boards, or null."""
    own = number_of(folder, board, pointer, common)
    numbers = {other: number_of(folder, other, pointer, common) for other in boards if other != board}
    node = own.get("node_nm")
    there = [other for other, number in numbers.items() if not is_copy(number, own) and (number or own).get("node_nm") == node]
    assert own is not None and there, (board, pointer)
    name, near = nearest(board, there, known)
    values = [numbers[other]["value"] for other in near if numbers[other] is not None]
    mean = statistics.mean(values) if values else None
    print(f"{board} {pointer}: {own['value']} gives way to {mean}, {name}: {' '.join(near)}", file=sys.stderr)
    if mean is None:
        return None
    taken = {"value": round(mean) if isinstance(own["value"], int) and "cycles" in pointer else mean, "evidence": "assumed",
             "source": "nearest other boards: " + ", ".join(near)}
    # Assumed energies have a range, and those that shrink their process node.
    return taken | ({"range": [mean, mean]} if "range" in own else {}) | ({"node_nm": node} if node else {})


def with_numbers(document, numbers):
    for pointer, number in numbers.items():
        inner = document
        *sections, key = pointer.split("/")[1:]
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[key] = number
    return document


def left_out(program, board, boards, known):
    """Options of `sptcsim validate` for `board` as if nothing had been measured on it."""
    name, without = LIBRARIES.get(board, (None, ()))
    if without:
        library = json.loads((CONFIGS / "libraries" / f"{name}.json").read_text())
        name = "left-out"
        text = json.dumps({key: value for key, value in library.items() if key not in without} | {"name": name})
        (program.folder / "libraries" / f"{name}.json").write_text(text)
    options = []
    for option, folder, pointers, common in (("--arch", CONFIGS, READ_OFF[board][0], "common/architecture"),
                                             ("--energy", CONFIGS / "energy", READ_OFF[board][1], "a100-sxm4-80gb")):
        numbers = {pointer: taken_over(folder, board, pointer, boards, known, common) for pointer in pointers}
        document = with_numbers({"base": board, "name": "left-out"}, numbers)
        if option == "--arch":
            document["board"] = True
            if name:
                document.setdefault("kernels", {})["library"] = name
        path = program.folder / f"left{option}.json"
        path.write_text(json.dumps(document))
        options += [option, path]
    return options


# Table -------------------------------------------------------------------------------------------

def figures_of(program, board, rows, sheets, known):
    """What the table and distance.json have of `board`."""
    mine, others = rows[board], [other for other in rows if other != board]
    measured = {name: [float(row["time_us_median"]) for row in rows[name]] for name in rows}
    real = {name: gains(rows[name], measured[name]) for name in rows}
    guesses = {name: [(roofline_us(row, sheets[name]), time) for row, time in zip(rows[name], measured[name])] for name in rows}
    figures = {"rows": len(mine), "gains": len(real[board])}
    for how, options in (("out", left_out(program, board, list(rows), known)), ("fitted", ["--arch", board])):
        times = program.times(mine, *options)
        figures[f"time {how}"] = error_percent(list(zip(times, measured[board])))
        figures[f"gain {how}"] = error_percent(list(zip(gains(mine, times), real[board])))
    figures["time constant"] = error_percent(guesses[board], best_constant([guesses[name] for name in others]))
    constant = best_constant([[(1, gain) for gain in real[name]] for name in others if real[name]])
    figures["gain constant"] = error_percent([(1, gain) for gain in real[board]], constant)
    # A report looks for the nearest board with pairs.
    figures["near"] = nearest(board, [name for name in others if real[name]], known)[0]
    figures["near by times"] = nearest(board, others, known)[0]
    return figures


def cells_of(figures):
    """Errors of times and of gains as the table has them; '-' where there is none."""
    errors = ([figures[f"{kind} {how}"] for how in ("out", "fitted", "constant")] for kind in ("time", "gain"))
    return " | ".join("-" if None in three else ", ".join(f"{error:.1f}" for error in three) for three in errors)


def mean_of(found):
    """The figures of all boards together: rows and gains added up, the mean of the others."""
    figures = {"rows": sum(one["rows"] for one in found), "gains": sum(one["gains"] for one in found)}
    for key in (key for key in found[0] if key.startswith(("time", "gain "))):
        figures[key] = statistics.mean(one[key] for one in found if one[key] is not None)
    return figures


def line_of(board, near, figures):
    return f"| {board} | {near or '-'} | {figures['rows']}, {figures['gains']} | {cells_of(figures)} |"


def write_table(page, name, table):
    """Between the comments `name` of `page`, whose path is relative to the root."""
    text = (ROOT / page).read_text(encoding="utf-8")
    before, rest = text.split(f"<!-- {name} -->\n")
    after = rest.split(f"<!-- /{name} -->")[1]
    (ROOT / page).write_text(f"{before}<!-- {name} -->\n{table}<!-- /{name} -->{after}", encoding="utf-8")


def distances(found):
    """What distance.json has of each class."""
    by_class = {}
    for name in CLASSES:
        boards = [board for board, one in found.items() if one["gains"] and name in ("board", one["near"])]
        errors = [found[board]["gain fitted" if name == "board" else "gain out"] for board in boards]
        by_class[name] = {"boards": boards or None, "pairs": sum(found[board]["gains"] for board in boards) or None,
                          "mean_error_percent": round(statistics.mean(errors), 1) if errors else None}
    return by_class


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/sptcsim"))
    parser.add_argument("--boards", nargs="+", help="lines of the table for these alone; no file is written")
    arguments = parser.parse_args()
    rows, found, lines = measured_rows(), {}, []
    boards = sorted(rows)
    rows = {board: rows[board] for board in boards}
    with tempfile.TemporaryDirectory() as folder:
        program = Program(arguments.program, folder)
        known = {row["name"]: row for row in program.json("arch", "list")["architectures"]}
        sheets = {}
        for board in boards:
            peaks = program.json("arch", "show", board)["peaks"]
            sheets[board] = known[board] | {"peaks": {peak["type"]: peak for peak in peaks}}
        for board in arguments.boards or boards:
            found[board] = figures_of(program, board, rows, sheets, known)
            lines.append(line_of(board, found[board]["near by times"], found[board]))
            print(lines[-1], flush=True)
    if not arguments.boards:
        lines.append(line_of("mean", "", mean_of(list(found.values()))))
        write_table("configs/ACCURACY.md", "left-out", TABLE + "\n".join(lines) + "\n")
        by_class = distances(found)
        text = ",\n".join(f"    {json.dumps(name)}: {json.dumps(by_class[name])}" for name in CLASSES)
        text = f'{{\n  "description": {json.dumps(DESCRIPTION)},\n  "distances": {{\n{text}\n  }}\n}}\n'
        (EVIDENCE / "distance.json").write_text(text)


if __name__ == "__main__":
    main()
