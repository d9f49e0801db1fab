# SPDX-License-Identifier: MIT
"""The first event of a program waits for the daemon only if a session has changed since the program
asked, and no event is lost.
"""
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness
from harness import Case, Program, wait_until

SIDE = os.environ["SIDE"]
DAEMON = "the daemon did not answer in time"
RECORDER = "the recorder did not answer in time, or a lock of the program was held"
WAITS = "futex,poll,ppoll,pselect6,epoll_wait,epoll_pwait,nanosleep,clock_nanosleep,recvmsg,recvfrom"
WAIT = re.compile(r"^(?:poll|ppoll|pselect6|epoll_\w+|nanosleep|clock_nanosleep|recv\w+)\(|^futex\([^,]+, FUTEX_(?:WAIT|LOCK)")
ALLOCATES = re.compile(r"^(?:clone3|brk|socket|connect|open|openat)\(")


class First(Case):
    def traced(self):
        """A program whose system calls are traced, only those of its main thread."""
        if not shutil.which("strace"):
            self.skipTest("there is no strace")
        self.log_of_calls = os.path.join(self.dir, "strace")
        # The tracer is the detached one of both processes (-D).
        return Program(self, before=("strace", "-D", "-o", self.log_of_calls, "-e",
                                     f"trace={WAITS},clone3,brk,socket,connect,open,openat,write,readlinkat"))

    def calls_of_first_event(self):
        """Returns the lines between the two that the program writes."""
        def lines():
            with open(self.log_of_calls, encoding="utf-8") as log:
                return log.read().splitlines()

        wait_until(lambda: any('"fired' in line for line in lines()), "the program has fired")
        begun = [line.startswith('write(1, "ready') for line in lines()].index(True)
        calls = lines()[begun + 1:]
        return calls[:[line.startswith('write(1, "fired') for line in calls].index(True)]

    def waits(self):
        return [line for line in self.calls_of_first_event() if WAIT.match(line)]

    def published(self):
        return os.readlink(os.path.join(self.runtime, "serial"))

    def late(self, session="s"):
        """Returns the messages about programs that joined late: of each process, its reasons."""
        found = {}
        for message in self.status(session)["messages"]:
            match = re.fullmatch(r"process (\d+) \(sided-program\) joined late: its events of the first \d+ ms may be missing: (.*)", message)
            if match:
                found.setdefault(int(match[1]), []).append(match[2])
        return found

    def await_late(self, program, reason, session="s"):
        wait_until(lambda: program.pid in self.late(session), "the sentence about the program")
        self.assertEqual(self.late(session), {program.pid: [reason]})

    def recorded(self, session="s"):
        self.ask("stop", session)
        recorded, lost = self.sums(session)
        self.assertEqual(lost, {})
        if not self._testMethodName.endswith("in_vain") and "_in_vain_" not in self._testMethodName:
            self.assertEqual(self.late(session), {})
        return recorded

    # ---- nothing has changed ----

    def test_no_session(self):
        self.start_daemon()
        program = self.traced()
        program.fire(3)
        self.assertEqual(self.waits(), [])
        if not harness.SANITIZED:
            self.assertEqual([line for line in self.calls_of_first_event() if ALLOCATES.match(line)], [])
        program.await_thread()
        self.create("s")
        program.fire(4)
        self.assertEqual(self.recorded(), {program.pid: [3, 4, 5, 6]})

    def test_a_session_of_before(self):
        """The daemon is stopped, and its session records each event nevertheless."""
        self.start_daemon()
        self.create("s")
        program = self.traced()
        self.stop_process(self.daemon.pid)
        program.fire(3)
        self.assertEqual(self.waits(), [])
        program.fire(3)
        self.go_on(self.daemon.pid)
        program.await_thread()
        program.fire(3)
        self.assertEqual(self.recorded(), {program.pid: list(range(9))})

    def test_a_daemon_that_is_stopped(self):
        """The program's thread asks the daemon when it runs again."""
        self.start_daemon()
        program = self.traced()
        self.stop_process(self.daemon.pid)
        program.fire(3)
        self.assertEqual(self.waits(), [])
        self.go_on(self.daemon.pid)
        program.await_thread()
        self.create("s")
        program.fire(2)
        self.assertEqual(self.recorded(), {program.pid: [3, 4]})

    def test_a_killed_daemon(self):
        self.start_daemon()
        program = self.traced()
        self.kill_daemon()
        program.fire(3)
        self.assertEqual(self.waits(), [])
        self.start_daemon()
        wait_until(lambda: self.ask("list")["processes"], "the program finds the new daemon")
        self.create("s")
        program.fire(2)
        self.assertEqual(self.recorded(), {program.pid: [3, 4]})

    def test_threads_at_once(self):
        """All of them pass the armed events until the thread exists."""
        self.start_daemon()
        self.create("s")
        program = Program(self)
        self.stop_process(self.daemon.pid)
        program.send_word("spin")
        program.expect("spinning")
        program.fire(100)
        self.go_on(self.daemon.pid)
        program.send_word("stop")
        program.expect("spun")
        program.await_thread()
        program.fire(3)
        self.assertEqual(sorted(self.recorded()[program.pid])[:1], [0])

    # ---- something has changed ----

    def test_a_session_that_began_since(self):
        self.start_daemon()
        program = Program(self)
        before = self.published()
        self.create("s")
        self.assertNotEqual(self.published(), before)
        program.fire(3)
        self.assertEqual(self.recorded(), {program.pid: [0, 1, 2]})

    def test_a_session_that_ended_since(self):
        self.start_daemon()
        self.create("s")
        program = Program(self)
        self.ask("stop", "s")
        program.fire(3)
        self.ask("start", "s")
        program.fire(3)
        self.assertEqual(self.recorded(), {program.pid: [3, 4, 5]})

    def test_a_session_that_begins_before_the_thread_exists(self):
        """The second event detects that a session has begun since the first one."""
        self.start_daemon()
        program = Program(self)
        self.stop_process(self.daemon.pid)
        program.fire(1)
        self.go_on(self.daemon.pid)
        self.create("s")
        program.fire(3)
        self.assertEqual(self.recorded(), {program.pid: [1, 2, 3]})

    def test_another_daemon(self):
        for end in (self.kill_daemon, lambda: self.stop_daemon(self.daemon)):
            with self.subTest(end=end):
                self.start_daemon()
                program = Program(self)
                before = self.published()
                end()
                self.start_daemon()
                self.assertNotEqual(self.published(), before)
                self.create("s")
                program.fire(3)
                self.assertEqual(self.recorded(), {program.pid: [0, 1, 2]})
                self.ask("destroy", "s")
                shutil.rmtree(os.path.join(self.dir, "s"))
                program.quit()
                self.stop_daemon(self.daemon)

    def test_nothing_published(self):
        """As with the daemon of an earlier release: the event asks."""
        self.start_daemon()
        program = Program(self)
        self.create("s")
        os.unlink(os.path.join(self.runtime, "serial"))
        program.fire(3)
        self.assertEqual(self.recorded(), {program.pid: [0, 1, 2]})

    def test_a_forked_child(self):
        self.start_daemon()
        program = Program(self)
        self.create("s")
        program.send_word("fork", 3)
        child = program.expect("forked")
        program.fire(2)
        program.send_word("fork", 4)
        other = program.expect("forked")
        self.assertEqual(self.recorded(), {program.pid: [0, 1], child: [0, 1, 2], other: [0, 1, 2, 3]})

    # ---- waits without success ----

    def test_a_wait_in_vain(self):
        """Each session reports it once; a session that begins later does not, nor one that records none of the program's events."""
        self.start_daemon()
        program = Program(self, SIDE_TIMEOUT_FACTOR="1")
        self.create("s")
        self.create("t")
        self.create("other", event="other:*")
        self.stop_process(self.daemon.pid)
        program.fire(3)
        self.go_on(self.daemon.pid)
        program.await_thread()
        for session in ("s", "t"):
            self.await_late(program, DAEMON, session)
        program.fire(3)
        self.create("later")
        self.ask("stop", "t")
        self.ask("start", "t")
        program.fire(2)
        for session in ("later", "other"):
            self.ask("stop", session)
            self.assertEqual(self.late(session), {})
        self.assertEqual(self.recorded(), {program.pid: [3, 4, 5, 6, 7]})
        self.assertEqual(self.recorded("t"), {program.pid: [3, 4, 5, 6, 7]})
        self.assertEqual(self.recorded("later"), {program.pid: [6, 7]})
        for session in ("s", "t"):
            self.assertEqual(self.late(session), {program.pid: [DAEMON]})

    def test_a_wait_in_vain_for_rules(self):
        """The program is in the session, whose rules are new."""
        self.start_daemon()
        self.create("s", start=False)
        program = Program(self, SIDE_TIMEOUT_FACTOR="1")
        self.ask("start", "s")
        self.stop_process(self.daemon.pid)
        program.fire(3)
        self.go_on(self.daemon.pid)
        self.await_late(program, DAEMON)
        program.fire(2)
        self.assertEqual(self.recorded(), {program.pid: [3, 4]})

    def test_a_wait_in_vain_for_the_recorder(self):
        self.start_daemon()
        program = Program(self, SIDE_TIMEOUT_FACTOR="1")
        self.create("s")
        recorder = self.status("s")["recorder"]
        self.stop_process(recorder)
        program.fire(3)
        self.go_on(recorder)
        wait_until(lambda: program.pid in self.late(), "the sentence about the program")
        # A busy machine can delay the daemon's answer, too.
        self.assertIn(self.late()[program.pid], ([RECORDER], [DAEMON]))
        program.fire(2)
        self.assertEqual(self.recorded(), {program.pid: [3, 4]})

    def test_a_wait_in_vain_in_a_handler(self):
        self.start_daemon()
        program = Program(self, SIDE_TIMEOUT_FACTOR="1")
        self.create("s")
        self.stop_process(self.daemon.pid)
        program.send_word("signal", 3)
        program.expect("signalled")
        self.go_on(self.daemon.pid)
        # The next event outside of a handler joins the session, if the task of the handler has not.
        program.fire(1)
        program.await_thread()
        self.await_late(program, DAEMON)
        before = len(self.status("s")["messages"])
        program.fire(2)
        self.ask("stop", "s")
        self.assertEqual(self.sums("s")[0][program.pid][-2:], [4, 5])
        self.assertEqual(len(self.status("s")["messages"]), before)

    def test_a_start_in_vain(self):
        """In mode sync no event waits: the start itself does."""
        for mode in ("thread", "sync"):
            with self.subTest(mode=mode):
                self.start_daemon()
                self.create("s")
                self.stop_process(self.daemon.pid)
                program = Program(self, SIDE_TIMEOUT_FACTOR="1", SIDE_CONTROL=mode)
                program.fire(3)
                self.go_on(self.daemon.pid)
                if mode == "sync":
                    subprocess.run([SIDE, "attach", "--daemon", "-p", str(program.pid)], check=True, timeout=harness.TIMEOUT,
                                   env={**os.environ, "SIDE_RUNTIME": self.runtime}, stdout=subprocess.DEVNULL)
                self.await_late(program, DAEMON)
                program.fire(2)
                self.assertEqual(self.recorded(), {program.pid: [3, 4]})
                program.quit()
                text = subprocess.run([SIDE, "destroy", "s"], env={**os.environ, "SIDE_RUNTIME": self.runtime}, text=True, check=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=harness.TIMEOUT).stdout
                self.assertIn(f"process {program.pid} (sided-program) joined late: ", text)
                shutil.rmtree(os.path.join(self.dir, "s"))
                self.stop_daemon(self.daemon)

    def test_no_daemon_at_first(self):
        """Without a daemon there was no session, and sessions of a new daemon lose nothing."""
        self.start_daemon()
        program = Program(self)
        self.stop_daemon(self.daemon)
        program.fire(3)
        self.start_daemon()
        wait_until(lambda: self.ask("list")["processes"], "the program finds the new daemon")
        self.create("s")
        program.fire(2)
        self.assertEqual(self.recorded(), {program.pid: [3, 4]})


if __name__ == "__main__":
    unittest.main()
