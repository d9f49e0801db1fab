# SPDX-License-Identifier: MIT
"""Records on disk: chunks and how many are kept, a full disk, triggers of snapshots. babeltrace2 reads the traces."""
import ctypes
import errno
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from recording import read

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import wait_until

SIDE = os.environ["SIDE"]
CROWD = os.environ["SESSION_CROWD"]
CHUNK = re.compile(r"chunk-(\d{4,})-\d{8}-\d{6}")
TIMEOUT = 120       # seconds; nothing here needs them
KIB = 1024
BLOCK = ("--mode", "block", "--block-timeout", "60min")


def ticks(traces):
    """Returns the numbers of the ticks, by program, in the order of the trace."""
    found = {}
    for trace in traces.values():
        for name, fields, _ in trace.events:
            if name == "crowd:tick":
                found.setdefault(fields["who"], []).append(fields["sequence"])
    return found


def size_of(path):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, names in os.walk(path) for f in names)


def states(pid):
    """Returns the states of its threads, in the kernel's letters: S for one that waits."""
    found = set()
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii", errors="replace") as file:
            found.add(file.read().rpartition(")")[2].split()[0])
    return found


class Store(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="side-store-")
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.output = os.path.join(self.dir, "out")
        self.errors = os.path.join(self.dir, "errors")

    def start(self, *options, command, **kwargs):
        """Starts `side record`; its messages go into a file, so that it waits for no reader."""
        env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "SIDE_AGENT_SOCKET")}
        env["SIDE_RUNTIME"] = self.dir
        with open(self.errors, "w") as errors:
            process = subprocess.Popen(
                [SIDE, "record", "--json", "-o", self.output, *options, "--", CROWD, *command],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                env=env, **kwargs)
        self.addCleanup(self.put_down, process)
        return process

    @staticmethod
    def put_down(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def obey(self, *options, **kwargs):
        process = self.start(*options, command=["obey"], **kwargs)
        self.pid = int(process.stdout.readline())
        return process

    @staticmethod
    def send(process, what):
        process.stdin.write(f"{what}\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    def end(self, process, status=0):
        process.communicate(timeout=TIMEOUT)
        with open(self.errors) as file:
            text = file.read()
        objects = [json.loads(line) for line in text.splitlines() if line.startswith('{"schema"')]
        self.messages = " / ".join(o["message"] for o in objects if "message" in o)
        self.summary = next((o for o in objects if o["type"] == "summary"), None)
        self.assertEqual(process.returncode, status, text)

    def chunks(self):
        return sorted((n for n in os.listdir(self.output) if CHUNK.fullmatch(n)),
                      key=lambda n: int(CHUNK.fullmatch(n).group(1)))

    def chunk(self, number):
        """Waits for a chunk."""
        name = wait_until(lambda: next(
            (n for n in self.chunks() if int(CHUNK.fullmatch(n).group(1)) == number), None), f"chunk {number}")
        return os.path.join(self.output, name)

    def read_chunk(self, name):
        return read(os.path.join(self.output, name))

    def assertTidy(self):
        """Checks that no hidden file is left."""
        self.assertEqual([n for n in os.listdir(self.output) if n.startswith(".")], [])


class Rotation(Store):
    def test_no_record_is_lost_or_doubled(self):
        """Threads and processes across many chunks, each of which is complete when it appears."""
        process = self.start(*BLOCK, "--buffer-size", "64K", "--rotate-size", "64K",
                             command=["fire", "3", "3", "7000"])
        seen, sizes = {}, {}
        chance = random.Random(1)
        wait_until(lambda: os.path.isdir(self.output), "output")
        while True:
            over = process.poll() is not None
            for name in self.chunks():
                if name not in seen:
                    sizes[name] = size_of(os.path.join(self.output, name))
                    seen[name] = self.read_chunk(name)
                    if not over and chance.random() < 0.5:
                        process.send_signal(signal.SIGUSR2)
            if over:
                break
        self.end(process)
        self.assertTidy()
        self.assertEqual(sorted(seen), self.chunks())
        self.assertGreater(len(seen), 10)
        self.assertEqual(self.summary["chunks"], len(seen))
        self.assertEqual(self.summary["lost"], 0)
        together = {}
        for name in self.chunks():
            path = os.path.join(self.output, name)
            self.assertEqual(size_of(path), sizes[name], "a finished chunk has changed")
            for source, numbers in ticks(seen[name]).items():
                together.setdefault(source, []).extend(numbers)
            for trace in seen[name].values():
                self.assertEqual((trace.discarded, trace.lost), (0, {}))
                self.assertIn("crowd:tick", trace.names())
        self.assertEqual(sorted(together), [p * 100 + t for p in range(3) for t in range(3)])
        for source, numbers in together.items():
            # A thread may leave a CPU whose ring goes into the next chunk: the order across chunks
            # is that of each ring.
            self.assertEqual(sorted(numbers), list(range(7000)), source)

    def test_all_chunks_together(self):
        process = self.start(*BLOCK, "--rotate-size", "64K", "--buffer-size", "64K",
                             command=["fire", "2", "2", "3000"])
        self.end(process)
        self.assertGreater(len(self.chunks()), 1)
        done = subprocess.run([SIDE, "view", "--json", "-e", "crowd:tick", self.output],
                              stdout=subprocess.PIPE, text=True, check=True, timeout=TIMEOUT)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        events = [x for x in lines if "crowd:tick" in json.dumps(x)]
        self.assertEqual(len(events), 12000)
        # And with the other reader, in CTF 2 and compressed, expanded.
        traces = [t for name in self.chunks() for t in self.read_chunk(name).values()]
        self.assertEqual(sum(len(t.events) for t in traces), 12000)

    def test_other_formats(self):
        process = self.start(*BLOCK, "--rotate-size", "64K", "--buffer-size", "64K", "--format", "ctf2",
                             "--compress", command=["fire", "2", "2", "20000"])
        self.end(process)
        self.assertGreater(len(self.chunks()), 1)
        total = 0
        for name in self.chunks():
            done = subprocess.run([SIDE, "view", "--json", "-e", "crowd:tick",
                                   os.path.join(self.output, name)],
                                  stdout=subprocess.PIPE, text=True, check=True, timeout=TIMEOUT)
            total += done.stdout.count('"crowd:tick"')
        self.assertEqual(total, 80000)

    def test_losses_belong_to_their_chunk(self):
        recorder = self.obey("--buffer-size", "64K", "--rotate")
        for number in range(1, 4):
            # Until events were lost since the last chunk, which it reports.
            self.send(recorder, 40000)
            recorder.send_signal(signal.SIGUSR2)
            self.chunk(number)
        self.end(recorder)
        recorded = reported = discarded = 0
        for name in self.chunks():
            for trace in self.read_chunk(name).values():
                recorded += len(trace.events)
                reported += sum(trace.lost.values())
                discarded += trace.discarded
                self.assertLessEqual(sum(trace.lost.values()), 40000)
        self.assertEqual(recorded + reported, 120000)
        self.assertEqual(discarded, reported)
        self.assertEqual(self.summary["lost"], reported)

    def test_on_request(self):
        recorder = self.obey("--rotate")
        self.send(recorder, 10)
        recorder.send_signal(signal.SIGUSR2)
        self.assertEqual(ticks(read(self.chunk(1))), {0: list(range(10))})
        self.send(recorder, 5)
        recorder.send_signal(signal.SIGUSR2)
        self.assertEqual(ticks(read(self.chunk(2))), {0: list(range(10, 15))})
        self.send(recorder, 1)
        self.end(recorder)
        self.assertEqual(ticks(read(self.chunk(3))), {0: [15]})
        self.assertEqual(len(self.chunks()), 3)
        self.assertTidy()

    def test_no_empty_chunk(self):
        recorder = self.obey("--rotate")
        self.send(recorder, 10)
        recorder.send_signal(signal.SIGUSR2)
        self.chunk(1)
        for _ in range(5):
            recorder.send_signal(signal.SIGUSR2)
            time.sleep(0.02)
        self.end(recorder)
        self.assertEqual(len(self.chunks()), 1)
        self.assertTidy()

    def test_every_second(self):
        recorder = self.obey("--rotate-every", "1s")
        for _ in range(3):
            before = len(self.chunks())
            self.send(recorder, 10)
            wait_until(lambda: len(self.chunks()) > before, "chunk")
        self.end(recorder)
        numbers = [n for name in self.chunks() for n in ticks(self.read_chunk(name))[0]]
        self.assertEqual(numbers, list(range(30)))

    def test_windows_come_at_the_end(self):
        recorder = self.obey("--rotate", "-e", "crowd:mark", "--channel", "flight", "--mode", "overwrite",
                             "-e", "crowd:tick")
        self.send(recorder, 100)
        self.send(recorder, "mark 1")
        recorder.send_signal(signal.SIGUSR2)
        (trace,) = read(self.chunk(1)).values()
        self.assertEqual(trace.names(), {"crowd:mark"})
        recorder.send_signal(signal.SIGUSR1)
        path = os.path.join(self.output, "snapshot-1")
        wait_until(lambda: os.path.isdir(path), "snapshot")
        self.assertEqual(ticks(read(path)), {0: list(range(100))})
        self.end(recorder)
        self.assertEqual(ticks(read(self.chunk(2))), {0: list(range(100))})

    def test_into_a_directory_that_has_chunks(self):
        self.end(self.start("--rotate", command=["fire", "1", "1", "10"]))
        before = self.chunks()
        # A recorder was killed while it removed an old one.
        os.makedirs(os.path.join(self.output, ".removed-chunk-0000-20240229-120000", "trace"))
        self.end(self.start("--rotate", "--force", "--keep-count", "1",
                            command=["fire", "1", "1", "20"]))
        self.assertTidy()
        self.assertEqual(self.chunks()[:1], before)
        self.assertEqual(ticks(read(self.chunk(2))), {0: list(range(20))})

    def test_as_before_without(self):
        self.end(self.start(command=["fire", "1", "1", "10"]))
        self.assertEqual(ticks(read(self.output)), {0: list(range(10))})
        self.assertEqual(self.chunks(), [])
        self.assertNotIn("chunks", self.summary)

    def test_mistakes(self):
        for options, sentence in ((("--keep-count", "3"), "they need --rotate"),
                                  (("--rotate-size", "1K"), "less than 64 KiB"),
                                  (("--rotate-every", "10ms"), "shorter than a second"),
                                  (("--rotate-size", "1M", "--keep-size", "100K"), "smaller than one")):
            self.end(self.start(*options, command=["fire", "1", "1", "1"]), status=2)
            self.assertIn(sentence, self.messages)
            self.assertFalse(os.path.exists(self.output))


class Guide(Store):
    def test_commands(self):
        """The commands of docs/how-to/rotation.md are accepted, and record."""
        with open(os.environ["SESSION_GUIDE"]) as file:
            commands = [line.partition("#")[0].strip() for line in file if line.startswith("    side record")]
        self.assertGreater(len(commands), 8)
        for command in commands:
            self.assertTrue(command.endswith("-o trace ./server"), command)
            options = shlex.split(command)[2:-3]
            self.end(self.start(*options, command=["fire", "1", "1", "100"]))
            found = [t for d, names, _ in os.walk(self.output) for n in names
                     if re.fullmatch(r"session-crowd-\d+-0", n)
                     for t in read(os.path.dirname(os.path.join(d, n))).values()]
            self.assertEqual([len(t.events) for t in found], [100], command)
            shutil.rmtree(self.output)


class Retention(Store):
    def is_in_hand(self):
        return any(n.startswith(".chunk") for n in os.listdir(self.output))

    def test_count(self):
        recorder = self.obey("--rotate", "--keep-count", "2")
        for number in range(1, 6):
            self.send(recorder, 10)
            recorder.send_signal(signal.SIGUSR2)
            self.chunk(number)
        wait_until(lambda: len(self.chunks()) == 2, "two")
        self.assertEqual(ticks(read(self.chunk(4))), {0: list(range(30, 40))})
        self.end(recorder)
        self.assertEqual(len(self.chunks()), 2)
        self.assertEqual((self.summary["chunks"], self.summary["chunks_removed"]), (5, 3))
        self.assertTidy()

    def test_age(self):
        recorder = self.obey("--rotate", "--keep-age", "1s")
        self.send(recorder, 10)
        wait_until(self.is_in_hand, "records")
        recorder.send_signal(signal.SIGUSR2)
        wait_until(lambda: not self.is_in_hand(), "the end of a chunk")
        self.send(recorder, 10)
        wait_until(lambda: not self.chunks(), "end of it")
        # A chunk that is being written has no age.
        self.end(recorder)
        self.assertEqual([ticks(self.read_chunk(n)) for n in self.chunks()], [{0: list(range(10, 20))}])
        self.assertEqual((self.summary["chunks"], self.summary["chunks_removed"]), (2, 1))

    def test_size(self):
        process = self.start(*BLOCK, "--buffer-size", "64K", "--rotate-size", "64K", "--keep-size", "256K",
                             command=["fire", "1", "1", "60000"])
        self.end(process)
        # The names of libraries (.maps) are not counted.
        self.assertLessEqual(size_of(self.output), 256 * KIB + 64 * KIB)
        self.assertGreater(self.summary["chunks_removed"], 2)
        self.assertGreater(self.summary["chunks_removed_bytes"], 256 * KIB)
        self.assertEqual(len(self.chunks()),
                         self.summary["chunks"] - self.summary["chunks_removed"])
        numbers = sorted(n for name in self.chunks()
                         for n in ticks(self.read_chunk(name)).get(0, ()))
        self.assertEqual(len(set(numbers)), len(numbers))
        self.assertGreater(numbers[0], 0)
        self.assertEqual(numbers[-1], 59999)
        self.assertTidy()

    def test_another_process_takes_chunks(self):
        recorder = self.obey("--rotate", "--keep-count", "1")
        for number in range(1, 4):
            self.send(recorder, 10)
            recorder.send_signal(signal.SIGUSR2)
            path = self.chunk(number)
            if number == 1:
                os.rename(path, os.path.join(self.dir, "taken"))
        self.end(recorder)
        self.assertEqual(self.messages, "")
        self.assertEqual(ticks(read(os.path.join(self.dir, "taken"))), {0: list(range(10))})


def private_mounts():
    """Enters a separate mount namespace, so that no mount is left. Returns None, or the reason."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, mount = 0x10000000, 0x20000
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(mount):
        if libc.unshare(user | mount):
            return f"no mount namespace can be made: {os.strerror(ctypes.get_errno())}"
        try:
            for name, text in ("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1"):
                with open(f"/proc/self/{name}", "w") as file:
                    file.write(text)
        except OSError as error:
            return f"no user namespace can be made: {error}"
    done = subprocess.run(["mount", "--make-rprivate", "/"], stderr=subprocess.PIPE, text=True)
    return done.stderr.strip() if done.returncode else None


class Full(Store):
    @classmethod
    def setUpClass(cls):
        why = private_mounts()
        if why:
            raise unittest.SkipTest(why)

    def setUp(self):
        super().setUp()
        self.mount = os.path.join(self.dir, "small")
        os.mkdir(self.mount)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2M", "none", self.mount],
                              stderr=subprocess.PIPE, text=True)
        if done.returncode:
            self.skipTest(f"no tmpfs can be mounted: {done.stderr}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.mount])
        self.output = os.path.join(self.mount, "out")
        self.filler = os.path.join(self.mount, "filler")

    def fill(self, left=0):
        """Leaves so many free bytes, or none. The recorder may be writing meanwhile."""
        page = os.sysconf("SC_PAGESIZE")
        with open(self.filler, "wb", buffering=0) as file:
            try:
                while True:
                    status = os.statvfs(self.mount)
                    if left and status.f_bavail * status.f_frsize <= left:
                        return
                    file.write(bytes(page))
            except OSError as error:
                self.assertEqual(error.errno, errno.ENOSPC)

    def written(self):
        return sum(size_of(os.path.join(self.output, n)) for n in os.listdir(self.output))

    def assertExact(self, fired, traces):
        recorded = sum(len(numbers) for t in traces for numbers in ticks({0: t}).values())
        reported_losses = sum(sum(t.lost.values()) for t in traces)
        self.assertEqual(recorded + reported_losses, fired)
        self.assertEqual(sum(t.discarded for t in traces), reported_losses)
        self.assertEqual(self.summary["lost"], reported_losses)
        self.assertEqual(self.summary["unwritten"], 0)
        for trace in traces:
            numbers = [f["sequence"] for n, f, _ in trace.events if n == "crowd:tick"]
            self.assertEqual(len(set(numbers)), len(numbers))
        return reported_losses

    def test_nothing_is_lost_while_rings_have_space(self):
        recorder = self.obey("--buffer-size", "1M")
        self.send(recorder, 100)
        wait_until(lambda: os.listdir(self.output) and self.written() > 1600, "records")
        self.fill()
        fired = self.send(recorder, 20000)
        before = self.written()
        # The recorder tries once a second.
        time.sleep(1.5)
        self.assertLess(self.written() - before, 100 * KIB)
        os.unlink(self.filler)
        wait_until(lambda: self.written() > fired * 16, "the rest")
        fired = self.send(recorder, 100)
        self.end(recorder)
        traces = list(read(self.output).values())
        self.assertEqual(self.assertExact(fired, traces), 0)
        self.assertIn("is full (No space left on device)", self.messages)
        self.assertEqual(self.messages.count("No space left"), 1)
        self.assertGreaterEqual(self.summary["disk_full"], 1)

    def test_losses_are_reported(self):
        recorder = self.obey("--buffer-size", "64K")
        self.send(recorder, 100)
        wait_until(lambda: os.listdir(self.output) and self.written() > 1600, "records")
        self.fill(left=8 * KIB)
        self.send(recorder, 10000)
        # That has woken the recorder; once all its threads wait again, it has detected the full
        # disk.
        wait_until(lambda: states(recorder.pid) == {"S"}, "a recorder that waits")
        self.send(recorder, 100000)
        before = self.written()
        os.unlink(self.filler)
        wait_until(lambda: self.written() > before + 32 * KIB, "more")
        fired = self.send(recorder, 100)
        self.end(recorder, status=1)
        traces = list(read(self.output).values())
        self.assertGreater(self.assertExact(fired, traces), 0)
        self.assertIn("found no space in the rings while the disk was full", self.messages)

    def test_processes_that_end_meanwhile(self):
        """Their rings wait, too, and their exit is not delayed."""
        process = self.start("--buffer-size", "1M", "--rotate", command=["obey"])
        self.pid = int(process.stdout.readline())
        self.send(process, 100)
        wait_until(lambda: self.written() > 1600, "records")
        self.fill()
        self.send(process, 1000)
        # A chunk cannot be finished now; it appears later.
        process.send_signal(signal.SIGUSR2)
        self.send(process, 1000)
        time.sleep(1.5)
        self.assertEqual(self.chunks(), [])
        os.unlink(self.filler)
        self.chunk(1)
        self.send(process, 10)
        self.end(process)
        self.assertTidy()
        traces = [t for name in self.chunks() for t in self.read_chunk(name).values()]
        self.assertEqual(self.assertExact(2110, traces), 0)

    def test_full_to_the_end(self):
        """Records without space at the end are reported, and the written part is readable."""
        recorder = self.obey("--buffer-size", "1M")
        self.send(recorder, 100)
        wait_until(lambda: os.listdir(self.output) and self.written() > 1600, "records")
        self.fill()
        self.send(recorder, 50000)
        self.end(recorder, status=1)
        self.assertGreater(self.summary["unwritten"], 40000 * 16)
        (trace,) = read(self.output).values()
        numbers = ticks({0: trace}).get(0, [])
        self.assertEqual(len(numbers), len(set(numbers)))
        self.assertIn("still full", self.messages)


class Triggers(Store):
    FLIGHT = ("--mode", "overwrite", "--buffer-size", "64K", "--per-thread=8")

    def snapshots(self):
        return sorted((n for n in os.listdir(self.output) if n.startswith("snapshot-")),
                      key=lambda n: int(n.split("-")[1]))

    def snapshot(self, number):
        """Waits for a snapshot: returns its name and its content."""
        name = wait_until(lambda: next(
            (n for n in self.snapshots() if int(n.split("-")[1]) == number), None), f"snapshot {number}")
        return name, self.read_chunk(name)

    @staticmethod
    def marks(traces):
        return [f["number"] for t in traces.values() for n, f, _ in t.events if n == "crowd:mark"]

    def test_event(self):
        recorder = self.obey(*self.FLIGHT, "--snapshot-on", "event:crowd:mark where number >= 10")
        self.send(recorder, 1000)
        self.send(recorder, "mark 9")
        self.send(recorder, "mark 10")
        name, traces = self.snapshot(1)
        self.assertEqual(name, "snapshot-1")
        self.assertEqual(ticks(traces), {0: list(range(1000))})
        self.assertEqual(self.marks(traces), [9, 10])
        # An event that does not match makes none; a matching one makes one, after the pause.
        self.send(recorder, "mark 5")
        self.send(recorder, "mark 11")
        self.assertEqual(self.marks(self.snapshot(2)[1]), [9, 10, 5, 11])
        self.end(recorder)
        self.assertEqual(self.snapshots(), ["snapshot-1", "snapshot-2"])
        self.assertEqual(self.summary["snapshots"], 2)
        self.assertEqual(self.summary["lost"], 0)
        self.assertIn("snapshot-1 was made: event:crowd:mark where number >= 10", self.messages)
        # The process that watches for events is in no trace.
        (trace,) = read(self.output).values()
        self.assertEqual(self.marks({0: trace}), [9, 10, 5, 11])
        self.assertEqual((trace.discarded, trace.lost), (0, {}))

    def test_event_at_the_end(self):
        """Fired by a program that has exited before the recorder reads."""
        recorder = self.start(*self.FLIGHT, "--snapshot-on", "event:crowd:tick where sequence == 99",
                              command=["fire", "1", "1", "100"])
        self.end(recorder)
        self.assertEqual(self.snapshots(), ["snapshot-1"])
        self.assertEqual(ticks(self.snapshot(1)[1]), {0: list(range(100))})

    def test_rate(self):
        recorder = self.obey(*self.FLIGHT, "--snapshot-on", "rate:crowd:tick>5000/s")
        for _ in range(20):
            self.send(recorder, 10)
        # So many events at once are too many, even if they are read late.
        self.send(recorder, 100000)
        self.snapshot(1)
        self.end(recorder)
        self.assertIn("snapshot-1 was made: rate:crowd:tick>5000/s", self.messages)

    def test_no_rate(self):
        recorder = self.obey(*self.FLIGHT, "--snapshot-on", "rate:crowd:tick>100000/s")
        for _ in range(20):
            self.send(recorder, 10)
        self.end(recorder)
        self.assertEqual(self.snapshots(), [])

    def test_not_too_many(self):
        recorder = self.obey(*self.FLIGHT, "--snapshot-on", "event:crowd:mark", "--snapshot-max", "2")
        for number in range(1, 4):
            self.send(recorder, f"mark {number}")
            if number < 3:
                self.snapshot(number)
        self.end(recorder)
        self.assertEqual(self.snapshots(), ["snapshot-1", "snapshot-2"])
        self.assertIn("the limit of --snapshot-max is reached", self.messages)

    def test_one_a_second(self):
        recorder = self.obey(*self.FLIGHT, "--snapshot-on", "event:crowd:mark")
        begin = time.monotonic()
        for number in range(200):
            self.send(recorder, f"mark {number}")
            time.sleep(0.005)
        self.end(recorder)
        # The one at the end may come sooner.
        self.assertLessEqual(len(self.snapshots()), time.monotonic() - begin + 2)
        self.assertGreaterEqual(len(self.snapshots()), 1)
        self.assertEqual(self.marks(self.snapshot(len(self.snapshots()))[1]), list(range(200)))

    def test_signal_as_always(self):
        recorder = self.obey(*self.FLIGHT, "--snapshot-on", "signal:USR1")
        self.send(recorder, 10)
        recorder.send_signal(signal.SIGUSR1)
        self.assertEqual(ticks(self.snapshot(1)[1]), {0: list(range(10))})
        self.end(recorder)

    def crash(self, verb, number, status):
        process = self.start(*self.FLIGHT, "--snapshot-on", "crash",
                             command=[verb, str(int(number)), "500"])
        self.end(process, status=status)
        return self.snapshots()

    def test_crash_of_the_command(self):
        for number in signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE:
            (name,) = self.crash("crash", number, 128 + number)
            self.assertRegex(name, rf"^snapshot-1-session-crowd-\d+-{number.name}$")
            (trace,) = self.read_chunk(name).values()
            self.assertEqual(ticks({0: trace}), {0: list(range(500))})
            self.assertIn(f"died of {number.name}", self.messages)
            shutil.rmtree(self.output)

    def test_crash_of_a_child(self):
        """A child whose parent is not the recorder, and which gets its status at once."""
        names = self.crash("family", signal.SIGSEGV, 0)
        if "is not known" in self.messages:
            self.assertEqual(names, [])
            self.skipTest("the kernel does not keep the status of other's children")
        (name,) = names
        self.assertRegex(name, r"^snapshot-1-session-crowd-\d+-SIGSEGV$")
        pid = int(name.split("-")[4])
        trace = next(t for t in self.read_chunk(name).values() if t.pid == pid)
        self.assertEqual(ticks({0: trace}), {0: list(range(500))})

    def test_other_ends_are_no_crash(self):
        self.assertEqual(self.crash("crash", signal.SIGTERM, 128 + signal.SIGTERM), [])
        shutil.rmtree(self.output)
        self.assertEqual(self.crash("family", signal.SIGKILL, 0), [])
        shutil.rmtree(self.output)
        self.assertEqual(self.crash("fire", 1, 2), [])

    def test_beside_channels_and_files(self):
        buffers = os.path.join(self.dir, "buffers")
        recorder = self.obey("-e", "crowd:tick", "--buffers", buffers, "--rotate", "--channel", "flight",
                             *self.FLIGHT, "--snapshot-on", "event:crowd:mark", "--snapshot-on", "crash")
        self.send(recorder, 100)
        self.send(recorder, "mark 1")
        _, traces = self.snapshot(1)
        self.assertEqual((ticks(traces), self.marks(traces)), ({0: list(range(100))}, [1]))
        self.end(recorder)
        (name,) = self.chunks()
        (trace,) = self.read_chunk(name).values()
        self.assertEqual(len(trace.events), 201)
        self.assertFalse(os.path.exists(buffers))

    def test_mistakes(self):
        for text, sentence in (("event", "write event:PATTERN"), ("event:", "write event:PATTERN"),
                               ("event:crowd:[a", "not closed"), ("rate:crowd:tick", "a rate must end in"),
                               ("rate:crowd:tick>5", "a rate must end in"), ("rate:x>0/s", "a rate must end in"),
                               ("event:crowd:tick where sequence >", "filter"),
                               ("signal:USR2", "write event:PATTERN")):
            process = self.start("--mode", "overwrite", "--snapshot-on", text,
                                 command=["fire", "1", "1", "1"])
            self.end(process, status=2)
            self.assertIn(sentence, self.messages)
            self.assertIn("--snapshot-on", self.messages)
            self.assertFalse(os.path.exists(self.output))
        self.end(self.start("--snapshot-on", "crash", command=["fire", "1", "1", "1"]), status=2)
        self.assertIn("no channel has `--mode overwrite`", self.messages)


if __name__ == "__main__":
    unittest.main(verbosity=2)
