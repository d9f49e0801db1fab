/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_LIBRARY_FILES_H
#define SIDE_TRACERS_AGENT_CORE_LIBRARY_FILES_H

/*
 * Mapped files with code, and what they contain about themselves: the build id, and the name of the
 * file with their debug information.
 *
 * Any thread, with any lock. The functions read files and memory by system calls, and allocate
 * nothing.
 */
#include <stdbool.h>
#include <stdint.h>

#define BASE_BUILD_ID_MAX 64
#define BASE_LINK_MAX 256

/* A file of which some part can be executed. */
struct base_library {
	const char *path; /* as in /proc/self/maps; not terminated by NUL */
	uint32_t path_size;
	bool deleted;
	uint64_t base, end;
	uint64_t device, inode;
};

struct base_identity {
	uint32_t build_id_size;
	uint8_t build_id[BASE_BUILD_ID_MAX];
	char debug_link[BASE_LINK_MAX];
};

/* Members of *ret_identity are empty if they cannot be read. */
void base_identify(const struct base_library *library, const char *path,
		struct base_identity *ret_identity);

/* Only the build id, from memory; and the difference between addresses here and in the file. */
bool base_find(const struct base_library *library, struct base_identity *ret_identity,
		uint64_t *ret_bias);

#endif
