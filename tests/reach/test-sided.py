# SPDX-License-Identifier: MIT
"""The same with the real daemon: what each mode records between start and stop, to the event."""
import os
import shutil
import subprocess
import time
import unittest

import bt2

from harness import PROGRAM, TIMEOUT, SANITIZED, SIDE, Case

SIDED = os.environ["SIDED"]


def numbers(first, last):
    return list(range(first, last))


class Sided(Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.runtime, 0o700)
        self.sided = subprocess.Popen([SIDED, "--foreground"], env=self.environment(),
                                      stderr=subprocess.DEVNULL)
        self.addCleanup(self.end_sided)
        self.wait_for_file("runtime/agents.sock", self.sided)
        self.wait_for_file("runtime/control.sock", self.sided)

    def end_sided(self):
        self.sided.terminate()
        try:
            self.sided.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.sided.kill()
            self.sided.wait()

    def side(self, *words):
        done = subprocess.run([SIDE, *words], env=self.environment(), capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, (words, done.stdout, done.stderr))

    def fired_events(self):
        """Returns {pid: sequences}."""
        found = {}
        for folder, _, files in os.walk(self.file("out")):
            if "metadata" not in files:
                continue
            for one in bt2.TraceCollectionMessageIterator(folder):
                if isinstance(one, bt2._EventMessageConst):
                    self.assertEqual(one.event.name, "reach:tick")
                    found.setdefault(int(os.path.basename(folder).rsplit("-", 2)[1]), []).append(
                        int(one.event.payload_field["sequence"]))
        return found

    def between_start_and_stop(self, control):
        self.side("create", "s", "-o", self.file("out"))
        self.side("enable-event", "-s", "s", "reach:*")
        process = self.start("tick", "3", "say", self.file("up"), "wait", self.file("go"), "tick", "5",
                             "say", self.file("said"), "wait", self.file("end"), "tick", "2",
                             control=control)
        self.wait_for_file("up", process)
        self.side("start", "s")
        self.make_file("go")
        self.wait_for_file("said", process)
        self.side("stop", "s")
        self.make_file("end")
        self.finish(process)
        self.side("destroy", "s")
        return process.pid

    def test_thread(self):
        pid = self.between_start_and_stop("thread")
        self.assertEqual(self.fired_events(), {pid: numbers(3, 8)})

    def test_signal(self):
        pid = self.between_start_and_stop("signal:URG")
        self.assertEqual(self.fired_events(), {pid: numbers(3, 8)})

    def test_sync(self):
        """It arrived before the start, and receives no change afterwards."""
        self.between_start_and_stop("sync")
        self.assertEqual(self.fired_events(), {})

    def test_off(self):
        self.between_start_and_stop("off")
        self.assertEqual(self.fired_events(), {})

    def test_container_with_a_mounted_directory(self):
        """A container in which the daemon's directory is mounted at the same path (docs/how-to/container.md): its program is
        recorded from its first event on, although it has its own files and process ids.
        """
        root, agent = self.file("root"), os.path.join(os.environ["SIDE_LIB_DIR"], "libside-agent.so")
        needed = subprocess.run(["ldd", PROGRAM, agent], capture_output=True, text=True, check=True, timeout=TIMEOUT).stdout
        for path in {PROGRAM, agent, *(os.path.normpath(word) for word in needed.split() if word.startswith("/") and not word.endswith(":"))}:
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            shutil.copy(path, root + path)
        for name in ("/proc", "/dev/shm", self.runtime):
            os.makedirs(root + name)
        self.side("create", "s", "-o", self.file("out"))
        self.side("enable-event", "-s", "s", "reach:*")
        self.side("start", "s")
        mounts = f"mount --bind {self.runtime} {root}{self.runtime} && mount -t proc proc {root}/proc && mount --bind /dev/shm {root}/dev/shm"
        begin = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-c"]
        if subprocess.run([*begin, mounts], capture_output=True, check=False, timeout=TIMEOUT).returncode:
            self.skipTest("nothing can be mounted here")
        process = self.start(*begin[1:], f"{mounts} && exec chroot {root} {PROGRAM} tick 5", program=begin[0])
        self.finish(process)
        self.side("destroy", "s")
        self.assertEqual(list(self.fired_events().values()), [numbers(0, 5)])

    def test_no_work_without_a_daemon(self):
        """The thread of a program whose daemon has exited sleeps, also after it has woken up on its
        own (every 5 seconds).
        """
        process = self.start("tick", "1", "say", self.file("up"), "wait", self.file("end"))
        self.wait_for_file("up", process)
        self.sided.kill()
        self.sided.wait()

        def cpu_time():
            for thread in os.listdir(f"/proc/{process.pid}/task"):
                with open(f"/proc/{process.pid}/task/{thread}/comm", encoding="ascii") as name:
                    if name.read() != "side-control\n":
                        continue
                with open(f"/proc/{process.pid}/task/{thread}/schedstat", encoding="ascii") as figures:
                    return int(figures.read().split()[0])
            raise AssertionError("there is no thread")
        time.sleep(6)
        before = cpu_time()
        time.sleep(2)
        self.assertLess(cpu_time() - before, 20_000_000)
        self.make_file("end")
        self.finish(process)

    def test_programs_that_come(self):
        self.side("create", "s", "-o", self.file("out"))
        self.side("enable-event", "-s", "s", "reach:*")
        self.side("start", "s")
        pids = []
        for control in ("thread", "signal:URG", "sync"):
            process = self.finish(self.start("tick", "2", "fork", "3", "tick", "2", control=control,
                                             env={"REACH_EARLY": "2"}))
            pids.append(process.pid)
        self.side("destroy", "s")
        fired_events = self.fired_events()
        self.assertEqual([fired_events.pop(pid) for pid in pids], [numbers(0, 6)] * 3)
        self.assertEqual(list(fired_events.values()), [numbers(0, 3)] * 3)

    def test_programs_that_reset_their_signals_live(self):
        self.side("create", "s", "-o", self.file("out"))
        self.side("enable-event", "-s", "s", "reach:*")
        process = self.start("tick", "1", "reset-signals", "say", self.file("up"),
                             "wait", self.file("end"), "tick", "1", control="signal:USR2")
        self.wait_for_file("up", process)
        self.side("start", "s")
        self.make_file("end")
        self.finish(process)
        self.side("destroy", "s")
        self.assertEqual(self.fired_events(), {})

    def first_and_then(self, *words):
        """The thread is being created: the next action of the program waits for that, but the event does not."""
        self.side("create", "s", "-o", self.file("out"))
        self.side("enable-event", "-s", "s", "reach:*")
        self.side("start", "s")
        wanted = {}
        for _ in range(10):
            process = self.finish(self.start("tick", "1", *words, "tick", "2", "exit"))
            wanted[process.pid] = numbers(0, 3)
        self.side("destroy", "s")
        fired_events = self.fired_events()
        self.assertEqual({pid: fired_events.pop(pid, []) for pid in wanted}, wanted)
        return list(fired_events.values())

    @unittest.skipIf(SANITIZED, "sanitizers make calls of their own, which the sandbox kills")
    def test_a_sandbox_after_the_first_event(self):
        self.assertEqual(self.first_and_then("filter-all"), [])

    def test_a_fork_after_the_first_event(self):
        self.assertEqual(self.first_and_then("fork", "3"), [numbers(0, 3)] * 10)

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_other_rights_after_the_first_event(self):
        self.assertEqual(self.first_and_then("drop"), [])

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_another_root_after_the_first_event(self):
        """The thread has connected before, so it receives changes."""
        os.mkdir(self.file("root"))
        self.side("create", "s", "-o", self.file("out"))
        self.side("enable-event", "-s", "s", "reach:*")
        self.side("start", "s")
        processes = [self.start("tick", "1", "chroot", self.file("root"), "say", f"/up{number}", "wait", "/go", "tick", "2")
                     for number in range(10)]
        for number, process in enumerate(processes):
            self.wait_for_file(f"root/up{number}", process)
        self.side("disable-event", "-s", "s", "reach:*")
        self.make_file("root/go")
        for process in processes:
            self.finish(process)
        self.side("destroy", "s")
        self.assertEqual(self.fired_events(), {process.pid: numbers(0, 1) for process in processes})


if __name__ == "__main__":
    unittest.main()
