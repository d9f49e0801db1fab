/* SPDX-License-Identifier: MIT */
/*
 * The options of a session at their limits and one beyond: each value beyond a limit is refused
 * with its own error, and the others are accepted.
 */
#include <limits.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../resources.h"
#include "played.h"
#include "protocol/protocol.h"
#include "recorder/check.h"
#include "recorder/core/channels.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/exit-status.h"
#include "recorder/core/instance.h"
#include "recorder/core/live.h"
#include "recorder/core/memory-size.h"
#include "recorder/core/memory.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/core/track.h"
#include "recorder/refusals.h"
#include "recorder/rotation/trigger.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"
#include "recorder/storage/losses.h"
#include "recorder/storage/output.h"
#include "ring/ring.h"

static struct error error;

/* ---- Options ---- */

static void check_options(const struct session_options *options, const char *expected)
{
	int ret = session_check(options, &error);

	if (!expected ? ret : !ret || strcmp(error.text, expected) != 0) {
		fprintf(stderr, "%s instead of %s\n", ret ? error.text : "accepted",
				expected ? expected : "accepted");
		abort();
	}
	CHECK(!ret || (error.kind == ERROR_USAGE && error.code == ret));
}

static void check_channel(const struct session_channel *channel, const char *expected)
{
	const struct session_options options = {
			.channels = channel, .nr_channels = 1, .memory_limit = UINT64_C(1) << 50};

	check_options(&options, expected);
}

static void test_channels(void)
{
	static const struct {
		struct session_channel channel;
		const char *error;
	} cases[] = {
			{{.name = "c", .per_thread = true, .threads_max = 4096, .ring_size = 65536},
					NULL},
			{{.name = "c", .per_thread = true, .threads_max = 4097},
					"4097 threads are more than 4096"},
			{{.name = "c", .threads_max = 4097}, NULL},
			{{.name = "c", .mode = SESSION_BLOCK, .block_timeout_us = 3600000000u},
					NULL},
			{{.name = "c", .mode = SESSION_BLOCK, .block_timeout_us = 3600000001u},
					"a program cannot wait for more than an hour"},
			{{.name = "c", .ring_size = 65536}, NULL},
			{{.name = "c", .ring_size = 65535},
					"a ring of 65535 bytes (--buffer-size) is not between 64 KiB and 4 GiB"},
			{{.name = "c", .ring_size = UINT64_C(8) << 30},
					"a ring of 8589934592 bytes (--buffer-size) is not between 64 KiB and 4 GiB"},
			{{.name = "abcdefghijklmnopqrstuvwxyzABCD_-"}, NULL},
			{{.name = "abcdefghijklmnopqrstuvwxyzABCD_-0"},
					"\"abcdefghijklmnopqrstuvwxyzABCD_-0\" is not a valid name of a channel: a name has at most 32 letters, digits, \"_\" and \"-\""},
			{{.name = "-c"},
					"\"-c\" is not a valid name of a channel: a name has at most 32 letters, digits, \"_\" and \"-\""},
			{{.name = ""}, "\"\" is not a valid name of a channel: a name has at most 32 letters, digits, \"_\" and \"-\""},
			{{.name = NULL},
					"\"\" is not a valid name of a channel: a name has at most 32 letters, digits, \"_\" and \"-\""},
			{{.name = "a.b"},
					"\"a.b\" is not a valid name of a channel: a name has at most 32 letters, digits, \"_\" and \"-\""},
	};
	const struct session_channel twice[] = {{.name = "a"}, {.name = "b"}, {.name = "a"}};
	struct session_options options = {.channels = twice, .nr_channels = 3};
	struct session_rule *rules = calloc(WIRE_RULES_MAX + 1, sizeof(*rules));
	struct session_channel many = {.name = "c", .rules = rules, .nr_rules = WIRE_RULES_MAX};

	CHECK(rules);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_channel(&cases[i].channel, cases[i].error);
	check_options(&options, "two channels are called \"a\"");
	CHECK(error.code == -EEXIST);
	options.nr_channels = 2;
	check_options(&options, NULL);
	check_channel(&many, NULL);
	many.nr_rules++;
	check_channel(&many, "the channel c has more than 1024 rules");
	free(rules);
}

static void test_contexts(void)
{
	static const char *const twice[] = {"vpid,vtid", "vpid"}, *const bad[] = {"vpid,none"};
	const char *names[WIRE_CONTEXTS_MAX + 1];
	char texts[WIRE_CONTEXTS_MAX + 1][24];
	struct session_channel channel = {.name = "c", .contexts = twice, .nr_contexts = 2};
	struct session *session = session_allocate();
	const struct session_options options = {.channels = &channel, .nr_channels = 1};

	CHECK(session);
	session->clock.kind = RING_CLOCK_MONOTONIC;
	CHECK(!channels_take(session, &options, &error));
	CHECK(session->channels[0].contexts.nr == 2 && session->channels[0].contexts.size == 10 &&
			!memcmp(session->channels[0].contexts.names, "vpid\0vtid", 10));
	session_destroy(session);
	for (unsigned int i = 0; i <= WIRE_CONTEXTS_MAX; i++) {
		snprintf(texts[i], sizeof(texts[i]), "app:a%u:b", i);
		names[i] = texts[i];
	}
	channel.contexts = names;
	channel.nr_contexts = WIRE_CONTEXTS_MAX;
	check_channel(&channel, NULL);
	channel.nr_contexts++;
	check_channel(&channel, "there are more than 64 contexts for one event");
	channel.contexts = bad;
	channel.nr_contexts = 1;
	CHECK(session_check(&options, &error) == -EINVAL);
	CHECK(!strncmp(error.text, "contexts, column 6: ", 20) && error.column == 6 &&
			!strcmp(error.input, bad[0]) && *error.hint);
}

static void test_chunks(void)
{
	static const char no_chunks[] =
			"--keep-size, --keep-age and --keep-count count chunks: they need --rotate-size, --rotate-every or --rotate";
	static const struct {
		struct session_rotation rotation;
		struct session_retention retention;
		const char *error;
	} cases[] = {
			{{.size = 65536}, {.size = 65536}, NULL},
			{{.size = 65535}, {.size = 0},
					"a chunk of 65535 bytes (--rotate-size) is less than 64 KiB"},
			{{.period_ns = 1000000000}, {.count = 1}, NULL},
			{{.period_ns = 999999999}, {.count = 1},
					"a chunk cannot be shorter than a second (--rotate-every)"},
			{{.on_request = true}, {.age_ns = 1}, NULL},
			{{.size = 65537}, {.size = 65536},
					"--keep-size is smaller than one chunk (--rotate-size)"},
			{{.size = 0}, {.size = 1}, no_chunks},
			{{.size = 0}, {.age_ns = 1}, no_chunks},
			{{.size = 0}, {.count = 1}, no_chunks},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct session_options options = {
				.rotation = cases[i].rotation, .retention = cases[i].retention};

		check_options(&options, cases[i].error);
	}
}

static void check_trigger(const char *text, const char *why)
{
	const struct session_channel channel = {
			.name = "c", .ring_size = 65536, .mode = SESSION_OVERWRITE};
	const struct session_options options = {.channels = &channel,
			.nr_channels = 1,
			.snapshot_on = &text,
			.nr_snapshot_on = 1};
	char expected[600];

	snprintf(expected, sizeof(expected), "--snapshot-on \"%s\": %s", text, why ? why : "");
	check_options(&options, why ? expected : NULL);
	CHECK(!*error.input && !error.column);
}

static void test_triggers(void)
{
	static const char form[] =
			"write event:PATTERN, event:PATTERN where FILTER, rate:PATTERN>N/s, crash or signal:USR1";
	static const char rate[] = "a rate must end in a limit, such as \">1000/s\"";
	static const char *const good[] = {"crash", "signal:USR1", "signal:SIGUSR1", "event:a:*",
			"event:a:* where x > 1", "rate:a:*>1/s",
			"rate:a:* where x > 1>18446744073709551615/s"};
	static const char *const bad_forms[] = {
			"event:", "rate:", "", "crash:", "events:a:b", "signal:USR2"};
	static const char *const bad_rates[] = {"rate:a:*", "rate:a:*>0/s", "rate:a:*>1",
			"rate:a:*>1/m", "rate:a:*>-1/s", "rate:a:*>18446744073709551616/s",
			"rate:a:*> 1/s"};
	const char *many[SESSION_CHANNELS_MAX + 1];
	const struct session_channel discard = {.name = "c", .ring_size = 65536},
				     overwrite = {.name = "c",
						     .ring_size = 65536,
						     .mode = SESSION_OVERWRITE};
	struct session_options options = {.channels = &discard,
			.nr_channels = 1,
			.snapshot_on = many,
			.nr_snapshot_on = 1};
	struct session *session = session_allocate();

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		check_trigger(good[i], NULL);
	for (size_t i = 0; i < sizeof(bad_forms) / sizeof(bad_forms[0]); i++)
		check_trigger(bad_forms[i], form);
	for (size_t i = 0; i < sizeof(bad_rates) / sizeof(bad_rates[0]); i++)
		check_trigger(bad_rates[i], rate);
	for (unsigned int i = 0; i <= SESSION_CHANNELS_MAX; i++)
		many[i] = "event:a:b";
	check_options(&options, "cannot use --snapshot-on: no channel has `--mode overwrite`");
	options.channels = &overwrite;
	options.nr_snapshot_on = SESSION_CHANNELS_MAX - 1;
	check_options(&options, NULL);
	options.nr_snapshot_on++;
	check_options(&options,
			"--snapshot-on \"event:a:b\": there are more than 32 channels, including those for `--snapshot-on`");
	/* Channels of triggers follow the others. */
	CHECK(session);
	options.nr_snapshot_on = 2;
	options.snapshot_max = 3;
	session->clock.kind = RING_CLOCK_MONOTONIC;
	CHECK(!channels_take(session, &options, &error) &&
			!trigger_take(session, &options, &error));
	CHECK(session->nr_channels == 1 && session->nr_all_channels == 3 &&
			session->triggers.nr == 2);
	CHECK(session->triggers.max == 3 && !session->triggers.crash);
	CHECK(!strcmp(session->channels[2].name, "_counter-2") && session->channels[2].counts &&
			session->channels[2].nr_rules == 1 && !session->channels[0].counts);
	session_destroy(session);
}

static void test_memory(void)
{
	const struct session_channel channel = {
			.name = "c", .ring_size = 1 << 20, .per_thread = true, .threads_max = 2};
	struct session_options options = {.channels = &channel, .nr_channels = 1};
	struct session *session = session_allocate();
	char text[300];
	uint64_t size;

	CHECK(session);
	session->clock.kind = RING_CLOCK_MONOTONIC;
	CHECK(!channels_take(session, &options, &error) &&
			!memory_check(session, &options, &error));
	size = memory_most(session);
	CHECK(session->memory.limit == SESSION_MEMORY_DEFAULT && size > 2 << 20 && size < 4 << 20);
	CHECK(size - memory_least(session) == 2 * ((1 << 20) - (64 << 10)));
	options.memory_limit = size;
	CHECK(!memory_check(session, &options, &error));
	options.memory_limit = size - 1;
	CHECK(memory_check(session, &options, &error) == -EINVAL);
	snprintf(text, sizeof(text),
			"the rings of the channel of one process need %llu KiB on this machine, more than the session's limit of %llu KiB (--memory-limit)",
			(unsigned long long)size / 1024, (unsigned long long)(size - 1) / 1024);
	CHECK(!strcmp(error.text, text));
	CHECK(!strcmp(error.hint, "`--buffer-size 512K` is the largest that fits"));
	options.memory_limit = memory_least(session);
	CHECK(memory_check(session, &options, &error) == -EINVAL);
	CHECK(!strcmp(error.hint, "`--buffer-size 64K` is the largest that fits"));
	options.memory_limit--;
	CHECK(memory_check(session, &options, &error) == -EINVAL);
	snprintf(text, sizeof(text), "`--memory-limit %lluK` is the smallest that fits",
			(unsigned long long)(size + 1023) / 1024);
	CHECK(!strcmp(error.hint, text));
	session_destroy(session);
}

/* ---- Processes that are tracked ---- */

static void check_track(enum session_track_kind kind, uint64_t number, const char *text,
		const char *expected)
{
	const struct session_track track = {.kind = kind, .number = number, .text = text};
	struct session_track *taken;
	int ret = track_take(&track, 1, &taken, &error);

	CHECK(!ret == !expected && !ret == (taken != NULL));
	if (ret)
		CHECK(ret == -EINVAL && error.kind == ERROR_USAGE && !strcmp(error.text, expected));
	else
		CHECK(taken[0].kind == kind && taken[0].number == number &&
				(!text || (taken[0].text != text && !strcmp(taken[0].text, text))));
	track_free(taken, 1);
}

static void test_track(void)
{
	static const char pattern[] = "a pattern for processes has 1 to 255 bytes";
	struct session_track *many = calloc(SESSION_TRACK_MAX + 1, sizeof(*many)), *taken;
	char text[SESSION_TRACK_TEXT_MAX + 2];

	check_track(SESSION_TRACK_PID, 1, NULL, NULL);
	check_track(SESSION_TRACK_PID, 0, NULL,
			"there is no process 0: process ids go from 1 to 2147483647");
	check_track(SESSION_TRACK_PID, INT_MAX, NULL, NULL);
	check_track(SESSION_TRACK_PID, 1u + INT_MAX, NULL,
			"there is no process 2147483648: process ids go from 1 to 2147483647");
	check_track(SESSION_TRACK_UID, UINT32_MAX - 1, NULL, NULL);
	check_track(SESSION_TRACK_UID, UINT32_MAX, NULL,
			"there is no user 4294967295: ids go up to 4294967294");
	check_track(SESSION_TRACK_GID, 0, NULL, NULL);
	check_track(SESSION_TRACK_GID, UINT32_MAX, NULL,
			"there is no group 4294967295: ids go up to 4294967294");
	check_track(SESSION_TRACK_KINDS, 1, NULL, "unknown tracking criterion 6");
	memset(text, 'x', sizeof(text));
	for (enum session_track_kind kind = SESSION_TRACK_NAME; kind < SESSION_TRACK_KINDS;
			kind++) {
		check_track(kind, 0, NULL, pattern);
		check_track(kind, 0, "", pattern);
		text[SESSION_TRACK_TEXT_MAX] = 0;
		check_track(kind, 0, text, NULL);
		text[SESSION_TRACK_TEXT_MAX] = 'x';
		text[SESSION_TRACK_TEXT_MAX + 1] = 0;
		check_track(kind, 0, text, pattern);
	}
	CHECK(many);
	for (size_t i = 0; i <= SESSION_TRACK_MAX; i++)
		many[i] = (struct session_track){.kind = SESSION_TRACK_UID, .number = i};
	CHECK(!track_take(many, SESSION_TRACK_MAX, &taken, &error));
	track_free(taken, SESSION_TRACK_MAX);
	CHECK(track_take(many, SESSION_TRACK_MAX + 1, &taken, &error) == -E2BIG && !taken);
	CHECK(!strcmp(error.text, "a session can have at most 1024 tracking criteria"));
	free(many);
}

static void test_wanted(void)
{
	const struct track_peer peer = {.pid = getpid(), .uid = 7, .gid = 8, .name = "web1"};
	struct session_track track[3] = {{.kind = SESSION_TRACK_PID, .number = (uint64_t)getpid()}};

	CHECK(track_wants(track, 0, &peer) && track_wants(track, 1, &peer));
	track[1] = (struct session_track){.kind = SESSION_TRACK_UID, .number = 8};
	CHECK(!track_wants(track, 2, &peer));
	track[2] = (struct session_track){.kind = SESSION_TRACK_UID, .number = 7};
	CHECK(track_wants(track, 3, &peer));
	track[1] = (struct session_track){.kind = SESSION_TRACK_GID, .number = 7};
	CHECK(!track_wants(track, 3, &peer));
	track[1].number = 8;
	CHECK(track_wants(track, 3, &peer));
	track[1].exclude = true;
	CHECK(!track_wants(track, 3, &peer));
	track[1] = (struct session_track){.kind = SESSION_TRACK_NAME, .text = "web?"};
	CHECK(track_wants(track, 3, &peer));
	track[1].text = "web";
	CHECK(!track_wants(track, 3, &peer));
	track[1].exclude = true;
	CHECK(track_wants(track, 3, &peer));
	track[1] = (struct session_track){.kind = SESSION_TRACK_CGROUP, .text = "*"};
	CHECK(track_wants(track, 3, &peer) == !access("/proc/self/cgroup", R_OK));
	track[1].text = "/none/at/all";
	CHECK(!track_wants(track, 3, &peer));
	track[1].kind = SESSION_TRACK_CONTAINER;
	CHECK(!track_wants(track, 3, &peer));
}

static void test_containers(void)
{
#define ID "0123456789abcdef0123456789ABCDEF" /* 32 digits */
	static const struct {
		const char *text, *path;
		bool fits;
	} cases[] = {
			{"0123456789ab", "/docker/" ID, true},
			{"0123456789a", "/docker/" ID, false},
			{"0123456789a*", "/docker/" ID, true},
			{"0123456789ac", "/docker/" ID, false},
			{"0123456789abx", "/docker/" ID, false},
			{ID, "/docker-" ID ".scope/x", true},
			{ID, "/a/libpod-" ID ".service", true},
			{ID, "/a/" ID ".other", false},
			/* One digit less is not an id, but a name below /lxc. */
			{"0123456789abcdef0123456789ABCDE",
					"/docker/0123456789abcdef0123456789ABCDE", false},
			{"0123456789abcdef0123456789ABCDE", "/lxc/0123456789abcdef0123456789ABCDE",
					true},
			{"box", "/lxc/box", true},
			{"box", "/lxd/box", false},
			{"box", "/lxc/box2", false},
			{"box", "/lxc.payload.box", true},
			{"box-a", "/machine-box\\x2da.scope", true},
			{"box", "/systemd-nspawn@box.service", true},
			{"*", "/machine-.scope", false},
			{"*", "/user.slice", false},
			{".scope", "/lxc/.scope", true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (track_container_fits(cases[i].text, cases[i].path) != cases[i].fits) {
			fprintf(stderr, "%s in %s\n", cases[i].text, cases[i].path);
			abort();
		}
}

/* ---- Programs ---- */

static void make(const char *name, const char *text, mode_t mode)
{
	int fd = open(played_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
			!fchmod(fd, mode));
	close(fd);
}

static void check_program(const char *name, int expected, const char *expected_path)
{
	char path[PATH_MAX];
	int ret = session_program(name, path);

	if (ret != expected || strcmp(path, expected_path) != 0) {
		fprintf(stderr, "%s: %d, %s instead of %s\n", name, ret, path, expected_path);
		abort();
	}
}

static void check_script(const char *line, int expected, const char *expected_path)
{
	make("script", line, 0755);
	check_program(played_path("script"), expected, expected_path);
}

static void test_programs(void)
{
	struct resources before = resources_now();
	static char line[2 * PATH_MAX];
	char path[PATH_MAX], long_path[300];

	setenv("PATH", played_path("bin"), 1);
	CHECK(!mkdir(played_path("bin"), 0700));
	make("bin/tool",
			"\x7f"
			"ELF",
			0755);
	make("bin/denied",
			"\x7f"
			"ELF",
			0644);
	snprintf(path, sizeof(path), "%s", played_path("bin/tool"));
	check_program("tool", 0, path);
	check_program(path, 0, path);
	check_program("none", -ENOENT, "");
	check_program("", -ENOENT, "");
	check_program("denied", -EACCES, played_path("bin/denied"));
	check_program(played_path("bin"), -EACCES, played_path("bin"));
	snprintf(line, sizeof(line), "#! %s  arg \n", path);
	check_script(line, 1, path);
	check_script("#!/usr/bin/env tool\n", 1, path);
	check_script("#!/usr/bin/env -S tool -x\n", 1, path);
	check_script("#!/usr/bin/env tool -x\n", 1, "/usr/bin/env");
	check_script("#!/usr/bin/env none\n", -ENOENT, "none");
	check_script("#! \n", 1, "/bin/sh");
	check_script("echo\n", access("/bin/sh", X_OK) ? -ENOENT : 1, "/bin/sh");
	check_script("#!/none\n", -ENOENT, "/none");
	/* The first 256 bytes. */
	memset(long_path, ' ', sizeof(long_path));
	snprintf(line, sizeof(line), "#!%.*s%s", (int)(256 - 2 - strlen(path)), long_path, path);
	CHECK(strlen(line) == 256);
	check_script(line, 1, path);
	snprintf(line, sizeof(line), "#!%.*s%s", (int)(257 - 2 - strlen(path)), long_path, path);
	path[strlen(path) - 1] = 0;
	check_script(line, -ENOENT, path);
	/* Scripts whose interpreters are scripts: five are followed. */
	make("s0",
			"\x7f"
			"ELF",
			0755);
	for (int i = 1; i <= 6; i++) {
		char name[8], text[PLAYED_LENGTH + 8];

		snprintf(name, sizeof(name), "s%d", i - 1);
		snprintf(text, sizeof(text), "#!%s\n", played_path(name));
		snprintf(name, sizeof(name), "s%d", i);
		make(name, text, 0755);
	}
	check_program(played_path("s5"), 1, played_path("s0"));
	check_program(played_path("s6"), -ELOOP, played_path("s0"));
	CHECK(resources_now().descriptors == before.descriptors);
}

/* ---- Output directories ---- */

static void check_output(const char *name, bool force, const char *before, const char *after,
		const char *hint)
{
	struct session *session = session_allocate();
	char expected[600];
	int ret;

	CHECK(session);
	error = (struct error){.kind = ERROR_NONE};
	ret = output_create(session, name, force, &error);
	snprintf(expected, sizeof(expected), "%s%s%s", before ? before : "", *name ? name : "",
			after);
	CHECK(!ret == !before && (!before || !strcmp(error.text, expected)));
	CHECK(hint ? strstr(error.hint, hint) != NULL : !*error.hint);
	session_destroy(session);
}

static void test_output(void)
{
	struct resources before = resources_now();
	struct session *session = session_allocate(), *next = session_allocate();
	char first[64];

	check_output(played_path("new"), false, NULL, "", NULL);
	check_output(played_path("new"), false, NULL, "", NULL);
	CHECK(!mkdir(played_path("new/x"), 0700));
	check_output(played_path("new"), true, NULL, "", NULL);
	check_output(played_path("new"), false, "", " is not empty",
			"`-o DIRECTORY` names another one\n`--force` adds to it");
	CHECK(error.code == -EEXIST && error.kind == ERROR_FAILED);
	check_output("", false, "the name of the output directory is empty", "", NULL);
	check_output(played_path("no/new"), false, "cannot write to ",
			": No such file or directory", "create the parent directory first");
	make("file", "", 0600);
	check_output(played_path("file"), false, "cannot write to ", ": Not a directory", NULL);
	check_output("/proc/none", false, "cannot write to ", ": No such file or directory",
			"create the parent directory first");
	/* Without a name: the second one in the same second gets a number. */
	CHECK(session && next && !chdir(played_path("new/x")));
	for (int i = 0; i < 20; i++) {
		CHECK(!output_create(session, NULL, false, &error));
		CHECK(!output_create(next, NULL, false, &error));
		snprintf(first, sizeof(first), "%s-2", session->output.path);
		if (!strcmp(next->output.path, first))
			break;
		CHECK(i < 19);
		free(session->output.path);
		free(next->output.path);
	}
	CHECK(!strncmp(session->output.path, "side-20", 7) && strlen(session->output.path) == 20);
	output_lock(session);
	CHECK(session->output.lock >= 0);
	session_destroy(session);
	session_destroy(next);
	CHECK(!chdir("/"));
	CHECK(resources_now().descriptors == before.descriptors);
}

/* ---- Texts ---- */

static void test_losses(void)
{
	char program[] = "web", kernel[] = SESSION_KERNEL_PROGRAM,
	     uprobes[] = SESSION_UPROBES_PROGRAM;
	struct instance instance = {.procname = program};
	const uint32_t last = EVENT_SLOTS - 1;

	CHECK(!strcmp(losses_reason(&instance, 0, RING_LOST_FULL), SESSION_LOST_FULL));
	CHECK(!strcmp(losses_reason(&instance, last, RING_LOST_OTHER), SESSION_LOST_BY_KIND));
	CHECK(!strcmp(losses_reason(&instance, last - 1, RING_LOST_OTHER),
			ring_loss_name(RING_LOST_OTHER)));
	CHECK(!strcmp(losses_reason(&instance, last, RING_LOST_NESTED), SESSION_LOST_IN_CHILD));
	CHECK(!strcmp(losses_reason(&instance, last - 1, RING_LOST_NESTED), SESSION_LOST_IN_VFORK));
	CHECK(!strcmp(losses_reason(&instance, last, RING_LOST_BUSY),
			ring_loss_name(RING_LOST_BUSY)));
	for (int i = 0; i < 2; i++) {
		instance.procname = i ? kernel : uprobes;
		CHECK(!strcmp(losses_reason(&instance, last, RING_LOST_BUSY),
				SESSION_LOST_IN_KERNEL));
		CHECK(!strcmp(losses_reason(&instance, 0, RING_LOST_OTHER),
				SESSION_LOST_IN_KERNEL));
		CHECK(!strcmp(losses_reason(&instance, 0, RING_LOST_BUSY),
				ring_loss_name(RING_LOST_BUSY)));
		CHECK(!strcmp(losses_reason(&instance, last, RING_LOST_OTHER),
				SESSION_LOST_BY_KIND));
	}
}

static void test_reports(void)
{
	struct session *session = session_allocate();
	struct instance instance = {.procname = (char[]){"web"}};

	CHECK(session);
	for (int i = 0; i < LIMIT_MESSAGES + 2; i++)
		report(session, i % 2, "message %d%s", i, i == 5 ? "\nhint 5" : "");
	CHECK(session->reports.nr_messages == LIMIT_MESSAGES);
	CHECK(!strcmp(session->reports.messages[5].text, "message 5") &&
			!strcmp(session->reports.messages[5].hint, "hint 5"));
	CHECK(session->reports.messages[5].is_error && !session->reports.messages[4].is_error &&
			!session->reports.messages[4].hint);
	CHECK(!strcmp(session->reports.messages[LIMIT_MESSAGES - 2].text, "message 198"));
	CHECK(!strcmp(session->reports.messages[LIMIT_MESSAGES - 1].text,
			"more messages like these are not shown"));
	CHECK(report_error_kind(-EACCES) == ERROR_PERMISSION &&
			report_error_kind(EROFS) == ERROR_PERMISSION &&
			report_error_kind(EPERM) == ERROR_PERMISSION &&
			report_error_kind(-EIO) == ERROR_FAILED);
	report_failure(session, EPERM);
	report_failure(session, EIO);
	CHECK(session->reports.failure == ERROR_PERMISSION);
	/* Beyond the limit, losses in records are added up; those in bytes are kept. */
	for (int i = 0; i < LIMIT_SESSION_LOSSES; i++)
		report_loss(session, &instance, "r", "e", "x", 1, false);
	CHECK(session->reports.nr_losses == LIMIT_SESSION_LOSSES &&
			!session->reports.losses_remainder);
	report_loss(session, &instance, "r", "e", "x", 3, false);
	report_loss(session, &instance, "r", "e", "x", 5, false);
	CHECK(session->reports.nr_losses == LIMIT_SESSION_LOSSES &&
			session->reports.losses_remainder == 8);
	report_loss(session, &instance, "r_1", "e:f", "y", 7, true);
	CHECK(session->reports.nr_losses == LIMIT_SESSION_LOSSES + 1 &&
			session->reports.losses_remainder == 8);
	CHECK(!strcmp(session->reports.losses[LIMIT_SESSION_LOSSES].process, "web") &&
			!strcmp(session->reports.losses[LIMIT_SESSION_LOSSES].ring, "r_1") &&
			!strcmp(session->reports.losses[LIMIT_SESSION_LOSSES].event, "e:f") &&
			!strcmp(session->reports.losses[LIMIT_SESSION_LOSSES].reason, "y") &&
			session->reports.losses[LIMIT_SESSION_LOSSES].count == 7 &&
			session->reports.losses[LIMIT_SESSION_LOSSES].in_bytes);
	session_destroy(session);
}

static void check_refused(size_t nr, const char *expected)
{
	struct session *session = session_allocate();

	CHECK(session);
	session->refusals.nr_processes = nr;
	session->refusals.first = strdup("the first");
	refusals_report(session);
	CHECK(session->reports.nr_messages == (expected != NULL));
	CHECK(!expected ||
			(!strcmp(session->reports.messages[0].text, expected) &&
					session->reports.messages[0].is_error));
	session_destroy(session);
}

static void test_crashes(void)
{
	static const int faults[] = {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGTRAP};
	static const char *const names[] = {"SEGV", "ABRT", "BUS", "ILL", "FPE", "SYS", "TRAP"};

	for (size_t i = 0; i < 7; i++)
		CHECK(!strcmp(crash_name(faults[i]), names[i]) &&
				crash_of(faults[i]) == faults[i] &&
				crash_of(faults[i] | 0x80) == faults[i]);
	CHECK(!*crash_name(SIGKILL) && !crash_of(SIGKILL) && !crash_of(SIGSEGV << 8) &&
			!crash_of(0));
	check_refused(0, NULL);
	check_refused(1, "the first");
	check_refused(2, "2 processes are not recorded, the first: the first");
}

int main(void)
{
	played_begin();
	test_channels();
	test_contexts();
	test_chunks();
	test_triggers();
	test_memory();
	test_track();
	test_wanted();
	test_containers();
	test_programs();
	test_output();
	test_losses();
	test_reports();
	test_crashes();
	played_end();
	return 0;
}
