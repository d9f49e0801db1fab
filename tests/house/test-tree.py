# SPDX-License-Identifier: MIT
"""Rules of the house that a machine can check: licences, arrows between rooms, guards, format.

usage: test-tree.py SOURCE-DIRECTORY
"""
import os
import re
import shutil
import subprocess
import sys

root = os.path.abspath(sys.argv[1])
failures = []

# What a room may include besides itself and the public headers (ARCHITECTURE.md): rooms, or one header of a room.
MAY_USE = {
    # What every module may use. Code in traced programs may use base/inside only.
    "base": {"base/inside"},
    "base/inside": set(),
    "environment": set(),
    "isolate": set(),
    "libside": {"environment"},
    "visit": set(),
    "elf": {"visit"},
    "ring": {"environment"},
    "wire": {"environment"},
    "filter": {"visit"},
    "console": {"visit"},
    "validate": {"visit"},
    "ctf": {"visit", "wire"},
    "agent": {"environment", "libside/section.h", "probe", "visit", "ring", "wire", "filter"},
    "kernel": {"environment", "visit", "wire"},
    # A room of its own in that folder.
    "kernel/record": {"ctf", "filter", "kernel", "ring", "wire"},
    "wrap": {"environment"},
    "preload": {"environment"},
    "send": {"ctf", "isolate"},
    "symbols": {"isolate"},
    "probe": set(),
    "probe/patch": {"probe"},
    "probe/unwind": {"probe"},
    "session": {"visit", "ring", "wire", "filter", "ctf"},
    "control": {"send", "session", "wire"},
    "cmd": {"isolate", "elf", "kernel", "probe", "ring", "send", "symbols", "control", "session", "ctf", "filter", "visit", "wire"},
}
NO_PUBLIC_HEADERS = {"ring", "wire"}
# Modules whose code runs in traced programs.
IN_TRACED_PROGRAMS = {"environment", "libside", "visit", "ring", "wire", "filter", "console", "validate", "agent", "kernel", "wrap", "preload",
                      "probe/patch", "probe/unwind"}
for module, uses in MAY_USE.items():
    if module != "base/inside":
        uses.add("base/inside")
    if module not in IN_TRACED_PROGRAMS | {"base", "base/inside"}:
        uses.add("base")


def files():
    for directory, subdirectories, names in os.walk(root):
        subdirectories[:] = [d for d in subdirectories
                             if not d.startswith((".", "build")) and d != "__pycache__"]
        for name in names:
            yield os.path.relpath(os.path.join(directory, name), root)


def fail(path, message):
    failures.append(f"{path}: {message}")


sources = sorted(files())
for path in sources:
    extension = os.path.splitext(path)[1]
    with open(os.path.join(root, path), encoding="utf-8", errors="surrogateescape") as source:
        text = source.read()
    if extension in (".c", ".h", ".cc", ".py", ".pml", ".sh") or os.path.basename(path) == "meson.build":
        if "SPDX-License-Identifier: MIT" not in "\n".join(text.split("\n", 3)[:3]):
            fail(path, "no SPDX licence in its first lines")
    if extension == ".h" and not re.search(r"^#\s*(ifndef|pragma once|undef)", text, re.M):
        fail(path, "no include guard")
    parts = path.split("/")
    if parts[0] == "src" and extension in (".c", ".h"):
        room = "/".join(parts[1:3])
        room = room if room in MAY_USE else parts[1]
        for found in re.finditer(r'^\s*#\s*include\s+"(base/inside|\w+)/([^"]+)"', text, re.M):
            used = found.group(1)
            if used in MAY_USE and used != room and not {used, f"{used}/{found.group(2)}"} & MAY_USE[room]:
                fail(path, f"uses {used}/{found.group(2)}, but {room} may use only {sorted(MAY_USE[room])}")
        if room in NO_PUBLIC_HEADERS and re.search(r"#\s*include\s+<side/", text):
            fail(path, f"{room} uses nothing of ours, not even the public headers")

# Each major version of clang-format breaks lines in its own way: the sources are formatted as version 14 does it (Debian 12).
FORMAT = next((name for name in ("clang-format-14", "clang-format") if shutil.which(name) and " version 14." in
               subprocess.run([name, "--version"], capture_output=True, text=True, check=False).stdout), None)
if not FORMAT:
    print("formatting is not checked: needs clang-format 14")
else:
    # The macro headers are laid out by hand: their shape is their documentation.
    code = [p for p in sources if p.endswith((".c", ".h")) and p.split("/")[0] in ("src", "tests", "bench")
            and "/headers/" not in p]
    done = subprocess.run([FORMAT, "--dry-run", "-Werror", "--ferror-limit=1"] + code, cwd=root,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error: code should be clang-formatted", done.stderr,
                                      re.M)))
        for path in wrong:
            fail(path, "is not formatted: clang-format -i " + path)
        if not wrong:
            fail("clang-format", done.stderr[:500])

print("\n".join(failures))
print(f"{len(sources)} files, {len(failures)} complaints")
sys.exit(1 if failures or len(sources) < 50 else 0)
