# SPDX-License-Identifier: MIT
"""A recorder that replaces a killed one, as agents see it: which of their messages it accepts."""
import os
import unittest

from recording import read
from test_live import Agent, LiveCase, Session


class Takeover(LiveCase):
    def open(self, *definition, options=("-a",)):
        place = os.path.join(self.dir, "place")
        session = Session(self, *(definition or ("c=ring", "r=")), options=("-p", place, *options))
        if session.opened["ok"]:
            self.addCleanup(session.end)
        return session

    def kill(self, session):
        session.process.kill()
        session.process.wait()

    def all_values(self):
        """Returns {event: [values]} of all traces together."""
        found = {}
        for trace in read(self.output).values():
            self.assertEqual((trace.discarded, trace.lost), (0, {}))
            for name, fields, _ in trace.events:
                found.setdefault(name, []).append(fields.get("value", fields.get("sequence")))
        return {name: sorted(values) for name, values in found.items()}

    def test_refresh_and_new_events(self):
        session = self.open()
        agent = Agent(self, session)
        self.assertTrue(agent.hello(5)["accepted"])
        self.assertEqual(agent.describe(5, 0, "one")["accepted"], 1)
        agent.publish(5, 0, range(100))
        for life in range(1, 4):
            self.kill(session)
            agent.publish(5, 0, range(life * 100, life * 100 + 100))
            session = self.open()
            self.assertEqual(session.opened["number"], life + 1)
            answer = agent.refresh(5, life)
            self.assertTrue(answer["accepted"], answer)
            self.assertFalse(answer["unchanged"], answer)
            # It knows the described events, and accepts new ones.
            self.assertEqual(agent.describe(5, 0, "one")["accepted"], 0)
            self.assertEqual(agent.describe(5, life, f"new{life}")["accepted"], 1)
            agent.publish(5, life, range(50))
        process, = session.status()["processes"]
        self.assertEqual(process["pid"], agent.pid)
        # An unknown token, or one of an earlier process with the same id.
        self.assertFalse(agent.refresh(6, 1)["accepted"])
        self.assertFalse(Agent(self, session).refresh(5, 1)["accepted"])
        self.assertTrue(session.finish()["ok"])
        self.assertEqual(self.all_values(), {
            "live:one": list(range(400)), **{f"live:new{n}": list(range(50)) for n in (1, 2, 3)}})

    def test_exec_and_end_meanwhile(self):
        session = self.open()
        agents = [Agent(self, session) for _ in range(2)]
        for agent in agents:
            agent.hello(1)
            agent.describe(1, 0, "one")
            agent.publish(1, 0, range(10))
        self.kill(session)
        agents[0].end()
        session = self.open()
        # The same process after execve().
        self.assertTrue(agents[1].hello(2)["accepted"])
        agents[1].describe(2, 0, "one")
        agents[1].publish(2, 0, range(10, 20))
        status = session.wait_for(lambda status: len(
            [p for p in status["processes"] if not p["ended"]]) == 1)
        self.assertEqual([p["pid"] for p in status["processes"] if not p["ended"]], [agents[1].pid])
        self.assertTrue(session.finish()["ok"])
        self.assertEqual(self.all_values()["live:one"], sorted([*range(10), *range(10), *range(10, 20)]))

    def test_flight_recorder(self):
        session = self.open("c=ring:overwrite:65536", "r=")
        agents = [Agent(self, session) for _ in range(2)]
        for agent in agents:
            agent.hello(1)
            agent.describe(1, 0, "one")
            agent.publish(1, 0, range(50000))
        self.kill(session)
        agents[0].end()
        session = self.open("c=ring:overwrite:65536", "r=")
        agents[1].publish(1, 0, range(50000, 60000))
        self.kill(session)
        session = self.open("c=ring:overwrite:65536", "r=")
        self.assertTrue(session.finish()["ok"])
        windows = {}
        for name, trace in read(self.output).items():
            windows.setdefault(name.split("-")[1], []).extend(
                fields["value"] for event, fields, _ in trace.events if event == "live:one")
        for agent, end in zip(agents, (50000, 60000)):
            values = windows[str(agent.pid)]
            self.assertGreater(len(values), 1000)
            self.assertEqual(len(values), len(set(values)))
            self.assertEqual(max(values), end - 1)

    def test_generations_count_on(self):
        session = self.open()
        for generation in range(2, 6):
            self.assertEqual(session.change("c=ring", "r=", f"e=live:n{generation}")["number"],
                             generation)
        self.kill(session)
        session = self.open()
        self.assertEqual(session.opened["number"], 6)
        self.assertTrue(session.finish()["ok"])

    def test_other_channels(self):
        """A definition that differs from that of the process: its rings are drained, and it is ordered to leave."""
        session = self.open()
        agent = Agent(self, session)
        agent.hello(5)
        agent.describe(5, 0, "one")
        agent.publish(5, 0, range(100))
        self.kill(session)
        session = self.open("c=other", "r=")
        self.assertFalse(agent.refresh(5, 1)["accepted"])
        agent.publish(5, 0, range(100, 200))
        self.assertTrue(session.finish()["ok"])
        self.assertEqual(self.all_values()["live:one"], list(range(200)))

    def test_refused_processes(self):
        place = os.path.join(self.dir, "place")
        os.mkdir(place, 0o700)
        os.chmod(place, 0o777)
        self.assertFails(self.open().opened, "other users may write there", kind=3)
        os.rmdir(place)
        os.symlink(self.dir, place)
        self.assertFails(self.open().opened, "not a directory, or a link", kind=1)
        os.unlink(place)
        with open(place, "w"):
            pass
        self.assertFails(self.open().opened, "not a directory", kind=1)


if __name__ == "__main__":
    unittest.main()
