# SPDX-License-Identifier: MIT
"""Programs under LD_AUDIT: with an audit library that watches returns, each call through a procedure linkage table returns to the dynamic
linker. What is loaded into programs calls functions that look for their caller, so it does not use that table.

usage: test-audit.py SIDE BUILD-DIRECTORY INCLUDE-DIRECTORY
"""
import functools
import glob
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import checks
from checks import equal, true

SIDE, BUILD, INCLUDE = (os.path.abspath(path) for path in sys.argv[1:4])
del sys.argv[1:4]
LIBSIDE = os.path.join(BUILD, "src/libside")
work = tempfile.TemporaryDirectory(prefix="side-audit-")
run = functools.partial(checks.run, timeout=120, cwd=work.name)
# In glibc, these find the library that calls them by the return address.
FIND_THEIR_CALLER = {"dlopen", "dlmopen", "dlsym", "dlvsym", "dl_iterate_phdr"}

AUDIT = r"""
#define _GNU_SOURCE
#include <link.h>
unsigned la_version(unsigned version) { return version; }
unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie) { return LA_FLG_BINDTO | LA_FLG_BINDFROM; }
Elf64_Addr la_x86_64_gnu_pltenter(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to, La_x86_64_regs *registers, unsigned *flags,
		const char *name, long *frame_size)
{
	*frame_size = 64;
	return symbol->st_value;
}
unsigned la_x86_64_gnu_pltexit(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to, const La_x86_64_regs *in, La_x86_64_retval *out,
		const char *name)
{
	return 0;
}
"""
PROGRAM = r"""
#include <pthread.h>
#include <side/trace.h>
#include <stdio.h>
#include <stdlib.h>
side_static_event(ticked, "audit", "ticked", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u64("count")));
__attribute__((noinline)) int twice(int value) { return value * 2; }
static void *work(void *data) { return malloc(4711); }
int main(void)
{
	pthread_t thread;
	void *got;
	if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, &got))
		return 1;
	free(got);
	for (int i = 0; i < 3; i++)
		side_event(ticked, side_arg_list(side_arg_u64(i)));
	puts("ran");
	return twice(3) + 1;
}
"""


@functools.cache
def compiled(name, text, *options):
    with open(os.path.join(work.name, name + ".c"), "w", encoding="utf-8") as file:
        file.write(text)
    run("cc", "-g", "-w", name + ".c", "-o", name, *options)
    return os.path.join(work.name, name)


def audit():
    return compiled("audit.so", AUDIT, "-shared", "-fPIC")


def shared():
    return compiled("shared", PROGRAM, "-I" + INCLUDE, "-pthread", "-L" + LIBSIDE, "-l:libside.so.0", "-Wl,-rpath," + LIBSIDE, "-Wl,-z,lazy")


def static():
    return compiled("static", PROGRAM, "-I" + INCLUDE, "-pthread", os.path.join(LIBSIDE, "libside.a"), "-Wl,-z,lazy")


def record(verb, program, *options, events):
    """Runs the program below an audit library; `events` are numbers of events by name, of which there may be more."""
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "SIDE_LIB_DIR")}
    environment |= {"SIDE_RUNTIME": os.path.join(work.name, "no-daemon"), "LD_LIBRARY_PATH": os.path.join(BUILD, "src/tracers/agent")}
    trace = os.path.join(work.name, "trace-" + str(len(glob.glob(os.path.join(work.name, "trace-*")))))
    done = run(SIDE, verb, *options, "-o", trace, "--", "env", "LD_AUDIT=" + audit(), program, status=7, env=environment)
    equal(done.stdout, "ran\n", done.stderr)
    text = run(SIDE, "view", "--json", trace).stdout
    for name, least in events.items():
        found = text.count(f'"event":"{name}"')
        true(found >= least, f"{program} {options}: {found} events {name}, not {least}: {done.stderr}")


def test_audit_library_is_used():
    """Without it, the other tests show nothing: dlsym() called through the table of a program finds the dynamic linker as its caller."""
    program = compiled("caller", '#define _GNU_SOURCE\n#include <dlfcn.h>\nint main(void) { return !dlsym(RTLD_DEFAULT, "puts"); }', "-Wl,-z,lazy",
                       "-fplt")
    equal(run(program).returncode, 0)
    true(run(program, env=os.environ | {"LD_AUDIT": audit()}, status=None).returncode, "calls do not return to the dynamic linker")


def test_events():
    record("record", shared(), events={"audit:ticked": 3})


def test_static_libside():
    record("record", static(), events={"audit:ticked": 3})


def test_wrappers():
    record("record", shared(), "-w", "libc", "-w", "pthread", events={"audit:ticked": 3, "libc:malloc": 1, "pthread:pthread_create": 1})


def test_probes():
    record("trace", shared(), "--function", "twice", "--exit", events={"probe:twice": 1})


def test_no_table():
    """The installed libraries, also for other audit libraries and namespaces of dlmopen()."""
    paths = [path for pattern in ("src/*/lib*.so*", "src/tracers/*/lib*.so*") for path in glob.glob(os.path.join(BUILD, pattern))
             if os.path.isfile(path)]
    true({"libside.so.0", "libside-agent.so", "libside-wrap-libc.so"} <= {os.path.basename(path) for path in paths}, paths)
    for path in paths:
        names = set(re.findall(r"_JUMP_SLOT?\s+\S+\s+(\w+)", run("readelf", "-rW", path).stdout))
        equal(names & FIND_THEIR_CALLER, set(), path)


checks.run_tests(globals())
