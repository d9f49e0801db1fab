/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_ENABLE_H
#define PROGRAMS_SIDE_PROBE_ENABLE_H

#include "programs/common/ask.h"
#include "kernel.h"
#include "spec-options.h"

#include <limits.h>

/* What one command does. */
struct enabling {
	const struct parsed *parsed;
	const struct control_options *options;
	struct probe_target target;
	char exe[PATH_MAX];
	pid_t files_of;            /* with --global: a process that has mapped the files to probe */
	struct text_list contexts; /* one by one */
	int table;
	struct probe_kernel kernel;   /* what of it the kernel watches */
	const char *channel, *filter; /* of a probe that is made again; NULL: as asked */
};

/* 0 or an exit status, all of them: said. */
int probe_begin(struct enabling *enabling, const struct parsed *parsed);
void probe_finish(struct enabling *enabling);
/* To the daemon, with the session that is meant. */
int probe_connect(const struct enabling *enabling, struct ask *ask, char buffer[ASK_NAME_MAX],
		const char **session);
/* Resolve a spec, attach the agent if needed, send the request and print the result. */
int probe_enable(struct enabling *enabling, struct ask *ask, const struct spec_options *spec,
		const char *session);
/* enable-global.c: the same, of the kernel's. */
int probe_enable_global(struct enabling *enabling, struct ask *ask, const struct spec_options *spec,
		const char *session);

/*
 * enable-kernel.c: which sites of one process the kernel watches, instead of a breakpoint. When they are requested, no other
 * process watches them for this event; afterwards side-uprobes does.
 */
int probe_enable_choose(struct enabling *enabling, struct ask *ask, const struct spec_options *spec,
		const char *session);
int probe_enable_watch(struct enabling *enabling, const struct ask *ask, const char *session);

/* For requests: what was asked for, and all events of the table. The latter: 0 or an exit status, said. */
void probe_add_asked(struct json_object *request, const struct option_uses *asked);
int probe_add_events(struct json_object *request, int table);

#endif /* PROGRAMS_SIDE_PROBE_ENABLE_H */
