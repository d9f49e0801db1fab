#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many recorded and lost events a session reports, compared with the fired ones and with what
readers find.

usage: test-counts.py CASE
"""
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import unittest

import bt2

import harness
import speaker
from harness import Case, Program, wait_until

SIDE = os.environ["SIDE"]


def found(folder, skip=None):
    """Returns the events and the reported losses, as an independent reader counts them in all traces of a folder."""
    events = discarded = 0
    for directory, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not (skip and name.startswith(skip))]
        if "metadata" not in files:
            continue
        for message in bt2.TraceCollectionMessageIterator(directory):
            if isinstance(message, bt2._EventMessageConst):
                events += message.event.name != "side:lost"
            elif isinstance(message, bt2._DiscardedEventsMessageConst):
                discarded += message.count
    return events, discarded


def found_by_side(folder):
    view = subprocess.run([SIDE, "view", "--json", folder], stdout=subprocess.PIPE, text=True, check=True,
                          timeout=harness.TIMEOUT)
    return sum(json.loads(line)["type"] == "event" for line in view.stdout.splitlines())


class Counts(Case):
    def begin(self, *channels, **members):
        """Channels: (name, members); all of them record everything."""
        self.start_daemon()
        self.folder = os.path.join(self.dir, "s")
        self.ask("create", "s", output=self.folder, **members)
        for name, more in channels:
            self.ask("enable-channel", "s", channel=name, **more)
            self.ask("enable-event", "s", channel=name, event=["sided:*"])
        self.ask("start", "s")

    def statistics(self, answer):
        """Returns recorded and lost events; the sum of the parts must be the total."""
        whole = (answer["recorded"], answer["lost"])
        self.assertEqual(tuple(sum(channel[name] for channel in answer["channels"]) for name in ("recorded", "lost")),
                         whole, answer["channels"])
        return whole

    def assert_stopped(self, recorded):
        answer = self.ask("stop", "s")
        self.assertEqual(self.statistics(answer), (recorded, 0))
        self.assertEqual(found(self.folder), (recorded, 0))
        status = self.status("s")
        self.assertEqual(self.statistics(status), (recorded, 0))

    def test_chunks_and_kills(self):
        """Two channels with events of variable size, chunks, kills of recorder, daemon and program."""
        self.begin(("plain", {}), ("texts", {"context": ["procname", "vtid"], "per_thread": 16}))
        one, other = Program(self), Program(self)
        one.fire(1000)
        other.fire(10)
        self.assert_stopped(4 * 1010)
        self.ask("start", "s")
        self.ask("rotate", "s")
        one.fire(100)
        self.ask("rotate", "s")
        os.kill(self.status("s")["recorder"], signal.SIGKILL)
        one.fire(50)
        other.fire(50)
        other.kill()
        wait_until(lambda: self.status("s")["restarts"] == 1, "another recorder")
        self.await_state("s", "active")
        one.fire(7)
        self.assert_stopped(4 * (1010 + 100 + 100 + 7))
        # Also those in the unfinished chunk.
        self.assertEqual(found_by_side(self.folder), 4 * 1217)
        self.kill_daemon()
        self.start_daemon()
        self.await_state("s", "stopped")
        self.assertEqual(self.statistics(self.status("s")), (4 * 1217, 0))
        self.ask("start", "s")
        one.fire(3)
        late = Program(self)
        late.fire(20)
        late.quit()
        # It has exited, and was counted.
        wait_until(lambda: self.status("s")["recorded"] == 4 * 1240, "what an ended program has recorded")
        answer = self.ask("destroy", "s")
        self.assertEqual(self.statistics(answer), (4 * 1240, 0))
        self.assertEqual(answer["seen"], 3)
        self.assertEqual(found(self.folder), (4 * 1240, 0))

    def test_losses(self):
        self.begin(("ring", {"buffer_size": 65536}))
        program = Program(self)
        fired = 0
        while not fired or (not self.status("s")["lost"] and fired < 20_000_000):
            program.fire(300_000)
            fired += 600_000
        recorded, lost = self.statistics(self.ask("stop", "s"))
        self.assertEqual(recorded + lost, fired)
        self.assertGreater(lost, 0)
        os.kill(self.status("s")["recorder"], signal.SIGKILL)
        wait_until(lambda: self.status("s")["restarts"] == 1, "another recorder")
        self.await_state("s", "stopped")
        answer = self.ask("destroy", "s")
        self.assertEqual(self.statistics(answer), (recorded, lost))
        self.assertEqual(sum(loss["count"] for loss in answer["losses"]), lost)
        self.assertEqual(found(self.folder), (recorded, lost))

    def test_blocking(self):
        self.begin(("ring", {"buffer_size": 65536, "mode": "block", "block_timeout": 60_000_000_000}))
        Program(self).fire(30_000)
        self.assert_stopped(60_000)

    def test_a_flight_recorder(self):
        self.begin(("last", {"mode": "overwrite", "buffer_size": 65536}), ("all", {}))
        program = Program(self)
        program.fire(20_000)
        snapshots = [self.ask("snapshot", "s")["path"]]
        program.fire(10)
        snapshots.append(self.ask("snapshot", "s")["path"])
        status = self.status("s")
        self.assertEqual(status["snapshots"], 2)
        self.assertEqual(status["snapshot-recorded"],
                         sum(found(os.path.join(self.folder, name))[0] for name in snapshots))
        answer = self.ask("destroy", "s")
        self.assertEqual(self.statistics(answer), found(self.folder, skip="snapshot-"))
        of = {channel["channel"]: channel["recorded"] for channel in answer["channels"]}
        self.assertEqual(of["all"], 2 * 20_010)
        self.assertTrue(0 < of["last"] < of["all"], of)
        self.assertGreater(answer["overwritten"], 0)

    def test_compressed(self):
        self.begin(("ring", {"context": ["procname"]}), compress=3, format="ctf2")
        Program(self).fire(5_000)
        self.assertEqual(self.statistics(self.ask("stop", "s")), (10_000, 0))
        self.assertEqual(found_by_side(self.folder), 10_000)

    def test_text_output(self):
        """The text output."""
        self.begin(("ring", {}))
        program = Program(self)
        program.fire(600)
        env = {**os.environ, "SIDE_RUNTIME": self.runtime, "LANG": "C.UTF-8"}

        def printed(*words):
            done = subprocess.run([SIDE, *words], env=env, capture_output=True, text=True, check=True,
                                  timeout=harness.TIMEOUT)
            return done.stdout + done.stderr
        self.assertIn("it has recorded 1,200 events, ", printed("stop", "s"))
        text = printed("status", "s")
        self.assertIn("  recorded   1,200 events, ", text)
        self.assertIn("    recorded 1,200 events, ", text)
        self.assertRegex(text, r"(?m)^  sided-program +\d+ +thread +libside +2 +1,200 ")
        self.assertRegex(printed("list"), r"(?m)s +stopped +1,200 events ")
        self.assertIn("it recorded 1,200 events from 1 process, ", printed("destroy", "s"))


class Versions(Case):
    """Programs with the agent of another release: they run unrecorded, and are reported."""

    def program_of(self, path, version, kind):
        """A process that sends one message of this protocol version; returns the answer."""
        script = (f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r}); import speaker; speaker.VERSION = {version}\n"
                  f"message = speaker.{kind}(7)\n"
                  f"one = speaker.dial({path!r}, 30)\n"
                  f"one.send(message[:4] + ({version}).to_bytes(2, 'little') + message[6:])\n"
                  "print(one.recv(65536).hex() or 'closed', flush=True)\nsys.stdin.read()")
        process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, harness.TIMEOUT)
        self.addCleanup(process.stdin.close)
        return process.pid, process.stdout.readline().strip()

    def test_other_releases(self):
        self.start_daemon()
        self.create("s")
        status = self.status("s")
        self.assertEqual((status["other-releases"], status["refused"]), (0, 0))
        for count, version in enumerate((1, 3, speaker.VERSION - 1, speaker.VERSION + 1, 65535), 1):
            pid, answer = self.program_of(os.path.join(self.runtime, "agents.sock"), version, "arrive")
            # A WELCOME of this version that refuses.
            data = bytes.fromhex(answer)
            self.assertEqual(speaker.kind_of(data), speaker.WELCOME)
            self.assertFalse(speaker.read_welcome(data)[0])
            self.assertRegex(self.log_text(), rf"process {pid} of user {os.geteuid()} is not recorded: its agent has version {version} "
                                              rf"of the protocol, this daemon version {speaker.VERSION}; restart it")
            self.assertEqual(self.status("s")["other-releases"], count)
        text = subprocess.run([SIDE, "status", "s"], env={**os.environ, "SIDE_RUNTIME": self.runtime}, capture_output=True, text=True,
                              timeout=harness.TIMEOUT, check=True).stdout
        self.assertIn("5 programs with the agent of another release; restart them", text)

    def test_other_releases_at_the_recorder(self):
        self.start_daemon()
        self.create("s")
        for count, version in enumerate((3, speaker.VERSION - 1, speaker.VERSION + 1), 1):
            pid, _ = self.program_of(os.path.join(self.runtime, "sessions", "s.sock"), version, "hello")
            status = self.status("s")
            self.assertEqual(status["refused"], count)
            one = [process for process in status["waiting"] if process["pid"] == pid][0]
            self.assertRegex(one["reason"], "agent is of another release: restart it")
        # Programs of this release are recorded at the same time.
        program = Program(self)
        program.fire(10)
        program.quit()
        self.ask("destroy", "s")
        self.assertEqual(list(self.counts("s").values()), [list(range(10))])

    def test_a_daemon_of_another_release(self):
        """The agent of this release gets an answer of another version: the program runs as without a daemon."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(listener.close)
        os.makedirs(self.runtime, 0o700)
        listener.bind(os.path.join(self.runtime, "agents.sock"))
        listener.listen(8)

        received = []

        def answer():
            while True:
                try:
                    one, _ = listener.accept()
                except OSError:
                    return
                with one:
                    received.append(speaker.kind_of(one.recv(65536)))
                    one.send(speaker.message(speaker.WELCOME, bytes(4096), version=speaker.VERSION - 1))
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        program = Program(self)
        program.fire(10)
        program.quit()
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(harness.TIMEOUT)
        self.assertEqual(received[0], speaker.ARRIVE)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
