# SPDX-License-Identifier: Apache-2.0
"""Each command has its row in sim/cli/README.md: a C++ function, a Python function, options and a schema."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import numpy as np
import sptcsim

ROOT = pathlib.Path(__file__).parents[2]
NOTHING = {"none", "as axes"}
EMIT = "sweep emit"  # its subcommands are kinds of scripts


def output(*arguments):
    done = subprocess.run([os.environ["SPTCSIM"], *map(str, arguments)], capture_output=True, text=True)
    return done.stdout


def program(*arguments):
    return json.loads(output(*arguments, "--format", "json"))


def subcommands(command):
    text = output(*command, "--help")
    names = re.search(r"^Subcommands:\n((?:  .*\n?)+)", text, re.MULTILINE)
    return re.findall(r"^  (\S+)", names.group(1), re.MULTILINE) if names else []


def commands():
    found = set()
    for name in subcommands([]):
        inner = subcommands([name])
        found |= {f"{name} {other}" for other in inner}
        if not inner or name == "sweep":
            found.add(name)
    return found


def rows():
    table = []
    for line in (ROOT / "sim/cli/README.md").read_text().splitlines():
        if line.startswith("| `"):
            command, function, python, options, schema = [cell.strip() for cell in line.strip("|").split("|")]
            name, path = re.fullmatch(r"`(\w+)` of \[[^]]*\]\((.*)\)", function).groups()
            table.append({"command": command.strip("`"), "function": name, "file": path, "python": python.strip("`"),
                          "options": options, "schema": schema.strip("`")})
    return table


def command_of(row):
    """The command of a row, without the options and files that choose one of its functions."""
    return re.split(r" --| [A-Z]", row["command"])[0]


class Table(unittest.TestCase):
    def test_every_command_has_a_row_and_every_row_a_command(self):
        self.assertEqual({command_of(row) for row in rows()}, commands())

    def test_functions_exist(self):
        for row in rows():
            header = (ROOT / "sim/cli" / row["file"]).resolve()
            self.assertRegex(header.read_text(), rf"\b{row['function']}\(", row["command"])
            if row["python"] not in NOTHING:
                self.assertIn(row["python"], sptcsim.__all__, row["command"])
                self.assertTrue(getattr(sptcsim, row["python"]).__doc__, row["command"])

    def test_what_prints_json_has_a_schema(self):
        for row in rows():
            name = command_of(row)
            prints = re.search(r"--format \S*json", output(*name.split(), "--help")) is not None
            has_schema = any(other["schema"] not in NOTHING for other in rows()
                             if command_of(other) == name)
            self.assertEqual(prints or name == "import", has_schema, name)
            if row["schema"] not in NOTHING:
                self.assertTrue((ROOT / f"configs/schema/{row['schema']}.schema.json").is_file(), row["command"])

    def test_options_of_the_table_are_those_of_the_command(self):
        names = ["--" + option.name.replace("_", "-") for option in sptcsim.options()]
        for row in rows():
            if row["options"] in ("all", "some"):
                text = output(*row["command"].split(), "--help")
                found = [name for name in names if re.search(rf"{name}\b", text)]
                self.assertEqual(found == names, row["options"] == "all", row["command"])
                self.assertTrue(found, row["command"])


class Commands(unittest.TestCase):
    TRACE = ROOT / "traces/bert_base.json"

    def test_compare(self):
        ours = sptcsim.compare(self.TRACE, ["A100", "V100"], dims={"batch": [1, 8]}, fidelity="analytic", check="none")
        theirs = program("compare", self.TRACE, "--arch", "A100,V100", "--dim", "batch=1,8", "--fidelity", "analytic",
                         "--check", "none", "--quiet")
        self.assertEqual(ours.to_dict(), theirs)
        calls = []
        one = sptcsim.compare(sptcsim.load_workload(self.TRACE).workload, "A100", fidelity="analytic", check="none",
                              progress=lambda *call: calls.append(call))
        self.assertEqual((len(one.points), calls[-1]), (1, (1, 1, "")))
        with self.assertRaisesRegex(sptcsim.InputError, "jobs must be an integer from 1 to 1024, not 0"):
            sptcsim.compare(self.TRACE, jobs=0)
        with self.assertRaisesRegex(sptcsim.InputError, "archs names no architecture"):
            sptcsim.compare(self.TRACE, [])

    def test_compare_types(self):
        file = ROOT / "traces/llama3_8b.json"
        dims = {"batch": [1, 8], "seq": 1, "context": 2048}
        ours = sptcsim.compare(file, "H100", dims=dims, types=["bf16", "e4m3"], sparsity=["dense"], tp=[1, 2], link=450,
                               fidelity="analytic")
        theirs = program("compare", file, "--arch", "H100", "--dim", "batch=1,8", "--dim", "seq=1", "--dim", "context=2048",
                         "--types", "bf16,e4m3", "--sparsity", "dense", "--tp", "1,2", "--link", 450,
                         "--fidelity", "analytic", "--quiet")
        self.assertEqual(ours.to_dict(), theirs)
        self.assertEqual([len(point.candidates) for point in ours.points], [1] * 8)
        for given, message in (({"tp": [1, 2]}, "tp is a list only beside types"),
                               ({"ep": [1, 8]}, "ep is a list only beside types"), ({"types": []}, "types names no"),
                               ({"types": "bf16", "ep": 8, "link": 450}, "1 sequence cannot be divided"),
                               ({"types": "bf17"}, "--types: unknown operand type"),
                               ({"types": "bf16", "sparsity": "foo"}, "allowed: dense, 2:4")):
            with self.assertRaisesRegex(sptcsim.InputError, message):
                sptcsim.compare(file, "H100", dims=dims, fidelity="analytic", **given)

    def test_compare_saved(self):
        with tempfile.TemporaryDirectory() as directory:
            files = [f"{directory}/{name}.json" for name in "ab"]
            for file, n in zip(files, ("256", "512")):
                output("gemm", "256", n, "256", "--check", "none", "--quiet", "--format", "json", "--out", file)
            ours = sptcsim.compare_saved(files)
            self.assertEqual(ours.to_dict(), program("compare", *files))
            self.assertEqual([point.dims for point in ours.points], ["a", "b"])
            with self.assertRaisesRegex(sptcsim.InputError, "two results or more"):
                sptcsim.compare_saved(files[:1])

    def test_validate(self):
        rows_file = ROOT / "tests/fidelity/data/a100_dense_f16.csv"
        ours = sptcsim.validate(rows_file, fidelity="analytic")
        self.assertEqual(ours.to_dict(), program("validate", rows_file, "--fidelity", "analytic", "--quiet"))
        with self.assertRaisesRegex(sptcsim.InputError, "--dtype: "):
            sptcsim.validate(rows_file, dtype="f17")
        with self.assertRaisesRegex(sptcsim.InputError, "must be timing or analytic"):
            sptcsim.validate(rows_file, fidelity="datapath")

    def test_show(self):
        for name, arch in (("mma.sp.m16n8k32.f32.f16.f16.f32", "A100"), ("mma.m16n8k16.f32.bf16.bf16.f32", "sm_80")):
            ours = sptcsim.show(name, arch=arch, row=3, col=2, seed=5).to_dict()
            theirs = program("show", name, "--arch", arch, "--row", 3, "--col", 2, "--seed", 5)
            self.assertEqual(ours.pop("command"), "")  # of the command line
            self.assertIn("--seed 5", theirs.pop("command"))
            self.assertEqual(ours, theirs)
        with self.assertRaisesRegex(sptcsim.InputError, "row must be an integer from 0 to 256, not -1"):
            sptcsim.show("mma.m16n8k16.f32.bf16.bf16.f32", row=-1)

    def test_load_workload(self):
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory, "two.csv")
            file.write_text("name,m,n,k\na,64,64,64\nb,128,64,64\n")
            loaded = sptcsim.load_workload(file)
            self.assertEqual(loaded.workload.to_dict(), json.loads(output("import", file)))
            result = sptcsim.run(loaded.workload, fidelity="analytic")
            self.assertEqual([operation.name for operation in result.operations], ["a", "b"])
            turned = sptcsim.load_workload(file, convention="tokens-first").workload
            self.assertNotEqual(turned.to_dict(), loaded.workload.to_dict())
        with self.assertRaisesRegex(sptcsim.InputError, "no such file"):
            sptcsim.load_workload("nowhere.csv")

    def test_verify_and_microbench(self):
        directory = ROOT / "tests/golden/numerics/Volta"
        self.assertEqual(sptcsim.verify(directory).to_dict(), program("verify", directory))
        ours = sptcsim.microbench("A100", "ldmatrix.x4", warps=2)
        self.assertEqual(ours.to_dict(), program("microbench", "--instruction", "ldmatrix.x4", "--warps", 2))
        with self.assertRaisesRegex(sptcsim.InputError, "warps must be an integer from 1 to 32, not 33"):
            sptcsim.microbench(warps=33)

    def test_energy(self):
        self.assertIn("a100-sxm4-80gb", sptcsim.energies())
        self.assertEqual(sptcsim.energies(), program("energy", "list")["energies"])
        numbers = sptcsim.energy("a100-sxm4-80gb")
        self.assertIn("/events/multiply_pj/f16", [number.pointer for number in numbers])
        self.assertTrue(all(number.low <= number.value <= number.high for number in numbers))
        self.assertEqual([number.to_dict() for number in numbers],
                         program("energy", "show", "a100-sxm4-80gb")["parameters"])

    def test_area_and_designs(self):
        ours = sptcsim.energy_area("A100")
        self.assertEqual(ours.to_dict(), program("energy", "area", "a100-sxm4-80gb"))
        total = ours.core_um2.total
        self.assertTrue(total.low < total.value < total.high)
        wide = sptcsim.load("A100").with_({"/sms": 216})
        self.assertAlmostEqual(sptcsim.energy_area(wide).gpu_mm2.tensor_cores.value,
                               2 * ours.gpu_mm2.tensor_cores.value)

    def test_legal(self):
        ours = sptcsim.legal(4096, 1, 11008, dtype="e4m3", arch="sm_90")
        self.assertEqual(ours.to_dict(), program("legal", 4096, 1, 11008, "--dtype", "e4m3", "--arch", "sm_90"))
        self.assertEqual(ours.shapes[0].libraries[0].nearest.m, 4096)
        with tempfile.TemporaryDirectory() as directory:
            model = pathlib.Path(directory, "fc.npy")
            np.save(model, np.ones((40, 72), np.float32))
            ours = sptcsim.legal(model)
            self.assertEqual(ours.to_dict(), program("legal", model))
            self.assertEqual([(shape.m, shape.n, shape.k) for shape in ours.shapes], [(40, 0, 72)])
        for what, message in (((), "legal takes a model, or m, n and k, not 0 arguments"),
                              ((1, 2), "legal takes a model, or m, n and k, not 2 arguments"),
                              ((16, 0, 16), "n must be an integer from 1 to "),
                              (("nowhere.npy",), "nowhere.npy: ")):
            with self.assertRaisesRegex(sptcsim.InputError, message):
                sptcsim.legal(*what)

    def test_crosscheck_of_a_capture(self):
        for name in ("a100", "h800"):
            capture = ROOT / "tests/hardware/captures" / name
            self.assertEqual(sptcsim.crosscheck_capture(capture).to_dict(), program("crosscheck", capture))
        with self.assertRaisesRegex(sptcsim.InputError, "nowhere"):
            sptcsim.crosscheck_capture("nowhere")
        with self.assertRaisesRegex(sptcsim.InputError, "must be timing or analytic"):
            sptcsim.crosscheck_capture(capture, fidelity="datapath")

    def test_instructions(self):
        (target,) = program("mma", "--list", "--arch", "A100")["targets"]
        self.assertEqual([row.to_dict() for row in sptcsim.instructions("A100")], target["instructions"])


if __name__ == "__main__":
    unittest.main()
