# SPDX-License-Identifier: MIT
"""`side run`: programs without libside join the sessions of the daemon before main(), and get the probes of `enable-event --exe`. The
command runs as it does without `side run`.

usage: test-run.py SIDE LIBRARIES WALKER
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish
from waiting import wait_until

side, libraries, walker = (os.path.abspath(a) for a in sys.argv[1:4])
work = tempfile.TemporaryDirectory(prefix="side-run-test-")
environment = {k: v for k, v in os.environ.items() if k not in (
    "LD_PRELOAD", "LD_LIBRARY_PATH", "SIDE_AGENT_SOCKET", "SIDE_REPORT_SOCKET", "SIDE_AGENT_SESSION", "XDG_RUNTIME_DIR")}
environment.update(SIDE_RUNTIME=os.path.join(work.name, "runtime"), SIDE_LIB_DIR=libraries, HOME=work.name, TMPDIR=work.name)

# Calls counted() as often as the first argument states, with a call before main(), then ends by the second one.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <unistd.h>

static volatile int calls;

__attribute__((noinline)) void counted(int i)
{
	calls += i + 1 - i;
}

__attribute__((constructor)) static void before(void)
{
	counted(0);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < atoi(argv[1]); i++)
		counted(i);
	printf("%d %s\n", calls, argc > 2 ? argv[2] : "");
	fflush(stdout);
	if (argc > 2)
		raise(atoi(argv[2]));
	return 3;
}
"""
PERL, PYTHON = "/usr/bin/perl", os.path.realpath("/usr/bin/python3")


def path(name):
    return os.path.join(work.name, name)


def compile_program(name, *command):
    source = path("program.c")
    with open(source, "w", encoding="utf-8") as out:
        out.write(PROGRAM)
    return path(name) if not subprocess.run(
        [*command, "-O1", "-o", path(name), source], capture_output=True, check=False, timeout=60).returncode else None


def call(*command, status=0, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env={**environment, **more})
    if status is not None:
        expect_equal(done.returncode, status, f"{command}: {done.stderr}")
    return done


def create(name, *probes):
    call(side, "create", name, "-o", path(name))
    for event, exe, function in probes:
        call(side, "enable-event", event, "-s", name, "--exe", exe, "--function", function)


def counts(name):
    """The events of the session by name and process id."""
    found = {}
    for line in call(side, "view", "--json", path(name)).stdout.splitlines():
        event = json.loads(line)
        key = event["event"], event["vpid"]
        found[key] = found.get(key, 0) + 1
    return found


def totals(name):
    result = {}
    for (event, _), count in counts(name).items():
        result[event] = result.get(event, 0) + count
    return result


def leave():
    """The processes that report have ended, and left nothing."""
    wait_until(lambda: not [name for name in os.listdir(work.name) if name.startswith("side-run-") and "test" not in name],
               "the directories of sockets are removed")


def test_refused():
    """Nothing can record the command: it is not started."""
    done = call(side, "run", "--", "touch", path("started"), status=1)
    expect("daemon" in done.stderr, done.stderr)
    call(side, "daemon")
    done = call(side, "run", "--", "touch", path("started"), status=1)
    expect("has no session" in done.stderr and "side create" in done.stderr, done.stderr)
    call(side, "create", "idle", "-o", path("idle"))
    done = call(side, "run", "-s", "idel", "--", "touch", path("started"), status=1)
    expect("idle" in done.stderr, done.stderr)
    expect(not os.path.exists(path("started")), "the command was started")
    # The session is not started yet: a note, and the command runs.
    done = call(side, "run", "-s", "idle", "--", "touch", path("started"))
    expect("side start idle" in done.stderr, done.stderr)
    expect(os.path.exists(path("started")), "the command was not started")
    call(side, "destroy", "idle")


def test_counts(program):
    """Each call is recorded, from constructors on, in the command and in its children."""
    call(side, "create", "calls", "-o", path("calls"))
    call(side, "start", "calls")
    done = call(side, "enable-event", "counted", "-s", "calls", "--exe", program, "--function", "counted")
    expect("side run" in done.stderr, f"how programs get it: {done.stderr}")
    done = call(side, "run", "--", program, "1000", status=3)
    expect_equal((done.stdout, done.stderr), ("1000 \n", ""), "the command")
    done = call(side, "run", "-s", "calls", "--", "sh", "-c", f"{program} 10; {program} 20 & wait; {program} 30", status=3)
    expect_equal(done.stdout, "10 \n20 \n30 \n", "children")
    call(side, "stop", "calls")
    found = counts("calls")
    expect_equal(sorted(found.values()), [10, 20, 30, 1000], "the calls of each process")
    expect_equal({event for event, _ in found}, {"probe:counted"}, "events")
    call(side, "destroy", "calls")


def test_languages():
    """Interpreters of Debian: N more calls in the script are N more events."""
    probes = []
    if os.access(PERL, os.X_OK):
        probes.append(("perl", PERL, "Perl_sv_setsv_flags", "for (1..%d) { $x = $_ }", "-e"))
    if os.access(PYTHON, os.X_OK):
        probes.append(("python", PYTHON, "PyNumber_Long", "for i in range(%d): int('5')", "-c"))
    create("languages", *(probe[:3] for probe in probes))
    call(side, "start", "languages")
    for _, exe, _, script, option in probes:
        for nr in (500, 1500):
            call(side, "run", "--", exe, option, script % nr)
    call(side, "stop", "languages")
    found = counts("languages")
    for name, *_ in probes:
        few, many = sorted(count for (event, _), count in found.items() if event == "probe:" + name)
        expect_equal(many - few, 1000, name)
    call(side, "destroy", "languages")


def test_never(others):
    """A probe that no program can get is refused, with the reason."""
    call(side, "create", "never", "-o", path("never"))
    for kind, (other, reason, *_) in others.items():
        done = call(side, "enable-event", "counted", "-s", "never", "--exe", other, "--function", "counted", status=1)
        expect("cannot set the probe: " in done.stderr, f"{kind}: {done.stderr}")
        expect(kind != "static" or (reason in done.stderr and "--global" in done.stderr), f"{kind}: {done.stderr}")
    os.symlink(path("nothing"), path("dangling"))
    for nothing in (path("dangling"), path("no/such/../file"), path("no/such/")):
        done = call(side, "enable-event", "counted", "-s", "never", "--exe", nothing, "--function", "counted", status=1)
        expect("there is no file" in done.stderr, done.stderr)
    expect("probe:counted" not in call(side, "status", "never").stdout, "no probe is part of the session")
    call(side, "destroy", "never")


def test_two_sessions(program):
    """Two sessions at once; with -s, only one of them."""
    for name in ("one", "two"):
        create(name, ("counted", program, "counted"))
        call(side, "start", name)
    call(side, "run", "--", program, "100", status=3)
    call(side, "run", "-s", "two", "--", program, "7", status=3)
    for name in ("one", "two"):
        call(side, "stop", name)
    expect_equal(totals("one"), {"probe:counted": 100}, "session one")
    expect_equal(totals("two"), {"probe:counted": 107}, "session two")
    call(side, "destroy", "one")
    call(side, "destroy", "two")


def state(session, event="probe:counted"):
    """The state of the probe in the JSON of `status`, and why it cannot be set."""
    probes = json.loads(call(side, "status", session, "--json").stdout)["probes"]
    return next((probe["state"], probe.get("why", "")) for probe in probes if probe["event"] == [event])


def test_later_file(program):
    """A file that does not exist yet: its first program has the probe from the beginning."""
    later = path("later/bin/program")
    for name in ("first", "second"):
        call(side, "create", name, "-o", path(name))
        done = call(side, "enable-event", "counted", "-s", name, "--exe", later, "--function", "counted")
        expect("when " + later + " exists" in done.stderr, done.stderr)
        expect("pending: no such file" in call(side, "status", name).stdout, "status of a session that was not started")
        call(side, "start", name)
        expect_equal(state(name), ("pending", ""), "the file does not exist")
        expect("pending: no such file" in call(side, "status", name).stdout, "status")
    os.makedirs(os.path.dirname(later))
    shutil.copy(program, later)
    expect("pending: no process yet" in call(side, "status", "first").stdout, "status")
    call(side, "run", "--", later, "23", status=3)
    call(side, "run", "--", "sh", "-c", f"{later} 29 & {later} 31; wait")
    for name in ("first", "second"):
        expect_equal(state(name), ("set", ""), "the programs have had the probe")
        call(side, "stop", name)
        expect_equal(sorted(counts(name).values()), [23, 29, 31], "the calls of each process")
        call(side, "destroy", name)


def test_later_perl():
    """A copy of an interpreter, which is installed after the session has started."""
    later = path("perl-of-later")
    create("perl", ("perl", later, "Perl_sv_setsv_flags"))
    call(side, "start", "perl")
    shutil.copy(PERL, later)
    for nr in (500, 1500):
        call(side, "run", "--", later, "-e", "for (1..%d) { $x = $_ }" % nr)
    call(side, "stop", "perl")
    few, many = sorted(counts("perl").values())
    expect_equal(many - few, 1000, "calls of the first and of the second program")
    call(side, "destroy", "perl")


def test_later_failure(program):
    """A file without the function: the reason is reported, and another file is tried again."""
    later = path("other")
    call(side, "create", "wrong", "-o", path("wrong"))
    call(side, "enable-event", "counted", "-s", "wrong", "--exe", later, "--function", "counted", "--filter", "$ctx.procname != \"x\"")
    call(side, "start", "wrong")
    shutil.copy("/usr/bin/true", later)
    for _ in range(2):
        call(side, "run", "--", later)
        expect_equal(state("wrong")[0], "pending", "the file has no such function")
        wait_until(lambda: "counted" in state("wrong")[1], "the reason")
    expect("pending: " + state("wrong")[1] in call(side, "status", "wrong").stdout, "the reason in status")
    os.unlink(later)
    shutil.copy(program, later)
    call(side, "run", "--", later, "37", status=3)
    # The rule of the probe has kept its filter.
    expect("procname" in call(side, "status", "wrong", "--json").stdout, "the filter")
    call(side, "stop", "wrong")
    expect_equal(totals("wrong"), {"probe:counted": 37}, "another file")
    call(side, "destroy", "wrong")


def test_other_path(program):
    """Another hard link of the file gets the probe; a copy does not."""
    linked, link, copy = path("linked"), path("link"), path("copy")
    shutil.copy(program, linked)
    os.link(linked, link)
    shutil.copy2(linked, copy)
    create("links", ("counted", linked, "counted"))
    call(side, "start", "links")
    for _ in range(2):
        call(side, "run", "--", link, "11", status=3)
    call(side, "run", "--", copy, "13", status=3)
    call(side, "run", "--", linked, "17", status=3)
    probes = json.loads(call(side, "status", "links", "--json").stdout)["probes"]
    expect_equal([probe["exe"] for probe in probes], [linked, link], "one probe for each path")
    call(side, "stop", "links")
    expect_equal(sorted(counts("links").values()), [11, 11, 17], "each path of the file, and no copy")
    call(side, "disable-event", "counted", "-s", "links")
    expect("probe:counted" not in call(side, "status", "links").stdout, "the name disables all of them")
    call(side, "destroy", "links")


def compile_other(name):
    """The same program with its functions at other addresses, so that the former table does not fit."""
    source = path("other.c")
    with open(source, "w", encoding="utf-8") as out:
        out.write("int before_others[999]; int other(int i) { return i ? other(i - 1) + before_others[i] : 0; }\n" + PROGRAM)
    call("gcc", "-O1", "-Wl,--build-id", "-o", path(name), source)
    return path(name)


def test_changed_file(program):
    """A file that is replaced while the session records: later programs get the probe, and running ones keep it."""
    changed = path("changed")
    shutil.copy(program, changed)
    create("change", ("counted", changed, "counted"))
    call(side, "start", "change")
    call(side, "run", "--", changed, "5", status=3)
    os.rename(compile_other("new"), changed)
    call(side, "run", "--", changed, "7", status=3)
    probes = json.loads(call(side, "status", "change", "--json").stdout)["probes"]
    expect_equal([(probe["exe"], probe["table"]) for probe in probes], [(changed, 2)], "the former probe is replaced")
    # A program of the file runs while it is replaced once more.
    with subprocess.Popen([side, "run", "--", changed, "0", str(int(signal.SIGSTOP))], env=environment, stdout=subprocess.PIPE, text=True) as stopped:
        stopped.stdout.readline()
        wait_until(lambda: process_state(stopped.pid) == "T", "the program has stopped")
        shutil.copy(program, path("again"))
        os.rename(path("again"), changed)
        call(side, "run", "--", changed, "9", status=3)
        probes = json.loads(call(side, "status", "change", "--json").stdout)["probes"]
        expect_equal([(probe["table"], probe["state"]) for probe in probes], [(2, "set"), (3, "set")], "the running program keeps its probe")
        os.kill(stopped.pid, signal.SIGCONT)
    call(side, "stop", "change")
    expect_equal(sorted(counts("change").values()), [1, 5, 7, 9], "each program")
    # A file without the function: the reason is reported.
    call(side, "start", "change")
    shutil.copy("/usr/bin/true", path("without"))
    os.rename(path("without"), changed)
    call(side, "run", "--", changed)
    wait_until(lambda: "counted" in state("change")[1], "the reason in JSON")
    expect("cannot set" in call(side, "status", "change").stdout, "the reason in the text")
    call(side, "destroy", "change")


def process_state(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]


def test_joined_by():
    """`status` names what loaded the agent."""
    call(side, "create", "method", "-o", path("method"))
    call(side, "start", "method")
    command = [side, "run", "--", PYTHON, "-c", "import sys; print(flush=True); sys.stdin.readline()"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        (found,) = json.loads(call(side, "status", "method", "--json").stdout)["processes"]
        expect_equal((found["pid"], found["joined-by"]), (process.pid, "preload"), "the method")
        lines = call(side, "status", "method").stdout.splitlines()
        expect(any(str(process.pid) in line.split() and "preload" in line.split() for line in lines), str(lines))
    call(side, "destroy", "method")


def test_wrappers():
    """`side run -w`: the calls of a library are events of a session. Each program also loads the wrappers that the session names."""
    call(side, "create", "wrapped", "-o", path("wrapped"))
    call(side, "enable-event", "libc:calloc", "pthread:*", "-s", "wrapped", "--filter", "$ctx.procname == \"python3*\"")
    call(side, "start", "wrapped")
    script = "import threading; t = threading.Thread(target=int); t.start(); t.join()"
    call(side, "run", "-w", "libc", "--wrap", "pthread", "--", PYTHON, "-c", script)
    call(side, "run", "-w", "libc", "--", PYTHON, "-c", script)
    done = call(side, "run", "-w", "nothing", "--", "touch", path("wrongly"), status=2)
    expect("libc" in done.stderr and not os.path.exists(path("wrongly")), done.stderr)
    call(side, "stop", "wrapped")
    found = counts("wrapped")
    expect_equal(len({pid for event, pid in found if event == "libc:calloc"}), 2, "programs with libc")
    expect_equal(len({pid for event, pid in found if event.startswith("pthread:")}), 2, "programs with pthread")
    call(side, "destroy", "wrapped")


def test_forked_walk():
    """A child does not wait for the loader's lock, which a thread of its parent has had."""
    call(side, "create", "walks", "-o", path("walks"))
    call(side, "enable-event", "libc:malloc", "libc:free", "-s", "walks")
    call(side, "start", "walks")
    call(side, "run", "-w", "libc", "--", walker, status=5)
    call(side, "stop", "walks")
    expect_equal(len({pid for event, pid in counts("walks") if event == "libc:malloc"}), 4, "processes with events")
    call(side, "destroy", "walks")


def test_unchanged(program):
    """Status, signals, process id, signal mask and descriptors of the command."""
    create("same", ("counted", program, "counted"))
    call(side, "start", "same")
    done = call(side, "run", "--", program, "5", "15", status=None)
    expect_equal((done.returncode, done.stdout), (-signal.SIGTERM, "5 15\n"), "a signal ends the command")
    call(side, "run", "--", path("nothing"), status=127)
    call(side, "run", "--", "no-such-command", status=127)
    call(side, "run", "--", work.name, status=126)
    # The command is this process: its child, with its parent, its children and its descriptors.
    show = ("import os, signal; print(os.getpid(), os.getppid(), sorted(os.listdir('/proc/self/fd'), key=int)[:-1],"
            " open(f'/proc/self/task/{os.getpid()}/children').read().split(), signal.pthread_sigmask(signal.SIG_BLOCK, ()),"
            " signal.sigpending(), signal.getsignal(signal.SIGPIPE))")
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGUSR1})
    try:
        alone, run = [], []
        for seen, command in ((alone, []), (run, [side, "run", "--"])):
            with subprocess.Popen([*command, PYTHON, "-I", "-c", show], stdout=subprocess.PIPE, text=True, env=environment) as process:
                output = process.communicate(timeout=60)[0]
            expect(output.startswith(f"{process.pid} {os.getpid()} "), f"the process: {output}")
            seen.append(output.split(" ", 2)[2])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)
    expect_equal(run, alone, "descriptors, children and signals")
    # A signal to `side run` is a signal to the command.
    with subprocess.Popen([side, "run", "--", "sleep", "600"], env=environment) as process:
        wait_until(lambda: open(f"/proc/{process.pid}/comm", encoding="utf-8").read() == "sleep\n", process=process)
        process.send_signal(signal.SIGINT)
        expect_equal(process.wait(timeout=60), -signal.SIGINT, "a signal to the command")
    # The output ends with the command, although the process that reports may still run.
    reader, writer = os.pipe()
    with subprocess.Popen([side, "run", "--", "sh", "-c", "echo out; exec >&-; read line"], stdin=subprocess.PIPE, stdout=writer,
                          env=environment) as process:
        os.close(writer)
        with os.fdopen(reader) as output:
            expect_equal(output.read(), "out\n", "the output ends when the command closes it")
        process.communicate(b"\n", timeout=60)
    leave()
    call(side, "destroy", "same")


def test_reports(program, others):
    """Programs that cannot be recorded run unchanged, and each file is reported once."""
    create("foreign", ("counted", program, "counted"))
    call(side, "start", "foreign")
    for kind, (other, *reasons) in others.items():
        alone = call(other, "5", status=3)
        for command in ([other, "5"], ["sh", "-c", f"{other} 5; exit 4"], ["sh", "-c", f"{other} 5; {other} 5; {program} 5 >&2; exit 9"]):
            bare = call(*command, status=None)
            done = call(side, "run", "--", *command, status=bare.returncode)
            expect_equal(done.stdout, bare.stdout, f"{kind}: output")
            lines = [line for line in done.stderr.splitlines() if "recorded" in line]
            expect_equal(len(lines), 1, f"{kind}: one report: {done.stderr}")
            expect(any(reason in done.stderr for reason in reasons) and os.path.basename(other) in done.stderr, f"{kind}: {done.stderr}")
        expect_equal(alone.stdout, "5 \n", kind)
    if "static" in others:
        # An environment that preloads something else, and `side record` inside: side's libraries stay.
        static, reason = others["static"]
        subprocess.run(["gcc", "-shared", "-o", path("other.so"), "-x", "c", os.devnull], check=True, timeout=60)
        done = call(side, "run", "--", "env", "LD_PRELOAD=" + path("other.so"), "sh", "-c", f"{static} 5; {program} 6", status=3)
        expect_equal(done.stderr.count(reason), 1, f"replaced LD_PRELOAD: {done.stderr}")
        done = call(side, "run", "--", side, "record", "-q", "-o", path("inner"), "--", "sh", "-c", f"{static} 5; {program} 7", status=3)
        expect_equal(done.stderr.count("not recorded: " + static), 2, f"both report: {done.stderr}")
        done = call(side, "run", "-q", "--", static, "5", status=3)
        expect_equal(done.stderr, "", "quiet")
    call(side, "stop", "foreign")
    leave()
    runs = sorted(counts("foreign").values())
    expect_equal(runs, sorted([5] * len(others) + ([6, 7] if "static" in others else [])), "supported programs beside them")
    call(side, "destroy", "foreign")


STATIC = "is statically linked, so the agent cannot be preloaded into it"
KINDS = {
    "static": (("gcc", "-static"), STATIC),
    "musl": (("musl-gcc",), "its C library is not the GNU C library, which the agent needs"),
    # The command itself is reported before it starts.
    "i386": (("gcc", "-m32"), "it is a 32-bit program, and the installed agent is a 64-bit library",
             "has another word size (32 or 64 bits) than the installed agent"),
}


def compile_others():
    made = {}
    for kind, (command, *reasons) in KINDS.items():
        other = compile_program("of-" + kind, *command) if shutil.which(command[0]) else None
        try:
            if other and subprocess.run([other, "1"], capture_output=True, check=False, timeout=60).returncode == 3:
                made[kind] = (other, *reasons)
                continue
        except OSError:
            pass
        print(f"{kind} is not tried")
    return made


compiled = compile_program("of-glibc", "gcc")
if compiled:
    try:
        test_refused()
        test_counts(compiled)
        test_languages()
        test_two_sessions(compiled)
        test_later_file(compiled)
        test_later_failure(compiled)
        test_other_path(compiled)
        test_changed_file(compiled)
        test_joined_by()
        test_wrappers()
        test_forked_walk()
        if os.access(PERL, os.X_OK):
            test_later_perl()
        test_unchanged(compiled)
        foreign = compile_others()
        test_never(foreign)
        test_reports(compiled, foreign)
    finally:
        call(side, "daemon", "--stop", status=None)
finish(skipped=not compiled)
