#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The tree of calls in `side view`, compared as text with traces that this test writes byte by byte."""
from collections import Counter
import random
import struct

import call_trace
from call_trace import OTHER, enter, fib, fib_return, leave, query, ring
from harness import *

os.environ["TZ"] = "UTC"
work = tempfile.TemporaryDirectory()


def write(name, *packets, threads=False):
    return call_trace.write(os.path.join(work.name, name), *packets, threads=threads)


def tree(folder, *args):
    """The lines without the constant part of the time."""
    result = side("view", folder, *args)
    equal(result.status, 0, result.err)
    return [line.replace("[00:00:00.000000", "[") for line in result.out.splitlines()]


def test_nesting():
    folder = write("nesting", [
        (100, fib(1, 2)), (110, fib(2, 1, "a\nb")), (140, fib_return(2, 30, 1)),
        (150, fib(3, 0)), (170, fib_return(3, 20, -1, 7)), (200, fib_return(1, 100, 0x7f0012345678)), (210, fib(0, 9))])
    equal(tree(folder), [
        '[100] server:5 | fib(n = 2, s = "") {',
        '[110] server:5 |   fib(n = 1, s = "a\\nb") = 1; /* 30 ns, errno = 0 */',
        '[150] server:5 |   fib(n = 0, s = "") = -1; /* 20 ns, errno = 7 */',
        '[200] server:5 | } = 0x7f0012345678; /* 100 ns, errno = 0 */',
        '[210] server:5 | fib(n = 9, s = "");'])
    equal(tree(folder, "-n", "2"), [
        '[100] server:5 | fib(n = 2, s = "") {',
        '[110] server:5 |   fib(n = 1, s = "a\\nb") {'])
    equal(tree(folder, "-n", "3")[1], '[110] server:5 |   fib(n = 1, s = "a\\nb") = 1; /* 30 ns, errno = 0 */')
    # The form of other events on request, and if one of the two events is not selected.
    flat = [line.split(" ", 2)[2] for line in tree(folder, "--flat")]
    equal(flat[:2] + flat[-1:], ['server:5 probe:fib: { call = 1, n = 2, s = "" }', 'server:5 probe:fib: { call = 2, n = 1, s = "a\\nb" }',
                                 'server:5 probe:fib: { call = 0, n = 9, s = "" }'])
    equal(len(flat), 7)
    for event in ("probe:fib", "probe:fib_return"):
        equal(tree(folder, "-e", event), [line for line in tree(folder, "--flat", "-e", event)])
    equal([line["event"] for line in json_lines(side("view", "--json", folder).out)],
          [f"probe:fib{end}" for end in ("", "", "_return", "", "_return", "_return", "")])


def test_threads_are_in_the_order_of_time():
    folder = write("threads", [
        (100, enter("main", 1)), (110, enter("run", OTHER + 1)), (120, enter("wait", 2)), (130, enter("f", OTHER + 2)),
        (140, leave("f", OTHER + 2, 10, 5)), (150, query(1)), (160, leave("wait", 2, 40)), (170, leave("run", OTHER + 1, 60)),
        (180, leave("main", 1, 80))])
    equal(tree(folder), [
        "[100] server:5 | main() {",
        "[110] server:5 #1 | run() {",
        "[120] server:5    |   wait() = 0; /* 40 ns */",
        "[130] server:5 #1 |   f() = 5; /* 10 ns */",
        "[150] (+0.000000010) server:5 db:query: { id = 1 }",
        "[170] server:5 #1 | } = 0; /* 60 ns */",
        "[180] server:5    | } = 0; /* 80 ns */"])


def test_recorded_threads():
    """With the context vtid, events are in the tree of their thread, and other contexts in comments."""
    folder = write("recorded-threads", [
        (100, 5, enter("main", 1)), (110, 5, query(1)), (120, 6, enter("run", OTHER + 1)), (130, 6, leave("run", OTHER + 1, 10)),
        (140, 7, query(2)), (150, 5, leave("main", 1, 50))], threads=True)
    equal(tree(folder), [
        "[100] server:5 | main() { /* ip = 0x40 */",
        "[110] server:5 |   /* db:query: { vtid = 5, ip = 0x40 }, { id = 1 } */",
        "[120] server:5/6 | run() = 0; /* 10 ns, ip = 0x40, ip = 0x40 */",
        "[140] (+0.000000010) server:5 db:query: { vtid = 7, ip = 0x40 }, { id = 2 }",
        "[150] server:5   | } = 0; /* 50 ns, ip = 0x40 */"])


def test_kernel_probes():
    """The kernel's probes have the process in their fields, and numbers of calls without a part for the thread."""
    def cook(tid, call, guests):
        return 6, struct.pack("<ii8sQI", 9, tid, b"kitchen\0", call, guests)

    def cook_return(tid, call, duration):
        return 7, struct.pack("<ii8sQQq", 9, tid, b"kitchen\0", call, duration, -2)

    folder = write("kernel", [(100, cook(9, 1, 3)), (110, cook(11, 2, 4)), (120, cook(9, 3, 5)), (130, cook_return(11, 2, 20)),
                              (140, cook_return(9, 3, 20)), (150, cook_return(9, 1, 50))])
    equal(tree(folder), [
        "[100] kitchen:9 | cook(guests = 3) {",
        "[110] kitchen:9/11 | cook(guests = 4) = -2; /* 20 ns */",
        "[120] kitchen:9    |   cook(guests = 5) = -2; /* 20 ns */",
        "[150] kitchen:9    | } = -2; /* 50 ns */"])


def test_calls_without_return_or_entry():
    folder = write("open", [
        (100, enter("main", 1)), (110, enter("try", 2)), (120, enter("deeper", 3)), (130, enter("throw", 4)), (140, leave("try", 2, 30)),
        (150, leave("lost", 77, 5, 3)), (160, enter("exit", 8))])
    equal(tree(folder), [
        "[100] server:5 | main() {",
        "[110] server:5 |   try() {",
        "[120] server:5 |     deeper() {",
        "[130] server:5 |       throw() {",
        "[140] server:5 |       } /* throw, no return */",
        "[140] server:5 |     } /* deeper, no return */",
        "[140] server:5 |   } = 0; /* 30 ns */",
        "[150] server:5 |   lost(...) = 3; /* 5 ns, no entry */",
        "[160] server:5 |   exit() {",
        "                     server:5 |   } /* exit, no return */",
        "                     server:5 | } /* main, no return */"])
    # The trace begins inside of two calls.
    folder = write("middle", [
        (100, enter("f", 3)), (110, leave("f", 3, 10)), (120, leave("serve", 2, 500, 8)), (130, leave("main", 1, 1500)),
        (140, enter("g", 9)), (150, leave("g", 9, 10))])
    equal(tree(folder), [
        "[100] server:5 | f() = 0; /* 10 ns */",
        "[120] server:5 | } = 8; /* serve, 500 ns, no entry */",
        "[130] server:5 | } = 0; /* main, 1.500 us, no entry */",
        "[140] server:5 | g() = 0; /* 10 ns */"])


def test_losses():
    """A loss that is reported between an entry and its return shows both, because calls in it may be lost."""
    folder = write("losses", [(100, enter("main", 1)), (110, enter("f", 2))], 3, [(150, query(1))],
                   [(190, leave("f", 2, 80)), (200, leave("main", 1, 100))])
    lines = tree(folder)
    equal([line.split("] ", 1)[1] for line in lines if "***" not in line], [
        "server:5 | main() {", "server:5 |   f() {", "(+0.000000040) server:5 db:query: { id = 1 }",
        "server:5 |   } = 0; /* 80 ns */", "server:5 | } = 0; /* 100 ns */"])
    contains(lines[3], "*** 3 events lost since 00:00:00.000000110")


def test_a_long_call_is_not_held():
    """No more than 4,096 lines wait for the return of a call."""
    for count in (4094, 4095):
        folder = write(f"long-{count}", [(1, enter("wait", 1)), *((2 + i, query(i)) for i in range(count)), (900000, leave("wait", 1, 899999))])
        lines = tree(folder)
        equal((lines[0], lines[-1]),
              ("[001] server:5 | wait() {", "[00:00:00.000900000] server:5 | } = 0; /* 900.0 us */") if count == 4095 else
              ("[001] server:5 | wait() = 0; /* 900.0 us */", lines[-1]))
        equal([line.split("id = ")[1] for line in lines if "id = " in line], [f"{i} }}" for i in range(count)])
    text = "x" * (1 << 20)
    folder = write("wide", [(1, enter("wait", 1)), (2, enter(text, OTHER + 1)), (3, leave("wait", 1, 2)), (4, leave(text, OTHER + 1, 2))])
    equal([line[:30] for line in tree(folder)], [
        "[001] server:5 | wait() {", "[002] server:5 #1 | " + "x" * 10, "[003] server:5    | } = 0; /* ", "[004] server:5 #1 | } = 0; /* "])


def test_depth():
    """The indentation ends at 64 levels; beyond 16,384 open calls, entries and returns are shown without each other."""
    deep = 16385
    events = [(i + 1, enter("f", i + 1)) for i in range(deep)] + [(99999 - i, leave("f", i + 1, 1)) for i in range(deep - 1, -1, -1)]
    lines = tree(write("depth", events))
    equal(lines[64], "[065] server:5 | " + " " * 128 + "f() {")
    equal(lines[65], "[066] server:5 | " + " " * 128 + "[65] f() {")
    equal(lines[deep - 1].split("| ")[1].strip(), "[16384] f();")
    contains(lines[deep], "f(...) = 0; /* 1 ns, no entry */")
    equal((len(lines), lines[-1].split("| ")[1]), (2 * deep, "} = 0; /* 1 ns */"))


def test_many_threads_and_functions():
    """Of threads beyond 65,536, entries and returns are shown without each other; functions beyond 65,536 have no name at their end."""
    most = 65536
    events = [(i + 1, i + 1, enter("f", 1)) for i in range(most)] + [(i + most + 1, i + 1, leave("f", 1, most)) for i in range(most)]
    events += [(500000, 70000, enter("f", 9)), (500001, 70000, leave("f", 9, 1))]
    lines = tree(write("many-threads", events, threads=True))
    equal(len(lines), 2 * most + 2)
    equal([line.split("| ")[1] for line in lines[most - 1:most + 1] + lines[2 * most - 1:]], [
        "f() { /* ip = 0x40 */", "} = 0; /* 65.54 us, ip = 0x40 */", "} = 0; /* 65.54 us, ip = 0x40 */",
        "f(); /* ip = 0x40 */", "} = 0; /* f, 1 ns, no entry, ip = 0x40 */"])
    events = [(i + 1, enter(f"f{i}", ((i % 65536) << 48) + 1 + i // 65536)) for i in range(most + 2)]
    lines = tree(write("many-functions", events))
    ends = Counter(line.split("} ")[1] for line in lines if "}" in line)
    equal((len(ends), ends["/* no return */"], ends["/* f65535, no return */"]), (most + 1, 2, 1))


def test_many_open_calls():
    """Beyond 262,144 open calls of all threads, entries and returns are shown without each other."""
    threads, deep = 16, 16384
    record = struct.Struct("<BQ2sQQ")
    data = b"".join(record.pack(2, thread * deep + i + 1, b"f\0", 0, (thread << 48) + i + 1)
                    for thread in range(threads) for i in range(deep))
    data += record.pack(2, 2000000, b"f\0", 0, (70 << 48) + 1)
    folder = write("many-open", [(1, enter("f", 1))])
    with open(os.path.join(folder, "ring_0"), "wb") as file:
        size = (4 + 40 + len(data)) * 8
        file.write(struct.pack("<IQQQQQ", 0xc1fc1fc1, 0, 2000000, size, size, 0) + data)
    lines = side("view", folder, "-n", str(threads * deep + 1)).out.splitlines()
    equal((len(lines), lines[-2].split("] ")[-1], lines[-1].split("| ")[1]), (threads * deep + 1, "f() {", "f();"))


def test_colours():
    folder = write("colours", [(100, fib(1, 2)), (110, fib(2, 1)), (120, fib_return(2, 10, 1)), (130, fib_return(1, 30, 1))])
    result = side("view", "--color=always", folder)
    contains(result.out, "\033[1;35mfib\033[0m")
    equal(re.sub("\033\\[[0-9;]*m", "", result.out), side("view", folder).out)
    equal(tree(folder, "--threads", "3"), tree(folder))


def test_changed_bytes():
    """Whatever bytes a trace has, `side view` and the exports end by themselves."""
    folder = write("changed", [(100, enter("main", 1)), (110, enter("try", 2)), (120, fib(3, 4)), (130, fib_return(3, 10, 5)), (140, leave("try", 2, 30)),
                               (150, leave("lost", 77, 5, 3)), (160, enter("run", OTHER + 8)), (170, query(1))])
    path = os.path.join(folder, "ring_0")
    with open(path, "rb") as file:
        whole = file.read()
    for seed in range(1000 if LONG else 30):
        chance = random.Random(seed)
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 5)):
            data[chance.randrange(44, len(data))] = chance.choice([0, 1, 2, 3, 127, 128, 255])
        with open(path, "wb") as file:
            file.write(data)
        for command in (["view", folder], ["view", "--follow", folder], ["export", folder, "--format", "chrome"], ["export", folder]):
            result = side(*command, text=False)
            true(result.status in (0, 1) and b"anitizer" not in result.err and b"runtime error" not in result.err,
                 f"seed {seed}: {command}: {result}")


def test_other_events_with_such_fields():
    """An event with a field `call` and no return is not a function."""
    folder = write("ring", [(100, ring(1)), (110, query(2))])
    equal(tree(folder), tree(folder, "--flat"))


run_tests(globals())
