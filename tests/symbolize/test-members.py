#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""gdb has the same address for each name of a member of a variable."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

from checks import equal, run_tests, skip, true

FRAMES, PROGRAM = os.environ["FRAMES"], os.environ["MEMBERS"]
# Members of locks have no names: they are those of a library.
NAMES = [
    "members_alone", "members_several[0]", "members_several[3]", "members_pair[0].first", "members_pair[1].first", "members_pair[1].number",
    "shop::main_server.number", "shop::main_server.base_lock", "shop::main_server.padded", "shop::main_server.lock",
    "shop::main_server.shared", "shop::main_server.slots[0].free", "shop::main_server.slots[2].limit",
    "shop::main_server.grid[0][0].name[0]", "shop::main_server.grid[1][2].name[11]", "shop::main_server.grid[1][2].spin",
    "shop::main_server.own", "shop::table[0].lock", "shop::table[4].lock", "shop::table[3].slots[1].free", "shop::table[2].grid[0][1].spin",
]


def gdb(*commands):
    if not shutil.which("gdb"):
        skip("no gdb")
    done = subprocess.run(["gdb", "-q", "-nx", "-batch", *[part for text in commands for part in ("-ex", text)], PROGRAM],
                          capture_output=True, text=True, check=True, timeout=60, env={**os.environ, "DEBUGINFOD_URLS": ""})
    return done.stdout.splitlines()


def ask(addresses, program=PROGRAM):
    """The variable at each address."""
    done = subprocess.run([FRAMES, "--data", program], input="".join(f"{address:#x}\n" for address in addresses),
                          capture_output=True, text=True, check=True, timeout=60)
    lines = done.stdout.splitlines()
    equal([int(line, 16) for line in lines[::2]], addresses)
    return lines[1::2]


def test_names():
    addresses = [int(line.split("= ")[1], 16) for line in gdb(*[f"print/x (long) &{name}" for name in NAMES])]
    equal(ask(addresses), [name + "+0" for name in NAMES])


def test_distances():
    """Where no member begins, the variable has its distance, as in gdb."""
    inner = [("shop::main_server.padded", 1), ("shop::main_server.lock", 4), ("shop::main_server.number", 3),
             ("members_several[2]", 16), ("members_pair[1].number", 4), ("members_alone", 8)]
    lines = gdb(*[command for name, add in inner for command in (f"print/x (long) &{name} + {add}", f"info symbol (long) &{name} + {add}")])
    addresses = [int(line.split("= ")[1], 16) for line in lines[::2]]
    expected = ["+".join(re.match(r"(\S+) \+ (\d+) in section", line).groups()) for line in lines[1::2]]
    equal(ask(addresses), expected)


def test_limits():
    """Types at the limits, and beyond them."""
    declared, expected = [], {}
    for levels in (63, 64):
        name = f"nested_{levels}"
        declared.append("struct { int pad; " * levels + "int m;" + " } m;" * (levels - 1) + f" }} {name};")
        expected[name] = (4 * levels, name + ".m" * levels if levels == 63 else None)
    for dimensions in (8, 9):
        name = f"array_{dimensions}"
        declared.append(f"int {name}{'[2]' * dimensions};")
        expected[name] = (4, name + "[0]" * (dimensions - 1) + "[1]" if dimensions == 8 else None)
    for length in (1022, 1023):
        name = f"long_{length}"
        declared.append(f"struct {{ int pad, {'x' * length}; }} {name};")
        expected[name] = (4, f"{name}.{'x' * length}" if length == 1022 else None)
    with tempfile.TemporaryDirectory() as work:
        program = os.path.join(work, "limits")
        subprocess.run(["cc", "-g", "-o", program, "-x", "c", "-"], input="\n".join(declared) + "\nint main(void) { return 0; }\n",
                       text=True, check=True)
        nm = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
        begins = {line.split()[2]: int(line.split()[0], 16) for line in nm.splitlines() if len(line.split()) == 3}
        found = ask([begins[name] + distance for name, (distance, _) in expected.items()], program)
        equal(found, [f"{text}+0" if text else f"{name}+{distance}" for name, (distance, text) in expected.items()])


def test_without_debug_information():
    stripped = PROGRAM + ".stripped"
    try:
        subprocess.run(["objcopy", "--strip-debug", PROGRAM, stripped], check=True)
        (line,) = gdb("print/x (long) &members_pair[1].number")
        done = subprocess.run([FRAMES, "--data", stripped], input=line.split("= ")[1] + "\n", capture_output=True, text=True, check=True)
        true(re.fullmatch(r"0x\w+\nmembers_pair\+\d+\n", done.stdout), done.stdout)
    finally:
        if os.path.exists(stripped):
            os.unlink(stripped)


run_tests(globals())
