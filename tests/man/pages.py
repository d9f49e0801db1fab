# SPDX-License-Identifier: MIT
"""Functions that the tests of the manual pages share: their names, prototypes and examples."""
import glob
import os
import re
import sys

ROOT = os.path.abspath(sys.argv[1])
DIRECTORY = os.path.join(ROOT, "docs", "man")
PAGES = sorted(glob.glob(os.path.join(DIRECTORY, "*.[37]")))

def text_of(path):
    with open(path, encoding="utf-8") as source:
        return source.read()


def names_of(path):
    """Returns the names that a page describes: .Nm in its section NAME."""
    section = text_of(path).split(".Sh NAME\n")[1].split("\n.Sh ")[0]
    return re.findall(r"^\.Nm (\S+)", section, re.M)


def examples():
    """Returns (page, number, text) of each literal display in EXAMPLES."""
    for path in PAGES:
        parts = text_of(path).split(".Sh EXAMPLES\n")
        if len(parts) < 2:
            continue
        section = parts[1].split("\n.Sh ")[0]
        for number, display in enumerate(re.findall(r"^\.Bd -literal\n(.*?)^\.Ed$", section, re.M | re.S)):
            yield os.path.basename(path), number, re.sub(r"^\\&", "", display, flags=re.M).replace("\\e", "\\")


def prototypes(path):
    """Returns the functions of the synopsis as declarations, and the headers that it names."""
    section = text_of(path).split(".Sh SYNOPSIS\n")[1].split("\n.Sh ")[0]
    headers = re.findall(r"^\.In (\S+)", section, re.M)
    found = []
    for kind, name, arguments in re.findall(r"^\.Ft (.*)\n\.Fo (\w+)\n((?:\.Fa .*\n)*)\.Fc", section, re.M):
        words = [a.strip('"') for a in re.findall(r"^\.Fa (.*)$", arguments, re.M)]
        found.append(f"{kind.strip(chr(34))} {name}({', '.join(words)});")
    return headers, found
