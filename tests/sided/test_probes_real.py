#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Probes in real programs, by the command line and the daemon: recorded events, the bytes in the
program's memory, and that both survive recorders and daemons.

usage: test_probes_real.py CASE
"""
import contextlib
import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

from harness import Case, TIMEOUT, PROGRAM, Program, wait_until
import harness

SIDE = os.environ["SIDE"]
PLACE = "sided_work"
LONG = bool(os.environ.get("SIDE_TEST_LONG"))


def sum_of(count):
    return 3 * (count * (count - 1) // 2) + count


class Real(Case):
    def setUp(self):
        super().setUp()
        if platform.machine() != "x86_64" or harness.SANITIZED:
            self.skipTest("there are no probes for such programs")

    def side(self, *words, status=0):
        done = subprocess.run([SIDE, *words], capture_output=True, text=True, timeout=TIMEOUT, check=False,
                              env={**os.environ, "SIDE_RUNTIME": self.runtime})
        self.assertEqual(done.returncode, status, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def enable(self, *words, name="work", status=0):
        return self.side("enable-event", name, "-u", "-s", "s", "--function", PLACE,
                         "--arg", "u64:sequence:%rdi", "--timeout", "60s", *words, status=status)

    def begin(self):
        self.start_daemon()
        self.create("s")

    def program(self):
        """Starts a program that listens: before its first event it has no thread for that."""
        program = Program(self)
        program.fire(1)
        program.await_thread()
        return program

    def code(self, program):
        """Returns the bytes at the begin of the function."""
        for line in subprocess.run(["nm", PROGRAM], capture_output=True, text=True, check=True).stdout.splitlines():
            if line.split()[-1] == PLACE:
                address = int(line.split()[0], 16)
        with open(f"/proc/{program.pid}/maps", encoding="utf-8") as maps:
            base = min(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(os.path.realpath(PROGRAM)))
        with open(f"/proc/{program.pid}/mem", "rb") as memory:
            memory.seek(base + address)
            return memory.read(16)

    def work(self, program, count):
        program.send_word("work", count)
        self.assertEqual(program.expect("worked"), sum_of(count))

    def recorded(self, program=None, name="probe:work"):
        """Returns the arguments of all recorded calls, in order; of one program or of all."""
        counts = self.counts("s", name)
        return sorted(counts.get(program.pid, [])) if program else counts

    def probes_of(self, session):
        return [program for probe in self.status(session).get("probes", []) for program in probe["programs"]]

    def is_set(self):
        probes = self.status("s").get("probes", [])
        return probes and all(p["state"] == "set" and p["programs"] and all(
            program["answered"] and program["set"] == 1 for program in p["programs"]) for p in probes)


class Life(Real):
    def test_set_and_taken_out(self):
        self.begin()
        program, other = self.program(), self.program()
        before = self.code(program)
        printed = self.enable("--pid", str(program.pid))
        self.assertIn("jump", printed)
        self.assertNotEqual(self.code(program), before)
        self.assertEqual(self.code(other), before)
        self.work(program, 100)
        self.work(other, 50)
        self.assertIn("by jump", self.side("status", "s"))
        self.side("disable-event", "work", "-u", "-s", "s", "--pid", str(program.pid))
        self.assertEqual(self.code(program), before)
        self.work(program, 30)
        self.enable("--pid", str(program.pid))
        self.work(program, 10)
        # A stopped session restores the program's code; a destroyed one, too.
        self.ask("stop", "s")
        self.assertEqual(self.code(program), before)
        self.work(program, 30)
        self.ask("start", "s")
        self.assertNotEqual(self.code(program), before)
        self.work(program, 5)
        self.ask("destroy", "s")
        self.assertEqual(self.code(program), before)
        self.work(program, 30)
        self.assertEqual(self.recorded(), {program.pid: [*range(100), *range(10), *range(5)]})
        program.quit()

    def test_programs_of_a_file(self):
        """Also programs that start later, from the first call on; and children by fork."""
        self.begin()
        early = self.program()
        self.enable("--exe", PROGRAM)
        late = Program(self)
        self.work(early, 20)
        wait_until(self.is_set, "the later one has reported its probes")
        self.work(late, 10)
        early.send_word("child", 7)
        child = early.expect("child")
        self.assertNotEqual(child, 0)
        self.ask("destroy", "s")
        self.assertEqual(self.recorded(), {early.pid: list(range(20)), late.pid: list(range(10)), child: list(range(7))})

    def test_children_and_what_a_process_becomes(self):
        """Probes of one process: also in its forked children; a program that it executes is resolved again."""
        self.begin()
        program, other = self.program(), self.program()
        self.enable("--pid", str(program.pid))
        children = []
        for one in (program, other):
            one.send_word("child", 7)
            children.append(one.expect("child"))
        self.assertTrue(all(children))
        program.send_word("exec", 3)
        program.expect("ready")
        wait_until(lambda: [p["pid"] for p in self.probes_of("s") if p["answered"] and p["set"] == 1] == [program.pid],
                   "the program that it has become has the place, too")
        self.work(program, 5)
        self.ask("destroy", "s")
        recorded = self.recorded()
        self.assertEqual((recorded[children[0]], recorded[program.pid]), (list(range(7)), list(range(5))))
        self.assertEqual(len(recorded), 2)

    def test_one_that_has_not_listened_yet(self):
        """Before its first event a program has no thread that could receive a change: it is woken."""
        self.begin()
        program = Program(self)
        self.assertEqual([p["armed"] for p in self.ask("list")["processes"]], [True])
        self.enable("--pid", str(program.pid))
        self.work(program, 10)
        self.ask("destroy", "s")
        self.assertEqual(self.recorded(program), list(range(10)))
        program.quit()

    def test_filters_and_two_sessions(self):
        self.begin()
        program = self.program()
        before = self.code(program)
        self.create("t")
        self.enable("--pid", str(program.pid), "--filter", "sequence >= 90")
        self.side("enable-event", "again", "-u", "-s", "t", "--function", PLACE, "--pid", str(program.pid),
                  "--arg", "u64:sequence:%rdi", "--timeout", "60s")
        self.work(program, 100)
        self.ask("destroy", "s")
        self.assertNotEqual(self.code(program), before)
        self.work(program, 3)
        self.ask("destroy", "t")
        self.assertEqual(self.code(program), before)
        self.assertEqual(self.recorded(program), list(range(90, 100)))
        self.assertEqual(self.counts("t", "probe:again"), {program.pid: [*range(100), *range(3)]})


class Modes(Real):
    """Programs without a thread of side: a request for a probe makes them check once, without a thread that stays."""

    def threads(self, program):
        return len(os.listdir(f"/proc/{program.pid}/task"))

    def check(self, **environment):
        self.begin()
        program = Program(self, **environment)
        before = self.code(program)
        printed = self.enable("--pid", str(program.pid))
        self.assertIn("jump", printed)
        self.assertNotIn("is unchanged", printed)
        self.assertNotEqual(self.code(program), before)
        self.work(program, 100)
        self.side("disable-event", "work", "-u", "-s", "s", "--pid", str(program.pid))
        self.assertEqual(self.code(program), before)
        self.work(program, 30)
        self.enable("--pid", str(program.pid), "--filter", "sequence < 3")
        self.work(program, 10)
        self.assertEqual(self.threads(program), 1)
        self.ask("stop", "s", timeout=60000000000)
        # Whatever it knows of the change, it removes the probe when it checks.
        self.side("attach", "--daemon", "-p", str(program.pid))
        self.assertEqual(self.code(program), before)
        self.work(program, 30)
        self.ask("destroy", "s", timeout=60000000000)
        self.assertEqual(self.recorded(), {program.pid: [*range(100), *range(3)]})
        program.quit()

    def test_signal(self):
        self.check(SIDE_CONTROL="signal:URG")

    def test_sync(self):
        self.check(SIDE_CONTROL="sync")

    def test_static_configuration(self):
        """Early boot, before a daemon could be asked."""
        config = os.path.join(self.dir, "boot.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"place {self.dir}/place\nsession early\n\tchannel all\n\t\tevent sided:*\n")
        program = Program(self, SIDE_BOOT=config)
        before = self.code(program)
        self.begin()
        self.assertIn("jump", self.enable("--pid", str(program.pid)))
        self.assertNotEqual(self.code(program), before)
        self.work(program, 20)
        self.side("disable-event", "work", "-u", "-s", "s", "--pid", str(program.pid))
        self.assertEqual(self.code(program), before)
        self.ask("destroy", "s")
        self.assertEqual(self.recorded(program), list(range(20)))

    def test_programs_of_a_file(self):
        self.begin()
        programs = [Program(self, SIDE_CONTROL=mode) for mode in ("sync", "signal:URG")] + [self.program()]
        self.enable("--exe", PROGRAM)
        self.assertTrue(self.is_set())
        late = Program(self, SIDE_CONTROL="sync")
        for count, program in enumerate([*programs, late], 1):
            self.work(program, count)
        self.ask("destroy", "s", timeout=60000000000)
        self.assertEqual(self.recorded(), {program.pid: list(range(count))
                                           for count, program in enumerate([*programs, late], 1)})

    def test_an_event_after_the_signal(self):
        """If no process attaches, the program's own next event does it: not in the handler, which may
        have interrupted any code.
        """
        self.start_daemon()
        self.create("s", start=False)
        program = Program(self, SIDE_CONTROL="signal:URG")
        before = self.code(program)
        self.enable("--exe", PROGRAM)
        self.ask("start", "s", timeout=60000000000)
        self.assertEqual(self.code(program), before)
        program.fire(1)
        self.assertNotEqual(self.code(program), before)
        self.assertTrue(self.is_set())
        self.work(program, 10)
        self.ask("stop", "s", timeout=60000000000)
        self.work(program, 5)
        program.fire(1)
        self.assertEqual(self.code(program), before)
        self.ask("start", "s", timeout=60000000000)
        program.fire(1)
        self.assertNotEqual(self.code(program), before)
        self.work(program, 3)
        self.ask("destroy", "s", timeout=60000000000)
        program.fire(1)
        self.assertEqual(self.code(program), before)
        self.assertEqual((self.threads(program), self.recorded(program)), (1, sorted([*range(10), *range(3)])))
        program.quit()

    def test_in_threads_that_are_interrupted(self):
        """Signals interrupt a working program, and events that set the announced probes."""
        self.begin()
        program = Program(self, SIDE_CONTROL="signal:URG")
        before = self.code(program)
        program.send_word("spin")
        program.expect("spinning")
        for i in range(20 if LONG else 4):
            self.enable("--exe", PROGRAM)
            self.assertNotEqual(self.code(program), before)
            self.ask("disable-event", "s", event=["work"], timeout=60000000000)
            wait_until(lambda: self.code(program) == before, f"round {i}: an event has taken it out")
        program.send_word("stop")
        self.assertGreater(program.expect("spun"), 0)
        program.quit()

    def test_one_that_cannot_be_made_to(self):
        """Another process traces it."""
        self.begin()
        program = Program(self, SIDE_CONTROL="sync")
        tracer = subprocess.Popen([sys.executable, "-c", TRACER, str(program.pid)], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(tracer.communicate)
        if tracer.stdout.readline() != "traced\n":
            self.skipTest("tracing is not permitted here")
        printed = self.enable("--pid", str(program.pid), status=3)
        self.assertIn(f"(process {program.pid}) is in control mode sync: it sets and removes probes when it starts\n"
                      f"hint: run `side attach --daemon -p {program.pid}`: the program then makes the change\n", printed)
        self.work(program, 3)
        tracer.communicate()
        self.side("attach", "--daemon", "-p", str(program.pid))
        self.work(program, 5)
        self.ask("destroy", "s")
        self.assertEqual(self.recorded(program), list(range(5)))


TRACER = """
import ctypes, sys
print("not" if ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), None, None) else "traced", flush=True)
sys.stdin.read()
"""

PROXY = """
import array, os, socket, sys, threading
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
listener.listen(64)
print("listens", flush=True)

def pass_on(one, other):
    while True:
        data, extra, _, _ = one.recvmsg(65536, 256)
        fds = array.array("i")
        for _, _, payload in extra:
            fds.frombytes(payload)
        if not data:
            break
        other.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)] if fds else [])
        for fd in fds:
            os.close(fd)
    other.shutdown(socket.SHUT_WR)

while True:
    here, _ = listener.accept()
    there = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    there.connect(sys.argv[2])
    for pair in ((here, there), (there, here)):
        threading.Thread(target=pass_on, args=pair, daemon=True).start()
"""


class Saved(Real):
    def save(self):
        path = os.path.join(self.dir, "saved.json")
        self.side("save", "s", "-o", path)
        self.ask("destroy", "s")
        with open(path, encoding="utf-8") as file:
            saved = json.load(file)
        # The next recording must not append to the previous one.
        shutil.rmtree(saved["output"])
        return path

    def test_probes_of_loaded_definitions(self):
        """They are resolved again, with the same filters and contexts."""
        self.begin()
        program, other = self.program(), self.program()
        before = self.code(program)
        self.enable("--pid", str(program.pid), "--filter", "sequence >= 5", "--context", "reg:rdi")
        self.enable("--exe", PROGRAM, name="all")
        path = self.save()
        self.assertEqual(self.code(program), before)
        self.side("load", path)
        self.side("start", "s")
        wait_until(self.is_set, "both probes in all of their programs")
        self.assertEqual(len(self.status("s")["probes"]), 2)
        self.assertNotEqual(self.code(other), before)
        self.work(program, 8)
        self.work(other, 4)
        self.assertEqual(self.ask("save", "s")["definitions"][0]["channels"][0]["rules"].count(
            {"event": ["probe:work"], "filter": "sequence >= 5"}), 1)
        self.ask("destroy", "s")
        self.assertEqual(self.recorded(), {program.pid: [5, 6, 7]})
        self.assertEqual(self.recorded(name="probe:all"), {program.pid: list(range(8)), other.pid: list(range(4))})

    def test_impossible_probes(self):
        self.begin()
        program = self.program()
        copy = os.path.join(self.dir, "copy")
        shutil.copy(PROGRAM, copy)
        self.enable("--pid", str(program.pid))
        self.enable("--exe", copy, name="gone")
        self.enable("--exe", PROGRAM, name="stays")
        path = self.save()
        program.quit()
        os.unlink(copy)
        printed = self.side("load", path, status=1)
        self.assertIn(f"the probe probe:work of session s is not resolved: process {program.pid} has ended", printed)
        self.assertIn(f"probe:gone is part of the session; it is set when {copy} exists and is executed", printed)
        self.side("start", "s")
        late = self.program()
        wait_until(lambda: sorted(p["state"] for p in self.status("s")["probes"]) == ["no table", "pending", "set"],
                   "the one that can be")
        self.work(late, 6)
        self.ask("destroy", "s")
        self.assertEqual(self.recorded(late, "probe:stays"), list(range(6)))


class Users(Real):
    def through(self, *before):
        """A program of this user whose session appears to belong to this user."""
        path = os.path.join(self.dir, "proxy" + before[1] if before else "proxy")
        proxy = subprocess.Popen([*before, sys.executable, "-c", PROXY, path,
                                  os.path.join(self.runtime, "sessions", "s.sock")], stdout=subprocess.PIPE)
        self.addCleanup(proxy.stdout.close)
        self.addCleanup(proxy.wait)
        self.addCleanup(proxy.kill)
        if not proxy.stdout.readline():
            self.skipTest("another user cannot run Python here")
        return Program(self, SIDE_AGENT_SOCKET=path, SIDE_CONTROL="off",
                       LD_PRELOAD=os.path.join(os.environ["SIDE_LIB_DIR"], "libside-agent.so"))

    def test_another_users_recorder(self):
        """It may record events of a program of root, but gets no probe into it."""
        if os.geteuid() or not shutil.which("setpriv"):
            self.skipTest("only root can be another user")
        os.chmod(self.dir, 0o777)
        self.start_daemon("--system")
        self.create("s")
        plain = self.code(Program(self, SIDE_CONTROL="off"))
        self.enable("--exe", PROGRAM)
        own, his = self.through(), self.through("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        self.assertNotEqual(self.code(own), plain)
        self.assertEqual(self.code(his), plain)
        self.work(his, 10)
        self.work(own, 10)
        self.assertIn("not set: its recorder belongs to another user", self.side("status", "s"))


class Kills(Real):
    def test_recorder_and_daemon(self):
        self.begin()
        program = self.program()
        before = self.code(program)
        self.enable("--pid", str(program.pid))
        total = []
        for i in range(2):
            os.kill(self.status("s")["recorder"], signal.SIGKILL)
            self.work(program, 100)  # into rings that survive the recorder
            wait_until(lambda: self.status("s")["restarts"] == i + 1 and self.status("s")["state"] == "active" and
                       self.is_set(), "the next recorder has heard of the probe")
            self.work(program, 10)
            total += [*range(100), *range(10)]
        self.kill_daemon()
        self.work(program, 100)
        self.start_daemon()
        wait_until(lambda: self.status("s")["state"] == "active" and self.is_set(), "the next daemon has it")
        self.assertNotEqual(self.code(program), before)
        self.work(program, 10)
        total += [*range(100), *range(10)]
        self.side("disable-event", "work", "-u", "-s", "s")
        self.assertEqual(self.code(program), before)
        self.work(program, 30)
        self.ask("destroy", "s")
        self.assertEqual(self.recorded(program), sorted(total))
        program.quit()

    def kill_recorder(self):
        recorder = self.status("s")["recorder"]
        # It may have exited with its daemon by now.
        with contextlib.suppress(ProcessLookupError):
            if recorder:
                os.kill(recorder, signal.SIGKILL)

    def kill_started_daemon(self):
        """A command that found no daemon has started one."""
        def is_gone():
            try:
                self.connect().close()
                return False
            except OSError:
                return True
        if not is_gone():
            with open(os.path.join(self.runtime, "sided.pid"), encoding="utf-8") as file:
                os.kill(int(file.read()), signal.SIGKILL)
            wait_until(is_gone, "the daemon that a command has started is gone")

    def test_at_random(self):
        """Set and removed while the code runs, and the processes that do it are killed in between."""
        self.begin()
        program = self.program()
        before = self.code(program)
        program.send_word("grind")
        program.expect("grinding")
        chance = random.Random(11)
        for i in range(100 if LONG else 12):
            words = ["--pid", str(program.pid)] if chance.randrange(2) else ["--exe", PROGRAM]
            victim = chance.randrange(4)
            doing = threading.Thread(target=subprocess.run, args=([
                SIDE, *(["enable-event", "work", "-u", "-s", "s", "--function", PLACE, *words] if chance.randrange(3) else
                        ["disable-event", "work", "-u", "-s", "s"])],), kwargs={
                            "env": {**os.environ, "SIDE_RUNTIME": self.runtime}, "timeout": TIMEOUT,
                            "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": False})
            doing.start()
            time.sleep(chance.random() / 20)
            if victim == 0:
                self.kill_daemon()
                doing.join()
                self.kill_started_daemon()
                self.start_daemon()
            elif victim == 1:
                self.kill_recorder()
            doing.join()
            wait_until(lambda: self.status("s")["state"] == "active", f"round {i}: the session is active")
        program.send_word("rest")
        self.assertGreater(program.expect("spun"), 0)
        self.ask("disable-event", "s", event=["work"], timeout=60000000000)
        wait_until(lambda: self.code(program) == before, "its own bytes again")
        self.enable("--pid", str(program.pid))
        wait_until(self.is_set, "it can be set yet")
        self.ask("destroy", "s", timeout=60000000000)
        wait_until(lambda: self.code(program) == before, "its own bytes at the end")
        self.work(program, 100)
        program.quit()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[1:])
