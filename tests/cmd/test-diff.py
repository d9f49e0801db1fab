#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side diff` reports the seeded changes of generated traces and nothing else, and noise is no change."""
import random
import statistics
import struct

import call_trace
from call_trace import enter, leave, query
from harness import *

call_trace.METADATA += 'event { name = "libc:malloc"; id = 8; fields := struct { u64 _size; u64 _result; u64 _caller; }; };\n'
work = tempfile.TemporaryDirectory()
# The median time of each function without callees, in ns.
COSTS = {"main": 5_000_000, "serve": 40_000, "parse": 3_000, "price": 12_000, "print": 700, "tiny": 60}
CHILDREN = {"serve": ("parse", "price", "print"), "price": ("tiny", "tiny"), "parse": ("tiny",)}


def write(name, *packets, **more):
    return call_trace.write(os.path.join(work.name, name), *packets, **more)


class Program:
    """A program whose functions take random times of long tails; `slower` has factors of some of them."""

    def __init__(self, seed, requests=1000, slower=None, extra=None):
        self.chance = random.Random(seed)
        self.slower, self.extra = slower or {}, extra or {}
        self.events, self.now, self.calls = [], 1000, 0
        self.selves = {}
        self.call("main", requests)

    def call(self, name, requests=0):
        self.calls += 1
        number, begin = self.calls, self.now
        self.events.append((self.now, enter(name, number)))
        own = round(self.chance.lognormvariate(0, 0.4) * COSTS.get(name, 500) * self.slower.get(name, 1))
        if self.chance.random() < 0.01:
            own *= 20  # The kernel ran another thread.
        self.selves.setdefault(name, []).append(own)
        self.now += own
        for _ in range(requests):
            self.call("serve")
        for child in CHILDREN.get(name, ()) + tuple(self.extra.get(name, ())):
            self.call(child)
        self.events.append((self.now, leave(name, number, self.now - begin)))


def program(name, seed, **changes):
    trace = Program(seed, **changes)
    return write(name, trace.events), trace.selves


def diff(*args, status=0, err=""):
    result = side("diff", "--json", *args)
    equal(result.status, status, result.err)
    if err is not None:
        equal(result.err, err)
    summary, *rows = json_lines(result.out)
    equal(summary["type"], "diff")
    rows = {(row["measure"], row["name"]): row for row in rows}
    for verdict in ("same", "worse", "better", "new", "gone", "rare", "lost"):
        equal(summary[verdict], sum(row["verdict"] == verdict for row in rows.values()), verdict)
    return rows, summary


def changed(rows):
    return {key: row["verdict"] for key, row in rows.items() if row["verdict"] not in ("same", "rare")}


BEFORE, SELVES = program("before", 1)


def test_equal_programs_have_no_change():
    for seed in range(2, 12):
        rows, summary = diff(BEFORE, program(f"equal{seed}", seed)[0], "--fail-above", "0")
        equal(changed(rows), {}, seed)
        equal((summary["worse"], summary["better"]), (0, 0))


def test_medians_are_those_of_the_calls():
    rows, _ = diff(BEFORE, BEFORE)
    for name, selves in SELVES.items():
        row = rows["time", name]
        exact = sorted(selves)[(len(selves) - 1) // 2]
        true(abs(row["median_before"] - exact) <= exact / 512 + 1, (row, exact))
        equal((row["count_before"], row["count_after"]), (len(selves), len(selves)))


def test_one_slower_function():
    for seed in range(20, 26):
        after, selves = program(f"slower{seed}", seed, slower={"price": 1.2})
        rows, _ = diff(BEFORE, after)
        equal(changed(rows), {("time", "price"): "worse"}, seed)
        exact = (statistics.median(selves["price"]) / statistics.median(SELVES["price"]) - 1) * 100
        true(abs(rows["time", "price"]["change_percent"] - exact) < 1, (rows["time", "price"], exact))
        # In the other direction, the same changes are better.
        equal(changed(diff(after, BEFORE, "--fail-above", "1")[0]), {("time", "price"): "better"})


def test_fail_above():
    after, _ = program("failing", 30, slower={"price": 1.2})
    diff(BEFORE, after, "--fail-above", "10%", status=6)
    diff(BEFORE, after, "--fail-above", "10", status=6)
    diff(BEFORE, after, "--fail-above", "40%")
    equal(changed(diff(BEFORE, after, "--above", "40%", "--fail-above", "0")[0]), {})
    for text in ("ten", "-1", "nan", "inf", "10%%", "%"):
        result = side("diff", BEFORE, after, "--fail-above", text)
        equal((result.status, result.out), (2, ""))
        contains(result.err, f"`--fail-above` does not accept `{text}`")


def test_slow_calls_among_fast_ones():
    # Each eighth call is ten times slower: the median is the same.
    def trace(name, factor):
        events, now = [], 1000
        for number in range(1, 2001):
            own = (1000 + number % 7 * 3) * (factor if number % 8 == 0 else 1)
            events += [(now, enter("f", number)), (now + own, leave("f", number, own))]
            now += own + 10
        return write(name, events)

    rows, _ = diff(trace("fast", 1), trace("tail", 10))
    equal(changed(rows), {("time", "f"): "worse"})
    equal(rows["time", "f"]["quantile"], "p90")
    equal(rows["time", "f"]["median_before"], rows["time", "f"]["median_after"])


def test_more_calls():
    after, _ = program("more", 40, extra={"serve": ["print"], "price": ["fresh"]})
    rows, _ = diff(BEFORE, after)
    equal(changed(rows), {("calls", "print"): "worse", ("calls", "fresh"): "new"})
    equal((rows["calls", "print"]["before"], rows["calls", "print"]["after"], rows["calls", "print"]["change_percent"]), (1000, 2000, 100))
    diff(BEFORE, after, "--fail-above", "50", status=6)
    diff(BEFORE, after, "--fail-above", "150")
    equal(changed(diff(after, BEFORE)[0]), {("calls", "print"): "better", ("calls", "fresh"): "gone"})


def test_events_and_rates():
    def trace(name, count, seconds):
        return write(name, [(1000 + round(i * seconds * 1e9 / count), query(i)) for i in range(count)])

    thousand = trace("thousand", 1000, 1)
    equal(changed(diff(thousand, trace("few", 1080, 1))[0]), {}, "chance explains it")
    equal(changed(diff(thousand, trace("many", 1300, 1))[0]), {("events", "db:query"): "worse"})
    equal(changed(diff(thousand, trace("half", 700, 1))[0]), {("events", "db:query"): "better"})
    twice = trace("twice", 2000, 2)
    equal(changed(diff(thousand, twice)[0]), {("events", "db:query"): "worse"})
    equal(changed(diff(thousand, twice, "--rate")[0]), {})
    equal(diff(trace("rare", 10, 1), trace("rarer", 19, 1))[1]["rare"], 1)
    equal(diff(trace("least", 2, 1), trace("least2", 19, 1), "--least", "19")[1]["same"], 1)


def test_pairs():
    def trace(name, factor, seed):
        chance, events, now = random.Random(seed), [], 1000
        for number in range(500):
            now += 100
            events.append((now, query(number)))
            now += round(chance.uniform(900, 1100) * factor)
            events.append((now, enter("end", 1)))
        return write(name, events)

    args = "-e", "*", "--pair", "db:query", "probe:all"
    rows, _ = diff(trace("pairs", 1, 1), trace("pairs2", 1.2, 2), *args)
    equal({key: verdict for key, verdict in changed(rows).items() if key[0] == "pair"}, {("pair", "db:query → probe:all"): "worse"})
    rows, _ = diff(trace("pairs3", 1, 3), trace("pairs4", 1, 4), *args)
    equal({key for key in changed(rows) if key[0] == "pair"}, set())


def allocations(name, sizes):
    """sizes: (caller, bytes) of each allocation"""
    return write(name, [(1000 + i, (8, struct.pack("<QQQ", size, 0x1000 + i, caller))) for i, (caller, size) in enumerate(sizes)])


def test_allocated_bytes():
    usual = [(0x4000, 100)] * 1000 + [(0x5000, 1 << 20)] + [(0x6000, 50)] * 30
    before = allocations("bytes", usual)
    rows, _ = diff(before, allocations("larger", [(0x4000, 100)] * 1000 + [(0x5000, 3 << 20)] + [(0x6000, 50)] * 30))
    equal(changed(rows), {("bytes", "0x5000"): "worse"})
    equal(rows["bytes", "0x5000"]["change_percent"], 200)
    rows, _ = diff(before, allocations("more-blocks", [(0x4000, 100)] * 1500 + usual[1000:]))
    equal(changed(rows), {("bytes", "0x4000"): "worse", ("events", "libc:malloc"): "worse"})
    rows, _ = diff(before, allocations("same", [(0x4000, 100)] * 1050 + usual[1000:]))
    equal(changed(rows), {}, "chance explains it")


def test_least_changes():
    def calls(name, own):
        events = []
        for number in range(1, 401):
            events += [(1000 * number, enter("f", number)), (1000 * number + own, leave("f", number, own))]
        return write(name, events)

    before = calls("ns", 100)
    equal(changed(diff(before, calls("ns19", 119))[0]), {})
    equal(changed(diff(before, calls("ns20", 120))[0]), {("time", "f"): "worse"})
    equal(changed(diff(allocations("one", [(0x4000, 1000)]), allocations("one1023", [(0x4000, 2023)]))[0]), {})
    equal(changed(diff(allocations("one2", [(0x4000, 1000)]), allocations("one1024", [(0x4000, 2024)]))[0]), {("bytes", "0x4000"): "worse"})


def test_losses_forbid_counts():
    events = Program(1).events
    lost = write("lost", events[:100], 7, events[100:])
    rows, summary = diff(BEFORE, lost, err=None)
    equal({row["verdict"] for (measure, _), row in rows.items() if measure in ("calls", "events")}, {"lost"})
    equal((summary["lost_before"], summary["lost_after"]), (0, 7))
    contains(side("diff", BEFORE, lost).err, "after: events were lost: 7; counts and bytes are not compared")


def test_text():
    after, _ = program("text", 50, slower={"price": 1.3, "parse": 0.5}, extra={"price": ["fresh"]})
    result = side("diff", BEFORE, after)
    equal((result.status, result.err), (0, ""))
    lines = [line.split() for line in result.out.splitlines()]
    equal(lines[0], ["CHANGE", "BEFORE", "AFTER", "COUNT", "MEASURE", "NAME"])
    equal([(line[0][0], *line[-2:]) for line in lines[1:4]], [("+", "time", "price"), ("-", "time", "parse"), ("n", "calls", "fresh")])
    equal(result.out.splitlines()[-1], "11 compared: 1 worse, 1 better; 1 new, 0 gone; too rare to compare: 2")
    result = side("diff", BEFORE, after, "--rows", "1")
    contains(result.out, "… and 2 more")
    equal(side("diff", BEFORE, BEFORE).out, "10 compared: 0 worse, 0 better; 0 new, 0 gone; too rare to compare: 2\n")


def test_hostile_names():
    names = ["\x1b[31m;\n", "\"'</script>", "ü" * 3000]
    events = [(100 + i, event) for i, event in enumerate(e for n, name in enumerate(names * 30) for e in (enter(name, n + 1), leave(name, n + 1, 1)))]
    trace, other = write("hostile", events), write("hostile2", events[:6])
    rows, _ = diff(trace, other)
    equal({name for measure, name in rows if measure == "calls"}, set(names))
    true("\x1b" not in side("diff", trace, other).out, "no control characters")


def test_many_functions():
    # A function with one call has two measures: its time and its calls.
    def trace(name, first, count):
        events = []
        for number in range(first, first + count):
            events += [(100 + number, enter(f"f{number}", number)), (101 + number, leave(f"f{number}", number, 1))]
        return write(name, events)

    result = side("diff", trace("wide", 1, 150000), trace("wide2", 150001, 60000))
    equal(result.status, 0)
    contains(result.err, "only the first 200000 measures were compared")
    contains(result.err, "before: only the first 4096 functions have times")


def test_mistakes():
    for args, status, text in (((BEFORE,), 2, "missing operand: two traces"), ((BEFORE, work.name + "/none"), 1, "none"),
                               ((BEFORE, BEFORE, BEFORE), 2, "does not accept"), ((BEFORE, BEFORE, "--above", "x"), 2, "does not accept `x`")):
        result = side("diff", *args)
        equal((result.status, result.out), (status, ""), args)
        contains(result.err, text)


run_tests(globals())
