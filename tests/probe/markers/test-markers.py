#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Events that are markers: the note, the two nops, the semaphore, and each argument as gdb, the kernel, perf and side
read it.

usage: test-markers.py [TEST...]; MARKERS: programs, compiled in several ways, one a line
"""
import contextlib
import functools
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
import checks
from tracefs import TRACEFS, see_tracefs
from waiting import wait_until

SIDE = os.environ["SIDE"]
MARKERS = [path for path in os.environ["MARKERS"].split(":") if path]
TIMEOUT = 120
run = functools.partial(checks.run, timeout=TIMEOUT)
os.environ.update(LC_ALL="C", DEBUGINFOD_URLS="")
NUMBERS = [200, -100, 60000, -30000, 4000000000, -2000000000, 18000000000000000000, -9000000000000000000, 1, 0xab, 0x1234]
SIZES = [1, -1, 2, -2, 4, -4, 8, -8, 1, 1, 8, -4]


class Elf:
    """Reads the few parts of an ELF file that the test needs, without a library."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        at, size, count, names = (*struct.unpack_from("<Q", self.data, 40), *struct.unpack_from("<HHH", self.data, 58))
        heads = [struct.unpack_from("<IIQQQQIIQQ", self.data, at + i * size) for i in range(count)]
        texts = heads[names][4]
        self.sections = {self.text(texts + head[0]): head for head in heads}

    def text(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode()

    def offset(self, address):
        at, size, count = (*struct.unpack_from("<Q", self.data, 32), *struct.unpack_from("<HH", self.data, 54))
        for i in range(count):
            kind, _, offset, start, _, length = struct.unpack_from("<IIQQQQ", self.data, at + i * size)
            if kind == 1 and start <= address < start + length:
                return address - start + offset
        raise AssertionError(f"nothing of the file is at {address:#x}")

    def markers(self):
        """(name, address, semaphore, arguments)"""
        head = self.sections[".note.stapsdt"]
        at, end = head[4], head[4] + head[5]
        base = self.sections[".stapsdt.base"][3]
        while at < end:
            owner, size, kind = struct.unpack_from("<III", self.data, at)
            assert (owner, kind, self.data[at + 12:at + 20]) == (8, 3, b"stapsdt\0")
            address, known, semaphore = struct.unpack_from("<QQQ", self.data, at + 20)
            assert known == base
            provider, name, arguments, remainder = self.data[at + 44:at + 20 + size].split(b"\0")
            assert remainder == b""
            yield f"{provider.decode()}:{name.decode()}", address, semaphore, arguments.decode()
            at += 20 + (size + 3) // 4 * 4


class Notes(unittest.TestCase):
    def test_notes(self):
        for program in MARKERS:
            with self.subTest(program):
                elf = Elf(program)
                markers = list(elf.markers())
                self.assertEqual({name for name, *_ in markers},
                                 {"shelf:" + name for name in ("none", "numbers", "others", "hidden", "exported", "variadic")})
                for name, address, semaphore, arguments in markers:
                    at = elf.offset(address)
                    self.assertEqual(elf.data[at:at + 6], bytes.fromhex("90 0f1f440000"), name)
                    at = elf.offset(semaphore)
                    self.assertEqual(elf.data[at:at + 2], b"\0\0", name)
                    # perf finds markers by this section.
                    section = elf.sections[".probes"]
                    self.assertEqual(semaphore - at, section[3] - section[4], name)
                    args = [word.partition("@") for word in arguments.split()]
                    self.assertEqual(" ".join("".join(word) for word in args), arguments)
                    if name == "shelf:numbers":
                        self.assertEqual([int(size) for size, _, _ in args], SIZES)
                    if name == "shelf:others":
                        self.assertEqual([int(size) for size, _, _ in args], [8] * 6)

    def test_listed(self):
        for program in MARKERS:
            listed = run(SIDE, "probe", "list", program, "shelf:*").stdout
            self.assertEqual(len(re.findall("^jump .* 6 shelf:", listed, re.MULTILINE)), len(list(Elf(program).markers())), listed)


@unittest.skipUnless(shutil.which("gdb"), "there is no gdb")
class Gdb(unittest.TestCase):
    def test_gdb(self):
        """gdb raises the semaphore, and finds every argument."""
        commands = ["info probes stap shelf", "break -probe-stap shelf:numbers", "run", "print $_probe_argc"]
        commands += [f"print $_probe_arg{i}" for i in range(12)]
        commands += ["delete", "break -probe-stap shelf:others", "continue", "print (char *) $_probe_arg0", "print/x $_probe_arg1",
                     # A struct side_arg_vec: a pointer and a count; an argument has 64 bytes, its value is at 4.
                     "print *(unsigned int *) ($_probe_arg2 + 16)", "print *(unsigned char *) (*(char **) $_probe_arg2 + 64 + 4)",
                     "print *(unsigned short *) (*(char **) $_probe_arg3 + 64 + 4)", "print *(unsigned int *) ($_probe_arg4 + 16)",
                     "delete", "break -probe-stap shelf:hidden", "continue", "print $_probe_arg0",
                     "delete", "break -probe-stap shelf:variadic", "continue", "print *(char **) *(char **) $_probe_arg0",
                     "delete", "continue"]
        for program in MARKERS:
            with self.subTest(program):
                args = [word for command in commands for word in ("-ex", command)]
                result = run("gdb", "-q", "-nx", "-batch", *args, program).stdout
                values = re.findall(r"^\$\d+ = (.*)$", result, re.MULTILINE)
                # "200 '\310'" for a char
                numbers = [int(value.split()[0], 0) for value in values[:13]]
                self.assertEqual(numbers, [12, *NUMBERS, -4], result)
                self.assertRegex(values[13], '"on the shelf"$')
                self.assertEqual(values[14], "0x" + struct.pack(">d", -2.5).hex())
                self.assertEqual([value.split()[0] for value in values[15:19]], ["3", "8", "600", "6"], result)
                self.assertEqual(values[19], "-1", result)
                self.assertRegex(values[20], '"x"$')
                self.assertEqual(len(re.findall("^stap shelf ", result, re.MULTILINE)), len(list(Elf(program).markers())))
                # A process that gdb has detached from has no listener any more.
                self.assertIn("\n0 0\n", result)


def append(path, text):
    """Python's own append mode seeks to the end, which these files do not have."""
    file = os.open(f"{TRACEFS}/{path}", os.O_WRONLY | os.O_APPEND)
    try:
        if text:
            os.write(file, text.encode() + b"\n")
    finally:
        os.close(file)


def uprobes():
    """Returns whether this kernel permits uprobes."""
    if not see_tracefs():
        return False
    with contextlib.suppress(OSError):
        append("uprobe_events", "")
        return True
    return False


class Traced(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="side-markers-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def check_side(self, *method):
        for program in MARKERS[:2]:
            copy = f"{self.folder}/{os.path.basename(program)}"
            shutil.copy(program, copy)
            output = f"{self.folder}/trace-{os.path.basename(program)}-{len(os.listdir(self.folder))}"
            run(SIDE, "-q", "trace", *method, "-o", output, "-c", copy, "--sdt", "shelf:numbers", "--sdt", "shelf:hidden")
            events = [json.loads(line) for line in run(SIDE, "view", "--json", output).stdout.splitlines()]
            events = [event["fields"] for event in events if event["type"] == "event" and "arg1" in event["fields"]]
            wanted = []
            for number in (1, 2, 3):
                wanted += [[*NUMBERS, number - 5], [-number]]
            self.assertEqual([[value for name, value in event.items() if name.startswith("arg")] for event in events], wanted)


@unittest.skipUnless(uprobes(), "no uprobes for us in tracefs")
class Kernel(Traced):
    """A definition with a reference counter, as any tool writes it."""

    def setUp(self):
        super().setUp()
        self.group = f"check_{os.getpid()}"
        self.buffer = f"{TRACEFS}/instances/{self.group}"
        os.mkdir(self.buffer)
        self.addCleanup(os.rmdir, self.buffer)
        self.defined = []
        self.addCleanup(self.remove)

    def enable(self, name, on):
        append(f"instances/{self.group}/events/{self.group}/{name}/enable", str(int(on)))

    def remove(self):
        for name in self.defined:
            self.enable(name, False)
            append("uprobe_events", f"-:{self.group}/{name}")

    def define(self, program, marker):
        elf = Elf(program)
        name, address, semaphore, arguments = next(entry for entry in elf.markers() if entry[0] == marker)
        event = name.partition(":")[2]
        fetched = []
        for i, argument in enumerate(arguments.split()):
            size, offset, register = re.fullmatch(r"(-?\d)@(-?\d*)\(%r(\w+)\)", argument).groups()
            sign = "s" if size[0] == "-" else "u"
            fetched.append(f"a{i}=+{int(offset or 0)}(%{register}):{sign}{8 * int(size[-1])}")
        append("uprobe_events", f"p:{self.group}/{event} {program}:{elf.offset(address):#x}({elf.offset(semaphore):#x}) "
                   + " ".join(fetched))
        self.defined.append(event)
        return event

    def test_semaphore(self):
        for number, program in enumerate(MARKERS):
            with self.subTest(program):
                copy = f"{self.folder}/program{number}"
                shutil.copy(program, copy)
                child = subprocess.Popen([copy, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

                def round_of(child=child):
                    child.stdin.write("\n")
                    child.stdin.flush()
                    return [int(word, 16) for word in child.stdout.readline().split()]
                self.assertEqual(round_of(), [0, 0])
                event = self.define(copy, "shelf:numbers")
                self.enable(event, True)
                # Bytes 4 and 5 of the one event, and none of the other.
                self.assertEqual(round_of(), [1 << 32, 0])
                self.assertEqual(round_of(), [1 << 32, 0])
                # The semaphore is raised in a process that starts now, before its first instruction.
                self.assertEqual(run(copy).stdout, "100000000 0\n")
                self.enable(event, False)
                self.assertEqual(round_of(), [0, 0])
                child.communicate()
                with open(self.buffer + "/trace", encoding="utf-8") as file:
                    hits = [line for line in file if f" {event}: " in line]
                with open(self.buffer + "/trace", "w", encoding="utf-8"):
                    pass
                self.assertEqual(len(hits), 2 + 3)
                for line, last in zip(hits, (-3, -2, -4, -3, -2)):
                    values = [int(value) for value in re.findall(r"a\d+=(-?\d+)", line)]
                    self.assertEqual(values, [*NUMBERS, last], line)
                self.remove()
                self.defined = []

    def test_side_global(self):
        self.check_side("--global")

    @unittest.skipUnless(shutil.which("perf"), "there is no perf")
    def test_perf(self):
        home = {**os.environ, "HOME": self.folder}
        copy = f"{self.folder}/perfect"
        shutil.copy(MARKERS[0], copy)

        def perf(*args, status=(0,)):
            done = subprocess.run(["perf", *args], capture_output=True, text=True, timeout=TIMEOUT, check=False, env=home,
                                  cwd=self.folder)
            self.assertIn(done.returncode, status, f"perf {args}: {done.stdout}{done.stderr}")
            return done.stdout
        perf("buildid-cache", "--add", copy)
        perf("probe", "sdt_shelf:hidden")
        try:
            perf("record", "-q", "-e", "sdt_shelf:hidden", "-o", "data", copy)
            shown = perf("script", "-i", "data")
        finally:
            perf("probe", "-d", "sdt_shelf:hidden")
        self.assertEqual(re.findall(r"arg1=(-?\d+)", shown), ["-1", "-2", "-3"], shown)


def bpf_refused():
    """Why bpftrace cannot attach here; empty: it can."""
    if not shutil.which("bpftrace"):
        return "there is no bpftrace"
    if os.geteuid():
        return "bpftrace wants root"
    done = subprocess.run(["bpftrace", "-e", "BEGIN { exit(); }"], capture_output=True, text=True, timeout=TIMEOUT, check=False)
    return f"bpftrace cannot run here: {done.stderr.strip()[-200:]}" if done.returncode else None


@unittest.skipUnless(shutil.which("bpftrace") and not os.geteuid(), "no bpftrace, or not root, which it wants")
class Bpftrace(Traced):
    """The commands of the guide, for users of BPF."""

    def test_list(self):
        for program in MARKERS:
            listed = run("bpftrace", "-l", f"usdt:{program}:*").stdout.split()
            self.assertEqual(listed, sorted({f"usdt:{program}:{name}" for name, *_ in Elf(program).markers()}))

    def trace(self, program, script, *options):
        """The lines that the script prints."""
        output = f"{self.folder}/bpftrace"
        run("bpftrace", *options, "-o", output, "-e", script.replace("FILE", program))
        with open(output, encoding="utf-8") as file:
            return [line for line in file.read().splitlines() if line and not line.startswith("Attaching")]

    def test_values(self):
        reason = bpf_refused()
        if reason:
            self.skipTest(reason)
        for program in MARKERS:
            with self.subTest(program):
                lines = self.trace(program, """
                    usdt:FILE:shelf:numbers { printf("%d %d %d %d %u %d\\n", arg0, arg1, arg2, arg3, arg4, arg5); }
                    usdt:FILE:shelf:others { printf("%s %lx\\n", str(arg0), arg1); }
                    usdt:FILE:shelf:hidden { printf("%ld\\n", arg0); }
                    usdt:FILE:shelf:none { @none = count(); }""", "-c", program)
                real = struct.pack(">d", -2.5).hex()
                wanted = [line for number in (1, 2, 3)
                          for line in (" ".join(str(value) for value in NUMBERS[:6]), f"on the shelf {real}", str(-number))]
                self.assertEqual(lines, [*wanted, "@none: 3"])

    @staticmethod
    def interrupt(listener):
        """A single Ctrl-C may arrive just before it sleeps and be lost: repeat it until it has exited."""
        for _ in range(TIMEOUT):
            listener.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                listener.wait(1)
                return
        listener.kill()

    def test_beside_side(self):
        """BPF and `side` listen to one marker, in the same processes: each sees all hits."""
        reason = bpf_refused() or (None if uprobes() else "no uprobes for us in tracefs")
        if reason:
            self.skipTest(reason)
        program = f"{self.folder}/shared"
        shutil.copy(MARKERS[0], program)
        output = f"{self.folder}/bpftrace"
        with subprocess.Popen(["bpftrace", "-o", output, "-e", f"usdt:{program}:shelf:numbers {{ @hits[pid] = count(); }}"],
                              stderr=subprocess.DEVNULL) as listener:
            try:
                # Once it listens, it has raised the semaphore.
                wait_until(lambda: run(program).stdout != "0 0\n", "bpftrace listens", TIMEOUT)
                run(SIDE, "-q", "trace", "--global", "-o", f"{self.folder}/trace", "-c", f"sh -c '{program}; {program}'",
                    "--exe", program, "--sdt", "shelf:numbers")
            finally:
                self.interrupt(listener)
        events = [json.loads(line) for line in run(SIDE, "view", "--json", f"{self.folder}/trace").stdout.splitlines()]
        seen = [event["fields"]["pid"] for event in events if event["type"] == "event" and "arg1" in event["fields"]]
        self.assertEqual(len(seen), 6)
        with open(output, encoding="utf-8") as file:
            counted = {int(pid): int(hits) for pid, hits in re.findall(r"@hits\[(\d+)\]: (\d+)", file.read())}
        self.assertEqual({pid: counted.get(pid) for pid in seen}, {pid: seen.count(pid) for pid in seen})


class InProcess(Traced):
    """With side's probes inside the process, which need no permission."""

    def test_side(self):
        self.check_side()


if __name__ == "__main__":
    unittest.main(verbosity=2)
