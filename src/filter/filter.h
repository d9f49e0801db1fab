/* SPDX-License-Identifier: MIT */
/*
 * Filters: an expression over the fields and contexts of an event (docs/reference/filters.md).
 *
 *   text --filter_parse--> program --filter_link--> struct filter --filter_matches--> bool
 *                                  --filter_bind--> struct filter --filter_bound_matches--> bool
 *
 * A *program* is portable bytecode that contains names; it may be sent through sockets, and each
 * receiver verifies it. A *filter* is a program that was linked to one event: names have become
 * positions. There are two types of filters, for two sources of values:
 *
 *   linked  reads SIDE arguments in place, inside the traced program
 *   bound   requests each value from a loader (records of a trace, `side view --filter`)
 *
 * Threads: programs and filters are immutable, so any number of threads may run one at the same
 * time.
 *
 * filter_link*(), filter_verify() and filter_matches() call no function of the C library, allocate
 * nothing and keep errno. filter_matches() and filter_evaluate() are async-signal-safe and
 * reentrant and use general-purpose registers only (calculations with floats save and restore the
 * vector registers that they use). They never crash as long as every non-NULL pointer in the
 * arguments is readable. Visitors (VLA visitors and the dynamic ones) are functions of the
 * application: the filter runs them each time it needs one of their values, as the recorder
 * does.
 */
#ifndef SIDE_FILTER_FILTER_H
#define SIDE_FILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct side_arg_dynamic_struct;
struct side_arg_vec;
struct side_event_description;

#define FILTER_PROGRAM_MAX 16384 /* bytes of a program */
/* instructions of a program; none runs twice in one evaluation */
#define FILTER_INSTRUCTIONS_MAX 512
#define FILTER_STACK_MAX 16  /* values on the stack of an evaluation */
#define FILTER_TEXT_MAX 1024 /* bytes of a string literal, of a name */
#define FILTER_STEPS_MAX 32  /* names and indexes of one path */
#define FILTER_HINT_MAX 80   /* bytes of the hint of an error */

/* The error of a failed function. */
struct filter_error {
	unsigned int column;        /* from 1, in bytes; 0: not at a column of the text */
	char text[256];             /* without a subject: "expected a value, not \")\"" */
	char hint[FILTER_HINT_MAX]; /* "did you mean `==`?"; may be empty */
};

/* ---- programs ---- */

/*
 * Translate an expression. *ret_program is malloc'ed, free() it. Returns 0, -EINVAL (the text is
 * invalid; with a column), -E2BIG (a limit is exceeded; with a column) or -ENOMEM.
 */
int filter_parse(
		const char *text, void **ret_program, size_t *ret_size, struct filter_error *error);

/*
 * A comparison that another filter language can express. The language has && || ! and parentheses
 * like this one, and comparisons of a field with a constant.
 */
struct filter_comparison {
	const char *field;
	/* "==", "!=", "<", "<=", ">", ">=", or "&": at least one of these bits is set */
	const char *relation;
	const char *text; /* NULL: compared with a number */
	uint64_t number;
	bool is_unsigned; /* number is uint64_t, else int64_t */
};

struct filter_language {
	/* Write a comparison with a NUL behind. False: the language cannot express it exactly. */
	bool (*compare)(void *user, const struct filter_comparison *comparison, char *text,
			size_t capacity);
	void *user;
};

/*
 * Translate an expression to another language. 0: the text is true whenever the expression is true,
 * and maybe more often. -ENOENT: nothing can be translated. -E2BIG: it does not fit `capacity`. Or
 * an error of filter_parse().
 */
int filter_print(const char *expression, const struct filter_language *language, char *text,
		size_t capacity);

/* Check that these bytes (of any alignment) can be linked and run. 0, or -EINVAL with *ret_why, a
   reason without a subject. */
int filter_verify(const void *program, size_t size, const char **ret_why);

/*
 * Call back for each different context of a verified program, by its name in `--context`: "vpid"
 * for $ctx.vpid, "app:shop:request" for $app.shop:request. If the callback does not return 0, the
 * walk ends and returns its result. The name is valid only during the call.
 */
int filter_each_context(const void *program, size_t size,
		int (*callback)(void *user, const char *name), void *user);

/* ---- values ---- */

enum filter_kind {
	FILTER_NONE,   /* no value: comparisons with it are neither true nor false */
	FILTER_INT,    /* s, or u when is_unsigned; booleans are 0 and 1 */
	FILTER_DOUBLE, /* f */
	FILTER_STRING, /* text */
	FILTER_WIDE,   /* 128 bits: u and high; only for integers that do not fit FILTER_INT */
};

#define FILTER_TERMINATED SIZE_MAX

struct filter_value {
	uint8_t kind; /* enum filter_kind */
	bool is_unsigned;
	uint8_t unit_size;  /* strings: bytes of a code unit, 1, 2 or 4 */
	uint8_t byte_order; /* strings: enum side_type_label_byte_order */
	union {
		int64_t s;
		uint64_t u;
		double f;
		const void *text;
	};
	union {
		size_t size;   /* strings: in bytes, or FILTER_TERMINATED */
		uint64_t high; /* FILTER_WIDE */
	};
	const void *labels; /* of integers of a bound filter's loader: see struct filter_loader */
};

static inline void filter_value_signed(struct filter_value *ret_value, int64_t number)
{
	*ret_value = (struct filter_value){.kind = FILTER_INT, .s = number};
}

static inline void filter_value_unsigned(struct filter_value *ret_value, uint64_t number)
{
	*ret_value = (struct filter_value){.kind = FILTER_INT, .is_unsigned = true, .u = number};
}

/* UTF-8 of `size` bytes, or FILTER_TERMINATED for a text that ends with a NUL. */
static inline void filter_value_text(struct filter_value *ret_value, const void *text, size_t size)
{
	*ret_value = (struct filter_value){
			.kind = FILTER_STRING, .unit_size = 1, .text = text, .size = size};
}

/* ---- linked filters: inside traced programs ---- */

/* Finds contexts by their names in `--context` (as filter_each_context() passes them). */
struct filter_names {
	/* an index >= 0, or -1: unknown context */
	int (*resolve)(void *user, const char *context_name);
	void *user;
};

/* Loads their values; false: no value here. Runs where the event is emitted. */
struct filter_contexts {
	bool (*load)(void *user, int index, const void *caller, struct filter_value *ret_value);
	void *user;
	/*
	 * Returns FILTER_VALUES_BYTES bytes, 8-byte aligned, for the values of an evaluation. If it
	 * returns NULL, or is NULL, the values are on the stack.
	 */
	void *(*memory)(void);
};
#define FILTER_VALUES_BYTES ((FILTER_STACK_MAX + 1) * sizeof(struct filter_value))

struct filter {
	bool (*matches)(const struct filter *filter, const struct side_arg_vec *arguments,
			const struct side_arg_dynamic_struct *variadic, const void *caller,
			const struct filter_contexts *contexts);
};

/*
 * Link a program to one event, whose description has passed visit_description_check(). Verifies the
 * program. The caller provides the memory, filter_link_size() bytes of it, 8-byte aligned; it may
 * make the memory read-only afterwards. The filter does not use the program and the description
 * afterwards, but it calls the visitors of the description.
 *
 * A negative result means that this event can never match (a rule with this filter does not select
 * it); error has the reason.
 *
 *   -ENOENT  the event has no such field, or the context is unknown
 *   -EINVAL  the program is damaged, or uses a field in a way that its type does not support
 *   -E2BIG   the types of the fields unfold to too many moves
 *   -ENOSPC  memory_size is too small
 *
 * A field that is missing in only one operand of || is no error: that operand is false. names may
 * be NULL.
 */
ssize_t filter_link_size(const void *program, size_t size,
		const struct side_event_description *description, const struct filter_names *names,
		struct filter_error *error);
int filter_link(const void *program, size_t size, const struct side_event_description *description,
		const struct filter_names *names, void *memory, size_t memory_size,
		struct filter **ret_filter, struct filter_error *error);

/*
 * True if the event matches. variadic is NULL for events that are not variadic; contexts may be
 * NULL if the program uses none.
 */
static inline bool filter_matches(const struct filter *filter, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, const void *caller,
		const struct filter_contexts *contexts)
{
	return filter->matches(filter, arguments, variadic, caller, contexts);
}

/*
 * Get the value of any expression (capture). A comparison gives 1 or 0. Returns 0, or -ENODATA (and
 * FILTER_NONE) if it has no value here. A string points into the arguments. A string of an
 * application's visitor has no value.
 */
int filter_evaluate(const struct filter *filter, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, const void *caller,
		const struct filter_contexts *contexts, struct filter_value *ret_value);

/* ---- bound filters: over records of a trace ---- */

enum filter_root {
	FILTER_FIELD,   /* the steps are a path from the event's fields inwards */
	FILTER_CONTEXT, /* one step: the name of the context, as filter_each_context() passes it */
};

/* The requested property of the element at the end of the path. */
enum filter_ask {
	FILTER_ASK_VALUE,
	FILTER_ASK_LENGTH,   /* len(): the number of elements (FILTER_INT), or the string itself */
	FILTER_ASK_PRESENCE, /* has(): the result of load(); the value is ignored */
};

struct filter_step {
	const char *name; /* NULL: the step is an index */
	uint32_t index;
};

struct filter_path {
	enum filter_root root;
	enum filter_ask ask;
	uint32_t nr_steps;
	const struct filter_step *steps; /* valid during the callback */
};

/*
 * Optionals and variants have no step in a path: `v.x` is member x of the selected option, the
 * value of an optional is the value in it.
 */
struct filter_schema {
	/* A handle >= 0 for load(), or -1: no record of this class has it. */
	int (*resolve)(void *user, const struct filter_path *path);
	void *user;
};

struct filter_loader {
	/* Load the value of a handle; false: this record has none. *ret_value is FILTER_NONE before
	   the call. */
	bool (*load)(void *user, int handle, struct filter_value *ret_value);
	/*
	 * Get the labels of an enumeration's value: value->labels (set by load(), not NULL) has
	 * labels. Returns the first one for *ret_at == 0, then the next ones, NULL at the end;
	 * *ret_size is set to the bytes of each. May be NULL if no value has labels.
	 */
	const char *(*label)(void *user, const struct filter_value *value, uint32_t *ret_at,
			size_t *ret_size);
	void *user;
};

/*
 * Bind a program to one class of records, once for each class. The filter is malloc'ed, free() it.
 * Results as for filter_link(): a negative result means that no record of this class can match,
 * except -ENOMEM.
 */
int filter_bind(const void *program, size_t size, const struct filter_schema *schema,
		struct filter **ret_filter, struct filter_error *error);
bool filter_bound_matches(const struct filter *filter, const struct filter_loader *loader);
int filter_bound_evaluate(const struct filter *filter, const struct filter_loader *loader,
		struct filter_value *ret_value);

/* The same for single records, slower: nothing is cached, and each value is requested by its
   path. */
struct filter_source {
	bool (*load)(void *user, const struct filter_path *path, struct filter_value *ret_value);
	const char *(*label)(void *user, const struct filter_value *value, uint32_t *ret_at,
			size_t *ret_size);
	void *user;
};

/* Verifies and binds the program at each call. False also for an invalid program, or if out of
   memory. */
bool filter_matches_source(const void *program, size_t size, const struct filter_source *source);

#endif /* SIDE_FILTER_FILTER_H */
