# SPDX-License-Identifier: MIT
"""How long programs are stopped when they are attached to, and how long the attach takes.

usage: attach.py BUILD-DIRECTORY [ROUNDS]

Each round is a `side attach` of a millisecond: the agent is loaded (in the first round) and
started, and stopped again. The borrowed thread is stopped: from the request to stop it until its
release. Goals: below 2 ms always, 0.5 ms in the median, 50 ms in all; a thread may lose its
processor in between, so the largest values depend on the machine.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

build = os.path.abspath(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 30
side = os.path.join(build, "programs/side/side")
program = os.path.join(build, "tests/attach/attach-program")
PYTHON = "print('ready', flush=True)\nwhile True: sum([i * i for i in range(1000)])"


def programs():
    yield "threads that wait", [program, "calm"]
    yield "malloc() in two threads, one waits", [program, "busy"]
    yield "malloc() and nothing else", [program, "alone"]
    yield "python3 that computes", [sys.executable, "-c", PYTHON]
    if shutil.which("redis-server"):
        yield "redis-server that waits", ["redis-server", "--port", "0", "--save", "", "--daemonize", "no"]


def attach(pid, directory):
    """Returns the reports of attach and detach."""
    output = os.path.join(directory, "out")
    run = subprocess.run([side, "attach", "--json", "-p", str(pid), "-o", output, "--duration", "1ms"],
                         stderr=subprocess.PIPE, text=True, check=False)
    shutil.rmtree(output, True)
    attach_reports = [json.loads(line) for line in run.stderr.splitlines()]
    if run.returncode:
        print(f"  {attach_reports[-1].get('message')}")
    return [one for one in attach_reports if one["type"] in ("attach", "detach")]


def measure(name, words, directory):
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        first = attach(process.pid, directory)
        attach_reports = [one for _ in range(rounds) for one in attach(process.pid, directory)]
        died = process.poll()
        process.kill()
    longest = sorted(one["stopped_ns"] / 1e6 for one in attach_reports)
    total = sorted(one["total_ns"] / 1e6 for one in attach_reports)
    stops = statistics.mean(one["stops"] for one in attach_reports)
    print(f"{name:36} {statistics.median(longest):9.3f} {longest[len(longest) * 9 // 10]:9.3f} {longest[-1]:9.3f}"
          f" {stops:7.1f} {statistics.median(total):9.1f} {first[0]['total_ns'] / 1e6:9.1f}"
          f"{'' if died is None else '  DIED'}")


def main():
    print(f"{2 * rounds} requests each        stopped, ms: {'median':>6} {'90 %':>9} {'most':>9} {'stops':>7} {'all, ms':>9} "
          f"{'first':>9}")
    with tempfile.TemporaryDirectory() as directory:
        os.environ["TMPDIR"] = directory
        for name, words in programs():
            measure(name, words, directory)


main()
