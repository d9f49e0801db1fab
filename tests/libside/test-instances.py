# SPDX-License-Identifier: MIT
"""Several copies of libside in one process: each event of each copy is recorded once, from the start, by sessions and after attaching.

usage: test-instances.py SIDE SIDED BUILD-DIRECTORY INCLUDE-DIRECTORY

babeltrace2 counts the events.
"""
import collections
import functools
import json
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
OTHER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "other-libside.c")
run = functools.partial(checks.run, timeout=60)

PLUGIN = """
#include <side/trace.h>
side_static_event(called, NAME, "called", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u64("count"), side_field_string("word")));
side_static_event_variadic(more, NAME, "more", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u64("count")));
static void __attribute__((constructor)) early(void) { side_event(called, side_arg_list(side_arg_u64(1000), side_arg_string("early"))); }
void plugin_call(int count);
void plugin_call(int count)
{
	side_event(called, side_arg_list(side_arg_u64((unsigned long)count), side_arg_string("word")));
	side_event_variadic(more, side_arg_list(side_arg_u64((unsigned long)count)), side_arg_list(side_arg_dynamic_field("extra", side_arg_dynamic_u32(7))));
}
"""
# host COUNT [wait|fork|close]... {local|new}:LIBRARY... [then {local|new}:LIBRARY...]
HOST = r"""
#define _GNU_SOURCE
#ifdef TICK
#include <side/trace.h>
side_static_event(tick, "host", "tick", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u64("count")));
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void (*calls[8])(int);
static void *handles[8];
static int nr;

static void load(const char *name)
{
	const char *path = strchr(name, ':') + 1;
	void *library = *name == 'n' ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW) : dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	handles[nr] = library;
	calls[nr++] = (void (*)(int))dlsym(library, "plugin_call");
}

static void emit(int count)
{
	for (int i = 0; i < count; i++) {
#ifdef TICK
		side_event(tick, side_arg_list(side_arg_u64((unsigned long)i)));
#endif
		for (int k = 0; k < nr; k++)
			calls[k](i);
	}
}

int main(int argc, char **argv)
{
	int count = atoi(argv[1]), wait_for_line = 0, forks = 0, closes = 0, i;

	for (i = 2; i < argc && strcmp(argv[i], "then"); i++) {
		if (strchr(argv[i], ':'))
			load(argv[i]);
		wait_for_line |= !strcmp(argv[i], "wait");
		forks |= !strcmp(argv[i], "fork");
		closes |= !strcmp(argv[i], "close");
	}
	puts("ready");
	fflush(stdout);
	if (wait_for_line && getchar() != '\n')
		return 1;
	if (i < argc) {
		while (++i < argc)
			load(argv[i]);
		puts("loaded");
		fflush(stdout);
		if (wait_for_line && getchar() != '\n')
			return 1;
	}
	if (forks && !fork()) {
		emit(count);
		return 0;
	}
	if (forks)
		wait(NULL);
	emit(count);
	for (int i = 0; closes && i < nr; i++)
		dlclose(handles[i]);
	return 0;
}
"""


class Instances(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="side-instances-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.make_libraries()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def build(cls, name, text, *words):
        with open(cls.path(name + ".c"), "w", encoding="utf-8") as out:
            out.write(text)
        run("gcc", "-O1", "-g", "-Wall", "-Wextra", cls.path(name + ".c"), "-I", INCLUDE, *words, "-o", cls.path(name))

    @classmethod
    def make_libraries(cls):
        with open(os.path.join(SHARED, "libside.so.0"), "rb") as file:
            library = file.read()
        # The same length, so that no address changes.
        with open(cls.path("libvend.so.0"), "wb") as file:
            file.write(library.replace(b"libside.so.0\0", b"libvend.so.0\0"))
        shared = ("-L" + SHARED, "-l:libside.so.0", "-Wl,-rpath," + SHARED)
        vendor = ("-L" + cls.folder, "-l:libvend.so.0", "-Wl,-rpath," + cls.folder)
        other = ("-L" + cls.folder, "-l:libother.so.0", "-Wl,-rpath," + cls.folder)
        plugin = ("-shared", "-fPIC")
        run("gcc", "-O1", "-Wall", "-Wextra", *plugin, OTHER, "-I", INCLUDE, "-Wl,-soname,libother.so.0", "-Wl,-Bsymbolic", "-o", cls.path("libother.so.0"))
        cls.build("other.so", PLUGIN, *plugin, '-DNAME="other"', *other)
        cls.build("vendor.so", PLUGIN, *plugin, '-DNAME="vendor"', *vendor)
        cls.build("shared.so", PLUGIN, *plugin, '-DNAME="shared"', *shared)
        cls.build("static.so", PLUGIN, *plugin, '-DNAME="static"', ARCHIVE)
        # The same names of events as in shared.so.
        cls.build("same.so", PLUGIN, *plugin, '-DNAME="shared"', *vendor)
        cls.build("plain", HOST)
        cls.build("with-shared", HOST, "-DTICK", *shared)
        cls.build("with-static", HOST, "-DTICK", ARCHIVE)

    def setUp(self):
        shutil.rmtree(self.path("runtime"), ignore_errors=True)
        shutil.rmtree(self.path("trace"), ignore_errors=True)
        os.mkdir(self.path("runtime"), 0o700)
        self.environment = {k: v for k, v in os.environ.items() if k not in ("SIDE_RUNTIME", "SIDE_DEBUG", "LD_PRELOAD", "SIDE_CONTROL")}
        self.environment.update(SIDE_RUNTIME=self.path("runtime"), SIDE_LIB_DIR=os.path.join(BUILD, "src/tracers/agent"))

    def side(self, *words, **options):
        return run(SIDE, *words, env=self.environment, **options)

    def counts(self, trace="trace"):
        found = collections.Counter()
        for line in run("babeltrace2", self.path(trace)).stdout.splitlines():
            found[re.search(r"\b(\w+:(?:tick|called|more)):", line).group(1)] += 1
        return dict(found)

    def command(self, program, *words):
        return (self.path(program), *(re.sub(r":", ":" + self.folder + "/", word) for word in words))

    def record(self, program, *words, options=()):
        return self.side("record", "-o", self.path("trace"), *options, "--", *self.command(program, *words)).stderr

    def start(self, program, *words):
        child = subprocess.Popen(self.command(program, *words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment)

        def end():
            child.kill()
            child.wait()
            child.stdin.close()
            child.stdout.close()
        self.addCleanup(end)
        self.assertEqual(child.stdout.readline(), "ready\n")
        return child

    def attach(self, child, *options):
        recorder = subprocess.Popen([SIDE, "attach", "-o", self.path("trace"), *options, "-p", str(child.pid)], stderr=subprocess.PIPE, text=True,
                                    env=self.environment)
        self.addCleanup(recorder.stderr.close)
        self.addCleanup(recorder.kill)
        self.assertIn("recording", recorder.stderr.readline())
        return recorder

    def finish(self, child, recorder):
        child.stdin.write("\n")
        child.stdin.close()
        self.assertEqual(child.wait(60), 0)
        recorder.wait(60)

    def start_daemon(self):
        daemon = subprocess.Popen([SIDED, "--foreground"], env=self.environment, stderr=subprocess.DEVNULL)

        def end():
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(120)
        self.addCleanup(end)
        wait_until(lambda: os.path.exists(self.path("runtime/agents.sock")), "the daemon")

    # Each has the events that one round of ten calls makes, beside the one of each constructor.
    PROCESSES = (
        ("with-shared", ("10", "local:vendor.so"), {"host": 10, "vendor": 10}),
        ("plain", ("10", "local:vendor.so", "local:shared.so"), {"vendor": 10, "shared": 10}),
        ("with-shared", ("10", "new:shared.so"), {"host": 10, "shared": 10}),
        ("plain", ("10", "new:shared.so", "new:vendor.so"), {"shared": 10, "vendor": 10}),
        ("with-static", ("10", "local:static.so", "local:vendor.so", "new:shared.so"), {"host": 10, "static": 10, "vendor": 10, "shared": 10}),
        ("plain", ("10", "local:static.so", "local:shared.so"), {"static": 10, "shared": 10}),
        ("with-shared", ("10", "fork", "new:shared.so", "local:vendor.so"), {"host": 20, "shared": 20, "vendor": 20}),
        ("with-shared", ("10", "close", "new:shared.so", "local:vendor.so", "local:static.so"),
         {"host": 10, "shared": 10, "vendor": 10, "static": 10}),
    )

    def expected(self, rounds, early):
        wanted = {}
        for name, number in rounds.items():
            if name == "host":
                wanted["host:tick"] = number
            else:
                wanted[name + ":called"] = number + early
                wanted[name + ":more"] = number
        return wanted

    def test_record(self):
        for program, words, rounds in self.PROCESSES:
            with self.subTest(program=program, words=words):
                messages = self.record(program, *words)
                self.assertEqual(self.counts(), self.expected(rounds, 1))
                self.assertNotIn("not recorded", messages)
                shutil.rmtree(self.path("trace"))

    def test_attach(self):
        for program, words, rounds in self.PROCESSES:
            with self.subTest(program=program, words=words):
                child = self.start(program, *words, "wait")
                self.finish(child, self.attach(child))
                self.assertEqual(self.counts(), self.expected(rounds, 0))
                shutil.rmtree(self.path("trace"))

    def test_session(self):
        self.start_daemon()
        for program, words, rounds in self.PROCESSES:
            with self.subTest(program=program, words=words):
                self.side("create", "s", "-o", self.path("trace"))
                self.side("enable-event", "*:called,*:more,*:tick")
                self.side("start")
                run(*self.command(program, *words), env=self.environment)
                self.side("stop")
                self.side("destroy")
                self.assertEqual(self.counts(), self.expected(rounds, 1))
                shutil.rmtree(self.path("trace"))

    def test_session_of_running_programs(self):
        """The first copy starts while no session exists. Rules that change later reach the events of all copies."""
        self.start_daemon()
        child = self.start("plain", "10", "new:shared.so", "local:vendor.so", "wait")
        self.side("create", "s", "-o", self.path("trace"))
        self.side("enable-event", "shared:*,vendor:*")
        self.side("start")
        self.side("disable-event", "vendor:*")
        self.side("enable-event", "vendor:more", "--filter", "count > 5")
        child.stdin.write("\n")
        child.stdin.close()
        self.assertEqual(child.wait(60), 0)
        self.side("stop")
        self.side("destroy")
        self.assertEqual(self.counts(), {"shared:called": 10, "shared:more": 10, "vendor:more": 4})

    def test_rules_and_fields(self):
        self.record("with-shared", "10", "new:vendor.so", options=("-e", "vendor:called", "--filter", "count > 5 && word == \"word\""))
        shown = run("babeltrace2", self.path("trace")).stdout
        self.assertEqual([int(number) for number in re.findall(r"vendor:called: .*count = (\d+), word = \"word\"", shown)], [6, 7, 8, 9])
        self.assertEqual(len(shown.splitlines()), 4)

    def test_caller(self):
        """The context `ip` is in the function of the plug-in, not in a copy of libside."""
        self.record("with-shared", "1", "new:vendor.so", options=("-e", "vendor:*", "-e", "side:library_load", "--context", "ip"))
        shown = run("babeltrace2", self.path("trace")).stdout
        base = int(re.search(r"library_load:.*path = \"[^\"]*/vendor.so\", base = (0x[0-9A-Fa-f]+)", shown).group(1), 16)
        found = [int(text, 16) for text in re.findall(r"vendor:\w+: .*ip = (0x[0-9A-Fa-f]+)", shown)]
        self.assertEqual(len(found), 3)
        for ip in found:
            self.assertTrue(base <= ip < base + os.path.getsize(self.path("vendor.so")), shown)

    def test_same_names(self):
        """Two copies have events of the same name: each is recorded."""
        self.record("with-shared", "10", "local:same.so", "new:shared.so")
        self.assertEqual(self.counts(), {"host:tick": 10, "shared:called": 22, "shared:more": 20})

    def test_metadata(self):
        self.record("with-shared", "1", "new:vendor.so")
        with open(self.find_metadata(), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("side.instance", text)
        self.assertIn(self.path("libvend.so.0"), text.replace("\\/", "/"))

    def find_metadata(self):
        for directory, _, names in os.walk(self.path("trace")):
            if "metadata" in names:
                return os.path.join(directory, "metadata")
        self.fail("no metadata")

    def test_notes_that_are_not_loaded(self):
        """A library whose header of notes names addresses without memory: the program runs, and is recorded."""
        with open(self.path("shared.so"), "rb") as file:
            library = file.read()
        offset, count = struct.unpack_from("<Q", library, 32)[0], struct.unpack_from("<H", library, 56)[0]
        for address, size in ((0x7000000, 64), (0, 1 << 40), (2 ** 64 - 0x10000, 1 << 20)):
            with self.subTest(address=address, size=size):
                changed = bytearray(library)
                for at in range(offset, offset + count * 56, 56):
                    if struct.unpack_from("<I", library, at)[0] == 4:  # PT_NOTE
                        struct.pack_into("<Q", changed, at + 16, address)
                        struct.pack_into("<QQ", changed, at + 40, size, 4)
                self.assertNotEqual(bytes(changed), library)
                with open(self.path("notes.so"), "wb") as file:
                    file.write(changed)
                run("gcc", "-O1", "-DTICK", self.path("plain.c"), "-I", INCLUDE, "-Wl,--no-as-needed", self.path("notes.so"),
                    "-L" + SHARED, "-l:libside.so.0", "-Wl,-rpath," + SHARED + ":" + self.folder, "-o", self.path("with-notes"))
                self.record("with-notes", "10", options=("-e", "host:*"))
                self.assertEqual(self.counts(), {"host:tick": 10})
                shutil.rmtree(self.path("trace"))

    def test_list(self):
        """Each event is listed once, in its file, also while the agent passes it on."""
        child = self.start("with-shared", "10", "new:shared.so", "local:vendor.so", "local:static.so", "wait")
        recorder = self.attach(child)
        shown = [json.loads(line) for line in self.side("list", "--json", str(child.pid)).stdout.splitlines()]
        names = [event["event"] for event in shown if not event["event"].startswith("side:")]
        self.assertEqual(sorted(names), ["host:tick", "shared:called", "shared:more", "static:called", "static:more", "vendor:called", "vendor:more"])
        self.finish(child, recorder)

    def test_other_implementation(self):
        """A libside that has only the functions and layouts of the specification, with callbacks of its own form."""
        child = self.start("with-shared", "10", "fork", "local:other.so", "new:other.so", "close", "wait")
        self.finish(child, self.attach(child))
        self.assertEqual(self.counts(), {"host:tick": 20, "other:called": 40, "other:more": 40})

    # ---- probes, in processes with two and three copies ----

    PLUGINS = ("static.so", "vendor.so", "shared.so")
    THREE = ("10", "local:static.so", "local:vendor.so", "new:shared.so")

    def probe_counts(self):
        return collections.Counter(re.findall(r" (probe:\w+|\w+:(?:tick|called|more)): ", run("babeltrace2", self.path("trace")).stdout))

    def test_trace(self):
        """The same function of each copy's library, in both namespaces, and of the copy's own code."""
        locations = ["--function", "emit"]
        for plugin in self.PLUGINS:
            locations += "--function", self.path(plugin) + ":plugin_call"
        for program in "with-static", "with-shared", "plain":
            with self.subTest(program=program):
                self.side("trace", "-o", self.path("trace"), *locations, *self.command(program, *self.THREE))
                self.assertEqual(self.probe_counts(), {"probe:emit": 1, "probe:plugin_call": 30})
                shutil.rmtree(self.path("trace"))

    def test_trace_running(self):
        """`side trace -p` of a process with three copies: the filter selects calls of all of them."""
        child = self.start("with-static", *self.THREE, "wait")
        tracer = subprocess.Popen([SIDE, "trace", "-o", self.path("trace"), "-p", str(child.pid), "--arg", "count", "--filter", "count >= 8",
                                   *(word for plugin in self.PLUGINS for word in ("--function", self.path(plugin) + ":plugin_call"))],
                                  env=self.environment, stderr=subprocess.PIPE, text=True)
        self.addCleanup(tracer.stderr.close)
        self.addCleanup(tracer.kill)
        line = tracer.stderr.readline()
        self.assertIn("recording", line)
        self.finish(child, tracer)
        self.assertEqual(self.probe_counts(), {"probe:plugin_call": 6})

    def test_session_with_probe(self):
        """Events of three copies and a probe in one session."""
        self.start_daemon()
        self.side("create", "s", "-o", self.path("trace"))
        self.side("enable-event", "*:called,*:tick", "--filter", "count >= 8 && count < 1000")
        self.side("enable-event", "probe:emit", "--exe", self.path("with-static"), "--function", "emit")
        self.side("start")
        run(*self.command("with-static", *self.THREE), env=self.environment)
        self.side("stop")
        self.side("destroy")
        self.assertEqual(self.probe_counts(), {"host:tick": 2, "static:called": 2, "vendor:called": 2, "shared:called": 2, "probe:emit": 1})

    def test_analyses(self):
        """The verbs that set probes or wrappers of their own: the program prints the same, and each call counts once."""
        for program in "with-static", "with-shared", "plain":
            command = self.command(program, *self.THREE)
            with self.subTest(program=program):
                done = self.side("slow", "--json", "--function", "emit", "--function", "load", *command)
                calls = {line["function"]: line["calls"] for line in map(json.loads, done.stdout.splitlines()[1:]) if line.get("type") == "function"}
                self.assertEqual(calls, {"emit": 1, "load": 3})
                done = self.side("calls", "--json", *command)
                calls = {line["function"]: line["calls"] for line in map(json.loads, done.stdout.splitlines()[1:]) if "calls" in line}
                self.assertEqual((calls["puts"], calls["fflush"]), (1, 1))
                done = self.side("leaks", *command)
                self.assertTrue(done.stdout.startswith("ready\n"), done.stdout)
                self.assertRegex(done.stdout, r"\d+ blocks .* of \d+ allocations")

    # ---- another implementation that is loaded after the agent ----

    LATE = ("local:other.so", "new:other.so")

    def load_late(self, child):
        child.stdin.write("\n")
        child.stdin.flush()
        self.assertEqual(child.stdout.readline(), "loaded\n")

    def test_late_with_notice(self):
        """The agent watches the loader for backtraces: the first event, of a constructor, is recorded."""
        for library in self.LATE:
            for program in "with-shared", "plain":
                with self.subTest(library=library, program=program):
                    child = self.start(program, "10", "close", "wait", "then", library)
                    recorder = self.attach(child, "--context", "backtrace")
                    self.load_late(child)
                    self.finish(child, recorder)
                    found = self.counts()
                    found.pop("host:tick", None)
                    self.assertEqual(found, {"other:called": 11, "other:more": 10})
                    self.assertNotIn("not recorded", recorder.stderr.read())
                    shutil.rmtree(self.path("trace"))

    def test_late_recorded(self):
        """The notice is active in a recorded program, too."""
        messages = self.record("plain", "10", "close", "then", "new:other.so", options=("--context", "backtrace"))
        self.assertEqual(self.counts(), {"other:called": 11, "other:more": 10})
        self.assertNotIn("not recorded", messages)

    def test_late_request(self):
        """The next request of `side attach` finds it."""
        for library in self.LATE:
            with self.subTest(library=library):
                child = self.start("with-shared", "10", "wait", "then", library)
                first = self.attach(child)
                self.load_late(child)
                second = self.attach(child, "-o", self.path("second"))
                self.finish(child, first)
                second.wait(60)
                self.assertEqual(self.counts("second"), {"host:tick": 10, "other:called": 10, "other:more": 10})
                shutil.rmtree(self.path("trace"))
                shutil.rmtree(self.path("second"))

    def test_late_change(self):
        """The next change of a session finds it."""
        self.start_daemon()
        self.side("create", "s", "-o", self.path("trace"))
        self.side("enable-event", "*:tick")
        self.side("start")
        child = self.start("with-shared", "10", "wait", "then", "new:other.so")
        self.load_late(child)
        self.side("enable-event", "other:called", "--filter", "count > 5")
        child.stdin.write("\n")
        child.stdin.close()
        self.assertEqual(child.wait(60), 0)
        self.side("stop")
        self.side("destroy")
        self.assertEqual(self.counts(), {"host:tick": 10, "other:called": 4})

    def test_late_unknown(self):
        """Nothing notifies the agent: the end of the process reports the library."""
        messages = self.record("with-shared", "10", "then", "new:other.so")
        self.assertEqual(self.counts(), {"host:tick": 10})
        self.assertRegex(messages, "libother.so.0.*not recorded|not recorded.*libother.so.0")


if __name__ == "__main__":
    unittest.main(verbosity=2)
