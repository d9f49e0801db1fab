#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The daemon, end to end: requests of the test, real programs, exact counts.

usage: test-sided.py CASE
"""
import contextlib
import json
import os
import random
import re
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
import unittest

import harness
import speaker
from harness import Case, Control, Program, Refused, wait_until


def sequences(count):
    return list(range(count))


class Basics(Case):
    """Definitions, lists, state, errors."""

    def test_ping(self):
        daemon = self.start_daemon()
        self.assertEqual(self.ask("ping")["pid"], daemon.pid)

    def test_life_of_a_session(self):
        self.start_daemon()
        self.create("s", start=False)
        self.assertEqual(self.status("s")["state"], "defined")
        program = Program(self)
        program.fire(3)  # not yet
        self.ask("start", "s")
        self.assertEqual(self.status("s")["state"], "active")
        program.fire(1000)
        self.ask("stop", "s")
        # All events before the answer are there, while the session exists.
        self.assertEqual(self.counts("s"), {program.pid: list(range(3, 1003))})
        program.fire(5)
        self.ask("start", "s")
        program.fire(10)
        program.quit()
        answer = self.ask("destroy", "s")
        self.assertEqual(answer["lost"], 0)
        self.assertEqual(self.counts("s"), {program.pid: list(range(3, 1003)) + list(range(1008, 1018))})
        self.assertEqual(self.ask("list")["sessions"], [])
        self.assertRefused("not-found", "status", "s")

    def test_nothing_is_recorded_without_rules(self):
        self.start_daemon()
        self.ask("create", "s", output=os.path.join(self.dir, "s"))
        self.ask("start", "s")
        program = Program(self)
        program.fire(10)
        self.ask("enable-event", "s", event=["sided:*"], filter="sequence >= 15")
        program.fire(10)
        self.ask("disable-event", "s", event=["sided:tock"])
        program.fire(10)
        self.ask("destroy", "s")
        self.assertEqual(self.counts("s"), {program.pid: list(range(15, 30))})
        self.assertEqual(self.counts("s", "sided:tock"), {program.pid: list(range(15, 20))})

    def test_default_output(self):
        self.start_daemon()
        self.ask("create", "named")
        self.ask("enable-event", "named", event=["sided:tick"])
        output = self.ask("start", "named")["output"]
        self.assertTrue(output.startswith(os.path.join(self.traces, "named-")), output)
        self.assertEqual(stat.S_IMODE(os.stat(output).st_mode), 0o700)
        self.ask("destroy", "named")

    def test_create_finds_a_name(self):
        self.start_daemon()
        names = [self.ask("create")["session"] for _ in range(3)]
        self.assertEqual(len(set(names)), 3)
        for name in names:
            self.assertRegex(name, r"^side-\d{8}-\d{6}(-\d)?$")
        self.assertEqual({s["name"] for s in self.ask("list")["sessions"]}, set(names))
        output = self.ask("start", names[0])["output"]
        self.assertEqual(os.path.basename(output), names[0])
        for name in names:
            self.ask("destroy", name)

    def test_errors_are_sentences(self):
        self.start_daemon()
        self.ask("create", "s")
        self.assertRefused("busy", "create", "s")
        for name in ("", "-x", ".x", "a/b", "a b", "x" * 65):
            self.assertRefused("usage", "create", name or "../x")
        self.assertRefused("usage", "nonsense", "s")
        self.assertRefused("usage", "enable-event", "s", evnt=["x"])
        answer = self.assertRefused("usage", "enable-event", "s", event=["*"], filter="size >")
        self.assertEqual(answer["where"], "size >")
        self.assertGreater(answer["column"], 0)
        self.assertRefused("usage", "enable-event", "s", event=["[a"])
        self.assertRefused("usage", "create", "t", output="relative")
        self.assertRefused("usage", "enable-channel", "s", channel="c", mode="sideways")
        self.assertRefused("usage", "enable-channel", "s", channel="c", buffer_size=-1)
        self.assertRefused("usage", "enable-channel", "s", channel="c", buffer_size=1)
        self.assertRefused("usage", "add-context", "s", context=["nonsense"])
        self.assertRefused("not-found", "start", "nobody")
        self.assertRefused("not-found", "disable-channel", "s", channel="nobody")
        self.assertRefused("usage", "stop", "s")
        # Nothing of all this has changed it.
        self.assertEqual(self.ask("save", "s")["definitions"][0]["channels"], [])

    def test_channels_are_fixed_after_the_start(self):
        self.start_daemon()
        self.ask("create", "s", output=os.path.join(self.dir, "s"))
        self.ask("enable-channel", "s", channel="small", buffer_size=65536, context=["vtid"])
        self.ask("enable-event", "s", channel="small", event=["sided:tick"])
        self.ask("start", "s")
        self.assertRefused("busy", "enable-channel", "s", channel="late")
        self.assertRefused("not-found", "enable-event", "s", channel="late", event=["*"])
        program = Program(self)
        program.fire(5)
        self.ask("add-context", "s", channel="small", context=["procname"])
        program.fire(5)
        self.ask("disable-channel", "s", channel="small")
        program.fire(5)
        self.ask("destroy", "s")
        self.assertEqual(self.counts("s"), {program.pid: sequences(10)})

    def test_save_and_load(self):
        self.start_daemon()
        self.create("s", start=False)
        self.ask("track", "s", name=["sided-*", "other"], pid=[12])
        self.ask("untrack", "s", pid=[12])
        saved = self.ask("save", "s")["definitions"][0]
        self.assertRefused("busy", "load", definition=saved)
        self.ask("load", "t", definition=saved)
        other = self.ask("save", "t")["definitions"][0]
        self.assertEqual({**saved, "name": "t"}, other)
        self.assertEqual(other["track"], [{"name": "sided-*"}, {"name": "other"}])
        self.assertRefused("usage", "load", definition={**saved, "unknown": 1})
        self.assertRefused("usage", "load", definition={**saved, "name": "../x"})

    def test_long_messages(self):
        self.start_daemon()
        self.ask("create", "s")
        # Longer than one message can be, in the request and in the answer.
        patterns = [f"provider{i}:{'x' * 60}é" for i in range(400)]
        for i in range(4):
            self.ask("enable-event", "s", event=patterns, filter=f"a > {i}")
        definition = self.ask("list", "s")["sessions"][0]["definition"]
        self.assertEqual(len(json.dumps(definition)) > 65536, True)
        self.assertEqual(definition["channels"][0]["rules"][3]["event"], patterns)
        self.ask("load", "t", definition=definition)
        self.assertEqual(self.ask("save", "t")["definitions"][0]["channels"], definition["channels"])

    def test_requests_in_a_row(self):
        self.start_daemon()
        control = self.connect()
        self.addCleanup(control.close)
        for i in range(50):
            control.send("create", f"s{i}")
        for i in range(50):
            self.assertEqual(control.receive()["session"], f"s{i}")
        self.assertEqual(len(self.ask("list")["sessions"]), 50)

    def test_a_second_daemon_refuses(self):
        daemon = self.start_daemon()
        second = subprocess.run([harness.SIDED, "--foreground", "--runtime", self.runtime],
                                capture_output=True, text=True, timeout=harness.TIMEOUT, check=False)
        self.assertEqual(second.returncode, 1)
        # In the foreground: the problem, and the hint on a separate line.
        problem, hint = second.stderr.splitlines()
        self.assertEqual(problem, f"sided: a daemon serves {self.runtime} already: process {daemon.pid}")
        self.assertRegex(hint, "^hint: .*--runtime")
        self.ask("ping")

    def test_background(self):
        done = subprocess.run([harness.SIDED, "--runtime", self.runtime, "--output", self.traces],
                              capture_output=True, text=True, timeout=harness.TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        # It listens as soon as the first process has returned.
        pid = self.ask("ping")["pid"]
        self.addCleanup(os.kill, pid, signal.SIGTERM)
        self.assertEqual(os.getsid(pid), pid)

    def test_options(self):
        def run(*options):
            return subprocess.run([harness.SIDED, *options], capture_output=True, text=True,
                                  timeout=harness.TIMEOUT, check=False)
        self.assertEqual(run("--nonsense").returncode, 2)
        self.assertEqual(run("operand").returncode, 2)
        self.assertEqual(run("--foreground", "--runtime", "relative").returncode, 2)
        self.assertEqual(run("--foreground", "--runtime", "/" + "x" * 100).returncode, 2)
        self.assertEqual(run("--session-process").returncode, 1)
        self.assertIn("--system", run("--help").stdout)

    def test_modes_of_files(self):
        self.start_daemon()
        self.create("s")
        # Programs of all users connect to root's daemon, and need the names of these sockets.
        directory_mode, socket_mode = (0o700, 0o600) if os.geteuid() else (0o711, 0o666)
        for name, mode in (("", directory_mode), ("control.sock", 0o600), ("agents.sock", socket_mode),
                           ("sessions", directory_mode), ("sessions/s.sock", socket_mode), ("state", 0o700), ("places", 0o700),
                           ("state/s.json", 0o600)):
            found = stat.S_IMODE(os.stat(os.path.join(self.runtime, name)).st_mode)
            self.assertEqual(found & ~mode, 0, f"{name}: {found:o}")
        place = os.readlink(os.path.join(self.runtime, "places", "s"))
        self.assertEqual(stat.S_IMODE(os.stat(place).st_mode), 0o700)
        self.ask("destroy", "s")
        self.assertFalse(os.path.exists(os.path.dirname(place)))
        self.assertEqual(os.listdir(os.path.join(self.runtime, "places")), [])
        self.assertEqual(os.listdir(os.path.join(self.runtime, "sessions")), [])
        self.assertEqual(os.listdir(os.path.join(self.runtime, "state")), [])

    def test_systemd(self):
        """Sockets that another process has made, and a notification to the waiting process."""
        os.mkdir(self.runtime, 0o700)
        notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notified.bind(os.path.join(self.dir, "notify"))
        notified.settimeout(harness.TIMEOUT)
        self.addCleanup(notified.close)
        listeners = []
        for name in ("control.sock", "agents.sock"):
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind(os.path.join(self.runtime, name))
            listener.listen(16)
            listeners.append(listener)
            self.addCleanup(listener.close)
        script = ("import os,sys\nos.environ['LISTEN_PID']=str(os.getpid())\n"
                  "a,b=int(sys.argv[1]),int(sys.argv[2])\na,b=os.dup(a),os.dup(b)\n"
                  "os.dup2(a,20);os.dup2(b,21);os.dup2(20,3);os.dup2(21,4)\n"
                  "os.set_inheritable(3,True);os.set_inheritable(4,True)\n"
                  "os.execv(sys.argv[3],sys.argv[3:])\n")
        fds = [listener.fileno() for listener in listeners]
        with open(self.log, "a", encoding="utf-8") as log:
            self.daemon = subprocess.Popen(
                [sys.executable, "-c", script, *map(str, fds), harness.SIDED, "--foreground",
                 "--runtime", self.runtime], pass_fds=fds, stderr=log,
                env={**os.environ, "LISTEN_FDS": "2",
                     "NOTIFY_SOCKET": os.path.join(self.dir, "notify")})
        self.addCleanup(self.stop_daemon, self.daemon)
        self.assertEqual(notified.recv(100), b"READY=1")
        self.assertEqual(self.ask("ping")["pid"], self.daemon.pid)
        Program(self)
        self.assertEqual(len(self.ask("list")["processes"]), 1)
        self.daemon.terminate()
        self.assertEqual(self.daemon.wait(harness.TIMEOUT), 0)
        self.assertEqual(notified.recv(100), b"STOPPING=1")
        self.assertTrue(os.path.exists(os.path.join(self.runtime, "control.sock")))


class Running(Case):
    """Programs that run, that start, that fork and execute others."""

    def test_running_and_new_programs(self):
        self.start_daemon()
        before = [Program(self) for _ in range(3)]
        self.create("s")
        for program in before:
            program.fire(100)
        after = [Program(self) for _ in range(3)]
        for program in before + after:
            program.fire(50)
        self.ask("destroy", "s")
        counts = self.counts("s")
        for program in before:
            self.assertEqual(counts.pop(program.pid), sequences(150))
        for program in after:
            self.assertEqual(counts.pop(program.pid), sequences(50))
        self.assertEqual(counts, {})

    def test_programs_before_the_daemon(self):
        """Programs in control mode thread that have passed no event yet, or wait for the daemon's return."""
        self.start_daemon()
        program = Program(self)
        program.fire(10)
        program.await_thread()
        self.daemon.terminate()
        self.daemon.wait(harness.TIMEOUT)
        self.start_daemon()
        wait_until(lambda: self.ask("list")["processes"], "the program finds the new daemon")
        self.create("s")
        program.fire(10)
        self.ask("destroy", "s")
        self.assertEqual(self.counts("s"), {program.pid: list(range(10, 20))})

    def test_fork_and_exec(self):
        self.start_daemon()
        self.create("s")
        program = Program(self)
        program.fire(5)
        program.send_word("fork", 7)
        child = program.expect("forked")
        program.send_word("exec", 9)
        program.expect("ready")
        program.fire(1)
        program.quit()
        self.ask("destroy", "s")
        counts = self.counts("s")
        self.assertEqual(counts.pop(child), sequences(7))
        self.assertEqual(sorted(counts.pop(program.pid)), sorted(sequences(5) + sequences(10)))
        self.assertEqual(counts, {})

    def test_three_sessions(self):
        self.start_daemon()
        programs = [Program(self) for _ in range(3)]
        self.create("all", event="sided:*")
        self.create("half")
        self.ask("enable-event", "half", event=["sided:tick"], filter="sequence % 2 == 0")
        self.ask("disable-event", "half", event=["sided:tick"])
        self.ask("enable-event", "half", event=["sided:tick"], filter="sequence % 2 == 0")
        self.create("one", start=False)
        self.ask("track", "one", pid=[programs[0].pid])
        self.ask("start", "one")
        for program in programs:
            program.fire(100)
        self.ask("track", "one", pid=[programs[1].pid])
        self.ask("stop", "all")
        for program in programs:
            program.fire(100)
        for name in ("all", "half", "one"):
            self.ask("destroy", name)
        self.assertEqual(self.counts("all"), {p.pid: sequences(100) for p in programs})
        self.assertEqual(self.counts("all", "sided:tock"), {p.pid: sequences(100) for p in programs})
        self.assertEqual(self.counts("half"), {p.pid: sequences(200)[::2] for p in programs})
        self.assertEqual(self.counts("one"), {programs[0].pid: sequences(200),
                                              programs[1].pid: list(range(100, 200))})

    def test_switching_while_they_fire(self):
        """Recorded events are between the answers: no event before a start, none after a stop."""
        self.start_daemon()
        program = Program(self)
        program.send_word("spin")
        program.expect("spinning")
        self.create("s")
        for _ in range(10):
            self.ask("disable-event", "s", event=["sided:tick"])
            self.ask("enable-event", "s", event=["sided:tick"])
        self.ask("stop", "s")
        recorded = self.counts("s")[program.pid]
        self.assertEqual(recorded, sorted(set(recorded)))
        program.send_word("stop")
        program.expect("spun")
        self.ask("destroy", "s")
        self.assertEqual(self.counts("s")[program.pid], recorded)

    def test_modes_sync_and_signal(self):
        self.start_daemon()
        sync = Program(self, SIDE_CONTROL="sync")
        by_signal = Program(self, SIDE_CONTROL="signal:USR2")
        off = Program(self, SIDE_CONTROL="off")
        self.ask("create", "s", output=os.path.join(self.dir, "s"))
        self.ask("enable-event", "s", event=["sided:tick"])
        answer = self.ask("start", "s")
        self.assertEqual(answer["pending"], [])
        self.assertEqual([one["pid"] for one in answer["unchanged"]], [sync.pid])
        late = Program(self, SIDE_CONTROL="sync")
        for program in (sync, by_signal, off, late):
            program.fire(10)
        self.ask("stop", "s")
        self.assertEqual(self.counts("s"), {by_signal.pid: sequences(10), late.pid: sequences(10)})
        self.ask("destroy", "s")

    def test_timeout(self):
        """A program that only asks when it starts, and a daemon that does not answer for two seconds."""
        self.start_daemon()
        self.create("s")
        recorded = []
        for factor, has_factor in (("60", True), ("", False), ("3601", False), ("2x", False)):
            self.daemon.send_signal(signal.SIGSTOP)
            if has_factor:
                threading.Timer(2, self.daemon.send_signal, [signal.SIGCONT]).start()
            program = Program(self, SIDE_CONTROL="sync", SIDE_TIMEOUT_FACTOR=factor)
            self.daemon.send_signal(signal.SIGCONT)
            program.fire(10)
            program.quit()
            recorded += [program.pid] * has_factor
        self.ask("destroy", "s")
        self.assertEqual(self.counts("s"), {pid: sequences(10) for pid in recorded})

    def test_top_and_status(self):
        self.start_daemon()
        self.create("s")
        program = Program(self)
        program.fire(10)
        control = self.connect()
        self.addCleanup(control.close)
        control.ask("top", "s", interval=20000000)
        for _ in range(3):
            message = control.receive()
            self.assertGreater(message["time"], 0)
            self.assertEqual(message["sessions"][0]["processes"][0]["pid"], program.pid)
        # It can send other requests at the same time.
        control.send("ping")
        wait_until(lambda: "pid" in control.receive(), "the answer among the others")
        self.ask("destroy", "s")
        with self.assertRaises(EOFError):
            while True:
                control.receive()

    def test_snapshot_rotate_and_statedump(self):
        self.start_daemon()
        self.ask("create", "s", output=os.path.join(self.dir, "s"))
        self.ask("enable-channel", "s", channel="flight", mode="overwrite")
        self.ask("enable-event", "s", channel="flight", event=["sided:tick"])
        self.ask("start", "s")
        program = Program(self)
        program.fire(10)
        self.ask("statedump", "s")
        path = os.path.join(self.dir, "s", self.ask("snapshot", "s")["path"])
        self.assertTrue(os.path.isdir(path), path)
        self.ask("destroy", "s")
        self.create("t")
        program.fire(10)
        self.ask("rotate", "t")
        program.fire(10)
        self.assertRefused("usage", "snapshot", "t")
        self.ask("destroy", "t")
        self.assertEqual(sorted(self.counts("t")[program.pid]), list(range(10, 30)))


    def snapshot(self, session):
        """Takes a snapshot; returns its answer, the sequences of ticks by pid, and the names of the other events by pid."""
        answer = self.ask("snapshot", session)
        return answer, *self.read_snapshot(os.path.join(session, answer["path"]))

    def test_state_dumps_in_snapshots(self):
        self.start_daemon()
        self.ask("create", "s", output=os.path.join(self.dir, "s"))
        self.ask("enable-channel", "s", channel="flight", mode="overwrite", buffer_size=65536)
        self.ask("enable-event", "s", channel="flight", event=["sided:tick", "side:*"])
        self.ask("start", "s")
        programs = [Program(self), Program(self)]
        # The state dump of the start is overwritten.
        for program in programs:
            program.use_one_ring()
            program.fire(20_000)
        for turn in range(3):
            answer, ticks, others = self.snapshot("s")
            self.assertEqual(answer["pending"], [])
            for program in programs:
                # Each tick once, up to the last one; then the state.
                sequences = ticks[program.pid]
                self.assertEqual(sequences, list(range(sequences[0], 20_000 + 10 * turn)))
                self.assertGreater(len(sequences), 1000)
                self.assertEqual(others[program.pid].count("side:statedump_end"), 1, others)
                self.assertIn("side:library_load", others[program.pid])
                program.fire(10)
        # A program that is stopped has no state, and its ticks.
        self.stop_process(programs[0].pid)
        answer, ticks, others = self.snapshot("s")
        self.assertEqual([process["pid"] for process in answer["pending"]], [programs[0].pid])
        self.assertEqual([ticks[program.pid][-1] for program in programs], [20_029] * 2)
        self.assertEqual(list(others), [programs[1].pid])
        self.go_on(programs[0].pid)
        # A session that is stopped requests no state dump: the last one is still there.
        self.ask("stop", "s")
        answer, ticks, others = self.snapshot("s")
        self.assertEqual((answer["pending"], others[programs[1].pid].count("side:statedump_end")), ([], 1))
        self.ask("destroy", "s")
        self.assert_once("s")

    def assert_once(self, session):
        """`side view` of all snapshots together shows each tick once."""
        view = subprocess.run([os.environ["SIDE"], "view", "--json", os.path.join(self.dir, session)], stdout=subprocess.PIPE,
                              text=True, check=True, timeout=harness.TIMEOUT)
        events = [event for event in map(json.loads, view.stdout.splitlines()) if event["type"] == "event"]
        ticks = [(event["vpid"], event["fields"]["sequence"]) for event in events if event["event"] == "sided:tick"]
        self.assertGreater(len(ticks), 2000)
        self.assertEqual(len(ticks), len(set(ticks)))

    def read_snapshot(self, path):
        """The sequences of ticks by pid, and the names of the other events after the last tick by pid."""
        ticks, others = {}, {}
        for name, pid, sequence in self.events(path):
            if name == "sided:tick":
                ticks.setdefault(pid, []).append(sequence)
                others.pop(pid, None)
            else:
                others.setdefault(pid, []).append(name)
        return ticks, others

    def test_state_dumps_in_automatic_snapshots(self):
        """A trigger copies the rings at once; then each program adds its state. A message has the cause."""
        self.start_daemon()
        self.ask("create", "s", output=os.path.join(self.dir, "s"), trigger="event:sided:tick where sequence == 20000")
        self.ask("enable-channel", "s", channel="flight", mode="overwrite", buffer_size=65536)
        self.ask("enable-event", "s", channel="flight", event=["sided:tick", "side:*"])
        self.ask("start", "s")
        programs = [Program(self), Program(self)]
        for program in programs:
            program.use_one_ring()
        programs[1].fire(19_000)
        programs[0].fire(20_001)
        path = os.path.join(self.dir, "s", "snapshot-1")
        wait_until(lambda: os.path.isdir(path), "the snapshot of the event")
        ticks, others = self.read_snapshot(path)
        for program, last in zip(programs, (20_000, 18_999)):
            self.assertEqual(ticks[program.pid], list(range(ticks[program.pid][0], last + 1)))
            self.assertEqual(others[program.pid].count("side:statedump_end"), 1, others)
            self.assertIn("side:library_load", others[program.pid])
        status = self.ask("status", "s")["sessions"][0]
        self.assertEqual(status["snapshots"], 1)
        self.assertIn("snapshot-1 was made: event:sided:tick where sequence == 20000", status["messages"])
        # A request right after a trigger has its own snapshot.
        programs[1].fire(1)
        answer, ticks, others = self.snapshot("s")
        self.assertEqual((answer["path"], answer["snapshots"], ticks[programs[1].pid][-1]), ("snapshot-2", 2, 19_000))
        self.assertEqual(others[programs[1].pid].count("side:statedump_end"), 1)
        self.ask("destroy", "s")

    def test_state_dumps_of_processes_that_end(self):
        """Programs end while snapshots are taken: each snapshot has each tick at most once."""
        self.start_daemon()
        self.ask("create", "s", output=os.path.join(self.dir, "s"))
        self.ask("enable-channel", "s", channel="flight", mode="overwrite", buffer_size=65536)
        self.ask("enable-event", "s", channel="flight", event=["sided:tick", "side:*"])
        self.ask("start", "s")
        program, seen = Program(self), 0
        for _ in range(10):
            program.send_word("fork", 5000)
            _, ticks, _ = self.snapshot("s")
            for pid, sequences in ticks.items():
                self.assertEqual(sequences, list(range(sequences[0], sequences[-1] + 1)), pid)
                seen += 1
        self.assertGreater(seen, 0)
        self.ask("destroy", "s")

    def test_clear(self):
        """Earlier events are removed, and all later ones are there; also those of exited programs."""
        self.start_daemon()
        self.create("s")
        ended, program = Program(self), Program(self)
        ended.fire(10)
        ended.quit()
        program.fire(20)
        self.ask("clear", "s")
        self.assertEqual(self.counts("s"), {})
        program.fire(5)
        self.ask("stop", "s")
        self.assertEqual(self.counts("s"), {program.pid: list(range(20, 25))})
        self.ask("clear", "s")
        self.assertEqual(self.counts("s"), {})
        self.ask("start", "s")
        program.fire(5)
        # A recorder that continues a cleared session finds nothing of it.
        self.ask("clear", "s")
        os.kill(self.status("s")["recorder"], signal.SIGKILL)
        wait_until(lambda: self.status("s")["restarts"] == 1 and self.status("s")["state"] == "active", "another recorder")
        program.fire(5)
        self.ask("clear", "s")
        program.fire(5)
        # A finished chunk stays.
        self.ask("rotate", "s")
        program.fire(5)
        self.ask("clear", "s")
        program.fire(5)
        self.ask("destroy", "s")
        self.assertEqual(sorted(self.counts("s")[program.pid]), [*range(35, 40), *range(45, 50)])
        output = os.path.join(self.dir, "s")
        self.assertFalse([name for name in os.listdir(output) if name.startswith(".removed")])
        self.assertRefused("not-found", "clear", "s")
        self.ask("create", "never")
        self.assertRefused("usage", "clear", "never")


class Pending(Case):
    def test_a_stopped_program(self):
        self.start_daemon()
        self.create("s", start=False)
        program = Program(self)
        program.fire(1)
        program.await_thread()
        other = Program(self)
        self.stop_process(program.pid)
        answer = self.ask("start", "s", timeout=300000000)
        self.assertEqual(len(answer["pending"]), 1, answer)
        pending = answer["pending"][0]
        self.assertEqual((pending["pid"], pending["why"]), (program.pid, "stopped by a signal"))
        self.assertTrue(pending["name"])
        other.fire(10)
        # The next request is not delayed by it, and has the same answer.
        answer = self.ask("enable-event", "s", event=["sided:tock"], timeout=0)
        self.assertIn(program.pid, [one["pid"] for one in answer["pending"]])
        os.kill(program.pid, signal.SIGCONT)
        # It applies the change when it runs again; the next request reports it.
        self.assertEqual(self.ask("disable-event", "s", event=["sided:tock"],
                                  timeout=harness.TIMEOUT * 10**9)["pending"], [])
        program.fire(10)
        self.assertEqual(self.ask("stop", "s")["pending"], [])
        self.assertEqual(self.counts("s"), {program.pid: list(range(1, 11)), other.pid: sequences(10)})
        self.ask("destroy", "s")

    def test_it_ends_while_it_is_waited_for(self):
        self.start_daemon()
        self.create("s", start=False)
        program = Program(self)
        program.fire(1)
        program.await_thread()
        self.stop_process(program.pid)
        control = self.connect()
        self.addCleanup(control.close)
        control.send("start", "s", timeout=3600000000000)
        wait_until(lambda: self.status("s")["state"] == "active", "it starts")
        program.process.kill()
        program.process.wait()
        self.assertEqual(control.receive()["pending"], [])
        self.ask("destroy", "s")


    def arrives_by_signal(self):
        """This process as a program in control mode signal. Returns its connection, and the serial that it receives."""
        one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(one.close)
        one.settimeout(harness.TIMEOUT)
        one.connect(os.path.join(self.runtime, "agents.sock"))
        body = struct.pack("<IIIIQQII", os.getpid(), 3, signal.SIGUSR2, 0, 77, 0, 5, 5) + b"hand\0/bin\0"
        one.send(struct.pack("<IHHII", 0x45444953, 5, 9, 16 + len(body), 0) + body)
        return one, struct.unpack_from("<Q", one.recv(65536), 16)[0]

    def reports_done(self, one, serial, state=0):
        one.send(struct.pack("<IHHIIQQII", 0x45444953, 5, 11, 40, 0, 77, serial, state, 0))
        one.close()

    def catch_signals(self):
        caught = []
        before = signal.signal(signal.SIGUSR2, lambda *_: caught.append(1))
        self.addCleanup(signal.signal, signal.SIGUSR2, before)
        return caught

    def receive_change(self, one):
        """Reads a packet with a WELCOME: its serial, the generations of its sessions, and the pushed
        rules: base, session.
        """
        data, pushes = one.recv(65536), []
        first = struct.unpack_from("<I", data, 8)[0]
        serial, _, nr_sessions = struct.unpack_from("<QII", data, 16)
        generations, at = [], 40
        for _ in range(nr_sessions):
            generations.append(struct.unpack_from("<Q", data, at)[0])
            at = data.index(b"\0", at + 8) + 1
        at = first
        while at < len(data):
            _, _, kind, size = struct.unpack_from("<IHHI", data, at)
            base, session, length = struct.unpack_from("<QII", data, at + 16)
            self.assertEqual((kind, length), (14, size - 32))
            # CONFIG first, which has the generation.
            self.assertEqual(struct.unpack_from("<H", data, at + 32 + 6)[0], 2)
            self.assertEqual(struct.unpack_from("<Q", data, at + 32 + 16 + 64)[0], generations[session])
            pushes.append((base, session))
            at += size
        return serial, generations, pushes

    def test_rules_are_pushed_to_current_programs(self):
        self.start_daemon()
        self.create("s")
        one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(one.close)
        one.settimeout(harness.TIMEOUT)
        one.connect(os.path.join(self.runtime, "agents.sock"))
        body = struct.pack("<IIIIQQII", os.getpid(), 2, 0, 0, 77, 0, 5, 5) + b"hand\0/bin\0"
        one.send(struct.pack("<IHHII", 0x45444953, 5, 9, 16 + len(body), 0) + body)
        control = self.connect()
        self.addCleanup(control.close)

        def change(verb, says=0, session="s", **members):
            """Receives a change, and answers it: 0: all of it is done; 2: a part."""
            control.send(verb, session, timeout=3600000000000, **members)
            serial, generations, pushes = self.receive_change(one)
            self.report_state(one, serial, says)
            while says:
                serial, generations, pushes = self.receive_change(one)
                says = 0
                self.report_state(one, serial)
            self.assertEqual(control.receive()["pending"], [])
            return generations, pushes

        self.report_state(one, self.receive_change(one)[0])
        (before,), pushes = change("enable-event", event=["sided:tock"])
        for verb in ("disable-event", "enable-event", "disable-event"):
            (now,), pushes = change(verb, event=["sided:tock"])
            self.assertEqual((now, pushes), (before + 1, [(before, 0)]), verb)
            before = now
        # A state dump is not a change of rules. A change that could not be applied at first is
        # pushed again.
        self.assertEqual(change("statedump")[1], [])
        self.assertEqual(change("enable-event", event=["sided:tock"])[1], [(before + 1, 0)])
        generations, pushes = change("disable-event", says=2, event=["sided:tock"])
        self.assertEqual(pushes, [(before + 2, 0)])
        # Nor if programs get different rules.
        self.assertEqual(change("track", pid=[os.getpid()])[1], [])
        self.assertEqual(change("enable-event", event=["sided:tock"])[1], [])
        self.ask("destroy", "s", timeout=0)

    def test_a_session_that_does_not_answer_in_time(self):
        """A program that waits for a session has not applied the change, however often it reports
        that. Other failures end after some attempts.
        """
        self.start_daemon()
        self.create("s", start=False)
        one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(one.close)
        one.settimeout(harness.TIMEOUT)
        one.connect(os.path.join(self.runtime, "agents.sock"))
        body = struct.pack("<IIIIQQII", os.getpid(), 2, 0, 0, 77, 0, 5, 5) + b"hand\0/bin\0"
        one.send(struct.pack("<IHHII", 0x45444953, 5, 9, 16 + len(body), 0) + body)
        self.report_state(one, self.receive_change(one)[0])
        control = self.connect()
        self.addCleanup(control.close)
        control.send("start", "s", timeout=3600000000000)
        for _ in range(9):
            self.report_state(one, self.receive_change(one)[0], 3)
        serial = self.receive_change(one)[0]
        self.assertEqual(select.select([control.socket], [], [], 0)[0], [], "the command has not returned")
        self.report_state(one, serial)
        self.assertEqual(control.receive()["pending"], [])
        control.send("stop", "s", timeout=3600000000000)
        for _ in range(7):
            self.report_state(one, self.receive_change(one)[0], 2)
        self.assertEqual(control.receive()["pending"], [])
        self.ask("destroy", "s", timeout=0)

    @staticmethod
    def report_state(one, serial, state=0):
        one.send(struct.pack("<IHHIIQQII", 0x45444953, 5, 11, 40, 0, 77, serial, state, 0))

    def test_a_change_reads_no_file(self):
        """What the program's own thread reads for each change: the message, and whether there is a sandbox by now."""
        self.start_daemon()
        self.create("s")
        program = Program(self)
        program.fire(5)
        program.await_thread()
        tasks = f"/proc/{program.pid}/task"

        def name(task):
            with open(f"{tasks}/{task}/comm", encoding="utf-8") as file:
                return file.read().strip()

        thread = next(task for task in os.listdir(tasks) if name(task) == "side-control")
        if not os.access(f"{tasks}/{thread}/io", os.R_OK):
            self.skipTest("this kernel does not count what threads read")

        def reads():
            with open(f"{tasks}/{thread}/io", encoding="utf-8") as file:
                return int(re.search(r"^syscr: (\d+)$", file.read(), re.M).group(1))

        def change_and_count():
            before = reads()
            for _ in range(2):
                self.ask("disable-event", "s", event=["sided:tick"])
                self.ask("enable-event", "s", event=["sided:tick"])
            return reads() - before

        change_and_count()
        # On a slow machine the thread has made its check in between, as it does every five seconds.
        wait_until(lambda: change_and_count() == 8, "four changes with eight reads")
        self.ask("destroy", "s")

    def test_a_program_does_not_ask_for_pushed_rules(self):
        """The session knows no generation but the one with which the program began."""
        self.start_daemon()
        self.create("s")
        program = Program(self)
        program.fire(5)
        self.ask("disable-event", "s", event=["sided:tick"])
        first = self.status("s")["processes"][0]["generation"]
        program.fire(5)
        self.ask("enable-event", "s", event=["sided:tick"])
        program.fire(5)
        self.ask("stop", "s")
        status = self.status("s")
        self.assertLess(first, status["generation"])
        self.assertEqual(status["processes"][0]["generation"], first)
        self.assertEqual(self.counts("s"), {program.pid: [*range(5), *range(10, 15)]})
        self.ask("destroy", "s")

    def test_a_signal_for_one_that_is_just_connected(self):
        """It reads one message a connection, so a change in between needs a signal."""
        self.start_daemon()
        self.create("s", start=False)
        caught = self.catch_signals()
        one, serial = self.arrives_by_signal()
        control = self.connect()
        self.addCleanup(control.close)
        control.send("start", "s", timeout=3600000000000)
        wait_until(lambda: caught, "its signal")
        self.reports_done(one, serial)
        one, after = self.arrives_by_signal()
        self.assertGreater(after, serial)
        self.reports_done(one, after)
        self.assertEqual(control.receive()["pending"], [])
        self.ask("destroy", "s", timeout=0)

    def test_a_signal_that_came_to_nothing(self):
        """While a request waits, it is sent again."""
        self.start_daemon()
        self.create("s", start=False)
        caught = self.catch_signals()
        self.reports_done(*self.arrives_by_signal())
        control = self.connect()
        self.addCleanup(control.close)
        control.send("start", "s", timeout=3600000000000)
        wait_until(lambda: len(caught) >= 2, "another signal")
        self.reports_done(*self.arrives_by_signal())
        self.assertEqual(control.receive()["pending"], [])
        self.ask("destroy", "s", timeout=0)

    def test_a_signal_that_is_not_caught_any_more(self):
        """The signal would end the program: it is not sent, and the waiting request ends."""
        self.start_daemon()
        self.create("s", start=False)
        caught = self.catch_signals()
        self.reports_done(*self.arrives_by_signal())
        control = self.connect()
        self.addCleanup(control.close)
        control.send("start", "s", timeout=3600000000000)
        wait_until(lambda: caught, "its signal")
        # Ignored, because otherwise a failure would end the test.
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        self.ask("enable-event", "s", event=["sided:tock"], timeout=3600000000000)
        self.assertEqual(control.receive()["pending"], [])
        self.ask("destroy", "s")


class Kills(Case):
    def test_session_process(self):
        self.start_daemon()
        self.create("s")
        program = Program(self)
        total = 0
        for i in range(3):
            program.fire(500)
            total += 500
            recorder = self.status("s")["recorder"]
            os.kill(recorder, signal.SIGKILL)
            program.fire(100)  # into the rings, which survive the daemon
            total += 100
            wait_until(lambda: self.status("s")["restarts"] == i + 1 and
                       self.status("s")["state"] == "active", "it is recorded again")
            late = Program(self)
            late.fire(10)
            late.quit()
        program.fire(7)
        self.ask("destroy", "s")
        counts = self.counts("s")
        self.assertEqual(sorted(counts.pop(program.pid)), sequences(total + 7))
        self.assertEqual(sorted(map(tuple, counts.values())), [tuple(sequences(10))] * 3)

    def test_while_it_is_asked(self):
        self.start_daemon()
        self.create("s")
        program = Program(self)
        for i in range(5):
            recorder = self.status("s")["recorder"]
            control = self.connect()
            control.send("disable-event", "s", event=["sided:tick"])
            os.kill(recorder, signal.SIGKILL)
            self.assertTrue(control.receive()["ok"])
            control.close()
            # A program that asks at its next event must find a daemon that can answer.
            wait_until(lambda: self.status("s")["restarts"] == i + 1 and
                       self.status("s")["state"] == "active", "it is recorded again")
            program.fire(1)
            self.ask("enable-event", "s", event=["sided:tick"])
        program.fire(10)
        self.ask("destroy", "s")
        self.assertEqual(sorted(self.counts("s")[program.pid]), list(range(5, 15)))

    def test_the_daemon(self):
        self.start_daemon()
        self.create("s")
        self.create("defined", start=False)
        program = Program(self)
        total = 0
        for _ in range(3):
            program.fire(500)
            self.kill_daemon()
            program.fire(100)
            total += 600
            self.start_daemon()
            self.await_state("s", "active")
        self.assertEqual(self.status("defined")["state"], "defined")
        wait_until(lambda: self.ask("list")["processes"], "it finds the daemon again")
        self.ask("disable-event", "s", event=["sided:tick"])
        program.fire(50)
        self.ask("enable-event", "s", event=["sided:tick"])
        program.fire(50)
        self.ask("destroy", "s")
        self.assertEqual(sorted(self.counts("s")[program.pid]),
                         sequences(total) + list(range(total + 50, total + 100)))

    def test_at_random(self):
        """Kills of all processes while a program fires: it runs on, and no sequence number is there twice."""
        self.start_daemon()
        self.create("s")
        program = Program(self)
        program.send_word("spin")
        program.expect("spinning")
        chance = random.Random(4)
        for _ in range(8):
            wait_until(lambda: self.status("s")["state"] == "active", "the session exists")
            if chance.random() < 0.5:
                os.kill(self.status("s")["recorder"], signal.SIGKILL)
            else:
                self.kill_daemon()
                self.start_daemon()
        self.await_state("s", "active")
        program.send_word("stop")
        spun = program.expect("spun")
        answer = self.ask("destroy", "s")
        recorded = sorted(self.counts("s")[program.pid])
        self.assertEqual(len(recorded), len(set(recorded)))
        self.assertEqual(len(recorded) + answer["lost"], spun)

    def recover(self, name):
        """Returns what `side recover` makes of the session's state directory: the stream with records,
        and all ticks.
        """
        out = os.path.join(self.dir, name)
        place = os.readlink(os.path.join(self.runtime, "places", "s"))
        subprocess.run([os.environ["SIDE"], "recover", place, "-o", out], check=True, stdin=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=harness.TIMEOUT)
        return out, sum(self.counts(name).values(), [])

    def test_recovery_without_a_recorder(self):
        """Records that were written but not released when the recorder was killed are in the rings,
        too: they are recovered once.
        """
        self.start_daemon()
        self.create("s")
        program = Program(self)
        program.use_one_ring()
        program.fire(500)
        self.ask("stop", "s")
        self.ask("start", "s")
        self.kill_daemon()
        program.fire(200)
        program.quit()
        self.assertEqual(sum(self.counts("s").values(), []), sequences(500))
        out, found = self.recover("first")
        self.assertEqual(sorted(found), list(range(500, 700)))

        # As if the recorder had appended it before the kill.
        def file_of(folder):
            paths = [os.path.join(top, name) for top, _, names in os.walk(os.path.join(self.dir, folder))
                     for name in names if name.startswith("ring_")]
            return {os.path.basename(path): path for path in paths}
        written, recovered = file_of("s"), file_of("first")
        appended = 0
        for name, path in recovered.items():
            with open(path, "rb") as stream:
                data = stream.read()
            first, = struct.unpack_from("=Q", data, 56)
            second = data[first // 8:]  # After the empty one.
            if name not in written or not second:
                continue
            self.assertEqual(struct.unpack_from("=Q", second, 56)[0] // 8, len(second))
            with open(written[name], "r+b") as stream:
                uuid = stream.read(20)[4:]
                stream.seek(0, os.SEEK_END)
                stream.write(second[:4] + uuid + second[20:])
            appended += 1
        self.assertEqual(appended, 1)
        there = sum(self.counts("s").values(), [])
        out, found = self.recover("second")
        self.assertEqual(sorted(there + found), sequences(700))
        # Other bytes are other records.
        for path in written.values():
            with open(path, "r+b") as stream:
                stream.seek(-1, os.SEEK_END)
                byte = stream.read(1)
                stream.seek(-1, os.SEEK_END)
                stream.write(bytes([byte[0] ^ 1]))
        out, found = self.recover("third")
        self.assertEqual(sorted(found), list(range(500, 700)))

    def test_programs_that_come_while_the_recorder_begins(self):
        """Programs wait until it exists, and none of their events is missing."""
        self.start_daemon()
        self.create("s")
        pids = []
        for _ in range(6):
            self.kill_daemon()
            self.start_daemon()  # and not before the session exists
            program = Program(self)
            program.fire(20)
            program.quit()
            pids.append(program.pid)
        self.await_state("s", "active")
        self.ask("destroy", "s")
        self.assertEqual({pid: sorted(found) for pid, found in self.counts("s").items()},
                         {pid: sequences(20) for pid in pids})

    def test_programs_that_do_not_come_again(self):
        """The next daemon knows programs that wait for a signal, and those that only ask when they start."""
        self.start_daemon()
        self.create("s")
        by_signal = Program(self, SIDE_CONTROL="signal:USR2")
        sync = Program(self, SIDE_CONTROL="sync")
        gone = Program(self, SIDE_CONTROL="signal:USR2")
        files = [name for name in os.listdir(os.path.join(self.runtime, "state")) if "program" in name]
        self.assertEqual(sorted(files), sorted(f".program-{p.pid}" for p in (by_signal, sync, gone)))
        for program in (by_signal, sync):
            program.fire(10)
        self.kill_daemon()
        gone.quit()
        state = os.path.join(self.runtime, "state")
        for name, text in (("1", "{}"), (str(os.getpid()), "not one"), ("x", "{}"), ("0", "{}"),
                           (f"{by_signal.pid}.new", '{"started":')):
            with open(os.path.join(state, f".program-{name}"), "w", encoding="utf-8") as file:
                file.write(text)
        self.start_daemon()
        self.await_state("s", "active")
        answer = self.ask("disable-event", "s", event=["sided:tick"])
        self.assertEqual(answer["pending"], [])
        self.assertEqual([one["pid"] for one in answer["unchanged"]], [sync.pid])
        self.assertEqual({one["pid"]: one["control"] for one in self.ask("list")["processes"]},
                         {by_signal.pid: "signal", sync.pid: "sync"})
        files = [name for name in os.listdir(state) if "program" in name]
        self.assertEqual(sorted(files), sorted(f".program-{p.pid}" for p in (by_signal, sync)))
        by_signal.fire(10)
        self.ask("enable-event", "s", event=["sided:tick"])
        by_signal.fire(10)
        sync.fire(10)
        for program in (by_signal, sync):
            program.quit()
        wait_until(lambda: not [name for name in os.listdir(state) if "program" in name], "they are forgotten")
        self.ask("destroy", "s")
        counts = self.counts("s")
        self.assertEqual(sorted(counts[by_signal.pid]), [*range(10), *range(20, 30)])
        self.assertEqual(sorted(counts[sync.pid]), list(range(20)))

    def test_a_state_file_that_is_damaged(self):
        self.start_daemon()
        self.create("good", start=False)
        self.daemon.terminate()
        self.daemon.wait(harness.TIMEOUT)
        state = os.path.join(self.runtime, "state")
        for name, text in (("bad", "{"), ("worse", '{"definition": 3}'), ("other", None)):
            if text is None:
                with open(os.path.join(state, "good.json"), encoding="utf-8") as good:
                    text = good.read()
            with open(os.path.join(state, name + ".json"), "w", encoding="utf-8") as file:
                file.write(text)
        self.start_daemon()
        self.assertEqual([s["name"] for s in self.ask("list")["sessions"]], ["good"])
        self.assertEqual(self.log_text().count("cannot be restored"), 3)


class Hostile(Case):
    def test_garbage(self):
        self.start_daemon()
        self.create("s")
        chance = random.Random(7)
        for name in ("control.sock", "agents.sock"):
            for i in range(150):
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
                    one.connect(os.path.join(self.runtime, name))
                    try:
                        for _ in range(chance.randrange(1, 4)):
                            one.send(chance.randbytes(chance.randrange(1, 3000)))
                    except OSError:
                        pass
        for text in ('{"version":1}', '[]', '{"version":1,"verb":[]}', '{"verb":"ping"}', "1", '"x"',
                     '{"version":1,"verb":"ping"}x', '{"version":1,"verb":"create","session":"a\\u0000b"}',
                     "[" * 1000, '{"a":' * 1000, '{"more":true}', '{"more":1,"part":2}'):
            control = self.connect()
            control.socket.send(text.encode())
            answer = control.receive()
            self.assertFalse(answer["ok"])
            self.assertEqual(answer["kind"], "usage")
            control.close()
        self.assertTrue(self.ask("ping")["ok"])
        self.assertEqual(self.status("s")["state"], "active")
        self.assertIsNone(self.daemon.poll())

    def test_messages_of_programs_changed_at_random(self):
        self.start_daemon()
        self.create("s")

        def arrive(token, control=2, signal_number=0, name=b"x\0", exe=b"/x\0"):
            body = struct.pack("<IIIIQQII", os.getpid(), control, signal_number, 0, token, 0,
                               len(name), len(exe)) + name + exe
            return struct.pack("<IHHII", 0x45444953, 5, 9, 16 + len(body), 0) + body
        chance = random.Random(8)
        for i in range(300):
            message = bytearray(arrive(i + 1))
            for _ in range(chance.randrange(3)):
                message[chance.randrange(len(message))] = chance.randrange(256)
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
                one.connect(os.path.join(self.runtime, "agents.sock"))
                try:
                    one.send(message)
                    one.send(message[:chance.randrange(1, len(message))])
                except OSError:
                    pass
        program = Program(self)
        program.fire(10)
        self.assertEqual(self.ask("stop", "s", timeout=60000000000)["pending"], [])
        self.assertEqual(self.counts("s"), {program.pid: sequences(10)})
        self.ask("destroy", "s")

    def test_floods_of_connections(self):
        self.start_daemon()
        self.create("s")
        held = []
        self.addCleanup(lambda: [one.close() for one in held])
        for name in ("control.sock", "agents.sock"):
            for _ in range(600):
                held.append(harness.connect_patiently(os.path.join(self.runtime, name)))
                held[-1].setblocking(False)
        # Silent connections are closed to make space: no other one is refused.
        for i in range(3):
            program = Program(self)
            program.fire(10)
            self.assertTrue(self.ask("ping")["ok"])
            self.assertEqual([p["pid"] for p in self.status("s")["processes"]].count(program.pid), 1)
        self.ask("stop", "s")
        self.assertEqual(self.counts("s")[program.pid], sequences(10))

        def closed(one):
            try:
                return one.recv(100) == b""
            except BlockingIOError:
                return False
            except OSError:
                return True
        # The oldest one was closed, the newest one of the command line still exists.
        wait_until(lambda: closed(held[0]), "the end of the oldest")
        self.assertFalse(closed(held[599]))

    def test_a_slow_reader(self):
        self.start_daemon()
        for i in range(100):
            self.ask("create", f"s{i}")
        slow = self.connect()
        self.addCleanup(slow.close)
        slow.socket.setblocking(False)
        # Nothing is read; what does not fit the sockets stays unread, and no other process is
        # affected.
        try:
            for _ in range(100000):
                slow.send("list")
        except BlockingIOError:
            pass
        for _ in range(20):
            self.assertEqual(len(self.ask("list")["sessions"]), 100)

    def test_a_silent_client(self):
        self.start_daemon()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as silent:
            silent.connect(os.path.join(self.runtime, "agents.sock"))
            silent.settimeout(harness.TIMEOUT)
            self.assertEqual(silent.recv(100), b"")

    def test_a_full_disk(self):
        """A session without space does not harm the other one."""
        small = os.path.join(self.dir, "small")
        os.mkdir(small)
        if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", small],
                                          check=False, capture_output=True).returncode:
            self.skipTest("a file system cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", small], check=False)
        self.start_daemon()
        self.ask("create", "full", output=os.path.join(small, "full"))
        self.ask("enable-event", "full", event=["sided:*"])
        self.ask("start", "full")
        self.create("s")
        program = Program(self)
        for _ in range(20):
            program.fire(1000)
        self.ask("destroy", "s")
        self.assertEqual(self.counts("s"), {program.pid: sequences(20000)})
        self.assertEqual(self.status("full")["state"], "active")


class Silent(Case):
    """A silent connection does not outlive its process: a child that inherits it cannot act as that process."""

    SCRIPT = """
import os, socket, sys
one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
one.connect({path!r})
for data in {before!r}:
    one.send(data)
    one.recv(65536)
if os.fork():
    os._exit(0)
sys.stdin.readline()
heard = []
try:
    for data in {after!r}:
        one.send(data)
        heard.append(one.recv(65536))
except OSError:
    pass
# Not a CONFIG that refuses: it is for a process that has just exited.
print([data[6] for data in heard if data and (data[6] != 2 or any(data[16:20]))], flush=True)
"""

    def inherit(self, name, after, before=()):
        """Returns the types of messages that a child receives on a connection of an exited process."""
        path = os.path.join(self.runtime, name)
        process = subprocess.Popen([sys.executable, "-c", self.SCRIPT.format(path=path, before=before, after=after)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.wait(harness.TIMEOUT), 0)
        heard, _ = process.communicate("go\n", timeout=harness.TIMEOUT)
        return heard.strip()

    def test_inherited_connections(self):
        self.start_daemon()
        self.create("s")
        session = os.path.join(self.runtime, "sessions", "s.sock")
        for number in range(5):
            token = 1000 + 10 * number
            self.assertEqual(self.inherit("agents.sock", [speaker.arrive(token)]), "[]")
            self.assertEqual(self.inherit("sessions/s.sock", [speaker.hello(token + 1)]), "[]")
            # Passed on to the session while the process ran, and before.
            self.assertEqual(self.inherit("agents.sock", [speaker.hello(token + 2)], [speaker.passing(session)]), "[]")
            self.assertEqual(self.inherit("agents.sock", [speaker.done(token + 3, 1)], [speaker.arrive(token + 3)]), "[]")
        self.assertEqual(self.ask("list")["processes"], [])
        self.assertEqual([one for one in self.status("s")["processes"] if one["live"]], [])

    def test_connections_of_a_process_that_lives(self):
        """The same messages, from the process itself."""
        self.start_daemon()
        self.create("s")
        for name, data, kind in (("agents.sock", speaker.arrive(1), speaker.WELCOME), ("sessions/s.sock", speaker.hello(2), speaker.CONFIG)):
            with speaker.dial(os.path.join(self.runtime, name), harness.TIMEOUT) as one:
                one.send(data)
                self.assertEqual(speaker.kind_of(one.recv(65536)), kind)

    def test_number_of_silent_connections(self):
        """More silent connections than permitted, all of them held: connections with messages are served each time."""
        self.start_daemon()
        self.create("s")
        held = []
        self.addCleanup(lambda: [one.close() for one in held])
        for number in range(600):
            held.append(harness.connect_patiently(os.path.join(self.runtime, "sessions/s.sock" if number % 2 else "agents.sock")))
        for number in range(3):
            program = Program(self)
            program.fire(10)
            program.quit()
            self.assertIn(program.pid, [one["pid"] for one in self.status("s")["processes"]])
        # Each of them is closed in the end, without any message.
        for one in held:
            one.settimeout(harness.TIMEOUT)
            with contextlib.suppress(ConnectionError):
                self.assertEqual(one.recv(100), b"")
        self.ask("destroy", "s")
        self.assertEqual(self.counts("s")[program.pid], sequences(10))


class Others(Case):
    """Users, and capabilities of processes."""

    def run_as_nobody(self, script):
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c",
                   script]
        return subprocess.run(command, capture_output=True, text=True, timeout=harness.TIMEOUT,
                              check=False)

    def need_root(self):
        if os.geteuid() or not shutil.which("setpriv"):
            self.skipTest("only root can be another user")

    SCRIPT = """
import socket, sys
one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
try:
    one.connect({path!r})
    try:
        one.send(b'{{"version":1,"verb":"ping"}}')
    except BrokenPipeError:
        pass  # the earlier events are there
    print(one.recv(65536).decode())
except OSError as error:
    print(type(error).__name__)
"""

    def test_another_user_is_kept_out(self):
        self.need_root()
        os.chmod(self.dir, 0o755)
        self.start_daemon()
        path = os.path.join(self.runtime, "control.sock")
        self.assertIn("PermissionError", self.run_as_nobody(self.SCRIPT.format(path=path)).stdout)
        # Even if the modes of files permitted it.
        os.chmod(self.runtime, 0o755)
        os.chmod(path, 0o666)
        printed = self.run_as_nobody(self.SCRIPT.format(path=path)).stdout
        self.assertIn('"permission"', printed)
        os.chmod(os.path.join(self.runtime, "agents.sock"), 0o666)
        self.run_as_nobody(self.SCRIPT.format(path=os.path.join(self.runtime, "agents.sock")))
        self.assertEqual(self.ask("list")["processes"], [])

    def test_the_system_daemon_serves_all_users(self):
        self.need_root()
        os.chmod(self.dir, 0o755)
        self.start_daemon("--system")
        path = os.path.join(self.runtime, "control.sock")
        self.assertNotIn('"ok":true', self.run_as_nobody(self.SCRIPT.format(path=path)).stdout)
        self.create("s")
        # Their events are recorded, if they can load the library at all.
        program = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", harness.PROGRAM],
            input="fire 10\nquit\n", capture_output=True, text=True, timeout=harness.TIMEOUT, check=False,
            env={**os.environ, "SIDE_RUNTIME": self.runtime})
        if program.returncode:
            self.skipTest("another user cannot run the test's program here")
        self.ask("stop", "s")
        self.assertEqual(list(self.counts("s").values()), [sequences(10)])
        self.ask("destroy", "s")

    def test_session_processes_drop_their_rights(self):
        self.start_daemon()
        self.create("s")
        pid = self.status("s")["recorder"]
        with open(f"/proc/{pid}/status", encoding="utf-8") as lines:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)
        self.assertEqual(status["NoNewPrivs"], "1")
        if status.get("Seccomp") != "2":
            self.skipTest("there is no filter of system calls in this build")
        # kill, ptrace of the machine's processes, modules, raw network: dropped.
        effective = int(status["CapEff"], 16)
        for capability in (0, 1, 7, 12, 13, 16, 17, 21):  # chown … sys_admin
            self.assertFalse(effective >> capability & 1, capability)
        self.ask("destroy", "s")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[1:])
