# SPDX-License-Identifier: MIT
"""A machine with three users, made of namespaces: a victim, an attacker and a member of the group `tracing`.

The test runs as root in mount, PID and network namespaces of its own. /run, /var/lib, /tmp and /dev/shm are empty there, /etc/passwd
and /etc/group name the three users, and the build directory is visible at a path that all users can read. So the daemon runs as
packaged (`sided --system --foreground`, in /run/side and /var/lib/side) beside whatever else the machine does.
"""
import contextlib
import fcntl
import grp
import json
import os
import pwd
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

import bt2

import delays
import speaker

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import stop_process, wait_until

INSIDE = "HOSTILE_INSIDE"
ROOT = "/mnt"
RUNTIME = "/run/side"
BASE = "/var/lib/side"
CONTROL = RUNTIME + "/control.sock"
AGENTS = RUNTIME + "/agents.sock"
SESSION = "everything"
SESSION_SOCKET = f"{RUNTIME}/sessions/{SESSION}.sock"
SANITIZED = os.environ.get("HOSTILE_SANITIZE", "none") != "none"
LONG = os.environ.get("SIDE_TEST_LONG") == "1"
SKIP = 77
TIMEOUT = 30


def inside(path):
    """Returns the path of a file of the build, or of the tests, as the users of the namespaces see it."""
    for variable, name in (("HOSTILE_BUILD", "build"), ("HOSTILE_SOURCE", "source")):
        outer = os.environ[variable]
        if path == outer or path.startswith(outer + "/"):
            return f"{ROOT}/{name}{path[len(outer):]}"
    return path


SIDED = inside(os.environ.get("SIDED", ""))
SIDE = inside(os.environ.get("SIDE", ""))
VICTIM = inside(os.environ.get("HOSTILE_VICTIM", ""))
DESCRIPTIONS = inside(os.environ.get("HOSTILE_DESCRIPTIONS", ""))
OLDER_KERNEL = inside(os.environ.get("HOSTILE_OLDER_KERNEL", ""))


# ---- namespaces ----

def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIP)


UNSHARE = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]


def enter():
    """Runs this program again in its namespaces; returns only there."""
    if os.environ.get(INSIDE) == "1":
        run_below_init()
        make_world()
        return
    if os.geteuid():
        skip("only root can be three users")
    try:
        trial = subprocess.run([*UNSHARE, "mount", "-t", "tmpfs", "none", ROOT], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        skip("there is no unshare(1)")
    if trial.returncode:
        skip(f"no namespaces can be made here: {trial.stderr.strip()}")
    os.environ[INSIDE] = "1"
    os.execvp("unshare", [*UNSHARE, sys.executable, "-B", *sys.argv])


def run_below_init():
    """The first process of a PID namespace reaps orphans; the tests are its child."""
    child = os.fork()
    if not child:
        return
    while True:
        with contextlib.suppress(InterruptedError):
            pid, status = os.wait()
            if pid == child:
                sys.stdout.flush()
                os._exit(os.waitstatus_to_exitcode(status) & 0xff)


def mount(*arguments, **more):
    subprocess.run(["mount", *arguments], check=True, **more)


def bind(outer, name):
    """By descriptor: the outer path may be below a directory that is hidden by now."""
    os.makedirs(f"{ROOT}/{name}")
    mount("--bind", f"/proc/self/fd/{outer}", f"{ROOT}/{name}", pass_fds=(outer,))


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack_from("16sh", fcntl.ioctl(one, 0x8913, request))[1]  # SIOCGIFFLAGS
        fcntl.ioctl(one, 0x8914, struct.pack("16sh14x", b"lo", flags | 1))  # SIOCSIFFLAGS, IFF_UP


class User:
    def __init__(self, name, uid, *groups):
        self.name, self.uid, self.groups = name, uid, list(groups)

    def options(self):
        return {"user": self.uid, "group": self.uid, "extra_groups": self.groups}


def free_ids(count):
    """Returns ids that no user, no group and no process has."""
    used = {entry.pw_uid for entry in pwd.getpwall()} | {entry.gr_gid for entry in grp.getgrall()}
    numbers = (number for number in range(61100, 64000) if number not in used)
    return [next(numbers) for _ in range(count)]


ROOT_USER = User("root", 0)
CROWD = 5
victim_uid, attacker_uid, member_uid, second_uid, tracing_gid, *crowd_uids = free_ids(5 + CROWD)
victim = User("hostile-victim", victim_uid)
attacker = User("hostile-attacker", attacker_uid)
member = User("hostile-member", member_uid, tracing_gid)
second_member = User("hostile-second", second_uid, tracing_gid)
# Further members, to use up limits that one user alone cannot reach.
crowd = [User(f"hostile-crowd-{number}", uid, tracing_gid) for number, uid in enumerate(crowd_uids)]
USERS = victim, attacker, member, second_member, *crowd


def write_users():
    """The machine's users stay, for programs that run as root; those of the test are added."""
    with open("/etc/passwd", encoding="utf-8") as file:
        passwd = file.read()
    with open("/etc/group", encoding="utf-8") as file:
        group = "".join(line for line in file if not line.startswith("tracing:"))
    for user in USERS:
        home = f"/tmp/{user.name}"
        passwd += f"{user.name}:x:{user.uid}:{user.uid}::{home}:/bin/sh\n"
        group += f"{user.name}:x:{user.uid}:\n"
        os.mkdir(home, 0o755)
        os.chown(home, user.uid, user.uid)
    group += f"tracing:x:{tracing_gid}:{','.join(user.name for user in USERS if tracing_gid in user.groups)}\n"
    for path, text in (("/etc/passwd", passwd), ("/etc/group", group)):
        copy = f"{ROOT}/{os.path.basename(path)}"
        with open(copy, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(copy, 0o644)
        mount("--bind", copy, path)


def make_world():
    outer = [os.open(os.environ[name], os.O_PATH) for name in ("HOSTILE_BUILD", "HOSTILE_SOURCE")]
    umask = os.umask(0o022)
    mount("-t", "tmpfs", "-o", "mode=0755", "none", ROOT)
    bind(outer[0], "build")
    bind(outer[1], "source")
    for path, mode in (("/run", "0755"), ("/var/lib", "0755"), ("/tmp", "1777"), ("/dev/shm", "1777")):
        mount("-t", "tmpfs", "-o", f"mode={mode}", "none", path)
    os.chdir("/tmp")
    write_users()
    raise_loopback()
    os.umask(umask)
    trial = subprocess.run([VICTIM, "1"], env=environment(), capture_output=True, text=True, check=False, **victim.options())
    if trial.returncode:
        skip(f"another user cannot run the programs of this build: {trial.stderr.strip()}")


def environment(**changes):
    """Returns the environment of a user at login, and the libraries of this build."""
    kept = {name: value for name, value in os.environ.items()
            if name in ("PATH", "LANG", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "SIDE_TEST_LONG")}
    kept["SIDE_LIB_DIR"] = inside(os.environ["SIDE_LIB_DIR"])
    kept["PYTHONDONTWRITEBYTECODE"] = "1"
    # A busy machine must not make a program time out; the delay of its start is measured.
    kept["SIDE_TIMEOUT_FACTOR"] = "10"
    return {**kept, **changes}


def call_as(user, function):
    """Returns the text that the function returns in a child that has become this user."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups(user.groups)
            os.setgid(user.uid)
            os.setuid(user.uid)
            os.write(write, function().encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read().decode()
    os.waitpid(child, 0)
    return text


def next_pid(number):
    """The next process of this namespace gets this id."""
    with open("/proc/sys/kernel/ns_last_pid", "w", encoding="utf-8") as file:
        file.write(str(number - 1))


# ---- measurements ----

def prefer(pid):
    """Gives this process, its threads and its children a higher priority, as far as the kernel permits
    it: the daemon waits for threads that it starts, and the kernel does not report how long an
    exited thread waited.
    """
    try:
        os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(1))
    except OSError:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, pid, -20)


class Pinger:
    """A process that sends requests to the daemon all the time (pinger.py)."""

    def __init__(self, seconds, request, *pids):
        self.process = subprocess.Popen(
            [sys.executable, "-B", f"{ROOT}/source/pinger.py", CONTROL, str(seconds), json.dumps(request), *map(str, pids)],
            env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def finish(self):
        """Returns the times of the answers, in seconds."""
        output, _ = self.process.communicate(timeout=4 * TIMEOUT)
        times, failures = json.loads(output)
        assert not failures, f"the daemon did not answer: {failures}"
        return times


def has_data(file):
    """Within TIMEOUT. The number of a descriptor can be too large for select()."""
    poller = select.poll()
    poller.register(file, select.POLLIN)
    return bool(poller.poll(1000 * TIMEOUT))


class Victim:
    """A program of the victim that is being recorded.

    `delay` is the time from its start to its main(), in seconds. The time does not count in which it could run and had no processor, nor
    that time of the loops of `others`, the processes that it waits for, while it was blocked. `wall` is the whole time.
    """

    def __init__(self, count, per_ms, stays=False, user=victim, before=(), others=()):
        self.others = others
        self.waited = delays.of_main_threads(others)
        self.begin = time.monotonic_ns()
        self.process = subprocess.Popen([*before, VICTIM, str(count), str(per_ms), *(["stays"] if stays else [])], env=environment(),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, **user.options())
        self.count = count
        self.pid = self.process.pid
        self.delay = self.wall = None

    def read(self, word):
        """Returns the numbers in the next line, which begins with this word."""
        if not has_data(self.process.stdout):
            self.process.kill()
            raise AssertionError(f"the victim {self.pid} hangs: no `{word}` in {TIMEOUT} s")
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(self.process.stdout.fileno(), 1)
            assert byte, f"the victim {self.pid} has ended before `{word}`"
            line += byte
        assert line.split()[0] == word.encode(), line
        return [int(number) for number in line.split()[1:]]

    def await_main(self):
        began, ran, waited, helpers = self.read("began")
        others = helpers + delays.of_main_threads(self.others) - self.waited
        late = began - self.begin - waited
        self.delay = (late - max(0, min(late - ran, others))) / 1e9
        self.wall = (began - self.begin) / 1e9
        return self

    def finish(self):
        if self.delay is None:
            self.await_main()
        assert self.read("emitted") == [self.count]
        self.process.stdin.close()
        assert self.process.wait(TIMEOUT) == 0, self.process.returncode
        self.process.stdout.close()
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Attack:
    """A script of attacks.py as another user. It runs from start() until its standard input ends."""

    def __init__(self, name, *arguments, user=attacker):
        self.name = name
        self.process = subprocess.Popen(
            # It is about what others can do with the daemon, not with the processor.
            ["nice", "-n", "19", sys.executable, "-B", f"{ROOT}/source/attacks.py", name, *map(str, arguments)], env=environment(),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True, **user.options())

    def expect(self, word):
        if not has_data(self.process.stdout):
            raise AssertionError(f"the attack {self.name} hangs before `{word}`")
        line = self.process.stdout.readline().split()
        if not line or line[0] != word:
            raise AssertionError(f"the attack {self.name} printed {line}, not {word}")
        return line[1:]

    def send_word(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def finish(self):
        """Returns its report."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            pass
        report = ""
        if self.process.poll() is not None:
            report = self.process.stdout.read()
        self.kill()
        return report.strip()

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


# ---- the class of the tests ----

class Case(unittest.TestCase):
    """A daemon as packaged, a session of root's that records `app:*`, and the victim's programs, before and during an attack."""

    buffer_size = 1 << 20
    # The limits that the defences guarantee, in seconds.
    longest_answer = 0.1
    latest_start = 1.0
    # Runs the daemon as if the kernel had neither SO_PASSRIGHTS nor SO_PEERPIDFD.
    older_kernel = False
    # A program that runs the daemon: strace.
    before_daemon = ()

    def setUp(self):
        self.daemon = None
        self.starts = []  # of victims that were checked and dropped: delay and elapsed time
        self.log = open("/tmp/sided.log", "w+", encoding="utf-8")  # pylint: disable=consider-using-with
        self.addCleanup(self.log.close)
        self.start_daemon()
        self.addCleanup(self.stop_daemon)
        self.side("create", SESSION)
        self.side("enable-channel", "-s", SESSION, "ring", "--buffer-size", str(self.buffer_size))
        self.side("enable-event", "-s", SESSION, "app:*")
        self.side("start", "-s", SESSION)
        self.victims = []

    # ---- the daemon ----

    def start_daemon(self, *options):
        before = [OLDER_KERNEL] if self.older_kernel else []
        self.daemon = subprocess.Popen([*self.before_daemon, *before, SIDED, "--system", "--foreground", *options], env=environment(),
                                       stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        prefer(self.daemon.pid)
        wait_until(self.answers, "an answer of the daemon", TIMEOUT)

    @staticmethod
    def answers():
        with contextlib.suppress(OSError):
            return speaker.ask(CONTROL, {"verb": "ping"}, timeout=TIMEOUT)["ok"]
        return False

    def stop_daemon(self):
        if self.daemon.poll() is None:
            self.daemon.terminate()
            try:
                self.daemon.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                self.daemon.kill()
                self.daemon.wait()
        for name in os.listdir(RUNTIME) if os.path.isdir(RUNTIME) else ():
            subprocess.run(["rm", "-rf", f"{RUNTIME}/{name}"], check=False)
        for base in ("/var/lib/side", "/dev/shm"):
            for name in os.listdir(base) if os.path.isdir(base) else ():
                subprocess.run(["rm", "-rf", f"{base}/{name}"], check=False)

    def log_text(self):
        self.log.flush()
        with open("/tmp/sided.log", encoding="utf-8", errors="replace") as log:
            return log.read()

    def assert_daemon_is_whole(self):
        """Checks that the started daemon still runs, and that no sanitizer has found an error in it or its sessions."""
        text = self.log_text()
        self.assertIsNone(self.daemon.poll(), f"the daemon has ended: {text[-4000:]}")
        for word in ("AddressSanitizer", "runtime error:", "ThreadSanitizer"):
            self.assertNotIn(word, text)

    def side_as(self, user, *arguments, cwd="/", **changes):
        return subprocess.run([SIDE, *arguments], env=environment(**changes), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=2 * TIMEOUT, check=False, cwd=cwd, **user.options())

    def side(self, *arguments):
        """A command of root that must succeed."""
        result = subprocess.run([SIDE, *arguments], env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=2 * TIMEOUT, check=False)
        self.assertEqual(result.returncode, 0, f"side {' '.join(arguments)}: {result.stderr}\n{self.log_text()[-2000:]}")
        return result.stdout

    def ask(self, verb, session=None, **members):
        request = {"verb": verb, **({"session": session} if session else {}), **members}
        answer = speaker.ask(CONTROL, request, timeout=2 * TIMEOUT)
        self.assertTrue(answer["ok"], answer)
        return answer

    # ---- victims ----

    def processes(self):
        """The daemon and the recorder, which programs wait for."""
        recorder = self.ask("status", SESSION)["sessions"][0]["recorder"]
        return [self.daemon.pid] + ([recorder] if recorder else [])

    def run_victim(self, count=2000, per_ms=4):
        one = Victim(count, per_ms, others=self.processes()).finish()
        self.victims.append(one)
        return one

    def start_victim(self, count=2000, per_ms=4, stays=False):
        one = Victim(count, per_ms, stays, others=self.processes())
        self.victims.append(one)
        self.addCleanup(one.kill)
        return one

    @contextlib.contextmanager
    def measured(self):
        """While the body of the `with` runs an attack, the daemon and the recorder answer in time, and
        no victim starts late.
        """
        daemon = Pinger(0.1, {"verb": "ping"}, self.daemon.pid)
        self.addCleanup(daemon.process.kill)
        recorder = Pinger(0.5, {"verb": "status", "session": SESSION}, *self.processes())
        self.addCleanup(recorder.process.kill)
        first = len(self.victims)
        yield
        self.assert_in_time("answer of the daemon", daemon.finish(), self.longest_answer)
        # A program that starts waits for the recorder as this question does.
        self.assert_in_time("answer of the recorder", recorder.finish(), self.latest_start)
        self.assert_starts_are_not_late([*self.starts, *((one.delay, one.wall) for one in self.victims[first:])])
        self.assert_daemon_is_whole()

    def assert_in_time(self, what, times, limit):
        print(f"{self.id()}: longest {what} {1e3 * max(times):.1f} ms, of {len(times)}")
        self.assertLess(max(times), limit, f"{what}\n{self.log_text()[-2000:]}")

    def assert_starts_are_not_late(self, starts):
        latest, wall = max(starts)
        print(f"{self.id()}: latest start {1e3 * latest:.1f} ms, of {len(starts)}; {1e3 * wall:.1f} ms with the time without a processor")
        self.assertLess(latest, self.latest_start, f"the start of a victim\n{self.log_text()[-2000:]}")

    # ---- recorded events ----

    def sequences(self, output):
        """Returns the numbers of each process's `app:tick`, by process; read by babeltrace2."""
        found = {}
        for directory, _, files in os.walk(output):
            if "metadata" not in files:
                continue
            for message in bt2.TraceCollectionMessageIterator(directory):
                if not isinstance(message, bt2._EventMessageConst) or message.event.name != "app:tick":
                    continue
                trace = message.event.stream.trace
                found.setdefault(int(trace.environment["vpid"]), []).append(int(message.event.payload_field["sequence"]))
        # A process whose recorder was killed has several traces.
        return {pid: sorted(numbers) for pid, numbers in found.items()}

    def sequences_apart(self, output):
        """The same, read by another process: bt2 keeps descriptors of a trace open."""
        text = call_as(ROOT_USER, lambda: json.dumps(self.sequences(output)))
        return {int(pid): numbers for pid, numbers in json.loads(text).items()}

    def assert_victims_complete(self):
        """Each victim's trace has exactly what it emitted."""
        output = self.ask("status", SESSION)["sessions"][0]["output"]
        for one in self.victims:
            if one.process.poll() is None:
                one.finish()
        self.side("stop", "-s", SESSION)
        self.assert_sequences(self.sequences(output))

    def assert_sequences(self, found):
        for one in self.victims:
            got = found.get(one.pid, [])
            self.assertEqual(len(got), one.count, f"events of the victim {one.pid}\n{self.log_text()[-2000:]}")
            self.assertEqual(got, list(range(one.count)))
