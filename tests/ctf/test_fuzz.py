# SPDX-License-Identifier: MIT
"""Mutations of a trace with every type: test_fuzz.py SAMPLE FUZZ_TRACE"""
import os
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as work:
    trace = os.path.join(work, "trace")
    subprocess.run([sys.argv[1], "write", trace], check=True)
    sys.exit(subprocess.run([sys.argv[2], trace]).returncode)
