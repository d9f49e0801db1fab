# SPDX-License-Identifier: MIT
"""The checks inside the container. usage: inside.py PROGRAM USER

Prints a line for each successful check; the last one is `all`.
"""
import json
import os
import pwd
import re
import signal
import stat
import subprocess
import sys

import checks  # copied beside this file, as is waiting.py
from waiting import wait_until

PROGRAM, USER = sys.argv[1:]
TIMEOUT = 120


def output(*args, **options):
    return checks.output(*args, stdin=subprocess.DEVNULL, timeout=TIMEOUT, **options)


def show(unit, name, *more):
    return output("systemctl", *more, "show", "-P", name, unit).strip()


def seen(what):
    print(what, flush=True)


class Program:
    def __init__(self, **options):
        self.process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        bufsize=1, **options)
        self.expect("ready")

    def expect(self, word):
        line = self.process.stdout.readline().split()
        checks.true(line and line[0] == word, f"{word} expected, not {line}")

    def fire(self, count):
        self.process.stdin.write(f"fire {count}\n")
        self.process.stdin.flush()
        self.expect("fired")

    def quit(self):
        self.process.stdin.write("quit 0\n")
        self.process.stdin.flush()
        checks.true(self.process.wait(TIMEOUT) == 0, "the program ended well")


def sequences(trace):
    """Returns the sequence numbers that babeltrace2 reads from `sided:tick`."""
    text = output("babeltrace2", trace)
    return [int(n) for n in re.findall(r"sided:tick: .*sequence = (\d+)", text)]


def the_units_are_valid():
    for words in (["--system"], ["--user"]):
        text = subprocess.run(["systemd-analyze", *words, "verify", "sided.socket", "sided.service"],
                              capture_output=True, text=True, check=False, timeout=TIMEOUT).stderr
        checks.true("sided" not in text, f"no complaints about our units: {text}")
    seen("units")


def the_system_has_a_daemon():
    output("systemd-sysusers")
    output("systemctl", "start", "sided.socket")
    info = os.stat("/run/side/control.sock")
    checks.true(stat.S_IMODE(info.st_mode) == 0o660, f"mode of the socket: {info.st_mode:o}")
    checks.true(output("getent", "group", str(info.st_gid)).startswith("tracing:"), "group of the socket")
    checks.true(show("sided.service", "ActiveState") == "inactive", "no daemon before a request")
    seen("socket")

    output("side", "create", "boot", "-o", "/var/lib/boot")
    checks.true(show("sided.service", "ActiveState") == "active", "the daemon runs after a request")
    first = int(show("sided.service", "MainPID"))
    checks.true(first > 1, "it is systemd's")
    output("side", "enable-event", "-s", "boot", "sided:*")
    output("side", "start", "boot")
    program = Program()
    program.fire(100)
    seen("activation")

    # A regular restart, as after an upgrade.
    output("systemctl", "restart", "sided.service")
    second = int(show("sided.service", "MainPID"))
    checks.true(second != first, "another process")
    program.fire(100)
    wait_until(lambda: " active " in output("side", "list"), "the session after the restart")
    seen("restart")

    # And an unexpected end.
    os.kill(second, signal.SIGKILL)
    wait_until(lambda: show("sided.service", "ActiveState") == "active" and
               int(show("sided.service", "MainPID")) not in (0, second), "a daemon after the kill")
    program.fire(100)
    late = Program()
    late.fire(50)
    output("side", "stop", "boot")
    program.quit()
    late.quit()
    got = sequences("/var/lib/boot")
    checks.true(sorted(got) == sorted([*range(300), *range(50)]), f"each event once: {len(got)} of 350")
    status = json.loads(output("side", "status", "boot", "--json").splitlines()[0])
    checks.true(status, "a status")
    seen("kill")

    # The default directory of traces.
    output("side", "create", "plain", cwd="/root")
    output("side", "enable-event", "-s", "plain", "sided:*")
    output("side", "start", "plain")
    program = Program()
    program.fire(10)
    program.quit()
    output("side", "stop", "plain")
    folder = json.loads(output("side", "status", "plain", "--json").splitlines()[0])["output"]
    checks.true(sequences(folder) == list(range(10)), f"events in {folder}")
    output("side", "destroy", "plain")
    seen("default")

    # A session of the system's daemon may send its recording.
    receiver = subprocess.Popen(["side", "receive", "--listen", "4711", "-o", "/var/lib/received"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    output("side", "create", "away", "--to", "tcp://localhost:4711")
    output("side", "enable-event", "-s", "away", "sided:*")
    output("side", "start", "away")
    program = Program()
    program.fire(10)
    program.quit()
    output("side", "destroy", "away")
    checks.true(sequences("/var/lib/received") == list(range(10)), "events that were sent")
    receiver.terminate()
    receiver.wait(TIMEOUT)
    seen("sent")

    # A user who is not in the group gets a message about it.
    refused = subprocess.run(["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "side",
                              "list", "--system"], capture_output=True, text=True, check=False,
                             timeout=TIMEOUT)
    checks.true(refused.returncode == 3 and "tracing" in refused.stderr, f"a refusal: {refused}")
    output("setpriv", f"--reuid={USER}", f"--regid={USER}", "--groups=tracing", "side", "list", "--system")
    seen("tight")
    output("side", "destroy", "boot")
    output("systemctl", "stop", "sided.service", "sided.socket")
    checks.true(not os.path.exists("/run/side/control.sock"), "no socket stays")
    seen("stop")


def a_user_has_one():
    user = pwd.getpwnam(USER)
    started = subprocess.run(["systemctl", "start", f"user@{user.pw_uid}.service"], capture_output=True,
                             text=True, check=False, timeout=TIMEOUT)
    if started.returncode:
        # Without libpam-systemd there is no systemd of a user.
        seen("no-users")
        return
    runtime = f"/run/user/{user.pw_uid}"
    as_user = ["setpriv", f"--reuid={USER}", f"--regid={user.pw_gid}", "--clear-groups", "env", "-i",
               f"XDG_RUNTIME_DIR={runtime}", f"HOME={user.pw_dir}", "PATH=/usr/local/bin:/usr/bin:/bin"]
    output(*as_user, "systemctl", "--user", "start", "sided.socket")
    checks.true(stat.S_IMODE(os.stat(f"{runtime}/side/control.sock").st_mode) == 0o600, "mode of the socket")
    folder = f"{user.pw_dir}/trace"
    output(*as_user, "side", "create", "mine", "-o", folder)
    output(*as_user, "side", "enable-event", "-s", "mine", "sided:*")
    output(*as_user, "side", "start", "mine")
    checks.true(output(*as_user, "systemctl", "--user", "is-active", "sided.service").strip() == "active",
          "the user's daemon is systemd's")
    done = subprocess.run([*as_user, PROGRAM], input="fire 10\nquit 0\n", capture_output=True, text=True,
                          check=False, timeout=TIMEOUT)
    checks.true(done.returncode == 0, done.stderr)
    output(*as_user, "side", "stop", "mine")
    checks.true(sequences(folder) == list(range(10)), "the user's events")
    output(*as_user, "side", "destroy", "mine")
    seen("user")


seen("started")
output("ldconfig")
the_units_are_valid()
the_system_has_a_daemon()
a_user_has_one()
seen("all")
