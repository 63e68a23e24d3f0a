#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where a comment or a page breaks a house rule of the prose that a script can see.

 - No diary: history is in git. Words such as "currently" and "previously" tell when something was written.
 - A thing has one name, that of the glossary (models/README.md): "CTA", not another word for it.
 - A comment's first word is its subject or its verb, in C++: no "Of", "With", "And".

Code, tables and what scripts write into pages is not read; the change log may tell history.

    scripts/check_prose.py             # checks every comment and page
    scripts/check_prose.py --self-test # checks the checker on made-up text
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREES = ("configs", "models", "scripts", "sim", "tests", "traces")
COMMENT = {".cpp": "//", ".h": "//", ".cu": "//", ".py": "#", ".sh": "#"}

DIARY = re.compile(
    r"\b(previously|formerly|used to be|anymore|nowadays|currently|originally|for now|at present|as of (today|now)"
    r"|(was|were|has been|have been) (changed|renamed|fixed)|workaround|legacy|TODO|FIXME|XXX|basically|obviously"
    r"|of course)\b", re.I)
SYNONYM = re.compile(r"\b(thread blocks?(?! swizzle)|scratchpad)\b", re.I)
NOT_FIRST = re.compile(
    r"(Of|With|Without|By|From|For|In|Into|On|To|And|But|Or|Then|Else|Because|If|As(?! (many|much|few))"
    r"|At(?! (most|least))|That (of|all|is|are))\b")


def prose_of_page(text):
    """(line, text) of a Markdown file without code, tables and what stands between <!-- name --> and <!-- /name -->."""
    written = re.compile(r"<!-- ([\w-]+) -->.*?<!-- /\1 -->|<!--.*?-->", re.S)
    text = written.sub(lambda found: "\n" * found[0].count("\n"), text)
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        in_code ^= line.strip().startswith("```")
        if not in_code and not line.startswith(("    ", "|", "```")):
            yield number, re.sub(r"`[^`]*`", "code", line)


def comments(text, mark):
    """(line, text, whether it begins a comment on lines of its own)."""
    goes_on = False
    for number, line in enumerate(text.splitlines(), 1):
        own = re.match(rf"\s*{mark}[/!]?\s*(.*)", line)
        trailing = None if own else re.search(rf"\s{mark}[/!]?<?\s(.*)", line)
        if own or trailing:
            yield number, (own or trailing)[1], bool(own) and not goes_on
        goes_on = own is not None and "SPDX" not in line


def faults(text, suffix, name="models/made_up"):
    """(line, what is wrong, words)."""
    checks_first = suffix in (".h", ".cpp") and name.startswith(("models/", "sim/"))
    lines = comments(text, COMMENT[suffix]) if suffix in COMMENT else ((*row, False) for row in prose_of_page(text))
    for number, words, is_first in lines:
        rules = [(name != "CHANGELOG.md" and DIARY.search(words), "diary"),
                 (SYNONYM.search(words), "not the word of the glossary"),
                 (is_first and checks_first and NOT_FIRST.match(words), "neither subject nor verb begins the comment")]
        yield from ((number, what, found[0]) for found, what in rules if found)


# (suffix, text, lines with a fault)
SELF_TEST = [
    (".h", "/// Rows of A.\n/// Of no row.\nint a;  ///< of a row\n", []),
    (".h", "/// Of the rows of A.\nint a;\n// And back.\nint b;\n", [1, 3]),
    (".cpp", "f();  // previously g()\nx = \"currently\";\n", [1]),
    (".h", "/// As many rows as A has.\nint a;\n/// At most three.\nint b;\n/// As A.\nint c;\n", [5]),
    (".h", "// SPDX-License-Identifier: Apache-2.0\n// That of A.\n", [2]),
    (".h", "/// That layout has rows.\nint was_fixed;  // by TMA\n", []),
    (".py", "# With a network.\n# TODO\nx = 1  # at present\n", [2, 3]),
    (".md", "It formerly was.\n\n    formerly\n\n```\nformerly\n```\n`formerly`\n| formerly |\n", [1]),
    (".md", "<!-- table -->\nlegacy\n<!-- /table -->\n\nA thread block.\n", [5]),
]


def self_test():
    wrong = [case for case in SELF_TEST if [line for line, _, _ in faults(case[1], case[0])] != case[2]]
    for case in wrong:
        print(f"self-test: {case}", file=sys.stderr)
    print(f"Prose check, self-test: {len(SELF_TEST) - len(wrong)} of {len(SELF_TEST)} cases right.")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true", help="check the checker")
    if parser.parse_args().self_test:
        return self_test()
    found = 0
    files = [*ROOT.glob("*.md"), *(file for tree in TREES for file in (ROOT / tree).rglob("*"))]
    here = pathlib.Path(__file__).resolve()
    files = sorted(file for file in files if file.suffix in (".md", *COMMENT) and file != here)
    for file in files:
        name = str(file.relative_to(ROOT))
        for line, what, words in faults(file.read_text(encoding="utf-8"), file.suffix, name):
            print(f"{name}:{line}: {what}: '{words}'")
            found += 1
    print(f"Prose check: {len(files)} files, {found} faults.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
