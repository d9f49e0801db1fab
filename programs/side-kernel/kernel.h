/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_KERNEL_KERNEL_H
#define PROGRAMS_SIDE_KERNEL_KERNEL_H

/*
 * side-kernel: the program that emits the kernel's events in sessions (`side enable-event
 * --kernel`).
 *
 * It listens to the kernel and emits each of its events as a SIDE event, with the time and the CPU
 * of the original. Sessions therefore record them like the events of any program: with channels,
 * filters, chunks, losses, relays and adoption. Events that no session records are disabled in the
 * kernel.
 *
 *       main.c     start, main loop, end
 *       command.c  the same for the command of one recording
 *       events.c   events of the kernel as SIDE events
 *       values.c   their types, and the values of a record
 *       wanted.c   the events that the daemon's sessions select
 *       server.c   requests of `side`, and of programs that have registered user_events
 *
 * One process serves all sessions of a daemon. The patterns that begin with PATTERN_KERNEL select
 * events of the kernel; the agent of side-kernel matches only those (AGENT_KERNEL_ENV), and the
 * agents of other programs ignore them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <side/builder.h>

#include "kernel-events/kernel-events.h"

/* ---- values.c ---- */

/* Memory for the arguments of one call; scratch_reset() releases all of it. */
struct scratch {
	struct scratch_block *blocks;
	size_t used; /* bytes of the first block */
};

void *scratch_take(struct scratch *scratch, size_t size);
void scratch_reset(struct scratch *scratch);
void scratch_free(struct scratch *scratch);

/* Add all visible members of a structure as fields of the event. */
int values_add_fields(struct side_builder *builder, const struct ctf_type *type);
/* Returns the number of fields that values_add_fields() adds. */
uint32_t values_count(const struct ctf_type *type);
/*
 * Convert the values to that many arguments. Returns false if the bytes are too short, or if out of
 * memory.
 */
bool values_take(struct scratch *scratch, const struct ctf_type *type, struct kernel_payload bytes,
		struct side_arg *arguments);

/* ---- events.c ---- */

struct side_kernel_events;

int events_create(bool monotonic, struct side_kernel_events **ret_events);
void events_free(struct side_kernel_events *events);
/*
 * Choose the ring's clock for the listener. Returns true if the kernel cannot use it: the times are
 * then CLOCK_MONOTONIC, and are converted here.
 */
bool events_choose_clock(struct kernel_record_options *options);
/* Set the listener's callbacks. */
void events_listener(struct side_kernel_events *events, struct kernel_listener *ret_listener);
/* True if a tracer listens to the event. */
bool events_wanted(const struct kernel_event *event);
/*
 * Emit an event about side-kernel itself: the backend, and why. The first event also connects the
 * agent to a daemon.
 */
void events_hello(const struct side_kernel_events *events, const char *backend, const char *why);
void events_stats(const struct side_kernel_events *events, uint64_t *ret_described,
		uint64_t *ret_lost_count);

/* ---- wanted.c ---- */

struct side_kernel_selection {
	struct kernel_record_choice *choices;
	size_t nr;
	bool is_reached; /* the daemon has answered */
};

/* Ask the daemon for the events that its sessions select. Call wanted_free() in any case. */
void wanted_ask(struct side_kernel_selection *ret_wanted);
void wanted_free(struct side_kernel_selection *wanted);
/*
 * Get the directory of the daemon's socket, without a trailing slash. Returns false if there is no
 * daemon.
 */
bool selection_socket_dir(char *path, size_t size);

/* ---- server.c: protocol in programs/common/kernel-commands.h ---- */

struct server;

struct server_calls {
	void *user;
	/* The sessions may select other events. */
	void (*poll)(void *user);
	/* Emit all records so far. */
	void (*drain)(void *user);
	/* True if the pattern matches an event, or one that a program may still register. */
	bool (*knows)(void *user, const char *pattern);
	/* Print the members of the answer as JSON, without braces. */
	void (*describe)(void *user, char *text, size_t size);
};

/*
 * Returns 0 or a negative errno; -EBUSY if another side-kernel serves this directory. The
 * descriptor of server_fd() is readable when server_turn() has work.
 */
int server_open(const char *state_dir, const struct server_calls *calls,
		struct server **ret_server);
int server_fd(const struct server *server);
void server_turn(struct server *server);
void server_close(struct server *server);

/* ---- command.c: returns the exit status ---- */

int command_main(char **argv);

#endif /* PROGRAMS_SIDE_KERNEL_KERNEL_H */
