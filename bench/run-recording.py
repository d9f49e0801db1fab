# SPDX-License-Identifier: MIT
"""Cost of a recorded event, for side and LTTng-UST, interleaved in one run, as tables with ratios.

usage: run-recording.py BUILD-DIRECTORY [ROUNDS]

Each round runs this project's program under `side record`, and directly afterwards the same
payloads under an LTTng user-space session (per-user daemon without kernel tracing, started and
ended here), for each number of threads and each method of recording. A ratio is computed within a
round; the tables show the medians over the rounds. A run in which either tracer lost events is
marked. "rdtsc" is the cost of reading the clock alone on this machine, the bound of every recorder.
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
side = os.path.join(build, "programs/side/side")
ours = os.path.join(build, "bench/record-side")
theirs = os.path.join(build, "bench/record-lttng")
work = tempfile.mkdtemp(prefix="side-bench-")
home = os.path.join(work, "home")
os.mkdir(home)
environment = dict(os.environ, LTTNG_HOME=home, LTTNG_UST_REGISTER_TIMEOUT="3000")
serial = 0

# The program warms the buffers with bench:kib, so each method records that one, too.
PLAIN = {"side": [[]], "lttng": [{}]}
WAYS = {
    "three contexts": {
        "side": [["--context", "vpid,vtid,procname"]],
        "lttng": [{"contexts": ["vpid", "vtid", "procname"]}]},
    "filter rejects": {
        "side": [["-e", "bench:u32", "--filter", "i == 4294967295", "-e", "bench:kib"]],
        "lttng": [{"events": [("bench:u32", "i == 4294967295"), ("bench:kib", None)]}]},
    "filter accepts": {
        "side": [["-e", "bench:u32", "--filter", "i != 4294967295", "-e", "bench:kib"]],
        "lttng": [{"events": [("bench:u32", "i != 4294967295"), ("bench:kib", None)]}]},
    "two sessions": {"side": [[], []], "lttng": [{}, {}]},
    "flight recorder": {"side": [["--mode", "overwrite"]], "lttng": [{"overwrite": True}]},
}
THREADS = (1, 2, 4, 8)


def parse(text):
    rows = {}
    for line in text.splitlines():
        name, threads, ns = line.split()
        rows[name, int(threads)] = float(ns)
    return rows


def run_side(sessions, arguments):
    global serial
    serial += 1
    command = [ours, *arguments]
    for n, options in enumerate(sessions):
        output = os.path.join(work, f"side-{serial}-{n}")
        command = [side, "record", "--buffer-size", "4M", "-o", output, *options, "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    if re.search(r"events? (was|were) lost", done.stderr):
        print(f"# side, {arguments}: {done.stderr.strip()}")
    for n in range(len(sessions)):
        shutil.rmtree(os.path.join(work, f"side-{serial}-{n}"), ignore_errors=True)
    return parse(done.stdout)


def lttng(*arguments):
    done = subprocess.run(["lttng", "--no-sessiond", *arguments], env=environment, capture_output=True,
                          text=True, check=False)
    if done.returncode:
        sys.exit(f"lttng {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def start_lttng(name, options):
    if options.get("overwrite"):
        lttng("create", name, "--snapshot", "--output", os.path.join(work, name))
    else:
        lttng("create", name, "--output", os.path.join(work, name))
    lttng("enable-channel", "--userspace", "-s", name, "bench", "--subbuf-size=1M", "--num-subbuf=4",
          "--overwrite" if options.get("overwrite") else "--discard")
    for event, expression in options.get("events", [("bench:*", None)]):
        lttng("enable-event", "--userspace", "-s", name, "--channel", "bench", event,
              *(["--filter", expression] if expression else []))
    for context in options.get("contexts", []):
        lttng("add-context", "--userspace", "-s", name, "--channel", "bench", "-t", context)
    lttng("start", name)


def run_lttng(sessions, arguments):
    global serial
    serial += 1
    names = [f"bench{serial}n{n}" for n in range(len(sessions))]
    for name, options in zip(names, sessions):
        start_lttng(name, options)
    done = subprocess.run([theirs, *arguments], env=environment, capture_output=True, text=True,
                          check=True)
    for name, options in zip(names, sessions):
        printed = lttng("stop", name)
        if "discarded" in printed and " 0 events" not in printed and not options.get("overwrite"):
            print(f"# LTTng, {arguments}: {printed.strip()}")
        lttng("destroy", name)
        shutil.rmtree(os.path.join(work, name), ignore_errors=True)
    return parse(done.stdout)


results = {}  # (method, payload, threads) -> [(side's, LTTng's or None)]


def measure(way, setup, arguments):
    mine = run_side(setup["side"], arguments)
    peer = run_lttng(setup["lttng"], arguments) if have_lttng else {}
    for key, ns in mine.items():
        results.setdefault((way, *key), []).append((ns, peer.get(key)))


have_lttng = os.path.exists(theirs)
daemon = None
if have_lttng:
    daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
try:
    for _ in range(rounds):
        for threads in THREADS:
            measure("", PLAIN, [str(threads)])
        for way, setup in WAYS.items():
            for threads in THREADS[:2]:
                measure(way, setup, [str(threads), "5", "u32"])
finally:
    if daemon:
        daemon.terminate()
        daemon.wait()
    shutil.rmtree(work, ignore_errors=True)

clock = {key[2]: statistics.median(ns for ns, _ in pairs)
         for key, pairs in results.items() if key[1] == "rdtsc"}
print(f"recorded event, ns of CPU time, medians of {rounds} interleaved rounds; "
      f"rdtsc alone {clock.get(1, float('nan')):.1f} ns")
print(f"{'what':<32} {'threads':>7} {'side':>7} {'over rdtsc':>10} {'LTTng-UST':>10} {'ratio':>6}")
for (way, payload, threads), pairs in results.items():
    if payload == "rdtsc":
        continue
    mine = statistics.median(pair[0] for pair in pairs)
    line = (f"{payload + (', ' + way if way else ''):<32} {threads:>7} {mine:>7.1f} "
            f"{mine - clock.get(1, 0):>10.1f}")
    if all(pair[1] for pair in pairs):
        line += (f" {statistics.median(pair[1] for pair in pairs):>10.1f}"
                 f" {statistics.median(pair[0] / pair[1] for pair in pairs):>6.2f}")
    else:
        line += f" {'absent':>10}"
    print(line)
