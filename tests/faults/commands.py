# SPDX-License-Identifier: MIT
"""
Runs a command with one failing call for each site (faults.c). Either the output is complete, or the exit status is an error and a message names
the reason of the failed call. No command ends by a signal, hangs, or leaves processes or temporary files.

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
from harness import LONG, SIDE, environment, equal, true

WORK = tempfile.mkdtemp(prefix="side-faults-")
TEMPORARY, RUNTIME = os.path.join(WORK, "tmp"), os.path.join(WORK, "run")
os.mkdir(TEMPORARY)
os.mkdir(RUNTIME, 0o700)
with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "faults-calls.h"), encoding="utf-8") as calls:
    # The errors of failing calls.
    ERRORS = {name: getattr(errno, error) for name, error in re.findall(r"^FAULTS_\w+\((\w+), (E\w+),", calls.read(), re.M)}
# The errors of syscall(), which depend on its number.
SYSCALL = (errno.EIO, errno.EMFILE, errno.ENOMEM)
# The error of pthread_create() without memory; libdw reports a map that it cannot read as a file
# that is not an ELF file. It aborts when a table of its own cannot grow; only the process that reads
# the files ends.
LIBRARIES = "(cannot start a thread .*|cannot continue the recording): Resource temporarily unavailable|cannot read its list of loaded libraries: Exec format error|resize_coordinator: Assertion .* failed"
SANDBOX = ("stat64", "open64", "access", "syscall")
seen = set()


def content(path):
    """Returns the content of a file, or of all files below a directory."""
    if not os.path.isdir(path):
        with open(path, "rb") as file:
            return file.read()
    return {name: content(os.path.join(path, name)) for name in sorted(os.listdir(path))}


def remove(path):
    shutil.rmtree(path, True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def running(session):
    """Returns the processes of a session that have not exited."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="surrogateescape") as file:
                name, words = file.read().rsplit(")", 1)
            if int(words.split()[3]) == session and words.split()[0] not in "ZX":
                found.append(name)
    return found


def reasons(function):
    """Returns the texts with which a command names the reason of a failed call."""
    if function in ("syscall", "futex_waitv"):
        return [os.strerror(error) for error in SYSCALL]
    error = ERRORS.get(function, errno.ENOMEM)
    return [os.strerror(error), *(["memory"] if error == errno.ENOMEM else [])]


class Command:
    """
    A command to run with failing calls. It writes OUT, if anything. `prepare` restores what it changes, `normal` removes what differs
    between runs, `modules` are those whose calls fail, with `children` also those of forked children. `reports`: a pattern of
    messages with which the output may lack what they report, `shown`: one of what the output itself says of a failed call. `others`: a pattern of messages of libraries that do not name the reason. `talk`
    returns the output and the messages of the process; `after` checks what it leaves, by the messages. In the short form, only the functions in `near` fail for each of two callers.
    """

    def __init__(self, *arguments, modules="side-more", executable=SIDE, prepare=None, normal=None, out="out", reports=None, talk=None,
                 children=False, near=(), others=LIBRARIES, after=None, shown=None):
        self.arguments, self.executable = arguments, executable
        self.prepare, self.normal, self.out = prepare, normal or (lambda output: output), os.path.join(WORK, out)
        self.shown = shown
        self.after, self.near, self.others, self.reports, self.talk = after, near, others, reports, talk or (lambda process: process.communicate(timeout=120))
        self.faults = Faults(os.path.join(WORK, "control"), modules, depth=8 if LONG else 2, children=children)

    def __str__(self):
        return " ".join(map(str, self.arguments))

    def run(self):
        """Returns the status, the output (with the content of OUT), and the messages."""
        remove(self.out)
        if self.prepare:
            self.prepare()
        process = subprocess.Popen([self.executable, *map(str, self.arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=WORK, start_new_session=True,
                                   env=environment(SIDE_RUNTIME=RUNTIME, TMPDIR=TEMPORARY, **self.faults.environment))
        out, err = self.talk(process)
        self.failed = self.faults.failed
        self.faults.control.is_off = 1
        deadline = time.monotonic() + 60
        while running(process.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        equal(running(process.pid), [], f"{self}: processes are left: {err}")
        equal(os.listdir(TEMPORARY), [], f"{self}: temporary files are left")
        if self.after:
            self.after(err.decode(errors="replace"))
        written = content(self.out) if os.path.exists(self.out) and not process.returncode else None
        return process.returncode, self.normal((out, written)), err.decode(errors="replace")

    def sites(self):
        """Returns the sites of the command that no earlier command has."""
        self.faults.note()
        status, self.wanted, err = self.run()
        found = self.faults.noted()
        equal(status, 0, err)
        true(found, "sites were noted")
        new = []
        for site in found:
            key = self.key(site)
            if LONG or key not in seen:
                new.append(site)
                seen.add(key)
        return new

    def key(self, site):
        return site.hash if not self.near or site.function in self.near else (site.function, site.callers[0])

    def attempt(self, what, site=0, **how):
        """Runs with failing calls of one site, or of the whole command."""
        self.faults.arm(site and site.hash, **how)
        where = f"{self}, {what}"
        try:
            status, out, err = self.run()
        except AssertionError as error:
            raise AssertionError(f"{where}: {error}") from error
        true(status >= 0, f"{where}: ends by signal {-status}: {err}")
        if not status:
            true(out == self.wanted or (self.reports and re.search(self.reports, err)) or (self.shown and re.search(self.shown, str(out))),
                 f"{where}: another output with status 0: {err}")
        elif site and self.failed == 1:
            # The sandbox forbids a file that could not be added to its rules.
            true(any(reason in err for reason in reasons(site.function)) or site.function in SANDBOX and "Permission denied" in err
                 or self.others and re.search(self.others, err),
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
