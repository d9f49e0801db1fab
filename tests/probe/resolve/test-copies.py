#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Copies of functions (NAME.constprop.0) are recorded by the function's name: the events of programs with known numbers of calls, through
each command that takes --function. Pieces (NAME.part.0) are not calls: a note gives their pattern. Inlined calls are listed.
"""
import atexit
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from harness import *

SOURCES = os.environ["SOURCES"]
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", SIDE_TIMEOUT_FACTOR="30")
COUNT, TIMES = 5, 3  # of copied.c
PROGRAM, STRIPPED, CXX = (f"{FOLDER}/{name}" for name in ("copied", "stripped", "copied-cxx"))


def symbols(path):
    done = subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True)
    return {line.split(" ", 2)[2] for line in done.stdout.splitlines() if line[:1] != " "}


def compiled(path, *command):
    subprocess.run([*command, "-O2", "-fipa-cp-clone", f"{SOURCES}/copied.c", "-o", path], check=True)
    return path


def events(trace):
    """[(event, {field: text})], as babeltrace2 reads them."""
    done = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=True)
    found = []
    for line in done.stdout.splitlines():
        name = re.search(r" probe:(\w+):", line)[1]
        found.append((name, dict(re.findall(r'(\w+) = ("[^"]*"|-?\w+)', line))))
    return found


def traced(program, *options):
    """What `side trace` recorded, and its notes."""
    trace = tempfile.mkdtemp(dir=FOLDER) + "/trace"
    done = side("trace", "-o", trace, "-c", f"{program} {COUNT}", *options, env=ENV)
    equal(done.status, 0, done.err)
    return events(trace), done.err


def counts(found, field="function"):
    number = {}
    for name, fields in found:
        key = (name, fields.get(field, "").strip('"'))
        number[key] = number.get(key, 0) + 1
    return number


compiled(PROGRAM, "gcc", "-g")
compiled(CXX, "g++", "-g", "-xc++")
shutil.copy(PROGRAM, STRIPPED)
subprocess.run(["strip", "--strip-debug", STRIPPED], check=True)
known = symbols(PROGRAM)
if not {"scale.constprop.0", "scale", "check.part.0", "check"} <= known or "first" in known:
    print("gcc makes other copies: nothing can be tested")
    sys.exit(77)
FIRST = next(name for name in known if name.startswith("first."))

# Calls of both are events of the name, with arguments and results; debug information has the constant of the copy.
found, err = traced(PROGRAM, "--function", "scale", "--exit", "--arg", "value", "--arg", "factor")
equal(counts(found), {("scale", "scale.constprop.0"): COUNT, ("scale", "scale"): TIMES,
                      ("scale_return", "scale.constprop.0"): COUNT, ("scale_return", "scale"): TIMES}, err)
entries = [fields for name, fields in found if name == "scale"]
equal([(fields["value"], fields["factor"]) for fields in entries],
      [(str(i), "3") for i in range(COUNT)] + [(str(i), "2") for i in range(TIMES)])
# 3 and 1 are the sums of 0..factor-1; the type of the result is that of the source, not a register of 64 bits.
equal([fields["return_value"] for name, fields in found if name == "scale_return"],
      [str(i + 3 - 1000) for i in range(COUNT)] + [str(i + 1 - 1000) for i in range(TIMES)])

# With all arguments, each function has a separate event with its own name.
found, err = traced(PROGRAM, "--function", "scale", "--args")
equal(counts(found), {("scale_constprop_0", ""): COUNT, ("scale", ""): TIMES}, err)

# Without debug information, with C++ by each form of the name, and by patterns that match the name without the suffix.
equal(counts(traced(STRIPPED, "--function", "scale")[0]), {("scale", "scale.constprop.0"): COUNT, ("scale", "scale"): TIMES})
equal(sum(counts(traced(STRIPPED, "--function", "*cale")[0]).values()), COUNT + TIMES)
for written in ("scale", "copied::scale", "copied::scale(int, int)", "_ZN6copied5scaleEii", "copied::sc?le*"):
    found, err = traced(CXX, "--function", written)
    equal(sorted(number for number in counts(found).values()), [TIMES, COUNT], written)
equal(len(traced(PROGRAM, "--function", "scale.constprop.0")[0]), COUNT)
equal(len(traced(PROGRAM, "--function", "first")[0]), COUNT, FIRST)

# A piece is not recorded; a note prints a pattern that selects it.
found, err = traced(PROGRAM, "--function", "check")
equal(counts(found), {("check", ""): TIMES})
true("left out: check.part.0 of copied, at 0x" in err, err)
true("\nhint: `--function 'check.part.0'` probes it\n" in err, err)
equal(len(traced(PROGRAM, "--function", "check.part.0")[0]), 2 * COUNT - 1, "of value and of value - 1, without that of -1")
err = traced(CXX, "--function", "copied::check")[1]
true("check" in err and "part.0" in err, err)
err = traced(PROGRAM, "--function", "scale")[1]
true("part" not in err, err)

# The list has all functions that the name selects; an offset selects the function itself only.
listed = json_lines(side("probe", "list", "--json", PROGRAM, "scale", env=ENV).out)
equal({line["function"] for line in listed if line["type"] == "probe_site"}, {"scale.constprop.0", "scale"})
found, err = traced(PROGRAM, "--probe", "scale+0")
equal(len(found), COUNT + TIMES, err)

# Inlined calls are not recorded by the name: a note counts them, and the list has each one. addr2line names the innermost function at an address.
PLACES = "is also inlined at 4 locations of "


def innermost(path, address):
    command = ["addr2line", "-f", "-i", "-e", path, hex(address)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


for path, name, written in ((PROGRAM, "check", "check"), (CXX, "_ZN6copied5checkEi", "copied::check(int)")):
    err = traced(path, "--function", written)[1]
    true(f"`{written}` {PLACES}{os.path.basename(path)}, where it is not recorded" in err, err)
    (hint,) = re.findall(r"hint: `side (probe list \S+ '[^']*')` lists them", err)
    done = side(*shlex.split(hint), "--json", env=ENV)
    equal(done.status, 0, done.err)
    true("inlined at 4 locations, where `--function` does not record it" in done.err, done.err)
    listed = json_lines(done.out)
    places = [line for line in listed if line["type"] == "probe_inlined"]
    equal([(line["function"], line["module"], innermost(path, line["address"])) for line in places], [(written, path, name)] * 4)
    source = open(f"{SOURCES}/copied.c", encoding="utf-8").read().splitlines()
    true(all("check(value) + check(value - 1)" in source[line["line"] - 1] for line in places), places)
    equal({line["file"] for line in places}, {f"{SOURCES}/copied.c"})
    equal(sorted(re.sub(r"\W.*", "", line["inside"].replace("_ZN6copied7callersEi", "callers")) for line in places),
          ["callers"] * 2 + ["main"] * 2)
    equal({line["function"].replace("check", ""): line.get("part") for line in listed if line["type"] == "probe_site"}.get(
        name.replace("check", "") + ".part.0"), "piece")
    # As many calls as main() makes.
    options = [word for line in places for word in ("--probe", hex(line["address"]))]
    equal(len(traced(path, *options)[0]), 2 * COUNT)
    text = side(*shlex.split(hint), env=ENV).out
    equal(len(re.findall(r"  \(inlined in (?:main|\S*callers\S*), copied.c:\d+\)$", text, re.M)), 4, text)
    equal(len(re.findall(r"  \(a piece, whose beginning is inlined in callers: `--function '\S+'` probes it\)$", text, re.M)), 1, text)
for path, written in ((PROGRAM, "scale"), (PROGRAM, "chec[k]"), (STRIPPED, "check")):
    err = traced(path, "--function", written)[1]
    true("also inlined" not in err, err)

# A function that is inlined everywhere: each location is one of the event. C++ has readable names.
SMALL = f"{FOLDER}/small"
with open(SMALL + ".cc", "w", encoding="utf-8") as file:
    file.write("""#include <stdlib.h>
volatile int sink;
namespace small { static inline __attribute__((always_inline)) void note(int value) { sink = value; } }
__attribute__((noinline, cold)) void fail(int value) { sink = -value; abort(); }
__attribute__((noinline)) void work(int value) { small::note(value); if (value < 0) fail(value); }
int main(int argc, char **argv) { for (int i = 0; i < atoi(argv[1]); i++) work(i); small::note(argc); }
""")
subprocess.run(["g++", "-g", "-O2", SMALL + ".cc", "-o", SMALL], check=True)
for written in ("note", "small::note"):
    equal(sum(counts(traced(SMALL, "--function", written)[0]).values()), COUNT + 1, written)
    done = side("probe", "list", SMALL, written, env=ENV)
    equal((done.status, done.out.count("(inlined in ")), (0, 2), done.out + done.err)
    true("inlined at 2 locations, where `--function` records it" in done.err, done.err)
# The list has the seldom-used part, by the name of the function only.
cold = {name.split(" [")[0] for name in symbols(SMALL) if ".cold" in name}
for name in cold:
    listed = json_lines(side("probe", "list", "--json", SMALL, name, env=ENV).out)
    equal([line.get("part") for line in listed if line["type"] == "probe_site"].count("cold"), 1, listed)
    done = side("probe", "list", SMALL, name, env=ENV)
    true("(seldom-used part of the function: no call begins there)" in done.out, done.out)
true("work(int)" in cold, cold)
done = side("probe", "list", SMALL, "work", env=ENV)
true("work(int)\n" in done.out and "seldom-used part" in done.out, done.out)
done = side("probe", "list", SMALL, "wor[k]*", env=ENV)
true("seldom-used" not in done.out, done.out)

# A session of the daemon, in a running program.
atexit.register(end_daemon, ENV)
process = subprocess.Popen([PROGRAM, str(COUNT), "wait"], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
equal(process.stdout.read(1), b"w", "it waits")
for arguments in (["create", "s", "-o", FOLDER + "/session"],
              ["enable-event", "scaled", "-u", "-s", "s", "-p", str(process.pid), "--function", "scale", "--exit"], ["start", "s"]):
    done = side(*arguments, env=ENV)
    if "ptrace" in done.err or "not permitted" in done.err:
        process.kill()
        print(f"{done.err.strip()}: sessions cannot be tested")
        sys.exit(77)
    equal((arguments, done.status), (arguments, 0), done.err)
process.communicate(b"\n")
equal(side("destroy", "s", env=ENV).status, 0)
equal(counts(events(FOLDER + "/session")), {("scaled", "scale.constprop.0"): COUNT, ("scaled", "scale"): TIMES,
                                            ("scaled_return", "scale.constprop.0"): COUNT, ("scaled_return", "scale"): TIMES})
