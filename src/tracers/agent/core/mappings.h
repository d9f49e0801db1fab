/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_MAPPINGS_H
#define SIDE_TRACERS_AGENT_CORE_MAPPINGS_H

/*
 * Where the executable and its libraries stand in memory, as two events of the agent's own:
 *
 *	side:library_load    path, base, size, build_id, debug_link
 *	side:library_unload  path, base
 *
 * base.c compares what is mapped with what was before and says the difference, and says all of it to
 * a session that begins or asks for a state dump. base-files.c reads what a library's file says of
 * itself, base-events.c holds the events.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <side/trace.h>

#define BASE_BUILD_ID_MAX 64
#define BASE_LINK_MAX 256

/* A file of which some part can be executed. */
struct base_library {
	const char *path; /* as the kernel says it; not ended by NUL */
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

/* base-files.c: empty where nothing can be read. */
void base_identify(const struct base_library *library, const char *path,
		struct base_identity *identity);

/* Only the build id, as it stands in memory; and what is added to the file's addresses to get those here. */
bool base_find(const struct base_library *library, struct base_identity *identity, uint64_t *bias);

/* base.c: all that is mapped now. With the event lock. -ENOMEM. */
int base_each(void (*each)(void *user, const struct base_library *library), void *user);

/* base-events.c. With key NULL: to everyone. */
bool base_events_register(void);
bool base_is_event(const struct side_event_description *event);
bool base_wanted(void); /* does anybody listen? */
/* The rest with the event lock. */
void base_record_load(const struct base_library *library, uint64_t *key);
void base_record_unload(const struct base_library *library);

#endif
