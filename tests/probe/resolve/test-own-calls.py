#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Calls that side makes in a program are not recorded as the program's. The program's source gives its numbers of calls.

usage: test-own-calls.py [TEST...]
"""
import atexit
import collections
import os
import re
import shutil
import signal
import subprocess
import tempfile

from harness import *

FOLDER = tempfile.mkdtemp()
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", LANG="C.UTF-8", SIDE_TIMEOUT_FACTOR="30")
PROGRAM = FOLDER + "/raw-calls"
# Each is called once in a round of the program.
CALLED = ("malloc", "free", "pthread_mutex_lock", "pthread_mutex_unlock", "read", "write", "poll")
# The program does not call them.
OTHERS = ("calloc", "mmap", "pthread_create", "pwrite", "fgets")
# The loader calls them at the end of every program, as gdb shows.
AT_END = ("pthread_mutex_lock", "pthread_mutex_unlock")
ROUNDS, THREADS = 25, 4
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
atexit.register(end_daemon, ENV)
subprocess.run(["gcc", "-O1", "-g", "-pthread", os.environ["SOURCES"] + "/raw-calls.c", "-o", PROGRAM], check=True)


def functions(names, *more):
    return [word for name in names for word in ("--function", f"libc:{name}", *more)]


def recorded(trace):
    """{event: number of records}, as babeltrace2 reads them; empty if nothing was recorded."""
    if not any("metadata" in files for _, _, files in os.walk(trace)):
        return {}
    text = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=True).stdout
    return dict(collections.Counter(re.findall(r" probe:(\w+): ", text)))


class Program:
    """Runs until the end of a `with`."""

    def __init__(self, *command, **more):
        self.process = subprocess.Popen([*command] or [PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)
        self.pid = str(self.process.pid)

    def __enter__(self):
        self.work(0)
        return self

    def __exit__(self, *error):
        self.process.stdin.close()
        equal(self.process.wait(timeout=60), 0)
        self.process.stdout.close()

    def work(self, rounds, threads=0):
        self.process.stdin.write(f"{rounds} {threads}\n".encode())
        self.process.stdin.flush()
        equal(self.process.stdout.read(1), b"\n")


class Tracer:
    """`side trace -p` of a program, from the time when the probes are set until the end of a `with`; then `counts`."""
    number = 0

    def __init__(self, program, *arguments):
        Tracer.number += 1
        self.trace = f"{FOLDER}/trace-{Tracer.number}"
        self.process = subprocess.Popen([SIDE, "trace", "-p", program.pid, "-o", self.trace, *arguments], env=ENV,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        self.text = ""
        # Each function has its own line, printed when its probe is set.
        while not re.search(r"^side: \S+ is set in process", self.text, re.M):
            line = self.process.stderr.readline()
            true(line, self.text)
            self.text += line
        return self

    def __exit__(self, *error):
        self.process.send_signal(signal.SIGINT)
        self.text += self.process.stderr.read()
        equal(self.process.wait(timeout=60), 0, self.text)
        true("lost" not in self.text, self.text)
        self.counts = recorded(self.trace)


def expected(rounds, *suffixes):
    return {name + suffix: rounds for name in CALLED for suffix in ("", *suffixes) if rounds}


def test_program_without_calls():
    """Attached for the first time and again, by entries, with returns; the whole library."""
    with Program() as program:
        for arguments in ([], ["--exit"]):
            with Tracer(program, *arguments, *functions(CALLED + OTHERS)) as tracer:
                pass
            equal(tracer.counts, {}, str(arguments))
        with Tracer(program, "--function", "libc:*") as tracer:
            pass
        equal(tracer.counts, {})


def test_exact_counts():
    with Program() as program:
        for rounds in (ROUNDS, 1):
            with Tracer(program, *functions(CALLED + OTHERS)) as tracer:
                program.work(rounds)
            equal(tracer.counts, expected(rounds))
            with Tracer(program, "--exit", *functions(CALLED)) as tracer:
                program.work(rounds)
            equal(tracer.counts, expected(rounds, "_return"))


def test_threads_of_the_program():
    """They get the stacks and the numbers of side's threads that have exited; all their own calls are recorded."""
    with Program() as program:
        for _ in range(3):
            with Tracer(program, "--exit", "--function", "own_function", "--function", "libc:read") as tracer:
                program.work(ROUNDS, THREADS)
                program.work(ROUNDS)
            equal(tracer.counts, {name + end: ROUNDS * (THREADS + 1) for name in ("own_function", "read") for end in ("", "_return")})


def test_program_that_side_starts():
    """Its calls before main() are the loader's and libc's; those of the agent, which is started there, are not recorded."""
    for number, arguments in enumerate(([], ["--exit"])):
        trace = f"{FOLDER}/started-{number}"
        subprocess.run([SIDE, "trace", "-o", trace, "-c", PROGRAM, *arguments, *functions(CALLED + OTHERS)], env=ENV, check=True,
                       input=f"{ROUNDS}\n".encode(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        found = recorded(trace)
        for name in AT_END:
            for suffix in ("", "_return") if arguments else ("",):
                found[name + suffix] -= 1
        equal(found, expected(ROUNDS, *(["_return"] if arguments else [])))


def test_sessions():
    """The control thread joins and leaves sessions while probes of other sessions are set."""
    def good(*arguments):
        done = side(*arguments, env=ENV)
        equal((arguments, done.status), (arguments, 0), done.err)

    good("create", "first", "-o", FOLDER + "/first")
    for name in CALLED + OTHERS:
        good("enable-event", "-s", "first", "--exe", PROGRAM, *functions([name]))
    good("start", "first")
    with Program() as program:
        good("attach", "--daemon", "-p", program.pid)
        program.work(ROUNDS)
        good("create", "second", "-o", FOLDER + "/second")
        good("enable-event", "-s", "second", "--exe", PROGRAM, *functions(["free"], "--exit"))
        good("start", "second")
        program.work(ROUNDS)
        good("destroy", "second")
        good("detach", "-p", program.pid)
    good("destroy", "first")
    equal(recorded(FOLDER + "/first"), expected(2 * ROUNDS))
    equal(recorded(FOLDER + "/second"), {"free": ROUNDS, "free_return": ROUNDS})


def test_wrapped_libraries():
    """Calls that libc makes for a thread of side do not belong to the program either."""
    trace = FOLDER + "/wrapped"
    with Program(SIDE, "record", "-q", "-w", "libc", "-w", "pthread", "-o", trace, "--", PROGRAM, env=ENV) as program:
        program.work(ROUNDS)
    text = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=True).stdout
    found = collections.Counter(re.findall(r" (?:libc|pthread):(\w+): ", text))
    equal(dict(found), {**expected(ROUNDS), "pthread_mutex_lock_req": ROUNDS}, text[:1000])


run_tests(globals())
