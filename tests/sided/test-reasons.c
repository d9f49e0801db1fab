/* SPDX-License-Identifier: MIT */
/*
 * Decisions of the daemon in rare conditions: which idle connection is closed, why a program does
 * not answer, why a directory is refused, and how descriptors are closed if a thread cannot be
 * started. The files are included, and the test plays their calls.
 */
#include <stdio.h>
#include <stdlib.h>

int sided_main(int argc, char **argv);

#define main sided_main
#include "programs/sided/main.c"
#undef main

#include <semaphore.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../check.h"
#include "../resources.h"
#include "recorder/core/peer.h"
#include "recorder/core/shares.h"
#include "recorder/core/thread.h"

static char work[] = "/tmp/side-reasons-XXXXXX";

static void check_text(const char *found, const char *expected)
{
	if (strcmp(found, expected) != 0) {
		fprintf(stderr, "%s instead of %s\n", found, expected);
		abort();
	}
}

static const char *in_work(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", work, name);
	return path;
}

/* ---- played calls ---- */

static int lstat_error, chmod_error, thread_error;
static uid_t owner;
static const char *status_text, *tracer_name;
static bool owns_table;

static int played_lstat(const char *path, struct stat *status)
{
	check_text(path, "/the/path");
	errno = lstat_error;
	*status = (struct stat){.st_uid = owner, .st_mode = S_IFDIR | 0777};
	return lstat_error ? -1 : 0;
}

static int played_chmod(const char *path, mode_t mode)
{
	errno = chmod_error;
	return chmod_error ? -1 : chmod(path, mode);
}

static FILE *played_fopen(const char *path, const char *mode)
{
	const char *text = !strcmp(path, "/proc/471/status") ? status_text
			: !strcmp(path, "/proc/88/comm")     ? tracer_name
							     : NULL;

	check_text(mode, "re");
	return text ? fmemopen((void *)(uintptr_t)text, strlen(text), "r") : NULL;
}

static int played_thread(pthread_t *thread, size_t size, void *(*each)(void *), void *user);

#define lstat played_lstat
#define chmod played_chmod
#include "programs/sided/runtime.c"
#undef lstat
#undef chmod
#define fopen played_fopen
#include "programs/sided/programs.c"
#undef fopen
#define thread_start played_thread
#include "programs/sided/handover.c"
#undef thread_start
#include "programs/sided/clients.c"

/* ---- connections ---- */

#define NR 7

static struct client clients[NR];
static int peers[NR];

static void make_clients(void)
{
	static const struct {
		uid_t uid;
		uint64_t heard;
	} each[NR] = {{1, 50}, {4, 20}, {2, 10}, {2, 5}, {4, 8}, {3, 30}, {4, 9}};

	for (int i = 0; i < NR; i++) {
		int pair[2];

		CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
		clients[i] = (struct client){.peer = {.uid = each[i].uid},
				.heard = each[i].heard,
				.watch = {.fd = pair[0]},
				.next = i + 1 < NR ? &clients[i + 1] : NULL};
		peers[i] = pair[1];
	}
}

static void close_clients(void)
{
	for (int i = 0; i < NR; i++) {
		close(clients[i].watch.fd);
		close(peers[i]);
	}
}

/* Returns the index of the connection that is closed for a new one of this user; -1: none. */
static int give_way(const struct daemon *daemon, uid_t uid)
{
	const struct client *client = oldest_idle_of_largest_user(daemon, uid);

	return client ? (int)(client - clients) : -1;
}

static void test_shares(void)
{
	struct daemon daemon = {.clients = clients};
	struct shares *shares = &daemon.client_shares;
	struct frame_out *out = &clients[4].out;
	char byte;

	make_clients();
	shares_init(shares, 40, 5, 0);
	CHECK(shares->floor == 4);
	shares_charge(shares, 1, 4);
	/* A floor, and one more. */
	CHECK(give_way(&daemon, 9) == -1);
	shares_charge(shares, 1, 1);
	CHECK(give_way(&daemon, 9) == 0);
	/* Of two users with the same number of connections, the first one that is found. */
	shares_charge(shares, 2, 7);
	shares_charge(shares, 4, 7);
	clients[3].busy = true;
	CHECK(give_way(&daemon, 9) == 4);
	CHECK(give_way(&daemon, 1) == 4);
	CHECK(give_way(&daemon, 2) == 4);
	shares_charge(shares, 8, 8);
	CHECK(give_way(&daemon, 8) == -1);
	shares_give_back(shares, 8, 1);
	CHECK(give_way(&daemon, 8) == 4);
	/* A busy connection is not closed, so its user does not count. */
	shares_charge(shares, 3, 9);
	clients[5].busy = true;
	CHECK(give_way(&daemon, 9) == 4);
	CHECK(give_way(&daemon, 3) == -1);
	clients[5].busy = false;
	CHECK(give_way(&daemon, 9) == 5);
	clients[5].busy = true;
	/* The idle connection that has been silent for the longest time. */
	clients[4].subscribed = true;
	CHECK(give_way(&daemon, 9) == 6);
	clients[4].subscribed = false;
	clients[4].last = true;
	CHECK(give_way(&daemon, 9) == 6);
	clients[4].last = false;
	out->first = (struct frame_message *)(void *)&byte;
	CHECK(give_way(&daemon, 9) == 6);
	out->first = NULL;
	CHECK(write(peers[4], "x", 1) == 1);
	CHECK(give_way(&daemon, 9) == 6);
	CHECK(read(clients[4].watch.fd, &byte, 1) == 1);
	CHECK(give_way(&daemon, 9) == 4);
	clients[6].heard = 8;
	CHECK(give_way(&daemon, 9) == 6);
	shares_free(shares);
	close_clients();
}

/* ---- programs ---- */

static void test_programs(void)
{
	static const struct {
		const char *status, *tracer, *why;
	} each[] = {{"Name:\ta\nState:\tS (sleeping)\nTracerPid:\t0\n", "gdb\n", "not answering"},
			{"Name:\ta\nState:\tT (stopped)\nTracerPid:\t0\n", "gdb\n",
					"stopped by a signal"},
			{"Name:\ta\nState:\tt (tracing stop)\nTracerPid:\t0\n", "gdb\n",
					"stopped by a signal"},
			{"Name:\ta\nState:\tD (disk sleep)\nTracerPid:\t0\n", "gdb\n",
					"waiting for a device"},
			{"Name:\ta\nState:\tT (stopped)\nTracerPid:\t88\n", "gdb\n",
					"being debugged by 88 (gdb)"},
			{"Name:\ta\nState:\tT (stopped)\nTracerPid:\t88\n",
					"a-name-of-more-than-forty-bytes-in-the-file\n",
					"being debugged by 88 (a-name-of-more-than-forty-bytes-in-the-f)"},
			{"Name:\ta\nState:\tS (sleeping)\nTracerPid:\t88\n", NULL,
					"being debugged by 88 (unknown)"},
			{"Name:\ta\nState:\tS (sleeping)\nTracerPid:\t88\n", "\n",
					"being debugged by 88 (unknown)"},
			{NULL, "gdb\n", "not answering"}};
	const struct sided_program program = {.pid = 471};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		char why[128] = "";

		status_text = each[i].status;
		tracer_name = each[i].tracer;
		find_reason(&program, why, sizeof(why));
		check_text(why, each[i].why);
	}
}

/* ---- the directory ---- */

static void check_error(
		const struct error *error, int kind, int code, const char *text, const char *hint)
{
	check_text(error->text, text);
	check_text(error->hint, hint);
	CHECK(error->kind == (enum error_kind)kind);
	CHECK(error->code == code);
}

static void test_directory(void)
{
	struct error error;
	char text[512];

	owner = geteuid();
	CHECK(fail_trust("/the/path", &error) == -EPERM);
	check_error(&error, ERROR_PERMISSION, -EPERM,
			"cannot use the directory /the/path: other users can write to it",
			"`chmod go-w /the/path`");
	owner = 0;
	CHECK(fail_trust("/the/path", &error) == -EPERM);
	check_error(&error, ERROR_PERMISSION, -EPERM,
			"cannot use the directory /the/path: other users can write to it",
			"`chmod go-w /the/path`");
	owner = geteuid() + 4711;
	snprintf(text, sizeof(text), "cannot use the directory /the/path: it belongs to user %u",
			owner);
	CHECK(fail_trust("/the/path", &error) == -EPERM);
	check_error(&error, ERROR_PERMISSION, -EPERM, text,
			"`rm -r /the/path`, or name another one with --runtime");
	lstat_error = ENOENT;
	CHECK(fail_trust("/the/path", &error) == -ENOENT);
	check_error(&error, ERROR_FAILED, -ENOENT,
			"cannot use the directory /the/path: No such file or directory", "");
	lstat_error = EACCES;
	CHECK(fail_trust("/the/path", &error) == -EACCES);
	check_error(&error, ERROR_PERMISSION, -EACCES,
			"cannot use the directory /the/path: Permission denied", "");
	lstat_error = EPERM;
	CHECK(fail_trust("/the/path", &error) == -EPERM);
	check_error(&error, ERROR_PERMISSION, -EPERM,
			"cannot use the directory /the/path: Operation not permitted", "");
	lstat_error = 0;
	/* The steps that create one. */
	CHECK(sided_runtime_make_directory(in_work("none/below"), 0700, &error) == -ENOENT);
	snprintf(text, sizeof(text), "cannot make the directory %s: No such file or directory",
			in_work("none/below"));
	check_error(&error, ERROR_FAILED, -ENOENT, text, "");
	chmod_error = EROFS;
	CHECK(sided_runtime_make_directory(in_work("made"), 0700, &error) == -EROFS);
	snprintf(text, sizeof(text), "cannot set the mode of %s: Read-only file system",
			in_work("made"));
	check_error(&error, ERROR_FAILED, -EROFS, text, "");
	chmod_error = 0;
	CHECK(!sided_runtime_make_directory(in_work("made"), 0700, &error));
	CHECK(!mknod(in_work("file"), S_IFREG | 0600, 0));
	CHECK(sided_runtime_make_directory(in_work("file"), 0700, &error) == -ENOTDIR);
	snprintf(text, sizeof(text), "cannot use the directory %s: Not a directory",
			in_work("file"));
	check_error(&error, ERROR_FAILED, -ENOTDIR, text, "");
	CHECK(!rmdir(in_work("made")) && !unlink(in_work("file")));
}

/* ---- a thread that cannot be started, or without a descriptor table of its own ---- */

static int played_thread(pthread_t *thread, size_t size, void *(*each)(void *), void *user)
{
	struct handover *handover = user;

	CHECK(!thread && size == STACK_SIZE && each == handover_run);
	if (thread_error)
		return thread_error;
	handover->owns_table = owns_table;
	CHECK(!sem_post(&handover->has_two));
	return 0;
}

static void test_thread(int error, bool owns)
{
	struct handover *handover = calloc(1, sizeof(*handover));
	unsigned int before = resources_descriptors();
	int released = 0, pair[2];

	CHECK(handover && !sem_init(&handover->has_two, 0, 0) &&
			!sem_init(&handover->is_released, 0, 0));
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	handover->client = pair[0];
	handover->result = pair[1];
	thread_error = error;
	owns_table = owns;
	handover_start(&handover->deferred);
	CHECK(resources_descriptors() == before);
	CHECK(atomic_load(&handover->is_done) == (error != 0));
	CHECK(!sem_getvalue(&handover->is_released, &released) && released == !error);
	handover_free(handover);
}

int main(void)
{
	alarm(50);
	if (!mkdtemp(work))
		return 1;
	test_shares();
	test_programs();
	test_directory();
	test_thread(-EAGAIN, false);
	test_thread(0, false);
	test_thread(0, true);
	CHECK(!rmdir(work));
	return 0;
}
