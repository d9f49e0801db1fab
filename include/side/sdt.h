/* SPDX-License-Identifier: MIT */
/*
 * SIDE: markers beside events, for tracers that know nothing of SIDE.
 *
 * With SIDE_SDT defined before the first include (or -DSIDE_SDT), each place that emits an event is a
 * marker (SDT, USDT) PROVIDER:EVENT as well, which BPF, perf, gdb, SystemTap and `side ... --sdt` know
 * how to find.  x86-64 only; elsewhere, and without SIDE_SDT, nothing here leaves a trace in the program.
 *
 * Where.  The marker is a nop and a nop of five bytes in the path of an event that somebody wants; an
 * ELF note in .note.stapsdt, which is not loaded, says where the first one is.  Five bytes can be made a
 * call by the kernel (6.18) and a jump by us, without touching anything else.
 *
 * When.  A marker has a semaphore: two bytes that tracers count themselves in.  Here these are bytes 4 and
 * 5 of the event's enabled word, so the one test that each event has already sees them: no listener, no
 * cost.  They are a part of the count of private enablers (bits 0 to 55) that no count of those reaches, and
 * nobody but such tracers writes them: kernel and debuggers two bytes at a time, libside the whole word
 * atomically.  An event that only they want goes on to libside, which finds no callback.
 *
 * What.  Argument i is field i, for the first 12 fields: booleans, integers and pointers by value (in the
 * byte order that the call site gives), floats of 32 and 64 bits by their bits (gdb 13 reads no argument
 * behind one that says it is a float), text and gathered fields as addresses, structures, arrays and VLAs
 * as addresses of their struct side_arg_vec, variants, optionals and visitors as those of their
 * structures of the ABI; all else (128 bits, null, dynamic) as the address of the event's own struct
 * side_arg_vec.  The address of the variadic part comes last.
 *
 * Names of provider and event stand in assembly: they must be literals there, without " \ % { | and }.
 * Events of side_declare_event() have no names where they are only declared, and so no marker there.
 */
#ifndef SIDE_SDT_H
#define SIDE_SDT_H

#pragma GCC system_header

#include <side/abi/event-description.h>
#include <side/abi/type-argument.h>
#include <side/list.h>
#include <side/macros.h>

/* Position-independent code of the larger models has no constant that is an address. */
#if defined(SIDE_SDT) && defined(__x86_64__) && defined(__LP64__) && \
		!(defined(__PIC__) &&                                \
				(defined(__code_model_medium__) || defined(__code_model_large__)))
#define SIDE_HAVE_SDT 1
#else
#define SIDE_HAVE_SDT 0
#endif

#if SIDE_HAVE_SDT

/* Where argument i is: operand 0 is the address of the event's struct side_arg, 64 bytes each, the value at 4. */
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
 * How a field becomes an argument, by its class: the C type "struct side_arg_u32 *", of which "struct" is
 * taken away and the name pasted on.  A name that is no macro here is that of an address.
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
/* Operands are those of AT&T also where the compiler writes Intel's. */
#define SIDE_SDT_VALUE(_size, _space, _at) _space _size "@" _at "({%0|%%%0})"
#define SIDE_SDT_WHOLE(_size, _space, _at) _space "8@{%1|%%%1}"
#define SIDE_SDT_ARGS(_fields, _flags)                      \
	SIDE_MAP(SIDE_SDT_DO_FIELD, , SIDE_UNPAREN _fields) \
	SIDE_SDT_REST(SIDE_PASTE(SIDE_SDT_KIND_, _flags), SIDE_IS_PAREN _fields)
#define SIDE_SDT_KIND_0 0
#define SIDE_SDT_KIND_SIDE_EVENT_FLAG_VARIADIC 1
#define SIDE_SDT_REST(_variadic, _some) SIDE_IF(_variadic)(SIDE_IF(_some)(" ") "8@{%2|%%%2}")

/*
 * Numbers before the texts of the note: the lengths of its owner and of its content, and its type.  The
 * section .stapsdt.base moves as code does where that is moved after linking (prelink), so readers know
 * by how much the addresses, which nobody relocates, are wrong.  "?": the note goes with the function it
 * is about, if the linker drops that.  In .probes there is nothing: perf takes the distance between the
 * addresses and the offsets of semaphores from that section, which is that of all data ("R": so the
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
 * The state, under a name whose address the linker knows: that of an exported one may turn out to be in
 * another object.
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

/* Memory: the arguments, which only whoever is at the marker reads. */
#define SIDE_SDT_BODY(_define, _identifier, _provider, _event, _fields, _flags)                   \
	__asm__ __volatile__(SIDE_SDT_NOTE(_provider, _event, SIDE_SDT_ARGS(_fields, _flags))     \
			     :                                                                    \
			     : "r"(side_ptr_get(side_vec_->sav)), "r"(side_vec_), "r"(side_var_), \
			     "i"(&SIDE_PASTE(SIDE_SDT_STATE, _define)(_identifier).enabled)       \
			     : "memory")

/*
 * A function that is always inlined, with an event's names: into each place that emits it.  Where an event
 * is only declared nothing has a body, and nothing is called.
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
	(_identifier) extern const char side_sdt_there__##_identifier[2];                         \
	SIDE_PASTE(SIDE_SDT_LINK, _define)                                                        \
	void side_sdt__##_identifier(const struct side_arg_vec *side_vec_, const void *side_var_) \
	{                                                                                         \
		SIDE_SDT_BODY(_define, _identifier, _provider, _event, _fields, _flags);          \
	}
/* What was declared before cannot be static; what refers to something static has to be. */
#define SIDE_SDT_LINK_side_static_event static __inline__ __attribute__((always_inline, unused))
#define SIDE_SDT_LINK_side_hidden_event \
	extern __inline__ __attribute__((gnu_inline, always_inline, unused))
#define SIDE_SDT_LINK_side_export_event SIDE_SDT_LINK_side_hidden_event
#define SIDE_SDT_DECLARED(_identifier)                     \
	extern const char side_sdt_there__##_identifier[]; \
	extern void side_sdt__##_identifier(const struct side_arg_vec *, const void *);
/* An array of unknown length is compatible with both. */
#define SIDE_SDT_MARK(_identifier, _vec, _var)                                         \
	if (!__builtin_types_compatible_p(                                             \
			    __typeof__(side_sdt_there__##_identifier), const char[1])) \
		side_sdt__##_identifier(_vec, _var);
#endif

#else /* no markers */

#define SIDE_SDT_EVENT(...)
#define SIDE_SDT_DECLARED(...)
#define SIDE_SDT_MARK(...)

#endif

/* The members of the type that stands for a call site of C++, and what it does with its arguments. */
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
