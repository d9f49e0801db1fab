# SPDX-License-Identifier: MIT
"""Runs `side leaks` and reads its JSON, for the tests of that verb."""
import json
import re
import subprocess

from checks import expect_equal


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, **options)


def find_library(name):
    """The path of a library that is installed, or None."""
    listing = run("/sbin/ldconfig", "-p").stdout
    return next((line.split(" => ")[1] for line in listing.splitlines() if line.split()[0:1] == [name]), None)


class Answer:
    """The lines of `side leaks --json`. `skip`: lines of the program itself."""

    def __init__(self, done, text=None, skip=()):
        self.status, self.stderr = done.returncode, done.stderr
        lines = [json.loads(line) for line in (done.stdout if text is None else text).splitlines() if line not in skip]
        by_type = {}
        for line in lines:
            by_type.setdefault(line["type"], []).append(line)
        expect_equal([line["schema"] for line in lines], [1] * len(lines), "schema")
        self.summary = by_type.get("leaks", [None])[0]
        self.leaks = by_type.get("leak", [])
        self.processes = by_type.get("leaks_process", [])
        self.double_frees = by_type.get("double_free", [])
        self.unknown_frees = by_type.get("unknown_free", [])

    def functions(self, leak, member="stack"):
        names = [frame.get("function") for frame in leak[member]]
        return [re.sub(r"\(.*", "", name) if name else name for name in names]

    def of(self, function):
        """Blocks and bytes of the stacks that contain the function."""
        found = [leak for leak in self.leaks if function in self.functions(leak)]
        return sum(leak["blocks"] for leak in found), sum(leak["bytes"] for leak in found)
