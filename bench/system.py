# SPDX-License-Identifier: MIT
"""What `side system on` costs a program for which no session has a probe: /bin/true with and without the line.

usage: system.py BUILD-DIRECTORY

Runs in a mount namespace with a copy of /etc, so it needs root and changes nothing. System calls are counted by strace, instructions by
valgrind; neither depends on the machine's load. Times are medians of alternating rounds.
"""
import collections
import ctypes
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

build = os.path.abspath(sys.argv[1])
LINE = os.path.join(build, "src/tracers/agent/side-preload/$LIB/side-preload/libside-system.so")
PRELOAD, PROGRAM = "/etc/ld.so.preload", "/bin/true"
ROUNDS, STARTS = 20, 200
libc = ctypes.CDLL(None)


def isolate():
    if os.geteuid() or libc.unshare(0x20000) or libc.mount(None, b"/", None, 16384 | 1 << 18, None):
        return False
    if libc.mount(b"bench", b"/mnt", b"tmpfs", 0, b"mode=755"):
        return False
    subprocess.run(["cp", "-a", "/etc", "/mnt/etc"], check=True)
    return not libc.mount(b"/mnt/etc", b"/etc", None, 4096, None)


def turn(on):
    if on:
        with open(PRELOAD, "w", encoding="utf-8") as file:
            file.write(LINE + "\n")
    elif os.path.exists(PRELOAD):
        os.unlink(PRELOAD)


def system_calls():
    with tempfile.NamedTemporaryFile("r") as log:
        subprocess.run(["strace", "-o", log.name, PROGRAM], check=True)
        return collections.Counter(re.findall(r"^(\w+)\(", log.read(), re.M))


def instructions():
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", PROGRAM], capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def microseconds():
    begin = time.perf_counter()
    for _ in range(STARTS):
        os.waitpid(os.posix_spawn(PROGRAM, [PROGRAM], {}), 0)
    return (time.perf_counter() - begin) / STARTS * 1e6


if not isolate():
    print("start and end of a program with `side system on`: not measured, because it needs root and a mount namespace")
    sys.exit(0)
calls, counted, times = {}, {}, {False: [], True: []}
for on in (False, True):
    turn(on)
    calls[on], counted[on] = system_calls(), instructions()
for _ in range(ROUNDS):
    for on in (False, True):
        turn(on)
        times[on].append(microseconds())
more = calls[True] - calls[False]
print(f"start and end of {PROGRAM}, off and on, no session:")
print(f"  system calls   {sum(calls[False].values())}  {sum(calls[True].values())}  more: {' '.join(f'{name} {nr}' for name, nr in sorted(more.items()))}")
print(f"  instructions   {counted[False]}  {counted[True]}")
print(f"  microseconds   {statistics.median(times[False]):.0f}  {statistics.median(times[True]):.0f}")
