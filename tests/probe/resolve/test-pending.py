#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Probes in libraries that the program loads later: all calls are in the trace, those of constructors too, as babeltrace2 reads it.
"""
import atexit
import shutil

from harness import *
from waiting import has_ended, stop_process, wait_until

FOLDER = os.path.realpath(tempfile.mkdtemp())
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", LANG="C.UTF-8", SIDE_TIMEOUT_FACTOR="30", LD_LIBRARY_PATH=None)
atexit.register(end_daemon, ENV)
# work() runs CALLS times in the constructor, and once in serve().
LIBRARY = """
__attribute__((noinline)) int work(int i)
{
	__asm__ volatile("1: nop\\n.pushsection .note.stapsdt,\\"\\",\\"note\\"\\n.balign 4\\n.4byte 992f-991f,994f-993f,3\\n"
			"991: .asciz \\"stapsdt\\"\\n992: .balign 4\\n993: .8byte 1b\\n.8byte 0\\n.8byte 0\\n"
			".asciz \\"plug\\"\\n.asciz \\"works\\"\\n.asciz \\"-4@%edi\\"\\n994: .balign 4\\n.popsection");
	return i * FACTOR;
}
static int sum;
__attribute__((constructor)) static void begin(void)
{
	for (int i = 0; i < CALLS; i++)
		sum += work(i);
}
int serve(int i) { return work(i); }
"""
# Opens each library of the command line in turn; waits for a line before it, if the first argument is `wait`. `swap`: opens a library, then another
# file by its path, then the library again. `keep`: keeps another file by its path.
PROGRAM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
static int swap(const char *path, const char *other, int keeps)
{
	char old[4096];
	snprintf(old, sizeof(old), "%s.old", path);
	if (!keeps)
		dlclose(dlopen(path, RTLD_NOW));
	rename(path, old);
	rename(other, path);
	if (keeps)
		return !dlopen(path, RTLD_NOW);
	dlclose(dlopen(path, RTLD_NOW));
	rename(old, path);
	dlclose(dlopen(path, RTLD_NOW));
	return 0;
}
int main(int argc, char **argv)
{
	int waits = !strcmp(argv[1], "wait"), local = !strcmp(argv[1], "namespace");
	if (!strcmp(argv[1], "swap") || !strcmp(argv[1], "keep"))
		return swap(argv[2], argv[3], *argv[1] == 'k');
	for (int i = 2; i < argc; i++) {
		void *library;
		int (*serve)(int);
		if (waits)
			getchar();
		library = local ? dlmopen(LM_ID_NEWLM, argv[i], RTLD_NOW) : dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		if (!library)
			return puts(dlerror()), 3;
		serve = (int (*)(int))dlsym(library, "serve");
		serve(i);
		dlclose(library);
	}
	return 0;
}
"""


# Four threads open and close two libraries by turns, and a fifth one is in no function of them.
THREADS = """
#include <dlfcn.h>
#include <pthread.h>
static char **libraries;
static volatile int ends;
static void *open_and_close(void *number)
{
	for (long i = 0; i < 100; i++) {
		void *library = dlopen(libraries[(i + (long)number) % 2], RTLD_NOW);
		((int (*)(int))dlsym(library, "serve"))(1);
		dlclose(library);
	}
	return 0;
}
static void *stay(void *unused)
{
	while (!ends)
		;
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t threads[5];
	libraries = argv + 1;
	pthread_create(&threads[4], 0, stay, 0);
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], 0, open_and_close, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], 0);
	ends = argc;
	return pthread_join(threads[4], 0);
}
"""

# Four children open the library. With more arguments, the program opens it itself, and executes itself with one argument less.
FORKS = """
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	if (argc > 2) {
		argv[argc - 1] = argc > 3 ? NULL : ".";
		dlopen(argv[1], RTLD_NOW) ? 0 : puts(dlerror());
		return *argv[2] == '.' && argc == 3 ? 0 : execv("/proc/self/exe", argv);
	}
	for (int i = 0; i < 4; i++) {
		if (!fork()) {
			dlopen(argv[1], RTLD_NOW) ? 0 : puts(dlerror());
			return 0;
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
"""


# Children that open the library one after another.
SEQUENCE = """
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 4; i++) {
		if (!fork()) {
			dlopen(argv[argc - 1], RTLD_NOW) ? 0 : puts(dlerror());
			return 0;
		}
		while (wait(NULL) > 0)
			;
	}
	return 0;
}
"""


def build(name, source, *options):
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-x", "none", "-o", f"{FOLDER}/{name}", *options], input=source.encode(), check=True)
    return f"{FOLDER}/{name}"


def library(name, constructor, factor=2, *options):
    os.makedirs(os.path.dirname(f"{FOLDER}/{name}"), exist_ok=True)
    return build(name, LIBRARY, "-shared", "-fPIC", f"-DCALLS={constructor}", f"-DFACTOR={factor}", *options)


PLUG = library("plugs/libplug.so.1", 7)
os.symlink("libplug.so.1", f"{FOLDER}/plugs/libplug.so")
OPENS = build("opens", PROGRAM, "-Wl,-rpath,$ORIGIN/plugs")


def read(output):
    done = subprocess.run(["babeltrace2", output], capture_output=True, text=True, check=False)
    equal(done.returncode, 0, done.stderr)
    return [line for line in done.stdout.splitlines() if re.search(r" (probe|plug):\S+: ", line)]


def trace(*arguments, command=None, cwd=FOLDER, **env):
    output = tempfile.mkdtemp(dir=FOLDER)
    what = ["-c", command] if command else []
    return side("trace", "-o", output, "--force", *what, *arguments, env=dict(ENV, **env), cwd=cwd), output


def expect(count, *arguments, command=f"{OPENS} now {PLUG}", **env):
    result, output = trace(*arguments, command=command, **env)
    equal((arguments, result.status), (arguments, 0), result.err)
    equal((arguments, len(read(output))), (arguments, count), result.err)
    return result


def test_constructors():
    """By name, by path, by a link, by a glob: 7 calls of the constructor and one more, for each time that it is loaded."""
    for name in ("libplug", "libplug.so.1", "libplug*", PLUG, "./plugs/libplug.so", f"{FOLDER}/*/libplug.so.1"):
        result = expect(8, "--function", f"{name}:work")
        contains(result.err, f"pending: {PLUG} is not loaded yet; its probes are set when it is loaded")
    expect(24, "--function", "libplug:work", command=f"{OPENS} now {PLUG} {PLUG} {PLUG}")
    expect(16, "--function", f"{PLUG}:work", "--exit")
    # All functions: work() 8 times, begin() and serve() once, and those of the compiler.
    result, output = trace("--function", "libplug:*", command=f"{OPENS} now {PLUG}")
    equal([sum(f'"{name}"' in line for line in read(output)) for name in ("work", "begin", "serve")], [8, 1, 1], result.err)


def test_threads():
    """The libraries are unmapped while other threads run: 50 calls in each of four threads."""
    other = library("plugs/libthird.so", 1)
    expect(200, "--function", f"{PLUG}:serve", command=f"{build('threads', THREADS)} {PLUG} {other}")
    # The table of each library is made when a thread loads it.
    paths = [library(f"hidden/libthread{i}.so", i) for i in (1, 2)]
    expect(400, "--pending", "--function", "libthread*:serve", command=f"{FOLDER}/threads {' '.join(paths)}")


def test_debugger():
    """gdb stops at the same calls."""
    if not shutil.which("gdb"):
        skip("no gdb")
    commands = ["set breakpoint pending on", "set debuginfod enabled off", "break work", "commands", "silent", "echo hit\\n", "continue", "end",
                f"run now {PLUG} {PLUG}"]
    done = subprocess.run(["gdb", "-q", "-batch", "-nx", *[word for line in commands[:3] for word in ("-ex", line)],
                           "-ex", "python\ngdb.breakpoints()[0].commands = 'silent\\necho hit\\\\n\\ncontinue'\nend", "-ex", commands[-1], OPENS],
                          capture_output=True, text=True, check=False, env=ENV, timeout=60)
    equal(done.stdout.count("hit\n"), 16, done.stdout + done.stderr)
    expect(16, "--function", f"{PLUG}:work", command=f"{OPENS} now {PLUG} {PLUG}")


def test_other_file():
    """Another file by the same path, and another one of the same name, are probed when they are loaded."""
    moved = library("plugs/libmoved.so", 7)
    expect(7 + 5 + 7, "--function", f"{moved}:work", command=f"{OPENS} swap {moved} {library('other.so', 5, 3)}")
    moved = library("plugs/libmoved.so", 7)
    result = expect(5, "--function", f"{moved}:work", command=f"{OPENS} keep {moved} {library('other.so', 5, 3)}")
    true("not set" not in result.err and "never set" not in result.err, result.err)
    second = library("second/libplug.so.1", 5, 3)
    expect(8 + 6, "--function", "libplug:work", command=f"{OPENS} now {PLUG} {second}")
    expect(8, "--function", f"{PLUG}:work", command=f"{OPENS} now {PLUG} {second}")
    # The other file does not have the function.
    renamed = library("other.so", 5, 3, "-Dwork=toil")
    moved = library("plugs/libmoved.so", 7)
    result, _ = trace("--function", f"{moved}:work", command=f"{OPENS} keep {moved} {renamed}")
    equal(result.status, 1, result.err)
    contains(result.err, "recorded 0 events")
    contains(result.err, f"no probes in {moved}: {moved} has no function `work`")
    contains(result.err, "not set: work, at 0x")
    contains(result.err, "the program has loaded another file by that path: its build ID differs")


def test_missing():
    """With --pending: libraries of which no file is found when the recording begins. 7 calls of the constructor and one more."""
    hidden = library("hidden/libhide.so.1", 7)
    for name in ("libhide", "libhide.so.1", "libhide*"):
        result = expect(8, "--pending", "--function", f"{name}:work", command=f"{OPENS} now {hidden}")
        contains(result.err, f"pending: no known file of `{name}` has the location" if "*" in name else f"pending: no file of `{name}` is found")
    # The program itself makes the file.
    for name in (f"{FOLDER}/new/libnew.so", f"{FOLDER}/*/libnew.so", "./new/libnew.so"):
        made = f"{FOLDER}/new/libnew.so"
        os.makedirs(os.path.dirname(made), exist_ok=True)
        expect(7, "--pending", "--function", f"{name}:work", command=f"{OPENS} keep {made} {library('other.so', 7)}")
        os.remove(made)
    expect(24, "--pending", "--function", "libhide:work", command=f"{OPENS} now {hidden} {hidden} {hidden}")
    expect(16, "--pending", "--function", "libhide:work", "--exit", command=f"{OPENS} now {hidden}")
    expect(16, "--pending", "--function", "libhide:work", command=f"{OPENS} namespace {hidden} {hidden}")
    expect(8, "--pending", "--sdt", "libhide:plug:*", command=f"{OPENS} now {hidden}")
    result, output = trace("--pending", "--function", "libhide:*", command=f"{OPENS} now {hidden}")
    equal([sum(f'"{name}"' in line or f":{name}:" in line for line in read(output)) for name in ("work", "begin", "serve")], [8, 1, 1], result.err)
    result, output = trace("--pending", "--probe", "libhide:work", "--arg", "s32:x:%edi", command=f"{OPENS} now {hidden}")
    equal([line.split("{ x = ")[1] for line in read(output)], [f"{i} }}" for i in (*range(7), 2)], result.err)
    result, _ = trace("--pending", "--function", "libhide:worm", command=f"{OPENS} now {hidden}")
    contains(result.err, "libhide has no function `worm`")
    contains(result.err, "did you mean `work`?")
    contains(result.err, "libhide:worm was never set in process")
    result, _ = trace("--function", "libhide:work", command=f"{OPENS} now {hidden}")
    equal(result.status, 1)
    contains(result.err, "or add `--pending`")
    result, _ = trace("--pending", "--function", "libhide:work", command=f"{OPENS} now")
    equal(result.status, 0)
    contains(result.err, "libhide:work was never set in process")


def test_never():
    """A library that the program does not load."""
    result, _ = trace("--function", "libplug:work", command=f"{OPENS} now")
    equal(result.status, 0, result.err)
    contains(result.err, "libplug:work was never set in process")
    result, _ = trace("--function", "libplug:work", command=f"{OPENS} now {PLUG}")
    true("was never set" not in result.err, result.err)


def test_timeout():
    """The recorder does not answer, because it is stopped: the program continues after one second, without the probes."""
    hidden = library("hidden/libslow.so.1", 7)
    output = tempfile.mkdtemp(dir=FOLDER) + "/o"
    recorder = subprocess.Popen([SIDE, "trace", "-o", output, "--pending", "--function", "libslow:work", "-c", f"{OPENS} wait {hidden}"],
                                stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(ENV, SIDE_TIMEOUT_FACTOR="1"), cwd=FOLDER)

    def reads(pid):
        """It reads its standard input."""
        try:
            with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
                return file.read().startswith("0 0x0 ")
        except OSError:
            return False

    def program():
        found = subprocess.run(["pgrep", "-P", str(recorder.pid), "-x", "opens"], capture_output=True, text=True, check=False).stdout.split()
        return int(found[0]) if found and reads(found[0]) else None
    pid = wait_until(program)
    stop_process(recorder.pid)
    recorder.stdin.write("\n")
    recorder.stdin.flush()
    wait_until(lambda: has_ended(pid))
    os.kill(recorder.pid, signal.SIGCONT)
    _, text = recorder.communicate()
    contains(text, f"libslow:work was never set in process {pid}: its library was not loaded, or its probes were not ready in time")


def test_globs():
    """A glob of libraries: files that match, have the function, and are loaded later, beside loaded ones that do not have it."""
    one, two = library("globs/libglobone.so", 3), library("globs/libglobtwo.so", 4, 3)
    result = expect(3 + 1 + 4 + 1, "--pending", "--function", "lib*:work", command=f"{OPENS} now {one} {two}")
    contains(result.err, "pending: no known file of `lib*` has the location")
    expect(4 + 1, "--pending", "--function", "libglobt*:work", command=f"{OPENS} now {one} {two}")
    # `serve` is in both; `fork` is in the C library, where the probe is set at once.
    result, output = trace("--pending", "--function", "libglob*:serve", "--function", "libc:fork", command=f"{OPENS} now {one} {two}")
    equal((result.status, len(read(output))), (0, 2), result.err)
    result, _ = trace("--function", "lib*:work", command=f"{OPENS} now {one}")
    equal(result.status, 1)


def test_processes():
    """Children that load the library at the same time, and the program when it executes itself."""
    hidden = library("hidden/libfork.so.1", 7)
    program = build("forks", FORKS)
    result = expect(4 * 7, "--pending", "--function", "libfork:work", command=f"{program} {hidden}")
    # The parent does not load it.
    true("never set" not in result.err, result.err)
    expect(2 * 7, "--pending", "--function", "libfork:work", command=f"{program} {hidden} . .")
    # The table exists when the second child is forked, but its parent does not have it.
    expect(4 * 7, "--pending", "--function", "libfork:work", command=f"{build('sequence', SEQUENCE)} {hidden}")


def test_namespaces():
    """Each namespace of the loader has a copy of the library (dlmopen)."""
    expect(16, "--function", "libplug:work", command=f"{OPENS} namespace {PLUG} {PLUG}")


def test_search():
    """The program's LD_LIBRARY_PATH, and its RUNPATH."""
    bare = build("bare", PROGRAM)
    expect(8, "--function", "libplug:work", command=f"{bare} now libplug.so.1", LD_LIBRARY_PATH=f"/nowhere:{FOLDER}/plugs")
    expect(8, "--function", "libplug:work", command=f"{OPENS} now libplug.so.1")
    result, _ = trace("--function", "libplug:work", command=f"{bare} now {PLUG}")
    equal(result.status, 1, result.err)
    contains(result.err, "bare has not loaded `libplug`")
    contains(result.err, "name its file: `/DIRECTORY/LIBRARY:NAME`")


def test_beside():
    """The directory of the program, and `lib` beside it, to four levels."""
    for count, place in ((8, "app/bin/libown.so"), (8, "app/lib/libtop.so"), (8, "app/lib/a/b/c/d/libdeep.so"), (0, "app/lib/a/b/c/d/e/libdeeper.so")):
        name = os.path.basename(place).removesuffix(".so")
        path = library(place, 7)
        os.makedirs(f"{FOLDER}/app/bin", exist_ok=True)
        program = build("app/bin/opens", PROGRAM)
        if count:
            expect(count, "--function", f"{name}:work", command=f"{program} now {path}")
        else:
            equal(trace("--function", f"{name}:work", command=f"{program} now {path}")[0].status, 1)


def test_java():
    """The library of the virtual machine, which java finds below its own directory."""
    if not shutil.which("java"):
        skip("no java")
    expect(1, "--function", "libjvm:JNI_CreateJavaVM", command="java -version")


def test_markers():
    """A marker of the library, by its own name and by a glob, with its operand."""
    for name in ("libplug:plug:works", "libplug:plug:*", f"{PLUG}:plug:works"):
        expect(8, "--sdt", name)
    result, _ = trace("--sdt", "libplug:plug:worked", command=f"{OPENS} now {PLUG}")
    equal(result.status, 1)
    contains(result.err, "did you mean `plug:works`?")
    result, _ = trace("--sdt", "libnone:plug:works", command=f"{OPENS} now {PLUG}")
    equal(result.status, 1)


def test_refused():
    """A file that is no library, a function that the library does not have, and no file at all: the program is not started."""
    with open(f"{FOLDER}/plugs/libtext.so", "w", encoding="utf-8") as file:
        file.write("INPUT(libplug.so.1)\n")
    for location, message in ((f"{FOLDER}/plugs/libtext.so:work", "libtext.so"), ("libplug:worm", "did you mean `work`?"),
                              (f"{FOLDER}/none.so:work", f"has not loaded `{FOLDER}/none.so`, and there is no such file"), ("libtext:work", "has not loaded `libtext`")):
        result, _ = trace("--function", location, command=f"{OPENS} now {PLUG}")
        equal((location, result.status), (location, 1), result.err)
        contains(result.err, message)


def start(*arguments, **env):
    return subprocess.Popen([OPENS, "wait", *arguments], stdin=subprocess.PIPE, env=dict(ENV, **env), cwd=FOLDER)


def attached(program, output, *arguments):
    """Starts `side trace -p`, and returns when the probes are in the program."""
    recorder = subprocess.Popen([SIDE, "trace", "-p", str(program.pid), "-o", output, *arguments], stderr=subprocess.PIPE, text=True, env=ENV, cwd=FOLDER)
    lines = []
    for line in recorder.stderr:
        lines.append(line)
        if "is not in process" in line or "is set in process" in line:
            break
    return recorder, "".join(lines)


def test_running():
    """In a running program, by name and by path; also a second time after the library was unloaded."""
    for name in ("libplug", PLUG):
        program = start(PLUG, PLUG)
        output = tempfile.mkdtemp(dir=FOLDER) + "/o"
        recorder, text = attached(program, output, "--function", f"{name}:work")
        contains(text, f"pending: {PLUG} is not loaded yet")
        program.communicate(b"\n\n")
        equal((program.wait(), recorder.wait(60)), (0, 0), text + recorder.stderr.read())
        equal(len(read(output)), 16)
    # A library of which no file is known, and one that is never loaded, which is reported at the end.
    hidden = library("hidden/librun.so.1", 7)
    program = start(hidden, hidden)
    output = tempfile.mkdtemp(dir=FOLDER) + "/o"
    recorder, text = attached(program, output, "--pending", "--function", "librun:work", "--function", "libnone:work")
    program.communicate(b"\n\n")
    text += recorder.stderr.read()
    equal((program.wait(), recorder.wait(60)), (0, 0), text)
    equal(len(read(output)), 16, text)
    contains(text, f"libnone:work was never set in process {program.pid}")
    true("librun:work was never set" not in text, text)


def test_other_root():
    """A process with another root directory: the path is that of the process; a relative path and a name are no file there."""
    if os.geteuid():
        skip("chroot needs root")
    root = f"{FOLDER}/root"
    os.mkdir(root)
    build("root/waits", "#include <stdio.h>\nint main(void) { puts(\"\"); fflush(stdout); return getchar() == 'x'; }", "-static")
    shutil.copy(PLUG, root)
    # Absolute links: in the other root directory, they lead to a library, to none and to a folder. Here, it is the other way round.
    outside = library("outside/liboutside.so.1", 7)
    os.makedirs(f"{root}{FOLDER}/inside")
    shutil.copy(PLUG, f"{root}{FOLDER}/inside")
    for target, link in ((f"{FOLDER}/inside/libplug.so.1", "linked.so"), (outside, "outside.so"), (f"{FOLDER}/inside", "links"),
                         (os.path.dirname(outside), "outsides")):
        os.symlink(target, f"{root}/{link}")
    with subprocess.Popen(["chroot", root, "/waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        program.stdout.readline()
        for name, message in (("/libplug.so.1", "pending: /libplug.so.1 is not loaded yet"), (PLUG, f"has not loaded `{PLUG}`"),
                              ("./plugs/libplug.so.1", "has not loaded `./plugs/libplug.so.1`"), ("libplug", "has not loaded `libplug`"),
                              ("/linked.so", "pending: /linked.so is not loaded yet"), ("/outside.so", "has not loaded `/outside.so`"),
                              ("/links/lib*.so.?", "pending: /links/libplug.so.1 is not loaded yet"),
                              ("/outsides/*", "has not loaded `/outsides/*`"), ("/outsides/liboutside.so.1", "has not loaded `/outsides/libout")):
            result, _ = trace("-p", str(program.pid), "--function", f"{name}:work")
            equal((name, result.status), (name, 1), result.err)
            contains(result.err, message)
        program.stdin.close()


def test_session():
    """In a session: `--pid`, and `--exe` for programs that start later."""
    program = start(PLUG)
    for words in (("create", "s", "-o", f"{FOLDER}/s"), ("start", "s"),
                  ("enable-event", "one", "-s", "s", "--pid", str(program.pid), "--function", "libplug:work"),
                  ("enable-event", "all", "-s", "s", "--exe", OPENS, "--function", f"{PLUG}:serve")):
        result = side(*words, env=ENV, cwd=FOLDER)
        equal((words, result.status), (words, 0), result.err)
        if words[0] == "enable-event":
            contains(result.err, f"pending: {PLUG} is not loaded yet")
    contains(side("status", "s", env=ENV).out, "1 not loaded")
    program.communicate(b"\n")
    equal(program.wait(), 0)
    result = side("stop", "s", env=ENV)
    equal(result.status, 0, result.err)
    lines = read(f"{FOLDER}/s")
    equal([sum(f"probe:{name}:" in line for line in lines) for name in ("one", "all")], [8, 1], "\n".join(lines))
    side("destroy", "s", env=ENV)


def test_python():
    """Extensions of Python, and a library that only one of them needs."""
    code = "import sqlite3; sqlite3.connect(':memory:').execute('select 1').fetchall()"
    if subprocess.run(["/usr/bin/python3", "-c", code], capture_output=True, check=False).returncode:
        skip("no python3 with sqlite3")
    with open(f"{FOLDER}/query.py", "w", encoding="utf-8") as file:
        file.write(code)
    where = subprocess.run(["/usr/bin/python3", "-c", "import _sqlite3; print(_sqlite3.__file__)"], capture_output=True, text=True, check=True).stdout.strip()
    result, output = trace("--function", "libsqlite3:sqlite3_step", "--function", f"{where}:PyInit__sqlite3", command=f"/usr/bin/python3 {FOLDER}/query.py")
    equal(result.status, 0, result.err)
    lines = read(output)
    result, other = trace("--function", "_sqlite3:PyInit__sqlite3", command=f"/usr/bin/python3 {FOLDER}/query.py")
    equal((result.status, len(read(other))), (0, 1), result.err)
    # One row, and the end of the rows.
    equal([sum(f"probe:{name}:" in line for line in lines) for name in ("PyInit__sqlite3", "sqlite3_step")], [1, 2], "\n".join(lines))


def test_perl():
    """An extension of perl (XS)."""
    code = 'use List::Util; for (@INC) { my $f = "$_/auto/List/Util/Util.so"; if (-e $f) { print $f; last } }'
    found = subprocess.run(["/usr/bin/perl", "-e", code],
                           capture_output=True, text=True, check=False).stdout
    if not os.path.exists(found):
        skip("no List::Util of perl")
    expect(1, "--function", f"{found}:boot_List__Util", command="/usr/bin/perl -MList::Util -e 1")


run_tests(globals())
