#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side calls` and `side slow`: numbers of calls as the program and gdb count them, times as the events have them."""
import shutil
from collections import Counter, defaultdict

from harness import *

COUNTED = sys.argv.pop(1)
LIBRARY = ("close", "strdup", "qsort", "usleep")
OWN = ("counted_compare", "counted_inner", "counted_outer", "counted_recurse", "counted_doze", "counted_round")


class Temporary:
    """A private $TMPDIR, which must be empty at the end."""

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory()
        return environment(TMPDIR=self.directory.name)

    def __exit__(self, *error):
        if not error[0]:
            equal(os.listdir(self.directory.name), [], "left in $TMPDIR")
        self.directory.cleanup()


def functions(text):
    return {line["function"]: line for line in json_lines(text) if line["type"] == "function"}


def answer(verb, *args, status=7):
    """The JSON of a command, and what the program printed before it."""
    with Temporary() as env:
        result = side(verb, "--json", *args, COUNTED, env=env)
        equal(result.status, status, result.err)
        own, _, rest = result.out.partition("\n")
        return functions(rest), json.loads(own)


def traced(*args):
    directory = tempfile.TemporaryDirectory()
    path = os.path.join(directory.name, "trace")
    result = side(*args, "-o", path, COUNTED)
    equal(result.status, 7, result.err)
    return directory, path


def events(path):
    result = side("view", "--json", path)
    equal(result.status, 0, result.err)
    return json_lines(result.out)


def test_calls_are_those_of_the_program():
    found, own = answer("calls", "--library", "libc")
    for name in LIBRARY:
        equal(found[name]["calls"], own[name], name)
    equal(found["close"]["errors"], own["close_bad"], "errors")
    equal(found["usleep"]["errors"], 0, "errors")
    true("errors" not in found["qsort"], "no errors of a function without a result")
    true(found["usleep"]["min_ns"] >= 2000000, found["usleep"])
    true(not set(OWN) & set(found), "only functions of the library")


def test_calls_of_all_libraries():
    found, own = answer("calls")
    for name in LIBRARY:
        equal(found[name]["calls"], own[name], name)


def test_calls_as_gdb_counts_them():
    gdb = shutil.which("gdb")
    if not gdb:
        skip("no gdb")
    commands = ["set breakpoint pending on", "break main", "run > /dev/null"]
    # The breakpoints of gdb are after the prologue or at it; the program calls each function by its PLT.
    commands += [f"break *{name}" for name in LIBRARY]
    commands += [f"ignore {i + 2} 1000000" for i in range(len(LIBRARY))] + ["continue", "info breakpoints"]
    result = run(gdb, "-q", "-nx", "-batch", *[part for text in commands for part in ("-ex", text)], COUNTED,
                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    hits = dict(zip(LIBRARY, map(int, re.findall(r"breakpoint already hit (\d+) times?", result.stdout)[1:])))
    found, _ = answer("calls", "--library", "libc")
    equal({name: found[name]["calls"] for name in LIBRARY}, hits)


def test_times_are_those_of_the_events():
    directory, path = traced("calls")
    with directory:
        durations, failed = defaultdict(list), Counter()
        for event in events(path):
            if "duration" in event.get("fields", {}):
                fields = event["fields"]
                durations[fields["function"]].append(fields["duration"])
                failed[fields["function"]] += fields["return_value"] & 0xffffffff == 0xffffffff
        result = side("calls", path, "--json")
        equal((result.status, result.err), (0, ""))
        found = functions(result.out)
        for name in LIBRARY:
            line, times = found[name], sorted(durations[name])
            equal((line["calls"], line["total_ns"], line["min_ns"], line["max_ns"]),
                  (len(times), sum(times), times[0], times[-1]), name)
            for percent in (50, 90, 99):
                exact = times[-(-len(times) * percent // 100) - 1]
                true(abs(line[f"p{percent}_ns"] - exact) <= exact / 512, f"{name}: {line}, not {exact}")
        equal(found["close"]["errors"], failed["close"])
        # The text has the same numbers, sorted by the total; options can follow the directory.
        text = side("calls", path, "--rows", "3")
        lines = text.out.splitlines()
        equal(lines[0].split(), ["TOTAL", "CALLS", "ERRORS", "MEAN", "P99", "MAX", "FUNCTION"])
        equal([line.split()[-1] for line in lines[1:4]], [line["function"] for line in list(found.values())[:3]])
        contains(lines[4], f"and {len(found) - 3} more")


def test_slow_finds_the_functions_of_the_program():
    found, own = answer("slow", "--off-cpu", "--function", "counted_*")
    equal({name: found[name]["calls"] for name in found}, {name: own[name] for name in OWN})
    doze, outer, inner, recurse = (found["counted_" + name] for name in ("doze", "outer", "inner", "recurse"))
    # Each call of usleep() takes two milliseconds at least, without a processor.
    true(doze["off_cpu_ns"] >= doze["calls"] * 1000000, doze)
    true(doze["off_cpu_ns"] <= doze["measured_ns"], doze)
    equal(outer["self_ns"], outer["total_ns"] - inner["total_ns"], "outer")
    true(recurse["total_ns"] < recurse["mean_ns"] * recurse["calls"], f"the inner calls count once: {recurse}")
    order = [line["self_ns"] for line in found.values()]
    equal(order, sorted(order, reverse=True))


def test_slow_measures_all_functions():
    found, own = answer("slow")
    for name in OWN:
        equal(found[name]["calls"], own[name], name)
        true("off_cpu_ns" not in found[name], name)
    true(not set(LIBRARY) & set(found), "only functions of the program")


def test_one_function_has_its_name():
    for verb, option, name in (("slow", "--function=counted_do*", "counted_doze"), ("slow", "--function=counted_doze", "counted_doze")):
        found, own = answer(verb, option)
        equal({name: found[name]["calls"] for name in found}, {name: own[name]}, option)


def test_running_process():
    for verb, function in (("calls", "close"), ("slow", "counted_round")):
        program = subprocess.Popen([COUNTED, "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            equal(program.stdout.readline(), b"ready\n")
            with Temporary() as env:
                result = side(verb, "--json", "-p", str(program.pid), "--duration", "500ms", env=env)
                equal(result.status, 0, result.err)
                true(functions(result.out)[function]["calls"], result.out)
            true(program.poll() is None, "the program continues")
        finally:
            program.communicate()
        equal(program.returncode, 0)


def test_a_signal_ends_the_recording():
    program = subprocess.Popen([COUNTED, "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        equal(program.stdout.readline(), b"ready\n")
        for number, answers in ((signal.SIGINT, True), (signal.SIGTERM, True), (signal.SIGHUP, False)):
            with Temporary() as env:
                verb = subprocess.Popen([SIDE, "calls", "-p", str(program.pid)], env=env, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                traces = os.path.join(env["TMPDIR"], "*")
                contains(verb.stderr.readline(), f"recording process {program.pid} until Ctrl-C")
                wait_until(lambda: any(files for _, _, files in os.walk(env["TMPDIR"]) if "metadata" in files),
                           f"a trace is in {traces}", process=verb)
                verb.send_signal(number)
                out, err = verb.communicate(timeout=60)
                equal("FUNCTION" in out, answers, f"{number}: {out}{err}")
    finally:
        program.communicate()


def test_status_is_that_of_the_command():
    for command, status in ((["sh", "-c", "exit 3"], 3), (["sh", "-c", "kill -9 $$"], 137), (["/nonexistent"], 127)):
        with Temporary() as env:
            equal(side("calls", "--", *command, env=env).status, status, command)


def test_the_program_keeps_its_streams():
    with Temporary() as env:
        result = side("calls", "--library", "libc", "--", "cat", env=env, stdin=None, input=b"a line\n")
    equal((result.status, result.out.splitlines()[0]), (0, "a line"))
    contains(result.out, "FUNCTION")


def test_refusals():
    for args, problem in ((["calls"], "missing operand"), (["calls", "-p", "1", "ls"], "exclude each other"),
                          (["slow", "--duration", "1s", "ls"], "without `-p`")):
        result = side(*args)
        equal(result.status, 2, args)
        contains(result.err, problem)
    with Temporary() as env:
        result = side("calls", "--library", "libnosuch", COUNTED, env=env)
        equal((result.status, result.out), (1, ""))
        contains(result.err, "libnosuch")
        # The program is linked with libm, and calls nothing of it.
        result = side("calls", "--library", "libm", COUNTED, env=env)
        equal((result.status, result.out), (1, ""))
        contains(result.err, "counted imports no function of libm")
        result = side("trace", "--function", "$imports", COUNTED, env=env)
        equal(result.status, 1)
        contains(result.err, "missing name of a library")
    with tempfile.TemporaryDirectory() as empty:
        result = side("calls", empty)
        equal(result.status, 1, result.err)


def test_losses_are_reported():
    with Temporary() as env:
        result = side("slow", "--json", "--buffer-size", "64K", COUNTED, "burst", env=env)
    lines = json_lines(result.out)
    true(any(line["type"] == "lost" for line in lines), result.out)
    contains(result.err, "events were lost")


run_tests(globals())
