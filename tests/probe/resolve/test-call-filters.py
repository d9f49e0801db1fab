#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Filters of probes with returns: the return of a call is recorded if the filter selected its entry. The program's source gives the numbers.

usage: test-call-filters.py [TEST...]
"""
import atexit
import os
import re
import shutil
import subprocess
import tempfile

from harness import *

FOLDER = tempfile.mkdtemp()
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", LANG="C.UTF-8", SIDE_TIMEOUT_FACTOR="30")
ROUNDS, THREADS = 50, 4
ALL = range(ROUNDS)
PROGRAM = FOLDER + "/chosen"
WORK = ("--function", "chosen_work", "--exit", "--arg", "number")
traces = 0
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
atexit.register(end_daemon, ENV)
subprocess.run(["gcc", "-w", "-g", "-O1", "-pthread", os.environ["SOURCES"] + "/chosen.c", "-o", PROGRAM], check=True)


def good(*arguments):
    done = side(*arguments, env=ENV)
    equal((arguments, done.status), (arguments, 0), done.err)
    return done


def output():
    global traces
    traces += 1
    return f"{FOLDER}/trace-{traces}"


def read(trace):
    """{event: [(call, its other number)]}, as babeltrace2 prints them, sorted by calls."""
    done = subprocess.run(["babeltrace2", "--names", "payload", trace], capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        name = re.search(r" probe:(\w+): ", line)
        # Also `side:lost`, see test_more_probes_than_marks().
        if not name:
            continue
        name = name[1]
        value = re.search(r"\b(?:return_value|number|depth) = (-?\d+)", unguarded(line))
        found.setdefault(name, []).append((int(re.search(r"\bcall = (\d+)", line)[1]), int(value[1])))
    return {name: sorted(calls) for name, calls in found.items()}


def result(number):
    return -number if number % 2 else number


def check(found, entries, returns, name="chosen_work", times=THREADS):
    """Checks the numbers of those calls, and their results, in each thread; and the pairs of events with both."""
    calls, exits = found.pop(name, []), found.pop(name + "_return", [])
    equal(sorted(value for _, value in calls), sorted([*entries] * times))
    equal(sorted(value for _, value in exits), sorted(result(number) for number in [*returns] * times))
    true(all(call for call, _ in calls), "each call has a number")
    ends = dict(exits)
    equal(len(ends), len(exits), "a call returns once")
    for call, number in calls:
        if call in ends:
            equal(ends[call], result(number))
        else:
            true(number not in returns, f"call {call} of {number} has its return")
    equal(len({call for call, _ in calls} & set(ends)), len({*entries} & {*returns}) * times)


def traced(*arguments):
    trace = output()
    done = good("trace", "-o", trace, "-c", f"{PROGRAM} {ROUNDS}", *arguments)
    true("lost" not in done.err, done.err)
    return read(trace)


# Filter, calls whose entries are recorded, calls whose returns are recorded.
CHOICES = [
    ("number == 7", [7], [7]),
    ("number % 10 == 3", range(3, ROUNDS, 10), range(3, ROUNDS, 10)),
    ("number < 0", [], []),
    # Of the return only.
    ("return_value < 0", [], range(1, ROUNDS, 2)),
    ("duration >= 0", [], ALL),
    # Either event.
    ("number == 2 || return_value == -5", [2], [2, 5]),
    ("number == 2 || return_value == 2", [2], [2]),
    # A field of both events.
    ("call > 0", ALL, ALL),
    ("$ctx.vtid > 0", ALL, ALL),
    ("number == 4 && $ctx.vtid > 0", [4], [4]),
]


def test_program_that_side_starts():
    for expression, entries, returns in CHOICES:
        if not entries and not returns:
            continue
        check(traced(*WORK, "--filter", expression), entries, returns)


def test_fields_of_both():
    """If no event has all fields: an error. The entry's condition suffices to record the other event."""
    done = side("trace", "-q", "-o", output(), "-c", f"{PROGRAM} {ROUNDS}", *WORK, "--filter", "number > 40 && return_value < 0", env=ENV)
    equal(done.status, 1, done.err)
    contains(done.err, "no event of chosen_work has the fields that `--filter number > 40 && return_value < 0` names")
    contains(done.err, "the return with `side view --filter`")
    trace = output()
    good("trace", "-q", "-o", trace, "-c", f"{PROGRAM} {ROUNDS}", *WORK, "--filter", "number > 40")
    shown = good("view", "--flat", trace, "--filter", "return_value < 0").out
    equal(sorted(map(int, re.findall(r"return_value = (-\d+)", shown))), sorted([-49, -47, -45, -43, -41] * THREADS))


def test_contexts_and_large_events():
    """Records that are not made directly in the hit."""
    for more in (("--context", "vtid"), ("--context", "backtrace"), ("--context", "regs"), ("--arg=u64:above:%rsp+64",) * 12):
        check(traced(*WORK, *more, "--filter", "number == 9"), [9], [9])


def test_recursion():
    trace = output()
    good("trace", "-o", trace, "-c", f"{PROGRAM} {ROUNDS}", "--function", "chosen_deep", "--exit", "--arg", "depth", "--filter", "depth == 4")
    found = read(trace)
    # From depths 4 to 9.
    count = THREADS * ROUNDS // 10 * 6
    equal([number for _, number in found["chosen_deep"]], [4] * count)
    equal(found["chosen_deep_return"], found["chosen_deep"])


def test_calls_that_do_not_return():
    """The next calls use the same gates."""
    for remainder in range(3):
        trace = output()
        good("trace", "-o", trace, "-c", f"{PROGRAM} {ROUNDS}", "--function", "chosen_leap", "--exit", "--arg", "number", "--filter",
             f"number % 3 == {remainder}")
        found = read(trace)
        equal(sorted(n for _, n in found["chosen_leap"]), sorted([*range(remainder, ROUNDS, 3)] * THREADS))
        equal(found.get("chosen_leap_return", []), found["chosen_leap"] if remainder else [])


class Program:
    def __init__(self):
        self.process = subprocess.Popen([PROGRAM, str(ROUNDS), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        equal(self.process.stdout.readline(), "ready\n")
        self.pid = str(self.process.pid)

    def go(self):
        self.process.stdin.write("x")
        self.process.stdin.flush()
        equal(self.process.stdout.readline(), "done\n")

    def end(self):
        self.process.stdin.close()
        equal(self.process.wait(timeout=60), 0)


def test_program_that_runs():
    program = Program()
    for expression, entries, returns in CHOICES[:4]:
        trace = output()
        recorder = subprocess.Popen([SIDE, "trace", "-o", trace, "-p", program.pid, *WORK, "--filter", expression], env=ENV,
                                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = ""
        while "ecording" not in said:
            line = recorder.stderr.readline()
            true(line, said)
            said += line
        program.go()
        recorder.send_signal(signal.SIGINT)
        said += recorder.communicate(timeout=60)[1]
        equal(recorder.returncode in (0, 1), True, said)
        check(read(trace) if entries or returns else {}, entries, returns)
    program.end()


def test_sessions():
    """Several sessions with one function, each with its own filter; one filter changes."""
    program, kept = Program(), {}
    for name, arguments in (("seven", ("--filter", "number == 7")), ("odd", ("--filter", "return_value < 0")), ("all", ()),
                        ("many", ("--filter", "number > 7"))):
        kept[name] = output()
        good("create", name, "-o", kept[name])
        good("enable-event", "chosen_work", "-s", name, "--pid", program.pid, *WORK, *arguments)
        good("start", name)
    program.go()
    good("destroy", "seven")
    good("enable-event", "chosen_work", "-s", "many", "--pid", program.pid, *WORK, "--filter", "number < 3")
    program.go()
    for name in ("odd", "all", "many"):
        good("destroy", name)
    program.end()
    check(read(kept["seven"]), [7], [7])
    check(read(kept["odd"]), [], [*range(1, ROUNDS, 2)], times=2 * THREADS)
    check(read(kept["all"]), ALL, ALL, times=2 * THREADS)
    numbers = [*range(8, ROUNDS), 0, 1, 2]
    found = {"chosen_work": [], "chosen_work_return": []}
    for event, calls in read(kept["many"]).items():
        found[event] = calls
    check(found, numbers, numbers)


def test_channels():
    """Channels of one session, each with its own filter on the same probe, of the entry or of the return, or without one."""
    program, kept = Program(), output()
    choices = {"seven": ("number == 7", [7]), "tens": ("number % 10 == 3", [*range(3, ROUNDS, 10)]), "none": ("number < 0", []),
               "all": (None, [*ALL]), "odd": ("return_value < 0", [])}

    def enable(channel):
        expression = choices[channel][0]
        good("enable-channel", channel, "-s", "channels")
        # The first one has the probe, and the others share its events.
        arguments = ("chosen_work", "--pid", program.pid, *WORK) if channel == "seven" else ("probe:chosen_work*",)
        good("enable-event", *arguments, "-s", "channels", "-c", channel, *(("--filter", expression) if expression else ()))

    def calls(channel):
        """{event: [number]} of the streams of one channel."""
        copy = output()
        for folder, _, files in os.walk(kept):
            for file in files:
                if file == "metadata" or file.startswith(channel + "_"):
                    there = folder.replace(kept, copy, 1)
                    os.makedirs(there, exist_ok=True)
                    shutil.copy(f"{folder}/{file}", there)
        return read(copy)

    good("create", "channels", "-o", kept)
    for channel in choices:
        enable(channel)
    good("start", "channels")
    program.go()
    good("destroy", "channels")
    program.end()
    for channel, (_, numbers) in choices.items():
        check(calls(channel), numbers, [*range(1, ROUNDS, 2)] if channel == "odd" else numbers)


def test_more_probes_than_marks():
    """A call that cannot keep a mark for each probe is a loss, and reported."""
    program, kept = Program(), []
    for i in range(18):
        kept.append(output())
        good("create", f"m{i}", "-o", kept[i])
        good("enable-event", "chosen_work", "-s", f"m{i}", "--pid", program.pid, *WORK, "--filter", "number == 7")
        good("start", f"m{i}")
    program.go()
    said = [good("destroy", f"m{i}").err for i in range(18)]
    program.end()
    for i in range(16):
        check(read(kept[i]), [7], [7])
    for i in range(16, 18):
        equal({name: [n for _, n in calls] for name, calls in read(kept[i]).items()}, {"chosen_work": [7] * THREADS})
        shown = subprocess.run(["babeltrace2", kept[i]], capture_output=True, text=True, check=True)
        lost = re.findall(r'event = "probe:chosen_work_return", .*count = (\d+)', shown.stdout)
        equal(sum(map(int, lost)), THREADS)
        contains(said[i], f"{THREADS} events were lost")


run_tests(globals())
