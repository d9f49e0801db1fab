# SPDX-License-Identifier: MIT
"""The first event of a program that a daemon knows allocates no memory, starts no thread itself and
waits for none, wherever it is fired.

usage: test-first-event.py SIDE SIDED LIBSIDE INCLUDE...

The allocators here call events with their lock held: a thread that allocated there would wait for
itself.
"""
import collections
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import wait_until

side, sided, libside = (os.path.abspath(a) for a in sys.argv[1:4])
includes = ["-I" + os.path.abspath(a) for a in sys.argv[4:]]
here = os.path.dirname(os.path.abspath(__file__))
work = tempfile.TemporaryDirectory(prefix="side-first-")
runtime = os.path.join(work.name, "run")
os.mkdir(runtime, 0o700)
environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
environment.update({"SIDE_RUNTIME": runtime, "SIDE_TIMEOUT_FACTOR": "20"})
failures = []
runs = 0


def path(name):
    return os.path.join(work.name, name)


def build(name, *words, source="allocator.c"):
    subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", os.path.join(here, source), *words, "-o", path(name), "-pthread"],
                   check=True, timeout=120)
    return path(name)


def build_all():
    with_side = [*includes, libside, "-Wl,-rpath," + os.path.dirname(libside)]
    build("liballocator.so", "-shared", "-fPIC", "-DLIBRARY")
    build("libevents.so", "-shared", "-fPIC", "-DLIBRARY", "-DOWN_EVENTS", *with_side)
    build("program", source="first-event.c")
    # The allocator is a part of the program.
    build("whole", "-DOWN_EVENTS", os.path.join(here, "first-event.c"), *with_side)
    with open(path("plugin.c"), "w", encoding="utf-8") as out:
        out.write("""
#include <side/trace.h>
side_static_event(loaded, "plugin", "loaded", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("number")));
__attribute__((constructor(60000))) static void begin(void) { side_event(loaded, side_arg_list(side_arg_u32(1))); }
""")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", path("plugin.c"), "-o", path("plugin.so"), *with_side],
                   check=True, timeout=120)


def run(name, command, words=(), preload="", prints="", **more):
    """Runs the program recorded while a daemon runs: it exits on its own, with the same result as alone."""
    global runs
    runs += 1
    trace = path(f"trace-{runs}")
    given = {**environment, **more}
    if preload:
        given["LD_PRELOAD"] = preload
    process = subprocess.Popen([side, "record", "-o", trace, *words, "--", *command], env=given, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        failures.append(f"{name}: hangs")
        return collections.Counter()
    if process.returncode or out != "ok\n":
        failures.append(f"{name}: status {process.returncode}, {out!r}, {err[-400:]!r}")
    if prints not in err:
        failures.append(f"{name}: nothing of {prints!r}: {err[-400:]}")
    shown = subprocess.run([side, "view", "--json", trace], capture_output=True, text=True, check=False, timeout=60)
    return collections.Counter(json.loads(line).get("event") for line in shown.stdout.splitlines())


def run_all():
    wrap = ("-w", "libc", "-w", "pthread")
    program = path("program")
    # The wrapper comes first, and passes the calls on to the allocator.
    events = run("preloaded allocator", [program], wrap, path("liballocator.so"))
    if not events["libc:malloc"] or not events["libc:free"]:
        failures.append(f"no call of the preloaded allocator: {events}")
    run("preloaded allocator, child", [program, "fork"], wrap, path("liballocator.so"))
    events = run("preloaded allocator with events", [program], (), path("libevents.so"))
    if not events["allocator:allocated"]:
        failures.append(f"no event of the allocator: {events}")
    # With the daemon only, without a recording.
    events = run("allocator of the program", [path("whole")])
    if not events["allocator:allocated"]:
        failures.append(f"no event of the allocator: {events}")
    run("allocator of the program, wrapped", [path("whole")], wrap, prints="allocations of process ")
    run("allocator of the program, child", [path("whole"), "fork"])
    run("constructor under the loader's lock", [program, "load", path("plugin.so")])
    for _ in range(500 if os.environ.get("SIDE_TEST_LONG") else 20):
        run("short", [path("whole"), "once"])
        if os.getuid() == 0:
            run("rights are given up", [path("whole"), "rights"])
    for found in ("jemalloc.so.2", "tcmalloc_minimal.so.4", "mimalloc.so.2"):
        for library in glob.glob(f"/usr/lib/*/lib{found}"):
            run(found, [program], wrap, library)
    run("one arena", [program], ("-w", "libc"), MALLOC_ARENA_MAX="1")


def main():
    build_all()
    daemon = subprocess.Popen([sided, "--foreground", "--runtime", runtime, "--output", path("traces")], env=environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: os.path.exists(os.path.join(runtime, "agents.sock")), "the daemon")
        # No session has changed since a program's start: its first event does not wait.
        run_all()
        # If the daemon cannot publish its changes, the first event waits for its answer.
        os.unlink(os.path.join(runtime, "serial"))
        run_all()
    finally:
        daemon.terminate()
        daemon.wait(60)
    for failure in failures:
        print("FAILED:", failure)
    print(f"{runs} runs")
    sys.exit(bool(failures))


main()
