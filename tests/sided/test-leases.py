# SPDX-License-Identifier: MIT
"""Ring memory of idle programs is reclaimed when other programs need it, and provided again with their
next event. Each event is in the trace, or is counted as lost there, once.
"""
import os
import random
import signal
import subprocess
import unittest

import harness
import test_shares
from harness import wait_until
from test_shares import ONE, OTHER, SIDE, SMALLEST, Stranger

NO_MEMORY = "no ring memory"
LIMIT = 12 * SMALLEST
# Far more programs than smallest rings that the limit permits.
CROWD = 30
LONG = os.environ.get("SIDE_TEST_LONG") == "1"


class Case(harness.Case):
    def begin(self, session, **channel):
        self.start_daemon()
        os.chmod(self.runtime, 0o755)
        self.prepare(session, **channel)
        self.ask("start", session)

    def prepare(self, session, **channel):
        self.ask("create", session, output=os.path.join(self.dir, session), memory_limit=LIMIT)
        self.ask("enable-channel", session, channel="hot", buffer_size=65536, **channel)
        self.ask("enable-event", session, channel="hot", event=["sided:tick"])

    def program(self):
        program = harness.Program(self)
        program.fired = 0
        return program

    def fire(self, program, count):
        program.fire(count)
        program.fired += count

    def process(self, session, program):
        found = [one for one in self.status(session)["processes"] if one["pid"] == program.pid and one["live"]]
        return found[0] if found else None

    def fire_until_recorded(self, session, program):
        """Fires until such an event is recorded."""
        before = self.process(session, program)["recorded"]

        def is_recorded():
            self.fire(program, 1)
            return self.process(session, program)["recorded"] > before
        wait_until(is_recorded, f"an event of {program.pid}")

    def assertSums(self, session, programs):
        """Checks that each event is recorded or counted as lost, once. Returns the programs with losses."""
        recorded, lost = self.sums(session)
        for program in programs:
            sequences, reasons = recorded.get(program.pid, []), lost.get(program.pid, {})
            self.assertLessEqual(set(reasons), {NO_MEMORY})
            self.assertEqual(sequences, sorted(set(sequences)))
            self.assertEqual(len(sequences) + reasons.get(NO_MEMORY, 0), program.fired)
        return [program for program in programs if lost.get(program.pid)]


class Idle(Case):
    def test_crowd(self):
        """All programs of a crowd are accepted. Programs that record get memory while there is some,
        and later memory of idle ones.
        """
        self.begin("crowd")
        programs = [self.program() for _ in range(CROWD)]
        status = self.status("crowd")
        self.assertEqual((status["refused"], status["waiting"]), (0, []))
        self.assertEqual({one["pid"] for one in status["processes"]}, {program.pid for program in programs})
        self.assertGreater(status["idle"], CROWD // 2)
        self.assertLessEqual(status["memory"], LIMIT)
        # In another order: not those with memory first.
        for program in reversed(programs):
            self.fire(program, 50)
        status = self.status("crowd")
        waiting = {one["pid"] for one in status["waiting"]}
        self.assertLessEqual(status["memory"], LIMIT)
        self.assertIn(NO_MEMORY, {one["reason"] for one in status["losses"]})
        # Some may have got memory since.
        self.assertGreaterEqual(status["refused"], len(waiting))
        shown = subprocess.run([SIDE, "status", "crowd"], capture_output=True, text=True, check=True,
                               env={**os.environ, "SIDE_RUNTIME": self.runtime}).stdout
        self.assertIn("NOT RECORDED", shown)
        self.assertGreater(len(waiting), 1)
        self.assertLess(len(waiting), CROWD)
        # A waiting program gets the memory of one that no longer records.
        waits = [program for program in programs if program.pid in waiting]
        for program in waits[:2]:
            self.fire_until_recorded("crowd", program)
        self.assertNotIn(waits[0].pid, {one["pid"] for one in self.status("crowd")["waiting"]})
        for program in programs:
            self.fire(program, 7)
            program.quit()
        self.ask("destroy", "crowd")
        losers = {program.pid for program in self.assertSums("crowd", programs)}
        self.assertGreaterEqual(losers, waiting)
        self.assertTrue(losers < {program.pid for program in programs})

    def test_unmatched(self):
        """Without an event for a channel there is no memory for its rings. A change of rules brings it before the first event."""
        self.start_daemon()
        self.prepare("cold")
        self.ask("enable-channel", "cold", channel="cold", buffer_size=65536)
        self.ask("enable-event", "cold", channel="cold", event=["none:*"])
        self.ask("start", "cold")
        programs = [self.program() for _ in range(2)]
        wait_until(lambda: self.status("cold")["idle"] == 2, "memory of the cold channel")
        idle = max(self.process("cold", program)["memory"] for program in programs)
        self.assertIn("2 idle programs", self.shown("cold"))
        for program in programs:
            self.fire(program, 20)
        self.ask("enable-event", "cold", channel="cold", event=["sided:tick"])
        # The daemon waits for a slow program for a limited time.
        wait_until(lambda: self.status("cold")["idle"] == 0, "memory without an event")
        for program in programs:
            self.assertGreater(self.process("cold", program)["memory"], 1.5 * idle)
            self.fire(program, 20)
            program.quit()
        self.ask("destroy", "cold")
        expected = {program.pid: sorted([*range(20), *range(20, 40), *range(20, 40)]) for program in programs}
        self.assertEqual({pid: sorted(all_of_it) for pid, all_of_it in self.counts("cold").items()}, expected)

    def shown(self, session):
        return subprocess.run([SIDE, "status", session], capture_output=True, text=True, check=True,
                              env={**os.environ, "SIDE_RUNTIME": self.runtime}).stdout

    def test_flight_recorder(self):
        """The content of a flight recorder stays, however many programs start."""
        self.begin("flight", mode="overwrite")
        first = self.program()
        self.fire(first, 30)
        programs = [self.program() for _ in range(CROWD)]
        for program in programs:
            self.fire(program, 30)
        waiting = {one["pid"] for one in self.status("flight")["waiting"]}
        self.assertTrue(waiting and first.pid not in waiting)
        first.kill()
        for program in programs:
            program.quit()
        self.ask("destroy", "flight")
        recorded, lost = self.sums("flight")
        self.assertEqual(recorded[first.pid], list(range(30)))
        for program in programs:
            self.assertEqual(recorded.get(program.pid, []), [] if program.pid in waiting else list(range(30)))
            self.assertEqual(lost.get(program.pid, {}), {NO_MEMORY: 30} if program.pid in waiting else {})

    def test_killed_programs(self):
        """Killed programs: all their recorded events are there."""
        self.begin("killed")
        programs = [self.program() for _ in range(CROWD // 2)]
        for program in programs:
            self.fire(program, 25)
            program.process.kill()
        self.ask("destroy", "killed")
        self.assertSums("killed", programs)


class Killed(Case):
    def kill(self, session, what):
        if what == "recorder":
            os.kill(self.status(session)["recorder"], signal.SIGKILL)
        else:
            self.kill_daemon()

    def test_recorders(self):
        """The recorder or the daemon is killed while programs request memory, and while it is reclaimed."""
        seed = int(os.environ.get("SIDE_TEST_SEED", random.randrange(1 << 30)))
        print("seed", seed)
        chance = random.Random(seed)
        self.begin("kills")
        programs = [self.program() for _ in range(CROWD // 2)]
        for turn in range(20 if LONG else 4):
            for program in chance.sample(programs, len(programs)):
                program.send_word("fire", 40)
                program.fired += 40
                if chance.random() < 0.1:
                    break
            if turn % 2:
                self.kill("kills", "recorder")
            else:
                self.kill("kills", "daemon")
                self.start_daemon()
            self.await_state("kills", "active")
            programs.append(self.program())
        # Their answers to "fire" were not read.
        for program in programs:
            program.quit()
        self.ask("destroy", "kills")
        self.assertSums("kills", programs)


class Hostile(test_shares.Case):
    """Programs that do not release unneeded memory, or use memory that they do not have."""

    def begin(self):
        self.start_daemon()
        os.chmod(self.runtime, 0o755)
        self.ask("create", "held", output=os.path.join(self.dir, "held"), memory_limit=4 * LIMIT)
        self.ask("enable-channel", "held", channel="hot", buffer_size=65536)
        self.ask("enable-event", "held", channel="hot", event=["sided:tick"])
        self.ask("start", "held")

    def assertRecorded(self, uid):
        program = self.program(uid)
        program.fire(100)
        program.quit()
        return program.pid

    def test_keep(self):
        """One user's programs never release their memory: it belongs to them until they exit, and
        other users have their shares.
        """
        self.begin()
        attacker = Stranger(self, OTHER, self.socket_of("held"), "keep", 60)
        self.assertGreater(attacker.answer, 20)
        complete = [self.assertRecorded(ONE), self.assertRecorded(0)]
        # Its own program gets no memory, and that is counted.
        refused = self.program(OTHER)
        refused.fire(10)
        self.assertEqual([one["pid"] for one in self.status("held")["waiting"]], [refused.pid])
        attacker.end()
        fired = 10

        def is_recorded():
            nonlocal fired
            fired += 1
            refused.fire(1)
            return [one for one in self.status("held")["processes"] if one["pid"] == refused.pid and one["recorded"]]
        wait_until(is_recorded, "memory of those that have ended")
        refused.quit()
        self.ask("destroy", "held")
        recorded, lost = self.sums("held")
        for pid in complete:
            self.assertEqual(recorded[pid], list(range(100)))
        self.assertEqual(recorded[refused.pid], list(range(fired - len(recorded[refused.pid]), fired)))
        self.assertEqual(lost[refused.pid], {NO_MEMORY: fired - len(recorded[refused.pid])})

    def test_enlarge(self):
        """A truncated file is enlarged by its program, to which it is charged again."""
        self.begin()
        attacker = Stranger(self, OTHER, self.socket_of("held"), "enlarge")

        def is_charged():
            return sum(one["memory"] for one in self.status("held")["processes"]) == attacker.answer
        wait_until(is_charged, "the charge for an enlarged file")
        self.assertRecorded(ONE)
        attacker.end()
        self.ask("destroy", "held")

    def test_refill(self):
        """They use reclaimed memory, and request more all the time. The other user has its minimum,
        which is one program's rings.
        """
        self.begin()
        attacker = Stranger(self, OTHER, self.socket_of("held"), "refill", 60)
        self.assertGreater(attacker.answer, 20)
        complete = []
        for _ in range(3):
            for uid in (ONE, 0):
                complete.append(self.assertRecorded(uid))
            self.assertLessEqual(self.status("held")["memory"], 4 * LIMIT)
        attacker.end()
        self.ask("destroy", "held")
        recorded, lost = self.sums("held")
        self.assertEqual([recorded.get(pid) for pid in complete], [list(range(100))] * len(complete))
        self.assertEqual([pid for pid in lost if pid in complete], [])


if __name__ == "__main__":
    unittest.main()
