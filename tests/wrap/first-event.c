/* SPDX-License-Identifier: MIT */
/*
 * A program that fires its first event where a library requests it; then it waits until it has a
 * control thread.
 *
 *	first-event [fork|rights|load LIBRARY|once]
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Whether a file /proc/self/task/N/`name` of any thread begins with this. Uses no memory of the
 * allocator.
 */
static bool any_thread(const char *name, const char *begin, bool wanted)
{
	char path[300], text[4096];
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	bool found = false;

	while (tasks && (task = readdir(tasks))) {
		ssize_t size;
		int fd;

		snprintf(path, sizeof(path), "/proc/self/task/%s/%s", task->d_name, name);
		fd = *task->d_name == '.' ? -1 : open(path, O_RDONLY);
		if (fd < 0)
			continue;
		size = read(fd, text, sizeof(text) - 1);
		text[size > 0 ? size : 0] = 0;
		close(fd);
		if (size > 0 && (strstr(text, begin) != NULL) == wanted)
			found = true;
	}
	if (tasks)
		closedir(tasks);
	return found;
}

static int wait_for_thread(void)
{
	int i;

	for (i = 0; i < 3000 && !any_thread("comm", "side-control", true); i++)
		usleep(10000);
	return i < 3000 ? 0 : 98;
}

/* Checks that no thread keeps a capability that the program has dropped. */
static int give_up_rights(void)
{
	int i;

	if (setgid(65534) || setuid(65534))
		return 97;
	/* A thread that is just being created detects that, and ends. */
	for (i = 0; i < 5000 && any_thread("status", "\nUid:\t65534\t65534", false); i++)
		usleep(1000);
	return i < 5000 ? 0 : 96;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char *volatile block = malloc(100);
	int status = 0;

	free(block);
	if (!strcmp(what, "load") && !dlopen(argv[2], RTLD_NOW))
		return 95;
	if (!strcmp(what, "fork") && !fork()) {
		block = malloc(100);
		_exit(wait_for_thread());
	}
	if (!strcmp(what, "rights"))
		status = give_up_rights();
	if (!strcmp(what, "fork") && (wait(&status) < 0 || status))
		return 94;
	if (!status && strcmp(what, "once") != 0 && strcmp(what, "rights") != 0)
		status = wait_for_thread();
	if (!status)
		puts("ok");
	return status;
}
