# SPDX-License-Identifier: MIT
"""`./check`: what it refuses, and how it counts tests that fail once (repeat.py, count.py), tried on small meson projects.

usage: test-check.py SOURCE-ROOT
"""
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = sys.argv.pop(1)
HOUSE = os.path.join(SOURCE, "tests", "house")

# A test program: fails the first time (once), always (never) or not at all (ever).
PROGRAM = """#!/bin/sh
echo "output of $1"
case $1 in
once*) [ -e "$1.seen" ] || { : >"$1.seen"; exit 1; } ;;
never*) exit 1 ;;
skip*) exit 77 ;;
esac
"""


def run(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


class Counting(unittest.TestCase):
    def count(self, *tests, failed_builds=0):
        """Runs a project with these tests as ./check does; returns its status and its lines of output."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        with open(os.path.join(folder.name, "program"), "w", encoding="utf-8") as program:
            program.write(PROGRAM)
        os.chmod(program.name, 0o755)
        with open(os.path.join(folder.name, "meson.build"), "w", encoding="utf-8") as project:
            project.write("project('tests')\nprogram = find_program('./program')\n")
            project.writelines(f"test('{test}', program, args: '{test}', suite: 'drawn')\n" for test in tests)
        build = os.path.join(folder.name, "build")
        self.assertEqual(run("meson", "setup", build, folder.name)[0], 0)
        run("meson", "test", "-C", build)
        self.assertEqual(run(sys.executable, os.path.join(HOUSE, "repeat.py"), build, "1")[0], 0)
        status, out, _ = run(sys.executable, os.path.join(HOUSE, "count.py"), str(failed_builds),
                             os.path.join(build, "meson-logs", "testlog.json"))
        self.logs = {line.split()[1]: line.split()[-1] for line in out.splitlines() if line.startswith("flaky: ")}
        for name, log in self.logs.items():
            with open(log, encoding="utf-8") as text:
                self.assertIn("output of " + name, text.read())
        return status, out.splitlines()

    def test_all_pass(self):
        self.assertEqual(self.count("ever-1", "ever-2", "skip-1"), (0, ["2 passed, 0 failed, 1 skipped"]))

    def test_flaky(self):
        status, lines = self.count("ever-1", "once-1", "once-2", "once-3")
        self.assertEqual((status, lines[-1]), (0, "4 passed, 0 failed"))
        self.assertEqual(sorted(self.logs), ["once-1", "once-2", "once-3"])

    def test_too_many_flaky(self):
        status, lines = self.count("ever-1", *(f"once-{n}" for n in range(4)))
        self.assertEqual((status, lines[-1]), (1, "1 passed, 4 failed"))
        self.assertEqual(len(self.logs), 4)

    def test_failure(self):
        status, lines = self.count("ever-1", "once-1", "never-1")
        self.assertEqual((status, lines[-1]), (1, "2 passed, 1 failed"))
        self.assertEqual(list(self.logs), ["once-1"])

    def test_broken_build(self):
        self.assertEqual(self.count("ever-1", failed_builds=1), (1, ["1 passed, 1 failed"]))

    def test_too_many_failures_to_repeat(self):
        status, lines = self.count("ever-1", *(f"once-{n}" for n in range(13)))
        self.assertEqual((status, lines), (1, ["1 passed, 13 failed"]))


class Targets(unittest.TestCase):
    def test_of_one_suite(self):
        """The targets are exactly the programs of the suite and the dependencies of its tests."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "program.c"), "w", encoding="utf-8") as program:
                program.write("int main(void) { return 0; }\n")
            with open(os.path.join(folder, "meson.build"), "w", encoding="utf-8") as project:
                project.write("project('targets', 'c')\n"
                              "foreach name : ['own', 'argument', 'other', 'unused']\n"
                              "  set_variable(name, executable(name, 'program.c'))\n"
                              "endforeach\n"
                              "test('first', own, args: [argument], suite: ['drawn', 'threads'])\n"
                              "test('second', other, suite: 'drawn')\n")
            build = os.path.join(folder, "build")
            self.assertEqual(run("meson", "setup", build, folder)[0], 0)
            targets = os.path.join(HOUSE, "targets.py")
            self.assertEqual(run(sys.executable, targets, build, "threads"), (0, "argument\nown\n", ""))
            self.assertEqual(run(sys.executable, targets, build, "drawn"), (0, "argument\nother\nown\n", ""))
            self.assertEqual(run(sys.executable, targets, build, "unknown")[0], 1)


class Options(unittest.TestCase):
    def test_help(self):
        status, out, _ = run(os.path.join(SOURCE, "check"), "--help")
        self.assertEqual(status, 0)
        self.assertIn("./check [--long]", out)

    def test_unknown(self):
        for arguments, named in ((["--only", "foo"], "'foo'"), (["--only"], "--only"), (["--foo"], "'--foo'"), (["foo"], "'foo'")):
            with self.subTest(arguments):
                status, out, errors = run(os.path.join(SOURCE, "check"), *arguments)
                self.assertEqual((status, out), (2, ""))
                self.assertTrue(errors.startswith("check: "), errors)
                self.assertIn(named, errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
