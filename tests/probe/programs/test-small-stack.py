#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How much of the program's stack a hit uses, for each form of recording: on stacks of coroutines, and in signal
handlers on alternate stacks (small-stack.c).
"""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cmd"))
from harness import environment, equal, run_tests, side, true

PROGRAM = os.environ["PROBE_SMALL_STACK"]
CALLS = 50
ALL_CONTEXTS = "vtid,vpid,procname,thread_name,ip,cpu_id,uid,gid,net_ns,pid_ns,mnt_ns,user_ns,cgroup,regs,backtrace"
MOST = 1024  # bytes of the stack
# The forms of recording.
CHOICES = [
    "", "--exit", "--context vtid,vpid,procname,ip,cpu_id", "--exit --context vtid,vpid,procname,ip", "--context regs", "--context backtrace",
    "--exit --context backtrace,regs,vtid", "--arg u64:a:%rdi", "--arg string:text:%rsi --context vtid",
    "--arg u64:a:%rdi --arg string:text:%rsi --exit --context backtrace,procname", "--no-uprobe", f"--context {ALL_CONTEXTS}",
    f"--exit --arg string:text:%rsi --context {ALL_CONTEXTS}", "--exit --context perf:thread:task-clock,perf:thread:page-faults",
    "--arg u64:a:%rdi --filter a>=0", "--arg u64:a:%rdi --filter a>=0&&(a!=100||a==3) --context backtrace,vtid",
    "--arg u64:a:%rdi --arg string:text:%rsi --filter text==\"a*\"&&a<100 --context backtrace,cgroup",
    f"--exit --arg string:text:%rsi --filter text==\"*é*\"||text==\"a*\" --context {ALL_CONTEXTS}",
    "--arg string:text:%rsi --filter len(text)+1>0 --context backtrace", "--arg u64:a:%rdi --filter a+1>0",
    "--arg u64:a:%rdi --filter a*1.5>=0.0&&a/3<100 --context backtrace",
    # As many values at a time as a filter can hold.
    "--arg u64:a:%rdi --filter " + "a+(" * 14 + "a+1" + ")" * 14 + ">0",
    "--arg u64:a:%rdi --filter $ctx.vtid+a*3>(a-1)-$ctx.cpu_id --context backtrace",
    "--arg string:text:%rsi --filter $ctx.procname==\"*é*\"||$ctx.thread_name!=\"*x*\" --context backtrace",
    "--arg u64:a:%rdi --arg string:text:%rsi --filter (text==\"a*\"||text!=\"*b*\")&&((a+1)*(a+2))%7<8&&$ctx.vtid>0 --context backtrace,procname",
]


def traced(program, options):
    with tempfile.TemporaryDirectory() as directory:
        # The loader's symbol lookup uses as much stack as a hit.
        done = side("trace", "--force", "-o", directory, "-c", program, "--function", "small_leaf", *options.split(),
                    env=environment(LD_BIND_NOW="1"))
    equal((done.out, done.status), (f"{sum(range(1, CALLS // 2 + 1)) * 2}\n", 0), f"{options}: {done.err}")
    used, handlers = (re.search(rf"^{name} (\d+)$", done.err, re.M) for name in ("used", "handlers"))
    true(used and int(used[1]) <= MOST, f"{options}: {done.err}")
    calls = CALLS + int(handlers[1])
    # The filters select all calls, and therefore their returns.
    each = 2 if "--exit" in options else 1
    true(re.search(rf"\b{calls * each} events", done.err), f"{options}: {done.err}")
    return int(handlers[1])


def traced_with_all(program):
    return [traced(program, options) for options in CHOICES]


def test_coroutines():
    traced_with_all(PROGRAM)


def test_handlers_of_signals():
    true(min(traced_with_all(f"{PROGRAM} signals")) > 0, "no handler has called the function")


run_tests(globals())
