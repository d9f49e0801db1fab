# SPDX-License-Identifier: MIT
"""Finds the addresses in the tables of a process that lead into a wrapper library."""
import os

WRAPPERS = ("libside-wrap-libc.so", "libside-wrap-pthread.so")


def list_maps(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        maps = [line.split() for line in file]
    return [tuple(int(end, 16) for end in m[0].split("-")) + (m[1], m[5] if len(m) > 5 else "") for m in maps]


def read_memory(pid, is_wanted):
    """The content of the program's own mappings of files, by address: not of the agent, which keeps a list, and of the wrappers."""
    found, begin, end = {}, 0, 0
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for a, b, access, path in list_maps(pid):
            if path.startswith("/") and "libside" not in path and "r" in access and is_wanted(access):
                memory.seek(a)
                # The kernel may split a mapping in two.
                begin, end = (begin if a == end else a), b
                found[begin] = found.get(begin, b"") + memory.read(b - a)
    return found


def slots(pid, wrappers=WRAPPERS):
    """Returns the addresses in the program's tables that lead into a wrapper."""
    code = [(a, b) for a, b, access, path in list_maps(pid) if "x" in access and path.endswith(wrappers)]
    return [a + 8 * i for a, content in read_memory(pid, lambda access: True).items()
            for i, word in enumerate(memoryview(content).cast("Q")) if any(c <= word < d for c, d in code)]


def words_at(pid, addresses):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        return {address: os.pread(memory.fileno(), 8, address) for address in addresses}
