# SPDX-License-Identifier: MIT
"""Every type of the ABI with the values at its limits."""
import struct

import model as m
from run import Script

I64_MIN, I64_MAX = -(1 << 63), (1 << 63) - 1


class Cases:
    def __init__(self):
        self.script = Script()
        self.memory = None

    def event(self, name, *members, loglevel=6, variadic=None, **more):
        """Adds an event, and returns a function that fires it: values in the order of the members, as
        bytes, lists, ...
        """
        event = dict(provider="case", event=name, loglevel=loglevel, variadic=int(variadic is not None),
                     m=[list(member) for member in members], **more)
        firings = []

        def fire(*values, part=None, memory=None):
            memory = memory or m.Memory()
            firing = dict(args=[plain(value) for value in values], blocks=memory.script())
            if event["variadic"]:
                firing["variadic"] = part or dict(c=[])
            firings.append((firing, memory))
            return fire
        fire.done = lambda: self.script.add(event, *firings)
        return fire

    def one(self, name, type, *values):
        """Adds an event of one field, fired once for each value."""
        fire = self.event(name, ("field", type))
        for value in values:
            fire(value)
        fire.done()


def plain(value):
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value


def integer_bytes(type, value):
    size = type["size"]
    return (value & (1 << size * 8) - 1).to_bytes(size, m.order(type["be"]))


def ends(type):
    """Returns the values at the limits, and one whose sign differs in the other byte order."""
    bits = type["size"] * 8
    return [integer_bytes(type, value) for value in
            (0, 1, -1, 1 << (bits - 1), (1 << (bits - 1)) - 1, 0x0102030405060708090a0b0c0d0e0f10)]


def scalars(c):
    for size in (1, 2, 4, 8, 16):
        for be in (0, 1):
            for make in (m.u, m.s):
                type = make(size, be)
                name = "%s%d%s" % ("us"[type["signed"]], size * 8, "_be" if be else "")
                c.one(name, type, *ends(type))
    for base in (2, 8, 10, 16, 7):
        c.one("base%d" % base, m.u(4, a=[m.number("std.integer.base", "u8", base)]), b"\xff\0\0\0")
    c.one("pointer", m.pointer(), bytes(8), b"\xff" * 8)
    c.one("pointer_be", m.pointer(1), bytes(7) + b"\1")
    c.one("byte", m.BYTE, b"\0", b"\xff")
    c.one("null", m.NULL, None)
    for size in (1, 2, 4, 8):
        for be in (0, 1):
            c.one("bool%d%s" % (size * 8, "_be" * be), m.boolean(size, be), bytes(size), b"\xff" * size,
                  b"\x80" + bytes(size - 1), bytes(size - 1) + b"\x01")
            c.one("bool%d%s_7" % (size * 8, "_be" * be), m.boolean(size, be, 7), bytes(size),
                  b"\x80" + bytes(size - 1), bytes(size - 1) + b"\x80", b"\x40" + bytes(size - 1),
                  bytes(size - 1) + b"\x40")


def bit_fields(c):
    """Every length of every storage size in the stack's types; every length and offset of gathered
    ones, for 64 bits every third one.
    """
    patterns = {1: [b"\xa5", b"\x5a"], 2: [b"\xa5\xc3", b"\x01\x80"],
                4: [b"\xa5\xc3\x5a\x3c", b"\x01\0\0\x80"],
                8: [b"\xa5\xc3\x5a\x3c\x96\x69\xf0\x0f", b"\x01\0\0\0\0\0\0\x80"]}
    for size in (1, 2, 4, 8):
        for make in (m.u, m.s):
            for be in (0, 1):
                members = [("b%d" % bits, make(size, be, bits)) for bits in range(1, size * 8 + 1)]
                fire = c.event("bits_%s%d%s" % (make.__name__, size * 8, "_be" * be), *members)
                for pattern in patterns[size]:
                    fire(*[pattern] * len(members))
                fire.done()
                step = {1: 1, 2: 1, 4: 2, 8: 3}[size]
                inside = [("o%d_b%d" % (shift, bits),
                           m.g_int(size, 0, 0, int(make is m.s), be, shift, bits))
                          for shift in range(0, size * 8, step)
                          for bits in range(1, size * 8 - shift + 1, step)]
                fire = c.event("gather_bits_%s%d%s" % (make.__name__, size * 8, "_be" * be),
                               ("word", m.g_struct(*inside, size=size)))
                for pattern in patterns[size]:
                    memory = m.Memory()
                    fire(dict(base=[memory.new(pattern), 0]), memory=memory)
                fire.done()


def floats(c):
    halves = [0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x3c00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00,
              0x7c01, 0xfe55]
    singles = [0, 1 << 31, 1, 0x7fffff, 0x800000, 0x3f800000, 0x7f7fffff, 0x7f800000, 0xff800000,
               0x7fc00000, 0x7f800001]
    doubles = [0, 1 << 63, 1, (1 << 52) - 1, 1 << 52, 0x3ff << 52, (0x7ff << 52) - 1, 0x7ff << 52,
               0xfff << 52, 0x7ff8 << 48, (0x7ff << 52) + 1]
    quads = [0, 1 << 127, 1, 0x3fff << 112, 0x4000921fb54442d18469898cc51701b8, 0x7fff << 112,
             0xffff << 112, 0x7fff8 << 108, (0x7fff << 112) - 1]
    for size, values in ((2, halves), (4, singles), (8, doubles), (16, quads)):
        for be in (0, 1):
            c.one("float%d%s" % (size * 8, "_be" * be), m.real(size, be),
                  *[value.to_bytes(size, m.order(be)) for value in values])


def units(unit, be, *codes):
    return b"".join(code.to_bytes(unit, m.order(be)) for code in codes + (0,))


def strings(c):
    for unit in (1, 2, 4):
        for be in (0, 1):
            values = [None, units(unit, be), units(unit, be, 0x61), units(unit, be, *range(1, 256)),
                      units(unit, be, *[0x62] * (60000 // max(unit - 1, 1) // 2))]
            if unit == 2:
                values += [units(2, be, 0xd83d, 0xde00), units(2, be, 0xd800), units(2, be, 0xdfff),
                           units(2, be, 0xd800, 0x61), units(2, be, 0xdc00, 0xd800),
                           units(2, be, 0xd800, 0xd800, 0xdc00), units(2, be, 0xffff, 0x7ff, 0x800)]
            if unit == 4:
                values += [units(4, be, code) for code in
                           (0x7f, 0x80, 0x7ff, 0x800, 0xd800, 0xdfff, 0xffff, 0x10000, 0x10ffff,
                            0x110000, 0x1fffff, 0x200000, 0x3ffffff, 0x4000000, 0x7fffffff, 0x80000000,
                            0xffffffff)]
            c.one("string%d%s" % (unit * 8, "_be" * be), m.text(unit, be), *values)
    c.one("string_bytes", m.text(), b"\xff\xfe\x80\xc0\xed\xa0\x80\0", b"\"\\\n\t\x7f\0")


def compounds(c):
    inner = m.structure(("a", m.u(1)), ("s", m.text()))
    outer = m.structure(("", m.NULL), ("inner", inner), ("inner", inner), ("list", m.vla(inner, m.u(1))))
    c.one("struct", outer, [None, [b"\1", b"x\0"], [b"\2", None], [[b"\3", b"\0"], [b"\4", b"yy\0"]]])
    c.one("struct_empty", m.structure(), [])
    c.one("array", m.array(m.u(2, 1), 3), [b"\1\2", b"\3\4", b"\xff\xff"])
    c.one("array_empty", m.array(m.text(), 0), [])
    c.one("array_of_arrays", m.array(m.array(m.text(), 2), 2),
          [[b"a\0", None], [b"\0", b"dddddddddddd\0"]])
    for length in (m.u(1), m.s(2), m.u(4, 1), m.s(8), m.u(16), m.s(16, 1), m.u(4, 0, 5)):
        name = "%s%d%s" % ("us"[length["signed"]], length["size"] * 8, "_be" * length["be"])
        c.one("vla_%s_%d" % (name, length["bits"]), m.vla(m.u(2), length), [], [b"\1\2"],
              [b"\1\2"] * 255)
        c.one("visitor_%s_%d" % (name, length["bits"]), m.visitor(m.u(2), length), [], [b"\1\2"],
              [b"\1\2"] * 255)
    c.one("vla_long", m.vla(m.u(4), m.u(2)), [struct.pack("<I", i) for i in range(10000)])
    c.one("visitor_nested", m.visitor(m.visitor(m.visitor(m.text(), m.u(1)), m.u(2)), m.u(8)),
          [], [[]], [[[]], [], [[b"a\0", None], [b"c\0"]]])
    c.one("vla_of_optionals", m.vla(m.optional(m.vla(m.DYNAMIC, m.u(1)))),
          [[0, None], [1, []], [255, [dict(d="null"), dict(d="byte", hex="07")]]])
    deep = m.u(1)
    value = b"\x2a"
    for i in range(30):
        deep = m.structure(("level%d" % i, deep)) if i % 3 else m.vla(deep, m.u(1))
        value = [value]
    c.one("deep", deep, value)
    c.one("optional", m.optional(m.text(2)), [0, None], [1, units(2, 0, 0x41)], [200, None])
    c.one("optional_optional", m.optional(m.optional(m.NULL)), [0, None], [1, [0, None]], [1, [1, None]])


def enumerations(c):
    labels = [(0, 0, "zero"), (0, 9, "digit"), (5, 300, "overlap"), (-1, -1, "minus one"),
              (I64_MIN, -2, "negative"), (I64_MAX, I64_MAX, "most"), (7, 6, "empty range"),
              (8, 8, "quote \" backslash \\ newline \n"), (9, 9, "äöü 日本"), (1 << 32, 1 << 33, "wide"),
              (42, 42, ""), (43, 43, "struct"), (0, 0, "zero too")]
    for size in (1, 2, 4, 8, 16):
        for make in (m.u, m.s):
            for be in (0, 1):
                element = make(size, be)
                c.one("enum_%s%d%s" % (make.__name__, size * 8, "_be" * be), m.enum(element, *labels),
                      *[integer_bytes(element, value) for value in
                        (0, 5, 8, 9, 10, 42, 43, 100, 127, 128, 255, -1, -2, 1 << 32, I64_MIN, I64_MAX)])
    c.one("enum_partial", m.enum(m.s(4, 1, 5), *labels),
          *[integer_bytes(m.u(4, 1), value) for value in (0, 31, 30, 9, 0xffffffe0)])
    c.one("enum_no_labels", m.enum(m.u(4)), b"\1\0\0\0")
    c.one("enum_only_others", m.enum(m.u(1), (-5, -1, "never"), (256, 1000, "never too")), b"\1")
    flags = [(0, 0, "first"), (1, 3, "low"), (7, 8, "across"), (15, 15, "last of 16"), (63, 63, "63"),
             (64, 127, "upper"), (200, 1000, "beyond"), (5, 4, "empty"), (0, -1, "any")]
    for element, values in (
            (m.BYTE, (b"\0", b"\1", b"\x80", b"\xff")),
            (m.u(2), (b"\0\0", b"\0\x80", b"\x80\0")),
            (m.u(2, 1), (b"\0\x80", b"\x80\0")),
            (m.u(8), (bytes(7) + b"\x80",)),
            (m.u(16), (bytes(8) + b"\1" + bytes(7), b"\1" + bytes(15))),
            (m.array(m.u(1), 3), ([b"\0", b"\1", b"\0"], [b"\x80", b"\x80", b"\x80"])),
            (m.array(m.BYTE, 2), ([b"\x80", b"\1"],)),
            (m.vla(m.u(4, 1)), ([], [b"\0\0\0\1", bytes(4), b"\0\0\0\1"]))):
        c.one("bitmap_%d" % len(c.script.events), m.bitmap(element, *flags), *values)


def variants(c):
    options = [(5, 4, m.u(8)), (-5, 5, m.u(2, 1)), (0, 10, m.text()), (11, 11, m.NULL),
               (I64_MIN, -6, m.vla(m.u(1))), (12, 12, m.optional(m.u(1))),
               (13, 13, m.variant(m.u(1), (1, 1, m.text(4)))), (I64_MAX, I64_MAX, m.DYNAMIC),
               (100, 120, m.structure(("x", m.u(1)), ("y", m.text())))]
    fitting = {1: b"\1\2", 2: b"text\0", 3: None, 4: [b"\1", b"\2"], 5: [1, b"\7"],
               6: [b"\1", 0, units(4, 0, 0x1f600)], 7: dict(d="int", size=2, bits=0, signed=0, be=1,
                                                           hex="0102"), 8: [b"\xff", b"z\0"], -1: None}
    for size in (1, 2, 4, 8, 16):
        for make in (m.u, m.s):
            for be in (0, 1):
                type = m.variant(make(size, be), *options)
                selectors = [0, 5, 6, 10, 11, 12, 13, 14, 100, 120, 121, -5, -6, 127, 128, 255, I64_MAX,
                             I64_MIN]
                if size == 16:  # those that fit
                    low, high = (I64_MIN, I64_MAX) if make is m.s else (0, (1 << 64) - 1)
                    selectors = [s for s in selectors if low <= s <= high] + [high]
                values = []
                for selector in selectors:
                    raw = integer_bytes(type["sel"], selector)
                    chosen = m.selector_form(type, raw)[1]
                    values.append([raw, chosen, fitting[chosen]])
                c.one("variant_%s%d%s" % (make.__name__, size * 8, "_be" * be), type, *values)
    partial = m.variant(m.s(2, 1, 5), *options)
    values = []
    for raw in (b"\0\x1b", b"\xff\x1b", b"\0\0", b"\0\x0f", b"\0\x10"):
        chosen = m.selector_form(partial, raw)[1]
        values.append([raw, chosen, fitting[chosen]])
    c.one("variant_partial", partial, *values)
    c.one("variant_no_options", m.variant(m.u(1)), [b"\0", -1, None])
    every = m.variant(m.u(1), (0, 127, m.u(1)), (128, 255, m.text()))
    c.one("variant_all_taken", every, [b"\0", 0, b"\1"], [b"\xff", 1, b"x\0"])
    c.one("variant_in_array", m.array(every, 2), [[b"\0", 0, b"\1"], [b"\xff", 1, b"x\0"]])


def gathers(c):
    """All gather types, directly and through pointers, nested in pointers."""
    fire = c.event(
        "gather_all", *[("%s_%d" % (kind, ptr), m.gather(kind, 8, ptr, **more)) for ptr in (0, 1)
                        for kind, more in (("byte", {}), ("pointer", dict(be=0)), ("pointer", dict(be=1)),
                                           ("bool", dict(size=1, be=0, shift=0, bits=0)),
                                           ("bool", dict(size=4, be=1, shift=3, bits=2)),
                                           ("float", dict(size=2, be=1)), ("float", dict(size=4, be=0)),
                                           ("float", dict(size=8, be=1)), ("float", dict(size=16, be=0)),
                                           ("int", dict(size=16, be=1, signed=1, shift=0, bits=0)),
                                           ("int", dict(size=8, be=0, signed=1, shift=60, bits=4)),
                                           ("str", dict(unit=1, be=0)), ("str", dict(unit=2, be=1)),
                                           ("str", dict(unit=4, be=0)))])
    for data in (b"A" * 16 + bytes(8), bytes(24), b"\1" + bytes(23), b"\x80\x01" * 8 + bytes(8)):
        memory = m.Memory()
        values = []
        for ptr in (0, 1):
            block = memory.new(bytes(8) + data)
            if ptr:
                target = memory.new(b"...." + data)
                memory.blocks[block] = bytearray(16)
                memory.point(block, 8, [target, 4])
            values += [dict(base=[block, 0])] * 14
        if not data[0]:
            data = data[1:]
        fire(*values, memory=memory)
    fire.done()

    point = m.g_struct(("x", m.g_int(2)), ("flags", m.g_int(1, 2, shift=1, bits=3)),
                       ("deep", m.g_int(1, 2, shift=4, bits=4, signed=1)), size=4)
    node = m.g_struct(("name", m.gather("str", 0, 1, unit=1, be=0)), ("at", dict(point, off=8)),
                      ("points", m.gather("array", 12, 0, e=point, n=2)),
                      ("there", dict(point, off=24, ptr=1)),
                      ("list", m.gather("vla", 32, 1, e=point, l=m.g_int(4, 20))),
                      ("names", m.gather("array", 40, 1, n=3,
                                         e=m.gather("str", 0, 1, unit=1, be=0))),
                      ("inline", m.gather("array", 48, 0, n=2, e=m.gather("str", 0, 0, unit=1, be=0))),
                      ("kind", m.gather("enum", e=m.g_int(2, 8), m=[[1, 2, "one or two"]])),
                      size=56)
    fire = c.event("gather_nest", ("direct", node), ("pointer", dict(node, ptr=1)),
                   ("rows", m.gather("array", 0, 0, e=dict(node, ptr=1), n=2)))
    memory = m.Memory()
    block = memory.new(bytes(56))
    memory.point(block, 0, [memory.new(b"name\0"), 0])
    memory.write(block, 8, struct.pack("<HBB", 1, 0xfe, 0))
    memory.write(block, 12, struct.pack("<HBBHBB", 10, 0x55, 0, 20, 0xaa, 0))
    memory.write(block, 20, struct.pack("<I", 2))
    memory.point(block, 24, [memory.new(struct.pack("<HBB", 30, 0x0f, 0)), 0])
    memory.point(block, 32, [memory.new(struct.pack("<HBBHBB", 40, 0x10, 0, 50, 0x80, 0)), 0])
    names = memory.new(bytes(24))
    memory.point(names, 0, [memory.new(b"first\0"), 0])
    memory.point(names, 8, None)
    memory.point(names, 16, [memory.new(b"\0"), 0])
    memory.point(block, 40, [names, 0])
    memory.write(block, 48, b"ab\0cd\0")
    pointers = memory.new(bytes(16))
    memory.point(pointers, 0, [block, 0])
    memory.point(pointers, 8, [block, 0])
    fire(dict(base=[block, 0]), dict(base=[pointers, 0]), dict(base=[pointers, 0]), memory=memory)
    fire.done()

    for size in (1, 2, 4, 8, 16):
        for ptr in (0, 1):
            fire = c.event("gather_vla_%d_%d" % (size * 8, ptr),
                           ("v", m.gather("vla", 4, ptr, e=m.g_int(2, be=1),
                                          l=m.g_int(size, 8, ptr, signed=size & 5 and 1, be=1))))
            for count in (0, 1, 100):
                memory = m.Memory()
                data = memory.new(bytes(4) + bytes(range(200)))
                length = memory.new(bytes(8) + count.to_bytes(size, "big"))
                if ptr:
                    place, at = memory.new(bytes(16)), [length, 8]
                    memory.point(place, 8, at)
                    first = memory.new(bytes(16))
                    memory.point(first, 4, [data, 4])
                    fire(dict(base=[first, 0], length=[place, 0]), memory=memory)
                else:
                    fire(dict(base=[data, 0], length=[length, 0]), memory=memory)
            fire.done()
    # A NULL pointer is sufficient if nothing is read.
    fire = c.event("gather_nothing", ("array", m.gather("array", 0, 0, e=m.g_int(4), n=0)),
                   ("struct", m.g_struct(ptr=1)))
    fire(dict(base=None), dict(base=None))
    fire.done()


def d_int(size, value, signed=0, be=0, bits=0, **more):
    raw = (value & (1 << size * 8) - 1).to_bytes(size, m.order(be))
    return dict(d="int", size=size, bits=bits, signed=signed, be=be, hex=raw.hex(), **more)


def d_text(value, unit=1, be=0, **more):
    return dict(d="str", unit=unit, be=be, hex=m.raw_text(value, unit, be)["hex"], **more)


ATTRIBUTES = [
    m.attribute("null", "null"), m.attribute("bool", "bool", b"\1"),
    m.number("u8", "u8", 255), m.number("u64", "u64", (1 << 64) - 1), m.number("s8", "s8", -128),
    m.number("s64", "s64", I64_MIN), m.number("u128", "u128", (1 << 128) - 1),
    m.number("s128", "s128", -1), m.attribute("f32", "f32", struct.pack("<f", 1.5)),
    m.attribute("f64", "f64", struct.pack("<d", -0.0)), m.attribute("f128", "f128", bytes(14) + b"\xff\x3f"),
    m.attribute("text", "str", m.raw_text("text")), m.attribute("wide", "str", m.raw_text("éü🙂", 2, 1)),
    m.attribute("wider", "str", m.raw_text("日", 4)), m.attribute("nothing", "str", m.raw_text(None)),
    m.attribute("ключ", "u8", b"\1", 2), m.attribute("", "u8", b"\1"),
]


def dynamics(c):
    scalars_ = [dict(d="null"), dict(d="byte", hex="fe")]
    for size in (1, 2, 4, 8, 16):
        for be in (0, 1):
            for signed in (0, 1):
                scalars_ += [d_int(size, value, signed, be) for value in
                             (0, -1, 1 << (size * 8 - 1), 0x0102030405060708090a0b0c0d0e0f10)]
    scalars_ += [d_int(4, 0x7ff, 1, 1, 11), d_int(2, 0xffff, 0, 0, 3)]
    for size in (1, 2, 4, 8):
        scalars_ += [dict(d="bool", size=size, bits=0, be=be, hex=raw.hex()) for be in (0, 1)
                     for raw in (bytes(size), bytes(size - 1) + b"\1", b"\1" + bytes(size - 1))]
    scalars_ += [dict(d="bool", size=1, bits=7, be=0, hex="80")]
    scalars_ += [dict(d="pointer", size=8, bits=0, signed=0, be=be, hex=bytes(range(8)).hex())
                 for be in (0, 1)]
    for size in (2, 4, 8, 16):
        scalars_ += [dict(d="float", size=size, be=be, hex=raw.hex()) for be in (0, 1)
                     for raw in (bytes(size), b"\xff" * size, bytes(range(1, size + 1)))]
    for unit in (1, 2, 4):
        scalars_ += [d_text(value, unit, be) for be in (0, 1) for value in ("", "text", "\ud800x", None)]
    c.one("dynamic_scalars", m.DYNAMIC, *scalars_)
    everything = dict(d="struct", a=ATTRIBUTES, c=[["f%d" % i, value] for i, value in enumerate(scalars_)])
    visited = dict(d="struct visitor", a=ATTRIBUTES[:1],
                   c=[["", dict(d="vla visitor", c=scalars_[:5])], ["é", dict(d="vla", c=[])], ["", everything]])
    deep = dict(d="byte", hex="00")
    for i in range(100):
        deep = (dict(d="vla", c=[deep]), dict(d="struct visitor", c=[["n", deep]]))[i & 1]
    c.one("dynamic_compounds", m.DYNAMIC, everything, visited, deep, dict(d="struct", c=[]),
          dict(d="vla visitor", c=[], a=ATTRIBUTES), dict(d="vla", c=scalars_, a=ATTRIBUTES[2:3]),
          d_text("attributed", a=ATTRIBUTES))
    c.one("dynamic_elements", m.array(m.DYNAMIC, 3), [visited, dict(d="null"), d_int(4, 7)])
    for name, members in (("variadic", [("x", m.u(4)), ("variadic", m.text())]), ("variadic_only", [])):
        fire = c.event(name, *members, variadic=True)
        values = [b"\1\0\0\0", b"x\0"][:len(members)]
        fire(*values)
        fire(*values, part=dict(c=everything["c"], a=ATTRIBUTES))
        fire(*values, part=dict(c=[["x", deep], ["x", visited]]))
        fire.done()


def attributes(c):
    """At every level; they are in the description only."""
    a = dict(a=ATTRIBUTES)
    members = [("null", dict(m.NULL, **a)), ("bool", m.boolean(**a)), ("byte", dict(m.BYTE, **a)),
               ("u", m.u(4, **a)), ("s", m.s(16, 1, **a)), ("p", m.pointer(**a)), ("f", m.real(8, **a)),
               ("t", m.text(2, 1, **a)), ("st", m.structure(("x", m.u(1, **a)), **a)),
               ("ar", m.array(m.u(1, **a), 1, **a)), ("vl", m.vla(m.u(1, **a), m.u(1, **a), **a)),
               ("vi", m.visitor(m.u(1, **a), m.u(1, **a), **a)), ("op", m.optional(m.u(1, **a), **a)),
               ("va", m.variant(m.u(1, **a), (0, 0, m.u(1, **a)), **a)),
               ("en", m.enum(m.u(1, **a), (0, 0, "zero"), **a)),
               ("bi", m.bitmap(m.u(1, **a), (0, 0, "zero"), **a)),
               ("gs", m.g_struct(("i", m.g_int(1, **a)), ("y", m.gather("byte", **a)), size=1, **a)),
               ("ga", m.gather("array", n=1, e=m.g_int(1, **a), **a))]
    for level in range(8):
        fire = c.event("attributes_%d" % level, *members, loglevel=level, **a)
        memory = m.Memory()
        place = dict(base=[memory.new(b"\7"), 0])
        fire(None, b"\1", b"\2", bytes(4), bytes(16), bytes(8), bytes(8), b"\0\0", [b"\1"], [b"\1"],
             [b"\1"], [b"\1"], [1, b"\1"], [b"\0", 0, b"\1"], b"\0", b"\1", place, place, memory=memory)
        fire.done()


def names(c):
    words = ["", "", "x", "x", "x_2", "x_length", "_x", "__x", "x_tag", "é", "ü", "a b", "a-b", "a.b", "1",
             "struct", "enum", "event", "variant", "string", "integer", "align", "clock", "timestamp", "id",
             "_", "__", "variadic", "n" * 200]
    types = [m.vla(m.u(1), m.u(1)), m.optional(m.u(1)), m.u(1), m.DYNAMIC,
             m.variant(m.u(1), (0, 9, m.u(1)))]
    values = [[b"\1"], [1, b"\2"], b"\3", d_int(1, 4), [b"\5", 0, b"\6"]]
    for shift in range(5):
        fire = c.event("names_%d" % shift, *[(word, types[(i + shift) % 5]) for i, word in enumerate(words)],
                       variadic=True)
        fire(*[values[(i + shift) % 5] for i in range(len(words))])
        fire.done()
    c.event("no fields at all")().done()
    c.event("quotes \" and \\ and \n and é")().done()


def script():
    c = Cases()
    for part in (scalars, bit_fields, floats, strings, compounds, enumerations, variants, gathers, dynamics,
                 attributes, names):
        part(c)
    return c.script
