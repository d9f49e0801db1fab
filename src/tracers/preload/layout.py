# SPDX-License-Identifier: MIT
"""Lay out the directory whose files are preloaded, in a build directory. meson.build does the same for an installation.

usage: layout.py LIBRARIES SHIM-64 SHIM-32|none STAMP

LD_PRELOAD names LIBRARIES/side-preload/$LIB/FILE. Each loader of the GNU C library expands $LIB to its own directory name, so a
64-bit program gets the agent and a 32-bit one the shim. The loader of musl does not expand $LIB, but takes it as the name of a
directory, which has the shim. A loader may print a warning for a missing file, but it starts the program.
"""
import os
import sys

WORDS_64 = ("lib/x86_64-linux-gnu", "lib64")
WORDS_32 = ("lib/i386-linux-gnu", "lib32")
CHECK = "side-preload/libside-preload-64.so"
SYSTEM, SYSTEM_32 = "libside-system.so", "libside-system-32.so"
EMPTY = "libside-preload-empty.so"
FILES = ("libside-agent.so", "libside-wrap-libc.so", "libside-wrap-pthread.so")


def link(target, at):
    os.makedirs(os.path.dirname(at), exist_ok=True)
    if os.path.lexists(at):
        os.unlink(at)
    os.symlink(os.path.relpath(target, os.path.dirname(at)), at)


def main():
    libraries, shim_64, shim_32, stamp = sys.argv[1:]
    top = os.path.join(libraries, "side-preload")
    for word in WORDS_64:
        link(libraries, os.path.join(top, word))
    link(shim_64, os.path.join(top, "$LIB", FILES[0]))
    if shim_32 != "none":
        for word in WORDS_32:
            for name in (*FILES, CHECK):
                link(shim_32, os.path.join(top, word, name))
            link(os.path.join(os.path.dirname(shim_32), SYSTEM_32), os.path.join(top, word, "side-preload", SYSTEM))
        link(os.path.join(os.path.dirname(shim_32), SYSTEM_32), os.path.join(top, SYSTEM_32))
    link(os.path.join(os.path.dirname(shim_64), SYSTEM), os.path.join(top, SYSTEM))
    # Each module builds its libraries in its own directory.
    for name in FILES[1:]:
        link(os.path.join(libraries, "../wrap", name), os.path.join(libraries, name))
        link(os.path.join(os.path.dirname(shim_64), EMPTY), os.path.join(top, EMPTY))
        link(shim_64, os.path.join(libraries, CHECK))
    with open(stamp, "w", encoding="utf-8"):
        pass


main()
