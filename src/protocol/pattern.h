/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROTOCOL_PATTERN_H
#define SIDE_PROTOCOL_PATTERN_H

/*
 * Which events a person means: the one definition of `-e PATTERN`.
 *
 *   [!] GLOB [@ [=] LEVEL]
 *
 * GLOB is matched against "provider:event", the whole of it. `*` is any run of bytes (also a colon),
 * `?` is one UTF-8 character, `[a-z]` and `[!a-z]` are sets of bytes, `\` takes the next byte as it
 * is. A GLOB without a colon names providers: `app` is `app:*`, `*` is `*:*`.
 *
 * `@LEVEL` also asks for the log level: that one or a more severe one; `@=LEVEL` exactly that one.
 * LEVEL is EMERG, ALERT, CRIT, ERR, WARNING, NOTICE, INFO or DEBUG (ERROR, WARN, in any case), or 0
 * to 7. A literal `@` is written `\@`.
 *
 * Several patterns: an event is wanted if any pattern without `!` matches it (or if there is none
 * of these) and no pattern with `!` does. Their order does not matter.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_TEXT_MAX 511

/*
 * In rules of sessions: what stands behind this word means events of the kernel, and no program's: `kernel::sched:sched_switch`. The
 * program that records those (programs/side-kernel) reads such patterns with pattern_parse_kernel(), and no others; to all others they mean
 * a provider that nobody has.
 */
#define PATTERN_KERNEL "kernel::"

enum pattern_level { PATTERN_LEVEL_ANY, PATTERN_LEVEL_AT_LEAST, PATTERN_LEVEL_EXACTLY };

/* No pointer in it: a set of patterns is an array, in any memory. */
struct pattern {
	bool exclude;
	uint8_t level_mode; /* enum pattern_level */
	uint8_t level;
	uint16_t glob_size;
	char glob[PATTERN_TEXT_MAX + 3]; /* with ":*" appended if it had no colon */
};

struct pattern_error {
	unsigned int column; /* from 1 */
	const char *reason;  /* a static sentence part: "a set that is not closed" */
};

/*
 * How many bytes of a comma list belong to its first pattern: up to a comma that is not within a set, `[,]`,
 * and has no `\` before it.
 */
size_t pattern_list_first(const char *text);

/* 0, or -EINVAL with `*error` filled in. */
int pattern_parse(const char *text, struct pattern *pattern, struct pattern_error *error);

/*
 * The same of the kernel's events, PATTERN_KERNEL before it or not, as up to so many patterns. A word without a colon may name a system,
 * as everywhere, or an event, as users of other tracers write it; a tracepoint with EventHeader also means the events that come
 * by it, `user_events:app_L4K1:tick`. Returns their number, or -EINVAL.
 */
#define PATTERN_KERNEL_MAX 3
int pattern_parse_kernel(const char *text, struct pattern patterns[PATTERN_KERNEL_MAX],
		struct pattern_error *error);
/* Has it that word, behind a `!`, too? */
bool pattern_is_kernel(const char *text);

/* The sentence for a person: `pattern "app:[ab": column 5: a set that is not closed by "]"`. */
void pattern_error_text(
		char *buffer, size_t size, const char *text, const struct pattern_error *error);

/* Does this one match, "!" or not? */
bool pattern_matches(const struct pattern *pattern, const char *provider, const char *event,
		unsigned int level);

/* Is the event wanted by the set? */
bool pattern_set_wants(const struct pattern *patterns, size_t nr_patterns, const char *provider,
		const char *event, unsigned int level);

#endif
