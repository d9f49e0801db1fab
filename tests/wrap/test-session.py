# SPDX-License-Identifier: MIT
"""Wrappers in sessions of the daemon: `side enable-event` reports that no program has loaded the wrapper, and the command of its hint loads it.

usage: test-session.py SIDE SIDED
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish
from waiting import wait_until

side, sided = (os.path.abspath(a) for a in sys.argv[1:3])
work = tempfile.TemporaryDirectory(prefix="side-wrap-session-")
environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LD_LIBRARY_PATH", "SIDE_AGENT_SOCKET", "SIDE_LIB_DIR")}
runtime = environment["SIDE_RUNTIME"] = os.path.join(work.name, "runtime")

# Allocates, and waits for the end of its input before it ends.
PROGRAM = r"""
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	char byte;

	for (int i = 0; i < 1000; i++)
		free(malloc(10));
	(void)!write(1, "+", 1);
	(void)!read(0, &byte, 1);
	_exit(0);
}
"""


def path(name):
    return os.path.join(work.name, name)


def run(*words, status=0):
    done = subprocess.run([side, *words], capture_output=True, text=True, check=False, timeout=60, env=environment)
    expect_equal(done.returncode, status, f"{words}: {done.stderr}")
    return done


def note(pattern, wrapper):
    return f"side: session wrapped: no event matches `{pattern}` yet: no program that side can read has loaded the wrapper `{wrapper}`\n"


def preload(text):
    """The value of LD_PRELOAD in a hint."""
    found = re.search(r"^hint: LD_PRELOAD='(.*)' PROGRAM starts a program with it$", text, re.M)
    expect(found, f"no command to load the wrapper: {text}")
    return found.group(1) if found else ""


def test_session():
    run("create", "wrapped", "-o", path("trace"))
    done = run("enable-event", "-s", "wrapped", "libc:malloc", "libc:free", "pthread:*", "other:*")
    for pattern, wrapper in (("libc:malloc", "libc"), ("libc:free", "libc"), ("pthread:*", "pthread")):
        expect_equal(done.stderr.count(note(pattern, wrapper)), 1, f"{pattern}: {done.stderr}")
    expect("the wrapper `other`" not in done.stderr, f"a name that any later program can have: {done.stderr}")
    run("start", "wrapped")
    with subprocess.Popen([path("program")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env={**environment, "LD_PRELOAD": preload(done.stderr)}) as program:
        expect_equal(program.stdout.read(1), b"+", "the program runs")
        # The wrapper is loaded now.
        done = run("enable-event", "-s", "wrapped", "libc:calloc", "pthread:pthread_create")
        expect("libc:calloc" not in done.stderr.replace("records libc:calloc and others from now on", ""), f"loaded: {done.stderr}")
        for wrapper in ("libc", "pthread"):
            expect(f"side: session wrapped: the wrapper `{wrapper}` is loaded into 1 program\n" in done.stderr, f"{wrapper}: {done.stderr}")
        program.stdin.close()
        expect_equal(program.wait(60), 0, "the program's status")
    run("stop", "wrapped")
    shown = run("view", "--json", path("trace"))
    counts = collections.Counter(json.loads(line).get("event") for line in shown.stdout.splitlines())
    expect_equal((counts["libc:malloc"], counts["libc:free"]), (1000, 1000), "recorded calls")
    run("destroy", "wrapped")


def test_options():
    """Verbs without `-w` name what does the same."""
    done = run("enable-event", "-w", "libc", status=2)
    expect("`side enable-event 'libc:*'` selects the events of a wrapper" in done.stderr, done.stderr)
    done = run("trace", "-w", "libc", "-p", "1", status=2)
    expect("`side attach -w`" in done.stderr, done.stderr)


with open(path("program.c"), "w", encoding="utf-8") as out:
    out.write(PROGRAM)
subprocess.run(["gcc", "-O0", "-fno-builtin", path("program.c"), "-o", path("program")], check=True, timeout=60)
with subprocess.Popen([sided, "--foreground", "--runtime", runtime, "--output", path("traces")], env=environment, stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL) as daemon:
    try:
        wait_until(lambda: os.path.exists(os.path.join(runtime, "agents.sock")), "the daemon", process=daemon)
        test_session()
        test_options()
    finally:
        daemon.terminate()
        daemon.wait(60)
finish()
