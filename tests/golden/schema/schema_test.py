# SPDX-License-Identifier: Apache-2.0
"""Holds the schemas of the files that the program reads, which are kept by hand, to the program that reads them.

Every shipped file follows its schema. Of one file of each kind, with a key that nobody knows at each place in turn and
without each of its keys in turn: what the schema refuses, the program refuses, and a key that the program does not know
the schema does not know either.
"""
import argparse
import concurrent.futures
import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    jsonschema = None

SKIPPED = 77
SOURCE = pathlib.Path(__file__).resolve().parents[3]
CONFIGS = SOURCE / "configs"
TRACES = SOURCE / "traces"
UNKNOWN = "key_that_nobody_knows"
program = ""

COMMANDS = {
    "architecture": ("arch", "validate"),
    "derived-architecture": ("arch", "validate"),
    "energy": ("energy", "show"),
    "engine": ("gemm", "16", "16", "16", "--fidelity", "analytic", "--check", "none", "--quiet", "--engine"),
    "workload": ("import",),
}

WORKLOAD = {"schema": "gemm-workload/0.2", "name": "w", "ops": [
    {"name": "c", "conv": {"N": 1, "C": 16, "H": 8, "W": 8, "K": 8, "R": 3, "S": 3}},
    {"name": "g", "m": 16, "n": 8, "k": 32},
    {"name": "v", "kind": "gelu", "rows": 8, "columns": 8}]}


def read(file):
    return json.loads(file.read_text(encoding="utf-8"))


def validator(schema):
    return jsonschema.Draft7Validator(schema)


def schema_of(kind):
    return read(CONFIGS / "schema" / f"{kind}.schema.json")


def without_nulls(value):
    """Of a file with a base: null takes a number of the base away."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return value


def derived_energy():
    """The schema of energies that change those of a base: any part of a whole file."""
    schema = schema_of("energy")
    schema["required"] = ["base", "name"]
    schema["properties"]["base"] = {"type": "string", "minLength": 1}
    for section in schema["properties"].values():
        section.pop("required", None)
    return schema


def objects(value, place=()):
    """The place of each object in `value`; of those with the same keys the first."""
    seen = set()
    waiting = [(value, place)]
    while waiting:
        value, place = waiting.pop(0)
        if isinstance(value, dict):
            if tuple(sorted(value)) not in seen:
                seen.add(tuple(sorted(value)))
                yield place
            waiting.extend((inner, place + (key,)) for key, inner in value.items())
        elif isinstance(value, list):
            waiting.extend((inner, place + (i,)) for i, inner in enumerate(value))


def at(value, place):
    for key in place:
        value = value[key]
    return value


def changed(document):
    """(what is wrong, document) for each wrong document."""
    for place in objects(document):
        wrong = copy.deepcopy(document)
        at(wrong, place)[UNKNOWN] = 5
        yield f"{place} with an unknown key", wrong
        for key in at(document, place):
            wrong = copy.deepcopy(document)
            del at(wrong, place)[key]
            yield f"{place} without {key}", wrong


class Schemas(unittest.TestCase):
    maxDiff = None

    def expect_valid(self, schema, files):
        self.assertTrue(files)
        check = validator(schema)
        for file in files:
            document = read(file)
            with self.subTest(str(file)):
                self.assertEqual([f"/{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in
                                  check.iter_errors(without_nulls(document) if "base" in document else document)], [])

    def test_are_schemas(self):
        for file in sorted((CONFIGS / "schema").glob("*.json")):
            with self.subTest(str(file)):
                jsonschema.Draft7Validator.check_schema(read(file))

    def test_shipped_architectures_follow(self):
        files = [*CONFIGS.glob("*.json"), *(CONFIGS / "mig").glob("*.json"),
                 *(file for file in (CONFIGS / "memories").glob("*.json") if not file.stem.endswith("-energy"))]
        self.expect_valid(schema_of("architecture"), [file for file in files if "base" not in read(file)])
        self.expect_valid(schema_of("derived-architecture"), [file for file in files if "base" in read(file)])

    def test_shipped_energies_follow(self):
        files = [*(CONFIGS / "energy").rglob("*.json"), *(CONFIGS / "memories").glob("*-energy.json")]
        self.expect_valid(schema_of("energy"), [file for file in files if "base" not in read(file)])
        self.expect_valid(derived_energy(), [file for file in files if "base" in read(file)])

    def test_shipped_engines_follow(self):
        self.expect_valid(schema_of("engine"), list((CONFIGS / "engines").glob("*.json")))

    def test_shipped_workloads_follow(self):
        self.expect_valid(schema_of("workload"), [file for file in TRACES.rglob("*.json") if file.name != "INDEX.json"])


class SchemaAndProgram(unittest.TestCase):
    maxDiff = None

    def program_on(self, kind, document, file):
        file.write_text(json.dumps(document), encoding="utf-8")
        done = subprocess.run([program, *COMMANDS[kind], str(file)], capture_output=True, text=True, timeout=120)
        return done.returncode, done.stderr

    def expect_agreement(self, kind, document):
        check = validator(schema_of(kind))
        self.assertEqual(list(map(str, check.iter_errors(document))), [])
        refused = set()
        wrong = list(changed(document))
        with tempfile.TemporaryDirectory() as directory, concurrent.futures.ThreadPoolExecutor(4) as pool:
            place = pathlib.Path(directory)
            self.assertEqual(self.program_on(kind, document, place / "right.json"), (0, ""))
            outcomes = pool.map(lambda one: self.program_on(kind, one[1][1], place / f"{one[0]}.json"), enumerate(wrong))
            for (what, text), (code, said) in zip(wrong, outcomes):
                with self.subTest(f"{kind}: {what}"):
                    self.assertIn(code, (0, 2), said)
                    if not check.is_valid(text):
                        self.assertEqual(code, 2, "the schema refuses it, the program does not")
                        refused.add(what)
                    elif code == 2:
                        self.assertNotIn(UNKNOWN, said)
        for what in ["() with an unknown key", *(f"() without {key}" for key in schema_of(kind)["required"])]:
            self.assertIn(what, refused)

    def test_of_architectures(self):
        self.expect_agreement("architecture", read(CONFIGS / "a100-sxm4-80gb.json"))

    def test_of_derived_architectures(self):
        self.expect_agreement("derived-architecture", read(CONFIGS / "mig" / "a100-sxm4-80gb-mig-1g.10gb.json"))

    def test_of_energies(self):
        self.expect_agreement("energy", read(CONFIGS / "energy" / "a100-sxm4-80gb.json"))

    def test_of_engines(self):
        self.expect_agreement("engine", read(CONFIGS / "engines" / "tensorrt.json"))

    def test_of_workloads(self):
        self.expect_agreement("workload", WORKLOAD)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    arguments, rest = parser.parse_known_args()
    program = arguments.program
    if jsonschema is None:
        print("not run: there is no jsonschema (Debian: python3-jsonschema)")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], *rest])
