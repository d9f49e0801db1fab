# SPDX-License-Identifier: MIT
"""Random events and values, the same for the same seed."""
import random

import model as m


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.memory = None

    # ---- helpers ----

    def draw(self, limit):
        return self.random.randrange(limit)

    def pick(self, *choices):
        return self.random.choice(choices)

    def raw(self, size):
        """Returns bytes, often the least or the greatest possible values."""
        kind = self.draw(6)
        if kind == 0:
            return bytes(size)
        if kind == 1:
            return b"\xff" * size
        if kind == 2:
            return b"\x80" + bytes(size - 1)
        if kind == 3:
            return bytes(size - 1) + b"\x80"
        return self.random.randbytes(size)

    def name(self, taken=None):
        """Returns a name: some repeat, are empty, or have characters that identifiers do not have."""
        names = ["x", "y", "count", "long_name_of_a_field", "été", "a b", "a-b", "a.b", "1st", "struct",
                 "", "_x", "__x", "x_2", "x_length", "y_tag", "event", "größe"]
        if self.draw(3):
            return "f%d" % self.draw(1000)
        return self.pick(*names)

    def attributes(self):
        if self.draw(4):
            return {}
        return dict(a=[self.attribute() for _ in range(self.draw(4))])

    def attribute(self):
        kind = self.pick("null", "bool", "u8", "u16", "u32", "u64", "u128", "s8", "s16", "s32", "s64",
                         "s128", "f32", "f64", "f128", "str", "base")
        key = self.pick("key", "std.integer.unit", "lang.c.x", "ключ", "")
        if kind == "base":
            return m.number("std.integer.base", self.pick("u8", "s32", "u64"), self.pick(2, 8, 10, 16, 7))
        if kind == "null":
            return m.attribute(key, kind)
        if kind == "bool":
            return m.attribute(key, kind, bytes([self.draw(2)]))
        if kind == "str":
            unit = self.pick(1, 2, 4)
            words = self.pick("text", "", "ärger", "日本", "🙂", None)
            return m.attribute(key, kind, m.raw_text(words, unit, self.draw(2)))
        return m.attribute(key, kind, self.raw(int(kind[1:]) // 8), self.pick(1, 1, 2, 4))

    # ---- types ----

    def integer(self, sizes=(1, 2, 4, 8, 16), partial=True):
        size = self.pick(*sizes)
        bits = 0
        if partial and size < 16 and not self.draw(3):
            bits = 1 + self.draw(size * 8)
        return self.pick(m.u, m.s)(size, be=self.draw(2), bits=bits, **self.attributes())

    def scalar(self):
        kind = self.draw(9)
        more = self.attributes()
        if kind < 3:
            return self.integer()
        if kind == 3:
            size = self.pick(1, 2, 4, 8)
            return m.boolean(size, self.draw(2), self.pick(0, 0, 1 + self.draw(size * 8)), **more)
        if kind == 4:
            return m.real(self.pick(2, 4, 8, 16), self.draw(2), **more)
        if kind == 5:
            return m.pointer(self.draw(2), **more)
        if kind == 6:
            return dict(self.pick(m.NULL, m.BYTE), **more)
        return m.text(self.pick(1, 1, 2, 4), self.draw(2), **more)

    def mappings(self, low=-(1 << 63), high=(1 << 63) - 1):
        out = []
        for _ in range(self.draw(6)):
            near = self.pick(0, 1, 5, 127, 128, 255, 256, 65535, 1 << 31, 1 << 32, low, high,
                             -1, -128, -32768, self.draw(1 << 16))
            begin = max(low, min(high, near + self.draw(7) - 3))
            end = max(low, min(high, begin + self.pick(0, 0, 1, 5, 300, 1 << 40, -1)))
            label = self.pick("a", "b", "a label", "quote\"\\", "new\nline", "ÄÖ", "x%d" % self.draw(9), "")
            out.append((begin, end, label))
        return out

    def members(self, depth, make):
        return [[self.name(), make(depth + 1)] for _ in range(self.draw(5))]

    def type(self, depth=0):
        kind = self.draw(16 if depth < 6 else 5)
        more = self.attributes()
        if kind < 5:
            return self.scalar()
        if kind == 5:
            return m.structure(*self.members(depth, self.type), **more)
        if kind == 6:
            return m.array(self.type(depth + 1), self.draw(4), **more)
        if kind == 7:
            return m.vla(self.type(depth + 1), self.integer(), **more)
        if kind == 8:
            return m.visitor(self.type(depth + 1), self.integer(), **more)
        if kind == 9:
            return m.optional(self.type(depth + 1), **more)
        if kind == 10:
            options = [(begin, end, self.type(depth + 2)) for begin, end, _ in self.mappings()]
            return m.variant(self.integer(), *options, **more)
        if kind == 11:
            return m.enum(self.integer(), *self.mappings(), **more)
        if kind == 12:
            item = self.pick(m.BYTE, m.u(self.pick(1, 2, 4, 8, 16), self.draw(2)))
            item = self.pick(item, item, m.array(item, self.draw(4)), m.vla(item, self.integer()))
            return m.bitmap(item, *self.mappings(0), **more)
        if kind == 13:
            return dict(m.DYNAMIC)
        return self.gather(depth, field=True)

    def gather_integer(self, off=0, ptr=0, sizes=(1, 2, 4, 8, 16)):
        size = self.pick(*sizes)
        shift = bits = 0
        if size < 16 and not self.draw(2):
            bits = 1 + self.draw(size * 8)
            shift = self.draw(size * 8 - bits + 1)
        return m.g_int(size, off, ptr, self.draw(2), self.draw(2), shift, bits, **self.attributes())

    def gather(self, depth, off=None, field=False, element=False):
        """Returns a gather type whose footprint begins at `off` of its base."""
        if off is None:
            off = self.pick(0, 0, 8, 24)
        ptr = int(not self.draw(3))
        more = self.attributes()
        kind = self.draw(13 if depth < 6 else 7)
        if kind < 2:
            return self.gather_integer(off, ptr)
        if kind == 2:
            size = self.pick(1, 2, 4, 8)
            bits = self.pick(0, 1 + self.draw(size * 8))
            shift = self.draw(size * 8 - bits + 1) if bits else 0
            return m.gather("bool", off, ptr, size=size, be=self.draw(2), bits=bits, shift=shift, **more)
        if kind == 3:
            return m.gather("byte", off, ptr, **more)
        if kind == 4:
            return m.gather("float", off, ptr, size=self.pick(2, 4, 8, 16), be=self.draw(2), **more)
        if kind == 5:
            return m.gather("pointer", off, ptr, be=self.draw(2), **more)
        if kind == 6:
            return m.gather("str", off, ptr, unit=self.pick(1, 1, 2, 4), be=self.draw(2), **more)
        if kind == 7:
            return m.gather("enum", e=self.gather_integer(off, ptr), m=[list(x) for x in self.mappings()])
        if kind in (8, 9):
            return self.gather_struct(depth, off, ptr)
        if kind == 10 and not element:
            length = self.gather_integer(0 if field else off, int(not self.draw(3)))
            if not field:
                off += self.footprint(length)
            return m.gather("vla", off, ptr, e=self.gather(depth + 1, 0, element=True), l=length, **more)
        return m.gather("array", off, ptr, e=self.gather(depth + 1, 0, element=True), n=self.draw(4),
                        **more)

    def gather_struct(self, depth, off, ptr):
        members, at = [], 0
        for _ in range(self.draw(5)):
            at += self.pick(0, 0, 0, 1, 4, 8)
            member = self.gather(depth + 1, at)
            members.append((self.name(), member))
            if member["g"] == "int" and not member["ptr"] and not self.draw(3):
                # Bit-fields of one word.
                other = self.gather_integer(at, 0, sizes=(member["size"],))
                members.append((self.name(), other))
            at = self.end(member)
        return m.g_struct(*members, off=off, ptr=ptr, size=at + self.pick(0, 0, 3), **self.attributes())

    def end(self, type):
        """Returns the end of a type's footprint, from the base of its offset."""
        if type["g"] == "enum":
            return self.end(type["e"])
        end = type["off"] + self.footprint(type)
        if type["g"] == "vla":
            return max(end, self.end(type["l"]))
        return end

    STRING_UNITS = 12

    def footprint(self, type):
        kind = type["g"]
        if kind == "enum":
            return self.footprint(type["e"])
        if type["ptr"]:
            return 8
        if kind == "str":
            return self.STRING_UNITS * type["unit"]
        if kind == "array":
            return type["n"] * self.footprint(type["e"])
        if kind == "vla":
            return 3 * self.footprint(type["e"])
        return {"byte": 1, "pointer": 8}.get(kind) or type["size"]

    # ---- values ----

    def units(self, unit, most):
        """Returns code units, valid and invalid, without NUL."""
        out = []
        for _ in range(self.draw(most)):
            ceiling = self.pick(0x7f, 0xff, 0xffff, 0xffffffff)
            out.append(min((1 << 8 * unit) - 1, 1 + self.draw(ceiling)))
            if unit == 2 and not self.draw(3):
                out[-1] = self.pick(0xd800, 0xdbff, 0xdc00, 0xdfff)
            if unit == 4 and not self.draw(3):
                out[-1] = self.pick(0xd800, 0x10ffff, 0x110000, 0x1fffff, 0x200000, 0x7fffffff, 0x80000000)
        return out

    def string(self, unit, be, most=40):
        units = self.units(unit, most) + [0]
        return b"".join(code.to_bytes(unit, m.order(be)) for code in units)

    def text_value(self, type, most=40):
        return None if not self.draw(8) else self.string(type["unit"], type["be"], most).hex()

    def selector(self, type):
        """Returns a selector in or near the ranges, which are ranges of 64 bits."""
        selector = type["sel"]
        size = selector["size"]
        bits = selector["bits"] or size * 8
        if type["o"] and self.draw(4):
            option = self.pick(*type["o"])
            value = self.pick(option[0], option[1], option[0] - 1, option[1] + 1)
        else:
            value = int.from_bytes(self.raw(min(size, 8)), "little", signed=True)
        if size == 16:
            value = max(-(1 << 63), min((1 << 64) - 1, value)) if not selector["signed"] else value
            value = m.as_signed(value) if selector["signed"] else value & (1 << 64) - 1
            return value.to_bytes(16, m.order(selector["be"]), signed=bool(selector["signed"]))
        junk = int.from_bytes(self.raw(size), "little") >> bits << bits
        value = value & (1 << bits) - 1 | junk
        return value.to_bytes(size, m.order(selector["be"]))

    def value(self, type):
        kind = type["t"]
        if kind == "gather":
            return self.gather_value(type)
        if kind == "dyn":
            return self.dynamic()
        if kind == "null":
            return None
        if kind == "struct":
            return [self.value(member) for _, member in type["m"]]
        if kind == "array":
            return [self.value(type["e"]) for _ in range(type["n"])]
        if kind in ("vla", "visitor"):
            return [self.value(type["e"]) for _ in range(self.draw(4))]
        if kind == "opt":
            chosen = self.pick(0, 1, 1, 200)
            return [chosen, self.value(type["e"]) if chosen else None]
        if kind == "variant":
            selector = self.selector(type).hex()
            chosen = m.selector_form(type, bytes.fromhex(selector))[1]
            return [selector, chosen, self.value(type["o"][chosen][2]) if chosen >= 0 else None]
        if kind in ("enum", "bitmap"):
            return self.near_mapping(type)
        if kind == "str":
            return self.text_value(type)
        if kind == "bool" and type["size"] == 1 and not type["bits"]:
            return bytes([self.pick(0, 1, 1, 2, 255)]).hex()
        return self.raw(type.get("size", 1)).hex()

    def near_mapping(self, type):
        element = type["e"]
        if type["t"] == "enum" and type["m"] and self.draw(3):
            mapping = self.pick(*type["m"])
            value = self.pick(mapping[0], mapping[1], mapping[0] - 1, mapping[1] + 1)
            size = element["size"]
            return (value & (1 << size * 8) - 1).to_bytes(size, m.order(element["be"])).hex()
        return self.value(element)

    # ---- dynamic values ----

    def dynamic_attributes(self):
        return self.attributes()

    def dynamic(self, depth=0):
        kind = self.draw(13 if depth < 5 else 8)
        more = self.dynamic_attributes()
        if kind == 0:
            return dict(d="null", **more)
        if kind == 1:
            size = self.pick(1, 2, 4, 8)
            raw = bytes([self.draw(2)]) if size == 1 else self.raw(size)
            return dict(d="bool", size=size, bits=self.pick(0, size * 8, 1 + self.draw(size * 8)),
                        be=self.draw(2), hex=raw.hex(), **more)
        if kind in (2, 3):
            size = self.pick(1, 2, 4, 8, 16)
            bits = 0 if size == 16 else self.pick(0, 0, 1 + self.draw(size * 8))
            return dict(d="int", size=size, bits=bits, signed=self.draw(2), be=self.draw(2),
                        hex=self.raw(size).hex(), **more)
        if kind == 4:
            return dict(d="pointer", size=8, bits=0, signed=0, be=self.draw(2), hex=self.raw(8).hex(),
                        **more)
        if kind == 5:
            return dict(d="byte", hex=self.raw(1).hex(), **more)
        if kind == 6:
            size = self.pick(2, 4, 8, 16)
            return dict(d="float", size=size, be=self.draw(2), hex=self.raw(size).hex(), **more)
        if kind == 7:
            type = dict(unit=self.pick(1, 2, 4), be=self.draw(2))
            return dict(d="str", hex=self.text_value(type), **type, **more)
        if kind in (8, 9):
            return dict(d=self.pick("struct", "struct visitor"), c=self.dynamic_fields(depth), **more)
        return dict(d=self.pick("vla", "vla visitor"),
                    c=[self.dynamic(depth + 1) for _ in range(self.draw(4))], **more)

    def dynamic_fields(self, depth):
        return [[self.name(), self.dynamic(depth + 1)] for _ in range(self.draw(4))]

    # ---- memory ----

    def gather_value(self, type):
        memory = self.memory
        block = memory.new()
        base = self.pick(0, 0, 4)
        place = dict(base=[block, base])
        if type["g"] != "vla":
            self.fill(type, block, base)
            return place
        length_block = memory.new()
        place["length"] = [length_block, 0]
        count = self.fill_length(type["l"], length_block, 0)
        self.fill_elements(type, count, block, base)
        return place

    def there(self, type, block, base):
        """Returns where the data must be, and writes the pointer to it."""
        at = base + type["off"]
        if not type["ptr"]:
            return block, at
        target = self.memory.new(), self.pick(0, 0, 3)
        self.memory.point(block, at, list(target))
        return target

    def fill_length(self, type, block, base):
        count = self.draw(4)
        bits = type["bits"] or type["size"] * 8
        if type["signed"]:
            bits -= 1
        count = min(count, (1 << bits) - 1)
        junk = int.from_bytes(self.raw(type["size"]), "little")
        width = type["bits"] or type["size"] * 8
        value = junk & ~((1 << width) - 1 << type["shift"]) | count << type["shift"]
        block, at = self.there(type, block, base)
        self.memory.write(block, at, value.to_bytes(type["size"], m.order(type["be"])))
        return count

    def fill_elements(self, type, count, block, base):
        block, at = self.there(type, block, base)
        begin = at
        for _ in range(count):
            at += self.fill(type["e"], block, at)
        return at - begin

    def fill(self, type, block, base):
        """Puts a value into memory. Returns the stride."""
        kind = type["g"]
        if kind == "enum":
            return self.fill(type["e"], block, base)
        if kind in ("array", "vla"):
            count = type["n"] if kind == "array" else self.fill_length(type["l"], block, base)
            total = self.fill_elements(type, count, block, base)
            return 8 if type["ptr"] else total
        if kind == "str" and type["ptr"] and not self.draw(5):
            self.memory.point(block, base + type["off"], None)
            return 8
        target, at = self.there(type, block, base)
        if kind == "str":
            data = self.string(type["unit"], type["be"], self.STRING_UNITS)
            self.memory.write(target, at, data)
            return 8 if type["ptr"] else len(data)
        if kind == "struct":
            for _, member in type["m"]:
                self.fill(member, target, at)
            self.memory.write(target, at + type["size"], b"")
            return 8 if type["ptr"] else type["size"]
        size = {"byte": 1, "pointer": 8}.get(kind) or type["size"]
        data = self.raw(size)
        if kind == "bool" and size == 1:
            data = bytes([self.draw(2)])
        self.memory.write(target, at, data)
        return 8 if type["ptr"] else size

    # ---- events ----

    def event(self, index):
        more = self.attributes()
        return dict(provider=self.pick("gen", "other provider", "p:q"), event="event_%d" % index,
                    loglevel=self.draw(8), variadic=int(not self.draw(5)),
                    m=[[self.name(), self.type()] for _ in range(self.draw(7))], **more)

    def firing(self, index, event):
        self.memory = m.Memory()
        out = dict(event=index, args=[self.value(type) for _, type in event["m"]])
        if event["variadic"]:
            out["variadic"] = dict(c=self.dynamic_fields(0), **self.dynamic_attributes())
        out["blocks"] = self.memory.script()
        return out, self.memory
