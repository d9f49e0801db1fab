# SPDX-License-Identifier: MIT
"""Sessions of the daemon and programs that do not see its directory: another root directory, other
mounts, processes, users, networks. They connect through a rendezvous socket that the attaching
process has created where they see it.
"""
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import unittest

import bt2

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import resources
from test_attach import TIMEOUT, SIDE, Program
from test_users import ANSWER, NOBODY, WORK, Container, Daemon, namespaces, process_of
from waiting import wait_until


class Rendezvous(Container, Daemon):
    be = ()  # this command makes the test another user

    def side(self, *words, status=0):
        done = subprocess.run([*self.be, SIDE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=TIMEOUT, env={**os.environ, "SIDE_RUNTIME": self.runtime})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def contained(self, *options, directories=("/run",), **more):
        started = Program(self.container(*options, directories=directories, **more))
        self.addCleanup(started.kill)
        if not started.process.stdout.readline():
            self.skipTest("nothing can be mounted here")
        with open(f"/proc/{started.pid}/task/{started.pid}/children", encoding="ascii") as children:
            started.pid = int(children.read().split()[0])
        return started

    def sockets(self):
        """The directories of rendezvous sockets, as the host sees them, in the container and where the
        tests themselves would create them.
        """
        found = []
        for place in ("run", "dev/shm", "tmp", "var/tmp"):
            for root in (self.file("root"), self.file("jail")):
                if os.path.isdir(f"{root}/{place}"):
                    found += [name for name in os.listdir(f"{root}/{place}") if name.startswith("side-door-")]
        return found

    def work(self, *services):
        for one in services:
            self.assertEqual(one.ask("work 5", "worked")[1], str(ANSWER))

    def disable(self, pid, *words):
        self.side("disable-event", "service_work", "-u", "--pid", str(pid), "--timeout", "60s", *words)

    def test_container(self):
        """All operations of a session, with one program in a container and one outside."""
        inside, outside = self.contained("-n", pivot=True), self.service()
        for one in (inside, outside):
            self.assertIn("1 jump", self.enable(one.pid))
        self.assertEqual(len(self.sockets()), 1)
        self.work(inside, outside)
        self.side("stop", "--timeout", "60s")
        self.work(inside, outside)
        self.side("start", "--timeout", "60s")
        self.work(inside, outside)
        self.disable(inside.pid)
        self.work(inside, outside)
        self.assertIn("1 jump", self.enable(inside.pid))
        self.work(inside, outside)
        self.side("destroy", "--timeout", "60s")
        self.work(inside, outside)
        self.assertEqual(self.numbers(self.trace), {1: WORK * 3, outside.pid: WORK * 4})

    def over(self, what):
        """Waits until the condition is no longer true."""
        wait_until(lambda: not what(), "the condition is no longer true", TIMEOUT)

    def present(self):
        """The session has this many programs, which run and have reported what they record."""
        lines = self.side("status", "s").stdout.splitlines()
        return sum(1 for line in lines if re.match(" +service +[0-9]+ +thread +(?:[a-z]+ +)?[1-9]", line) and not line.endswith("ended"))

    def kept_sockets(self):
        return [name for name in os.listdir(self.runtime + "/state") if name.startswith(".door-")]

    def test_read_only(self):
        """No directory is writable: the name is in the network namespace, which is another one."""
        inside = self.contained("-n", directories=(), then=f"mount -o remount,ro,bind {self.file('root')} &&")
        self.enable(inside.pid)
        self.assertEqual(self.sockets(), [])
        self.work(inside)
        child = int(inside.ask("fork 5", "forked")[1])
        self.side("stop", "--timeout", "60s")
        self.work(inside)
        self.side("destroy", "--timeout", "60s")
        self.assertEqual(self.numbers(self.trace), {1: WORK, child: WORK})

    def test_children(self):
        """Children connect through the rendezvous socket when they start, and receive changes."""
        inside = self.contained()
        self.enable(inside.pid)
        child = int(inside.ask("fork 5", "forked")[1])
        worker = int(inside.ask("spawn", "spawned")[1])
        self.over(lambda: self.present() != 2)
        self.side("stop", "--timeout", "60s")
        self.work(inside)
        self.side("start", "--timeout", "60s")
        self.work(inside)
        self.side("destroy", "--timeout", "60s")
        numbers = self.numbers(self.trace)
        self.assertEqual(set(numbers.pop(worker)), {7})
        self.assertEqual(numbers, {1: WORK, child: WORK})

    def test_sessions(self):
        """A session that exists, one that starts later, and one that also has a program of another user."""
        inside = self.contained()
        self.enable(inside.pid)
        later, last = self.file("later"), self.file("last")
        self.side("create", "later", "-o", later)
        self.side("start", "later")
        self.assertIn("1 jump", self.enable(inside.pid, words=("-s", "later")))
        self.work(inside)
        self.disable(inside.pid, "-s", "s")
        self.work(inside)
        inside.ask(f"user {NOBODY}", "done")
        self.side("create", "last", "-o", last)
        self.side("start", "last")
        self.enable(inside.pid, words=("-s", "last"))
        self.work(inside)
        for name in ("s", "later", "last"):
            self.side("destroy", name, "--timeout", "60s")
        self.assertEqual(self.numbers(self.trace), {1: WORK})
        self.assertEqual(self.numbers(later), {1: WORK * 3})
        self.assertEqual(self.numbers(last), {1: WORK})

    def restarted(self, end, *options, **more):
        inside = self.contained(*options, **more)
        self.enable(inside.pid)
        self.work(inside)
        child = int(inside.ask("spawn", "spawned")[1])
        self.over(lambda: self.present() != 2)
        end()
        self.sided.wait()
        self.work(inside)
        self.side("daemon")  # starts another daemon
        self.addCleanup(self.end_daemon, self.runtime)
        self.over(lambda: self.present() != 2)
        self.work(inside)
        self.disable(inside.pid)
        self.work(inside)
        self.assertIn("1 jump", self.enable(inside.pid))
        self.work(inside)
        self.side("destroy", "s", "--timeout", "60s")
        self.side("list")
        numbers = self.numbers(self.trace)
        self.assertEqual(set(numbers.pop(child)), {7})
        self.assertEqual(numbers, {1: WORK * 4})

    @staticmethod
    def end_daemon(runtime):
        with open(runtime + "/sided.pid", encoding="ascii") as pid:
            os.kill(int(pid.read()), signal.SIGTERM)

    def test_daemon_killed(self):
        self.restarted(self.sided.kill)

    def test_daemon_ended(self):
        self.restarted(self.sided.terminate)

    def test_daemon_killed_read_only(self):
        self.restarted(self.sided.kill, "-n", directories=(), then=f"mount -o remount,ro,bind {self.file('root')} &&")

    def test_socket_lost(self):
        """The socket is removed while no daemon runs: this is reported, and another one is created."""
        inside = self.contained()
        self.enable(inside.pid)
        self.work(inside)
        self.sided.kill()
        self.sided.wait()
        path_of_socket, = self.sockets()
        shutil.rmtree(self.file("root/run/" + path_of_socket))
        self.side("daemon")
        self.addCleanup(self.end_daemon, self.runtime)
        sentence = f"process {inside.pid}, and other programs in its mount namespace, cannot find this daemon: it cannot reopen the previous daemon's rendezvous socket /run/{path_of_socket}/"
        for verb in ("status", "list"):
            printed = self.side(verb).stderr
            self.assertIn(sentence, printed)
            self.assertIn(f"\nhint: `side attach --daemon -p {inside.pid}` creates another one\n", printed)
        self.side("attach", "--daemon", "-p", str(inside.pid), "-s", "s")
        self.assertNotIn("cannot find this daemon", self.side("status").stderr)
        self.work(inside)
        self.side("destroy", "s", "--timeout", "60s")
        self.assertEqual(self.numbers(self.trace), {1: WORK * 2})

    def test_detached(self):
        """Nothing is left, and the program may be attached again."""
        inside = self.contained(directories=("/tmp",))
        self.enable(inside.pid)
        self.work(inside)
        self.assertEqual(len(self.sockets()), 1)
        self.assertEqual(len(self.kept_sockets()), 1)
        self.side("detach", str(inside.pid))
        self.work(inside)
        self.side("attach", "--daemon", str(inside.pid))
        self.work(inside)
        # The program sees the same directory as before, and uses the same rendezvous socket.
        self.assertEqual(len(self.sockets()), 1)
        inside.kill()
        self.over(self.sockets)
        self.over(self.kept_sockets)
        self.side("destroy", "--timeout", "60s")
        self.assertEqual(self.numbers(self.trace), {1: WORK * 2})

    def test_rounds(self):
        """After the third program of another root directory the daemon has no more descriptors and
        memory than after the first.
        """
        before = None
        for number in range(3):
            inside = self.contained("-n", pivot=True)
            self.side("attach", "--daemon", "-p", str(inside.pid), "-s", "s")
            self.assertEqual(len(self.sockets()), 1)
            inside.kill()
            self.over(self.sockets)
            self.over(self.kept_sockets)
            os.rename(self.file("root"), self.file(f"root-{number}"))
            if not number:
                before = resources.snapshot(self.sided.pid, memory=False)
        resources.assert_no_more(self.sided.pid, before)
        self.side("destroy", "--timeout", "60s")

    def test_user_namespace(self):
        """A user namespace without root: the program sees the directory, but does not trust it."""
        before = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                  *namespaces("-U", "-r", "--kill-child", "-f")]
        if subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
            self.skipTest("this user may not make a user namespace")
        inside = self.service(before=before)
        self.enable(inside.pid)
        self.work(inside)
        child = int(inside.ask("fork 5", "forked")[1])
        self.disable(inside.pid)
        self.work(inside)
        self.enable(inside.pid)
        self.work(inside)
        self.side("destroy", "--timeout", "60s")
        self.assertEqual(self.numbers(self.trace), {inside.pid: WORK * 2, child: WORK})

    def test_own_container(self):
        """Without any rights: a user's own daemon, and a container that this user has created."""
        self.assertEqual(self.sockets(), [])
        be = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        words = self.container("-U", "-r", "-n", directories=("/run",))
        self.runtime = self.file("own")
        for place in (self.runtime, self.file("work")):
            os.mkdir(place, 0o755)
        for folder in (self.runtime, self.file("work"), *(found[0] for found in os.walk(self.file("root")))):
            os.chown(folder, NOBODY, NOBODY)
        if subprocess.run([*be, "test", "-x", SIDE], check=False).returncode or subprocess.run(
                [*be, *namespaces("-U", "-r", "-m", "-p", "-n", "-f"), "true"], capture_output=True, check=False).returncode:
            self.skipTest("this user may not make a container, or not run what is tested")
        inside = Program([*be, *words])
        self.addCleanup(inside.kill)
        if not inside.process.stdout.readline():
            self.skipTest("nothing can be mounted here")
        with open(f"/proc/{inside.pid}/task/{inside.pid}/children", encoding="ascii") as children:
            inside.pid = int(children.read().split()[0])
        self.be = be
        self.trace = self.file("work/trace")
        self.side("create", "own", "-o", self.trace)
        self.addCleanup(self.end_daemon, self.runtime)
        self.side("start")
        self.assertIn("1 jump", self.enable(inside.pid))
        self.work(inside)
        child = int(inside.ask("fork 5", "forked")[1])
        self.side("stop", "--timeout", "60s")
        self.work(inside)
        self.side("destroy", "own", "--timeout", "60s")
        self.assertEqual(self.numbers(self.trace), {1: WORK, child: WORK})

    def test_changed_root(self):
        """The program was attached, and has hidden the directory since: new sessions use the rendezvous socket, too."""
        service = self.service()
        self.enable(service.pid)
        self.work(service)
        os.makedirs(self.file("jail/run"), 0o755)
        os.makedirs(self.file("jail/proc"), 0o755)
        self.mounted("proc", self.file("jail/proc"))
        service.ask(f"root {self.file('jail')}", "done")
        later = self.file("later")
        self.side("create", "later", "-o", later)
        self.side("start", "later")
        self.assertIn("already connected to a daemon:", self.side("attach", "--daemon", "-p", str(service.pid)).stderr)
        self.assertEqual(len(self.sockets()), 1)
        self.assertIn("1 jump", self.enable(service.pid, words=("-s", "later")))
        self.work(service)
        for name in ("s", "later"):
            self.side("destroy", name, "--timeout", "60s")
        self.assertEqual(self.numbers(self.trace), {service.pid: WORK * 2})
        self.assertEqual(self.numbers(later), {service.pid: WORK})

    def mounted(self, kind, place):
        if subprocess.run(["mount", "-t", kind, kind, place], capture_output=True, check=False).returncode:
            self.skipTest("nothing can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", place], check=False)

    def path_of_socket(self):
        path, = self.sockets()
        return f"{self.file('root')}/run/{path}/agents"

    @staticmethod
    def send_and_hear(socket_path, message):
        """Returns all answers to one message, until the other side closes the connection."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
            one.settimeout(TIMEOUT)
            one.connect(socket_path)
            one.send(message)
            answers = []
            try:
                while answer := one.recv(65536):
                    answers.append(answer)
            except ConnectionResetError:
                pass
            return answers

    def knock(self, *messages):
        """Returns the answers at the rendezvous socket, until the other side closes the connection."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
            one.settimeout(TIMEOUT)
            one.connect(self.path_of_socket())
            answers = []
            for message in messages:
                try:
                    one.send(message)
                except BrokenPipeError:
                    break
                answers.append(one.recv(65536))
            return answers

    @staticmethod
    def wire(kind, body):
        return struct.pack("=IHHII", 0x45444953, 5, kind, 16 + len(body), 0) + body

    def passing(self, path):
        text = path.encode() + b"\0"
        return self.wire(15, struct.pack("=II", len(text), 0) + text)

    def test_strangers(self):
        """Strangers get no further at a rendezvous socket than at the daemon's own sockets."""
        inside = self.contained()
        self.enable(inside.pid)
        there = self.passing(self.runtime + "/sessions/s.sock")
        for sent_text in (b"", b"x" * 40, self.wire(99, b""), self.passing("/etc/passwd"), self.passing(self.runtime + "/agents.sock"),
                     self.passing(self.runtime + "/sessions/none.sock"), there[:-1], there + b"\0"):
            answers = self.send_and_hear(self.path_of_socket(), sent_text or b"\0")
            self.assertEqual(answers, self.send_and_hear(self.runtime + "/agents.sock", sent_text or b"\0"), sent_text)
            # One refusal at most, and no session.
            self.assertLessEqual(len(answers), 1, sent_text)
            self.assertNotIn(sent_text, answers)
        # A session receives the message, and closes the connection because it does not know it.
        self.assertEqual(self.knock(there, b"x"), [there, b""])
        self.assertEqual(self.knock(there, there), [there, b""])
        # Many connections at once: the oldest are closed.
        path, = self.sockets()
        silent = []
        for _ in range(300):
            one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.addCleanup(one.close)
            one.connect(f"{self.file('root')}/run/{path}/agents")
            silent.append(one)
            try:
                one.send(there)
            except BrokenPipeError:
                pass
        self.work(inside)
        self.disable(inside.pid)
        self.work(inside)
        self.side("destroy", "--timeout", "60s")
        self.assertEqual(self.numbers(self.trace), {1: WORK})

    def test_another_daemon(self):
        """A program that is connected to one daemon does not change to another."""
        inside = self.contained()
        self.enable(inside.pid)
        runtime, self.runtime = self.runtime, self.file("other")
        os.mkdir(self.runtime, 0o755)
        self.side("create", "theirs", "-o", self.file("theirs"))
        self.addCleanup(self.end_daemon, self.runtime)
        self.side("start")
        self.assertIn("is connected to another daemon", self.enable(inside.pid, 1))
        self.runtime = runtime
        self.work(inside)
        self.side("destroy", "--timeout", "60s")
        self.assertEqual(self.numbers(self.trace), {1: WORK})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[1:])
