# SPDX-License-Identifier: MIT
"""Limits of resources: what the recorder or a program may not have is reported, with the limit and what to do, and the program runs.

usage: test-limits.py SIDE LIBSIDE INCLUDE...
"""
import os
import subprocess
import sys
import tempfile

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <side/trace.h>
side_static_event(ticked, "limits", "ticked", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u64("count")));
int main(int argc, char **argv)
{
	int i, number = argc > 1 ? atoi(argv[1]) : 0;
	for (i = 0; i < number; i++)
		side_event(ticked, side_arg_list(side_arg_u64(i)));
	puts("ran");
	return 7;
}
"""
side, libside = (os.path.abspath(a) for a in sys.argv[1:3])
includes = ["-I" + os.path.abspath(a) for a in sys.argv[3:]]
work = tempfile.TemporaryDirectory(prefix="side-limits-")
environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
environment["SIDE_RUNTIME"] = os.path.join(work.name, "no-daemon")
failures = []
runs = 0


def path(name):
    return os.path.join(work.name, name)


def check(condition, message):
    if not condition:
        failures.append(message)


def run(name, around, within, *, out="ran\n", status=7, says=(), words="", count=1000, events=None):
    """`around`: limits of recorder and program; `within`: of the program alone."""
    global runs
    runs += 1
    trace = path(f"trace-{runs}")
    command = f"{around} exec {side} record {words} -o {trace} -- sh -c '{within} exec {path('program')} {count}'"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=120, env=environment)
    check(done.returncode == status and done.stdout == out, f"{name}: status {done.returncode}, {done.stdout!r}, {done.stderr}")
    for text in says:
        check(text in done.stderr, f"{name}: nothing of {text!r}: {done.stderr}")
    if events is not None:
        shown = subprocess.run([side, "view", "--json", trace], capture_output=True, text=True, check=False, timeout=120)
        got = shown.stdout.count('"event":"limits:ticked"')
        check(got == events if isinstance(events, int) else events(got), f"{name}: {got} events")


with open(path("program.c"), "w", encoding="utf-8") as source:
    source.write(SOURCE)
subprocess.run(["gcc", "-O1", *includes, path("program.c"), "-o", path("program"), libside, "-Wl,-rpath," + os.path.dirname(libside)],
               check=True, timeout=120)
run("none", "", "", events=1000)
# Refused before the program runs: buffers are files, too.
run("file size, hard", "ulimit -f 100;", "", out="", status=2, says=["(ulimit -f)", "--buffer-size"])
# The recorder takes what it may have, and the program keeps what it had.
run("file size, soft", "ulimit -S -f 100;", "test $(ulimit -f) = 200 || exit 1;", events=1000)
# The traces are cut off there, and stay readable.
run("file size of traces", "ulimit -f 10000;", "", count=2000000,
    says=["(ulimit -f)"], events=lambda got: got > 1000)
run("address space", "", "ulimit -v 40000;", says=["(program) is not recorded", "ulimit -v", "raise the limit"], events=0)
run("address space for nothing", "", "ulimit -v 16000;", says=["(program) is not recorded", "ulimit -v", "raise the limit"])
run("files", "", "ulimit -n 5;", says=["(program) is not recorded", "ulimit -n", "raise the limit"], events=0)
run("enough of all", "", "ulimit -n 12; ulimit -v 400000; ulimit -f 1;", events=1000)
# Without /proc, and for a user who may not enter the directory of the installation. Both take root.
if os.getuid() == 0:
    done = subprocess.run(["unshare", "-m", "sh", "-c", f"umount -l /proc && {side} record -o {path('none')} -- true"],
                          capture_output=True, text=True, check=False, timeout=60, env=environment)
    if "side: " in done.stderr:
        check(done.returncode == 1 and "/proc is not mounted" in done.stderr and "mount -t proc" in done.stderr,
              f"no /proc: status {done.returncode}, {done.stderr}")
    else:
        print(f"no /proc: not tried: {done.stderr}")
for failure in failures:
    print("FAILED:", failure)
print(f"{runs} runs")
sys.exit(bool(failures))
