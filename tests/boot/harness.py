# SPDX-License-Identifier: MIT
"""Functions that the tests of early boot share: a state directory for each test, programs that record
there, the content of traces.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import bt2

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import wait_until

SIDE = os.environ["SIDE"]
SIDED = os.environ.get("SIDED", "")
PROGRAM = os.environ["BOOT_PROGRAM"]
PLUGIN = os.environ["BOOT_PLUGIN"]
SANITIZED = os.environ.get("BOOT_SANITIZE", "none") != "none"
TIMEOUT = 120
SKIPPED = 77

os.environ.setdefault("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
os.environ.setdefault("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0")

CONFIG = """\
# What these tests record.
place {place}

session early
channel main
	buffer-size 128K
	context vpid
	event boot:first,boot:tick,boot:loaded
"""


def environment(**more):
    env = dict(os.environ)
    for name in ("SIDE_CONTROL", "SIDE_AGENT_SOCKET", "LD_PRELOAD", "SIDE_DEBUG", "SIDE_BOOT",
                 "SIDE_RUNTIME"):
        env.pop(name, None)
    # The machine may be very busy.
    env["SIDE_TIMEOUT_FACTOR"] = "60"
    env.update(more)
    return env


class Program:
    """Runs its actions in order; during `wait` the test can act in between."""

    def __init__(self, case, *words, command=(), **options):
        self.process = subprocess.Popen([*command, PROGRAM, *words], env=case.environment(**options),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        case.addCleanup(self.kill)

    def expect(self, word):
        line = self.process.stdout.readline().strip()
        if line != word:
            raise AssertionError(f"{word} expected, not {line!r}: {self.process.communicate()}")

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self, status=0):
        self.stdout, self.stderr = self.process.communicate(timeout=TIMEOUT)
        if self.process.returncode == SKIPPED:
            raise unittest.SkipTest("not allowed here")
        assert self.process.returncode == status, (self.process.returncode, self.stderr)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="side-boot-")
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.place = self.file("place")
        self.config = self.file("boot.conf")
        self.runtime = self.file("run")
        self.out = self.file("out")
        self.configure(CONFIG)

    def file(self, name):
        return os.path.join(self.dir, name)

    def configure(self, text):
        with open(self.config, "w", encoding="utf-8") as config:
            config.write(text.format(place=self.place, dir=self.dir))

    def environment(self, **more):
        return environment(**{"SIDE_BOOT": self.config, "SIDE_RUNTIME": self.runtime, **more})

    def run_program(self, *words, status=0, **options):
        program = Program(self, *words, **options)
        program.end(status)
        return program

    def side(self, *words, status=0, **env):
        done = subprocess.run([SIDE, *words], env=environment(SIDE_RUNTIME=self.runtime, **env),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        self.stderr = done.stderr
        return done.stdout

    def adopt(self, *words, status=0, place=None):
        """Returns the report of `side adopt` about its sessions, by their names."""
        self.side("adopt", place or self.place, "-o", self.out, "--json", *words, status=status)
        reported = [json.loads(line) for line in self.stderr.splitlines()]
        return {one["session"]: one for one in reported if one["type"] == "summary"}

    def folders(self, session="early"):
        """Returns the folders of processes in the state directory."""
        path = os.path.join(self.place, session)
        return sorted(name for name in os.listdir(path)
                      if not name.startswith(".") and os.path.isdir(os.path.join(path, name)))

    # ---- the daemon ----

    def start_daemon(self):
        with open(self.file("log"), "a", encoding="utf-8") as log:
            daemon = subprocess.Popen(
                [SIDED, "--foreground", "--runtime", self.runtime, "--output", self.file("traces"),
                 "--boot", self.config], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=environment())
        self.addCleanup(self.stop_daemon, daemon)
        wait_until(lambda: os.path.exists(os.path.join(self.runtime, "control.sock")), "the daemon")
        return daemon

    def stop_daemon(self, daemon):
        if daemon.poll() is None:
            daemon.terminate()
        daemon.wait(TIMEOUT)

    def status(self):
        return json.loads(self.side("status", "early", "--json"))

    def await_processes(self, number):
        wait_until(lambda: len(self.status().get("processes", [])) >= number,
                   f"{number} processes in the session")

    def configure_output(self):
        self.configure(CONFIG.replace("session early\n",
                                              "session early\n\toutput {dir}/out\n"))

    # ---- traces ----

    def events(self, output=None):
        """Returns all events: (pid, name, fields, contexts), in the order of each process."""
        reported = []
        for directory, _, files in sorted(os.walk(output or self.out)):
            if "metadata" not in files:
                continue
            pid = int(re.search(r"-(\d+)-\d+(-r\d+)?$", directory).group(1))
            for message in bt2.TraceCollectionMessageIterator(directory):
                if isinstance(message, bt2._DiscardedEventsMessageConst):
                    raise AssertionError(f"lost events in {directory}")
                if not isinstance(message, bt2._EventMessageConst):
                    continue
                event = message.event
                fields = event.payload_field or {}
                contexts = event.common_context_field or {}
                reported.append((message.default_clock_snapshot.ns_from_origin, pid, event.name,
                             {name: plain(fields[name]) for name in fields},
                             {name: plain(contexts[name]) for name in contexts}))
        # Traces of one process follow each other; within one the order is the reader's.
        return [one[1:] for one in sorted(reported, key=lambda one: one[0])]

    def sequences(self, output=None):
        """Returns the numbers of each process: {pid: [0, 1, ...]}; checks every value."""
        counted = {}
        for pid, name, fields, contexts in self.events(output):
            if contexts:
                self.assertEqual(contexts["vpid"], pid)
            if name != "boot:tick":
                continue
            self.assertEqual(fields["text"], f"tick {fields['sequence']}")
            counted.setdefault(pid, []).append(fields["sequence"])
        return counted

    def assertCounted(self, counted, pid, number):
        self.assertEqual(counted.get(pid, []), list(range(number)))


def plain(field):
    if isinstance(field, bt2._StringFieldConst):
        return str(field)
    return int(field)


def main(module):
    program = unittest.main(module=module, exit=False, verbosity=2)
    result = program.result
    if result.wasSuccessful() and result.testsRun and len(result.skipped) == result.testsRun:
        raise SystemExit(SKIPPED)
    raise SystemExit(not result.wasSuccessful())
