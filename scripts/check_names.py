#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where two files define a class, struct, union or enum of one qualified name.

Two such types in one program violate the one-definition rule, and no linker tells. Types of an unnamed namespace
belong to their file alone. Types of tests/ are compared with those of models/ and sim/, not with each other.

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
CLOSING = re.compile(r"\}  // namespace")
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


def self_test():
    wrong = [case for case in SELF_TEST if bool(clashes({"sim/a.h": case[0], case[2]: case[1]})) != case[3]]
    for case in wrong:
        print(f"self-test: {case}", file=sys.stderr)
    print(f"Name check, self-test: {len(SELF_TEST) - len(wrong)} of {len(SELF_TEST)} cases right.")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true", help="check the checker")
    if parser.parse_args().self_test:
        return self_test()
    root = pathlib.Path(__file__).resolve().parent.parent
    files = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
             for tree in ("models", "sim", "tests") for path in (root / tree).rglob("*") if path.suffix in SUFFIXES}
    problems = clashes(files)
    for problem in problems:
        print(problem, file=sys.stderr)
    types = sum(1 for text in files.values() for _ in definitions(text))
    print(f"Names: {types} types in {len(files)} files, {len(problems)} clashes.")
    return 1 if problems or not types else 0


if __name__ == "__main__":
    sys.exit(main())
