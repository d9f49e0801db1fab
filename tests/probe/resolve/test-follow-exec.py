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
#include <stdio.h>
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
		if (!strcmp(how, "list"))
			execl(args[0], args[0], "a", NULL);
		if (!strcmp(how, "listp"))
			execlp(args[0], args[0], NULL);
		if (!strcmp(how, "liste"))
			execle(args[0], "a", "b", "c", NULL, environ);
		if (!strcmp(how, "vlist"))
			execle(args[0], "a", NULL, environ);
		execv(args[0], args);
		_exit(127);
	}
	return waitpid(child, &status, 0) != child || status;
}
int main(int argc, char **argv)
{
	int status = 0;
	if (argc > 2 && !strcmp(argv[1], "wait")) {
		/* Words of one line, or the end. */
		char line[4096], *words[64];
		puts("ready");
		while (fflush(stdout), fgets(line, sizeof(line), stdin)) {
			int nr = 0;
			for (char *word = strtok(line, " \\n"); word; word = strtok(NULL, " \\n"))
				words[nr++] = word;
			words[nr] = NULL;
			status |= run(words[0], words + 1);
			printf("%d\\n", status);
		}
		return status;
	}
	return argc < 3 ? work(argc) < 0 : run(argv[1], argv + 2);
}
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


class Running:
    """A program that runs already when `side trace -p --follow-exec` attaches to it, and then starts other programs."""

    def __init__(self, *arguments, env=None, command=(START, "wait", "-")):
        self.output = tempfile.mkdtemp(dir=FOLDER)
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(ENV, **(env or {})), text=True)
        equal(self.program.stdout.readline(), "ready\n")
        self.recorder = subprocess.Popen([SIDE, "trace", "-o", self.output, "--force", "--follow-exec", *arguments, "-p", str(self.program.pid)],
                                         stderr=subprocess.PIPE, env=ENV, cwd=FOLDER, text=True)
        self.messages = ""
        while "recording" not in self.messages:
            line = self.recorder.stderr.readline()
            true(line, self.messages)
            self.messages += line

    def start(self, words):
        self.program.stdin.write(words + "\n")
        self.program.stdin.flush()
        equal((words, self.program.stdout.readline()), (words, "0\n"))

    def count(self):
        self.program.stdin.close()
        equal(self.program.wait(), 0)
        self.messages += self.recorder.communicate()[1]
        equal(self.recorder.returncode, 0, self.messages)
        done = subprocess.run(["babeltrace2", self.output], capture_output=True, text=True, check=False)
        return len([line for line in done.stdout.splitlines() if " probe:" in line])


def test_running():
    """With -p: fork(), vfork(), posix_spawn(), and through a shell and env; what the process executes itself, too."""
    running = Running("--function", f"{PROGRAM}:work")
    for how in ("fork", "vfork", "spawn", "list", "listp", "liste", "vlist"):
        running.start(f"{how} {PROGRAM}")
    running.start(f"vfork {START} spawn {START} exec {PROGRAM}")
    running.start(f"fork /usr/bin/env X=1 nice {PROGRAM}")
    equal(running.count(), 9 * CALLS, running.messages)
    contains(running.messages, f"pending: {PROGRAM} is not loaded yet")
    running = Running("--function", f"{PROGRAM}:work")
    running.program.stdin.write(f"exec {PROGRAM}\n")
    equal(running.count(), CALLS, running.messages)


def test_running_interpreters():
    """Python and Perl, which start programs in several ways."""
    python = "import subprocess, sys\nprint('ready', flush=True)\nfor line in sys.stdin:\n" \
        "    line = line.strip(); subprocess.run([line]); subprocess.run([line], env={}); subprocess.run(line, shell=True)\n    print(0, flush=True)"
    perl = "$| = 1; print \"ready\\n\"; while (<STDIN>) { chomp; system($_, 'x'); system($_); `$_`; print \"0\\n\"; }"
    for command in (["/usr/bin/python3", "-c", python], ["/usr/bin/perl", "-e", perl]):
        if not os.path.exists(command[0]):
            continue
        running = Running("--function", f"{PROGRAM}:work", command=command)
        running.start(PROGRAM)
        equal((command[0], running.count()), (command[0], 3 * CALLS), running.messages)


def test_running_environment():
    """The programs keep their variables. After the recording, they get them unchanged."""
    if not shutil.which("env", path="/usr/bin"):
        skip("no env")
    own = {"ASAN_OPTIONS": "verbosity=0", "LD_PRELOAD": "", "OTHER": "kept"}
    running = Running("--function", f"{PROGRAM}:work", env=own)

    def environment_of_child():
        running.program.stdin.write("fork /usr/bin/env\n")
        running.program.stdin.flush()
        lines = iter(running.program.stdout.readline, "0\n")
        return dict(line.rstrip("\n").split("=", 1) for line in lines if "=" in line)

    found = environment_of_child()
    equal((found["OTHER"], found["ASAN_OPTIONS"]), ("kept", "verify_asan_link_order=0:verbosity=0"))
    contains(found["LD_PRELOAD"], "/libside-agent.so")
    true("SIDE_AGENT_SOCKET" in found, found)
    running.recorder.send_signal(signal.SIGINT)
    running.messages += running.recorder.communicate()[1]
    equal(running.recorder.returncode, 0, running.messages)
    found = environment_of_child()
    equal({name: found[name] for name in own}, own)
    true("SIDE_AGENT_SOCKET" not in found, found)
    running.program.stdin.close()
    equal(running.program.wait(), 0)


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
    """Without the option the result names it. It is not for --global."""
    result, _ = trace("--function", f"{PROGRAM}:work", "-c", f"{START} fork {PROGRAM}")
    contains(result.err, "recorded 0 events")
    contains(result.err, "`--follow-exec` sets probes in programs that COMMAND executes")
    result, _ = trace("--follow-exec", "--global", "--function", "work", "-c", PROGRAM)
    equal(result.status, 2, result.err)
    contains(result.err, "cannot use `--follow-exec` with `--global`")
    # Never executed.
    result, _ = trace("--follow-exec", "--function", f"{PROGRAM}:work", "-c", "true")
    equal(result.status, 0, result.err)
    contains(result.err, f"{PROGRAM}:work was never set in process")


run_tests(globals())
