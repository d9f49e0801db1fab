# SPDX-License-Identifier: MIT
"""Core dumps of programs in sessions: `side recover CORE` finds what the rings contained at the crash."""
import os
import resource
import shutil
import signal
import subprocess
import unittest

import harness
from harness import wait_until

SIDE = os.environ["SIDE"]
SANITIZED = os.environ.get("SIDED_SANITIZE", "none") != "none"
FIRED = 1500
# Starts a program in the directory that gets its core dump.
DUMPING = ("sh", "-c", 'cd "$0" && ulimit -c "$(ulimit -H -c)" && exec "$@"')


class Cores(harness.Case):
    def begin(self, **channel):
        if SANITIZED:
            self.skipTest("the memory of a sanitized program is too large to dump")
        self.start_daemon()
        self.ask("create", "s", output=os.path.join(self.dir, "s"))
        self.ask("enable-channel", "s", channel="c", **channel)
        self.ask("enable-event", "s", channel="c", event=["sided:tick"])
        self.ask("start", "s")
        program = harness.Program(self, before=(*DUMPING, self.dir))
        # The program has its rings after this.
        program.fire(1)
        wait_until(lambda: self.status("s")["recorded"] == 1 or channel.get("mode") == "overwrite",
                   "the first event")
        # From now on, the events are in the rings only.
        self.stop_process(self.status("s")["recorder"])
        program.fire(FIRED - 1)
        return program

    def recovered(self, core):
        """The sequences in the dump; babeltrace2 reads them. `events` fails if any was lost."""
        shutil.rmtree(os.path.join(self.dir, "found"), True)
        subprocess.run([SIDE, "recover", "-q", core, "-o", os.path.join(self.dir, "found")], check=True)
        return [sequence for name, _, sequence in self.events("found") if name == "sided:tick"]

    def crash(self, program):
        with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
            pattern = file.read().strip()
        if "/" in pattern or "|" in pattern or "%" in pattern:
            self.skipTest(f"core dumps go to {pattern}")
        if not resource.getrlimit(resource.RLIMIT_CORE)[1]:
            self.skipTest("core dumps are not allowed here")
        os.kill(program.pid, signal.SIGSEGV)
        program.process.wait()
        cores = [name for name in os.listdir(self.dir) if name.startswith("core")]
        self.assertEqual(len(cores), 1, "the kernel left no core dump")
        return os.path.join(self.dir, cores[0])

    def gcore(self, program):
        if not shutil.which("gcore"):
            self.skipTest("gcore (gdb) is not installed")
        core = os.path.join(self.dir, "live")
        run = subprocess.run(["gcore", "-o", core, str(program.pid)], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=False)
        core += f".{program.pid}"
        if run.returncode or not os.path.exists(core):
            self.skipTest(f"gcore cannot attach here: {run.stderr[-200:]}")
        return core

    def test_crash_of_a_recorded_program(self):
        program = self.begin(buffer_size=1 << 20)
        self.assertEqual(self.recovered(self.crash(program)), list(range(1, FIRED)))

    def test_crash_with_a_flight_recorder(self):
        program = self.begin(buffer_size=1 << 20, mode="overwrite")
        self.assertEqual(self.recovered(self.crash(program)), list(range(FIRED)))

    def test_crash_with_rings_per_thread(self):
        program = self.begin(buffer_size=65536, mode="overwrite", per_thread=4)
        self.assertEqual(self.recovered(self.crash(program)), list(range(FIRED)))

    def test_gcore_of_a_recorded_program(self):
        program = self.begin(buffer_size=1 << 20)
        self.assertEqual(self.recovered(self.gcore(program)), list(range(1, FIRED)))

    def test_gcore_with_a_flight_recorder(self):
        program = self.begin(buffer_size=1 << 20, mode="overwrite")
        self.assertEqual(self.recovered(self.gcore(program)), list(range(FIRED)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
