/* SPDX-License-Identifier: MIT */
/* The values of contexts that threads cache, in groups that change together. */
#ifndef SIDE_TRACERS_AGENT_CONTEXT_GROUPS_H
#define SIDE_TRACERS_AGENT_CONTEXT_GROUPS_H

#include <stdint.h>

enum context_group {
	CONTEXT_GROUP_IDS,         /* vpid, vtid */
	CONTEXT_GROUP_TID,         /* tid */
	CONTEXT_GROUP_PROCNAME,    /* of the main thread */
	CONTEXT_GROUP_THREAD_NAME, /* of this one */
	CONTEXT_GROUP_UIDS,
	CONTEXT_GROUP_GIDS,
	CONTEXT_GROUP_NAMESPACES, /* and the seven that follow, as in enum context_kind */
	CONTEXT_GROUP_COUNTERS = CONTEXT_GROUP_NAMESPACES + 8, /* no value: the mapped counters */
	CONTEXT_GROUPS
};

#define CONTEXT_GROUP(name) (1u << CONTEXT_GROUP_##name)
#define CONTEXT_ALL_NAMESPACES (0xffu << CONTEXT_GROUP_NAMESPACES)
#define CONTEXT_ALL_GROUPS ((1u << CONTEXT_GROUPS) - 1)

#define CONTEXT_COMM_SIZE 16 /* a name as the kernel has it, with its NUL */

struct context_values {
	int32_t vpid, vtid, tid;
	uint32_t uids[3]; /* real, effective, saved */
	uint32_t gids[3];
	char procname[CONTEXT_COMM_SIZE];
	char thread_name[CONTEXT_COMM_SIZE];
	uint64_t namespaces[8];
};

#endif /* SIDE_TRACERS_AGENT_CONTEXT_GROUPS_H */
