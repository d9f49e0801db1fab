# SPDX-License-Identifier: MIT
"""Stacks name the functions of libraries that a program loads later, also after the library is unloaded or replaced.

usage: test-later-libraries.py SIDE PROGRAM PLUGIN...
"""
import collections
import json
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish
from later import Waiting
from leaks import Answer, run

side, program, *plugins = (os.path.abspath(a) for a in sys.argv[1:])
FUNCTIONS = {"plugin_one": 101, "plugin_two": 202, "plugin_three": 303}  # and the size of each block
CALLS = 5
ROUNDS = 4
work = tempfile.TemporaryDirectory(prefix="side-later-")
os.environ["TMPDIR"] = work.name


def path_of(name):
    return os.path.join(work.name, name)


def expect_stacks(answer, calls, what):
    """Each plugin has its blocks, and below it are the frames of the program."""
    wanted = {function: (calls, calls * size) for function, size in FUNCTIONS.items()}
    expect_equal({function: answer.of(function) for function in FUNCTIONS}, wanted, f"{what}: {answer.summary}")
    for leak in answer.leaks:
        names = answer.functions(leak)
        if "later_run" in names:
            expect_equal((names[0], names[2:4], names[-4:][0:1] != [None]), ("later_keep", ["later_run", "load"], True), what)
            expect(names[1] in FUNCTIONS and "main" in names, f"{what}: {names}")
    expect_equal(answer.summary["exact"], True, what)


def test_kept():
    """The plugins stay loaded."""
    answer = Answer(run(side, "leaks", "--json", "-o", path_of("kept"), "--", program, "keep", *plugins), skip=("0",))
    expect_stacks(answer, CALLS, "kept")
    expect_stacks(Answer(run(side, "leaks", "--json", path_of("kept"))), CALLS, "the recording")
    rows = [json.loads(line) for line in run(side, "flame", "--json", "--weight", "bytes", path_of("kept")).stdout.splitlines()]
    for function, size in FUNCTIONS.items():
        totals = [row["total"] for row in rows if row.get("function") == function]
        expect_equal(totals, [CALLS * size], f"flame: {function}")


def test_closed():
    """A stack has the name of the function that was at its address at the time."""
    done = run(side, "leaks", "--json", "-o", path_of("closed"), "--", program, "close", *plugins)
    reused = next(line for line in done.stdout.splitlines() if not line.startswith("{"))
    expect(int(reused) > 0, f"no plugin had the address of the one before: {reused}")
    expect_stacks(Answer(done, skip=(reused,)), CALLS * ROUNDS, "closed")


def addr2line(file, address):
    return run("addr2line", "-f", "-e", file, hex(address)).stdout.splitlines()[0]


def test_record():
    """`record --symbols`: view, report and export; addr2line finds the same functions at the recorded addresses."""
    trace = path_of("recorded")
    done = run(side, "record", "-q", "--symbols", "-w", "libc", "--context", "backtrace", "-e", "libc:malloc", "-o", trace,
               program, "close", *plugins)
    expect_equal(done.returncode, 7, done.stderr)
    mapped, seen = {}, collections.Counter()
    for line in run(side, "view", "--json", "--symbols", trace).stdout.splitlines():
        event = json.loads(line)
        name, fields = event.get("event"), event.get("fields", {})
        if name == "side:library_load":
            mapped[fields["base"]] = fields["path"]
        elif name == "side:library_unload":
            expect_equal(mapped.pop(fields["base"]), fields["path"], "unload")
        elif name == "libc:malloc" and fields["size"] in FUNCTIONS.values():
            frame = event["stream_context"]["backtrace"][1]
            base = max(base for base in mapped if base <= frame["value"])
            expected = addr2line(mapped[base], frame["value"] - base - 1)
            expect_equal((frame["symbol"]["function"], FUNCTIONS[expected]), (expected, fields["size"]), f"view: {frame}")
            seen[expected] += 1
    expect_equal(seen, {function: CALLS * ROUNDS for function in FUNCTIONS}, "events")
    folded = run(side, "export", "--to", "folded", "--weight", "count", "-o", "-", trace)
    report = run(side, "report", "--json", "--by", "stack", trace).stdout
    for function in FUNCTIONS:
        counts = [int(line.split()[-1]) for line in folded.stdout.splitlines() if f";{function};" in line]
        expect_equal(sum(counts), CALLS * ROUNDS, f"folded: {function} {folded.stderr}")
        expect(f'"{function}"' in report, f"report: {function}")
    mallocs = run(side, "view", "--json", trace).stdout.count('"libc:')
    total = sum(int(line.split()[-1]) for line in folded.stdout.splitlines())
    expect_equal(total, mallocs, "the events of the tracer are not in the graph")


def test_locks():
    """The stacks of a lock in a plugin."""
    done = run(side, "locks", "--json", "--", program, "keep", *plugins)
    expect_equal(done.returncode, 7, done.stderr)
    for function in FUNCTIONS:
        expect(f'"{function}"' in done.stdout, f"locks: {function} {done.stdout}")


def record_running(verb, trace, event):
    """Records the program from before it loads the plugins. Returns the verb's process and output."""
    waiting = Waiting(program, *plugins)
    waiting.record(side, *verb, "-o", trace, is_recorded=lambda: event in run(side, "view", "--json", trace).stdout)
    expect_equal(waiting.write("load"), "0\n", "plugins at one address")
    return waiting.end("\n")


def test_running():
    """With -p, before the plugins are loaded."""
    recording, output = record_running(["leaks", "--json"], path_of("running"), "probe:malloc_return")
    expect_stacks(Answer(recording, output), CALLS, "leaks -p")
    verb = ["trace", "-q", "--symbols", "--function", "libc:malloc", "--arg", "u64:size:%rdi", "--arg", "$backtrace"]
    record_running(verb, path_of("traced"), "probe:malloc")
    text = run(side, "view", "--symbols", path_of("traced")).stdout
    for function, size in FUNCTIONS.items():
        found = re.findall(rf"size = {size}\b.*\b{function}\+", text)
        expect_equal(len(found), CALLS, f"trace -p: {function}")
    refused = run(side, "trace", "--symbols", "--global", "--exe", program, "--function", "main")
    expect(refused.returncode == 2 and "`--symbols` with `--global`" in refused.stderr, refused)


def test_python():
    """Extension modules: no frame of a stack is an address without a name or a file."""
    python = shutil.which("python3")
    script = "import sqlite3, _ssl, _json, _decimal; sqlite3.connect(':memory:').execute('create table t(a)')"
    done = run(side, "leaks", "--json", "--frames", "64", "--", python, "-c", script)
    answer = Answer(done)
    expect_equal(done.returncode, 0, done.stderr)
    modules = collections.Counter(os.path.basename(frame.get("module", "")).split(".")[0]
                                  for leak in answer.leaks for frame in leak["stack"])
    expect_equal(modules[""], 0, f"frames without a module: {modules}")
    if os.path.exists(run(python, "-c", "import _decimal; print(_decimal.__file__)").stdout.strip()):
        expect(any(name.startswith("_decimal") for name in modules), f"_decimal: {modules}")


test_kept()
test_closed()
test_record()
test_locks()
test_running()
test_python()
finish()
