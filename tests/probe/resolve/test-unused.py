#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Members of small structures that a function does not use: compilers based on LLVM do not pass them, so their registers have any value. The
test generates random programs. Each call passes known values, and the argument registers contain other values before it. Every recorded
value must be the one that was passed, and each member that the function reads must be recorded.
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
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", SIDE_TIMEOUT_FACTOR="30")
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


# Instructions that name a register without using its value.
NAMED = """
#include <stdarg.h>
#include <string.h>
struct whole { long a, b; };
struct real { double a, b; };
#define NOINLINE __attribute__((noinline))
NOINLINE int report(const char *format, ...)
{
	va_list list;
	va_start(list, format);
	int length = vsnprintf(NULL, 0, format, list);
	va_end(list);
	return length;
}
NOINLINE long f_variadic(struct whole p) { if (p.a) { sink = report("bad"); return 3; } return sink; }
NOINLINE long f_variadic_last(struct whole p) { sink = p.a; return report("bad"); }
NOINLINE long f_variadic_real(struct real p) { real = p.a; return report("bad %g", real); }
NOINLINE double f_integer(struct real p, int i) { real = p.a; return (double)i * p.a + (double)sink; }
NOINLINE double f_unsigned(struct real p, unsigned long i) { return p.a + (double)i; }
NOINLINE float f_narrow(struct real p, double *q) { return (float)p.a + (float)*q + (float)sink; }
NOINLINE double f_root(struct real p, double *q) { return p.a + __builtin_sqrt(*q); }
NOINLINE double f_round(struct real p, double *q) { return p.a + __builtin_trunc(*q) + (double)sink; }
NOINLINE long f_scan(long x, long y, struct whole p) { return x + (y << __builtin_ctzl(p.a)); }
NOINLINE double f_ones(struct real p, long *q) { memset(q, 0xff, 64); return p.a + 1; }
NOINLINE long f_both(struct whole p) { long b = p.b; if (p.a) sink = report("x"); return b; }
int main(void)
{
	long q[8];
	double d = 9, sum = 0;
#define WHOLE (struct whole){11, 22}
#define REAL (struct real){11, 22}
	spoil(); sum += f_variadic(WHOLE);
	spoil(); sum += f_variadic_last(WHOLE);
	spoil(); sum += f_variadic_real(REAL);
	spoil(); sum += f_integer(REAL, 3);
	spoil(); sum += f_unsigned(REAL, 3);
	spoil(); sum += f_narrow(REAL, &d);
	spoil(); sum += f_root(REAL, &d);
	spoil(); sum += f_round(REAL, &d);
	spoil(); sum += f_scan(1, 2, WHOLE);
	spoil(); sum += f_ones(REAL, q); sink = q[sink & 1];
	spoil(); sum += f_both(WHOLE);
	return sum == 1;
}
"""


class Function:
    """`used`: members that the function reads itself. It passes others on, or does not use them."""

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
            # The other function reads only members of the structure that this one reads, too.
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


def compare_named(compiler, options):
    path = f"{FOLDER}/named-{compiler}{''.join(options)}"
    subprocess.run([compiler, "-w", "-g", "-O2", *options, "-c", f"{FOLDER}/named.c", "-o", path + ".o"], check=True)
    # Without -pg, so that the program writes no profile.
    subprocess.run([compiler, path + ".o", "-o", path, "-lm"], check=True)
    done = side("trace", "-o", path + ".trace", "-c", path, "--function", "f_*", "--args", env=ENV)
    equal(done.status, 0, done.err)
    events = list(json_lines(side("view", "--json", path + ".trace", env=ENV).out))
    equal(len(events), NAMED.count("spoil();"), events)
    for event in events:
        p = event["fields"].get("p", {})
        equal((event["event"], p.get("a")), (event["event"], 11), p)
        if "b" in p or event["event"] == "probe:f_both":
            equal((compiler, options, event["event"], p.get("b")), (compiler, options, event["event"], 22), p)


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

# Only instruction sets that this processor has.
with open("/proc/cpuinfo", encoding="utf-8") as file:
    flags = set(re.search(r"flags\s*:(.*)", file.read()).group(1).split())
NAMED_OPTIONS = [(), ("-pg", "-mfentry")] + [("-mavx2",)] * ("avx2" in flags) + [("-mavx512f", "-mavx512vl", "-mprefer-vector-width=512")] * ({"avx512f", "avx512vl"} <= flags)
with open(f"{FOLDER}/named.c", "w", encoding="utf-8") as file:
    file.write(HEAD + NAMED)
for compiler in COMPILERS:
    for options in NAMED_OPTIONS:
        if not (compiler == "gcc" and options):
            compare_named(compiler, options)
            print(f"named registers, {compiler} {' '.join(options)}: compared")
