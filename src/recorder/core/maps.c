/* SPDX-License-Identifier: MIT */
/*
 * Records the code that a process has mapped. With it, analysis can attribute addresses in events
 * (the context `ip`, the field `caller`) to files after the process has exited. The lines are in
 * the file `.maps` of its trace; readers of CTF ignore a file whose name begins with a dot.
 *
 * The recorder reads the mappings whenever the process reports new events: after its start, and
 * after each library with events. The process then waits for the answer, so it cannot exit
 * meanwhile. Lines are only added: earlier events can contain addresses of code that is unmapped
 * now.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/inside/hash.h"
#include "recorder/core/instance.h"
#include "recorder/core/maps.h"
#include "recorder/session-state.h"

#define MAPS_SIZE_MAX ((size_t)4 << 20)
#define MAPS_GENERATED_SIZE (MAPS_FUNCTION_MAX + 96)
#define MAPS_FUNCTIONS_SIZE_MAX ((size_t)3 << 20) /* the remainder is for mappings */

/*
 * True for a mapping of a file with execute permission: "begin-end r-xp offset device inode /path".
 */
static bool is_code(const char *line)
{
	const char *permissions = strchr(line, ' ');

	return permissions && strlen(permissions) > 4 && permissions[3] == 'x' && strchr(line, '/');
}

/* ---- known lines ---- */

static uint64_t maps_hash(const char *line, size_t size)
{
	return hash_fold_64(hash_fnv1a_64(HASH_FNV1A_64_BEGIN, line, size));
}

/*
 * Returns the slot of the line in the table, or the empty slot for it. A slot contains the offset
 * of its line in the text, plus one.
 */
static uint32_t *maps_slot(const struct instance_maps *maps, const char *line, size_t size)
{
	size_t at = (size_t)maps_hash(line, size) & (maps->slots - 1);

	while (maps->table[at]) {
		size_t offset = maps->table[at] - 1;

		if (maps->size - offset >= size && !memcmp(maps->text + offset, line, size))
			break;
		at = (at + 1) & (maps->slots - 1);
	}
	return &maps->table[at];
}

static bool maps_grow_table(struct instance_maps *maps)
{
	struct instance_maps grown = *maps;
	size_t offset, size;

	if (maps->lines < maps->slots / 2)
		return true;
	grown.slots = maps->slots ? maps->slots * 2 : 64;
	grown.table = calloc(grown.slots, sizeof(*grown.table));
	if (!grown.table)
		return false;
	for (offset = 0; offset < maps->size; offset += size) {
		const char *end = memchr(maps->text + offset, '\n', maps->size - offset);

		size = end ? (size_t)(end - maps->text) + 1 - offset : maps->size - offset;
		*maps_slot(&grown, maps->text + offset, size) = (uint32_t)offset + 1;
	}
	free(maps->table);
	*maps = grown;
	return true;
}

static bool maps_grow_text(struct instance_maps *maps, size_t size)
{
	size_t capacity = maps->capacity ? maps->capacity : 4096;
	char *grown;

	while (capacity - maps->size < size)
		capacity *= 2;
	if (capacity == maps->capacity)
		return true;
	grown = realloc(maps->text, capacity);
	if (!grown)
		return false;
	maps->text = grown;
	maps->capacity = capacity;
	return true;
}

/*
 * The caller holds the session's lock, because the drain thread writes the lines. If out of memory,
 * the line is dropped.
 */
static void maps_add(struct instance_maps *maps, const char *line, size_t size)
{
	uint32_t *slot;

	if (maps->size + size > MAPS_SIZE_MAX || !maps_grow_table(maps))
		return;
	slot = maps_slot(maps, line, size);
	if (*slot || !maps_grow_text(maps, size))
		return;
	memcpy(maps->text + maps->size, line, size);
	*slot = (uint32_t)maps->size + 1;
	maps->size += size;
	maps->lines++;
	maps->is_new = true;
}

/* `size` is the size of the formatted line. A line that did not fit into `line` is left out. */
static void maps_add_generated(
		struct instance *instance, const char line[MAPS_GENERATED_SIZE], int size)
{
	if (size > 0 && size < MAPS_GENERATED_SIZE &&
			instance->maps.size + (size_t)size <= MAPS_FUNCTIONS_SIZE_MAX)
		maps_add(&instance->maps, line, (size_t)size);
}

void maps_add_function(struct instance *instance, uint64_t begin, uint64_t end, const char *name)
{
	char line[MAPS_GENERATED_SIZE];

	maps_add_generated(instance, line,
			snprintf(line, sizeof(line), "%" PRIx64 "-%" PRIx64 " jit %s\n", begin, end,
					name));
}

void maps_add_timed_function(struct instance *instance, uint64_t begin, uint64_t end, int64_t ns,
		const char *name)
{
	char line[MAPS_GENERATED_SIZE];

	maps_add_generated(instance, line,
			snprintf(line, sizeof(line), "%" PRIx64 "-%" PRIx64 " jit@%" PRId64 " %s\n",
					begin, end, ns, name));
}

void maps_add_line(struct instance *instance, const struct maps_line *generated)
{
	char line[MAPS_GENERATED_SIZE];

	maps_add_generated(instance, line,
			snprintf(line, sizeof(line),
					"%" PRIx64 "-%" PRIx64 " line@%" PRId64 " %" PRIu32 " %s\n",
					generated->begin, generated->end, generated->ns,
					generated->line, generated->file));
}

void maps_adopt(struct instance *instance, const char *text, size_t size)
{
	const char *end;

	for (; size && (end = memchr(text, '\n', size)); text = end + 1) {
		size_t line = (size_t)(end - text) + 1;

		maps_add(&instance->maps, text, line);
		size -= line;
	}
}

void maps_free(struct instance *instance)
{
	free(instance->maps.text);
	free(instance->maps.table);
	free(instance->maps.directory);
	instance->maps = (struct instance_maps){0};
}

/* The current directory of the process, in which programs write files about generated code. */
static void maps_read_directory(struct session *session, struct instance *instance)
{
	char link[64], path[PATH_MAX];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/%d/cwd", (int)instance->peer);
	size = readlink(link, path, sizeof(path) - 1);
	if (size <= 0 || path[0] != '/')
		return;
	path[size] = '\0';
	pthread_mutex_lock(&session->lock);
	free(instance->maps.directory);
	instance->maps.directory = strdup(path);
	pthread_mutex_unlock(&session->lock);
}

void maps_read(struct session *session, struct instance *instance)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	ssize_t size;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)instance->peer);
	file = fopen(path, "re");
	if (!file)
		/*
		 * The process belongs to another user, or has exited: its addresses will have no
		 * names.
		 */
		return;
	/*
	 * The open file refers to the process that had the id when it was opened. If the recorded
	 * process has exited, that can be another one.
	 */
	if (instance_has_exited(instance)) {
		fclose(file);
		return;
	}
	instance->maps.started = session_process_start(instance->peer);
	maps_read_directory(session, instance);
	while ((size = getline(&line, &capacity, file)) > 0) {
		if (!is_code(line))
			continue;
		pthread_mutex_lock(&session->lock);
		maps_add(&instance->maps, line, (size_t)size);
		pthread_mutex_unlock(&session->lock);
	}
	free(line);
	fclose(file);
}
