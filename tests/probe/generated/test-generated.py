#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Generated programs with a probe on each of their functions: the entries and returns in the trace are those that the same program
counts when it is compiled with -finstrument-functions. For some, gdb counts at breakpoints, too.

Functions that cannot be probed, and returns that cannot be recorded, are allowed if side gives the reason.
SIDE_TEST_LONG=1: all programs. `test-generated.py NUMBER` runs only one; KEEP=FOLDER leaves its files there.
"""
import atexit
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

from harness import *

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from generate import Generated

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = 80 if LONG else 16
FOLDER = os.environ.get("KEEP") or tempfile.mkdtemp()
if "KEEP" not in os.environ:
    atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", SIDE_TIMEOUT_FACTOR="30")
COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}
LEVELS = ("-O0", "-O2", "-O1", "-O3", "-Os")
# Of these, a program has none, one or two.
OPTIONS = (["-fno-pie", "-no-pie"], ["-fcf-protection=full"], ["-fno-omit-frame-pointer"], ["-fno-asynchronous-unwind-tables"], ["-fno-plt"],
           ["-fstack-protector-all"], ["-ffunction-sections", "-Wl,--gc-sections"], ["-fuse-ld=lld"], ["-fuse-ld=gold"], ["-Wl,-z,now"],
           ["-march=x86-64-v3"], ["-static-libgcc"], ["-falign-functions=1"], ["-mno-red-zone"], ["-s", "-rdynamic"], ["-g"])
LINKERS = {"-fuse-ld=lld": "ld.lld", "-fuse-ld=gold": "ld.gold"}
GDB_EACH = 8  # in one of so many programs, gdb counts, too:
GDB_FUNCTIONS = 10  # some functions,
GDB_HITS = 50  # that are called less often, because a hit takes milliseconds


def settings(number):
    """The compiler, the language and the options of a program."""
    chance = random.Random(-number)
    compilers = [name for name in COMPILERS if shutil.which(name)]
    compiler = compilers[number % len(compilers)]
    is_cplusplus = number // 2 % 3 == 0
    level = LEVELS[number // 4 % 2] if number % 5 else chance.choice(LEVELS)
    options = [level]
    for each in chance.sample(OPTIONS, chance.choice((0, 1, 1, 2))):
        if all(shutil.which(LINKERS.get(option, "sh")) for option in each):
            options += each
    return compiler, is_cplusplus, options


def build(number, program, compiler, is_cplusplus, options):
    """Builds it plain, and with counters: returns both paths."""
    path = f"{FOLDER}/p{number}"
    source = path + (".cpp" if is_cplusplus else ".c")
    with open(source, "w", encoding="ascii") as file:
        file.write(program.source())
    command = [COMPILERS[compiler][is_cplusplus], "-w", *options, "-pthread"]
    output(*command, source, "-o", path)
    counting = [option for option in options if option != "-s"]
    output(COMPILERS[compiler][False], "-w", "-O1", "-fPIC", "-c", HERE + "/counts.c", "-o", path + "-counts.o")
    output(COMPILERS[compiler][is_cplusplus], "-w", *counting, "-pthread", "-DCOUNTED", "-finstrument-functions", source, path + "-counts.o",
           "-o", path + "-counted")
    return path, path + "-counted"


def names_of(path, *options):
    """{address: names} of functions, without the suffixes of copies."""
    names = collections.defaultdict(set)
    for line in output("nm", *options, path).splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "tTwW" and "gen_" in words[2] and ".cold" not in words[2]:
            names[int(words[0], 16)].add(re.sub(r"\..*", "", words[2]))
    return names


def whole(names):
    """One name for all names of an address, and for constructors that are emitted twice."""
    return re.sub(r"(C|D)[012]E", r"\1E", min(names, key=lambda name: (name.startswith("_ZThn"), "_alias" in name, len(name), name)))


def counted(path):
    """{name: [entries, returns]} as the program counts, with its result."""
    done = subprocess.run([path], env=ENV | {"COUNTS": path + ".txt"}, capture_output=True, text=True, timeout=60, check=False)
    counts, names = collections.defaultdict(lambda: [0, 0]), names_of(path)
    with open(path + ".txt", encoding="ascii") as file:
        for line in file:
            address, entries, returns = line.split()
            if int(address, 16) in names:
                count = counts[whole(names[int(address, 16)])]
                count[0] += int(entries)
                count[1] += int(returns)
    return (done.returncode, done.stdout), counts


def traced(path, names):
    """{name: [entries, returns]} that side records, with the result and the messages."""
    trace = path + "-trace"
    done = side("trace", "-o", trace, "--buffer-size", "16M", "--function", "*", "--exit", "-c", path, env=ENV, timeout=120)
    counts, bias = collections.defaultdict(lambda: [0, 0]), None
    events = re.findall(r' probe:function(_return)?: .*?function = "([^"]*)", address = 0x([0-9A-F]+)', output("babeltrace2", trace))
    main = next(int(line.split()[0], 16) for line in names["all"] if line.endswith(" main"))
    for _, function, address in events:
        if function == "main":
            bias = (int(address, 16) - main) & ~0xfff
    true(bias is not None, f"{path}: main was not recorded\n{done.err}")
    for is_return, function, address in events:
        offset = int(address, 16) - bias
        at = next((offset - skipped for skipped in (0, 4) if offset - skipped in names["of"]), None)
        if at is not None:
            counts[whole(names["of"][at])][bool(is_return)] += 1
        else:
            true("gen_" not in function or ".cold" in function or "choose" in function, f"{path}: {function} at {offset:#x} is no function")
    shutil.rmtree(trace)
    return (done.status, done.out), counts, done.err


def listed(path, names):
    """{name: the reasons}: why side cannot probe the function, and why not its returns."""
    reasons = {}
    for site in json_lines(side("probe", "list", "--json", path, env=ENV).out):
        if site["type"] != "probe_site":
            continue
        at = next((site["address"] - skipped for skipped in (0, 4) if site["address"] - skipped in names["of"]), None)
        if at is not None:
            entry, returns = reasons.get(whole(names["of"][at]), (None, None))
            reasons[whole(names["of"][at])] = (entry or (site["method"] == "none" and site["reason"]), returns or site.get("no_exit"))
    return reasons


def gdb_counts(path, functions):
    """{name: entries} at breakpoints on the functions of a program in C."""
    commands = ["set breakpoint pending off", "handle SIGUSR1 nostop noprint pass"]
    for function in functions:
        commands += [f"break *&'{function}'", "ignore $bpnum 10000000"]
    done = run("gdb", "-batch", "-nx", *[word for command in [*commands, "run", "info breakpoints"] for word in ("-ex", command)], path, status=None)
    found = re.findall(r"<(\w+)(?:\+\d+)?>(?:\n\tbreakpoint already hit (\d+) time)?", done.stdout)
    # Without the permission to trace, gdb sets breakpoints, and runs nothing.
    return {name: int(count or 0) for name, count in found} if "exited " in done.stdout else {}


def differences(names, found, wanted, reasons, repeated):
    """Descriptions of what was not recorded as expected, and the numbers of functions without a probe and without returns."""
    wrong, without = [], [0, 0]
    for name in sorted(names):
        entries, returns = wanted.get(name, (0, 0))
        got = found.get(name, (0, 0))
        refused, no_exit = reasons.get(name, ("side does not list it", None))
        # Code of compilers and linkers, and a function that runs before any probe, have no counters.
        if name.startswith("_ZTh") or "_choose" in name or name.endswith("_chosen"):
            continue
        if refused in (False, None):
            # The loop jumps to the location of the probe.
            if got[0] < entries if any(each in name for each in repeated) else got[0] != entries:
                wrong.append(f"{name}: {got[0]} entries instead of {entries}")
        elif got[0] or refused == "side does not list it":
            wrong.append(f"{name}: {got[0]} entries of {entries}; {refused}")
        else:
            without[0] += 1
        if no_exit:
            without[1] += 1
        elif not refused and got[1] != (returns if got[0] == entries else got[0]):
            wrong.append(f"{name}: {got[1]} returns instead of {returns}")
    return wrong, without


def compare(number):
    compiler, is_cplusplus, options = settings(number)
    program = Generated(number, is_cplusplus, compiler)
    what = f"program {number}: {compiler} {'C++' if is_cplusplus else 'C'} {' '.join(options)}"
    path, counting = build(number, program, compiler, is_cplusplus, options)
    stripped = ["-D"] if "-s" in options else []
    names = {"of": names_of(path, *stripped), "all": output("nm", *stripped, path).splitlines()}
    plain = subprocess.run([path], env=ENV, capture_output=True, text=True, timeout=60, check=False)
    result, wanted = counted(counting)
    equal(result, (plain.returncode, plain.stdout), f"{what}: with counters")
    result, found, messages = traced(path, names)
    equal(result, (plain.returncode, plain.stdout), f"{what}: with probes\n{messages}")
    true("lost" not in messages, f"{what}: {messages}")
    present = {whole(each) for each in names["of"].values()}
    wrong, without = differences(present, found, wanted, listed(path, names), program.repeated)
    true(not wrong, what + "\n" + "\n".join(wrong) + "\n" + messages)
    by_gdb = {}
    if shutil.which("gdb") and not is_cplusplus and not stripped and (program.repeated or number % GDB_EACH == 2):
        # gdb may name the address by an alias.
        seldom = [name for name in sorted(present) if 0 < found.get(name, [0])[0] < GDB_HITS and "_choose" not in name]
        first = [name for name in seldom if name in program.repeated]
        some = first + [name for name in seldom if name not in first][:GDB_FUNCTIONS]
        by_gdb = {name: count for name, count in gdb_counts(path, some).items() if name in some}
        equal({name: found.get(name, [0])[0] for name in by_gdb}, by_gdb, f"{what}: gdb")
    print(f"{what}: {sum(each[0] for each in found.values())} entries of {len(found)} functions, "
          f"{sum(each[1] for each in found.values())} returns; not probed {without[0]}, without returns {without[1]}, "
          f"compared with gdb {len(by_gdb)}", flush=True)


if __name__ == "__main__":
    for each in [int(word) for word in sys.argv[1:]] or range(PROGRAMS):
        compare(each)
