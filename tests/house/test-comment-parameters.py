# SPDX-License-Identifier: MIT
"""Comments of functions name parameters by their present names: a renamed parameter is renamed in the
comment, too. The comment of an include guard's #endif names that guard.

usage: test-comment-parameters.py SOURCE-DIRECTORY
"""
import os
import re
import sys

import visible

FOLDERS = ("include", "src", "programs", "tests", "bench")
# A comment that begins a line, and the declarations after it, up to an empty line or the next comment.
COMMENT = re.compile(r"^[ \t]*/\*((?:[^*]|\*(?!/))*)\*/\n(?=((?:(?![ \t]*/\*)[^\n]+\n)+))", re.M)
# Words that a comment writes as the name of a parameter: `NAME`, `*NAME`, *NAME.
MENTIONED = re.compile(r"`\*?([a-z]\w*)`|(?<![\w*`])\*([a-z]\w*)\b")
# "`NAME`: what it is" describes a parameter or a member, which must be in the declarations.
DESCRIBED = re.compile(r"`\*?([a-z]\w*)`: ")
GUARD = re.compile(r"^#ifndef (\w+_H)\n#define \1\n", re.M)
GUARD_END = re.compile(r"^#endif[ \t]*/\*[ \t]*(\w+_H)[ \t]*\*/", re.M)


def wrong_names(text):
    """Yields the position of each comment with a name that the declarations after it do not have, and the message."""
    for found in COMMENT.finditer(text):
        comment, code = found.groups()
        # Quoted text is an example, such as the text of a message.
        comment = re.sub(r'"[^"]*"', "", comment)
        words = set(re.findall(r"\w+", code))
        if "(" not in code:
            continue
        for name in sorted({one or other for one, other in MENTIONED.findall(comment)}):
            if "ret_" + name in words and name not in words:
                yield found.start(), f"the parameter `{name}` is called ret_{name}"
        for name in sorted(set(DESCRIBED.findall(comment))):
            if name not in words and "ret_" + name not in words:
                yield found.start(), f"there is no parameter `{name}`"


def wrong_guards(text):
    guards = GUARD.findall(text)
    for found in GUARD_END.finditer(text):
        if guards and found.group(1) not in guards:
            yield found.start(), f"the guard is {guards[0]}, not {found.group(1)}"


def main(root):
    paths = [path for folder in FOLDERS for path in visible.files(root, folder, (".c", ".h"))]
    failures = []
    for path in paths:
        text = visible.read(root, path)
        for position, message in (*wrong_names(text), *wrong_guards(text)):
            failures.append(f"{path}:{text.count(chr(10), 0, position) + 1}: {message}")
    print("\n".join(failures))
    print(f"{len(paths)} files, {len(failures)} comments with names that do not exist")
    return 1 if failures or not paths else 0


sys.exit(main(os.path.abspath(sys.argv[1])))
