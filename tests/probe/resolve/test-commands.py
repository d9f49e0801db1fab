#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Probes from the command line to the trace: the events that babeltrace2 reads equal the calls in the program's source.

usage: test-commands.py [TEST...]
"""
import atexit
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from harness import *

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
from waiting import wait_until

SOURCES = os.environ["SOURCES"]
FOLDER = tempfile.mkdtemp()
RUNTIME = FOLDER + "/run"
# On a busy machine a recorder may answer late; events that have waited too long are lost.
ENV = environment(SIDE_RUNTIME=RUNTIME, LANG="C.UTF-8", SIDE_TIMEOUT_FACTOR="30")
CALLS = 100000
# The members in target.c, except the pointer to the next one.
FIRST = {"number": -10, "name": "first", "text": "one", "low": 5, "high": 17, "whole": 0x1122334455667788, "half": 0x55667788,
         "weight": 2.5}
SECOND = {"number": 20, "name": "second", "text": "two", "low": 0, "high": 0, "whole": 0, "half": 0, "weight": 0.0}
ROUNDS = 7
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


atexit.register(end_daemon, ENV)


def compiled(source, *options, name=None):
    path = f"{FOLDER}/{name or source.split('.')[0]}"
    if not os.path.exists(path):
        subprocess.run(["g++" if source.endswith("cpp") else "gcc", "-w", *options, f"{SOURCES}/{source}", "-o", path],
                       check=True)
    return path


def good(*args):
    done = side(*args, env=ENV)
    equal((args, done.status), (args, 0), done.err)
    return done


def read(trace):
    """[(event, {field: value})] as babeltrace2 prints them."""
    done = subprocess.run(["babeltrace2", "--names", "payload,context", trace], capture_output=True, text=True, check=True)
    found = []
    for line in done.stdout.splitlines():
        line = re.sub(r'\( "(?:true|false)" : container = (\d+) \)', r"\1", unguarded(line))
        name = re.search(r"\) (?:\S+ )?(\S+:\S+): \{", line) or re.search(r" (\w+:\w+): \{", line)
        fields = dict((k, v) for k, v in re.findall(r'(\w[\w.]*) = ("(?:[^"\\]|\\.)*"|\[ .*? \]|[^ ,{}]+)', line))
        found.append((name[1], {k: v.strip('"') if v.startswith('"') else v for k, v in fields.items()}))
    return found


def of(events, name):
    return [fields for event, fields in events if event == name]


def durations_fit(trace, function):
    """Checks that consecutive calls of one thread do not overlap. A coarse clock may report 0. Returns the number of calls."""
    before, numbers = None, set()
    for event in map(json.loads, good("view", "--json", trace).out.splitlines()):
        if event["event"] == f"probe:{function}_return":
            duration = event["fields"]["duration"]
            # Both times are rounded.
            true(0 <= duration <= (event["ns"] - before + 2 if before else 60 * 10**9), repr((before, event)))
            before = event["ns"]
            numbers.add(event["fields"]["call"])
    return len(numbers)


class Program:
    """Prints when it is ready, and continues on request."""

    def __init__(self, path, rounds=ROUNDS):
        self.process = subprocess.Popen([path, str(rounds), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        equal(self.process.stdout.readline(), "ready\n")
        self.pid = str(self.process.pid)

    def go(self):
        self.process.stdin.write("x")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.stdin.close()
        equal(self.process.wait(timeout=60), 0)


class Session:
    count = 0

    def __init__(self):
        Session.count += 1
        self.name, self.trace = f"s{Session.count}", f"{FOLDER}/trace-{Session.count}"
        good("create", self.name, "-o", self.trace)

    def end(self):
        good("destroy", self.name)
        return read(self.trace)


def test_trace_with_arguments():
    path = compiled("target.c", "-g", "-O2")
    trace = FOLDER + "/started"
    good("trace", "-o", trace, "-c", f"{path} {ROUNDS}", "--function", "target_scalars", "--exit", "--arg", "small", "--arg",
         "number", "--arg", "flag", "--arg", "large", "--function", "target_item", "--arg", "item->next->text", "--arg",
         "item->name", "--arg", "item->weight", "--arg", "u64:counter:target_counter", "--function", "target_floats", "--exit",
         "--arg", "narrow", "--arg", "wide")
    events = read(trace)
    calls, returns = of(events, "probe:target_scalars"), of(events, "probe:target_scalars_return")
    equal([(c["small"], c["number"], c["flag"], c["large"]) for c in calls],
          [("-5", str(i), str(i % 2), str(1 << 40)) for i in range(ROUNDS)])
    equal([int(r["return_value"]) for r in returns], [-5 + 60000 + i + 0 + i % 2 + 7 for i in range(ROUNDS)])
    equal([c["call"] for c in calls], [r["call"] for r in returns])
    equal(durations_fit(trace, "target_scalars"), ROUNDS)
    equal([(f["item_next_text"], f["item_name"], float(f["item_weight"]), f["counter"]) for f in of(events, "probe:target_item")],
          [("two", "first", 2.5, "4711")] * ROUNDS)
    equal([(float(f["narrow"]), float(f["wide"])) for f in of(events, "probe:target_floats")], [(1.5, 0.25)] * ROUNDS)
    equal([float(f["return_value"]) for f in of(events, "probe:target_floats_return")], [3.25] * ROUNDS)


def test_threads_of_several_locations():
    """Two locations may be a pair of start and end: the thread is recorded with them, unless contexts were selected."""
    path = compiled("target.c", "-g", "-O2")
    both = ("--function", "target_scalars", "--function", "target_item")
    for number, (args, wanted) in enumerate(((both, {"vtid"}), ((*both, "--exit"), {"vtid"}), (both[:2], set()),
                                              ((*both[:2], "--exit"), set()), (("--function", "target_*", "--exit"), set()),
                                              (("--function", "target_*", "--args"), {"vtid"}),
                                              ((*both, "--context", "procname"), {"procname"}))):
        trace = f"{FOLDER}/threads-{number}"
        good("trace", "-o", trace, "-c", f"{path} {ROUNDS}", *args)
        events = [json.loads(line) for line in good("view", "--json", trace).out.splitlines()]
        equal({name for event in events for name in event.get("stream_context", {})}, wanted, str(args))
        if "vtid" in wanted:
            equal({event["stream_context"]["vtid"] for event in events}, {event["vpid"] for event in events})


def test_pairs_of_threads():
    """Pairs of the default fields are those of each thread, although all start before the first one ends."""
    path = compiled("turns.c", "-O1", "-pthread")
    begin, end = ([word for word in (f"--function operation_{what} --arg u64:thread:%rdi").split()] for what in ("begin", "end"))
    for number, args in enumerate(([*begin, *end], [*begin, *end, "--exit"], [*begin, "--exit", *end, "--exit"])):
        trace = f"{FOLDER}/turns-{number}"
        good("trace", "-o", trace, "-c", path, *args)
        begun, durations = {}, []
        for event in map(json.loads, good("view", "--json", trace).out.splitlines()):
            if event["event"] == "probe:operation_begin":
                begun[event["fields"]["thread"]] = event["ns"]
            elif event["event"] == "probe:operation_end":
                durations.append(event["ns"] - begun.pop(event["fields"]["thread"]))
        lines = good("report", "--json", "--pair", "probe:operation_begin", "probe:operation_end", trace).out.splitlines()
        found = [line for line in map(json.loads, lines) if line["type"] == "durations"]
        equal([(line["count"], line["min_ns"], line["max_ns"], round(line["mean_ns"], 1)) for line in found],
              [(20, min(durations), max(durations), round(sum(durations) / 20, 1))], f"{args}")


def test_returns_beside_entries():
    """If several events use a function, returns are recorded for those that request them, in any order of requests."""
    path = compiled("target.c", "-g", "-O2")
    entry, exits = ("--probe", "target_scalars"), ("--function", "target_scalars", "--exit")
    for number, places in enumerate(((*entry, *exits), (*exits, *entry), (*entry, *exits, *entry))):
        trace = f"{FOLDER}/beside-{number}"
        good("trace", "-o", trace, "-c", f"{path} {ROUNDS}", *places)
        events = read(trace)
        returns = of(events, "probe:target_scalars_return")
        equal([int(r["return_value"]) for r in returns], [-5 + 60000 + i + 0 + i % 2 + 7 for i in range(ROUNDS)])
        equal(durations_fit(trace, "target_scalars"), ROUNDS)
        equal(len(of(events, "probe:target_scalars")), ROUNDS * (len(places) - 1) // 2)


def nested(trace, name):
    """The payload of each of these events, as babeltrace2 prints it."""
    done = subprocess.run(["/usr/bin/python3", "-c", """
import bt2, json, sys
def plain(value):
    if isinstance(value, bt2._StructureFieldConst):
        return {name: plain(value[name]) for name in value if not (name.startswith("_") and name.endswith("_tag"))}
    if isinstance(value, bt2._VariantFieldConst):
        return plain(value.selected_option)
    if isinstance(value, bt2._ArrayFieldConst):
        return [plain(one) for one in value]
    for kind in (bt2._BoolFieldConst, bt2._StringFieldConst, bt2._RealFieldConst):
        if isinstance(value, kind):
            return {bt2._BoolFieldConst: bool, bt2._StringFieldConst: str, bt2._RealFieldConst: float}[kind](value)
    return int(value)
for message in bt2.TraceCollectionMessageIterator(sys.argv[1]):
    if type(message) is bt2._EventMessageConst and message.event.name == sys.argv[2]:
        print(json.dumps(plain(message.event.payload_field)))
""", trace, name], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_whole_structures():
    """The values of the source: in memory, in registers, behind pointers, returned, and nested."""
    path, trace = compiled("target.c", "-g", "-O2"), FOLDER + "/whole"
    for method in (), ("--filter", "item.low == 5 && item.number == -10"):
        shutil.rmtree(trace, ignore_errors=True)
        good("trace", "-o", trace, "-c", f"{path} {ROUNDS}", "--function", "target_item", "--arg", "*item", "--arg", "item",
             "--arg", "*item->next", *method)
        found = nested(trace, "probe:target_item")
        equal(len(found), ROUNDS)
        for one in found:
            equal(list(one), ["item", "item_2", "item_next"])
            equal(list(one["item"]), ["number", "name", "text", "next", "low", "high", "whole", "half", "weight"])
            equal(one["item"]["next"] > 4096 and one["item_2"] > 4096, True)
            for item, values in ((one["item"], FIRST), (one["item_next"], SECOND)):
                equal({k: v for k, v in item.items() if k != "next"}, values)
    for mode in "-O0", "-O2":
        path = compiled("target.c", "-g", mode, name="pairs" + mode)
        shutil.rmtree(trace, ignore_errors=True)
        good("trace", "-o", trace, "-c", f"{path} {ROUNDS}", "--function", "target_pair", "--arg", "pair", "--arg", "last")
        equal([one["pair"] for one in nested(trace, "probe:target_pair")], [{"first": i, "second": 3} for i in range(ROUNDS)])
    path = compiled("returns.c", "-g", "-O2", "-fomit-frame-pointer")
    shutil.rmtree(trace)
    good("trace", "-o", trace, "-c", f"{path} {ROUNDS}", "--function", "make_pair", "--ret", "return", "--function", "make_node",
         "--ret", "*return", "--ret", "*return->next", "--filter", "return.left >= 0 || return.count >= 0")
    equal([one["return"] for one in nested(trace, "probe:make_pair_return")],
          [{"left": i * 10 ** 12, "right": i + 0.5} for i in range(ROUNDS)])
    equal([(one["return"]["count"], one["return"]["name"], one["return_next"]) for one in nested(trace, "probe:make_node_return")],
          [(i, "first", {"count": -7, "name": "last", "next": 0}) for i in range(ROUNDS)])


def test_structures_with_too_many_members():
    """As many members as there is space for, with a message; all of them are correct."""
    with open(f"{FOLDER}/wide.c", "w", encoding="utf-8") as file:
        file.write("struct wide { " + " ".join(f"int m{i};" for i in range(200)) + " };\n"
                   "struct chain { struct { struct { struct { struct { struct { struct { int deep; } f; } e; } d; } c; } b; } a; };\n"
                   "volatile int n;\n"
                   "__attribute__((noinline)) int look(struct wide *p, struct chain *q) { n++; return p->m1 + q->a.b.c.d.e.f.deep; }\n"
                   "int main(void) { static struct wide w; static struct chain c = {{{{{{{7}}}}}}};\n"
                   + " ".join(f"w.m{i} = {i} * 3;" for i in range(200)) + "return !look(&w, &c); }\n")
    subprocess.run(["gcc", "-w", "-g", f"{FOLDER}/wide.c", "-o", f"{FOLDER}/wide"], check=True)
    trace = FOLDER + "/wide-trace"
    done = good("trace", "-o", trace, "-c", f"{FOLDER}/wide", "--function", "look", "--arg", "*p", "--arg", "*q")
    contains(done.err, "some members of a structure are left out")
    (one,) = nested(trace, "probe:look")
    equal(one["p"], {f"m{i}": 3 * i for i in range(39)})
    equal(one["q"], {"a": {"b": {"c": {"d": {"length": 4, "elements": [7, 0, 0, 0]}}}}})


def test_all_arguments():
    """By name and type, without naming them; each of many functions is a separate event."""
    path, trace = compiled("target.c", "-g", "-O2"), FOLDER + "/arguments"
    good("trace", "-o", trace, "-c", f"{path} {ROUNDS}", "--function", "target_scalars", "--args")
    scalars = [{"small": -5, "middle": 60000, "number": i, "large": 1 << 40, "flag": bool(i & 1), "color": 7} for i in range(ROUNDS)]
    equal(nested(trace, "probe:target_scalars"), scalars)
    shutil.rmtree(trace)
    good("trace", "-o", trace, "-c", f"{path} {ROUNDS}", "--function", "*", "--args", "--exit")
    calls = nested(trace, "probe:target_scalars")
    equal([{k: v for k, v in call.items() if k != "call"} for call in calls], scalars)
    equal([one["return_value"] for one in nested(trace, "probe:target_scalars_return")],
          [-5 + 60000 + i + 0 + i % 2 + 7 for i in range(ROUNDS)])
    equal([(f["narrow"], f["between"], f["wide"]) for f in nested(trace, "probe:target_floats")], [(1.5, 2, 0.25)] * ROUNDS)
    equal([f["return_value"] for f in nested(trace, "probe:target_floats_return")], [3.25] * ROUNDS)
    equal([f["pair"]["first"] for f in nested(trace, "probe:target_pair")], list(range(ROUNDS)))
    equal([f["text"] for f in nested(trace, "probe:target_static")], ["x"] * ROUNDS)
    equal(["return_value" in f for f in nested(trace, "probe:target_static_return")], [False] * ROUNDS)
    (begin,) = nested(trace, "probe:main")
    equal(begin["argc"], 2)
    # Functions with unknown arguments are recorded, too.
    equal(nested(trace, "probe:_start"), [{"call": 0}])
    number = next(n for n, line in enumerate(open(SOURCES + "/target.c", encoding="utf-8"), 1) if "line of the sum" in line)
    shutil.rmtree(trace)
    plain = compiled("target.c", "-g", "-O0", name="plain-all")
    good("trace", "-o", trace, "-c", f"{plain} {ROUNDS}", "--probe", f"target.c:{number}", "--arg", "$vars")
    equal([(f["text"], f["sum"]) for _, f in read(trace)], [("hello", "15")] * ROUNDS)
    shutil.rmtree(trace)
    # Functions with one name are numbered, even if the result is another one's name.
    good("trace", "-o", trace, "-c", compiled("alike.cpp", "-g", "-O2"), "--function", "alike*", "--args")
    equal(sorted((name, int(fields["value"])) for name, fields in read(trace)),
          [("probe:alike", 10), ("probe:alike_2", 10), ("probe:alike_2_2", 10), ("probe:alike_3", 10)])
    # Thousands: the time for each does not depend on their number.
    shutil.rmtree(trace)
    source = FOLDER + "/thousands.c"
    with open(source, "w", encoding="utf-8") as file:
        file.writelines(f"__attribute__((noinline)) int step_{i}(int value) {{ return value * {i + 3}; }}\n" for i in range(4000))
        file.write("int (*const all[])(int) = {" + ", ".join(f"step_{i}" for i in range(4000)) + "};\n")
        file.write("int main(void) { int sum = 0; for (int i = 0; i < 4000; i++) sum += all[i](i); return sum == 0; }\n")
    subprocess.run(["gcc", "-w", "-g", "-O1", source, "-o", FOLDER + "/thousands"], check=True)
    # The buffers have space for all events, even if the recorder does not run meanwhile.
    good("trace", "-o", trace, "--buffer-size", "1M", "-c", FOLDER + "/thousands", "--function", "step_*", "--args")
    events = read(trace)
    equal(of(events, "side:lost"), [])
    equal([(name, int(fields["value"])) for name, fields in events], [(f"probe:step_{i}", i) for i in range(4000)])
    bare = compiled("target.c", "-O2", name="bare")
    refused("there is no debug information", 1, "trace", "-o", FOLDER + "/none", "-c", bare, "--function", "target_pair", "--args")


def test_a_filter_of_fields_that_no_event_has():
    """An error, also with --quiet; the suggestion works."""
    path, args = compiled("target.c", "-g", "-O2"), ["trace", "-q", "--filter", "number >= 0", "--function", "target_scalars"]
    for more, status in (([], 1), (["--args"], 0), (["--arg", "s32:number:%edx"], 0)):
        trace = f"{FOLDER}/no-fields-{len(more)}-{status}"
        done = side(*args, *more, "-o", trace, "-c", f"{path} {ROUNDS}", "--force", env=ENV)
        equal((done.status, done.out), (status, ""), done.err)
        if status:
            contains(done.err, "no event of target_scalars has the fields that `--filter number >= 0` names\nhint: `--args` records")
        else:
            equal((done.err, len(read(trace))), ("", ROUNDS))


def left_behind():
    return {name for name in os.listdir(FOLDER) if name.startswith("side-print-")}


def test_print():
    """Events are printed while they are recorded, and no trace remains unless the user requests it."""
    path = compiled("target.c", "-g", "-O2")
    env, line = dict(ENV, TMPDIR=FOLDER), r"probe:target_scalars: \{ number = (\d+) \}\n"
    args = ["trace", "--print", "-c", f"{path} {ROUNDS}", "--function", "target_scalars", "--arg", "number"]
    done = side(*args, env=env)
    equal((done.status, done.out), (0, ""), done.err)
    equal(re.findall(line, done.err), [str(i) for i in range(ROUNDS)])
    contains(done.err, f"recorded {ROUNDS} events from 1 process")
    true("see it with" not in done.err, done.err)
    equal(left_behind(), set())
    done = side(*args, "--json", "-q", env=env)
    equal([o["fields"]["number"] for o in json_lines(done.err) if o.get("event") == "probe:target_scalars"], list(range(ROUNDS)))
    # With -o the trace is kept.
    done = side(*args, "-o", FOLDER + "/printed", env=env)
    equal(re.findall(line, done.err), re.findall(line, good("view", FOLDER + "/printed").out))
    contains(done.err, "see it with")
    # No event occurs.
    done = side("trace", "--print", "-c", "true", "--function", "libc:mktime", env=env)
    equal((done.status, done.out), (0, ""), done.err)
    contains(done.err, "nothing was recorded")
    equal(left_behind(), set())


def test_print_of_a_program_that_runs():
    """Until Ctrl-C, then to the last event; or until the reader has exited."""
    program = Program(compiled("target.c", "-g", "-O2"), 200000)
    env = dict(ENV, TMPDIR=FOLDER)
    args = [SIDE, "trace", "--print", "-p", program.pid, "--function", "target_scalars", "--arg", "number", "--buffer-size", "64M"]
    tracer = subprocess.Popen(args, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: "target_scalars is set" in tracer.stderr.readline())
    program.process.stdin.write("x")
    program.process.stdin.flush()
    first = tracer.stdout.readline()
    contains(first, "probe:target_scalars: { number = 0 }")
    equal(program.process.stdout.readline(), "done\n")
    tracer.send_signal(signal.SIGINT)
    out = tracer.stdout.read()
    equal(tracer.wait(timeout=120), 0)
    true([int(n) for n in re.findall(r"number = (\d+) ", out)] == list(range(1, 200000)), "all, in their order")
    tracer.stdout.close()
    tracer.stderr.close()
    program.end()
    program = Program(compiled("target.c", "-g", "-O2"), 1000)
    tracer = subprocess.Popen([w if w != args[4] else program.pid for w in args], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    wait_until(lambda: "target_scalars is set" in tracer.stderr.readline())
    tracer.stdout.close()
    equal(program.go(), "done")
    tracer.stdout = None
    equal(tracer.wait(timeout=120), 0)
    tracer.stderr.close()
    equal(left_behind(), set())
    program.end()


def test_values_that_cannot_be_read():
    """A value behind an invalid pointer is not 0: in text, JSON, babeltrace2, filters, reports and tables."""
    path, trace = compiled("unreadable.c", "-g", "-O1"), FOLDER + "/led-nowhere"
    fields = ["p->number", "p->zero", "p->inner->weight", "p->inner->name", "p->inner->numbers", "s", "round", "whole=*p", "s32:by_address:%rdi+0",
              "string:by_text:%rsi"]
    args = ["-c", path, "--function", "take", *(word for field in fields for word in ("--arg", field))]
    values = {"p_number": [7, 9, None, None], "p_zero": [0, 0, None, None], "p_inner_weight": [2.5, None, None, None],
              "p_inner_name": ["inner", None, None, None], "p_inner_numbers": [[1, 2, 3], None, None, None],
              "s": ["hello", None, None, None], "round": [1, 2, 3, 4], "by_address": [7, 9, None, None], "by_text": ["hello", None, None, None]}
    # With a filter, fields reach the record in another way.
    for more in ([], ["--filter", "round > 0"]):
        shutil.rmtree(trace, ignore_errors=True)
        good("trace", "-o", trace, *args, *more)
        found = [event["fields"] for event in json_lines(good("view", "--json", trace).out) if event["type"] == "event"]
        equal({name: [one[name] for one in found] for name in values}, values)
        equal([one["whole"]["number"] for one in found], [7, 9, None, None])
        equal([one["whole"]["text"] for one in found], ["text", "half", None, None])
        by_babeltrace = nested(trace, "probe:take")
        equal([one["p_number"] for one in by_babeltrace], [7, 9, {}, {}])
        equal([one["s"] for one in by_babeltrace], ["hello", {}, {}, {}])
        equal([one["round"] for one in by_babeltrace], [1, 2, 3, 4])
    lines = good("view", trace).out.splitlines()
    contains(lines[0], 'p_number = 7, p_zero = 0, p_inner_weight = 2.5, p_inner_name = "inner"')
    contains(lines[1], "p_number = 9, p_zero = 0, p_inner_weight = <unreadable>, p_inner_name = <unreadable>")
    contains(lines[2], "p_number = <unreadable>, p_zero = <unreadable>")
    for expression, rounds in (("p_zero == 0", [1, 2]), ("p_zero != 0", []), ("!(p_zero == 0)", []), ("p_number < 100", [1, 2]), ("!has(p_number)", [3, 4]),
                               ('s == "hello"', [1]), ('s != "hello"', []), ("has(s)", [1]), ("!has(s) && has(whole.number)", [2])):
        shown = side("view", "--json", trace, "--where", expression, env=ENV)
        equal((expression, [event["fields"]["round"] for event in json_lines(shown.out) if event["type"] == "event"]), (expression, rounds))
        recorded = FOLDER + "/unreadable-filter"
        shutil.rmtree(recorded, ignore_errors=True)
        good("trace", "-q", "-o", recorded, *args, "--filter", expression)
        events = of(read(recorded), "probe:take") if os.path.isdir(recorded) and os.listdir(recorded) else []
        equal((expression, [int(fields["round"]) for fields in events]), (expression, rounds))
    contains(good("report", trace, "--histogram", "p_number").out, "p_number: count 2, min 7, mean 8.0, max 9")


def labels(trace, name):
    """The labels and numbers of a field, as babeltrace2 prints those of an enumeration."""
    done = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=True)
    return re.findall(name + r' = \( "?(\w+)"? : container = (-?\d+) \)', unguarded(done.stdout))


def test_enumerations_have_labels():
    path = compiled("target.c", "-g", "-O2")
    trace = FOLDER + "/labels"
    good("trace", "-o", trace, "-c", f"{path} {ROUNDS}", "--function", "target_scalars", "--arg", "color", "--arg", "number",
         "--filter", 'color == "GREEN" && number > 2')
    equal(labels(trace, "color"), [("GREEN", "7")] * (ROUNDS - 3))
    done = side("trace", "-o", FOLDER + "/filter", "-c", path, "--function", "target_item", "--filter", "n ==", env=ENV)
    equal(done.status, 2, done.err)
    true(not os.path.exists(FOLDER + "/filter"), "it was not started")
    # Of signed numbers and of one byte, at the entry and inside.
    path = compiled("values.c", "-g", "-O0")
    good("trace", "-o", trace + "-c", "-c", path, "--function", "fields", "--arg", "mood", "--arg", "moods[1]")
    equal((set(labels(trace + "-c", "mood")), set(labels(trace + "-c", "moods_1"))), ({("GLOOMY", "-3")}, {("GLOOMY", "-3")}))


def test_programs_that_are_not_started():
    """A program that cannot be traced is reported before it starts."""
    static = compiled("target.c", "-static", name="static")
    lost, circle, script = (FOLDER + "/" + name for name in ("lost", "circle", "script"))
    for path, text in (lost, "#!/nowhere/sh\n"), (circle, f"#!{circle}\n"), (script, f"#! {static} -e\ntouch started\n"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
    why_static = f"{static} is statically linked, so the agent cannot be preloaded into it\nhint: use `side trace --global`"
    for command, status, why in ((static, 1, why_static), (script, 1, why_static),
                                 (lost, 126, f"`{lost}` cannot be run: its interpreter `/nowhere/sh`: No such file"),
                                 (circle, 126, "Too many levels")):
        done = side("trace", "-o", FOLDER + "/unstarted", "-c", command, "--function", "main", env=ENV)
        equal((done.status, done.out), (status, ""), done.err)
        contains(done.err, why)
    refused("is a script; probe the program that runs it: " + static, 1, "probe", "list", script)
    true(not os.path.exists(FOLDER + "/unstarted"), "nothing was recorded")
    path = compiled("target.c", "-g", "-O2")
    done = good("trace", "-o", FOLDER + "/nowhere", "-c", path, "--function", "libc:realpath@GLIBC_2.3")
    contains(done.err, "nothing was recorded: the program reached none of the locations")


def test_sums_under_overload():
    """The sum of recorded and lost events is the program's count, twice: entries and exits."""
    program = Program(compiled("overload.c", "-O2"), CALLS)
    session = Session()
    good("enable-channel", "-u", "-s", session.name, "small", "--buffer-size", "64k")
    good("enable-event", "called", "-u", "-s", session.name, "--channel", "small", "--pid", program.pid, "--function", "overload_call", "--exit")
    good("start", session.name)
    equal(program.go(), str(CALLS))
    good("stop", session.name)
    said = json.loads(good("--json", "status", session.name).out.splitlines()[-1])
    program.end()
    events = session.end()
    entries, exits = (len(of(events, f"probe:called{end}")) for end in ("", "_return"))
    equal((said["recorded"], said["recorded"] + said["lost"]), (entries + exits, 2 * CALLS))
    assert said["lost"] > 0 and exits > 0, said


def test_trace_of_all_functions():
    path = compiled("target.c", "-O0", name="plain")
    trace = FOLDER + "/all"
    good("trace", "-o", trace, "-c", f"'{path}' {ROUNDS}", "--function", "target_*", "--exit")
    events = read(trace)
    names = ["target_scalars", "target_floats", "target_item", "target_pair", "target_many", "target_static"]
    equal([f["function"] for f in of(events, "probe:target")], names * ROUNDS)
    equal([f["function"] for f in of(events, "probe:target_return")], names * ROUNDS)
    done = side("trace", "-o", FOLDER + "/status", "-c", "sh -c 'exit 7'", "--function", "libc:exit", env=ENV)
    equal(done.status, 7, done.err)


def symbol_address(path, name):
    done = subprocess.run(["nm", path], capture_output=True, text=True, check=True)
    return int(re.search(rf"^([0-9a-f]+) [iT] {name}$", done.stdout, re.M)[1], 16)


def first_mapping(pid, path):
    """The difference between addresses in the process and in the file."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        return next(int(line.split("-")[0], 16) for line in file if line.rstrip().endswith(path))


def slot_value(pid, path, name, bias):
    """The address that the loader has written to the slot of the function, which readelf finds."""
    done = subprocess.run(["readelf", "-rW", path], capture_output=True, text=True, check=True)
    (offset,) = re.findall(rf"^([0-9a-f]+) .* R_X86_64_(?:JUMP_SLOT|GLOB_DAT|JUMP_SLO) .* {name}(?:@\S+)? \+ 0$", done.stdout, re.M) or \
        re.findall(rf"^([0-9a-f]+) .* R_X86_64_IRELATIV\w* +{symbol_address(path, name):x}$", done.stdout, re.M)
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        memory.seek(bias + int(offset, 16))
        return int.from_bytes(memory.read(8), "little")


def test_functions_that_are_chosen():
    """IFUNC: the chosen function is probed, and each call of it is seen."""
    path = compiled("choosers.c", "-O1", "-fno-builtin", "-Wl,-z,now")
    trace = FOLDER + "/chosen"
    done = good("trace", "-o", trace, "-c", f"{path} {ROUNDS}", "--function", "chosen_way", "--arg", "s32:n:%edi",
                "--function", "libc:strlen", "--arg", "string:text:%rdi")
    true("chooses one of 2 functions" in done.err, done.err)
    events = read(trace)
    equal([(f["function"], f["n"]) for f in of(events, "probe:chosen_way")], [("fast_way", str(n)) for n in range(ROUNDS)])
    needles = [f"the needle {chr(ord('a') + n)}" for n in range(ROUNDS)]
    equal([f["text"] for f in of(events, "probe:strlen") if f["text"].startswith("the needle")], needles)
    program, session = Program(path), Session()
    good("start", session.name)
    for name, function, argument in (("way", "chosen_way", "s32:n:%edi"), ("length", "libc:strlen", "string:text:%rdi"),
                                     ("copied", "libc:memcpy", "u64:first:(%rsi)")):
        done = good("enable-event", name, "-u", "--pid", program.pid, "--function", function, "--arg", argument, "-s", session.name)
        true("which it has selected" in done.err, done.err)
    equal(program.go(), "done")
    resolver = symbol_address(path, "chosen_way")
    bias = first_mapping(program.pid, path)
    listed = good("probe", "list", program.pid, "choosers:chosen_way").out
    true(f"selected for this processor by the resolver at {resolver + bias:#x}: fast_way" in listed, listed)
    listed = good("probe", "list", path, "chosen_way").out
    equal(listed.count(f"one that can be selected by the resolver at {resolver:#x}"), 2, listed)
    # The program calls what the loader has written to its slots.
    libc = os.path.realpath("/lib/x86_64-linux-gnu/libc.so.6")
    for name, library in (("strlen", libc), ("memcpy", libc), ("chosen_way", path)):
        glob = f"{os.path.basename(library)}:{name}"
        # libc also has an old memcpy, which is no IFUNC.
        (row,) = [line for line in json_lines(good("probe", "list", "--json", program.pid, glob).out) if line.get("chosen")]
        slot = slot_value(program.pid, path, name, bias)
        true(row["runtime"] - slot in (0, 4), (name, row, hex(slot)))
    program.end()
    events = session.end()
    equal([f["n"] for f in of(events, "probe:way")], [str(n) for n in range(ROUNDS)])
    equal([f["text"] for f in of(events, "probe:length") if f["text"].startswith("the needle")], needles)
    first = str(int.from_bytes(b"the need", "little"))
    equal([f["first"] for f in of(events, "probe:copied")].count(first), ROUNDS)


def test_libunwind():
    """After a probe libunwind prints the same as without; if a return is watched, its walk ends there, without another effect."""
    path = f"{FOLDER}/unwinds"
    if subprocess.run(["gcc", "-w", "-O1", f"{SOURCES}/unwinds.c", "-o", path, "-lunwind"], capture_output=True).returncode:
        print("# libunwind is not installed")
        return
    plain = subprocess.run([path], capture_output=True, text=True, check=True).stdout
    true(plain.startswith("walk inner outer main "), plain)

    def walked(*options):
        done = good("trace", "-o", f"{FOLDER}/unwound-{len(options)}-{options[1]}", "-c", path, *options)
        return next(line + "\n" for line in done.out.splitlines() if line.startswith("walk"))

    equal(walked("--function", "inner"), plain)
    equal(walked("--function", "walk"), plain)
    held = walked("--function", "inner", "--exit")
    true(held.startswith("walk inner ") and held.endswith(" end\n"), held)


def test_trace_of_a_line():
    path = compiled("target.c", "-g", "-O0", name="lines")
    with open(SOURCES + "/target.c", encoding="utf-8") as file:
        number = 1 + next(i for i, line in enumerate(file) if "line of the sum" in line)
    trace = FOLDER + "/line"
    good("trace", "-o", trace, "-c", f"{path} {ROUNDS}", "--probe", f"target.c:{number}", "--arg", "sum", "--arg", "text",
         "--context", "procname,reg:rip", "--context", "vtid")
    equal([(f["sum"], f["text"], f["procname"]) for _, f in read(trace)], [("15", "hello", "lines")] * ROUNDS)
    true(all(int(f["rip"], 0) > 4096 and int(f["vtid"]) > 1 for _, f in read(trace)), "contexts")


def test_trace_of_cpp():
    path = compiled("target.cpp", "-g", "-O1", name="cpp")
    trace = FOLDER + "/cpp-trace"
    done = side("trace", "-o", trace, "-c", path, "--function", "net::server::take", "--exit", "--arg", "from.port", "--arg",
                "from.host", "--function", "net::server::read(int)", "--arg", "count", env=ENV)
    equal(done.status, 0, done.err)
    events = read(trace)
    (take,) = of(events, "probe:net_server_take")
    equal((take["from_port"], take["from_host"]), ("8080", "localhost"))
    (back,) = of(events, "probe:net_server_take_return")
    equal(back["return_value"], "8081")


def test_trace_of_what_is_inlined():
    path, trace = compiled("inlined.c", "-g", "-O2"), FOLDER + "/inlined-trace"
    good("trace", "-o", trace, "-c", path, "--function", "piece", "--arg", "number")
    equal([(f["function"], f["number"]) for f in of(read(trace), "probe:piece")],
          [pair for i in range(3) for pair in (("first", str(10 + i)), ("second", str(20 + i)))])
    refused("the compiler has inlined", 1, "trace", "-o", FOLDER + "/none", "-c", path, "--function", "piece", "--exit")


def test_trace_of_rust():
    path, trace = compiled("rusty.c", "-O2"), FOLDER + "/rust-trace"
    good("trace", "-o", trace, "-c", path, "--function", "server::net::handle::<u32>", "--arg", "s32:n:%edi", "--function",
         "<server::Pool as core::ops::drop::Drop>::drop", "--exit", "--function", "server::old::*", "--arg", "s32:n:%edi")
    found = {name: fields for name, fields in read(trace)}
    equal(len(found), 4, found)
    equal(sorted(fields["n"] for fields in found.values() if "n" in fields), ["1", "3"])
    equal([fields["return_value"] for name, fields in found.items() if name.endswith("_return")], ["200008"])
    contains(good("probe", "list", path, "server::net::*").out, "server::net::handle::<u32>")
    listed = [o for o in json_lines(good("probe", "list", "--json", path, "*server*").out) if o["type"] == "probe_site"]
    equal(sorted(o["readable"] for o in listed), ["<server::Pool as core::ops::drop::Drop>::drop",
                                                  "server::net::handle::<u32>", "server::old::handle"])


def test_markers():
    path = compiled("markers.c", "-g", "-O2")
    trace = FOLDER + "/marked"
    good("trace", "-o", trace, "-c", f"{path} {ROUNDS}", "--sdt", "marks:first", "--sdt", "marks:second")
    events = read(trace)
    equal([(f["arg1"], f["arg2"], f["arg3"]) for f in of(events, "marks:first")],
          [r for i in range(ROUNDS) for r in ((str(-i - 1), "200", str(-5 & (1 << 64) - 1)), ("4000000000", "7", "3"))])
    equal([(f["arg1"], f["arg2"], f["arg3"]) for f in of(events, "marks:second")], [("-400", "-200", "-77")] * ROUNDS)
    listed = json_lines(good("probe", "list", "--json", path, "marks:*").out)
    equal(sorted(o["name"] for o in listed if o["type"] == "probe_marker"), ["behind", "first", "first", "second"])


def test_markers_alone():
    """The same as readelf prints from the notes."""
    path = compiled("markers.c", "-g", "-O2")
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout
    wanted = [(provider, name, int(address, 16), int(semaphore, 16), arguments) for provider, name, address, semaphore, arguments in
              re.findall(r"Provider: (.*)\n\s+Name: (.*)\n\s+Location: (\S+), Base: \S+, Semaphore: (\S+)\n\s+Arguments: ?(.*)\n", notes)]
    listed = json_lines(good("probe", "list", "--sdt", "--json", path).out)
    equal([tuple(o[key] for key in ("provider", "name", "address", "semaphore", "arguments")) for o in listed], wanted)
    equal({o["type"] for o in listed}, {"probe_marker"})
    rows = [line.split(None, 5) for line in good("probe", "list", "--sdt", path, "marks:*").out.splitlines()]
    equal(rows[0], ["METHOD", "ADDRESS", "SEMAPHORE", "LISTENERS", "MARKER", "ARGUMENTS"])
    equal([(row[1], row[2], row[3], row[4], (row + [""])[5].split("  (")[0].rstrip()) for row in rows[1:]],
          [(hex(address), hex(semaphore) if semaphore else "-", "-", f"{provider}:{name}", arguments)
           for provider, name, address, semaphore, arguments in wanted if provider == "marks"])
    for args, sentence in (((path, "no*"), "has no marker (SDT) that matches `no*`"), ((compiled("target.c", "-g"),), "has no markers (SDT)"),
                            ((FOLDER + "/none",), "No such file"), (("2147483647",), "there is no process")):
        result = side("probe", "list", "--sdt", *args)
        equal(result.status != 0 and not result.out, True, str(args))
        contains(result.err, sentence)


def listeners(program):
    found = {o["name"]: o for o in json_lines(good("probe", "list", "--sdt", "--json", program.pid, "marks:*").out)}
    return [found[name].get("listeners") for name in ("first", "second", "behind")]


class Semaphores:
    """The semaphores of a program: who listens to its markers, as the program sees it."""

    def __init__(self, program, path):
        self.path = f"/proc/{program.pid}/mem"
        with open(f"/proc/{program.pid}/maps", encoding="utf-8") as maps:
            base = next(int(line.split("-")[0], 16) for line in maps if "/markers" in line)
        symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
        self.places = [base + int(re.search(fr"([0-9a-f]+) \w {name}_semaphore$", symbols, re.M)[1], 16)
                       for name in ("before", "marker", "behind")]

    def read(self):
        with open(self.path, "rb") as memory:
            found = []
            for location in self.places:
                memory.seek(location)
                found.append(int.from_bytes(memory.read(2), "little"))
        return found


def state(pid):
    """Its state letter and its parent; None: it has exited."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            args = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if args[0] in "ZX" else (args[0], int(args[1]))


def children(parent):
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and (state(pid) or (0, 0))[1] == parent]


def test_a_semaphore_counts_listeners():
    path = compiled("markers.c", "-g", "-O2")
    program, session = Program(path), Session()
    semaphores = Semaphores(program, path)
    equal(semaphores.read(), [0, 0, 0])
    good("start", session.name)
    args = ["-u", "-s", session.name, "--pid", program.pid, "--sdt"]
    good("enable-event", "again", *args, "marks:second")
    equal(semaphores.read(), [0, 1, 0], "one listens")
    good("enable-event", "behind", *args, "marks:behind")
    equal(semaphores.read(), [0, 1, 1], "to another one, too")
    equal(listeners(program)[1:], [1, 1], "and the list says so")
    running = json_lines(good("probe", "list", "--sdt", "--json").out)
    equal(any(o["module"] == os.path.realpath(path) and o["name"] == "behind" for o in running), True, "of all that runs")
    good("stop", session.name)
    equal(semaphores.read(), [0, 0, 0], "no reader while it is stopped")
    good("start", session.name)
    equal(semaphores.read(), [0, 1, 1])
    equal(program.go(), "done 1")
    good("disable-event", "behind", "-u", "-s", session.name, "--pid", program.pid)
    equal(semaphores.read(), [0, 1, 0], "as one was taken away")
    equal([f["arg1"] for f in of(session.end(), "probe:again")], ["-400"] * ROUNDS)
    equal(semaphores.read(), [0, 0, 0], "the semaphores afterwards")
    program.end()


def test_a_semaphore_of_two_sessions():
    path = compiled("markers.c", "-g", "-O2")
    program, sessions = Program(path), [Session(), Session()]
    semaphores = Semaphores(program, path)
    for i, session in enumerate(sessions):
        good("start", session.name)
        good("enable-event", "heard", "-u", "-s", session.name, "--pid", program.pid, "--sdt", "marks:second")
        equal(semaphores.read(), [0, i + 1, 0])
    equal(program.go(), "done 2")
    for i, session in enumerate(sessions):
        equal(len(of(session.end(), "probe:heard")), ROUNDS)
        equal(semaphores.read(), [0, 1 - i, 0])
    program.end()


def test_a_semaphore_when_the_tracer_is_killed():
    """The semaphore of a killed tracer stays raised, because the next one continues its recording, and lowers it."""
    path = compiled("markers.c", "-g", "-O2")
    program, session = Program(path), Session()
    semaphores = Semaphores(program, path)
    good("start", session.name)
    good("enable-event", "heard", "-u", "-s", session.name, "--pid", program.pid, "--sdt", "marks:second")
    daemon = json.loads(good("daemon", "--json", "--no-daemon").out.splitlines()[0])["pid"]
    killed = [daemon] + children(daemon)
    true(len(killed) > 1, "it has a recorder")
    for pid in killed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(map(state, killed)))
    equal(semaphores.read(), [0, 1, 0], "as before")
    # The next one adopts the session.
    good("daemon")
    wait_until(lambda: not side("status", session.name, env=ENV).status)
    equal(semaphores.read(), [0, 1, 0], "the next one listens to it once, too")
    equal(program.go(), "done 1")
    equal(len(of(session.end(), "probe:heard")), ROUNDS)
    wait_until(lambda: semaphores.read() == [0, 0, 0])
    program.end()


def text_of(pid, path):
    """The code of the program in memory, and in its file."""
    headers = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    offset, address, size = (int(n, 16) for n in re.search(
        r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ R E", headers).groups())
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        base = next(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(path))
    with open(f"/proc/{pid}/mem", "rb") as memory, open(path, "rb") as file:
        memory.seek(base + address)
        file.seek(offset)
        return memory.read(size), file.read(size)


def test_a_program_that_runs():
    path = compiled("target.c", "-g", "-O2")
    program, session = Program(path), Session()
    args = ["-u", "-s", session.name, "--pid", program.pid]
    good("enable-event", "before", *args, "--function", "target_scalars", "--exit", "--arg", "number")
    good("start", session.name)
    said = good("enable-event", "own:item", *args, "--function", "target_item", "--arg", "item->name", "--filter",
                "1 == 1")
    contains(said.err, "own:item is set in process " + program.pid)
    contains(said.err, "(1 jump)")
    good("enable-event", "gone", *args, "--function", "target_pair")
    good("disable-event", "gone", "-u", "-s", session.name, "--pid", program.pid)
    good("add-context", "-u", "-s", session.name, "-e", "own:item", "--pid", program.pid, "-t", "reg:rsi", "-t", "backtrace",
         "-t", "vtid", "-t", "s32:number:(%rdi)")
    memory, file = text_of(program.pid, path)
    true(memory != file, "the code was changed")
    contains(good("status", session.name).out, "1 by jump")
    equal(program.go(), "done")
    events = session.end()
    equal([f["number"] for f in of(events, "probe:before")], [str(i) for i in range(ROUNDS)])
    equal(len(of(events, "probe:before_return")), ROUNDS)
    items = of(events, "own:item")
    equal([(f["item_name"], f["vtid"], f["number"]) for f in items], [("first", program.pid, "-10")] * ROUNDS)
    true(all(int(f["rsi"], 0) > 4096 for f in items), "registers")
    equal(of(events, "probe:gone"), [])
    memory, file = text_of(program.pid, path)
    true(memory == file, "the code is as it was")
    program.end()


def test_what_is_returned():
    """By members, from registers, memory and through pointers; the contexts of a return are those of its entry."""
    path, trace = compiled("returns.c", "-g", "-O2", "-fomit-frame-pointer"), FOLDER + "/returned"
    kept = ("rbx", "rbp", "r12", "r13", "r14", "r15")
    contexts = [word for name in (*kept, "rsp", "rip") for word in ("--context", f"reg:{name},exit:reg:{name}")]
    good("trace", "-o", trace, "-c", f"{path} {ROUNDS}", "--function", "make_node", "--ret", "return->name", "--ret",
         "return->next->count", "--ret", "s32:own:(%rax)", "--function", "make_pair", "--ret", "return.left", "--ret",
         "return.right", "--function", "make_large", "--ret", "return.numbers[3]", "--context", "backtrace,exit:backtrace",
         *contexts)
    events = read(trace)
    equal([(f["return_name"], f["return_next_count"], f["own"]) for f in of(events, "probe:make_node_return")],
          [("first", "-7", str(i)) for i in range(ROUNDS)])
    equal([(f["return_left"], float(f["return_right"])) for f in of(events, "probe:make_pair_return")],
          [(str(i * 10 ** 12), i + 0.5) for i in range(ROUNDS)])
    equal([f["return_numbers_3"] for f in of(events, "probe:make_large_return")], [str(2 * i) for i in range(ROUNDS)])
    for name in ("make_node", "make_pair", "make_large"):
        entries, exits = of(events, "probe:" + name), of(events, f"probe:{name}_return")
        equal((len(entries), len(exits)), (ROUNDS, ROUNDS), name)
        for before, after in zip(entries, exits):
            equal(after["backtrace"], before["backtrace"], name)
            equal([after[reg] for reg in kept], [before[reg] for reg in kept], name)
            equal(int(after["rsp"], 0), int(before["rsp"], 0) + 8, name)
            contains(after["backtrace"].lower(), after["rip"].lower())
    refused("returns nothing", 1, "trace", "-o", FOLDER + "/none", "-c", path, "--function", "make_nothing", "--ret", "return")
    refused("it no longer exists when", 1, "trace", "-o", FOLDER + "/none", "-c", path, "--function", "make_node", "--ret", "count")
    refused("add `--exit`", 1, "trace", "-o", FOLDER + "/none", "-c", path, "--function", "make_node", "--context",
            "exit:backtrace")


def test_a_stack_at_one_location():
    """The argument `$backtrace` is the context of that name, at its own location only."""
    path, trace = compiled("returns.c", "-g", "-O2", "-fomit-frame-pointer"), FOLDER + "/one-stack"
    good("trace", "-o", trace, "-c", f"{path} {ROUNDS}", "--function", "make_node", "--arg", "$backtrace", "--arg", "count", "--exit",
         "--function", "make_pair", "--arg", "x64:caller:%rsp+0")
    events = read(trace)
    stacks = [f["backtrace"] for f in of(events, "probe:make_node")]
    good("trace", "-o", trace, "--force", "-c", f"{path} {ROUNDS}", "--function", "make_node", "--context", "backtrace,reg:rip")
    equal(len(stacks), ROUNDS)
    equal({len(stack.split(",")) for stack in stacks}, {len(f["backtrace"].split(",")) for f in of(read(trace), "probe:make_node") if "rip" in f})
    equal({"backtrace" in f for name in ("make_node_return", "make_pair") for f in of(events, "probe:" + name)}, {False})
    refused("cannot", 1, "trace", "--global", "-o", FOLDER + "/none", "-c", path, "--function", "make_node", "--arg", "$backtrace")


def test_contexts_of_a_return():
    """Contexts that are added to the event of the return are not those of the entry."""
    program, session = Program(compiled("returns.c", "-g", "-O2", "-fomit-frame-pointer")), Session()
    args = ["-u", "-s", session.name, "--pid", program.pid]
    good("start", session.name)
    good("enable-event", "made", *args, "--function", "make_node", "--ret", "return->count", "--arg", "count")
    good("add-context", "-u", "-s", session.name, "-e", "made_return", "--pid", program.pid, "-t", "backtrace,reg:rax")
    good("add-context", "-u", "-s", session.name, "-e", "made", "--pid", program.pid, "-t", "reg:rdi")
    equal(program.go(), "done")
    events = session.end()
    equal([(f["count"], int(f["rdi"], 0), "rax" in f) for f in of(events, "probe:made")], [(str(i), i, False) for i in range(ROUNDS)])
    returns = of(events, "probe:made_return")
    equal([(f["return_count"], int(f["rax"], 0) > 4096, "backtrace" in f, "rdi" in f) for f in returns],
          [(str(i), True, True, False) for i in range(ROUNDS)])
    program.end()


def test_a_library_of_a_program_that_runs():
    path = compiled("target.c", "-g", "-O0", name="plain-library")
    program, session = Program(path), Session()
    good("start", session.name)
    good("enable-event", "put", "-u", "-s", session.name, "--pid", program.pid, "--function", "libc:puts", "--exit", "--arg",
         "string:text:%rdi", "--arg", "pointer:self:%rdi")
    equal(program.go(), "done")
    events = session.end()
    equal([f["text"] for f in of(events, "probe:put")], ["done"])
    equal([int(f["return_value"]) > 0 for f in of(events, "probe:put_return")], [True])
    program.end()


def test_all_programs_of_a_file():
    path, session = compiled("target.c", "-g", "-O2"), Session()
    good("start", session.name)
    good("enable-event", "pair", "-u", "-s", session.name, "--exe", path, "--function", "target_pair", "--arg", "pair.first")
    program = Program(path)
    good("attach", "-p", program.pid, "-s", session.name)
    equal(program.go(), "done")
    equal([f["pair_first"] for f in of(session.end(), "probe:pair")], [str(i) for i in range(ROUNDS)])
    program.end()


def test_json():
    program, session = Program(compiled("target.c", "-g", "-O2")), Session()
    good("start", session.name)
    done = good("enable-event", "--json", "x", "-u", "-s", session.name, "--pid", program.pid, "--function", "target_item")
    (answer,) = [o for o in json_lines(done.out) if o["type"] == "enable-event"]
    (probe,) = answer["probes"]
    equal((probe["event"], probe["state"], probe["programs"][0]["set"]), (["probe:x"], "set", 1))
    equal(probe["programs"][0]["methods"], {"jump": 1})
    good("destroy", session.name)
    program.end()


def test_vector_registers_are_left_alone():
    path = compiled("vectors.c", "-O1", "-g", "-pthread")
    trace = FOLDER + "/vectors-trace"
    for number, options in enumerate([[], ["--exit"], ["--exit", "--arg", "bytes[24]:stack:%rsp", "--arg", "f64:x:%xmm3",
                                                        "--context", "regs", "--context", "backtrace"]]):
        done = good("trace", "-o", trace + str(number), "-c", path + " 20", "--function", "vectors_called", *options)
        equal(done.out, "whole\n")
        equal(len(of(read(trace + str(number)), "probe:vectors_called")), 63)
    program, session = Program(path, 20), Session()
    good("start", session.name)
    good("enable-event", "v", "-u", "-s", session.name, "--pid", program.pid, "--function", "vectors_called", "--exit")
    equal(program.go(), "whole")
    equal(len(of(session.end(), "probe:v")), 60)
    program.end()


def test_the_first_hit_changes_nothing():
    path = compiled("kitchen.c", "-O1", "-g")
    for options in [], ["--exit", "--arg", "hours"]:
        done = good("trace", "--force", "-o", FOLDER + "/kitchen-trace", "-c", path + " soup 4", "--function", "cook", *options)
        equal(done.out, "5 plates of soup\n")


def test_scripts():
    """The locations of a script are those of its interpreter: after "#!", after env, and the shell without "#!"."""
    location = FOLDER + "/scripts"
    os.makedirs(location, exist_ok=True)
    env = {**ENV, "PATH": location + ":" + ENV.get("PATH", os.environ["PATH"])}
    shell = os.path.realpath("/bin/sh")
    for name, text in (("first", "#! /bin/sh -e\n"), ("second", f"#!{location}/first\n"), ("third", "#!/usr/bin/env second"),
                       ("split", "#!/usr/bin/env -S first -e\n"), ("plain", "exit 3\n"),
                       ("nobody", "#! \n")):
        with open(f"{location}/{name}", "w", encoding="utf-8") as file:
            file.write(text + "\n:\nexit 3\n")
        os.chmod(f"{location}/{name}", 0o755)
        done = side("trace", "--force", "-o", location + "/trace", "-c", f"{name} x", "--function", "libc:_exit", env=env)
        equal(done.status, 3, done.err)
        contains(done.err, f"{name} is a script, which {shell} runs: side searches the locations in the interpreter, not in the programs that the script starts")
        events = [event for event in json_lines(good("view", "--json", location + "/trace").out) if event["type"] == "event"]
        true(events and {event["event"] for event in events} == {"probe:_exit"}, f"{name}: {done.err}")


def test_commands_that_do_not_run():
    """The message names the obstacle: the command, its permissions, or its interpreter."""
    location = FOLDER + "/nobody"
    os.makedirs(location, exist_ok=True)
    env = {**ENV, "PATH": location + ":" + ENV.get("PATH", os.environ["PATH"])}
    for name, text, mode in (("lost", "#!/nowhere/shell\n", 0o755), ("behind", "#!/usr/bin/env no-such-shell\n", 0o755), ("locked", "exit 3\n", 0o644),
                             ("empty", "", 0o755)):
        with open(f"{location}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(f"{location}/{name}", mode)
    for command, status, why in (("nothing", 127, "there is no program `nothing`"), (location + "/nothing", 127, f"there is no program `{location}/nothing`"),
                                 ("lost", 126, "its interpreter `/nowhere/shell`: No such file"), (location + "/lost", 126, "its interpreter `/nowhere/shell`"),
                                 ("behind", 126, "its interpreter `no-such-shell`: No such file"),
                                 ("locked", 126, f"`{location}/locked` cannot be run"), (location + "/locked", 126, f"`{location}/locked` cannot be run"),
                                 (location, 126, f"`{location}` cannot be run: it is a directory"),
                                 ("empty", 0, "is a script, which " + os.path.realpath("/bin/sh") + " runs")):
        done = side("trace", "--force", "-o", location + "-trace", "-c", command, "--function", "libc:_exit", env=env)
        equal((command, done.status), (command, status), done.err)
        contains(done.err, why)
    for command, status, why in (("nothing", 127, "no such command in PATH"), ("lost", 126, "the interpreter that it names does not exist"),
                                 (location + "/nothing", 127, "no such file"), ("locked", 126, "chmod +x")):
        done = side("record", "--force", "-o", location + "-trace", command, env=env)
        equal((command, done.status), (command, status), done.err)
        contains(done.err, why)


def test_nothing_is_offered_that_does_not_help():
    """A program for another processor cannot be traced, a static one can."""
    narrow = FOLDER + "/narrow"
    shutil.copy(compiled("target.c", "-g", "-O2"), narrow)
    with open(narrow, "r+b") as file:
        file.seek(4)
        file.write(b"\1")
    done = side("trace", "-o", FOLDER + "/narrow-trace", "-c", narrow, "--function", "main", env=ENV)
    equal((done.status, done.err), (1, f"side: {narrow} has another word size (32 or 64 bits) than the installed agent\n"))
    static = compiled("target.c", "-O2", "-static", name="target-static")
    done = side("trace", "-o", FOLDER + "/static-trace", "-c", static, "--function", "main", env=ENV)
    equal(done.status, 1)
    contains(done.err, "is statically linked, so the agent cannot be preloaded into it\nhint: use `side trace --global`: the kernel watches")


def test_shell_syntax():
    """A pipe in the command is reported; one in quotes is not."""
    for command, sign in (("echo one | cat", "|"), ("echo one 2>/dev/null", "2>/dev/null"), ("echo one '|' \\| a|b \"> x\"", None)):
        done = side("trace", "--force", "-o", FOLDER + "/shell-trace", "-c", command, "--function", "libc:_exit")
        equal(done.status, 0, done.err)
        equal("no shell reads the command" in done.err, sign is not None, done.err)
        if sign:
            contains(done.err, f"so `{sign}` is an argument of echo")


def refused(why, status, *args):
    done = side(*args, env=ENV)
    equal((args, done.status), (args, status), done.err)
    contains(done.err, why)


def test_names_of_libraries():
    """Each hint names what can be traced: the name of the library, and the functions that only a library has."""
    program = compiled("target.c", "-g", "-O2")
    trace = ["trace", "--force", "-o", FOLDER + "/libraries", "-c", program]
    for word, hint, right in (("libcc:_exit", "did you mean `libc`?", "libc:_exit"), ("_exiit", "did you mean `_exit` or `_Exit`?", "_exit"),
                              ("_exi[t]", "`--function 'libc:_exi[t]'` probes those of the library", "libc:_exi[t]")):
        done = side(*trace, "--function", word, env=ENV)
        equal((word, done.status, done.err.splitlines()[1:]), (word, 1, ["hint: " + hint]), done.err)
        good(*trace, "--function", right)
    refused("has not loaded `nothing_like_it`\nhint: the loaded ones are ", 1, *trace, "--function", "nothing_like_it:main")
    # -f filters all recorded events.
    refused("rows >", 2, *trace, "--function", "main", "-f", "rows >")
    refused("rows >", 2, "record", "-f", "rows >", "-o", FOLDER + "/libraries", "true")


def test_operands():
    """The program and its arguments as operands: the calls are the same as with `-c`, and the program gets its arguments unchanged."""
    program, output = compiled("target.c", "-g", "-O2"), FOLDER + "/operands"
    text = ["a b", "", "it's", "$HOME", "\\", "*"]
    printed = "".join(word + "|" for word in text)
    trace = ["trace", "--force", "-o", output, "--function", "libc:exit"]
    for args in ([*trace, "--", "printf", "%s|", *text], [*trace, "printf", "%s|", *text], ["trace", "printf", "--force", "-o", output, "%s|", "--function",
                                                                                          "libc:exit", *text]):
        done = side(*args, env=ENV)
        equal((done.status, done.out), (0, printed), done.err)
        contains(done.err, "recorded 1 event from 1 process")
    done = side(*trace, "--", "sh", "-c", "exit 7", env=ENV)
    equal(done.status, 7, done.err)
    good("trace", "--force", "-o", output, program, "--function", "main")


def test_refusals():
    program, session = Program(compiled("target.c", "-g", "-O2")), Session()
    args = ["-u", "-s", session.name]
    mine = [*args, "--pid", program.pid]
    refused("did you mean `target_item`?", 1, "enable-event", "x", *mine, "--function", "target_itm")
    refused("missing probe location", 2, "enable-event", "x", *mine)
    refused("missing option: `--pid PID` or `--exe FILE`", 2, "enable-event", "x", *args, "--function", "main")
    refused("there is no process", 1, "enable-event", "x", *args, "--pid", "99999999", "--function", "main")
    refused("as the name of the probe's event", 2, "enable-event", "x*", *mine, "--function", "main")
    refused("only functions have an exit", 1, "enable-event", "x", *mine, "--probe", "main", "--exit")
    refused("one LOCATION", 2, "enable-event", "x", *mine, "--probe", "main", "--function", "main")
    refused("has no such probe", 1, "add-context", *mine, "-e", "none", "-t", "regs")
    refused("missing command to trace", 2, "trace", "--function", "main")
    refused("there is no program `/nowhere`", 127, "trace", "-c", "/nowhere", "--function", "main")
    true(not os.path.exists(FOLDER + "/none"), "nothing is left of what was refused")
    session.end() if os.path.exists(session.trace) else good("destroy", session.name)
    program.end()


run_tests(globals())
