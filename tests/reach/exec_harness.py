# SPDX-License-Identifier: MIT
"""A daemon that attaches on exec, and programs that know nothing of side, for the tests of attach on exec.

The arguments of the test are SIDE LIBRARIES.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal
from waiting import wait_until

side = os.path.abspath(sys.argv[1])
libraries = ":".join(os.path.abspath(directory) for directory in sys.argv[2].split(":"))
work = tempfile.TemporaryDirectory(prefix="side-exec-test-")
environment = {k: v for k, v in os.environ.items() if k not in (
    "LD_PRELOAD", "LD_LIBRARY_PATH", "SIDE_AGENT_SOCKET", "SIDE_REPORT_SOCKET", "SIDE_AGENT_SESSION", "XDG_RUNTIME_DIR")}
environment.update(SIDE_RUNTIME=os.path.join(work.name, "runtime"), SIDE_LIB_DIR=libraries, HOME=work.name, TMPDIR=work.name)
# The programs do not know where the libraries are.
plain = {k: v for k, v in environment.items() if k not in ("SIDE_LIB_DIR", "SIDE_RUNTIME")}
# The recorder and the processes that read files are slow on a busy machine.
environment["SIDE_TIMEOUT_FACTOR"] = plain["SIDE_TIMEOUT_FACTOR"] = "4"
# For a copy of the interpreter.
plain["PYTHONHOME"] = sys.base_prefix

# Calls counted() as often as the first argument states, with a call before main().
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>

static volatile int calls;

__attribute__((noinline)) void counted(int i)
{
	calls += i + 1 - i;
}

__attribute__((constructor)) static void before(void)
{
	counted(0);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < atoi(argv[1]); i++)
		counted(i);
	printf("%d\n", calls);
	return 3;
}
"""


def path(name):
    return os.path.join(work.name, name)


def compile_program(name, text, *command):
    with open(path(name + ".c"), "w", encoding="utf-8") as out:
        out.write(text)
    return path(name) if not subprocess.run(
        [*(command or ("gcc",)), "-O1", "-pthread", "-o", path(name), path(name + ".c")], capture_output=True, check=False,
        timeout=60).returncode else None


def call(*command, status=0):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)
    if status is not None:
        expect_equal(done.returncode, status, f"{command}: {done.stderr}")
    return done


def start(program, *arguments, status=3):
    """A program that knows nothing of side."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=60, env=plain)
    if status is not None:
        expect_equal(done.returncode, status, f"{program} {arguments}: {done.stderr}")
    return done


def create(name, *probes):
    call(side, "create", name, "-o", path(name))
    for event, exe, function in probes:
        call(side, "enable-event", event, "-s", name, "--exe", exe, "--function", function)
    call(side, "start", name)


def counts(name):
    found = {}
    # Without a program, there is no trace.
    if not os.listdir(path(name)):
        return found
    for line in call(side, "view", "--json", path(name)).stdout.splitlines():
        event = json.loads(line)
        if "event" not in event:
            print(line)
            continue
        key = event["event"], event["vpid"]
        found[key] = found.get(key, 0) + 1
    return found


def end(name):
    call(side, "stop", name)
    found = counts(name)
    call(side, "destroy", name)
    return found


def execs(name):
    """The state of attach on exec of the session's first probe."""
    return json.loads(call(side, "status", name, "--json").stdout).get("probes", [{"exec": {}}])[0]["exec"]


def wait_for(name, **numbers):
    wait_until(lambda: all(execs(name).get(key, 0) >= number for key, number in numbers.items()), f"{numbers} of {execs(name)}")
    return execs(name)


def processes(name):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as comm, open(f"/proc/{pid}/environ", encoding="utf-8") as variables:
                if comm.read().strip() == name[:15] and environment["SIDE_RUNTIME"] in variables.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def run(tests):
    """Calls tests(program) if the daemon can attach on exec. Returns false otherwise."""
    program = compile_program("program", PROGRAM)
    if not program:
        return False
    try:
        call(side, "create", "able", "-o", path("able"))
        able = json.loads(call(side, "enable-event", "counted", "-s", "able", "--exe", program, "--function", "counted", "--json").stdout)
        call(side, "destroy", "able")
        if able["exec"]["possible"]:
            tests(program)
            return True
        print(f"skipped: the daemon cannot attach on exec: {able['exec']['why']}")
        expect(able["exec"]["why"], "the reason")
        return False
    finally:
        call(side, "daemon", "--stop", status=None)
