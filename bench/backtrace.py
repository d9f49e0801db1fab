#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures the cost of the context `backtrace` in calls of malloc and free: ten frames, with frame pointers and with .eh_frame.

usage: bench/backtrace.py BUILD-DIRECTORY
"""
import os
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 7
CONTEXTS = {"none": [], "1 frame": ["--context", "backtrace:1"], "10 frames": ["--context", "backtrace:10"]}
COMPILED = {".eh_frame": ["-fomit-frame-pointer"],
            "frame pointers": ["-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables"]}
PROGRAM = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile int kept;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static __attribute__((noinline)) void allocate(int nr)
{
	for (int i = 0; i < nr; i++) {
		void *block = malloc(64);

		__asm__ volatile("" : "+r"(block) : : "memory");
		free(block);
	}
}

static __attribute__((noinline)) void call(int depth, int nr)
{
	volatile char used[24];

	used[0] = 1;
	if (depth)
		call(depth - 1, nr);
	else
		allocate(nr);
	kept += used[0];
}

int main(void)
{
	double best = 1e9;

	call(6, 1000);
	for (int i = 0; i < 200; i++) {
		double begin = now(), each;

		call(6, 2000);
		each = (now() - begin) / 4000;
		best = each < best ? each : best;
	}
	dprintf(3, "%.1f\n", best);
	return 0;
}
"""


def measure(side, program, options, work):
    """Nanoseconds per event, in short rounds, few of which other processes interrupt. A flight recorder loses no event."""
    printed = os.path.join(work, "printed")
    with tempfile.TemporaryDirectory(dir=work) as trace:
        subprocess.run([side, "record", "-q", "--mode", "overwrite", "-w", "libc", *options, "-o", os.path.join(trace, "trace"),
                        "--", "/bin/sh", "-c", 'exec "$0" 3>"$1"', program, printed], check=True, timeout=60)
    with open(printed, encoding="utf-8") as file:
        return float(file.read())


def main():
    side = os.path.join(os.path.abspath(sys.argv[1]), "programs/side/side")
    with tempfile.TemporaryDirectory(prefix="side-bench-") as work:
        source = os.path.join(work, "program.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        results = {}
        for name, options in COMPILED.items():
            subprocess.run(["cc", "-O2", "-fno-builtin", *options, "-o", source + name, source], check=True)
        for _ in range(ROUNDS):
            for name in COMPILED:
                for context, options in CONTEXTS.items():
                    results.setdefault((name, context), []).append(measure(side, source + name, options, work))
        for (name, context), times in results.items():
            base = statistics.median(results[name, "none"])
            median = statistics.median(times)
            print(f"{name}, {context}: {median:.1f} ns per event ({median / base:.2f} times)")


if __name__ == "__main__":
    main()
