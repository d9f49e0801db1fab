# SPDX-License-Identifier: MIT
"""The check accepts the addresses after each call that objdump prints, and few others, in programs of this machine.

usage: test-returns.py RETURNS AGENT
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
from checks import expect, finish

returns, agent = sys.argv[1:]
FILES = ["/usr/bin/dash", "/usr/lib/x86_64-linux-gnu/libm.so.6", agent]


def instructions(path):
    """Each instruction's address, and whether the one before it is a call; each function's address."""
    text = subprocess.check_output(["objdump", "-d", "--no-show-raw-insn", path], text=True, timeout=100)
    after_call = False
    for line in text.splitlines():
        found = re.match(r" +([0-9a-f]+):\t(.*)", line)
        if found:
            yield int(found[1], 16), after_call
            after_call = re.match(r"(\w+ )*call", found[2]) is not None


for path in filter(os.path.exists, FILES):
    ours = {int(line, 16) for line in subprocess.check_output([returns, path], text=True, timeout=100).split()}
    listed = list(instructions(path))
    after = {address for address, after_call in listed if after_call}
    others = {address for address, after_call in listed if not after_call}
    expect(len(after) > 3, f"{path}: {len(after)} calls")
    missed = after - ours
    expect(not missed, f"{path}: {len(missed)} of {len(after)} calls are missed: {[hex(a) for a in sorted(missed)[:5]]}")
    # Those after jumps, as a probe may have replaced a call by one; and a few by chance.
    wrong = others & ours
    expect(len(wrong) * 20 < len(others), f"{path}: {len(wrong)} of {len(others)} other instructions count as calls")
    print(f"{path}: {len(after)} calls; {len(wrong)} of {len(others)} other instructions look like the end of one")
finish()
