# SPDX-License-Identifier: MIT
"""Commands of gdb for SIDE events."""
