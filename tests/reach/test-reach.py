# SPDX-License-Identifier: MIT
"""How programs are reached: arrival, thread, signal, sync and off, and a daemon that ends and starts again."""
import contextlib
import os
import signal
import socket
import subprocess
import sys
import unittest

import daemon
from harness import TIMEOUT, PROGRAM, SANITIZED, Case

PLUGIN = os.environ["REACH_PLUGIN"]


def numbers(first, last):
    return list(range(first, last))


class Arrival(Case):
    def test_from_the_first_constructor(self):
        pid = self.run_in_session("tick", "3", env={"REACH_EARLY": "5"})
        self.assertEqual(self.fired_events, {pid: [numbers(0, 8)]})
        arrival = self.daemon.arrivals()[0].arrival
        self.assertEqual((arrival.pid, arrival.control, arrival.flags, arrival.parent),
                         (pid, daemon.THREAD, 0, 0))
        self.assertEqual(arrival.exe, os.path.realpath(PROGRAM))
        self.assertEqual(arrival.procname, "reach-program")

    def test_two_sessions(self):
        control = self.start_daemon()
        one, two = self.start_recording("one"), self.start_recording("two")
        control.sessions = [(one.path, 1), (two.path, 1)]
        process = self.finish(self.start("tick", "4"))
        for recording in (one, two):
            self.assertEqual(recording.finish()[process.pid], [numbers(0, 4)])
            self.assertLost(recording)

    def test_a_missing_session(self):
        control = self.start_daemon()
        recording = self.start_recording()
        control.sessions = [(self.file("nobody.sock"), 1), (recording.path, 1)]
        process = self.finish(self.start("tick", "4"))
        self.assertEqual(recording.finish()[process.pid], [numbers(0, 4)])
        self.assertIn(2, [state for agent in control.arrivals() for _, state in agent.done])

    def test_modes_and_invalid_modes(self):
        control = self.start_daemon()
        for words, mode, number in (("thread", daemon.THREAD, 0), ("", daemon.THREAD, 0),
                                    ("sync", daemon.SYNC, 0),
                                    ("signal:URG", daemon.SIGNAL, signal.SIGURG),
                                    ("signal:SIGUSR1", daemon.SIGNAL, signal.SIGUSR1),
                                    ("signal:12", daemon.SIGNAL, 12),
                                    ("signal:RTMIN+3", daemon.SIGNAL, signal.SIGRTMIN + 3)):
            before = len(control.arrivals())
            self.finish(self.start(env={"SIDE_CONTROL": words}))
            control.wait(words, lambda: len(control.arrivals()) == before + 1)
            arrival = control.arrivals()[-1].arrival
            self.assertEqual((arrival.control, arrival.signal), (mode, number), words)
        before = len(control.agents)
        for words in ("off", "of", "signal:", "signal:KILL", "signal:9", "signal:32", "signal:x1",
                      "signal:1000000000000", "Thread"):
            self.finish(self.start(env={"SIDE_CONTROL": words, "SIDE_DEBUG": "1"}))
            self.assertEqual("which is unknown" in self.stderr, words != "off", words)
        self.assertEqual(len(control.agents), before)

    def test_no_daemon(self):
        for socket in ("", "stale"):
            if socket:
                self.start_daemon().stop()
            self.finish(self.start("tick", "2", "report", self.file("report" + socket)))
            self.assertEqual(self.report("report" + socket)[0], ["reach-program"])
            self.assertEqual(self.stderr, "")

    def test_a_daemon_that_does_not_answer(self):
        self.start_daemon(silent=True)
        self.finish(self.start("tick", "2", *("fork", "2") * 20, "tick", "2"))

    def test_a_directory_that_others_may_write(self):
        os.chmod(self.runtime, 0o777)
        control = self.start_daemon()
        self.finish(self.start("tick", "2", "report", self.file("report")))
        self.assertEqual(self.report("report")[0], ["reach-program"])
        self.assertEqual(control.agents, [])

    def test_secure(self):
        if os.geteuid() or SANITIZED:
            self.skipTest("needs root to make a program that gains rights, and no sanitizer")
        program = self.file("secure")
        subprocess.run(["cp", os.environ["REACH_SECURE"], program], check=True)
        os.chown(program, 65534, 65534)
        os.chmod(program, 0o6755)
        control = self.start_daemon()
        os.chmod(control.path, 0o777)
        self.finish(self.start("tick", "2", program=program))
        self.assertEqual(control.agents, [])

    def test_static(self):
        if not os.environ.get("REACH_STATIC"):
            self.skipTest("no static programs here")
        control = self.start_daemon()
        self.finish(self.start("tick", "2", program=os.environ["REACH_STATIC"]))
        self.assertEqual(control.agents, [])

    def test_library_in_a_program_without_libside(self):
        if SANITIZED:
            self.skipTest("the sanitizer has to be in the program")
        code = ("import ctypes, sys\nplugin = ctypes.CDLL(sys.argv[1])\nplugin.fire(5)\n"
                "open(sys.argv[2], 'w').writelines('task ' + open(f'/proc/self/task/{t}/comm').read()"
                " for t in __import__('os').listdir('/proc/self/task'))\n")
        pid = self.run_in_session("-c", code, os.environ["REACH_PLUGIN"], self.file("report"),
                                  program=sys.executable)
        self.assertEqual(self.fired_events, {pid: [numbers(0, 7)]})
        self.assertEqual(sorted(self.report("report")[0])[1:], ["side-control"])


class Waiting(Case):
    """The agent waits for a recorder or a daemon that does not answer; it holds no lock that other
    threads need in the meantime.
    """

    def silent_socket(self, name):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(listener.close)
        listener.bind(self.file(name))
        listener.listen(8)
        listener.settimeout(TIMEOUT)
        return listener

    def start_acting(self, *words, **options):
        """Starts a program that runs on when the file `go` exists, and exits when `end` exists."""
        process = self.start("tick", "1", "say", self.file("begun"), "wait", self.file("go"), *words, "say", self.file("acted"), "wait",
                             self.file("end"), start_new_session=True, **options)
        # A forked child may still wait for the recorder.
        self.addCleanup(self.end_group, process.pid)
        self.wait_for_file("begun", process)
        return process

    @staticmethod
    def end_group(group):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)

    def end_now(self, process):
        """The wait does not prevent the program from exiting, either. Its forked child may still have the pipes."""
        self.make_file("end")
        self.assertEqual(process.wait(TIMEOUT), 0)

    def assert_waits(self, connection):
        """Checks that the agent still waits: SIDE_TIMEOUT_FACTOR sets its timeout, which is longer than this test."""
        connection.setblocking(False)
        with self.assertRaises(BlockingIOError, msg="the agent has given up before the program went on"):
            connection.recv(65536)

    def act_beside(self, *words):
        control = self.start_daemon()
        recording = self.start_recording()
        control.sessions = [(recording.path, 1)]
        process = self.start_acting(*words)
        control.wait_connected(process.pid)
        listener = self.silent_socket("silent.sock")
        control.change([(recording.path, 1), (self.file("silent.sock"), 1)])
        connection, _ = listener.accept()
        self.addCleanup(connection.close)
        connection.settimeout(TIMEOUT)
        self.assertTrue(connection.recv(65536))
        # The thread of the agent waits for the answer.
        self.make_file("go")
        self.wait_for_file("acted", process)
        self.assert_waits(connection)
        self.end_now(process)
        return recording.finish()[process.pid]

    def test_events(self):
        self.assertEqual(self.act_beside("tick", "5"), [numbers(0, 6)])

    def test_a_library_that_registers_events(self):
        # The library has two events of its own.
        self.assertEqual(self.act_beside("load", PLUGIN, "tick", "2"), [[0, 0, 1, 1, 2]])

    def test_threads(self):
        self.assertEqual(sum(len(one) for one in self.act_beside("thread", "3", "tick", "2")), 6)

    def test_a_daemon_that_is_silent_when_it_returns(self):
        """The thread of the agent waits for the WELCOME of a daemon that has replaced another one."""
        control = self.start_daemon()
        recording = self.start_recording()
        control.sessions = [(recording.path, 1)]
        process = self.start_acting("tick", "2", "load", PLUGIN, "fork-beside", "0", "tick", "2")
        control.wait_connected(process.pid)
        control.silent = True
        control.stop()
        control.restart()
        waiting = control.wait("an arrival", lambda: [agent for agent in control.arrivals() if agent.is_open()])
        self.make_file("go")
        self.wait_for_file("acted", process)
        self.assertTrue(waiting[-1].is_open(), "the agent has given up before the program went on")
        self.end_now(process)
        self.assertEqual(recording.finish()[process.pid], [[0, 1, 2, 0, 1, 3, 4]])


class Thread(Case):
    def test_only_for_programs_that_fire(self):
        control = self.start_daemon()
        self.finish(self.start("report", self.file("before"), "tick", "1",
                               "report", self.file("after")))
        tasks, fds = self.report("before")
        self.assertEqual((tasks, fds), (["reach-program"], [0, 1, 2]))
        tasks, fds = self.report("after")
        self.assertEqual((sorted(tasks), fds), (["reach-program", "side-control"], [0, 1, 2]))
        # The arrival, and the first event's connection, which the thread keeps: the same process.
        self.assertEqual([(a.arrival.token, a.arrival.control) for a in control.arrivals()],
                         [(control.arrivals()[0].arrival.token, daemon.THREAD)] * 2)

    def test_joins_and_leaves(self):
        control = self.start_daemon()
        process = self.start("tick", "10", "wait", self.file("1"), "tick", "10",
                             "say", self.file("1-done"), "wait", self.file("2"), "tick", "10",
                             "say", self.file("2-done"), "wait", self.file("3"), "tick", "10")
        control.wait_connected(process.pid)
        recording = self.start_recording()
        session = [(recording.path, 1)]
        for step, (wanted, name) in enumerate(((session, "1"), ([], "2"), (session, "3"))):
            self.assertEqual(control.change_and_wait(process.pid, wanted), 0, step)
            self.make_file(name)
            if name != "3":
                self.wait_for_file(name + "-done", process)
        self.finish(process)
        fired_events = recording.finish()[process.pid]
        self.assertEqual(fired_events, [numbers(10, 20), numbers(30, 40)])
        self.assertLost(recording)

    def test_the_first_event_is_already_seen(self):
        """A change while the process was armed is in effect for its first event."""
        control = self.start_daemon()
        process = self.start("say", self.file("up"), "wait", self.file("go"), "tick", "5")
        self.wait_for_file("up", process)
        recording = self.start_recording()
        control.change([(recording.path, 1)])
        self.make_file("go")
        self.finish(process)
        self.assertEqual(recording.finish()[process.pid], [numbers(0, 5)])

    def test_the_daemon_restarts(self):
        control = self.start_daemon()
        process = self.start("tick", "3", "wait", self.file("go"), "tick", "3")
        token = control.wait_connected(process.pid).arrival.token
        for _ in range(3):
            control.stop()
            control.agents = []
            control.restart()
            self.assertEqual(control.wait_connected(process.pid).arrival.token, token)
        recording = self.start_recording()
        self.assertEqual(control.change_and_wait(process.pid, [(recording.path, 1)]), 0)
        control.stop()
        self.make_file("go")
        self.finish(process)
        self.assertEqual(recording.finish()[process.pid], [numbers(3, 6)])
        control.restart()

    def test_the_daemon_exits_before_the_first_event(self):
        control = self.start_daemon()
        process = self.start("say", self.file("up"), "wait", self.file("go"), "tick", "3",
                             "say", self.file("said"), "wait", self.file("end"))
        self.wait_for_file("up", process)
        control.stop()
        control.agents = []
        self.make_file("go")
        self.wait_for_file("said", process)
        control.restart()
        control.wait_connected(process.pid)
        self.make_file("end")
        self.finish(process)

    def test_ends_with_the_last_thread_of_the_program(self):
        control = self.start_daemon()
        process = self.start("exit-main-thread")
        self.finish(process)
        self.assertEqual(self.stdout, "last words")
        # The arrival, and the thread's connection, as in the test above.
        self.assertEqual(len(control.arrivals()), 2)

    def test_not_in_a_handler(self):
        control = self.start_daemon()
        process = self.start("handler", "report", self.file("report"), "wait", self.file("go"),
                             "tick", "1", "wait", self.file("end"))
        self.wait_for_file("report", process)
        control.wait("what the handler asked", lambda: len(control.arrivals()) == 2 and all(
            a.closed for a in control.arrivals()))
        self.make_file("go")
        control.wait_connected(process.pid)
        self.make_file("end")
        self.finish(process)
        self.assertEqual(self.report("report")[0], ["reach-program"])

    def test_only_in_handlers(self):
        """Only handlers fire: after some events the process stops asking, and the daemon knows it."""
        control = self.start_daemon()
        self.finish(self.start(*["handler"] * 80, "report", self.file("report")))
        self.assertEqual(self.report("report")[0], ["reach-program"])
        self.assertEqual([a.arrival.control for a in control.arrivals()],
                         [daemon.THREAD, daemon.THREAD, daemon.SYNC])

    def test_threads_of_the_program(self):
        pid = self.run_in_session("thread", "3", "thread", "3", "tick", "2")
        self.assertEqual(self.fired_events, {pid: [numbers(0, 8)]})

    def without_thread(self, limit, *modes):
        if os.geteuid() or SANITIZED:
            self.skipTest("needs root to become a user whose threads are limited")
        control = self.start_daemon()
        os.chmod(control.path, 0o777)
        os.chmod(self.dir, 0o777)
        process = self.start("drop", limit, "tick", "3", "wait", self.file("end"))
        control.wait("the reported modes", lambda: [a.arrival.control for a in control.arrivals()] == list(modes))
        self.make_file("end")
        self.finish(process)

    def test_no_thread_to_be_had(self):
        """The arrival, and the message that there is no thread."""
        self.without_thread("nproc-0", daemon.THREAD, daemon.SYNC)

    def test_no_thread_beside_its_creator(self):
        """The task that creates the thread exists, and is the last one that the limit permits. It has asked before."""
        self.without_thread("nproc-2", daemon.THREAD, daemon.THREAD, daemon.SYNC)


class Signal(Case):
    def test_joins_and_leaves(self):
        control = self.start_daemon()
        process = self.start("tick", "10", "say", self.file("0-done"), "wait", self.file("1"), "tick", "10",
                             "say", self.file("1-done"), "report", self.file("report"),
                             "wait", self.file("2"), "tick", "10", control="signal:USR2")
        self.wait_for_file("0-done", process)
        recording = self.start_recording()
        for wanted, name in (([(recording.path, 1)], "1"), ([], "2")):
            serial = control.change(wanted)
            process.send_signal(signal.SIGUSR2)
            control.wait("DONE", lambda: any(
                (serial, state) in agent.done for agent in control.arrivals() for state in (0, 1)))
            self.make_file(name)
            if name == "1":
                self.wait_for_file("1-done", process)
        self.finish(process)
        self.assertEqual(self.report("report"), (["reach-program"], [0, 1, 2]))
        self.assertEqual(recording.finish()[process.pid], [numbers(10, 20)])
        self.assertLost(recording)

    def test_a_signal_of_the_program(self):
        control = self.start_daemon()
        self.finish(self.start("tick", "1", control="signal:USR2",
                               preexec_fn=lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN)))
        self.assertEqual([a.arrival.control for a in control.arrivals()], [daemon.SYNC])

    def test_a_program_resets_the_handler(self):
        """sided checks whether the signal is caught before it sends the signal: here it no longer is."""
        control = self.start_daemon()
        process = self.start("reset-signals", "say", self.file("up"), "wait", self.file("end"),
                             control="signal:USR2")
        control.wait("arrival", control.arrivals)
        self.wait_for_file("up", process)
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            caught = next(line for line in status if line.startswith("SigCgt"))
        self.assertFalse(int(caught.split()[1], 16) & 1 << signal.SIGUSR2 - 1)
        self.make_file("end")
        self.finish(process)

    def test_storm(self):
        """Signals at any time, also during exchanges; no event is lost and no process hangs."""
        control = self.start_daemon()
        recording = self.start_recording()
        control.sessions = [(recording.path, 1)]
        process = self.start("tick", "1", "say", self.file("up"), "wait", self.file("go"), "tick", "20000",
                             "fork", "10", "tick", "5", control="signal:USR2")
        self.wait_for_file("up", process)
        self.make_file("go")
        for _ in range(200):
            if process.poll() is not None:
                break
            process.send_signal(signal.SIGUSR2)
            control.change([(recording.path, 1)])
        self.finish(process)
        fired_events = recording.finish()
        self.assertEqual(fired_events[process.pid], [numbers(0, 20006)])
        self.assertLost(recording)


class Sync(Case):
    def test_arrival_only(self):
        control = self.start_daemon()
        recording = self.start_recording()
        control.sessions = [(recording.path, 1)]
        process = self.start("tick", "3", "say", self.file("up"), "wait", self.file("go"), "tick", "3",
                             "report", self.file("report"), "fork", "2", control="sync")
        self.wait_for_file("up", process)
        control.change([])
        self.make_file("go")
        self.finish(process)
        self.assertEqual(self.report("report"), (["reach-program"], [0, 1, 2]))
        fired_events = recording.finish()
        self.assertEqual(fired_events[process.pid], [numbers(0, 6)])

    def test_off(self):
        control = self.start_daemon()
        self.finish(self.start("tick", "3", "fork", "2", "report", self.file("report"), control="off"))
        self.assertEqual(self.report("report"), (["reach-program"], [0, 1, 2]))
        self.assertEqual(control.agents, [])


if __name__ == "__main__":
    unittest.main()
