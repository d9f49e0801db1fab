#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Probes where a thread is not what the C library makes of one: threads that have only begun, and processes that share the memory of another
one. The programs check their own results; counts are compared with babeltrace2's.
"""
import atexit
import collections
import os
import re
import shutil
import subprocess
import tempfile

from harness import *

FOLDER = tempfile.mkdtemp()
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", LANG="C.UTF-8")
SOURCES = os.path.dirname(os.path.realpath(__file__))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def compiled(name, *options):
    program = f"{FOLDER}/{name}{len(os.listdir(FOLDER))}"
    subprocess.run(["gcc", "-O2", "-pthread", *options, f"{SOURCES}/{name}.c", "-o", program], check=True)
    return program


def traced(words, *options, verb=("trace", "-c")):
    """Runs a program under side: its result, what side says of losses, and the number of events by name, as babeltrace2 counts them."""
    trace = tempfile.mkdtemp(dir=FOLDER)
    done = side(verb[0], "-o", trace, "--force", *verb[1:], " ".join(words), *options, "--buffer-size", "32M", env=ENV, timeout=300)
    read = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=False)
    equal(read.returncode, 0, read.stderr[-1000:])
    counts = collections.Counter(re.findall(r"^\[.*?\] (?:\(\S+\) )?(?:\S+ )?probe:(\w+):", read.stdout, re.M))
    shutil.rmtree(trace)
    return done, counts


def test_threads_begin():
    """Functions that a thread calls before and after the C library has registered its area of restartable sequences."""
    program = compiled("threads")
    for options in (["--function", "libc:__ctype_init", "--function", "work"],
                    ["--function", "libc:*", "--function", "work"],
                    ["--function", "libc:__ctype_init", "--function", "work", "--context", "cpu_id,vtid"],
                    ["--function", "libc:__ctype_init", "--function", "work", "--exit"]):
        done, counts = traced([program, "2000" if LONG else "150"], *options)
        equal(done.status, 0, done.err)
        true("lost" not in done.err, done.err)
        calls, threads = map(int, done.out.split())
        true(calls > threads, "it has worked")
        equal(counts["work"], calls, "calls of work()")
        if "libc:__ctype_init" in options:
            equal(counts["__ctype_init"], threads, "threads that began")


if __name__ == "__main__":
    run_tests(globals())
