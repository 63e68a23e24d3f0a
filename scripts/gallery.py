#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes one HTML page of each kind into a folder and, where Chromium is found, a PNG of each in light, dark and print.

    scripts/gallery.py build/gallery                    # all pages, one or two minutes
    scripts/gallery.py build/gallery --pages run show

Chromium has no colour scheme or paper to choose from outside, so copies of a page have their @media rules rewritten.
"""
import argparse
import json
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
QUICK = ["--fidelity", "analytic", "--check", "none"]
DECODE = ["traces/llama3_8b.json", "--dim", "batch=16,seq=1,context=2048", *QUICK]
# Page to the arguments that write it.
PAGES = {
    "run": ["run", *DECODE, "--arch", "H100", "--engine", "compiled", "--dtype", "e4m3"],
    "compare": ["compare", "traces/bert_large.json", "--arch", "A100,H100,B200", "--dim", "batch=1,8,64", *QUICK],
    "decision": ["compare", *DECODE, "--arch", "A100,H100,B200", "--types", "bf16,e4m3"],
    "show": ["show", "mma.sp.m16n8k32.f32.f16.f16.f32"],
    "sweep": ["sweep", "report", "{folder}/sweep.sqlite", "--format", "markdown"],
    "plan": ["plan", "{folder}/model.safetensors", "--workload", "{folder}/model.json", "--dtype", "f16"],
    "prune": ["prune", "{folder}/model.safetensors", "--out", "{folder}/pruned.safetensors"],
    "validate": ["validate", "configs/evidence/rtx4090.csv", "--arch", "rtx4090", "--fidelity", "analytic", "--quiet"],
    "crosscheck": ["crosscheck", "--kernel", "{folder}/operands.npz", "--launch", "gemm", "--d", "{folder}/d.npz"],
}
FIRST = {"sweep": ["sweep", "configs/sweeps/metadata_port.json", "--db", "{folder}/sweep.sqlite", "--quiet"],
         "crosscheck": ["gemm", "256", "192", "512", "--quiet", "--save-operands", "{folder}/operands.npz", "--save-d", "{folder}/right.npz"]}
# Medium to what the end of a page does for it. A4 with margins of 10 mm is 718 pixels wide, or 1047.
LIGHT, PORTRAIT, LANDSCAPE = 1280, 718, 1047
MEDIA = {"light": "", "dark": "replaceAll(/@media screen and .prefers-color-scheme: dark./g, '@media all');",
         "print": f"""document.documentElement.style.width = "{LIGHT}px";
dispatchEvent(new Event("resize"));
dispatchEvent(new Event("beforeprint"));
replaceAll(/@media screen[^{{]*/g, "@media not all ");
replaceAll(/@media print/g, "@media all");
document.documentElement.style.width = "";"""}
END = """<script>
function replaceAll(old, now) {
  for (const style of document.querySelectorAll("style")) style.textContent = style.textContent.replace(old, now);
}
MEDIUM
if (frameElement) frameElement.dataset.height = document.documentElement.scrollHeight;
</script>
</body>"""


def write_model(folder):
    """A network of eight layers, the later ones with more outliers: weights in f16 that repeat one tile, and its workload."""
    dice, header, data, ops = random.Random(0), {}, b"", []
    for i in range(8):
        m, k = (4096, 1024) if i % 2 else (1024, 4096)
        tile = struct.pack("<1021e", *(x * abs(x) ** (i / 8) for x in (dice.gauss(0, 1) for _ in range(1021))))
        weights = (tile * (2 * m * k // len(tile) + 1))[:2 * m * k]
        header[f"layer{i}"] = {"dtype": "F16", "shape": [m, k], "data_offsets": [len(data), len(data) + len(weights)]}
        data += weights
        ops.append({"name": f"layer{i}", "m": m, "n": 2048, "k": k})
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (folder / "model.json").write_text(json.dumps({"schema": "gemm-workload/0.1", "name": "eight layers", "ops": ops}))


def break_d(folder):
    """D of a kernel that left out a tile of 64 x 64 and rounds the last 32 rows to bf16."""
    with zipfile.ZipFile(folder / "right.npz") as right, zipfile.ZipFile(folder / "d.npz", "w") as broken:
        data = bytearray(right.read("gemm.d.npy"))
        rows, columns, size = 256, 192, 4
        first = len(data) - rows * columns * size
        for row in range(64, 128):
            at = first + (row * columns + 64) * size
            data[at:at + 64 * size] = bytes(64 * size)
        for at in range(first + 224 * columns * size, len(data), size):
            word, = struct.unpack_from("<I", data, at)
            struct.pack_into("<I", data, at, word + 0x7FFF + (word >> 16 & 1) & 0xFFFF0000)
        broken.writestr("gemm.d.npy", data)


def write_page(program, name, folder):
    for words, more in ((FIRST.get(name), []), (PAGES[name], ["--html", f"{folder}/{name}.html"])):
        if words:
            ended = subprocess.run([program, *(word.format(folder=folder) for word in words), *more], cwd=ROOT,
                                   stdout=subprocess.DEVNULL, check=False)
            if ended.returncode > (name == "crosscheck"):  # whose 1 says that D is wrong
                sys.exit(f"{' '.join(ended.args)} ended with {ended.returncode}")
        if words and name == "crosscheck" and not more:
            break_d(folder)


def copies_of(page):
    """(file, width in pixels) of a page as each medium shows it."""
    text = page.read_text(encoding="utf-8")
    for medium, script in MEDIA.items():
        file = page.with_suffix(f".{medium}.html")
        file.write_text(text.replace("</body>", END.replace("MEDIUM", script)), encoding="utf-8")
        yield file, LIGHT if medium != "print" else LANDSCAPE if "A4 landscape" in text else PORTRAIT


def draw(browser, folder, pages):
    """Writes a PNG of each page in each medium, as high as the page is: frames in one window tell the heights."""
    copies = [copy for page in pages for copy in copies_of(page)]
    with tempfile.TemporaryDirectory() as profile:
        def browse(page, *what):
            return subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                                   "--allow-file-access-from-files", "--virtual-time-budget=4000", f"--user-data-dir={profile}",
                                   *what, f"file://{page}"], check=True, capture_output=True, text=True).stdout

        frames = folder / "frames.html"
        frames.write_text("".join(f'<iframe src="{file.name}" width="{width}"></iframe>' for file, width in copies))
        heights = re.findall(r'data-height="(\d+)"', browse(frames, "--dump-dom"))
        for (file, width), height in zip(copies, heights, strict=True):
            image = file.with_suffix(".png")
            browse(file, f"--window-size={width},{height}", f"--screenshot={image}")
            print(image, flush=True)
    for file in (frames, *(file for file, _ in copies)):
        file.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", default=str(ROOT / "build/release/sptcsim"))
    parser.add_argument("--pages", nargs="+", choices=PAGES, default=list(PAGES))
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    write_model(folder)
    for name in arguments.pages:
        write_page(arguments.program, name, folder)
        print(folder / f"{name}.html", flush=True)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser:
        draw(browser, folder, [folder / f"{name}.html" for name in arguments.pages])
    else:
        print(f"no pictures: there is none of {', '.join(BROWSERS)}", file=sys.stderr)


if __name__ == "__main__":
    main()
