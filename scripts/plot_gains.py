#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated over measured gain of the pairs of `validate --rows`, a panel for each board, as an SVG. Needs nothing but Python.

    sptcsim validate configs/evidence/rtx4090.csv --arch rtx4090 --rows rtx4090.rows.csv
    scripts/plot_gains.py configs/evidence/gains.svg "RTX 4090"=rtx4090.rows.csv
"""
import argparse
import csv
import math
import sys

COLOURS = {"f16": "#2563eb", "bf16": "#0f766e", "e4m3": "#c2410c"}
LOW, HIGH, SIDE, GAP, LEFT, TOP = 0.4, 2.5, 240, 30, 50, 30


def gains(path):
    """(type, measured, simulated) of every shape that has a dense and a sparse row. s8 is left out: see the README."""
    rows = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            key = row["m"], row["n"], row["k"], row["dtype"]
            rows.setdefault(key, {})[row["sparsity"] == "dense"] = float(row["measured_us"]), float(row["simulated_us"])
    return [(key[3], *(dense / sparse for dense, sparse in zip(pair[True], pair[False])))
            for key, pair in rows.items() if len(pair) == 2 and key[3] in COLOURS]


def position(gain):
    return SIDE * math.log(min(max(gain, LOW), HIGH) / LOW) / math.log(HIGH / LOW)


def text(x, y, words, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>'


def panel(x, title, points):
    """A square with the measured gain to the right and the simulated one upwards."""
    bottom = TOP + SIDE
    parts = [f'<rect x="{x}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#9aa4ae"/>',
             text(x + SIDE / 2, TOP - 10, title, 'text-anchor="middle" font-weight="600"'),
             f'<path d="M{x} {bottom}L{x + SIDE} {TOP}" stroke="#5d6670"/>']
    for level in (0.5, 1, 1.5, 2):
        at = position(level)
        parts += [f'<path d="M{x + at:.1f} {TOP}V{bottom}M{x} {bottom - at:.1f}H{x + SIDE}" stroke="#d7dce1"/>',
                  text(x + at, bottom + 16, f"{level:g}", 'text-anchor="middle"')]
        if x == LEFT:
            parts.append(text(x - 6, bottom - at + 4, f"{level:g}", 'text-anchor="end"'))
    for kind, measured, simulated in points:
        parts.append(f'<circle cx="{x + position(measured):.1f}" cy="{bottom - position(simulated):.1f}" r="2.4" '
                     f'fill="{COLOURS[kind]}" fill-opacity=".65"/>')
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image", help="SVG to write")
    parser.add_argument("panels", nargs="+", metavar="TITLE=ROWS", help="of validate --rows")
    arguments = parser.parse_args()
    width, height = LEFT + len(arguments.panels) * (SIDE + GAP), TOP + SIDE + 62
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
             'font-family="system-ui, sans-serif" font-size="12" fill="#1c1f23">',
             f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for i, given in enumerate(arguments.panels):
        title, _, path = given.partition("=")
        points = gains(path)
        if not points:
            parser.error(f"{path} has no pairs")
        parts += panel(LEFT + i * (SIDE + GAP), f"{title}, {len(points)} pairs", points)
    bottom = TOP + SIDE
    parts.append(text(14, TOP + SIDE / 2, "simulated gain", f'text-anchor="middle" transform="rotate(-90 14 {TOP + SIDE / 2})"'))
    parts.append(text(LEFT + SIDE / 2, bottom + 34, "measured gain of 2:4", 'text-anchor="middle"'))
    for i, (kind, colour) in enumerate(COLOURS.items()):
        parts += [f'<circle cx="{LEFT + SIDE + GAP + i * 60}" cy="{bottom + 46}" r="4" fill="{colour}"/>',
                  text(LEFT + SIDE + GAP + 8 + i * 60, bottom + 50, kind)]
    with open(arguments.image, "w", encoding="utf-8") as file:
        file.write("\n".join(parts) + "\n</svg>\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
