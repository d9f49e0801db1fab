# SPDX-License-Identifier: MIT
"""Calls of the C library (`libc:*`) by programs that are attached to on exec, and by programs of `side run`, with the allocator of the C
library and with jemalloc before it: each call that the program counts itself is an event.

usage: test-exec-libc.py SIDE LIBRARIES
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish
from exec_harness import call, compile_program, environment, path, plain, run, side, wait_for

# Each round makes the calls that WANTED has, with sizes that no library uses.
CALLER = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) void counted(int i)
{
	__asm__ volatile ("" : : "r"(i));
}

int main(int argc, char **argv)
{
	(void)argc;
	for (int i = 0; i < atoi(argv[1]); i++) {
		void *volatile first = malloc(7777), *volatile second = calloc(3, 1111);
		int file = open("/dev/null", O_RDONLY);
		char byte;

		first = realloc(first, 8888);
		if (read(file, &byte, 1))
			return 1;
		close(file);
		free(first);
		free(second);
		counted(i);
	}
	return 3;
}
"""
ROUNDS = 200
WANTED = {"malloc": ROUNDS, "calloc": ROUNDS, "realloc": ROUNDS, "open": ROUNDS, "read": ROUNDS, "close": ROUNDS}
SIZES = {"malloc": 7777, "calloc": 1111, "realloc": 8888}


def events(name, program):
    """The number of events of the program by name. Calls of allocators with other sizes are not its own."""
    found = {}
    for line in call(side, "view", "--json", path(name)).stdout.splitlines():
        event = json.loads(line)
        if event.get("procname") != os.path.basename(program) or "event" not in event:
            continue
        function = event["event"].split(":")[1]
        if function not in SIZES or SIZES[function] in event["fields"].values():
            found[function] = found.get(function, 0) + 1
    return found


def test_calls(program, name, method, preload):
    call(side, "create", name, "-o", path(name))
    call(side, "enable-event", "libc:*", "-s", name)
    if method == "exec":
        call(side, "enable-event", "counted", "-s", name, "--exe", program, "--function", "counted")
    call(side, "start", name)
    command = [*(("env", "LD_PRELOAD=" + preload) if preload else ()), program, str(ROUNDS)]
    if method == "run":
        command = [side, "run", "-s", name, "-w", "libc", "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment if method == "run" else plain)
    expect_equal((done.returncode, done.stdout), (3, ""), f"{name}: the program is the same: {done.stderr}")
    if method == "exec":
        wait_for(name, attached=1)
    call(side, "stop", name)
    found = events(name, program)
    print(f"{name}: {found}")
    expect_equal({key: found.get(key) for key in WANTED}, WANTED, f"{name}: the calls")
    # The libraries release memory, too.
    expect(2 * ROUNDS <= found.get("free", 0) <= 2 * ROUNDS + 100, f"{name}: free(): {found}")
    if method == "exec":
        expect_equal(found.get("counted"), ROUNDS, f"{name}: the probe")
    call(side, "destroy", name)


def test_all(_):
    caller = compile_program("caller", CALLER)
    jemalloc = subprocess.run(["gcc", "-print-file-name=libjemalloc.so.2"], capture_output=True, text=True, check=True).stdout.strip()
    for method in ("exec", "run"):
        test_calls(caller, f"{method}-plain", method, None)
        if os.path.exists(jemalloc):
            test_calls(caller, f"{method}-jemalloc", method, os.path.realpath(jemalloc))
        else:
            print("without jemalloc")


finish(skipped=not run(test_all))
