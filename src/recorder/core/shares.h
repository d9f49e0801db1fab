/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_SHARES_H
#define SIDE_RECORDER_CORE_SHARES_H

/*
 * Fair shares of something that cannot be taken back: memory of rings, connections, descriptions, messages.
 *
 * A total is shared by users, by their uid. Some users have a floor each: an amount that no other user
 * can take. The remainder is free: a user can take what is free as long as all floors are left, also those
 * of users that are not here yet.
 *
 *	total   ├─ floor ─┼─ floor ─┼─ ... ─┼─ floor ─┼──────── free ────────┤
 *
 * A user gets a floor with the first thing that it takes, and gives it up with the last thing that it gives back. If all floors
 * have users, a further user takes from what is free. shares_keep() gives a user a floor for ever.
 *
 * Not locked: the caller does that.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LIMIT_FLOORS 16 /* users that have a floor of each share of a session */

struct share {
	uid_t uid;
	uint64_t used;
	bool has_floor;
	bool kept;
};

struct shares {
	uint64_t total;
	uint64_t floor; /* of each of them: */
	uint32_t nr_floors;
	uint64_t promised; /* to users with a floor: the floor, or what they have if that is more; and all that others have */
	uint32_t nr_taken; /* floors that have users */
	struct share *users;
	size_t nr, capacity;
};

/* At least `least` (0: any) for each floor; as many of nr_floors as half of the total has, but one. */
void shares_init(struct shares *shares, uint64_t total, uint32_t nr_floors, uint64_t least);
void shares_free(struct shares *shares);
/* False: out of memory. */
bool shares_keep(struct shares *shares, uid_t uid);
/* False: refused, nothing was taken. */
bool shares_take(struct shares *shares, uid_t uid, uint64_t amount);
/* Never refuses: for amounts that exist already. Other users can then find less than their floors. */
void shares_charge(struct shares *shares, uid_t uid, uint64_t amount);
void shares_give_back(struct shares *shares, uid_t uid, uint64_t amount);
/* The amount that the user can take now. */
uint64_t shares_left(const struct shares *shares, uid_t uid);
uint64_t shares_used(const struct shares *shares, uid_t uid);

#endif
