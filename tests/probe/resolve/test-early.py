#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Probes in code that runs before main(): `.preinit_array`, constructors of libraries that the program needs or that are preloaded, and IFUNC resolvers.

The program counts its own calls. The trace has the same numbers, as babeltrace2 reads it, and the program prints the same with and without probes.
"""
import atexit
import shutil

from harness import *

FOLDER = os.path.realpath(tempfile.mkdtemp())
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", LANG="C.UTF-8", SIDE_TIMEOUT_FACTOR="30", LD_LIBRARY_PATH=None, LD_PRELOAD=None, LD_BIND_NOW=None)
# Each library has NAME_work(), which its constructor calls twice, NAME_works(), the number of calls, and an IFUNC.
LIBRARY = """
static volatile int works;
__attribute__((noinline)) void NAME_work(void) { works++; }
int NAME_works(void) { return works; }
static int implementation(void) { return 1; }
__attribute__((noinline)) void *NAME_choose(void) { __asm__ volatile(""); return implementation; }
static void *resolve(void) { return NAME_choose(); }
int NAME_chosen(void) __attribute__((ifunc("resolve")));
__attribute__((constructor)) static void begin(void) { NAME_work(); NAME_work(); }
"""
# Prints its counts, and its environment and name as the C library knows them, in `.preinit_array` and in main().
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
extern char *program_invocation_short_name;
static const char *variable, *name;
void needed_work(void);
int needed_works(void), needed_chosen(void);
static volatile int pre_works, own_works;
__attribute__((noinline)) void pre_work(void) { pre_works++; }
__attribute__((noinline)) void own_work(void) { own_works++; }
static void before(int argc, char **argv, char **variables)
{
	(void)argc, (void)argv, (void)variables;
	variable = getenv("VARIABLE");
	name = program_invocation_short_name;
	pre_work();
	pre_work();
	pre_work();
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **, char **) = before;
__attribute__((constructor)) static void begin(void) { own_work(); }
int main(int argc, char **argv)
{
	own_work();
	needed_work();
	printf("pre %d own %d needed %d chosen %d early %s name %s in main %s %s\\n", pre_works, own_works, needed_works(), needed_chosen(),
			variable ? variable : "none", name && *name ? name : "-", program_invocation_short_name, getenv("VARIABLE"));
	fflush(stdout);
	if (argc > 1)
		execv(argv[0], (char *[]){argv[0], NULL});
	return 0;
}
"""


def compile_in(folder, name, text, *options, compiler="gcc"):
    path = f"{FOLDER}/{folder}/{name}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run([compiler, "-O1", "-g", "-w", path + ".c", "-o", path, *options], capture_output=True, text=True, check=False)
    return path if done.returncode == 0 else None


def compile_library(folder, name, *options):
    return compile_in(folder, f"lib{name}.so", LIBRARY.replace("NAME", name), "-shared", "-fPIC", *options)


def compile_program(folder, *options, library_options=(), compiler="gcc"):
    needed = compile_library(folder, "needed", *library_options)
    return needed and compile_in(folder, "program", PROGRAM, f"-L{FOLDER}/{folder}", "-lneeded", f"-Wl,-rpath,{FOLDER}/{folder}", *options, compiler=compiler)


def calls(output, names):
    events = subprocess.run(["babeltrace2", output], capture_output=True, text=True, check=True).stdout
    return {name: events.count(f" probe:{name}:") for name in names}


def trace(program, *arguments, functions=("pre_work", "own_work", "libneeded:needed_work"), options=(), **variables):
    """What the program prints, and the number of events of each function."""
    output = tempfile.mkdtemp(dir=FOLDER)
    env = {**ENV, "VARIABLE": "yes", **variables}
    plain = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, env=env, timeout=120)
    done = side("trace", "-o", output, "--force", *options, *(word for name in functions for word in ("--function", name)), "--",
                program, *arguments, env=env)
    assert done.out == plain.stdout, (plain, done)
    assert done.status == plain.returncode, (plain, done)
    return plain.stdout, calls(output, [name.split(":")[-1] for name in functions]), done


ALL = {"pre_work": 3, "own_work": 2, "needed_work": 3}
# What is recorded if the agent starts in its own constructor.
LATE = {"pre_work": 0, "own_work": 2, "needed_work": 1}
# The C library is initialized as without side: after functions in `.preinit_array`, with the arguments of main().
PRINTED = "pre 3 own 2 needed 3 chosen 1 early none name - in main program yes\n"
USUAL = compile_program("usual")


def test_all():
    """With lazy and immediate binding, and in an executable at a fixed address."""
    for built in (USUAL, compile_program("fixed", "-no-pie"), compile_program("now", "-Wl,-z,now")):
        for bound in ({}, {"LD_BIND_NOW": "1"}):
            equal(trace(built, **bound)[:2], (PRINTED, ALL), (built, bound))


def test_executed():
    """The process executes its file again, or another program executes it: the agent is early there, too."""
    equal(trace(USUAL, "again")[:2], (PRINTED * 2, {name: 2 * number for name, number in ALL.items()}))
    equal(trace("/bin/sh", "-c", USUAL, functions=(f"{USUAL}:pre_work",), options=("--follow-exec",))[1], {"pre_work": 3})


def test_preloaded():
    extra = compile_library("usual", "extra")
    equal(trace(USUAL, functions=("pre_work", "libextra:extra_work"), LD_PRELOAD=extra)[1], {"pre_work": 3, "extra_work": 2})


def test_resolvers():
    """A resolver that the loader calls at the first call of the function is recorded; one that it calls before constructors is not."""
    functions = ("pre_work", "libneeded:needed_choose")
    equal(trace(USUAL, functions=functions)[1], {"pre_work": 3, "needed_choose": 1})
    equal(trace(USUAL, functions=functions, LD_BIND_NOW="1")[1], {"pre_work": 3, "needed_choose": 0})


def test_late():
    """Another library is the first one; probes in the C library, which side's own constructors call."""
    equal(trace(compile_program("first", library_options=("-Wl,-z,initfirst",)))[:2], (PRINTED, LATE))
    functions = ("pre_work", "own_work", "libneeded:needed_work", "libc:access", "libc:dlsym")
    equal(trace(USUAL, functions=functions)[1], {**LATE, "access": 0, "dlsym": 0})


def test_loader():
    """Functions of the loader: what it does before the agent is not recorded."""
    printed, counts, _ = trace(USUAL, functions=("own_work", "ld-linux-x86-64:_dl_init", "ld-linux-x86-64:_dl_relocate_object"))
    equal((printed, counts), (PRINTED, {"own_work": 2, "_dl_init": 0, "_dl_relocate_object": 0}))


def test_unwinding():
    """The agent searches this library for functions, and runs no constructor of it."""
    library = "/usr/lib/x86_64-linux-gnu/libunwind.so.8"
    if not os.path.exists(library):
        skip("libunwind is not installed")
    equal(trace(compile_program("unwinding", "-Wl,--no-as-needed", library))[:2], (PRINTED, ALL))


def test_variables():
    """With more than 4,096 variables, the agent starts in its own constructor."""
    output = tempfile.mkdtemp(dir=FOLDER)
    done = side("trace", "-o", output, "--force", "--function", "main", "--", "/usr/bin/env", env={"PATH": os.environ["PATH"], "SIDE_RUNTIME": FOLDER})
    equal(done.status, 0, done.err)
    own = len(done.out.splitlines())
    for number, counts in ((4096, ALL), (4097, LATE)):
        many = {f"MANY_{i}": "" for i in range(number - own)}
        output = tempfile.mkdtemp(dir=FOLDER)
        done = side("trace", "-o", output, "--force", *(word for name in ("pre_work", "own_work", "libneeded:needed_work") for word in ("--function", name)),
                    "--", USUAL, env={"PATH": os.environ["PATH"], "SIDE_RUNTIME": FOLDER, **many})
        equal(done.status, 0, done.err)
        equal(calls(output, counts), counts, (number, own))


def test_sanitizers():
    """Sanitizers begin first. Their programs run unchanged."""
    tried = 0
    for compiler in ("gcc", "clang"):
        for sanitizer in ("address", "leak", "memory", "thread", "undefined"):
            built = compile_program(f"{compiler}-{sanitizer}", "-fsanitize=" + sanitizer, compiler=compiler)
            if not built or subprocess.run([built], capture_output=True, check=False, timeout=120).returncode:
                continue
            tried += 1
            counts = trace(built, ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0")[1]
            true(counts in (ALL, LATE), (compiler, sanitizer, counts))
    true(tried, "no program with a sanitizer runs here")


run_tests(globals())
