#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""gdb sees the callers of a probe's handler, and those of a function whose return is watched: test-unwind.py PROGRAM"""
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
            "break *unwound_pad", "continue", "echo PAD\\n", "bt", "echo SYMBOLS\\n", "info symbol place_tail", "info symbol unwound_pad",
            "delete", "stepi", "echo BODY\\n", "bt", "continue"]
args = ["gdb", "-nx", "-batch"]
for command in commands:
    args += ["-ex", command]
done = subprocess.run(args + [program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
if "ptrace: Operation not permitted" in done.stdout:
    print("programs cannot be traced here: nothing can be tested")
    sys.exit(77)


# What gdb says of a frame that has interrupted the one before, as the code of a probe has.
PROBE = "<signal handler called>"


def frames(text):
    return re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(<signal handler called>|\S+(?= \())", text, re.M)


def without_ours(names):
    """Between a handler and the code of its probe are functions of this library, however the compiler has divided them."""
    begin, end = names.index("stop_handler") + 1, names.index(PROBE)
    if end == begin:
        sys.exit("the code of a probe calls a handler itself")
    return names[:begin] + names[end:]


handler, rest = done.stdout.split("HANDLER\n")[1].split("INSIDE\n")
inside, rest = rest.split("MIDDLE\n")
middle, rest = rest.split("PAD\n")
pad, rest = rest.split("SYMBOLS\n")
symbols, body = rest.split("BODY\n")
# The pad is in padding behind a function, whose name debuggers say; it has interrupted the one that has the short jump, and what it leads to has, too.
seen = without_ours(frames(handler)), frames(inside), without_ours(frames(middle)), frames(pad)[-4:], frames(body)[-4:]
WANTED = [
    ["stop_handler", PROBE, "unwound_inner", "side_return", "unwound_outer", "side_return", "main"],
    ["stop_inside", "unwound_inner", "side_return", "unwound_outer", "side_return", "main"],
    ["stop_handler", PROBE, "unwound_middle", "main"],
    [PROBE, "place_short", "unwound_short", "main"],
    [PROBE, "place_short", "unwound_short", "main"],
]
for got, wanted in zip(seen, WANTED):
    if got != wanted:
        print(f"{got}\ninstead of\n{wanted}\n{done.stdout}")
        sys.exit(1)
if "place_tail in section" not in symbols:
    print("symbols behind the pad are not found:\n" + symbols)
    sys.exit(1)
if "5\n" not in body or "exited normally" not in body:
    print("the program did not end as it should:\n" + body)
    sys.exit(1)
print("as without probes, but for their own frames")
