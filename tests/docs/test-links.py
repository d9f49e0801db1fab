# SPDX-License-Identifier: MIT
"""Links between the pages of the project lead to files and headings that exist. Named files of the
source tree exist, too.

usage: test-links.py SOURCE-DIRECTORY
"""
import glob
import os
import re
import sys

root = os.path.abspath(sys.argv[1])


def prose(path):
    """Returns the page without its code."""
    with open(path, encoding="utf-8") as text:
        page = re.sub(r"^```.*?^```", "", text.read(), flags=re.M | re.S)
    return "\n".join(line for line in page.split("\n") if not line.startswith("    "))


def anchors(path):
    """Returns the anchors of headings, as the usual viewers derive them from the text."""
    names = set()
    for heading in re.findall(r"^#+ (.*)$", prose(path), re.M):
        name = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")
        number = 0
        while name + (f"-{number}" if number else "") in names:
            number += 1
        names.add(name + (f"-{number}" if number else ""))
    return names


def pages():
    for name in os.listdir(root):
        if name.endswith(".md"):
            yield os.path.join(root, name)
    for directory, _, names in os.walk(os.path.join(root, "docs")):
        for name in names:
            if name.endswith(".md"):
                yield os.path.join(directory, name)


failures = []
links = 0
for page in sorted(pages()):
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(page))):
        if re.match(r"\w+:", target):
            continue
        links += 1
        path, _, anchor = target.partition("#")
        to = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        where = os.path.relpath(page, root)
        if not os.path.exists(to):
            failures.append(f"{where}: there is no {target}")
        elif anchor and to.endswith(".md") and anchor not in anchors(to):
            failures.append(f"{where}: {path or 'the page'} has no heading for #{anchor}")

    # `src/ring/rseq.c`, `programs/side/cli/table*.c`, `tests/MODULE/meson.build`: the reader
    # replaces words in capitals.
    for name in re.findall(r"`((?:src|programs|include|tests|bench|docs|examples|packaging)/[\w./*-]+)`", prose(page)):
        path = os.path.join(root, re.sub(r"\b[A-Z]{2,}\b", "*", name))
        if not glob.glob(path) and not os.path.exists(path + ".c"):  # A program that is built there.
            failures.append(f"{os.path.relpath(page, root)}: there is no {name}")

# Pages for developers name files of the source tree, sometimes without their directories, and identifiers of the code.
CODE = [os.path.join(directory, name) for top in ("src", "programs", "include", "tests", "bench")
        for directory, _, names in os.walk(os.path.join(root, top)) for name in names]
FILES = {os.path.basename(path) for path in CODE}
identifiers = set()
for path in CODE:
    if path.endswith((".c", ".h", ".S", ".py", ".sh", ".pml", ".map")):
        with open(path, encoding="utf-8", errors="replace") as text:
            identifiers.update(re.findall(r"\w+", text.read()))
ALL = " ".join(identifiers)


def is_known(name):
    """Whether the code has the name. The reader replaces a part in capitals, if the name has other letters."""
    if name.upper() == name:
        return name in identifiers
    return re.search(rf"\b{re.sub('[A-Z]{2,}', r'[a-z0-9_]+', name)}\b", ALL) is not None


for page in [os.path.join(root, name) for name in ("ARCHITECTURE.md", "CONTRIBUTING.md")] + sorted(
        glob.glob(os.path.join(root, "docs/adr/*.md")) + glob.glob(os.path.join(root, "docs/explanation/*.md"))):
    where = os.path.relpath(page, root)
    for code in re.findall(r"`([^`\n]+)`", prose(page)):
        if re.fullmatch(r"[\w-]+\.(?:[chS]|py)", code) and not re.search(r"[A-Z]{2,}", code) and code not in FILES:
            failures.append(f"{where}: no file is named {code}")
        for name in re.findall(r"^(?:(?:struct|enum) )?(\w+)\(\)$|^(?:struct|enum) (\w+)$|^((?!X_|LTTNG_)[A-Z]\w*_\w+(?<!_X))$", code):
            if not is_known("".join(name)):
                failures.append(f"{where}: the code has no {code}")

# Pages name functions of tests as evidence.
for page in sorted(pages()):
    for name in re.findall(r"`(test_\w+)(?:\(\))?`", prose(page)):
        if name not in identifiers:
            failures.append(f"{os.path.relpath(page, root)}: no test has a function {name}")

# Each page of the specification is in its index.
SPEC = os.path.join(root, "docs/spec")
with open(os.path.join(SPEC, "README.md"), encoding="utf-8") as index:
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", index.read()))
failures += [f"docs/spec/README.md does not list {name}" for name in sorted(os.listdir(SPEC))
             if name.endswith(".md") and name != "README.md" and name not in listed]

# Decisions have consecutive numbers, and ARCHITECTURE.md can be read in a few minutes.
titles = []
for name in sorted(os.listdir(os.path.join(root, "docs/adr"))):
    if name != "README.md":
        with open(os.path.join(root, "docs/adr", name), encoding="utf-8") as page:
            titles.append((name, page.read()))
for number, (name, text) in enumerate(titles, 1):
    if not re.match(rf"<!-- order: {number} -->\n# ADR {number}: \S", text) or not name.startswith(f"{number:02}-"):
        failures.append(f"docs/adr/{name} is not decision {number}")
    failures += [f"docs/adr/{name} has no {part}" for part in ("Context", "Decision", "Consequences") if f"\n**{part}.** " not in text]
with open(os.path.join(root, "docs/adr/README.md"), encoding="utf-8") as page:
    index = page.read()
failures += [f"docs/adr/README.md does not list {name} with its title" for name, text in titles
             if f"[{re.search('^# ADR [0-9]+: (.*)', text, re.M).group(1)}]({name})" not in index]
with open(os.path.join(root, "ARCHITECTURE.md"), encoding="utf-8") as page:
    architecture = page.read()
words = len(architecture.split())
if words > 1500:
    failures.append(f"ARCHITECTURE.md has {words} words, and 1500 is the limit")

# Its table of modules has all modules of test-tree.py, each with its whole name or as `NAME/` in the row of the module around it.
with open(os.path.join(root, "tests/house/test-tree.py"), encoding="utf-8") as rules:
    modules = re.findall(r'^    "([\w/-]+)": ', rules.read(), re.M)
rows = [line for line in architecture.split("\n") if line.startswith("| `")]
for module in modules:
    name = module if module.startswith("programs/") else "src/" + module
    around, _, part = name.rpartition("/")
    if not any(f"`{name}/`" in row.split("|")[1] or (f"`{around}/`" in row.split("|")[1] and f"`{part}/`" in row) for row in rows):
        failures.append(f"ARCHITECTURE.md does not list the module {name}/")
if len(modules) < 50:
    failures.append("tests/house/test-tree.py lists few modules")

# The glossary is in alphabetical order.
with open(os.path.join(root, "docs/glossary.md"), encoding="utf-8") as page:
    terms = [line.split("|")[1].strip().lower() for line in page if line.startswith("| ")][2:]
failures += [f"docs/glossary.md: {one} is before {two}" for one, two in zip(terms, terms[1:]) if one > two]
print("\n".join(failures))
print(f"{links} links, {len(failures)} complaints")
sys.exit(1 if failures or links < 20 else 0)
