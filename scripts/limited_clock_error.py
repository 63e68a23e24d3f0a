#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measured GEMM times against simulated ones under the clock that a power limit allows, beside the sustained clock.

The board of a profile is not the board of another reading: its one factor, the power it takes, is chosen on the rows that
do not match --held-out (default internlm), by the mean absolute error, and judged on those that do. So is whether the limit
holds over each launch or over what surrounds it. The sustained clock has two numbers fitted to the same rows.

What surrounded a launch follows from how the profile was taken (github.com/microsoft/vidur, MIT licence,
vidur/profiling/mlp: mlp_impl.py, mlp_wrapper.py). A profile of N tokens runs one layer over and over: embedding, normalisation,
attn_pre_proj, rotary embedding, random numbers for the output of attention, attn_post_proj, residual, normalisation,
mlp_up_proj, SiLU and product, mlp_down_proj, residual. The weights, those of the normalisations included, are uniform within
1e-3, so that the product after mlp_up_proj is of the order of 1e-10 and zero in f16: mlp_down_proj multiplies with zeros
(--operands shows it with numpy). The eight kernels between the GEMMs take as long as the GEMMs of at most 8 tokens, which also
only wait for DRAM: a time per kernel and a bandwidth, by least squares over those rows of the fitted models.

    scripts/limited_clock_error.py gemm_f16.csv --arch a100-sxm4-80gb     # header m, n, k, time_us_median, source
"""
import argparse
import csv
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BETWEEN_GEMMS = 8  # kernels of a layer that are no GEMMs
STREAMING_TOKENS = 8


def times(arguments, workload, *options):
    command = [arguments.program, "run", str(workload), "--arch", arguments.arch, "--fidelity", "analytic", "--variants",
               "dense", "--check", "none", "--quiet", "--format", "csv", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return [float(row["time_us"]) for row in csv.DictReader(done.stdout.splitlines())]


def errors(simulated, rows, held_out):
    """(mean absolute error, bias) in percent of the rows that were held out, or of the others."""
    chosen = [100 * (time / float(row["time_us_median"]) - 1) for time, row in zip(simulated, rows)
              if held_out(row)]
    return statistics.mean(map(abs, chosen)), statistics.mean(chosen)


def extents(row):
    return int(row["m"]), int(row["n"]), int(row["k"])


def streaming(rows):
    """(us, bytes per us) of kernels that wait for DRAM: least squares of relative errors of t = us + bytes / rate."""
    points = []
    for row in rows:
        m, n, k = extents(row)
        if n <= STREAMING_TOKENS:
            time = float(row["time_us_median"])
            points.append((1 / time, 2 * (m * k + n * k + m * n) / time))
    if len(points) < 2:
        print(f"limited_clock_error.py: fewer than two rows with n of at most {STREAMING_TOKENS} beside the held-out "
                 "ones: give the whole profile, fitted and held-out models", file=sys.stderr)
        sys.exit(2)
    aa, ab, bb = (sum(p[i] * p[j] for p in points) for i, j in ((0, 0), (0, 1), (1, 1)))
    a, b = sum(p[0] for p in points), sum(p[1] for p in points)
    determinant = aa * bb - ab * ab
    return (a * bb - b * ab) / determinant, determinant / (aa * b - ab * a)


def layers(rows):
    """The layer of every row, (model, share of the layer on this GPU, tokens), and the GEMMs of each layer by name."""
    whole = {}
    for row in rows:
        m, _, k = extents(row)
        extent = k if row["source"].endswith(("mlp_down_proj", "attn_post_proj")) else m
        whole[row["source"]] = max(whole.get(row["source"], 0), extent)
    of_rows, gemms = [], {}
    for row in rows:
        m, n, k = extents(row)
        model, name = row["source"].split("/")
        extent = k if name in ("mlp_down_proj", "attn_post_proj") else m
        layer = (model, whole[row["source"]] // extent, n)
        of_rows.append(layer)
        gemms.setdefault(layer, {})[name] = (m, k)
    return of_rows, gemms


def between(gemms, tokens):
    """Bytes that the kernels between the GEMMs of a layer move: f16, every input read and every output written once."""
    hidden = gemms["attn_pre_proj"][1]
    queries, activations = gemms["attn_post_proj"][1], gemms["mlp_down_proj"][1]
    keys_and_values = gemms["attn_pre_proj"][0] - queries
    embedding = normalisations = 2 * hidden
    rotary, random = 2 * (queries + keys_and_values / 2), queries
    residuals, silu = 2 * 3 * hidden, 3 * activations
    return 2 * tokens * (embedding + 2 * normalisations + rotary + random + residuals + silu)


def write_workload(file, rows, fitted):
    """A workload of the rows: by name those that multiply with zeros, by group their layers, and what lies between."""
    us, rate = streaming(fitted)
    of_rows, gemms = layers(rows)
    lines = ["m,n,k,dtype,b,group,rest_ns,rest_bytes"]
    for row, layer in zip(rows, of_rows):
        m, n, k = extents(row)
        model, shards, tokens = layer
        if len(gemms[layer]) != 4:
            sys.exit(f"{model} with {tokens} tokens: a layer without all four GEMMs")
        moved = between(gemms[layer], tokens)
        ends = row["source"].endswith("mlp_down_proj")
        rest = f"{1e3 * (BETWEEN_GEMMS * us + moved / rate):.0f},{moved:.0f}" if ends else ","
        lines.append(f"{m},{n},{k},f16,{'zeros' if ends else ''},{model} / {shards} x {tokens},{rest}")
    file.write_text("\n".join(lines) + "\n")
    print(f"between the GEMMs: {us:.1f} us a kernel, {rate * 1e-3:.0f} GB/s")


def show_operands():
    import numpy
    random = numpy.random.default_rng(0)
    half, hidden, tokens = numpy.float16, 4096, 64
    weight = lambda *shape: random.uniform(-1e-3, 1e-3, shape).astype(half)
    wide = lambda values: values.astype(numpy.float32)

    def normalised(x, gain):
        scale = numpy.sqrt(numpy.mean(wide(x) ** 2, axis=1, keepdims=True) + 1e-6)
        return (wide(x) / scale).astype(half) * gain

    attention = (wide(random.standard_normal((tokens, hidden)).astype(half)) @ wide(weight(hidden, hidden))).astype(half)
    x = normalised(weight(tokens, hidden) + attention, weight(hidden))
    gate, up = ((wide(x) @ wide(weight(hidden, 1024))).astype(half) for _ in range(2))
    product = (wide(gate) / (1 + numpy.exp(-wide(gate)))).astype(half) * up
    print(f"root mean square: into mlp_up_proj {wide(x).std():.1e}, out of it {wide(up).std():.1e}; "
          f"into mlp_down_proj: {100 * (product != 0).mean():.1f} % are not zero")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", help="CSV")
    parser.add_argument("--program", default=str(ROOT / "build/release/sptcsim"))
    parser.add_argument("--arch", default="a100-sxm4-80gb")
    parser.add_argument("--held-out", default="internlm", help="part of the source of rows that choose nothing")
    parser.add_argument("--limits", default="300,310,320,330,340,350,360,370,380,390,400", help="watts to try")
    parser.add_argument("--operands", action="store_true", help="show what the profile multiplied (needs python3-numpy)")
    arguments = parser.parse_args()
    if arguments.operands:
        show_operands()

    with open(arguments.measured) as file:
        rows = list(csv.DictReader(file))
    judged = lambda row: arguments.held_out in row.get("source", "")
    chosen = lambda row: not judged(row)
    limits = [int(limit) for limit in arguments.limits.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        profile, random = pathlib.Path(folder) / "profile.csv", pathlib.Path(folder) / "random.csv"
        write_workload(profile, rows, list(filter(chosen, rows)))
        random.write_text("\n".join(["m,n,k,dtype", *("{},{},{},f16".format(*extents(row)) for row in rows)]) + "\n")
        ways = {"limited over each launch, N(0,1)": (random, "launch"),
                "limited over each launch, operands of the profile": (profile, "launch"),
                "limited over the layer, operands of the profile": (profile, "group")}
        print(f"{'clock':<52} {'W':>4} {'chosen on: error %':>19} {'bias':>7} {'held out: error %':>19} {'bias':>7}")

        def show(name, watts, simulated):
            print(f"{name:<52} {watts:>4} {'{:19.2f} {:+7.2f}'.format(*errors(simulated, rows, chosen))}"
                  f" {'{:19.2f} {:+7.2f}'.format(*errors(simulated, rows, judged))}", flush=True)

        for clock in ("boost", "sustained"):
            show(clock, "", times(arguments, profile, "--clock", clock))
        best = {}
        for name, (workload, over) in ways.items():
            tried = {}
            for limit in limits:
                simulated = times(arguments, workload, "--clock", "limited", "--limit-over", over, "--power-limit", str(limit))
                tried[limit] = (errors(simulated, rows, chosen)[0], simulated)
            limit = min(tried, key=lambda watts: tried[watts][0])
            best[name] = tried[limit][0]
            show(name, limit, tried[limit][1])
            if limit in (limits[0], limits[-1]):
                print("  the best limit is at the end of those tried")
    print(f"chosen: {min(best, key=best.get)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
