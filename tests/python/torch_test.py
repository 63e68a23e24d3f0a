# SPDX-License-Identifier: Apache-2.0
"""sptcsim.torch: recorded models are the GEMMs counted by hand; simulated ones compute the bits of `sptcsim run`.

torch_test.py --update writes anew what the examples of sim/python/PYTORCH.md print.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

import numpy as np
import readme_test
import sptcsim
import sptcsim.torch
import torch
from torch import nn

DIGITS = pathlib.Path(__file__).parents[2] / "traces" / "digits"
KINDS = {"F16": np.float16, "F32": np.float32, "F64": np.float64, "U8": np.uint8, "I64": np.int64, "I32": np.int32}
TOUR = pathlib.Path(__file__).parents[2] / "sim" / "python" / "PYTORCH.md"
ANALYTIC = {"fidelity": "analytic", "check": "none"}


def tensors(path):
    """Those of a .safetensors file."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    result = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            first, last = (8 + size + offset for offset in entry["data_offsets"])
            array = np.frombuffer(data[first:last], KINDS[entry["dtype"]]).reshape(entry["shape"])
            result[name] = torch.from_numpy(array.copy())
    return result


def gemms(workload):
    """(name, m, n, k, batch, count) of each operation."""
    rows = []
    for op in workload["ops"]:
        if "conv" in op:
            c = op["conv"]
            p, q = ((extent + 2 * pad - dilation * (taps - 1) - 1) // stride + 1 for extent, pad, dilation, taps, stride in
                    zip((c["H"], c["W"]), c["pad"], c["dilation"], (c["R"], c["S"]), c["stride"]))
            shape = (c["K"] // c["groups"], c["N"] * p * q, c["R"] * c["S"] * c["C"] // c["groups"], c["groups"])
        else:
            shape = (op["m"], op["n"], op["k"], op.get("batch", 1))
        rows.append((op["name"], *shape, op["count"]))
    return rows


class Block(nn.Module):
    """A decoder layer of Llama: grouped queries, gated feed-forward part."""

    def __init__(self, width, heads, groups, hidden, **factory):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        for name, columns, rows in (("q", width, width), ("k", width, groups * self.size), ("v", width, groups * self.size),
                                    ("o", width, width), ("gate", width, hidden), ("up", width, hidden),
                                    ("down", hidden, width)):
            setattr(self, name, nn.Linear(columns, rows, bias=False, **factory))

    def forward(self, x):
        batch, length, _ = x.shape

        def heads(y, count):
            return y.view(batch, length, count, self.size).transpose(1, 2)
        q, k, v = heads(self.q(x), self.heads), heads(self.k(x), self.groups), heads(self.v(x), self.groups)
        k, v = (t.unsqueeze(2).expand(-1, -1, self.heads // self.groups, -1, -1).flatten(1, 2) for t in (k, v))
        scores = torch.softmax(q @ k.transpose(2, 3), -1)
        x = x + self.o((scores @ v).transpose(1, 2).reshape(x.shape))
        return x + self.down(torch.sigmoid(self.gate(x)) * self.up(x))


class Llama(nn.Module):
    def __init__(self, layers, width, heads, groups, hidden, words, **factory):
        super().__init__()
        self.embedding = nn.Embedding(words, width, **factory)
        self.layers = nn.ModuleList(Block(width, heads, groups, hidden, **factory) for _ in range(layers))
        self.head = nn.Linear(width, words, bias=False, **factory)

    def forward(self, ids):
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x[:, -1:])


class Record(unittest.TestCase):
    def test_seventy_billion_parameters_need_no_memory(self):
        model = Llama(80, 8192, 64, 8, 28672, 128256, device="meta", dtype=torch.bfloat16)
        self.assertGreater(sum(weight.numel() for weight in model.parameters()), 70e9)
        ids = torch.empty(1, 2048, dtype=torch.long, device="meta")
        workload = sptcsim.torch.record(model, ids, merge=True)
        self.assertEqual(gemms(workload), [
            ("layers.*.q", 8192, 2048, 8192, 1, 80), ("layers.*.k", 1024, 2048, 8192, 1, 80),
            ("layers.*.v", 1024, 2048, 8192, 1, 80), ("layers.*.bmm", 2048, 2048, 128, 64, 80),
            ("layers.*.bmm", 128, 2048, 2048, 64, 80), ("layers.*.o", 8192, 2048, 8192, 1, 80),
            ("layers.*.gate", 28672, 2048, 8192, 1, 80), ("layers.*.up", 28672, 2048, 8192, 1, 80),
            ("layers.*.down", 8192, 2048, 28672, 1, 80), ("head", 128256, 1, 8192, 1, 1)])
        self.assertEqual([op["dtype"] for op in workload["ops"]], ["bf16"] * 10)
        prunable = [row["name"] for row in sptcsim.run(workload, **ANALYTIC).rows() if row["variant"] == "sparse"]
        # By their names "head" and "gate", which routers have, too, these stay dense.
        self.assertEqual(prunable, [f"layers.*.{name}" for name in ("q", "k", "v", "o", "up", "down")])

    def test_a_vision_transformer_of_torch_is_its_gemms_counted_by_hand(self):
        class Vit(nn.Module):
            def __init__(self):
                super().__init__()
                self.patches = nn.Conv2d(3, 64, 4, stride=4)
                layer = nn.TransformerEncoderLayer(64, 4, 256, batch_first=True)
                self.encoder = nn.TransformerEncoder(layer, 2)
                self.head = nn.Linear(64, 10)

            def forward(self, images):
                return self.head(self.encoder(self.patches(images).flatten(2).transpose(1, 2)).mean(1))
        for model in (Vit(), Vit().eval()):  # eval() lets torch fuse whole layers
            with torch.no_grad():
                workload = sptcsim.torch.record(model, torch.zeros(5, 3, 16, 16), merge=True)
            one = "encoder.layers.*."
            self.assertEqual(gemms(workload), [
                ("patches", 64, 5 * 16, 48, 1, 1), (one + "self_attn.in_proj", 192, 80, 64, 1, 2),
                (one + "self_attn.bmm", 16, 16, 16, 20, 4), (one + "self_attn.out_proj", 64, 80, 64, 1, 2),
                (one + "linear1", 256, 80, 64, 1, 2), (one + "linear2", 64, 80, 256, 1, 2), ("head", 10, 5, 64, 1, 1)])
            self.assertNotIn("not_taken", workload)

    def test_convolutions_keep_their_geometry(self):
        model = nn.Sequential(nn.Conv2d(16, 32, 3, stride=(2, 1), padding=(1, 0), bias=False), nn.ReLU(),
                              nn.Conv2d(32, 32, 3, padding="same", dilation=2, groups=4), nn.Flatten(2),
                              nn.Conv1d(32, 8, 5, stride=3))
        workload = sptcsim.torch.record(model, torch.zeros(2, 16, 9, 12))
        length = (5 * 10 - 5) // 3 + 1
        self.assertEqual(gemms(workload), [("0", 32, 2 * 5 * 10, 9 * 16, 1, 1), ("2", 8, 2 * 50, 9 * 8, 4, 1),
                                           ("4", 8, 2 * length, 5 * 32, 1, 1)])
        ours = sptcsim.run(workload, dtype="f16", **ANALYTIC)
        self.assertEqual([(op.m, op.n, op.k, op.batch) for op in ours.operations], [row[1:5] for row in gemms(workload)])

    def test_three_axes_and_transposed_filters_are_gemms_without_geometry(self):
        model = nn.Sequential(nn.Conv3d(16, 8, 3, padding=1), nn.Flatten(2), nn.ConvTranspose1d(8, 16, 4, stride=2))
        self.assertEqual(gemms(sptcsim.torch.record(model, torch.zeros(2, 16, 4, 5, 6))),
                         [("0", 8, 2 * 120, 27 * 16, 1, 1), ("2", 16 * 4, 2 * 120, 8, 1, 1)])

    def test_the_weight_is_known_on_either_side_and_after_a_cast(self):
        class Both(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.zeros(32, 48))

            def forward(self, x):
                return self.w @ x, x.t() @ self.w.t().bfloat16().float(), x.t() @ x
        workload = sptcsim.torch.record(Both(), torch.zeros(48, 7))
        self.assertEqual(gemms(workload), [("w", 32, 7, 48, 1, 2), ("Both.mm", 7, 7, 48, 1, 1)])
        self.assertEqual([("weight_operand" in op) for op in workload["ops"]], [False, True])

    def test_what_is_no_gemm_of_a_tensor_core_is_named_with_its_reason(self):
        def model(x):
            return torch.cdist(x, x), x @ x.t(), x.bfloat16() @ x.bfloat16().t()
        with torch.no_grad():
            workload = sptcsim.torch.record(model, torch.zeros(30, 4, dtype=torch.float64), name="distances")
        self.assertEqual(gemms(workload), [("model.mm", 30, 30, 4, 1, 1)])
        reasons = " ".join(entry["reason"] for entry in workload["not_taken"])
        self.assertIn("float64 is no type of a tensor core", reasons)
        sptcsim.run(workload, **ANALYTIC)  # the reader takes the whole of it

    def test_a_model_that_looks_at_values_needs_some(self):
        class Masked(nn.Module):
            def forward(self, x, mask):
                return x @ x.t() if mask.all() else x
        with self.assertRaisesRegex(sptcsim.InputError, "Masked looks at a value of a tensor, and the device meta has none"):
            sptcsim.torch.record(Masked(), torch.zeros(8, 8, device="meta"), torch.ones(8, device="meta").bool())

    def test_the_model_is_as_it_was(self):
        model, x = nn.Linear(8, 8), torch.ones(2, 8)
        before = model(x)
        sptcsim.torch.record(model, x)
        self.assertFalse(torch.nn.modules.module._global_forward_pre_hooks)
        self.assertTrue(torch._C._get_mkldnn_enabled() or not torch.backends.mkldnn.is_available())
        self.assertTrue(torch.equal(model(x), before))

    def test_bad_arguments_are_refused_in_one_sentence(self):
        for call, sentence in (
                (lambda: sptcsim.torch.record(3), "a model is a torch.nn.Module or a function, not int"),
                (lambda: sptcsim.torch.record(nn.ReLU(), torch.zeros(1)), "ReLU multiplies no matrices"),
                (lambda: sptcsim.torch.record(nn.Linear(2, 2), torch.zeros(1, 2), dtype="f17"), "unknown type 'f17'")):
            with self.assertRaisesRegex(sptcsim.InputError, sentence):
                call()


class Experts(nn.Module):
    """A product of eight experts, of which each gets its part of the tokens."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(8, 64, 256, dtype=torch.bfloat16, device="meta"))

    def forward(self, tokens, ends):
        return torch._grouped_mm(tokens, self.weight, offs=ends)


class RecordGrouped(unittest.TestCase):
    def test_experts_are_a_batch(self):
        if not hasattr(torch, "_grouped_mm"):
            self.skipTest("this torch has no grouped products")
        ends = torch.empty(8, dtype=torch.int32, device="meta")
        for tokens, n, batch in ((130, 17, 8), (3, 1, 3)):
            x = torch.empty(tokens, 64, dtype=torch.bfloat16, device="meta")
            workload = sptcsim.torch.record(Experts(), x, ends)
            self.assertEqual(workload["ops"], [{"name": "Experts", "m": 256, "n": n, "k": 64, "batch": batch, "dtype": "bf16",
                                                "count": 1}])
            self.assertNotIn("not_taken", workload)

    def test_extents_follow_what_is_shared(self):
        from sptcsim.torch import _products

        def called(first, second, ends=8):
            func = types.SimpleNamespace(overloadpacket=types.SimpleNamespace(__name__="_grouped_mm"))
            args = (torch.empty(first, device="meta"), torch.empty(second, device="meta"))
            return _products.grouped_of(func, args, {"offs": torch.empty(ends, device="meta")})
        self.assertEqual(called((8, 256, 64), (64, 128)).op, {"m": 256, "n": 16, "k": 64, "batch": 8})
        self.assertEqual(called((256, 128), (128, 64)).op, {"m": 64, "n": 256, "k": 16, "batch": 8})
        self.assertEqual(called((8, 16, 64), (8, 64, 256)).op, {"m": 256, "n": 16, "k": 64, "batch": 8})
        self.assertIsNone(called((256, 128), (128, 64)).weight)


class Network(nn.Module):
    """The layers of a workload with real values (traces/README.md); images are NHWC."""

    def __init__(self, file, ops, suffix):
        super().__init__()
        for op in ops:
            names, conv = op["tensors"], op.get("conv")
            weight, bias = (file[names[key]].float() for key in (f"{suffix}weight", f"{suffix}bias"))
            if conv:
                layer = nn.Conv2d(conv["C"], conv["K"], (conv["R"], conv["S"]), conv["stride"], conv["pad"])
                weight = weight.reshape(conv["K"], conv["R"], conv["S"], conv["C"]).permute(0, 3, 1, 2).contiguous()
            else:
                layer = nn.Linear(op["k"], op["m"])
            layer.weight.data, layer.bias.data = weight, bias
            self.add_module(op["name"], layer)

    def forward(self, x):
        for name, layer in self.named_children():
            x = layer(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1) if isinstance(layer, nn.Conv2d) else layer(x.flatten(1))
            x = torch.relu(x) if name not in ("fc", "fc3") else x
        return x


class Digits(unittest.TestCase):
    """Networks with real values, sample by sample."""

    def classes_of_the_program(self, stem, variant, labels):
        """Share of the samples that the program puts into the class that `labels` says."""
        document = json.loads((DIGITS / f"{stem}.json").read_text())
        with tempfile.TemporaryDirectory() as directory:
            data = bytearray((DIGITS / f"{stem}.safetensors").read_bytes())
            size = int.from_bytes(data[:8], "little")
            entry = json.loads(data[8:8 + size])[document["network"]["labels"]]
            first, last = (8 + size + offset for offset in entry["data_offsets"])
            data[first:last] = labels.numpy().astype(KINDS[entry["dtype"]]).tobytes()
            (pathlib.Path(directory) / f"{stem}.safetensors").write_bytes(data)
            path = pathlib.Path(directory) / f"{stem}.json"
            path.write_text(json.dumps(document))
            accuracy = sptcsim.run(path, fidelity="datapath", check="none", variants=variant).accuracy
            return accuracy[variant].simulated

    def compare(self, stem):
        document = json.loads((DIGITS / f"{stem}.json").read_text())
        file = tensors(DIGITS / f"{stem}.safetensors")
        images = file[document["network"]["input"]].float()
        for variant, kind, sparse in (("dense", "", False), ("sparse", "sparse_", "2:4")):
            model = Network(file, document["ops"], kind)
            with torch.no_grad(), sptcsim.torch.simulated(model, sparse=sparse, dtype="f16") as layers:
                scores = torch.cat([model(part) for part in images.split(200)])
            classes = scores[:, :document["network"]["classes"]].argmax(1)
            self.assertEqual(self.classes_of_the_program(stem, variant, classes), 1)
            classes[17] = (classes[17] + 1) % 10
            self.assertEqual(self.classes_of_the_program(stem, variant, classes), 898 / 899)
            yield kind, layers

    def test_a_multilayer_perceptron_classifies_as_the_program_does(self):
        for kind, layers in self.compare("mlp"):
            self.assertEqual([row["sparse"] for row in layers.rows()], [kind != ""] * 3)
            self.assertEqual(layers["fc1"].pruning_error, 0)  # fine-tuned weights obey the pattern
            self.assertLess(0, layers["fc1"].arithmetic_error)
            self.assertEqual((layers["fc2"].calls, layers["fc2"].elements), (5, 899 * 128))

    def test_a_convolutional_network_does_too(self):
        for kind, layers in self.compare("cnn"):
            sparse = [row["sparse"] for row in layers.rows()]
            self.assertEqual(sparse[0], False)  # one channel: nothing to prune
            self.assertEqual(any(sparse), kind != "")


class Simulated(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def test_a_linear_layer_is_matmul_with_its_bias_after_it(self):
        layer, x = nn.Linear(64, 48), torch.randn(10, 64)
        a, b = layer.weight.detach().half().numpy(), x.half().numpy().T
        for sparse, weight in ((False, a), (True, sptcsim.prune(a))):
            with torch.no_grad(), sptcsim.torch.simulated(arch="H100", sparse=sparse, dtype="f16"):
                ours = layer(x)
            d = torch.from_numpy(sptcsim.matmul(weight, b, arch="H100", sparse=sparse).T.copy())
            self.assertTrue(torch.equal(ours, d + layer.bias), sparse)

    def test_half_tensors_round_once_after_the_bias(self):
        layer, x = nn.Linear(32, 16).half(), torch.randn(4, 32).half()
        with torch.no_grad(), sptcsim.torch.simulated():
            ours = layer(x)
        d = sptcsim.matmul(layer.weight.detach().numpy(), x.numpy().T).T
        expected = torch.from_numpy(d.copy()) + layer.bias.float()
        self.assertTrue(torch.equal(ours, expected.half()))

    def test_float32_is_rounded_to_tf32_with_ties_away_from_zero(self):
        layer, x = nn.Linear(8, 8, bias=False), torch.eye(8)
        layer.weight.data = torch.full((8, 8), 1 + 2 ** -11)
        layer.weight.data[1] = -1 - 3 * 2 ** -11
        with torch.no_grad(), sptcsim.torch.simulated():
            ours = layer(x)
        self.assertTrue(torch.equal(ours[:, 0], torch.full((8,), 1 + 2 ** -10)))
        self.assertTrue(torch.equal(ours[:, 1], torch.full((8,), -1 - 2 ** -9)))

    def test_a_convolution_is_the_gemm_of_its_patches(self):
        for groups, stride, dilation in ((1, 1, 1), (2, (2, 1), (1, 2))):
            layer = nn.Conv2d(4, 6, (3, 2), stride=stride, padding=(1, 0), dilation=dilation, groups=groups).double()
            x = torch.randint(-3, 4, (2, 4, 9, 8)).double()
            layer.weight.data = torch.randint(-3, 4, layer.weight.shape).double()
            layer.bias.data = torch.randint(-3, 4, layer.bias.shape).double()
            with torch.no_grad():
                exact = layer(x)
                with sptcsim.torch.simulated(dtype="f16") as layers:
                    ours = layer.float()(x.float())
            self.assertTrue(torch.equal(ours, exact.float()))  # small integers: no sum rounds
            self.assertEqual(layers["Conv2d"].elements, exact.numel())

    def test_the_depth_of_a_convolution_is_taps_with_channels_innermost(self):
        layer, x = nn.Conv2d(16, 8, 3, bias=False), torch.randn(1, 16, 5, 6)
        a = layer.weight.detach().permute(0, 2, 3, 1).reshape(8, -1).half().numpy()
        patches = [x[0, :, p:p + 3, q:q + 3].permute(1, 2, 0).flatten() for p in range(3) for q in range(4)]
        b = torch.stack(patches, 1).half().numpy()
        for sparse, weight in ((False, a), (True, sptcsim.prune(a))):
            with torch.no_grad(), sptcsim.torch.simulated(sparse=sparse, dtype="f16"):
                ours = layer(x)
            d = sptcsim.matmul(weight, b, sparse=sparse)
            np.testing.assert_array_equal(ours.numpy().reshape(8, 12), d)

    def test_addends_factors_batches_and_vectors_are_those_of_torch(self):
        def integers(*shape):
            return torch.randint(-4, 5, shape).float()
        a, b, c, v = integers(3, 5, 8), integers(3, 8, 4), integers(3, 5, 4), integers(8)
        calls = (lambda: a @ b, lambda: torch.baddbmm(c, a, b, beta=2, alpha=3), lambda: torch.addmm(c[0], a[0], b[0]),
                 lambda: a[0] @ v, lambda: torch.addmv(c[0, :, 0], a[0], v), lambda: torch.einsum("bij,bjk->bik", a, b),
                 lambda: torch.mm(a[0], b[0], out=torch.empty(5, 4)), lambda: c[0].clone().addmm_(a[0], b[0]))
        for i, call in enumerate(calls):
            with sptcsim.torch.simulated(dtype="f16") as layers:
                ours = call()
            self.assertTrue(torch.equal(ours, call()), i)
            self.assertEqual(len(layers), 1, i)

    def test_errors_are_split_into_pruning_and_arithmetic(self):
        model, x = nn.Sequential(nn.Linear(64, 64, bias=False)), torch.randn(100, 64)
        with torch.no_grad(), sptcsim.torch.simulated(sparse="2:4", dtype="f16") as layers:
            ours = model(x).double()
        weight = model[0].weight.detach().double()
        kept = torch.from_numpy(sptcsim.prune(weight.half().numpy()) != 0)
        exact, pruned = x.double() @ weight.T, x.double() @ (weight * kept).T
        for name, difference in (("pruning_error", pruned - exact), ("arithmetic_error", ours - pruned),
                                 ("error", ours - exact)):
            self.assertAlmostEqual(layers["0"][name], (difference.norm() / exact.norm()).item(), places=12, msg=name)
        self.assertGreater(layers["0"].pruning_error, 100 * layers["0"].arithmetic_error)

    def test_changed_weights_are_pruned_anew(self):
        layer, x = nn.Linear(32, 16, bias=False), torch.randn(4, 32)
        with torch.no_grad(), sptcsim.torch.simulated(sparse=True, dtype="f16", errors=False):
            first = layer(x)
            again = layer(x)
            layer.weight.mul_(2)
            twice = layer(x)
        self.assertTrue(torch.equal(first, again))
        self.assertTrue(torch.equal(twice, 2 * first))

    def test_layers_chooses_what_is_simulated(self):
        model, x = nn.Sequential(nn.Linear(32, 32), nn.Linear(32, 32)), torch.randn(4, 32)
        with torch.no_grad(), sptcsim.torch.simulated(layers=["1"], dtype="bf16") as layers:
            ours = model(x)
        self.assertEqual(list(layers), ["1"])
        self.assertFalse(torch.equal(ours, model(x)))

    def test_gradients_flow_through_it(self):
        layer, x = nn.Linear(32, 16), torch.randn(4, 32)
        with sptcsim.torch.simulated(dtype="f16"):
            layer(x).sum().backward()
        torch.testing.assert_close(layer.bias.grad, torch.full((16,), 4.0))
        torch.testing.assert_close(layer.weight.grad, x.sum(0).expand(16, 32), rtol=2e-3, atol=2e-3)

    def test_integers_are_exact(self):
        if not hasattr(torch, "_int_mm"):
            self.skipTest("this torch has no product of int8")
        a, b = (torch.randint(-128, 128, shape, dtype=torch.int8) for shape in ((32, 64), (64, 16)))
        with sptcsim.torch.simulated() as layers:
            ours = torch._int_mm(a, b)
        self.assertTrue(torch.equal(ours, (a.long() @ b.long()).int()))
        self.assertEqual(len(layers), 1)

    def test_scales_fill_the_range_of_the_type(self):
        layer, x = nn.Linear(64, 48), 1e3 * torch.randn(10, 64)
        layer.weight.data[5] = 0
        layer.weight.data[7] *= 1e-6
        weight, columns = layer.weight.detach(), x.t()
        rows = weight.abs().amax(1, keepdim=True)
        rows = torch.where(rows > 0, rows, torch.ones(())) / 127
        a, b = (weight / rows).round().to(torch.int8).numpy(), (columns / (x.abs().max() / 127)).round().to(torch.int8).numpy()
        for sparse in (False, True):
            with torch.no_grad(), sptcsim.torch.simulated(sparse=sparse, dtype="s8", scales=True) as layers:
                ours = layer(x)
            d = torch.from_numpy((sptcsim.prune(a) if sparse else a).astype("i4") @ b.astype("i4")).float()
            self.assertTrue(torch.equal(ours, (d * (rows * (x.abs().max() / 127))).t() + layer.bias), sparse)
            self.assertLess(0, layers["Linear"].arithmetic_error)
            self.assertLess(layers["Linear"].arithmetic_error, 0.03)
        if hasattr(torch, "float8_e4m3fn"):
            with torch.no_grad(), sptcsim.torch.simulated(arch="H100", dtype="e4m3", scales=True) as layers:
                layer(x)  # without scales, values above 448 are none
            self.assertLess(layers["Linear"].arithmetic_error, 0.06)

    def test_what_is_not_simulated_is_named(self):
        layer = nn.ConvTranspose2d(3, 4, 2)
        with torch.no_grad(), sptcsim.torch.simulated() as layers:
            ours = layer(torch.ones(1, 3, 4, 4))
        self.assertEqual(layers.not_simulated, {"ConvTranspose2d": "transposed convolution"})
        self.assertTrue(torch.equal(ours, layer(torch.ones(1, 3, 4, 4))))

    def test_results_are_a_table(self):
        with torch.no_grad(), sptcsim.torch.simulated(dtype="f16") as layers:
            nn.Linear(16, 16)(torch.randn(2, 16))
        self.assertIn("<td>Linear</td><td>16</td><td>2</td>", layers._repr_html_())
        with self.assertRaisesRegex(KeyError, "no layer 'fc'; there are Linear"):
            layers["fc"]

    def test_bad_arguments_are_refused_in_one_sentence(self):
        for arguments, sentence in (
                ({"arch": "a1000"}, "unknown architecture 'a1000'"), ({"model": "A100"}, "a model is a torch.nn.Module"),
                ({"dtype": "f17"}, "unknown type 'f17'"), ({"dtype": "s4"}, "dtype must be one of f16, .*not 's4'"),
                ({"sparse": "3:4"}, "sparse must be False, True or 1:2 or 2:4, not '3:4'"),
                ({"sparse": "2:4", "dtype": "tf32"}, "sparse must be False, True or 1:2, not '2:4'"),
                ({"scales": True}, "scales need a dtype among s8, e4m3, e5m2, not None"),
                ({"scales": True, "dtype": "f16"}, "scales need a dtype among s8, e4m3, e5m2, not 'f16'"),
                ({"layers": [1]}, "layers must be names or patterns")):
            with self.assertRaisesRegex(sptcsim.InputError, sentence):
                with sptcsim.torch.simulated(**arguments):
                    pass
        layer = nn.Linear(32, 16)
        with self.assertRaisesRegex(sptcsim.InputError, "\"1:2\" for tf32, not '2:4'"):
            with sptcsim.torch.simulated(sparse="2:4"):
                layer(torch.ones(1, 32))  # float32 is tf32


def kernel_of(layer, depth=None, sparse=False):
    """The layer on simulated instructions, which read the first `depth` elements of k."""
    def kernel(x):
        x = x.clone()
        if depth is not None:
            x[..., depth:] = 0
        with sptcsim.torch.simulated(arch="H100", sparse=sparse):
            return layer(x)
    return kernel


class Crosscheck(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def layers(self):
        """Layers, inputs and whether the weight obeys the pattern. float32 is cut to tf32, as the instructions cut it."""
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            for bias, sparse in ((True, False), (False, False), (True, True)):
                layer, x = nn.Linear(128, 64, bias=bias), torch.randn(2, 16, 128)
                with torch.no_grad():
                    if sparse:  # 1:2 obeys 2:4, too
                        layer.weight[:, 1::2] = 0
                    for tensor in (layer.weight, x):
                        tensor.copy_((tensor.view(torch.int32) & -0x2000).view(torch.float32))
                yield layer.to(dtype), x.to(dtype), sparse

    def test_a_right_kernel_gives_no_difference(self):
        for layer, x, sparse in self.layers():
            result = sptcsim.torch.crosscheck(kernel_of(layer, sparse=sparse), layer, x, arch="H100")
            self.assertTrue(result.bit_exact, (layer, x.dtype, sparse))
            self.assertEqual((result.m, result.n, result.k), (64, 32, 128))
            self.assertEqual("mma.sp" in result.instruction, sparse)

    def test_a_kernel_that_skips_the_end_of_k_is_named(self):
        for layer, x, sparse in self.layers():
            result = sptcsim.torch.crosscheck(kernel_of(layer, 112, sparse), layer, x, arch="H100")
            self.assertEqual([fit.cause for fit in result.fitting], ["missing-k"], (layer, x.dtype, sparse))
            self.assertIn("D lacks k 112 to 127", result.fitting[0].text)

    def test_results_may_be_wider_and_nearly_equal(self):
        layer, x = nn.Linear(64, 48, bias=False).half(), torch.randn(5, 64).half()
        d = torch.from_numpy(sptcsim.matmul(layer.weight.detach(), x.T.contiguous()).T.copy())
        self.assertEqual(sptcsim.torch.crosscheck(lambda _: d, layer, x, sparse=False).d_type, "f32")
        off = torch.nextafter(d, torch.tensor(torch.inf))
        self.assertFalse(sptcsim.torch.crosscheck(lambda _: off, layer, x).bit_exact)
        self.assertTrue(sptcsim.torch.crosscheck(lambda _: off, layer, x, tolerance="ulps:1").tolerance.is_right)

    def test_the_operand_that_is_wrong_is_named(self):
        layer, x = nn.Linear(64, 48).half(), torch.randn(5, 64).half()
        for arguments, sentence in (
                ((layer, layer, x.float()), r"^inputs must be a dense tensor \[.., 64\] of float16, not \[5, 64\] of float32"),
                ((layer, layer, x[:, :32]), r"^inputs .*not \[5, 32\] of float16"),
                ((layer, layer, x.to("meta")), r"^inputs .*\(strided, meta\)"), ((layer, layer, 3), "^inputs .*not int"),
                ((lambda x: x, layer, x), r"^what kernel returns must be a dense tensor \[5, 48\] of float16 or bfloat16 or "
                                          r"float32, not \[5, 64\]"),
                ((layer, nn.Linear(64, 48).double(), x), "^the weight of layer .*of float64"),
                ((layer, nn.ReLU(), x), "needed, not Linear and ReLU")):
            with self.assertRaisesRegex(sptcsim.InputError, sentence):
                sptcsim.torch.crosscheck(*arguments)
        with self.assertRaisesRegex(sptcsim.InputError, "not 2:4 sparse as f16 needs it: row 0, group 0"):
            sptcsim.torch.crosscheck(lambda x: x.new_zeros(5, 48), layer, x, sparse=True)


class Tour(unittest.TestCase):
    def test_the_examples_print_what_stands_there(self):
        folder = tempfile.TemporaryDirectory()  # an example writes a file
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        for match, printed in readme_test.examples(TOUR.read_text()):
            self.assertEqual(printed, match["printed"] or "", match["code"])


class Import(unittest.TestCase):
    def test_torch_is_imported_when_it_is_used(self):
        code = "import sys, sptcsim; assert 'torch' not in sys.modules; sptcsim.torch.record; assert 'torch' in sys.modules"
        subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    readme_test.update(TOUR) if "--update" in sys.argv else unittest.main()
