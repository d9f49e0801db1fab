# SPDX-License-Identifier: MIT
"""Wrong descriptions, one for each invalid value of each member of the ABI, with the expected message.
readside checks the file (test-check.py), the validator the program (../validate/test-wrong.py).
"""
DIRECT = "SIDE_TYPE_GATHER_ACCESS_DIRECT"
POINTER = "SIDE_TYPE_GATHER_ACCESS_POINTER"


def field(name, type):
    return f"{{ .field_name = SIDE_PTR_INIT({name}), .side_type = {type} }}"


def cell(label, member=""):
    return "{ .type = SIDE_ENUM_INIT((enum side_type_label) %s)%s }" % (label, ", .u = { %s }" % member if member else "")


def x(label, member=""):
    """A field x of a type that is written by hand."""
    return field('"x"', cell(label, member))


ORDER = ".byte_order = SIDE_ENUM_INIT(SIDE_TYPE_BYTE_ORDER_HOST)"


def integer(size, more="", order=ORDER):
    return f"{{ .integer_size = {size}, {more} {order} }}"


def gathered(member, mode=DIRECT, offset=0, more="", type=None):
    type = f", .type = {type}" if type else ""
    return (f".side_gather = {{ .u = {{ .{member} = {{ .offset = {offset}, {more} "
            f".access_mode = SIDE_ENUM_INIT((enum side_type_gather_access_mode) {mode}){type} }} }} }}")


def variant(name, selector, *options):
    return (f"static side_define_variant({name}, {selector}, side_option_list({', '.join(options)}));",
            f'side_field_variant("x", {name})')


def enum(name, type, *mappings):
    return (f"static side_define_enum({name}, side_enum_mapping_list({', '.join(mappings)}));",
            f'side_field_enum("x", &{name}, side_elem({type}))')


def value(label, number):
    return f'side_enum_mapping_value("{label}", {number})'


def bitmap(name, type, *mappings):
    return (f"static side_define_enum_bitmap({name}, side_enum_bitmap_mapping_list({', '.join(mappings)}));",
            f'side_field_enum_bitmap("x", &{name}, side_elem({type}))')


def bit(label, number):
    return f'side_enum_bitmap_mapping_value("{label}", {number})'


# Mappings whose labels are written by hand.
def labelled(name, label):
    return (f"static const struct side_enum_mapping {name}_list[] = {{ {{ .range_begin = 1, .range_end = 1, .label = {label} }} }};"
            f"static const struct side_enum_mappings {name} = {{ .mappings = {{ .elements = SIDE_PTR_INIT({name}_list), "
            ".length = 1 } };",
            f'side_field_enum("x", &{name}, side_elem(side_type_u8()))')


# Attributes that are written by hand.
def attributed(name, key, number, value):
    return (f"static const struct side_attr {name}_attr[] = {{ {{ .key = {key}, .value = {{ .type = "
            f"SIDE_ENUM_INIT((enum side_attr_type) {number}), .u = {{ {value} }} }} }} }};",
            x("SIDE_TYPE_NULL", f".side_null = {{ .attributes = {{ .elements = SIDE_PTR_INIT({name}_attr), .length = 1 }} }}"))


def raw(text, unit=1, order=0):
    return (f"{{ .p = SIDE_PTR_INIT({text}), .unit_size = {unit}, "
            f".byte_order = SIDE_ENUM_INIT((enum side_type_label_byte_order) {order}) }}")


def element(label, member=""):
    return f"SIDE_PTR_INIT((const struct side_type[]) {{ {cell(label, member)} }})"


def vla(name, elem, length):
    return (f"static const struct side_type_vla {name} = {{ .elem_type = {elem}, .length_type = {length} }};",
            x("SIDE_TYPE_VLA", f".side_vla = SIDE_PTR_INIT(&{name})"))


U8 = "side_elem(side_type_u8())"
ERROR, WARNING = "error", "warning"


class Remark(str):
    """A warning for readside; the validator reports nothing, because the description is valid."""


REMARK = Remark("warning")
TEXT = "give it a text (an empty one will do)"
SIZES = "give it 1, 2, 4, 8 or 16"
ENDS = "exchange its ends"
BYTES = "0 is little endian, 1 is big endian"
MODES = "0 is direct, 1 is through a pointer"
WITHIN = "offset_bits and len_bits must stay within its size (len_bits 0 is all of it)"
PLACE = "use a type that is possible there"
LABELS = "use a label of enum side_type_label, or a newer libside"
UNITS = "set unit_size to the bytes of a unit"
NOTHING = "point at the elements, or set their number to 0"
BELONGS = "point at the type that belongs here"
NAME = "give it a name"
OWN = "give each a name of its own"
CELL = "set the size to that of the label, or use another label"
UTF8 = "write it in UTF-8"
UTF8_UNITS = "write it in UTF-8, or set its unit size"

# Name of the event: declarations before it, fields, attributes, then (severity, field or None where
# the reader stops, begin of the message, hint) for each problem.
CASES = {
    # ---- fields ----
    "duplicate": ("", 'side_field_u8("x"), side_field_u8("y"), side_field_u16("x")', "",
                  [(ERROR, "", 'several fields are called "x"', OWN)]),
    "duplicate_bitmap": (bitmap("dbi", "side_type_u8()", bit("a", 1))[0],
                         'side_field_u8("x"), side_field_enum_bitmap("x", &dbi, side_elem(side_type_u8()))', "",
                         [(WARNING, "", 'several fields are called "x"', OWN)]),
    "duplicate_beside": (bitmap("dbs", "side_type_u8()", bit("a", 1))[0], 'side_field_u8("x"), side_field_u8("x"), '
                         'side_field_enum_bitmap("x", &dbs, side_elem(side_type_u8()))', "",
                         [(ERROR, "", 'several fields are called "x"', OWN)]),
    "duplicate_inside": ('static side_define_struct(di, side_field_list(side_field_u8("a"), side_field_u8("a")));'
                         "static side_define_array(dia, side_elem(side_type_struct(di)), 2);",
                         'side_field_array("list", dia)', "", [(ERROR, "list[]", 'several fields are called "a"', OWN)]),
    "empty_name": ("", 'side_field_u8("")', "", [(ERROR, "", "the name of field 0 is empty", NAME)]),
    "null_name": ("", field("NULL", cell("SIDE_TYPE_DYNAMIC")), "",
                  [(ERROR, None, "the name of field 0 is NULL", "give each field a name")]),
    "latin_name": ("", r'side_field_u8("\xe4")', "", [(WARNING, "", "the name of field 0 is not UTF-8", UTF8)]),
    "nowhere": ("", field("(const char *)0x10", cell("SIDE_TYPE_DYNAMIC")), "",
                [(ERROR, None, "the memory at 0x10",
                  "memory that a description points to must exist as long as it is registered")]),
    "many_fields": ("static const struct side_event_field mf_fields[] = { [0 ... 1024] = " +
                    field('"f"', cell("SIDE_TYPE_DYNAMIC")) + " };"
                    "static const struct side_type_struct mf = { .fields = { .elements = SIDE_PTR_INIT(mf_fields), "
                    ".length = 1025 } };", 'side_field_struct("x", mf)', "",
                    [(ERROR, "x", "it has 1025 fields, which is too many", "use at most 1024")]),
    # ---- labels of types ----
    "unknown_type": ("", x("99"), "", [(ERROR, None, "the type label 99 is unknown", LABELS)]),
    "argument_label": ("", x("SIDE_TYPE_DYNAMIC_BOOL"), "", [(ERROR, None, "DYNAMIC_BOOL is not possible in a description", PLACE)]),
    "label_size": ("", x("SIDE_TYPE_U32", ".side_integer = " + integer(8)), "",
                   [(ERROR, "x", "8 bytes are not the size of U32", CELL)]),
    "label_float": ("", x("SIDE_TYPE_FLOAT_BINARY32", f".side_float = {{ .float_size = 8, {ORDER} }}"), "",
                    [(ERROR, "x", "8 bytes are not the size of FLOAT_BINARY32", CELL)]),
    "label_string": ("", x("SIDE_TYPE_STRING_UTF8", f".side_string = {{ .unit_size = 2, {ORDER} }}"), "",
                     [(ERROR, "x", "2 bytes are not the size of STRING_UTF8", CELL)]),
    "label_sign": ("", x("SIDE_TYPE_S8", ".side_integer = " + integer(1)), "",
                   [(ERROR, "x", "the signedness is not that of S8",
                     "set it to that of the label, or use another label")]),
    # ---- integers, booleans, floats, strings, pointers ----
    "bad_size": ("", x("SIDE_TYPE_U32", ".side_integer = " + integer(3)), "",
                 [(ERROR, None, "an integer cannot have 3 bytes", SIZES)]),
    "bad_bits": ("", x("SIDE_TYPE_U32", ".side_integer = " + integer(4, ".len_bits = 33,")), "",
                 [(ERROR, None, "33 bits from bit 0 on exceed the 32 bits of the value", WITHIN)]),
    "bad_sign": ("", x("SIDE_TYPE_U32", ".side_integer = " + integer(4, ".signedness = 2,")), "",
                 [(ERROR, None, "the signedness 2 is unknown", "0 is unsigned, 1 is signed")]),
    "bad_order": ("", x("SIDE_TYPE_U32", ".side_integer = " +
                        integer(4, order=".byte_order = SIDE_ENUM_INIT((enum side_type_label_byte_order) 2)")), "",
                  [(ERROR, None, "the byte order 2 is unknown", BYTES)]),
    "bad_bool": ("", x("SIDE_TYPE_BOOL", f".side_bool = {{ .bool_size = 3, {ORDER} }}"), "",
                 [(ERROR, None, "a boolean cannot have 3 bytes", "give it 1, 2, 4 or 8")]),
    "bad_bool_bits": ("", x("SIDE_TYPE_BOOL", f".side_bool = {{ .bool_size = 1, .len_bits = 9, {ORDER} }}"), "",
                      [(ERROR, None, "9 bits from bit 0 on exceed the 8 bits of the value", WITHIN)]),
    "bad_float": ("", x("SIDE_TYPE_FLOAT_BINARY32", f".side_float = {{ .float_size = 10, {ORDER} }}"), "",
                  [(ERROR, None, "a float cannot have 10 bytes", "give it 2, 4, 8 or 16")]),
    "bad_string": ("", x("SIDE_TYPE_STRING_UTF8", f".side_string = {{ .unit_size = 3, {ORDER} }}"), "",
                   [(ERROR, None, "a string cannot have units of 3 bytes", "give them 1, 2 or 4")]),
    "bits_of_128": ("", x("SIDE_TYPE_U128", ".side_integer = " + integer(16, ".len_bits = 100,")), "",
                    [(ERROR, None, "a 128-bit integer cannot have 100 bits at bit 0",
                      "use an integer of at most 64 bits for that")]),
    "small_pointer": ("", x("SIDE_TYPE_POINTER", ".side_integer = " + integer(2)), "",
                      [(WARNING, "x", "a pointer of 2 bytes is described in a program whose pointers have 8",
                        "set its integer_size to sizeof(void *)")]),
    "signed_pointer": ("", x("SIDE_TYPE_POINTER", ".side_integer = " + integer(8, ".signedness = 1,")), "",
                       [(WARNING, "x", "a pointer is described as a signed number", "set its signedness to 0")]),
    # ---- compounds ----
    "cycle": ("static const struct side_type_struct cyc;"
              'static side_define_struct(cyc, side_field_list(side_field_struct("again", cyc)));',
              'side_field_struct("x", cyc)', "",
              [(ERROR, None, "types are nested more than 128 deep", "a type must not contain itself")]),
    "null_struct": ("", x("SIDE_TYPE_STRUCT"), "", [(ERROR, None, "a pointer is NULL", NOTHING)]),
    "null_array": ("", x("SIDE_TYPE_ARRAY"), "", [(ERROR, None, "a pointer is NULL", NOTHING)]),
    "null_vla": ("", x("SIDE_TYPE_VLA"), "", [(ERROR, None, "a pointer is NULL", NOTHING)]),
    "null_variant": ("", x("SIDE_TYPE_VARIANT"), "", [(ERROR, None, "a pointer is NULL", NOTHING)]),
    "null_optional": ("", x("SIDE_TYPE_OPTIONAL"), "", [(ERROR, None, "a pointer is NULL", NOTHING)]),
    "null_enum": ("", x("SIDE_TYPE_ENUM"), "", [(ERROR, None, "a pointer is NULL", NOTHING)]),
    "null_fields": ("static const struct side_type_struct nf = { .fields = { .length = 2 } };", 'side_field_struct("x", nf)', "",
                    [(ERROR, None, "a pointer is NULL", NOTHING)]),
    "absurd_fields": ("static const struct side_type_struct af = { .fields = { .elements = "
                      "SIDE_PTR_INIT((const struct side_event_field *)absurd), .length = 0xffffffff } };",
                      'side_field_struct("x", af)', "", [(ERROR, None, "", "")]),
    "huge_array": ("static side_define_array(hua, side_elem(side_type_u8()), 70000);", 'side_field_array("x", hua)', "",
                   [(ERROR, "x", "the array has 70000 elements, which is too many", "use at most 65536")]),
    "empty_array": ("static side_define_array(ea, side_elem(side_type_u8()), 0);", 'side_field_array("x", ea)', "",
                    [(WARNING, "x", "the array has no elements", "set its length, or describe a VLA")]),
    "no_element": ("static const struct side_type_array ne = { .length = 2 };",
                   x("SIDE_TYPE_ARRAY", ".side_array = SIDE_PTR_INIT(&ne)"), "", [(ERROR, None, "a pointer is NULL", NOTHING)]),
    "no_optional_element": ("static const struct side_type_optional noe = { .attributes = { .length = 0 } };",
                            x("SIDE_TYPE_OPTIONAL", ".side_optional = SIDE_PTR_INIT(&noe)"), "",
                            [(ERROR, None, "a pointer is NULL", NOTHING)]),
    "string_length": (*vla("sl", U8_SLOT := element("SIDE_TYPE_U8", ".side_integer = " + integer(1)),
                           element("SIDE_TYPE_STRING_UTF8", f".side_string = {{ .unit_size = 1, {ORDER} }}")), "",
                      [(ERROR, None, "STRING_UTF8 is not possible in the position of an integer", PLACE)]),
    "no_length": (*vla("nl", U8_SLOT, "SIDE_PTR_INIT(NULL)"), "", [(ERROR, None, "a pointer is NULL", NOTHING)]),
    "pointer_length": (*vla("pl", U8_SLOT, element("SIDE_TYPE_POINTER", ".side_integer = " + integer(8))), "",
                       [(ERROR, None, "POINTER is not possible in the position of an integer", PLACE)]),
    # ---- variants ----
    "options": (*variant("ov", "side_type_u8()", "side_option_range(0, 9, side_type_u8())", "side_option(9, side_type_u16())",
                         "side_option_range(4, 3, side_type_u8())"), "",
                [(WARNING, "x", "option 1 is never chosen: option 0, which comes first, has all of its selectors",
                  "put the narrower one first, or remove one"),
                 (ERROR, "x", "the range of option 2 ends (3) before it begins (4)", ENDS)]),
    "options_cross": (*variant("ocv", "side_type_u8()", "side_option_range(0, 9, side_type_u8())",
                               "side_option_range(9, 12, side_type_u16())"), "",
                      [(REMARK, "x", "options 0 and 1 have selectors in common; the first one is used",
                        "give each selector to one option")]),
    "options_all_cross": (*variant("oac", "side_type_u8()", *(f"side_option_range({i}, {i + 9}, side_type_u8())" for i in range(5))), "",
                          [(REMARK, "x", f"options 0 and {i} have selectors in common", "give each selector to one option")
                           for i in range(1, 5)]),
    "option_for_the_rest": (*variant("ofr", "side_type_u8()", "side_option(3, side_type_u8())", "side_option_range(5, 6, side_type_u8())",
                                     "side_option_range(INT64_MIN, INT64_MAX, side_type_null())"), "", []),
    "option_reach": (*variant("orv", "side_type_u8()", "side_option(256, side_type_u8())"), "",
                     [(REMARK, "x", "option 0 is outside of the range of the selector",
                       "use a wider selector, or a value in its range")]),
    "no_options": (*variant("nv", "side_type_u8()"), "",
                   [(ERROR, "x", "the variant has no options", "add one for each selector")]),
    "string_selector": (*variant("ssv", "side_type_string()", "side_option(1, side_type_u8())"), "",
                        [(ERROR, None, "STRING_UTF8 is not possible in the position of an integer", PLACE)]),
    # ---- enumerations and bitmaps ----
    "range": (*enum("re", "side_type_u8()", 'side_enum_mapping_range("r", 5, 4)'), "",
              [(ERROR, "x", "the range of label 0 ends (4) before it begins (5)", ENDS)]),
    "reach": (*enum("rc", "side_type_u8()", value("a", 255), value("b", 256), 'side_enum_mapping_range("", -9, -1)'), "",
              [(REMARK, "x", "label 1 (256 to 256) is outside of the range of its integer",
                "use a wider integer, or a value in its range"),
               (WARNING, "x", "label 2 is empty", "give it a text that people can read"),
               (REMARK, "x", "label 2 (-9 to -1) is outside of the range of its integer",
                "use a wider integer, or a value in its range")]),
    "crossing": (*enum("ce", "side_type_u8()", 'side_enum_mapping_range("low", 0, 10)',
                       'side_enum_mapping_range("high", 10, 20)', value("within", 10)), "",
                 [(REMARK, "x", "labels 0 and 1 share the values 10 to 10", "end the one before the other begins")]),
    # One for each label, not one for each pair.
    "all_cross": (*enum("ace", "side_type_u8()", *(f'side_enum_mapping_range("l{i}", {i}, {i + 9})' for i in range(5))), "",
                  [(REMARK, "x", f"labels 0 and {i} share the values {i} to 9", "end the one before the other begins")
                   for i in range(1, 5)]),
    "same_label": (*enum("se", "side_type_u8()", value("one", 1), value("two", 2), value("one", 3)), "",
                   [(REMARK, "x", "labels 0 and 2 have the same text", "give each a text of its own, or one range to both")]),
    "latin_label": (*enum("le", "side_type_u8()", value(r"\xe4", 1)), "", [(WARNING, "x", "label 0 is not UTF-8", UTF8_UNITS)]),
    "no_labels": (*enum("nle", "side_type_u8()"), "",
                  [(WARNING, "x", "the enumeration has no labels", "add some, or describe an integer")]),
    "null_label": (*labelled("nul", raw("NULL")), "", [(ERROR, None, "a label is NULL", TEXT)]),
    "label_units": (*labelled("lun", raw('"l"', 3)), "", [(ERROR, None, "a string has units of 3 bytes, not 1, 2 or 4", UNITS)]),
    "label_order": (*labelled("lor", raw('"l"', 1, 2)), "", [(ERROR, None, "a label has the unknown byte order 2", BYTES)]),
    "enum_of_float": (*enum("eof", "side_type_float_binary32()", value("a", 1)), "",
                      [(ERROR, None, "FLOAT_BINARY32 is not possible in the position of an integer", PLACE)]),
    "bits": (*bitmap("bi", "side_type_u8()", bit("a", 7), 'side_enum_bitmap_mapping_range("b", 8, 9)'), "",
             [(REMARK, "x", "label 1 begins at bit 8, but the integer has 8 bits", "use a wider integer, or a bit that it has")]),
    "bit_range": (*bitmap("br", "side_type_u8()", 'side_enum_bitmap_mapping_range("b", 6, 5)'), "",
                  [(ERROR, "x", "the range of label 0 ends (5) before it begins (6)", ENDS)]),
    "same_bit": (*bitmap("sb", "side_type_u8()", bit("a", 1), bit("a", 2)), "",
                 [(REMARK, "x", "labels 0 and 1 have the same text", "give each a text of its own, or one range to both")]),
    "no_bits": (*bitmap("nb", "side_type_u8()"), "",
                [(WARNING, "x", "the bitmap has no labels", "add some, or describe an integer")]),
    "signed_bits": (*bitmap("sib", "side_type_s8()", bit("a", 1)), "",
                    [(ERROR, None, "S8 is not possible in a bitmap (BYTE, U8 to U128, ARRAY or VLA of these)", PLACE)]),
    "array_of_bool": ("static side_define_array(aob_a, side_elem(side_type_bool()), 2);" +
                      bitmap("aob", "side_type_array(aob_a)", bit("a", 1))[0],
                      bitmap("aob", "side_type_array(aob_a)", bit("a", 1))[1], "",
                      [(ERROR, None, "BOOL is not possible in an item of a bitmap (BYTE, U8 to U128)", PLACE)]),
    # ---- attributes ----
    "base": ("", 'side_field_u8("x", side_attr_list(side_attr("std.integer.base", side_attr_u8(7))))', "",
             [(WARNING, "x", "its attribute std.integer.base is 7, not 2, 8, 10 or 16", "make it one of these")]),
    "base_text": ("", 'side_field_u8("x", side_attr_list(side_attr("std.integer.base", side_attr_string("16"))))', "",
                  [(WARNING, "x", "its attribute std.integer.base is not an integer", "make it 2, 8, 10 or 16")]),
    "attributes": ("", 'side_field_u8("x")',
                   'side_attr_list(side_attr("a", side_attr_u8(7)), side_attr("a", side_attr_u8(8)), '
                   'side_attr("", side_attr_u8(8)))',
                   [(REMARK, "", "attribute 1 has the name of attribute 0, which is used instead",
                     "give it a name of its own"),
                    (WARNING, "", "the name of attribute 2 is empty", NAME)]),
    "null_list": ("", x("SIDE_TYPE_NULL", ".side_null = { .attributes = { .length = 3 } }"), "",
                  [(ERROR, None, "a pointer is NULL", NOTHING)]),
    "absurd_count": ("", x("SIDE_TYPE_NULL", ".side_null = { .attributes = { .elements = "
                                             "SIDE_PTR_INIT((const struct side_attr *)absurd), .length = 0xffffffff } }"), "",
                     [(ERROR, None, "", "")]),
    "null_key": (*attributed("nk", raw("NULL"), "SIDE_ATTR_TYPE_NULL", ".bool_value = 0"), "",
                 [(ERROR, None, "the key of an attribute is NULL", TEXT)]),
    "latin_key": (*attributed("lk", raw(r'"\xe4"'), "SIDE_ATTR_TYPE_NULL", ".bool_value = 0"), "",
                  [(WARNING, "x", "the name of attribute 0 is not UTF-8", UTF8_UNITS)]),
    "key_units": (*attributed("ku", raw('"k"', 5), "SIDE_ATTR_TYPE_NULL", ".bool_value = 0"), "",
                  [(ERROR, None, "a string has units of 5 bytes, not 1, 2 or 4", UNITS)]),
    "key_order": (*attributed("ko", raw('"k"', 1, 7), "SIDE_ATTR_TYPE_NULL", ".bool_value = 0"), "",
                  [(ERROR, None, "the key of an attribute has the unknown byte order 7", BYTES)]),
    "attribute_type": (*attributed("at", raw('"k"'), 17, ".bool_value = 0"), "",
                       [(ERROR, None, "the attribute type 17 is unknown",
                         "use a type of enum side_attr_type, or a newer libside")]),
    "attribute_bool": (*attributed("ab", raw('"k"'), "SIDE_ATTR_TYPE_BOOL", ".bool_value = 2"), "",
                       [(WARNING, "x", "attribute 0 is a boolean of 2", "make it 0 or 1")]),
    "attribute_null": (*attributed("an", raw('"k"'), "SIDE_ATTR_TYPE_STRING", ".string_value = " + raw("NULL")), "",
                       [(WARNING, "x", "the string value of attribute 0 is NULL", TEXT)]),
    "attribute_latin": (*attributed("al", raw('"k"'), "SIDE_ATTR_TYPE_STRING", ".string_value = " + raw(r'"\xe4"')), "",
                        [(WARNING, "x", "the string value of attribute 0 is not UTF-8", UTF8_UNITS)]),
    "attribute_units": (*attributed("au", raw('"k"'), "SIDE_ATTR_TYPE_STRING", ".string_value = " + raw('"v"', 0)), "",
                        [(ERROR, None, "a string has units of 0 bytes, not 1, 2 or 4", UNITS)]),
    # ---- gathered values ----
    "offset": ("", f'side_field_gather_byte("x", 0x123456789abc, {DIRECT})', "",
               [(ERROR, "x", "the offset 0x123456789abc is too large", "give the offset of the member, in bytes")]),
    "gather_3": ("", f'side_field_gather_unsigned_integer("x", 0, 3, 0, 0, {DIRECT})', "",
                 [(ERROR, None, "an integer cannot have 3 bytes", SIZES)]),
    "gather_5": ("", f'side_field_gather_signed_integer("x", 0, 5, 0, 0, {DIRECT})', "",
                 [(ERROR, None, "an integer cannot have 5 bytes", SIZES)]),
    "gather_bits": ("", f'side_field_gather_unsigned_integer("x", 0, 4, 33, 0, {DIRECT})', "",
                    [(ERROR, None, "32 bits from bit 33 on exceed the 32 bits of the value", WITHIN)]),
    "gather_more_bits": ("", f'side_field_gather_unsigned_integer("x", 0, 4, 30, 3, {DIRECT})', "",
                         [(ERROR, None, "3 bits from bit 30 on exceed the 32 bits of the value", WITHIN)]),
    "gather_bool_bits": ("", f'side_field_gather_bool("x", 0, 1, 7, 2, {DIRECT})', "",
                         [(ERROR, None, "2 bits from bit 7 on exceed the 8 bits of the value", WITHIN)]),
    "gather_bool_size": ("", f'side_field_gather_bool("x", 0, 16, 0, 0, {DIRECT})', "",
                         [(ERROR, None, "a boolean cannot have 16 bytes", "give it 1, 2, 4 or 8")]),
    "gather_float_size": ("", f'side_field_gather_float("x", 0, 3, {DIRECT})', "",
                          [(ERROR, None, "a float cannot have 3 bytes", "give it 2, 4, 8 or 16")]),
    "gather_string_unit": ("", x("SIDE_TYPE_GATHER_STRING", gathered("side_string", type=f"{{ .unit_size = 8, {ORDER} }}")), "",
                           [(ERROR, None, "a string cannot have units of 8 bytes", "give them 1, 2 or 4")]),
    "gather_pointer_size": ("", x("SIDE_TYPE_GATHER_POINTER", gathered("side_integer", type=integer(4))), "",
                            [(WARNING, "x", "a pointer of 4 bytes is described in a program whose pointers have 8",
                              "set its integer_size to sizeof(void *)")]),
    "gather_pointer_sign": ("", x("SIDE_TYPE_GATHER_POINTER", gathered("side_integer", type=integer(8, ".signedness = 1,"))), "",
                            [(WARNING, "x", "a pointer is described as a signed number", "set its signedness to 0")]),
    "mode_integer": ("", x("SIDE_TYPE_GATHER_INTEGER", gathered("side_integer", 2, type=integer(4))), "",
                     [(ERROR, None, "the access mode 2 is unknown", MODES)]),
    "mode_bool": ("", x("SIDE_TYPE_GATHER_BOOL", gathered("side_bool", 2, type=f"{{ .bool_size = 1, {ORDER} }}")), "",
                  [(ERROR, None, "the access mode 2 is unknown", MODES)]),
    "mode_byte": ("", x("SIDE_TYPE_GATHER_BYTE", gathered("side_byte", 255)), "",
                  [(ERROR, None, "the access mode 255 is unknown", MODES)]),
    "mode_float": ("", x("SIDE_TYPE_GATHER_FLOAT", gathered("side_float", 2, type=f"{{ .float_size = 4, {ORDER} }}")), "",
                   [(ERROR, None, "the access mode 2 is unknown", MODES)]),
    "mode_string": ("", x("SIDE_TYPE_GATHER_STRING", gathered("side_string", 2, type=f"{{ .unit_size = 1, {ORDER} }}")), "",
                    [(ERROR, None, "the access mode 2 is unknown", MODES)]),
    "mode_struct": ('static side_define_struct(ms, side_field_list(side_field_gather_byte("m", 0, %s)));' % DIRECT,
                    x("SIDE_TYPE_GATHER_STRUCT", gathered("side_struct", 2, more=".size = 1,", type="SIDE_PTR_INIT(&ms)")), "",
                    [(ERROR, None, "the access mode 2 is unknown", MODES)]),
    "mode_array": ("", x("SIDE_TYPE_GATHER_ARRAY", gathered("side_array", 2, type="{ .elem_type = " +
                         element("SIDE_TYPE_GATHER_BYTE", gathered("side_byte")) + ", .length = 1 }")), "",
                   [(ERROR, None, "the access mode 2 is unknown", MODES)]),
    "mode_vla": ("", x("SIDE_TYPE_GATHER_VLA", gathered("side_vla", 2, type="{ .elem_type = " +
                       element("SIDE_TYPE_GATHER_BYTE", gathered("side_byte")) + ", .length_type = " +
                       element("SIDE_TYPE_GATHER_INTEGER", gathered("side_integer", type=integer(4))) + " }")), "",
                 [(ERROR, None, "the access mode 2 is unknown", MODES)]),
    "gather_outside": ('static side_define_struct(go, side_field_list(side_field_gather_byte("in", 3, %s), '
                       'side_field_gather_unsigned_integer("out", 2, 4, 0, 0, %s)));' % (DIRECT, DIRECT),
                       f'side_field_gather_struct("x", go, 0, 4, {DIRECT})', "",
                       [(WARNING, "x", "its member out ends at byte 6, after the 4 bytes of the structure",
                         "give the size of the structure in memory, or correct the offset")]),
    # Text without a limit is read from the end of the structure at the latest.
    "gather_open_text": ('static side_define_struct(got, side_field_list(side_field_gather_byte("in", 3, %s), '
                         'side_field_gather_string("text", 4, %s)));' % (DIRECT, DIRECT),
                         f'side_field_gather_struct("x", got, 0, 4, {DIRECT})', "", []),
    "gather_lost_text": ('static side_define_struct(glt, side_field_list(side_field_gather_string("text", 5, %s)));' % DIRECT,
                         f'side_field_gather_struct("x", glt, 0, 4, {DIRECT})', "",
                         [(WARNING, "x", "its member text ends at byte 6, after the 4 bytes of the structure",
                           "give the size of the structure in memory, or correct the offset")]),
    "gather_mixed": ('static side_define_struct(gm, side_field_list(side_field_u8("m")));',
                     f'side_field_gather_struct("x", gm, 0, 4, {DIRECT})', "",
                     [(ERROR, None, "U8 is not possible in a gather struct (gather types only)", PLACE)]),
    "gather_null_struct": ("", x("SIDE_TYPE_GATHER_STRUCT", gathered("side_struct")), "",
                           [(ERROR, None, "a pointer is NULL", NOTHING)]),
    "gather_huge": ("", f'side_field_gather_array("x", side_elem(side_type_gather_byte(0, {DIRECT})), 20000000, 0, {DIRECT})', "",
                    [(ERROR, "x", "the array has 20000000 elements, which is too many", "use at most 16777216")]),
    "gather_none": ("", f'side_field_gather_array("x", side_elem(side_type_gather_byte(0, {DIRECT})), 0, 0, {DIRECT})', "",
                    [(WARNING, "x", "the array has no elements", "set its length, or describe a VLA")]),
    "gather_length": ("", f'side_field_gather_vla("x", side_elem(side_type_gather_byte(0, {DIRECT})), 0, {DIRECT}, '
                          f'side_length(side_type_gather_string(0, {DIRECT})))', "",
                      [(ERROR, None, "GATHER_STRING is not possible in the position of a gather integer", PLACE)]),
    "gather_vla_within": ("", f'side_field_gather_array("x", side_elem(side_type_gather_vla(side_elem(side_type_gather_byte(0, '
                              f'{DIRECT})), 0, {DIRECT}, side_length(side_type_gather_unsigned_integer(0, 4, 0, 0, {DIRECT})))), '
                              f'2, 0, {DIRECT})', "",
                          [(ERROR, None, "GATHER_VLA is not possible in a gather array or VLA (gather types except VLA)", PLACE)]),
    "gather_enum_of": ("static side_define_enum(geo, side_enum_mapping_list(%s));" % value("a", 1),
                       'side_field_gather_enum("x", geo, side_elem(side_type_u8()))', "",
                       [(ERROR, None, "U8 is not possible in the position of a gather integer", PLACE)]),
}

# Events themselves: which bytes are put where. Offsets in the description, or in the state.
NEWER = "use a newer libside"
WHOLE = {
    "no_state": ("{id}", 8, "<Q", 0, ERROR, "it has no state, so no tracer can enable it"),
    "lost_state": ("{id}", 8, "<Q", 0x10, ERROR, "its state cannot be read"),
    "foreign_state": ("side_event_state__{id}", 24, "<Q", 0x1234, ERROR, "its state belongs to another description (at 0x1234"),
    "enabled": ("side_event_state__{id}", 8, "<Q", 1, ERROR, "it is enabled although no tracer enabled it"),
    "state_version": ("side_event_state__{id}", 0, "<I", 7, ERROR, "its state has the unknown version 7"),
    "loglevel": ("{id}", 108, "<I", 8, ERROR, "the log level 8 is unknown; use a level up to DEBUG, which is 7"),
    "flags": ("{id}", 96, "<Q", 6, WARNING, "the flags 0x6 are unknown; set SIDE_EVENT_FLAG_VARIADIC or 0"),
    "labels": ("{id}", 104, "<H", 60, WARNING, "it was compiled with 60 types and 17 attribute types, of which 51 and 17 are known; "
               "use a newer libside, or set the numbers of its headers"),
    "fewer_labels": ("{id}", 104, "<H", 0, WARNING, "it declares 0 types, and has type 0 (NULL); "
                     "set nr_side_type_label to _NR_SIDE_TYPE_LABEL"),
    "fewer_attributes": ("{id}", 106, "<H", 0, WARNING, "it declares 0 types of attributes, and has type 2 (U8)"
                         "; set nr_side_attr_type to _NR_SIDE_ATTR_TYPE"),
    "size": ("{id}", 0, "<I", 120, WARNING, "the description has 120 bytes, not 112: it is newer, or damaged; set struct_size to "
             "the offset of its member end"),
    "too_short": ("{id}", 0, "<I", 100, ERROR, "the description has only 100 bytes; set struct_size to the offset of its member end"),
    "version": ("{id}", 4, "<I", 1, ERROR, "the description has version 1, only 0 is known; use a newer libside"),
    "no_provider": ("{id}", 24, "<Q", 0, ERROR, "the provider name is NULL"),
    "no_name": ("{id}", 40, "<Q", 0, ERROR, "the event name is NULL"),
    "lost_name": ("{id}", 40, "<Q", 0x10, ERROR, "the memory at 0x10"),
    "no_fields": ("{id}", 72, "<I", 3, ERROR, None),
    "no_attributes": ("{id}", 92, "<I", 3, ERROR, None),
}


def source():
    lines = ["#define SIDE_STATIC_CHECK_DISABLE", "#include <side/trace.h>",
             'static const char absurd[64] = "absurd";', "const void *use_absurd(void);",
             "const void *use_absurd(void) { return absurd; }"]
    for name, (before, fields, attributes, _) in CASES.items():
        more = f", {attributes}" if attributes else ""
        lines += [before, f'side_static_event({name}, "case", "{name}", SIDE_LOGLEVEL_INFO, side_field_list({fields}){more});']
    return "\n".join(lines) + "\n"
