#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Programs that copy parts of their stack away and back behave the same when the returns of their functions are watched.

Each is run with and without probes. Its output and status must be the same, and the trace must have the calls that it
counts.
"""
import atexit
import collections
import os
import re
import shutil
import subprocess
import tempfile

from harness import *

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", SIDE_TIMEOUT_FACTOR="30")
COPIED = "because the program copies its stack away and back"
GREENLETS = """
import greenlet
def worker(number):
    main = greenlet.getcurrent().parent
    return sum(sum(sorted(range(4), key=lambda x: main.switch(number + x) or x)) for _ in range(10))
workers = [greenlet.greenlet(worker) for _ in range(40)]
values = [each.switch(i) for i, each in enumerate(workers)]
while not all(each.dead for each in workers):
    values += [each.switch() for each in workers if not each.dead]
print(len(values), sum(values))
"""
RUBY = """
require 'continuation'
times = 0
kept = nil
values = [1, 2, 3].map { |x| [x].each { |y| callcc { |c| kept = c if x == 2 } }; x * 2 }
times += 1
kept.call if times < 20
puts times, values.sum
fibers = (0...20).map { |k| Fiber.new { 10.times { |i| [1, 2].each { |x| Fiber.yield(k * i * x) } }; 0 } }
puts (0...21).sum { fibers.sum(&:resume) }
"""


def compiled(name, *options):
    program = f"{FOLDER}/{name}"
    subprocess.run(["gcc", "-w", *options, HERE + "/stacks.c", "-o", program], check=True)
    return program


def same(command, *functions):
    """Checks that both runs behave the same. Returns the result, and {function: [calls, returns]}."""
    options = [option for function in functions for option in ("--function", function, "--exit")]
    trace = FOLDER + "/trace"
    shutil.rmtree(trace, ignore_errors=True)
    alone = subprocess.run(command, capture_output=True, text=True, env=ENV, timeout=120)
    done = side("trace", "-o", trace, "-c", " ".join(command), *options, "--buffer-size", "64M", env=ENV, timeout=120)
    equal((done.status, done.out), (alone.returncode, alone.stdout), f"{command}\n{done.err}")
    equal(alone.returncode, 0, alone)
    text = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=True).stdout
    counts = collections.defaultdict(lambda: [0, 0])
    for is_return, function in re.findall(r' probe:\w+?(_return)?: .*?function = "(\w+)"', text):
        counts[function][bool(is_return)] += 1
    return done, counts


def printed(done):
    return {name: [int(calls), int(returns)] for name, calls, returns in re.findall(r"^(level_\d) (\d+) (\d+)$", done.out, re.M)}


def test_once():
    """Up to 12,000 calls are open at one time, most of them in copied stacks."""
    for options, count in ((("-O0",), 300), (("-O2",), 1500), (("-O2", "-fno-omit-frame-pointer"), 40)):
        done, counts = same([compiled("once", *options), "once", str(count)], "level_*", "[!l]*")
        equal({name: counts[name] for name in printed(done)}, printed(done), done)


def test_often():
    """A program with a known name: entries only."""
    done, counts = same([compiled("often", "-O2", "-DKNOWN", "-rdynamic"), "often"], "*")
    equal({name: counts[name] for name in printed(done)}, {name: [calls, 0] for name, (calls, _) in printed(done).items()}, done)
    contains(done.err, "its file copies parts of stacks away and back")


def test_late():
    """The library is loaded while calls are open, and these return several times. Later calls are not watched."""
    library = FOLDER + "/libknown.so"
    subprocess.run(["gcc", "-x", "c", "-", "-shared", "-fpic", "-o", library], input="void Init_continuation(void) {}", text=True, check=True)
    for options in (("-O0",), ("-O2",)):
        done, counts = same([compiled("late", *options), "late", library], "level_*", "run_often")
        right = printed(done)
        equal({name: counts[name][0] for name in right}, {name: calls for name, (calls, _) in right.items()}, done)
        # The first call of each of these was open, and has returned six times.
        equal([counts[f"level_{i}"][1] for i in range(4, 8)], [right[f"level_{i}"][1] for i in range(4, 8)], done)
        contains(done.err, COPIED)


def test_left():
    """Calls that never return are not copies: their indices are reused, and further returns are seen."""
    done, counts = same([compiled("thrown", "-O2"), "thrown"], "level_*")
    right = printed(done)
    true(right["level_7"][0] > right["level_7"][1] >= 20000, right)
    equal({name: counts[name] for name in right}, right, done)
    true("lost" not in done.err, done.err)


def test_refused():
    """A sandbox, entered by a bare system call, in which the kernel reads no stack: no open call counts as abandoned."""
    done, counts = same([compiled("refused", "-O2"), "refused", "5000"], "level_*")
    equal({name: counts[name] for name in printed(done)}, printed(done), done)
    true("lost" not in done.err, done.err)


def test_greenlet():
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import greenlet"], capture_output=True).returncode:
        print("greenlet is not installed and not tested")
        return
    with open(FOLDER + "/greenlets.py", "w") as out:
        out.write(GREENLETS)
    # Each C function inside which a greenlet is switched, and its callers.
    _, counts = same([python, FOLDER + "/greenlets.py"], "PyObject_*", "_PyEval_*", "PyEval_*", "_PyObject_*", "PyList_*")
    true(sum(returns for _, returns in counts.values()) > 1000, dict(counts))


def test_ruby():
    if not shutil.which("ruby"):
        print("ruby is not installed and not tested")
        return
    with open(FOLDER + "/continuations.rb", "w") as out:
        out.write(RUBY)
    done, _ = same([shutil.which("ruby"), FOLDER + "/continuations.rb"], "libruby*:rb_[aefiy]*")
    contains(done.err, COPIED)


run_tests(globals())
