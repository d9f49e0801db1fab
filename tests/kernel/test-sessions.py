# SPDX-License-Identifier: MIT
"""Runs inside_sessions.py in the machine, or on this machine's own kernel, if that is permitted, in
its own mount namespace, so that tracefs is mounted there only.

usage: test-sessions.py machine|here [CASE...]
"""
import os
import shutil
import subprocess
import sys
import tempfile

import machine

HERE = os.path.dirname(os.path.realpath(__file__))
SCRIPT = os.path.join(HERE, "inside_sessions.py")


def has_bt2():
    try:
        import bt2
    except ImportError:
        return False
    return bool(bt2)


def why_not(where):
    if not has_bt2():
        return "python3-bt2 is not installed"
    if where == "machine":
        return machine.why_not()
    if os.geteuid() or not shutil.which("unshare"):
        return "not root, or no unshare"
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        return "no mount name spaces"
    return None


def here():
    """Runs in the namespace."""
    if not os.path.isdir("/sys/kernel/tracing/events"):
        subprocess.run(["mount", "-t", "tracefs", "none", "/sys/kernel/tracing"], capture_output=True, check=False)
    if not os.path.isdir("/sys/kernel/tracing/events/syscalls"):
        print("skipped: there is no tracefs with system calls here")
        return 77
    return subprocess.run([sys.executable, "-B", SCRIPT, *sys.argv[2:]], check=False).returncode


def main():
    where = sys.argv[1]
    reason = why_not(where)
    if reason:
        print(f"skipped: {reason}")
        return 77
    if where == "machine":
        names = ("SIDE", "SIDED", "SIDE_LIB_DIR", "RECORD_LIB_DIR", "KERNEL_LIB_DIR", "KERNEL_PROGRAM", "KERNEL_PLUGIN",
                 "ROUNDTRIP_FIRE")
        variables = [(name, os.environ[name]) for name in names]
        # Babeltrace 2 reads its traces, too.
        sys.path.insert(0, os.path.join(HERE, "../roundtrip"))
        import cases
        with tempfile.TemporaryDirectory(prefix="side-sessions-") as scripts:
            cases.script().save(os.path.join(scripts, "cases.json"))
            variables.append(("RECORD_SCRIPTS", scripts))
            status, output = machine.run([sys.executable, "-B", SCRIPT, *sys.argv[2:]], variables, 900)
        print(output)
        return 1 if status is None else status
    if os.environ.get("SIDE_SESSIONS_INSIDE"):
        return here()
    return subprocess.run(["unshare", "-m", sys.executable, "-B", __file__, *sys.argv[1:]], check=False,
                          env=dict(os.environ, SIDE_SESSIONS_INSIDE="1")).returncode


if __name__ == "__main__":
    sys.exit(main())
