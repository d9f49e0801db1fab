# SPDX-License-Identifier: MIT
"""Types in words."""
from side_gdb.labels import label_name
from side_gdb.memory import Rubbish
from side_gdb.text import name_text
from side_gdb.values import DEEPEST, Decoder


class Describer:
    """What `side info` says of types: a line a field, nested ones indented."""

    def __init__(self, memory):
        self.memory = memory
        self.decoder = Decoder(memory)

    def lines(self, fields, indent):
        for address in fields:
            name = name_text(self.decoder.field_name(address))
            word, inside = self.kind(self.memory.read(address + 16, 64), indent)
            yield "  " * indent + f"{name}: {word}"
            yield from inside

    def kind(self, kind, indent):
        """A word for a type, and lines for the fields inside."""
        pointed, number = self.decoder.pointed, self.memory.number
        name = label_name(number(kind, 0, 2))
        plain = name.removeprefix("gather_")
        prefix = "gathered " if plain != name else ""
        if indent > DEEPEST:
            raise Rubbish("types without end")
        if plain == "struct":
            return prefix + "struct", list(self.lines(self.memory.array(pointed(kind, 2, 20), 0, 80), indent + 1))
        if plain in ("array", "vla", "vla_visitor", "optional"):
            address = kind[11:27] if prefix else pointed(kind, 2, 16)
            word, inside = self.kind(pointed(address, 0), indent)
            length = number(kind if prefix else pointed(kind, 2, 20), 27 if prefix else 16, 4)
            return prefix + plain + (f" of {length}" if plain == "array" else " of") + " " + word, inside
        if plain in ("enum", "enum_bitmap"):
            return f"{prefix}{plain} of " + self.kind(pointed(kind, 18), indent)[0], []
        if plain == "variant":
            return plain, list(self.options(pointed(kind, 2, 104), indent + 1))
        if plain in ("integer", "float") and prefix:
            at = 13 if plain == "integer" else 11
            sign = ("s" if kind[at + 24] else "u") if plain == "integer" else "float"
            bits = number(kind, at + 22, 2) if plain == "integer" else 0
            return f"{prefix}{sign}{bits or 8 * number(kind, at + 20, 2)}", []
        return prefix + plain, []

    def options(self, described, indent):
        for address in self.memory.array(described, 0, 80):
            cell = self.memory.read(address, 80)
            begin, end = self.memory.number(cell, 0, 8, True), self.memory.number(cell, 8, 8, True)
            word, inside = self.kind(cell[16:], indent)
            yield "  " * indent + (f"{begin}: " if begin == end else f"{begin}..{end}: ") + word
            yield from inside
