#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Global probes: the kernel sees all calls of a program, whichever user starts it and when; nothing remains afterwards,
and side's probes in a process and the kernel's do not destroy each other.

usage: test-global.py [TEST...]; in the machine of SIDE_KERNEL if this one does not permit it
"""
import atexit
import contextlib
import json
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../kernel"), os.path.join(HERE, "../../cmd")]
import guide
import machine

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
from waiting import stop_process, wait_until

SIDE = os.environ["SIDE"]
PROGRAM = os.environ["GLOBAL_PROGRAM"]
BACKENDS = ("uprobe_multi", "perf_event", "tracefs")
TIMEOUT = 120
INSIDE = bool(os.environ.get("GLOBAL_INSIDE"))
NOBODY = 65534

# Reads tracefs from outside; it may not be mounted.
LOOK = "[ -e /sys/kernel/tracing/uprobe_events ] || mount -t tracefs none /sys/kernel/tracing; cd /sys/kernel/tracing; "


def shell(script, **options):
    return subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", LOOK + script], text=True,
                          capture_output=True, timeout=TIMEOUT, check=True, **options).stdout


def ended(pid):
    """Returns whether a process has released everything."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def watcher(pid):
    """The child process that sets the kernel's probes."""
    for number in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{number}/stat", encoding="ascii", errors="replace") as file:
            if int(file.read().rpartition(")")[2].split()[1]) == pid:
                return int(number)
    raise AssertionError("no process watches")


def permitted():
    """Why this kernel sets no probes for this user, or None."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([SIDE, "trace", "--global", "-o", folder + "/t", "-c", PROGRAM, "--function", "cook"],
                              capture_output=True, text=True, timeout=TIMEOUT, check=False)
    return None if not done.returncode else done.stderr


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="side-global-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)
        # A separate file: probes belong to the file, and other processes may execute the original.
        self.program = self.folder + "/kitchen"
        shutil.copy(PROGRAM, self.program)
        self.traces = 0

    def start(self, *arguments, **options):
        return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                **options)

    def side(self, *arguments, status=0, **options):
        done = subprocess.run([SIDE, *arguments], capture_output=True, text=True, timeout=TIMEOUT, check=False, **options)
        if status is not None:
            self.assertEqual(done.returncode, status, f"{arguments}: {done.stdout}{done.stderr}")
        return done

    def output(self):
        self.traces += 1
        return f"{self.folder}/trace-{self.traces}"

    def trace(self, command, *arguments, status=0, **options):
        """The trace of a command."""
        output = self.output()
        self.said = self.side("trace", "--global", "-o", output, "--exe", self.program, "-c", command, *arguments, status=status,
                              **options)
        return self.read(output) if not status else None

    def read(self, output):
        done = subprocess.run([SIDE, "view", "--json", output], capture_output=True, text=True, check=True)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        return [event for event in events if event["type"] == "event" and event["event"] != "side:uprobes"]


class Values(Case):
    def check_values(self, method):
        events = self.trace(f"{self.program} 4", "--by", method, "--function", "cook", "--exit", "--arg", "guests",
                            "--arg", "order->dish", "--arg", "order->id", "--arg", "order->table", "--arg", "order->mood",
                            "--arg", "order->hours", "--arg", "order->list[1]", "--arg", "guest_name", "--arg", "orders_taken",
                            "--arg", "s64:third:%rdi+40", "--arg", "bytes[3]:raw:*(%rdi+8)", "--arg", "u32:number:%esi")
        self.assertIn(f"2 locations are watched by {method}", self.said.stderr)
        entries = [event for event in events if event["event"] == "probe:cook"]
        exits = [event for event in events if event["event"] == "probe:cook_return"]
        self.assertEqual(len(events), 8)
        taken, differences = 0, []
        for number, (entry, end) in enumerate(zip(entries, exits)):
            fields = entry["fields"]
            self.assertEqual(fields.pop("pid"), fields.pop("tid"))
            self.assertEqual(fields.pop("comm"), "kitchen")
            self.assertEqual(fields, {
                "call": number + 1, "guests": number, "order_dish": "soup of the day", "order_id": -3, "order_table": 65535,
                "order_mood": -7, "order_hours": 1.5, "order_list_1": -8, "guest_name": "guest", "orders_taken": taken, "third": 9,
                "raw": [ord(letter) for letter in "sou"], "number": number})
            taken += number
            self.assertEqual(end["fields"]["return_value"], -30 - number)
            self.assertEqual(end["fields"]["call"], number + 1)
            differences.append(abs(end["ns"] - entry["ns"] - end["fields"]["duration"]))
            self.assertGreater(end["ns"], entry["ns"])
        # Both times are of the clock of the trace. An interrupt can come between two readings of the clock, but not in each call.
        self.assertLess(min(differences), 2000)

    def test_multi(self):
        self.check_values("uprobe_multi")

    def test_perf(self):
        self.check_values("perf_event")

    def test_tracefs(self):
        self.check_values("tracefs")

    def test_recursion(self):
        for method in BACKENDS:
            events = self.trace(f"{self.program} 1", "--by", method, "--function", "deep", "--exit", "--arg", "depth")
            seen = [(event["event"].rpartition(":")[2], event["fields"]["call"], event["fields"].get("depth"),
                     event["fields"].get("return_value")) for event in events]
            self.assertEqual(seen, [("deep", 1, 3, None), ("deep", 2, 2, None), ("deep", 3, 1, None), ("deep", 4, 0, None),
                                    ("deep_return", 4, None, 0), ("deep_return", 3, None, 1),
                                    ("deep_return", 2, None, 3), ("deep_return", 1, None, 6)], method)

    def test_time(self):
        """Hits are between the clock's values before and afterwards."""
        before = time.time_ns()
        events = self.trace(f"{self.program} 3", "--function", "cook")
        after = time.time_ns()
        self.assertEqual(len(events), 3)
        for event in events:
            self.assertTrue(before - 1000000 < event["ns"] < after + 1000000, (before, event["ns"], after))

    def test_many(self):
        """All functions of the program are one event, which has the name of the function."""
        events = self.trace(f"{self.program} 2", "--function", "*e*")
        names = [event["fields"]["function"] for event in events]
        self.assertEqual([name for name in names if name in ("serve", "deep")], ["serve"] * 2 + ["deep"] * 4)

    def test_counted(self):
        """A BPF program fetches arrays whose length is elsewhere."""
        for method in ("uprobe_multi", "perf_event"):
            events = self.trace(f"{self.program} 4", "--by", method, "--function", "cook", "--arg", "some=string(order->dish, guests)",
                                "--arg", "first=*order->list@guests", "--arg", "all=bytes(order->dish, 4)")
            self.assertEqual(len(events), 4)
            for number, event in enumerate(events):
                fields = event["fields"]
                self.assertEqual(fields["some"], "soup"[:number], method)
                self.assertEqual(fields["first"], [7, -8, 9][:number], method)
                self.assertEqual(fields["all"], list(b"soup"), method)

    def test_unreadable(self):
        for method in BACKENDS:
            events = self.trace(f"{self.program} 1", "--by", method, "--function", "cook", "--arg", "s64:none:%rsi+16", "--arg", "string:nothing:%rsi")
            self.assertEqual((events[0]["fields"]["none"], events[0]["fields"]["nothing"]),
                             # tracefs does not report that for numbers.
                             (0 if method == "tracefs" else None, None), method)


def cut(value, size, signed):
    """A number truncated to so many bytes."""
    value &= (1 << 8 * size) - 1
    return value - (1 << 8 * size) if signed and value >> (8 * size - 1) else value


class Captures(Case):
    """Registers, memory, strings and return values: the same with each backend, and equal to the values that the program
    computes from the round.
    """
    NAMES = ("", "one", "two words", "drei \u00e4\u00f6")
    LOAD = (("s8", 1, True, lambda n: -128 + n), ("u8", 1, False, lambda n: 255 - n), ("s16", 2, True, lambda n: -32768 + n),
            ("u16", 2, False, lambda n: 65535 - n), ("s32", 4, True, lambda n: -(1 << 31) + n),
            ("u32", 4, False, lambda n: (1 << 32) - 1 - n), ("s64", 8, True, lambda n: -(1 << 63) + n),
            ("u64", 8, False, lambda n: (1 << 64) - 1 - n))

    def table(self):
        """(argument, field, value by number of the round)"""
        rows = []
        # Each register whole and in its parts, signed and unsigned.
        registers = (("%rdi", "%edi", "%di", "%dil", lambda n: -n), ("%rsi", "%esi", "%si", "%sil", lambda n: -(1 << 31) + n),
                     ("%rdx", "%edx", "%dx", "%dl", lambda n: 200 + n), ("%r9", "%r9d", "%r9w", "%r9b", lambda n: -1 - n))
        for *names, value in registers:
            for name, size in zip(names, (8, 4, 2, 1)):
                # Only the bytes of an argument are defined.
                if size > {"%rsi": 4, "%rdx": 1}.get(names[0], 8):
                    continue
                for sign in "us":
                    rows.append((f"{sign}{8 * size}:{sign}_{name[1:]}:{name}", f"{sign}_{name[1:]}",
                                 lambda n, value=value, size=size, sign=sign: cut(value(n), size, sign == "s")))
        # Memory behind a pointer, by offset and by name, and further pointers.
        offset = 0
        for name, size, signed, value in self.LOAD:
            offset = (offset + size - 1) & -size
            rows.append((f"{name}:at_{name}:%rcx+{offset}", f"at_{name}", value))
            rows.append((f"load->{name}", f"load_{name}", value))
            # As another type of the same size.
            other = ("u" if signed else "s") + name[1:]
            rows.append((f"{other}:as_{name}:%rcx+{offset}", f"as_{name}",
                         lambda n, value=value, size=size, signed=signed: cut(value(n), size, not signed)))
            offset += size
        rows += [("load->f32", "load_f32", lambda n: n + 0.5), ("load->f64", "load_f64", lambda n: -n - 0.25),
                 ("load->row[2]", "load_row_2", lambda n: 65535 - n), ("load->next->s8", "load_next_s8", lambda n: n),
                 ("load->next->s64", "load_next_s64", lambda n: (1 << 63) - 1 - n),
                 ("orders_taken", "orders_taken", lambda n: 0),
                 # Strings: behind a register, behind memory, empty, longer, not ASCII, and an invalid pointer.
                 ("string:by_register:%r8", "by_register", lambda n: chr(ord("a") + n) * 40 * n),
                 ("text", "text", lambda n: chr(ord("a") + n) * 40 * n),
                 ("load->text", "load_text", lambda n: self.NAMES[n]), ("load->next->text", "load_next_text", lambda n: "inner"),
                 ("load->nothing", "load_nothing", lambda n: None)]
        return rows

    def check_backend(self, method, rows):
        arguments = [word for row in rows for word in ("--arg", row[0])]
        return [event["fields"] for event in self.trace(f"{self.program} 0", "--by", method, "--function", "carry", "--exit", *arguments)]

    def test_entries(self):
        rows = self.table()
        self.assertGreater(len(rows), 50)
        for begin in range(0, len(rows), 12):
            some = rows[begin:begin + 12]
            for method in BACKENDS:
                found = self.check_backend(method, some)
                self.assertEqual(len(found), 8, (method, self.said.stderr))
                for number, fields in enumerate(found[::2]):
                    for argument, name, value in some:
                        self.assertEqual(fields[name], value(number), (method, argument, number))
                for number, fields in enumerate(found[1::2]):
                    self.assertEqual(fields["return_value"], -(-number << 40) - 1, (method, number))

    def test_returned(self):
        for function, value in (("name_of", lambda n: self.NAMES[n]), ("small_of", lambda n: cut(n * 50 - 100, 1, True))):
            for method in BACKENDS:
                events = self.trace(f"{self.program} 0", "--by", method, "--function", function, "--exit")
                said = [event["fields"]["return_value"] for event in events if event["event"].endswith("_return")]
                self.assertEqual(said, [value(number) for number in range(4)], (method, function))


class Marker(Case):
    def test_calculated(self):
        for method in ("uprobe_multi", "perf_event"):
            events = self.trace(f"{self.program} 5", "--by", method, "--sdt", "kitchen:priced")
            self.assertEqual([event["fields"]["arg1"] for event in events], [5, -70, 800, -9000, 5], method)

    def test_semaphore(self):
        for method in BACKENDS:
            events = self.trace(f"{self.program} 3", "--by", method, "--sdt", "kitchen:served")
            self.assertEqual([(event["fields"]["arg1"], event["fields"]["arg2"]) for event in events],
                             [(0, 7), (1, 7), (2, 7)], method)
            self.assertEqual(self.said.stdout, "3 1\n", method)
        # The file is back for processes that still run.
        program = self.start(self.program, "1", "0", "wait")
        for wanted in (0, 1, 0):
            if wanted:
                self.trace("true", "--sdt", "kitchen:served")
                recorder = self.start(SIDE, "-q", "trace", "--global", "-o", self.output(), "--exe", self.program, "--sdt",
                                      "kitchen:served", "-c", "cat")
            said = None
            while said != wanted:
                program.stdin.write("\n")
                program.stdin.flush()
                said = int(program.stdout.readline().split()[1])
                self.assertIn(said, (0, 1))
            if wanted:
                recorder.communicate("")
        program.communicate()


class Reach(Case):
    def test_forks(self):
        for method in BACKENDS:
            events = self.trace(f"{self.program} 20 50", "--by", method, "--function", "cook", "--arg", "guests")
            self.assertEqual(len(events), 51 * 20, (method, self.said.stderr))
            self.assertEqual(len({event["fields"]["pid"] for event in events}), 51, method)
            by_process = {}
            for event in events:
                by_process.setdefault(event["fields"]["pid"], []).append(event["fields"]["guests"])
            self.assertTrue(all(numbers == list(range(20)) for numbers in by_process.values()), method)

    def test_never_mapped(self):
        """Set before any process has mapped the file; hit in each process that starts."""
        self.program = self.folder + "/later"
        shutil.copy(PROGRAM, self.program)
        events = self.trace(f"sh -c '{self.program} 5; {self.program} 6; {self.program} 7'", "--function", "cook")
        self.assertEqual(len(events), 18)
        self.assertEqual(len({event["fields"]["pid"] for event in events}), 3)

    def test_running(self):
        program = self.start(self.program, "5", "0", "wait")
        recorder = self.start(SIDE, "trace", "--global", "-o", self.output(), "--exe", self.program, "--function", "cook",
                              "-c", "sh -c 'echo ready; cat'")
        self.assertEqual(recorder.stdout.readline(), "ready\n")
        program.stdin.write("\n")
        program.stdin.flush()
        self.assertTrue(program.stdout.readline())
        recorder.communicate("")
        self.assertEqual(len(self.read(f"{self.folder}/trace-{self.traces}")), 5)
        program.communicate()

    def test_until_signal(self):
        """Without a command: until any process sends a signal."""
        for number in signal.SIGINT, signal.SIGTERM:
            recorder = self.start(SIDE, "trace", "--global", "-o", self.output(), "--exe", self.program, "--function", "cook")
            self.assertIn("1 location is watched by", recorder.stderr.readline())
            subprocess.run([self.program, "6"], check=True, capture_output=True)
            recorder.send_signal(number)
            recorder.communicate(timeout=TIMEOUT)
            self.assertEqual(recorder.returncode, 0, number)
            self.assertEqual(len(self.read(f"{self.folder}/trace-{self.traces}")), 6, number)

    def test_duration(self):
        """Without a command: for the given duration."""
        # It runs already, and calls the function until the recording has ended: a busy machine can need long to start a program.
        caller = self.start("sh", "-c", f"while {self.program} 6 > {self.folder}/calls; do :; done")
        self.addCleanup(caller.communicate)
        self.addCleanup(caller.kill)
        wait_until(lambda: os.path.exists(self.folder + "/calls"), "the first calls")
        began = time.monotonic()
        recorder = self.start(SIDE, "trace", "--global", "-o", self.output(), "--exe", self.program, "--function", "cook",
                              "--duration", "700ms")
        self.assertIn("1 location is watched by", recorder.stderr.readline())
        recorder.communicate(timeout=TIMEOUT)
        self.assertGreaterEqual(time.monotonic() - began, 0.7)
        self.assertEqual(recorder.returncode, 0)
        self.assertGreater(len(self.read(f"{self.folder}/trace-{self.traces}")), 0)

    def test_counts_of_the_kernel(self):
        """Another tool defines the same location at the same time: its count equals side's."""
        nm = subprocess.run(["nm", self.program], capture_output=True, text=True, check=True).stdout
        offset = next(line.split()[0] for line in nm.splitlines() if line.split()[-1] == "cook")
        group = f"check_{os.getpid()}"
        shell(f"echo 'p:{group}/cook {self.program}:0x{offset}' >> uprobe_events; echo 1 > events/{group}/cook/enable")
        try:
            for method in BACKENDS:
                before = self.profile()
                events = self.trace(f"{self.program} 40 3", "--by", method, "--function", "cook")
                self.assertEqual((len(events), self.profile() - before), (160, 160), method)
        finally:
            shell(f"echo 0 > events/{group}/cook/enable; echo '-:{group}/cook' >> uprobe_events")

    def profile(self):
        for line in shell("cat uprobe_profile").splitlines():
            arguments = line.split()
            if arguments[0] == self.program and arguments[1] == "cook":
                return int(arguments[2])
        return 0

    def test_filters(self):
        for method in BACKENDS:
            links = [self.folder + "/" + name for name in ("first", "second")]
            for link in links:
                if not os.path.exists(link):
                    os.link(self.program, link)
            both = f"sh -c '{links[0]} 3; {links[1]} 4'"
            events = self.trace(both, "--by", method, "--function", "cook", "--comm", "second")
            self.assertEqual({event["fields"]["comm"] for event in events}, {"second"}, method)
            self.assertEqual(len(events), 4, method)
            events = self.trace(both, "--by", method, "--function", "cook", "--comm", "second", "--comm", "first")
            self.assertEqual(len(events), 7, method)
            self.assertEqual(len(self.trace(both, "--by", method, "--function", "cook", "--pid", "1")), 0, method)

    def test_pid(self):
        """One of two processes is selected."""
        for method in BACKENDS:
            meant, other = (self.start(self.program, "5", "0", "wait") for _ in range(2))
            recorder = self.start(SIDE, "-q", "trace", "--global", "--by", method, "-o", self.output(), "--exe", self.program, "--function",
                                  "cook", "--pid", str(meant.pid), "-c", "sh -c 'echo ready; cat'")
            self.assertEqual(recorder.stdout.readline(), "ready\n")
            for process in meant, other:
                process.communicate("\n")
            recorder.communicate("")
            self.assertEqual([event["fields"]["pid"] for event in self.read(f"{self.folder}/trace-{self.traces}")], [meant.pid] * 5, method)

    def test_user(self):
        both = (f"{sys.executable} -c \"import subprocess as s; s.run(['{self.program}', '3']); "
                f"s.run(['{self.program}', '4'], user={NOBODY})\"")
        for method in ("uprobe_multi", "perf_event"):
            self.assertEqual(len(self.trace(both, "--by", method, "--function", "cook", "--uid", str(NOBODY))), 4, method)
            self.assertEqual(len(self.trace(both, "--by", method, "--function", "cook", "--uid", "root")), 3, method)

    def test_user_of_the_dead(self):
        """tracefs does not know the user of a hit: a hit whose process exits before side reads its user is counted as lost."""
        output = self.output()
        recorder = self.start(SIDE, "--json", "trace", "--global", "--by", "tracefs", "-o", output, "--exe", self.program, "--function",
                              "cook", "--uid", str(NOBODY), "-c", "sh -c 'echo ready; cat'")
        self.assertEqual(recorder.stdout.readline(), "ready\n")
        stopped = watcher(recorder.pid)
        stop_process(stopped)
        subprocess.run([self.program, "5"], check=True, capture_output=True, user=NOBODY)
        os.kill(stopped, signal.SIGCONT)
        said = recorder.communicate("")[1]
        summary = next(json.loads(line) for line in said.splitlines() if '"summary"' in line)
        events = [(event["event"], event["fields"].get("count")) for event in self.read(output)]
        self.assertEqual((events, summary["lost"]), ([("probe:cook_lost", 5)], 5))

    def test_cgroup(self):
        """The selected cgroup (version 2) only: not its parent, and not the processes of another one."""
        top = unified()
        if not top:
            self.skipTest("control groups of version 2 are not there, and cannot be mounted")
        group = f"{top}/side-global-{os.getpid()}"
        try:
            os.mkdir(group)
        except OSError as error:
            self.skipTest(f"no control group can be made: {error}")
        self.addCleanup(os.rmdir, group)
        enter = f"echo $$ > {group}/cgroup.procs"
        for method in BACKENDS:
            events = self.trace(f"sh -c '{self.program} 3; {enter}; {self.program} 2; echo $$ > {top}/cgroup.procs; "
                                f"{self.program} 4'", "--by", method, "--function", "cook", "--cgroup", group)
            self.assertEqual([event["fields"]["comm"] for event in events], ["kitchen"] * 2, (method, self.said.stderr))


def unified():
    """The mount point of cgroup version 2."""
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            if line.split()[2] == "cgroup2":
                return line.split()[1]
    location = tempfile.mkdtemp(prefix="side-global-cgroup-")
    if subprocess.run(["mount", "-t", "cgroup2", "none", location], capture_output=True, check=False).returncode:
        os.rmdir(location)
        return None
    atexit.register(lambda: subprocess.run(["umount", location], check=False) and os.rmdir(location))
    return location


class Containers(Case):
    """Other namespaces, other paths: the file is the same."""

    def ids(self, command):
        events = self.trace(command, "--function", "cook", "--arg", "guests")
        return [(event["fields"]["pid"], event["fields"]["tid"]) for event in events]

    def test_pid_namespace(self):
        """Process ids are those of the outer namespace."""
        ids = self.ids(f"unshare --mount --pid --fork --mount-proc sh -c '{self.program} 2'")
        self.assertEqual(len(ids), 2)
        self.assertEqual(len(set(ids)), 1)
        # Inside the namespace the shell is process 1.
        self.assertGreater(ids[0][0], 20)

    def test_other_path(self):
        """A bind mount in a separate mount namespace."""
        other = self.folder + "/elsewhere"
        with open(other, "w", encoding="ascii"):
            pass
        ids = self.ids(f"unshare --mount sh -c 'mount --bind {self.program} {other}; {other} 3'")
        self.assertEqual(len(ids), 3)

    def test_layers(self):
        """A file of a lower layer is watched through all upper layers that have no copy of it."""
        for name in ("low", "up", "work", "all"):
            os.mkdir(f"{self.folder}/{name}")
        shutil.move(self.program, self.folder + "/low/kitchen")
        self.program = self.folder + "/low/kitchen"
        at = self.folder
        mount = f"mount -t overlay -o lowerdir={at}/low,upperdir={at}/up,workdir={at}/work none {at}/all"
        if subprocess.run(["unshare", "--mount", "sh", "-c", mount], capture_output=True, check=False).returncode:
            self.skipTest("no overlay can be mounted here")
        self.assertEqual(len(self.ids(f"unshare --mount sh -c '{mount}; {at}/all/kitchen 3; {at}/low/kitchen 1'")), 4)

    def hide(self, *more):
        """A process whose program exists in its mount namespace only; outside, another file has that path. Waits for a line."""
        hidden = self.folder + "/hidden"
        os.makedirs(hidden, exist_ok=True)
        shutil.copy(self.program, hidden + "/kitchen")
        mounts = [f"mount -t tmpfs none {hidden}", f"cp {self.program} {hidden}/kitchen", f"ln -s {hidden}/kitchen {hidden}/link", *more]
        process = self.start("unshare", "--mount", "--propagation", "private", "sh", "-c",
                             " && ".join([*mounts, f"exec {hidden}/kitchen 4 0 wait"]))
        self.addCleanup(lambda: process.poll() is None and process.kill())
        wait_until(lambda: os.readlink(f"/proc/{process.pid}/exe") == hidden + "/kitchen" or process.poll() is not None, "the program")
        self.assertIsNone(process.poll())
        return process, hidden

    def watch_hidden(self, process, *arguments, function="cook"):
        """Returns the events of one round of the process."""
        output = self.output()
        recorder = self.start(SIDE, "trace", "--global", "-o", output, *arguments, "--function", function)
        line = recorder.stderr.readline()
        self.assertIn("1 location is watched by", line + ("" if "watched" in line else recorder.communicate()[1]))
        process.communicate("\n", timeout=TIMEOUT)
        recorder.send_signal(signal.SIGINT)
        recorder.communicate(timeout=TIMEOUT)
        self.assertEqual(recorder.returncode, 0)
        return [event["fields"]["pid"] for event in self.read(output)]

    def test_hidden_file(self):
        """Selected through the process, by a path or a link; the file with the same path outside is not watched."""
        for arguments in (lambda pid, path: ("--pid", str(pid)), lambda pid, path: ("--exe", f"/proc/{pid}/exe"),
                      lambda pid, path: ("--pid", str(pid), "--exe", f"/proc/{pid}/exe", "--by", "tracefs"),
                      lambda pid, path: ("--exe", f"/proc/{pid}/root{path}/kitchen"),
                      lambda pid, path: ("--exe", f"/proc/{pid}/root{path}/link", "--by", "perf_event")):
            process, hidden = self.hide()
            given = arguments(process.pid, hidden)
            self.assertEqual(self.watch_hidden(process, *given), [process.pid] * 4, given)

    def test_hidden_library(self):
        """The C library of that namespace, which is another file than the one outside."""
        with open("/proc/self/maps", encoding="utf-8") as maps:
            libc = next(line.split()[-1] for line in maps if "/libc.so.6" in line or "/libc-" in line)
        copy = self.folder + "/libc-copy"
        shutil.copy(libc, copy)
        process, _ = self.hide(f"mount --bind {copy} {libc}")
        pids = self.watch_hidden(process, "--exe", f"/proc/{process.pid}/exe", function="libc:__libc_start_main")
        self.assertEqual(pids, [])
        process, _ = self.hide(f"mount --bind {copy} {libc}")
        self.assertEqual(self.watch_hidden(process, "--pid", str(process.pid), function="libc:exit"), [process.pid])

    def test_replaced_before(self):
        """A process executes a file that was replaced since: its own file is watched, not the new one."""
        process = self.start(self.program, "4", "0", "wait")
        wait_until(lambda: os.readlink(f"/proc/{process.pid}/exe") == self.program, "the program")
        shutil.copy(self.program, self.program + ".new")
        os.rename(self.program + ".new", self.program)
        self.assertEqual(self.watch_hidden(process, "--exe", f"/proc/{process.pid}/exe"), [process.pid] * 4)

    def test_hidden_messages(self):
        """Invalid paths are refused before any probe is set."""
        process, hidden = self.hide()
        for name in (f"/proc/{process.pid}/root{hidden}/none", f"/proc/{process.pid}/root/../{hidden}/none", self.folder + "/none"):
            said = self.side("trace", "--global", "-o", self.output(), "--exe", name, "--function", "cook", status=1).stderr
            self.assertIn(f"there is no file {name}", said)
        self.assertIn("there is no process", self.side("trace", "--global", "-o", self.output(), "--pid", "4194300", "--function", "cook",
                                                       status=1).stderr)
        process.communicate("\n", timeout=TIMEOUT)

    def test_replaced(self):
        """A package is upgraded: processes that start later are not watched, and side reports that."""
        events = self.trace(f"sh -c '{self.program} 3; cp {self.program} {self.program}.new; "
                            f"mv {self.program}.new {self.program}; {self.program} 5'", "--function", "cook")
        self.assertEqual(len(events), 3)
        self.assertIn("was replaced: programs that start now run another file", self.said.stderr)
        done = subprocess.run([SIDE, "view", f"{self.folder}/trace-{self.traces}"], capture_output=True, text=True, check=True)
        self.assertIn("was replaced", done.stdout)


class Left(Case):
    def definitions(self):
        return [line for line in shell("cat uprobe_events").splitlines() if self.program in line]

    def test_killed(self):
        """The next recorder removes what a killed one has left, and nothing else."""
        theirs = f"others_{os.getpid()}"
        shell(f"echo 'p:{theirs}/cook {self.program}:0x1000' >> uprobe_events")
        self.addCleanup(shell, f"echo '-:{theirs}/cook' >> uprobe_events")
        living = self.recorder("tracefs")
        # The next recorder may be any other one on this machine.
        for _ in range(10):
            killed = self.recorder("tracefs")
            groups = {line.split(":")[1].split("/")[0] for line in self.definitions()}
            self.assertEqual(len(groups), 3)
            recorder = self.recorder_pid(killed)
            os.kill(recorder, signal.SIGKILL)
            killed.communicate()
            if f"side_{recorder}_" in "".join(self.definitions()):
                break
        else:
            self.fail("never was anything left")
        # With another backend, which needs no definition.
        self.assertEqual(len(self.trace(f"{self.program} 2", "--by", "uprobe_multi", "--function", "cook")), 2)
        left = "".join(self.definitions())
        self.assertNotIn(f"side_{recorder}_", left)
        self.assertIn(f"side_{self.recorder_pid(living)}_", left)
        self.assertIn(theirs, left)
        living.communicate("")
        self.assertEqual(len(self.definitions()), 1)

    def test_killed_bpf(self):
        for method in ("uprobe_multi", "perf_event"):
            killed = self.recorder(method)
            os.kill(self.recorder_pid(killed), signal.SIGKILL)
            killed.communicate()
            program = self.start(self.program, "3", "0", "wait")
            with open(f"/proc/{program.pid}/maps", encoding="ascii") as maps:
                self.assertNotIn("uprobes", maps.read())
            self.assertTrue(program.communicate("\n")[0].startswith("3 "))

    def recorder(self, method):
        recorder = self.start(SIDE, "-q", "trace", "--global", "--by", method, "-o", self.output(), "--exe", self.program,
                              "--function", "cook", "-c", "sh -c 'echo ready; cat'")
        self.assertEqual(recorder.stdout.readline(), "ready\n")
        return recorder

    def recorder_pid(self, process):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == process.pid:
                    return int(pid)
        raise AssertionError("side has not started its recorder")


class Conflict(Case):
    def inner(self, command):
        return self.start(SIDE, "-q", "trace", "-o", self.output(), "-c", command, "--function", "cook")

    def test_jump_first(self):
        """If a process has a jump of side at the location, the kernel's probe would crash it: it is not set."""
        recorder = self.inner(f"{self.program} 5 0 wait")
        recorder.stdin.write("\n")
        recorder.stdin.flush()
        self.assertTrue(recorder.stdout.readline().startswith("10 "))
        for method in BACKENDS:
            self.trace("true", "--by", method, "--function", "cook", status=1)
            self.assertIn("differs from its file at", self.said.stderr)
            self.assertIn("a recording of side", self.said.stderr)
        # The same program still runs, with its probe.
        out, _ = recorder.communicate("\n")
        self.assertTrue(out.startswith("20 "), out)
        self.assertEqual(recorder.returncode, 0)
        self.assertEqual(len(self.read(f"{self.folder}/trace-1")), 10)

    def test_kernel_first(self):
        """A location that the kernel watches gets no jump, and the kernel continues to watch it."""
        for method in BACKENDS:
            recorder = self.start(SIDE, "-q", "trace", "--global", "--by", method, "-o", self.output(), "--exe", self.program,
                                  "--function", "cook", "-c", "sh -c 'echo ready; cat'")
            self.assertEqual(recorder.stdout.readline(), "ready\n")
            watched = self.traces
            inner = self.inner(f"{self.program} 5")
            out, error = inner.communicate()
            self.assertTrue(out.startswith("10 "), (method, out, error))
            self.assertIn("not set", error)
            self.assertIn("the kernel watches that location", error)
            recorder.communicate("")
            self.assertEqual(len(self.read(f"{self.folder}/trace-{watched}")), 5, method)


class Order(Case):
    """One location with a jump and a kernel probe, in both orders: the second one is refused with the name of the first,
    and the program continues.
    """

    def setUp(self):
        super().setUp()
        self.env = {**os.environ, "SIDE_RUNTIME": self.folder + "/run"}
        os.mkdir(self.folder + "/run", 0o700)
        self.addCleanup(self.end)

    def ask(self, *arguments, status=0):
        return self.side(*arguments, status=status, env=self.env)

    def end(self):
        with contextlib.suppress(Exception):
            found = self.ask("daemon", "--json", "--no-daemon")
            self.ask("destroy", "-a")
            os.kill(json.loads(found.stdout.splitlines()[0])["pid"], signal.SIGTERM)

    def turn(self):
        self.program_process.stdin.write("\n")
        self.program_process.stdin.flush()
        self.assertTrue(self.program_process.stdout.readline())

    def test_turns(self):
        output = self.output()
        self.ask("create", "dinner", "-o", output)
        self.ask("start")
        agent = os.path.join(os.environ["LD_LIBRARY_PATH"].split(":")[0], "libside-agent.so")
        self.program_process = self.start(self.program, "2", "0", "wait", env={**self.env, "LD_PRELOAD": agent, "SIDE_AUTO": "1"})
        self.turn()
        inside = ("--pid", str(self.program_process.pid), "--function", "cook")
        outside = ("--global", "--exe", self.program, "--function", "cook")
        self.ask("enable-event", "jump", *inside)
        self.turn()
        refused = self.ask("enable-event", "early", *outside, status=1)
        self.assertIn("a recording of side", refused.stderr)
        self.turn()
        self.ask("disable-event", "probe:jump")
        self.turn()
        self.ask("enable-event", "kernel", *outside)
        self.turn()
        refused = self.ask("enable-event", "late", *inside, status=None)
        self.assertIn("the kernel watches that location", refused.stderr)
        self.assertIn("the kernel watches that location", self.ask("status").stdout)
        self.turn()
        self.ask("disable-event", "probe:kernel")
        self.ask("disable-event", "probe:late")
        self.turn()
        self.ask("enable-event", "again", *inside)
        self.turn()
        self.ask("stop")
        self.program_process.communicate()
        self.assertEqual(self.program_process.returncode, 0)
        counts = {}
        for event in self.read(output):
            counts[event["event"]] = counts.get(event["event"], 0) + 1
        self.assertEqual(counts, {"probe:jump": 4, "probe:kernel": 4, "probe:again": 2})


class Losses(Case):
    def test_sleeper(self):
        """A recorder that does not read loses hits when the buffer is full. All of them are counted, even if no further hit follows."""
        for method in BACKENDS:
            output = self.output()
            recorder = self.start(SIDE, "--json", "trace", "--global", "--by", method, "-o", output, "--exe", self.program, "--function",
                                  "cook", "-c", "sh -c 'echo ready; cat'")
            self.assertEqual(recorder.stdout.readline(), "ready\n")
            stopped = watcher(recorder.pid)
            stop_process(stopped)
            subprocess.run([self.program, "150000"], check=True, capture_output=True)
            os.kill(stopped, signal.SIGCONT)
            said = recorder.communicate("")[1]
            summary = next(json.loads(line) for line in said.splitlines() if '"summary"' in line)
            events = self.read(output)
            lost = sum(event["fields"]["count"] for event in events if event["event"] == "probe:cook_lost")
            self.assertGreater(lost, 0, method)
            recorded = sum(event["event"] == "probe:cook" for event in events)
            self.assertEqual((recorded + lost, summary["lost"]), (150000, lost), method)


class Falls(Case):
    """A missing or forbidden kernel feature is reported, and the next backend is used."""

    def setUp(self):
        super().setUp()
        if subprocess.run([os.environ["GLOBAL_REFUSE"], "bpf", "true"], capture_output=True, check=False).returncode:
            self.skipTest("no filters of system calls here")

    def check(self, what, method, *reasons):
        output = self.output()
        done = subprocess.run([os.environ["GLOBAL_REFUSE"], what, SIDE, "trace", "--global", "-o", output, "--exe", self.program, "-c",
                               f"{self.program} 3", "--function", "cook", "--exit", "--arg", "guests"], capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = next(line for line in done.stderr.splitlines() if "locations are watched by" in line)
        self.assertIn(f"2 locations are watched by {method} (", said)
        for reason in reasons:
            self.assertIn(reason + ": the kernel", said)
        events = self.read(output)
        self.assertEqual([event["fields"]["guests"] for event in events if event["event"] == "probe:cook"], [0, 1, 2])
        self.assertEqual([event["fields"]["return_value"] for event in events if event["event"] == "probe:cook_return"], [-30, -31, -32])

    def test_no_multi(self):
        self.check("multi", "perf_event", "uprobe_multi")

    def test_no_bpf(self):
        self.check("bpf", "tracefs", "uprobe_multi", "perf_event")

    def test_nothing(self):
        done = subprocess.run([os.environ["GLOBAL_REFUSE"], "perf", SIDE, "trace", "--global", "-o", self.output(), "--exe", self.program,
                               "-c", f"{self.program} 3", "--function", "cook"], capture_output=True, text=True, timeout=TIMEOUT,
                              check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual([line[:6] for line in done.stderr.splitlines()], ["side: ", "hint: "], done.stderr)
        for method in BACKENDS:
            self.assertIn(method + ":", done.stderr)


class Refused(Case):
    def test_permission(self):
        done = subprocess.run([SIDE, "trace", "--global", "-o", "/tmp/side-global-refused-%d" % os.getpid(), "--exe", self.program,
                               "--function", "cook", "-c", self.program], capture_output=True, text=True, check=False,
                              user=NOBODY, group=NOBODY, extra_groups=[])
        self.assertEqual(done.returncode, 3, done.stderr)
        for method in BACKENDS:
            self.assertIn(method + ":", done.stderr)
        self.assertRegex(done.stderr, "\nhint: .*run as root")
        self.assertEqual([line[:6] for line in done.stderr.splitlines()], ["side: ", "hint: "], done.stderr)
        shutil.rmtree("/tmp/side-global-refused-%d" % os.getpid(), ignore_errors=True)

    def test_words(self):
        for arguments, sentence in ((("--by", "magic"), "unknown method `magic`"), (("--uid", "no-such-user"), "there is no user"),
                                (("--cgroup", "/tmp"), "is not a control group"), (("--context", "vtid"), "the kernel reads only registers and memory")):
            self.trace("true", "--function", "cook", *arguments, status=2)
            self.assertIn(sentence, self.said.stderr)
        done = self.side("trace", "-c", "true", "--function", "main", "--comm", "x", status=2)
        self.assertIn("write `--global`", done.stderr)

    def test_command(self):
        """Its status and its environment are unchanged."""
        self.trace("sh -c 'exit 7'", "--function", "cook", status=7)
        self.trace("env", "--function", "cook", env={**os.environ, "LD_PRELOAD": "libm.so.6"})
        self.assertIn("LD_PRELOAD=libm.so.6\n", self.said.stdout)
        for name in ("SIDE_RING_PORTABLE", "SIDE_AGENT_SOCKET"):
            self.assertNotIn(name, self.said.stdout)
        self.trace("sh -c 'kill -TERM $$'", "--function", "cook", status=128 + signal.SIGTERM)
        self.assertIn("sh was killed by signal 15 (Terminated)", self.said.stderr)

    def test_manners(self):
        """side-uprobes prints messages as its caller does: correct ones, or JSON."""
        arguments = ("trace", "--global", "--exe", self.program, "-c", f"{self.program} 2", "--function", "cook")
        self.assertEqual(self.side("-q", *arguments, "-o", self.output()).stderr, "")
        lines = [json.loads(line) for line in self.side("--json", *arguments, "-o", self.output()).stderr.splitlines()]
        self.assertTrue(any("is watched by" in line.get("message", "") for line in lines), lines)
        lines = [json.loads(line) for line in
                 self.side("--json", *arguments[:-4], "-c", "/nowhere", "--function", "cook", "-o", self.output(), status=None).stderr.splitlines()]
        self.assertTrue(lines)


    def test_descriptors(self):
        """side checks before the first probe whether the descriptors suffice, because removing probes takes long; each location needs one."""
        self.trace(f"{self.program} 2", "--function", "*", "-v")
        places = int(re.search(r"(\d+) locations are watched", self.said.stderr)[1])
        cpus = len(os.sched_getaffinity(0))
        for method, limit, status in (("perf_event", 2 * places, 0), ("perf_event", places, 1), ("tracefs", cpus * places, 1)):
            output = self.output()
            done = subprocess.run([SIDE, "trace", "--global", "--by", method, "-o", output, "-c", f"{self.program} 2", "--function", "*"],
                                  capture_output=True, text=True, timeout=TIMEOUT, check=False,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
            self.assertEqual(done.returncode, status, done.stderr)
            if status:
                self.assertIn(f"descriptors for the locations, and a process may have {limit} open here\nhint: probe fewer locations, "
                              "or raise that limit with `ulimit -n`\nhint: `--by uprobe_multi` needs only a few, where the kernel has it\n", done.stderr)
            else:
                self.assertEqual(sum(event["fields"].get("function") == "cook" for event in self.read(output)), 2)

    def test_exchange(self):
        """side sets no probe on an instruction that kernels mistake for another one."""
        self.trace(f"{self.program} 2", "--function", "exchange", status=1)
        self.assertIn("takes an exchange of registers there for a nop", self.said.stderr)
        events = self.trace(f"{self.program} 2", "--function", "*")
        self.assertNotIn("exchange", {event["fields"]["function"] for event in events})
        self.assertRegex(self.said.stderr, "left out: .*exchange of ")
        output = self.output()
        self.side("trace", "-o", output, "-c", f"{self.program} 2", "--function", "exchange")
        self.assertEqual([event["event"] for event in self.read(output)], ["probe:exchange"])


    def test_prefixes(self):
        """Nor on instructions that kernels do not watch, because they report no error for programs that start later."""
        events = self.trace(f"{self.program} 2", "--function", "*")
        seen = {event["fields"]["function"] for event in events}
        for function in ("locked", "segmented"):
            self.assertNotIn(function, seen)
            self.trace(f"{self.program} 2", "--function", function, status=1)
            self.assertIn("the kernel refuses an instruction with one of these prefixes", self.said.stderr)
            output = self.output()
            self.side("trace", "-o", output, "-c", f"{self.program} 2", "--function", function)
            self.assertEqual([event["event"] for event in self.read(output)], ["probe:" + function])


class Daemon(Case):
    def setUp(self):
        super().setUp()
        self.runtime = self.folder + "/run"
        os.mkdir(self.runtime, 0o700)
        self.env = {**os.environ, "SIDE_RUNTIME": self.runtime}
        self.addCleanup(self.end)

    def ask(self, *arguments, status=0):
        return self.side(*arguments, status=status, env=self.env)

    def end(self):
        with contextlib.suppress(Exception):
            found = self.ask("daemon", "--json", "--no-daemon")
            self.ask("destroy", "-a")
            os.kill(json.loads(found.stdout.splitlines()[0])["pid"], signal.SIGTERM)

    def run_program(self, rounds):
        subprocess.run([self.program, str(rounds)], check=True, capture_output=True)

    def test_session(self):
        """Each hit between `start` and `stop` is recorded, and no other one."""
        output = self.output()
        self.ask("create", "dinner", "-o", output)
        said = self.ask("enable-event", "cook", "--global", "--exe", self.program, "--function", "cook", "--exit", "--arg", "guests")
        self.assertIn("2 locations are watched by ", said.stderr)
        self.run_program(1)
        for rounds in (3, 4):
            self.ask("start")
            self.run_program(rounds)
            self.ask("stop")
            self.run_program(1)
        self.ask("start")
        self.run_program(2)
        self.ask("disable-event", "probe:cook*")
        self.run_program(5)
        self.ask("stop")
        events = self.read(output)
        self.assertEqual([event["fields"]["guests"] for event in events if event["event"] == "probe:cook"],
                         [0, 1, 2, 0, 1, 2, 3, 0, 1])
        self.assertEqual(len(events), 18)
        recorder = events[0]["vpid"]

        wait_until(lambda: ended(recorder), "the end of a recorder that no session needs")

    def test_of_a_process(self):
        """Without a file: the file of the process; only its hits count."""
        output = self.output()
        meant, other = (self.start(self.program, "5", "0", "wait") for _ in range(2))
        self.ask("create", "one", "-o", output)
        self.assertIn("global probe needs the file", self.ask("enable-event", "cook", "--global", "--function", "cook", status=2).stderr)
        self.ask("enable-event", "cook", "--global", "--pid", str(meant.pid), "--function", "cook")
        self.ask("start")
        for process in meant, other:
            process.communicate("\n")
        self.ask("stop")
        self.assertEqual([event["fields"]["pid"] for event in self.read(output)], [meant.pid] * 5)

    def test_twice(self):
        """The second probe of a name replaces the first."""
        output = self.output()
        self.ask("create", "dinner", "-o", output)
        self.ask("start")
        for _ in range(2):
            self.ask("enable-event", "cook", "--global", "--exe", self.program, "--function", "cook")
        self.run_program(6)
        self.ask("stop")
        self.assertEqual(len(self.read(output)), 6)
        self.ask("destroy")

    def test_of_one_session(self):
        """Probes of one session, or of a trace, are not recorded by other sessions that select program events of the same name."""
        outputs = {name: self.output() for name in ("dinner", "tea", "all")}
        for name, output in outputs.items():
            self.ask("create", name, "-o", output)
        self.ask("enable-event", "cook", "-s", "dinner", "--global", "--exe", self.program, "--function", "cook")
        self.ask("enable-event", "-s", "tea", "-u", "probe:cook*")
        self.ask("enable-event", "-s", "all", "-u", "*")
        for name in outputs:
            self.ask("start", name)
        self.run_program(3)
        # With a running daemon that this command does not use.
        traced = self.trace(f"{self.program} 2", "--function", "cook", env=self.env)
        self.assertEqual(len(traced), 2, self.said.stderr)
        found = {}
        for name, output in outputs.items():
            self.ask("stop", name)
            found[name] = [event["event"] for event in self.read(output)] if os.path.isdir(output) and os.listdir(output) else []
        self.assertEqual(found["dinner"], ["probe:cook"] * 5)
        self.assertEqual(found["tea"], [])
        self.assertNotIn("probe:cook", found["all"])

    def test_killed(self):
        """A killed recorder of a session leaves nothing in programs; the session can set the probe again."""
        for method in ("uprobe_multi", "tracefs"):
            output = self.output()
            self.ask("create", "dinner", "-o", output)
            self.ask("start")
            probe = ("enable-event", "cook", "--global", "--by", method, "--exe", self.program, "--function", "cook")
            self.ask(*probe)
            self.run_program(2)
            # Hits in the kernel's buffer are lost with its reader; hits before a stop are recorded.
            self.ask("stop")
            self.ask("start")
            recorder = self.recorder()
            os.kill(recorder, signal.SIGKILL)
            wait_until(lambda recorder=recorder: ended(recorder), "its end")
            self.ask(*probe)
            self.assertNotIn(f"side_{recorder}_", shell("cat uprobe_events"))
            self.run_program(3)
            self.ask("stop")
            self.ask("destroy")
            self.assertEqual(len(self.read(output)), 5, method)

    def recorder(self):
        """The recorder of this daemon."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/comm", "rb") as comm, open(f"/proc/{pid}/environ", "rb") as environ:
                    if comm.read() == b"side-uprobes\n" and f"SIDE_RUNTIME={self.runtime}".encode() in environ.read():
                        return int(pid)
        raise AssertionError("no process watches")

    def test_refused(self):
        self.ask("create", "dinner", "-o", self.output())
        self.ask("enable-event", "cook", "--global", "--function", "cook", status=2)
        said = self.ask("enable-event", "cook", "--global", "--exe", self.program, "--function", "cok", status=1)
        self.assertIn("did you mean `cook`?", said.stderr)


class Guide(Daemon):
    """Runs each command of the page in order."""
    test_session = test_twice = test_refused = test_killed = None

    def test_page(self):
        page = os.path.join(HERE, "../../../docs/how-to/global-probes.md")
        with open(page, encoding="utf-8") as file:
            commands = guide.commands(file.read())
        self.assertGreater(len(commands), 8)
        env = {**self.env, "PATH": os.path.dirname(SIDE) + ":" + os.environ["PATH"], "HOME": self.folder, "LANG": "C.UTF-8"}
        for command, lines in commands:
            guide.run_command(command, lines, self.folder, env)


def main():
    if platform.machine() != "x86_64" or os.geteuid():
        print("global probes need root and an x86-64 processor here")
        return 77
    reason = permitted()
    if reason and not INSIDE and not machine.why_not():
        status, out = machine.run([sys.executable, "-B", os.path.realpath(__file__), *sys.argv[1:]],
                                  [("GLOBAL_INSIDE", "1"), *((name, os.environ[name]) for name in
                                                             ("SIDE", "GLOBAL_PROGRAM", "GLOBAL_REFUSE", "SIDE_LIB_DIR") if name in os.environ)],
                                  patience=900)
        print(out)
        return 1 if status is None else status
    if reason:
        print(f"the kernel watches nothing for us: {reason}")
        return 77
    unittest.main(verbosity=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
