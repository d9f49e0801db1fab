# SPDX-License-Identifier: MIT
"""Programs that side does not support run under each verb as without it: output, errors, status, environment, and those of their
children. The recorder reports each file once, with the reason.

usage: test-foreign.py SIDE LIBRARIES
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish

side, libraries = (os.path.abspath(a) for a in sys.argv[1:3])
work = tempfile.TemporaryDirectory(prefix="side-foreign-")
os.chmod(work.name, 0o755)
environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LD_LIBRARY_PATH", "SIDE_AGENT_SOCKET")}
environment.update(SIDE_RUNTIME=os.path.join(work.name, "no-daemon"), OF_TEST="passed", PATH=work.name + ":" + environment["PATH"])

# Prints what it got; starts the program that its arguments name, by the method that its name ends with.
PROGRAM = r"""
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static pid_t start(const char *method, char **args)
{
	pid_t pid = -1;

	if (!strcmp(method, "spawn"))
		return posix_spawn(&pid, args[0], NULL, NULL, args, environ) ? -1 : pid;
	if (!strcmp(method, "spawnp"))
		return posix_spawnp(&pid, strrchr(args[0], '/') + 1, NULL, NULL, args, environ) ? -1 : pid;
	pid = strcmp(method, "vfork") ? fork() : vfork();
	if (pid)
		return pid;
	if (!strcmp(method, "execve") || !strcmp(method, "vfork"))
		execve(args[0], args, environ);
	else if (!strcmp(method, "execvp"))
		execvp(strrchr(args[0], '/') + 1, args);
	else if (!strcmp(method, "execvpe"))
		execvpe(strrchr(args[0], '/') + 1, args, environ);
	else
		execv(args[0], args);
	_exit(99);
}

int main(int argc, char **argv)
{
	const char *method = getenv("OF_METHOD");
	void *block = malloc(10);
	int status = 0;

	free(block);
	printf("%s: %d arguments, uid %d, %s\n", argv[0], argc, (int)getuid(), getenv("OF_TEST"));
	fprintf(stderr, "errors of %s\n", argv[0]);
	fflush(stdout);
	if (argc == 1 || !strcmp(argv[1], "--end"))
		return 3;
	if (start(method ? method : "", argv + 1) < 0)
		return 98;
	wait(&status);
	printf("child: %d\n", WEXITSTATUS(status));
	return WEXITSTATUS(status) + 1;
}
"""

# Starts a program by a method, on a stack of 16 KiB of a thread, or of 8 KiB of a signal handler. The environment has 1,500 variables more.
STACKS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char **words;
static int status = -1;

static void *start(void *unused)
{
	const char *method = words[2], *file = words[3];
	char *args[] = {words[3], NULL};
	pid_t pid = -1;

	if (!strcmp(method, "spawn"))
		(void)posix_spawn(&pid, file, NULL, NULL, args, environ);
	else if (!strcmp(method, "spawnp"))
		(void)posix_spawnp(&pid, file, NULL, NULL, args, environ);
	else if (!(pid = vfork())) {
		if (!strcmp(method, "execv"))
			execv(file, args);
		else if (!strcmp(method, "execvp"))
			execvp(file, args);
		else if (!strcmp(method, "execvpe"))
			execvpe(file, args, environ);
		else
			execve(file, args, environ);
		_exit(99);
	}
	waitpid(pid, &status, 0);
	return unused;
}

static void handle(int number)
{
	(void)number;
	start(NULL);
}

int main(int argc, char **argv)
{
	char *memory = mmap(NULL, 12288, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), name[20];
	stack_t stack = {.ss_sp = memory + 4096, .ss_size = 8192};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
	pthread_attr_t attributes;
	pthread_t thread;

	words = argv;
	for (int i = 0; i < 1500; i++) {
		snprintf(name, sizeof(name), "VARIABLE_%d", i);
		setenv(name, "", 1);
	}
	if (argc > 4)
		setenv("LD_PRELOAD", argv[4], 1);
	if (!strcmp(argv[1], "handler")) {
		mprotect(stack.ss_sp, stack.ss_size, PROT_READ | PROT_WRITE);
		sigaltstack(&stack, NULL);
		sigaction(SIGUSR1, &action, NULL);
		raise(SIGUSR1);
	} else {
		pthread_attr_init(&attributes);
		pthread_attr_setstacksize(&attributes, 16384);
		pthread_create(&thread, &attributes, start, NULL);
		pthread_join(thread, NULL);
	}
	printf("child: %d\n", status);
	return 0;
}
"""

# Holds POSIX locks on files, starts the last of them or executes itself, and prints which locks it then has.
LOCKS = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The locks of a process conflict with those of another one only. */
static int held(const char *path)
{
	struct flock lock = {.l_type = F_WRLCK};
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(fcntl(open(path, O_RDONLY), F_GETLK, &lock) ? 9 : lock.l_type != F_UNLCK);
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	struct flock lock = {.l_type = F_RDLCK};
	char *args[] = {argv[argc - 1], NULL};
	int status = 0;
	pid_t pid;

	if (strcmp(argv[1], "executed"))
		for (int i = 2; i < argc; i++)
			if (fcntl(open(argv[i], O_RDONLY), F_SETLK, &lock))
				return 9;
	if (!strcmp(argv[1], "execute")) {
		argv[1] = "executed";
		execv(argv[0], argv);
	}
	if (!strcmp(argv[1], "start") && !posix_spawn(&pid, args[0], NULL, NULL, args, environ))
		waitpid(pid, &status, 0);
	for (int i = 2; i < argc; i++)
		printf("child: %d\n", held(argv[i]));
	return status;
}
"""

STATIC = "is statically linked, so the agent cannot be preloaded into it"
SIZE = "has another word size (32 or 64 bits) than the installed agent"
RIGHTS = "runs with more rights than its caller (set-user-ID, set-group-ID or file capabilities), so the loader does not preload the agent"
MUSL = "its C library is not the GNU C library, which the agent needs"
X32 = "is an x32 program, and the installed agent is a 64-bit library"
SMALL = "it is a 32-bit program, and the installed agent is a 64-bit library"

# The kind: the compiler, the reason if a program starts it, and the reason if it is the command.
KINDS = {
    "static": (("gcc", "-static"), STATIC, STATIC),
    "static-pie": (("gcc", "-static-pie"), STATIC, STATIC),
    "musl": (("musl-gcc",), MUSL, MUSL),
    "musl-static": (("musl-gcc", "-static"), STATIC, STATIC),
    "i386": (("gcc", "-m32"), SMALL, SMALL),
    "i386-static": (("gcc", "-m32", "-static"), STATIC, SIZE),
    "x32": (("gcc", "-mx32"), X32, X32),
    "x32-static": (("gcc", "-mx32", "-static"), X32, SIZE),
}
# gcc for arm64 cannot be installed beside gcc-multilib.
ARM = ("clang", "--target=aarch64-linux-gnu", "-fuse-ld=lld")
VERBS = {
    "record": ("record", "-q", "-o", "TRACE", "--"),
    "record -w": ("record", "-q", "-w", "libc", "-w", "pthread", "-o", "TRACE", "--"),
    "leaks": ("leaks", "--"),
    "locks": ("locks", "--"),
    "slow": ("slow", "--"),
    "calls": ("calls", "--"),
    "trace": ("trace", "-q", "--function", "main", "-o", "TRACE", "--"),
}


def path(name):
    return os.path.join(work.name, name)


def build():
    """The programs of each kind that the compilers make and this kernel runs."""
    with open(path("program.c"), "w", encoding="utf-8") as out:
        out.write(PROGRAM)
    made = {}
    for kind, (compiler, *_) in {"glibc": (("gcc",),), **KINDS}.items():
        command = [*compiler, "-O1", "-o", path("of-" + kind), path("program.c")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60) if shutil.which(compiler[0]) else None
        if not done or done.returncode:
            print(f"{kind} is not tried: the compiler makes no such programs")
            continue
        try:
            alone = subprocess.run([path("of-" + kind)], capture_output=True, check=False, timeout=60, env=environment)
        except OSError as why:
            print(f"{kind} is not tried: {why}")
            continue
        expect_equal(alone.returncode, 3, f"{kind} alone")
        made[kind] = path("of-" + kind)
    return made


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env={**environment, **more})


def own_lines(text):
    """The lines of the programs and of their loaders, without side's."""
    return [line for line in text.splitlines() if re.match(r"errors of |ERROR|Error|.*ld\.so", line)]


def unrecorded(text):
    return [line for line in text.splitlines() if "not recorded: " in line or "recorded nothing: " in line]


def compare(verb, command, reports, what, **more):
    """Compares a run under the verb with one without it. `reports`: programs and reasons, each to be reported once."""
    trace = path("trace")
    alone = run(*command, **more)
    shutil.rmtree(trace, ignore_errors=True)
    done = run(side, *(trace if word == "TRACE" else word for word in VERBS[verb]), *command, **more)
    what = f"{verb}, {what}"
    expect_equal(done.returncode, alone.returncode, f"{what}: status: {done.stderr}")
    expect_equal([line for line in done.stdout.splitlines() if re.match(r"\S+: \d+ arguments|child: ", line)], alone.stdout.splitlines(),
                 f"{what}: output")
    expect_equal(own_lines(done.stderr), alone.stderr.splitlines(), f"{what}: errors")
    lines = unrecorded(done.stderr)
    expect_equal(len(lines), len(reports), f"{what}: {lines}")
    for program, reason in reports:
        expect(any(os.path.basename(program) in line and reason in line for line in lines), f"{what}: no report of {reason!r}: {lines}")


def test_matrix(programs):
    """Each kind under each verb: alone, as a child, and as the parent of a supported program."""
    glibc = programs["glibc"]
    for kind, program in programs.items():
        if kind == "glibc":
            continue
        _, as_child, as_command = KINDS[kind]
        for verb in VERBS:
            if verb == "trace":
                # The user named a function of the command, which can never be reached: refused before the start.
                compare(verb, [glibc, program, glibc, program], [(program, as_child)], f"{kind} twice as a descendant")
                continue
            compare(verb, [program], [(program, as_command)], kind)
            # The command runs again as a descendant: one report, of which reason depends on who reports it first.
            compare(verb, [program, glibc, program, glibc], [(program, "")], f"{kind} as parent and descendant")


def compile_for(name, *compiler):
    """The path of the program, or None if the compiler is not installed."""
    if not shutil.which(compiler[0]):
        print(f"{name} is not tried: there is no {compiler[0]}")
        return None
    done = subprocess.run([*compiler, "-O1", "-o", path(name), path("program.c")], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        print(f"{name} is not tried: {done.stderr.splitlines()[-1]}")
        return None
    return path(name)


def test_not_executed(programs):
    """Files that this kernel cannot execute: each call fails as without side. A file for x32 is reported, because most kernels can."""
    for name, compiler, reason in (("not-x32", ("gcc", "-mx32"), X32), ("not-arm", ARM, "")):
        program = compile_for(name, *compiler, "-static")
        if not program:
            continue
        try:
            subprocess.run([program], capture_output=True, check=False, timeout=60)
            print(f"{name} is not tried as a file that cannot be executed: this kernel executes it")
            continue
        except OSError:
            pass
        for method in ("execv", "execve", "vfork", "spawn"):
            compare("record", [programs["glibc"], program], [(program, reason)] if reason else [], f"{name} by {method}", OF_METHOD=method)


def test_emulated(programs):
    """QEMU executes a program for another processor: QEMU is a program like any other, and its guest and the children of that run unchanged."""
    qemu, program = shutil.which("qemu-aarch64"), compile_for("of-arm-static", *ARM, "-static")
    if not qemu or not program:
        print("programs that QEMU executes are not tried: qemu-user or the compiler is missing")
        return
    glibc = programs["glibc"]
    for verb in VERBS:
        compare(verb, [qemu, program], [], "emulated")
    compare("record -w", [qemu, program, glibc, qemu, program], [], "emulated as parent and descendant")
    # The loader of a guest with a loader cannot find libraries for its processor: it ignores them, and prints that.
    program = compile_for("of-arm", *ARM)
    command, prefix = (qemu, program), {"QEMU_LD_PREFIX": "/usr/aarch64-linux-gnu"}
    alone = run(*command, **prefix)
    shutil.rmtree(path("trace"), ignore_errors=True)
    done = run(side, "record", "-q", "-w", "libc", "-o", path("trace"), "--", *command, **prefix)
    expect_equal((done.returncode, done.stdout), (alone.returncode, alone.stdout), "an emulated program with a loader")
    lines = [line for line in own_lines(done.stderr) if not re.match(r"ERROR: ld\.so: object '[^']*/side-preload/.*: ignored\.$", line)]
    expect_equal(lines, alone.stderr.splitlines(), "errors of an emulated program with a loader")


def test_unreadable():
    """Environments that cannot be read, or end at a page that cannot be read; and such arguments. An environment at the end of a page works."""
    code = r"""
import ctypes, errno, mmap, os, sys
library = ctypes.CDLL(None, use_errno=True)
library.mmap.restype = ctypes.c_void_p
library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
page = library.mmap(None, 16384, 3, 0x22, -1, 0)
library.mprotect(page + 4096, 4096, 0)
library.mprotect(page + 12288, 4096, 0)
arguments = (ctypes.c_char_p * 2)(b"x", None)
pid, bad = ctypes.c_int(), ctypes.c_void_p(8)
variables = [ctypes.c_char_p(b"SIDE_AGENT_SOCKET=" + os.environb.get(b"SIDE_AGENT_SOCKET", b"")), ctypes.c_char_p(b"LD_PRELOAD=" + sys.argv[1].encode())]

def place(*pointers):
    at = page + 4096 - 8 * len(pointers)
    for i, pointer in enumerate(pointers):
        ctypes.c_void_p.from_address(at + 8 * i).value = pointer
    return ctypes.c_void_p(at)

def text(value):
    return ctypes.cast(value, ctypes.c_void_p).value

def start(arguments, environment):
    for function in (library.execve, library.execvpe):
        function(b"/bin/true", arguments, environment)
        print("child:", errno.errorcode[ctypes.get_errno()])
    for function in (library.posix_spawn, library.posix_spawnp):
        error = function(ctypes.byref(pid), b"/bin/true", None, None, arguments, environment)
        print("child:", errno.errorcode[error] if error else os.waitstatus_to_exitcode(os.waitpid(pid.value, 0)[1]))

unended = page + 12288 - 12
ctypes.memmove(unended, b"LD_PRELOAD=/", 12)
recorded = text(variables[0])
start(arguments, bad)
start(arguments, place(recorded, text(variables[1])))
start(arguments, place(recorded, 16, 0))
start(arguments, (ctypes.c_void_p * 3)(recorded, unended, None))
library.execve(b"/bin/true", bad, (ctypes.c_void_p * 3)(recorded, text(variables[1]), None))
print("child:", errno.errorcode[ctypes.get_errno()])
sys.stdout.flush()
if not os.fork():
    library.execve(sys.executable.encode(), (ctypes.c_char_p * 4)(b"x", b"-c", b"print('child: executed')", None), place(recorded, text(variables[1]), 0))
os.wait()
"""
    compare("record", [sys.executable, "-c", code, path("other.so")], [], "arrays that cannot be read")


def test_locks():
    """A program keeps its POSIX locks on what it executes: a script, its interpreter, a program, and itself."""
    with open(path("locks.c"), "w", encoding="utf-8") as out:
        out.write(LOCKS)
    program = path("of-locks")
    subprocess.run(["gcc", "-O1", "-o", program, path("locks.c")], check=True, timeout=60)
    shutil.copy(shutil.which("true"), path("interpreter"))
    with open(path("locked"), "w", encoding="utf-8") as out:
        out.write(f"#!{path('interpreter')}\n")
    os.chmod(path("locked"), 0o755)
    expect_equal(run(program, "start", path("interpreter"), path("locked")).stdout, "child: 1\n" * 2, "locks without side")
    for verb in ("record", "record -w", "leaks"):
        compare(verb, [program, "start", path("interpreter"), path("locked")], [], "locks of a script")
        compare(verb, [program, "start", path("interpreter")], [], "locks of a program")
        compare(verb, [program, "execute", program], [], "locks of the program itself")


def test_methods(programs):
    """The starter reports the file, however it starts it."""
    if "static" not in programs:
        return
    for method in ("execv", "execve", "execvp", "execvpe", "vfork", "spawn", "spawnp"):
        compare("record", [programs["glibc"], programs["static"]], [(programs["static"], STATIC)], method, OF_METHOD=method)
    # An interpreter of a script (with an argument, or it would start the script again), and a program that a shell finds.
    with open(path("script"), "w", encoding="utf-8") as out:
        out.write(f"#! {programs['static']} --end\n")
    os.chmod(path("script"), 0o755)
    compare("record", [programs["glibc"], path("script")], [(programs["static"], STATIC)], "a script", OF_METHOD="execve")
    compare("record", ["sh", "-c", "of-static; of-static; :"], [(programs["static"], STATIC)], "a shell")
    # The environment has no recorder: nothing is reported, and nothing else changes.
    compare("record", ["env", "-u", "SIDE_AGENT_SOCKET", programs["glibc"], programs["static"]], [], "without a recorder")
    # What cannot be executed is not reported.
    os.chmod(path("script"), 0o644)
    compare("record", [programs["glibc"], path("script")], [], "not executable")
    compare("record", [programs["glibc"], path("nothing")], [], "no file")
    # The kernel refuses addresses that cannot be read, and an empty name.
    code = ("import ctypes, errno\nlibrary = ctypes.CDLL(None, use_errno=True)\nfor name in (ctypes.c_void_p(8), None, b''):\n"
            "    library.execve(name, None, None)\n    print('child:', errno.errorcode[ctypes.get_errno()])")
    compare("record", [sys.executable, "-c", code], [], "names that cannot be read")
    # The loader as a program has no loader, but loads the agent.
    loader = "/lib64/ld-linux-x86-64.so.2"
    if os.path.exists(loader):
        compare("record", [programs["glibc"], loader, programs["glibc"]], [], "the loader as a program")


def test_stacks(programs):
    """A thread and a signal handler with a small stack start a program that is reported, and one with other libraries to preload."""
    with open(path("stacks.c"), "w", encoding="utf-8") as out:
        out.write(STACKS)
    subprocess.run(["gcc", "-O1", "-pthread", "-o", path("of-stacks"), path("stacks.c")], check=True, timeout=60)
    subprocess.run(["gcc", "-shared", "-o", path("other.so"), "-x", "c", os.devnull], check=True, timeout=60)
    for method in ("execv", "execve", "execvp", "execvpe", "spawn", "spawnp"):
        searches = method in ("execvp", "execvpe", "spawnp")
        for stack in ("thread", "handler"):
            # The C library itself needs more than 8 KiB for posix_spawn() where the frame of a signal is large.
            if stack == "handler" and run(path("of-stacks"), stack, method, programs["glibc"]).returncode:
                continue
            if "static" in programs:
                name = os.path.basename(programs["static"]) if searches else programs["static"]
                compare("record", [path("of-stacks"), stack, method, name], [(programs["static"], STATIC)], f"{method} in a {stack}")
            compare("record", [path("of-stacks"), stack, method, programs["glibc"], path("other.so")], [],
                    f"{method} with LD_PRELOAD in a {stack}")


def test_rights(programs):
    """A program that gains privileges."""
    if os.getuid() or os.statvfs(work.name).f_flag & os.ST_NOSUID:
        print("programs with privileges are not tried: that needs root and a directory without nosuid")
        return
    program = path("of-rights")
    shutil.copy(programs["glibc"], program)
    os.chown(program, 65534, 65534)
    os.chmod(program, 0o4755)
    for verb in VERBS:
        if verb != "trace":
            compare(verb, [program], [(program, RIGHTS)], "rights")
        compare(verb, [programs["glibc"], program], [(program, RIGHTS)], "rights of a child")


def test_preloaded(programs):
    """The path by which each loader finds its own library, in the environment of a user: nothing is printed."""
    preload = os.path.join(libraries, "side-preload", "$LIB", "libside-agent.so")
    for kind, program in programs.items():
        alone, done = run(program, programs["glibc"]), run(program, programs["glibc"], LD_PRELOAD=preload)
        expect_equal((done.returncode, done.stdout, done.stderr), (alone.returncode, alone.stdout, alone.stderr), f"LD_PRELOAD, {kind}")


built = build()
if "glibc" in built:
    test_matrix(built)
    test_methods(built)
    test_stacks(built)
    test_unreadable()
    test_locks()
    test_rights(built)
    test_not_executed(built)
    test_emulated(built)
    test_preloaded(built)
finish(", ".join(built), skipped="glibc" not in built)
