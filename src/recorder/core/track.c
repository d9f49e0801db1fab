/* SPDX-License-Identifier: MIT */
/*
 * Decides which processes a live session records. The kernel reports process, user and group of the
 * peer. The recorder reads its control group while the process waits for the answer, so its process
 * id is still its own.
 */
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "recorder/core/live.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/core/track.h"

#define CGROUP_LINES_MAX 256
/* Minimum of hexadecimal digits in a container's id, and in a prefix of one. */
#define ID_DIGITS_MIN 32
#define ID_PREFIX_MIN 12

/* ---- the user's options ---- */

static int track_check_options(const struct session_track *track, struct error *error)
{
	switch (track->kind) {
	case SESSION_TRACK_PID:
		if (track->number && track->number <= INT_MAX)
			return 0;
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"there is no process %llu: process ids go from 1 to %d",
				(unsigned long long)track->number, INT_MAX);
	case SESSION_TRACK_UID:
	case SESSION_TRACK_GID:
		if (track->number < UINT32_MAX)
			return 0;
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"there is no %s %llu: ids go up to 4294967294",
				track->kind == SESSION_TRACK_UID ? "user" : "group",
				(unsigned long long)track->number);
	case SESSION_TRACK_NAME:
	case SESSION_TRACK_CGROUP:
	case SESSION_TRACK_CONTAINER:
		if (track->text && *track->text && strlen(track->text) <= SESSION_TRACK_TEXT_MAX)
			return 0;
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a pattern for processes has 1 to %d bytes",
				SESSION_TRACK_TEXT_MAX);
	case SESSION_TRACK_KINDS: break;
	}
	return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL, "unknown tracking criterion %d",
			(int)track->kind);
}

int track_take(const struct session_track *track, size_t nr, struct session_track **ret_copy,
		struct error *error)
{
	struct session_track *copy;
	size_t i;
	int ret = 0;

	*ret_copy = NULL;
	if (nr > SESSION_TRACK_MAX)
		return error_set_kind(error, ERROR_USAGE, -E2BIG, NULL,
				"a session can have at most %d tracking criteria",
				SESSION_TRACK_MAX);
	copy = calloc(nr + 1, sizeof(*copy));
	if (!copy)
		return error_set_no_memory(error);
	for (i = 0; i < nr && !ret; i++) {
		ret = track_check_options(&track[i], error);
		if (ret)
			break;
		copy[i] = track[i];
		copy[i].text = track[i].text ? strdup(track[i].text) : NULL;
		if (track[i].text && !copy[i].text)
			ret = error_set_no_memory(error);
	}
	if (ret)
		track_free(copy, i);
	else
		*ret_copy = copy;
	return ret;
}

void track_free(struct session_track *track, size_t nr)
{
	size_t i;

	for (i = 0; track && i < nr; i++)
		free((void *)(uintptr_t)track[i].text);
	free(track);
}

/* ---- control groups ---- */

struct track_cgroups {
	char *paths[CGROUP_LINES_MAX];
	size_t nr;
};

/* Reads lines like "5:cpu,memory:/path", one for each hierarchy. */
static void read_groups(struct track_cgroups *groups, pid_t pid)
{
	char name[64], *line = NULL;
	size_t capacity = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
	file = fopen(name, "re");
	if (!file)
		/*
		 * The process has exited, or the recorder may not read the file: it matches no
		 * group.
		 */
		return;
	while (groups->nr < CGROUP_LINES_MAX && getline(&line, &capacity, file) > 0) {
		char *path = strchr(line, ':');

		path = path ? strchr(path + 1, ':') : NULL;
		if (!path)
			continue;
		path[strcspn(path, "\n")] = 0;
		groups->paths[groups->nr] = strdup(path + 1);
		groups->nr += groups->paths[groups->nr] != NULL;
	}
	free(line);
	fclose(file);
}

static void free_groups(struct track_cgroups *groups)
{
	while (groups->nr)
		free(groups->paths[--groups->nr]);
}

static bool glob_fits(const char *glob, const char *text)
{
	return !fnmatch(glob, text, 0);
}

static bool is_hexadecimal(const char *text)
{
	return text[strspn(text, "0123456789abcdefABCDEF")] == 0;
}

static bool id_fits(const char *text, const char *id)
{
	return glob_fits(text, id) ||
			(strlen(text) >= ID_PREFIX_MIN && is_hexadecimal(text) &&
					!strncmp(text, id, strlen(text)));
}

/* Removes `end` from the end of the text. */
static void drop_end(char *text, const char *end)
{
	size_t size = strlen(text), less = strlen(end);

	if (size > less && !strcmp(text + size - less, end))
		text[size - less] = 0;
}

/* Decodes systemd's escapes in names of units: "\x2d" is "-". */
static void unescape(char *text)
{
	char *to = text;
	unsigned int byte;

	while (*text) {
		if (text[0] == '\\' && text[1] == 'x' && sscanf(text + 2, "%2x", &byte) == 1 &&
				byte) {
			*to++ = (char)byte;
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = 0;
}

/*
 * Container managers use different forms for the container's id or name in a path:
 *
 *     /docker/ID  docker-ID.scope  libpod-ID.scope  cri-containerd-ID.scope  crio-ID.scope
 *     /lxc/NAME  lxc.payload.NAME  machine-NAME.scope  systemd-nspawn@NAME.service
 */
static bool track_matches_part(const char *text, char *part, const char *before)
{
	static const char *const heads[] = {"lxc.payload.", "machine-", "systemd-nspawn@"};
	const char *id;
	size_t i;

	drop_end(part, ".scope");
	drop_end(part, ".service");
	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		if (strncmp(part, heads[i], strlen(heads[i])))
			continue;
		part += strlen(heads[i]);
		unescape(part);
		return *part && id_fits(text, part);
	}
	id = strrchr(part, '-');
	id = id ? id + 1 : part;
	if (strlen(id) >= ID_DIGITS_MIN && is_hexadecimal(id))
		return id_fits(text, id);
	return !strcmp(before, "lxc") && id_fits(text, part);
}

bool track_container_fits(const char *text, const char *path)
{
	char *copy = strdup(path), *remainder = NULL, *part;
	const char *before = "";
	bool fits = false;

	if (!copy)
		return false;
	for (part = strtok_r(copy, "/", &remainder); part && !fits;
			part = strtok_r(NULL, "/", &remainder)) {
		fits = track_matches_part(text, part, before);
		before = part;
	}
	free(copy);
	return fits;
}

static bool group_fits(const struct session_track *track, const struct track_cgroups *groups)
{
	size_t i;

	for (i = 0; i < groups->nr; i++)
		if (track->kind == SESSION_TRACK_CGROUP ? glob_fits(track->text, groups->paths[i])
							: track_container_fits(track->text,
									  groups->paths[i]))
			return true;
	return false;
}

/* ---- the decision ---- */

static bool track_matches_peer(const struct session_track *track, const struct track_peer *peer,
		const struct track_cgroups *groups)
{
	switch (track->kind) {
	case SESSION_TRACK_PID: return track->number == (uint64_t)peer->pid;
	case SESSION_TRACK_UID: return track->number == peer->uid;
	case SESSION_TRACK_GID: return track->number == peer->gid;
	case SESSION_TRACK_NAME: return glob_fits(track->text, peer->name);
	case SESSION_TRACK_CGROUP:
	case SESSION_TRACK_CONTAINER: return group_fits(track, groups);
	case SESSION_TRACK_KINDS: break;
	}
	return false;
}

static bool asks_for_groups(const struct session_track *track, size_t nr)
{
	while (nr--)
		if (track[nr].kind == SESSION_TRACK_CGROUP ||
				track[nr].kind == SESSION_TRACK_CONTAINER)
			return true;
	return false;
}

bool track_wants(const struct session_track *track, size_t nr, const struct track_peer *peer)
{
	unsigned int asked = 0, found = 0;
	struct track_cgroups groups = {.nr = 0};
	bool excluded = false;
	size_t i;

	if (asks_for_groups(track, nr))
		read_groups(&groups, peer->pid);
	for (i = 0; i < nr && !excluded; i++) {
		bool fit = track_matches_peer(&track[i], peer, &groups);

		if (track[i].exclude) {
			excluded = fit;
			continue;
		}
		asked |= 1u << track[i].kind;
		if (fit)
			found |= 1u << track[i].kind;
	}
	free_groups(&groups);
	return !excluded && asked == found;
}
