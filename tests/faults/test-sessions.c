/* SPDX-License-Identifier: MIT */
/*
 * Sessions in this process, with one failing call for each site (faults.c, within this test). Each
 * operation succeeds completely, or reports an error. No descriptor, mapping, file or block of
 * memory remains.
 */
#include "counted.h"

#include <stdio.h>
#include <sys/wait.h>

#include "../recorder/played.h"
#include "../resources.h"
#include "ctf/ctf.h"
#include "protocol/protocol.h"
#include "recorder/check.h"
#include "recorder/core/live.h"
#include "recorder/core/probes.h"
#include "recorder/run-turn.h"
#include "recorder/core/session.h"
#include "recorder/recover.h"
#include "ring/ring.h"

#define EVENTS 20u

static struct faults_control control = {
		.kinds = FAULTS_MEMORY | FAULTS_CALLS, .depth = 2, .is_off = 1};
static unsigned long nr_failed, nr_errors, nr_silent;
static int table;         /* of probes */
static char why[1100];    /* an operation failed without an error */
static char silent[1024]; /* the sites that nr_silent counts */

/* Calls of the session can fail, those of the test cannot. */
#define CAN_FAIL(call) (control.is_off = 0, (call), control.is_off = 1)

static const char *const contexts[] = {"vpid,vtid", "procname"};
static const char *const patterns[] = {"played:*"};
static const struct session_rule rule = {.patterns = patterns,
		.nr_patterns = 1,
		.filter = "value > 3 && $ctx.vpid != 0",
		.contexts = contexts + 1,
		.nr_contexts = 1};
static const struct session_channel channels[] = {
		{.name = "ring", .ring_size = 65536, .per_thread = true, .threads_max = 2},
		{.name = "flight",
				.ring_size = 65536,
				.mode = SESSION_OVERWRITE,
				.per_thread = true,
				.threads_max = 2},
};
static const char *const triggers[] = {
		"event:played:* where value > 2", "rate:played:*>10/s", "crash"};

static struct session_options options_now(void)
{
	return (struct session_options){.mode = SESSION_RECORD,
			.output = played_path("out"),
			.force = true,
			.monotonic = true,
			.channels = channels,
			.nr_channels = 2};
}

/* The other clock is measured for 20 ms in each session (-Wl,--wrap). */
enum ring_clock __wrap_ring_clock_choose(void);

enum ring_clock __wrap_ring_clock_choose(void)
{
	return RING_CLOCK_MONOTONIC;
}

/* ---- Operations, which release everything ---- */

static int check(void)
{
	const struct session_channel one = {.name = "c",
			.contexts = contexts,
			.nr_contexts = 2,
			.mode = SESSION_OVERWRITE,
			.rules = &rule,
			.nr_rules = 1};
	const struct session_options options = {.channels = &one,
			.nr_channels = 1,
			.snapshot_on = triggers,
			.nr_snapshot_on = 3,
			.rotation = {.size = 65536},
			.retention = {.count = 3}};
	struct error error;
	int ret;

	CAN_FAIL(ret = session_check(&options, &error));
	if ((ret != 0) != (error.kind != ERROR_NONE) || (ret && !*error.text))
		snprintf(why, sizeof(why), "%d, kind %d, %s", ret, (int)error.kind, error.text);
	return ret;
}

static int create(void)
{
	static const char *const environment[] = {"A=1", "B=2"};
	const struct session_table probe = {.number = 7,
			.fd = table,
			.target.exe = (char *)(uintptr_t) "/bin/played",
			.has_others = true,
			.others = table};
	struct session_options options = options_now();
	struct error error;
	struct session *session;
	int ret;

	options.probes = &probe;
	options.nr_probes = 1;
	options.environment = environment;
	options.nr_environment = 2;
	options.buffers = played_path("buffers");
	CAN_FAIL(ret = session_create(&options, &session, &error));
	if ((ret != 0) != !session || (ret && (error.kind == ERROR_NONE || !*error.text)))
		snprintf(why, sizeof(why), "%d: %s", ret, error.text);
	CAN_FAIL(session_destroy(session));
	return ret;
}

static int open_in(const char *state_dir, struct session **session)
{
	struct session_options options = options_now();
	char *socket = strdup(played_path("socket"));
	const struct session_track track = {.kind = SESSION_TRACK_NAME, .text = "*a*"};
	const struct session_live live = {.socket = socket,
			.state_dir = state_dir,
			.active = true,
			.track = &track,
			.nr_track = 1};
	struct error error;
	int ret;

	CAN_FAIL(ret = session_open(&options, &live, session, &error));
	free(socket);
	if ((ret != 0) != !*session || (ret && (error.kind == ERROR_NONE || !*error.text)))
		snprintf(why, sizeof(why), "%d: %s", ret, error.text);
	return ret;
}

static bool take_errors(struct session *session)
{
	struct session_message message;
	bool found = false;

	while (session_take_message(session, &message)) {
		found |= message.is_error;
		free(message.text);
	}
	return found;
}

static int open_live(void)
{
	struct error error;
	struct session *session;
	int ret = open_in(played_path("place"), &session);

	if (ret)
		return ret;
	if (take_errors(session))
		ret = -EIO;
	CAN_FAIL(session_close(session, true, &error));
	if (!access(played_path("place"), F_OK))
		ret = -EIO;
	return error.kind ? -EIO : ret;
}

/* A program connects, describes an event, and records. */
static int record_in(struct session *session)
{
	const struct wire_hello hello = {.pid = 4711,
			.parent = 42,
			.token = 5,
			.word_size = sizeof(void *),
			.procname = "played",
			.exe = "/bin/played"};
	struct played played = {.token = 5};
	struct wire_ack ack = {.accepted = 0};
	int ends[2], ret = 0;

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
	played.fd = ends[0];
	CHECK(!played_send(played.fd,
			wire_encode_hello(played_message, sizeof(played_message), &hello)));
	CAN_FAIL(session_take_connection(session, ends[1]));
	CAN_FAIL(ret = run_turn(session, 0));
	if (ret < 0 || !played_hear_config(session, &played) || !played.rings[0] ||
			!played.rings[1]) {
		played_close(&played);
		return -EIO;
	}
	for (uint32_t channel = 0; channel < 2; channel++) {
		unsigned char kind[1024];
		const struct wire_events events = {.token = 5,
				.last = true,
				.bytes = kind,
				.size = (uint32_t)played_kind(
						kind, sizeof(kind), channel, 0, "value")};
		ssize_t size;

		(void)played_send(played.fd,
				wire_encode_events(
						played_message, sizeof(played_message), &events));
		CAN_FAIL(ret = run_turn(session, 0));
		size = played_hear(session, played.fd, NULL);
		if (size <= 0 || wire_decode_ack(played_message, (size_t)size, &ack) ||
				ack.accepted != 1)
			ret = -EIO;
		for (uint32_t i = 0; i < EVENTS && ret >= 0; i++)
			if (played_emit(&played, channel, 0, i))
				ret = -EIO;
		if (ret < 0)
			break;
		ring_count_lost(played.rings[channel], 0, RING_LOST_TOO_BIG);
	}
	played_close(&played);
	return ret < 0 ? ret : 0;
}

static int check_status(struct session *session)
{
	struct session_status status;
	int ret;

	CAN_FAIL(ret = session_status(session, &status));
	if (ret)
		return ret;
	if (status.nr_seen != 1 || status.nr_channels != 2 || status.processes[0].nr_rings < 1 ||
			strcmp(status.processes[0].procname, "played") != 0)
		snprintf(why, sizeof(why), "an incomplete status");
	CAN_FAIL(session_status_free(&status));
	return 0;
}

static unsigned int count_events(const char *below)
{
	struct ctf_reader *reader;
	struct error error;
	struct ctf_item item;
	unsigned int nr = 0;

	if (ctf_reader_open(played_path(below), &reader, &error))
		return 0;
	while (ctf_reader_next(reader, &item) == 1)
		nr += item.kind == CTF_ITEM_EVENT;
	ctf_reader_close(reader);
	return nr;
}

static int record_and_close(struct session *session)
{
	char name[SESSION_SNAPSHOT_NAME_MAX] = "";
	struct error error;
	uint64_t recorded = 0;
	uint32_t number = 0;
	bool reported = false;
	unsigned int nr;
	int ret = record_in(session);

	if (!ret)
		CAN_FAIL(ret = session_flush(session, 20000));
	if (!ret)
		ret = check_status(session);
	if (!ret) {
		CAN_FAIL(ret = session_snapshot(session, 20000, &number, name, &recorded));
		if (!ret && (number != 1 || recorded != EVENTS))
			reported = take_errors(session);
		if (!ret && (number != 1 || recorded != EVENTS) && !reported)
			snprintf(why, sizeof(why), "snapshot %u of %llu events", number,
					(unsigned long long)recorded);
	}
	CAN_FAIL(session_finish(session));
	reported |= take_errors(session);
	CAN_FAIL(session_close(session, true, &error));
	if (ret || reported || error.kind)
		return ret ? ret : -EIO;
	/* With one event about the loss in each channel. */
	nr = count_events("out/played-4711-0");
	if (nr != 2 * EVENTS + 2)
		snprintf(why, sizeof(why), "%u events", nr);
	return 0;
}

/* Only the record: the session itself has begun. */
static int record_in_place(void)
{
	struct session *session;
	const char *state_dir = played_path("place");

	control.is_off = 2;
	if (open_in(state_dir, &session))
		return -EIO;
	return record_and_close(session);
}

/* A recorder that exits before its program. Its unwritten records stay in the state directory. */
static void leave_place(void)
{
	struct error error;
	struct session *session;
	bool was_on = !control.is_off;

	CHECK(!was_on && !open_in(played_path("place"), &session));
	CHECK(!record_in(session));
	session_close(session, false, &error);
	CHECK(!error.kind);
}

static unsigned int count_all(const char *other)
{
	return count_events("out/played-4711-0") + count_events(other);
}

static int adopt(void)
{
	struct error error;
	struct session *session;
	uint64_t notes = control.notes, site = control.site;
	bool reported;
	unsigned int nr;
	int ret;

	control.notes = control.site = 0;
	leave_place();
	control.notes = notes;
	control.site = site;
	control.at_site = control.failed = 0;
	ret = open_in(played_path("place"), &session);
	if (ret)
		return ret;
	reported = take_errors(session);
	CAN_FAIL(session_finish(session));
	reported |= take_errors(session);
	CAN_FAIL(session_close(session, true, &error));
	if (reported || error.kind)
		return -EIO;
	nr = count_all("out/played-4711-0-r2");
	if (nr != 2 * EVENTS + 2)
		snprintf(why, sizeof(why), "%u events", nr);
	return 0;
}

static int recover(void)
{
	const char *state_dir = played_path("place");
	const struct session_recover_options options = {
			.paths = &state_dir, .nr_paths = 1, .output = played_path("recovered")};
	const struct session_summary *summary;
	uint64_t notes = control.notes, site = control.site;
	struct error error;
	struct session *session;
	bool reported = false;
	unsigned int nr;
	int ret;

	control.notes = control.site = 0;
	leave_place();
	control.notes = notes;
	control.site = site;
	control.at_site = control.failed = 0;
	CAN_FAIL(ret = session_recover(&options, &session, &error));
	if (ret)
		return ret;
	CAN_FAIL(summary = session_summary(session));
	for (size_t i = 0; i < summary->nr_messages; i++)
		reported |= summary->messages[i].is_error;
	CAN_FAIL(session_destroy(session));
	if (reported)
		return -EIO;
	nr = count_all("recovered/played-4711-0");
	if (nr != 2 * EVENTS + 2)
		snprintf(why, sizeof(why), "%u events", nr);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
	bool is_strict; /* succeeds only without a few calls: is_optional() */
} operations[] = {
		{"check", check, true},
		{"open", open_live, true},
		{"create", create, false},
		{"record", record_in_place, false},
		{"adopt", adopt, false},
		{"recover", recover, false},
};

/* ---- The test ---- */

static void fail(const char *name, const struct faults_site *site, const char *what, int ret)
{
	printf("%s: %s of %#llx %#llx: %s (%d: %s)\n", name, site ? site->function : "no fault",
			site ? (unsigned long long)site->callers[0] : 0,
			site ? (unsigned long long)site->callers[1] : 0, what, ret, strerror(-ret));
	nr_errors++;
}

static int run(size_t operation)
{
	int ret;

	why[0] = 0;
	control.at_site = control.failed = 0;
	ret = operations[operation].run();
	control.is_off = 1;
	/* It keeps the text of the last error until the next call. */
	(void)dlerror();
	played_remove(played_path("out"));
	played_remove(played_path("buffers"));
	played_remove(played_path("recovered"));
	played_remove(played_path("place"));
	return ret;
}

/* Returns the bytes of all mappings but the heap, which grows for later calls. */
static unsigned long mapped_bytes(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long begin, end, sum = 0;
	char line[512];

	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &begin, &end) == 2 && !strstr(line, "[heap]") &&
				!strstr(line, "[stack]"))
			sum += end - begin;
	fclose(maps);
	return sum;
}

/* Threads that end free their memory a little later. */
static bool is_released(long blocks, unsigned long mapped, struct resources before)
{
	for (int i = 0; i < 2000; i++) {
		struct resources now = resources_now();

		if (counted_blocks == blocks && now.descriptors == before.descriptors &&
				now.mappings == before.mappings && mapped_bytes() == mapped)
			return true;
		usleep(1000);
	}
	fprintf(stderr, "%ld blocks -> %ld; ", blocks, counted_blocks);
	return resources_are_same(before, resources_now()) && false;
}

static bool is_listed(const char *const *names, const char *name)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

static bool is_memory(const struct faults_site *site)
{
	static const char *const memory[] = {"malloc", "calloc", "realloc", "strdup", NULL};

	return is_listed(memory, site->function);
}

/*
 * Calls whose failure is no error. So is memory for them: another site of the same call is in the
 * table.
 */
static bool is_optional(const struct faults_site *sites, const struct faults_site *site)
{
	static const char *const optional[] = {"access", "epoll_wait", "flock", "futex_waitv",
			"getrlimit64", "lstat64", "open64", "openat64", "opendir", "poll", "read",
			"readdir64", "realpath", "renameat", "setrlimit64", NULL};

	if (!is_memory(site))
		return is_listed(optional, site->function);
	for (size_t i = 0; i < FAULTS_SITES; i++)
		if (sites[i].site && sites[i].callers[0] == site->callers[0] &&
				!is_memory(&sites[i]))
			return true;
	return false;
}

/* Calls that the operation does not need, and that leave a thread: thread_defer(). */
static bool leaves_thread(const struct faults_site *site)
{
	return !strcmp(site->function, "setsockopt") || !strcmp(site->function, "recvmsg");
}

static void try_site(
		size_t operation, const struct faults_site *sites, const struct faults_site *site)
{
	const char *name = operations[operation].name;
	struct resources before = resources_now();
	unsigned long mapped = mapped_bytes();
	long blocks = counted_blocks;
	bool is_silent;
	int ret;

	control.site = site->site;
	ret = run(operation);
	control.site = 0;
	nr_failed += control.failed;
	is_silent = !ret && control.failed && operations[operation].is_strict &&
			!is_optional(sites, site);
	if (is_silent)
		snprintf(silent + strlen(silent), sizeof(silent) - strlen(silent),
				" %s of %#llx %#llx;", site->function,
				(unsigned long long)site->callers[0],
				(unsigned long long)site->callers[1]);
	nr_silent += is_silent;
	if (*why)
		fail(name, site, why, ret);
	/* A stream of the C library works without a buffer, and keeps a block. */
	else if (is_silent && is_memory(site))
		return;
	if (!is_released(blocks, mapped, before))
		fail(name, site, "resources are left", ret);
}

/* Whether no earlier operation has it. */
static bool is_new(uint64_t site)
{
	static uint64_t seen[FAULTS_SITES];
	static size_t nr;

	for (size_t i = 0; i < nr; i++)
		if (seen[i] == site)
			return false;
	CHECK(nr < FAULTS_SITES);
	seen[nr++] = site;
	return true;
}

static void try_operation(size_t operation)
{
	const char *name = operations[operation].name;
	struct faults_site *sites = calloc(FAULTS_SITES, sizeof(*sites));
	int ret;

	CHECK(sites);
	/* Run once before, to allocate memory that later calls reuse. */
	ret = run(operation);
	memset(control.sites, 0, sizeof(control.sites));
	control.notes = 1;
	if (!ret)
		ret = run(operation);
	control.notes = 0;
	if (ret || *why)
		fail(name, NULL, *why ? why : "fails without a failing call", ret);
	memcpy(sites, control.sites, sizeof(control.sites));
	nr_silent = 0;
	silent[0] = 0;
	for (size_t i = 0; i < FAULTS_SITES && !ret; i++)
		if (sites[i].site && !leaves_thread(&sites[i]) && is_new(sites[i].site))
			try_site(operation, sites, &sites[i]);
	if (nr_silent > 1) {
		printf("%s succeeds without %lu calls:%s\n", name, nr_silent, silent);
		nr_errors++;
	}
	free(sites);
}

int main(void)
{
	played_begin();
	table = memfd_create("table", MFD_CLOEXEC);
	CHECK(table >= 0 && write(table, "table", 5) == 5);
	faults_control = &control;
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		try_operation(i);
	faults_control = NULL;
	close(table);
	played_end();
	printf("%lu failed calls, %lu errors\n", nr_failed, nr_errors);
	return nr_errors || nr_failed < 30;
}
