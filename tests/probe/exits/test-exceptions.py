#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Random C++ programs do the same with and without probes on the returns of all their functions, and what is recorded is what they count.

The programs (generate.py) have exceptions, tail calls, longjmp(), coroutines and threads that end in the middle. They are compiled by gcc and
clang, with the unwinders that programs have: libgcc's, shared and linked statically, and LLVM's.

usage: test-exceptions.py, with SIDE_TEST_SEED=N for that seed only; SIDE_TEST_LONG=1 makes 100,000 programs.
"""
import atexit
import collections
import glob
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
ENV = environment(SIDE_RUNTIME=FOLDER + "/run")
PROGRAMS = 25 # of a file
FILES = 4000 if LONG else 20
STATIC = ("-static-libgcc", "-static-libstdc++")


def llvm_unwinder():
    """LLVM's unwinder as a program of clang's is linked with it; libstdc++ goes by it as well."""
    for library in sorted(glob.glob("/usr/lib/llvm-*/lib/libunwind.so.1")):
        return ("-DNO_FORCED_UNWIND", "-nodefaultlibs", "-Wl,-Bstatic", "-lstdc++", "-Wl,-Bdynamic", library,
                "-Wl,-rpath," + os.path.dirname(library), "-lm", "-lc", "-lgcc")
    return None


def libcxx():
    """LLVM's C++ library and unwinder. (In Debian its headers exclude those of the other libunwind, so they are seldom there.)"""
    for folder in sorted(glob.glob("/usr/lib/llvm-*/")):
        if os.path.exists(folder + "include/c++/v1/cstdio") and os.path.exists(folder + "lib/libunwind.so"):
            return ("-DNO_FORCED_UNWIND", "-stdlib=libc++", "-L" + folder + "lib", "-Wl,-rpath," + folder + "lib", "-lunwind", "-lc++abi")
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
    """{function: (calls, returns)}: as the program has printed them."""
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
    variant = VARIANTS[seed % len(VARIANTS)]
    program, trace = compiled(seed, variant), f"{FOLDER}/trace"
    alone = subprocess.run([program], capture_output=True, text=True, timeout=120)
    what = f"SIDE_TEST_SEED={seed}: {' '.join(variant)}"
    equal(alone.returncode, 9 if seed % 2 else 0, what)
    done = side("trace", "-q", "-o", trace, "-c", program, "--function", "*", "--exit", "--buffer-size", "64M", env=ENV, timeout=120)
    equal((done.status, done.out), (alone.returncode, alone.stdout), what + "\n" + done.err)
    seen, right = recorded(trace), counted(done.out)
    differ = {name: (seen.get(name), right[name]) for name in right if right[name][0] and seen.get(name) != right[name]}
    equal(differ, {}, what + ": (calls, returns) recorded and counted")
    for name in (program, program + ".cpp"):
        os.unlink(name)
    shutil.rmtree(trace)
    return sum(calls for calls, _ in right.values())


if os.environ.get("SIDE_TEST_SEED"):
    seeds = [int(os.environ["SIDE_TEST_SEED"])]
else:
    seeds = range(FILES)
calls = sum(check(seed) for seed in seeds)
print(f"{len(seeds) * PROGRAMS} programs with {calls} calls")
true(len(seeds) == 1 or calls > 50 * PROGRAMS * len(seeds), calls)
