/* SPDX-License-Identifier: MIT */
/* The verbs `save` and `load`: session definitions in files, as a sequence of JSON objects. */
#include "base/io.h"
#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "programs/common/message.h"

#include "sessions/json.h"
#include "sessions/text.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_DEPTH_MAX 64

/* Limit of a file; the daemon also limits each definition. */
#define FILE_SIZE_MAX (4u << 20)

/* ---- save ---- */

static int save_print_definitions(FILE *out, struct json_object *definitions)
{
	for (size_t i = 0; i < json_object_array_length(definitions); i++) {
		struct json_object *definition = json_object_array_get_idx(definitions, i);
		struct control_text text;

		if (control_text_print(definition,
				    JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED, &text)) {
			control_text_free(&text);
			return message_error(COMMAND_FAILED, NULL, "cannot save: out of memory");
		}
		fprintf(out, "%s\n", text.text);
		control_text_free(&text);
	}
	return COMMAND_DONE;
}

static int save_answer(struct json_object *answer, FILE *out)
{
	struct json_object *definitions = ask_list(answer, "definitions");

	if (!definitions || !json_object_array_length(definitions))
		return message_error(COMMAND_FAILED, "`side create` makes one",
				"there is no session to save");
	return save_print_definitions(out, definitions);
}

static int save_one(struct ask *ask, const char *name, FILE *out)
{
	struct json_object *answer;
	int status = ask_call(ask, control_request("save", name), ASK_TIMEOUT_MS, &answer);

	if (!status)
		status = save_answer(answer, out);
	json_object_put(answer);
	return status;
}

static int save_sessions(struct ask *ask, const struct parsed *parsed, FILE *out)
{
	const struct control_options *options = &parsed->options.control;
	char buffer[ASK_NAME_MAX];
	const char *name;
	int status = COMMAND_DONE;

	if (options->all)
		return save_one(ask, NULL, out);
	if (parsed->operand_count < 2) {
		status = ask_which(ask, parsed->operands[0], options->session, buffer, &name);
		return status ? status : save_one(ask, name, out);
	}
	for (int i = 0; i < parsed->operand_count && !status; i++)
		status = save_one(ask, parsed->operands[i], out);
	return status;
}

static int save_write_file(const char *path, const char *text, size_t size)
{
	FILE *out = fopen(path, "we");
	bool written = out && fwrite(text, 1, size, out) == size;

	if (out && fclose(out))
		written = false;
	if (written)
		return COMMAND_DONE;
	return message_error(errno == EACCES ? COMMAND_NOT_PERMITTED : COMMAND_FAILED, NULL,
			"cannot write %s: %s", path, strerror(errno));
}

int cmd_save(const struct parsed *parsed)
{
	const struct control_options *options = &parsed->options.control;
	char *text = NULL;
	size_t size = 0;
	struct ask ask;
	FILE *out;
	int status, printed;

	if (options->all && (parsed->operand_count || options->session))
		return message_error(COMMAND_USAGE, "leave one of them out",
				"cannot use `--all` with the name of a session");
	status = ask_connect_only(&ask, options->system);
	if (status)
		return status;
	/* Collect the whole text first, so that no incomplete text replaces a file. */
	out = open_memstream(&text, &size);
	if (out)
		status = save_sessions(&ask, parsed, out);
	if (!out || !text_stream_end(out, &text))
		status = message_error(COMMAND_FAILED, NULL, "out of memory");
	ask_close(&ask);
	if (!status && options->file)
		status = save_write_file(options->file, text, size);
	else if (!status)
		fwrite(text, 1, size, stdout);
	free(text);
	printed = output_flush(stdout);
	return status ? status : printed;
}

/* ---- load ---- */

static int save_read_all(int fd, const char *path, char **ret_text, size_t *ret_size)
{
	ssize_t got;

	*ret_size = 0;
	*ret_text = malloc(FILE_SIZE_MAX + 1);
	if (!*ret_text)
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	got = io_read(fd, *ret_text, FILE_SIZE_MAX + 1);
	if (got < 0)
		return message_error(COMMAND_FAILED, NULL, "cannot read %s: %s", path,
				strerror((int)-got));
	*ret_size = (size_t)got;
	if (*ret_size > FILE_SIZE_MAX)
		return message_error(COMMAND_FAILED, NULL,
				"cannot load %s: it has more than %u MiB", path,
				FILE_SIZE_MAX >> 20);
	return COMMAND_DONE;
}

static int save_read_file(const char *path, char **ret_text, size_t *ret_size)
{
	bool standard = !strcmp(path, "-");
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), status;

	*ret_text = NULL;
	if (fd < 0)
		return message_error(errno == EACCES ? COMMAND_NOT_PERMITTED : COMMAND_FAILED,
				errno == ENOENT ? "`side save -o FILE` writes one" : NULL,
				"cannot load %s: %s", path, strerror(errno));
	status = save_read_all(fd, path, ret_text, ret_size);
	if (!standard)
		close(fd);
	return status;
}

struct loading {
	const struct parsed *parsed;
	load_probes *probes;
	struct ask ask;
	int worst; /* the worst exit status of probes; they do not stop the loading */
};

static void load_note_status(struct loading *loading, int status)
{
	loading->worst = status > loading->worst ? status : loading->worst;
}

static int load_one(struct loading *loading, struct json_object *definition)
{
	const struct control_options *options = &loading->parsed->options.control;
	struct json_object *request = control_request("load", options->session), *answer;
	int status;

	if (request) {
		ask_add(request, "definition", json_object_get(definition));
		if (options->asked.count)
			ask_add(request, "force", json_object_new_boolean(true));
	}
	status = ask_call(&loading->ask, request, ASK_TIMEOUT_MS, &answer);
	if (status)
		return status;
	current_try_write(&loading->ask, ask_text(answer, "session"));
	if (loading->parsed->common.json)
		load_note_status(loading, ask_print_json("load", answer));
	else
		message_note_hint("`side start` starts it", "loaded session %s",
				ask_text(answer, "session"));
	load_note_status(loading,
			loading->probes(loading->parsed, &loading->ask, ask_text(answer, "session"),
					definition));
	json_object_put(answer);
	return status;
}

/* Parses all objects of the text before the first one is loaded. */
static int load_parse_text(
		const char *path, const char *text, size_t size, struct json_object *objects)
{
	size_t at = 0, parsed;

	for (;; at += parsed) {
		struct error error;
		struct json_object *object;

		at += strspn(text + at, " \t\r\n");
		if (at >= size)
			return COMMAND_DONE;
		object = json_parse_deep(text + at, size - at, FILE_DEPTH_MAX, &parsed, &error);
		if (!object && error.kind != ERROR_FAILED)
			return message_error(COMMAND_FAILED, "`side save` writes such files",
					"cannot load %s: there is no JSON object at byte %zu", path,
					at + 1);
		if (!object || json_object_array_add(objects, object)) {
			json_object_put(object);
			return message_error(COMMAND_FAILED, NULL, "cannot load %s: out of memory",
					path);
		}
	}
}

static int load_text(struct loading *loading, const char *path, const char *text, size_t size)
{
	struct json_object *objects = json_object_new_array();
	const char *name = loading->parsed->options.control.session;
	int status = objects ? load_parse_text(path, text, size, objects)
			     : message_error(COMMAND_FAILED, NULL, "cannot load %s: out of memory",
					       path);
	size_t count = objects ? json_object_array_length(objects) : 0;

	if (!status && !count)
		status = message_error(COMMAND_FAILED, "`side save` writes such files",
				"cannot load %s: it is empty", path);
	if (!status && count > 1 && name)
		status = message_error(COMMAND_USAGE, "leave `--session` out",
				"cannot load %s: it has several sessions, and only one can be named %s",
				path, name);
	for (size_t i = 0; i < count && !status; i++)
		status = load_one(loading, json_object_array_get_idx(objects, i));
	json_object_put(objects);
	return status;
}

static int load_file(struct loading *loading, const char *path)
{
	char *text;
	size_t size = 0;
	int status = save_read_file(path, &text, &size);

	if (!status && text) {
		text[size] = '\0';
		size = control_text_restore(text, size);
		status = load_text(loading, path, text, size);
	}
	free(text);
	return status;
}

int cmd_load(const struct parsed *parsed, load_probes *probes)
{
	const struct control_options *options = &parsed->options.control;
	struct loading loading = {.parsed = parsed, .probes = probes};
	int status, printed;

	if (options->session && parsed->operand_count > 1)
		return message_error(COMMAND_USAGE, "leave `--session` out",
				"cannot load several files as one session %s", options->session);
	status = ask_connect(&loading.ask, options->system, options->no_daemon);
	if (status)
		return status;
	for (int i = 0; i < parsed->operand_count && !status; i++)
		status = load_file(&loading, parsed->operands[i]);
	ask_close(&loading.ask);
	printed = output_flush(stdout);
	status = status ? status : loading.worst;
	return status ? status : printed;
}
