#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where a sentence of a Markdown file has more than 25 words: the house rule of the prose.

A colon or a semicolon ends a sentence here. Text between <!-- name --> and <!-- /name --> is not read: scripts write it.

    scripts/check_prose.py             # checks every page
    scripts/check_prose.py --self-test # checks the checker on made-up text
"""
import argparse
import pathlib
import re
import sys

MOST_WORDS = 25
ROOT = pathlib.Path(__file__).resolve().parent.parent
TREES = ("configs", "models", "scripts", "sim", "tests", "traces")


def paragraphs(text):
    """Prose alone: list items apart; no code, tables, figures or comments. Yields (line, text)."""
    text = re.sub(r"<!-- ([\w-]+) -->.*?<!-- /\1 -->|<!--.*?-->", lambda found: "\n" * found[0].count("\n"), text, flags=re.S)
    first, words, in_code = 0, [], False
    for number, line in enumerate(text.splitlines() + [""], 1):
        bare = line.strip()
        is_fence = bare.startswith("```")
        starts = re.match(r"([-*] |\d+\. )", bare)
        is_prose = bare and not (in_code or is_fence or bare.startswith(("#", "|", ">", "![")))
        is_prose = is_prose and not (line.startswith("    ") and not starts and not words)
        if words and (not is_prose or starts):
            yield first, " ".join(words)
            words = []
        if is_prose:
            first = first if words else number
            words.append(bare)
        in_code ^= is_fence


def sentences(text):
    """Code and links count as one word; a dot within one ends nothing."""
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.split(r"(?<=[.!?:;])[\"')*]*\s+", text)


def long_sentences(page):
    """(line of its paragraph, words, sentence) of each that is too long."""
    for line, text in paragraphs(page):
        for sentence in sentences(text):
            words = [word for word in sentence.split() if re.search(r"\w", word)]
            if len(words) > MOST_WORDS:
                yield line, len(words), sentence


SHORT, LONG = " ".join(["word"] * MOST_WORDS), " ".join(["word"] * (MOST_WORDS + 1))

# (text, lines at which a sentence is too long)
SELF_TEST = [
    (f"{SHORT}.\n", []),
    (f"\n{LONG}.\n", [2]),
    (f"{SHORT}. {SHORT}.\n{SHORT}; {SHORT}: {SHORT}? {SHORT}!\n", []),
    (f"One.\n{SHORT}\nword.\n", [1]),
    (f"- {SHORT}\n- {LONG}\n1. {SHORT}\n", [2]),
    (f"{SHORT} `a.b c d` ends.\n", [1]),
    (f"{SHORT[:-5]} `a b. c d` [one](two three).\n", [1]),
    (f"{SHORT[:-10]} `a b. c d` [one](two three).\n", []),
    (f"# {LONG}\n\n| {LONG} |\n\n> {LONG}\n\n    {LONG}\n", []),
    (f"```\n{LONG}\n```\n{LONG}\n", [4]),
    (f"<!-- table -->\n{LONG}\n<!-- /table -->\n\n<!-- {LONG} -->\n\n{LONG}\n", [7]),
]


def self_test():
    wrong = [case for case in SELF_TEST if [line for line, _, _ in long_sentences(case[0])] != case[1]]
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
    pages = [*ROOT.glob("*.md"), *(page for tree in TREES for page in (ROOT / tree).rglob("*.md"))]
    for page in sorted(pages):
        for line, words, sentence in long_sentences(page.read_text(encoding="utf-8")):
            print(f"{page.relative_to(ROOT)}:{line}: {words} words, of {MOST_WORDS}: {sentence}")
            found += 1
    print(f"Prose check: {len(pages)} pages, {found} sentences that are too long.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
