/* SPDX-License-Identifier: MIT */
/* `-e PATTERN` of all verbs: from words to patterns, with a sentence for what is wrong. */
#include "command.h"
#include "say.h"

#include "wire/pattern.h"

#include <stdlib.h>

int command_select(const struct text_list *words, struct pattern **patterns)
{
	*patterns = NULL;
	if (!words->count)
		return COMMAND_DONE;
	*patterns = calloc(words->count, sizeof(**patterns));
	if (!*patterns)
		return say_error(COMMAND_FAILED, NULL,
				"cannot read the patterns: there is no memory");
	for (size_t i = 0; i < words->count; i++) {
		struct pattern_error error;
		char text[PATTERN_TEXT_MAX + 256];

		if (!pattern_parse(words->items[i], &(*patterns)[i], &error))
			continue;
		pattern_error_text(text, sizeof(text), words->items[i], &error);
		free(*patterns);
		*patterns = NULL;
		return say_error(COMMAND_USAGE, "`side help patterns` explains them", "%s", text);
	}
	return COMMAND_DONE;
}
