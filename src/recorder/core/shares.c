/* SPDX-License-Identifier: MIT */
/*
 * Fair shares of something that cannot be taken back.
 *
 * For each user with a floor the larger one of floor and used amount is promised, for other users what they use, and a floor
 * for each that has no user. While nothing is charged, promised is at most the total. Taking a floor without a user, or
 * taking below the own floor, does not change the sum. Hence a user below its floor is never refused.
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

/* With the floors that have no user. */
static uint64_t shares_all_promised(const struct shares *shares)
{
	return shares->promised + (shares->nr_floors - shares->nr_taken) * shares->floor;
}

void shares_init(struct shares *shares, uint64_t total, uint32_t nr_floors, uint64_t least)
{
	uint64_t floor = nr_floors ? total / 2 / nr_floors : 0;

	/* Fewer users have a floor, so that a floor is of use. One user alone can have everything. */
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
	if (shares->nr_taken < shares->nr_floors) {
		share->has_floor = true;
		shares->nr_taken++;
		shares->promised += shares->floor;
	}
	return share;
}

/* A user that has nothing is forgotten, and its floor is free for others. */
static void shares_drop_unused(struct shares *shares, struct share *share)
{
	if (share->used || share->kept)
		return;
	if (share->has_floor) {
		shares->nr_taken--;
		shares->promised -= shares->floor;
	}
	*share = shares->users[--shares->nr];
}

bool shares_keep(struct shares *shares, uid_t uid)
{
	struct share *share = shares_add(shares, uid);

	if (share)
		share->kept = true;
	return share;
}

uint64_t shares_left(const struct shares *shares, uid_t uid)
{
	const struct share *share = shares_find(shares, uid);
	const struct share newcomer = {.has_floor = shares->nr_taken < shares->nr_floors};
	uint64_t promised = shares_all_promised(shares);
	uint64_t free_amount = shares->total > promised ? shares->total - promised : 0;

	if (!share)
		share = &newcomer;
	/* The amount below its floor is promised to it. */
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
	/* A charge for which there was no memory was not noted. */
	share->used -= amount < share->used ? amount : share->used;
	shares->promised += share_promised(shares, share);
	shares_drop_unused(shares, share);
}

uint64_t shares_used(const struct shares *shares, uid_t uid)
{
	const struct share *share = shares_find(shares, uid);

	return share ? share->used : 0;
}
