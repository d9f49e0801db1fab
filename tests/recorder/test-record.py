# SPDX-License-Identifier: MIT
"""Recording of whole programs: the traces have exactly the emitted events."""
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

from recording import DRIVER, HOSTILE, LONG, PLUGIN, PROGRAM, SANITIZED, Case, read

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import wait_until

# The kind that the driver prints: enum error_kind of src/base/error.h.
ERROR_NOT_EXECUTABLE = 6


class Basics(Case):
    def test_threads(self):
        trace, = self.record("fire", "4", "5000", status=7)
        for thread in range(4):
            self.assertSequence(trace, thread, 5000)
        self.assertNothingLost()
        times = [ns for _, _, ns in trace.events]
        self.assertEqual(times, sorted(times))
        self.assertLess(abs(times[-1] - time.time_ns()), 60 * 10**9)

    def test_wall_clock_is_right_to_the_millisecond(self):
        before = time.time_ns()
        trace, = self.record("kinds")
        after = time.time_ns()
        for _, _, ns in trace.events:
            self.assertGreater(ns, before - 10**6)
            self.assertLess(ns, after + 10**6)

    def test_patterns(self):
        cases = [
            ([], {"test:tick", "test:text", "test:note", "test:many"}),
            (["test:t*"], {"test:tick", "test:text"}),
            (["!test:*i*"], {"test:text", "test:note", "test:many"}),
            (["*@NOTICE"], {"test:text", "test:many"}),
            (["test@=DEBUG", "test:many"], {"test:note", "test:many"}),
        ]
        for patterns, expected in cases:
            options = [x for p in patterns for x in ("-e", p)]
            with self.subTest(patterns=patterns):
                trace, = self.record("kinds", options=["-f", *options])
                self.assertEqual(trace.names(), expected)
            shutil.rmtree(self.output)

    def test_nothing_matches(self):
        self.assertEqual(self.record("kinds", options=["-e", "other:*"]), [])
        self.assertEqual(len(self.summary["processes"]), 1)
        self.assertEqual(self.messages, "")

    def test_sizes(self):
        trace, = self.record("sizes", options=["-r", str(1 << 20)])
        sizes = [0, 1, 400, 512, 513, 1000, 5000, 20000, 32000, 60000, 65000, 66000, 100000]
        small = [(i, size) for i, size in enumerate(sizes) if size + 9 <= 65536]
        found = [(f["sequence"], len(f["text"])) for _, f, _ in trace.events]
        self.assertEqual(found, small)
        for _, fields, _ in trace.events:
            letter = chr(ord("a") + fields["sequence"] % 26)
            self.assertEqual(set(fields["text"]) - {letter}, set())
        self.assertEqual(sum(trace.lost.values()), 2)
        self.assertEqual({(e, r) for _, e, r in trace.lost}, {("test:text", "too big")})
        self.assertEqual(trace.discarded, 2)
        self.assertEqual(self.summary["lost"], 2)

    def test_full_ring_is_counted(self):
        trace, = self.record("flood-unread", "200000", options=["-r", "65536"])
        seen = trace.ticks(0)
        self.assertEqual(seen, sorted(set(seen)))
        lost = sum(trace.lost.values())
        # A ring of 64 KiB has space for some 4,000 records of 16 bytes; how many more depends on
        # the reader.
        self.assertGreater(lost, 0)
        self.assertEqual(len(seen) + lost, 200000)
        self.assertEqual(trace.discarded, lost)
        self.assertEqual(self.summary["lost"], lost)
        self.assertEqual({e for _, e, _ in trace.lost}, {"test:tick"})

    def test_libraries_come_and_go(self):
        trace, = self.record("dlopen", PLUGIN, "50")
        self.assertEqual(trace.texts("plugin:call", "sequence"), list(range(50)))
        self.assertNothingLost()

    def test_unrelated_program(self):
        if SANITIZED:
            self.skipTest("a program without the sanitizer's runtime cannot load the agent")
        summary = self.finish(self.start(["/bin/echo", "hello"]))
        self.assertEqual(summary["status"], 0)
        self.assertEqual(self.stdout, "hello")
        self.assertEqual(len(summary["processes"]), 1)
        self.assertEqual(os.listdir(self.output), [])


class Processes(Case):
    def test_fork_chain(self):
        traces = self.record("fork", "4")
        self.assertEqual(len(traces), 5)
        self.assertEqual(len({t.pid for t in traces}), 5)
        levels = sorted((set(f["thread"] for n, f, _ in t.events if n == "test:tick"))
                        for t in traces)
        for trace in traces:
            threads = {f["thread"] for n, f, _ in trace.events if n == "test:tick"}
            for thread in threads:
                self.assertSequence(trace, thread, 100)
            self.assertLessEqual(len(threads), 1)
            self.assertEqual(trace.texts("test:note", "what"), ["end"])
        self.assertEqual(len(levels), 5)
        parents = {p["pid"]: p["parent"] for p in self.summary["processes"]}
        first = self.summary["processes"][0]["pid"]
        self.assertEqual(sum(1 for p in parents.values() if p in parents), 4)
        self.assertNotIn(parents[first], parents)
        self.assertNothingLost()

    def test_fork_of_a_program_with_threads(self):
        children = 40 if LONG else 8
        traces = self.record("fork-threads", str(children))
        self.assertEqual(len(traces), children + 1)
        for trace in traces:
            if trace.name == self.summary["processes"][0]["directory"]:
                for thread in 100, 101:
                    ticks = trace.ticks(thread)
                    self.assertEqual(ticks, list(range(len(ticks))))
                    self.assertGreater(len(ticks), 0)
            else:
                self.assertEqual({f["thread"] for _, f, _ in trace.events}, {0, 1})
                self.assertSequence(trace, 0, 50)
                self.assertSequence(trace, 1, 50)

    def test_storm(self):
        # Under sanitizers a fork is tens of times slower, and no other code runs.
        rounds = (500 if SANITIZED else 5000) if LONG else 50
        traces = self.record("storm", PLUGIN, str(rounds))
        first = self.traces[self.summary["processes"][0]["directory"]]
        for thread in 0, 1:
            ticks = first.ticks(thread)
            self.assertEqual(ticks, list(range(len(ticks))))
            self.assertGreater(len(ticks), 0)
        loads = first.texts("plugin:call", "sequence")
        self.assertEqual(loads, list(range(len(loads))))
        # In a listing of many children, each fired one event.
        children = [t for t in traces if t is not first]
        self.assertEqual(len(children), rounds)
        self.assertTrue(all(t.ticks(2) == [0] for t in children))

    def test_exec_is_a_new_instance(self):
        traces = self.record("exec", status=7)
        self.assertEqual(len(traces), 2)
        self.assertEqual(traces[0].pid, traces[1].pid)
        self.assertEqual(sorted(len(t.ticks(0)) for t in traces), [10, 20])
        self.assertNothingLost()

    def test_vfork_child_stays_out(self):
        trace, = self.record("vfork")
        self.assertSequence(trace, 0, 2)
        self.assertEqual(trace.ticks(9), [])
        self.assertEqual(trace.discarded, 1)
        self.assertEqual(list(trace.lost.values()), [1])
        self.assertIn("in the child of a vfork()", str(trace.lost))

    def test_child_behind_our_back_stays_out(self):
        trace, = self.record("raw-clone")
        self.assertSequence(trace, 0, 2)
        self.assertEqual(trace.ticks(9), [])

    def test_orphans(self):
        self.record("orphan", "600")
        self.assertIn("still runs", self.messages)
        self.assertIn("`--wait` waits for all", self.hints)

    def test_orphans_waited_for(self):
        traces = self.record("orphan", "600", options=["-W"])
        self.assertEqual(self.messages, "")
        orphan, = (t for t in traces if t.ticks(1))
        self.assertSequence(orphan, 1, 10)

    def test_shell_pipeline(self):
        if SANITIZED:
            self.skipTest("a shell cannot load the sanitized agent")
        script = f"{PROGRAM} fire 1 10 | cat; {PROGRAM} kinds; exec {PROGRAM} fire 1 30"
        summary = self.finish(self.start(["/bin/sh", "-c", script]))
        self.assertEqual(summary["status"], 7 << 8)
        traces = read(self.output).values()
        self.assertEqual(sorted(len(t.ticks(0)) for t in traces), [1, 10, 30])


class Signals(Case):
    def test_handlers_emit_within_events(self):
        trace, = self.record("signal", "20000")
        handled = int(self.stdout)
        self.assertSequence(trace, 0, 20000)
        self.assertSequence(trace, 1, handled)
        self.assertNothingLost()

    def test_handlers_fork_within_events(self):
        traces = self.record("signal-fork")
        self.assertGreater(len(traces), 1)
        children = 0
        for trace in traces:
            if trace.name == self.summary["processes"][0]["directory"]:
                self.assertSequence(trace, 0, 20000)
                self.assertEqual(trace.ticks(2), [])
            else:
                children += 1
                self.assertSequence(trace, 2, 2)
        self.assertGreater(children, 0)

    def test_visitor_forks_within_its_event(self):
        traces = self.record("visitor-fork")
        self.assertEqual(len(traces), 2)
        first = self.traces[self.summary["processes"][0]["directory"]]
        second, = (t for t in traces if t is not first)
        self.assertEqual(first.names(), {"test:tick", "test:fork"})
        self.assertEqual((first.ticks(0), first.ticks(1), first.ticks(2)), ([0], [0], []))
        self.assertEqual((second.ticks(0), second.ticks(1), second.ticks(2)), ([], [], [0]))
        # The event that was incomplete at the fork is complete in both.
        for trace, element in (first, 1), (second, 2):
            event, = (f for n, f, _ in trace.events if n == "test:fork")
            self.assertEqual(str(event["pids"]), f"[{element}]")
        self.assertNothingLost()

    def test_exit_beside_threads(self):
        for _ in range(20 if LONG else 3):
            trace, = self.record("exit-beside-threads", options=["-f"])
            for thread in range(3):
                ticks = trace.ticks(thread)
                self.assertEqual(ticks, list(range(len(ticks))))
                self.assertTrue(ticks)
            shutil.rmtree(self.output)

    def test_destructors(self):
        trace, = self.record("destructor")
        notes = trace.texts("test:note", "what")
        self.assertEqual(notes[:2], ["main", "atexit"])

    def test_interrupt_reaches_both(self):
        process = self.start([PROGRAM, "sleep", "20000"], start_new_session=True)
        self.wait_until_asleep(process)
        os.killpg(process.pid, signal.SIGINT)
        summary = self.finish(process)
        self.assertTrue(summary["ok"])
        self.assertEqual(summary["status"], signal.SIGINT)
        trace, = read(self.output).values()
        self.assertEqual(trace.texts("test:note", "what"), ["begin"])

    def test_terminate_is_passed_on(self):
        process = self.start([PROGRAM, "sleep", "20000"])
        self.wait_until_asleep(process)
        process.terminate()
        summary = self.finish(process)
        self.assertEqual(summary["status"], signal.SIGTERM)
        self.assertFalse(summary["interrupted"])

    def test_second_interrupt_ends_the_recording(self):
        process = self.start(["/bin/sh", "-c",
                              f"trap '' INT; {PROGRAM} sleep 60000; :"] if not SANITIZED else
                             [PROGRAM, "sleep", "60000"], start_new_session=True)
        self.wait_until_asleep(process)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        line = process.stdout.readline()
        self.assertLess(time.monotonic() - begin, 30)
        self.assertIn('"interrupted":true', line)
        traces = read(self.output).values()
        self.assertIn(["begin"], [t.texts("test:note", "what") for t in traces])
        process.stdout.close()
        process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


class Kill(Case):
    """kill -9 at any instant: all events published before are there, in sequence, undamaged."""

    @staticmethod
    def command_of(process):
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
            return int((children.read().split() or [0])[0])

    def one(self, delay):
        published = os.path.join(self.dir, "published")
        with open(published, "wb") as file:
            file.write(bytes(4096))
        shutil.rmtree(self.output, True)
        process = self.start([PROGRAM, "kill-me", published])

        def has_published():
            with open(published, "rb") as file:
                return file.read(16) != bytes(16)

        # The first numbers show that it runs; then a random instant.
        wait_until(has_published, "the first events are published", process=process)
        time.sleep(delay)
        os.kill(self.command_of(process), signal.SIGKILL)
        summary = self.finish(process)
        self.assertEqual(summary["status"], signal.SIGKILL)
        trace, = read(self.output).values()
        with open(published, "rb") as file:
            noted = [int.from_bytes(file.read(8), "little") for _ in range(2)]
        for thread in 0, 1:
            ticks = trace.ticks(thread)
            self.assertEqual(ticks, list(range(len(ticks))))
            self.assertGreaterEqual(len(ticks), noted[thread])
            # An event may be published without having been noted, but at most one.
            self.assertLessEqual(len(ticks), noted[thread] + 1)
        self.assertEqual(trace.lost, {})

    def test_kills(self):
        rounds = 300 if LONG else 8
        for i in range(rounds):
            with self.subTest(round=i):
                self.one((i * 7919 % 1000) / 1000 * (0.15 if LONG else 0.05))

    def begin(self, place):
        """Starts a recording with its socket below place; returns it and the socket's directory."""
        before = set(os.listdir(place))
        self.output = os.path.join(self.dir, f"out-{len(before)}")
        process = self.start([PROGRAM, "sleep", "60000"], env={"XDG_RUNTIME_DIR": place})

        def new_directory():
            for name in set(os.listdir(place)) - before:
                command = self.command_of(process)
                if command and os.path.samefile(f"/proc/{command}/exe", PROGRAM):
                    return name
            return None

        return process, wait_until(new_directory, "the directory of a socket exists", 30)

    def test_killed_recorder_leaves_nothing_for_long(self):
        place = os.path.join(self.dir, "run")
        os.mkdir(place)
        killed, stale = self.begin(place)
        command = self.command_of(killed)
        killed.kill()
        killed.wait()
        os.kill(command, signal.SIGKILL)
        killed.stdout.close()
        self.assertEqual(os.listdir(place), [stale])
        alive, used = self.begin(place)
        self.assertEqual(os.listdir(place), [used])
        # Directories that side must not remove: without a socket, with other files, open to other
        # users.
        os.mkdir(os.path.join(place, "side-output"), 0o700)
        for name, mode, files in (("side-wanted", 0o700, ["agent"]), ("side-shared", 0o755, []),
                                  ("side-filled", 0o700, ["more"]), ("side-longer-name", 0o700, [])):
            os.mkdir(os.path.join(place, name), mode)
            for file in files:
                open(os.path.join(place, name, file), "w").close()
            if "agent" not in files:
                with socket.socket(socket.AF_UNIX) as left:
                    left.bind(os.path.join(place, name, "agent"))
        os.mkdir(os.path.join(self.dir, "aside"), 0o700)
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(os.path.join(self.dir, "aside", "agent"))
        os.symlink(os.path.join(self.dir, "aside"), os.path.join(place, "side-linked"))
        left = set(os.listdir(place))
        last, name = self.begin(place)
        self.assertEqual(set(os.listdir(place)), left | {name})
        for directory in used, name, "side-shared", "side-filled", "side-linked":
            # For root there is a secret after it.
            self.assertTrue(any(file.startswith("agent") for file in
                                os.listdir(os.path.join(place, directory))), directory)
        for process in alive, last:
            os.kill(self.command_of(process), signal.SIGKILL)
            self.assertTrue(self.finish(process)["ok"])
        self.assertEqual(set(os.listdir(place)), left - {used})


class Limits(Case):
    def test_memory_bound(self):
        limit = 8 << 20
        traces = self.record("fork", "12", options=["-m", str(limit), "-r", str(1 << 20)])
        self.assertLessEqual(self.summary["memory_peak"], limit)
        sizes = [p["ring_size"] for p in self.summary["processes"]]
        self.assertEqual(sizes[0], 1 << 20)
        self.assertLess(min(sizes), 1 << 20)
        self.assertGreaterEqual(min(sizes), 64 << 10)
        if len(sizes) < 13:
            self.assertIn("ring memory is used up", self.messages)
        for trace in traces:
            for thread in {f["thread"] for n, f, _ in trace.events if n == "test:tick"}:
                self.assertSequence(trace, thread, 100)

    def test_limit_too_small(self):
        summary = self.finish(self.start([PROGRAM, "kinds"], ["-m", "100000"]))
        self.assertEqual((summary["ok"], summary["kind"]), (False, 2))
        self.assertFalse(os.path.exists(self.output))

    def test_hostile_program_loses_its_own_events_only(self):
        recorder = self.start([PROGRAM, "vandal"], stdin=subprocess.PIPE)
        self.spoil(recorder)
        summary = self.finish(recorder)
        self.assertTrue(summary["ok"], summary)
        self.assertEqual(summary["status"], 0, summary)
        self.assertIn("has damaged its ring", self.messages)
        self.assertLessEqual(len(read(self.output)), 1)

    def test_disk_full(self):
        mount = os.path.join(self.dir, "small")
        os.mkdir(mount)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "none", mount],
                          stderr=subprocess.DEVNULL).returncode:
            self.skipTest("mounting needs root")
        self.addCleanup(subprocess.run, ["umount", "-l", mount])
        self.output = os.path.join(mount, "out")
        self.record("flood", "100000")
        self.assertIn("No space left on device", self.messages)
        # The recorder waits for space, or cannot because the program exited before it wrote.
        self.assertTrue({"free some space there", "free some space there, or write to another directory"} & set(self.hints),
                        self.hints)
        self.assertGreater(self.summary["unwritten"], 0)
        self.assertEqual(self.summary["failure"], 1)
        loss = next(x for x in self.summary["losses"] if x["in_bytes"])
        self.assertIn("No space left", loss["reason"])
        # The written part is readable: read() in record() has checked it.
        for trace in self.traces.values():
            ticks = trace.ticks(0)
            self.assertEqual(ticks, sorted(set(ticks)))


class Hostile(Case):
    """Processes that violate the protocol lose their own trace only, and crash no other process."""

    def hostile(self, verb, **kwargs):
        self.summary = self.finish(self.start([HOSTILE, verb], **kwargs))
        self.assertTrue(self.summary["ok"], self.summary)
        self.assertEqual(self.summary["status"], 0, self.summary)
        self.traces = read(self.output)
        # Its earlier valid events are there.
        first = self.summary["processes"][0]["directory"]
        self.assertEqual(self.traces[first].events[0][:2], ("hostile:good", {"value": 1}))
        return self.summary

    def test_garbage(self):
        self.hostile("garbage")

    def test_mute(self):
        self.hostile("mute")
        values = [f["value"] for t in self.traces.values() for _, f, _ in t.events]
        self.assertEqual(sorted(values), [1, 4711])

    def test_names(self):
        summary = self.hostile("names")
        for process in summary["processes"]:
            self.assertRegex(process["procname"], r"^[A-Za-z0-9._+-]+$")
            self.assertNotIn("/", process["directory"])
            self.assertNotIn("\n", process["exe"])

    def test_kinds(self):
        self.hostile("kinds")
        for text in "too many events", "is damaged", "is too large", "id is already used":
            self.assertIn(text, self.messages)

    def test_flips(self):
        summary = self.hostile("flips")
        # The number of messages is limited, too.
        self.assertLessEqual(len(summary["messages"]), 200)

    def test_many(self):
        summary = self.hostile("many")
        self.assertEqual(len(summary["processes"]), 501)
        self.assertLessEqual(summary["memory_peak"], 512 << 20)


class Errors(Case):
    def fails(self, kind, *texts, command=(PROGRAM, "kinds"), options=(), env=None, hint=""):
        summary = self.finish(self.start(list(command), options, env))
        self.assertEqual((summary["ok"], summary["kind"]), (False, kind), summary)
        for text in texts:
            self.assertIn(text, summary["text"])
        self.assertNotIn("\n", summary["text"])
        self.assertIn(hint, summary["hint"])

    def test_commands_that_cannot_run(self):
        self.fails(4, "no such command in PATH", command=["no-such-command-here"])
        self.fails(4, "no such file", command=["/no/such/file"], options=["-f"])
        self.fails(ERROR_NOT_EXECUTABLE, "may not execute it", command=["/etc/passwd"], options=["-f"])
        self.fails(ERROR_NOT_EXECUTABLE, "directory", command=["/etc"], options=["-f"])

    def test_bad_options(self):
        self.fails(2, "column 6", "not closed", options=["-e", "test:[a"])
        self.fails(2, "64 KiB", options=["-r", "1000"])
        self.fails(2, "NAME=VALUE", options=["-E", "novalue"])
        self.fails(2, "not the name of a wrapper", options=["-w", "../evil"])
        self.fails(1, "libside-wrap-nothing.so", "SIDE_LIB_DIR", options=["-w", "nothing"])
        self.fails(1, "libside-agent.so", env={"SIDE_LIB_DIR": "/nowhere"})
        self.assertFalse(os.path.exists(self.output))

    def test_output_in_use(self):
        os.mkdir(self.output)
        with open(os.path.join(self.output, "precious"), "w"):
            pass
        self.fails(1, "is not empty", hint="`--force`")
        self.assertEqual(os.listdir(self.output), ["precious"])
        self.output = "/no/such/place"
        self.fails(1, "No such file", hint="create the parent directory first")

    def test_output_not_permitted(self):
        if os.geteuid():
            os.mkdir(self.output, 0o555)
        else:
            self.output = "/proc/side-output"
            summary = self.finish(self.start([PROGRAM, "kinds"]))
            self.assertFalse(summary["ok"])
            # Only a read-only file system stops root.
            mount = os.path.join(self.dir, "ro")
            os.mkdir(mount)
            if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", mount],
                              stderr=subprocess.DEVNULL).returncode:
                self.skipTest("mounting needs root")
            self.addCleanup(subprocess.run, ["umount", "-l", mount])
            self.output = os.path.join(mount, "out")
        self.fails(3, "cannot write to", hint="`-o DIRECTORY` names another one")

    def test_default_name(self):
        run = subprocess.run([DRIVER, "--", PROGRAM, "kinds"], cwd=self.dir, text=True,
                             stdout=subprocess.PIPE, check=True)
        name = re.search(r'"output":"([^"]*)"', run.stdout)[1]
        self.assertRegex(name, r"^side-\d{8}-\d{6}$")
        self.assertTrue(os.path.isdir(os.path.join(self.dir, name)))

    def test_programs_that_never_meet_the_agent(self):
        compiler = shutil.which("cc")
        static = os.path.join(self.dir, "static")
        if not compiler or subprocess.run(
                [compiler, "-static", "-x", "c", "-o", static, "-"], text=True,
                input="int main(void) { return 3; }", stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no compiler that links statically")
        summary = self.finish(self.start([static]))
        self.assertEqual(summary["status"], 3 << 8)
        self.assertIn("statically linked", self.messages)
        self.assertEqual(summary["processes"], [])

    def test_nothing_is_left_behind(self):
        runtime = os.path.join(self.dir, "run")
        os.mkdir(runtime)
        self.record("kinds", env={"XDG_RUNTIME_DIR": runtime})
        self.assertEqual(os.listdir(runtime), [])


class Untouched(Case):
    def inventory(self, **kwargs):
        return subprocess.run([PROGRAM, "inventory"], text=True, check=True,
                              stdout=subprocess.PIPE, **kwargs).stdout

    def test_no_thread_and_no_file(self):
        alone = self.inventory()
        self.record("inventory")
        self.assertEqual(self.stdout + "\n", alone)

    def test_silent_without_a_recorder(self):
        agent = os.path.join(os.environ["SIDE_LIB_DIR"].split(":")[0], "libside-agent.so")
        alone = self.inventory()
        nowhere = {"LD_PRELOAD": agent, "SIDE_AGENT_SOCKET": "/no/such/socket"}
        run = subprocess.run([PROGRAM, "inventory"], env={**os.environ, **nowhere}, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((run.stdout, run.stderr, run.returncode), (alone, "", 0))
        run = subprocess.run([PROGRAM, "inventory"], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE,
                             env={**os.environ, **nowhere, "SIDE_DEBUG": "1"})
        self.assertIn("no recorder", run.stderr)

    def test_low_cost(self):
        def best(env):
            times = []
            for _ in range(20):
                begin = time.monotonic()
                subprocess.run([PROGRAM, "inventory"], env=env, stdout=subprocess.DEVNULL)
                times.append(time.monotonic() - begin)
            return min(times)

        agent = os.path.join(os.environ["SIDE_LIB_DIR"].split(":")[0], "libside-agent.so")
        alone = best(os.environ)
        loaded = best({**os.environ, "LD_PRELOAD": agent})
        # Loading another library is a part of it; this checks for waits.
        self.assertLess(loaded - alone, 0.1)

    def test_a_recorder_that_does_not_answer(self):
        path = os.path.join(self.dir, "mute")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(path)
            listener.listen(1)
            agent = os.path.join(os.environ["SIDE_LIB_DIR"].split(":")[0], "libside-agent.so")
            begin = time.monotonic()
            run = subprocess.run([PROGRAM, "kinds"], env={
                **os.environ, "LD_PRELOAD": agent, "SIDE_AGENT_SOCKET": path})
            self.assertEqual(run.returncode, 0)
            self.assertLess(time.monotonic() - begin, 30)

    def wait_for_more(self, path, than):
        """Waits until the number at the begin of the file has grown; returns it."""
        def more():
            with open(path, "rb") as file:
                number = int.from_bytes(file.read(8), "little")
            return number if number > than else None

        return wait_until(more, "more is published")

    def test_recorder_is_killed(self):
        """All on one CPU, so in one ring: each of several rings ends at another time, and a thread
        that moves misses ticks in the middle (see test_recorder_is_killed_within_a_round).
        """
        one = {min(os.sched_getaffinity(0))}
        published = os.path.join(self.dir, "published")
        with open(published, "wb") as file:
            file.write(bytes(4096))
        runtime = os.path.join(self.dir, "run")
        os.mkdir(runtime)
        process = self.start([PROGRAM, "kill-me", published], env={"XDG_RUNTIME_DIR": runtime},
                             preexec_fn=lambda: os.sched_setaffinity(0, one))
        # The trace has more than the empty packet at the begin of a stream.
        wait_until(lambda: any(os.path.getsize(os.path.join(folder, file)) > 256
                               for folder, _, files in os.walk(self.output) for file in files
                               if file.startswith("ring_")), "a packet with records")
        before = self.wait_for_more(published, 0)
        pid = int(subprocess.check_output(
            ["ps", "-o", "pid=", "--ppid", str(process.pid)]).split()[0])
        process.kill()
        process.wait()
        process.stdout.close()
        # The program is not affected, and the written files are a trace.
        self.wait_for_more(published, before)
        os.kill(pid, signal.SIGKILL)
        trace, = read(self.output).values()
        self.assertEqual(len({ring for _, ring, _, _ in trace.details}), 1)
        # No recorder writes losses any more; refused records are counted by the packets.
        self.assertEqual(trace.discarded, 0)
        for thread in 0, 1:
            ticks = trace.ticks(thread)
            self.assertEqual(ticks, list(range(len(ticks))))
        self.assertGreater(len(trace.ticks(0)), 0)

    def test_closes_everything(self):
        trace, = (t for t in self.record("close-all") if t.ticks(0))
        self.assertSequence(trace, 0, 2)
        self.assertTrue(any(t.ticks(1) == [0] for t in self.traces.values()))

    def test_chroot(self):
        if os.geteuid():
            self.skipTest("chroot needs root")
        trace, = self.record("chroot", self.dir)
        self.assertSequence(trace, 0, 2)

    def test_sandbox(self):
        trace, = self.record("sandbox", PLUGIN)
        self.assertSequence(trace, 0, 2)
        # The plugin's event stayed disabled, which is counted.
        self.assertIn("not enabled", str(trace.lost))

    def test_no_clock(self):
        """If rdtsc is forbidden, records are refused and counted, and the program runs on."""
        for how in ["tsc"] if SANITIZED else ["tsc", "prctl", "seccomp"]:
            with self.subTest(how=how):
                shutil.rmtree(self.output, True)
                trace, = self.record("clockless", how)
                self.assertEqual(trace.ticks(0), list(range(20)))
                self.assertEqual([(e, r, n) for (_, e, r), n in trace.lost.items()],
                                 [("test:tick", "other", 10)])

    def test_setuid(self):
        if os.geteuid():
            self.skipTest("setuid needs root")
        traces = self.record("setuid")
        self.assertEqual(sorted((t.ticks(0), t.ticks(1)) for t in traces), [([], [0]), ([0, 1], [])])
        self.assertNothingLost()

    def test_own_environment(self):
        if SANITIZED:
            self.skipTest("sh cannot load the sanitized agent")
        summary = self.finish(self.start(
            ["/bin/sh", "-c", "echo $SIDE_TEST_VALUE"], ["-E", "SIDE_TEST_VALUE=42"]))
        self.assertEqual(summary["status"], 0)
        self.assertEqual(self.stdout, "42")


class Listing(Case):
    def list(self, command, options=(), env=None):
        summary = self.finish(subprocess.Popen(
            [DRIVER, "-l", *options, "--", *command], stdout=subprocess.PIPE, text=True,
            env={**os.environ, **(env or {})}))
        self.assertTrue(summary["ok"], summary)
        return summary

    def test_events_of_a_program(self):
        summary = self.list([PROGRAM, "fire", "1", "1"])
        # Status 7 would be main()'s.
        self.assertEqual(summary["status"], 0)
        self.assertEqual(self.messages, "")
        names = {(d["provider"], d["event"]) for d in summary["processes"][0]["descriptions"]}
        self.assertEqual(names, {
            ("side", "statedump_begin"), ("side", "statedump_end"), ("test", "tick"),
            ("test", "text"), ("test", "note"), ("test", "many"), ("test", "fork")})
        self.assertEqual(os.listdir(self.dir), [])

    def test_a_program_that_never_reaches_main(self):
        summary = self.list([PROGRAM, "kinds"], env={"SESSION_EXIT_EARLY": "1"})
        self.assertEqual(summary["status"], 3 << 8)
        self.assertIn("may be incomplete", self.messages)

    def test_patterns_apply(self):
        summary = self.list([PROGRAM, "kinds"], ["-e", "test:t*"])
        self.assertEqual(summary["processes"][0]["events"], 2)

    def test_a_program_without_events(self):
        if SANITIZED:
            self.skipTest("echo cannot load the sanitized agent")
        summary = self.list(["/bin/echo", "hello"])
        self.assertEqual((self.stdout, summary["status"]), ("", 0))


if __name__ == "__main__":
    unittest.main()
