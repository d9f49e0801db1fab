# SPDX-License-Identifier: MIT
"""Cost of a recorded event, ours and LTTng-UST's, interleaved in one run, as a table with ratios.

usage: run-recording.py BUILD-DIRECTORY [ROUNDS]

Each round runs this project's program under `side record` and then the same payloads under an LTTng
user-space session (per-user daemon without kernel tracing, started here and ended here). What is
printed is the median over the rounds. A round in which either side lost events is said so.
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

build = os.path.abspath(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
side = os.path.join(build, "src/cmd/side/side")
ours = os.path.join(build, "bench/record-side")
theirs = os.path.join(build, "bench/record-lttng")
work = tempfile.mkdtemp(prefix="side-bench-")
home = os.path.join(work, "home")
os.mkdir(home)
environment = dict(os.environ, LTTNG_HOME=home, LTTNG_UST_REGISTER_TIMEOUT="3000")


def parse(text, into):
    for line in text.splitlines():
        name, threads, ns = line.split()
        into.setdefault((name, int(threads)), []).append(float(ns))


def run_side(threads, n):
    done = subprocess.run(
        [side, "record", "--buffer-size", "4M", "-o", os.path.join(work, f"side-{n}-{threads}"), "--",
         ours, str(threads)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"side record failed:\n{done.stderr}")
    if re.search(r"lost", done.stderr) and not re.search(r"(nothing|no events?|0 events?)( was| were)? lost", done.stderr):
        print(f"# side, {threads} threads: {done.stderr.strip()}")
    return done.stdout


def lttng(*arguments):
    done = subprocess.run(["lttng", "--no-sessiond", *arguments], env=environment, capture_output=True,
                          text=True, check=False)
    if done.returncode:
        sys.exit(f"lttng {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def run_lttng(threads, n):
    name = f"bench{n}t{threads}"
    lttng("create", name, "--output", os.path.join(work, name))
    lttng("enable-channel", "--userspace", "bench", "--subbuf-size=1M", "--num-subbuf=4")
    lttng("enable-event", "--userspace", "--channel", "bench", "bench:*")
    lttng("start")
    done = subprocess.run([theirs, str(threads)], env=environment, capture_output=True, text=True,
                          check=True)
    said = lttng("stop")
    if "discarded" in said and " 0 events" not in said:
        print(f"# LTTng, {threads} threads: {said.strip()}")
    lttng("destroy", name)
    return done.stdout


have_lttng = os.path.exists(theirs)
daemon = None
if have_lttng:
    daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
results = {"side": {}, "lttng": {}}
try:
    for n in range(rounds):
        for threads in (1, 2):
            parse(run_side(threads, n), results["side"])
            if have_lttng:
                parse(run_lttng(threads, n), results["lttng"])
finally:
    if daemon:
        daemon.terminate()
        daemon.wait()
    shutil.rmtree(work, ignore_errors=True)

print(f"recorded event, ns, median of {rounds} interleaved rounds")
print(f"{'payload':<14} {'threads':>7} {'side':>8} {'LTTng-UST':>10} {'ratio':>6}")
for key, values in results["side"].items():
    mine = statistics.median(values)
    peer = statistics.median(results["lttng"][key]) if key in results["lttng"] else None
    print(f"{key[0]:<14} {key[1]:>7} {mine:>8.1f} "
          + (f"{peer:>10.1f} {mine / peer:>6.2f}" if peer else f"{'absent':>10}"))
