#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The verbs for sessions end to end: a daemon that the commands start, programs, traces."""
import shutil
import signal
import sys
import time

from harness import *
from agent_thread import await_agent_thread

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import wait_until

PROGRAM = os.environ["DAEMON_PROGRAM"]  # tests/sided/program.c
PATIENCE = 120


class Place:
    """A separate runtime directory, whose daemon ends with it."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = self.folder.name
        self.env = environment(SIDE_RUNTIME=self.path + "/runtime", SIDE_CONTROL=None, SIDE_AGENT_SOCKET=None,
                               HOME=self.path)
        self.programs = []

    def __enter__(self):
        # Programs search the daemon when they start.
        self.side("daemon", says=["started the daemon sided"])
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

    def side(self, *args, status=0, says=(), **more):
        result = side(*args, env=self.env, cwd=self.path, **more)
        equal(result.status, status, f"{args}: {result}")
        for part in says:
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
    with Place() as place:
        before = place.program()
        place.side("create", "first", "-o", "out", says=["created session first"])
        place.side("create", "first", status=1, says=["first"])
        place.side("enable-event", "sided:tick", says=["session first records sided:tick"])
        before.fire(5)
        place.side("start", says=["side view"])
        after = place.program()
        wanted = [(before.pid, "sided:tick", number) for number in before.fire(100)]
        wanted += [(after.pid, "sided:tick", number) for number in after.fire(50)]
        session = place.session()
        equal((session["name"], session["state"], session["current"]), ("first", "active", True))
        equal(sorted(process["pid"] for process in session["processes"]), sorted([before.pid, after.pid]))
        place.side("stop")
        before.fire(7)
        equal(sorted(place.events()), sorted(wanted))
        # By its name, and as the current session.
        equal(sorted(place.events("first")), sorted(wanted))
        equal(sorted(place.events(None)), sorted(wanted))
        place.side("report", "first")
        place.side("view", "nobody", status=1, says=["cannot view nobody"])
        place.side("start")
        wanted += [(after.pid, "sided:tick", number) for number in after.fire(10)]
        place.side("destroy", says=["session first is destroyed", "from 2 processes"])
        after.fire(3)
        equal(sorted(place.events()), sorted(wanted))
        place.side("stop", status=2, says=["no current session"])
        place.side("view", status=2, says=["there is no trace to show, and there is no current session"])
        place.side("stop", "first", status=1)
        equal(place.json("status"), [])


def test_changes():
    with Place() as place:
        program = place.program()
        place.side("create", "-o", "out", "changes")
        place.side("enable-event", "sided:*", "--exclude", "sided:tock")
        place.side("start")
        wanted = [("sided:tick", number) for number in program.fire(10)]
        place.side("enable-event", "sided:tock", "--filter", "sequence % 2 == 0")
        for number in program.fire(10):
            wanted += [("sided:tick", number)] + ([("sided:tock", number)] if number % 2 == 0 else [])
        place.side("disable-event", "-a")
        program.fire(10)
        place.side("enable-event", "-u", "-a", "--loglevel", "INFO", "--context", "vtid")
        wanted += [("sided:tick", number) for number in program.fire(10)]
        equal(place.side("enable-event", "-u", "-a", "--loglevel", "INFO", "--context", "vtid").err.count("already"), 1)
        place.side("enable-event", "sided:tick", "-f", "sequence >> ", status=2, says=["sequence >>", "^"])
        place.side("enable-event", "sided:[", status=2)
        place.side("enable-channel", "late", status=1)
        place.side("stop")
        equal(sorted(event[1:] for event in place.events()), sorted(wanted))


def test_tracking():
    with Place() as place:
        one, two = place.program(), place.program()
        place.side("create", "-o", "out", "tracks")
        place.side("enable-event", "sided:tick")
        place.side("track", "--pid", str(one.pid))
        place.side("start")
        wanted = [(one.pid, "sided:tick", number) for number in one.fire(5)]
        two.fire(5)
        place.side("untrack", "--all")
        wanted += [(two.pid, "sided:tick", number) for number in two.fire(5)]
        place.side("track", "--exclude", "--pid", str(one.pid))
        one.fire(5)
        wanted += [(two.pid, "sided:tick", number) for number in two.fire(5)]
        place.side("stop")
        equal(sorted(place.events()), sorted(wanted))


def test_rules_that_match_nothing():
    """For patterns and filters that match no event of the programs there is a note; the rule is kept,
    and nothing fails.
    """
    with Place() as place:
        place.side("create", "web", "-o", "out")
        # Without a program no event is known.
        equal(place.side("enable-event", "sided:tik", "-c", "early").err, "side: session web records sided:tik from now on\n")
        place.program()
        for verb in ("enable-event", "disable-event"):
            for pattern, wanted in (("sided:tik", "did you mean `sided:tick`?"), ("sidd:*", "did you mean `\'sided:*\'`?"),
                                    ("tock", "no colon, so it names a provider"), ("zzz:zzz", "2 events: sided:tick, sided:tock"),
                                    ("sided:tick,sided:tok", "did you mean `sided:tock`?")):
                result = place.side(verb, pattern)
                contains(result.err, f"no event matches `{pattern.split(',')[-1]}` yet: ")
                contains(result.err, wanted)
                true("sided:tick` yet" not in result.err, result.err)
                place.side("enable-event", "sided:*")
        contains(place.side("enable-event", "sided:*@CRIT").err, "no event of that name has that log level")
        for args in (("sided:*",), ("sided:tick",), ()):
            result = place.side("enable-event", *args, "--filter", "sequenc > 3")
            contains(result.err, "the filter `sequenc > 3` fits no event yet: ")
            contains(result.err, 'has no field "sequenc"\nhint: did you mean `sequence`?')
        # For matching ones there is no note; --quiet prints none at all, and events of the kernel
        # belong to no program.
        for args in (("sided:t*",), ("sided:tick", "--filter", "sequence > 3 && $ctx.vpid > 0"), ("sided:*", "!sided:no")):
            equal(len(place.side("enable-event", *args).err.splitlines()), 1, str(args))
        equal(place.side("-q", "enable-event", "sided:tik").err, "")
        for line in place.side("--json", "enable-event", "sided:tik").out.splitlines():
            equal(json.loads(line)["programs"], 1)
        result = place.side("track", "--pid", "99999999,1")
        contains(result.err, "there is no process 99999999")
        true("no process 1;" not in result.err, result.err)
        place.side("destroy", "web")


def test_what_is_there():
    """No program, an empty snapshot, a session that is left: each is reported, with a hint; only
    processes with events are counted.
    """
    with Place() as place:
        place.side("create", "web", "-o", "web")
        place.side("enable-event", "sided:tick")
        attach = "`side attach --daemon -p PID`"
        contains(place.side("start").err, "no running program has joined\nhint: programs that started before the daemon join with " + attach)
        contains(place.side("status").out, "no running program has joined; programs that started before the daemon join with " + attach)
        place.side("create", "flight", "-o", "flight")
        place.side("enable-channel", "recorder", "--mode", "overwrite")
        place.side("enable-event", "-c", "recorder", "sided:tick")
        speaker = place.program()
        place.program()
        true("no running program has joined" not in place.side("start").err, "a program has joined")
        contains(place.side("status").out, "2 programs have joined, and no event that the session records has happened")
        result = place.side("snapshot")
        equal(result.out, "")
        contains(result.err, "the snapshot is empty")
        equal(json_lines(place.side("--json", "snapshot").out)[0]["empty"], True)
        numbers = speaker.fire(7)
        path = place.side("snapshot").out.strip()
        equal(place.events(path), [(speaker.pid, "sided:tick", number) for number in numbers])
        figures = place.session()
        equal((figures["snapshots"], figures["snapshot-recorded"]), (3, 7))
        stopped = place.side("stop").err
        contains(stopped, f"{figures['snapshots']} snapshots have {figures['snapshot-recorded']} events in all")
        true("recorded 0 events" not in stopped, stopped)
        destroyed = place.side("destroy").err
        # Two programs joined; the other one recorded nothing.
        contains(destroyed, "from 1 process,")
        contains(destroyed, "`side set-session web` selects the only one")
        contains(place.side("stop", status=2).err, "`side set-session web`")
        place.side("create", "other", "-o", "other")
        os.unlink(place.path + "/runtime/current")
        listed = place.side("stop", status=2).err
        contains(listed, "`side set-session NAME`")
        true("web" in listed and "other" in listed, listed)


def test_late_program():
    """The daemon does not answer the first event: each verb that ends or copies the recording names the program."""
    with Place() as place:
        place.side("create", "flight", "-o", "flight")
        place.side("enable-channel", "recorder", "--mode", "overwrite")
        program = place.program(SIDE_TIMEOUT_FACTOR="1")
        place.side("enable-event", "-c", "recorder", "sided:tick")
        place.side("start")
        daemon = place.daemon()
        os.kill(daemon, signal.SIGSTOP)
        program.fire(7)
        os.kill(daemon, signal.SIGCONT)
        late = f"process {program.pid} (cmd-daemon-program) joined late: its events of the first "
        wait_until(lambda: late in place.side("snapshot").err, "the snapshot names the program")
        numbers = program.fire(3)
        result = place.side("snapshot")
        contains(result.err, late)
        equal([event[2] for event in place.events(result.out.strip())][-3:], numbers)
        true(any(late in text for text in place.json("snapshot")[0]["messages"]), "the JSON has it, too")
        for verb in ("status", "stop", "destroy"):
            contains(place.side(verb).err, late, verb)


def test_programs_that_do_not_answer():
    with Place() as place:
        program = place.program()
        place.side("create", "-o", "out", "stopped")
        place.side("start")
        program.fire(1)
        program.await_thread()  # Wait for it only now.
        os.kill(program.pid, signal.SIGSTOP)
        wait_until(lambda: open(f"/proc/{program.pid}/stat", encoding="utf-8").read().rsplit(")", 1)[1].split()[0] == "T",
                   "the program stops")
        result = place.side("enable-event", "sided:tick", "--timeout", "300ms", status=5,
                            says=[f"(process {program.pid})", "stopped by a signal"])
        contains(result.err, "it does when it runs again")
        os.kill(program.pid, signal.SIGCONT)
        # Each state dump is a change, which every program must apply.
        wait_until(lambda: not side("statedump", "--timeout", "60s", env=place.env).status, "the program switches over")
        wanted = [(program.pid, "sided:tick", number) for number in program.fire(5)]
        place.side("stop")
        equal(place.events(), wanted)


def test_snapshots_and_chunks():
    with Place() as place:
        program = place.program()
        place.side("create", "-o", "flight", "flight")
        place.side("enable-channel", "last", "--mode", "overwrite", "--buffer-size", "64K")
        place.side("enable-event", "sided:tick", "-c", "last")
        place.side("start")
        fired = program.fire(100)
        path = place.side("snapshot").out.strip()
        equal([event[2] for event in place.events(path)], fired)
        place.side("create", "-o", "chunks", "chunks")
        place.side("enable-event", "sided:tick")
        place.side("start")
        first = program.fire(20)
        chunk = place.side("rotate").out.strip()
        equal([event[2] for event in place.events(chunk)], first)
        second = program.fire(30)
        place.side("stop")
        place.side("statedump", "flight")
        both = sorted(event[2] for name in os.listdir(place.path + "/chunks") if name.startswith("chunk-")
                      for event in place.events("chunks/" + name))
        place.side("destroy", "-a")
        equal(set(both) >= set(first), True)
        del second


def test_follow_through_rotations():
    """A followed trace moves into a chunk, which gets its name, while the program runs: all events are shown, once."""
    with Place() as place:
        program = place.program()
        place.side("create", "-o", "out", "moving")
        place.side("enable-event", "sided:tick")
        place.side("start")
        fired = program.fire(1)
        out = place.path + "/out"
        wait_until(lambda: os.path.isdir(out), "the output")
        follower = subprocess.Popen([SIDE, "view", "--follow", "--json", out], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, env=place.env)
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
                place.side("rotate")
                fired += program.fire(20)
            read_all()
            fired += program.fire(10)
            place.side("destroy")
            read_all()
            equal((follower.stdout.read(), follower.wait(PATIENCE)), (b"", 0))
            equal(follower.stderr.read(), b"")
        finally:
            follower.kill()
            follower.communicate()
        equal(sorted(event[2] for event in place.events("out")), fired)


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
    with Place() as place:
        program = place.program()
        program.fire(1)
        program.await_thread()
        for name, mode in (("live", "discard"), ("last", "overwrite")):
            place.side("create", "-o", name, name)
            place.side("enable-channel", "ring", "--mode", mode, "--buffer-size", "1M")
            place.side("enable-event", "sided:tick", "-c", "ring")
            place.side("start")
        fired, snapshots = program.fire(1), []
        wait_until(lambda: os.path.isdir(place.path + "/live"), "the output")
        follower = subprocess.Popen([SIDE, "view", "--follow", "--json", place.path + "/live"], stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, env=place.env)
        try:
            for _ in range(4):
                fired += program.fire(2000)
                snapshots.append(place.side("snapshot", "last").out.strip())
                # Conversions that are measured again differ the more, the more time is between
                # them.
                time.sleep(0.5)
            place.side("rotate", "live")
            fired += program.fire(2000)
            place.side("destroy", "live")
            lines = json_lines(follower.communicate(timeout=PATIENCE)[0].decode())
        finally:
            follower.kill()
            follower.communicate()
        closed = times_of_babeltrace(place.path + "/live")
        equal(sorted(closed), fired)
        followed = {line["fields"]["sequence"]: line["ns"] for line in lines if line["type"] == "event"}
        equal(sorted(followed), fired)
        same_times(followed, closed)
        # The ring has all events, so each snapshot includes those of the previous one.
        times = [times_of_babeltrace(path) for path in snapshots]
        equal([len(each) for each in times], [1 + 2000 * (i + 1) for i in range(len(times))])
        for each in times:
            same_times(each, times[-1])
        place.side("destroy", "last")


def test_snapshots_by_themselves():
    with Place() as place:
        program = place.program()
        place.side("create", "-o", "out", "watchful", "--snapshot-on", "event:sided:tick where sequence == 50")
        place.side("enable-channel", "last", "--mode", "overwrite", "--buffer-size", "64K")
        place.side("enable-event", "sided:tick", "-c", "last")
        place.side("start")
        program.fire(50)
        fired = program.fire(1)
        path = place.path + "/out/snapshot-1"
        wait_until(lambda: os.path.isdir(path), "the snapshot")
        contains([event[2] for event in place.events(path)], fired[0])


def test_saving():
    with Place() as place:
        place.side("create", "-o", "out", "saved", "--rotate-size", "1M")
        place.side("enable-channel", "fast", "--mode", "block", "--buffer-size", "1M")
        place.side("enable-event", "sided:*", "-x", "sided:tock", "-f", "sequence > 3", "-c", "fast", "--context", "vtid")
        place.side("track", "--name", "x*", "--uid", "0")
        place.side("save", "-o", "saved.json")
        with open(place.path + "/saved.json", encoding="utf-8") as file:
            definition = json.load(file)
        place.side("load", "saved.json", status=1)
        place.side("load", "saved.json", "-s", "copy", says=["loaded session copy"])
        copy = json.loads(place.side("save").out)
        equal({**copy, "name": "saved"}, definition)
        place.side("load", "saved.json", "--force")
        equal(json.loads(place.side("save", "saved").out), definition)
        equal([line["name"] for line in place.json("list")], sorted(["copy", "saved"]))


def test_top():
    with Place() as place:
        program = place.program()
        place.side("create", "-o", "out", "watched")
        place.side("enable-event", "sided:*")
        place.side("start")
        program.fire(500)
        process = subprocess.Popen([SIDE, "top", "--json", "-i", "200ms", "--pair", "sided:tick", "sided:tock"],
                                   stdout=subprocess.PIPE, env=place.env, text=True)
        seen, last = {}, None
        end = time.monotonic() + PATIENCE
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
        true(last, "nothing was said")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        equal(process.returncode, 0)


def test_paths_of_any_bytes():
    """Paths and names that are not UTF-8 are passed unchanged between command line, daemon, its state
    and saved files.
    """
    odd = os.fsdecode(b"p\xff\xc3(\xe2\x82 \xf0\x9f\x92\xa9\\udc80\"q")
    for runtime in ("/runtime", "/" + odd):
        with Place() as place:
            if runtime != "/runtime":
                place.kill(signal.SIGTERM)
                place.env["SIDE_RUNTIME"] = place.path + runtime
                os.makedirs(place.path + runtime, 0o700)
                place.side("daemon", says=["started the daemon"])
                true(json_lines(place.side("daemon", "--json").out)[0]["socket"].startswith(place.path + runtime), "the socket")
            os.makedirs(os.path.join(place.path, odd), exist_ok=True)
            executable = os.path.join(place.path, odd, odd)
            shutil.copy(PROGRAM, executable)
            output = os.path.join(place.path, odd, "out")
            place.side("create", "odd", "-o", output)
            place.side("enable-event", "sided:*")
            place.side("start")
            process = subprocess.Popen([executable], env=place.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
            program = Program.__new__(Program)
            program.process, program.pid, program.fired = process, process.pid, 0
            place.programs.append(program)
            program.expect("ready")
            program.fire(3)
            told = place.session()
            equal(told["output"][:len(output)], output)
            equal([line["pid"] for line in told["processes"]], [process.pid])
            place.side("status")
            # After a crash the daemon knows the session from its state.
            place.kill(signal.SIGKILL)
            place.side("daemon")
            wait_until(lambda: place.session().get("processes"), "the program, again")
            program.fire(4)
            equal(place.session()["output"][:len(output)], output)
            place.side("stop")
            equal(len(place.events(told["output"])), 14)
            saved = place.side("save", "odd").out
            equal(json.loads(saved)["output"], output)
            place.side("destroy", "odd")
            with open(os.path.join(place.path, "saved.json"), "w", encoding="utf-8") as file:
                file.write(saved)
            place.side("load", "saved.json", "--session", "again")
            equal(json.loads(place.side("save", "again").out)["output"], output)
            place.side("destroy", "again")


def test_names():
    with Place() as place:
        program = place.program()
        place.side("create", "named")
        equal(place.side("complete", "sessions").out.split(), ["named"])
        contains(place.side("complete", "pids").out.split(), str(program.pid))
        contains(place.side("complete", "processes").out.split(), os.path.basename(PROGRAM)[:15])
        # Other programs may exit while they are read; this test's program is there.
        result = side("complete", "events", env=place.env)
        contains(result.out.split(), "sided:tick")
        result = side("list", "-u", "--names", "-e", "sided:*", env=place.env)
        contains(result.out.split(), "sided:tock")


def test_meant():
    """Misspelled names of sessions and channels; each suggestion works."""
    with Place() as place:
        place.side("create", "orders")
        place.side("create", "others")
        place.side("enable-channel", "flight", "-s", "orders", "--mode", "overwrite")
        place.side("enable-event", "sided:*", "--channel", "flight", "-s", "orders")
        for verb in (("status", "ordes"), ("start", "-s", "ordes"), ("destroy", "ordes"), ("set-session", "ordes")):
            place.side(*verb, status=1, says=["there is no session ordes\nhint: did you mean `orders`?"])
        place.side("status", "orde", status=1, says=["did you mean `orders`?"])
        place.side("status", "o_hers", status=1, says=["did you mean `others`?"])
        place.side("status", "zzz", status=1, says=["there is no session zzz\nhint: `side list`"])
        place.side("disable-channel", "fligt", "-s", "orders", status=1, says=["has no channel", "did you mean `--channel flight`?"])
        place.side("disable-event", "sided:tick", "--channel", "flihgt", "-s", "orders", status=1, says=["did you mean `--channel flight`?"])
        place.side("disable-event", "sided:*", "--channel", "flight", "-s", "orders")


def test_stop():
    """The daemon ends, its sessions are kept, and no events are missing."""
    with Place() as place:
        program = place.program()
        pid = place.daemon()
        place.side("create", "-o", "out", "lasting")
        place.side("enable-event", "sided:tick")
        place.side("start")
        first = program.fire(10)
        place.side("daemon", "--stop", says=[f"stopped the daemon sided (process {pid}); its 1 session is kept and continues"])
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the end of the daemon")
        place.side("daemon", "--stop", says=["no daemon runs, so none was stopped"])
        (line,) = json_lines(place.side("daemon", "--stop", "--json").out)
        equal((line["type"], line["stopped"], line["sessions"]), ("daemon", False, 0))
        equal(place.daemon(), 0)
        second = program.fire(10)
        place.side("daemon", says=["started the daemon"])
        wait_until(lambda: place.session()["state"] == "active", "the session has returned")
        place.side("stop")
        equal(sorted(event[2] for event in place.events()), first + second)
        place.side("destroy")
        (line,) = json_lines(place.side("daemon", "--stop", "--json").out)
        equal((line["stopped"], line["sessions"]), (True, 0))


def test_daemon_that_was_killed():
    with Place() as place:
        program = place.program()
        place.side("create", "-o", "out", "lasting")
        place.side("enable-event", "sided:tick")
        place.side("start")
        first = program.fire(10)
        place.kill(signal.SIGKILL)
        place.side("status", "--no-daemon", status=1, says=["no daemon"])
        second = program.fire(10)
        # Verbs that only read start no daemon, and name the kept sessions.
        for verb in (("status",), ("top", "-n", "1"), ("save",)):
            place.side(*verb, status=1, says=["no daemon", "`side daemon` starts it, and its sessions return: lasting"])
        place.side("list", says=["its sessions are kept (lasting)"])
        place.side("start", says=["started the daemon"])
        session = json_lines(place.side("status", "--json").out)[0]
        equal((session["name"], session["generation"] >= 1), ("lasting", True))
        wait_until(lambda: place.session()["state"] == "active", "the session stands again")
        place.side("stop")
        numbers = sorted(event[2] for event in place.events())
        equal(numbers, first + second)


run_tests(globals())
