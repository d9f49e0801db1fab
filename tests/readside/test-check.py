#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""readside --check: wrong descriptions, each with its expected message. test-machines.py tests valid ones."""
import struct

from harness import *
from wrong import CASES, WHOLE, source

def build():
    if not os.path.exists(path("wrong.o")):
        with open(path("wrong.c"), "w") as stream:
            stream.write(source())
        needed("gcc", "-g", "-w", "-I" + INCLUDE, "-fPIC", "-c", "wrong.c", "-o", "wrong.o")
    return "wrong.o"


def problems(status, *args):
    lines = json_lines(readside("--check", "--json", *args, status=status).out)
    equal(lines[-1]["type"], "summary")
    for severity in ("error", "warning"):
        equal(lines[-1][severity + "s"], len([line for line in lines[:-1] if line["severity"] == severity]))
    return lines[:-1]


def test_cases():
    found = problems(1, build())
    for name, (_, _, _, wanted) in CASES.items():
        mine = [line for line in found if line["event"] == "case:" + name]
        equal(len(mine), len(wanted), f"{name}: {mine}")
        for severity, place, begin, end in wanted:
            true(any(line["severity"] == severity and line["text"].startswith(begin) and place in (None, line["field"]) and
                     (not end or end == line.get("hint")) for line in mine),
                 f"{name}: {(severity, place, begin, end)} is not in {mine}")
    equal(len(found), sum(len(case[3]) for case in CASES.values()), found)


def test_text():
    """The output for a person; warnings alone are a failure only with the option for it."""
    run = readside("--check", "-e", "case:base", build())
    contains(run.out, "wrong.o: warning: case:base: field x: its attribute std.integer.base is 7, not 2, 8, 10 or 16\n"
                      "hint: make it one of these\n")
    good = os.path.join(HERE, "types.c")
    needed("gcc", "-I" + INCLUDE, "-c", good, "-o", "good.o")
    equal(readside("--check", "--strict", "-p", "other", "good.o").out, "2 events, 0 errors, 0 warnings\n")
    with open(path("twins.c"), "w") as stream:
        stream.write('#include <side/trace.h>\nside_static_event(a, "p", "e", SIDE_LOGLEVEL_INFO, side_field_list());\n'
                     'side_static_event(b, "p", "e", SIDE_LOGLEVEL_INFO, side_field_list());\n')
    needed("gcc", "-I" + INCLUDE, "-c", "twins.c", "-o", "twins.o")
    contains(readside("--check", "twins.o").out, "2 events, 0 errors, 1 warning\n")
    contains(readside("--check", "twins.o").out, "p:e: another event of the file has the same name")
    readside("--check", "--strict", "twins.o", status=1)


def test_repeated():
    """Fields of one type share its findings: each is printed once."""
    fields = ", ".join(f'side_field_enum("f{i}", &twins, side_elem(side_type_u8()))' for i in range(50))
    with open(path("repeated.c"), "w") as stream:
        stream.write('#include <side/trace.h>\n'
                     'static side_define_enum(twins, side_enum_mapping_list(side_enum_mapping_value("", 1)));\n'
                     f'side_static_event(ev, "p", "e", SIDE_LOGLEVEL_INFO, side_field_list({fields}));\n')
    needed("gcc", "-w", "-I" + INCLUDE, "-c", "repeated.c", "-o", "repeated.o")
    found = problems(0, "repeated.o")
    equal(len(found), 1, found)
    contains(found[0]["text"], "label 0 is empty")
    contains(found[0]["text"], "(and the same at 49 more fields)")
    equal(found[0]["field"], "f0")


def test_events():
    """Events that are valid except for one of their own members: the test changes the bytes of a program."""
    lines = ["#include <side/trace.h>"]
    for name in WHOLE:
        lines.append(f'side_hidden_event({name}, "whole", "{name}", SIDE_LOGLEVEL_INFO, side_field_list(side_field_null("n", side_attr_list('
                     'side_attr("k", side_attr_u8(1))))));')
    with open(path("whole.c"), "w") as stream:
        stream.write("\n".join(lines) + "\n")
    # At fixed addresses, so that there are no relocations.
    needed("gcc", "-w", "-no-pie", "-fno-pie", "-nostdlib", "-static", "-I" + INCLUDE, "whole.c", "-o", "whole",
           "-Wl,--unresolved-symbols=ignore-all")
    equal(readside("--check", "--strict", "whole").out, f"{len(WHOLE)} events, 0 errors, 0 warnings\n")
    symbols = subprocess.run(["nm", "whole"], cwd=work.name, stdout=subprocess.PIPE, text=True, check=True).stdout
    addresses = {line.split()[2]: int(line.split()[0], 16) for line in symbols.splitlines() if len(line.split()) == 3}
    with open(path("whole"), "rb") as stream:
        image = bytearray(stream.read())
    for name, (symbol, offset, form, value, _, _) in WHOLE.items():
        struct.pack_into(form, image, place_of(image, addresses[symbol.format(id=name)] + offset), value)
    with open(path("changed"), "wb") as stream:
        stream.write(image)
    found = problems(1, "changed")
    for name, (_, _, _, _, severity, part) in WHOLE.items():
        # Findings without a name are recognised by their text.
        mine = [line for line in found if (line["text"].startswith(part.partition("; ")[0]) if name in ("no_provider", "no_name", "lost_name") else
                                           line["event"] == "whole:" + name)]
        equal([line["severity"] for line in mine], [severity], f"{name}: {found}")
        problem, _, hint = (part or "").partition("; ")
        contains(mine[0]["text"], problem)
        true("; " not in mine[0]["text"], mine[0])
        if hint:
            equal(mine[0].get("hint"), hint)
    equal(len(found), len(WHOLE), found)


def place_of(image, address):
    """Returns the offset of the byte that a 64-bit little-endian program loads at the address."""
    (headers,) = struct.unpack_from("<Q", image, 32)
    (size, count) = struct.unpack_from("<HH", image, 54)
    for i in range(count):
        kind, _, offset, start, _, in_file = struct.unpack_from("<IIQQQQ", image, headers + i * size)
        if kind == 1 and start <= address < start + in_file:
            return offset + address - start
    raise AssertionError(f"nothing is loaded at {address:#x}")


def test_files():
    """If a file cannot be checked, that is not a success."""
    with open(path("text"), "w") as stream:
        stream.write("no ELF file\n")
    contains(readside("--check", "text", status=2).err, "it is not an ELF file")
    contains(readside("--check", "nothing-there", status=2).err, "No such file")
    equal(readside("--check", "/bin/true").out, "0 events, 0 errors, 0 warnings\n")
    with open(path("cut.o"), "wb") as stream, open(path(build()), "rb") as whole:
        stream.write(whole.read()[:3000])
    readside("--check", "cut.o", status=2)


run_tests(globals())
