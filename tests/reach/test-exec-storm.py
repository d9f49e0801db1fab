# SPDX-License-Identifier: MIT
"""Attach on exec with as many programs as the machine can start: none hangs or fails, each is attached to or counted, and the daemon needs
no more memory. A program that is executed as soon as its file exists is attached to.

usage: test-exec-storm.py SIDE LIBRARIES STORM
"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish
from waiting import wait_until
from exec_harness import create, end, execs, path, plain, processes, run, start

storm = os.path.abspath(sys.argv[3])
CALLS, SECONDS = 9, 3
# Descriptors of the helper: one for each of 64 waiting programs, two for each of 16 that it attaches to, and its own.
DESCRIPTORS, MEMORY_KIB = 64 + 2 * 16 + 16, 64 * 1024
CREATIONS = 10


def start_many(program, workers):
    done = subprocess.run([storm, str(SECONDS), str(workers), "3", program, str(CALLS)], capture_output=True, text=True, check=False,
                          timeout=120, env=plain)
    expect_equal(done.returncode, 0, f"the storm: {done.stderr}")
    result = json.loads(done.stdout)
    expect_equal(result["wrong"], 0, f"each program has its exit status: {result}")
    return result


def memory_kib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def counted(state):
    return state["attached"] + state["joined"] + state["failed"]


def test_storm(program, workers):
    before = start_many(program, workers)
    name = f"storm-{workers}"
    create(name, ("counted", program, "counted"))
    result = start_many(program, workers)
    # A helper that the kernel has not let run in time is replaced, and knows nothing of the programs of the former one.
    wait_until(lambda: execs(name).get("restarts") or counted(execs(name)) == result["started"],
               f"each program is counted: {execs(name)} {result}")
    state = execs(name)
    expect(counted(state) <= result["started"], f"no program is counted twice: {state} {result}")
    for process in ("sided", "side-watch-execs"):
        for pid in processes(process):
            used, files = memory_kib(pid), len(os.listdir(f"/proc/{pid}/fd"))
            expect(used < MEMORY_KIB, f"memory of {process}: {used} KiB")
            expect(files <= DESCRIPTORS, f"descriptors of {process}: {files}")
    found = end(name)
    print(f"{workers} at once, {SECONDS} s: {before['started']} without, {result['started']} with attach on exec; {state}")
    for key in ("execute_us", "whole_us"):
        print(f"  {key}: {before[key]} without, {result[key]} with")
    # A program that waits too long runs on, is counted as failed, and can get the probe later.
    partial = [count for count in found.values() if count != CALLS]
    if not state.get("restarts"):
        expect(found and len(partial) <= state["failed"], f"all calls of each program that was attached to: {partial} {state}")
        expect(state["attached"] <= len(found) <= result["started"], f"the recorded programs: {len(found)} {state}")


def test_created(program):
    """A script creates the file and executes it at once."""
    create("created", ("counted", path("made"), "counted"))
    for i in range(CREATIONS):
        start("/bin/sh", "-c", f"cp {program} {path('made')} && {path('made')} {i + 5}; rm {path('made')}", status=0)
        # The program of a helper that has not run in time, on a busy machine, is not counted.
        wait_until(lambda i=i: counted(execs("created")) + execs("created").get("restarts", 0) > i, "the program is counted")
        wait_until(lambda: not execs("created")["watched"], "the file is missing again")
    state, found = execs("created"), sorted(end("created").values())
    wanted = list(range(5, 5 + CREATIONS))
    expect(found == wanted or state.get("restarts") or state["failed"], f"the calls of each program: {found} {state}")
    # Other programs of the directory start as before, also while a file is missing.
    create("missing", ("counted", path("other/missing"), "counted"), ("counted", path("absent"), "counted"))
    expect_equal(start(program, "5").stdout, "5\n", "another program of the directory")
    os.mkdir(path("other"))
    shutil.copy(program, path("other/missing"))
    wait_until(lambda: execs("missing").get("watched"), "a file in a new directory")
    expect_equal(start(path("other/missing"), "6").stdout, "6\n", "a program of the new directory")
    expect_equal(list(end("missing").values()), [6], "its calls")


def test_all(program):
    test_created(program)
    for workers in (4, 80):
        test_storm(program, workers)


finish(skipped=not run(test_all))
