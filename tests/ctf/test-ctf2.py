# SPDX-License-Identifier: MIT
"""CTF 2: the traces of side mean the same as CTF 1.8 traces of the same bytes, and traces of other
producers are read.

- traces of side in both formats: side's reader, the independent reader of ctf2_reader.py and
  babeltrace2 (CTF 1.8) agree, value by value, and the view prints the same;
- four channels with contexts, compressed or not;
- traces of other producers, made here: every field class, role and rule of the format.

test-ctf2.py SAMPLE VIEWER CHANNELS BABELTRACE_DUMP
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

import ctf2_reader

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish, output

os.environ["TZ"] = "UTC"

sample, viewer, channels, dump = sys.argv[1:5]
LONG = os.environ.get("SIDE_TEST_LONG") == "1"
work = tempfile.TemporaryDirectory()


def fragments(trace):
    with open(os.path.join(trace, "metadata"), "rb") as file:
        return [json.loads(part) for part in file.read().split(b"\x1e")[1:]]


# ---- what side writes ----

def test_sample():
    first, second = os.path.join(work.name, "first"), os.path.join(work.name, "second")
    output(sample, "write", first)
    output(sample, "write2", second)
    for name in ("ring_3",):
        files = []
        for trace in (first, second):
            with open(os.path.join(trace, name), "rb") as file:
                data = bytearray(file.read())
            for packet in (0, 84):  # The UUIDs differ.
                data[packet + 4:packet + 20] = bytes(16)
            files.append(data)
        expect_equal(files[1], files[0], "the bytes of both formats")
    theirs = output("/usr/bin/python3", dump, first).splitlines()
    expect(len(theirs) > 80, f"{len(theirs)} events")
    expect_equal(ctf2_reader.lines(second), theirs, "CTF 2 read plainly, against babeltrace2 on CTF 1.8")
    expect_equal(output(sample, "read", second).splitlines(), theirs, "CTF 2 read by us")
    for options in ([], ["-a"], ["-j"], ["-j", "-a"]):
        expect_equal(output(viewer, *options, second).replace(second, ""),
                     output(viewer, *options, first).replace(first, ""), "the view %r" % options)


def test_attributes():
    """Checks what the metadata of CTF 2 states in addition to the layout."""
    trace = os.path.join(work.name, "second")
    all_of_them = fragments(trace)
    expect_equal([fragment["type"] for fragment in all_of_them[:5]],
                 ["preamble", "trace-class", "clock-class", "data-stream-class", "data-stream-class"], "fragments")
    expect_equal(tuple(all_of_them[1]["environment"][key] for key in ("tracer_name", "domain", "vpid", "procname")),
                 ("side", "ust", 4711, 'sample "quoted"'), "environment")
    expect_equal(all_of_them[2]["offset-from-origin"], {"seconds": 1600000000, "cycles": 5}, "clock")
    expect_equal(all_of_them[2]["origin"], "unix-epoch", "origin")
    events = {fragment["name"]: fragment for fragment in all_of_them if fragment["type"] == "event-record-class"}
    levels = "emergency alert critical error warning notice info debug".split()
    first = [fragment for fragment in all_of_them[6:14]]
    expect_equal([fragment["attributes"]["babeltrace.org,2020"]["log-level"] for fragment in first], levels, "log levels")
    expect_equal(events["sample:base16"]["attributes"]["side"]["event"]["event"], "base16", "the description")
    members = {name: {member["name"]: member for member in event["payload-field-class"]["member-classes"]}
               for name, event in events.items()}
    classes = {name: {key: member["field-class"] for key, member in group.items()}
               for name, group in members.items()}
    expect_equal(members["sample:vla"]["_x_length"].get("attributes"), {"babeltrace.org,2020": {"is-key-only": True}}, "a hidden length")
    expect_equal(members["sample:vla"]["x"].get("attributes"), None, "a field")
    for name, field, kind in (("bool", "x", "fixed-length-boolean"), ("vlabytes", "x", "dynamic-length-blob"), ("vla", "x", "dynamic-length-array"),
                              ("float16", "x", "fixed-length-floating-point-number"),
                              ("bitmap", "x", "fixed-length-bit-map"), ("optional", "x", "optional"),
                              ("variant", "x", "variant"), ("null", "x", "structure"),
                              ("string16", "x", "null-terminated-string"), ("array", "x", "static-length-array")):
        expect_equal(classes["sample:" + name][field]["type"], kind, "the class of " + name)
    expect_equal(classes["sample:bitmap"]["x"]["flags"], {"read": [[0, 0]], "write": [[1, 1]], "mode": [[2, 4]], "ninth": [[9, 9]]}, "flags")
    expect_equal(classes["sample:float128"]["x"]["member-classes"][0]["field-class"]["type"], "static-length-blob", "a BLOB")
    expect_equal(classes["sample:pointer"]["x"]["preferred-display-base"], 16, "a base")
    selector = {tuple(option["path"]) for option in
                [classes["sample:optional"]["x"]["selector-field-location"]]}
    expect_equal(selector, {("_x_tag",)}, "a location")


# ---- channels and contexts ----

THREAD = ('{"vpid": 4711, "vtid": 4712, "tid": 5000, "procname": "name \\"x\\"", "thread_name": "worker", "cpu_id": 3, '
          '"ip": 18364758544493064720, "uid": 1000, "gid": 4294967295, "net_ns": 4026531840, "cgroup": "/user.slice", '
          '"perf_thread_cpu_cycles": 18446744073709551615, "_app_shop_request_tag": %s, "app_shop_request": %s, '
          '"_app_shop_user_tag": [4, "utf8"], "app_shop_user": "eva"}')
APPLICATION = (('[0, "none"]', "{}"), ('[1, "int64"]', "-7"), ('[2, "uint64"]', "18446744073709551615"),
               ('[3, "float64"]', "0.5"), ('[4, "utf8"]', '"caf\\u00e9"'), ('[5, "boolean"]', "1"))


def expected_channels():
    begin = 1600000000 * 10**9 + 10**15
    out = ['test:number %d {"number": 1}' % (begin + 1)]
    for index, pair in enumerate(APPLICATION):
        out.append('test:number %d %s {"number": %d}' % (begin + 10 + index, THREAD % pair, 10 + index))
    out.append('test:number %d {"vtid": 4713} {"number": 20}' % (begin + 20))
    out.append('test:own %d {"vtid": 4714} {"_app_shop_request_tag": [1, "int64"], "app_shop_request": 5, '
               '"procname": "both"} {"number": 21}' % (begin + 21))
    out.append('side:lost %d {"ring": "threads_17", "event": "test:number", "reason": "full", "count": 5}' % (begin + 40))
    return out


def test_channels():
    traces = {}
    for form in "12":
        for level in "03":
            trace = traces[form, level] = os.path.join(work.name, "channels-%s-%s" % (form, level))
            output(channels, trace, form, level)
            suffix = ".zst" if level != "0" else ""
            expect_equal(sorted(os.listdir(trace)),
                         sorted(["metadata"] + [name + suffix for name in ("plain_2", "threads_17", "both_0", "side_session")]), "files of " + trace)
            if level == "0":
                expect_equal(output(sample, "read-contexts", trace).splitlines(), expected_channels(), "contexts, our reader, " + form)
    # Babeltrace 2.0.4 supports no variants in the contexts of an event: there they are its first
    # field.
    theirs = [line.replace('} {"number": 21}', '}, "number": 21}').replace('4714} {"_app', '4714} {"side_context": {"_app')
              for line in expected_channels()]
    expect_equal(output("/usr/bin/python3", dump, traces["1", "0"], "--contexts").splitlines(), theirs, "contexts, babeltrace2")
    expect_equal(ctf2_reader.lines(traces["2", "0"], True), expected_channels(), "contexts, read plainly")
    for options in ([], ["-j"]):
        expect_equal(output(viewer, *options, traces["2", "0"]).splitlines(),
                     output(viewer, *options, traces["1", "0"]).splitlines(), "the view of both formats")
    with open(os.path.join(traces["1", "0"], "metadata")) as file:
        metadata = file.read()
    expect("base = 16; } _ip;" in metadata, f"the base of ip: {metadata}")
    # A ring of a thread has no CPU.
    cpus = [event.get("cpu") for event in map(json.loads, output(viewer, "-j", traces["2", "0"]).splitlines())]
    expect_equal(cpus[:9], [2] + [None] * 6 + [0, 0], "CPUs")


# ---- what other producers write ----

class Bits:
    def __init__(self):
        self.bits = []

    def align(self, align):
        while len(self.bits) % align:
            self.bits.append((0, "pad"))

    def number(self, value, size, order="little-endian", align=1):
        self.align(align)
        value &= (1 << size) - 1
        for i in range(size) if order == "little-endian" else range(size - 1, -1, -1):
            self.bits.append((value >> i & 1, order))

    def bytes(self, data):
        self.align(8)
        for byte in data:
            self.number(byte, 8)

    def leb128(self, value):
        while True:
            byte = value & 0x7f
            value >>= 7
            last = value == 0 and not byte & 0x40 or value == -1 and byte & 0x40
            self.bytes([byte | (0 if last else 0x80)])
            if last:
                return

    def uleb128(self, value):
        while True:
            byte = value & 0x7f
            value >>= 7
            self.bytes([byte | (0x80 if value else 0)])
            if not value:
                return

    def get(self):
        out = bytearray()
        self.align(8)
        for at in range(0, len(self.bits), 8):
            group = self.bits[at:at + 8]
            big = any(order == "big-endian" for _, order in group)
            bits = [bit for bit, _ in group]
            out.append(int("".join(map(str, bits if big else bits[::-1])), 2))
        return bytes(out)


def write(name, parts, streams):
    trace = os.path.join(work.name, name)
    os.mkdir(trace)
    with open(os.path.join(trace, "metadata"), "wb") as file:
        for part in parts:
            file.write(b"\x1e" + json.dumps(part, ensure_ascii=False).encode() + b"\n")
    for index, stream in enumerate(streams):
        with open(os.path.join(trace, "stream%d" % index), "wb") as file:
            file.write(stream)
    return trace


def uint(length=8, align=8, order="little-endian", **more):
    made = {"type": "fixed-length-unsigned-integer", "length": length, "byte-order": order, "alignment": align}
    made.update({key.replace("_", "-"): value for key, value in more.items()})
    return made


def sint(*args, **more):
    return dict(uint(*args, **more), type="fixed-length-signed-integer")


def struct_of(*members, align=1):
    return {"type": "structure", "minimum-alignment": align,
            "member-classes": [{"name": name, "field-class": made} for name, made in members]}


def at(*path, origin=None):
    return {"path": list(path), "origin": origin} if origin else {"path": list(path)}


STRING = {"type": "null-terminated-string"}


def one_stream(payload, header=None, **more):
    """Returns metadata of one stream without packets and clocks."""
    return [{"type": "preamble", "version": 2},
            dict({"type": "data-stream-class",
                  "event-record-header-field-class": header or struct_of(("id", uint(roles=["event-record-class-id"])))},
                 **more),
            {"type": "event-record-class", "id": 0, "name": "e", "payload-field-class": payload}]


def agree(what, trace, wanted=None, contexts=False):
    plain = ctf2_reader.lines(trace, contexts)
    ours = output(sample, "read-contexts" if contexts else "read", trace).splitlines()
    if wanted is not None:
        expect_equal(plain, wanted, what + ", read plainly")
    expect_equal(ours, plain, what + ", read by us")
    output(viewer, trace)
    output(viewer, "-j", trace)


def test_classes():
    """Every field class once, with its expected value next to it."""
    body = Bits()
    members, wanted = [], []

    def add(name, made, text, encode):
        members.append((name, made))
        encode()
        wanted.append('%s: %s' % (json.dumps(name), text))

    add("u3", uint(3, 1), "5", lambda: body.number(5, 3))
    add("s5", sint(5, 1), "-16", lambda: body.number(-16, 5))
    add("be13", uint(13, 8, "big-endian"), "8190", lambda: body.number(8190, 13, "big-endian", 8))
    add("be3", sint(3, 1, "big-endian"), "-3", lambda: body.number(-3, 3, "big-endian"))
    add("u64", uint(64, 8, preferred_display_base=16), str(2**64 - 1), lambda: body.number(2**64 - 1, 64, align=8))
    add("aligned", uint(16, 64), "258", lambda: body.number(258, 16, align=64))
    add("bits", {"type": "fixed-length-bit-array", "length": 12, "byte-order": "little-endian"}, "2748",
        lambda: body.number(0xabc, 12))
    add("flags", {"type": "fixed-length-bit-map", "length": 16, "byte-order": "little-endian", "alignment": 8,
                  "flags": {"low": [[0, 3]], "a b": [[15, 15], [2, 2]]}}, "32772", lambda: body.number(0x8004, 16, align=8))
    add("reversed", dict(uint(8), **{"bit-order": "last-to-first"}), "1", lambda: body.number(0x80, 8, align=8))
    add("reversed big", dict(sint(8, 8, "big-endian"), **{"bit-order": "first-to-last"}), "-128",
        lambda: body.number(1, 8, "big-endian", 8))
    add("natural", dict(uint(8), **{"bit-order": "first-to-last"}), "129", lambda: body.number(129, 8, align=8))
    add("true", {"type": "fixed-length-boolean", "length": 8, "byte-order": "little-endian", "alignment": 8}, "6",
        lambda: body.number(6, 8, align=8))
    add("f32", {"type": "fixed-length-floating-point-number", "length": 32, "byte-order": "big-endian",
                "alignment": 32}, "1.5", lambda: body.align(32) or body.bytes(struct.pack(">f", 1.5)))
    add("f64", {"type": "fixed-length-floating-point-number", "length": 64, "byte-order": "little-endian",
                "alignment": 8}, "0.10000000000000001", lambda: body.bytes(struct.pack("<d", 0.1)))
    add("leb", {"type": "variable-length-unsigned-integer"}, str(2**64 - 1), lambda: body.uleb128(2**64 - 1))
    add("leb0", {"type": "variable-length-unsigned-integer"}, "0", lambda: body.uleb128(0))
    for value in (-1, 0, 63, 64, -64, -65, 2**63 - 1, -2**63):
        add("sleb %d" % value, {"type": "variable-length-signed-integer"}, str(value),
            lambda: body.leb128(value))
    add("lebmap", {"type": "variable-length-signed-integer", "mappings": {"neg": [[-2**63, -1]], "x": [[-5, 5]]}},
        '[-3, "neg", "x"]', lambda: body.leb128(-3))
    add("enum", uint(8, mappings={"": [[7, 7]], "\u00e9 \"": [[0, 255]], "other": [[9, 18446744073709551615]]}),
        '[7, "", "\\u00e9 \\""]', lambda: body.number(7, 8, align=8))
    add("s", STRING, '"a\\u00e9"', lambda: body.bytes("a\u00e9\0".encode()))
    for encoding in ("utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be"):
        unit = 1 if "8" in encoding else 2 if "16" in encoding else 4
        data = "\u00e9\U0001f600x".encode(encoding)
        shown = '"\\u00e9\\ud83d\\ude00x"'
        add("nt " + encoding, dict(STRING, encoding=encoding), shown, lambda: body.bytes(data + bytes(unit)))
        add("st " + encoding, {"type": "static-length-string", "length": len(data) + 2 * unit, "encoding": encoding},
            shown, lambda: body.bytes(data + bytes(unit) + b"y" + bytes(unit - 1)))
        add("len " + encoding, {"type": "variable-length-unsigned-integer"}, str(len(data)),
            lambda: body.uleb128(len(data)))
        add("dy " + encoding, {"type": "dynamic-length-string", "encoding": encoding,
                               "length-field-location": at("len " + encoding)}, shown, lambda: body.bytes(data))
    add("blob", {"type": "static-length-blob", "length": 3, "media-type": "image/png"}, "[1, 255, 0]",
        lambda: body.bytes(b"\1\xff\0"))
    add("n", uint(4, 1), "2", lambda: body.number(2, 4))
    add("dblob", {"type": "dynamic-length-blob", "length-field-location": at("n")}, "[7, 8]",
        lambda: body.bytes(b"\7\10"))
    add("array", {"type": "static-length-array", "length": 2, "minimum-alignment": 32, "element-field-class":
                  struct_of(("k", uint(3, 1)), ("v", {"type": "dynamic-length-array", "element-field-class": uint(5, 1),
                                                     "length-field-location": at("k")}), align=16)},
        '[{"k": 2, "v": [30, 31]}, {"k": 0, "v": []}]',
        lambda: (body.align(32), body.number(2, 3), body.number(30, 5), body.number(31, 5), body.align(16),
                 body.number(0, 3)))
    add("empty", {"type": "static-length-array", "length": 0, "element-field-class": uint(8, 64)}, "[]",
        lambda: body.align(64))
    add("arrays", {"type": "static-length-array", "length": 2, "element-field-class":
                   {"type": "dynamic-length-array", "length-field-location": at("n"), "element-field-class":
                    {"type": "variable-length-unsigned-integer"}}}, "[[1, 300], [2, 3]]",
        lambda: [body.uleb128(value) for value in (1, 300, 2, 3)])
    add("there", {"type": "optional", "selector-field-location": at("true"), "field-class": uint(8)}, "77",
        lambda: body.number(77, 8, align=8))
    add("absent", {"type": "optional", "selector-field-location": at("n"), "selector-field-ranges": [[3, 9], [0, 1]],
                   "field-class": uint(8)}, "{}", lambda: None)
    add("ranged", {"type": "optional", "selector-field-location": at("s5"), "selector-field-ranges": [[-20, -10]],
                   "field-class": STRING}, '"in"', lambda: body.bytes(b"in\0"))
    add("v", {"type": "variant", "selector-field-location": at("be3"), "options": [
        {"field-class": uint(8), "selector-field-ranges": [[0, 3]]},
        {"name": "_neg", "field-class": struct_of(("up", {"type": "dynamic-length-blob",
                                                          "length-field-location": at(None, "n")}),
                                                  ("abs", {"type": "dynamic-length-array", "element-field-class": uint(8),
                                                           "length-field-location":
                                                           at("n", origin="event-record-payload")})),
         "selector-field-ranges": [[-3, -1], [-9223372036854775808, -5]]}]},
        '{"up": [1, 2], "abs": [3, 4]}', lambda: body.bytes(b"\1\2\3\4"))
    add("deep", struct_of(("a", struct_of(("b", struct_of(("len", uint(8)))))),
                          ("got", {"type": "dynamic-length-blob", "length-field-location": at("a", "b", "len")}),
                          ("also", struct_of(("it", {"type": "dynamic-length-blob", "length-field-location":
                                                     at(None, "a", "x", None, "b", "len")})))),
        '{"a": {"b": {"len": 1}}, "got": [9], "also": {"it": [8]}}', lambda: body.bytes(b"\1\x09\x08"))
    # A length in an option: the path leads through it without a step of its own.
    add("opt", {"type": "optional", "selector-field-location": at("n"), "selector-field-ranges": [[2, 2]],
                "field-class": struct_of(("len", uint(8)), ("d", {
                    "type": "dynamic-length-blob",
                    "length-field-location": at("opt", "len", origin="event-record-payload")}))},
        '{"len": 2, "d": [5, 6]}', lambda: body.bytes(b"\2\5\6"))
    add("_under.score \u00e9", uint(8), "3", lambda: body.number(3, 8, align=8))
    add("", uint(8), "4", lambda: body.number(4, 8, align=8))
    add("last", uint(), "200", lambda: body.number(200, 8, align=8))
    # `a`, `x`, null: one level up from x is a, so the independent reader must find the same path;
    # it supports no null inside.
    for name, made in members:
        if name == "deep":
            made["member-classes"][2]["field-class"]["member-classes"][0]["field-class"]["length-field-location"] = \
                at(None, "a", "b", "len")
    record = Bits()
    record.number(0, 8)
    record.bits += body.bits  # The body was aligned as if it began the packet.
    head = Bits()
    head.number(0, 64)
    head.bits += body.bits
    header = struct_of(("id", uint(64, roles=["event-record-class-id"])))
    trace = write("classes", one_stream(struct_of(*members), header), [head.get()])
    agree("every class", trace, ["e 0 {" + ", ".join(wanted) + "}"])


def test_inner_null():
    """A step up after a name removes the name."""
    payload = struct_of(("a", struct_of(("len", uint()), ("x", struct_of(("y", uint()))))),
                        ("d", {"type": "dynamic-length-blob", "length-field-location": at("a", "x", None, "len")}))
    trace = write("null", one_stream(payload), [bytes([0, 2, 9, 5, 6])])
    expect_equal(output(sample, "read", trace).splitlines(), ['e 0 {"a": {"len": 2, "x": {"y": 9}}, "d": [5, 6]}'], "null behind a name")


def test_packets():
    """Roles, clocks of few bits, aliases, scopes that refer to earlier ones, losses."""
    clock = "default-clock-timestamp"
    order = "big-endian"
    parts = [
        {"type": "preamble", "version": 2, "uuid": list(range(16)), "attributes": {"x": 1}},
        {"type": "field-class-alias", "name": "u16", "field-class": uint(16, 8, order)},
        {"type": "field-class-alias", "name": "pair", "field-class": struct_of(("a", "u16"), ("b", "u16"))},
        {"type": "clock-class", "id": "c", "name": "n", "frequency": 1000000, "origin": "unix-epoch",
         "offset-from-origin": {"seconds": -5, "cycles": 250000}, "precision": 3, "accuracy": 4},
        {"type": "trace-class", "uid": "u", "environment": {"hostname": "h", "n": -3, "big": 2**64 - 1},
         "packet-header-field-class": struct_of(
             ("magic", uint(32, 8, order, roles=["packet-magic-number"])),
             ("uuid", {"type": "static-length-blob", "length": 16, "roles": ["metadata-stream-uuid"]}),
             ("class", uint(8, roles=["data-stream-class-id"])), ("which", uint(8, roles=["data-stream-id"])),
             ("count", uint(8)))},
        {"type": "data-stream-class", "id": 3, "name": "s", "default-clock-class-id": "c",
         "packet-context-field-class": struct_of(
             ("total", uint(32, 8, order, roles=["packet-total-length"])),
             ("content", {"type": "variable-length-unsigned-integer", "roles": ["packet-content-length"]}),
             ("begin", uint(64, 8, order, roles=[clock])),
             ("end", uint(64, 8, order, roles=["packet-end-" + clock])),
             ("lost", uint(16, 8, order, roles=["discarded-event-record-counter-snapshot"])),
             ("seq", uint(8, roles=["packet-sequence-number"])), ("cpu_id", uint(8))),
         "event-record-header-field-class": struct_of(
             ("id", uint(8, roles=["event-record-class-id"])), ("t", uint(8, roles=[clock]))),
         "event-record-common-context-field-class": struct_of(("c", uint(8)), ("s", STRING))},
        {"type": "event-record-class", "id": 9, "data-stream-class-id": 3, "name": "p:one",
         "attributes": {"lttng.org,2009": {"log-level": "debug:unit", "emf-uri": "http://x"}},
         "specific-context-field-class": struct_of(
             ("from", {"type": "dynamic-length-blob", "length-field-location":
                       at("c", origin="event-record-common-context")})),
         "payload-field-class": struct_of(
             ("p", "pair"),
             ("n", {"type": "dynamic-length-array", "element-field-class": "u16", "length-field-location":
                    at("count", origin="packet-header")}),
             ("cpu", {"type": "variant", "selector-field-location": at("cpu_id", origin="packet-context"), "options": [
                 {"name": "few", "field-class": struct_of(), "selector-field-ranges": [[0, 3]]},
                 {"name": "many", "field-class": uint(), "selector-field-ranges": [[4, 255]]}]}))},
        {"type": "data-stream-class", "id": 0},
        {"type": "event-record-class", "payload-field-class": struct_of(("only", uint()))},
    ]
    streams = []
    body = Bits()
    times = [300, 301, 511, 512, 1000, 1100]
    expected = []
    for number in range(3):
        packet = Bits()
        for value in [0xc1fc1fc1]:
            packet.number(value, 32, order)
        packet.bytes(bytes(range(16)) + bytes([3, 7, 2]))
        inner = Bits()
        for time in times[2 * number:2 * number + 2]:
            inner.bytes(bytes([9, time & 0xff, 2]) + b"hey\0" + b"\5\6" + struct.pack(">4H", 1, 2, 3, 4))
            if number:
                inner.bytes(b"\x11")
            ns = -5 * 10**9 + 250000 * 1000 + time * 1000
            expected.append('p:one %d {"c": 2, "s": "hey"} {"from": [5, 6]} {"p": {"a": 1, "b": 2}, "n": [3, 4], "cpu": %s}'
                            % (ns, "17" if number else "{}"))
        content = (23 + 4 + 2 + 8 + 8 + 2 + 1 + 1) * 8 + len(inner.bits)
        packet.number(content + 64, 32, order)
        packet.uleb128(content)
        packet.bytes(struct.pack(">QQHBB", times[2 * number], times[2 * number + 1], [0xfffe, 3, 3][number], number,
                                 4 * bool(number)))
        packet.bits += inner.bits
        expect_equal(len(packet.bits), content, "the length of a packet")
        packet.bytes(b"\xee" * 8)
        body.bits += packet.bits
    streams.append(body.get())
    second = Bits()
    second.number(0xc1fc1fc1, 32, order)
    second.bytes(bytes(range(16)) + bytes([0, 0, 0]) + bytes([1, 2, 3]))
    streams.append(second.get())
    trace = write("packets", parts, streams)
    ours = output(sample, "read-contexts", trace).splitlines()
    expect_equal([line for line in ours if line.startswith("discarded")], ["discarded 5"], "packets, lost")
    events = sorted(line for line in ours if not line.startswith("discarded"))
    # An event without a name is named by its number, one without a clock has no time.
    expect_equal(events, sorted(expected + ['0 0 {"only": %d}' % number for number in (1, 2, 3)]), "packets, read by us")
    plain = ctf2_reader.lines(trace, True)
    expect_equal(sorted(line for line in plain if not line.startswith("discarded")),
                 sorted(expected + ['0 0 {"only": %d}' % number for number in (1, 2, 3)]), "packets, read plainly")
    objects = [json.loads(line) for line in output(viewer, "-j", trace).splitlines()]
    first = [item for item in objects if item.get("event") == "p:one"][0]
    expect_equal((first["hostname"], first["cpu"]), ("h", 0), "what the view says")


def test_uuid_sizes():
    """A field with the role of a UUID is one if it has 16 bytes. It must then equal the UUID of the metadata. Other sizes are plain bytes."""
    for length in (1, 15, 16, 17, 32):
        for differs in (False, True):
            parts = one_stream(struct_of(("x", uint())))
            parts[0]["uuid"] = list(range(16))
            parts.insert(1, {"type": "trace-class", "packet-header-field-class": struct_of(
                ("uuid", {"type": "static-length-blob", "length": length, "roles": ["metadata-stream-uuid"]}))})
            uuid = bytearray(range(length))
            uuid[0] ^= differs
            trace = write("uuid-%d-%d" % (length, differs), parts, [bytes(uuid) + bytes([0, 7])])
            done = subprocess.run([viewer, trace], capture_output=True, text=True, env=dict(os.environ, TZ="UTC"))
            expect_equal([done.returncode, done.stdout.count("x = 7")], [0, 1], "bytes of a UUID, events")
            expect_equal("a packet has another UUID than the metadata" in done.stdout + done.stderr,
                         length == 16 and differs, "a UUID of %d bytes, another one: %s" % (length, differs))


def test_wide_selectors():
    """Ranges beyond the values that the selector can have."""
    options = [{"name": "a", "field-class": uint(), "selector-field-ranges": [[-5, 3], [200, 99999]]},
               {"name": "b", "field-class": STRING, "selector-field-ranges": [[4, 199]]}]
    payload = struct_of(("k", uint()), ("v", {"type": "variant", "selector-field-location": at("k"),
                                              "options": options}))
    data = b"".join(bytes([0, key]) + (b"t\0" if 4 <= key < 200 else b"\x07") for key in (0, 3, 4, 199, 200, 255))
    agree("wide ranges", write("wide", one_stream(payload), [data]))


WRONG = {
    "no preamble": [{"type": "data-stream-class"}],
    "version": [{"type": "preamble", "version": 3}, {"type": "data-stream-class"}],
    "extension": [{"type": "preamble", "version": 2, "extensions": {"x": {}}}, {"type": "data-stream-class"}],
    "fragment": [{"type": "preamble", "version": 2}, {"type": "strange"}],
    "no stream": [{"type": "preamble", "version": 2}],
    "class": one_stream(struct_of(("x", {"type": "strange"}))),
    "bits": one_stream(struct_of(("x", uint(65)))),
    "float": one_stream(struct_of(("x", {"type": "fixed-length-floating-point-number", "length": 16,
                                         "byte-order": "little-endian"}))),
    "order": one_stream(struct_of(("x", {"type": "fixed-length-boolean", "length": 8}))),
    "alignment": one_stream(struct_of(("x", uint(8, 3)))),
    "alias": one_stream(struct_of(("x", "none"))),
    "later": one_stream(struct_of(("x", {"type": "dynamic-length-blob", "length-field-location": at("y")}),
                                  ("y", uint()))),
    "signed length": one_stream(struct_of(("y", sint()), ("x", {"type": "dynamic-length-blob",
                                                                "length-field-location": at("y")}))),
    "text as selector": one_stream(struct_of(("y", STRING), ("x", {
        "type": "optional", "selector-field-location": at("y"), "field-class": uint()}))),
    "up too far": one_stream(struct_of(("y", uint()), ("x", {"type": "dynamic-length-blob",
                                                             "length-field-location": at(None, "y")}))),
    "later scope": one_stream(struct_of(), struct_of(("id", uint()), ("x", {
        "type": "dynamic-length-blob", "length-field-location": at("y", origin="event-record-payload")}))),
    "clock": one_stream(struct_of(), **{"default-clock-class-id": "none"}),
    "scope": one_stream(uint()),
}


def test_wrong():
    """Unreadable input is reported, and none of it makes the reader crash."""
    for what, parts in WRONG.items():
        trace = write("wrong-" + what.replace(" ", "-"), parts, [bytes(16)])
        done = subprocess.run([viewer, trace], capture_output=True, text=True)
        expect_equal(done.returncode, 1, "the status of " + what)
        expect("metadata" in done.stderr, f"the sentence about {what}: {done.stderr}")
    # The events before and after a damaged one are read.
    parts = one_stream(struct_of(("x", uint())))
    parts.append({"type": "event-record-class", "id": 1, "name": "bad", "payload-field-class": struct_of(("x", uint(65)))})
    parts.append({"type": "event-record-class", "id": 2, "name": "good", "payload-field-class": struct_of(("x", uint()))})
    trace = write("partly", parts, [bytes([0, 5, 2, 6])])
    lines = output(sample, "read", trace).splitlines()
    expect_equal([line for line in lines if "kind" not in line], ['e 0 {"x": 5}', 'good 0 {"x": 6}'], "around a wrong event")
    expect_equal(len([line for line in lines if "65 bits" in line]), 1, "said")


def random_class(depth, names):
    """Returns a random class and a function that returns random bits of it."""
    order = random.choice(["little-endian", "big-endian"])
    kind = random.randrange(11 if depth else 7)
    if kind < 3:
        length = random.randint(1, 64)
        signed = random.random() < 0.5
        align = random.choice([8, 8, 16, 32])  # Never within a byte of another byte order.
        made = (sint if signed else uint)(length, align, order)
        if random.random() < 0.3:
            made["bit-order"] = random.choice(["first-to-last", "last-to-first"])
        return made, lambda bits: bits.number(random.getrandbits(64), length, order, align)
    if kind == 3:
        return ({"type": "variable-length-signed-integer"},
                lambda bits: bits.leb128(random.getrandbits(random.randint(1, 63)) - 2**62))
    if kind == 4:
        encoding = random.choice(["utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be"])

        def text(bits):
            chosen = "".join(chr(random.choice([65, 0xe9, 0x20ac, 0x1f600])) for _ in range(random.randrange(5)))
            bits.bytes((chosen + "\0").encode(encoding))
        return dict(STRING, encoding=encoding), text
    if kind == 5:
        size = random.randrange(6)
        return {"type": "static-length-blob", "length": size}, lambda bits: bits.bytes(random.randbytes(size))
    if kind == 6:
        return ({"type": "variable-length-unsigned-integer", "mappings": {"x": [[0, 99]], "y": [[50, 2**63]]}},
                lambda bits: bits.uleb128(random.getrandbits(random.randint(1, 64))))
    inner, encode = random_class(depth - 1, names)
    if kind == 7:
        length, align = random.randrange(4), random.choice([1, 8, 32])

        def array(bits):
            bits.align(max(align, alignment(inner)))
            for _ in range(length):
                encode(bits)
        return {"type": "static-length-array", "length": length, "minimum-alignment": align,
                "element-field-class": inner}, array
    members = [(str(index), *random_class(depth - 1, names)) for index in range(random.randrange(1, 4))]
    key = uint(random.randint(3, 32), 8, order)
    align = random.choice([1, 8, 64])
    if kind == 8:
        dependent = {"type": "dynamic-length-array", "length-field-location": at("key"), "element-field-class": inner}
    elif kind == 9:
        dependent = {"type": "optional", "selector-field-location": at("key"), "selector-field-ranges": [[2, 3]],
                     "field-class": inner}
    else:
        dependent = {"type": "variant", "selector-field-location": at("key"), "options": [
            {"name": "none", "field-class": struct_of(), "selector-field-ranges": [[0, 1], [3, 2**32]]},
            {"name": "two", "field-class": inner, "selector-field-ranges": [[2, 2]]}]}
    made = struct_of(("key", key), ("made", dependent), *[(name, inner_class) for name, inner_class, _ in members],
                     align=align)

    def structure(bits):
        bits.align(alignment(made))
        value = random.randrange(4)
        bits.number(value, key["length"], order, 8)
        if kind == 8:
            bits.align(alignment(inner))
            for _ in range(value):
                encode(bits)
        elif kind == 9 and value >= 2 or kind == 10 and value == 2:
            encode(bits)
        for _, _, one in members:
            one(bits)
    return made, structure


def alignment(made):
    kind = made["type"]
    if kind == "structure":
        return max([made["minimum-alignment"]] + [alignment(member["field-class"]) for member in made["member-classes"]])
    if kind.endswith("length-array"):
        return max(made.get("minimum-alignment", 1), alignment(made["element-field-class"]))
    if kind in ("optional", "variant"):
        return 1
    return made.get("alignment", 8 if not kind.startswith("fixed") else 1)


def test_random():
    random.seed(2)
    for index in range(300 if LONG else 25):
        classes = [("f%d" % number, *random_class(3, None)) for number in range(3)]
        classes.append(("end", uint(), lambda bits: bits.number(7, 8, align=8)))  # The record ends at a whole byte.
        payload = struct_of(*[(name, made) for name, made, _ in classes])
        bits = Bits()
        for _ in range(20):
            bits.align(64)
            bits.number(0, 64)
            bits.align(alignment(payload))
            for _, _, encode in classes:
                encode(bits)
        header = struct_of(("id", uint(64, 64, roles=["event-record-class-id"])))
        agree("random %d" % index, write("random%d" % index, one_stream(payload, header), [bits.get()]))


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
finish()
