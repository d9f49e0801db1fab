/* SPDX-License-Identifier: MIT */
/*
 * The reports of a session process about its session and its probes: all numbers differ, each
 * member has its name, and without memory for one member there is no answer. The test acts as the
 * session library.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"
#include "../resources.h"
#include "programs/sided/sided.h"
#include "failing-json.h"
#include "recorder/core/live.h"
#include "recorder/core/probes.h"

static void check_text(const char *found, const char *expected)
{
	if (found && !strcmp(found, expected))
		return;
	fprintf(stderr, "%s instead of %s\n", found ? found : "nothing", expected);
	abort();
}

/* Takes ownership of the object. */
static void check_json(struct json_object *object, const char *expected)
{
	check_text(object ? json_object_to_json_string_ext(object,
					    JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
			  : NULL,
			expected);
	json_object_put(object);
}

/* ---- the session library ---- */

__typeof__(session_status) __wrap_session_status;
__typeof__(session_status_free) __wrap_session_status_free;
__typeof__(session_summary) __wrap_session_summary;
__typeof__(session_probe_answers) __wrap_session_probe_answers;
__typeof__(session_probe_answers_free) __wrap_session_probe_answers_free;
__typeof__(session_is_active) __wrap_session_is_active;
__typeof__(session_set_probes) __wrap_session_set_probes;

static struct session_status_channel channels[] = {
		{.name = "one", .recorded = 21, .lost = 22, .bytes = 23},
		{.name = "two", .recorded = 24, .lost = 25, .bytes = 26}};
static struct session_status_ring rings[] = {
		{.channel = "one", .number = 3}, {.channel = "two", .number = 4}};
static struct session_status_loss losses[] = {
		{.ring = 1,
				.event = (char *)(uintptr_t) "db:\x1fquery",
				.reason = "ring full",
				.count = 31},
		{.ring = 2, .event = (char *)(uintptr_t) "", .reason = NULL, .count = 32}};
static struct session_status_process processes[] = {
		{.peer = 41,
				.pid = 42,
				.uid = 43,
				.procname = (char *)(uintptr_t) " n\x7f\x80~",
				.exe = (char *)(uintptr_t) "/e",
				.directory = (char *)(uintptr_t) "n-41",
				.control = WIRE_CONTROL_SIGNAL,
				.generation = 44,
				.events = 45,
				.recorded = 46,
				.bytes = 47,
				.lost = 48,
				.unwritten = 49,
				.overwritten = 50,
				.memory = 51,
				.rings = rings,
				.nr_rings = 2,
				.losses = losses,
				.nr_losses = 2},
		{.peer = 52, .control = WIRE_CONTROL_SIGNAL + 1, .ended = true}};
static struct session_status_refused refused[] = {
		{.peer = 61, .uid = 62, .procname = (char *)(uintptr_t) "r", .reason = "no share"}};
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
		.channels = channels,
		.nr_channels = 2,
		.processes = processes,
		.nr_processes = 2,
		.refused = refused,
		.nr_waiting = 1,
};
static const struct session_loss last_losses[] = {{.process = "p",
								  .ring = "one_3",
								  .event = "e",
								  .reason = "disk full",
								  .count = 71,
								  .in_bytes = true},
		{.process = "q", .ring = "", .event = "", .reason = "too big", .count = 72}};
static const struct session_summary summary = {.losses = last_losses, .nr_losses = 2};
static bool has_status = true;
static int nr_statuses; /* not yet freed */

int __wrap_session_status(struct session *session, struct session_status *status)
{
	CHECK(!session);
	if (!has_status)
		return -ENOMEM;
	nr_statuses++;
	*status = known;
	return 0;
}

void __wrap_session_status_free(struct session_status *status)
{
	CHECK(status->nr_seen == 11);
	nr_statuses--;
}

const struct session_summary *__wrap_session_summary(struct session *session)
{
	CHECK(!session);
	return &summary;
}

#define SUMS \
	"\"recorded\":1,\"bytes\":2,\"lost\":3,\"unwritten\":4,\"overwritten\":5,\"snapshots\":6,\"snapshot-recorded\":7,\"memory\":8,\"memory-peak\":9,\"memory-limit\":10,\"seen\":11,\"refused\":12,\"idle\":13,\"untracked\":14,\"channels\":[{\"channel\":\"one\",\"recorded\":21,\"lost\":22,\"bytes\":23},{\"channel\":\"two\",\"recorded\":24,\"lost\":25,\"bytes\":26}]"
#define PROCESSES \
	"\"waiting\":[{\"pid\":61,\"uid\":62,\"name\":\"r\",\"reason\":\"no share\"}],\"processes\":[{\"pid\":41,\"vpid\":42,\"uid\":43,\"name\":\" n??~\",\"exe\":\"/e\",\"directory\":\"n-41\",\"control\":\"signal\",\"generation\":44,\"live\":true,\"events\":45,\"recorded\":46,\"bytes\":47,\"lost\":48,\"unwritten\":49,\"overwritten\":50,\"memory\":51},{\"pid\":52,\"vpid\":0,\"uid\":0,\"name\":\"\",\"exe\":\"\",\"directory\":\"\",\"control\":\"off\",\"generation\":0,\"live\":false,\"events\":0,\"recorded\":0,\"bytes\":0,\"lost\":0,\"unwritten\":0,\"overwritten\":0,\"memory\":0}]"
#define LOSSES \
	"{\"pid\":41,\"process\":\"n-41\",\"ring\":\"two_4\",\"event\":\"db:?query\",\"reason\":\"ring full\",\"count\":31},{\"pid\":41,\"process\":\"n-41\",\"ring\":\"\",\"event\":\"\",\"reason\":\"\",\"count\":32}"
#define LAST \
	",{\"process\":\"p\",\"ring\":\"one_3\",\"event\":\"e\",\"reason\":\"disk full\",\"count\":71,\"in_bytes\":true},{\"process\":\"q\",\"ring\":\"\",\"event\":\"\",\"reason\":\"too big\",\"count\":72,\"in_bytes\":false}"

static void test_statistics(void)
{
	static char long_name[5000];
	struct json_object *object;
	unsigned int nr = 0;

	check_json(session_stats(NULL, false), "{" SUMS "," PROCESSES ",\"losses\":[" LOSSES "]}");
	check_json(session_stats(NULL, true),
			"{" SUMS "," PROCESSES ",\"losses\":[" LOSSES LAST "]}");
	for (bool is_due = true; is_due; nr++) {
		failing_json = nr + 1;
		object = session_stats(NULL, true);
		is_due = !failing_json;
		CHECK(!object == is_due && !nr_statuses);
		json_object_put(object);
		failing_json = 0;
	}
	CHECK(nr > 90);
	has_status = false;
	CHECK(!session_stats(NULL, false) && !nr_statuses);
	object = json_object_new_object();
	CHECK(!session_sums(NULL, object));
	has_status = true;
	CHECK(session_sums(NULL, object) && !nr_statuses);
	check_json(object, "{" SUMS "}");
	for (unsigned int i = 1; i <= 14; i++) {
		object = json_object_new_object();
		failing_json = i;
		CHECK(!session_sums(NULL, object) && !failing_json && !nr_statuses);
		json_object_put(object);
	}
	/* A name that is too long is cut. */
	memset(long_name, 'x', sizeof(long_name) - 1);
	processes[1].exe = long_name;
	object = session_stats(NULL, false);
	CHECK(object);
	long_name[4095] = '"';
	long_name[4096] = '\0';
	CHECK(strstr(json_object_to_json_string(object), long_name));
	json_object_put(object);
	processes[1].exe = NULL;
}

/* ---- probes ---- */

static char folder[] = "/tmp/side-statistics-XXXXXX";
static struct session_probe_refusal refusals[] = {{.first = 81, .count = 82, .error = EBUSY},
		{.first = 83, .count = 84, .error = ENOMEM}};
static struct session_probe_answer answers[] = {
		{.number = 3,
				.pid = 91,
				.procname = (char *)(uintptr_t) "a",
				.answered = true,
				.locations = 92,
				.states = {101, 102, 103, 104, 105, 106, 107, 108, 109},
				.cut = 111,
				.lost = 112,
				.unseen = 113,
				.abandoned = 114,
				.traps = 115,
				.code_bytes = 116,
				.refusals = refusals,
				.nr_refusals = 2},
		{.number = 3, .pid = 93, .procname = (char *)(uintptr_t) "b", .ended = true},
		{.number = 4,
				.pid = 94,
				.procname = (char *)(uintptr_t) "c",
				.answered = true,
				.error = EPROTO}};
static bool has_answers = true, is_active = true;
static int nr_answers, set_result;
static size_t nr_set;

int __wrap_session_probe_answers(
		struct session *session, struct session_probe_answer **result, size_t *nr)
{
	CHECK(!session);
	if (!has_answers)
		return -ENOMEM;
	nr_answers++;
	*result = answers;
	*nr = 3;
	return 0;
}

void __wrap_session_probe_answers_free(struct session_probe_answer *result, size_t nr)
{
	CHECK(result == answers && nr == 3);
	nr_answers--;
}

bool __wrap_session_is_active(const struct session *session)
{
	CHECK(!session);
	return is_active;
}

int __wrap_session_set_probes(struct session *session, const struct session_table *list, size_t nr,
		struct error *error)
{
	CHECK(!session && (list || !nr));
	(void)error;
	nr_set = nr;
	return set_result;
}

static bool can_be_root;
static unsigned int nr_as_root;

bool isolate_as_root(void *(*function)(void *argument), void *argument)
{
	nr_as_root++;
	if (can_be_root)
		function(argument);
	return can_be_root;
}

static void write_table(unsigned int number, off_t size, const char *text)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%u", folder, number);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && pwrite(fd, text, strlen(text), 0) == (ssize_t)strlen(text) &&
			!ftruncate(fd, size));
	close(fd);
}

static char *names[] = {(char *)(uintptr_t) "p:e"};
#define PROBE(of_number, ...)                                                    \
	{                                                                        \
		.events = {names, 1}, .channel = (char *)(uintptr_t) "c",        \
		.text = (char *)(uintptr_t) "t", .table = of_number,             \
		.target = {.of_user = true,                                      \
				.access = {.uid = 5, .has_gid = true, .gid = 6}, \
				__VA_ARGS__},                                    \
	}
#define OF_FILE .exe = (char *)(uintptr_t) "/x"
static struct definition_probe probes_of_all[] = {PROBE(3, OF_FILE),
		PROBE(4, .pid = 7, .started = 8), PROBE(0, OF_FILE), PROBE(9, OF_FILE)};
static struct definition_channel only_channel = {.name = (char *)(uintptr_t) "c"};
static const struct definition definition = {.name = (char *)(uintptr_t) "one",
		.channels = &only_channel,
		.nr_channels = 1,
		.probes = probes_of_all,
		.nr_probes = 4,
		.last_table = 9};
static const struct definition fewer = {.name = (char *)(uintptr_t) "one",
		.channels = &only_channel,
		.nr_channels = 1,
		.probes = probes_of_all + 1,
		.nr_probes = 1,
		.last_table = 9};
static const struct definition none = {.name = (char *)(uintptr_t) "one"};

#define PROBE_JSON "{\"event\":[\"p:e\"],\"channel\":\"c\",\"probe\":\"t\","
#define ONE(table) PROBE_JSON "\"exe\":\"/x\"," table "\"uid\":5,\"gid\":6,"
#define FOUR PROBE_JSON "\"pid\":7,\"started\":8,\"table\":4,\"uid\":5,\"gid\":6,"
#define PROGRAM_A \
	"{\"pid\":91,\"name\":\"a\",\"answered\":true,\"methods\":{\"jump\":102,\"padding\":103,\"short\":104,\"punned\":105,\"breakpoint\":106,\"uprobe\":109},\"locations\":92,\"places\":92,\"set\":629,\"absent\":101,\"resting\":107,\"refused\":108,\"cut\":111,\"lost\":112,\"unseen\":113,\"abandoned\":114,\"traps\":115,\"code-bytes\":116,\"refusals\":[{\"first\":81,\"count\":82,\"why\":\"a nearby probe needs the same bytes\"},{\"first\":83,\"count\":84,\"why\":\"the program is out of memory\"}]}"
#define PROGRAM_C \
	"{\"pid\":94,\"name\":\"c\",\"answered\":true,\"why\":\"its probe table is damaged\",\"methods\":{},\"locations\":0,\"places\":0,\"set\":0,\"absent\":0,\"resting\":0,\"refused\":0,\"cut\":0,\"lost\":0,\"unseen\":0,\"abandoned\":0,\"traps\":0,\"code-bytes\":0,\"refusals\":[]}"
#define PROBE_3 ONE("\"table\":3,") "\"state\":\"set\",\"programs\":[" PROGRAM_A "]}"
#define PROBE_4 FOUR "\"state\":\"waiting\",\"programs\":[" PROGRAM_C "]}"

static struct probes *open_probes(const struct definition *of)
{
	struct error error;
	struct probes *probes = NULL;

	if (probes_open(folder, of, &probes, &error)) {
		fprintf(stderr, "%s\n", error.text);
		abort();
	}
	return probes;
}

static void test_tables(void)
{
	struct resources before = resources_now();
	const struct session_table *list;
	struct probes *probes;
	struct stat status;
	char bytes[64];
	size_t nr;

	write_table(3, 200000, "three");
	write_table(4, DEFINITION_PROBE_TABLE_MAX, "four");
	write_table(9, DEFINITION_PROBE_TABLE_MAX + 1, "nine");
	probes = open_probes(&definition);
	list = probes_list(probes, &nr);
	CHECK(nr == 2 && probes_any(probes) && !nr_as_root);
	CHECK(list[0].number == 3 && list[1].number == 4 && list[1].target.pid == 7 &&
			list[1].target.started == 8 && !list[0].target.pid && !list[1].target.exe &&
			list[0].target.of_user && list[0].target.access.uid == 5 &&
			list[0].target.access.has_gid && list[0].target.access.gid == 6);
	check_text(list[0].target.exe, "/x");
	CHECK(fcntl(list[0].fd, F_GET_SEALS) ==
			(F_SEAL_SEAL | F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK));
	CHECK(fcntl(list[0].fd, F_GETFD) == FD_CLOEXEC);
	CHECK(!fstat(list[0].fd, &status) && status.st_size == 200000);
	CHECK(pread(list[0].fd, bytes, 6, 0) == 6 && !strcmp(bytes, "three"));
	CHECK(resources_now().descriptors == before.descriptors + 2);
	/* Not a regular file, and a symbolic link. */
	CHECK(!unlink("4") && !mkfifo("4", 0600) && !unlink("9") && !symlink("3", "9"));
	probes_close(probes);
	CHECK(resources_now().descriptors == before.descriptors);
	probes = open_probes(&definition);
	(void)probes_list(probes, &nr);
	CHECK(nr == 1);
	probes_close(probes);
	probes = open_probes(&none);
	CHECK(!probes_any(probes) && !probes_list(probes, &nr)->number && !nr);
	probes_close(probes);
	probes_close(NULL);
	CHECK(!unlink("4") && !unlink("9"));
	write_table(4, 4, "four");
	CHECK(resources_now().descriptors == before.descriptors);
}

/*
 * A change has its own probes until it is made or cancelled. An existing table is not read again.
 */
static void test_changes(void)
{
	struct resources before = resources_now();
	struct error error;
	struct probes *probes = open_probes(&definition);
	const struct session_table *list;
	char text[5] = "";
	size_t nr;

	write_table(4, 4, "else");
	CHECK(!probes_prepare(probes, NULL, &fewer, &error) && nr_set == 1);
	CHECK(resources_now().descriptors == before.descriptors + 3);
	/* Another attempt replaces the first one. */
	CHECK(!probes_prepare(probes, NULL, &fewer, &error));
	CHECK(resources_now().descriptors == before.descriptors + 3);
	(void)probes_list(probes, &nr);
	CHECK(nr == 2);
	probes_settle(probes, false);
	CHECK(resources_now().descriptors == before.descriptors + 2);
	(void)probes_list(probes, &nr);
	CHECK(nr == 2);
	set_result = -EINVAL;
	CHECK(probes_prepare(probes, NULL, &fewer, &error) == -EINVAL);
	set_result = 0;
	CHECK(!probes_prepare(probes, NULL, &fewer, &error));
	probes_settle(probes, true);
	CHECK(resources_now().descriptors == before.descriptors + 1);
	list = probes_list(probes, &nr);
	CHECK(nr == 1 && list->number == 4 && pread(list->fd, text, 4, 0) == 4);
	check_text(text, "four");
	CHECK(!probes_prepare(probes, NULL, &none, &error) && !nr_set);
	probes_settle(probes, true);
	CHECK(!probes_any(probes) && resources_now().descriptors == before.descriptors);
	probes_close(probes);
}

/* In a session of a group member, only root may enter the daemon's directory. */
static void test_as_root(void)
{
	struct probes *probes;
	size_t nr;

	if (geteuid())
		return;
	CHECK(!chmod(folder, 0700) && !seteuid(5));
	probes = open_probes(&fewer);
	(void)probes_list(probes, &nr);
	CHECK(!nr && nr_as_root == 1);
	probes_close(probes);
	CHECK(!seteuid(0));
	nr_as_root = 0;
}

static void test_reports(void)
{
	struct probes *probes = open_probes(&definition);
	struct json_object *object;
	unsigned int nr = 0;

	check_json(probes_json(probes, NULL, 3), "[" PROBE_3 "]");
	check_json(probes_json(probes, NULL, 0),
			"[" PROBE_3 "," PROBE_4
			"," ONE("") "\"state\":\"pending\",\"programs\":[]}," ONE(
					"\"table\":9,") "\"state\":\"no table\",\"programs\":[]}]");
	check_json(probes_json(probes, NULL, 5), "[]");
	is_active = false;
	check_json(probes_json(probes, NULL, 4),
			"[" FOUR "\"state\":\"stopped\",\"programs\":[" PROGRAM_C "]}]");
	is_active = true;
	answers[0].answered = false;
	object = probes_json(probes, NULL, 3);
	CHECK(object && strstr(json_object_to_json_string(object), "\"waiting\"") && !nr_answers);
	json_object_put(object);
	answers[0].answered = true;
	for (bool is_due = true; is_due; nr++) {
		failing_json = nr + 1;
		object = probes_json(probes, NULL, 0);
		is_due = !failing_json;
		CHECK(!object == is_due && !nr_answers);
		json_object_put(object);
		failing_json = 0;
	}
	CHECK(nr > 80);
	has_answers = false;
	CHECK(!probes_json(probes, NULL, 0) && !nr_answers);
	has_answers = true;
	probes_close(probes);
	probes = open_probes(&none);
	check_json(probes_json(probes, NULL, 0), "[]");
	probes_close(probes);
}

int main(void)
{
	alarm(50);
	CHECK(mkdtemp(folder) && !chdir(folder));
	test_statistics();
	test_tables();
	test_changes();
	test_as_root();
	test_reports();
	CHECK(!unlink("3") && !unlink("4") && !chdir("/") && !rmdir(folder));
	return 0;
}
