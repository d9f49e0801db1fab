/* SPDX-License-Identifier: MIT */
/*
 * SIDE: the static checker. It compares the arguments of a call with the fields of the event at
 * compile time, and generates no code. side/static-explain.h creates the first line of an error.
 * The signatures here check the remainder, and everything if the compiler does not support the
 * explanations.
 *
 * Each type of value has a class, a C type: "struct side_arg_u32 *" and so on. The class of a
 * compound is a pointer to a function type whose parameters are the classes of its members, because
 * function types are compared by structure. An event has a function side_event_args__ID without a
 * definition, with one parameter for each field; a call of the event calls it in an unevaluated
 * operand. In C the parameters are transparent unions ("union side_field_u32"): they accept exactly
 * the listed classes, and a mismatch is an error that names both. C++ compares the types with
 * templates.
 *
 * Detected: wrong type or number of arguments, of structure members, of elements, of the length of
 * an array, of a variant's selector and value, of an optional, of a visitor's context; elements of
 * different types in one array or VLA; a variadic event called as a plain one and the reverse;
 * empty and duplicate names.
 *
 * Not detectable at compile time: the byte order in which a value is passed, gather offsets and
 * sizes and the unit size of a gathered string (the argument is an untyped base pointer), the
 * content of dynamic values; and the arguments of an event that only another translation unit
 * defines (side_declare_event). In C only the selector of a variant inside another compound is
 * checked.
 *
 * Switches: SIDE_STATIC_CHECK_DISABLE before the first include turns the checker off.
 * SIDE_STATIC_CHECK_DISABLE_DUPLICATED_FIELDS, defined as nothing, turns the search for duplicate
 * names off for the definitions after it. SIDE_STATIC_CHECK_MAX_EVAL_LEVEL (2 to 10) is accepted
 * and has no effect: lists may have 1024 elements.
 */
#ifndef SIDE_STATIC_CHECK_H
#define SIDE_STATIC_CHECK_H

#pragma GCC system_header

#include <side/abi/type-argument.h>
#include <side/abi/type-description.h>
#include <side/abi/visitor.h>
#include <side/list.h>
#include <side/macros.h>

#ifdef SIDE_STATIC_CHECK_MAX_EVAL_LEVEL
#if SIDE_STATIC_CHECK_MAX_EVAL_LEVEL < 2 || SIDE_STATIC_CHECK_MAX_EVAL_LEVEL > 10
#error "side: SIDE_STATIC_CHECK_MAX_EVAL_LEVEL must be between 2 and 10"
#endif
#endif

/*
 * A class is "(type, text, parameter)": the type, the source text that produces it, and the parameter of
 * the event's function that accepts it.
 */
#define SIDE_CLASS(_class)                                                                         \
	(struct side_##_class *, "side_" #_class "()", union side_expects_##_class)
#define SIDE_CLASS_DYNAMIC                                                                         \
	(struct side_arg_dynamic_value *, "a side_arg_dynamic_...()",                              \
			union side_expects_arg_dynamic_value)
#define SIDE_CLASS_OF(_kind, _identifier)                                                          \
	(__typeof__(side_no_define_for__##_identifier) *,                                                  \
			"side_arg_" #_kind "() as " #_identifier " describes it",                  \
			union side_expects__##_identifier)
#define SIDE_CLASS_OF_ARG(_kind, _identifier) (__typeof__(side_no_arg_define_for__##_identifier) *, , )
/*
 * If the type is missing, or "&" precedes the identifier, the compiler's error names the type. The expression is
 * still a type then, so that few other errors follow.
 */
#define side_no_define_for__ sizeof
#define side_no_arg_define_for__ sizeof
#define SIDE_CLASS_TYPE(_class) SIDE_CLASS_TYPE_I _class
#define SIDE_CLASS_TYPE_I(_type, ...) _type
#define SIDE_CLASS_TEXT(_class) SIDE_CLASS_TEXT_I _class
#define SIDE_CLASS_TEXT_I(_type, _text, ...) _text

/* Class of the type "(class, initialiser)" in side_elem(). */
#define SIDE_CLASS_ELEM(_type) SIDE_CLASS_ELEM_I _type
#define SIDE_CLASS_ELEM_I(_class, ...) _class
#define SIDE_ELEM_TYPE(_type) SIDE_CLASS_TYPE(SIDE_CLASS_ELEM(_type))
#define SIDE_CLASS_OPTIONAL_LITERAL(_elem)                                                         \
	SIDE_CLASS_OPTIONAL(SIDE_ELEM_TYPE(_elem), SIDE_CLASS_TEXT(SIDE_CLASS_ELEM(_elem)))
#define SIDE_CLASS_OPTIONAL(_type, _text)                                                          \
	(struct side_optional *(*) (_type), "side_arg_optional() of " _text,                       \
			SIDE_EXPECTS(struct side_optional *(*side_arg_)(_type)))

/* Elements of lists. */
/*
 * The initialiser of a field is last, as "macro, (arguments)": a list is scanned many times, and a
 * macro that is not expanded yet is shorter than its expansion.
 */
#define SIDE_EL_FIELD(_class, _name, ...) (_class, _name, SIDE_AS_FIELD, (__VA_ARGS__))
#define SIDE_EL_FIELD_OF(_class, _name, _type, _attr) (_class, _name, _type, (_attr))
#define SIDE_AS_FIELD(...) __VA_ARGS__
/*
 * Names of enumeration bitmaps may repeat: the reference implementation does not compare them, and
 * sources that compile there compile here. readside --check warns about them.
 */
#define SIDE_EL_BITMAP_FIELD(_class, _name, ...) (_class, _name, SIDE_AS_BITMAP, (__VA_ARGS__))
#define SIDE_AS_BITMAP(...) __VA_ARGS__
#define SIDE_IS_BITMAP(_init) SIDE_IS_PAREN(SIDE_IS_##_init)
#define SIDE_IS_SIDE_AS_BITMAP ()
/* The name for comparison: a bitmap's name equals no other name. */
#define SIDE_COMPARED(_name, _init) _name SIDE_PASTE(SIDE_MARK_, SIDE_IS_BITMAP(_init))
#define SIDE_MARK_0
#define SIDE_MARK_1 "\2"
/* For bitmaps, the remaining check; for other fields, the check that follows. */
#define SIDE_UNLESS_BITMAP(_what, _name, _init)                                                    \
	SIDE_PASTE(SIDE_UNLESS_BITMAP_, SIDE_IS_BITMAP(_init))(_what, _name)
#define SIDE_UNLESS_BITMAP_0(_what, _name) SIDE_UNPAREN_LATER
#define SIDE_UNLESS_BITMAP_1(_what, _name) SIDE_NAMES_NOT_EMPTY(_what, sizeof(_name) > 1) SIDE_DROP
#define SIDE_UNPAREN_LATER(...) __VA_ARGS__
#define SIDE_DROP(...)
#define SIDE_EL_OPTION(_begin, _end, _type)                                                        \
	(SIDE_CLASS_ELEM(_type), _begin, _end, SIDE_TYPE_INIT(_type))
/* An argument as an expression; its left operand has the class. */
#define SIDE_EL_ARG(_class, ...) ((void) (SIDE_CLASS_TYPE(_class)) 0, __VA_ARGS__)

/* The functions of the maps: (context, index, element). */
#define SIDE_FIELD_TYPE_I(_class, ...) SIDE_CLASS_TYPE(_class),
#define SIDE_FIELD_NAME_I(_class, _name, ...) _name
#define SIDE_FIELD_COMPARED_I(_class, _name, _init, ...) SIDE_COMPARED(_name, _init)
#define SIDE_FIELD_IS_BITMAP_I(_class, _name, _init, ...) SIDE_IS_BITMAP(_init)

/*
 * Several checks scan the fields, and a map copies its list often. So one map creates a chain,
 * which is scanned without a copy: "(1)(owner, index, name, type, text, parameter, initialiser)"
 * for each field, one after the other, and "(0)". The macros SIDE_EACH_... process it: their 1
 * leaves a text and the name for the next field. That name is outside of the macro, so it expands
 * again.
 */
/* The list itself, for the last step: each step copies its parameters, which costs time. */
#if !defined(__cplusplus) && !defined(__clang__)
#define SIDE_STRUCT_LIST(_fields) _fields
#else
#define SIDE_STRUCT_LIST(_fields)
#endif
#if SIDE_HAVE_SDT || !(defined(__cplusplus) || defined(__clang__) || __GNUC__ >= 12)
#define SIDE_EVENT_LIST(_fields) _fields
#else
#define SIDE_EVENT_LIST(_fields)
#endif
#define SIDE_FIELDS_CHAIN(_owner, _fields)                                                         \
	SIDE_MAP(SIDE_DO_FIELD_CHAIN, _owner, SIDE_UNPAREN _fields)(0)
#define SIDE_DO_FIELD_CHAIN(_owner, _i, _field) (1)(_owner, _i, SIDE_FIELD_CHAIN_I _field)
#define SIDE_FIELD_CHAIN_I(_class, _name, ...) _name, SIDE_UNPAREN _class, __VA_ARGS__

/* The initialisers of the fields, each with a comma after it. */
#define SIDE_EACH_INIT(_more) SIDE_EACH_INIT_##_more
#define SIDE_EACH_INIT_1(_owner, _i, _name, _type, _text, _param, _init, ...)                      \
	_side_field(_name, _init __VA_ARGS__), SIDE_EACH_INIT
#define SIDE_EACH_INIT_0

/* The types of the fields, each with a comma after it. */
#define SIDE_EACH_TYPES(_more) SIDE_EACH_TYPES_##_more
#define SIDE_EACH_TYPES_1(_owner, _i, _name, _type, ...) _type, SIDE_EACH_TYPES
#define SIDE_EACH_TYPES_0

/* Expand a chain to nothing. */
#define SIDE_EACH_SKIP(_more) SIDE_EACH_SKIP_##_more
#define SIDE_EACH_SKIP_1(...) SIDE_EACH_SKIP
#define SIDE_EACH_SKIP_0

/*
 * Arguments in the same form: "(1)(expression of the class, index)"; the user of the chain chooses
 * its end. Text that is not an argument is put after the name of a macro that found nothing to
 * split, instead of 1.
 */
#define SIDE_CHECK_CALL(_identifier, _flags, _chain)                                               \
	SIDE_CALL_BEGIN(_identifier) SIDE_EACH_TWO _chain SIDE_CALL_CHOOSE(_identifier, _flags)    \
	SIDE_EACH_FITTED _chain                                                                    \
	SIDE_PASSED_BEGIN(_identifier) SIDE_EACH_PASSED _chain SIDE_PASSED_END(_identifier, _flags)
#define SIDE_EXPLAIN_CALL(_identifier, _flags, _chain)                                             \
	SIDE_CALL_BEGIN(_identifier) SIDE_EACH_TWO _chain SIDE_CALL_CHOOSE(_identifier, _flags)    \
	SIDE_EACH_FITTED _chain
#define SIDE_ARGS_CHAIN(_args) SIDE_MAP(SIDE_DO_ARG_CHAIN, , SIDE_UNPAREN _args)
#define SIDE_DO_ARG_CHAIN(_ctx, _i, _arg) (SIDE_ARG_CHAIN_I _arg, _i)
#define SIDE_ARG_CHAIN_I(_class, ...) SIDE_ARG_LEAD _class
#define SIDE_ARG_LEAD(...) SIDE_LEAD_##__VA_ARGS__
#define SIDE_LEAD_void 1)(

/* Whether all elements are arguments. A verdict follows the chain, which ends with "(9)". */
#define SIDE_EACH_RIGHT(...) SIDE_EACH_RIGHT_I(__VA_ARGS__, )
#define SIDE_EACH_RIGHT_I(_more, ...) SIDE_EACH_RIGHT_##_more
#define SIDE_EACH_RIGHT_1(...) SIDE_EACH_RIGHT
#define SIDE_EACH_RIGHT_9 , SIDE_ALONE

/*
 * A call: checks, and then "_emit(_identifier, _with, list)". The scan reaches the end only if all elements are
 * arguments. Nothing may follow there, because there is one list of them.
 */
#define SIDE_CHECKED_CALL(_emit, _flags, _with, _identifier, _sav, _none, ...)                     \
	SIDE_CHECKED_CALL_I(                                                                       \
			_emit, _flags, _with, _identifier, _sav, _none, SIDE_ARGS_CHAIN(_sav))
#define SIDE_CHECKED_CALL_I(_emit, _flags, _with, _identifier, _sav, _none, _chain)                \
	do {                                                                                       \
		SIDE_JUDGE(SIDE_EACH_RIGHT _chain(9) _none, SIDE_WRONG, )                          \
		(_emit, _flags, _with, _identifier, _sav, _none, _chain)                           \
	} while (0)
#define SIDE_JUDGE(...) SIDE_JUDGE_I(__VA_ARGS__)
#define SIDE_JUDGE_I(_before, _verdict, ...) SIDE_CALL_IS_##_verdict
#define SIDE_ALONE(...) SIDE_WRONG
#define SIDE_CALL_IS_SIDE_ALONE(_emit, _flags, _with, _identifier, _sav, _none, _chain)            \
	SIDE_CHECK_CALL(_identifier, _flags, _chain(0)) _emit(_identifier, _with, _sav)

/*
 * A call with something other than arguments: the same sentences as for arguments that do not fit,
 * then the text that was found, and nothing that could cause another error.
 */
struct side_no_argument;
#define SIDE_CALL_IS_SIDE_WRONG(_emit, _flags, _with, _identifier, _sav, _none, _chain)            \
	SIDE_WRONG_CALL(SIDE_IS_PAREN(_sav), SIDE_IS_ARG(_sav), SIDE_IS_PAREN(_none))              \
	(_flags, _identifier, _sav)
#define SIDE_WRONG_CALL(_paren, _arg, _more) SIDE_WRONG_CALL_I(_paren, _arg, _more)
#define SIDE_WRONG_CALL_I(_paren, _arg, _more) SIDE_WRONG_CALL_##_paren##_arg##_more
#define SIDE_WRONG_CALL_000 SIDE_NO_LIST
#define SIDE_WRONG_CALL_001 SIDE_NO_LIST
#define SIDE_WRONG_CALL_101 SIDE_NO_LIST
#define SIDE_WRONG_CALL_110 SIDE_NO_LIST
#define SIDE_WRONG_CALL_111 SIDE_NO_LIST
#define SIDE_NO_LIST(_flags, _identifier, ...)                                                     \
	side_static_assert(0,                                                                      \
			"side: event " #_identifier ": expected one side_arg_list(...) in "        \
			SIDE_PASTE(SIDE_KIND_TEXT_, _flags),                                       \
			expected_one_side_arg_list_for_##_identifier);
#define SIDE_WRONG_CALL_100(_flags, _identifier, _sav)                                             \
	SIDE_EXPLAIN_CALL(_identifier, _flags,                                                     \
			SIDE_MAP(SIDE_DO_WRONG_CHAIN, , SIDE_UNPAREN _sav)(0))                     \
	SIDE_MAP(SIDE_DO_WRONG_REPORT, _identifier, SIDE_UNPAREN _sav)
#define SIDE_DO_WRONG_CHAIN(_ctx, _i, _arg)                                                        \
	(1)(SIDE_PASTE(SIDE_WRONG_CLASS_, SIDE_IS_ARG(_arg))(_arg), _i)
#define SIDE_WRONG_CLASS_0(...) (struct side_no_argument *) 0
#define SIDE_WRONG_CLASS_1(_arg) SIDE_ARG_CLASS(_arg)
#define SIDE_DO_WRONG_REPORT(_identifier, _i, _arg)                                                \
	SIDE_PASTE(SIDE_WRONG_REPORT_, SIDE_IS_ARG(_arg))(_identifier, _arg)
#define SIDE_WRONG_REPORT_0(_identifier, ...)                                                      \
	side_static_assert(0,                                                                      \
			"side: event " #_identifier ": this is no side_arg_...(): " #__VA_ARGS__,  \
			no_side_arg_among_those_of_##_identifier);
#define SIDE_WRONG_REPORT_1(...)
/* An argument is "((void) ...)", a list of them "(((void) ...))", a field or a type "((struct ...))". */
#define SIDE_IS_ARG(_arg) SIDE_SECOND(SIDE_FIND_CLASS _arg, 0, )
#define SIDE_FIND_CLASS(_class, ...) SIDE_FIND_VOID _class
#define SIDE_FIND_VOID(...) SIDE_FIND_VOID_I(SIDE_HEAD(__VA_ARGS__))
#define SIDE_FIND_VOID_I(_class) SIDE_PASTE(SIDE_FOUND_PAREN_, SIDE_IS_PAREN(_class))(_class)
#define SIDE_FOUND_PAREN_0(_class) SIDE_FOUND_##_class
#define SIDE_FOUND_PAREN_1(...)
#define SIDE_FOUND_void ~, 1,
#define SIDE_KIND_TEXT_0 "side_event()"
#define SIDE_KIND_TEXT_SIDE_EVENT_FLAG_VARIADIC "side_event_variadic()"
#define SIDE_DO_OPTION_INIT(_ctx, _i, _option) SIDE_OPTION_INIT_I _option
#define SIDE_OPTION_INIT_I(_class, ...) _side_option_range(__VA_ARGS__),
#define SIDE_DO_OPTION_TYPE(_ctx, _i, _option) SIDE_FIELD_TYPE_I _option

/* "(void) (type) 0, make" of an argument: the expression "(type) 0", and its type. */
#define SIDE_DROP_VOID(...)
#define SIDE_ARG_CLASS(_arg) SIDE_ARG_CLASS_I _arg
#define SIDE_ARG_CLASS_I(_class, ...) SIDE_DROP_VOID _class
#define SIDE_ARG_TYPE(_arg) __typeof__(SIDE_ARG_CLASS(_arg))
#define SIDE_DO_ARG_TYPE(_ctx, _i, _arg) SIDE_ARG_TYPE(_arg),

#define SIDE_LIST(_list) SIDE_UNPAREN _list
#define SIDE_MAP_LIST(_m, _ctx, _list) SIDE_MAP(_m, _ctx, SIDE_UNPAREN _list)
#define SIDE_OPTIONS_INIT(_options) (SIDE_MAP_LIST(SIDE_DO_OPTION_INIT, , _options))
#define SIDE_ARG_TYPES(_args) SIDE_MAP_LIST(SIDE_DO_ARG_TYPE, , _args)

#define SIDE_FILE_LINE " <" __FILE__ ":" SIDE_STR(__LINE__) ">: "

/* Classes */

struct side_arg_null;
struct side_arg_bool;
struct side_arg_byte;
struct side_arg_u8;
struct side_arg_u16;
struct side_arg_u32;
struct side_arg_u64;
struct side_arg_u128;
struct side_arg_s8;
struct side_arg_s16;
struct side_arg_s32;
struct side_arg_s64;
struct side_arg_s128;
struct side_arg_pointer;
struct side_arg_float_binary16;
struct side_arg_float_binary32;
struct side_arg_float_binary64;
struct side_arg_float_binary128;
struct side_arg_string;
struct side_arg_string16;
struct side_arg_string32;
struct side_arg_char;
struct side_arg_schar;
struct side_arg_uchar;
struct side_arg_short;
struct side_arg_ushort;
struct side_arg_int;
struct side_arg_uint;
struct side_arg_long;
struct side_arg_ulong;
struct side_arg_long_long;
struct side_arg_ulong_long;
struct side_arg_float;
struct side_arg_double;
struct side_arg_long_double;
struct side_arg_dynamic_value;
struct side_arg_gather_byte;
struct side_arg_gather_bool;
struct side_arg_gather_integer;
struct side_arg_gather_pointer;
struct side_arg_gather_float;
struct side_arg_gather_string;
struct side_arg_gather_struct;
struct side_arg_gather_array;
struct side_arg_gather_vla;
struct side_struct;
struct side_array;
struct side_vla;
struct side_optional;
struct side_variant;
struct side_vla_visitor;
struct side_any_vec;          /* made by side_arg_define_vec: struct, array or VLA */
struct side_end_of_arguments; /* last parameter of a plain event */
struct side_variadic_part;    /* last parameter of a variadic event */
struct side_end_of_members;   /* last member of the class of a struct */

#define SIDE_KIND_0 end_of_arguments
#define SIDE_KIND_SIDE_EVENT_FLAG_VARIADIC variadic_part
#define SIDE_KIND(_flags) SIDE_PASTE(SIDE_KIND_, _flags)
#define SIDE_KIND_TYPE(_flags) struct SIDE_PASTE(side_, SIDE_KIND(_flags)) *

/* clang checks the warning options of the user in these macros too. */
#ifdef __clang__
#define SIDE_NO_WARNINGS_BEGIN                                                                     \
	_Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpedantic\"")        \
			_Pragma("clang diagnostic ignored \"-Wstrict-prototypes\"")              \
			_Pragma("clang diagnostic ignored \"-Wgcc-compat\"")            \
			_Pragma("clang diagnostic ignored \"-Wgnu-folding-constant\"")
#define SIDE_NO_WARNINGS_END _Pragma("clang diagnostic pop")
#else
#define SIDE_NO_WARNINGS_BEGIN
#define SIDE_NO_WARNINGS_END
#endif

/* Names: empty ones, then duplicates.  _what is the identifier of the event or struct. */
#define SIDE_DUPLICATES_WANTED SIDE_DUPLICATES_I(SIDE_STATIC_CHECK_DISABLE_DUPLICATED_FIELDS)
#define SIDE_DUPLICATES_I(...) SIDE_DUPLICATES_II(__VA_ARGS__)
#define SIDE_DUPLICATES_II(...) SIDE_IS_PAREN(SIDE_DUPLICATES_##__VA_ARGS__)
#define SIDE_DUPLICATES_
#define SIDE_DUPLICATES_SIDE_STATIC_CHECK_DISABLE_DUPLICATED_FIELDS ()
#define SIDE_WHEN_DUPLICATES_WANTED(_walk)                                                         \
	SIDE_PASTE(SIDE_WALK_, SIDE_DUPLICATES_WANTED)(_walk)
#define SIDE_WALK_0(_walk) SIDE_EACH_SKIP
#define SIDE_WALK_1(_walk) _walk
#define SIDE_NAMES_NOT_EMPTY(_what, _condition)                                                    \
	side_static_assert(_condition,                                                             \
			"Null field name" SIDE_FILE_LINE "a field of " #_what " has an empty name", \
			null_field_name_in_##_what);
#define SIDE_NAME_TWICE(_name, _what)                                                              \
	"Duplicated field names" SIDE_FILE_LINE "two fields of " _what                             \
			" have the same name: " _name

/*
 * GCC searches one text in another at compile time. So the names are joined once, "\1name\1name\1",
 * and the first match of each name must be at its own position: an enumerator without a value is
 * one more than the enumerator before it.
 */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define SIDE_FINDS_NAMES 1
#define SIDE_EACH_JOINED(_more) SIDE_EACH_JOINED_##_more
#define SIDE_EACH_JOINED_1(_owner, _i, _name, _type, _text, _param, _init, ...)                    \
	"\1" SIDE_COMPARED(_name, _init) SIDE_EACH_JOINED
#define SIDE_EACH_JOINED_0
#define SIDE_EACH_POSITION(_more) SIDE_EACH_POSITION_##_more
#define SIDE_EACH_POSITION_1(_owner, _i, _name, _type, _text, _param, _init, ...)                  \
	side_at_##_i, side_end_##_i = side_at_##_i + (int) sizeof(SIDE_COMPARED(_name, _init)) - 1, SIDE_EACH_POSITION
#define SIDE_EACH_POSITION_0
#define SIDE_EACH_FIRST(_more) SIDE_EACH_FIRST_##_more
#define SIDE_EACH_FIRST_1(_owner, _i, _name, _type, _text, _param, _init, ...)                     \
	SIDE_UNLESS_BITMAP(_owner, _name, _init)                                                   \
	(side_static_assert(__builtin_strstr(side_joined_, "\1" _name "\1") ==                     \
					side_joined_ + side_at_##_i,                               \
			SIDE_NAME_TWICE(_name, #_owner), duplicated_field_names_in_##_owner);)     \
	SIDE_EACH_FIRST
#define SIDE_EACH_FIRST_0
/* The content of the braces: the macro that writes the braces declares the text. */
#define SIDE_CHECK_JOINED_NAMES(_what, _chain)                                                     \
	enum { SIDE_EACH_POSITION _chain side_end_ };                                              \
	SIDE_NAMES_NOT_EMPTY(_what, !__builtin_strstr(side_joined_, "\1\1"))                       \
	SIDE_WHEN_DUPLICATES_WANTED(SIDE_EACH_FIRST) _chain
#endif

#ifndef __cplusplus

#define SIDE_EXPECTS(...)                                                                          \
	union {                                                                                    \
		__VA_ARGS__;                                                                       \
	} __attribute__((transparent_union))
/* A union that takes the class of the object _identifier. */
#define SIDE_EXPECTS_CLASS(_identifier, ...)                                                       \
	union side_expects__##_identifier {                                                        \
		side_no_define_for__##_identifier *side_arg_;                                              \
		__VA_ARGS__                                                                        \
	} __attribute__((transparent_union))
#define SIDE_EXPECTS_BASIC(_class)                                                                 \
	union side_expects_##_class {                                                              \
		struct side_##_class *side_arg_;                                                   \
	} __attribute__((transparent_union))

SIDE_EXPECTS_BASIC(arg_null);
SIDE_EXPECTS_BASIC(arg_bool);
SIDE_EXPECTS_BASIC(arg_byte);
SIDE_EXPECTS_BASIC(arg_u8);
SIDE_EXPECTS_BASIC(arg_u16);
SIDE_EXPECTS_BASIC(arg_u32);
SIDE_EXPECTS_BASIC(arg_u64);
SIDE_EXPECTS_BASIC(arg_u128);
SIDE_EXPECTS_BASIC(arg_s8);
SIDE_EXPECTS_BASIC(arg_s16);
SIDE_EXPECTS_BASIC(arg_s32);
SIDE_EXPECTS_BASIC(arg_s64);
SIDE_EXPECTS_BASIC(arg_s128);
SIDE_EXPECTS_BASIC(arg_pointer);
SIDE_EXPECTS_BASIC(arg_float_binary16);
SIDE_EXPECTS_BASIC(arg_float_binary32);
SIDE_EXPECTS_BASIC(arg_float_binary64);
SIDE_EXPECTS_BASIC(arg_float_binary128);
SIDE_EXPECTS_BASIC(arg_string);
SIDE_EXPECTS_BASIC(arg_string16);
SIDE_EXPECTS_BASIC(arg_string32);
SIDE_EXPECTS_BASIC(arg_char);
SIDE_EXPECTS_BASIC(arg_schar);
SIDE_EXPECTS_BASIC(arg_uchar);
SIDE_EXPECTS_BASIC(arg_short);
SIDE_EXPECTS_BASIC(arg_ushort);
SIDE_EXPECTS_BASIC(arg_int);
SIDE_EXPECTS_BASIC(arg_uint);
SIDE_EXPECTS_BASIC(arg_long);
SIDE_EXPECTS_BASIC(arg_ulong);
SIDE_EXPECTS_BASIC(arg_long_long);
SIDE_EXPECTS_BASIC(arg_ulong_long);
SIDE_EXPECTS_BASIC(arg_float);
SIDE_EXPECTS_BASIC(arg_double);
SIDE_EXPECTS_BASIC(arg_long_double);
SIDE_EXPECTS_BASIC(arg_dynamic_value);
SIDE_EXPECTS_BASIC(arg_gather_byte);
SIDE_EXPECTS_BASIC(arg_gather_bool);
SIDE_EXPECTS_BASIC(arg_gather_integer);
SIDE_EXPECTS_BASIC(arg_gather_pointer);
SIDE_EXPECTS_BASIC(arg_gather_float);
SIDE_EXPECTS_BASIC(arg_gather_string);
SIDE_EXPECTS_BASIC(arg_gather_struct);
SIDE_EXPECTS_BASIC(arg_gather_array);
SIDE_EXPECTS_BASIC(arg_gather_vla);
SIDE_EXPECTS_BASIC(end_of_arguments);
SIDE_EXPECTS_BASIC(variadic_part);

/*
 * Before C23, "()" accepts any parameters: it is the class of the elements of an empty VLA, which
 * is unknown, and of the values of a variant. From C23 on "()" accepts none. There, the values of
 * variants are not compared, and an argument that contains an empty VLA has the class of
 * side_arg_define_vec(), which fits every field. Compilers gave "()" its meaning of C23 before
 * __STDC_VERSION__ had its value (GCC 13, clang 15).
 */
#if defined(__STDC_VERSION__) && __STDC_VERSION__ > 201710L
#define SIDE_NO_PARAMETERS_MEANS_VOID 1
/* Declared here: declared within a list of parameters, it would be another type in each list. */
struct side_unknown;
#define SIDE_UNKNOWN struct side_unknown *
#define SIDE_KNOWN_VALUE(...) struct side_unknown *
#else
#define SIDE_NO_PARAMETERS_MEANS_VOID 0
#define SIDE_UNKNOWN
#define SIDE_KNOWN_VALUE(...) __VA_ARGS__
#endif

/*
 * Each name is compared with all names. The preprocessor would write a comparison for each pair. So
 * the names are written once, in a form that the compiler evaluates: for clang in the condition of
 * an overload, for GCC joined into one string. Clang evaluates the condition slowly: it compares
 * hashes of the names first, and texts if the hashes are equal.
 */
#ifdef __clang__
/* The number of fields with the name: one, or several; the empty name is counted once more. */
#define SIDE_CHECK_NAMES(_what, _fields, _chain)                                                   \
	__extension__ enum { SIDE_EACH_HASH _chain side_names_of__##_what##_end };                 \
	__extension__ extern char(*side_names_of__##_what(const char *, int))[1]                   \
			__attribute__((overloadable));                                             \
	__extension__ extern char(*side_names_of__##_what(const char *side_name_, int side_hash_))[2] \
			__attribute__((overloadable,                                               \
					enable_if(1 < SIDE_EACH_SAME _chain !*side_name_, "")));   \
	SIDE_NAMES_NOT_EMPTY(_what, sizeof(*side_names_of__##_what("", side_hash_of_nothing)) == 1) \
	SIDE_WHEN_DUPLICATES_WANTED(SIDE_EACH_ONCE) _chain
#define SIDE_EACH_HASH(_more) SIDE_EACH_HASH_##_more
#define SIDE_EACH_HASH_1(_owner, _i, _name, _type, _text, _param, _init, ...)                      \
	side_hash_##_i##_of__##_owner = SIDE_HASH(SIDE_COMPARED(_name, _init)), SIDE_EACH_HASH
#define SIDE_EACH_HASH_0
/*
 * A hash of the length and the last three characters; three spaces before the text ensure that they
 * exist.
 */
#define SIDE_HASH(_name) SIDE_HASH_I("   " _name)
#define SIDE_HASH_I(_text)                                                                         \
	((int) sizeof(_text) + (_text)[sizeof(_text) - 2] * 1024 +                                 \
			(_text)[sizeof(_text) - 3] * 16384 + (_text)[sizeof(_text) - 4] * 262144)
enum { side_hash_of_nothing = SIDE_HASH("") };
#define SIDE_EACH_SAME(_more) SIDE_EACH_SAME_##_more
#define SIDE_EACH_SAME_1(_owner, _i, _name, _type, _text, _param, _init, ...)                      \
	(side_hash_ == side_hash_##_i##_of__##_owner &&                                            \
			!__builtin_strcmp(side_name_, SIDE_COMPARED(_name, _init))) +              \
			SIDE_EACH_SAME
#define SIDE_EACH_SAME_0
#define SIDE_EACH_ONCE(_more) SIDE_EACH_ONCE_##_more
#define SIDE_EACH_ONCE_0
/* In C99 the C library may have a macro of this name, which prints no text. */
#ifdef _Static_assert
#define SIDE_EACH_ONCE_1(_owner, _i, _name, _type, _text, _param, _init, ...)                      \
	SIDE_UNLESS_BITMAP(_owner, _name, _init)                                                   \
	(side_static_assert(                                                                       \
			sizeof(*side_names_of__##_owner(_name, side_hash_##_i##_of__##_owner)) == 1, \
			SIDE_NAME_TWICE(_name, #_owner), duplicated_field_names_in_##_owner);)     \
	SIDE_EACH_ONCE
#else
#define SIDE_EACH_ONCE_1(_owner, _i, _name, _type, _text, _param, _init, ...)                      \
	SIDE_UNLESS_BITMAP(_owner, _name, _init)                                                   \
	(__extension__ _Static_assert(                                                             \
			sizeof(*side_names_of__##_owner(_name, side_hash_##_i##_of__##_owner)) == 1, \
			SIDE_NAME_TWICE(_name, #_owner));)                                         \
	SIDE_EACH_ONCE
#endif
#else
#define SIDE_CHECK_NAMES(_what, _fields, _chain)                                                   \
	SIDE_CHECK_LISTED_NAMES(_what, SIDE_MAP_LIST(SIDE_DO_NAME_JOINED, , _fields) "\1", _fields)
#define SIDE_CHECK_LISTED_NAMES(_what, _names, _fields)                                            \
	SIDE_NAMES_NOT_EMPTY(_what, !__builtin_strstr(_names, "\1\1"))                             \
	SIDE_IF(SIDE_DUPLICATES_WANTED)                                                            \
	(SIDE_MAP_LIST(SIDE_DO_NAME_ONCE, (#_what, duplicated_field_names_in_##_what, _names), _fields))
#define SIDE_DO_NAME_JOINED(_ctx, _i, _field) "\1" SIDE_FIELD_COMPARED_I _field
#define SIDE_JOINED_OF(_what, _ident, _joined) _joined
#define SIDE_WHAT_OF(_what, _ident, _joined) _what
#define SIDE_IDENT_OF(_what, _ident, _joined) _ident
#ifdef _Static_assert
#define SIDE_NAME_ONCE_0(_ctx, _field)                                                             \
	side_static_assert(SIDE_NAME_IS_ONCE(SIDE_JOINED_OF _ctx, SIDE_FIELD_NAME_I _field),       \
			SIDE_NAME_TWICE(SIDE_FIELD_NAME_I _field, SIDE_WHAT_OF _ctx), SIDE_IDENT_OF _ctx);
#else
#define SIDE_NAME_ONCE_0(_ctx, _field)                                                             \
	__extension__ _Static_assert(SIDE_NAME_IS_ONCE(SIDE_JOINED_OF _ctx, SIDE_FIELD_NAME_I _field), \
			SIDE_NAME_TWICE(SIDE_FIELD_NAME_I _field, SIDE_WHAT_OF _ctx));
#endif
#define SIDE_NAME_ONCE_1(_ctx, _field)
#define SIDE_DO_NAME_ONCE(_ctx, _i, _field)                                                        \
	SIDE_PASTE(SIDE_NAME_ONCE_, SIDE_FIELD_IS_BITMAP_I _field)(_ctx, _field)
#define SIDE_NAME_IS_ONCE(_joined, _name)                                                          \
	!__builtin_strstr(__builtin_strstr(_joined, "\1" _name "\1") + 1, "\1" _name "\1")
#endif

/*
 * GCC evaluates the text inside a function that has no caller, so it emits neither the function nor
 * its text. The section makes GCC evaluate the text before it knows that. An event is defined at
 * file scope. A struct may be defined in a block, where a function cannot be static; an inline
 * function of C99 is not emitted either.
 */
#ifdef SIDE_FINDS_NAMES
#define SIDE_CHECK_EVENT_NAMES(_what, _fields, _chain)                                             \
	static SIDE_CHECK_NAMES_INSIDE(_what, _chain)
#define SIDE_CHECK_NAMES_INSIDE(_what, _chain)                                                     \
	__inline__ __attribute__((unused)) void side_names_of__##_what(void)                       \
	{                                                                                          \
		static const char side_joined_[] __attribute__((section(".rodata"))) =             \
				SIDE_EACH_JOINED _chain "\1";                                      \
		SIDE_CHECK_JOINED_NAMES(_what, _chain)                                             \
	}
#ifndef __GNUC_GNU_INLINE__
#undef SIDE_CHECK_NAMES
#define SIDE_CHECK_NAMES(_what, _fields, _chain)                                                   \
	__extension__ SIDE_CHECK_NAMES_INSIDE(_what, _chain)
#endif
#else
#define SIDE_CHECK_EVENT_NAMES(_what, _fields, _chain) SIDE_CHECK_NAMES(_what, _fields, _chain)
#endif

/* Descriptions */
#define SIDE_SIGNATURE_BEGIN(_identifier)                                                          \
	__extension__ extern void side_event_args__##_identifier(
#define SIDE_SIGNATURE_END(_flags) union SIDE_PASTE(side_expects_, SIDE_KIND(_flags)));
#define SIDE_EACH_PARAMS(_more) SIDE_EACH_PARAMS_##_more
#define SIDE_EACH_PARAMS_1(_owner, _i, _name, _type, _text, _param, ...) _param, SIDE_EACH_PARAMS
#define SIDE_EACH_PARAMS_0
#if SIDE_NO_PARAMETERS_MEANS_VOID
/* No declaration is compatible with every definition: nothing is checked. */
#define SIDE_CHECK_DECLARED_EVENT(_identifier)                                                     \
	SIDE_EXPLAIN_DECLARED_EVENT(_identifier) SIDE_EXPECT_SEMICOLON()
#define SIDE_PASSED_BEGIN(_identifier)
#define SIDE_EACH_PASSED(_more) SIDE_EACH_SKIP_##_more
#define SIDE_PASSED_END(_identifier, _flags)
#else
#define SIDE_CHECK_DECLARED_EVENT(_identifier)                                                     \
	SIDE_NO_WARNINGS_BEGIN extern void side_event_args__##_identifier();                       \
	SIDE_NO_WARNINGS_END SIDE_EXPLAIN_DECLARED_EVENT(_identifier) SIDE_EXPECT_SEMICOLON()
#define SIDE_PASSED_BEGIN(_identifier) (void) sizeof((side_event_args__##_identifier(
#define SIDE_PASSED_END(_identifier, _flags)                                                       \
	(SIDE_KIND_TYPE(_flags)) 0), 0));
#define SIDE_EACH_PASSED(_more) SIDE_EACH_PASSED_##_more
#define SIDE_EACH_PASSED_1(_class, _i) _class, SIDE_EACH_PASSED
#define SIDE_EACH_PASSED_0
#endif
#define SIDE_CLASS_BEGIN(_identifier) typedef struct side_struct *side_no_define_for__##_identifier(
#define SIDE_CLASS_END(_identifier)                                                                \
	struct side_end_of_members *);                                                             \
	SIDE_EXPECTS_CLASS(_identifier, struct side_any_vec * side_any_;);
#if SIDE_NO_PARAMETERS_MEANS_VOID
/* An argument without elements does not determine their class: an array without elements has none. */
#define SIDE_ELEM_OF_ARRAY(_length, ...)                                                           \
	__typeof__(__builtin_choose_expr((_length) == 0, (SIDE_UNKNOWN)0, (__VA_ARGS__)0))
#else
#define SIDE_ELEM_OF_ARRAY(_length, ...) __VA_ARGS__
#endif
#define SIDE_CHECK_ARRAY(_identifier, _elem_type, _length)                                         \
	typedef struct side_array *(*side_no_define_for__##_identifier(                                    \
			char (*)[(_length) + 1]))(SIDE_ELEM_OF_ARRAY(_length, SIDE_ELEM_TYPE(_elem_type))); \
	SIDE_EXPECTS_CLASS(_identifier, struct side_any_vec * side_any_;)
#define SIDE_CHECK_VLA(_identifier, _elem_type, _length_type)                                      \
	typedef struct side_vla *side_no_define_for__##_identifier(                                        \
			SIDE_ELEM_TYPE(_elem_type));                                               \
	SIDE_EXPECTS_CLASS(_identifier, struct side_any_vec * side_any_;)
#define SIDE_CHECK_OPTIONAL(_identifier, _elem_type)                                               \
	typedef struct side_optional *side_no_define_for__##_identifier(SIDE_ELEM_TYPE(_elem_type));       \
	SIDE_EXPECTS_CLASS(_identifier, )
#define SIDE_CHECK_VARIANT(_identifier, _selector, _options)                                       \
	SIDE_NO_WARNINGS_BEGIN typedef struct side_variant *(*side_no_define_for__##_identifier(   \
			SIDE_ELEM_TYPE(_selector)))(SIDE_UNKNOWN);                                 \
	SIDE_NO_WARNINGS_END union side_expects__##_identifier {                                   \
		SIDE_MAP_LIST(SIDE_DO_OPTION_MEMBER, SIDE_ELEM_TYPE(_selector), _options)          \
		struct side_no_option *side_none_;                                                 \
	} __attribute__((transparent_union))
#define SIDE_DO_OPTION_MEMBER(_selector, _i, _option)                                              \
	struct side_variant *(*(*side_option_##_i)(_selector))(                                    \
			SIDE_KNOWN_VALUE(SIDE_OPTION_MEMBER_I _option));
#define SIDE_OPTION_MEMBER_I(_class, ...) SIDE_CLASS_TYPE(_class)
/*
 * A visitor that only reads its context also accepts a pointer to writable data: the first parameter is
 * always const, and the second, of unknown size for such a visitor, is compatible with both sizes.
 */
#define SIDE_READ_ONLY(...)                                                                        \
	__builtin_types_compatible_p(__typeof__(__VA_ARGS__) *, const __typeof__(__VA_ARGS__) *)
#define SIDE_CHECK_VLA_VISITOR(_identifier, _elem_type, _length_type, _type)                       \
	typedef struct side_vla_visitor *side_no_define_for__##_identifier(const __typeof__(_type) *,      \
			__typeof__(__builtin_choose_expr(SIDE_READ_ONLY(_type), (char(*)[])0,      \
					(char(*)[1])0)));                                          \
	SIDE_EXPECTS_CLASS(_identifier, )

/* Arguments */
#define SIDE_UNUSED __attribute__((unused))
#define SIDE_CHECK_ARG_VEC(_identifier)                                                            \
	typedef struct side_any_vec side_no_arg_define_for__##_identifier SIDE_UNUSED
/* Class of the elements: that of the first. */
#define SIDE_ARGS_ELEM(_args) SIDE_ARGS_ELEM_I(SIDE_HEAD(SIDE_UNPAREN _args))
#define SIDE_ARGS_ELEM_I(_arg) SIDE_PASTE(SIDE_ARGS_ELEM_, SIDE_IS_PAREN(_arg))(_arg)
#define SIDE_ARGS_ELEM_0(_arg) SIDE_UNKNOWN
#define SIDE_ARGS_ELEM_1(_arg) SIDE_ARG_TYPE(_arg)
#define SIDE_CHECK_SAME(_identifier, _args)                                                        \
	SIDE_NO_WARNINGS_BEGIN side_static_assert((SIDE_MAP_LIST(SIDE_DO_SAME, SIDE_HEAD(SIDE_UNPAREN _args), _args) 1), \
			"Types incompatible" SIDE_FILE_LINE                                        \
			"in expression: the elements of " #_identifier " differ in type",          \
			types_incompatible_in_##_identifier);                                      \
	SIDE_NO_WARNINGS_END SIDE_EXPECT_SEMICOLON()
#define SIDE_DO_SAME(_first, _i, _arg) SIDE_SAME(SIDE_ARG_TYPE(_first), SIDE_ARG_TYPE(_arg)) *
#if SIDE_NO_PARAMETERS_MEANS_VOID
#define SIDE_FITS_ALL(...) __builtin_types_compatible_p(__VA_ARGS__, struct side_any_vec *)
#define SIDE_SAME(_first, _type)                                                                   \
	(__builtin_types_compatible_p(_first, _type) || SIDE_FITS_ALL(_first) || SIDE_FITS_ALL(_type))
/* The class of a compound: its own, or the class that fits all if a member has that. */
#define SIDE_COMPOUND_CLASS(_identifier, _args, ...)                                                    \
	SIDE_COMPOUND_CLASS_I(_identifier, (SIDE_MAP_LIST(SIDE_DO_FITS_ALL, , _args) 0), __VA_ARGS__)
#define SIDE_DO_FITS_ALL(_ctx, _i, _arg) SIDE_FITS_ALL(SIDE_ARG_TYPE(_arg)) ||
#define SIDE_COMPOUND_CLASS_I(_identifier, _fits_all, ...)                                              \
	typedef __typeof__(*__builtin_choose_expr(_fits_all, (struct side_any_vec *)0, (__VA_ARGS__)0)) \
			side_no_arg_define_for__##_identifier SIDE_UNUSED
#define SIDE_CHECK_ARG_STRUCT(_identifier, _args)                                                  \
	SIDE_COMPOUND_CLASS(_identifier, _args,                                                         \
			struct side_struct *(*)(SIDE_ARG_TYPES(_args) struct side_end_of_members *))
#define SIDE_CHECK_ARG_ARRAY(_identifier, _args)                                                   \
	SIDE_CHECK_SAME(_identifier, _args);                                                       \
	SIDE_COMPOUND_CLASS(_identifier, _args,                                                         \
			struct side_array *(*(*)(char (*)[SIDE_ARRAY_SIZE(_identifier##_vec) + 1]))( \
					SIDE_ARGS_ELEM(_args)))
#define SIDE_CHECK_ARG_VLA(_identifier, _args)                                                     \
	SIDE_CHECK_SAME(_identifier, _args);                                                       \
	SIDE_COMPOUND_CLASS_I(_identifier,                                                              \
			(SIDE_MAP_LIST(SIDE_DO_FITS_ALL, , _args)                                  \
					SIDE_ARRAY_SIZE(_identifier##_vec) == 0),                  \
			struct side_vla *(*)(SIDE_ARGS_ELEM(_args)))
#define SIDE_CHECK_ARG_OPTIONAL(_identifier, _value)                                               \
	SIDE_COMPOUND_CLASS_I(_identifier, SIDE_FITS_ALL(SIDE_ARG_TYPE(_value)),                        \
			struct side_optional *(*)(SIDE_ARG_TYPE(_value)))
#else
/* Variants in one array may have different values.  Their selectors are compared with the field's. */
#define SIDE_IS_VARIANT(...) __builtin_types_compatible_p(__VA_ARGS__, struct side_variant *(*(*)())())
#define SIDE_SAME(_first, _type)                                                                   \
	(__builtin_types_compatible_p(_first, _type) || (SIDE_IS_VARIANT(_first) && SIDE_IS_VARIANT(_type)))
#define SIDE_CHECK_ARG_STRUCT(_identifier, _args)                                                  \
	typedef struct side_struct *side_no_arg_define_for__##_identifier(                                 \
			SIDE_ARG_TYPES(_args) struct side_end_of_members *) SIDE_UNUSED
#define SIDE_CHECK_ARG_ARRAY(_identifier, _args)                                                   \
	SIDE_CHECK_SAME(_identifier, _args);                                                       \
	SIDE_NO_WARNINGS_BEGIN typedef struct side_array *(*side_no_arg_define_for__##_identifier( \
			char (*)[SIDE_ARRAY_SIZE(_identifier##_vec) + 1]))(SIDE_ARGS_ELEM(_args))  \
			SIDE_UNUSED;                                                               \
	SIDE_NO_WARNINGS_END SIDE_EXPECT_SEMICOLON()
#define SIDE_CHECK_ARG_VLA(_identifier, _args)                                                     \
	SIDE_CHECK_SAME(_identifier, _args);                                                       \
	SIDE_NO_WARNINGS_BEGIN typedef struct side_vla *side_no_arg_define_for__##_identifier(     \
			SIDE_ARGS_ELEM(_args)) SIDE_UNUSED;                                        \
	SIDE_NO_WARNINGS_END SIDE_EXPECT_SEMICOLON()
#define SIDE_CHECK_ARG_OPTIONAL(_identifier, _value)                                               \
	typedef struct side_optional *side_no_arg_define_for__##_identifier(SIDE_ARG_TYPE(_value)) SIDE_UNUSED
#endif
#define SIDE_CHECK_ARG_VARIANT(_identifier, _selector, _value)                                     \
	typedef struct side_variant *(*side_no_arg_define_for__##_identifier(                              \
			SIDE_ARG_TYPE(_selector)))(SIDE_KNOWN_VALUE(SIDE_ARG_TYPE(_value))) SIDE_UNUSED
#define SIDE_CHECK_ARG_VLA_VISITOR(_identifier, _ctx)                                              \
	typedef struct side_vla_visitor *side_no_arg_define_for__##_identifier(                            \
			const __typeof__(*(_ctx)) *,                                               \
			char(*)[SIDE_READ_ONLY(*(_ctx)) + 1]) SIDE_UNUSED

#else /* __cplusplus */

namespace libside
{
struct any; /* elements of an empty VLA */
struct unchecked_event;

/* Whether an argument of the class A fits a field of the class F. */
template <typename F, typename A> struct fits { static constexpr bool value = false; };
template <typename T> struct fits<T, T> { static constexpr bool value = true; };
template <typename F> struct fits<F, any *> { static constexpr bool value = true; };

template <typename... T> struct pack {};
template <typename F, typename A> struct all_fit { static constexpr bool value = false; };
template <> struct all_fit<pack<>, pack<>> { static constexpr bool value = true; };
template <typename F, typename... Fs, typename A, typename... As>
struct all_fit<pack<F, Fs...>, pack<A, As...>> {
	static constexpr bool value = fits<F, A>::value && all_fit<pack<Fs...>, pack<As...>>::value;
};
template <typename A, typename... Fs> struct one_fits { static constexpr bool value = false; };
template <typename A, typename F, typename... Fs> struct one_fits<A, F, Fs...> {
	static constexpr bool value = fits<F, A>::value || one_fits<A, Fs...>::value;
};

/*
 * Compounds: the same class, and the members fit. More specialized than fits<T, T>, to avoid
 * ambiguity.
 */
template <typename K, typename... Fs, typename... As>
struct fits<K *(*) (Fs...), K *(*) (As...)> {
	static constexpr bool value = all_fit<pack<Fs...>, pack<As...>>::value;
};
template <typename K, typename... Fs> struct fits<K *(*) (Fs...), K *(*) (Fs...)> {
	static constexpr bool value = true;
};
/* Arrays: a function of the length that returns a function of the element. */
template <typename N, typename F, typename A>
struct fits<side_array *(*(*) (N))(F), side_array *(*(*) (N))(A)> {
	static constexpr bool value = fits<F, A>::value;
};
template <typename N, typename F>
struct fits<side_array *(*(*) (N))(F), side_array *(*(*) (N))(F)> {
	static constexpr bool value = true;
};
template <typename F, typename N>
struct fits<side_array *(*(*) (N))(F), side_any_vec *> { static constexpr bool value = true; };
template <typename F>
struct fits<side_vla *(*) (F), side_any_vec *> { static constexpr bool value = true; };
template <typename... Fs>
struct fits<side_struct *(*) (Fs...), side_any_vec *> { static constexpr bool value = true; };
/* Variants: the selector, and one of the options. */
template <typename S, typename... O, typename T, typename A>
struct fits<side_variant *(*) (S, O...), side_variant *(*) (T, A)> {
	static constexpr bool value = fits<S, T>::value && one_fits<A, O...>::value;
};
template <typename S, typename A>
struct fits<side_variant *(*) (S, A), side_variant *(*) (S, A)> {
	static constexpr bool value = true;
};
/* Two arguments, which are elements of one array: their values may differ. */
template <typename S, typename A, typename B>
struct fits<side_variant *(*) (S, A), side_variant *(*) (S, B)> {
	static constexpr bool value = true;
};

/* A visitor that only reads its context also accepts writable data. */
template <typename T>
struct fits<side_vla_visitor *(*) (const T *), side_vla_visitor *(*) (T *)> {
	static constexpr bool value = true;
};

/* Elements of one array; an empty VLA among them fits all. */
template <typename First, typename... T> struct same { static constexpr bool value = true; };
template <typename First, typename T, typename... Rest> struct same<First, T, Rest...> {
	static constexpr bool value = (fits<First, T>::value || fits<T, First>::value) &&
			same<First, Rest...>::value;
};
struct end;
template <typename First> struct same<First, end> { static constexpr bool value = true; };

/* The first argument that does not fit, for the compiler's message. */
template <unsigned Number, typename Field, typename Arg, bool Fits> struct argument {
	static_assert(Fits, "side: this argument does not fit its field; see <number, field, argument>");
};
template <unsigned Number, typename Field, typename Arg> struct argument<Number, Field, Arg, true> {};
template <unsigned Number, typename F, typename A> struct explain {};
template <unsigned Number, typename F, typename... Fs, typename A, typename... As>
struct explain<Number, pack<F, Fs...>, pack<A, As...>>
		: argument<Number, F, A, fits<F, A>::value>,
		  explain<Number + 1, pack<Fs...>, pack<As...>> {};

template <typename F, typename A> struct call_fits;
template <typename A> struct call_fits<unchecked_event *, A> {
	static constexpr bool value = true;
};
template <typename... Fs, typename... As> struct call_fits<void (*)(Fs...), void (*)(As...)> {
	static constexpr bool value = all_fit<pack<Fs...>, pack<As...>>::value;
};
/* Most calls, without a check of each argument. */
template <typename... Fs> struct call_fits<void (*)(Fs...), void (*)(Fs...)> {
	static constexpr bool value = true;
};
template <typename F, typename A, bool Fits> struct call_explained {
	static constexpr bool value = true;
};
template <typename... Fs, typename... As>
struct call_explained<void (*)(Fs...), void (*)(As...), false> {
	static constexpr bool value = sizeof(explain<1, pack<Fs...>, pack<As...>>) != 0;
};

/* Names; the first entry is not one. */
/* Whether the hashes of the names differ. If not, the names are compared. */
typedef unsigned long long name_hash;
constexpr name_hash hash_of(const char *name, name_hash hash = 5381)
{
	return *name ? hash_of(name + 1, hash * 33 + (unsigned char)*name) : hash;
}
struct name {
	const char *text;
	name_hash hash;
	constexpr name(const char *from) : text(from), hash(hash_of(from)) {}
};
constexpr bool names_not_empty(const name *names, unsigned begin, unsigned end)
{
	return end - begin == 0 ? true
			: end - begin == 1
			? names[begin].text[0] != '\0'
			: names_not_empty(names, begin, begin + (end - begin) / 2) &&
					names_not_empty(names, begin + (end - begin) / 2, end);
}
constexpr bool hash_is_new(name_hash hash, const name *others, unsigned number)
{
	return number == 0 ? true
			: number < 8
			? hash != others[0].hash && hash_is_new(hash, others + 1, number - 1)
			: hash != others[0].hash && hash != others[1].hash && hash != others[2].hash &&
					hash != others[3].hash && hash != others[4].hash &&
					hash != others[5].hash && hash != others[6].hash &&
					hash != others[7].hash && hash_is_new(hash, others + 8, number - 8);
}
constexpr bool hashes_differ(const name *names, unsigned begin, unsigned end, unsigned all)
{
	return end - begin == 0 ? true
			: end - begin == 1
			? hash_is_new(names[begin].hash, names + begin + 1, all - begin - 1)
			: hashes_differ(names, begin, begin + (end - begin) / 2, all) &&
					hashes_differ(names, begin + (end - begin) / 2, end, all);
}
template <unsigned N> constexpr bool surely_differ(const name (&names)[N])
{
	return hashes_differ(names, 1, N, N);
}
constexpr unsigned number_of(const char *text, const name *names, unsigned begin, unsigned end)
{
	return end - begin == 0 ? 0
			: end - begin == 1
			? !__builtin_strcmp(text, names[begin].text)
			: number_of(text, names, begin, begin + (end - begin) / 2) +
					number_of(text, names, begin + (end - begin) / 2, end);
}
template <unsigned N> constexpr bool all_names_not_empty(const name (&names)[N])
{
	return names_not_empty(names, 1, N);
}
template <unsigned N> constexpr bool name_is_once(const char *text, const name (&names)[N])
{
	return number_of(text, names, 1, N) == 1;
}
} /* namespace libside */

#define SIDE_EXPECTS(...)
#ifdef SIDE_FINDS_NAMES
/*
 * A struct may be defined in a block, where a class cannot have static data, but it can have a
 * function without a caller, which is not emitted. Clang correctly refuses a definition there: its
 * literals end with the expression.
 */
#define SIDE_CHECK_NAMES(_what, _fields, _chain)                                                   \
	struct side_names_of__##_what {                                                            \
		static void side_check_()                                                          \
		{                                                                                  \
			static constexpr const char side_joined_[] = SIDE_EACH_JOINED _chain "\1"; \
			SIDE_CHECK_JOINED_NAMES(_what, _chain)                                     \
		}                                                                                  \
	};
#else
#define SIDE_CHECK_NAMES(_what, _fields, _chain)                                                   \
	struct side_names_of__##_what {                                                            \
		static constexpr const libside::name names[] = {"", SIDE_EACH_NAMES _chain};       \
		enum { differ = libside::surely_differ(names) };                                   \
	};                                                                                         \
	SIDE_NAMES_NOT_EMPTY(_what, libside::all_names_not_empty(side_names_of__##_what::names))   \
	SIDE_WHEN_DUPLICATES_WANTED(SIDE_EACH_ONCE) _chain
#define SIDE_EACH_NAMES(_more) SIDE_EACH_NAMES_##_more
#define SIDE_EACH_NAMES_1(_owner, _i, _name, _type, _text, _param, _init, ...)                     \
	SIDE_COMPARED(_name, _init), SIDE_EACH_NAMES
#define SIDE_EACH_NAMES_0
#define SIDE_EACH_ONCE(_more) SIDE_EACH_ONCE_##_more
#define SIDE_EACH_ONCE_1(_owner, _i, _name, _type, _text, _param, _init, ...)                      \
	SIDE_UNLESS_BITMAP(_owner, _name, _init)                                                   \
	(static_assert(side_names_of__##_owner::differ ||                                          \
					libside::name_is_once(                                     \
							_name, side_names_of__##_owner::names),    \
			SIDE_NAME_TWICE(_name, #_owner));)                                         \
	SIDE_EACH_ONCE
#define SIDE_EACH_ONCE_0
#endif
#define SIDE_UNUSED __attribute__((unused))

/* Descriptions. The definition replaces the ellipsis of a declared event. */
#define SIDE_CHECK_EVENT_NAMES(_what, _fields, _chain) SIDE_CHECK_NAMES(_what, _fields, _chain)
#define SIDE_SIGNATURE_BEGIN(_identifier) extern void (*side_event_args__##_identifier(int))(
#define SIDE_EACH_PARAMS(_more) SIDE_EACH_TYPES_##_more
#define SIDE_SIGNATURE_END(_flags) SIDE_KIND_TYPE(_flags)) SIDE_UNUSED;
#define SIDE_CHECK_DECLARED_EVENT(_identifier)                                                     \
	extern libside::unchecked_event *side_event_args__##_identifier(...) SIDE_UNUSED;          \
	SIDE_EXPLAIN_DECLARED_EVENT(_identifier)                                                   \
	SIDE_EXPECT_SEMICOLON()
#define SIDE_PASSED_BEGIN(_identifier)                                                             \
	typedef decltype(side_event_args__##_identifier(0)) side_call_takes_;                      \
	typedef void (*side_call_passes_)(
#define SIDE_PASSED_END(_identifier, _flags)                                                       \
	SIDE_KIND_TYPE(_flags));                                                                   \
	static_assert(libside::call_fits<side_call_takes_, side_call_passes_>::value,              \
			"side: the arguments of event " #_identifier " do not fit its fields");    \
	static_assert(libside::call_explained<side_call_takes_, side_call_passes_,                 \
				      libside::call_fits<side_call_takes_, side_call_passes_>::value>::value, \
			"");
#define SIDE_EACH_PASSED(_more) SIDE_EACH_PASSED_##_more
#define SIDE_EACH_PASSED_1(_class, _i) __typeof__(_class), SIDE_EACH_PASSED
#define SIDE_EACH_PASSED_0
#define SIDE_CLASS_BEGIN(_identifier) typedef struct side_struct *side_no_define_for__##_identifier(
#define SIDE_CLASS_END(_identifier) struct side_end_of_members *) SIDE_UNUSED;
#define SIDE_CHECK_ARRAY(_identifier, _elem_type, _length)                                         \
	typedef struct side_array *(*side_no_define_for__##_identifier(char(*)[(_length) + 1]))(           \
			SIDE_ELEM_TYPE(_elem_type)) SIDE_UNUSED
#define SIDE_CHECK_VLA(_identifier, _elem_type, _length_type)                                      \
	typedef struct side_vla *side_no_define_for__##_identifier(SIDE_ELEM_TYPE(_elem_type)) SIDE_UNUSED
#define SIDE_CHECK_OPTIONAL(_identifier, _elem_type)                                               \
	typedef struct side_optional *side_no_define_for__##_identifier(                                   \
			SIDE_ELEM_TYPE(_elem_type)) SIDE_UNUSED
#define SIDE_CHECK_VARIANT(_identifier, _selector, _options)                                       \
	typedef struct side_variant *side_no_define_for__##_identifier(SIDE_ELEM_TYPE(_selector),          \
			SIDE_MAP_LIST(SIDE_DO_OPTION_TYPE, , _options)                             \
					struct side_no_option *) SIDE_UNUSED
#define SIDE_CHECK_VLA_VISITOR(_identifier, _elem_type, _length_type, _type)                       \
	typedef struct side_vla_visitor *side_no_define_for__##_identifier(_type *) SIDE_UNUSED

/* Arguments */
#define SIDE_CHECK_ARG_VEC(_identifier)                                                            \
	typedef struct side_any_vec side_no_arg_define_for__##_identifier SIDE_UNUSED
#define SIDE_CHECK_ARG_STRUCT(_identifier, _args)                                                  \
	typedef struct side_struct *side_no_arg_define_for__##_identifier(                                 \
			SIDE_ARG_TYPES(_args) struct side_end_of_members *) SIDE_UNUSED
#define SIDE_ARGS_ELEM(_args) SIDE_ARGS_ELEM_I(SIDE_HEAD(SIDE_UNPAREN _args))
#define SIDE_ARGS_ELEM_I(_arg) SIDE_PASTE(SIDE_ARGS_ELEM_, SIDE_IS_PAREN(_arg))(_arg)
#define SIDE_ARGS_ELEM_0(_arg) libside::any *
#define SIDE_ARGS_ELEM_1(_arg) SIDE_ARG_TYPE(_arg)
#define SIDE_CHECK_SAME(_identifier, _args)                                                        \
	SIDE_CHECK_SAME_I(_identifier, SIDE_ARGS_ELEM(_args), SIDE_ARG_TYPES(_args) libside::end)
#define SIDE_CHECK_SAME_I(_identifier, ...)                                                        \
	static_assert(libside::same<__VA_ARGS__>::value,                                           \
			"Types incompatible" SIDE_FILE_LINE                                        \
			"in expression: the elements of " #_identifier " differ in type")
#define SIDE_CHECK_ARG_ARRAY(_identifier, _args)                                                   \
	SIDE_CHECK_SAME(_identifier, _args);                                                       \
	typedef struct side_array *(*side_no_arg_define_for__##_identifier(                                \
			char(*)[SIDE_ARRAY_SIZE(_identifier##_vec) + 1]))(SIDE_ARGS_ELEM(_args))   \
			SIDE_UNUSED
#define SIDE_CHECK_ARG_VLA(_identifier, _args)                                                     \
	SIDE_CHECK_SAME(_identifier, _args);                                                       \
	typedef struct side_vla *side_no_arg_define_for__##_identifier(SIDE_ARGS_ELEM(_args)) SIDE_UNUSED
#define SIDE_CHECK_ARG_OPTIONAL(_identifier, _value)                                               \
	typedef struct side_optional *side_no_arg_define_for__##_identifier(SIDE_ARG_TYPE(_value)) SIDE_UNUSED
#define SIDE_CHECK_ARG_VARIANT(_identifier, _selector, _value)                                     \
	typedef struct side_variant *side_no_arg_define_for__##_identifier(                                \
			SIDE_ARG_TYPE(_selector), SIDE_ARG_TYPE(_value)) SIDE_UNUSED
#define SIDE_CHECK_ARG_VLA_VISITOR(_identifier, _ctx)                                              \
	typedef struct side_vla_visitor *side_no_arg_define_for__##_identifier(                            \
			__typeof__(0 ? (_ctx) : (_ctx))) SIDE_UNUSED

#endif /* __cplusplus */

/* After the classes, which it compares. */
#include <side/static-explain.h>

#endif /* SIDE_STATIC_CHECK_H */
