#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Members of small structures that a function does not use: compilers of LLVM do not pass them, so their registers have any value. Programs
made at random, of which each call passes known values and the registers of arguments have others before: a recorded value is the one that
was passed, and each member that the function reads is recorded.
"""
import atexit
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

from harness import *

FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run")
SEED = int(os.environ.get("SIDE_TEST_SEED", "1"))
LONG = os.environ.get("SIDE_TEST_LONG") == "1"
FUNCTIONS = 60
COMPILERS = [name for name in ("clang", "clang-19", "gcc") if shutil.which(name)]
LEVELS = ("-O1", "-O2", "-O3", "-Os") if LONG else ("-O1", "-O2")
SIZES = {"char": 1, "short": 2, "int": 4, "long": 8, "float": 4, "double": 8}

HEAD = """
#include <stdio.h>
volatile long sink;
volatile double real;
/* Each register of an argument gets a value that no call passes. */
static void spoil(void)
{
	double other = 77777.5;
	__asm__ volatile("mov $0x5a5a5a5a5a5a5a5a, %%rdi; mov %%rdi, %%rsi; mov %%rdi, %%rdx; mov %%rdi, %%rcx; mov %%rdi, %%r8;"
		"mov %%rdi, %%r9; movsd %0, %%xmm0; movaps %%xmm0, %%xmm1; movaps %%xmm0, %%xmm2; movaps %%xmm0, %%xmm3"
		: : "m"(other) : "rdi", "rsi", "rdx", "rcx", "r8", "r9", "xmm0", "xmm1", "xmm2", "xmm3");
}
"""


class Function:
    """`used`: what the function reads itself; others it passes on, or not at all."""

    def __init__(self, chance, number):
        self.name = f"f{number}"
        self.members, size = [], 0
        while size < 16 and len(self.members) < 4:
            kind = chance.choice(list(SIZES))
            size = (size + SIZES[kind] - 1) // SIZES[kind] * SIZES[kind] + SIZES[kind]
            if size <= 16:
                self.members.append((f"m{len(self.members)}", kind, chance.randrange(1, 120)))
        self.used = {name for name, _, _ in self.members if chance.random() < 0.5}
        self.before = chance.randrange(3)
        self.form = chance.choice(("plain", "plain", "branch", "printf", "call"))

    def source(self):
        members = " ".join(f"{kind} {name};" for name, kind, _ in self.members)
        numbers = "".join(f"int a{i}, " for i in range(self.before))
        body = [f"{'real' if kind in ('float', 'double') else 'sink'} = s.{name};" for name, kind, _ in self.members if name in self.used]
        body += [f"sink = a{i};" for i in range(self.before)]
        if self.form == "branch":
            body = [f"if (sink == 12345) {{ sink = 1; }} else {{ {' '.join(body)} }}"]
        if self.form == "printf":
            body.append('printf("%s", "");')
        callee = ""
        if self.form == "call":
            # The other function reads nothing of the structure but what this one reads, too.
            first = next((f"sink = (long)s.{name};" for name, _, _ in self.members if name in self.used), "")
            callee = f"__attribute__((noinline)) void g{self.name}({numbers}struct {self.name} s) {{ {first} sink = 3; }}\n"
            body.append(f"g{self.name}({''.join(f'a{i}, ' for i in range(self.before))}s);")
        return (f"struct {self.name} {{ {members} }};\n{callee}"
                f"__attribute__((noinline)) long {self.name}({numbers}struct {self.name} s)\n{{ {' '.join(body)} return sink; }}\n")

    def call(self):
        values = ", ".join(str(value) for _, _, value in self.members)
        return f"\tspoil();\n\tsum += {self.name}({''.join(f'{1000 + i}, ' for i in range(self.before))}(struct {self.name}){{{values}}});\n"


def program(seed, functions):
    path = f"{FOLDER}/p{seed}.c"
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEAD + "".join(f.source() for f in functions))
        file.write("int main(void)\n{\n\tlong sum = 0;\n" + "".join(f.call() for f in functions) + "\treturn sum == 1;\n}\n")
    return path


def compare(path, functions, strict):
    trace = path + ".trace"
    done = side("trace", "-o", trace, "-c", path, "--function", "f[0-9]*", "--args", env=ENV)
    equal(done.status, 0, done.err)
    events = {line["event"].split(":")[1]: line["fields"] for line in json_lines(side("view", "--json", trace, env=ENV).out)}
    reported = 0
    for function in functions:
        members = events[function.name].get("s", {})
        for name, kind, value in function.members:
            if name in members:
                equal((path, function.name, name, members[name]), (path, function.name, name, value), function.source())
                reported += 1
            else:
                true(name not in function.used and not strict, f"{path}: {name} is missing\n{function.source()}{members}")
        for i in range(function.before):
            equal(events[function.name].get(f"a{i}"), 1000 + i, function.source())
    return reported


if not COMPILERS:
    print("no compiler is installed")
    sys.exit(77)
for seed in range(SEED, SEED + (40 if LONG else 1)):
    chance = random.Random(seed)
    functions = [Function(chance, number) for number in range(FUNCTIONS)]
    source = program(seed, functions)
    members = sum(len(f.members) for f in functions)
    used = sum(len(f.used) for f in functions)
    for compiler in COMPILERS:
        for level in LEVELS:
            path = f"{source[:-2]}-{compiler}{level}"
            subprocess.run([compiler, "-w", "-g", level, source, "-o", path], check=True)
            # gcc passes all of them.
            reported = compare(path, functions, compiler == "gcc")
            print(f"seed {seed}, {compiler} {level}: {reported} of {members} members, {used} of them used")
