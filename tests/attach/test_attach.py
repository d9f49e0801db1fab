# SPDX-License-Identifier: MIT
"""Attaching to running programs: the recorded events are compared with those that babeltrace2 reads,
and the state afterwards with /proc.
"""
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import bt2

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import wait_until

SIDE = os.environ["SIDE"]
PROGRAM = os.environ["ATTACH_PROGRAM"]
PLAIN = os.environ["ATTACH_PLAIN"]
SANITIZED = os.environ.get("ATTACH_SANITIZE", "none") != "none"
LONG = bool(os.environ.get("SIDE_TEST_LONG"))
TIMEOUT = 60
ROUNDS = 1000 if LONG else 20

# On a busy machine the agent waits longer for a recorder.
os.environ.setdefault("SIDE_TIMEOUT_FACTOR", "30")
os.environ.setdefault("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
os.environ.setdefault("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0")


def events(path):
    """Returns (name, values) of each event of a trace, in order."""
    found = []
    for root, _, files in sorted(os.walk(path)):
        if "metadata" not in files:
            continue
        for one in bt2.TraceCollectionMessageIterator(root):
            if isinstance(one, bt2._EventMessageConst):
                found.append((one.event.name, {name: value for name, value in one.event.payload_field.items()}))
    return found


def ticks(path):
    """Returns the sequence numbers of the ticks in a trace, and checks all their other fields."""
    numbers = []
    for name, values in events(path):
        if name != "attach:tick":
            assert name != "side:lost", "events were lost"
            continue
        sequence = int(values["sequence"])
        assert int(values["square"]) == sequence * sequence & 0xffffffff, values
        assert str(values["text"]) == f"number {sequence}", values
        numbers.append(sequence)
    return numbers


class Program:
    def __init__(self, words, before=(), env=None, **options):
        environment = {**os.environ, **(env or {})}
        for name in ("SIDE_AGENT_SOCKET", "LD_PRELOAD"):
            environment.pop(name, None)
        self.process = subprocess.Popen([*before, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment, **options)
        self.pid = self.process.pid

    def expect(self, text):
        line = self.process.stdout.readline()
        assert line.startswith(text), f"{line!r} instead of {text!r}"
        return line.split()

    def ask(self, question, answer):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return self.expect(answer)

    def tick(self, nr):
        """Fires events, and returns their sequence numbers."""
        _, first, end = self.ask(f"tick {nr}", "ticks")
        return list(range(int(first), int(end)))

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


LIBC_SIGNALS = 1 << 31 | 1 << 32


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="side-attach-test-")
        os.chmod(self.dir, 0o755)
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.runtime = self.file("runtime")
        os.mkdir(self.runtime, 0o755)
        self.outputs = 0
        # The directory in which recordings and programs meet; all that killed ones leave is removed
        # with it.
        os.environ["TMPDIR"] = self.dir
        self.addCleanup(os.environ.pop, "TMPDIR")

    def file(self, name):
        return os.path.join(self.dir, name)

    def start(self, *words, program=PROGRAM, ready=True, env=None, **options):
        started = Program([program, *words], env={"SIDE_RUNTIME": self.runtime, **(env or {})}, **options)
        self.addCleanup(started.kill)
        if ready:
            started.expect("ready")
        return started

    def side(self, *words, status=0):
        done = subprocess.run([SIDE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=TIMEOUT, env={**os.environ, "SIDE_RUNTIME": self.runtime})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def output(self):
        self.outputs += 1
        return self.file(f"out-{self.outputs}")

    def attach(self, pid, *words, json_too=True):
        """Starts `side attach`, and returns when it records. Its output is in .output."""
        output = self.output()
        process = subprocess.Popen([SIDE, "attach", *(["--json"] if json_too else []), "-p", str(pid), "-o", output,
                                    *words], stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "SIDE_RUNTIME": self.runtime})
        self.addCleanup(self.end, process)
        process.output = output
        line = process.stderr.readline()
        if not json_too:
            return process
        while json.loads(line)["type"] == "note":
            line = process.stderr.readline()
        process.numbers = json.loads(line)
        self.assertEqual(process.numbers["type"], "attach", line)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()

    def stop(self, process):
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 0, errors)
        lines = [json.loads(line) for line in errors.splitlines()]
        for line in lines:
            self.assertNotEqual(line["type"], "error", line)
        process.left = next((line for line in lines if line["type"] == "detach"), None)
        process.summary = next(line for line in lines if line["type"] == "summary")
        return process.output

    def signals(self, pid):
        """Returns the handled and ignored signals, without those that libc handles once there is a
        second thread, which an attach may have created.
        """
        with open(f"/proc/{pid}/status", encoding="utf-8") as lines:
            masks = dict(line.split() for line in lines if line.startswith(("SigCgt:", "SigIgn:")))
        return {name: int(mask, 16) & ~LIBC_SIGNALS for name, mask in masks.items()}

    def left(self, pid):
        """Returns the threads, the descriptors, the names of mappings, and the handled or ignored
        signals of a program.
        """
        threads = sorted(os.listdir(f"/proc/{pid}/task"))
        files = sorted(os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))
        with open(f"/proc/{pid}/maps", encoding="utf-8") as lines:
            names = {line.split(None, 5)[5].strip() for line in lines if len(line.split(None, 5)) == 6}
        return threads, files, names, self.signals(pid)

    def one_recording(self, program, nr=100, *words):
        attached = self.attach(program.pid, *words)
        numbers = program.tick(nr)
        self.assertEqual(ticks(self.stop(attached)), numbers)
        return attached


class Programs(Case):
    def test_calm(self):
        """Waiting threads continue to wait, and only the libraries are left."""
        program = self.start("calm")
        before = self.left(program.pid)
        program.tick(10)
        attached = self.one_recording(program, 1000)
        self.assertTrue(attached.numbers["loaded"])
        program.tick(10)
        after = self.left(program.pid)
        self.assertEqual(after[0], before[0])
        self.assertEqual(after[1], before[1])
        self.assertEqual(after[3], before[3])
        new = after[2] - before[2]
        self.assertTrue(all(name.endswith("libside-agent.so") for name in new), new)
        # Again, with the agent that is loaded.
        attached = self.one_recording(program, 1000)
        self.assertFalse(attached.numbers["loaded"])
        self.assertEqual(self.left(program.pid)[2], after[2])
        self.assertEqual(program.ask("status", "came-back")[1:], ["0", "wrong", "0"])

    def test_pattern_and_filter(self):
        program = self.start("calm")
        attached = self.attach(program.pid, "-e", "attach:tick", "-f", "sequence % 7 == 3")
        numbers = program.tick(100)
        self.assertEqual(ticks(self.stop(attached)), [one for one in numbers if one % 7 == 3])

    def test_two_at_once(self):
        program = self.start("calm")
        one = self.attach(program.pid)
        first = program.tick(10)
        two = self.attach(program.pid)
        both = program.tick(10)
        self.assertEqual(ticks(self.stop(one)), first + both)
        second = program.tick(10)
        self.assertEqual(ticks(self.stop(two)), both + second)

    def test_two_at_the_same_time(self):
        """Two attach and detach at the same time: one waits for the other, and the program runs on."""
        program = self.start("calm")
        for _ in range(8):
            running = [subprocess.Popen([SIDE, "attach", "-q", "-p", str(program.pid), "-o", self.output(), "--duration", "100ms"],
                                        stderr=subprocess.PIPE, text=True, env={**os.environ, "SIDE_RUNTIME": self.runtime}) for _ in range(2)]
            for process in running:
                _, errors = process.communicate(timeout=TIMEOUT)
                self.assertEqual((process.returncode, errors), (0, ""))
        self.assertEqual(program.ask("status", "came-back")[1:], ["0", "wrong", "0"])

    def test_busy(self):
        """Threads are in malloc() all the time; only main() waits."""
        program = self.start("busy")
        self.one_recording(program, 1000)
        self.assertEqual(program.ask("status", "came-back")[1:], ["0", "wrong", "0"])

    def test_ids(self):
        """Threads call setresuid(), which waits for all threads, all the time."""
        program = self.start("ids")
        for _ in range(4):
            self.one_recording(program, 100)
            before = int(program.ask("status", "came-back")[1])
            wait_until(lambda: int(program.ask("status", "came-back")[1]) >= before + 10, "ten more returns", TIMEOUT)
        self.assertEqual(program.ask("status", "came-back")[2:], ["wrong", "0"])

    def test_alone(self):
        """No thread ever waits."""
        program = self.start("alone")
        attached = self.attach(program.pid, "-e", "attach:*")
        wait_until(lambda: os.path.exists(attached.output) and any(
            os.path.getsize(os.path.join(root, name)) for root, _, files in os.walk(attached.output)
            for name in files if name.startswith("ring")), "a record", TIMEOUT)
        numbers = ticks(self.stop(attached))
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        self.assertTrue(numbers)
        program.process.send_signal(signal.SIGTERM)
        answer = program.expect("ticks")
        self.assertEqual(answer[2:], ["came-back", "0", "wrong", "0"])
        self.assertLess(numbers[-1], int(answer[1]))

    def test_end_of_program(self):
        program = self.start("calm")
        attached = self.attach(program.pid)
        numbers = program.tick(500)
        program.ask("end", "")
        _, errors = attached.communicate(timeout=TIMEOUT)
        self.assertEqual(attached.returncode, 0, errors)
        self.assertEqual(ticks(attached.output), numbers)

    def test_duration(self):
        program = self.start("calm")
        done = self.side("attach", "-p", str(program.pid), "-o", self.output(), "--duration", "100ms")
        self.assertRegex(done.stderr, r"recorded [\d,]+ events? from attach-program")
        self.assertEqual(program.ask("status", "came-back")[1:], ["0", "wrong", "0"])

    def test_uninstrumented(self):
        """A program without libside: the agent is loaded, and reports the addresses of libraries."""
        program = self.start("calm", program=PLAIN)
        attached = self.attach(program.pid, "--symbols")
        numbers = events(self.stop(attached))
        paths = [str(values["path"]) for name, values in numbers if name == "side:library_load"]
        with open(f"/proc/{program.pid}/maps", encoding="utf-8") as lines:
            mapped = {line.split(None, 5)[5].strip() for line in lines if len(line.split(None, 5)) == 6}
        self.assertIn(os.path.realpath(PLAIN), paths)
        self.assertTrue({path for path in paths if path.startswith("/")} <= mapped, paths)
        self.assertEqual(program.ask("status", "came-back")[1:], ["0", "wrong", "0"])

    def test_python(self):
        program = self.start("-c", "import sys, json\nprint('ready', flush=True)\n"
                             "for line in sys.stdin: print('sum', sum(json.loads(line)), flush=True)",
                             program=sys.executable)
        attached = self.attach(program.pid, "--symbols")
        self.assertEqual(program.ask("[1, 2, 3]", "sum")[1], "6")
        self.assertTrue(events(self.stop(attached)))
        self.assertEqual(program.ask("[1, 2, 4]", "sum")[1], "7")

    def test_detach_after_kill(self):
        """The recorder is killed: `side detach` releases its rings."""
        program = self.start("calm")
        attached = self.attach(program.pid)
        program.tick(10)
        self.end(attached)
        rings = [name for name in self.left(program.pid)[2] if "memfd" in name]
        self.assertTrue(rings)
        self.side("detach", "-p", str(program.pid))
        self.assertEqual([name for name in self.left(program.pid)[2] if "memfd" in name], [])
        self.assertIn("is not attached: nothing to detach", self.side("detach", "-p", str(program.pid)).stderr)
        self.one_recording(program, 100)

    def list_running(self):
        # Other programs may make the command fail in the meantime; our program is listed.
        return subprocess.run([SIDE, "list", "-u", "--names", "-e", "attach:*"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=TIMEOUT, check=False,
                              env={**os.environ, "SIDE_RUNTIME": self.runtime})

    def test_list(self):
        """`side list -u` lists programs without a recorder. Other programs of the machine may be among them."""
        program = self.start("calm")
        before = self.list_running()
        self.assertIn("attach:tick", before.stdout.split())
        self.assertRegex(before.stderr, "ha(s|ve) no agent")
        self.one_recording(program, 10)
        after = self.list_running()
        self.assertNotIn(f"process {program.pid})", after.stderr)

    def test_list_while_others_end(self):
        """Programs that exit while `side list -u` reads them hide no other program, and are no failure."""
        self.start("calm")
        churn = 'while :; do "$0" calm </dev/null >/dev/null; done'
        others = [subprocess.Popen(["sh", "-c", churn, PROGRAM], start_new_session=True) for _ in range(2)]
        self.addCleanup(lambda: [(os.killpg(other.pid, signal.SIGKILL), other.wait()) for other in others])
        for _ in range(15):
            done = self.list_running()
            self.assertIn("attach:tick", done.stdout.split(), done.stderr)
            self.assertNotIn("no such process", done.stderr)

    def test_nothing_wanted(self):
        """A recording that wanted no event of the program leaves nothing, either."""
        program = self.start("calm")
        attached = self.attach(program.pid, "-e", "nothing:*")
        program.tick(10)
        self.assertEqual(ticks(self.stop(attached)), [])
        self.assertEqual([name for name in self.left(program.pid)[2] if "memfd" in name], [])


class Rounds(Case):
    def test_many_times(self):
        program = self.start("calm")
        self.one_recording(program, 10)
        before = self.left(program.pid)
        for _ in range(ROUNDS):
            self.one_recording(program, 10)
        self.assertEqual(self.left(program.pid), before)
        self.assertEqual(program.ask("status", "came-back")[1:], ["0", "wrong", "0"])


class Kills(Case):
    """The attaching process is killed at any step; or the program is."""

    def kill_at(self, pid, delay):
        """Starts `side attach`, and kills it and its children after a delay."""
        output = self.output()
        process = subprocess.Popen([SIDE, "attach", "-q", "-p", str(pid), "-o", output], stderr=subprocess.PIPE,
                                   start_new_session=True, env={**os.environ, "SIDE_RUNTIME": self.runtime})
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    def kill_often(self, program, rounds):
        # Measures the longest step first: the kills are spread over all of it.
        began = time.monotonic()
        self.side("attach", "-p", str(program.pid), "-o", self.output(), "--duration", "1ms")
        whole = time.monotonic() - began
        for i in range(rounds):
            self.kill_at(program.pid, whole * i / rounds)
            self.assertIsNone(program.process.poll())

    def test_tracer(self):
        program = self.start("calm")
        self.kill_often(program, 300 if LONG else 4)
        # Afterwards a recording is complete, and the killed ones have left nothing.
        self.side("detach", "-p", str(program.pid))
        self.one_recording(program, 100)
        self.assertEqual([name for name in os.listdir(self.dir) if name.startswith("side-attach-")
                          and os.listdir(self.file(name))], [])
        self.assertEqual(program.ask("status", "came-back")[1:], ["0", "wrong", "0"])

    def test_directories_of_killed_tracers(self):
        """The next `side attach` removes them: only old ones of its own user, and never through a link."""
        old = time.time() - 3600
        names = {name: self.file("side-attach-" + name) for name in ("empty0", "socket", "recent", "locked", "filled", "foreign", "link00")}
        for name, path in names.items():
            if name != "link00":
                os.mkdir(path)
        kept = self.file("kept")
        os.mkdir(kept)
        os.symlink(kept, names["link00"])
        with open(os.path.join(names["filled"], "file"), "w", encoding="ascii"):
            pass
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listening.bind(os.path.join(names["socket"], "agents"))
        listening.close()
        locked = os.open(names["locked"], os.O_RDONLY)
        fcntl.flock(locked, fcntl.LOCK_SH)
        remain = {"recent", "locked", "filled", "link00"}
        if os.geteuid() == 0:
            os.chown(names["foreign"], 65534, 65534)
            remain.add("foreign")
        for name in set(names) - {"recent"}:
            os.utime(names[name], (old, old), follow_symlinks=False)
        program = self.start("calm")
        self.side("attach", "-p", str(program.pid), "-o", self.output(), "--duration", "1ms")
        os.close(locked)
        self.assertEqual({name for name, path in names.items() if os.path.lexists(path)}, remain)
        self.assertTrue(os.path.isdir(kept))
        self.assertEqual([name for name in os.listdir(self.dir) if name.startswith("side-attach-")
                          and name[len("side-attach-"):] not in remain], [])

    def test_tracer_of_busy_program(self):
        program = self.start("busy")
        self.kill_often(program, 300 if LONG else 4)
        program.tick(100)
        self.assertEqual(program.ask("status", "came-back")[1:], ["0", "wrong", "0"])

    def test_program(self):
        """The program is killed: the command prints a message, and no recorder hangs."""
        for i in range(100 if LONG else 5):
            program = self.start("calm")
            process = subprocess.Popen([SIDE, "attach", "-p", str(program.pid), "-o", self.output()],
                                       stderr=subprocess.PIPE, text=True,
                                       env={**os.environ, "SIDE_RUNTIME": self.runtime})
            time.sleep(0.003 * i)
            program.kill()
            _, errors = process.communicate(timeout=TIMEOUT)
            self.assertIn(process.returncode, (0, 1), errors)
            self.assertTrue(errors.strip())


class Namespaces(Case):
    """Programs in other mount and pid namespaces."""

    def start_elsewhere(self, *mounts, program=PROGRAM):
        """Starts the program in its own mount and pid namespaces, after these shell commands."""
        script = "; ".join(["set -e", "mount -t proc proc /proc", *mounts, 'exec "$0" "$@"'])
        probe = subprocess.run(["unshare", "-m", "-p", "-f", "sh", "-c", "mount -t proc proc /proc"],
                               stderr=subprocess.PIPE, text=True)
        if probe.returncode:
            self.skipTest(f"no namespaces here: {probe.stderr.strip()}")
        started = Program([program, "calm"], env={"SIDE_RUNTIME": self.runtime},
                          before=["unshare", "-m", "-p", "-f", "--kill-child", "sh", "-c", script])
        self.addCleanup(started.kill)
        started.expect("ready")
        with open(f"/proc/{started.pid}/task/{started.pid}/children", encoding="ascii") as children:
            started.pid = int(children.read().split()[0])
        return started

    def test_other_pids(self):
        program = self.start_elsewhere()
        attached = self.one_recording(program)
        self.assertFalse(attached.numbers["from_memory"])

    def test_other_files(self):
        """The program does not see the agent's file: it is copied into memory."""
        libraries = os.environ["SIDE_LIB_DIR"].split(":")[0]
        program = self.start_elsewhere(f"mount -t tmpfs none {libraries}")
        attached = self.one_recording(program)
        self.assertTrue(attached.numbers["from_memory"])
        attached = self.one_recording(program)
        self.assertFalse(attached.numbers["loaded"])
        self.assertEqual(program.ask("status", "came-back")[1:], ["0", "wrong", "0"])

    def test_no_libside(self):
        """A program without libside, which sees neither file."""
        everything = os.environ["SIDE_LIB_DIR"].split(":")
        program = self.start_elsewhere(*(f"mount -t tmpfs none {path}" for path in everything), program=PLAIN)
        attached = self.attach(program.pid, "--symbols")
        self.assertTrue(attached.numbers["from_memory"])
        paths = [str(values["path"]) for name, values in events(self.stop(attached)) if name == "side:library_load"]
        self.assertIn(os.path.realpath(PLAIN), paths)

    def test_other_tmp(self):
        """Nothing is left in its directories, either."""
        where = self.file("tmp")
        os.mkdir(where, 0o777)
        os.environ["TMPDIR"] = "/nowhere"
        if any(path.startswith("/tmp/") for path in (PROGRAM, *os.environ["SIDE_LIB_DIR"].split(":"))):
            self.skipTest("the build is in /tmp itself")
        program = self.start_elsewhere(f"mount --bind {where} /tmp")
        self.one_recording(program)
        self.assertEqual(os.listdir(where), [])


class Daemon(Case):
    """Programs that started before the daemon, and are attached to it."""

    def setUp(self):
        super().setUp()
        self.program = self.start("calm")
        self.daemon = subprocess.Popen([os.environ["SIDED"], "--foreground"], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env={**os.environ, "SIDE_RUNTIME": self.runtime})
        self.addCleanup(self.end_daemon)
        wait_until(lambda: os.path.exists(os.path.join(self.runtime, "control.sock")), "the daemon", TIMEOUT)

    def end_daemon(self):
        self.daemon.terminate()
        self.daemon.wait(timeout=TIMEOUT)
        # The sessions would start again, but no test needs them.
        places = os.path.join(self.runtime, "places")
        for name in os.listdir(places):
            shutil.rmtree(os.path.dirname(os.readlink(os.path.join(places, name))), True)

    def session(self, name):
        output = self.output()
        self.side("create", name, "-o", output)
        self.side("enable-event", "-s", name, "attach:*")
        self.side("start", name)
        return output

    def test_session(self):
        output = self.session("one")
        self.program.tick(10)
        self.side("attach", "-p", str(self.program.pid), "-s", "one")
        numbers = self.program.tick(100)
        # The program receives changes.
        self.side("disable-event", "-s", "one", "attach:tick")
        self.program.tick(10)
        self.side("enable-event", "-s", "one", "attach:tick")
        numbers += self.program.tick(100)
        other = self.session("two")
        both = self.program.tick(100)
        self.side("detach", "-p", str(self.program.pid))
        self.program.tick(10)
        self.assertEqual(os.listdir(f"/proc/{self.program.pid}/task"), self.left(self.program.pid)[0])
        self.side("stop", "one")
        self.side("stop", "two")
        self.assertEqual(ticks(output), numbers + both)
        self.assertEqual(ticks(other), both)
        self.assertEqual(self.program.ask("status", "came-back")[1:], ["0", "wrong", "0"])

    def test_forks_while_the_agent_walks_objects(self):
        """No child finds the loader's lock held by a thread that it does not have."""
        program = self.start(program=os.environ["ATTACH_FORKS"])
        self.side("attach", "-p", str(program.pid), "--daemon")
        _, forks, bad = program.ask("end", "forks")
        # One fork can last for several walks.
        self.assertGreaterEqual(int(forks), 1)
        self.assertEqual(bad, "0")

    def test_again(self):
        """A second attach changes nothing; after a detach, the program can be attached again."""
        output = self.session("one")
        pid = str(self.program.pid)
        numbers = []
        for _ in range(3):
            self.assertIn("connected to the daemon:", self.side("attach", "-p", pid, "--daemon").stderr)
            self.assertIn("already connected to a daemon:", self.side("attach", "-p", pid, "--daemon").stderr)
            numbers += self.program.tick(50)
            self.side("detach", "-p", pid)
            self.program.tick(5)
            self.assertEqual(self.left(pid)[0], sorted(os.listdir(f"/proc/{pid}/task")))
        self.side("stop", "one")
        self.assertEqual(sorted(ticks(output)), numbers)

    def test_session_that_does_not_track_it(self):
        self.session("one")
        self.side("track", "-s", "one", "--pid", "1")
        done = self.side("attach", "-p", str(self.program.pid), "-s", "one", status=1)
        self.assertIn("does not track it", done.stderr)
        self.assertIn("there is no session", self.side("attach", "-p", str(self.program.pid), "-s", "three",
                                                       status=1).stderr)

    def test_beside_a_recording(self):
        output = self.session("one")
        self.side("attach", "-p", str(self.program.pid), "-s", "one")
        attached = self.attach(self.program.pid)
        both = self.program.tick(20)
        self.assertEqual(ticks(self.stop(attached)), both)
        only = self.program.tick(20)
        self.side("stop", "one")
        self.assertEqual(ticks(output), both + only)


class Refusals(Case):
    """If an attach is impossible, a message states the reason, and the program runs on."""

    def refuse(self, pid, text, status=1, words=()):
        output = self.output()
        began = time.monotonic()
        done = self.side("attach", "-p", str(pid), "-o", output, *words, status=status)
        self.assertIn(text, done.stderr)
        self.assertIn([line[:6] for line in done.stderr.splitlines()], (["side: "], ["side: ", "hint: "]), done.stderr)
        self.assertFalse(os.path.exists(output))
        # Far below the timeout of any test, far above the time that it needs.
        self.assertLess(time.monotonic() - began, TIMEOUT / 2)

    def test_no_program(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        self.refuse(gone.pid, f"there is no process {gone.pid}")
        self.refuse(2 ** 31 - 1, "there is no process")

    def test_static(self):
        if "ATTACH_STATIC" not in os.environ:
            self.skipTest("no static C library")
        program = self.start("calm", program=os.environ["ATTACH_STATIC"])
        self.refuse(program.pid, "that could load the agent\nhint: `side trace --global` lets the kernel watch its functions\n")
        self.assertEqual(program.ask("status", "came-back")[1:], ["0", "wrong", "0"])

    def test_32_bits(self):
        if "ATTACH_32" not in os.environ:
            self.skipTest("no compiler for 32 bits")
        program = self.start("calm", program=os.environ["ATTACH_32"])
        self.refuse(program.pid, "another processor (32 bits)")
        self.assertEqual(program.ask("status", "came-back")[1:], ["0", "wrong", "0"])

    def test_traced(self):
        """The message names the tracer."""
        program = self.start("calm")
        tracer = subprocess.Popen([sys.executable, "-c", TRACER, str(program.pid)], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(tracer.kill)
        self.assertEqual(tracer.stdout.readline(), "traced\n")
        self.refuse(program.pid, f"{tracer.pid} (python3", status=3)
        tracer.communicate("")
        self.one_recording(program)

    def test_stopped(self):
        program = self.start("calm")
        os.kill(program.pid, signal.SIGSTOP)
        os.waitpid(program.pid, os.WUNTRACED)
        self.refuse(program.pid, f"kill -CONT {program.pid}")
        os.kill(program.pid, signal.SIGCONT)
        self.one_recording(program)

    def test_other_user(self):
        if os.geteuid():
            self.skipTest("takes root")
        program = self.start("calm")
        done = subprocess.run([SIDE, "attach", "-p", str(program.pid), "-o", self.output()], user=65534, group=65534,
                              extra_groups=[], stderr=subprocess.PIPE, text=True, timeout=TIMEOUT,
                              env={**os.environ, "SIDE_RUNTIME": self.runtime}, cwd="/")
        if done.returncode == 126 or "Permission denied" in done.stderr:
            self.skipTest("the build is not readable for others")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(program.ask("status", "came-back")[1:], ["0", "wrong", "0"])

    def test_sandbox(self):
        program = self.start("calm", "strict-main", ready=False)
        program.expect("ready")
        self.refuse(program.pid, "sandbox")
        self.one_recording(program, 100, "--in-sandbox")

    def test_usage(self):
        self.assertIn("-p PID", self.side("attach", status=2).stderr)
        self.assertIn("-p PID", self.side("detach", status=2).stderr)
        self.assertIn("does not accept `word`", self.side("attach", "-p", "1", "word", status=2).stderr)
        self.assertIn("does not accept `2`", self.side("attach", "1", "2", status=2).stderr)
        self.assertIn("does not accept `word`", self.side("detach", "word", status=2).stderr)
        self.assertIn("--daemon", self.side("attach", "-p", "1", "--daemon", "-o", "x", status=2).stderr)


# PTRACE_SEIZE of the process, until standard input ends.
TRACER = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(0x4206, int(sys.argv[1]), None, None):
    raise OSError(ctypes.get_errno(), "ptrace")
print("traced", flush=True)
sys.stdin.read()
"""


if __name__ == "__main__":
    unittest.main(verbosity=2)
