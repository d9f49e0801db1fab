/* SPDX-License-Identifier: MIT */
/*
 * The directory or name by which an attached program finds the socket of the recorder: the order of
 * directories, what a killed `side attach` has left, and failing calls. The test includes the file,
 * and replaces the clock, the user and some calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "programs/side/attach/attach.h"
#include "programs/common/message.h"

#include "../check.h"
#include "../resources.h"

static char reported[1024], opened[1024];
static time_t now;
static bool are_closed, is_rootless, has_no_random, cannot_chmod;
static int network;
static uid_t user_offset;

__attribute__((format(printf, 3, 4))) static int played_error(
		enum command_status status, const char *hint, const char *format, ...)
{
	va_list arguments;
	size_t used = (size_t)snprintf(reported, sizeof(reported), "%s|", hint ? hint : "");

	va_start(arguments, format);
	(void)vsnprintf(reported + used, sizeof(reported) - used, format, arguments);
	va_end(arguments);
	return (int)status;
}

static int played_root(pid_t pid)
{
	return is_rootless ? -EACCES : rendezvous_open_root(pid);
}

static int played_below(int root, const char *directory)
{
	CHECK(fcntl(root, F_GETFD) == FD_CLOEXEC);
	(void)snprintf(opened + strlen(opened), sizeof(opened) - strlen(opened), "%s ", directory);
	return are_closed ? -EACCES : rendezvous_open_below(root, directory);
}

static int played_network(pid_t pid)
{
	return network ? network : rendezvous_open_network(pid);
}

static ssize_t played_random(void *bytes, size_t size, unsigned int flags)
{
	CHECK(!flags);
	if (has_no_random) {
		errno = EAGAIN;
		return -1;
	}
	memcpy(bytes, "\xef\xcd\xab\x89\x67\x45\x23\x01", 8);
	return (ssize_t)size;
}

static int played_chmod(int fd, mode_t mode)
{
	return cannot_chmod ? -1 : fchmod(fd, mode);
}

static time_t played_time(time_t *unused)
{
	CHECK(!unused);
	return now;
}

static uid_t played_user(void)
{
	return geteuid() + user_offset;
}

#define message_error played_error
#define rendezvous_open_root played_root
#define rendezvous_open_below played_below
#define rendezvous_open_network played_network
#define getrandom played_random
#define fchmod played_chmod
#define time played_time
#define geteuid played_user
#include "programs/side/attach/attach-directory.c"
#undef message_error
#undef rendezvous_open_root
#undef rendezvous_open_below
#undef rendezvous_open_network
#undef getrandom
#undef fchmod
#undef time
#undef geteuid

static char folder[64];
static int parent;

static struct attached begin(void)
{
	*reported = *opened = '\0';
	return (struct attached){.pid = getpid(),
			.name = "kitchen",
			.dir = {.parent = -1, .own = -1, .network = -1}};
}

static bool exists(const char *name)
{
	struct stat status;

	return !fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW);
}

/* ---- directories ---- */

static void test_directory(void)
{
	struct attached attached = begin();
	struct attach_dir *dir = &attached.dir;
	char path[256];
	struct stat one, other;
	int fd;

	setenv("TMPDIR", folder, 1);
	CHECK(!attach_dir_find(&attached, "side-attach-", false) && !*reported);
	CHECK(dir->parent >= 0 && dir->own >= 0 && dir->network == -1);
	CHECK(!strncmp(dir->directory, "side-attach-", 12) && strlen(dir->directory) == 18 &&
			exists(dir->directory));
	(void)snprintf(path, sizeof(path), "%s/%s/agents", folder, dir->directory);
	CHECK(!strcmp(dir->theirs, path));
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/agents", dir->own);
	CHECK(!strcmp(dir->ours, path));
	CHECK(!fstat(dir->own, &one) && !fstatat(dir->parent, dir->directory, &other, 0) &&
			one.st_ino == other.st_ino && (one.st_mode & 07777) == 0711);
	/* It is locked as long as it is used. */
	fd = openat(parent, dir->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK &&
			!flock(fd, LOCK_SH | LOCK_NB));
	close(fd);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	close(fd);
	attach_dir_remove(&attached);
	CHECK(!exists(dir->directory) && dir->parent == -1 && dir->own == -1);
	attach_dir_remove(&attached);
	/* A directory that belongs to another process from now on stays. */
	CHECK(!attach_dir_find(&attached, "side-attach-", false));
	attach_dir_forget(&attached);
	CHECK(exists(dir->directory) && dir->parent == -1 && dir->own == -1);
	CHECK(!unlinkat(parent, dir->directory, AT_REMOVEDIR));
	unsetenv("TMPDIR");
}

/* The directories in the order in which they are tried. */
static bool tries(const char *variable, bool lasting, const char *wanted)
{
	struct attached attached = begin();

	if (variable)
		setenv("TMPDIR", variable, 1);
	are_closed = true;
	CHECK(!attach_dir_find(&attached, "side-door-", lasting) && attached.dir.parent == -1);
	are_closed = false;
	unsetenv("TMPDIR");
	CHECK(!strcmp(attached.dir.theirs, "@side-door-0123456789abcdef") &&
			!memcmp(attached.dir.ours, attached.dir.theirs, sizeof(attached.dir.ours)));
	CHECK(attached.dir.network >= 0 && attached.dir.own == -1);
	attach_dir_forget(&attached);
	CHECK(attached.dir.network == -1);
	if (!strcmp(opened, wanted))
		return true;
	(void)fprintf(stderr, "%s\n", opened);
	return false;
}

static void test_order(void)
{
	static const char most[] = "/a23456789012345678901234567890123456789";

	CHECK(tries(NULL, false, "/tmp /tmp /var/tmp /dev/shm /run "));
	CHECK(tries("/a", false, "/a /tmp /var/tmp /dev/shm /run "));
	CHECK(tries("a", false, "/tmp /tmp /var/tmp /dev/shm /run "));
	CHECK(strlen(most) == DIRECTORY_MAX &&
			tries(most, false, "/tmp /tmp /var/tmp /dev/shm /run "));
	CHECK(tries("/a2345678901234567890123456789012345678", false,
			"/a2345678901234567890123456789012345678 /tmp /var/tmp /dev/shm /run "));
	CHECK(tries("/a", true, "/run /dev/shm /tmp /var/tmp "));
	/* The root directory of the program cannot be opened: the one of this process is used. */
	is_rootless = true;
	CHECK(tries("/a", false, "/a /tmp /var/tmp /dev/shm /run "));
	is_rootless = false;
}

static void test_unreachable(void)
{
	static const int refusals[] = {-EPERM, -EACCES, -ENOENT};
	struct attached attached;
	char wanted[512];

	are_closed = true;
	for (int i = 0; i < 3; i++) {
		network = refusals[i];
		attached = begin();
		CHECK(attach_dir_find(&attached, "side-attach-", false) == COMMAND_FAILED);
		(void)snprintf(wanted, sizeof(wanted),
				"make one of these directories writable for it (a mount of type tmpfs is enough), or be root|cannot exchange files with %d (kitchen): you cannot write to /tmp, /var/tmp, /dev/shm and /run of its root directory, and must not enter its network namespace",
				getpid());
		CHECK(!strcmp(reported, wanted));
	}
	network = -EMFILE;
	attached = begin();
	CHECK(attach_dir_find(&attached, "side-attach-", false) == COMMAND_FAILED);
	(void)snprintf(wanted, sizeof(wanted),
			"|cannot create a socket where %d (kitchen) sees it: no directory is writable, and in its network namespace: Too many open files",
			getpid());
	CHECK(!strcmp(reported, wanted));
	attach_dir_forget(&attached);
	network = 0;
	has_no_random = true;
	attached = begin();
	CHECK(attach_dir_find(&attached, "side-attach-", false) == COMMAND_FAILED &&
			strstr(reported,
					"in its network namespace: Resource temporarily unavailable"));
	attach_dir_forget(&attached);
	has_no_random = are_closed = false;
}

/* A directory that cannot be given to the user is removed, and its parent is closed. */
static void test_not_own(void)
{
	struct attach_dir dir = {.parent = -1, .own = -1};
	char name[64], link[128];
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	cannot_chmod = true;
	CHECK(attach_dir_create_private(parent, "side-attach-", name) == -1 && !exists(name));
	CHECK(!attach_dir_create(&dir, root, folder, "side-attach-") && dir.parent == -1 &&
			dir.own == -1);
	cannot_chmod = false;
	user_offset = 1;
	CHECK(attach_dir_create_private(parent, "side-attach-", name) == -1 && !exists(name));
	user_offset = 0;
	CHECK(attach_dir_create_private(-1, "side-attach-", name) == -1);
	CHECK(!attach_dir_create(&dir, root, "/nowhere", "side-attach-"));
	/* No file is opened through a link. */
	(void)snprintf(link, sizeof(link), "%s/link", folder);
	CHECK(!symlink(folder, link) && attach_dir_open_private(parent, "link") == -1 &&
			!unlink(link));
	close(root);
}

/* ---- directories of killed processes ---- */

enum socket_state { SOCKET_NONE, SOCKET_REFUSED, SOCKET_LISTENS };

/* Whether a directory of that name is removed, whose last change was that many seconds ago. */
static bool is_removed(const char *name, time_t age, enum socket_state state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timespec times[2] = {{.tv_sec = now - age}, {.tv_sec = now - age}};
	int fd = -1;
	bool was_removed;

	CHECK(!mkdirat(parent, name, 0700));
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s/agents", folder, name);
	if (state != SOCKET_NONE) {
		fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		CHECK(fd >= 0 && !bind(fd, (struct sockaddr *)&address, sizeof(address)));
		if (state == SOCKET_LISTENS)
			CHECK(!listen(fd, 1));
	}
	CHECK(!utimensat(parent, name, times, 0));
	attach_dir_remove_abandoned(parent);
	was_removed = !exists(name);
	if (fd >= 0)
		close(fd);
	if (!was_removed && state != SOCKET_NONE)
		CHECK(!unlink(address.sun_path));
	CHECK(was_removed || !unlinkat(parent, name, AT_REMOVEDIR));
	return was_removed;
}

static void test_abandoned(void)
{
	char path[128];
	struct stat status;
	int fd, other;

	now = 2000000000;
	/* Without a socket, a directory that is a minute old. */
	CHECK(!is_removed("side-attach-a", 59, SOCKET_NONE) &&
			is_removed("side-attach-a", 60, SOCKET_NONE));
	CHECK(is_removed("side-attach-a", 0, SOCKET_REFUSED) &&
			!is_removed("side-attach-a", 100000, SOCKET_LISTENS));
	/* A rendezvous socket stays for a day without a daemon. */
	CHECK(!is_removed("side-door-a", 86399, SOCKET_NONE) &&
			is_removed("side-door-a", 86400, SOCKET_NONE));
	CHECK(!is_removed("side-door-a", 86399, SOCKET_REFUSED) &&
			is_removed("side-door-a", 86400, SOCKET_REFUSED) &&
			!is_removed("side-door-a", 100000, SOCKET_LISTENS));
	/* Directories with other names do not belong to side. */
	CHECK(!is_removed("side-attac", 100000, SOCKET_NONE) &&
			!is_removed("other-side-attach-", 100000, SOCKET_NONE));
	user_offset = 1;
	CHECK(!is_removed("side-attach-a", 100000, SOCKET_NONE));
	user_offset = 0;
	/* A link stays, and so does its target. */
	(void)snprintf(path, sizeof(path), "%s/side-attach-link", folder);
	CHECK(!mkdirat(parent, "used", 0700) && !symlink("used", path));
	attach_dir_remove_abandoned(parent);
	CHECK(exists("side-attach-link") && exists("used") && !unlink(path) &&
			!unlinkat(parent, "used", AT_REMOVEDIR));
	/* A directory that another process has locked stays, too. */
	CHECK(!mkdirat(parent, "side-attach-a", 0700) &&
			!fstatat(parent, "side-attach-a", &status, 0));
	fd = attach_dir_open_private(parent, "side-attach-a");
	other = attach_dir_open_private(parent, "side-attach-a");
	now = status.st_mtime + 60;
	CHECK(fd >= 0 && other >= 0 && !flock(other, LOCK_SH) &&
			!attach_dir_is_abandoned(fd, false));
	CHECK(!flock(other, LOCK_UN) && attach_dir_is_abandoned(fd, false));
	close(other);
	now--;
	CHECK(!attach_dir_is_abandoned(fd, false));
	close(fd);
	CHECK(!attach_dir_is_abandoned(fd, false) &&
			!unlinkat(parent, "side-attach-a", AT_REMOVEDIR));
	/* No directory. */
	attach_dir_remove_abandoned(-1);
}

/* ---- the user ---- */

static void test_user(void)
{
	int ends[2], status;
	pid_t child;

	CHECK(attach_user_of(getpid()) == geteuid() && attach_user_of(INT32_MAX) == 0);
	if (geteuid())
		return;
	/* The effective user, which may differ from the real one. */
	CHECK(!pipe(ends));
	child = fork();
	if (!child) {
		CHECK(!setresuid(11, 22, 33) && write(ends[1], "", 1) == 1);
		close(ends[1]);
		for (;;)
			pause();
	}
	close(ends[1]);
	CHECK(read(ends[0], &(char){0}, 1) == 1 && attach_user_of(child) == 22);
	close(ends[0]);
	kill(child, SIGKILL);
	CHECK(waitpid(child, &status, 0) == child);
}

int main(void)
{
	struct resources before = {0};

	(void)snprintf(folder, sizeof(folder), "/tmp/side-place-XXXXXX");
	CHECK(mkdtemp(folder));
	parent = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	now = time(NULL);
	for (int round = 0; round < 3; round++) {
		test_directory();
		test_order();
		test_unreachable();
		test_not_own();
		test_abandoned();
		test_user();
		if (round == 1)
			before = resources_now();
	}
	CHECK(resources_are_same(before, resources_now()));
	close(parent);
	CHECK(!rmdir(folder));
	return 0;
}
