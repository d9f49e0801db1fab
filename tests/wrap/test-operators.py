# SPDX-License-Identifier: MIT
"""`-w libc` records the operators new and delete of C++ once, whichever library has them.

usage: test-operators.py SIDE PROGRAM LIBRARY
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish

side, program, library = sys.argv[1:]
program, library = os.path.abspath(program), os.path.abspath(library)
work = tempfile.TemporaryDirectory(prefix="side-operators-")
SIZES = [3000, 3001, 3002, 3003, 3004, 3005, 3008, 3072, 3136, 3200]


def find_library(name):
    listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    return next((line.split(" => ")[1] for line in listing.splitlines() if line.split()[0:1] == [name]), None)


def record(name, preload=None, bind_now=False):
    """The events of the program, with a preloaded allocator that comes after the wrappers."""
    trace = os.path.join(work.name, name)
    environment = dict(os.environ)
    environment.pop("LD_PRELOAD", None)
    if preload:
        environment["LD_PRELOAD"] = preload
    if bind_now:
        environment["LD_BIND_NOW"] = "1"
    done = subprocess.run([side, "record", "-q", "-w", "libc", "--context", "backtrace", "-o", trace, "--", program],
                          env=environment, capture_output=True, text=True, check=False, timeout=60)
    expect_equal(done.returncode, 0, f"{name}: {done.stderr}")
    blocks, left = map(int, done.stdout.split())
    view = subprocess.run([side, "view", "--json", trace], capture_output=True, text=True, check=True, timeout=60)
    return trace, blocks, left, [json.loads(line) for line in view.stdout.splitlines()]


def check(name, **options):
    trace, blocks, left, events = record(name, **options)
    events = [event for event in events if event["type"] == "event"]
    allocated = collections.Counter()
    alive = {}
    for event in events:
        fields = event["fields"]
        if event["event"] in ("libc:malloc", "libc:aligned_alloc", "libc:posix_memalign", "libc:memalign"):
            allocated[fields["size"]] += 1
            if fields["size"] in SIZES + [4000, 192] and fields.get("result"):
                expect(fields["result"] not in alive, f"{name}: {fields} is alive")
                alive[fields["result"]] = fields["size"]
        if event["event"] == "libc:free":
            alive.pop(fields["ptr"], None)
    for size in SIZES:
        expect_equal(allocated[size], 2, f"{name}: allocations of {size} bytes")
    expect_equal((allocated[4000], allocated[192]), (7, 3), f"{name}: blocks that stay")
    expect_equal((blocks, left), (2 * len(SIZES) + 10, 10), f"{name}: the program")
    expect_equal(collections.Counter(alive.values()), collections.Counter({4000: 7, 192: 3}), f"{name}: alive")
    done = subprocess.run([side, "leaks", "--json", trace], capture_output=True, text=True, check=False, timeout=60)
    summary = json.loads(done.stdout.splitlines()[0])
    expect(summary["double_frees"] == 0, f"{name}: {summary} {done.stderr}")


check("libstdc++")
check("own", preload=library)
check("own-bound", preload=library, bind_now=True)
jemalloc = find_library("libjemalloc.so.2")
if jemalloc:
    check("jemalloc", preload=jemalloc)
else:
    print("no libjemalloc.so.2")
finish()
