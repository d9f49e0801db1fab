#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The loop of the daemon does not wait for its threads. held-calls.c holds the threads at a system
call, as if the scheduler did not run them. The daemon must answer in the meantime. No time is
measured: a daemon that waits for a held thread never answers.

usage: test-held.py CASE
"""
import contextlib
import json
import os
import socket
import subprocess
import sys
import unittest

import speaker
from harness import TIMEOUT, SIDED, wait_until
from test_ownership import Rendezvous, threads_of

HELD_CALLS = os.environ["SIDED_HELD_CALLS"]
SKIPPED = 77
# Timeout of an answer, in seconds. A daemon that waits for the held thread never answers.
LIMIT = min(TIMEOUT, 30)


class Held(Rendezvous):
    def setUp(self):
        self.holder = None
        super().setUp()

    def spawn_daemon(self, *options):
        self.holder = os.path.join(self.dir, "holder")
        with open(self.log, "a", encoding="utf-8") as log:
            daemon = subprocess.Popen(
                [HELD_CALLS, self.holder, SIDED, "--foreground", "--runtime", self.runtime, "--output", self.traces, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "SIDE_RUNTIME": self.runtime})
        self.addCleanup(self.stop_daemon, daemon)
        return daemon

    def can_connect(self):
        if self.daemon.poll() == SKIPPED:
            self.skipTest(f"system calls cannot be held here: {self.log_text()}")
        return super().can_connect()

    @contextlib.contextmanager
    def held(self, call):
        """Within this context, threads that make this call do not continue."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
            one.settimeout(LIMIT)
            one.connect(self.holder)
            one.send(call.encode())
            self.assertEqual(one.recv(64), b"ready")
            yield one

    def await_held(self, one):
        """Waits until one more thread is held; returns its number."""
        return int(one.recv(64))

    def answers(self, verb="status", **members):
        control = self.connect()
        try:
            control.socket.settimeout(LIMIT)
            return control.ask(verb, **members)
        finally:
            control.close()

    def send_descriptor(self):
        """A request with a descriptor that the daemon does not expect."""
        control = self.connect()
        self.addCleanup(control.close)
        control.socket.settimeout(LIMIT)
        with open("/dev/null", "rb") as one:
            speaker.send_with(control.socket, json.dumps({"version": 1, "verb": "ping"}).encode(), [one.fileno()])
        return control

    def leave_descriptors(self, count):
        """Connections that the daemon closes because of their first message. A second message, with a descriptor, is in their queues."""
        self.stop_process(self.daemon.pid)
        left = []
        with open("/dev/null", "rb") as one:
            for _ in range(count):
                left.append(self.connect())
                self.addCleanup(left[-1].close)
                left[-1].socket.settimeout(LIMIT)
                left[-1].socket.send(b"?")
                speaker.send_with(left[-1].socket, b"?", [one.fileno()])
        self.go_on(self.daemon.pid)
        return left

    def await_ends(self, left):
        """The descriptor stays unread, so the kernel reports an error once, when the last descriptor of the connection is closed."""
        for control in left:
            answers = []
            with self.assertRaises(EOFError):
                while True:
                    with contextlib.suppress(ConnectionResetError):
                        answers.append(control.receive()["ok"])
            self.assertEqual(answers, [False])

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.daemon.pid}/fd"))

    def descriptors_now(self):
        """Returns descriptors, after the daemon has closed earlier connections: it handles events in order."""
        anchor = self.connect()
        self.addCleanup(anchor.close)
        anchor.ask("ping")
        return self.descriptors()

    def await_descriptors(self, count):
        wait_until(lambda: self.descriptors() == count, f"{count} descriptors of the daemon")

    def await_threads(self, *names):
        wait_until(lambda: threads_of(self.daemon.pid) == sorted(names), f"the threads {names}")

    def test_closer(self):
        """The thread that closes a descriptor does not run."""
        before = self.descriptors_now()
        with self.held("close_range") as one:
            left = self.leave_descriptors(1)
            self.await_held(one)
            self.await_ends(left)
            self.assertTrue(self.answers()["ok"])
        self.await_descriptors(before)
        self.await_threads("sided", "side-deferred")
        self.check_end()

    def test_handover(self):
        """The thread that receives a descriptor does not run. Its client waits, and no other."""
        before = self.descriptors_now()
        with self.held("close_range") as one:
            waiting = self.send_descriptor()
            self.await_held(one)
            self.assertTrue(self.answers()["ok"])
            # The client can leave, too.
            gone = self.send_descriptor()
            gone.close()
            self.assertTrue(self.answers()["ok"])
        self.assertTrue(waiting.receive()["ok"])
        waiting.close()
        self.await_descriptors(before)
        self.await_threads("sided", "side-deferred")
        self.check_end()

    def test_closer_that_does_not_exit(self):
        """The thread is held as if the file system of a descriptor blocked it. Meanwhile the daemon receives and closes other descriptors."""
        before = self.descriptors_now()
        with self.held("exit") as one:
            for _ in range(3):
                self.await_ends(self.leave_descriptors(1))
                self.await_held(one)
                # The descriptor is closed in the table of the process; the thread has the last duplicate.
                self.await_descriptors(before)
                handed = self.send_descriptor()
                self.assertTrue(handed.receive()["ok"])
                handed.close()
                self.await_held(one)
                self.assertTrue(self.answers()["ok"])
        self.await_threads("sided", "side-deferred")
        self.check_end()

    def test_many_closings(self):
        """Connections that close while a closer does not run share one further closer."""
        before = self.descriptors_now()
        with self.held("close_range") as one:
            left = self.leave_descriptors(20)
            self.await_held(one)
            self.await_ends(left)
            closers = 1
            one.send(b"continue")
            one.settimeout(0.01)
            while self.descriptors() > before:
                with contextlib.suppress(TimeoutError):
                    self.await_held(one)
                    closers += 1
                    one.send(b"continue")
        self.assertLessEqual(closers, 2)
        self.await_threads("sided", "side-deferred")
        self.check_end()

    def test_acceptor(self):
        """The thread that accepts connections of a rendezvous socket does not run when the socket is removed."""
        before = self.descriptors_now()
        with self.held("poll") as one:
            path = self.add()
            self.await_held(one)
            one.send(b"continue")
            self.arrive(self.token + 1, path)
            self.await_held(one)
            # The only program that came through it has been replaced by a new one, which has not.
            self.arrive(self.token + 2)
            wait_until(lambda: not self.answers("door", pid=os.getpid())["path"], "the removal of the socket")
            self.assertTrue(self.answers()["ok"])
            # Meanwhile the daemon receives and closes descriptors of other clients.
            handed = self.send_descriptor()
            self.assertTrue(handed.receive()["ok"])
            self.await_ends(self.leave_descriptors(1))
        self.await_threads("sided", "side-deferred")
        handed.close()
        for opened in self.opened:
            opened.close()
        wait_until(lambda: self.descriptors() <= before + 2, "the descriptors of the socket closed")
        self.check_end()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
