# SPDX-License-Identifier: MIT
"""A program that uses the analysis library, but not the command line, counts the events of a trace.

usage: test-count.py PROGRAM CTF-SAMPLE
"""
import collections
import os
import subprocess
import sys
import tempfile

program, sample = sys.argv[1:]
with tempfile.TemporaryDirectory() as work:
    trace = os.path.join(work, "trace")
    subprocess.run([sample, "write", trace], check=True)
    printed = subprocess.run([program, trace], capture_output=True, text=True, check=True)
    # An independent reader finds the same events.
    read = subprocess.run([sample, "read", trace], capture_output=True, text=True, check=True).stdout
    expected = collections.Counter(line.split(" ", 1)[0] for line in read.splitlines())
    counted = {name: int(count) for count, name in (line.split(" ", 1) for line in printed.stdout.splitlines())}
    assert counted == expected and expected, (counted, expected)
    counts = [int(line.split()[0]) for line in printed.stdout.splitlines()]
    assert counts == sorted(counts, reverse=True), counts
    # The library returns an error as a text, and prints nothing.
    missing = os.path.join(work, "missing")
    refused = subprocess.run([program, missing], capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and not refused.stdout, refused
    assert refused.stderr == f"count: cannot report {missing}: No such file or directory\n", refused.stderr
