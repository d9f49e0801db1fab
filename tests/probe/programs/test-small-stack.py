#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A hit uses at most 3 KiB of the program's stack, whatever is recorded: on a stack of 4 KiB (small-stack.c)."""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cmd"))
from harness import environment, equal, run_tests, side, true

PROGRAM = os.environ["PROBE_SMALL_STACK"]
MOST = 3072
CALLS = 50
OPTIONS = [
    "", "--exit", "--context vtid,vpid,procname,ip,cpu_id", "--exit --context vtid,vpid,procname,ip", "--context regs", "--context backtrace",
    "--exit --context backtrace,regs,vtid", "--arg u64:a:%rdi", "--arg string:text:%rsi --context vtid",
    "--arg u64:a:%rdi --arg string:text:%rsi --exit --context backtrace,procname", "--no-uprobe",
]


def test_small_stack():
    for options in OPTIONS:
        with tempfile.TemporaryDirectory() as directory:
            # The loader's own search for functions takes as much as a hit.
            done = side("trace", "--force", "-o", directory, "-c", PROGRAM, "--function", "small_leaf", *options.split(),
                        env=environment(LD_BIND_NOW="1"))
            equal((done.out, done.status), (f"{sum(range(1, CALLS + 1))}\n", 0), f"{options}: {done.err}")
            used = re.search(r"^used (\d+)$", done.err, re.M)
            true(used and int(used[1]) <= MOST, f"{options}: {done.err}")
            true(re.search(rf"\b{CALLS * (1 + ('--exit' in options))} events", done.err), f"{options}: {done.err}")


run_tests(globals())
