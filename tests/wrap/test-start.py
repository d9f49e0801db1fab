# SPDX-License-Identifier: MIT
"""With any preloaded library, each program starts and behaves as it does alone; the recorder reports
each program that it cannot record.

usage: test-start.py SIDE LIBSIDE SHIM-SOURCE WIRE-HEADER INCLUDE...
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, finish

side, libside, shim, wire = (os.path.abspath(a) for a in sys.argv[1:5])
includes = ["-I" + os.path.abspath(a) for a in sys.argv[5:]]
work = tempfile.TemporaryDirectory(prefix="side-start-")
environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
environment["SIDE_RUNTIME"] = os.path.join(work.name, "no-daemon")
tried, runs = [], 0

PLAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
/* Calls that the agent watches where it is. */
int main(int argc, char **argv)
{
	int status = 0;
	char *block = malloc(10);

	(void)argv;
	free(block);
	prctl(15, "plain", 0, 0, 0);
	if (setuid(getuid()))
		return 2;
	if (!fork())
		_exit(3);
	wait(&status);
	if (!vfork())
		_exit(4);
	wait(&status);
	puts("started");
	return argc > 1 ? 7 : 0;
}
"""

INSTRUMENTED = """
#include <stdio.h>
#include <side/trace.h>
side_static_event(happened, "start", "happened", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("number")));
int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 10; i++)
		side_event(happened, side_arg_list(side_arg_u32(i)));
	puts("started");
	return argc > 1 ? 7 : 0;
}
"""

# What every libside has, and no further part of side.
OTHER = """
#include <stddef.h>
struct callback { void *call; } const side_empty_callback;
void *side_events_register(void **events, unsigned int nr) { (void)events; (void)nr; return NULL; }
void side_events_unregister(void *handle) { (void)handle; }
void side_call(const void *state, const void *arguments) { (void)state; (void)arguments; }
void side_call_variadic(const void *state, const void *arguments, const void *more) { (void)state; (void)arguments; (void)more; }
void side_init(void) {}
void side_exit(void) {}
"""


def path(name):
    return os.path.join(work.name, name)


def build(name, source, *words, compiler=("gcc",), log=True):
    os.makedirs(os.path.dirname(path(name)), exist_ok=True)
    with open(path(name + ".c"), "w", encoding="utf-8") as out:
        out.write(source)
    made = subprocess.run([*compiler, "-O1", path(name + ".c"), "-o", path(name), *words], capture_output=True, text=True,
                          check=False, timeout=60)
    if made.returncode:
        if log:
            print(f"{name} is not tried: {made.stderr[-200:]}")
        return None
    return path(name)


def record(name, command, *words, out="started\n", status=0, expected_message="", **more):
    global runs
    runs += 1
    trace = path(f"trace-{runs}")
    done = subprocess.run([side, "record", *words, "-o", trace, "--", *command], capture_output=True, text=True,
                          check=False, timeout=60, env={**environment, **more})
    expect(done.stdout == out, f"{name}: printed {done.stdout!r}, {done.stderr}")
    expect(done.returncode == status, f"{name}: status {done.returncode}, {done.stderr}")
    expect("ld.so" not in done.stderr and "Error" not in done.stderr, f"{name}: the loader complains: {done.stderr}")
    expect(expected_message in done.stderr, f"{name}: nothing of {expected_message!r}: {done.stderr}")
    shown = subprocess.run([side, "view", "--json", trace], capture_output=True, text=True, check=False, timeout=60)
    return [json.loads(line) for line in shown.stdout.splitlines()]


def all_ways(name, program, reason):
    """Runs the program itself, with wrappers, and as the child of a shell that is recorded."""
    tried.append(name)
    expected_message = f"({os.path.basename(program)}) is not recorded: {reason}"
    record(name, [program], expected_message=expected_message)
    record(name + ", status", [program, "7"], status=7, expected_message=expected_message)
    record(name + ", wrapped", [program], "-w", "libc", "-w", "pthread", expected_message=expected_message)
    items = record(name + ", child", ["sh", "-c", f"{program}; echo $?; exec {program}"], "-w", "libc", expected_message=expected_message,
                   out="started\n0\nstarted\n")
    expect(any(item.get("event", "").startswith("libc:") for item in items), f"{name}: nothing of the shell")
    # A recording within another one: both report it.
    nested = path("nested")
    shutil.rmtree(nested, ignore_errors=True)
    record(name + ", twice", [side, "record", "-q", "-o", nested, "--", program], expected_message=expected_message)


def compare_shim():
    """The shim includes no header of side, so it has its own copies of the numbers."""
    with open(shim, encoding="utf-8") as text:
        of_shim = dict(re.findall(r"^#define SHIM_(\w+) (\w+)", text.read(), re.M))
    with open(wire, encoding="utf-8") as text:
        text = text.read()
    of_wire = dict(re.findall(r"^#define WIRE_(\w+) (\w+)", text, re.M))
    of_wire.update(re.findall(r"^\tWIRE_(\w+) = (\d+)", text, re.M))
    for name, other in (("MAGIC", "MAGIC"), ("VERSION", "PROTOCOL_VERSION"), ("UNRECORDED", "UNRECORDED"),
                        ("WORD_SIZE", "UNRECORDED_WORD_SIZE"), ("C_LIBRARY", "UNRECORDED_C_LIBRARY"), ("MEMORY", "UNRECORDED_MEMORY"),
                        ("LOADER", "UNRECORDED_LOADER"), ("STATIC", "UNRECORDED_STATIC")):
        expect(int(of_shim[name].rstrip("u"), 0) == int(of_wire[other].rstrip("u"), 0), f"SHIM_{name} is not WIRE_{other}")


compare_shim()
agent = os.path.join(os.path.dirname(libside), "../agent/libside-agent.so")
if os.path.exists(agent):
    # Each reference of the agent to libside is weak.
    strong = subprocess.run(["nm", "-D", "--undefined-only", agent], capture_output=True, text=True, check=True).stdout
    strong = {line.split()[1] for line in strong.splitlines() if " U side_" in line}
    expect(not strong, f"the agent needs of libside: {strong}; add it to src/tracers/agent/core/libside.h")
other = build("other/libside.so.0", OTHER, "-shared", "-fPIC", "-Wl,-soname,libside.so.0")
of_other = build("of-other", INSTRUMENTED, *includes, libside, "-Wl,--enable-new-dtags,-rpath," + path("other"))
all_ways("another libside by RUNPATH", of_other, "the libside.so.0 that it loads")
plain = build("plain", PLAIN)
with_other = build("with-other", PLAIN, "-Wl,--no-as-needed", other, "-Wl,--enable-new-dtags,-rpath," + path("other"))
all_ways("another libside, unused", with_other, "the libside.so.0 that it loads")
nothing = build("nothing/libside.so.0", "int nothing;", "-shared", "-fPIC", "-Wl,-soname,libside.so.0")
with_nothing = build("with-nothing", PLAIN, "-Wl,--no-as-needed", nothing, "-Wl,--enable-new-dtags,-rpath," + path("nothing"))
all_ways("a library of that name without the ABI", with_nothing, "the libside.so.0 that it loads")
record("another libside by LD_LIBRARY_PATH", ["env", "LD_LIBRARY_PATH=" + path("other"), plain], expected_message="the libside.so.0 that it loads")
musl = build("of-musl", PLAIN, compiler=("musl-gcc",)) if shutil.which("musl-gcc") else None
if musl:
    all_ways("musl", musl, "its C library is not the GNU C library")
small = build("of-32-bits", PLAIN, compiler=("gcc", "-m32"))
if small:
    all_ways("32 bits", small, "it is a 32-bit program")
# As before.
items = record("ours", [build("ours", INSTRUMENTED, *includes, libside, "-Wl,-rpath," + os.path.dirname(libside))])
expect(sum(item.get("event") == "start:happened" for item in items) == 10, f"ours: {items[:3]}")
static = build("static", PLAIN, "-static")
if static:
    record("static, child", ["sh", "-c", static])
finish(f"{runs} runs: {', '.join(tried)}")
