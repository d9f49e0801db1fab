# SPDX-License-Identifier: MIT
"""Channels through the command line: modes, placements, filters, contexts, snapshots, the files of
killed recorders and programs. babeltrace2 reads the traces.
"""
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from recording import HOSTILE, LONG, PROGRAM, SANITIZED, Case, read

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import stop_process, wait_until

SIDE = os.environ["SIDE"]
KIB = 1024
RECORD = 16          # bytes of a test:tick with a compact header
BLOCKS = 8           # of a ring


class CommandLine(Case):
    """`side record` with its summary as JSON."""

    def side(self, *args, **kwargs):
        env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "SIDE_AGENT_SOCKET")}
        return subprocess.Popen([SIDE, *args], stdout=subprocess.PIPE,
                                stderr=kwargs.pop("stderr", subprocess.PIPE),
                                stdin=kwargs.pop("stdin", subprocess.DEVNULL), text=True,
                                env={**env, **kwargs.pop("env", {})}, **kwargs)

    def end(self, process, timeout=120):
        self.out, self.err = process.communicate(timeout=timeout)
        if self.err is None:
            with open(self.errors) as file:
                self.err = file.read()
        self.objects = []
        for line in self.err.splitlines():
            if line.startswith('{"schema"'):
                self.objects.append(json.loads(line))
        self.messages = " / ".join(o["message"] for o in self.objects if "message" in o)
        found = [o for o in self.objects if o["type"] == "summary"]
        self.summary = found[0] if found else None
        return process.returncode

    def side_record(self, options, *command, status=0, **kwargs):
        """Records the program; returns its only trace."""
        process = self.side("record", "--json", "-o", self.output, *options, "--", PROGRAM, *command,
                            **kwargs)
        self.assertEqual(self.end(process), status, self.err)
        self.traces = read(self.output)
        self.assertEqual(sorted(self.traces),
                         sorted(p["directory"] for p in self.summary["processes"]
                                if p["directory"]), self.err)
        return next(iter(self.traces.values()))

    def fails(self, *options):
        """Checks that the command line is wrong: nothing starts, nothing is created."""
        process = self.side("record", "--json", "-o", self.output, *options, "--", "/bin/echo", "ran")
        self.assertEqual(self.end(process), 2, self.err)
        self.assertEqual(self.out, "")
        self.assertFalse(os.path.exists(self.output))
        return self.objects[-1]

    def begin_obedient(self, *options, more=(), **kwargs):
        """Starts a program that fires as many events as requested; returns (recorder, pid of program)."""
        recorder = self.side("record", "--json", "-o", self.output, *options, "--", *more, PROGRAM,
                             "obey", stdin=subprocess.PIPE, **kwargs)
        self.addCleanup(self.put_down, recorder)
        return recorder, int(recorder.stdout.readline())

    @staticmethod
    def put_down(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in process.stdin, process.stdout, process.stderr:
            if stream:
                stream.close()

    @staticmethod
    def fire(recorder, count):
        recorder.stdin.write(f"{count}\n")
        recorder.stdin.flush()
        return int(recorder.stdout.readline())

    def snapshot(self, recorder, number):
        """Requests a snapshot, and reads it when it exists."""
        recorder.send_signal(signal.SIGUSR1)
        path = os.path.join(self.output, f"snapshot-{number}")
        wait_until(lambda: os.path.isdir(path), path)
        return read(path)

    def assertWindow(self, sequences, last, size, record=RECORD):
        """Checks the last window of a ring: no hole, at least a ring without two of its sub-buffers, at most a ring."""
        self.assertEqual(sequences, list(range(sequences[0], last + 1)))
        # The first records of sub-buffers are larger by 9 bytes: a record more or less.
        self.assertGreaterEqual((len(sequences) + 2) * (record + 1), size - 2 * size // BLOCKS)
        self.assertLessEqual(len(sequences) * record, size)


class Sandbox(CommandLine):
    def test_no_calls(self):
        """In a sandbox that permits none, no thread is woken or waited for; records without space are counted."""
        if SANITIZED:
            self.skipTest("a sanitizer makes calls of its own")
        for options in ([], ["--mode", "block"], ["--mode", "overwrite"], ["--per-thread"]):
            for portable in ({}, {"SIDE_RING_PORTABLE": "1"}):
                with self.subTest(options=options, portable=portable):
                    shutil.rmtree(self.output, True)
                    trace = self.side_record(["--buffer-size", "64K", *options], "locked", "20000",
                                             env=portable)
                    seen = trace.ticks(0)
                    if "overwrite" in options:
                        self.assertEqual(seen, list(range(seen[0], 20000)))
                        continue
                    self.assertEqual(seen, sorted(set(seen)))
                    self.assertGreater(len(seen), 0)
                    self.assertEqual(len(seen) + sum(trace.lost.values()), 20000)
                    self.assertEqual(self.summary["lost"], 20000 - len(seen))

    def test_first_event_inside(self):
        """A thread fires its first event where no call is permitted."""
        if SANITIZED:
            self.skipTest("a sanitizer makes calls of its own")
        trace = self.side_record(["--buffer-size", "64K"], "locked-first", "20000")
        seen = trace.ticks(0)
        self.assertEqual(seen[0], 0)
        self.assertEqual(seen, sorted(set(seen)))
        self.assertEqual(len(seen) + sum(trace.lost.values()), 20000)


class Modes(CommandLine):
    def test_overwrite_keeps_the_last_window_of_a_killed_program(self):
        for portable in (False, True):
            with self.subTest(portable=portable):
                env = {"SIDE_RING_PORTABLE": "1"} if portable else {}
                trace = self.side_record(
                    ["--mode", "overwrite", "--buffer-size", "64K", "--per-thread=4"],
                    "die", "50000", "kill", status=137, env=env)
                (sequences,) = trace.of(0).values()
                self.assertWindow(sequences, 49999, 64 * KIB)
                self.assertEqual((self.summary["lost"], trace.lost, trace.discarded), (0, {}, 0))
                # The remainder is reported, and is no loss.
                self.assertGreater(self.summary["overwritten"], 50000 * RECORD - 64 * KIB - 1000)
                shutil.rmtree(self.output)

    def test_overwrite_by_cpu(self):
        trace = self.side_record(["--mode", "overwrite", "--buffer-size", "64K"],
                                 "die-threads", "3", "40000", status=137)
        ticks = [(f["thread"], f["sequence"]) for n, f, _ in trace.events if n == "test:tick"]
        self.assertEqual(len(ticks), len(set(ticks)))
        rings = {}
        for (_, fields, ns), (_, ring, _, _) in zip(trace.events, trace.details):
            rings.setdefault(ring, []).append((ns, fields["thread"], fields["sequence"]))
        # From the latest begin of a window on, all fired events are there.
        begin = max(events[0][0] for events in rings.values())
        for thread in range(3):
            after = [s for r in rings.values() for ns, t, s in r if t == thread and ns >= begin]
            if after:
                self.assertEqual(sorted(after), list(range(min(after), 40000)))

    def test_overwrite_less_than_a_ring_loses_nothing(self):
        trace = self.side_record(["--mode", "overwrite"], "fire", "2", "1000", status=7)
        for thread in range(2):
            self.assertSequence(trace, thread, 1000)
        self.assertEqual(self.summary["overwritten"], 0)

    def test_block_loses_nothing_with_a_slow_recorder(self):
        recorder = self.side("record", "--json", "-o", self.output, "--mode", "block",
                             "--block-timeout", "10min", "--buffer-size", "64K", "--",
                             PROGRAM, "fire", "3", "12000")
        for _ in range(20):
            if recorder.poll() is not None:
                break
            recorder.send_signal(signal.SIGSTOP)
            time.sleep(0.02)
            recorder.send_signal(signal.SIGCONT)
            time.sleep(0.005)
        self.assertEqual(self.end(recorder), 7, self.err)
        self.traces = read(self.output)
        (trace,) = self.traces.values()
        for thread in range(3):
            self.assertSequence(trace, thread, 12000)
        self.assertNothingLost()

    def test_block_waits_for_a_bounded_time_only(self):
        """The recorder never wakes up: a blocking program runs on, and its losses are counted."""
        trace = self.side_record(["--mode", "block", "--block-timeout", "5ms", "--buffer-size", "64K"],
                                 "flood-unread", "200000")
        lost = sum(trace.lost.values())
        self.assertGreater(lost, 0)
        self.assertEqual(len(trace.ticks(0)) + lost, 200000)

    def test_discard_counts_its_losses(self):
        trace = self.side_record(["--buffer-size", "64K", "--per-thread=4"], "flood-unread", "200000")
        lost = sum(trace.lost.values())
        self.assertGreater(lost, 0)
        self.assertEqual(len(trace.ticks(0)) + lost, 200000)
        self.assertEqual({(e, r) for _, e, r in trace.lost}, {("test:tick", "ring full")})
        self.assertTrue(all(re.fullmatch(r"ring_\d", ring) for ring, _, _ in trace.lost))

    def test_threads_have_rings(self):
        trace = self.side_record(["--per-thread=40", "--context", "vtid"], "fire", "4", "2000", status=7)
        rings = trace.of(0)
        self.assertEqual(len(rings), 4)
        self.assertEqual(sorted(rings.values()), [list(range(2000))] * 4)
        # A ring belongs to a thread: one vtid in each; and no file for the others.
        for ring in rings:
            self.assertEqual(len({d[2]["vtid"] for d in trace.details if d[1] == ring}), 1)
        files = os.listdir(os.path.join(self.output, trace.name))
        self.assertEqual(len([f for f in files if f.startswith("ring_")]), 4)
        self.assertNothingLost()

    def test_rings_of_threads_that_ended_are_used_again(self):
        trace = self.side_record(["--per-thread=4"], "fire-in-turn", "50", "20")
        for thread in range(50):
            self.assertSequence(trace, thread, 20)
        self.assertLessEqual(len(trace.of(0)), 4)
        self.assertNothingLost()

    def test_too_many_threads_are_counted(self):
        trace = self.side_record(["--per-thread=2"], "fire", "5", "3000", status=7)
        recorded = sum(len(trace.ticks(t)) for t in range(5))
        self.assertEqual(recorded + sum(trace.lost.values()), 15000)

    def test_huge_pages_are_used_or_missed(self):
        trace = self.side_record(["--huge-pages", "--prefault", "--buffer-size", "2M"],
                                 "fire", "2", "1000", status=7)
        for thread in range(2):
            self.assertSequence(trace, thread, 1000)
        with open("/proc/meminfo") as file:
            total = int(re.search(r"HugePages_Total:\s+(\d+)", file.read()).group(1))
        if not total:
            self.assertIn("huge pages", self.messages)

    def test_memory_is_bounded_over_all_channels(self):
        cpus = os.sysconf("SC_NPROCESSORS_CONF")
        found = self.fails("--buffer-size", "4M", "--channel", "more", "--buffer-size", "4M",
                           "--memory-limit", f"{cpus * 4 + 2}M")
        self.assertIn("--memory-limit", found["message"])
        self.side_record(["--buffer-size", "1M", "--channel", "more", "--buffer-size", "2M",
                          "--memory-limit", f"{cpus * 3 + 4}M"], "fork", "3")
        self.assertLessEqual(self.summary["memory_peak"], (cpus * 3 + 4) * KIB * KIB)


class Channels(CommandLine):
    def test_two_channels_with_everything_different(self):
        trace = self.side_record(
            ["-e", "test:tick", "--filter", "sequence % 10 == 3 && thread == 1", "--context",
             "vtid,procname",
             "--channel", "other", "--mode", "overwrite", "--per-thread", "--context", "vpid",
             "-e", "test:tick", "--filter", "sequence < 50", "--event-context", "cpu_id",
             "-e", "test:note"],
            "fire", "2", "1000", status=7)
        first, other = [], []
        for (name, fields, _), (channel, ring, common, own) in zip(trace.events, trace.details):
            self.assertEqual(name, "test:tick")
            if channel == 0:
                self.assertEqual(fields["thread"], 1)
                first.append(fields["sequence"])
                self.assertEqual(sorted(common), ["procname", "vtid"])
                self.assertEqual(common["procname"], os.path.basename(PROGRAM)[:15])
                self.assertEqual(own, {})
            else:
                other.append((fields["thread"], fields["sequence"]))
                self.assertEqual(common, {"vpid": trace.pid})
                self.assertEqual(list(own), ["cpu_id"])
        self.assertEqual(first, list(range(3, 1000, 10)))
        self.assertEqual(sorted(other), [(t, s) for t in range(2) for s in range(50)])
        files = os.listdir(os.path.join(self.output, trace.name))
        self.assertTrue(any(f.startswith("ring_") for f in files), files)
        self.assertEqual(len([f for f in files if f.startswith("other_")]), 2, files)

    def test_one_event_in_several_rules(self):
        """Any rule records it, once; a filter before the rules applies to all of them."""
        trace = self.side_record(
            ["--filter", "sequence < 100", "-e", "test:tick", "--filter", "thread == 0",
             "-e", "test:*", "--filter", "sequence >= 90"], "fire", "2", "1000", status=7)
        self.assertEqual(trace.ticks(0), list(range(100)))
        self.assertEqual(trace.ticks(1), list(range(90, 100)))

    def test_filter_on_a_context(self):
        trace = self.side_record(["--filter", '$ctx.vpid == 1 || $ctx.procname == "session*"'],
                                 "fire", "1", "10", status=7)
        self.assertSequence(trace, 0, 10)
        shutil.rmtree(self.output)
        process = self.side("record", "--json", "-o", self.output, "--filter",
                            '$ctx.procname == "nobody*"', "--", PROGRAM, "fire", "1", "10")
        self.assertEqual(self.end(process), 7, self.err)
        self.assertEqual(os.listdir(self.output), [])

    def test_a_filter_that_fits_no_event(self):
        process = self.side("record", "--json", "-o", self.output, "-e", "test:tick", "--filter",
                            "speed > 3", "--", PROGRAM, "fire", "1", "10")
        self.assertEqual(self.end(process), 7, self.err)
        self.assertIn("speed > 3", self.messages)
        self.assertIn("cannot apply the filter `speed > 3` to any of its events", self.messages)
        shutil.rmtree(self.output)
        # One of the events has the field: that is how users write it.
        self.side_record(["-e", "test:*", "--filter", "thread == 0"], "fire", "2", "10", status=7)
        self.assertNotIn("cannot apply the filter", self.messages)

    def test_mistakes_are_shown_where_they_are(self):
        found = self.fails("-e", "a:b", "--filter", "size > > 3")
        self.assertEqual((found["text"], found["column"]), ("size > > 3", 8))
        found = self.fails("--context", "vtid, bogus")
        self.assertEqual((found["text"], found["column"]), ("vtid, bogus", 7))
        found = self.fails("--event-context", "vtid")
        self.assertIn("there is no `-e`", found["message"])
        found = self.fails("--filter", "a > 1 && $ctx.nobody == 3")
        self.assertIn("nobody", found["message"])
        self.assertEqual(found["column"], 11 if found["column"] == 11 else 15)
        for options, part in (
                (["-e", "a", "--filter", "x > 1", "--filter", "y > 1"], "&&"),
                (["--channel", "a/b"], "is not a valid name of a channel"),
                (["-e", "x", "--channel", "ring"], "two channels"),
                (["--channel", "a", "--channel", "a"], "two channels"),
                (["--per-thread=0"], "between 1 and"),
                (["--block-timeout", "5"], "is not a time"),
                (["--block-timeout", "5ms"], "its mode is not block"),
                (["--compress=99"], "levels are 1 to"),
                (["--mode", "fast"], "discard, overwrite or block"),
                (["--buffer-size", "1K"], "is not between 64 KiB and 4 GiB")):
            with self.subTest(options=options):
                found = self.fails(*options)
                self.assertIn(part, found["message"] + found.get("hint", ""))
        process = self.side("record", "--filter", "size > > 3", "true")
        self.assertEqual(self.end(process), 2)
        self.assertEqual(self.err.splitlines()[1:], ["  size > > 3", "         ^", "hint: `side help filters` describes the syntax"])

    def test_formats(self):
        for options in (["--format", "ctf2"], ["--compress"], ["--compress=1", "--format", "ctf2"]):
            with self.subTest(options=options):
                process = self.side("record", "--json", "-o", self.output, *options, "--context",
                                    "vtid", "--", PROGRAM, "fire", "2", "500")
                self.assertEqual(self.end(process), 7, self.err)
                view = self.side("view", "--json", self.output)
                self.assertEqual(self.end(view), 0, self.err)
                self.assertEqual(self.out.count('"test:tick"'), 1000)
                shutil.rmtree(self.output)


class Nested(CommandLine):
    def test_a_recording_inside_a_recording(self):
        inner = os.path.join(self.dir, "inner")
        process = self.side("record", "--json", "-o", self.output, "-e", "test:tick", "--",
                            SIDE, "record", "-q", "-o", inner, "--filter", "sequence >= 40",
                            "--context", "vtid", "--mode", "overwrite", "--",
                            PROGRAM, "fork", "2")
        self.assertEqual(self.end(process), 0, self.err)
        for path, count in (self.output, 100), (inner, 60):
            # The parent, its child and its grandchild; the last one only has its note.
            found = sorted(len([1 for n, _, _ in t.events if n == "test:tick"])
                           for t in read(path).values())
            self.assertEqual([n for n in found if n], [count, count], path)

    def test_not_without_end(self):
        env = {"SIDE_AGENT_SOCKET": ":".join(["/nowhere"] * 8)}
        process = self.side("record", "--json", "-o", self.output, "--", PROGRAM, "kinds", env=env)
        self.assertEqual(self.end(process), 1)
        self.assertIn("already in 8 recordings", self.messages)
        # The outer recordings may have ended long ago.
        env = {"SIDE_AGENT_SOCKET": ":".join(["/nowhere"] * 7)}
        self.side_record([], "fire", "1", "10", status=7, env=env)

    @unittest.skipIf(SANITIZED, "a shell cannot load sanitized libraries")
    def test_libraries_are_preloaded_once(self):
        process = self.side("record", "-q", "-o", self.output, "--", SIDE, "record", "-q", "-o",
                            os.path.join(self.dir, "inner"), "--", "sh", "-c", "echo $LD_PRELOAD")
        self.assertEqual(self.end(process), 0, self.err)
        self.assertEqual(self.out.count("libside-agent.so"), 1)


class Snapshots(CommandLine):
    def test_snapshots_of_a_running_program(self):
        recorder, _ = self.begin_obedient("--mode", "overwrite", "--buffer-size", "64K",
                                          "--per-thread=4", "--channel", "plain", "-e", "other:*")
        self.fire(recorder, 1000)
        (trace,) = self.snapshot(recorder, 1).values()
        self.assertEqual(trace.ticks(0), list(range(1000)))
        self.fire(recorder, 30000)
        (trace,) = self.snapshot(recorder, 2).values()
        (sequences,) = trace.of(0).values()
        self.assertWindow(sequences, 30999, 64 * KIB)
        # No event in between: the same again.
        (trace,) = self.snapshot(recorder, 3).values()
        self.assertEqual(trace.of(0), {k: sequences for k in trace.of(0)})
        self.fire(recorder, 10)
        recorder.stdin.close()
        recorder.stdin = None
        self.assertEqual(self.end(recorder), 0, self.err)
        (trace,) = read(self.output).values()
        (sequences,) = trace.of(0).values()
        self.assertWindow(sequences, 31009, 64 * KIB)
        self.assertEqual(self.summary["snapshots"], 3)

    def viewed(self, *args):
        """Returns the numbers of all ticks in the directory, as `side view` reads it."""
        done = subprocess.run([SIDE, "view", "--json", "-e", "test:tick", *args, self.output],
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        return [json.loads(line)["fields"]["sequence"] for line in done.stdout.splitlines()]

    def test_all_windows_at_once(self):
        """Windows overlap; read together, each record of any window appears once, in order."""
        recorder, pid = self.begin_obedient("--mode", "overwrite", "--buffer-size", "64K", "--per-thread=4")
        in_any = set()

        def read_windows():
            for number in range(1, snapshots + 1):
                for trace in read(os.path.join(self.output, f"snapshot-{number}")).values():
                    in_any.update(trace.ticks(0))

        snapshots = 0
        follower = None
        for count in (1000, 500, 0, 2000, 30000, 700, 100):  # A window that grows, the same window, one much later.
            if count:
                self.fire(recorder, count)
            snapshots += 1
            self.snapshot(recorder, snapshots)
            read_windows()
            self.assertEqual(self.viewed(), sorted(in_any))
            if snapshots == 2:
                follower = subprocess.Popen(
                    [SIDE, "view", "--follow", "--json", "-e", "test:tick", self.output],
                    stdout=subprocess.PIPE, text=True)
                self.addCleanup(self.put_down, follower)
                followed = [json.loads(follower.stdout.readline())["fields"]["sequence"] for _ in range(1000)]
        self.fire(recorder, 10)
        recorder.stdin.close()
        recorder.stdin = None
        self.assertEqual(self.end(recorder), 0, self.err)
        for trace in read(self.output).values():
            in_any.update(trace.ticks(0))
        self.assertIn(34309, in_any)
        self.assertLess(len(in_any), 34310)  # Some were overwritten between two snapshots.
        self.assertEqual(self.viewed(), sorted(in_any))
        report = subprocess.run([SIDE, "report", "--json", self.output], capture_output=True,
                                text=True, check=True)
        overview = json.loads(report.stdout.splitlines()[0])
        self.assertEqual((overview["events"], overview["processes"], overview["lost"]), (len(in_any), 1, 0))
        # Not communicate(): it would lose what readline() has buffered.
        followed += [json.loads(line)["fields"]["sequence"] for line in follower.stdout]
        follower.wait(60)
        self.assertEqual(followed, sorted(in_any))

    def test_names_in_the_summary(self):
        """The summary names existing directories, also if other traces had these names first."""
        os.makedirs(os.path.join(self.output, "snapshot-1", "taken"))
        recorder = subprocess.Popen(
            [SIDE, "record", "--force", "-o", self.output, "--mode", "overwrite", "--", PROGRAM, "obey"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.put_down, recorder)
        recorder.stdout.readline()
        self.fire(recorder, 10)
        self.snapshot(recorder, 2)
        self.snapshot(recorder, 3)
        recorder.stdin.close()
        recorder.stdin = None
        _, err = recorder.communicate(timeout=60)
        self.assertIn(f"2 snapshots in {self.output}: snapshot-2, 10 events, and snapshot-3, 10 events; snapshots can share events\n", err)

    def test_while_it_fires(self):
        """Windows of a ring that is being overwritten have no holes."""
        recorder, _ = self.begin_obedient("--mode", "overwrite", "--buffer-size", "256K" if LONG else "64K", "--per-thread=4")
        recorder.stdin.write("1000000000000\n")
        recorder.stdin.flush()
        last = -1
        for number in range(1, 51 if LONG else 7):
            for trace in self.snapshot(recorder, number).values():
                for sequences in trace.of(0).values():
                    self.assertEqual(sequences, list(range(sequences[0], sequences[-1] + 1)))
                    # The program may not have run since the last snapshot.
                    self.assertGreaterEqual(sequences[-1], last)
                    last = sequences[-1]
        self.assertGreater(last, 0)
        recorder.terminate()
        self.assertEqual(self.end(recorder), 128 + signal.SIGTERM, self.err)
        self.assertEqual(self.summary["snapshots"], number)

    def test_the_end_of_a_recording_while_the_program_runs(self):
        recorder, pid = self.begin_obedient(
            "--mode", "overwrite", "--buffer-size", "64K", "--per-thread=4",
            preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        self.fire(recorder, 20000)
        # The first signal is passed on, to a program that ignores it; the second one ends the
        # recording.
        recorder.terminate()
        time.sleep(0.05)
        wait_until(lambda: recorder.poll() is not None or recorder.terminate(), "end")
        # The program has the pipes, too: the recorder's output must be read without their end.
        self.err = recorder.stderr.readline()
        self.assertIn('"interrupted":true', self.err)
        (trace,) = read(self.output).values()
        (sequences,) = trace.of(0).values()
        self.assertWindow(sequences, 19999, 64 * KIB)

    def test_another_program_by_exec(self):
        process = self.side("record", "--json", "-o", self.output, "--mode", "overwrite", "--",
                            PROGRAM, "exec")
        self.assertEqual(self.end(process), 7, self.err)
        self.assertEqual(sorted(len(t.ticks(0)) for t in read(self.output).values()), [10, 20])

    def test_without_a_flight_recorder(self):
        recorder, _ = self.begin_obedient()
        recorder.send_signal(signal.SIGUSR1)
        self.fire(recorder, 10)
        recorder.stdin.close()
        recorder.stdin = None
        self.assertEqual(self.end(recorder), 0, self.err)
        self.assertIn("cannot make a snapshot: no channel has `--mode overwrite`", self.messages)


class Recovery(CommandLine):
    def recover(self, *paths, status=0):
        self.recovered = os.path.join(self.dir, "recovered")
        shutil.rmtree(self.recovered, True)
        process = self.side("recover", "--json", "-o", self.recovered, *paths)
        self.assertEqual(self.end(process), status, self.err)
        return read(self.recovered) if os.path.isdir(self.recovered) else {}

    def test_buffers_go_after_an_orderly_end(self):
        buffers = os.path.join(self.dir, "buffers")
        trace = self.side_record(["--buffers", buffers, "--mode", "overwrite", "--channel", "b"],
                                 "fire", "2", "100", status=7)
        self.assertEqual(len(trace.events), 400)
        self.assertFalse(os.path.exists(buffers))
        os.mkdir(buffers)
        shutil.rmtree(self.output)
        self.side_record(["--buffers", buffers], "fork", "3")
        self.assertEqual(os.listdir(buffers), [])
        self.recover(buffers, status=1)
        self.assertIn("no directory of `side record --buffers", self.messages)

    def test_recorder_and_program_are_killed(self):
        buffers = os.path.join(self.dir, "buffers")
        recorder, pid = self.begin_obedient(
            "--buffers", buffers, "--context", "vtid", "--channel", "flight", "--mode", "overwrite",
            "--per-thread=3", "--buffer-size", "64K", "-e", "test:tick", "--filter",
            "sequence % 2 == 1", "--event-context", "procname")
        self.fire(recorder, 1000)
        # Events that the recorder has written are no longer in its rings; events while it sleeps
        # are.
        wait_until(lambda: self.size_of_rings() > 1000 * RECORD, "written events")
        process = self.side("recover", "--json", "-o", os.path.join(self.dir, "early"), buffers)
        self.assertEqual(self.end(process), 1)
        self.assertIn("its recorder still runs", self.messages)
        stop_process(recorder.pid)
        self.fire(recorder, 500)
        recorder.kill()
        recorder.wait()
        os.kill(pid, signal.SIGKILL)
        before = {p: os.stat(p).st_mtime_ns for p in self.files(buffers)}
        (trace,) = self.recover(buffers).values()
        self.assertEqual({p: os.stat(p).st_mtime_ns for p in self.files(buffers)}, before)
        self.assertEqual(trace.pid, pid)
        plain = sorted(s for r in trace.of(0).values() for s in r)
        self.assertEqual(plain, list(range(1000, 1500)))
        (flight,) = trace.of(1).values()
        self.assertEqual(flight, list(range(1, 1500, 2)))
        for channel, _, common, own in trace.details:
            if channel:
                self.assertEqual((common, sorted(own)), ({}, ["procname"]))
            else:
                self.assertEqual((common, own), ({"vtid": pid}, {}))
        times = [ns for _, _, ns in trace.events]
        self.assertLess(abs(times[-1] - time.time_ns()), 600 * 10**9)
        self.assertIn(self.output, self.messages)
        # Only one folder, in another form.
        folder = os.path.join(buffers, os.listdir(buffers)[0])
        process = self.side("recover", "--json", "-o", os.path.join(self.dir, "ctf2"), "--format",
                            "ctf2", "--compress", folder)
        self.assertEqual(self.end(process), 0, self.err)
        view = self.side("view", "--json", os.path.join(self.dir, "ctf2"))
        self.assertEqual(self.end(view), 0, self.err)
        self.assertEqual(self.out.count('"test:tick"'), len(trace.events))

    def test_recorder_is_killed_within_a_round(self):
        """Rings are written one after the other, so the traces of a killed recorder end at another
        time for each ring, and a thread that has moved misses ticks in the middle. They are in the
        rings: each tick is in one of the two.
        """
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("on one CPU there is one ring")
        missed = 0
        for packet in range(10, 50 if LONG else 18, 1 if LONG else 2):
            with self.subTest(packet=packet):
                missed += self.killed_behind(packet)
        self.assertGreater(missed, 0, "no recorder was killed where something was missing")

    def killed_behind(self, packet):
        """Returns how many ticks the traces miss before the last one that they have."""
        top = tempfile.mkdtemp(dir=self.dir)
        self.output, buffers, published = (os.path.join(top, n) for n in ("out", "buffers", "published"))
        with open(published, "wb") as file:
            file.write(bytes(4096))
        recorder = self.start([PROGRAM, "kill-me-moving", published],
                              ["-r", "8388608", "-b", buffers, "-k", str(packet)],
                              env={"XDG_RUNTIME_DIR": top})
        recorder.stdout.close()
        self.assertEqual(recorder.wait(120), -signal.SIGKILL)
        (folder,) = os.listdir(buffers)
        os.kill(int(folder.split("-")[-2]), signal.SIGKILL)
        (written,) = read(self.output).values()
        # At most one: there may be none.
        left = list(self.recover(buffers).values())
        self.assertLessEqual(len(left), 1)
        for trace in [written, *left]:
            self.assertEqual((trace.lost, trace.discarded), ({}, 0))
        with open(published, "rb") as file:
            counts = struct.unpack("2Q", file.read(16))
        missed = 0
        for thread, count in enumerate(counts):
            ticks = written.ticks(thread)
            missed += max(ticks, default=-1) + 1 - len(ticks)
            ticks = sorted(ticks + [n for trace in left for n in trace.ticks(thread)])
            # The last one may have been published, but not noted.
            self.assertIn(len(ticks), (count, count + 1))
            self.assertEqual(ticks, list(range(len(ticks))))
        return missed

    def test_windows_stay_in_files_when_the_disk_is_full(self):
        buffers = os.path.join(self.dir, "buffers")
        mount = os.path.join(self.dir, "small")
        os.mkdir(mount)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", mount],
                          stderr=subprocess.DEVNULL).returncode:
            self.skipTest("mounting needs root")
        self.addCleanup(subprocess.run, ["umount", "-l", mount])
        self.output = os.path.join(mount, "out")
        process = self.side("record", "--json", "-o", self.output, "--buffers", buffers, "--mode",
                            "overwrite", "--buffer-size", "1M", "--per-thread=2", "--",
                            PROGRAM, "flood", "20000")
        self.assertEqual(self.end(process), 1, self.err)
        self.assertIn("side recover reads them", self.messages)
        (trace,) = self.recover(buffers).values()
        self.assertEqual(trace.ticks(0), list(range(20000)))

    def test_a_directory_that_cannot_be_used(self):
        path = os.path.join(self.dir, "file")
        open(path, "w").close()
        for bad in (path, "/proc/nowhere/buffers"):
            process = self.side("record", "--json", "-o", self.output, "--buffers", bad, "--",
                                PROGRAM, "kinds")
            self.assertIn(self.end(process), (1, 3))
            self.assertIn(f"cannot store buffers in {bad}", self.messages)
            self.assertFalse(os.path.exists(self.output))

    def size_of_rings(self):
        return sum(os.path.getsize(p) for p in self.files(self.output)
                   if os.path.basename(p).startswith("ring_"))

    @staticmethod
    def files(folder):
        return [os.path.join(d, f) for d, _, names in os.walk(folder) for f in names]

    def test_damaged_buffers(self):
        """With any damage of the files: no crash, and the others are still read."""
        buffers = os.path.join(self.dir, "buffers")
        recorder, pid = self.begin_obedient("--buffers", buffers, "--mode", "overwrite",
                                            "--buffer-size", "64K", "--context", "vtid,procname")
        self.fire(recorder, 20000)
        recorder.kill()
        recorder.wait()
        os.kill(pid, signal.SIGKILL)
        (folder,) = os.listdir(buffers)
        good = os.path.join(buffers, folder)
        choice = random.Random(4711)
        for number in range(400 if LONG else 25):
            bad = os.path.join(buffers, "bad")
            shutil.rmtree(bad, True)
            shutil.copytree(good, bad)
            os.chmod(os.path.join(bad, "ring.rings"), 0o600)
            name = choice.choice(["instance", "events", "ring.rings"])
            path = os.path.join(bad, name)
            size = os.path.getsize(path)
            with open(path, "r+b") as file:
                if choice.random() < 0.2:
                    file.truncate(choice.randrange(size))
                else:
                    # Damage in the heads has the most effect.
                    for _ in range(choice.choice([1, 3, 50])):
                        file.seek(choice.randrange(min(size, choice.choice([512, 8192, size]))))
                        file.write(bytes([choice.choice([0, 1, 0x7f, 0xff, choice.randrange(256)])]))
            recovered = os.path.join(self.dir, "recovered")
            shutil.rmtree(recovered, True)
            process = self.side("recover", "--json", "-o", recovered, buffers)
            status = self.end(process)
            self.assertIn(status, (0, 1), f"{number} {name}: {self.err}")
            traces = [d for d in os.listdir(recovered)]
            self.assertGreaterEqual(len(traces), 1, self.err)

    def test_core_dump_of_a_live_program(self):
        self.dump_live()

    def test_core_dump_of_a_live_program_with_files(self):
        self.dump_live("--buffers", os.path.join(self.dir, "buffers"))

    def dump_live(self, *options):
        if not shutil.which("gcore"):
            self.skipTest("gcore (gdb) is not installed")
        if SANITIZED:
            self.skipTest("the memory of a sanitized program is too large to dump")
        recorder, pid = self.begin_obedient(
            *options, "--context", "vtid", "--channel", "flight", "--mode", "overwrite", "--buffer-size",
            "64K", "--per-thread=3", "-e", "test:tick", "--event-context", "procname")
        self.fire(recorder, 10000)
        wait_until(lambda: self.size_of_rings() > 10000 * RECORD, "written events")
        stop_process(recorder.pid)
        self.fire(recorder, 700)
        core = os.path.join(self.dir, "core")
        run = subprocess.run(["gcore", "-o", core, str(pid)], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        core += f".{pid}"
        if run.returncode or not os.path.exists(core):
            recorder.send_signal(signal.SIGCONT)
            self.skipTest(f"gcore cannot attach here: {run.stdout[-200:]}")
        recorder.send_signal(signal.SIGCONT)
        (trace,) = self.recover(core).values()
        self.assertEqual(trace.pid, pid)
        self.assertEqual(sorted(s for r in trace.of(0).values() for s in r),
                         list(range(10000, 10700)))
        (flight,) = trace.of(1).values()
        name = os.path.basename(PROGRAM)[:15]
        self.assertWindow(flight, 10699, 64 * KIB, RECORD + len(name) + 1)
        for channel, _, common, own in trace.details:
            self.assertEqual((common, own), ({}, {"procname": name}) if channel
                             else ({"vtid": pid}, {}))
        self.spoil(core)

    def spoil(self, core):
        """Damaged and truncated dumps: read as far as possible, or refused; never a crash."""
        choice = random.Random(1147)
        with open(core, "rb") as file:
            data = bytearray(file.read())
        at = data.find(b"SIDECORE")
        while data[at + 16:at + 24] == bytes(8):
            at = data.find(b"SIDECORE", at + 1)
        bad = os.path.join(self.dir, "bad-core")
        recovered = os.path.join(self.dir, "recovered")
        for number in range(300 if LONG else 20):
            copy = bytearray(data)
            if number % 5 == 0:
                del copy[choice.randrange(len(copy)):]
            else:
                begin, size = choice.choice([(0, 64), (64, 4096), (at, 1008), (at, 8192)])
                for _ in range(choice.choice([1, 2, 8])):
                    copy[begin + choice.randrange(size)] = choice.choice(
                        [0, 1, 0x7f, 0xff, choice.randrange(256)])
            with open(bad, "wb") as file:
                file.write(copy)
            shutil.rmtree(recovered, True)
            process = self.side("recover", "--json", "-o", recovered, bad)
            self.assertIn(self.end(process), (0, 1), f"{number}: {self.err}")

    def test_core_dump_of_a_crash(self):
        self.dump_crash()

    def test_core_dump_of_a_crash_with_files(self):
        """The files are linked: only the copy of the rings is in the dump."""
        self.dump_crash("--buffers", os.path.join(self.dir, "buffers"))

    def dump_crash(self, *options):
        with open("/proc/sys/kernel/core_pattern") as file:
            pattern = file.read().strip()
        if "/" in pattern or "|" in pattern or "%" in pattern:
            self.skipTest(f"core dumps go to {pattern}")
        if SANITIZED:
            self.skipTest("sanitized programs leave no core dumps")

        def allow_core():
            hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
            resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
            os.chdir(self.dir)

        trace = self.side_record([*options, "--mode", "overwrite", "--buffer-size", "64K"],
                                 "die", "20000", "abort", status=134, preexec_fn=allow_core)
        cores = [f for f in os.listdir(self.dir) if f.startswith("core")]
        if not cores:
            self.skipTest("the kernel left no core dump")
        (recovered,) = self.recover(os.path.join(self.dir, cores[0])).values()
        # The recorder saw the same.
        self.assertEqual([(n, f) for n, f, _ in recovered.events],
                         [(n, f) for n, f, _ in trace.events])
        self.assertEqual(recovered.of(0), trace.of(0))

    def test_files_that_are_no_dump(self):
        text = os.path.join(self.dir, "text")
        with open(text, "w") as file:
            file.write("hello")
        for path, part in ((text, "neither a core dump"), (SIDE, "not a core dump"),
                           (self.dir, "no directory of `side record"), ("/nowhere", "No such file"),
                           ("/dev/null", "it is not a file")):
            with self.subTest(path=path):
                self.recover(path, status=1)
                self.assertIn(part, self.messages)
                # A directory of the user stays.
                self.assertFalse(os.path.exists(self.recovered))
                os.mkdir(self.recovered)
                process = self.side("recover", "--json", "-o", self.recovered, path)
                self.assertEqual(self.end(process), 1, self.err)
                self.assertEqual(os.listdir(self.recovered), [])


class Vandals(CommandLine):
    def test_channels_and_contexts_that_do_not_exist(self):
        process = self.side("record", "--json", "-o", self.output, "-e", "hostile:*", "--channel", "b",
                            "--mode", "overwrite", "--", HOSTILE, "channels")
        self.assertEqual(self.end(process), 0, self.err)
        for part in ("its channel does not exist", "one of its contexts is unknown",
                     "its id is already used"):
            self.assertIn(part, self.messages)
        read(self.output)

    def test_rings_of_all_kinds_are_spoiled(self):
        for options in (["--mode", "overwrite"], ["--mode", "block", "--block-timeout", "1ms"],
                        ["--per-thread=5"], ["--per-thread=5", "--mode", "overwrite"],
                        ["--per-thread=3", "--mode", "block", "--block-timeout", "1ms"]):
            with self.subTest(options=options):
                options = ["--buffer-size", "64K", *options]
                process = self.side("record", "--json", "-o", self.output, *options, "--channel",
                                    "more", *options, "--", PROGRAM, "vandal", stdin=subprocess.PIPE)
                self.addCleanup(self.put_down, process)
                self.spoil(process)
                self.assertEqual(self.end(process), 0, self.err)
                # The same byte everywhere is the state of an empty flight recorder.
                if "overwrite" not in options:
                    self.assertIn("has damaged its ring", self.messages)
                read(self.output)
                shutil.rmtree(self.output)

    def test_files_of_buffers_are_spoiled(self):
        """Truncated while the recorder has them mapped: it continues, and reports it."""
        buffers = os.path.join(self.dir, "buffers")
        recorder, pid = self.begin_obedient("--buffers", buffers, "--mode", "overwrite", "--channel",
                                            "plain", "--per-thread=2")
        self.fire(recorder, 100)
        stop_process(pid)
        for path in Recovery.files(buffers):
            if path.endswith("ring.rings"):
                os.chmod(path, 0o600)
                os.truncate(path, 8192)
        os.kill(pid, signal.SIGKILL)
        recorder.stdin.close()
        recorder.stdin = None
        self.assertEqual(self.end(recorder), 137, self.err)
        self.assertIn("has damaged its ring", self.messages)
        (trace,) = read(self.output).values()
        self.assertEqual([s for r in trace.of(1).values() for s in r], list(range(100)))


class Soak(CommandLine):
    """Full rate, processes that start and exit, filters, snapshots at random: memory does not grow, counts match."""

    SECONDS = int(os.environ.get("SIDE_SOAK_SECONDS", 1800 if LONG else 4))

    def open_errors(self):
        file = open(self.errors, "w")
        self.addCleanup(file.close)
        return file

    @staticmethod
    def anonymous(pid):
        with open(f"/proc/{pid}/status") as file:
            return int(re.search(r"RssAnon:\s+(\d+)", file.read()).group(1))

    @staticmethod
    def count(path):
        """Returns the events of a process in the channels that discard; the windows of the third one
        were read before, or are removed, and so are the losses.
        """
        for name in os.listdir(path):
            if name.startswith(("flight_", "side_session")):
                os.remove(os.path.join(path, name))
        run = subprocess.run(["babeltrace2", path, "--component=sink.utils.counter",
                              "--params=step=+1000000000"], stdout=subprocess.PIPE, text=True)
        found = re.findall(r"(\d+) Event messages?\n", run.stdout.replace(",", ""))
        if run.returncode or not found:
            # Only the metadata is left.
            assert not [n for n in os.listdir(path) if n.startswith(("ring_", "burst_"))], run
            return 0
        return int(found[-1])

    def gather(self, keep):
        """Counts and removes complete traces: all but those of the youngest processes."""
        names = [n for n in os.listdir(self.output) if not n.startswith(("snapshot-", "."))]
        names.sort(key=lambda n: int(n.rsplit("-", 1)[1]))
        for name in names[:len(names) - keep]:
            path = os.path.join(self.output, name)
            self.counted += self.count(path)
            shutil.rmtree(path)

    @staticmethod
    def expected(processes):
        """Returns how many of the fired events the two filters match."""
        count = 0
        for steps, number in enumerate(processes, 1):
            count += number * (2 * len(range(7, steps * 200000, 4000)) + 5000)
        return count

    def test_soak(self):
        # The summary of many processes is larger than a pipe, which no process reads in the
        # meantime.
        self.errors = os.path.join(self.dir, "errors")
        recorder = self.side(
            "record", "--json", "-o", self.output, "--memory-limit", "128M",
            "--buffer-size", "64K", "-e", "test:tick", "--filter", "sequence % 4000 == 7",
            "--context", "vtid",
            "--channel", "burst", "--buffer-size", "64K", "--per-thread=8", "-e", "test:tick",
            "--filter", "thread == 0 && sequence < 5000",
            "--channel", "flight", "--mode", "overwrite", "--buffer-size", "64K",
            "--", PROGRAM, "churn", str(self.SECONDS), stderr=self.open_errors())
        self.addCleanup(self.put_down, recorder)
        self.counted = 0
        choice, number, samples = random.Random(11), 0, []
        while recorder.poll() is None:
            time.sleep(choice.random() * (2 if LONG else 0.5))
            if recorder.poll() is not None:
                break
            recorder.send_signal(signal.SIGUSR1)
            try:
                samples.append(self.anonymous(recorder.pid))
            except (OSError, AttributeError):
                break
            path = os.path.join(self.output, f"snapshot-{number + 1}")
            if os.path.isdir(path):
                if LONG or number < 3:
                    for trace in read(path).values():
                        self.assertEqual({d[0] for d in trace.details}, {2})
                shutil.rmtree(path)
                number += 1
            # Files of the youngest ones are still open.
            self.gather(300)
        self.assertEqual(self.end(recorder, timeout=600), 0, self.err)
        processes = list(map(int, self.out.split()))
        self.gather(0)
        lost = {}
        for loss in self.summary["losses"]:
            self.assertEqual(loss["event"], "test:tick", loss)
            channel = loss["ring"].rsplit("_", 1)[0]
            lost[channel] = lost.get(channel, 0) + loss["count"]
        self.assertGreater(sum(processes), 0)
        self.assertEqual(self.counted + sum(lost.values()), self.expected(processes), lost)
        self.assertEqual(lost.get("flight", 0), 0)
        print(f"{sum(processes)} processes, {number} snapshots, {self.counted} events, {lost} lost, "
              f"KiB {samples[0]} to {samples[-1]}")
        # Only the data about each process for the summary may grow, and freed memory that a
        # sanitizer keeps. A few seconds show nothing: the begin is all there is of them.
        if not SANITIZED and self.SECONDS >= 30:
            early = max(samples[:len(samples) // 4])
            self.assertLess(samples[-1] - early, 1024 + 2 * sum(processes), samples)


if __name__ == "__main__":
    unittest.main(verbosity=2)
