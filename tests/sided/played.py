#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Acts as a program whose agent can set probes, and sets none: its answers are the content of its
tables.

usage: played.py RUNTIME EXE TOKEN [no-probes]

A table is JSON here: {"states":[1,1,5,[7,16]]} are the states of its locations, a refused one with
its errno. After each change it prints its tables, {"sessions":{SOCKET:{NUMBER:TABLE}}}. On standard
input: "fork TOKEN" makes a child that acts in the same way; "garbage SEED" sends damaged answers;
"quit".
"""
import array
import fcntl
import json
import os
import random
import select
import socket
import struct
import sys

VERSION = 5
HELLO, CONFIG, CHANNEL, REFRESH, ARRIVE, DONE, PROBES, PROBED = 1, 2, 6, 8, 9, 11, 12, 13
ALL_SEALS = 15


def message(kind, body):
    return struct.pack("<IHHII", 0x45444953, VERSION, kind, 16 + len(body), 0) + body


def runs_of(states):
    runs = []
    for place, state in enumerate(states):
        state, error = state if isinstance(state, list) else (state, 0)
        if runs and runs[-1][2:4] == [state, error]:
            runs[-1][1] += 1
        else:
            runs.append([place, 1, state, error, 1])
    return runs


class Played:
    def __init__(self, runtime, exe, token, probes, parent=0):
        self.runtime, self.exe, self.token, self.parent = runtime, exe, token, parent
        self.probes = probes
        self.sessions = {}

    # ---- with the daemon ----

    def arrive(self):
        self.daemon = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.daemon.connect(os.path.join(self.runtime, "agents.sock"))
        name, exe = b"played\0", self.exe.encode() + b"\0"
        self.daemon.send(message(ARRIVE, struct.pack(
            "<IIIIQQII", os.getpid(), 2, 0, 1 if self.parent else 0, self.token, self.parent,
            len(name), len(exe)) + name + exe))

    def welcome(self, data):
        serial, accepted, nr, size, _ = struct.unpack_from("<QIIII", data, 16)
        assert accepted, data
        at, wanted = 40, {}
        for _ in range(nr):
            generation, = struct.unpack_from("<Q", data, at)
            end = data.index(b"\0", at + 8)
            wanted[data[at + 8:end].decode()] = generation
            at = end + 1
        state = 0
        for path in [path for path in self.sessions if path not in wanted]:
            del self.sessions[path]
        for path, generation in wanted.items():
            if self.sessions.get(path, {}).get("generation") == generation:
                continue
            try:
                self.exchange(path)
            except (OSError, EOFError):
                state = 2
        # First, so that a test finds it when the daemon reports that the change is done.
        print(json.dumps({"sessions": {path: known["tables"] for path, known in self.sessions.items()}}),
              flush=True)
        self.daemon.send(message(DONE, struct.pack("<QQII", self.token, serial, state, 0)))

    # ---- with a session ----

    @staticmethod
    def hear(one):
        data, extra, _, _ = one.recvmsg(65536, socket.CMSG_SPACE(16))
        if not data:
            raise EOFError
        fds = array.array("i")
        for _, _, payload in extra:
            fds.frombytes(payload)
        return data, list(fds)

    def hello(self, path):
        name, exe = b"played\0", self.exe.encode() + b"\0"
        features = (2 if self.parent else 0) | (4 if self.probes else 0)
        return message(HELLO, struct.pack(
            "<IIQQIIIIII", os.getpid(), os.getppid(), self.token, self.parent, 8, features, 2, 0,
            len(name), len(exe)) + name + exe)

    def exchange(self, path):
        known = self.sessions.get(path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
            one.settimeout(60)
            one.connect(path)
            one.send(message(REFRESH, struct.pack("<QQ", self.token, known["generation"])) if known
                     else self.hello(path))
            data, fds = self.hear(one)
            for fd in fds:
                os.close(fd)
            config = struct.unpack_from("<10IQqQQQ", data, 16)
            if not config[0]:
                self.sessions.pop(path, None)
                return
            if not config[1] & 2:
                tables = [self.table(one) for _ in range(config[9])]
                self.skip_channels(one, config[7])
                known = {"tables": dict(tables)}
                self.sessions[path] = known
            known["generation"] = config[13]
        for number, table in known["tables"].items():
            self.answer(path, number, table)

    def table(self, one):
        data, (fd,) = self.hear(one)
        kind, = struct.unpack_from("<H", data, 6)
        number, size = struct.unpack_from("<QQ", data, 16)
        assert kind == PROBES and os.fstat(fd).st_size == size, (kind, size)
        assert fcntl.fcntl(fd, 1034) == ALL_SEALS  # F_GET_SEALS
        text = os.pread(fd, size, 0).decode()
        os.close(fd)
        return number, json.loads(text)

    def skip_channels(self, one, nr):
        for _ in range(nr):
            data, fds = self.hear(one)
            for fd in fds:
                os.close(fd)
            kind, = struct.unpack_from("<H", data, 6)
            _, _, rules = struct.unpack_from("<QII", data, 16)
            assert kind == CHANNEL
            for _ in range(rules):
                self.hear(one)

    def probed(self, number, table, sequence, last, runs):
        return message(PROBED, struct.pack(
            "<QQIIII6QII", self.token, number, sequence, last, table.get("error", 0), len(table["states"]),
            *table.get("counts", [0] * 6), len(runs), 0) +
            b"".join(struct.pack("<IIHHI", *run) for run in runs))

    def answer(self, path, number, table):
        """In two messages, if there is more than one run."""
        runs = runs_of(table["states"])
        half = len(runs) // 2
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
            one.connect(path)
            if half:
                one.send(self.probed(number, table, 0, 0, runs[:half]))
            one.send(self.probed(number, table, 1 if half else 0, 1, runs[half:]))

    def garbage(self, seed):
        chance = random.Random(seed)
        for path, known in self.sessions.items():
            for number, table in known["tables"].items():
                for _ in range(200):
                    bad = bytearray(self.probed(number, table, chance.randrange(2), chance.randrange(2),
                                                runs_of(table["states"])))
                    for _ in range(chance.randrange(4)):
                        bad[chance.randrange(16, len(bad))] = chance.randrange(256)
                    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
                        one.connect(path)
                        one.send(bad)
                self.answer(path, number, table)

    # ---- ----

    def fork(self, token):
        sys.stdout.flush()
        child = os.fork()
        if child:
            print(json.dumps({"child": child}), flush=True)
            return
        self.daemon.close()
        self.parent, self.token, self.sessions = self.token, token, {}
        self.arrive()

    def run(self):
        self.arrive()
        while True:
            ready, _, _ = select.select([self.daemon, sys.stdin], [], [])
            if self.daemon in ready:
                try:
                    data = self.daemon.recv(65536)
                except ConnectionResetError:
                    data = b""  # A killed daemon had not read all messages.
                if not data:
                    self.daemon.close()
                    while True:
                        try:
                            self.arrive()
                            break
                        except OSError:
                            select.select([], [], [], 0.02)
                    continue
                self.welcome(data)
            if sys.stdin in ready:
                # A child has the same standard input, and reads nothing there.
                words = os.read(0, 100).decode().split() if not self.parent else []
                if not words:
                    select.select([self.daemon], [], [])
                elif words[0] == "fork":
                    self.fork(int(words[1]))
                elif words[0] == "garbage":
                    self.garbage(int(words[1]))
                    print(json.dumps({"garbage": True}), flush=True)
                else:
                    return


Played(sys.argv[1], sys.argv[2], int(sys.argv[3]), "no-probes" not in sys.argv[4:]).run()
