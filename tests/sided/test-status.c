/* SPDX-License-Identifier: MIT */
/* The statistics of a session as JSON: each number under its own name. All numbers differ here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "programs/sided/sided.h"
#include "recorder/core/live.h"

/* Replaces the session library, with known numbers. */
static struct session_status_channel channel = {
		.name = "channel", .recorded = 21, .lost = 22, .bytes = 23};
static const struct session_status known = {
		.recorded = 1,
		.bytes = 2,
		.lost = 3,
		.unwritten = 4,
		.overwritten = 5,
		.snapshots = 6,
		.snapshot_recorded = 7,
		.memory = 8,
		.memory_peak = 9,
		.memory_limit = 10,
		.nr_seen = 11,
		.nr_refused = 12,
		.nr_idle = 13,
		.nr_untracked = 14,
		.channels = &channel,
		.nr_channels = 1,
};

int session_status(struct session *session, struct session_status *status)
{
	(void)session;
	*status = known;
	return 0;
}

void session_status_free(struct session_status *status)
{
	(void)status;
}

const struct session_summary *session_summary(struct session *session)
{
	(void)session;
	return NULL;
}

static void assert_statistics(struct json_object *object, const char *expected)
{
	struct json_object *wanted = json_tokener_parse(expected);

	assert_non_null(wanted);
	if (!json_object_equal(object, wanted))
		fail_msg("%s is not %s", json_object_to_json_string(object), expected);
	json_object_put(wanted);
}

static void test_sums(void **unused)
{
	struct json_object *object = json_object_new_object();

	(void)unused;
	assert_true(session_sums(NULL, object));
	assert_statistics(object,
			"{\"recorded\":1,\"bytes\":2,\"lost\":3,\"unwritten\":4,\"overwritten\":5,"
			"\"snapshots\":6,\"snapshot-recorded\":7,\"memory\":8,\"memory-peak\":9,"
			"\"memory-limit\":10,\"seen\":11,\"refused\":12,\"idle\":13,\"untracked\":14,"
			"\"channels\":[{\"channel\":\"channel\",\"recorded\":21,\"lost\":22,\"bytes\":23}]}");
	json_object_put(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
