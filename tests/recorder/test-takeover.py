# SPDX-License-Identifier: MIT
"""Recorders that are killed while programs run, and others that replace them.

Programs count their published events in a separate file. At the end each record is in the traces
exactly once, or is counted as lost exactly once.
"""
import collections
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import bt2

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import wait_until

LONG = bool(os.environ.get("SIDE_TEST_LONG"))
DRIVER = os.environ["TAKEOVER_DRIVER"]
PROGRAM = os.environ["TAKEOVER_PROGRAM"]
AGENT = os.path.join(os.environ["SIDE_LIB_DIR"], "libside-agent.so")
SIDE = os.environ.get("SIDE")
THREADS = 3
TIMEOUT = 120

os.environ.setdefault("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
# A killed program cannot check for leaks.
os.environ.setdefault("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0")


class Program:
    def __init__(self, case, name, pause_us, socket):
        self.counts = os.path.join(case.dir, name)
        env = {**os.environ, "LD_PRELOAD": AGENT, "SIDE_AGENT_SOCKET": socket,
               "SIDE_RUNTIME": case.dir, "SIDE_CONTROL": "off"}
        self.process = subprocess.Popen([PROGRAM, self.counts, str(THREADS), str(pause_us)],
                                        stdout=subprocess.PIPE, text=True, env=env)
        case.addCleanup(self.process.stdout.close)
        case.addCleanup(self.process.wait)
        case.addCleanup(self.process.kill)
        self.pid = self.process.pid
        case.assertEqual(self.process.stdout.readline(), "ready\n")

    def published(self):
        with open(self.counts, "rb") as file:
            return struct.unpack(f"{THREADS}Q", file.read(8 * THREADS))

    def wait_for_more(self, count):
        """Waits until each thread has published so many more events."""
        before = self.published()
        wait_until(lambda: all(now >= then + count for now, then in zip(self.published(), before)), "more events of each thread", TIMEOUT)

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(TIMEOUT)


class Recorder:
    def __init__(self, case, env=None):
        self.case = case
        self.messages = []
        self.statistics = None  # the last reported ones
        self.process = subprocess.Popen(
            [DRIVER, case.socket, case.place, case.output, case.format, case.compress,
             case.rotate, *case.channels],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **(env or {})})
        case.addCleanup(self.process.stdout.close)
        case.addCleanup(self.close_input)
        case.addCleanup(self.process.wait)
        case.addCleanup(self.process.kill)

    def close_input(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass

    def read(self, wanted):
        """Reads lines up to this one. False: it exited before."""
        for line in self.process.stdout:
            if line.startswith("! "):
                self.messages.append(line[2:].rstrip("\n"))
            if line.startswith("figures "):
                self.statistics = json.loads(line[8:])
            if line.startswith("failed"):
                raise AssertionError(line)
            if line.rstrip("\n") == wanted:
                return True
        return False

    def send(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def ready(self):
        self.case.assertTrue(self.read("ready"), self.process.poll())
        return self

    def kill(self):
        self.process.kill()
        self.process.wait(TIMEOUT)

    def finish(self, word="finish"):
        self.send(word)
        self.case.assertTrue(self.read("done"))
        self.case.assertEqual(self.process.wait(TIMEOUT), 0)
        return self.messages


class Case(unittest.TestCase):
    format = "1"
    compress = "0"
    rotate = "0"
    channels = ("ring:discard:1048576",)

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="side-place-")
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.new_directories()

    def new_directories(self):
        top = tempfile.mkdtemp(dir=self.dir)
        self.socket, self.place, self.output = (
            os.path.join(top, name) for name in ("s", "place", "out"))

    def read_by_side(self):
        ticks = collections.defaultdict(lambda: collections.defaultdict(list))
        discarded, lost = collections.Counter(), collections.Counter()
        view = subprocess.run([SIDE, "view", "--json", self.output], stdout=subprocess.PIPE,
                              text=True, check=True)
        for line in view.stdout.splitlines():
            item = json.loads(line)
            self.assertIn(item["type"], ("event", "discarded", "lost", "note"))
            if item["type"] == "discarded":
                discarded[item["vpid"]] += item["count"]
            elif item["type"] == "lost":
                lost[item["vpid"]] += item["count"]
            elif item["type"] == "event":
                fields = item["fields"]
                ticks[item["vpid"]][fields["thread"]].append(fields["sequence"])
        return ticks, lost, discarded

    def read(self):
        """Returns the content of the traces: {pid: {thread: [sequence, ...]}}, {pid: lost}, {pid: discarded}."""
        if (self.format, self.compress) != ("1", "0"):
            return self.read_by_side()  # Babeltrace 2.0.4 supports neither.
        ticks = collections.defaultdict(lambda: collections.defaultdict(list))
        lost, discarded = collections.Counter(), collections.Counter()
        for directory, _, files in os.walk(self.output):
            if "metadata" not in files:
                continue
            self.assertNotIn("/.", directory[len(self.output):])
            pid = int(os.path.basename(directory).split("-")[-3 if directory.rsplit("-", 1)[1][0]
                                                            == "r" else -2])
            for message in bt2.TraceCollectionMessageIterator(directory):
                if isinstance(message, bt2._DiscardedEventsMessageConst):
                    discarded[pid] += message.count
                if not isinstance(message, bt2._EventMessageConst):
                    continue
                fields = message.event.payload_field
                if message.event.name == "side:lost":
                    lost[pid] += int(fields["count"])
                elif message.event.name == "test:tick":
                    ticks[pid][int(fields["thread"])].append(int(fields["sequence"]))
        return ticks, lost, discarded

    def reconcile(self, programs, flight=False, statistics=None):
        """Programs: (pid, published by each thread, uncertainty of the last one). Statistics: what the
        last recorder reports for the whole session, including earlier recorders.
        """
        ticks, lost, discarded = self.read()
        if statistics:
            self.assertEqual(statistics["recorded"], sum(len(seen) for of in ticks.values() for seen in of.values()))
            self.assertEqual(statistics["lost"], sum(lost.values()))
            self.assertEqual(statistics["seen"], len(programs))
            for part, name in enumerate(("recorded", "lost")):
                self.assertEqual(sum(channel[part] for channel in statistics["channels"].values()), statistics[name])
        for pid, published, unsure in programs:
            missing = 0
            for thread, count in enumerate(published):
                seen = ticks[pid][thread]
                self.assertEqual(len(seen), len(set(seen)), (pid, thread, "twice"))
                self.assertTrue(not seen or max(seen) < count + unsure, (pid, thread))
                missing += count - sum(number < count for number in seen)
            if not flight:
                self.assertEqual(missing, lost[pid], (pid, published, dict(discarded)))
            self.assertEqual(discarded[pid], lost[pid], pid)

    def assertEmptyPlace(self):
        self.assertFalse(os.path.exists(self.place),
                         os.path.isdir(self.place) and os.listdir(self.place))


class Adoption(Case):
    def test_nothing_to_adopt(self):
        self.assertEqual(Recorder(self).ready().finish(), [])
        self.assertEmptyPlace()

    def test_living_and_dead(self):
        recorder = Recorder(self).ready()
        lives = Program(self, "lives", 200, self.socket)
        dies = Program(self, "dies", 200, self.socket)
        killed = Program(self, "killed", 200, self.socket)
        lives.wait_for_more(1000)
        recorder.kill()
        lives.wait_for_more(1000)
        dies.end()
        killed.end(signal.SIGKILL)
        for _ in range(3):
            recorder = Recorder(self).ready()
            lives.wait_for_more(1000)
            recorder.kill()
            lives.wait_for_more(100)
        recorder = Recorder(self).ready()
        late = Program(self, "late", 200, self.socket)
        late.wait_for_more(1000)
        lives.end()
        late.end()
        self.assertEqual(recorder.finish(), [])
        self.reconcile([(p.pid, p.published(), p is killed)
                        for p in (lives, dies, killed, late)], statistics=recorder.statistics)
        self.assertEmptyPlace()

    def test_invalid_end(self):
        recorder = Recorder(self).ready()
        program = Program(self, "program", 200, self.socket)
        for _ in range(3):
            program.wait_for_more(500)
            self.assertEqual(recorder.finish("keep"), [])
            recorder = Recorder(self).ready()
        program.end()
        self.assertEqual(recorder.finish(), [])
        self.reconcile([(program.pid, program.published(), 0)], statistics=recorder.statistics)

    def test_chunks_that_are_kept(self):
        """All chunks of the session count, whichever recorder wrote them; those of other sessions do not."""
        self.rotate = "65536"
        others = os.path.join(self.output, "chunk-0007-20200101-000000")
        os.makedirs(others)
        for _ in range(3):
            recorder = Recorder(self, {"PLACE_KEEP": "2"}).ready()
            program = Program(self, "program", 200, self.socket)
            program.wait_for_more(6000)
            program.end()
            recorder.kill()
        os.mkdir(os.path.join(self.output, ".removed-chunk-0008-20200101-000000"))
        self.assertEqual(Recorder(self, {"PLACE_KEEP": "2"}).ready().finish(), [])
        chunks = sorted(os.listdir(self.output))
        self.assertEqual(chunks[0], os.path.basename(others))
        self.assertEqual(len(chunks), 3, chunks)

    def test_two_on_one_directory(self):
        Recorder(self).ready()
        self.socket += "2"
        second = Recorder(self)
        with self.assertRaisesRegex(AssertionError, "failed .*another recorder uses it"):
            second.read("ready")


class Kills(Case):
    """At any instant: at a call that changes a file, or at a time."""
    rounds = 400 if LONG else 30
    lives = 5

    def life(self, number, program):
        chance = random.Random(number)
        env = {}
        if number % 3:
            env["PLACE_KILL_AT"] = str(chance.randrange(1, 60 if number % 2 else 400))
        if number % 3 == 2:
            env["PLACE_KILL_TORN"] = "1"
        recorder = Recorder(self, env)
        if env:
            # If it does not get that far: later.
            try:
                recorder.process.wait(0.5)
            except subprocess.TimeoutExpired:
                pass
        else:
            time.sleep(chance.random() * 0.05)
        recorder.kill()
        program.wait_for_more(chance.randrange(1, 200))

    def series(self, first, pause_us):
        self.new_directories()
        # The recorder from which it gets rings.
        recorder = Recorder(self).ready()
        program = Program(self, f"program-{first}", pause_us, self.socket)
        other = Program(self, f"other-{first}", pause_us, self.socket)
        program.wait_for_more(100)
        recorder.kill()
        for number in range(first, first + self.lives):
            self.life(number, program)
            if number == first + 2:
                other.end(signal.SIGTERM if first % 2 else signal.SIGKILL)
        recorder = Recorder(self).ready()
        program.wait_for_more(100)
        program.end()
        messages = recorder.finish()
        self.assertEqual(messages, [])
        self.reconcile([(program.pid, program.published(), 0),
                        (other.pid, other.published(), 1 - first % 2)], statistics=recorder.statistics)
        self.assertEmptyPlace()

    def kills(self, share, pause_us=500):
        for first in range(share, self.rounds, 6 * self.lives):
            with self.subTest(first=first):
                self.series(first, pause_us)

    def test_much_space(self):
        self.kills(0)

    def test_losses(self):
        self.channels = ("ring:discard:65536",)
        self.kills(self.lives, 100)

    def test_blocking(self):
        self.channels = ("ring:block:65536",)
        self.kills(2 * self.lives)

    def test_chunks(self):
        self.rotate = "65536"
        self.kills(3 * self.lives)

    @unittest.skipUnless(SIDE, "without the command line there is no reader for it")
    def test_compressed(self):
        self.compress = "1"
        self.kills(4 * self.lives)

    @unittest.skipUnless(SIDE, "without the command line there is no reader for it")
    def test_ctf2(self):
        self.format = "2"
        self.kills(5 * self.lives)


if __name__ == "__main__":
    unittest.main()
