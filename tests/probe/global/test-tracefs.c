/* SPDX-License-Identifier: MIT */
/*
 * Where tracefs is found, who owns its definitions, and which are removed. The test includes the
 * file and simulates the system.
 */
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../check.h"
#include "../../failing-calls.h"
#include "../../resources.h"
#include "probe/uprobe/global.h"
#include "probe/uprobe/parts.h"

/* ---- the system ---- */

static char calls[4096];
static char folder[] = "/tmp/side-tracefs-XXXXXX"; /* has definitions */
static char empty[] = "/tmp/side-tracefs-XXXXXX";  /* has none */
static struct {
	const char *path, *leads_to; /* NULL: opening returns `error` */
	int error;
} paths[4];
static const char *mount_list; /* NULL: the list cannot be read */
static const char *status_of_77;
static int write_permission, fsopen_error, fsconfig_error, fsmount_error, definitions_error;
static const char *hidden; /* the directory that is mounted */
static bool is_short, has_no_stream, avoids_zero;
static unsigned int nr_interrupts; /* so many calls return EINTR first */
static uid_t user;

static void note(const char *text)
{
	CHECK(strlen(calls) + strlen(text) + 2 < sizeof(calls));
	strcat(strcat(calls, text), "\n");
}

static int play_open(const char *path, int flags)
{
	CHECK(flags == (O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	note(path);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		if (!paths[i].path || strcmp(paths[i].path, path))
			continue;
		errno = paths[i].error;
		return paths[i].leads_to ? open(paths[i].leads_to, flags) : -1;
	}
	errno = ENOENT;
	return -1;
}

static int text_file(const char *text)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	if (avoids_zero && !fd) {
		fd = fcntl(0, F_DUPFD_CLOEXEC, 3);
		close(0);
	}
	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
			!lseek(fd, 0, SEEK_SET));
	return fd;
}

static int play_openat(int at, const char *path, int flags)
{
	if (!strcmp(path, "/proc/77/stat")) {
		CHECK(flags == (O_RDONLY | O_CLOEXEC));
		errno = ENOENT;
		return status_of_77 ? text_file(status_of_77) : -1;
	}
	if (definitions_error && (flags & O_ACCMODE) == O_WRONLY) {
		errno = definitions_error;
		return -1;
	}
	CHECK(flags == (O_RDONLY | O_CLOEXEC) || flags == (O_WRONLY | O_APPEND | O_CLOEXEC));
	return openat(at, path, flags);
}

static bool is_interrupted(void)
{
	errno = EINTR;
	return nr_interrupts && nr_interrupts--;
}

static ssize_t play_read(int fd, void *to, size_t size)
{
	return is_interrupted() ? -1 : read(fd, to, size);
}

static ssize_t play_write(int fd, const char *text, size_t size)
{
	CHECK(size == strlen(text));
	if (is_interrupted())
		return -1;
	if (!is_short)
		return write(fd, text, size);
	errno = EIO;
	return (ssize_t)size - 1;
}

static int play_access(int fd, const char *name, int mode, int flags)
{
	CHECK(!strcmp(name, "uprobe_events") && flags == (mode == W_OK ? AT_EACCESS : 0));
	if (mode == W_OK && write_permission) {
		errno = write_permission;
		return -1;
	}
	return faccessat(fd, name, F_OK, 0);
}

static FILE *play_mounts(const char *path, const char *mode)
{
	CHECK(!strcmp(path, "/proc/self/mounts") && !strcmp(mode, "re"));
	note("mounts");
	return mount_list ? fdopen(text_file(mount_list), "r") : NULL;
}

static long play_syscall(long number, ...)
{
	int context,
			error = number == SYS_fsopen ? fsopen_error
			: number == SYS_fsconfig     ? fsconfig_error
						     : fsmount_error;
	va_list list;

	va_start(list, number);
	if (number == SYS_fsopen) {
		note("fsopen");
		CHECK(!strcmp(va_arg(list, const char *), "tracefs") && va_arg(list, int) == 1);
	} else {
		context = va_arg(list, int);
		CHECK(fcntl(context, F_GETFD) >= 0);
		note(number == SYS_fsconfig ? "fsconfig" : "fsmount");
		if (number == SYS_fsconfig)
			CHECK(va_arg(list, int) == 6 && !va_arg(list, void *) &&
					!va_arg(list, void *) && !va_arg(list, int));
		else
			CHECK(number == SYS_fsmount && va_arg(list, int) == 1 &&
					!va_arg(list, int));
	}
	va_end(list);
	errno = error;
	if (error)
		return -1;
	if (number == SYS_fsconfig)
		return 0;
	return number == SYS_fsopen ? text_file("")
				    : open(hidden, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static FILE *play_fdopen(int fd, const char *mode)
{
	CHECK(!strcmp(mode, "r"));
	errno = ENOMEM;
	return has_no_stream ? NULL : fdopen(fd, mode);
}

static uid_t play_user(void)
{
	return user;
}

#define open play_open
#define openat play_openat
#define read play_read
#define write play_write
#define faccessat play_access
#define setmntent play_mounts
#define fdopen play_fdopen
#define syscall play_syscall
#define geteuid play_user
#include "base/io.c"
#include "probe/uprobe/tracefs.c"
#undef open
#undef openat
#undef read
#undef write
#undef faccessat
#undef setmntent
#undef fdopen
#undef syscall
#undef geteuid

static void expect_calls(const char *wanted)
{
	if (strcmp(calls, wanted))
		fprintf(stderr, "%s\ninstead of\n%s\n", calls, wanted);
	CHECK(!strcmp(calls, wanted));
}

/* ---- finding tracefs ---- */

static struct error error;

#define STANDARD "/sys/kernel/tracing"

static void begin(void)
{
	memset(paths, 0, sizeof(paths));
	memset(&error, 0, sizeof(error));
	mount_list = "";
	user = 0;
	write_permission = fsconfig_error = fsmount_error = definitions_error = 0;
	fsopen_error = EPERM;
	hidden = folder;
	is_short = false;
	*calls = '\0';
}

static void leads(unsigned int index, const char *path, const char *to, int code)
{
	paths[index].path = path;
	paths[index].leads_to = to;
	paths[index].error = code;
}

/* Checks which directory with definitions is found. */
static void expect_found(const char *wanted)
{
	unsigned int before = resources_descriptors();
	struct stat one, other;
	int fd;

	*calls = '\0';
	fd = global_tracefs_open(&error);
	CHECK(fd >= 0 && !fstat(fd, &one) && !stat(folder, &other) && one.st_ino == other.st_ino);
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC && !close(fd) && resources_descriptors() == before);
	expect_calls(wanted);
}

static void expect_missing(int code, const char *text, const char *hint, const char *wanted)
{
	unsigned int before = resources_descriptors();

	memset(&error, 0, sizeof(error));
	*calls = '\0';
	CHECK(global_tracefs_open(&error) == code && !strcmp(error.text, text) &&
			!strcmp(error.hint, hint));
	CHECK(resources_descriptors() == before);
	expect_calls(wanted);
}

#define HINT "run as root (or root gives this user's group write permission in /sys/kernel/tracing)"
#define NOT_MOUNTED "tracefs is not mounted here, and this process may not mount it"
#define NO_PERMISSION "no permission to write to tracefs"

static void finding(void)
{
	begin();
	leads(0, STANDARD, folder, 0);
	expect_found(STANDARD "\n");
	/* The first mount that has definitions. */
	mount_list = "proc /proc proc rw 0 0\nnone /a debugfs rw 0 0\nnone /b tracefs rw 0 0\nnone /c tracefs rw 0 0\nnone /d tracefs rw 0 0\n";
	leads(0, STANDARD, empty, 0);
	leads(1, "/c", folder, 0);
	leads(2, "/d", folder, 0);
	leads(3, "/b", empty, 0);
	expect_found(STANDARD "\nmounts\n/a/tracing\n/b\n/c\n");
	leads(3, "/a/tracing", folder, 0);
	expect_found(STANDARD "\nmounts\n/a/tracing\n");
	/* A detached mount. */
	begin();
	fsopen_error = 0;
	expect_found(STANDARD "\nmounts\nfsopen\nfsconfig\nfsmount\n");
	mount_list = NULL;
	expect_found(STANDARD "\nmounts\nfsopen\nfsconfig\nfsmount\n");
	hidden = empty;
	expect_missing(-ENOTSUP, "the kernel has no uprobes in tracefs (CONFIG_UPROBE_EVENTS)", "",
			STANDARD "\nmounts\nfsopen\nfsconfig\nfsmount\n");
	hidden = folder;
	fsmount_error = EPERM;
	expect_missing(-ENOENT, NOT_MOUNTED, HINT,
			STANDARD "\nmounts\nfsopen\nfsconfig\nfsmount\n");
	fsconfig_error = EPERM;
	expect_missing(-ENOENT, NOT_MOUNTED, HINT, STANDARD "\nmounts\nfsopen\nfsconfig\n");
	fsopen_error = ENOSYS;
	expect_missing(-ENOENT, NOT_MOUNTED, HINT, STANDARD "\nmounts\nfsopen\n");
	user = 7;
	expect_missing(-EACCES, NOT_MOUNTED, HINT, STANDARD "\nmounts\nfsopen\n");
}

static void permissions(void)
{
	static const int codes[] = {EACCES, EPERM};

	for (unsigned int i = 0; i < 2; i++) {
		begin();
		mount_list = "none /b tracefs rw 0 0\n";
		leads(0, "/b", NULL, codes[i]);
		expect_missing(-EACCES, NO_PERMISSION, HINT, STANDARD "\nmounts\n/b\nfsopen\n");
		leads(0, STANDARD, folder, 0);
		write_permission = codes[i];
		expect_missing(-EACCES, NO_PERMISSION, HINT, STANDARD "\n");
	}
	begin();
	mount_list = "none /b tracefs rw 0 0\n";
	leads(0, "/b", NULL, ENODEV);
	expect_missing(-ENOENT, NOT_MOUNTED, HINT, STANDARD "\nmounts\n/b\nfsopen\n");
}

/* ---- owners ---- */

#define FIELDS " 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 4712 23 24\n"

static void owners(void)
{
	static const struct {
		const char *text;
		uint64_t started;
	} cases[] = {{"77 (name) S" FIELDS, 4712}, {"77 (a) Z b) X) R" FIELDS, 4712},
			{"77 (name) Z" FIELDS, 0}, {"77 (name) X" FIELDS, 0}, {NULL, 0}, {"", 0},
			{"77 (name) S 4 5", 0},
			{"77 (name) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21", 0}};
	char group[128], own[128];
	struct stat status;
	uint64_t space;

	begin();
	CHECK(!stat("/proc/self/ns/pid", &status));
	space = status.st_ino;
	CHECK(tracefs_own_namespace() == space);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		status_of_77 = cases[i].text;
		CHECK(tracefs_start_time(77) == cases[i].started);
		/* Definitions of another process with this number, or of an exited one. */
		snprintf(group, sizeof(group), "side_77_4712_%llu", (unsigned long long)space);
		CHECK(tracefs_is_stale(group) == (cases[i].started != 4712));
		snprintf(group, sizeof(group), "side_77_4713_%llu", (unsigned long long)space);
		CHECK(tracefs_is_stale(group));
		snprintf(group, sizeof(group), "side_77_4713_%llu", (unsigned long long)space + 1);
		CHECK(!tracefs_is_stale(group) && !tracefs_is_stale("side_77_4713_0"));
		snprintf(group, sizeof(group), "side_77_4713_%llux", (unsigned long long)space);
		CHECK(!tracefs_is_stale(group) && !tracefs_is_stale("side_77_4713") &&
				!tracefs_is_stale("other_77_4713_1"));
	}
	global_tracefs_group(own, sizeof(own));
	snprintf(group, sizeof(group), "side_%d_%llu_%llu", (int)getpid(),
			(unsigned long long)tracefs_start_time((uint64_t)getpid()),
			(unsigned long long)space);
	CHECK(!strcmp(own, group) && tracefs_start_time((uint64_t)getpid()) &&
			!tracefs_is_stale(own));
}

/* ---- definitions ---- */

static void write_definitions(const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/uprobe_events", folder);
	file = fopen(path, "w");
	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

static void expect_text(int at, const char *name, const char *wanted)
{
	char text[16384];

	CHECK(!global_tracefs_read(at, name, text, sizeof(text)));
	if (strcmp(text, wanted))
		fprintf(stderr, "%s\ninstead of\n%s\n", text, wanted);
	CHECK(!strcmp(text, wanted));
}

static void reading(int at)
{
	char text[16];

	write_definitions("0123456789");
	for (size_t size = 1; size <= 12; size++) {
		memset(text, 'x', sizeof(text));
		nr_interrupts = size > 1;
		CHECK(!global_tracefs_read(at, "uprobe_events", text, size));
		CHECK(strlen(text) == (size < 11 ? size - 1 : 10) &&
				!strncmp(text, "0123456789", size - 1));
		CHECK(text[size] == 'x' && !nr_interrupts);
	}
}

static void defining(int at)
{
	begin();
	write_definitions("");
	CHECK(!global_tracefs_define(at, "p:a/b\n", &error));
	nr_interrupts = 2;
	CHECK(!global_tracefs_define(at, "p:c/d\n", &error) && !nr_interrupts);
	CHECK(!*error.text);
	expect_text(at, "uprobe_events", "p:a/b\np:c/d\n");
	for (unsigned int i = 0; i < 2; i++) {
		definitions_error = i ? EPERM : EACCES;
		CHECK(global_tracefs_define(at, "p:a/b\n", &error) == -definitions_error &&
				!strcmp(error.hint, HINT));
		CHECK(!strcmp(error.text, "the kernel does not permit uprobes in tracefs"));
	}
	definitions_error = EINVAL;
	CHECK(global_tracefs_define(at, "p:a/b", &error) == -EINVAL && !*error.hint);
	CHECK(!strcmp(error.text, "the kernel refuses the definition `p:a/b`: Invalid argument"));
	definitions_error = 0;
	is_short = true;
	CHECK(global_tracefs_define(at, "p:a/b", &error) == -EIO);
}

static void removing(int at)
{
	static char all[16384], removed[16384];
	unsigned int before = resources_descriptors();
	char left[160], text[512];
	struct stat status;

	begin();
	status_of_77 = NULL;
	CHECK(!stat("/proc/self/ns/pid", &status));
	snprintf(left, sizeof(left), "side_77_1_%llu", (unsigned long long)status.st_ino);
	/* Events of one group, of a process that has ended, and lines that are no probes. */
	snprintf(text, sizeof(text),
			"p:mine/e0 /x:0x10\nr4:mine/e1 /x\nx:mine/e2 /x\np:mine\np:%s/e3\nr:mine/e4\np:mined/e5\n",
			left);
	write_definitions(text);
	CHECK(!mkdirat(at, "events", 0700) && !mkdirat(at, "events/mine", 0700) &&
			!mkdirat(at, "events/mine/e0", 0700));
	CHECK(!close(openat(at, "events/mine/e0/enable", O_CREAT | O_WRONLY, 0600)));
	CHECK(global_tracefs_remove(at, "mine") == 2);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "-:mine/e0-:mine/e4");
	expect_text(at, "uprobe_events", text);
	expect_text(at, "events/mine/e0/enable", "0");
	CHECK(global_tracefs_clean(at) == 1);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "-:%s/e3", left);
	expect_text(at, "uprobe_events", text);
	/* Definitions that cannot be removed do not count. */
	is_short = true;
	CHECK(!global_tracefs_remove(at, "mine"));
	is_short = false;
	has_no_stream = true;
	CHECK(global_tracefs_remove(at, "mine") == -ENOMEM && resources_descriptors() == before);
	has_no_stream = false;
	/* The table grows by 64. */
	for (unsigned int nr = 63; nr <= 129; nr += nr == 65 ? 62 : 1) {
		*all = '\0';
		for (unsigned int i = 0; i < nr; i++)
			snprintf(all + strlen(all), sizeof(all) - strlen(all), "p:mine/e%u /x\n",
					i);
		write_definitions(all);
		strcpy(removed, all);
		for (unsigned int i = 0; i < nr; i++)
			snprintf(removed + strlen(removed), sizeof(removed) - strlen(removed),
					"-:mine/e%u", i);
		CHECK(global_tracefs_remove(at, "mine") == (int)nr);
		expect_text(at, "uprobe_events", removed);
		/* Without memory fewer are removed. */
		write_definitions(all);
		failing_arm(nr <= 64 ? 1 : 2);
		CHECK(global_tracefs_remove(at, "mine") == (nr <= 64 ? 0 : 64) &&
				failing_has_failed());
	}
	CHECK(resources_descriptors() == before);
}

static void cleaning(int at)
{
	unsigned int before = resources_descriptors();
	char text[256];
	struct stat status;

	begin();
	CHECK(!stat("/proc/self/ns/pid", &status));
	snprintf(text, sizeof(text), "p:side_77_1_%llu/e /x\n", (unsigned long long)status.st_ino);
	write_definitions(text);
	CHECK(global_clean() == -ENOENT && resources_descriptors() == before);
	leads(0, STANDARD, folder, 0);
	CHECK(global_clean() == 1 && resources_descriptors() == before);
	CHECK(!unlinkat(at, "uprobe_events", 0) && global_tracefs_remove(at, "mine") == -ENOENT);
	CHECK(resources_descriptors() == before);
}

/* A descriptor 0 is used and closed like any other. */
static void descriptor_zero(int at)
{
	int saved = fcntl(0, F_DUPFD_CLOEXEC, 100);

	CHECK(saved >= 100 && !close(0));
	for (unsigned int i = 0; i < 2; i++) {
		avoids_zero = i;
		finding();
		permissions();
		CHECK(fcntl(0, F_GETFD) < 0);
		owners();
		reading(at);
		defining(at);
		CHECK(global_tracefs_read(at, "none", (char[]){"x"}, 1) == -ENOENT &&
				fcntl(0, F_GETFD) < 0);
		begin();
		leads(0, STANDARD, folder, 0);
		write_definitions("p:mine/e /x\n");
		CHECK(global_tracefs_remove(at, "mine") == 1 && !global_clean() &&
				fcntl(0, F_GETFD) < 0);
		has_no_stream = true;
		CHECK(global_tracefs_remove(at, "mine") == -ENOMEM && fcntl(0, F_GETFD) < 0);
		has_no_stream = false;
	}
	avoids_zero = false;
	CHECK(dup2(saved, 0) == 0 && !close(saved));
}

int main(void)
{
	char command[256];
	int at;

	CHECK(mkdtemp(folder) && mkdtemp(empty));
	write_definitions("");
	at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(at >= 0);
	finding();
	permissions();
	owners();
	reading(at);
	defining(at);
	removing(at);
	descriptor_zero(at);
	cleaning(at);
	close(at);
	snprintf(command, sizeof(command), "rm -r '%s' '%s'", folder, empty);
	CHECK(!system(command)); /* NOLINT */
	return 0;
}
