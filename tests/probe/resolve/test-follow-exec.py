#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side trace --follow-exec`: the calls in programs that the command executes are in the trace, as many as the programs and gdb count.
"""
import atexit
import shutil

from harness import *

FOLDER = os.path.realpath(tempfile.mkdtemp())
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", LANG="C.UTF-8", SIDE_TIMEOUT_FACTOR="30", LD_LIBRARY_PATH=None, PATH=f"{os.environ['PATH']}:{FOLDER}")
# work() runs three times in the constructor, and four times in main().
TARGET = """
static volatile int sum;
__attribute__((noinline)) int work(int i) { __asm__ volatile(""); return i + 1; }
__attribute__((constructor)) static void begin(void) { for (int i = 0; i < 3; i++) sum += work(i); }
int main(void) { for (int i = 0; i < 4; i++) sum += work(i); return 0; }
"""
CALLS = 7
# Starts the program of the second argument, in the way that the first one names.
STARTER = """
#define _GNU_SOURCE
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
__attribute__((noinline)) int work(int i) { __asm__ volatile(""); return i; }
static int run(const char *how, char **args)
{
	pid_t child = 0;
	int status = 1;
	if (!strcmp(how, "spawn")) {
		if (posix_spawn(&child, args[0], NULL, NULL, args, environ))
			return 1;
	} else if (strcmp(how, "exec")) {
		child = *how == 'v' ? vfork() : fork();
	}
	if (!child) {
		execv(args[0], args);
		_exit(127);
	}
	return waitpid(child, &status, 0) != child || status;
}
int main(int argc, char **argv) { return argc < 3 ? work(argc) < 0 : run(argv[1], argv + 2); }
"""


def build(name, source):
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", f"{FOLDER}/{name}"], input=source.encode(), check=True)
    return f"{FOLDER}/{name}"


PROGRAM = build("target-of-exec", TARGET)
START = build("starter", STARTER)


def trace(*arguments):
    output = tempfile.mkdtemp(dir=FOLDER)
    return side("trace", "-o", output, "--force", *arguments, env=ENV, cwd=FOLDER), output


def expect(count, *arguments):
    result, output = trace("--follow-exec", *arguments)
    equal((arguments, result.status), (arguments, 0), result.err)
    done = subprocess.run(["babeltrace2", output], capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if " probe:" in line]
    equal((arguments, len(lines)), (arguments, count), result.err + done.stderr)
    return result


def test_starts():
    """fork(), vfork(), posix_spawn() and none of them; through a chain of them; by a shell and env. The constructor's calls are included."""
    for how in ("fork", "vfork", "spawn", "exec"):
        result = expect(CALLS, "--function", f"{PROGRAM}:work", "-c", f"{START} {how} {PROGRAM}")
        contains(result.err, f"pending: {PROGRAM} is not loaded yet")
        true("never set" not in result.err, result.err)
    expect(CALLS, "--function", f"{PROGRAM}:work", "-c", f"{START} vfork {START} spawn {START} exec {PROGRAM}")
    expect(2 * CALLS, "--function", f"{PROGRAM}:work", "-c", f"sh -c 'env X=1 {PROGRAM}; nice {PROGRAM}'")
    expect(2 * CALLS, "--function", f"{PROGRAM}:work", "--exit", "-c", f"{START} fork {PROGRAM}")
    expect(CALLS, "--function", "./target-of-exec:work", "-c", f"{START} fork {PROGRAM}")


def test_debugger():
    """gdb stops at the same calls after the exec: main() and the constructor run in the new program."""
    if not shutil.which("gdb"):
        skip("no gdb")
    done = subprocess.run(["gdb", "-q", "-batch", "-nx", "-ex", "set follow-exec-mode same", "-ex", "set debuginfod enabled off", "-ex", "break work",
                           "-ex", "python\ngdb.breakpoints()[0].commands = 'silent\\necho hit\\\\n\\ncontinue'\nend", "-ex", "run",
                           "--args", START, "exec", PROGRAM], capture_output=True, text=True, check=False, env=ENV, timeout=60)
    equal(done.stdout.count("hit\n"), CALLS, done.stdout + done.stderr)
    expect(CALLS, "--function", f"{PROGRAM}:work", "-c", f"{START} exec {PROGRAM}")


def test_command():
    """A location without LIBRARY is in the file of the command only, also when it is executed again. work() is in both files."""
    expect(2, "--function", "work", "-c", f"{START} fork /bin/sh -c '{START}; {START}; {PROGRAM}'")
    expect(CALLS + 1, "--function", "work", "--function", f"{PROGRAM}:work", "-c", f"{START} fork /bin/sh -c '{START}; {PROGRAM}'")


def test_library():
    """A function of a library, in each program that loads it: perl calls getppid() once for each `getppid`."""
    if not shutil.which("perl"):
        skip("no perl")
    for script, count in (("perl -e getppid", 1), ("env perl -e 'getppid;getppid'; perl -e getppid", 3)):
        counts = []
        for names in (script, f"{script}; {PROGRAM}"):
            result, output = trace("--follow-exec", "--function", "libc:getppid", "-c", f'sh -c "{names}"')
            equal(result.status, 0, result.err)
            done = subprocess.run(["babeltrace2", output], capture_output=True, text=True, check=False)
            counts.append(sum("perl:" in line and "probe:getppid" in line for line in done.stdout.splitlines()))
        equal(counts, [count, count], script)


def test_interpreters():
    """Perl and Python, stripped, which a shell starts by env."""
    for name in ("perl", "python3"):
        path = os.path.realpath(shutil.which(name, path="/usr/bin") or "/nowhere")
        if not os.path.exists(path):
            continue
        code = "-e 1" if name == "perl" else "-c 1"
        expect(2, "--function", f"{path}:main", "-c", f"sh -c 'env {path} {code}; {path} {code}'")


def test_missing():
    """With --pending: a program that the command compiles, and a name without a path."""
    with open(f"{FOLDER}/late.c", "w", encoding="utf-8") as file:
        file.write(TARGET)
    expect(2 * CALLS, "--pending", "--function", "./late:work", "-c", "sh -c 'gcc -O1 late.c -o late && ./late && ./late'")
    expect(CALLS, "--pending", "--function", "target-of-exec:work", "-c", f"{START} spawn {PROGRAM}")


def test_refused():
    """Without the option the result names it. It is not for running programs, nor for --global."""
    result, _ = trace("--function", f"{PROGRAM}:work", "-c", f"{START} fork {PROGRAM}")
    contains(result.err, "recorded 0 events")
    contains(result.err, "`--follow-exec` sets probes in programs that COMMAND executes")
    result, _ = trace("--follow-exec", "--function", f"{PROGRAM}:work", "-p", str(os.getpid()))
    equal(result.status, 2, result.err)
    contains(result.err, "cannot use `--follow-exec` with `-p`")
    contains(result.err, "-c COMMAND")
    result, _ = trace("--follow-exec", "--global", "--function", "work", "-c", PROGRAM)
    equal(result.status, 2, result.err)
    contains(result.err, "cannot use `--follow-exec` with `--global`")
    # Never executed.
    result, _ = trace("--follow-exec", "--function", f"{PROGRAM}:work", "-c", "true")
    equal(result.status, 0, result.err)
    contains(result.err, f"{PROGRAM}:work was never set in process")


run_tests(globals())
