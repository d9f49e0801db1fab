#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No object of the daemon is freed while something refers to it: messages in the wrong order, connections through a
removed rendezvous socket, subscriptions, and connections of a session that are closed to make space for others.

With a sanitizer a use of freed memory ends the daemon or the session's process, and is in the log. Without one the
answers are tested.

usage: test_ownership.py CASE
"""
import contextlib
import errno
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

import speaker
from harness import SIDED, Case, Program, stop_process, wait_until

MARKS = ("AddressSanitizer", "runtime error:", "double free", "corrupted", "are still referenced")


def threads_of(pid):
    """Returns the names of all threads, sorted."""
    names = []
    for task in os.listdir(f"/proc/{pid}/task"):
        # It may have exited meanwhile.
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8") as comm:
            names.append(comm.read().strip())
    return sorted(names)


class Owned(Case):
    def setUp(self):
        super().setUp()
        self.start_daemon()
        self.agents = os.path.join(self.runtime, "agents.sock")
        self.opened = []
        self.addCleanup(lambda: [one.close() for one in self.opened])
        self.token = int.from_bytes(os.urandom(6), "little") * 1000

    def dial(self, path=None):
        """Also if the queue of new connections is full for a moment."""
        def dials():
            try:
                self.opened.append(speaker.dial(path or self.agents, 60))
                return True
            except BlockingIOError:
                return False
        wait_until(dials, f"space in the queue of {path or self.agents}")
        return self.opened[-1]

    def arrive(self, token, path=None, **members):
        one = self.dial(path)
        one.send(speaker.arrive(token, **members))
        self.assertTrue(speaker.read_welcome(speaker.hear(one))[0])
        return one

    def check_alive(self):
        self.assertTrue(self.ask("ping")["ok"])
        self.assertIsNone(self.daemon.poll(), self.log_text())
        self.check_log()

    def check_log(self):
        text = self.log_text()
        for mark in MARKS:
            self.assertNotIn(mark, text)

    def check_end(self):
        """The daemon ends in order, with all objects freed."""
        self.daemon.terminate()
        self.assertEqual(self.daemon.wait(120), 0, self.log_text())
        self.check_log()

    def check_refused(self, one, reason):
        accepted, _, _, given_reason = speaker.read_welcome(speaker.hear(one))
        self.assertEqual((accepted, given_reason), (False, f"protocol error: {reason}"))
        self.assertEqual(speaker.hear(one), b"")

    def programs(self):
        return [program["pid"] for program in self.ask("list")["processes"]]


class Connections(Owned):
    def test_second_arrive(self):
        self.create("s")
        victim = Program(self)
        for turn in range(20):
            # Another token, or the same.
            for second in (self.token + 2, self.token + 1):
                one = self.arrive(self.token + 1)
                one.send(speaker.arrive(second))
                self.check_refused(one, "a second ARRIVE on one connection")
                # The program stays known, and its next connection works like the first.
                self.assertIn(os.getpid(), self.programs())
                self.arrive(self.token + 3).close()
                self.token += 3
            victim.fire(10)
        self.check_alive()
        victim.quit()
        self.ask("destroy", "s")
        self.assertEqual(self.counts("s"), {victim.pid: list(range(200))})
        self.check_end()

    def test_second_arrive_at_once(self):
        """Both messages are in the socket before the daemon reads the first one; then the connection
        is closed, or is not.
        """
        for turn in range(100):
            one = self.dial()
            one.send(speaker.arrive(self.token + 1))
            try:
                one.send(speaker.arrive(self.token + 2))
                one.send(speaker.arrive(self.token + 3))
            except OSError:
                pass  # Closed in the meantime.
            if turn % 2:
                one.close()
            self.arrive(self.token + 4)
            self.token += 4
        self.check_alive()
        self.check_end()

    def test_replaced_connections(self):
        """Each connection of a program replaces the previous one; each token replaces the program."""
        kept = [self.arrive(self.token + 1 + turn // 3) for turn in range(60)]
        for one in kept[:-1]:
            self.assertEqual(speaker.hear(one), b"")
        self.assertEqual(self.programs(), [os.getpid()])
        self.check_alive()
        self.check_end()

    def test_request_that_is_not_read_yet(self):
        """A connection with an unread request is not silent, so a further connection of its user does
        not replace it.
        """
        for _ in range(63):
            client = self.connect()
            self.addCleanup(client.close)
            client.ask("top", interval=10000000000)
        # The daemon must accept both before it reads.
        self.stop_process(self.daemon.pid)
        first, second = self.connect(), self.connect()
        self.addCleanup(first.close)
        self.addCleanup(second.close)
        first.send("ping")
        second.send("ping")
        self.go_on(self.daemon.pid)
        self.assertTrue(first.receive()["ok"])
        self.assertEqual(second.receive()["kind"], "busy")
        # It is silent now.
        self.check_alive()
        with self.assertRaises(EOFError):
            first.receive()
        self.check_end()

    def accepts(self):
        with contextlib.suppress(OSError):
            self.connect().close()
            return True
        return False

    @unittest.skipUnless(shutil.which("strace"), "there is no strace")
    def test_connection_that_cannot_be_served(self):
        """The daemon sends the reason. Then the connection ends without an error, although the daemon has not read the request."""
        self.daemon.terminate()
        self.assertEqual(self.daemon.wait(120), 0, self.log_text())
        with open(self.log, "a", encoding="utf-8") as log:
            self.daemon = subprocess.Popen(
                ["strace", "-D", "-qq", "-o", "/dev/null", "-e", "trace=getsockopt", "-e", "inject=getsockopt:error=ENOBUFS",
                 SIDED, "--foreground", "--runtime", self.runtime, "--output", self.traces],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "SIDE_RUNTIME": self.runtime})
        self.addCleanup(self.stop_daemon, self.daemon)
        wait_until(self.accepts, "the daemon's socket")
        for _ in range(5):
            self.stop_process(self.daemon.pid)
            client = self.connect()
            self.addCleanup(client.close)
            client.send("ping")
            self.go_on(self.daemon.pid)
            answer = client.receive()
            self.assertEqual((answer["ok"], answer["kind"]), (False, "failed"))
            self.assertEqual(answer["error"], f"cannot accept the connection: {os.strerror(errno.ENOBUFS)}")
            with self.assertRaises(EOFError):
                client.receive()
        self.check_end()

    def test_wrong_order(self):
        self.create("s")
        victim = Program(self)
        path = os.path.join(self.runtime, "sessions", "s.sock")
        with_arrive = [
            ("PASS after ARRIVE", speaker.passing(path)),
            ("the DONE of another program", speaker.done(self.token + 9, 1)),
            ("the DONE of another program", speaker.done(self.token + 1, 1 << 60)),
            ("a message that is not for the daemon", speaker.hello(self.token + 1)),
            ("a message that is not for the daemon", b"x" * 40)]
        before_arrive = [
            ("DONE before ARRIVE", speaker.done(self.token + 1, 1)),
            ("a message that is not for the daemon", speaker.hello(self.token + 1)),
            ("a message that is not for the daemon", speaker.refresh(self.token + 1, 1)),
            ("a message that is not for the daemon", b"x")]
        for reason, data in with_arrive:
            one = self.arrive(self.token + 1)
            one.send(data)
            self.check_refused(one, reason)
        for reason, data in before_arrive:
            one = self.dial()
            one.send(data)
            self.check_refused(one, reason)
        victim.fire(10)
        victim.quit()
        self.ask("destroy", "s")
        self.assertEqual(self.counts("s"), {victim.pid: list(range(10))})
        self.check_alive()
        self.check_end()

    def test_arrive_and_hang_up(self):
        """The daemon reads ARRIVE when the peer has closed already, or no longer reads, or is an exited process."""
        for turn in range(60):
            one = self.dial()
            if turn % 3 == 1:
                one.shutdown(socket.SHUT_RD)
            one.send(speaker.arrive(self.token + turn + 1))
            if turn % 3 == 0:
                one.close()
            elif turn % 3 == 2:
                one.shutdown(socket.SHUT_WR)
            if turn % 6 == 5:
                child = os.fork()
                if not child:
                    try:
                        with speaker.dial(self.agents, 60) as other:
                            other.send(speaker.arrive(self.token + 500 + turn))
                    finally:
                        os._exit(0)
                os.waitpid(child, 0)
        for one in self.opened:
            one.close()
        wait_until(lambda: self.programs() in ([], [os.getpid()]), "the end of the children")
        self.check_alive()
        self.check_end()


class Rendezvous(Owned):
    def add(self):
        """A rendezvous socket whose name is in no directory."""
        path = f"@side-door-{os.getpid():08x}-{len(self.opened)}"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.opened.append(listener)
        listener.bind("\0" + path[1:])
        listener.listen(16)
        control = self.connect()
        self.addCleanup(control.close)
        request = {"version": 1, "verb": "door", "pid": os.getpid(), "path": path}
        speaker.send_with(control.socket, json.dumps(request).encode(), [listener.fileno()])
        self.assertEqual(control.receive()["path"], path)
        self.listener = listener.dup()
        self.opened.append(self.listener)
        listener.close()
        return path

    def known(self):
        return self.ask("door", pid=os.getpid())["path"]

    def play_program(self, path, token):
        """The only program that comes through it, and exits."""
        child = os.fork()
        if not child:
            try:
                one = speaker.dial(path, 60)
                one.send(speaker.arrive(token))
                speaker.hear(one)
            finally:
                os._exit(0)
        os.waitpid(child, 0)


class Sockets(Rendezvous):
    def test_connection_outlives_its_program(self):
        """A connection through the socket is silent until the socket would have been removed, and then arrives."""
        for delay in (0.2, 1.3, 1.3):
            path = self.add()
            self.play_program(path, self.token + 1)
            late = self.dial(path)
            time.sleep(delay)
            try:
                late.send(speaker.arrive(self.token + 2))
                data = speaker.hear(late)
            except OSError:
                data = b""  # On a busy machine it was silent for too long.
            if data:
                self.assertTrue(speaker.read_welcome(data)[0])
                self.assertEqual(self.known(), path)
            self.check_alive()
            self.token += 2
            late.close()
            # As long as this process is a program that came through it, it stays; another arrival
            # replaces it.
            self.arrive(self.token + 1)
            wait_until(lambda: not self.known(), "the removal of the socket")
        self.check_end()

    def test_shut_down_by_its_maker(self):
        """The thread that accepts for the daemon ends, and does not try again repeatedly."""
        path = self.add()
        kept = self.arrive(self.token + 1, path)
        # The loop, the acceptor, and the thread of thread_defer(), which stays. The thread that received the descriptor exits.
        wait_until(lambda: threads_of(self.daemon.pid) == ["side-deferred", "sided", "sided-accept"], "the thread that accepts")
        self.listener.shutdown(socket.SHUT_RDWR)
        wait_until(lambda: threads_of(self.daemon.pid) == ["side-deferred", "sided"], "the end of the thread")
        self.assertEqual(self.known(), path)
        self.check_alive()
        kept.close()
        self.arrive(self.token + 2)
        wait_until(lambda: not self.known(), "the removal of the socket")
        self.check_end()

    def test_silent_connection_keeps_it(self):
        """Also while connections start and end all the time."""
        path = self.add()
        self.play_program(path, self.token + 1)
        for turn in range(20):
            one = self.dial(path)
            time.sleep(0.01)
            if turn % 2:
                one.send(speaker.arrive(self.token + 2)[:turn])
            one.close()
        wait_until(lambda: not self.known(), "the removal of the socket")
        self.check_alive()
        self.check_end()

    def test_many(self):
        """Programs move from one socket to the next, and through agents.sock, while sockets are removed."""
        paths = [self.add()]
        for turn in range(30):
            self.arrive(self.token + 1 + turn // 2, paths[-1] if turn % 3 else None)
            if turn % 4 == 0:
                self.play_program(paths[-1], self.token + 100 + turn)
        for one in self.opened:
            one.close()
        self.arrive(self.token + 99)
        wait_until(lambda: not self.known(), "the removal of the socket")
        self.check_alive()
        self.check_end()


class Requests(Owned):
    def pause_recorder(self):
        pid = self.status("s")["recorder"]
        self.stop_process(pid)
        return pid

    def test_status_within_a_subscription(self):
        """A query of the subscription has no answer yet when the client sends another request, and
        closes the connection.
        """
        self.create("s")
        for hangs_up in (True, False):
            client = self.connect()
            client.ask("top", "s", interval=10000000)
            pid = self.pause_recorder()
            # Its queries have no answer now; one is certainly under way.
            time.sleep(0.1)
            client.send("status", "s")
            self.ask("ping")
            if hangs_up:
                client.close()
                self.ask("ping")
            self.go_on(pid)
            if not hangs_up:
                # The answer of the request has members of its own, and the subscription continues.
                answers = [client.receive() for _ in range(30)]
                self.assertEqual(sum("closed-rendezvous" in answer for answer in answers), 1)
                self.assertEqual(sum("time" in answer for answer in answers), 29)
                self.assertEqual(client.ask("ping")["ok"], True)
                client.close()
            self.status("s")
            self.check_alive()
        self.ask("destroy", "s")
        self.check_end()

    def test_client_hangs_up_during_its_request(self):
        """The answers of the session's process come when the client is closed, and when the session is destroyed."""
        self.create("s")
        for turn in range(3):
            pid = self.pause_recorder()
            clients = []
            for verb in ("status", "stop", "start", "statedump", "status", "stop"):
                clients.append(self.connect())
                clients[-1].send(verb, "s")
            clients.append(self.connect())
            clients[-1].send("destroy" if turn == 2 else "statedump", "s")
            self.ask("ping")
            for client in clients[turn:]:
                client.close()
            self.go_on(pid)
            wait_until(lambda: "s" not in self.sessions() if turn == 2 else self.status("s")["recorder"] == pid,
                       "the end of the requests")
            for client in clients[:turn]:
                client.close()
            self.check_alive()
        self.check_end()

    def sessions(self):
        return [session["name"] for session in self.ask("list")["sessions"]]


class Recorders(Owned):
    def fill(self, path):
        """Makes as many silent connections as a user can have: the next one closes the oldest open one."""
        silent = [self.dial(path)]
        # On a busy machine the first one is closed for its silence before.
        while len(silent) < 2000 and not select.select([silent[0]], [], [], 0)[0]:
            silent.append(self.dial(path))
        return silent

    def test_closed_to_make_space(self):
        """A new connection closes the oldest one, whose message was read in the same turn."""
        self.create("s")
        victim = Program(self)
        path = os.path.join(self.runtime, "sessions", "s.sock")
        pid = self.status("s")["recorder"]
        for turn in range(3):
            silent = self.fill(path)
            stop_process(pid)
            late = []
            try:
                late = [speaker.dial(path, 60) for _ in range(4)]
            except BlockingIOError:
                pass  # The queue is full of the others.
            for one in silent[:40]:
                try:
                    one.send(speaker.hello(self.token + 1) if turn == 1 else b"nothing" if turn else
                             speaker.events(self.token, 0, 1))
                except OSError:
                    pass  # Closed already.
            os.kill(pid, signal.SIGCONT)
            for one in silent + late:
                one.close()
            victim.fire(10)
        self.assertEqual(self.status("s")["recorder"], pid)
        victim.quit()
        self.ask("destroy", "s")
        self.assertEqual(self.counts("s"), {victim.pid: list(range(30))})
        self.check_alive()
        self.check_end()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
