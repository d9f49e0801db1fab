# SPDX-License-Identifier: MIT
"""Makes calls in other programs fail, through the control file of faults.c, which contains a table of sites."""
import collections
import ctypes
import mmap
import os

LIBRARY = os.environ["FAULTS"]
MEMORY, CALLS = 1, 2
SITES, DEPTH = 16384, 8


class _Site(ctypes.Structure):
    _fields_ = [("site", ctypes.c_uint64), ("times", ctypes.c_uint64), ("callers", ctypes.c_uint64 * DEPTH), ("function", ctypes.c_char * 32)]


class _Control(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("kinds", "depth", "children", "notes", "site", "skip", "lasts", "every", "begin",
                                                     "at_site", "calls", "failed", "top", "is_off")] + [("sites", _Site * SITES)]


class Site(collections.namedtuple("Site", "hash function callers times")):
    """A function and the addresses of its callers, for addr2line."""

    def __str__(self):
        return f"{self.function} of {' '.join(f'{at:#x}' for at in self.callers if at)}"


class Faults:
    """Controls the failing calls of the processes that have `environment`."""

    def __init__(self, path, modules, kinds=MEMORY | CALLS, depth=2, children=False):
        self.environment = {"LD_PRELOAD": LIBRARY, "FAULTS_CONTROL": path, "FAULTS_MODULES": modules}
        with open(path, "w+b") as file:
            file.truncate(ctypes.sizeof(_Control))
            self.memory = mmap.mmap(file.fileno(), ctypes.sizeof(_Control))
        self.control = _Control.from_buffer(self.memory)
        self.control.kinds, self.control.depth, self.control.children = kinds, depth, children

    def disarm(self):
        for name in ("notes", "site", "skip", "lasts", "every", "begin", "at_site", "calls", "failed", "is_off"):
            setattr(self.control, name, 0)

    def arm(self, site=0, **how):
        """Makes calls at the site fail, or calls that `every` and `begin` select. Counting starts with
        the next call.
        """
        self.disarm()
        for name, value in how.items():
            setattr(self.control, name, value)
        self.control.site = site

    def note(self):
        """Begins a new table of sites."""
        self.disarm()
        ctypes.memset(self.control.sites, 0, ctypes.sizeof(self.control.sites))
        self.control.notes = 1

    def noted(self):
        """Returns the sites in the order of their hashes. The order differs between builds, but not between runs."""
        found = [Site(one.site, one.function.decode(), tuple(one.callers), one.times) for one in self.control.sites if one.site]
        self.disarm()
        return sorted(found)

    @property
    def failed(self):
        return self.control.failed
