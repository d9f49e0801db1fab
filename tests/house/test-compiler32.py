# SPDX-License-Identifier: MIT
"""compiler32.py detects a 32-bit compiler that is only half installed, and tests of 32-bit programs are skipped with the reason.

usage: test-compiler32.py SOURCE-ROOT
"""
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = sys.argv.pop(1)
TESTS = os.path.join(SOURCE, "tests")
sys.path.insert(0, TESTS)
import compiler32

# Actions of the compiler with -m32. Without the option, any compiler is complete.
HALVES = {
    "complete": 'exec REAL "$@"',
    "headers": 'exec REAL -nostdinc "$@"',
    "libraries": 'exec REAL "$@" -lgcc-of-32-bits',
    "none": 'echo "error: 32 bits: not compiled in" >&2; exit 1',
}
SCRIPT = """#!/bin/sh
# Runs a compiler. With -m32 it behaves like one that is half installed.
all=$*
for word in "$@"; do
	shift
	[ "$word" = -m32 ] || set -- "$@" "$word"
done
case " $all " in
*" -m32 "*) HALF ;;
*) exec REAL "$@" ;;
esac
"""


def compiler(folder, name, half):
    """Makes a command of this name. The linker's option must not disturb steps that only compile."""
    path = os.path.join(folder, name)
    real = "/usr/bin/" + name
    action = HALVES[half].replace("REAL", real)
    if half == "libraries":
        action = f'case " $all " in *" -c "*) exec {real} "$@" ;; esac; {action}'
    with open(path, "w", encoding="ascii") as script:
        script.write(SCRIPT.replace("HALF", action).replace("REAL", real))
    os.chmod(path, 0o755)
    return path


class Halves(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_reasons(self):
        for name, language in (("gcc", "c"), ("g++", "c++")):
            for half, parts in (("complete", None), ("headers", ("cannot compile", "errno.h")),
                                ("libraries", ("cannot link", "gcc-of-32-bits")), ("none", ("cannot compile", "32 bits: not compiled in"))):
                with self.subTest(name=name, half=half):
                    found = compiler32.reason([compiler(self.folder, name, half)], language)
                    if parts is None:
                        self.assertIsNone(found)
                    else:
                        self.assertTrue(found.startswith(f"{self.folder}/{name} -m32 "), found)
                        for part in parts:
                            self.assertIn(part, found)

    def test_command(self):
        """Runs it like meson.build."""
        program = os.path.join(TESTS, "compiler32.py")
        for words, half, status in (([], "complete", 0), ([], "headers", 1), (["--c++"], "complete", 0), (["--c++"], "none", 1)):
            with self.subTest(words=words, half=half):
                done = subprocess.run([sys.executable, program, *words, compiler(self.folder, "g++" if words else "gcc", half)],
                                      capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, bool(done.stdout)), (status, bool(status)), done.stderr)

    def test_skipped(self):
        """The test of the library prints the reason and is skipped."""
        for half in ("headers", "libraries", "none"):
            with self.subTest(half):
                compiler(self.folder, "gcc", half)
                done = subprocess.run([sys.executable, os.path.join(TESTS, "libside/test-32bit.py"), SOURCE], capture_output=True, text=True,
                                      env=dict(os.environ, PATH=self.folder + ":" + os.environ["PATH"]), check=False)
                self.assertEqual(done.returncode, 77, done.stderr)
                self.assertIn("gcc -m32 cannot ", done.stdout)

    def test_headers(self):
        """With a 32-bit compiler for C but not for C++, the tests of headers use C only."""
        sys.path.insert(0, os.path.join(TESTS, "headers"))
        import compilers
        self.assertTrue(compilers.works(compiler(self.folder, "gcc", "complete"), "-m32"))
        self.assertFalse(compilers.works(compiler(self.folder, "g++", "headers"), "-m32", language="c++"))
        self.assertTrue(compilers.works(compiler(self.folder, "g++", "complete"), "-m32", language="c++"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
