/* SPDX-License-Identifier: MIT */
/*
 * SIDE: markers at events, for tracers that do not support SIDE.
 *
 * With SIDE_SDT defined before the first include (or -DSIDE_SDT), each call site of an event is
 * also a marker (SDT, USDT) PROVIDER:EVENT, which BPF, perf, gdb, SystemTap and `side ... --sdt`
 * can find. x86-64 only. On other machines, and without SIDE_SDT, this header adds nothing to the
 * program.
 *
 * Location. The marker is a nop and a nop of five bytes in the path of an enabled event. An ELF
 * note in .note.stapsdt, which is not loaded, has the address of the first nop. The kernel (6.18)
 * can turn the five bytes into a call, and side into a jump, without touching other bytes.
 *
 * Semaphore. A marker has a semaphore of two bytes, in which tracers count themselves. Here the
 * semaphore is bytes 4 and 5 of the event's enabled word, so that the existing test of that word
 * covers it: the marker costs nothing if no tracer uses it. The two bytes belong to the count of
 * private enablers (bits 0 to 55), but that count never reaches them. Only such tracers write them:
 * the kernel and debuggers two bytes at a time, libside the whole word atomically. An event that
 * only they enable reaches libside, which finds no callback.
 *
 * Arguments. Argument i is field i, for the first 12 fields:
 * - booleans, integers and pointers: the value, in the byte order of the call site;
 * - floats of 32 and 64 bits: their bits (gdb 13 reads no argument after one that is declared as a
 *   float);
 * - text and gathered fields: the address;
 * - structures, arrays and VLAs: the address of their struct side_arg_vec;
 * - variants, optionals and visitors: the address of their structure of the ABI;
 * - others (128 bits, null, dynamic): the address of the event's struct side_arg_vec.
 * The address of the variadic part is last.
 *
 * The names of provider and event are part of assembly: they must be literals without " \ % { | and
 * }. Files that only declare an event with side_declare_event() do not know its names, and have no
 * marker for it.
 */
#ifndef SIDE_SDT_H
#define SIDE_SDT_H

#pragma GCC system_header

#include <side/abi/event-description.h>
#include <side/abi/type-argument.h>
#include <side/list.h>
#include <side/macros.h>

/* In position-independent code of the larger models, no address is a constant. */
#if defined(SIDE_SDT) && defined(__x86_64__) && defined(__LP64__) && \
		!(defined(__PIC__) &&                                \
				(defined(__code_model_medium__) || defined(__code_model_large__)))
#define SIDE_HAVE_SDT 1
#else
#define SIDE_HAVE_SDT 0
#endif

#if SIDE_HAVE_SDT

/* Address of argument i: operand 0 is the address of the event's struct side_arg, 64 bytes each, the value at 4. */
#define SIDE_SDT_AT_0_0 ~, (SIDE_SDT_PUT, "", "4"),
#define SIDE_SDT_AT_0_1 ~, (SIDE_SDT_PUT, " ", "68"),
#define SIDE_SDT_AT_0_2 ~, (SIDE_SDT_PUT, " ", "132"),
#define SIDE_SDT_AT_0_3 ~, (SIDE_SDT_PUT, " ", "196"),
#define SIDE_SDT_AT_0_4 ~, (SIDE_SDT_PUT, " ", "260"),
#define SIDE_SDT_AT_0_5 ~, (SIDE_SDT_PUT, " ", "324"),
#define SIDE_SDT_AT_0_6 ~, (SIDE_SDT_PUT, " ", "388"),
#define SIDE_SDT_AT_0_7 ~, (SIDE_SDT_PUT, " ", "452"),
#define SIDE_SDT_AT_0_8 ~, (SIDE_SDT_PUT, " ", "516"),
#define SIDE_SDT_AT_0_9 ~, (SIDE_SDT_PUT, " ", "580"),
#define SIDE_SDT_AT_0_10 ~, (SIDE_SDT_PUT, " ", "644"),
#define SIDE_SDT_AT_0_11 ~, (SIDE_SDT_PUT, " ", "708"),

/*
 * The form of an argument, by the class of its field: the C type "struct side_arg_u32 *", of which
 * "struct" is removed and the name is pasted on. A class without a macro here becomes an address.
 */
#define SIDE_SDT_struct
#define SIDE_SDT_side_arg_bool ~, (SIDE_SDT_VALUE, "1"),
#define SIDE_SDT_side_arg_byte ~, (SIDE_SDT_VALUE, "1"),
#define SIDE_SDT_side_arg_u8 ~, (SIDE_SDT_VALUE, "1"),
#define SIDE_SDT_side_arg_u16 ~, (SIDE_SDT_VALUE, "2"),
#define SIDE_SDT_side_arg_u32 ~, (SIDE_SDT_VALUE, "4"),
#define SIDE_SDT_side_arg_u64 ~, (SIDE_SDT_VALUE, "8"),
#define SIDE_SDT_side_arg_s8 ~, (SIDE_SDT_VALUE, "-1"),
#define SIDE_SDT_side_arg_s16 ~, (SIDE_SDT_VALUE, "-2"),
#define SIDE_SDT_side_arg_s32 ~, (SIDE_SDT_VALUE, "-4"),
#define SIDE_SDT_side_arg_s64 ~, (SIDE_SDT_VALUE, "-8"),
#define SIDE_SDT_side_arg_pointer ~, (SIDE_SDT_VALUE, "8"),
#ifdef __CHAR_UNSIGNED__
#define SIDE_SDT_side_arg_char ~, (SIDE_SDT_VALUE, "1"),
#else
#define SIDE_SDT_side_arg_char ~, (SIDE_SDT_VALUE, "-1"),
#endif
#define SIDE_SDT_side_arg_schar ~, (SIDE_SDT_VALUE, "-1"),
#define SIDE_SDT_side_arg_uchar ~, (SIDE_SDT_VALUE, "1"),
#define SIDE_SDT_side_arg_short ~, (SIDE_SDT_VALUE, "-2"),
#define SIDE_SDT_side_arg_ushort ~, (SIDE_SDT_VALUE, "2"),
#define SIDE_SDT_side_arg_int ~, (SIDE_SDT_VALUE, "-4"),
#define SIDE_SDT_side_arg_uint ~, (SIDE_SDT_VALUE, "4"),
#define SIDE_SDT_side_arg_long ~, (SIDE_SDT_VALUE, "-8"),
#define SIDE_SDT_side_arg_ulong ~, (SIDE_SDT_VALUE, "8"),
#define SIDE_SDT_side_arg_long_long ~, (SIDE_SDT_VALUE, "-8"),
#define SIDE_SDT_side_arg_ulong_long ~, (SIDE_SDT_VALUE, "8"),
#define SIDE_SDT_side_arg_float_binary32 ~, (SIDE_SDT_VALUE, "4"),
#define SIDE_SDT_side_arg_float ~, (SIDE_SDT_VALUE, "4"),
#define SIDE_SDT_side_arg_float_binary64 ~, (SIDE_SDT_VALUE, "8"),
#define SIDE_SDT_side_arg_double ~, (SIDE_SDT_VALUE, "8"),
#define SIDE_SDT_side_arg_null ~, (SIDE_SDT_WHOLE, ),
#define SIDE_SDT_side_arg_u128 ~, (SIDE_SDT_WHOLE, ),
#define SIDE_SDT_side_arg_s128 ~, (SIDE_SDT_WHOLE, ),
#define SIDE_SDT_side_arg_float_binary16 ~, (SIDE_SDT_WHOLE, ),
#define SIDE_SDT_side_arg_float_binary128 ~, (SIDE_SDT_WHOLE, ),
#define SIDE_SDT_side_arg_long_double ~, (SIDE_SDT_WHOLE, ),
#define SIDE_SDT_side_arg_dynamic_value ~, (SIDE_SDT_WHOLE, ),

#define SIDE_SDT_DO_FIELD(_ctx, _i, _field)                                     \
	SIDE_SDT_JOIN(SIDE_SECOND(SIDE_SDT_AT_##_i, (SIDE_SDT_DROP, , ), ), \
			SIDE_SDT_HOW(SIDE_PASTE(SIDE_SDT_, SIDE_SDT_TYPE _field)))
#define SIDE_SDT_TYPE(_class, ...) SIDE_SDT_TYPE_I _class
#define SIDE_SDT_TYPE_I(_type, ...) _type
#define SIDE_SDT_HOW(...) \
	SIDE_SECOND(SIDE_PASTE(SIDE_SDT_, __VA_ARGS__), (SIDE_SDT_VALUE, "8"), )
#define SIDE_SDT_JOIN(_at, _how) SIDE_SDT_JOIN_I(SIDE_UNPAREN _at, SIDE_UNPAREN _how)
#define SIDE_SDT_JOIN_I(...) SIDE_SDT_JOIN_II(__VA_ARGS__)
#define SIDE_SDT_JOIN_II(_put, _space, _at, _how, _size) _put(_how, _size, _space, _at)
#define SIDE_SDT_PUT(_how, _size, _space, _at) _how(_size, _space, _at)
#define SIDE_SDT_DROP(_how, _size, _space, _at)
/* Operands in AT&T syntax, also if the compiler writes Intel syntax. */
#define SIDE_SDT_VALUE(_size, _space, _at) _space _size "@" _at "({%0|%%%0})"
#define SIDE_SDT_WHOLE(_size, _space, _at) _space "8@{%1|%%%1}"
#define SIDE_SDT_ARGS(_fields, _flags)                      \
	SIDE_MAP(SIDE_SDT_DO_FIELD, , SIDE_UNPAREN _fields) \
	SIDE_SDT_REMAINDER(SIDE_PASTE(SIDE_SDT_KIND_, _flags), SIDE_IS_PAREN _fields)
#define SIDE_SDT_KIND_0 0
#define SIDE_SDT_KIND_SIDE_EVENT_FLAG_VARIADIC 1
#define SIDE_SDT_REMAINDER(_variadic, _some) SIDE_IF(_variadic)(SIDE_IF(_some)(" ") "8@{%2|%%%2}")

/*
 * Numbers before the texts of the note: the lengths of its owner and of its content, and its type.
 * The addresses in the note are not relocated. A tool that moves code after linking (prelink) moves
 * the section .stapsdt.base as well, and readers compute the difference from it. "?": the linker
 * removes the note with its function. The section .probes is empty: perf computes from it the
 * difference between addresses and file offsets of semaphores, which is that of all data ("R": the
 * linker must keep it).
 */
#ifdef __has_attribute
#if __has_attribute(retain)
#define SIDE_SDT_DATA "awGR"
#endif
#endif
#ifndef SIDE_SDT_DATA
#define SIDE_SDT_DATA "awG"
#endif
#define SIDE_SDT_NOTE(_provider, _event, _args)                                                  \
	"990:\tnop\n"                                                                            \
	"\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"                                                 \
	"\t.pushsection .note.stapsdt, \"?\", \"note\"\n"                                        \
	"\t.balign 4\n"                                                                          \
	"\t.4byte 992f - 991f, 994f - 993f, 3\n"                                                 \
	"991:\t.asciz \"stapsdt\"\n"                                                             \
	"992:\t.balign 4\n"                                                                      \
	"993:\t.8byte 990b, _.stapsdt.base, %c3 + 4\n"                                           \
	"\t.asciz \"" _provider "\"\n"                                                           \
	"\t.asciz \"" _event "\"\n"                                                              \
	"\t.asciz \"" _args "\"\n"                                                               \
	"994:\t.balign 4\n"                                                                      \
	"\t.popsection\n"                                                                        \
	"\t.ifndef _.stapsdt.base\n"                                                             \
	"\t.pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"            \
	"\t.weak _.stapsdt.base\n"                                                               \
	"\t.hidden _.stapsdt.base\n"                                                             \
	"_.stapsdt.base:\n"                                                                      \
	"\t.space 1\n"                                                                           \
	"\t.size _.stapsdt.base, 1\n"                                                            \
	"\t.popsection\n"                                                                        \
	"\t.pushsection .probes, \"" SIDE_SDT_DATA "\", \"progbits\", side_sdt_probes, comdat\n" \
	"\t.balign 2\n"                                                                          \
	"\t.space 2\n"                                                                           \
	"\t.popsection\n"                                                                        \
	"\t.endif\n"

/*
 * The state, by a name whose address is known to the linker: an exported name may be in another
 * object at run time.
 */
#define SIDE_SDT_STATE_side_static_event(_identifier) side_event_state__##_identifier
#define SIDE_SDT_STATE_side_hidden_event(_identifier) side_event_state__##_identifier
#define SIDE_SDT_STATE_side_export_event(_identifier) side_sdt_state__##_identifier
#define SIDE_SDT_ALIAS_side_static_event(_identifier)
#define SIDE_SDT_ALIAS_side_hidden_event(_identifier)
#ifdef __cplusplus
#define SIDE_SDT_C extern "C"
#else
#define SIDE_SDT_C extern
#endif
#define SIDE_SDT_ALIAS_side_export_event(_identifier)                                      \
	SIDE_SDT_C struct side_event_state_0 side_sdt_state__##_identifier __attribute__(( \
			alias("side_event_state__" #_identifier), visibility("hidden")));

/* Memory: the arguments, which only the tracer of the marker reads. */
#define SIDE_SDT_BODY(_define, _identifier, _provider, _event, _fields, _flags)                   \
	__asm__ __volatile__(SIDE_SDT_NOTE(_provider, _event, SIDE_SDT_ARGS(_fields, _flags))     \
			     :                                                                    \
			     : "r"(side_ptr_get(side_vec_->sav)), "r"(side_vec_), "r"(side_var_), \
			     "i"(&SIDE_PASTE(SIDE_SDT_STATE, _define)(_identifier).enabled)       \
			     : "memory")

/*
 * A function with an event's names, which is inlined into each call site. A file that only declares the
 * event has no body for it and calls nothing.
 */
#ifdef __cplusplus
namespace libside
{
struct marker {
	char there[2];
};
struct no_marker {
	char there[1];
};
} /* namespace libside */
#define SIDE_SDT_EVENT(_define, _identifier, _provider, _event, _fields, _flags)          \
	SIDE_PASTE(SIDE_SDT_ALIAS, _define)                                               \
	(_identifier) static inline __attribute__((always_inline, unused))                \
	libside::marker side_sdt__##_identifier(                                          \
			const struct side_arg_vec *side_vec_, const void *side_var_, int) \
	{                                                                                 \
		SIDE_SDT_BODY(_define, _identifier, _provider, _event, _fields, _flags);  \
		return libside::marker();                                                 \
	}
#define SIDE_SDT_DECLARED(_identifier)                     \
	extern libside::no_marker side_sdt__##_identifier( \
			const struct side_arg_vec *, const void *, ...);
#define SIDE_SDT_MARK(_identifier, _vec, _var)                                         \
	if (sizeof(side_sdt__##_identifier(_vec, _var, 0)) == sizeof(libside::marker)) \
		(void)side_sdt__##_identifier(_vec, _var, 0);
#else
#define SIDE_SDT_EVENT(_define, _identifier, _provider, _event, _fields, _flags)                  \
	SIDE_PASTE(SIDE_SDT_ALIAS, _define)                                                       \
	(_identifier) extern const char side_sdt_defined__##_identifier[2];                        \
	SIDE_PASTE(SIDE_SDT_LINK, _define)                                                        \
	void side_sdt__##_identifier(const struct side_arg_vec *side_vec_, const void *side_var_) \
	{                                                                                         \
		SIDE_SDT_BODY(_define, _identifier, _provider, _event, _fields, _flags);          \
	}
/* A function that was declared before cannot be static; one that refers to a static object must be. */
#define SIDE_SDT_LINK_side_static_event static __inline__ __attribute__((always_inline, unused))
#define SIDE_SDT_LINK_side_hidden_event \
	extern __inline__ __attribute__((gnu_inline, always_inline, unused))
#define SIDE_SDT_LINK_side_export_event SIDE_SDT_LINK_side_hidden_event
#define SIDE_SDT_DECLARED(_identifier)                     \
	extern const char side_sdt_defined__##_identifier[];                                       \
	extern void side_sdt__##_identifier(const struct side_arg_vec *, const void *);
/* An array of unknown length is compatible with both. */
#define SIDE_SDT_MARK(_identifier, _vec, _var)                                         \
	if (!__builtin_types_compatible_p(                                             \
			    __typeof__(side_sdt_defined__##_identifier), const char[1]))           \
		side_sdt__##_identifier(_vec, _var);
#endif

#else /* no markers */

#define SIDE_SDT_EVENT(...)
#define SIDE_SDT_DECLARED(...)
#define SIDE_SDT_MARK(...)

#endif

/* The members of the C++ type of a call site, and the use of its arguments. */
#if SIDE_HAVE_SDT
#define SIDE_SDT_SITE(_identifier)                                                             \
	static inline __attribute__((always_inline)) void mark(const struct side_arg_vec *vec) \
	{                                                                                      \
		SIDE_SDT_MARK(_identifier, vec, 0)                                             \
	}
#define SIDE_SDT_SITE_MARK(_site, _vec) _site::mark(_vec);
#else
#define SIDE_SDT_SITE(_identifier) int unused;
#define SIDE_SDT_SITE_MARK(_site, _vec)
#endif

#endif /* SIDE_SDT_H */
