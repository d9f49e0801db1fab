/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_CORE_DUMP_H
#define SIDE_RECORDER_RECOVERY_CORE_DUMP_H

/*
 * Finds recordings in the memory of a program (protocol/recovery.h): of a dead one in a core dump,
 * or of a running one (adopt-mapped.c).
 *
 * Callers: recover.c, adopt-mapped.c, core-file.c and kernel-dump.c. Main thread. No lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctf/ctf.h"
#include "protocol/recovery.h"

struct instance;
struct session;

/* A range of the program's memory that the file contains. */
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
	/* Reads the program's memory. NULL: reads the segments of the file. */
	int (*read)(struct core *core, uint64_t address, void *to, size_t size);
	struct segment *segments; /* sorted by address */
	size_t nr_segments;
	unsigned int nr_records;

	/* True if this recording must be read. NULL: all are read. */
	bool (*wants)(struct core *core, const struct recovery_head *head);
	/*
	 * Takes the rings of a channel, whose name and contexts are set. Returns 0, or a negative
	 * errno with a sentence in *error.
	 */
	int (*take_rings)(struct core *core, struct instance *instance, uint32_t index,
			const struct recovery_channel *from, struct error *error);
	/*
	 * Takes ownership of a complete instance. Returns 0, or a negative errno: then the caller
	 * frees it.
	 */
	int (*take)(struct core *core, struct instance *instance, const struct recovery_head *head,
			struct error *error);
	void *user;
};

/*
 * Adds all recordings in a core dump, or in the dump of a machine (kernel-dump.h), each with
 * recover_add(). In core-file.c, which the daemon does not contain.
 */
int core_load(struct session *session, const char *path, struct error *error);

/* A ring_memory_read: `user` is a struct core. */
int core_read(void *user, uint64_t address, void *to, size_t size);
/*
 * Finds all recordings in the segments, and reports those that it cannot read. Returns 0 or a
 * negative errno.
 */
int core_scan(struct core *core);
/*
 * Adds the recording whose head is at this address of the program, where the first bytes of a head
 * are `bytes`. Nothing if there is none. core_take() is the member `take` that calls recover_add().
 */
void core_add_record(struct core *core, uint64_t address, const unsigned char *bytes);
int core_take(struct core *core, struct instance *instance, const struct recovery_head *head,
		struct error *error);

#endif
