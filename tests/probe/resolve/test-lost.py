#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
What `side trace` says of events that were lost: the reasons make up the whole, in text, JSON and trace (as babeltrace2 reads it),
and the whole is what the program knows to have done. And nothing is lost where nothing needs to be.
"""
import atexit
import collections
import os
import re
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
subprocess.run(["gcc", "-O1", "-g", SOURCES + "/lost.c", "-o", PROGRAM, "-rdynamic"], check=True)


def read(trace):
    """{function: recorded}, {reason: lost}"""
    seen, lost, discarded = collections.Counter(), collections.Counter(), 0
    for message in bt2.TraceCollectionMessageIterator([os.path.join(trace, name) for name in os.listdir(trace)]):
        if isinstance(message, bt2._DiscardedEventsMessageConst):
            discarded += message.count
        if not isinstance(message, bt2._EventMessageConst):
            continue
        fields = message.event.payload_field
        if message.event.name == "side:lost":
            lost[str(fields["reason"])] += int(fields["count"])
        else:
            # Of one function it is the event's name, of several a field.
            function = fields["function"] if fields and "function" in fields else message.event.name.split(":")[1]
            seen[str(function)] += 1
    equal(discarded, sum(lost.values()), "what packets count, and what is told")
    return seen, lost


class Traced:
    """By `side trace`, with --json or without; the figures of all sides, which must be the same."""

    def __init__(self, name, *command, function="step", options=()):
        trace = f"{FOLDER}/{name}"
        words = ["trace", "-o", trace, "-c", " ".join((PROGRAM, *command)), "--function", function, *options]
        self.done = side(*words, "--json")
        equal(self.done.status, 0, self.done.err)
        self.borrowed, self.own = (int(number) for number in self.done.out.split())
        self.summary, = (line for line in json_lines(self.done.err) if line["type"] == "summary")
        self.seen, self.lost = read(trace)
        equal(self.summary["recorded"], sum(self.seen.values()))
        self.reasons = {reason["reason"]: reason["count"] for reason in self.summary["reasons"]}
        equal(self.reasons, dict(self.lost))
        equal(sum(self.reasons.values()), self.summary["lost"])
        equal(sum(loss["count"] for loss in self.summary["losses"]), self.summary["lost"])
        shutil.rmtree(trace)
        self.text = side(*words)
        equal(self.text.status, 0, self.text.err)
        shutil.rmtree(trace)
        self.quiet = side(*words, "-q")
        shutil.rmtree(trace)

    def mend(self, reason):
        return next(one["mend"] for one in self.summary["reasons"] if one["reason"] == reason)


def test_forked_children_lose_nothing():
    # The rings are mapped in each child: nothing of the program's own is called for that.
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
        contains(text, "side: 100 events were lost in the child of a vfork(), before it ran a program")
        contains(text, "; `side trace --global` has the kernel watch, which sees them\n")
    contains(traced.mend(VFORK), "--global")
    equal(len(traced.quiet.err.splitlines()), 1, traced.quiet.err)


def test_full_rings():
    traced = Traced("flood", "flood", "100000", options=["--buffer-size", "64K"])
    equal((traced.borrowed, traced.own), (0, 100000))
    equal(set(traced.reasons), {FULL})
    equal(traced.seen["step"] + traced.reasons[FULL], traced.own)
    contains(traced.mend(FULL), "a larger `--buffer-size`")
    contains(traced.mend(FULL), "(it was 64.0 KiB)")
    contains(traced.text.err, " events were lost while a ring was full; a larger `--buffer-size`, or fewer places, would keep more")
    # And with what is said to help.
    traced = Traced("larger", "flood", "100000", options=["--buffer-size", "8M"])
    equal((traced.reasons, traced.seen["step"]), ({}, 100000))


def test_both():
    traced = Traced("all", "all", "100000", options=["--buffer-size", "64K"])
    equal((traced.borrowed, traced.own), (500, 100100))
    # Those that were lost for want of a ring's room are of this process alone.
    equal(traced.reasons[VFORK], traced.borrowed)
    equal(traced.seen["step"] + traced.reasons[FULL], traced.own)
    lines = traced.text.err.splitlines()
    at, = (i for i, line in enumerate(lines) if re.match(r"side: [\d,]+ events were lost:$", line))
    figures = [int(re.match(r"  ([\d,]+) ", line)[1].replace(",", "")) for line in lines[at + 1:at + 3]]
    equal(int(lines[at].split()[1].replace(",", "")), sum(figures))
    contains(lines[at + 1], "while a ring was full")
    contains(lines[at + 2], "in the child of a vfork()")
    equal(len(traced.quiet.err.splitlines()), 3, traced.quiet.err)


def test_attached():
    program = subprocess.Popen([PROGRAM, "bursts", "100000"])
    trace = FOLDER + "/attached"
    words = ["trace", "-p", str(program.pid), "--function", "step", "--buffer-size", "64K", "--duration", "1s", "-o", trace]
    try:
        done = side(*words, "--json")
        equal(done.status, 0, done.err)
        summary, = (line for line in json_lines(done.err) if line["type"] == "summary")
        seen, lost = read(trace)
        shutil.rmtree(trace)
        text = side(*words).err
    finally:
        program.kill()
        program.wait()
    reasons = {reason["reason"]: reason["count"] for reason in summary["reasons"]}
    equal((set(reasons), reasons), ({FULL}, dict(lost)))
    equal((sum(reasons.values()), summary["recorded"]), (summary["lost"], seen["step"]))
    contains(text, " events were lost while a ring was full; a larger `--buffer-size` would keep more (it was 64.0 KiB)\n")


run_tests(globals())
