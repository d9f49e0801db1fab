/* SPDX-License-Identifier: MIT */
/*
 * The start of the session process, the messages of the daemon and of its sender, and changes of
 * the session's rules. The test includes session-process.c, and plays the session, its probes, the
 * sender, files and the connection to the daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../called.h"
#include "programs/sided/sided.h"
#include "failing-json.h"
#include "recorder/core/log-limits.h"
#include "recorder/core/live.h"

static const char *failing; /* the call that fails, or NULL */
static int failing_error;
static jmp_buf exited;
static struct session *const a_session = (struct session *)(uintptr_t)8;
static struct sender *const a_sender = (struct sender *)(uintptr_t)16;
static struct probes *const the_probes = (struct probes *)(uintptr_t)24;
static struct session_rounds *const the_rounds = (struct session_rounds *)(uintptr_t)32;
static bool is_directory;

static bool fails(const char *name)
{
	if (!failing || strcmp(failing, name) != 0)
		return false;
	errno = failing_error;
	return true;
}

static void fail_call(const char *name, int error)
{
	failing = name;
	failing_error = error;
}

void log_message(const char *format, ...)
{
	char text[300];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("say(%s) ", text);
}

static void __attribute__((noreturn)) played_exit(int status)
{
	called("exit(%d) ", status);
	longjmp(exited, 1);
}

/* ---- files ---- */

static int played_mkdir(const char *path, mode_t mode)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "mkdir %s", path);
	called("mkdir(%s,%o) ", path, (unsigned int)mode);
	return fails(name) ? -1 : 0;
}

static int played_lstat(const char *path, struct stat *ret_status)
{
	called("lstat(%s) ", path);
	if (fails("lstat"))
		return -1;
	*ret_status = (struct stat){.st_mode = is_directory ? S_IFDIR : S_IFLNK};
	/* As mkdir() sets it for an existing name. */
	errno = EEXIST;
	return 0;
}

static int played_lchown(const char *path, uid_t uid, gid_t gid)
{
	called("chown(%s,%u,%u) ", path, uid, gid);
	return fails("chown") ? -1 : 0;
}

static int played_open(const char *path, int flags, mode_t mode)
{
	assert_true(flags == (O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW) && mode == 0600);
	called("open(%s) ", path);
	return fails("open") ? -1 : 40;
}

static int played_flock(int fd, int operation)
{
	assert_true(fd == 40 && operation == LOCK_EX);
	return fails("flock") ? -1 : 0;
}

/* ---- the event loop: what each source is for, and its owner's function ---- */

enum about { ABOUT_SESSION, ABOUT_DAEMON, ABOUT_SENDER };
static event_source_fn session_process_session_ready, session_process_daemon_ready,
		session_process_sender_ready;
static struct event_source *sources_of_test[3];

static enum about source_is_about(event_source_fn *ready)
{
	if (ready == session_process_session_ready)
		return ABOUT_SESSION;
	assert_true(ready == session_process_daemon_ready || ready == session_process_sender_ready);
	return ready == session_process_daemon_ready ? ABOUT_DAEMON : ABOUT_SENDER;
}

static int played_loop(struct event_loop *loop)
{
	*loop = (struct event_loop){.epoll = fails("epoll_create1") ? -1 : 50};
	return loop->epoll < 0 ? -failing_error : 0;
}

static int played_epoll(const struct event_loop *loop, const char *operation,
		struct event_source *source, int fd, uint32_t events, event_source_fn *ready)
{
	enum about about = source_is_about(ready);
	char name[16];

	assert_int_equal(loop->epoll, 50);
	(void)snprintf(name, sizeof(name), "epoll %d", fd);
	called("epoll(%s,%d,%x,%u) ", operation, fd, events, about);
	if (fails(name))
		return -failing_error;
	*source = (struct event_source){.fd = fd, .events = events, .ready = ready};
	sources_of_test[about] = source;
	return 0;
}

/* ---- the sender ---- */

static int played_sender(const struct definition *definition, const char *output, bool no_files,
		const struct session_owner *owner, const int *closing, size_t nr,
		struct sender **ret_sender)
{
	called("sender(%s,%s,%d,%u,%d+%d) ", definition->to, output, no_files,
			owner ? owner->uid : 0, closing[0], closing[1]);
	assert_int_equal(nr, 2);
	if (fails("sender"))
		return -failing_error;
	*ret_sender = a_sender;
	return 0;
}

static bool hears;

static bool played_hear(
		struct sender *sender, void (*reported)(void *user, const char *text), void *user)
{
	assert_ptr_equal(sender, a_sender);
	reported(user, "from sender");
	return hears;
}

/* ---- the session ---- */

static int played_isolate(
		const char *const *writable, bool return_reason, const struct session_owner *owner)
{
	if (!writable) {
		called("isolate(all,%d,%u) ", return_reason, owner ? owner->uid : 0);
		return 0;
	}
	called("isolate(%s,%s,%s,%d,%u) ", writable[0], writable[1], writable[2], return_reason,
			owner ? owner->uid : 0);
	assert_null(writable[3]);
	return fails("isolate") ? -failing_error : 0;
}

static int played_as(const struct session_owner *owner)
{
	called("as(%u,%u) ", owner->uid, owner->gid);
	return fails("as") ? -failing_error : 0;
}

static int played_session(const struct session_options *options, const struct session_live *live,
		struct session **ret_session, struct error *error)
{
	called("session(%s,%d,%zu,%s,%s,%d,%d,%d,%u,%llu", options->output, options->force,
			options->nr_channels, live->socket, live->state_dir, live->any_user,
			live->boot, live->active, live->owner,
			(unsigned long long)live->generation);
	for (size_t i = 0; i < live->nr_track; i++)
		called(",%d%s:%u", live->track[i].exclude, live->track[i].text ? "t" : "",
				(unsigned int)live->track[i].number);
	called(") ");
	assert_true(options->nr_probes == 2 && options->probes == (const void *)the_probes);
	assert_ptr_equal(
			options->rounds, failing && !strcmp(failing, "rounds") ? NULL : the_rounds);
	if (live->settled)
		(void)live->settled(live->user);
	if (fails("session")) {
		*error = (struct error){.kind = ERROR_PERMISSION,
				.code = -EPERM,
				.text = "no session",
				.hint = "have one"};
		return -EPERM;
	}
	*ret_session = a_session;
	return 0;
}

static int played_probes(const char *tables, const struct definition *definition,
		struct probes **ret_probes, struct error *error)
{
	called("probes(%s,%s) ", tables, definition->name);
	if (fails("probes"))
		return error_set_kind(error, ERROR_FAILED, -EIO, NULL, "no tables");
	*ret_probes = the_probes;
	return 0;
}

static const struct session_table *played_list(const struct probes *probes, size_t *nr)
{
	assert_ptr_equal(probes, the_probes);
	*nr = 2;
	return (const struct session_table *)(const void *)probes;
}

static int played_prepare(const struct probes *probes, const struct session *session,
		const struct definition *definition, struct error *error)
{
	assert_true(probes == the_probes && session == a_session);
	called("prepare(%s) ", definition->name);
	*error = (struct error){.kind = ERROR_FAILED, .code = -EIO, .text = "not prepared"};
	return fails("prepare") ? -EIO : 0;
}

static int played_change(const struct session *session, size_t nr, bool active,
		const struct session_track *tracks, size_t nr_tracks, uint64_t *generation,
		struct error *error)
{
	assert_true(session == a_session && tracks);
	called("change(%zu,%d,%zu) ", nr, active, nr_tracks);
	*generation = 99;
	if (!fails("change"))
		return 0;
	*error = (struct error){.kind = ERROR_USAGE, .code = -EINVAL, .text = "not changed"};
	return -EINVAL;
}

static bool turn_fails;

static int played_turn(int timeout_ms, struct error *error)
{
	called("turn(%d) ", timeout_ms);
	strcpy(error->text, "cannot go on");
	return turn_fails ? -EIO : 0;
}

/* ---- the daemon ---- */

static int received; /* 1: the request in `request` */
static const char *request_of_test;
static int passed = -1; /* a descriptor that came with it */
static int sent;        /* of frame_send() */
static unsigned int puts_failing;
static char answer_of_test[512];
static struct json_object *last_request, *last_answer; /* an exit does not release these */

static int played_receive(struct frame_in *in, int fd, size_t max, struct json_object **request)
{
	assert_true(in->takes_fd && fd == 3 && max == FRAME_ANSWER_MAX);
	*request = received == 1 ? json_tokener_parse(request_of_test) : NULL;
	last_request = *request;
	last_answer = NULL;
	return received;
}

static int played_put(struct json_object *answer)
{
	called("put ");
	last_answer = answer;
	(void)snprintf(answer_of_test, sizeof(answer_of_test), "%s",
			json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN));
	if (!puts_failing)
		return 0;
	puts_failing--;
	return -ENOMEM;
}

static enum about events_of_test[4];
static int nr_events; /* -1: the wait fails */

static int played_wait(struct event_loop *loop, int timeout_ms)
{
	assert_int_equal(loop->epoll, 50);
	called("wait(%d) ", timeout_ms);
	for (int i = 0; i < nr_events; i++) {
		struct event_source *source = sources_of_test[events_of_test[i]];

		assert_int_equal(source->ready(loop, source, EPOLLIN), 0);
	}
	return nr_events < 0 ? -EIO : 0;
}

static int played_control(int fd, int command, int value)
{
	assert_true(fd == 3 && command == F_SETFD && value == FD_CLOEXEC);
	return fails("fcntl") ? -1 : 0;
}

static void played_prctl(int option, unsigned long value)
{
	if (option == PR_SET_NAME)
		called("name(%s) ", (const char *)value);
	else
		called("%s(%lu) ", option == PR_SET_PDEATHSIG ? "death" : "other", value);
}

static unsigned int nr_ignored;

static void played_signal(int number, void (*action)(int))
{
	assert_true(action == SIG_IGN && number != SIGTERM);
	nr_ignored++;
}

static bool played_message(void)
{
	called("messages ");
	return false;
}

static bool wants_state;

#define _exit(status) played_exit(status)
#define mkdir(path, mode) played_mkdir(path, mode)
#define lstat(path, status) played_lstat(path, status)
#define lchown(path, uid, gid) played_lchown(path, uid, gid)
#define open(path, flags, mode) played_open(path, flags, mode)
#define flock(fd, operation) played_flock(fd, operation)
#define close(fd) called("close(%d) ", fd)
#define fcntl(fd, command, value) played_control(fd, command, value)
#define prctl(option, value) played_prctl(option, (unsigned long)(value))
#define signal(number, action) played_signal(number, action)
#define event_loop_open(loop) played_loop(loop)
#define event_loop_close(loop) called("close(%d) ", (loop)->epoll)
#define event_source_add(loop, source, fd, events, ready) \
	played_epoll(loop, "add", source, fd, events, ready)
#define event_source_change(loop, source, events) \
	played_epoll(loop, "change", source, (source)->fd, events, (source)->ready)
#define event_loop_turn(loop, timeout_ms) played_wait(loop, timeout_ms)
#define frame_receive(in, fd, max, request, error) \
	((void)(error), played_receive(in, fd, max, request))
#define frame_send(out, fd) ((void)(out), assert_int_equal(fd, 3), called("send "), sent)
#define frame_put(out, answer) ((void)(out), played_put(answer))
#define frame_take_fd(in) ((void)(in), passed)
#define loop_now() UINT64_C(100000000000)
#define session_open(options, live, session, error) played_session(options, live, session, error)
#define session_fd(session) ((void)(session), 60)
#define session_turn(session, timeout_ms, error) ((void)(session), played_turn(timeout_ms, error))
#define session_wants_state(session) ((void)(session), wants_state)
#define session_finish_snapshot(session, timeout_ms) ((void)(session), (void)(timeout_ms), 0)
#define session_generation(session) ((void)(session), UINT64_C(24))
#define session_change(session, channels, nr, active, tracks, nr_tracks, generation, error) \
	((void)(channels), played_change(session, nr, active, tracks, nr_tracks, generation, error))
#define session_take_message(session, message) ((void)(session), (void)(message), played_message())
#define session_take_connection(session, fd) ((void)(session), called("connection(%d) ", fd))
#define session_flush(session, timeout_ms) ((void)(session), (void)(timeout_ms), 0)
#define session_snapshot(session, timeout_ms, number, name, recorded) \
	((void)(session), (void)(number), (void)(name), (void)(recorded), -1)
#define session_snapshot_error(session) ((void)(session), -1)
#define session_rotated(session, ticket, name, capacity) \
	((void)(session), (void)(ticket), (void)snprintf(name, capacity, "chunk"), true)
#define session_rotate(session) ((void)(session), 21)
#define session_clear(session) ((void)(session), 22)
#define session_statedump(session) ((void)(session), UINT64_C(23))
#define session_sums(session, answer) ((void)(session), (void)(answer), true)
#define session_stats(session, is_over) ((void)(session), (void)(is_over), NULL)
#define session_finish(session) ((void)(session))
#define session_close(session, orderly, error) ((void)(session), (void)(orderly), (void)(error))
#define probes_json(probes, session, number) ((void)(probes), (void)(session), NULL)
#define probes_any(probes) ((void)(probes), false)
static char played_loads;
#define probes_open(tables, definition, probes, error) \
	played_probes(tables, definition, probes, error)
#define probes_list(probes, nr) played_list(probes, nr)
#define loads_new(out) ((void)(out), (struct sided_loads *)&played_loads)
#define loads_use(loads, probes) ((void)(loads), (void)(probes), NULL)
#define loads_continue(loads, request) ((void)(loads), (void)(request))
#define loads_free(loads) ((void)(loads))
#define probes_prepare(probes, session, definition, error) \
	played_prepare(probes, session, definition, error)
#define probes_settle(probes, changed) ((void)(probes), called("settle(%d) ", changed))
#define probes_close(probes) called("probes_close(%d) ", (probes) != NULL)
#define push_put(session, answer) ((void)(session), (void)(answer), called("push "))
#define sender_json(sender) ((void)(sender), NULL)
#define sender_finish(sender, reported, user) ((void)(sender), (void)(user))
#define sender_hear(sender, reported, user) played_hear(sender, reported, user)
#define sender_make(definition, output, no_files, owner, closing, nr, sender) \
	played_sender(definition, output, no_files, owner, closing, nr, sender)
#define sender_fd(sender) ((void)(sender), 70)
#define sender_go(sender) called("go(%d) ", (sender) == a_sender)
#define sender_rounds(sender) ((sender) ? the_rounds : NULL)
#define sender_free(sender) called("sender_free(%d) ", (sender) != NULL)
#define isolate_session(writable, return_reason, owner) \
	played_isolate(writable, return_reason, owner)
#define isolate_as(owner) played_as(owner)
#undef fail
#include "programs/sided/session-process.c"
#undef _exit
#undef close
#undef open
#undef signal

static struct recording recording;

static int begin(void **state)
{
	(void)state;
	recording = (struct recording){.lock_fd = -1,
			.loop.epoll = 50,
			.session_source.ready = session_process_session_ready,
			.daemon_source = {.fd = 3, .ready = session_process_daemon_ready},
			.sender_source.ready = session_process_sender_ready,
			.owner = 5,
			.in = {.takes_fd = true}};
	sources_of_test[ABOUT_SESSION] = &recording.session_source;
	sources_of_test[ABOUT_DAEMON] = &recording.daemon_source;
	sources_of_test[ABOUT_SENDER] = &recording.sender_source;
	frame_out_init(&recording.out);
	lines_init(&recording.lines, 5, LIMIT_LINES_OF_SESSION, 0, 0);
	failing = NULL;
	is_directory = hears = true;
	turn_fails = false;
	received = -EAGAIN;
	passed = -1;
	sent = 0;
	puts_failing = 0;
	nr_events = 0;
	nr_ignored = 0;
	*calls = '\0';
	return 0;
}

static int end(void **state)
{
	(void)state;
	strings_free(&recording.messages);
	strings_free(&recording.hints);
	return 0;
}

/* ---- open ---- */

#define DEFINITION(to)                                      \
	"\"definition\":{\"version\":1,\"name\":\"one\"" to \
	",\"channels\":[{\"channel\":\"c\"},{\"channel\":\"d\"}],\"track\":[{\"pid\":5},{\"name\":\"x\",\"exclude\":true}]}"
#define OPEN(more, to)                                                                     \
	"{\"verb\":\"open\",\"socket\":\"/s/one.sock\",\"lock\":\"/l\",\"tables\":\"/t\"," \
	"\"output\":\"/o\",\"state-directory\":\"/p/one\",\"generation\":17" more          \
	"," DEFINITION(to) "}"
#define TO ",\"to\":\"tcp://host\""

static struct error the_error;

static int open_with(const char *text)
{
	struct json_object *request = json_tokener_parse(text), *answer = json_object_new_object();
	uint64_t generation = 0;
	struct error unused;
	int ret;

	assert_true(request && answer);
	recording.session = NULL;
	recording.sender = NULL;
	recording.lock_fd = -1;
	ret = take_open(&recording, request, answer, &the_error);
	if (!ret) {
		assert_int_equal(
				json_number(answer, "generation", UINT64_MAX, &generation, &unused),
				0);
		assert_int_equal(generation, 24);
		assert_true(recording.session == a_session && recording.lock_fd == 40 &&
				recording.probes == the_probes);
	}
	json_object_put(answer);
	json_object_put(request);
	return ret;
}

static void check_error(enum error_kind kind, const char *text)
{
	assert_string_equal(the_error.text, text);
	assert_int_equal(the_error.kind, kind);
}

#define LOCKED "open(/l) "
#define MADE LOCKED "mkdir(/o,700) mkdir(/p,700) "
#define OWNED MADE "mkdir(/p/one,700) lstat(/p/one) chown(/p/one,7,8) "
#define UID ",\"uid\":7,\"gid\":8"
#define SENDER(no_files, owner) \
	"sender(tcp://host,/o," no_files "," owner ",3+50) epoll(add,70,1,2) "
#define WATCHED "epoll(add,60,1,0) "

static void test_open(void **state)
{
	char owner[32];

	(void)state;
	(void)snprintf(owner, sizeof(owner), "%u", geteuid());
	fail_call("rounds", 0);
	assert_int_equal(open_with(OPEN("", "")), 0);
	assert_called(MADE "isolate(/o,/p,/s,0,0) probes(/t,one) "
			   "session(/o,0,2,/s/one.sock,/p/one,0,0,0,0,17,0:5,1t:0) " WATCHED);
	assert_int_equal(recording.owner, geteuid());
	/* How programs end is visible without landlock only. */
	assert_int_equal(open_with(OPEN("", ",\"trigger\":[\"crash\"]")), 0);
	assert_called(MADE "isolate(all,0,0) probes(/t,one) "
			   "session(/o,0,2,/s/one.sock,/p/one,0,0,0,0,17,0:5,1t:0) " WATCHED);
	failing = NULL;
	assert_int_equal(
			open_with(OPEN(",\"again\":true,\"any-user\":true,\"boot\":true,\"active\":true",
					TO)),
			0);
	assert_called(MADE SENDER(
			"0", "0") "isolate(all,1,0) probes(/t,one) "
				  "session(/o,1,2,/s/one.sock,/p/one,1,1,1,0,17,0:5,1t:0) " WATCHED
				  "go(1) ");
	assert_int_equal(open_with(OPEN(UID ",\"no-files\":true", TO)), 0);
	assert_called(OWNED SENDER("1",
			"7") "isolate(/o,/p,/s,0,7) probes(/t,one) "
			     "session(/o,0,2,/s/one.sock,/p/one,0,0,0,7,17,0:5,1t:0) as(7,8) " WATCHED
			     "go(1) ");
	assert_int_equal(recording.owner, 7);
	assert_int_equal(open_with("{}"), -EINVAL);
	check_error(ERROR_FAILED, "the request has no \"socket\"");
	assert_called("");
}

static void test_no_open(void **state)
{
	static const struct {
		const char *call;
		int error;
		enum error_kind kind;
		const char *text, *calls;
	} cases[] = {{"open", EROFS, ERROR_FAILED, "cannot lock /l: Read-only file system", LOCKED},
			{"flock", ENOLCK, ERROR_FAILED, "cannot lock /l: No locks available",
					LOCKED},
			{"mkdir /o", ENOSPC, ERROR_FAILED,
					"cannot make the directory /o: No space left on device",
					LOCKED "mkdir(/o,700) "},
			{"mkdir /p", EACCES, ERROR_PERMISSION,
					"cannot make the directory /p: Permission denied", MADE},
			{"mkdir /p/one", EROFS, ERROR_PERMISSION,
					"cannot make the directory /p/one: Read-only file system",
					MADE "mkdir(/p/one,700) "},
			{"lstat", EIO, ERROR_PERMISSION,
					"cannot give the directory /p/one to user 7",
					MADE "mkdir(/p/one,700) lstat(/p/one) "},
			{"chown", EPERM, ERROR_PERMISSION,
					"cannot give the directory /p/one to user 7", OWNED},
			{"sender", EAGAIN, ERROR_FAILED,
					"cannot start a sender: Resource temporarily unavailable",
					OWNED "sender(tcp://host,/o,0,7,3+50) "},
			{"epoll 70", ENOMEM, ERROR_FAILED,
					"cannot start a sender: Cannot allocate memory",
					OWNED SENDER("0", "7")},
			{"isolate", ENOENT, ERROR_FAILED,
					"cannot permit the session to write its files: No such file or directory",
					OWNED SENDER("0", "7") "isolate(/o,/p,/s,0,7) "},
			{"probes", 0, ERROR_FAILED, "no tables",
					OWNED SENDER("0",
							"7") "isolate(/o,/p,/s,0,7) probes(/t,one) "},
			{"session", 0, ERROR_PERMISSION, "no session",
					OWNED SENDER("0",
							"7") "isolate(/o,/p,/s,0,7) probes(/t,one) "
							     "session(/o,0,2,/s/one.sock,/p/one,0,0,0,7,17,0:5,1t:0) as(7,8) "},
			{"epoll 60", ENOSPC, ERROR_FAILED, "cannot wait: No space left on device",
					OWNED SENDER("0",
							"7") "isolate(/o,/p,/s,0,7) probes(/t,one) "
							     "session(/o,0,2,/s/one.sock,/p/one,0,0,0,7,17,0:5,1t:0) as(7,8) " WATCHED}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fail_call(cases[i].call, cases[i].error);
		assert_true(open_with(OPEN(UID, TO)) < 0);
		check_error(cases[i].kind, cases[i].text);
		assert_called(cases[i].calls);
	}
	/* A directory that exists is used. A link of its name is refused. */
	fail_call("mkdir /o", EEXIST);
	assert_int_equal(open_with(OPEN(UID, TO)), 0);
	*calls = '\0';
	failing = NULL;
	is_directory = false;
	assert_true(open_with(OPEN(UID, TO)) < 0);
	check_error(ERROR_PERMISSION, "cannot give the directory /p/one to user 7");
	assert_called(MADE "mkdir(/p/one,700) lstat(/p/one) ");
}

/* ---- change ---- */

static int change_with(const char *text, uint64_t expected)
{
	struct json_object *request = json_tokener_parse(text), *answer = json_object_new_object();
	struct error unused;
	uint64_t generation = 0;
	int ret;

	assert_true(request && answer);
	recording.session = a_session;
	recording.probes = the_probes;
	ret = session_process_apply_change(&recording, request, answer, &the_error);
	assert_int_equal(json_number(answer, "generation", UINT64_MAX, &generation, &unused), 0);
	assert_int_equal(generation, expected);
	json_object_put(answer);
	json_object_put(request);
	return ret;
}

static void test_change(void **state)
{
	(void)state;
	assert_int_equal(change_with("{" DEFINITION("") "}", 99), 0);
	assert_called("prepare(one) change(2,0,2) settle(1) push ");
	assert_int_equal(change_with("{\"active\":true," DEFINITION("") "}", 99), 0);
	assert_called("prepare(one) change(2,1,2) settle(1) push ");
	fail_call("prepare", 0);
	assert_true(change_with("{" DEFINITION("") "}", 0) < 0);
	check_error(ERROR_FAILED, "not prepared");
	assert_called("prepare(one) settle(0) ");
	fail_call("change", 0);
	assert_true(change_with("{" DEFINITION("") "}", 0) < 0);
	check_error(ERROR_USAGE, "not changed");
	assert_called("prepare(one) change(2,0,2) settle(0) ");
	failing = NULL;
	assert_int_equal(change_with("{}", 0), -ENOMEM);
	check_error(ERROR_FAILED, "out of memory");
	assert_true(change_with("{\"active\":5," DEFINITION("") "}", 0) < 0);
	check_error(ERROR_USAGE, "\"active\" is neither true nor false");
	assert_true(change_with("{\"definition\":5}", 0) < 0);
	assert_called("");
}

/* ---- the daemon and the sender ---- */

static void hear(int result, const char *request)
{
	received = result;
	request_of_test = request;
	if (!setjmp(exited)) {
		hear_daemon(&recording);
		return;
	}
	json_object_put(last_request);
	json_object_put(last_answer);
}

static void test_hear(void **state)
{
	(void)state;
	hear(0, NULL);
	hear(-EAGAIN, NULL);
	assert_called("");
	hear(-EPIPE, NULL);
	assert_called("exit(0) ");
	hear(2, NULL);
	assert_called("exit(0) ");
	/* A connection gets no answer. */
	passed = 33;
	hear(1, "{\"verb\":\"connection\"}");
	assert_called("close(33) ");
	recording.session = a_session;
	hear(1, "{\"verb\":\"connection\"}");
	assert_called("connection(33) ");
	passed = 0;
	hear(1, "{\"verb\":\"connection\"}");
	assert_called("connection(0) ");
	recording.session = NULL;
	hear(1, "{\"verb\":\"connection\"}");
	assert_called("close(0) ");
	passed = -1;
	hear(1, "{\"verb\":\"connection\"}");
	recording.session = a_session;
	hear(1, "{\"verb\":\"connection\"}");
	assert_called("");
	/* A request gets an answer, after at most two attempts. */
	puts_failing = 1;
	hear(1, "{\"verb\":\"statedump\"}");
	assert_called("put put ");
	assert_string_equal(answer_of_test, "{\"ok\":true,\"generation\":23}");
	puts_failing = 2;
	hear(1, "{\"verb\":\"open\"}");
	assert_called("put put exit(1) ");
	assert_string_equal(answer_of_test,
			"{\"ok\":false,\"kind\":\"failed\",\"error\":\"cannot execute \\\"open\\\" now\",\"hint\":\"\",\"mend\":\"\"}");
	recording.session = NULL;
	hear(1, "{}");
	assert_called("put ");
	hear(1, "{\"verb\":5}");
	assert_called("put ");
}

static void send_with(int result)
{
	sent = result;
	if (!setjmp(exited))
		send_answers(&recording);
}

static void test_send(void **state)
{
	(void)state;
	send_with(0);
	assert_called("send epoll(change,3,1,1) ");
	send_with(-EAGAIN);
	assert_called("send epoll(change,3,5,1) ");
	send_with(-EPIPE);
	assert_called("send exit(0) ");
	/* A process that cannot wait for the daemon would never end. */
	fail_call("epoll 3", ENOMEM);
	send_with(-EAGAIN);
	assert_called("send epoll(change,3,5,1) exit(1) ");
}

static int turn_with(void)
{
	volatile int ret = -1;

	if (!setjmp(exited))
		ret = session_process_run_once(&recording);
	return ret;
}

#define SENT "send epoll(change,3,1,1) "

static void test_turn(void **state)
{
	(void)state;
	assert_int_equal(turn_with(), 0);
	assert_called("wait(-1) " SENT);
	recording.session = a_session;
	assert_int_equal(turn_with(), 0);
	assert_called("wait(500) turn(0) messages " SENT);
	/* A trigger has begun a snapshot: the daemon asks the programs. */
	wants_state = true;
	assert_int_equal(turn_with(), 0);
	assert_called("wait(500) turn(0) put messages " SENT);
	wants_state = false;
	turn_fails = true;
	assert_int_equal(turn_with(), EXIT_FAILURE);
	assert_called("wait(500) turn(0) say(cannot go on) ");
	turn_fails = false;
	/* Messages of the sender come before those of the daemon. */
	recording.sender = a_sender;
	nr_events = 2;
	events_of_test[0] = ABOUT_DAEMON;
	events_of_test[1] = ABOUT_SENDER;
	events_of_test[2] = ABOUT_SENDER;
	received = 1;
	request_of_test = "{\"verb\":\"statedump\"}";
	assert_int_equal(turn_with(), 0);
	assert_called("wait(500) turn(0) say(from sender) put messages " SENT);
	events_of_test[0] = events_of_test[1] = ABOUT_SESSION;
	assert_int_equal(turn_with(), 0);
	assert_called("wait(500) turn(0) messages " SENT);
	events_of_test[1] = ABOUT_SENDER;
	hears = false;
	assert_int_equal(turn_with(), -1);
	assert_called("wait(500) turn(0) say(from sender) say(the sending process has ended) exit(1) ");
	nr_events = -1;
	assert_int_equal(turn_with(), 0);
	assert_called("wait(500) turn(0) messages " SENT);
}

/* ---- the process ---- */

static int run_process(void)
{
	volatile int ret = -1;

	nr_ignored = 0;
	if (!setjmp(exited))
		ret = session_process();
	assert_int_equal(nr_ignored, 5);
	return ret;
}

#define BEGUN "name(sided-session) death(9) "
#define ENDED "probes_close(0) sender_free(0) "

static void test_process(void **state)
{
	(void)state;
	fail_call("epoll_create1", EMFILE);
	assert_int_equal(run_process(), EXIT_FAILURE);
	assert_called(BEGUN "say(do not use --session-process: the daemon uses it) " ENDED
			    "close(-1) ");
	fail_call("fcntl", EBADF);
	assert_int_equal(run_process(), EXIT_FAILURE);
	assert_called(BEGUN "say(do not use --session-process: the daemon uses it) " ENDED
			    "close(50) ");
	fail_call("epoll 3", EPERM);
	assert_int_equal(run_process(), EXIT_FAILURE);
	assert_called(BEGUN
			"epoll(add,3,1,1) say(do not use --session-process: the daemon uses it) " ENDED
			"close(50) ");
	failing = NULL;
	/* The daemon has exited. */
	nr_events = 1;
	events_of_test[0] = ABOUT_DAEMON;
	received = -ECONNRESET;
	assert_int_equal(run_process(), -1);
	assert_called(BEGUN "epoll(add,3,1,1) wait(-1) exit(0) ");
	/* The lock is closed last. */
	recording = (struct recording){.loop.epoll = 50, .lock_fd = 0};
	frame_out_init(&recording.out);
	end_recording(&recording);
	assert_called(ENDED "close(50) close(0) ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
			TEST(test_open),
			TEST(test_no_open),
			TEST(test_change),
			TEST(test_hear),
			TEST(test_send),
			TEST(test_turn),
			TEST(test_process),
	};

	alarm(50);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
