# SPDX-License-Identifier: MIT
"""The meaning of the source values of ../roundtrip in the forms of eventheader.py, and as plain
fields. It is computed from the types and bytes that the firing program gets, without the project's
C code.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../roundtrip"))
import model as m


class NoSuchOption(Exception):
    """Arguments that every walk over them refuses."""


def is_static(type):
    kind = type["t"]
    if kind in ("variant", "dyn"):
        return False
    if kind in ("array", "vla", "visitor", "opt"):
        return is_static(type["e"])
    if kind == "struct":
        return all(is_static(member) for _, member in type["m"])
    return True


def kind_of(type):
    """Gathered or not; bitmaps and enumerations count as their element types."""
    if type["t"] == "gather":
        return "enum" if type["g"] == "enum" else type["g"]
    return type["t"]


def basis(type):
    while kind_of(type) in ("enum", "bitmap"):
        type = type["e"]
    return type


def is_scalar(type):
    return kind_of(basis(type)) in ("int", "bool", "byte", "pointer", "float")


def is_list(type):
    return kind_of(basis(type)) in ("array", "vla", "visitor")


def named(name):
    return (name or "").encode("utf-8", "surrogatepass").replace(b";", b",")


def number(type, raw):
    value = m.integer_value(dict(type, size=len(raw), bits=type.get("bits", 0), signed=type.get("signed", 0)), raw)
    if len(raw) == 16:
        return (value & (1 << 128) - 1).to_bytes(16, "big")
    return value


def boolean(type, raw):
    bits = type["bits"] or 8 * type["size"]
    return int(m.take_bits(raw, type["be"], False, type.get("shift", 0), bits) != 0)


def widened(bits):
    """Returns binary16 as binary32: the sign, the exponent with the other bias, the fraction."""
    sign, exponent, fraction = bits >> 15, bits >> 10 & 31, bits & 1023
    if exponent == 31:
        exponent = 255
    elif exponent:
        exponent += 112
    elif fraction:
        exponent = 113
        while not fraction & 1024:
            fraction, exponent = fraction << 1, exponent - 1
        fraction &= 1023
    return sign << 31 | exponent << 23 | fraction << 13


def real(type, raw):
    size, bits = type["size"], m.whole_int(raw, type["be"], False)
    if size == 16:
        return bits.to_bytes(16, "big")
    return ("f64", bits) if size == 8 else ("f32", widened(bits) if size == 2 else bits)


def text(type, raw):
    unit = type["unit"]
    if raw is None:
        return ("text", unit, tuple(b"(null)"))
    units = [int.from_bytes(raw[i:i + unit], m.order(type["be"])) for i in range(0, len(raw), unit)]
    return ("text", unit, tuple(units[:units.index(0)]))


def scalar(type, kind, raw):
    if kind == "byte":
        return raw[0]
    if kind == "bool":
        return boolean(type, raw)
    if kind == "float":
        return real(type, raw)
    return number(type, raw)


def structure(members):
    """A structure with many members continues in another one, which is its last member."""
    if len(members) > 126:
        members = members[:126] + [(b"...", structure(members[126:]))]
    return ("struct", members) if members else None


def between(type, value):
    """An element that is an array itself is in a structure of its own."""
    optional = kind_of(type) == "opt" and not is_scalar(type["e"])
    return ("struct", [(b"value", value)]) if is_list(type) or optional else value


def listed(element, values):
    if kind_of(basis(element)) == "byte":
        return bytes(values)
    if not is_static(element):
        return structure([(b"%d" % i, value) for i, value in enumerate(values)])
    return [between(element, value) for value in values]


def optional(type, value, memory):
    element = type["e"]
    if not is_static(element):
        return meaning(element, value[1], memory) if value[0] else None
    if not is_scalar(element):
        return [between(element, meaning(element, value[1], memory))] if value[0] else []
    form = meaning(element, value[1], memory) if value[0] else None
    # A value that is shown as bytes cannot be null in another form.
    if kind_of(basis(element)) == "byte":
        return b"" if form is None else bytes([form])
    return b"" if form is None and basis(element).get("size") == 16 else form


def dynamic(value):
    kind, children = value["d"], value.get("c", [])
    raw = bytes.fromhex(value["hex"]) if value.get("hex") is not None else None
    if kind.startswith("struct"):
        return structure([(named(name), dynamic(child)) for name, child in children])
    if kind.startswith("vla"):
        return structure([(b"%d" % i, dynamic(child)) for i, child in enumerate(children)])
    if kind == "null":
        return None
    if kind in ("bool", "int", "pointer", "byte", "float"):
        return scalar(dict(dict(size=8), **value), kind, raw)
    return text(value, raw)


def gathered(memory, type, place, length_place=None):
    kind = type["g"]
    if kind == "enum":
        return gathered(memory, type["e"], place)
    there = memory.follow(type, place)
    if kind == "str":
        return text(type, None if there is None else m.string_at(memory, type, there))
    if kind == "byte":
        return memory.read(*there, 1)[0]
    if kind in ("int", "pointer", "bool", "float"):
        return scalar(type, kind, memory.read(*there, type.get("size", 8)))
    if kind == "struct":
        return structure([(named(name), gathered(memory, member, there)) for name, member in type["m"]])
    count = type.get("n")
    if kind == "vla":
        length = type["l"]
        raw = memory.read(*memory.follow(length, length_place or place), length["size"])
        count = m.integer_value(length, raw)
    values, total = [], 0
    for _ in range(count):
        element = (there[0], there[1] + total)
        values.append(gathered(memory, type["e"], element))
        total += m.gathered(memory, type["e"], element)[1]
    return listed(type["e"], values)


def meaning(type, value, memory):
    kind = type["t"]
    if kind == "gather":
        return gathered(memory, type, value["base"], value.get("length"))
    if kind == "dyn":
        return dynamic(value)
    if kind == "null":
        return None
    if kind == "struct":
        return structure([(named(name), meaning(member, part, memory))
                          for (name, member), part in zip(type["m"], value)])
    if kind in ("array", "vla", "visitor"):
        return listed(type["e"], [meaning(type["e"], part, memory) for part in value])
    if kind == "opt":
        return optional(type, value, memory)
    if kind == "variant":
        _, chosen = m.selector_form(type, bytes.fromhex(value[0]))
        if chosen < 0:
            raise NoSuchOption
        return ("struct", [(b"tag", number(type["sel"], bytes.fromhex(value[0]))),
                           (b"value", meaning(type["o"][chosen][2], value[2], memory))])
    if kind in ("enum", "bitmap"):
        return meaning(type["e"], value, memory)
    raw = None if value is None else bytes.fromhex(value)
    return text(type, raw) if kind == "str" else scalar(type, kind, raw)


def event(description, firing, memory):
    """Returns all fields of a fired event."""
    fields = [(named(name), meaning(type, value, memory))
              for (name, type), value in zip(description["m"], firing["args"])]
    if description["variadic"]:
        fields += [(named(name), dynamic(child)) for name, child in firing["variadic"].get("c", [])]
    return fields


# ---- plain fields ----


def flat(type, name, value):
    """Returns (name, value) of each field; arrays are lists, optional scalars two fields. Names as the
    kernel gets them.
    """
    kind = kind_of(basis(type))
    if kind == "null":
        return []
    if kind == "struct":
        out = []
        for (member, inner), (_, part) in zip(type["m"], members_of(value)):
            out += flat(inner, name + "_" + plain_name(member), part)
        return out
    if kind == "opt":
        absent = value in (None, b"")
        if isinstance(value, bytes) and kind_of(basis(type["e"])) == "byte":
            value = value[0] if value else 0
        return [(name + "_present", int(not absent)), (name, 0 if absent else value)]
    if kind == "str":
        return [(name, utf8(value))]
    return [(name, value)]


def members_of(value):
    members = value[1] if value else []
    while members and members[-1][0] == b"...":
        members = members[:-1] + members[-1][1][1]
    return members


def plain_name(name):
    return "".join(chr(byte) if byte < 128 and (chr(byte).isalnum() or byte == 95) else "_"
                   for byte in name.encode("utf-8", "surrogatepass"))


def utf8(value):
    _, unit, units = value
    if unit == 1:
        return bytes(units)
    raw = b"".join(number.to_bytes(unit, "little") for number in units + (0,))
    return m.text_bytes(dict(unit=unit, be=0), raw)


def plain_event(description, firing, memory):
    out = []
    for (name, type), value in zip(description["m"], firing["args"]):
        plain = plain_name(name)
        if not plain or plain[0].isdigit() or plain.startswith("common_"):
            plain = "_" + plain
        out += flat(type, plain, meaning(type, value, memory))
    return out
