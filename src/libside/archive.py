# SPDX-License-Identifier: MIT
"""Make libside.a from an archive of all its object files.

usage: archive.py DIRECTORY ARCHIVE FUNCTIONS OUTPUT COMPILER...

The object files become one. Only the names of the file FUNCTIONS, lines EACH(name), stay global.
"""
import os
import re
import subprocess
import sys

directory, archive, functions, output, *compiler = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
whole, names = os.path.join(directory, "side.o"), os.path.join(directory, "names")
with open(functions, encoding="utf-8") as text, open(names, "w", encoding="utf-8") as out:
    out.writelines(name + "\n" for name in re.findall(r"\w+(?=\)$)", text.read(), re.M))
subprocess.run([*compiler, "-r", "-nostdlib", "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", "-o", whole], check=True)
# The events of libside are in its registry initially: the constructor of the program must not register them with its own. The sections of its
# code have a name by which probes recognize and avoid them.
renames = ["side_event_description_ptr=.data.rel.side"] + [f".text{part}=side_text" for part in ("", ".unlikely", ".startup", ".hot", ".exit")]
subprocess.run(["objcopy", "--keep-global-symbols=" + names, *(f"--rename-section={rename}" for rename in renames), whole], check=True)
if os.path.exists(output):
    os.remove(output)
subprocess.run(["ar", "rcsD", output, whole], check=True)
