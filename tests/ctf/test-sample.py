# SPDX-License-Identifier: MIT
"""Every SIDE type: babeltrace2 and side's reader find the intended values; the view prints the
expected output, as text and as JSON.

test-sample.py SAMPLE VIEWER BABELTRACE_DUMP
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish, output

os.environ["TZ"] = "UTC"

sample, viewer, dump = sys.argv[1:4]


def check_lines(what, wanted, got):
    expect_equal(len(got), len(wanted), what + ": number of lines")
    for index, (left, right) in enumerate(zip(wanted, got)):
        expect_equal(right, left, "%s, line %d" % (what, index + 1))


# The expected fields in JSON for some of the samples.
JSON_FIELDS = {
    "sample:null": {"x": None},
    "sample:bool7": {"x": True},
    "sample:u64": {"x": 18446744073709551615},
    "sample:s128be": {"x": "-2"},
    "sample:float64nan": {"x": "nan"},
    "sample:float128": {"x": "4.5"},
    "sample:string": {"x": "a\"\\\n\x01\u00e9"},
    "sample:odd": {"x": 1, "x#2": 2, "x_2": 3, "": 4, "a.b c-d": 5, "\u00e9": 6, "int": 7,
                   "_v_length": 8, "v": [1, 2]},
    "sample:enumtwo": {"x": {"labels": ["say \"on\"\\\n\t\x017", ""], "value": 5}},
    "sample:enumbad": {"x": {"labels": ["bad\u00ffbyte"], "value": 11}},
    "sample:bitmaparray": {"x": {"labels": ["write", "ninth"], "value": [2, 2]}},
    "sample:arrayoptional": {"x": [None, 2, None]},
    "sample:variantnone": {"x": {"option": None, "selector": 64}},
    "sample:variant3": {"x": [8]},
}


def header(metadata, stream, instance, begin, end, size, number, discarded, cpu=None):
    uuid = bytes.fromhex(re.search(r'uuid = "([0-9a-f-]+)"', metadata).group(1).replace("-", ""))
    bits = (80 + 4 * (cpu is not None) + size) * 8
    data = struct.pack("<I16sIQ", 0xc1fc1fc1, uuid, stream, instance)
    data += struct.pack("<6Q", begin, end, bits, bits, number, discarded)
    return data + (struct.pack("<I", cpu) if cpu is not None else b"")


def check_losses():
    """Losses and damage are shown where they are, and the exit status reports them."""
    with tempfile.TemporaryDirectory() as work:
        trace = os.path.join(work, "trace")
        output(sample, "write", trace)
        with open(os.path.join(trace, "metadata")) as file:
            metadata = file.read()
        tick = 10**15
        null = struct.pack("<BIQ", 31, 0, tick + 5)
        ring = header(metadata, 0, 9, tick, tick, 0, 0, 0, 9)
        ring += header(metadata, 0, 9, tick + 5, tick + 6, len(null), 1, 12, 9) + null
        ring += header(metadata, 0, 9, tick + 7, tick + 8, 0, 3, 12, 9)
        record = struct.pack("<IQ", 0, tick + 9) + b"ring_9\0p:e\0no \x1b[1m room\0" + struct.pack("<Q", 12)
        session = header(metadata, 1, 0, tick + 9, tick + 9, len(record), 0, 0) + record
        os.remove(os.path.join(trace, "ring_3"))
        for name, data in (("ring_9", ring), ("side_session", session)):
            with open(os.path.join(trace, name), "wb") as file:
                file.write(data)
        who = 'sample "quoted":4711'
        check_lines("losses", [
            '[02:13:20.000000010] (+?.?????????) %s cpu9 sample:null: { x = null }' % who,
            '[02:13:20.000000011] *** 12 events lost since 02:13:20.000000005 in ring_9 of %s ***' % who,
            '[02:13:20.000000012] *** 1 packet lost since 02:13:20.000000011 in ring_9 of %s ***' % who,
            '[02:13:20.000000014] *** 12 events lost: p:e in ring_9: no \\x1b[1m room of %s ***' % who,
        ], output(viewer, trace).splitlines())
        # Filters select events, not losses.
        expect_equal(len(output(viewer, "-e", "no:such", trace).splitlines()), 3, "losses behind a filter")
        objects = [json.loads(line) for line in output(viewer, "-j", trace).splitlines()]
        expect_equal([item["type"] for item in objects], ["event", "discarded", "lost_packets", "lost"], "types")
        expect_equal(tuple(objects[1][key] for key in ("count", "begin_ns", "ns", "stream", "cpu")),
                     (12, 1601000000000000005, 1601000000000000011, "ring_9", 9), "discarded")
        expect_equal(tuple(objects[3][key] for key in ("ring", "event", "reason", "count")), ("ring_9", "p:e", "no \x1b[1m room", 12), "lost")

        with open(os.path.join(trace, "ring_9"), "ab") as file:
            file.write(ring[84:84 + 84 + 3])
        for option in ([], ["-j"]):
            done = subprocess.run([viewer] + option + [trace], capture_output=True, text=True)
            expect_equal(done.returncode, 1, "exit status of damage")
            expect(done.stderr.startswith("side: ") and "ring_9" in done.stderr, f"said: {done.stderr}")
            expect_equal(len(done.stdout.splitlines()), 5 if option else 4, "what can be read is shown")
        expect_equal([json.loads(line)["type"] for line in done.stdout.splitlines()].count("damage"), 1, "damage as an object")
        done = subprocess.run([viewer, work + "/none"], capture_output=True, text=True)
        expect_equal((done.returncode, done.stdout), (1, ""), "no trace")
        expect(done.stderr.startswith("side: cannot read"), f"no trace reported: {done.stderr}")
        with open("/dev/full", "w") as full:
            done = subprocess.run([viewer, trace], stdout=full, stderr=subprocess.PIPE, text=True)
        expect_equal((done.returncode, "cannot write the events: No space left" in done.stderr), (1, True), "output that cannot be written")


def main():
    with tempfile.TemporaryDirectory() as work:
        trace = os.path.join(work, "trace")
        output(sample, "write", trace)
        wanted = output(sample, "expected").splitlines()
        ours = output(sample, "read", trace).splitlines()
        theirs = output("/usr/bin/python3", dump, trace).splitlines()
        check_lines("our reader against babeltrace2", theirs, ours)
        for index, line in enumerate(wanted):
            if line.endswith(" -"):  # Too long to write by hand; the view below prints it in a shorter form.
                wanted[index] = ours[index]
        check_lines("the reader against what was meant", wanted, ours)

        view = output(viewer, trace).splitlines()
        head = re.compile(r"\[02:13:20\.0000000\d\d|\[02:13:20\.00000010\d")
        for line in view:
            expect(head.match(line), "time of " + line)
        expect_equal(view[0].split()[1], "(+?.?????????)", "first delta")
        expect_equal(view[1].split()[1], "(+0.000000001)", "second delta")
        lead = re.compile(r"^\[\S+\] \(\S+\) sample \"quoted\":4711 cpu3 ")
        check_lines("the view", output(sample, "view").splitlines(), [lead.sub("", line) for line in view])

        events = [json.loads(line) for line in output(viewer, "-j", trace).splitlines()]
        expect_equal(len(events), len(wanted), "JSON events")
        names = set()
        for event in events:
            names.add(event["event"])
            expect_equal((event["schema"], event["type"], event["vpid"], event["cpu"], event["hostname"]),
                         (1, "event", 4711, 3, "host"), "schema")
            if event["event"] in JSON_FIELDS:
                expect_equal(event["fields"], JSON_FIELDS[event["event"]], event["event"])
        expect_equal(set(JSON_FIELDS) - names, set(), "names looked at")
        expect_equal((events[0]["time"], events[0]["ns"]), ("2020-09-25T02:13:20.000000015Z", 1601000000000000015), "time")
        expect_equal([event["loglevel"] for event in events[:8]], "EMERG ALERT CRIT ERR WARNING NOTICE INFO DEBUG".split(), "log levels")
        expect_equal([event for event in events if "loglevel_value" in event], [], "numbers of log levels")
        expect_equal([e for e in events if e["event"] == "sample:variadic"][0]["variadic"], {"k": 5}, "variadic")

        text = output(viewer, "-a", "-e", "sample:base16", trace)
        expect(text.endswith("{ x = 0xff @{ std.integer.base = 16, note = \"a/b */ c\" } }\n"), f"attributes: {text}")
        value = json.loads(output(viewer, "-a", "-j", "-e", "sample:base16", trace))["fields"]["x"]
        expect_equal(value, {"value": 255, "attributes": [
            {"key": "std.integer.base", "value": 16}, {"key": "note", "value": "a/b */ c"}]}, "attributes in JSON")
        value = json.loads(output(viewer, "-a", "-j", "-e", "sample:dynamicattributes", trace))["fields"]["x"]
        expect_equal(value, {"attributes": [{"key": "key", "value": 5}],
                                             "value": [{"value": 9, "attributes": []}]}, "dynamic attributes in JSON")
        expect_equal(len(output(viewer, "-n", "7", trace).splitlines()), 7, "the limit")
        colours = output(viewer, "-c", trace)
        expect("\033[" in colours, f"no colours: {colours[:1000]}")
        expect_equal(re.sub("\033\\[[0-9;]*m", "", colours), output(viewer, trace), "only colours")
        for line in output(viewer, trace).splitlines():
            expect(not any(ord(c) < 32 for c in line), f"control characters in {line!r}")


main()
check_losses()
finish()
