#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Traced programs with one failing call for each site of libside and the agent (faults.c). The output and the status of the program are the same
as without a fault. Either the recording is complete, or the recorder or the program reports the missing part.
"""
import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

from checks import contains, equal, run_tests, true
from faults import CALLS, Faults

WORK = tempfile.mkdtemp(prefix="side-faults-")
SIDE, TALKER, PROGRAM = (os.environ[name] for name in ("SIDE", "TALKER", "BOOT_PROGRAM"))
LONG = os.environ.get("SIDE_TEST_LONG") == "1"
# Messages of the recorder about a program whose recording is incomplete or missing.
REPORTS = re.compile(r"is not recorded|are not recorded|were lost|recorded nothing|joined late")
SESSION_ERROR = re.compile(r"session early of \S*: (-?\d+)\n")


def environment(**changes):
    return {**os.environ, "SIDE_RUNTIME": os.path.join(WORK, "run"), "SIDE_PAGER": "", **changes}


def names(trace):
    """Returns the names of the events in a trace, or in all traces below a directory."""
    done = subprocess.run([SIDE, "view", "--json", trace], env=environment(), cwd=WORK, capture_output=True, text=True, check=False)
    return re.findall(r'"event":"([^"]*)"', done.stdout)


def faults(**more):
    return Faults(os.path.join(WORK, "control"), "libside", depth=8 if LONG else 2, **more)


def test_record():
    control = faults()

    def run():
        shutil.rmtree(os.path.join(WORK, "out"), True)
        done = subprocess.run([SIDE, "record", "-o", "out", "--", TALKER, "3", "exit", "7"], cwd=WORK, env=environment(**control.environment),
                              capture_output=True, text=True, timeout=120, check=False)
        failed, control.control.is_off = control.failed, 1
        return done.returncode, names("out"), done.stderr, failed
    control.note()
    status, wanted, err, _ = run()
    equal((status, wanted), (7, ["talker:said"] * 3 + ["talker:ends"]), err)
    sites = control.noted()
    for site in sites:
        control.arm(site.hash)
        status, events, err, failed = run()
        equal(status, 7, f"{site}: {err}")
        if events != wanted:
            equal(failed, 1, f"{site}: other events without a failed call: {err}")
            true(REPORTS.search(err), f"{site}: {len(events)} of {len(wanted)} events, and no report: {err}")


def boot(place, control, **more):
    """Returns the stderr of a program that records by a configuration."""
    config = os.path.join(WORK, "boot.conf")
    with open(config, "w", encoding="utf-8") as file:
        file.write(f"place {place}\n\nsession early\n" + "".join(
            f"channel {name}\n\tbuffer-size 128K\n\tevent boot:{event}\n" for name, event in (("one", "first"), ("two", "tick"))))
    done = subprocess.run([PROGRAM, "fire=2", "say=here"], cwd=WORK, env=environment(SIDE_BOOT=config, SIDE_DEBUG="1", **control.environment),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    equal((done.returncode, done.stdout), (0, "here\n"), done.stderr)
    return done.stderr


def test_boot():
    """The rings are files in the state directory. If the agent cannot create them, it reports the error of the call."""
    control, place = faults(), os.path.join(WORK, "place")

    def run():
        shutil.rmtree(place, True)
        shutil.rmtree(os.path.join(WORK, "out"), True)
        err = boot(place, control)
        failed, control.control.is_off = control.failed, 1
        subprocess.run([SIDE, "adopt", place, "-o", "out"], cwd=WORK, env=environment(), capture_output=True, check=False)
        return names("out"), err, failed
    control.note()
    wanted, err, _ = run()
    equal(wanted, ["boot:first"] + ["boot:tick"] * 2, err)
    for site in control.noted():
        control.arm(site.hash)
        events, err, failed = run()
        if events != wanted:
            equal(failed, 1, f"{site}: other events without a failed call: {err}")
            true(re.search(r"error \d+|: -\d+|cannot be loaded", err), f"{site}: {events}, and no report: {err}")


def test_boot_in_memory():
    """
    The rings are memory of the process. If the agent cannot create the memory of one of two channels, it reports that error, and no error that
    follows from it. The other ring does not hide the error.
    """
    control, place = faults(kinds=CALLS), os.path.join(WORK, "file")
    with open(place, "w", encoding="utf-8"):
        pass
    control.note()
    err = boot(place, control)
    contains(err, "they are in the memory of the process")
    equal(SESSION_ERROR.findall(err), ["0"], err)
    made = [site for site in control.noted() if site.function == "memfd_create"]
    true(any(site.times == 2 for site in made), f"a ring for each channel: {made}")
    for site in made:
        for skip in range(site.times):
            control.arm(site.hash, skip=skip)
            err = boot(place, control)
            equal(SESSION_ERROR.findall(err), [f"-{errno.EMFILE}"], f"{site}, call {skip + 1}: {err}")


try:
    run_tests(dict(globals()))
finally:
    shutil.rmtree(WORK, True)
