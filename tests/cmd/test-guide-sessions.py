#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every command of docs/guide/sessions.md is run, in order, and says what stands there.

usage: test-guide-sessions.py GUIDE

In a line of the page `...` stands for any text, alone for any lines.
"""
guide = __import__("sys").argv.pop(1)

import threading

from harness import *

PROGRAM = os.environ["DAEMON_PROGRAM"]


def commands(text):
    """(command, lines that follow it) of all blocks that begin with a prompt."""
    found, inside = [], False
    for line in text.splitlines():
        if line.startswith("    $ "):
            found.append((line[6:], []))
            inside = True
        elif line.startswith("    ") and inside:
            found[-1][1].append(line[4:])
        else:
            inside = False
    return found


def fits(line, wanted):
    return re.fullmatch(".*".join(re.escape(part) for part in wanted.split("...")), line) is not None


def matches(lines, wanted):
    if not wanted:
        return not lines
    if wanted[0].strip() == "...":
        return any(matches(lines[i:], wanted[1:]) for i in range(len(lines) + 1))
    return bool(lines) and fits(lines[0], wanted[0]) and matches(lines[1:], wanted[1:])


class Counter:
    """The program of the page: `counter`, which says something all the time."""

    def __init__(self, folder, env):
        self.name = os.path.join(folder, "bin", "counter")
        os.symlink(os.path.abspath(PROGRAM), self.name)
        self.process = subprocess.Popen([self.name], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        bufsize=1)
        equal(self.process.stdout.readline(), "ready\n")
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stopping.wait(0.02):
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
                run = subprocess.run(["bash", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
                true(run.returncode == 0, f"{command}\nends with {run.returncode} and says\n{run.stdout}")
                lines = [line.rstrip() for line in run.stdout.splitlines() if line.strip()]
                counter = counter or Counter(folder, env)  # After the daemon, which comes first.
                true(matches(lines, [line for line in wanted if line.strip()]),
                     f"{command}\nprints\n{run.stdout}\nnot\n" + "\n".join(wanted))
        finally:
            if counter:
                counter.end()
            daemon = side("daemon", "--no-daemon", "--json", env=env)
            if not daemon.status:
                os.kill(json.loads(daemon.out)["pid"], 15)


run_tests(globals())
