# SPDX-License-Identifier: MIT
"""In the machine: a recorder's session, the kernel, gdb and the console tracer at the same event,
coming and going while others stay. Each gets exactly the events that were fired while it listened.

usage: inside_together.py   with KERNEL_PROGRAM, SIDE, GDB_SCRIPT, CONSOLE, LIB_DIRS in the
environment
"""
import os
import re
import subprocess
import sys
import tempfile
import time

import bt2

import ftrace
from inside_events import found, ticks
from remaining_output import remaining_output
from runtime_directory import prepare_runtime

PROGRAM, SIDE, CONSOLE = os.environ["KERNEL_PROGRAM"], os.environ["SIDE"], os.environ["CONSOLE"]
FIRED = 20  # in each round
STOP = 7    # gdb stops at this one of them
RECORDER, KERNEL, DEBUGGER = 1, 2, 4
# gdb needs most of the time: an emulated machine starts it slowly.
ROUNDS = [0, RECORDER, RECORDER | KERNEL, KERNEL, RECORDER | KERNEL | DEBUGGER, DEBUGGER, 0]


def check(got, wanted, what):
    if got != wanted:
        sys.exit(f"{what}: {got} instead of {wanted}")
    print(f"{what}: {len(got)} right")


def side(*words):
    done = subprocess.run([SIDE, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"side {' '.join(words)}: {done.stdout}{done.stderr}")


class Debugger:
    """gdb, attached, with a breakpoint at one of the events to come."""

    def __init__(self, pid, number):
        commands = [f"source {os.environ['GDB_SCRIPT']}", f"side break kern:tick if number == {number}",
                    "echo @@continues\\n", "continue", "side print", "side delete"]
        words = ["gdb", "-nx", "-q", "-batch", "-ex", "set debuginfod enabled off", "-p", str(pid)]
        for command in commands:
            words += ["-ex", command]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.output = ""
        while "@@continues" not in self.output:
            line = self.process.stdout.readline()
            if not line:
                sys.exit(f"gdb does not get there: {self.output}")
            self.output += line

    def numbers(self):
        self.output += remaining_output(self.process, self.process.stdout, 120)[0]
        return [int(n) for n in re.findall(r"^  number = (\d+)$", self.output, re.M)]


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def wait_until_ready(printed_file, program, times):
    """The lines of the console tracer and of the program are in one file."""
    while read(printed_file).splitlines().count("ready") < times:
        if program.poll() is not None:
            sys.exit(f"the program has ended with {program.returncode}")
        time.sleep(0.01)


def recorded(directory):
    return [int(message.event.payload_field["number"]) for message in bt2.TraceCollectionMessageIterator(directory)
            if type(message) is bt2._EventMessageConst and message.event.name == "kern:tick"]


def main():
    place = tempfile.mkdtemp(prefix="together-")
    prepare_runtime(place)
    output = os.path.join(place, "trace")
    wanted = {RECORDER: [], KERNEL: [], DEBUGGER: []}
    stopped = []
    side("create", "together", "-o", output)
    side("start")
    environment = dict(os.environ, LD_PRELOAD=CONSOLE, SIDE_USER_EVENTS="kern")
    rounds = [word for _ in ROUNDS for word in ("wait", f"fire:{FIRED}")] + ["wait"]
    printed_file = os.path.join(place, "console")
    with open(printed_file, "ab") as console, \
            subprocess.Popen([PROGRAM, *rounds], stdin=subprocess.PIPE, stdout=console, env=environment,
                             text=True) as program:
        before, first = 0, 0
        wait_until_ready(printed_file, program, 1)
        for number, listening in enumerate(ROUNDS):
            changed = before ^ listening
            if changed & RECORDER:
                side("enable-event" if listening & RECORDER else "disable-event", "-u", "kern:tick")
            if changed & KERNEL:
                ftrace.enable(bool(listening & KERNEL), "user_events/kern_tick")
            debugger = Debugger(program.pid, first + STOP) if listening & DEBUGGER else None
            program.stdin.write("x")
            program.stdin.flush()
            wait_until_ready(printed_file, program, number + 2)
            if debugger:
                stopped += debugger.numbers()
                wanted[DEBUGGER].append(first + STOP)
            for listeners_there in RECORDER, KERNEL:
                wanted[listeners_there] += range(first, first + FIRED) if listening & listeners_there else ()
            before, first = listening, first + FIRED
        # The formats of the program's events exist only while the program runs.
        kernel = sorted(t["number"] for t in ticks(found()))
        status = ftrace.read("user_events_status")
        program.stdin.write("x")
        program.stdin.close()
        if program.wait():
            sys.exit(f"the program ends with {program.returncode}")
    printed = [int(n) for n in re.findall(r"^provider: kern, event: tick, fields: { number: { value: (\d+) }",
                                          read(printed_file), re.M)]
    side("destroy", "together")
    check(printed, list(range(FIRED * len(ROUNDS))), "console")
    check(recorded(output), wanted[RECORDER], "recorder")
    check(kernel, wanted[KERNEL], "kernel")
    check(stopped, wanted[DEBUGGER], "gdb")
    check([line for line in status.splitlines() if "kern_tick" in line and "Used" in line], [], "no listener at the end")


if __name__ == "__main__":
    main()
