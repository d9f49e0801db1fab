/* SPDX-License-Identifier: MIT */
/*
 * Request probes of a file that does not exist yet: the session stores the spec without a table.
 *
 * When a program executes the file, the daemon delays it, and starts cmd_probe_set_pending() for the
 * user of the probe (programs/sided/pending.c).
 */
#include "enable-pending.h"
#include "results.h"

#include "programs/common/ask.h"
#include "programs/common/message.h"

#include "probe/spec/resolve.h"
#include "sessions/definition.h"
#include "sessions/file-identity.h"

#include <dirent.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the file ---- */

/* Returns the name of the file in its directory. NULL: the path names a directory. */
static const char *pending_file_name(const char *requested)
{
	const char *slash = strrchr(requested, '/'), *name = slash ? slash + 1 : requested;

	return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 ? name : NULL;
}

/* The directory can be missing, too. Then only a path without links and dots is certain. */
static bool pending_is_canonical(const char *path)
{
	return *path == '/' && !strstr(path, "//") && !strstr(path, "/./") && !strstr(path, "/../");
}

bool probe_pending_path(const char *requested, char path[PATH_MAX])
{
	const char *name = pending_file_name(requested);
	char directory[PATH_MAX], canonical[PATH_MAX];
	struct stat status;
	int size;

	if (!name || strlen(requested) >= PATH_MAX || !lstat(requested, &status) ||
			(errno != ENOENT && errno != ENOTDIR) || !strncmp(requested, "/proc/", 6))
		return false;
	snprintf(directory, sizeof(directory), "%.*s", (int)(name - requested), requested);
	if (!realpath(*directory ? directory : ".", canonical)) {
		if (errno != ENOENT || !pending_is_canonical(requested))
			return false;
		size = snprintf(path, PATH_MAX, "%s", requested);
	} else {
		size = snprintf(path, PATH_MAX, "%s/%s", canonical[1] ? canonical : "", name);
	}
	return size < PATH_MAX;
}

/* ---- the request ---- */

void probe_add_pending(struct json_object *request, const struct probe_spec *spec)
{
	ask_add(request, "pending", json_object_new_boolean(true));
	probe_add_later_events(request, spec);
}

void probe_add_later_events(struct json_object *request, const struct probe_spec *spec)
{
	const char *provider = strchr(spec->name, ':') ? "" : RESOLVE_PROVIDER ":";
	char name[600];

	snprintf(name, sizeof(name), "%s%.550s", provider, spec->name);
	ask_add_text(request, "event", name);
	if (!spec->exits)
		return;
	strcat(name, "_return");
	ask_add_text(request, "event", name);
}

/* ---- a file that has changed ---- */

static bool pending_is_of(const struct definition *definition, const char *exe, const char *file)
{
	for (size_t i = 0; i < definition->nr_probes; i++) {
		const struct definition_probe *probe = &definition->probes[i];

		if (probe->table && probe->file && !strcmp(probe->target.exe, exe) &&
				!strcmp(probe->file, file))
			return true;
	}
	return false;
}

static bool pending_has_text(struct json_object *list, const char *text)
{
	for (size_t i = 0; i < json_object_array_length(list); i++)
		if (!strcmp(json_object_get_string(json_object_array_get_idx(list, i)), text))
			return true;
	return false;
}

struct json_object *probe_pending_kept(const struct definition *definition, const char *exe)
{
	struct json_object *kept = json_object_new_array();
	DIR *processes = opendir("/proc");
	const struct dirent *entry;

	while (kept && processes && (entry = readdir(processes))) {
		char file[FILE_IDENTITY_SIZE];
		int pid = atoi(entry->d_name);

		if (pid <= 0 || !file_identity_of_process(pid, file) ||
				!pending_is_of(definition, exe, file) ||
				pending_has_text(kept, file))
			continue;
		json_object_array_add(kept, json_object_new_string(file));
	}
	if (processes)
		closedir(processes);
	return kept;
}

void probe_pending_report(
		struct json_object *answer, const struct probe_spec *spec, const char *file)
{
	char missing[400];

	snprintf(missing, sizeof(missing), "it is set when %.256s exists and is executed", file);
	probe_report_later(answer, spec->name, missing);
}
