# SPDX-License-Identifier: MIT
"""Fires events, reads the recorded trace, compares value by value."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../ctf"))
import ctf2_reader
import decode
import described
import model
import viewed

LONG = bool(os.environ.get("SIDE_TEST_LONG"))


class Script:
    """Events and firings, with the expected result of a reader."""

    def __init__(self):
        self.events = []
        self.firings = []
        self.expected = []
        self.memories = []

    def add(self, event, *firings):
        """firings: (firing, memory)"""
        index = len(self.events)
        self.events.append(event)
        for firing, memory in firings:
            self.firings.append(dict(firing, event=index))
            self.memories.append(memory)
            self.expected.append((event["provider"] + ":" + event["event"],
                                  model.expected_event(event, firing, memory)))

    def save(self, path):
        with open(path, "w") as out:
            json.dump(dict(events=self.events, fire=self.firings), out)


def report(what, script, differences):
    """differences: a message or None for each event. Prints up to ten. Returns their number."""
    wrong = 0
    for i, sentence in enumerate(differences):
        if not sentence:
            continue
        wrong += 1
        if wrong <= 10:
            print("%s, event %d, %s%s" % (what, i, script.expected[i][0], sentence[:2000]))
        if wrong == 1 and os.environ.get("ROUNDTRIP_KEEP"):
            firing = script.firings[i]
            print(json.dumps(script.events[firing["event"]]))
            print(json.dumps(firing))
    return wrong


def check_count(script, found, what):
    if len(found) == len(script.expected):
        return 0
    print("%s: %d events instead of %d" % (what, len(found), len(script.expected)))
    return 1


def compare(script, trace, what):
    """Compares with what Babeltrace decodes. Returns the number of differences."""
    found = list(decode.events(trace))

    def differences():
        for want, got in zip(script.expected, found):
            if want[0] != got[0]:
                yield ": %s instead of %s" % (got[0], want[0])
            else:
                yield decode.difference(want[1], got[1])
    return check_count(script, found, what) + report(what, script, differences())


def view(script, trace, what):
    """Compares with what side's reader shows."""
    side = os.environ.get("ROUNDTRIP_SIDE")
    if not side:
        return 0
    what += ", side view"
    run = subprocess.run([side, "view", "--json", trace], stdout=subprocess.PIPE, timeout=600)
    if run.returncode:
        print("%s: it ended with %d" % (what, run.returncode))
        return 1
    found = [dict(viewed.read_line(line)[1]) for line in run.stdout.decode().split("\n") if line]

    def differences():
        for (name, form), firing, got in zip(script.expected, script.firings, found):
            if got.get("event") != name:
                yield ": %s instead of %s" % (got.get("event"), name)
                continue
            fields, variadic = viewed.event(script.events[firing["event"]], form)
            yield (viewed.difference(fields, got["fields"]) or
                   viewed.difference(variadic, got.get("variadic"), ".variadic"))
    return check_count(script, found, what) + report(what, script, differences())


def read_plainly(script, trace, what):
    """A strict reader of CTF 2, which is written from the specification only, accepts the trace."""
    try:
        _, events, lost = ctf2_reader.read_trace(trace)
    except (ctf2_reader.Wrong, KeyError, IndexError, ValueError) as error:
        print("%s: %s: %s" % (what, type(error).__name__, error))
        return 1
    names = [name for _, name, _ in events]
    if names != [name for name, _ in script.expected] or lost:
        print("%s: other events than were fired" % what)
        return 1
    return 0


def describe(script, trace, what):
    """Descriptions in the metadata: complete, with attributes of every level."""
    found = described.descriptions(trace)
    wrong = 0
    for event in script.events:
        name = event["provider"] + ":" + event["event"]
        sentence = described.difference(described.event(event), found.get(name))
        if sentence:
            wrong += 1
            if wrong <= 10:
                print("%s, description of %s%s" % (what, name, sentence[:2000]))
    return wrong


def check(script, trace, what):
    return (compare(script, trace, what) + view(script, trace, what) +
            describe(script, trace, what))


def temporary():
    return tempfile.mkdtemp(prefix="side-roundtrip-")


def drop(directory):
    if os.environ.get("ROUNDTRIP_KEEP"):
        print(directory, file=sys.stderr)
    else:
        shutil.rmtree(directory, ignore_errors=True)


def fire_here(script, what):
    """Recorded by the firing program itself: plan and trace writer, no ring."""
    directory = temporary()
    try:
        path = os.path.join(directory, "script.json")
        trace = os.path.join(directory, "trace")
        script.save(path)
        status = subprocess.run([os.environ["ROUNDTRIP_FIRE"], path, trace], timeout=600)
        if status.returncode:
            print("%s: the firing program ended with %d" % (what, status.returncode))
            return 1
        again = os.path.join(directory, "ctf2")
        status = subprocess.run([os.environ["ROUNDTRIP_FIRE"], path, again, "2"], timeout=600)
        if status.returncode:
            print("%s, CTF 2: the firing program ended with %d" % (what, status.returncode))
            return 1
        return (check(script, trace, what) + view(script, again, what + ", CTF 2") +
                read_plainly(script, again, what + ", CTF 2"))
    finally:
        drop(directory)


def record(script, what):
    """Recorded in the usual way: `side record`, agent, ring, consumer."""
    directory = temporary()
    what += ", side record"
    try:
        path = os.path.join(directory, "script.json")
        output = os.path.join(directory, "out")
        script.save(path)
        status = subprocess.run([os.environ["ROUNDTRIP_SIDE"], "record", "--json", "--strict", "-e", "*", "-o",
                                 output, "--", os.environ["ROUNDTRIP_FIRE"], path],
                                stderr=subprocess.PIPE, timeout=600)
        if status.returncode:
            print("%s: ended with %d: %s" % (what, status.returncode, status.stderr.decode()))
            return 1
        traces = [name for name in os.listdir(output) if name.startswith("fire-")]
        if len(traces) != 1:
            print("%s: the traces are %r" % (what, traces))
            return 1
        trace = os.path.join(output, traces[0])
        summary = json.loads(status.stderr.decode().splitlines()[-1])
        if summary["recorded"] != len(script.expected) or summary["lost"]:
            print("%s: it has counted %d events instead of %d" % (what, summary["recorded"], len(script.expected)))
            return 1
        return check(script, trace, what)
    finally:
        drop(directory)
