# SPDX-License-Identifier: MIT
"""Open files, mappings and threads of a process, from /proc. A difference between the state after 1 round and after N rounds is a leak."""
import collections
import os
import re
import time


def descriptors(pid):
    """Returns the number of open files by name, without the numbers of sockets, pipes and deleted files."""
    found = collections.Counter()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found[re.sub(r"\[\d+\]", "", os.readlink(f"/proc/{pid}/fd/{fd}"))] += 1
        except FileNotFoundError:
            pass
    return found


def mappings(pid):
    """Returns mapped bytes by file, and of memory without a file, except the heap and stacks."""
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
    """Returns the resources of a process. Set `memory` to False if its allocator keeps mappings."""
    found = {"descriptors": descriptors(pid), "threads": len(os.listdir(f"/proc/{pid}/task"))}
    if memory:
        found["mappings"] = mappings(pid)
    return found


def increase(before, after):
    """Returns a text with each count that has increased; empty if there is none."""
    lines = []
    for kind, one in before.items():
        other = after[kind]
        if isinstance(one, int):
            one, other = {"all": one}, {"all": other}
        lines += [f"{kind}: {name}: {one.get(name, 0)} -> {other[name]}" for name in sorted(other) if other[name] > one.get(name, 0)]
    return "\n".join(lines)


def assert_no_more(pid, before, timeout=60):
    """Waits until no count is larger than before: a process may release resources after its answer.
    Smaller counts are permitted.
    """
    deadline = time.monotonic() + timeout
    while True:
        found = increase(before, snapshot(pid, "mappings" in before))
        if not found:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"process {pid} holds more than before:\n{found}")
        time.sleep(0.05)


def assert_released(runtime):
    """Fails if a command or daemon with this SIDE_RUNTIME has reported held resources (resources-at-exit.c)."""
    path = os.path.join(runtime, "resources-at-exit")
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as report:
        text = report.read()
    os.unlink(path)
    raise AssertionError(f"held at the end:\n{text}")
