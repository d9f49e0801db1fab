# SPDX-License-Identifier: MIT
"""A decoder of EventHeader records, written from the description of the format only. It refuses all
records that decoders must refuse.

A field is (name, value). A value is None, an int, bytes, ("f32" or "f64", bits), ("text", unit
size, units), a list of the values of an array, or a list of fields for a structure, in ("struct",
[...]).
"""
import re
import struct


class Refused(Exception):
    pass


STRUCT, BINARY = 1, 13
FIXED = {2: 1, 3: 2, 4: 4, 5: 8, 6: 16}
TERMINATED = {7: 1, 8: 2, 9: 4}
COUNTED = {10: 1, 11: 2, 12: 4}


class Bytes:
    def __init__(self, data, order):
        self.data, self.order, self.at = data, order, 0

    def take(self, size):
        if self.at + size > len(self.data):
            raise Refused("cut off")
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, size):
        return int.from_bytes(self.take(size), self.order)

    def name(self):
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise Refused("a name without end")
        name = self.data[self.at:end]
        self.at = end + 1
        return name


class Field:
    def __init__(self, meta):
        self.name = meta.name()
        encoding = meta.number(1)
        self.format = meta.number(1) if encoding & 0x80 else 0
        if self.format & 0x80:
            meta.number(2)
        self.format &= 0x7f
        self.constant = encoding & 0x20
        self.variable = encoding & 0x40
        self.count = meta.number(2) if self.constant else 1
        self.encoding = encoding & 0x1f
        if self.constant and self.variable or self.constant and not self.count:
            raise Refused("an array of two kinds, or of none")
        if not 1 <= self.encoding <= 13:
            raise Refused(f"encoding {self.encoding}")
        self.members = []


def read_fields(meta, count=None, depth=0):
    if depth > 8:
        raise Refused("structures more than 8 deep")
    fields = []
    while meta.at < len(meta.data) if count is None else len(fields) < count:
        field = Field(meta)
        if field.encoding == STRUCT:
            if not field.format:
                raise Refused("a structure without members")
            field.members = read_fields(meta, field.format, depth + 1)
        fields.append(field)
    return fields


def scalar(raw, form, order):
    size = len(raw)
    # Ports have network byte order on all machines.
    if form == 16 and size == 2:
        return int.from_bytes(raw, "big")
    if form in (17, 18) and size == 4:
        return raw
    if form == 9 or size == 16:
        return raw if size != 1 else raw[0]
    if form == 8 and size in (4, 8):
        return ("f32" if size == 4 else "f64", int.from_bytes(raw, order))
    return int.from_bytes(raw, order, signed=form == 2)


def read_text(payload, unit, count=None):
    units = []
    while count is None or len(units) < count:
        value = payload.number(unit)
        if count is None and not value:
            break
        units.append(value)
    return ("text", unit, tuple(units))


def read_one(payload, field):
    if field.encoding == STRUCT:
        return ("struct", [(member.name, read_value(payload, member)) for member in field.members])
    if field.encoding in FIXED:
        return scalar(payload.take(FIXED[field.encoding]), field.format, payload.order)
    if field.encoding in TERMINATED:
        return read_text(payload, TERMINATED[field.encoding])
    if field.encoding in COUNTED:
        return read_text(payload, COUNTED[field.encoding], payload.number(2))
    raw = payload.take(payload.number(2))
    if field.format == 9:
        return raw
    if not raw:
        return None
    return scalar(raw, field.format, payload.order)


def read_value(payload, field):
    if not field.constant and not field.variable:
        return read_one(payload, field)
    count = payload.number(2) if field.variable else field.count
    return [read_one(payload, field) for _ in range(count)]


def decode(tracepoint, record):
    """Returns (provider, level, name, fields, tag) of a record of that tracepoint."""
    named = re.fullmatch(r"(.*)_L([0-9a-f]+)K([0-9a-f]+)((?:[A-Z][0-9a-z]*)*)", tracepoint)
    if not named or len(tracepoint) >= 256:
        raise Refused("the name of the tracepoint")
    if len(record) < 8:
        raise Refused("too short")
    flags, _, _, _, _, level = struct.unpack_from("<BBHHBB", record)
    if flags & ~7:
        raise Refused(f"flags {flags:#x}")
    if level != int(named.group(2), 16) or not level:
        raise Refused("another level than in the name")
    order = "little" if flags & 2 else "big"
    data = Bytes(record, order)
    data.at = 4
    tag = data.number(2)
    data.at = 8
    metadata, more = None, flags & 4
    while more:
        size, kind = data.number(2), data.number(2)
        content = data.take(size)
        if not kind & 0x7fff or kind & 0x7fff == 1 and metadata is not None:
            raise Refused("two metadata, or an extension of kind 0")
        if kind & 0x7fff == 1:
            metadata = content
        more = kind & 0x8000
    if metadata is None:
        raise Refused("no metadata")
    meta = Bytes(metadata, order)
    name = meta.name()
    fields = [(field.name, read_value(data, field)) for field in read_fields(meta)]
    return named.group(1), level, name, fields, tag
