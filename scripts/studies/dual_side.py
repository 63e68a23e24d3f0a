#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What skipping the zeros of both operands is worth on an A100.

    scripts/studies/dual_side.py [--program build/release/sptcsim]
"""
import json

from study import ROOT, Study, arguments, table

PATHS = {"sm/tensor_core": ("operand_a_port_bytes_per_cycle", "operand_b_port_bytes_per_cycle",
                            "accumulator_port_bytes_per_cycle", "register_bank_bytes_per_cycle"),
         "sm": ("shared_memory_banks",), "memory": ("sm_port_bytes_per_cycle", "l2_bytes_per_cycle", "dram_gb_per_s")}


def architecture(study, rows, columns, paths, cycles=0):
    """The A100 with arrays of `rows` x `columns`, 0: as it is, and `paths` times what feeds them; without its selector."""
    at = lambda document, section: document[section] if "/" not in section else document["sm"]["tensor_core"]
    base, common = (json.loads((ROOT / "configs" / file).read_text(encoding="utf-8"))
                    for file in ("a100-sxm4-80gb.json", "common/architecture.json"))
    number = lambda value: {"value": value, "evidence": "assumed", "source": "a design of this study"}
    document = {"sm": {"tensor_core": {}}, "memory": {}}
    for section, keys in PATHS.items():
        for key in keys:
            found = at(base, section).get(key) or at(common, section)[key]
            if paths > 1:
                at(document, section)[key] = number(paths * found["value"])
    for key, value in {"selector_inputs": 1, "zero_skip_rows": rows, "zero_skip_columns": columns,
                       "zero_skip_cycles": cycles}.items():
        if value:
            document["sm"]["tensor_core"][key] = number(value)
    name = f"skip-{rows}x{columns}-{paths}-{cycles}"
    file = study.results / f"{name}.json"
    document = {"name": name, "base": "a100-sxm4-80gb"} | {key: section for key, section in document.items() if section}
    file.write_text(json.dumps(document), encoding="utf-8")
    return str(file)


def gemm(study, arch, density, *more):
    document = json.loads(study.run("gemm", "1152", "1536", "1024", "--arch", arch, "--variants", "dense", "--density", density, "--tile",
                                    "128x128x32", "--split-k", "1", "--clock", "boost", "--check", "none", "--quiet", "--format",
                                    "json", *more))
    return document["operations"][0]["dense"]


def a100(study):
    area = lambda file: json.loads(study.run("energy", "area", file, "--format", "json"))["core_um2"]["total"]["value"]
    plain = area(architecture(study, 0, 0, 1))
    cells, apart = [], []
    for rows, columns, paths, cycles in ((4, 4, 1, 0), (8, 8, 4, 0), (4, 4, 4, 0), (4, 4, 4, 2)):
        dense = gemm(study, architecture(study, 0, 0, paths), "1,1")
        dense_form = gemm(study, architecture(study, 0, 0, paths), "1,1", "--fidelity", "analytic")
        file = architecture(study, rows, columns, paths, cycles)
        for density in ("1,1", "0.5,1", "0.5,0.5", "0.25,0.44"):
            a, b = map(float, density.split(","))
            simulated = gemm(study, file, density)
            form = gemm(study, file, density, "--fidelity", "analytic")
            speedup = dense["cycles"] / simulated["cycles"]
            in_form = dense_form["cycles"] / form["cycles"]
            apart.append(in_form / speedup - 1)
            cells.append([f"{rows} x {columns}", f"{paths}x", cycles, density, f"{1 / (a * b):.2f}", f"{speedup:.2f}",
                          f"{in_form:.2f}", simulated["bound_by"],
                          f"{dense['energy_uj']['total'] / simulated['energy_uj']['total']:.2f}", f"{100 * (area(file) / plain - 1):+.0f} %"])
            study.expect(speedup <= 1.001 / (a * b), "no density gains more than its zeros")
            study.expect(density != "1,1" or cycles or abs(speedup - 1) < 0.001, "without zeros it takes the dense time")
    study.fill("a100", table(["array", "paths", "wait per instruction", "densities of A, B", "ideal", "speed-up over dense on the same paths",
                              "by closed form", "bound by", "work per joule", "area of a tensor core"], cells))
    study.fill("shows-a100", f"""\
- **The closed form follows SystemC roughly.** Its speed-ups are {100 * min(apart):+.0f} to {100 * max(apart):+.0f} % off those of SystemC, whose
  scheduler rounds the mean time between two instructions of a warp up to whole cycles.
- **On the paths of an A100 little is won**: the L2 limits, which still delivers the zeros. With all paths four times as wide the
  multipliers' share of the time is what shrinks.
- **A pass takes whole rows and columns.** Of columns of 16 half of which is left, four in ten need two passes of 8. Zeros
  of B gain nothing where an array is as wide as the instruction.
- **The overhead is paid without zeros, too.** Two cycles per instruction, of 8, cost a dense GEMM what the last rows show.
""")


def main():
    study = Study("dual-side", arguments(__doc__))
    a100(study)
    study.finish()


if __name__ == "__main__":
    main()
