# SPDX-License-Identifier: MIT
"""Visible text has no word of words.txt and phrases.txt; a sentence is one string literal; subjects of commits have 72 characters.

usage: test-words.py SOURCE-DIRECTORY
"""
import os
import re
import subprocess
import sys

import visible
from visible import listed

# Commits up to this one were made before the rule.
FIRST = "eeb6490878d23eb8f96eedd9ba40e22df9595127"


class Rules:
    def __init__(self):
        self.words = [(re.compile(pattern, re.I), pattern.startswith("^"), use)
                      for name in ("words.txt", "phrases.txt") for pattern, use in listed(name, 2, " => ")]
        self.kept = listed("words-kept.txt", 3, " | ")
        self.used = set()

    def is_kept(self, path, whole):
        for i, (where, part, _) in enumerate(self.kept):
            if where == path and part in whole:
                self.used.add(i)
                return True
        return False

    def unused(self):
        return [" | ".join(entry) for i, entry in enumerate(self.kept) if i not in self.used]


def words(root, rules):
    cache = {}
    failures = []
    for path, number, line, message in visible.all_lines(root):
        for pattern, begins, use in rules.words:
            if begins and not message:
                continue
            found = pattern.search(line)
            if not found:
                continue
            if path not in cache:
                cache[path] = visible.read(root, path).split("\n")
            if not rules.is_kept(path, cache[path][number - 1]):
                failures.append(f"{path}:{number}: \"{found.group(0)}\": write {use}")
    return failures


SPLIT = re.compile(r'"((?:[^"\\\n]|\\.)*)"[ \t]*\n[ \t]*"((?:[^"\\\n]|\\.)*)"')


def split_literals(root):
    """A sentence that continues in the next literal. The lines of usage texts and of assembly end with the literal."""
    failures = []
    for path in visible.sources(root):
        text = visible.read(root, path)
        for match in SPLIT.finditer(text):
            first = match.group(1)
            if " " in first and not first.endswith(("\\n", ". ", ": ")) and "\\n\\t" not in first:
                failures.append(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: a sentence is split: \"...{first[-40:]}\"")
    return failures


def subjects(root):
    done = subprocess.run(["git", "-C", root, "log", "--format=%h %s", f"{FIRST}..HEAD"], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        print("no history: subjects of commits are not checked")
        return []
    lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
    return [f"{commit}: the subject has {len(subject)} characters: {subject}" for commit, subject in lines if len(subject) > 72]


def main(root):
    rules = Rules()
    failures = words(root, rules)
    print(f"{len(failures)} patterns of words.txt in visible text, {len(rules.used)} exceptions")
    failures += split_literals(root) + subjects(root)
    failures += [f"words-kept.txt: no such line any more: {entry}" for entry in rules.unused()]
    print("\n".join(failures))
    return 1 if failures else 0


sys.exit(main(os.path.abspath(sys.argv[1])))
