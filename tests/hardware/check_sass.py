#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the matrix instructions in compiled kernels with those that the instruction catalogue names.

    check_sass.py --cuobjdump PATH --program hardware_capture --targets sm_80 sm_90a [OBJECT ...]
    check_sass.py --self-test     # the parser, on a made-up listing

The expectation comes from `hardware_capture --list-sass TARGET`. Every kernel of the bit capture must hold exactly the
matrix instructions of its row, one instance per selector. Every kernel that reads the clock must have what it times
between two readings: a compiler that moves it out leaves a measurement of nothing. Exit 1 where one does not.
"""
import argparse
import collections
import re
import subprocess
import sys

MATRIX = re.compile(r"\s((?:[HIQBD]MMA|[HIQB]GMMA)\.\S+)")
FUNCTION = re.compile(r"Function\s*:\s*(\S+)")
ARCH = re.compile(r"^arch\s*=\s*(sm_\w+)")
CLOCK = re.compile(r"\sCS2R\S*\s.*SR_CLOCKLO|\sS2UR?\S*\s.*SR_CLOCKLO")
# What a timed kernel may time, in place or in a routine of the compiler: matrix instructions, loads, asynchronous copies.
TIMED = re.compile(r"\s(?:[HIQBD]MMA|[HIQB]GMMA|LDG|LDS|LDSM|LDGSTS|UBLKCP|UTMALDG|CALL)[.\s]")
WAITS_ONLY = ("4spin",)  # times itself by the clock alone


def operation(mangled):
    """'m16n8k8_f32_f16_f16_f32' of the mangled name of execute_once<op::..., selector>, or None."""
    if "execute_once" not in mangled:
        return None
    found = re.search(r"2op(\d+)", mangled)
    if not found:
        return None
    # The length and the name stand together, and names may begin with a digit of their own: no name here does.
    return mangled[found.end():found.end() + int(found.group(1))]


def parse(listing):
    """{(arch, operation): [Counter of matrix instructions, one per instance]}"""
    result = collections.defaultdict(list)
    arch = None
    current = None
    for line in listing.splitlines():
        if found := ARCH.match(line):
            arch, current = found.group(1), None
        elif found := FUNCTION.search(line):
            name = operation(found.group(1))
            current = collections.Counter() if name else None
            if name:
                result[(arch, name)].append(current)
        elif current is not None and (found := MATRIX.search(line)):
            current[found.group(1)] += 1
    return result


def untimed(listing):
    """Sentences about kernels that read the clock and have nothing to time between two readings; how many were looked at."""
    kernels = collections.defaultdict(list)
    arch = current = None
    for line in listing.splitlines():
        if found := ARCH.match(line):
            arch, current = found.group(1), None
        elif found := FUNCTION.search(line):
            current = kernels[(arch, found.group(1))]
        elif current is not None and (CLOCK.search(line) or TIMED.search(line)):
            current.append("clock" if CLOCK.search(line) else "work")
    timed = {key: "".join(word[0] for word in words) for key, words in kernels.items()
             if "clock" in words and not any(name in key[1] for name in WAITS_ONLY)}
    return [f"{arch} {name}: nothing stands between two readings of the clock"
            for (arch, name), words in timed.items() if not re.search("cw+c", words)], len(timed)


def compare(kernels, arch, expected):
    """Sentences about what differs; the number of kernels that were looked at."""
    problems = []
    seen = 0
    for line in expected.splitlines():
        name, instances, mnemonic, count = line.split("\t")
        found = kernels.get((arch, name), [])
        if len(found) != int(instances):
            problems.append(f"{arch} {name}: {len(found)} kernels in place of {instances}")
        for counter in found:
            seen += 1
            if counter != {mnemonic: int(count)}:
                problems.append(f"{arch} {name}: {dict(counter)} in place of {count} x {mnemonic}")
    return problems, seen


def self_test():
    listing = """
arch = sm_80
	Function : _ZN4sptc8hardware76_GLOBAL__N__x12execute_onceINS0_2op24m16n8k8_f32_f16_f16_f32XELi0EEEvNS1_14RegisterArraysIjEE
        /*00f0*/                   HMMA.1688.F32 R4, R4, R8, R12 ;           /* 0x000000080404723c */
	Function : _ZN4sptc8hardware11other_thing
        /*00f0*/                   HMMA.16816.F32 R4, R4, R8, R12 ;          /* 0x000000080404723c */
"""
    kernels = parse(listing)
    name = "m16n8k8_f32_f16_f16_f32X"
    assert kernels == {("sm_80", name): [collections.Counter({"HMMA.1688.F32": 1})]}, kernels
    assert compare(kernels, "sm_80", f"{name}\t1\tHMMA.1688.F32\t1\n") == ([], 1)
    for wrong in (f"{name}\t1\tHMMA.1688.F16\t1\n", f"{name}\t1\tHMMA.1688.F32\t2\n", f"{name}\t2\tHMMA.1688.F32\t1\n",
                  "missing\t1\tHMMA.1688.F32\t1\n"):
        assert len(compare(kernels, "sm_80", wrong)[0]) == 1, wrong
    timed = listing.replace("HMMA.16816.F32 R4, R4, R8, R12 ;  ", "CS2R R2, SR_CLOCKLO ;")
    clock, load = "        /*0100*/  CS2R R2, SR_CLOCKLO ;\n", "        /*0110*/  LDG.E.64.STRONG.GPU R2, desc[UR8][R2.64] ;\n"
    assert untimed(listing) == ([], 0)
    assert untimed(timed + load + clock) == ([], 1)
    assert len(untimed(timed + clock + load)[0]) == 1, "a load that was moved out"
    print("check_sass.py: the parser works")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--cuobjdump")
    parser.add_argument("--program")
    parser.add_argument("--targets", nargs="+")
    arguments = parser.parse_args()
    if arguments.self_test:
        self_test()
        return 0
    if not (arguments.cuobjdump and arguments.program and arguments.targets):
        parser.error("--cuobjdump, --program and --targets are needed")
    listing = subprocess.run([arguments.cuobjdump, "-sass", arguments.program], capture_output=True, text=True)
    if listing.returncode != 0:
        print(listing.stderr, file=sys.stderr)
        return 1
    kernels = parse(listing.stdout)
    problems, timed = untimed(listing.stdout)
    seen = 0
    if timed == 0:
        problems.append("no kernel reads the clock")
    for target in arguments.targets:
        expected = subprocess.run([arguments.program, "--list-sass", target], capture_output=True, text=True, check=True)
        found, count = compare(kernels, target, expected.stdout)
        problems += found
        seen += count
        if count == 0:
            problems.append(f"{target}: no kernel was found")
    print("\n".join(problems) if problems else f"{seen} kernels hold the matrix instructions that the catalogue names, "
          f"{timed} have what they time between two readings of the clock")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
