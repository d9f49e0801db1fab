#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Probes through the daemon: tables that arrive with a request, which programs get them, and what is
reported about them.

The programs are simulated (played.py), so that each possible answer of an agent is tested; other
tests cover real programs with real tables.

usage: test_probes.py CASE
"""
import fcntl
import grp
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import unittest

from harness import Case, TIMEOUT, Program, Refused, wait_until

PLAYED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "played.py")
JUMP, BREAKPOINT, REFUSED, EBUSY = 1, 5, 7, 16


def started(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        return int(stat.read().rsplit(")", 1)[1].split()[19])


def memfd(text, seals=15):
    fd = os.memfd_create("table", os.MFD_ALLOW_SEALING)
    os.write(fd, text.encode())
    fcntl.fcntl(fd, 1033, seals)  # F_ADD_SEALS
    return fd


class Played:
    tokens = 100

    def __init__(self, case, exe="/played", *words, before=()):
        Played.tokens += 1
        self.process = subprocess.Popen(
            [*before, sys.executable, PLAYED, case.runtime, exe, str(Played.tokens), *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.pid = self.process.pid
        self.tables = {}
        self.text = b""
        self.others = []
        case.addCleanup(self.kill)
        wait_until(lambda: self.read_output() or self.heard, "a played program")

    heard = False

    def read_output(self):
        """Reads its output."""
        while select.select([self.process.stdout], [], [], 0)[0]:
            got = os.read(self.process.stdout.fileno(), 65536)
            assert got or self.process.poll() is None, "a played program has ended"
            self.text += got
            if not got:
                return
        *lines, self.text = self.text.split(b"\n")
        for line in map(json.loads, lines):
            if "sessions" in line:
                self.heard = True
                self.tables = {os.path.basename(path)[:-5]: {int(number): table for number, table in tables.items()}
                               for path, tables in line["sessions"].items()}
            else:
                self.others.append(line)

    def numbers(self, session="s"):
        self.read_output()
        return sorted(self.tables.get(session, {}))

    def send_word(self, text):
        self.process.stdin.write((text + "\n").encode())

    def expect(self, name):
        def came():
            self.read_output()
            return [line[name] for line in self.others if name in line]
        return wait_until(came, name)[-1]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Probes(Case):
    table = {"states": [JUMP] * 3 + [BREAKPOINT] + [[REFUSED, EBUSY]] * 2 + [0], "counts": [1, 2, 3, 4, 5, 6]}

    def enable(self, session="s", fd=None, table=None, **members):
        """Returns the answer to enable-probe; `members` without an event mean one of the name f."""
        text = json.dumps(table or self.table)
        own = memfd(text) if fd is None else fd
        control = self.connect()
        request = {"version": 1, "verb": "enable-probe", "session": session, "event": ["probe:f"],
                   "probe": "--function f", **members}
        try:
            socket.send_fds(control.socket, [json.dumps(request).encode()], [own] if own >= 0 else [])
            answer = control.receive()
        finally:
            control.close()
            if fd is None:
                os.close(own)
        if not answer["ok"]:
            raise Refused(answer)
        return answer

    def files(self, session="s"):
        path = os.path.join(self.runtime, "state", session + ".probes")
        return sorted(os.listdir(path)) if os.path.isdir(path) else []

    def begin(self, session="s"):
        self.start_daemon()
        self.create(session)

    def probes(self, session="s"):
        return self.status(session).get("probes", [])

    def of(self, program):
        return {"pid": program.pid, "started": started(program.pid)}


class Rendezvous(Probes):
    def test_one_process(self):
        self.begin()
        one, other = Played(self), Played(self)
        answer = self.enable(**self.of(one), filter="size > 8")
        self.assertEqual(answer["pending"], [])
        probe, = answer["probes"]
        self.assertEqual((probe["event"], probe["probe"], probe["pid"], probe["table"], probe["state"]),
                         (["probe:f"], "--function f", one.pid, 1, "set"))
        program, = probe["programs"]
        self.assertEqual((program["pid"], program["methods"], program["places"], program["set"],
                          program["refused"], program["absent"], program["answered"]),
                         (one.pid, {"jump": 3, "breakpoint": 1}, 7, 4, 2, 1, True))
        self.assertEqual(program["refusals"],
                         [{"first": 4, "count": 2, "why": "a nearby probe needs the same bytes"}])
        self.assertEqual([program[name] for name in ("cut", "lost", "unseen", "abandoned", "traps", "code-bytes")],
                         [1, 2, 3, 4, 5, 6])
        self.assertEqual((one.numbers(), other.numbers()), ([1], []))
        self.assertEqual(one.tables["s"][1], self.table)
        self.assertEqual(self.probes(), answer["probes"])
        saved = self.ask("save", "s")["definitions"][0]
        self.assertEqual(saved["probes"][0]["probe"], "--function f")
        self.assertIn({"event": ["probe:f"], "filter": "size > 8"}, saved["channels"][0]["rules"])
        self.ask("disable-event", "s", event=["f"])
        self.assertEqual((one.numbers(), self.files(), self.probes()), ([], [], []))
        self.assertEqual(self.ask("save", "s")["definitions"][0]["channels"][0]["rules"],
                         [{"event": ["sided:tick"]}])

    def test_files_and_all(self):
        self.begin()
        one, other = Played(self, "/bin/one"), Played(self, "/bin/other")
        self.enable(exe="/bin/one")
        self.enable(event=["lib:g", "lib:g_return"])
        late, lone = Played(self, "/bin/one"), Played(self, "/bin/lone")
        self.assertEqual([p.numbers() for p in (one, other, late, lone)], [[1, 2], [2], [1, 2], [2]])
        wait_until(lambda: [[p["pid"] for p in probe["programs"] if p["answered"]] for probe in self.probes()] ==
                   [[one.pid, late.pid], [one.pid, other.pid, late.pid, lone.pid]], "their answers")
        self.ask("disable-probe", "s", event=["lib:g"])
        self.assertEqual([p.numbers() for p in (one, other, late, lone)], [[1], [], [1], []])
        self.assertRefused("not-found", "disable-probe", "s", event=["lib:g"])
        self.assertRefused("not-found", "disable-probe", "s", event=["f"], pid=one.pid)

    def test_anew(self):
        """The same again has another table, which replaces the first one."""
        self.begin()
        one = Played(self)
        self.enable(**self.of(one))
        answer = self.enable(**self.of(one), table={"states": [JUMP]})
        self.assertEqual((one.numbers(), self.files()), ([2], ["2"]))
        self.assertEqual(answer["probes"][0]["programs"][0]["methods"], {"jump": 1})
        self.assertEqual(len(self.probes()), 1)

    def test_a_table_that_is_of_no_use(self):
        self.begin()
        one, unable = Played(self), Played(self, "/played", "no-probes")
        answer = self.enable(table={"states": [], "error": 71})
        reasons = {program["pid"]: program["why"] for program in answer["probes"][0]["programs"]}
        self.assertEqual(reasons, {one.pid: "its probe table is damaged",
                                unable.pid: "the program's agent cannot set probes"})
        self.assertEqual(unable.numbers(), [])
        # A real one reports it, too, whatever it supports, and runs on.
        program = Program(self)
        wait_until(lambda: [p for p in self.probes()[0]["programs"] if p["pid"] == program.pid and "why" in p],
                   "what a real agent says of a table that is none")
        program.fire(10)
        self.ask("stop", "s")
        self.assertEqual(self.counts("s"), {program.pid: list(range(10))})

    def test_before_the_start(self):
        self.start_daemon()
        self.create("s", start=False)
        one = Played(self)
        self.enable(**self.of(one))
        self.assertEqual((one.numbers(), self.files()), ([], ["1"]))
        self.ask("start", "s")
        self.assertEqual(one.numbers(), [1])
        self.ask("stop", "s")
        self.assertEqual(self.probes()[0]["state"], "stopped")
        self.ask("start", "s")
        self.assertEqual(self.probes()[0]["state"], "set")
        self.ask("destroy", "s")
        self.assertEqual((one.numbers(), self.files()), ([], []))

    def test_save_and_load(self):
        """A loaded definition has no table: this is shown, and when it is enabled again it has one."""
        self.begin()
        one = Played(self)
        self.enable(**self.of(one))
        saved = self.ask("save", "s")["definitions"][0]
        self.ask("destroy", "s")
        saved["output"] += "-again"
        self.ask("load", definition=saved)
        self.ask("start", "s")
        self.assertEqual(one.numbers(), [])
        probe, = self.probes()
        self.assertEqual((probe["state"], probe["probe"]), ("no table", "--function f"))
        self.enable(**self.of(one))
        self.assertEqual(self.probes()[0]["state"], "set")

    def test_descriptors_that_are_refused(self):
        self.begin()
        large = os.memfd_create("large", os.MFD_ALLOW_SEALING)
        os.truncate(large, (32 << 20) + 1)
        fcntl.fcntl(large, 1033, 15)
        pipe = os.pipe()
        with open(__file__, "rb") as plain:
            bad = [-1, memfd("{}", 0), memfd("{}", 7), memfd("", 15), large, *pipe, plain.fileno()]
            for fd in bad:
                with self.assertRaises(Refused) as caught:
                    self.enable(fd=fd)
                self.assertEqual(caught.exception.kind, "usage")
                if fd >= 0 and fd != plain.fileno():
                    os.close(fd)
        self.assertRefused("usage", "enable-probe", "s", event=["probe:*"], probe="x")
        self.assertEqual((self.files(), self.probes()), ([], []))
        # A descriptor with a request that wants none is closed.
        before = len(os.listdir(f"/proc/{self.daemon.pid}/fd"))
        control = self.connect()
        for _ in range(20):
            fd = memfd("x")
            socket.send_fds(control.socket, [b'{"version":1,"verb":"ping"}'], [fd] * 20)
            os.close(fd)
            self.assertTrue(control.receive()["ok"])
        control.close()
        wait_until(lambda: len(os.listdir(f"/proc/{self.daemon.pid}/fd")) <= before, "no descriptor is kept")

    def test_children(self):
        """A forked child has the probes of its process, also if the recorder has been replaced by then."""
        self.begin()
        one, other = Played(self), Played(self)
        self.enable(**self.of(one))
        for program in (one, other):
            program.send_word(f"fork {program.pid}")
        child, stranger = one.expect("child"), other.expect("child")
        for pid in (child, stranger):
            self.addCleanup(os.kill, pid, signal.SIGKILL)

        def have():
            return sorted(p["pid"] for p in self.probes()[0]["programs"] if p["answered"])
        wait_until(lambda: len(self.status("s")["processes"]) >= 4, "the children")
        wait_until(lambda: have() == sorted([one.pid, child]), "the answer of the child")
        os.kill(self.status("s")["recorder"], signal.SIGKILL)
        wait_until(lambda: self.status("s")["restarts"] == 1 and self.status("s")["state"] == "active" and
                   have() == sorted([one.pid, child]), "both with another recorder")


class Users(Probes):
    """A probe reads all memory of its process: no user gets one into a process of another user."""

    NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")

    def setUp(self):
        super().setUp()
        if os.geteuid() or not shutil.which("setpriv"):
            self.skipTest("only root can be another user")
        if subprocess.run([*self.NOBODY, sys.executable, "-c", f"open({PLAYED!r})"], check=False,
                          capture_output=True).returncode:
            self.skipTest("another user cannot run a played program here")
        os.chmod(self.dir, 0o755)

    def ask_as_nobody(self, group=65534, **members):
        """Sends enable-probe as another user, through that user's connection; a member of the group tracing."""
        request = {"version": 1, "verb": "enable-probe", "session": "s", "event": ["probe:f"], "probe": "f", **members}
        request = {name: value for name, value in request.items() if value is not None}
        fd = memfd(json.dumps(self.table))
        script = (f"import socket; one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET);"
                  f"one.connect({os.path.join(self.runtime, 'control.sock')!r});"
                  f"socket.send_fds(one, [{json.dumps(request).encode()!r}], [{fd}]);"
                  f"print(one.recv(1 << 17).decode())")
        done = subprocess.run([*self.NOBODY[:2], f"--regid={group}", f"--groups={self.group}", sys.executable, "-c", script],
                              pass_fds=[fd], capture_output=True, text=True, timeout=TIMEOUT, check=True)
        os.close(fd)
        return json.loads(done.stdout)

    def test_of_the_systems_daemon(self):
        try:
            self.group = grp.getgrnam("tracing").gr_gid
        except KeyError:
            self.skipTest("there is no group tracing")
        self.start_daemon("--system")
        # In a session of this user: not even such a probe is put into a session of root.
        self.create("roots")
        self.assertEqual(self.ask_as_nobody(session="roots")["kind"], "permission")
        for verb in ("create", "enable-event", "start"):
            members = {"event": ["sided:tick"]} if verb == "enable-event" else {}
            self.assertTrue(self.ask_as_nobody(**{"verb": verb, "event": None, "probe": None, **members})["ok"])
        roots, his = Played(self), Played(self, before=self.NOBODY)
        self.assertTrue(self.ask_as_nobody()["ok"])
        self.assertEqual((roots.numbers(), his.numbers(), self.probes()[0]["uid"]), ([], [1], 65534))
        # With another group the kernel does not permit this user to trace it, either.
        self.assertTrue(self.ask_as_nobody(group=self.group, **self.of(his), event=["probe:h"])["ok"])
        self.assertEqual(his.numbers(), [1])
        # Root may, in its own session, and may change this one, which has programs of its user
        # only.
        self.enable("roots")
        self.assertEqual((roots.numbers("roots"), his.numbers("roots")), ([1], [1]))
        self.enable()
        self.assertEqual((roots.numbers(), his.numbers()), ([], [3]))
        # Nor by its number, nor by a descriptor of a permitted user.
        self.assertTrue(self.ask_as_nobody(**self.of(roots), event=["probe:g"])["ok"])
        self.assertEqual((roots.numbers(), roots.numbers("roots")), ([], [1]))

    def test_kept_definitions(self):
        """The next daemon knows its owner."""
        self.start_daemon("--system")
        self.create("s")
        self.enable()
        self.kill_daemon()
        path = os.path.join(self.runtime, "state", "s.json")
        with open(path, encoding="utf-8") as file:
            state = json.load(file)
        state["definition"]["probes"][0]["uid"] = 65534
        with open(path, "w", encoding="utf-8") as file:
            json.dump(state, file)
        self.start_daemon("--system")
        self.await_state("s", "active")
        roots, his = Played(self), Played(self, before=self.NOBODY)
        self.assertEqual((roots.numbers(), his.numbers()), ([], [1]))


class Troubles(Probes):
    def test_kills(self):
        self.begin()
        one = Played(self, "/bin/one")
        self.enable(**self.of(one))
        self.enable(exe="/bin/late")

        def is_set():
            probes = self.probes()
            return [p["state"] for p in probes][:1] == ["set"] and probes[0]["programs"][0]["set"] == 4
        for i in range(2):
            os.kill(self.status("s")["recorder"], signal.SIGKILL)
            wait_until(lambda: self.status("s")["restarts"] == i + 1 and is_set(), "it is asked again")
            self.assertEqual(Played(self, "/bin/late").numbers(), [2])
        self.kill_daemon()
        self.start_daemon()
        wait_until(lambda: self.status("s")["state"] == "active" and is_set(), "the next daemon knows")
        self.assertEqual((Played(self, "/bin/late").numbers(), self.files()), ([2], ["1", "2"]))
        # Numbers continue.
        self.ask("disable-probe", "s")
        self.enable(**self.of(one))
        self.assertEqual(one.numbers(), [3])

    def test_while_it_is_asked(self):
        self.begin()
        one = Played(self)
        for i in range(3):
            recorder = self.status("s")["recorder"]
            self.stop_process(recorder)
            control = self.connect()
            fd = memfd(json.dumps(self.table))
            request = {"version": 1, "verb": "enable-probe", "session": "s", "event": ["probe:f"], "probe": "f",
                       "timeout": 60000000000, **self.of(one)}
            socket.send_fds(control.socket, [json.dumps(request).encode()], [fd])
            os.close(fd)
            os.kill(recorder, signal.SIGKILL)
            self.assertTrue(control.receive()["ok"])
            control.close()
            wait_until(lambda: one.numbers() == [i + 1] and self.probes()[0]["state"] == "set", "set after all")

    def test_a_stopped_program(self):
        self.begin()
        one = Played(self)
        self.stop_process(one.pid)
        answer = self.enable(**self.of(one), timeout=200000000)
        self.assertEqual([(p["pid"], p["why"]) for p in answer["pending"]], [(one.pid, "stopped by a signal")])
        self.assertEqual((answer["probes"][0]["state"], answer["probes"][0]["programs"]), ("waiting", []))
        os.kill(one.pid, signal.SIGCONT)
        wait_until(lambda: self.probes()[0]["state"] == "set", "it is set when it runs again")

    def test_a_number_that_another_one_has(self):
        self.begin()
        one = Played(self)
        answer = self.enable(pid=one.pid, started=started(one.pid) + 1)
        self.assertEqual((answer["probes"][0]["programs"], one.numbers()), ([], []))

    def test_answers_changed_at_random(self):
        self.begin()
        one = Played(self)
        self.enable(**self.of(one))
        recorder = self.status("s")["recorder"]
        for seed in range(3):
            one.others.clear()
            one.send_word(f"garbage {seed}")
            one.expect("garbage")
        wait_until(lambda: self.probes()[0]["programs"] and self.probes()[0]["programs"][0]["set"] == 4,
                   "the valid answer at last")
        self.assertEqual(self.status("s")["recorder"], recorder)


if __name__ == "__main__":
    assert TIMEOUT
    unittest.main(argv=sys.argv[:1] + sys.argv[1:])
