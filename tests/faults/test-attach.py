#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Attaching to running programs, with one failing call for each site of the command and of the
attaching process (commands.py). The program is unchanged, and runs on.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import threading

for folder in ("..", os.path.join("..", "cmd")):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), folder))

import resources
from commands import RUNTIME, WORK, fails
from harness import end_daemon, environment, equal, run_tests, side, true

# On a busy machine an agent waits longer for the recorder.
os.environ.setdefault("SIDE_TIMEOUT_FACTOR", "30")
PROGRAM, TALKER = os.environ["ATTACH_PROGRAM"], os.environ["TALKER"]


class Program:
    """A program whose threads wait."""

    def __init__(self):
        self.process = subprocess.Popen([PROGRAM, "calm"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment(SIDE_RUNTIME=RUNTIME))
        equal(self.process.stdout.readline(), "ready\n")
        self.pid = str(self.process.pid)
        self.before = resources.snapshot(self.pid, memory=False)

    def ask(self, question):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def end(self):
        """Checks that the program works as before, and that no waiting call has returned."""
        equal(self.ask("status"), "came-back 0 wrong 0\n")
        true(self.ask("tick 2").startswith("ticks "), "the program answers")
        resources.assert_no_more(self.pid, self.before)
        self.process.stdin.close()
        self.process.stdout.close()
        equal(self.process.wait(), 0)


class Programs:
    """A program for each attempt, or for all."""

    def __init__(self):
        self.now = None

    def __str__(self):
        return self.now.pid

    def begin(self):
        self.now = Program()

    def end(self, err):
        """A program that could not be notified keeps the thread of its recorder until it is."""
        if "side could not tell the program to stop" in err:
            done = side("detach", "-p", self.now.pid, env=environment(SIDE_RUNTIME=RUNTIME))
            equal(done.status, 0, done.err)
        self.now.end()

    def talk(self, process):
        """Makes the program fire events while it is recorded, and then ends the recording."""
        err, watchdog = b"", threading.Timer(120, process.kill)
        watchdog.start()
        for line in process.stderr:
            err += line
            if line.startswith(b"side: recording"):
                self.now.ask("tick 3")
                process.send_signal(signal.SIGINT)
        out = process.stdout.read()
        process.stdout.close()
        process.stderr.close()
        process.wait()
        watchdog.cancel()
        return out, err


def names(output):
    """Returns the events of a recorded trace."""
    if output[1] is None:
        return output
    done = side("view", "--json", "out", cwd=WORK, env=environment(SIDE_RUNTIME=RUNTIME))
    return output[0], done.status, re.findall(r'"event":"([^"]*)"', done.out)


LOST = "(is|are) not recorded|(was|were|are) lost|recorded nothing"
MEMORY = ("pread64", "pwrite64")


def test_attach():
    """The agent is loaded."""
    programs = Programs()
    fails("attach", "-o", "out", "-p", programs, talk=programs.talk, prepare=programs.begin, after=programs.end, normal=names,
          children=True, near=MEMORY, reports=LOST)


def test_detach():
    """The agent in the program has no recorder any more."""
    programs = Programs()
    programs.begin()
    done = side("attach", "-p", programs.now.pid, "-o", os.path.join(WORK, "first"), "--duration", "1ms",
                env=environment(SIDE_RUNTIME=RUNTIME))
    equal(done.status, 0, done.err)
    fails("detach", "-p", programs, children=True, near=MEMORY)
    programs.now.end()


def test_trace_running():
    """A running program gets a probe, which is removed at the end."""
    programs = Programs()
    fails("trace", "-o", "out", "-p", programs, "--function", "tick", talk=programs.talk, prepare=programs.begin, after=programs.end,
          normal=names, children=True, near=MEMORY, reports=LOST)


def test_trace_command():
    """The status is the program's."""
    fails("trace", "-o", "out", "-c", f"{TALKER} 3", "--function", "main", normal=names, reports=LOST)


def test_attach_daemon():
    """A program joins the sessions of the daemon."""
    env = environment(SIDE_RUNTIME=RUNTIME)
    programs = Programs()
    programs.begin()
    side("list", "--daemon", env=env)
    try:
        fails("attach", "--daemon", "-p", programs, children=True, near=MEMORY, modules="side-more")
        done = side("detach", "-p", programs.now.pid, env=env)
        equal(done.status, 0, done.err)
        programs.now.end()
    finally:
        end_daemon(env)


try:
    run_tests(dict(globals()))
finally:
    shutil.rmtree(WORK, True)
