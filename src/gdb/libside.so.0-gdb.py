# SPDX-License-Identifier: MIT
"""gdb commands for programs with SIDE events: "help side" lists them.

gdb loads this file with libside.so.0 when it stands in gdb's auto-load directory under the name of
that library; "source" does the same by hand.  Nothing is called in the program, and no debug
information is needed.  The parts stand beside this file, in side_gdb.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    import side_gdb.commands  # noqa: F401
finally:
    sys.path.pop(0)
