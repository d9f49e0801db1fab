# SPDX-License-Identifier: MIT
"""The highest rate at which every event reaches the disk, and what the consumer needs for it, for side
and LTTng-UST, in one run.

usage: rates.py BUILD-DIRECTORY [SECONDS [THREADS [LIMIT]]]

A program fires u32+string16 at an even rate; each tracer's daemon records it with 4 MiB of buffers
for each CPU. The rate grows by a fifth (from 250,000 events a second up to LIMIT, by default 24
million) until events are lost, or the program cannot fire that many; each rate takes SECONDS (1).
For both tracers:

  sustained  the highest rate at which every event is in the trace, in millions a second
  consumer   CPU time of the daemon and its processes, in ns an event, at that rate
  bytes      of the trace, an event
  ended by   the next higher rate: events were lost, or the program could not fire that many

A rate that fails is tried twice. Goal: twice LTTng's rate.
"""
import os
import re
import shutil
import subprocess
import sys
import time

import tracers

LIMIT_S = 900
FIRST_RATE, STEP = 250_000, 1.2
EVENT = "bench:u32_string"


def size_of(directory):
    return sum(os.path.getsize(os.path.join(where, name))
               for where, _, names in os.walk(directory) for name in names)


def produce(tracer, rate, seconds, threads):
    """Returns the number of events and the duration."""
    done = subprocess.run([tracer.program, "rate", str(rate), str(seconds), str(threads)], env=tracer.env,
                          capture_output=True, text=True, check=True, timeout=60)
    events, took = done.stdout.split()
    return int(events), float(took)


class Side(tracers.Side):
    def session(self, output, rate, seconds, threads):
        self.run("create", "rate", "-o", output)
        self.run("enable-channel", "ring", "--buffer-size", "4M")
        self.run("enable-event", "-c", "ring", EVENT)
        self.run("start")
        before = self.consumer_cpu()
        events, took = produce(self, rate, seconds, threads)
        self.run("stop")
        cpu = self.consumer_cpu() - before
        printed = self.run("destroy", "rate")
        return events, took, cpu, bool(re.search(r"\blost\b", printed))


class Lttng(tracers.Lttng):
    def session(self, output, rate, seconds, threads):
        self.run("create", "rate", "--output=" + output)
        self.run("enable-channel", "-u", "ring", "--subbuf-size=1M", "--num-subbuf=4")
        self.run("enable-event", "-u", "-c", "ring", EVENT)
        self.run("start")
        before = self.consumer_cpu()
        events, took = produce(self, rate, seconds, threads)
        printed = self.run("stop")
        cpu = self.consumer_cpu() - before
        printed += self.run("destroy", "rate")
        return events, took, cpu, "discarded" in printed


def try_rate(tracer, rate, seconds, threads):
    """Returns a row, or None, and the reason."""
    output = os.path.join(tracers.work, "trace")
    events, took, cpu, lost = tracer.session(output, rate, seconds, threads)
    size = size_of(output)
    shutil.rmtree(output)
    if lost or events / took < 0.95 * rate:
        return None, "losses" if lost else "program"
    return (events / took / 1e6, cpu * 1e9 / events, size / events), "limit"


def main():
    build = os.path.abspath(sys.argv[1])
    seconds, threads, limit = [int(word) for word in sys.argv[2:5]] + [1, 2, 24_000_000][len(sys.argv) - 2:]
    tracers.begin(LIMIT_S)
    both = [Side(build), Lttng(build)]
    best, ends = {}, {}
    running, rate = list(both), FIRST_RATE
    while running and rate <= limit:
        for tracer in list(running):
            row, ends[tracer.name] = try_rate(tracer, rate, seconds, threads)
            if not row:
                row, ends[tracer.name] = try_rate(tracer, rate, seconds, threads)
            if row:
                best[tracer.name] = row
            else:
                running.remove(tracer)
            time.sleep(0.2)
        rate = int(rate * STEP)
    print(f"{threads} threads, {seconds} s a rate{'side':>11}{'LTTng':>10}{'ratio':>8}")
    for i, what in enumerate(("sustained M/s", "consumer ns", "bytes an event")):
        ours, theirs = (best.get(tracer.name, (0, 0, 0))[i] for tracer in both)
        print(f"{what:24}{ours:10.2f}{theirs:10.2f}{f'{ours / theirs:8.2f}' if theirs else ''}")
    print(f"{'ended by':24}{ends['side']:>10}{ends['LTTng']:>10}")
    for tracer in both:
        tracer.end()


main()
