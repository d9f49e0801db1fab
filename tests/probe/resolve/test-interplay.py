#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Several events, sessions, channels and options at one location: each records what a model predicts.

Operations are chosen at random, by a seed: probes are enabled, enabled again with other options, disabled and given
contexts, sessions are stopped and started, and one program works in between, in threads and in a child, with known
arguments. At the end babeltrace2 reads the traces of each session, and the test compares them with the model, value
by value. A difference is printed with the seed and the commands before it. `side trace` with several specs at once is
tested in the same way.

usage: test-interplay.py [TEST...], with SIDE_TEST_SEED=N for that seed, SIDE_TEST_SEEDS=N from it on, and
SIDE_TEST_OPERATIONS=N of each.
"""
import atexit
import collections
import contextlib
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

from harness import *

SOURCES = os.environ["SOURCES"]
FOLDER = tempfile.mkdtemp()
RUNTIME = FOLDER + "/run"
ENV = environment(SIDE_RUNTIME=RUNTIME, LANG="C.UTF-8", SIDE_TIMEOUT_FACTOR="30")
SEED = os.environ.get("SIDE_TEST_SEED")
SEEDS = int(os.environ.get("SIDE_TEST_SEEDS", "1"))
OPERATIONS = int(os.environ.get("SIDE_TEST_OPERATIONS", "0"))
MINUTES = 4 if LONG else 0
CHANNELS = ("ring", "other")
# The same code at an unknown address, at a known one, where a short function gets a breakpoint, and with landing marks
# for indirect branches.
PROGRAMS = {"moving": ("-fpie", "-pie"), "fixed": ("-fno-pie", "-no-pie"), "marked": ("-fpie", "-pie", "-fcf-protection=full")}
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


atexit.register(end_daemon, ENV)


# ---- the program ----

def compiled(name):
    path = f"{FOLDER}/{name}"
    if not os.path.exists(path):
        source, library = SOURCES + "/interplay.c", FOLDER + "/libinterplay.so"
        if not os.path.exists(library):
            subprocess.run(["gcc", "-g", "-O2", "-fPIC", "-shared", "-DLIBRARY", source, "-o", library], check=True)
        subprocess.run(["gcc", "-g", "-O2", "-pthread", *PROGRAMS[name], source, "-o", path, library, "-Wl,-rpath," + FOLDER],
                       check=True)
    return path


# The effects of one call for a value: (function, arguments, result); None if longjmp() leaves it.
def calls_of(value):
    yield "plain", {"value": value, "small": value % 5}, value * 3 + value % 5
    for left in range(4):
        yield "deep", {"value": value, "left": left}, value + left + 1
    yield "leaps", {"value": value}, 2 * (value + 1)
    yield "landed", {"value": value + 1}, 2 * (value + 1)
    yield "tiny", {"value": value}, value
    yield "outer", {"value": value}, value + 5
    yield "middle", {"value": value}, None
    yield "thrower", {"value": value}, None
    yield "in_library", {"value": value}, value + 7


# Specs: the text, its functions, whether returns may be requested, and whether arguments have names there.
LOCATIONS = (
    ("--function", "plain", ("plain",), True, True), ("--function", "deep", ("deep",), True, True),
    ("--function", "leaps", ("leaps",), True, True), ("--function", "landed", ("landed",), True, True),
    ("--function", "tiny", ("tiny",), True, False), ("--function", "outer", ("outer",), True, True),
    ("--function", "middle", ("middle",), True, True), ("--function", "thrower", ("thrower",), False, True),
    ("--function", "in_library", ("in_library",), True, True), ("--function", "libinterplay.so:in_library", ("in_library",), True, True),
    ("--function", "held", ("held",), True, True), ("--function", "l*", ("leaps", "landed"), True, True),
    ("--function", "[lop][elua]*[!n]", ("leaps", "landed", "outer"), True, True),
    ("--function", "[mt]hrower", ("thrower",), False, True),
    ("--probe", "plain", ("plain",), False, True), ("--probe", "tiny", ("tiny",), False, False),
    ("--probe", "deep", ("deep",), False, True), ("--probe", "landed", ("landed",), False, True),
    ("--probe", "ADDRESS:plain", ("plain",), False, True), ("--probe", "ADDRESS:leaps", ("leaps",), False, True),
    ("--probe", "in_library", ("in_library",), False, True))
# Most of them at few locations.
OFTEN = ("plain", "tiny", "landed", "held", "held")


class Request:
    """A requested event: its options, and the values of a recorded call."""

    def __init__(self, chance, addresses, favourite=None):
        likely = [location for location in LOCATIONS if favourite in location[2]]
        kind, location, self.functions, exits, named = chance.choice(likely if likely and chance.random() < 0.7 else LOCATIONS)
        location = addresses[location[8:]] if location.startswith("ADDRESS:") else location
        # If several functions are possible, the event has the name of the function.
        self.several = len(self.functions) > 1
        self.exits = exits and chance.random() < 0.5
        self.words = [kind, location]
        self.arguments, self.results = {}, {}
        if named and chance.random() < 0.5:
            self.words += ["--arg", "value"]
            self.arguments["value"] = "value"
        if chance.random() < 0.4:
            self.words += ["--arg", "s64:raw:%rdi"]
            self.arguments["raw"] = "value"
        if named and self.functions == ("plain",) and chance.random() < 0.3:
            self.words += ["--arg", "small"]
            self.arguments["small"] = "small"
        self.returns = "middle" not in self.functions
        if self.exits:
            self.words.append("--exit")
            if chance.random() < 0.3:
                self.words += ["--ret", "s64:result:%rax"]
                self.results["result"] = "return"
            if self.returns:
                self.results["return_value"] = "return"

    def fields(self, arguments):
        return tuple(sorted((field, arguments[name]) for field, name in self.arguments.items()))

    def result(self, value):
        return tuple(sorted((field, value) for field in self.results))


class Filter:
    """No filter, a comparison of an argument, of a result, or one of both."""

    def __init__(self, chance, round_now):
        self.parts = []
        if chance.random() < 0.35:
            limit = round_now * 8000 + chance.randrange(3)
            self.parts = chance.choice(([("value", limit)], [("return_value", limit * 3)], [("raw", limit + 1), ("return_value", limit)]))
        self.text = " || ".join(f"{field} >= {limit}" for field, limit in self.parts)

    def takes(self, fields):
        fields = dict(fields)
        return not self.parts or any(field in fields and fields[field] >= limit for field, limit in self.parts)


def contexts(chance):
    """Fields and contexts that change the method of a probe, but not the compared values."""
    return chance.choice(([], [], ["reg:rdi"], ["regs"], ["backtrace"], ["reg:rbx", "backtrace"], ["vtid"], ["procname", "reg:rdi"]))


# ---- what was recorded ----

READER = """
import bt2, json, os, re, sys
for top in sys.argv[1:]:
    for folder, _, files in os.walk(top):
        if "metadata" not in files:
            continue
        pid = re.search(r"-(\\d+)-\\d+(-r\\d+)?$", folder)
        for message in bt2.TraceCollectionMessageIterator(folder):
            if isinstance(message, bt2._DiscardedEventsMessageConst):
                print(json.dumps([top, 0, "lost", {"count": message.count or 1}]))
            if not isinstance(message, bt2._EventMessageConst):
                continue
            fields = {}
            for part in message.event.specific_context_field, message.event.payload_field:
                for name in part or ():
                    if isinstance(part[name], bt2._StringFieldConst):
                        fields[name] = str(part[name])
                    elif isinstance(part[name], bt2._IntegerFieldConst):
                        fields[name] = int(part[name])
            print(json.dumps([top, int(pid[1]) if pid else 0, message.event.name, fields]))
"""


def recorded(*traces):
    """{trace: [(process, event, fields)]} as babeltrace2 prints them; for events of the kernel, the process is a field."""
    done = subprocess.run(["/usr/bin/python3", "-c", READER, *traces], capture_output=True, text=True, check=True)
    found = {trace: [] for trace in traces}
    for line in done.stdout.splitlines():
        trace, pid, name, fields = json.loads(line)
        found[trace].append((fields.get("pid", pid), name, fields))
    return found


def function_of(fields):
    return fields["function"].rpartition(":")[2] if "function" in fields else None


KNOWN = ("value", "raw", "small", "result", "return_value")


def key(pid, name, fields):
    return pid, name, function_of(fields), tuple(sorted((k, v) for k, v in fields.items() if k in KNOWN))


# ---- the model ----

class Failure(Exception):
    pass


class Story:
    """The commands until now, and the events that each of them must have recorded."""

    def __init__(self, seed):
        self.seed, self.chance, self.lines = seed, random.Random(seed), []
        self.program = self.process = None
        self.round = 0
        self.expected = collections.defaultdict(collections.Counter)  # by trace

    def start(self, path):
        self.path = path
        self.lines.append(f"{path} &")
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENV)
        equal(self.process.stdout.readline(), "ready\n")
        self.pid = self.process.pid

    def tell(self, line, answer):
        self.lines.append(f"tell the program: {line}")
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline().split()
        if not said or said[0] != answer:
            self.fail(f"the program says {said}, and has ended: {self.process.poll()}")
        return int(said[1]) if len(said) > 1 else 0

    def side(self, *words):
        self.lines.append("side " + shlex.join(words).replace(f"--pid {self.pid}", "--pid $PID"))
        done = side(*words, env=ENV)
        if done.status:
            self.fail(f"status {done.status}: {done.out}{done.err}")
        return done

    def fail(self, what):
        raise Failure(f"{what}\nseed {self.seed}, {self.path}:\n" + "\n".join(self.lines))

    def compare(self, traces):
        """Checks that these traces have the expected events."""
        for trace, events in recorded(*traces).items():
            got = collections.Counter(key(*event) for event in events)
            wanted = +self.expected[trace]
            if got != wanted:
                missing = sorted((wanted - got).items(), key=str)
                more = sorted((got - wanted).items(), key=str)
                self.fail(f"{os.path.basename(trace)}: {sum((wanted - got).values())} missing, such as {missing[:6]}; "
                          f"{sum((got - wanted).values())} too many, such as {more[:6]}")
            self.check_calls(events)

    def check_calls(self, events):
        """If both the entry and the return of a call are recorded, they have one number; and registers equal arguments."""
        begun = collections.defaultdict(dict)
        for pid, name, fields in events:
            if "rdi" in fields and "value" in fields and not name.endswith("_return") and fields["rdi"] != fields["value"]:
                self.fail(f"{name}: rdi is not the argument: {fields}")
            if fields.get("call") and "value" in fields:
                begun[pid, fields["call"]][fields["value"]] = name
        for (pid, call), values in begun.items():
            if len(values) > 1:
                self.fail(f"process {pid}, call {call} has several arguments: {values}")
        results = {}
        for pid, name, fields in events:
            if "duration" not in fields:
                continue
            if not fields["call"]:
                self.fail(f"{name} without a call: {fields}")
            for value in begun.get((pid, fields["call"]), ()):
                result = fields.get("return_value", fields.get("result"))
                calls = [*calls_of(value), *calls_of(value - 1), ("held", {"value": value}, value + 9)]
                known = [r for _, arguments, r in calls if arguments["value"] == value]
                if result is not None and result not in known:
                    self.fail(f"{name} of {value} in process {pid} returns {result}: {fields}")
                if results.setdefault((pid, fields["call"]), result) != result:
                    self.fail(f"call {fields['call']} of process {pid} has several results")

    def end(self):
        if self.process:
            self.process.stdin.close()
            try:
                status = self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise
            self.process.stdout.close()
            self.process = None
            if status:
                self.fail(f"the program ends with {status}")

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def addresses_of(path):
    """The addresses of functions in the file."""
    listed = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    return {words[2]: "0x" + words[0].lstrip("0") for words in map(str.split, listed.splitlines()) if len(words) == 3}


def count(wanted, wish, condition, name, pid, call, returns):
    """Adds one call to the expected events, its entry or its return."""
    function, arguments, result = call
    if function not in wish.functions:
        return
    fields = wish.result(result) if returns else wish.fields(arguments)
    if returns and (not wish.exits or result is None):
        return
    if condition.takes(fields):
        wanted[pid, name + ("_return" if returns else ""), function if wish.several else None, fields] += 1


class Sessions(Story):
    """One program, and sessions of the daemon."""

    numbers = 0

    def __init__(self, seed):
        super().__init__(seed)
        self.start(compiled(self.chance.choice(sorted(PROGRAMS))))
        self.addresses = addresses_of(self.path)
        self.favourite = self.chance.choice(OFTEN)
        self.sessions = {}
        self.holding = 0
        self.enabled = {}  # (session, channel, name): (wish, filter)
        self.held = []     # values of open calls that an event has watched since they began
        for _ in range(self.chance.randint(1, 3)):
            Sessions.numbers += 1
            name = f"s{Sessions.numbers}"
            self.sessions[name] = False
            self.side("create", name, "-o", self.trace(name))
            for channel in CHANNELS:
                self.side("enable-channel", channel, "-u", "-s", name)
            if self.chance.random() < 0.7:
                self.switch(name)

    def trace(self, session):
        return f"{FOLDER}/trace-{session}"

    def switch(self, session):
        self.side("stop" if self.sessions[session] else "start", session)
        self.sessions[session] = not self.sessions[session]

    # ---- operations ----

    def enable(self):
        session, channel = self.chance.choice(sorted(self.sessions)), self.chance.choice((CHANNELS[0], *CHANNELS))
        name = self.chance.choice("abcd")
        wish, condition = Request(self.chance, self.addresses, self.favourite), Filter(self.chance, self.round)
        words = ["enable-event", name, "-u", "-s", session, "--pid", str(self.pid), *wish.words]
        if channel != CHANNELS[0]:
            words += ["--channel", channel]
        for context in contexts(self.chance):
            words += ["--context", context]
        if condition.text:
            words += ["--filter", condition.text]
        if self.chance.random() < 0.15:
            words.append("--no-uprobe")
        # "A probe of the same name in the same program takes the place of the former one" (docs/reference/probes.md).
        for before in CHANNELS:
            self.enabled.pop((session, before, name), None)
        self.side(*words)
        self.enabled[session, channel, name] = wish, condition

    def some(self):
        return self.chance.choice(sorted(self.enabled)) if self.enabled else None

    def disable(self):
        which = self.some()
        if which:
            session, channel, name = which
            self.side("disable-event", name, "-u", "-s", session, "--channel", channel, "--pid", str(self.pid))
            del self.enabled[which]

    def add_context(self):
        which, more = self.some(), contexts(self.chance)
        if which and more:
            session, channel, name = which
            words = [word for context in more for word in ("-t", context)]
            self.side("add-context", "-u", "-s", session, "--channel", channel, "-e", name, "--pid", str(self.pid), *words)

    def stop_or_start(self):
        self.switch(self.chance.choice(sorted(self.sessions)))

    def hold(self):
        if self.holding < 4:
            self.round += 1
            self.tell(f"hold {self.round}", "holding")
            value = self.round * 8000
            self.see(("held", {"value": value}, value + 9), self.pid, (False,))
            self.held.append(value)
            self.holding += 1

    def watch_held(self):
        """"The return of a call that was under way when an event came is recorded for that one, too, if some other one
        has watched for it since the call began" (docs/reference/probes.md).
        """
        def watches(wish, condition):
            fields = wish.result(0)
            return wish.exits and "held" in wish.functions and (
                not condition.parts or any(field in dict(fields) for field, _ in condition.parts))
        if not any(watches(*what) for which, what in self.enabled.items() if self.sessions[which[0]]):
            self.held = []

    # ---- what the program does ----

    def see(self, call, pid, ends=(False, True)):
        for (session, _, name), (wish, condition) in self.enabled.items():
            if self.sessions[session]:
                for returns in ends:
                    count(self.expected[self.trace(session)], wish, condition, "probe:" + name, pid, call, returns)

    def let_go(self):
        self.tell("free", "freed")
        for value in self.held:
            self.see(("held", {"value": value}, value + 9), self.pid, (True,))
        self.held, self.holding = [], 0

    def work(self):
        self.round += 1
        calls, threads = self.chance.randint(1, 4), self.chance.choice((1, 1, 3))
        if self.chance.random() < 0.3:
            pid = self.tell(f"child {self.round} {calls}", "child")
            threads = 1
        else:
            pid = self.pid
            self.tell(f"work {self.round} {calls} {threads}", "worked")
        for thread in range(threads):
            for value in range((self.round * 8 + thread) * 1000, (self.round * 8 + thread) * 1000 + calls):
                for call in calls_of(value):
                    self.see(call, pid)

    def play(self, operations):
        weighted = ([self.enable] * 8 + [self.disable] * 3 + [self.add_context] * 2 + [self.stop_or_start] * 2 +
                    [self.hold] * (5 if self.favourite == "held" else 1))
        for _ in range(operations):
            self.chance.choice(weighted)()
            self.watch_held()
            if self.chance.random() < 0.5:
                self.work()
            if self.holding and self.chance.random() < 0.25:
                self.let_go()
        if self.holding:
            self.let_go()
        self.work()
        for session in self.sessions:
            self.side("destroy", session)
        self.compare([self.trace(session) for session in self.sessions])
        self.end()
        for session in self.sessions:
            shutil.rmtree(self.trace(session), ignore_errors=True)

    def finish(self):
        self.kill()
        for session in self.sessions:
            side("destroy", session, env=ENV)


class Trace(Story):
    """`side trace`: several specs at once, of a program that is started, or of a running one."""

    def __init__(self, seed):
        super().__init__(seed)
        self.path, self.pid = compiled(self.chance.choice(sorted(PROGRAMS))), 0
        addresses = addresses_of(self.path)
        favourite = self.chance.choice(OFTEN)
        self.wishes = [Request(self.chance, addresses, favourite) for _ in range(self.chance.randint(1, 6))]
        self.filter = Filter(self.chance, 1)
        self.trace = FOLDER + "/traced"
        self.words = [word for wish in self.wishes for word in wish.words]
        for context in contexts(self.chance):
            self.words += ["--context", context]
        if self.filter.text:
            self.words += ["--filter", self.filter.text]
        if self.chance.random() < 0.2:
            self.words.append("--no-uprobe")

    def do(self):
        """[(process, value)] of all calls that the program makes on request, or of these."""
        calls = self.chance.randint(1, 4)
        requests = [f"work 1 {calls} 3", f"child 2 {calls}", f"work 3 {calls} 1"]
        bases = [(0, 8000), (0, 9000), (0, 10000), (1, 16000), (0, 24000)]
        return requests, [(which, base + i) for which, base in bases for i in range(calls)]

    def attach(self, requests):
        self.start(self.path)
        words = ["trace", "-p", str(self.pid), "-o", self.trace, *self.words]
        self.lines.append("side " + shlex.join(words) + " &")
        log = FOLDER + "/traced.log"
        with open(log, "w", encoding="utf-8") as file, subprocess.Popen([SIDE, *words], env=ENV, stderr=file) as tracer:
            try:
                deadline = time.monotonic() + 60
                while self.answers(log) < len(self.wishes):
                    if tracer.poll() is not None or time.monotonic() > deadline:
                        self.fail(f"status {tracer.poll()}: {self.said(log)}")
                    time.sleep(0.01)
                child = [self.tell(request, request.split()[0] + ("ed" if "work" in request else "")) for request in requests][1]
                pid = self.pid
                self.end()
                tracer.wait(timeout=60)
            finally:
                if tracer.poll() is None:
                    tracer.kill()
        if tracer.returncode:
            self.fail(f"status {tracer.returncode}: {self.said(log)}")
        return pid, child

    def said(self, log):
        with open(log, encoding="utf-8") as file:
            return file.read()

    def answers(self, log):
        """How many of the specs are set, or are left to the kernel as a whole, which is set before."""
        return len(re.findall(r"^side: .* (?:is set in process|are watched)", self.said(log), re.M))

    def play(self):
        requests, values = self.do()
        if self.chance.random() < 0.5:
            pid, child = self.attach(requests)
        else:
            done = self.side("trace", "-o", self.trace, "-c", shlex.join([self.path, *requests]), *self.words)
            child = int(re.search(r"^child (\d+)$", done.out, re.M)[1])
            pid = None
        events = recorded(self.trace)[self.trace]
        if pid is None:
            pids = {event[0] for event in events} - {child}
            pid = pids.pop() if len(pids) == 1 else 0
        wanted = collections.Counter()
        for which, value in values:
            for call in calls_of(value):
                for wish in self.wishes:
                    for returns in (False, True):
                        count(wanted, wish, self.filter, "probe:", child if which else pid, call, returns)
        self.expected[self.trace] = wanted
        self.compare_all(events)
        shutil.rmtree(self.trace)

    def compare_all(self, events):
        """Compares without names: one location may have several events with a name."""
        got = collections.Counter(key(p, "probe:" + ("_return" if "duration" in f else ""), f) for p, _, f in events)
        wanted = self.expected[self.trace]
        if got != wanted:
            missing, more = sorted((wanted - got).items(), key=str), sorted((got - wanted).items(), key=str)
            self.fail(f"{sum((wanted - got).values())} missing, such as {missing[:6]}; "
                      f"{sum((got - wanted).values())} too many, such as {more[:6]}")
        self.check_calls(events)

    def finish(self):
        self.kill()
        shutil.rmtree(self.trace, ignore_errors=True)


# ---- tests ----

def play(make, first, rounds, seconds, *arguments):
    """Runs all seeds from the first one on; each failure is printed and fails the test."""
    begun, failures, seed = time.monotonic(), [], first
    if SEED:
        first, rounds, seconds = int(SEED), SEEDS, 0
        seed = first
    while seed < first + rounds or time.monotonic() - begun < seconds:
        story = None
        try:
            story = make(seed)
            story.play(*arguments)
        except Failure as failure:
            failures.append(str(failure))
            print(f"--- {failure}\n", flush=True)
        finally:
            if story:
                story.finish()
        seed += 1
    print(f"{make.__name__}: {seed - first} seeds, from {first} on, in {time.monotonic() - begun:.0f} s", flush=True)
    equal(len(failures), 0, "seeds that failed")


def test_sessions():
    play(Sessions, 1, 4, 60 * MINUTES, OPERATIONS or 14)


def test_trace():
    play(Trace, 1, 8, 60 * MINUTES)


run_tests(globals())
