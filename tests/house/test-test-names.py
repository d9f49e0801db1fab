# SPDX-License-Identifier: MIT
"""Each test has its own name: with it ./check repeats a failed test alone, and mutate.py finds the
tests of a function.

usage: test-test-names.py BUILD-DIRECTORY
"""
import collections
import json
import subprocess
import sys

done = subprocess.run(["meson", "introspect", "--tests", sys.argv[1]], check=True, capture_output=True, text=True)
counts = collections.Counter(test["name"] for test in json.loads(done.stdout))
for name, count in sorted(counts.items()):
    if count > 1:
        print(f"{name}: {count} tests have this name")
print(f"{len(counts)} names of {sum(counts.values())} tests")
sys.exit(len(counts) != sum(counts.values()) or not counts)
