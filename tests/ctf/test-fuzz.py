# SPDX-License-Identifier: MIT
"""Mutations of a trace with every type, in each of its forms: test-fuzz.py SAMPLE FUZZ_TRACE"""
import os
import subprocess
import sys
import tempfile

for form in ("write", "write2", "write-zstd"):
    with tempfile.TemporaryDirectory() as work:
        trace = os.path.join(work, "trace")
        subprocess.run([sys.argv[1], form, trace], check=True)
        status = subprocess.run([sys.argv[2], trace]).returncode
        if status:
            sys.exit(status)
