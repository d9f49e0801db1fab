/* SPDX-License-Identifier: MIT */
/*
 * Which program runs when a command is executed: the one that its name is found as, or the interpreter that a script names. As the kernel
 * has it: "#!", the interpreter, and the rest of the line as one argument. The interpreter is often env(1), which executes what it is
 * told in the same process; that is followed, too, because nobody who says the script means env.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/core/session.h"

#define LINE_MAX_BYTES 256 /* what the kernel looks at */
#define INTERPRETERS_MAX 5 /* of one another, as in the kernel */
#define SHELL "/bin/sh"    /* execvp() has it run what the kernel refuses */

static bool is_program(const char *path)
{
	struct stat status;

	return !access(path, X_OK) && !stat(path, &status) && S_ISREG(status.st_mode);
}

/* 0, -ENOENT, -EACCES: it is there; or the error of a call. */
static int traced_program_check_executable(const char *path)
{
	errno = 0;
	if (is_program(path))
		return 0;
	if (errno && errno != ENOENT && errno != ENOTDIR && errno != EACCES && errno != ELOOP &&
			errno != ENAMETOOLONG)
		return -errno;
	return access(path, F_OK) ? -ENOENT : -EACCES;
}

/* As execvp() finds it. -ENOENT: *path is empty; -EACCES: *path is what may not be executed. Or the error of a call, and an empty path. */
static int traced_program_find_in_path(const char *name, char path[PATH_MAX])
{
	const char *list = getenv("PATH");
	char denied[PATH_MAX] = "";
	int ret = -ENOENT, failed = 0;

	list = list ? list : "/bin:/usr/bin";
	for (bool more = true; more && ret;) {
		size_t size = strchr(name, '/') ? 0 : strcspn(list, ":");

		if (*name &&
				snprintf(path, PATH_MAX, "%.*s%s%s", (int)size, list,
						size ? "/" : "", name) < PATH_MAX)
			ret = traced_program_check_executable(path);
		if (ret == -EACCES && !*denied)
			memcpy(denied, path, sizeof(denied));
		else if (ret != -EACCES && ret != -ENOENT && !failed)
			failed = ret;
		more = !strchr(name, '/') && list[size];
		list += size + more;
	}
	if (!ret)
		return 0;
	memcpy(path, denied, sizeof(denied));
	return *denied ? -EACCES : failed ? failed : -ENOENT;
}

/* What env(1) executes if it is nothing but a program's name, also with -S and words behind it; NULL: it does more. */
static char *behind_env(char *argument)
{
	bool splits = !strncmp(argument, "-S", 2);
	char *word = argument, *end;

	if (splits)
		word += 2 + strspn(argument + 2, " \t");
	end = word + strcspn(word, " \t");
	if (*end && !splits)
		return NULL;
	*end = 0;
	return *word && *word != '-' && !strpbrk(word, "=$\"'\\") ? word : NULL;
}

/* The program of a line behind its "#!"; changed by it. 1, or -ENOEXEC: there is none, or -ENOENT: there is nothing of the name in *path. */
static int traced_program_read_line(char *line, char path[PATH_MAX])
{
	char *name = line + strspn(line, " \t"), *argument, *end, *base;

	line[strcspn(line, "\n")] = 0;
	end = name + strcspn(name, " \t");
	argument = end + strspn(end, " \t");
	*end = 0;
	if (!*name)
		return -ENOEXEC;
	snprintf(path, PATH_MAX, "%s", name);
	for (end = argument + strlen(argument); end > argument && strchr(" \t", end[-1]);)
		*--end = 0;
	base = strrchr(name, '/');
	base = !strcmp(base ? base + 1 : name, "env") ? behind_env(argument) : NULL;
	if (!base || !traced_program_find_in_path(base, path))
		return 1;
	snprintf(path, PATH_MAX, "%s", base);
	return -ENOENT;
}

/* 1: a script, *path is what runs it; 0: none; or a negative errno. */
static int traced_program_follow_script(char path[PATH_MAX], bool first)
{
	char line[LINE_MAX_BYTES + 1];
	ssize_t size;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	/* It may be executed and not read. */
	if (fd < 0)
		return errno == EACCES ? 0 : -errno;
	size = pread(fd, line, LINE_MAX_BYTES, 0);
	close(fd);
	if (size < 0)
		return 0;
	line[size] = 0;
	if (!strncmp(line, "#!", 2))
		return traced_program_read_line(line + 2, path);
	/* What is no text is something that the kernel may have been told of. */
	if (!first || !strncmp(line, ELFMAG, SELFMAG) || memchr(line, 0, (size_t)size))
		return 0;
	snprintf(path, PATH_MAX, "%s", SHELL);
	return 1;
}

int session_program(const char *name, char path[PATH_MAX])
{
	int ret = traced_program_find_in_path(name, path), nr = 0;

	ret = ret ? ret : 1;
	while (ret > 0 && nr <= INTERPRETERS_MAX)
		ret = traced_program_follow_script(path, !nr++);
	if (ret == -ENOEXEC) {
		snprintf(path, PATH_MAX, "%s", SHELL);
		return 1;
	}
	return ret > 0 ? -ELOOP : ret < 0 ? ret : nr > 1;
}
