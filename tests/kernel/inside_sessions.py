# SPDX-License-Identifier: MIT
"""Events of the kernel in sessions of the daemon: `side enable-event --kernel`. In the machine of
machine.py, and on this machine's own kernel if that is permitted. Babeltrace 2 reads the traces.

usage: inside_sessions.py [CASE...]   with SIDE, SIDED and SIDE_LIB_DIR in the environment
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import bt2

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import has_ended, stop_process, wait_until
import ftrace

SIDE, SIDED = os.environ["SIDE"], os.environ["SIDED"]
# Programs hardly ever make this call.
CALL = "syscalls:sys_enter_sched_get_priority_max"
Event = collections.namedtuple("Event", "name time cpu fields file")
# The whole machine is recorded: other processes may run during the test.
CALLS = """
import os, sys
sys.stdout.write("ready\\n"); sys.stdout.flush()
for line in sys.stdin:
    for i in range(int(line)):
        try: os.sched_get_priority_max(i)
        except OSError: pass
    sys.stdout.write("done\\n"); sys.stdout.flush()
"""


def events_of(directory):
    found = []
    for message in bt2.TraceCollectionMessageIterator(directory):
        if isinstance(message, bt2._EventMessageConst):
            event = message.event
            packet = event.packet.context_field
            found.append(Event(event.name, message.default_clock_snapshot.ns_from_origin,
                               int(packet["cpu_id"]) if packet is not None and "cpu_id" in packet else None,
                               dict(event.payload_field.items()) if event.payload_field is not None else {}, None))
    return found


class Caller:
    """A process that makes as many calls as the test requests."""

    def __init__(self, environment):
        self.process = subprocess.Popen([sys.executable, "-c", CALLS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)
        assert self.process.stdout.readline() == "ready\n"

    @property
    def pid(self):
        return self.process.pid

    def call(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="side-ks-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.environment = dict(os.environ, SIDE_RUNTIME=os.path.join(self.directory, "run"), HOME=self.directory)
        self.trace = os.path.join(self.directory, "trace")
        self.addCleanup(self.end_all)
        self.caller = Caller(dict(os.environ))
        self.addCleanup(self.caller.end)

    def end_all(self):
        # A daemon that ends leaves the memory of its sessions in /dev/shm, for the next daemon.
        if os.path.isdir(os.path.join(self.directory, "run")):
            self.side("destroy", "-a", check=False)
        for name, pid in (("sided", self.daemon_pid()), ("side-kernel", self.helper_pid())):
            if pid:
                self.kill(pid, signal.SIGTERM, name)

    @staticmethod
    def kill(pid, number, name):
        """Kills the process, but not another one that has its id by now."""
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                if file.read().strip() != name:
                    return
            os.kill(pid, number)
        except OSError:
            return
        wait_until(lambda: has_ended(pid), f"{name} has ended")

    def daemon_pid(self):
        try:
            with open(os.path.join(self.directory, "run/sided.pid"), encoding="ascii") as file:
                return int(file.read())
        except (OSError, ValueError):
            return None

    def helper_pid(self):
        """Returns the process that holds the lock, as the kernel reports it."""
        try:
            inode = os.stat(os.path.join(self.directory, "run/kernel.lock")).st_ino
        except OSError:
            return None
        with open("/proc/locks", encoding="ascii") as file:
            for line in file:
                words = line.split()
                if words[1] != "->" and words[5].endswith(f":{inode}") and int(words[4]) > 0:
                    return int(words[4])
        return None

    def side(self, *words, check=True, status=None):
        done = subprocess.run([SIDE, *words], capture_output=True, text=True, check=False, env=self.environment, timeout=180)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr)
        elif check:
            self.assertEqual(done.returncode, 0, (words, done.stderr))
        return done

    def status(self, name="k"):
        return json.loads(self.side("status", name, "--json").stdout)

    def begin(self, *options, name="k", events=(CALL,), more=()):
        self.side("create", name, "-o", self.trace if name == "k" else self.trace + name, *options)
        if events:
            self.side("enable-event", "-s", name, "-k", *events, *more)
        self.side("start", name)

    def calls(self, directory=None, pid=None):
        """Returns the recorded calls of the test's caller, in order."""
        found = [event for event in events_of(directory or self.trace) if event.name == CALL and
                 int(event.fields["pid"]) == (pid or self.caller.pid)]
        self.assertEqual([event.time for event in found], sorted(event.time for event in found))
        return [int(event.fields["policy"]) for event in found]


class Sessions(Case):
    def test_stop_start(self):
        """Exactly the events while the session records, complete, and with the id of the calling process."""
        begin = time.time_ns()
        self.begin()
        self.caller.call(300)
        self.side("stop")
        self.caller.call(50)
        self.assertEqual(self.calls(), list(range(300)))
        self.side("start")
        self.caller.call(200)
        self.side("destroy")
        end = time.time_ns()
        self.assertEqual(self.calls(), list(range(300)) + list(range(200)))
        events = [event for event in events_of(self.trace) if event.name == CALL and event.fields["pid"] == self.caller.pid]
        for event in events:
            self.assertEqual(int(event.fields["tid"]), self.caller.pid)
            self.assertTrue(str(event.fields["comm"]).startswith("python"))
            self.assertIn(event.cpu, range(os.sysconf("SC_NPROCESSORS_CONF")))
        # The parameters of the clock are measured, on a machine that may be busy.
        self.assertLess(begin - 50_000_000, events[0].time)
        self.assertLess(events[-1].time, end + 50_000_000)

    def test_names(self):
        self.side("create", "k", "-o", self.trace)
        done = self.side("enable-event", "-k", "sched:swich", status=1)
        self.assertIn("no kernel trace event matches `sched:swich`", done.stderr)
        self.assertEqual(self.status()["definition"].get("channels", []), [])
        self.side("enable-event", "-k", status=2)
        self.side("enable-event", "-k", "-u", "sched", status=2)
        self.side("enable-event", "--syscall", "openat", status=2)
        done = self.side("enable-event", "-k", "sched_switch", "--context", "vpid", status=2)
        self.assertIn("pid, tid and comm", done.stderr)
        self.side("enable-event", "-k", "--syscall", "sched_get_priority_max,sched_get_priority_min")
        self.side("start")
        self.caller.call(3)
        self.side("stop")
        names = [event.name for event in events_of(self.trace) if event.fields.get("pid") == self.caller.pid]
        self.assertEqual(names, [CALL, CALL.replace("enter", "exit")] * 3)
        listed = self.side("list", "-k", "syscalls:sys_*_sched_get_priority_max").stdout.splitlines()
        self.assertEqual(listed, [CALL, CALL.replace("enter", "exit")])
        self.assertIn("sched:sched_switch", self.side("list", "-k", "sched").stdout.splitlines())

    def test_changes(self):
        """Events are enabled and disabled during the recording."""
        self.begin()
        self.caller.call(10)
        self.side("disable-event", "-k", CALL)
        self.caller.call(100)
        self.side("enable-event", "-k", CALL, "--filter", "policy % 2 == 1")
        self.caller.call(10)
        text = self.side("status", "k").stdout
        self.assertIn("1 of 1 events enabled", text)
        self.side("disable-event", "-k", "-a")
        self.caller.call(100)
        self.assertEqual(self.status()["definition"]["channels"][0].get("rules", []), [])
        self.side("destroy")
        self.assertEqual(self.calls(), list(range(10)) + [1, 3, 5, 7, 9])

    def test_two_sessions(self):
        """Each session has its own events, and a session that wants all events of programs gets none of them."""
        self.begin()
        self.begin(name="other", events=("syscalls:sys_exit_sched_get_priority_max",))
        self.begin(name="user", events=())
        self.side("enable-event", "-s", "user", "-a")
        self.caller.call(20)
        for name in ("k", "other", "user"):
            self.side("stop", name)
        pid = self.caller.pid
        names = [{event.name for event in events_of(trace) if event.fields.get("pid") == pid}
                 for trace in (self.trace, self.trace + "other")]
        self.assertEqual(names, [{CALL}, {CALL.replace("enter", "exit")}])
        self.assertEqual(self.calls(), list(range(20)))
        if os.path.isdir(self.trace + "user") and glob.glob(self.trace + "user/*/metadata"):
            self.assertEqual([event for event in events_of(self.trace + "user") if event.name.startswith("syscalls:")], [])

    # The caller's arguments are the numbers from 0 on. Each row: the filter, which numbers match,
    # and whether the kernel checks it.
    FILTERS = (("policy >= 5 && policy < 8", lambda n: 5 <= n < 8, True),
               ("policy == 3 || 7 <= policy", lambda n: n == 3 or n >= 7, True),
               ("!(policy == 3) && !(policy > 6)", lambda n: n != 3 and n <= 6, True),
               ("policy & 4", lambda n: n & 4, True),
               ("policy != 0x2", lambda n: n != 2, True),
               ("policy > 3 && policy % 2 == 0", lambda n: n > 3 and n % 2 == 0, True),  # side checks the remainder
               ("!(policy > 3 && policy % 2 == 0)", lambda n: not (n > 3 and n % 2 == 0), False),
               ("policy > 3 || policy % 2 == 0", lambda n: n > 3 or n % 2 == 0, False),
               ("policy > -1", lambda n: True, False),  # the kernel refuses this for an unsigned number
               ("policy < 18446744073709551615 && tid > 0", lambda n: True, True),
               ("comm == \"python*\" && policy <= 1", lambda n: n <= 1, True),
               ("comm == \"nobody\"", lambda n: False, False))

    def check_filters(self, way):
        for number, (text, is_true, asked) in enumerate(self.FILTERS):
            name = f"{way}{number}"
            self.begin(name=name, more=("--kernel-way", way, "--filter", text))
            status = self.side("status", name).stdout
            self.assertEqual("; 1 with a kernel filter" in status, asked, (text, status))
            self.caller.call(10)
            self.side("destroy", name)
            self.assertEqual(self.calls(self.trace + name) if any(map(is_true, range(10))) else [],
                             [n for n in range(10) if is_true(n)], (way, text))

    def test_filters_perf(self):
        self.check_filters("perf")

    def test_filters_tracefs(self):
        self.check_filters("tracefs")

    def test_filter_saves_space(self):
        """Events that the kernel rejects do not use space in its buffer, however small that is."""
        self.begin(more=("--kernel-buffer", "16K", "--kernel-way", "perf", "--filter", "policy == 2998 || policy < 5"))
        self.caller.call(5)
        stop_process(self.helper_pid())
        self.caller.call(3000)
        os.kill(self.helper_pid(), signal.SIGCONT)
        self.side("destroy")
        self.assertEqual(self.calls(), [*range(5), *range(5), 2998])
        self.assertEqual([event for event in events_of(self.trace) if event.name == "side_kernel:lost"], [])

    def test_filters_of_others(self):
        """During the recording, other sessions want more records of the event, and fewer again: no
        session loses a record or has one twice.
        """
        for way in "perf", "tracefs":
            self.begin(name=way, more=("--kernel-way", way, "--filter", "policy >= 10"))
            for name, more in ((way + "-some", ("--filter", "policy < 20")), (way + "-all", ())):
                self.side("create", name, "-o", self.trace + name)
                self.side("start", name)
                self.caller.process.stdin.write("30000\n")
                self.caller.process.stdin.flush()
                self.side("enable-event", "-s", name, "-k", CALL, *more)
                self.assertEqual(self.caller.process.stdout.readline(), "done\n")
                self.caller.call(30)
            self.side("disable-event", "-s", way + "-all", "-k", CALL)
            self.caller.call(30)
            self.side("destroy", "-a")
            self.assertEqual(self.calls(self.trace + way), (list(range(10, 30000)) + list(range(10, 30))) * 2 + list(range(10, 30)), way)
            some = self.calls(self.trace + way + "-some")
            self.assertEqual(some[-80:], list(range(20)) * 4)
            every = self.calls(self.trace + way + "-all")
            self.assertEqual(every[-30:], list(range(30)))
            self.assertEqual(every[:-30], list(range(30000 - len(every[:-30]), 30000)))
            self.kill(self.helper_pid(), signal.SIGTERM, "side-kernel")

    def test_rotate(self):
        self.begin("--rotate-size", "1G")
        self.caller.call(30)
        first = self.side("rotate").stdout.strip()
        self.caller.call(20)
        self.side("destroy")
        self.assertEqual(self.calls(first), list(range(30)))
        chunks = sorted(path for path in glob.glob(self.trace + "/*") if os.path.isdir(path))
        self.assertEqual(sum((self.calls(chunk) for chunk in chunks), []), list(range(30)) + list(range(20)))

    def test_snapshot(self):
        """The last window, up to the present; of one CPU, because each has its own window."""
        os.sched_setaffinity(self.caller.pid, {min(os.sched_getaffinity(0))})
        self.side("create", "k", "-o", self.trace)
        self.side("enable-channel", "ring", "--mode", "overwrite", "--buffer-size", "64K")
        self.side("enable-event", "-k", CALL)
        self.side("start")
        self.caller.call(20000)
        path = self.side("snapshot").stdout.strip()
        found = self.calls(path)
        self.assertGreater(len(found), 100)
        self.assertEqual(found, list(range(20000 - len(found), 20000)))

    def test_sent(self):
        """Over the network during the recording."""
        received = os.path.join(self.directory, "received")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with subprocess.Popen([SIDE, "receive", "--listen", str(port), "--keep", "-o", received], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env=self.environment) as receiver:
            try:
                # It connects again until there is a listener.
                self.begin("--to", f"tcp://127.0.0.1:{port}")
                self.caller.call(40)
                self.side("destroy")
            finally:
                receiver.send_signal(signal.SIGTERM)
                receiver.communicate(timeout=100)
        self.assertEqual(self.calls(received), list(range(40)))

    def test_save_load(self):
        self.begin()
        saved = os.path.join(self.directory, "saved")
        self.side("save", "-o", saved)
        self.side("destroy")
        self.kill(self.helper_pid(), signal.SIGTERM, "side-kernel")
        self.side("load", saved, "-s", "again")
        with open(saved, encoding="utf-8") as file:
            self.assertIn("kernel::" + CALL, file.read())
        self.side("start", "again")
        self.caller.call(15)
        output = self.side("status", "again", "--json").stdout
        self.side("destroy", "again")
        self.assertEqual(self.calls(json.loads(output)["output"]), list(range(15)))

    def test_daemon_killed(self):
        """Events while no daemon controls the session are there when a daemon controls it again."""
        self.begin()
        self.caller.call(10)
        helper = self.helper_pid()
        self.kill(self.daemon_pid(), signal.SIGKILL, "sided")
        self.caller.call(10)
        self.side("daemon")
        self.caller.call(10)
        self.assertEqual(self.helper_pid(), helper)
        self.side("stop")
        self.assertEqual(self.calls(), list(range(10)) * 3)

    def test_killed(self):
        """The next daemon removes all that side has left in the kernel, and nothing of other tracers."""
        instances = ftrace.path("instances")
        other = os.path.join(instances, "side-other")
        os.mkdir(other)
        self.addCleanup(os.rmdir, other)

        def ours(helper):
            return glob.glob(os.path.join(instances, f"side-{helper}-*"))
        for way in "tracefs", "perf":
            self.begin(name=way, more=("--kernel-way", way))
            self.caller.call(10)
            self.assertIn(way, self.side("status", way).stdout)
            first = self.helper_pid()
            self.assertEqual(len(ours(first)), way == "tracefs")
            self.kill(first, signal.SIGKILL, "side-kernel")
            self.assertEqual(len(ours(first)), way == "tracefs")
            self.assertIn("not recorded: side-kernel does not run", self.side("status", way).stdout)
            self.side("start", way)
            second = self.helper_pid()
            self.assertNotEqual(second, first)
            self.caller.call(10)
            self.side("destroy", way)
            self.assertEqual(self.calls(self.trace + way)[-10:], list(range(10)))
            self.kill(second, signal.SIGTERM, "side-kernel")
            self.assertEqual(ours(first) + ours(second), [])
        self.assertTrue(os.path.isdir(other))

    def test_ends_by_itself(self):
        self.begin()
        self.side("destroy")
        helper = self.helper_pid()
        self.assertTrue(helper)
        wait_until(lambda: self.helper_pid() is None, "the end of the helper process")

    def test_ends_without_daemon(self):
        """Its daemon has exited before it could ask for the wanted events."""
        self.begin()
        self.side("destroy")
        self.kill(self.daemon_pid(), signal.SIGKILL, "sided")
        wait_until(lambda: self.helper_pid() is None, "the end of the helper process")

    def test_losses(self):
        """Events for which the kernel has no space are counted, and the trace has the count."""
        self.begin(more=("--kernel-buffer", "16K", "--kernel-way", "perf"))
        self.caller.call(5)
        stop_process(self.helper_pid())
        self.caller.call(3000)
        os.kill(self.helper_pid(), signal.SIGCONT)
        self.caller.call(5)
        stopped = self.side("stop")
        events = events_of(self.trace)
        lost = sum(int(event.fields["count"]) for event in events if event.name == "side_kernel:lost")
        self.assertGreater(lost, 100)
        self.assertEqual({str(event.fields["event"]) for event in events if event.name == "side_kernel:lost"}, {CALL})
        recorded = [event for event in events if event.name == CALL]
        ours = self.calls()
        self.assertEqual(ours[:5], list(range(5)))
        # Other programs may have made the call, too.
        self.assertLess(len(ours), 3010)
        self.assertGreaterEqual(len(recorded) + lost, 3010)
        # They belong to the session, in each report of its losses.
        found = re.findall(r"; lost ([0-9,]+)", self.side("status", "k").stdout)
        self.assertEqual({int(text.replace(",", "")) for text in found}, {lost})
        self.assertEqual(len(found), 3, found)  # session, channel and kernel
        status = self.status()
        self.assertEqual(status["lost"], lost)
        losses = status["losses"]
        self.assertEqual({(loss["event"], loss["reason"]) for loss in losses}, {(CALL, "buffer of the kernel full")})
        self.assertEqual(sum(loss["count"] for loss in losses), lost)
        for words in (("list", "--json"), ("top", "--json", "--count", "1", "k")):
            lines = [json.loads(line) for line in self.side(*words).stdout.splitlines()]
            self.assertIn(lost, [one.get("lost") for one in lines], words)
        self.assertIn(f"lost {lost:,}", self.side("list").stdout)
        self.assertIn(f"{lost:,} events were lost", stopped.stderr)
        destroyed = self.side("destroy", "--json")
        self.assertEqual(json.loads((destroyed.stdout or destroyed.stderr).splitlines()[-1])["lost"], lost)
        noted = [event.fields for event in events_of(self.trace) if event.name == "side:lost"]
        self.assertEqual(sum(int(fields["count"]) for fields in noted), lost)


@unittest.skipUnless(os.path.exists(ftrace.path("user_events_data")), "the kernel has no user_events")
class Late(Case):
    """user_events, which exist as long as their programs."""

    def fire(self, count, encoding="auto"):
        """Fires events that are registered while the session records. The program waits for the
        recorder's answer, much longer than the test does.
        """
        subprocess.run([os.environ["KERNEL_PROGRAM"], f"fire:{count}"], check=True, timeout=180,
                       env=dict(os.environ, SIDE_USER_EVENTS="kern", SIDE_USER_EVENTS_ENCODING=encoding, SIDE_TIMEOUT_FACTOR="3600",
                                SIDE_LIB_DIR=os.environ["KERNEL_LIB_DIR"]))

    def numbers(self, name):
        return [int(event.fields["number"]) for event in events_of(self.trace) if event.name == name]

    def test_from_the_first_call(self):
        self.begin(events=("user_events:kern_*",))
        for _ in range(3):
            self.fire(50)
        self.fire(50, "eventheader")
        self.side("destroy")
        self.assertEqual(self.numbers("user_events:kern_tick"), list(range(50)) * 3)
        # The program has another event of the same level and keyword.
        ticks = {event.name for event in events_of(self.trace) if re.fullmatch("user_events:kern_L[1-5]K1:tick", event.name)}
        self.assertEqual(len(ticks), 1)
        self.assertEqual(self.numbers(*ticks), list(range(50)))

    def compare(self, encoding):
        """Compares all types of the ABI with the result of an independent decoder of ftrace's own buffers."""
        import inside_record
        script = os.environ["RECORD_SCRIPTS"] + "/cases.json"
        ftrace.buffer_size(16384)
        environment = dict(os.environ, SIDE_USER_EVENTS="all", SIDE_USER_EVENTS_ENCODING=encoding, FIRE_WAIT="1",
                           SIDE_LIB_DIR=os.environ["KERNEL_LIB_DIR"])
        with subprocess.Popen([os.environ["ROUNDTRIP_FIRE"], script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=environment) as program:
            self.assertEqual(program.stdout.readline(), b"registered\n")
            self.begin(events=("user_events", "user_events_multi"), more=("--kernel-buffer", "8M"))
            ftrace.enable(True)
            program.stdin.write(b"x")
            program.stdin.close()
            self.assertEqual(program.wait(), 0)
        raw = inside_record.raw_records()
        ftrace.enable(False)
        self.side("stop")
        shutil.rmtree(inside_record.TRACE, ignore_errors=True)
        shutil.copytree(self.trace, inside_record.TRACE)
        events = [event for event in inside_record.read_trace()[0] if event.name.startswith("user_events")]
        self.assertEqual(len(events), len(raw))
        wrong = []
        for event, (name, fields, payload) in zip(events, raw):
            event = event._replace(fields=event.fields[3:])  # after pid, tid, comm
            if fields and fields[0][1] == "eventheader_flags":
                _, _, lines, want, tag = inside_record.eventheader.decode(name, payload)
                values = [value for field, value in inside_record.visible(event.fields) if not field.startswith("event_")]
                if not event.name.endswith(":" + lines.decode("utf-8", "replace")):
                    wrong.append(f"{event.name} instead of {lines}")
                difference = inside_record.differs(("struct", [inside_record.simple(value) for value in values]), ("struct", want))
            else:
                difference = inside_record.plain_differs(event, fields, payload)
            if difference:
                wrong.append(f"{event.name}: {difference}")
        print(f"{encoding}: {len(raw)} records, {len(wrong)} wrong", flush=True)
        self.assertEqual(wrong[:20], [])

    def test_native(self):
        self.compare("auto")

    def test_eventheader(self):
        self.compare("eventheader")


class Refused(Case):
    """If it is not permitted, a message states that, and all other events are recorded."""

    def check(self, run, why, status):
        self.side("create", "k", "-o", self.trace)
        done = run("enable-event", "-k", CALL)
        lines = [line for line in done.stderr.splitlines() if "cannot record kernel events" in line]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn(why, lines[0])
        self.assertEqual(done.returncode, status)
        self.assertEqual(self.status()["definition"].get("channels", []), [])

    def test_no_tracefs(self):
        def run(*words):
            return subprocess.run(["unshare", "-m", "sh", "-c", "mount -t tmpfs none /sys/kernel && exec \"$@\"", "sh", SIDE, *words],
                                  capture_output=True, text=True, check=False, env=self.environment)
        self.check(run, "tracefs is not mounted", 1)

    def test_no_permission(self):
        """As a user without permissions."""
        if not shutil.which("setpriv"):
            self.skipTest("setpriv is not installed")
        os.chmod(self.directory, 0o755)
        home = os.path.join(self.directory, "home")
        os.mkdir(home)
        os.chown(home, 65534, 65534)
        environment = dict(self.environment, SIDE_RUNTIME=os.path.join(home, "run"), HOME=home)

        def run(*words):
            return subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", SIDE, *words],
                                  capture_output=True, text=True, check=False, env=environment, timeout=100)
        self.directory, before = home, self.directory
        self.assertEqual(run("create", "k", "-o", home + "/trace").returncode, 0)
        done = run("enable-event", "-k", CALL)
        self.assertEqual(len([line for line in done.stderr.splitlines() if "cannot record kernel events" in line]), 1, done.stderr)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(run("enable-event", "-a").returncode, 0)
        self.assertEqual(run("start").returncode, 0)
        self.assertEqual(run("destroy").returncode, 0)
        self.end_all()
        self.directory = before


def permitted():
    """Returns whether one of the methods to record kernel events is permitted."""
    with tempfile.TemporaryDirectory(prefix="side-ks-") as directory:
        done = subprocess.run([SIDE, "record", "-k", CALL, "-o", os.path.join(directory, "t"), "true"], capture_output=True,
                              text=True, check=False)
        return "cannot record kernel events" not in done.stderr


if __name__ == "__main__":
    if not permitted():
        print("skipped: the kernel's events may not be recorded here")
        sys.exit(77)
    unittest.main(verbosity=2)
