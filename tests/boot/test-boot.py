# SPDX-License-Identifier: MIT
"""Programs that record before a recorder runs: the files that they leave, and who adopts them."""
import os
import signal
import subprocess
import unittest

import harness
from harness import PLUGIN, SIDED, Case, Program, wait_until


class Alone(Case):
    """Programs and `side adopt` only."""

    def test_first_constructor(self):
        program = self.run_program("fire=10")
        self.assertEqual(self.folders(), [f"boot-program-{program.pid}-0"])
        reported = self.adopt()
        self.assertEqual((reported["early"]["seen"], reported["early"]["lost"]), (1, 0))
        events = self.events()
        self.assertEqual(events[0], (program.pid, "boot:first",
                                     {"pid": program.pid, "text": "constructor"},
                                     {"vpid": program.pid}))
        self.assertEqual(len(events), 11)
        self.assertCounted(self.sequences(), program.pid, 10)
        # No process is left: the session's folder is removed, too.
        self.assertFalse(os.path.exists(os.path.join(self.place, "early")))

    def test_without_configuration(self):
        for value in ("", "0"):
            self.run_program("fire=10", SIDE_BOOT=value)
            self.assertFalse(os.path.exists(self.place))
        self.run_program("fire=10", SIDE_CONTROL="off")
        self.assertFalse(os.path.exists(self.place))

    def test_children(self):
        program = self.run_program("fire=3", "fork=5", "chain=7", "fire=1")
        self.assertEqual(len(self.folders()), 4)
        reported = self.adopt()
        self.assertEqual(reported["early"]["seen"], 4)
        counted = self.sequences()
        self.assertCounted(counted, program.pid, 4)
        self.assertEqual(sorted(len(c) for c in counted.values()), [4, 5, 7, 7])

    def test_exec(self):
        program = self.run_program("fire=3", "exec", "fire=2", "exec", "fire=1")
        self.assertEqual(len(self.folders()), 3)
        self.adopt()
        events = self.events()
        self.assertEqual([one[1] for one in events].count("boot:first"), 3)
        self.assertEqual(self.sequences()[program.pid], [0, 1, 2, 0, 1, 0])

    def test_library_loaded_later(self):
        program = self.run_program("fire=1", f"plugin={PLUGIN}", "fire=1")
        self.adopt()
        self.assertEqual([(one[1], one[2].get("answer")) for one in self.events()],
                         [("boot:first", None), ("boot:tick", None), ("boot:loaded", 42),
                          ("boot:tick", None)])
        self.assertCounted(self.sequences(), program.pid, 2)

    def test_killed(self):
        program = self.run_program("fire=100", "kill", status=-signal.SIGKILL)
        self.adopt()
        self.assertCounted(self.sequences(), program.pid, 100)

    def test_killed_at_any_time(self):
        """After a kill at any time, all fired events are there, from the first one on, and the
        remainder disturbs no process.
        """
        pids = []
        for delay in range(8):
            program = Program(self, "fire=1000000")
            try:
                program.process.wait(delay * 0.01)
            except subprocess.TimeoutExpired:
                pass
            program.kill()
            pids.append(program.pid)
        self.adopt("--force")
        for pid, counted in self.events_without_losses().items():
            self.assertIn(pid, pids)
            self.assertEqual(counted, list(range(len(counted))))

    def events_without_losses(self):
        """The rings were too small: the recorded events start with the first one and have no gap."""
        counted = {}
        trace = subprocess.run(["babeltrace2", "--no-delta", self.out], capture_output=True,
                               text=True, check=False).stdout if os.path.isdir(self.out) else ""
        per_ring = {}
        for line in trace.splitlines():
            if "boot:tick:" not in line:
                continue
            pid = int(line.split("vpid = ")[1].split(" ")[0])
            sequence = int(line.split("sequence = ")[1].split(",")[0])
            per_ring.setdefault(pid, []).append(sequence)
        for pid, sequences in per_ring.items():
            # Each ring keeps its first records: all rings together have the first events without a
            # gap.
            whole = sorted(sequences)
            self.assertEqual(len(set(whole)), len(whole))
            end = next((i for i, value in enumerate(whole) if i != value), len(whole))
            self.assertTrue(end)
            counted[pid] = whole[:end]
        return counted

    def test_several_sessions_and_channels(self):
        self.configure("""\
place {place}
session one
	event boot:tick
	filter sequence >= 5
	context vtid
session two
channel few
	mode overwrite
	buffer-size 64K
	per-thread 4
	event boot:*
	exclude boot:first,boot:loaded
channel other
	mode block
	block-timeout 1ms
	buffer-size 100K
	event boot:first
""")
        program = self.run_program("fire=10")
        reported = self.adopt()
        self.assertEqual(set(reported), {"one", "two"})
        one = self.events(os.path.join(self.out, "one"))
        self.assertEqual([event[2]["sequence"] for event in one], [5, 6, 7, 8, 9])
        two = self.events(os.path.join(self.out, "two"))
        self.assertEqual([event[1] for event in two],
                         ["boot:first"] + ["boot:tick", "boot:tock"] * 10)
        self.assertEqual({event[0] for event in one + two}, {program.pid})

    def test_directory_of_another_user(self):
        """Other users could have put anything there."""
        os.makedirs(os.path.join(self.place, "early"))
        os.chmod(os.path.join(self.place, "early"), 0o777)
        program = self.run_program("fire=1", SIDE_DEBUG="1")
        self.assertIn("session early", program.stderr)
        self.assertEqual(self.folders(), [])

    def test_directory_that_cannot_be_made(self):
        """Then the rings are in memory of the process, and it runs on."""
        with open(self.place, "w", encoding="utf-8"):
            pass
        program = self.run_program("fire=10", "fork=1", SIDE_DEBUG="1")
        self.assertIn("they are in the memory of the process", program.stderr)


class Running(Case):
    """Programs that are adopted while they run."""

    def test_twice(self):
        program = Program(self, "fire=10", "say=one", "wait", "fire=10", "say=two", "wait", "fire=10")
        program.expect("one")
        reported = self.adopt()["early"]
        self.assertTrue(reported["running"])
        self.assertCounted(self.sequences(), program.pid, 10)
        program.go_on()
        program.expect("two")
        self.adopt("--force")
        self.assertCounted(self.sequences(), program.pid, 20)
        program.go_on()
        program.end()
        self.assertFalse(self.adopt("--force")["early"]["running"])
        self.assertCounted(self.sequences(), program.pid, 30)

    def test_library_loaded_between(self):
        program = Program(self, "fire=1", "say=one", "wait", f"plugin={PLUGIN}", "fire=1")
        program.expect("one")
        self.adopt()
        program.go_on()
        program.end()
        self.adopt("--force")
        self.assertEqual([one[1] for one in self.events()],
                         ["boot:first", "boot:tick", "boot:loaded", "boot:tick"])

    def follow(self):
        follower = subprocess.Popen(
            [harness.SIDE, "adopt", self.place, "--follow", "-o", self.out, "--boot", self.config],
            env=harness.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (follower.kill(), follower.communicate()))
        wait_until(lambda: os.path.exists(os.path.join(self.place, "early", "socket")),
                   "the socket of the recorder")
        return follower

    def test_follow(self):
        """Running programs, their children, and the programs that they execute; a library that is loaded in between."""
        program = Program(self, "fire=5", "say=one", "wait", "fire=5", "fork=4", f"plugin={PLUGIN}",
                          "exec", "fire=3")
        program.expect("one")
        follower = self.follow()
        program.go_on()
        program.end()
        _, reported = follower.communicate(timeout=harness.TIMEOUT)
        self.assertEqual(follower.returncode, 0, reported)
        self.assertIn("events from 3 processes", reported)
        counted = self.sequences()
        self.assertEqual(counted.pop(program.pid), list(range(10)) + list(range(3)))
        self.assertEqual(list(counted.values()), [list(range(4))])
        self.assertEqual([one[1] for one in self.events()].count("boot:loaded"), 1)

    def test_storm_of_programs_while_recorders_come_and_go(self):
        """Each event is in exactly one trace, whichever recorder ran when its program started."""
        programs = []
        for number in range(12):
            programs.append(Program(self, "fire=20", "fork=10", "fire=20"))
            if number % 3 == 2:
                wait_until(lambda: os.path.isdir(self.place), "the place")
                self.adopt("--force", "--boot", self.config)
        for program in programs:
            program.end()
        if os.path.isdir(os.path.join(self.place, "early")):
            self.adopt("--force")
        counted = self.sequences()
        for program in programs:
            self.assertCounted(counted, program.pid, 40)
            counted.pop(program.pid)
        self.assertEqual([values for values in counted.values() if values != list(range(10))], [])
        self.assertEqual(len(counted), len(programs))


class Mapped(Case):
    """Rings that are in no state directory: root finds them in the memory of the process."""

    def setUp(self):
        super().setUp()
        if os.geteuid() or not os.path.isdir("/proc/self/map_files"):
            self.skipTest("only for root")
        try:
            first = os.listdir("/proc/self/map_files")[0]
            os.close(os.open(f"/proc/self/map_files/{first}", os.O_RDONLY))
        except OSError as error:
            self.skipTest(f"not even root may open mappings here: {error}")

    def hide(self):
        """The path of the state directory is not a directory."""
        with open(self.place, "w", encoding="utf-8"):
            pass

    def test_process(self):
        self.hide()
        program = Program(self, "fire=10", "say=one", "wait", f"plugin={PLUGIN}", "fire=10", "say=two",
                          "wait", "fire=10", "say=three", "wait")
        program.expect("one")
        self.side("adopt", str(program.pid), "-o", self.out)
        self.assertIn("events from 1 process", self.stderr)
        self.assertCounted(self.sequences(), program.pid, 10)
        self.assertEqual(self.events()[0][1:3], ("boot:first",
                                                 {"pid": program.pid, "text": "constructor"}))
        for word, number in (("two", 20), ("three", 30)):
            program.go_on()
            program.expect(word)
            self.side("adopt", str(program.pid), "-o", self.out, "--force")
            self.assertCounted(self.sequences(), program.pid, number)
        self.assertEqual([one[1] for one in self.events()].count("boot:loaded"), 1)
        program.go_on()
        program.end()

    def test_directory_that_is_made_later(self):
        """Children create it; the adopting process also finds the parent, and records it until it exits."""
        self.hide()
        program = Program(self, "fire=10", "say=one", "wait", "fork=5", "fire=10", "say=two", "wait",
                          "fire=3")
        program.expect("one")
        os.unlink(self.place)
        program.go_on()
        program.expect("two")
        reported = self.adopt()["early"]
        self.assertTrue(reported["running"])
        self.assertEqual(reported["seen"], 2)
        counted = self.sequences()
        self.assertCounted(counted, program.pid, 20)
        self.assertEqual(sorted(map(len, counted.values())), [5, 20])

    def test_hidden(self):
        """Another file system is mounted over the state directory, in the namespace of the program."""
        command = ["unshare", "--mount"]
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
            self.skipTest("no mount namespaces here")
        os.mkdir(self.place)
        program = Program(self, "fire=10", f"hide={self.place}", "fire=10", f"plugin={PLUGIN}", "fork=5",
                          "fire=10", "say=one", "wait", command=command)
        program.expect("one")
        self.side("adopt", str(program.pid), "-o", self.out)
        self.assertCounted(self.sequences(), program.pid, 30)
        self.assertEqual([one[1] for one in self.events()].count("boot:loaded"), 1)
        program.go_on()
        program.end()

    @unittest.skipUnless(SIDED, "there is no daemon")
    def test_daemon(self):
        self.configure_output()
        self.hide()
        program = Program(self, "fire=10", "say=one", "wait", "fire=10", "fork=4", "say=two", "wait",
                          "fire=10")
        program.expect("one")
        os.unlink(self.place)
        self.start_daemon()
        self.await_processes(1)
        program.go_on()
        program.expect("two")
        self.await_processes(2)
        program.go_on()
        program.end()
        self.side("destroy", "early")
        counted = self.sequences()
        self.assertCounted(counted, program.pid, 30)
        self.assertEqual(sorted(map(len, counted.values())), [4, 30])

    def test_other_programs_are_not_adopted(self):
        """A program that `side record` records is not adopted; neither is one that is not recorded."""
        recorded = subprocess.Popen([harness.SIDE, "record", "-o", self.out, "--", harness.PROGRAM,
                                     "fire=5", "say=one", "wait"], env=harness.environment(),
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (recorded.kill(), recorded.communicate()))
        self.assertEqual(recorded.stdout.readline(), "one\n")
        with open(f"/proc/{recorded.pid}/task/{recorded.pid}/children", encoding="ascii") as file:
            child = file.read().split()[0]
        for pid in (child, str(os.getpid())):
            self.side("adopt", pid, "-o", self.file("other"), status=1)
            self.assertIn("no recording by a static configuration", self.stderr)
        self.side("adopt", "999999999", "-o", self.file("other"), "--force", status=1)
        self.assertIn("there is no process", self.stderr)
        _, reported = recorded.communicate("\n", timeout=harness.TIMEOUT)
        self.assertEqual(recorded.returncode, 0, reported)
        self.assertCounted(self.sequences(), int(child), 5)


class Namespace(Case):
    """The first process of a pid namespace, with events in its first constructor."""

    UNSHARE = ["unshare", "--pid", "--mount", "--fork", "--kill-child"]

    def setUp(self):
        super().setUp()
        allowed = subprocess.run([*self.UNSHARE, "true"], capture_output=True, check=False)
        if allowed.returncode:
            self.skipTest(f"no pid namespaces here: {allowed.stderr.decode()}")

    def test_first_process(self):
        """Its process id has no meaning outside; and /proc is not that of its namespace."""
        program = Program(self, "fire=10", "fork=5", "say=one", "wait", "fire=10", "say=two", "wait",
                          "fire=1", command=self.UNSHARE)
        program.expect("one")
        reported = self.adopt()["early"]
        self.assertTrue(reported["running"], reported)
        self.assertEqual(reported["seen"], 2)
        counted = self.sequences()
        self.assertCounted(counted, 1, 10)
        first = self.events()[0]
        self.assertEqual(first, (1, "boot:first", {"pid": 1, "text": "constructor"}, {"vpid": 1}))
        self.assertEqual(sorted(map(len, counted.values())), [5, 10])
        program.go_on()
        program.expect("two")
        self.assertTrue(self.adopt("--force")["early"]["running"])
        self.assertCounted(self.sequences(), 1, 20)
        program.go_on()
        program.end()
        self.adopt("--force")
        self.assertCounted(self.sequences(), 1, 21)

    @unittest.skipUnless(SIDED, "there is no daemon")
    def test_daemon(self):
        """The daemon finds the process although it has few permissions, and records it from then on."""
        self.configure_output()
        program = Program(self, "fire=10", "say=one", "wait", "fire=10", "fork=5", "say=two", "wait",
                          "fire=1", command=self.UNSHARE)
        program.expect("one")
        self.start_daemon()
        self.await_processes(1)
        self.assertTrue(self.status()["processes"][0].get("live", True))
        program.go_on()
        program.expect("two")
        self.await_processes(2)
        program.go_on()
        program.end()
        self.side("destroy", "early")
        counted = self.sequences()
        self.assertCounted(counted, 1, 21)
        self.assertEqual(sorted(map(len, counted.values())), [5, 21])


class SwitchRoot(Namespace):
    """A first process that starts in an initial root, which is later replaced: its state directory is
    in /run, which is moved to the new root.
    """

    # The initial root has the files that the program needs, and nothing else; the real one is
    # mounted in it.
    INITIAL = """\
set -e
mount -t tmpfs none "$ROOT"
cd "$ROOT"
for dir in /usr "$BUILD" "$HERE"; do
	mkdir -p ".$dir"
	mount --rbind "$dir" ".$dir"
done
for name in bin sbin lib lib32 lib64; do
	if [ -L "/$name" ]; then cp -a "/$name" .
	elif [ -d "/$name" ]; then mkdir "$name"; mount --rbind "/$name" "$name"; fi
done
mkdir proc run sysroot
mount -t proc none proc
mount --bind "$HERE/run" run
mount --rbind / sysroot
exec chroot . "$@"
"""

    def setUp(self):
        super().setUp()
        if os.geteuid():
            self.skipTest("only for root")
        for name in ("root", "run"):
            os.mkdir(self.file(name))
        self.runtime = self.file("runtime")
        self.place = self.file("run/place")
        # As the process sees it, before and afterwards; the rest of the machine sees it elsewhere.
        with open(self.config, encoding="utf-8") as config:
            text = config.read()
        with open(self.config, "w", encoding="utf-8") as config:
            config.write(text.replace(self.file("place"), "/run/place"))

    def begin(self, *words):
        script = self.file("initial")
        with open(script, "w", encoding="utf-8") as file:
            file.write(self.INITIAL)
        build = os.path.commonpath([harness.PROGRAM, PLUGIN, harness.SIDE])
        return Program(self, *words, command=[*self.UNSHARE, "sh", script], ROOT=self.file("root"), BUILD=build,
                       HERE=self.dir)

    def test_first_process(self):
        program = self.begin("fire=10", "fork=3", "say=one", "wait", "root=/sysroot", "fire=10", "fork=5",
                             f"plugin={PLUGIN}", "say=two", "wait", "exec", "fire=7", "fork=6", "say=three", "wait")
        program.expect("one")
        self.assertEqual(self.adopt()["early"]["seen"], 2)
        self.assertCounted(self.sequences(), 1, 10)
        self.assertEqual(self.events()[0], (1, "boot:first", {"pid": 1, "text": "constructor"}, {"vpid": 1}))
        program.go_on()
        program.expect("two")
        self.assertTrue(self.adopt("--force")["early"]["running"])
        counted = self.sequences()
        self.assertCounted(counted, 1, 20)
        self.assertEqual(sorted(map(len, counted.values())), [3, 5, 20])
        self.assertEqual([one[1] for one in self.events()].count("boot:loaded"), 1)
        program.go_on()
        program.expect("three")
        self.adopt("--force")
        program.go_on()
        program.end()
        self.adopt("--force")
        counted = self.sequences()
        self.assertEqual(counted.pop(1), [*range(20), *range(7)])
        self.assertEqual(sorted(map(len, counted.values())), [3, 5, 6])

    @unittest.skipUnless(SIDED, "there is no daemon")
    def test_daemon(self):
        """The daemon has adopted the process before, and records it on; and its children."""
        with open(self.config, encoding="utf-8") as config:
            text = config.read()
        seen = self.file("boot-outside.conf")
        with open(seen, "w", encoding="utf-8") as config:
            config.write(text.replace("/run/place", self.place).replace(
                "session early\n", f"session early\n\toutput {self.out}\n"))
        program = self.begin("fire=10", "fork=3", "say=one", "wait", "root=/sysroot", "fire=10", "fork=5", "say=two",
                             "wait", "exec", "fire=7")
        program.expect("one")
        self.config = seen
        self.start_daemon()
        self.await_processes(1)
        program.go_on()
        program.expect("two")
        self.await_processes(2)
        program.go_on()
        program.end()
        self.side("destroy", "early")
        counted = self.sequences()
        self.assertEqual(counted.pop(1), [*range(20), *range(7)])
        self.assertEqual(sorted(map(len, counted.values())), [3, 5])


@unittest.skipUnless(SIDED, "there is no daemon")
class Sided(Case):
    """A daemon that starts later."""

    def test_daemon_adopts(self):
        self.configure_output()
        program = Program(self, "fire=10", "say=one", "wait", "fire=10", "fork=5", "say=two", "wait",
                          "fire=10")
        program.expect("one")
        self.start_daemon()
        self.await_processes(1)
        program.go_on()
        program.expect("two")
        self.await_processes(2)
        # A program that starts now asks the daemon; it is in the session once.
        other = self.run_program("fire=7")
        program.go_on()
        program.end()
        self.side("destroy", "early")
        counted = self.sequences()
        self.assertCounted(counted, program.pid, 30)
        self.assertCounted(counted, other.pid, 7)
        self.assertEqual(sorted(map(len, counted.values())), [5, 7, 30])
        self.assertEqual([one[1] for one in self.events()].count("boot:first"), 2)
        # The session has ended: no new program records.
        self.run_program("fire=1")
        self.assertEqual(self.folders(), [])

    def test_rules_for_children(self):
        """New rules that a process in sync mode receives when it starts or forks."""
        self.configure_output()
        program = Program(self, "fire=1", "say=one", "wait", "fire=2", "fork=3")
        program.expect("one")
        self.start_daemon()
        self.await_processes(1)
        self.side("disable-event", "boot:tick", "-c", "main", "-s", "early")
        program.go_on()
        program.end()
        self.side("destroy", "early")
        counted = self.sequences()
        # The running process is not notified; its child gets the rules before its first event.
        self.assertEqual(counted, {program.pid: [0, 1, 2]})

    def test_daemon_is_killed(self):
        """The next daemon continues: no event is missing, and none is there twice."""
        self.configure_output()
        program = Program(self, "fire=10", "say=one", "wait", "fire=10", "say=two", "wait", "fire=10",
                          "fork=3", "say=three", "wait")
        program.expect("one")
        daemon = self.start_daemon()
        self.await_processes(1)
        daemon.kill()
        daemon.wait()
        os.unlink(os.path.join(self.runtime, "control.sock"))
        program.go_on()
        program.expect("two")
        program.go_on()
        program.expect("three")
        self.start_daemon()
        self.await_processes(1)
        program.go_on()
        program.end()
        self.side("destroy", "early")
        counted = self.sequences()
        self.assertCounted(counted, program.pid, 30)
        self.assertEqual(sorted(map(len, counted.values())), [3, 30])


class Configuration(Case):
    """Errors: the file, the line, the problem, and the hint."""

    WRONG = [
        ("placer /x\n", 1, 'unknown keyword "placer"'),
        ("place run\n", 1, '"run" is not an absolute path'),
        ("state-directory /x\nplace /y\n", 2, "the state directory is given twice"),
        ("session s\n", 1, "the state directory for the rings is missing"),
        ("state-directory /x\nsession a b\n", 2, '"a b" is not a valid name of a session'),
        ("state-directory /x\nsession s\nsession s\n", 3, "there are two sessions s"),
        ("state-directory /x\nevent a:b\n", 2, "event belongs to a session"),
        ("state-directory /x\nsession s\nmode fast\n", 3, '"fast" is not a mode'),
        ("state-directory /x\nsession s\nbuffer-size 1K\n", 3, "is not between 65536"),
        ("state-directory /x\nsession s\nbuffer-size many\n", 3, '"many" is not a size'),
        ("state-directory /x\nsession s\nbuffer-size 1X\n", 3, "has an unknown unit"),
        ("state-directory /x\nsession s\nblock-timeout 5\n", 3, "has an unknown unit"),
        ("state-directory /x\nsession s\nper-thread 0\n", 3, "is not a number from 1"),
        ("state-directory /x\nsession s\ncontext nonsense\n", 3, 'the context "nonsense"'),
        ("state-directory /x\nsession s\nevent a:[b\n", 3, 'the pattern "a:[b"'),
        ("state-directory /x\nsession s\nevent a,,b\n", 3, "there is an empty element in the list"),
        ("state-directory /x\nsession s\nfilter a > 1\n", 3, "filter belongs to an event"),
        ("state-directory /x\nsession s\nevent a\nfilter a >\n", 4, "filter, column 4: expected a value"),
        ("state-directory /x\nsession s\nevent a\nmode block\n", 4, "mode belongs to a channel"),
        ("state-directory /x\nsession s\nevent\n", 3, "missing value after"),
        ("state-directory /x\nsession s\nchannel c\n", None, "has no event to record"),
        ("state-directory /x\n", None, "the file has no session"),
        ("", None, "the file has no session"),
        ("state-directory /" + "x" * 90 + "\nsession longname\n", 2, "too long for a socket"),
        ("x" * 70000, None, "more than 65536 bytes"),
    ]

    def write(self, text):
        with open(self.config, "w", encoding="utf-8") as config:
            config.write(text)

    def test_mistakes(self):
        for text, line, what in self.WRONG:
            with self.subTest(text=text[:60]):
                self.write(text)
                self.side("adopt", "--boot", self.config, "--check", status=2)
                where = f"{self.config}:{line}: " if line else f"{self.config}: "
                self.assertIn(where, self.stderr)
                self.assertIn(what, self.stderr)
                self.assertIn("\nhint: ", self.stderr)

    def test_program_runs_nevertheless(self):
        """It records nothing and prints nothing, unless that is requested."""
        for text, line, what in self.WRONG[::4]:
            self.write(text)
            program = self.run_program("fire=10", "fork=1", "say=done")
            self.assertEqual((program.stdout, program.stderr), ("done\n", ""))
        program = self.run_program("fire=1", SIDE_DEBUG="1")
        self.assertIn(self.config, program.stderr)
        program = self.run_program("fire=1", SIDE_DEBUG="1", SIDE_BOOT="/nonexistent/boot.conf")
        self.assertIn("/nonexistent/boot.conf: it cannot be read", program.stderr)
        self.run_program("fire=1", SIDE_BOOT="relative")

    def test_valid_file(self):
        self.assertIn("1 session", self.side("adopt", "--boot", self.config, "--check"))

    def test_no_file(self):
        self.side("adopt", "--boot", self.config, status=1)
        self.assertIn("cannot adopt: ", self.stderr)
        self.side("adopt", "--boot", "/nonexistent", status=1)
        self.assertIn("cannot read the configuration", self.stderr)


if __name__ == "__main__":
    harness.main("__main__")
