# SPDX-License-Identifier: MIT
"""A reader of CTF 2 that shares no code with side: small, slow, written from the specification of the
format only. Tests compare side's writer and reader with it where no other reader is installed.

ctf2_reader.py DIR [--contexts]     prints events in the form of `ctf-sample read`
"""
import json
import math
import os
import re
import struct
import sys


class Wrong(Exception):
    pass


# ---- metadata ----

COMMON = {"type", "attributes", "extensions"}
PROPERTIES = {
    "preamble": {"version", "uuid"},
    "field-class-alias": {"name", "field-class"},
    "clock-class": {"id", "frequency", "namespace", "name", "uid", "description", "origin", "offset-from-origin",
                    "precision", "accuracy"},
    "trace-class": {"namespace", "name", "uid", "environment", "packet-header-field-class"},
    "data-stream-class": {"id", "namespace", "name", "uid", "default-clock-class-id", "packet-context-field-class",
                          "event-record-header-field-class", "event-record-common-context-field-class"},
    "event-record-class": {"id", "data-stream-class-id", "namespace", "name", "uid", "specific-context-field-class",
                           "payload-field-class"},
}
FIXED = {"length", "byte-order", "alignment", "bit-order"}
INTEGER = {"preferred-display-base", "mappings", "roles"}
CLASSES = {
    "fixed-length-bit-array": FIXED,
    "fixed-length-bit-map": FIXED | {"flags"},
    "fixed-length-boolean": FIXED,
    "fixed-length-unsigned-integer": FIXED | INTEGER,
    "fixed-length-signed-integer": FIXED | INTEGER - {"roles"},
    "fixed-length-floating-point-number": FIXED,
    "variable-length-unsigned-integer": INTEGER,
    "variable-length-signed-integer": INTEGER - {"roles"},
    "null-terminated-string": {"encoding"},
    "static-length-string": {"length", "encoding"},
    "dynamic-length-string": {"length-field-location", "encoding"},
    "static-length-blob": {"length", "media-type", "roles"},
    "dynamic-length-blob": {"length-field-location", "media-type"},
    "structure": {"member-classes", "minimum-alignment"},
    "static-length-array": {"length", "element-field-class", "minimum-alignment"},
    "dynamic-length-array": {"length-field-location", "element-field-class", "minimum-alignment"},
    "optional": {"field-class", "selector-field-location", "selector-field-ranges"},
    "variant": {"selector-field-location", "options"},
}
SCOPES = ("packet-header", "packet-context", "event-record-header", "event-record-common-context",
          "event-record-specific-context", "event-record-payload")
ROLES = {
    "packet-header": {"packet-magic-number", "metadata-stream-uuid", "data-stream-class-id", "data-stream-id"},
    "packet-context": {"packet-total-length", "packet-content-length", "default-clock-timestamp",
                       "packet-end-default-clock-timestamp", "discarded-event-record-counter-snapshot",
                       "packet-sequence-number"},
    "event-record-header": {"default-clock-timestamp", "event-record-class-id"},
}


def no_doubles(pairs):
    names = [name for name, _ in pairs]
    if len(names) != len(set(names)):
        raise Wrong("a name is twice in an object: %r" % names)
    return dict(pairs)


def only(thing, allowed, what):
    unknown = set(thing) - allowed - COMMON
    if unknown or thing.get("extensions"):
        raise Wrong("%s has %r" % (what, unknown))


class Metadata:
    def __init__(self, text):
        if text[:1] != b"\x1e":
            raise Wrong("not CTF 2")
        self.aliases, self.clocks, self.streams, self.trace = {}, {}, {}, {}
        self.uuid = None
        fragments = [json.loads(part.decode("utf-8"), object_pairs_hook=no_doubles)
                     for part in text.split(b"\x1e")[1:]]
        if fragments[0]["type"] != "preamble" or fragments[0]["version"] != 2:
            raise Wrong("no preamble")
        for fragment in fragments:
            only(fragment, PROPERTIES[fragment["type"]], "a " + fragment["type"])
            getattr(self, "read_" + fragment["type"].replace("-", "_"))(fragment)
        if not self.streams:
            raise Wrong("no data stream class")

    def read_preamble(self, fragment):
        if "uuid" in fragment:
            self.uuid = bytes(fragment["uuid"])

    def read_field_class_alias(self, fragment):
        self.aliases[fragment["name"]] = fragment["field-class"]

    def read_clock_class(self, fragment):
        offset = fragment.get("offset-from-origin", {})
        if offset.get("cycles", 0) >= fragment["frequency"]:
            raise Wrong("the offset of a clock is beyond a second")
        self.clocks[fragment["id"]] = (fragment["frequency"], offset.get("seconds", 0), offset.get("cycles", 0))

    def read_trace_class(self, fragment):
        if self.trace or self.streams:
            raise Wrong("a trace class is at a wrong position")
        self.trace = fragment
        for value in fragment.get("environment", {}).values():
            if not isinstance(value, (str, int)) or isinstance(value, bool):
                raise Wrong("the environment has %r" % value)
        self.header = self.scope(fragment, "packet-header", "packet-header-field-class")

    def read_data_stream_class(self, fragment):
        if fragment.get("id", 0) in self.streams:
            raise Wrong("a data stream class is there twice")
        clock = fragment.get("default-clock-class-id")
        self.streams[fragment.get("id", 0)] = {
            "clock": self.clocks[clock] if clock is not None else None, "events": {},
            "packet-context": self.scope(fragment, "packet-context", "packet-context-field-class"),
            "event-record-header": self.scope(fragment, "event-record-header", "event-record-header-field-class"),
            "event-record-common-context": self.scope(fragment, "event-record-common-context",
                                                      "event-record-common-context-field-class"),
        }

    def read_event_record_class(self, fragment):
        events = self.streams[fragment.get("data-stream-class-id", 0)]["events"]
        if fragment.get("id", 0) in events:
            raise Wrong("an event record class is there twice")
        events[fragment.get("id", 0)] = {
            "name": fragment.get("name"), "attributes": fragment.get("attributes", {}),
            "event-record-specific-context": self.scope(fragment, "event-record-specific-context",
                                                        "specific-context-field-class"),
            "event-record-payload": self.scope(fragment, "event-record-payload", "payload-field-class"),
        }

    header = None

    def scope(self, fragment, scope, key):
        if key not in fragment:
            return None
        made = self.field_class(fragment[key], scope)
        if made["type"] != "structure":
            raise Wrong("a scope is no structure")
        return made

    def field_class(self, source, scope):
        """Returns the class with resolved aliases and the alignment in "align"; checks its properties."""
        if isinstance(source, str):
            return self.field_class(self.aliases[source], scope)
        made = dict(source)
        kind = made["type"]
        only(made, CLASSES[kind], "a " + kind)
        for role in made.get("roles", []):
            if role not in ROLES.get(scope, set()):
                raise Wrong("the role %s is in the scope %s" % (role, scope))
        made["align"] = 1
        if kind.startswith("fixed"):
            if made["byte-order"] not in ("little-endian", "big-endian") or not 1 <= made["length"] <= 64:
                raise Wrong("%r" % made)
            if "float" in kind and made["length"] not in (32, 64):
                raise Wrong("a float of %d bits" % made["length"])
            made["align"] = made.get("alignment", 1)
        elif kind.startswith("variable") or kind.endswith(("string", "blob")):
            made["align"] = 8
        elif kind == "structure":
            members = [(member["name"], self.field_class(member["field-class"], scope))
                       for member in made.get("member-classes", [])]
            for member in made.get("member-classes", []):
                only(member, {"name", "field-class"}, "a member")
            if len(members) != len({name for name, _ in members}):
                raise Wrong("two members of one name")
            made["members"] = members
            made["align"] = max([made.get("minimum-alignment", 1)] + [inner["align"] for _, inner in members])
        elif kind.endswith("array"):
            made["element"] = self.field_class(made["element-field-class"], scope)
            made["align"] = max(made.get("minimum-alignment", 1), made["element"]["align"])
        elif kind == "optional":
            made["inner"] = self.field_class(made["field-class"], scope)
        elif kind == "variant":
            made["choices"] = []
            seen = []
            for option in made["options"]:
                only(option, {"name", "field-class", "selector-field-ranges"}, "an option")
                ranges = option["selector-field-ranges"]
                if not ranges or any(a <= d and c <= b for a, b in ranges for c, d in seen):
                    raise Wrong("ranges of options overlap or are missing: %r" % made)
                seen += ranges
                made["choices"].append((ranges, self.field_class(option["field-class"], scope)))
        if made["align"] & (made["align"] - 1) or made["align"] < 1:
            raise Wrong("an alignment of %r" % made["align"])
        return made


# ---- data ----

class Text(str):
    """A string, which is printed with quotes."""


class Number(int):
    """An integer that may have labels."""
    labels = ()
    mapped = False


class Absent:
    pass


class Packet:
    """Reads bits from the begin of a packet on."""

    def __init__(self, data):
        self.data = data  # A view instead of a copy, because there are many packets.
        self.at = 0
        self.end = len(data) * 8
        self.order = None
        self.clock = 0
        self.roles = {}
        self.scopes = {}

    def align(self, bits):
        self.at = (self.at + bits - 1) // bits * bits

    def take(self, length, order):
        if self.at + length > self.end:
            raise Wrong("a field is beyond the end")
        if self.at % 8 and order != self.order:
            raise Wrong("the byte order changes inside a byte")
        self.order = order
        if self.at % 8 == 0 and length % 8 == 0:
            value = int.from_bytes(self.data[self.at // 8:(self.at + length) // 8], order.split("-")[0])
            self.at += length
            return value
        value = 0
        for i in range(length):
            byte, bit = divmod(self.at + i, 8)
            if order == "little-endian":
                value |= (self.data[byte] >> bit & 1) << i
            else:
                value = value << 1 | (self.data[byte] >> (7 - bit) & 1)
        self.at += length
        return value

    def bytes(self, count):
        self.align(8)
        if self.at + count * 8 > self.end:
            raise Wrong("bytes are beyond the end")
        data = bytes(self.data[self.at // 8:self.at // 8 + count])
        self.at += count * 8
        return data

    # -- locations --

    def target(self, location, stack):
        origin = location.get("origin")
        path = list(location["path"])
        if origin is not None:
            here = self.scopes[origin]
        else:
            up = 0
            while path[0] is None:
                path.pop(0)
                up += 1
            here = stack[-1 - up]
        for step in path:
            while isinstance(here, list):
                here = here[-1]  # The element that is being decoded.
            here = here[step]
        if not isinstance(here, int):
            raise Wrong("%r leads to %r" % (location, here))
        return here

    # -- fields --

    def fixed(self, field):
        self.align(field["align"])
        length, order = field["length"], field["byte-order"]
        value = self.take(length, order)
        natural = "first-to-last" if order == "little-endian" else "last-to-first"
        if field.get("bit-order", natural) != natural:
            value = int(format(value, "0%db" % length)[::-1], 2)
        if field["type"] == "fixed-length-floating-point-number":
            return struct.unpack("<f" if length == 32 else "<d", value.to_bytes(length // 8, "little"))[0]
        if field["type"] == "fixed-length-signed-integer" and value >> (length - 1):
            value -= 1 << length
        return self.number(field, value, length)

    def leb128(self, field):
        value = bits = 0
        while True:
            byte = self.bytes(1)[0]
            value |= (byte & 0x7f) << bits
            bits += 7
            if not byte & 0x80:
                break
        if "unsigned" not in field["type"] and byte & 0x40:
            value -= 1 << bits
        return self.number(field, value, bits)

    def number(self, field, value, bits):
        number = Number(value)
        if "mappings" in field:
            number.mapped = True
            number.labels = [label for label, ranges in field["mappings"].items()
                             if any(low <= value <= high for low, high in ranges)]
        for role in field.get("roles", []):
            self.roles[role] = value
            if role == "default-clock-timestamp":
                if bits >= 64:
                    self.clock = value
                else:
                    low = self.clock & ((1 << bits) - 1)
                    self.clock += value - low + ((1 << bits) if value < low else 0)
        return number

    def text(self, field, data):
        encoding = field.get("encoding", "utf-8")
        unit = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[re.sub("[lb]e$", "", encoding)]
        if len(data) % unit:
            raise Wrong("half a character")
        for at in range(0, len(data), unit):
            if data[at:at + unit] == bytes(unit):
                data = data[:at]
                break
        try:
            return Text(data.decode(encoding, "surrogatepass" if unit == 1 else "replace"))
        except UnicodeDecodeError:
            return Text(data.decode(encoding, "replace"))

    def terminated(self, field):
        encoding = field.get("encoding", "utf-8")
        unit = 1 if encoding == "utf-8" else 2 if "16" in encoding else 4
        data = b""
        while True:
            piece = self.bytes(unit)
            if piece == bytes(unit):
                return self.text(field, data)
            data += piece

    def length(self, field, stack):
        if "length" in field:
            return field["length"]
        return self.target(field["length-field-location"], stack)

    def decode(self, field, stack):
        kind = field["type"]
        if kind.startswith("fixed"):
            return self.fixed(field)
        if kind.startswith("variable"):
            return self.leb128(field)
        if kind == "null-terminated-string":
            return self.terminated(field)
        if kind.endswith("string"):
            return self.text(field, self.bytes(self.length(field, stack)))
        if kind.endswith("blob"):
            data = self.bytes(self.length(field, stack))
            for role in field.get("roles", []):
                self.roles[role] = data
            return data
        if kind == "structure":
            return self.structure(field, stack, {})
        if kind.endswith("array"):
            return self.array(field, stack, [])
        field = self.selected(field, stack)
        return Absent if field is Absent else self.decode(field, stack)

    def structure(self, field, stack, made):
        self.align(field["align"])
        for name, member in field["members"]:
            while member is not Absent and member["type"] in ("optional", "variant"):
                member = self.selected(member, stack + [made])
            # A path may lead through a structure that is not complete yet.
            if member is Absent:
                made[name] = Absent
            elif member["type"] == "structure":
                made[name] = {}
                self.structure(member, stack + [made], made[name])
            elif member["type"].endswith("array") and member["type"] != "fixed-length-bit-array":
                made[name] = []
                self.array(member, stack + [made], made[name])
            else:
                made[name] = self.decode(member, stack + [made])
        return made

    def array(self, field, stack, made):
        length = self.length(field, stack)
        self.align(field["align"])
        for _ in range(length):
            if field["element"]["type"] == "structure":
                made.append({})
                self.structure(field["element"], stack, made[-1])
            else:
                made.append(self.decode(field["element"], stack))
        return made

    def selected(self, field, stack):
        """Returns the selected class, or Absent."""
        value = self.target(field["selector-field-location"], stack)
        if field["type"] == "optional":
            ranges = field.get("selector-field-ranges")
            there = any(low <= value <= high for low, high in ranges) if ranges is not None else bool(value)
            return field["inner"] if there else Absent
        for ranges, choice in field["choices"]:
            if any(low <= value <= high for low, high in ranges):
                return choice
        raise Wrong("no option for %d" % value)

    def scope(self, name, field):
        if field is not None:
            made = self.scopes[name] = {}
            self.structure(field, [], made)
            return made
        self.scopes.pop(name, None)
        return None


def nanoseconds(clock, value):
    frequency, seconds, cycles = clock
    return seconds * 10**9 + (cycles + value) * 10**9 // frequency


def read_stream(metadata, data):
    """Returns the events of one file, and the losses: (ns, name, scopes) and ("discarded", count)."""
    at = 0
    previous = None
    while at < len(data):
        packet = Packet(memoryview(data)[at:])
        packet.scope("packet-header", metadata.header)
        if packet.roles.get("packet-magic-number", 0xc1fc1fc1) != 0xc1fc1fc1:
            raise Wrong("no packet begins at byte %d" % at)
        if packet.roles.get("metadata-stream-uuid", metadata.uuid) != metadata.uuid:
            raise Wrong("the packet belongs to another trace")
        stream = metadata.streams[packet.roles.get("data-stream-class-id", min(metadata.streams))]
        packet.scope("packet-context", stream["packet-context"])
        total = packet.roles.get("packet-total-length", packet.roles.get("packet-content-length", packet.end))
        content = packet.roles.get("packet-content-length", total)
        if total % 8 or content > total or at * 8 + total > len(data) * 8:
            raise Wrong("a packet of %d and %d bits" % (content, total))
        packet.end = content
        while packet.at < content:
            before = packet.clock
            packet.roles.pop("event-record-class-id", None)
            packet.scope("event-record-header", stream["event-record-header"])
            if packet.clock < before:
                raise Wrong("time goes back")
            number = packet.roles.get("event-record-class-id", min(stream["events"], default=0))
            event = stream["events"][number]
            packet.scope("event-record-common-context", stream["event-record-common-context"])
            for name in SCOPES[4:]:
                packet.scope(name, event[name])
            time = nanoseconds(stream["clock"], packet.clock) if stream["clock"] else 0
            yield time, event["name"] or str(number), dict(packet.scopes)
        end = packet.roles.get("packet-end-default-clock-timestamp")
        if end is not None and end < packet.clock:
            raise Wrong("a packet ends before its last event")
        count = packet.roles.get("discarded-event-record-counter-snapshot")
        if count is not None and previous is not None and count != previous:
            yield 0, "discarded", count - previous
        previous = count
        at += total // 8


def show(value):
    if value is Absent:
        return "{}"
    if isinstance(value, Text):
        return json.dumps(value)
    if isinstance(value, dict):
        return "{" + ", ".join(json.dumps(name) + ": " + show(inner) for name, inner in value.items()) + "}"
    if isinstance(value, (list, bytes)):
        return "[" + ", ".join(show(inner) for inner in value) + "]"
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else "%.17g" % value
    if isinstance(value, Number) and value.mapped:
        labels = sorted(value.labels, key=lambda label: label.encode())
        return "[" + ", ".join([str(int(value))] + [json.dumps(label) for label in labels]) + "]"
    return str(int(value))


def read_trace(directory):
    with open(os.path.join(directory, "metadata"), "rb") as file:
        metadata = Metadata(file.read())
    events, lost = [], []
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if name == "metadata" or name.startswith(".") or not os.path.isfile(path):
            continue
        with open(path, "rb") as file:
            for time, event, scopes in read_stream(metadata, file.read()):
                (lost if event == "discarded" else events).append((time, event, scopes))
    return metadata, sorted(events, key=lambda event: event[0]), lost


def lines(directory, contexts=False):
    _, events, lost = read_trace(directory)
    out = []
    for time, name, scopes in events:
        shown = [show(scopes[scope]) for scope in SCOPES[3:5] if contexts and scope in scopes]
        shown.append(show(scopes.get("event-record-payload", {})))
        out.append(" ".join([name, str(time)] + shown))
    return out + ["discarded %d" % count for _, _, count in lost]


if __name__ == "__main__":
    print("\n".join(lines(sys.argv[1], "--contexts" in sys.argv[2:])))
