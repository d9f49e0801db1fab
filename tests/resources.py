# SPDX-License-Identifier: MIT
"""What a process holds: open files, mappings and threads, from /proc. Compared after 1 and after N rounds, a leak is the difference."""
import collections
import os
import re
import time


def descriptors(pid):
    """How often what is open: numbers of sockets, pipes and deleted files are left out."""
    found = collections.Counter()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found[re.sub(r"\[\d+\]", "", os.readlink(f"/proc/{pid}/fd/{fd}"))] += 1
        except FileNotFoundError:
            pass
    return found


def mappings(pid):
    """How many bytes of which file; of memory without a file, those beside the heap and stacks."""
    found = collections.Counter()
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            words = line.split(maxsplit=5)
            begin, end = (int(word, 16) for word in words[0].split("-"))
            name = words[5].strip() if len(words) > 5 else "anonymous"
            if name not in ("[heap]", "[stack]"):
                found[name] += end - begin
    return found


def snapshot(pid, memory=True):
    """Without memory: of a process whose allocator maps what it likes."""
    found = {"descriptors": descriptors(pid), "threads": len(os.listdir(f"/proc/{pid}/task"))}
    if memory:
        found["mappings"] = mappings(pid)
    return found


def increase(before, after):
    """Text; empty if nothing has become more."""
    lines = []
    for kind, one in before.items():
        other = after[kind]
        if isinstance(one, int):
            one, other = {"all": one}, {"all": other}
        lines += [f"{kind}: {name}: {one.get(name, 0)} -> {other[name]}" for name in sorted(other) if other[name] > one.get(name, 0)]
    return "\n".join(lines)


def assert_no_more(pid, before, patience=60):
    """What a process gives back after its answer is waited for; what it had not yet given back before may be less now."""
    deadline = time.monotonic() + patience
    while True:
        found = increase(before, snapshot(pid, "mappings" in before))
        if not found:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"process {pid} holds more than before:\n{found}")
        time.sleep(0.05)
