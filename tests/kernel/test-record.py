# SPDX-License-Identifier: MIT
"""Runs inside_record.py in the machine.   usage: test-record.py [CASE...]"""
import os
import sys
import tempfile

import machine
import test_types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../roundtrip"))
import cases

HERE = os.path.dirname(os.path.realpath(__file__))


def why_not():
    try:
        import bt2
    except ImportError:
        return "python3-bt2 is not installed"
    return machine.why_not() if bt2 else None


def main():
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        return 77
    names = ("KERNEL_PROGRAM", "KERNEL_PLUGIN", "ROUNDTRIP_FIRE", "SIDE", "RECORD_LIB_DIR")
    variables = [(name, os.environ[name]) for name in names if name in os.environ]
    variables.append(("SIDE_LIB_DIR", os.environ["KERNEL_LIB_DIR"]))
    with tempfile.TemporaryDirectory(prefix="side-record-") as scripts:
        cases.script().save(os.path.join(scripts, "cases.json"))
        test_types.random_script(1).save(os.path.join(scripts, "random.json"))
        variables.append(("RECORD_SCRIPTS", scripts))
        status, output = machine.run([sys.executable, "-B", os.path.join(HERE, "inside_record.py"), *sys.argv[1:]],
                                     variables, 800)
    print(output)
    return 1 if status is None else status


if __name__ == "__main__":
    sys.exit(main())
