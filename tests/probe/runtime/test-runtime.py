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


KINDS = {"libc": "by the C library's clone()", "inner": "on a stack within its parent's frame", "raw": "by a bare system call",
         "files": "with the descriptors of its parent", "tls": "with a copy of its parent's thread-local memory",
         "vfork": "in the place of its parent", "threads": "beside a thread and beside main()", "stacks": "beside coroutines and signals",
         "copied": "a copy of the memory, of which the C library does not know"}


def test_processes():
    """A process in the memory of another one: results are right, and each call is in the trace or among the losses."""
    program = compiled("processes")
    for kind, what in KINDS.items():
        for options in ([], ["--exit"]):
            for _ in range(20 if LONG else 1):
                words = ["--function", "deep", *options, "--function", "leaf", *options]
                done, counts = traced([program, kind], *words)
                equal(done.status, 0, f"{what}: {done.out} {done.err}")
                word, own, others = done.out.split()
                equal(word, "right", what)
                equal((counts["deep"], counts["leaf"]), (int(own), int(own)), what)
                if options:
                    equal((counts["deep_return"], counts["leaf_return"]), (int(own), int(own)), what)
                lost = re.findall(r"probe:(\w+)  ([\d,]+) \(process in another one's memory\)", done.err)
                names = ["deep", "leaf"] + ["deep_return", "leaf_return"] * bool(options)
                wanted = sorted((name, int(others)) for name in names if int(others))
                equal(sorted((name, int(count.replace(",", ""))) for name, count in lost), wanted, what)


def test_spawn():
    """What posix_spawn() executes in the memory of its parent, in a program with threads that never pause."""
    program = compiled("spawn")
    done, counts = traced([program, "300" if LONG else "20"], "--function", "libc:sigaction", "--function", "libc:execve", "--function", "work")
    equal(done.status, 0, done.err)
    equal(counts["work"], int(done.out), "calls of work()")


if __name__ == "__main__":
    run_tests(globals())
