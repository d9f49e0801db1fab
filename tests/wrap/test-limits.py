# SPDX-License-Identifier: MIT
"""Limits of resources: if the recorder or a program needs more than permitted, this is reported, with
the limit and a hint, and the program runs.

usage: test-limits.py SIDE LIBSIDE INCLUDE...
"""
import glob
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, finish

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
runs = 0


def path(name):
    return os.path.join(work.name, name)


def run(name, around, within, *, out="ran\n", status=7, prints=(), words="", count=1000, events=None):
    """`around`: limits of recorder and program; `within`: of the program only."""
    global runs
    runs += 1
    trace = path(f"trace-{runs}")
    command = f"{around} exec {side} record {words} -o {trace} -- sh -c '{within} exec {path('program')} {count}'"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=120, env=environment)
    expect(done.returncode == status and done.stdout == out, f"{name}: status {done.returncode}, {done.stdout!r}, {done.stderr}")
    for text in prints:
        expect(text in done.stderr, f"{name}: nothing of {text!r}: {done.stderr}")
    # The events of a program that is not recorded are unknown.
    if any("is not recorded" in text for text in prints):
        expect("events of their own" not in done.stderr and "no event " not in done.stderr, f"{name}: {done.stderr}")
    if events is not None:
        shown = subprocess.run([side, "view", "--json", trace], capture_output=True, text=True, check=False, timeout=120)
        got = shown.stdout.count('"event":"limits:ticked"')
        expect(got == events if isinstance(events, int) else events(got), f"{name}: {got} events")


with open(path("program.c"), "w", encoding="utf-8") as source:
    source.write(SOURCE)
subprocess.run(["gcc", "-O1", *includes, path("program.c"), "-o", path("program"), libside, "-Wl,-rpath," + os.path.dirname(libside)],
               check=True, timeout=120)
run("none", "", "", events=1000)
# Refused before the program runs: buffers are files, too.
run("file size, hard", "ulimit -f 100;", "", out="", status=2, prints=["(ulimit -f)", "--buffer-size"])
# The recorder raises its limit as far as permitted, and the program keeps its limit.
run("file size, soft", "ulimit -S -f 100;", "test $(ulimit -f) = 200 || exit 1;", events=1000)
# The traces are truncated there, and stay readable. The program waits for space, so that the
# recorder has more events than that.
run("file size of traces", "ulimit -f 10000;", "", words="--mode block", count=2000000,
    prints=["(ulimit -f)"], events=lambda got: got > 1000)
run("address space", "", "ulimit -v 40000;", prints=["(program) is not recorded", "ulimit -v", "raise the limit"], events=0)
run("address space for nothing", "", "ulimit -v 16000;", prints=["(program) is not recorded", "ulimit -v", "raise the limit"])
run("files", "", "ulimit -n 5;", prints=["(program) is not recorded", "ulimit -n", "raise the limit"], events=0)
run("enough of all", "", "ulimit -n 12; ulimit -v 400000; ulimit -f 1;", events=1000)
# Without /proc, and for a user who may not enter the directory of the installation. Both need root.
if os.getuid() == 0:
    done = subprocess.run(["unshare", "-m", "sh", "-c", f"umount -l /proc && {side} record -o {path('none')} -- true"],
                          capture_output=True, text=True, check=False, timeout=60, env=environment)
    if "side: " in done.stderr:
        expect(done.returncode == 1 and "/proc is not mounted" in done.stderr and "mount -t proc" in done.stderr,
              f"no /proc: status {done.returncode}, {done.stderr}")
    else:
        print(f"no /proc: not tried: {done.stderr}")


def as_other_user(name, *words, status=0, prints=(), not_prints=(), env=None):
    """Runs a program that root starts as another user, with the libraries in a directory of root."""
    global runs
    runs += 1
    trace = path(f"trace-{runs}")
    done = subprocess.run([side, "record", *words[:words.index("--")], "-o", trace, *words[words.index("--"):]], capture_output=True, text=True,
                          check=False, timeout=60, env=dict(environment, SIDE_LIB_DIR=path("private(dir)/tracers/agent"), **(env or {})))
    before = done.stderr[:done.stderr.find("ERROR: ld.so")] if "ERROR: ld.so" in done.stderr else done.stderr
    expect(done.returncode == status, f"{name}: status {done.returncode}, {done.stderr}")
    for text in prints:
        expect(text in before, f"{name}: nothing of {text!r} before the program starts: {done.stderr}")
    for text in not_prints:
        expect(text not in done.stderr, f"{name}: {text!r}: {done.stderr}")
    shown = subprocess.run([side, "view", "--json", trace], capture_output=True, text=True, check=False, timeout=60)
    return shown.stdout.count('"event":"limits:ticked"')


OTHER = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
# A directory that only root may enter, and one that root then opens by the command of the hint.
if os.getuid() == 0 and not subprocess.run([*OTHER, "true"], capture_output=True, check=False).returncode:
    built = os.path.dirname(os.path.dirname(libside))
    private = path("private(dir)")
    for folder in ("tracers/agent", "libside", "tracers/preload", "tracers/wrap"):
        os.makedirs(os.path.join(private, folder))
        for file in glob.glob(f"{built}/{folder}/*.so*") + glob.glob(f"{built}/{folder}/side-preload"):
            if not file.endswith((".p", ".symbols")):
                subprocess.run(["cp", "-a", file, os.path.join(private, folder)], check=True)
    os.mkdir(path("top"), 0o700)
    os.rename(private, path("top/private(dir)"))
    os.symlink("top/private(dir)", private)
    for folder in (work.name, path("top/private(dir)")):
        os.chmod(folder, 0o755)
    os.chmod(path("top/private(dir)"), 0o700)
    note = "programs that change to another user are not recorded"
    hint = f"`chmod o+x {path('top')} '{path('top/private(dir)')}'`"
    as_other_user("setpriv", "--", *OTHER, "true", prints=[note, hint])
    as_other_user("setpriv in a shell", "--", "sh", "-c", f"true; exec {' '.join(OTHER)} true", prints=[note, hint])
    as_other_user("no such name", "--", "true", not_prints=[note, "ERROR"])
    as_other_user("no such name, but --verbose", "-v", "--", "true", prints=[note, hint])
    subprocess.run(["sh", "-c", hint.strip("`")], check=True)
    got = as_other_user("after the hint", "--", *OTHER, path("program"), "50", status=7, not_prints=[note, "ERROR"],
                        env={"LD_LIBRARY_PATH": path("top/private(dir)/libside")})
    expect(got == 50, f"after the hint: {got} events")
finish(f"{runs} runs")
