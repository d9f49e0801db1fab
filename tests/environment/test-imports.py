# SPDX-License-Identifier: MIT
"""Only environment.c reads the environment in the libraries that get into programs.

usage: test-imports.py BUILD-DIRECTORY LIBRARY...

The symbols that each object file of a library imports are compared, by nm, with the names by which C libraries give the environment.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import output

BUILD, LIBRARIES = sys.argv[1], sys.argv[2:]
READERS = {"getenv", "secure_getenv", "__secure_getenv", "environ", "__environ", "_environ"}
# Functions that read variables of the environment themselves, which only the program's caller
# should choose.
READERS |= {"posix_spawnp", "execvp", "execvpe", "execlp", "system", "popen", "putenv", "setenv", "tempnam", "wordexp"}
ONLY = "environment.c.o"
failures = []
checked = set()


def imports(*paths):
    """Returns (file, its imports of READERS) of all files at once."""
    found = {}
    for line in output("nm", "--undefined-only", "--print-file-name", *paths, cwd=BUILD).splitlines():
        file, name = line.split(":")[0], line.split()[-1].split("@")[0]
        if name in READERS:
            found.setdefault(file, set()).add(name)
    return found


def objects(library):
    """Returns all object files that the library is linked from, also those in static libraries."""
    found = set(output("ninja", "-t", "inputs", library, cwd=BUILD).split())
    return {path for path in found if path.endswith(".o")}


for library in LIBRARIES:
    checked |= objects(os.path.relpath(library, BUILD))
for file, read in imports(*sorted(checked)).items():
    if os.path.basename(file).split("_")[-1] != ONLY:
        failures.append(f"{file} imports {sorted(read)}; only {ONLY} may: use environment_get() (src/base/environment/)")
for library in LIBRARIES:
    with open(library, "rb") as file:
        if b"/proc/self/environ" in file.read():
            failures.append(f"{library} reads /proc/self/environ")
    # Symbols that the list of inputs lacks. The linker adds the other names of the variable.
    found = output("nm", "-D", "--undefined-only", library, cwd=BUILD).splitlines()
    names = {line.split()[-1].split("@")[0] for line in found} & READERS - {"environ", "__environ", "_environ"}
    if names:
        failures.append(f"{library} imports {sorted(names)}")

print("\n".join(failures))
print(f"{len(checked)} object files of {len(LIBRARIES)} libraries, {len(failures)} complaints")
sys.exit(1 if failures or len(checked) < 100 else 0)
