/* SPDX-License-Identifier: MIT */
/* Patterns of event names, as users write them. */
#include "analysis/patterns.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text-list.h"
#include "protocol/pattern.h"

int patterns_parse(
		const struct text_list *texts, struct pattern **ret_patterns, struct error *error)
{
	struct pattern *patterns;

	*ret_patterns = NULL;
	if (!texts->count)
		return 0;
	patterns = calloc(texts->count, sizeof(*patterns));
	if (!patterns)
		return error_set(error, -ENOMEM, NULL, "cannot read the patterns: out of memory");
	for (size_t i = 0; i < texts->count; i++) {
		struct pattern_error mistake;
		char text[PATTERN_TEXT_MAX + 256];

		if (!pattern_parse(texts->items[i], &patterns[i], &mistake))
			continue;
		pattern_error_text(text, sizeof(text), texts->items[i], &mistake);
		free(patterns);
		return error_set_kind(error, ERROR_USAGE, -EINVAL,
				"`side help patterns` explains them", "%s", text);
	}
	*ret_patterns = patterns;
	return 0;
}
