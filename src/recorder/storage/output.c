/* SPDX-License-Identifier: MIT */
/* Creates and locks the output directory, which contains the traces of a session. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "ctf/ctf.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/session-state.h"
#include "recorder/storage/output.h"

static int fail_output(struct error *error, int code, const char *path)
{
	const enum error_kind kind = report_error_kind(code);
	const char *hint = kind == ERROR_PERMISSION ? "`-o DIRECTORY` names another one"
			: code == ENOENT            ? "create the parent directory first"
						    : NULL;

	return error_set_kind(
			error, kind, -code, hint, "cannot write to %s: %s", path, strerror(code));
}

/* Returns 1 if the directory is empty, 0 if not, or a negative errno. */
static int record_output_is_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int empty = 1;

	if (!dir)
		return -errno;
	while (empty && (entry = readdir(dir)))
		empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	closedir(dir);
	return empty;
}

/*
 * Creates a directory with an unused name: "side-20240229-130405", with "-2" and so on if it
 * exists.
 */
static int create_default(struct session *session, struct error *error)
{
	time_t now = time(NULL);
	struct tm local;
	char stamp[32];
	unsigned int n;

	localtime_r(&now, &local);
	strftime(stamp, sizeof(stamp), "side-%Y%m%d-%H%M%S", &local);
	for (n = 1; n < 1000; n++) {
		int made;

		if (n == 1)
			made = asprintf(&session->output.path, "%s", stamp);
		else
			made = asprintf(&session->output.path, "%s-%u", stamp, n);
		if (made < 0) {
			session->output.path = NULL;
			return error_set_no_memory(error);
		}
		if (!mkdir(session->output.path, CTF_DIRECTORY_MODE))
			return 0;
		if (errno != EEXIST)
			return fail_output(error, errno, ".");
		free(session->output.path);
		session->output.path = NULL;
	}
	return fail_output(error, EEXIST, stamp);
}

int output_create(struct session *session, const char *output, bool force, struct error *error)
{
	struct stat status;
	int empty;

	if (!output)
		return create_default(session, error);
	if (!*output)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"the name of the output directory is empty");
	session->output.path = strdup(output);
	if (!session->output.path)
		return error_set_no_memory(error);
	if (!mkdir(session->output.path, CTF_DIRECTORY_MODE))
		return 0;
	if (errno != EEXIST)
		return fail_output(error, errno, session->output.path);
	if (stat(session->output.path, &status))
		return fail_output(error, errno, session->output.path);
	if (!S_ISDIR(status.st_mode))
		return fail_output(error, ENOTDIR, session->output.path);
	/* Check as the effective user, which can differ from the real one (live.h). */
	if (faccessat(AT_FDCWD, session->output.path, W_OK | X_OK, AT_EACCESS))
		return fail_output(error, errno, session->output.path);
	empty = record_output_is_empty(session->output.path);
	if (empty < 0)
		return fail_output(error, -empty, session->output.path);
	if (empty || force)
		return 0;
	return error_set(error, -EEXIST, "`-o DIRECTORY` names another one\n`--force` adds to it",
			"%s is not empty", session->output.path);
}

/*
 * Without the lock, only readers that follow the trace are affected, so errors are ignored: another
 * recorder can hold it (--force), or the file system can have no locks. Retry, because a process
 * that checks the lock holds it for a moment.
 */
void output_lock(struct session *session)
{
	const struct timespec moment = {0, 1000000};

	session->output.lock = open(session->output.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 20 && session->output.lock >= 0 &&
			flock(session->output.lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
			i++)
		nanosleep(&moment, NULL);
}

const char *output_traces_path(const struct session *session)
{
	return session->rotation.path ? session->rotation.path : session->output.path;
}
