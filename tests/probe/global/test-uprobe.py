#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Locations of one process that would need a breakpoint, and that the kernel watches instead (uprobes): each method
records all calls of the program; forked children set their own probes; nothing remains afterwards, and without
permission for uprobes there are breakpoints. The same for a program that side starts.

usage: test-uprobe.py [TEST...]
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
from waiting import wait_until

SIDE = os.environ["SIDE"]
PROGRAM = os.environ["UPROBE_PROGRAM"]
BOTH = os.environ["UPROBE_BOTH"]
LIBRARY = os.environ["UPROBE_LIBRARY"]
MANY = os.environ["UPROBE_MANY"]
REFUSE = os.environ["GLOBAL_REFUSE"]
TIMEOUT = 120
EMULATED = ("begins_push", "begins_push_high", "begins_nop", "begins_jump", "begins_condition")
OTHERS = ("begins_stepped", "begins_plain")
# In the order of execution.
FUNCTIONS = ("begins_push", "begins_push_high", "begins_nop", "begins_jump", "begins_condition", "begins_stepped", "begins_plain")
EACH = ("--function", "begins_*", "--arg", "s64:number:%rdx")


def ended(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def watchers(pid):
    """The processes that have the kernel watch that process."""
    found = []
    for other in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{other}/cmdline", "rb") as file:
            arguments = file.read().split(b"\0")
            if b"side-uprobes" in arguments[0] and b"--process" in arguments and arguments[arguments.index(b"--process") + 1] == str(pid).encode():
                found.append(int(other))
    return found


def permitted():
    done = subprocess.run([SIDE, "--json", "probe", "list", PROGRAM, "begins_push"], capture_output=True, text=True, check=False)
    return '"method":"uprobe"' in done.stdout


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="side-uprobe-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        # A separate file: uprobes belong to the file, and other processes may execute the original.
        self.program = self.folder + "/watched"
        shutil.copy(PROGRAM, self.program)
        self.env = {**os.environ, "SIDE_RUNTIME": self.folder + "/run"}
        os.mkdir(self.folder + "/run", 0o700)
        self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        self.pid = int(self.process.stdout.readline())
        self.places = self.find_places()
        self.traces = 0

    def end(self):
        with contextlib.suppress(Exception):
            found = self.side("daemon", "--json", "--no-daemon")
            self.side("destroy", "-a")
            os.kill(json.loads(found.stdout.splitlines()[0])["pid"], signal.SIGTERM)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def side(self, *arguments, status=0, before=()):
        done = subprocess.run([*before, SIDE, *arguments], capture_output=True, text=True, timeout=TIMEOUT, check=False, env=self.env)
        if status is not None:
            self.assertEqual(done.returncode, status, f"{arguments}: {done.stdout}{done.stderr}")
        return done

    def output(self):
        self.traces += 1
        return f"{self.folder}/trace-{self.traces}"

    def find_places(self):
        """Addresses in the process, with the bytes of the file."""
        done = self.side("--json", "probe", "list", str(self.pid), "watched:begins_*")
        sites = [json.loads(line) for line in done.stdout.splitlines()]
        self.methods = {site["function"]: site["method"] for site in sites if site["type"] == "probe_site"}
        return {site["function"]: (site["runtime"], int(site["bytes"][:2], 16)) for site in sites if site["type"] == "probe_site"}

    def byte(self, function):
        with open(f"/proc/{self.pid}/mem", "rb") as memory:
            memory.seek(self.places[function][0])
            return memory.read(1)[0]

    def assert_own_bytes(self):
        for function, (_, byte) in self.places.items():
            self.assertEqual(self.byte(function), byte, function)

    def turn(self, line):
        """Lets the program execute one request, and waits until it is done."""
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        self.assertEqual(int(self.process.stdout.readline()), int(str(line).split()[-1]))

    def stepped(self):
        """Returns whether the kernel has ever single-stepped an instruction of the process."""
        with open(f"/proc/{self.pid}/maps", encoding="utf-8", errors="replace") as maps:
            return "[uprobes]" in maps.read()

    def read(self, output):
        done = self.side("view", "--json", output)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        return [event for event in events if event["type"] == "event" and event["event"] != "side:uprobes"]

    def numbers(self, events, pid=None):
        """The arguments of each function's calls, in order, of all processes or one."""
        found = {}
        for event in events:
            fields = event["fields"]
            if pid is None or fields.get("pid", event["vpid"]) == pid:
                self.assertEqual(fields["address"], self.places[fields["function"]][0])
                found.setdefault(fields["function"], []).append(fields["number"])
        return found

    def check(self, events, times, pid=None):
        self.assertEqual(self.numbers(events, pid), {function: times for function in EMULATED + OTHERS})

    @contextlib.contextmanager
    def recording(self, *arguments, before=()):
        """Runs during a recording; the messages are in self.said afterwards."""
        output = self.output()
        recorder = subprocess.Popen([*before, SIDE, "-v", "trace", "-p", str(self.pid), "-o", output, *arguments], stderr=subprocess.PIPE, text=True,
                                    env=self.env)
        said = []
        while not said or " is set in process" not in said[-1]:
            said.append(recorder.stderr.readline())
            self.assertTrue(said[-1], said)
        self.recorder = recorder
        yield output
        if recorder.poll() is None:
            recorder.send_signal(signal.SIGINT)
        self.said = "".join(said) + recorder.communicate(timeout=TIMEOUT)[1]


class Watched(Case):
    def setUp(self):
        super().setUp()
        if not permitted():
            self.skipTest("the kernel watches nothing for us here")

    def test_list(self):
        for function in EMULATED:
            self.assertEqual(self.methods[function], "uprobe")
        self.assertEqual(self.methods["begins_stepped"], "breakpoint")
        self.assertEqual(self.methods["begins_plain"], "jump")
        said = self.side("probe", "list", self.program, "begins_*").stderr
        self.assertIn("1 jump, 0 padding, 0 short, 0 punned, 5 uprobe, 1 breakpoint, 0 none", said)

    def test_same(self):
        """The kernel records the same as the process would, without a single step; then everything is as before."""
        with self.recording(*EACH) as output:
            for function in EMULATED:
                self.assertEqual(self.byte(function), 0xcc)
            self.turn(1000)
            self.turn(3)
        self.assertIn("7 of 7 locations: 1 jump, 1 breakpoint, 5 uprobe", self.said)
        self.assertIn("the kernel watches 5 of the locations (uprobe)", self.said)
        self.assertFalse(self.stepped())
        self.assert_own_bytes()
        self.assertEqual(watchers(self.pid), [])
        events = self.read(output)
        self.check(events, [*range(1000), *range(3)])
        stamps = [event["time"] for event in events]
        self.assertEqual(stamps, sorted(stamps))
        self.turn(2)
        with self.recording(*EACH, "--no-uprobe") as output:
            self.turn(1000)
            self.turn(3)
        self.assertIn("7 of 7 locations: 1 jump, 6 breakpoint", self.said)
        self.check(self.read(output), [*range(1000), *range(3)])
        self.assert_own_bytes()

    def test_filter(self):
        with self.recording(*EACH, "--filter", "number >= 7") as output:
            self.turn(10)
        self.assertIn("5 uprobe", self.said)
        self.check(self.read(output), [7, 8, 9])

    def test_not(self):
        """The process records locations that the kernel does not watch, or would record differently."""
        for arguments in (("--context", "vtid"), ("--filter", "$ctx.vtid > 0")):
            with self.recording(*EACH, *arguments) as output:
                self.turn(2)
            self.assertIn("1 jump, 6 breakpoint", self.said)
            self.assertIn("of a uprobe: the probe records or filters contexts of the process", self.said)
            self.check(self.read(output), [0, 1])
            self.assert_own_bytes()

    def test_returns(self):
        """Returns are seen in the process; if no return is watched, the kernel may watch the entry."""
        with self.recording(*EACH, "--exit") as output:
            self.turn(2)
        self.assertIn("1 jump, 4 breakpoint, 2 uprobe", self.said)
        events = self.read(output)
        self.check([event for event in events if event["event"] == "probe:begins"], [0, 1])
        self.assertEqual(sum(event["event"] == "probe:begins_return" for event in events), 2 * 5)

    def test_fork(self):
        """Children of any depth have the probes of their parent, and set them by themselves."""
        with self.recording(*EACH) as output:
            self.turn(2)
            self.turn("fork 3")
            self.turn("fork 4")
            self.turn(1)
        events = self.read(output)
        self.check(events, [0, 1, 0], self.pid)
        children = {event["vpid"] for event in events if "pid" not in event["fields"]} - {self.pid}
        self.assertEqual(len(children), 2)
        for pid, times in zip(sorted(children), ([0, 1, 2], [0, 1, 2, 3])):
            self.check(events, times, pid)
        self.assert_own_bytes()

    def test_killed(self):
        """The recorder is killed: no process watches any more, and the next recording is complete."""
        with self.recording(*EACH):
            self.turn(1)
            watcher = watchers(self.pid)[0]
            self.recorder.kill()
            wait_until(lambda: ended(watcher), "the end of who watches")
            for function in EMULATED:
                self.assertEqual(self.byte(function), self.places[function][1])
            self.turn(5)
        self.side("detach", str(self.pid))
        with self.recording(*EACH) as output:
            self.turn(3)
        self.check(self.read(output), [0, 1, 2])

    def test_watcher_killed(self):
        """Hits after the end of the watcher are not counted, so side reports that it has exited."""
        with self.recording(*EACH) as output:
            self.turn(3)
            os.kill(watchers(self.pid)[0], signal.SIGKILL)
            wait_until(lambda: not watchers(self.pid), "the end of who watches")
            self.turn(5)
        self.assertIn("hits of uprobes are missing at the end of the trace: side-uprobes was killed by signal 9", self.said)
        found = self.numbers(self.read(output))
        self.assertEqual({function: found[function] for function in OTHERS}, {function: [*range(3), *range(5)] for function in OTHERS})

    def test_ends(self):
        """The program exits: all hits until then are recorded."""
        with self.recording(*EACH) as output:
            self.turn(50)
            self.process.stdin.close()
            self.process.wait(TIMEOUT)
            self.recorder.wait(TIMEOUT)
        self.assertEqual(self.process.returncode, 0)
        self.check(self.read(output), [*range(50)])


class Session(Case):
    def setUp(self):
        super().setUp()
        if not permitted():
            self.skipTest("the kernel watches nothing for us here")
        self.trace = self.output()
        self.side("create", "evening", "-o", self.trace)
        self.side("start")

    def enable(self, name, *arguments, said):
        done = self.side("enable-event", name, "-u", "--pid", str(self.pid), *(arguments or EACH))
        self.assertIn(said, done.stderr)

    def events(self, name):
        return [event for event in self.read(self.trace) if event["event"] == "probe:" + name]

    def test_session(self):
        """Between `enable-event` and `disable-event`, and while the session records."""
        self.turn(1)
        self.enable("each", said="7 of 7 locations (1 jump, 1 breakpoint, 5 uprobe)")
        self.assertIn("1 by jump, 1 by breakpoint, 5 by uprobe", self.side("status").stdout)
        self.turn(5)
        self.turn("fork 2")
        self.side("stop")
        self.assert_own_bytes()
        self.turn(3)
        self.side("start")
        self.turn(4)
        watcher = watchers(self.pid)[0]
        self.side("disable-event", "each", "-u", "--pid", str(self.pid))
        self.assert_own_bytes()
        wait_until(lambda: ended(watcher), "the end of who watches")
        self.turn(6)
        self.side("stop")
        events = self.events("each")
        self.check(events, [*range(5), *range(4)], self.pid)
        child = ({event["vpid"] for event in events if "pid" not in event["fields"]} - {self.pid}).pop()
        self.check(events, [0, 1], child)

    def test_again(self):
        """A probe of the same name replaces the former one, whatever the methods."""
        for arguments, said in ((EACH, "5 uprobe"), (EACH, "5 uprobe"), ((*EACH, "--no-uprobe"), "6 breakpoint"),
                            # Existing probes are not changed.
                            (EACH, "6 breakpoint")):
            self.enable("each", *arguments, said=said)
            self.turn(2)
        self.side("add-context", "-u", "-e", "each", "--pid", str(self.pid), "-t", "vtid")
        self.turn(2)
        self.side("stop")
        self.check(self.events("each"), [0, 1] * 5)
        self.assert_own_bytes()

    def test_two(self):
        """Two probes at one location: if the process sets the second, the first records all hits, too."""
        self.enable("each", said="5 uprobe")
        self.turn(2)
        self.enable("push", "--function", "begins_push", "--arg", "s64:number:%rdx", said="1 breakpoint")
        self.turn(3)
        self.side("disable-event", "push", "-u", "--pid", str(self.pid))
        self.turn(4)
        self.side("stop")
        self.check(self.events("each"), [*range(2), *range(3), *range(4)])
        self.assertEqual([event["fields"]["number"] for event in self.events("push")], [0, 1, 2])
        self.assert_own_bytes()

    def test_remembers(self):
        """A probe that the kernel did not watch at first is not watched by it later."""
        self.enable("each", *EACH, "--no-uprobe", said="6 breakpoint")
        self.turn(2)
        self.side("add-context", "-u", "-e", "each", "--pid", str(self.pid), "-t", "reg:rsp")
        self.assertEqual(watchers(self.pid), [])
        self.turn(3)
        self.side("save", "-o", self.folder + "/saved")
        self.side("destroy")
        self.check(self.events("each"), [0, 1, 0, 1, 2])
        self.assertTrue(all("rsp" in str(event["fields"]) for event in self.events("each")[-7:]))
        self.side("load", self.folder + "/saved", "-s", "later")
        self.assertEqual(watchers(self.pid), [])
        self.side("destroy", "later")
        self.assert_own_bytes()


class Started(unittest.TestCase):
    """The same for a program that is started: `side trace -c`."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="side-uprobe-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.program = self.folder + "/watched"
        shutil.copy(PROGRAM, self.program)
        # It is started while other recordings run, which do not concern it.
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("SIDE_AGENT")}
        self.env["LD_LIBRARY_PATH"] = self.folder
        self.traces = 0

    def start(self, *arguments, before=(), places=EACH):
        self.traces += 1
        self.output = f"{self.folder}/trace-{self.traces}"
        self.recorder = subprocess.Popen([*before, SIDE, "-v", "trace", "-o", self.output, "-c", self.program, *places, *arguments],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env)
        self.pid = int(self.recorder.stdout.readline())

    def turn(self, line):
        self.recorder.stdin.write(f"{line}\n")
        self.recorder.stdin.flush()
        self.assertEqual(int(self.recorder.stdout.readline()), int(str(line).split()[-1]))

    def finish(self, status=0):
        """The events in the order of time, by process, as the recorder has written them."""
        _, self.said = self.recorder.communicate(timeout=TIMEOUT)
        self.assertEqual(self.recorder.returncode, status, self.said)
        self.assertEqual(watchers(self.pid), [])
        done = subprocess.run([SIDE, "view", "--json", self.output], capture_output=True, text=True, check=True, env=self.env)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        events = [event for event in events if event["type"] == "event" and event["event"] == "probe:begins"]
        found = {}
        for event in events:
            fields = event["fields"]
            found.setdefault(fields.get("pid", event["vpid"]), []).append((fields["function"], fields["number"]))
        self.by_kernel = sum("pid" in event["fields"] for event in events)
        return found

    def run_all(self, lines, *arguments, **named):
        self.start(*arguments, **named)
        for line in lines:
            self.turn(line)
        return self.finish()

    @staticmethod
    def calls(*times):
        """The calls in their order."""
        return [(function, number) for count in times for number in range(count) for function in FUNCTIONS]

    def need_kernel(self):
        if not permitted():
            self.skipTest("the kernel watches nothing for us here")

    def test_same(self):
        """The kernel and breakpoints record the same values in the same order."""
        self.need_kernel()
        found = self.run_all((1000, 3))
        self.assertIn("7 of 7 locations: 1 jump, 1 breakpoint, 5 uprobe", self.said)
        self.assertIn("the kernel watches 5 of the locations (uprobe)", self.said)
        self.assertIn("1 of the locations got a breakpoint instead of a uprobe: the kernel would single-step", self.said)
        self.assertEqual(self.by_kernel, 5 * 1003)
        self.assertEqual(found, {self.pid: self.calls(1000, 3)})
        found = self.run_all((1000, 3), "--no-uprobe")
        self.assertIn("7 of 7 locations: 1 jump, 6 breakpoint", self.said)
        self.assertIn("of a uprobe: `--no-uprobe` is given", self.said)
        self.assertEqual(self.by_kernel, 0)
        self.assertEqual(found, {self.pid: self.calls(1000, 3)})

    def test_children(self):
        """Children set such probes by themselves: forked ones, those that execute the program again, and the process itself after exec."""
        self.need_kernel()
        for arguments in ((), ("--no-uprobe",)):
            found = self.run_all((2, "fork 3", "start 4", 1, "exec 5", 6, "fork 7"), *arguments)
            self.assertEqual(self.by_kernel, 0 if arguments else 5 * 3)
            self.assertEqual(found.pop(self.pid), self.calls(2, 1, 5, 6))
            self.assertEqual(sorted(found.values(), key=len), [self.calls(3), self.calls(4), self.calls(7)])

    def test_library(self):
        """Locations of a library are watched like those of the program."""
        self.need_kernel()
        shutil.copy(BOTH, self.program)
        shutil.copy(LIBRARY, self.folder)
        for arguments, said, kernel in (((), "2 jump, 2 breakpoint, 10 uprobe", 10 * 20), (("--no-uprobe",), "2 jump, 12 breakpoint", 0)):
            found = self.run_all((20,), *arguments, places=("--function", "*:begins_*", *EACH[2:]))
            self.assertIn("14 of 14 locations: " + said, self.said)
            self.assertEqual(self.by_kernel, kernel)
            self.assertEqual(found, {self.pid: self.calls(20, 20)})

    def test_asked(self):
        """An option that excludes uprobes is reported without `-v`; a property of the code is not."""
        self.need_kernel()
        for number, (arguments, places, why) in enumerate((
                (("--exit",), 3, "the probe records the return"), (("--context", "backtrace"), 5, "a backtrace is recorded"),
                (("--context", "vtid"), 5, "the probe records or filters contexts of the process"), (("--filter", "$ctx.vtid > 0"), 5, "the probe records or filters contexts of the process"))):
            done = subprocess.run([SIDE, "trace", "-o", f"{self.folder}/asked-{number}", "-c", self.program, *EACH, *arguments], input="2\n",
                                  capture_output=True, text=True, check=True, env=self.env, timeout=TIMEOUT)
            self.assertIn(f"{places} of the locations got a breakpoint instead of a uprobe: {why}", done.stderr)
            self.assertNotIn("single-step", done.stderr)
        found = self.run_all((2,))
        self.assertIn("single-step", self.said)
        self.assertEqual(found, {self.pid: self.calls(2)})

    def test_listed(self):
        """`side probe list` prints for each location why it gets a breakpoint and not a uprobe."""
        self.need_kernel()
        done = subprocess.run([SIDE, "probe", "list", self.program, "begins_*"], capture_output=True, text=True, check=True, env=self.env)
        said = {line.split()[3]: line for line in done.stdout.splitlines()[1:]}
        self.assertEqual({function for function, line in said.items() if "no uprobe: the kernel would single-step" in line}, {"begins_stepped"})

    def test_script(self):
        """The interpreter of a script is watched from its start, also if env executes it."""
        self.env["PATH"] = self.folder + ":" + self.env["PATH"]
        program = self.program
        for number, line in enumerate((program, "/usr/bin/env watched")):
            self.program = f"{self.folder}/script-{number}"
            with open(self.program, "w", encoding="utf-8") as file:
                file.write(f"#!{line}\n")
            os.chmod(self.program, 0o755)
            for arguments in ((), ("--no-uprobe",)):
                found = self.run_all((20, "exec 3", 2), *arguments)
                self.assertIn(f"is a script, which {program} runs", self.said)
                self.assertEqual(found, {self.pid: self.calls(20, 3, 2)})
                self.assertEqual(self.by_kernel, 5 * 20 if permitted() and not arguments else 0)

    def test_filter(self):
        self.need_kernel()
        found = self.run_all((10,), "--filter", "number >= 7")
        self.assertEqual(found, {self.pid: [call for call in self.calls(10) if call[1] >= 7]})
        self.assertEqual(self.by_kernel, 5 * 3)

    def test_ends(self):
        """However the program ends, its calls are recorded; its status is the status of the trace."""
        self.need_kernel()
        self.start()
        self.turn(50)
        os.kill(self.pid, signal.SIGKILL)
        self.assertEqual(self.finish(128 + signal.SIGKILL), {self.pid: self.calls(50)})
        self.start()
        self.turn(50)
        self.recorder.terminate()
        # The end of its input would end the program as well, with status 0.
        self.recorder.wait(timeout=TIMEOUT)
        self.assertEqual(self.finish(128 + signal.SIGTERM), {self.pid: self.calls(50)})

    def test_killed(self):
        """The recorder is killed: no process watches any more, and the program continues."""
        self.need_kernel()
        self.start()
        self.turn(5)
        watcher = watchers(self.pid)[0]
        self.recorder.kill()
        wait_until(lambda: ended(watcher), "the end of who watches")
        self.turn(5)
        self.recorder.communicate(timeout=TIMEOUT)
        wait_until(lambda: ended(self.pid), "the end of the program")

    def test_watcher_killed(self):
        """Hits after the end of the watcher are not counted, so side reports that it has exited; the program continues."""
        self.need_kernel()
        self.start()
        self.turn(3)
        os.kill(watchers(self.pid)[0], signal.SIGKILL)
        self.turn(5)
        found = self.finish()[self.pid]
        self.assertIn("hits of uprobes are missing at the end of the trace: side-uprobes was killed by signal 9", self.said)
        self.assertEqual([call for call in found if call[0] in OTHERS], [call for call in self.calls(3, 5) if call[0] in OTHERS])

    def test_not_run(self):
        """A file that cannot be executed is reported, and no process watches."""
        self.need_kernel()
        with open(self.program, "r+b") as file:
            whole = file.read()
            file.seek(whole.index(b"/ld-linux-x86-64.so.2"))
            file.write(b"/ld-nothing-64.so.222")
        done = subprocess.run([SIDE, "trace", "-o", self.folder + "/none", "-c", self.program, *EACH], capture_output=True, text=True, check=False,
                              env=self.env, timeout=TIMEOUT)
        self.assertEqual(done.returncode, 126)
        self.assertIn("the interpreter that it names does not exist", done.stderr)
        self.assertFalse(os.path.exists(self.folder + "/none"))

    def test_slow(self):
        """Kernels that remove probes one by one get few of them, because that takes long; the other locations get
        breakpoints. The same if the descriptors do not suffice for all of them.
        """
        self.need_kernel()
        for before, places, said, kernel in (
                ((), "short_*", "the kernel watches 20 of the locations", 20),
                ((REFUSE, "multi"), "short_1*", "the kernel watches 11 of the locations", 11),
                ((REFUSE, "multi"), "short_*", "20 of the locations got a breakpoint instead of a uprobe: the kernel has no uprobe_multi", 0),
                (("prlimit", "--nofile=32", REFUSE, "multi"), "short_*", "20 of the locations got a breakpoint instead of a uprobe", 0)):
            self.traces += 1
            output = f"{self.folder}/trace-{self.traces}"
            done = subprocess.run([*before, SIDE, "-v", "trace", "-o", output, "-c", MANY, "--function", places], capture_output=True, text=True,
                                  check=False, env=self.env, timeout=TIMEOUT)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(said, done.stderr)
            done = subprocess.run([SIDE, "view", "--json", output], capture_output=True, text=True, check=True, env=self.env)
            events = [json.loads(line) for line in done.stdout.splitlines()]
            events = [event["fields"] for event in events if event["type"] == "event" and event["event"].startswith("probe:short")]
            self.assertEqual(len({event["function"] for event in events}), len(events))
            self.assertEqual((len(events), sum("pid" in event for event in events)), (20 if places == "short_*" else 11, kernel))

    def test_none(self):
        """Uprobes are not permitted: side sets breakpoints and reports why."""
        found = self.run_all((20,), before=(REFUSE, "perf"))
        self.assertIn("1 jump, 6 breakpoint", self.said)
        self.assertIn("5 of the locations got a breakpoint instead of a uprobe: ", self.said)
        self.assertEqual(found, {self.pid: self.calls(20)})


class Some(Case):
    """If the kernel can watch a part of the locations, it watches that part."""

    def setUp(self):
        if not permitted():
            self.skipTest("the kernel watches nothing for us here")
        super().setUp()

    def test_replaced(self):
        """A library of a running program has been replaced: the process watches its locations, and the kernel those of the program."""
        self.end()
        shutil.copy(BOTH, self.program)
        shutil.copy(LIBRARY, self.folder)
        library = f"{self.folder}/{os.path.basename(LIBRARY)}"
        self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "LD_LIBRARY_PATH": self.folder})
        self.pid = int(self.process.stdout.readline())
        shutil.copy(LIBRARY, library + ".new")
        os.rename(library + ".new", library)
        with self.recording("--function", "*:begins_*", *EACH[2:]) as output:
            self.turn(20)
        self.assertIn("14 of 14 locations: 2 jump, 7 breakpoint, 5 uprobe", self.said)
        self.assertIn(f"5 of the locations got a breakpoint instead of a uprobe: {library} is not loaded", self.said)
        found = {}
        for event in self.read(output):
            found.setdefault(event["fields"]["function"], []).append(event["fields"]["number"])
        self.assertEqual(found, {function: [*range(20), *range(20)] for function in FUNCTIONS})


class Refused(Case):
    def test_none(self):
        """Uprobes are not permitted: side sets breakpoints and reports why."""
        with self.recording(*EACH, before=(REFUSE, "perf")) as output:
            self.turn(20)
        self.assertIn("1 jump, 6 breakpoint", self.said)
        self.assertIn("5 of the locations got a breakpoint instead of a uprobe: ", self.said)
        self.check(self.read(output), [*range(20)])
        self.assert_own_bytes()
        done = self.side("probe", "list", self.program, "begins_push", before=(REFUSE, "perf"))
        self.assertTrue(done.stdout.splitlines()[1].startswith("breakpoint "), done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=1)
