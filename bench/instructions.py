# SPDX-License-Identifier: MIT
"""Instructions of a recorded event, from the call site to the commit, counted by callgrind.

usage: instructions.py BUILD-DIRECTORY [--update]

Counts do not depend on the machine's load, so a regression changes a number: the output shows the
table of bench/instructions.txt beside the present one. --update writes that file. x86-64 with the
compiler of Debian 12; another compiler has other numbers. Under valgrind, strings are read byte by
byte, as memcheck needs it, so their numbers are higher than in a normal run.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

build = os.path.abspath(sys.argv[1])
update = "--update" in sys.argv[2:]
kept_path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instructions.txt")
side = os.path.join(build, "programs/side/side")
program = os.path.join(build, "bench/record-side")
shim = os.path.join(build, "bench/libinstructions-rseq.so")
WAYS = {
    "three contexts": ["--context", "vpid,vtid,procname"],
    "filter rejects": ["-e", "bench:u32", "--filter", "i == 4294967295"],
    "filter accepts": ["-e", "bench:u32", "--filter", "i != 4294967295"],
    "flight recorder": ["--mode", "overwrite"],
}
PAYLOADS = {"u32": ("burst_u32", 1000), "u32+string16": ("burst_u32_string", 1000),
            "8xu64": ("burst_u64x8", 1000), "1KiB": ("burst_kib", 200)}




def count(payload, options):
    """Returns the instructions of an event with this payload, from the slope between two numbers of events."""
    function, events = PAYLOADS[payload]
    totals = []
    work = tempfile.mkdtemp(prefix="side-count-")
    try:
        for n in (events, 3 * events):
            out = os.path.join(work, f"out-{n}")
            done = subprocess.run(
                [side, "record", "--buffer-size", "4M", "-o", os.path.join(work, f"trace-{n}"),
                 *options, "--", "valgrind", "-q", "--tool=callgrind", "--collect-atstart=no",
                 f"--toggle-collect={function}", f"--callgrind-out-file={out}", program, "count",
                 payload, str(n)],
                env=dict(os.environ, LD_PRELOAD=shim), capture_output=True, text=True, check=False)
            if done.returncode or re.search(r"events? (was|were) lost", done.stderr):
                sys.exit(f"instructions.py: {payload} {options}: {done.stderr}")
            with open(out, encoding="utf-8", errors="replace") as text:
                totals.append(int(re.search(r"^(?:summary|totals): (\d+)", text.read(), re.M)[1]))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return (totals[1] - totals[0]) / (2 * events)


def read_kept():
    kept = {}
    if os.path.exists(kept_path):
        with open(kept_path, encoding="utf-8") as text:
            for line in text:
                if not line.startswith("#"):
                    name, number = line.rsplit(None, 1)
                    kept[name] = float(number)
    return kept


rows = {payload: count(payload, []) for payload in PAYLOADS}
rows.update({f"u32, {way}": count("u32", options) for way, options in WAYS.items()})
before = read_kept()
print("instructions a recorded event, call site to commit")
print(f"{'what':<28} {'today':>8} {'kept':>8}")
for what, number in rows.items():
    old = before.get(what)
    print(f"{what:<28} {number:>8.1f} {old if old is not None else '':>8}"
          + (" more than before" if old is not None and number > old + 0.5 else ""))
if update:
    with open(kept_path, "w", encoding="utf-8") as text:
        text.write("# Instructions a recorded event, by bench/instructions.py on Debian 12 (gcc 12, -O3).\n")
        for what, number in rows.items():
            text.write(f"{what:<28} {number:.1f}\n")
