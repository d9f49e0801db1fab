# SPDX-License-Identifier: MIT
"""The agent's thread in a program. It exists as soon as the daemon has its connection; the program's first event does not wait for it."""
import contextlib
import glob
import time

TIMEOUT = 120


def has_agent_thread(pid):
    """Tasks may exit in the meantime."""
    for path in glob.glob(f"/proc/{pid}/task/*/comm"):
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as comm:
            if comm.read() == "side-control\n":
                return True
    return False


def await_agent_thread(pid):
    until = time.monotonic() + TIMEOUT
    while not has_agent_thread(pid):
        if time.monotonic() > until:
            raise AssertionError(f"process {pid} has no thread of the agent")
        time.sleep(0.01)
