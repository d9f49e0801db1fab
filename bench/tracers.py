# SPDX-License-Identifier: MIT
"""Both tracers with daemons of their own, and the end of all started processes, for the other scripts
here.

Whatever ends a script (its end, an error, ctrl-C, a time limit), every process below it is killed:
those that the script started, and orphans of daemons, which the kernel makes its children
(PR_SET_CHILD_SUBREAPER). A script that is killed itself takes its children with it
(PR_SET_PDEATHSIG).
"""
import atexit
import contextlib
import ctypes
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
COMMAND_TIMEOUT_S = 60
libc = ctypes.CDLL(None)
work = tempfile.mkdtemp(prefix="side-bench-")
# Daemons keep their own files in memory, as in /run.
memory = tempfile.mkdtemp(prefix="side-bench-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


def children(pid):
    """Returns the children of all its threads."""
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with contextlib.suppress(OSError):
            with open(path, encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
    return found


def clean_up():
    """Orphans become children of this process, so this ends when there are none. Sessions leave their
    state directories.
    """
    places = glob.glob(os.path.join(memory, "run", "places", "*"))
    rings = [os.path.dirname(os.readlink(place)) for place in places if os.path.islink(place)]
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        below = children(os.getpid())
        if not below:
            break
        for pid in below:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(pid, 0)
    for directory in (work, memory, *rings):
        shutil.rmtree(directory, ignore_errors=True)


def begin(limit_s):
    """Call this once at the begin: it arranges the above, and a time limit of the run."""
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    atexit.register(clean_up)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    signal.signal(signal.SIGALRM, lambda number, frame: sys.exit(f"not finished after {limit_s} s"))
    signal.alarm(limit_s)


def start(words, **options):
    return subprocess.Popen(words, preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),
                            **options)


def wait_for(condition, what):
    deadline = time.monotonic() + COMMAND_TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"{what}: not after {COMMAND_TIMEOUT_S} s")
        time.sleep(0.02)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Tracer:
    """A daemon of a tracer. Its programs are bench/record-*.c."""

    def run(self, *words):
        done = subprocess.run([self.command, *words], env=self.env, capture_output=True, text=True,
                              check=False, timeout=COMMAND_TIMEOUT_S)
        if done.returncode:
            sys.exit(f"{self.command} {' '.join(words)} failed:\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def timed(self, *words):
        """Returns milliseconds; uses posix_spawn(), because the overhead of subprocess is as long as the command."""
        path = shutil.which(self.command)
        printed = os.path.join(memory, "said")
        to_file = [(os.POSIX_SPAWN_OPEN, fd, printed, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) for fd in (1, 2)]
        begin_at = time.perf_counter()
        pid = os.posix_spawn(path, [self.command, *words], self.env, file_actions=to_file)
        status = os.waitpid(pid, 0)[1]
        took = (time.perf_counter() - begin_at) * 1e3
        if status:
            with open(printed, encoding="utf-8") as file:
                sys.exit(f"{self.command} {' '.join(words)}: status {status}\n{file.read()}")
        return took

    def consumer_cpu(self):
        """Returns the seconds of CPU time that the daemon and all its processes have used."""
        seen, queue = [], [self.daemon.pid]
        while queue:
            seen.append(queue.pop())
            queue += children(seen[-1])
        total = 0
        for pid in seen:
            with contextlib.suppress(OSError):
                total += cpu_seconds(pid)
        return total

    def end(self):
        self.daemon.terminate()
        try:
            self.daemon.wait(COMMAND_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.daemon.kill()


class Side(Tracer):
    name = "side"

    def __init__(self, build):
        self.command = os.path.join(build, "programs/side/side")
        self.program = os.path.join(build, "bench/record-side")
        self.env = dict(os.environ, SIDE_RUNTIME=os.path.join(memory, "run"),
                        SIDE_LIB_DIR=os.path.join(build, "src/tracers/agent"))
        os.mkdir(self.env["SIDE_RUNTIME"], 0o700)
        self.daemon = start([os.path.join(build, "programs/sided/sided"), "--foreground"], env=self.env)
        wait_for(lambda: os.path.exists(os.path.join(self.env["SIDE_RUNTIME"], "control.sock")), "sided")


class Lttng(Tracer):
    name = "LTTng"
    command = "lttng"

    def __init__(self, build):
        home = os.path.join(memory, "home")
        os.mkdir(home)
        self.program = os.path.join(build, "bench/record-lttng")
        self.env = dict(os.environ, LTTNG_HOME=home, LTTNG_UST_REGISTER_TIMEOUT="3000")
        self.daemon = start(["lttng-sessiond", "--no-kernel"], env=self.env,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.answers, "lttng-sessiond")

    def answers(self):
        return not subprocess.run(["lttng", "--no-sessiond", "list"], env=self.env, capture_output=True,
                                  check=False, timeout=COMMAND_TIMEOUT_S).returncode
