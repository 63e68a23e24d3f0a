#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on an #include that points upward in the layering of the source tree.

Each tree is a stack of folders, listed bottom to top in LAYERS. A file may include its own folder and the folders
below it; sim/ may include any of models/, models/ nothing of sim/. models/ is pure: no SystemC, no JSON, no file or
console I/O. tests/ may include everything, nothing includes tests/.

    scripts/check_includes.py             # checks models/ and sim/
    scripts/check_includes.py --self-test # checks the checker on made-up trees
"""
import argparse
import pathlib
import re
import sys
import tempfile

LAYERS = {
    "models": ["base", "numerics", "sparsity", "mma", "batched", "reference", "energy", "roofline"],
    "sim": ["include/sptcsim/plugin", "base", "io", "hardware/isa", "hardware/tensor_core", "hardware/sm",
            "hardware/memory", "hardware/memory/plugins", "kernels", "gpu", "config",
            "workload/input", "workload", "workload/onnx", "workload/profile", "workload/blas", "workload/topology",
            "workload/importer", "run/network", "run/microbench", "run",
            "check/vectors", "check/kernel", "check/kernel/hypotheses", "check/times", "check/capture",
            "report", "include/sptcsim", "api", "report/show", "prune", "prune/plan", "compare", "sweep", "cli", "python"],
}

IMPURE = re.compile(
    r"(systemc|systemc\.h|tlm.*|nlohmann/.*|CLI/.*|fmt/(color|os|ostream|std)\.h|"
    r"iostream|fstream|ostream|istream|cstdio|stdio\.h|print|syncstream|unistd\.h|fcntl\.h)"
)
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
PRINT = re.compile(r"\b(?:fmt::print|std::print|std::cout|std::cerr|std::clog|printf|fprintf|puts)\b")
SUFFIXES = {".h", ".hpp", ".cpp", ".cc", ".cu", ".cuh", ".inc"}


def without_comments(text):
    """Blanks comments; keeps line numbers."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.DOTALL)


def folder_of(path):
    """('sim', 'gpu') of 'sim/gpu/gpu_spec.h', ('sim', 'check/times') of 'sim/check/times/accuracy.h'; None outside
    the layered trees."""
    tree, _, rest = path.partition("/")
    folder, _, _ = rest.rpartition("/")
    return (tree, folder) if folder and tree in LAYERS else None


def check_include(source, quoted, system):
    """The reason why this include is wrong, or None."""
    tree, folder = folder_of(source)
    if system is not None:
        if system.split("/")[0] in (*LAYERS, "tests"):
            return "project headers are included with quotes"
        if tree == "models" and IMPURE.fullmatch(system):
            return "models/ is pure C++: no SystemC, JSON, or file or console I/O"
        return None
    if quoted.startswith("tests/"):
        return "nothing in models/ or sim/ includes tests/"
    target = folder_of(quoted)
    if target is None:
        return "include paths start at the repository root: \"models/<folder>/...\" or \"sim/<folder>/...\""
    if target[1] not in LAYERS[target[0]]:
        return f"{'/'.join(target)} is not a layer known to scripts/check_includes.py"
    if tree == "models" and target[0] == "sim":
        return "models/ must not include sim/"
    if tree == target[0] and LAYERS[tree].index(target[1]) > LAYERS[tree].index(folder):
        return f"points upward: {'/'.join(target)} stands above {tree}/{folder}"
    return None


def check_file(source, text):
    text = without_comments(text)
    problems = []
    for match in INCLUDE.finditer(text):
        reason = check_include(source, *match.groups())
        if reason:
            line = text.count("\n", 0, match.start(1) if match.group(1) else match.start(2)) + 1
            problems.append(f"{source}:{line}: {match.group(1) or match.group(2)}: {reason}")
    if source.startswith("models/"):
        for match in PRINT.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            problems.append(f"{source}:{line}: {match.group()}: models/ does no console I/O")
    return problems


def check_tree(root):
    """Returns (number of files, problems)."""
    problems, files = [], 0
    for tree, layers in LAYERS.items():
        for path in sorted((root / tree).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file():
                continue
            source = path.relative_to(root).as_posix()
            files += 1
            if folder_of(source) is None:
                problems.append(f"{source}:1: sources stand in a folder of {tree}/")
            elif folder_of(source)[1] not in layers:
                problems.append(f"{source}:1: {tree}/{folder_of(source)[1]} is not a layer known to this check")
            else:
                problems += check_file(source, path.read_text(encoding="utf-8"))
    return files, problems


# (file, content, line of the problem or None)
SELF_TEST = [
    ("models/mma/good.cpp", '#include "models/numerics/codec.h"\n#include "models/mma/x.h"\n#include <vector>\n', None),
    ("models/numerics/up.h", '#pragma once\n\n#include "models/mma/dot.h"\n', 3),
    ("models/reference/sim.h", '#include "sim/base/clock.h"\n', 1),
    ("models/base/impure.cpp", "#include <vector>\n#include <iostream>\n", 2),
    ("models/base/systemc.cpp", "#include <systemc>\n", 1),
    ("models/base/json.cpp", "#include <nlohmann/json.hpp>\n", 1),
    ("models/base/print.cpp", "void f() {\n  std::cout << 1;\n}\n", 2),
    ("models/base/comment.cpp", '// #include <iostream>\n/* #include "sim/base/a.h"\n */\n', None),
    ("models/base/format.cpp", "#include <fmt/format.h>\n", None),
    ("sim/hardware/tensor_core/good.cpp", '#include "models/mma/dot.h"\n#include "sim/hardware/isa/i.h"\n#include <systemc>\n', None),
    ("sim/hardware/tensor_core/up.h", '#include "sim/hardware/isa/i.h"\n  #  include "sim/hardware/sm/sm_spec.h"\n', 2),
    ("sim/check/times/good.h", '#include "sim/check/vectors/verify.h"\n#include "sim/run/run.h"\n', None),
    ("sim/check/vectors/up.h", '#include "sim/check/times/accuracy.h"\n', 1),
    ("sim/check/loose.h", "#pragma once\n", 1),
    ("sim/gpu/forbidden.h", '#include "sim/run/runner.h"\n', 1),
    ("sim/base/relative.cpp", '#include "clock.h"\n', 1),
    ("sim/base/tests.cpp", '#include "tests/support/a.h"\n', 1),
    ("sim/base/angle.cpp", "#include <sim/base/clock.h>\n", 1),
    ("sim/newfolder/a.h", "#pragma once\n", 1),
    ("sim/loose.h", "#pragma once\n", 1),
    ("sim/base/unknown.h", '#include "models/newfolder/a.h"\n', 1),
]


def self_test():
    failures = 0
    for name, content, line in SELF_TEST:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / name).parent.mkdir(parents=True)
            (root / name).write_text(content)
            problems = check_tree(root)[1]
        expected = [] if line is None else [f"{name}:{line}:"]
        if [":".join(problem.split(":")[:2]) + ":" for problem in problems] != expected:
            failures += 1
            print(f"self-test: {name}: expected {expected or 'no problem'}, found {problems}", file=sys.stderr)
    print(f"Include check, self-test: {len(SELF_TEST) - failures} of {len(SELF_TEST)} cases right.")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true", help="check the checker")
    if parser.parse_args().self_test:
        return self_test()
    root = pathlib.Path(__file__).resolve().parent.parent
    files, problems = check_tree(root)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not files:
        print("check_includes.py: no sources found", file=sys.stderr)
        return 1
    print(f"Includes: {files} files, {len(problems)} wrong.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
