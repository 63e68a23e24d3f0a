#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes pytorch_metadata.json: what PyTorch stores for 2:4 matrices, by its own code.

    pytorch_metadata.py LABEL=FILE ...

FILE: torch/sparse/_semi_structured_conversions.py of a wheel of torch, or torchao/sparsity/marlin/utils.py of torchao
0.7.0, which has the order of rows that Sparse-Marlin kernels read.

The file is executed as it is; torch must be installed. The matrices are a formula (dense_matrix), so the tests make
them anew.
"""
import importlib.util
import json
import pathlib
import sys

import numpy as np


def dense_matrix(dtype, m, k, missing=0):
    """Two non-zeros in every four (float32: one in every two), at places that a formula scatters.

    missing: one in so many groups lacks its first non-zero, one its second, one both; 0: none.
    """
    group = 2 if np.dtype(dtype) == np.float32 else 4
    dense = np.zeros((m, k), dtype)
    for row in range(m):
        for g in range(k // group):
            seed = row * 7 + g * 5 + row * g
            first, second = ([seed % 2] * 2 if group == 2 else
                             [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)][seed % 6])
            lacks = (row * 3 + g) % missing if missing else 3
            dense[row, g * group + first] = 0 if lacks in (0, 2) else 1 + seed % 50
            dense[row, g * group + second] = 0 if lacks in (1, 2) else 1 + seed % 50
    return dense


# Element type, m, k, and `missing` of dense_matrix().
SHAPES = [("float16", 32, 64, 0), ("float16", 96, 128, 0), ("float16", 128, 64, 0), ("int8", 32, 128, 0),
          ("int8", 64, 256, 0), ("float32", 64, 64, 0), ("float16", 64, 64, 5), ("int8", 64, 128, 5)]


def main(sources):
    import torch
    rows = []
    for label, path in (source.split("=", 1) for source in sources):
        spec = importlib.util.spec_from_file_location("conversions", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        convert = getattr(module, "sparse_semi_structured_from_dense_cutlass",
                          getattr(module, "_sparse_semi_structured_from_dense", None))
        for dtype, m, k, missing in SHAPES:
            try:
                values, metadata = convert(torch.tensor(dense_matrix(dtype, m, k, missing)))
            except (RuntimeError, IndexError) as error:
                print(f"{label}: {dtype} {m} x {k}: {error}", file=sys.stderr)
                continue
            bits = np.asarray(metadata)
            row = {"torch": label, "dtype": dtype, "m": m, "k": k, "missing": missing}
            if missing:  # which zeros are stored is the encoder's choice
                row["values"] = np.asarray(values).astype(int).ravel().tolist()
            rows.append({**row, "metadata": bits.view(f"u{bits.itemsize}").ravel().tolist()})
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text(f'{{"source": "torch and torchao, from their wheels on PyPI (BSD-3-Clause)",\n'
                    f'"matrices": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
