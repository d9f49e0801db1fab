/* SPDX-License-Identifier: MIT */
/*
 * Computes fair shares of something that cannot be revoked.
 *
 * `promised` is the sum, over users with a floor, of the larger of floor and used amount, plus what
 * all other users use. With the unassigned floors added, it is at most the total, as long as
 * nothing is charged. Assigning a floor, or allocating below the own floor, does not change this
 * sum. Hence a user below its floor is never refused.
 */
#include "recorder/core/shares.h"

#include <stdlib.h>

static struct share *shares_find(const struct shares *shares, uid_t uid)
{
	for (size_t i = 0; i < shares->nr; i++)
		if (shares->users[i].uid == uid)
			return &shares->users[i];
	return NULL;
}

static uint64_t share_promised(const struct shares *shares, const struct share *share)
{
	return share->has_floor && share->used < shares->floor ? shares->floor : share->used;
}

/* Includes the unassigned floors. */
static uint64_t shares_all_promised(const struct shares *shares)
{
	return shares->promised + (shares->nr_floors - shares->nr_floors_assigned) * shares->floor;
}

void shares_init(struct shares *shares, uint64_t total, uint32_t nr_floors, uint64_t least)
{
	uint64_t floor = nr_floors ? total / 2 / nr_floors : 0;

	/*
	 * Assign fewer floors, so that each is large enough to be useful. A single user can still
	 * allocate the total.
	 */
	if (nr_floors && floor < least) {
		floor = least;
		nr_floors = total / 2 / least ? (uint32_t)(total / 2 / least) : 1;
	}
	if (floor > total)
		floor = total;
	*shares = (struct shares){.total = total, .floor = floor, .nr_floors = nr_floors};
}

void shares_free(struct shares *shares)
{
	free(shares->users);
	*shares = (struct shares){0};
}

static struct share *shares_add(struct shares *shares, uid_t uid)
{
	struct share *share = shares_find(shares, uid);

	if (share)
		return share;
	if (shares->nr == shares->capacity) {
		size_t capacity = shares->capacity ? shares->capacity * 2 : 8;
		struct share *more = realloc(shares->users, capacity * sizeof(*more));

		if (!more)
			return NULL;
		shares->users = more;
		shares->capacity = capacity;
	}
	share = &shares->users[shares->nr++];
	*share = (struct share){.uid = uid};
	if (shares->nr_floors_assigned < shares->nr_floors) {
		share->has_floor = true;
		shares->nr_floors_assigned++;
		shares->promised += shares->floor;
	}
	return share;
}

/* Removes a user that uses nothing, so that its floor becomes available to others. */
static void shares_drop_unused(struct shares *shares, struct share *share)
{
	if (share->used || share->floor_is_permanent)
		return;
	if (share->has_floor) {
		shares->nr_floors_assigned--;
		shares->promised -= shares->floor;
	}
	*share = shares->users[--shares->nr];
}

bool shares_keep(struct shares *shares, uid_t uid)
{
	struct share *share = shares_add(shares, uid);

	if (share)
		share->floor_is_permanent = true;
	return share;
}

uint64_t shares_left(const struct shares *shares, uid_t uid)
{
	const struct share *share = shares_find(shares, uid);
	const struct share newcomer = {.has_floor = shares->nr_floors_assigned < shares->nr_floors};
	uint64_t promised = shares_all_promised(shares);
	uint64_t free_amount = shares->total > promised ? shares->total - promised : 0;

	if (!share)
		share = &newcomer;
	/* The amount below its floor is reserved for this user. */
	return free_amount + share_promised(shares, share) - share->used;
}

void shares_charge(struct shares *shares, uid_t uid, uint64_t amount)
{
	struct share *share = shares_add(shares, uid);

	if (!share)
		return;
	shares->promised -= share_promised(shares, share);
	share->used += amount;
	shares->promised += share_promised(shares, share);
	shares_drop_unused(shares, share);
}

bool shares_take(struct shares *shares, uid_t uid, uint64_t amount)
{
	if (amount > shares_left(shares, uid) || !shares_add(shares, uid))
		return false;
	shares_charge(shares, uid, amount);
	return true;
}

void shares_give_back(struct shares *shares, uid_t uid, uint64_t amount)
{
	struct share *share = shares_find(shares, uid);

	if (!share)
		return;
	shares->promised -= share_promised(shares, share);
	/* shares_charge() does not count an amount if it is out of memory. */
	share->used -= amount < share->used ? amount : share->used;
	shares->promised += share_promised(shares, share);
	shares_drop_unused(shares, share);
}

uint64_t shares_used(const struct shares *shares, uid_t uid)
{
	const struct share *share = shares_find(shares, uid);

	return share ? share->used : 0;
}
