# SPDX-License-Identifier: MIT
"""Make small changes to the program, one at a time, and check whether a test fails.

    mutate.py list  --build BUILD [--seed N] [--count N] [--module M] [--kind K]
    mutate.py run   --build BUILD --entered FILE --output FILE [--seed N] [--count N] [--module M] [--kind K] [--budget SECONDS]
                  [--part I/N] [--at-once]
    mutate.py known --build BUILD [--only PART]
    mutate.py table FILE...

BUILD is a build directory of *this* source directory: the files below src/ and programs/ are changed and restored, so use a clone or a
worktree of its own. --entered is the output of entered.py. `known` tries the changes of known.json, which no test
detected at some time. See README.md.
"""
import argparse
import collections
import concurrent.futures
import functools
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import operators
import switched

KNOWN_CHANGES = pathlib.Path(__file__).resolve().parent / "known.json"
EQUIVALENT = pathlib.Path(__file__).resolve().parent / "equivalent.json"
ORDERS = re.compile(r"__ATOMIC_(?!RELAXED)|memory_order_(?!relaxed)|_fence\(")
# Built and run before the others.
FIRST_TESTS = 4
# The targets of ninja: the program, and what only tests need.
EVERYTHING = ("all", "meson-test-prereq")
CAUGHT, SURVIVED, INVALID, UNTESTED, KNOWN = "caught", "survived", "invalid", "untested", "equivalent"


def module(path):
    """src/probe/patch/hit.c -> probe/patch, programs/sided/boot.c -> programs/sided, include/side/endian.h -> include"""
    parent = pathlib.PurePath(path).parent
    return "include" if parent.parts[0] == "include" else str(parent).removeprefix("src/")


def equivalents():
    return json.loads(EQUIVALENT.read_text()) if EQUIVALENT.exists() else {}


def draw(build, seed, count, only_module=None, only_kind=None):
    """Modules in turn, and kinds in turn within a module, so that a small sample has all of them."""
    generator = random.Random(seed)
    root, commands = operators.compile_commands(build)
    by_module = collections.defaultdict(list)
    for path in sorted(commands):
        if only_module in (None, module(path)):
            by_module[module(path)].append(path)
    modules = sorted(by_module)
    turns = {name: generator.randrange(len(operators.KINDS)) for name in modules}
    drawn, seen, parsed, idle = [], set(), {}, 0
    if not modules:
        sys.exit(f"mutate.py: no module is named {only_module}: they are {' '.join(sorted({module(path) for path in commands}))}")
    while len(drawn) < count and modules and idle < 50 * len(modules):
        generator.shuffle(modules)
        for name in modules:
            path = generator.choice(by_module[name])
            if path not in parsed:
                parsed[path] = operators.find_changes(root, path, *commands[path])[1]
            first = turns[name] % len(operators.KINDS)
            kinds = [only_kind] if only_kind else operators.KINDS[first:] + operators.KINDS[:first]
            turns[name] += 1
            change = draw_one(generator, parsed[path], kinds, seen)
            idle = 0 if change else idle + 1
            if change and len(drawn) < count:
                drawn.append(change)
                seen.add((change.path, change.function))
    return root, drawn


def draw_one(generator, changes, kinds, seen):
    """Draws a function first, then one of its changes, so that long functions do not have more weight."""
    for kind in kinds:
        functions = sorted({change.function for change in changes
                            if change.kind == kind and (change.path, change.function) not in seen})
        if not functions:
            continue
        function = generator.choice(functions)
        by_operator = collections.defaultdict(list)
        for change in changes:
            if change.function == function and change.kind == kind:
                by_operator[change.operator].append(change)
        return generator.choice(by_operator[generator.choice(sorted(by_operator))])
    return None


@functools.cache
def source_files():
    """Returns the names of the C files below src and programs, without their directories."""
    root = pathlib.Path(__file__).resolve().parents[2]
    return {path.name for top in ("src", "programs") for path in (root / top).rglob("*.c")}


def renamed_in(text):
    """{(C file, name): new names}: how the #defines in the text of a test rename functions of the C files that it includes."""
    found, defined = collections.defaultdict(set), {}
    for line in text.splitlines():
        if define := re.match(r"#define (\w+) (\w+)$", line):
            defined[define[1]] = define[2]
        elif undefine := re.match(r"#undef (\w+)", line):
            defined.pop(undefine[1], None)
        elif include := re.match(r'#include ".*?([\w-]+\.c)"', line):
            for old, new in defined.items():
                found[include[1], old].add(new)
    return found


@functools.cache
def renamed():
    """renamed_in() of all tests."""
    found = collections.defaultdict(set)
    for path in (pathlib.Path(__file__).resolve().parents[1]).rglob("*.c"):
        for key, names in renamed_in(path.read_text()).items():
            found[key] |= names
    return found


def is_entered(measured, name, file):
    """Whether `measured`, a name in the counters, is the function `name` of the file."""
    # A test that includes several C files gives another name to functions that two of them have, and to main().
    if measured.rpartition(":")[2] in renamed().get((file, name), ()):
        return True
    # A test that includes a C file with functions of the C library gives them this prefix.
    if measured in (name, f"wrap_{name}") or measured.endswith(f"{file}:{name}"):
        return True
    # A function in a header has the name of the C file that includes it, and so has one in a C file that a test includes.
    return measured.endswith(f":{name}") and (file.endswith(".h") or measured.rpartition(":")[0] not in source_files())


def tests_of(entered, change):
    """Returns the most specific tests first: those that enter few functions and take little time."""
    name, file = change.function, pathlib.PurePath(change.path).name
    found = []
    # This test enters no function. It compares the order in the code with the comment beside it (tests/house/test-atomics.py).
    if ORDERS.search(change.old) and change.path.startswith(("src/", "programs/")):
        parts = pathlib.PurePath(change.path).parts
        found.append((0, "atomics-" + parts[2 if parts[1] == "tracers" else 1]))
    for test, measured in entered.items():
        functions = measured["functions"]
        # Each program has a main(): this one is in a program that enters a file-local function of the same file, too.
        if name == "main" and not any(function.rpartition(":")[0].endswith(file) for function in functions):
            functions = [function for function in functions if function != "main"]
        if any(is_entered(function, name, file) for function in functions):
            found.append((measured["seconds"] * (1 + len(functions) / 500), test))
    return [test for _, test in sorted(found)]


ENDING = signal.SIGHUP, signal.SIGINT, signal.SIGTERM


def children_of():
    """Returns the children of each process."""
    found = collections.defaultdict(list)
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parent = pathlib.Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[1]
            except (FileNotFoundError, ProcessLookupError):
                continue
            found[int(parent)].append(int(name))
    return found


def kill_tree(pid):
    """Kills a process and all its descendants: meson gives each test its own session, so no group has them all."""
    seen, new = [], [pid]
    while new:
        # A stopped process makes no new ones.
        for one in new:
            try:
                os.kill(one, signal.SIGSTOP)
            except ProcessLookupError:
                pass
        seen += new
        children = children_of()
        new = [child for parent in seen for child in children[parent] if child not in seen]
    for one in seen:
        try:
            os.kill(one, signal.SIGKILL)
        except ProcessLookupError:
            pass


# The commands that run now, and whether a signal has requested the end.
running, ends = set(), threading.Event()


def run_limited(command, seconds, variables=None):
    """Returns the exit code, or None after a timeout, which ends the command and all its descendants."""
    if ends.is_set():
        return None
    with subprocess.Popen(command, env={**os.environ, **(variables or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True) as process:
        running.add(process)
        # A handler that ran before has not seen this process.
        if ends.is_set():
            kill_tree(process.pid)
        try:
            return process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            kill_tree(process.pid)
            return None
        finally:
            running.discard(process)


def end(number, _frame):
    """The handler of signals: the tests end, and the files get their original text back on the way
    out, which no second signal interrupts.
    """
    for other in ENDING:
        signal.signal(other, signal.SIG_IGN)
    ends.set()
    for process in list(running):
        kill_tree(process.pid)
    sys.exit(128 + number)


def end_by_signals():
    for number in ENDING:
        signal.signal(number, end)


@functools.cache
def introspect(build, what):
    """Returns the tests or the targets of a build directory, from meson."""
    return json.loads(subprocess.run(["meson", "introspect", "--" + what, build], check=True, capture_output=True, text=True).stdout)


def files_to_build(build, names):
    """Returns the files that these tests need: without names, or with a test that is a script, the
    program and all files that no test names.
    """
    tests = introspect(build, "tests")
    chosen = [test for test in tests if test["name"] in names]
    needed = {target for test in chosen for target in test["depends"]}
    of_tests = {target for test in tests for target in test["depends"]}
    root = pathlib.Path(__file__).resolve().parents[2]
    whole = not chosen or any(os.path.relpath(test["cmd"][0], build).startswith("..") for test in chosen)
    files = []
    for target in introspect(build, "targets"):
        directories = pathlib.Path(target["defined_in"]).parents
        is_other = root / "bench" in directories or (root / "tests" in directories and target["id"] in of_tests)
        if target["id"] in needed or (whole and target["build_by_default"] and not is_other):
            files += [os.path.relpath(name, build) for name in target["filename"]]
    return sorted(files)


def judge(build, tests, entered, budget):
    """The first tests are the most specific ones, so nothing else is linked for them."""
    spent, used = 0, 0
    for group in (tests[:FIRST_TESTS], tests[FIRST_TESTS:]) if len(tests) > FIRST_TESTS else (tests,):
        if run_limited(["ninja", "-C", build, *files_to_build(build, group)], 1200) != 0:
            return INVALID, "does not compile"
        for test in group:
            if spent >= budget:
                break
            used += 1
            begin = time.monotonic()
            limit = max(60, 6 * entered.get(test, {}).get("seconds", 50))
            if run_limited(["meson", "test", "-C", build, "--no-rebuild", test], limit) != 0:
                return CAUGHT, test
            spent += time.monotonic() - begin
    if not tests:
        return UNTESTED, "no test enters the function"
    return SURVIVED, f"{used} of {len(tests)} tests passed"


def try_change(root, build, change, tests, entered, budget):
    path = root / change.path
    original = path.read_bytes()
    try:
        path.write_bytes(change.apply(original))
        return judge(build, tests, entered, budget)
    finally:
        path.write_bytes(original)


def part_of(changes, part):
    """Returns the I-th of N parts of a sample, so that N clones can share it."""
    index, count = (int(number) for number in part.split("/"))
    if not 1 <= index <= count:
        raise ValueError(f"invalid part {part}: give I/N with I from 1 to N")
    return changes[index - 1::count]


def passes_unchanged(build, test, sound, entered):
    """Whether a failed test passes without the change. A test that failed during the measurement of coverage runs once more."""
    if test not in sound:
        sound[test] = entered.get(test, {"passed": True})["passed"] or (
            run_limited(["ninja", "-C", build, *EVERYTHING], 1200) == 0 and
            run_limited(["meson", "test", "-C", build, "--no-rebuild", test], 600) == 0)
    return sound[test]


def try_sound_tests(root, build, change, tests, entered, budget, sound):
    """Like try_change(), but ignores tests that fail without the change."""
    while True:
        tests = [test for test in tests if sound.get(test, True)]
        verdict, reason = try_change(root, build, change, tests, entered, budget)
        if verdict != CAUGHT or passes_unchanged(build, reason, sound, entered):
            return verdict, reason


def read_entered(options):
    """Returns the measurements by the names of the tests. A test that the build directory no longer has is left out."""
    measured = json.loads(pathlib.Path(options.entered).read_text())
    names = {test["name"] for test in introspect(options.build, "tests")}
    old = sorted(set(measured) - names)
    if old:
        print(f"{len(old)} tests of {options.entered} are not in {options.build} and are left out: {' '.join(old)}", flush=True)
    entered = {name: one for name, one in measured.items() if name in names}
    if not any(one["functions"] for one in entered.values()):
        sys.exit(f"mutate.py: no test in {options.entered} enters a function: measure with entered.py")
    return entered


def check_build(build):
    """Refuses the build directory of another source directory: its tests would not see the changes."""
    root = pathlib.Path(__file__).resolve().parents[2]
    info = pathlib.Path(build, "meson-info/meson-info.json")
    source = json.loads(info.read_text())["directories"]["source"] if info.exists() else None
    if source is None or pathlib.Path(source).resolve() != root:
        sys.exit(f"mutate.py: {build} is not a build directory of {root}")


def run(options):
    sound = {}
    # Also describes the tests again, if the build directory is older than they are.
    if run_limited(["ninja", "-C", options.build, *EVERYTHING], 3600) != 0:
        sys.exit(f"mutate.py: {options.build} does not compile without a change, either")
    entered = read_entered(options)
    root, changes = draw(options.build, options.seed, options.count, options.module, options.kind)
    output = pathlib.Path(options.output)
    results = json.loads(output.read_text()) if output.exists() else []
    done = {result["key"] for result in results}
    known = equivalents()

    def note(change, verdict, reason):
        results.append({"key": change.key(), "verdict": verdict, "reason": reason, "module": module(change.path),
                        "kind": change.kind, "operator": change.operator, "change": str(change)})
        done.add(change.key())
        # A signal while the file is written must not cost the results.
        beside = output.with_suffix(".new")
        beside.write_text(json.dumps(results, indent=1))
        beside.replace(output)
        print(f"{verdict}: {change} ({reason})", flush=True)

    drawn = part_of(changes, options.part)
    if options.at_once:
        run_at_once(options, [change for change in drawn if change.key() not in done | set(known)], entered, note)
    for change in drawn:
        if change.key() in done:
            continue
        note(change, *((KNOWN, known[change.key()]["reason"]) if change.key() in known else
                       try_sound_tests(root, options.build, change, tests_of(entered, change), entered, options.budget, sound)))
    run_limited(["ninja", "-C", options.build, *EVERYTHING], 1200)
    print_table(results)


def known_change(root, entry):
    """A change that is described by its old text, which must be in the file exactly once."""
    source = (root / entry["path"]).read_text()
    if source.count(entry["old"]) != 1:
        raise ValueError(f"{entry['path']}: the text of a known change occurs {source.count(entry['old'])} times: {entry['old']!r}")
    begin = len(source[:source.index(entry["old"])].encode())
    line = source[:source.index(entry["old"])].count("\n") + 1
    return operators.Change(entry["path"], "", line, "known", entry["kind"], begin, begin + len(entry["old"].encode()), entry["old"],
                            entry["new"])


def run_known(options):
    root = pathlib.Path(__file__).resolve().parents[2]
    results, sound = [], {}
    for entry in json.loads(KNOWN_CHANGES.read_text()):
        if options.only not in entry["path"]:
            continue
        change = known_change(root, entry)
        unmeasured = {test: {"passed": False} for test in entry["tests"]}
        verdict, reason = try_sound_tests(root, options.build, change, entry["tests"], unmeasured, 3600, sound)
        results.append({"key": change.key(), "verdict": verdict, "reason": reason, "module": module(change.path),
                        "kind": change.kind, "operator": change.operator, "change": str(change)})
        print(f"{verdict}: {change} ({reason})", flush=True)
    run_limited(["ninja", "-C", options.build, *EVERYTHING], 1200)
    print_table(results)


class Turns:
    """Runs tests of several changes at the same time, but a test that must run alone without others."""

    def __init__(self, build, count):
        self.alone = {test["name"] for test in introspect(build, "tests") if not test.get("is_parallel", True)}
        self.free = threading.Semaphore(count)
        self.first = threading.Lock()
        self.count = count

    def run(self, test, command, seconds, variables):
        needed = self.count if test in self.alone else 1
        with self.first:
            for _ in range(needed):
                self.free.acquire()
        try:
            return run_limited(command, seconds, variables)
        finally:
            self.free.release(needed)


def judge_switched(build, number, tests, entered, budget, sound, turns):
    """Returns the test that detects the change of this number, if one does. A test that fails without
    a change is left out.
    """
    begin = time.monotonic()
    for test in tests:
        if time.monotonic() - begin > budget:
            break
        limit = max(60, 6 * entered.get(test, {}).get("seconds", 50))
        command = ["meson", "test", "-C", build, "--no-rebuild", "--logbase", f"change-{number}", test]
        if sound.get(test, True) and turns.run(test, command, limit, {switched.VARIABLE: str(number)}) != 0:
            if test not in sound:
                sound[test] = turns.run(test, command, 600, {}) == 0
            if sound[test]:
                return test
    return None


def run_at_once(options, changes, entered, note):
    """Builds all changes behind switches, and notes those that a test detects. The others must be tried one by one."""
    root, raw = operators.raw_commands(options.build)
    numbers = dict(enumerate(changes, 1))
    originals = {}
    try:
        used = switched.switch(root, operators.compile_commands(options.build)[1], raw, numbers, originals)
        print(f"{len(used)} of {len(changes)} changes have a switch", flush=True)
        if run_limited(["ninja", "-C", options.build, *EVERYTHING], 3600) != 0:
            print("the changes do not compile at once", flush=True)
            return
        workers = os.cpu_count() or 1
        turns, sound = Turns(options.build, workers), {}
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            waiting = {pool.submit(judge_switched, options.build, number, tests_of(entered, numbers[number]), entered, options.budget, sound,
                                   turns): numbers[number] for number in sorted(used)}
            try:
                for done in concurrent.futures.as_completed(waiting):
                    if done.result():
                        note(waiting[done], CAUGHT, done.result())
            except SystemExit:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        for path, text in originals.items():
            path.write_bytes(text)


def share(results):
    valid = [result for result in results if result["verdict"] in (CAUGHT, SURVIVED, UNTESTED)]
    caught = sum(result["verdict"] == CAUGHT for result in valid)
    return f"{caught} of {len(valid)}" + (f" ({100 * caught // len(valid)} %)" if valid else "")


def print_table(results):
    for column in ("kind", "module"):
        print(f"\n| {column} | caught |\n| --- | --- |")
        for name in sorted({result[column] for result in results}):
            print(f"| {name} | {share([result for result in results if result[column] == name])} |")
        print(f"| all | {share(results)} |")
    counts = collections.Counter(result["verdict"] for result in results)
    print("\n" + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    for result in results:
        if result["verdict"] in (SURVIVED, UNTESTED):
            print(f"- {result['key']} {result['change']}: {result['reason']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("list", "run"):
        one = verbs.add_parser(verb)
        one.add_argument("--build", required=True)
        one.add_argument("--seed", type=int, default=1)
        one.add_argument("--count", type=int, default=150)
        one.add_argument("--module")
        one.add_argument("--kind", choices=operators.KINDS)
        if verb == "run":
            one.add_argument("--entered", required=True)
            one.add_argument("--output", required=True)
            one.add_argument("--budget", type=int, default=180)
            one.add_argument("--at-once", action="store_true", help="first build all changes together, each behind a switch")
            one.add_argument("--part", default="1/1", metavar="I/N", help="try only the I-th of N parts of the sample")
    known = verbs.add_parser("known")
    known.add_argument("--build", required=True)
    known.add_argument("--only", default="", metavar="PART", help="files whose path contains PART")
    verbs.add_parser("table").add_argument("results", nargs="+")
    options = parser.parse_args()
    end_by_signals()
    if options.verb != "table":
        check_build(options.build)
    if options.verb == "run":
        run(options)
    elif options.verb == "known":
        run_known(options)
    elif options.verb == "list":
        for change in draw(options.build, options.seed, options.count, options.module, options.kind)[1]:
            print(change.key(), change.kind, change)
    else:
        print_table([result for path in options.results for result in json.loads(pathlib.Path(path).read_text())])


if __name__ == "__main__":
    main()
