# SPDX-License-Identifier: Apache-2.0
"""Plans of models in files: losses against NumPy, every set of layers against the front, lists that other calls take."""
import itertools
import json
import pathlib
import shlex
import sys
import tempfile
import unittest

import numpy as np
import sptcsim

SHAPES = {"first": (2048, 1024), "second": (1024, 2048), "third": (1024, 1024)}


class Plans(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        random = np.random.default_rng(3)
        self.weights = {name: random.standard_normal(shape).astype("f4") ** (3 if name == "second" else 1)
                        for name, shape in SHAPES.items()}
        self.model = self.folder / "model.npz"
        np.savez(self.model, **self.weights)
        self.workload = self.folder / "workload.json"
        operations = [{"name": name, "m": rows, "n": 4096, "k": k} for name, (rows, k) in SHAPES.items()]
        self.workload.write_text(json.dumps({"schema": "gemm-workload/0.1", "name": "three", "ops": operations}))

    def plan(self, **options):
        return sptcsim.plan_model(self.model, workload=self.workload, arch="A100", **options)

    def errors(self, inputs=None):
        """||WX - W'X|| / ||WX||, with the two largest of four kept; without inputs that of white noise."""
        errors = []
        for name, weights in self.weights.items():
            groups = weights.astype("f8").reshape(-1, 4)
            gone = np.where(np.argsort(np.argsort(-np.abs(groups), axis=1, kind="stable"), axis=1) < 2, 0, groups)
            x = inputs[name].astype("f8").T if inputs else np.eye(weights.shape[1])
            errors.append(np.linalg.norm(gone.reshape(weights.shape) @ x) / np.linalg.norm(weights.astype("f8") @ x))
        return errors

    def test_front_is_that_of_all_sets(self):
        plan = self.plan()
        np.testing.assert_allclose([layer.error for layer in plan.layers], self.errors(), rtol=1e-5)
        self.assertTrue(all(layer.saved_us > 0 for layer in plan.layers))
        sets = [(sum(plan.layers[i].saved_us for i in some), sum(plan.layers[i].error ** 2 for i in some) ** .5)
                for count in range(4) for some in itertools.combinations(range(3), count)]
        front = sorted((loss, saved) for saved, loss in sets
                       if not any(a >= saved and b <= loss and (a, b) != (saved, loss) for a, b in sets))
        np.testing.assert_allclose([point.loss for point in plan.front], [loss for loss, _ in front], atol=1e-9)
        np.testing.assert_allclose([plan.dense.time_us - point.time_us for point in plan.front], [saved for _, saved in front],
                                   atol=1e-5)

    def test_inputs_decide_the_error(self):
        random = np.random.default_rng(4)
        inputs = {name: (random.standard_normal((50, k)) * random.random(k)).astype("f4") for name, (_, k) in SHAPES.items()}
        np.savez(self.folder / "x.npz", **inputs)
        plan = self.plan(activations=self.folder / "x.npz")
        self.assertTrue(all(layer.weights[0].calibrated for layer in plan.layers))
        np.testing.assert_allclose([layer.error for layer in plan.layers], self.errors(inputs), rtol=1e-4)

    def test_metric_of_a_command(self):
        script = self.folder / "zeros.py"
        script.write_text("import os, sys, numpy\nmodel = numpy.load(sys.argv[1])\nassert sys.argv[1] == os.environ['SPTCSIM_MODEL']\n"
                          "print('zeros')\nprint(sum((model[name] == 0).sum() for name in model.files))\n")
        calls = []
        plan = self.plan(evaluate=shlex.join([sys.executable, str(script), "{}"]), metric="lower", max_loss=3e6,
                         progress=lambda *step: calls.append(step))
        self.assertEqual([layer.loss for layer in plan.layers], [rows * k / 2 for rows, k in SHAPES.values()])
        self.assertEqual(plan.plan.loss, plan.plan.metric - plan.dense_metric)
        self.assertEqual(calls[3], (4, 4, ""))
        with self.assertRaisesRegex(sptcsim.InputError, "must print a number on its last line, not 'zeros'"):
            self.plan(evaluate="echo zeros")

    def test_a_list_is_what_other_calls_take(self):
        out = self.folder / "layers.txt"
        plan = self.plan(min_gain=1.05, out=out, clock="boost")
        names = [plan.layers[i].name for i in plan.plan.layers]
        self.assertLess(len(names), 3)
        pruned = sptcsim.prune_model(self.model, layers=f"@{out}")
        self.assertEqual([layer.name for layer in pruned.layers], sorted(names, key=list(SHAPES).index))
        result = sptcsim.run(self.workload, sparsity=str(out), fidelity="analytic", clock="boost")
        self.assertEqual([op.name for op in result.operations if op.sparse is not None], names)
        self.assertAlmostEqual(result.totals.sparse.time_us, plan.plan.simulated.time_us, places=3)

    def test_a_configuration_of_hugging_face_says_the_products(self):
        shapes = {"self_attn.q_proj": (512, 512), "self_attn.k_proj": (128, 512), "self_attn.v_proj": (128, 512),
                  "self_attn.o_proj": (512, 512), "mlp.gate_proj": (2048, 512), "mlp.up_proj": (2048, 512),
                  "mlp.down_proj": (512, 2048)}
        random = np.random.default_rng(5)
        weights = {f"model.layers.{i}.{name}.weight": random.standard_normal(shape).astype("f4")
                   for i in range(2) for name, shape in shapes.items()}
        np.savez(self.folder / "llama.npz", **weights)
        config = self.folder / "config.json"
        config.write_text(json.dumps({
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 512, "intermediate_size": 2048,
            "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1024}))
        plan = sptcsim.plan_model(self.folder / "llama.npz", workload=config, dims={"batch": 4, "seq": 2048}, dtype="f16")
        tensors = [{weight.tensor for weight in layer.weights} for layer in plan.layers if layer.weights]
        self.assertEqual(set().union(*tensors), set(weights))
        # What one launch computes is pruned as one: Q, K and V, and gate and up.
        for i in range(2):
            first = f"model.layers.{i}."
            self.assertIn({first + f"self_attn.{name}_proj.weight" for name in "qkv"}, tensors)
            self.assertIn({first + f"mlp.{name}_proj.weight" for name in ("gate", "up")}, tensors)
        down = [layer for layer in plan.layers if layer.name.startswith("mlp.down")]
        self.assertEqual([(layer.m, layer.k, layer.launches) for layer in down], [(512, 2048, 1)] * 2)
        config.write_text(config.read_text().replace("2048", "2000"))
        plan = sptcsim.plan_model(self.folder / "llama.npz", workload=config, dims={"batch": 4, "seq": 2048}, dtype="f16")
        for layer in plan.layers:
            self.assertEqual("and 'mlp.down' needs 512 x 2000" in (layer.refused or ""), layer.name.startswith("mlp.down"), layer.name)

    def test_models_that_are_none_are_refused_and_nothing_is_written(self):
        out = self.folder / "layers.txt"
        self.weights["second"][3, 5] = np.nan
        np.savez(self.model, **self.weights)
        with self.assertRaisesRegex(sptcsim.InputError, "tensor 'second': element 6149 is NaN"):
            self.plan(max_loss=9, out=out)
        np.savez(self.model, **{name: weights[:, :-2] for name, weights in self.weights.items()})
        with self.assertRaisesRegex(sptcsim.InputError, "none of its 3 tensors can be pruned to 2:4: .* is no multiple of 4"):
            self.plan(max_loss=9, out=out)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["model.npz", "workload.json"])

    def test_bad_arguments(self):
        for message, arguments in {"--max-loss, --max-time and --min-gain": {"max_loss": 1, "min_gain": 2}, "chooses it": {"out": "x"},
                                   "unknown metric 'best'": {"metric": "best"}, "max_loss must be a finite number": {"max_loss": "1"},
                                   "--max-time must be above 0 and at most": {"max_time": 1e300},
                                   "--min-gain must be a finite number of at least 1, not 0": {"min_gain": 0},
                                   "--timeout must be above 0 .* not -1": {"timeout": -1}, "--timeout .* not 1e.300": {"timeout": 1e300},
                                   "unknown option 'fidelty'": {"fidelty": "timing"}, "takes no layer": {"out": "x", "max_loss": 0},
                                   "--sparsity has no effect": {"sparsity": "auto"}}.items():
            with self.subTest(message), self.assertRaisesRegex(sptcsim.InputError, message):
                self.plan(**arguments)
        with self.assertRaisesRegex(sptcsim.InputError, "--workload names a file that does"):
            sptcsim.plan_model(self.model)


if __name__ == "__main__":
    unittest.main()
