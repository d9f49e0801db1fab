# SPDX-License-Identifier: MIT
"""Live sessions and real programs that receive every change: exact records before and after it."""
import os
import signal
import sys
import unittest

from recording import PROGRAM, read
from test_live import LIBRARIES, LiveCase, Session, Talker

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reach"))
from daemon import Daemon  # noqa: E402


class Listener(Talker):
    """A program in control mode thread; it fires once, so that its thread exists."""

    def __init__(self, case, runtime):
        environment = {k: v for k, v in os.environ.items()
                       if k not in ("LD_PRELOAD", "SIDE_AGENT_SOCKET", "SIDE_CONTROL")}
        super().__init__(case, [PROGRAM, "obey"],
                         env={**environment, "SIDE_RUNTIME": runtime, "SIDE_LIB_DIR": LIBRARIES})
        self.own_pid = int(self.hear())

    def fire(self, count):
        return self.ask(str(count))


class Control(LiveCase):
    def setUp(self):
        super().setUp()
        self.runtime = os.path.join(self.dir, "runtime")
        os.mkdir(self.runtime, 0o700)
        self.daemon = Daemon(self.runtime)
        self.addCleanup(self.daemon.stop)
        self.session = None
        self.sequence = 0

    def open(self, *definition, options=("-a",)):
        self.session = Session(self, *definition, options=options)
        self.daemon.sessions = [(self.session.socket, 1)]

    def program(self):
        program = Listener(self, self.runtime)
        program.fire(1)
        self.daemon.wait_connected(program.own_pid, self.daemon.serial)
        program.sequence = 1
        return program

    def fire(self, program, count):
        """Returns the fired sequence numbers."""
        first = program.sequence
        program.sequence += count
        self.assertEqual(program.fire(count), program.sequence)
        return list(range(first, program.sequence))

    def notify(self, *programs, sessions=None):
        if sessions is None:
            sessions = [(self.session.socket, self.session.status()["generation"])]
        serial = self.daemon.change(sessions)
        for program in programs:
            agent = self.daemon.wait_connected(program.own_pid, serial)
            self.assertEqual(agent.done[-1], (serial, 0))

    def change(self, programs, *definition, **kwargs):
        answer = self.session.change(*definition, **kwargs)
        self.assertTrue(answer["ok"], answer)
        self.notify(*programs)

    def ticks(self):
        """Returns {pid: sequence numbers}."""
        self.session.flush()
        return {t.pid: t.ticks(0) for t in read(self.output).values()}

    def test_enable_and_disable(self):
        self.open("c=one")
        program = self.program()
        expected = []
        for _ in range(5):
            self.fire(program, 300)
            self.change([program], "c=one", "r=", "e=test:tick")
            expected += self.fire(program, 300)
            self.change([program], "c=one")
        self.assertEqual(self.ticks(), {program.own_pid: expected})
        process, = self.session.status()["processes"]
        self.assertEqual(process["generation"], 11)
        # The same layout repeatedly: one event, whatever happened in between.
        self.assertEqual(process["events"], 1)
        program.end()
        self.session.finish()
        self.assertEqual(self.values(), {"test:tick": expected})

    def test_filters(self):
        self.open("c=one", "r=", "e=test:tick", "f=sequence % 2 == 0")
        program = self.program()
        expected = [0]
        for modulus in (2, 3, 5, 7):
            self.change([program], "c=one", "r=", "e=test:*", f"f=sequence % {modulus} == 0")
            expected += [n for n in self.fire(program, 500) if n % modulus == 0]
        self.change([program], "c=one", "r=")
        expected += self.fire(program, 500)
        self.change([program], "c=one", "r=", "f=sequence < 0")
        self.fire(program, 500)
        self.assertEqual(self.ticks(), {program.own_pid: expected})

    def test_contexts_are_added(self):
        self.open("c=one", "x=vtid", "r=")
        program = self.program()
        self.fire(program, 99)
        self.change([program], "c=one", "x=vtid", "r=", "x=vpid,procname")
        self.fire(program, 100)
        self.change([program], "c=one", "x=vtid", "r=")
        self.fire(program, 100)
        self.session.flush()
        trace, = read(self.output).values()
        self.assertEqual(trace.ticks(0), list(range(300)))
        own = {"vpid": program.own_pid, "procname": "session-program"}
        self.assertEqual([d[3] for d in trace.details], [{}] * 100 + [own] * 100 + [{}] * 100)
        self.assertEqual([d[2] for d in trace.details], [{"vtid": program.own_pid}] * 300)

    def test_stop_and_start(self):
        self.open("c=one", "r=")
        program = self.program()
        expected = [0] + self.fire(program, 200)
        for _ in range(3):
            self.change([program], active=False)
            self.fire(program, 200)
            self.change([program])
            expected += self.fire(program, 200)
        self.assertEqual(self.ticks()[program.own_pid], expected)

    def test_tracking(self):
        self.open("c=one", "r=")
        programs = [self.program() for _ in range(3)]
        expected = {p.own_pid: [0] + self.fire(p, 100) for p in programs}
        only = programs[1]
        self.change(programs, "t=pid:%d" % only.own_pid)
        for program in programs:
            fired = self.fire(program, 100)
            if program is only:
                expected[program.own_pid] += fired
        self.assertEqual(self.ticks(), expected)
        status = self.session.wait_for(lambda s: sum(p["ended"] for p in s["processes"]) == 2)
        self.assertEqual([p["pid"] for p in status["processes"] if not p["ended"]], [only.own_pid])

    def test_a_session_ends_and_another_comes(self):
        self.open("c=one", "r=")
        program = self.program()
        expected = [0] + self.fire(program, 100)
        self.notify(program, sessions=[])
        self.session.finish()
        self.fire(program, 100)
        traces = read(self.output)
        self.assertEqual([t.ticks(0) for t in traces.values()], [expected])
        self.output = os.path.join(self.dir, "second")
        self.session = Session(self, "c=one", "r=", options=["-a"])
        self.notify(program)
        expected = self.fire(program, 100)
        self.assertEqual(self.ticks(), {program.own_pid: expected})

    def test_the_recorder_is_killed(self):
        """The next recorder continues with the same programs, and its rules apply to them."""
        place = ["-p", os.path.join(self.dir, "place")]
        self.open("c=one", "r=", options=["-a", *place])
        program, other = self.program(), self.program()
        expected = {p.own_pid: [0] + self.fire(p, 100) for p in (program, other)}
        for generation in (10, 20):
            self.session.process.kill()
            self.session.process.wait()
            for p in (program, other):
                expected[p.own_pid] += self.fire(p, 100)
            self.session = Session(self, "c=one", "r=", options=["-a", *place, "-g", str(generation)])
            self.assertTrue(self.session.opened["ok"], self.session.opened)
            # The same rules still apply before any program knows of the new recorder.
            expected[program.own_pid] += self.fire(program, 100)
            self.change([program, other], "c=one", "r=", "f=sequence % 2 == 0")
            expected[program.own_pid] += [n for n in self.fire(program, 100) if n % 2 == 0]
            self.change([program, other], "c=one", "r=")
            expected[other.own_pid] += self.fire(other, 100)
        self.assertEqual({p["peer"] for p in self.session.status()["processes"]}, set(expected))
        self.notify(program, other, sessions=[])
        self.assertTrue(self.session.finish()["ok"])
        found = {}
        for name, trace in read(self.output).items():
            # session-program-PID-N[-rRECORDER]
            found.setdefault(int(name.split("-")[2]), []).extend(
                (ns, fields["sequence"]) for name, fields, ns in trace.events if name == "test:tick")
        for pid, ticks in expected.items():
            self.assertEqual([n for _, n in sorted(found[pid])], ticks)
        self.assertEqual(set(found), set(expected))
        self.assertFalse(os.path.exists(place[1]))

    def test_many_programs(self):
        self.open("c=one:discard:65536", "r=")
        programs = [self.program() for _ in range(8)]
        expected = {p.own_pid: [0] for p in programs}
        for step in range(6):
            self.change(programs, "c=one:discard:65536", "r=", f"f=sequence % 6 == {step}")
            for program in programs:
                expected[program.own_pid] += [n for n in self.fire(program, 60) if n % 6 == step]
        self.assertEqual(self.ticks(), expected)
        for program in programs:
            program.process.send_signal(signal.SIGKILL)
        self.session.wait_for(lambda s: not s["memory"])
        self.session.finish()
        self.assertEqual({t.pid: t.ticks(0) for t in read(self.output).values()}, expected)


if __name__ == "__main__":
    unittest.main()
