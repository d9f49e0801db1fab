# SPDX-License-Identifier: MIT
"""What sessions across processes cost, for side and LTTng-UST, in one run, as a table with ratios.

usage: sessions.py BUILD-DIRECTORY [ROUNDS [PROCESSES...]]

For each number of processes (default: 1 50; also possible: 500) that run the instrumented program,
with each tracer's own daemon in turn and with one session started:

  latency    of `enable-event` and `disable-event`, from the start of the command to its end: afterwards every
             process has changed its rules. The median of the rounds, and the least, which is the value without
             other load.
  command    the same command when no process is reached: the command's own part of the latency
  memory     anonymous pages of a process; "added" is the difference to `sleep`, a program without
             instrumentation; and its additional threads

Goals: half of LTTng's latency and of its memory.
"""
import os
import statistics
import subprocess
import sys
import time

import tracers

LIMIT_S = 600
REST_S = 6  # after that time side has released the memory of its last exchange


class Side(tracers.Side):
    def __init__(self, build):
        super().__init__(build)
        # Rings of 500 programs.
        self.run("create", "bench", "-o", os.path.join(tracers.work, "side"), "--memory-limit", "16G")
        self.run("enable-event", "bench:kib,bench:u32")
        self.run("start")

    def enable(self):
        return self.timed("enable-event", "bench:u32")

    def disable(self):
        return self.timed("disable-event", "bench:u32")


class Lttng(tracers.Lttng):
    def __init__(self, build):
        super().__init__(build)
        self.run("create", "bench", "--output=" + os.path.join(tracers.work, "lttng"))
        self.run("enable-channel", "-u", "ring")
        self.run("enable-event", "-u", "-c", "ring", "bench:kib")
        self.run("enable-event", "-u", "-c", "ring", "bench:u32")
        self.run("start")

    def enable(self):
        return self.timed("enable-event", "-u", "-c", "ring", "bench:u32")

    def disable(self):
        return self.timed("disable-event", "-u", "-c", "ring", "bench:u32")


def footprint(programs):
    """Returns the average anonymous memory in KiB and number of threads of one program."""
    memory = threads = 0
    for program in programs:
        with open(f"/proc/{program.pid}/smaps_rollup", encoding="ascii") as file:
            memory += sum(int(line.split()[1]) for line in file if line.startswith("Anonymous:"))
        threads += len(os.listdir(f"/proc/{program.pid}/task"))
    return memory / len(programs), threads / len(programs)


def begin_programs(tracer, count):
    programs = [tracers.start([tracer.program, "idle"], env=tracer.env, stdout=subprocess.PIPE)
                for _ in range(count)]
    for program in programs:
        program.stdout.readline()
    return programs


def end_programs(programs):
    for program in programs:
        program.kill()
    for program in programs:
        program.communicate()


def bare_program():
    program = tracers.start(["sleep", "60"])
    time.sleep(0.5)
    memory, _ = footprint([program])
    program.kill()
    program.wait()
    return memory


def measure(tracer, count, rounds, bare):
    """Returns the rows of one tracer: name -> value."""
    programs = begin_programs(tracer, count)
    rows = {}
    if count:
        time.sleep(REST_S)
        memory, threads = footprint(programs)
        rows["memory KiB"], rows["added KiB"], rows["threads"] = memory, memory - bare, threads - 1
    pairs = [(tracer.disable(), tracer.enable()) for _ in range(rounds)]
    for what, times in (("enable-event", [pair[1] for pair in pairs]),
                        ("disable-event", [pair[0] for pair in pairs])):
        rows[what + " ms"] = statistics.median(times)
        rows[what + ", least"] = min(times)
    end_programs(programs)
    return rows


def main():
    build = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    counts = [int(word) for word in sys.argv[3:]] or [1, 50]
    tracers.begin(LIMIT_S)
    both = [Side(build), Lttng(build)]
    bare = bare_program()
    print(f"{'processes':>9}  {'':20}{'side':>10}{'LTTng':>10}{'ratio':>8}")
    for count in [0, *counts]:
        ours, theirs = (measure(tracer, count, rounds, bare) for tracer in both)
        for what, figure in ours.items():
            ratio = f"{figure / theirs[what]:8.2f}" if theirs[what] else ""
            print(f"{count:9}  {what:20}{figure:10.1f}{theirs[what]:10.1f}{ratio}", flush=True)
    for tracer in both:
        tracer.run("destroy", "bench")
        tracer.end()


main()
