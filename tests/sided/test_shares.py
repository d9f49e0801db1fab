# SPDX-License-Identifier: MIT
"""Two users of root's daemon who do not trust each other: neither can write to memory of the other's programs, nor take
what the other one needs."""
import json
import os
import shutil
import subprocess
import sys
import unittest

import harness
from harness import wait_until

ONE, OTHER = 65534, 65533
STRANGER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stranger.py")


def as_user(uid):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


class Stranger:
    """stranger.py as this user."""

    def __init__(self, case, uid, path, *words):
        self.process = subprocess.Popen([*as_user(uid), sys.executable, STRANGER, path, *map(str, words)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        case.addCleanup(self.end)
        line = self.process.stdout.readline()
        assert line, self.process.wait(harness.PATIENCE)
        self.answer = json.loads(line)

    def end(self):
        if not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.wait(harness.PATIENCE)
        self.process.stdout.close()


class Case(harness.Case):
    def setUp(self):
        if os.geteuid() or not shutil.which("setpriv"):
            self.skipTest("only root can start programs of two users")
        super().setUp()
        for uid in (ONE, OTHER):
            done = subprocess.run([*as_user(uid), "test", "-x", harness.PROGRAM, "-a", "-r", STRANGER], check=False)
            if done.returncode:
                self.skipTest("other users cannot read the build directory")
        os.chmod(self.dir, 0o755)

    def program(self, uid, *words):
        return harness.Program(self, words, before=as_user(uid) if uid else ())

    def socket_of(self, session):
        return os.path.join(self.runtime, "sessions", session + ".sock")


def written_and_shared(pid):
    """(device, inode) of each shared mapping of the process that it may write to."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        lines = [line.split(None, 5) for line in maps]
    return {(fields[3], fields[4]) for fields in lines if fields[1][1] == "w" and fields[1][3] == "s"}


class Memory(Case):
    """Pages that programs of two users can write to."""

    def begin(self, *sessions, **members):
        self.start_daemon()
        for session in sessions:
            self.create(session, **members)
        os.chmod(self.runtime, 0o755)

    def assertApart(self, *pids):
        shared = [written_and_shared(pid) for pid in pids]
        for one in shared:
            self.assertTrue(one)
        for at, one in enumerate(shared):
            for other in shared[at + 1:]:
                self.assertEqual(one & other, set())

    def test_mappings(self):
        """Of two users, of root, and of a program that gives up root's rights once it is recorded."""
        self.begin("first", "second")
        programs = [self.program(uid) for uid in (0, 0, ONE, ONE, OTHER, OTHER)]
        for program in programs:
            program.fire(3)
        programs[1].tell("user", ONE)
        programs[1].expect("user")
        self.assertApart(*[program.pid for program in programs])
        for program in programs:
            program.fire(3)
            program.quit()
        for session in ("first", "second"):
            self.ask("destroy", session)
            self.assertEqual(self.counts(session), {program.pid: list(range(6)) for program in programs})

    def test_mappings_after_a_kill(self):
        """Those that a second recorder has taken over, and those that it makes."""
        self.begin("kept")
        before = [self.program(uid) for uid in (0, ONE, OTHER)]
        for program in before:
            program.fire(3)
        self.kill_daemon()
        self.start_daemon()
        self.await_state("kept", "active")
        after = [self.program(uid) for uid in (0, ONE, OTHER)]
        for program in after:
            program.fire(3)
        self.assertApart(*[program.pid for program in before + after])
        for program in before + after:
            program.fire(2000)
            program.quit()
        self.ask("destroy", "kept")
        expected = {program.pid: 2003 for program in before + after}
        self.assertEqual({pid: len(sequences) for pid, sequences in self.counts("kept").items()}, expected)

    def test_descriptors(self):
        """What a session hands to two users is sealed, or one's own."""
        self.begin("given")
        given = [Stranger(self, uid, self.socket_of("given"), "descriptors").answer for uid in (ONE, OTHER)]
        given = [{tuple(one) for one in answer} for answer in given]
        self.assertTrue(given[0] and given[1])
        self.assertEqual(given[0] & given[1], set())

    def test_spoiled_memory(self):
        """One user writes to all that it was given, all the time; the other one's events are complete."""
        self.begin()
        self.ask("create", "spoiled", output=os.path.join(self.dir, "spoiled"))
        self.ask("enable-channel", "spoiled", channel="all", mode="block", block_timeout=60_000_000_000)
        self.ask("enable-event", "spoiled", channel="all", event=["sided:tick"])
        self.ask("start", "spoiled")
        attacker = Stranger(self, OTHER, self.socket_of("spoiled"), "scribble")
        victim = self.program(ONE)
        for _ in range(20):
            victim.fire(2000)
        victim.quit()
        attacker.end()
        self.ask("destroy", "spoiled")
        self.assertEqual(self.counts("spoiled")[victim.pid], list(range(40000)))


if __name__ == "__main__":
    unittest.main()
