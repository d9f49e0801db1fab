#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""readside --diff: events in two versions, each with one change, and the expected messages."""
from harness import *

DIRECT = "SIDE_TYPE_GATHER_ACCESS_DIRECT"
GOOD, BAD, SAME = True, False, None

BEFORE = """
static side_define_struct(pair, side_field_list(side_field_u8("a"), side_field_u8("b")));
static side_define_array(three, side_elem(side_type_u16()), 3);
static side_define_vla(many, side_elem(side_type_u16()), side_length(side_type_u8()));
static side_define_optional(maybe, side_elem(side_type_u32()));
static side_define_variant(choice, side_type_u8(), side_option_list(side_option(0, side_type_u8()),
    side_option_range(1, 5, side_type_string())));
static side_define_enum(color, side_enum_mapping_list(side_enum_mapping_value("red", 1), side_enum_mapping_value("green", 2)));
static side_define_enum_bitmap(set, side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value("one", 1)));
"""
AFTER = """
static side_define_struct(pair_more, side_field_list(side_field_u8("a"), side_field_u8("b"), side_field_u8("c")));
static side_define_struct(pair_less, side_field_list(side_field_u8("a")));
static side_define_array(four, side_elem(side_type_u16()), 4);
static side_define_array(three_wide, side_elem(side_type_u32()), 3);
static side_define_vla(many_text, side_elem(side_type_string()), side_length(side_type_u8()));
static side_define_vla(many_long, side_elem(side_type_u16()), side_length(side_type_u32()));
static side_define_optional(maybe_wide, side_elem(side_type_u64()));
static side_define_variant(choice_more, side_type_u8(), side_option_list(side_option(0, side_type_u8()),
    side_option_range(1, 5, side_type_string()), side_option(6, side_type_null())));
static side_define_variant(choice_less, side_type_u8(), side_option_list(side_option(0, side_type_u8()),
    side_option_range(1, 4, side_type_string())));
static side_define_variant(choice_other, side_type_u8(), side_option_list(side_option(0, side_type_s16()),
    side_option_range(1, 5, side_type_string())));
static side_define_enum(color_more, side_enum_mapping_list(side_enum_mapping_value("blue", 3),
    side_enum_mapping_value("red", 1), side_enum_mapping_value("green", 2)));
static side_define_enum(color_less, side_enum_mapping_list(side_enum_mapping_value("red", 1)));
static side_define_enum(color_other, side_enum_mapping_list(side_enum_mapping_value("red", 1), side_enum_mapping_value("green", 4)));
static side_define_enum_bitmap(set_other, side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value("one", 2)));
"""

# Name: fields before, fields after, whether it is compatible, (location, part of the text) of the
# first change.
CASES = {
    "same": ('side_field_u32("x")', 'side_field_u32("x")', SAME, None),
    "twice": ('side_field_u8("x"), side_field_u32("x")', 'side_field_u8("x"), side_field_u32("x")', SAME, None),
    "twice_wider": ('side_field_u8("x"), side_field_u32("x")', 'side_field_u8("x"), side_field_u64("x")', GOOD,
                    ("x", "was u32, is u64")),
    "twice_less": ('side_field_u8("x"), side_field_u32("x")', 'side_field_u8("x")', BAD, ("x", "the field was removed")),
    "twice_more": ('side_field_u8("x")', 'side_field_u8("x"), side_field_u32("x")', GOOD, ("x", "the field is new")),
    "thrice_moved": ('side_field_u8("x"), side_field_u8("y"), side_field_u8("x"), side_field_u8("x")',
                     'side_field_u8("x"), side_field_u8("x"), side_field_u8("y"), side_field_u8("x")', GOOD,
                     ("", "another order")),
    "added": ('side_field_u32("x")', 'side_field_u32("x"), side_field_u8("y")', GOOD, ("y", "the field is new")),
    "removed": ('side_field_u32("x"), side_field_u8("y")', 'side_field_u32("x")', BAD, ("y", "the field was removed")),
    "renamed": ('side_field_u32("x")', 'side_field_u32("z")', BAD, ("x", "the field was removed")),
    "moved": ('side_field_u32("x"), side_field_u8("y")', 'side_field_u8("y"), side_field_u32("x")', GOOD, ("", "another order")),
    "wider": ('side_field_u32("x")', 'side_field_u64("x")', GOOD, ("x", "was u32, is u64")),
    "narrower": ('side_field_u32("x")', 'side_field_u16("x")', BAD, ("x", "was u32, is u16")),
    "signed": ('side_field_u32("x")', 'side_field_s32("x")', BAD, ("x", "largest values")),
    "signed_wider": ('side_field_u32("x")', 'side_field_s64("x")', GOOD, ("x", "can hold all its values")),
    "unsigned": ('side_field_s32("x")', 'side_field_u64("x")', BAD, ("x", "no negative numbers")),
    "order": ('side_field_u32("x")', 'side_field_u32_be("x")', SAME, None),
    "kind": ('side_field_u32("x")', 'side_field_string("x")', BAD, ("x", "was u32, is string")),
    "text": ('side_field_string("x")', 'side_field_string16_be("x")', SAME, None),
    "float": ('side_field_float_binary32("x")', 'side_field_float_binary64("x")', GOOD, ("x", "can hold all its values")),
    "float_less": ('side_field_float_binary64("x")', 'side_field_float_binary32("x")', BAD, ("x", "less exact")),
    "gathered": ('side_field_u32("x")', f'side_field_gather_unsigned_integer("x", 8, 4, 0, 0, {DIRECT})', SAME, None),
    "gathered_bits": ('side_field_u32("x")', f'side_field_gather_unsigned_integer("x", 8, 4, 2, 9, {DIRECT})', BAD,
                      ("x", "narrower")),
    "base": ('side_field_u32("x")', 'side_field_u32("x", side_attr_list(side_attr("std.integer.base", side_attr_u8(16))))', GOOD,
             ("x", "attributes")),
    "struct_more": ('side_field_struct("x", pair)', 'side_field_struct("x", pair_more)', GOOD, ("x.c", "the field is new")),
    "struct_less": ('side_field_struct("x", pair)', 'side_field_struct("x", pair_less)', BAD, ("x.b", "the field was removed")),
    "array_longer": ('side_field_array("x", three)', 'side_field_array("x", four)', BAD, ("x", "had 3 elements, has 4")),
    "array_wider": ('side_field_array("x", three)', 'side_field_array("x", three_wide)', GOOD, ("x[]", "was u16, is u32")),
    "list_length": ('side_field_vla("x", many)', 'side_field_vla("x", many_long)', SAME, None),
    "list_text": ('side_field_vla("x", many)', 'side_field_vla("x", many_text)', BAD, ("x[]", "was u16, is string")),
    "list_array": ('side_field_vla("x", many)', 'side_field_array("x", three)', BAD, ("x", "was u16[], is u16[3]")),
    "optional": ('side_field_u32("x")', 'side_field_optional("x", maybe)', BAD, ("x", "it can be absent")),
    "optional_wider": ('side_field_optional("x", maybe)', 'side_field_optional("x", maybe_wide)', GOOD, ("x", "was u32, is u64")),
    "option_more": ('side_field_variant("x", choice)', 'side_field_variant("x", choice_more)', GOOD, ("x", "more options")),
    "option_less": ('side_field_variant("x", choice)', 'side_field_variant("x", choice_less)', BAD,
                    ("x.option 1", "the option of selectors 1 to 5 was removed")),
    "option_other": ('side_field_variant("x", choice)', 'side_field_variant("x", choice_other)', GOOD,
                     ("x.option 0", "was u8, is s16")),
    "label_more": ('side_field_enum("x", &color, side_elem(side_type_u8()))',
                   'side_field_enum("x", &color_more, side_elem(side_type_u8()))', GOOD, ("x", 'the label "blue" is new')),
    "label_less": ('side_field_enum("x", &color, side_elem(side_type_u8()))',
                   'side_field_enum("x", &color_less, side_elem(side_type_u8()))', BAD, ("x", 'the label "green" was removed')),
    "label_other": ('side_field_enum("x", &color, side_elem(side_type_u8()))',
                    'side_field_enum("x", &color_other, side_elem(side_type_u8()))', BAD, ("x", "has other values")),
    "bitmap_other": ('side_field_enum_bitmap("x", &set, side_elem(side_type_u8()))',
                     'side_field_enum_bitmap("x", &set_other, side_elem(side_type_u8()))', BAD, ("x", "has other values")),
    "enum_integer": ('side_field_enum("x", &color, side_elem(side_type_u8()))', 'side_field_u8("x")', BAD, ("x", "is u8")),
}


def build(name, column):
    if os.path.exists(path(name)):
        return name
    lines = ["#define SIDE_STATIC_CHECK_DISABLE_DUPLICATED_FIELDS", "#include <side/trace.h>", BEFORE, AFTER]
    for case, values in CASES.items():
        lines.append(f'side_static_event(event_{case}, "case", "{case}", SIDE_LOGLEVEL_INFO, side_field_list({values[column]}));')
    if column == 0:
        lines += ['side_static_event(gone, "whole", "gone", SIDE_LOGLEVEL_INFO, side_field_list());',
                  'side_static_event(level, "whole", "level", SIDE_LOGLEVEL_INFO, side_field_list());',
                  'side_static_event_variadic(less, "whole", "less", SIDE_LOGLEVEL_INFO, side_field_list());',
                  'side_static_event(more, "whole", "more", SIDE_LOGLEVEL_INFO, side_field_list());']
    else:
        lines += ['side_static_event(fresh, "whole", "fresh", SIDE_LOGLEVEL_INFO, side_field_list());',
                  'side_static_event(level, "whole", "level", SIDE_LOGLEVEL_ERR, side_field_list());',
                  'side_static_event(less, "whole", "less", SIDE_LOGLEVEL_INFO, side_field_list());',
                  'side_static_event_variadic(more, "whole", "more", SIDE_LOGLEVEL_INFO, side_field_list());']
    with open(path(name + ".c"), "w") as stream:
        stream.write("\n".join(lines) + "\n")
    needed("gcc", "-w", "-I" + INCLUDE, "-fPIC", "-c", name + ".c", "-o", name)
    return name


def old():
    return build("old.o", 0)


def new():
    return build("new.o", 1)


def test_cases():
    lines = json_lines(readside("--diff", "--json", old(), new(), status=1).out)
    changes = [line for line in lines if line["type"] == "change"]
    counts = {SAME: 0, GOOD: 0, BAD: 0}
    for case, (_, _, verdict, wanted) in CASES.items():
        mine = [line for line in changes if line["event"] == "case:" + case]
        counts[verdict] += 1
        if verdict is SAME:
            equal(mine, [], case)
            continue
        equal(all(line["compatible"] for line in mine), verdict, f"{case}: {mine}")
        equal(mine[0]["field"], wanted[0], case)
        contains(mine[0]["text"], wanted[1], case)
    summary = lines[-1]
    # The events themselves: another level, one that became compatible, one that did not; one
    # removed, one new.
    equal({key: summary[key] for key in ("compatible", "unchanged", "changed", "incompatible", "added", "removed")},
          {"compatible": False, "unchanged": counts[SAME], "changed": counts[GOOD] + 2, "incompatible": counts[BAD] + 1,
           "added": 1, "removed": 1})
    whole = {line["event"]: (line["compatible"], line["text"]) for line in changes if line["event"].startswith("whole:")}
    equal(whole, {"whole:gone": (False, "the event was removed"), "whole:fresh": (True, "the event is new"),
                  "whole:level": (True, "its log level was INFO, is ERR"),
                  "whole:less": (False, "it no longer has variadic fields"),
                  "whole:more": (True, "it has variadic fields now")})


def test_each():
    """The status of each alone, by a filter; and no difference between a file and itself."""
    for case, (_, _, verdict, _) in CASES.items():
        readside("--diff", "-e", "case:" + case, old(), new(), status=1 if verdict is BAD else 0)
    equal(readside("--diff", new(), new()).out,
          f"compatible: {len(CASES) + 4} unchanged, 0 changed compatibly, 0 changed incompatibly, 0 added, 0 removed\n")


def test_text():
    out = readside("--diff", "-e", "case:narrower", old(), new(), status=1).out
    equal(out.splitlines(), ["case:narrower: not compatible: field x: was u32, is u16, which is narrower",
                             "not compatible: 0 unchanged, 0 changed compatibly, 1 changed incompatibly, 0 added, 0 removed"])


def test_mistakes():
    contains(readside("--diff", old(), status=2).err, "--diff compares two files")
    contains(readside("--diff", old(), "nothing-there", status=2).err, "No such file")
    contains(readside("--diff", "/etc/passwd", old(), status=2).err, "not an ELF file")


run_tests(globals())
