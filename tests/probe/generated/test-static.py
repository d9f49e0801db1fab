#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Generated programs that are linked statically: `side trace` refuses them with a reason, and `side trace --global` records the entries and
returns that the same program counts when it is compiled with -finstrument-functions. Skipped where the kernel watches no functions.

SIDE_TEST_LONG=1: more programs. `test-static.py NUMBER` runs only one.
"""
import collections
import importlib.util
import os
import re
import shutil
import subprocess
import sys

from harness import *

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from generate import Generated

specification = importlib.util.spec_from_file_location("generated", os.path.join(os.path.dirname(os.path.abspath(__file__)), "test-generated.py"))
generated = importlib.util.module_from_spec(specification)
specification.loader.exec_module(generated)

PROGRAMS = 24 if LONG else 6
REFUSED = "is statically linked, so the agent cannot be preloaded into it\nhint: use `side trace --global`: the kernel watches its functions\n"


def refused(path):
    """Without --global: before the program starts."""
    done = side("trace", "-o", path + "-never", "--function", "main", "-c", path, env=generated.ENV)
    equal((done.status, done.out), (1, ""), done)
    true(done.err.endswith(REFUSED), done.err)
    true(not os.path.exists(path + "-never"), "a trace")


def traced(path, names):
    """{name: [entries, returns]} that the kernel sees, with the result and the messages."""
    trace = path + "-trace"
    done = side("trace", "--global", "-o", trace, "--buffer-size", "16M", "--function", "gen_*", "--exit", "-c", path, env=generated.ENV, timeout=120)
    if done.status and not os.path.exists(trace):
        skip(f"the kernel watches no functions here: {done.err}")
    counts = collections.defaultdict(lambda: [0, 0])
    for is_return, function, address in re.findall(r' probe:gen(_return)?: .*?function = "([^"]*)", address = 0x([0-9A-F]+)', output("babeltrace2", trace)):
        at = next((int(address, 16) - skipped for skipped in (0, 4) if int(address, 16) - skipped in names), None)
        true(at is not None or ".cold" in function, f"{path}: {function} at 0x{address} is no function")
        if at is not None:
            counts[generated.whole(names[at])][bool(is_return)] += 1
    shutil.rmtree(trace)
    return (done.status, done.out), counts, done.err


def compare(number):
    compilers = [name for name in generated.COMPILERS if shutil.which(name)]
    compiler, options = compilers[number % len(compilers)], [generated.LEVELS[number // 2 % 2], "-static"]
    program = Generated(number, False, compiler)
    what = f"program {number}: {compiler} {' '.join(options)}"
    path, counting = generated.build(number, program, compiler, False, options)
    names = generated.names_of(path)
    plain = subprocess.run([path], env=generated.ENV, capture_output=True, text=True, timeout=60, check=False)
    result, wanted = generated.counted(counting)
    equal(result, (plain.returncode, plain.stdout), f"{what}: with counters")
    refused(path)
    result, found, messages = traced(path, names)
    equal(result, (plain.returncode, plain.stdout), f"{what}: with probes\n{messages}")
    true(" lost" not in messages, f"{what}: {messages}")
    # The kernel watches at most 64 open calls of a thread for their returns. Only this form of function recurses deeper.
    for name in (name for name in found if name.endswith("_down")):
        true(0 < found[name][1] <= wanted[name][1], f"{what}: {name}: {found[name][1]} returns of {wanted[name][1]}")
        found[name][1] = wanted[name][1]
    reasons = generated.listed(path, {"of": names})
    wrong, without = generated.differences({generated.whole(each) for each in names.values()}, found, wanted, reasons, program.repeated)
    true(not wrong, what + "\n" + "\n".join(wrong) + "\n" + messages)
    print(f"{what}: {sum(each[0] for each in found.values())} entries of {len(found)} functions, {sum(each[1] for each in found.values())} returns; "
          f"not probed {without[0]}, without returns {without[1]}", flush=True)


for each in [int(word) for word in sys.argv[1:]] or range(PROGRAMS):
    compare(each)
