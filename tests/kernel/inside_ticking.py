# SPDX-License-Identifier: MIT
"""All listeners at one event, coming and going at random while threads fire it: a recorder's session,
the console tracer, ftrace, perf, a recording of the kernel events (both methods), a probe of the
kernel at the event's marker (all methods), and gdb.

Each thread of the program numbers its events. A listener must get, of each thread, a sequence of
numbers without a gap. It begins not before the events that had returned when the listener started,
and not after the first one that began when the listener was ready; the same holds for its end.
Every other value of each record follows from thread and number. At the end no listener is left: the
event is not enabled, and the kernel has nothing of side.

usage: inside_ticking.py   with TICKING, SIDE, GDB_SCRIPT, CONSOLE, LIB_DIRS in the environment;
TICKING_SEED: the seed of another run. SIDE_TEST_LONG=1 makes it last TICKING_SECONDS, or 400.
"""
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import bt2

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import wait_until
import ftrace
import plain
from remaining_output import remaining_output
from runtime_directory import prepare_runtime

PROGRAM, SIDE, CONSOLE = os.environ["TICKING"], os.environ["SIDE"], os.environ["CONSOLE"]
LONG = os.environ.get("SIDE_TEST_LONG") == "1"
THREADS, PAUSE = 3, 5000
TIMEOUT = 120
LONG_SECONDS = int(os.environ.get("TICKING_SECONDS", "400"))
TRACEPOINT = "user_events/ticking_tick"


def expected_fields(thread, number):
    """Returns the fields of an event, which follow from its two numbers."""
    return (thread, number, number * 0x9E3779B97F4A7C15 % (1 << 64), number % 251 - 125, f"{thread}/{number}/" + "x" * (number % 40))


def run(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    if done.returncode:
        raise AssertionError(f"{' '.join(words)}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def change(*words):
    """Changes a session. False: gdb has stopped the program, so the change takes effect when the program runs again."""
    done = subprocess.run((SIDE,) + words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    if done.returncode and not (done.returncode == 5 and "being debugged by" in done.stderr):
        raise AssertionError(f"{' '.join(words)}: {done.returncode}: {done.stdout}{done.stderr}")
    return not done.returncode


class Program:
    def __init__(self, place):
        self.lock = threading.Lock()
        self.console = os.path.join(place, "console")
        with open(self.console, "wb") as console:
            self.process = subprocess.Popen([PROGRAM, str(THREADS), str(PAUSE)], stdin=subprocess.PIPE, stdout=console,
                                            stderr=subprocess.PIPE, text=True, env=dict(os.environ, SIDE_USER_EVENTS="ticking"))

    def ask(self, line):
        with self.lock:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            return self.process.stderr.readline().rstrip("\n")

    def counts(self):
        """Returns (begun, done) of each thread, now."""
        return [tuple(int(number) for number in word.split(":")) for word in self.ask("?").split()[:-1]]

    def enabled(self):
        return self.ask("?").split()[-1] == "1"

    def end(self):
        self.process.stdin.close()
        return self.process.wait(TIMEOUT)


def ended(process):
    """Sends Ctrl-C, and waits for the end."""
    process.send_signal(signal.SIGINT)
    printed, status = remaining_output(process, process.stderr, TIMEOUT)
    if status:
        raise AssertionError(f"{process.args}: {status}: {printed}")


def wait_for_line(process, text):
    lines = []
    for line in process.stderr:
        if text in line:
            return
        lines.append(line)
    raise AssertionError(f"{process.args} has ended with {process.wait()} before it printed {text!r}: {''.join(lines)}")


def messages(directory):
    """Returns the messages of all traces in the directory. There is none if nothing was fired, for
    example while gdb has stopped the program.
    """
    if any("metadata" in files for _, _, files in os.walk(directory)):
        yield from bt2.TraceCollectionMessageIterator(directory)


def recorded(directory, name):
    """Returns the events of a trace, read by Babeltrace 2."""
    for message in messages(directory):
        if type(message) is bt2._EventMessageConst and message.event.name == name:
            fields = message.event.payload_field
            # A probe at the marker is an event of the same name in the trace.
            if "arg1" in fields:
                continue
            yield tuple(int(fields[key]) for key in ("thread", "number", "value", "small")) + (str(fields["text"]),)


class Listener:
    """Starts with begin(), ends with end(); found() returns its events since."""
    rounds = 1  # at least, in an emulated machine; elsewhere several times this number
    needs_user_events = False
    texts = True  # False: the text is recorded as its address

    def __init__(self, program, place, chance):
        self.program, self.place, self.chance = program, place, chance
        self.number = 0

    def begin(self):
        self.number += 1
        self.output = os.path.join(self.place, f"{type(self).__name__}-{self.number}")
        self.come()


class Session(Listener):
    """A recorder in the program, started by the daemon."""
    rounds = 2

    def come(self):
        self.name = f"ticking-{self.number}"
        run(SIDE, "create", self.name, "-o", self.output)
        enable = ("enable-event", "-s", self.name, "-u")
        change(*enable, "ticking:tick")
        there, more = change("start", self.name), 0
        while not there:
            # If the next change is one, wait for it, too.
            more += 1
            there = change(*enable, f"ticking:nothing{more}")

    def end(self):
        change("stop", self.name)
        change("destroy", self.name)

    def found(self):
        return recorded(self.output, "ticking:tick")


class Console(Listener):
    """The console tracer, as a library that is loaded and unloaded."""
    rounds = 3

    def come(self):
        self.at = os.path.getsize(self.program.console)
        assert self.program.ask("load " + CONSOLE) == "loaded"

    def end(self):
        assert self.program.ask("unload") == "unloaded"

    def found(self):
        with open(self.program.console, encoding="utf-8") as file:
            file.seek(self.at)
            for line in file:
                if line.startswith("provider: ticking, event: tick, fields: "):
                    values = re.findall(r"(\w+): \{ value: (\"[^\"]*\"|-?\d+) \}", line)
                    yield tuple(int(value) for _, value in values[:4]) + (values[4][1].strip('"'),)


class Ftrace(Listener):
    """An instance of ftrace, whose raw buffers are read."""
    rounds, needs_user_events = 3, True

    def come(self):
        self.instance = f"instances/ticking-{self.number}"
        os.mkdir(ftrace.path(self.instance))
        ftrace.write("4096", self.instance, "buffer_size_kb")
        ftrace.write("1", self.instance, "events", TRACEPOINT, "enable")

    def end(self):
        ftrace.write("0", self.instance, "events", TRACEPOINT, "enable")

    def found(self):
        number, fields = ftrace.parse_format(ftrace.read("events", TRACEPOINT, "format"))
        for page in ftrace.raw_pages(100000, self.instance):
            for event, _, payload in ftrace.records(page):
                assert event == number, (event, number)
                values = dict(plain.decode(fields, payload))
                yield tuple(values[key] for key in ("thread", "number", "value", "small")) + (values["text"].decode(),)
        os.rmdir(ftrace.path(self.instance))


class Perf(Listener):
    """Debian's perf."""
    rounds, needs_user_events = 1, True

    def come(self):
        ready = self.output + ".ready"
        self.process = subprocess.Popen(["perf", "record", "-q", "-a", "-e", TRACEPOINT.replace("/", ":"), "-o", self.output, "--",
                                         "sh", "-c", f"echo >&2; touch {ready}; cat"], stdin=subprocess.PIPE,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

        def is_ready():
            assert self.process.poll() is None, self.process.stderr.read()
            return os.path.exists(ready)

        wait_until(is_ready, "perf is ready", TIMEOUT)

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(TIMEOUT) == 0, self.process.stderr.read()

    def found(self):
        rows = {}  # of each CPU: the text before the values, and the values
        for line in run("perf", "script", "--ns", "-i", self.output, "-F", "tid,cpu,time,trace").splitlines():
            values = re.findall(r"(\w+)=(\S+)", line)
            if values:
                numbers = {key: int(value, 0) for key, value in values if key != "text" and "(" not in value}
                small = numbers["small"] - (256 if numbers["small"] > 127 else 0)
                rows.setdefault(re.search(r"\[\d+\]", line)[0], []).append(
                    (line.partition(": ")[0], (numbers["thread"], numbers["number"], numbers["value"] % (1 << 64), small,
                                               dict(values)["text"])))
        for cpu, records in rows.items():
            yield from self.once(cpu, records)

    def once(self, cpu, records):
        """Returns the records without duplicates. `perf record` reads the head of a CPU's ring once to
        know how far to write, and again to know where to continue; records in between are written
        twice, also without side (perf-twice.py). Such records are a span of this ring, each of them
        twice, with the same time to the nanosecond; a second call, or a second record of one call,
        would have its own time.
        """
        seen = [record for record, _ in itertools.groupby(records)]
        often = [len(list(same)) for _, same in itertools.groupby(records)]
        if max(often) > 2:
            raise AssertionError(f"{cpu} has a record {max(often)} times: {records}")
        spans = sum(1 for times, _ in itertools.groupby(often) if times == 2)
        if spans:
            print(f"perf {self.number} has written {spans} span{'s' * (spans > 1)} of the ring of CPU {cpu} twice: "
                  f"{len(records) - len(seen)} of {len(records)} records")
        return [values for _, values in seen]


class Kernel(Listener):
    """`side record -k` of the whole machine."""
    rounds, needs_user_events = 2, True

    def come(self):
        way = self.chance.choice(("perf", "tracefs"))
        self.process = subprocess.Popen([SIDE, "record", "-k", TRACEPOINT.replace("/", ":"), "--kernel-way", way, "-o", self.output],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_for_line(self.process, "Ctrl-C stops it")

    def end(self):
        ended(self.process)

    def found(self):
        return recorded(self.output, TRACEPOINT.replace("/", ":"))


class Marker(Listener):
    """A probe of the kernel at the event's marker."""
    rounds, texts = 1, False

    def come(self):
        way = self.chance.choice(("uprobe_multi", "perf_event", "tracefs"))
        self.process = subprocess.Popen([SIDE, "trace", "--global", "--by", way, "--exe", PROGRAM, "--sdt", "ticking:tick", "-o",
                                         self.output], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        text=True)
        wait_for_line(self.process, "1 location is watched by " + way)

    def end(self):
        ended(self.process)

    def found(self):
        for message in messages(self.output):
            if type(message) is bt2._EventMessageConst and message.event.name == "ticking:tick":
                yield tuple(int(message.event.payload_field[f"arg{i}"]) for i in range(1, 5))


class Debugger(Listener):
    """gdb, with a breakpoint at one event of a thread, which is the only one that it sees."""
    rounds = 1

    def come(self):
        self.thread = self.chance.randrange(THREADS)
        # Some events that are fired until gdb is ready, which takes long.
        self.least = self.program.counts()[self.thread][0]
        commands = [f"source {os.environ['GDB_SCRIPT']}", f"side break ticking:tick if thread == {self.thread} && number >= {self.least}",
                    "echo @@continues\\n", "continue", "side print", "side delete", "detach"]
        words = ["gdb", "-nx", "-q", "-batch", "-ex", "set debuginfod enabled off", "-p", str(self.program.process.pid)]
        for command in commands:
            words += ["-ex", command]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.output = ""
        for line in self.process.stdout:
            self.output += line
            if "@@continues" in line:
                return
        raise AssertionError(f"gdb does not get there: {self.output}")

    def end(self):
        printed, status = remaining_output(self.process, self.process.stdout, TIMEOUT)
        self.output += printed
        if status:
            raise AssertionError(f"gdb has ended with {status}: {self.output}")

    def found(self):
        values = dict(re.findall(r"^  (\w+) = (.*)$", self.output, re.M))
        if len(values) != 5:
            raise AssertionError(f"gdb has not printed the values: {self.output}")
        yield tuple(int(values[key]) for key in ("thread", "number", "value", "small")) + (values["text"].strip('"'),)


LISTENERS = (Session, Console, Ftrace, Perf, Kernel, Marker, Debugger)


class Storm:
    def __init__(self, place, seed, times):
        self.place, self.seed, self.times = place, seed, times
        self.program = Program(place)
        self.lock = threading.Lock()
        self.listening, self.together, self.wrong = set(), {}, []
        self.windows, self.records = {}, {}
        self.short_of, self.everybody = set(), None

    def note(self, name, on):
        with self.lock:
            (self.listening.add if on else self.listening.discard)(name)
            together = frozenset(self.listening)
            self.together[together] = self.together.get(together, 0) + 1

    def check(self, listener, found, counts):
        """@counts: before it started, when it was ready, before it ended, when it had ended."""
        rows = {}
        for record in found:
            wanted = expected_fields(*record[:2])
            if record != (wanted if listener.texts else wanted[:4]):
                raise AssertionError(f"{record} instead of {wanted}")
            rows.setdefault(record[0], []).append(record[1])
        if isinstance(listener, Debugger):
            ((thread, (number,)),) = rows.items()
            before, after = counts[0][thread][1], counts[3][thread][0]
            if thread != listener.thread or not max(before, listener.least) <= number < after:
                raise AssertionError(f"it stopped at {number} of {thread}: not from {listener.least} on, until {after}")
            return 1
        for thread in range(THREADS):
            numbers = sorted(rows.get(thread, []))
            (_, over), (begun, _), (_, last), (end, _) = (count[thread] for count in counts)
            if not numbers and last <= begun:
                continue
            if not numbers or not over <= numbers[0] <= begun or not last <= numbers[-1] + 1 <= end:
                raise AssertionError(f"thread {thread}: {numbers[:1]} to {numbers[-1:]}; it came between {over} and {begun}, and "
                                     f"went between {last} and {end}")
            if numbers != list(range(numbers[0], numbers[-1] + 1)):
                missing = sorted(set(range(numbers[0], numbers[-1] + 1)) - set(numbers))
                raise AssertionError(f"thread {thread}: {len(missing)} missing, such as {missing[:5]}, "
                                     f"{len(numbers) - len(set(numbers))} twice, of {len(numbers)}")
        return sum(len(numbers) for numbers in rows.values())

    def window(self, listener, chance):
        name = type(listener).__name__
        counts = [self.program.counts()]
        listener.begin()
        self.note(name, True)
        counts.append(self.program.counts())
        # First, all listeners at the same time; later, at random.
        if listener.number == 1:
            self.everybody.wait(3 * TIMEOUT)
        time.sleep(chance.uniform(0.05, 1.0))
        counts.append(self.program.counts())
        self.note(name, False)
        listener.end()
        counts.append(self.program.counts())
        records = self.check(listener, list(listener.found()), counts)
        with self.lock:
            self.windows[name] = self.windows.get(name, 0) + 1
            self.records[name] = self.records.get(name, 0) + records

    def listen(self, kind, until):
        chance = random.Random(f"{self.seed} {kind.__name__}")
        listener = kind(self.program, self.place, chance)
        try:
            while (time.monotonic() < until or self.short_of) and not self.wrong:
                time.sleep(chance.uniform(0, 0.5))
                self.window(listener, chance)
                if listener.number >= kind.rounds * self.times:
                    self.short_of.discard(kind)
                if os.path.isdir(listener.output):
                    shutil.rmtree(listener.output)
        except Exception:  # pylint: disable=broad-except
            self.everybody.abort()
            self.wrong.append(f"{kind.__name__} {listener.number}: {traceback.format_exc()}")

    def all(self, kinds):
        until = time.monotonic() + (LONG_SECONDS if LONG else 0)
        # A listener that has had enough rounds goes on while others need more.
        self.short_of = set(kinds)
        self.everybody = threading.Barrier(len(kinds))
        threads = [threading.Thread(target=self.listen, args=(kind, until)) for kind in kinds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def nothing_left(program):
    """Checks that all listeners have left nothing."""
    left = ["the event is enabled"] if program.enabled() else []
    if os.path.exists(ftrace.path("user_events_status")):
        left += [line for line in ftrace.read("user_events_status").splitlines() if "ticking_tick" in line and "Used" in line]
    if os.path.exists(ftrace.path("uprobe_events")):
        left += [line for line in ftrace.read("uprobe_events").splitlines() if PROGRAM in line]
        left += [name for name in os.listdir(ftrace.path("instances")) if name.startswith(("side-", "ticking-"))]
    return left


def end_daemon(place):
    run(SIDE, "destroy", "-a")
    try:
        with open(os.path.join(place, "runtime/sided.pid"), encoding="ascii") as file:
            os.kill(int(file.read()), signal.SIGTERM)
    except (OSError, ValueError):
        pass


def not_permitted(kind, place):
    """Returns why this machine or the user's rights do not permit a listener, or None."""
    if kind is Marker:
        done = subprocess.run([SIDE, "trace", "--global", "--exe", PROGRAM, "--sdt", "ticking:tick", "-o", os.path.join(place, "try"),
                               "-c", "true"], capture_output=True, text=True, check=False, timeout=TIMEOUT)
        return done.stderr.strip() if done.returncode else None
    if kind is Debugger:
        with subprocess.Popen(["sleep", "1000"]) as other:
            done = subprocess.run(["gdb", "-nx", "-q", "-batch", "-ex", "set debuginfod enabled off", "-p", str(other.pid), "-ex",
                                   "detach"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=TIMEOUT)
            other.kill()
        return "gdb may not attach here" if "not permitted" in done.stderr else None
    return None


def main():
    seed = os.environ.get("TICKING_SEED") or str(random.SystemRandom().randrange(1 << 30))
    user_events = os.path.exists(ftrace.path("user_events_data"))
    kinds = [kind for kind in LISTENERS if user_events or not kind.needs_user_events]
    if not shutil.which("perf"):
        kinds = [kind for kind in kinds if kind is not Perf]
    # An emulated machine needs half a minute for it: inside_together.py tests it there.
    if not shutil.which("gdb") or (user_events and not LONG):
        kinds = [kind for kind in kinds if kind is not Debugger]
    with tempfile.TemporaryDirectory(prefix="side-ticking-") as place:
        prepare_runtime(place)
        for kind, why in [(kind, not_permitted(kind, place)) for kind in kinds]:
            if why:
                print(f"without {kind.__name__}: {why}")
                kinds.remove(kind)
        print(f"TICKING_SEED={seed}; {', '.join(kind.__name__ for kind in kinds)}", flush=True)
        # Programs that start before a daemon do not belong to it.
        run(SIDE, "create", "first", "-o", os.path.join(place, "first"))
        storm = Storm(place, seed, 1 if user_events else 3)
        storm.all(kinds)
        left = nothing_left(storm.program)
        status = storm.program.end()
        end_daemon(place)
    for name in sorted(storm.windows):
        print(f"{name}: came {storm.windows[name]} times, {storm.records[name]} events right")
    most = max(storm.together, key=len)
    print(f"up to {len(most)} at once ({', '.join(sorted(most))}), {len(storm.together)} of the sets that there can be")
    for text in storm.wrong:
        print(text)
    for text in left:
        print(f"left behind: {text}")
    if status:
        print(f"the program ended with {status}")
    return 1 if storm.wrong or left or status or len(most) < len(kinds) else 0


if __name__ == "__main__":
    sys.exit(main())
