# SPDX-License-Identifier: MIT
"""Live sessions: programs start and exit, rules change, and the traces have exactly the requested events."""
import json
import os
import signal
import socket
import subprocess
import time
import unittest

import bt2
from recording import PROGRAM, Case, plain, read, stop_process

DRIVER = os.environ["SESSION_LIVE_DRIVER"]
AGENT = os.environ["SESSION_LIVE_AGENT"]
LIBRARIES = os.environ["SIDE_LIB_DIR"]
TIMEOUT = 120
USAGE = 2


class Talker:
    """A process that answers each line with a line of JSON."""

    def __init__(self, case, command, **kwargs):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1, **kwargs)
        self.pid = self.process.pid
        case.addCleanup(self.end)

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"it has ended with {self.process.wait(TIMEOUT)}")
        return line

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.hear())

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Session(Talker):
    def __init__(self, case, *definition, options=(), output=None):
        self.output = output or case.output
        self.socket = os.path.join(case.dir, "agent.sock")
        super().__init__(case, [DRIVER, "-o", self.output, "-s", self.socket, *options, *definition])
        self.opened = json.loads(self.hear())

    def change(self, *definition, active=True):
        return self.ask("\t".join(["change", "active" if active else "stopped", *definition]))

    def flush(self):
        answer = self.ask(f"flush\t{TIMEOUT * 1000}")
        if not answer["ok"]:
            raise AssertionError(answer)

    def status(self):
        return self.ask("status")

    def wait_for(self, condition):
        """Returns the status when it satisfies the condition."""
        until = time.monotonic() + TIMEOUT
        while time.monotonic() < until:
            status = self.status()
            if condition(status):
                return status
            time.sleep(0.01)
        raise AssertionError(status)

    def finish(self, how="finish"):
        answer = self.ask(f"close\t{how}")
        self.process.wait(TIMEOUT)
        return answer


class Agent(Talker):
    """Acts as an agent: the test controls each message."""

    def __init__(self, case, session):
        super().__init__(case, [AGENT, session.socket])

    def hello(self, token, name="played", control=1, number=0):
        return self.ask(f"hello {token} {name} {control} {number}")

    def refresh(self, token, generation, verb="refresh"):
        return self.ask(f"{verb} {token} {generation}")

    def describe(self, token, number, name="value", channel=0, contexts=()):
        return self.ask(" ".join(["describe", str(token), str(channel), str(number), name, *contexts]))

    def publish(self, token, number, values, channel=0, vpid=False):
        answer = self.ask(f"publish {token} {channel} {number} {values.start} {len(values)}" +
                          (" vpid" if vpid else ""))
        if answer["failed"]:
            raise AssertionError(answer)


class Program(Talker):
    """A program with a real agent: fires the requested number of events for each line."""

    def __init__(self, case, *sockets, command=(PROGRAM, "obey"), **kwargs):
        super().__init__(case, command, env={
            **os.environ, "LD_PRELOAD": os.path.join(LIBRARIES, "libside-agent.so"),
            "SIDE_AGENT_SOCKET": ":".join(sockets)}, **kwargs)
        self.own_pid = int(self.hear())

    def fire(self, count):
        return self.ask(str(count))

    def leave(self):
        self.process.stdin.close()
        if self.process.wait(TIMEOUT):
            raise AssertionError(self.process.returncode)


class LiveCase(Case):
    def values(self, directory=None, output=None):
        """Returns {event: [values]} of the only trace, or of one."""
        traces = read(output or self.output)
        if directory is None:
            self.assertEqual(len(traces), 1, traces)
            directory, = traces
        found = {}
        for name, fields, _ in traces[directory].events:
            found.setdefault(name, []).append(fields.get("value", fields.get("sequence")))
        return found

    def patterns(self, answer):
        return [[r["patterns"] for r in c["rules"]] for c in answer["channels"]]

    def assertFails(self, answer, text, kind=USAGE):
        self.assertFalse(answer["ok"], answer)
        self.assertIn(text, answer["text"])
        self.assertEqual(answer["kind"], kind, answer)


class Played(LiveCase):
    """The exchanges themselves, with an agent that the test controls."""

    def test_rules_change(self):
        session = Session(self, "c=one", "r=", "e=live:a", options=["-a"])
        self.assertEqual(session.opened["number"], 1)
        agent = Agent(self, session)
        answer = agent.hello(77)
        self.assertTrue(answer["accepted"], answer)
        self.assertEqual((answer["generation"], answer["statedump"]), (1, 1))
        self.assertEqual(self.patterns(answer), [[["live:a"]]])
        self.assertTrue(agent.refresh(77, 1)["unchanged"])

        # Another event, and the first one with a filter and a context.
        changed = session.change("c=one", "r=", "e=live:a", "f=value > 5", "x=vpid", "r=", "e=live:b")
        self.assertEqual(changed["number"], 2)
        answer = agent.refresh(77, 1)
        self.assertFalse(answer["unchanged"])
        self.assertEqual((answer["generation"], answer["statedump"]), (2, 1))
        first, second = answer["channels"][0]["rules"]
        self.assertEqual((first["contexts"], second["patterns"]), (["vpid"], ["live:b"]))
        self.assertGreater(first["filter"], 0)
        self.assertEqual(second["filter"], 0)
        self.assertTrue(agent.refresh(77, 2)["unchanged"])
        # A new process gets the same rules.
        other = Agent(self, session)
        self.assertEqual(other.hello(78)["channels"], answer["channels"])

        # No rule at all.
        self.assertEqual(session.change("c=one")["number"], 3)
        self.assertEqual(self.patterns(agent.refresh(77, 2)), [[]])

    def test_stop_and_start(self):
        session = Session(self, "c=one", "r=", "e=live:a", "c=two", "r=")
        agent = Agent(self, session)
        answer = agent.hello(1)
        self.assertTrue(answer["accepted"])
        self.assertEqual(answer["statedump"], 0)
        self.assertEqual(self.patterns(answer), [[], []])
        self.assertEqual(session.change()["number"], 2)
        answer = agent.refresh(1, 1)
        self.assertEqual(answer["statedump"], 2)
        self.assertEqual(self.patterns(answer), [[["live:a"]], [[]]])
        self.assertEqual(session.change(active=False)["number"], 3)
        answer = agent.refresh(1, 2)
        self.assertEqual(answer["statedump"], 2)
        self.assertEqual(self.patterns(answer), [[], []])
        self.assertFalse(session.status()["active"])
        self.assertEqual(session.change()["number"], 4)
        answer = agent.refresh(1, 3)
        self.assertEqual(answer["statedump"], 4)
        self.assertEqual(self.patterns(answer), [[["live:a"]], [[]]])
        # Active already: no new state is requested.
        session.change()
        self.assertEqual(agent.refresh(1, 4)["statedump"], 4)

    def test_statedump(self):
        session = Session(self, "c=one", "r=", options=["-a", "-g", "40"])
        self.assertEqual(session.opened["number"], 40)
        agent = Agent(self, session)
        self.assertEqual(agent.hello(1)["statedump"], 40)
        self.assertEqual(session.ask("statedump")["number"], 41)
        answer = agent.refresh(1, 40)
        self.assertEqual((answer["generation"], answer["statedump"]), (41, 41))

    def test_all_or_nothing(self):
        session = Session(self, "c=one:discard:65536", "x=vpid", "r=", "e=live:a", "c=two:overwrite:65536",
                          options=["-a"])
        agent = Agent(self, session)
        agent.hello(1)
        good = ("c=one:discard:65536", "x=vpid", "r=", "e=live:b")
        bad = [
            (("c=two:overwrite:65536", "r=", "e=[a"), "pattern"),
            (("c=two:overwrite:65536", "r=", "f=value >"), "filter"),
            (("c=two:overwrite:65536", "r=", "x=nonsense"), "contexts"),
            (("c=two:discard:65536", "r="), "mode or size"),
            (("c=two:overwrite:131072", "r="), "mode or size"),
            (("c=two:overwrite:65536", "x=vtid", "r="), "contexts of the channel two"),
            (("c=three", "r="), "cannot add the channel three"),
            (("c=one:discard:65536", "x=vpid", "r="), "two channels"),
            (("t=pid:0",), "process ids"),
            (("t=uid:4294967295",), "no user"),
            (("t=name:",), "pattern for processes"),
            (("t=name:" + "x" * 256,), "pattern for processes"),
        ]
        for words, text in bad:
            with self.subTest(words=words):
                self.assertFails(session.change(*good, *words), text)
                self.assertTrue(agent.refresh(1, 1)["unchanged"])
        # Channels that are not named stay, and their order does not matter.
        self.assertEqual(session.change("c=two:overwrite:65536", "r=", "e=live:c")["number"], 2)
        self.assertEqual(self.patterns(agent.refresh(1, 1)), [[["live:a"]], [["live:c"]]])
        self.assertTrue(session.change("c=two:overwrite:65536", *good)["ok"])
        self.assertEqual(self.patterns(agent.refresh(1, 1)), [[["live:b"]], []])

    def test_metadata_grows_under_readers(self):
        """New layouts are new events: the trace is valid at each moment, and records keep their meaning."""
        session = Session(self, "c=one", "r=", options=["-a"])
        agent = Agent(self, session)
        agent.hello(5)
        expected = {}
        for step in range(6):
            vpid = step % 2 == 1
            answer = agent.describe(5, step, f"step_{step // 2}", contexts=["vpid"] if vpid else [])
            self.assertEqual((answer["accepted"], answer["refused"]), (1, 0))
            values = range(step * 1000, step * 1000 + 700)
            agent.publish(5, step, values, vpid=vpid)
            expected.setdefault(f"live:step_{step // 2}", []).extend(values)
            session.flush()
            self.assertEqual(self.values(), expected)
            self.assertTrue(session.change("c=one", "r=", f"e=live:{step}")["ok"])
            self.assertFalse(agent.refresh(5, session.status()["generation"] - 1)["unchanged"])
        agent.end()
        session.finish()
        self.assertEqual(self.values(), expected)
        trace, = read(self.output).values()
        with_context = [own.get("vpid") for (_, _, _, own) in trace.details]
        self.assertEqual(with_context, ([None] * 700 + [agent.pid] * 700) * 3)

    def test_a_reader_that_began_before(self):
        """A reader that has opened the trace continues with the old metadata, and a new one sees all."""
        session = Session(self, "c=one", "r=", options=["-a"])
        agent = Agent(self, session)
        agent.hello(5)
        agent.describe(5, 0, "before")
        agent.publish(5, 0, range(100))
        session.flush()
        directory, = os.listdir(self.output)
        reader = bt2.TraceCollectionMessageIterator(os.path.join(self.output, directory))
        first = [m for m in [next(reader)] if isinstance(m, bt2._StreamBeginningMessageConst)]
        self.assertEqual(len(first), 1)
        agent.describe(5, 1, "after", contexts=["vpid"])
        session.flush()
        events = [m.event for m in reader if isinstance(m, bt2._EventMessageConst)]
        self.assertEqual([plain(e.payload_field)["value"] for e in events], list(range(100)))
        agent.publish(5, 1, range(100, 200), vpid=True)
        session.finish()
        self.assertEqual(self.values(), {"live:before": list(range(100)),
                                         "live:after": list(range(100, 200))})

    def test_the_session_does_not_change_others(self):
        """The session does not check what a process does after its answer: it takes nothing from it."""
        session = Session(self, "c=one", "r=", options=["-a"])
        agent = Agent(self, session)
        agent.hello(5)
        agent.describe(5, 0)
        session.change("c=one", active=False)
        agent.publish(5, 0, range(50))
        session.finish()
        self.assertEqual(self.values(), {"live:value": list(range(50))})


class Programs(LiveCase):
    """With the real agent, which gets the current rules when it joins."""

    def test_come_and_go(self):
        session = Session(self, "c=one", "r=", "e=test:tick", options=["-a"])
        first = Program(self, session.socket)
        first.fire(1000)
        session.flush()
        self.assertEqual(self.values(), {"test:tick": list(range(1000))})
        self.assertTrue(session.change("c=one", "r=", "e=test:tick", "f=sequence % 2 == 0", "x=vtid")["ok"])
        second = Program(self, session.socket)
        second.fire(1000)
        first.fire(1000)
        session.flush()
        session.change("c=one", "r=", "e=other:*")
        third = Program(self, session.socket)
        third.fire(1000)
        for program in first, second, third:
            program.leave()
        status = session.wait_for(lambda s: all(p["ended"] for p in s["processes"]))
        self.assertEqual((status["seen"], status["lost"]), (3, 0))
        self.assertTrue(session.finish()["ok"])
        traces = {t.pid: t for t in read(self.output).values()}
        self.assertEqual(set(traces), {first.own_pid, second.own_pid})
        self.assertEqual(traces[first.own_pid].ticks(0), list(range(2000)))
        self.assertEqual(traces[second.own_pid].ticks(0), list(range(0, 1000, 2)))
        for *_, own in traces[second.own_pid].details:
            self.assertEqual(own, {"vtid": second.own_pid})
        self.assertEqual(os.path.exists(session.socket), False)

    def test_a_stopped_session_takes_them_in(self):
        session = Session(self, "c=one", "r=")
        program = Program(self, session.socket)
        program.fire(1000)
        session.flush()
        self.assertEqual(os.listdir(self.output), [])
        process, = session.status()["processes"]
        self.assertEqual((process["procname"], process["directory"], process["bytes"]),
                         ("session-program", "", 0))
        program.leave()
        session.finish()
        self.assertEqual(os.listdir(self.output), [])

    def test_several_sessions(self):
        other_dir = os.path.join(self.dir, "other")
        os.mkdir(other_dir)
        one = Session(self, "c=one", "r=", options=["-a"])
        case_dir, self.dir = self.dir, other_dir
        two = Session(self, "c=one", "r=", "f=sequence < 10", options=["-a"],
                      output=os.path.join(other_dir, "out"))
        self.dir = case_dir
        program = Program(self, one.socket, two.socket)
        program.fire(500)
        one.finish()
        program.fire(500)
        program.leave()
        two.finish()
        self.assertEqual(self.values(), {"test:tick": list(range(500))})
        self.assertEqual(self.values(output=two.output), {"test:tick": list(range(10))})

    def test_killed_while_recorded(self):
        session = Session(self, "c=one", "r=", options=["-a"])
        program = Program(self, session.socket)
        program.fire(3000)
        program.process.send_signal(signal.SIGKILL)
        status = session.wait_for(lambda s: s["processes"][0]["ended"])
        self.assertEqual(status["processes"][0]["pid"], program.own_pid)
        session.flush()
        self.assertEqual(self.values(), {"test:tick": list(range(3000))})
        session.finish()
        self.assertEqual(self.values(), {"test:tick": list(range(3000))})

    def test_flush_is_exact(self):
        """Each time all events before the call are there, of a process that never stops."""
        session = Session(self, "c=one", "r=", options=["-a"])
        program = Program(self, session.socket)
        for step in range(1, 31):
            program.fire(17)
            session.flush()
            self.assertEqual(self.values(), {"test:tick": list(range(17 * step))})
        session.finish()

    def test_snapshots(self):
        session = Session(self, "c=flight:overwrite:65536", "r=", options=["-a"])
        program = Program(self, session.socket)
        program.fire(100)
        for number in (1, 2):
            answer = session.ask(f"snapshot\t{TIMEOUT * 1000}")
            self.assertEqual((answer["ok"], answer["number"]), (True, number))
            found = self.values(output=os.path.join(self.output, f"snapshot-{number}"))
            self.assertEqual(found, {"test:tick": list(range(100 * number))})
            program.fire(100)
        self.assertEqual(session.status()["snapshots"], 2)
        session.finish()

    def test_no_empty_snapshot(self):
        session = Session(self, "c=one", "r=", options=["-a"])
        self.assertEqual(session.ask("snapshot\t1000")["result"], -22)


class Tracking(LiveCase):
    def ask_for(self, session, generation, agent, token):
        return agent.refresh(token, generation)["accepted"]

    def test_kinds(self):
        session = Session(self, "c=one", "r=", options=["-a"])
        agent, other = Agent(self, session), Agent(self, session)
        uid, gid = os.geteuid(), os.getegid()
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            cgroup = file.readline().rstrip("\n").split(":", 2)[2]
        exact = "".join(f"[{c}]" if c in "*?[" else c for c in cgroup)
        cases = [
            ((), True),
            (("t=pid:%d" % agent.pid,), True),
            (("t=pid:%d" % other.pid,), False),
            (("t=!pid:%d" % agent.pid,), False),
            (("t=!pid:%d" % other.pid,), True),
            (("t=pid:%d" % other.pid, "t=pid:%d" % agent.pid), True),
            (("t=uid:%d" % uid,), True),
            (("t=uid:%d" % (uid + 1),), False),
            (("t=gid:%d" % gid,), True),
            (("t=!gid:%d" % gid,), False),
            (("t=name:play*",), True),
            (("t=name:plax*",), False),
            (("t=name:play*", "t=!name:*ed"), False),
            (("t=name:play*", "t=uid:%d" % (uid + 1)), False),
            (("t=name:play*", "t=uid:%d" % (uid + 1), "t=uid:%d" % uid), True),
            (("t=cgroup:" + exact,), True),
            (("t=cgroup:/no/such/*",), False),
            (("t=!cgroup:*",), False),
            (("t=container:no-such-container",), False),
        ]
        token = 100
        for words, wanted in cases:
            with self.subTest(words=words):
                token += 1
                session.change("c=one", "r=")
                generation = session.status()["generation"]
                # When it joins, and later.
                self.assertTrue(agent.hello(token)["accepted"])
                self.assertTrue(session.change("c=one", "r=", *words)["ok"])
                answer = agent.refresh(token, generation)
                self.assertEqual(answer["accepted"], wanted)
                answer = agent.hello(token + 1000)
                self.assertEqual(answer["accepted"], wanted)
                self.assertEqual(answer["reason"], "" if wanted else "not tracked")
        self.assertEqual(session.ask("messages")["messages"], [])
        self.assertEqual(session.status()["refused"], 0)
        self.assertGreater(session.status()["untracked"], 0)

    def test_an_untracked_process_leaves(self):
        session = Session(self, "c=one", "r=", options=["-a"])
        agent = Agent(self, session)
        agent.hello(9)
        agent.describe(9, 0)
        agent.publish(9, 0, range(10))
        session.change("c=one", "r=", "t=name:others")
        answer = agent.refresh(9, 1)
        self.assertEqual((answer["accepted"], answer["reason"]), (False, "not tracked"))
        agent.publish(9, 0, range(10, 20))
        # It is removed, with all its recorded events; it may join again.
        self.assertEqual(agent.refresh(9, 2)["accepted"], False)
        session.change("c=one", "r=")
        self.assertEqual(agent.refresh(9, 2)["accepted"], False)
        self.assertTrue(agent.hello(9)["accepted"])
        agent.describe(9, 0)
        agent.publish(9, 0, range(100, 110))
        session.finish()
        values = [[f["value"] for _, f, _ in t.events] for t in read(self.output).values()]
        self.assertEqual(len(values), 2)
        self.assertIn(list(range(100, 110)), values)
        self.assertTrue(any(v[:10] == list(range(10)) for v in values), values)

    def test_real_programs(self):
        session = Session(self, "c=one", "r=", "t=name:other", options=["-a"])
        program = Program(self, session.socket)
        program.fire(100)
        program.leave()
        self.assertEqual(session.status()["untracked"], 1)
        session.finish()
        self.assertEqual(os.listdir(self.output), [])

    def test_other_users(self):
        if os.geteuid():
            self.skipTest("only root can become another user")
        nobody = 65534
        drop = ["setpriv", "--reuid", str(nobody), "--regid", str(nobody), "--clear-groups"]
        if subprocess.run([*drop, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
            self.skipTest("cannot become another user")
        os.chmod(self.dir, 0o755)
        for options, tracked, heard in ([], [], False), (["-u"], [], True), \
                (["-u"], ["t=uid:0"], False), (["-u"], ["t=uid:%d" % nobody], True):
            with self.subTest(options=options, tracked=tracked):
                session = Session(self, "c=one", "r=", *tracked, options=["-a", "-f", *options])
                talker = Talker(self, [*drop, AGENT, session.socket])
                if not heard and not options:
                    # The socket itself is closed.
                    talker.process.stdin.write("hello 1 somebody 1 0\n")
                    talker.process.stdin.flush()
                    self.assertEqual(talker.process.wait(TIMEOUT), 2)
                else:
                    self.assertEqual(talker.ask("hello 1 somebody 1 0")["accepted"], heard)
                if heard:
                    process, = session.status()["processes"]
                    self.assertEqual((process["uid"], process["gid"]), (nobody, nobody))
                session.finish()


class Statistics(LiveCase):
    def test_a_process(self):
        session = Session(self, "c=one", "r=", "c=two:overwrite:65536", options=["-a"])
        agent = Agent(self, session)
        agent.hello(3, name="some\\name", control=3, number=12)
        agent.describe(3, 0)
        agent.describe(3, 1, "other")
        agent.publish(3, 0, range(1000))
        session.flush()
        status = session.status()
        process, = status["processes"]
        self.assertEqual(process["procname"], "some_name")
        self.assertEqual(process["exe"], "/played")
        self.assertEqual((process["peer"], process["pid"]), (agent.pid, agent.pid))
        self.assertEqual((process["uid"], process["gid"]), (os.geteuid(), os.getegid()))
        self.assertEqual((process["control"], process["signal"]), (3, 12))
        self.assertEqual((process["generation"], process["ended"]), (1, 0))
        self.assertEqual((process["events"], process["lost"], process["losses"]), (2, 0, []))
        self.assertEqual(os.listdir(self.output), [process["directory"]])
        self.assertEqual({r["channel"] for r in process["rings"]}, {"one"})
        # Records have 8 bytes, and 17 with the clock's upper bits.
        self.assertGreaterEqual(process["bytes"], 8000)
        self.assertLessEqual(process["bytes"], 17000)
        self.assertEqual(sum(r["bytes"] for r in process["rings"]), process["bytes"])
        self.assertEqual(status["bytes"], process["bytes"])
        self.assertEqual(process["memory"], status["memory"])
        session.change("c=one")
        agent.refresh(3, 1)
        self.assertEqual(session.status()["processes"][0]["generation"], 2)
        agent.end()
        ended = session.wait_for(lambda s: s["processes"][0]["ended"] and not s["memory"])
        self.assertEqual(ended["bytes"], status["bytes"])
        self.assertEqual(ended["processes"][0]["events"], 2)

    def test_losses_of_the_living(self):
        session = Session(self, "c=one:discard:65536", "r=", options=["-a"])
        program = Program(self, session.socket)
        # The recorder is stopped, so that the ring is full at any speed of the machine.
        stop_process(session.pid)
        program.fire(100000)
        os.kill(session.pid, signal.SIGCONT)
        session.flush()
        status = session.status()
        process, = status["processes"]
        self.assertGreater(process["lost"], 0)
        self.assertEqual(status["lost"], process["lost"])
        self.assertEqual(sum(l["count"] for l in process["losses"]), process["lost"])
        self.assertEqual({(l["event"], l["reason"]) for l in process["losses"]},
                         {("test:tick", "ring full")})
        for loss in process["losses"]:
            self.assertEqual(process["rings"][loss["ring"]]["lost"], loss["count"])
        program.leave()
        ended = session.wait_for(lambda s: s["processes"][0]["ended"] and not s["memory"])
        self.assertEqual(ended["lost"], status["lost"])
        session.finish()
        trace, = read(self.output).values()
        self.assertEqual(len(trace.events) + status["lost"], 100000)
        self.assertEqual(trace.discarded, status["lost"])

    def test_many_that_come_and_go(self):
        """Exited processes are dropped, except for some, and the sums stay."""
        session = Session(self, "c=one:discard:65536", "r=", options=["-a"])
        agent = Agent(self, session)
        for token in range(1, 61):
            # The same process again: the previous one has exited.
            agent.hello(token)
            agent.describe(token, 0)
            agent.publish(token, 0, range(3))
        for _ in range(2):
            other = Agent(self, session)
            for token in range(1, 61):
                other.hello(token)
                other.describe(token, 0)
                other.publish(token, 0, range(3))
            other.end()
        agent.end()
        # A dropped one is removed in the next turn of the recorder.
        status = session.wait_for(
            lambda s: not s["memory"] and all(p["ended"] for p in s["processes"]) and len(s["processes"]) <= 128)
        self.assertEqual(status["seen"], 180)
        self.assertGreater(len(status["processes"]), 0)
        self.assertEqual(status["lost"], 0)
        # The first record of a ring has the whole time; the two after it may have it, too.
        self.assertGreaterEqual(status["bytes"], 180 * (17 + 2 * 8))
        self.assertLessEqual(status["bytes"], 180 * 3 * 17)
        session.finish()
        traces = read(self.output)
        self.assertEqual(len(traces), 180)
        for trace in traces.values():
            self.assertEqual([f["value"] for _, f, _ in trace.events], [0, 1, 2])

    def test_memory_has_a_limit(self):
        session = Session(self, "c=one:discard:65536", "r=", options=["-a", "-m", str(8 << 20)])
        agents = [Agent(self, session) for _ in range(40)]
        answers = [agent.hello(1) for agent in agents]
        status = session.status()
        self.assertLessEqual(status["memory"], 8 << 20)
        refused = sum(not a["accepted"] for a in answers)
        self.assertGreater(refused, 0)
        self.assertEqual(status["refused"], refused)
        self.assertIn("memory is used up", session.ask("messages")["messages"][0])
        self.assertEqual(session.ask("messages")["messages"], [])
        # Each one that leaves makes space.
        for agent, answer in zip(agents, answers):
            if answer["accepted"]:
                agent.end()
        session.wait_for(lambda s: not s["memory"])
        agent = [a for a, answer in zip(agents, answers) if not answer["accepted"]][0]
        self.assertTrue(agent.hello(2)["accepted"])


class Life(LiveCase):
    def test_the_socket(self):
        session = Session(self, "c=one", "r=")
        self.assertEqual(os.stat(session.socket).st_mode & 0o777, 0o600)
        self.assertEqual(os.listdir(self.dir).count("agent.sock"), 1)
        session.process.kill()
        session.process.wait()
        # A dead socket is replaced.
        session = Session(self, "c=one", "r=", options=["-f", "-u"])
        self.assertEqual(os.stat(session.socket).st_mode & 0o777, 0o666)
        self.assertTrue(Agent(self, session).hello(1)["accepted"])
        # A socket of another process stays.
        os.unlink(session.socket)
        other = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(other.close)
        other.bind(session.socket)
        session.finish()
        self.assertTrue(os.path.exists(session.socket))

    def test_sockets_that_cannot_be_opened(self):
        path = os.path.join(self.dir, "agent.sock")
        with open(path, "w", encoding="utf-8"):
            pass
        self.assertFails(Session(self, "c=one").opened, "File exists", kind=1)
        self.assertTrue(os.path.isfile(path))
        os.unlink(path)
        self.assertEqual(os.path.exists(self.output), False)
        self.assertFails(Session(self, "c=one", "t=pid:0").opened, "process ids")
        self.assertFails(Session(self, "c=one", "r=", "e=[a").opened, "pattern")
        self.assertEqual(os.path.exists(self.output), False)
        self.assertEqual(os.path.exists(path), False)

    def test_the_end_takes_all_in(self):
        session = Session(self, "c=one", "r=", options=["-a"])
        program = Program(self, session.socket)
        program.fire(5000)
        self.assertTrue(session.finish()["ok"])
        self.assertEqual(self.values(), {"test:tick": list(range(5000))})
        # The program is not affected.
        program.fire(10)
        program.leave()

    def test_without_words_of_a_definition(self):
        session = Session(self, options=["-a"])
        self.assertEqual(self.patterns(Agent(self, session).hello(1)), [[]])


class Hostile(LiveCase):
    def test_other_tokens_and_processes(self):
        session = Session(self, "c=one", "r=", options=["-a"])
        agent, liar = Agent(self, session), Agent(self, session)
        agent.hello(1234)
        session.change("c=one", "r=", "e=live:a")
        for answer in (liar.refresh(1234, 1), agent.refresh(1235, 1),
                       agent.refresh(1234, 1, verb="foreign")):
            self.assertEqual((answer["accepted"], answer["channels"]), (False, []))
        answer = liar.describe(1234, 0)
        self.assertEqual((answer["whole"], answer["accepted"]), (False, 0))
        # It has changed nothing for the honest agent.
        self.assertEqual(self.patterns(agent.refresh(1234, 1)), [[["live:a"]]])
        self.assertEqual(agent.describe(1234, 0)["accepted"], 1)
        # An unknown generation is answered with the current one.
        self.assertEqual(agent.refresh(1234, 2**64 - 1)["generation"], 2)

    def test_floods(self):
        session = Session(self, "c=one", "r=", options=["-a"])
        agent, liar = Agent(self, session), Agent(self, session)
        agent.hello(1)
        self.assertEqual(liar.ask("hang 255")["made"], 255)
        self.assertTrue(agent.refresh(1, 1)["unchanged"])
        self.assertEqual(liar.ask("flood 2000")["refused"], 2000)
        liar.ask("garbage 1000")
        self.assertTrue(agent.refresh(1, 1)["unchanged"])
        self.assertEqual(len(session.status()["processes"]), 1)

    def test_kinds_have_limits(self):
        """Endless changes of layouts are refused in the end, and accepted events stay valid."""
        session = Session(self, "c=one", "r=", options=["-a"])
        agent = Agent(self, session)
        agent.hello(1)
        answer = agent.ask("pile 1 0 0 3000")
        self.assertEqual((answer["accepted"], answer["refused"]), (3000, 0))
        self.assertEqual(agent.ask("pile 1 0 2999 2")["refused"], 1)
        answer = agent.ask(f"pile 1 0 {262144 - 1} 2")
        self.assertEqual((answer["accepted"], answer["refused"], answer["reason"]), (1, 1, 4))
        agent.publish(1, 2999, range(10))
        agent.publish(1, 262143, range(10, 20))
        session.flush()
        self.assertEqual(self.values(), {"live:pile_2999": list(range(10)),
                                         "live:pile_262143": list(range(10, 20))})
        self.assertIn("is not recorded", session.ask("messages")["messages"][0])

    def test_refresh_where_there_is_none(self):
        """A recording of a command has one generation only: a process that asks is not a valid agent."""
        session = Session(self, "c=one", "r=")
        talker = Agent(self, session)
        talker.hello(1)
        # Twice on one connection, or before HELLO: the simulated agent does neither, so this uses a
        # socket.
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
            peer.connect(session.socket)
            peer.settimeout(TIMEOUT)
            peer.send(b"x" * 32)
            self.assertEqual(peer.recv(100), b"")


if __name__ == "__main__":
    unittest.main()
