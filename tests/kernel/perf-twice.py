# SPDX-License-Identifier: MIT
"""Shows that `perf record` can write records twice, without side: perf records the calls of `perf
bench`.

perf reads the head of a ring, reads it again to know how far to write, and continues from the first
one. It writes the records in between again. Such records are equal to the nanosecond, which two
calls never are.

usage: perf-twice.py [ROUNDS]   as root, with tracefs mounted; 20 rounds of some seconds, until such
records are found. Exit status 0: found.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

CALLS = 600000
EVENT = "syscalls:sys_enter_getppid"


def main():
    with tempfile.TemporaryDirectory(prefix="side-perf-") as place:
        output = os.path.join(place, "perf.data")
        for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else 20):
            subprocess.run(["perf", "record", "-q", "-a", "-m", "1024", "-e", EVENT, "-o", output, "--", "perf", "bench", "syscall",
                            "basic", "--loop", str(CALLS)], stdout=subprocess.DEVNULL, check=True)
            printed = subprocess.run(["perf", "script", "--ns", "-i", output, "-F", "comm,tid,cpu,time"], capture_output=True, text=True,
                                  check=True).stdout
            records = re.findall(r"^\s*syscall-basic\b.*", printed, re.M)
            twice = [record for record, times in collections.Counter(records).items() if times > 1]
            print(f"round {number + 1}: {CALLS} calls, {len(records)} records of them, {len(twice)} twice")
            if twice:
                print("such as " + " ".join(twice[0].split()))
                return 0
    print("not seen")
    return 1


if __name__ == "__main__":
    sys.exit(main())
