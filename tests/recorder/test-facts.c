/* SPDX-License-Identifier: MIT */
/*
 * Files of a session with values at their limits: facts, state directories, totals, chunks. Each
 * invalid file is refused with its own error.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "../resources.h"
#include "ctf/ctf.h"
#include "played.h"
#include "protocol/protocol.h"
#include "recorder/core/channels.h"
#include "recorder/core/facts.h"
#include "recorder/core/instance.h"
#include "recorder/core/maps.h"
#include "recorder/core/memory.h"
#include "recorder/core/session.h"
#include "recorder/core/totals.h"
#include "recorder/recovery/adopt-chunks.h"
#include "recorder/recovery/adopt-process.h"
#include "recorder/rotation/retain.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"
#include "recorder/storage/chunk-names.h"
#include "recorder/storage/found.h"
#include "recorder/storage/instance-free.h"
#include "recorder/storage/journal-format.h"
#include "recorder/storage/journal.h"
#include "recorder/storage/maps-file.h"
#include "recorder/storage/state-directory.h"
#include "ring/ring.h"

#define TERA 1000000000000ull

static int folder; /* of the test */
static struct error error;

static void write_file(const char *name, const char *text, size_t size)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, text, size) == (ssize_t)size && !close(fd));
}

static void write_text(const char *name, const char *text)
{
	write_file(name, text, strlen(text));
}

static void check_file(const char *name, const char *expected)
{
	char text[4096] = "";
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0);
	close(fd);
	if (strcmp(text, expected) != 0) {
		fprintf(stderr, "%s: %s instead of %s\n", name, text, expected);
		abort();
	}
}

static bool exists(const char *name)
{
	return !faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* ---- Facts ---- */

static void test_escapes(void)
{
	static const struct {
		const char *text, *plain; /* NULL: refused */
	} cases[] = {{"a%20b%25", "a b%"}, {"%c3%a4%7f%01", "\xc3\xa4\x7f\x01"}, {"", ""},
			{"%00", NULL}, {"%4", NULL}, {"%", NULL}, {"%4A", NULL}, {"%A4", NULL},
			{"%g0", NULL}, {"%0g", NULL}, {"%/0", NULL}, {"%:0", NULL}, {"%09", "\t"},
			{"%99", "\x99"}, {"%`0", NULL}, {"%fa", "\xfa"}, {"%af", "\xaf"}};
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	CHECK(file);
	facts_put_line(file, "word", "a b!~%\x7f\x1f\xff");
	fclose(file);
	CHECK(!strcmp(text, "word a%20b!~%25%7f%1f%ff\n"));
	free(text);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char copy[32];

		snprintf(copy, sizeof(copy), "%s", cases[i].text);
		CHECK(facts_unescape(copy) == (cases[i].plain != NULL));
		CHECK(!cases[i].plain || !strcmp(copy, cases[i].plain));
	}
}

static bool take_any(void *user, const char *word, char *value)
{
	unsigned int *nr = user;

	if (!strcmp(word, "no"))
		return false;
	*nr += !strcmp(word, "word") && !strcmp(value, "a b");
	return true;
}

static bool parses(const char *text, size_t more)
{
	char copy[128];
	unsigned int nr = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	return facts_parse(copy, strlen(text) + more, "first", take_any, &nr) && nr == 2;
}

static void test_parse(void)
{
	CHECK(parses("first\nword a b\nword a b\nend\n", 0));
	CHECK(parses("first\nword a b\nword a b\nend\nno more\n", 0));
	/*
	 * A zero byte, another first line, no last line, a token without a value, a refused line.
	 */
	CHECK(!parses("first\nword a b\nword a b\nend\n", 1));
	CHECK(!parses("firs\nword a b\nword a b\nend\n", 0));
	CHECK(!parses("first\nword a b\nword a b\n", 0));
	CHECK(!parses("first\nword a b\nword a b\nword\nend\n", 0));
	CHECK(!parses("first\nword a b\nword a b\nno x\nend\n", 0));
}

static void test_read(void)
{
	struct resources before = resources_now();
	char *bytes = NULL;
	size_t size = 0;

	write_text("file", "12345");
	CHECK(!facts_read_file(folder, "file", 5, &bytes, &size) && size == 5 &&
			!strcmp(bytes, "12345"));
	free(bytes);
	CHECK(facts_read_file(folder, "file", 4, &bytes, &size) == -EINVAL);
	CHECK(facts_read_file(folder, "none", 4, &bytes, &size) == -ENOENT);
	CHECK(facts_read_file(folder, ".", 4096, &bytes, &size) == -EINVAL);
	CHECK(!symlinkat("file", folder, "link"));
	CHECK(facts_read_file(folder, "link", 5, &bytes, &size) == -ELOOP);
	write_text("empty", "");
	CHECK(!facts_read_file(folder, "empty", 0, &bytes, &size) && !size && !*bytes);
	free(bytes);
	CHECK(resources_now().descriptors == before.descriptors);
}

static void put_nothing(FILE *file, const void *user)
{
	fputs(user, file);
}

static void test_write(void)
{
	struct resources before = resources_now();
	struct stat status;

	CHECK(!facts_write_file(folder, "made", "first", put_nothing, "word x\n"));
	check_file("made", "first\nword x\nend\n");
	CHECK(!fstatat(folder, "made", &status, 0) && (status.st_mode & 0777 & ~022u) == 0644);
	CHECK(!exists(".made.new"));
	/* A directory has the name: it is removed if it is empty, otherwise renamed. */
	for (int i = 0; i < 2; i++) {
		CHECK(!unlinkat(folder, "made", 0) && !mkdirat(folder, "made", 0700));
		write_text("made/x", "");
		CHECK(!facts_write_file(folder, "made", "first", put_nothing, "word y\n"));
		check_file("made", "first\nword y\nend\n");
		CHECK(exists(".made.old-0/x") && exists(".made.old-1/x") == (i == 1));
	}
	CHECK(!unlinkat(folder, "made", 0) && !mkdirat(folder, "made", 0700));
	CHECK(!facts_write_file(folder, "made", "first", put_nothing, "word z\n"));
	CHECK(!exists(".made.old-2"));
	write_text(".made.new", "left");
	CHECK(!facts_write_file(folder, "made", "first", put_nothing, ""));
	check_file("made", "first\nend\n");
	CHECK(facts_write_file(folder, "none/made", "first", put_nothing, "") == -ENOENT);
	CHECK(resources_now().descriptors == before.descriptors);
}

static void test_clock(void)
{
	static const struct {
		unsigned int kind;
		unsigned long long frequency;
		long long offset_s;
		unsigned long long offset;
		bool is_taken;
	} cases[] = {{1, 1000, 5, 999, true}, {1, 1000, 5, 1000, false}, {0, 1, -5, 0, true},
			{0, 0, 0, 0, false}, {2, 1000, 5, 6, false}, {0, TERA, 1, 2, true},
			{0, TERA + 1, 1, 2, false}, {0, 9, (long long)TERA, 2, true},
			{0, 9, (long long)TERA + 1, 2, false}, {0, 9, -(long long)TERA, 2, true},
			{0, 9, -(long long)TERA - 1, 2, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ctf_clock clock = {.frequency = 7}, other;
		enum ring_clock kind = RING_CLOCK_TSC;
		char *text = NULL;
		size_t size;
		FILE *file = open_memstream(&text, &size);
		char value[200];

		CHECK(file);
		snprintf(value, sizeof(value), "%u %llu %lld %llu", cases[i].kind,
				cases[i].frequency, cases[i].offset_s, cases[i].offset);
		CHECK(facts_take_clock(value, &kind, &clock) == cases[i].is_taken);
		other = clock;
		facts_put_clock(file, kind, &other);
		fclose(file);
		if (cases[i].is_taken)
			CHECK(!strncmp(text, "clock ", 6) &&
					!strncmp(text + 6, value, strlen(value)) &&
					!strcmp(text + 6 + strlen(value), "\n"));
		else
			CHECK(clock.frequency == 7);
		free(text);
	}
	CHECK(!facts_take_clock("1 1000 5", &(enum ring_clock){0}, &(struct ctf_clock){0}));
}

/* ---- The file "instance" ---- */

#define NR_BASE 10
static const char *const base[NR_BASE] = {"procname a%20b", "exe /bin/x", "trace /out",
		"hostname here", "process 5 6 7", "clock 1 1000 8 9", "begin 10", "channel one",
		"context vpid", "channel two"};

/* Replaces one line (NULL: removes it), and adds one before the last line. */
static bool reads(unsigned int at, const char *instead, const char *more,
		struct recovery_facts *found)
{
	struct error why = {.text = ""};
	char text[8192] = "side-buffers 1\n";
	int ret;

	for (unsigned int i = 0; i < NR_BASE; i++) {
		const char *line = i == at ? instead : base[i];

		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", line ? line : "",
				line ? "\n" : "");
	}
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%send\n", more ? more : "",
			more ? "\n" : "");
	write_text("instance", text);
	*found = (struct recovery_facts){.pid = 0};
	ret = found_read(folder, found, &why);
	CHECK(!ret ||
			(ret == -EINVAL &&
					!strcmp(why.text,
							"instance: it is not a file of `side record`")));
	return !ret;
}

static bool is_read(unsigned int at, const char *instead, const char *more)
{
	struct recovery_facts *found = malloc(sizeof(*found));
	bool is;

	CHECK(found);
	is = reads(at, instead, more, found);
	found_free(found);
	free(found);
	return is;
}

static void test_found(void)
{
	struct recovery_facts *found = malloc(sizeof(*found));
	char long_name[120], number[64];
	struct instance *instance;
	struct session *session = session_allocate();

	CHECK(found && session);
	CHECK(reads(NR_BASE, NULL, "peer boot-id 11 12 13 14 15 1 16\nprobes 17 18\nmaker agent",
			found));
	CHECK(!strcmp(found->procname, "a b") && !strcmp(found->exe, "/bin/x") &&
			!strcmp(found->trace, "/out") && !strcmp(found->hostname, "here"));
	CHECK(found->pid == 5 && found->parent == 6 && found->number == 7 && found->begin == 10);
	CHECK(found->clock_kind == 1 && found->clock.frequency == 1000 &&
			found->clock.offset_s == 8 && found->clock.offset == 9);
	CHECK(found->nr_channels == 2 && !strcmp(found->channels[0].name, "one") &&
			!strcmp(found->channels[1].name, "two"));
	CHECK(found->channels[0].contexts.nr == 1 && !found->channels[1].contexts.nr);
	CHECK(found->has_peer && !strcmp(found->boot, "boot-id") && found->peer == 11 &&
			found->start == 12 && found->token == 13 && found->uid == 14 &&
			found->gid == 15 && found->control == 1 && found->control_signal == 16);
	CHECK(found->takes_probes && found->family == 17 && found->family_started == 18 &&
			found->by_agent);
	instance = found_instance(found);
	CHECK(instance && !found->nr_channels && instance->nr_channels == 2);
	CHECK(instance->pid == 5 && instance->peer == 11 && instance->parent == 6 &&
			instance->number == 7 && instance->begin_ticks == 10);
	CHECK(!strcmp(instance->procname, "a_b"));
	instance_free(session, instance);
	found_free(found);
	CHECK(reads(NR_BASE, NULL, NULL, found) && !found->has_peer);
	instance = found_instance(found);
	CHECK(instance && instance->peer == 5);
	instance_free(session, instance);
	found_free(found);
	free(found);
	session_destroy(session);
	/* Optional lines: the name of the host, the begin, and the contexts. */
	for (unsigned int i = 0; i < NR_BASE; i++)
		CHECK(is_read(i, NULL, NULL) == (i == 3 || i == 6 || i >= 8));
	CHECK(!is_read(7, NULL, NULL));
	/* The same line twice. */
	for (unsigned int i = 0; i < NR_BASE; i++)
		CHECK(is_read(NR_BASE, NULL, base[i]) == (i == 3 || i == 4 || i == 6 || i == 8));
	CHECK(!is_read(NR_BASE, NULL, "peer b 1 2 3 4 5 1 0\npeer b 1 2 3 4 5 1 0"));
	CHECK(!is_read(NR_BASE, NULL, "peer b 0 2 3 4 5 1 0"));
	CHECK(!is_read(NR_BASE, NULL, "peer b 1 2 3 4 5 1"));
	CHECK(!is_read(NR_BASE, NULL, "probes 1") && is_read(NR_BASE, NULL, "probes 1 2"));
	CHECK(!is_read(NR_BASE, NULL, "maker side") && !is_read(NR_BASE, NULL, "other x"));
	CHECK(!is_read(NR_BASE, NULL, "context none") && !is_read(NR_BASE, NULL, "channel a/b"));
	CHECK(!is_read(0, "procname %00", NULL) && !is_read(6, "begin x", NULL));
	CHECK(!is_read(4, "process 5 6", NULL));
	snprintf(number, sizeof(number), "process 5 6 %d", LIMIT_INSTANCES - 1);
	CHECK(is_read(4, number, NULL));
	snprintf(number, sizeof(number), "process 5 6 %d", LIMIT_INSTANCES);
	CHECK(!is_read(4, number, NULL));
	snprintf(long_name, sizeof(long_name), "channel %0*d", SESSION_CHANNEL_NAME_MAX, 1);
	CHECK(is_read(9, long_name, NULL));
	snprintf(long_name, sizeof(long_name), "channel %0*d", SESSION_CHANNEL_NAME_MAX + 1, 1);
	CHECK(!is_read(9, long_name, NULL));
}

static void test_numbers(void)
{
	char more[4096] = "";

	for (unsigned int i = 2; i <= SESSION_CHANNELS_MAX; i++) {
		CHECK(is_read(NR_BASE, NULL, *more ? more : NULL));
		snprintf(more + strlen(more), sizeof(more) - strlen(more), "%schannel c%u",
				*more ? "\n" : "", i);
	}
	CHECK(!is_read(NR_BASE, NULL, more));
	*more = 0;
	for (unsigned int i = 0; i <= WIRE_CONTEXTS_MAX; i++) {
		snprintf(more + strlen(more), sizeof(more) - strlen(more), "%scontext vtid",
				*more ? "\n" : "");
		if (i == WIRE_CONTEXTS_MAX - 1 || i == 0)
			CHECK(is_read(NR_BASE, NULL, more));
	}
	CHECK(!is_read(NR_BASE, NULL, more));
}

/* ---- A state directory ---- */

static struct session *agent_boot_directory_open_state_dir(const char *name, int expected)
{
	struct session *session = session_allocate();
	int ret;

	CHECK(session);
	session->clock.kind = RING_CLOCK_MONOTONIC;
	session->clock.first = (struct ctf_clock){.frequency = 10000, .offset_s = 3, .offset = 4};
	session->output.path = strdup(played_path("out"));
	error = (struct error){.kind = ERROR_NONE};
	ret = state_directory_open_session(session, played_path(name), geteuid(), &error);
	CHECK(ret == expected);
	return session;
}

static void check_refused(const char *name, int code, const char *reason, const char *hint)
{
	char text[600];
	struct session *session = agent_boot_directory_open_state_dir(name, -code);

	snprintf(text, sizeof(text), "cannot store a session in %s: %s", played_path(name), reason);
	CHECK(!strcmp(error.text, text) && error.code == -code);
	CHECK(hint ? strstr(error.hint, hint) != NULL : !*error.hint);
	CHECK(!state_directory_is_adopted(session));
	session_destroy(session);
}

static void save_place(const char *boot, const char *clock, const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text),
			"side-place 1\nboot %s\nclock %s\noutput /a%%20b\ngeneration 77\nchunks 5\n%send\n",
			boot, clock, more);
	write_text("place/session", text);
}

static bool is_saved_read(const char *boot, const char *clock, const char *more, uint64_t frequency)
{
	struct session *session;
	bool is;

	save_place(boot, clock, more);
	session = agent_boot_directory_open_state_dir("place", 0);
	CHECK(state_directory_is_adopted(session));
	is = state_directory_output(session) && !strcmp(state_directory_output(session), "/a b") &&
			state_directory_generation(session) == 77 &&
			state_directory_first_chunk(session) == 5;
	CHECK(is == !session->reports.nr_messages);
	CHECK(session->clock.first.frequency == frequency);
	if (!is)
		CHECK(strstr(session->reports.messages[0].text,
				      "place/session is damaged: output and clock are those of a new session") &&
				session->reports.messages[0].is_error &&
				!state_directory_output(session) &&
				!state_directory_generation(session));
	session_destroy(session);
	return is;
}

static void test_place(void)
{
	struct resources before = resources_now();
	char boot[40], text[600], *big;
	struct session *session;

	CHECK(!mkdirat(folder, "out", 0700));
	session = agent_boot_directory_open_state_dir("place", 0);
	CHECK(!state_directory_is_adopted(session) && !state_directory_output(session) &&
			state_directory_owner(session) == geteuid());
	state_directory_boot(boot);
	CHECK(strlen(boot) == 36);
	CHECK(!mkdirat(folder, "out/chunk-0007-x", 0700));
	CHECK(!state_directory_save(session, 12));
	snprintf(text, sizeof(text),
			"side-place 1\nboot %s\nclock 1 10000 3 4\noutput %s\ngeneration 12\nchunks 7\nend\n",
			boot, played_path("out"));
	check_file("place/session", text);
	/* The session's own chunks do not count. */
	CHECK(!mkdirat(folder, "out/chunk-0009-x", 0700));
	CHECK(!state_directory_save(session, 13) && state_directory_first_chunk(session) == 7);
	write_text("place/totals", "x");
	write_text("place/doorbell", "x");
	state_directory_remove(session);
	CHECK(!exists("place"));
	session_destroy(session);
	CHECK(!mkdirat(folder, "place", 0700));
	/* The clock is that of the earlier recorder, if it is the same clock of the same boot. */
	CHECK(is_saved_read(boot, "1 10100 1 2", "", 10100));
	CHECK(is_saved_read(boot, "1 10101 1 2", "", 10000));
	CHECK(is_saved_read(boot, "1 9900 1 2", "", 9900));
	CHECK(is_saved_read(boot, "1 9899 1 2", "", 10000));
	CHECK(is_saved_read(boot, "0 10001 1 2", "", 10000));
	CHECK(is_saved_read("other", "1 10001 1 2", "", 10000));
	CHECK(!is_saved_read(boot, "1 10001 1 10001", "", 10000));
	CHECK(!is_saved_read(boot, "1 10001 1 2", "clock 1 1 1 0\n", 10000));
	CHECK(!is_saved_read(boot, "1 10001 1 2", "output /x\n", 10000));
	CHECK(!is_saved_read(boot, "1 10001 1 2", "generation x\n", 10000));
	CHECK(!is_saved_read(boot, "1 10001 1 2", "chunks x\n", 10000));
	CHECK(!is_saved_read(boot, "1 10001 1 2", "other x\n", 10000));
	write_text("place/session", "side-place 1\nclock 1 10000 1 2\noutput a\nend\n");
	session = agent_boot_directory_open_state_dir("place", 0);
	CHECK(session->reports.nr_messages == 1 && !state_directory_output(session));
	session_destroy(session);
	/* 64 KiB, and one byte more. */
	big = calloc(1, 65538);
	CHECK(big);
	snprintf(big, 65538, "side-place 1\nclock 1 10000 1 2\noutput /b\ngeneration 6\nend\n");
	memset(big + strlen(big), 'x', 65536 - strlen(big));
	write_file("place/session", big, 65536);
	session = agent_boot_directory_open_state_dir("place", 0);
	CHECK(!session->reports.nr_messages && state_directory_generation(session) == 6);
	session_destroy(session);
	big[65536] = 'x';
	write_file("place/session", big, 65537);
	session = agent_boot_directory_open_state_dir("place", 0);
	CHECK(session->reports.nr_messages == 1);
	session_destroy(session);
	free(big);
	write_text("no-place", "");
	check_refused("no-place", ENOTDIR, "it is not a directory, or a link to one", NULL);
	CHECK(!symlinkat("place", folder, "place-link"));
	check_refused("place-link", ENOTDIR, "it is not a directory, or a link to one", NULL);
	check_refused("none/place", ENOENT, "No such file or directory", NULL);
	CHECK(!fchmodat(folder, "place", 0720, 0));
	check_refused("place", EPERM, "other users may write there", "`chmod go-w ");
	CHECK(error.kind == ERROR_PERMISSION);
	CHECK(!fchmodat(folder, "place", 0702, 0));
	check_refused("place", EPERM, "other users may write there", "`chmod go-w ");
	CHECK(!fchmodat(folder, "place", 0755, 0));
	if (!geteuid()) {
		CHECK(!fchownat(folder, "place", 1, 1, 0));
		check_refused("place", EPERM, "it belongs to another user",
				"choose another directory");
		CHECK(!fchownat(folder, "place", 0, 0, 0));
	}
	CHECK(resources_now().descriptors == before.descriptors);
}

/* ---- Totals ---- */

static bool are_totals_read(const char *text)
{
	struct session *session;
	bool are;

	write_text("place/totals", text);
	unlinkat(folder, "place/session", 0);
	session = agent_boot_directory_open_state_dir("place", 0);
	totals_read(session);
	are = session->totals.last != NULL;
	CHECK(session->reports.nr_messages == !are);
	if (are) {
		struct instance instance = {.folder = session->totals.last};
		char other[] = "other";

		CHECK(!strcmp(session->totals.last, "a b") &&
				session->totals.ended.processes == 1 &&
				session->totals.ended.recorded == 2 &&
				session->totals.ended.lost == 3 &&
				session->totals.ended.bytes == 4 &&
				session->totals.ended.unwritten == 5 &&
				session->totals.ended.overwritten == 6);
		CHECK(session->totals.ended.channels[31].recorded == 7 &&
				session->totals.ended.channels[31].lost == 8 &&
				session->totals.ended.channels[31].bytes == 9);
		CHECK(session->totals.before.processes == 11 && session->totals.before.bytes == 14);
		instance.folder = other;
		totals_reopen(session, &instance);
		CHECK(session->totals.ended.processes == 1 && session->totals.last);
		instance.folder = strdup(session->totals.last);
		totals_reopen(session, &instance);
		CHECK(session->totals.ended.processes == 11 && !session->totals.last);
		free(instance.folder);
	} else {
		CHECK(session->reports.messages[0].is_error &&
				strstr(session->reports.messages[0].text,
						"/totals is damaged: what ended processes have recorded is counted from now on"));
	}
	session_destroy(session);
	return are;
}

#define FIRST "side-totals 1\nsums 1 2 3 4 5 6\n"
#define LAST "last a%20b\n"
#define SECOND "sums 11 12 13 14 15 16\n"

static void test_totals(void)
{
	CHECK(are_totals_read(FIRST "channel 31 7 8 9\n" LAST SECOND "end\n"));
	CHECK(!are_totals_read(FIRST "channel 32 7 8 9\n" LAST SECOND "end\n"));
	CHECK(!are_totals_read(FIRST "channel 31 7 8\n" LAST SECOND "end\n"));
	CHECK(!are_totals_read(
			"side-totals 1\nchannel 1 7 8 9\nsums 1 2 3 4 5 6\n" LAST SECOND "end\n"));
	CHECK(!are_totals_read(FIRST LAST SECOND SECOND "end\n"));
	CHECK(!are_totals_read(FIRST LAST LAST SECOND "end\n"));
	CHECK(!are_totals_read(FIRST LAST "end\n"));
	CHECK(!are_totals_read(FIRST SECOND "end\n"));
	CHECK(!are_totals_read("side-totals 1\nsums 1 2 3 4 5\n" LAST SECOND "end\n"));
	CHECK(!are_totals_read(FIRST LAST SECOND "other x\nend\n"));
	CHECK(!are_totals_read(FIRST "last %00\n" SECOND "end\n"));
}

/* ---- Chunks ---- */

static void make_chunk(const char *name, size_t bytes)
{
	char path[PLAYED_LENGTH], content[64] = "";

	snprintf(path, sizeof(path), "out/%s", name);
	CHECK(!mkdirat(folder, path, 0700));
	snprintf(path, sizeof(path), "out/%s/f", name);
	write_file(path, content, bytes);
}

static void test_chunks(void)
{
	struct session *session;

	played_remove(played_path("out"));
	CHECK(!mkdirat(folder, "out", 0700));
	CHECK(chunk_last_number(played_path("none")) == 0 &&
			chunk_last_number(played_path("out")) == 0);
	make_chunk("chunk-0005-a", 1);
	make_chunk("chunk-0006-b", 20);
	make_chunk(".chunk-0008-c", 3);
	make_chunk("chunk-0099", 4);
	make_chunk("chunk-x-1", 4);
	make_chunk(".removed-chunk-0004-a", 4);
	make_chunk(".snapshot-1", 4);
	make_chunk(".other", 4);
	CHECK(chunk_last_number(played_path("out")) == 8);
	save_place("boot", "1 10000 1 2", "");
	session = agent_boot_directory_open_state_dir("place", 0);
	CHECK(state_directory_first_chunk(session) == 5);
	adopt_chunks(session);
	/* The first one belongs to another session. */
	CHECK(session->retention.nr == 2 && session->retention.bytes == 23 &&
			session->retention.made == 2 && !session->retention.removed);
	CHECK(!strcmp(session->retention.newest, "chunk-0008-c"));
	CHECK(exists("out/chunk-0008-c") && !exists("out/.chunk-0008-c"));
	CHECK(!exists("out/.removed-chunk-0004-a") && !exists("out/.snapshot-1") &&
			exists("out/.other"));
	/* Sizes and numbers at the limit, and one above it. */
	session->retention.count = 2;
	session->rotation.bytes = 7;
	session->retention.size = 30;
	retain_apply(session);
	CHECK(session->retention.nr == 2);
	session->retention.size = 29;
	retain_apply(session);
	CHECK(session->retention.nr == 1 && session->retention.bytes == 3 &&
			session->retention.removed == 1 && session->retention.removed_bytes == 20);
	CHECK(!exists("out/chunk-0006-b") && exists("out/chunk-0008-c"));
	retain_add(session, "none", 100);
	session->retention.size = 0;
	session->retention.count = 1;
	retain_apply(session);
	CHECK(session->retention.nr == 1 && session->retention.bytes == 100);
	/* A missing chunk is no error. */
	retain_add(session, "chunk-0005-a", 1);
	retain_apply(session);
	CHECK(session->retention.nr == 1 && session->retention.removed == 2 &&
			!session->reports.nr_messages && !session->reports.failure);
	session->retention.count = 0;
	session->retention.age_ns = 1;
	usleep(10);
	retain_apply(session);
	CHECK(!session->retention.nr && !session->retention.chunks &&
			!session->retention.newest_chunk && !session->retention.bytes &&
			!exists("out/chunk-0005-a"));
	retain_add(session, "last", 1);
	session->retention.age_ns = UINT64_C(1000000000000);
	retain_apply(session);
	CHECK(session->retention.nr == 1);
	session_destroy(session);
}

/* Directories within each other: 16 are removed, 17 are not. */
static void test_depth(void)
{
	struct resources before = resources_now();

	for (int depth = 16; depth <= 17; depth++) {
		char path[PLAYED_LENGTH] = "deep";

		for (int i = 0; i < depth; i++) {
			CHECK(!mkdirat(folder, path, 0700));
			strcat(path, "/d");
		}
		CHECK(retain_remove_tree(played_path("deep")) == (depth == 16 ? 0 : -EISDIR));
		CHECK(exists("deep") == (depth == 17));
	}
	write_text("target", "");
	CHECK(!mkdirat(folder, "deep/l", 0700) &&
			!symlinkat("../../target", folder, "deep/l/link"));
	CHECK(!retain_remove_tree(played_path("deep/l")) && exists("target"));
	CHECK(retain_remove_tree(played_path("none")) == -ENOENT);
	CHECK(resources_now().descriptors == before.descriptors);
}

/* ---- Mappings of a file ---- */

static void test_mapped(void)
{
	struct resources before = resources_now();
	struct stat status, other;
	char wrong[PLAYED_LENGTH];
	void *mapped;
	int fd;

	write_text("mapped", "x");
	write_text("not-mapped", "x");
	fd = openat(folder, "mapped", O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && !fstat(fd, &status) && !fstatat(folder, "not-mapped", &other, 0));
	mapped = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(mapped != MAP_FAILED);
	close(fd);
	CHECK(session_has_mapped(getpid(), &status, NULL) == 1);
	CHECK(session_has_mapped(getpid(), &other, NULL) == 0);
	CHECK(session_has_mapped(0, &status, NULL) == 0);
	CHECK(adopt_find_mapper(&status, (uint32_t)getpid(), getpid()) == getpid());
	CHECK(adopt_find_mapper(&status, (uint32_t)getpid(), 0) == getpid());
	CHECK(adopt_find_mapper(&status, (uint32_t)getpid() + 1, getpid()) == 0);
	CHECK(adopt_find_mapper(&other, (uint32_t)getpid(), getpid()) == 0);
	/* If the device differs, the name decides. */
	status.st_dev++;
	CHECK(session_has_mapped(getpid(), &status, NULL) == 0);
	CHECK(session_has_mapped(getpid(), &status, played_path("mapped")) == 1);
	snprintf(wrong, sizeof(wrong), "%s", played_path("mapped"));
	wrong[strlen(wrong) - 1] = 0;
	CHECK(session_has_mapped(getpid(), &status, wrong) == 0);
	munmap(mapped, 1);
	CHECK(resources_now().descriptors == before.descriptors);
}

/* ---- Lines of mapped code ---- */

static void test_maps(void)
{
	const size_t max = (size_t)4 << 20;
	struct session *session = session_allocate();
	struct instance instance = {.peer = 0};
	char line[32], *large = malloc(max + 2);
	struct stat status;

	CHECK(session && large);
	maps_adopt(&instance, "one\ntwo\none\ncut", 15);
	CHECK(instance.maps.lines == 2 && instance.maps.size == 8 && instance.maps.is_new &&
			!memcmp(instance.maps.text, "one\ntwo\n", 8));
	/* Each line once, also when the table has grown. */
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 300; i++) {
			int size = snprintf(line, sizeof(line), "line %d\n", i);

			maps_adopt(&instance, line, (size_t)size);
		}
		CHECK(instance.maps.lines == 302);
	}
	/* 4 MiB fit, and no byte more. */
	memset(large, 'x', max + 1);
	large[max - instance.maps.size] = '\n';
	maps_adopt(&instance, large, max - instance.maps.size + 1);
	CHECK(instance.maps.lines == 302);
	large[max - instance.maps.size - 1] = '\n';
	maps_adopt(&instance, large, max - instance.maps.size);
	CHECK(instance.maps.lines == 303 && instance.maps.size == max);
	maps_free(&instance);
	CHECK(!instance.maps.text && !instance.maps.size);
	/* Written once, and only into a file. */
	session->output.path = strdup(played_work);
	instance.directory = strdup("maps");
	CHECK(!mkdirat(folder, "maps", 0700));
	maps_adopt(&instance, "a r-xp /b\n", 10);
	maps_write(session, &instance);
	check_file("maps/.maps", "a r-xp /b\n");
	CHECK(!instance.maps.is_new && !unlinkat(folder, "maps/.maps", 0));
	maps_write(session, &instance);
	CHECK(!exists("maps/.maps"));
	write_text("maps-target", "whole");
	CHECK(!symlinkat("../maps-target", folder, "maps/.maps"));
	instance.maps.is_new = true;
	maps_write(session, &instance);
	check_file("maps-target", "whole");
	CHECK(!unlinkat(folder, "maps/.maps", 0));
	write_text("maps/.maps", "a longer content than the lines");
	instance.maps.is_new = true;
	maps_write(session, &instance);
	CHECK(!fstatat(folder, "maps/.maps", &status, 0) && status.st_size == 10);
	maps_free(&instance);
	free(instance.directory);
	free(large);
	session_destroy(session);
}

/* ---- A journal ---- */

static void check_slot(const struct journal *journal, unsigned int which, uint64_t position,
		uint64_t count)
{
	struct journal_slot slot;

	CHECK(pread(journal->fd, &slot, sizeof(slot), HEAD_BYTES + 64 * (4 * 2 + which)) ==
			sizeof(slot));
	CHECK(slot.position == position && slot.count == count);
	if (count)
		CHECK(!slot.size && slot.end_timestamp == 10 && slot.discarded == 7 &&
				slot.unwritten == 8 && slot.recorded == 9 && !slot.serial);
}

static void test_journal(void)
{
	struct resources before = resources_now();
	struct session *session = session_allocate();
	const struct channel channels[2] = {
			{.name = (char *)(uintptr_t) "a"}, {.name = (char *)(uintptr_t) "b"}};
	struct instance *instance = instance_allocate("web", "/web", channels, 2);
	struct instance_ring *ring;
	struct journal_head head;
	struct journal_slot slot;
	char path[PATH_BYTES + 8];
	struct stat status;
	unsigned char which;

	CHECK(session && instance);
	session->output.path = strdup("/out");
	instance->channels[0].geometry.rings = 2;
	instance->channels[1].geometry.rings = 3;
	CHECK(memory_make_tables(&instance->channels[0]) &&
			memory_make_tables(&instance->channels[1]));
	/* Nothing is noted without a journal. */
	CHECK(!journal_note(instance, 1, 2, 11) && !journal_finish(instance) &&
			!journal_begin_trace(session, instance, "/none") &&
			journal_life(instance) == 1);
	CHECK(!journal_make(instance, folder) && journal_life(instance) == 1);
	CHECK(instance->journal->rings == 5 && instance->journal->first[0] == 0 &&
			instance->journal->first[1] == 2);
	CHECK(!fstat(instance->journal->fd, &status) && status.st_size == 4096 + 64 * 2 * 5 &&
			(status.st_mode & 0777) == 0600);
	CHECK(!journal_read_head(instance->journal, &head) && head.magic == JOURNAL_MAGIC &&
			head.version == 1 && head.rings == 5 && !head.done && head.life == 1 &&
			!head.serial);
	/* Names of traces below the output, up to 1,023 bytes. */
	memset(path, 'x', sizeof(path));
	memcpy(path, "/out/", 5);
	path[5 + PATH_BYTES] = 0;
	CHECK(journal_begin_trace(session, instance, path) == -ENAMETOOLONG);
	CHECK(journal_begin_trace(session, instance, "/outer/x") == -ENAMETOOLONG);
	CHECK(journal_begin_trace(session, instance, "/ou/x") == -ENAMETOOLONG);
	CHECK(!instance->journal->serial);
	path[4 + PATH_BYTES] = 0;
	CHECK(!journal_begin_trace(session, instance, path) && instance->journal->serial == 1);
	journal_expect_trace(session, instance, "/out/next");
	CHECK(!journal_read_head(instance->journal, &head) && head.serial == 1 &&
			!strcmp(head.traces[1], path + 5) && !strcmp(head.traces[0], "next"));
	/* Two notes in turn. */
	ring = &instance->channels[1].each[2];
	*ring = (struct instance_ring){.discarded = 7, .unwritten = 8, .recorded = 9, .begin = 10};
	CHECK(!journal_find_slot(instance->journal, 4, 11, &slot, &which));
	CHECK(!journal_note(instance, 1, 2, 11));
	check_slot(instance->journal, 1, 11, 1);
	check_slot(instance->journal, 0, 0, 0);
	CHECK(!journal_note(instance, 1, 2, 12));
	check_slot(instance->journal, 0, 12, 2);
	check_slot(instance->journal, 1, 11, 1);
	CHECK(journal_find_slot(instance->journal, 4, 11, &slot, &which) && which == 1 &&
			slot.count == 1);
	CHECK(journal_find_slot(instance->journal, 4, 12, &slot, &which) && which == 0 &&
			slot.count == 2);
	CHECK(!journal_note(instance, 1, 2, 12));
	CHECK(journal_find_slot(instance->journal, 4, 12, &slot, &which) && which == 1 &&
			slot.count == 3);
	CHECK(!journal_finish(instance));
	CHECK(!journal_read_head(instance->journal, &head) && head.done == 1);
	journal_close(instance);
	CHECK(!instance->journal && journal_make(instance, folder) == -EEXIST);
	free(instance->channels[0].each);
	free(instance->channels[1].each);
	instance->channels[0].each = instance->channels[1].each = NULL;
	instance_free(session, instance);
	session_destroy(session);
	CHECK(resources_now().descriptors == before.descriptors);
}

int main(void)
{
	played_begin();
	folder = open(played_work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(folder >= 0);
	test_escapes();
	test_parse();
	test_read();
	test_write();
	test_clock();
	test_found();
	test_numbers();
	test_place();
	test_totals();
	test_chunks();
	test_depth();
	test_mapped();
	test_maps();
	test_journal();
	close(folder);
	played_end();
	return 0;
}
