#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sentences of more than 25 words in the Markdown files of the repository: the house rule of the prose.

A colon or a semicolon ends a sentence here. Text between <!-- name --> and <!-- /name --> is not read: scripts write it.
"""

import pathlib
import re
import subprocess
import sys

MOST_WORDS = 25
ROOT = pathlib.Path(__file__).resolve().parent.parent


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


def long_sentences(path):
    for line, text in paragraphs(path.read_text(encoding="utf-8")):
        for sentence in sentences(text):
            words = [word for word in sentence.split() if re.search(r"\w", word)]
            if len(words) > MOST_WORDS:
                yield line, len(words), sentence


def main():
    names = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found = 0
    for name in names.split():
        for line, words, sentence in long_sentences(ROOT / name):
            print(f"{name}:{line}: {words} words: {sentence}")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
