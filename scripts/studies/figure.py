# SPDX-License-Identifier: Apache-2.0
"""Line and bar charts as SVG that follow the reader's light or dark colour scheme. No dependencies."""
from xml.sax.saxutils import escape

# Colour-blind safe (Okabe and Ito, adapted to be legible on white and on near-black).
LIGHT = ["#0072b2", "#d55e00", "#007a5a", "#b0457a", "#8a6d00", "#56606b"]
DARK = ["#5ab4f0", "#ff9c5a", "#3fd0a4", "#ee9ac6", "#e3c044", "#b4bec8"]
DASHES = ["", "6 3", "2 3", "8 3 2 3", "10 4", "1 3"]


def style():
    rules = [".bg{fill:#fff}", "text{fill:#1b1f24;font:12px system-ui,sans-serif}", ".title{font-size:13px;font-weight:600}",
             ".note{font-size:11px;fill:#56606b}", ".axis{stroke:#8b949e;fill:none}", ".grid{stroke:#d8dee4;fill:none}",
             ".ref{stroke:#56606b;stroke-dasharray:3 3;fill:none}"]
    rules += [f".s{i}{{stroke:{c};fill:none;stroke-width:2}}.f{i}{{fill:{c}}}" for i, c in enumerate(LIGHT)]
    dark = [".bg{fill:#0d1117}", "text{fill:#e6edf3}", ".note{fill:#9aa5b1}", ".axis{stroke:#6e7681}", ".grid{stroke:#2a313a}",
            ".ref{stroke:#9aa5b1}"]
    dark += [f".s{i}{{stroke:{c}}}.f{i}{{fill:{c}}}" for i, c in enumerate(DARK)]
    return f"<style>{''.join(rules)}@media (prefers-color-scheme:dark){{{''.join(dark)}}}</style>"


def ticks(low, high, count=5):
    """Round numbers that cover [low, high]."""
    import math
    step = 10 ** math.floor(math.log10((high - low) / count))
    for factor in (1, 2, 2.5, 5, 10):
        if (high - low) / (step * factor) <= count + 0.5:
            step *= factor
            break
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)]


def number(value):
    return f"{value:.10g}"


class Panel:
    """One chart: `lines` are (name, [(x, y)]), x a label or a number; `bars` likewise. `x` fixes the order of the labels."""

    def __init__(self, title, y_title, x, lines=(), bars=(), x_title="", y_from=None, y_to=None, reference=None, names=None):
        self.title, self.y_title, self.x, self.x_title = title, y_title, list(x), x_title
        self.lines, self.bars, self.reference = list(lines), list(bars), reference
        self.names = names or []
        values = [y for _, points in self.lines + self.bars for _, y in points if y is not None]
        if reference is not None:
            values.append(reference)
        low = y_from if y_from is not None else min(values)
        high = y_to if y_to is not None else max(values)
        self.ticks = ticks(low, high if high > low else low + 1)

    def place(self, i, width):
        if not self.bars and len(self.x) > 1:
            return 16 + i * (width - 32) / (len(self.x) - 1)
        return (i + 0.5) * width / len(self.x)

    def draw(self, left, top, width, height, series):
        low, high = self.ticks[0], self.ticks[-1]
        y_of = lambda y: top + height - (y - low) / (high - low) * height
        out = [f'<text class="title" x="{left}" y="{top - 24}">{escape(self.title)}</text>',
               f'<text class="note" x="{left}" y="{top - 9}">{escape(self.y_title)}</text>']
        for tick in self.ticks:
            y = y_of(tick)
            out.append(f'<path class="grid" d="M{left} {y:.1f}h{width}"/>')
            out.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{number(tick)}</text>')
        out.append(f'<path class="axis" d="M{left} {top}v{height}h{width}"/>')
        if self.reference is not None:
            out.append(f'<path class="ref" d="M{left} {y_of(self.reference):.1f}h{width}"/>')
        slanted = max((len(str(label)) for label in self.x), default=0) * 6.5 > width / max(1, len(self.x))
        for i, label in enumerate(self.x):
            x, y = left + self.place(i, width), top + height + 16
            turn = f' transform="rotate(-35 {x:.1f} {y})" text-anchor="end"' if slanted else ' text-anchor="middle"'
            out.append(f'<text x="{x:.1f}" y="{y}"{turn}>{escape(str(label))}</text>')
        if self.x_title:
            below = 34 if not slanted else 74
            out.append(f'<text class="note" x="{left + width / 2}" y="{top + height + below}" text-anchor="middle">'
                       f"{escape(self.x_title)}</text>")
        groups = len(self.bars)
        for at, (name, points) in enumerate(self.bars):
            size = width / len(self.x) * 0.8 / groups
            for x_value, y in points:
                if y is None:
                    continue
                i = self.x.index(x_value)
                x = left + self.place(i, width) - size * groups / 2 + at * size
                zero = y_of(max(low, 0))
                out.append(f'<rect class="f{series[name]}" x="{x:.1f}" y="{min(y_of(y), zero):.1f}" width="{max(size - 1, 1):.1f}" '
                           f'height="{abs(zero - y_of(y)):.1f}"><title>{escape(f"{name}, {x_value}: {y:.4g}")}</title></rect>')
        for name, points in self.lines:
            k = series[name]
            known = [(left + self.place(self.x.index(x), width), y_of(y), x, y) for x, y in points if y is not None]
            path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y, _, _ in known)
            out.append(f'<path class="s{k}" d="{path}" stroke-dasharray="{DASHES[k]}"/>')
            out += [f'<circle class="f{k}" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{escape(f"{name}, {label}: {value:.4g}")}'
                    "</title></circle>" for x, y, label, value in known]
        return out


def write(path, panels, columns=2, width=420, height=210, title="", bottom=64):
    """Panels side by side with one legend."""
    names = []
    for panel in panels:
        names += [name for name, _ in panel.lines + panel.bars if name not in names]
    series = {name: i % len(LIGHT) for i, name in enumerate(names)}
    left, top, right = 52, 52, 14
    cell_w, cell_h = left + width + right, top + height + bottom
    rows = -(-len(panels) // columns)
    head, legend = (26 if title else 0), 26
    total_w, total_h = cell_w * min(columns, len(panels)), head + legend + rows * cell_h
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total_w} {total_h}" width="{total_w}" height="{total_h}" '
           f'role="img" aria-label="{escape(title or panels[0].title)}">', style(),
           f'<rect class="bg" width="{total_w}" height="{total_h}"/>']
    if title:
        out.append(f'<text class="title" x="14" y="20">{escape(title)}</text>')
    x = 14
    lines = any(panel.lines for panel in panels)
    for name in names:
        k = series[name]
        y = head + 16
        mark = (f'<path class="s{k}" d="M{x} {y - 4}h22" stroke-dasharray="{DASHES[k]}"/>' if lines else
                f'<rect class="f{k}" x="{x}" y="{y - 10}" width="14" height="11"/>')
        out.append(mark + f'<text x="{x + 28}" y="{y}">{escape(name)}</text>')
        x += 44 + 7 * len(name)
    for i, panel in enumerate(panels):
        out += panel.draw(left + i % columns * cell_w, head + legend + top + i // columns * cell_h, width, height, series)
    out.append("</svg>")
    path.write_text("\n".join(out) + "\n", encoding="utf-8")
