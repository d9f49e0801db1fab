# SPDX-License-Identifier: MIT
"""Attach on exec: programs that start from the file of `enable-event --exe` have the probe before main(), without `side run`. No program
hangs or changes, whatever is killed.

usage: test-exec.py SIDE LIBRARIES PROGRAM-WITH-LIBSIDE
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish
from waiting import wait_until
from exec_harness import (PROGRAM, call, compile_program, create, end, environment, execs, libraries, path, plain, processes, run, side,
                          start, wait_for)

with_libside = os.path.abspath(sys.argv[3])
# Executes its arguments in a thread other than the first one, after vfork().
THREAD = r"""
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char **command;

static void *run(void *user)
{
	pid_t child = vfork();
	int status;

	if (!child) {
		execv(command[0], command);
		_exit(99);
	}
	waitpid(child, &status, 0);
	if (WEXITSTATUS(status) != 3)
		exit(98);
	execv(command[0], command);
	return user;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	command = argv + 1;
	(void)argc;
	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
	return 97;
}
"""
PERL, PYTHON = "/usr/bin/perl", os.path.realpath("/usr/bin/python3")


def test_counts(program, thread):
    """Each call is recorded, from constructors on. The program is not slowed down for ever, and its output is the same."""
    create("calls")
    done = call(side, "enable-event", "counted", "-s", "calls", "--exe", program, "--function", "counted")
    expect("attach on exec" in done.stderr, f"the method: {done.stderr}")
    expect("side run" not in done.stderr, f"no hint: {done.stderr}")
    for nr in ("1000", "10"):
        expect_equal(start(program, nr).stdout, nr + "\n", "output")
    # Two programs, one after vfork() in a thread, one instead of the thread's process.
    start(thread, program, "20")
    expect("attach on exec, " in call(side, "status", "calls").stdout, "status")
    wait_for("calls", attached=4)
    answer = call(side, "enable-event", "again", "-s", "calls", "--exe", program, "--function", "counted", "--json")
    expect_equal(json.loads(answer.stdout)["exec"]["possible"], True, "the answer in JSON")
    expect_equal(sorted(end("calls").values()), [10, 20, 20, 1000], "the calls of each process")
    # The file is not watched any more.
    expect_equal(start(program, "5").stdout, "5\n", "without a session")


def test_languages():
    """Copies of interpreters: other programs of the machine use the originals."""
    probes = []
    if os.access(PERL, os.X_OK):
        probes.append(("perl", path("perl"), "Perl_sv_setsv_flags", "for (1..%d) { $x = $_ }", "-e"))
        shutil.copy(PERL, path("perl"))
    if os.access(PYTHON, os.X_OK):
        probes.append(("python", path("python"), "PyNumber_Long", "for i in range(%d): int('5')", "-c"))
        shutil.copy(PYTHON, path("python"))
    create("languages", *(probe[:3] for probe in probes))
    for _, exe, _, script, option in probes:
        for nr in (500, 1500):
            start(exe, option, script % nr, status=0)
    found = end("languages")
    for name, *_ in probes:
        few, many = sorted(count for (event, _), count in found.items() if event == "probe:" + name)
        expect_equal(many - few, 1000, name)


def test_later_file(program):
    """A file that appears when the session is active, and is replaced; two sessions."""
    later = path("later/bin/program")
    for name in ("first", "second"):
        call(side, "create", name, "-o", path(name))
        done = call(side, "enable-event", "counted", "-s", name, "--exe", later, "--function", "counted")
        expect("attach on exec" in done.stderr, done.stderr)
        call(side, "start", name)
    os.makedirs(os.path.dirname(later))
    shutil.copy(program, later)
    wait_until(lambda: execs("first").get("watched"), "the file is watched")
    start(later, "23")
    print(f"a later file: {execs('first')}")
    start("/bin/sh", "-c", f"{later} 29 & {later} 31; wait", status=0)
    shutil.copy(program, later + ".new")
    os.rename(later + ".new", later)
    wait_until(lambda: start(later, "37") and execs("first")["attached"] >= 4, "another file of this path")
    for name in ("first", "second"):
        values = sorted(end(name).values())
        expect_equal(values[:4], [23, 29, 31, 37], "the calls of each process")


def test_links(program):
    """A path that leads over a symbolic link later: status counts no program as attached, and names the file."""
    linked, real = path("linked/program"), path("real/program")
    create("links", ("counted", linked, "counted"))
    os.mkdir(os.path.dirname(real))
    shutil.copy(program, real)
    os.symlink(os.path.dirname(real), os.path.dirname(linked))
    wait_until(lambda: real in execs("links").get("why", ""), f"the file in the reason: {execs('links')}")
    expect("symbolic link" in call(side, "status", "links").stdout, "the reason in status")
    expect_equal(start(linked, "5").stdout, "5\n", "a program of a link")
    expect_equal((execs("links")["attached"], execs("links")["watched"]), (0, False), "it is not attached to")
    # A directory instead of the link, then a link instead of the file, and back.
    os.unlink(os.path.dirname(linked))
    os.mkdir(os.path.dirname(linked))
    for nr in (7, 11):
        shutil.copy(program, linked + ".new")
        os.rename(linked + ".new", linked)
        wait_until(lambda: execs("links").get("watched"), "the file is watched")
        start(linked, str(nr))
        os.symlink(real, linked + ".new")
        os.rename(linked + ".new", linked)
        wait_until(lambda: real in execs("links").get("why", ""), f"the link in the reason: {execs('links')}")
        expect_equal(start(linked, "5").stdout, "5\n", "a program of a retargeted link")
    expect_equal(sorted(end("links").values()), [7, 11], "the calls of each process")


def test_namespaces(program):
    """Programs of other mount and process namespaces, another root directory, and copies: unchanged, attached to or counted or not
    claimed."""
    target, merged = path("contained"), path("merged")
    shutil.copy(program, target)
    for name in (merged, path("upper"), path("overlay-work"), path("lower")):
        os.mkdir(name)
    shutil.copy(program, path("lower/contained"))
    create("namespaces", ("counted", target, "counted"))
    in_mounts = ("unshare", "-m", "/bin/sh", "-c")
    overlay = f"mount -t overlay overlay -o lowerdir={path('lower')},upperdir={path('upper')},workdir={path('overlay-work')} {merged}"
    jail = (f"mkdir {path('jail')} && mount -t tmpfs none {path('jail')} && cd {path('jail')} && mkdir usr program && "
            f"mount --rbind /usr usr && ln -s usr/lib usr/lib64 usr/bin . && touch program/contained && "
            f"mount --bind {target} program/contained && exec chroot . /program/contained 12")
    # The command, the calls that it makes, and what is expected of its program.
    cases = (("another mount namespace", (*in_mounts, f"exec {target} 11"), 11, "attached"),
             ("another root directory", (*in_mounts, jail), 12, "failed"),
             ("processes and mounts of its own", ("unshare", "-m", "-p", "-f", target, "13"), 13, "failed"),
             ("a copy in an overlay", (*in_mounts, f"{overlay} && exec {merged}/contained 14"), 14, None),
             ("a copy", (path("lower/contained"), "15"), 15, None))
    wanted = {"attached": 0, "failed": 0, "joined": 0}
    for what, command, calls, result in cases:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=plain)
        if done.returncode != 3 and "ount" in done.stderr or "unshare" in done.stderr:
            print(f"{what}: not tested: {done.stderr.strip()}")
            continue
        expect_equal((done.stdout, done.returncode), (f"{calls}\n", 3), f"{what}: {done.stderr}")
        if result:
            wanted[result] += 1
        wait_until(lambda: execs("namespaces").get("restarts") or
                   all(execs("namespaces")[key] >= number for key, number in wanted.items()), f"{what}: {wanted}")
        if execs("namespaces").get("restarts"):
            print(f"{what}: the machine is too busy: the helper was replaced, and the results are not known")
            call(side, "destroy", "namespaces")
            return
        expect_equal({key: execs("namespaces")[key] for key in wanted}, wanted, f"{what}: {execs('namespaces')}")
    expect(wanted["attached"] or wanted["failed"], "a case")
    expect_equal(list(end("namespaces").values()), [11] * wanted["attached"], "the calls of the attached programs")


def test_refused(program, others):
    """Programs that cannot be attached to run unchanged, with the reason in status."""
    target = path("target")
    create("refused", ("counted", target, "counted"))

    def install(file):
        shutil.copy(file, target + ".new")
        os.rename(target + ".new", target)

    for file, reason in others:
        install(file)
        wait_until(lambda: not execs("refused")["possible"], f"{reason}: {execs('refused')}")
        expect(reason in execs("refused")["why"], f"{reason}: {execs('refused')}")
        expect(reason in call(side, "status", "refused").stdout, "the reason in status")
        expect_equal(start(target, "5").stdout, "5\n", reason)
    install(program)
    os.chmod(target, 0o4755)
    wait_until(lambda: "gains privileges" in execs("refused").get("why", ""), "set-user-ID")
    expect_equal(start(target, "5").stdout, "5\n", "set-user-ID")
    os.chmod(target, 0o755)
    wait_until(lambda: execs("refused")["possible"], "an ordinary file")
    failed = 0
    for command, reason in ((("strace", "-f", "-o", os.devnull), "is tracing it"), (("unshare", "-p", "-f"), "container")):
        if shutil.which(command[0]) and not subprocess.run([*command, "true"], capture_output=True, check=False, timeout=60).returncode:
            expect_equal(start(*command, target, "6").stdout, "6\n", reason)
            failed += 1
            expect(reason in wait_for("refused", failed=failed)["failure"], f"{reason}: {execs('refused')}")
    expect_equal(end("refused"), {}, "no program has the probe")


def test_joins():
    """A program with libside joins by itself, and is left alone."""
    create("joins", ("start", with_libside, "main"))
    subprocess.run([with_libside], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60, env={
        **environment, "SIDE_LIB_DIR": libraries.split(":", maxsplit=1)[0], "LD_LIBRARY_PATH": libraries.split(":")[-1]})
    state = wait_for("joins", joined=1)
    expect_equal((state["attached"], state["failed"]), (0, 0), "no attachment")
    expect_equal(list(end("joins").values()), [1], "main() is recorded")


def run_many(program, nr, disturb):
    """Starts programs while disturb() runs; each has its output and status, in time."""
    stop = threading.Event()

    def repeat():
        while not stop.is_set():
            disturb()

    other = threading.Thread(target=repeat)
    other.start()
    longest = 0
    try:
        for i in range(nr):
            begun = time.monotonic()
            expect_equal(start(program, str(i + 2)).stdout, f"{i + 2}\n", "output")
            longest = max(longest, time.monotonic() - begun)
    finally:
        stop.set()
        other.join()
    return longest


def test_killed_helper(program):
    """The helper, and what it has started, is killed at any moment: no program hangs, and the next helper continues."""
    create("killed", ("counted", program, "counted"))

    def kill():
        for pid in processes("side-watch-execs"):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.03)

    print(f"helper killed: the longest program took {run_many(program, 40, kill):.2f} s")
    wait_until(lambda: start(program, "3") and execs("killed").get("attached", 0) > 0, "the next helper attaches")
    # A stopped helper is found, and replaced.
    helpers = processes("side-watch-execs")
    for pid in helpers:
        os.kill(pid, signal.SIGSTOP)
    begun = time.monotonic()
    expect_equal(start(program, "4").stdout, "4\n", "a stopped helper")
    print(f"helper stopped: the program took {time.monotonic() - begun:.2f} s")
    wait_until(lambda: processes("side-watch-execs") and not set(helpers) & set(processes("side-watch-execs")), "another helper")
    end("killed")


def test_storm(program):
    """Many programs at once: each runs. Those that cannot be attached to in time do so without the probe."""
    create("storm", ("counted", program, "counted"))
    begun = time.monotonic()
    running = [subprocess.Popen([program, "9"], stdout=subprocess.PIPE, text=True, env=plain) for _ in range(100)]
    for process in running:
        expect_equal((process.communicate(timeout=60)[0], process.returncode), ("9\n", 3), "a program of many")
    state = wait_for("storm", attached=1)
    print(f"{len(running)} programs at once: {state['attached']} attached in {time.monotonic() - begun:.2f} s")
    found = end("storm")
    # On a busy machine, the recorder can be late for some programs, which then run without the probe.
    whole = [count for (event, _), count in found.items() if event == "probe:counted"]
    expect(whole and set(whole) == {9}, f"all calls of each program that has the probe: {state} {found}")


def start_at_once(program, nr):
    running = [subprocess.Popen(["/bin/sh", "-c", f"{program} 9"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=plain)
               for _ in range(nr)]
    return {(process.communicate(timeout=60)[0], process.returncode) for process in running}


def test_few_descriptors(program):
    """The kernel refuses an exec if the helper cannot open another file: so it has enough descriptors."""
    call(side, "daemon", "--stop")
    call("/bin/sh", "-c", f"ulimit -S -n 64; exec {side} daemon")
    create("few", ("counted", program, "counted"))
    wait_until(lambda: execs("few").get("watched"), "the file is watched")
    for _ in range(3):
        expect_equal(start_at_once(program, 100), {("9\n", 3)}, "programs of a daemon with few descriptors")
    end("few")
    call(side, "daemon", "--stop")


def test_stopped_group(program):
    """Signals of a terminal, such as SIGTSTP, stop the processes of the daemon's group, but not its helper: programs start."""
    create("stopped", ("counted", program, "counted"))
    wait_until(lambda: execs("stopped").get("watched"), "the file is watched")
    daemon = next(pid for pid in processes("sided") if os.getpgid(pid) == pid)
    os.killpg(daemon, signal.SIGSTOP)
    try:
        expect_equal(start(program, "7").stdout, "7\n", "while the daemon is stopped")
    finally:
        os.killpg(daemon, signal.SIGCONT)
    end("stopped")


def test_killed_daemon(program):
    """The daemon is killed while programs start, and restarted: its session goes on."""
    create("daemon", ("counted", program, "counted"))

    def kill():
        for pid in processes("sided"):
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as arguments:
                if "session-process" in arguments.read():
                    continue
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
        call(side, "daemon", status=None)

    print(f"daemon killed: the longest program took {run_many(program, 25, kill):.2f} s")
    wait_until(lambda: start(program, "3") and execs("daemon").get("attached", 0) > 0, "the restarted daemon attaches")
    end("daemon")


def test_all(program):
    test_counts(program, compile_program("thread", THREAD))
    test_languages()
    test_later_file(program)
    test_joins()
    test_links(program)
    test_namespaces(program)
    foreign = ((compile_program("static", PROGRAM, "gcc", "-static"), "statically linked"),
               (compile_program("of-32", PROGRAM, "gcc", "-m32"), "word size"),
               (compile_program("musl", PROGRAM, "musl-gcc") if shutil.which("musl-gcc") else None, "C library"))
    test_refused(program, [(file, reason) for file, reason in foreign if file])
    test_storm(program)
    test_killed_helper(program)
    test_killed_daemon(program)
    test_few_descriptors(program)
    test_stopped_group(program)


finish(skipped=not run(test_all))
