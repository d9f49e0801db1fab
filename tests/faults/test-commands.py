#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Commands with one failing call for each site (faults.c). Either the output is complete, or the exit status is an error and a message names the
reason. No command ends by a signal, hangs, or leaves processes or temporary files.

In the short form, a site is a function and its nearest caller. The first call of each site fails once for all commands. With SIDE_TEST_LONG=1,
each call path of each command fails: the first call, the second call, all calls from the first on, and each K-th call.
"""
import contextlib
import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "cmd"))

from faults import Faults
from harness import LONG, SIDE, end_daemon, environment, equal, kill_recording, run_tests, side, true

WORK = tempfile.mkdtemp(prefix="side-faults-")
SAMPLE, CHANNELS, READSIDE, TALKER = (os.environ[name] for name in ("CTF_SAMPLE", "CTF_CHANNELS", "READSIDE", "TALKER"))
for arguments in ([SAMPLE, "write", "one"], [SAMPLE, "write2", "two"], [CHANNELS, "channels", "1", "0"], [CHANNELS, "packed", "2", "3"]):
    subprocess.run(arguments, cwd=WORK, check=True, stdout=subprocess.DEVNULL)
TEMPORARY, RUNTIME = os.path.join(WORK, "tmp"), os.path.join(WORK, "run")
os.mkdir(TEMPORARY)
os.mkdir(RUNTIME, 0o700)
# Texts of the errors of failing calls (faults-calls.h).
REASONS = [os.strerror(number) for number in (errno.ENOMEM, errno.EMFILE, errno.EIO, errno.ENOSPC, errno.EAGAIN, errno.EPERM)]
SANDBOX = ("stat64", "open64", "access", "syscall")
LOST = "(is|are) not recorded|(was|were) lost|recorded nothing"
seen = set()


def content(path):
    """A file, or all files below a directory."""
    if not os.path.isdir(path):
        with open(path, "rb") as file:
            return file.read()
    return {name: content(os.path.join(path, name)) for name in sorted(os.listdir(path))}


def remove(path):
    shutil.rmtree(path, True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def running(session):
    """The processes of a session that have not exited."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="surrogateescape") as file:
                name, words = file.read().rsplit(")", 1)
            if int(words.split()[3]) == session and words.split()[0] not in "ZX":
                found.append(name)
    return found


class Command:
    """
    A command to run with failing calls. It writes OUT, if anything. `prepare` restores what it changes, `normal` removes what differs
    between runs, `modules` are those whose calls fail. `reports`: a pattern of messages with which the output may lack what they report.
    """

    def __init__(self, *arguments, modules="side-more", executable=SIDE, prepare=None, normal=None, out="out", reports=None):
        self.arguments, self.executable = arguments, executable
        self.prepare, self.normal, self.out = prepare, normal or (lambda output: output), os.path.join(WORK, out)
        self.reports = reports
        self.faults = Faults(os.path.join(WORK, "control"), modules, depth=8 if LONG else 2)

    def run(self):
        """Returns the status, the output (with the content of OUT), and the messages."""
        remove(self.out)
        if self.prepare:
            self.prepare()
        process = subprocess.Popen([self.executable, *self.arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=WORK, start_new_session=True,
                                   env=environment(SIDE_RUNTIME=RUNTIME, TMPDIR=TEMPORARY, **self.faults.environment))
        out, err = process.communicate(timeout=120)
        self.failed = self.faults.failed
        self.faults.control.is_off = 1
        deadline = time.monotonic() + 60
        while running(process.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        equal(running(process.pid), [], f"{self.arguments}: processes are left: {err}")
        equal(os.listdir(TEMPORARY), [], f"{self.arguments}: temporary files are left")
        written = content(self.out) if os.path.exists(self.out) and not process.returncode else None
        return process.returncode, self.normal((out, written)), err.decode(errors="replace")

    def sites(self):
        """The sites of the command that no earlier command has."""
        self.faults.note()
        status, self.wanted, err = self.run()
        found = self.faults.noted()
        equal(status, 0, err)
        true(found, "sites were noted")
        new = [site for site in found if LONG or site.hash not in seen]
        seen.update(site.hash for site in new)
        return new

    def attempt(self, what, site=0, **how):
        """Run with failing calls of one site, or of the whole command."""
        self.faults.arm(site and site.hash, **how)
        status, out, err = self.run()
        where = f"{self.arguments}, {what}"
        true(status >= 0, f"{where}: ends by signal {-status}: {err}")
        if not status:
            true(out == self.wanted or (self.reports and re.search(self.reports, err)), f"{where}: another output with status 0: {err}")
        elif site and self.failed == 1:
            # The sandbox forbids a file that could not be added to its rules.
            true(any(reason in err for reason in REASONS) or "memory" in err or site.function in SANDBOX and "Permission denied" in err,
                 f"{where}: status {status} does not name the reason: {err}")
        else:
            true(err.strip() not in ("", "side:"), f"{where}: status {status} without a message")


def fails(*arguments, **more):
    command = Command(*arguments, **more)
    for site in command.sites():
        command.attempt(site, site)
        if LONG:
            command.attempt(f"second {site}", site, skip=1)
            command.attempt(f"all of {site}", site, lasts=1)
    for number in range(2, 60) if LONG else ():
        command.attempt(f"each {number}th call", every=number)
        command.attempt(f"all calls from the {number}th on", begin=number)


def test_view():
    fails("view", "one")
    fails("view", "--json", "two")
    fails("view", "packed")
    fails("view", "--filter", "x > 3 && x < 100", "two")


def test_report():
    fails("report", "one")
    fails("report", "--json", "two")
    fails("report", "--callers", "5", "--losses", "channels")


def test_export():
    for form in ("csv", "jsonl", "chrome", "perfetto"):
        fails("export", "--to", form, "two")


def test_expand():
    fails("expand", "-o", "out", "channels")


def received(output):
    """What a receiver stores, without the identity of the stream, which differs between runs."""
    if output[1] is None:
        return output
    shutil.rmtree(os.path.join(WORK, "received"), True)
    done = side("receive", "out", "-o", "received", cwd=WORK, env=environment(SIDE_RUNTIME=RUNTIME))
    return output[0], done.status, content(os.path.join(WORK, "received"))


def test_send():
    fails("send", "channels", "out", normal=received)


def test_receive():
    subprocess.run([SIDE, "send", "channels", "stream"], cwd=WORK, check=True, stderr=subprocess.DEVNULL, env=environment(SIDE_RUNTIME=RUNTIME))
    fails("receive", "stream", "-o", "out")


def without_uuid(output):
    """A recovered trace, without its UUID in metadata and packets, which differs between runs."""
    def cut(files, uuid=None):
        text = files.get("metadata")
        if text:
            found = re.search(rb'uuid = "([-0-9a-f]+)"', text).group(1)
            uuid = [found, bytes.fromhex(found.decode().replace("-", ""))]
        result = {}
        for name, item in files.items():
            for part in uuid or [] if isinstance(item, bytes) else []:
                item = item.replace(part, b"UUID")
            result[name] = cut(item, uuid) if isinstance(item, dict) else item
        return result
    return output[0], output[1] and cut(output[1])


def test_recover():
    """Recover repeatedly from the same buffers of a killed recorder and program."""
    buffers, kept = os.path.join(WORK, "buffers"), os.path.join(WORK, "kept")
    os.mkdir(buffers)
    kill_recording([TALKER, "100", "wait"], buffers, os.path.join(WORK, "lost"), RUNTIME)
    shutil.copytree(buffers, kept)
    shutil.copytree(os.path.join(WORK, "lost"), os.path.join(WORK, "lost-kept"))

    def restore():
        for name, copy in ((buffers, kept), (os.path.join(WORK, "lost"), os.path.join(WORK, "lost-kept"))):
            shutil.rmtree(name, True)
            shutil.copytree(copy, name)
    fails("recover", "buffers", "-o", "out", prepare=restore, normal=without_uuid)


def events(output):
    """The events of a recorded trace."""
    if output[1] is None:
        return output
    done = side("view", "--json", "out", cwd=WORK, env=environment(SIDE_RUNTIME=RUNTIME))
    names = re.findall(r'"event":"([^"]*)"', done.out)
    return output[0], done.status, names


def test_record():
    """The program's own calls succeed: see test-programs.py. The status is the program's, so a loss is reported by a message."""
    fails("record", "-o", "out", "--", TALKER, "3", normal=events, reports=LOST)


def test_list():
    fails("list", TALKER)
    fails("list", "--json", TALKER)
    fails("probe", "list", TALKER)


def test_save_and_load():
    env = environment(SIDE_RUNTIME=RUNTIME)
    try:
        for words in (["create", "s", "-o", os.path.join(WORK, "session")], ["add-context", "-s", "s", "vpid", "vtid"],
                      ["enable-event", "-s", "s", "web:*", "--filter", "x > 3 && name == \"a\\\"b\""]):
            done = side(*words, env=env)
            equal(done.status, 0, done.err)
        fails("save", "s", modules="side:")
        saved = os.path.join(WORK, "saved")
        with open(saved, "w", encoding="utf-8") as file:
            file.write(side("save", "s", env=env).out)

        def destroy():
            side("destroy", "s", env=env)

        def reported(output):
            """The sessions of the daemon after a load that reports success."""
            return output, side("save", "s", env=env).out
        fails("load", saved, prepare=destroy, normal=reported)
    finally:
        end_daemon(env)


def counted(output):
    """Output without numbers, which differ between runs."""
    return re.sub(rb"[0-9.]+", b"N", output[0]), output[1]


def test_sessions():
    """The verbs of sessions. With status 0, the daemon has done what was asked."""
    env = environment(SIDE_RUNTIME=RUNTIME)
    create = ["create", "s", "-o", os.path.join(WORK, "session")]
    event = ["enable-event", "-s", "s", "web:*"]
    ring = ["enable-channel", "-s", "s", "--mode", "overwrite", "ring"]

    def after(*steps):
        def prepare():
            side("destroy", "s", env=env)
            shutil.rmtree(os.path.join(WORK, "session"), True)
            for step in steps:
                done = side(*step, env=env)
                equal(done.status, 0, f"{step}: {done.err}")
        return prepare

    def saved(output):
        return counted(output), side("save", env=env).out, re.sub("[0-9]+", "N", side("list", "--json", env=env).out)

    verbs = (
        (create, ()),
        (ring, (create,)),
        (["enable-event", "-s", "s", "web:*", "--filter", "x > 3"], (create,)),
        (["add-context", "-s", "s", "vpid", "vtid"], (create,)),
        (["track", "-s", "s", "--pid", "1"], (create,)),
        (["start", "s"], (create, ring, event)),
        (["snapshot", "s"], (create, ring, event, ["start", "s"])),
        (["stop", "s"], (create, ring, event, ["start", "s"])),
        (["destroy", "s"], (create, ring, event, ["start", "s"])),
    )
    side("list", "--daemon", env=env)
    try:
        for verb, steps in verbs:
            fails(*verb, modules="side:", prepare=after(*steps), normal=saved, reports="session s is not the current one")
        after(create, ring, event, ["start", "s"])()
        for words in (["list"], ["list", "--json"], ["status"], ["status", "s"], ["status", "--json", "s"], ["top", "-n", "1", "-i", "10ms", "s"]):
            fails(*words, modules="side:", normal=counted, reports="cannot read which session is the current one")
    finally:
        end_daemon(env)


def test_readside():
    for more in ([], ["-f", "text"], ["-f", "s-expr"], ["--json"], ["--check"], ["-d"]):
        fails(*more, TALKER, modules="readside", executable=READSIDE)
    fails("--diff", TALKER, TALKER, modules="readside", executable=READSIDE)


try:
    run_tests(dict(globals()))
finally:
    shutil.rmtree(WORK, True)
