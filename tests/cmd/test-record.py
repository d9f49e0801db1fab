#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side record` as users and scripts run it: statuses, streams, signals, losses, options."""
import shutil
import signal
import time

from harness import *

TALKER = os.environ["TALKER"]
NAME = os.path.basename(TALKER)
work = tempfile.TemporaryDirectory()
number = 0


def new_output():
    global number
    number += 1
    return os.path.join(work.name, f"trace-{number}")


def record(*args, **more):
    """Records into a new folder; returns the result and the folder."""
    output = new_output()
    return side("record", "-o", output, *args, **more), output


def summary(result):
    (found,) = [line for line in json_lines(result.err) if line["type"] == "summary"]
    return found


def names(output):
    """Returns the names of the events in a trace, read by babeltrace2."""
    if not shutil.which("babeltrace2"):
        return None
    run = subprocess.run(["babeltrace2", "--no-delta", "--clock-seconds", output], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(run.returncode, 0, run.stderr)
    return re.findall(r" ([a-z_]+:[a-z_]+): \{", run.stdout)


def test_exit_statuses():
    for args, status in ((["0"], 0), (["0", "exit", "7"], 7), (["0", "exit", "255"], 255),
                         (["0", "exit", "3"], 3), (["0", "signal", "15"], 143),
                         (["0", "signal", "9"], 137), (["10", "signal", "11"], 139)):
        result, output = record(TALKER, *args)
        equal(result.status, status, f"{args}: {result.err}")
        true(os.path.isdir(output), "there is a trace")
        # No shell reports the signal.
        equal("was killed by signal" in result.err, "signal" in args, result.err)
        if args[-1] == "11":
            contains(result.err, f"{TALKER} was killed by signal 11 (Segmentation fault")


def test_commands_that_cannot_be_run():
    script = os.path.join(work.name, "not-executable")
    open(script, "w").close()
    for command, status in (("does-not-exist-anywhere", 127), ("./does-not-exist", 127),
                            (script, 126), (work.name, 126)):
        result, output = record(command)
        equal((result.status, result.out), (status, ""), result.err)
        true(result.err.startswith("side: cannot run "), result.err)
        contains(result.err, command)
        true(not os.path.exists(output), "an empty trace was left behind")
        result, output = record("--json", command)
        equal(json_lines(result.err)[0]["status"], status)


def test_fired_events_are_recorded():
    result, output = record(TALKER, "100")
    equal((result.status, result.out), (0, ""))
    found = names(output)
    if found is not None:
        equal(found, ["talker:said"] * 100 + ["talker:ends"])
    equal(side("view", "--json", output).out.count("talker:said"), 100)


def test_streams_belong_to_the_command():
    output = new_output()
    run = subprocess.run([SIDE, "record", "-o", output, "--", "sh", "-c",
                          "cat; echo an error >&2; exit 5"],
                         input="from stdin\n", capture_output=True, text=True, env=environment())
    equal((run.returncode, run.stdout), (5, "from stdin\n"))
    true(run.stderr.startswith("an error\n"), run.stderr)
    contains(run.stderr, "side: ")
    # With --quiet only the command prints.
    run = subprocess.run([SIDE, "record", "-q", "-o", new_output(), "--", "sh", "-c",
                          "cat; echo an error >&2"],
                         input="x", capture_output=True, text=True, env=environment())
    equal((run.returncode, run.stdout, run.stderr), (0, "x", "an error\n"))


def test_options_of_the_command_are_its_own():
    result, _ = record("echo", "-n", "--json", "-q", "--", "-o")
    equal((result.status, result.out), (0, "--json -q -- -o"))
    result, _ = record("--", "printf", "%s\\n", "--help")
    equal((result.status, result.out), (0, "--help\n"))
    true("{" not in result.err, result.err)


def test_command_starts_with_usual_signals():
    """Signal settings of the recorder must not reach the command."""
    result, _ = record("sh", "-c", "grep -E 'SigIgn|SigBlk' /proc/self/status")
    plain = subprocess.run(["sh", "-c", "grep -E 'SigIgn|SigBlk' /proc/self/status"],
                           stdout=subprocess.PIPE, text=True)
    equal(result.out, plain.stdout)


def test_summary():
    result, output = record(TALKER, "1000")
    equal(result.status, 0)
    true(re.search(r"^side: recorded [\d,]+ events from 1 process, ", result.err, re.M), result.err)
    true(re.search(rf"^  {NAME}-\d+-0 +[\d,]+ events, .* \(\d+ event classes enabled\)$", result.err, re.M), result.err)
    contains(result.err, output)
    contains(result.err, NAME + "-")
    contains(result.err, f"side view {output}")
    result, output = record("--json", TALKER, "1000", "exit", "7")
    equal((result.status, result.out), (7, ""))
    summary_line = summary(result)
    equal(summary_line["output"], output)
    equal((summary_line["command_status"], summary_line["lost"], summary_line["interrupted"]), (7, 0, False))
    (process,) = summary_line["processes"]
    equal(process["name"], NAME)
    equal(os.path.realpath(process["executable"]), os.path.realpath(TALKER))
    true(process["bytes"] > 30000, str(process))
    equal(process["lost"], 0)
    sizes = [os.path.getsize(os.path.join(folder, name))
             for folder, _, files in os.walk(output) for name in files if name != ".maps"]
    equal(summary_line["bytes"], sum(sizes), "bytes")
    equal(sorted(os.listdir(output)), [process["directory"]])
    # A name with blanks is quoted in a command for the user.
    blank = os.path.join(work.name, "a b'c")
    result = side("record", "-o", blank, TALKER, "1")
    contains(result.err, "side view '" + blank.replace("'", "'\\''") + "'")


def test_several_processes():
    result, output = record("--json", "sh", "-c", f"{TALKER} 10; {TALKER} 20; exit 9")
    equal(result.status, 9)
    summary_line = summary(result)
    talkers = [p for p in summary_line["processes"] if p["name"] == NAME]
    equal(len(talkers), 2)
    found = names(output)
    if found is not None:
        equal(found.count("talker:said"), 30)


def test_no_events():
    result, _ = record("true")
    equal(result.status, 0)
    contains(result.err, "-w libc")
    if os.environ.get("SANITIZED", "none") == "none":
        # A user who has requested calls gets no hint to do so.
        result, _ = record("-w", "libc", "-e", "libc:no_such_function", "true")
        equal(result.status, 0)
        contains(result.err, "no event matched `-e libc:no_such_function`\nhint: `side list -w`")
        # The wrapper's library has the names.
        for word, meant in (("libc:maloc", "libc:malloc"), ("lbc:*", "libc:*"), ("malloc", "libc:malloc")):
            result, _ = record("-w", "libc", "-e", word, "true")
            contains(result.err, f"did you mean `-e ")
            contains(result.err, meant)


def test_refused_before_the_start():
    for args, status, what in ((["--compress=0"], 2, "`--compress=0` is too small"),
                               (["--buffer-size", "4K"], 2, "(--buffer-size)"),
                               (["--buffers", "/proc"], 1, "cannot store buffers in /proc")):
        result, output = record(*args, "echo", "ran")
        equal((result.status, result.out), (status, ""), result.err)
        contains(result.err, what)


def test_output():
    with tempfile.TemporaryDirectory() as folder:
        result = side("record", TALKER, "5", cwd=folder)
        equal(result.status, 0, result.err)
        (name,) = os.listdir(folder)
        true(re.fullmatch(r"side-\d{8}-\d{6}", name), name)
        contains(result.err, name)
        # Existing files are not touched, unless requested.
        full = os.path.join(folder, name)
        before = sorted(os.listdir(full))
        result = side("record", "-o", full, TALKER, "5")
        equal(result.status, 1)
        contains(result.err, full)
        contains(result.err, "--force")
        equal(sorted(os.listdir(full)), before)
        result = side("record", "--force", "-o", full, TALKER, "5")
        equal(result.status, 0, result.err)
        true(set(before) < set(os.listdir(full)), "nothing was removed")
        result = side("record", "-o", "/proc/nowhere/at/all", TALKER, "5")
        true(result.status in (1, 3), result.err)
        contains(result.err, "/proc/nowhere/at/all")
        file = os.path.join(folder, "file")
        open(file, "w").close()
        result = side("record", "-o", file, TALKER, "5")
        equal(result.status, 1, result.err)
    if os.geteuid():
        result = side("record", "-o", "/side-test-not-permitted", TALKER, "5")
        equal(result.status, 3, result.err)


def test_processes_left_behind():
    go = os.path.join(work.name, "go")
    command = ["sh", "-c", f"(while [ -d {work.name} ] && [ ! -e {go} ]; do sleep 0.1; done; {TALKER} 10) >/dev/null 2>&1 & exit 6"]
    result, output = record("--json", *command)
    equal(result.status, 6, result.err)
    # The remaining process prints nothing before the recording is over, on a machine of any load.
    with open(go, "w", encoding="utf-8"):
        pass
    found = names(output) if os.listdir(output) else []
    if found is not None:
        equal(found, [])
    command = ["sh", "-c", f"(sleep 0.7; {TALKER} 10) >/dev/null 2>&1 & exit 6"]
    result, output = record("--wait", "--json", *command)
    equal(result.status, 6, result.err)
    found = names(output)
    if found is not None:
        equal(found, ["talker:said"] * 10 + ["talker:ends"])


def test_patterns():
    for patterns, wanted in ((["-e", "talker:ends"], ["talker:ends"]),
                             (["-e", "!talker:said"], ["talker:ends"]),
                             (["-e", "talker", "-e", "!*:ends"], ["talker:said"] * 3),
                             (["--event=*@WARNING"], ["talker:ends"]),
                             (["-e", "nobody:*"], [])):
        result, output = record(*patterns, TALKER, "3")
        equal(result.status, 0)
        found = names(output) if os.listdir(output) else []
        if found is not None:
            equal(found, wanted, str(patterns))


def test_names_do_not_reach_the_terminal():
    """The names of a program's events are shown, but control characters have no effect."""
    for options in ([], ["--json"]):
        result = side("record", *options, "-o", new_output(), "--buffer-size", "64K", TALKER, "0",
                      "scream", text=False)
        equal(result.status, 0, str(result.err))
        if options:
            summary_line = summary(Result(0, "", result.err.decode()))
            true("talker:\033[2J\r\u009bscream\n" in [loss["event"] for loss in summary_line["losses"]],
                 str(summary_line["losses"]))
        else:
            contains(result.err.decode(), "talker:\\x1b[2J\\x0d\\xc2\\x9bscream\\x0a")
        for control in b"\033", b"\r", b"\302\233":
            true(control not in result.err, f"{control} in {result.err}")


def test_losses():
    # Rings of the smallest size, and more events than can be written in the meantime.
    result, output = record("--buffer-size=64K", TALKER, "300000", "exit", "7")
    equal(result.status, 7, "losses do not change the status")
    contains(result.err, "lost while a ring was full\nhint: use a larger `--buffer-size`")
    contains(result.err, "talker:said")
    contains(result.err, "ring_")
    result, output = record("--buffer-size=64K", "--strict", TALKER, "300000", "exit", "7")
    equal(result.status, 4)
    result, output = record("--buffer-size=64K", "--strict", "-q", TALKER, "300000")
    equal(result.status, 4)
    equal([line.split(" ", 1)[0] for line in result.err.splitlines()], ["side:", "hint:"], result.err)
    result, output = record("--buffer-size=64K", "--strict", "--json", TALKER, "300000")
    equal(result.status, 4)
    summary_line = summary(result)
    true(summary_line["lost"] > 0, "nothing was lost")
    equal(summary_line["lost"], sum(loss["count"] for loss in summary_line["losses"]))
    equal([(one["reason"], one["count"]) for one in summary_line["reasons"]], [("ring full", summary_line["lost"])])
    contains(summary_line["reasons"][0]["hint"], "--buffer-size")
    equal(summary_line["reasons"][0]["mend"], summary_line["reasons"][0]["hint"], "the former name of the member")
    for loss in summary_line["losses"]:
        true(loss["event"].startswith("talker:") and loss["ring"].startswith("ring_"), str(loss))
    # A process for which no memory is left loses all its events.
    result, output = record("--buffer-size=256K", "--json", TALKER, "10")
    one = [f"--memory-limit={summary(result)['memory_peak']}", "--buffer-size=256K", "sh", "-c",
           f"{TALKER} 10; {TALKER} 10; :"]
    result, output = record("-w", "libc", "--strict", *one)
    contains(result.err, "is not recorded")
    equal(result.status, 4, result.err)
    result, output = record("-w", "libc", *one)
    equal(result.status, 0, result.err)
    result, output = record(TALKER, "0", "ramble")
    contains(result.err, "1 event was lost due to the size limit of an event\n")
    contains(result.err, "talker:said  1 (too big)")
    contains(result.err, "an event can have at most 64.0 KiB, and at most half a ring; larger events are lost")
    # No losses: --strict has no effect.
    result, output = record("--strict", TALKER, "100", "exit", "7")
    equal(result.status, 7)


def test_memory_limit():
    cpus = os.cpu_count()
    result, output = record(f"--memory-limit={cpus}M", "--buffer-size=128K", "--json", TALKER, "10")
    equal(result.status, 0, result.err)
    true(0 < summary(result)["memory_peak"] <= cpus << 20, result.err)
    # A limit that is too small for any process is an error, reported before anything starts.
    marker = os.path.join(work.name, "marker")
    result, output = record("--memory-limit=64K", "touch", marker)
    equal(result.status, 2, result.err)
    contains(result.err, "limit")
    true(not os.path.exists(marker) and not os.path.exists(output), "the command was run")
    hint = re.search("^hint: `(--memory-limit) (\\d+K)` is the smallest that fits$", result.err, re.MULTILINE)
    true(hint, result.err)
    equal(record(*hint.groups(), "true")[0].status, 0)
    equal(record(hint[1], f"{int(hint[2][:-1]) - 1}K", "true")[0].status, 2)
    for verb, sizes, limit in (("record", ("--buffer-size", "8M"), (f"--memory-limit={cpus * 3}M",)),
                               ("record", ("--buffer-size", "8M", "--channel", "a", "--buffer-size", "8M"), (f"--memory-limit={cpus * 5}M",)),
                               ("trace", ("--buffer-size", "2048M"), ())):
        args = [verb, "-o", output, "--force", *limit]
        command = ("-c", TALKER + " 1", "--function", "main") if verb == "trace" else ("--", TALKER, "1")
        refused = side(*args, *sizes, *command)
        equal((refused.status, "--memory-limit" in refused.err), (2, bool(limit)), refused.err)
        largest = re.search("^hint: `--buffer-size (\\d+)M` is the largest that fits", refused.err, re.MULTILINE)
        true(largest, refused.err)
        for times, status in ((1, 0), (2, 2)):
            size = f"{int(largest[1]) * times}M"
            result = side(*args, *[size if word.endswith("M") else word for word in sizes], *command)
            equal((verb, times, result.status), (verb, times, status), result.err)
    # Parallel processes that do not all fit: those left out run, and are named.
    result, output = record(f"--memory-limit={cpus}M", "--buffer-size=128K", "--json", "sh", "-c",
                            f"{TALKER} 1 & {TALKER} 1 & {TALKER} 1 & wait; echo all ran")
    equal((result.status, result.out), (0, "all ran\n"), result.err)


def test_storm_of_processes():
    # Twenty at a time: the rings of exited processes count only with their content.
    count = 3000 if LONG else 600
    result, output = record(f"--memory-limit={os.cpu_count() * 128}M", "--json", TALKER, "0", "fork", str(count))
    equal(result.status, 0, result.err)
    summary_line = summary(result)
    equal((summary_line["recorded"], summary_line["lost"], summary_line["losses"]), (count + 1, 0, []), result.err[:300])
    true("not recorded" not in result.err, result.err)


def test_processes_that_are_not_recorded():
    # One fits. The others are one line with their number, and losses of a recorded process.
    result, output = record("--buffer-size=256K", "--json", TALKER, "10")
    # The shell uses its rings: those of a program without an event would be given to the next one.
    limit = ["-w", "libc", f"--memory-limit={summary(result)['memory_peak']}"]
    others = f"for i in 1 2 3; do ({TALKER} 10); done; :"
    result, output = record(*limit, "--buffer-size=256K", "sh", "-c", others)
    lines = [line for line in result.err.splitlines() if "not recorded" in line]
    # The shell's children, and the programs that they execute.
    count = int(re.match(r"side: (\d+) processes are not recorded, the first: process \d+ \(", lines[0])[1])
    true(3 <= count <= 6, result.err)
    contains(result.err, f"side: {count} events were lost in processes that are not recorded; each process counts as one event\n"
                         "hint: use a larger `--memory-limit`")
    report = side("report", "--losses", output)
    contains(report.out, "process not recorded, each counts once")
    result, output = record(*limit, "--buffer-size=256K", "--strict", "--json", "sh", "-c", others)
    equal(result.status, 4, result.err)
    summary_line = summary(result)
    equal([(one["reason"], one["count"]) for one in summary_line["losses"]],
          [("process not recorded, each counts once", summary_line["lost"])])


def interrupt(arguments, wait=True):
    """Ctrl-C: sends SIGINT to the whole group, as a terminal does."""
    process = subprocess.Popen([SIDE, "record", *arguments], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment(), start_new_session=True)
    equal(process.stdout.readline(), "ready\n")
    os.killpg(process.pid, signal.SIGINT)
    return process


def test_interrupt():
    output = new_output()
    process = interrupt(["-o", output, TALKER, "50", "wait"])
    out, err = process.communicate(timeout=30)
    equal(process.returncode, 130, err)
    contains(err, "events from 1 process")
    found = names(output)
    if found is not None:
        equal(found, ["talker:said"] * 50 + ["talker:ends"])


def test_second_interrupt():
    """A command that ignores Ctrl-C: the second one ends the recording, which has all events."""
    output = new_output()
    process = interrupt(["-o", output, "sh", "-c", f"trap '' INT; exec {TALKER} 50 wait"])
    time.sleep(0.3)
    equal(process.poll(), None, "the recording goes on while the command does")
    os.killpg(process.pid, signal.SIGINT)
    process.wait(timeout=30)
    # The command runs on, and has the pipes.
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    out, err = process.communicate(timeout=30)
    contains(err, "interrupted")
    equal(process.returncode, 130)
    found = names(output)
    if found is not None:
        equal(found, ["talker:said"] * 50 + ["talker:ends"])


def test_termination():
    """SIGTERM to the recorder only ends the command, too."""
    output = new_output()
    process = subprocess.Popen([SIDE, "record", "-o", output, TALKER, "5", "wait"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment(),
                               start_new_session=True)
    equal(process.stdout.readline(), "ready\n")
    process.terminate()
    out, err = process.communicate(timeout=30)
    equal(process.returncode, 143, err)
    contains(err, "side: recorded")


def test_wrappers():
    result, output = record("-w", "libc", "--json", "ls", "-l", "/")
    equal(result.status, 0, result.err)
    contains(result.out, "proc")
    summary_line = summary(result)
    true(summary_line["bytes"] > 0, "nothing was recorded")
    found = names(output)
    if found is not None:
        contains(found, "libc:malloc")
    result, output = record("-w", "libc", "-w", "pthread", "true")
    equal(result.status, 0, result.err)


def test_colors_and_progress():
    """No escape sequences and no progress without a terminal."""
    result, _ = record("-v", TALKER, "10")
    true("\033" not in result.err and "\r" not in result.err, repr(result.err))
    output = new_output()
    result = side_on_terminal("record", "-o", output, TALKER, "10", which="stderr")
    true("\r\033[K" not in result.out, repr(result.out))
    contains(result.out, "\033[1mside:\033[0m recorded 11 events from 1 process")
    result = side_on_terminal("record", "--color=never", "-o", new_output(), TALKER, "10", which="stderr")
    true("\033" not in result.out, repr(result.out))


def test_kernel_without_permission():
    """If a requested part cannot be recorded, that is not a success, whatever else was recorded."""
    if os.geteuid():
        skip("not root, which could become another user")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        as_nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        if subprocess.run([SIDE, "version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, **as_nobody).returncode:
            skip("another user cannot run what was built here")
        for more, command, wanted in (((), "true", (1, 3)), (("--strict",), "true", (4,)), ((), "false", (1,)), ((), None, (1, 3))):
            output = os.path.join(folder, f"trace-{wanted[0]}-{command}")
            result = side("record", "-k", "sched:*", *more, "-o", output, *(["--", command] if command else []), **as_nobody)
            contains(result.err, "cannot record kernel events: ")
            true(result.status in wanted, f"{more} {command}: {result}")


def test_processes_with_events():
    """A shell that runs programs without events is not counted, and programs with most events come first."""
    result, output = record("sh", "-c", f"{TALKER} 1; {TALKER} 30; true; ls /; true")
    line = next(line for line in result.err.splitlines() if "recorded" in line)
    reported = json_lines(side("report", "--json", output).out)
    counts = [value["processes"] for value in reported if "processes" in value]
    contains(line, "from 2 processes")
    equal(counts[:1], [2])
    rows = [line for line in result.err.splitlines() if line.startswith("  " + NAME)]
    equal([int(row.split()[1]) for row in rows], [31, 2], result.err)


def test_nothing_matches():
    """An empty recording reports the reason; the names are those of the program, and the suggestion works."""
    for args, wanted in (
            (("-e", "talkr:*"), "no event matched `-e 'talkr:*'`"), (("-e", "talker:sad"), "no event matched `-e talker:sad`"),
            (("-e", "zzzzzz", "-e", "!talker:said"), "no event matched `-e zzzzzz -e '!talker:said'`")):
        result, _ = record(*args, TALKER, "3")
        contains(result.err, wanted)
        contains(result.err, f"{NAME} has 3 events: talker:")
        true("-w libc" not in result.err and "side view" not in result.err, result.err)
        meant = re.search(r"did you mean `(-e .*)`\?", result.err)
        equal(bool(meant), args[1] != "zzzzzz", result.err)
        if meant:
            again = subprocess.run(f"{SIDE} record -o {new_output()} {meant[1]} {TALKER} 3", shell=True, text=True,
                                   stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
            contains(again.stderr, "side view")
    # The shell's child has the events.
    result, _ = record("-e", "talkr:*", "sh", "-c", f"{TALKER} 3; true")
    contains(result.err, f"{NAME} has 3 events")
    for args in (("--filter", "number > 4000000"), ("-e", "talker:said", "--filter", "number > 4000000")):
        result, _ = record(*args, TALKER, "3")
        contains(result.err, "happened, or the filter selected none")
    # A filter that fits no event names the field, also if the patterns match.
    for args in ((), ("-e", "talker:said"), ("-e", "talker:*")):
        result, _ = record(*args, "--filter", "numbr > 1", TALKER, "3")
        contains(result.err, 'the filter `numbr > 1` cannot be applied to any of the events')
        contains(result.err, 'has no field "numbr"\nhint: did you mean `number`?')
        true("no event matched" not in result.err, result.err)
    for args in ((), ("-e", "talker:*")):
        result, _ = record(*args, "true")
        contains(result.err, "the programs have no events of their own\nhint: `-w libc`")


run_tests(globals())
