# SPDX-License-Identifier: MIT
"""Functions that the tests of reach share: a daemon, a recording that it names, and programs."""
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import bt2

import daemon

SIDE = os.environ["SIDE"]
PROGRAM = os.environ["REACH_PROGRAM"]
SANITIZED = os.environ.get("REACH_SANITIZE", "none") != "none"
TIMEOUT = daemon.TIMEOUT
SKIPPED = 77

os.environ.setdefault("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
os.environ.setdefault("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0")


class Recording:
    """`side record` of a command that waits: a session that programs join when the daemon requests it."""

    def __init__(self, directory, name="out"):
        self.output = os.path.join(directory, name)
        self.process = subprocess.Popen(
            [SIDE, "record", "-o", self.output, "-e", "reach:*", "--", PROGRAM, "host"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "SIDE_CONTROL": "off"})
        self.host, _, self.path = self.process.stdout.readline().strip().partition(" ")
        assert self.path, self.process.stderr.read()

    def finish(self):
        """Returns the events of each process: {(name, pid): [its sequences, one list for each program
        that it executed]}.
        """
        _, self.summary = self.process.communicate("end\n", timeout=TIMEOUT)
        assert self.process.returncode == 0, self.summary
        fired_events = {}
        self.lost = 0
        for name in sorted(os.listdir(self.output)):
            path = os.path.join(self.output, name)
            sequences = []
            for one in bt2.TraceCollectionMessageIterator(path):
                if not isinstance(one, bt2._EventMessageConst):
                    continue
                if one.event.name == "side:lost":
                    self.lost += int(one.event.payload_field["count"])
                else:
                    assert one.event.name == "reach:tick", one.event.name
                    sequences.append(int(one.event.payload_field["sequence"]))
            fired_events.setdefault(int(name.rsplit("-", 2)[1]), []).append(sequences)
        # The command itself, whose agent is preloaded, has no events.
        host = fired_events.pop(int(self.host), [[]])
        assert host == [[]], host
        return fired_events

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="side-reach-")
        os.chmod(self.dir, 0o755)
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.runtime = self.file("runtime")
        os.mkdir(self.runtime, 0o755)

    def file(self, name):
        return os.path.join(self.dir, name)

    def start_daemon(self, **options):
        started = daemon.Daemon(self.runtime, **options)
        # The timeout of programs is long, because the machine may be busy; except for a silent
        # daemon.
        self.timeout_factor = "1" if options.get("silent") else "100"
        self.addCleanup(started.stop)
        return started

    def start_recording(self, name=None):
        self.recordings = getattr(self, "recordings", 0) + 1
        name = name or f"out-{self.recordings}"
        recording = Recording(self.dir, name)
        self.addCleanup(recording.kill)
        return recording

    def environment(self, **more):
        env = {**os.environ, "SIDE_RUNTIME": self.runtime, "SIDE_TIMEOUT_FACTOR": getattr(self, "timeout_factor", "1")}
        for name in ("SIDE_CONTROL", "SIDE_AGENT_SOCKET", "LD_PRELOAD", "SIDE_DEBUG"):
            env.pop(name, None)
        env.update(more)
        return env

    def start(self, *words, program=PROGRAM, control=None, env=None, **options):
        more = dict(env or {})
        if control:
            more["SIDE_CONTROL"] = control
        process = subprocess.Popen([program, *words], env=self.environment(**more),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   **options)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def finish(self, process, status=0):
        self.stdout, self.stderr = process.communicate(timeout=TIMEOUT)
        if process.returncode == SKIPPED and status != SKIPPED:
            self.skipTest(f"not allowed here: {self.stderr.strip()}")
        self.assertEqual(process.returncode, status, self.stderr)
        return process

    def make_file(self, name):
        with open(self.file(name), "w", encoding="utf-8"):
            pass

    def wait_for_file(self, name, process):
        deadline = time.monotonic() + TIMEOUT
        while not os.path.exists(self.file(name)):
            if process.poll() is not None:
                self.finish(process)
                self.fail("the program has ended")
            self.assertLess(time.monotonic(), deadline, f"no {name}")
            time.sleep(0.005)

    def report(self, name):
        """Returns threads and descriptors of a report."""
        with open(self.file(name), encoding="utf-8") as lines:
            words = [line.split(None, 1) for line in lines.read().splitlines()]
        return ([w[1] for w in words if w[0] == "task"], sorted(int(w[1]) for w in words if w[0] == "fd"))

    def assertLost(self, recording, nr=0):
        self.assertEqual(recording.lost, nr, recording.summary)

    # Runs one program in one session from its start on.
    def run_in_session(self, *words, status=0, lost=0, **options):
        self.daemon = getattr(self, "daemon", None) or self.start_daemon()
        recording = self.start_recording()
        self.daemon.sessions = [(recording.path, 1)]
        process = self.finish(self.start(*words, **options), status)
        self.recording = recording
        fired_events = recording.finish()
        self.assertLost(recording, lost)
        fired_events.pop(recording.process.pid, None)
        self.fired_events = {pid: lists for pid, lists in fired_events.items() if any(lists)}
        return process.pid


def signalled(number):
    return -int(getattr(signal, number))
