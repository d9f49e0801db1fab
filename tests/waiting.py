# SPDX-License-Identifier: MIT
"""Waiting for a condition, never for a time: the timeout is for a condition that never becomes true."""
import glob
import os
import signal
import time

TIMEOUT = 120  # seconds


def wait_until(condition, what="the condition is true", timeout=TIMEOUT, process=None):
    """Returns the first true value of condition(). Fails after the timeout, or if the process has ended before."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if process and process.poll() is not None:
            raise AssertionError(f"the program ended with {process.returncode} before: {what}")
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} seconds: {what}")
        time.sleep(0.01)


def has_ended(pid):
    """Returns whether the process is gone, or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def stop_process(pid):
    """
    Stops the process. Returns when each of its threads has stopped: on another processor that is a little after the signal. The state of a
    thread that is traced is "t".
    """
    os.kill(pid, signal.SIGSTOP)

    def is_stopped():
        for path in glob.glob(f"/proc/{pid}/task/*/stat"):
            with open(path, encoding="utf-8", errors="replace") as file:
                if file.read().rpartition(")")[2].split()[0] not in ("T", "t"):
                    return False
        return True
    wait_until(is_stopped, f"process {pid} stops")
