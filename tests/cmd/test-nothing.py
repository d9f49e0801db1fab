#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The answers from traces with losses and without an event of the verb: one sentence if the trace could not have such events."""
import struct

from harness import *

METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 64; align = 8; signed = false; } := u64;
trace { major = 1; minor = 8; byte_order = le; };
env { tracer_name = "side"; procname = "server"; vpid = 5; };
clock { name = "k"; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.k.value; } := t;
stream { packet.context := struct { t timestamp_begin; t timestamp_end; u64 content_size; u64 packet_size; u64 events_discarded; };
	event.header := struct { u8 id; t timestamp; }; };
event { name = "ex:other"; id = 0; fields := struct { u64 _number; }; };
"""
# An event that each verb needs, and what the sentence says is missing.
VERBS = {
    "leaks": ("libc:malloc", "u64 _size; u64 _result;", "call of the allocator"),
    "locks": ("pthread:pthread_mutex_lock", "u64 _mutex; u64 _result;", "operation of locks"),
    "slow": ("probe:work", "u64 _call;", "call of a function"),
    "calls": ("probe:work", "u64 _call;", "call of a function"),
}


def write(folder, described="", lost=0):
    """A trace with one event of another kind, then `lost` lost events."""
    os.mkdir(folder)
    with open(os.path.join(folder, "metadata"), "w", encoding="ascii") as file:
        file.write(METADATA + described)
    with open(os.path.join(folder, "ring_0"), "wb") as file:
        for number in range(2):
            data = struct.pack("<BQQ", 0, 1_700_000_000_000_000_000 + number, number)
            size = (40 + len(data)) * 8
            file.write(struct.pack("<QQQQQ", 1_700_000_000_000_000_000, 1_700_000_000_000_000_001, size, size, number * lost) + data)
    return folder


def test_other_losses():
    with tempfile.TemporaryDirectory() as work:
        for lost in (0, 7):
            trace = write(os.path.join(work, f"lost{lost}"), lost=lost)
            for verb, (_, _, missing) in VERBS.items():
                done = side(verb, trace)
                equal((done.status, done.out), (0, ""), (verb, done))
                contains(done.err, f"the recording has no {missing}")
                contains(done.err, f"record with `side {verb} -o DIR COMMAND`")
                (line,) = side(verb, "--json", trace).out.splitlines()
                equal([json.loads(line)[name] for name in ("type", "verb", "reason")], ["nothing", verb, f"the recording has no {missing}"])


def test_own_losses():
    """The lost events may be those of the verb: the answer says that it is incomplete, without the time since 1970."""
    with tempfile.TemporaryDirectory() as work:
        for verb, (event, fields, missing) in VERBS.items():
            trace = write(os.path.join(work, verb), f'event {{ name = "{event}"; id = 1; fields := struct {{ {fields} }}; }};', lost=7)
            done = side(verb, trace)
            equal(done.status, 0, (verb, done))
            true(f"no {missing}" not in done.out + done.err, (verb, done))
            contains(done.out + done.err, "lost")
            true("1,7" not in done.out and "17000" not in done.out, (verb, done))
            if verb == "locks":
                contains(done.out, "0 events of 0 threads\n")


run_tests(globals())
