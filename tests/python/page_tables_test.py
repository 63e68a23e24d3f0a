# SPDX-License-Identifier: Apache-2.0
"""The tables that scripts write into README.md, configs/README.md and configs/ACCURACY.md are those of this program."""
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).parents[2]


def script(name, *arguments):
    return subprocess.run([sys.executable, ROOT / "scripts" / f"{name}.py", "--program", os.environ["SPTCSIM"], *arguments],
                          capture_output=True, text=True)


class PageTables(unittest.TestCase):
    def test_they_are_up_to_date(self):
        checked = script("page_tables", "--check")
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_so_are_lines_of_boards_that_are_left_out(self):
        printed = script("evidence_distance", "--boards", "a40", "h200-sxm").stdout.splitlines()
        self.assertEqual(len(printed), 2)
        table = (ROOT / "configs" / "ACCURACY.md").read_text().split("<!-- left-out -->")[1]
        for line in printed:
            self.assertIn(line + "\n", table)


if __name__ == "__main__":
    unittest.main()
