#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Time and memory of `side locks` for a trace of ten million events: four threads that share 64 mutexes.

usage: bench/locks.py BUILD-DIRECTORY
"""
import os
import resource
import subprocess
import sys
import tempfile

EVENTS = 10_000_000
SECONDS_MAX, MEBIBYTES_MAX = 5, 512
PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t locks[64];
static long count;
static void *run(void *seed)
{
	unsigned int state = (unsigned int)(long)seed;

	for (long i = 0; i < count; i++) {
		pthread_mutex_t *lock = &locks[(state = state * 1103515245 + 12345) >> 16 & 63];

		pthread_mutex_lock(lock);
		pthread_mutex_unlock(lock);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t threads[4];

	count = atol(argv[argc - 1]);
	for (int i = 0; i < 64; i++)
		pthread_mutex_init(&locks[i], NULL);
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""


def main():
    side = os.path.join(os.path.abspath(sys.argv[1]), "programs/side/side")
    with tempfile.TemporaryDirectory(prefix="side-bench-") as work:
        source, program, trace = (os.path.join(work, name) for name in ("many.c", "many", "trace"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run(["cc", "-O1", "-g", "-pthread", source, "-o", program], check=True)
        # Three events for each time that a thread locks; the program waits for the recorder, so none is lost.
        subprocess.run([side, "record", "-q", "-w", "pthread", "--context", "vtid", "--mode", "block", "--block-timeout", "60s", "-o", trace,
                        "--", program, str(EVENTS // 3 // 4 + 1)], check=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        printed = subprocess.run([side, "locks", trace], check=True, capture_output=True, text=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # The maximum of all children so far: that of the recorder counts, too.
    mebibytes = after.ru_maxrss / 1024
    print(printed.splitlines()[0])
    print(f"side locks: {seconds:.2f} s of CPU time, at most {mebibytes:.0f} MiB")
    if seconds > SECONDS_MAX or mebibytes > MEBIBYTES_MAX:
        sys.exit(f"more than {SECONDS_MAX} s or {MEBIBYTES_MAX} MiB")


main()
