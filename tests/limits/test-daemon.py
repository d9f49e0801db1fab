# SPDX-License-Identifier: MIT
"""Limits of the daemon, through its control socket: the last permitted value, and one more."""
import fcntl
import json
import os
import socket
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "sided"))

from harness import Case

F_ADD_SEALS, ALL_SEALS = 1033, 2 | 4 | 8  # shrink, grow, write


class Daemon(Case):
    def refusal(self, kind, verb, session=None, **members):
        answer = self.assertRefused(kind, verb, session, **members)
        return answer["error"], answer["hint"]

    def test_sessions(self):
        self.start_daemon()
        control = self.connect()
        self.addCleanup(control.close)
        for number in range(256):
            control.ask("create", f"s{number}")
        self.assertEqual(self.refusal("busy", "create", "more"), ("cannot create a session: the limit of 256 sessions is reached", "remove sessions with `side destroy`"))
        control.ask("destroy", "s0")
        control.ask("create", "more")
        self.assertEqual(len(control.ask("list")["sessions"]), 256)

    def test_connections_of_a_user(self):
        """The 65th connection replaces the oldest idle one."""
        self.start_daemon()
        connections = []
        for _ in range(64):
            connections.append(self.connect())
            self.addCleanup(connections[-1].close)
            self.assertTrue(connections[-1].ask("ping")["ok"])
        more = self.connect()
        self.addCleanup(more.close)
        self.assertTrue(more.ask("ping")["ok"])
        with self.assertRaises((EOFError, OSError)):
            connections[0].ask("ping")
        for one in connections[1:]:
            self.assertTrue(one.ask("ping")["ok"])

    def test_timeout(self):
        self.start_daemon()
        self.ask("create", "s")
        day = 24 * 3600 * 10**9
        self.ask("enable-event", "s", event=["a:b"], timeout=day)
        self.assertEqual(self.refusal("usage", "enable-event", "s", event=["a:c"], timeout=day + 1),
                         (f'"timeout" is {day + 1}, which is more than {day}', ""))
        self.assertEqual(self.refusal("usage", "enable-event", "s", event=["a:c"], timeout=-1),
                         ('"timeout" is not an integer of 0 or more', ""))

    def enable(self, event, size):
        """Returns the answer about a table with this number of bytes, which the daemon stores without reading it."""
        table = os.memfd_create("table", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        control = self.connect()
        try:
            os.ftruncate(table, size)
            fcntl.fcntl(table, F_ADD_SEALS, ALL_SEALS)
            request = {"version": 1, "verb": "enable-probe", "session": "s", "event": [f"probe:{event}"], "probe": f"--function {event}"}
            socket.send_fds(control.socket, [json.dumps(request).encode()], [table])
            return control.receive()
        finally:
            control.close()
            os.close(table)

    def assert_kept(self, sizes):
        path = os.path.join(self.runtime, "state", "s.probes")
        self.assertEqual(sorted(os.stat(os.path.join(path, name)).st_size for name in os.listdir(path)), sizes)

    def test_table(self):
        self.start_daemon()
        self.ask("create", "s")
        most = 32 << 20
        answer = self.enable("f", most)
        self.assertTrue(answer["ok"], answer)
        self.assert_kept([most])
        answer = self.enable("g", most + 1)
        self.assertEqual((answer["kind"], answer["error"], answer["hint"]),
                         ("usage", f"the probe table has {most + 1} bytes, more than 32 MiB", "request fewer probes at once"))
        self.assert_kept([most])

    def test_tables_of_a_session(self):
        """A sparse file counts with its size. It replaces earlier tables."""
        self.start_daemon()
        self.ask("create", "s")
        self.assertTrue(self.enable("f", 1)["ok"])
        other = os.path.join(self.runtime, "state", "s.probes", "999")
        for size, taken in ((11, False), (10, True)):
            with open(other, "wb") as file:
                os.ftruncate(file.fileno(), (128 << 20) - 11)
            answer = self.enable("g", size)
            self.assertEqual(answer["ok"], taken, answer)
            if not taken:
                self.assertEqual((answer["kind"], answer["error"], answer["hint"]),
                                 ("busy", "the probe tables of the session would exceed 128 MiB",
                                  "disable probes, or use another session"))
        self.assert_kept([1, 10])


if __name__ == "__main__":
    unittest.main()
