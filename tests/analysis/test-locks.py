# SPDX-License-Identifier: MIT
"""The answer about locks agrees with programs that know their contention.

usage: test-locks.py SIDE LOCKS SEEDED-LOCKS [TEST...]
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

from checks import equal, run_tests, true

SIDE, LOCKS, SEEDED = sys.argv[1:4]
del sys.argv[1:4]  # What follows are names of tests.
KINDS = {"mutex": "mutex", "member": "mutex", "timed": "mutex", "write": "rwlock", "read-behind-write": "rwlock",
         "write-behind-read": "rwlock", "spin": "spin lock", "semaphore": "semaphore"}


NAMES = {"mutex": "seeded_mutex", "member": "seeded_member.guard", "timed": "seeded_mutex", "write": "seeded_rwlock",
         "read-behind-write": "seeded_rwlock", "write-behind-read": "seeded_rwlock", "spin": "seeded_spin", "semaphore": "seeded_semaphore"}


def record(work, scenario):
    """Records a scenario. Returns the trace and the numbers that the program printed."""
    trace = os.path.join(work, scenario)
    done = subprocess.run([SIDE, "record", "-w", "pthread", "--context", "vtid", "-o", trace, "--", SEEDED, scenario],
                          capture_output=True, text=True, check=False, timeout=60)
    equal(done.returncode, 0, done.stderr)
    return trace, [int(word) for word in done.stdout.split()]


def answer(trace):
    printed = subprocess.run([LOCKS, trace, "--json"], capture_output=True, text=True, check=True, timeout=60).stdout
    objects = [json.loads(line) for line in printed.splitlines()]
    true(all(one["schema"] == 1 for one in objects), printed)
    equal(objects[0]["type"], "locks", printed)
    return objects[0], {kind: [one for one in objects if one["type"] == kind] for kind in ("lock", "deadlock", "waiting")}


def functions(stack):
    return [frame.get("function") for frame in stack]


def test_contention():
    for scenario, kind in KINDS.items():
        with tempfile.TemporaryDirectory() as work:
            trace, (attempts, contended, at_least, at_most) = record(work, scenario)
            overview, found = answer(trace)
            locks = [one for one in found["lock"] if one["kind"] == kind]
            equal(len(locks), 1, f"{scenario}: {locks}")
            lock = locks[0]
            equal((lock.get("name"), lock.get("name_offset")), (NAMES[scenario], None), lock)
            equal((lock["attempts"], lock["contended"], lock["wait"]["count"]), (attempts, contended, contended), scenario)
            # The clocks of both agree to a thousandth. An attempt without contention can be long too, if the thread is preempted within it. The
            # answer calls that unexplained, and the program does not count it.
            true(at_least * 0.999 <= lock["wait"]["total_ns"] <= at_most * 1.001, f"{scenario}: {at_least} {lock} {at_most}")
            equal(lock["wait"]["total_ns"], lock["waited_ns"] - lock["unexplained_ns"], scenario)
            true(lock["attempts_ns"] >= lock["waited_ns"], scenario)
            if kind != "semaphore":
                equal(lock["hold"]["count"], attempts, scenario)
                true(lock["hold"]["total_ns"] >= at_least * 0.999, scenario)
            equal((overview["deadlocks"], overview["lost"], overview["threads"]), (0, 0, 2), scenario)
            stacks = lock["stacks"]
            equal(sum(stack["count"] for stack in stacks), contended, scenario)
            true(all("waiter" in stack for stack in stacks), scenario)
            if kind != "semaphore":
                true(all("holder" in stack for stack in stacks), scenario)
            # An independent count of the attempts.
            printed = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=True).stdout
            taken = [line for line in printed.splitlines() if kind.split()[0][:3] in line and "result = 0" in line]
            equal(len([line for line in taken if "_init" not in line and "_create" not in line]), attempts, scenario)


def test_condition():
    with tempfile.TemporaryDirectory() as work:
        trace, (attempts, _, at_least, at_most) = record(work, "condition")
        _, found = answer(trace)
        condition = next(one for one in found["lock"] if one["kind"] == "condition")
        equal(condition["attempts"], attempts)
        equal(condition["wait"]["total_ns"], condition["waited_ns"] - condition["unexplained_ns"])
        true(at_least * 0.999 <= condition["wait"]["total_ns"] <= at_most * 1.001, f"{at_least} {condition} {at_most}")
        equal(functions(condition["stacks"][0]["waiter"])[0], "await_condition")
        equal(functions(condition["stacks"][0]["waker"])[0], "condition")
        mutex = next(one for one in found["lock"] if one["kind"] == "mutex")
        # The waiting thread holds the mutex before and after it waits, not meanwhile.
        equal((mutex["attempts"], mutex["contended"], mutex["hold"]["count"]), (2, 0, 3))


def test_no_contention():
    with tempfile.TemporaryDirectory() as work:
        _, found = answer(record(work, "readers")[0])
        rwlock = next(one for one in found["lock"] if one["kind"] == "rwlock")
        equal((rwlock["attempts"], rwlock["contended"], rwlock["hold"]["count"]), (2, 0, 2))


def test_failures():
    with tempfile.TemporaryDirectory() as work:
        _, found = answer(record(work, "failures")[0])
        held, recursive = [one for one in found["lock"] if one["kind"] == "mutex"]
        equal((held["attempts"], held["contended"], held["busy"], held["timeouts"]), (3, 2, 1, 1))
        equal((held["wait"]["count"], held["hold"]["count"]), (1, 1))
        true(held["waited_ns"] >= 19_000_000, held)
        equal((recursive["attempts"], recursive["contended"], recursive["hold"]["count"]), (3, 0, 1))
        equal(functions(recursive["initialized"])[0], "failures")


def test_objects():
    with tempfile.TemporaryDirectory() as work:
        _, found = answer(record(work, "objects")[0])
        mutexes = [one for one in found["lock"] if one["kind"] == "mutex"]
        # Initialised 50 times at one location, and 400 times at another one.
        equal(sorted(one["attempts"] for one in mutexes)[-2:], [50, 400 - 256])
        equal(len(mutexes), 1 + 256 + 1)
        equal([one["locks"] for one in mutexes if "locks" in one], [400 - 256])


def test_fork():
    with tempfile.TemporaryDirectory() as work:
        overview, found = answer(record(work, "fork")[0])
        equal([(one["attempts"], one["contended"], one["hold"]["count"]) for one in found["lock"]], [(1, 0, 1), (1, 0, 1)])
        # The child unlocks what its parent has locked.
        equal((overview["unknown_ends"], overview["deadlocks"], found["waiting"]), (1, 0, []))


def hang(work, scenario, lines):
    """Records a program that hangs, until it has printed so many lines."""
    trace = os.path.join(work, scenario)
    recorder = subprocess.Popen([SIDE, "record", "-w", "pthread", "--context", "vtid,thread_name", "-o", trace, "--", SEEDED, scenario],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with recorder:
        for line in lines:
            equal(recorder.stdout.readline(), line + "\n", scenario)
        recorder.terminate()
        recorder.communicate(timeout=60)
    return trace


def test_deadlock():
    for count in (2, 3):
        with tempfile.TemporaryDirectory() as work:
            trace = hang(work, f"deadlock-{count}", ["deadlock"])
            overview, found = answer(trace)
            equal((overview["deadlocks"], len(found["deadlock"])), (1, 1), found)
            edges = found["deadlock"][0]["threads"]
            equal(len(edges), count)
            equal({edge["thread"] for edge in edges}, {edge["holder"] for edge in edges})
            equal(len({edge["address"] for edge in edges}), count)
            for edge, following in zip(edges, edges[1:] + edges[:1]):
                equal(edge["holder"], following["thread"])
                equal(functions(edge["waiter_stack"])[0], "hold_and_wait")
                equal(functions(edge["holder_stack"])[0], "hold_and_wait")
                true(edge["waiter_stack"] != edge["holder_stack"], edge)
                true(edge["held_since_ns"] < edge["since_ns"], edge)
                true(edge["thread_name"].startswith("analysis-seeded"), edge)
            # They wait at the end, too.
            equal({one["thread"] for one in found["waiting"]}, {edge["thread"] for edge in edges})
            text = subprocess.run([LOCKS, trace], capture_output=True, text=True, check=True).stdout
            true(f"DEADLOCK of {count} threads of analysis-seeded" in text, text)
            equal(text.split("\nLOCK ")[0].count("    waits at  hold_and_wait+0x"), count, text)


run_tests(globals())
