# SPDX-License-Identifier: MIT
"""Installed files are hardened: read each ELF file, and the object files from which it is linked.

usage: test-hardening.py BUILD-DIRECTORY

Of files: PIE, full RELRO, no executable stack, no text relocations, no segment that is writable and executable, fortified functions.
Of objects: the stack protector where a function has an array, and the mark of shadow stacks. The linker keeps that mark only where
the C library's start files have it.
"""
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import output

BUILD = os.path.abspath(sys.argv[1])
# Objects without a canary, and why. Only the agent has no mark of shadow stacks either.
AGENT = {
    "src/tracers/agent/": "runs in threads with another base of thread-local memory (no %fs:0x28), and exchanges return addresses on the stack",
    "src/probe/patch/": "likewise: it is the path from a probe to the agent",
    "src/probe/unwind/": "likewise: a hit walks the stack with it",
    "src/probe/table/": "likewise: reads tables in the program that is probed",
    "src/probe/code/libprobe-copy": "likewise: copies instructions in the program that is probed",
    "src/probe/code/libprobe-rows": "likewise: a hit walks the stack with its rows",
}
HOT = {
    "src/libside/": "the call path: counted instructions, also in threads with another base of thread-local memory",
    "src/ring/libring-inside": "the call path: publishes records",
    "src/filter/libfilter-inside": "the call path: filters",
    "src/base/environment/": "the start of libraries, before there is a canary with some C libraries",
    "src/tracers/user-events/lib": "the call path: gives events to the kernel",
    "src/tracers/user-events/libside-kernel": "likewise",
    "src/tracers/wrap/": "replaces the C library's functions, which have no canary",
    "src/tracers/preload/": "is loaded by any loader, where __stack_chk_fail may not exist",
}
failures = []


def fail(path, text):
    failures.append(f"{path}: {text}")


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def exempt(path, reasons):
    return any(path.startswith(start) for start in reasons)


def check_file(path, name):
    text = output("readelf", "-W", "-h", "-l", "-d", path, cwd=BUILD)
    kind = re.search(r"^\s*Type:\s+(\S+)", text, re.M).group(1)
    if kind == "REL":
        return
    if kind != "DYN":
        fail(name, f"type {kind}, not position-independent")
    if "INTERP" in text and not re.search(r"\(FLAGS_1\).*\bPIE\b", text):
        fail(name, "not marked as PIE")
    if not re.search(r"^\s*GNU_RELRO\b", text, re.M) and "side-preload" not in name:
        fail(name, "no RELRO")
    if not re.search(r"\(FLAGS_1\).*\bNOW\b|\(BIND_NOW\)|\(FLAGS\).*\bBIND_NOW\b", text):
        fail(name, "no BIND_NOW: RELRO is partial")
    stack = re.search(r"^\s*GNU_STACK\s.*\s(R\w*)\s+0x\w+$", text, re.M)
    if not stack or "E" in stack.group(1):
        fail(name, "executable stack, or none declared")
    if "(TEXTREL)" in text:
        fail(name, "text relocations")
    if re.search(r"^\s*LOAD\s.*\sRWE\s", text, re.M):
        fail(name, "a segment that is writable and executable")


def arrays(objects):
    """Returns the objects that import the stack protector's function."""
    found = output("nm", "--undefined-only", "--print-file-name", *objects, cwd=BUILD)
    return {line.split(":")[0] for line in found.splitlines() if line.endswith(" __stack_chk_fail")}


def check_objects(objects):
    protected = arrays(objects)
    for path in objects:
        if exempt(path, AGENT) or exempt(path, HOT):
            if path in protected:
                fail(path, "has a stack protector, and must not (see AGENT and HOT)")
    rest = [path for path in objects if not exempt(path, AGENT) and not exempt(path, HOT)]
    # Half of all have arrays; an object without arrays imports nothing.
    for path in rest:
        commands = COMMANDS.get(path, "")
        if path.endswith(".c.o") and "-fstack-protector-strong" not in commands:
            fail(path, "compiled without -fstack-protector-strong")
        if path.endswith(".c.o") and OPTIMIZED and "-D_FORTIFY_SOURCE" not in commands:
            fail(path, "compiled without -D_FORTIFY_SOURCE")
    if len(protected) < len(rest) // 3:
        failures.append(f"only {len(protected)} of {len(rest)} objects have a stack protector")
    if MACHINE != "x86_64":
        return
    notes = output("readelf", "-n", "-W", *objects, cwd=BUILD)
    marked, name = set(), objects[0]
    for line in notes.splitlines():
        if line.startswith("File: "):
            name = line[6:]
        if "SHSTK" in line:
            marked.add(name)
    for path in objects:
        if not exempt(path, AGENT) and path not in marked:
            fail(path, "no mark of shadow stacks (SHSTK)")


options = {option["name"]: option["value"] for option in json.loads(output("meson", "introspect", BUILD, "--buildoptions", cwd=BUILD))}
if options["b_sanitize"] != "none":
    print("skipped: sanitizers replace what is tested")
    sys.exit(77)
OPTIMIZED = options["optimization"] not in ("0", "plain")
MACHINE = os.uname().machine
with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
    COMMANDS = {entry["output"]: entry["command"] for entry in json.load(file)}

with tempfile.TemporaryDirectory(prefix="side-hardening-") as root:
    output("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", root, cwd=BUILD)
    installed = []
    for directory, _, names in os.walk(root):
        for name in names:
            path = os.path.join(directory, name)
            if not os.path.islink(path) and is_elf(path):
                installed.append(path)
                check_file(path, os.path.relpath(path, root))
    fortified = [path for path in installed if "_chk@" in output("readelf", "-W", "--dyn-syms", path, cwd=BUILD)]
    if OPTIMIZED and not {"side", "sided", "side-more", "readside"} <= {os.path.basename(path) for path in fortified}:
        failures.append(f"fortified functions in {sorted(os.path.basename(path) for path in fortified)} only")

targets = json.loads(output("meson", "introspect", BUILD, "--targets", cwd=BUILD))
objects = set()
for target in targets:
    if target["installed"] and target["type"] in ("executable", "shared library"):
        inputs = output("ninja", "-t", "inputs", os.path.relpath(target["filename"][0], BUILD), cwd=BUILD).split()
        objects |= {path for path in inputs if path.endswith(".o")}
# Programs that run in the build and are not installed.
objects = sorted(path for path in objects if not path.startswith("programs/side/side-generate"))
check_objects(objects)

print("\n".join(failures))
print(f"{len(installed)} installed files, {len(objects)} object files, {len(failures)} complaints")
sys.exit(1 if failures or len(installed) < 12 or len(objects) < 300 else 0)
