/* SPDX-License-Identifier: MIT */
/*
 * Recovers traces: each folder of --buffers and each recording in a core dump becomes an ended
 * instance, and its trace is written as by the drain thread.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "ctf/ctf.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/recover.h"
#include "recorder/recovery/core-dump.h"
#include "recorder/recovery/recover-folder.h"
#include "recorder/recovery/recovered.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"
#include "recorder/storage/buffers.h"
#include "recorder/storage/output.h"

static void fail_path(struct session *session, const char *path, const char *why)
{
	report(session, true, "cannot recover from %s: %s", path, why);
	report_failure(session, EINVAL);
}

static void load_folder(struct session *session, int state_dir, const char *name, const char *path)
{
	struct error error = {.text = ""};
	struct instance *instance = buffers_load(session, state_dir, name, &error);

	if (instance)
		recover_add(session, instance);
	else
		fail_path(session, path, error.text);
}

static int recover_compare_names(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

/*
 * Lists the folders of one recorder, sorted, so that the order does not depend on the file system.
 */
static size_t list_folders(DIR *directory, char ***ret_names, int *ret_error)
{
	struct dirent *entry;
	size_t nr = 0, capacity = 0;
	int ret;

	*ret_names = NULL;
	*ret_error = ENOMEM;
	while (errno = 0, (entry = readdir(directory))) {
		ret = *entry->d_name == '.' ? 0
					    : buffers_is_folder(dirfd(directory), entry->d_name);
		if (ret < 0) {
			*ret_error = -ret;
			goto end;
		}
		if (!ret)
			continue;
		if (nr == capacity) {
			char **grown = realloc(*ret_names,
					(capacity = capacity ? capacity * 2 : 16) *
							sizeof(**ret_names));

			if (!grown)
				goto end;
			*ret_names = grown;
		}
		(*ret_names)[nr] = strdup(entry->d_name);
		if (!(*ret_names)[nr])
			goto end;
		nr++;
	}
	*ret_error = errno;
end:
	if (nr)
		qsort(*ret_names, nr, sizeof(**ret_names), recover_compare_names);
	return nr;
}

static void recover_show_progress(const struct session *session)
{
	if (session->loop.progress)
		session->loop.progress(session->loop.progress_user,
				atomic_load_explicit(&session->drain.written, memory_order_relaxed),
				session->instances.nr,
				atomic_load_explicit(&session->drain.lost, memory_order_relaxed));
}

static void load_directory(struct session *session, const char *path)
{
	DIR *directory = opendir(path);
	char **names;
	size_t nr, i;
	int ret, error;

	if (!directory) {
		fail_path(session, path, strerror(errno));
		return;
	}
	ret = buffers_is_folder(dirfd(directory), ".");
	if (ret < 0) {
		fail_path(session, path, strerror(-ret));
		closedir(directory);
		return;
	}
	if (ret) {
		load_folder(session, dirfd(directory), ".", path);
		closedir(directory);
		return;
	}
	nr = list_folders(directory, &names, &error);
	if (error)
		fail_path(session, path, error_strerror(error));
	else if (!nr)
		fail_path(session, path,
				"it has no directory of `side record --buffers` (none is left after an orderly end)");
	for (i = 0; i < nr; i++) {
		char *whole;

		if (asprintf(&whole, "%s/%s", path, names[i]) >= 0) {
			load_folder(session, dirfd(directory), names[i], whole);
			recover_show_progress(session);
			free(whole);
		} else {
			fail_path(session, path, "out of memory");
		}
		free(names[i]);
	}
	free(names);
	closedir(directory);
}

static void recover_load_file(struct session *session, const char *path)
{
	struct error error = {.text = ""};
	struct stat status;

	if (stat(path, &status)) {
		fail_path(session, path, strerror(errno));
		report_failure(session, errno);
	} else if (S_ISDIR(status.st_mode)) {
		load_directory(session, path);
	} else if (core_load(session, path, &error)) {
		fail_path(session, path, error.text);
	}
}

int session_recover(const struct session_recover_options *options, struct session **ret_session,
		struct error *error)
{
	struct session *session = session_allocate();
	size_t i;
	int ret;

	*ret_session = NULL;
	error_clear(error);
	if (!session)
		return session_fail_allocation(error);
	session->recovers = true;
	session->output.format =
			options->format == SESSION_FORMAT_CTF2 ? CTF_FORMAT_2 : CTF_FORMAT_1;
	session->output.compress = options->compress;
	session_on_progress(session, options->progress, options->progress_user);
	ret = output_create(session, options->output, options->force, error);
	if (ret) {
		session_destroy(session);
		return ret;
	}
	if (options->ready)
		options->ready(session->output.path);
	for (i = 0; i < options->nr_paths; i++) {
		recover_load_file(session, options->paths[i]);
		recover_show_progress(session);
	}
	*ret_session = session;
	return 0;
}
