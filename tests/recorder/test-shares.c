/* SPDX-License-Identifier: MIT */
/*
 * Shares: whatever random users take and release, the sum is at most the total, a user below its
 * floor is never refused, and a single user can have all but the floors of others.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../check.h"
#include "recorder/core/shares.h"

#define USERS 12
#define STEPS 20000

static uint64_t state = 88172645463325252u;

static uint64_t random_below(uint64_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % limit;
}

static uint64_t sum(const uint64_t *used)
{
	uint64_t all = 0;

	for (int i = 0; i < USERS; i++)
		all += used[i];
	return all;
}

/*
 * Users 0 to nr_floors - 1 fit the number of floors if no other user takes anything; all users may.
 */
static void test_random(uint64_t total, uint32_t nr_floors, uint64_t least, int users)
{
	struct shares shares;
	uint64_t used[USERS] = {0};

	shares_init(&shares, total, nr_floors, least);
	CHECK(shares_keep(&shares, 0));
	CHECK(shares.floor >= least || shares.floor == total);
	for (int step = 0; step < STEPS; step++) {
		int user = (int)random_below((uint64_t)users);
		uint64_t amount = 1 + random_below(random_below(4) ? shares.floor + 1 : total);

		if (random_below(5) < 2) {
			amount = used[user] ? 1 + random_below(used[user]) : 0;
			shares_give_back(&shares, (uid_t)user, amount);
			used[user] -= amount;
		} else {
			uint64_t left = shares_left(&shares, (uid_t)user);
			bool taken = shares_take(&shares, (uid_t)user, amount);

			CHECK(taken == (amount <= left));
			if (user == 0 || (uint32_t)users <= shares.nr_floors)
				CHECK(taken || used[user] + amount > shares.floor);
			used[user] += taken ? amount : 0;
		}
		CHECK(sum(used) <= total);
		CHECK(shares_used(&shares, (uid_t)user) == used[user]);
	}
	for (int user = 0; user < users; user++)
		shares_give_back(&shares, (uid_t)user, used[user]);
	CHECK(shares.nr == 1 && shares.promised == shares.floor);
	shares_free(&shares);
}

/*
 * Users that reclaim the memory of their own idle programs: no other user can take less than
 * before, and that user can take the reclaimed memory again.
 */
static void test_reclaim(uint64_t total, uint32_t nr_floors, uint64_t least, int users)
{
	struct shares shares;
	uint64_t used[USERS] = {0}, left[USERS];

	shares_init(&shares, total, nr_floors, least);
	CHECK(shares_keep(&shares, 0));
	for (int step = 0; step < STEPS; step++) {
		int user = (int)random_below((uint64_t)users);
		uint64_t amount = 1 + random_below(shares.floor * 2);
		uint64_t before = shares_left(&shares, (uid_t)user);
		uint64_t idle = used[user] ? random_below(used[user] + 1) : 0;

		for (int i = 0; i < users; i++)
			left[i] = shares_left(&shares, (uid_t)i);
		if (amount > before) {
			shares_give_back(&shares, (uid_t)user, idle);
			used[user] -= idle;
			CHECK(shares_left(&shares, (uid_t)user) >= before + idle);
			for (int i = 0; i < users; i++)
				CHECK(shares_left(&shares, (uid_t)i) >= left[i]);
		}
		if (amount <= before || amount <= before + idle) {
			CHECK(shares_take(&shares, (uid_t)user, amount));
			used[user] += amount;
		}
		if (random_below(8) == 0) {
			shares_give_back(&shares, (uid_t)user, used[user]);
			used[user] = 0;
		}
		for (int i = 0; i < users && (uint32_t)users <= shares.nr_floors; i++)
			CHECK(used[i] + shares_left(&shares, (uid_t)i) >= shares.floor);
		CHECK(sum(used) <= total);
	}
	shares_free(&shares);
}

static void test_alone(void)
{
	struct shares shares;

	shares_init(&shares, 1000, 1, 0);
	CHECK(shares_left(&shares, 7) == 1000);
	CHECK(shares_take(&shares, 7, 1000));
	CHECK(!shares_take(&shares, 7, 1) && !shares_take(&shares, 8, 1));
	shares_give_back(&shares, 7, 1000);
	CHECK(shares_take(&shares, 8, 1000));
	shares_free(&shares);

	/* Half is free, and a floor is a tenth of the other half. */
	shares_init(&shares, 1000, 10, 0);
	CHECK(shares.floor == 50 && shares_left(&shares, 7) == 550);
	CHECK(!shares_take(&shares, 7, 551) && shares_take(&shares, 7, 550));
	for (uid_t uid = 100; uid < 109; uid++)
		CHECK(shares_take(&shares, uid, 50) && !shares_take(&shares, uid, 1));
	CHECK(!shares_take(&shares, 200, 1));
	shares_give_back(&shares, 100, 50);
	CHECK(shares_left(&shares, 200) == 50);
	shares_free(&shares);
}

/* Other users do not take the floor of a user with an entry. */
static void test_crowd(void)
{
	struct shares shares;

	shares_init(&shares, 1000, 4, 0);
	CHECK(shares_keep(&shares, 0));
	for (uid_t uid = 1; uid < 100; uid++)
		while (shares_take(&shares, uid, 5))
			;
	CHECK(shares_left(&shares, 0) == shares.floor);
	CHECK(shares_take(&shares, 0, shares.floor));
	shares_free(&shares);
}

/* A floor that is too small to be useful is not reserved. */
static void test_least(void)
{
	struct shares shares;

	shares_init(&shares, 1000, 16, 200);
	CHECK(shares.floor == 200 && shares.nr_floors == 2);
	shares_init(&shares, 1000, 16, 600);
	CHECK(shares.floor == 600 && shares.nr_floors == 1);
	shares_init(&shares, 1000, 16, 6000);
	CHECK(shares.floor == 1000 && shares.nr_floors == 1);
	CHECK(shares_take(&shares, 7, 1000));
	shares_free(&shares);
}

/* Memory that existed before may exceed the total. */
static void test_charge(void)
{
	struct shares shares;

	shares_init(&shares, 100, 2, 0);
	shares_charge(&shares, 7, 300);
	CHECK(!shares_left(&shares, 7) && !shares_take(&shares, 7, 1));
	shares_give_back(&shares, 7, 280);
	CHECK(shares_left(&shares, 7) == 55);
	shares_free(&shares);
}

int main(void)
{
	test_alone();
	test_crowd();
	test_least();
	test_charge();
	for (int users = 1; users <= USERS; users++) {
		test_random(1000, 4, 0, users);
		test_random(512u << 20, 16, 0, users);
		test_random(512u << 20, 16, 100u << 20, users);
		test_random(256, 8, 0, users);
		test_reclaim(1000, 4, 0, users);
		test_reclaim(512u << 20, 16, 0, users);
		test_reclaim(512u << 20, 16, 100u << 20, users);
	}
	return 0;
}
