#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
The daemon and its session processes with one failing call for each site (faults.c). A client repeats a script of requests. During each
request, the call of one site fails. The answer is complete, or an error with its reason; then the same request succeeds. The daemon
continues, keeps its socket, and holds what it held before: descriptors, mappings, threads, processes and files.

In the short form, a site is a function and its nearest caller, and each site fails once for all requests. With SIDE_TEST_LONG=1, each call
path of each request fails.
"""
import contextlib
import errno
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "sided"))
os.environ.setdefault("SIDED_PROGRAM", "")

from faults import Faults
from harness import Control, Refused

LONG = os.environ.get("SIDE_TEST_LONG") == "1"
SIDED = os.environ["SIDED"]
WORK = tempfile.mkdtemp(prefix="side-faults-")
RUNTIME, TRACES = os.path.join(WORK, "run"), os.path.join(WORK, "traces")
SOCKET = os.path.join(RUNTIME, "control.sock")
NAME = f"faults-{os.getpid()}"
WAIT = 60
CHECK_EVERY = 16
# Texts of the errors of failing calls (faults-calls.h).
REASONS = [os.strerror(number) for number in (errno.ENOMEM, errno.EMFILE, errno.EIO, errno.ENOSPC, errno.EAGAIN, errno.EPERM)] + ["out of memory"]
# Members of answers that differ between runs.
VARYING = {"pid", "recorder", "time", "generation", "restarts", "memory", "memory-peak", "path", "output", "snapshots", "messages", "message-hints"}
SCRIPT = (
    ("ping", False, {}),
    ("create", True, {}),
    ("enable-channel", True, {"channel": "c", "mode": "overwrite"}),
    ("enable-event", True, {"event": ["a:b"], "channel": "c", "filter": "x > 3"}),
    ("add-context", True, {"context": ["vpid"]}),
    ("track", True, {"pid": [1]}),
    ("start", True, {}),
    ("list", False, {}),
    ("status", False, {}),
    ("status", True, {}),
    ("top", True, {"interval": 10 ** 7}),
    ("save", True, {}),
    ("enable-event", True, {"event": ["c:*"], "channel": "c"}),
    ("snapshot", True, {}),
    ("statedump", True, {}),
    ("stop", True, {}),
    ("destroy", True, {}),
)
# Requests without which others are refused.
NEEDED = {"create", "enable-channel", "enable-event", "add-context", "track", "start", "destroy"}


class Daemon:
    def __init__(self):
        self.faults = Faults(os.path.join(WORK, "control"), "sided", depth=8 if LONG else 2)
        self.log = os.path.join(WORK, "log")
        self.problems, self.failed = [], 0
        os.mkdir(RUNTIME, 0o700)
        self.faults.control.is_off = 1
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([SIDED, "--foreground", "--runtime", RUNTIME, "--output", TRACES], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, env={**os.environ, "SIDE_RUNTIME": RUNTIME, **self.faults.environment})
        self.wait(self.serves)

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def wait(self, condition):
        """Returns whether the condition becomes true."""
        deadline = time.monotonic() + WAIT
        while not condition():
            if time.monotonic() > deadline or self.process.poll() is not None:
                return False
            time.sleep(0.002)
        return True

    def serves(self):
        with contextlib.suppress(OSError, EOFError):
            return self.ask("ping", False, {})["ok"]
        return False

    @staticmethod
    def ask(verb, has_session, members):
        control = Control(SOCKET)
        try:
            # A daemon that cannot accept the connection sends the reason and closes it.
            with contextlib.suppress(BrokenPipeError):
                control.send(verb, NAME if has_session else None, **members)
            answer = control.receive()
            if verb == "top" and answer.get("ok"):
                answer["sessions"] = control.receive()["sessions"]
            return answer
        finally:
            control.close()

    def held(self):
        """Returns counts of descriptors and mappings by name, threads, processes, and the names of files."""
        counts, base = {}, f"/proc/{self.process.pid}"
        for name in os.listdir(f"{base}/fd"):
            with contextlib.suppress(FileNotFoundError):
                target = "descriptor " + os.readlink(f"{base}/fd/{name}").partition(":[")[0]
                counts[target] = counts.get(target, 0) + 1
        with open(f"{base}/maps", encoding="utf-8") as maps:
            for line in maps:
                name = "mapping " + " ".join(line.split()[5:])
                if name.startswith("mapping /"):
                    counts[name] = counts.get(name, 0) + 1
        tasks = os.listdir(f"{base}/task")
        # The second thread begins with the first connection that is closed with unread data.
        counts["threads"], counts["processes"] = max(len(tasks), 2), 0
        for task in tasks:
            with contextlib.suppress(FileNotFoundError):
                with open(f"{base}/task/{task}/children", encoding="utf-8") as file:
                    counts["processes"] += len(file.read().split())
        files = sorted(os.path.join(directory, name)[len(RUNTIME):] for directory, below, names in os.walk(RUNTIME) for name in below + names)
        return counts, files, glob.glob(f"/dev/shm/side-*/{NAME}")

    def report(self, what, problem):
        print(f"{what}: {problem}", flush=True)
        self.problems.append(f"{what}: {problem}")

    def request(self, step, site=None):
        """Returns the answer of a request, or None; and whether the site failed."""
        verb, has_session, members = step
        if site:
            self.faults.arm(site.hash)
        try:
            answer = self.ask(verb, has_session, members)
        except (OSError, EOFError) as error:
            # The call that sends the answer.
            if not site or site.function != "sendmsg":
                self.report(f"{verb}, {site}", f"no answer: {error!r}")
            answer = None
        failed = self.faults.failed if site else 0
        self.faults.control.is_off = 1
        self.failed += failed
        return answer

    def attempt(self, step, site, wanted):
        begin = time.monotonic()
        answer = self.request(step, site)
        where = f"{step[0]}, {site}"
        # Less than the time after which the daemon replaces a session process that does not answer.
        if time.monotonic() - begin > 25:
            self.report(where, f"answered after {time.monotonic() - begin:.0f} s")
        if answer is not None and "ok" not in answer:
            self.report(where, f"an answer without ok: {answer}")
            answer = None
        if answer and answer["ok"]:
            errors = [one.get("error") for one in answer.get("sessions", ())]
            if normal(answer) != wanted and not (step[0] in ("status", "top") and any(reason in (error or "") for error in errors for reason in REASONS)):
                self.report(where, f"another answer: {normal(answer)} instead of {wanted}")
            return
        if answer and not any(reason in answer["error"] for reason in REASONS):
            self.report(where, f"names no reason: {answer}")
        if self.process.poll() is not None or not self.serves():
            self.report(where, f"the daemon does not serve: {self.process.poll()}: {self.log_text()[-1500:]}")
            raise SystemExit(1)
        again = self.request(step)
        if again and not again["ok"]:
            # The change was made, but there was no memory for its answer.
            done = answer is None or answer["error"] == "out of memory"
            if not (done and again["kind"] == {"destroy": "not-found", "enable-channel": "busy"}.get(step[0])):
                self.report(where, f"not possible again: {again} after {answer}")


def normal(value):
    if isinstance(value, dict):
        return {name: normal(one) if name not in VARYING else type(one).__name__ for name, one in value.items()}
    return [normal(one) for one in value] if isinstance(value, list) else value


def learn(daemon):
    """Runs the script without failing calls. Returns the answers, and for each request the sites that
    no earlier one has.
    """
    wanted, sites, seen = [], [], set()
    for step in SCRIPT:
        daemon.faults.note()
        answer = daemon.request(step)
        if not answer or not answer["ok"]:
            raise AssertionError(f"{step}: {answer}")
        wanted.append(normal(answer))
        sites.append([site for site in daemon.faults.noted() if LONG or site.hash not in seen])
        daemon.faults.control.is_off = 1
        seen.update(site.hash for site in sites[-1])
    # The daemon makes the directory of traces again.
    shutil.rmtree(TRACES, True)
    return wanted, sites


def attempt_all(daemon, number, wanted, sites):
    """Runs the script with a failing call in each request that has so many sites. Returns what failed."""
    tried = []
    for step, found, good in zip(SCRIPT, sites, wanted):
        if number < len(found):
            daemon.attempt(step, found[number], good)
            tried.append(f"{step[0]}: {found[number]}")
        elif step[0] in NEEDED:
            answer = daemon.request(step)
            if not answer or not answer["ok"]:
                daemon.report(step[0], f"without a failing call: {answer}, after {tried}")
    # The daemon makes the directory of traces again.
    shutil.rmtree(TRACES, True)
    return tried


def run(daemon):
    # Twice: the first run allocates what the daemon keeps.
    learn(daemon)
    wanted, sites = learn(daemon)
    # Its sockets listen for clients and programs. With the right to attach on exec, there is a process for it, with a socket.
    if not daemon.wait(lambda: (daemon.held()[0]["processes"], daemon.held()[0]["descriptor socket"] - 2) in ((0, 0), (1, 1))):
        daemon.report("before", f"the daemon holds {daemon.held()}")
    before, tried = daemon.held(), []
    for number in range(max(map(len, sites))):
        tried += attempt_all(daemon, number, wanted, sites)
        # Session processes take time to exit.
        if number % CHECK_EVERY and number < max(map(len, sites)) - 1:
            continue
        if not daemon.wait(lambda: daemon.held() == before):
            counts, *others = daemon.held()
            daemon.report(tried, f"{set(counts.items()) ^ set(before[0].items())} {others} instead of {before[1:]}")
            before = daemon.held()
        tried = []
    print(f"{daemon.failed} failed calls of {sum(map(len, sites))} sites, {len(daemon.problems)} problems")


def main():
    daemon = Daemon()
    try:
        run(daemon)
        daemon.process.terminate()
        status = daemon.process.wait(WAIT)
        if status:
            daemon.report("daemon", f"ends with status {status}")
        if daemon.problems:
            print(daemon.log_text()[-4000:])
    finally:
        daemon.process.kill()
        daemon.process.wait()
        shutil.rmtree(WORK, True)
    return 1 if daemon.problems or daemon.failed < 300 else 0


sys.exit(main())
