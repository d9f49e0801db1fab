#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The whole daemon with random sequences of valid messages, and some that are not quite valid, from
several connections, processes and users (actors.py), while recorders are stopped and killed, and
while the daemon is. After each batch the daemon must answer; at the end each event of another
program must be in its trace once, and the daemon must end with no object left.

A round has a seed, which is printed; SIDE_FUZZ_SEED=N repeats it. SIDE_FUZZ_SECONDS=N sets the
duration, SIDE_TEST_LONG=1 half an hour.

usage: test-fuzz.py CASE
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

from actors import SESSIONS
from harness import Case, TIMEOUT, Program, Refused, wait_until

LONG = os.environ.get("SIDE_TEST_LONG") == "1"
SECONDS = float(os.environ.get("SIDE_FUZZ_SECONDS", 1800 if LONG else 8))
ROUND_SECONDS = 60
MARKS = ("AddressSanitizer", "runtime error:", "double free", "corrupted", "are still referenced")
ACTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "actors.py")
USERS = (20001, 20002)


class Actor:
    def __init__(self, case, kind, seed, index, uid):
        self.process = subprocess.Popen(
            [sys.executable, "-B", ACTORS, kind, str(seed), str(index), case.runtime, case.dir, str(uid), str(uid)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, start_new_session=True)
        case.addCleanup(self.kill)

    def begin(self, number):
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()

    def finish(self):
        line = self.process.stdout.readline()
        assert line == "done\n", json.loads(line[7:]) if line.startswith("failed ") else f"an actor has ended: {line}"

    def end(self):
        self.process.stdin.close()
        self.process.wait(TIMEOUT)

    def kill(self):
        # With its children, which would keep the output of the test open. It is not reaped yet, so
        # the number is its own.
        if self.process.returncode is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Fuzzed(Case):
    def users(self):
        """Returns the users of the programs."""
        if not os.geteuid():
            return (os.geteuid(), *USERS)
        print("programs of one user only: this test does not run as root")
        return (os.geteuid(), os.geteuid())

    def rounds(self, one_round):
        end = time.monotonic() + SECONDS
        seed = int(os.environ.get("SIDE_FUZZ_SEED", random.SystemRandom().randrange(1 << 30)))
        while True:
            print(f"SIDE_FUZZ_SEED={seed}", flush=True)
            with self.subTest(seed=seed):
                one_round(seed, min(end, time.monotonic() + ROUND_SECONDS))
            seed += 1
            if time.monotonic() >= end:
                return
            self.doCleanups()
            self.setUp()

    def begin(self, seed):
        os.chmod(self.dir, 0o755)
        self.read = 0
        self.draw = random.Random(f"{seed}/coordinator")
        self.start_daemon(*([] if os.geteuid() else ["--system"]))
        self.actors = [Actor(self, "client", seed, 0, os.geteuid()), Actor(self, "client", seed, 1, os.geteuid())]
        self.actors += [Actor(self, "program", seed, 2 + index, uid) for index, uid in enumerate(self.users())]

    def check_log(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            log.seek(max(0, self.read - 100))
            text = log.read()
            self.read = log.tell()
        for mark in MARKS:
            self.assertNotIn(mark, text)

    def check_alive(self):
        self.assertIsNone(self.daemon.poll(), "the daemon has ended")
        try:
            self.sessions()
        except (OSError, EOFError) as error:
            # Either the daemon is ending, or it has closed the connection of a client without an
            # error.
            time.sleep(1)
            self.check_log()
            self.fail(f"{error!r}; status of the daemon {self.daemon.poll()}; its log: {self.log_text()[-4000:]}")
        self.check_log()

    def sessions(self):
        """Returns the sessions by name. None: the daemon answers that this user has too many
        connections, which the actors and their children hold.
        """
        try:
            return {session["name"]: session for session in self.ask("status")["sessions"]}
        except Refused as refused:
            self.assertEqual(refused.kind, "busy", str(refused))
            return None

    def batch(self, number):
        for actor in self.actors:
            actor.begin(number)
        self.disturb()
        for actor in self.actors:
            actor.finish()
        self.check_alive()

    def recorder(self, name):
        return (self.sessions() or {}).get(name, {}).get("recorder", 0)

    def disturb(self):
        """Kills a recorder, or stops it for a while, during requests."""
        chance = self.draw.random()
        name = self.draw.choice((*SESSIONS, "victim"))
        pid = self.recorder(name) if chance < 0.2 else 0
        try:
            if pid and chance < 0.08:
                os.kill(pid, signal.SIGKILL)
            elif pid:
                os.kill(pid, signal.SIGSTOP)
                time.sleep(self.draw.random() * 0.05)
                os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def forget_outputs(self):
        """A long run would fill the disk with traces."""
        sessions = self.sessions()
        if sessions is None:
            return
        kept = {session.get("output") for session in sessions.values()}
        for name in os.listdir(self.dir):
            path = os.path.join(self.dir, name)
            if name.startswith(("out-", "sent-", "side-door-")) and path not in kept:
                shutil.rmtree(path, True)

    def finish(self):
        for actor in self.actors:
            actor.end()
        wait_until(lambda: self.sessions() is not None, "the end of the actors' connections")
        for name in SESSIONS:
            try:
                self.ask("destroy", name, timeout=1000000000)
            except Refused as refused:
                self.assertIn(refused.kind, ("not-found", "failed"), str(refused))

    def check_end(self):
        self.daemon.terminate()
        self.assertEqual(self.daemon.wait(TIMEOUT), 0, self.log_text())
        self.check_log()


class Everything(Fuzzed):
    def one_round(self, seed, end):
        self.begin(seed)
        self.create("victim")
        victim = Program(self)
        number = 0
        while not number or time.monotonic() < end:
            self.batch(number)
            victim.fire(20)
            number += 1
            if number % 20 == 0:
                self.forget_outputs()
            if self.draw.random() < 0.02:
                self.kill_daemon()
                self.spawn_again()
        self.finish()
        victim.quit()
        self.ask("destroy", "victim")
        # In the traces of several recorders, one after the other.
        self.assertEqual(sorted(self.counts("victim").get(victim.pid, [])), list(range(20 * number)))
        self.check_end()
        print(f"{number} batches", flush=True)

    def spawn_again(self):
        self.daemon = self.spawn_daemon(*([] if os.geteuid() else ["--system"]))
        self.await_daemon()

    def test_everything(self):
        self.rounds(self.one_round)


class Foreign(Fuzzed):
    """The daemon sees no process id of its peers: it is in its own PID namespace, and they are outside."""
    INSIDE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")

    def setUp(self):
        super().setUp()
        if os.geteuid() or subprocess.run([*self.INSIDE, "true"], check=False, capture_output=True).returncode:
            self.skipTest("this user cannot make a PID namespace")

    def start_daemon(self, *options):
        from harness import SIDED  # pylint: disable=import-outside-toplevel
        with open(self.log, "a", encoding="utf-8") as log:
            self.outside = subprocess.Popen(
                [*self.INSIDE, SIDED, "--foreground", "--runtime", self.runtime, "--output", self.traces, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "SIDE_RUNTIME": self.runtime})
        self.addCleanup(self.end_outside)
        self.daemon = self.outside
        self.await_daemon()

    def end_outside(self):
        if self.outside.poll() is None:
            self.outside.kill()
        self.outside.wait()
        self.remove_leftovers()

    def disturb(self):
        """Process ids of recorders mean other processes here."""

    def check_end(self):
        with open(f"/proc/{self.outside.pid}/task/{self.outside.pid}/children", encoding="utf-8") as children:
            os.kill(int(children.read().split()[0]), signal.SIGTERM)
        self.assertEqual(self.outside.wait(TIMEOUT), 0, self.log_text())
        self.check_log()

    def one_round(self, seed, end):
        self.begin(seed)
        number = 0
        while not number or time.monotonic() < end:
            self.batch(number)
            number += 1
            if number % 20 == 0:
                self.forget_outputs()
        self.finish()
        self.check_end()
        print(f"{number} batches", flush=True)

    def test_foreign(self):
        self.rounds(self.one_round)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
