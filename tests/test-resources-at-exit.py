# SPDX-License-Identifier: MIT
"""The library that checks resources at the end of a process reports each kind of resource, and no released one.

    test-resources-at-exit.py LIBRARY HOLDER SIDE
"""
import os
import shutil
import subprocess
import sys
import tempfile

import resources
from checks import contains, equal, run_tests, true

LIBRARY, HOLDER, SIDE = map(os.path.abspath, sys.argv[1:4])
del sys.argv[1:4]
HELD = {
    "memory": ["memory: ", ", 100 bytes, from " + HOLDER], "string": [", 5 bytes, from "], "grown": [", 5000 bytes, from " + HOLDER],
    "chain": [", 8 bytes, from " + HOLDER, "resources at exit: 2, of resources-holder\n"], "mapping": ["mapping: ", ", 4096 bytes, from " + HOLDER],
    "part": ["mapping: ", ", 4096 bytes, from " + HOLDER], "descriptor": ["descriptor 3: /dev/null\n"],
    "thread": ["threads that are not joined: 1\n"], "lock": ["locks that are held: 1\n"],
}
RELEASED = ["kept", "freed", "unmapped", "closed", "joined", "detached", "unlocked", "child", "nothing"]


def hold(kind, **changes):
    run = subprocess.run([HOLDER, kind], env={**os.environ, "LD_PRELOAD": LIBRARY, **changes}, check=False, timeout=60,
                         stderr=subprocess.PIPE, text=True)
    return run.returncode, run.stderr


def test_each_kind_is_reported():
    for kind, parts in HELD.items():
        status, text = hold(kind)
        equal(status, 97, f"{kind}: {text}")
        for part in parts:
            contains(text, part, kind)


def test_what_is_released_is_not_reported():
    for kind in RELEASED:
        equal(hold(kind), (0, ""), kind)


def test_settings():
    equal(hold("memory", RESOURCES_AT_EXIT="off"), (0, ""))
    status, text = hold("memory", RESOURCES_AT_EXIT="print")
    equal(status, 0)
    contains(text, "resources at exit: 1, of resources-holder\n")


def test_report_is_left_in_the_runtime_directory():
    with tempfile.TemporaryDirectory() as directory:
        hold("nothing", SIDE_RUNTIME=directory)
        resources.assert_released(directory)
        _, text = hold("memory", SIDE_RUNTIME=directory)
        try:
            resources.assert_released(directory)
        except AssertionError as error:
            equal(str(error), f"held at the end:\n{text}")
        else:
            raise AssertionError("the report is missing")
        resources.assert_released(directory)


def has_library(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return LIBRARY in maps.read()


def test_commands_are_checked():
    """A command that a test starts has the library with any environment. The program that the command runs does not have it."""
    with tempfile.TemporaryDirectory() as directory:
        for environment in ({"SIDE_RUNTIME": directory}, {"SIDE_RUNTIME": directory, "LD_PRELOAD": ""}):
            with subprocess.Popen([SIDE, "record", "-o", os.path.join(directory, "trace"), "--", "/bin/cat"], env=environment,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
                run.stdin.write(b"x")
                run.stdin.flush()
                equal(run.stdout.read(1), b"x")
                with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="utf-8") as children:
                    programs = [child for child in children.read().split() if os.readlink(f"/proc/{child}/exe").endswith("/cat")]
                equal(len(programs), 1)
                true(has_library(run.pid), "the recorder has the library")
                true(not has_library(programs[0]), "the program does not have the library")
                run.stdin.close()
                equal(run.wait(timeout=60), 0)
            shutil.rmtree(os.path.join(directory, "trace"))


if __name__ == "__main__":
    run_tests(globals())
