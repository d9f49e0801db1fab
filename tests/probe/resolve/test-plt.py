#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
PLT entries as locations (plt:NAME, NAME@plt): programs of several linkers and layouts, with known numbers of calls. objdump is the
independent reader of the entries, addr2line that of the callers. Files without such entries are refused with the reason.
"""
import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import *

SOURCES = os.environ["SOURCES"]
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", SIDE_TIMEOUT_FACTOR="30")
COUNT = 5  # imported.c calls access() this many times in each of two threads
LAYOUTS = {
    "standard": [],
    "now": ["-Wl,-z,now"],
    "lazy": ["-Wl,-z,lazy", "-fcf-protection=none"],
    "ibt": ["-Wl,-z,lazy", "-fcf-protection=full", "-Wl,-z,ibtplt"],
    "no-pie": ["-no-pie", "-Wl,-z,lazy", "-fno-pie"],
    "no-id": ["-Wl,--build-id=none"],
    "gold": ["-fuse-ld=gold"],
    "lld": ["-fuse-ld=lld"],
    "lld-now": ["-fuse-ld=lld", "-Wl,-z,now"],
    "mold": ["-fuse-ld=mold"],
}


def compiled(name, *options, source="imported.c"):
    """The path, or None if there is no such linker."""
    path = f"{FOLDER}/{name}"
    done = subprocess.run(["gcc", "-g", "-O1", f"{SOURCES}/{source}", "-o", path, "-pthread", *options], capture_output=True, text=True)
    true(not done.returncode or "ld" in done.stderr, done.stderr)
    return None if done.returncode else path


def entries(path):
    """{name: address} of PLT entries, as objdump names them."""
    done = subprocess.run(["objdump", "-d", path], capture_output=True, text=True, check=True)
    return {name: int(address, 16) for address, name in re.findall(r"^([0-9a-f]+) <([^<>*+-]+)@plt>:$", done.stdout, re.M)}


def listed(path, glob="plt:*"):
    done = side("probe", "list", "--json", path, glob, env=ENV)
    return {line["function"][:-4]: line["address"] for line in json_lines(done.out) if line["type"] == "probe_site"}


def events(trace):
    done = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=True)
    return [(re.search(r" probe:(\w+):", line)[1], line) for line in done.stdout.splitlines()]


def traced(path, *options, status=0):
    trace = tempfile.mkdtemp(dir=FOLDER) + "/trace"
    done = side("trace", "-o", trace, "-c", f"{path} {COUNT}", *options, env=ENV)
    equal(done.status, status, done.err)
    return events(trace) if not status else [], done.err


def refused(path, location, problem, hint):
    err = traced(path, "--function", location, status=1)[1]
    equal(err.splitlines()[:2], [f"side: {problem}", f"hint: {hint}"])


tried = []
for layout, options in LAYOUTS.items():
    program = compiled(layout, *options)
    if not program:
        continue
    tried.append(layout)
    known = entries(program)
    true({"access", "puts", "isatty"} <= set(known), (layout, known))
    found = listed(program)
    # objdump does not know the entries of all linkers. A probe is after the landing mark for indirect branches (4 bytes).
    equal({name: found.get(name, 0) - address in (0, 4) for name, address in known.items()}, dict.fromkeys(known, True), layout)
    for location in ("plt:access", "access@plt", f"{layout}:plt:access", f"{layout}:access@plt") if layout == "standard" else ("plt:access",):
        found, err = traced(program, "--function", location, "--arg", "string:path:%rdi")
        equal(len(found), 2 * COUNT, (layout, location, err))
        equal([re.search(r'"(/nowhere/\d+)"', line)[1] for _, line in found], [f"/nowhere/{i}" for i in range(COUNT)] * 2)
true({"standard", "now", "lazy", "no-pie"} <= set(tried), tried)
print("# layouts: " + ", ".join(tried))

# One event for several entries, with the name of each; a call by address is none of the entry.
PROGRAM = f"{FOLDER}/standard"
found, err = traced(PROGRAM, "--function", "plt:[ai][cs]*")
names = [re.search(r'function = "([^"]*)"', line)[1] for _, line in found]
equal(sorted(names), ["access@plt"] * (2 * COUNT) + ["isatty@plt"] * 2, err)
true("also inlined" not in err, err)
# The caller is on the stack, also where the entry is not resolved yet.
for layout in ("standard", "lazy", "now"):
    found, err = traced(f"{FOLDER}/{layout}", "--function", "plt:isatty", "--context", "backtrace")
    equal(len(found), 2, err)
    view = side("view", "--flat", "--symbols", max((f"{FOLDER}/{name}/trace" for name in os.listdir(FOLDER)
                                                    if os.path.isdir(f"{FOLDER}/{name}/trace")), key=os.path.getmtime), env=ENV).out
    equal(view.count("imported_work"), 2, view)

# All copies of the function at once: the entry of the program and the function itself.
found, err = traced(PROGRAM, "--function", "plt:access", "--function", "libc:access")
equal(sorted(name for name, _ in found).count("access"), len(found), found)
equal(len(found), 4 * COUNT, err)

# The library's own entries need its name.
names = {re.search(r'function = "([^"]*)"', line)[1] for _, line in traced(PROGRAM, "--function", "libc:plt:*")[0]}
true(names and all(name.endswith("@plt") for name in names), names)
true(len(listed(os.path.realpath("/lib/x86_64-linux-gnu/libc.so.6"), "*@plt")) >= 10, "entries of libc")

# Refused: a wrong name, no entry, no returns.
refused(PROGRAM, "plt:acess", "standard has no PLT entry for `acess`", "did you mean `plt:access`?")
refused(PROGRAM, "plt:nothing*", "standard has no PLT entry that matches `nothing*`",
        "`side probe list FILE 'plt:*'` lists its PLT entries")
refused(PROGRAM, "plt:", "missing name of the function that the PLT entry calls", "write plt:NAME or NAME@plt")
err = traced(PROGRAM, "--function", "plt:access", "--exit", status=1)[1]
true("cannot record returns from access@plt: it is a PLT entry, which only forwards the call" in err, err)
program = compiled("without", "-fno-plt")
refused(program, "plt:access", "without has no PLT entry for `access`: it uses the address of the function instead, as with -fno-plt",
        "`--function LIBRARY:NAME` records the calls of all files")
equal(len(traced(program, "--function", "libc:access")[0]), 2 * COUNT)
done = side("probe", "list", PROGRAM, "plt:acess", env=ENV)
equal((done.status, done.err.splitlines()), (1, [f"side: {PROGRAM} has no PLT entry that matches `acess`", "hint: did you mean `plt:access`?"]))

# Names of C++, with and without parameters.
source = f"{FOLDER}/flow.cc"
with open(source, "w", encoding="utf-8") as file:
    file.write('#include <iostream>\nint main(int argc, char **) { for (int i = 0; i < argc + 3; i++) std::cout.put(65); std::cout.flush(); }\n')
subprocess.run(["g++", "-O0", source, "-o", f"{FOLDER}/flow"], check=True)
for location in ("plt:std::ostream::put", "plt:std::ostream::put(char)", "_ZNSo3putEc@plt"):
    equal(len(traced(f"{FOLDER}/flow", "--function", location)[0]), 5, location)

def test_limit():
    """65,536 entries are read, those of the linker among them."""
    source = f"{FOLDER}/many.s"
    with open(source, "w", encoding="utf-8") as file:
        file.write('.section .plt.many,"ax",@progbits\n.balign 16\n.rept LIMIT\njmp *puts@GOTPCREL(%rip)\n.balign 16\n.endr\n'
                   '.section .note.GNU-stack,"",@progbits\n.text\n.globl main\n.type main,@function\nmain: xor %eax,%eax\nret\n.size main,.-main\n')

    def read(number):
        """The number of entries found, and the number of those that the linker made."""
        path = f"{FOLDER}/many-{number}"
        subprocess.run(["gcc", source, f"-Wa,--defsym,LIMIT={number}", "-o", path], check=True)
        sections = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
        sizes = re.findall(r"\] \.plt\S*\s+PROGBITS\s+\S+ \S+ (\S+) (\S+)", sections)
        others = sum(int(size, 16) // (int(entry, 16) or 16) for size, entry in sizes) - number
        return side("probe", "list", path, "plt:puts", env=ENV).out.count(" puts@plt"), others

    others = read(1)[1]
    equal(read(65536 - others), (65536 - others, others))
    count = read(65537)[0]
    true(65536 - others <= count <= 65536, count)


test_limit()

# A session, in a running program.
atexit.register(end_daemon, ENV)
process = subprocess.Popen([PROGRAM, str(COUNT), "wait"], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
equal(process.stdout.read(1), b"w", "it waits")
for arguments in (["create", "s", "-o", FOLDER + "/session"],
                  ["enable-event", "checked", "-u", "-s", "s", "-p", str(process.pid), "--function", "plt:access"], ["start", "s"]):
    done = side(*arguments, env=ENV)
    if "ptrace" in done.err or "not permitted" in done.err:
        process.kill()
        print(f"{done.err.strip()}: sessions cannot be tested")
        sys.exit(77)
    equal((arguments, done.status), (arguments, 0), done.err)
process.communicate(b"\n")
equal(process.returncode, 0)
equal(side("destroy", "s", env=ENV).status, 0)
equal([name for name, _ in events(FOLDER + "/session")], ["checked"] * (2 * COUNT))
