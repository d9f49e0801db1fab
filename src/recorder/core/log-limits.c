/* SPDX-License-Identifier: MIT */
/* Limits the lines of a log that users and processes cause within a minute. */
#include "recorder/core/log-limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void lines_init(struct log_line_budget *lines, uid_t owner, uint32_t of_owner, uint32_t of_user,
		uint32_t of_process)
{
	*lines = (struct log_line_budget){.owner = owner,
			.of_owner = of_owner,
			.of_user = of_user,
			.of_process = of_process};
	lines->users[0].uid = owner;
	lines->users[LINES_USERS - 1].uid = LINES_OTHERS;
	lines->nr_users = 1;
}

static struct lines_user *lines_user(struct log_line_budget *lines, uid_t uid)
{
	uint32_t i;

	for (i = 0; i < lines->nr_users; i++)
		if (lines->users[i].uid == uid)
			return &lines->users[i];
	if (i < LINES_USERS - 1) {
		lines->users[i] = (struct lines_user){.uid = uid};
		lines->nr_users++;
	}
	return &lines->users[i];
}

static bool process_has_line(const struct log_line_budget *lines, pid_t pid)
{
	uint32_t i = (uint32_t)pid % LINES_PROCESSES;

	return !pid || lines->processes[i].pid != pid || lines->processes[i].nr < lines->of_process;
}

static void process_count(struct log_line_budget *lines, pid_t pid)
{
	uint32_t i = (uint32_t)pid % LINES_PROCESSES;

	if (!pid)
		return;
	if (lines->processes[i].pid != pid) {
		lines->processes[i].pid = pid;
		lines->processes[i].nr = 0;
	}
	lines->processes[i].nr++;
}

bool lines_take(struct log_line_budget *lines, uint64_t now, uid_t uid, pid_t pid)
{
	struct lines_user *user;

	/*
	 * No minute is running. A pending report of suppressed lines is returned by
	 * lines_suppressed() first.
	 */
	if (!lines->until)
		lines->until = now + LINES_NS;
	user = lines_user(lines, uid);
	if (user->nr < (uid == lines->owner ? lines->of_owner : lines->of_user) &&
			process_has_line(lines, pid)) {
		user->nr++;
		process_count(lines, pid);
		return true;
	}
	user->suppressed++;
	return false;
}

bool lines_suppressed(struct log_line_budget *lines, uint64_t now, uid_t *ret_uid,
		uint64_t *ret_suppressed)
{
	uint32_t i;

	if (!lines->until || now < lines->until)
		return false;
	for (i = 0; i < LINES_USERS; i++) {
		struct lines_user *user = &lines->users[i];

		if (!user->suppressed)
			continue;
		*ret_uid = user->uid;
		*ret_suppressed = user->suppressed;
		user->suppressed = 0;
		return true;
	}
	/* The next minute begins with the next line. */
	lines_init(lines, lines->owner, lines->of_owner, lines->of_user, lines->of_process);
	return false;
}

void lines_end(struct log_line_budget *lines)
{
	if (lines->until)
		lines->until = 1;
}

void lines_describe(char text[LINES_TEXT], uid_t uid, uint64_t suppressed)
{
	char user[32] = "other users";

	if (uid != LINES_OTHERS)
		snprintf(user, sizeof(user), "user %u", (unsigned int)uid);
	snprintf(text, LINES_TEXT,
			"suppressed %" PRIu64
			" messages about programs of %s: too many within a minute",
			suppressed, user);
}
