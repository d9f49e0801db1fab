# SPDX-License-Identifier: MIT
"""The rings of `side leaks` lose no event of a command, and leave its address space to the program.

usage: test-leaks-rings.py SIDE PROGRAM
"""
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish
from leaks import Answer, run
from waiting import wait_until

side, program = (os.path.abspath(a) for a in sys.argv[1:3])
work = tempfile.TemporaryDirectory(prefix="side-leaks-rings-")
os.environ["TMPDIR"] = work.name
PAIRS = 300000  # of the mode "busy" of the program


def test_full_rings():
    """A command waits while its rings are full: 600,000 events pass through the smallest rings."""
    answer = Answer(run(side, "leaks", "--json", "--buffer-size", "64K", "--", program, "busy", input="\n"),
                    skip=("begun", "ended"))
    expect_equal(answer.status, 7, answer.stderr)
    expect_equal({name: answer.summary[name] for name in ("lost", "exact")}, {"lost": 0, "exact": True}, "losses")
    expect_equal(answer.summary["allocations"], PAIRS + answer.of("busy")[0] + len(others(answer, "busy")), "allocations")


def others(answer, function):
    """The stacks without the function."""
    return [leak for leak in answer.leaks if function not in answer.functions(leak)]


def child_of(pid):
    """The first child of a process, or None."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return next(map(int, file.read().split()), None)


def test_killed_recorder():
    """A program whose recorder is killed continues, and the answer is not exact."""
    trace = os.path.join(work.name, "killed")
    answering = subprocess.Popen([side, "leaks", "--json", "-o", trace, "--buffer-size", "64K", "--", program, "busy"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    expect_equal(answering.stdout.readline(), "begun\n", "the program")
    recorder = child_of(answering.pid)
    os.kill(recorder, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{recorder}"), "the end of the recorder")
    answering.stdin.write("\n")
    answering.stdin.flush()
    output, errors = answering.communicate(timeout=60)
    expect("ended\n" in output, f"the program: {output}")
    answer = Answer(answering, output, skip=("ended",))
    expect_equal((answering.returncode, answer.summary["exact"]), (128 + signal.SIGKILL, False), f"{answer.summary}")
    expect("the recording is incomplete: signal 9 ended the recorder" in errors, errors)


def test_limited_program():
    """A program that limits its address space can use it."""
    plain = run(program, "limited")
    done = run(side, "leaks", "--", program, "limited")
    expect_equal((plain.stdout, done.stdout.splitlines()[0], done.returncode), ("80\n", "80", 7), done.stderr)


def test_daemon():
    """A note reports processes that still run when the answer comes."""
    answering = subprocess.Popen([side, "leaks", "--", program, "daemon"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
    lines = []
    while not lines or "hint: " not in lines[-1]:
        lines.append(answering.stderr.readline())
        expect(lines[-1], f"the end of the messages: {lines}")
    answering.stdin.close()
    expect_equal((answering.wait(timeout=60), lines[-2:]),
                 (7, ["side: 1 process of the command still runs; the answer does not contain its later events\n",
                      "hint: `-p PID` records a running process\n"]), "a daemon")
    answering.stdout.close()
    answering.stderr.close()


def ring_bytes(pid):
    """The bytes of the rings in the address space of a process."""
    with open(f"/proc/{pid}/maps") as file:
        spans = re.findall(r"^(\w+)-(\w+) .*memfd:side-ring", file.read(), re.M)
    return sum(int(end, 16) - int(begin, 16) for begin, end in spans)


def test_limited_process():
    """With -p, rings take a sixteenth of what the limit of the process leaves."""
    limit = 512 << 20
    process = subprocess.Popen([program, "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    expect_equal(process.stdout.readline(), "ready\n", "run")
    answering = subprocess.Popen([side, "leaks", "-p", str(process.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True)
    wait_until(lambda: answering.poll() is not None or ring_bytes(process.pid), "the rings")
    used = ring_bytes(process.pid)
    answering.send_signal(signal.SIGINT)
    output, errors = answering.communicate(timeout=60)
    expect_equal(answering.returncode, 0, f"{output} {errors}")
    process.stdin.close()
    expect_equal(process.wait(timeout=60), 7, "run")
    # The rings of a process have 64 KiB at least, and a block of control for each.
    least = os.sysconf("SC_NPROCESSORS_CONF") * (128 << 10)
    expect(0 < used <= max(limit // 16, least) * 9 // 8, f"{used} bytes")


for test in (test_full_rings, test_killed_recorder, test_daemon, test_limited_program, test_limited_process):
    test()
finish()
