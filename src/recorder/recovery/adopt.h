/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_ADOPT_H
#define SIDE_RECORDER_RECOVERY_ADOPT_H

/*
 * Takes over what another recorder or a program has left in a state directory, or in the memory of a program that lives.
 *
 * Callers: the life of a live session, connections. Main thread, adopt_all() before the drain thread runs. Without the session's lock.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "recorder/core/session.h"
#include "ring/ring.h"

struct instance;

/* Reports folders that cannot be used, and goes on with the others. Fails only without memory. */
int adopt_all(struct session *session, struct session_error *error);
/*
 * Where programs make folders by themselves: those that have come since. It scans now and then, or `now`. adopt_forget() frees what it
 * remembers.
 */
void adopt_new(struct session *session, bool now);
void adopt_forget(struct session *session);

/* Parts of it. A descriptor that can write, for one that cannot, of rings: that or a negative errno. */
int adopt_open_writable(int fd);
/* An instance with rings and events, and its pidfd, or -1 for one that has ended. */
void adopt_add(struct session *session, struct instance *instance, int process);
/* It counts ticks of this clock of this boot. 0 or a negative errno. */
int adopt_clock_of(const struct session *session, struct instance *instance, enum ring_clock kind);

#endif
