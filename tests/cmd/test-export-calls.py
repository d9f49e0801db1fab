#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Calls of functions as slices of Chrome and Perfetto: nested, balanced and marked, whatever the trace lacks."""
from collections import Counter
import random
import struct

import call_trace
from call_trace import OTHER, enter, fib, fib_return, leave, query
from harness import *

work = tempfile.TemporaryDirectory()


def write(name, *packets, threads=False):
    return call_trace.write(os.path.join(work.name, name), *packets, threads=threads)


def exported(folder, to, *args):
    path = f"{folder}.{to}"
    result = side("export", folder, "--format", to, "-o", path, *args)
    equal((result.status, result.err), (0, ""))
    return path


class Slice:
    def __init__(self, name, begin, depth, args):
        self.name, self.begin, self.depth, self.args, self.end, self.end_args = name, begin, depth, args, None, {}


def chrome(folder, *args):
    """Reads the slices of each thread as a reader does: an end belongs to the latest begin that is open."""
    with open(exported(folder, "chrome", *args), encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    threads, names = {}, {}
    for event in events:
        key = event["pid"], event["tid"]
        if event["ph"] == "M" and event["name"] == "thread_name":
            names[key] = event["args"]["name"]
        if event["ph"] not in "BE":
            continue
        slices, opened, last = threads.setdefault(key, ([], [], [0]))
        ns = round(event["ts"] * 1000)
        true(ns >= last[0], f"{event} is before {last[0]}")
        last[0] = ns
        if event["ph"] == "B":
            slices.append(Slice(event["name"], ns, len(opened), event.get("args", {})))
            opened.append(slices[-1])
        else:
            true(opened, f"{event} has no begin")
            top = opened.pop()
            equal(event["name"], top.name)
            top.end, top.end_args = ns, event.get("args", {})
    for slices, opened, _ in threads.values():
        equal([slice.name for slice in opened], [], "open slices")
    return {names.get(key, key[1]): slices for key, (slices, _, _) in threads.items()}


def shape(slices):
    return [(slice.depth, slice.name, slice.begin, slice.end, slice.args.get("note") or slice.end_args.get("note")) for slice in slices]


def test_nesting():
    folder = write("nesting", [
        (100, fib(1, 2)), (110, fib(2, 1, "text")), (140, fib_return(2, 30, 1)), (145, query(1)), (150, enter("run", OTHER + 1)),
        (160, leave("run", OTHER + 1, 10)), (200, fib_return(1, 100, 7)), (210, fib(0, 9))])
    threads = chrome(folder)
    equal({name: shape(slices) for name, slices in threads.items()}, {
        "calls #0": [(0, "fib", 0, 100, None), (1, "fib", 10, 40, None)], "calls #1": [(0, "run", 50, 60, None)]})
    inner = threads["calls #0"][1]
    equal((inner.args["fields"], inner.end_args["fields"]),
          ({"call": 2, "n": 1, "s": "text"}, {"call": 2, "duration": 30, "return_value": 1, "errno": 0}))


def test_recorded_threads():
    folder = write("recorded", [(100, 5, enter("main", 1)), (120, 6, enter("run", OTHER + 1)), (130, 6, leave("run", OTHER + 1, 10)),
                                (150, 5, leave("main", 1, 50))], threads=True)
    equal({name: shape(slices) for name, slices in chrome(folder).items()},
          {5: [(0, "main", 0, 50, None)], 6: [(0, "run", 20, 30, None)]})


def test_calls_without_return_or_entry():
    folder = write("open", [
        (100, enter("main", 1)), (110, enter("try", 2)), (120, enter("deeper", 3)), (130, enter("throw", 4)), (140, leave("try", 2, 30)),
        (160, leave("lost", 77, 10, 3)), (170, enter("exit", 8)), (180, leave("outer", 78, 999))])
    (slices,) = chrome(folder).values()
    equal(shape(slices), [
        (0, "main", 0, 80, "no return"), (1, "try", 10, 40, None), (2, "deeper", 20, 40, "no return"), (3, "throw", 30, 40, "no return"),
        (1, "lost", 50, 60, "no entry"), (1, "exit", 70, 80, "no return"), (2, "outer", 70, 80, "no entry")])
    # The first event is a return.
    (slices,) = chrome(write("middle", [(1000, leave("f", 3, 10)), (1010, leave("main", 1, 900)), (1020, enter("g", 9))])).values()
    equal(shape(slices), [(0, "f", 0, 10, "no entry"), (0, "main", 10, 20, "no entry"), (0, "g", 30, 30, "no return")])


def test_selection():
    """Entries without their returns, and pairs on request, are shown as before."""
    folder = write("selection", [(100, 5, enter("f", 1)), (110, 5, leave("f", 1, 10))], threads=True)
    equal(chrome(folder, "-e", "probe:all"), {})
    with open(exported(folder, "chrome", "--pair", "probe:all", "probe:all_return"), encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    equal([event["name"] for event in events if event["ph"] in "BE"], ["probe:all", "probe:all"])


def calls_at_random(seed, chance):
    """A program whose calls nest, of which events are missing."""
    events, stack, time, call = [], [], 100, 0
    for _ in range(400):
        time += chance.randrange(1, 30)
        if stack and chance.random() < 0.48:
            kept = chance.random() < 0.05  # An exception leaves several calls.
            count = chance.randrange(1, len(stack) + 1) if kept else 1
            name, number, begin = stack[-count]
            del stack[-count:]
            events.append((time, leave(name, number, time - begin)))
        elif len(stack) < 12:
            call += 1
            stack.append((f"f{chance.randrange(5)}", call, time))
            events.append((time, enter(stack[-1][0], call)))
    begin = chance.randrange(0, 150)
    return [event for event in events[begin:] if chance.random() < 0.97]


def test_random_calls():
    """All slices are balanced and nest, and each call with both events has its exact times."""
    for seed in range(60):
        chance = random.Random(seed)
        events = calls_at_random(seed, chance)
        folder = write(f"random-{seed}", events)
        (slices,) = chrome(folder).values()
        start = min(slice.begin for slice in slices)
        equal(start, 0)
        entries = {fields.split(b"\0", 1)[1][8:16]: time for time, (number, fields) in events if number == 2}
        first = events[0][0] if events[0][1][0] == 2 else None
        whole = [(entries[fields.split(b"\0", 1)[1][8:16]], time) for time, (number, fields) in events
                 if number == 3 and fields.split(b"\0", 1)[1][8:16] in entries]
        got = Counter((slice.begin, slice.end) for slice in slices if not slice.args.get("note") and not slice.end_args.get("note"))
        if first is not None:
            equal(got, Counter((begin - first, end - first) for begin, end in whole), f"seed {seed}")
        equal(len(slices), len(entries) + sum(number == 3 for _, (number, _) in events) - len(whole))


def begins_and_ends(folder):
    with open(exported(folder, "chrome"), encoding="utf-8") as file:
        text = file.read()
    return text.count('"ph":"B"'), text.count('"ph":"E"')


def test_limits():
    """Beyond 16,384 open calls of a thread, entries are instants, and their returns slices without an entry."""
    deep = 16385
    events = [(i + 1, enter("f", i + 1)) for i in range(deep)] + [(99999 - i, leave("f", i + 1, 1)) for i in range(deep - 1, -1, -1)]
    (slices,) = chrome(write("depth", events)).values()
    equal((len(slices), max(slice.depth for slice in slices)), (deep, deep - 1))
    equal([slice.args["note"] for slice in slices if "note" in slice.args], ["no entry"])
    # The same for 65,536 threads, and 262,144 calls of all threads.
    most = 65536
    events = [(i + 1, i + 1, enter("f", 1)) for i in range(most + 1)]
    equal(begins_and_ends(write("threads", events, threads=True)), (most, most))
    events = [(thread * 16384 + i + 1, enter("f", (thread << 48) + i + 1)) for thread in range(16) for i in range(16384)]
    events.append((500000, enter("f", (20 << 48) + 1)))
    equal(begins_and_ends(write("open-calls", events)), (262144, 262144))


run_tests(globals())
