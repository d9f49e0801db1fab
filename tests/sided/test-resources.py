#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Descriptors, mappings and threads of the daemon and of a traced program do not grow from round to round.

usage: test-resources.py CASE
"""
import os
import shutil
import sys
import unittest

from harness import Program, resources, wait_until
from test_probes_real import Real

ROUNDS = 3


class Rounds(Real):
    """Each round uses all features of a session and destroys it. The daemon and the program hold no more than before."""

    def session(self, program, mode):
        self.side("create", "s", "-o", os.path.join(self.dir, "s"))
        self.side("enable-channel", "c", "-s", "s", "--mode", mode)
        self.side("add-context", "-c", "c", "-s", "s", "vtid", "procname")
        self.side("enable-event", "sided:*", "-c", "c", "-s", "s", "--filter", "sequence >= 0")
        self.enable("-c", "c", "-p", str(program.pid))
        self.side("start", "s")
        program.fire(20)
        self.work(program, 20)
        self.side("statedump", "s")
        self.side("track", "-s", "s", "--pid", str(program.pid))
        self.side("status", "s")
        self.side(*(("snapshot", "s") if mode == "overwrite" else ("rotate", "s")))
        self.side("disable-event", "-c", "c", "-s", "s", "sided:tock")
        self.side("disable-event", "-c", "c", "-s", "s", "work")
        self.side("stop", "s")
        self.side("destroy", "s")
        shutil.rmtree(os.path.join(self.dir, "s"))

    def rounds(self, mode):
        self.start_daemon()
        program = self.program()
        self.session(program, mode)
        # The first round allocates memory that later rounds reuse: memory of the program for rings, code and tables.
        self.session(program, mode)
        wait_until(lambda: not self.ask("status").get("sessions"), "the end of the session")
        before = [(pid, resources.snapshot(pid)) for pid in (self.daemon.pid, program.pid)]
        for _ in range(ROUNDS):
            self.session(program, mode)
        for pid, one in before:
            resources.assert_no_more(pid, one)
        program.quit()

    def test_recording(self):
        self.rounds("discard")

    def test_snapshots(self):
        self.rounds("overwrite")

    def test_programs(self):
        """Programs that start and exit during one session."""
        self.begin()
        for turn in range(1 + ROUNDS):
            for _ in range(4):
                program = Program(self)
                program.fire(2)
                program.quit()
            wait_until(lambda: not [one for one in self.status("s").get("processes", ()) if one.get("state") == "recording"],
                       "the end of the programs")
            if not turn:
                before = resources.snapshot(self.daemon.pid, memory=False)
        resources.assert_no_more(self.daemon.pid, before)
        self.ask("destroy", "s")


if __name__ == "__main__":
    unittest.main(defaultTest=sys.argv.pop(1), verbosity=2)
