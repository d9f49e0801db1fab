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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import wait_until

PROGRAM, USER = sys.argv[1:]
TIMEOUT = 120


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                          timeout=TIMEOUT, **options)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def show(unit, name, *more):
    return run("systemctl", *more, "show", "-P", name, unit).strip()


def check(condition, what):
    if not condition:
        sys.exit(f"not so: {what}")


def seen(what):
    print(what, flush=True)


class Program:
    def __init__(self, **options):
        self.process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        bufsize=1, **options)
        self.expect("ready")

    def expect(self, word):
        line = self.process.stdout.readline().split()
        check(line and line[0] == word, f"{word} expected, not {line}")

    def fire(self, count):
        self.process.stdin.write(f"fire {count}\n")
        self.process.stdin.flush()
        self.expect("fired")

    def quit(self):
        self.process.stdin.write("quit 0\n")
        self.process.stdin.flush()
        check(self.process.wait(TIMEOUT) == 0, "the program ended well")


def sequences(trace):
    """Returns the sequence numbers that babeltrace2 reads from `sided:tick`."""
    text = run("babeltrace2", trace)
    return [int(n) for n in re.findall(r"sided:tick: .*sequence = (\d+)", text)]


def the_units_are_valid():
    for words in (["--system"], ["--user"]):
        text = subprocess.run(["systemd-analyze", *words, "verify", "sided.socket", "sided.service"],
                              capture_output=True, text=True, check=False, timeout=TIMEOUT).stderr
        check("sided" not in text, f"no complaints about our units: {text}")
    seen("units")


def the_system_has_a_daemon():
    run("systemd-sysusers")
    run("systemctl", "start", "sided.socket")
    info = os.stat("/run/side/control.sock")
    check(stat.S_IMODE(info.st_mode) == 0o660, f"mode of the socket: {info.st_mode:o}")
    check(run("getent", "group", str(info.st_gid)).startswith("tracing:"), "group of the socket")
    check(show("sided.service", "ActiveState") == "inactive", "no daemon before a request")
    seen("socket")

    run("side", "create", "boot", "-o", "/var/lib/boot")
    check(show("sided.service", "ActiveState") == "active", "the daemon runs after a request")
    first = int(show("sided.service", "MainPID"))
    check(first > 1, "it is systemd's")
    run("side", "enable-event", "-s", "boot", "sided:*")
    run("side", "start", "boot")
    program = Program()
    program.fire(100)
    seen("activation")

    # A regular restart, as after an upgrade.
    run("systemctl", "restart", "sided.service")
    second = int(show("sided.service", "MainPID"))
    check(second != first, "another process")
    program.fire(100)
    wait_until(lambda: " active " in run("side", "list"), "the session after the restart")
    seen("restart")

    # And an unexpected end.
    os.kill(second, signal.SIGKILL)
    wait_until(lambda: show("sided.service", "ActiveState") == "active" and
               int(show("sided.service", "MainPID")) not in (0, second), "a daemon after the kill")
    program.fire(100)
    late = Program()
    late.fire(50)
    run("side", "stop", "boot")
    program.quit()
    late.quit()
    got = sequences("/var/lib/boot")
    check(sorted(got) == sorted([*range(300), *range(50)]), f"each event once: {len(got)} of 350")
    status = json.loads(run("side", "status", "boot", "--json").splitlines()[0])
    check(status, "a status")
    seen("kill")

    # The default directory of traces.
    run("side", "create", "plain", cwd="/root")
    run("side", "enable-event", "-s", "plain", "sided:*")
    run("side", "start", "plain")
    program = Program()
    program.fire(10)
    program.quit()
    run("side", "stop", "plain")
    output = json.loads(run("side", "status", "plain", "--json").splitlines()[0])["output"]
    check(sequences(output) == list(range(10)), f"events in {output}")
    run("side", "destroy", "plain")
    seen("default")

    # A session of the system's daemon may send its recording.
    receiver = subprocess.Popen(["side", "receive", "--listen", "4711", "-o", "/var/lib/received"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run("side", "create", "away", "--to", "tcp://localhost:4711")
    run("side", "enable-event", "-s", "away", "sided:*")
    run("side", "start", "away")
    program = Program()
    program.fire(10)
    program.quit()
    run("side", "destroy", "away")
    check(sequences("/var/lib/received") == list(range(10)), "events that were sent")
    receiver.terminate()
    receiver.wait(TIMEOUT)
    seen("sent")

    # A user who is not in the group gets a message about it.
    refused = subprocess.run(["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "side",
                              "list", "--system"], capture_output=True, text=True, check=False,
                             timeout=TIMEOUT)
    check(refused.returncode == 3 and "tracing" in refused.stderr, f"a refusal: {refused}")
    run("setpriv", f"--reuid={USER}", f"--regid={USER}", "--groups=tracing", "side", "list", "--system")
    seen("tight")
    run("side", "destroy", "boot")
    run("systemctl", "stop", "sided.service", "sided.socket")
    check(not os.path.exists("/run/side/control.sock"), "no socket stays")
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
    run(*as_user, "systemctl", "--user", "start", "sided.socket")
    check(stat.S_IMODE(os.stat(f"{runtime}/side/control.sock").st_mode) == 0o600, "mode of the socket")
    output = f"{user.pw_dir}/trace"
    run(*as_user, "side", "create", "mine", "-o", output)
    run(*as_user, "side", "enable-event", "-s", "mine", "sided:*")
    run(*as_user, "side", "start", "mine")
    check(run(*as_user, "systemctl", "--user", "is-active", "sided.service").strip() == "active",
          "the user's daemon is systemd's")
    done = subprocess.run([*as_user, PROGRAM], input="fire 10\nquit 0\n", capture_output=True, text=True,
                          check=False, timeout=TIMEOUT)
    check(done.returncode == 0, done.stderr)
    run(*as_user, "side", "stop", "mine")
    check(sequences(output) == list(range(10)), "the user's events")
    run(*as_user, "side", "destroy", "mine")
    seen("user")


seen("started")
run("ldconfig")
the_units_are_valid()
the_system_has_a_daemon()
a_user_has_one()
seen("all")
