/* SPDX-License-Identifier: MIT */
/* The verb `view`: its command line, made into what view.c works from. */
#include "programs/common/command.h"
#include "analysis/report-walk.h"
#include "programs/common/message.h"
#include "programs/side/analysis/select.h"
#include "analysis/view.h"
#include "analysis/where.h"

#include "protocol/pattern.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct view_selection {
	struct pattern *patterns;
	size_t nr_patterns;
};

/* Log levels in a trace are those of LTTng, where the debug levels are 7 to 14; here there is one.
 */
static bool view_arguments_event_is_selected(void *context, const char *name, int loglevel)
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

static void view_arguments_print_nothing_fits(void *context, const struct ctf_reader *reader)
{
	const struct parsed *parsed = context;
	const struct view_arguments *arguments = &parsed->options.view;

	command_nothing_fits(reader,
			&(const struct report_walk_options){.verb = "view",
					.dir = parsed->operands[0],
					.patterns = &arguments->patterns,
					.times = arguments->times},
			arguments->filter);
}

static void view_arguments_print_message(
		enum view_message kind, const char *hint, const char *sentence)
{
	if (kind == VIEW_NOTE)
		message_note("%s", sentence);
	else
		message_error(COMMAND_FAILED, hint, "%s", sentence);
}

/* Say early, with what to do about it, why a trace cannot be opened. */
static int view_arguments_check_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		close(fd);
		return COMMAND_DONE;
	}
	switch (errno) {
	case EACCES:
		return message_error(COMMAND_NOT_PERMITTED,
				"permission to read the directory is needed", "cannot view %s: %s",
				path, strerror(errno));
	case ENOTDIR:
		return message_error(COMMAND_FAILED,
				"give the directory that `side record -o` wrote",
				"cannot view %s: it is not a directory", path);
	default:
		return message_error(
				COMMAND_FAILED, NULL, "cannot view %s: %s", path, strerror(errno));
	}
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
			.attributes = arguments->attributes,
			.symbols = arguments->symbols,
			.debuginfod = arguments->debuginfod,
			.repair = arguments->repair,
			.limit = arguments->count,
			.follow = arguments->follow,
			.threads = arguments->threads < 64 ? (unsigned int)arguments->threads : 64,
			.nothing = view_arguments_print_nothing_fits,
			.nothing_context = (void *)(uintptr_t)parsed,
			.report = view_arguments_print_message,
	};
	struct where where = {0};
	int status = command_select(&arguments->patterns, &selection.patterns);

	if (!status && arguments->filter)
		status = where_parse("filter", arguments->filter, &where);
	if (!status)
		status = view_times_read(&arguments->times, &options.from, &options.to);
	if (!status)
		status = view_arguments_check_directory(options.dir);
	if (status) {
		where_free(&where);
		free(selection.patterns);
		return status;
	}
	if (arguments->filter)
		options.where = &where;
	if (selection.nr_patterns) {
		options.wanted = view_arguments_event_is_selected;
		options.wanted_context = &selection;
	}
	status = cmd_view_run(&options);
	where_free(&where);
	free(selection.patterns);
	return status;
}
