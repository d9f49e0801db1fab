#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Programs of Go: the kernel watches their functions, each call is seen once although stacks grow in between, strings
and slices are correct, stripped files have function names, and the program works, whichever function of its runtime
is watched.
"""
import atexit
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

from harness import *

SOURCES = os.environ["SOURCES"]
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
NOT_INSIDE = "it is Go code, and the Go runtime moves stacks and resumes goroutines anywhere"

if not shutil.which("go"):
    print("go is not installed")
    sys.exit(77)


def compiled(name, *options):
    """Compiled offline, without files outside of FOLDER."""
    env = {**os.environ, "GOCACHE": FOLDER + "/cache", "GOPATH": FOLDER + "/path", "GOFLAGS": "-mod=mod", "GO111MODULE": "off",
           "GOPROXY": "off", "HOME": FOLDER}
    subprocess.run(["go", "build", "-o", f"{FOLDER}/{name}", *options, SOURCES + "/going.go"], check=True, env=env, cwd=FOLDER)
    return f"{FOLDER}/{name}"


def sites(path, glob):
    done = side("probe", "list", "--json", path, glob)
    equal(done.status, 0, done.err)
    return {site["function"]: site for site in json_lines(done.out) if site["type"] == "probe_site"}


def traced(path, *arguments, status=0):
    shutil.rmtree(FOLDER + "/trace", ignore_errors=True)
    done = side("trace", "-o", FOLDER + "/trace", "-c", path, *arguments, timeout=300)
    equal(done.status, status, done.err)
    if status:
        return done, []
    lines = side("view", "--json", FOLDER + "/trace", timeout=300).out.splitlines()
    return done, [line for line in map(json.loads, lines) if line["type"] == "event" and line["event"] != "side:uprobes"]


def is_whole(out, events=None):
    """Checks that the program prints its usual output, and that all its calls were recorded."""
    lines = out.splitlines()
    equal(lines[:-1], PLAIN[:-1])
    equal(lines[-1].split(), PLAIN[-1].split())
    if events is not None:
        calls = collections.Counter(event["fields"]["function"] for event in events)
        equal((calls["main.fibonacci"], calls["main.deep"]), tuple(map(int, lines[-1].split()[1:])))


static = compiled("static", "-ldflags", "-linkmode internal")
stripped = compiled("stripped", "-ldflags", "-s -w -linkmode internal")
dynamic = compiled("dynamic", "-ldflags", "-linkmode external") if shutil.which("gcc") else None
PLAIN = subprocess.run([static], capture_output=True, text=True, check=True).stdout.splitlines()

found = sites(static, "main.*")
true({"main.main", "main.fibonacci", "main.deep", "main.cook", "main.(*order).serve"} <= set(found), found)
for site in found.values():
    true(site["method"] in ("uprobe", "none"), site)
    equal(site["reason"], NOT_INSIDE)
for path in (stripped, dynamic):
    if path:
        equal(set(sites(path, "main.*")) >= set(found), True, path)
# After the stack check, which is repeated after the stack has grown.
entry = {site["function"]: site["address"] for site in found.values()}
symbols = {line.split()[2]: int(line.split()[0], 16)
           for line in subprocess.run(["nm", static], capture_output=True, text=True, check=True).stdout.splitlines()
           if len(line.split()) == 3}
true(all(entry[name] > symbols[name] for name in ("main.fibonacci", "main.deep")), entry)
# Go 1.21 and later have no write barrier for one register each.
if "runtime.gcWriteBarrierR8" in symbols:
    equal([site["reason"] for name, site in sites(static, "runtime.gcWriteBarrierR8").items()],
          ["a uprobe is not possible: the kernel mistakes an exchange of registers there for a nop"])

# The agent needs a C library.
done, _ = traced(static, "--function", "main.cook", status=1)
true("statically linked" in done.err and "`side trace --global`" in done.err, done.err)

done, _ = traced(static, "--global", "--function", "main.cook", "--exit", status=1)
if "run as root" in done.err:
    print("the kernel watches nothing for this user")
    sys.exit(77)
true("cannot record returns from main.cook: it is a function of Go" in done.err, done.err)
for path in (static, stripped):
    done, events = traced(path, "--global", "--function", "main.*")
    is_whole(done.out, events)
done, events = traced(static, "--global", "--function", "main.cook", "--args")
fields = events[0]["fields"]
equal((len(events), fields["dish"], bytes(fields["raw"])), (1, "soup", b"abc"), fields)
# It is in a vector register.
true("weight" not in fields and "the kernel cannot read them" in done.err, (fields, done.err))
done, events = traced(static, "--global", "--function", "main.(*order).serve", "--arg", "of.dish", "--arg", "plates")
equal([(event["fields"]["of_dish"], event["fields"]["plates"]) for event in events], [("bread", 7)])
# Functions of the runtime, too, with write barriers that must preserve all registers.
done, events = traced(static, "--global", "--function", "runtime.gc*")
is_whole(done.out)
true(any(event["fields"]["function"].startswith("runtime.gcWriteBarrier") for event in events), len(events))

if dynamic:
    done, events = traced(dynamic, "--function", "main.*", "-v")
    is_whole(done.out, events)
    done, _ = traced(dynamic, "--function", "main.*", "--no-uprobe", status=1)
    true("only a uprobe is possible in Go code" in done.err, done.err)
    true("of the locations got no probe: only a uprobe is possible there, and the kernel cannot set it: `--no-uprobe` is given" in
         done.err and "breakpoint only" not in done.err, done.err)
    done, _ = traced(dynamic, "--function", "main.*", "--backtrace", status=2)
