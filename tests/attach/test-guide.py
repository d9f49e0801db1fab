# SPDX-License-Identifier: MIT
"""Runs every command of docs/how-to/attach.md in order, and compares the output with the page.

usage: test-guide.py GUIDE
"""
import os
import signal
import sys
import tempfile
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cmd"))
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from guide import commands, run_command
from waiting import wait_until

GUIDE = sys.argv.pop(1)
SIDE = os.environ["SIDE"]
TIMEOUT = 60


def is_ready(folder):
    with open(folder + "/server.log", encoding="ascii") as file:
        return "ready" in file.read()


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
                    wait_until(lambda: is_ready(folder), "the server is ready", TIMEOUT)
            finally:
                with open(folder + "/server.pid", encoding="ascii") as file:
                    os.kill(int(file.read()), signal.SIGTERM)


unittest.main(argv=sys.argv[:1], verbosity=2)
