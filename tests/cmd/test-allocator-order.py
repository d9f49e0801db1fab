# SPDX-License-Identifier: MIT
"""`side leaks -p` records the malloc() that the dynamic linker has selected, if several libraries have one.

usage: test-allocator-order.py SIDE PROGRAM ALLOCATOR
"""
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish
from leaks import Answer, find_library, run
from waiting import wait_until

side, program, allocator = (os.path.abspath(a) for a in sys.argv[1:])
work = tempfile.TemporaryDirectory(prefix="side-allocator-")
os.environ["TMPDIR"] = work.name
os.environ.pop("LD_PRELOAD", None)


def blocks_of(name, preloaded):
    """Records a program that preloads libraries and has loaded the allocator with dlopen(). Returns the blocks."""
    process = subprocess.Popen([program, "wait", allocator], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=dict(os.environ, LD_PRELOAD=" ".join(preloaded)))

    def write(line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline()

    expect_equal(write("load"), "0\n", name)
    trace = os.path.join(work.name, name)
    recording = subprocess.Popen([side, "leaks", "--json", "-o", trace, "-p", str(process.pid)], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)

    def has_begun():
        expect_equal(write(""), "done\n", name)
        if recording.poll() is not None:
            raise AssertionError(f"{name}: {recording.communicate()}")
        return os.path.isdir(trace) and "probe:malloc" in run("strings", "-a", *metadata(trace)).stdout

    wait_until(has_begun, "the recording of an event")
    for _ in range(5):
        write("")
    recording.send_signal(signal.SIGINT)
    output, errors = recording.communicate(timeout=60)
    expect_equal(recording.returncode, 0, f"{name}: {errors}")
    process.communicate(timeout=60)
    expect_equal(process.returncode, 7, name)
    return Answer(recording, output).of("later_keep")[0] if output else 0


def metadata(trace):
    found = [os.path.join(path, "metadata") for path, _, files in os.walk(trace) if "metadata" in files]
    return found or ["/dev/null"]


def test_order():
    """libc; the preloaded allocator; the first one of two."""
    jemalloc = find_library("libjemalloc.so.2")
    expect(blocks_of("libc", []) >= 5, "libc precedes an allocator that was loaded later")
    expect(blocks_of("preloaded", [allocator]) >= 5, "a preloaded allocator precedes libc")
    if not jemalloc:
        print("no libjemalloc.so.2")
        return
    expect(blocks_of("jemalloc", [jemalloc]) >= 5, "a preloaded allocator precedes one that was loaded later")
    expect(blocks_of("first", [allocator, jemalloc]) >= 5, "the first preloaded allocator")
    expect(blocks_of("second", [jemalloc, allocator]) >= 5, "the other one is the first")


test_order()
finish()
