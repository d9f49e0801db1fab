# SPDX-License-Identifier: MIT
"""The agent's thread in a program. It exists as soon as the daemon has its connection; the program's first event does not wait for it."""
import contextlib
import glob

from waiting import wait_until


def has_agent_thread(pid):
    """Tasks may exit in the meantime."""
    for path in glob.glob(f"/proc/{pid}/task/*/comm"):
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as comm:
            if comm.read() == "side-control\n":
                return True
    return False


def await_agent_thread(pid):
    wait_until(lambda: has_agent_thread(pid), f"process {pid} has a thread of the agent")
