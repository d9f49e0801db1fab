# SPDX-License-Identifier: MIT
"""coverage.py on a program whose entered functions are known."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent)]
import checks
import coverage
import entered

if not all(shutil.which(name) for name in ("clang", entered.PROFDATA, coverage.COV)):
    print("clang, llvm-profdata or llvm-cov is missing")
    sys.exit(77)

HEADER = """static inline int common(int n)
{
	return n + 1;
}
static inline int idle(int n)
{
	return n - 1;
}
"""
FIRST = """#include "../header.h"
int other(int n);
static int never(int n)
{
	return idle(n);
}
int (*kept)(int) = never;
static int twice(int n)
{
	if (n > 100)
		return n;
	return 2 * n;
}
int main(void)
{
	return other(twice(1));
}
"""
SECOND = """#include "../header.h"
int other(int n)
{
	return common(n) - 3;
}
int copied(int n)
{
	return idle(n);
}
"""


# Functions of macros have names that are not in the file.
MADE = """#define MAKE(number) static int made_##number(int n) { return n + number; }
MAKE(4)
MAKE(5)
int made(void);
int made(void)
{
	return made_4(1);
}
static int renamed(int n)
{
	return n + 2;
}
int (*kept)(int) = renamed;
int never(int n)
{
	return n;
}
"""
# A test that includes the file, and enters one of the functions that it renames.
RENAMING = """#define renamed other
#define kept other_kept
#define never other_never
#define made other_made
#include "made.c"
int calls_renamed(void);
int calls_renamed(void)
{
	return other(3);
}
"""


def measure(folder, sources, main=None):
    """Builds and runs the program, and returns the export of llvm-cov for its objects."""
    objects = []
    for name, text in sources.items():
        path = pathlib.Path(folder, "src", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if name.endswith(".c"):
            objects.append(f"{path}.o")
            subprocess.run(["clang", "-fprofile-instr-generate", "-fcoverage-mapping", "-c", path, "-o", objects[-1]], check=True)
    program = os.path.join(folder, "program")
    extra = []
    if main:
        extra = [program + ".c"]
        pathlib.Path(extra[0]).write_text("int made(void); int calls_renamed(void);" + main)
    subprocess.run(["clang", "-fprofile-instr-generate", *objects, *extra, "-o", program], check=True)
    subprocess.run([program], check=True, env=dict(os.environ, LLVM_PROFILE_FILE=folder + "/one.profraw"))
    profiles = pathlib.Path(folder, "coverage")
    profiles.mkdir()
    checks.true(entered.merge([folder + "/one.profraw"], profiles / "all.profdata"), "a profile")
    return json.loads(coverage.call("export", folder))["data"][0]


def test_program():
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        data = measure(folder, {"header.h": HEADER, "one/first.c": FIRST, "two/second.c": SECOND})
        found = coverage.unentered_functions(data, folder)
        checks.equal(found, {"src/header.h": {"idle": 6}, "src/one/first.c": {"never": 4}, "src/two/second.c": {"copied": 7}})
        table = coverage.module_table(data, folder)
        checks.equal({name: row["functions"] for name, row in table.items()}, {"src": [1, 2], "one": [2, 3], "two": [1, 2], "total": [4, 7]})
        # One of the two branches of n > 100 was taken.
        checks.equal(table["one"]["branches"], [1, 2])
        checks.equal(list(table)[-1], "total")
        # Files elsewhere do not count.
        checks.equal(coverage.unentered_functions(data, folder + "/src"), {})
        checks.equal(coverage.module_table(data, folder + "/src"), {})


def test_renamed_functions():
    """A function that a test renames and does not enter is not a separate function."""
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        data = measure(folder, {"made.c": MADE, "renaming.c": RENAMING}, "int main(void) { return calls_renamed() - 5 + made() - 5; }")
        checks.equal(coverage.unentered_functions(data, folder), {"src/made.c": {"made_5": 1, "never": 15}})


def test_killed_programs():
    """A killed program, and a child that calls _exit(), leave their counters in the files that entered.py requests."""
    text = """#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
int killed(void) { return getpid(); }
int child(void) { return getpid(); }
int never(void) { return getpid(); }
int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return never();
	if (!fork())
		_exit(child() < 0);
	killed();
	wait(0);
	kill(getpid(), SIGKILL);
}
"""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "program.c")
        source.write_text(text)
        subprocess.run(["clang", "-fprofile-instr-generate", "-fcoverage-mapping", "-mllvm", "-runtime-counter-relocation", source, "-o",
                        folder + "/program"], check=True)
        command = [folder + "/program"]
        pathlib.Path(folder, "tests.json").write_text(json.dumps([{"name": "program", "command": command, "environment": {}}]))
        checks.equal(entered.wrap(folder, command, "%c%m.profraw"), 128 + 9)
        measured = [json.loads(path.read_text()) for path in pathlib.Path(folder).glob("*/measured.json")]
        checks.equal([one["functions"] for one in measured], [["child", "killed", "main"]])


def test_reasons():
    found = {"src/a.c": {"f": 3, "g": 9}, "src/b.c": {"h": 1}}
    unexplained, explained, stale = coverage.explain(found, {"src/a.c": {"f": "killed", "entered": "old"}, "src/b.c": {"*": "copied"},
                                                             "src/c.c": {"*": "removed"}})
    checks.equal(unexplained, [{"file": "src/a.c", "line": 9, "function": "g", "reason": None}])
    checks.equal([(one["function"], one["reason"]) for one in explained], [("f", "killed"), ("h", "copied")])
    checks.equal(stale, ["src/a.c entered", "src/c.c *"])


def test_report():
    rows = {"ring": {column: [1, 3] for column in coverage.COLUMNS}, "total": {column: [0, 0] for column in coverage.COLUMNS}}
    text = coverage.markdown({"modules": rows, "explained": [], "stale": ["src/a.c f"],
                              "unentered": [{"file": "src/a.c", "line": 9, "function": "g", "reason": None}]})
    for line in ("| ring | 33.3 | 33.3 | 33.3 | 33.3 |", "| total | - | - | - | - |", "- `src/a.c:9` `g()`", "None.", "- `src/a.c f`"):
        checks.true(line in text.split("\n"), f"{line!r} is not in {text!r}")


def test_listed_files():
    """Each entry of unentered.json has a file, and a reason."""
    root = here.parents[1]
    for path, listed in json.loads(coverage.REASONS.read_text()).items():
        checks.true((root / path).is_file(), path)
        for name, reason in listed.items():
            checks.true(len(reason) > 10, f"{path} {name}")


checks.run_tests(globals())
