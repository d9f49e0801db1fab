/* SPDX-License-Identifier: MIT */
/*
 * Makes an instance of rings that another recorder or a program has left.
 *
 * Callers: the files of this directory. Main thread. Without the session's lock.
 */
#ifndef SIDE_RECORDER_RECOVERY_ADOPT_INSTANCE_H
#define SIDE_RECORDER_RECOVERY_ADOPT_INSTANCE_H

#include <stdbool.h>

#include "ring/ring.h"

struct ctf_clock;
struct instance;
struct session;

/* Returns a writable descriptor for the rings of a read-only one, or a negative errno. */
int adopt_open_writable(int fd);
/* Adds an instance with rings and events, and its pidfd, or -1 if the process has ended. */
void adopt_add(struct session *session, struct instance *instance, int process);
/* Calibrates a clock of another kind than the session's. Returns false if it cannot be read. */
bool adopt_know_clock(enum ring_clock kind, struct ctf_clock *ret_clock);
/*
 * Sets the clock of an instance that counts ticks of this kind of clock in this boot. Returns 0 or
 * a negative errno.
 */
int adopt_clock_of(const struct session *session, struct instance *instance, enum ring_clock kind);

#endif /* SIDE_RECORDER_RECOVERY_ADOPT_INSTANCE_H */
