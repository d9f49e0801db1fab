# SPDX-License-Identifier: MIT
"""Each C file and header that a comment of code names exists: a renamed file is renamed in comments,
too.

usage: test-comment-files.py SOURCE-DIRECTORY
"""
import os
import re
import sys

import visible

FOLDERS = ("include", "src", "programs", "tests", "bench")
# A name that a path, <...> or a wildcard precedes is not a file of the tree.
NAME = re.compile(r"(?<![\w<*./-])(?:[\w-]+/)*([\w-]+\.(?:c|h|S))\b")
# Headers of other projects and of the build, and examples of names.
OUTSIDE = {"cmocka.h", "libunwind-dynamic.h", "perf_event.h", "uprobes.c", "static-functions.h", "le.c", "order.c"}


def main(root):
    texts = {path: visible.read(root, path) for folder in FOLDERS for path in visible.files(root, folder, (".c", ".h", ".S"))}
    known = {os.path.basename(path) for path in texts} | OUTSIDE
    failures = []
    for path, text in texts.items():
        for part in visible.matches_of_comments(text):
            for found in NAME.finditer(part.group(0)):
                if found.group(1) not in known:
                    failures.append(f"{path}:{text.count(chr(10), 0, part.start() + found.start()) + 1}: there is no {found.group(0)}")
    print("\n".join(failures))
    print(f"{len(texts)} files, {len(failures)} comments with names of files that do not exist")
    return 1 if failures or not texts else 0


sys.exit(main(os.path.abspath(sys.argv[1])))
