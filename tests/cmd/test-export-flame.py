#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Flame graphs: folded stacks, speedscope and pprof, compared with a model of the calls, `side view`, and the readers' own programs.

The first argument is a directory for the packages of npm, the second a program with stacks. Without npm or a network, speedscope's schema is skipped.
"""
import gzip
import random
import shutil

FOLDER, PROGRAM = (__import__("sys").argv.pop(1) for _ in range(2))

import call_trace
import profiles
from call_trace import OTHER, enter, leave, query, switch
from harness import *

# tests/ is in the path of modules from here on.
import npm

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "analysis"))
from lock_trace import LockTrace

HERE = os.path.dirname(os.path.abspath(__file__))
work = tempfile.TemporaryDirectory()


def path(*names):
    return os.path.join(work.name, *names)


def export(trace, to, *args, status=0, err=""):
    out = f"{trace}-{len(os.listdir(work.name))}.{to}"
    result = side("export", trace, "--format", to, "-o", out, *args)
    equal((result.status, result.out), (status, ""), result.err)
    if err is not None:
        equal(result.err, err)
    return out


def folded(trace, *args, err=""):
    with open(export(trace, "folded", *args, err=err), encoding="utf-8") as file:
        return profiles.folded(file.read())


def all_formats(trace, *args):
    """The weights, the same ones in each format; and the counts that pprof has."""
    weights = folded(trace, *args)
    scope = profiles.speedscope(export(trace, "speedscope", *(args or ("--weight", "time"))))
    equal(len(scope), 1)
    equal(list(scope.values())[0], weights)
    types, samples, _ = profiles.pprof(export(trace, "pprof", *args))
    equal({path: values[-1] for path, values in samples.items() if values[-1]}, weights)
    return weights, {path: values[0] for path, values in samples.items()}, types


class Model:
    """Random calls of several threads, and the time of each path without callees."""

    def __init__(self, seed, threads=(100, 101), count=2000):
        chance = random.Random(seed)
        self.events, self.weights, self.counts = [], {}, {}
        opened = {thread: [] for thread in threads}
        now, calls = 1000, 0
        while count or any(opened.values()):
            now += chance.randrange(1, 5000)
            thread = chance.choice(threads) if count else next(t for t in threads if opened[t])
            stack = opened[thread]
            if count and (not stack or (len(stack) < 12 and chance.random() < 0.5)):
                count -= 1
                calls += 1
                call = calls | (threads.index(thread) << 48)
                stack.append([chance.choice("abcd") * 3, call, now, 0])
                self.add(self.counts, thread, stack, 1)
                self.events.append((now, thread, enter(stack[-1][0], call)))
            elif stack:
                name, call, begin, inner = stack[-1]
                self.add(self.weights, thread, stack, now - begin - inner)
                stack.pop()
                if stack:
                    stack[-1][3] += now - begin
                self.events.append((now, thread, leave(name, call, now - begin)))

    @staticmethod
    def add(into, thread, stack, weight):
        key = thread, tuple(frame[0] for frame in stack)
        into[key] = into.get(key, 0) + weight

    @staticmethod
    def merged(weights):
        result = {}
        for (_, names), weight in weights.items():
            result[names] = result.get(names, 0) + weight
        return {names: weight for names, weight in result.items() if weight}


def test_times_and_counts_of_calls():
    for seed in range(3):
        model = Model(seed)
        trace = call_trace.write(path(f"model{seed}"), model.events, threads=True)
        weights, counts, types = all_formats(trace)
        equal(weights, Model.merged(model.weights))
        equal(counts, Model.merged(model.counts))
        equal(types, [("calls", "count"), ("time", "nanoseconds")])
        weights, counts, types = all_formats(trace, "--weight", "count")
        equal((weights, counts), (Model.merged(model.counts),) * 2)
        equal(types, [("calls", "count")])


def test_threads_and_processes_apart():
    model = Model(7)
    trace = call_trace.write(path("apart"), model.events, threads=True)
    wanted = {(f"server:5, thread {thread}", *names): weight for (thread, names), weight in model.weights.items() if weight}
    equal(folded(trace, "--by", "thread"), wanted)
    equal(folded(trace, "--by", "process"), {("server:5", *names): weight for names, weight in Model.merged(model.weights).items()})
    scope = profiles.speedscope(export(trace, "speedscope", "--by", "thread"))
    equal({(name, *names): weight for name, samples in scope.items() for names, weight in samples.items()}, wanted)


def test_calls_in_the_order_of_time():
    """A profile for each thread. The tables of its paths are those of the model; and the intervals of each function."""
    for seed in range(3):
        model = Model(seed)
        trace = call_trace.write(path(f"order{seed}"), model.events, threads=True)
        out = export(trace, "speedscope")
        wanted = {}
        for (thread, names), weight in model.weights.items():
            if weight:
                wanted.setdefault(f"server:5, thread {thread}", {})[names] = weight
        equal(profiles.speedscope(out), wanted)
        begin, opened, calls = min(event[0] for event in model.events), {}, []
        with open(out, encoding="utf-8") as file:
            content = json.load(file)
        for profile in content["profiles"]:
            for event in profile["events"]:
                name = content["shared"]["frames"][event["frame"]]["name"]
                if event["type"] == "O":
                    opened.setdefault(profile["name"], []).append((name, event["at"]))
                else:
                    calls.append((profile["name"], *opened[profile["name"]].pop(), event["at"]))
        equal(sorted(calls), sorted(model_calls(model, begin)))


def model_calls(model, begin):
    """(thread, function, begin, end), as the entries and returns of the trace have them."""
    opened = {}
    for now, thread, event in model.events:
        number, fields = event
        if number == enter("", 0)[0]:
            opened.setdefault(thread, []).append((fields[:fields.index(0)].decode(), now))
        else:
            name, at = opened[thread].pop()
            yield f"server:5, thread {thread}", name, at - begin, now - begin


def test_calls_out_of_order():
    """Calls without a return, and durations that do not fit: the profile is balanced."""
    trace = call_trace.write(path("disorder"), [
        (100, enter("out", 1)), (200, enter("mid", 2)), (300, enter("in", 3)), (700, leave("mid", 2, 5 << 60)), (800, enter("in", 4)),
        (900, leave("in", 4, 100)), (900, enter("in", 5)), (900, leave("in", 5, 0)), (1000, leave("late", 9, 50)), (1100, leave("out", 1, 1000))])
    equal(profiles.speedscope(export(trace, "speedscope", err=None)),
          {"server:5, unknown thread 0": {("out",): 250, ("out", "mid"): 600, ("out", "in"): 100, ("out", "late"): 50}})


def test_many_calls():
    """Beyond the limit, the calls of speedscope are weights. The last call is left out by its time."""
    count = 500001
    events = [(2 * i, enter("a", i)) if n == 0 else (2 * i + 1, leave("a", i, 1)) for i in range(1, count + 1) for n in range(2)]
    trace = call_trace.write(path("calls"), events)
    out = export(trace, "speedscope", err=None)
    equal(profiles.speedscope(out), {"time": {("a",): count}})
    contains(side("export", trace, "--format", "speedscope", "-o", path("again")).err, "more than 500,000 calls")
    out = export(trace, "speedscope", "--to", "+1ms", err=None)
    with open(out, encoding="utf-8") as file:
        text = file.read()
    equal((text.count('"type":"evented"'), text.count('"type":"O"'), text.count('"type":"C"')), (1, count - 1, count - 1))


def test_calls_without_an_end_or_a_begin():
    # A longjmp() leaves `in`; the return of `out` is missing; `late` has no entry.
    trace = call_trace.write(path("torn"), [
        (100, enter("out", 1)), (200, enter("mid", 2)), (300, enter("in", 3)), (700, leave("mid", 2, 500)),
        (800, leave("late", 9, 50)), (1000, enter("in", 4)), (1100, leave("in", 4, 100))])
    weights = folded(trace, err=None)
    equal(weights, {("out", "mid"): 500, ("out", "in"): 100, ("(others)",): 50})
    err = side("export", trace, "--format", "folded").err
    contains(err, "calls whose entry is not in the trace: 1")
    contains(err, "calls without a return: 2; they have no time")
    equal(folded(trace, "--weight", "count", err=None), {("out",): 1, ("out", "mid"): 1, ("out", "mid", "in"): 1, ("out", "in"): 1, ("(others)",): 1})


def test_losses_are_reported():
    trace = call_trace.write(path("lost"), [(100, enter("a", 1)), (300, leave("a", 1, 200))], 5, [(400, enter("b", 2)), (500, leave("b", 2, 100))])
    equal(folded(trace, err=None), {("a",): 200, ("b",): 100})
    contains(side("export", trace, "--format", "folded").err, "events were lost while recording: 5; weights are too small")


def test_processor_times():
    # `outer` runs for 1000 ns, of which its thread has a processor for 600; `inner` waits for 300 of its 400 ns.
    events = [(1000, 7, 500, enter("outer", 1)), (1200, 7, 700, enter("inner", 2)), (1600, 7, 800, leave("inner", 2, 400)),
              (2000, 7, 1100, leave("outer", 1, 1000))]
    trace = call_trace.write(path("cpu"), events, threads=True, context=call_trace.CPU_CONTEXT)
    equal(folded(trace, "--weight", "on-cpu"), {("outer",): 500, ("outer", "inner"): 100})
    equal(folded(trace, "--weight", "off-cpu"), {("outer",): 100, ("outer", "inner"): 300})
    equal(folded(trace), {("outer",): 600, ("outer", "inner"): 400})


def test_processor_times_from_switches():
    # Thread 7 has no processor from 1300 to 1600, in `inner`, and from 1800 to 1900, in `outer`. Thread 8 never runs in a call.
    events = [(900, 0, switch(8, 7)), (1000, 7, enter("outer", 1)), (1200, 7, enter("inner", 2)), (1300, 0, switch(7, 0)), (1400, 0, switch(0, 8)),
              (1500, 0, switch(8, 0)), (1600, 0, switch(0, 7)), (1620, 7, leave("inner", 2, 420)), (1800, 0, switch(7, 8)), (1900, 0, switch(8, 7)),
              (2000, 7, leave("outer", 1, 1000)), (2100, 9, enter("unknown", OTHER)), (2300, 9, leave("unknown", OTHER, 200))]
    trace = call_trace.write(path("switches"), events, threads=True)
    weights = folded(trace, "--weight", "off-cpu", err=None)
    equal(weights, {("outer",): 100, ("outer", "inner"): 300})
    contains(side("export", trace, "--format", "folded", "--weight", "on-cpu").err, "200 ns of calls are left out: their processor time is unknown")
    equal(folded(trace, "--weight", "on-cpu", err=None), {("outer",): 480, ("outer", "inner"): 120})
    # Losses between the begin and the end of a call.
    trace = call_trace.write(path("switches-lost"), events[:9], 1, events[9:], threads=True)
    equal(folded(trace, "--weight", "off-cpu", err=None), {("outer", "inner"): 300})
    # Without the switches to the thread, the time without a processor has no end.
    some = [event for event in events if event[2][0] != 8 or event[2] in (switch(8, 7), switch(7, 0), switch(7, 8))]
    result = side("export", call_trace.write(path("switches-from"), some[:-3] + [(2150, 0, switch(7, 0)), (2160, 0, switch(7, 0))], threads=True),
                  "--format", "folded", "--weight", "off-cpu")
    equal((result.status, result.out), (1, ""))
    contains(result.err, "the switches to threads are missing")


def test_switches_of_many_threads():
    def off_cpu(count):
        events = [(1000, 0, switch(thread, thread + 1)) for thread in range(1001, 1000 + count)]
        last = 1000 + count
        events += [(1100, last, enter("last", 1)), (1200, 0, switch(last, 0)), (1300, 0, switch(0, last)), (1400, last, leave("last", 1, 300))]
        trace = call_trace.write(path(f"switches{count}"), events, threads=True)
        return side("export", trace, "--format", "folded", "--weight", "off-cpu")

    result = off_cpu(250000)
    equal((result.out, result.err), ("last 100\n", ""))
    result = off_cpu(250001)
    equal((result.status, result.out), (1, ""))
    contains(result.err, "no call has the processor time of its thread")


def test_pairs_have_the_stack_of_their_begin():
    events = [(100, 7, 0x4711, query(1)), (350, 7, 0x4711, enter("end", 1)), (400, 7, 0x4712, query(2)), (401, 7, 0x4711, enter("end", 2))]
    trace = call_trace.write(path("pairs"), events, threads=True)
    equal(folded(trace, "--pair", "db:query", "probe:all"), {("0x4711",): 250, ("0x4712",): 1})
    result = side("export", trace, "--format", "folded", "--pair", "db:query", "db:missing")
    equal(result.status, 1)
    contains(result.err, "no pair has a begin and an end")


def test_hostile_names():
    names = ["a;b", "line\nfeed \x1b[31m", "with space 7", "</script>\"'", "ü", "x" * 5000, ";", " "]
    events = [(100 + i, enter(name, i + 1)) for i, name in enumerate(names)]
    events += [(200 + 10 * i, leave(names[-1 - i], len(names) - i, 100)) for i in range(len(names))]
    trace = call_trace.write(path("hostile"), events)
    weights = folded(trace)
    longest = max(weights, key=len)
    equal(longest, ("a:b", "line?feed ?[31m", "with space 7", "</script>\"'", "ü", "x" * 4095, ":", " "))
    scope = profiles.speedscope(export(trace, "speedscope", "--weight", "time"))["time"]
    equal(max(scope, key=len), tuple(name[:4095] for name in names))
    _, samples, _ = profiles.pprof(export(trace, "pprof"))
    equal(max(samples, key=len), tuple(name[:4095] for name in names))


def test_invalid_bytes_of_names():
    packed = b"\xff\xfe" + b"\0"
    events = [(100, (2, packed + enter("", 1)[1][1:])), (300, (3, packed + leave("", 1, 200)[1][1:]))]
    trace = call_trace.write(path("bytes"), events)
    equal(folded(trace), {("\xff\xfe",): 200})
    equal(profiles.pprof(export(trace, "pprof"))[1], {("\xff\xfe",): [1, 200]})
    equal(profiles.speedscope(export(trace, "speedscope", "--weight", "time")), {"time": {("\xff\xfe",): 200}})


def test_depth():
    def deep(depth, name):
        events = [(100 + i, enter("f", i + 1)) for i in range(depth)]
        events += [(5000 + i, leave("f", depth - i, 4900 - depth + 1 + 2 * i)) for i in range(depth)]
        return call_trace.write(path(name), events)

    weights = folded(deep(1024, "deep"))
    equal((len(weights), max(map(len, weights))), (1024, 1024))
    trace = deep(1026, "deeper")
    deeper = folded(trace, err=None)
    equal((len(deeper), max(map(len, deeper)), sum(deeper.values())), (1024, 1024, 4900 - 1025 + 2 * 1025))
    contains(side("export", trace, "--format", "folded").err, "functions deeper than 1024 count for their caller")


def test_waits_for_locks():
    trace = LockTrace(path("locks"))
    trace.add(100, 1, "pthread_mutex_lock_req", 0x10, caller=0x4000)
    trace.add(150, 2, "pthread_mutex_lock_req", 0x10, caller=0x5000)
    trace.add(160, 1, "pthread_mutex_lock", 0x10, caller=0x4000)
    trace.add(500, 1, "pthread_mutex_unlock", 0x10)
    trace.add(600, 2, "pthread_mutex_lock", 0x10, caller=0x5000)
    trace.add(700, 1, "pthread_mutex_lock_req", 0x10, caller=0x4000)
    trace.end_packet()
    trace.add(900, 2, "sem_wait_req", 0x20, caller=0x5000)
    trace.end_packet(3)
    trace.add(1900, 2, "sem_wait", 0x20, caller=0x5000)
    trace.write()
    # The wait of the semaphore is uncertain, because events were lost meanwhile; the last one of thread 1 has no end.
    equal(folded(trace.path, "--weight", "wait", err=None), {("0x4000",): 60, ("0x5000",): 450})
    contains(side("export", trace.path, "--format", "folded", "--weight", "wait").err, "waits without an end: 1")


def test_many_threads():
    def threads(count):
        return call_trace.write(path(f"threads{count}"), [(100 + i, i + 1, query(1)) for i in range(count)], threads=True)

    exact = folded(threads(10000), "--by", "thread")
    equal((len(exact), ("(others)",) in exact), (10000, False))
    more = folded(threads(10002), "--by", "thread", err=None)
    equal((len(more), more[("(others)", )]), (10001, 2))


def test_many_stacks():
    def stacks(count, name):
        return call_trace.write(path(name), [(100 + i, 1 + i % 2, 0x1000 + i // 2, query(1)) for i in range(count)], threads=True)

    # Two threads have the same stacks. Each thread, each stack and the remainder is a node of the tree, too.
    result = side("export", stacks(500002, "stacks"), "--format", "folded", "--by", "thread")
    weights = profiles.folded(result.out)
    equal((result.status, sum(weights.values())), (0, 500002))
    contains(result.err, "stacks beyond the limit of 500000 are `(others)`")
    contains(result.err, "call paths beyond the limit of 500000 are `(others)`")
    equal(weights[("(others)",)], 500002 - (500000 - 4))
    result = side("export", stacks(400000, "fewer"), "--format", "folded", "--by", "thread")
    equal((len(profiles.folded(result.out)), result.err), (400000, ""))


def test_waits_of_many_threads():
    def waits(count):
        trace = LockTrace(path(f"waits{count}"))
        for function in ("pthread_mutex_lock_req", "pthread_mutex_lock"):
            for thread in range(1, count + 1):
                trace.add(1000 + (function == "pthread_mutex_lock") * 10, thread, function, 0x10 + thread, caller=0x4000)
        trace.write()
        return side("export", trace.path, "--format", "folded", "--weight", "wait")

    result = waits(250000)
    equal((result.out, result.err), (f"0x4000 {250000 * 10}\n", ""))
    result = waits(250001)
    equal(result.out, f"0x4000 {250000 * 10}\n")
    contains(result.err, "waits of threads beyond the limit of 250000 are left out: 2")


def test_refusals():
    trace = call_trace.write(path("plain"), [(100, query(1)), (200, query(2))])
    for args, text, hint in (
            ((), "no event has a stack", "--context backtrace"),
            (("--weight", "time"), "there are no calls of functions", "side trace --function '*' --exit"),
            (("--weight", "bytes"), "there are no calls of an allocator", "side record -w libc --context backtrace"),
            (("--weight", "wait"), "no thread waits for a lock", "-w pthread"),
            (("--weight", "on-cpu"), "no call has the processor time", "perf:thread:task-clock")):
        result = side("export", trace, "--format", "folded", *args, "-o", path("none"))
        equal((result.status, result.out), (1, ""), args)
        contains(result.err, text)
        contains(result.err, hint)
        true(not os.path.exists(path("none")), "no file of a failed export")
    for args in (("--weight", "bytes"), ("--by", "thread")):
        result = side("export", trace, "--format", "csv", *args)
        equal(result.status, 2)
        contains(result.err, f"`{args[0]}` has no effect with")
    equal(side("export", trace, "--format", "folded", "--pair", "a", "b", "--weight", "bytes").status, 2)
    equal(side("export", trace, "--to", "folded").status, 1, "an earlier form of --format")


def recorded():
    trace = path("recorded")
    if not os.path.exists(trace):
        result = side("record", "-w", "libc", "--context", "backtrace", "-e", "libc:malloc", "-e", "libc:free", "-o", trace, PROGRAM)
        equal(result.status, 0, result.err)
    return trace


def test_allocated_bytes_of_stacks():
    trace = recorded()
    weights, counts, types = all_formats(trace, "--weight", "bytes")
    equal(types, [("allocations", "count"), ("bytes", "bytes")])
    found = {names[names.index("main"):]: weight for names, weight in weights.items() if "main" in names}
    equal(found, {("main",): 5000, ("main", "flame_inner"): 20 * 100, ("main", "flame_outer", "flame_inner"): 40 * 100})
    # All events, also those of the C library's start.
    events = [event for event in json_lines(side("view", "--json", trace).out) if event["event"] == "libc:malloc"]
    equal((sum(weights.values()), sum(counts.values())), (sum(event["fields"]["size"] for event in events), len(events)))
    _, _, files = profiles.pprof(export(trace, "pprof", "--weight", "bytes"))
    true(files["flame_inner"].endswith("flamed.c"), files)
    weights = folded(trace, "-e", "libc:free")
    equal(sum(weights.values()), sum(1 for event in json_lines(side("view", "--json", trace).out) if event["event"] == "libc:free"))


def test_go_reads_the_profiles():
    if not shutil.which("go"):
        skip("no go")
    model = Model(11)
    trace = call_trace.write(path("go"), model.events, threads=True)
    result = run("go", "tool", "pprof", "-traces", "-unit", "ns", export(trace, "pprof"), status=None, stdin=subprocess.DEVNULL,
                 env={**os.environ, "HOME": work.name})
    if "no such tool" in result.stderr:
        skip("go has no pprof")
    equal(result.returncode, 0, result.stderr)
    found = {}
    for block in result.stdout.split("-----------+-------------------------------------------------------")[1:]:
        lines = [line.split() for line in block.splitlines() if line.strip()]
        if lines:
            value = lines[0].pop(0)
            found[tuple(line[0] for line in reversed(lines))] = float(value.removesuffix("ns"))
    equal(found, {names: float(weight) for names, weight in Model.merged(model.weights).items()})


def test_names_of_rust():
    """Names as rustc mangles them, in its present form and in the previous one."""
    source = path("rust.c")
    with open(source, "w", encoding="ascii") as file:
        file.write("""#include <stdlib.h>
            __attribute__((noinline)) void *legacy(int size) __asm__("_ZN7canteen5stove4boil17h0123456789abcdefE");
            __attribute__((noinline)) void *modern(int size) __asm__("_RINvNtCs1234_7canteen5stove3fryhEB4_");
            void *legacy(int size) { void *block = malloc(size); __asm__ volatile("" : : "r"(block)); return block; }
            void *modern(int size) { void *block = legacy(size); __asm__ volatile("" : : "r"(block)); return block; }
            int main(void) { free(modern(100)); return 0; }""")
    run("gcc", "-O1", "-g", "-o", path("rust"), source)
    for name, command in (("stacks", ("record", "-q", "-w", "libc", "--context", "backtrace")),
                          ("probes", ("trace", "-q", "--function", "canteen::stove::*", "--exit"))):
        trace = path("rust-" + name)
        done = side(*command, "-o", trace, "--", path("rust"))
        equal(done.status, 0, done.err)
        for to in ("folded", "speedscope", "pprof", "svg"):
            out = export(trace, to, err=None)
            with (gzip.open if to == "pprof" else open)(out, "rb") as file:
                text = file.read()
            for word in (b"canteen::stove::boil", b"canteen::stove::fry"):
                contains(text, word, to)
            for word in (b"_ZN7canteen", b"_RINv", b"17h0123456789abcdef"):
                equal((to, word in text), (to, False))


def test_schema_of_speedscope():
    model = Model(13)
    trace = call_trace.write(path("schema"), model.events, threads=True)
    files = [export(trace, "speedscope", *args) for args in ((), ("--weight", "time"), ("--weight", "count"), ("--by", "thread"))]
    files.append(export(recorded(), "speedscope", "--weight", "bytes"))
    _, missing = npm.install(FOLDER, "ajv/package.json", "speedscope@1.25.0", "ajv@8.17.1")
    if missing:
        skip(missing)
    done = run("node", os.path.join(HERE, "speedscope-check.js"), FOLDER, *files)
    equal((done.stdout, done.stderr), ("", ""))


run_tests(globals())
