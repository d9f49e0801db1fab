# SPDX-License-Identifier: MIT
"""Runs programs with libprobe-everything.so preloaded, and reads its report (everything.h)."""
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
from waiting import wait_until

LIBRARY = os.environ["PROBE_EVERYTHING"]
LONG = os.environ.get("SIDE_TEST_LONG") == "1"
SECONDS = 120 if LONG else 3
HEAD = "ready rounds set removed refused cut lost unseen abandoned traps bytes slowest_us".split()
ERRORS = 128
PLACE = struct.Struct("=QQQIBBxx56s")
ESTALE, EADDRINUSE, EDEADLK = 116, 98, 35


class Skip(Exception):
    pass


class Report:
    """The present contents of the report."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read(8 * (len(HEAD) + ERRORS + 2))
            words = struct.unpack(f"{len(data) // 8}Q", data)
            self.head = dict(zip(HEAD, words))
            self.errors = {number: count for number, count in enumerate(words[len(HEAD):-2]) if count}
            self.places = [PLACE.unpack(file.read(PLACE.size)) for _ in range(words[-1])]
        with open(path + ".modules", encoding="utf-8") as file:
            self.modules = file.read().splitlines()

    def hits(self):
        return sum(place[1] for place in self.places)

    def __str__(self):
        probed = sum(place[4] != 255 for place in self.places)
        used = sum(place[1] > 0 for place in self.places)
        return (f"{len(self.places)} functions, {probed} probed, {used} hit, {self.hits()} hits; "
                + ", ".join(f"{name} {value}" for name, value in self.head.items()) + f", errors {self.errors}")


def environment(program, report, mode, **more):
    """`program` is the name of the executed file, after all links."""
    return dict(os.environ, LD_PRELOAD=LIBRARY, SIDE_EVERYTHING=os.path.basename(os.path.realpath(program)),
                SIDE_EVERYTHING_REPORT=report, SIDE_EVERYTHING_MODE=mode,
                SIDE_EVERYTHING_SEED=os.environ.get("SEED", "1"), **more)


def is_ready(report):
    try:
        with open(report, "rb") as file:
            return file.read(8) not in (b"", bytes(8))
    except FileNotFoundError:
        return False


def is_stormy(report):
    return report.head["set"] > 1000 and report.head["removed"] > 0 and report.hits() > 1000


def check_storm(report):
    """Checks that the storm set probes, and that nothing was lost or refused without a reason."""
    got = Report(report)
    print(got)
    assert is_stormy(got), "too few probes were set, removed or hit"
    assert got.head["lost"] == 0, "hits were lost"
    # Two locations that share bytes exclude each other; a thread may block signals when it is checked.
    unexpected = set(got.errors) - {ESTALE, EADDRINUSE, EDEADLK, 16}
    assert not unexpected, f"refused with {unexpected}"
    assert got.head["refused"] * 50 < got.head["set"], "too many were refused"


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1500 if LONG else 300, **more)
