/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_MAPS_H
#define SIDE_RECORDER_CORE_MAPS_H

/*
 * The code that a process has mapped, so that addresses in its events can be attributed to files when it has exited.
 *
 * Callers: connections and recovery. The main thread reads the lines while the process waits, the drain thread writes them
 * (storage/maps-file.h); instance->maps is under the session's lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct instance;
struct session;

/* Lines of /proc/PID/maps, each once. */
struct instance_maps {
	char *text;
	size_t size, capacity;
	uint32_t *table; /* of hashed lines */
	size_t slots, lines;
	bool is_new; /* since the lines were written out */
};

/* By the main thread while the process waits. Takes the lock. */
void maps_read(struct session *session, struct instance *instance);
/* The lines of an earlier recorder. Before the instance is in the list; no lock. */
void maps_adopt(struct instance *instance, const char *text, size_t size);
/* By the thread that frees the instance; no lock. */
void maps_free(struct instance *instance);

#endif
