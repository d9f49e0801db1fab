#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""gdb finds the callers of a probe's handler, and those of a function whose return is watched: test-unwind.py PROGRAM"""
import re
import shutil
import subprocess
import sys

program = sys.argv[1]
if not shutil.which("gdb"):
    print("gdb is not installed: nothing can be tested")
    sys.exit(77)

commands = ["set confirm off", "set debuginfod enabled off", "break stop_handler", "break stop_inside",
            "run", "echo HANDLER\\n", "bt", "continue", "echo INSIDE\\n", "bt", "continue", "echo MIDDLE\\n", "bt", "delete",
            "break *unwound_springboard", "continue", "echo SPRINGBOARD\\n", "bt", "echo SYMBOLS\\n", "info symbol probed_tail", "info symbol unwound_springboard",
            "delete", "stepi", "echo BODY\\n", "bt", "continue"]
args = ["gdb", "-nx", "-batch"]
for command in commands:
    args += ["-ex", command]
done = subprocess.run(args + [program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
if "ptrace: Operation not permitted" in done.stdout:
    print("programs cannot be traced here: nothing can be tested")
    sys.exit(77)


# gdb's line for a frame that has interrupted the previous one, as the code of a probe does.
PROBE = "<signal handler called>"


def frames(text):
    return re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(<signal handler called>|\S+(?= \())", text, re.M)


def without_library(names):
    """Removes the functions of this library between a handler and the code of its probe, however many the compiler has made."""
    begin, end = names.index("stop_handler") + 1, names.index(PROBE)
    if end == begin:
        sys.exit("the code of a probe calls a handler itself")
    return names[:begin] + names[end:]


handler, remainder = done.stdout.split("HANDLER\n")[1].split("INSIDE\n")
inside, remainder = remainder.split("MIDDLE\n")
middle, remainder = remainder.split("SPRINGBOARD\n")
springboard, remainder = remainder.split("SYMBOLS\n")
symbols, body = remainder.split("BODY\n")
# The springboard is in padding after a function, whose name debuggers print; it has interrupted the function with the short jump, and so has the
# trampoline.
seen = without_library(frames(handler)), frames(inside), without_library(frames(middle)), frames(springboard)[-4:], frames(body)[-4:]
WANTED = [
    ["stop_handler", PROBE, "unwound_inner", "side_return", "unwound_outer", "side_return", "main"],
    ["stop_inside", "unwound_inner", "side_return", "unwound_outer", "side_return", "main"],
    ["stop_handler", PROBE, "unwound_middle", "main"],
    [PROBE, "probed_short", "unwound_short", "main"],
    [PROBE, "probed_short", "unwound_short", "main"],
]
for got, wanted in zip(seen, WANTED):
    if got != wanted:
        print(f"{got}\ninstead of\n{wanted}\n{done.stdout}")
        sys.exit(1)
if "probed_tail in section" not in symbols:
    print("symbols after the springboard are not found:\n" + symbols)
    sys.exit(1)
if "5\n" not in body or "exited normally" not in body:
    print("the program did not end as it should:\n" + body)
    sys.exit(1)
print("the same frames as without probes, and those of probes")
