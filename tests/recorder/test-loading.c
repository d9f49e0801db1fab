/* SPDX-License-Identifier: MIT */
/*
 * Libraries that programs report while they load them: which programs may, when the answer is sent,
 * and what is in it. The test plays the programs and the hook that makes tables.
 */
#include <sys/mman.h>

#include "played.h"
#include "protocol/protocol.h"
#include "recorder/core/live.h"
#include "recorder/core/probes.h"
#include "recorder/core/session.h"

#define FEATURES (WIRE_FEATURE_PROBES | WIRE_FEATURE_LOADED)

static struct error error;

/* ---- the hook ---- */

static struct {
	char begun[256]; /* "PATH PATH ": each call of begin() */
	int ready[2];    /* a pipe */
	size_t nr_finished, nr_dropped;
	uint32_t next; /* number of the next table; 0: finish() returns none */
	int table;
} hook;

/* Libraries whose names begin with "/new" need tables. */
static int play_begin(void *user, pid_t pid, const char *path, int *ret_fd)
{
	CHECK(user == &hook && pid == getpid());
	strcat(hook.begun, path);
	strcat(hook.begun, " ");
	if (strncmp(path, "/new", 4) != 0)
		return 0;
	CHECK(!pipe2(hook.ready, O_CLOEXEC));
	*ret_fd = hook.ready[0];
	return 1;
}

static size_t play_finish(void *user, struct session_table *ret_tables, size_t capacity)
{
	CHECK(user == &hook);
	hook.nr_finished++;
	hook.nr_dropped += !capacity;
	close(hook.ready[0]);
	close(hook.ready[1]);
	if (!capacity || !hook.next)
		return 0;
	ret_tables[0] = (struct session_table){
			.number = hook.next++, .fd = fcntl(hook.table, F_DUPFD_CLOEXEC, 0)};
	return 1;
}

static const struct session_loads loads = {
		.begin = play_begin, .finish = play_finish, .user = &hook};

static struct session *open_session(const struct session_loads *requested, size_t nr_tables)
{
	static const struct session_channel channel = {
			.name = "ring", .ring_size = 65536, .per_thread = true, .threads_max = 1};
	const struct session_table table = {.number = 1, .fd = hook.table};
	const struct session_options options = {.output = played_path("out"),
			.force = true,
			.channels = &channel,
			.nr_channels = 1,
			.probes = &table,
			.nr_probes = nr_tables,
			.loads = requested};
	const struct session_live live = {.socket = played_path("socket"), .active = true};
	struct session *session;

	memset(&hook.begun, 0, sizeof(hook.begun));
	hook.nr_finished = hook.nr_dropped = 0;
	hook.next = 2;
	CHECK(!session_open(&options, &live, &session, &error));
	return session;
}

/* ---- the programs ---- */

/* Reads an answer. Returns the numbers of its tables as bits, -1: it ended, -2: it did not come. */
static int hear_tables(struct session *session, int fd, struct wire_config *ret_config)
{
	ssize_t size = played_hear(session, fd, NULL);
	uint32_t nr_channels;
	int tables = 0;

	if (size <= 0)
		return size == -EAGAIN ? -2 : -1;
	CHECK(!wire_decode_config(played_message, (size_t)size, ret_config) &&
			ret_config->accepted);
	for (uint32_t i = 0; i < ret_config->nr_tables; i++) {
		struct wire_probes probes;
		int table = -1;

		size = played_hear(session, fd, &table);
		CHECK(size > 0 && !wire_decode_probes(played_message, (size_t)size, &probes));
		CHECK(probes.table < 31 && table >= 0);
		close(table);
		tables |= 1 << probes.table;
	}
	for (nr_channels = ret_config->nr_channels; nr_channels; nr_channels--) {
		int ring = -1;

		CHECK(played_hear(session, fd, &ring) > 0 &&
				wire_message_type(played_message, sizeof(struct wire_header)) !=
						WIRE_CONFIG);
		if (ring >= 0)
			close(ring);
	}
	return tables;
}

static int hello(struct session *session, uint64_t token, uint32_t features,
		struct wire_config *ret_config)
{
	const struct wire_hello message = {.pid = 4711,
			.token = token,
			.word_size = sizeof(void *),
			.features = features,
			.procname = "played",
			.exe = "/bin/played"};
	int fd = played_connect(session), tables;

	(void)played_send(fd, wire_encode_hello(played_message, sizeof(played_message), &message));
	tables = hear_tables(session, fd, ret_config);
	close(fd);
	return tables;
}

static int report_libraries(struct session *session, uint64_t token, const char *paths, uint32_t nr,
		uint32_t size)
{
	const struct wire_loaded loaded = {
			.token = token, .nr_paths = nr, .size = size, .paths = paths};
	int fd = played_connect(session);

	(void)played_send(fd, wire_encode_loaded(played_message, sizeof(played_message), &loaded));
	return fd;
}

#define REPORT(session, token, nr, paths) report_libraries(session, token, paths, nr, sizeof(paths))

static void check_answer(struct session *session, int fd, int tables, bool is_unchanged)
{
	struct wire_config config;

	CHECK(hear_tables(session, fd, &config) == tables);
	CHECK(!(config.flags & WIRE_CONFIG_UNCHANGED) == !is_unchanged);
	close(fd);
}

static void check_ended(struct session *session, int fd)
{
	struct wire_config config;

	CHECK(hear_tables(session, fd, &config) == -1);
	close(fd);
}

/* ---- who may report ---- */

static void test_who(void)
{
	static const struct {
		const struct session_loads *loads;
		size_t nr_tables;
		uint32_t features;
		bool may;
	} cases[] = {{&loads, 1, FEATURES, true}, {NULL, 1, FEATURES, false},
			{&loads, 0, FEATURES, false}, {&loads, 1, WIRE_FEATURE_PROBES, false},
			{&loads, 1, WIRE_FEATURE_LOADED, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct session *session = open_session(cases[i].loads, cases[i].nr_tables);
		struct wire_config config;
		int fd;

		CHECK(hello(session, 5, cases[i].features, &config) >= 0);
		CHECK(!(config.flags & WIRE_CONFIG_LOADS) == !cases[i].may);
		fd = REPORT(session, 5, 1, "/old");
		if (cases[i].may)
			check_answer(session, fd, 0, true);
		else
			check_ended(session, fd);
		CHECK(!strcmp(hook.begun, cases[i].may ? "/old " : ""));
		session_close(session, true, &error);
	}
}

/* ---- answers ---- */

static void test_answers(void)
{
	struct session *session = open_session(&loads, 1);
	struct wire_config config;
	int first, second;

	CHECK(hello(session, 5, FEATURES, &config) == 2);
	/* Nothing is sent before all libraries are handled. Other connections wait, too. */
	first = REPORT(session, 5, 3, "/old\0/new\0/newer");
	CHECK(hear_tables(session, first, &config) == -2);
	second = REPORT(session, 5, 1, "/old");
	CHECK(hear_tables(session, second, &config) == -2);
	CHECK(!strcmp(hook.begun, "/old /new "));
	CHECK(write(hook.ready[1], "", 1) == 1);
	CHECK(hear_tables(session, first, &config) == -2);
	/* The second connection is the newer one. It is answered before the next library begins. */
	check_answer(session, second, 1 << 1 | 1 << 2, false);
	CHECK(!strcmp(hook.begun, "/old /new /old /newer "));
	hook.next = 0;
	CHECK(write(hook.ready[1], "", 1) == 1);
	check_answer(session, first, 0, true);
	CHECK(hook.nr_finished == 2);
	/* A program that starts now gets all tables at once. */
	CHECK(hello(session, 7, FEATURES, &config) == (1 << 1 | 1 << 2));
	session_close(session, true, &error);
	CHECK(!hook.nr_dropped);
}

static void test_impatient(void)
{
	struct session *session = open_session(&loads, 1);
	struct session_message message = {.text = NULL};
	struct wire_config config;
	int fd;

	CHECK(hello(session, 5, FEATURES, &config) == 2);
	fd = REPORT(session, 5, 1, "/new");
	CHECK(hear_tables(session, fd, &config) == -2);
	close(fd);
	for (int i = 0; i < PLAYED_TURNS && !message.text; i++) {
		(void)session_turn(session, 0, &error);
		(void)session_take_message(session, &message);
	}
	CHECK(message.text && strstr(message.text, "(played) has loaded were not ready in time: "));
	free(message.text);
	/* The table is made all the same, and the next report gets it. */
	CHECK(write(hook.ready[1], "", 1) == 1);
	check_answer(session, REPORT(session, 5, 1, "/old"), 1 << 1 | 1 << 2, false);
	/* The session ends while a table is made. */
	fd = REPORT(session, 5, 1, "/new");
	CHECK(hear_tables(session, fd, &config) == -2);
	CHECK(hook.nr_finished == 1 && !hook.nr_dropped);
	session_close(session, true, &error);
	CHECK(hook.nr_finished == 2 && hook.nr_dropped == 1);
	close(fd);
}

static void test_invalid(void)
{
	struct session *session = open_session(&loads, 1);
	struct wire_config config;
	int fd;

	CHECK(hello(session, 5, FEATURES, &config) == 2);
	check_ended(session, REPORT(session, 6, 1, "/old"));
	/* Two reports on one connection. */
	fd = REPORT(session, 5, 1, "/new");
	CHECK(hear_tables(session, fd, &config) == -2);
	(void)played_send(fd,
			wire_encode_loaded(played_message, sizeof(played_message),
					&(struct wire_loaded){.token = 5,
							.nr_paths = 1,
							.size = 5,
							.paths = "/old"}));
	check_ended(session, fd);
	CHECK(write(hook.ready[1], "", 1) == 1);
	/* One byte after the path. */
	fd = played_connect(session);
	(void)wire_encode_loaded(played_message, sizeof(played_message),
			&(struct wire_loaded){
					.token = 5, .nr_paths = 1, .size = 5, .paths = "/old"});
	played_message[sizeof(struct wire_header) + 16] = '.';
	(void)played_send(fd, (ssize_t)sizeof(struct wire_header) + 16 + 5);
	check_ended(session, fd);
	session_close(session, true, &error);
}

int main(void)
{
	played_begin();
	hook.table = memfd_create("table", MFD_CLOEXEC);
	CHECK(hook.table >= 0 && write(hook.table, "table", 5) == 5);
	test_who();
	test_answers();
	test_impatient();
	test_invalid();
	close(hook.table);
	played_end();
	return 0;
}
