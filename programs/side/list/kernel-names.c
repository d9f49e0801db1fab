/* SPDX-License-Identifier: MIT */
/* `side list --kernel`: the names of the kernel's trace events. */
#include "programs/common/command.h"
#include "programs/common/message.h"

#include "kernel-events/kernel-events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct kernel_event_names {
	char **items;
	size_t count;
};

static int list_kernel_add_event(void *user, const char *system, const char *name)
{
	struct kernel_event_names *names = user;
	char **items = reallocarray(names->items, names->count + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	names->items = items;
	if (asprintf(&items[names->count], "%s:%s", system, name) < 0)
		return -ENOMEM;
	names->count++;
	return 0;
}

static int list_kernel_compare_names(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

static void list_kernel_print_events(const struct kernel_event_names *names, bool json)
{
	for (size_t i = 0; i < names->count; i++) {
		if (!json) {
			puts(names->items[i]);
			continue;
		}
		printf("{\"schema\":%d,\"type\":\"kernel_event\",\"event\":", OUTPUT_JSON_SCHEMA);
		print_json_string(stdout, names->items[i]);
		puts("}");
	}
}

int command_list_kernel(const struct parsed *parsed)
{
	const struct text_list *more = &parsed->options.list.patterns;
	size_t nr = (size_t)parsed->operand_count + more->count;
	const char **patterns = calloc(nr + 1, sizeof(*patterns));
	struct error error = {.code = 0};
	struct kernel_event_names names = {.count = 0};
	int status = COMMAND_DONE, ret = -ENOMEM, printed;

	if (patterns) {
		for (size_t i = 0; i < nr; i++)
			patterns[i] = i < (size_t)parsed->operand_count
					? parsed->operands[i]
					: more->items[i - (size_t)parsed->operand_count];
		ret = kernel_record_each(patterns, nr, list_kernel_add_event, &names, &error);
	}
	if (ret)
		status = message_error(ret == -EINVAL ? COMMAND_USAGE
						: ret == -EACCES || ret == -EPERM
						? COMMAND_NOT_PERMITTED
						: COMMAND_FAILED,
				error.hint, "%s", *error.text ? error.text : strerror(-ret));
	if (!status && !names.count)
		message_note("no kernel event matches");
	if (names.count)
		qsort(names.items, names.count, sizeof(*names.items), list_kernel_compare_names);
	list_kernel_print_events(&names, parsed->common.json);
	while (names.count)
		free(names.items[--names.count]);
	free(names.items);
	free(patterns);
	printed = output_flush(stdout);
	return status ? status : printed;
}
