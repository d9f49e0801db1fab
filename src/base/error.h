/* SPDX-License-Identifier: MIT */
/*
 * Errors of libraries: a code, a message "PROBLEM: REASON", a hint, and a position in a text that
 * the user wrote.
 *
 * The function that knows what went wrong writes the message once and returns the negative code. A
 * caller adds only what it knows better: error_add_context() puts its problem before the message,
 * error_set_hint() says what to do. A program prints the message after its own name, and each line
 * of the hint after "hint: ".
 *
 *	static int settings_read(const char *path, struct settings *ret_settings, struct error *error)
 *	{
 *		int fd = open(path, O_RDONLY | O_CLOEXEC);
 *
 *		if (fd < 0)
 *			return error_set_system(error, errno, "cannot read %s", path);
 *		...
 *
 * Not for code inside traced programs. Nothing is allocated. Texts that are longer than their space
 * end in "…" and are cut between characters. The arguments of a format may be texts of the same
 * error. Every function accepts NULL as the error.
 *
 * Context: thread. Each error belongs to one thread at a time.
 */
#ifndef SIDE_BASE_ERROR_H
#define SIDE_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes with the NUL. */
#define ERROR_TEXT_SIZE 1024
#define ERROR_HINT_SIZE 1024
#define ERROR_INPUT_SIZE 1024

/* What a program derives its exit status from. */
enum error_kind {
	ERROR_NONE,
	ERROR_FAILED,
	ERROR_USAGE,          /* a value that the user gave is invalid */
	ERROR_PERMISSION,     /* the message names the missing right */
	ERROR_NOT_FOUND,      /* the object that the user named does not exist */
	ERROR_BUSY,           /* the object is in use, or is in another state */
	ERROR_NOT_EXECUTABLE, /* the command cannot be executed */
};

struct error {
	enum error_kind kind;
	int code;      /* negative errno; 0: no error */
	size_t reason; /* offset of the reason in the text; 0: it has no separate one */
	char text[ERROR_TEXT_SIZE];   /* "PROBLEM" or "PROBLEM: REASON" */
	char hint[ERROR_HINT_SIZE];   /* lines; empty: no hint */
	char input[ERROR_INPUT_SIZE]; /* what the user wrote; empty: no text */
	unsigned int line;            /* in the input, from 1; 0: no line */
	unsigned int column;          /* from 1, in bytes; 0: no column */
};

/* Makes it no error. */
void error_clear(struct error *error);

/*
 * Replaces the whole error, position included. The hint may be NULL or "". Returns the code, which
 * is negative. The kind is ERROR_PERMISSION for -EPERM and -EACCES, and ERROR_FAILED for all other
 * codes.
 */
int error_set(struct error *error, int code, const char *hint, const char *format, ...)
		__attribute__((format(printf, 4, 5)));
/* The same with another kind. */
int error_set_kind(struct error *error, enum error_kind kind, int code, const char *hint,
		const char *format, ...) __attribute__((format(printf, 5, 6)));
/*
 * The same with "PROBLEM: REASON", where the reason is error_strerror(code). The code has either
 * sign; the result is negative.
 */
int error_set_system(struct error *error, int code, const char *format, ...)
		__attribute__((format(printf, 3, 4)));
/* "out of memory" with -ENOMEM, which it returns. */
int error_set_no_memory(struct error *error);

/* Appends ": REASON". */
void error_set_reason(struct error *error, const char *format, ...)
		__attribute__((format(printf, 2, 3)));
/* Replaces the hint. */
void error_set_hint(struct error *error, const char *format, ...)
		__attribute__((format(printf, 2, 3)));
/*
 * Puts "CONTEXT: " before the message, which becomes the reason. Kind, code, hint and position
 * stay.
 */
void error_add_context(struct error *error, const char *format, ...)
		__attribute__((format(printf, 2, 3)));
/*
 * Sets the position in a text of the user, of which it keeps a copy. The input may be NULL: the
 * position has no text.
 */
void error_set_position(
		struct error *error, const char *input, unsigned int line, unsigned int column);

/* The reason, or "" if the message has no separate one. */
const char *error_reason(const struct error *error);
/* Copies the problem, cut to `size` bytes with the NUL. Returns `problem`. */
const char *error_problem(const struct error *error, char *problem, size_t size);

/*
 * What the errno value means, in the words of the C locale. The code has either sign. Unlike
 * strerror(), it needs no memory and no locale, and can be called by any thread. ENOMEM is "out of
 * memory".
 */
const char *error_strerror(int code);
/*
 * Whether the process or the system lacks memory or descriptors: the same call can succeed later.
 * The code has either sign.
 */
bool error_is_lack_of_resources(int code);

#endif /* SIDE_BASE_ERROR_H */
