/* SPDX-License-Identifier: MIT */
/*
 * Filters: an expression over the fields and contexts of an event (docs/reference/filters.md).
 *
 *	text --filter_parse--> program --filter_link--> struct filter --filter_matches--> bool
 *	                               --filter_bind--> struct filter --filter_bound_matches--> bool
 *
 * A *program* is portable bytecode with names in it; it may travel through sockets and is verified
 * by whoever receives it. A *filter* is a program that was linked to one event: names have become
 * positions. There are two kinds, for two sources of values:
 *
 *	linked	reads SIDE arguments in place, inside the traced program
 *	bound	asks a loader for each value (records of a trace, `side view --filter`)
 *
 * Threads: programs and filters never change, so any number of threads may run one at a time.
 *
 * filter_link*(), filter_verify() and filter_matches() call nothing of the C library, allocate
 * nothing and keep errno. filter_matches() and filter_evaluate() are async-signal-safe and
 * reentrant and use general-purpose registers only (calculations with floats keep the others as
 * they are). They never crash as long as every non-NULL pointer in the arguments is readable.
 * Visitors (VLA visitors and the dynamic ones) are functions of the application: the filter runs
 * them, each time it needs a value of theirs, as the recorder does.
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

#define FILTER_PROGRAM_MAX 16384    /* bytes of a program */
#define FILTER_INSTRUCTIONS_MAX 512 /* and its instructions; none runs twice in one evaluation */
#define FILTER_STACK_MAX 16         /* values that an evaluation keeps at a time */
#define FILTER_TEXT_MAX 1024        /* bytes of a string literal, of a name */
#define FILTER_STEPS_MAX 32         /* names and indexes of one path */
#define FILTER_HINT_MAX 80          /* bytes of the hint of an error */

/* A function that takes it fills it in when it fails. */
struct filter_error {
	unsigned int column;        /* from 1, in bytes; 0: not at a column of the text */
	char text[256];             /* part of a sentence: "expected a value, not \")\"" */
	char hint[FILTER_HINT_MAX]; /* "did you mean `==`?"; may be empty */
};

/* ---- programs ---- */

/*
 * Translate an expression. *program is malloc'ed, free() it. Returns 0, -EINVAL (the text, with a
 * column), -E2BIG (too much of something, with a column) or -ENOMEM.
 */
int filter_parse(const char *text, void **program, size_t *size, struct filter_error *error);

/*
 * As much of an expression as somebody else's language can say, which has && || ! and parentheses like this one, and
 * comparisons of a field with a constant.
 */
struct filter_comparison {
	const char *field;
	const char *relation; /* "==", "!=", "<", "<=", ">", ">=", or "&": some of these bits are set */
	const char *text;     /* NULL: with a number */
	uint64_t number;
	bool is_unsigned; /* else it is int64_t */
};

struct filter_language {
	/* Write one, with a NUL behind. False: that cannot be said, or not exactly that. */
	bool (*compare)(void *user, const struct filter_comparison *comparison, char *text,
			size_t capacity);
	void *user;
};

/*
 * 0: the text is true of whatever the expression is true of, and maybe of more. -ENOENT: nothing can be said. -E2BIG: not in that
 * room. Or as filter_parse().
 */
int filter_print(const char *expression, const struct filter_language *language, char *text,
		size_t capacity);

/* May these bytes (of any alignment) be linked and run? 0 or -EINVAL and *why, a sentence part. */
int filter_verify(const void *program, size_t size, const char **why);

/*
 * Call back for each different context that a verified program mentions, by its name in
 * `--context`: "vpid" for $ctx.vpid, "app:shop:request" for $app.shop:request. What the callback
 * returns, when not 0, ends the walk and is its result. The name lives during the call only.
 */
int filter_each_context(const void *program, size_t size,
		int (*callback)(void *user, const char *name), void *user);

/* ---- values ---- */

enum filter_kind {
	FILTER_NONE,   /* nothing there: comparisons with it are neither true nor false */
	FILTER_INT,    /* s, or u when is_unsigned; booleans are 0 and 1 */
	FILTER_DOUBLE, /* f */
	FILTER_STRING, /* text */
	FILTER_WIDE,   /* 128 bits: u and high; only for what does not fit FILTER_INT */
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
	const void *labels; /* integers of a bound filter's loader: see struct filter_loader */
};

static inline void filter_value_signed(struct filter_value *value, int64_t number)
{
	*value = (struct filter_value){.kind = FILTER_INT, .s = number};
}

static inline void filter_value_unsigned(struct filter_value *value, uint64_t number)
{
	*value = (struct filter_value){.kind = FILTER_INT, .is_unsigned = true, .u = number};
}

/* UTF-8 of `size` bytes, or FILTER_TERMINATED for what ends with a NUL. */
static inline void filter_value_text(struct filter_value *value, const void *text, size_t size)
{
	*value = (struct filter_value){
			.kind = FILTER_STRING, .unit_size = 1, .text = text, .size = size};
}

/* ---- linked filters: inside traced programs ---- */

/* Contexts by their names in `--context` (as filter_each_context() gives them). */
struct filter_names {
	int (*resolve)(void *user, const char *context_name); /* an index >= 0, or -1: not known */
	void *user;
};

/* Their values; false: it has none here. Runs where the event is emitted. */
struct filter_contexts {
	bool (*load)(void *user, int index, const void *caller, struct filter_value *value);
	void *user;
	/*
	 * FILTER_VALUES_BYTES bytes, 8-byte aligned, for the values that an evaluation keeps; it may return NULL. Without, and
	 * then, they are on the stack.
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
 * Link a program to one event, whose description has passed visit_description_check(). The program
 * is verified here. Memory is the caller's, filter_link_size() bytes of it, 8-byte aligned; it may
 * be made read-only afterwards. The filter needs neither program nor description any more, but it
 * calls the visitors that were in the description.
 *
 * Every negative result means: this event can never match (a rule with this filter does not want
 * it), error says why.
 *
 *	-ENOENT	the event has no such field, or the context is not known
 *	-EINVAL	the program is damaged, or asks something of a field that its type cannot answer
 *	-E2BIG	the types of the fields unfold too widely
 *	-ENOSPC	memory_size is too small
 *
 * What is missing in only one arm of || is no error: that arm is false. names may be NULL.
 */
ssize_t filter_link_size(const void *program, size_t size,
		const struct side_event_description *description, const struct filter_names *names,
		struct filter_error *error);
int filter_link(const void *program, size_t size, const struct side_event_description *description,
		const struct filter_names *names, void *memory, size_t memory_size,
		struct filter **filter, struct filter_error *error);

/*
 * Does the event match? variadic is NULL for events that are not variadic; contexts may be NULL
 * when the program names none.
 */
static inline bool filter_matches(const struct filter *filter, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, const void *caller,
		const struct filter_contexts *contexts)
{
	return filter->matches(filter, arguments, variadic, caller, contexts);
}

/*
 * Capture: the value of any expression. A comparison gives 1 or 0. Returns 0, or -ENODATA (and
 * FILTER_NONE) when it has no value here. A string points into the arguments. One that a visitor
 * of the application made has no value.
 */
int filter_evaluate(const struct filter *filter, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, const void *caller,
		const struct filter_contexts *contexts, struct filter_value *value);

/* ---- bound filters: over records of a trace ---- */

enum filter_root {
	FILTER_FIELD,   /* steps lead from the event's fields inwards */
	FILTER_CONTEXT, /* one step: the name of the context, as filter_each_context() gives it */
};

/* What is asked of the thing at the end of the path. */
enum filter_ask {
	FILTER_ASK_VALUE,
	FILTER_ASK_LENGTH,   /* len(): the number of elements (FILTER_INT), or the string itself */
	FILTER_ASK_PRESENCE, /* has(): whether load() returns true; the value is not looked at */
};

struct filter_step {
	const char *name; /* NULL: an index */
	uint32_t index;
};

struct filter_path {
	enum filter_root root;
	enum filter_ask ask;
	uint32_t nr_steps;
	const struct filter_step *steps; /* live as long as the callback runs */
};

/*
 * Optionals and variants stand in no path: `v.x` is member x of the chosen option, a value of an
 * optional is the value in it.
 */
struct filter_schema {
	/* A handle >= 0 for load(), or -1: records of this class never have this. */
	int (*resolve)(void *user, const struct filter_path *path);
	void *user;
};

struct filter_loader {
	/* The value behind a handle; false: this record has none. *value is FILTER_NONE before. */
	bool (*load)(void *user, int handle, struct filter_value *value);
	/*
	 * Enumerations: value->labels (set by load(), not NULL) has labels. Gives the first one for
	 * *at == 0, then the next ones, NULL at the end; *size is set to the bytes of each. May be
	 * NULL when no value has labels.
	 */
	const char *(*label)(
			void *user, const struct filter_value *value, uint32_t *at, size_t *size);
	void *user;
};

/*
 * Bind a program to one class of records, once for each class. The filter is malloc'ed, free() it.
 * Results as filter_link(): negative: records of this class can never match. -ENOMEM is the only
 * one that means something else.
 */
int filter_bind(const void *program, size_t size, const struct filter_schema *schema,
		struct filter **filter, struct filter_error *error);
bool filter_bound_matches(const struct filter *filter, const struct filter_loader *loader);
int filter_bound_evaluate(const struct filter *filter, const struct filter_loader *loader,
		struct filter_value *value);

/* The same for single records and no hurry: nothing is kept, each value is asked for by path. */
struct filter_source {
	bool (*load)(void *user, const struct filter_path *path, struct filter_value *value);
	const char *(*label)(
			void *user, const struct filter_value *value, uint32_t *at, size_t *size);
	void *user;
};

bool filter_matches_source(const void *program, size_t size, const struct filter_source *source);

#endif /* SIDE_FILTER_FILTER_H */
