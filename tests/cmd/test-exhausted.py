#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Commands that read traces, with one failed allocation for each call path that allocates (exhaust.c): the output is the whole output, or
the exit status is an error with a message. No command ends by a signal.

SIDE_TEST_LONG=1: also with each further allocation failing, and with each K-th.
"""
import os
import shutil
import subprocess
import tempfile

from harness import LONG, SIDE, environment, equal, run_tests, true

WORK = tempfile.mkdtemp(prefix="side-exhausted-")
EXHAUST, SAMPLE, CHANNELS = (os.environ[name] for name in ("EXHAUST", "CTF_SAMPLE", "CTF_CHANNELS"))
for arguments in ([SAMPLE, "write", "one"], [SAMPLE, "write2", "two"], [CHANNELS, "channels", "1", "0"], [CHANNELS, "packed", "2", "3"]):
    subprocess.run(arguments, cwd=WORK, check=True, stdout=subprocess.DEVNULL)


def run(arguments, **changes):
    """Status, output (also of OUT), messages."""
    out = os.path.join(WORK, "out")
    shutil.rmtree(out, True)
    if os.path.exists(out):
        os.unlink(out)
    result = subprocess.run([SIDE, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                            check=False, cwd=WORK, env=environment(LD_PRELOAD=EXHAUST, EXHAUST_PROGRAM="side-more", SIDE_RUNTIME=WORK,
                                                                   **changes))
    content = b""
    if os.path.isfile(out):
        with open(out, "rb") as file:
            content = file.read()
    return result.returncode, result.stdout + content, result.stderr.decode(errors="replace")


def numbers(arguments):
    counts = os.path.join(WORK, "counts")
    run(arguments, EXHAUST_COUNT=counts)
    with open(counts, encoding="utf-8") as file:
        found = [int(line) for line in file]
    true(found, "allocations were counted")
    return found


def exhaust(*arguments, compares=True):
    status, wanted, err = run(arguments)
    equal(status, 0, err)
    paths = numbers(arguments)
    ways = [{"EXHAUST_AT": str(number)} for number in (paths if LONG else paths[::3])]
    if LONG:
        ways += [{"EXHAUST_FROM": str(number)} for number in paths]
        ways += [{"EXHAUST_EVERY": str(number)} for number in range(2, 60)]
    for way in ways:
        status, out, err = run(arguments, **way)
        true(status >= 0, f"{arguments} {way}: ends by signal {-status}")
        if status:
            true(err.strip() not in ("", "side:"), f"{arguments} {way}: status {status} without a message")
        elif compares:
            true(out == wanted, f"{arguments} {way}: another output with status 0")


def test_view():
    exhaust("view", "one")
    exhaust("view", "packed")


def test_view_json():
    exhaust("view", "--json", "two")


def test_view_filter():
    exhaust("view", "--filter", "x > 3 && x < 100", "two")


def test_report():
    exhaust("report", "one")
    exhaust("report", "--json", "two")
    exhaust("report", "--callers", "5", "--losses", "channels")


def test_export():
    for form in ("csv", "jsonl", "chrome", "perfetto"):
        exhaust("export", "--to", form, "two")


def test_expand():
    exhaust("expand", "-o", "out", "channels")


def test_send_and_receive():
    """What is sent has an identity of its own each time."""
    exhaust("send", "channels", "out", compares=False)


try:
    run_tests(dict(globals()))
finally:
    shutil.rmtree(WORK, True)
