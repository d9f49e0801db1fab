# SPDX-License-Identifier: MIT
"""A program that uses the export library, but not the command line, writes a trace as CSV.

usage: test-csv.py PROGRAM CTF-SAMPLE
"""
import csv
import os
import subprocess
import sys
import tempfile

program, sample = sys.argv[1:]
with tempfile.TemporaryDirectory() as work:
    trace = os.path.join(work, "trace")
    subprocess.run([sample, "write", trace], check=True)
    data = subprocess.run([program, trace], capture_output=True, check=True).stdout.decode()
    rows = list(csv.DictReader(data.splitlines(keepends=True)))
    read = subprocess.run([sample, "read", trace], capture_output=True, text=True, check=True).stdout
    expected = [line.split(" ", 1)[0] for line in read.splitlines()]
    assert [row["event"] for row in rows] == expected and expected, (rows[:3], expected[:3])
    # The library returns errors as texts: of reading, and of writing.
    missing = os.path.join(work, "missing")
    refused = subprocess.run([program, missing], capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and not refused.stdout, refused
    assert refused.stderr == f"export-csv: cannot export {missing}: No such file or directory\n", refused.stderr
    with open("/dev/full", "w", encoding="ascii") as full:
        refused = subprocess.run([program, trace], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert refused.returncode == 1, refused
    assert refused.stderr == "export-csv: cannot write to standard output: No space left on device\n", refused.stderr
