/* SPDX-License-Identifier: MIT */
/*
 * Running programs that have libside, as /proc shows them: paths, names and order. The test
 * includes the file, and maps files of these names.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

static bool is_closed, is_unread;

static DIR *played_opendir(const char *path)
{
	errno = EMFILE;
	return is_closed ? NULL : opendir(path);
}

static struct dirent *played_readdir(DIR *directory)
{
	struct dirent *entry = is_unread ? NULL : readdir(directory);

	if (is_unread)
		errno = EIO;
	return entry;
}

#define opendir played_opendir
#define readdir played_readdir
#include "programs/side/processes/running.c"
#undef opendir
#undef readdir

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../check.h"
#include "../failing-calls.h"
#include "../resources.h"

static char folder[64], file[128];

static void *map_file(const char *name)
{
	void *memory;
	int fd;

	(void)snprintf(file, sizeof(file), "%s/%s", folder, name);
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, "x", 1) == 1);
	memory = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(memory != MAP_FAILED);
	close(fd);
	return memory;
}

static void unmap_file(void *memory)
{
	CHECK(!munmap(memory, 1) && !unlink(file));
}

static void test_mapped(void)
{
	char path[PATH_MAX] = "before";
	void *memory = map_file("lib cook.so.7");

	CHECK(running_find_mapped(getpid(), "/lib cook.so.", path) && !strcmp(path, file));
	CHECK(running_find_mapped(getpid(), "/lib cook.so.", NULL) &&
			running_has_mapped(getpid(), "cook.so.7"));
	strcpy(path, "before");
	CHECK(!running_find_mapped(getpid(), "/lib cook.so.8", path) && !strcmp(path, "before"));
	CHECK(!running_find_mapped(INT32_MAX, "/lib cook.so.", path) &&
			!running_has_mapped(INT32_MAX, "cook"));
	unmap_file(memory);
	CHECK(!running_has_mapped(getpid(), "/lib cook.so."));
	/* Memory without a path has no path. */
	CHECK(running_find_mapped(getpid(), "[stack]", path) && !strcmp(path, "before"));
	memory = map_file("libside.so.9");
	CHECK(running_library(getpid(), path) && strstr(path, "/libside.so."));
	unmap_file(memory);
	CHECK(!running_library(INT32_MAX, path));
}

static void test_program(void)
{
	char path[PATH_MAX], self[PATH_MAX] = "", name[RUNNING_NAME_MAX];

	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	CHECK(running_program(getpid(), path) && !strcmp(path, self));
	CHECK(!running_program(INT32_MAX, path) && !*path);
	CHECK(!prctl(PR_SET_NAME, "the whole name!"));
	CHECK(running_name(getpid(), name) == name && !strcmp(name, "the whole name!"));
	CHECK(!*running_name(INT32_MAX, name));
	CHECK(!prctl(PR_SET_NAME, "program"));
}

static void test_recorder(void)
{
	void *memory;
	int fd;

	CHECK(!running_has_recorder(getpid()) && !running_has_recorder(INT32_MAX));
	memory = map_file("libside-agent.so");
	CHECK(running_has_recorder(getpid()));
	unmap_file(memory);
	CHECK(!running_has_recorder(getpid()));
	fd = memfd_create("libside-agent.so", MFD_CLOEXEC);
	CHECK(fd >= 0 && !ftruncate(fd, 1));
	memory = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(memory != MAP_FAILED && running_has_recorder(getpid()));
	CHECK(!munmap(memory, 1) && !close(fd) && !running_has_recorder(getpid()));
}

static bool is_found(const pid_t *pids, size_t count, pid_t pid)
{
	bool found = false;

	for (size_t i = 0; i < count; i++)
		found = found || pids[i] == pid;
	return found;
}

/* A list that cannot be read is not an empty one. */
static void test_unread(void)
{
	size_t count = 5;
	pid_t *pids = &(pid_t){1};

	is_closed = true;
	CHECK(running_find(&pids, &count) == -EMFILE && !pids && !count);
	is_closed = false;
	is_unread = true;
	CHECK(running_find(&pids, &count) == -EIO && !count);
	is_unread = false;
	free(pids);
}

/* Other programs of this machine may use libside, too. */
static void test_find(void)
{
	void *memory = map_file("libside.so.9");
	pid_t children[3], *pids;
	size_t count = 5;

	for (int i = 0; i < 3; i++) {
		children[i] = fork();
		if (!children[i])
			for (;;)
				pause();
		CHECK(children[i] > 0);
	}
	CHECK(!running_find(&pids, &count) && count >= 3);
	for (int i = 0; i < 3; i++)
		CHECK(is_found(pids, count, children[i]));
	CHECK(!is_found(pids, count, getpid()));
	for (size_t i = 1; i < count; i++)
		CHECK(pids[i - 1] < pids[i]);
	free(pids);
	/* The second one does not fit: the caller frees the first one. */
	for (unsigned int number = 1; number < 3; number++) {
		failing_arm(number);
		CHECK(running_find(&pids, &count) == -ENOMEM && failing_has_failed() &&
				count == number - 1);
		free(pids);
	}
	for (int i = 0; i < 3; i++) {
		kill(children[i], SIGKILL);
		CHECK(waitpid(children[i], NULL, 0) == children[i]);
	}
	CHECK(!running_find(&pids, &count));
	for (int i = 0; i < 3; i++)
		CHECK(!is_found(pids, count, children[i]));
	free(pids);
	unmap_file(memory);
}

static void test_order(void)
{
	pid_t one = 5, other = 6;

	CHECK(running_compare_pids(&one, &other) < 0 && running_compare_pids(&other, &one) > 0 &&
			!running_compare_pids(&one, &one));
	one = INT32_MAX;
	other = -INT32_MAX;
	CHECK(running_compare_pids(&one, &other) > 0 && running_compare_pids(&other, &one) < 0);
}

int main(void)
{
	struct resources before = {0};

	(void)snprintf(folder, sizeof(folder), "/tmp/side-running-XXXXXX");
	CHECK(mkdtemp(folder));
	for (int round = 0; round < 3; round++) {
		test_mapped();
		test_program();
		test_recorder();
		test_find();
		test_unread();
		test_order();
		if (round == 1)
			before = resources_now();
	}
	CHECK(resources_are_same(before, resources_now()) && !rmdir(folder));
	return 0;
}
