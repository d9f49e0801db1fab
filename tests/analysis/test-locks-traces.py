# SPDX-License-Identifier: MIT
"""The answer about locks for generated traces: deadlocks with and without losses, and traces that no program can make.

usage: test-locks-traces.py LOCKS [TEST...]
"""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

from checks import contains, equal, run_tests, true
from lock_trace import LockTrace, write_anything, write_deadlock

LOCKS = sys.argv[1]
del sys.argv[1]
A = 0x1000


def answer(trace):
    printed = subprocess.run([LOCKS, trace, "--json"], capture_output=True, text=True, check=False, timeout=60)
    equal((printed.returncode, printed.stderr), (0, ""), trace)
    return [json.loads(line) for line in printed.stdout.splitlines()]


def text(trace):
    return subprocess.run([LOCKS, trace], capture_output=True, text=True, check=True, timeout=60).stdout


def test_deadlock():
    with tempfile.TemporaryDirectory() as work:
        path = write_deadlock(os.path.join(work, "trace"))
        overview = answer(path)[0]
        equal((overview["deadlocks"], overview["uncertain_deadlocks"], overview["lost"]), (1, 0, 0))
        contains(text(path), "DEADLOCK of 2 threads of program:7")


def test_losses():
    with tempfile.TemporaryDirectory() as work:
        # The release of a lock may be among the lost events.
        path = write_deadlock(os.path.join(work, "during"), lost=5)
        overview = answer(path)[0]
        equal((overview["deadlocks"], overview["uncertain_deadlocks"], overview["lost"]), (0, 1, 5))
        printed = text(path)
        true("DEADLOCK" not in printed, printed)
        contains(printed, "5 events lost")
        contains(printed, "a cycle of waiting threads that may be a deadlock, or may have lost a release")
        # Earlier losses do not matter.
        overview = answer(write_deadlock(os.path.join(work, "before"), lost_before=5))[0]
        equal((overview["deadlocks"], overview["lost"]), (1, 5))


def test_durations_across_losses():
    with tempfile.TemporaryDirectory() as work:
        trace = LockTrace(os.path.join(work, "trace"))
        trace.add(1000, 1, "pthread_mutex_lock_req", A)
        trace.end_packet(1)
        trace.add(9000, 1, "pthread_mutex_lock", A)
        trace.end_packet(1)
        trace.add(20000, 1, "pthread_mutex_unlock", A)
        trace.add(21000, 1, "pthread_mutex_lock_req", A)
        trace.add(22000, 1, "pthread_mutex_lock", A)
        trace.add(25000, 1, "pthread_mutex_unlock", A)
        trace.write()
        lock = answer(trace.path)[1]
        equal((lock["uncertain"], lock["attempts"], lock["attempts_ns"]), (2, 2, 1000))
        equal((lock["hold"]["count"], lock["hold"]["total_ns"]), (1, 3000))


def test_empty():
    with tempfile.TemporaryDirectory() as work:
        trace = LockTrace(os.path.join(work, "trace"))
        trace.add(1000, 1, "sem_post", A)
        trace.write()
        overview = answer(trace.path)[0]
        equal((overview["events"], overview["threads"]), (1, 1))


def check_numbers(objects, what):
    for lock in (one for one in objects if one["type"] == "lock"):
        true(lock["contended"] <= lock["attempts"], f"{what}: {lock}")
        true(lock["wait"]["count"] + lock["busy"] + lock["uncertain"] >= lock["contended"], f"{what}: {lock}")
        equal(lock["wait"].get("total_ns", 0) + lock["unexplained_ns"], lock["waited_ns"], what)
        true(lock["waited_ns"] <= lock["attempts_ns"], f"{what}: {lock}")
        equal(sum(stack["total_ns"] for stack in lock["stacks"]), lock["waited_ns"], what)
        for name in ("wait", "hold"):
            stats = lock.get(name, {"count": 0})
            if stats["count"]:
                true(stats["min_ns"] <= stats["p50_ns"] <= stats["p90_ns"] <= stats["p99_ns"] <= stats["max_ns"], f"{what}: {lock}")
    for deadlock in (one for one in objects if one["type"] == "deadlock"):
        edges = deadlock["threads"]
        equal([edge["holder"] for edge in edges], [edge["thread"] for edge in edges[1:] + edges[:1]], what)


def test_anything():
    for seed in range(40):
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "trace")
            write_anything(path, seed)
            check_numbers(answer(path), f"seed {seed}")
            text(path)


def test_changed_bytes():
    """A trace with changed bytes gives an answer or an error."""
    for seed in range(40):
        chance = random.Random(seed)
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "trace")
            write_anything(path, seed, 600)
            name = os.path.join(path, chance.choice(["metadata", "stream_0", "stream_0"]))
            with open(name, "r+b") as file:
                content = bytearray(file.read())
                for _ in range(1 + chance.randrange(20)):
                    content[chance.randrange(len(content))] = chance.randrange(256)
                file.seek(0)
                file.write(content)
            for options in ([], ["--json"]):
                done = subprocess.run([LOCKS, path, *options], capture_output=True, check=False, timeout=60)
                true(done.returncode in (0, 1), f"seed {seed}: {done}")
                true(done.returncode or done.stdout, f"seed {seed}: {done}")


run_tests(globals())
