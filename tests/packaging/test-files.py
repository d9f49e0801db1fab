# SPDX-License-Identifier: MIT
"""The lists of the Debian packages name each installed file once, and the symbols file has the exports
of the library.

usage: test-files.py BUILD-DIRECTORY
"""
import fnmatch
import glob
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import output

BUILD = os.path.abspath(sys.argv.pop(1))
DEBIAN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "packaging", "debian")
TRIPLET = "x86_64-linux-gnu"


def patterns():
    """Returns (package, pattern) of each line in the lists of files."""
    for path in glob.glob(os.path.join(DEBIAN, "*.install")):
        with open(path, encoding="utf-8") as lines:
            yield from ((os.path.basename(path)[:-len(".install")], line.strip()) for line in lines if line.strip())


def matches(path, pattern):
    """Whether the file or a directory above it matches the pattern; `*` ends at a slash, as in dh_install."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) >= len(wanted) and all(fnmatch.fnmatchcase(p, w) for p, w in zip(parts, wanted))


class Lists(unittest.TestCase):
    def installed(self):
        """Returns the files that `meson install` installs, by their paths in a package."""
        options = {o["name"]: o["value"] for o in json.loads(output("meson", "introspect", BUILD, "--buildoptions"))}
        with tempfile.TemporaryDirectory() as root:
            output("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", root)
            prefix = root + options["prefix"]
            for where, folders, files in os.walk(prefix):
                for name in files + [f for f in folders if os.path.islink(os.path.join(where, f))]:
                    path = os.path.relpath(os.path.join(where, name), prefix)
                    if path.startswith(options["libdir"] + "/") and not path.startswith(("lib/cmake", "lib/systemd", "lib/sysusers.d")):
                        path = f"lib/{TRIPLET}" + path[len(options["libdir"]):]
                    yield "usr/" + path

    def test_each_file_once(self):
        lists, paths = list(patterns()), sorted(self.installed())
        self.assertGreater(len(paths), 600)
        for path in paths:
            packages = [package for package, pattern in lists if matches(path, pattern)]
            self.assertEqual(len(packages), 1, f"{path} is in {packages}")
        for package, pattern in lists:
            self.assertTrue(any(matches(path, pattern) for path in paths), f"{package}: no file fits {pattern}")

    def test_symbols(self):
        with open(os.path.join(DEBIAN, "libside0.symbols"), encoding="utf-8") as text:
            listed = text.read().split("libside.so.0 libside0")[1]
        wanted = {line.split("@")[0].strip() for line in listed.splitlines() if "@" in line}
        shown = output("nm", "-D", "--defined-only", os.path.join(BUILD, "src", "libside", "libside.so.0"))
        self.assertEqual({line.split()[-1] for line in shown.splitlines()}, wanted)


if __name__ == "__main__":
    unittest.main(verbosity=2)
