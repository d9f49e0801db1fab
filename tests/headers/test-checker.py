# SPDX-License-Identifier: MIT
"""What the compile-time checks must reject, and similar code that they must accept.  The first line of
the compiler must be the message for the user: which event, which field, what was expected.

usage: test-checker.py gcc | g++ | clang | clang++, or one of them with a version (clang-19)
"""
import sys

import compilers as c

PRELUDE = r'''
#include <side/trace.h>
#define EVENT(id, ...) side_static_event(id, "p", #id, SIDE_LOGLEVEL_INFO, side_field_list(__VA_ARGS__))
struct node { int value; };
struct other { int value; };
static enum side_visitor_status visit(const struct side_tracer_visitor_ctx *ctx, struct node *node)
{
	(void) ctx; (void) node;
	return SIDE_VISITOR_STATUS_OK;
}
static enum side_visitor_status look(const struct side_tracer_visitor_ctx *ctx, const struct node *node)
{
	(void) ctx; (void) node;
	return SIDE_VISITOR_STATUS_OK;
}
static side_define_struct(st_pos, side_field_list(side_field_s32("row"), side_field_s32("col")));
static side_define_array(ar_rgb, side_elem(side_type_u8()), 3);
static side_define_array(ar_ar, side_elem(side_type_array(ar_rgb)), 1);
static side_define_vla(vl_path, side_elem(side_type_struct(st_pos)), side_length(side_type_u32()));
static side_define_vla(vl_vl, side_elem(side_type_vla(vl_path)), side_length(side_type_u32()));
static side_define_struct(st_vla, side_field_list(side_field_vla("v", vl_path)));
static side_define_array(ar_empty, side_elem(side_type_u8()), 0);
static side_define_array(ar_st, side_elem(side_type_struct(st_vla)), 2);
static side_define_optional(op_vla, side_elem(side_type_vla(vl_path)));
static side_define_optional(op_note, side_elem(side_type_string()));
static side_define_variant(va_piece, side_type_u8(), side_option_list(side_option(0, side_type_null()),
	side_option_range(1, 6, side_type_string()), side_option(7, side_type_struct(st_pos))));
static side_define_vla(vl_va, side_elem(side_type_variant(va_piece)), side_length(side_type_u32()));
static side_define_enum_bitmap(bi_a, side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value("a", 0)));
static side_define_enum(en_a, side_enum_mapping_list(side_enum_mapping_value("a", 0)));
side_define_static_vla_visitor(vv, side_elem(side_type_s32()), side_length(side_type_u32()), visit,
	struct node);
side_define_static_vla_visitor(vv_look, side_elem(side_type_s32()), side_length(side_type_u32()), look,
	const struct node);
EVENT(ev, side_field_u64("a"), side_field_string("b"));
EVENT(ev_int, side_field_int("a"));
EVENT(ev_none);
EVENT(ev_struct, side_field_struct("a", st_pos));
EVENT(ev_array, side_field_array("a", ar_rgb));
EVENT(ev_empty, side_field_array("a", ar_empty));
EVENT(ev_ar_st, side_field_array("a", ar_st));
EVENT(ev_op_vla, side_field_optional("a", op_vla));
EVENT(ev_ar_ar, side_field_array("a", ar_ar));
EVENT(ev_vla, side_field_vla("a", vl_path));
EVENT(ev_vl_vl, side_field_vla("a", vl_vl));
EVENT(ev_st_vla, side_field_struct("a", st_vla));
EVENT(ev_optional, side_field_optional("a", op_note));
EVENT(ev_literal, side_field_optional_literal("a", side_elem(side_type_u8())));
EVENT(ev_variant, side_field_variant("a", va_piece));
EVENT(ev_vl_va, side_field_vla("a", vl_va));
EVENT(ev_enum, side_field_enum("a", &en_a, side_elem(side_type_u8())));
EVENT(ev_visitor, side_field_vla_visitor("a", vv));
EVENT(ev_look, side_field_vla_visitor("a", vv_look));
EVENT(ev_gather, side_field_gather_float("a", 0, 4, SIDE_TYPE_GATHER_ACCESS_DIRECT));
EVENT(ev_dynamic, side_field_dynamic("a"));
EVENT(ev_deep, side_field_u8("a"), side_field_optional_literal("b", side_elem(side_type_struct(st_vla))));
EVENT(ev_string16, side_field_string16_be("a"));
side_static_event_variadic(ev_variadic, "p", "v", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u8("a")));
side_declare_event(ev_elsewhere);
void f(void);
'''


def call(event, *args, define=''):
    return 'void f(void) { %s side_event(%s, side_arg_list(%s)); }\n' % (define, event, ', '.join(args))


def vec(kind, name, *args):
    return 'side_arg_define_%s(%s, side_arg_list(%s)); ' % (kind, name, ', '.join(args))


S32, U8, STR = 'side_arg_s32(1)', 'side_arg_u8(1)', 'side_arg_string("x")'
POS = vec('struct', 's', S32, S32)
NODE = 'struct node n = {1}; struct other o = {1}; const struct node c = {1}; (void) n; (void) o; (void) c; '
GOOD = {
    'plain': call('ev', 'side_arg_u64(1)', STR),
    'declared elsewhere': call('ev_elsewhere', U8),
    'empty': call('ev_none'),
    'alias': call('ev_int', 'side_arg_int(1)'),
    'struct': call('ev_struct', 'side_arg_struct(s)', define=POS),
    'array': call('ev_array', 'side_arg_array(a)', define=vec('array', 'a', U8, U8, U8)),
    'array of arrays': call('ev_ar_ar', 'side_arg_array(b)', define=vec('array', 'a', U8, U8, U8) +
                            vec('array', 'b', 'side_arg_array(a)')),
    'vla': call('ev_vla', 'side_arg_vla(v)', define=POS + vec('vla', 'v', 'side_arg_struct(s)')),
    'empty vla': call('ev_vla', 'side_arg_vla(v)', define=vec('vla', 'v')),
    'empty vla in a vla': call('ev_vl_vl', 'side_arg_vla(w)', define=POS + vec('vla', 'v') +
                               vec('vla', 'u', 'side_arg_struct(s)') +
                               vec('vla', 'w', 'side_arg_vla(v)', 'side_arg_vla(u)')),
    'empty vla in a struct': call('ev_st_vla', 'side_arg_struct(s)', define=vec('vla', 'v') +
                                  vec('struct', 's', 'side_arg_vla(v)')),
    'optional': call('ev_optional', 'side_arg_optional(o)',
                     define='side_arg_define_optional(o, %s, 1);' % STR),
    'literal': call('ev_literal', 'side_arg_optional(o)', define='side_arg_define_optional(o, %s, 1);' % U8),
    'optional by a condition': 'extern volatile int there;\n' + call(
        'ev_literal', 'side_arg_optional(o)',
        define='side_arg_define_optional(o, %s, there ? SIDE_OPTIONAL_ENABLED : SIDE_OPTIONAL_DISABLED);' % U8),
    'variant': call('ev_variant', 'side_arg_variant(v)',
                    define='side_arg_define_variant(v, %s, %s);' % (U8, STR)),
    'variant null': call('ev_variant', 'side_arg_variant(v)',
                         define='side_arg_define_variant(v, %s, side_arg_null());' % U8),
    'variant struct': call('ev_variant', 'side_arg_variant(v)',
                           define=POS + 'side_arg_define_variant(v, %s, side_arg_struct(s));' % U8),
    'enum': call('ev_enum', U8),
    'visitor': call('ev_visitor', 'side_arg_vla_visitor(v)',
                    define=NODE + 'side_arg_define_vla_visitor(v, &n);'),
    'visitor that reads': call('ev_look', 'side_arg_vla_visitor(v)',
                               define=NODE + 'side_arg_define_vla_visitor(v, &n);'),
    'visitor that reads what is const': call('ev_look', 'side_arg_vla_visitor(v)',
                                             define=NODE + 'side_arg_define_vla_visitor(v, &c);'),
    'no elements': call('ev_empty', 'side_arg_array(a)', define=vec('array', 'a')),
    'empty vla in an optional': call('ev_op_vla', 'side_arg_optional(o)', define=vec('vla', 'v') +
                                     'side_arg_define_optional(o, side_arg_vla(v), 1);'),
    'empty vla in a struct in an array': call('ev_ar_st', 'side_arg_array(a)', define=vec('vla', 'v') + POS +
                                              vec('vla', 'w', 'side_arg_struct(s)') + vec('struct', 'x', 'side_arg_vla(v)') +
                                              vec('struct', 'y', 'side_arg_vla(w)') +
                                              vec('array', 'a', 'side_arg_struct(x)', 'side_arg_struct(y)')),
    'variants with different values in a vla': call(
        'ev_vl_va', 'side_arg_vla(w)', define='side_arg_define_variant(v, %s, %s); side_arg_define_variant(u, %s, '
        'side_arg_null()); ' % (U8, STR, U8) + vec('vla', 'w', 'side_arg_variant(v)', 'side_arg_variant(u)')),
    'raw vector': call('ev_struct', 'side_arg_struct(s)', define=vec('vec', 's', S32, S32)),
    'variadic': 'void f(void) { side_event_variadic(ev_variadic, side_arg_list(%s), side_arg_list()); }' % U8,
    'bitmaps of one name': 'EVENT(bits, side_field_u8("a"), side_field_enum_bitmap("a", &bi_a, side_elem(side_type_u8())), '
                           'side_field_enum_bitmap("a", &bi_a, side_elem(side_type_u8())), side_field_u8("b"));\n'
                           'static side_define_struct(ds, side_field_list(side_field_enum_bitmap("a", &bi_a, '
                           'side_elem(side_type_u8())), side_field_u8("a")));\n',
    'duplicates allowed': '#define SIDE_STATIC_CHECK_DISABLE_DUPLICATED_FIELDS\n'
                          'EVENT(d, side_field_u8("a"), side_field_u8("a"));\n'
                          '#undef SIDE_STATIC_CHECK_DISABLE_DUPLICATED_FIELDS\n',
}


def misfit(event, field, expected):
    return 'side: event %s, field "%s": expected %s' % (event, field, expected)


def described(event, kind, by):
    return misfit(event, 'a', 'side_arg_%s() as %s describes it' % (kind, by))


def miscalled(event, *fields, call='side_event'):
    return 'side: event %s: expected %s() with one argument for each field:%s' % (
        event, call, ''.join(' "%s"' % f for f in fields))


def unlisted(event, call='side_event'):
    return 'side: event %s: expected one side_arg_list(...) in %s()' % (event, call)


kind, compiler = c.chosen(sys.argv[1])
language = 'c++' if kind.endswith('++') else 'c'
MIXED = 'in expression: the elements of %s differ in type'
EMPTY = 'a field of %s has an empty name'
DUPLICATED = 'two fields of %s have the same name: '
NO_ARGUMENT = 'side: event %s: this is no side_arg_...(): 1'
IN_C99 = {MIXED: 'types_incompatible_in_', EMPTY: 'null_field_name_in_', DUPLICATED: 'duplicated_field_names_in_',
          unlisted('%s'): 'expected_one_side_arg_list_for_', unlisted('%s', 'side_event_variadic'):
          'expected_one_side_arg_list_for_', NO_ARGUMENT: 'no_side_arg_among_those_of_'}
# C code cannot determine which options a variant has: the compiler prints its own message.  C23
# cannot compare the value at all.
VARIANT_VALUE = {'gcc': "incompatible type for argument 1 of ‘side_event_args__ev_variant’",
                 'clang': "to parameter of incompatible type 'union side_expects__va_piece'"}.get(
    kind, described('ev_variant', 'variant', 'va_piece'))
UNCHECKED_IN_C23 = ('variant value',)
BAD = {
    'dynamic': (misfit('ev_dynamic', 'a', 'a side_arg_dynamic_...()'), call('ev_dynamic', U8)),
    'optional of an optional': (misfit('ev_deep', 'b', 'side_arg_optional() of side_arg_struct() as st_vla '
                                       'describes it'),
                                call('ev_deep', U8, 'side_arg_optional(o)',
                                     define=POS + 'side_arg_define_optional(o, side_arg_struct(s), 1);')),
    'state dump': (misfit('ev', 'a', 'side_arg_u64()'), 'void f(void) { side_statedump_event_call(ev, 0, '
                   'side_arg_list(%s, %s)); }' % (U8, STR)),
    'variadic with a wrong field': (misfit('ev_variadic', 'a', 'side_arg_u8()'), 'void f(void) { '
                                    'side_event_variadic(ev_variadic, side_arg_list(%s), side_arg_list()); }' % S32),
    'far field': (misfit('ev_wide', 'f39', 'side_arg_u8()'),
                  'EVENT(ev_wide, %s);\n' % ', '.join('side_field_u8("f%d")' % i for i in range(40)) +
                  call('ev_wide', *[U8] * 39, S32)),
    'type': (misfit('ev', 'b', 'side_arg_string()'), call('ev', 'side_arg_u64(1)', U8)),
    'alias type': (misfit('ev_int', 'a', 'side_arg_int()'), call('ev_int', S32)),
    'too few': (miscalled('ev', 'a', 'b'), call('ev', 'side_arg_u64(1)')),
    'none': (miscalled('ev', 'a', 'b'), call('ev')),
    'too many': (miscalled('ev', 'a', 'b'), call('ev', 'side_arg_u64(1)', STR, U8)),
    'some for none': (miscalled('ev_none'), call('ev_none', U8)),
    'order': (misfit('ev', 'a', 'side_arg_u64()'), call('ev', STR, 'side_arg_u64(1)')),
    'struct count': (described('ev_struct', 'struct', 'st_pos'), call('ev_struct', 'side_arg_struct(s)', define=vec('struct', 's', S32))),
    'struct member': (described('ev_struct', 'struct', 'st_pos'), call('ev_struct', 'side_arg_struct(s)',
                                        define=vec('struct', 's', S32, U8))),
    'array length': (described('ev_array', 'array', 'ar_rgb'), call('ev_array', 'side_arg_array(a)', define=vec('array', 'a', U8, U8))),
    'array empty': (described('ev_array', 'array', 'ar_rgb'), call('ev_array', 'side_arg_array(a)', define=vec('array', 'a'))),
    'array element': (described('ev_array', 'array', 'ar_rgb'), call('ev_array', 'side_arg_array(a)',
                                       define=vec('array', 'a', S32, S32, S32))),
    'array mixed': (MIXED % 'a', call(
        'ev_array', 'side_arg_array(a)', define=vec('array', 'a', U8, U8, S32))),
    'inner array length': (described('ev_ar_ar', 'array', 'ar_ar'), call('ev_ar_ar', 'side_arg_array(b)',
                                            define=vec('array', 'a', U8, U8) +
                                            vec('array', 'b', 'side_arg_array(a)'))),
    'vla element': (described('ev_vla', 'vla', 'vl_path'), call('ev_vla', 'side_arg_vla(v)', define=vec('vla', 'v', U8))),
    'vla mixed': (MIXED % 'v', call(
        'ev_vla', 'side_arg_vla(v)', define=POS + vec('vla', 'v', 'side_arg_struct(s)', U8))),
    'inner vla element': (described('ev_vl_vl', 'vla', 'vl_vl'), call('ev_vl_vl', 'side_arg_vla(w)', define=vec('vla', 'v', U8) +
                                           vec('vla', 'w', 'side_arg_vla(v)'))),
    'vla in a struct': (described('ev_st_vla', 'struct', 'st_vla'), call('ev_st_vla', 'side_arg_struct(s)', define=vec('vla', 'v', U8) +
                                          vec('struct', 's', 'side_arg_vla(v)'))),
    'optional': (described('ev_optional', 'optional', 'op_note'), call('ev_optional', 'side_arg_optional(o)',
                                     define='side_arg_define_optional(o, %s, 1);' % U8)),
    'literal': (misfit('ev_literal', 'a', 'side_arg_optional() of side_arg_u8()'), call('ev_literal', 'side_arg_optional(o)',
                                   define='side_arg_define_optional(o, %s, 1);' % STR)),
    'variant selector': (described('ev_variant', 'variant', 'va_piece'), call('ev_variant', 'side_arg_variant(v)',
                                            define='side_arg_define_variant(v, %s, %s);' % (S32, STR))),
    'variant value': (VARIANT_VALUE, call('ev_variant', 'side_arg_variant(v)',
                                         define='side_arg_define_variant(v, %s, %s);' % (U8, U8))),
    'inner variant selector': (described('ev_vl_va', 'vla', 'vl_va'), call('ev_vl_va', 'side_arg_vla(w)', define=(
        'side_arg_define_variant(v, %s, %s);' % (S32, STR)) + vec('vla', 'w', 'side_arg_variant(v)'))),
    'enum': (misfit('ev_enum', 'a', 'side_arg_u8()'), call('ev_enum', S32)),
    'visitor': (described('ev_visitor', 'vla_visitor', 'vv'), call('ev_visitor', 'side_arg_vla_visitor(v)',
                                   define=NODE + 'side_arg_define_vla_visitor(v, &o);')),
    'visitor of what is const': (described('ev_visitor', 'vla_visitor', 'vv'), call(
        'ev_visitor', 'side_arg_vla_visitor(v)', define=NODE + 'side_arg_define_vla_visitor(v, &c);')),
    'visitor that reads something else': (described('ev_look', 'vla_visitor', 'vv_look'), call(
        'ev_look', 'side_arg_vla_visitor(v)', define=NODE + 'side_arg_define_vla_visitor(v, &o);')),
    'gather': (misfit('ev_gather', 'a', 'side_arg_gather_float()'), 'void f(void) { int i = 0; side_event(ev_gather, '
               'side_arg_list(side_arg_gather_integer(&i))); }'),
    'string unit': (misfit('ev_string16', 'a', 'side_arg_string16()'), call('ev_string16', STR)),
    'variadic as plain': (miscalled('ev_variadic', 'a', call='side_event_variadic'), call('ev_variadic', U8)),
    'plain as variadic': (miscalled('ev', 'a', 'b'), 'void f(void) { side_event_variadic(ev, side_arg_list(side_arg_u64(1), %s), '
                          'side_arg_list()); }' % STR),
    'struct for array': (described('ev_array', 'array', 'ar_rgb'), call('ev_array', 'side_arg_array(s)', define=POS)),
    'unknown event': ('ev_unknown', call('ev_unknown', U8)),
    'unknown element': (misfit('ev_enum', 'a', 'side_arg_u8()'), call('ev_enum', 'side_arg_integer(1)')),
    'unknown element, far': (miscalled('ev', 'a', 'b'), call('ev', 'side_arg_integer(1)', *[STR] * 20)),
    'value': (misfit('ev_int', 'a', 'side_arg_int()'), call('ev_int', 'i', define='int i = 0;')),
    'literal value': (misfit('ev_int', 'a', 'side_arg_int()'), call('ev_int', '12')),
    'text': (misfit('ev', 'b', 'side_arg_string()'), call('ev', 'side_arg_u64(1)', '"x"')),
    'value in parentheses': (misfit('ev_int', 'a', 'side_arg_int()'), call('ev_int', '(1)')),
    'cast': (misfit('ev_int', 'a', 'side_arg_int()'), call('ev_int', '(int) 1')),
    'cast in parentheses': (misfit('ev_int', 'a', 'side_arg_int()'), call('ev_int', '((int) 1)')),
    'value to none': (miscalled('ev_none'), call('ev_none', '1')),
    'value to dynamic': (misfit('ev_dynamic', 'a', 'a side_arg_dynamic_...()'), call('ev_dynamic', '1')),
    'value elsewhere': (NO_ARGUMENT % 'ev_elsewhere', call('ev_elsewhere', '1')),
    'field for argument': (misfit('ev_int', 'a', 'side_arg_int()'), call('ev_int', 'side_field_int("a")')),
    'type for argument': (misfit('ev_int', 'a', 'side_arg_int()'), call('ev_int', 'side_type_int()')),
    'first forgotten': (misfit('ev', 'a', 'side_arg_u64()'), call('ev', '', STR)),
    'middle forgotten': (miscalled('ev', 'a', 'b'), call('ev', 'side_arg_u64(1)', '', STR)),
    'comma forgotten': (miscalled('ev', 'a', 'b'), call('ev', 'side_arg_u64(1) ' + STR)),
    'no list': (unlisted('ev_int'), 'void f(void) { side_event(ev_int, side_arg_int(1)); }'),
    'no list for two': (unlisted('ev'), 'void f(void) { side_event(ev, side_arg_u64(1), %s); }' % STR),
    'bare': (unlisted('ev_int'), 'void f(void) { side_event(ev_int, 1); }'),
    'nothing': (unlisted('ev'), 'void f(void) { side_event(ev); }'),
    'two lists': (unlisted('ev_int'), 'void f(void) { side_event(ev_int, side_arg_list(side_arg_int(1)), '
                  'side_arg_list(%s)); }' % U8),
    'no list, always': (unlisted('ev_int'), 'void f(void) { side_event_call(ev_int, side_arg_int(1)); }'),
    'no list, state dump': (unlisted('ev_int'), 'void f(void) { side_statedump_event(ev_int, 0, side_arg_int(1)); }'),
    'no list, variadic': (unlisted('ev_variadic', 'side_event_variadic'), 'void f(void) { '
                          'side_event_variadic(ev_variadic, %s, side_arg_list()); }' % U8),
    'value to variadic': (misfit('ev_variadic', 'a', 'side_arg_u8()'), 'void f(void) { '
                          'side_event_variadic(ev_variadic, side_arg_list(1), side_arg_list()); }'),
    'struct that was not defined': ('side_no_arg_define_for__n', call('ev_struct', 'side_arg_struct(n)', define='int n = 0;')),
    'address of a struct': ('side_no_arg_define_for__', call('ev_struct', 'side_arg_struct(&s)', define=POS)),
    'empty name': (EMPTY % 'd', 'EVENT(d, side_field_u8("a"), side_field_u8(""));\n'),
    'empty name of a bitmap': (EMPTY % 'd', 'EVENT(d, side_field_u8("a"), side_field_enum_bitmap("", &bi_a, '
                               'side_elem(side_type_u8())));\n'),
    'duplicate beside a bitmap': (DUPLICATED % 'd', 'EVENT(d, side_field_u8("a"), side_field_enum_bitmap("b", &bi_a, '
                                  'side_elem(side_type_u8())), side_field_u8("a"));\n'),
    'empty name in a struct': (EMPTY % 'd',
                               'static side_define_struct(d, side_field_list(side_field_u8("")));\n'),
    'duplicate in a struct': (DUPLICATED % 'd', 'static side_define_struct('
                              'd, side_field_list(side_field_u8("a"), side_field_s8("a")));\n'),
    'empty name, duplicates allowed': (EMPTY % 'd',
                                       '#define SIDE_STATIC_CHECK_DISABLE_DUPLICATED_FIELDS\n'
                                       'EVENT(d, side_field_u8(""));\n'),
}
OFFSET = '0, SIDE_TYPE_GATHER_ACCESS_DIRECT'
for field in ('side_field_u8("n")', 'side_field_enum("n", &en_a, side_elem(side_type_u8()))',
              'side_field_vla_visitor("n", vv)', 'side_field_struct("n", st_pos)',
              'side_field_gather_float_le("n", 0, 4, SIDE_TYPE_GATHER_ACCESS_DIRECT)',
              'side_field_gather_float_be("n", 0, 4, SIDE_TYPE_GATHER_ACCESS_DIRECT)',
              'side_field_gather_string16_le("n", %s)' % OFFSET,
              'side_field_gather_string32_be("n", %s)' % OFFSET, 'side_field_dynamic("n")',
              'side_field_variant("n", va_piece)', 'side_field_optional("n", op_note)'):
    BAD['duplicate ' + field.split('(')[0]] = (DUPLICATED % 'd',
                                               'EVENT(d, %s, side_field_u8("m"), side_field_u8("n"));\n' % field)
# Far apart, in another chunk of the lists.
BAD['duplicate far'] = (DUPLICATED % 'd', 'EVENT(d, %s, side_field_u8("f3"));\n' %
                        ', '.join('side_field_u8("f%d")' % i for i in range(40)))

if not compiler:
    sys.exit(77)
MODES = {'c': ['gnu11', 'c99', 'gnu2x'], 'c++': ['gnu++11', 'c++17', 'c++2b']}[language]
if c.LONG:
    MODES = c.C_MODES if language == 'c' else c.CXX_MODES


def accept(text, mode):
    def run():
        r = c.compile_text(compiler, language, PRELUDE + text, '-fsyntax-only', '-std=' + mode,
                           '-Wall', '-Wextra', '-Werror', '-Wno-unused')
        return r.stderr[:1500] if r.returncode else None
    return run


def reject(pattern, text, mode):
    def run():
        r = c.compile_text(compiler, language, PRELUDE + text, '-fsyntax-only', '-std=' + mode)
        if r.returncode == 0:
            return 'accepted: ' + text
        first = next((line for line in r.stderr.split('\n') if 'error:' in line), '')
        # Strict C99 has no assertion with a text: an identifier has the message.
        is_right = pattern in first or (mode == 'c99' and any(
            pattern == text % name and word + name in first
            for text, word in IN_C99.items() for name in ('a', 'd', 'v', 'ev', 'ev_int', 'ev_variadic', 'ev_elsewhere')))
        if not is_right:
            return 'the first error does not say "%s": %s' % (pattern, first)
    return run


jobs = []
if language == 'c++':
    GOOD['template'] = ('template <typename T> void g(T t) { side_event(ev_int, side_arg_list(side_arg_int((int) t))); }\n'
                        'template <typename T> struct in { void g(T t) { side_event(ev_int, side_arg_list('
                        'side_arg_int((int) t))); } };\nvoid f(void) { in<long>().g(1L); g(2L); }')
    # Clang's literals end with the expression, so it refuses them in a block.
    if kind == 'g++':
        GOOD['struct in a block'] = (
            'void f(void) { static side_define_struct(in_block, side_field_list(side_field_s32("row"), side_field_s32("col"))); '
            '(void) in_block; }\n')
if kind in ('gcc', 'g++'):
    BAD['duplicate in a block'] = (DUPLICATED % 'd', 'void f(void) { %sside_define_struct(d, side_field_list('
                                   'side_field_u8("a"), side_field_s8("a"))); (void) d; }\n' % ('static ' if language == 'c++' else ''))
# One accepted program with all valid calls, each in its own function.
for mode in MODES:
    text = ''
    for n, (name, good) in enumerate(GOOD.items()):
        text += good.replace('void f(void)', 'void f%d(void); void f%d(void)' % (n, n)) + '\n'
    jobs.append(('accepted ' + mode, accept(text, mode)))
for n, (name, (pattern, text)) in enumerate(BAD.items()):
    modes = [mode for mode in MODES if name not in UNCHECKED_IN_C23 or not mode.endswith('2x')]
    for mode in (modes if c.LONG else [modes[n % len(modes)]]):
        jobs.append((name + ' ' + mode, reject(pattern, text, mode)))
c.run_all(jobs)
