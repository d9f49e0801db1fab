# SPDX-License-Identifier: MIT
"""The kernel's tracefs, for tests that compare with its content. On most machines it is mounted for
root; in containers it rarely is.
"""
import ctypes
import os

TRACEFS = "/sys/kernel/tracing"
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 1 << 18


def see_tracefs():
    """Whether uprobes can be defined there; if it is not mounted, this mounts it for this process and
    its children only.
    """
    definitions = TRACEFS + "/uprobe_events"
    libc = ctypes.CDLL(None)
    if os.geteuid() == 0 and not os.path.exists(definitions) and not libc.unshare(CLONE_NEWNS):
        if not libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
            libc.mount(b"none", TRACEFS.encode(), b"tracefs", 0, None)
    return os.access(definitions, os.W_OK)
