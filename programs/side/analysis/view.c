/* SPDX-License-Identifier: MIT */
/* The verb `view`: read the options and show the events. */
#include "programs/common/command.h"
#include "analysis/report-walk.h"
#include "programs/common/message.h"
#include "base/error.h"
#include "programs/side/analysis/library-messages.h"
#include "programs/side/analysis/select.h"
#include "programs/side/cli/confine.h"
#include "analysis/view.h"
#include "analysis/where.h"

#include "protocol/pattern.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct view_selection {
	struct pattern *patterns;
	size_t nr_patterns;
};

/*
 * Log levels in a trace are those of LTTng, where the debug levels are 7 to 14. A pattern has one
 * level for all of them.
 */
static bool view_event_is_selected(void *context, const char *name, int loglevel)
{
	const struct view_selection *selection = context;
	const char *colon = strchr(name, ':');
	char provider[512];

	if (!colon || (size_t)(colon - name) >= sizeof(provider))
		return pattern_set_wants(selection->patterns, selection->nr_patterns, "", name, 7);
	memcpy(provider, name, (size_t)(colon - name));
	provider[colon - name] = '\0';
	return pattern_set_wants(selection->patterns, selection->nr_patterns, provider, colon + 1,
			loglevel < 0 || loglevel > 7 ? 7 : (unsigned int)loglevel);
}

static void view_note_no_match(void *context, const struct ctf_reader *reader)
{
	const struct parsed *parsed = context;
	const struct view_arguments *arguments = &parsed->options.view;

	command_note_no_match(reader,
			&(const struct report_walk_options){.verb = "view",
					.dir = parsed->operands[0],
					.patterns = &arguments->patterns,
					.times = arguments->times},
			arguments->filter);
}

int command_view(const struct view_options *options)
{
	int ret = view_run(options);

	/* The reader closed the pipe (`| head`), which is no error. */
	return ret == -EPIPE ? COMMAND_SIGNAL + SIGPIPE : ret ? COMMAND_FAILED : COMMAND_DONE;
}

int cmd_view(const struct parsed *parsed)
{
	const struct view_arguments *arguments = &parsed->options.view;
	struct view_selection selection = {.nr_patterns = arguments->patterns.count};
	struct view_options options = {
			.dir = parsed->operands[0],
			.json = parsed->common.json,
			.colour = !parsed->common.json &&
					output_has_color(stdout, parsed->common.color),
			.flat = arguments->flat,
			.attributes = arguments->attributes,
			.symbols = arguments->symbols,
			.debuginfod = arguments->debuginfod,
			.repair = arguments->repair,
			.limit = arguments->count,
			.follow = arguments->follow,
			.threads = arguments->threads < 64 ? (unsigned int)arguments->threads : 64,
			.nothing = view_note_no_match,
			.nothing_context = (void *)(uintptr_t)parsed,
			.confine = confine,
			.listener = command_listener(NULL),
	};
	struct where where = {0};
	struct error error = {.code = 0};
	int status = command_select(&arguments->patterns, &selection.patterns);

	if (!status && arguments->filter)
		status = command_parse_where("filter", arguments->filter, &where);
	if (!status)
		status = command_read_times(&arguments->times, &options.from, &options.to);
	if (!status &&
			walk_check(&(struct report_walk_options){.verb = "view",
						   .dir = options.dir},
					&error))
		status = message_library_error(&error);
	if (status) {
		where_free(&where);
		free(selection.patterns);
		return status;
	}
	if (arguments->filter)
		options.where = &where;
	if (selection.nr_patterns) {
		options.wanted = view_event_is_selected;
		options.wanted_context = &selection;
	}
	status = command_view(&options);
	where_free(&where);
	free(selection.patterns);
	return status;
}
