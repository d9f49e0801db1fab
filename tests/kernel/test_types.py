# SPDX-License-Identifier: MIT
"""Every type of the ABI with the values at its limits, passed to the kernel and read from its buffers
again.

usage: test_types.py native|eventheader|random [SEED]
"""
import base64
import os
import sys
import tempfile

import eventheader
import ftrace
import machine
import meaning
import plain

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../roundtrip"))
import cases
import generate
import run

HERE = os.path.dirname(os.path.realpath(__file__))
SKIPPED = 77


def collect(script, encoding):
    """Returns the output of the machine: formats by id, and the records in their order."""
    with tempfile.TemporaryDirectory(prefix="side-types-") as directory:
        path = os.path.join(directory, "script.json")
        script.save(path)
        status, output = machine.run(
            [sys.executable, "-B", os.path.join(HERE, "inside_types.py"), os.environ["ROUNDTRIP_FIRE"], path],
            [("SIDE_USER_EVENTS", "all"), ("SIDE_USER_EVENTS_ENCODING", encoding), ("FIRE_WAIT", "1"),
             ("SIDE_LIB_DIR", os.environ["KERNEL_LIB_DIR"]), ("SIDE_DEBUG", "1")], 900)
    lines = output.replace("\r", "").splitlines()
    if status or "end" not in lines:
        sys.exit(f"the machine failed ({status}): {output[-3000:]}")
    formats, records = {}, []
    for line in lines:
        words = line.split()
        if words[:1] == ["format"]:
            number, fields = ftrace.parse_format(base64.b64decode(words[2]).decode())
            formats[number] = (words[1].split("/")[1], fields)
        elif words[:1] == ["page"]:
            records += ftrace.records(base64.b64decode(words[1]))
    return formats, [(*formats[number], payload) for number, _, payload in records]


def is_shortened(found, want):
    """Whether one is the other with shorter texts and arrays."""
    if found == want:
        return True
    if isinstance(found, bytes) and isinstance(want, bytes):
        return found == want[:len(found)] or found[-3:] == b"..." and want.startswith(found[:-3])
    if isinstance(found, tuple) and isinstance(want, tuple) and found[:1] == want[:1] == ("text",):
        return is_shortened(bytes_of(found), bytes_of(want))
    if isinstance(found, tuple) and isinstance(want, tuple) and len(found) == len(want):
        return all(is_shortened(*parts) for parts in zip(found, want))
    if isinstance(found, list) and isinstance(want, list):
        return len(found) <= len(want) and all(is_shortened(*parts) for parts in zip(found, want))
    return found is None and isinstance(want, tuple)


def bytes_of(text):
    return b"".join(unit.to_bytes(4, "little") if text[1] > 1 else bytes([unit]) for unit in text[2]).replace(
        b".\0\0\0.\0\0\0.\0\0\0", b"...")


def where(found, want, path=""):
    """Returns the first position at which they differ too much, for the message."""
    if is_shortened(found, want):
        return None
    if isinstance(found, (tuple, list)) and type(found) is type(want) and len(found) == len(want):
        for i, parts in enumerate(zip(found, want)):
            problem = where(*parts, f"{path}/{i}")
            if problem:
                return problem
        return None
    return None if found == want else f"{path}: {str(found)[:400]} instead of {str(want)[:400]}"


def same(found, want, payload):
    if found == want:
        return True
    # Only records that do not fit, or that decoders would refuse.
    return (len(payload) > 1600 or deep(("struct", want))) and is_shortened(found, want)


def difference(event, firing, memory, record):
    """Returns None, or the error of the record."""
    name, fields, payload = record
    if is_header(fields):
        _, level, _, found, tag = eventheader.decode(name, payload)
        want = meaning.event(event, firing, memory)
        if level != LEVELS[event["loglevel"]]:
            return f"the level is {level}"
        if bool(tag) != (found != want):
            return f"the tag is {tag}"
    else:
        found = plain.decode(fields, payload)
        want = plain.expected(fields, meaning.plain_event(event, firing, memory))
    return None if same(found, want, payload) else where(found, want)


# Deeper than decoders read; more names than a record holds; a NULL pointer to a structure without
# members.
ABSENT = {"deep", "gather_nothing"} | {f"gather_bits_{sign}64{order}" for sign in "us" for order in ("", "_be")}
LEVELS = [1, 1, 1, 2, 3, 4, 4, 5]


def deep(value, depth=-1):
    """Whether decoders would refuse the complete value."""
    if isinstance(value, tuple) and value[0] == "struct":
        return depth >= 8 or any(deep(part, depth + 1) for _, part in value[1])
    return isinstance(value, list) and any(deep(part, depth) for part in value)


def is_header(fields):
    return bool(fields) and fields[0][1] == "eventheader_flags"


def event_of(record, known):
    """Returns the number of the record's event in the script."""
    name, fields, payload = record
    if is_header(fields):
        return known.get(eventheader.decode(name, payload)[2])
    return known.get(name)


def compare(script, records):
    """Returns the number of differences, and the numbers of events without a record."""
    known = {}
    for number, event in enumerate(script.events):
        known[event["event"].encode("utf-8", "surrogatepass")] = number
        known[meaning.plain_name(event["provider"] + "_" + event["event"])] = number
    wrong, absent, left = 0, set(), records[::-1]
    for firing, memory in zip(script.firings, script.memories):
        number = firing["event"]
        try:
            meaning.event(script.events[number], firing, memory)
        except meaning.NoSuchOption:
            continue
        if not left or event_of(left[-1], known) != number:
            absent.add(number)
            continue
        problem = difference(script.events[number], firing, memory, left.pop())
        if problem:
            wrong += 1
            if wrong < 10:
                print(f"{script.events[number]['event']}: {problem[:1500]}")
    if left:
        print(f"{len(left)} records more than were fired, the first of {event_of(left[-1], known)}")
        wrong += 1
    return wrong, absent


def random_script(seed):
    generator = generate.Generator(seed)
    script = run.Script()
    for index in range(120):
        event = generator.event(index)
        script.add(event, *[generator.firing(index, event) for _ in range(4)])
    return script


def check_random(seed):
    script = random_script(seed)
    formats, records = collect(script, "auto")
    wrong, absent = compare(script, records)
    print(f"seed {seed}: {len(script.firings)} calls, {len(records)} records, {wrong} wrong, {len(formats)} in the kernel; "
          f"nothing is recorded of {sorted(absent)}")
    # Some types are too deep, some have too many names; most are neither.
    return wrong + (len(absent) > 12)


def check_cases(way):
    script = cases.script()
    formats, records = collect(script, "eventheader" if way == "eventheader" else "auto")
    wrong, absent = compare(script, records)
    absent = {script.events[number]["event"] for number in absent}
    natives = sum(not is_header(fields) for _, fields in formats.values())
    print(f"{len(script.events)} events, {len(script.firings)} calls, {len(records)} records, {wrong} wrong; "
          f"{len(formats)} in the kernel, {natives} of them with plain fields")
    if absent != ABSENT:
        print(f"nothing is recorded of {sorted(absent - ABSENT)}; something is of {sorted(ABSENT - absent)}")
        wrong += 1
    if (natives > 100) != (way == "native"):
        print("not the encoding that was requested")
        wrong += 1
    return wrong


def main():
    reason = machine.why_not()
    if reason:
        print(f"skipped: {reason}")
        return SKIPPED
    if sys.argv[1] == "random":
        first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
        return int(sum(check_random(seed) for seed in range(first, first + (20 if run.LONG else 1))) != 0)
    return int(check_cases(sys.argv[1]) != 0)


if __name__ == "__main__":
    sys.exit(main())
