# SPDX-License-Identifier: MIT
"""`side attach -w` records each call that a running program makes, and the program calls the real functions afterwards.

usage: test-attached.py SIDE CALLS
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish

side, calls = (os.path.abspath(a) for a in sys.argv[1:3])
work = tempfile.TemporaryDirectory(prefix="side-attached-")
environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LD_LIBRARY_PATH", "SIDE_AGENT_SOCKET", "SIDE_LIB_DIR")}
environment["SIDE_RUNTIME"] = os.path.join(work.name, "no-daemon")
environment["LC_ALL"] = "C"
WRAPPERS = ("libside-wrap-libc.so", "libside-wrap-pthread.so")


def start(*words, **options):
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                            **options)


def proceed(program):
    program.stdin.write("\n")
    program.stdin.flush()


def attach(name, pid, wrappers, *options):
    """Begins a recording, and returns once the program is recorded."""
    words = [side, "attach", "-p", str(pid), "-o", os.path.join(work.name, name), *options]
    for wrapper in wrappers:
        words += ["-w", wrapper]
    recorder = start(*words)
    line = recorder.stderr.readline()
    expect("recording" in line, f"{name}: {line}")
    return recorder


def end(recorder):
    recorder.send_signal(signal.SIGINT)
    errors = recorder.communicate(timeout=60)[1]
    expect_equal(recorder.returncode, 0, errors)
    return errors


def read_events(name):
    view = subprocess.run([side, "view", "--json", os.path.join(work.name, name)], capture_output=True, text=True, check=True,
                          timeout=60)
    items = [json.loads(line) for line in view.stdout.splitlines()]
    return [item for item in items if item["type"] == "event"]


def number(value):
    return int(value, 0) if isinstance(value, str) and value[:2] in ("0x", "0X") else value


def matches(event, want):
    return (event["event"].split(":", 1)[1] == want["e"] and
            all(number(event["fields"].get(key)) == value for key, value in want.items() if key != "e"))


def slots(pid, wrappers):
    """Returns how many words of the program's tables of addresses lead into a wrapper, read by gdb's way: from its memory."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        maps = [line.split() for line in file]
    ranges = [tuple(int(end, 16) for end in m[0].split("-")) + (m[1], m[5] if len(m) > 5 else "") for m in maps]
    code = [(a, b) for a, b, access, path in ranges if "x" in access and path.endswith(wrappers)]
    found = 0
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for a, b, _, path in ranges:
            # Not the tables of the wrappers themselves, and of the agent, which keeps a list.
            if not path.startswith("/") or "libside" in path:
                continue
            memory.seek(a)
            words = memoryview(memory.read(b - a)).cast("Q")
            found += sum(any(c <= word < d for c, d in code) for word in words)
    return found


def test_calls():
    """Each call of wrap-calls is an event with its arguments, in the order of the calls, as with `side record -w`."""
    for mode, wrappers in (("m", ["libc"]), ("f", ["libc"]), ("l", ["pthread"]), ("d", ["libc"]), ("w", ["pthread"]),
                           ("mfldw", ["libc", "pthread"])):
        printed = os.path.join(work.name, "printed-" + mode)
        program = start("/bin/sh", "-c", 'exec "$0" "$1" "$2" 3>"$3"', calls, "a" + mode, work.name, printed)
        expect_equal(program.stdout.readline(), "waiting\n", "the program")
        recorder = attach("calls-" + mode, program.pid, wrappers)
        expect(slots(program.pid, WRAPPERS) > 10, f"{mode}: imports lead to the wrappers")
        proceed(program)
        expect_equal(program.stdout.readline(), "waiting\n", f"calls {mode}")
        end(recorder)
        expect_equal(slots(program.pid, WRAPPERS), 0, f"{mode}: after the recording")
        proceed(program)
        errors = program.communicate(timeout=60)[1]
        expect_equal(program.returncode, 0, f"calls {mode}: {errors}")
        events, position = read_events("calls-" + mode), 0
        with open(printed, encoding="utf-8") as lines:
            wants = [json.loads(line) for line in lines]
        expect(len(wants) > 10, f"calls {mode} wrote only {len(wants)} lines")
        for want in wants:
            found = next((i for i in range(position, len(events)) if matches(events[i], want)), None)
            expect(found is not None, f"calls {mode}: no event {want} after position {position}")
            position = position if found is None else found + 1
        for event in events:
            expect(number(event["fields"]["caller"]) != 0, f"{event['event']} has no caller")


ADDRESSES = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static int (*volatile stored)(int fd);
static void (*volatile stored_free)(void *ptr);
int main(void)
{
	char byte;

	stored = close;
#ifdef TAKES_FREE
	stored_free = free;
#else
	(void)stored_free;
#endif
	syscall(SYS_write, 1, "waiting\n", 8);
	syscall(SYS_read, 0, &byte, 1);
	for (int i = 0; i < 100; i++)
		free(malloc(i + 1));
	if (stored != close || (stored_free && stored_free != free))
		return 1;
	syscall(SYS_write, 1, "waiting\n", 8);
	syscall(SYS_read, 0, &byte, 1);
	_exit(stored == close && (!stored_free || stored_free == free) ? 0 : 2);
}
"""


def test_addresses():
    """The address of a function that a program has stored equals the function's address, whichever way the program is linked."""
    source = os.path.join(work.name, "addresses.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(ADDRESSES)
    for name, options in (("pie", ["-fPIE", "-pie", "-DTAKES_FREE"]), ("fixed", ["-no-pie", "-fno-pie", "-DTAKES_FREE"]), ("plt", ["-fPIE", "-pie", "-fno-plt"]),
                          ("now", ["-fPIE", "-pie", "-DTAKES_FREE", "-Wl,-z,now"]), ("lazy", ["-fPIE", "-pie", "-Wl,-z,lazy"])):
        program_file = os.path.join(work.name, name)
        subprocess.run(["gcc", "-O1", "-fno-builtin", source, "-o", program_file, *options], check=True, timeout=60)
        program = start(program_file)
        expect_equal(program.stdout.readline(), "waiting\n", name)
        recorder = attach("addresses-" + name, program.pid, ["libc"])
        proceed(program)
        expect_equal(program.stdout.readline(), "waiting\n", name)
        end(recorder)
        proceed(program)
        program.communicate(timeout=60)
        expect_equal(program.returncode, 0, name)
        events = [event["event"] for event in read_events("addresses-" + name)]
        expect_equal((events.count("libc:malloc"), events.count("libc:free")), (100, 100), name)


def test_twice():
    """Two recordings at once, of which one has no wrapper; the wrapper serves until the last that wants it ends; and once more."""
    program = start(calls, "aa", work.name)
    expect_equal(program.stdout.readline(), "waiting\n", "the program")
    first = attach("first", program.pid, ["libc"])
    second = attach("second", program.pid, ["libc", "libc"])
    third = attach("third", program.pid, [])
    end(first)
    expect(slots(program.pid, WRAPPERS) > 10, "the second recording still wants them")
    end(second)
    expect_equal(slots(program.pid, WRAPPERS), 0, "the third does not")
    end(third)
    again = attach("again", program.pid, ["libc"])
    expect(slots(program.pid, WRAPPERS) > 10, "once more")
    again.kill()
    again.communicate()
    # A killed recorder cannot notify the program: `side detach` does.
    done = subprocess.run([side, "detach", "-p", str(program.pid)], capture_output=True, text=True, check=False, timeout=60,
                          env=environment)
    expect_equal(done.returncode, 0, done.stderr)
    expect_equal(slots(program.pid, WRAPPERS), 0, "after `side detach`")
    proceed(program)
    expect_equal(program.stdout.readline(), "waiting\n", "the program")
    proceed(program)
    program.communicate(timeout=60)
    expect_equal(program.returncode, 0, "the program")


def test_preloaded():
    """A program with preloaded wrappers goes on to call them, and each call is one event."""
    program = start(side, "record", "-q", "-o", os.path.join(work.name, "outer"), "-w", "libc", "--", "/bin/sh", "-c",
                    'exec "$0" am "$1" 3>/dev/null', calls, work.name)
    expect_equal(program.stdout.readline(), "waiting\n", "the program")
    with open(f"/proc/{program.pid}/task/{program.pid}/children", encoding="utf-8") as file:
        pid = int(file.read().split()[0])
    recorder = attach("inner", pid, ["libc"])
    proceed(program)
    program.stdout.readline()
    end(recorder)
    proceed(program)
    program.communicate(timeout=60)
    outer, inner = ([e["event"] for e in read_events(name) if e["event"].startswith("libc:m")] for name in ("outer", "inner"))
    expect(len(inner) >= 3, f"{inner}")
    expect_equal(inner, outer[len(outer) - len(inner):], "the same events in both recordings")


test_calls()
test_twice()
test_preloaded()
if shutil.which("gcc"):
    test_addresses()
finish()
