/* SPDX-License-Identifier: MIT */
/*
 * Shares of a log: whatever random users and processes report, no process and no user logs more
 * lines in a minute than its limit, other users never suppress lines of the owner, and each
 * suppressed line is reported once.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../check.h"
#include "recorder/core/log-limits.h"

#define USERS 100
#define PROCESSES 4
#define OF_OWNER 60u
#define OF_USER 24u
#define OF_PROCESS 12u
#define MINUTES 50
#define STEPS 20000

static uint64_t state = 88172645463325252u;

static unsigned int random_below(unsigned int limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned int)(state % limit);
}

static uint64_t all_suppressed(struct log_line_budget *lines, uint64_t now)
{
	uint64_t sum = 0, suppressed;
	uid_t uid;

	while (lines_suppressed(lines, now, &uid, &suppressed)) {
		CHECK(suppressed && (uid < USERS || uid == LINES_OTHERS));
		sum += suppressed;
	}
	return sum;
}

/* Runs a minute of these users. Returns how many lines were suppressed and reported at its end. */
static void test_minute(struct log_line_budget *lines, uint64_t now, unsigned int users)
{
	unsigned int of_user[USERS] = {0}, of_process[USERS][PROCESSES] = {{0}};
	unsigned int all = 0, owners = 0;
	uint64_t suppressed = 0;

	CHECK(!all_suppressed(lines, now));
	for (int step = 0; step < STEPS; step++) {
		unsigned int user = random_below(users), process = random_below(PROCESSES);
		pid_t pid = (pid_t)(1 + user * PROCESSES + process);
		bool is_about_none = !random_below(10);

		if (!lines_take(lines, now + (uint64_t)step, user, is_about_none ? 0 : pid)) {
			suppressed++;
			continue;
		}
		all++;
		owners += user == 0;
		of_user[user]++;
		of_process[user][process] += !is_about_none;
		CHECK(of_user[user] <= (user ? OF_USER : OF_OWNER));
		/* Two processes with one index may take turns. */
		CHECK(of_process[user][process] <= OF_PROCESS ||
				users * PROCESSES >= LINES_PROCESSES);
	}
	CHECK(owners == OF_OWNER && all <= OF_OWNER + (LINES_USERS - 1) * OF_USER);
	CHECK(all + suppressed == STEPS);
	CHECK(!all_suppressed(lines, now + LINES_NS - 1));
	CHECK(all_suppressed(lines, now + LINES_NS) == suppressed);
}

int main(void)
{
	char text[LINES_TEXT];
	struct log_line_budget lines;
	uint64_t now = 1;

	lines_init(&lines, 0, OF_OWNER, OF_USER, OF_PROCESS);
	for (int minute = 0; minute < MINUTES; minute++, now += 2 * LINES_NS)
		test_minute(&lines, now, minute % 2 ? USERS : 5);
	/* The end of the log ends the minute. */
	for (int i = 0; i < 100; i++)
		(void)lines_take(&lines, now, 7, 0);
	lines_end(&lines);
	CHECK(all_suppressed(&lines, now) == 100 - OF_USER);
	lines_end(&lines);
	CHECK(!all_suppressed(&lines, now));
	lines_describe(text, LINES_OTHERS, UINT64_MAX);
	puts(text);
	return 0;
}
