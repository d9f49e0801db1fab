/* SPDX-License-Identifier: MIT */
/*
 * Copies of the agent for a program with another root directory: after a failed call, nothing is
 * left. The test includes the file, so that it can fail its calls.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "../resources.h"

#include "attach/parts.h"

static unsigned int failing_mode, failing_open,
		failing_status; /* the number of the call that fails; 0: none */
static time_t clock_s;
static uid_t user_id;

static bool is_due(unsigned int *number, int error)
{
	errno = error;
	return *number && !--*number;
}

static int played_mode(int fd, mode_t mode)
{
	CHECK(mode == 0755);
	return is_due(&failing_mode, EPERM) ? -1 : fchmod(fd, mode);
}

static int played_openat(int directory, const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	CHECK(flags ==
			(mode ? O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
			      : O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	CHECK(!mode || mode == 0700);
	return is_due(&failing_open, EMFILE) ? -1 : openat(directory, path, flags, mode);
}

static unsigned int failing_root, failing_write;
static bool no_root; /* no program has a root directory */

static int played_open(const char *path, int flags)
{
	bool is_root = !strncmp(path, "/proc/", 6);

	CHECK(flags == (is_root ? O_PATH | O_DIRECTORY | O_CLOEXEC : O_RDONLY | O_CLOEXEC));
	return is_root && (no_root || is_due(&failing_root, ESRCH)) ? -1 : open(path, flags);
}

static long played_syscall(long number, int root, const char *directory, const struct open_how *how,
		size_t size)
{
	CHECK(number == SYS_openat2 && root >= 0 && *directory == '/' && size == sizeof(*how));
	CHECK(how->flags == (O_PATH | O_DIRECTORY | O_CLOEXEC) && !how->mode);
	CHECK(how->resolve == (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS));
	return syscall(number, root, directory, how, size);
}

static unsigned int nr_interrupts;   /* the first calls, this many, end with EINTR */
static size_t most_bytes = SIZE_MAX; /* that one call writes at most */

static bool is_interrupted(void)
{
	errno = EINTR;
	return nr_interrupts && nr_interrupts--;
}

static ssize_t played_read(int fd, void *to, size_t size)
{
	return is_interrupted() ? -1 : read(fd, to, size);
}

static ssize_t played_write(int fd, const void *bytes, size_t size)
{
	if (is_interrupted())
		return -1;
	if (is_due(&failing_write, ENOSPC))
		return -1;
	errno = 0;
	return write(fd, bytes, size < most_bytes ? size : most_bytes);
}

static int played_lock(int fd, int operation)
{
	CHECK(operation == (LOCK_SH | LOCK_NB) || operation == (LOCK_EX | LOCK_NB));
	return flock(fd, operation);
}

static int played_status(int fd, struct stat *status)
{
	return is_due(&failing_status, EIO) ? -1 : fstat(fd, status);
}

static time_t played_time(time_t *result)
{
	CHECK(!result);
	return clock_s;
}

static uid_t played_user(void)
{
	return user_id;
}

#define open played_open
#define syscall(number, ...) played_syscall(number, __VA_ARGS__)
#define read played_read
#define write played_write
#define flock played_lock
#define fchmod played_mode
#define openat played_openat
#define fstat played_status
#define time played_time
#define geteuid played_user
#include "base/io.c"
#include "attach/copy.c"
#undef open
#undef syscall
#undef read
#undef write
#undef flock
#undef fchmod
#undef openat
#undef fstat
#undef time
#undef geteuid

static char folder[32], file[] = "/tmp/side-inject-XXXXXX";

static unsigned int count_entries(void)
{
	DIR *directory = opendir(folder);
	unsigned int nr = 0;

	CHECK(directory);
	while (readdir(directory))
		nr++;
	closedir(directory);
	return nr - 2;
}

/* The directory and the file are opened, and each gets its permissions. */
static void test_failures(void)
{
	struct inject_copy copy = {.directory = -1};

	for (unsigned int i = 1; i <= 4; i++) {
		failing_open = i <= 2 ? i : 0;
		failing_mode = i > 2 ? i - 2 : 0;
		CHECK(!attach_copy_create(&copy, getpid(), folder, "agent", file) &&
				!failing_open && !failing_mode);
		CHECK(copy.directory == -1 && copy.created_fd == -1 && !count_entries());
	}
	failing_mode = 1;
	{
		int location = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		CHECK(attach_copy_write_file(location, "agent", file) == -EPERM &&
				!count_entries());
		failing_open = 1;
		CHECK(attach_copy_write_file(location, "agent", file) == -EMFILE &&
				!count_entries());
		CHECK(attach_copy_write_file(location, "agent", "/nowhere") == -ENOENT &&
				!count_entries());
		close(location);
	}
	/* A file that cannot be written, and a program that has exited. */
	failing_write = 1;
	CHECK(!attach_copy_create(&copy, getpid(), folder, "agent", file) && !failing_write &&
			!count_entries());
	failing_root = 1;
	CHECK(!attach_copy_create(&copy, getpid(), folder, "agent", file) && !failing_root &&
			!count_entries());
	CHECK(copy.directory == -1 && copy.created_fd == -1 && !*copy.created_name);
	CHECK(attach_copy_create(&copy, getpid(), folder, "agent", file) && count_entries() == 1 &&
			!strncmp(copy.path_in_program, folder, strlen(folder)));
	inject_copy_remove(&copy);
	CHECK(!count_entries());
}

/*
 * Which directories may be removed: one of this user, which no process has locked, after a minute.
 */
static void test_abandoned(void)
{
	struct inject_copy copy = {.name = "agent",
			.directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	struct stat status;
	int fd;

	CHECK(!mkdirat(copy.directory, COPY_PREFIX "x", 0700));
	CHECK(!fstatat(copy.directory, COPY_PREFIX "x", &status, 0));
	clock_s = status.st_mtime + 59;
	attach_copy_remove_abandoned(&copy);
	CHECK(count_entries() == 1);
	clock_s++;
	user_id++;
	attach_copy_remove_abandoned(&copy);
	CHECK(count_entries() == 1);
	user_id--;
	failing_status = 1;
	attach_copy_remove_abandoned(&copy);
	CHECK(count_entries() == 1 && !failing_status);
	failing_open = 1;
	attach_copy_remove_abandoned(&copy);
	CHECK(count_entries() == 1 && !failing_open);
	fd = openat(copy.directory, COPY_PREFIX "x", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(fd >= 0 && !flock(fd, LOCK_SH));
	attach_copy_remove_abandoned(&copy);
	CHECK(count_entries() == 1);
	close(fd);
	attach_copy_remove_abandoned(&copy);
	CHECK(!count_entries());
	close(copy.directory);
	/* A directory that cannot be read is not searched. */
	copy.directory = -1;
	attach_copy_remove_abandoned(&copy);
}

/*
 * Empty files, and files of one byte, of one read, and of one more byte. An earlier errno is no
 * error.
 */
static void test_sizes(void)
{
	static char bytes[65537], copied[65538];
	static const size_t sizes[] = {0, 1, 65536, 65537};

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 + i / 256);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		char from[64];
		int to = openat(AT_FDCWD, folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), fd;

		(void)snprintf(from, sizeof(from), "%s/from", folder);
		fd = openat(AT_FDCWD, from, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
		CHECK(to >= 0 && fd >= 0 && write(fd, bytes, sizes[i]) == (ssize_t)sizes[i]);
		CHECK(!close(fd));
		errno = EIO;
		CHECK(!inject_copy_file(from, to));
		CHECK(pread(to, copied, sizeof(copied), 0) == (ssize_t)sizes[i] &&
				!memcmp(copied, bytes, sizes[i]));
		CHECK(!close(to) && !unlink(from));
	}
}

/*
 * Short writes are continued, signals interrupt no call, and a full file system in between is an
 * error.
 */
static void test_parts(void)
{
	static char bytes[65537], copied[65538];
	int to = openat(AT_FDCWD, folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), fd;
	char from[64];

	memset(bytes, 'a', sizeof(bytes));
	bytes[65536] = 'b';
	(void)snprintf(from, sizeof(from), "%s/from", folder);
	fd = openat(AT_FDCWD, from, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(to >= 0 && fd >= 0 && write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes));
	CHECK(!close(fd));
	most_bytes = 1000;
	errno = 0;
	CHECK(!inject_copy_file(from, to));
	CHECK(pread(to, copied, sizeof(copied), 0) == (ssize_t)sizeof(bytes) &&
			!memcmp(copied, bytes, sizeof(bytes)));
	most_bytes = SIZE_MAX;
	nr_interrupts = 3;
	CHECK(!ftruncate(to, 0) && !lseek(to, 0, SEEK_SET) && !inject_copy_file(from, to));
	CHECK(!nr_interrupts && pread(to, copied, sizeof(copied), 0) == (ssize_t)sizeof(bytes) &&
			!memcmp(copied, bytes, sizeof(bytes)));
	most_bytes = 1000;
	failing_write = 2;
	CHECK(inject_copy_file(from, to) == -ENOSPC && !failing_write);
	most_bytes = SIZE_MAX;
	CHECK(!close(to) && !unlink(from));
}

/* Each directory is tried once, in order. Files in one are removed before the next one is tried. */
static void test_directories(void)
{
	static const char *const names[] = {"/tmp", "/var/tmp", "/dev/shm", "/run", ""};
	struct inject_copy copy = {.directory = -1};
	char begin[64];
	unsigned int next = 0;

	while (inject_copy_make(&copy, getpid(), file)) {
		CHECK(copy.next > next && copy.next <= 5);
		next = copy.next;
		(void)snprintf(begin, sizeof(begin), "%s/side-agent-", names[next - 1]);
		CHECK(!strncmp(copy.path_in_program, begin, strlen(begin)));
		CHECK(!strcmp(strrchr(copy.path_in_program, '/'), strrchr(file, '/')));
		CHECK(!access(copy.path_in_program, X_OK));
		inject_copy_remove(&copy);
		CHECK(access(copy.path_in_program, F_OK) && copy.directory == -1 &&
				copy.created_fd == -1);
	}
	CHECK(next && copy.next == 5);
	no_root = true;
	copy = (struct inject_copy){.directory = -1};
	CHECK(!inject_copy_make(&copy, getpid(), file) && copy.next == 5);
	no_root = false;
	inject_copy_remove(&copy);
}

/* The new directory has descriptor 0, and then its parent directory has it. */
static void test_first_descriptor(void)
{
	struct inject_copy copy = {.directory = -1};
	int kept = fcntl(0, F_DUPFD_CLOEXEC, 10);
	bool is_made;

	CHECK(kept >= 10 && !close(0));
	is_made = attach_copy_create(&copy, getpid(), folder, "agent", file);
	CHECK(is_made && copy.created_fd == 0 && count_entries() == 1);
	inject_copy_remove(&copy);
	CHECK(!count_entries() && fcntl(0, F_GETFD) == -1);
	copy = (struct inject_copy){.created_fd = -1,
			.directory = openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	CHECK(copy.directory == 0);
	inject_copy_remove(&copy);
	CHECK(copy.directory == -1 && fcntl(0, F_GETFD) == -1);
	CHECK(dup2(kept, 0) == 0 && !close(kept));
}

int main(void)
{
	int fd = mkstemp(file);
	struct resources before = {0};

	strcpy(folder, "/tmp/side-inject-XXXXXX");
	CHECK(fd >= 0 && write(fd, "text", 4) == 4 && !close(fd) && mkdtemp(folder));
	user_id = geteuid();
	for (int round = 0; round < 3; round++) {
		test_failures();
		test_abandoned();
		test_sizes();
		test_parts();
		test_first_descriptor();
		if (round == 1)
			before = resources_now();
	}
	CHECK(resources_are_same(before, resources_now()));
	clock_s = time(NULL);
	test_directories();
	CHECK(!unlink(file) && !rmdir(folder));
	return 0;
}
