# SPDX-License-Identifier: MIT
"""A daemon of a few lines: it speaks the protocol between agents and sided, and records nothing."""
import glob
import os
import select
import socket
import struct
import threading
import time

MAGIC, VERSION = 0x45444953, 5
ARRIVE, WELCOME, DONE = 9, 10, 11
OFF, SYNC, THREAD, SIGNAL = range(4)
TIMEOUT = 90


def message(kind, body):
    return struct.pack("=IHHII", MAGIC, VERSION, kind, 16 + len(body), 0) + body


def body_of(data):
    magic, version, kind, size, reserved = struct.unpack_from("=IHHII", data)
    assert (magic, version, size, reserved) == (MAGIC, VERSION, len(data), 0), data[:16]
    return kind, data[16:]


def has_thread(pid):
    # The task that creates the thread may end in between.
    for path in glob.glob(f"/proc/{pid}/task/*/comm"):
        try:
            with open(path, encoding="utf-8", errors="replace") as comm:
                if comm.read() == "side-control\n":
                    return True
        except OSError:
            pass
    return False


class Arrival:
    def __init__(self, body):
        (self.pid, self.control, self.signal, self.flags, self.token, self.parent, procname, exe) = \
            struct.unpack_from("=IIIIQQII", body)
        self.procname = body[40:40 + procname - 1].decode()
        self.exe = body[40 + procname:40 + procname + exe - 1].decode()


class Agent:
    """One connection of one program."""

    def __init__(self, daemon, connection):
        self.daemon, self.connection = daemon, connection
        self.arrival = None
        self.first = True       # of this process: not the connection that is kept
        self.done = []          # (serial, state)
        self.closed = False
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        self.pid = struct.unpack("=iii", credentials)[0]
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        try:
            while True:
                data = self.connection.recv(65536)
                if not data:
                    break
                self.take(data)
        except OSError:
            pass
        with self.daemon.changed:
            self.closed = True
            self.daemon.changed.notify_all()
        self.connection.close()

    def take(self, data):
        kind, body = body_of(data)
        with self.daemon.changed:
            if kind == ARRIVE:
                self.arrival = Arrival(body)
                self.first = self.arrival.token not in self.daemon.tokens
                self.daemon.tokens.add(self.arrival.token)
            elif kind == DONE:
                token, serial, state, reserved = struct.unpack("=QQII", body)
                assert token == self.arrival.token and reserved == 0
                self.done.append((serial, state))
            else:
                raise AssertionError(f"message {kind} from an agent")
            self.daemon.changed.notify_all()
        if kind == ARRIVE:
            self.welcome()

    def is_open(self):
        try:
            return not self.closed and bool(self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def welcome(self):
        if self.daemon.silent:
            return
        sessions = b"".join(struct.pack("=Q", generation) + path.encode() + b"\0"
                            for path, generation in self.daemon.sessions)
        reason = b"\0"
        body = struct.pack("=QIIII", self.daemon.serial, 1, len(self.daemon.sessions), len(sessions),
                           len(reason))
        try:
            self.connection.send(message(WELCOME, body + sessions + reason))
        except OSError:
            pass


class Daemon:
    """Its directory is SIDE_RUNTIME of the programs."""

    def __init__(self, directory, silent=False):
        self.path = os.path.join(directory, "agents.sock")
        self.silent = silent
        self.sessions = []      # (path, generation)
        self.serial = 1
        self.agents = []
        self.tokens = set()     # of all processes that have ever arrived
        self.changed = threading.Condition()
        self.listener = None
        self.start()

    def start(self):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(self.path)
        listener.listen(128)
        self.stopping, self.wake = os.pipe()
        self.listener = listener
        self.thread = threading.Thread(target=self.accept, args=(listener,), daemon=True)
        self.thread.start()

    def accept(self, listener):
        while self.stopping not in select.select([listener, self.stopping], [], [])[0]:
            connection, _ = listener.accept()
            with self.changed:
                self.agents.append(Agent(self, connection))
                self.changed.notify_all()

    def stop(self):
        """Stops like a killed daemon: no connection is left, but the socket's file is."""
        os.write(self.wake, b"x")
        self.thread.join()
        self.listener.close()
        with self.changed:
            for agent in self.agents:
                if not agent.closed:
                    agent.connection.shutdown(socket.SHUT_RDWR)

    def restart(self):
        os.unlink(self.path)
        self.start()

    def wait(self, what, condition):
        """Waits, and returns the first true value of the condition."""
        deadline = time.monotonic() + TIMEOUT
        with self.changed:
            while True:
                value = condition()
                if value:
                    return value
                left = deadline - time.monotonic()
                assert left > 0, f"not within {TIMEOUT} s: {what}"
                # Some conditions cause no notification, such as a thread's name.
                self.changed.wait(min(left, 0.5))

    def arrivals(self):
        return [a for a in self.agents if a.arrival]

    def connected(self, pid):
        """Returns the kept connection of a process, which has reported that it is done, and listens."""
        # The first event's own connection ends before its thread exists.
        if has_thread(pid):
            for agent in self.agents:
                if agent.pid == pid and agent.done and not agent.first and agent.is_open():
                    return agent
        return None

    def wait_connected(self, pid, serial=None):
        def has():
            agent = self.connected(pid)
            return agent if agent and (serial is None or agent.done[-1][0] == serial) else None
        return self.wait(f"a kept connection of {pid}", has)

    def change(self, sessions):
        with self.changed:
            self.sessions = list(sessions)
            self.serial += 1
            for agent in self.agents:
                if not agent.closed and agent.arrival and agent.arrival.control == THREAD:
                    agent.welcome()
        return self.serial

    def change_and_wait(self, pid, sessions):
        """Changes the sessions, and waits until the process reports that it has applied them; returns
        the reported state.
        """
        serial = self.change(sessions)
        agent = self.wait_connected(pid, serial)
        return agent.done[-1][1]
