# SPDX-License-Identifier: MIT
"""Two users of root's daemon who do not trust each other: neither can write to memory of the other's
programs, nor use up the resources of the other.
"""
import fcntl
import grp
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

import harness
from harness import wait_until

ONE, OTHER = 65534, 65533
SIDE = os.environ["SIDE"]
# Approximate size of the smallest rings of a process.
SMALLEST = os.cpu_count() << 19
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
        assert line, self.process.wait(harness.TIMEOUT)
        self.answer = json.loads(line)

    def end(self):
        if not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.wait(harness.TIMEOUT)
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
    """Returns (device, inode) of each shared mapping of the process that it may write to."""
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
        """Programs of two users, of root, and one that gives up root's rights once it is recorded."""
        self.begin("first", "second")
        programs = [self.program(uid) for uid in (0, 0, ONE, ONE, OTHER, OTHER)]
        for program in programs:
            program.fire(3)
        programs[1].send_word("user", ONE)
        programs[1].expect("user")
        self.assertApart(*[program.pid for program in programs])
        for program in programs:
            program.fire(3)
            program.quit()
        for session in ("first", "second"):
            self.ask("destroy", session)
            self.assertEqual(self.counts(session), {program.pid: list(range(6)) for program in programs})

    def test_mappings_after_a_kill(self):
        """Mappings that a second recorder has taken over, and new ones."""
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
        """Descriptors that a session hands to two users are sealed, or belong to one user."""
        self.begin("given")
        given = [Stranger(self, uid, self.socket_of("given"), "descriptors").answer for uid in (ONE, OTHER)]
        given = [{tuple(one) for one in answer} for answer in given]
        self.assertTrue(given[0] and given[1])
        self.assertEqual(given[0] & given[1], set())

    def test_spoiled_memory(self):
        """One user overwrites all its memory repeatedly; the other one's events are complete."""
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


class Shares(Case):
    """One user holds all resources that it can get; programs of the other one are recorded completely."""

    def begin(self, session, **members):
        self.start_daemon()
        self.create(session, **members)
        os.chmod(self.runtime, 0o755)

    def assertRecorded(self, session, *uids):
        """Checks programs of these users, while the other one holds its resources."""
        pids = []
        for uid in uids:
            program = self.program(uid)
            program.fire(100)
            program.quit()
            pids.append(program.pid)
        self.ask("destroy", session)
        recorded = self.counts(session)
        self.assertEqual([recorded.get(pid) for pid in pids], [list(range(100))] * len(pids))

    def test_connections(self):
        self.begin("busy")
        attacker = Stranger(self, OTHER, self.socket_of("busy"), "connect", 1000)
        self.assertGreater(attacker.answer[0], 100)
        self.assertRecorded("busy", ONE, ONE, 0)

    def test_memory(self):
        """So many processes that no further one of this user is accepted."""
        self.begin("full", memory_limit=100 * SMALLEST)
        attacker = Stranger(self, OTHER, self.socket_of("full"), "hello", 120)
        self.assertLess(attacker.answer, 100)
        self.assertRecorded("full", ONE, ONE, ONE, 0)

    def test_messages(self):
        """One user's programs cause thousands of messages: the log has some of them, and those about
        the other user's programs.
        """
        self.begin("loud")
        attacker = Stranger(self, OTHER, self.socket_of("loud"), "complain", 2000)
        Stranger(self, ONE, self.socket_of("loud"), "complain", 1)

        def others():
            return [line for line in self.complaints() if f"process {attacker.process.pid} " not in line]
        wait_until(others, "a message about the other one")
        self.assertGreater(len(self.complaints()), 10)
        self.assertLess(len(self.complaints()), 30)
        # Neither command repeats lines about other users' programs.
        answer = self.ask("status", "loud")["sessions"][0]
        self.assertEqual(answer["messages"], [])
        self.assertEqual({user["uid"] for user in answer["messages-of-users"]}, {ONE, OTHER})
        self.ask("stop", "loud")
        for words in (("status", "loud"), ("destroy", "loud")):
            text = self.side(*words)
            self.assertNotIn("is not recorded", text)
            self.assertRegex(text, f"messages? about programs of user {OTHER}: see the daemon's log")
            self.assertLess(len(text.splitlines()), 40)
        # Each line of the attacker was printed or counted.
        wait_until(lambda: self.suppressed(OTHER) + len(self.complaints()) == 2001, "the number of suppressed messages")
        self.assertFalse(self.suppressed(ONE))

    def test_messages_of_many_processes(self):
        """The limit applies to the user, not to each process only."""
        self.begin("loud")
        for _ in range(6):
            Stranger(self, OTHER, self.socket_of("loud"), "complain", 30)
        self.ask("destroy", "loud")
        self.assertLess(len(self.complaints()), 30)
        self.assertEqual(self.suppressed(OTHER) + len(self.complaints()), 180)

    def side(self, *words):
        done = subprocess.run([os.environ["SIDE"], *words], env={**os.environ, "SIDE_RUNTIME": self.runtime}, capture_output=True, text=True,
                              timeout=harness.TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr

    def suppressed(self, uid):
        return sum(int(number) for number in re.findall(rf"suppressed (\d+) messages about programs of user {uid}:", self.log_text()))

    def complaints(self):
        return [line for line in self.log_text().splitlines() if "is not recorded" in line]


class Tables(Case):
    """Probe tables of members of the group tracing."""

    TABLE = 32 << 20
    probes = 0

    def ask_as(self, uid, verb, session, size=0, **members):
        request = {"version": 1, "verb": verb, "session": session, **members}
        fd = os.memfd_create("table", os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, 1033, 15)  # F_ADD_SEALS
        script = (f"import socket; one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET);"
                  f"one.connect({os.path.join(self.runtime, 'control.sock')!r});"
                  f"socket.send_fds(one, [{json.dumps(request).encode()!r}], [{fd}][:{size}]);"
                  f"print(one.recv(1 << 17).decode())")
        done = subprocess.run(["setpriv", f"--reuid={uid}", f"--regid={uid}", f"--groups={self.group}", sys.executable, "-c", script],
                              pass_fds=[fd], capture_output=True, text=True, timeout=harness.TIMEOUT, check=True)
        os.close(fd)
        return json.loads(done.stdout)

    def store(self, uid, session):
        self.probes += 1
        return self.ask_as(uid, "enable-probe", session, self.TABLE, event=[f"probe:f{self.probes}"], probe="--function f")

    def test_members(self):
        try:
            self.group = grp.getgrnam("tracing").gr_gid
        except KeyError:
            self.skipTest("there is no group tracing")
        self.start_daemon("--system")
        for uid, session in ((OTHER, "first"), (OTHER, "second"), (ONE, "third")):
            self.assertTrue(self.ask_as(uid, "create", session)["ok"])
        for _ in range(4):
            self.assertTrue(self.store(OTHER, "first")["ok"])
        self.assertTrue(self.store(OTHER, "second")["ok"])
        refused = self.store(OTHER, "second")
        self.assertEqual(refused["kind"], "busy")
        self.assertIn("your sessions have 0 MiB left for tables", refused["error"])
        self.assertTrue(self.store(ONE, "third")["ok"])


class Refused(Case):
    """Programs for which there is no share: counted, named, and recorded once there is one."""

    def lose_recorder(self):
        """Kills the recorder of session "kept", which cannot be started until its directory is back.
        Returns that directory.
        """
        output = os.path.join(self.dir, "kept")
        os.rename(output, output + ".away")
        with open(output, "w", encoding="utf-8"):
            pass
        os.kill(self.status("kept")["recorder"], signal.SIGKILL)
        wait_until(lambda: self.status("kept").get("error"), "a recorder that cannot be started")
        return output

    def give_recorder_back(self, output):
        os.unlink(output)
        os.rename(output + ".away", output)
        self.await_state("kept", "active")

    def test_without_a_recorder(self):
        """A program that starts while the recorder cannot be started again: its start is counted, and
        later events are recorded.
        """
        self.start_daemon()
        os.chmod(self.runtime, 0o755)
        self.create("kept")
        before = self.program(ONE)
        before.fire(5)
        output = self.lose_recorder()
        missed = self.program(ONE)
        missed.fire(5)
        self.assertEqual(self.status("kept")["missed-starts"], 1)
        shown = subprocess.run([SIDE, "status", "kept"], capture_output=True, text=True, check=True,
                               env={**os.environ, "SIDE_RUNTIME": self.runtime}).stdout
        self.assertIn("the start of 1 program: no recorder was running", shown)
        self.give_recorder_back(output)
        wait_until(lambda: missed.pid in [one["pid"] for one in self.status("kept")["processes"]], "the program that was missed")
        before.fire(5)
        before.quit()
        self.assertEqual(self.status("kept")["missed-starts"], 1)
        self.ask("destroy", "kept")
        self.assertEqual(self.counts("kept")[before.pid], list(range(10)))

    def test_each_start_without_a_recorder(self):
        """Programs of two users that start between the kill of a recorder and the next recorder: each
        counts once, also one that exits.
        """
        self.start_daemon()
        os.chmod(self.runtime, 0o755)
        self.create("kept")
        before = [self.program(ONE), self.program(OTHER)]
        output = self.lose_recorder()
        for number, uid in enumerate((ONE, OTHER, None, ONE, OTHER), 1):
            program = self.program(uid)
            program.fire(5)
            self.assertEqual(self.status("kept")["missed-starts"], number)
            if number % 2:
                program.quit()
        self.assertEqual(self.status("kept")["missed-starts"], 5)
        shown = subprocess.run([SIDE, "status", "kept"], capture_output=True, text=True, check=True,
                               env={**os.environ, "SIDE_RUNTIME": self.runtime}).stdout
        self.assertIn("the start of 5 programs: no recorder was running", shown)
        self.give_recorder_back(output)
        # Those that started before and after are no missed starts.
        for program in (*before, self.program(ONE)):
            program.fire(10)
            program.quit()
        self.assertEqual(self.status("kept")["missed-starts"], 5)
        self.ask("destroy", "kept")
        counts = self.counts("kept")
        self.assertEqual([counts[program.pid] for program in before], [list(range(10))] * 2)

    def test_until_there_is_memory(self):
        self.start_daemon()
        os.chmod(self.runtime, 0o755)
        self.ask("create", "small", output=os.path.join(self.dir, "small"), memory_limit=12 * SMALLEST)
        self.ask("enable-channel", "small", channel="tiny", buffer_size=65536)
        self.ask("enable-event", "small", channel="tiny", event=["sided:tick"])
        self.ask("start", "small")
        programs = []
        while not self.status("small")["refused"]:
            self.assertLess(len(programs), 20)
            programs.append(self.program(ONE))
            programs[-1].fire(10)
        refused = programs.pop()
        status = self.status("small")
        self.assertEqual(status["refused"], 1)
        self.assertEqual([(one["pid"], one["uid"], one["name"]) for one in status["waiting"]],
                         [(refused.pid, ONE, "sided-program")])
        self.assertIn("memory", status["waiting"][0]["reason"])
        shown = subprocess.run([SIDE, "status", "small"], capture_output=True, text=True, check=True,
                               env={**os.environ, "SIDE_RUNTIME": self.runtime}).stdout
        self.assertIn("NOT RECORDED", shown)
        self.assertIn(str(refused.pid), shown)
        for program in programs:
            program.quit()
        fired = 10

        def is_recorded():
            nonlocal fired
            fired += 1
            refused.fire(1)
            return [one for one in self.status("small")["processes"] if one["pid"] == refused.pid and one["recorded"]]
        wait_until(is_recorded, "the program that was refused")
        self.assertEqual(self.status("small")["waiting"], [])
        self.assertEqual(self.status("small")["refused"], 1)
        refused.quit()
        self.ask("destroy", "small")
        all_recorded, lost = self.sums("small")
        recorded = all_recorded[refused.pid]
        self.assertGreaterEqual(recorded[0], 10)
        self.assertEqual(recorded, list(range(recorded[0], fired)))
        self.assertEqual(lost, {refused.pid: {"no ring memory": recorded[0]}})
        self.assertEqual(len(all_recorded), len(programs) + 1)


if __name__ == "__main__":
    unittest.main()
