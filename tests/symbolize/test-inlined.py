#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Inlined functions are those of addr2line -i, and variables those of nm, at each address of a program."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from checks import equal, output, run_tests, true

for tool in ("cc", "nm", "addr2line", "readelf", "objdump"):
    if not shutil.which(tool):
        print(f"{tool} is missing (packages gcc and binutils)")
        sys.exit(77)

FRAMES, PROGRAM = os.environ["FRAMES"], os.environ["INLINED"]
BASE = 0x7f0000000000


def ask(addresses, *options, program=PROGRAM):
    """Returns address -> its lines."""
    text = subprocess.run([FRAMES, *options, program], input="\n".join(map(hex, addresses)), capture_output=True, text=True,
                          check=True).stdout
    blocks = re.split(r"^(0x[0-9a-f]+)\n", text, flags=re.M)[1:]
    return {int(address, 16): lines.splitlines() for address, lines in zip(blocks[::2], blocks[1::2])}


def addr2line(addresses):
    text = subprocess.run(["addr2line", "-a", "-i", "-f", "-C", "-e", PROGRAM], input="\n".join(map(hex, addresses)),
                          capture_output=True, text=True, check=True).stdout
    blocks = re.split(r"^(0x[0-9a-f]+)\n", text, flags=re.M)[1:]
    return {int(address, 16): lines.splitlines() for address, lines in zip(blocks[::2], blocks[1::2])}


def frames_of(lines):
    """[(function without parameters, file name, line)]: the two demanglers print different forms of some parameters."""
    found = []
    for function, place in zip(lines[::2], lines[1::2]):
        file, line = re.sub(r" \(discriminator \d+\)", "", place).rsplit(":", 1)
        found.append((re.sub(r"\(.*", "", function), os.path.normpath(file), line))
    return found


def symbols(kinds):
    """[(name, address, size)]"""
    lines = output("nm", "-S", "-C", "--defined-only", PROGRAM).splitlines()
    return [(parts[3], int(parts[0], 16), int(parts[1], 16)) for parts in (line.split(maxsplit=3) for line in lines)
            if len(parts) == 4 and parts[2] in kinds]


def instructions(name):
    """The addresses of the instructions of a function."""
    (begin, size), = [(begin, size) for full, begin, size in symbols("tTW") if full.split("(")[0] == name]
    text = output("objdump", "-d", "--no-show-raw-insn", f"--start-address={begin}", f"--stop-address={begin + size}", PROGRAM)
    return [int(address, 16) for address in re.findall(r"^ +([0-9a-f]+):\t", text, flags=re.M)]


def test_all_instructions():
    addresses = instructions("main") + instructions("inlined::worker::run")
    true(len(addresses) > 50, addresses)
    found, expected = ask(addresses), addr2line(addresses)
    depths = set()
    for address in addresses:
        frames = frames_of(found[address])
        equal(frames, frames_of(expected[address]), hex(address))
        depths.add(len(frames))
    true({1, 2, 5} <= depths, f"nested inlined functions: {depths}")


def test_names_are_demangled():
    names = {line for lines in ask(instructions("inlined::worker::run")).values() for line in lines[::2]}
    true({"inlined::innermost(int)", "long inlined::middle<long>(long)", "inlined::worker::add(int)"} <= names, names)


def check_data(*options):
    known = [one for one in symbols("bBdD") if "inlined" in one[0]]
    equal(sorted(name for name, _, _ in known), ["inlined::numbers", "inlined_data"])
    for name, address, size in known:
        expected = {address + inside: [f"{name}+{inside}"] for inside in (1, size - 1)}
        # test-members.py tests the names at addresses where members begin.
        member = ".first" if name == "inlined::numbers" else ""
        expected |= {address: [f"{name}[0]{member}+0"], address + size // 2: [f"{name}[{2 if member else 8}]{member}+0"]}
        equal(ask(expected, *options), expected)
    text = instructions("main")[0]
    equal(ask([text, 0, 1 << 29], *options), {text: ["??+0"], 0: ["??+0"], 1 << 29: ["??+0"]})


def nested(blocks):
    """The names of the frames of a call to an inlined function in so many nested blocks."""
    with tempfile.TemporaryDirectory() as work:
        source, program = os.path.join(work, "nested.c"), os.path.join(work, "nested")
        begin = "".join(f"{{ volatile int v{i} = {i}; " for i in range(blocks))
        with open(source, "w", encoding="utf-8") as file:
            file.write("volatile int sink;\n"
                       "static inline __attribute__((always_inline)) void copied(void)\n{ __asm__ volatile(\"copy: nop\"); sink++; }\n"
                       f"int main(void)\n{{ sink++;\n{begin}\ncopied();\n{'}' * blocks}\nreturn 0; }}\n")
        output("cc", "-g", "-O0", "-o", program, source)
        address, = [int(line.split()[0], 16) for line in output("nm", program).splitlines() if line.endswith(" copy")]
        return ask([address], program=program)[address][::2]


def test_nesting():
    equal(nested(0), ["copied", "main"])
    equal(nested(63), ["copied", "main"])
    equal(nested(64), ["main"])


def test_variables():
    check_data("--data")


def test_variables_by_maps():
    """A line of maps names the code only: data is at the same distance from it as in the file."""
    inode = os.stat(PROGRAM).st_ino
    lines = re.findall(r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ 0x\w+ (0x\w+) R E", output("readelf", "-lW", PROGRAM))
    (offset, address, size), = [[int(number, 16) for number in line] for line in lines]
    begin = BASE + address // 4096 * 4096
    end = begin + (size + address % 4096 + 4095) // 4096 * 4096
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "maps")
        with open(path, "w", encoding="utf-8") as maps:
            maps.write(f"{begin:x}-{end:x} r-xp {offset // 4096 * 4096:08x} 08:01 {inode} {PROGRAM}\n")
        check_data("--maps", path)


run_tests(globals())
