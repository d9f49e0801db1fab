# SPDX-License-Identifier: MIT
"""`side attach -w` records each call that a running program makes, and the program calls the real functions afterwards.

usage: test-attached.py SIDE CALLS OPERATORS ALLOCATOR
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish
from slots import WRAPPERS, read_memory, slots, words_at

side, calls, operators, allocator = (os.path.abspath(a) for a in sys.argv[1:5])
work = tempfile.TemporaryDirectory(prefix="side-attached-")
environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LD_LIBRARY_PATH", "SIDE_AGENT_SOCKET", "SIDE_LIB_DIR")}
environment["SIDE_RUNTIME"] = os.path.join(work.name, "no-daemon")
environment["LC_ALL"] = "C"


def start(*words, **more):
    """A program; `more` are variables of its environment."""
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**environment, **more})


def proceed(program):
    program.stdin.write("\n")
    program.stdin.flush()


def attach(name, pid, wrappers, *options):
    """Begins a recording, and returns once the program is recorded."""
    words = [side, "attach", "-p", str(pid), "-o", os.path.join(work.name, name), *options]
    for wrapper in wrappers:
        words += ["-w", wrapper]
    recorder = start(*words)
    line = recorder.stderr.readline()
    expect("recording" in line, f"{name}: {line}")
    return recorder


def end(recorder):
    recorder.send_signal(signal.SIGINT)
    errors = recorder.communicate(timeout=60)[1]
    expect_equal(recorder.returncode, 0, errors)
    return errors


def read_events(name):
    view = subprocess.run([side, "view", "--json", os.path.join(work.name, name)], capture_output=True, text=True, check=True,
                          timeout=60)
    items = [json.loads(line) for line in view.stdout.splitlines()]
    return [item for item in items if item["type"] == "event"]


def number(value):
    return int(value, 0) if isinstance(value, str) and value[:2] in ("0x", "0X") else value


def matches(event, want):
    return (event["event"].split(":", 1)[1] == want["e"] and
            all(number(event["fields"].get(key)) == value for key, value in want.items() if key != "e"))


def test_calls():
    """Each call of wrap-calls is an event with its arguments, in the order of the calls, as with `side record -w`."""
    for mode, wrappers in (("m", ["libc"]), ("f", ["libc"]), ("l", ["pthread"]), ("d", ["libc"]), ("w", ["pthread"]),
                           ("mfldw", ["libc", "pthread"])):
        printed = os.path.join(work.name, "printed-" + mode)
        program = start("/bin/sh", "-c", 'exec "$0" "$1" "$2" 3>"$3"', calls, "a" + mode, work.name, printed)
        expect_equal(program.stdout.readline(), "waiting\n", "the program")
        recorder = attach("calls-" + mode, program.pid, wrappers)
        expect(len(slots(program.pid, WRAPPERS)) > 10, f"{mode}: imports lead to the wrappers")
        proceed(program)
        expect_equal(program.stdout.readline(), "waiting\n", f"calls {mode}")
        end(recorder)
        expect_equal(slots(program.pid, WRAPPERS), [], f"{mode}: after the recording")
        proceed(program)
        errors = program.communicate(timeout=60)[1]
        expect_equal(program.returncode, 0, f"calls {mode}: {errors}")
        events, position = read_events("calls-" + mode), 0
        with open(printed, encoding="utf-8") as lines:
            wants = [json.loads(line) for line in lines]
        expect(len(wants) > 10, f"calls {mode} wrote only {len(wants)} lines")
        for want in wants:
            found = next((i for i in range(position, len(events)) if matches(events[i], want)), None)
            expect(found is not None, f"calls {mode}: no event {want} after position {position}")
            position = position if found is None else found + 1
        for event in events:
            expect(number(event["fields"]["caller"]) != 0, f"{event['event']} has no caller")


ADDRESSES = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static int (*volatile stored)(int fd);
static void (*volatile stored_free)(void *ptr);
int main(void)
{
	char byte;

	stored = close;
#ifdef TAKES_FREE
	stored_free = free;
#else
	(void)stored_free;
#endif
	syscall(SYS_write, 1, "waiting\n", 8);
	syscall(SYS_read, 0, &byte, 1);
	for (int i = 0; i < 100; i++)
		free(malloc(i + 1));
	if (stored != close || (stored_free && stored_free != free))
		return 1;
	syscall(SYS_write, 1, "waiting\n", 8);
	syscall(SYS_read, 0, &byte, 1);
	_exit(stored == close && (!stored_free || stored_free == free) ? 0 : 2);
}
"""


def test_addresses():
    """The address of a function that a program has stored equals the function's address, whichever way the program is linked."""
    source = os.path.join(work.name, "addresses.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(ADDRESSES)
    for name, options in (("pie", ["-fPIE", "-pie", "-DTAKES_FREE"]), ("fixed", ["-no-pie", "-fno-pie", "-DTAKES_FREE"]), ("plt", ["-fPIE", "-pie", "-fno-plt"]),
                          ("now", ["-fPIE", "-pie", "-DTAKES_FREE", "-Wl,-z,now"]), ("lazy", ["-fPIE", "-pie", "-Wl,-z,lazy"])):
        program_file = os.path.join(work.name, name)
        subprocess.run(["gcc", "-O1", "-fno-builtin", source, "-o", program_file, *options], check=True, timeout=60)
        program = start(program_file)
        expect_equal(program.stdout.readline(), "waiting\n", name)
        recorder = attach("addresses-" + name, program.pid, ["libc"])
        proceed(program)
        expect_equal(program.stdout.readline(), "waiting\n", name)
        end(recorder)
        proceed(program)
        program.communicate(timeout=60)
        expect_equal(program.returncode, 0, name)
        events = [event["event"] for event in read_events("addresses-" + name)]
        expect_equal((events.count("libc:malloc"), events.count("libc:free")), (100, 100), name)


def test_twice():
    """Two recordings at once, of which one has no wrapper; the wrapper serves until the last that wants it ends; and once more."""
    program = start(calls, "aa", work.name)
    expect_equal(program.stdout.readline(), "waiting\n", "the program")
    first = attach("first", program.pid, ["libc"])
    second = attach("second", program.pid, ["libc", "libc"])
    third = attach("third", program.pid, [])
    end(first)
    expect(len(slots(program.pid, WRAPPERS)) > 10, "the second recording still wants them")
    end(second)
    expect_equal(slots(program.pid, WRAPPERS), [], "the third does not")
    end(third)
    again = attach("again", program.pid, ["libc"])
    expect(len(slots(program.pid, WRAPPERS)) > 10, "once more")
    again.kill()
    again.communicate()
    # A killed recorder cannot notify the program: `side detach` does.
    done = subprocess.run([side, "detach", "-p", str(program.pid)], capture_output=True, text=True, check=False, timeout=60,
                          env=environment)
    expect_equal(done.returncode, 0, done.stderr)
    expect_equal(slots(program.pid, WRAPPERS), [], "after `side detach`")
    proceed(program)
    expect_equal(program.stdout.readline(), "waiting\n", "the program")
    proceed(program)
    program.communicate(timeout=60)
    expect_equal(program.returncode, 0, "the program")


def test_preloaded():
    """A program with preloaded wrappers goes on to call them, and each call is one event."""
    program = start(side, "record", "-q", "-o", os.path.join(work.name, "outer"), "-w", "libc", "--", "/bin/sh", "-c",
                    'exec "$0" am "$1" 3>/dev/null', calls, work.name)
    expect_equal(program.stdout.readline(), "waiting\n", "the program")
    with open(f"/proc/{program.pid}/task/{program.pid}/children", encoding="utf-8") as file:
        pid = int(file.read().split()[0])
    recorder = attach("inner", pid, ["libc"])
    proceed(program)
    program.stdout.readline()
    end(recorder)
    proceed(program)
    program.communicate(timeout=60)
    outer, inner = ([e["event"] for e in read_events(name) if e["event"].startswith("libc:m")] for name in ("outer", "inner"))
    expect(len(inner) >= 3, f"{inner}")
    expect_equal(inner, outer[len(outer) - len(inner):], "the same events in both recordings")


def find_library(name):
    listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    return next((line.split(" => ")[1] for line in listing.splitlines() if line.split()[0:1] == [name]), None)


SIZES = [3000, 3001, 3002, 3003, 3004, 3005, 3008, 3072, 3136, 3200]


def test_operators():
    """Operators of C++ of an allocator are events until the recording ends; then each address, and the code, is as it was before."""
    jemalloc = find_library("libjemalloc.so.2")
    for name, preload, bound in (("libstdc++", None, True), ("own", allocator, True), ("own-lazy", allocator, False),
                                 *([("jemalloc", jemalloc, True)] if jemalloc else [])):
        more = {**({"LD_PRELOAD": preload} if preload else {}), **({"LD_BIND_NOW": "1"} if bound else {})}
        program = start(operators, "wait", **more)
        expect_equal(program.stdout.readline(), "waiting\n", name)
        # The first recording loads the agent, which stays.
        end(attach("operators-agent-" + name, program.pid, []))
        code, tables = (read_memory(program.pid, is_wanted) for is_wanted in (lambda access: "x" in access, lambda access: "x" not in access))
        recorder = attach("operators-" + name, program.pid, ["libc"])
        redirected = slots(program.pid, WRAPPERS)
        expect(len(redirected) > 10, f"{name}: imports lead to the wrappers")
        proceed(program)
        expect_equal(program.stdout.readline(), "30 10\n", f"{name}: the program")
        expect_equal(program.stdout.readline(), "waiting\n", name)
        end(recorder)
        expect_equal(slots(program.pid, WRAPPERS), [], f"{name}: after the recording")
        if bound:
            before = {at: content[at - a:at - a + 8] for a, content in tables.items() for at in redirected if 0 <= at - a < len(content)}
            expect_equal(words_at(program.pid, redirected), before, f"{name}: the addresses")
        after = read_memory(program.pid, lambda access: "x" in access)
        expect_equal([hex(a) for a in after.keys() | code.keys() if after.get(a) != code.get(a)], [], f"{name}: the code is as before")
        proceed(program)
        errors = program.communicate(timeout=60)[1]
        expect_equal(program.returncode, 0, f"{name}: {errors}")
        fields = [event["fields"] for event in read_events("operators-" + name)
                  if event["event"] in ("libc:malloc", "libc:aligned_alloc", "libc:posix_memalign", "libc:memalign")]
        allocated = [field["size"] for field in fields]
        expect_equal([allocated.count(size) for size in SIZES + [4000, 192]], [2] * len(SIZES) + [7, 3], f"{name}: allocations")
        freed = [event["fields"]["ptr"] for event in read_events("operators-" + name) if event["event"] == "libc:free"]
        for field in fields:
            expect(field["size"] not in SIZES or field["result"] in freed, f"{name}: {field} is freed")


PLUGIN = r"""
#include <stdlib.h>
static void *volatile kept;
static void (*volatile stored)(void *ptr);
void use(void);
__attribute__((constructor)) static void begin(void)
{
	kept = malloc(SIZE);
	stored = free;
}
void use(void)
{
	for (int i = 0; i < 10; i++)
		free(malloc(SIZE + 1));
}
__attribute__((destructor)) static void end(void)
{
	stored(kept);
	free(malloc(SIZE + 2));
}
"""
LOADER = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static void load(const char *path, int flags)
{
	void *handle = dlopen(path, flags);
	void (*use)(void) = handle ? (void (*)(void))dlsym(handle, "use") : NULL;

	if (!use) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(1);
	}
	use();
	if (dlclose(handle))
		_exit(2);
}
int main(int argc, char **argv)
{
	char byte;

	for (int round = 0; round < 2; round++) {
		syscall(SYS_write, 1, "waiting\n", 8);
		syscall(SYS_read, 0, &byte, 1);
		for (int i = 0; i < 5; i++) {
			if (dlopen(argv[1], RTLD_NOW))
				_exit(3);
			for (int j = 2; j < argc; j++)
				load(argv[j], i % 2 ? RTLD_NOW : RTLD_LAZY);
		}
	}
	syscall(SYS_write, 1, "waiting\n", 8);
	syscall(SYS_read, 0, &byte, 1);
	return 0;
}
"""


def compile_file(name, text, *options):
    source, made = (os.path.join(work.name, name + suffix) for suffix in (".c", ""))
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run(["gcc", "-O1", "-fno-builtin", source, "-o", made, *options], check=True, timeout=60)
    return made


def count_sizes(name, first):
    sizes = [event["fields"]["size"] for event in read_events(name) if event["event"] == "libc:malloc"]
    return [sizes.count(size) for size in range(first, first + 3)]


def test_later():
    """Each call of a library that is loaded later is an event, from its constructors to its destructors, until the recording ends."""
    loader = compile_file("loader", LOADER)
    library = ["-shared", "-fPIC"]
    lazy = compile_file("lazy.so", PLUGIN, *library, "-DSIZE=5000", "-Wl,-z,lazy")
    now = compile_file("now.so", PLUGIN, *library, "-DSIZE=5100", "-Wl,-z,now,-z,relro")
    no_plt = compile_file("no-plt.so", PLUGIN, *library, "-DSIZE=5200", "-fno-plt")
    outer = compile_file("outer.so", PLUGIN, *library, "-DSIZE=5300", "-Wl,--no-as-needed", now, no_plt)
    # Its relocation fails, so no constructor of it runs.
    broken = compile_file("broken.so", PLUGIN + "void missing(void);void call(void);void call(void) { missing(); }", *library, "-DSIZE=5400")
    program = start(loader, broken, lazy, now, no_plt, outer)
    expect_equal(program.stdout.readline(), "waiting\n", "the loader")
    recorder = attach("later", program.pid, ["libc"])
    proceed(program)
    line = program.stdout.readline()
    expect_equal(line, "waiting\n", "the loader")
    end(recorder)
    expect_equal(slots(program.pid, WRAPPERS), [], "after the recording")
    if line:
        proceed(program)
    errors = program.communicate(timeout=60)[1]
    expect_equal(program.returncode, 0, f"the loader: {errors}")
    # `outer` loads `now` and `no_plt` once more.
    for first, rounds, uses in ((5000, 5, 5), (5100, 10, 5), (5200, 10, 5), (5300, 5, 5), (5400, 0, 0)):
        expect_equal(count_sizes("later", first), [rounds, 10 * uses, rounds], f"calls of the library {first}")


def test_many_libraries():
    """One dlopen() of more libraries than side watches: the calls after it are events, and the program is unharmed."""
    loader = compile_file("loader", LOADER)
    parts = [compile_file(f"part-{i}.so", PLUGIN, "-shared", "-fPIC", f"-DSIZE={6000 + 10 * i}") for i in range(20)]
    whole = compile_file("whole.so", PLUGIN, "-shared", "-fPIC", "-DSIZE=6900", "-Wl,--no-as-needed", *parts)
    program = start(loader, "/missing", whole)
    expect_equal(program.stdout.readline(), "waiting\n", "the loader")
    recorder = attach("many", program.pid, ["libc"])
    proceed(program)
    expect_equal(program.stdout.readline(), "waiting\n", "the loader")
    end(recorder)
    proceed(program)
    errors = program.communicate(timeout=60)[1]
    expect_equal(program.returncode, 0, f"the loader: {errors}")
    expect_equal(count_sizes("many", 6900)[1:], [50, 5], "calls of the last library")
    ends = [count_sizes("many", 6000 + 10 * i)[2] for i in range(20)]
    expect_equal(ends, [5] * 20, "calls of the destructors")


LOADING_THREADS = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile int is_over;
static void *run(void *path)
{
	while (!is_over) {
		void *handle = dlopen(path, RTLD_NOW);

		if (!handle)
			_exit(1);
		((void (*)(void))dlsym(handle, "use"))();
		dlclose(handle);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t threads[8];
	char byte;

	for (int i = 1; i < argc; i++)
		pthread_create(&threads[i], NULL, run, argv[i]);
	syscall(SYS_write, 1, "waiting\n", 8);
	syscall(SYS_read, 0, &byte, 1);
	is_over = 1;
	for (int i = 1; i < argc; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""


def test_loading_threads():
    """Recordings begin and end while threads load libraries."""
    loader = compile_file("loading-threads", LOADING_THREADS, "-pthread")
    plugins = [compile_file(f"plugin-{i}.so", PLUGIN, "-shared", "-fPIC", "-DSIZE=7000", option) for i, option in enumerate(("-Wl,-z,now", "-fno-plt", "-Wl,-z,lazy"))]
    program = start(loader, *plugins)
    expect_equal(program.stdout.readline(), "waiting\n", "the loader")
    for i in range(5):
        end(attach(f"threads-{i}", program.pid, ["libc"]))
        expect_equal(program.poll(), None, "the program runs")
    # The end of the last probe removes the one at the loader's notification, in which threads wait for the same lock.
    for i in range(5):
        recorder = start(side, "trace", "-p", str(program.pid), "-o", os.path.join(work.name, f"probes-{i}"), "--function", "run")
        line = recorder.stderr.readline()
        expect("recording" in line, f"probes: {line}")
        end(recorder)
        expect_equal(program.poll(), None, "the program runs")
    proceed(program)
    errors = program.communicate(timeout=60)[1]
    expect_equal(program.returncode, 0, f"the loader: {errors}")


test_calls()
test_operators()
test_twice()
test_preloaded()
if shutil.which("gcc"):
    test_addresses()
    test_later()
    test_many_libraries()
    test_loading_threads()
finish()
