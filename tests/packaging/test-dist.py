# SPDX-License-Identifier: MIT
"""The release tarball (`meson dist --no-tests`) has all files of the commit and one version, and can
be configured without git. In the long form (SIDE_TEST_LONG=1) it is built and installed, and a set
of its tests passes.

usage: test-dist.py SOURCE-DIRECTORY BUILD-DIRECTORY
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import output

SOURCE, BUILD = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]
LONG = os.environ.get("SIDE_TEST_LONG") == "1"
# Tests that need no root, no daemon of the system and no other programs.
TESTS = ["--suite", "libside", "--suite", "ring", "--suite", "visit", "--suite", "ctf", "--suite", "filter", "--suite", "packaging"]
# `meson dist` leaves out what only git reads.
ONLY_GIT = {".gitignore", ".gitattributes", ".gitmodules", ".mailmap"}


class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="side-dist-")
        cls.addClassCleanup(folder.cleanup)
        cls.version = json.loads(output("meson", "introspect", BUILD, "--projectinfo"))["version"]
        cls.name = "side-" + cls.version
        output("meson", "dist", "-C", BUILD, "--no-tests", "--formats", "xztar", "--allow-dirty")
        cls.archive = os.path.join(BUILD, "meson-dist", cls.name + ".tar.xz")
        with tarfile.open(cls.archive) as archive:
            cls.members = [member.name for member in archive if not member.isdir()]
            archive.extractall(folder.name)
        cls.tree = os.path.join(folder.name, cls.name)
        # No git repository above it, so that no other directory is taken for its own.
        cls.environment = dict(os.environ, GIT_CEILING_DIRECTORIES=folder.name, DESTDIR="")

    def test_files(self):
        listed = output("git", "-C", SOURCE, "ls-tree", "-r", "--name-only", "-z", "HEAD").split("\0")
        wanted = {f"{self.name}/{path}" for path in listed if path and os.path.basename(path) not in ONLY_GIT}
        self.assertEqual({name for name in self.members if os.path.basename(name) not in ONLY_GIT}, wanted)
        with open(self.archive, "rb") as content, open(self.archive + ".sha256sum", encoding="ascii") as text:
            self.assertEqual(hashlib.sha256(content.read()).hexdigest(), text.read().split()[0])

    def test_version(self):
        """meson.build has the version; the lists of changes of the release and of the Debian package follow it."""
        with open(os.path.join(self.tree, "CHANGELOG.md"), encoding="utf-8") as text:
            numbers = re.findall(r"^## \[?(\d+\.\d+\.\d+)", text.read(), re.M)
        self.assertEqual(numbers[0], self.version)
        with open(os.path.join(self.tree, "packaging/debian/changelog"), encoding="utf-8") as text:
            self.assertEqual(re.match(r"side \((\S+)\)", text.readline()).group(1), self.version)
        with open(os.path.join(BUILD, "meson-private", "libside.pc"), encoding="utf-8") as text:
            self.assertIn(f"\nVersion: {self.version}\n", text.read())
        self.assertIn(self.version, output(os.path.join(BUILD, "programs/side/side"), "--version"))

    def test_without_git(self):
        options = [] if LONG else ["-Dtests=disabled", "-Dbenchmarks=disabled"]
        build = os.path.join(self.tree, "build")
        output("meson", "setup", *options, build, cwd=self.tree, env=self.environment)
        project = json.loads(output("meson", "introspect", build, "--projectinfo"))
        self.assertEqual((project["descriptive_name"], project["version"]), ("side", self.version))
        if not LONG:
            return
        output("ninja", "-C", build, env=self.environment)
        root = os.path.join(self.tree, "root")
        output("meson", "install", "-C", build, "--no-rebuild", "--destdir", root, env=self.environment)
        self.assertIn(self.version, output(os.path.join(root, "usr/local/bin/side"), "--version"))
        output("meson", "test", "-C", build, "--no-rebuild", *TESTS, env=dict(self.environment, SIDE_TEST_LONG=""))


if __name__ == "__main__":
    if subprocess.run(["git", "-C", SOURCE, "rev-parse", "--verify", "-q", "HEAD"], capture_output=True, check=False).returncode:
        print("the source is in no git repository")
        sys.exit(77)
    unittest.main(verbosity=2)
