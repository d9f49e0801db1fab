/* SPDX-License-Identifier: MIT */
/* The verb `view`: its command line, made into what view.c works from. */
#include "command.h"
#include "say.h"
#include "view.h"

#include "wire/pattern.h"

#include <stdlib.h>
#include <string.h>

struct selection {
	struct pattern *patterns;
	size_t nr_patterns;
};

/* Log levels in a trace are those of LTTng, where the debug levels are 7 to 14; here there is one.
 */
static bool wanted(void *context, const char *name, int loglevel)
{
	const struct selection *selection = context;
	const char *colon = strchr(name, ':');
	char provider[512];

	if (!colon || (size_t)(colon - name) >= sizeof(provider))
		return pattern_set_wants(selection->patterns, selection->nr_patterns, "", name, 7);
	memcpy(provider, name, (size_t)(colon - name));
	provider[colon - name] = '\0';
	return pattern_set_wants(selection->patterns, selection->nr_patterns, provider, colon + 1,
			loglevel < 0 || loglevel > 7 ? 7 : (unsigned int)loglevel);
}

int cmd_view(const struct parsed *parsed)
{
	const struct view_arguments *arguments = &parsed->options.view;
	struct selection selection = {.nr_patterns = arguments->patterns.count};
	struct view_options options = {
			.dir = parsed->operands[0],
			.json = parsed->common.json,
			.colour = !parsed->common.json && say_color(stdout, parsed->common.color),
			.attributes = arguments->attributes,
			.limit = arguments->count,
	};
	int status = command_select(&arguments->patterns, &selection.patterns);

	if (status)
		return status;
	if (selection.nr_patterns) {
		options.wanted = wanted;
		options.wanted_context = &selection;
	}
	status = cmd_view_run(&options);
	free(selection.patterns);
	if (!status)
		status = say_flush(stdout);
	return status;
}
