# SPDX-License-Identifier: MIT
"""What the tests of the command line share: running `side`, on pipes or a terminal, and checking."""
import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

import resources
from checks import contains, equal, output, run, run_tests, skip, true
from waiting import wait_until

SIDE = os.environ.get("SIDE", "side")
LONG = os.environ.get("SIDE_TEST_LONG") == "1"


class Result:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __repr__(self):
        return f"status {self.status}\nstdout: {self.out!r}\nstderr: {self.err!r}"


def environment(**changes):
    """The environment without what a user's settings would change; None removes a variable."""
    result = {k: v for k, v in os.environ.items()
              if k not in ("NO_COLOR", "TERM", "SIDE_DEBUG", "LD_PRELOAD", "PAGER", "LESS")}
    # Tests have a terminal of their own where they need a pager.
    result["SIDE_PAGER"] = ""
    result["TERM"] = "xterm"
    for name, value in changes.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = value
    return result


def side(*args, env=None, cwd=None, text=True, timeout=60, stdin=subprocess.DEVNULL, **more):
    run = subprocess.run([SIDE, *args], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         env=env or environment(), cwd=cwd, timeout=timeout, **more)
    if text:
        return Result(run.returncode, run.stdout.decode("utf-8", "surrogateescape"),
                      run.stderr.decode("utf-8", "surrogateescape"))
    return Result(run.returncode, run.stdout, run.stderr)


def generated(name):
    """The output of the generator of documents for a page or a shell."""
    with tempfile.NamedTemporaryFile("r") as file:
        subprocess.run([os.environ["GENERATE"], name, file.name], check=True)
        return file.read()


def unguarded(text):
    """babeltrace2's text, with each value behind a pointer shown without its variant: `_s_tag = ( "some" : … ), s = { "text" }` is `s = "text"`."""
    text = re.sub(r'_\w+_tag = \( "(?:some|none)" : container = \d+ \), ', "", text)
    return re.sub(r'(\w+) = \{ ("(?:[^"\\]|\\.)*"|\[ .*? \]|\( .*? \)|[^ ,{}=]+) \}', r"\1 = \2", text)


def end_daemon(env):
    """The daemon of a test, and its sessions, end with the test."""
    found = side("daemon", "--json", "--no-daemon", env=env)
    if found.status:
        return
    side("destroy", "-a", env=env)
    pid = json.loads(found.out.splitlines()[0])["pid"]
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the daemon has ended")
    if "SIDE_RUNTIME" in env:
        resources.assert_released(env["SIDE_RUNTIME"])


def kill_recording(command, buffers, output, runtime):
    """Record the command, which prints "ready", and kill the recorder and the program: their buffers are left."""
    recorder = subprocess.Popen([SIDE, "record", "--buffers", buffers, "-o", output, "--", *command], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, env=environment(SIDE_RUNTIME=runtime))
    contains(recorder.stdout.readline(), b"ready")
    with open(f"/proc/{recorder.pid}/task/{recorder.pid}/children", encoding="utf-8") as file:
        children = [int(word) for word in file.read().split()]
    recorder.kill()
    for child in children:
        os.kill(child, signal.SIGKILL)
    recorder.wait()


def side_on_terminal(*args, which="stdout", env=None):
    """Runs side with one of its outputs on a terminal; gives what arrived there."""
    master, slave = pty.openpty()
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, which: slave}
    process = subprocess.Popen([SIDE, *args], stdin=subprocess.DEVNULL, env=env or environment(),
                               **streams)
    os.close(slave)
    data = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        data += piece
    os.close(master)
    process.wait(timeout=60)
    return Result(process.returncode, data.decode(), "")


def json_lines(text):
    """Each line is an object with the members that every object has."""
    objects = []
    for line in text.splitlines():
        value = json.loads(line)
        assert isinstance(value, dict), line
        assert value.get("schema") == 1, line
        assert isinstance(value.get("type"), str), line
        objects.append(value)
    return objects


def as_exported(value, got, names, name=""):
    """A value of `side view --json` as exports write it: an address is text in hexadecimal. Its name is added to `names`."""
    if isinstance(value, dict) and isinstance(got, dict):
        return {key: as_exported(inner, got.get(key), names, key) for key, inner in value.items()}
    if isinstance(value, list) and isinstance(got, list) and len(value) == len(got):
        return [as_exported(inner, one, names, name) for inner, one in zip(value, got)]
    if isinstance(value, int) and not isinstance(value, bool) and got == hex(value):
        names.add(name)
        return got
    return value
