#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Programs that look at their own stack, or unwind it, do the same when the returns of their functions are watched.

Each is run with and without probes. What it prints and its status must be the same.
"""
import atexit
import collections
import glob
import os
import re
import shutil
import subprocess
import tempfile

from harness import *

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", LD_LIBRARY_PATH=FOLDER)
STATIC = ("-static-libgcc", "-static-libstdc++")


def compiled(compiler, source, name, *options):
    path = f"{FOLDER}/{name}"
    if not os.path.exists(path):
        subprocess.run([compiler, "-w", *[option for option in options if not option.startswith(("-l", "-Wl", "/"))],
                        f"{HERE}/{source}", "-o", path,
                        *[option for option in options if option.startswith(("-l", "-Wl", "/"))]], check=True)
    return path


def traced(command, *options):
    """The same with probes: the result, and {function: (calls, returns)}."""
    trace = FOLDER + "/trace"
    shutil.rmtree(trace, ignore_errors=True)
    done = side("trace", "-o", trace, "-c", " ".join(command), *options, env=ENV, cwd=FOLDER)
    calls, returns = collections.Counter(), collections.Counter()
    if os.path.exists(trace):
        text = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=True).stdout
        for name, is_return, function in re.findall(r' probe:(\w+?)(_return)?: .*?(?:function = "(\w+)"|$)', text, re.M):
            (returns if is_return else calls)[function or name] += 1
    return done, {name: (calls[name], returns[name]) for name in calls}


def same(command, *options):
    """What is counted, when both runs do the same."""
    alone = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER, env=ENV, timeout=60)
    done, counts = traced(command, *options)
    equal((done.status, done.out), (alone.returncode, alone.stdout), f"{command} {options}\n{done.err}")
    true(alone.stdout and alone.returncode >= 0, alone)
    return done, counts


def unwinders():
    """How programs have an unwinder: (name, compiler, options)."""
    yield "shared", "g++", ()
    yield "static", "g++", STATIC
    if shutil.which("clang++"):
        yield "clang", "clang++", ()
        yield "clang-static", "clang++", STATIC
    for library in sorted(glob.glob("/usr/lib/llvm-*/lib/libunwind.so.1"))[:1]:
        yield "llvm", "g++", ("-nodefaultlibs", "-Wl,-Bstatic", "-lstdc++", "-Wl,-Bdynamic", library,
                              "-Wl,-rpath," + os.path.dirname(library), "-lm", "-lc", "-lgcc")


def test_exceptions():
    for name, compiler, options in unwinders():
        program = compiled(compiler, "unwinds.cpp", "unwinds-" + name, "-O2", *options)
        # 12 calls: 4 return, 4 throw an error, of the others two are caught at once.
        _, counts = same([program, "exceptions"], "--exit", "--function", "thrower", "--function", "middle", "--function", "outer")
        equal({function: counts[function] for function in ("thrower", "middle", "outer")},
              {"thrower": (12, 4), "middle": (12, 4), "outer": (12, 6)}, name)
        same([program, "exceptions"], "--function", "*", "--exit")


def test_tail_calls():
    for name, compiler, options in unwinders():
        program = compiled(compiler, "unwinds.cpp", "unwinds-" + name, "-O2", *options)
        # Of thrower's 30 calls each third returns, whatever leads to it.
        _, counts = same([program, "tails"], "--function", "t*", "--exit")
        equal(counts["thrower"][0], 30, name)
        tails = [function for function in counts if function.startswith("tail_")]
        equal(len(tails), 6, counts)

        same([program, "tails"], "--function", "tail_t*", "--exit")
        same([program, "tails"], "--function", "*", "--exit")


def test_backtrace():
    for name, compiler, options in unwinders():
        program = compiled(compiler, "unwinds.cpp", "unwinds-" + name, "-O2", *options)
        done, counts = same([program, "backtrace"], "--function", "level_*", "--exit")
        equal(done.out, "level_one\nlevel_two\nlevel_three\nmain\n", name)
        equal(counts["level_two"][1], 1, name)


def test_late():
    """Plug-ins that bring the unwinder: that of the system, one of their own, and both at once."""
    plugins = [compiled(compiler, "unwinds.cpp", f"plugin-{name}.so", "-O2", "-shared", "-fPIC", "-DPLUGIN", *options)
               for name, compiler, options in unwinders() if name != "llvm"]
    program = compiled("gcc", "late.c", "late", "-O2", "-ldl")
    for some in [[plugin] for plugin in plugins] + [plugins]:
        _, counts = same([program, *some], "--exit", "--function", "callback", "--function", "tail", "--function", "outer")
        # 9 times each, of which 3 return.
        equal((counts["callback"], counts["tail"], counts["outer"]),
              ((18 * len(some), 6 * len(some)), (9 * len(some), 3 * len(some)), (2 * len(some), 2 * len(some))), some)
        same([program, *some], "--function", "*", "--exit")


run_tests(globals())
