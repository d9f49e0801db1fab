# SPDX-License-Identifier: MIT
"""A stopped daemon or recorder delays a program by one second in total, and records it when it continues."""
import glob
import os
import re
import shutil
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness
from harness import Case, Program, wait_until

# The greatest permitted wait in seconds: once in the start, and for the later life of the program.
START = 1.05
LATER = 0.5
WAIT = re.compile(r"^(?:\d+ +)?(?:ppoll|nanosleep|clock_nanosleep)\(.*?\{tv_sec=(\d+), tv_nsec=(\d+)\}.*\)\s+= (.*)$")


@unittest.skipUnless(shutil.which("strace"), "there is no strace")
class Waits(Case):
    def recorder_of(self, session):
        return self.status(session)["recorder"]

    def trace(self, script, *options, preload="", **changes):
        env = {**os.environ, "SIDE_RUNTIME": self.runtime, **changes}
        for name in ("SIDE_CONTROL", "LD_PRELOAD", "SIDE_DEBUG", "SIDE_TIMEOUT_FACTOR"):
            env.pop(name, None)
        log = os.path.join(self.dir, "strace")
        subprocess.run(["strace", *options, "-o", log, "-e", "trace=ppoll,nanosleep,clock_nanosleep,write",
                        "-E", f"LD_PRELOAD={preload}", harness.PROGRAM], input=script, env=env, stdout=subprocess.PIPE,
                       text=True, check=True, timeout=harness.TIMEOUT)
        return log

    @staticmethod
    def waits_in(log):
        """Returns the timeouts of the calls that reached them: before the program is ready, and afterwards."""
        before, later, is_ready = 0.0, 0.0, False
        with open(log, encoding="utf-8") as lines:
            for line in lines:
                is_ready |= line.startswith('write(1, "ready')
                found = WAIT.match(line)
                if not found or not found.group(3).startswith("0"):
                    continue
                seconds = int(found.group(1)) + int(found.group(2)) / 1e9
                if is_ready:
                    later += seconds
                else:
                    before += seconds
        return before, later

    def waited(self, script="fire 3\nquit\n", **changes):
        # Without -f: the threads of the agent are not traced.
        return self.waits_in(self.trace(script, **changes))

    def assert_waits(self, waited):
        self.assertLessEqual(waited[0], START, "waited before main()")
        self.assertLessEqual(waited[1], LATER, "waited in events")

    def begin(self, *sessions):
        self.start_daemon()
        for name in sessions:
            self.create(name)

    def test_a_daemon_that_is_stopped(self):
        self.begin("one")
        self.stop_process(self.daemon.pid)
        self.assert_waits(self.waited())

    def test_recorders_that_are_stopped(self):
        self.begin("one", "two", "three")
        for name in ("one", "two", "three"):
            self.stop_process(self.recorder_of(name))
        self.assert_waits(self.waited())

    def test_children_of_a_program_that_waited(self):
        self.begin("one")
        self.stop_process(self.daemon.pid)
        log = self.trace("fork 1\nfork 1\nfork 1\nquit\n", "-ff")
        waits = [sum(self.waits_in(path)) for path in glob.glob(log + ".*")]
        self.assertGreaterEqual(len(waits), 4)
        # Each process waits once, and forked ones know from the one that has waited.
        self.assertLessEqual(sum(waits), START + LATER)

    def test_recorders_that_the_environment_names(self):
        paths = [os.path.join(self.dir, f"socket-{number}") for number in range(5)]
        for path in paths:
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.addCleanup(listener.close)
            listener.bind(path)
            listener.listen(8)
        agent = os.path.join(os.environ["SIDE_LIB_DIR"], "libside-agent.so")
        self.assert_waits(self.waited(preload=agent, SIDE_AGENT_SOCKET=":".join(paths)))

    def test_a_recorder_that_continues_records_the_program(self):
        """The program waits once and not longer than for any other start, and is recorded as soon as the recorder continues."""
        self.begin("one", "two")
        recorder = self.recorder_of("two")
        self.stop_process(recorder)
        log = os.path.join(self.dir, "strace")
        # The tracer is the detached one of both processes (-D).
        tracer = ("strace", "-D", "-o", log, "-e", "trace=ppoll,nanosleep,clock_nanosleep,write")
        program = Program(self, before=tracer, SIDE_TIMEOUT_FACTOR="1")
        program.fire(100)
        self.go_on(recorder)

        def is_recorded():
            program.fire(1)
            return all(program.pid in [one["pid"] for one in self.status(name)["processes"] if one["recorded"]]
                       for name in ("one", "two"))
        # On a busy machine the other session may have been late as well.
        wait_until(is_recorded, "a record in the session that was stopped")
        program.fire(10)
        program.quit()
        for name in ("one", "two"):
            self.ask("stop", name)
            self.assertGreaterEqual(len(self.counts(name)[program.pid]), 10)
        self.assert_waits(self.waits_in(log))


if __name__ == "__main__":
    unittest.main()
