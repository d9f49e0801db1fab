# SPDX-License-Identifier: MIT
"""Changes that programs make to themselves while they are recorded and reached:
docs/explanation/reach.md, line by line.
"""
import os
import signal
import unittest

import daemon
from harness import SANITIZED, Case


def numbers(first, last):
    return list(range(first, last))


def needs_root(test):
    return unittest.skipIf(os.geteuid(), "needs root")(test)


def needs_no_sanitizer(reason):
    return unittest.skipIf(SANITIZED, reason)


class Children(Case):
    def test_fork(self):
        pid = self.run_in_session("tick", "2", "fork", "3", "tick", "2")
        own = self.fired_events.pop(pid)
        self.assertEqual(own, [numbers(0, 4)])
        self.assertEqual(list(self.fired_events.values()), [[numbers(0, 3)]])
        arrivals = {a.arrival.pid: a.arrival for a in self.daemon.arrivals()}
        child = arrivals[next(iter(self.fired_events))]
        self.assertEqual((child.flags, child.parent), (1, arrivals[pid].token))
        self.assertNotEqual(child.token, child.parent)

    def test_fork_before_the_first_event(self):
        pid = self.run_in_session("fork", "3", "tick", "2")
        self.assertEqual(self.fired_events.pop(pid), [numbers(0, 2)])
        self.assertEqual(list(self.fired_events.values()), [[numbers(0, 3)]])

    def test_a_forked_child_has_no_thread_until_it_fires(self):
        control = self.start_daemon()
        process = self.start("tick", "1", "fork-and-go-on", "report", self.file("before"), "tick", "1",
                             "report", self.file("after"))
        self.finish(process)
        self.assertEqual(self.report("before"), (["reach-program"], [0, 1, 2]))
        tasks, fds = self.report("after")
        self.assertEqual((sorted(tasks), fds), (["reach-program", "side-control"], [0, 1, 2]))
        self.assertEqual(len({a.arrival.token for a in control.arrivals()}), 2)

    def test_a_forked_child_is_reached(self):
        control = self.start_daemon()
        process = self.start("tick", "1", "fork-and-go-on", "tick", "3", "wait", self.file("go"),
                             "tick", "3")
        child = control.wait("the child's thread", lambda: next(
            (a for a in control.arrivals() if a.arrival.flags and control.connected(a.pid)), None))
        recording = self.start_recording()
        self.assertEqual(control.change_and_wait(child.pid, [(recording.path, 1)]), 0)
        self.make_file("go")
        self.finish(process)
        self.assertEqual(recording.finish()[child.pid], [numbers(3, 6)])

    @needs_no_sanitizer("a sanitizer's own handlers of a fork wait for the loader")
    def test_fork_beside_a_library_that_waits_for_the_recorder(self):
        """The recorder is stopped: the thread that loads the library waits, the fork does not, and no event is lost."""
        control = self.start_daemon()
        recording = self.start_recording()
        control.sessions = [(recording.path, 1)]
        process = self.start("tick", "2", "say", self.file("up"), "wait", self.file("go"),
                             "load-beside", os.environ["REACH_PLUGIN"], "fork-beside", "3",
                             "say", self.file("forked"), "reap", "tick", "2")
        self.wait_for_file("up", process)
        os.kill(recording.process.pid, signal.SIGSTOP)
        try:
            self.make_file("go")
            self.wait_for_file("forked", process)
        finally:
            os.kill(recording.process.pid, signal.SIGCONT)
        self.finish(process)
        fired_events = recording.finish()
        self.assertLost(recording)
        self.assertEqual(sorted(fired_events.pop(process.pid)[0]), [0, 0, 1, 1, 2, 3])
        # The child's agent gets the library's events, too.
        self.assertEqual(list(fired_events.values()), [[[*numbers(0, 3), 0, 1]]])

    def test_daemonize(self):
        control = self.start_daemon()
        recording = self.start_recording()
        control.sessions = [(recording.path, 1)]
        process = self.start("tick", "1", "daemonize", "tick", "3", "say", self.file("end"))
        self.finish(process)
        while not os.path.exists(self.file("end")):
            control.wait("the end", lambda: True)
        tokens = {a.arrival.token: a for a in control.arrivals()}
        control.wait("all are gone", lambda: all(a.closed for a in control.agents))
        self.assertEqual(len(tokens), 3)
        fired_events = recording.finish()
        self.assertEqual(fired_events.pop(process.pid), [numbers(0, 1)])
        self.assertIn([numbers(0, 3)], fired_events.values())

    def test_exec(self):
        pid = self.run_in_session("tick", "2", "exec", "tick", "3")
        self.assertEqual(sorted(self.fired_events[pid]), [numbers(0, 2), numbers(0, 3)])
        tokens = {a.arrival.token for a in self.daemon.arrivals()}
        self.assertEqual(len(tokens), 2)

    def test_vfork(self):
        pid = self.run_in_session("tick", "2", "vfork", "tick", "3")
        self.assertEqual(self.fired_events.pop(pid), [numbers(0, 2)])
        self.assertEqual(list(self.fired_events.values()), [[numbers(0, 3)]])

    @needs_no_sanitizer("the sanitizer's own vfork() comes before the C library's")
    def test_vforked_children_that_fire(self):
        """In the parent's memory, but without its protection: counted, not recorded."""
        for word in ("vfork-tick", "clone-vm"):
            with self.subTest(word):
                pid = self.run_in_session("tick", "2", word, "3", "tick", "2", lost=3)
                self.assertEqual(self.fired_events, {pid: [[0, 1, 5, 6]]})

    def test_a_vforked_child_before_the_first_event(self):
        """The child neither starts the thread nor prevents the parent from it. (Its events are not
        counted: libside gives a thread no reader while a child runs in its place.)
        """
        pid = self.run_in_session("vfork-tick", "3", "tick", "2", "report", self.file("report"))
        self.assertEqual(self.fired_events, {pid: [[3, 4]]})
        self.assertIn("side-control", self.report("report")[0])

    def test_clone_without_handlers(self):
        """A child of clone() is not announced: none of its events is recorded."""
        pid = self.run_in_session("tick", "2", "clone", "3", "tick", "2")
        self.assertEqual(self.fired_events.pop(pid), [numbers(0, 4)])
        self.assertEqual(self.fired_events, {})

    def test_clone_before_the_first_event(self):
        pid = self.run_in_session("clone", "3", "tick", "2")
        self.assertEqual(self.fired_events, {pid: [numbers(0, 2)]})

    def test_exit_without_destructors(self):
        pid = self.run_in_session("tick", "3", "exit")
        self.assertEqual(self.fired_events, {pid: [numbers(0, 3)]})


class Rights(Case):
    @needs_root
    def test_setuid(self):
        pid = self.run_in_session("tick", "2", "drop", "tick", "2")
        self.assertEqual(self.fired_events, {pid: [numbers(0, 4)]})

    @needs_root
    def test_setuid_before_the_first_event(self):
        """Then the daemon cannot be reached: the sessions of the arrival stay."""
        pid = self.run_in_session("drop", "tick", "2")
        self.assertEqual(self.fired_events, {pid: [numbers(0, 2)]})

    @needs_root
    def test_chroot(self):
        os.mkdir(self.file("root"))
        pid = self.run_in_session("tick", "2", "chroot", self.file("root"), "tick", "2")
        self.assertEqual(self.fired_events, {pid: [numbers(0, 4)]})

    @needs_root
    def test_chroot_before_the_first_event(self):
        os.mkdir(self.file("root"))
        pid = self.run_in_session("chroot", self.file("root"), "tick", "2", "fork", "2")
        self.assertEqual(self.fired_events[pid], [numbers(0, 2)])

    def test_namespaces_before_the_first_event(self):
        for word in ("unshare-user", "unshare-mount", "unshare-pid", "setns"):
            with self.subTest(word):
                pid = self.run_in_session(word, "tick", "3")
                self.assertEqual(self.fired_events, {pid: [numbers(0, 3)]})

    def test_namespaces_of_a_forked_child(self):
        for word in ("unshare-user", "unshare-mount", "unshare-pid", "setns"):
            with self.subTest(word):
                self.run_in_session("tick", "2", "fork-and-go-on", word, "tick", "3")
                self.assertEqual(sorted(self.fired_events.values()), [[numbers(0, 2)], [numbers(0, 3)]])

    def test_namespaces_that_no_program_with_threads_gets(self):
        self.start_daemon()
        self.finish(self.start("tick", "1", "unshare-user"), status=9)
        self.assertIn("Invalid argument", self.stderr)

    def test_namespaces_of_a_program_without_a_thread(self):
        for word in ("unshare-user", "unshare-mount", "unshare-pid", "setns"):
            for control in ("sync", "signal:URG"):
                with self.subTest(word, control=control):
                    pid = self.run_in_session("tick", "2", word, "tick", "3", control=control)
                    self.assertEqual(self.fired_events, {pid: [numbers(0, 5)]})


class Descriptors(Case):
    def closed(self, word):
        """All descriptors are closed, and the connection exists as before."""
        control = self.start_daemon()
        process = self.start("tick", "2", word, "wait", self.file("go"), "tick", "5",
                             "report", self.file("report"))
        control.wait_connected(process.pid)
        recording = self.start_recording()
        self.assertEqual(control.change_and_wait(process.pid, [(recording.path, 1)]), 0)
        self.make_file("go")
        self.finish(process)
        self.assertEqual(recording.finish()[process.pid], [numbers(2, 7)])
        self.assertEqual(self.report("report")[1], [])

    def test_closefrom(self):
        self.closed("closefrom")

    def test_close_range(self):
        self.closed("close-range")

    def test_three_descriptors(self):
        """Existing sessions still record, and can be left; a new session needs more descriptors."""
        control = self.start_daemon()
        recording = self.start_recording()
        control.sessions = [(recording.path, 1)]
        process = self.start("tick", "2", "nofile-3", "tick", "2", "say", self.file("up"),
                             "wait", self.file("go"), "tick", "2")
        self.wait_for_file("up", process)
        control.wait_connected(process.pid)
        self.assertEqual(control.change_and_wait(process.pid, []), 0)
        self.make_file("go")
        self.finish(process)
        self.assertEqual(recording.finish()[process.pid], [numbers(0, 4)])

    def test_three_descriptors_before_the_first_event(self):
        pid = self.run_in_session("nofile-3", "tick", "4", "fork", "2")
        self.assertEqual(self.fired_events[pid], [numbers(0, 4)])


    def first(self, *words, before=()):
        """Returns the events of a program for which a session begins between its arrival and its first event."""
        control = self.start_daemon()
        process = self.start(*before, "say", self.file("up"), "wait", self.file("go"), *words)
        self.wait_for_file("up", process)
        recording = self.start_recording()
        control.change([(recording.path, 1)])
        self.make_file("go")
        self.finish(process)
        fired_events = recording.finish()
        self.assertLost(recording)
        own = fired_events.pop(process.pid)
        return own, fired_events

    def test_no_descriptor_in_the_first_event(self):
        """The daemon does not answer, so the event waits for it; another thread counts descriptors in the meantime."""
        self.start_daemon(silent=True)
        self.finish(self.start("counted-tick"))
        self.finish(self.start("counted-tick", env={"SIDE_CONTROL": "thread"}))

    def test_no_descriptor_in_a_first_event_that_joins(self):
        self.assertEqual(self.first("counted-tick", "tick", "2"), ([numbers(0, 3)], {}))

    def test_all_closed_in_the_first_event(self):
        self.assertEqual(self.first("closed-tick", "tick", "2"), ([numbers(0, 3)], {}))

    def test_four_descriptors_in_the_first_event(self):
        """The program has only one free descriptor: all descriptors of the session are in the thread's table."""
        self.assertEqual(self.first("tick", "3", before=("nofile-4",)), ([numbers(0, 3)], {}))

    def test_the_first_event_is_the_last(self):
        self.assertEqual(self.first("tick", "1", "exit"), ([numbers(0, 1)], {}))

    def test_a_fork_after_the_first_event(self):
        own, others = self.first("tick", "1", "fork", "3")
        self.assertEqual((own, list(others.values())), ([numbers(0, 1)], [[numbers(0, 3)]]))


class Signals(Case):
    def test_all_blocked(self):
        pid = self.run_in_session("block-all", "tick", "3", "report", self.file("report"))
        self.assertEqual(self.fired_events, {pid: [numbers(0, 3)]})
        self.assertIn("side-control", self.report("report")[0])

    def test_sigwait(self):
        pid = self.run_in_session("tick", "1", "sigwait", "200")
        self.assertEqual(self.fired_events, {pid: [numbers(0, 201)]})

    def test_signalfd(self):
        pid = self.run_in_session("tick", "1", "signalfd", "200")
        self.assertEqual(self.fired_events, {pid: [numbers(0, 201)]})

    def test_all_dispositions_reset(self):
        pid = self.run_in_session("tick", "1", "reset-signals", "tick", "2")
        self.assertEqual(self.fired_events, {pid: [numbers(0, 3)]})


@needs_no_sanitizer("sanitizers make calls of their own, which the sandbox kills")
class Sandbox(Case):
    def test_strict(self):
        for early in (("tick", "2"), ()):
            with self.subTest(early=early):
                pid = self.run_in_session(*early, "strict", "tick", "3", "exit-bare", lost=3)
                self.assertEqual(self.fired_events, {pid: [numbers(0, 2)]} if early else {})

    def test_filter(self):
        for early in (("tick", "2"), ()):
            with self.subTest(early=early):
                pid = self.run_in_session(*early, "filter", "tick", "3", "exit")
                self.assertEqual(self.fired_events, {pid: [numbers(0, len(early) + 3)]})

    def test_filter_for_all_threads(self):
        """The thread wakes up in the sandbox, detects it and ends; no process is killed."""
        control = self.start_daemon()
        recording = self.start_recording()
        control.sessions = [(recording.path, 1)]
        process = self.start("tick", "2", "filter-all", "tick", "3", "say", self.file("up"),
                             "wait", self.file("go"), "exit")
        self.wait_for_file("up", process)
        agent = control.wait_connected(process.pid)
        control.change([])
        control.wait("the thread's end", lambda: agent.closed)
        self.make_file("go")
        self.finish(process)
        self.assertEqual(recording.finish()[process.pid], [numbers(0, 5)])


if __name__ == "__main__":
    unittest.main()
