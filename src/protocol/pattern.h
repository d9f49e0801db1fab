/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROTOCOL_PATTERN_H
#define SIDE_PROTOCOL_PATTERN_H

/*
 * Patterns of event names: defines `-e PATTERN`.
 *
 *   [!] GLOB [@ [=] LEVEL]
 *
 * GLOB is matched against the whole "provider:event". `*` matches any bytes (also a colon), `?` one
 * UTF-8 character, `[a-z]` and `[!a-z]` are sets of bytes, `\` quotes the next byte. A GLOB without
 * a colon names providers: `app` is `app:*`, `*` is `*:*`.
 *
 * `@LEVEL` also requires a log level: that one or a more severe one; `@=LEVEL` exactly that one.
 * LEVEL is EMERG, ALERT, CRIT, ERR, WARNING, NOTICE, INFO or DEBUG (ERROR, WARN, in any case), or 0
 * to 7. A literal `@` is written `\@`.
 *
 * A set of patterns selects an event if any pattern without `!` matches it (or if the set has none
 * without `!`) and no pattern with `!` does. The order does not matter.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_TEXT_MAX 511

/*
 * Prefix of patterns in rules of sessions that select events of the kernel, and none of a program:
 * `kernel::sched:sched_switch`. The recorder of kernel events (programs/side-kernel) parses only
 * such patterns, with pattern_parse_kernel(). For all other recorders such a pattern names a
 * provider that does not exist.
 */
#define PATTERN_KERNEL "kernel::"

enum pattern_level { PATTERN_LEVEL_ANY, PATTERN_LEVEL_AT_LEAST, PATTERN_LEVEL_EXACTLY };

/* Contains no pointer: an array of patterns can be in any memory. */
struct pattern {
	bool exclude;
	uint8_t level_mode; /* enum pattern_level */
	uint8_t level;
	uint16_t glob_size;
	char glob[PATTERN_TEXT_MAX + 3]; /* with ":*" appended if it had no colon */
};

struct pattern_error {
	unsigned int column; /* from 1 */
	const char *reason;  /* static, without a subject: "a set that is not closed" */
};

/*
 * The length of the first pattern of a list: up to a comma that is not within a set, `[,]`, and has
 * no `\` before it.
 */
size_t pattern_list_first(const char *text);

/* 0, or -EINVAL with `*error` filled in. */
int pattern_parse(const char *text, struct pattern *ret_pattern, struct pattern_error *error);

/*
 * Parse a pattern of the kernel's events, with or without PATTERN_KERNEL, into up to
 * PATTERN_KERNEL_MAX patterns. A word without a colon may name a system, as everywhere, or an
 * event, as in other tracers; a tracepoint with EventHeader also selects the events that it
 * carries, `user_events:app_L4K1:tick`. Returns their number, or -EINVAL.
 */
#define PATTERN_KERNEL_MAX 3
int pattern_parse_kernel(const char *text, struct pattern ret_patterns[PATTERN_KERNEL_MAX],
		struct pattern_error *error);
/* True if the pattern begins with PATTERN_KERNEL, also behind a `!`. */
bool pattern_is_kernel(const char *text);

/* Format the message: `pattern "app:[ab": column 5: a set that is not closed by "]"`. */
void pattern_error_text(
		char *buffer, size_t size, const char *text, const struct pattern_error *error);

/* True if the pattern matches, whether or not it has a "!". */
bool pattern_matches(const struct pattern *pattern, const char *provider, const char *event,
		unsigned int level);

/* True if the set selects the event. */
bool pattern_set_wants(const struct pattern *patterns, size_t nr_patterns, const char *provider,
		const char *event, unsigned int level);

#endif
