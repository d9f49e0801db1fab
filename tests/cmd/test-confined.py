#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Readers of traces and of ELF files, senders and receivers are confined when they parse: intruder.c
is loaded into them, and tries all kinds of access.
"""
import filecmp
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from harness import SIDE, contains, end_daemon, environment, equal, kill_recording, run_tests, side, true

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import wait_until

WORK = tempfile.mkdtemp(prefix="side-confined-")
os.chmod(WORK, 0o755)
INTRUDER, READSIDE, TALKER, LATE_START = (os.environ[name] for name in ("INTRUDER", "READSIDE", "TALKER", "LATE_START"))
HAS_SECCOMP = os.environ["HAS_SECCOMP"] == "true"
READS = {"read-foreign", "list-foreign", "read-passwords"}
FILES = READS | {"write-foreign", "remove-foreign", "make-file", "make-directory", "make-device", "make-link"}
CALLS = {"kill", "kill-self", "ptrace", "fork", "clone", "execve", "unshare", "socket-unix", "socket-packet", "listen"}
NETWORK = {"socket-inet", "connect"}
NOBODY = 65534


def path(name):
    return os.path.join(WORK, name)


def has_landlock():
    import ctypes
    return ctypes.CDLL(None).syscall(444, None, 0, 1) >= 1


LANDLOCK = has_landlock()


def trace():
    """One trace for all."""
    if not os.path.exists(path("trace")):
        run = side("record", "-o", path("trace"), "--", TALKER, "500", env=environment(SIDE_RUNTIME=path("run")))
        equal(run.status, 0, run.err)
        subprocess.run(["chmod", "-R", "a+rX", path("trace")], check=True)
    return path("trace")


def attempts(command, user=None, kernel="", status=0, stdin=subprocess.DEVNULL, given=None, process=None, runtime="run"):
    """Returns the result of each attempt, the output, and the messages of a command."""
    other = tempfile.mkdtemp(dir=WORK, prefix="foreign-")
    foreign = os.path.join(other, "file")
    with open(foreign, "w", encoding="utf-8") as file:
        file.write("not for parsers")
    for name in (other, foreign):
        os.chmod(name, 0o777)
    # The intruder leaves open what it could open.
    changes = {"LD_PRELOAD": INTRUDER, "RESOURCES_AT_EXIT": "off", "INTRUDER_FOREIGN": foreign, "INTRUDER_DIRECTORY": other, "INTRUDER_KERNEL": kernel,
               "INTRUDER_INPUT": given or os.path.join(trace(), sorted(os.listdir(trace()))[0], "metadata")}
    if process:
        changes["INTRUDER_PROCESS"] = process
    # The reader only: `side` itself reads no trace, and its daemon is another program.
    run = subprocess.run(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False, user=user,
                         group=user, extra_groups=[] if user else None, cwd=WORK,
                         env=environment(SIDE_RUNTIME=path(runtime), **changes))
    text = run.stderr.decode(errors="replace")
    equal(run.returncode, status, f"{command}: {text}")
    seen = dict(line.split()[1:3] for line in text.splitlines() if line.startswith("attempt "))
    true("begin" in seen and "end" in seen, f"{command}: no attempt: {text}")
    true(os.path.exists(foreign) or seen["remove-foreign"] == "SUCCESS", "the foreign file")
    messages = "\n".join(line for line in text.splitlines() if not line.startswith("attempt "))
    return seen, run.stdout, messages


def refused(seen, names):
    for name in sorted(names):
        true(seen[name] != "SUCCESS", f"{name}: {seen[name]}")


def confined(command, may_read=False, connects=False, **more):
    seen, out, messages = attempts(command, **more)
    if LANDLOCK:
        refused(seen, FILES - (READS if may_read else set()))
    if HAS_SECCOMP:
        equal(seen.get("filter"), "SUCCESS", "Seccomp: 2")
        refused(seen, CALLS | (set() if connects else NETWORK))
    equal(seen["read-input"], "SUCCESS", "its own input")
    true(seen.get("ask-terminal") not in ("ENOSYS", "EPERM"), f"TCGETS2: {seen.get('ask-terminal')}")
    return out, messages


def plain(*args, status=0):
    run = subprocess.run([SIDE, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                         env=environment(SIDE_RUNTIME=path("run")), timeout=120)
    equal(run.returncode, status, run.stderr)
    return run.stdout


def test_view():
    wanted = plain("view", trace())
    true(wanted, "events")
    equal(confined([SIDE, "view", trace()])[0], wanted)
    # Relative, through a link, and from a directory that was opened before.
    os.symlink(trace(), path("link"))
    equal(confined([SIDE, "view", "link"])[0], wanted)
    equal(confined([SIDE, "view", "/proc/self/cwd/trace/."])[0], wanted)
    for more in (["--symbols"], ["--json"], ["--threads", "3"], ["--follow"], ["--from", "+0"]):
        true(confined([SIDE, "view", *more, trace()])[0], str(more))


def test_view_as_a_user():
    if os.geteuid():
        return
    equal(confined([SIDE, "view", trace()], user=NOBODY)[0], plain("view", trace()))


def test_older_kernels():
    """Without landlock, without filters, or without both, everything is read as before, without a message."""
    wanted = plain("view", trace())
    for kernel in ("no-landlock", "no-seccomp", "none"):
        seen, out, messages = attempts([SIDE, "view", trace()], kernel=kernel)
        equal((out, messages), (wanted, ""), kernel)
        if HAS_SECCOMP and kernel == "no-landlock":
            refused(seen, CALLS | NETWORK)
        if LANDLOCK and kernel == "no-seccomp":
            refused(seen, FILES)


def test_repair():
    shutil.copytree(trace(), path("repaired"))
    given = os.path.join(path("repaired"), os.listdir(path("repaired"))[0], "metadata")
    confined([SIDE, "view", "--repair", path("repaired")], given=given)


def test_report():
    # The graph of the rates depends on the trace only.
    equal(confined([SIDE, "report", trace()])[0], plain("report", trace()))
    confined([SIDE, "report", "--callers", "5", "--losses", trace()])


def same_trees(one, other):
    compared = filecmp.dircmp(one, other)
    return not (compared.left_only or compared.right_only or compared.diff_files or compared.funny_files) and all(
        same_trees(os.path.join(one, name), os.path.join(other, name)) for name in compared.common_dirs)


def test_export():
    wanted = plain("export", "--to", "csv", trace())
    equal(confined([SIDE, "export", "--to", "csv", trace()])[0], wanted)
    for form in ("csv", "jsonl", "chrome", "perfetto"):
        file = path("confined." + form)
        confined([SIDE, "export", "--to", form, "-o", file, trace()])
        plain("export", "--to", form, "-o", path("plain." + form), trace())
        true(filecmp.cmp(file, path("plain." + form), False), form)
        true(not os.path.exists(file + ".partial"), "the name until then")
        # Once more, over the existing file.
        confined([SIDE, "export", "--to", form, "-o", file, trace()])
    for form, name in (("csv", "tables/"), ("ctf1", "ctf1"), ("ctf2", "ctf2")):
        confined([SIDE, "export", "--to", form, "-o", path("confined-" + name), trace()])
        plain("export", "--to", form, "-o", path("plain-" + name), trace())
        if form == "csv":
            true(same_trees(path("confined-" + name), path("plain-" + name)), name)
        else:
            equal(plain("view", path("confined-" + name)), plain("view", path("plain-" + name)), name)
    confined([SIDE, "expand", "-o", path("expanded"), trace()])


def test_export_that_fails():
    """An incomplete output is removed, whatever ends the export."""
    os.mkdir(path("empty"))
    for form, name in (("csv", "failed.csv"), ("csv", "failed/"), ("ctf2", "failed-ctf")):
        plain("export", "--to", form, "-o", path(name), path("empty"), status=1)
        true(not os.path.lexists(path(name)) and not os.path.lexists(path(name) + ".partial"), name)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        killed = path(f"killed-{number}")
        # It stops after the first directory, by the signal of the intruder.
        process = subprocess.Popen([SIDE, "export", "--to", "jsonl", "-o", killed, trace()], stderr=subprocess.DEVNULL,
                                   env=environment(LD_PRELOAD=INTRUDER, SIDE_RUNTIME=path("run"), INTRUDER_STOPS="1"))
        os.waitpid(process.pid, os.WUNTRACED)
        true(os.path.exists(killed + ".partial"), "a part while it is written")
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        equal(process.wait(60), -number)
        wait_until(lambda name=killed: not os.path.exists(name + ".partial"), "a killed export leaves a part")
        true(not os.path.exists(killed), "a part with the final name")


def test_export_to_pipes():
    wanted = plain("export", "--to", "csv", trace())
    os.mkfifo(path("fifo"))
    reader = subprocess.Popen(["cat", path("fifo")], stdout=subprocess.PIPE)
    try:
        confined([SIDE, "export", "--to", "csv", "-o", path("fifo"), trace()])
        equal(reader.communicate(timeout=60)[0], wanted)
    finally:
        reader.kill()
    equal(confined([SIDE, "export", "--to", "csv", "-o", "/dev/stdout", trace()])[0], wanted)
    equal(confined([SIDE, "export", "--to", "csv", "-o", "/dev/null", trace()])[0], b"")


def test_send():
    confined([SIDE, "send", trace(), path("sent")], connects=True)
    true(os.path.getsize(path("sent")) > 1000, "a file")
    out = confined([SIDE, "send", trace(), "-"], connects=True)[0]
    true(len(out) > 1000, "standard output")
    os.mkfifo(path("send-fifo"))
    reader = subprocess.Popen(["cat", path("send-fifo")], stdout=subprocess.PIPE)
    try:
        confined([SIDE, "send", trace(), path("send-fifo")], connects=True)
        true(len(reader.communicate(timeout=60)[0]) > 1000, "a pipe")
    finally:
        reader.kill()


def test_send_over_tcp():
    """Names are looked up in another process."""
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        port = any_port.getsockname()[1]
    receiver = subprocess.Popen([SIDE, "receive", "--json", "--listen", f"127.0.0.1:{port}", "-o", path("received")],
                                env=environment(SIDE_RUNTIME=path("run")), stderr=subprocess.PIPE)
    try:
        confined([SIDE, "send", trace(), f"tcp://localhost:{port}"], connects=True)
        err = receiver.communicate(timeout=60)[1]
    finally:
        receiver.kill()
    equal(receiver.returncode, 0, err)
    equal(plain("view", path("received")).count(b"talker:said"), plain("view", trace()).count(b"talker:said"))


def confinement(pid):
    """Returns the status of a process, as the kernel reports it."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        found = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    return found["NoNewPrivs"], found.get("Seccomp")


def processes(name, marker):
    """Returns the processes of that name that have this text in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as comm, open(f"/proc/{pid}/environ", "rb") as variables:
                if comm.read() == name + "\n" and marker.encode() in variables.read():
                    found.append(int(pid))
        except OSError:
            continue
    return found


def test_record_to():
    """A separate process sends the recorded data. It is confined before it reads the trace."""
    kept = path("recorded")
    for more in ([], ["--spool", "64K"]):
        out, target = path("recorded" + "".join(more)), path("recorded.bytes" + "".join(more))
        confined([SIDE, "record", "--to", target, *more, "-o", out, "--", TALKER, "50"], connects=True, process="side-send", given=out)
        plain("receive", target, "-o", target + ".received")
        equal(plain("view", target + ".received").count(b" talker:said"), 50)
    equal(plain("view", kept).count(b" talker:said"), 50)


def test_record_over_tcp():
    """The helper process that resolves names is confined, too. Both processes end if the recorder is killed."""
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        port = any_port.getsockname()[1]
        recorder = subprocess.Popen([SIDE, "record", "--wait", "--to", f"tcp://localhost:{port}", "-o", path("unsent"), "--", TALKER, "1",
                                     "wait"], env=environment(SIDE_RUNTIME=path("run"), CONFINED_TEST=path("unsent")),
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            contains(recorder.stdout.readline(), b"ready")
            wait_until(lambda: len(processes("side-send", path("unsent"))) == 2, "the sending process, and the one that resolves names")
            if HAS_SECCOMP:
                wait_until(lambda: all(confinement(pid) == ("1", "2") for pid in processes("side-send", path("unsent"))), "both are confined")
        finally:
            for pid in processes("cmd-talker", path("unsent")):
                os.kill(pid, signal.SIGKILL)
            recorder.kill()
            recorder.wait()
        wait_until(lambda: not processes("side-send", path("unsent")), "no process remains")


def test_receive():
    plain("send", trace(), path("receive.bytes"))
    out = path("receive.out")
    confined([SIDE, "receive", path("receive.bytes"), "-o", out], given=out)
    equal(plain("view", out).count(b" talker:said"), plain("view", trace()).count(b" talker:said"))


def test_symbols():
    """Debug files are read by a helper process."""
    plain("record", "--symbols", "--context", "ip", "-o", path("addresses"), "--", TALKER, "5")
    seen, out, _ = attempts([SIDE, "view", "--symbols", path("addresses")], process="side-symbols")
    if LANDLOCK:
        refused(seen, FILES - READS)
    if HAS_SECCOMP:
        equal(seen.get("filter"), "SUCCESS", "Seccomp: 2")
        refused(seen, CALLS | NETWORK)
    equal(out, plain("view", "--symbols", path("addresses")))


def test_top():
    env, out = environment(SIDE_RUNTIME=path("top-run")), path("top-trace")
    try:
        for words in (["create", "watched", "-o", out], ["enable-event", "-s", "watched", "*"], ["start", "watched"]):
            done = side(*words, env=env)
            equal(done.status, 0, done.err)
        program = subprocess.Popen([TALKER, "20", "wait"], env=env, stdout=subprocess.PIPE)
        try:
            contains(program.stdout.readline(), b"ready")
            shown, _ = confined([SIDE, "top", "--json", "-i", "100ms", "-n", "30", "watched"], given=out, runtime="top-run")
            contains(shown, b"talker:said")
        finally:
            program.kill()
            program.wait()
    finally:
        end_daemon(env)


def test_sentences_before_the_start_is_reported():
    """The thread that connects can report before the thread that reports the start of the sending process."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"tcp://127.0.0.1:{bound.getsockname()[1]}"
        done = side("record", "--to", url, "--timeout", "1s", "--", TALKER, "20",
                    env=environment(SIDE_RUNTIME=path("late-run"), LD_PRELOAD=LATE_START))
    contains(done.err, "; side tries again")


def test_session_that_sends():
    """The process of the daemon that sends what a session records."""
    foreign, log = path("daemon-foreign"), path("daemon.log")
    os.mkdir(foreign)
    with open(os.path.join(foreign, "file"), "w", encoding="utf-8") as file:
        file.write("not for senders")
    # The intruder leaves open what it could open.
    changes = {"LD_PRELOAD": INTRUDER, "RESOURCES_AT_EXIT": "off", "INTRUDER_PROCESS": "sided-send", "INTRUDER_FOREIGN": os.path.join(foreign, "file"),
               "INTRUDER_DIRECTORY": foreign}
    env = environment(SIDE_RUNTIME=path("send-run"))
    os.mkdir(path("send-run"))
    with open(log, "wb") as errors:
        daemon = subprocess.Popen([os.environ["SIDED"], "--foreground", "--runtime", path("send-run")], stdin=subprocess.DEVNULL, stderr=errors,
                                  env=environment(SIDE_RUNTIME=path("send-run"), **changes))
    try:
        wait_until(lambda: not side("daemon", "--no-daemon", env=env).status, "the daemon")
        for words in (["create", "sent", "-o", path("session"), "--to", path("session.bytes")], ["enable-event", "-s", "sent", "*"],
                      ["start", "sent"]):
            done = side(*words, env=env)
            equal(done.status, 0, done.err)
        subprocess.run([TALKER, "20"], env=env, check=True, stdout=subprocess.DEVNULL)
        done = side("destroy", "sent", env=env)
        equal(done.status, 0, done.err)
    finally:
        daemon.terminate()
        daemon.wait(60)
    with open(log, encoding="utf-8", errors="replace") as file:
        text = file.read()
    seen = dict(line.split()[1:3] for line in text.splitlines() if line.startswith("attempt "))
    true("begin" in seen and "end" in seen, f"no attempt: {text}")
    if LANDLOCK:
        refused(seen, FILES)
    if HAS_SECCOMP:
        equal(seen.get("filter"), "SUCCESS", "Seccomp: 2")
        refused(seen, CALLS)
    plain("receive", path("session.bytes"), "-o", path("session.received"))
    equal(plain("view", path("session.received")).count(b" talker:said"), 20)


def test_send_a_spool():
    """With `--spool`, delivered data is removed from the trace."""
    shutil.copytree(trace(), path("spool"))
    confined([SIDE, "send", "--spool", "1K", path("spool"), path("spooled")], connects=True,
             given=os.path.join(path("spool"), os.listdir(path("spool"))[0], "metadata"))


def test_recover():
    buffers = path("buffers")
    os.mkdir(buffers)
    kill_recording([TALKER, "100", "wait"], buffers, path("lost"), path("run"))
    confined([SIDE, "recover", buffers, "-o", path("rescued")], may_read=True, given=os.path.join(buffers, os.listdir(buffers)[0]))
    # Data that the recorder wrote before the kill is in its own trace, if there is any.
    lines = plain("view", path("rescued"))
    if any("metadata" in names for _, _, names in os.walk(path("lost"))):
        lines += plain("view", path("lost"))
    equal(lines.count(b" talker:"), 101)


def test_readside():
    """It reads libraries and links, which can be anywhere."""
    wanted = subprocess.run([READSIDE, TALKER], stdout=subprocess.PIPE, check=True).stdout
    equal(confined([READSIDE, TALKER], may_read=True)[0], wanted)
    confined([READSIDE, "-o", path("listing"), TALKER, "-o", path("second"), TALKER], may_read=True)
    with open(path("listing"), "rb") as file:
        equal(file.read(), wanted)
    confined([READSIDE, "--check", TALKER], may_read=True)


try:
    run_tests(dict(globals()))
finally:
    shutil.rmtree(WORK, True)
