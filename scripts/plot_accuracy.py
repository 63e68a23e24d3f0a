#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of configs/ACCURACY.md into configs/evidence, in closed form; they follow a light or dark colour scheme.

    scripts/plot_accuracy.py                  # all, two minutes
    scripts/plot_accuracy.py --only left_out

gains.svg: the pairs of configs/evidence, paired as `sptcsim validate` does. networks.svg: whole networks of tests/fidelity/data.
left_out.svg: the table of boards left out, which scripts/evidence_distance.py writes.
"""
import argparse
import math
import pathlib
import tempfile

import evidence_distance
import network_accuracy
from studies import figure

ROOT = pathlib.Path(__file__).resolve().parent.parent
OFF = 1.25  # or its inverse: the dashed lines
NETWORKS = {"BERT, TensorRT": "network_tensorrt_bert", "BERT-Base, A100": "network_published_bert",
            "vLLM servers": "network_vllm", "Llama 3, DeepSeek": "llm_published"}


class Scatter:
    """A square of dots, measured to the right and simulated upwards on the same logarithmic axis; a panel of figure.write()."""

    def __init__(self, title, noun, what, clouds, ticks, low, high):
        self.title = f"{title}: {sum(map(len, clouds.values()))} {noun}"
        self.what, self.ticks, self.low, self.high = what, ticks, low, high
        self.lines, self.bars = [], list(clouds.items())

    def draw(self, left, top, width, height, series):
        def part(value):
            return math.log(min(max(value, self.low), self.high) / self.low) / math.log(self.high / self.low)

        def line(kind, factor):
            first, last = max(self.low, self.low / factor), min(self.high, self.high / factor)
            return (f'<path class="{kind}" d="M{left + width * part(first):.1f} {top + height - height * part(first * factor):.1f}'
                    f'L{left + width * part(last):.1f} {top + height - height * part(last * factor):.1f}"/>')

        out = [f'<text class="title" x="{left}" y="{top - 24}">{figure.escape(self.title)}</text>',
               f'<text class="note" x="{left}" y="{top - 9}">simulated {self.what}; dashed: {100 * OFF - 100:.0f} % off</text>',
               f'<text class="note" x="{left + width / 2}" y="{top + height + 34}" text-anchor="middle">measured {self.what}</text>']
        for tick in self.ticks:
            x, y = left + width * part(tick), top + height - height * part(tick)
            out += [f'<path class="grid" d="M{left} {y:.1f}h{width}M{x:.1f} {top}v{height}"/>',
                    f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>',
                    f'<text x="{x:.1f}" y="{top + height + 16}" text-anchor="middle">{tick:g}</text>']
        out += [f'<path class="axis" d="M{left} {top}v{height}h{width}"/>', line("axis", 1), line("ref", OFF), line("ref", 1 / OFF)]
        for name, dots in self.bars:
            path = "".join(f"M{left + width * part(measured):.1f} {top + height - height * part(simulated):.1f}h0"
                           for measured, simulated in dots)
            out.append(f'<path class="s{series[name]}" style="stroke-width:4;stroke-linecap:round;opacity:.55" d="{path}"/>')
        return out


def gains(program):
    panels = []
    for board, rows in sorted(evidence_distance.measured_rows().items()):
        clouds, times = {}, program.times(rows, "--arch", board)
        for dtype in ("f16", "bf16", "s8", "e4m3"):
            mine = [(row, time) for row, time in zip(rows, times) if row["dtype"] == dtype]
            kept = [row for row, _ in mine]
            clouds[dtype] = list(zip(evidence_distance.gains(kept, [float(row["time_us_median"]) for row in kept]),
                                     evidence_distance.gains(kept, [time for _, time in mine])))
        if any(clouds.values()):
            panels.append(Scatter(board, "pairs", "gain of 2:4", clouds, (0.25, 0.5, 1, 2, 4), 0.18, 7))
    return panels, 3


def networks(program):
    options = argparse.Namespace(sptcsim=program.path, arch=None, engine="tensorrt", fidelity="analytic")
    panels = []
    for title, name in NETWORKS.items():
        clouds = {"dense": [], "2:4": []}
        rows = network_accuracy.with_simulation(options, network_accuracy.read_rows(evidence_distance.DATA / f"{name}.csv"))
        for row in rows:
            clouds[row["sparsity"]].append((float(row["avg_ms"]), row["simulated_ms"]))
        times = [time for dots in clouds.values() for dot in dots for time in dot]
        low, high = min(times) / 1.2, max(times) * 1.2
        panels.append(Scatter(title, "rows", "ms", clouds, [10.0 ** e for e in range(-1, 6) if low <= 10.0 ** e <= high], low, high))
    return panels, 4


def left_out(_):
    table = (ROOT / "configs/ACCURACY.md").read_text(encoding="utf-8").split("<!-- left-out -->")[1].split("<!--")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.strip().splitlines()[2:]]
    panels = []
    for title, column in (("Times", 3), ("Gains", 4)):
        known = [(row[0].removesuffix("-80gb"), [float(error) for error in row[column].split(",")]) for row in rows if row[column] != "-"]
        bars = [(name, [(board, errors[i]) for board, errors in known])
                for i, name in enumerate(("left out", "fitted", "constant"))]
        panels.append(figure.Panel(title, "mean error, %", [board for board, _ in known], bars=bars, y_from=0))
    return panels, 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/sptcsim"))
    parser.add_argument("--only", choices=("gains", "networks", "left_out"))
    arguments = parser.parse_args()
    for draw in (gains, networks, left_out):
        if arguments.only in (None, draw.__name__):
            with tempfile.TemporaryDirectory() as folder:
                panels, columns = draw(evidence_distance.Program(arguments.program, folder))
            size = {"width": 210, "height": 210, "bottom": 44} if draw is not left_out else {"width": 380, "height": 180, "bottom": 80}
            figure.write(evidence_distance.EVIDENCE / f"{draw.__name__}.svg", panels, columns=columns, **size)


if __name__ == "__main__":
    main()
