#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains, prunes 2:4 and fine-tunes two small digit classifiers; writes traces/digits/.

Needs Debian's python3-sklearn (1.2.1) and numpy, nothing else:

    apt-get install python3-sklearn
    /usr/bin/python3 scripts/train_digits.py            # trains 10 seeds (a few minutes), writes seed 0
    /usr/bin/python3 scripts/train_digits.py --seeds 1  # only the seed that is written
    /usr/bin/python3 scripts/train_digits.py --verify   # only re-reads the files and recomputes accuracies

Data: the 1797 8x8 digits bundled with scikit-learn (the test set of Alpaydin and Kaynak, "Optical
Recognition of Handwritten Digits", UCI Machine Learning Repository, CC BY 4.0). The first 898 samples
train, the last 899 test: the order of the file is kept, as in scikit-learn's own example (shuffle=False).
That is harder than a shuffled split, which puts neighbouring, similar samples on both sides.

Workflow (Mishra et al., "Accelerating Sparse Deep Neural Networks", arXiv 2104.08378, section 4.1):
1. train dense; 2. prune once by magnitude, the two largest of every four along K; 3. repeat the training
with the same hyperparameters from the pruned weights, the mask fixed. Hyperparameters were chosen beforehand,
nothing was tuned or stopped on the test set.

K of a convolution is ordered (R, S, C), C innermost (KRSC weights, NHWC activations). A layer is pruned by
the rule of NVIDIA's ASP (apex/contrib/sparsity): rows % 8 == 0 and C / groups (or K) % 16 == 0.

The result is deterministic for one machine and BLAS; another BLAS may round differently in training. What the
simulator is compared with is therefore recomputed from the committed files, never from a new training.
"""
import os

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"  # one summation order: the same weights from every run

import argparse
import dataclasses
import json
import pathlib
import struct
import sys
import typing

import numpy as np

CLASSES = 10
PADDED_CLASSES = 16  # rows of the last weight: one m16 instruction; rows 10 to 15 are zero
TRAIN_SAMPLES = 898
HYPERPARAMETERS = {
    "optimizer": "AdamW",
    "learning_rate": 1e-3,
    "schedule": "cosine to 0, the same again for fine-tuning",
    "weight_decay": 1e-2,
    "batch": 32,
    "epochs_dense": 60,
    "epochs_fine_tuning": 60,
}


# --- networks ---------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Layer:
    """A fully connected layer, or a convolution where `conv` is given (per-sample geometry, without N)."""

    name: str
    rows: int  # of the weight as trained
    k: int
    relu: bool
    conv: typing.Optional[dict] = None

    @property
    def prunable(self):
        channels = self.conv["C"] if self.conv else self.k
        return padded_rows(self) % 8 == 0 and channels % 16 == 0


def padded_rows(layer):
    return PADDED_CLASSES if layer.rows == CLASSES else layer.rows


def conv_layer(name, channels, extent, filters, stride):
    """3x3, padding 1, ReLU, on a square image."""
    out = (extent + 2 - 3) // stride + 1
    geometry = {
        "C": channels, "H": extent, "W": extent, "K": filters, "R": 3, "S": 3,
        "stride": [stride, stride], "pad": [1, 1], "dilation": [1, 1], "groups": 1, "P": out, "Q": out,
    }  # fmt: skip
    return Layer(name, filters, 9 * channels, True, geometry)


NETWORKS = {
    "mlp": {
        "title": "MLP 64-128-128-10 on scikit-learn digits, 899 test samples",
        "layers": [
            Layer("fc1", 128, 64, True),
            Layer("fc2", 128, 128, True),
            Layer("fc3", CLASSES, 128, False),
        ],
    },
    "cnn": {
        "title": "CNN conv16-conv32-fc10 on scikit-learn digits, 899 test samples",
        "layers": [
            conv_layer("conv1", channels=1, extent=8, filters=16, stride=1),
            conv_layer("conv2", channels=16, extent=8, filters=32, stride=2),
            Layer("fc", CLASSES, 4 * 4 * 32, False),
        ],
    },
}


def im2col(x, conv):
    """[n, h, w, c] -> [n * p * q, r * s * c]."""
    n = x.shape[0]
    padded = np.pad(x, ((0, 0), (conv["pad"][0],) * 2, (conv["pad"][1],) * 2, (0, 0)))
    taps = [padded[:, tap_rows(conv, r), tap_columns(conv, s), :]
            for r in range(conv["R"]) for s in range(conv["S"])]  # fmt: skip
    return np.stack(taps, axis=3).reshape(n * conv["P"] * conv["Q"], -1)


def col2im(columns, n, conv):
    """Adjoint of im2col."""
    h, w = conv["H"] + 2 * conv["pad"][0], conv["W"] + 2 * conv["pad"][1]
    padded = np.zeros((n, h, w, conv["C"]))
    taps = columns.reshape(n, conv["P"], conv["Q"], conv["R"] * conv["S"], conv["C"])
    for r in range(conv["R"]):
        for s in range(conv["S"]):
            padded[:, tap_rows(conv, r), tap_columns(conv, s), :] += taps[:, :, :, r * conv["S"] + s]
    return padded[:, conv["pad"][0] : conv["pad"][0] + conv["H"],
                  conv["pad"][1] : conv["pad"][1] + conv["W"]]  # fmt: skip


def tap_rows(conv, r):
    first, step = r * conv["dilation"][0], conv["stride"][0]
    return slice(first, first + step * (conv["P"] - 1) + 1, step)


def tap_columns(conv, s):
    first, step = s * conv["dilation"][1], conv["stride"][1]
    return slice(first, first + step * (conv["Q"] - 1) + 1, step)


def layer_input(x, conv):
    """The activations as B of the GEMM, transposed: [columns of B, k]."""
    return im2col(x, conv) if conv else x.reshape(x.shape[0], -1)


def forward(layers, parameters, x):
    """Returns the class scores and, for the backward pass, each layer's input, as it is and as GEMM operand."""
    inputs = []
    for layer, (weight, bias) in zip(layers, parameters):
        n = x.shape[0]
        columns = layer_input(x, layer.conv)
        inputs.append((x, columns))
        x = columns @ weight.T + bias
        x = np.maximum(x, 0) if layer.relu else x
        if layer.conv:
            x = x.reshape(n, layer.conv["P"], layer.conv["Q"], layer.conv["K"])
    return x, inputs


# --- training ---------------------------------------------------------------------------------------------


def gradients(layers, parameters, x, labels):
    """Of the mean softmax cross-entropy."""
    scores, inputs = forward(layers, parameters, x)
    probability = np.exp(scores - scores.max(axis=1, keepdims=True))
    probability /= probability.sum(axis=1, keepdims=True)
    probability[np.arange(len(labels)), labels] -= 1
    delta = probability / len(labels)
    result = [None] * len(layers)
    for i in reversed(range(len(layers))):
        layer_x, columns = inputs[i]
        result[i] = (delta.T @ columns, delta.sum(axis=0))
        if i == 0:
            break
        delta = delta @ parameters[i][0]
        if layers[i].conv:
            delta = col2im(delta, len(labels), layers[i].conv)
        # The input of this layer is the ReLU output of the one before: zero there means no gradient.
        delta = (delta.reshape(layer_x.shape) * (layer_x > 0)).reshape(-1, layers[i - 1].rows)
    return result


def train(layers, parameters, masks, x, labels, epochs, generator):
    """AdamW with the decay on weights only. Masked weights stay exactly zero."""
    flat = [array.copy() for pair in parameters for array in pair]
    mean = [np.zeros_like(array) for array in flat]
    square = [np.zeros_like(array) for array in flat]
    batch = HYPERPARAMETERS["batch"]
    steps_per_epoch = -(-len(labels) // batch)
    step = 0
    for _ in range(epochs):
        order = generator.permutation(len(labels))
        for start in range(0, len(labels), batch):
            chosen = order[start : start + batch]
            pairs = list(zip(flat[0::2], flat[1::2]))
            step += 1
            rate = HYPERPARAMETERS["learning_rate"] * 0.5
            rate *= 1 + np.cos(np.pi * (step - 1) / (epochs * steps_per_epoch))
            slopes = [a for pair in gradients(layers, pairs, x[chosen], labels[chosen]) for a in pair]
            for i, slope in enumerate(slopes):
                mean[i] += 0.1 * (slope - mean[i])
                square[i] += 0.001 * (slope * slope - square[i])
                update = mean[i] / (1 - 0.9**step) / (np.sqrt(square[i] / (1 - 0.999**step)) + 1e-8)
                decay = HYPERPARAMETERS["weight_decay"] * flat[i] if i % 2 == 0 else 0
                flat[i] -= rate * (update + decay)
                if i % 2 == 0:
                    flat[i] *= masks[i // 2]
    return list(zip(flat[0::2], flat[1::2]))


def initial_parameters(layers, generator):
    """He initialisation."""
    return [(generator.standard_normal((layer.rows, layer.k)) * np.sqrt(2 / layer.k), np.zeros(layer.rows))
            for layer in layers]  # fmt: skip


def magnitude_mask_2_4(weight):
    """The two largest of every four along K; of equal magnitudes the lower index stays."""
    groups = np.abs(weight).reshape(weight.shape[0], -1, 4)
    order = np.argsort(-groups, axis=2, kind="stable")
    mask = np.zeros(groups.shape)
    np.put_along_axis(mask, order[:, :, :2], 1.0, axis=2)
    return mask.reshape(weight.shape)


def as_stored(parameters):
    """Weights rounded to f16 and biases to f32, as the files hold them."""
    return [(weight.astype(np.float16).astype(np.float64), bias.astype(np.float32).astype(np.float64))
            for weight, bias in parameters]  # fmt: skip


def accuracy(scores, labels):
    return float(np.mean(np.argmax(scores[:, :CLASSES], axis=1) == labels))


def run_workflow(layers, seed, data):
    """One seed. Returns the dense and the 2:4 parameters and the three accuracies on the test set."""
    generator = np.random.default_rng(seed)
    x_train, y_train, x_test, y_test = data
    ones = [np.ones((layer.rows, layer.k)) for layer in layers]
    dense = train(layers, initial_parameters(layers, generator), ones, x_train, y_train,
                  HYPERPARAMETERS["epochs_dense"], generator)  # fmt: skip
    dense = as_stored(dense)
    # The mask comes from the weights as stored, so that anybody can repeat the pruning from the files.
    masks = [magnitude_mask_2_4(weight) if layer.prunable else np.ones_like(weight)
             for layer, (weight, _) in zip(layers, dense)]  # fmt: skip
    pruned = [(weight * mask, bias) for (weight, bias), mask in zip(dense, masks)]
    sparse = as_stored(train(layers, pruned, masks, x_train, y_train,
                             HYPERPARAMETERS["epochs_fine_tuning"], generator))  # fmt: skip
    figures = {
        name: accuracy(forward(layers, parameters, x_test)[0], y_test)
        for name, parameters in (("dense", dense), ("pruned", pruned), ("fine_tuned", sparse))
    }
    return dense, sparse, figures


# --- files ------------------------------------------------------------------------------------------------

DTYPES = {"F16": np.dtype("<f2"), "F32": np.dtype("<f4"), "U8": np.dtype("u1")}


def write_safetensors(path, tensors):
    """Format: huggingface.co/docs/safetensors. u64 header length, JSON header, data."""
    header, data = {}, b""
    for name, array in tensors.items():
        dtype = next(key for key, value in DTYPES.items() if value == array.dtype)
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}  # fmt: skip
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    raw = path.read_bytes()
    (length,) = struct.unpack_from("<Q", raw)
    tensors = {}
    for name, entry in json.loads(raw[8 : 8 + length]).items():
        begin, end = entry["data_offsets"]
        array = np.frombuffer(raw[8 + length + begin : 8 + length + end], DTYPES[entry["dtype"]])
        tensors[name] = array.reshape(entry["shape"])
    return tensors


def with_padded_rows(layer, array):
    return np.pad(array, [(0, padded_rows(layer) - layer.rows)] + [(0, 0)] * (array.ndim - 1))


def network_tensors(layers, dense, sparse, x_test, y_test):
    tensors = {}
    for suffix, parameters in (("", dense), ("_2_4", sparse)):
        for layer, (weight, bias) in zip(layers, parameters):
            padded = with_padded_rows(layer, weight)
            tensors[f"{layer.name}.weight{suffix}"] = padded.astype(DTYPES["F16"])
            tensors[f"{layer.name}.bias{suffix}"] = with_padded_rows(layer, bias).astype(DTYPES["F32"])
    tensors["x_test"] = (x_test if layers[0].conv else x_test.reshape(len(y_test), -1)).astype(DTYPES["F16"])
    tensors["y_test"] = y_test.astype(DTYPES["U8"])
    return tensors


def operation(layer, samples):
    conv = layer.conv
    entry = {
        "name": layer.name,
        "kind": "conv2d" if conv else "gemm",
        "m": padded_rows(layer),
        "n": samples * (conv["P"] * conv["Q"] if conv else 1),
        "k": layer.k,
        "batch": 1,
        "count": 1,
        "a_role": "weight",
        "b_role": "im2col(activation)" if conv else "activation",
        "weight_operand": "A",
        "prunable_2_4": layer.prunable,
    }
    if conv:
        entry["conv"] = {"N": samples, **conv, "layout": "NHWC", "weight_layout": "KRSC"}
    if not layer.prunable:
        entry["why_not_prunable"] = (
            f"ASP rule K%8==0 and (C/groups)%16==0 fails (K={layer.rows}, C/g={conv['C']})"
        )
    entry["tensors"] = {
        "weight": f"{layer.name}.weight",
        "bias": f"{layer.name}.bias",
        "sparse_weight": f"{layer.name}.weight_2_4",
        "sparse_bias": f"{layer.name}.bias_2_4",
    }
    if layer.relu:
        entry["activation"] = "relu"
    return entry


def workload(name, samples, seed, figures, statistics):
    title, layers = NETWORKS[name]["title"], NETWORKS[name]["layers"]
    operations = [operation(layer, samples) for layer in layers]
    macs = [op["m"] * op["n"] * op["k"] for op in operations]
    prunable = sum(count for count, op in zip(macs, operations) if op["prunable_2_4"])
    notes = [
        "dense, pruned, fine-tuned: float64 arithmetic on weights rounded to f16 and biases rounded to f32.",
        "The test set has 899 samples: one sample is 0.11 %. Differences between dense and fine-tuned 2:4 of "
        "the size of the standard deviation over seeds are within noise.",
        "Rows 10 to 15 of the last layer are zero padding; only the first 10 scores count.",
        "tensors.sparse_weight is given for every layer: fine-tuning also changes layers that run dense.",
    ]
    checks = [
        {"what": f"float64 test accuracy, {label}", "computed": figures[label],
         "source": f"scripts/train_digits.py, seed {seed}"}
        for label in figures]  # fmt: skip
    if statistics:
        count, values = statistics
        checks += [
            {"what": f"float64 test accuracy, {label}, {moment} over {count} seeds", "computed": value,
             "source": "scripts/train_digits.py"}
            for label in figures for moment, value in values[label].items()]  # fmt: skip
    return {
        "schema": "gemm-workload/0.1",
        "name": title,
        "phase": "inference-forward",
        "default_dtype": "f16",
        "convention": "D[M,N] = A[M,K] * B[K,N], weight-as-A: M = output features (rows of the weight), "
        "K = reduction (2:4 groups run along K), N = samples / output pixels. Conv K is ordered (R,S,C) with C "
        "innermost (KRSC/NHWC implicit GEMM). Activations pass between layers as NHWC; the fully connected "
        "layer after a convolution reads them flattened in that order.",
        "hyperparameters": {"seed": seed, **HYPERPARAMETERS},
        "sources": [
            {"title": "Alpaydin, Kaynak: Optical Recognition of Handwritten Digits, UCI Machine Learning "
             "Repository (CC BY 4.0), as bundled with scikit-learn 1.2.1 (sklearn.datasets.load_digits)",
             "url": "https://archive.ics.uci.edu/dataset/80"},
            {"title": "Mishra et al.: Accelerating Sparse Deep Neural Networks (workflow)",
             "url": "https://arxiv.org/abs/2104.08378"},
        ],
        "notes": notes,
        "totals": {
            "ops": len(operations),
            "launches": len(operations),
            "macs": sum(macs),
            "flops": 2 * sum(macs),
            "gemm_weight_elements": sum(op["m"] * op["k"] for op in operations),
            "prunable_macs": prunable,
            "prunable_mac_fraction": round(prunable / sum(macs), 5),
        },
        "checks": checks,
        "network": {"file": f"{name}.safetensors", "input": "x_test", "labels": "y_test", "classes": CLASSES},
        "ops": operations,
    }  # fmt: skip


# --- checking what was written ----------------------------------------------------------------------------


def verify(path):
    """Reads a workload and its tensors back and recomputes the accuracies in float64, from the files alone."""
    description = json.loads(path.read_text())
    network = description["network"]
    tensors = read_safetensors(path.parent / network["file"])
    labels = tensors[network["labels"]]
    recorded = {check["what"]: check["computed"] for check in description["checks"]}
    for label, key in (("dense", ""), ("pruned", ""), ("fine_tuned", "sparse_")):
        x = tensors[network["input"]].astype(np.float64)
        for op in description["ops"]:
            names, conv = op["tensors"], op.get("conv")
            weight = tensors[names[key + "weight"]].astype(np.float64)
            if op["prunable_2_4"] and label == "pruned":
                weight = weight * magnitude_mask_2_4(weight)
            if op["prunable_2_4"] and label == "fine_tuned":
                mask = magnitude_mask_2_4(tensors[names["weight"]])
                assert not np.any(weight[mask == 0]), f"{op['name']}: not the mask of the dense weights"
            columns = layer_input(x, conv)
            assert columns.shape == (op["n"], op["k"]) and weight.shape == (op["m"], op["k"]), op["name"]
            x = columns @ weight.T + tensors[names[key + "bias"]]
            x = np.maximum(x, 0) if op.get("activation") == "relu" else x
            if conv:
                x = x.reshape(conv["N"], conv["P"], conv["Q"], conv["K"])
        found, expected = accuracy(x[:, : network["classes"]], labels), recorded[f"float64 test accuracy, {label}"]
        if found != expected:
            sys.exit(f"{path}: accuracy {label} is {found}, recorded is {expected}")
        print(f"{path.name}: {label:10} {found:.4f} ({round(found * len(labels))} of {len(labels)}), as recorded")


def load_data():
    from sklearn.datasets import load_digits  # here: --verify needs numpy only

    digits = load_digits()
    # Pixels are 0 to 16: sixteenths are exact in f16.
    x = (digits.images / 16.0).reshape(-1, 8, 8, 1)
    y = digits.target
    return x[:TRAIN_SAMPLES], y[:TRAIN_SAMPLES], x[TRAIN_SAMPLES:], y[TRAIN_SAMPLES:]


def train_and_write(name, arguments, data):
    layers = NETWORKS[name]["layers"]
    x_test, y_test = data[2], data[3]
    runs = []
    for offset in range(arguments.seeds):
        dense, sparse, figures = run_workflow(layers, arguments.seed + offset, data)
        text = "  ".join(f"{label} {value:.4f}" for label, value in figures.items())
        print(f"{name} seed {arguments.seed + offset}: {text}", flush=True)
        runs.append(figures)
        if offset == 0:
            tensors = network_tensors(layers, dense, sparse, x_test, y_test)
    statistics = None
    if arguments.seeds > 1:
        values = {label: np.array([figures[label] for figures in runs]) for label in runs[0]}
        moments = {label: {"mean": float(v.mean()), "standard deviation": float(v.std(ddof=1))}
                   for label, v in values.items()}  # fmt: skip
        statistics = (arguments.seeds, moments)
        for label, m in moments.items():
            print(f"{name} {label:10} {m['mean']:.4f} +- {m['standard deviation']:.4f} over {arguments.seeds} seeds")
    arguments.out.mkdir(parents=True, exist_ok=True)
    write_safetensors(arguments.out / f"{name}.safetensors", tensors)
    description = workload(name, len(y_test), arguments.seed, runs[0], statistics)
    (arguments.out / f"{name}.json").write_text(json.dumps(description, indent=1) + "\n")


def main():
    default_out = pathlib.Path(__file__).resolve().parent.parent / "traces" / "digits"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="seed of the network that is written (default 0)")
    parser.add_argument("--seeds", type=int, default=10, help="how many seeds to train for mean and deviation")
    parser.add_argument("--out", type=pathlib.Path, default=default_out, help="default: traces/digits")
    parser.add_argument("--verify", action="store_true", help="only check the files that are there")
    arguments = parser.parse_args()
    if arguments.seeds < 1 or arguments.seed < 0:
        parser.error("--seeds must be at least 1 and --seed at least 0")
    if not arguments.verify:
        data = load_data()
        for name in NETWORKS:
            train_and_write(name, arguments, data)
    for name in NETWORKS:
        verify(arguments.out / f"{name}.json")


if __name__ == "__main__":
    main()
