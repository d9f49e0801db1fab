# SPDX-License-Identifier: MIT
"""Memory of the program: what is read may be rubbish, each read is checked and counted."""
import gdb

MOST_BYTES = 4096
MOST_READS = 50000


class Rubbish(Exception):
    """What stands in memory cannot be what it should be."""


class Memory:
    """The program's memory, in its own byte order and word size."""

    def __init__(self):
        try:
            self.registry = int(gdb.parse_and_eval("(unsigned long) &side_registry_0"))
        except gdb.error:
            if gdb.selected_inferior().pid:
                raise gdb.GdbError("side: no libside here (there is no symbol side_registry_0 in the program and the libraries "
                                   "that it has loaded): it has no events, or not yet, or is static and stripped") from None
            raise gdb.GdbError("side: no libside here (there is no symbol side_registry_0): start the "
                               "program, attach to it, or load its core dump first") from None
        self.order = "big" if "big" in gdb.execute("show endian", to_string=True) else "little"
        self.reads = 0
        self.word = 8
        try:
            self.word = self.number(self.read(self.registry, 8), 4, 2)
        except Rubbish as error:
            alive = any(inferior.pid for inferior in gdb.inferiors())
            raise Rubbish(error if alive else "the program does not run: start it first") from None
        if self.word not in (4, 8):
            raise Rubbish(f"side_registry_0 says that words have {self.word} bytes")

    def read(self, address, size):
        self.reads += 1
        if self.reads > MOST_READS:
            raise Rubbish("there is no end to it")
        try:
            return bytes(gdb.selected_inferior().read_memory(address, size))
        except (gdb.error, OverflowError, ValueError):
            raise Rubbish(f"no memory can be read at {address:#x}") from None

    def number(self, data, offset, size, signed=False):
        return int.from_bytes(data[offset:offset + size], self.order, signed=signed)

    def slot(self, data, offset):
        """A pointer in its 16 bytes."""
        return self.number(data, offset + (16 - self.word if self.order == "big" else 0), self.word)

    def pointer(self, address):
        return self.number(self.read(address, self.word), 0, self.word)

    def array(self, data, offset, size):
        """The addresses of the elements, each SIZE bytes, of an array or a vector of arguments."""
        length = self.number(data, offset + 16, 4)
        first = self.slot(data, offset)
        if length > 1 << 20:
            raise Rubbish(f"an array of {length} elements")
        return [first + size * i for i in range(length)]

    def units(self, address, unit):
        """The code units of a string, without the terminator; and whether it goes on."""
        found = b""
        while len(found) < MOST_BYTES:
            # Never beyond a page that may be the last one.
            size = min(256, 4096 - (address + len(found)) % 4096)
            found += self.read(address + len(found), max(size - size % unit, unit))
            for i in range(0, len(found), unit):
                if found[i:i + unit] == bytes(unit):
                    return found[:i], False
        return found, True

    def string(self, address, unit=1, order=None):
        if unit not in (1, 2, 4):
            raise Rubbish(f"a string with units of {unit} bytes")
        found, more = self.units(address, unit)
        ending = {"little": "-le", "big": "-be"}[order or self.order]
        text = found.decode({1: "utf-8", 2: "utf-16" + ending, 4: "utf-32" + ending}[unit],
                            "backslashreplace")
        return text + ("..." if more else "")

    def raw_string(self, data, offset):
        return self.string(self.slot(data, offset), data[offset + 16], order_name(data[offset + 17]))


def order_name(number):
    return "big" if number else "little"
