# SPDX-License-Identifier: MIT
"""Programs and libraries that are linked with libside.a: recorded from the start, by sessions and after attaching, or refused with the reason.

usage: test-static.py SIDE SIDED BUILD-DIRECTORY INCLUDE-DIRECTORY

babeltrace2 counts the events.
"""
import functools
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import checks
from waiting import wait_until

SIDE, SIDED, BUILD, INCLUDE = (os.path.abspath(path) for path in sys.argv[1:5])
del sys.argv[1:5]
ARCHIVE = os.path.join(BUILD, "src/libside/libside.a")
SHARED = os.path.join(BUILD, "src/libside")
run = functools.partial(checks.run, timeout=120)

PROGRAM = r"""
#include <side/trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
side_static_event(tick, "clockwork", "tick", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u64("count")));
static void __attribute__((constructor)) early(void) { side_event(tick, side_arg_list(side_arg_u64(1000))); }
static void __attribute__((destructor)) late(void) { side_event(tick, side_arg_list(side_arg_u64(2000))); }
int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 5, i;
	for (i = 0; i < count; i++)
		side_event(tick, side_arg_list(side_arg_u64((unsigned long)i)));
	puts("ready");
	fflush(stdout);
	/* A second round when a line has arrived. */
	while (argc > 2 && getchar() == '\n')
		for (i = 0; i < count; i++)
			side_event(tick, side_arg_list(side_arg_u64((unsigned long)i)));
	return 0;
}
"""
OBJECTS = """
#include <side/trace.h>
side_static_event(tick, "clockwork", "tick", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u64("count")));
struct Object {
	Object() { side_event(tick, side_arg_list(side_arg_u64(1))); }
	~Object() { side_event(tick, side_arg_list(side_arg_u64(2))); }
};
static Object object;
int main()
{
	try {
		throw 3;
	} catch (int number) {
		side_event(tick, side_arg_list(side_arg_u64(number)));
	}
}
"""
LIBRARY = """
#include <side/trace.h>
side_static_event(called, "library", "called", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u64("count")));
void library_call(int count);
void library_call(int count) { side_event(called, side_arg_list(side_arg_u64((unsigned long)count))); }
"""
# A function of another library with a name like those of libside, and data after the read-only part of the library.
NEIGHBOR = "void side_effect(int count); void side_effect(int count) { (void)count; }"
NEIGHBORED = LIBRARY.replace("void library_call(int count);", """
void __attribute__((weak)) side_effect(int count);
unsigned long written[2] = {1, 2};
void library_call(int count);""").replace("{ side_event(", "{ side_effect(count); written[count & 1]++; side_event(")
USER = """
#include <side/trace.h>
#include <dlfcn.h>
#include <stdlib.h>
side_static_event(tick, "clockwork", "tick", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u64("count")));
#ifdef LINKED
extern void library_call(int count);
#else
#define library_call NULL
#endif
int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*call)(int) = library ? (void (*)(int))dlsym(library, "library_call") : library_call;
	int i;
	if (!call)
		abort();
	for (i = 0; i < 4; i++) {
		side_event(tick, side_arg_list(side_arg_u64((unsigned long)i)));
		call(i);
	}
	return 0;
}
"""


def grow_relro(path, more):
    """Lets PT_GNU_RELRO end within the page of data, which the loader leaves writable, as linkers do
    that do not align its end.
    """
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        start, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        for at in range(start, start + size * count, size):
            if struct.unpack_from("<I", data, at)[0] == 0x6474e552:
                struct.pack_into("<Q", data, at + 40, struct.unpack_from("<Q", data, at + 40)[0] + more)
        file.seek(0)
        file.write(data)


class Static(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="side-static-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = {k: v for k, v in os.environ.items() if k not in ("SIDE_RUNTIME", "SIDE_DEBUG", "LD_PRELOAD", "SIDE_CONTROL")}
        self.environment["SIDE_RUNTIME"] = self.path("runtime")
        os.mkdir(self.path("runtime"), 0o700)

    def path(self, name):
        return os.path.join(self.folder, name)

    def build(self, name, text, *words, compiler="gcc", archive=True, status=0):
        """Builds a program; returns the output of compiler and linker."""
        source = self.path(name + (".cpp" if compiler.endswith("++") else ".c"))
        with open(source, "w", encoding="utf-8") as out:
            out.write(text)
        done = run(compiler, "-O1", "-Wall", "-Wextra", source, "-I", INCLUDE, *([ARCHIVE] if archive else []), *words, "-o", self.path(name),
                   status=status)
        return done.stderr

    def side(self, *words, **options):
        return run(SIDE, *words, env=self.environment, **options)

    def counts(self, trace):
        """Returns {event: count} of a trace, as babeltrace2 reads it."""
        lines = run("babeltrace2", self.path(trace)).stdout.splitlines()
        found = {}
        for line in lines:
            name = re.search(r"\b(clockwork:tick|library:called|probe:\w+):", line).group(1)
            found[name] = found.get(name, 0) + 1
        return found

    def record(self, trace, *command):
        shutil.rmtree(self.path(trace), ignore_errors=True)
        return self.side("record", "-o", self.path(trace), "--", *command).stderr

    def test_archive(self):
        shown = run("nm", "-g", "--defined-only", ARCHIVE).stdout
        names = {line.split()[-1] for line in shown.splitlines() if len(line.split()) == 3}
        self.assertTrue(names and all(name.startswith("side_") for name in names), names)
        shared = run("nm", "-D", "--defined-only", os.path.join(SHARED, "libside.so.0")).stdout
        self.assertEqual({line.split()[-1] for line in shared.splitlines()}, names)

    def test_compilers_and_options(self):
        for compiler, text, wanted in (("gcc", PROGRAM, 7), ("clang", PROGRAM, 7), ("g++", OBJECTS, 3), ("clang++", OBJECTS, 3)):
            if not shutil.which(compiler):
                continue
            for options in ((), ("-rdynamic", "-no-pie", "-Wl,--gc-sections", "-s")):
                with self.subTest(compiler=compiler, options=options):
                    self.assertEqual(self.build("program", text, *options, compiler=compiler), "")
                    self.assertNotIn("libside", run("readelf", "-d", self.path("program")).stdout)
                    self.record("trace", self.path("program"))
                    self.assertEqual(self.counts("trace"), {"clockwork:tick": wanted})

    def test_linked_with_lld(self):
        if not shutil.which("ld.lld") or not shutil.which("clang"):
            self.skipTest("no lld")
        self.build("program", PROGRAM, "-fuse-ld=lld", "-Wl,--gc-sections", compiler="clang")
        self.record("trace", self.path("program"), "3")
        self.assertEqual(self.counts("trace"), {"clockwork:tick": 5})

    def start(self, *words):
        child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                 env=dict(self.environment, SIDE_LIB_DIR=os.path.join(BUILD, "src/tracers/agent")))

        def end():
            child.kill()
            child.wait()
            child.stdin.close()
            child.stdout.close()
        self.addCleanup(end)
        self.assertEqual(child.stdout.readline(), "ready\n")
        return child

    def test_attach(self):
        self.build("program", PROGRAM)
        child = self.start(self.path("program"), "6", "again")
        self.assertIn("clockwork:tick", self.side("list", str(child.pid)).stdout)
        self.attach_for_second_round(child)

    def test_attach_keeps_rights(self):
        """The agent replaces the program's import of signal(): only pages that the loader made
        read-only are read-only afterwards.
        """
        self.build("program", PROGRAM.replace('puts("ready");', 'signal(SIGUSR1, SIG_IGN); puts("ready");').replace("#include <stdio.h>", """
#include <signal.h>
#include <stdio.h>"""), "-Wl,-z,lazy")
        grow_relro(self.path("program"), 0x200)
        self.attach_for_second_round(self.start(self.path("program"), "6", "again"))

    def attach_for_second_round(self, child):
        recorder = subprocess.Popen([SIDE, "attach", "-o", self.path("trace"), "-p", str(child.pid)], stderr=subprocess.PIPE, text=True,
                                    env=self.environment)
        self.addCleanup(recorder.stderr.close)
        self.addCleanup(recorder.kill)
        self.assertIn("recording", recorder.stderr.readline())
        child.stdin.write("\n")
        child.stdin.close()
        self.assertEqual(child.wait(60), 0)
        recorder.wait(60)
        # The events of the second round and of the destructor.
        self.assertEqual(self.counts("trace"), {"clockwork:tick": 7})

    def test_session_of_the_daemon(self):
        self.build("program", PROGRAM)
        daemon = subprocess.Popen([SIDED, "--foreground"], env=self.environment, stderr=subprocess.DEVNULL)

        def end():
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(120)
        self.addCleanup(end)
        wait_until(lambda: os.path.exists(self.path("runtime/agents.sock")), "the daemon")
        self.side("create", "s", "-o", self.path("trace"))
        self.side("enable-event", "clockwork:*")
        self.side("start")
        child = self.start(self.path("program"), "8")
        self.assertEqual(child.wait(60), 0)
        self.side("stop")
        self.side("destroy")
        self.assertEqual(self.counts("trace"), {"clockwork:tick": 10})

    def test_libraries(self):
        """With libside.so.0 they share the program's copy; with libside.a they have a copy of their own."""
        shared = ("-L" + SHARED, "-lside", "-Wl,-rpath," + SHARED)
        self.build("shared.so", LIBRARY, "-shared", "-fPIC", *shared, archive=False)
        self.build("static.so", LIBRARY, "-shared", "-fPIC")
        self.build("with-archive", USER)
        self.build("with-shared", USER, *shared, archive=False)
        self.build("linked", USER, "-DLINKED", "-L" + self.folder, "-l:shared.so", "-Wl,-rpath," + self.folder)
        both = {"clockwork:tick": 4, "library:called": 4}
        for program in ("with-archive", "with-shared"):
            self.record("trace", self.path(program), self.path("shared.so"))
            self.assertEqual(self.counts("trace"), both, program)
            messages = self.record("trace", self.path(program), self.path("static.so"))
            self.assertEqual(self.counts("trace"), both, program)
            self.assertNotIn("not recorded", messages)
        self.record("trace", self.path("linked"))
        self.assertEqual(self.counts("trace"), both)

    def test_library_keeps_its_own(self):
        """Binding a library to the copy changes no slot of another name, and no permissions of its data."""
        shared = ("-L" + SHARED, "-lside", "-Wl,-rpath," + SHARED)
        self.build("neighbor.so", NEIGHBOR, "-shared", "-fPIC", archive=False)
        both = {"clockwork:tick": 4, "library:called": 4}
        for options, more in (("-z,lazy", 0), ("-z,now", 0), ("-z,now", 0x200)):
            with self.subTest(options=options, more=more):
                self.build("shared.so", NEIGHBORED, "-shared", "-fPIC", "-Wl,--no-as-needed," + options, *shared, "-L" + self.folder,
                           "-l:neighbor.so", "-Wl,-rpath," + self.folder, archive=False)
                grow_relro(self.path("shared.so"), more)
                self.build("program", USER, "-DLINKED", "-L" + self.folder, "-l:shared.so", "-Wl,-rpath," + self.folder)
                self.record("trace", self.path("program"))
                self.assertEqual(self.counts("trace"), both)

    def test_static_programs(self):
        for options in (("-static",), ("-static-pie", "-fPIE")):
            if run("gcc", *options, "-xc", "-", "-o", os.devnull, input="int main(void) { return 0; }", status=None).returncode:
                continue
            self.assertEqual(self.build("program", PROGRAM, *options), "")
            self.assertEqual(run(self.path("program"), env=self.environment).stdout, "ready\n")
            for command in ((self.path("program"),), ("sh", "-c", self.path("program") + "; true")):
                done = self.side("record", "-o", self.path("trace"), "--", *command)
                self.assertEqual(done.stdout, "ready\n")
                # Each program is reported once: by itself, or by the recorder that sees it start.
                self.assertRegex(done.stderr, r"side: process \d+ \(program\) is not recorded: it is linked statically with libside and the C library, .*\nhint: link it without -static"
                                 r"|side: not recorded: \S*/program is statically linked, so the agent cannot be preloaded into it")
                shutil.rmtree(self.path("trace"))

    def test_probes(self):
        """Functions of the copy run in each hit, so they are not functions of the program."""
        self.build("program", PROGRAM)
        for options in ((), ("-s",)):
            self.build("program", PROGRAM, *options)
            done = self.side("trace", "-o", self.path("trace"), "--function", "*", "-c", self.path("program"))
            hits = run("babeltrace2", self.path("trace")).stdout
            shutil.rmtree(self.path("trace"))
            self.assertNotIn("side_call", hits, done.stderr)
            self.assertLess(len(hits.splitlines()), 40)
            if not options:
                self.assertEqual(hits.count('"main"'), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
