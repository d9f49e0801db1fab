/* SPDX-License-Identifier: MIT */
/*
 * What code a process has mapped, so that addresses in its events (the context `ip`, the field
 * `caller`) can be told apart from each other when it is gone: the file `.maps` in its trace, whose
 * name keeps readers of CTF from taking it for a stream.
 *
 * It is looked at whenever the process says that it has new events, which is when it has started and
 * after each library that brings some; then it waits for the answer and is surely there. Lines are
 * only ever added: what was unmapped may still stand in earlier events.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/parts.h"

#define MAPS_SIZE_MAX ((size_t)4 << 20)

/* A mapping of a file that can be executed: "begin-end r-xp offset device inode   /path". */
static bool is_code(const char *line)
{
	const char *permissions = strchr(line, ' ');

	return permissions && strlen(permissions) > 4 && permissions[3] == 'x' && strchr(line, '/');
}

/* Under the session's lock: the other thread writes it out. */
static void add_line(struct instance *instance, const char *line, size_t size)
{
	size_t old = instance->maps ? strlen(instance->maps) : 0;
	char *grown;

	if ((instance->maps && strstr(instance->maps, line)) || old + size >= MAPS_SIZE_MAX)
		return;
	grown = realloc(instance->maps, old + size + 1);
	if (!grown)
		return;
	memcpy(grown + old, line, size + 1);
	instance->maps = grown;
	instance->maps_new = true;
}

void maps_read(struct session *session, struct instance *instance)
{
	char path[64], *line = NULL;
	size_t room = 0;
	ssize_t size;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)instance->peer);
	file = fopen(path, "re");
	if (!file)
		return; /* Of another user, or gone: addresses stay numbers. */
	while ((size = getline(&line, &room, file)) > 0) {
		if (!is_code(line))
			continue;
		pthread_mutex_lock(&session->lock);
		add_line(instance, line, (size_t)size);
		pthread_mutex_unlock(&session->lock);
	}
	free(line);
	fclose(file);
}

void maps_write(struct session *session, struct instance *instance)
{
	char *path = NULL, *text = NULL;
	FILE *file;

	pthread_mutex_lock(&session->lock);
	if (instance->maps_new && instance->directory) {
		text = strdup(instance->maps);
		instance->maps_new = false;
	}
	pthread_mutex_unlock(&session->lock);
	if (!text)
		return;
	/* Names are a help: that they cannot be written fails nothing. */
	if (asprintf(&path, "%s/%s/.maps", rotate_path(session), instance->directory) >= 0) {
		file = fopen(path, "we");
		if (file) {
			fputs(text, file);
			fclose(file);
		}
		free(path);
	}
	free(text);
}
