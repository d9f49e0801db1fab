#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""readside --check: wrong descriptions, each with what a person must be told. Right ones are in test-machines.py."""
import struct

from harness import *

DIRECT = "SIDE_TYPE_GATHER_ACCESS_DIRECT"


def field(name, type):
    return f"{{ .field_name = SIDE_PTR_INIT({name}), .side_type = {type} }}"


# Name of the event: what stands before it, fields, attributes, then (severity, field, part of the text) of each problem.
CASES = {
    "duplicate": ("", 'side_field_u8("x"), side_field_u8("y"), side_field_u16("x")', "",
                  [("error", "", 'several fields are called "x"')]),
    "duplicate_inside": ('static side_define_struct(di, side_field_list(side_field_u8("a"), side_field_u8("a")));'
                         "static side_define_array(dia, side_elem(side_type_struct(di)), 2);",
                         'side_field_array("list", dia)', "", [("error", "list[]", 'several fields are called "a"')]),
    "empty_name": ("", 'side_field_u8("")', "", [("error", "", "the name of field 0 is empty")]),
    "null_name": ("", field("NULL", "{ .type = SIDE_ENUM_INIT(SIDE_TYPE_DYNAMIC) }"), "",
                  [("error", None, "the name of field 0 is NULL")]),
    "unknown_type": ("", field('"x"', "{ .type = SIDE_ENUM_INIT((enum side_type_label)99) }"), "",
                     [("error", None, "the type label 99 is unknown")]),
    "argument_label": ("", field('"x"', "{ .type = SIDE_ENUM_INIT(SIDE_TYPE_DYNAMIC_BOOL) }"), "",
                       [("error", None, "DYNAMIC_BOOL")]),
    "nowhere": ("", field("(const char *)0x10", "{ .type = SIDE_ENUM_INIT(SIDE_TYPE_DYNAMIC) }"), "",
                [("error", None, "the memory at 0x10")]),
    "cycle": ("static const struct side_type_struct cyc;"
              'static side_define_struct(cyc, side_field_list(side_field_struct("again", cyc)));',
              'side_field_struct("x", cyc)', "", [("error", None, "does a type hold itself?")]),
    "null_struct": ("", field('"x"', "{ .type = SIDE_ENUM_INIT(SIDE_TYPE_STRUCT) }"), "",
                    [("error", None, "NULL")]),
    "null_list": ("", field('"x"', "{ .type = SIDE_ENUM_INIT(SIDE_TYPE_NULL), .u = { .side_null = { .attributes = "
                                   "{ .length = 3 } } } }"), "", [("error", None, "NULL")]),
    "absurd_count": ("", field('"x"', "{ .type = SIDE_ENUM_INIT(SIDE_TYPE_NULL), .u = { .side_null = { .attributes = "
                                      "{ .elements = SIDE_PTR_INIT((const struct side_attr *)absurd), "
                                      ".length = 0xffffffff } } } }"), "", [("error", None, "")]),
    "label_size": ("", field('"x"', "{ .type = SIDE_ENUM_INIT(SIDE_TYPE_U32), .u = { .side_integer = { .integer_size = 8, "
                                    ".byte_order = SIDE_ENUM_INIT(SIDE_TYPE_BYTE_ORDER_HOST) } } }"), "",
                   [("error", "", "8 bytes are not the size of U32")]),
    "bad_size": ("", field('"x"', "{ .type = SIDE_ENUM_INIT(SIDE_TYPE_U32), .u = { .side_integer = { .integer_size = 3 } } }"),
                 "", [("error", None, "an integer cannot have 3 bytes")]),
    "huge_array": ("static side_define_array(hua, side_elem(side_type_u8()), 70000);", 'side_field_array("x", hua)', "",
                   [("error", "x", "70000 elements, which is absurd")]),
    "empty_array": ("static side_define_array(ea, side_elem(side_type_u8()), 0);", 'side_field_array("x", ea)', "",
                    [("warning", "x", "no elements")]),
    "range": ("static side_define_enum(re, side_enum_mapping_list(side_enum_mapping_range(\"r\", 5, 4)));",
              'side_field_enum("x", &re, side_elem(side_type_u8()))', "",
              [("error", "x", "the range of label 0 ends (4) before it begins (5)")]),
    "reach": ("static side_define_enum(rc, side_enum_mapping_list(side_enum_mapping_value(\"a\", 255),"
              "side_enum_mapping_value(\"b\", 256), side_enum_mapping_range(\"\", -9, -1)));",
              'side_field_enum("x", &rc, side_elem(side_type_u8()))', "",
              [("warning", "x", "label 1 (256 to 256) is out of the reach"), ("warning", "x", "label 2 is empty"),
               ("warning", "x", "label 2 (-9 to -1) is out of the reach")]),
    "bits": ("static side_define_enum_bitmap(bi, side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value(\"a\", 7),"
             "side_enum_bitmap_mapping_range(\"b\", 8, 9)));",
             'side_field_enum_bitmap("x", &bi, side_elem(side_type_u8()))', "",
             [("warning", "x", "label 1 begins at bit 8, of 8 bits")]),
    "options": ("static side_define_variant(ov, side_type_u8(), side_option_list(side_option_range(0, 9, side_type_u8()),"
                "side_option(9, side_type_u16()), side_option_range(4, 3, side_type_u8())));",
                'side_field_variant("x", ov)', "",
                [("warning", "x", "options 0 and 1 have selectors in common"), ("error", "x", "the range of option 2 ends")]),
    "no_options": ("static side_define_variant(nv, side_type_u8(), side_option_list());", 'side_field_variant("x", nv)', "",
                   [("error", "x", "no options")]),
    "base": ("", 'side_field_u8("x", side_attr_list(side_attr("std.integer.base", side_attr_u8(7))))', "",
             [("warning", "x", "std.integer.base is 7, not 2, 8, 10 or 16")]),
    "attributes": ("", 'side_field_u8("x")',
                   'side_attr_list(side_attr("a", side_attr_u8(7)), side_attr("a", side_attr_u8(8)), '
                   'side_attr("", side_attr_u8(8)))',
                   [("warning", "", "attribute 1 has the name of attribute 0"), ("warning", "", "the name of attribute 2 is empty")]),
    "offset": ("", f'side_field_gather_byte("x", 0x123456789abc, {DIRECT})', "",
               [("error", "x", "the offset 0x123456789abc is absurd")]),
}

# Events as a whole: which bytes are put where. Offsets in the description, or in the state.
WHOLE = {
    "no_state": ("{id}", 8, "<Q", 0, "error", "it has no state"),
    "lost_state": ("{id}", 8, "<Q", 0x10, "error", "its state cannot be read"),
    "foreign_state": ("side_event_state__{id}", 24, "<Q", 0x1234, "error", "of another description (at 0x1234"),
    "enabled": ("side_event_state__{id}", 8, "<Q", 1, "error", "it is enabled already"),
    "state_version": ("side_event_state__{id}", 0, "<I", 7, "error", "has a version (7) that is not known"),
    "loglevel": ("{id}", 108, "<I", 8, "error", "the log level 8 is unknown"),
    "flags": ("{id}", 96, "<Q", 6, "warning", "the flags 0x6 are unknown"),
    "labels": ("{id}", 104, "<H", 60, "warning", "it was made for 60 types"),
    "size": ("{id}", 0, "<I", 120, "warning", "the description has 120 bytes, not 112"),
    "version": ("{id}", 4, "<I", 1, "error", "the description has version 1"),
}


def source():
    lines = ["#define SIDE_STATIC_CHECK_DISABLE", "#include <side/trace.h>",
             'static const char absurd[64] = "absurd";', "const void *use_absurd(void);",
             "const void *use_absurd(void) { return absurd; }"]
    for name, (before, fields, attributes, _) in CASES.items():
        more = f", {attributes}" if attributes else ""
        lines += [before, f'side_static_event({name}, "case", "{name}", SIDE_LOGLEVEL_INFO, side_field_list({fields}){more});']
    for name in ("twin_one", "twin_two"):
        lines.append(f'side_static_event({name}, "case", "twin", SIDE_LOGLEVEL_INFO, side_field_list());')
    return "\n".join(lines) + "\n"


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
        for severity, place, part in wanted:
            true(any(line["severity"] == severity and part in line["text"] and place in (None, line["field"])
                     for line in mine), f"{name}: {(severity, place, part)} is not in {mine}")
    twins = [line for line in found if line["event"] == "case:twin"]
    equal([line["severity"] for line in twins], ["warning"])
    contains(twins[0]["text"], "another event of the file has the same name")
    equal(len(found), 1 + sum(len(case[3]) for case in CASES.values()), found)


def test_text():
    """As a person reads it; warnings alone are a failure only for who wants it so."""
    run = readside("--check", "-e", "case:base", build())
    contains(run.out, "wrong.o: warning: case:base: field x: its attribute std.integer.base is 7, not 2, 8, 10 or 16\n")
    good = os.path.join(HERE, "types.c")
    needed("gcc", "-I" + INCLUDE, "-c", good, "-o", "good.o")
    equal(readside("--check", "--strict", "-p", "other", "good.o").out, "2 events, 0 errors, 0 warnings\n")
    with open(path("twins.c"), "w") as stream:
        stream.write('#include <side/trace.h>\nside_static_event(a, "p", "e", SIDE_LOGLEVEL_INFO, side_field_list());\n'
                     'side_static_event(b, "p", "e", SIDE_LOGLEVEL_INFO, side_field_list());\n')
    needed("gcc", "-I" + INCLUDE, "-c", "twins.c", "-o", "twins.o")
    contains(readside("--check", "twins.o").out, "2 events, 0 errors, 1 warning\n")
    readside("--check", "--strict", "twins.o", status=1)


def test_events():
    """Events that are right in all but one of their own members: set in the bytes of a program."""
    lines = ["#include <side/trace.h>"]
    for name in WHOLE:
        lines.append(f'side_hidden_event({name}, "whole", "{name}", SIDE_LOGLEVEL_INFO, side_field_list());')
    with open(path("whole.c"), "w") as stream:
        stream.write("\n".join(lines) + "\n")
    # At fixed addresses, so that there is nothing to relocate.
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
        mine = [line for line in found if part in line["text"]]
        equal([line["severity"] for line in mine], [severity], f"{name}: {found}")
        equal(mine[0]["event"], "whole:" + name)
    equal(len(found), len(WHOLE))


def place_of(image, address):
    """Where in a 64-bit little-endian program the byte stands that is loaded at the address."""
    (headers,) = struct.unpack_from("<Q", image, 32)
    (size, count) = struct.unpack_from("<HH", image, 54)
    for i in range(count):
        kind, _, offset, start, _, in_file = struct.unpack_from("<IIQQQQ", image, headers + i * size)
        if kind == 1 and start <= address < start + in_file:
            return offset + address - start
    raise AssertionError(f"nothing is loaded at {address:#x}")


def test_files():
    """What cannot be checked is no success."""
    with open(path("text"), "w") as stream:
        stream.write("no ELF file\n")
    contains(readside("--check", "text", status=2).err, "it is not an ELF file")
    contains(readside("--check", "nothing-there", status=2).err, "No such file")
    equal(readside("--check", "/bin/true").out, "0 events, 0 errors, 0 warnings\n")
    with open(path("cut.o"), "wb") as stream, open(path(build()), "rb") as whole:
        stream.write(whole.read()[:3000])
    readside("--check", "cut.o", status=2)


run_tests(globals())
