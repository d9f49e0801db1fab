/* SPDX-License-Identifier: MIT */
/* State dumps around a fork and at exit. */
#ifndef SIDE_LIBSIDE_STATEDUMP_H
#define SIDE_LIBSIDE_STATEDUMP_H

/*
 * Around a fork: statedump_pause() without the lock of the state dump and before it is taken; after
 * the fork, with the lock, one of the other two, which release it.
 */
void statedump_pause(void);
void statedump_fork_in_parent(void);
void statedump_fork_in_child(void);

/* Stop the agent at exit. Call without the lock. */
void statedump_finish(void);

#endif /* SIDE_LIBSIDE_STATEDUMP_H */
