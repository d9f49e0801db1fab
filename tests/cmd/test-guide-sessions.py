#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs every command of docs/how-to/sessions.md in order, and compares the output with the page.

usage: test-guide-sessions.py GUIDE
"""
guide = __import__("sys").argv.pop(1)

import threading

from guide import commands, run_command
from harness import *

PROGRAM = os.environ["DAEMON_PROGRAM"]


class Counter:
    """The program of the page: `counter`, which fires an event all the time, and at least one between two commands."""

    def __init__(self, folder, env):
        self.name = os.path.join(folder, "bin", "counter")
        os.symlink(os.path.abspath(PROGRAM), self.name)
        self.process = subprocess.Popen([self.name], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        bufsize=1)
        equal(self.process.stdout.readline(), "ready\n")
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stopping.wait(0.02):
            self.fire()

    def fire(self):
        with self.lock:
            self.process.stdin.write("fire 1\n")
            self.process.stdin.flush()
            self.process.stdout.readline()

    def end(self):
        self.stopping.set()
        self.thread.join()
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


def test_commands():
    with open(guide, encoding="utf-8") as file:
        found = commands(file.read())
    true(len(found) > 20, f"{len(found)} commands in {guide}")
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/bin")
        os.symlink(os.path.abspath(SIDE), folder + "/bin/side")
        env = environment(SIDE_RUNTIME=folder + "/runtime", SIDE_CONTROL=None, SIDE_AGENT_SOCKET=None, LANG="C.UTF-8",
                          PATH=folder + "/bin" + os.pathsep + os.environ["PATH"])
        counter = None
        try:
            for command, wanted in found:
                run_command(command, wanted, folder, env)
                counter = counter or Counter(folder, env)  # After the daemon, which must start first.
                counter.fire()
        finally:
            if counter:
                counter.end()
            daemon = side("daemon", "--no-daemon", "--json", env=env)
            if not daemon.status:
                os.kill(json.loads(daemon.out)["pid"], 15)


run_tests(globals())
