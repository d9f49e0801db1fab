# SPDX-License-Identifier: MIT
"""inside_events.py, in the machine.   usage: test_events.py [CASE...]"""
import os
import sys

import machine

HERE = os.path.dirname(os.path.realpath(__file__))


def main():
    reason = machine.why_not()
    if reason:
        print(f"skipped: {reason}")
        return 77
    names = ("KERNEL_PROGRAM", "KERNEL_PLUGIN", "ROUNDTRIP_FIRE", "SIDE")
    variables = [(name, os.environ[name]) for name in names if name in os.environ]
    variables.append(("SIDE_LIB_DIR", os.environ["KERNEL_LIB_DIR"]))
    status, output = machine.run([sys.executable, "-B", os.path.join(HERE, "inside_events.py"), *sys.argv[1:]],
                                 variables, 400)
    print(output)
    return 1 if status is None else status


if __name__ == "__main__":
    sys.exit(main())
