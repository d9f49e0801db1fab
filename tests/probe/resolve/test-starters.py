#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side trace -c` with programs that start another one, and with processes that COMMAND leaves behind: each call of the
selected program is in the trace, as babeltrace2 reads it, or nothing is started.
"""
import atexit
import random
import shutil

from harness import *

FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", LANG="C.UTF-8", SIDE_TIMEOUT_FACTOR="30")
PROGRAM = FOLDER + "/started"
subprocess.run(["gcc", "-O1", "-w", os.environ["SOURCES"] + "/started.c", "-o", PROGRAM], check=True)
FLAG = FOLDER + "/flag"
# Prefixes of a command; {rest} is the command that they start.
STARTERS = {
    "env": ("env {rest}", "env A=b LONG='x y' {rest}", "env -u FOO --unset=BAR {rest}", "env -C / -- {rest}", "env --chdir / {rest}", "/usr/bin/env {rest}"),
    "nice": ("nice {rest}", "nice -n 3 {rest}", "nice -3 {rest}", "nice --adjustment=3 {rest}"),
    "nohup": ("nohup {rest}",),
    "stdbuf": ("stdbuf -oL -e 0 {rest}", "stdbuf --output L -i0 {rest}"),
    "setsid": ("setsid -w {rest}", "setsid --wait {rest}"),
    "timeout": ("timeout 60 {rest}", "timeout -k 5 --signal=INT 1m {rest}", "timeout --foreground --kill-after 5 60s {rest}"),
    "time": ("/usr/bin/time {rest}", f"/usr/bin/time -f %e -o {FOLDER}/times {{rest}}"),
    "taskset": ("taskset -c 0 {rest}", "taskset 1 {rest}", "taskset --cpu-list 0 {rest}"),
    "chrt": ("chrt -o 0 {rest}", "chrt --batch 0 {rest}"),
    "ionice": ("ionice {rest}", "ionice -c 3 {rest}", "ionice -c2 --classdata 7 {rest}"),
    "numactl": ("numactl --localalloc {rest}", "numactl -m 0 --cpunodebind 0 {rest}"),
    "unshare": ("unshare -m {rest}", "unshare --mount --pid --fork --kill-child {rest}", "unshare --propagation slave -m {rest}"),
    "setarch": ("setarch -R {rest}", "setarch x86_64 -R {rest}", "linux64 {rest}"),
    "strace": ("strace -f -o /dev/null {rest}", "strace -e trace=read --output=/dev/null -s 8 {rest}"),
}


def available():
    """Those that are installed and permitted here, with their forms."""
    found = {}
    for name, forms in STARTERS.items():
        works = [form for form in forms
                 if not subprocess.run(["sh", "-c", form.format(rest="true")], capture_output=True, check=False, cwd=FOLDER).returncode]
        if works:
            found[name] = works
    return found


def trace(command, *options, function="cook"):
    output = tempfile.mkdtemp(dir=FOLDER)
    return side("trace", "-o", output, "--force", *options, "-c", command, "--function", function, env=ENV, cwd=FOLDER), output


def calls(output):
    done = subprocess.run(["babeltrace2", output], capture_output=True, text=True, check=False)
    return done.stdout.count("probe:cook:")


FOUND = available()


def test_all_starters_are_here():
    missing = sorted(STARTERS.keys() - FOUND.keys())
    if missing:
        skip(f"not installed, or not permitted: {', '.join(missing)}")
    equal(sorted(FOUND), sorted(STARTERS))


def test_each():
    true(len(FOUND) > 8, str(sorted(FOUND)))
    for forms in FOUND.values():
        for form in forms:
            result, output = trace(form.format(rest=f"{PROGRAM} 5"))
            equal((form, result.status, calls(output)), (form, 0, 5), result.err)


def test_several():
    """One after another, at random; the status is that of the program."""
    chance = random.Random(19)
    for _ in range(200 if LONG else 8):
        names = chance.sample(sorted(FOUND), chance.randrange(2, 5))
        command = f"{PROGRAM} 4"
        for name in names:
            command = chance.choice(FOUND[name]).format(rest=command)
        result, output = trace(command)
        equal((command, result.status, calls(output)), (command, 0, 4), result.err)


def test_names():
    """side finds the program in the directory and by the PATH that it starts with."""
    os.makedirs(FOLDER + "/bin", exist_ok=True)
    shutil.copy(PROGRAM, FOLDER + "/bin/only-there")
    for command in (f"env PATH={FOLDER}/bin:/usr/bin:/bin only-there 3", "env -C bin ./only-there 3", "nice ./started 3",
                    f"env --chdir={FOLDER}/bin nice ./only-there 3"):
        result, output = trace(command)
        equal((command, result.status, calls(output)), (command, 0, 3), result.err)
    # A program of the test with such a name is not a starter.
    shutil.copy(PROGRAM, FOLDER + "/nice")
    result, output = trace("./nice 3")
    equal((result.status, calls(output)), (0, 3), result.err)
    # A starter alone is the program.
    result, _ = trace("env", function="libc:exit")
    equal(result.status, 0, result.err)


def test_refused():
    """Before anything starts: commands that remove the agent, change the user, or start nothing."""
    for start, reports in (("env -i", "removes LD_PRELOAD"), ("env -", "removes LD_PRELOAD"), ("nice env --ignore-environment A=b", "removes LD_PRELOAD"),
                        ("env -u LD_PRELOAD", "changes `LD_PRELOAD`"), ("env LD_PRELOAD=x.so", "changes `LD_PRELOAD`"),
                        ("strace -E LD_PRELOAD", "changes `LD_PRELOAD`"), ("env -S", "cannot trace through `env -S`"), ("sudo", "through `sudo`"),
                        ("sudo -u nobody env", "through `sudo`"), ("/usr/bin/sudo A=b", "through `sudo`"), ("nice doas", "through `doas`"),
                        ("pkexec", "through `pkexec`"), ("su nobody -c", "through `su`"), ("runuser -u nobody --", "through `runuser`"),
                        ("taskset -p 1", "cannot trace through `taskset -p`"), ("strace -p 1", "cannot trace through `strace -p`"),
                        ("unshare -R /", "cannot trace through `unshare -R`")):
        result, output = trace(f"{start} sh -c 'touch {FLAG}'", function="main")
        equal((start, result.status), (start, 2), result.err)
        contains(result.err, reports)
        equal((os.path.exists(FLAG), os.listdir(output)), (False, []), start)


def test_left_behind():
    """A child that outlives its parent: lost and reported, or waited for."""
    result, output = trace(f"{PROGRAM} 6 leave")
    equal(result.status, 7, result.err)
    contains(result.err, "\nhint: `--wait` waits for all\n")
    # A child without an event has not joined the recording, and is reported as well.
    for arguments in ((), ("-w", "libc"), ("-e", "nothing:here")):
        result = side("record", "-o", tempfile.mkdtemp(dir=FOLDER), "--force", *arguments, "--", PROGRAM, "6", "leave", env=ENV)
        equal(result.status, 7, result.err)
        contains(result.err, "1 process of the command still runs")
    result = side("record", "-o", tempfile.mkdtemp(dir=FOLDER), "--force", "--", PROGRAM, "6", env=ENV)
    true("still run" not in result.err, result.err)
    for command in (f"{PROGRAM} 6 leave", f"env {PROGRAM} 6 leave", f"setsid -w nice {PROGRAM} 6 leave"):
        result, output = trace(command, "--wait")
        equal((command, result.status, calls(output)), (command, 7, 6), result.err)
    if "setsid" in FOUND:
        result, output = trace(f"setsid -f {PROGRAM} 6", "--wait")
        equal((result.status, calls(output)), (0, 6), result.err)
    for arguments in (("-p", "1"), ("--global", "--exe", PROGRAM)):
        result = side("trace", *arguments, "--wait", "--function", "cook", env=ENV)
        equal(result.status, 2, result.err)
        contains(result.err, "cannot use `--wait`: it needs `-c COMMAND`")


def test_global():
    """The kernel follows them, too, if uprobes are permitted."""
    if trace(f"{PROGRAM} 1", "--global")[0].status:
        skip("global probes are not permitted here")
    result, output = trace(f"env -i A=b nice {PROGRAM} 5", "--global")
    equal((result.status, calls(output)), (0, 5), result.err)


run_tests(globals())
