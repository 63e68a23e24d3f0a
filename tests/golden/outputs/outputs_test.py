#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the program writes is the same bytes under all conditions, and the same as in outputs.txt.

Each line of outputs.txt is a SHA-256 and commands of sptcsim with && between them. The digest is that of what the last of
them prints, or of `files` that were written. src is the source tree, @jobs the number of processes. After a change of
outputs that is meant: outputs_test.py --program build/release/sptcsim --update
"""
import argparse
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[3]
TABLE = pathlib.Path(__file__).with_name("outputs.txt")
SKIPPED = 77
VECTORS = {"sse4": "sse4_1", "avx2": "avx2", "avx512": "avx512f"}  # and how Linux calls what a processor needs


def environment(condition, scratch, narrowing):
    """The environment of a condition, or None where this machine cannot have it."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "SPTCSIM_"))}
    variables.update(LC_ALL="C.UTF-8", TZ="UTC")
    if condition == "comma":  # decimal commas, and a zone that is not at a whole hour
        if not shutil.which("localedef"):
            return None
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", scratch / "de_DE.UTF-8"], capture_output=True, check=False)
        if not (scratch / "de_DE.UTF-8/LC_NUMERIC").exists():
            return None
        variables.update(LOCPATH=str(scratch), LC_ALL="de_DE.UTF-8", TZ="Asia/Kathmandu")
    if condition in VECTORS:
        if not narrowing or VECTORS[condition] not in pathlib.Path("/proc/cpuinfo").read_text():
            return None
        # A build with AddressSanitizer asks that its own library comes first; it need not.
        asan = filter(None, (os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"))
        variables.update(LD_PRELOAD=narrowing, SPTC_VECTORS=condition, ASAN_OPTIONS=":".join(asan))
    return variables


class Runner:
    def __init__(self, program, condition, variables):
        self.program, self.condition, self.variables = program, condition, variables

    def prepare(self):
        if self.condition == "one-processor":
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    def digest(self, commands):
        """SHA-256 of what `commands` write. Raises RuntimeError where one of them fails."""
        digested = hashlib.sha256()
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(SOURCE, f"{folder}/src")
            steps = [shlex.split(step) for step in commands.split("&&")]
            for step in steps:
                if step[0] == "files":
                    for name in step[1:]:
                        digested.update(pathlib.Path(folder, name).read_bytes())
                    continue
                jobs = "8" if self.condition == "eight-jobs" else "1"
                done = subprocess.run([*self.program, *(jobs if word == "@jobs" else word for word in step)], cwd=folder,
                                      env=self.variables, capture_output=True, preexec_fn=self.prepare, check=False)
                if done.returncode != 0:
                    raise RuntimeError(f"exit code {done.returncode}: {done.stderr.decode(errors='replace')}")
                if step is steps[-1]:
                    digested.update(done.stdout)
        return digested.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="sptcsim, or a command line that ends with it")
    parser.add_argument("--condition", default="plain", choices=["plain", "eight-jobs", "one-processor", "comma", *VECTORS])
    parser.add_argument("--narrowing", help="the library of narrow_vectors.cpp, for conditions of vector instructions")
    parser.add_argument("--only", default="", help="lines that this regular expression finds")
    parser.add_argument("--update", action="store_true", help="write the digests of this build to outputs.txt")
    given = parser.parse_args()
    *wrapper, program = shlex.split(given.program)
    lines = [line.split(maxsplit=1) for line in TABLE.read_text().splitlines()]
    compared = failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        variables = environment(given.condition, pathlib.Path(scratch), given.narrowing)
        if variables is None:
            print(f"skipped: this machine cannot have the condition {given.condition}")
            return SKIPPED
        runner = Runner([*wrapper, str(pathlib.Path(program).resolve())], given.condition, variables)
        for line in lines:
            if not re.search(given.only, line[1]):
                continue
            compared += 1
            try:
                found = runner.digest(line[1])
                problem = f"{found} instead of {line[0]}"
            except RuntimeError as error:
                found, problem = None, str(error)
            if found == line[0] or (found and given.update):
                line[0] = found
            else:
                failures += 1
                print(f"{line[1]}\n  {problem}")
    if given.update:
        TABLE.write_text("".join(f"{digest} {commands}\n" for digest, commands in lines))
    print(f"{compared} outputs, {failures} of them other bytes than outputs.txt says ({given.condition})")
    return 1 if failures or not compared else 0


sys.exit(main())
