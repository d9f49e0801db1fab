# SPDX-License-Identifier: MIT
"""Runs every command of docs/how-to/attach.md in order, and compares the output with the page.

usage: test-guide.py GUIDE
"""
import os
import signal
import sys
import tempfile
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cmd"))
from guide import commands, run_command

GUIDE = sys.argv.pop(1)
SIDE = os.environ["SIDE"]
TIMEOUT = 60


class Guide(unittest.TestCase):
    def test_commands(self):
        with open(GUIDE, encoding="utf-8") as file:
            found = commands(file.read())
        self.assertGreater(len(found), 5)
        with tempfile.TemporaryDirectory(prefix="side-attach-guide-") as folder:
            os.mkdir(folder + "/bin")
            os.symlink(SIDE, folder + "/bin/side")
            os.symlink(os.environ["ATTACH_PROGRAM"], folder + "/server")
            env = {**os.environ, "PATH": folder + "/bin" + os.pathsep + os.environ["PATH"], "LANG": "C.UTF-8",
                   "SIDE_RUNTIME": folder + "/runtime", "SIDE_TIMEOUT_FACTOR": "30", "TMPDIR": folder}
            for name in ("SIDE_AGENT_SOCKET", "LD_PRELOAD", "SIDE_CONTROL"):
                env.pop(name, None)
            try:
                for command, wanted in found:
                    run_command(command, wanted, folder, env)
                    self.wait_for_server(folder)
            finally:
                with open(folder + "/server.pid", encoding="ascii") as file:
                    os.kill(int(file.read()), signal.SIGTERM)

    def wait_for_server(self, folder):
        deadline = time.monotonic() + TIMEOUT
        while True:
            with open(folder + "/server.log", encoding="ascii") as file:
                if "ready" in file.read():
                    return
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)


unittest.main(argv=sys.argv[:1], verbosity=2)
