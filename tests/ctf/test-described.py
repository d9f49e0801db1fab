# SPDX-License-Identifier: MIT
"""
The field classes of each SIDE type: the metadata of the sample in both formats, line by line. Test ctf-sample compares what
babeltrace2 reads with them.

test-described.py SAMPLE EXPECTED_TSDL EXPECTED_JSON
"""
import os
import subprocess
import sys
import tempfile

if sys.byteorder != "little":
    print("the expected metadata is that of a little-endian machine")
    sys.exit(77)
failures = 0
for verb, expected in (("write", sys.argv[2]), ("write2", sys.argv[3])):
    with tempfile.TemporaryDirectory() as work:
        trace = os.path.join(work, "trace")
        subprocess.run([sys.argv[1], verb, trace], check=True)
        with open(os.path.join(trace, "metadata"), encoding="utf-8") as file:
            metadata = file.read()
    # The events of the sample, without their descriptions as JSON. Test ctf-exact compares the part
    # before them.
    metadata = metadata[metadata.index("sample:"):]
    found = [line for line in metadata.replace("\x1e", "").split("\n")
             if "side.event " not in line and '"side":{"event"' not in line]
    with open(expected, encoding="utf-8") as file:
        wanted = file.read().split("\n")
    for number, (left, right) in enumerate(zip(wanted, found), 1):
        if left != right:
            failures += 1
            print("%s, line %d:\n  wanted %s\n  found  %s" % (expected, number, left, right))
    if len(wanted) != len(found):
        failures += 1
        print("%s: %d lines instead of %d" % (expected, len(found), len(wanted)))
sys.exit(failures > 0)
