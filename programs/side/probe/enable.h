/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_ENABLE_H
#define PROGRAMS_SIDE_PROBE_ENABLE_H

#include "programs/common/ask.h"
#include "kernel.h"
#include "spec-options.h"

#include "sessions/definition.h"
#include "sessions/file-identity.h"

#include <limits.h>

/* The state of one command. */
struct enabling {
	const struct parsed *parsed;
	const struct control_options *options;
	struct probe_target target;
	char exe[PATH_MAX];
	char file[FILE_IDENTITY_SIZE]; /* of `exe` before it is read; "": there is none */
	/* Of a probe that is requested again: array of the former files that keep theirs, or NULL. */
	struct json_object *kept;
	/* Of a probe for a file of its LIB that a program has loaded; NULL: see enable-loaded.c. */
	const struct probe_of_library *of_library;
	char *library;    /* LIB of a spec with `--pending`; NULL: it has none */
	bool is_unloaded; /* no file of it has the location: the table is empty */
	bool is_pending;  /* `exe` does not exist yet: the spec is resolved when it is executed */
	pid_t files_of;   /* with --global: a process that has mapped the files to probe */
	struct text_list contexts; /* one per item */
	int table;
	struct probe_kernel kernel;   /* the sites that the kernel watches */
	const char *channel, *filter; /* of a probe that is made again; NULL: from the options */
};

/* Returns 0 or an exit status, after printing a message. */
int probe_begin(struct enabling *enabling, const struct parsed *parsed);
void probe_finish(struct enabling *enabling);
/* Connect to the daemon, and find the name of the session. */
int probe_connect(const struct enabling *enabling, struct ask *ask, char buffer[ASK_NAME_MAX],
		const char **ret_session);
/* Resolve a spec, attach the agent if needed, send the request and print the result. */
int probe_enable(struct enabling *enabling, struct ask *ask, const struct spec_options *spec,
		const char *session);
/* enable-global.c: the same for `--global`. */
int probe_enable_global(struct enabling *enabling, struct ask *ask, const struct spec_options *spec,
		const char *session);

/*
 * enable-kernel.c: which sites of one process the kernel watches, instead of a breakpoint. When
 * they are requested, no other process watches them for this event; afterwards side-uprobes does.
 */
int probe_enable_choose(struct enabling *enabling, struct ask *ask, const struct spec_options *spec,
		const char *session);
int probe_enable_watch(struct enabling *enabling, const struct ask *ask, const char *session);

/*
 * Add the options, and the patterns of the table's events, to a request. probe_add_events() returns
 * 0 or an exit status, after printing a message.
 */
void probe_add_asked(struct json_object *request, const struct option_uses *asked);
int probe_add_events(struct json_object *request, int table);

/* enable-loaded.c: a library that a process of the session is loading. */
struct probe_of_library {
	struct probe_loaded loaded;
	char file[FILE_IDENTITY_SIZE];
	uint64_t started; /* of the probe's process, which may have ended; 0: it names a file */
	bool is_glob;     /* LIB is one: the library may lack the location */
};
/*
 * Requests the probes of the session that have `--pending` and whose LIB names the library. `json`
 * is the definition in the answer to `status`. Returns 0 or an exit status, after printing a message.
 */
int probe_enable_loaded(const struct parsed *parsed, struct ask *ask, struct json_object *json,
		const struct definition *definition);
/* Requests one of them. */
int probe_enable_of_library(struct enabling *enabling, struct ask *ask,
		const struct spec_options *spec, const char *session);
/* enable-again.c: requests the probe again. `probe` and `channels` are those of a definition. */
int probe_enable_again(struct enabling *enabling, struct ask *ask, struct json_object *probe,
		struct json_object *channels, const char *session);
/* Whether a probe is that of this user. Requested again, another one would get its rights. */
bool probe_enable_is_own(const struct definition_probe *probe);

#endif /* PROGRAMS_SIDE_PROBE_ENABLE_H */
