#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side report --calls` and `--tree`: compared with the program's source, babeltrace2's durations, and uftrace if it is installed."""
import atexit
import os
import re
import shutil
import subprocess
import tempfile

from harness import *

SOURCES = os.environ["SOURCES"]
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
PROGRAM, TRACE = FOLDER + "/nested", FOLDER + "/trace"
# The numbers of the source.
CALLS = {"work": 1, "worker": 3, "middle": 31, "leaf": 154, "fibonacci": 177, "around": 1, "leave": 1}


def compiled(path, *options):
    subprocess.run(["gcc", "-O1", "-g", "-fno-optimize-sibling-calls", *options, SOURCES + "/nested.c", "-o", path, "-pthread"],
                   check=True)
    return path


def report(*options):
    done = side("report", "--json", TRACE, *options)
    equal(done.status, 0, done.err)
    return json_lines(done.out)


def of_type(lines, wanted):
    return [line for line in lines if line["type"] == wanted]


def durations():
    """{function: [nanoseconds]} of all returns."""
    done = subprocess.run(["babeltrace2", TRACE], capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        match = re.search(r'_return: .*function = "(\w+)".* duration = (\d+)', line)
        if match:
            found.setdefault(match[1], []).append(int(match[2]))
    return found


compiled(PROGRAM)
done = side("trace", "-q", "-o", TRACE, "-c", PROGRAM, "--function", "*", "--exit")
equal((done.status, done.out), (0, "61\n"), done.err)

functions = {line["function"]: line for line in of_type(report("--calls"), "function")}
equal({name: functions[name]["calls"] for name in CALLS}, CALLS)
seen = durations()
for name in ("worker", "middle", "leaf", "fibonacci"):
    line = functions[name]
    equal((len(seen[name]), line["min_ns"], line["max_ns"]), (CALLS[name], min(seen[name]), max(seen[name])), name)
    true(abs(line["mean_ns"] - sum(seen[name]) / len(seen[name])) < 0.01, line)
    true("unfinished" not in line and "untimed" not in line, line)
for name in ("worker", "middle", "leaf"):
    equal(functions[name]["total_ns"], sum(seen[name]), name)
equal(functions["leaf"]["self_ns"], functions["leaf"]["total_ns"])
inner = [line for line in of_type(report("--tree"), "branch") if line["function"] == "middle" and line["calls"] == 30]
equal(functions["worker"]["self_ns"], functions["worker"]["total_ns"] - inner[0]["total_ns"], "it calls nothing else")
# A recursive function counts once: its duration is that of the outermost call.
equal(functions["fibonacci"]["total_ns"], max(seen["fibonacci"]))
equal(functions["fibonacci"]["self_ns"], max(seen["fibonacci"]), "it calls nothing else")
true(functions["around"].get("unfinished") == 1 or functions["around"].get("untimed") == 1, functions["around"])
# longjmp() leaves these calls, and no event shows the time.
for name in ("around", "leave"):
    true("total_ns" not in functions[name], functions[name])

# The tree: callers, callees and counts.
methods, path = {}, []
for branch in of_type(report("--tree"), "branch"):
    path[branch["depth"]:] = [branch["function"]]
    methods["/".join(path[-2:]) if branch["depth"] else path[0]] = methods.get("/".join(path[-2:]), 0) + branch["calls"]
equal(methods["worker"], 3, "threads begin on their own")
equal((methods["worker/middle"], methods["work/middle"], methods["middle/leaf"]), (30, 1, 153), methods)
equal((methods["work/fibonacci"], methods["fibonacci/fibonacci"]), (1, 176), methods)

# As text: the same numbers, in as many rows as requested.
text = side("report", "-q", TRACE, "--calls", "-n", "3").out
true(re.search(r"^ *TOTAL +SELF +CALLS +MIN +MEAN +MAX +FUNCTION$", text, re.MULTILINE), text)
true(re.search(r"^… and \d+ more$", text, re.MULTILINE), text)
text = side("report", "-q", TRACE, "--tree").out
true(re.search(r" 3 .*  worker\n.* 30 .*    middle\n.* 150 .*      leaf\n", text), text)

# A trace without calls says so.
done = side("trace", "-q", "-o", FOLDER + "/other", "-c", PROGRAM, "--function", "leaf")
equal(done.status, 0, done.err)
done = side("report", "--calls", FOLDER + "/other")
equal(done.status, 0)
true("no event is a call" in done.err, done.err)

# A name that is longer than a text of the table of probes: the function is known by its address.
LONG = "L" * 5000
with open(FOLDER + "/long.c", "w", encoding="ascii") as file:
    file.write(f"__attribute__((noinline)) int {LONG}(int n) {{ __asm__ volatile(\"\" ::: \"memory\"); return n; }}\n"
               f"int main(void) {{ return {LONG}(1) + {LONG}(2) - 3; }}\n")
subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", FOLDER + "/long.c", "-o", FOLDER + "/long"], check=True)
symbols = subprocess.run(["nm", FOLDER + "/long"], capture_output=True, text=True, check=True).stdout
(address,) = re.findall(r"^(\w+) [Tt] L+$", symbols, re.MULTILINE)
address = f"0x{int(address, 16):x}"
for pattern, expected in (("*", {"main": 1, address: 2}), ("L*", {LONG[:20]: 2}), (address, {"_" + address: 2})):
    trace = FOLDER + "/long-" + str(len(pattern))
    done = side("trace", "-q", "-o", trace, "-c", FOLDER + "/long", "--function", pattern, "--exit")
    equal((done.status, done.out), (0, ""), done.err)
    done = side("slow", "--json", trace)
    equal((done.status, done.err), (0, ""))
    calls = {line["function"]: line["calls"] for line in of_type(json_lines(done.out), "function")}
    equal({name[:20]: count for name, count in calls.items() if name[:20] in expected}, expected, pattern)

if shutil.which("uftrace"):
    compiled(PROGRAM + "-pg", "-pg")
    done = subprocess.run(["uftrace", "record", "--no-libcall", "--no-event", "--no-sched", "-d", FOLDER + "/uftrace", PROGRAM + "-pg"], capture_output=True, text=True)
    if done.returncode == 0:
        text = subprocess.run(["uftrace", "report", "-d", FOLDER + "/uftrace"], capture_output=True, text=True, check=True).stdout
        theirs = dict((name, int(calls)) for calls, name in re.findall(r" (\d+)  (\w+)$", text, re.MULTILINE))
        equal({name: theirs.get(name) for name in CALLS}, CALLS, text)
    else:
        print("uftrace cannot record here:", done.stderr.strip())
