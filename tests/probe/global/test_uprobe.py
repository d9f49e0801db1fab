#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Places of one process that could have a breakpoint only, and that the kernel watches instead (uprobes): what is recorded is what the
program did, whichever way; forked children go on by themselves; nothing stays behind, and where the kernel may not be asked there are
breakpoints.

usage: test_uprobe.py [TEST...]
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

SIDE = os.environ["SIDE"]
PROGRAM = os.environ["UPROBE_PROGRAM"]
REFUSE = os.environ["GLOBAL_REFUSE"]
PATIENCE = 120
EMULATED = ("begins_push", "begins_push_high", "begins_nop", "begins_jump", "begins_condition")
OTHERS = ("begins_stepped", "begins_plain")
EACH = ("--function", "begins_*", "--arg", "s64:number:%rdx")


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"never came: {what}")
        time.sleep(0.01)


def ended(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def watchers(pid):
    """Who has the kernel watch that process."""
    found = []
    for other in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{other}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
            if b"side-uprobes" in words[0] and b"--process" in words and words[words.index(b"--process") + 1] == str(pid).encode():
                found.append(int(other))
    return found


def permitted():
    done = subprocess.run([SIDE, "--json", "probe", "list", PROGRAM, "begins_push"], capture_output=True, text=True, check=False)
    return '"method":"uprobe"' in done.stdout


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="side-uprobe-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        # A file of its own: uprobes are the file's, and others may run that one.
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

    def side(self, *words, status=0, before=()):
        done = subprocess.run([*before, SIDE, *words], capture_output=True, text=True, timeout=PATIENCE, check=False, env=self.env)
        if status is not None:
            self.assertEqual(done.returncode, status, f"{words}: {done.stdout}{done.stderr}")
        return done

    def output(self):
        self.traces += 1
        return f"{self.folder}/trace-{self.traces}"

    def find_places(self):
        """Addresses in the process, with what the file has there."""
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
        """The program does it, and has done it."""
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        self.assertEqual(int(self.process.stdout.readline()), int(str(line).split()[-1]))

    def stepped(self):
        """Whether the kernel has ever executed a copy of an instruction of it."""
        with open(f"/proc/{self.pid}/maps", encoding="utf-8", errors="replace") as maps:
            return "[uprobes]" in maps.read()

    def read(self, output):
        done = self.side("view", "--json", output)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        return [event for event in events if event["type"] == "event" and event["event"] != "side:uprobes"]

    def numbers(self, events, pid=None):
        """Of each function the arguments of its calls, in order, of all processes or one."""
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
    def recording(self, *words, before=()):
        """While it is recorded; what was said is in self.said afterwards."""
        output = self.output()
        recorder = subprocess.Popen([*before, SIDE, "-v", "trace", "-p", str(self.pid), "-o", output, *words], stderr=subprocess.PIPE, text=True,
                                    env=self.env)
        said = []
        while not said or " is set in process" not in said[-1]:
            said.append(recorder.stderr.readline())
            self.assertTrue(said[-1], said)
        self.recorder = recorder
        yield output
        if recorder.poll() is None:
            recorder.send_signal(signal.SIGINT)
        self.said = "".join(said) + recorder.communicate(timeout=PATIENCE)[1]


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
        """What the kernel sees is what the process would see, without a step; then all is as before."""
        with self.recording(*EACH) as output:
            for function in EMULATED:
                self.assertEqual(self.byte(function), 0xcc)
            self.turn(1000)
            self.turn(3)
        self.assertIn("7 of 7 places: 1 jump, 1 breakpoint, 5 uprobe", self.said)
        self.assertIn("the kernel watches 5 of the places (uprobe)", self.said)
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
        self.assertIn("7 of 7 places: 1 jump, 6 breakpoint", self.said)
        self.check(self.read(output), [*range(1000), *range(3)])
        self.assert_own_bytes()

    def test_filter(self):
        with self.recording(*EACH, "--filter", "number >= 7") as output:
            self.turn(10)
        self.assertIn("5 uprobe", self.said)
        self.check(self.read(output), [7, 8, 9])

    def test_not(self):
        """What the kernel does not know, or sees in another way, the process records."""
        for words in (("--context", "vtid"), ("--filter", "$ctx.vtid > 0")):
            with self.recording(*EACH, *words) as output:
                self.turn(2)
            self.assertIn("1 jump, 6 breakpoint", self.said)
            self.assertIn("no uprobe: contexts of the process", self.said)
            self.check(self.read(output), [0, 1])
            self.assert_own_bytes()

    def test_returns(self):
        """They are seen in the process; where they are not, the kernel may watch the entry."""
        with self.recording(*EACH, "--exit") as output:
            self.turn(2)
        self.assertIn("1 jump, 4 breakpoint, 2 uprobe", self.said)
        events = self.read(output)
        self.check([event for event in events if event["event"] == "probe:begins"], [0, 1])
        self.assertEqual(sum(event["event"] == "probe:begins_return" for event in events), 2 * 5)

    def test_fork(self):
        """Children of any depth have what their parent had, and set it by themselves."""
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
        """Whoever records is killed: nobody watches any more, and the next recording is whole."""
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

    def test_ends(self):
        """The program ends: what it did until then is recorded."""
        with self.recording(*EACH) as output:
            self.turn(50)
            self.process.stdin.close()
            self.process.wait(PATIENCE)
            self.recorder.wait(PATIENCE)
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

    def enable(self, name, *words, said):
        done = self.side("enable-event", name, "-u", "--pid", str(self.pid), *(words or EACH))
        self.assertIn(said, done.stderr)

    def events(self, name):
        return [event for event in self.read(self.trace) if event["event"] == "probe:" + name]

    def test_session(self):
        """Between `enable-event` and `disable-event`, and while the session records."""
        self.turn(1)
        self.enable("each", said="7 of 7 places (1 jump, 1 breakpoint, 5 uprobe)")
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
        """A probe of the same name takes the place of the former one, whichever way each has."""
        for words, said in ((EACH, "5 uprobe"), (EACH, "5 uprobe"), ((*EACH, "--no-uprobe"), "6 breakpoint"),
                            # What is there already is let be.
                            (EACH, "6 breakpoint")):
            self.enable("each", *words, said=said)
            self.turn(2)
        self.side("add-context", "-u", "-e", "each", "--pid", str(self.pid), "-t", "vtid")
        self.turn(2)
        self.side("stop")
        self.check(self.events("each"), [0, 1] * 5)
        self.assert_own_bytes()

    def test_two(self):
        """Two probes at one place: where the process sets the second, the first has all that it sees, too."""
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


class Refused(Case):
    def test_none(self):
        """No uprobes for who records: breakpoints, and why."""
        with self.recording(*EACH, before=(REFUSE, "perf")) as output:
            self.turn(20)
        self.assertIn("1 jump, 6 breakpoint", self.said)
        self.assertIn("5 of the places can have a breakpoint only, and no uprobe: ", self.said)
        self.check(self.read(output), [*range(20)])
        self.assert_own_bytes()
        done = self.side("probe", "list", self.program, "begins_push", before=(REFUSE, "perf"))
        self.assertTrue(done.stdout.splitlines()[1].startswith("breakpoint "), done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=1)
