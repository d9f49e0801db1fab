#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Time and memory of `side leaks` for a trace of ten million events, and for two million blocks that are never freed.

usage: bench/leaks.py BUILD-DIRECTORY
"""
import json
import os
import resource
import subprocess
import sys
import tempfile

EVENTS = 10_000_000
KEPT = 2_000_000
SECONDS_MAX, MEBIBYTES_MAX = 5, 512
PROGRAM = """
#include <stdlib.h>
static void *volatile kept[1 << 16];
static __attribute__((noinline)) void *inner(size_t size)
{
	void *block = malloc(size);

	__asm__ volatile("" : "+r"(block));
	return block;
}
int main(int argc, char **argv)
{
	long count = atol(argv[1]), leaked = atol(argv[2]);
	unsigned int state = 1;

	for (long i = 0; i < leaked; i++)
		(void)!inner(8);
	for (long i = 0; i < count; i++) {
		void *volatile *at = &kept[(state = state * 1103515245 + 12345) >> 16 & 0xffff];

		if (*at)
			free(*at);
		*at = *at ? NULL : inner(16 + (state >> 24));
	}
	return argc == 0;
}
"""


def measure(side, trace, events):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = subprocess.run([side, "leaks", "--json", trace], check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    summary = json.loads(printed.splitlines()[0])
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # The maximum of all children so far: that of the recorder counts, too.
    mebibytes = after.ru_maxrss / 1024
    print(f"side leaks: {events:,} events, {summary['blocks']:,} blocks, {summary['lost']:,} lost: {seconds:.2f} s of CPU time, "
          f"at most {mebibytes:.0f} MiB")
    return seconds > SECONDS_MAX or mebibytes > MEBIBYTES_MAX or summary["lost"]


def main():
    side = os.path.join(os.path.abspath(sys.argv[1]), "programs/side/side")
    failed = False
    with tempfile.TemporaryDirectory(prefix="side-bench-") as work:
        source, program = os.path.join(work, "many.c"), os.path.join(work, "many")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run(["cc", "-O1", "-g", source, "-o", program], check=True)
        for name, count, leaked in (("freed", EVENTS, 0), ("kept", EVENTS - KEPT, KEPT)):
            trace = os.path.join(work, name)
            # The program waits for the recorder, so none is lost.
            subprocess.run([side, "record", "-q", "-w", "libc", "-e", "libc:malloc", "-e", "libc:free", "--mode", "block",
                            "--block-timeout", "60s", "-o", trace, "--", program, str(count), str(leaked)], check=True)
            failed |= bool(measure(side, trace, EVENTS))
    if failed:
        sys.exit(f"lost events, or more than {SECONDS_MAX} s or {MEBIBYTES_MAX} MiB")


main()
