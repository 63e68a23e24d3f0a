#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each criterion of `sptcsim prune` costs the digits network of traces/, with and without channel permutation.

    PYTHONPATH=build/release/python scripts/prune_digits.py

The first 400 test samples calibrate, the other 499 are classified, in float64. Prints the figures that sim/prune/README.md
cites.
"""
import json
import pathlib
import struct
import tempfile

import numpy as np

import sptcsim

MODEL = pathlib.Path(__file__).parents[1] / "traces" / "digits" / "mlp.safetensors"
CALIBRATION = 400
RULES = ["fc1.weight,fc1.bias=fc2.weight", "fc2.weight,fc2.bias=fc3.weight"]
TYPES = {"F16": "f2", "F32": "f4", "U8": "u1"}


def read(path):
    raw = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(raw[8 + size:][slice(*entry["data_offsets"])], TYPES[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items()}


def scores(tensors, x):
    """The ten scores of each sample, and the input of each layer."""
    inputs = []
    for layer in (1, 2, 3):
        inputs.append(x)
        x = x @ tensors[f"fc{layer}.weight"].astype("f8").T + tensors[f"fc{layer}.bias"]
        x = np.maximum(x, 0) if layer < 3 else x
    return x[:, :10], inputs


def main():
    tensors = read(MODEL)
    x, labels = tensors["x_test"].astype("f8"), tensors["y_test"]
    dense, inputs = scores(tensors, x)

    def right(result):
        return np.mean(result.argmax(1)[CALIBRATION:] == labels[CALIBRATION:])

    print(f"dense: {right(dense):.1%}")
    with tempfile.TemporaryDirectory() as folder:
        calibration, out = pathlib.Path(folder) / "x.npz", pathlib.Path(folder) / "o.safetensors"
        np.savez(calibration, **{f"fc{i + 1}": a[:CALIBRATION].astype("f4") for i, a in enumerate(inputs)})
        print("| criterion | channels permuted | error of fc1, fc2, fc3 | digits right |\n|---|---|---|---:|")
        for criterion in ("magnitude", "wanda", "sparsegpt"):
            for rules in ([], RULES):
                report = sptcsim.prune_model(MODEL, out, layers="^fc[123].weight$", criterion=criterion, activations=calibration,
                                             permute=rules)
                errors = ", ".join(f"{layer.output_error:.3f}" for layer in report.layers)
                print(f"| {criterion} | {'yes' if rules else 'no'} | {errors} | {right(scores(read(out), x)[0]):.1%} |")


if __name__ == "__main__":
    main()
