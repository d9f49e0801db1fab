# SPDX-License-Identifier: MIT
"""A listener to user_events: enables events in tracefs, reads raw records from ftrace's buffers, and
reads the descriptions of their fields in tracefs.
"""
import glob
import os
import re
import struct

TRACEFS = "/sys/kernel/tracing"
GROUPS = ("user_events", "user_events_multi")


def path(*names):
    return os.path.join(TRACEFS, *names)


def write(text, *names):
    with open(path(*names), "w", encoding="ascii") as file:
        file.write(text)


def read(*names):
    with open(path(*names), encoding="utf-8", errors="replace") as file:
        return file.read()


def events():
    """Returns the names below events/, with their group."""
    return sorted(os.path.relpath(found, path("events")) for group in GROUPS
                  for found in glob.glob(path("events", group, "*")) if os.path.isdir(found))


def formats():
    """Returns (name with its group, text of its format) of each event. The kernel may be removing some
    that are not enabled; those have no records.
    """
    found = []
    for name in events():
        try:
            found.append((name, read("events", name, "format")))
        except OSError:
            continue
    return found


def enable(on, *names):
    """Enables or disables events by name, or all of them. A group whose last event a worker of the
    kernel is removing cannot be disabled any more, and need not be.
    """
    for name in names or [group for group in GROUPS if os.path.isdir(path("events", group))]:
        try:
            write(str(int(on)), "events", name, "enable")
        except OSError:
            if on:
                raise


def buffer_size(kilobytes):
    write(str(kilobytes), "buffer_size_kb")


def clear():
    write("", "trace")


def raw_pages(most=100000, *instance):
    """Reads and consumes the sub-buffers of all CPUs; at most this many of each CPU, because a program
    that fires all the time may be faster than this reader.
    """
    pages = []
    for cpu in sorted(glob.glob(path(*instance, "per_cpu", "cpu*"))):
        fd = os.open(os.path.join(cpu, "trace_pipe_raw"), os.O_RDONLY | os.O_NONBLOCK)
        try:
            for _ in range(most):
                page = os.read(fd, 4096)
                if not page:
                    break
                pages.append(page)
        except BlockingIOError:
            pass
        finally:
            os.close(fd)
    return pages


def records(page):
    """Returns (event id, thread, payload) of a sub-buffer, in the format of events/header_page and header_event."""
    commit = struct.unpack_from("<Q", page, 8)[0] & 0xfffff
    at, end = 16, 16 + commit
    while at < end:
        (word,) = struct.unpack_from("<I", page, at)
        kind, delta = word & 31, word >> 5
        at += 4
        if kind == 29 and not delta:
            break
        if kind in (30, 31):
            at += 4
            continue
        if kind == 29:
            at += struct.unpack_from("<I", page, at)[0]
            continue
        if kind:
            size = kind * 4
        else:
            size = struct.unpack_from("<I", page, at)[0] - 4
            at += 4
        data = page[at:at + size]
        at += size
        event, _, _, thread = struct.unpack_from("<HBBi", data)
        yield event, thread, data[8:]


def parse_format(text):
    """Returns the id of an event and its fields: (type, name, offset in the payload, size)."""
    number = int(re.search(r"^ID: (\d+)", text, re.M).group(1))
    fields = []
    for found in re.finditer(r"^\tfield:(.*);\toffset:(\d+);\tsize:(\d+);", text, re.M):
        declaration, offset, size = found.group(1), int(found.group(2)), int(found.group(3))
        if offset < 8:
            continue
        kind, name = declaration.rsplit(" ", 1)
        if name.endswith("]"):
            name = name[:name.index("[")]
            kind += "[]"
        fields.append((kind, name, offset - 8, size))
    return number, fields
