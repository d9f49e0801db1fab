#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Time and memory of the verbs that answer questions, for a trace of ten million events of calls.

usage: bench/answers.py BUILD-DIRECTORY [MILLIONS]

A program makes five million calls of five functions, and waits now and then, so that no event is
lost. Goals: 5 s of time and 512 MiB of memory for each answer. bench/leaks.py and bench/locks.py
measure those two verbs.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

SECONDS_MAX, MEBIBYTES_MAX = 5, 512
PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
NOINLINE int leaf(int n) { __asm__ volatile("" : "+r"(n)); return n; }
NOINLINE int left(int n) { return leaf(n) + 1; }
NOINLINE int right(int n) { return leaf(n) + 2; }
NOINLINE int step(int n) { return n & 1 ? left(n) + 1 : right(n) + 1; }
int main(int argc, char **argv)
{
	long rounds = atol(argv[argc - 1]) / 3;
	int sum = 0;

	for (long i = 0; i < rounds; i++) {
		sum += step((int)i);
		if (i % 20000 == 0)
			usleep(30000);
	}
	return sum == 42;
}
"""
ANSWERS = {
    "side slow": ("slow", "--json", "TRACE"),
    "side report": ("report", "--json", "TRACE"),
    "side report --tree": ("report", "--tree", "TRACE"),
    "side report --html": ("report", "--html", "PAGE", "TRACE"),
    "side flame": ("flame", "--json", "TRACE"),
    "side export --format folded": ("export", "TRACE", "--format", "folded", "-o", "PAGE"),
    "side export --format pprof": ("export", "TRACE", "--format", "pprof", "-o", "PAGE"),
    "side export --format speedscope": ("export", "TRACE", "--format", "speedscope", "-o", "PAGE"),
    "side diff, of two such traces": ("diff", "--json", "TRACE", "TRACE"),
}


def measure(words):
    """Returns seconds, seconds of CPU time, and MiB of memory."""
    begin = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(words)}: status {process.returncode}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    side = os.path.join(os.path.abspath(sys.argv[1]), "programs/side/side")
    calls = int(float(sys.argv[2]) * 500_000) if len(sys.argv) > 2 else 5_000_000
    failed = []
    with tempfile.TemporaryDirectory(prefix="side-bench-") as work:
        source, program, trace = (os.path.join(work, name) for name in ("calls.c", "calls", "trace"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run(["cc", "-O1", "-g", source, "-o", program], check=True)
        words = [word for name in ("leaf", "left", "right", "step") for word in ("--function", name, "--exit")]
        subprocess.run([side, "trace", "-q", *words, "--context", "vtid", "--buffer-size", "32M", "-o", trace, "--", program,
                        str(calls)], check=True)
        summary = json.loads(subprocess.run([side, "report", "--json", trace], check=True, capture_output=True,
                                            text=True).stdout.splitlines()[0])
        print(f"{summary['events']:,} events, {summary['lost']:,} lost")
        print(f"{'':34} {'time, s':>8} {'CPU, s':>8} {'MiB':>6}")
        for name, template in ANSWERS.items():
            places = {"TRACE": trace, "PAGE": os.path.join(work, "page")}
            if os.path.exists(places["PAGE"]):
                os.unlink(places["PAGE"])
            seconds, cpu_s, mebibytes = measure([side, *(places.get(word, word) for word in template)])
            print(f"{name:34} {seconds:8.2f} {cpu_s:8.2f} {mebibytes:6.0f}", flush=True)
            if seconds > SECONDS_MAX or mebibytes > MEBIBYTES_MAX:
                failed.append(name)
    if failed:
        sys.exit(f"more than {SECONDS_MAX} s or {MEBIBYTES_MAX} MiB: {', '.join(failed)}")


main()
