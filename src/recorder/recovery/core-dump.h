/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_CORE_DUMP_H
#define SIDE_RECORDER_RECOVERY_CORE_DUMP_H

/*
 * Recordings in the memory of a program (protocol/recovery.h): of one that is dead, in a core dump, or of one that lives
 * (adopt-mapped.c).
 *
 * Callers: recover.c and adopt-mapped.c. Main thread. No lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctf/ctf.h"
#include "protocol/recovery.h"

struct instance;
struct session;

/* Memory of the program that is in the file. */
struct segment {
	uint64_t address;
	uint64_t offset;
	uint64_t size;
	bool writable;
};

struct core {
	struct session *session;
	const char *path;
	int fd;
	struct segment *segments; /* by address */
	size_t nr_segments;
	unsigned int nr_records;

	/* Is this recording to be read at all? NULL: all are. */
	bool (*wants)(struct core *core, const struct recovery_head *head);
	/* The rings of a channel, whose name and contexts are there. 0 or a negative errno with a sentence. */
	int (*take_rings)(struct core *core, struct instance *instance, uint32_t index,
			const struct recovery_channel *from, struct ctf_error *error);
	/* An instance that is complete, to keep. 0, or a negative errno: it is freed. */
	int (*take)(struct core *core, struct instance *instance, const struct recovery_head *head,
			struct ctf_error *error);
	void *user;
};

/* The recordings in a core dump, each added by recover_add(). */
int core_load(struct session *session, const char *path, struct ctf_error *error);

/* Every recording that is in the segments. What cannot be read is said. 0 or a negative errno. */
int core_scan(struct core *core);

#endif
