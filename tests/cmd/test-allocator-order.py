# SPDX-License-Identifier: MIT
"""`side leaks -p` records the malloc() that the dynamic linker has selected, if several libraries have one.

usage: test-allocator-order.py SIDE PROGRAM ALLOCATOR
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish
from later import Waiting
from leaks import Answer, find_library, run

side, program, allocator = (os.path.abspath(a) for a in sys.argv[1:])
work = tempfile.TemporaryDirectory(prefix="side-allocator-")
os.environ["TMPDIR"] = work.name
os.environ.pop("LD_PRELOAD", None)


def blocks_of(name, preloaded):
    """Records a program that preloads libraries and has loaded the allocator with dlopen(). Returns the blocks."""
    waiting = Waiting(program, allocator, env=dict(os.environ, LD_PRELOAD=" ".join(preloaded)))
    expect_equal(waiting.write("load"), "0\n", name)
    trace = os.path.join(work.name, name)
    waiting.record(side, "leaks", "--json", "-o", trace,
                   is_recorded=lambda: os.path.isdir(trace) and "probe:malloc" in run("strings", "-a", *metadata(trace)).stdout)
    for _ in range(5):
        waiting.write("")
    recording, output = waiting.end()
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
