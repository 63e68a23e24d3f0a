#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of one module beside this file: run_test.py values_test. Exit 77 (skipped) where a package is absent.

explore_test and cluster_test need the packages of `pip install sptcsim[explore]`.
Those of TORCH run where torch is: in this interpreter, in $TORCH_PYTHON, or in Debian's (python3-torch).
"""
import importlib.util
import os
import subprocess
import sys
import unittest


TORCH = ("torch_test", "torch_prune_test", "hardware_accuracy_test")
NEEDED = {"page_tables_test": (), "explore_test": ("numpy", "optuna", "SALib"), "cluster_test": ("numpy", "distributed")}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def has_torch(python):
    """Whether `python` can load the package of this build and has torch."""
    code = f"import sys; assert sys.version_info[:2] == {sys.version_info[:2]}; import torch, numpy"
    try:
        return subprocess.run([python, "-c", code], stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def main(module):
    if module in TORCH and importlib.util.find_spec("torch") is None:
        others = [python for python in (os.environ.get("TORCH_PYTHON"), "/usr/bin/python3") if python and has_torch(python)]
        if not others:
            version = ".".join(map(str, sys.version_info[:2]))
            skip(f"neither {sys.executable} nor $TORCH_PYTHON nor /usr/bin/python3 is Python {version} with torch and numpy")
        print(f"torch of {others[0]}", flush=True)
        os.execv(others[0], [others[0], *sys.argv])
    for package in NEEDED.get(module, ("numpy",)):
        if importlib.util.find_spec(package) is None:
            skip(f"{sys.executable} has no {package}")
    unittest.main(module=module, argv=sys.argv[:1] + sys.argv[2:])


if __name__ == "__main__":
    main(sys.argv[1])
