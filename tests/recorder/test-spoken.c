/* SPDX-License-Identifier: MIT */
/*
 * The messages between programs and a session, in one process: each answer and each message byte by
 * byte, limits, and a recorder that continues the session of another one.
 */
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../resources.h"
#include "played.h"
#include "protocol/protocol.h"
#include "recorder/connection.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/instance.h"
#include "recorder/core/leases.h"
#include "recorder/core/live.h"
#include "recorder/core/memory-size.h"
#include "recorder/core/memory.h"
#include "recorder/core/outbox.h"
#include "recorder/core/service.h"
#include "recorder/core/session.h"
#include "recorder/core/shares.h"
#include "recorder/refusals.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"
#include "recorder/survivors.h"
#include "ring/ring.h"

static struct error error;
static const struct session_channel channel = {
		.name = "ring", .ring_size = 65536, .per_thread = true, .threads_max = 1};

static struct session *open_session(
		const char *state_dir, const struct session_track *track, size_t nr)
{
	const struct session_options options = {.output = played_path("out"),
			.force = true,
			.channels = &channel,
			.nr_channels = 1};
	const char *socket = played_path("socket");
	const struct session_live live = {.socket = socket,
			.state_dir = state_dir,
			.active = true,
			.generation = 3,
			.track = track,
			.nr_track = nr};
	struct session *session;

	if (session_open(&options, &live, &session, &error)) {
		fprintf(stderr, "%s\n", error.text);
		abort();
	}
	/* All programs of the session have a rule. */
	return session;
}

/* Reads the next message, which must be this one. */
static void check_message(struct session *session, bool is_error, const char *expected)
{
	struct session_message message = {.text = NULL};
	bool found = session_take_message(session, &message);

	if (found != (expected != NULL) ||
			(found &&
					(strcmp(message.text, expected) != 0 ||
							message.is_error != is_error))) {
		fprintf(stderr, "%s instead of %s\n", found ? message.text : "nothing",
				expected ? expected : "nothing");
		abort();
	}
	free(message.text);
}

static void check_ended(struct session *session, struct played *played)
{
	CHECK(played_hear(session, played->fd, NULL) == 0);
	played_close(played);
}

/* ---- HELLO, REFRESH, BYE ---- */

static void test_hello(void)
{
	const struct wire_bye other = {.token = 6}, bye = {.token = 5};
	struct session *session = open_session(NULL, NULL, 0);
	struct resources before;
	struct session_status status;
	struct played played;
	int fd;

	before = resources_now();
	CHECK(played_hello(session, &played, "pl\x01yed", 5, WIRE_FEATURE_PROBES));
	CHECK(played.config.instance == 0 && played.config.generation == 3 &&
			played.config.statedump == 3 && played.config.nr_channels == 1 &&
			!played.config.flags && !*played.text);
	CHECK(played.config.max_events == LIMIT_EVENTS &&
			played.config.max_description == LIMIT_DESCRIPTION &&
			played.config.max_payload == ring_payload_max(65536));
	CHECK(!session_status(session, &status) && status.nr_processes == 1 && status.nr_seen == 1);
	CHECK(!strcmp(status.processes[0].procname, "pl_yed") &&
			!strcmp(status.processes[0].exe, "/bin/played") &&
			status.processes[0].pid == 4711 && status.processes[0].parent == 42 &&
			status.processes[0].peer == getpid() &&
			status.processes[0].uid == geteuid() &&
			status.processes[0].gid == getegid() &&
			status.processes[0].control == WIRE_CONTROL_THREAD &&
			status.processes[0].token == 5 && status.processes[0].generation == 3 &&
			!status.processes[0].ended);
	CHECK(status.memory == status.processes[0].memory &&
			status.memory == memory_most(session) &&
			status.memory_peak == status.memory);
	session_status_free(&status);
	/* A second HELLO, and the BYE of another instance, end the connection. */
	(void)played_send(
			played.fd, wire_encode_bye(played_message, sizeof(played_message), &other));
	check_ended(session, &played);
	for (int i = 0; i < 2; i++) {
		const struct wire_refresh refresh = {.token = 5, .generation = i ? 3 : 2};

		played = (struct played){.fd = played_connect(session), .token = 5};
		(void)played_send(played.fd,
				wire_encode_refresh(
						played_message, sizeof(played_message), &refresh));
		CHECK(played_hear_config(session, &played));
		CHECK(played.config.flags == (i ? WIRE_CONFIG_UNCHANGED : 0) &&
				played.config.nr_channels == !i && played.config.generation == 3);
		if (!i)
			(void)played_send(played.fd,
					wire_encode_refresh(played_message, sizeof(played_message),
							&refresh));
		else
			(void)played_send(played.fd,
					wire_encode_bye(played_message, sizeof(played_message),
							&bye));
		CHECK(!session->instances.live->listed);
		check_ended(session, &played);
		CHECK(session->instances.live->listed == (i == 1));
	}
	fd = played_connect(session);
	played = (struct played){.fd = fd};
	(void)played_send(fd,
			wire_encode_refresh(played_message, sizeof(played_message),
					&(const struct wire_refresh){.token = 7, .generation = 1}));
	CHECK(!played_hear_config(session, &played) && !played.config.flags);
	CHECK(!strcmp(played.text, "the session does not know this process"));
	check_ended(session, &played);
	/* Messages that no program sends. */
	played.fd = played_connect(session);
	CHECK(send(played.fd, "x", 1, 0) == 1);
	check_ended(session, &played);
	CHECK(!session->connections.list);
	check_message(session, false, NULL);
	/* Another HELLO of the process: it has executed another program. */
	CHECK(played_hello(session, &played, "next", 6, 0));
	CHECK(session->instances.nr_live == 1 && session->instances.live->number == 1);
	played_close(&played);
	session_finish(session);
	session_close(session, true, &error);
	CHECK(!error.kind && resources_now().descriptors < before.descriptors);
}

/* ---- Programs that are not recorded ---- */

static void test_refused(void)
{
	const struct session_track track = {.kind = SESSION_TRACK_NAME, .text = "web*"};
	struct session *session = open_session(NULL, &track, 1);
	struct played played;
	char text[300];
	uint32_t max;

	CHECK(!played_hello(session, &played, "sql", 5, 0) && !strcmp(played.text, "not tracked") &&
			!played.config.flags);
	check_ended(session, &played);
	CHECK(session->service->nr_untracked == 1 && !session->refusals.nr_processes);
	CHECK(played_hello(session, &played, "web1", 5, 0));
	played_close(&played);
	CHECK(played_hello(session, &played, SESSION_KERNEL_PROGRAM, 6, 0));
	played_close(&played);
	session_finish(session);
	session_close(session, true, &error);
	session = open_session(NULL, NULL, 0);
	/* The user's share of processes or of ring memory is used up. */
	max = session->instances.max_live;
	shares_charge(&session->instances.shares, geteuid(), max);
	CHECK(!played_hello(session, &played, "web1", 5, 0));
	CHECK(!strcmp(played.text, "the recorder has too many processes") &&
			played.config.flags == WIRE_CONFIG_RETRY);
	check_ended(session, &played);
	snprintf(text, sizeof(text),
			"process %d (web1) is not recorded: the recorder has too many processes",
			getpid());
	check_message(session, true, text);
	shares_give_back(&session->instances.shares, geteuid(), 1);
	session->memory.shares.total = memory_least(session) - 1;
	CHECK(!played_hello(session, &played, "web1", 5, WIRE_FEATURE_RETRY));
	CHECK(!strcmp(played.text, "the session's ring memory is used up (--memory-limit)"));
	check_ended(session, &played);
	/* The process is counted once. */
	check_message(session, true, NULL);
	CHECK(session->refusals.nr_processes == 1 && session->refusals.nr == 1);
	session->memory.shares.total = memory_least(session);
	CHECK(played_hello(session, &played, "web1", 5, WIRE_FEATURE_RETRY));
	CHECK(!session->refusals.nr && session->instances.nr_live == 1);
	played_close(&played);
	session_finish(session);
	session_close(session, true, &error);
}

static void test_missed(void)
{
	static const struct {
		uint32_t reason;
		bool is_error;
		const char *text; /* the text after "process PID (name) " */
	} cases[] = {
			{WIRE_UNRECORDED_WORD_SIZE, true,
					"is not recorded: it is a 32-bit program, and the installed agent is a 64-bit library"},
			{WIRE_UNRECORDED_C_LIBRARY, true,
					"is not recorded: its C library is not the GNU C library, which the agent needs"},
			{WIRE_UNRECORDED_LIBSIDE, true,
					"is not recorded: the libside.so.0 that it loads (see its RUNPATH and LD_LIBRARY_PATH) is not the one that the agent is part of"},
			{WIRE_UNRECORDED_MEMORY, true,
					"is not recorded: its limit of address space (ulimit -v) leaves no space for the buffers"},
			{WIRE_UNRECORDED_FILES, true,
					"is not recorded: its limit of open files (ulimit -n) leaves no descriptor for the buffers"},
			{WIRE_UNRECORDED_LOADER, true,
					"is not recorded: its loader could not load the agent, and has printed the reason"},
			{WIRE_UNRECORDED_STATIC, true,
					"is not recorded: it is linked statically with libside and the C library, so it cannot load the agent"},
			{WIRE_UNRECORDED_ERROR, true,
					"is not recorded: a system call that receives or maps its buffers failed"},
			{WIRE_UNRECORDED_LATE_DAEMON, true,
					"joined late: its events of the first 17 ms may be missing: the daemon did not answer in time"},
			{WIRE_UNRECORDED_LATE_RECORDER, true,
					"joined late: its events of the first 17 ms may be missing: the recorder did not answer in time, or a lock of the program was held"},
	};
	struct session *session = open_session(NULL, NULL, 0);
	char text[400], file[40];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) + 2; i++) {
		const size_t nr = sizeof(cases) / sizeof(cases[0]);
		const struct wire_unrecorded unrecorded = {.reason = i < nr ? cases[i].reason
						: i == nr ? WIRE_UNRECORDED_ALLOCATOR
							  : WIRE_UNRECORDED_COPY,
				.elapsed_ms = i == 8 || i == 9 ? 17 : 0,
				.name = file};
		struct played played = {.fd = played_connect(session)};

		snprintf(file, sizeof(file), "/bin/%zu/na\x01me", i);
		(void)played_send(played.fd,
				wire_encode_unrecorded(played_message, sizeof(played_message),
						&unrecorded));
		check_ended(session, &played);
		if (i < nr)
			snprintf(text, sizeof(text), "process %d (na_me) %s", getpid(),
					cases[i].text);
		else if (i == nr)
			snprintf(text, sizeof(text),
					"allocations of process %d (na_me) are not recorded: the program's own malloc() comes before the wrapper",
					getpid());
		else
			snprintf(text, sizeof(text),
					"events of na_me in process %d are not recorded: the agent cannot use the copy of libside in it",
					getpid());
		check_message(session, i != nr, text);
		CHECK(session->refusals.nr_processes == (i < 8 ? i + 1 : 8));
	}
	session_close(session, true, &error);
}

/* Sends the message, and compares the report; NULL: none. */
static void send_unrecorded(
		struct session *session, uint32_t reason, const char *file, const char *text)
{
	const struct wire_unrecorded unrecorded = {.reason = reason, .name = file};
	struct played played = {.fd = played_connect(session)};

	(void)played_send(played.fd,
			wire_encode_unrecorded(
					played_message, sizeof(played_message), &unrecorded));
	check_ended(session, &played);
	check_message(session, true, text);
}

/* A file that is the reason itself is reported once; a limit of a process, for each process. */
static void test_unrecorded_files(void)
{
	static const struct {
		uint32_t reason;
		const char *text;
	} started[] = {
			{WIRE_UNRECORDED_STARTS_STATIC,
					"is statically linked, so the agent cannot be preloaded into it"},
			{WIRE_UNRECORDED_STARTS_RIGHTS,
					"runs with more rights than its caller (set-user-ID, set-group-ID or file capabilities), so the loader does not preload the agent"},
			{WIRE_UNRECORDED_STARTS_X32,
					"is an x32 program, and the installed agent is a 64-bit library"},
			{WIRE_UNRECORDED_STARTS_PROCESSOR,
					"is for another processor than the installed agent"},
	};
	struct session *session = open_session(NULL, NULL, 0);
	char text[400], file[40];

	for (uint32_t i = 0; i < 4; i++) {
		snprintf(file, sizeof(file), "/bin/st\x01rted%u", i);
		snprintf(text, sizeof(text), "not recorded: /bin/st\\x01rted%u %s", i,
				started[i].text);
		send_unrecorded(session, started[i].reason, file, text);
		send_unrecorded(session, started[i].reason, file, NULL);
	}
	/* The starting process runs on, so it is not counted. */
	CHECK(!session->refusals.nr_processes);
	snprintf(text, sizeof(text),
			"process %d (one) is not recorded: its C library is not the GNU C library, which the agent needs",
			getpid());
	send_unrecorded(session, WIRE_UNRECORDED_C_LIBRARY, "/bin/one", text);
	send_unrecorded(session, WIRE_UNRECORDED_C_LIBRARY, "/bin/one", NULL);
	send_unrecorded(session, WIRE_UNRECORDED_C_LIBRARY, "/usr/bin/one", text);
	snprintf(text, sizeof(text),
			"process %d (one) is not recorded: its limit of address space (ulimit -v) leaves no space for the buffers",
			getpid());
	send_unrecorded(session, WIRE_UNRECORDED_MEMORY, "/bin/one", text);
	send_unrecorded(session, WIRE_UNRECORDED_MEMORY, "/bin/one", text);
	CHECK(session->refusals.nr_processes == 5);
	session_close(session, true, &error);
}

/* With one file more than are noted, the oldest one is reported again. */
static void test_unrecorded_files_limit(void)
{
	struct session *session = open_session(NULL, NULL, 0);
	char file[40];

	for (int i = 0; i < UNRECORDED_FILES_MAX; i++) {
		snprintf(file, sizeof(file), "/bin/%d", i);
		CHECK(unrecorded_files_note(&session->unrecorded_files, 1, file));
	}
	CHECK(!unrecorded_files_note(&session->unrecorded_files, 1, "/bin/0"));
	CHECK(!unrecorded_files_note(&session->unrecorded_files, 1, file));
	CHECK(unrecorded_files_note(&session->unrecorded_files, 2, "/bin/0"));
	CHECK(unrecorded_files_note(&session->unrecorded_files, 1, "/bin/0"));
	CHECK(!unrecorded_files_note(&session->unrecorded_files, 1, "/bin/2"));
	CHECK(unrecorded_files_note(&session->unrecorded_files, 1, "/bin/1"));
	session_close(session, true, &error);
}

/* ---- EVENTS ---- */

static void test_events(void)
{
	static const enum wire_refusal reasons[] = {
			WIRE_REFUSAL_CHANNEL, WIRE_REFUSAL_TOO_MANY, WIRE_REFUSAL_DUPLICATE_ID};
	static const uint32_t channels[] = {1, 0, 0}, ids[] = {2, LIMIT_EVENTS, 1};
	struct session *session = open_session(NULL, NULL, 0);
	unsigned char classes[16384];
	struct wire_ack ack;
	struct played played;
	size_t size = 0;
	char text[200];

	CHECK(played_hello(session, &played, "web", 5, 0));
	CHECK(played_describe(session, &played, 0, 1, "one", &ack) && ack.accepted == 1 &&
			ack.last && !ack.nr_refused);
	CHECK(played_describe(session, &played, 0, LIMIT_EVENTS - 1, "last", &ack) &&
			ack.accepted == 1);
	for (int i = 0; i < 3; i++) {
		struct wire_refused refused;

		CHECK(played_describe(session, &played, channels[i], ids[i], "bad", &ack));
		CHECK(!ack.accepted && ack.last && ack.nr_refused == 1);
		refused = wire_ack_at(&ack, 0);
		CHECK(refused.id == ids[i] && refused.channel == channels[i] &&
				refused.reason == reasons[i]);
		snprintf(text, sizeof(text), "event %u of process %d (web) is not recorded: %s",
				ids[i], getpid(), wire_refusal_text(reasons[i]));
		check_message(session, true, text);
	}
	/* Five of a batch are named. In two messages, cut within a description. */
	for (uint32_t i = 0; i < 8; i++)
		size += played_kind(classes + size, sizeof(classes) - size, i ? 3 : 0, 100 + i,
				"batch");
	for (int part = 0; part < 2; part++) {
		const struct wire_events events = {.token = 5,
				.sequence = (uint32_t)part,
				.last = part,
				.bytes = classes + (part ? 30 : 0),
				.size = (uint32_t)(part ? size - 30 : 30)};

		(void)played_send(played.fd,
				wire_encode_events(
						played_message, sizeof(played_message), &events));
	}
	CHECK(played_hear(session, played.fd, NULL) > 0);
	CHECK(session->instances.live->nr_classes == 3);
	for (uint32_t i = 1; i < 6; i++) {
		snprintf(text, sizeof(text),
				"event %u of process %d (web) is not recorded: its channel does not exist",
				100 + i, getpid());
		check_message(session, true, text);
	}
	snprintf(text, sizeof(text), "2 more events of process %d (web) are not recorded",
			getpid());
	check_message(session, true, text);
	check_message(session, true, NULL);
	for (uint32_t i = 0; i < 7; i++)
		CHECK(!played_emit(&played, 0, 1, i));
	CHECK(!session_flush(session, 20000));
	/* A batch that ends within a description, another sequence, another token. */
	for (int i = 0; i < 3; i++) {
		const struct wire_events events = {.token = i == 2 ? 6 : 5,
				.sequence = i == 1,
				.last = true,
				.bytes = classes,
				.size = i ? 0 : 30};

		close(played.fd);
		played.fd = played_connect(session);
		(void)played_send(played.fd,
				wire_encode_events(
						played_message, sizeof(played_message), &events));
		CHECK(played_hear(session, played.fd, NULL) == 0);
	}
	check_message(session, true, NULL);
	played_close(&played);
	session_finish(session);
	CHECK(session->totals.ended.recorded == 7 && session->totals.ended.processes == 1 &&
			!session->totals.ended.lost);
	session_close(session, true, &error);
}

/* ---- Entries of a stream, whole and cut ---- */

static unsigned int nr_visits;
static enum wire_refusal visited;

static bool visit(void *user, const struct wire_event_head *head, const void *bytes,
		enum wire_refusal refusal)
{
	CHECK(head->id == 7 && (bytes != NULL) == !refusal);
	nr_visits++;
	visited = refusal;
	return !user;
}

static void check_entry(uint32_t size, uint32_t contexts, enum wire_refusal expected)
{
	struct wire_event_head head = {.id = 7, .size = size, .contexts_size = contexts};
	size_t whole = sizeof(head) + size + contexts, at, part;
	unsigned char *bytes = calloc(1, whole);
	struct class_stream stream = {0};

	CHECK(bytes);
	memcpy(bytes, &head, sizeof(head));
	nr_visits = 0;
	for (at = 0; at < whole; at += part) {
		part = whole - at < 9999 ? whole - at : 9999;
		CHECK(!class_stream_feed(&stream, bytes + at, part, visit, NULL));
		CHECK(class_stream_is_whole(&stream) == (at + part == whole));
	}
	CHECK(nr_visits == 1 && visited == expected);
	CHECK(class_stream_feed(&stream, bytes, whole, visit, &nr_visits) == -ENOMEM);
	class_stream_free(&stream);
	free(bytes);
}

static void test_entries(void)
{
	check_entry(0, 0, WIRE_REFUSAL_NONE);
	check_entry(LIMIT_DESCRIPTION, 0, WIRE_REFUSAL_NONE);
	check_entry(LIMIT_DESCRIPTION + 1, 0, WIRE_REFUSAL_TOO_LARGE);
	check_entry(1, WIRE_EVENT_CONTEXTS_BYTES_MAX, WIRE_REFUSAL_NONE);
	check_entry(1, WIRE_EVENT_CONTEXTS_BYTES_MAX + 1, WIRE_REFUSAL_TOO_LARGE);
}

static enum wire_refusal add_one(struct session *session, struct instance *instance, uint32_t id)
{
	unsigned char bytes[1024];
	struct wire_event_head head;

	(void)played_kind(bytes, sizeof(bytes), 0, id, "value");
	memcpy(&head, bytes, sizeof(head));
	return classes_add(session, instance, &head, bytes + sizeof(head));
}

static void test_descriptions(void)
{
	struct session *session = open_session(NULL, NULL, 0);
	struct instance *instance;
	struct played played;
	uint64_t size;

	CHECK(played_hello(session, &played, "web", 5, 0));
	instance = session->instances.live;
	CHECK(!add_one(session, instance, 0));
	size = instance->description_bytes;
	CHECK(size && shares_used(&session->description_shares, geteuid()) == size);
	instance->description_bytes = LIMIT_INSTANCE_DESCRIPTIONS - size + 1;
	CHECK(add_one(session, instance, 1) == WIRE_REFUSAL_TOO_MANY);
	instance->description_bytes--;
	CHECK(!add_one(session, instance, 1));
	CHECK(instance->description_bytes == LIMIT_INSTANCE_DESCRIPTIONS);
	instance->description_bytes = 2 * size;
	shares_charge(&session->description_shares, geteuid(),
			LIMIT_SESSION_DESCRIPTIONS - 3 * size + 1);
	CHECK(add_one(session, instance, 2) == WIRE_REFUSAL_TOO_MANY);
	shares_give_back(&session->description_shares, geteuid(), 1);
	CHECK(!add_one(session, instance, 2) && instance->nr_classes == 3);
	shares_give_back(&session->description_shares, geteuid(),
			LIMIT_SESSION_DESCRIPTIONS - 3 * size);
	played_close(&played);
	session_finish(session);
	CHECK(!shares_used(&session->description_shares, geteuid()));
	session_close(session, true, &error);
}

/* ---- Messages that wait ---- */

static void test_outbox(void)
{
	struct resources before = resources_now();
	struct outbox outbox = {.size = 0};
	char byte[1000] = "", got[1000];
	int ends[2], fds[WIRE_FDS_MAX], ret = 0;
	unsigned int sent = 0;
	size_t nr;

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
	while (!ret && outbox_is_empty(&outbox)) {
		ret = outbox_send(&outbox, ends[0], byte, sizeof(byte), -1, sizeof(byte));
		sent++;
	}
	CHECK(!ret && outbox.size == 1000);
	CHECK(outbox_send(&outbox, ends[0], byte, 1, -1, 1000) == -ENOBUFS);
	CHECK(!outbox_send(&outbox, ends[0], "a", 1, -1, 1001) && outbox.size == 1001);
	CHECK(outbox_send(&outbox, ends[0], "b", 1, ends[1], 1001 + OUTBOX_FD_BYTES) == -ENOBUFS);
	CHECK(!outbox_send(&outbox, ends[0], "b", 1, ends[1], 1002 + OUTBOX_FD_BYTES));
	CHECK(outbox.size == 1002 + OUTBOX_FD_BYTES);
	CHECK(outbox_send(&outbox, ends[0], "c", 1, 9999, SIZE_MAX) == -EBADF);
	CHECK(outbox_flush(&outbox, ends[0]) == -EAGAIN && outbox.size == 1002 + OUTBOX_FD_BYTES);
	/* The messages arrive in order, the last one with its descriptor. */
	for (unsigned int i = 0; i < sent + 2; i++) {
		nr = WIRE_FDS_MAX;
		(void)outbox_flush(&outbox, ends[0]);
		CHECK(wire_receive(ends[1], got, sizeof(got), fds, &nr, 0) ==
				(i < sent ? 1000 : 1));
		CHECK(i < sent || *got == (i == sent ? 'a' : 'b'));
		CHECK(nr == (i == sent + 1));
	}
	CHECK(outbox_is_empty(&outbox) && !outbox.size && !outbox.last &&
			!outbox_flush(&outbox, ends[0]));
	close(fds[0]);
	while (outbox_is_empty(&outbox))
		CHECK(!outbox_send(&outbox, ends[0], byte, 1000, ends[0], SIZE_MAX));
	outbox_free(&outbox);
	CHECK(!outbox.size && outbox_is_empty(&outbox));
	close(ends[0]);
	close(ends[1]);
	CHECK(resources_now().descriptors == before.descriptors);
}

/* ---- Connections that are silent ---- */

static void test_expired(void)
{
	struct session *session = open_session(NULL, NULL, 0);
	int fds[3];

	for (int i = 0; i < 3; i++)
		fds[i] = played_connect(session);
	CHECK(session->connections.list && session->connections.list->next &&
			session->connections.list->next->next);
	CHECK(session->connections.list->hello_deadline - wire_deadline(0) <=
					LIMIT_HELLO_MS * UINT64_C(1000000) &&
			session->connections.list->deadline -
							session->connections.list->hello_deadline >=
					(LIMIT_CONNECTION_MS - LIMIT_HELLO_MS) * UINT64_C(1000000) -
							1000000000);
	/*
	 * The youngest connection is first. The send deadline of a connection without messages does
	 * not matter.
	 */
	session->connections.list->hello_deadline = wire_deadline(0) - 1;
	session->connections.list->next->deadline = wire_deadline(0) - 1;
	session->connections.list->next->next->send_deadline = 1;
	CHECK(!session_turn(session, 0, &error));
	CHECK(session->connections.list && !session->connections.list->next);
	CHECK(!recv(fds[1], played_message, 1, MSG_DONTWAIT) &&
			!recv(fds[2], played_message, 1, MSG_DONTWAIT));
	CHECK(recv(fds[0], played_message, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	CHECK(shares_used(&session->connections.shares, geteuid()) == 1);
	/* The 513th connection of a user ends the one that has been silent for the longest time. */
	shares_charge(&session->connections.shares, geteuid(), LIMIT_CONNECTIONS - 2);
	close(fds[1]);
	close(fds[2]);
	fds[1] = played_connect(session);
	CHECK(session->connections.list->next && recv(fds[0], played_message, 1, MSG_DONTWAIT) < 0);
	fds[2] = played_connect(session);
	CHECK(!recv(fds[0], played_message, 1, MSG_DONTWAIT));
	CHECK(session->connections.list->next && !session->connections.list->next->next);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	session_close(session, true, &error);
}

/* ---- Refusals of 16 users ---- */

static void test_refusals(void)
{
	struct session *session = session_allocate();
	unsigned int nr = 0;

	CHECK(session);
	/* No process has such a number, so each refusal counts as that of a living process. */
	for (uid_t uid = 0; uid < 17; uid++) {
		for (int i = 0; i < REFUSALS_OF_USER; i++) {
			struct connection connection = {.peer = 5000000 + (pid_t)nr++, .uid = uid};

			CHECK(refusals_note(session, &connection, "x", "y", true) == (uid < 16));
		}
	}
	CHECK(session->refusals.nr == 512);
	session_destroy(session);
}

/* ---- The environment of a process that runs when the command has ended ---- */

static bool is_found(struct session *session, size_t before)
{
	static char first[131000], second[131000], last[400];
	char *const environment[] = {first, second, last, NULL},
		    *const argv[] = {(char *)(uintptr_t) "sleep", (char *)(uintptr_t) "100", NULL};
	size_t remainder = before - sizeof(first) - sizeof(second);
	unsigned int nr;
	pid_t pid;

	memset(first, 'a', sizeof(first) - 1);
	memset(second, 'b', sizeof(second) - 1);
	first[1] = second[1] = '=';
	memset(last, 'c', remainder);
	last[1] = '=';
	strcpy(last + remainder, session->listener.path);
	pid = fork();
	if (!pid) {
		execve("/bin/sleep", argv, environment);
		_exit(1);
	}
	/* Its environment is complete when it sleeps. */
	for (;;) {
		char path[64], text[300];
		FILE *file;
		size_t size;

		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		file = fopen(path, "re");
		CHECK(file);
		size = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
		text[size] = 0;
		if (strstr(text, "(sleep) S"))
			break;
		usleep(1000);
	}
	nr = survivors_count(session);
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	CHECK(nr <= 1);
	return nr;
}

static void test_environment(void)
{
	struct session *session = session_allocate();
	size_t size;

	CHECK(session);
	snprintf(session->listener.path, sizeof(session->listener.path), "%s",
			played_path("a-socket"));
	size = strlen(session->listener.path);
	CHECK(is_found(session, 262144 - size));
	CHECK(!is_found(session, 262144 - size + 1));
	session->listener.path[0] = 0;
	session_destroy(session);
}

/* ---- Another recorder continues ---- */

/* Put a line at the end of the description of the process, with another start time than its own. */
static void change_instance(const char *folder)
{
	char path[2 * PLAYED_LENGTH], text[4096], *peer, *end;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "%s/%s/instance", played_path("place"), folder);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	size = read(fd, text, sizeof(text) - 40);
	CHECK(size > 0);
	text[size] = 0;
	peer = strstr(text, "\npeer ");
	CHECK(peer);
	/* The third word is the start. */
	for (int i = 0; i < 3; i++)
		peer = strchr(peer + 1, ' ');
	peer[1] = '9';
	end = strstr(text, "\nend\n");
	CHECK(end);
	strcpy(end, "\nmaker agent\nend\n");
	CHECK(pwrite(fd, text, strlen(text), 0) == (ssize_t)strlen(text) &&
			!ftruncate(fd, (off_t)strlen(text)));
	close(fd);
}

/* Found by its recorded start, or, if it created its rings itself, by its mappings. */
static void check_adopted(bool by_agent)
{
	char state_dir[PLAYED_LENGTH], folder[64];
	struct session *session;
	struct played played;
	struct wire_ack ack;

	snprintf(state_dir, sizeof(state_dir), "%s", played_path("place"));
	played_pid = (uint32_t)getpid();
	snprintf(folder, sizeof(folder), "web-%u-0", played_pid);
	session = open_session(state_dir, NULL, 0);
	CHECK(played_hello(session, &played, "web", 5, 0));
	CHECK(played_describe(session, &played, 0, 1, "one", &ack) && ack.accepted == 1);
	for (uint32_t i = 0; i < 5; i++)
		CHECK(!played_emit(&played, 0, 1, i));
	session_close(session, false, &error);
	CHECK(!error.kind);
	if (by_agent)
		change_instance(folder);
	session = open_session(state_dir, NULL, 0);
	check_message(session, true, NULL);
	CHECK(session->instances.nr_live == 1 &&
			session->instances.live == session->instances.list);
	CHECK(session->instances.list->number == 0 && session->instances.list->token == 5 &&
			session->service->generation == 4);
	CHECK(session->instances.live->peer == getpid() &&
			session->instances.live->nr_classes == 1 &&
			!session->instances.live->own_channels);
	session_finish(session);
	check_message(session, true, NULL);
	CHECK(session->totals.ended.recorded == 5 && session->totals.ended.processes == 1);
	session_close(session, true, &error);
	CHECK(!error.kind && access(state_dir, F_OK));
	played_close(&played);
	played_remove(played_path("out"));
}

int main(void)
{
	played_begin();
	test_entries();
	test_outbox();
	test_refusals();
	test_environment();
	test_hello();
	test_refused();
	test_missed();
	test_unrecorded_files();
	test_unrecorded_files_limit();
	test_events();
	test_descriptions();
	test_expired();
	check_adopted(false);
	check_adopted(true);
	played_end();
	return 0;
}
