# SPDX-License-Identifier: MIT
"""Runs inside_events.py, inside_together.py or inside_ticking.py in the machine; or here, with the
features of this machine's own kernel, in a mount namespace with tracefs.

usage: test-events.py events|together|ticking|here-ticking [CASE...]
"""
import importlib.util
import os
import shutil
import subprocess
import sys

import machine

HERE = os.path.dirname(os.path.realpath(__file__))
NAMES = ("KERNEL_PROGRAM", "KERNEL_PLUGIN", "ROUNDTRIP_FIRE", "SIDE", "CONSOLE", "GDB_SCRIPT", "LIB_DIRS", "TICKING",
         "TICKING_SEED", "TICKING_SECONDS", "SIDE_TEST_LONG")
MOUNT = "[ -d /sys/kernel/tracing/events ] || mount -t tracefs none /sys/kernel/tracing; exec \"$@\""


def here(name):
    if os.geteuid() or not shutil.which("unshare") or subprocess.run(["unshare", "-m", "true"], capture_output=True,
                                                                    check=False).returncode:
        print("skipped: not root, or no mount name spaces")
        return 77
    inside = os.path.join(HERE, f"inside_{name}.py")
    return subprocess.run(["unshare", "-m", "sh", "-c", MOUNT, "sh", sys.executable, "-B", inside], check=False,
                          env=dict(os.environ, SIDE_LIB_DIR=os.environ["KERNEL_LIB_DIR"])).returncode


def main():
    if sys.argv[1] != "events" and not importlib.util.find_spec("bt2"):
        print("skipped: python3-bt2 is not installed")
        return 77
    if sys.argv[1].startswith("here-"):
        return here(sys.argv[1].removeprefix("here-"))
    reason = machine.why_not()
    if reason:
        print(f"skipped: {reason}")
        return 77
    variables = [(name, os.environ[name]) for name in NAMES if name in os.environ]
    variables.append(("SIDE_LIB_DIR", os.environ["KERNEL_LIB_DIR"]))
    inside = os.path.join(HERE, f"inside_{sys.argv[1]}.py")
    status, output = machine.run([sys.executable, "-B", inside, *sys.argv[2:]], variables, 1800 if os.environ.get("SIDE_TEST_LONG") == "1" else 400)
    print(output)
    return 1 if status is None else status


if __name__ == "__main__":
    sys.exit(main())
