# SPDX-License-Identifier: Apache-2.0
"""The study of accuracy as hardware computes it, on the digits of traces/: its float32 column is what training measured."""
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "studies"))
import hardware_accuracy as study  # noqa: E402
import torch  # noqa: E402


class Digits(unittest.TestCase):
    ONE_IMAGE = 100 / 899

    def figures(self, kind):
        arithmetic = [entry for entry in study.ARITHMETIC if entry[2] != "e4m3" or hasattr(torch, "float8_e4m3fn")]
        with tempfile.TemporaryDirectory() as folder:
            subject = kind(pathlib.Path(folder))
            trace = json.loads((ROOT / "traces" / "digits" / f"{subject.name}.json").read_text())
            checks = {check["what"].removeprefix("float64 test accuracy, "): 100 * check["computed"] for check in trace["checks"]}
            return study.figures(subject, pathlib.Path(folder), arithmetic), checks

    def check(self, kind):
        figures, checks = self.figures(kind)
        for variant, trained in (("dense", "dense"), ("2:4", "pruned"), ("2:4, fine-tuned", "fine_tuned")):
            self.assertAlmostEqual(figures[study.FLOAT32, variant], checks[trained], delta=1e-6)
            self.assertAlmostEqual(figures["A100 f16", variant], checks[trained], delta=1.01 * self.ONE_IMAGE)
        # One shot loses, whatever the order of the channels, and fine-tuning gives it back: in every arithmetic.
        for name in {name for name, _ in figures}:
            dense, pruned, permuted, tuned = (figures[name, variant] for variant in study.VARIANTS)
            self.assertLess(max(pruned, permuted), tuned - 2, name)
            self.assertLess(dense - tuned, 1, name)

    def test_a_multilayer_perceptron(self):
        self.check(study.Perceptron)

    def test_a_convolutional_network(self):
        self.check(study.Convolutional)


if __name__ == "__main__":
    unittest.main()
