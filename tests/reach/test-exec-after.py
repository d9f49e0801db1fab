# SPDX-License-Identifier: MIT
"""Attach after exec: where the kernel refuses fanotify, the daemon attaches to programs that run already. Status and enable-event say so,
and that first calls and short programs can be missing.

usage: test-exec-after.py SIDE LIBRARIES
"""
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish
from exec_harness import call, compile_program, create, end, execs, path, plain, processes, side, start, wait_for

# Calls counted() for each byte of the standard input.
READER = r"""
#include <unistd.h>

static volatile int calls;

__attribute__((noinline)) void counted(int i)
{
	calls += i + 1 - i;
}

int main(void)
{
	char byte;

	while (read(0, &byte, 1) == 1)
		counted(calls);
	return calls;
}
"""
STARTS = 40
# As the container runtimes start a daemon.
DROP = ("setpriv", "--bounding-set=-sys_admin")


def finish_reader(process, nr):
    process.stdin.write(b"x" * nr)
    process.stdin.close()
    expect_equal(process.wait(timeout=60), nr, "the program's status")


def start_reader(program):
    return subprocess.Popen([program], stdin=subprocess.PIPE, env=plain)


def test_answer(program):
    """The answer has the method, and why it is not the better one."""
    call(side, "create", "answer", "-o", path("answer"))
    call(side, "start", "answer")
    done = call(side, "enable-event", "counted", "-s", "answer", "--exe", program, "--function", "counted")
    expect("attach after exec" in done.stderr and "first calls and short programs can be missing" in done.stderr, f"the method: {done.stderr}")
    expect("CAP_SYS_ADMIN" in done.stderr, f"the reason: {done.stderr}")
    text = call(side, "status", "answer").stdout
    expect("attach after exec" in text and "first calls and short programs can be missing" in text, f"status: {text}")
    call(side, "destroy", "answer")


def test_calls(program):
    """Each call after the attachment is recorded, in programs that start at the same time."""
    create("calls", ("counted", program, "counted"))
    readers = [start_reader(program) for _ in range(3)]
    wait_for("calls", attached=3)
    for i, process in enumerate(readers):
        finish_reader(process, 10 * (i + 1))
    expect_equal(sorted(end("calls").values()), [10, 20, 30], "the calls of each process")


def test_created(program):
    """A file that is created later, and another file of its path."""
    later = path("made")
    create("later", ("counted", later, "counted"))
    for attached in (1, 2):
        shutil.copy(program, later + ".new")
        os.rename(later + ".new", later)
        process = start_reader(later)
        # A program that is executed in the moment when the file is replaced can be missed.
        for _ in range(20):
            deadline = time.monotonic() + 3
            while execs("later").get("attached", 0) < attached and time.monotonic() < deadline:
                time.sleep(0.01)
            if execs("later").get("attached", 0) >= attached:
                break
            finish_reader(process, 5)
            process = start_reader(later)
        wait_for("later", attached=attached)
        finish_reader(process, attached)
    expect_equal(sorted(end("later").values()), [1, 2], "the calls of each process")


def test_short(program):
    """Programs that end at once run unchanged. They are counted, unless they end before the helper has read the kernel's report."""
    create("short", ("counted", program, "counted"))
    for _ in range(STARTS):
        start("/bin/sh", "-c", f"echo abc | {program}", status=4)
    process = start_reader(program)
    attached = wait_for("short", attached=1)
    print(f"{STARTS} short programs: {attached}")
    expect(attached["attached"] + attached["failed"] <= STARTS + 1, "no program is counted twice")
    finish_reader(process, 4)
    expect(all(count <= 4 for count in end("short").values()), "no call is recorded twice")


def test_others(program):
    """A traced program keeps its tracer; a container's program runs unchanged."""
    create("others", ("counted", program, "counted"))
    failed = 0
    for command, reason in ((("strace", "-f", "-o", os.devnull), "trac"), (("unshare", "-p", "-f"), "container")):
        if shutil.which(command[0]) and not subprocess.run([*command, "true"], capture_output=True, check=False, timeout=60).returncode:
            process = subprocess.Popen([*command, program], stdin=subprocess.PIPE, env=plain)
            failed += 1
            expect(reason in wait_for("others", failed=failed)["failure"], f"{reason}: {execs('others')}")
            finish_reader(process, 7)
    expect_equal(end("others"), {}, "no program has the probe")


def test_all(program):
    test_answer(program)
    test_calls(program)
    test_created(program)
    test_short(program)
    test_others(program)
    for pid in processes("side-watch-execs"):
        expect(len(os.listdir(f"/proc/{pid}/fd")) < 16, "the helper's descriptors")


def start_daemon():
    """Returns why the daemon does not attach after exec."""
    if not shutil.which(DROP[0]) or subprocess.run([*DROP, "true"], capture_output=True, check=False).returncode:
        return "setpriv cannot drop a capability"
    call(*DROP, side, "daemon")
    call(side, "create", "able", "-o", path("able"))
    able = json.loads(call(side, "enable-event", "main", "-s", "able", "--exe", reader, "--function", "counted", "--json",
                           status=None).stdout or "{}").get("exec", {})
    call(side, "destroy", "able")
    return None if able.get("after") else able.get("why", "the kernel does not refuse fanotify")


reader = compile_program("reader", READER)
why = None if reader else "there is no compiler"
try:
    why = why or start_daemon()
    if why:
        print(f"skipped: {why}")
    else:
        test_all(reader)
finally:
    call(side, "daemon", "--stop", status=None)
finish(skipped=bool(why))
