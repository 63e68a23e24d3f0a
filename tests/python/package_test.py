# SPDX-License-Identifier: Apache-2.0
"""Everything public has a docstring and a type stub, and the stub has the parameters of the function."""
import ast
import importlib.util
import inspect
import pathlib
import sys
import unittest
from unittest import mock

import sptcsim


def parameters(node):
    """(name, whether it has a default) of each parameter of a definition in a stub."""
    arguments = node.args
    positional = arguments.posonlyargs + arguments.args
    without = len(positional) - len(arguments.defaults)
    rows = [(argument.arg, index >= without) for index, argument in enumerate(positional)]
    rows += [(argument.arg, False) for argument in [arguments.vararg] if argument]
    rows += [(argument.arg, default is not None) for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    return rows + [(argument.arg, False) for argument in [arguments.kwarg] if argument]


class Public(unittest.TestCase):
    def check(self, name, thing, stub):
        self.assertTrue(inspect.getdoc(thing), f"{name} has no docstring")
        if inspect.isclass(thing):
            self.assertIsInstance(stub, ast.ClassDef, name)
            members = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
            for key, member in vars(thing).items():
                member = member.fget if isinstance(member, property) else member
                inherited = any(key in vars(base) for base in thing.__mro__[1:])
                if inspect.isfunction(member) and not key.startswith("_") and not inherited:
                    self.assertIn(key, members, f"{name}.{key} is not in the stub")
                    self.check(f"{name}.{key}", member, members[key])
        elif inspect.isfunction(thing):
            ours = [(parameter.name, parameter.default is not parameter.empty)
                    for parameter in inspect.signature(thing).parameters.values()]
            self.assertEqual(ours, parameters(stub), name)

    def check_module(self, module):
        path = pathlib.Path(module.__file__).with_suffix(".pyi")
        stubs = {node.name: node for node in ast.parse(path.read_text()).body
                 if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        names = [name for name in module.__all__ if not name.startswith("__")]
        self.assertEqual(set(names), set(stubs))
        for name in names:
            self.check(name, getattr(module, name), stubs[name])

    def test_the_package_has_docstrings_and_stubs(self):
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
