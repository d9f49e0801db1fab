# SPDX-License-Identifier: MIT
"""`-w libc` records each call of the allocator, whichever way the program brings one of its own: the counts equal those of the allocator.

usage: test-own-allocator.py SIDE
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish

side = os.path.abspath(sys.argv[1])
work = tempfile.TemporaryDirectory(prefix="side-allocator-")
environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LD_LIBRARY_PATH", "SIDE_AGENT_SOCKET")}
environment["SIDE_RUNTIME"] = os.path.join(work.name, "no-daemon")

# An allocator that counts its calls between marks of the program, so those of side's agent do not count.
ALLOCATOR = r"""
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
extern void *__libc_malloc(size_t size), *__libc_calloc(size_t count, size_t size), *__libc_realloc(void *ptr, size_t size);
extern void __libc_free(void *ptr);
static int counts, nr_malloc, nr_calloc, nr_realloc, nr_free;
void *malloc(size_t size) { nr_malloc += counts; return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { nr_calloc += counts; return __libc_calloc(count, size); }
void *realloc(void *ptr, size_t size) { nr_realloc += counts; return __libc_realloc(ptr, size); }
void free(void *ptr) { nr_free += counts; __libc_free(ptr); }
void allocator_count(int on)
{
	char line[200];

	counts = on;
	if (!on)
		(void)!write(2, line, (size_t)snprintf(line, sizeof(line), "allocator: %d %d %d %d\n", nr_malloc, nr_calloc, nr_realloc, nr_free));
}
"""

PROGRAM = r"""
#include <stdlib.h>
#include <unistd.h>
extern void allocator_count(int on) __attribute__((weak));
int main(void)
{
	static void *blocks[100];

	if (allocator_count)
		allocator_count(1);
	for (int i = 0; i < 16000; i++) {
		int k = i % 100;

		if (i >= 100)
			free(blocks[k]);
		blocks[k] = i % 3 ? malloc((size_t)(i % 500 + 1)) : calloc((size_t)(i % 50 + 1), 3);
		if (i % 7 == 0)
			blocks[k] = realloc(blocks[k], 700);
	}
	if (allocator_count)
		allocator_count(0);
	/* No calls of the C library's at the end. */
	_exit(3);
}
"""
WANTED = {"libc:malloc": 10666, "libc:calloc": 5334, "libc:realloc": 2286, "libc:free": 15900}
FUNCTIONS = ("libc:malloc", "libc:calloc", "libc:realloc", "libc:free")


def path(name):
    return os.path.join(work.name, name)


def build(name, source, *words):
    with open(path(name + ".c"), "w", encoding="utf-8") as out:
        out.write(source)
    subprocess.run(["gcc", "-O0", "-fno-builtin", path(name + ".c"), "-o", path(name), *words], check=True, timeout=60)
    return path(name)


def recorded(command, **more):
    """The calls of the allocator by the program itself, and what it printed."""
    trace = path("trace")
    shutil.rmtree(trace, ignore_errors=True)
    done = subprocess.run([side, "record", "-w", "libc", *(word for name in FUNCTIONS for word in ("-e", name)), "--buffer-size", "4M",
                           "-o", trace, "--", *command], capture_output=True, text=True, check=False, timeout=60, env={**environment, **more})
    counts = collections.Counter()
    for folder in os.listdir(trace) if os.path.isdir(trace) else ():
        if folder.startswith("program"):
            shown = subprocess.run([side, "view", "--json", os.path.join(trace, folder)], capture_output=True, text=True, check=True, timeout=60)
            counts.update(json.loads(line).get("event") for line in shown.stdout.splitlines())
    return {name: counts[name] for name in FUNCTIONS}, done


def check(command, what, status=3, counted=True, **more):
    counts, done = recorded(command, **more)
    expect_equal(done.returncode, status, f"{what}: status, {done.stderr}")
    expect_equal(counts, WANTED, what)
    lines = re.findall(r"^allocator: (\d+) (\d+) (\d+) (\d+)$", done.stderr, re.M)
    expect_equal(lines, [tuple(str(WANTED[name]) for name in FUNCTIONS)] if counted else [], f"{what}: the allocator's own counts")


allocator = build("allocator.so", ALLOCATOR, "-shared", "-fPIC")
program = build("program", PROGRAM)
linked = build("program-linked", PROGRAM, allocator, "-Wl,-rpath," + work.name)

check([program], "the C library's allocator", counted=False)
check([program], "LD_PRELOAD of the user", LD_PRELOAD=allocator)
check([linked], "linked")
check(["env", "LD_PRELOAD=" + allocator, program], "env")
check(["sh", "-c", f"LD_PRELOAD={allocator} {program}; exit $?"], "a shell")
check(["sh", "-c", f"export LD_PRELOAD={allocator}; exec {program}"], "exec of a shell")
check([sys.executable, "-c", f"import os, sys, subprocess; sys.exit(subprocess.run([{program!r}], env=dict(os.environ, LD_PRELOAD={allocator!r})).returncode)"],
      "subprocess")
check([sys.executable, "-c", "import os, sys; pid = os.posix_spawn({0!r}, [{0!r}], dict(os.environ, LD_PRELOAD={1!r})); "
       "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))".format(program, allocator)], "posix_spawn")

# The list is the program's own, after side's, and remains so in its children.
counts, done = recorded(["env", "LD_PRELOAD=" + allocator, "sh", "-c", "echo $LD_PRELOAD; " + program])
names = [os.path.basename(name) for name in done.stdout.strip().split(":")]
expect_equal((names[0], names[-1]), ("libside-agent.so", "allocator.so"), f"order: {names}")
expect_equal(counts, WANTED, "a child of the program")
# What removes all libraries is obeyed.
for words in (("env", "LD_PRELOAD=", program), ("env", "-u", "LD_PRELOAD", program), ("env", "-i", program)):
    counts, done = recorded(words)
    expect_equal((sum(counts.values()), done.returncode), (0, 3), " ".join(words[:-1]))


def test_large():
    """Environments up to the limits are completed, larger ones are passed on unchanged."""
    code = ("import os, sys\nnr, size = int(sys.argv[1]), int(sys.argv[2])\nkept = dict((k, os.environ[k]) for k in ('SIDE_AGENT_SOCKET', 'PATH'))\n"
            "kept['LD_PRELOAD'] = sys.argv[3] + ':' * (size - len(sys.argv[3])) if size else sys.argv[3]\n"
            "kept.update(('V%d' % i, '') for i in range(nr - len(kept)))\nos.execve(sys.argv[4], sys.argv[4:], kept)")
    _, done = recorded(["env", "LD_PRELOAD=" + allocator, "sh", "-c", "echo $LD_PRELOAD"])
    own = len(done.stdout.strip()) - len(allocator)
    for what, nr, size, is_kept in (("variables", 4096, 0, True), ("more variables", 4097, 0, False),
                                    ("bytes", 4, 8192 - 1 - len("LD_PRELOAD=") - own, True), ("more bytes", 4, 8192 - len("LD_PRELOAD=") - own, False)):
        counts, done = recorded([sys.executable, "-c", code, str(nr), str(size), allocator, program])
        expect_equal((counts == WANTED, done.returncode), (is_kept, 3), f"{what}: {counts}, {done.stderr[-300:]}")


def test_large_in_vfork():
    """The child of a vfork() copies an environment to the stack: it is completed up to the limit, and passed on unchanged beyond."""
    code = ("import os, subprocess, sys\nkept = dict((k, os.environ[k]) for k in ('SIDE_AGENT_SOCKET', 'PATH'))\n"
            "size, own = int(sys.argv[1]), int(sys.argv[2])\nspace = size - own - len('LD_PRELOAD=') - len(sys.argv[3]) - 1\n"
            "nr = space // 8 - 1\nkept['LD_PRELOAD'] = sys.argv[3] + ':' * (space - (nr + 1) * 8)\n"
            "kept.update(('V%d' % i, '') for i in range(nr - len(kept)))\nsys.exit(subprocess.run(sys.argv[4:], env=kept).returncode)")
    _, done = recorded(["env", "LD_PRELOAD=" + allocator, "sh", "-c", "echo $LD_PRELOAD"])
    own = len(done.stdout.strip()) - len(allocator)
    for size, is_kept in ((4096, True), (4097, False)):
        counts, done = recorded([sys.executable, "-c", code, str(size), str(own), allocator, program])
        expect_equal((counts == WANTED, done.returncode), (is_kept, 3), f"{size} bytes after vfork(): {counts}, {done.stderr[-300:]}")


test_large()
test_large_in_vfork()
jemalloc = subprocess.run(["gcc", "-print-file-name=libjemalloc.so.2"], capture_output=True, text=True, check=True).stdout.strip()
if os.path.exists(jemalloc):
    counts, done = recorded(["env", "LD_PRELOAD=" + jemalloc, program])
    # Its C++ library allocates one block at its start.
    expect({**counts, "libc:malloc": 0} == {**WANTED, "libc:malloc": 0} and 0 <= counts["libc:malloc"] - WANTED["libc:malloc"] <= 2,
           f"jemalloc: {counts}, {done.stderr}")
finish("jemalloc" if os.path.exists(jemalloc) else "without jemalloc")
