# SPDX-License-Identifier: MIT
"""Limits of the reader of traces: metadata in both forms, and streams, with the last permitted value and one more.

usage: test-traces.py SIDE
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SIDE = os.path.abspath(sys.argv[1])
TSDL = ("/* CTF 1.8 */\ntypealias integer { size = 8; align = 8; signed = false; } := u8;\n"
        "trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u8 stream_id; }; };\n"
        "stream { id = 0; event.header := struct { u8 id; }; };\n"
        'event { name = "ev"; id = 0; stream_id = 0; fields := struct { %s }; };\n')
U8 = {"type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "little-endian"}


def ctf2(field, **preamble):
    fragments = [{"type": "preamble", "version": 2, **preamble}, {"type": "trace-class"}, {"type": "data-stream-class"},
                 {"type": "event-record-class", "name": "ev",
                  "payload-field-class": {"type": "structure", "member-classes": [{"name": "x", "field-class": field}]}}]
    return "".join(f"\x1e{fragment if isinstance(fragment, str) else json.dumps(fragment)}\n" for fragment in fragments)


def structures(count, inner):
    """Written as text, because the encoder of Python has its own limit."""
    return '{"type":"structure","member-classes":[{"name":"s","field-class":' * count + json.dumps(inner) + "}]}" * count


def first_value(text):
    """Returns the number inside of all levels around it."""
    digits = "".join(letter if letter.isdigit() else " " for letter in text[text.index('"fields"'):])
    return int(digits.split()[0])


class Traces(unittest.TestCase):
    maxDiff = None

    def view(self, metadata, data):
        """Returns the first event, or None; the first error, or None."""
        with tempfile.TemporaryDirectory() as path:
            with open(os.path.join(path, "metadata"), "w", encoding="utf-8") as file:
                file.write(metadata)
            with open(os.path.join(path, "stream"), "wb") as file:
                file.write(data)
            done = subprocess.run([SIDE, "view", "--json", "-n", "1", path], capture_output=True, text=True, timeout=60, check=False)
        events = [line for line in done.stdout.splitlines() if line.startswith('{"schema":1,"type":"event"')]
        errors = [json.loads(line)["message"].replace(path, "TRACE") for line in done.stderr.splitlines()]
        self.assertEqual(done.returncode != 0, bool(errors), done.stderr)
        return events[0] if events else None, errors[0] if errors else None

    def limit(self, last, following, refusal, data=b"\0\0\7"):
        event, error = self.view(last, data)
        self.assertIsNone(error)
        self.assertEqual(first_value(event), 7)
        event, error = self.view(following, data)
        self.assertEqual((event, error), (None, refusal))

    def tsdl(self, last, following, refusal):
        self.limit(TSDL % last, TSDL % following, f"TRACE: line 5 of the metadata: {refusal}")

    def ctf2(self, last, following, refusal):
        self.limit(last, following, f"TRACE: the metadata cannot be read: {refusal}", b"\7")

    def test_names(self):
        self.tsdl(f"u8 {'n' * 1023};", f"u8 {'n' * 1024};", "a name is missing")

    def test_nested_types(self):
        self.tsdl("struct { " * 510 + "u8 x; " + "} s; " * 510, "struct { " * 511 + "u8 x; " + "} s; " * 511,
                  "types are nested too deep")

    def test_keys(self):
        event, error = self.view(TSDL % "u8 x;" + f"env {{ {'k' * 127} = 1; }};\n", b"\0\0\7")
        self.assertEqual((first_value(event), error), (7, None))
        event, error = self.view(TSDL % "u8 x;" + f"env {{ {'k' * 128} = 1; }};\n", b"\0\0\7")
        self.assertEqual(error, "TRACE: line 6 of the metadata: a key is too long")

    def test_alignment(self):
        def aligned(bits):
            return TSDL % f"integer {{ size = 8; align = {bits}; }} x;"
        data = b"\0\0" + b"\0" * (65536 // 8 - 2) + b"\7"
        self.limit(aligned(65536), aligned(131072), "TRACE: line 5 of the metadata: an alignment must be a power of two, at most 65536", data)
        event, error = self.view(aligned(3), data)
        self.assertEqual(error, "TRACE: line 5 of the metadata: an alignment must be a power of two, at most 65536")

    def test_alignment_of_ctf2(self):
        self.ctf2(ctf2({**U8, "alignment": 65536}), ctf2({**U8, "alignment": 131072}), "an alignment must be a power of two, at most 65536")

    def test_nested_classes(self):
        def nested(count):
            return ctf2("INNER").replace('"INNER"', structures(count, U8))
        self.ctf2(nested(510), nested(511), "field classes are nested deeper than 512")

    def test_nested_json(self):
        def nested(count):
            """The fragment and its member are two levels."""
            text = ctf2(U8, extensions={"x": "INNER"}).replace('"INNER"', "[" * (count - 2) + "]" * (count - 2))
            return self.view(text, b"\7")[1]
        self.assertEqual(nested(2200), 'TRACE: the metadata cannot be read: it uses the extension "x", which this version does not know')
        self.assertIn("it is nested too deep", nested(2201))

    def test_elements_without_bits(self):
        def array(count):
            return self.view(ctf2({"type": "static-length-array", "length": count, "element-field-class": {"type": "structure"}}), b"\7")[1]
        damaged = "TRACE/stream, byte 0, is damaged: %s; the remainder of this packet is skipped, 0 events of it are shown"
        self.assertEqual(array(1 << 20), damaged % "an event has no bytes")
        self.assertEqual(array((1 << 20) + 1), damaged % "an array of empty elements is too long")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
