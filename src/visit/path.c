/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "visit/path.h"

/* Outermost steps first. Returns how much of where is filled; what does not fit is cut. */
static size_t write_steps(const struct visit_step *step, char *where, size_t size)
{
	/* The steps inwards from the event, at most the innermost 24: a sentence, not an essay. */
	const struct visit_step *steps[24];
	size_t used = 0;
	int nr = 0, i;

	for (; step && nr < 24; step = step->up)
		steps[nr++] = step;
	for (i = nr - 1; i >= 0 && used < size; i--) {
		const char *line = i == nr - 1 ? "" : "\n";
		int written = 0;

		step = steps[i];
		switch (step->kind) {
		case VISIT_STEP_EVENT:
			written = snprintf(where + used, size - used, "%s%.80s:%.80s", line,
					step->name ? step->name : "(null)",
					step->name2 ? step->name2 : "(null)");
			break;
		case VISIT_STEP_FIELD:
			written = snprintf(where + used, size - used, "%sfield: \"%.60s\"", line,
					step->name ? step->name : "(null)");
			break;
		case VISIT_STEP_INDEX:
			written = snprintf(where + used, size - used, "%sindex: %u", line,
					(unsigned int)step->index);
			break;
		case VISIT_STEP_OPTION:
			written = snprintf(where + used, size - used, "%soption: %u", line,
					(unsigned int)step->index);
			break;
		case VISIT_STEP_WORD:
			written = snprintf(where + used, size - used, "%s%s", line, step->name);
			break;
		}
		used += written > 0 ? (size_t)written : 0;
	}
	return used;
}

int visit_fail(struct visit_error *error, const struct visit_step *here, int code,
		const char *format, ...)
{
	int saved = errno;
	va_list args;

	if (!error)
		return code;
	va_start(args, format);
	vsnprintf(error->what, sizeof(error->what), format, args);
	va_end(args);
	error->where[0] = error->expected[0] = error->found[0] = '\0';
	write_steps(here, error->where, sizeof(error->where));
	errno = saved;
	return code;
}

char *visit_error_sentence(const struct visit_error *error, char *out, size_t size)
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
