#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""If the stack pointer does not point to a stack, no probe inside the process writes below it: on every instruction of
the functions of stack-pointer.c, with kernel probes where they are possible, and without. Functions as compilers
generate them keep their probes everywhere.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cmd"))
from harness import contains, equal, run_tests, side, true

PROGRAM = os.environ["PROBE_STACK_POINTER"]
PLAIN = subprocess.run([PROGRAM], stdout=subprocess.PIPE, check=True, text=True).stdout


def instructions():
    """Of each function: where its instructions start."""
    found, name = {}, None
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", PROGRAM], stdout=subprocess.PIPE, check=True, text=True).stdout
    for line in text.splitlines():
        head = re.match(r"^([0-9a-f]+) <((?:data|stack)_\w+)>:", line)
        if head or not line:
            name, begin = (head[2], int(head[1], 16)) if head else (None, 0)
        elif name and re.match(r"^ +[0-9a-f]+:\t(?!nop|cs nop|xchg +%ax)", line):
            found.setdefault(name, []).append(int(line.split(":")[0], 16) - begin)
    return found


FUNCTIONS = instructions()


def trace(directory, probes, *options):
    return side("trace", "--force", "-o", directory, "-c", PROGRAM, *[word for probe in probes for word in ("--probe", probe)], *options)


def each_instruction(kind, *options):
    functions = {name: locations for name, locations in FUNCTIONS.items() if name.startswith(kind)}
    true(functions, f"functions {kind}")
    for turn in range(max(map(len, functions.values()))):
        probes = [f"{name}+{locations[turn]:#x}" for name, locations in functions.items() if turn < len(locations)]
        with tempfile.TemporaryDirectory() as directory:
            yield trace(directory, probes, *options), probes


def test_data_by_any_method():
    for result, probes in each_instruction("data_"):
        equal((result.out, result.status), (PLAIN, 0), f"{probes}: {result.err}")


def test_data_without_the_kernel():
    for result, probes in each_instruction("data_", "--no-uprobe"):
        true(result.status in (0, 1), f"{probes}: {result}")
        if not result.status:
            equal(result.out, PLAIN, f"{probes}: {result.err}")


def test_reason():
    with tempfile.TemporaryDirectory() as directory:
        where = FUNCTIONS["data_moved"][4]
        contains(trace(directory, [f"data_moved+{where:#x}"], "--no-uprobe").err, "uprobe", "where the kernel alone could watch")


def test_stacks_of_compilers():
    for result, probes in each_instruction("stack_", "--no-uprobe"):
        equal((result.out, result.status), (PLAIN, 0), f"{probes}: {result.err}")
        true("left out" not in result.err, f"{probes}: {result.err}")


run_tests(globals())
