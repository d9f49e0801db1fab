#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes the traces that fuzz-analysis changes: all types of SIDE, channels with contexts, CTF 2."""
import os
import subprocess
import sys
import tempfile

import synthetic

SAMPLE, CHANNELS = os.environ["CTF_SAMPLE"], os.environ["CTF_CHANNELS"]

with tempfile.TemporaryDirectory() as folder:
    traces = [os.path.join(folder, name) for name in ("sample", "sample2", "channels", "channels2", "foreign")]
    for command in ([SAMPLE, "write", traces[0]], [SAMPLE, "write2", traces[1]],
                    [CHANNELS, traces[2], "1", "0"], [CHANNELS, traces[3], "2", "3"]):
        subprocess.run(command, check=True)
    synthetic.write_trace(traces[4], "host", [synthetic.Process(1, "one", [1, 2])], 7, count=300)
    sys.exit(subprocess.run([sys.argv[1], *traces], check=False).returncode)
