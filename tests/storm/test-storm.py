#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Everything at once: many programs, sessions that change all the time, kills, floods and full disks,
and accounts that must match at the end.

usage: test-storm.py Storm|Kills|Clocks|Floods|Disks

SIDE_TEST_LONG=1 makes it long: minutes, hundreds of processes and kills.
"""
import collections
import glob
import json
import mmap
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.environ["STORM_SIDED"])

# pylint: disable=wrong-import-position
import bt2
import harness
from harness import Case, wait_until

LONG = os.environ.get("SIDE_TEST_LONG") == "1"
PROGRAM = os.environ["STORM_PROGRAM"]
FOREVER = harness.TIMEOUT * 10**9
USERS = (65534, 65533)


class Storms(Case):
    preloaded = {}  # libraries for programs

    def setUp(self):
        super().setUp()
        self.accounts = os.path.join(self.dir, "accounts")
        os.mkdir(self.accounts)
        os.chmod(self.dir, 0o755)
        os.chmod(self.accounts, 0o777)
        path = os.path.join(self.dir, "window")
        with open(path, "wb") as file:
            file.write(bytes(8))
        with open(path, "r+b") as file:
            self.window_map = mmap.mmap(file.fileno(), 8)
        self.addCleanup(self.window_map.close)
        self.window_path = path
        seed = int(os.environ.get("STORM_SEED", random.SystemRandom().randrange(1 << 30)))
        self.chance = random.Random(seed)
        self.addCleanup(lambda: print(f"seed {seed}", file=sys.stderr))

    def set_window(self, window):
        self.window_map[:] = struct.pack("<Q", window)

    def spawn(self, milliseconds, threads=1, forks=0, pause_us=2000, uid=None, control="thread"):
        env = {**os.environ, "SIDE_RUNTIME": self.runtime, "SIDE_CONTROL": control, "SIDE_TIMEOUT_FACTOR": "60"}
        for name in ("SIDE_AGENT_SOCKET", "LD_PRELOAD", "SIDE_DEBUG"):
            env.pop(name, None)
        env.update(self.preloaded)
        words = [PROGRAM, self.window_path, self.accounts, str(milliseconds), str(threads), str(forks), str(pause_us)]
        if uid is not None:
            words = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *words]
        process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait()

    def recorded(self, session):
        """Returns {pid: {thread: {number: window}}} of the recorded events; no number may be there twice."""
        found = collections.defaultdict(lambda: collections.defaultdict(dict))
        for directory, _, files in os.walk(os.path.join(self.dir, session)):
            if "metadata" not in files:
                continue
            pid = int(re.search(r"-(\d+)-\d+(-r\d+)?$", directory).group(1))
            for message in bt2.TraceCollectionMessageIterator(directory):
                # side:lost has the number of lost events, which the daemon reports, too.
                if not isinstance(message, bt2._EventMessageConst) or message.event.name == "side:lost":
                    continue
                field = message.event.payload_field
                numbers = found[pid][int(field["thread"])]
                number = int(field["number"])
                self.assertNotIn(number, numbers, f"twice in {session}: {pid}")
                numbers[number] = int(field["window"])
        return found

    def fired_by(self, pid):
        with open(os.path.join(self.accounts, f"account-{pid}"), encoding="ascii") as file:
            return sum(int(line.split()[2]) for line in file if line.split()[1] == "end")

    def destroy(self, session):
        """Destroys the session; returns the losses by pid."""
        answer = self.ask("destroy", session, timeout=FOREVER)
        self.assertEqual(answer["pending"], [])
        lost = collections.Counter()
        for process in answer.get("processes", []):
            lost[process["pid"]] += process["lost"]
        return lost


class Storm(Storms):
    """Three sessions with different filters and users, switched at random while short and long programs run."""

    PROGRAMS = 1000 if LONG else 40  # number of forking programs
    AT_ONCE = 30 if LONG else 8
    SESSIONS = ("all", "thirds", "odds")

    def find_users(self):
        """Finds users other than this one that programs can run as."""
        if os.geteuid() or not shutil.which("setpriv"):
            return []
        tried = subprocess.run(["setpriv", f"--reuid={USERS[0]}", f"--regid={USERS[0]}", "--clear-groups", PROGRAM],
                               capture_output=True, check=False)
        return list(USERS) if tried.returncode == 2 else []

    @staticmethod
    def wants(session, number, thread):
        if session == "thirds":
            return number % 3 == 0 and thread != 1
        return session == "all" or number % 2 == 1

    def make_sessions(self):
        self.enabled = {}
        for session, event, condition in (("all", "storm:say", None),
                                          ("thirds", "storm:say", "number % 3 == 0 && thread != 1"),
                                          ("odds", "storm:odd", None)):
            self.ask("create", session, output=os.path.join(self.dir, session))
            self.enabled[session] = [{"event": [event], **({"filter": condition} if condition else {})}, False]
        if self.users:
            self.ask("track", "odds", uid=[str(self.users[0])])
        for session in self.SESSIONS:
            self.switch([session])
            self.ask("start", session, timeout=FOREVER)

    def switch(self, sessions):
        """Inverts the state of each session, all at the same time; when this returns, the change is in
        effect everywhere.
        """
        asked = []
        for session in sessions:
            rule, enabled = self.enabled[session]
            control = self.connect()
            control.send("disable-event" if enabled else "enable-event", session, timeout=FOREVER,
                         **({"event": rule["event"]} if enabled else rule))
            asked.append((session, control))
        for session, control in asked:
            answer = control.receive()
            control.close()
            self.assertTrue(answer["ok"], answer)
            self.assertEqual(answer["pending"], [])
            self.enabled[session][1] = not self.enabled[session][1]

    def spawn_all(self):
        alive, codes = [], []
        for i in range(self.PROGRAMS):
            while len(alive) >= self.AT_ONCE:
                for process in [p for p in alive if p.poll() is not None]:
                    alive.remove(process)
                    codes.append(process.returncode)
                time.sleep(0.01)
            long_one = self.chance.random() < 0.3
            alive.append(self.spawn(self.chance.randrange(500, 3000) if long_one else self.chance.randrange(1, 150),
                                    threads=self.chance.choice([1, 1, 2, 3]), forks=self.chance.choice([0, 0, 0, 1, 2]),
                                    uid=self.chance.choice([None, *self.users]),
                                    control=self.chance.choice(["thread", "thread", "signal:USR2"])))
            self.by_pid[alive[-1].pid] = i
        for process in alive:
            codes.append(process.wait(harness.TIMEOUT))
        self.codes = codes

    def storm(self):
        """The certain windows: window -> enabled sessions."""
        states, window = {}, 0
        spawner = threading.Thread(target=self.spawn_all)
        spawner.start()
        while spawner.is_alive():
            states[window] = {session for session in self.SESSIONS if self.enabled[session][1]}
            time.sleep(self.chance.uniform(0.02, 0.15))
            self.set_window(window + 1)
            self.switch(self.chance.sample(self.SESSIONS, self.chance.randrange(1, 4)))
            window += 2
            self.set_window(window)
        spawner.join()
        return states

    def read_accounts(self):
        """Returns {pid: (uid, {thread: ([(window, first, count)], events)})}."""
        accounts = {}
        for path in glob.glob(os.path.join(self.accounts, "account-*")):
            threads = collections.defaultdict(lambda: [[], 0])
            with open(path, encoding="ascii") as file:
                for line in file:
                    words = line.split()
                    if words[1] == "end":
                        threads[int(words[0])][1] = int(words[2])
                    else:
                        threads[int(words[0])][0].append(tuple(map(int, words[1:])))
            accounts[int(path.rsplit("-", 1)[1])] = os.stat(path).st_uid, threads
        return accounts

    def reconcile(self, session, states, lost):
        accounts, found = self.read_accounts(), self.recorded(session)
        compared = 0
        self.assertLessEqual(set(found), set(accounts))
        for pid, (uid, threads) in accounts.items():
            mine = session != "odds" or not self.users or uid == self.users[0]
            missing = maybe = 0
            for thread, (rows, events) in threads.items():
                numbers = found.get(pid, {}).get(thread, {})
                certain = set()
                for window, first, count in rows:
                    if window not in states:
                        continue
                    row = range(first, first + count)
                    certain.update(row)
                    has = {n for n in row if n in numbers}
                    wanted = {n for n in row if mine and session in states[window] and self.wants(session, n, thread)}
                    where = f"{session}, process {pid}, thread {thread}, window {window}, of {first} and {count} more"
                    self.assertLessEqual(has, wanted, where)
                    if not lost[pid]:
                        self.assertEqual(has, wanted, where)
                    self.assertEqual({numbers[n] for n in has} - {window}, set(), where)
                    missing += len(wanted) - len(has)
                    compared += len(wanted)
                between = [n for n in range(events) if n not in certain and self.wants(session, n, thread)]
                self.assertLessEqual(set(numbers) - certain, set(between) if mine else set())
                maybe += sum(n not in numbers for n in between)
            # Missing events were counted; counted ones are missing or uncertain.
            self.assertLessEqual(missing, lost[pid])
            self.assertLessEqual(lost[pid], missing + maybe)
        return compared

    def test_storm(self):
        self.users = self.find_users()
        self.by_pid = {}
        self.start_daemon(*(["--system"] if self.users else []))
        self.make_sessions()
        states = self.storm()
        self.assertEqual(set(self.codes), {0})
        compared = {}
        for session in self.SESSIONS:
            compared[session] = self.reconcile(session, states, self.destroy(session))
        print(f"{len(states)} windows, {len(self.read_accounts())} processes, users {self.users or 'one'}: {compared}",
              file=sys.stderr)
        # With so many windows some sessions were enabled in some of them.
        self.assertGreater(compared["all"], 0)


class Kills(Storms):
    """Kills of the daemon, of recorders, and of programs."""

    KILLS = 300 if LONG else 15
    AT_ONCE = 4

    def live(self, pid):
        """Returns how many events each thread has begun, and how many it has fired."""
        with open(os.path.join(self.accounts, f"account-{pid}.live"), "rb") as file:
            words = struct.unpack("<16Q", file.read())
        return words[0::2], words[1::2]

    def begin_program(self):
        program = self.spawn(0, threads=self.chance.choice([1, 2]))
        path = os.path.join(self.accounts, f"account-{program.pid}.live")
        wait_until(lambda: os.path.exists(path) and os.path.getsize(path) and self.live(program.pid)[1][0],
                   "it says something")
        return program

    def still_runs(self, program):
        before = self.live(program.pid)[1][0]
        wait_until(lambda: program.poll() is not None or self.live(program.pid)[1][0] > before + 10, "it goes on")
        self.assertIsNone(program.poll())

    def kill_one(self, programs, session):
        what = self.chance.choice(["daemon", "recorder", "recorder", "program"])
        # A recorder that dies repeatedly is started again after longer and longer pauses, by the
        # same daemon.
        if what == "recorder" and self.status(session)["restarts"] >= 3:
            what = "daemon"
        if what == "daemon":
            self.kill_daemon()
            for program in programs:
                self.still_runs(program)
            self.start_daemon()
        elif what == "recorder":
            os.kill(self.status(session)["recorder"], signal.SIGKILL)
        else:
            victim = self.chance.choice(programs)
            victim.kill()
            victim.wait()
            programs.remove(victim)
        self.await_state(session, "active")

    def test_kills(self):
        self.start_daemon()
        for session in ("s", "t"):
            self.create(session, event="storm:say")
        programs = [self.begin_program() for _ in range(self.AT_ONCE)]
        started = [program.pid for program in programs]
        for _ in range(self.KILLS):
            time.sleep(self.chance.uniform(0, 0.2))
            self.kill_one(programs, self.chance.choice(["s", "t"]))
            for program in programs:
                self.still_runs(program)
            for session in ("s", "t"):
                self.await_state(session, "active")
            while len(programs) < self.AT_ONCE:
                programs.append(self.begin_program())
                started.append(programs[-1].pid)
        for program in programs:
            program.kill()
            program.wait()
        for session in ("s", "t"):
            self.reconcile(session, started, self.destroy(session))

    def reconcile(self, session, started, lost):
        found = self.recorded(session)
        for pid in started:
            missing = maybe = 0
            for thread, (begun, fired_by) in enumerate(zip(*self.live(pid))):
                numbers = found.get(pid, {}).get(thread, {})
                self.assertLessEqual(set(numbers), set(range(begun)), f"{session}, process {pid}")
                missing += sum(n not in numbers for n in range(fired_by))
                maybe += begun - fired_by
            self.assertLessEqual(missing, lost[pid], f"{session}, process {pid}: more is missing than was counted")
            self.assertLessEqual(lost[pid], missing + maybe, f"{session}, process {pid}")


class Clocks(Kills):
    """The wall clock of all processes jumps, far and near, in both directions, while they record, rotate and die."""

    JUMPS = 200 if LONG else 12
    BIT_NS, HOUR_NS, YEAR_NS = 300 * 10**6, 3600 * 10**9, 365 * 86400 * 10**9
    AT_ONCE = 3

    def setUp(self):
        super().setUp()
        path = os.path.join(self.dir, "clock")
        with open(path, "wb") as file:
            file.write(bytes(8))
        with open(path, "r+b") as file:
            self.clock = mmap.mmap(file.fileno(), 8)
        self.addCleanup(self.clock.close)
        self.preloaded = {"LD_PRELOAD": os.environ["STORM_CLOCK_LIBRARY"], "STORM_CLOCK": path}
        for name, value in self.preloaded.items():
            os.environ[name] = value
            self.addCleanup(os.environ.pop, name)

    def jump(self):
        off = self.chance.choice([-1, 1]) * self.chance.choice([self.BIT_NS, self.HOUR_NS, 9 * self.YEAR_NS])
        self.clock[:] = struct.pack("<q", off)
        # Other processes see the jump, too.
        seen = subprocess.run(["date", "+%s"], capture_output=True, check=True, text=True).stdout
        self.assertAlmostEqual(int(seen), time.time() + off / 1e9, delta=harness.TIMEOUT)

    def test_kills(self):
        """(The test of Kills, with jumps.)"""

    def act(self, programs, started):
        what = self.chance.choice(["rotate", "nothing", "kill", "program", "stop"])
        if what == "rotate":
            self.ask("rotate", "s")
        elif what == "kill" and self.status("s")["restarts"] < 3:
            os.kill(self.status("s")["recorder"], signal.SIGKILL)
            self.await_state("s", "active")
        elif what == "program":
            programs.append(self.begin_program())
            started.append(programs[-1].pid)
        elif what == "stop":
            self.ask("stop", "s")
            self.ask("start", "s")

    def test_jumps(self):
        begin = time.time_ns()
        self.start_daemon()
        for name in ("s", "t"):
            self.create(name, event="storm:say")
        programs = [self.begin_program() for _ in range(self.AT_ONCE)]
        started = [program.pid for program in programs]
        for _ in range(self.JUMPS):
            self.jump()
            self.act(programs, started)
            for program in programs:
                self.still_runs(program)
        for program in programs:
            program.kill()
            program.wait()
        # In the session that was never stopped no event is missing.
        self.ask("destroy", "s", timeout=FOREVER)
        self.reconcile("t", started, self.destroy("t"))
        end = time.time_ns()
        for session in ("s", "t"):
            self.check_times(session, begin, end)

    def check_times(self, session, begin, end):
        """Checks that the times are those of the clock at the start of the session, in spite of later jumps."""
        traces = [directory for directory, _, files in os.walk(os.path.join(self.dir, session)) if "metadata" in files]
        self.assertGreater(len(traces), 2)
        for trace in traces:
            last = {}
            for message in bt2.TraceCollectionMessageIterator(trace):
                if not isinstance(message, bt2._EventMessageConst):
                    continue
                thread = int(message.event.payload_field["thread"])
                now = message.default_clock_snapshot.ns_from_origin
                number = int(message.event.payload_field["number"])
                before, at = last.get(thread, (-1, begin))
                self.assertGreater(number, before, trace)
                self.assertGreaterEqual(now, at, trace)
                self.assertLessEqual(now, end, trace)
                last[thread] = number, now


class Floods(Storms):
    """Connections to each socket, and peers that do not read."""

    CONNECTIONS = 3000 if LONG else 700

    def hold(self, name, count):
        held = []
        self.addCleanup(lambda: [one.close() for one in held])
        for _ in range(count):
            held.append(harness.connect_patiently(os.path.join(self.runtime, name)))
        return held

    def check_program(self, session):
        program = self.spawn(1)
        self.assertEqual(program.wait(harness.TIMEOUT), 0)
        return program.pid

    def test_floods(self):
        """A user with as many connections as permitted does not prevent a program from being recorded,
        at either socket.
        """
        self.start_daemon()
        self.create("s", event="storm:say")
        pids = []
        for name in ("control.sock", "agents.sock", "sessions/s.sock"):
            held = self.hold(name, self.CONNECTIONS)
            for _ in range(3):
                pids.append(self.check_program("s"))
                self.ask("disable-event", "s", event=["storm:say"], timeout=FOREVER)
                self.ask("enable-event", "s", event=["storm:say"], timeout=FOREVER)
            for one in held:
                one.close()
        lost, found = self.destroy("s"), self.recorded("s")
        for pid in pids:
            self.assertEqual(len(found[pid][0]) + lost[pid], self.fired_by(pid))

    def test_programs_that_do_not_read(self):
        """The programs get each change and read none: no other process waits longer."""
        self.start_daemon()
        self.create("s", event="storm:say")
        slow = self.hold("agents.sock", 1)[0]
        body = struct.pack("<IIIIQQII", os.getpid(), 2, 0, 0, 5, 0, 5, 5) + b"slow\0/slo\0"
        slow.send(struct.pack("<IHHII", 0x45444953, 5, 9, 16 + len(body), 0) + body)
        program = self.spawn(0)
        for i in range(600 if LONG else 200):
            verb = "enable-event" if i % 2 else "disable-event"
            answer = self.ask(verb, "s", event=["storm:say"], timeout=0)
            self.assertTrue({one["pid"] for one in answer["pending"]} <= {os.getpid(), program.pid})
            self.assertTrue(self.ask("ping")["ok"])
        slow.close()
        self.ask("disable-event", "s", event=["storm:say"], timeout=FOREVER)
        self.assertIsNone(program.poll())
        self.ask("destroy", "s", timeout=FOREVER)

    def test_clients_that_do_not_read(self):
        self.start_daemon()
        self.create("s", event="storm:say")
        for client in self.hold("control.sock", 20):
            client.setblocking(False)
            try:
                for _ in range(100000):
                    client.send(json.dumps({"version": 1, "verb": "status", "session": "s"}).encode())
            except (BlockingIOError, BrokenPipeError, ConnectionResetError):
                pass
        pid = self.check_program("s")
        for _ in range(50):
            self.assertTrue(self.ask("status", "s")["ok"])
        self.destroy("s")
        self.assertIn(pid, self.recorded("s"))


class Disks(Storms):
    """A disk that is full and gets free space again."""

    def setUp(self):
        super().setUp()
        self.small = os.path.join(self.dir, "small")
        os.mkdir(self.small)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", self.small], capture_output=True,
                              check=False)
        if done.returncode:
            self.skipTest("a file system cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.small], check=False)

    @staticmethod
    def fill(path):
        file = os.open(path, os.O_WRONLY | os.O_CREAT)
        try:
            while os.write(file, bytes(4096)):
                pass
        except OSError:
            pass
        finally:
            os.close(file)

    def test_space_again(self):
        """Every event of the time without space is there afterwards, or was counted."""
        self.start_daemon()
        self.ask("create", "s", output=os.path.join(self.small, "s"))
        self.ask("enable-event", "s", event=["storm:say"])
        self.ask("start", "s")
        for _ in range(4 if LONG else 2):
            filler = os.path.join(self.small, "filler")
            self.fill(filler)
            program = self.spawn(1500, threads=2, pause_us=500)
            self.assertEqual(program.wait(harness.TIMEOUT), 0)
            written = sum(os.path.getsize(path) for path in glob.glob(os.path.join(self.small, f"s/*-{program.pid}-*/*")))
            self.assertLess(written, 4 * self.fired_by(program.pid), "it should have found no space")
            self.assertEqual(self.status("s")["state"], "active")
            os.unlink(filler)
        lost = self.destroy("s")
        shutil.copytree(os.path.join(self.small, "s"), os.path.join(self.dir, "s"))
        found = self.recorded("s")
        for path in glob.glob(os.path.join(self.accounts, "account-*")):
            pid = int(path.rsplit("-", 1)[1])
            self.assertEqual(sum(map(len, found[pid].values())) + lost[pid], self.fired_by(pid))
            self.assertGreater(self.fired_by(pid), 100)


def in_own_mounts():
    """Runs this again where mounts do not affect the machine; 77: not possible here."""
    if os.environ.get("STORM_INSIDE") == "1":
        return
    unshare = ["unshare", "--mount", "--propagation", "private"]
    if os.geteuid() or not shutil.which("unshare") or subprocess.run([*unshare, "true"], check=False).returncode:
        print("needs root, and mount namespaces")
        sys.exit(77)
    os.environ["STORM_INSIDE"] = "1"
    os.execvp("unshare", [*unshare, sys.executable, *sys.argv])


if __name__ == "__main__":
    if sys.argv[1:2] == ["Disks"]:
        in_own_mounts()
    unittest.main(argv=[sys.argv[0]] + sys.argv[1:])
