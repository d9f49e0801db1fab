# SPDX-License-Identifier: MIT
"""Computes the output of `side view --json` (docs/spec/view-json.md) for the forms of model.py."""
import json
import math
import struct
from fractions import Fraction

import model

# What is shown is one of
#   None, True, False
#   ("int", number) ("wide", number) ("real", size, bytes) ("text", bytes)
#   ("object", [(name, shown)...]) ("list", [shown...])
#   ("labels", [text...], shown) ("none", shown)


def text_of(raw):
    """Bytes that are not UTF-8 become U+0080 to U+00FF."""
    out = ""
    while raw:
        for size in (1, 2, 3, 4):
            try:
                out += raw[:size].decode("utf-8")
                break
            except UnicodeDecodeError:
                continue
        else:
            out += chr(raw[0])
            size = 1
        raw = raw[size:]
    return out


def number(form):
    if form[0] == "struct":
        halves = dict(form[1])
        return ("wide", halves["lo"][1] + (halves["hi"][1] << 64))
    return ("int", form[1])


def scalar(form):
    """By the form alone: other forms than enumerations of a bool are integers, floats or texts."""
    if form[0] == "enum":
        return form[1] != 0
    if form[0] == "struct":
        if not form[1]:
            return None
        if form[1][0][0] == "bytes":
            return ("real", 16, bytes(byte[1] for byte in form[1][0][1][1]))
    if form[0] in ("int", "struct"):
        return number(form)
    if form[0] == "real":
        return ("real", form[1] // 8, form[2])
    return ("text", form[1])


def members(entries, forms):
    out, at = [], 0
    for name, type in entries:
        if model.kind_of(type):
            out.append((name, shown(type, (forms[at][1], forms[at + 1][1]))))
            at += 2
        else:
            out.append((name, shown(type, forms[at][1])))
            at += 1
    return ("object", out)


def element(type, form):
    if model.kind_of(type):
        return shown(type, (form[1][0][1], form[1][1][1]))
    return shown(type, form)


def elements(type, form):
    return ("list", [element(type, part) for part in form[1]])


def labelled(type, value):
    """A value of 128 bits has labels if it fits 64, like a selector."""
    matching = []
    fits = -(1 << 63) <= value[1] < 1 << 63 if type["e"]["signed"] else value[1] < 1 << 64
    if fits:
        signed = model.as_signed(value[1])
        matching = [m[2] for m in type["m"] if m[0] <= signed <= m[1]]
    return ("labels", matching, value)


def bits_of(element_type, value):
    width = element_type.get("size", 1) * 8
    return value[1] & (1 << width) - 1, width


def bitmapped(type, value):
    item = type["e"]
    items = [value]
    if item["t"] in ("array", "vla"):
        item, items = item["e"], value[1]
    whole = 0
    for i, part in enumerate(items):
        bits, width = bits_of(item, part)
        whole |= bits << i * width
    matching = []
    for begin, end, label in type["m"]:
        begin, end = begin & (1 << 64) - 1, end & (1 << 64) - 1
        end = min(end, whole.bit_length())
        if begin <= end and whole >> begin & (1 << (end - begin + 1)) - 1:
            matching.append(label)
    return ("labels", matching, value)


KIND_STRUCTURE, KIND_ARRAY, KIND_ATTRIBUTES = 21, 22, 23


def dynamic(nodes, at=0):
    """Returns (shown, index of the next sibling)."""
    node = dict(nodes[at][1])
    depth, kind = node["depth"][1], node["kind"][1]
    value = node["value"][2]
    inside, at = [], at + 1
    while at < len(nodes) and dict(nodes[at][1])["depth"][1] > depth:
        child = dict(nodes[at][1])
        part, at = dynamic(nodes, at)
        if child["kind"][1] != KIND_ATTRIBUTES:
            inside.append((child["name"][1], part))
    if kind == KIND_STRUCTURE:
        return ("object", inside), at
    if kind == KIND_ARRAY:
        return ("list", [part for _, part in inside]), at
    return (None if kind == KIND_ATTRIBUTES else scalar(value)), at


def shown(type, form):
    kind = type["g"] if type["t"] == "gather" else type["t"]
    if kind == "struct":
        return members(type["m"], form[1])
    if kind == "array":
        return elements(type["e"], form)
    if kind in ("vla", "visitor"):
        return elements(type["e"], form[1])
    if kind == "opt":
        return element(type["e"], form[1][2]) if form[1][1] == "some" else None
    if kind == "variant":
        if form[1][1] == "none":
            return ("none", number(form[0]))
        return element(type["o"][int(form[1][1][1:])][2], form[1][2])
    if kind == "enum":
        return labelled(type, number(form))
    if kind == "bitmap":
        return bitmapped(type, shown(type["e"], form))
    if kind == "dyn":
        return dynamic(form[1][1])[0]
    value = scalar(form)
    if kind == "float" and type["size"] == 16 and type["be"]:
        return ("real", 16, value[2][::-1])
    return value


def event(description, form):
    """Returns (fields, variadic part or None)."""
    forms = form[1]
    if not description["variadic"]:
        return members(description["m"], forms), None
    return members(description["m"], forms[:-2]), dynamic(forms[-1][1][1])[0]


# ---- comparison ----


def read_line(line):
    """Reads objects as lists of pairs: order and repeated names matter."""
    return json.loads(line, object_pairs_hook=lambda pairs: ("object", pairs),
                      parse_int=lambda digits: -0.0 if digits == "-0" else int(digits))


def numbered(pairs):
    seen, out = {}, []
    for name, value in pairs:
        name = text_of(name) if isinstance(name, bytes) else name
        seen[name] = seen.get(name, 0) + 1
        out.append((name if seen[name] == 1 else "%s#%d" % (name, seen[name]), value))
    return out


def same_real(size, raw, got):
    if raw == "nan":
        return got in ("nan", "-nan")
    if size == 16:
        return isinstance(got, str) and same_quad(raw, got)
    (value,) = struct.unpack("<d", raw)
    if math.isinf(value):
        return got == ("inf" if value > 0 else "-inf")
    if isinstance(got, str):
        return False
    if size == 4:
        return struct.pack("<f", float(got)) == struct.pack("<f", value)
    return struct.pack("<d", float(got)) == raw


def same_quad(raw, got):
    """Compares a binary128 in host order, with the precision of a long double."""
    bits = int.from_bytes(raw, "little")
    exponent, fraction = bits >> 112 & 0x7fff, bits & (1 << 112) - 1
    if exponent == 0x7fff:
        return got in (("nan", "-nan") if fraction else ("inf", "-inf"))
    value = Fraction(fraction + (bool(exponent) << 112)) * Fraction(2) ** (max(exponent, 1) - 16495)
    value = -value if bits >> 127 else value
    if got in ("inf", "-inf"):  # values that are rounded up beyond the largest long double
        return abs(value) >= (2 ** 65 - 1) * Fraction(2) ** (16383 - 64)
    return abs(Fraction(got) - value) <= max(abs(value) / 2 ** 60, Fraction(1, 2 ** 16440))


def difference(want, got, path=""):
    """Returns None, or a message."""
    def wrong():
        return "%s: %r instead of %r" % (path, got, want)
    if want is None or want is True or want is False:
        return None if got is want else wrong()
    kind = want[0]
    if kind in ("object", "labels", "none") and not (isinstance(got, tuple) and got[0] == "object"):
        return wrong()
    if kind == "labels":
        parts = dict(got[1])
        if sorted(parts) != ["labels", "value"] or parts["labels"] != want[1]:
            return wrong()
        return difference(want[2], parts["value"], path)
    if kind == "none":
        parts = dict(got[1])
        if sorted(parts) != ["option", "selector"] or parts["option"] is not None:
            return wrong()
        return difference(want[1], parts["selector"], path)
    if kind == "object":
        pairs = numbered(want[1])
        if [name for name, _ in pairs] != [name for name, _ in got[1]]:
            return wrong()
        for (name, w), (_, g) in zip(pairs, got[1]):
            found = difference(w, g, "%s.%s" % (path, name))
            if found:
                return found
        return None
    if kind == "list":
        if not isinstance(got, list) or len(got) != len(want[1]):
            return wrong()
        for i, (w, g) in enumerate(zip(want[1], got)):
            found = difference(w, g, "%s[%d]" % (path, i))
            if found:
                return found
        return None
    if kind == "int":
        same = isinstance(got, int) and not isinstance(got, bool) and got == want[1]
    elif kind == "wide":
        same = got == str(want[1])
    elif kind == "real":
        same = not isinstance(got, (bool, tuple, list)) and same_real(want[1], want[2], got)
    else:
        same = got == text_of(want[1])
    return None if same else wrong()
