# SPDX-License-Identifier: MIT
"""`side record --kernel` together with all other features of a recording: chunks, flight recorders,
snapshots, sending, rings in files, rings of threads. On this machine's own kernel, if that is
permitted, in its own mount namespace.
"""
import collections
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

SIDE = os.environ["SIDE"]
# Programs hardly ever make this call.
CALL = "syscalls:sys_enter_sched_get_priority_max"
PROGRAM = "import os, sys\nfor i in range(int(sys.argv[1])):\n try: os.sched_get_priority_max(i)\n except OSError: pass\n"
Event = collections.namedtuple("Event", "name fields")


def events_of(directory):
    return [Event(message.event.name, dict(message.event.payload_field.items()))
            for message in bt2.TraceCollectionMessageIterator(directory)
            if isinstance(message, bt2._EventMessageConst) and message.event.payload_field is not None]


class With(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="side-with-")
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.trace = os.path.join(self.directory, "trace")

    def record(self, *options, count=500, command=None, status=0, pattern=CALL):
        command = command or [sys.executable, "-S", "-c", PROGRAM, str(count)]
        done = subprocess.run([SIDE, "record", "-k", pattern, *options, "--", *command], capture_output=True, text=True, check=False,
                              timeout=200)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def calls(self, directory=None):
        return [int(event.fields["policy"]) for event in events_of(directory or self.trace) if event.name == CALL]

    def test_chunks(self):
        command = f"""import glob, os, signal, sys, time
def call(begin, end):
    for i in range(begin, end):
        try: os.sched_get_priority_max(i)
        except OSError: pass
call(0, 300)
with open(f"/proc/{{os.getppid()}}/stat") as file:  # of side-kernel
    recorder = int(file.read().rsplit(")", 1)[1].split()[1])
os.kill(recorder, signal.SIGUSR2)
while not glob.glob("{self.trace}/chunk-*"): time.sleep(0.01)
call(300, 600)
"""
        # A chunk exists only if an event was recorded: the first request may find none.
        done = self.record("--rotate-every", "1s", "--keep-count", "100", "--json", "-o", self.trace,
                           command=[sys.executable, "-S", "-c", command])
        chunks = sorted(path for path in glob.glob(self.trace + "/*") if os.path.isdir(path))
        self.assertGreater(len(chunks), 1)
        self.assertEqual(sum((self.calls(chunk) for chunk in chunks), []), list(range(600)))
        kernel, summary = (json.loads(line) for line in done.stderr.splitlines())
        self.assertEqual((kernel["type"], kernel["classes"], kernel["events"], kernel["lost"]), ("kernel_summary", 1, 600, 0))
        self.assertTrue(os.path.isdir(os.path.join(chunks[0], kernel["directory"])))
        self.assertEqual((summary["recorded"], summary["chunks"], summary["command_status"]), (600, len(chunks), 0))

    def test_force(self):
        """Beside the files that an earlier recording left in that directory."""
        for number, count in enumerate((50, 70, 90)):
            done = self.record("--force", "--json", "-o", self.trace, count=count)
            kernel = json.loads(done.stderr.splitlines()[0])
            self.assertEqual(kernel["directory"], f"kernel-{number}" if number else "kernel")
            self.assertEqual(self.calls(os.path.join(self.trace, kernel["directory"])), list(range(count)))

    def test_flight_recorder(self):
        """The last window; of one CPU, because each has its own window."""
        cpu = min(os.sched_getaffinity(0))
        self.record("--mode", "overwrite", "--buffer-size", "64K", "-o", self.trace,
                    command=["taskset", "-c", str(cpu), sys.executable, "-S", "-c", PROGRAM, "20000"])
        found = self.calls()
        self.assertGreater(len(found), 100)
        self.assertEqual(found, list(range(20000 - len(found), 20000)))

    def test_crash(self):
        done = self.record("--mode", "overwrite", "--snapshot-on", "crash", "-o", self.trace, status=128 + signal.SIGABRT,
                           command=[sys.executable, "-S", "-c", PROGRAM + "os.abort()", "50"])
        self.assertIn("died of SIGABRT", done.stderr)
        ended = [path for path in glob.glob(self.trace + "/*") if "snapshot" not in path]
        self.assertEqual(sum((self.calls(path) for path in ended), []), list(range(50)))

    def test_sent(self):
        received = os.path.join(self.directory, "received")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with subprocess.Popen([SIDE, "receive", "--listen", str(port), "--keep", "-o", received], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as receiver:
            try:
                # It connects again until there is a listener.
                self.record("--to", f"tcp://127.0.0.1:{port}")
            finally:
                receiver.send_signal(signal.SIGTERM)
                receiver.communicate(timeout=100)
        self.assertEqual(self.calls(received), list(range(500)))

    def test_contexts_and_threads(self):
        """Options for events of programs do not affect the kernel's, and rings of threads are not for the kernel."""
        for number, options in enumerate((["--context", "vtid,procname"], ["--per-thread"], ["--buffers", self.directory + "/rings"],
                                          ["--compress", "--rotate"], ["--format", "ctf2", "--rotate"])):
            trace = f"{self.trace}{number}"
            self.record("--rotate", *options, "-o", trace)
            if "--compress" in options or "ctf2" in options:
                lines = subprocess.run([SIDE, "view", "--json", trace], capture_output=True, text=True, check=True).stdout.splitlines()
                self.assertEqual([json.loads(line)["fields"]["policy"] for line in lines], list(range(500)))
                continue
            self.assertEqual(self.calls(trace), list(range(500)))
            event = events_of(trace)[0]
            self.assertNotIn("vtid", event.fields)

    @unittest.skipUnless(os.environ.get("WRAPPERS"), "wrappers of libraries were not built")
    def test_wrappers(self):
        """The C library's calls of the command, and not those of the process that listens to the kernel for it."""
        counts = []
        for number, options in enumerate(((), ("--rotate",), ("--per-thread",), ("--per-thread", "--rotate"))):
            trace = f"{self.trace}{number}"
            # A ring holds all calls of the C library that Python makes: 3,700 to 5,200, which depends on its version.
            self.record("-w", "libc", "--buffer-size", "1M", *options, "-o", trace, count=40)
            self.assertEqual(self.calls(trace), list(range(40)), options)
            lines = subprocess.run([SIDE, "view", "--json", trace], capture_output=True, text=True, check=True).stdout.splitlines()
            events = [event for event in map(json.loads, lines) if event["type"] == "event" and event["event"].startswith("libc:")]
            self.assertEqual(len({event["vpid"] for event in events}), 1, options)
            self.assertNotIn("side-kernel", {event["procname"] for event in events}, options)
            self.assertGreater(len(events), 100)
            counts.append(len(events))
        # The environment has some more variables.
        self.assertLess(max(counts) - min(counts), 100, counts)

    def test_command(self):
        """The command runs as it would without side."""
        printed = self.record("--rotate", "-o", self.trace, command=["sh", "-c", "env; exit 7"], status=7).stdout.splitlines()
        self.assertEqual([line for line in printed if line.startswith(("SIDE_AGENT_KERNEL", "SIDE_RING_PORTABLE", "SIDE_USER_EVENTS"))], [])
        self.record("--rotate", "-o", self.trace + "1", command=["sh", "-c", "kill -TERM $$"], status=128 + signal.SIGTERM)
        done = self.record("--rotate", "-o", self.trace + "2", command=["./no-such-command"], status=127)
        self.assertIn("cannot run ./no-such-command", done.stderr)
        for pattern in "sched:swich", "a:b:c@x":
            self.record("--rotate", "-o", self.trace + "3", command=["touch", self.directory + "/ran"], status=2, pattern=pattern)
        self.assertFalse(os.path.exists(self.trace + "2") or os.path.exists(self.trace + "3") or os.path.exists(self.directory + "/ran"))
        self.record("--rotate", "--wait", "-o", self.trace + "4", status=3,
                    command=["sh", "-c", f"(sleep 0.3; exec {sys.executable} -S -c '{PROGRAM}' 70) & exit 3"])
        self.assertEqual(self.calls(self.trace + "4"), list(range(70)))

    def test_names(self):
        """Names as users of strace, perf and lttng type them, and the names that `side view` prints for numbers."""
        self.record("--syscall", "sched_get_priority_max,sched_get_priority_min", "-o", self.trace, command=[
            sys.executable, "-S", "-c", "import os\ntry: os.sched_get_priority_max(77)\nexcept OSError: pass\nos.sched_get_priority_min(0)\n"
            "try: os.open('/no/such', os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o640)\nexcept OSError: pass"],
                    pattern="raw_syscalls:sys_exit,sys_enter_openat")
        lines = subprocess.run([SIDE, "view", self.trace], capture_output=True, text=True, check=True).stdout.splitlines()

        def has(event, text):
            self.assertTrue([line for line in lines if event in line and text in line], (event, text, lines[-20:]))
        has("syscalls:sys_exit_sched_get_priority_max", "ret = -22 (EINVAL) }")
        has("syscalls:sys_exit_sched_get_priority_min", "ret = 0 }")
        has("raw_syscalls:sys_exit", "ret = -2 (ENOENT) }")
        has("sys_enter_openat", "dfd = 4294967196 (AT_FDCWD)")
        has("sys_enter_openat", "(O_RDWR|O_CREAT|O_EXCL|O_CLOEXEC), mode = 416 (0640) }")
        done = self.record("--rotate", "-o", self.trace + "1", pattern="openat", status=2)
        self.assertIn("use `--syscall NAME` for a system call", done.stderr)
        done = subprocess.run([SIDE, "record", "-e", "sched:sched_switch", "-o", self.trace + "2", "true"], capture_output=True,
                              text=True, check=True)
        self.assertIn("`sched:sched_switch` is an event of the kernel\nhint: `-k` records it", done.stderr)

    def without(self, before, options):
        """One line states the reason, and everything else works as usual."""
        os.chmod(self.directory, 0o777)
        done = subprocess.run([*before, SIDE, "record", "-k", CALL, *options, "-o", self.trace, "--", "sh", "-c", "echo done; exit 5"],
                              capture_output=True, text=True, check=False, timeout=100, cwd="/")
        self.assertEqual((done.returncode, done.stdout), (5, "done\n"), done.stderr)
        printed = [line for line in done.stderr.splitlines() if "kernel events" in line]
        self.assertEqual(len(printed), 1, done.stderr)
        strict = subprocess.run([*before, SIDE, "record", "--strict", "-k", CALL, *options, "-o", self.trace + "s", "--", "true"],
                                capture_output=True, text=True, check=False, timeout=100, cwd="/")
        self.assertEqual(strict.returncode, 4, strict.stderr)
        shutil.rmtree(self.trace, True)
        shutil.rmtree(self.trace + "s", True)
        lines = done.stderr.splitlines()
        after = lines.index(printed[0]) + 1
        return "\n".join(printed + [line for line in lines[after:after + 1] if line.startswith("hint: ")])

    def test_without(self):
        """Without tracefs, without /sys, without permission."""
        for options in (), ("--rotate",):
            for place in "/sys/kernel", "/sys":
                self.assertIn("tracefs is not mounted\nhint: mount it", self.without(
                    ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none {place} && exec \"$@\"", "sh"], options))
            if shutil.which("setpriv"):
                self.assertIn("run it as root", self.without(
                    ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"], options))

    def test_alone(self):
        """The whole machine, until the user ends the recording."""
        with subprocess.Popen([SIDE, "record", "-k", CALL, "--rotate", "-o", self.trace], stderr=subprocess.PIPE, text=True) as recorder:
            self.assertIn("Ctrl-C stops it", recorder.stderr.readline())
            # The events are enabled when the rings exist.
            for _ in range(600):
                subprocess.run([sys.executable, "-S", "-c", PROGRAM, "10"], check=True)
                if subprocess.run([SIDE, "view", self.trace], capture_output=True, text=True, check=False).stdout.count(CALL) >= 10:
                    break
            recorder.send_signal(signal.SIGINT)
            errors = recorder.communicate(timeout=100)[1]
        self.assertEqual(recorder.returncode, 0, errors)
        self.assertGreaterEqual(len(self.calls()), 10)

    def test_own_calls(self):
        """Enabling hundreds of events and reading their records are system calls, too: none of the
        recorder's is recorded, or lost.
        """
        for number, options in enumerate(((), ("--rotate",))):
            trace = f"{self.trace}{number}"
            done = self.record("--kernel-way", "tracefs", "--kernel-buffer", "1M", "--json", *options, "-o", trace, count=300,
                               pattern="syscalls")
            kernel = next(line for line in map(json.loads, filter(lambda text: text.startswith("{"), done.stderr.splitlines()))
                          if line["type"] == "kernel_summary")
            self.assertEqual(kernel["lost"], 0, kernel)
            self.assertEqual(self.calls(trace), list(range(300)))
            called = collections.Counter(event.name for event in events_of(trace))
            self.assertEqual(called[CALL], called[CALL.replace("enter", "exit")])
            # 300 calls, and those that start an interpreter.
            self.assertLess(kernel["events"], 100000)

    def test_losses(self):
        done = self.record("--rotate", "--kernel-all", "--kernel-buffer", "4K", "--strict", "--json", "-o", self.trace, count=20000, status=4,
                           pattern="raw_syscalls")
        kernel, summary = (json.loads(line) for line in done.stderr.splitlines())
        self.assertGreater(kernel["lost"], 0)
        self.assertEqual(summary["lost"], sum(loss["count"] for loss in summary["losses"]))
        self.assertEqual(kernel["lost"], sum(loss["count"] for loss in summary["losses"] if loss["reason"] == "buffer of the kernel full"))


def inside():
    if not os.path.isdir("/sys/kernel/tracing/events"):
        subprocess.run(["mount", "-t", "tracefs", "none", "/sys/kernel/tracing"], capture_output=True, check=False)
    with tempfile.TemporaryDirectory(prefix="side-with-") as directory:
        done = subprocess.run([SIDE, "record", "-k", CALL, "-o", os.path.join(directory, "t"), "true"], capture_output=True, text=True,
                              check=False)
    if "cannot record kernel events" in done.stderr:
        skip("the kernel's events may not be recorded here")
    unittest.main(verbosity=2)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


if __name__ == "__main__":
    try:
        import bt2
    except ImportError:
        skip("python3-bt2 is not installed")
    if os.environ.get("RECORD_INSIDE"):
        inside()
    if os.geteuid() or not shutil.which("unshare"):
        skip("not root, or no unshare")
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        skip("no mount name spaces")
    sys.exit(subprocess.run(["unshare", "-m", sys.executable, "-B", __file__, *sys.argv[1:]], check=False,
                            env=dict(os.environ, RECORD_INSIDE="1")).returncode)
