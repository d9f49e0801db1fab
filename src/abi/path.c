/* SPDX-License-Identifier: MIT */
/* Formats error messages with the path to the wrong part of a description or argument. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "abi/path.h"

/* A message has at most this many of the outermost and of the innermost steps. */
#define STEPS_OUTER 12u
#define STEPS_INNER 12u

/* Returns the result of snprintf(). */
static int path_write_step(const struct visit_step *step, const char *line, char *to, size_t size)
{
	switch (step->kind) {
	case VISIT_STEP_EVENT:
		return snprintf(to, size, "%s%.80s:%.80s", line, step->name ? step->name : "(null)",
				step->name2 ? step->name2 : "(null)");
	case VISIT_STEP_FIELD:
		return snprintf(to, size, "%sfield: \"%.60s\"", line,
				step->name ? step->name : "(null)");
	case VISIT_STEP_INDEX:
		return snprintf(to, size, "%sindex: %u", line, (unsigned int)step->index);
	case VISIT_STEP_OPTION:
		return snprintf(to, size, "%soption: %u", line, (unsigned int)step->index);
	case VISIT_STEP_WORD: return snprintf(to, size, "%s%s", line, step->name);
	}
	return 0;
}

/* Write the outermost steps first; the text is truncated at its size. */
static void abi_path_write_steps(const struct visit_step *innermost, char *where, size_t size)
{
	const struct visit_step *steps[STEPS_OUTER + STEPS_INNER], *step;
	unsigned int nr = 0, i, at = 0;
	size_t used = 0;

	for (step = innermost; step; step = step->up)
		nr++;
	for (step = innermost, i = 0; step; step = step->up, i++) {
		if (i < STEPS_INNER || i >= nr - STEPS_OUTER)
			steps[at++] = step;
	}
	while (at && used < size) {
		int written = path_write_step(
				steps[--at], used ? "\n" : "", where + used, size - used);

		used += written > 0 ? (size_t)written : 0;
		if (at == STEPS_INNER && nr > STEPS_OUTER + STEPS_INNER && used < size) {
			written = snprintf(where + used, size - used, "\n...");
			used += written > 0 ? (size_t)written : 0;
		}
	}
}

void visit_error_format(struct visit_error *error, const char *format, va_list args)
{
	char text[sizeof(error->what) + sizeof(error->hint)], *end;

	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is initialized */
	vsnprintf(text, sizeof(text), format, args);
	/* The printed arguments may contain line ends, too: search for the last one. */
	end = strchr(format, '\n') ? strrchr(text, '\n') : NULL;
	(void)snprintf(error->hint, sizeof(error->hint), "%.*s", (int)sizeof(error->hint) - 1,
			end ? end + 1 : "");
	if (end)
		*end = '\0';
	(void)snprintf(error->what, sizeof(error->what), "%.*s", (int)sizeof(error->what) - 1,
			text);
	error->where[0] = error->expected[0] = error->found[0] = '\0';
}

int visit_fail(struct visit_error *error, const struct visit_step *here, int code,
		const char *format, ...)
{
	int saved = errno;
	va_list args;

	if (!error)
		return code;
	va_start(args, format);
	visit_error_format(error, format, args);
	va_end(args);
	abi_path_write_steps(here, error->where, sizeof(error->where));
	errno = saved;
	return code;
}

char *visit_error_problem(const struct visit_error *error, char *out, size_t size)
{
	size_t used, i;

	if (!size)
		return out;
	snprintf(out, size, "%s%s", error->what, error->where[0] ? " (in " : "");
	used = strlen(out);
	for (i = 0; error->where[0] && error->where[i] && used + 3 < size; i++) {
		if (error->where[i] == '\n') {
			out[used++] = ',';
			out[used++] = ' ';
		} else {
			out[used++] = error->where[i];
		}
	}
	if (error->where[0] && used + 1 < size)
		out[used++] = ')';
	out[used] = '\0';
	return out;
}

char *visit_error_sentence(const struct visit_error *error, char *out, size_t size)
{
	size_t used;

	if (!size)
		return out;
	used = strlen(visit_error_problem(error, out, size));
	if (error->hint[0])
		snprintf(out + used, size - used, "; %s", error->hint);
	return out;
}
