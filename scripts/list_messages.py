#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists every text of the sources that a user can meet: errors, notes, headings and help of options.

A line is file:line, kind and text. The kind is the call that the text stands in, "text" where none is known. Texts are
the string literals with a word of three letters and a space; neighbours are joined, and {} stays. Names of files, keys
of JSON and texts of internal errors are left out.

    scripts/list_messages.py                  # all
    scripts/list_messages.py sim/run sim/cli  # of these folders or files
"""
import argparse
import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
TOKEN = re.compile(
    rf'//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"|{LITERAL}(?:\s*{LITERAL})*'
    r"|'(?:[^'\\]|\\.)+'|[;{}(]", re.S)
KINDS = [
    (r"InternalError|\bensure\b|static_assert", None),
    (r"Error\b|\b(fail|refuse)\w*$", "error"),
    (r"notes?\b|\bnote_\w+$", "note"),
    (r"\b(add_(option|flag|subcommand)\w*|description|footer|help)$", "help"),
]


def kind_of(calls):
    """The kind of the nearest call, of those that surround a text, that has one; None where users never see it."""
    for call in reversed(calls):
        for pattern, kind in KINDS:
            if re.search(pattern, call):
                return kind
    return "text"


def is_message(text):
    return bool(re.search(r"[A-Za-z]{3}", text) and " " in text.strip())


def messages_of_cpp(source):
    """(line, kind, text). A call is what stands before "(" since the last ";", "{" or "}"."""
    calls, start = [], 0
    for found in TOKEN.finditer(source):
        token = found[0]
        if token in ";{}":
            calls, start = [], found.end()
        elif token == "(":
            calls.append(" ".join(source[start:found.start()].split())[-80:])
            start = found.end()
        elif token.startswith(("R\"", '"')):
            is_raw = token.startswith("R")
            text = found["raw"] if is_raw else "".join(re.findall(LITERAL, token)).replace('""', "").strip('"')
            kind = kind_of(calls)
            is_include = re.search(r"#include\s*$", source[max(0, found.start() - 12):found.start()])
            if kind and not is_include and is_message(text):
                yield source.count("\n", 0, found.start()) + 1, kind, text


def messages_of_python(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and node.exc:
            parts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            text = "{}".join(part for part in parts if isinstance(part, str))
            if is_message(text):
                yield node.lineno, "error", text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("place", nargs="*", default=["models", "sim"], help="folder or file (default: models sim)")
    for place in map(pathlib.Path, parser.parse_args().place):
        place = place if place.exists() else ROOT / place
        for file in [place] if place.is_file() else sorted(place.rglob("*")):
            if file.suffix in (".cpp", ".h", ".py"):
                read = messages_of_python if file.suffix == ".py" else messages_of_cpp
                for line, kind, text in read(file.read_text(encoding="utf-8")):
                    print(f"{file.resolve().relative_to(ROOT)}:{line}: {kind}: {text.strip()}".replace("\n", "\\n"))


if __name__ == "__main__":
    sys.exit(main())
