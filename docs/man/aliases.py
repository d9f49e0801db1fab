#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A page for each name: those that have none of their own lead to the one that names them (".so").

usage: aliases.py DIRECTORY PAGE.3...

Makes the links in DIRECTORY. When `meson install` runs it, DIRECTORY is below the place that things are installed in.
"""
import os
import sys


def names_of(path):
    """What stands behind .Nm in the section NAME."""
    names, inside = [], False
    with open(path, encoding="utf-8") as page:
        for line in page:
            words = line.split()
            if words[:1] == [".Sh"]:
                inside = words[1:] == ["NAME"]
            elif inside and words[:1] == [".Nm"]:
                names.append(words[1])
    return names


def make(directory, pages):
    os.makedirs(directory, exist_ok=True)
    for path in pages:
        page = os.path.basename(path)
        for name in names_of(path):
            if name + ".3" != page:
                with open(os.path.join(directory, name + ".3"), "w", encoding="utf-8") as link:
                    link.write(f".so man3/{page}\n")


def main():
    directory = sys.argv[1]
    if "MESON_INSTALL_PREFIX" in os.environ:
        # The directory is absolute when the option is; then only DESTDIR goes before it.
        if os.path.isabs(directory):
            directory = os.environ.get("DESTDIR", "") + directory
        else:
            directory = os.path.join(os.environ["MESON_INSTALL_DESTDIR_PREFIX"], directory)
    make(directory, sys.argv[2:])


if __name__ == "__main__":
    main()
