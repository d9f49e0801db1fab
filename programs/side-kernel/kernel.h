/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_KERNEL_KERNEL_H
#define PROGRAMS_SIDE_KERNEL_KERNEL_H

/*
 * side-kernel: the program behind the kernel's events in sessions (`side enable-event --kernel`). It listens to the kernel, and says each of
 * its events as a SIDE event, with the time and the CPU of the original. So sessions record them like those of any program: channels,
 * filters, chunks, losses, sending and adoption are those of all events, and what no session records is switched off in the kernel.
 *
 *	main.c      its life, and one turn after the other
 *	command.c   another life, as the command of one recording
 *	events.c    events of the kernel as events of ours
 *	values.c    their types, and the values of a record
 *	wanted.c    what the sessions of the daemon want
 *	server.c    who asks us something: `side`, and programs that have registered user_events
 *
 * One serves all sessions of a daemon. Which of its events a session wants is said by patterns that begin with PATTERN_KERNEL; the agent in
 * us knows no others (AGENT_KERNEL_ENV), and the agents of other programs not those.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <side/builder.h>

#include "kernel-events/kernel-events.h"

/* ---- values.c ---- */

/* Memory for the arguments of one call. */
struct scratch {
	struct scratch_block *blocks;
	size_t used; /* of the first one */
};

void *scratch_take(struct scratch *scratch, size_t size);
void scratch_reset(struct scratch *scratch);
void scratch_free(struct scratch *scratch);

/* All members of a structure become fields of the event. */
int values_add_fields(struct side_builder *builder, const struct ctf_type *type);
/* How many those are. */
uint32_t values_count(const struct ctf_type *type);
/* As many arguments. False: the bytes do not have them, or out of memory. */
bool values_take(struct scratch *scratch, const struct ctf_type *type, struct kernel_payload bytes,
		struct side_arg *arguments);

/* ---- events.c ---- */

struct side_kernel_events;

int events_create(bool monotonic, struct side_kernel_events **events);
void events_free(struct side_kernel_events *events);
/* The clock of the ring, or CLOCK_MONOTONIC where the kernel's side has no other: true, and times become the ring's here. */
bool events_choose_clock(struct kernel_record_options *options);
/* What the kernel's side calls. */
void events_listener(struct side_kernel_events *events, struct kernel_listener *listener);
/* Does anybody listen to one? */
bool events_wanted(const struct kernel_event *event);
/* One of ours, which says how we listen; by it a daemon comes that has not yet. */
void events_hello(const struct side_kernel_events *events, const char *backend, const char *why);
void events_stats(const struct side_kernel_events *events, uint64_t *nr_recorded, uint64_t *lost);

/* ---- wanted.c ---- */

struct side_kernel_selection {
	struct kernel_record_choice *choices;
	size_t nr;
	bool is_reached; /* the daemon has answered */
};

/* What the sessions of the daemon want now. wanted_free() in any case. */
void wanted_ask(struct side_kernel_selection *wanted);
void wanted_free(struct side_kernel_selection *wanted);
/* The directory of the daemon, without a slash at its end. False: there is no daemon. */
bool selection_socket_dir(char *path, size_t size);

/* ---- server.c: protocol in programs/common/kernel-commands.h ---- */

struct server;

struct server_calls {
	void *user;
	/* The sessions may want something else. */
	void (*poll)(void *user);
	/* All that has happened until now is said. */
	void (*drain)(void *user);
	/* Is there an event that the pattern means, or can there be one? */
	bool (*knows)(void *user, const char *pattern);
	/* Members of the answer, without braces. */
	void (*describe)(void *user, char *text, size_t size);
};

/* -EBUSY: there is another one of us. The descriptor becomes readable when there is something to do. */
int server_open(const char *state_dir, const struct server_calls *calls, struct server **server);
int server_fd(const struct server *server);
void server_turn(struct server *server);
void server_close(struct server *server);

/* ---- command.c: its status ---- */

int command_main(char **argv);

#endif /* PROGRAMS_SIDE_KERNEL_KERNEL_H */
