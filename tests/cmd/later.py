# SPDX-License-Identifier: MIT
"""Records the program later-libraries.c while it runs, for the tests of libraries that are loaded later."""
import signal
import subprocess

from checks import expect_equal
from waiting import wait_until


class Waiting:
    """The program in its form `wait`, which answers each line with one of its own."""

    def __init__(self, program, *plugins, env=None):
        self.process = subprocess.Popen([program, "wait", *plugins], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.recording = None

    def write(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def record(self, *command, is_recorded):
        """Starts a command of side with `-p`. The program allocates blocks until the trace has what is expected."""
        self.recording = subprocess.Popen([*command, "-p", str(self.process.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def has_begun():
            expect_equal(self.write(""), "done\n", command)
            if self.recording.poll() is not None:
                raise AssertionError(f"{command}: {self.recording.returncode} {self.recording.communicate()}")
            return is_recorded()

        wait_until(has_begun, "the recording of a block")

    def end(self, last=""):
        """Ends the recording, then the program. Returns the command's process and output."""
        self.recording.send_signal(signal.SIGINT)
        output, errors = self.recording.communicate(timeout=60)
        expect_equal(self.recording.returncode, 0, errors)
        self.process.communicate(last, timeout=60)
        expect_equal(self.process.returncode, 7, "the program's status")
        return self.recording, output
