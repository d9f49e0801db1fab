#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""10,000 probes set and removed in a redis-server that answers requests all the time: probe-live.py
BUILD

Prints the duration, and the slowest request during and before it.
"""
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

LIBRARY = os.path.abspath(os.path.join(sys.argv[1], "tests/probe/programs/libprobe-everything.so"))
COUNT = 10000


def words(path):
    with open(path, "rb") as file:
        return struct.unpack("12Q", file.read(96))


def ask(connection, seen):
    start = time.monotonic()
    connection.sendall(b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n")
    answer = connection.recv(64)
    seen.append(time.monotonic() - start)
    assert answer == b"+OK\r\n", answer


def measure(connection, path, until):
    seen = []
    while words(path)[0] < until:
        for _ in range(20):
            ask(connection, seen)
    return seen


def print_row(what, seen, took=None):
    seen.sort()
    print(f"{what:34} {len(seen):8} requests, median {seen[len(seen) // 2] * 1e6:6.0f} us, slowest {seen[-1] * 1e3:7.2f} ms"
          + (f"; took {took / 1e3:8.1f} ms" if took else ""), flush=True)


def run(program, location):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = f"{location}/report"
    env = dict(os.environ, LD_PRELOAD=LIBRARY, SIDE_EVERYTHING=os.path.basename(os.path.realpath(program)),
               SIDE_EVERYTHING_REPORT=path, SIDE_EVERYTHING_MODE="live", SIDE_EVERYTHING_ENTRIES="1")
    with subprocess.Popen([program, "--port", str(port), "--bind", "127.0.0.1", "--dir", location, "--save", ""], env=env,
                          stdout=subprocess.DEVNULL) as process:
        while not os.path.exists(path) or words(path)[0] < 1:
            time.sleep(0.05)
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            seen, end = [], time.monotonic() + 1
            while time.monotonic() < end:
                ask(connection, seen)
            print_row("before", seen)
            with open(path + ".modules.go", "wb"):
                pass
            seen = measure(connection, path, 2)
            print_row(f"{COUNT} probes being set", seen, words(path)[11])
            seen = measure(connection, path, 3)
            print_row("with them, and being removed", seen, words(path)[8])
        head = words(path)
        process.terminate()
        process.wait(30)
    print(f"{head[2]} set, {head[4]} refused, {head[3]} removed")


redis = shutil.which("redis-server")
if not redis:
    print("redis-server is not installed: nothing is measured")
else:
    with tempfile.TemporaryDirectory() as directory:
        run(redis, directory)
