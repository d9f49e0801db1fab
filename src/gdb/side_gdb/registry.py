# SPDX-License-Identifier: MIT
"""The events that are registered, by way of side_registry_0 (<side/debugger.h>)."""
import fnmatch

from side_gdb.memory import Rubbish

LEVELS = "emergency alert critical error warning notice info debug".split()


class Event:
    def __init__(self, memory, address):
        data = memory.read(address, 112)
        self.address = address
        if memory.number(data, 4, 4) != 0:
            raise Rubbish(f"the description at {address:#x} is of an unknown version")
        self.state = memory.slot(data, 8)
        self.name = memory.string(memory.slot(data, 24)) + ":" + memory.string(memory.slot(data, 40))
        self.fields = memory.array(data, 56, 80)
        self.variadic = bool(memory.number(data, 96, 8) & 1)
        level = memory.number(data, 108, 4)
        self.level = LEVELS[level] if level < len(LEVELS) else str(level)

    def enabled(self, memory):
        word = memory.number(memory.read(self.state + 8, memory.word), 0, memory.word)
        bits = memory.word * 8
        # The semaphore of the event's markers (side/sdt.h) is a part of the word, where it has 64 bits.
        count = word & ((1 << min(bits - 8, 32)) - 1)
        marked = word >> 32 & 0xffff
        who = [f"{count} in the program"] if count else []
        who += [f"{marked} at its markers"] if marked else []
        who += ["kernel"] if word >> (bits - 1) & 1 else []
        who += ["debugger"] if word >> (bits - 2) & 1 else []
        return ", ".join(who) or "nobody"


def batches(memory):
    """Yields the array of events of each registered batch, and their number."""
    word = memory.word
    head = memory.read(memory.registry, 20 if word == 4 else 32)
    size, first = memory.number(head, 6, 2), memory.number(head, 8, 4)
    block = memory.number(head, 16 if word == 4 else 24, word)
    seen = set()
    while block and block not in seen:
        seen.add(block)
        places = memory.number(memory.read(block + word, 4), 0, 4)
        if size < 2 * word + 4 or places > 1 << 16:
            raise Rubbish(f"the block of batches at {block:#x} is not one")
        for place in range(places):
            data = memory.read(block + first + place * size, 2 * word + 4)
            if memory.number(data, 0, word):
                yield memory.number(data, word, word), memory.number(data, 2 * word, 4)
        block = memory.pointer(block)


def changes(memory):
    """How often events have come or gone."""
    return memory.pointer(memory.registry + (12 if memory.word == 4 else 16))


def fits(event, pattern):
    return fnmatch.fnmatchcase(event.name, pattern) or fnmatch.fnmatchcase(event.name.split(":", 1)[1], pattern)


def events(memory, pattern="*", arrays=None):
    """The events whose name, with or without provider, fits; and what could not be read, in words. Of all that are registered, or
    of these arrays."""
    found, wrong = [], []
    for array, count in batches(memory) if arrays is None else arrays:
        try:
            data = memory.read(array, count * memory.word) if 0 < count <= 1 << 20 else b""
        except Rubbish as error:
            wrong.append(f"a batch of {count} events: {error}")
            continue
        for offset in range(0, len(data), memory.word):
            address = memory.number(data, offset, memory.word)
            try:
                event = Event(memory, address) if address else None
            except Rubbish as error:
                wrong.append(f"an event at {address:#x}: {error}")
                continue
            if event and fits(event, pattern):
                found.append(event)
    return sorted(found, key=lambda event: event.name), wrong
