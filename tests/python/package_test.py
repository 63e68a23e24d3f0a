# SPDX-License-Identifier: Apache-2.0
"""Everything public has a docstring, and its parameters and results have types."""
import importlib.util
import inspect
import sys
import unittest
from unittest import mock

import sptcsim


class Public(unittest.TestCase):
    def check(self, name, thing):
        self.assertTrue(inspect.getdoc(thing), f"{name} has no docstring")
        if inspect.isclass(thing):
            for key, member in vars(thing).items():
                member = member.fget if isinstance(member, property) else member
                inherited = any(key in vars(base) for base in thing.__mro__[1:])
                if inspect.isfunction(member) and not key.startswith("_") and not inherited:
                    self.check(f"{name}.{key}", member)
        elif inspect.isfunction(thing):
            signature = inspect.signature(thing)
            types = [parameter.annotation for parameter in signature.parameters.values() if parameter.name != "self"]
            self.assertNotIn(signature.empty, [*types, signature.return_annotation], name)

    def check_module(self, module):
        for name in module.__all__:
            if not name.startswith("__"):
                self.check(name, getattr(module, name))

    def test_the_package_has_docstrings_and_types(self):
        self.check_module(sptcsim)

    def test_so_has_its_module_of_searches(self):
        self.check_module(sptcsim.explore)

    def test_a_missing_package_is_named_with_what_installs_it(self):
        spec = {"schema": "sptcsim-sweep/0.1", "name": "s", "workloads": [{"m": 8, "n": 8, "k": 8}], "axes": []}
        calls = {"optuna": lambda: sptcsim.explore.front(spec), "SALib.sample.sobol": lambda: sptcsim.explore.sensitivity(spec),
                 "scipy.stats.qmc": lambda: sptcsim.explore.hypercube([], 1),
                 "distributed": lambda: sptcsim.sweep(spec, client=object())}
        for package, call in calls.items():
            sentence = f"needs the package {package.partition('.')[0]}: pip install sptcsim\\[explore\\]$"
            with mock.patch.dict(sys.modules, {package: None}), self.assertRaisesRegex(ImportError, sentence):
                call()

    def test_so_has_its_module_for_torch(self):
        if importlib.util.find_spec("torch") is None:
            self.skipTest("torch is not installed")
        self.check_module(sptcsim.torch)


if __name__ == "__main__":
    unittest.main()
