# SPDX-License-Identifier: MIT
"""`./demo`: its arguments, the progress of its build on a terminal, and a build that fails; the test
replaces compiler and packages.

usage: test-demo.py SOURCE-ROOT
"""
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = sys.argv.pop(1)
NINJA = """#!/bin/sh
for step in 1 2 3; do echo "[$step/3] Compiling part-$step.c"; done
[ ! -e "$2/broken" ] || { echo "part-3.c: an error"; exit 1; }
"""


class Demo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="side-demo-")
        self.addCleanup(folder.cleanup)
        self.root = os.path.join(folder.name, "project")
        shutil.copytree(os.path.join(SOURCE, "packaging"), self.root + "/packaging")
        os.mkdir(self.root + "/examples")
        os.makedirs(self.root + "/build")
        os.mkdir(self.root + "/bin")
        shutil.copy(os.path.join(SOURCE, "demo"), self.root)
        for name, text in (("bin/meson", "#!/bin/sh\ntouch build/build.ninja\n"), ("bin/ninja", NINJA), ("packaging/install-packages", "#!/bin/sh\n"),
                           ("examples/demo.py", "import sys\nprint('demo of', *sys.argv[1:])\n")):
            with open(os.path.join(self.root, name), "w", encoding="utf-8") as out:
                out.write(text)
            os.chmod(out.name, 0o755)
        self.environment = dict(os.environ, PATH=self.root + "/bin:" + os.environ["PATH"])

    def demo(self, *arguments, **options):
        return subprocess.run(["./demo", *arguments], cwd=self.root, env=self.environment, capture_output="stderr" not in options, text=True,
                              check=False, timeout=60, **options)

    def test_arguments(self):
        for option in ("--help", "-h"):
            done = self.demo(option)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("./demo [DIRECTORY]", done.stdout)
            self.assertNotIn("#", done.stdout)
        for arguments, reason in ((["--fast"], "unknown option '--fast'"), (["one", "two"], "too many arguments")):
            done = self.demo(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(reason, done.stderr)
            self.assertIn("hint: ./demo --help", done.stderr)
        self.assertFalse(os.path.exists(self.root + "/build/build.ninja"))

    def test_build(self):
        done = self.demo("traces")
        self.assertEqual((done.returncode, done.stdout), (0, f"demo of {self.root}/build {self.root}/traces\n"))
        self.assertEqual(done.stderr, "Building (the first time takes a few minutes)\n")
        done = self.demo()
        self.assertEqual(done.stdout, f"demo of {self.root}/build\n")

    def test_build_fails(self):
        with open(self.root + "/build/broken", "w", encoding="utf-8"):
            pass
        done = self.demo()
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("part-3.c: an error\ndemo: the build failed", done.stderr)

    def test_progress(self):
        main, end = pty.openpty()
        with os.fdopen(main, "rb", buffering=0) as terminal:
            done = self.demo(stdout=subprocess.PIPE, stderr=end)
            os.close(end)
            printed = b""
            try:
                while part := terminal.read(4096):
                    printed += part
            except OSError:  # All output was read, and no process has the other end.
                pass
        self.assertEqual(done.returncode, 0)
        self.assertEqual(printed.decode().replace("\r\n", "\n"),
                         "Building (the first time takes a few minutes)\n\rBuilding [1/3]\rBuilding [2/3]\rBuilding [3/3]\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
