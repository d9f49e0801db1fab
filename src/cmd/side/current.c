/* SPDX-License-Identifier: MIT */
/*
 * The current session: a file with its name in the user's runtime directory, beside the daemon's
 * socket. That of the system's daemon is remembered by each user for himself.
 */
#include "ask.h"
#include "command.h"
#include "say.h"

#include "wire/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory, made when it is missing and ours to trust. */
static int directory(char *path, size_t room)
{
	int ret = wire_runtime_directory(path, room, false);

	if (ret)
		return ret;
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	return wire_runtime_check(path);
}

static int file(const struct ask *ask, char *path, size_t room)
{
	int ret = directory(path, room);
	size_t used;

	if (ret)
		return ret;
	used = strlen(path);
	if (snprintf(path + used, room - used, "/current%s", ask->system ? "-system" : "") >=
			(int)(room - used))
		return -ENAMETOOLONG;
	return 0;
}

bool current_read(const struct ask *ask, char name[ASK_NAME_MAX])
{
	char path[PATH_MAX], text[ASK_NAME_MAX + 1];
	ssize_t size;
	int fd;

	if (file(ask, path, sizeof(path)))
		return false;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (size <= 0)
		return false;
	text[size] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (!wire_session_name_valid(text))
		return false;
	memcpy(name, text, strlen(text) + 1);
	return true;
}

/* Another command may read it meanwhile: it is there as a whole, or the one before. */
static int replace(const char *path, const char *name)
{
	char other[PATH_MAX + 32];
	int fd, ret = 0;

	snprintf(other, sizeof(other), "%s.%ld", path, (long)getpid());
	unlink(other);
	fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (dprintf(fd, "%s\n", name) < 0)
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && rename(other, path))
		ret = -errno;
	if (ret)
		unlink(other);
	return ret;
}

int current_write(const struct ask *ask, const char *name)
{
	char path[PATH_MAX] = "";
	int ret = file(ask, path, sizeof(path));

	if (!ret)
		ret = replace(path, name);
	if (!ret)
		return COMMAND_DONE;
	return say_error(COMMAND_FAILED, "name it with `-s` from now on",
			"cannot remember %s as the current session in %s: %s", name, path,
			strerror(-ret));
}

void current_forget(const struct ask *ask, const char *name)
{
	char path[PATH_MAX], now[ASK_NAME_MAX];

	if (current_read(ask, now) && !strcmp(now, name) && !file(ask, path, sizeof(path)))
		unlink(path);
}

int ask_which(const struct ask *ask, const char *operand, const char *option,
		char room[ASK_NAME_MAX], const char **name)
{
	if (operand && option && strcmp(operand, option) != 0)
		return say_error(COMMAND_USAGE, "leave one of them out",
				"`%.128s` and `--session %.128s` are two sessions", operand,
				option);
	*name = operand ? operand : option;
	if (*name)
		return COMMAND_DONE;
	if (!current_read(ask, room))
		return say_error(COMMAND_USAGE,
				"name one, or make one with `side create`; `side status --all` "
				"shows those that are there",
				"there is no current session");
	*name = room;
	return COMMAND_DONE;
}
