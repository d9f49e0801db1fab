# SPDX-License-Identifier: MIT
"""Comments have no pattern of words.txt; identifiers and file names no part of retired-names.txt.

usage: test-code-words.py SOURCE-DIRECTORY [FOLDER...]      FOLDER: src/ring, for example; without one, all of FOLDERS
"""
import os
import re
import sys

import visible
from visible import listed

FOLDERS = ("include", "src", "programs")
CODE = (".c", ".h", ".S")
PATTERNS = [(re.compile(pattern.replace(" ", " +"), re.I), use) for pattern, use in listed("words.txt", 2, " => ") if not pattern.startswith("^")]
RETIRED = dict(listed("retired-names.txt", 2, " => "))
KEPT = {name for name, _ in listed("names-kept.txt", 2, " | ")}


def without_quotes(text):
    """Returns the prose of a comment: no `code`, no "quoted names"."""
    return re.sub(r'`[^`\n]*`|"[^"\n]*"', visible.blank, text)


def comment_words(path, text):
    for part in visible.matches_of_comments(text):
        prose = without_quotes(part.group(0))
        # A phrase may continue in the next line.
        prose = re.sub(r"\n[ \t]*\*?[ \t]*", lambda found: " " * len(found.group(0)), prose)
        for pattern, use in PATTERNS:
            for found in pattern.finditer(prose):
                line = text.count("\n", 0, part.start() + found.start()) + 1
                yield f"{path}:{line}: comment: \"{found.group(0).strip()}\": write {use}"


def retired_part(name):
    return next((part for part in re.split(r"[_.\-/]", name.lower()) if part in RETIRED), None)


def identifier_words(path, text, seen):
    code = visible.code(text)
    for found in re.finditer(r"[A-Za-z_]\w*", code):
        name = found.group(0)
        part = retired_part(name)
        if part and name not in KEPT and (path, name) not in seen:
            seen.add((path, name))
            yield f"{path}:{code.count(chr(10), 0, found.start()) + 1}: {name}: for \"{part}\" write {RETIRED[part]}"


def check(root, folders):
    failures, seen = [], set()
    paths = [path for folder in folders for path in visible.files(root, folder, CODE)]
    for path in paths:
        part = retired_part(path)
        if part and path not in KEPT:
            failures.append(f"{path}: for \"{part}\" write {RETIRED[part]}")
        text = visible.read(root, path)
        failures += comment_words(path, text)
        failures += identifier_words(path, text, seen)
    return failures, len(paths)


if __name__ == "__main__":
    complaints, files = check(os.path.abspath(sys.argv[1]), sys.argv[2:] or FOLDERS)
    print("\n".join(complaints))
    print(f"{files} files, {len(complaints)} retired words in comments, identifiers and file names")
    sys.exit(1 if complaints or not files else 0)
