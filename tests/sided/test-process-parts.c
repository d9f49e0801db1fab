/* SPDX-License-Identifier: MIT */
/*
 * The session process: its requests and answers, messages and their limits, and each member without
 * memory. The test includes session-process.c, and plays the session and the clock.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../called.h"
#include "../resources.h"
#include "programs/sided/sided.h"
#include "failing-json.h"
#include "recorder/core/log-limits.h"
#include "recorder/core/live.h"

#define S UINT64_C(1000000000)

static uint64_t time_ns;
static jmp_buf exited;
static int flush_result, snapshot_result, snapshot_error, turn_result;
static uint64_t snapshot_recorded;
static unsigned int turns_until;
static const struct session_message *next_messages; /* an entry without text is the end */
static bool sends, has_probes;
static struct session *const a_session = (struct session *)(uintptr_t)8;

static void __attribute__((noreturn)) played_exit(int status)
{
	called("exit(%d)\n", status);
	longjmp(exited, 1);
}

void log_message(const char *format, ...)
{
	char text[300];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("say(%s)\n", text);
}

static int played_time(clockid_t clock, struct timespec *time)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	time->tv_sec = (time_t)(time_ns / S);
	time->tv_nsec = (long)(time_ns % S);
	return 0;
}

static bool played_take(struct session_message *message)
{
	if (!next_messages || !next_messages->text)
		return false;
	*message = *next_messages++;
	message->text = strdup(message->text);
	return true;
}

static int played_snapshot(
		unsigned int timeout_ms, uint32_t *number, char *name, uint64_t *recorded)
{
	assert_int_equal(timeout_ms, 50000);
	*number = 3;
	strcpy(name, "snapshot-3");
	*recorded = snapshot_recorded;
	return snapshot_result;
}

static bool played_rotated(uint32_t ticket, char *name, size_t capacity)
{
	called("rotated(%u)\n", ticket);
	(void)snprintf(name, capacity, "chunk-1");
	return !turns_until--;
}

static int played_turn(int timeout_ms, struct error *error)
{
	assert_int_equal(timeout_ms, 10);
	time_ns += 10 * S;
	*error = (struct error){.kind = ERROR_FAILED, .code = -EIO, .text = "cannot go on"};
	return turn_result;
}

static bool played_sums(struct json_object *answer)
{
	return json_put_number(answer, "recorded", 47);
}

static struct json_object *played_statistics(bool is_over)
{
	struct json_object *stats = json_object_new_object();

	if (json_put_number(stats, "bytes", 48) && json_put_flag(stats, "over", is_over))
		return stats;
	json_object_put(stats);
	return NULL;
}

static struct json_object *played_object(const char *name, uint32_t number)
{
	struct json_object *object = json_object_new_object();

	if (json_put_number(object, name, number))
		return object;
	json_object_put(object);
	return NULL;
}

#define _exit(status) played_exit(status)
#define clock_gettime(clock, time) played_time(clock, time)
#define session_take_message(session, message) ((void)(session), played_take(message))
#define session_flush(session, timeout_ms) \
	((void)(session), assert_true((timeout_ms) == 50000), flush_result)
#define session_snapshot(session, timeout_ms, number, name, recorded) \
	((void)(session), played_snapshot(timeout_ms, number, name, recorded))
#define session_snapshot_error(session) ((void)(session), snapshot_error)
#define session_rotated(session, ticket, name, capacity) \
	((void)(session), played_rotated(ticket, name, capacity))
#define session_turn(session, timeout_ms, error) ((void)(session), played_turn(timeout_ms, error))
#define session_rotate(session) ((void)(session), 21)
#define session_clear(session) ((void)(session), 22)
#define session_statedump(session) ((void)(session), UINT64_C(23))
#define session_generation(session) ((void)(session), UINT64_C(24))
#define session_sums(session, answer) ((void)(session), played_sums(answer))
#define session_stats(session, is_over) ((void)(session), played_statistics(is_over))
#define session_finish(session) ((void)(session), called("finish\n"))
#define session_close(session, orderly, error) \
	((void)(session), called("close(%d)\n", orderly), (void)(error))
#define session_take_connection(session, fd) ((void)(session), called("connection\n"), close(fd))
#define loop_now() (time_ns)
#define probes_json(probes, session, number) \
	((void)(probes), (void)(session), played_object("table", number))
#define probes_any(probes) ((void)(probes), has_probes)
#define probes_open(tables, definition, probes, error) (abort(), 0)
#define probes_list(probes, nr) (abort(), NULL)
#define loads_new(out) (abort(), NULL)
#define loads_use(loads, probes) (abort(), NULL)
#define loads_continue(loads, request) abort()
#define loads_free(loads) ((void)(loads))
#define probes_prepare(probes, session, definition, error) (abort(), 0)
#define probes_settle(probes, changed) abort()
#define probes_close(probes) ((void)(probes))
#define push_put(session, answer) ((void)(session), (void)(answer))
#define sender_json(sender) ((void)(sender), played_object("sent", 5))
#define sender_finish(sender, reported, user) \
	((void)(sender), called("sender_finish\n"), (reported)(user, "sent all"))
#define sender_hear(sender, reported, user) ((void)(sender), (void)(reported), (void)(user), sends)
#define sender_make(definition, output, no_files, owner, closing, nr, sender) \
	((void)(closing), abort(), 0)
#define sender_fd(sender) (abort(), 0)
#define sender_go(sender) abort()
#define sender_rounds(sender) (abort(), NULL)
#define sender_free(sender) ((void)(sender))
#define isolate_session(writable, return_reason, owner) ((void)(writable), abort(), 0)
#define isolate_as(owner) ((void)(owner), abort(), 0)
#undef fail
#include "programs/sided/session-process.c"
#undef clock_gettime
#undef _exit

static struct recording recording;

static int begin(void **unused)
{
	(void)unused;
	recording = (struct recording){
			.session = a_session, .lock_fd = -1, .loop.epoll = -1, .owner = 5};
	lines_init(&recording.lines, 5, LIMIT_LINES_OF_SESSION, 0, 0);
	frame_out_init(&recording.out);
	time_ns = 100 * S;
	flush_result = snapshot_result = snapshot_error = turn_result = 0;
	snapshot_recorded = 1;
	turns_until = 0;
	sends = has_probes = false;
	next_messages = NULL;
	*calls = '\0';
	return 0;
}

static int end(void **unused)
{
	(void)unused;
	end_recording(&recording);
	return 0;
}

/* ---- messages ---- */

static struct json_object *messages(void)
{
	struct json_object *answer = json_object_new_object();

	if (put_messages(&recording, answer))
		return answer;
	json_object_put(answer);
	return NULL;
}

static void check_json(struct json_object *object, const char *expected)
{
	assert_non_null(object);
	assert_string_equal(
			json_object_to_json_string_ext(object,
					JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
			expected);
	json_object_put(object);
}

static void test_messages(void **unused)
{
	static const struct session_message all[] = {
			{.text = (char *)(uintptr_t) "own",
					.hint = (char *)(uintptr_t) "do it",
					.uid = 5,
					.is_about_program = true},
			{.text = (char *)(uintptr_t) "session", .uid = 6},
			{.text = (char *)(uintptr_t) "other",
					.hint = (char *)(uintptr_t) "h",
					.uid = 7,
					.is_about_program = true},
			{.text = (char *)(uintptr_t) "other", .uid = 8, .is_about_program = true},
			{.text = (char *)(uintptr_t) "other", .uid = 7, .is_about_program = true},
			{.text = NULL}};
	struct json_object *answer;
	unsigned int nr = 0;

	(void)unused;
	next_messages = all;
	take_messages(&recording);
	assert_called("say(own; do it)\nsay(session)\nsay(other; h)\nsay(other)\nsay(other)\n");
	check_json(messages(),
			"{\"messages\":[\"own\",\"session\"],\"message-hints\":[\"do it\",\"\"],\"messages-unkept\":0,\"messages-of-users\":[{\"uid\":7,\"count\":2},{\"uid\":8,\"count\":1}]}");
	for (bool is_due = true; is_due; nr++) {
		failing_json = nr + 1;
		answer = messages();
		is_due = !failing_json;
		/* The test makes the first object. */
		assert_int_equal(!answer, is_due);
		json_object_put(answer);
		failing_json = 0;
	}
	assert_true(nr > 10);
}

static void test_many_messages(void **unused)
{
	struct json_object *answer;

	(void)unused;
	for (int i = 0; i < MESSAGES_MAX + 3; i++)
		take_sentence(&recording, "x");
	assert_int_equal(recording.messages.count, 100);
	assert_int_equal(recording.hints.count, 100);
	assert_int_equal(recording.nr_unkept, 3);
	/* The limit of lines is in the log; the next minute reports how many are not. */
	assert_int_equal(strlen(calls), LIMIT_LINES_OF_SESSION * strlen("say(x)\n"));
	*calls = '\0';
	time_ns += 60 * S - 1;
	take_messages(&recording);
	assert_called("");
	time_ns += 1;
	take_messages(&recording);
	assert_called("say(suppressed 43 messages of the session: too many within a minute)\n");
	/* Fifteen users, and the others together. */
	for (uid_t uid = 100; uid < 120; uid++)
		count_message(&recording, uid);
	count_message(&recording, 114);
	count_message(&recording, 119);
	assert_int_equal(recording.others[14].uid, 114);
	assert_int_equal(recording.others[14].nr, 2);
	assert_true(recording.others[15].uid == LINES_OTHERS);
	assert_int_equal(recording.others[15].nr, 6);
	answer = messages();
	assert_non_null(answer);
	assert_non_null(strstr(json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN),
			"{\"uid\":114,\"count\":2},{\"count\":6}]"));
	json_object_put(answer);
}

/* ---- requests ---- */

#define NO_MESSAGES \
	"\"messages\":[],\"message-hints\":[],\"messages-unkept\":0,\"messages-of-users\":[]"

static void ask(const char *request, const char *expected)
{
	struct json_object *asked = json_tokener_parse(request), *answer = json_object_new_object();
	struct error error;
	int ret;

	assert_non_null(asked);
	ret = take_request(&recording, asked, answer, &error);
	json_object_put(asked);
	if (ret)
		assert_string_equal(error.text, expected);
	else
		assert_string_equal(json_object_to_json_string_ext(answer,
						    JSON_C_TO_STRING_PLAIN |
								    JSON_C_TO_STRING_NOSLASHESCAPE),
				expected);
	json_object_put(answer);
}

static void test_requests(void **unused)
{
	(void)unused;
	ask("{\"verb\":\"hello\"}", "{\"generation\":24}");
	ask("{\"verb\":\"statedump\"}", "{\"generation\":23}");
	ask("{\"verb\":\"probes\",\"table\":4294967295}", "{\"probes\":{\"table\":4294967295}}");
	ask("{\"verb\":\"probes\",\"table\":4294967296}",
			"\"table\" is 4294967296, which is more than 4294967295");
	ask("{\"verb\":\"flush\"}", "{\"recorded\":47," NO_MESSAGES "}");
	ask("{\"verb\":\"snapshot\"}",
			"{\"path\":\"snapshot-3\",\"snapshots\":3,\"empty\":false," NO_MESSAGES
			"}");
	snapshot_recorded = 0;
	ask("{\"verb\":\"snapshot\"}",
			"{\"path\":\"snapshot-3\",\"snapshots\":3,\"empty\":true," NO_MESSAGES "}");
	snapshot_error = -ENOSPC;
	ask("{\"verb\":\"snapshot\"}", "cannot write the snapshot: No space left on device");
	snapshot_result = -ETIMEDOUT;
	ask("{\"verb\":\"snapshot\"}", "the snapshot is not complete yet: Connection timed out");
	snapshot_result = -EINVAL;
	ask("{\"verb\":\"snapshot\"}",
			"cannot take a snapshot: the session has no channel with `--mode overwrite`");
	ask("{\"verb\":\"status\"}", "{\"bytes\":48,\"over\":false," NO_MESSAGES "}");
	has_probes = true;
	recording.sender = (struct sender *)(uintptr_t)1;
	ask("{\"verb\":\"status\"}",
			"{\"bytes\":48,\"over\":false,\"sending\":{\"sent\":5},\"probes\":{\"table\":0}," NO_MESSAGES
			"}");
	ask("{\"verb\":\"clear\"}", "the session is sent (--to), so it cannot be cleared");
	recording.sender = NULL;
	ask("{\"verb\":\"open\"}", "cannot execute \"open\" now");
	ask("{}", "cannot execute \"\" now");
	ask("{\"verb\":5}", "\"verb\" is not a text");
	recording.session = NULL;
	ask("{\"verb\":\"hello\"}", "cannot execute \"hello\" now");
	recording.session = a_session;
	assert_called("");
	flush_result = -ETIMEDOUT;
	ask("{\"verb\":\"flush\"}",
			"{\"recorded\":47,\"messages\":[\"not all records were written to the disk in time: they are written later\"],\"message-hints\":[\"\"],\"messages-unkept\":0,\"messages-of-users\":[]}");
}

static void test_rotations(void **unused)
{
	(void)unused;
	turns_until = 2;
	ask("{\"verb\":\"rotate\"}", "{\"path\":\"chunk-1\"}");
	assert_called("rotated(21)\nrotated(21)\nrotated(21)\n");
	turns_until = 0;
	ask("{\"verb\":\"clear\"}", "{}");
	assert_called("rotated(22)\n");
	/* Each turn takes 10 s here: it is tried again after 50 s, but not later. */
	turns_until = 6;
	ask("{\"verb\":\"rotate\"}", "{\"path\":\"chunk-1\"}");
	turns_until = 7;
	ask("{\"verb\":\"rotate\"}", "the chunk is not complete yet; it appears later");
	turns_until = 7;
	ask("{\"verb\":\"clear\"}",
			"the session is not cleared yet, because the disk is full or slow; it is cleared later");
	turns_until = 1;
	turn_result = -EIO;
	ask("{\"verb\":\"rotate\"}", "cannot go on");
	*calls = '\0';
}

static void test_close(void **unused)
{
	(void)unused;
	ask("{\"verb\":\"close\"}", "{\"bytes\":48,\"over\":true," NO_MESSAGES "}");
	assert_called("finish\nclose(1)\n");
	assert_true(!recording.session && recording.end);
	recording.session = a_session;
	recording.sender = (struct sender *)(uintptr_t)1;
	ask("{\"verb\":\"close\"}",
			"{\"bytes\":48,\"over\":true,\"sending\":{\"sent\":5},\"messages\":[\"sent all\"],\"message-hints\":[\"\"],\"messages-unkept\":0,\"messages-of-users\":[]}");
	assert_called("finish\nclose(1)\nsender_finish\nsay(sent all)\n");
	recording.sender = NULL;
}

static __attribute__((noinline)) bool answers(const char *text)
{
	struct json_object *request = json_tokener_parse(text);
	volatile bool is = true;

	if (setjmp(exited))
		is = false;
	else
		answer_request(&recording, request);
	json_object_put(request);
	return is;
}

/*
 * Each member of an answer fails for lack of memory: an error, or the end if the error cannot be
 * sent.
 */
static void test_no_memory(void **unused)
{
	(void)unused;
	assert_true(answers("{\"verb\":\"hello\"}"));
	assert_true(recording.out.size > 0);
	frame_out_free(&recording.out);
	frame_out_init(&recording.out);
	for (unsigned int i = 1; i <= 3; i++) {
		failing_json = i;
		assert_true(answers("{\"verb\":\"hello\"}"));
		assert_int_equal(failing_json, 0);
	}
	assert_called("");
}

/* ---- the first request ---- */

#define MEMBERS \
	"\"socket\":\"/s\",\"lock\":\"/l\",\"tables\":\"/t\",\"output\":\"/o\",\"state-directory\":\"/p\""
#define DEFINITION "\"definition\":{\"version\":1,\"name\":\"one\"}"

static void check_opening(const char *text, const char *expected)
{
	struct json_object *request = json_tokener_parse(text);
	struct session_process_options opening = {.socket = NULL};
	struct error error;
	int ret;

	assert_non_null(request);
	ret = read_opening(request, &opening, &error);
	assert_int_equal(!ret, !expected);
	if (expected) {
		assert_string_equal(error.text, expected);
	} else {
		assert_string_equal(opening.socket, "/s");
		assert_string_equal(opening.lock, "/l");
		assert_string_equal(opening.tables, "/t");
		assert_string_equal(opening.output, "/o");
		assert_string_equal(opening.state_dir, "/p");
		assert_string_equal(opening.definition->name, "one");
		assert_true(opening.generation == UINT64_MAX && opening.again && !opening.active &&
				opening.any_user && !opening.no_files && opening.boot);
		assert_true(opening.owned && opening.owner.uid == UINT32_MAX - 1 &&
				opening.owner.gid == 7);
		assert_ptr_equal(owner_of(&opening), &opening.owner);
	}
	definition_free(opening.definition);
	json_object_put(request);
}

static void test_opening(void **unused)
{
	(void)unused;
	check_opening("{" MEMBERS "," DEFINITION
		      ",\"again\":true,\"active\":false,\"any-user\":true,\"no-files\":false,\"boot\":true,\"generation\":18446744073709551615,\"uid\":4294967294,\"gid\":7}",
			NULL);
	check_opening("{}", "the request has no \"socket\"");
	check_opening("{\"socket\":\"/s\"}", "the request has no \"lock\"");
	check_opening("{\"socket\":5}", "\"socket\" is not a text");
	check_opening("{" MEMBERS "}", "the request has no \"definition\"");
	check_opening("{" MEMBERS ",\"again\":5}", "\"again\" is neither true nor false");
	check_opening("{" MEMBERS ",\"active\":5}", "\"active\" is neither true nor false");
	check_opening("{" MEMBERS ",\"any-user\":5}", "\"any-user\" is neither true nor false");
	check_opening("{" MEMBERS ",\"no-files\":5}", "\"no-files\" is neither true nor false");
	check_opening("{" MEMBERS ",\"boot\":5}", "\"boot\" is neither true nor false");
	check_opening("{" MEMBERS ",\"uid\":4294967295}",
			"\"uid\" is 4294967295, which is more than 4294967294");
	check_opening("{" MEMBERS ",\"gid\":4294967295}",
			"\"gid\" is 4294967295, which is more than 4294967294");
	assert_null(owner_of(&(struct session_process_options){.owned = false}));
}

static void test_tracks(void **unused)
{
	struct definition_track list[] = {
			{.kind = DEFINITION_TRACK_UID, .number = 7, .exclude = true},
			{.kind = DEFINITION_TRACK_NAME, .text = (char *)(uintptr_t) "n"}};
	const struct definition definition = {.tracks = list, .nr_tracks = 2};
	struct session_track *tracks = make_tracks(&definition);

	(void)unused;
	assert_non_null(tracks);
	assert_true(tracks[0].kind == SESSION_TRACK_UID && tracks[0].number == 7 &&
			tracks[0].exclude && !tracks[0].text);
	assert_true(tracks[1].kind == SESSION_TRACK_NAME && !tracks[1].exclude);
	assert_string_equal(tracks[1].text, "n");
	free(tracks);
}

static void test_directories(void **unused)
{
	char folder[] = "/tmp/side-process-XXXXXX", path[64], expected[128];
	struct error error;
	struct stat status;

	(void)unused;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(session_process_make_directory(folder, &error), 0);
	(void)snprintf(path, sizeof(path), "%s/new", folder);
	assert_int_equal(session_process_make_directory(path, &error), 0);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(session_process_acquire_lock(&recording, path, &error), 0);
	assert_int_equal(fcntl(recording.lock_fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	close(recording.lock_fd);
	(void)snprintf(path, sizeof(path), "%s/new/x", folder);
	assert_int_equal(session_process_make_directory(path, &error), -ENOTDIR);
	assert_int_equal(error.kind, ERROR_FAILED);
	(void)snprintf(expected, sizeof(expected), "cannot make the directory %s: Not a directory",
			path);
	assert_string_equal(error.text, expected);
	assert_int_equal(session_process_acquire_lock(&recording, path, &error), -ENOTDIR);
	(void)snprintf(expected, sizeof(expected), "cannot lock %s: Not a directory", path);
	assert_string_equal(error.text, expected);
	(void)snprintf(path, sizeof(path), "%s/new", folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
			TEST(test_messages),
			TEST(test_many_messages),
			TEST(test_requests),
			TEST(test_rotations),
			TEST(test_close),
			TEST(test_no_memory),
			TEST(test_opening),
			TEST(test_tracks),
			TEST(test_directories),
	};

	alarm(50);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
