/* SPDX-License-Identifier: MIT */
/*
 * SIDE: the error messages of the static checker. The first line of a compiler's error names the
 * event, the field and the argument that the field expects, in C and C++.
 *
 * A definition of an event has the names of its fields but no call; a call has its arguments but no
 * names. So the definition declares a struct with one member for each field, which is "unavailable"
 * with a sentence. Each argument of a call names that member, in an unevaluated operand: of this
 * struct if the argument does not fit, else of struct side_unchecked, which has all possible
 * members.
 *
 * The signatures in side/static-check.h check the value of a variant in C, and everything if the
 * compiler has no such attribute (before GCC 12).
 */
#ifndef SIDE_STATIC_EXPLAIN_H
#define SIDE_STATIC_EXPLAIN_H

#pragma GCC system_header

#ifdef __has_attribute
#if __has_attribute(unavailable)
#define SIDE_EXPLAINS 1
#endif
#endif

#ifdef SIDE_EXPLAINS

/* The class of a field: a type of C++, a member of C. */
#ifdef __cplusplus
#define SIDE_EXPLAIN_TYPE typedef
#else
#define SIDE_EXPLAIN_TYPE
#endif

#define SIDE_UNCHECKED_1(_i)                                \
	SIDE_EXPLAIN_TYPE struct side_unchecked *type_##_i; \
	char wrong_argument_##_i;
#define SIDE_UNCHECKED_16(_k)                                                               \
	SIDE_UNCHECKED_1(_k##_0)                                                            \
	SIDE_UNCHECKED_1(_k##_1)                                                            \
	SIDE_UNCHECKED_1(_k##_2) SIDE_UNCHECKED_1(_k##_3) SIDE_UNCHECKED_1(                 \
			_k##_4) SIDE_UNCHECKED_1(_k##_5) SIDE_UNCHECKED_1(_k##_6)           \
			SIDE_UNCHECKED_1(_k##_7) SIDE_UNCHECKED_1(_k##_8) SIDE_UNCHECKED_1( \
					_k##_9) SIDE_UNCHECKED_1(_k##_10)                   \
					SIDE_UNCHECKED_1(_k##_11) SIDE_UNCHECKED_1(         \
							_k##_12) SIDE_UNCHECKED_1(_k##_13)  \
							SIDE_UNCHECKED_1(_k##_14)           \
									SIDE_UNCHECKED_1(_k##_15)

/* Has a member for every argument: the indices of SIDE_MAP(). */
struct side_unchecked {
#ifdef __cplusplus
	enum { side_number_ = 0 };
#endif
	char wrong_call;
	SIDE_UNCHECKED_16(0)
	SIDE_UNCHECKED_16(1)
	SIDE_UNCHECKED_16(2) SIDE_UNCHECKED_16(3) SIDE_UNCHECKED_16(4) SIDE_UNCHECKED_16(5) SIDE_UNCHECKED_16(6) SIDE_UNCHECKED_16(
			7) SIDE_UNCHECKED_16(8) SIDE_UNCHECKED_16(9) SIDE_UNCHECKED_16(10) SIDE_UNCHECKED_16(11)
			SIDE_UNCHECKED_16(12) SIDE_UNCHECKED_16(13) SIDE_UNCHECKED_16(14) SIDE_UNCHECKED_16(15) SIDE_UNCHECKED_16(
					16) SIDE_UNCHECKED_16(17) SIDE_UNCHECKED_16(18) SIDE_UNCHECKED_16(19)
					SIDE_UNCHECKED_16(20) SIDE_UNCHECKED_16(21) SIDE_UNCHECKED_16(22) SIDE_UNCHECKED_16(
							23) SIDE_UNCHECKED_16(24) SIDE_UNCHECKED_16(25) SIDE_UNCHECKED_16(26)
							SIDE_UNCHECKED_16(27) SIDE_UNCHECKED_16(28) SIDE_UNCHECKED_16(
									29) SIDE_UNCHECKED_16(30) SIDE_UNCHECKED_16(31)
									SIDE_UNCHECKED_16(32) SIDE_UNCHECKED_16(33) SIDE_UNCHECKED_16(
											34) SIDE_UNCHECKED_16(35)
											SIDE_UNCHECKED_16(36) SIDE_UNCHECKED_16(
													37) SIDE_UNCHECKED_16(38)
													SIDE_UNCHECKED_16(
															39)
															SIDE_UNCHECKED_16(40) SIDE_UNCHECKED_16(41) SIDE_UNCHECKED_16(42) SIDE_UNCHECKED_16(43) SIDE_UNCHECKED_16(44) SIDE_UNCHECKED_16(45) SIDE_UNCHECKED_16(46) SIDE_UNCHECKED_16(47) SIDE_UNCHECKED_16(48) SIDE_UNCHECKED_16(49) SIDE_UNCHECKED_16(50) SIDE_UNCHECKED_16(51) SIDE_UNCHECKED_16(52) SIDE_UNCHECKED_16(53) SIDE_UNCHECKED_16(54) SIDE_UNCHECKED_16(55) SIDE_UNCHECKED_16(56) SIDE_UNCHECKED_16(57) SIDE_UNCHECKED_16(58)
																	SIDE_UNCHECKED_16(59) SIDE_UNCHECKED_16(
																			60) SIDE_UNCHECKED_16(61)
																			SIDE_UNCHECKED_16(62) SIDE_UNCHECKED_16(
																					63)
};

#define SIDE_KIND_NR_0 0
#define SIDE_KIND_NR_SIDE_EVENT_FLAG_VARIADIC 1

/* The number that a call and an event must have in common: twice the number of fields, plus 2 or 3 (variadic). */
#define SIDE_EACH_TWO(_more) SIDE_EACH_TWO_##_more
#define SIDE_EACH_TWO_1(...) 2 + SIDE_EACH_TWO
#define SIDE_EACH_TWO_0

#define SIDE_EVENT_NUMBER(_identifier, _flags)                          \
	(2 * (int)SIDE_ARRAY_SIZE(side_event_fields__##_identifier) + 2 + \
			SIDE_PASTE(SIDE_KIND_NR_, _flags))

#define SIDE_EACH_QUOTE(_more) SIDE_EACH_QUOTE_##_more
#define SIDE_EACH_QUOTE_1(_owner, _i, _name, ...) " \"" _name "\"" SIDE_EACH_QUOTE
#define SIDE_EACH_QUOTE_0
#define SIDE_EACH_EXPLAINED(_more) SIDE_EACH_EXPLAINED_##_more
#define SIDE_EACH_EXPLAINED_1(_owner, _i, _name, _type, _text, ...)                                \
	SIDE_EXPLAIN_TYPE __typeof__(_type) type_##_i;                                         \
	char wrong_argument_##_i __attribute__((unavailable("side: event " #_owner             \
							    ", field \"" _name "\": expected " _text))); \
	SIDE_EACH_EXPLAINED
#define SIDE_EACH_EXPLAINED_0

#define SIDE_SENTENCES_BEGIN(_identifier, _flags)                                                  \
	struct side_fields_of__##_identifier {                                                     \
		char wrong_call __attribute__((unavailable("side: event " #_identifier ": expected " SIDE_PASTE( \
				SIDE_KIND_TEXT_, _flags) " with one argument for each field:"
#define SIDE_SENTENCES_NEXT )));
#define SIDE_SENTENCES_END(_identifier, _flags)                                                    \
		SIDE_FIELDS_NUMBER(_identifier, _flags)                                            \
	};                                                                                         \
	SIDE_EXPLAIN_EVENT(_identifier, _flags)

#ifndef __cplusplus

/*
 * An array of unknown size is compatible with an array of every size. An event that is only
 * declared in this file has such an array.
 */
#define SIDE_FIELDS_NUMBER(...)
#define SIDE_EXPLAIN_EVENT(_identifier, _flags)                                                    \
	extern const char side_event_number__##_identifier[SIDE_EVENT_NUMBER(_identifier, _flags)];
#define SIDE_EXPLAIN_DECLARED_EVENT(_identifier) \
	extern const char side_event_number__##_identifier[];

#define SIDE_NUMBER_IS(_identifier, _number) \
	__builtin_types_compatible_p(        \
			__typeof__(side_event_number__##_identifier), const char[_number])
/* A null pointer to the struct that accepts all members, or to the one that explains. */
#define SIDE_CHOSEN(_fits, ...) \
	((__typeof__(__builtin_choose_expr(_fits, (struct side_unchecked *)0, (__VA_ARGS__ *)0)))0)
#define SIDE_CALL_BEGIN(_identifier)                                                               \
	enum {                                                                                \
		side_call_number_ =
#define SIDE_CALL_CHOOSE(_identifier, _flags)                                                      \
		2 + SIDE_PASTE(SIDE_KIND_NR_, _flags),                                             \
		side_call_fits_ = SIDE_NUMBER_IS(_identifier, side_call_number_),             \
		side_call_checked_ = side_call_fits_ && !SIDE_NUMBER_IS(_identifier, 1)       \
	};                                                                                    \
	typedef __typeof__(*SIDE_CHOSEN(!side_call_checked_,                                  \
			struct side_fields_of__##_identifier)) side_call_fields_ SIDE_UNUSED; \
	(void)sizeof(SIDE_CHOSEN(side_call_fits_, struct side_fields_of__##_identifier)       \
					->wrong_call);
/* An object of side_arg_define_vec() fits several classes: the signatures check it. */
#define SIDE_EACH_FITTED_1(_class, _i)                                                           \
	(void)sizeof(__extension__ _Generic((_class),                                \
		__typeof__(((side_call_fields_ *)0)->type_##_i): (struct side_unchecked *)0, \
		struct side_any_vec *: (struct side_unchecked *)0,                        \
		default: (side_call_fields_ *)0)->wrong_argument_##_i);                            \
	SIDE_EACH_FITTED

#else /* __cplusplus */

namespace libside
{
template <bool Fits, typename Fields> struct chosen {
	typedef side_unchecked type;
};
template <typename Fields> struct chosen<false, Fields> {
	typedef Fields type;
};
template <typename Pointer> struct pointed;
template <typename T> struct pointed<T *> {
	typedef T type;
};
} /* namespace libside */

/* The definition replaces the ellipsis of a declared event. */
#define SIDE_FIELDS_NUMBER(_identifier, _flags)                                                    \
	enum { side_number_ = SIDE_EVENT_NUMBER(_identifier, _flags) };
#define SIDE_EXPLAIN_EVENT(_identifier, _flags)                                                    \
	extern struct side_fields_of__##_identifier *side_event_explained__##_identifier(int) SIDE_UNUSED;
#define SIDE_EXPLAIN_DECLARED_EVENT(_identifier) \
	extern struct side_unchecked *side_event_explained__##_identifier(...) SIDE_UNUSED;

#define SIDE_CHOSEN(_fits, _fields) ((typename libside::chosen<(_fits), _fields>::type *)0)
#define SIDE_CALL_BEGIN(_identifier)                                                               \
	typedef typename libside::pointed<decltype(side_event_explained__##_identifier(0))>::type \
			side_call_event_ SIDE_UNUSED;                                             \
	enum {                                                                                    \
		side_call_number_ =
#define SIDE_CALL_CHOOSE(_identifier, _flags)                                                      \
		2 + SIDE_PASTE(SIDE_KIND_NR_, _flags),                                             \
		side_call_known_ = side_call_event_::side_number_ != 0,                           \
		side_call_fits_ = side_call_number_ == side_call_event_::side_number_             \
	};                                                                                        \
	typedef typename libside::chosen<!side_call_fits_, side_call_event_>::type                \
			side_call_fields_ SIDE_UNUSED;                                            \
	(void)sizeof(SIDE_CHOSEN((!side_call_known_ || side_call_fits_), side_call_event_)        \
					->wrong_call);
#define SIDE_EACH_FITTED_1(_class, _i)                                                           \
	(void)sizeof(SIDE_CHOSEN((!side_call_fits_ ||                                              \
					 libside::fits<typename side_call_fields_::type_##_i,      \
							 __typeof__(_class)>::value),         \
			side_call_fields_)                                                         \
					->wrong_argument_##_i);                                    \
	SIDE_EACH_FITTED

#endif /* __cplusplus */

#define SIDE_EACH_FITTED(_more) SIDE_EACH_FITTED_##_more
#define SIDE_EACH_FITTED_0

#else  /* SIDE_EXPLAINS */

#define SIDE_SENTENCES_BEGIN(_identifier, _flags)
#define SIDE_EACH_QUOTE(_more) SIDE_EACH_SKIP_##_more
#define SIDE_SENTENCES_NEXT
#define SIDE_EACH_EXPLAINED(_more) SIDE_EACH_SKIP_##_more
#define SIDE_SENTENCES_END(_identifier, _flags)
#define SIDE_EXPLAIN_DECLARED_EVENT(_identifier)
#define SIDE_CALL_BEGIN(_identifier)
#define SIDE_EACH_TWO(_more) SIDE_EACH_SKIP_##_more
#define SIDE_CALL_CHOOSE(_identifier, _flags)
#define SIDE_EACH_FITTED(_more) SIDE_EACH_SKIP_##_more

#endif /* SIDE_EXPLAINS */

#endif /* SIDE_STATIC_EXPLAIN_H */
