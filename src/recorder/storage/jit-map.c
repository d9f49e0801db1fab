/* SPDX-License-Identifier: MIT */
/*
 * Copies the functions that a process has generated into the lines of its mappings (core/maps.c).
 *
 * Programs name these functions for profilers in two files. /tmp/perf-PID.map has lines "begin size
 * name", in hexadecimal. jit-PID.dump (jit-dump.h) also has times, files and lines. A program maps
 * this file as code, so that tools find its path. If the program did so after its mappings were
 * read, the current directory of the program and /tmp are searched.
 *
 * Any user can make files of these names. So a file is read only if it belongs to the user of the
 * process and was written after the process began.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "recorder/core/instance.h"
#include "recorder/core/maps.h"
#include "recorder/storage/jit-dump.h"
#include "recorder/session-state.h"
#include "recorder/storage/jit-map.h"

#define JIT_MAP_SIZE_MAX ((int64_t)64 << 20)
#define JIT_DUMP_SIZE_MAX ((int64_t)1 << 30) /* the file also has the code of the functions */
/* The clock of a file system is a few milliseconds behind; the process's start is in ticks. */
#define JIT_MAP_TOLERANCE 2 /* seconds */

/* When the process began, in seconds since 1970; INT64_MAX: not known. */
static int64_t jit_map_begin(const struct instance *instance)
{
	int64_t ticks = sysconf(_SC_CLK_TCK);
	struct timespec boot, now;

	if (!instance->maps.started || ticks <= 0 || clock_gettime(CLOCK_BOOTTIME, &boot) ||
			clock_gettime(CLOCK_REALTIME, &now))
		return INT64_MAX;
	return now.tv_sec - boot.tv_sec + (int64_t)instance->maps.started / ticks;
}

static bool jit_map_is_of(const struct instance *instance, int fd, int64_t size_max)
{
	struct stat status;

	return !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == instance->uid &&
			status.st_size <= size_max &&
			status.st_mtim.tv_sec + JIT_MAP_TOLERANCE >= jit_map_begin(instance);
}

static FILE *jit_map_open(const struct instance *instance, const char *path, int64_t size_max)
{
	FILE *file = NULL;
	/* Do not follow a link, and do not wait for a pipe. */
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	if (jit_map_is_of(instance, fd, size_max))
		file = fdopen(fd, "r");
	if (!file)
		close(fd);
	return file;
}

/* The last line is incomplete while the process writes it. */
static void jit_map_take_line(struct session *session, struct instance *instance, char *line)
{
	uint64_t begin, size;
	int name = 0;
	char *end = strchr(line, '\n');

	if (!end)
		return;
	*end = '\0';
	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &begin, &size, &name) != 2 || !name ||
			!line[name] || !size || begin + size <= begin)
		return;
	pthread_mutex_lock(&session->lock);
	maps_add_function(instance, begin, begin + size, line + name);
	pthread_mutex_unlock(&session->lock);
}

static void jit_map_read_list(struct session *session, struct instance *instance)
{
	char line[MAPS_FUNCTION_MAX], path[64];
	bool is_begin = true;
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)instance->peer);
	file = jit_map_open(instance, path, JIT_MAP_SIZE_MAX);
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		bool is_end = strchr(line, '\n') != NULL;

		/* A longer line is skipped, with its parts. */
		if (is_begin && is_end)
			jit_map_take_line(session, instance, line);
		is_begin = is_end;
	}
	fclose(file);
}

/* ---- jit-PID.dump ---- */

/*
 * The path of the file that a line of the mappings names. `name` is "/jit-PID.dump\n". False: there
 * is none.
 */
static bool jit_map_find_mapped(
		const struct instance_maps *maps, const char *name, char path[PATH_MAX])
{
	size_t name_size = strlen(name);
	const char *line = maps->text, *end, *next, *begin;

	if (!line)
		return false;
	for (end = line + maps->size; line < end; line = next) {
		next = memchr(line, '\n', (size_t)(end - line));
		if (!next)
			return false;
		next++;
		begin = memchr(line, '/', (size_t)(next - line));
		if (!begin || (size_t)(next - begin) < name_size || next - begin > PATH_MAX ||
				memcmp(next - name_size, name, name_size) != 0)
			continue;
		memcpy(path, begin, (size_t)(next - begin) - 1);
		path[next - begin - 1] = '\0';
		return true;
	}
	return false;
}

static FILE *jit_map_open_dump(struct session *session, const struct instance *instance)
{
	char name[64], path[PATH_MAX], local[PATH_MAX] = "";
	bool is_mapped;
	FILE *file;

	snprintf(name, sizeof(name), "/jit-%" PRIu32 ".dump\n", instance->pid);
	pthread_mutex_lock(&session->lock);
	is_mapped = jit_map_find_mapped(&instance->maps, name, path);
	name[strlen(name) - 1] = '\0';
	if (instance->maps.directory &&
			strlen(instance->maps.directory) + strlen(name) < sizeof(local))
		sprintf(local, "%s%s", instance->maps.directory, name);
	pthread_mutex_unlock(&session->lock);
	if (is_mapped)
		return jit_map_open(instance, path, JIT_DUMP_SIZE_MAX);
	file = jit_map_open(instance, local, JIT_DUMP_SIZE_MAX);
	if (file)
		return file;
	snprintf(path, sizeof(path), "/tmp%s", name);
	return jit_map_open(instance, path, JIT_DUMP_SIZE_MAX);
}

/* Offset of times since 1970 from CLOCK_MONOTONIC; always the same, so that lines are equal. */
static int64_t jit_map_get_offset(const struct session *session)
{
	const struct ring_clock_sample *begin = &session->clock.begin;
	struct timespec monotonic, now;

	if (begin->realtime_ns)
		return begin->realtime_ns - begin->monotonic_ns;
	if (clock_gettime(CLOCK_MONOTONIC, &monotonic) || clock_gettime(CLOCK_REALTIME, &now))
		return 0;
	return (now.tv_sec - monotonic.tv_sec) * INT64_C(1000000000) + now.tv_nsec -
			monotonic.tv_nsec;
}

/* Adds the lines of a function, one for each part of the code. */
static void jit_map_add_lines(struct instance *instance, const struct jit_dump *dump,
		const struct jit_dump_function *function, int64_t ns)
{
	const struct jit_dump_line *lines;
	uint32_t count = function->nr_lines, next;

	if (!count)
		return;
	lines = &dump->lines[function->first_line];
	for (uint32_t i = 0; i < count; i = next) {
		struct maps_line line = {.ns = ns,
				.begin = function->begin + lines[i].offset,
				.line = lines[i].line,
				.file = dump->text + lines[i].file};
		uint64_t end;

		for (next = i + 1; next < count && lines[next].line == lines[i].line &&
				lines[next].file == lines[i].file;)
			next++;
		end = next < count ? lines[next].offset : function->size;
		line.end = function->begin + (end < function->size ? end : function->size);
		if (lines[i].offset < function->size && line.begin < line.end)
			maps_add_line(instance, &line);
	}
}

/* Adds names first: source lines get the space that remains. */
static void jit_map_add_dump(
		struct session *session, struct instance *instance, const struct jit_dump *dump)
{
	int64_t offset = jit_map_get_offset(session);

	pthread_mutex_lock(&session->lock);
	for (size_t i = 0; i < dump->nr_functions; i++) {
		const struct jit_dump_function *function = &dump->functions[i];

		maps_add_timed_function(instance, function->begin, function->begin + function->size,
				(int64_t)(function->timestamp + (uint64_t)offset),
				dump->text + function->name);
	}
	for (size_t i = 0; i < dump->nr_functions; i++)
		jit_map_add_lines(instance, dump, &dump->functions[i],
				(int64_t)(dump->functions[i].timestamp + (uint64_t)offset));
	pthread_mutex_unlock(&session->lock);
}

static void jit_map_read_dump(struct session *session, struct instance *instance)
{
	FILE *file = jit_map_open_dump(session, instance);
	struct jit_dump dump;

	if (!file)
		return;
	/* The names are optional, so ignore errors. */
	if (!jit_dump_parse(file, &dump))
		jit_map_add_dump(session, instance, &dump);
	jit_dump_free(&dump);
	fclose(file);
}

void jit_map_read(struct session *session, struct instance *instance)
{
	jit_map_read_list(session, instance);
	jit_map_read_dump(session, instance);
}
