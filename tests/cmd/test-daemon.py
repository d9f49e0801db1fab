#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The verbs for sessions end to end: a daemon that the commands start, programs, traces."""
import glob
import shutil
import signal
import sys
import time

from harness import *
from agent_thread import await_agent_thread

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import stop_process, wait_until

PROGRAM = os.environ["DAEMON_PROGRAM"]  # tests/sided/program.c
TIMEOUT = 120


class Runtime:
    """A separate runtime directory, whose daemon ends with it."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = self.folder.name
        self.env = environment(SIDE_RUNTIME=self.path + "/runtime", SIDE_CONTROL=None, SIDE_AGENT_SOCKET=None,
                               HOME=self.path)
        self.programs = []

    def __enter__(self):
        # Programs search the daemon when they start.
        self.side("daemon", printing=["started the daemon sided"])
        return self

    def __exit__(self, *unused):
        for program in self.programs:
            program.end()
        if self.daemon():
            side("destroy", "-a", "--no-daemon", env=self.env)
            self.kill(signal.SIGTERM)
        self.folder.cleanup()

    def daemon(self):
        result = side("daemon", "--no-daemon", "--json", env=self.env)
        return json_lines(result.out)[0]["pid"] if not result.status else 0

    def kill(self, number):
        pid = self.daemon()
        true(pid, "there is a daemon")
        os.kill(pid, number)
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the end of the daemon")

    def side(self, *args, status=0, printing=(), **more):
        result = side(*args, env=self.env, cwd=self.path, **more)
        equal(result.status, status, f"{args}: {result}")
        for part in printing:
            contains(result.err, part, str(args))
        return result

    def json(self, *args, **more):
        return json_lines(self.side("--json", *args, **more).out)

    def session(self, *args):
        return self.json("status", *args)[0]

    def program(self, **variables):
        # The first event waits for the recorder, 100 ms at most; on a busy machine the recorder can take longer.
        program = Program({**self.env, "SIDE_TIMEOUT_FACTOR": "100", **variables})
        self.programs.append(program)
        return program

    def events(self, directory="out", *args):
        """Returns (pid, event, sequence) of all recorded events."""
        result = self.side("view", "--json", "-q", *filter(None, [directory]), "-e", "sided:*", *args)
        return [(line["vpid"], line["event"], line["fields"]["sequence"])
                for line in json_lines(result.out) if line["type"] == "event"]


class Program:
    def __init__(self, env):
        self.process = subprocess.Popen([PROGRAM], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        bufsize=1)
        self.pid = self.process.pid
        self.fired = 0
        self.expect("ready")

    def expect(self, word):
        line = self.process.stdout.readline().split()
        true(line and line[0] == word, f"{word} expected, not {line}")

    def fire(self, count):
        """Fires this many ticks and tocks; returns their numbers."""
        self.process.stdin.write(f"fire {count}\n")
        self.process.stdin.flush()
        self.expect("fired")
        self.fired += count
        return list(range(self.fired - count, self.fired))

    def await_thread(self):
        """Waits for the thread: the first event does not wait for it."""
        await_agent_thread(self.pid)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def test_a_session():
    with Runtime() as own_runtime:
        before = own_runtime.program()
        own_runtime.side("create", "first", "-o", "out", printing=["created session first"])
        own_runtime.side("create", "first", status=1, printing=["first"])
        own_runtime.side("enable-event", "sided:tick", printing=["session first records sided:tick"])
        before.fire(5)
        own_runtime.side("start", printing=["side view"])
        after = own_runtime.program()
        wanted = [(before.pid, "sided:tick", number) for number in before.fire(100)]
        wanted += [(after.pid, "sided:tick", number) for number in after.fire(50)]
        session = own_runtime.session()
        equal((session["name"], session["state"], session["current"]), ("first", "active", True))
        equal(sorted(process["pid"] for process in session["processes"]), sorted([before.pid, after.pid]))
        own_runtime.side("stop")
        before.fire(7)
        equal(sorted(own_runtime.events()), sorted(wanted))
        # By its name, and as the current session.
        equal(sorted(own_runtime.events("first")), sorted(wanted))
        equal(sorted(own_runtime.events(None)), sorted(wanted))
        own_runtime.side("report", "first")
        own_runtime.side("view", "missing", status=1, printing=["cannot view missing"])
        own_runtime.side("start")
        wanted += [(after.pid, "sided:tick", number) for number in after.fire(10)]
        own_runtime.side("destroy", printing=["session first is destroyed", "from 2 processes"])
        after.fire(3)
        equal(sorted(own_runtime.events()), sorted(wanted))
        own_runtime.side("stop", status=2, printing=["no current session"])
        own_runtime.side("view", status=2, printing=["missing operand: a trace to show, and there is no current session"])
        own_runtime.side("stop", "first", status=1)
        equal(own_runtime.json("status"), [])


def test_changes():
    with Runtime() as own_runtime:
        program = own_runtime.program()
        own_runtime.side("create", "-o", "out", "changes")
        own_runtime.side("enable-event", "sided:*", "--exclude", "sided:tock")
        own_runtime.side("start")
        wanted = [("sided:tick", number) for number in program.fire(10)]
        own_runtime.side("enable-event", "sided:tock", "--filter", "sequence % 2 == 0")
        for number in program.fire(10):
            wanted += [("sided:tick", number)] + ([("sided:tock", number)] if number % 2 == 0 else [])
        own_runtime.side("disable-event", "-a")
        program.fire(10)
        own_runtime.side("enable-event", "-u", "-a", "--loglevel", "INFO", "--context", "vtid")
        wanted += [("sided:tick", number) for number in program.fire(10)]
        equal(own_runtime.side("enable-event", "-u", "-a", "--loglevel", "INFO", "--context", "vtid").err.count("session changes: nothing to change"), 1)
        own_runtime.side("enable-event", "sided:tick", "-f", "sequence >> ", status=2, printing=["sequence >>", "^"])
        own_runtime.side("enable-event", "sided:[", status=2)
        own_runtime.side("enable-channel", "late", status=1)
        own_runtime.side("stop")
        equal(sorted(event[1:] for event in own_runtime.events()), sorted(wanted))


def test_tracking():
    with Runtime() as own_runtime:
        one, two = own_runtime.program(), own_runtime.program()
        own_runtime.side("create", "-o", "out", "tracks")
        own_runtime.side("enable-event", "sided:tick")
        own_runtime.side("track", "--pid", str(one.pid))
        own_runtime.side("start")
        wanted = [(one.pid, "sided:tick", number) for number in one.fire(5)]
        two.fire(5)
        own_runtime.side("untrack", "--all")
        wanted += [(two.pid, "sided:tick", number) for number in two.fire(5)]
        own_runtime.side("track", "--exclude", "--pid", str(one.pid))
        one.fire(5)
        wanted += [(two.pid, "sided:tick", number) for number in two.fire(5)]
        own_runtime.side("stop")
        equal(sorted(own_runtime.events()), sorted(wanted))


def test_rules_that_match_nothing():
    """For patterns and filters that match no event of the programs there is a note; the rule is kept,
    and nothing fails.
    """
    with Runtime() as own_runtime:
        own_runtime.side("create", "web", "-o", "out")
        # Without a program no event is known.
        equal(own_runtime.side("enable-event", "sided:tik", "-c", "early").err, "side: session web records sided:tik from now on\n")
        own_runtime.program()
        for verb in ("enable-event", "disable-event"):
            for pattern, wanted in (("sided:tik", "did you mean `sided:tick`?"), ("sidd:*", "did you mean `\'sided:*\'`?"),
                                    ("tock", "no colon, so it names a provider"), ("zzz:zzz", "2 events: sided:tick, sided:tock"),
                                    ("sided:tick,sided:tok", "did you mean `sided:tock`?")):
                result = own_runtime.side(verb, pattern)
                contains(result.err, f"no event matches `{pattern.split(',')[-1]}` yet: ")
                contains(result.err, wanted)
                true("sided:tick` yet" not in result.err, result.err)
                own_runtime.side("enable-event", "sided:*")
        contains(own_runtime.side("enable-event", "sided:*@CRIT").err, "no event of that name has that log level")
        for args in (("sided:*",), ("sided:tick",), ()):
            result = own_runtime.side("enable-event", *args, "--filter", "sequenc > 3")
            contains(result.err, "the filter `sequenc > 3` cannot be applied to any event yet: ")
            contains(result.err, 'has no field "sequenc"\nhint: did you mean `sequence`?')
        # For matching ones there is no note; --quiet prints none at all, and events of the kernel
        # belong to no program.
        for args in (("sided:t*",), ("sided:tick", "--filter", "sequence > 3 && $ctx.vpid > 0"), ("sided:*", "!sided:no")):
            equal(len(own_runtime.side("enable-event", *args).err.splitlines()), 1, str(args))
        equal(own_runtime.side("-q", "enable-event", "sided:tik").err, "")
        for line in own_runtime.side("--json", "enable-event", "sided:tik").out.splitlines():
            equal(json.loads(line)["programs"], 1)
        result = own_runtime.side("track", "--pid", "99999999,1")
        contains(result.err, "there is no process 99999999")
        true("no process 1;" not in result.err, result.err)
        own_runtime.side("destroy", "web")


def test_existing_objects():
    """No program, an empty snapshot, a session that is left: each is reported, with a hint; only
    processes with events are counted.
    """
    with Runtime() as own_runtime:
        own_runtime.side("create", "web", "-o", "web")
        own_runtime.side("enable-event", "sided:tick")
        attach = "`side attach --daemon -p PID`"
        contains(own_runtime.side("start").err, "no running program has joined\nhint: programs that started before the daemon join with " + attach)
        contains(own_runtime.side("status").out, "no running program has joined; programs that started before the daemon join with " + attach)
        own_runtime.side("create", "flight", "-o", "flight")
        own_runtime.side("enable-channel", "recorder", "--mode", "overwrite")
        own_runtime.side("enable-event", "-c", "recorder", "sided:tick")
        speaker = own_runtime.program()
        own_runtime.program()
        true("no running program has joined" not in own_runtime.side("start").err, "a program has joined")
        contains(own_runtime.side("status").out, "2 programs have joined, but no event that the session records has happened")
        result = own_runtime.side("snapshot")
        equal(result.out, "")
        contains(result.err, "the snapshot is empty")
        equal(json_lines(own_runtime.side("--json", "snapshot").out)[0]["empty"], True)
        numbers = speaker.fire(7)
        path = own_runtime.side("snapshot").out.strip()
        equal(own_runtime.events(path), [(speaker.pid, "sided:tick", number) for number in numbers])
        statistics = own_runtime.session()
        equal((statistics["snapshots"], statistics["snapshot-recorded"]), (3, 7))
        stopped = own_runtime.side("stop").err
        contains(stopped, f"{statistics['snapshots']} snapshots have {statistics['snapshot-recorded']} events in all")
        true("recorded 0 events" not in stopped, stopped)
        destroyed = own_runtime.side("destroy").err
        # Two programs joined; the other one recorded nothing.
        contains(destroyed, "from 1 process,")
        contains(destroyed, "`side set-session web` selects the only one")
        contains(own_runtime.side("stop", status=2).err, "`side set-session web`")
        own_runtime.side("create", "other", "-o", "other")
        os.unlink(own_runtime.path + "/runtime/current")
        listed = own_runtime.side("stop", status=2).err
        contains(listed, "`side set-session NAME`")
        true("web" in listed and "other" in listed, listed)


def test_late_program():
    """The daemon does not answer the first event: each verb that ends or copies the recording names the program."""
    with Runtime() as own_runtime:
        own_runtime.side("create", "flight", "-o", "flight")
        own_runtime.side("enable-channel", "recorder", "--mode", "overwrite")
        program = own_runtime.program(SIDE_TIMEOUT_FACTOR="1")
        own_runtime.side("enable-event", "-c", "recorder", "sided:tick")
        own_runtime.side("start")
        daemon = own_runtime.daemon()
        stop_process(daemon)
        program.fire(7)
        os.kill(daemon, signal.SIGCONT)
        late = f"process {program.pid} (cmd-daemon-program) joined late: its events of the first "
        wait_until(lambda: late in own_runtime.side("snapshot").err, "the snapshot names the program")
        numbers = program.fire(3)
        result = own_runtime.side("snapshot")
        contains(result.err, late)
        equal([event[2] for event in own_runtime.events(result.out.strip())][-3:], numbers)
        true(any(late in text for text in own_runtime.json("snapshot")[0]["messages"]), "the JSON has it, too")
        for verb in ("status", "stop", "destroy"):
            contains(own_runtime.side(verb).err, late, verb)


def test_programs_that_do_not_answer():
    with Runtime() as own_runtime:
        program = own_runtime.program()
        own_runtime.side("create", "-o", "out", "stopped")
        own_runtime.side("start")
        program.fire(1)
        program.await_thread()  # Wait for it only now.
        stop_process(program.pid)
        result = own_runtime.side("enable-event", "sided:tick", "--timeout", "300ms", status=5,
                            printing=[f"(process {program.pid})", "stopped by a signal"])
        contains(result.err, "it makes the change when it continues")
        os.kill(program.pid, signal.SIGCONT)
        # Each state dump is a change, which every program must apply.
        wait_until(lambda: not side("statedump", "--timeout", "60s", env=own_runtime.env).status, "the program switches over")
        wanted = [(program.pid, "sided:tick", number) for number in program.fire(5)]
        own_runtime.side("stop")
        equal(own_runtime.events(), wanted)


def test_snapshots_and_chunks():
    with Runtime() as own_runtime:
        program = own_runtime.program()
        own_runtime.side("create", "-o", "flight", "flight")
        own_runtime.side("enable-channel", "last", "--mode", "overwrite", "--buffer-size", "64K")
        own_runtime.side("enable-event", "sided:tick", "-c", "last")
        own_runtime.side("start")
        fired = program.fire(100)
        path = own_runtime.side("snapshot").out.strip()
        equal([event[2] for event in own_runtime.events(path)], fired)
        own_runtime.side("create", "-o", "chunks", "chunks")
        own_runtime.side("enable-event", "sided:tick")
        own_runtime.side("start")
        first = program.fire(20)
        chunk = own_runtime.side("rotate").out.strip()
        equal([event[2] for event in own_runtime.events(chunk)], first)
        second = program.fire(30)
        own_runtime.side("stop")
        own_runtime.side("statedump", "flight")
        both = sorted(event[2] for name in os.listdir(own_runtime.path + "/chunks") if name.startswith("chunk-")
                      for event in own_runtime.events("chunks/" + name))
        own_runtime.side("destroy", "-a")
        equal(set(both) >= set(first), True)
        del second


def test_follow_through_rotations():
    """A followed trace moves into a chunk, which gets its name, while the program runs: all events are shown, once."""
    with Runtime() as own_runtime:
        program = own_runtime.program()
        own_runtime.side("create", "-o", "out", "moving")
        own_runtime.side("enable-event", "sided:tick")
        own_runtime.side("start")
        fired = program.fire(1)
        out = own_runtime.path + "/out"
        wait_until(lambda: os.path.isdir(out), "the output")
        follower = subprocess.Popen([SIDE, "view", "--follow", "--json", out], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, env=own_runtime.env)
        seen = []

        def read_all():
            while len(seen) < len(fired):
                line = follower.stdout.readline()
                true(line, "the follower has ended early")
                seen.append(json.loads(line)["fields"]["sequence"])
            equal(seen, fired)

        try:
            read_all()
            for i in range(6):
                fired += program.fire(500)
                if i % 2:
                    read_all()
                own_runtime.side("rotate")
                fired += program.fire(20)
            read_all()
            fired += program.fire(10)
            own_runtime.side("destroy")
            read_all()
            equal((follower.stdout.read(), follower.wait(TIMEOUT)), (b"", 0))
            equal(follower.stderr.read(), b"")
        finally:
            follower.kill()
            follower.communicate()
        equal(sorted(event[2] for event in own_runtime.events("out")), fired)


def times_of_babeltrace(path):
    """Returns {sequence: nanoseconds} of the ticks of a trace."""
    done = subprocess.run(["babeltrace2", "--clock-seconds", path], capture_output=True, text=True, check=True)
    return {int(sequence): int(seconds) * 10**9 + int(rest) for seconds, rest, sequence in
            re.findall(r"^\[(\d+)\.(\d{9})\].* sided:tick: .*\bsequence = (\d+)", done.stdout, re.M)}


def same_times(one, other):
    """On a machine whose first measurement was wrong by more than 100 µs, later traces use another conversion."""
    if max((abs(other[sequence] - ns) for sequence, ns in one.items()), default=0) < 50_000:
        equal(sorted(set(one.items()) - set(other.items())), [])


def test_one_conversion_for_all_readers():
    """An event has one time: in a trace that is being recorded, in each snapshot, in a chunk, and in
    the closed trace.
    """
    if not shutil.which("babeltrace2"):
        return
    with Runtime() as own_runtime:
        program = own_runtime.program()
        program.fire(1)
        program.await_thread()
        for name, mode in (("live", "discard"), ("last", "overwrite")):
            own_runtime.side("create", "-o", name, name)
            own_runtime.side("enable-channel", "ring", "--mode", mode, "--buffer-size", "1M")
            own_runtime.side("enable-event", "sided:tick", "-c", "ring")
            own_runtime.side("start")
        fired, snapshots = program.fire(1), []
        wait_until(lambda: os.path.isdir(own_runtime.path + "/live"), "the output")
        follower = subprocess.Popen([SIDE, "view", "--follow", "--json", own_runtime.path + "/live"], stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, env=own_runtime.env)
        try:
            for _ in range(4):
                fired += program.fire(2000)
                snapshots.append(own_runtime.side("snapshot", "last").out.strip())
                # Conversions that are measured again differ the more, the more time is between
                # them.
                time.sleep(0.5)
            own_runtime.side("rotate", "live")
            fired += program.fire(2000)
            own_runtime.side("destroy", "live")
            lines = json_lines(follower.communicate(timeout=TIMEOUT)[0].decode())
        finally:
            follower.kill()
            follower.communicate()
        closed = times_of_babeltrace(own_runtime.path + "/live")
        equal(sorted(closed), fired)
        followed = {line["fields"]["sequence"]: line["ns"] for line in lines if line["type"] == "event"}
        equal(sorted(followed), fired)
        same_times(followed, closed)
        # The ring has all events, so each snapshot includes those of the previous one.
        times = [times_of_babeltrace(path) for path in snapshots]
        equal([len(each) for each in times], [1 + 2000 * (i + 1) for i in range(len(times))])
        for each in times:
            same_times(each, times[-1])
        own_runtime.side("destroy", "last")


def test_snapshots_by_themselves():
    with Runtime() as own_runtime:
        program = own_runtime.program()
        own_runtime.side("create", "-o", "out", "watchful", "--snapshot-on", "event:sided:tick where sequence == 50")
        own_runtime.side("enable-channel", "last", "--mode", "overwrite", "--buffer-size", "64K")
        own_runtime.side("enable-event", "sided:tick", "-c", "last")
        own_runtime.side("start")
        program.fire(50)
        fired = program.fire(1)
        path = own_runtime.path + "/out/snapshot-1"
        wait_until(lambda: os.path.isdir(path), "the snapshot")
        contains([event[2] for event in own_runtime.events(path)], fired[0])


def test_snapshots_of_crashes():
    with Runtime() as own_runtime:
        own_runtime.side("create", "-o", "out", "crashes", "--snapshot-on", "crash")
        own_runtime.side("enable-channel", "last", "--mode", "overwrite", "--buffer-size", "64K")
        own_runtime.side("enable-event", "sided:tick", "-c", "last")
        own_runtime.side("start")
        # Its parent, this test, has not read its status when the session looks for it.
        crashing, ending = own_runtime.program(), own_runtime.program()
        fired = crashing.fire(50)
        ending.fire(50)
        ending.process.kill()
        crashing.process.send_signal(signal.SIGSEGV)
        pattern = f"{own_runtime.path}/out/snapshot-1-*-{crashing.pid}-SIGSEGV"
        wait_until(lambda: glob.glob(pattern), "the snapshot of the crash")
        contains([event[2] for event in own_runtime.events(glob.glob(pattern)[0])], fired[-1])


def test_saving():
    with Runtime() as own_runtime:
        own_runtime.side("create", "-o", "out", "saved", "--rotate-size", "1M")
        own_runtime.side("enable-channel", "fast", "--mode", "block", "--buffer-size", "1M")
        own_runtime.side("enable-event", "sided:*", "-x", "sided:tock", "-f", "sequence > 3", "-c", "fast", "--context", "vtid")
        own_runtime.side("track", "--name", "x*", "--uid", "0")
        own_runtime.side("save", "-o", "saved.json")
        with open(own_runtime.path + "/saved.json", encoding="utf-8") as file:
            definition = json.load(file)
        own_runtime.side("load", "saved.json", status=1)
        own_runtime.side("load", "saved.json", "-s", "copy", printing=["loaded session copy"])
        copy = json.loads(own_runtime.side("save").out)
        equal({**copy, "name": "saved"}, definition)
        own_runtime.side("load", "saved.json", "--force")
        equal(json.loads(own_runtime.side("save", "saved").out), definition)
        equal([line["name"] for line in own_runtime.json("list")], sorted(["copy", "saved"]))


def test_top():
    with Runtime() as own_runtime:
        program = own_runtime.program()
        own_runtime.side("create", "-o", "out", "watched")
        own_runtime.side("enable-event", "sided:*")
        own_runtime.side("start")
        program.fire(500)
        process = subprocess.Popen([SIDE, "top", "--json", "-i", "200ms", "--pair", "sided:tick", "sided:tock"],
                                   stdout=subprocess.PIPE, env=own_runtime.env, text=True)
        seen, last = {}, None
        end = time.monotonic() + TIMEOUT
        while not (seen.get("sided:tick") == 500 and seen.get("pairs") and seen.get("process") == 1000):
            true(time.monotonic() < end, f"never came: {seen}")
            (line,) = json_lines(process.stdout.readline())
            last = line
            if line["type"] == "count":
                seen[line["event"]] = line["count"]
            elif line["type"] == "durations" and line["count"]:
                seen["pairs"] = True
                true(0 < line["p50"] <= line["p99"] <= line["max"], str(line))
            elif line["type"] == "process" and line["pid"] == program.pid:
                seen["process"] = line["events"]
            if seen.get("sided:tick") == 500 and not seen.get("pairs"):
                program.fire(0)
        true(last, "nothing was printed")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT)
        equal(process.returncode, 0)


def test_paths_of_any_bytes():
    """Paths and names that are not UTF-8 are passed unchanged between command line, daemon, its state
    and saved files.
    """
    odd = os.fsdecode(b"p\xff\xc3(\xe2\x82 \xf0\x9f\x92\xa9\\udc80\"q")
    for runtime in ("/runtime", "/" + odd):
        with Runtime() as own_runtime:
            if runtime != "/runtime":
                own_runtime.kill(signal.SIGTERM)
                own_runtime.env["SIDE_RUNTIME"] = own_runtime.path + runtime
                os.makedirs(own_runtime.path + runtime, 0o700)
                own_runtime.side("daemon", printing=["started the daemon"])
                true(json_lines(own_runtime.side("daemon", "--json").out)[0]["socket"].startswith(own_runtime.path + runtime), "the socket")
            os.makedirs(os.path.join(own_runtime.path, odd), exist_ok=True)
            executable = os.path.join(own_runtime.path, odd, odd)
            shutil.copy(PROGRAM, executable)
            output = os.path.join(own_runtime.path, odd, "out")
            own_runtime.side("create", "odd", "-o", output)
            own_runtime.side("enable-event", "sided:*")
            own_runtime.side("start")
            process = subprocess.Popen([executable], env=own_runtime.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
            program = Program.__new__(Program)
            program.process, program.pid, program.fired = process, process.pid, 0
            own_runtime.programs.append(program)
            program.expect("ready")
            program.fire(3)
            shown = own_runtime.session()
            equal(shown["output"][:len(output)], output)
            equal([line["pid"] for line in shown["processes"]], [process.pid])
            own_runtime.side("status")
            # After a crash the daemon knows the session from its state.
            own_runtime.kill(signal.SIGKILL)
            own_runtime.side("daemon")
            wait_until(lambda: own_runtime.session().get("processes"), "the program, again")
            program.fire(4)
            equal(own_runtime.session()["output"][:len(output)], output)
            own_runtime.side("stop")
            equal(len(own_runtime.events(shown["output"])), 14)
            saved = own_runtime.side("save", "odd").out
            equal(json.loads(saved)["output"], output)
            own_runtime.side("destroy", "odd")
            with open(os.path.join(own_runtime.path, "saved.json"), "w", encoding="utf-8") as file:
                file.write(saved)
            own_runtime.side("load", "saved.json", "--session", "again")
            equal(json.loads(own_runtime.side("save", "again").out)["output"], output)
            own_runtime.side("destroy", "again")


def test_names():
    with Runtime() as own_runtime:
        program = own_runtime.program()
        own_runtime.side("create", "named")
        equal(own_runtime.side("complete", "sessions").out.split(), ["named"])
        contains(own_runtime.side("complete", "pids").out.split(), str(program.pid))
        contains(own_runtime.side("complete", "processes").out.split(), os.path.basename(PROGRAM)[:15])
        # Other programs may exit while they are read; this test's program is there.
        result = side("complete", "events", env=own_runtime.env)
        contains(result.out.split(), "sided:tick")
        result = side("list", "-u", "--names", "-e", "sided:*", env=own_runtime.env)
        contains(result.out.split(), "sided:tock")


def test_meant():
    """Misspelled names of sessions and channels; each suggestion works."""
    with Runtime() as own_runtime:
        own_runtime.side("create", "orders")
        own_runtime.side("create", "others")
        own_runtime.side("enable-channel", "flight", "-s", "orders", "--mode", "overwrite")
        own_runtime.side("enable-event", "sided:*", "--channel", "flight", "-s", "orders")
        for verb in (("status", "ordes"), ("start", "-s", "ordes"), ("destroy", "ordes"), ("set-session", "ordes")):
            own_runtime.side(*verb, status=1, printing=["there is no session ordes\nhint: did you mean `orders`?"])
        own_runtime.side("status", "orde", status=1, printing=["did you mean `orders`?"])
        own_runtime.side("status", "o_hers", status=1, printing=["did you mean `others`?"])
        own_runtime.side("status", "zzz", status=1, printing=["there is no session zzz\nhint: `side list`"])
        own_runtime.side("disable-channel", "fligt", "-s", "orders", status=1, printing=["has no channel", "did you mean `--channel flight`?"])
        own_runtime.side("disable-event", "sided:tick", "--channel", "flihgt", "-s", "orders", status=1, printing=["did you mean `--channel flight`?"])
        own_runtime.side("disable-event", "sided:*", "--channel", "flight", "-s", "orders")


def test_stop():
    """The daemon ends, its sessions are kept, and no events are missing."""
    with Runtime() as own_runtime:
        program = own_runtime.program()
        pid = own_runtime.daemon()
        own_runtime.side("create", "-o", "out", "lasting")
        own_runtime.side("enable-event", "sided:tick")
        own_runtime.side("start")
        first = program.fire(10)
        own_runtime.side("daemon", "--stop", printing=[f"stopped the daemon sided (process {pid}); its 1 session is kept and continues"])
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the end of the daemon")
        own_runtime.side("daemon", "--stop", printing=["no daemon runs, so none was stopped"])
        (line,) = json_lines(own_runtime.side("daemon", "--stop", "--json").out)
        equal((line["type"], line["stopped"], line["sessions"]), ("daemon", False, 0))
        equal(own_runtime.daemon(), 0)
        second = program.fire(10)
        own_runtime.side("daemon", printing=["started the daemon"])
        wait_until(lambda: own_runtime.session()["state"] == "active", "the session has returned")
        own_runtime.side("stop")
        equal(sorted(event[2] for event in own_runtime.events()), first + second)
        own_runtime.side("destroy")
        (line,) = json_lines(own_runtime.side("daemon", "--stop", "--json").out)
        equal((line["stopped"], line["sessions"]), (True, 0))


def test_daemon_that_was_killed():
    with Runtime() as own_runtime:
        program = own_runtime.program()
        own_runtime.side("create", "-o", "out", "lasting")
        own_runtime.side("enable-event", "sided:tick")
        own_runtime.side("start")
        first = program.fire(10)
        own_runtime.kill(signal.SIGKILL)
        own_runtime.side("status", "--no-daemon", status=1, printing=["no daemon"])
        second = program.fire(10)
        # Verbs that only read start no daemon, and name the kept sessions.
        for verb in (("status",), ("top", "-n", "1"), ("save",)):
            own_runtime.side(*verb, status=1, printing=["no daemon", "`side daemon` starts it and restores its sessions: lasting"])
        own_runtime.side("list", printing=["its sessions are saved (lasting)"])
        own_runtime.side("start", printing=["started the daemon"])
        session = json_lines(own_runtime.side("status", "--json").out)[0]
        equal((session["name"], session["generation"] >= 1), ("lasting", True))
        wait_until(lambda: own_runtime.session()["state"] == "active", "the session exists again")
        own_runtime.side("stop")
        numbers = sorted(event[2] for event in own_runtime.events())
        equal(numbers, first + second)


run_tests(globals())
