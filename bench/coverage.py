#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How many functions of Debian's programs can be probed, and by which method: coverage.py BUILD
[FILE...]

A file that is not installed is left out. "jumps" are all sites except for uprobes, breakpoints and
sites that cannot be probed.
"""
import json
import os
import subprocess
import sys
from collections import Counter

build = sys.argv[1]
side = os.path.join(build, "programs/side/side")
LIBRARIES = "/usr/lib/x86_64-linux-gnu/"
FILES = sys.argv[2:] or [LIBRARIES + "libc.so.6", LIBRARIES + "libcrypto.so.3", LIBRARIES + "libsqlite3.so.0",
                         LIBRARIES + "libstdc++.so.6", "/usr/bin/redis-server", "/usr/sbin/nginx", "/usr/bin/python3",
                         LIBRARIES + "libssl.so.3", LIBRARIES + "libm.so.6", "/usr/bin/openssl", "/usr/bin/node"]
METHODS = ("jump", "padding", "short", "punned", "uprobe", "breakpoint", "none")

print("%-18s %9s " % ("file", "functions") + " ".join("%10s" % method for method in METHODS) + "     jumps")
for path in FILES:
    if not os.path.exists(path):
        continue
    listed = subprocess.run([side, "probe", "list", "--json", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            check=True, timeout=600).stdout
    count = Counter(json.loads(line)["method"] for line in listed.splitlines())
    total = sum(count.values())
    share = 100 * (total - count["uprobe"] - count["breakpoint"] - count["none"]) / total
    print("%-18s %9d " % (os.path.basename(path), total) + " ".join("%10d" % count[method] for method in METHODS)
          + " %7.2f %%" % share, flush=True)
