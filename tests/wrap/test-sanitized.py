# SPDX-License-Identifier: MIT
"""Programs built with gcc's sanitizers, whose libraries must be the first ones, are recorded like
others.

usage: test-sanitized.py SIDE LIBSIDE INCLUDE...
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

SOURCE = """
#include <stdlib.h>
#include <string.h>
#include <side/trace.h>
side_static_event(said, "sanitized", "said", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("number")));
int main(int argc, char **argv)
{
	char *volatile block = malloc(10);
	unsigned int i;

	for (i = 0; i < 100; i++)
		side_event(said, side_arg_list(side_arg_u32(i)));
	free(block);
	return argc > 1 ? block[1] : 0;
}
"""
side, libside = (os.path.abspath(a) for a in sys.argv[1:3])
includes = ["-I" + os.path.abspath(a) for a in sys.argv[3:]]
work = tempfile.TemporaryDirectory(prefix="side-sanitized-")
runs = 0


def record(program, *words, options=None):
    """Returns the completed process, and how often each event is in the trace."""
    global runs
    runs += 1
    trace = os.path.join(work.name, f"trace-{runs}")
    environment = {k: v for k, v in os.environ.items() if k not in ("ASAN_OPTIONS", "LSAN_OPTIONS", "LD_PRELOAD")}
    if options:
        environment["ASAN_OPTIONS"] = options
    done = subprocess.run([side, "record", "-q", *words, "-o", trace, "--", *program], capture_output=True, text=True,
                          errors="replace", check=False, timeout=120, env=environment)
    shown = subprocess.run([side, "view", "--json", trace], capture_output=True, text=True, check=False, timeout=120)
    items = [json.loads(line) for line in shown.stdout.splitlines()]
    return done, collections.Counter(i["event"] for i in items if i["type"] == "event")


def build(kind):
    program = os.path.join(work.name, kind)
    source = program + ".c"
    with open(source, "w", encoding="utf-8") as out:
        out.write(SOURCE)
    made = subprocess.run(["gcc", "-g", "-fsanitize=" + kind, *includes, source, "-o", program, libside,
                           "-Wl,-rpath," + os.path.dirname(libside)], capture_output=True, text=True, check=False)
    # Does the program run here at all, alone?
    if made.returncode or subprocess.run([program], capture_output=True, check=False).returncode:
        print(f"cannot build or run with -fsanitize={kind}: {made.stderr[-300:]}")
        return None
    return program


def whole(program, *words, **more):
    done, events = record([program], *words, **more)
    if done.returncode or done.stderr or events["sanitized:said"] != 100:
        sys.exit(f"{program} {words}: status {done.returncode}, {events}, {done.stderr[:3000]}")


tried = 0
for name in ("address", "leak", "thread", "undefined"):
    made = build(name)
    if not made:
        continue
    tried += 1
    whole(made)
    whole(made, "-w", "libc", "-w", "pthread")
    if name != "address":
        continue
    # The user's options stay in effect, and the sanitizer finds the same errors as alone.
    whole(made, options="detect_leaks=0")
    for wrappers in ((), ("-w", "libc")):
        done, events = record([made, "wrong"], *wrappers, options="exitcode=77")
        if done.returncode != 77 or "heap-use-after-free" not in done.stderr or events["sanitized:said"] != 100:
            sys.exit(f"wrong {wrappers}: status {done.returncode}, {events}, {done.stderr[:3000]}")
print(f"{tried} sanitizers")
sys.exit(0 if tried else 77)
