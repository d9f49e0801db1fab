# SPDX-License-Identifier: MIT
"""The visible text of the tree: lines of documents, manual pages, comments of public headers, sentences in strings."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LITERAL_OR_COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
SKIPPED = (".git", "build", "__pycache__", "node_modules")


def files(root, top, endings):
    path = os.path.join(root, top)
    if os.path.isfile(path):
        return [top]
    found = []
    for directory, folders, names in os.walk(path):
        folders[:] = sorted(f for f in folders if not f.startswith(SKIPPED))
        found += [os.path.relpath(os.path.join(directory, name), root) for name in sorted(names) if name.endswith(endings)]
    return found


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def code(text):
    """Returns C without comments and literals, each character at its place."""
    return LITERAL_OR_COMMENT.sub(blank, text)


def matches_of_comments(text):
    """Returns the match of each comment of C."""
    return [part for part in LITERAL_OR_COMMENT.finditer(text) if part.group(0).startswith("/")]


def document(text):
    """Returns prose of Markdown: no code blocks, no `code`, no targets of links, no comments."""
    text = re.sub(r"^(```|~~~).*?^\1", blank, text, flags=re.S | re.M)
    text = re.sub(r"<!--.*?-->|<[^>\n]*>", blank, text, flags=re.S)
    text = re.sub(r"(?<=\n)(\n(?: {4}|\t)[^\n]*)+", blank, text)
    text = re.sub(r"`[^`\n]*`|\]\([^)]*\)", blank, text)
    return list(enumerate(text.split("\n"), 1))


def manual(text):
    """Returns prose of a manual page: no requests, no examples."""
    text = re.sub(r"^\.Bd.*?^\.Ed", blank, text, flags=re.S | re.M)
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if not line.startswith('.\\"')]


def comments(text):
    """Returns comments of C without the lines of code in them."""
    kept = re.sub(r"/\*.*?\*/", lambda m: m.group(0).replace("\n", "\r"), text, flags=re.S)
    kept = "\n".join("".join(re.findall(r"/\*.*?\*/", line)) + "\r" * line.count("\r") for line in kept.split("\n"))
    number, lines = 1, []
    for line in kept.split("\n"):
        parts = line.split("\r")
        # A code line of a comment is indented by a tab. The joined comments have the breaks twice at their end.
        shown = parts[:len(parts) - (len(parts) - 1) // 2]
        lines += [(number + i, part) for i, part in enumerate(shown) if not part.startswith(" *\t")]
        number += len(shown)
    return lines


LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def strings(text):
    """Returns string literals that have two words or more, without `code` and names in quotes. Not
    those of #include, of assembly.
    """
    text = re.sub(r"/\*.*?\*/", blank, text, flags=re.S)
    text = re.sub(r"_Static_assert\s*\(.*?\);", blank, text, flags=re.S)
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("#include"):
            continue
        for match in LITERAL.finditer(line):
            if " " in match.group(1).strip():
                found.append((number, re.sub(r'`[^`]*`|\\"[^"]*\\"|%\w+', blank, match.group(1))))
    return found


def sources(root):
    for top in ("src", "programs"):
        yield from files(root, top, (".c", ".h"))


def all_lines(root):
    """Yields (path, line, text, is a message)."""
    tops = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs")
    for top in tops:
        for path in files(root, top, ".md"):
            for number, line in document(read(root, path)):
                yield path, number, line, False
    for top in ("docs/man", "programs"):
        for path in files(root, top, (".1", ".3", ".7")):
            for number, line in manual(read(root, path)):
                yield path, number, line, False
    for path in files(root, "include", ".h"):
        for number, line in comments(read(root, path)):
            yield path, number, line, False
    for path in sources(root):
        for number, line in strings(read(root, path)):
            yield path, number, line, True


def listed(name, parts, separator):
    """Returns the entries of a list of rules beside this file: one a line, in so many parts."""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]
    entries = [line.split(separator) for line in lines]
    for line, entry in zip(lines, entries):
        if len(entry) != parts or not all(part.strip() for part in entry):
            sys.exit(f"{name}: {line}: {parts} parts are expected, with {separator!r} between them")
    return entries
