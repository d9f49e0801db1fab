/* SPDX-License-Identifier: MIT */
/*
 * Rendezvous sockets of the daemon: their files, their lifetime, how they are found again, and each
 * call that fails. The test includes rendezvous.c, and plays the loop, the processes and the
 * sockets.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../called.h"
#include "../resources.h"
#include "programs/sided/sided.h"
#include "sessions/rendezvous.h"
#include "sessions/text.h"
#include "failing-json.h"
#include "recorder/core/peer.h"
#include "recorder/core/session.h"
#include "protocol/runtime.h"

#define UID 47
#define PID 1234
#define STARTED 5678

static char work[] = "/tmp/side-door-parts-XXXXXX";
static const char *failing; /* the function that fails, or NULL */
static int failing_error;
static struct rendezvous_view seen;
static uint64_t starts
		[3]; /* of the process, each time when the daemon asks; the last one from then on */
static unsigned int nr_starts;
static bool is_listener = true, is_reachable;
static int last_place = -1;
static struct daemon daemon_of_test;

static int fails(const char *name)
{
	if (!failing || strcmp(failing, name) != 0)
		return 0;
	failing = NULL;
	errno = -failing_error;
	return failing_error;
}

static void arm(const char *name, int error)
{
	failing = name;
	failing_error = error;
}

static const char *in_work(const char *name)
{
	static char paths[4][200];
	static unsigned int next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, 200, "%s/%s", work, name);
	return path;
}

static int new_descriptor(void)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	assert_true(fd >= 0);
	return fd;
}

bool runtime_path(const struct daemon *daemon, char *path, size_t capacity, const char *format, ...)
{
	va_list arguments;
	char name[100];

	(void)daemon;
	va_start(arguments, format);
	(void)vsnprintf(name, sizeof(name), format, arguments);
	va_end(arguments);
	(void)snprintf(path, capacity, "%s/%s", work, strrchr(name, '/') + 1);
	return !fails("path");
}

int state_write(const char *path, const char *text, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	close(fd);
	return fails("state_write");
}

struct json_object *state_read(const char *path, size_t max, struct error *error)
{
	char text[500] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(max, 4096);
	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return json_read(text, strlen(text), error);
}

void state_each(struct daemon *daemon, const char *prefix, state_restore *take)
{
	assert_string_equal(prefix, ".door-");
	take(daemon, 7, in_work(".door-7"));
}

void log_about(struct daemon *daemon, uid_t uid, const char *format, ...)
{
	char text[300];
	va_list arguments;

	(void)daemon;
	assert_true(uid == LINES_OTHERS);
	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("say(%s)\n", text);
}

void agents_ready(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	(void)daemon;
	(void)watch;
	(void)events;
}

bool program_is_reachable(struct daemon *daemon, pid_t pid)
{
	(void)daemon;
	assert_int_equal(pid, PID);
	return is_reachable;
}

int loop_watch(struct daemon *daemon, struct sided_watch *watch, int fd, uint32_t events,
		void (*ready)(struct daemon *, struct sided_watch *, uint32_t))
{
	int ret = fails("loop_watch");

	(void)daemon;
	assert_true(events == EPOLLIN && ready == agents_ready);
	watch->fd = ret ? -1 : fd;
	if (!ret)
		object_get(watch->owner);
	return ret;
}

int loop_release(struct daemon *daemon, struct sided_watch *watch)
{
	int fd = watch->fd;

	watch->fd = -1;
	object_put(daemon, watch->owner);
	return fd;
}

void loop_change(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	(void)daemon;
	watch->events = events;
}

void loop_timer(struct daemon *daemon, struct timer *timer, uint64_t in_ms,
		void (*expired)(struct daemon *, struct timer *))
{
	(void)daemon;
	timer->base.is_set = true;
	timer->base.deadline = in_ms;
	timer->expired = expired;
}

void loop_cancel(struct daemon *daemon, struct timer *timer)
{
	(void)daemon;
	timer->base.is_set = false;
}

struct acceptor {
	int listener;
};

int acceptor_start(int listener, struct acceptor **ret_acceptor)
{
	int ret = fails("acceptor");

	if (ret)
		return ret;
	*ret_acceptor = calloc(1, sizeof(**ret_acceptor));
	assert_non_null(*ret_acceptor);
	(*ret_acceptor)->listener = listener;
	return 0;
}

int acceptor_fd(const struct acceptor *acceptor)
{
	return acceptor->listener;
}

int acceptor_take(struct acceptor *acceptor)
{
	return acceptor->listener + 1000;
}

void acceptor_stop(struct acceptor *acceptor)
{
	called("stop\n");
	close(acceptor->listener);
	free(acceptor);
}

void handover_close(int fd)
{
	called("handover_close\n");
	close(fd);
}

static int played_inspect(pid_t pid, struct rendezvous_view *found)
{
	assert_int_equal(pid, PID);
	*found = seen;
	return fails("look");
}

static int played_root(pid_t pid)
{
	int ret = fails("root");

	assert_int_equal(pid, PID);
	return ret ? ret : new_descriptor();
}

static int played_place(int root, const char *path)
{
	int ret = fails("place");

	assert_true(fcntl(root, F_GETFD) >= 0 && *path == '/');
	last_place = ret ? -1 : open(in_work("side-door-x"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	return ret ? ret : last_place;
}

static int played_listen(const char *how, int dir)
{
	int ret = fails("listen");

	called("%s\n", how);
	assert_true(dir < 0 || fcntl(dir, F_GETFD) >= 0);
	return ret ? ret : new_descriptor();
}

static uint64_t played_start(pid_t pid)
{
	uint64_t started;

	assert_true(pid == PID || pid == PID + 1);
	started = starts[nr_starts < 2 ? nr_starts++ : 2];
	return started ? started + (pid != PID) : 0;
}

static void *played_malloc(size_t size)
{
	return fails("malloc") ? NULL : malloc(size);
}

static int played_rename(const char *from, const char *to)
{
	return fails("rename") ? -1 : rename(from, to);
}

static void played_close_listener(int fd, bool refuses_fds)
{
	assert_false(refuses_fds);
	called("close_listener\n");
	close(fd);
}

static int played_accept(int fd, int flags)
{
	assert_int_equal(flags, SOCK_CLOEXEC | SOCK_NONBLOCK);
	return fd + 2000;
}

#define rendezvous_inspect(pid, found) played_inspect(pid, found)
#define rendezvous_open_root(pid) played_root(pid)
#define rendezvous_open_dir(root, path) played_place(root, path)
#define rendezvous_listen_in(dir) played_listen("listen_in", dir)
#define rendezvous_listen_abstract(pid, path) \
	((void)(pid), (void)(path), played_listen("listen_nowhere", -1))
#define rendezvous_is_listener(fd) ((void)(fd), is_listener)
#define session_process_start(pid) played_start(pid)
#define malloc(size) played_malloc(size)
#define rename(from, to) played_rename(from, to)
#define peer_close_listener(fd, refuses_fds) played_close_listener(fd, refuses_fds)
#define accept4(fd, address, size, flags) played_accept(fd, flags)
#undef fail
#include "programs/sided/rendezvous.c"
#undef malloc
#undef rename

static unsigned int nr_open;

static int begin(void **unused)
{
	(void)unused;
	nr_open = resources_descriptors();
	failing = NULL;
	nr_starts = 0;
	starts[0] = starts[1] = starts[2] = STARTED;
	seen = (struct rendezvous_view){1, 2, 3, 4};
	is_reachable = false;
	is_listener = true;
	memset(&daemon_of_test, 0, sizeof(daemon_of_test));
	daemon_of_test.uid = UID + 1;
	if (mkdir(in_work("side-door-x"), 0700) || rendezvous_open_all(&daemon_of_test))
		return -1;
	*calls = '\0';
	return 0;
}

static int end(void **unused)
{
	(void)unused;
	rendezvous_close_all(&daemon_of_test);
	objects_free_unused(&daemon_of_test);
	(void)rmdir(in_work("side-door-x"));
	(void)unlink(in_work(".door-1"));
	(void)unlink(in_work(".door-2"));
	(void)unlink(in_work(".door-7"));
	return resources_descriptors() == nr_open && !objects_left() ? 0 : -1;
}

static bool is_there(const char *name)
{
	return !access(in_work(name), F_OK);
}

static void check_file(const char *name, const char *expected)
{
	char text[400] = "";
	int fd = open(in_work(name), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	{
		struct json_object *found = json_tokener_parse(text);

		assert_non_null(found);
		assert_string_equal(json_object_to_json_string_ext(found,
						    JSON_C_TO_STRING_PLAIN |
								    JSON_C_TO_STRING_NOSLASHESCAPE),
				expected);
		json_object_put(found);
	}
}

#define PATH "/run/side-door-x/agents"

/* Adds a rendezvous socket from a user. */
static struct rendezvous *add(void)
{
	assert_int_equal(rendezvous_add(&daemon_of_test, UID, PID, STARTED, PATH, new_descriptor()),
			0);
	assert_non_null(daemon_of_test.rendezvous_list);
	return daemon_of_test.rendezvous_list;
}

/* ---- a new one ---- */

static void test_add(void **unused)
{
	struct rendezvous *rendezvous = add();

	(void)unused;
	assert_true(rendezvous->number == 1 && rendezvous->pid == PID &&
			rendezvous->started == STARTED && rendezvous->uid == UID &&
			rendezvous->is_foreign && !rendezvous->was_used &&
			rendezvous->dir == last_place && rendezvous->acceptor);
	assert_string_equal(rendezvous->path, PATH);
	assert_true(rendezvous->unused.base.is_set && rendezvous->unused.base.deadline == 60000);
	assert_int_equal(shares_used(&daemon_of_test.rendezvous_shares, UID), 1);
	check_file(".door-1", "{\"path\":\"" PATH "\",\"pid\":1234,\"started\":5678,\"uid\":47}");
	assert_false(is_there(".door-1.new"));
	assert_ptr_equal(rendezvous_of_watch(&daemon_of_test, &rendezvous->watch), rendezvous);
	assert_null(rendezvous_of_watch(&daemon_of_test, NULL));
	assert_string_equal(rendezvous_of_process(&daemon_of_test, PID), PATH);
	for (int i = 0; i < 4; i++) {
		((uint64_t *)&seen)[i] += 10;
		assert_string_equal(rendezvous_of_process(&daemon_of_test, PID), "");
		((uint64_t *)&seen)[i] -= 10;
	}
	arm("look", -ESRCH);
	assert_string_equal(rendezvous_of_process(&daemon_of_test, PID), "");
	assert_int_equal(rendezvous_accept(rendezvous, &rendezvous->watch),
			rendezvous->watch.fd + 1000);
	assert_int_equal(rendezvous_accept(NULL, &rendezvous->watch), rendezvous->watch.fd + 2000);
	rendezvous_listen_all(&daemon_of_test, true);
	assert_int_equal(rendezvous->watch.events, EPOLLIN);
	rendezvous_listen_all(&daemon_of_test, false);
	assert_int_equal(rendezvous->watch.events, 0);
	/* The next number is higher than all others. */
	rendezvous->number = 5;
	assert_int_equal(free_number(&daemon_of_test), 6);
	assert_int_equal(add()->number, 6);
	rendezvous->number = 9;
	assert_int_equal(free_number(&daemon_of_test), 10);
	(void)unlink(in_work(".door-6"));
	rendezvous_close_all(&daemon_of_test);
	assert_called("stop\nstop\n");
	assert_null(daemon_of_test.rendezvous_list);
}

static void check_not_added(const char *path, int expected, const char *closes)
{
	unsigned int open_before = resources_descriptors();

	assert_int_equal(rendezvous_add(&daemon_of_test, UID, PID, STARTED, path, new_descriptor()),
			expected);
	assert_called(closes);
	assert_null(daemon_of_test.rendezvous_list);
	assert_int_equal(shares_used(&daemon_of_test.rendezvous_shares, UID), 0);
	objects_free_unused(&daemon_of_test);
	assert_int_equal(objects_left(), 0);
	assert_int_equal(resources_descriptors(), open_before);
	assert_false(is_there(".door-1"));
	nr_starts = 0;
}

static void test_not_added(void **unused)
{
	static const char received[] = "handover_close\n";
	char path[RENDEZVOUS_PATH_SIZE + 1];

	(void)unused;
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[RENDEZVOUS_PATH_SIZE] = '\0';
	check_not_added(path, -EINVAL, received);
	is_listener = false;
	check_not_added(PATH, -EINVAL, received);
	is_listener = true;
	arm("look", -ESRCH);
	check_not_added(PATH, -ESRCH, received);
	arm("root", -EACCES);
	check_not_added(PATH, -EACCES, received);
	arm("place", -ENOENT);
	check_not_added(PATH, -ENOENT, received);
	starts[0] = STARTED + 1;
	check_not_added(PATH, -ESRCH, received);
	starts[0] = STARTED;
	arm("malloc", -ENOMEM);
	check_not_added(PATH, -ENOMEM, "close_listener\n");
	arm("acceptor", -EAGAIN);
	check_not_added(PATH, -EAGAIN, "close_listener\n");
	arm("loop_watch", -ENOSPC);
	check_not_added(PATH, -ENOSPC, "stop\n");
	assert_int_equal(rendezvous_add(&daemon_of_test, UID, PID, 0, PATH, new_descriptor()),
			-ESRCH);
	assert_called(received);
	/* The user's share is used up. */
	shares_charge(&daemon_of_test.rendezvous_shares, UID, LIMIT_RENDEZVOUS);
	assert_int_equal(rendezvous_add(&daemon_of_test, UID, PID, STARTED, PATH, new_descriptor()),
			-ENOSPC);
	assert_called("close_listener\n");
	shares_give_back(&daemon_of_test.rendezvous_shares, UID, LIMIT_RENDEZVOUS);
	/* The longest path. */
	path[RENDEZVOUS_PATH_SIZE - 1] = '\0';
	nr_starts = 0;
	assert_int_equal(rendezvous_add(&daemon_of_test, UID, PID, STARTED, path, new_descriptor()),
			0);
	assert_string_equal(daemon_of_test.rendezvous_list->path, path);
}

/* Without its file, a socket is used until the daemon exits. */
static void test_not_remembered(void **unused)
{
	static const char *const calls_of_all[] = {"path", "state_write", "rename"};

	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		arm(calls_of_all[i], -EIO);
		(void)add();
		assert_false(is_there(".door-1") || is_there(".door-1.new"));
		rendezvous_close_all(&daemon_of_test);
		objects_free_unused(&daemon_of_test);
		(void)rendezvous_open_all(&daemon_of_test);
		nr_starts = 0;
	}
	for (unsigned int i = 1; i < 6; i++) {
		failing_json = i;
		(void)add();
		assert_int_equal(failing_json, 0);
		assert_false(is_there(".door-1"));
		rendezvous_close_all(&daemon_of_test);
		objects_free_unused(&daemon_of_test);
		(void)rendezvous_open_all(&daemon_of_test);
		nr_starts = 0;
	}
	*calls = '\0';
}

static void destroy_nothing(struct daemon *daemon, struct sided_object *object)
{
	(void)daemon;
	(void)object;
}

/* ---- lifetime ---- */

static void test_life(void **unused)
{
	struct rendezvous *rendezvous = add();
	struct sided_program first = {.pid = PID, .uid = UID},
			     second = {.pid = PID + 1, .uid = UID};
	struct sided_agent agent = {.rendezvous = NULL};
	int fd;

	(void)unused;
	object_init(&first.object, destroy_nothing);
	object_init(&second.object, destroy_nothing);
	rendezvous_connected(&daemon_of_test, &agent, NULL);
	rendezvous_disconnected(&daemon_of_test, &agent);
	rendezvous_left(&daemon_of_test, &first);
	assert_true(rendezvous->unused.base.is_set);
	/* A connection, and then a program. */
	rendezvous_connected(&daemon_of_test, &agent, rendezvous);
	assert_true(agent.rendezvous == rendezvous && rendezvous->nr_connections == 1 &&
			!rendezvous->unused.base.is_set);
	rendezvous_disconnected(&daemon_of_test, &agent);
	assert_true(!agent.rendezvous && !rendezvous->nr_connections &&
			rendezvous->unused.base.deadline == 60000 &&
			rendezvous->unused.base.is_set);
	rendezvous_entered(&daemon_of_test, &first, rendezvous);
	assert_true(first.rendezvous == rendezvous && rendezvous->nr_programs == 1 &&
			rendezvous->was_used && !rendezvous->unused.base.is_set &&
			rendezvous->pid == PID);
	rendezvous_entered(&daemon_of_test, &first, rendezvous);
	assert_int_equal(rendezvous->nr_programs, 1);
	rendezvous_entered(&daemon_of_test, &second, rendezvous);
	assert_int_equal(rendezvous->nr_programs, 2);
	assert_int_equal(rendezvous->pid, PID);
	daemon_of_test.programs[5] = &second;
	/* The program by which the socket is found leaves: another one replaces it. */
	rendezvous_left(&daemon_of_test, &first);
	assert_true(!first.rendezvous && rendezvous->nr_programs == 1 &&
			rendezvous->pid == PID + 1 && rendezvous->started == STARTED + 1 &&
			!rendezvous->unused.base.is_set);
	check_file(".door-1", "{\"path\":\"" PATH "\",\"pid\":1235,\"started\":5679,\"uid\":47}");
	rendezvous_connected(&daemon_of_test, &agent, rendezvous);
	rendezvous_left(&daemon_of_test, &second);
	assert_true(!rendezvous->nr_programs && !rendezvous->unused.base.is_set &&
			rendezvous->pid == PID + 1);
	rendezvous_disconnected(&daemon_of_test, &agent);
	assert_true(rendezvous->unused.base.is_set && rendezvous->unused.base.deadline == 1000 &&
			rendezvous->unused.expired == is_unused);
	/* The first program is the one by which the socket is found. */
	rendezvous_entered(&daemon_of_test, &first, rendezvous);
	assert_true(rendezvous->pid == PID && rendezvous->started == STARTED);
	starts[2] = 0;
	rendezvous_left(&daemon_of_test, &first);
	rendezvous_entered(&daemon_of_test, &second, rendezvous);
	assert_int_equal(rendezvous->pid, PID);
	is_unused(&daemon_of_test, &rendezvous->unused);
	assert_false(rendezvous->object.is_closed);
	rendezvous_connected(&daemon_of_test, &agent, rendezvous);
	rendezvous_left(&daemon_of_test, &second);
	is_unused(&daemon_of_test, &rendezvous->unused);
	assert_false(rendezvous->object.is_closed);
	rendezvous_disconnected(&daemon_of_test, &agent);
	fd = open(in_work("side-door-x/agents"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	close(fd);
	assert_true(is_there("side-door-x/agents"));
	object_get(&rendezvous->object);
	is_unused(&daemon_of_test, &rendezvous->unused);
	assert_true(rendezvous->object.is_closed && !daemon_of_test.rendezvous_list &&
			!rendezvous->unused.base.is_set);
	assert_false(is_there("side-door-x") || is_there(".door-1"));
	assert_int_equal(shares_used(&daemon_of_test.rendezvous_shares, UID), 0);
	assert_called("stop\n");
	/* Closed once, and no program can enter it afterwards. */
	sided_rendezvous_close_rendezvous(&daemon_of_test, rendezvous);
	rendezvous_entered(&daemon_of_test, &first, rendezvous);
	assert_null(first.rendezvous);
	await_use(&daemon_of_test, rendezvous);
	assert_false(rendezvous->unused.base.is_set);
	object_put(&daemon_of_test, &rendezvous->object);
	daemon_of_test.programs[5] = NULL;
	object_close(&daemon_of_test, &first.object);
	object_close(&daemon_of_test, &second.object);
	objects_free_unused(&daemon_of_test);
}

/* ---- after a restart ---- */

static void write_state(const char *text)
{
	assert_int_equal(state_write(in_work(".door-7"), text, strlen(text)), 0);
	nr_starts = 0;
}

static void check_facts(const char *members, const char *expected)
{
	struct error error = {.kind = ERROR_NONE};
	struct rendezvous rendezvous = {.number = 1};
	struct json_object *facts = json_tokener_parse(members);
	int ret;

	assert_non_null(facts);
	ret = sided_rendezvous_parse_facts(facts, &rendezvous, &error);
	json_object_put(facts);
	assert_int_equal(!ret, !expected);
	if (expected)
		assert_string_equal(error.text, expected);
	else
		assert_true(rendezvous.pid == INT32_MAX && rendezvous.started == INT64_MAX &&
				rendezvous.uid == UINT32_MAX && !strcmp(rendezvous.path, "/x"));
}

static void test_facts(void **unused)
{
	static const char missing[] = "its path or its process is missing";

	(void)unused;
	check_facts("{\"path\":\"/x\",\"pid\":2147483647,\"started\":9223372036854775807,\"uid\":4294967295}",
			NULL);
	check_facts("{\"path\":\"/x\",\"pid\":2147483648,\"started\":1}",
			"\"pid\" is 2147483648, which is more than 2147483647");
	check_facts("{\"path\":\"/x\",\"pid\":1,\"started\":9223372036854775808}",
			"\"started\" is 9223372036854775808, which is more than 9223372036854775807");
	check_facts("{\"path\":\"/x\",\"pid\":1,\"started\":1,\"uid\":4294967296}",
			"\"uid\" is 4294967296, which is more than 4294967295");
	check_facts("{\"pid\":1,\"started\":1}", missing);
	check_facts("{\"path\":\"/x\",\"started\":1}", missing);
	check_facts("{\"path\":\"/x\",\"pid\":1}", missing);
}

#define FACTS(path) "{\"path\":\"" path "\",\"pid\":1234,\"started\":5678,\"uid\":47}"

static void test_restore(void **unused)
{
	struct rendezvous *rendezvous;

	(void)unused;
	write_state(FACTS(PATH));
	rendezvous_restore_all(&daemon_of_test);
	rendezvous = daemon_of_test.rendezvous_list;
	assert_non_null(rendezvous);
	assert_true(rendezvous->number == 7 && !rendezvous->is_foreign && !rendezvous->acceptor &&
			rendezvous->uid == UID && rendezvous->pid == PID &&
			rendezvous->dir == last_place && rendezvous->dir >= 0);
	assert_int_equal(rendezvous_accept(rendezvous, &rendezvous->watch),
			rendezvous->watch.fd + 2000);
	assert_called("listen_in\n");
	rendezvous_close_all(&daemon_of_test);
	objects_free_unused(&daemon_of_test);
	assert_called("close_listener\n");
	assert_true(is_there(".door-7"));
	(void)rendezvous_open_all(&daemon_of_test);
	/* An abstract name has no directory. */
	write_state(FACTS("@side-door-x"));
	rendezvous_restore_all(&daemon_of_test);
	assert_int_equal(daemon_of_test.rendezvous_list->dir, -1);
	assert_called("listen_nowhere\n");
	sided_rendezvous_remove_rendezvous(&daemon_of_test, daemon_of_test.rendezvous_list);
	assert_called("close_listener\n");
	assert_true(is_there("side-door-x") && !is_there(".door-7"));
	/* A damaged file. */
	write_state("{\"pid\":1}");
	rendezvous_restore_all(&daemon_of_test);
	assert_non_null(strstr(calls, "say(the rendezvous socket in "));
	assert_non_null(strstr(
			calls, "/.door-7 is removed: its path or its process is missing)\n"));
	assert_false(is_there(".door-7"));
	*calls = '\0';
}

static void check_closed(const char *error)
{
	char expected[300];

	assert_null(daemon_of_test.rendezvous_list);
	assert_false(is_there(".door-7"));
	assert_int_equal(!daemon_of_test.closed_list, !error);
	if (!error)
		return;
	(void)snprintf(expected, sizeof(expected),
			"say(programs in the mount namespace of process 1234 cannot reconnect: " PATH
			": %s)\n",
			error);
	assert_non_null(strstr(calls, expected));
	{
		struct json_object *list = rendezvous_closed_json(&daemon_of_test);

		(void)snprintf(expected, sizeof(expected),
				"[{\"pid\":1234,\"path\":\"" PATH "\",\"door\":\"" PATH
				"\",\"why\":\"%s\"}]",
				error);
		assert_non_null(list);
		assert_string_equal(json_object_to_json_string_ext(list,
						    JSON_C_TO_STRING_PLAIN |
								    JSON_C_TO_STRING_NOSLASHESCAPE),
				expected);
		json_object_put(list);
	}
	for (unsigned int i = 1; i <= 6; i++) {
		failing_json = i;
		assert_null(rendezvous_closed_json(&daemon_of_test));
		assert_int_equal(failing_json, 0);
	}
	/* The program is connected, or has exited. */
	for (int i = 0; i < 2; i++) {
		struct json_object *list;

		is_reachable = !i;
		starts[2] = STARTED + (uint64_t)i;
		nr_starts = 2;
		list = rendezvous_closed_json(&daemon_of_test);
		assert_non_null(list);
		assert_int_equal(json_object_array_length(list), 0);
		json_object_put(list);
	}
	is_reachable = false;
	starts[2] = STARTED;
	*calls = '\0';
	rendezvous_close_all(&daemon_of_test);
	assert_null(daemon_of_test.closed_list);
	(void)rendezvous_open_all(&daemon_of_test);
}

static void test_closed(void **unused)
{
	static const char *const steps[] = {"look", "root", "place", "listen", "loop_watch"};

	(void)unused;
	for (size_t i = 0; i < 5; i++) {
		write_state(FACTS(PATH));
		arm(steps[i], -EACCES);
		rendezvous_restore_all(&daemon_of_test);
		objects_free_unused(&daemon_of_test);
		check_closed("Permission denied");
		assert_int_equal(resources_descriptors(), nr_open);
	}
	/* Another process has the process ID, now or a moment later: nothing is reported. */
	for (int i = 0; i < 2; i++) {
		write_state(FACTS(PATH));
		starts[i] = STARTED + 1;
		rendezvous_restore_all(&daemon_of_test);
		starts[i] = STARTED;
		assert_called("");
		check_closed(NULL);
		assert_int_equal(resources_descriptors(), nr_open);
	}
	write_state(FACTS(PATH));
	arm("listen", -ESRCH);
	rendezvous_restore_all(&daemon_of_test);
	check_closed(NULL);
	*calls = '\0';
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
			TEST(test_add),
			TEST(test_not_added),
			TEST(test_not_remembered),
			TEST(test_life),
			TEST(test_facts),
			TEST(test_restore),
			TEST(test_closed),
	};
	int failed;

	alarm(50);
	if (!mkdtemp(work))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(work);
	return failed;
}
