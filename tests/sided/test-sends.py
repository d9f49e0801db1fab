#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sessions that send their recording: to `side receive`, into a file, to a real relay daemon.

usage: test-sends.py CASE
"""
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import bt2

import harness
import test_shares
from harness import Case, Program, wait_until
from test_shares import ONE, OTHER

SIDE = os.environ["SIDE"]


def sequences(count):
    return list(range(count))


def free_ports(count):
    """Returns free ports of this machine; all at once, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    numbers = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return numbers


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except OSError:
        return False


def lines(folder):
    """Returns every event with every value, as an independent reader has it, in an order that equal
    times do not change.
    """
    done = subprocess.run(["babeltrace2", "--clock-cycles", "--no-delta", folder], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=harness.TIMEOUT)
    if done.returncode:
        raise AssertionError(done.stderr.decode()[:2000])
    return sorted(done.stdout.splitlines())


def traces(folder):
    return sorted(top for top, _, names in os.walk(folder) if "metadata" in names)


def events_by_process(folder):
    """Returns the numbers of each process's ticks, in order."""
    found = {}
    for message in bt2.TraceCollectionMessageIterator(traces(folder)):
        if isinstance(message, bt2._EventMessageConst) and message.event.name == "sided:tick":
            pid = int(message.event.stream.trace.environment["vpid"])
            found.setdefault(pid, []).append(int(message.event.payload_field["sequence"]))
    return found


def ticks(folder):
    """Returns the numbers of all ticks, in each trace separately, and how many lost events readers report."""
    found, lost = [], 0
    for trace in traces(folder):
        for message in bt2.TraceCollectionMessageIterator(trace):
            if isinstance(message, bt2._EventMessageConst) and message.event.name == "sided:tick":
                found.append(int(message.event.payload_field["sequence"]))
            elif isinstance(message, bt2._DiscardedEventsMessageConst):
                lost += message.count
    return found, lost


class Gate:
    """Accepts connections for another port: so many bytes of each, or slowly."""

    def __init__(self, target, budgets=(), pause=0):
        self.target, self.budgets, self.pause = target, list(budgets), pause
        self.cuts = 0
        self.open = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            self.open += [client, server]
            budget = self.budgets.pop() if self.budgets else None
            threading.Thread(target=self.pump, args=(server, client, None), daemon=True).start()
            threading.Thread(target=self.pump, args=(client, server, budget), daemon=True).start()

    def pump(self, source, sink, budget):
        try:
            while budget is None or budget > 0:
                data = source.recv(min(16384, budget or 16384))
                if not data:
                    break
                sink.sendall(data)
                if self.pause and sink is not source:
                    time.sleep(self.pause)
                budget = None if budget is None else budget - len(data)
            else:
                self.cuts += 1
        except OSError:
            pass
        for each in (source, sink):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()
        for each in self.open:
            each.close()


class Sends(Case):
    def setUp(self):
        super().setUp()
        self.got = os.path.join(self.dir, "got")
        self.port, = free_ports(1)
        self.url = f"tcp://127.0.0.1:{self.port}"
        self.receiver = None

    def run_receiver(self):
        self.receiver = subprocess.Popen([SIDE, "receive", "--listen", str(self.port), "--keep", "-o", self.got],
                                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                         env={**os.environ, "SIDE_RUNTIME": self.runtime})
        self.addCleanup(self.kill_receiver)
        wait_until(lambda: answers(self.port), "the receiver")

    def kill_receiver(self):
        if self.receiver.poll() is None:
            self.receiver.kill()
        self.receiver.communicate()

    def end_receiver(self, status=0):
        self.receiver.send_signal(signal.SIGTERM)
        _, fired_count = self.receiver.communicate(timeout=harness.TIMEOUT)
        if status is not None:
            self.assertEqual(self.receiver.returncode, status, fired_count.decode())
        return fired_count.decode()

    def session(self, url=None, name="s", copy=True, **more):
        """A session that records ticks and sends them."""
        if copy:
            more["output"] = os.path.join(self.dir, name)
        self.ask("create", name, to=url or self.url, **more)
        self.ask("enable-event", name, event=["sided:tick"])
        return self.ask("start", name)["output"]

    def sending(self, name="s"):
        """Returns its status, or nothing while its process is missing."""
        return self.status(name).get("sending") or {}

    def destroy(self, name="s", recorded=None):
        answer = self.ask("destroy", name)
        if recorded is not None:
            self.assertEqual(answer["recorded"], recorded)
        sent = answer["sending"]
        self.assertTrue(sent["over"])
        self.assertFalse(sent["failed"], answer)
        self.assertEqual(sent["pending"], 0)
        self.assertEqual(answer["lost"], 0)
        return sent

    def await_active(self, name="s"):
        self.await_state(name, "active")

    def check_same(self, total):
        """Checks that the received trace equals the local one, value by value, and that no event is
        missing or doubled.
        """
        self.assertEqual(lines(self.got), lines(os.path.join(self.dir, "s")))
        found, lost = ticks(self.got)
        self.assertEqual((sorted(found), lost), (sequences(total), 0))


class Stream(Sends):
    def test_it_arrives(self):
        self.run_receiver()
        self.start_daemon()
        self.session()
        program = Program(self)
        program.fire(700)
        # While it runs, not only at its end.
        wait_until(lambda: self.sending().get("packets"), "the first packets")
        status = self.sending()
        self.assertTrue(status["connected"] and status["since"] > 0 and status["connections"] == 1, status)
        self.assertEqual(status["to"], self.url)
        program.fire(300)
        program.quit()
        sent = self.destroy()
        self.assertGreater(sent["packets"], 0)
        self.end_receiver()
        self.check_same(1000)
        size = sum(os.path.getsize(os.path.join(trace, name)) for trace in traces(self.got)
                   for name in os.listdir(trace) if name[0] != "." and name != "metadata")
        self.assertEqual(sent["bytes"], size)

    def test_no_copy_is_kept(self):
        self.run_receiver()
        self.start_daemon()
        output = self.session(copy=False)
        self.assertTrue(os.path.isdir(output))
        program = Program(self)
        program.fire(500)
        program.quit()
        self.destroy(recorded=500)
        self.assertFalse(os.path.exists(output))
        self.end_receiver()
        self.assertEqual(ticks(self.got), (sequences(500), 0))

    def test_the_receiver_comes_later(self):
        self.start_daemon()
        self.session()
        program = Program(self)
        program.fire(400)
        wait_until(lambda: self.sending().get("pending") and self.sending().get("pending-packets"), "something waits")
        status = self.sending()
        self.assertFalse(status["connected"])
        self.assertIn("refused", status["why"])
        self.assertEqual(status["packets"], 0)
        self.run_receiver()
        wait_until(lambda: self.sending()["connected"], "the connection")
        wait_until(lambda: not self.sending()["pending"], "what waited")
        self.assertNotIn("why", self.sending())
        program.fire(100)
        program.quit()
        self.destroy()
        self.end_receiver()
        self.check_same(500)

    def test_the_connection_is_cut(self):
        """Repeatedly, at any position."""
        self.run_receiver()
        chance = random.Random(11)
        gate = Gate(self.port, [chance.randrange(200, 20000) for _ in range(5)])
        self.addCleanup(gate.close)
        self.start_daemon()
        self.session(f"tcp://127.0.0.1:{gate.port}")
        program = Program(self)
        fired = 0
        while gate.cuts < 5:
            program.fire(500)
            fired += 500
            before = self.sending()["bytes"]
            wait_until(lambda: self.sending()["bytes"] > before or not self.sending()["pending"], "some of it")
        program.quit()
        sent = self.destroy()
        self.assertGreaterEqual(sent["connections"], 6)
        self.end_receiver()
        self.check_same(fired)

    def test_a_slow_receiver(self):
        """It delays no process, and gets everything."""
        self.run_receiver()
        gate = Gate(self.port, pause=0.02)
        self.addCleanup(gate.close)
        self.start_daemon()
        self.session(f"tcp://127.0.0.1:{gate.port}")
        program = Program(self)
        for _ in range(10):
            program.fire(2000)
        program.quit()
        self.destroy()
        self.end_receiver()
        self.check_same(20000)

    def test_a_file(self):
        path = os.path.join(self.dir, "bytes")
        self.start_daemon()
        self.session(path)
        program = Program(self)
        program.fire(800)
        wait_until(lambda: self.sending().get("packets"), "the first packets")
        os.kill(self.sending()["pid"], signal.SIGKILL)
        program.fire(200)
        wait_until(lambda: self.status("s")["restarts"] == 1, "the end of the sender is seen")
        self.await_active()
        program.fire(50)
        program.quit()
        self.destroy()
        subprocess.run([SIDE, "receive", path, "-o", self.got], check=True, stderr=subprocess.DEVNULL,
                       timeout=harness.TIMEOUT)
        self.check_same(1050)

    def test_a_link_to_a_file(self):
        """A link that another user has put into the directory first: the target stays unchanged."""
        path, target = os.path.join(self.dir, "bytes"), os.path.join(self.dir, "target")
        with open(target, "w", encoding="ascii") as file:
            file.write("precious")
        os.symlink(target, path)
        self.start_daemon()
        self.session(path)
        program = Program(self)
        program.fire(20)
        wait_until(lambda: "it is a symbolic link to a file" in self.log_text() + json.dumps(self.status("s")), "the refusal")
        program.quit()
        self.ask("destroy", "s")
        with open(target, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")

    def test_the_sender_drops_its_rights(self):
        self.run_receiver()
        self.start_daemon()
        self.session()
        pid = wait_until(lambda: self.sending().get("connected") and self.sending()["pid"], "the connection")
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as children:
            resolver, = children.read().split()
        for each in (pid, resolver):
            with open(f"/proc/{each}/status", encoding="utf-8") as rows:
                status = dict(row.rstrip("\n").split(":\t", 1) for row in rows if ":\t" in row)
            self.assertEqual(status["NoNewPrivs"], "1")
            self.assertEqual(int(status["CapEff"], 16), 0)
            # Like the session's own process, if this build has filters.
            with open(f"/proc/{self.status('s')['recorder']}/status", encoding="utf-8") as rows:
                self.assertIn("Seccomp:\t" + status["Seccomp"] + "\n", rows.read())
        self.destroy()

    @unittest.skipUnless(os.getuid() == 0, "only root has a daemon of the system")
    def test_the_system_writes_to_no_file(self):
        """Otherwise any user of the daemon could change any file."""
        path = os.path.join(self.dir, "precious")
        with open(path, "w", encoding="utf-8") as file:
            file.write("precious")
        self.start_daemon("--system")
        self.session(path)
        Program(self).fire(100)
        wait_until(lambda: self.sending().get("failed"), "it is refused")
        self.assertTrue([text for text in self.status("s")["messages"] if "not delivered" in text])
        self.ask("destroy", "s")
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")
        self.session(os.path.join(self.dir, "nothing"), "t", send_timeout=500000000)
        wait_until(lambda: "does not exist" in self.sending("t").get("why", ""), "there is no such file")
        self.ask("destroy", "t")
        self.assertFalse(os.path.exists(os.path.join(self.dir, "nothing")))

    def test_chunks(self):
        """Each chunk is sent when it is finished; a session that gets chunks later loses nothing."""
        self.run_receiver()
        self.start_daemon()
        self.session()
        program = Program(self)
        for _ in range(3):
            program.fire(300)
            self.ask("rotate", "s")
        program.quit()
        self.destroy()
        self.end_receiver()
        found, lost = ticks(self.got)
        self.assertEqual((sorted(found), lost), (sequences(900), 0))

    def test_chunks_that_grow(self):
        """They are finished while the program runs: by request, by their size, and by recorders that die."""
        self.run_receiver()
        self.start_daemon()
        self.session(rotate_size=64 << 10)
        program = Program(self)
        program.send_word("spin")
        program.expect("spinning")
        for i in range(6):
            before = self.status("s")["bytes"]
            wait_until(lambda: self.status("s")["bytes"] > before, "the chunk grows")
            self.ask("rotate", "s")
            program.send_word("fire", 2000)
            program.expect("fired")
            if i % 3 == 1:
                os.kill(self.status("s")["recorder"], signal.SIGKILL)
                self.await_active()
        program.send_word("stop")
        fired_count = program.expect("spun") + 6 * 2000
        program.quit()
        self.destroy()
        self.end_receiver()
        self.assertGreater(len([name for name in os.listdir(os.path.join(self.dir, "s")) if name.startswith("chunk-")]), 6)
        here, _ = ticks(os.path.join(self.dir, "s"))
        found, lost = ticks(self.got)
        # Two threads share one counter, so numbers are not unique; but their count is that of the
        # fired events.
        self.assertEqual((len(found), lost, sorted(found)), (fired_count, 0, sorted(here)))


class Spool(Sends):
    def test_lost_packets_are_counted(self):
        """Packets are small, so that some fit."""
        self.start_daemon()
        self.ask("create", "s", to=self.url, spool=256 << 10)
        self.ask("enable-channel", "s", buffer_size=128 << 10)
        self.ask("enable-event", "s", event=["sided:tick"])
        output = self.ask("start", "s")["output"]
        program = Program(self)
        fired = 0
        while self.sending().get("dropped-events", 0) < 1000:
            program.fire(500)
            fired += 500
        status = self.sending()
        self.assertFalse(status["connected"])
        self.assertGreater(status["dropped-packets"], 0)

        def used():
            return sum(os.stat(os.path.join(top, name)).st_blocks * 512 for top, _, names in os.walk(output)
                       for name in names if "ring" in name)

        # Recording continues, and as much waits as the spool has space for. The sender can know of less than the recorder
        # has written, so a status below the limit is not enough.
        wait_until(lambda: self.sending()["pending"] <= 256 << 10 and used() < 1 << 20, "the limit")
        self.run_receiver()
        wait_until(lambda: self.sending()["packets"], "what was kept")
        program.fire(100)
        fired += 100
        program.quit()
        answer = self.ask("destroy", "s")
        self.end_receiver(4)
        found, lost = ticks(self.got)
        gone = answer["sending"]["dropped-events"] + answer["lost"]
        self.assertFalse(answer["sending"]["failed"], answer)
        self.assertEqual(len(found), len(set(found)))
        self.assertGreater(len(found), 1000)
        self.assertEqual(len(found) + gone, fired)
        self.assertEqual(lost, gone)
        self.assertEqual(sorted(found)[-100:], sequences(fired)[-100:])

    def test_delivered_data_gives_space(self):
        self.run_receiver()
        self.start_daemon()
        output = self.session(copy=False, spool=128 << 10)
        program = Program(self)
        for _ in range(20):
            program.fire(1000)
            wait_until(lambda: not self.sending()["pending"], "it is delivered")
        used = sum(os.stat(os.path.join(top, name)).st_blocks * 512 for top, _, names in os.walk(output)
                   for name in names if "ring" in name)
        self.assertLess(used, 512 << 10)
        program.quit()
        sent = self.destroy()
        self.assertEqual(sent["dropped-events"], 0)
        self.end_receiver()
        self.assertEqual(ticks(self.got), (sequences(20000), 0))

    def test_no_receiver(self):
        """The session is destroyed nevertheless, and its recording stays."""
        self.start_daemon()
        output = self.session(copy=False, send_timeout=500000000)
        program = Program(self)
        program.fire(100)
        program.quit()
        answer = self.ask("destroy", "s")
        self.assertTrue(answer["sending"]["failed"])
        self.assertGreater(answer["sending"]["pending"], 0)
        self.assertTrue([text for text in answer["messages"] if "not delivered" in text], answer["messages"])
        self.assertEqual(ticks(output), (sequences(100), 0))

    def test_the_remainder_is_sent_by_command(self):
        """After the delivered part, by a sender that finds the marks; it does not run while the session exists."""
        self.run_receiver()
        self.start_daemon()
        output = self.session(copy=False, send_timeout=500000000)
        program = Program(self)
        program.fire(300)
        wait_until(lambda: self.sending().get("events") == 300, "it is delivered")
        command = [SIDE, "send", output, self.url]
        done = subprocess.run(command, stderr=subprocess.PIPE, check=False, timeout=harness.TIMEOUT)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"another sender is running there", done.stderr)
        self.end_receiver(None)
        wait_until(lambda: not self.sending()["connected"], "it is away")
        program.fire(200)
        program.quit()
        self.assertTrue(self.ask("destroy", "s")["sending"]["failed"])
        before, self.got = self.got, os.path.join(self.dir, "rest")
        self.run_receiver()
        subprocess.run(command, stderr=subprocess.DEVNULL, check=True, timeout=harness.TIMEOUT)
        self.end_receiver(None)
        self.assertEqual(sorted(ticks(before)[0]), sequences(300))
        self.assertEqual(sorted(ticks(self.got)[0]), list(range(300, 500)))


class SpoolShares(Sends, test_shares.Case):
    """One user fills the spool while the receiver is away; packets of the other users stay."""

    LIMIT = 1 << 20
    VICTIMS = 3

    def dropped(self):
        return {user.get("uid"): user for user in self.sending().get("dropped-users", ())}

    def fill(self, program, fired=0):
        """Fires until packets have been dropped for a while."""
        while self.sending().get("dropped-events", 0) < 20000:
            program.fire(2000)
            fired += 2000
        return fired

    def test_one_user_fills_it(self):
        self.start_daemon()
        os.chmod(self.runtime, 0o755)
        output = self.session(copy=False, spool=self.LIMIT)
        # The oldest packets, those between, and the newest ones belong to victims.
        victims = {}
        attacker = self.program(OTHER)
        fired = 0
        for uid in (ONE, 0, ONE):
            program = self.program(uid)
            program.fire(200)
            program.quit()
            victims[program.pid] = uid
            fired = self.fill(attacker, fired) if uid == ONE else fired
        attacker.quit()
        wait_until(lambda: self.sending()["pending"] <= self.LIMIT, "the limit")
        self.assertEqual(set(self.dropped()), {OTHER})
        self.assertEqual(self.dropped()[OTHER]["events"], self.sending()["dropped-events"])
        text = subprocess.run([SIDE, "status", "s"], env={**os.environ, "SIDE_RUNTIME": self.runtime}, capture_output=True, text=True,
                              timeout=harness.TIMEOUT, check=True)
        self.assertRegex(text.stdout, rf"lost for user {OTHER}: [\d.,kM]+ packets, with .*: the spool is full")
        self.assertIn(f"dropping the oldest packets of programs of user {OTHER}", text.stderr)
        self.run_receiver()
        wait_until(lambda: not self.sending()["pending"], "all of it is delivered")
        answer = self.ask("destroy", "s")
        self.end_receiver(4)
        received = events_by_process(self.got)
        for pid, uid in victims.items():
            self.assertEqual(received.get(pid), list(range(200)), f"events of user {uid}")
        gone = answer["sending"]["dropped-events"] + answer["lost"]
        self.assertEqual(len(received[attacker.pid]) + gone, fired)
        self.assertFalse(os.path.exists(output), "the spool is empty")


class Kills(Sends):
    def test_everything_is_killed(self):
        """The recorder, the sender, the daemon are killed; the receiver gets each event once."""
        self.run_receiver()
        self.start_daemon()
        self.session()
        program = Program(self)
        program.send_word("spin")
        program.expect("spinning")
        chance = random.Random(5)
        for turn in range(6):
            before = wait_until(self.sending, "the session exists")["bytes"]
            wait_until(lambda: self.sending().get("bytes", 0) > before, "more is sent")
            restarts = self.status("s")["restarts"]
            time.sleep(chance.random() / 20)
            if turn % 3 == 2:
                self.kill_daemon()
                self.start_daemon()
            else:
                status = self.status("s")
                os.kill(status["recorder"] if turn % 3 else status["sending"]["pid"], signal.SIGKILL)
                wait_until(lambda: self.status("s")["restarts"] > restarts, "it is seen")
            self.await_active()
        program.send_word("stop")
        spun = program.expect("spun")
        program.quit()
        answer = self.ask("destroy", "s")
        self.assertFalse(answer["sending"]["failed"], answer)
        self.end_receiver()
        found, _ = ticks(self.got)
        self.assertEqual(len(found), len(set(found)), "something is twice")
        self.assertEqual(len(found) + answer["lost"], spun)
        self.assertEqual(lines(self.got), lines(os.path.join(self.dir, "s")))

    def test_while_the_receiver_is_away(self):
        """Data that waits on the disk is sent by the next sender."""
        self.start_daemon()
        self.session(copy=False)
        program = Program(self)
        program.fire(500)
        wait_until(lambda: self.sending().get("pending"), "something waits")
        self.kill_daemon()
        program.fire(200)
        self.start_daemon()
        self.await_active()
        self.run_receiver()
        wait_until(lambda: self.sending().get("packets"), "it is sent")
        program.fire(10)
        program.quit()
        self.destroy()
        self.end_receiver()
        found, lost = ticks(self.got)
        self.assertEqual((sorted(found), lost), (sequences(710), 0))

    def test_marks_that_are_damaged(self):
        """Damaged marks are ignored: their data is sent again, and nothing is missing."""
        self.run_receiver()
        self.start_daemon()
        output = self.session()
        program = Program(self)
        program.fire(500)
        wait_until(lambda: self.sending().get("packets") and not self.sending()["pending"], "it is sent")
        self.kill_daemon()
        with open(os.path.join(output, ".sending"), "r+b") as marks:
            size = os.fstat(marks.fileno()).st_size
            self.assertGreaterEqual(size, 3 * 512)
            chance = random.Random(2)
            for at in range(512, size, 512):
                marks.seek(at + chance.randrange(300))
                marks.write(b"\xa5")
        self.start_daemon()
        self.await_active()
        program.fire(100)
        program.quit()
        self.destroy()
        self.end_receiver()
        found, lost = ticks(self.got)
        self.assertEqual((sorted(set(found)), lost), (sequences(600), 0))


class Relay(Sends):
    def setUp(self):
        super().setUp()
        self.stored = os.path.join(self.dir, "stored")
        os.mkdir(self.stored)
        self.ports = free_ports(3)
        self.url = f"net://127.0.0.1:{self.ports[0]}:{self.ports[1]}"
        self.relay = None

    def run_relay(self):
        home = os.path.join(self.dir, "home")
        os.makedirs(home, exist_ok=True)
        address = "tcp://127.0.0.1:"
        self.relay = subprocess.Popen(
            ["lttng-relayd", "-C", f"{address}{self.ports[0]}", "-D", f"{address}{self.ports[1]}",
             "-L", f"{address}{self.ports[2]}", "-o", self.stored],
            env={**os.environ, "HOME": home, "LTTNG_HOME": home, "LTTNG_RUNDIR": home},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.kill_relay, self.relay)
        for port in self.ports:
            wait_until(lambda port=port: answers(port), "the relay daemon")

    def kill_relay(self, relay=None):
        relay = relay or self.relay
        if relay.poll() is None:
            relay.kill()
        relay.wait()

    def events_of(self, folder):
        """Without the times of a reader's clock; a stored trace may have other parameters of it."""
        return lines(folder)

    def test_it_is_stored(self):
        self.run_relay()
        self.start_daemon()
        self.session()
        program = Program(self)
        program.fire(700)
        program.quit()
        other = Program(self)
        other.fire(10)
        other.quit()
        self.destroy()
        self.assertEqual(lines(self.stored), lines(os.path.join(self.dir, "s")))
        found, lost = ticks(self.stored)
        self.assertEqual((sorted(found), lost), (sorted(sequences(700) + sequences(10)), 0))
        # It is stored there with the session's name.
        self.assertTrue([name for top, names, _ in os.walk(self.stored) for name in names if name.startswith("s-")])

    def test_it_is_away_and_others_are_killed(self):
        """No event is missing; unconfirmed ones are in at most two of its sessions."""
        self.run_relay()
        self.start_daemon()
        self.session()
        program = Program(self)
        total = 0

        def fire_and_wait():
            nonlocal total
            program.fire(400)
            total += 400
            wait_until(lambda: self.sending().get("packets", 0) and not self.sending()["pending"], "it is stored")

        fire_and_wait()
        self.kill_relay()
        program.fire(300)
        total += 300
        wait_until(lambda: self.sending().get("pending") and not self.sending()["connected"], "it waits")
        self.assertIn("why", self.sending())
        self.run_relay()
        fire_and_wait()
        os.kill(self.status("s")["recorder"], signal.SIGKILL)
        wait_until(lambda: self.status("s")["restarts"] == 1, "it is seen")
        self.await_active()
        fire_and_wait()
        self.kill_daemon()
        program.fire(100)
        total += 100
        self.start_daemon()
        self.await_active()
        fire_and_wait()
        program.quit()
        self.destroy()
        stored, here = lines(self.stored), lines(os.path.join(self.dir, "s"))
        self.assertEqual(sorted(set(stored)), here)
        self.assertEqual(len(here), total)
        # Everything was confirmed before each kill: nothing had to be sent again.
        self.assertEqual(len(stored), total)


if __name__ == "__main__":
    if sys.argv[1] == "Relay" and not (shutil.which("lttng-relayd") and shutil.which("babeltrace2")):
        print("there is no lttng-relayd or no babeltrace2 here")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
