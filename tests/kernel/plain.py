# SPDX-License-Identifier: MIT
"""Records with plain fields, decoded by the description of the event in tracefs only."""
import struct

WORDS = {"u8": "B", "s8": "b", "u16": "H", "s16": "h", "u32": "I", "s32": "i", "u64": "Q", "s64": "q",
         "f32": "I", "f64": "Q"}
SIZES = {"u128": 16, "s128": 16, "f128": 16}


def one(word, raw):
    if word in SIZES:
        return raw[::-1]
    (value,) = struct.unpack("<" + WORDS[word], raw)
    return (word, value) if word[0] == "f" else value


def field(kind, offset, size, payload):
    raw = payload[offset:offset + size]
    if not kind.startswith("__rel_loc "):
        return one(kind.removeprefix("struct "), raw)
    (place,) = struct.unpack("<I", raw)
    begin = offset + 4 + (place & 0xffff)
    data = payload[begin:begin + (place >> 16)]
    word = kind.removeprefix("__rel_loc ").removesuffix("[]")
    if word == "char":
        assert data[-1:] == b"\0"
        return data[:-1]
    step = SIZES.get(word) or struct.calcsize("<" + WORDS[word])
    return [one(word, data[at:at + step]) for at in range(0, len(data), step)]


def decode(fields, payload):
    return [(name, field(kind, offset, size, payload)) for kind, name, offset, size in fields]


def expected(fields, values):
    """Returns the values in these forms; values that the fields lack stay missing."""
    kinds = {name: kind for kind, name, _, _ in fields}

    def form(name, value):
        kind = kinds.get(name, "")
        if value == 0 and kind.startswith("struct "):
            return one(kind[7:], bytes(SIZES.get(kind[7:]) or struct.calcsize("<" + WORDS[kind[7:]])))
        if kind.endswith("[]") and "char" not in kind and isinstance(value, bytes):
            return list(value)
        return value
    return [(name, form(name, value)) for name, value in values]
