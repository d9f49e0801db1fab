/* SPDX-License-Identifier: MIT */
/*
 * The runtime directory: its directories, lock, sockets and serial, sockets from systemd, and each
 * call that fails. The test includes runtime.c, and plays the loop. All files are in a directory of
 * the test.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../called.h"
#include "../resources.h"
#include "played-loop.h"
#include "recorder/core/peer.h"
#include "protocol/runtime.h"

static char work[] = "/tmp/side-runtime-XXXXXX";
static char run[64]; /* the runtime directory */
static struct daemon the_daemon;
static struct error the_error;
static const char *failing;        /* the call that fails, or NULL, */
static unsigned int failing_after; /* after so many of its calls, */
static int failing_error;          /* with this error */

static const char *loop_name(const struct sided_watch *watch)
{
	return watch == &the_daemon.control_listener ? "control" : "agents";
}

void clients_ready(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	(void)daemon;
	(void)watch;
	(void)events;
}

void agents_ready(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	(void)daemon;
	(void)watch;
	(void)events;
}

static bool fails(const char *name)
{
	if (!failing || strcmp(failing, name) != 0 || failing_after--)
		return false;
	failing = NULL;
	errno = failing_error;
	return true;
}

static void fail_call(const char *name, unsigned int after, int error)
{
	failing = name;
	failing_after = after;
	failing_error = error;
}

static const char *variables[4]; /* SIDE_RUNTIME, LISTEN_PID, LISTEN_FDS, NOTIFY_SOCKET */
static const char *const variable_names[] = {
		"SIDE_RUNTIME", "LISTEN_PID", "LISTEN_FDS", "NOTIFY_SOCKET"};

/* Other variables are not played: a file that tests/mutate has changed reads a variable itself. */
static char *played_getenv(const char *name)
{
	for (int i = 0; i < 4; i++)
		if (!strcmp(name, variable_names[i]))
			return (char *)(uintptr_t)variables[i];
	return getenv(name);
}

static void played_unsetenv(const char *name)
{
	called("unset(%s) ", name);
}

static struct group group_of_test = {.gr_gid = 12345};
static bool has_group;
static uid_t owner_of_test = (uid_t)-1; /* the owner of each file; -1: unchanged */
static gid_t changed_group;

static struct group *played_group(const char *name)
{
	assert_string_equal(name, "tracing");
	called("group ");
	return has_group ? &group_of_test : NULL;
}

static int played_directory(char *path, size_t capacity, bool system)
{
	assert_true(capacity == 256 && !system);
	*path = '\0';
	if (fails("directory"))
		return -failing_error;
	strcpy(path, run);
	return 0;
}

static int played_check(const char *path)
{
	return fails("check") ? -failing_error : wire_runtime_check(path);
}

static int played_lstat(const char *path, struct stat *ret_status)
{
	int ret = fails("lstat") ? -1 : lstat(path, ret_status);

	if (!ret && owner_of_test != (uid_t)-1)
		ret_status->st_uid = owner_of_test;
	return ret;
}

static int played_chown(const char *path, uid_t uid, gid_t gid)
{
	assert_true(uid == (uid_t)-1 && strstr(path, "control.sock.new"));
	changed_group = gid;
	return fails("chown") ? -1 : 0;
}

static ssize_t played_random(void *to, size_t size, unsigned int flags)
{
	assert_true(size == 8 && flags == GRND_NONBLOCK);
	memset(to, 0xab, size);
	return fails("getrandom") ? 7 : 8;
}

static socklen_t nr_groups;
static gid_t groups_of_test[4096];

static int played_option(int fd, int level, int name, void *to, socklen_t *size)
{
	if (fails("getsockopt"))
		return -1;
	if (name != SO_PEERGROUPS)
		return getsockopt(fd, level, name, to, size);
	assert_true(level == SOL_SOCKET && *size == 4096 * sizeof(gid_t));
	*size = nr_groups * (socklen_t)sizeof(gid_t);
	memcpy(to, groups_of_test, *size);
	return 0;
}

#define wire_runtime_directory(path, capacity, system) played_directory(path, capacity, system)
#define wire_runtime_check(path) played_check(path)
#define getenv(name) played_getenv(name)
#define unsetenv(name) played_unsetenv(name)
#define getgrnam(name) played_group(name)
#define mkdir(path, mode) (fails("mkdir") ? -1 : mkdir(path, mode))
#define chmod(path, mode) (fails("chmod") ? -1 : chmod(path, mode))
#define lstat(path, status) played_lstat(path, status)
#define flock(fd, operation) (fails("flock") ? -1 : flock(fd, operation))
#define ftruncate(fd, size) (fails("ftruncate") ? -1 : ftruncate(fd, size))
#define pwrite(fd, text, size, offset) (fails("pwrite") ? -1 : pwrite(fd, text, size, offset))
#define socket(family, type, protocol) (fails("socket") ? -1 : socket(family, type, protocol))
#define bind(fd, address, size) (fails("bind") ? -1 : bind(fd, address, size))
#define listen(fd, backlog) (fails("listen") || (backlog) != 1024 ? -1 : listen(fd, backlog))
#define rename(from, to) (fails("rename") ? -1 : rename(from, to))
#define chown(path, uid, gid) played_chown(path, uid, gid)
#define getrandom(to, size, flags) played_random(to, size, flags)
#define getsockopt(fd, level, name, to, size) played_option(fd, level, name, to, size)
#include "programs/sided/runtime.c"
#undef getenv
#undef mkdir
#undef chmod
#undef lstat
#undef flock
#undef socket
#undef bind
#undef listen
#undef rename
#undef getsockopt

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

static int begin(void **state)
{
	(void)state;
	(void)nftw(work, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	assert_int_equal(mkdir(work, 0700), 0);
	(void)snprintf(run, sizeof(run), "%s/run", work);
	the_daemon = (struct daemon){.lock_fd = -1, .group = (gid_t)-1, .serial = 77};
	the_daemon.control_listener.fd = the_daemon.agents_listener.fd = -1;
	the_error = (struct error){.kind = ERROR_NONE};
	memset(variables, 0, sizeof(variables));
	failing = failing_watch = NULL;
	has_group = false;
	owner_of_test = (uid_t)-1;
	changed_group = 0;
	*calls = '\0';
	return 0;
}

static const char *in_run(const char *name)
{
	static char paths[4][128];
	static unsigned int next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof(*paths), "%s/%s", run, name);
	return path;
}

static bool exists(const char *path)
{
	return !access(path, F_OK);
}

static unsigned int mode_of(const char *path)
{
	struct stat status;

	assert_int_equal(lstat(path, &status), 0);
	return status.st_mode & 07777;
}

/* Replaces %s in `format` by the runtime directory. */
__attribute__((format(printf, 4, 5))) static void check_error(
		enum error_kind kind, int code, const char *hint, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	assert_string_equal(the_error.text, text);
	assert_string_equal(the_error.hint, hint);
	assert_int_equal(the_error.kind, kind);
	assert_int_equal(the_error.code, code);
	the_error = (struct error){.kind = ERROR_NONE};
}

/* ---- The directory ---- */

static void test_paths(void **state)
{
	char path[20];

	(void)state;
	strcpy(the_daemon.runtime, "/12345678");
	assert_true(runtime_path(&the_daemon, path, sizeof(path), "%s%d", "12345678", 9));
	assert_string_equal(path, "/12345678/123456789");
	assert_false(runtime_path(&the_daemon, path, sizeof(path), "%s%d", "12345678", 90));
	assert_true(runtime_path(&the_daemon, path, 11, "%s", ""));
	assert_false(runtime_path(&the_daemon, path, 10, "%s", ""));
	assert_false(runtime_path(&the_daemon, path, 11, "%s", "x"));
}

static void test_choice(void **state)
{
	char longest[82];

	(void)state;
	assert_int_equal(sided_runtime_choose_directory(&the_daemon, NULL, &the_error), 0);
	assert_string_equal(the_daemon.runtime, run);
	variables[0] = "/from/variable";
	assert_int_equal(sided_runtime_choose_directory(&the_daemon, NULL, &the_error), 0);
	assert_string_equal(the_daemon.runtime, run);
	assert_int_equal(sided_runtime_choose_directory(&the_daemon, "/given", &the_error), 0);
	assert_string_equal(the_daemon.runtime, "/given");
	the_daemon.system = true;
	assert_int_equal(sided_runtime_choose_directory(&the_daemon, "/given2", &the_error), 0);
	assert_string_equal(the_daemon.runtime, "/given2");
	assert_int_equal(sided_runtime_choose_directory(&the_daemon, NULL, &the_error), 0);
	assert_string_equal(the_daemon.runtime, "/from/variable");
	variables[0] = NULL;
	assert_int_equal(sided_runtime_choose_directory(&the_daemon, NULL, &the_error), 0);
	assert_string_equal(the_daemon.runtime, "/run/side");
	the_daemon.system = false;
	/* A variable that is not an absolute path. */
	variables[0] = "relative";
	fail_call("directory", 0, EINVAL);
	assert_int_equal(sided_runtime_choose_directory(&the_daemon, NULL, &the_error), -EINVAL);
	check_error(ERROR_FAILED, -EINVAL, "",
			"cannot use the runtime directory relative: Invalid argument");
	variables[0] = NULL;
	fail_call("directory", 0, ENAMETOOLONG);
	assert_int_equal(sided_runtime_choose_directory(&the_daemon, NULL, &the_error),
			-ENAMETOOLONG);
	check_error(ERROR_FAILED, -ENAMETOOLONG, "",
			"cannot use the runtime directory : File name too long");
	assert_int_equal(sided_runtime_choose_directory(&the_daemon, "given", &the_error), -EINVAL);
	check_error(ERROR_USAGE, -EINVAL, "",
			"the runtime directory given is not an absolute path");
	memset(longest, '/', sizeof(longest));
	longest[79] = '\0';
	assert_int_equal(sided_runtime_choose_directory(&the_daemon, longest, &the_error), 0);
	assert_string_equal(the_daemon.runtime, longest);
	longest[79] = '/';
	longest[80] = '\0';
	assert_int_equal(sided_runtime_choose_directory(&the_daemon, longest, &the_error),
			-ENAMETOOLONG);
	check_error(ERROR_USAGE, -ENAMETOOLONG, "name a shorter one with --runtime",
			"the runtime directory %s has more than 79 bytes, which is too long for the path of a socket",
			longest);
}

static void close_lock(void)
{
	if (the_daemon.lock_fd >= 0)
		close(the_daemon.lock_fd);
	the_daemon.lock_fd = -1;
}

static void test_directories(void **state)
{
	static const struct {
		bool system, any_user;
		unsigned int mode;
	} cases[] = {{false, false, 0700}, {false, true, 0711}, {true, true, 0755}};
	unsigned int before = resources_descriptors();
	mode_t mask = umask(077);
	char text[32], number[32];

	(void)state;
	for (int i = 0; i < 3; i++) {
		the_daemon.system = cases[i].system;
		the_daemon.any_user = cases[i].any_user;
		has_group = i == 2;
		assert_int_equal(runtime_open(&the_daemon, run, &the_error), 0);
		assert_called(i == 2 ? "group " : "");
		assert_int_equal(the_daemon.group, i == 2 ? 12345 : (gid_t)-1);
		assert_int_equal(mode_of(run), cases[i].mode);
		assert_int_equal(mode_of(in_run("sessions")), cases[i].mode);
		assert_int_equal(mode_of(in_run("state")), 0700);
		assert_int_equal(mode_of(in_run("places")), 0700);
		memset(text, 0, sizeof(text));
		assert_true(pread(the_daemon.lock_fd, text, sizeof(text), 0) > 0);
		(void)snprintf(number, sizeof(number), "%d\n", getpid());
		assert_string_equal(text, number);
		/* The next daemon writes its process ID over a longer text. */
		assert_int_equal(pwrite(the_daemon.lock_fd, "123456789012345\n", 16, 0), 16);
		close_lock();
	}
	has_group = false;
	umask(mask);
	/* Without the group of the system's daemon. */
	assert_int_equal(runtime_open(&the_daemon, run, &the_error), 0);
	assert_int_equal(the_daemon.group, (gid_t)-1);
	close_lock();
	assert_int_equal(runtime_open(&the_daemon, "x", &the_error), -EINVAL);
	assert_true(the_daemon.lock_fd < 0);
	/* Each call that fails, for the directory and for one in it. */
	for (unsigned int i = 0; i < 2; i++) {
		const char *path = i ? in_run("sessions") : run;

		fail_call("mkdir", i, EROFS);
		assert_int_equal(runtime_open(&the_daemon, run, &the_error), -EROFS);
		check_error(ERROR_FAILED, -EROFS, "",
				"cannot make the directory %s: Read-only file system", path);
		fail_call("check", i, ENOTDIR);
		assert_int_equal(runtime_open(&the_daemon, run, &the_error), -ENOTDIR);
		check_error(ERROR_FAILED, -ENOTDIR, "",
				"cannot use the directory %s: Not a directory", path);
		fail_call("chmod", i, EACCES);
		assert_int_equal(runtime_open(&the_daemon, run, &the_error), -EACCES);
		check_error(ERROR_PERMISSION, -EACCES, "",
				"cannot set the mode of %s: Permission denied", path);
	}
	/* A path below the directory that is too long. */
	memset(the_daemon.runtime, '/', sizeof(the_daemon.runtime) - 1);
	assert_true(the_daemon.lock_fd < 0);
	assert_int_equal(resources_descriptors(), before);
}

static void test_trust(void **state)
{
	char hint[128];

	(void)state;
	assert_int_equal(mkdir(run, 0700), 0);
	/* Other users can write to it. */
	assert_int_equal(chmod(run, 0720), 0);
	assert_int_equal(sided_runtime_make_directory(run, 0700, &the_error), -EPERM);
	(void)snprintf(hint, sizeof(hint), "`chmod go-w %s`", run);
	check_error(ERROR_PERMISSION, -EPERM, hint,
			"cannot use the directory %s: other users can write to it", run);
	owner_of_test = 0;
	assert_int_equal(sided_runtime_make_directory(run, 0700, &the_error), -EPERM);
	check_error(ERROR_PERMISSION, -EPERM, hint,
			"cannot use the directory %s: other users can write to it", run);
	owner_of_test = geteuid() + 5;
	assert_int_equal(sided_runtime_make_directory(run, 0700, &the_error), -EPERM);
	(void)snprintf(hint, sizeof(hint), "`rm -r %s`, or name another one with --runtime", run);
	check_error(ERROR_PERMISSION, -EPERM, hint,
			"cannot use the directory %s: it belongs to user %u", run, geteuid() + 5);
	fail_call("lstat", 0, ESTALE);
	assert_int_equal(sided_runtime_make_directory(run, 0700, &the_error), -ESTALE);
	check_error(ERROR_FAILED, -ESTALE, "", "cannot use the directory %s: Stale file handle",
			run);
	assert_int_equal(mode_of(run), 0720);
}

/* ---- The lock ---- */

static void check_locked(const char *text, const char *process)
{
	static const char hint[] =
			"use that daemon, or stop it first, or name another directory with --runtime";
	int fd = open(in_run("sided.pid"), O_RDWR | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0 && !flock(fd, LOCK_EX));
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(runtime_open(&the_daemon, run, &the_error), -EBUSY);
	check_error(ERROR_BUSY, -EBUSY, hint, "a daemon serves %s already: process %s", run,
			process);
	assert_int_equal(the_daemon.lock_fd, -1);
	close(fd);
}

static void test_lock(void **state)
{
	unsigned int before = resources_descriptors();
	const char *path;

	(void)state;
	assert_int_equal(runtime_open(&the_daemon, run, &the_error), 0);
	assert_int_equal(mode_of(in_run("sided.pid")) & 0600, 0600);
	close_lock();
	check_locked("4711\n", "4711");
	check_locked("", "unknown");
	check_locked("x4711\n", "unknown");
	check_locked("1234567890123456789012345678901234\n", "1234567890123456789012345678901");
	path = in_run("sided.pid");
	fail_call("flock", 0, ENOLCK);
	assert_int_equal(runtime_open(&the_daemon, run, &the_error), -ENOLCK);
	check_error(ERROR_FAILED, -ENOLCK, "", "cannot lock %s: No locks available", path);
	assert_int_equal(the_daemon.lock_fd, -1);
	for (int i = 0; i < 2; i++) {
		fail_call(i ? "pwrite" : "ftruncate", 0, ENOSPC);
		assert_int_equal(runtime_open(&the_daemon, run, &the_error), -ENOSPC);
		check_error(ERROR_FAILED, -ENOSPC, "", "cannot write %s: No space left on device",
				path);
		close_lock();
	}
	/* A symbolic link from another user is not followed. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("other", path), 0);
	assert_int_equal(runtime_open(&the_daemon, run, &the_error), -ELOOP);
	check_error(ERROR_FAILED, -ELOOP, "", "cannot open %s: Too many levels of symbolic links",
			path);
	assert_false(exists(in_run("other")));
	assert_int_equal(resources_descriptors(), before);
}

/* ---- Sockets ---- */

static void close_sockets(void)
{
	if (the_daemon.control_listener.fd >= 0)
		close(the_daemon.control_listener.fd);
	if (the_daemon.agents_listener.fd >= 0)
		close(the_daemon.agents_listener.fd);
	the_daemon.control_listener.fd = the_daemon.agents_listener.fd = -1;
	*calls = '\0';
}

static bool listens_at(int fd)
{
	int value = 0;
	socklen_t size = sizeof(value);

	return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) && value;
}

#define UNSET "unset(LISTEN_PID) unset(LISTEN_FDS) unset(LISTEN_FDNAMES) "
#define WATCHED UNSET "watch(control,1) watch(agents,1) "

static void test_sockets(void **state)
{
	static const char *const names[] = {"agents.sock", "control.sock"};
	unsigned int before = resources_descriptors();

	(void)state;
	strcpy(the_daemon.runtime, run);
	assert_int_equal(mkdir(run, 0700), 0);
	for (int i = 0; i < 2; i++) {
		the_daemon.any_user = i;
		the_daemon.group = i ? 12345 : (gid_t)-1;
		assert_int_equal(runtime_listen(&the_daemon, &the_error), 0);
		assert_called(WATCHED);
		assert_true(the_daemon.control_is_ours && the_daemon.agents_is_ours);
		/* The serial exists before the sockets do. */
		assert_int_equal(unlink(in_run("serial")), 0);
		assert_int_equal(mode_of(in_run("agents.sock")), i ? 0666 : 0600);
		assert_int_equal(mode_of(in_run("control.sock")), i ? 0660 : 0600);
		assert_int_equal(changed_group, i ? 12345 : 0);
		assert_false(exists(in_run("agents.sock.new")) ||
				exists(in_run("control.sock.new")));
		assert_true(listens_at(the_daemon.control_listener.fd) &&
				listens_at(the_daemon.agents_listener.fd));
		assert_true(fcntl(the_daemon.control_listener.fd, F_GETFL) & O_NONBLOCK);
		assert_true(fcntl(the_daemon.control_listener.fd, F_GETFD) & FD_CLOEXEC);
		assert_true(the_daemon.control_listener.ready == clients_ready &&
				the_daemon.agents_listener.ready == agents_ready);
		assert_true(the_daemon.agents_refuse_fds ==
				peer_refuses_fds(the_daemon.agents_listener.fd));
		close_sockets();
	}
	/*
	 * Each call that fails, for the first and for the second socket. Everything that was
	 * created is closed.
	 */
	for (unsigned int i = 0; i < 2; i++) {
		static const char *const listening[] = {"bind", "chmod", "listen", "rename"};

		fail_call("socket", i, EMFILE);
		assert_int_equal(open_sockets(&the_daemon, &the_error), -EMFILE);
		check_error(ERROR_FAILED, -EMFILE, "",
				"cannot make a socket in %s: Too many open files", run);
		for (unsigned int k = 0; k < 4; k++) {
			fail_call(listening[k], i, EACCES);
			assert_int_equal(open_sockets(&the_daemon, &the_error), -EACCES);
			check_error(ERROR_PERMISSION, -EACCES, "",
					"cannot listen at %s: Permission denied", in_run(names[i]));
		}
	}
	fail_call("chown", 0, EPERM);
	assert_int_equal(open_sockets(&the_daemon, &the_error), -EPERM);
	check_error(ERROR_PERMISSION, -EPERM, "", "cannot listen at %s: Operation not permitted",
			in_run("control.sock"));
	*calls = '\0';
	failing_watch = "control";
	assert_int_equal(open_sockets(&the_daemon, &the_error), -ENOSPC);
	assert_called(UNSET "watch(control,1) ");
	check_error(ERROR_FAILED, -ENOSPC, "", "cannot listen in %s: No space left on device", run);
	failing_watch = "agents";
	assert_int_equal(open_sockets(&the_daemon, &the_error), -ENOSPC);
	assert_called(WATCHED);
	check_error(ERROR_FAILED, -ENOSPC, "", "cannot listen in %s: No space left on device", run);
	/* The caller exits, which closes the sockets. */
	for (int fd = 3; resources_descriptors() > before && fd < 64; fd++)
		if (listens_at(fd))
			close(fd);
	assert_int_equal(resources_descriptors(), before);
}

/* The longest directory, and one byte more. */
static void test_long(void **state)
{
	char *path = the_daemon.runtime;
	int fd = -1;

	(void)state;
	memset(path, '/', sizeof(the_daemon.runtime) - 1);
	memcpy(path, work, strlen(work));
	assert_int_equal(sided_runtime_listen(&the_daemon, "123456789012345678901234", 0600,
					 (gid_t)-1, &fd, &the_error),
			-ENAMETOOLONG);
	check_error(ERROR_FAILED, -ENAMETOOLONG, "",
			"cannot use the directory %s: File name too long", path);
	assert_int_equal(fd, -1);
	assert_int_equal(sided_runtime_listen(&the_daemon, "12345678901234567890123", 0600,
					 (gid_t)-1, &fd, &the_error),
			0);
	close(fd);
}

/* Creates a descriptor with this number: a socket that listens below the runtime directory. */
static void hand_over(int number, const char *name, int type)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
	unlink(name);
	assert_true(fd >= 0 && !bind(fd, (struct sockaddr *)&address, sizeof(address)));
	if (type != SOCK_DGRAM)
		assert_int_equal(listen(fd, 5), 0);
	if (fd != number) {
		assert_int_equal(dup2(fd, number), number);
		close(fd);
	}
	assert_int_equal(fcntl(number, F_SETFD, 0), 0);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void test_activation(void **state)
{
	char pid[16], other[16];
	int saved[16], control, agents;

	(void)state;
	strcpy(the_daemon.runtime, run);
	assert_int_equal(mkdir(run, 0700), 0);
	(void)snprintf(pid, sizeof(pid), "%d", getpid());
	(void)snprintf(other, sizeof(other), "%d", getpid() + 1);
	/* Saves the test's own descriptors with these numbers, and restores them later. */
	for (int i = 0; i < 16; i++) {
		saved[i] = is_open(3 + i) ? fcntl(3 + i, F_DUPFD_CLOEXEC, 100) : -1;
		if (saved[i] >= 0)
			close(3 + i);
	}
	for (int round = 0; round < 5; round++) {
		hand_over(3, in_run("control.sock"), SOCK_SEQPACKET);
		hand_over(4, in_run("control.sock.new"), SOCK_SEQPACKET);
		hand_over(5, in_run("agents.sock.new"), SOCK_SEQPACKET);
		assert_int_equal(rename(in_run("agents.sock.new"), in_run("agents.sock")), 0);
		hand_over(6, in_run("control2.sock"), SOCK_STREAM);
		hand_over(7, in_run("agents.sock2"), SOCK_SEQPACKET);
		variables[1] = round == 1 ? other : round == 2 ? NULL : pid;
		variables[2] = round == 3 ? NULL : round == 4 ? "2" : "5";
		control = agents = -1;
		take_sockets(&the_daemon, &control, &agents);
		assert_called(UNSET);
		if (round == 0) {
			assert_true(control == 3 && agents == 5 && is_open(3) && !is_open(4) &&
					is_open(5) && !is_open(6) && !is_open(7));
			assert_true(fcntl(3, F_GETFD) == FD_CLOEXEC &&
					fcntl(5, F_GETFD) == FD_CLOEXEC);
			assert_true(fcntl(5, F_GETFL) & O_NONBLOCK);
			/* The daemon uses both and does not remove them. */
			for (int i = 3; i < 6; i += 2)
				assert_int_equal(fcntl(i, F_SETFD, 0), 0);
			assert_int_equal(open_sockets(&the_daemon, &the_error), 0);
			assert_false(the_daemon.control_is_ours || the_daemon.agents_is_ours);
			assert_true(the_daemon.control_listener.fd == 3 &&
					the_daemon.agents_listener.fd == 5);
			assert_called(WATCHED);
			runtime_close(&the_daemon);
			assert_true(exists(in_run("control.sock")) &&
					exists(in_run("agents.sock")));
		} else if (round == 4) {
			assert_true(control == 3 && agents == -1 && is_open(3) && !is_open(4) &&
					is_open(5));
		} else {
			assert_true(control == -1 && agents == -1);
		}
		for (int i = 3; i < 8; i++) {
			assert_true(round == 0 || round == 4 || is_open(i));
			close(i);
		}
	}
	/* 16 descriptors at most. */
	for (int i = 3; i < 20; i++)
		assert_int_equal(dup2(2, i), i);
	variables[1] = pid;
	variables[2] = "17";
	take_sockets(&the_daemon, &control, &agents);
	for (int i = 3; i < 20; i++)
		assert_true(is_open(i) == (i == 19));
	close(19);
	for (int i = 0; i < 16; i++) {
		if (saved[i] < 0)
			continue;
		assert_int_equal(dup2(saved[i], 3 + i), 3 + i);
		close(saved[i]);
	}
	*calls = '\0';
}

static const char *name_at(const char *path, int type)
{
	static char name[128];
	int fd = 40;

	hand_over(fd, path, type);
	memset(name, 'x', sizeof(name));
	socket_name(&the_daemon, fd, name, sizeof(name));
	close(fd);
	return name;
}

static void test_names(void **state)
{
	char beside[96];

	(void)state;
	strcpy(the_daemon.runtime, run);
	assert_int_equal(mkdir(run, 0700), 0);
	(void)snprintf(beside, sizeof(beside), "%s2", run);
	assert_string_equal(name_at(in_run("one"), SOCK_SEQPACKET), "one");
	assert_string_equal(name_at(in_run("one"), SOCK_STREAM), "");
	assert_string_equal(name_at(beside, SOCK_SEQPACKET), "");
	(void)snprintf(beside, sizeof(beside), "%s/ru", work);
	assert_string_equal(name_at(beside, SOCK_SEQPACKET), "");
	/* The name without ".new" counts, and only if it is a socket. */
	assert_string_equal(name_at(in_run("two.new"), SOCK_SEQPACKET), "");
	assert_int_equal(rename(in_run("two.new"), in_run("two")), 0);
	assert_string_equal(name_at(in_run("two.new"), SOCK_SEQPACKET), "two");
	assert_string_equal(name_at(in_run(".new"), SOCK_SEQPACKET), ".new");
	assert_int_equal(unlink(in_run("two")), 0);
	assert_int_equal(mkdir(in_run("two"), 0700), 0);
	assert_string_equal(name_at(in_run("two.new"), SOCK_SEQPACKET), "");
	fail_call("getsockopt", 0, ENOTSOCK);
	assert_string_equal(name_at(in_run("one"), SOCK_SEQPACKET), "");
}

/* ---- The serial, and the end ---- */

static void check_serial(const char *expected)
{
	char text[64] = "";

	(void)!readlink(in_run("serial"), text, sizeof(text) - 1);
	assert_string_equal(text, expected);
}

static void test_serial(void **state)
{
	(void)state;
	strcpy(the_daemon.runtime, run);
	/* Without the directory it cannot be created. */
	runtime_publish(&the_daemon);
	assert_int_equal(mkdir(run, 0700), 0);
	the_daemon.identity = 0;
	fail_call("getrandom", 0, EAGAIN);
	runtime_publish(&the_daemon);
	check_serial("");
	assert_true(!the_daemon.identity);
	runtime_publish(&the_daemon);
	check_serial("abababababababab-77");
	the_daemon.identity = 0x1234;
	the_daemon.serial = UINT64_MAX;
	runtime_publish(&the_daemon);
	check_serial("0000000000001234-18446744073709551615");
	the_daemon.identity = 0;
	fail_call("getrandom", 0, EAGAIN);
	runtime_publish(&the_daemon);
	check_serial("");
}

static void test_close(void **state)
{
	static const char *const names[] = {"control.sock", "agents.sock", "serial", "sided.pid"};

	(void)state;
	for (unsigned int i = 0; i < 16; i++) {
		unsigned int before = resources_descriptors();
		bool control = i & 1, agents = i & 2, systemd = i & 4, lock = i & 8;

		(void)nftw(run, remove_one, 8, FTW_DEPTH | FTW_PHYS);
		assert_int_equal(runtime_open(&the_daemon, run, &the_error), 0);
		for (int k = 0; k < 3; k++)
			assert_int_equal(symlink("x", in_run(names[k])), 0);
		the_daemon.control_is_ours = control;
		the_daemon.agents_is_ours = agents;
		variables[3] = systemd ? "/none" : NULL;
		if (!lock)
			close_lock();
		runtime_close(&the_daemon);
		for (int k = 0; k < 4; k++) {
			struct stat status;
			bool is_removed = k == 0 ? control && !systemd
					: k == 1 ? agents && !systemd
						 : lock;

			assert_true(!!lstat(in_run(names[k]), &status) == is_removed);
		}
		assert_int_equal(resources_descriptors(), before);
		the_daemon.lock_fd = -1;
	}
}

/* ---- Other processes ---- */

static void test_peers(void **state)
{
	struct peer peer = {.gid = 5};
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(runtime_peer(pair[0], &peer), 0);
	assert_true(peer.pid == getpid() && peer.uid == geteuid() && peer.gid == getegid());
	fail_call("getsockopt", 0, ENOTSOCK);
	assert_int_equal(runtime_peer(pair[0], &peer), -ENOTSOCK);
	peer.gid = 5;
	nr_groups = 0;
	assert_false(runtime_peer_in_group(pair[0], &peer, (gid_t)-1));
	assert_true(runtime_peer_in_group(pair[0], &peer, 5));
	assert_false(runtime_peer_in_group(pair[0], &peer, 6));
	nr_groups = 3;
	groups_of_test[0] = 7;
	groups_of_test[2] = 8;
	groups_of_test[3] = 9;
	assert_true(runtime_peer_in_group(pair[0], &peer, 7));
	assert_true(runtime_peer_in_group(pair[0], &peer, 8));
	assert_false(runtime_peer_in_group(pair[0], &peer, 9));
	fail_call("getsockopt", 0, ERANGE);
	assert_false(runtime_peer_in_group(pair[0], &peer, 7));
	peer.gid = (gid_t)-1;
	assert_false(runtime_peer_in_group(pair[0], &peer, (gid_t)-1));
	nr_groups = 4096;
	groups_of_test[4095] = 10;
	assert_true(runtime_peer_in_group(pair[0], &peer, 10));
	close(pair[0]);
	close(pair[1]);
}

/* Receives the next datagram. Returns the number of its descriptors, which are closed. */
static int receive(int fd, char text[512])
{
	char control[128];
	struct iovec iov = {.iov_base = text, .iov_len = 511};
	struct msghdr message = {.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof(control)};
	ssize_t size = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = size >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
	int received;

	if (size < 0)
		return -1;
	text[size] = '\0';
	if (!header)
		return 0;
	assert_true(header->cmsg_len == CMSG_LEN(sizeof(int)));
	memcpy(&received, CMSG_DATA(header), sizeof(int));
	close(received);
	return 1;
}

static void test_notify(void **state)
{
	unsigned int before = resources_descriptors();
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char text[512], longest[300], path[128];
	int fd = -1;

	(void)state;
	/* No process listens, or the name is invalid. */
	notify("READY=1");
	variables[3] = "relative";
	notify("READY=1");
	variables[3] = "";
	notify("READY=1");
	memset(longest, 'x', sizeof(longest));
	longest[299] = '\0';
	for (int i = 0; i < 3; i++) {
		socklen_t size = sizeof(address);

		/* A path; the longest path; an abstract name. */
		memset(path, '/', sizeof(path));
		memcpy(path, work, strlen(work));
		(void)snprintf(path + (i == 1 ? 105 : strlen(work)), 20, "/n");
		path[107] = '\0';
		if (i == 2)
			path[0] = '@';
		memcpy(address.sun_path, path, sizeof(address.sun_path));
		if (i == 2) {
			address.sun_path[0] = '\0';
			size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
		}
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		assert_true(fd >= 0 && !bind(fd, (struct sockaddr *)&address, size));
		variables[3] = path;
		notify("READY=1");
		assert_int_equal(receive(fd, text), 0);
		assert_string_equal(text, "READY=1");
		notify(longest);
		assert_int_equal(receive(fd, text), 0);
		assert_int_equal(strlen(text), 255);
		notify_store(2, "control");
		assert_int_equal(receive(fd, text), 1);
		assert_string_equal(text, "FDSTORE=1\nFDNAME=control");
		notify_store(0, "agents");
		assert_int_equal(receive(fd, text), 1);
		assert_string_equal(text, "FDSTORE=1\nFDNAME=agents");
		fail_call("socket", 0, EMFILE);
		notify("READY=1");
		assert_int_equal(receive(fd, text), -1);
		if (i == 1) {
			path[107] = 'n';
			path[108] = '\0';
			notify("READY=1");
			assert_int_equal(receive(fd, text), -1);
		}
		close(fd);
		if (i < 2)
			unlink(address.sun_path);
	}
	assert_int_equal(resources_descriptors(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup(test_paths, begin),
			cmocka_unit_test_setup(test_choice, begin),
			cmocka_unit_test_setup(test_directories, begin),
			cmocka_unit_test_setup(test_trust, begin),
			cmocka_unit_test_setup(test_lock, begin),
			cmocka_unit_test_setup(test_sockets, begin),
			cmocka_unit_test_setup(test_long, begin),
			cmocka_unit_test_setup(test_activation, begin),
			cmocka_unit_test_setup(test_names, begin),
			cmocka_unit_test_setup(test_serial, begin),
			cmocka_unit_test_setup(test_close, begin),
			cmocka_unit_test_setup(test_peers, begin),
			cmocka_unit_test_setup(test_notify, begin),
	};
	int ret;

	if (!mkdtemp(work))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	(void)nftw(work, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return ret;
}
