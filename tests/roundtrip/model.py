# SPDX-License-Identifier: MIT
"""The meaning of the source values: types, values, and what a reader must find, computed from
docs/spec/recording.md and the ABI only, without the project's C code.

A type is a dictionary as fire.c reads it, a value is the bytes that it gets. `expected()` turns
both into the form that `decode.plain()` makes of a recorded field:

  ("struct", [(name, form)...])  ("array", [form...])  ("variant", option, form)
  ("enum", number, {label...})   ("int", number, bits, signed, base)
  ("real", bits, bytes or "nan") ("str", bytes)

A base of None matches any base.
"""
import struct

UNSIGNED = {1: 2, 2: 3, 4: 4, 8: 5, 16: 6}
SIGNED = {1: 7, 2: 8, 4: 9, 8: 10, 16: 11}
POINTER = 13

# ---- types ----


def u(size, be=0, bits=0, **more):
    return dict(t="int", label=UNSIGNED[size], size=size, bits=bits, signed=0, be=be, **more)


def s(size, be=0, bits=0, **more):
    return dict(t="int", label=SIGNED[size], size=size, bits=bits, signed=1, be=be, **more)


def pointer(be=0, **more):
    return dict(t="int", label=POINTER, size=8, bits=0, signed=0, be=be, **more)


def boolean(size=1, be=0, bits=0, **more):
    return dict(t="bool", size=size, bits=bits, be=be, **more)


def real(size, be=0, **more):
    return dict(t="float", size=size, be=be, **more)


def text(unit=1, be=0, **more):
    return dict(t="str", unit=unit, be=be, **more)


def structure(*members, **more):
    return dict(t="struct", m=[list(member) for member in members], **more)


def array(element, length, **more):
    return dict(t="array", e=element, n=length, **more)


def vla(element, length=None, **more):
    return dict(t="vla", e=element, l=length or u(4), **more)


def visitor(element, length=None, **more):
    return dict(t="visitor", e=element, l=length or u(4), **more)


def optional(element, **more):
    return dict(t="opt", e=element, **more)


def variant(selector, *options, **more):
    return dict(t="variant", sel=selector, o=[list(option) for option in options], **more)


def enum(element, *mappings, **more):
    return dict(t="enum", e=element, m=[list(mapping) for mapping in mappings], **more)


def bitmap(element, *mappings, **more):
    return dict(t="bitmap", e=element, m=[list(mapping) for mapping in mappings], **more)


NULL = dict(t="null")
BYTE = dict(t="byte")
DYNAMIC = dict(t="dyn")


def gather(kind, off=0, ptr=0, **more):
    return dict(t="gather", g=kind, off=off, ptr=ptr, **more)


def g_int(size, off=0, ptr=0, signed=0, be=0, shift=0, bits=0, **more):
    return gather("int", off, ptr, size=size, signed=signed, be=be, shift=shift, bits=bits, **more)


def g_struct(*members, off=0, ptr=0, size=0, **more):
    return gather("struct", off, ptr, size=size, m=[list(member) for member in members], **more)


# ---- attributes ----

ATTRIBUTE = dict(null=0, bool=1, u8=2, u16=3, u32=4, u64=5, u128=6, s8=7, s16=8, s32=9, s64=10,
                 s128=11, f16=12, f32=13, f64=14, f128=15, str=16)


def raw_text(value, unit=1, be=0):
    """Returns Python text, or None, as NUL-terminated code units."""
    if value is None:
        return dict(unit=unit, be=be, hex=None)
    coding = {1: "utf-8", 2: "utf-16-be" if be else "utf-16-le",
              4: "utf-32-be" if be else "utf-32-le"}[unit]
    return dict(unit=unit, be=be, hex=(value + "\0").encode(coding, "surrogatepass").hex())


def attribute(key, kind, value=b"", key_unit=1):
    entry = dict(key=raw_text(key, key_unit), type=ATTRIBUTE[kind])
    if kind == "str":
        entry["text"] = value
    else:
        entry["hex"] = value.hex()
    return entry


def number(key, kind, value):
    return attribute(key, kind, value.to_bytes(int(kind[1:]) // 8, "little", signed=kind[0] == "s"))


# ---- scalars from bytes ----


def order(be):
    return "big" if be else "little"


def whole_int(raw, be, signed):
    return int.from_bytes(raw, order(be), signed=bool(signed))


def take_bits(raw, be, signed, shift, bits):
    value = whole_int(raw, be, False) >> shift & ((1 << bits) - 1)
    if signed and value >> (bits - 1):
        value -= 1 << bits
    return value


def integer_value(type, raw):
    size, bits = type["size"], type["bits"] or type["size"] * 8
    if size == 16:
        return whole_int(raw, type["be"], type["signed"])
    return take_bits(raw, type["be"], type["signed"], type.get("shift", 0), bits)


def generalised_utf8(code):
    """Returns one number of up to 32 bits in UTF-8 as it was before the limit U+10FFFF; seven bytes at most."""
    if code < 0x80:
        return bytes([code])
    for length, limit in ((2, 11), (3, 16), (4, 21), (5, 26), (6, 31), (7, 36)):
        if code < 1 << limit:
            break
    tail = [0x80 | code >> 6 * i & 0x3f for i in range(length - 1)]
    lead = (0xff << (8 - length) & 0xff) | code >> 6 * (length - 1)
    return bytes([lead] + tail[::-1])


def text_bytes(type, raw):
    """Returns the recorded bytes of a NUL-terminated string, without the NUL."""
    unit = type["unit"]
    if raw is None:
        return b"(null)"
    units = [int.from_bytes(raw[i:i + unit], order(type["be"])) for i in range(0, len(raw), unit)]
    units = units[:units.index(0)]
    if unit == 1:
        return bytes(units)
    out, i = b"", 0
    while i < len(units):
        code = units[i]
        i += 1
        if unit == 2 and 0xd800 <= code < 0xdc00 and i < len(units) and 0xdc00 <= units[i] < 0xe000:
            code = 0x10000 + (code - 0xd800) * 0x400 + units[i] - 0xdc00
            i += 1
        out += generalised_utf8(code)
    return out


def half_value(bits):
    sign, exponent, fraction = bits >> 15, bits >> 10 & 31, bits & 1023
    if exponent == 31:
        value = float("nan") if fraction else float("inf")
    elif exponent:
        value = (1024 + fraction) * 2.0 ** (exponent - 25)
    else:
        value = fraction * 2.0 ** -24
    return -value if sign else value


def is_nan(bits, size):
    fraction = {4: 23, 8: 52}[size]
    ones = (1 << (size * 8 - 1 - fraction)) - 1
    return bits >> fraction & ones == ones and bits & ((1 << fraction) - 1) != 0


def real_form(size, raw, be):
    if size == 2:
        value = half_value(whole_int(raw, be, False))
        return ("real", 32, "nan" if value != value else struct.pack("<d", value))
    if size == 16:
        return ("struct", [("bytes", ("array", [("int", byte, 8, False, 16) for byte in raw]))])
    bits = whole_int(raw, be, False)
    if is_nan(bits, size):
        return ("real", size * 8, "nan")
    (value,) = struct.unpack((">" if be else "<") + {4: "f", 8: "d"}[size], raw)
    return ("real", size * 8, struct.pack("<d", value))


def base_of(type, otherwise):
    for entry in type.get("a", []):
        if text_bytes(entry["key"], bytes.fromhex(entry["key"]["hex"])) == b"std.integer.base":
            if 2 <= entry["type"] <= 11:
                value = whole_int(bytes.fromhex(entry["hex"]), 0, entry["type"] >= 7)
                return value if value in (2, 8, 10, 16) else otherwise
            return None  # an attribute of this name with another type: not specified
    return otherwise


def wide_form(value, be, signed):
    low, high = value & (1 << 64) - 1, value >> 64
    halves = [("lo", ("int", low, 64, False, None)), ("hi", ("int", high, 64, bool(signed), None))]
    return ("struct", halves[::-1] if be else halves)


def integer_form(type, raw, base=10):
    value = integer_value(type, raw)
    if type["size"] == 16:
        return wide_form(value, type["be"], type["signed"])
    if type.get("label") == POINTER or type.get("g") == "pointer":
        base = 16
    return ("int", value, type["size"] * 8, bool(type["signed"]), base_of(type, base))


def bool_form(value):
    return ("enum", value, {"true" if value else "false"})


def boolean_form(type, raw):
    bits = type["bits"] or type["size"] * 8
    if type["size"] == 1 and bits == 8:
        return bool_form(raw[0])
    return bool_form(int(take_bits(raw, type["be"], False, type.get("shift", 0), bits) != 0))


# ---- labels and options ----


def as_signed(value):
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def limits(type):
    size = min(type["size"], 8) * 8
    if type["signed"] or size == 64:
        return -(1 << (size - 1)), (1 << (size - 1)) - 1
    return 0, (1 << size) - 1


def enum_form(mappings, element, form):
    if element["size"] == 16:
        return form
    low, high = limits(element)
    usable = [m for m in mappings if m[0] <= m[1] and m[0] <= high and m[1] >= low]
    if not usable:
        return form[:4] + (None,)
    value = as_signed(form[1])
    return ("enum", form[1], {m[2] for m in usable if m[0] <= value <= m[1]})


def selector_form(type, raw):
    """Returns the recorded selector and the option that it selects (-1: none)."""
    selector = type["sel"]
    value = integer_value(selector, raw)
    recorded = value
    chosen = -1
    for i, (begin, end, _) in enumerate(type["o"]):
        if begin <= as_signed(value) <= end:
            chosen = i
            break
    return ("enum", recorded, {"none" if chosen < 0 else "o%d" % chosen}), chosen


# ---- names ----


def escape(name):
    if not name:
        return "_unnamed"
    return "_" + "".join(chr(b) if b < 128 and (chr(b).isalnum() or b == 95) else "_"
                         for b in name.encode("utf-8", "surrogatepass"))


def take(taken, name):
    tried, i = name, 2
    while taken & {tried, "_" + tried, tried[1:]}:
        tried = "%s_%d" % (name, i)
        i += 1
    taken.add(tried)
    return tried


SUFFIX = {"vla": "_length", "visitor": "_length", "opt": "_tag", "variant": "_selector",
          "dyn": "_length"}
SECOND = {"vla": "elements", "visitor": "elements", "opt": "value", "variant": "value",
          "dyn": "nodes"}


def kind_of(type):
    if type["t"] == "gather":
        return "vla" if type["g"] == "vla" else None
    if type["t"] == "bitmap":
        return kind_of(type["e"])
    return type["t"] if type["t"] in SUFFIX else None


def members_form(members, forms):
    """Context of fields. forms: a form, or two for a type with a generated second field. Babeltrace
    hides one underscore.
    """
    taken = set()
    visible = [take(taken, escape(name)) for name, _ in members]
    out = []
    for (_, type), name, form in zip(members, visible, forms):
        kind = kind_of(type)
        if kind:
            out.append((take(taken, "_" + name + SUFFIX[kind])[1:], form[0]))
            form = form[1]
        out.append((name[1:], form))
    return ("struct", out)


def element_form(type, form):
    kind = kind_of(type)
    if not kind:
        return form
    return ("struct", [(SUFFIX[kind][1:], form[0]), (SECOND[kind], form[1])])


def length_form(type, count):
    return ("int", count, min(type["size"], 8) * 8, False, 10)


def list_forms(type, forms):
    return ("array", [element_form(type, form) for form in forms])


# ---- dynamic values ----

KINDS = ["nothing", "boolean", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
         "uint128", "int128", "byte", "pointer", "float32", "float64", "float16", "float128", "utf8",
         "utf16", "utf32", "structure", "array", "attributes"]
WIDTH = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4}


def node(depth, name, kind, value):
    return ("struct", [("depth", ("int", depth, 8, False, 10)), ("name", ("str", name)),
                       ("kind", ("enum", kind, {KINDS[kind]})),
                       ("value", ("variant", KINDS[kind], value))])


def count_form(count):
    # A structure, so that readers that stop at a depth still show how many there are.
    return ("struct", [("count", ("int", count, 32, False, 10))])


def dynamic_integer(size, signed, value):
    if size == 16:
        return 11 if signed else 10, wide_form(value, False, signed)
    return (6 if signed else 2) + WIDTH[size], ("int", value, size * 8, bool(signed), 10)


def dynamic_real(size, raw, be):
    raw = raw[::-1] if be and size != 2 else raw
    return {2: 16, 4: 14, 8: 15, 16: 17}[size], real_form(size, raw, be if size == 2 else 0)


def attribute_nodes(entries, depth):
    if not entries:
        return []
    out = [node(depth, b"", 23, count_form(len(entries)))]
    for entry in entries:
        key, kind = entry["key"], entry["type"]
        name = text_bytes(key, bytes.fromhex(key["hex"])) if key["hex"] is not None else b""
        if kind == 16:
            value = entry["text"]
            raw = None if value["hex"] is None else bytes.fromhex(value["hex"])
            found = 18 + WIDTH[value["unit"]], ("str", text_bytes(value, raw))
        else:
            raw = bytes.fromhex(entry["hex"])
            if kind == 0:
                found = 0, ("struct", [])
            elif kind == 1:
                found = 1, bool_form(raw[0])
            elif kind <= 11:
                found = dynamic_integer(len(raw), kind >= 7, whole_int(raw, 0, kind >= 7))
            else:
                found = dynamic_real(len(raw), raw, 0)
        out.append(node(depth + 1, name, *found))
    return out


def dynamic_nodes(value, depth=0, name=b""):
    kind, children = value["d"], value.get("c", [])
    raw = bytes.fromhex(value["hex"]) if value.get("hex") is not None else None
    below = []
    if kind.startswith("struct"):
        found = 21, count_form(len(children))
        for child_name, child in children:
            below += dynamic_nodes(child, depth + 1, (child_name or "").encode())
    elif kind.startswith("vla"):
        found = 22, count_form(len(children))
        for child in children:
            below += dynamic_nodes(child, depth + 1)
    elif kind == "null":
        found = 0, ("struct", [])
    elif kind == "bool":
        found = 1, boolean_form(value, raw)
    elif kind == "int":
        found = dynamic_integer(value["size"], value["signed"], integer_value(value, raw))
    elif kind == "pointer":
        found = 13, ("int", integer_value(value, raw), 64, False, 16)
    elif kind == "byte":
        found = 12, ("int", raw[0], 8, False, 16)
    elif kind == "float":
        found = dynamic_real(value["size"], raw, value["be"])
    else:
        found = 18 + WIDTH[value["unit"]], ("str", text_bytes(value, raw))
    return ([node(depth, name, *found)] + attribute_nodes(value.get("a", []), depth + 1) + below)


def dynamic_forms(nodes):
    return (("int", len(nodes), 32, False, 10), ("array", nodes))


# ---- gathered memory ----


class Memory:
    """Blocks of bytes with pointers among them. A missing pointer is eight zero bytes."""

    def __init__(self):
        self.blocks = []
        self.pointers = []

    def new(self, data=b""):
        self.blocks.append(bytearray(data))
        self.pointers.append({})
        return len(self.blocks) - 1

    def write(self, block, at, data):
        memory = self.blocks[block]
        if len(memory) < at + len(data):
            memory.extend(bytes(at + len(data) - len(memory)))
        memory[at:at + len(data)] = data

    def point(self, block, at, target):
        self.write(block, at, bytes(8))
        if target is not None:
            self.pointers[block][at] = target

    def read(self, block, at, size):
        data = bytes(self.blocks[block][at:at + size])
        assert len(data) == size, "a model that reads outside its own memory"
        return data

    def script(self):
        return [dict(hex=data.hex(), pointers=[[at, *target] for at, target in sorted(there.items())])
                for data, there in zip(self.blocks, self.pointers)]

    def follow(self, type, place):
        if place is None:
            return None
        block, at = place[0], place[1] + type["off"]
        if type["ptr"]:
            return self.pointers[block].get(at)
        return block, at


def string_at(memory, type, place):
    """Returns the bytes with the terminator."""
    block, at = place
    unit, end = type["unit"], place[1]
    while memory.read(block, end, unit) != bytes(unit):
        end += unit
    return memory.read(block, at, end + unit - at)


def gathered(memory, type, place, length_place=None):
    """Returns (form or forms, stride)."""
    kind = type["g"]
    if kind == "enum":
        form, stride = gathered(memory, type["e"], place)
        return enum_form(type["m"], type["e"], form), stride
    there = memory.follow(type, place)
    stride = 8 if type["ptr"] else None
    if kind == "str":
        raw = None if there is None else string_at(memory, type, there)
        return ("str", text_bytes(type, raw)), stride or len(raw)
    if kind == "byte":
        return ("int", memory.read(*there, 1)[0], 8, False, 16), stride or 1
    if kind in ("int", "pointer", "bool", "float"):
        size = type.get("size", 8)
        raw = memory.read(*there, size)
        if kind == "bool":
            form = boolean_form(type, raw)
        elif kind == "float":
            form = real_form(size, raw, type["be"])
        else:
            form = integer_form(dict(type, size=size, bits=type.get("bits", 0),
                                     signed=type.get("signed", 0)), raw)
        return form, stride or size
    if kind == "struct":
        forms = [gathered(memory, member, there)[0] for _, member in type["m"]]
        return members_form(type["m"], forms), stride or type["size"]
    count = type["n"] if kind == "array" else None
    if kind == "vla":
        length = type["l"]
        raw = memory.read(*memory.follow(length, length_place or place), length["size"])
        count = integer_value(length, raw)
    forms, total = [], 0
    for _ in range(count):
        form, step = gathered(memory, type["e"], (there[0], there[1] + total))
        forms.append(form)
        total += step
    if kind == "array":
        return list_forms(type["e"], forms), stride or total
    return (length_form(type["l"], count), list_forms(type["e"], forms)), stride


# ---- all types ----


def expected(type, value, memory=None):
    """Returns the form of a field; a pair of forms if its type has a generated second field."""
    kind = type["t"]
    if kind == "gather":
        return gathered(memory, type, value["base"], value.get("length"))[0]
    if kind == "dyn":
        return dynamic_forms(dynamic_nodes(value))
    if kind == "null":
        return ("struct", [])
    if kind == "struct":
        return members_form(type["m"], [expected(member, part, memory)
                                        for (_, member), part in zip(type["m"], value)])
    if kind == "array":
        return list_forms(type["e"], [expected(type["e"], part, memory) for part in value])
    if kind in ("vla", "visitor"):
        return (length_form(type["l"], len(value)),
                list_forms(type["e"], [expected(type["e"], part, memory) for part in value]))
    if kind == "opt":
        if not value[0]:
            return ("enum", 0, {"none"}), ("variant", "none", ("struct", []))
        inner = element_form(type["e"], expected(type["e"], value[1], memory))
        return ("enum", 1, {"some"}), ("variant", "some", inner)
    if kind == "variant":
        selector, chosen = selector_form(type, bytes.fromhex(value[0]))
        if chosen < 0:
            return selector, ("variant", "none", ("struct", []))
        option = type["o"][chosen][2]
        inner = element_form(option, expected(option, value[2], memory))
        return selector, ("variant", "o%d" % chosen, inner)
    if kind == "enum":
        return enum_form(type["m"], type["e"], expected(type["e"], value, memory))
    if kind == "bitmap":
        return bitmap_form(expected(type["e"], value, memory))
    raw = None if value is None else bytes.fromhex(value)
    if kind == "byte":
        return ("int", raw[0], 8, False, 16)
    if kind == "bool":
        return boolean_form(type, raw)
    if kind == "int":
        return integer_form(type, raw)
    if kind == "float":
        return real_form(type["size"], raw, type["be"])
    return ("str", text_bytes(type, raw))


def bitmap_form(form):
    """Integers of a bitmap are shown in base 16, unless an attribute sets the base."""
    if isinstance(form[0], tuple):
        return form[0], bitmap_form(form[1])
    if form[0] == "array":
        return ("array", [bitmap_form(element) for element in form[1]])
    if form[0] == "int":
        return form[:4] + (16 if form[4] == 10 else None,)
    return form


def expected_event(event, firing, memory):
    members = list(event["m"])
    forms = [expected(type, value, memory) for (_, type), value in zip(members, firing["args"])]
    if event["variadic"]:
        part = firing["variadic"]
        members = members + [["variadic", DYNAMIC]]
        forms.append(dynamic_forms(dynamic_nodes(dict(part, d="struct"))))
    return members_form(members, forms)
