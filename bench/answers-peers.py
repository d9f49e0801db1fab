#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares `side leaks -p` and `side locks -p` with bcc's memleak, heaptrack and bpftrace: cost for a redis-server under load.

usage: answers-peers.py BUILD-DIRECTORY [ROUNDS [REQUESTS]]

Each measurement starts a redis-server and a tool for it, and sends REQUESTS (300,000) requests SET,
eight at a time. The tools take turns in each round. For each of them:

  requests/s  of redis-benchmark: the median of the rounds
  CPU         time of the server for a request, in us: the median
  more        CPU time for a request beyond that of the server alone: the overhead
  part        overhead of side, divided by that of this tool. Goal: at most 0.1

A line under `side leaks` has the events for a request, for the cost of one event.

All tools record a stack for each allocation. memleak cannot watch jemalloc, the allocator of Debian's
redis-server: its server, and the one that it is compared with, use that of the C library. bcc has no
tool that starts here and times locks of programs, so a script of bpftrace does what its tools do:
uprobes, and a table of waits by lock and stack. memleak needs the headers of the running kernel. A
tool that is not installed, or fails, is named.
"""
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import tracers

TIMEOUT_S = 60
CPU_CLOCK = 2  # CPUCLOCK_SCHED of Linux
SIDE = os.path.join(os.path.abspath(sys.argv[1]), "programs/side/side")
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
REQUESTS = int(sys.argv[3]) if len(sys.argv) > 3 else 300_000


LIBC = "/lib/x86_64-linux-gnu/libc.so.6"
LOCKS = """
uprobe:LIBC:pthread_mutex_lock { @begin[tid] = nsecs; @lock[tid] = arg0; }
uretprobe:LIBC:pthread_mutex_lock /@begin[tid]/ {
    @waits[@lock[tid], ustack(16)] = sum(nsecs - @begin[tid]);
    @held[@lock[tid]] = nsecs;
    delete(@begin[tid]);
    delete(@lock[tid]);
}
uprobe:LIBC:pthread_mutex_unlock /@held[arg0]/ { @holds[arg0, ustack(16)] = sum(nsecs - @held[arg0]); delete(@held[arg0]); }
"""
started = []


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def wait_until(condition, what, process=None):
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        if process and process.poll() is not None:
            raise RuntimeError(f"{what}: it has ended with status {process.returncode}")
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: not within {TIMEOUT_S} s")
        time.sleep(0.05)


class Server:
    def __init__(self, directory, preload):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                                         "--dir", directory], stdout=subprocess.DEVNULL,
                                        env=dict(os.environ, LD_PRELOAD=preload))
        started.append(self.process)
        self.pid = self.process.pid
        wait_until(self.answers, "redis-server")

    def answers(self):
        with socket.socket() as client:
            return not client.connect_ex(("127.0.0.1", self.port))

    def cpu_ns(self):
        """CPU time of all threads: the process's clock of clock_getcpuclockid(). /proc/PID/stat has ticks of 10 ms."""
        return time.clock_gettime_ns(~self.pid << 3 | CPU_CLOCK)

    def send(self, requests):
        return subprocess.run(["redis-benchmark", "-p", str(self.port), "-t", "set", "-n", str(requests), "-P", "8",
                                  "-r", "100000", "-d", "64", "--csv"], check=True, capture_output=True, text=True).stdout

    def load(self, requests):
        """Returns requests a second."""
        printed = self.send(requests)
        return float(re.search(r'^"SET","([0-9.]+)"', printed, re.M)[1])

    def mapped(self, name):
        return name in read(f"/proc/{self.pid}/maps")

    def probed(self):
        """True if uprobes were hit: the kernel then maps its page of copied instructions."""
        self.send(1000)
        return self.mapped("[uprobes]")


def start_side(verb):
    def start(server, directory):
        log = os.path.join(directory, "log")
        with open(log, "wb") as stderr, open(os.path.join(tracers.work, verb), "wb") as stdout:
            tool = subprocess.Popen([SIDE, verb, "--json", "-p", str(server.pid)], stdout=stdout, stderr=stderr)
        started.append(tool)
        wait_until(lambda: "until Ctrl-C" in read(log) and server.mapped("libside"), f"side {verb}", tool)
        time.sleep(0.5)
        return tool
    return start


def start_memleak(server, directory):
    return start_uprobes(server, directory, "memleak-bpfcc", "-p", str(server.pid), "3600")


def start_bpftrace(server, directory):
    return start_uprobes(server, directory, "bpftrace", "-p", str(server.pid), "-e", LOCKS.replace("LIBC", LIBC))


def start_uprobes(server, directory, *words):
    with open(os.path.join(directory, "log"), "wb") as log:
        tool = subprocess.Popen(words, stdout=log, stderr=log)
    started.append(tool)
    wait_until(server.probed, words[0], tool)
    return tool


def start_heaptrack(server, directory):
    with open(os.path.join(directory, "log"), "wb") as log:
        tool = subprocess.Popen(["heaptrack", "-o", os.path.join(directory, "heap"), "-p", str(server.pid)], stdout=log,
                                stderr=log)
    started.append(tool)
    wait_until(lambda: server.mapped("libheaptrack_inject"), "heaptrack", tool)
    time.sleep(1)
    return tool


ALONE, ALONE_LIBC = "no tool", "no tool, libc's allocator"
QUESTIONS = {
    "blocks that are never freed": {
        ALONE: None,
        "side leaks": start_side("leaks"),
        "heaptrack": start_heaptrack,
        ALONE_LIBC: None,
        "bcc memleak": start_memleak,
    },
    "waits for locks": {
        ALONE: None,
        "side locks": start_side("locks"),
        "bpftrace": start_bpftrace,
    },
}
WITH_LIBC = (ALONE_LIBC, "bcc memleak")


def measure(name, start, directory):
    """Returns requests a second, and CPU time of the server for a request in us."""
    server = Server(directory, LIBC if name in WITH_LIBC else "")
    tool = start(server, directory) if start else None
    server.load(REQUESTS // 10)
    before = server.cpu_ns()
    rate = server.load(REQUESTS)
    cpu_us = (server.cpu_ns() - before) / REQUESTS / 1000
    if server.process.poll() is not None or (tool and tool.poll() is not None):
        raise RuntimeError("the server or the tool ended during the measurement")
    return rate, cpu_us


def end_started():
    """Ends tools before the server that they trace."""
    for process in reversed(started):
        process.send_signal(signal.SIGTERM if process.args[0] == "redis-server" else signal.SIGINT)
        try:
            process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    started.clear()


def describe_events(answer):
    """Of the last round, whose requests are those of the measurement and a tenth more before it."""
    lost = answer.get("lost")
    if lost is None:
        return "no event was recorded"
    events = ""
    if "allocations" in answer:
        # A call that allocates has two events, its begin and its return.
        total = 2 * answer["allocations"] + answer["frees"] + lost
        events = f"events for a request: {total / (REQUESTS + REQUESTS // 10):.1f}; "
    return f"{events}events lost in the last round: {lost:,}"


def compare(question, rows):
    seen = {name: [] for name in rows}
    failed = {}
    for _ in range(ROUNDS):
        for name, start in rows.items():
            if name in failed:
                continue
            with tempfile.TemporaryDirectory(dir=tracers.work) as directory:
                try:
                    seen[name].append(measure(name, start, directory))
                except (RuntimeError, OSError) as error:
                    failed[name] = error
                finally:
                    end_started()
    medians = {name: [statistics.median(column) for column in zip(*values)] for name, values in seen.items() if values}
    more = {name: values[1] - medians[ALONE_LIBC if name in WITH_LIBC else ALONE][1] for name, values in medians.items()}
    side_us = next((more_us for name, more_us in more.items() if name.startswith("side ")), None)
    print(f"{question:30} {'requests/s':>11} {'CPU, us':>8} {'more, us':>9} {'part':>6}")
    for name, (rate, cpu_us) in medians.items():
        part = f"{side_us / more[name]:6.2f}" if rows[name] and side_us is not None and more[name] > 0 else ""
        print(f"  {name:28} {rate:11,.0f} {cpu_us:8.2f} {more[name]:9.2f} {part:>6}")
        if name.startswith("side "):
            with open(os.path.join(tracers.work, name.split()[1]), encoding="utf-8") as file:
                print(f"    {describe_events(json.loads(file.readline()))}")
    for name, error in failed.items():
        print(f"  {name:28} not measured: {error}")
    print(flush=True)


if shutil.which("redis-server") and shutil.which("redis-benchmark"):
    for one_question, its_tools in QUESTIONS.items():
        compare(one_question, its_tools)
else:
    print("redis-server is not installed: nothing is measured")
