# SPDX-License-Identifier: MIT
"""The operators of mutate.py on a function whose changes are known, and the same sample for the same seed."""
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent)]
import checks
from waiting import has_ended, wait_until

try:
    import clang.cindex
    clang.cindex.Index.create()
except Exception as error:
    print(f"python3-clang is missing: {error}")
    sys.exit(77)
import entered
import mutate
import operators
import switched

SOURCE = b"""#include <unistd.h>
#define LIMIT 8
struct word { int value; };
int copy(int from, int to);
int copy_some(int from, int to, int nr, struct word *word)
{
	int fd = dup(from);

	if (fd < 0)
		return -1;
	if (nr >= LIMIT)
		return 7;
	word->value |= nr + 2;
	copy(fd, to);
	close(fd);
	return __atomic_load_n(&word->value, __ATOMIC_ACQUIRE);
}
"""

EXPECTED = {
    ("removed statement", "ordinary", "copy(fd, to)", ""),
    ("removed statement", "ordinary", "word->value |= nr + 2", ""),
    ("removed release", "leak", "close(fd)", ""),
    ("removed check", "failure", "if (fd < 0)\n\t\treturn -1", "{ (void)(fd < 0); }"),
    ("removed check", "check", "if (nr >= LIMIT)\n\t\treturn 7", "{ (void)(nr >= LIMIT); }"),
    ("boundary", "limit", "<", "<="),
    ("boundary", "limit", ">=", ">"),
    ("negation", "ordinary", "fd < 0", "!(fd < 0)"),
    ("negation", "ordinary", "nr >= LIMIT", "!(nr >= LIMIT)"),
    ("arithmetic", "ordinary", "|=", "="),
    ("arithmetic", "ordinary", "+", "-"),
    ("constant", "ordinary", "0", "1"),
    ("constant", "ordinary", "1", "2"),
    ("constant", "limit", "7", "8"),
    ("constant", "limit", "2", "3"),
    ("swapped arguments", "ordinary", "fd, to", "to, fd"),
    ("weaker order", "order", "__ATOMIC_ACQUIRE", "__ATOMIC_RELAXED"),
}


def changes_of(directory):
    (directory / "some.c").write_bytes(SOURCE)
    return operators.find_changes(directory, "some.c", [], str(directory))


def test_operators():
    with tempfile.TemporaryDirectory() as directory:
        source, changes = changes_of(pathlib.Path(directory))
        checks.equal(source.errors, [], "errors of the parser")
        checks.equal({(c.operator, c.kind, c.old, c.new) for c in changes}, EXPECTED, "changes")
        checks.equal({c.function for c in changes}, {"copy_some"}, "function")


def test_changes_compile():
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        source, changes = changes_of(directory)
        for change in changes:
            changed = change.apply(source.bytes)
            checks.true(changed != SOURCE, f"{change}: nothing has changed")
            checks.equal(len(changed) - len(SOURCE), len(change.new) - len(change.old), f"{change}: only that has changed")
            (directory / "changed.c").write_bytes(changed)
            done = subprocess.run(["cc", "-fsyntax-only", directory / "changed.c"], capture_output=True, text=True)
            checks.equal(done.returncode, 0, f"{change}: {done.stderr}")
        checks.equal(len({change.key() for change in changes}), len(changes), "keys differ")


def test_sizes():
    """The operand of sizeof has no change."""
    text = "int f(int *a)\n{\n\treturn (int)(sizeof(a[0]) * sizeof(int[3])) + a[2];\n}\n"
    with tempfile.TemporaryDirectory() as directory:
        (pathlib.Path(directory) / "a.c").write_text(text)
        changes = operators.find_changes(pathlib.Path(directory), "a.c", ["-xc"], directory)[1]
    checks.equal([(change.old, change.new) for change in changes if change.operator == "constant"], [("2", "3")], "constants")


def test_keys():
    """The first of several equal changes has the key that it would have alone, and the others have keys of their own."""
    text = "int f(int a, int b)\n{\n\treturn a < 7 && b < 7;\n}\n"
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        keys = []
        for body in (text, text.replace(" && b < 7", "")):
            (root / "a.c").write_text(body)
            changes = operators.find_changes(root, "a.c", ["-xc"], directory)[1]
            keys.append([change.key() for change in changes if change.operator == "boundary"])
    checks.equal([len(keys[0]), len(set(keys[0])), keys[0][:1]], [2, 2, keys[1]], "keys of two equal changes, and of one")


def test_changed_file():
    with tempfile.TemporaryDirectory() as directory:
        source, changes = changes_of(pathlib.Path(directory))
        try:
            changes[0].apply(b"\n" + source.bytes)
        except ValueError as error:
            checks.contains(str(error), "some.c:9: the file has changed since it was parsed")
        else:
            raise AssertionError("a changed file was changed once more")


def test_tests_of():
    change = operators.Change("src/ring/lost.c", "take", 1, "", "", 0, 0, "", "")
    measured = {"slow": {"seconds": 20, "functions": ["lost.c:take"]}, "quick": {"seconds": 1, "functions": ["x", "take"]},
               "wide": {"seconds": 1, "functions": ["take"] + ["x"] * 5000}, "other": {"seconds": 1, "functions": ["hit.c:take"]},
               "prefix": {"seconds": 1, "functions": ["retake"]}}
    checks.equal(mutate.tests_of(measured, change), ["quick", "wide", "slow"], "tests")


def test_tests_of_order():
    """The test that compares orders with comments runs first; a relaxed access needs no such comment."""
    measured = {"enters": {"seconds": 1, "functions": ["hit.c:take"]}}
    for old, tests in (("__ATOMIC_ACQUIRE", ["atomics-probe", "enters"]), ("atomic_signal_fence(order)", ["atomics-probe", "enters"]),
                       ("__atomic_load_n(&at, __ATOMIC_RELAXED)", ["enters"])):
        change = operators.Change("src/probe/patch/hit.c", "take", 1, "", "", 0, 0, old, "")
        checks.equal(mutate.tests_of(measured, change), tests, old)


def test_tests_of_header():
    change = operators.Change("src/ring/lost.h", "take", 1, "", "", 0, 0, "", "")
    measured = {"includes": {"seconds": 1, "functions": ["held.c:take"]}, "other": {"seconds": 1, "functions": ["held.c:retake"]}}
    checks.equal(mutate.tests_of(measured, change), ["includes"], "tests of a function in a header")


def test_tests_of_included_file():
    """A test that includes the C file enters its file-local functions under the name of its own file."""
    change = operators.Change("src/tracers/user-events/notice.c", "is_trusted", 1, "", "", 0, 0, "", "")
    measured = {"includes": {"seconds": 1, "functions": ["test-begin.c:is_trusted"]},
                "other": {"seconds": 1, "functions": ["test-begin.c:trusted", "listen.c:is_trusted"]}}
    checks.equal(mutate.tests_of(measured, change), ["includes"], "tests of a function in an included file")


def test_tests_of_renamed_functions():
    """Each program has a main(). A test of a wrapper gives it another name."""
    measured = {"program": {"seconds": 1, "functions": ["main", "main.c:usage"]}, "other": {"seconds": 1, "functions": ["main", "wrap_valloc"]}}
    main = operators.Change("programs/sided/main.c", "main", 1, "", "", 0, 0, "", "")
    checks.equal(mutate.tests_of(measured, main), ["program"], "tests of main()")
    wrapper = operators.Change("src/tracers/wrap/libc-memory.c", "valloc", 1, "", "", 0, 0, "", "")
    checks.equal(mutate.tests_of(measured, wrapper), ["other"], "tests of valloc()")
    text = '#define main some_main\n#define take first_take\n#define LIMIT 5 + 3\n#include "cmd/one.c"\n#undef main\n#define put two_put\n#include "../two-parts.c"\n'
    checks.equal(dict(mutate.renamed_in(text)), {("one.c", "main"): {"some_main"}, ("one.c", "take"): {"first_take"},
                                                 ("two-parts.c", "take"): {"first_take"}, ("two-parts.c", "put"): {"two_put"}}, "new names")
    # tests/kernel/test-turns.c includes programs/side-kernel/main.c, and gives main() another name.
    measured = {"turns": {"seconds": 1, "functions": ["kernel_main", "main", "test-turns.c:take"]}, "other": {"seconds": 1, "functions": ["main"]}}
    main = operators.Change("programs/side-kernel/main.c", "main", 1, "", "", 0, 0, "", "")
    checks.equal(mutate.tests_of(measured, main), ["turns"], "tests of main() under another name")


def test_modules():
    for path, name in (("src/probe/patch/hit.c", "probe/patch"), ("src/ring/lost.h", "ring"), ("include/side/endian.h", "include")):
        checks.equal(mutate.module(path), name, f"module of {path}")


def test_headers():
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for path, text in (("src/ring/some.h", "static inline int f(void)\n{\n\treturn 3;\n}\n"), ("src/ring/data.h", "extern int data;\n"),
                           ("include/side/public.h", "static inline int g(void)\n{\n\treturn 4;\n}\n")):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        found = operators.headers(root, {"src/ring/some.c": (["-DA"], directory), "src/libside/other.c": (["-DB"], directory)})
        checks.equal(found, {"src/ring/some.h": (["-DA", "-xc"], directory), "include/side/public.h": (["-DB", "-xc"], directory)},
                     "headers and their options")
        changes = operators.find_changes(root, "src/ring/some.h", *found["src/ring/some.h"])[1]
        checks.equal([(change.function, change.old, change.new) for change in changes], [("f", "3", "4")], "changes of a header")


def test_directory_of_a_test():
    tests = [{"name": name, "command": command, "environment": environment} for name, command, environment in
             (("one", ["a", "b"], {}), ("other", ["a b"], {}), ("plain", ["p"], {"X": "1"}), ("portable", ["p"], {"X": "1", "Y": "2"}))]
    environment = {"X": "1", "Z": "3"}
    checks.equal([entered.name_of(tests, command, environment) for command in (["a", "b"], ["a b"], ["p"])], ["one", "other", "plain"], "names")
    checks.equal(entered.name_of(tests, ["p"], {**environment, "Y": "2"}), "portable", "the same command in another environment")
    checks.equal(len({entered.directory_name(test["name"]) for test in tests}), 4, "each test has a directory of its own")


def test_counts_of_a_test():
    """A wrapped command keeps its status. Without counters, no function is reported."""
    command = [sys.executable, "-c", "raise SystemExit(7)"]
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "tests.json").write_text(json.dumps([{"name": "seven", "command": command, "environment": {}}]))
        profiles = pathlib.Path(directory, entered.directory_name("seven"))
        profiles.mkdir()
        (profiles / "merged.profdata").write_text("of an earlier measurement")
        checks.equal(entered.wrap(directory, command), 7, "status")
        measured = json.loads((profiles / "measured.json").read_text())
        checks.equal((measured["passed"], measured["functions"]), (False, []), "result")
        checks.equal((profiles / "merged.profdata").exists(), False, "nothing is left of an earlier measurement")


def test_unsound_tests():
    """A test that also fails without the change is ignored. The next test decides."""
    verdicts = {"broken": (mutate.CAUGHT, "broken"), "good": (mutate.CAUGHT, "good")}
    measured = {"broken": {"passed": False}, "good": {"passed": True}}
    saved = mutate.try_change, mutate.run_limited
    mutate.try_change = lambda root, build, change, tests, entered, budget: verdicts[tests[0]] if tests else (mutate.UNTESTED, "")
    mutate.run_limited = lambda command, seconds: 0 if command[0] == "ninja" else 1
    try:
        sound = {}
        checks.equal(mutate.try_sound_tests("", "", None, ["broken", "good"], measured, 1, sound), (mutate.CAUGHT, "good"), "verdict")
        checks.equal(sound, {"broken": False, "good": True}, "tests that pass without a change")
        checks.equal(mutate.try_sound_tests("", "", None, ["broken"], measured, 1, sound), (mutate.UNTESTED, ""), "no sound test")
    finally:
        mutate.try_change, mutate.run_limited = saved


def test_files_to_build():
    """A test that is a program needs its own files only. A script needs the program too, but not what other tests need."""
    root, build = here.parents[1], "/build"
    described = {
        "tests": [{"name": "inner", "cmd": ["/build/tests/inner"], "depends": ["inner"]},
                  {"name": "other", "cmd": ["/build/tests/other"], "depends": ["other"]},
                  {"name": "script", "cmd": ["/usr/bin/python3", "script.py"], "depends": ["helper", "side"]}],
        "targets": [{"id": name, "defined_in": str(root / folder / "meson.build"), "build_by_default": default,
                     "filename": [f"/build/{name}"]}
                    for name, folder, default in (("inner", "tests", True), ("other", "tests", True), ("helper", "tests", False),
                                                  ("shared", "tests", True), ("side", "programs", True), ("clock", "bench", True),
                                                  ("page", "programs", False))]}
    saved = mutate.introspect
    mutate.introspect = lambda build, what: described[what]
    try:
        checks.equal(mutate.files_to_build(build, ["inner"]), ["inner"], "a program")
        checks.equal(mutate.files_to_build(build, ["inner", "script"]), ["helper", "inner", "shared", "side"], "a program and a script")
        checks.equal(mutate.files_to_build(build, []), ["shared", "side"], "no test")
    finally:
        mutate.introspect = saved


def judged(tests, failing, broken=()):
    """Returns the verdict and the commands of a change after which the tests `failing` fail, and files
    of the tests `broken` do not compile.
    """
    commands = []

    def run(command, seconds):
        commands.append(command[-1])
        return 1 if command[-1] in (*failing, *(f"files of {name}" for name in broken)) else 0

    saved = mutate.run_limited, mutate.files_to_build
    mutate.run_limited = run
    mutate.files_to_build = lambda build, names: [f"files of {' '.join(names)}"]
    try:
        return mutate.judge("/build", tests, {}, 100), commands
    finally:
        mutate.run_limited, mutate.files_to_build = saved


def test_judge():
    """The first four tests are built and run before the others."""
    checks.equal(judged(list("abcdef"), "b"), ((mutate.CAUGHT, "b"), ["files of a b c d", "a", "b"]), "caught by a first test")
    checks.equal(judged(list("abcdef"), "f"), ((mutate.CAUGHT, "f"), ["files of a b c d", *"abcd", "files of e f", *"ef"]), "by another")
    checks.equal(judged(list("ab"), ""), ((mutate.SURVIVED, "2 of 2 tests passed"), ["files of a b", *"ab"]), "survived")
    checks.equal(judged([], ""), ((mutate.UNTESTED, "no test enters the function"), ["files of "]), "untested")
    checks.equal(judged(["a"], "", broken=["a"]), ((mutate.INVALID, "does not compile"), ["files of a"]), "invalid")
    checks.equal(judged([], "", broken=[""]), ((mutate.INVALID, "does not compile"), ["files of "]), "invalid and untested")


PROGRAM = b"""#include <stdio.h>
#include <stdlib.h>
static int count;
static void add(int *sum, int value)
{
	*sum += value + 3;
	count++;
}
typedef int step(int value);
step twice;
int twice(int value)
{
	if (value < 4)
		return value * 2;
	return twice(value - 2) + 5;
}
static inline const char *line(void) { return __LINE__ == 17 ? "same" : "other"; }
int main(void)
{
	int sum = 0;

	add(&sum, twice(4));
	add(&sum, twice(7));
	printf("%d %d %s\\n", sum, count, line());
	return 0;
}
"""


def output_of(directory, path, number=None):
    program = pathlib.Path(directory, "program")
    subprocess.run(["cc", "-O1", "-o", str(program), str(path)], check=True)
    variables = {switched.VARIABLE: str(number)} if number else {}
    done = subprocess.run(["sh", "-c", f"ulimit -c 0; exec {program}"], env={**os.environ, **variables}, check=False, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_switches():
    """A program with all changes behind switches prints with each what a program with this change alone prints."""
    with tempfile.TemporaryDirectory() as directory:
        root, path = pathlib.Path(directory), pathlib.Path(directory, "src/program.c")
        path.parent.mkdir()
        path.write_bytes(PROGRAM)
        source, changes = operators.find_changes(root, "src/program.c", ["-xc"], directory)
        changes = [change for change in changes if change.function not in ("main", "line")]
        numbers = dict(enumerate(changes, 1))
        broken = len(changes) + 1
        numbers[broken] = dataclasses.replace(changes[0], new="no text of C")
        expected = {}
        for number, change in numbers.items():
            path.write_bytes(change.apply(PROGRAM))
            if number != broken:
                expected[number] = output_of(directory, path)
        path.write_bytes(PROGRAM)
        original = output_of(directory, path)
        used = switched.switch_file(source, numbers, f"cc -c -o program.o {path}", directory)
        checks.equal(used, set(numbers) - {broken}, "changes with a switch")
        checks.equal(output_of(directory, path), original, "no change")
        checks.equal({number: output_of(directory, path, number) for number in used}, expected, "each change")
        checks.equal(len(set(expected.values())) > 6, True, "outputs differ")
        checks.equal(switched.switch_file(source, {broken: numbers[broken]}, f"cc -c {path}", directory), set(), "nothing compiles")
        checks.equal(path.read_bytes(), PROGRAM, "the file as it was")


def test_unswitchable():
    """Memory orders are compared in the text, main() is called by another name, and a copy would have another frame."""
    source = b"int main(void) { return 1 + 1; }\nlong frame(void) { return 2 + (long)__builtin_return_address(0); }\n"
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "a.c")
        path.write_bytes(source)
        parsed, changes = operators.find_changes(pathlib.Path(directory), "a.c", ["-xc"], directory)
        checks.equal(len(changes), 6, "changes")
        checks.equal(switched.with_switches(parsed, dict(enumerate(changes, 1))), (source.decode(), set()), "no switch")
    change = operators.Change("src/a.c", "f", 1, "constant", "ordinary", 0, 1, "0", "1")
    for replaced, wanted in (({}, True), ({"kind": "order"}, False), ({"path": "include/side/a.h"}, False)):
        checks.equal(switched.is_switchable(dataclasses.replace(change, **replaced)), wanted, str(replaced))


def test_at_once():
    """A change is noted if a test fails that passes without a change."""
    fails = {("broken", None), ("broken", "1"), ("good", "1"), ("broken", "2")}
    saved = mutate.introspect, mutate.run_limited
    mutate.introspect = lambda build, what: [{"name": "broken", "is_parallel": False}, {"name": "good"}]
    mutate.run_limited = lambda command, seconds, variables: int((command[-1], variables.get(switched.VARIABLE)) in fails)
    try:
        turns, sound = mutate.Turns("", 2), {}
        checks.equal(mutate.judge_switched("", 1, ["broken", "good"], {}, 100, sound, turns), "good", "detected")
        checks.equal(mutate.judge_switched("", 2, ["broken", "good"], {}, 100, sound, turns), None, "not detected")
        checks.equal(sound, {"broken": False, "good": True}, "tests that pass without a change")
    finally:
        mutate.introspect, mutate.run_limited = saved


INTERRUPTED = """
import argparse, json, pathlib, sys
sys.path.insert(0, sys.argv[1])
import mutate, operators, switched
root, way = pathlib.Path(sys.argv[2]), sys.argv[3]
change = operators.Change("src/a.c", "f", 1, "constant", "ordinary", 8, 9, "1", "2")
run = mutate.run_limited
command = f"setsid sh -c 'echo $$ >{root}/new; mv {root}/new {root}/started; sleep 100' & wait"
mutate.run_limited = lambda *_: run(["sh", "-c", command], 100) if way == "alone" or _[0][0] == "meson" else 0
mutate.files_to_build = lambda build, names: []
mutate.introspect = lambda build, what: []
operators.raw_commands = lambda build: (root, {})
operators.compile_commands = lambda build: (root, {})
def switch(root, commands, raw, numbers, originals):
    originals[root / "src/a.c"] = (root / "src/a.c").read_bytes()
    (root / "src/a.c").write_bytes(b"switches")
    return set(numbers)
switched.switch = switch
mutate.end_by_signals()
if way == "alone":
    mutate.try_change(root, "build", change, ["one"], {}, 100)
else:
    entered = {"one": {"functions": ["f"], "seconds": 1}}
    options = argparse.Namespace(build="build", budget=100)
    mutate.run_at_once(options, [change] * 9, entered, lambda *_: print("noted"))
"""


def test_timeout():
    """A command that takes too long is killed with all that it has started, also in other sessions."""
    with tempfile.TemporaryDirectory() as directory:
        command = f"for i in 1 2; do setsid sh -c 'echo $$ >>{directory}/pids; sleep 100' & done; wait"
        checks.equal(mutate.run_limited(["sh", "-c", command], 2), None, "a timeout")
        pids = pathlib.Path(directory, "pids").read_text().split()
        checks.equal(len(pids), 2, "processes")
        for pid in pids:
            wait_until(lambda pid=pid: has_ended(pid), f"process {pid} has ended", 60)
        checks.equal(mutate.run_limited(["sh", "-c", "exit 5"], 60), 5, "no timeout")


def test_started_at_the_end():
    """A command that another thread starts while a signal ends all is ended, too."""
    class Late(subprocess.Popen):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, **more)
            mutate.ends.set()

    before = subprocess.Popen
    subprocess.Popen = Late
    try:
        checks.equal(mutate.run_limited(["sleep", "100"], 60), -signal.SIGKILL, "the status")
    finally:
        subprocess.Popen = before
        mutate.ends.clear()


def test_refusals():
    """Wrong arguments are refused before anything is changed."""
    with tempfile.TemporaryDirectory() as directory:
        (pathlib.Path(directory) / "entered.json").write_text("{}")
        for arguments, wanted in ((["list", "--build", directory], "is not a build directory of"),
                                  (["known", "--build", directory + "/none"], "is not a build directory of")):
            done = subprocess.run([sys.executable, here / "mutate.py", *arguments], capture_output=True, text=True)
            checks.equal((done.returncode, done.stdout), (1, ""), " ".join(arguments))
            checks.contains(done.stderr, wanted)


def test_interrupted():
    """A signal ends the running test and restores the file, also if many changes wait for their turn."""
    for way, number in (("alone", signal.SIGTERM), ("at once", signal.SIGTERM), ("alone", signal.SIGINT), ("at once", signal.SIGHUP)):
        with tempfile.TemporaryDirectory() as directory:
            source, started = pathlib.Path(directory, "src/a.c"), pathlib.Path(directory, "started")
            source.parent.mkdir()
            source.write_text("int a = 1;\n")
            command = [sys.executable, "-c", INTERRUPTED, str(here), directory, way]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                while not started.exists() and process.poll() is None:
                    time.sleep(0.01)
                changed = source.read_text()
                process.send_signal(number)
                output = process.communicate(timeout=60)
            printed = "" if way == "alone" else "9 of 9 changes have a switch\n"
            checks.equal((process.returncode, output), (128 + number, (printed, "")), f"{way}, signal {number}")
            checks.equal(changed, "int a = 2;\n" if way == "alone" else "switches", "changed")
            checks.equal(source.read_text(), "int a = 1;\n", "restored")
            checks.true(wait_until(lambda: has_ended(int(started.read_text())), "the test has ended", 60), "the test has ended")


def test_table():
    results = [{"module": "ring", "kind": "leak", "verdict": verdict} for verdict in
               ("caught", "caught", "survived", "untested", "invalid", "equivalent")]
    checks.equal(mutate.share(results), "2 of 4 (50 %)", "share of the valid ones")


def test_parts():
    changes = list(range(7))
    parts = [mutate.part_of(changes, f"{part}/3") for part in (1, 2, 3)]
    checks.equal(parts, [[0, 3, 6], [1, 4], [2, 5]], "three parts")
    for part in ("0/3", "4/3"):
        try:
            mutate.part_of(changes, part)
        except ValueError as error:
            checks.equal(str(error), f"invalid part {part}: give I/N with I from 1 to N", "invalid part")
        else:
            raise AssertionError(f"part {part} was accepted")


def test_known_changes():
    root = here.parents[1]
    entries = json.loads(mutate.KNOWN_CHANGES.read_text())
    for entry in entries:
        change = mutate.known_change(root, entry)
        checks.true(change.kind in operators.KINDS and entry["tests"], f"{change} has a kind and tests")
        checks.contains(change.apply((root / entry["path"]).read_bytes()).decode(), entry["new"])
    checks.true(len(entries) > 40, "the known changes are there")
    checks.equal(len({(entry["path"], entry["old"], entry["new"]) for entry in entries}), len(entries), "no entry occurs twice")


def test_equivalents():
    for key, entry in mutate.equivalents().items():
        checks.true(len(key) == 12 and entry["change"] and entry["reason"], f"{key} has a change and a reason")


checks.run_tests(globals())
