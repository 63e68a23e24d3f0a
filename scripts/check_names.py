#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where two files define a type of one qualified name, or where a namespace is not that of its folder.

Two classes, structs, unions or enums of one name in one program violate the one-definition rule, and no linker tells.
Types of an unnamed namespace belong to their file alone. Types of tests/ are compared with those of models/ and sim/,
not with each other.

A file of models/X or sim/X opens namespace sptc::X, or one inside it; a unit test opens that of the folder it tests.
sim/base and models/base share one namespace. A folder of sim/check has the namespace sptc::check::X; sim/hardware groups
folders and has none: sim/hardware/sm is sptc::sm. The installed API (sim/include/sptcsim, sim/api) has the namespace sptcsim.

    scripts/check_names.py             # checks models/, sim/ and tests/
    scripts/check_names.py --self-test # checks the checker on made-up files
"""
import argparse
import collections
import itertools
import pathlib
import re
import sys

SUFFIXES = {".h", ".hpp", ".cpp", ".cc", ".cu", ".cuh"}
# clang-format puts namespaces and what stands in them at the beginning of a line.
OPENING = re.compile(r"(?:inline )?namespace(?: ([\w:]+))? \{")
# The installed API has the name of the package.
API = [["sim", "include", "sptcsim"], ["sim", "include", "sptcsim", "plugin"], ["sim", "api"]]
CLOSING = re.compile(r"\}  // namespace")
FORWARD = re.compile(r"(?:class|struct|enum class) \w+;")
TYPE = re.compile(r"(?:template <.*> )?(?:class|struct|union|enum(?: class)?) (?:alignas\(.*?\) )?(\w+)(?: final)?(?: [:{].*)?$")


def definitions(text):
    """(qualified name, line) of every type of a named namespace; forward declarations and specialisations do not
    count."""
    namespaces = []
    for number, line in enumerate(text.split("\n"), 1):
        if match := OPENING.match(line):
            namespaces.append(match.group(1))
        elif CLOSING.match(line):
            namespaces.pop()
        elif (match := TYPE.match(line)) and None not in namespaces:
            yield "::".join([*namespaces, match.group(1)]), number


def clashes(files):
    """Of {path: text}: 'a:1 and b:2 both define x', sorted."""
    places = collections.defaultdict(list)
    for path, text in sorted(files.items()):
        for name, line in definitions(text):
            places[name].append((path, line))
    return [f"{first[0]}:{first[1]} and {second[0]}:{second[1]} both define {name}"
            for name, found in sorted(places.items())
            for first, second in itertools.combinations(found, 2)
            if not (first[0].startswith("tests/") and second[0].startswith("tests/"))]


def namespace_of(path):
    """'sptc::gpu' of 'sim/gpu/gpu.h' and of 'tests/unit/sim/gpu/gpu_test.cpp'; None outside these trees."""
    folders = path.removeprefix("tests/unit/").split("/")[:-1]
    if folders in API:
        return "sptcsim"
    if folders[:2] == ["sim", "hardware"]:
        folders = ["sim", *folders[2:]]
    return "::".join(["sptc", *folders[1:]]) if folders[0] in ("models", "sim") and len(folders) > 1 else None


def misplaced(path, text):
    """'sim/gpu/a.h:1: namespace sptc::sm in the folder of sptc::gpu' for every namespace that is not of its folder, and
    holds more than forward declarations."""
    expected = namespace_of(path)
    depth = 0
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if match := OPENING.match(line):
            name = match.group(1)
            inside = itertools.takewhile(lambda following: not CLOSING.match(following), lines[number:])
            if (depth == 0 and expected and name and name != expected and not name.startswith(expected + "::")
                    and not all(FORWARD.fullmatch(following) for following in inside)):
                yield f"{path}:{number}: namespace {name} in the folder of {expected}"
            depth += 1
        elif CLOSING.match(line):
            depth -= 1


def in_namespace(name, text):
    return f"namespace {name} {{\n{text}\n}}  // namespace {name}\n"


# (text of sim/a.h, text of the other file, its path, whether they clash)
SELF_TEST = [
    (in_namespace("s", "struct A {"), in_namespace("s", "enum class A {"), "sim/b.h", True),
    (in_namespace("s", "struct A {"), in_namespace("s", "class A : public B {"), "tests/b.cpp", True),
    (in_namespace("s", "struct A\n    : B {"), in_namespace("s", "template <typename T> struct A {};"), "sim/b.h", True),
    (in_namespace("s", "class A {"), in_namespace("s", "class A;"), "sim/b.h", False),
    (in_namespace("s", "class A {"), in_namespace("s", "template <>\nstruct A<int> {"), "sim/b.h", False),
    (in_namespace("s", "class A {"), in_namespace("t", "class A {"), "sim/b.h", False),
    (in_namespace("s", "class A {"), in_namespace("s", "namespace {\nclass A {\n}  // namespace"), "sim/b.cpp", False),
    (in_namespace("s", "class A {"), in_namespace("s", "namespace {\n}  // namespace\nclass A {"), "sim/b.cpp", True),
]

# (path, namespace in which it defines something, whether that is right)
PLACES = [
    ("sim/gpu/a.h", "sptc::gpu", True),
    ("models/base/a.h", "sptc::base", True),
    ("sim/base/a.h", "sptc::base", True),
    ("models/mma/a.cpp", "sptc::mma::inner", True),
    ("sim/check/times/a.h", "sptc::check::times", True),
    ("sim/hardware/sm/a.h", "sptc::sm", True),
    ("sim/hardware/sm/a.h", "sptc::hardware", False),
    ("tests/unit/sim/gpu/a_test.cpp", "sptc::gpu", True),
    ("tests/timing/a_test.cpp", "sptc::timing", True),
    ("sim/include/sptcsim/a.h", "sptcsim", True),
    ("sim/include/sptcsim/plugin/a.h", "sptcsim", True),
    ("sim/api/a.cpp", "sptc::api", False),
    ("sim/gpu/a.h", "sptc::sm", False),
    ("sim/gpu/a.h", "sptc", False),
    ("sim/gpu/a.h", "sptc::gpus", False),
    ("sim/check/times/a.h", "sptc::times", False),
    ("tests/unit/models/mma/a_test.cpp", "sptc::numerics", False),
]


def self_test():
    wrong = [case for case in SELF_TEST if bool(clashes({"sim/a.h": case[0], case[2]: case[1]})) != case[3]]
    wrong += [case for case in PLACES if any(misplaced(case[0], in_namespace(case[1], "int a;"))) == case[2]]
    wrong += [case for case in PLACES if any(misplaced(case[0], in_namespace(case[1], "struct A;\nclass B;")))]
    for case in wrong:
        print(f"self-test: {case}", file=sys.stderr)
    cases = len(SELF_TEST) + 2 * len(PLACES)
    print(f"Name check, self-test: {cases - len(wrong)} of {cases} cases right.")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true", help="check the checker")
    if parser.parse_args().self_test:
        return self_test()
    root = pathlib.Path(__file__).resolve().parent.parent
    files = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
             for tree in ("models", "sim", "tests") for path in (root / tree).rglob("*") if path.suffix in SUFFIXES}
    problems = clashes(files) + [problem for path, text in sorted(files.items()) for problem in misplaced(path, text)]
    for problem in problems:
        print(problem, file=sys.stderr)
    types = sum(1 for text in files.values() for _ in definitions(text))
    print(f"Names: {types} types in {len(files)} files, {len(problems)} problems.")
    return 1 if problems or not types else 0


if __name__ == "__main__":
    sys.exit(main())
