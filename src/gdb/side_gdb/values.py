# SPDX-License-Identifier: MIT
"""Arguments by their descriptions."""
import struct

import gdb

from side_gdb.labels import LABEL, label_name
from side_gdb.memory import Rubbish, order_name
from side_gdb.text import Shown, clean, show

MOST_ELEMENTS = 200
MOST_GATHERED = 50000
DEEPEST = 24


class Decoder:
    """Arguments by their descriptions.  Types and arguments are cells of 64 bytes."""

    def __init__(self, memory):
        self.memory = memory
        self.depth = 0

    def pointed(self, data, offset, size=64):
        return self.memory.read(self.memory.slot(data, offset), size)

    def fields(self, addresses, arguments, decode):
        """A structure: fields by their names, a value that is rubbish said in its place."""
        if len(addresses) != len(arguments):
            raise Rubbish(f"{len(arguments)} arguments for {len(addresses)} fields")
        return {self.field_name(address): self.safely(decode, self.memory.read(address + 16, 64), argument)
                for address, argument in zip(addresses, arguments)}

    def field_name(self, address):
        return self.memory.string(self.memory.slot(self.memory.read(address, 16), 0))

    def safely(self, decode, *arguments):
        try:
            if self.depth >= DEEPEST:
                raise Rubbish("too deep")
            self.depth += 1
            try:
                return decode(*arguments)
            finally:
                self.depth -= 1
        except Rubbish as error:
            return Shown(None, f"<{error}>")

    def elements(self, addresses, decode):
        found = [self.safely(decode, address) for address in addresses[:MOST_ELEMENTS]]
        if len(addresses) > MOST_ELEMENTS:
            found.append(Shown(None, f"... {len(addresses) - MOST_ELEMENTS} more"))
        return found

    def vector(self, address):
        return self.memory.array(self.memory.read(address, 20), 0, 64)

    # Scalars: what the type says, from the bytes of the value.

    def integer(self, kind, offset, payload, shift=0, label=0):
        number = self.memory.number
        size, bits = number(kind, offset + 20, 2), number(kind, offset + 22, 2)
        if label == LABEL["bool"]:
            signed, order = False, order_name(kind[offset + 24])
        else:
            signed, order = bool(kind[offset + 24]), order_name(kind[offset + 25])
        bits = bits or size * 8
        if size not in (1, 2, 4, 8, 16) or shift + bits > size * 8:
            raise Rubbish(f"an integer of {bits} bits at bit {shift} of {size} bytes")
        value = int.from_bytes(payload[:size], order) >> shift & ((1 << bits) - 1)
        if label == LABEL["bool"]:
            return bool(value)
        if signed and value >> (bits - 1):
            value -= 1 << bits
        if label == LABEL["pointer"]:
            return Shown(value, f"{value:#x}")
        return self.in_base(value, self.base(kind, offset))

    def base(self, kind, offset):
        """What the attribute std.integer.base says."""
        for address in self.memory.array(kind, offset, 54)[:64]:
            data = self.memory.read(address, 54)
            if self.memory.raw_string(data, 0) == "std.integer.base":
                return data[22] if self.memory.order == "little" else data[53]
        return 10

    @staticmethod
    def in_base(value, base):
        letters = {2: ("0b", "b"), 8: ("0", "o"), 16: ("0x", "x")}.get(base)
        if not letters:
            return value
        return Shown(value, f"{'-' if value < 0 else ''}{letters[0]}{abs(value):{letters[1]}}")

    def float(self, kind, offset, payload):
        size, order = self.memory.number(kind, offset + 20, 2), order_name(kind[offset + 22])
        raw = int.from_bytes(payload[:size], order)
        if size not in (2, 4, 8, 16):
            raise Rubbish(f"a float of {size} bytes")
        if size == 16:
            return self.binary128(raw)
        letter = {2: "e", 4: "f", 8: "d"}[size]
        value = struct.unpack("<" + letter, raw.to_bytes(size, "little"))[0]
        for digits in range(1, 18):
            text = f"{value:.{digits}g}"
            try:
                if struct.pack("<" + letter, float(text)) == raw.to_bytes(size, "little"):
                    break
            except OverflowError:
                continue
        return Shown(value, text)

    @staticmethod
    def binary128(raw):
        sign, exponent = -1 if raw >> 127 else 1, raw >> 112 & 0x7fff
        fraction = raw & ((1 << 112) - 1)
        if exponent == 0x7fff:
            return float("nan") if fraction else sign * float("inf")
        whole = fraction | (1 << 112 if exponent else 0)
        # Python has no more than 53 bits: what does not fit is shown by its bits.
        try:
            value = sign * whole * 2.0 ** (max(exponent, 1) - 16383 - 112)
        except OverflowError:
            return Shown(None, f"{raw:#034x}")
        return value

    def text(self, kind, offset, address):
        if not address:
            return None
        return self.memory.string(address, kind[offset], order_name(kind[offset + 1]))

    @staticmethod
    def byte(value):
        return Shown(value, f"{value:#04x}")

    # Types of the stack: a cell of the description and a cell of the argument.

    def argument(self, kind, address):
        return self.decode(kind, self.memory.read(address, 64))

    def decode(self, kind, cell):
        number = self.memory.number
        label, found = number(kind, 0, 2), number(cell, 0, 2)
        name = label_name(label)
        if name == "dynamic":
            return self.dynamic(cell)
        if name in ("enum", "enum_bitmap"):
            return self.labelled(kind, self.decode(self.pointed(kind, 18), cell), name)
        expected = LABEL["gather_integer"] if name == "gather_enum" else label
        if found != expected:
            raise Rubbish(f"the argument is {label_name(found)}, the description has {name}")
        if name.startswith("gather_"):
            return self.gather(kind, self.memory.slot(cell, 4), self.memory.slot(cell, 20))
        if name == "null":
            return None
        if name == "byte":
            return self.byte(cell[4])
        if name.startswith("float"):
            return self.float(kind, 2, cell[4:])
        if name.startswith("string"):
            return self.text(kind, 22, self.memory.slot(cell, 4))
        if name in ("struct", "variant", "optional", "array", "vla", "vla_visitor"):
            return getattr(self, name)(kind, self.memory.slot(cell, 4))
        if label > LABEL["pointer"]:
            raise Rubbish(name)
        return self.integer(kind, 2, cell[4:], label=label)

    def struct(self, kind, address):
        fields = self.memory.array(self.pointed(kind, 2, 20), 0, 80)
        return self.fields(fields, self.vector(address), self.argument)

    def array(self, kind, address):
        return self.vla(kind, address, self.memory.number(self.pointed(kind, 2, 20), 16, 4))

    def vla(self, kind, address, length=None):
        element = self.pointed(self.pointed(kind, 2, 16), 0)
        found = self.vector(address)
        if length is not None and len(found) != length:
            raise Rubbish(f"{len(found)} elements in an array of {length}")
        return self.elements(found, lambda where: self.argument(element, where))

    def vla_visitor(self, kind, _):
        return Shown(None, self.visitor(self.pointed(kind, 2, 48), 32))

    def visitor(self, data, offset):
        """The program would have to run to say the elements."""
        address = self.memory.slot(data, offset)
        where = gdb.execute(f"info symbol {address}", to_string=True).split(" in section")[0].strip()
        return f"<said by {where if not where.startswith('No symbol') else hex(address)}>"

    def optional(self, kind, address):
        data = self.memory.read(address, 65)
        if not data[64]:
            return Shown(None, "absent")
        return self.decode(self.pointed(self.pointed(kind, 2, 16), 0), data)

    def variant(self, kind, address):
        data, described = self.memory.read(address, 128), self.pointed(kind, 2, 104)
        selector = self.decode(described[20:84], data)
        selector = self.signed(selector)
        for option in self.memory.array(described, 0, 80):
            cell = self.memory.read(option, 80)
            if self.memory.number(cell, 0, 8, True) <= selector <= self.memory.number(cell, 8, 8, True):
                return self.decode(cell[16:], data[64:])
        raise Rubbish(f"no option of the variant for {selector}")

    def labelled(self, kind, value, name):
        """An enumeration: the value, and all labels that it has."""
        def has(begin, end):
            if name == "enum_bitmap":
                return any(bit < len(bits) and bits[bit] for bit in range(begin, min(end + 1, len(bits))))
            return begin <= plain <= end

        plain = self.signed(value) if name != "enum_bitmap" else None
        bits = self.bits(kind, value) if name == "enum_bitmap" else []
        found = []
        for address in self.memory.array(self.pointed(kind, 2, 20), 0, 34):
            data = self.memory.read(address, 34)
            signed = name != "enum_bitmap"
            if has(self.memory.number(data, 0, 8, signed), self.memory.number(data, 8, 8, signed)):
                found.append(clean(self.memory.raw_string(data, 16)))
        number = value.value if isinstance(value, Shown) else value
        return Shown(number, f"{show(value)} ({', '.join(found)})" if found else show(value))

    @staticmethod
    def signed(value):
        """What ranges are compared with: 64 bits are taken for signed ones."""
        number = value.value if isinstance(value, Shown) else value
        if not isinstance(number, int):
            raise Rubbish("a number was expected")
        return number - (1 << 64) if 1 << 63 <= number < 1 << 64 else number

    def bits(self, kind, value):
        """The bits of a bitmap: item after item, the least significant one first."""
        item = self.pointed(kind, 18)
        while label_name(self.memory.number(item, 0, 2)) in ("array", "vla"):
            item = self.pointed(self.pointed(item, 2, 16), 0)
        size = 8 if self.memory.number(item, 0, 2) == LABEL["byte"] else 8 * self.memory.number(item, 22, 2)
        items = value if isinstance(value, list) else [value]
        numbers = [i.value if isinstance(i, Shown) else i for i in items]
        return [number >> bit & 1 for number in numbers if number is not None for bit in range(min(size, 128))]

    # Gathered memory: a base pointer, and where the description says that the data stands.

    def gather(self, kind, base, length_base):
        name = label_name(self.memory.number(kind, 0, 2))
        if name == "gather_enum":
            return self.labelled(kind, self.gather(self.pointed(kind, 18), base, 0), name)
        where = base + self.memory.number(kind, 18 if name == "gather_struct" else 2, 8)
        if self.by_pointer(kind, name):
            where = self.memory.pointer(where)
        if name in ("gather_bool", "gather_integer", "gather_pointer"):
            payload = self.memory.read(where, min(self.memory.number(kind, 33, 2), 16))
            return self.integer(kind, 13, payload, self.memory.number(kind, 10, 2), LABEL[name[7:]]
                                if name != "gather_integer" else 0)
        if name == "gather_byte":
            return self.byte(self.memory.read(where, 1)[0])
        if name == "gather_float":
            return self.float(kind, 11, self.memory.read(where, min(self.memory.number(kind, 31, 2), 16)))
        if name == "gather_string":
            return self.text(kind, 31, where)
        if name == "gather_struct":
            fields = self.memory.array(self.pointed(kind, 2, 20), 0, 80)
            return self.fields(fields, [where] * len(fields), lambda cell, at: self.gather(cell, at, at))
        if name == "gather_array":
            return self.gathered(self.pointed(kind, 11), where, self.memory.number(kind, 27, 4))
        if name == "gather_vla":
            length = self.gather(self.pointed(kind, 27), length_base, 0)
            return self.gathered(self.pointed(kind, 11), where,
                                 length.value if isinstance(length, Shown) else length)
        raise Rubbish(f"{name} among gathered data")

    @staticmethod
    def by_pointer(kind, name):
        places = {"gather_bool": 12, "gather_integer": 12, "gather_pointer": 12, "gather_struct": 26}
        return bool(kind[places.get(name, 10)])

    def gathered(self, element, where, length):
        found = []
        for index in range(length):
            if index == MOST_ELEMENTS:
                found.append(Shown(None, f"... {length - index} more"))
                break
            found.append(self.safely(self.gather, element, where, where))
            where += self.stride(element, where)
        return found

    def stride(self, kind, where):
        name = label_name(self.memory.number(kind, 0, 2))
        if name == "gather_enum":
            return self.stride(self.pointed(kind, 18), where)
        if self.by_pointer(kind, name):
            return self.memory.word
        if name == "gather_string":
            at = where + self.memory.number(kind, 2, 8)
            return len(self.memory.units(at, kind[31])[0]) + kind[31]
        if name == "gather_array":
            element = self.pointed(kind, 11)
            length = min(self.memory.number(kind, 27, 4), MOST_GATHERED)
            return sum(self.stride(element, where) for _ in range(length))
        places = {"gather_byte": None, "gather_float": (31, 2), "gather_struct": (27, 4)}
        place = places.get(name, (33, 2))
        return self.memory.number(kind, *place) if place else 1

    # Dynamic values: the argument says its type itself.

    def dynamic(self, cell):
        number, name = self.memory.number, label_name(self.memory.number(cell, 0, 2))
        if name == "dynamic_null":
            return None
        if name == "dynamic_bool":
            return self.integer(cell, 4, cell[29:], label=LABEL["bool"])
        if name in ("dynamic_integer", "dynamic_pointer"):
            return self.integer(cell, 4, cell[30:], label=LABEL["pointer"] if name[8:] == "pointer" else 0)
        if name == "dynamic_byte":
            return self.byte(cell[24])
        if name == "dynamic_float":
            return self.float(cell, 4, cell[27:])
        if name == "dynamic_string":
            return self.text(cell, 24, number(cell, 26, 8))
        if name == "dynamic_struct":
            return self.dynamic_struct(self.memory.slot(cell, 4))
        if name == "dynamic_vla":
            return self.elements(self.vector(self.memory.slot(cell, 4)),
                                 lambda where: self.dynamic(self.memory.read(where, 64)))
        if name in ("dynamic_struct_visitor", "dynamic_vla_visitor"):
            return Shown(None, self.visitor(self.pointed(cell, 4, 16), 0))
        raise Rubbish(f"the argument is {name}, the description has dynamic")

    def dynamic_struct(self, address):
        fields = self.memory.array(self.memory.read(address, 20), 0, 80)
        return self.fields(fields, fields, lambda cell, _: self.dynamic(cell))
