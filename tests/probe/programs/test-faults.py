#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A program that handles faults of its own code behaves as without probes, wherever in the code a probe is (faults.c);
each call is recorded once, however often its instruction is retried; and a core dump has the address of the program's
instruction.
"""
import os
import re
import resource
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cmd"))
from harness import SIDE, environment, equal, run_tests, true, wait_until

PROGRAM = os.environ["PROBE_FAULTS"]
FUNCTIONS = "first second third last longer stores calls wild divides divides_first undefined vector entered".split()
CALLS_MORE = ["first", "second", "third", "last", "calls", "divides", "entered"]  # again with memory that can be read
NT_PRSTATUS, PRSTATUS_REGISTERS, RIP = 1, 112, 16


def run(*command, cwd=None, **more):
    done = subprocess.run(command, cwd=cwd, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, text=True,
                          check=False, **more)
    return done.returncode, done.stdout, done.stderr


# Of each function: its address, the offset of the instruction that faults, and the offset of the next one.
LOCATIONS = {line.split()[0]: [int(word, 0) for word in line.split()[1:]] for line in run(PROGRAM, "o")[1].splitlines()}


def at_begins():
    return [word for name in FUNCTIONS for word in ("--function", name)]


def at_faults():
    """The instruction that faults, and the one after it."""
    options = []
    for i, name in enumerate(FUNCTIONS):
        where = LOCATIONS[name][1 if i % 3 else 2]
        options += ["--probe", f"{name}+{where:#x}" if where else name]
    return options


def recorded(directory):
    status, out, err = run(SIDE, "view", "--flat", "--color=never", "trace", cwd=directory)
    equal(status, 0, err)
    return re.findall(r"^\[[^\]]*\] .*? \S*:(\S+): ", out, re.M)


def same(mode, options, counted):
    plain = run(PROGRAM, mode)
    with tempfile.TemporaryDirectory() as directory:
        probed = run(SIDE, "-q", "trace", "-o", "trace", "-c", f"{PROGRAM} {mode}", *options, cwd=directory)
        equal(probed[:2], plain[:2], f"{mode} {options}: {probed[2]}")
        if counted:
            names = recorded(directory)
            for name in FUNCTIONS:
                equal(names.count(name), 1 + (name in CALLS_MORE), f"{mode}: hits of {name}")


def test_table():
    same("t", at_begins(), True)
    same("t", at_faults(), False)


def test_skip():
    same("s", at_begins(), True)
    same("s", at_faults(), False)


def test_retry():
    same("r", at_begins(), True)
    same("r", at_faults(), False)


def test_jump_out():
    same("j", at_begins(), True)
    same("n", at_begins(), True)


def test_breakpoints():
    for mode in "tsr":
        same(mode, at_begins() + ["--no-uprobe"], True)
        same(mode, at_faults() + ["--no-uprobe"], False)


def test_exits():
    for mode in "tr":
        same(mode, [word for name in FUNCTIONS[:6] for word in ("--function", name)] + ["--exit"], False)


def bytes_at(process, address):
    with open(f"/proc/{process.pid}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(5)


def test_running_program():
    """The kernel has its handlers already: it installs them by a bare system call."""
    plain = run(PROGRAM, "w", input="\n")
    with tempfile.TemporaryDirectory() as directory, subprocess.Popen(
            [PROGRAM, "w"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), text=True) as program:
        true(program.stdout.readline() == "ready\n", "it is ready")
        before = bytes_at(program, LOCATIONS["stores"][0])
        with subprocess.Popen([SIDE, "-q", "trace", "-o", "trace", "-p", str(program.pid), *at_begins()], cwd=directory, env=environment(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as tracer:
            wait_until(lambda: bytes_at(program, LOCATIONS["stores"][0]) != before, "the probes are set", 30, tracer)
            time.sleep(.1)
            out = program.communicate("\n", timeout=60)[0]
            tracer.communicate(timeout=60)
        equal(("ready\n" + out, program.returncode), (plain[1], 0), "the running program")


def limit():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def program_counter(path):
    """The program counter of the thread that has faulted, which is the first one."""
    with open(path, "rb") as file:
        core = file.read(1 << 20)
    offset, size, count = struct.unpack_from("<Q", core, 32)[0], *struct.unpack_from("<HH", core, 54)
    for i in range(count):
        kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", core, offset + i * size)
        while kind == 4 and length > 12:
            name, described, note = struct.unpack_from("<III", core, at)
            if note == NT_PRSTATUS:
                return struct.unpack_from("<Q", core, at + 12 + (name + 3) // 4 * 4 + PRSTATUS_REGISTERS + RIP * 8)[0]
            step = 12 + (name + 3) // 4 * 4 + (described + 3) // 4 * 4
            at, length = at + step, length - step
    return None


def test_core():
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
        pattern = file.read().strip()
    if "/" in pattern or pattern.startswith("|") or not pattern:
        print(f"core dumps go elsewhere ({pattern}): not read")
        return
    for name in ["first", "third", "stores", "calls", "divides_first", "undefined"]:
        expected = run(PROGRAM, "e", name)[0]
        for options in (at_begins(), at_faults(), at_begins() + ["--no-uprobe"]):
            with tempfile.TemporaryDirectory() as directory:
                status, out, err = run(SIDE, "-q", "trace", "-o", "trace", "-c", f"{PROGRAM} e {name}", *options, cwd=directory,
                                  preexec_fn=limit)
                equal(status, 128 - expected, f"{name}: {err}")
                cores = [file for file in os.listdir(directory) if file.startswith("core")]
                true(cores, f"{name}: there is no core dump")
                equal(hex(program_counter(f"{directory}/{cores[0]}")), out.split()[0], f"{name}: {options[-1]}")


run_tests(globals())
