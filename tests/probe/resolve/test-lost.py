#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The messages of `side trace` about lost events: the reasons add up to the total, in text, JSON and trace (as
babeltrace2 reads it), and recorded and lost events add up to the calls of the program. Nothing is lost without need.
"""
import atexit
import collections
import os
import re
import resource
import shutil
import subprocess
import tempfile

import bt2

from harness import *

SOURCES = os.environ["SOURCES"]
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
PROGRAM = FOLDER + "/lost"
VFORK, FULL = "in the child of a vfork(), before it ran a program", "ring full"
OPEN, MADE = "return not watched, too many calls were open", "return not watched, called by code that may know its return addresses"
subprocess.run(["gcc", "-O1", "-g", SOURCES + "/lost.c", "-o", PROGRAM, "-rdynamic", "-pthread"], check=True)


def read(trace):
    """{function: recorded}, {reason: lost}, {event: recorded}"""
    seen, lost, events, discarded = collections.Counter(), collections.Counter(), collections.Counter(), 0
    for message in bt2.TraceCollectionMessageIterator([os.path.join(trace, name) for name in os.listdir(trace)]):
        if isinstance(message, bt2._DiscardedEventsMessageConst):
            discarded += message.count
        if not isinstance(message, bt2._EventMessageConst):
            continue
        fields = message.event.payload_field
        if message.event.name == "side:lost":
            lost[str(fields["reason"])] += int(fields["count"])
        else:
            # For one function it is the event's name, for several a field.
            function = fields["function"] if fields and "function" in fields else message.event.name.split(":")[1]
            seen[str(function)] += 1
            events[message.event.name] += 1
    equal(discarded, sum(lost.values()), "what packets count, and what is told")
    return seen, lost, events


class Traced:
    """A run of `side trace`, with --json or without; the statistics of all outputs, which must be the same."""

    def __init__(self, name, *command, function="step", options=(), **more):
        trace = f"{FOLDER}/{name}"
        arguments = ["trace", "-o", trace, "-c", " ".join((PROGRAM, *command)), "--function", function, *options]
        self.done = side(*arguments, "--json", **more)
        equal(self.done.status, 0, self.done.err)
        self.borrowed, self.own = (int(number) for number in self.done.out.split())
        self.summary, = (line for line in json_lines(self.done.err) if line["type"] == "summary")
        self.seen, self.lost, self.events = read(trace)
        equal(self.summary["recorded"], sum(self.seen.values()))
        self.reasons = {reason["reason"]: reason["count"] for reason in self.summary["reasons"]}
        equal(self.reasons, dict(self.lost))
        equal(sum(self.reasons.values()), self.summary["lost"])
        equal(sum(loss["count"] for loss in self.summary["losses"]), self.summary["lost"])
        shutil.rmtree(trace)
        self.text = side(*arguments, **more)
        equal(self.text.status, 0, self.text.err)
        shutil.rmtree(trace)
        self.quiet = side(*arguments, "-q", **more)
        shutil.rmtree(trace)

    def hint(self, reason):
        reported = next(one for one in self.summary["reasons"] if one["reason"] == reason)
        equal(reported["mend"], reported["hint"], "the former name of the member")
        return reported["hint"]


def test_forked_children_lose_nothing():
    # The rings are mapped in each child, without calling a function that the program defines.
    for function in ("step", "*"):
        traced = Traced("fork", "fork", "20", function=function)
        equal((traced.summary["lost"], traced.reasons, traced.own), (0, {}, 220), traced.done.err)
        equal(traced.seen["step"], traced.own)
        true(not re.search(r"events? (was|were) lost", traced.text.err), traced.text.err)
        equal(traced.quiet.err, "")


def test_children_of_vfork():
    traced = Traced("vfork", "vfork", "20")
    equal((traced.borrowed, traced.own), (100, 20))
    equal((traced.reasons, traced.seen["step"]), ({VFORK: 100}, 20))
    for text in (traced.text.err, traced.quiet.err):
        contains(text, "side: 100 events were lost in the child of a vfork(), before it executed a program")
        contains(text, "\nhint: use `side trace --global`: the kernel watches these processes, too\n")
    contains(traced.hint(VFORK), "--global")
    equal([line[:5] for line in traced.quiet.err.splitlines()], ["side:", "hint:"], traced.quiet.err)


def test_full_rings():
    traced = Traced("flood", "flood", "100000", options=["--buffer-size", "64K"])
    equal((traced.borrowed, traced.own), (0, 100000))
    equal(set(traced.reasons), {FULL})
    equal(traced.seen["step"] + traced.reasons[FULL], traced.own)
    contains(traced.hint(FULL), "a larger `--buffer-size`")
    contains(traced.hint(FULL), "(it was 64.0 KiB)")
    contains(traced.text.err, " events were lost while a ring was full\nhint: use a larger `--buffer-size`, or probe fewer locations")
    # With the hint.
    traced = Traced("larger", "flood", "100000", options=["--buffer-size", "8M"])
    equal((traced.reasons, traced.seen["step"]), ({}, 100000))


def test_many_open_calls():
    # More than the initial capacity: the table grows.
    traced = Traced("deep", "deep", "45000", function="nest", options=["--exit", "--buffer-size", "32M"])
    equal((traced.own, traced.reasons), (135000, {}))
    equal(traced.events, {"probe:nest": 135000, "probe:nest_return": 135000})


def test_too_many_open_calls():
    # If address space is limited the table does not grow: calls that are not seen are counted.
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 40, resource.getrlimit(resource.RLIMIT_AS)[1]))

    traced = Traced("limited", "deep", "44000", function="nest", options=["--exit", "--buffer-size", "32M"], preexec_fn=limit)
    equal(traced.own, 132000)
    equal((traced.events["probe:nest"], set(traced.reasons)), (132000, {OPEN}))
    # A thread takes a part of the table at once, and may leave some of it unused.
    true(132000 - 131072 <= traced.reasons[OPEN] < 1200, traced.reasons)
    equal(traced.events["probe:nest_return"] + traced.reasons[OPEN], 132000)
    contains(traced.text.err, " events were lost at returns of functions, because too many calls were open at once")


def test_returns_to_code_of_no_file():
    traced = Traced("made", "made", "1000", options=["--exit"])
    equal((traced.own, traced.events), (1000, {"probe:step": 1000}))
    equal(traced.reasons, {MADE: 1000})


def test_crowd_of_threads():
    # Arguments for a filter are made in one of a few blocks: a hit that finds none is counted.
    traced = Traced("crowd", "crowd", "64000", function="speak",
                    options=["--arg", "text", "--filter", 'text != "another one"', "--buffer-size", "32M"])
    equal(traced.own, 64000)
    true(set(traced.reasons) <= {"no buffer"}, traced.reasons)
    equal(traced.seen["speak"] + sum(traced.reasons.values()), traced.own)


def test_both():
    traced = Traced("all", "all", "100000", options=["--buffer-size", "64K"])
    equal((traced.borrowed, traced.own), (500, 100100))
    # Events that were lost because a ring was full belong to this process alone.
    equal(traced.reasons[VFORK], traced.borrowed)
    equal(traced.seen["step"] + traced.reasons[FULL], traced.own)
    lines = traced.text.err.splitlines()
    at, = (i for i, line in enumerate(lines) if re.match(r"side: [\d,]+ events were lost:$", line))
    statistics = [int(re.match(r"  ([\d,]+) ", line)[1].replace(",", "")) for line in lines[at + 1:at + 3]]
    equal(int(lines[at].split()[1].replace(",", "")), sum(statistics))
    contains(lines[at + 1], "while a ring was full")
    contains(lines[at + 2], "in the child of a vfork()")
    for line, hint in ((lines[at + 3], FULL), (lines[at + 4], VFORK)):
        equal(line, "hint: " + traced.hint(hint))
    equal(len(traced.quiet.err.splitlines()), 5, traced.quiet.err)


def test_attached():
    program = subprocess.Popen([PROGRAM, "bursts", "100000"])
    trace = FOLDER + "/attached"
    arguments = ["trace", "-p", str(program.pid), "--function", "step", "--buffer-size", "64K", "--duration", "1s", "-o", trace]
    try:
        done = side(*arguments, "--json")
        equal(done.status, 0, done.err)
        summary, = (line for line in json_lines(done.err) if line["type"] == "summary")
        seen, lost, _ = read(trace)
        shutil.rmtree(trace)
        text = side(*arguments).err
    finally:
        program.kill()
        program.wait()
    reasons = {reason["reason"]: reason["count"] for reason in summary["reasons"]}
    equal((set(reasons), reasons), ({FULL}, dict(lost)))
    equal((sum(reasons.values()), summary["recorded"]), (summary["lost"], seen["step"]))
    contains(text, " events were lost while a ring was full\nhint: use a larger `--buffer-size` (it was 64.0 KiB)\n")


run_tests(globals())
