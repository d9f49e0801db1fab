/* SPDX-License-Identifier: MIT */
/* Patterns of event names, as users write them. */
#ifndef SIDE_ANALYSIS_PATTERNS_H
#define SIDE_ANALYSIS_PATTERNS_H

struct error;
struct pattern;
struct text_list;

/*
 * Parses all texts, for pattern_set_wants() and walk_pattern_wants(). The caller frees
 * *ret_patterns, which is NULL if there are no texts or if this fails. 0 or a negative errno; the
 * kind is ERROR_USAGE for an invalid pattern.
 */
int patterns_parse(
		const struct text_list *texts, struct pattern **ret_patterns, struct error *error);

#endif /* SIDE_ANALYSIS_PATTERNS_H */
