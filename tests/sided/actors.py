# SPDX-License-Identifier: MIT
"""Peers of the daemon with random actions: programs (agents.sock, sessions, rendezvous sockets) and
clients (control.sock).

An actor is a process, of any user. For each number on its standard input it runs a batch of
actions, which depend on the seed, the actor and the number of the batch only, and answers with a
line. Its connections stay from one batch to the next.
"""
import fcntl
import json
import os
import random
import select
import signal
import socket
import sys
import tempfile
import time
import traceback

import speaker

ACTIONS = 25
SESSIONS = ("f0", "f1", "f2")
SOCKETS = 4  # Rendezvous sockets.


def rendezvous(seed, number):
    return f"@side-door-fuzz-{seed:x}-{number}"


class Actor:
    links_max = 12

    def __init__(self, seed, index, runtime, folder):
        self.seed, self.index, self.runtime, self.folder = seed, index, runtime, folder
        self.draw = random.Random()
        self.links = []
        self.children = []
        self.fds = []

    # ---- batches ----

    def batch(self, number):
        self.draw.seed(f"{self.seed}/{self.index}/{number}")
        for _ in range(ACTIONS):
            names, weights = zip(*self.actions.items())
            name, = self.draw.choices(names, weights)
            try:
                getattr(self, name)()
            except (OSError, BlockingIOError):
                pass  # The peer has closed the connection, or is full: both are permitted.
        self.end_children(self.draw.random() < 0.5)
        if self.draw.random() < 0.3:
            self.drop(None)

    def end_children(self, all_of_them):
        for pid in list(self.children):
            if all_of_them:
                os.kill(pid, signal.SIGKILL)
            if os.waitpid(pid, 0 if all_of_them else os.WNOHANG)[0]:
                self.children.remove(pid)

    def run(self):
        signal.signal(signal.SIGUSR1, lambda number, frame: None)
        signal.signal(signal.SIGUSR2, lambda number, frame: None)
        for line in sys.stdin:
            try:
                self.batch(int(line))
            except Exception:  # pylint: disable=broad-except
                print("failed", json.dumps(traceback.format_exc()), flush=True)
                break
            print("done", flush=True)
        self.end_children(True)

    # ---- actions of all actors ----

    def open_link(self, path):
        if len(self.links) >= self.links_max:
            self.drop(self.links[0])
        one = speaker.dial(path)
        one.setblocking(False)
        self.links.append(one)
        return one

    def link(self):
        if not self.links or self.draw.random() < 0.2:
            return self.connect()
        return self.draw.choice(self.links)

    def drop(self, one):
        if one is None and self.links:
            one = self.draw.choice(self.links)
        if one in self.links:
            self.links.remove(one)
            one.close()

    def close(self):
        self.drop(None)

    def shut(self):
        if self.links:
            self.draw.choice(self.links).shutdown(self.draw.choice((socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR)))

    def hear(self):
        if self.links:
            self.heard(self.draw.choice(self.links))

    def heard(self, one):
        data = speaker.hear(one)
        if not data:
            self.drop(one)
        return data

    def pause(self):
        time.sleep(self.draw.random() * 0.02)

    def descriptors(self):
        """Valid ones, invalid ones, and many."""
        made = []
        for _ in range(self.draw.choice((1, 1, 1, 2, 5, 60))):
            kind = self.draw.randrange(6)
            if kind == 0:
                made.append(os.open("/dev/null", os.O_RDWR))
            elif kind == 1:
                made.extend(os.pipe())
            elif kind == 2:
                made.extend(one.detach() for one in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            elif kind == 3:
                fd = os.memfd_create("drawn", os.MFD_ALLOW_SEALING)
                os.write(fd, self.draw.choice((b"", b"{}", b'{"states":[1]}', b"x" * 5000)))
                fcntl.fcntl(fd, 1033, self.draw.choice((0, 7, 14, 15)))  # F_ADD_SEALS
                made.append(fd)
            elif kind == 4:
                one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                one.bind("")
                one.listen(4)
                made.append(one.detach())
            elif self.links:
                made.append(os.dup(self.draw.choice(self.links).fileno()))
        return made

    def send(self, one, data):
        """Complete, truncated, changed, or with descriptors."""
        chance = self.draw.random()
        if chance < 0.04:
            data = data[:self.draw.randrange(1, len(data))]
        elif chance < 0.08:
            changed = bytearray(data)
            for _ in range(self.draw.randrange(1, 4)):
                changed[self.draw.randrange(len(changed))] = self.draw.randrange(256)
            data = bytes(changed)
        elif chance < 0.13:
            fds = self.descriptors()
            try:
                speaker.send_with(one, data, fds)
            finally:
                for fd in fds:
                    os.close(fd)
            return
        one.send(data)

    def fork(self, child):
        """Runs `child` in its own process, which ends with it, executes another program, or is killed later."""
        if len(self.children) > 6:
            return
        end = self.draw.randrange(4)
        pid = os.fork()
        if pid:
            self.children.append(pid)
            return
        try:
            try:
                child()
            except OSError:
                pass
            if end == 0:
                os.execv("/bin/sleep", ["sleep", "0.02"])
            if end == 1:
                time.sleep(60)
            if end == 2:
                os.kill(os.getpid(), signal.SIGSTOP)
        finally:
            os._exit(0)


class Program(Actor):
    """Messages of an agent in any order, and messages that no agent sends."""
    actions = {"connect": 8, "arrive": 20, "done": 12, "pass_on": 6, "other": 3, "hear": 12, "close": 6, "shut": 2, "pause": 3,
               "in_a_row": 6, "arrive_and_close": 4, "forked": 3, "inherited": 3, "hello": 8, "refresh": 5, "describe": 6,
               "arrive_twice": 3, "arrive_again": 4}

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.serial = {}
        self.token_of = {}

    def agents(self):
        if self.draw.random() < 0.25:
            return rendezvous(self.seed, self.draw.randrange(SOCKETS))
        return os.path.join(self.runtime, "agents.sock")

    def session(self):
        return os.path.join(self.runtime, "sessions", f"{self.draw.choice(SESSIONS + ('victim', 'none'))}.sock")

    def connect(self):
        return self.open_link(self.agents())

    def token(self):
        """Few values, so that programs meet; those of other actors among them."""
        return self.seed * 100 + self.draw.randrange(1, 12)

    def arrival(self):
        control = self.draw.choice((speaker.THREAD, speaker.THREAD, speaker.SYNC, speaker.SIGNAL))
        number = 0 if control != speaker.SIGNAL else self.draw.choice((signal.SIGUSR1, signal.SIGUSR2))
        token = self.token()
        return token, speaker.arrive(token, control, number, self.draw.randrange(2), name=self.draw.choice(
            (b"spoken", b"side-control", b"", b"\xff\x01" * 7)))

    def arrive(self):
        one = self.link()
        self.token_of[one], data = self.arrival()
        self.send(one, data)

    def arrive_twice(self):
        one = self.link()
        for _ in range(self.draw.randrange(2, 4)):
            self.token_of[one], data = self.arrival()
            self.send(one, data)

    def arrive_again(self):
        """The same program on another connection."""
        if self.links:
            token = self.token_of.get(self.draw.choice(self.links), self.token())
            one = self.connect()
            self.token_of[one] = token
            self.send(one, speaker.arrive(token))

    def arrive_and_close(self):
        one = self.connect()
        try:
            self.send(one, self.arrival()[1])
        finally:
            self.drop(one)

    def done(self):
        one = self.link()
        serial = self.serial.get(one, 1) + self.draw.choice((0, 0, 0, -1, 1, 1 << 40))
        token = self.token_of.get(one, 1) if self.draw.random() < 0.9 else self.token()
        self.send(one, speaker.done(token, max(serial, 0), self.draw.choice((0, 0, 1, 2))))

    def heard(self, one):
        data = super().heard(one)
        if speaker.kind_of(data) == speaker.WELCOME:
            accepted, self.serial[one], _, _ = speaker.read_welcome(data)
            if accepted and self.draw.random() < 0.6:
                one.send(speaker.done(self.token_of.get(one, 1), self.serial[one]))
        return data

    def pass_on(self):
        one = self.connect()
        self.send(one, speaker.passing(self.session()))
        if self.draw.random() < 0.7:
            select.select([one], [], [], 0.05)
            self.send(one, speaker.hello(self.token()))

    def other(self):
        kind = self.draw.randrange(20)
        self.send(self.link(), speaker.message(kind, self.draw.randbytes(self.draw.randrange(60)),
                                               self.draw.choice((3, 3, 2))))

    def in_a_row(self):
        one = self.link()
        for _ in range(self.draw.randrange(2, 6)):
            self.send(one, self.draw.choice((self.arrival()[1], speaker.done(self.token_of.get(one, 1), self.serial.get(
                one, 1)), speaker.passing(self.session()), speaker.hello(self.token()))))

    def forked(self):
        path, (_, data), session = self.agents(), self.arrival(), self.session()
        meets = self.draw.random() < 0.5

        def child():
            one = speaker.dial(path, 0.2)
            one.send(data)
            speaker.hear(one)
            if meets:
                speaker.dial(session, 0.2).send(speaker.hello(1 + os.getpid()))
        self.fork(child)

    def inherited(self):
        """A connection stays open in a child after the program has closed it."""
        one = self.link()
        data = self.arrival()[1]
        self.fork(lambda: one.send(data))
        self.drop(one)

    # ---- with a session ----

    def hello(self):
        one = self.open_link(self.session())
        self.token_of[one] = self.token()
        self.send(one, speaker.hello(self.token_of[one], self.draw.choice((0, 2, 4, 6))))
        if self.draw.random() < 0.2:
            self.send(one, speaker.hello(self.token()))

    def refresh(self):
        one = self.open_link(self.session())
        token = self.token()
        self.send(one, speaker.refresh(token, self.draw.randrange(6)))

    def describe(self):
        one = self.draw.choice(self.links) if self.links and self.draw.random() < 0.6 else self.open_link(self.session())
        token = self.token_of.get(one, self.token())
        for sequence in range(self.draw.randrange(1, 3)):
            self.send(one, speaker.events(token, sequence, self.draw.randrange(2), self.draw.choice(
                (b"", self.draw.randbytes(16), bytes(40)))))


class Client(Actor):
    """Requests as of the command line: valid ones on few sessions, and others."""
    actions = {"connect": 2, "request": 40, "change": 16, "hear": 20, "close": 8, "shut": 1, "pause": 4, "pieces": 2, "add_socket": 3,
               "subscribe": 3, "load": 2, "probe": 3, "forked": 1, "ask_and_close": 5, "broken": 1}

    def connect(self):
        return self.open_link(os.path.join(self.runtime, "control.sock"))

    def ask(self, verb, session=None, one=None, fds=(), **members):
        request = {"version": 1, "verb": verb, **members}
        if session:
            request["session"] = session
        one = one or self.link()
        data = json.dumps(request).encode()
        if fds:
            speaker.send_with(one, data, fds)
        else:
            self.send(one, data)

    def session(self):
        return self.draw.choice(SESSIONS)

    def timeout(self):
        return self.draw.choice((0, 1000000, 50000000))

    def create(self):
        members = {"memory-limit": 64 << 20}
        if self.draw.random() < 0.7:
            members["output"] = os.path.join(self.folder, f"out-{self.draw.randrange(1 << 40):x}")
        if self.draw.random() < 0.1:
            members["to"] = os.path.join(self.folder, f"sent-{self.draw.randrange(1 << 40):x}")
            members["send-timeout"] = 100000000
        self.ask("create", self.session(), **members)

    def request(self):
        verb = self.draw.choice(("create", "create", "start", "start", "start", "stop", "destroy", "status", "status", "list", "ping",
                                 "statedump", "rotate", "clear", "snapshot", "save", "nothing"))
        if verb == "create":
            self.create()
        elif verb in ("start", "stop", "destroy", "statedump"):
            self.ask(verb, self.session(), timeout=self.timeout())
        elif verb == "ping":
            self.ask(verb)
        else:
            self.ask(verb, self.session() if self.draw.random() < 0.8 else None)

    def change(self):
        verb = self.draw.choice(("enable-event", "enable-event", "disable-event", "enable-channel", "disable-channel", "add-context",
                                 "track", "untrack"))
        members = {"timeout": self.timeout()}
        if verb == "enable-channel":
            members["channel"] = self.draw.choice(("c0", "c1"))
            members["mode"] = self.draw.choice(("discard", "overwrite"))
            members["buffer-size"] = 65536
        elif verb == "disable-channel":
            members["channel"] = self.draw.choice(("c0", "c1"))
        elif verb == "add-context":
            members["context"] = [self.draw.choice(("pid", "tid", "procname", "none"))]
        elif verb in ("track", "untrack"):
            members[self.draw.choice(("pid", "uid"))] = [self.draw.choice((0, os.getpid()))]
        else:
            members["event"] = [self.draw.choice(("sided:tick", "sided:*", "a:b", ""))]
        self.ask(verb, self.session(), **members)

    def load(self):
        self.ask("load", definition={"name": self.session(), "channels": []}, force=self.draw.random() < 0.7)

    def probe(self):
        fds = self.descriptors()
        try:
            self.ask(self.draw.choice(("enable-probe", "disable-probe")), self.session(), fds=fds, event=["probe:f"],
                     probe="--function f", timeout=self.timeout())
        finally:
            for fd in fds:
                os.close(fd)

    def subscribe(self):
        self.ask("top", self.session() if self.draw.random() < 0.5 else None, interval=self.draw.choice((10000000, 30000000)))

    def ask_and_close(self):
        one = self.connect()
        try:
            self.ask(self.draw.choice(("status", "start", "stop", "destroy", "top")), self.session(), one)
            if self.draw.random() < 0.5:
                self.ask("status", None, one)
        finally:
            self.drop(one)

    def pieces(self):
        self.link().send(json.dumps({"more": True, "part": self.draw.choice(('{"version"', "x" * 3000))}).encode())

    def broken(self):
        self.link().send(self.draw.choice((b"[]", b'{"version":2}', b"{", self.draw.randbytes(20), b'{"verb":"ping"}' * 2)))

    def add_socket(self):
        """A rendezvous socket, in no directory or in one; its process may have exited."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if self.draw.random() < 0.8:
            path = rendezvous(self.seed, self.draw.randrange(SOCKETS))
            address = "\0" + path[1:]
        else:
            path = address = os.path.join(tempfile.mkdtemp(prefix="side-door-", dir=self.folder), "agents")
        pid = self.draw.choice((os.getpid(), os.getpid(), os.getppid(), 1 << 30, *self.children))
        try:
            listener.bind(address)
            if self.draw.random() < 0.9:
                listener.listen(8)
            self.ask("door", fds=[listener.fileno()], pid=pid, path=path)
        finally:
            listener.close()
        self.ask("door", pid=pid)

    def forked(self):
        path = os.path.join(self.runtime, "control.sock")
        data = json.dumps({"version": 1, "verb": "status"}).encode()
        self.fork(lambda: speaker.dial(path, 0.2).send(data))


def main():
    kind, seed, index, runtime, folder, uid, gid = sys.argv[1:8]
    if int(uid) != os.geteuid():
        os.setgroups([])
        os.setresgid(int(gid), int(gid), int(gid))
        os.setresuid(int(uid), int(uid), int(uid))
    {"program": Program, "client": Client}[kind](int(seed), int(index), runtime, folder).run()


if __name__ == "__main__":
    main()
