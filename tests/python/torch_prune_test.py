# SPDX-License-Identifier: Apache-2.0
"""Pruning in PyTorch: what is kept against NumPy and against `sptcsim prune` on files, masks through training, files."""
import copy
import pathlib
import sys
import tempfile
import unittest
import warnings

import numpy as np
import sptcsim
import sptcsim.torch
import torch
from model_pruning_test import read_safetensors, two_of_four, write_safetensors
from torch import nn

EXAMPLES = pathlib.Path(__file__).parents[2] / "sim" / "python" / "examples"
sys.path.insert(0, str(EXAMPLES))
import prune_and_recover


def network(width=32):
    return nn.Sequential(nn.Linear(width, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 48), nn.GELU(), nn.Linear(48, 16))


def inputs(k=32, samples=200):
    """Correlated ones, as those of a network are."""
    return torch.randn(samples, k) @ (torch.eye(k) + 0.3 * torch.randn(k, k)) * torch.randn(k).exp()


def kept(weight):
    """Non-zeros of each group of four along the last axis."""
    return (weight.detach().reshape(-1, 4) != 0).sum(1)


class Seeded(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Prune(Seeded):
    def test_magnitude_keeps_the_two_largest_of_four(self):
        for layer in (nn.Linear(32, 16), nn.Linear(32, 16, dtype=torch.bfloat16)):
            before = layer.weight.detach().clone()
            pruned = sptcsim.torch.prune_(layer)
            np.testing.assert_array_equal(layer.weight.detach().float(), two_of_four(before.float().numpy()))
            self.assertTrue(torch.equal(pruned.masks["weight"], layer.weight.detach() != 0))
            energy = (layer.weight.double().square().sum() / before.double().square().sum()).item()
            self.assertAlmostEqual(pruned["Linear"].energy_kept, energy, places=6)

    def test_filters_are_pruned_along_their_channels(self):
        layer = nn.Conv2d(16, 8, 3)
        before = layer.weight.detach().permute(0, 2, 3, 1).contiguous().numpy()
        sptcsim.torch.prune_(layer)
        np.testing.assert_array_equal(layer.weight.detach().permute(0, 2, 3, 1), two_of_four(before))

    def test_calibrated_methods_are_those_of_the_command_line(self):
        """Sums over batches stand for the inputs themselves, of which files hold every row."""
        x = inputs()
        for method in ("wanda", "sparsegpt"):
            layer = nn.Linear(32, 24, bias=False)
            write_safetensors(self.folder / "w.safetensors", {"weight": layer.weight.detach().numpy()})
            write_safetensors(self.folder / "x.safetensors", {"weight": x.numpy()})
            report = sptcsim.prune_model(self.folder / "w.safetensors", self.folder / "o.safetensors", criterion=method,
                                         activations=self.folder / "x.safetensors")
            expected = read_safetensors(self.folder / "o.safetensors")["weight"]
            pruned = sptcsim.torch.prune_(layer, calibration=x.split(64), method=method)
            ours = layer.weight.detach().numpy()
            np.testing.assert_array_equal(ours != 0, expected != 0, method)
            np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-4 * abs(expected).max())
            if method == "sparsegpt":
                self.assertAlmostEqual(pruned["Linear"].output_error, report.layers[0].output_error, places=4)

    def test_filters_are_calibrated_by_the_patches_that_they_see(self):
        """A convolution and the Linear of its patches are one layer."""
        convolution = nn.Conv2d(8, 16, 2, stride=2, bias=False)
        x = torch.randn(10, 8, 6, 6)
        patches = nn.functional.unfold(x, 2, stride=2).transpose(1, 2).reshape(-1, 8, 4).transpose(1, 2).reshape(-1, 32)
        linear = nn.Linear(32, 16, bias=False)
        linear.weight.data = convolution.weight.detach().permute(0, 2, 3, 1).reshape(16, 32).clone()
        for layer, batch in ((convolution, x), (linear, patches)):
            sptcsim.torch.prune_(layer, calibration=batch, method="sparsegpt")
        torch.testing.assert_close(convolution.weight.detach().permute(0, 2, 3, 1).reshape(16, 32), linear.weight.detach(),
                                   rtol=0, atol=1e-4)

    def test_groups_of_a_convolution_see_their_own_channels(self):
        layer = nn.Conv1d(16, 8, 1, groups=2, bias=False)
        halves = [nn.Conv1d(8, 4, 1, bias=False) for _ in range(2)]
        x = torch.randn(50, 16, 3)
        for half, weight, part in zip(halves, layer.weight.detach().split(4), x.split(8, 1)):
            half.weight.data = weight.clone()
            sptcsim.torch.prune_(half, calibration=part, method="sparsegpt")
        sptcsim.torch.prune_(layer, calibration=x, method="sparsegpt")
        torch.testing.assert_close(layer.weight, torch.cat([half.weight for half in halves]), rtol=0, atol=1e-5)

    def test_attention_is_calibrated_where_no_module_is_called(self):
        model = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        pruned = sptcsim.torch.prune_(model, calibration=[torch.randn(4, 7, 32)], method="wanda")
        self.assertEqual(list(pruned), ["self_attn.in_proj", "self_attn.out_proj", "linear1", "linear2"])
        for name in pruned.masks:
            self.assertEqual(kept(model.get_parameter(name)).tolist(), [2] * (model.get_parameter(name).numel() // 4), name)

    def test_passes_of_one_layer_see_the_layers_before_pruned(self):
        x, first, second = inputs(), nn.Linear(32, 64, bias=False), nn.Linear(64, 16, bias=False)
        model = nn.Sequential(first, second)
        together, apart = copy.deepcopy(model), copy.deepcopy(model)
        sptcsim.torch.prune_(together, calibration=x, method="sparsegpt")
        sptcsim.torch.prune_(apart, calibration=iter([x]), method="sparsegpt", memory=0)
        self.assertTrue(torch.equal(together[0].weight, apart[0].weight))
        sptcsim.torch.prune_(second, calibration=apart[0](x).detach(), method="sparsegpt")
        self.assertTrue(torch.equal(apart[1].weight, second.weight))
        self.assertFalse(torch.equal(together[1].weight, second.weight))

    def test_names_types_and_extents_leave_layers_dense(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(16, 32)
                self.tied, self.odd, self.fc, self.lm_head = (nn.Linear(32, 16), nn.Linear(30, 16), nn.Linear(32, 16),
                                                              nn.Linear(16, 16))
                self.tied.weight = self.embed.weight

        rows = {row["name"]: row.get("skipped", "") for row in sptcsim.torch.prune_(Model()).rows()}
        self.assertEqual(rows, {"tied": "it shares its tensor with another module", "odd": "k = 30 is no multiple of 4",
                                "fc": "", "lm_head": "head by its name (layers prunes it)"})
        rows = sptcsim.torch.prune_(Model(), layers=["lm_*", "fc"], skip="fc").rows()
        self.assertEqual([row["name"] for row in rows if "skipped" not in row], ["lm_head"])

    def test_what_no_input_reaches_stays(self):
        model = network()
        model.spare = nn.Linear(32, 16)
        forward = lambda model, batch: model[:6](batch)
        before = model.spare.weight.detach().clone()
        pruned = sptcsim.torch.prune_(model, calibration=inputs(), method="wanda", forward=forward)
        self.assertEqual(pruned["spare"].skipped, "no input of the calibration reaches it")
        self.assertTrue(torch.equal(model.spare.weight, before))

    def test_training_flags_come_back(self):
        model = network()
        model[1].eval()
        sptcsim.torch.prune_(model, calibration=inputs(), method="wanda")
        self.assertEqual([module.training for module in model], [True, False, True, True, True, True])

    def test_bad_arguments_are_refused_in_one_sentence(self):
        model, x = network(), inputs()
        broken = x.clone()
        broken[3, 5] = float("nan")
        for arguments, sentence in (
                ({"method": "random"}, "method must be magnitude, wanda or sparsegpt, not 'random'"),
                ({"method": "wanda"}, "method 'wanda' needs calibration"), ({"permute": "auto"}, "permute needs calibration"),
                ({"method": "wanda", "calibration": []}, "calibration has no batch"),
                ({"method": "wanda", "calibration": 3}, "calibration must be an iterable of batches, not int"),
                ({"method": "wanda", "calibration": broken}, "layer '0' has an input that is not finite"),
                ({"skip": "fc9"}, "skip: the model has no layer 'fc9'; there are 0, 3, 5"), ({"pattern": "5"}, "pattern"),
                ({"layers": [3]}, "layers must be names or patterns"),
                ({"skip": "*"}, "no layer that can be pruned to 2:4: '0': skip"),
                ({"permute": "auto", "pattern": "1:2", "calibration": x}, "permute is for the pattern 2:4, not 1:2"),
                ({"permute": "a=b", "calibration": x}, "permute 'a=b': the model has no tensor 'a'"),
                ({"permute": "0.weight=3.bias", "calibration": x}, "'3.bias' has no axis 1"),
                ({"permute": "0.weight=5.weight", "calibration": x}, "its channels are 48 and 64"),
                ({"permute": "best", "calibration": x}, "not 'best'")):
            with self.assertRaisesRegex(sptcsim.InputError, sentence):
                sptcsim.torch.prune_(copy.deepcopy(model), **arguments)
        with self.assertRaisesRegex(sptcsim.InputError, "a model is a torch.nn.Module, not str"):
            sptcsim.torch.prune_("model")


class Permute(Seeded):
    def hidden(self, rows, k):
        """A weight that is 2:4 in an order of its channels that nobody knows, and two of four elsewhere."""
        weight = torch.zeros(rows, k)
        weight[:, torch.randperm(k)] = torch.from_numpy(two_of_four(torch.randn(rows, k).numpy()))
        return nn.Parameter(weight)

    def test_an_order_that_hides_the_pattern_is_found_and_the_function_stays(self):
        model = network().eval()
        model[1].running_mean = torch.randn(64)
        model[1].running_var = torch.rand(64) + 0.5
        model[3].weight = self.hidden(48, 64)
        x, before = inputs(), copy.deepcopy(model)
        pruned = sptcsim.torch.prune_(model, calibration=x, permute="auto", layers="3")
        self.assertGreater(pruned["3"].permuted_magnitude[1], pruned["3"].permuted_magnitude[0] + 0.05)
        self.assertEqual(pruned["3"].magnitude_kept, pruned["3"].permuted_magnitude[1])
        order = [int((before[0].weight == row).all(1).nonzero()) for row in model[0].weight]
        self.assertEqual(sorted(order), list(range(64)))
        self.assertNotEqual(order, list(range(64)))
        for mine, theirs in ((model[0].bias, before[0].bias), (model[1].weight, before[1].weight),
                             (model[1].running_mean, before[1].running_mean), (model[1].running_var, before[1].running_var)):
            self.assertTrue(torch.equal(mine, theirs[order]))
        reordered = torch.from_numpy(two_of_four(before[3].weight.detach()[:, order].contiguous().numpy()))
        self.assertTrue(torch.equal(model[3].weight, reordered))

    def test_a_rule_is_one_of_the_command_line(self):
        first, second = network().eval(), network().eval()
        second.load_state_dict(first.state_dict())
        rules = ["3.weight,3.bias=5.weight"]
        sptcsim.torch.prune_(first, calibration=inputs(), permute=rules)
        sptcsim.torch.export(second, self.folder / "in.safetensors")
        sptcsim.prune_model(self.folder / "in.safetensors", self.folder / "out.safetensors", layers="^[035].weight$", permute=rules)
        sptcsim.torch.load_(second, self.folder / "out.safetensors")
        for name, tensor in first.state_dict().items():
            self.assertTrue(torch.equal(tensor, second.state_dict()[name]), name)

    def test_a_rule_that_changes_the_function_is_undone(self):
        model = network().eval()
        before = copy.deepcopy(model.state_dict())
        with self.assertRaisesRegex(sptcsim.InputError, "change what the model computes; the model is as it was"):
            sptcsim.torch.prune_(model, calibration=inputs(), permute="0.weight=3.weight")  # without bias and norm
        for name, tensor in model.state_dict().items():
            self.assertTrue(torch.equal(tensor, before[name]), name)

    def test_residual_sums_gates_and_filters_share_an_order(self):
        class Gated(nn.Module):
            def __init__(self):
                super().__init__()
                self.gate, self.up, self.down = nn.Linear(32, 64), nn.Linear(32, 64), nn.Linear(64, 32)

            def forward(self, x):
                return self.down(nn.functional.silu(self.gate(x)) * self.up(x))

        class Residual(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.c, self.d = (nn.Conv2d(4, 32, 1), nn.Conv2d(32, 32, 3, padding=1),
                                                  nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.Conv2d(32, 16, 1))

            def forward(self, x):
                x = torch.relu(self.a(x))
                return self.d(self.c(x + self.b(x)))

        for model, x, moved in ((Gated(), torch.randn(20, 32), {"down"}),
                                (Residual(), torch.randn(2, 4, 6, 6), {"b", "d"})):
            sptcsim.torch.prune_(copy.deepcopy(model), x, permute="auto")
            pruned = sptcsim.torch.prune_(model, x, permute="auto")
            self.assertEqual({row["name"] for row in pruned.rows() if "permuted_magnitude" in row}, moved)
            self.assertEqual(pruned.notes, [])

    def test_models_that_cannot_be_traced_are_taken_in_parts(self):
        class Untraceable(nn.Module):
            def __init__(self):
                super().__init__()
                self.mlp = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16))

            def forward(self, x):
                return self.mlp(x) if x.sum() > -1e9 else x

        pruned = sptcsim.torch.prune_(Untraceable(), inputs(), permute="auto")
        self.assertEqual([row["name"] for row in pruned.rows() if "permuted_magnitude" in row], ["mlp.2"])
        pruned = sptcsim.torch.prune_(nn.Linear(32, 16), inputs(), permute="auto")
        self.assertEqual(pruned.notes, ["permute: no channels are found whose order could change"])


class Train(Seeded):
    def test_masks_last_through_steps_of_any_optimizer(self):
        for kind, options in ((torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.1}),
                              (torch.optim.AdamW, {"weight_decay": 0.1})):
            model = network()
            pruned = sptcsim.torch.prune_(model)
            optimizer = kind(model.parameters(), lr=0.01, **options)
            before = model[0].weight.detach().clone()
            with sptcsim.torch.Masked(model, optimizer) as masked:
                self.assertEqual(masked.masks.keys(), pruned.masks.keys())
                for name, mask in pruned.masks.items():
                    self.assertTrue(torch.equal(mask, masked.masks[name]))
                for _ in range(5):
                    optimizer.zero_grad()
                    model(inputs()).square().mean().backward()
                    for name, mask in pruned.masks.items():
                        self.assertEqual(model.get_parameter(name).grad[~mask].count_nonzero(), 0)
                    optimizer.step()
                    for name, mask in pruned.masks.items():
                        self.assertEqual(model.get_parameter(name)[~mask].count_nonzero(), 0)
            self.assertFalse(torch.equal(model[0].weight, before))

    def test_a_step_that_moves_zeros_is_undone_until_the_end(self):
        class Noise(torch.optim.SGD):
            def step(self, closure=None):
                for parameter in self.param_groups[0]["params"]:
                    parameter.data.add_(1)

        model = network()
        pruned = sptcsim.torch.prune_(model)
        optimizer = Noise(model.parameters(), lr=0.1)
        masked = sptcsim.torch.Masked(model, optimizer)
        optimizer.step()
        masked.remove()
        gone = ~pruned.masks["0.weight"]
        self.assertEqual(model[0].weight[gone].count_nonzero(), 0)
        optimizer.step()
        self.assertEqual(model[0].weight[gone].unique().tolist(), [1])

    def test_dense_layers_and_those_of_zeros_are_not_masked(self):
        model = network()
        nn.init.zeros_(model[5].weight)
        sptcsim.torch.prune_(model, layers="3")
        self.assertEqual(list(sptcsim.torch.Masked(model).masks), ["3.weight"])
        with self.assertRaisesRegex(sptcsim.InputError, "no layer obeys 2:4; prune_"):
            sptcsim.torch.Masked(model, layers="0")


class Files(Seeded):
    def test_files_are_read_by_the_command_line_and_again(self):
        model = network().half()
        model[1].float()
        sptcsim.torch.prune_(model)
        for target in (self.folder / "model.safetensors", self.folder / "directory"):
            sptcsim.torch.export(model, target)
            again = network().half()
            sptcsim.torch.load_(again, target)
            for name, tensor in model.state_dict().items():
                self.assertTrue(torch.equal(tensor.to(again.state_dict()[name].dtype), again.state_dict()[name]), name)
            compressed = self.folder / "compressed.safetensors"
            sptcsim.convert_model(target, compressed, "canonical", layers="^[035].weight$")
            unpacked = sptcsim.torch.load_(network().half(), compressed)
            self.assertTrue(torch.equal(unpacked[3].weight, model[3].weight))

    def test_other_models_and_damaged_files_are_refused(self):
        path = self.folder / "m.safetensors"
        sptcsim.torch.export(network(), path)
        raw = path.read_bytes()
        with self.assertRaisesRegex(sptcsim.InputError, r"'0.weight' is \[64, 32\], not \[64, 16\]"):
            sptcsim.torch.load_(network(16), path)
        with self.assertRaisesRegex(sptcsim.InputError, "has no tensor 'weight'"):
            sptcsim.torch.load_(nn.Linear(2, 2), path)
        for damaged, sentence in ((raw[:100], "no .safetensors file"), (b"", "no .safetensors file"),
                                  (raw[:-1], "do not go together"), (raw.replace(b'"F32"', b'"F99"'), "do not go together"),
                                  (raw[:8] + b"x" + raw[9:], "no .safetensors file")):
            path.write_bytes(damaged)
            with self.assertRaisesRegex(sptcsim.InputError, sentence):
                sptcsim.torch.load_(network(), path)
        for target in (self.folder / "model.bin", self.folder / "none" / "m.safetensors"):
            with self.assertRaises(sptcsim.InputError):
                sptcsim.torch.export(network(), target)
        with self.assertRaises(sptcsim.InputError):
            sptcsim.torch.load_(network(), self.folder / "absent")


class Sparse(Seeded):
    def test_compressed_layers_compute_what_the_pruned_ones_do(self):
        for dtype in (torch.float16, torch.bfloat16):
            model = nn.Sequential(nn.Linear(64, 32), nn.Linear(32, 16)).to(dtype)
            sptcsim.torch.prune_(model)
            sparse = sptcsim.torch.to_sparse(copy.deepcopy(model))
            self.assertEqual([type(layer) for layer in sparse], [sptcsim.torch.CompressedLinear] * 2)
            self.assertTrue(torch.equal(sparse[0].dense_weight(), model[0].weight))
            self.assertEqual(sparse[0].values.shape, (32, 32))
            self.assertEqual(sparse[0].metadata.numel() * sparse[0].metadata.element_size(), 32 * 64 // 8)
            again = sptcsim.torch.to_sparse(copy.deepcopy(model))
            again.load_state_dict(sparse.state_dict())
            x = torch.randn(3, 5, 64).to(dtype)
            if dtype == torch.bfloat16 or torch.__version__ >= "2.2":  # the first that multiplies halves on a CPU
                self.assertTrue(torch.equal(again(x), model(x)))

    def test_an_architecture_gives_the_bits_of_its_instructions(self):
        layer = nn.Linear(64, 32).half()
        sptcsim.torch.prune_(layer)
        sparse = sptcsim.torch.to_sparse(layer, arch="A100")
        x = torch.randn(2, 3, 64).half()
        d = sptcsim.matmul(layer.weight.detach().numpy(), x.reshape(6, 64).numpy().T, arch="A100", sparse=True)
        expected = (torch.from_numpy(d.T.copy()).reshape(2, 3, 32) + layer.bias.detach()).half()
        self.assertTrue(torch.equal(sparse(x).detach(), expected))
        self.assertIn("bits of a100-sxm4-80gb", repr(sparse))

    def test_layers_that_stay_dense_are_named(self):
        model = nn.Sequential(nn.Linear(64, 32), nn.Linear(32, 24), nn.Linear(24, 16)).half()
        sptcsim.torch.prune_(model)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            sptcsim.torch.to_sparse(model)
        self.assertEqual([str(warning.message) for warning in caught], ["layers stay dense: 2: k = 24 is no multiple of 16"])
        single = nn.Linear(32, 16)
        with self.assertRaisesRegex(sptcsim.InputError, "no layer can be compressed: none obeys 2:4"):
            sptcsim.torch.to_sparse(single)
        sptcsim.torch.prune_(single)
        with self.assertRaisesRegex(sptcsim.InputError, "Linear: float32 runs as tf32, whose pattern is 1:2"):
            sptcsim.torch.to_sparse(single)

    @unittest.skipUnless(torch.cuda.is_available() and hasattr(torch.sparse, "to_sparse_semi_structured"), "no GPU with CUDA")
    def test_a_gpu_runs_torchs_own_sparse_tensors(self):
        model = nn.Sequential(nn.Linear(128, 64), nn.Linear(64, 64)).half().cuda()
        sptcsim.torch.prune_(model)
        x = torch.randn(64, 128).half().cuda()
        with torch.no_grad():
            dense = model(x)
            sparse = sptcsim.torch.to_sparse(model)(x)
        self.assertIn("SparseSemiStructured", type(model[0].weight.data).__name__)
        torch.testing.assert_close(sparse, dense, rtol=1e-2, atol=1e-2)


class Example(unittest.TestCase):
    """sim/python/examples/prune_and_recover.py, the language model trained for fewer steps."""

    def setUp(self):
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        self.addCleanup(torch.set_num_threads, threads)

    def test_digits_are_recovered(self):
        (dense, _, recovered, loaded), model, pruned = prune_and_recover.recover_digits("magnitude")
        self.assertGreater(dense, 0.8)
        self.assertGreater(recovered, dense - 0.03)
        self.assertEqual(loaded, recovered)
        for name in pruned.masks:
            self.assertLessEqual(kept(model.get_parameter(name)).max(), 2)

    def test_a_language_model_is_recovered(self):
        (dense, one_shot, recovered, loaded), model, pruned = prune_and_recover.recover_text("magnitude", 100)
        self.assertLess(dense, 4)  # of 7 bits
        self.assertGreater(one_shot, dense)
        self.assertLess(recovered, one_shot)
        self.assertEqual(loaded, recovered)
        self.assertEqual(pruned["lm_head"].skipped, "head by its name (layers prunes it)")
        self.assertEqual(len(pruned.masks), 8)
        self.assertIn("permuted_magnitude", pruned["blocks.1.mlp.2"])


if __name__ == "__main__":
    unittest.main()
