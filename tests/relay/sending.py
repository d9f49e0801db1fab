# SPDX-License-Identifier: MIT
"""Functions that the tests of senders share: recording programs, frames, packets, ports, waiting."""
import atexit
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import wait_until

SIDE = os.environ["SIDE"]
TALKER = os.environ["SEND_TALKER"]
SANITIZED = os.environ.get("SEND_SANITIZE", "none") != "none"
WAIT = 120  # Seconds until a condition must be true; generous.

MAGIC = b"\xf5Sd\xe1"
HELLO, FILE, PACKET, TRACE_END, END, ACK = 1, 2, 3, 4, 5, 6


def scratch():
    folder = tempfile.mkdtemp(prefix="side-send-")
    atexit.register(shutil.rmtree, folder, True)
    return folder


WORK = scratch()
ENVIRONMENT = dict(os.environ, SIDE_RUNTIME=os.path.join(WORK, "run"), TMPDIR=WORK, LC_ALL="C.UTF-8")
ENVIRONMENT.pop("SIDE_DEBUG", None)


def side(*args, check=True, **more):
    done = subprocess.run([SIDE, *args], stdin=more.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=ENVIRONMENT, timeout=WAIT, check=False, **more)
    if check and done.returncode:
        raise AssertionError(f"side {args}: {done.returncode}\n{done.stderr.decode()}")
    return done


def start(*args, **more):
    """Starts a program in the background; the test kills it at the end if it still runs."""
    process = subprocess.Popen(args, stdin=more.pop("stdin", subprocess.DEVNULL),
                               stderr=more.pop("stderr", subprocess.PIPE), env=more.pop("env", ENVIRONMENT), **more)
    atexit.register(lambda: process.poll() is None and process.kill())
    return process


def finish(process, status=0):
    out, err = process.communicate(timeout=WAIT)
    if status is not None and process.returncode != status:
        raise AssertionError(f"{process.args}: {process.returncode}\n{(err or b'').decode()}")
    return (out or b"").decode(), (err or b"").decode()


def ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    numbers = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return numbers


def record(folder, count=1000, *more):
    """Records a program that fires this many events in several threads, without a loss."""
    side("record", "-o", folder, "--buffer-size", "16M", *more, "--", TALKER, str(count))
    return folder


def result(stderr, kind):
    """Returns the JSON line of this type."""
    for line in stderr.splitlines():
        if line.startswith("{"):
            value = json.loads(line)
            if value["type"] == kind:
                return value
    raise AssertionError(f"no {kind} in {stderr}")


def receive(source, folder, status=0):
    done = side("receive", "--json", source, "-o", folder, check=False)
    if status is not None and done.returncode != status:
        raise AssertionError(f"receive: {done.returncode}\n{done.stderr.decode()}")
    return result(done.stderr.decode(), "received")


def traces(folder):
    """Returns the directories with metadata below the folder."""
    return sorted(os.path.relpath(top, folder) for top, _, names in os.walk(folder) if "metadata" in names)


def packets(file):
    """Returns (sequence number, discarded events, bytes) of each packet of a stream file."""
    with open(file, "rb") as stream:
        data = stream.read()
    found, at = [], 0
    while at < len(data):
        magic, = struct.unpack_from("=I", data, at)
        assert magic == 0xc1fc1fc1, f"{file}: no packet at {at}"
        size, sequence, discarded = struct.unpack_from("=QQQ", data, at + 56)
        found.append((sequence, discarded, data[at:at + size // 8]))
        at += size // 8
    return found


def streams(folder):
    return {os.path.join(top, name): packets(os.path.join(top, name)) for top, _, names in os.walk(folder)
            for name in sorted(names) if name[0] != "." and name != "metadata" and "/index" not in top}


def same(one, other):
    done = subprocess.run(["diff", "-r", one, other], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise AssertionError(done.stdout.decode()[:2000])


def same_streams(one, other):
    """Compares the packets only."""
    a, b = ({os.path.relpath(path, folder): stream for path, stream in streams(folder).items()}
            for folder in (one, other))
    assert a and a == b, f"{one} and {other} differ"


def frames(data):
    """Returns (type, bytes) of the frames of a complete stream."""
    found, at = [], 0
    while at < len(data):
        assert data[at:at + 4] == MAGIC, at
        size, = struct.unpack_from("<I", data, at + 8)
        found.append((data[at + 5], data[at:at + 36 + size]))
        at += 36 + size
    return found


def packet_of(frame):
    """Returns the header of a frame with a piece of a packet."""
    names = ("trace", "stream", "number", "events_before", "dropped_before", "events", "header", "total", "offset")
    return dict(zip(names, struct.unpack_from("<IIQQQQBQQ", frame, 32)))


class Proxy:
    """Accepts connections for another port, and cuts each after so many bytes from the client."""

    def __init__(self, target, budgets):
        self.target = target
        self.budgets = budgets  # budgets() returns the next number of bytes, or None: the connection is not cut.
        self.cuts = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            client.close()
            return
        pair = (client, server)
        threading.Thread(target=self.pump, args=(server, client, None, pair), daemon=True).start()
        self.pump(client, server, self.budgets(), pair)

    def pump(self, source, sink, budget, pair):
        try:
            while budget is None or budget > 0:
                data = source.recv(min(65536, budget or 65536))
                if not data:
                    break
                sink.sendall(data)
                budget = None if budget is None else budget - len(data)
            else:
                self.cuts += 1
                for each in pair:  # At once: bytes in flight are lost.
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
        for each in pair:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()

    def close(self):
        self.listener.close()


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
