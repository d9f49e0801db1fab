#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Variadic events with a format: sentences in text if the arguments fit, and always all fields in JSON."""
from harness import *

work = tempfile.TemporaryDirectory()
TRACE = os.path.join(work.name, "trace")
recorded = side("record", "-q", "-o", TRACE, os.environ["SENTENCES"])
assert recorded.status == 0, recorded


def shown(*args):
    result = side("view", TRACE, *args)
    equal((result.status, result.err), (0, ""))
    return [line.split(" app:")[1] for line in result.out.splitlines()]


def test_sentences():
    equal(shown(), [
        "log: user bob took -12 ms",
        "log: nothing to add",
        "log:  12.3% of 0xff, q, a\\tb\\n\\x1b[31m",
        'marked: 1 of 2 { id = 7, more = "x" }',
        "event: on: 1",
        # Arguments that do not fit, and events without a format.
        'log: { fmt = "%s" }, { a = 5 }',
        'log: { fmt = "%s %n" }, { a = "x", b = 1 }',
        'log: { fmt = "%d" }, { a = null }',
        'unmarked: { text = "%d" }, { a = 5 }',
        'fixed: { fmt = "%d" }'])


def test_fields():
    flat = shown("--flat")
    equal(flat[0], 'log: { fmt = "user %s took %d ms" }, { user = "bob", ms = -12 }')
    equal(flat[3], 'marked: { id = 7, text = "%u of %u", more = "x" }, { a = 1, b = 2 }')
    lines = json_lines(side("view", "--json", TRACE).out)
    equal((lines[0]["fields"], lines[0]["variadic"]), ({"fmt": "user %s took %d ms"}, {"user": "bob", "ms": -12}))
    equal([line["fields"] for line in lines[3:5]], [{"id": 7, "text": "%u of %u", "more": "x"}, {"what": "on: %d"}])
    equal(shown("--filter", "ms < 0"), ["log: user bob took -12 ms"])
    contains(side("view", "--color=always", TRACE).out, "user bob took -12 ms\n")


run_tests(globals())
