/* SPDX-License-Identifier: MIT */
/*
 * Finds the program that runs when a command is executed: the file found by its name, or the
 * interpreter that a script names. As in the kernel, a script begins with "#!", the interpreter,
 * and the remainder of the line as one argument. If the interpreter is env(1), which executes its
 * argument in the same process, that program is followed, too: the user means it, not env.
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

#define LINE_MAX_BYTES 256 /* bytes that the kernel reads */
#define INTERPRETERS_MAX 5 /* nested interpreters, as in the kernel */
#define SHELL "/bin/sh"    /* execvp() runs it for a file that the kernel refuses */

static bool is_program(const char *path)
{
	struct stat status;

	return !access(path, X_OK) && !stat(path, &status) && S_ISREG(status.st_mode);
}

/*
 * Returns 0, -ENOENT, -EACCES if the file exists but is not executable, or the negative errno of a
 * failed call.
 */
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

/*
 * Finds a command as execvp() does. Returns 0; -ENOENT with an empty path; -EACCES with the path of
 * a file that is not executable; or the negative errno of a failed call, with an empty path.
 */
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

/*
 * Returns the program that env(1) executes if its argument is only a program's name, also after -S
 * and with further arguments; NULL if env does more.
 */
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

/*
 * Finds the program that a line after "#!" names; modifies the line. Returns 1, -ENOEXEC if the
 * line names none, or -ENOENT if there is no program of the name in *path.
 */
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

/* Returns 1 if *path was a script, with its interpreter in *path; 0 if not; or a negative errno. */
static int traced_program_follow_script(char path[PATH_MAX], bool first)
{
	char line[LINE_MAX_BYTES + 1];
	ssize_t size;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	/* A file can be executable without being readable. */
	if (fd < 0)
		return errno == EACCES ? 0 : -errno;
	size = pread(fd, line, LINE_MAX_BYTES, 0);
	close(fd);
	if (size < 0)
		return 0;
	line[size] = 0;
	if (!strncmp(line, "#!", 2))
		return traced_program_read_line(line + 2, path);
	/* For a file that is not text, the kernel may have a registered handler (binfmt_misc). */
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
