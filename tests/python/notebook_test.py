# SPDX-License-Identifier: Apache-2.0
"""The code cells of traces/tour.ipynb print what the notebook stores, without Jupyter or matplotlib. --update writes what they
print, and a picture of the plot where matplotlib is present."""
import base64
import contextlib
import io
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "traces" / "tour.ipynb"


def plotted():
    """The figure that a cell left in matplotlib as an output of a notebook; none without one."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or not pyplot.get_fignums():
        return []
    picture = io.BytesIO()
    pyplot.savefig(picture, format="png", dpi=80, metadata={"Software": None})
    pyplot.close("all")
    return [{"data": {"image/png": base64.b64encode(picture.getvalue()).decode()}, "metadata": {}, "output_type": "display_data"}]


def executed(notebook):
    """(cell, what it prints, its picture) of each code cell, run in one namespace and folder beside copies of the workloads."""
    os.environ["MPLBACKEND"] = "Agg"
    names, before = {}, os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for workload in NOTEBOOK.parent.glob("*.json"):
            shutil.copy(workload, folder)
        os.chdir(folder)
        try:
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    printed = io.StringIO()
                    with contextlib.redirect_stdout(printed):
                        exec(compile("".join(cell["source"]), "cell", "exec"), names)
                    yield cell, printed.getvalue(), plotted()
        finally:
            os.chdir(before)


def stored(cell):
    return "".join("".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream")


class Notebook(unittest.TestCase):
    def test_its_cells_print_what_it_stores(self):
        count = 0
        for cell, printed, _ in executed(json.loads(NOTEBOOK.read_text(encoding="utf-8"))):
            count += 1
            self.assertNotEqual(printed, "", cell["source"])
            self.assertEqual(printed, stored(cell), cell["source"])
        self.assertEqual(count, 5)


def update():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    for number, (cell, printed, picture) in enumerate(executed(notebook), 1):
        old = [output for output in cell["outputs"] if output["output_type"] == "display_data"]
        stream = {"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)}
        cell.update(execution_count=number, outputs=[stream, *(picture or old)])
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    update() if "--update" in sys.argv else unittest.main()
