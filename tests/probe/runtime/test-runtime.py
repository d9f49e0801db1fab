#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Probes in threads that the C library has not set up: threads that have just started, and processes that share the
memory of another one. The programs check their own results; the test compares counts with babeltrace2's.
"""
import atexit
import collections
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import *

FOLDER = tempfile.mkdtemp()
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", LANG="C.UTF-8", SIDE_TIMEOUT_FACTOR="30")
SOURCES = os.path.dirname(os.path.realpath(__file__))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def compiled(name, *options):
    program = f"{FOLDER}/{name}{len(os.listdir(FOLDER))}"
    subprocess.run(["gcc", "-O2", "-pthread", *options, f"{SOURCES}/{name}.c", "-o", program], check=True)
    return program


def traced(arguments, *options, verb=("trace", "-c")):
    """Runs a program under side: its result, the losses that side reports, and the number of events by name, as babeltrace2 counts them."""
    trace = tempfile.mkdtemp(dir=FOLDER)
    done = side(verb[0], "-o", trace, "--force", *verb[1:], " ".join(arguments), *options, "--buffer-size", "32M", env=ENV, timeout=300)
    read = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=False)
    equal(read.returncode, 0, read.stderr[-1000:])
    counts = collections.Counter(re.findall(r"^\[.*?\] (?:\(\S+\) )?(?:\S+ )?probe:(\w+):", read.stdout, re.M))
    shutil.rmtree(trace)
    return done, counts


def test_threads_begin():
    """Functions that a thread calls before and after the C library has registered its area of restartable sequences."""
    program = compiled("threads")
    for options in (["--function", "libc:__ctype_init", "--function", "work"],
                    ["--function", "libc:*", "--function", "work"],
                    ["--function", "libc:__ctype_init", "--function", "work", "--context", "cpu_id,vtid"],
                    ["--function", "libc:__ctype_init", "--function", "work", "--exit"]):
        done, counts = traced([program, "2000" if LONG else "150"], *options)
        equal(done.status, 0, done.err)
        true("lost" not in done.err, done.err)
        calls, threads = map(int, done.out.split())
        true(calls > threads, "it has worked")
        equal(counts["work"], calls, "calls of work()")
        if "libc:__ctype_init" in options:
            equal(counts["__ctype_init"], threads, "threads that began")


KINDS = {"libc": "by the C library's clone()", "inner": "on a stack within its parent's frame", "raw": "by a bare system call",
         "files": "with the descriptors of its parent", "tls": "with a copy of its parent's thread-local memory",
         "vfork": "in the place of its parent", "threads": "beside a thread and beside main()", "stacks": "beside coroutines and signals",
         "copied": "a copy of the memory, of which the C library does not know"}


def test_processes():
    """A process in the memory of another one: results are correct, and each call is in the trace or among the losses."""
    program = compiled("processes")
    for kind, what in KINDS.items():
        for options in (["--exit"],) if kind != "raw" and not LONG else ([], ["--exit"]):
            for _ in range(20 if LONG else 1):
                arguments = ["--function", "deep", *options, "--function", "leaf", *options]
                done, counts = traced([program, kind], *arguments)
                equal(done.status, 0, f"{what}: {done.out} {done.err}")
                word, own, others = done.out.split()
                equal(word, "right", what)
                equal((counts["deep"], counts["leaf"]), (int(own), int(own)), what)
                if options:
                    equal((counts["deep_return"], counts["leaf_return"]), (int(own), int(own)), what)
                lost = re.findall(r"probe:(\w+)  ([\d,]+) \(process in another one's memory\)", done.err)
                names = ["deep", "leaf"] + ["deep_return", "leaf_return"] * bool(options)
                wanted = sorted((name, int(others)) for name in names if int(others))
                equal(sorted((name, int(count.replace(",", ""))) for name, count in lost), wanted, what)


def test_vforked():
    """A child of vfork() runs on the stack of its parent: each of its hits is lost for that one reason, and its parent's are not changed."""
    program = compiled("vforked")
    for options in ([], ["--exit"]):
        done, counts = traced([program, "200" if LONG else "20"], "--function", "deep", *options, "--function", "leaf", *options,
                              "--function", "leave")
        equal(done.status, 0, f"{done.out} {done.err}")
        true(done.out.startswith("right"), done.out)
        own, others = (dict((name, int(count)) for name, count in re.findall(r"(\w+)=(\d+)", part)) for part in done.out.split("children:"))
        for names in (own, others):
            names.update({f"{name}_return": names[name] for name in ("deep", "leaf") if options})
        equal(dict(counts), own, "hits of parents")
        lost = collections.Counter()
        for name, count, reason in re.findall(r"probe:(\w+)  ([\d,]+) \((.*)\)", done.err):
            equal(reason, "in the child of a vfork(), before it ran a program", name)
            lost[name] += int(count.replace(",", ""))
        equal(dict(lost), others, done.err)


def test_events():
    """Events of the program in a process that the C library's clone() has created."""
    program = os.environ["EVENTS"]
    trace = tempfile.mkdtemp(dir=FOLDER)
    done = side("record", "-o", trace, "--force", "--buffer-size", "64M", "--", program, env=ENV)
    equal(done.status, 0, done.err)
    own, others = map(int, done.out.split())
    read = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=True)
    values = re.findall(r"n = (\d+), square = (\d+)", read.stdout)
    equal(len(values), own, "events of the thread itself")
    true(all(int(n) ** 2 == int(square) for n, square in values), "values")
    lost = re.findall(r"shared:tick  ([\d,]+) \(process in another one's memory\)", done.err)
    equal(sum(int(count.replace(",", "")) for count in lost), others, done.err)


def test_spawn():
    """The program that posix_spawn() executes in the memory of its parent, in a program with threads that never pause."""
    program = compiled("spawn")
    done, counts = traced([program, "300" if LONG else "20"], "--function", "libc:sigaction", "--function", "libc:execve", "--function", "work")
    equal(done.status, 0, done.err)
    equal(counts["work"], int(done.out), "calls of work()")


# The sandbox of a program, and the functions that have no hits in it.
SANDBOXES = {"filter": "", "first": "", "seccomp": "", "prctl": "", "odd": "", "threads": "", "sync": "", "twice": "", "permits": "",
             "returns": "", "partly": "", "signals": "", "mixed": "tiny", "fails": "", "clock": "tiny jumped named", "strict": "tiny jumped named"}
SANDBOX_PROBES = {"tiny": ["--function", "tiny"], "jumped": ["--function", "jumped", "--exit"],
                  "named": ["--function", "named", "--exit", "--arg", "u64:n:%rdi", "--arg", "string:text:%rsi"]}


def sandbox_options(names):
    return [option for name in names.split() for option in SANDBOX_PROBES[name]] + ["--context", "vtid,cpu_id,procname"]


def check_sandbox(kind, out, err, counts):
    jumps, tinies, before = map(int, out.split()) if kind != "strict" else (1005, 1005, 5)
    true(jumps >= 1000 and tinies == jumps, f"{kind}: it has worked")
    fatal = SANDBOXES[kind].split()
    for name in SANDBOX_PROBES:
        equal(counts[name], before if name in fatal else jumps, f"{kind}: {name} {err}")
        if name != "tiny":
            equal(counts[name + "_return"], counts[name], f"{kind}: {name}")
        equal(f"removed: {name}, at 0x" in err, name in fatal, f"{kind}: {err}")


def test_sandboxes():
    """A program that enters a sandbox is not killed in it, and the permitted recording continues."""
    program = compiled("sandbox")
    for kind in SANDBOXES:
        done, counts = traced([program, kind], *sandbox_options("tiny jumped named"))
        equal(done.status, 0, f"{kind}: {done.out} {done.err}")
        check_sandbox(kind, done.out, done.err, counts)


def test_sandbox_of_crash():
    """A program that crashes in its sandbox dies of its own signal."""
    program = compiled("sandbox")
    done, counts = traced([program, "crash"], *sandbox_options("tiny jumped named"))
    equal(done.status, 128 + 11, done.err)
    equal((counts["tiny"], counts["jumped"], counts["named_return"]), (1005, 1005, 1005), done.err)


def test_sandbox_of_child():
    """The sandbox of a forked child does not apply to its parent."""
    program = compiled("sandbox")
    done, counts = traced([program, "child"], *sandbox_options("tiny jumped named"))
    equal((done.status, done.out), (0, "1000 1000 0\n"), done.err)
    equal((counts["tiny"], counts["jumped"], counts["named"], counts["named_return"]), (1005, 1005, 1005, 1005), done.err)


def test_sandbox_unseen():
    """A filter that is installed by a bare system call: hits make none, unless they read memory behind pointers."""
    program = compiled("sandbox")
    for _ in range(3):
        done, counts = traced([program, "bare"], *sandbox_options("tiny jumped"))
        equal((done.status, done.out), (0, "1005 1005 5\n"), done.err)
        equal((counts["tiny"], counts["jumped"], counts["jumped_return"]), (1005, 1005, 1005), done.err)


def test_sandbox_of_vfork():
    """The child of a vfork() enters one by a bare system call: a hit there is not recorded, and does not end it."""
    program = compiled("sandbox")
    done, counts = traced([program, "vfork"], *sandbox_options("tiny jumped named"))
    equal((done.status, done.out), (0, "1005 1005 5\n"), done.err)
    equal((counts["tiny"], counts["jumped"], counts["named"], counts["named_return"]), (1005, 1005, 1005, 1005), done.err)


def test_state_in_sandbox():
    """A breakpoint restores without a system call: vector registers, flags, x87 and MXCSR, the signal mask and the alternate stack."""
    program = compiled("resume")
    for where in ("", "alternate"):
        done, counts = traced([program, where], "--function", "tiny")
        equal((done.status, done.out), (0, "4000 the same\n"), done.err)
        equal(counts["tiny"], 4000, done.err)


def test_backtraces_in_handler():
    """A profiler's signal interrupts the handler of breakpoints at any instruction, and makes a backtrace."""
    done, counts = traced([compiled("resume"), "interrupted"], "--function", "tiny")
    equal((done.status, done.out, counts["tiny"]), (0, "40000 the same\n", 40000), done.err)


FIXED_ADDRESSES = 0x40000  # ADDR_NO_RANDOMIZE: some versions of ThreadSanitizer do not run without


def test_sanitizer_gets_control_back():
    """ThreadSanitizer's handler calls side's: it must return there, or ThreadSanitizer considers all later code part of a signal handler."""
    try:
        program = compiled("allocates", "-fsanitize=thread")
    except subprocess.CalledProcessError:
        skip("the compiler has no ThreadSanitizer")
    personality = ctypes.CDLL(None).personality
    before = personality(0xffffffff)
    personality(before | FIXED_ADDRESSES)
    try:
        done, counts = traced([program], "--function", "tiny")
    finally:
        personality(before)
    equal((done.status, done.out, counts["tiny"]), (0, "100\n", 100), done.err)
    true("ThreadSanitizer" not in done.err, done.err)


def test_emulated_processor():
    """QEMU ends a program that executes iretq: the handler of breakpoints returns by the system call there."""
    sys.path.insert(0, os.path.join(SOURCES, "../../kernel"))
    import machine
    reason = machine.why_not()
    if reason:
        skip(reason)
    program = compiled("allocates")
    script = f"{FOLDER}/emulated.sh"
    with open(script, "w", encoding="utf-8") as out:
        out.write(f"'{SIDE}' trace -o /run/trace -c '{program}' --function tiny && babeltrace2 /run/trace | grep -c probe:tiny\n")
    variables = [(name, os.environ[name]) for name in ("LD_LIBRARY_PATH",) if name in os.environ]
    status, text = machine.run(["sh", script], [*variables, ("SIDE_RUNTIME", "/run/side"), ("SIDE_TIMEOUT_FACTOR", "20")], 300)
    equal((status, re.findall(r"^\d+$", text, re.M)), (0, ["100", "100"]), text)


def test_sandbox_before():
    """A sandbox that existed when the program started."""
    program = compiled("sandbox")
    for kind in ("then-kill", "then-fail", "then-all"):
        done, counts = traced([program, kind, "x"], *sandbox_options("tiny jumped named"))
        equal((kind, done.out), (kind, "1005 1005 5\n"), done.err)
        equal((counts["tiny"], counts["jumped"], counts["named_return"]), (1005, 1005, 1005), f"{kind}: {done.err}")
        true("in which a breakpoint would end it" not in done.err, done.err)


def test_sandbox_attached():
    """The same in a running program."""
    program = compiled("sandbox")
    for kind in ("filter", "seccomp", "permits", "sync"):
        trace = tempfile.mkdtemp(dir=FOLDER)
        with subprocess.Popen([program, kind, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
            with subprocess.Popen([SIDE, "trace", "-o", trace, "--force", "-p", str(running.pid), *sandbox_options("tiny jumped named")],
                                  stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True, env=ENV) as tracer:
                output = ""
                while output.count("is set in process") < 3:
                    line = tracer.stderr.readline()
                    true(line, output)
                    output += line
                out = running.communicate("x", timeout=60)[0]
                output += tracer.communicate(timeout=60)[1]
            equal((kind, running.returncode), (kind, 0), output)
        read = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=True)
        counts = collections.Counter(re.findall(r" probe:(\w+):", read.stdout))
        jumps, _, _ = map(int, out.split())
        equal((counts["tiny"], counts["jumped"], counts["named_return"]), (jumps, jumps, jumps), f"{kind}: {output}")


if __name__ == "__main__":
    run_tests(globals())
