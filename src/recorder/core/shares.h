/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_SHARES_H
#define SIDE_RECORDER_CORE_SHARES_H

/*
 * Divides a resource fairly among users: memory of rings, connections, descriptions, messages.
 *
 * Users share a total, by their uid. No allocation can be revoked. Some users have a floor: an
 * amount that no other user can take. The remainder is free: a user can take a part of it as long
 * as all floors remain available, including those of users that have not connected yet.
 *
 *   total
 *   ├─ floor ─┼─ floor ─┼─ ... ─┼─ floor ─┼──────── free ────────┤
 *
 * A user gets a floor with its first allocation, and loses it when it has returned everything. If
 * all floors are assigned, a further user allocates from the free part. shares_keep() assigns a
 * floor for ever.
 *
 * Has no lock: the caller serializes the calls.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LIMIT_FLOORS 16 /* users with a floor, in each share of a session */

struct share {
	uid_t uid;
	uint64_t used;
	bool has_floor;
	bool floor_is_permanent;
};

struct shares {
	uint64_t total;
	uint64_t floor; /* size of each floor */
	uint32_t nr_floors;
	/* for users with a floor: the larger of the floor and their use; for others: their use */
	uint64_t promised;
	uint32_t nr_floors_assigned; /* floors that are assigned */
	struct share *users;
	size_t nr, capacity;
};

/*
 * Divides half of the total into at most nr_floors floors of at least `least` bytes (0: any size);
 * at least one.
 */
void shares_init(struct shares *shares, uint64_t total, uint32_t nr_floors, uint64_t least);
void shares_free(struct shares *shares);
/* Assigns a floor to a user for ever. Returns false if out of memory. */
bool shares_keep(struct shares *shares, uid_t uid);
/* Allocates from the user's share. Returns false if refused; then nothing is allocated. */
bool shares_take(struct shares *shares, uid_t uid, uint64_t amount);
/*
 * Charges an amount that exists already; never refuses. Other users can then find less than their
 * floors.
 */
void shares_charge(struct shares *shares, uid_t uid, uint64_t amount);
void shares_give_back(struct shares *shares, uid_t uid, uint64_t amount);
/* Returns the amount that the user can allocate now. */
uint64_t shares_left(const struct shares *shares, uid_t uid);
uint64_t shares_used(const struct shares *shares, uid_t uid);

#endif
