#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples of sim/python/README.md print what stands there. --update writes what they print."""
import contextlib
import io
import pathlib
import re
import sys
import unittest

README = pathlib.Path(__file__).parents[2] / "sim" / "python" / "README.md"
EXAMPLE = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<printed>.*?)```\n)?", re.DOTALL)


def examples(text):
    """(match, what it prints) of every example of a page, run in one namespace."""
    names = {}
    for match in EXAMPLE.finditer(text):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(match["code"], "example", "exec"), names)
        yield match, printed.getvalue()


class Readme(unittest.TestCase):
    def test_the_examples_print_what_stands_there(self):
        count = 0
        for match, printed in examples(README.read_text()):
            count += 1
            self.assertEqual(printed, match["printed"] or "", match["code"])
        self.assertEqual(count, 5)


def update(page):
    text = page.read_text()
    parts, end = [], 0
    for match, printed in examples(text):
        parts += [text[end:match.start()], f"```python\n{match['code']}```\n", f"\n```text\n{printed}```\n" if printed else ""]
        end = match.end()
    page.write_text("".join(parts) + text[end:])


if __name__ == "__main__":
    update(README) if "--update" in sys.argv else unittest.main()
