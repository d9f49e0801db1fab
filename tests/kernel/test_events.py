# SPDX-License-Identifier: MIT
"""inside_events.py or inside_together.py, in the machine.   usage: test_events.py events|together [CASE...]"""
import os
import sys

import machine

HERE = os.path.dirname(os.path.realpath(__file__))
NAMES = ("KERNEL_PROGRAM", "KERNEL_PLUGIN", "ROUNDTRIP_FIRE", "SIDE", "CONSOLE", "GDB_SCRIPT", "LIB_DIRS")


def main():
    reason = machine.why_not()
    if reason:
        print(f"skipped: {reason}")
        return 77
    variables = [(name, os.environ[name]) for name in NAMES if name in os.environ]
    variables.append(("SIDE_LIB_DIR", os.environ["KERNEL_LIB_DIR"]))
    inside = os.path.join(HERE, f"inside_{sys.argv[1]}.py")
    status, output = machine.run([sys.executable, "-B", inside, *sys.argv[2:]], variables, 400)
    print(output)
    return 1 if status is None else status


if __name__ == "__main__":
    sys.exit(main())
