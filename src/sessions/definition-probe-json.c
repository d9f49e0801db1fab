/* SPDX-License-Identifier: MIT */
/*
 * Converts the probes of a definition from and to JSON. A definition contains only the number of a
 * table, never its content.
 */
#include "sessions/definition-probe-json.h"
#include "sessions/definition-memory.h"
#include "sessions/file-identity.h"
#include "sessions/json.h"

#include <errno.h>
#include <string.h>

static const char *const probe_members[] = {"event", "channel", "probe", "pid", "started", "exe",
		"file", "library", "unloaded", "loaded", "loaded-file", "table", "uid", "gid",
		NULL};

/* ---- reading ---- */

/* The event becomes a pattern of a rule, so it must match only this event. */
static int definition_probe_check_event(const char *event, struct error *error)
{
	const char *colon = strchr(event, ':');

	if (colon && colon != event && colon[1] && !strpbrk(event, "*?[]\\@!"))
		return 0;
	return error_set_kind(error, ERROR_USAGE, -EINVAL,
			"write PROVIDER:NAME, or a NAME alone for " DEFINITION_PROBE_PROVIDER
			"NAME",
			"\"%.80s\" is not a valid name for the event of a probe", event);
}

static int definition_probe_copy_text(char **ret_copy, const char *from, struct error *error)
{
	*ret_copy = from ? strdup(from) : NULL;
	return !from || *ret_copy ? 0 : error_set_no_memory(error);
}

static int read_target(
		struct definition_probe *probe, struct json_object *json, struct error *error)
{
	const char *exe = NULL, *file = NULL;
	uint64_t pid = 0;
	int ret = json_number(json, "pid", INT32_MAX, &pid, error);

	if (!ret)
		ret = json_number(json, "started", INT64_MAX, &probe->target.started, error);
	if (!ret)
		ret = json_text(json, "exe", &exe, error);
	if (!ret)
		ret = json_text(json, "file", &file, error);
	if (ret)
		return ret;
	probe->target.pid = (uint32_t)pid;
	if (!pid != !probe->target.started || (pid && exe))
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a probe must name a process (\"pid\" and \"started\"), a file (\"exe\"), or all programs");
	if (exe && *exe != '/')
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"the program %.256s is not an absolute path", exe);
	if (file && (!exe || !file_identity_is_valid(file)))
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"\"file\" of a probe does not identify a file");
	ret = definition_probe_copy_text(&probe->target.exe, exe, error);
	return ret ? ret : definition_probe_copy_text(&probe->file, file, error);
}

/* A path of a program, which may have any characters. */
static int definition_probe_check_loaded(
		const char *loaded, const char *file, bool has_library, struct error *error)
{
	if (!loaded == !file &&
			(!loaded ||
					(*loaded == '/' && !has_library &&
							file_identity_is_valid(file))))
		return 0;
	return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
			"\"loaded\" and \"loaded-file\" of a probe do not identify a file");
}

static int definition_probe_read_library(
		struct definition_probe *probe, struct json_object *json, struct error *error)
{
	const char *library = NULL, *loaded = NULL, *file = NULL;
	int ret = json_text(json, "library", &library, error);

	if (!ret)
		ret = json_flag(json, "unloaded", &probe->is_unloaded, error);
	if (!ret)
		ret = json_text(json, "loaded", &loaded, error);
	if (!ret)
		ret = json_text(json, "loaded-file", &file, error);
	if (!ret && ((library && !*library) || (probe->is_unloaded && !library)))
		ret = error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a pending probe names no library: \"library\"");
	if (!ret)
		ret = definition_probe_check_loaded(loaded, file, library, error);
	if (!ret)
		ret = definition_probe_copy_text(&probe->library, library, error);
	if (!ret)
		ret = definition_probe_copy_text(&probe->loaded, loaded, error);
	return ret ? ret : definition_probe_copy_text(&probe->loaded_file, file, error);
}

int definition_read_probe(
		struct definition_probe *probe, struct json_object *json, struct error *error)
{
	const char *channel = SESSION_CHANNEL_NAME, *text = NULL;
	size_t i;
	int ret = json_get_strings(json, "event", &probe->events, error);

	if (!ret && (!probe->events.count || probe->events.count > DEFINITION_PROBE_EVENTS_MAX))
		ret = error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a probe has 1 to %d events: \"event\"",
				DEFINITION_PROBE_EVENTS_MAX);
	for (i = 0; i < probe->events.count && !ret; i++)
		ret = definition_probe_check_event(probe->events.items[i], error);
	if (!ret)
		ret = json_text(json, "channel", &channel, error);
	if (!ret)
		ret = json_text(json, "probe", &text, error);
	if (!ret && !text)
		ret = error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a probe has no text: \"probe\"");
	if (!ret)
		ret = definition_probe_copy_text(&probe->channel, channel, error);
	if (!ret)
		ret = definition_probe_copy_text(&probe->text, text, error);
	if (!ret)
		ret = definition_probe_read_library(probe, json, error);
	return ret ? ret : read_target(probe, json, error);
}

static int read_element(
		struct definition *definition, struct json_object *json, struct error *error)
{
	struct definition_probe *probe;
	uint64_t table = 0, uid = 0, gid = 0;
	int ret;

	if (!json_object_is_type(json, json_type_object))
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"an element of \"probes\" is not an object");
	ret = json_only(json, probe_members, "a probe", error);
	if (ret)
		return ret;
	probe = definition_add_probe(definition, error);
	if (!probe)
		return error->code;
	ret = definition_read_probe(probe, json, error);
	if (!ret)
		ret = json_number(json, "table", UINT32_MAX, &table, error);
	if (!ret)
		ret = json_number(json, "uid", UINT32_MAX, &uid, error);
	if (!ret)
		ret = json_number(json, "gid", UINT32_MAX, &gid, error);
	if (ret)
		return ret;
	probe->target.of_user = json_object_object_get_ex(json, "uid", NULL);
	probe->target.access.uid = (uint32_t)uid;
	probe->target.access.has_gid = json_object_object_get_ex(json, "gid", NULL);
	probe->target.access.gid = (uint32_t)gid;
	if (!definition_find_channel(definition, probe->channel))
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a probe is of a channel that the session %s does not have: \"%.80s\"",
				definition->name, probe->channel);
	probe->table = (uint32_t)table;
	if (definition->last_table < probe->table)
		definition->last_table = probe->table;
	return 0;
}

int definition_read_probes(
		struct definition *definition, struct json_object *json, struct error *error)
{
	struct json_object *probes;
	uint64_t last = 0;
	size_t i;
	int ret = json_array(json, "probes", DEFINITION_PROBES_MAX, &probes, error);

	if (!ret)
		ret = json_number(json, "tables", UINT32_MAX, &last, error);
	definition->last_table = (uint32_t)last;
	for (i = 0; !ret && probes && i < json_object_array_length(probes); i++)
		ret = read_element(definition, json_object_array_get_idx(probes, i), error);
	return ret;
}

/* ---- writing ---- */

static bool definition_probe_add_number(struct json_object *json, const char *name, uint64_t number)
{
	return !number || json_put_number(json, name, number);
}

static bool definition_probe_put_text(struct json_object *json, const char *name, const char *text)
{
	return !text || json_put_text(json, name, text);
}

struct json_object *definition_probe_json(const struct definition_probe *probe)
{
	struct json_object *json = json_object_new_object();

	if (json_put_strings(json, "event", &probe->events) &&
			json_put_text(json, "channel", probe->channel) &&
			json_put_text(json, "probe", probe->text) &&
			definition_probe_add_number(json, "pid", probe->target.pid) &&
			definition_probe_add_number(json, "started", probe->target.started) &&
			definition_probe_put_text(json, "exe", probe->target.exe) &&
			definition_probe_put_text(json, "file", probe->file) &&
			definition_probe_put_text(json, "library", probe->library) &&
			(!probe->is_unloaded || json_put_flag(json, "unloaded", true)) &&
			definition_probe_put_text(json, "loaded", probe->loaded) &&
			definition_probe_put_text(json, "loaded-file", probe->loaded_file) &&
			definition_probe_add_number(json, "table", probe->table) &&
			(!probe->target.of_user ||
					json_put_number(json, "uid", probe->target.access.uid)) &&
			(!probe->target.access.has_gid ||
					json_put_number(json, "gid", probe->target.access.gid)))
		return json;
	json_object_put(json);
	return NULL;
}

bool definition_put_probes(struct json_object *json, const struct definition *definition)
{
	struct json_object *probes, *probe;
	size_t i;

	if (!definition_probe_add_number(json, "tables", definition->last_table))
		return false;
	if (!definition->nr_probes)
		return true;
	probes = json_object_new_array();
	for (i = 0; probes && i < definition->nr_probes; i++) {
		probe = definition_probe_json(&definition->probes[i]);
		if (probe && !json_object_array_add(probes, probe))
			continue;
		json_object_put(probe);
		json_object_put(probes);
		return false;
	}
	return json_put(json, "probes", probes);
}
