/* SPDX-License-Identifier: MIT */
/*
 * The current session: its name is in a file in the runtime directory of a user's daemon. If the
 * directory of the daemon belongs to another user, the daemon is the system's, or the one that
 * $SIDE_RUNTIME names. Each of its users then has a file in the user's own runtime directory.
 */
#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "programs/common/message.h"

#include "protocol/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Creates the directory if it is missing. Returns 0, or a negative errno if another user can write
 * there.
 */
static int current_session_make_directory(const char *path)
{
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	return wire_runtime_check(path);
}

static bool current_session_is_foreign(const char *directory)
{
	struct stat status;

	return !lstat(directory, &status) && status.st_uid != geteuid();
}

static int current_session_append_text(char *path, size_t buffer, const char *text)
{
	size_t used = strlen(path);

	return snprintf(path + used, buffer - used, "%s", text) < (int)(buffer - used)
			? 0
			: -ENAMETOOLONG;
}

/* Appends "current-system", or "current" and the daemon's directory: current-srv-side. */
static int current_session_append_name(char *path, size_t buffer, const char *directory)
{
	size_t used = strlen(path) + strlen("/current");
	int ret = current_session_append_text(path, buffer, "/current");

	if (ret || !directory)
		return ret;
	ret = current_session_append_text(path, buffer,
			strcmp(directory, WIRE_RUNTIME_SYSTEM) != 0 ? directory : "-system");
	for (; !ret && path[used]; used++)
		if (path[used] == '/')
			path[used] = '-';
	return ret;
}

static int current_session_find_path(const struct ask *ask, char *path, size_t buffer)
{
	char directory[PATH_MAX];
	const char *elsewhere = ask->system ? WIRE_RUNTIME_SYSTEM : NULL;
	int ret = wire_runtime_directory(path, buffer, false);

	if (!ret && current_session_is_foreign(path)) {
		snprintf(directory, sizeof(directory), "%s", path);
		elsewhere = directory;
		ret = wire_runtime_own(path, buffer);
	}
	if (!ret)
		ret = current_session_make_directory(path);
	return ret ? ret : current_session_append_name(path, buffer, elsewhere);
}

/* Returns 0 or a negative errno; -ENOENT if no session is current. */
static int current_session_read_name(const struct ask *ask, char name[ASK_NAME_MAX])
{
	char path[PATH_MAX] = "", text[ASK_NAME_MAX + 1];
	ssize_t size;
	int fd, ret = current_session_find_path(ask, path, sizeof(path));

	if (ret)
		return ret;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	size = read(fd, text, sizeof(text) - 1);
	ret = size < 0 ? -errno : 0;
	close(fd);
	if (ret)
		return ret;
	text[size] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (!wire_session_name_valid(text))
		return -ENOENT;
	memcpy(name, text, strlen(text) + 1);
	return 0;
}

bool current_read(const struct ask *ask, char name[ASK_NAME_MAX])
{
	int ret = current_session_read_name(ask, name);

	if (ret && ret != -ENOENT)
		message_note_hint("name the session in each command: `-s NAME`",
				"cannot read which session is the current one: %s", strerror(-ret));
	return !ret;
}

bool current_read_silently(const struct ask *ask, char name[ASK_NAME_MAX])
{
	return !current_session_read_name(ask, name);
}

/* Another command may read the file meanwhile, so it is replaced by rename(). */
static int current_session_replace_file(const char *path, const char *name)
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

static int current_session_write_name(
		const struct ask *ask, const char *name, char *path, size_t buffer)
{
	int ret = current_session_find_path(ask, path, buffer);

	return ret ? ret : current_session_replace_file(path, name);
}

int current_write(const struct ask *ask, const char *name)
{
	char path[PATH_MAX] = "";
	int ret = current_session_write_name(ask, name, path, sizeof(path));

	if (!ret)
		return COMMAND_DONE;
	return message_error(COMMAND_FAILED, "name the session in each command: `-s NAME`",
			"cannot select the session %s: cannot write %s: %s", name, path,
			strerror(-ret));
}

void current_try_write(const struct ask *ask, const char *name)
{
	char path[PATH_MAX] = "", hint[ASK_NAME_MAX + 32];
	int ret = current_session_write_name(ask, name, path, sizeof(path));

	if (!ret)
		return;
	snprintf(hint, sizeof(hint), "`-s %.64s` selects it", name);
	message_note_hint(hint, "session %s is not the current one: cannot write %s: %s", name,
			path, strerror(-ret));
}

/* Writes the command that selects one of the existing sessions. False if there are none. */
static bool current_session_hint(const struct ask *ask, char *hint, size_t size)
{
	char names[1024], shown[2048];

	if (!ask_kept_sessions(ask->system, names, sizeof(names)))
		return false;
	format_printable(names, shown, sizeof(shown));
	if (strchr(names, ','))
		snprintf(hint, size, "`side set-session NAME` selects one of these: %s", shown);
	else
		snprintf(hint, size, "`side set-session %s` selects the only one", shown);
	return true;
}

void current_forget(const struct ask *ask, const char *name, bool is_noted)
{
	char path[PATH_MAX], now[ASK_NAME_MAX], hint[2200];

	if (!current_read(ask, now) || strcmp(now, name) != 0 ||
			current_session_find_path(ask, path, sizeof(path)))
		return;
	unlink(path);
	if (is_noted && current_session_hint(ask, hint, sizeof(hint)))
		message_note_hint(hint, "there is no current session now");
}

int ask_which(const struct ask *ask, const char *operand, const char *option,
		char buffer[ASK_NAME_MAX], const char **ret_name)
{
	char hint[2200];

	if (operand && option && strcmp(operand, option) != 0)
		return message_error(COMMAND_USAGE, "leave one of them out",
				"cannot use two sessions: `%.128s` and `--session %.128s`", operand,
				option);
	*ret_name = operand ? operand : option;
	if (*ret_name)
		return COMMAND_DONE;
	if (!current_read(ask, buffer))
		return message_error(COMMAND_USAGE,
				current_session_hint(ask, hint, sizeof(hint))
						? hint
						: "`side create` makes one\n`side status --all` lists those that exist",
				"there is no current session");
	*ret_name = buffer;
	return COMMAND_DONE;
}
