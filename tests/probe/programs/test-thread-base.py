#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Hits while the program uses another base of thread-local memory do not access that memory, and are counted as lost
(thread-base.c). Hits with the C library's base, before and after, are recorded.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cmd"))
from harness import equal, run_tests, side, true

PROGRAM = os.environ["PROBE_THREAD_BASE"]
CALLS = 5


def same(argument, *options):
    plain = subprocess.run([PROGRAM, argument], stdout=subprocess.PIPE, check=True, text=True).stdout
    equal(plain.count("changed"), 0, "without probes")
    with tempfile.TemporaryDirectory() as directory:
        done = side("trace", "--force", "-o", directory, "-c", f"{PROGRAM} {argument}", *options)
        equal((done.out, done.status), (plain, 0), f"{argument} {options}: {done.err}")
        viewed = side("view", "--flat", "--color=never", directory)
        names = re.findall(r"^\[[^\]]*\] .*? \S*:(\S+): ", viewed.out, re.M)
        own = CALLS * plain.count("own:")
        equal(sum(not name.endswith("_return") for name in names), own, f"{argument} {options}: {done.err}")
        if "--exit" in options:
            equal(names.count("called_return"), own, f"{argument} {options}: returns")
        true(re.search(r"\blost\b|\bmissed\b|not recorded|not seen", done.err + viewed.err), f"that hits are lost is reported: {done.err}")


def test_begins():
    same("early", "--function", "called")
    same("late", "--function", "called")


def test_exits():
    same("early", "--function", "called", "--exit")
    same("late", "--function", "called", "--exit")


def test_inside():
    for where in (4, 5, 7):
        same("early", "--probe", f"called+{where}", "--no-uprobe")
        same("late", "--probe", f"called+{where}", "--no-uprobe")


run_tests(globals())
