# SPDX-License-Identifier: MIT
"""Rules of the house that a machine can check: licences, dependencies of modules, guards, format.

usage: test-tree.py SOURCE-DIRECTORY
"""
import os
import re
import shutil
import subprocess
import sys

import circles

root = os.path.abspath(sys.argv[1])
failures = []

# The modules of src and programs, lowest first, and what each may include besides itself and the public headers (ARCHITECTURE.md): modules above it
# in this list, or one header of such a module. Folders that are not in the list belong to the module around them.
MAY_USE = {
    # base/inside has the parts of base that code in traced programs may use.
    "base/inside": set(),
    "base": set(),
    "base/environment": set(),
    "base/nearest": {"base"},
    "base/unpack": set(),
    "isolate": {"base"},
    "libside": {"base/environment"},
    "abi": set(),
    "elf": {"abi", "base"},
    "ring": {"base/environment"},
    "protocol": {"base/environment"},
    "filter": {"abi"},
    "ctf": {"abi", "base", "protocol"},
    "ctf/write": {"abi", "base", "ctf", "protocol"},
    "ctf/read": {"abi", "base", "ctf"},
    "ctf/rewrite": {"base", "ctf", "ctf/read", "ctf/write"},
    "relay": {"base", "ctf", "ctf/read", "isolate"},
    "symbolize": {"base", "base/nearest", "base/unpack", "isolate"},
    "probe": set(),
    "probe/code": {"base", "base/unpack", "probe"},
    "probe/table": {"base/io.h", "probe"},
    "probe/uprobe": {"base", "probe/table"},
    "probe/patch": {"probe", "probe/code/copy.h"},
    "probe/unwind": {"probe/code/rows.h"},
    "probe/spec": {"base", "base/nearest", "probe/code", "probe/table", "symbolize"},
    "attach": {"base"},
    "tracers/console": {"abi"},
    "tracers/validate": {"abi"},
    "tracers/wrap": {"base/environment"},
    "tracers/preload": {"base/environment"},
    "tracers/user-events": {"abi", "base/environment", "protocol"},
    "tracers/agent": set(),
    "tracers/agent/plan": set(),
    "tracers/agent/context": {"filter", "protocol", "ring"},
    "tracers/agent/core": {"abi", "base/environment", "filter", "libside/copies.h", "probe/patch", "protocol", "ring", "tracers/agent/context",
                           "tracers/agent/plan", "tracers/wrap/imports.h"},
    "tracers/agent/probes": {"filter", "libside/section.h", "probe/patch", "probe/table", "probe/unwind", "protocol", "ring",
                             "tracers/agent/context", "tracers/agent/core"},
    "kernel-events": {"base", "ctf", "ctf/write", "filter", "protocol", "ring"},
    "recorder/core": {"abi", "base", "ctf", "filter", "protocol", "ring"},
    "recorder/storage": {"abi", "base", "ctf", "protocol", "recorder/core", "ring"},
    "recorder/rotation": {"base", "ctf", "protocol", "recorder/core", "recorder/storage", "ring"},
    "recorder/recovery": {"base", "ctf", "protocol", "recorder/core", "recorder/rotation", "recorder/storage", "ring"},
    "recorder": {"abi", "base", "ctf", "protocol", "recorder/core", "recorder/recovery", "recorder/rotation", "recorder/storage", "ring"},
    "sessions": {"base", "protocol", "recorder", "recorder/core", "relay"},
    "analysis": {"abi", "base", "base/nearest", "ctf", "filter", "protocol", "sessions", "symbolize"},
    "export": {"analysis", "base", "ctf"},
    "programs/common": {"analysis/diff-options.h", "analysis/flame-options.h", "analysis/leaks-options.h", "analysis/locks-options.h", "analysis/report-options.h", "analysis/view-time.h", "base", "base/nearest", "export/export-options.h", "protocol",
                        "sessions"},
    "programs/replay": {"base", "ring"},
    "programs/side/cli": {"base", "base/nearest", "isolate", "programs/common", "protocol", "recorder/core"},
    "programs/side/processes": {"abi", "base/nearest", "elf", "filter", "programs/common", "protocol"},
    "programs/side/analysis": {"analysis", "base", "ctf", "export/html/html.h", "programs/common", "programs/side/cli", "programs/side/processes", "protocol"},
    "programs/side/session": {"analysis", "attach", "base", "base/nearest", "programs/common", "programs/side/analysis", "programs/side/cli", "programs/side/processes",
                              "protocol", "recorder/core", "relay", "sessions"},
    "programs/side/answers": {"analysis", "base", "elf", "export", "programs/common", "programs/side/analysis", "programs/side/cli", "programs/side/session"},
    "programs/side/explore": {"analysis", "base", "programs/common", "programs/side/answers/recordings.h", "programs/side/answers/run.h",
                              "programs/side/cli/confine.h",
                              "programs/side/session/helper-program.h"},
    "programs/side/list": {"abi", "base/nearest", "elf", "kernel-events", "programs/common", "programs/side/cli", "programs/side/processes",
                           "programs/side/session", "protocol", "recorder/core"},
    "programs/side/system": {"base", "programs/common", "protocol", "recorder/core", "sessions"},
    "programs/side/doctor": {"base", "base/nearest", "elf", "programs/common", "programs/side/processes", "programs/side/system", "protocol", "recorder/core", "sessions"},
    "programs/side/watch": {"analysis", "base", "ctf", "programs/common", "programs/side/cli", "symbolize"},
    "programs/side/relay": {"base", "ctf", "programs/common", "programs/side/cli", "relay"},
    "programs/side/record": {"abi", "ctf", "elf", "kernel-events", "programs/common", "programs/side/cli", "programs/side/processes",
                             "programs/side/relay", "programs/side/session", "protocol", "recorder", "recorder/core", "sessions"},
    "programs/side/export": {"analysis", "base", "base/nearest", "export", "programs/common", "programs/side/analysis", "programs/side/cli",
                             "programs/side/record"},
    "programs/side/probe": {"analysis", "attach", "base", "base/nearest", "elf", "probe", "probe/code", "probe/spec", "probe/uprobe",
                            "programs/common", "programs/side/analysis", "programs/side/cli", "programs/side/session", "recorder/core", "sessions", "symbolize"},
    "programs/side/attach": {"attach", "base", "programs/common", "programs/side/probe", "programs/side/record", "programs/side/session",
                             "recorder/core", "sessions"},
    "programs/side": {"base/nearest", "ctf", "programs/common", "programs/side/attach", "programs/side/cli", "programs/side/session", "sessions"},
    "programs/side-uprobes": {"base", "probe/uprobe", "programs/common", "programs/replay", "protocol", "recorder/core"},
    "programs/side-kernel": {"base", "ctf", "kernel-events", "programs/common", "programs/replay", "protocol", "recorder/core"},
    "programs/sided": {"base", "isolate", "protocol", "recorder/core", "relay", "sessions"},
    "programs/readside": {"abi", "elf", "isolate", "probe/code", "protocol", "symbolize"},
}
for module, uses in MAY_USE.items():
    if module != "base/inside":
        uses.add("base/inside")
NO_PUBLIC_HEADERS = {"ring", "protocol"}
# A header with one struct that contains the structs of all parts, for the files of the parts. It
# belongs to the uppermost of them.
COMPOSED = {"recorder/session-state.h"}


def files():
    for directory, subdirectories, names in os.walk(root):
        subdirectories[:] = [d for d in subdirectories
                             if not d.startswith((".", "build")) and d != "__pycache__"]
        for name in names:
            yield os.path.relpath(os.path.join(directory, name), root)


def module_of(name):
    """Returns the module of a file whose path (without src/) is `name`: the longest folder of it in MAY_USE."""
    folder = os.path.dirname(name)
    while folder and folder not in MAY_USE:
        folder = os.path.dirname(folder)
    return folder or None


def fail(path, message):
    failures.append(f"{path}: {message}")


# A struct with a code and a message, which is called an error. An error in a text of the user has
# no code, and struct error is filled in from it.
ERROR_TYPE = re.compile(r"^[ \t]*struct\s+(\w+_(?:error|failure|problem))\s*\{([^}]*)\}", re.M)
CODE = re.compile(r"\b(?:int|int32_t)\s+(?:\w+,\s*)*(?:code|error|ret)\b")
MESSAGE = re.compile(r"\bchar\s+\*?\s*(?:text|message|reason|why|what)\b")


def check_error_types(path, code):
    """base/error.h has the only type of errors with a code and a message."""
    for name, members in ERROR_TYPE.findall(re.sub(r"/\*.*?\*/", "", code, flags=re.S)):
        if CODE.search(members) and MESSAGE.search(members):
            fail(path, f"struct {name} is a second type of errors: use struct error of base/error.h")


ORDER = list(MAY_USE)
for upper, names in MAY_USE.items():
    for lower in names:
        if ORDER.index(module_of(lower) if lower not in MAY_USE else lower) >= ORDER.index(upper):
            fail("tests/house/test-tree.py", f"{upper} is listed before {lower}, which it uses")

sources = sorted(files())
included = {}  # {header of src or programs: what it includes}
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
    if parts[0] in ("src", "programs") and extension in (".c", ".h"):
        name_in_code = path.removeprefix("src/")
        module = module_of(name_in_code)
        check_error_types(path, text)
        if not module:
            fail(path, "is in no module of MAY_USE")
        if extension == ".h":
            included[path] = re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M)
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+/[^"]+)"', text, re.M):
            if name in COMPOSED and path.startswith(f"src/{os.path.dirname(name)}/"):
                continue
            used = module_of(name)
            if used not in (None, module) and not {used, name} & MAY_USE.get(module, set()):
                fail(path, f"uses {name}, but {module} may use only {sorted(MAY_USE[module])}")
        if module in NO_PUBLIC_HEADERS and re.search(r"#\s*include\s+<side/", text):
            fail(path, f"{module} uses nothing of ours, not even the public headers")


graph = {path: [used for used in (circles.header_of(path, name, included) for name in names) if used] for path, names in included.items()}
for members in circles.circles(graph):
    way = members[:1]
    while way[-1] not in way[:-1]:
        way.append(next(used for used in graph[way[-1]] if used in members))
    names = [path.removeprefix("src/") for path in way[way.index(way[-1]):]]
    fail(names[0], "includes itself: " + " -> ".join(names))

# Each major version of clang-format breaks lines in its own way: the sources are formatted by
# version 14 (Debian 12).
FORMAT = next((name for name in ("clang-format-14", "clang-format") if shutil.which(name) and " version 14." in
               subprocess.run([name, "--version"], capture_output=True, text=True, check=False).stdout), None)
if not FORMAT:
    print("formatting is not checked: needs clang-format 14")
else:
    # The macro headers are formatted by hand: their shape is their documentation.
    code = [p for p in sources if p.endswith((".c", ".h")) and p.split("/")[0] in ("src", "programs", "tests", "bench")
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
