#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Random C++ programs behave the same with and without probes on the returns of all their functions, and the trace has
the calls that they count.

The programs (generate.py) have exceptions, tail calls, longjmp(), coroutines and threads that end inside a call. They
are compiled by gcc and clang, with the unwinders that programs use: libgcc's, shared and linked statically, and
LLVM's.

A file has many programs. Its argument is a number that decides where half of their calls lead: each number makes
other programs of it.

usage: test-exceptions.py, with SIDE_TEST_SEED=N or SIDE_TEST_SEED=FIRST-LAST for those seeds only; SIDE_TEST_LONG=1
makes 100,000 programs. SIDE_TEST_LLVM=FOLDER has LLVM's C++ library and unwinder, if they are not installed.
"""
import atexit
import collections
import glob
import multiprocessing
import os
import re
import shutil
import subprocess
import tempfile

from generate import generate
from harness import *

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", SIDE_TIMEOUT_FACTOR="30")
PROGRAMS = 100 if LONG else 25 # of a file
NUMBERS = 20 if LONG else 1 # that it is started with
ENTRY_ONLY = 5 # one start of so many in the long form records no returns,
EVERYTHING = 10 # and one of so many all functions, including those of the unwinder
FILES = 50 if LONG else 20
STATIC = ("-static-libgcc", "-static-libstdc++")


def llvm_unwinder():
    """LLVM's unwinder as clang links it with a program; libstdc++ uses it as well."""
    for library in sorted(glob.glob("/usr/lib/llvm-*/lib/libunwind.so.1")):
        return ("-DNO_FORCED_UNWIND", "-nodefaultlibs", "-Wl,-Bstatic", "-lstdc++", "-Wl,-Bdynamic", library,
                "-Wl,-rpath," + os.path.dirname(library), "-lm", "-lc", "-lgcc")
    return None


def libcxx():
    """LLVM's C++ library and unwinder. (In Debian its headers conflict with those of the other libunwind, so they are seldom installed.)"""
    for folder in (os.environ.get("SIDE_TEST_LLVM", ""), *sorted(glob.glob("/usr/lib/llvm-*"))):
        headers, libraries = folder + "/include/c++/v1", folder + "/lib"
        if os.path.exists(headers + "/cstdio") and os.path.exists(libraries + "/libunwind.so"):
            return ("-DNO_FORCED_UNWIND", "-stdlib=libc++", "-nostdinc++", "-isystem" + headers, "-L" + libraries,
                    "-Wl,-rpath," + libraries, "-lunwind", "-lc++abi")
    return None


GCC, CLANG = ("g++", "-std=c++20", "-fcoroutines"), ("clang++", "-std=c++20")
VARIANTS = [(*GCC, "-O0"), (*GCC, "-O1", *STATIC), (*GCC, "-O2"), (*GCC, "-O3", *STATIC), (*CLANG, "-O0", *STATIC), (*CLANG, "-O2"),
            (*GCC, "-O2", *STATIC), (*CLANG, "-O3", *STATIC), (*GCC, "-O2", "-fno-omit-frame-pointer", "-fno-pie", "-no-pie"),
            (*CLANG, "-O1", "-fno-pie", "-no-pie"), (*GCC, "-O3", "-fcf-protection=none", "-fno-plt"), (*GCC, "-Os")]
for what, compiler, found in (("unwinder", GCC, llvm_unwinder()), ("C++ library", CLANG, libcxx())):
    if found:
        VARIANTS += [(*compiler, "-O2", *found), (*compiler, "-O0", *found)]
    else:
        print(f"LLVM's {what} is not installed and not tested")
VARIANTS = [variant for variant in VARIANTS if shutil.which(variant[0])]


def compiled(seed, variant):
    source, program = f"{FOLDER}/{seed}.cpp", f"{FOLDER}/{seed}"
    with open(source, "w") as out:
        out.write(generate(seed, PROGRAMS))
    libraries = [option for option in variant if option.startswith(("-l", "-Wl", "-L", "/"))]
    options = [option for option in variant if option not in libraries]
    subprocess.run([*options, "-w", "-I" + HERE, source, "-o", program, *libraries, "-pthread"], check=True)
    return program


def counted(text):
    """{function: (calls, returns)}, as the program has printed them."""
    return {name: (int(calls), int(returns)) for name, calls, returns in re.findall(r"^(f_\d+_\d+) (\d+) (\d+)$", text, re.M)}


def recorded(trace):
    """The same from the trace."""
    calls, returns = collections.Counter(), collections.Counter()
    done = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        match = re.search(r' probe:\S*?(_return)?: .*function = "(f_\d+_\d+)"', line)
        if match:
            (returns if match[1] else calls)[match[2]] += 1
    return {name: (calls[name], returns[name]) for name in calls}


def check(seed):
    """Checks the programs of a file. Returns how many calls they have made."""
    variant = VARIANTS[seed % len(VARIANTS)]
    program = compiled(seed, variant)
    what = f"SIDE_TEST_SEED={seed}: {' '.join(variant)}"
    calls = sum(check_run(program, number, 9 if seed % 2 else 0, f"{what}, started with {number}") for number in range(NUMBERS))
    for name in (program, program + ".cpp"):
        os.unlink(name)
    return calls


def check_run(program, number, status, what):
    trace = program + ".trace"
    alone = subprocess.run([program, str(number)], capture_output=True, text=True, timeout=600)
    equal(alone.returncode, status, what)
    has_exits = number % ENTRY_ONLY < ENTRY_ONLY - 1
    functions = "f_*" if number % EVERYTHING else "*"
    done = side("trace", "-q", "-o", trace, "-c", f"{program} {number}", "--function", functions, *(["--exit"] if has_exits else []),
                "--buffer-size", "128M" if LONG else "64M", env=ENV, timeout=600)
    equal((done.status, done.out), (alone.returncode, alone.stdout), what + "\n" + done.err)
    seen, right = recorded(trace), counted(done.out)
    if not has_exits:
        right = {name: (calls, 0) for name, (calls, _) in right.items()}
    differ = {name: (seen.get(name), right[name]) for name in right if right[name][0] and seen.get(name) != right[name]}
    equal(differ, {}, what + ": (calls, returns) recorded and counted")
    shutil.rmtree(trace)
    return sum(calls for calls, _ in right.values())


def some_seeds():
    wanted = os.environ.get("SIDE_TEST_SEED")
    if not wanted:
        return range(FILES)
    first, _, last = wanted.partition("-")
    return range(int(first), int(last or first) + 1)


def check_all(seeds):
    """In the long form, on all CPUs."""
    if not LONG:
        return sum(check(seed) for seed in seeds)
    calls = 0
    with multiprocessing.Pool() as pool:
        for made, some in enumerate(pool.imap_unordered(check, seeds), 1):
            calls += some
            print(f"{made * PROGRAMS * NUMBERS} programs with {calls} calls", flush=True)
    return calls


seeds = some_seeds()
calls = check_all(seeds)
programs = len(seeds) * PROGRAMS * NUMBERS
print(f"{programs} programs with {calls} calls")
true(len(seeds) == 1 or calls > 50 * programs, calls)
