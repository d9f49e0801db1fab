# SPDX-License-Identifier: MIT
"""Functions that the session tests share: record a command, read the traces with babeltrace2."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import bt2

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import stop_process

LONG = bool(os.environ.get("SIDE_TEST_LONG"))
DRIVER = os.environ["SESSION_DRIVER"]
PROGRAM = os.environ["SESSION_PROGRAM"]
HOSTILE = os.environ["SESSION_HOSTILE"]
PLUGIN = os.environ["SESSION_PLUGIN"]
SANITIZED = os.environ.get("SESSION_SANITIZE", "none") != "none"

# The agent comes before the sanitizer's runtime; a killed program cannot check for leaks.
os.environ.setdefault("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
os.environ.setdefault("TSAN_OPTIONS", "die_after_fork=0")
os.environ.setdefault("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0")

# poll, nanosleep, futex, clock_nanosleep, epoll_wait, ppoll, epoll_pwait, futex_waitv: a thread in one of these calls is not reading a ring.
WAITS = {b"7", b"35", b"202", b"230", b"232", b"271", b"281", b"449"}


def calls_of_threads(pid):
    """Returns the number of the system call of each thread of a stopped process, as proc(5) has it."""
    numbers = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/syscall", "rb") as file:
            numbers.append(file.read().split()[0])
    return numbers


@contextlib.contextmanager
def held(pid):
    """Stops a recorder at a moment when it reads no ring."""
    for _ in range(6000):
        stop_process(pid)
        if all(call in WAITS for call in calls_of_threads(pid)):
            break
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.01)
    else:
        raise AssertionError("the recorder did not become idle within a minute")
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


class Trace:
    """The events of one process, ordered by time."""

    def __init__(self, name):
        self.name = name
        self.pid = int(name.rsplit("-", 2)[1])
        self.events = []      # (event name, fields, ns)
        self.details = []     # of the same events: (channel, ring, common context, own context)
        self.discarded = 0
        self.lost = {}        # (ring, event, reason) -> count

    def ticks(self, thread):
        return [f["sequence"] for n, f, _ in self.events
                if n == "test:tick" and f["thread"] == thread]

    def of(self, channel):
        """Returns the sequence numbers of the ticks in a channel, by ring."""
        rings = {}
        for (name, fields, _), (cls, ring, _, _) in zip(self.events, self.details):
            if name == "test:tick" and cls == channel:
                rings.setdefault(ring, []).append(fields["sequence"])
        return rings

    def texts(self, event, field):
        return [f[field] for n, f, _ in self.events if n == event]

    def names(self):
        return {n for n, _, _ in self.events}


def plain(field):
    if isinstance(field, bt2._StructureFieldConst):
        return {k.lstrip("_"): plain(v) for k, v in field.items()}
    if isinstance(field, bt2._IntegerFieldConst):
        return int(field)
    if isinstance(field, bt2._StringFieldConst):
        return str(field)
    return str(field)


def read(output):
    """Returns every trace below a directory, by the name of its directory."""
    traces = {}
    for name in sorted(os.listdir(output)):
        if name.startswith("snapshot-"):
            continue
        trace = traces[name] = Trace(name)
        for message in bt2.TraceCollectionMessageIterator(os.path.join(output, name)):
            if isinstance(message, bt2._EventMessageConst):
                event = message.event
                fields = plain(event.payload_field) if event.payload_field else {}
                if event.name == "side:lost":
                    key = fields["ring"], fields["event"], fields["reason"]
                    trace.lost[key] = trace.lost.get(key, 0) + fields["count"]
                else:
                    ns = message.default_clock_snapshot.ns_from_origin
                    trace.events.append((event.name, fields, ns))
                    common, own = event.common_context_field, event.specific_context_field
                    trace.details.append((event.stream.cls.id, event.stream.id,
                                          plain(common) if common is not None else {},
                                          plain(own) if own is not None else {}))
            elif isinstance(message, bt2._DiscardedEventsMessageConst):
                trace.discarded += message.count
    return traces


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="side-session-")
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.output = os.path.join(self.dir, "out")

    def start(self, command, options=(), env=None, **kwargs):
        command = [DRIVER, "-o", self.output, *options, "--", *command]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                env={**os.environ, **(env or {})}, **kwargs)

    def wait_until_asleep(self, process):
        """Waits until the program, or the shell before it, has been idle for a while."""
        quiet = 0
        for _ in range(6000):
            states = subprocess.run(["ps", "-o", "state=", "--ppid", str(process.pid)],
                                    stdout=subprocess.PIPE, text=True).stdout.split()
            quiet = quiet + 1 if states == ["S"] else 0
            if quiet == 40:
                return
            time.sleep(0.01)
        self.fail("the program is busy for a minute")

    def finish(self, process, timeout=3000 if os.environ.get("SIDE_TEST_LONG") == "1" else 120):
        stdout, _ = process.communicate(timeout=timeout)
        # The output of the command may come before the summary.
        self.stdout, _, last = stdout.rstrip("\n").rpartition("\n")
        self.summary = json.loads(last)
        self.messages = " / ".join(m["text"] for m in self.summary.get("messages", ()))
        self.hints = [m["hint"] for m in self.summary.get("messages", ()) if m["hint"]]
        return self.summary

    def record(self, *command, options=(), status=0, **kwargs):
        """Runs the program under the recorder; returns its traces as a list."""
        summary = self.finish(self.start([PROGRAM, *command], options, **kwargs))
        self.assertTrue(summary["ok"], summary)
        self.assertEqual(summary["status"], status << 8, summary)
        self.traces = read(self.output)
        self.assertEqual(sorted(self.traces),
                         sorted(p["directory"] for p in summary["processes"] if p["directory"]))
        return list(self.traces.values())

    def spoil(self, recorder):
        """Lets the program overwrite its rings while the recorder is stopped: a partly overwritten
        record could be valid with any content.
        """
        self.assertEqual(recorder.stdout.readline(), "ready\n")
        with held(recorder.pid):
            recorder.stdin.write("go\n")
            recorder.stdin.close()
            recorder.stdin = None
            self.assertEqual(recorder.stdout.readline(), "spoiled\n")

    def assertNothingLost(self):
        self.assertEqual(self.summary["lost"], 0, self.summary)
        self.assertEqual(self.summary["unwritten"], 0, self.summary)
        for trace in self.traces.values():
            self.assertEqual((trace.discarded, trace.lost), (0, {}))

    def assertSequence(self, trace, thread, count):
        self.assertEqual(trace.ticks(thread), list(range(count)))
