# SPDX-License-Identifier: MIT
"""A daemon for each test, requests to its control socket, and programs to trace."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import bt2

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import resources
from agent_thread import await_agent_thread
from waiting import stop_process, wait_until

SIDED = os.environ["SIDED"]
PROGRAM = os.environ["SIDED_PROGRAM"]
SANITIZED = os.environ.get("SIDED_SANITIZE", "none") != "none"
TIMEOUT = int(os.environ.get("SIDED_PATIENCE", "120"))

os.environ.setdefault("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
os.environ.setdefault("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0")


def connect_patiently(path):
    """Connects, also if the queue of new connections is full for a moment."""
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.settimeout(TIMEOUT)

    def connects():
        try:
            one.connect(path)
            return True
        except BlockingIOError:
            return False
    wait_until(connects, f"space in the queue of {path}")
    return one


class Refused(Exception):
    def __init__(self, answer):
        super().__init__(f"{answer.get('kind')}: {answer.get('error')}")
        self.kind = answer.get("kind")
        self.answer = answer


class Control:
    """A connection to control.sock."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(TIMEOUT)
        try:
            self.socket.connect(path)
        except OSError:
            self.socket.close()
            raise

    def close(self):
        self.socket.close()

    def send(self, verb, session=None, **members):
        request = {"version": 1, "verb": verb}
        if session:
            request["session"] = session
        request.update({name.replace("_", "-"): value for name, value in members.items()})
        text = json.dumps(request)
        while len(text) > 60000:
            self.socket.send(json.dumps({"more": True, "part": text[:30000]}).encode())
            text = text[30000:]
            if len(text) <= 60000:
                self.socket.send(json.dumps({"more": False, "part": text}).encode())
                return
        self.socket.send(text.encode())

    def receive(self):
        text = ""
        while True:
            message = self.socket.recv(1 << 17)
            if not message:
                raise EOFError("the daemon has closed the connection")
            got = json.loads(message)
            if "part" not in got:
                return got
            text += got["part"]
            if not got["more"]:
                return json.loads(text)

    def ask(self, verb, session=None, **members):
        self.send(verb, session, **members)
        answer = self.receive()
        if not answer["ok"]:
            raise Refused(answer)
        return answer


class Program:
    def __init__(self, case, words=(), before=(), **environment):
        env = {**os.environ, "SIDE_RUNTIME": case.runtime}
        for name in ("SIDE_CONTROL", "SIDE_AGENT_SOCKET", "LD_PRELOAD", "SIDE_DEBUG"):
            env.pop(name, None)
        # The machine may be busy: a program must not be late because of that.
        env["SIDE_TIMEOUT_FACTOR"] = "60"
        env.update(environment)
        self.process = subprocess.Popen([*before, PROGRAM, *words], env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)
        self.pid = self.process.pid
        case.addCleanup(self.kill)
        self.expect("ready")

    def expect(self, word):
        line = self.process.stdout.readline().split()
        assert line and line[0] == word, f"{word} expected, not {line}"
        return int(line[1]) if len(line) > 1 else 0

    def send_word(self, word, number=0):
        self.process.stdin.write(f"{word} {number}\n")
        self.process.stdin.flush()

    def fire(self, count):
        self.send_word("fire", count)
        self.expect("fired")

    def use_one_ring(self):
        """Keeps the program on one processor, whose ring then has all its events."""
        os.sched_setaffinity(self.pid, {min(os.sched_getaffinity(0))})

    def await_thread(self):
        """Waits for the thread: the first event does not wait for it; it exists as soon as the daemon
        has its connection.
        """
        await_agent_thread(self.pid)

    def quit(self):
        self.send_word("quit")
        assert self.process.wait(TIMEOUT) == 0, self.process.returncode

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Case(unittest.TestCase):
    system = False

    def stop_process(self, pid):
        self.addCleanup(self.go_on, pid)
        stop_process(pid)

    @staticmethod
    def go_on(pid):
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="side-sided-")
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.runtime = os.path.join(self.dir, "run")
        self.traces = os.path.join(self.dir, "traces")
        self.log = os.path.join(self.dir, "log")
        self.daemon = None

    # ---- the daemon ----

    def spawn_daemon(self, *options):
        with open(self.log, "a", encoding="utf-8") as log:
            daemon = subprocess.Popen(
                [SIDED, "--foreground", "--runtime", self.runtime, "--output", self.traces, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "SIDE_RUNTIME": self.runtime})
        self.addCleanup(self.stop_daemon, daemon)
        return daemon

    def start_daemon(self, *options):
        self.daemon = self.spawn_daemon(*options)
        self.await_daemon()
        return self.daemon

    def can_connect(self):
        assert self.daemon.poll() is None, self.log_text()
        try:
            # A child of a killed daemon may still have the sockets until its execve(): connections
            # to them are reset.
            return self.ask("ping")["ok"]
        except (OSError, EOFError):
            return False

    def await_daemon(self):
        wait_until(self.can_connect, "the daemon's socket")

    def stop_daemon(self, daemon):
        if daemon.poll() is None:
            daemon.terminate()
            try:
                daemon.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                daemon.kill()
                raise
        self.remove_leftovers()
        # The report also contains session processes of the daemon, and commands.
        resources.assert_released(self.runtime)

    def remove_leftovers(self):
        """Removes what a killed daemon leaves on purpose."""
        places = os.path.join(self.runtime, "places")
        for name in os.listdir(places) if os.path.isdir(places) else ():
            target = os.readlink(os.path.join(places, name))
            shutil.rmtree(os.path.dirname(target), True)

    def kill_daemon(self):
        self.daemon.kill()
        self.daemon.wait()

    def log_text(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def connect(self):
        return Control(os.path.join(self.runtime, "control.sock"))

    def ask(self, verb, session=None, **members):
        control = self.connect()
        try:
            return control.ask(verb, session, **members)
        finally:
            control.close()

    def assertRefused(self, kind, verb, session=None, **members):
        with self.assertRaises(Refused) as caught:
            self.ask(verb, session, **members)
        self.assertEqual(caught.exception.kind, kind, str(caught.exception))
        return caught.exception.answer

    def status(self, session):
        return self.ask("status", session)["sessions"][0]

    def await_state(self, session, state):
        wait_until(lambda: self.status(session)["state"] == state, f"{session} {state}")

    # ---- sessions ----

    def create(self, name, event="sided:tick", start=True, **members):
        self.ask("create", name, output=os.path.join(self.dir, name), **members)
        self.ask("enable-event", name, event=[event])
        if start:
            self.ask("start", name)

    def counts(self, session, event="sided:tick"):
        """Returns the events of each process, by its pid: its sequences, in order."""
        sequences_of = {}
        for name, pid, sequence in self.events(session):
            if name == event:
                sequences_of.setdefault(pid, []).append(sequence)
        return sequences_of

    def sums(self, session):
        """Returns for each process, by its pid: its sequences, in order, and its recorded losses, by reason."""
        recorded, lost = {}, {}
        output = os.path.join(self.dir, session)
        for directory, _, files in sorted(os.walk(output)):
            if "metadata" not in files:
                continue
            pid = int(re.search(r"-(\d+)-\d+(-r\d+)?$", directory).group(1))
            for message in bt2.TraceCollectionMessageIterator(directory):
                if not isinstance(message, bt2._EventMessageConst):
                    continue
                field = message.event.payload_field
                if message.event.name == "side:lost":
                    reasons = lost.setdefault(pid, {})
                    reason = str(field["reason"])
                    reasons[reason] = reasons.get(reason, 0) + int(field["count"])
                else:
                    recorded.setdefault(pid, []).append(int(field["sequence"]))
        return recorded, lost

    def events(self, session):
        output = os.path.join(self.dir, session)
        for directory, _, files in os.walk(output):
            if "metadata" not in files:
                continue
            pid = int(re.search(r"-(\d+)-\d+(-r\d+)?$", directory).group(1))
            for message in bt2.TraceCollectionMessageIterator(directory):
                if isinstance(message, bt2._EventMessageConst):
                    field = message.event.payload_field
                    number = int(field["sequence"]) if field and "sequence" in field else None
                    yield message.event.name, pid, number
                elif isinstance(message, bt2._DiscardedEventsMessageConst):
                    raise AssertionError(f"lost events in {directory}")
