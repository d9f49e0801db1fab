/* SPDX-License-Identifier: MIT */
/* Finds loaders, and starts a program with each of them. */
#include "loaders.h"

#include "base/clock.h"
#include "base/io.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOADERS_FILE_MAX (16u << 20) /* bytes of a loader */
#define LOADERS_OUTPUT_MAX 512       /* bytes of the output of a program that are read */
#ifndef LOADERS_TIMEOUT_MS
#define LOADERS_TIMEOUT_MS 10000
#endif
#define LOADERS_C_PROGRAM "/bin/true"

/* ---- finding ---- */

/* What each processor and C library calls its loader. */
static const char *const loaders_patterns[] = {"/lib/ld-*.so.*", "/lib/ld*.so.[0-9]",
		"/lib32/ld-*.so.*", "/lib64/ld-*.so.*", "/lib64/ld*.so.[0-9]", "/libx32/ld-*.so.*",
		"/lib/*/ld-*.so.*", "/usr/lib/ld-*.so.*", "/usr/lib/*/ld-*.so.*",
		"/usr/lib32/ld-*.so.*", "/usr/lib64/ld-*.so.*"};

/* musl's loader does not have that path, and does not read the file. */
static bool loaders_is_reader(const char *bytes, size_t size)
{
	static const char path[] = "/etc/ld.so.preload";

	return size > sizeof(Elf32_Ehdr) && !memcmp(bytes, ELFMAG, SELFMAG) &&
			memmem(bytes, size, path, sizeof(path)) != NULL;
}

static const char *loaders_choose_program(const char *bytes)
{
	Elf32_Ehdr head; /* the machine is at the same offset in both classes */

	memcpy(&head, bytes, sizeof(head));
	if (head.e_machine == EM_X86_64 && head.e_ident[EI_CLASS] == ELFCLASS64)
		return "libside-system.so";
	if (head.e_machine == EM_386 && head.e_ident[EI_CLASS] == ELFCLASS32)
		return "libside-system-32.so";
	return NULL;
}

static bool loaders_has(const struct loaders *loaders, const char *path)
{
	for (size_t i = 0; i < loaders->nr; i++)
		if (!strcmp(loaders->list[i].path, path))
			return true;
	return false;
}

/* Adds the file if it is a loader that reads the list. Takes ownership of the path. */
static int loaders_add(struct loaders *loaders, char *path, struct error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret;
	char *bytes = NULL;
	size_t size = 0;

	ret = fd < 0 ? -errno : io_read_whole(fd, LOADERS_FILE_MAX, &bytes, &size);
	if (fd >= 0)
		close(fd);
	if (ret) {
		ret = error_set_system(error, ret, "cannot read the loader %s", path);
	} else if (loaders_is_reader(bytes, size)) {
		if (loaders->nr == LOADERS_MAX) {
			ret = error_set(error, -E2BIG, NULL,
					"cannot check all loaders: there are more than %d",
					LOADERS_MAX);
		} else {
			loaders->list[loaders->nr++] = (struct loader){
					.path = path, .program = loaders_choose_program(bytes)};
			path = NULL;
		}
	}
	free(bytes);
	free(path);
	return ret;
}

static int loaders_add_matches(struct loaders *loaders, const char *pattern, struct error *error)
{
	glob_t found;
	int ret = glob(pattern, 0, NULL, &found);

	if (ret == GLOB_NOMATCH)
		return 0;
	if (ret)
		return error_set(error, -EIO, NULL, "cannot search for loaders in %s", pattern);
	for (size_t i = 0; i < found.gl_pathc && !ret; i++) {
		char *path = realpath(found.gl_pathv[i], NULL);
		struct stat status;

		if (path && !stat(path, &status) && S_ISREG(status.st_mode) &&
				!loaders_has(loaders, path))
			ret = loaders_add(loaders, path, error);
		else
			free(path);
	}
	globfree(&found);
	return ret;
}

int loaders_find(struct loaders *ret_loaders, struct error *error)
{
	int ret = 0;

	*ret_loaders = (struct loaders){.nr = 0};
	for (size_t i = 0; i < sizeof(loaders_patterns) / sizeof(*loaders_patterns) && !ret; i++)
		ret = loaders_add_matches(ret_loaders, loaders_patterns[i], error);
	if (!ret && !ret_loaders->nr)
		ret = error_set(error, -ENOENT, NULL,
				"cannot find a loader that reads /etc/ld.so.preload");
	if (ret)
		loaders_free(ret_loaders);
	return ret;
}

void loaders_free(struct loaders *loaders)
{
	for (size_t i = 0; i < loaders->nr; i++)
		free(loaders->list[i].path);
	loaders->nr = 0;
}

/* ---- starting a program ---- */

struct loaders_run {
	char output[LOADERS_OUTPUT_MAX];
	size_t size;
	int status;
};

static int loaders_spawn(char *const argv[], const char *line, int output, pid_t *ret_pid)
{
	static char path[] = "PATH=/usr/bin:/bin";
	char preload[PATH_MAX + 32];
	char *environment[] = {path, NULL, NULL};
	posix_spawn_file_actions_t actions;
	int ret;

	if (line) {
		if (snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", line) >=
				(int)sizeof(preload))
			return ENAMETOOLONG;
		environment[1] = preload;
	}
	ret = posix_spawn_file_actions_init(&actions);
	if (ret)
		return ret;
	ret = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!ret)
		ret = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!ret)
		ret = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
	if (!ret)
		ret = posix_spawn(ret_pid, argv[0], &actions, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	return ret;
}

/* Reads the output to its end. False: the program took too long. */
static bool loaders_read(int fd, struct loaders_run *run)
{
	const uint64_t end = deadline_after_ms(LOADERS_TIMEOUT_MS);
	char rest[256];

	for (;;) {
		struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
		const bool is_full = run->size + 1 == sizeof(run->output);
		ssize_t part;

		if (poll(&poll_fd, 1, deadline_remaining_ms(end)) < 0 && errno != EINTR)
			return false;
		if (deadline_is_over(end))
			return false;
		if (!poll_fd.revents)
			continue;
		part = read(fd, is_full ? rest : run->output + run->size,
				is_full ? sizeof(rest) : sizeof(run->output) - 1 - run->size);
		if (part <= 0)
			return true;
		run->size += is_full ? 0 : (size_t)part;
	}
}

/* Returns 0 or a negative errno; -ETIMEDOUT: the program was killed. */
static int loaders_run_program(char *const argv[], const char *line, struct loaders_run *ret_run)
{
	int ends[2], ret;
	pid_t pid = -1;

	*ret_run = (struct loaders_run){.size = 0};
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	ret = -loaders_spawn(argv, line, ends[1], &pid);
	close(ends[1]);
	if (!ret && !loaders_read(ends[0], ret_run)) {
		kill(pid, SIGKILL);
		ret = -ETIMEDOUT;
	}
	close(ends[0]);
	if (!ret || ret == -ETIMEDOUT)
		while (waitpid(pid, &ret_run->status, 0) < 0 && errno == EINTR)
			;
	ret_run->output[ret_run->size] = '\0';
	ret_run->output[strcspn(ret_run->output, "\n")] = '\0';
	return ret;
}

/* ---- the check ---- */

/* `loader` NULL: the kernel chooses the program's own. */
static int loaders_judge(
		const char *loader, const char *program, const char *line, struct error *error)
{
	char *const by_loader[] = {(char *)(uintptr_t)loader, (char *)(uintptr_t)program, NULL};
	char *const alone[] = {(char *)(uintptr_t)program, NULL};
	const char *starter = loader ? loader : program;
	struct loaders_run run;
	int ret = loaders_run_program(loader ? by_loader : alone, line, &run);

	/* The kernel cannot start programs of this loader, so none prints an error. */
	if (ret == -ENOEXEC)
		return 0;
	if (ret == -ETIMEDOUT)
		return error_set(
				error, ret, NULL, "a program that %s starts does not end", starter);
	if (ret)
		return error_set_system(error, ret, "cannot start %s", starter);
	if (run.size)
		return error_set(error, -ELIBBAD, NULL, "a program that %s starts prints: %s",
				starter, run.output);
	if (run.status)
		return error_set(error, -ELIBBAD, NULL,
				"a program that %s starts fails with status 0x%x", starter,
				run.status);
	return 0;
}

static bool loaders_is_unused(const struct loader *loader)
{
	char *const argv[] = {loader->path, (char *)(uintptr_t) "--version", NULL};
	struct loaders_run run;

	return loaders_run_program(argv, NULL, &run) == -ENOEXEC;
}

int loaders_check(const struct loaders *loaders, const char *directory, const char *line,
		struct error *error)
{
	char program[PATH_MAX];
	int ret = 0;

	for (size_t i = 0; i < loaders->nr && !ret; i++) {
		const struct loader *loader = &loaders->list[i];

		if (snprintf(program, sizeof(program), "%s/%s", directory,
				    loader->program ? loader->program : "") >= (int)sizeof(program))
			return error_set_system(error, ENAMETOOLONG, "cannot use %s", directory);
		if (loader->program && !access(program, R_OK))
			ret = loaders_judge(loader->path, program, line, error);
		else if (!loaders_is_unused(loader))
			ret = error_set(error, -ELIBBAD, NULL,
					"side has no library for the programs that %s starts",
					loader->path);
	}
	if (!ret && !access(LOADERS_C_PROGRAM, X_OK))
		ret = loaders_judge(NULL, LOADERS_C_PROGRAM, line, error);
	return ret;
}
