# SPDX-License-Identifier: MIT
"""Rules of `libc` and `pthread` load the wrappers into programs of a session, and the program calls the real functions afterwards.

usage: test-session-running.py SIDE SIDED OPERATORS ALLOCATOR
"""
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish
from slots import slots
from waiting import wait_until

side, sided, operators, allocator = (os.path.abspath(a) for a in sys.argv[1:5])
work = tempfile.TemporaryDirectory(prefix="side-wrap-running-")
environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LD_LIBRARY_PATH", "SIDE_AGENT_SOCKET", "SIDE_LIB_DIR")}
runtime = environment["SIDE_RUNTIME"] = os.path.join(work.name, "runtime")
environment["LC_ALL"] = "C"
agent = os.path.realpath(os.path.join(os.path.dirname(side), "../../src/tracers/agent/libside-agent.so"))

# For each byte: 1000 allocations, 10 calls of pthread_mutex_lock(), and a byte. `f`: the same in a child.
PROGRAM = r"""
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void work(void)
{
	for (int i = 0; i < 1000; i++)
		free(malloc(4321));
	for (int i = 0; i < 10; i++) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
}
int main(int argc, char **argv)
{
	char byte;

	(void)argv;
	if (argc > 1)
		work();
	(void)!write(1, "+", 1);
	while (read(0, &byte, 1) == 1) {
		pid_t child = byte == 'f' ? fork() : 0;

		if (child)
			waitpid(child, NULL, 0);
		else
			work();
		if (byte == 'f' && !child)
			_exit(0);
		(void)!write(1, "+", 1);
	}
	_exit(0);
}
"""
INTERPRETED = r"""
import os, sys
for line in sys.stdin:
    for i in range(50):
        os.close(os.open("/dev/full", os.O_RDONLY))
    sys.stdout.write("+")
    sys.stdout.flush()
"""


def path(name):
    return os.path.join(work.name, name)


def run(*words, status=0):
    done = subprocess.run([side, *words], capture_output=True, text=True, check=False, timeout=60, env=environment)
    expect_equal(done.returncode, status, f"{words}: {done.stderr}")
    return done


def start(*words, **more):
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**environment, **more}, bufsize=0)


def proceed(program, what="\n"):
    program.stdin.write(what.encode())
    expect_equal(program.stdout.read(1), b"+", "the program")


def end(program):
    program.stdin.close()
    expect_equal(program.wait(60), 0, "the program's status")
    program.stdout.close()


def read_events(name):
    shown = run("view", "--json", path(name))
    items = [json.loads(line) for line in shown.stdout.splitlines()]
    return [item for item in items if item.get("type") == "event"]


def count(name):
    return collections.Counter(event["event"] for event in read_events(name) if event["event"] != "libc:malloc" or event["fields"]["size"] == 4321)


def loaded(name, wrapper, number):
    return f"side: session {name}: the wrapper `{wrapper}` is loaded into {number} program{'s'[:number != 1]}\n"


def test_running():
    """A running program: before, while and after rules want its calls."""
    program = start(path("program"))
    expect_equal(program.stdout.read(1), b"+", "the program")
    run("attach", "--daemon", "-p", str(program.pid))
    run("create", "one", "-o", path("one"))
    done = run("enable-event", "-s", "one", "libc:malloc")
    expect("session one: the wrapper `libc` is not loaded yet: the session is not started\nhint: `side start one` loads it" in done.stderr, done.stderr)
    expect_equal(slots(program.pid), [], "before the start")
    proceed(program)
    done = run("start", "one")
    expect(loaded("one", "libc", 1) in done.stderr, done.stderr)
    expect(len(slots(program.pid)) > 2, "imports lead to the wrapper")
    proceed(program)
    done = run("enable-event", "-s", "one", "pthread:pthread_mutex_lock_req", "libc:nothing")
    expect(loaded("one", "pthread", 1) in done.stderr, done.stderr)
    expect("no event matches `libc:nothing` yet" in done.stderr, done.stderr)
    proceed(program)
    # A pattern that names no provider loads nothing.
    run("disable-event", "-s", "one", "libc:malloc", "libc:nothing")
    expect_equal(slots(program.pid, ("libside-wrap-libc.so",)), [], "the rules of libc are gone")
    proceed(program)
    run("disable-event", "-s", "one", "pthread:pthread_mutex_lock_req")
    done = run("enable-event", "-s", "one", "*")
    expect("wrapper" not in done.stderr, done.stderr)
    expect_equal(slots(program.pid), [], "no rule names a wrapper")
    proceed(program)
    run("disable-event", "-s", "one", "*")
    run("enable-event", "-s", "one", "libc:malloc")
    proceed(program)
    run("stop", "one")
    expect_equal(slots(program.pid), [], "after the end of the session")
    proceed(program)
    counts = count("one")
    expect_equal((counts["libc:malloc"], counts["pthread:pthread_mutex_lock_req"]), (3000, 20), f"recorded calls: {counts}")
    run("destroy", "one")
    end(program)


def test_children():
    """Forked children inherit the wrapper, and their calls are recorded."""
    program = start(path("program"))
    expect_equal(program.stdout.read(1), b"+", "the program")
    run("attach", "--daemon", "-p", str(program.pid))
    run("create", "two", "-o", path("two"))
    run("enable-event", "-s", "two", "libc:malloc")
    run("start", "two")
    for _ in range(3):
        proceed(program, "f")
    run("stop", "two")
    expect_equal(count("two")["libc:malloc"], 3000, "calls of children")
    run("destroy", "two")
    end(program)


def test_joining():
    """Programs that begin later, into which only the agent was preloaded, are recorded from main() on."""
    run("create", "three", "-o", path("three"))
    run("enable-event", "-s", "three", "libc:malloc")
    run("start", "three")
    programs = [start(path("program"), "early", LD_PRELOAD=agent, SIDE_CONTROL=mode) for mode in ("thread", "sync")]
    for program in programs:
        expect_equal(program.stdout.read(1), b"+", "the program")
    done = run("enable-event", "-s", "three", "libc:free")
    expect(loaded("three", "libc", 2) in done.stderr, done.stderr)
    # The events of the wrapper have started the agent's thread in the first program.
    done = run("enable-event", "-s", "three", "pthread:*")
    pid = programs[1].pid
    expect(f"program (process {pid}) does not record the events of the wrapper `pthread`: it has not asked the daemon since it was started\n"
           f"hint: `side attach --daemon -p {pid}` makes it ask\n" in done.stderr, done.stderr)
    expect(loaded("three", "pthread", 1) in done.stderr, done.stderr)
    for program in programs:
        run("attach", "--daemon", "-p", str(program.pid))
    done = run("enable-event", "-s", "three", "pthread:pthread_mutex_lock_req")
    expect(loaded("three", "pthread", 2) in done.stderr, done.stderr)
    run("stop", "three")
    expect_equal(count("three")["libc:malloc"], 2000, "calls from main() on")
    run("destroy", "three")
    for program in programs:
        end(program)


def test_interpreter():
    """Calls of a running interpreter are events."""
    program = start("/usr/bin/python3", "-c", INTERPRETED)
    program.stdin.write(b"\n")
    expect_equal(program.stdout.read(1), b"+", "the interpreter")
    run("attach", "--daemon", "-p", str(program.pid))
    run("create", "four", "-o", path("four"))
    run("enable-event", "-s", "four", "libc:open*", "libc:close*")
    done = run("start", "four")
    expect(loaded("four", "libc", 1) in done.stderr, done.stderr)
    proceed(program)
    proceed(program)
    run("stop", "four")
    paths = [event["fields"].get("path") for event in read_events("four") if event["event"].startswith("libc:open")]
    expect_equal(paths.count("/dev/full"), 100, f"{len(paths)} files")
    run("destroy", "four")
    end(program)


SIZES = [3000, 3001, 3002, 3003, 3004, 3005, 3008, 3072, 3136, 3200]


def test_own_allocator():
    """A program with an allocator of its own: the wrapper calls that one."""
    program = start(operators, "wait", LD_PRELOAD=allocator)
    expect_equal(program.stdout.read(8), b"waiting\n", "the program")
    run("attach", "--daemon", "-p", str(program.pid))
    run("create", "five", "-o", path("five"))
    run("enable-event", "-s", "five", "libc:*")
    done = run("start", "five")
    expect(loaded("five", "libc", 1) in done.stderr, done.stderr)
    program.stdin.write(b"\n")
    expect_equal(program.stdout.read(6), b"30 10\n", "the program")
    expect_equal(program.stdout.read(8), b"waiting\n", "the program")
    run("stop", "five")
    expect_equal(slots(program.pid), [], "after the end of the session")
    sizes = [event["fields"]["size"] for event in read_events("five")
             if event["event"] in ("libc:malloc", "libc:aligned_alloc", "libc:posix_memalign", "libc:memalign")]
    expect_equal([sizes.count(size) for size in SIZES + [4000, 192]], [2] * len(SIZES) + [7, 3], "allocations")
    run("destroy", "five")
    program.stdin.write(b"\n")
    end(program)


def test_refusals():
    """Each program that cannot load the wrapper is reported with the reason, and runs on."""
    folder = path("agent")
    os.mkdir(folder)
    copy = os.path.join(folder, "libside-agent.so")
    shutil.copy(agent, copy)
    libside = os.path.join(os.path.dirname(agent), "../../libside")
    program = start(path("program"), LD_PRELOAD=copy, LD_LIBRARY_PATH=libside)
    expect_equal(program.stdout.read(1), b"+", "the program")
    run("attach", "--daemon", "-p", str(program.pid))
    run("create", "six", "-o", path("six"))
    run("start", "six")
    done = run("enable-event", "-s", "six", "libc:malloc")
    expect(f"program (process {program.pid}) does not record the events of the wrapper `libc`: its loader refuses the wrapper library\n" in done.stderr, done.stderr)
    expect("no event matches" not in done.stderr, done.stderr)
    os.rename(copy, copy + ".old")
    done = run("enable-event", "-s", "six", "libc:free")
    expect("the path of its agent leads to another file now, or to none\nhint: restart the program\n" in done.stderr, done.stderr)
    proceed(program)
    run("destroy", "six")
    end(program)


with open(path("program.c"), "w", encoding="utf-8") as out:
    out.write(PROGRAM)
subprocess.run(["gcc", "-O0", "-fno-builtin", path("program.c"), "-o", path("program"), "-pthread"], check=True, timeout=60)
with subprocess.Popen([sided, "--foreground", "--runtime", runtime, "--output", path("traces")], env=environment, stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL) as daemon:
    try:
        wait_until(lambda: os.path.exists(os.path.join(runtime, "agents.sock")), "the daemon", process=daemon)
        test_running()
        test_children()
        test_joining()
        test_interpreter()
        test_own_allocator()
        test_refusals()
    finally:
        daemon.terminate()
        daemon.wait(60)
finish()
