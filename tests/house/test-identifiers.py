# SPDX-License-Identifier: MIT
"""Each file-local function has its own name in src and programs, so that grep and a stack trace name
one file.

usage: test-identifiers.py SOURCE-DIRECTORY
"""
import collections
import re
import sys

import visible

FUNCTION = re.compile(r"^static\b[^;={]*?\b(\w+)\([^;{]*\)[^;{]*\{", re.M)


def local_functions(text):
    return {name for name in FUNCTION.findall(visible.code(text)) if name != "__attribute__"}


def shared(files):
    """Returns {name: paths} of the functions that several files define; `files` is {path: text}."""
    found = collections.defaultdict(list)
    for path, text in sorted(files.items()):
        for name in local_functions(text):
            found[name].append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def main():
    root = sys.argv[1]
    # The check finds shared names, and reads neither comments nor declarations.
    assert shared({"a.c": "static int put(int a)\n{\n}\n", "b.c": "static inline void put(void)\n{\n}\n"}) == {"put": ["a.c", "b.c"]}
    assert not shared({"a.c": "static int put(int a)\n{\n}\n", "b.c": "/*\nstatic void put(void)\n{\n}\n*/\nstatic int put(int a);\n"})
    files = {path: visible.read(root, path) for path in visible.sources(root)}
    failures = [f"{name}(): {', '.join(paths)}" for name, paths in sorted(shared(files).items())]
    print("\n".join(failures))
    print(f"{sum(len(local_functions(text)) for text in files.values())} file-local functions, {len(failures)} names in several files")
    sys.exit(1 if failures or len(files) < 500 else 0)


main()
