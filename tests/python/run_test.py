#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of one module beside this file: run_test.py values_test. Exit 77 (skipped) where NumPy is absent."""
import importlib.util
import sys
import unittest

if importlib.util.find_spec("numpy") is None:
    print(f"skipped: {sys.executable} has no numpy")
    sys.exit(77)
unittest.main(module=sys.argv[1], argv=sys.argv[:1] + sys.argv[2:])
