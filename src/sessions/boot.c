/* SPDX-License-Identifier: MIT */
/*
 * Converts the static configuration of early boot to definitions: each of its lines becomes the
 * request of a verb, and is checked like one.
 */
#include "sessions/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "sessions/definition-change.h"
#include "sessions/json.h"

static const char *const mode_choices[] = {"discard", "overwrite", "block"};

static int fail_line(const struct boot_source *source, unsigned int line, struct error *error)
{
	return error_set_kind(error, ERROR_USAGE, error->code,
			*error->hint ? error->hint
				     : "`side help filters` and `side help patterns` describe them",
			"%s:%u: %s", source->path, line, error->text);
}

/* ---- one session ---- */

static bool session_boot_set_strings(
		struct json_object *request, const char *name, const struct boot_strings *from)
{
	struct definition_strings strings = {0};
	const char *text = from->texts;
	bool done = true;
	uint32_t i;

	for (i = 0; i < from->nr && done; i++, text += strlen(text) + 1)
		done = strings_add(&strings, text);
	done = done && (!from->nr || json_put_strings(request, name, &strings));
	strings_free(&strings);
	return done;
}

static int session_boot_apply_change(struct definition *definition, const char *verb,
		struct json_object *request, bool complete, struct error *error)
{
	bool changed;
	int ret = complete ? definition_change(definition, verb, request, false, &changed, error)
			   : error_set_no_memory(error);

	json_object_put(request);
	return ret;
}

static int session_boot_add_channel(struct definition *definition,
		const struct boot_channel *channel, struct error *error)
{
	struct json_object *request = json_object_new_object();
	bool complete = json_put_text(request, "channel", channel->name) &&
			json_put_text(request, "mode", mode_choices[channel->mode]) &&
			json_put_number(request, "buffer-size", channel->ring_size) &&
			(!channel->threads_max ||
					json_put_number(request, "per-thread",
							channel->threads_max)) &&
			(!channel->block_timeout_us ||
					json_put_number(request, "block-timeout",
							channel->block_timeout_us * 1000ull)) &&
			session_boot_set_strings(request, "context", &channel->contexts);

	return session_boot_apply_change(definition, "enable-channel", request, complete, error);
}

static int session_boot_add_rule(struct definition *definition, const struct boot_channel *channel,
		const struct boot_rule *rule, struct error *error)
{
	struct json_object *request = json_object_new_object();
	bool complete = json_put_text(request, "channel", channel->name) &&
			session_boot_set_strings(request, "event", &rule->patterns) &&
			session_boot_set_strings(request, "event-context", &rule->contexts) &&
			(!rule->filter || json_put_text(request, "filter", rule->filter));

	return session_boot_apply_change(definition, "enable-event", request, complete, error);
}

static int set_output(struct definition *definition, const struct boot_session *session,
		struct error *error)
{
	struct json_object *request;

	if (!session->output && !session->memory_limit)
		return 0;
	request = json_object_new_object();
	return session_boot_apply_change(definition, "create", request,
			(!session->output || json_put_text(request, "output", session->output)) &&
					(!session->memory_limit ||
							json_put_number(request, "memory-limit",
									session->memory_limit)),
			error);
}

static int session_boot_fill_definition(const struct boot_source *source,
		const struct boot_session *session, struct definition *definition,
		struct error *error)
{
	const struct boot_channel *channel;
	const struct boot_rule *rule;
	int ret = set_output(definition, session, error);

	for (channel = session->channels; channel && !ret; channel = channel->next) {
		ret = session_boot_add_channel(definition, channel, error);
		for (rule = channel->rules; rule && !ret; rule = rule->next) {
			ret = session_boot_add_rule(definition, channel, rule, error);
			if (ret)
				ret = fail_line(source,
						rule->filter ? rule->filter_line : rule->line,
						error);
		}
	}
	return ret;
}

int definition_of_boot(const struct boot_source *source, const struct boot_session *session,
		struct definition **ret_definition, struct error *error)
{
	int ret = definition_create(session->name, ret_definition, error);

	if (!ret)
		ret = session_boot_fill_definition(source, session, *ret_definition, error);
	if (ret) {
		definition_free(*ret_definition);
		*ret_definition = NULL;
	}
	return ret;
}

/* ---- the file ---- */

static ssize_t session_boot_read_file(const char *path, char *text)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t size;

	if (fd < 0)
		return -errno;
	size = io_read(fd, text, BOOT_SIZE_MAX + 1);
	close(fd);
	return size;
}

static int check_sessions(const struct boot_source *source, struct error *error)
{
	const struct boot_session *session;
	int ret = 0;

	for (session = source->config->sessions; session && !ret; session = session->next) {
		struct definition *definition = NULL;

		ret = definition_of_boot(source, session, &definition, error);
		definition_free(definition);
	}
	return ret;
}

int boot_source_read(const char *path, struct boot_source *ret_source, struct error *error)
{
	struct boot_error why;
	char sentence[600];
	ssize_t size;

	*ret_source = (struct boot_source){.path = strdup(path), .text = malloc(BOOT_SIZE_MAX + 2)};
	if (!ret_source->path || !ret_source->text)
		return error_set_no_memory(error);
	size = session_boot_read_file(path, ret_source->text);
	if (size < 0)
		return error_set_kind(error, size == -EACCES ? ERROR_PERMISSION : ERROR_NOT_FOUND,
				(int)size, "name the file with --boot, or in SIDE_BOOT",
				"cannot read the configuration %s: %s", path, strerror((int)-size));
	ret_source->buffer = malloc(boot_buffer_size((size_t)size));
	if (!ret_source->buffer)
		return error_set_no_memory(error);
	if (boot_parse(ret_source->text, (size_t)size, ret_source->buffer, &ret_source->config,
			    &why)) {
		char hint[sizeof(why.hint)];

		memcpy(hint, why.hint, sizeof(hint));
		*why.hint = 0;
		boot_error_text(sentence, sizeof(sentence), path, &why);
		return error_set_kind(error, ERROR_USAGE, -EINVAL, hint, "%s", sentence);
	}
	return check_sessions(ret_source, error);
}

void boot_source_free(struct boot_source *source)
{
	free(source->path);
	free(source->text);
	free(source->buffer);
	*source = (struct boot_source){.path = NULL};
}
