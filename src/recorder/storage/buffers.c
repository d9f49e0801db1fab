/* SPDX-License-Identifier: MIT */
/*
 * Stores rings in files of a directory, so that they outlive their processes and the recorder, and
 * writes the files that a later reader needs:
 *
 *     DIR/<procname>-<pid>-<n>/
 *         instance         process, clock, channels with their contexts; text
 *         events           the descriptions, in the form in which the program sent them
 *         <channel>.rings  the memory of its rings
 *         journal, told    what the trace contains already: journal.c
 *
 * Each file is complete before the program can refer to its content. "instance" is written last and
 * removed first: a folder without it is incomplete and ignored. A folder is removed when the trace
 * contains all of its records, and stays if the recorder is killed or the machine fails. The
 * recorder holds a lock on `events` while it runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "recorder/core/channels.h"
#include "recorder/core/facts.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/session-state.h"
#include "recorder/storage/buffers.h"
#include "recorder/storage/found.h"
#include "recorder/storage/journal.h"
#include "recorder/storage/state-directory.h"
#include "ring/ring.h"

#define NAME_TRIES 100

/* ---- the directory ---- */

/* Permissions do not show that a directory permits no new files at all (as in /proc), so try it. */
static int buffers_probe(int fd)
{
	char name[64];

	snprintf(name, sizeof(name), ".side-%ld", (long)getpid());
	if (mkdirat(fd, name, 0700))
		return errno == EEXIST ? 0 : errno;
	unlinkat(fd, name, AT_REMOVEDIR);
	return 0;
}

int buffers_open(
		struct session *session, const struct session_options *options, struct error *error)
{
	int code;

	if (!options->buffers)
		return 0;
	if (!mkdir(options->buffers, 0755))
		session->buffers.ours = true;
	session->buffers.fd = open(options->buffers, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	code = errno;
	if (session->buffers.fd < 0 || faccessat(session->buffers.fd, ".", W_OK | X_OK, 0)) {
		code = session->buffers.fd < 0 ? code : errno;
		return error_set_kind(error, report_error_kind(code), -code, NULL,
				"cannot store buffers in %s: %s", options->buffers, strerror(code));
	}
	code = buffers_probe(session->buffers.fd);
	if (code)
		return error_set_kind(error, report_error_kind(code), -code,
				"`--buffers DIRECTORY` names another one",
				"cannot store buffers in %s: %s", options->buffers, strerror(code));
	session->buffers.path = realpath(options->buffers, NULL);
	if (!session->buffers.path)
		return error_set_no_memory(error);
	return 0;
}

void buffers_close(struct session *session)
{
	if (session->buffers.fd >= 0)
		close(session->buffers.fd);
	session->buffers.fd = -1;
	/* rmdir() removes it only if it is empty. */
	if (session->buffers.path && session->buffers.ours)
		rmdir(session->buffers.path);
}

/* ---- writing ---- */

struct facts {
	const struct session *session;
	const struct instance *instance;
};

/* Only in a state directory, so that a later recorder can find the process again. */
static void buffers_write_peer(FILE *file, const struct instance *instance)
{
	char boot[40];

	state_directory_boot(boot);
	fprintf(file, "peer %s %u %" PRIu64 " %" PRIu64 " %u %u %u %u\n", *boot ? boot : "-",
			(unsigned int)instance->peer, session_process_start(instance->peer),
			instance->token, (unsigned int)instance->uid, (unsigned int)instance->gid,
			instance->control, instance->control_signal);
	if (instance->takes_probes)
		fprintf(file, "probes %u %" PRIu64 "\n", instance->family,
				instance->family_started);
}

static void put_instance(FILE *file, const void *user)
{
	const struct facts *facts = user;
	const struct session *session = facts->session;
	const struct instance *instance = facts->instance;
	char *output = realpath(session->output.path, NULL);
	uint32_t i, k;

	facts_put_line(file, "procname", instance->procname);
	facts_put_line(file, "exe", instance->exe);
	facts_put_line(file, "hostname", session->hostname);
	facts_put_line(file, "trace", output ? output : session->output.path);
	free(output);
	fprintf(file, "process %u %u %u\n", instance->pid, instance->parent, instance->number);
	if (session->state_dir)
		buffers_write_peer(file, instance);
	facts_put_clock(file, session->clock.kind, &session->clock.first);
	fprintf(file, "begin %llu\n", (unsigned long long)instance->begin_ticks);
	for (i = 0; i < instance->nr_channels; i++) {
		const struct channel *channel = instance->channels[i].channel;

		facts_put_line(file, "channel", channel->name);
		for (k = 0; k < channel->contexts.nr; k++)
			facts_put_line(file, "context", channel->contexts.specs[k].name);
	}
}

/* Chooses an unused name: after a crash, folders of an earlier session may exist. */
static int make_folder(struct session *session, struct instance *instance)
{
	unsigned int try;

	for (try = 0; try < NAME_TRIES; try++) {
		char *name;

		if (asprintf(&name, "%s-%u-%u", instance->procname, instance->pid,
				    instance->number + try * LIMIT_INSTANCES) < 0)
			return -ENOMEM;
		if (!mkdirat(session->buffers.fd, name, 0755)) {
			instance->folder = name;
			return 0;
		}
		free(name);
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int open_folder(const struct session *session, const struct instance *instance)
{
	return openat(session->buffers.fd, instance->folder,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int buffers_make(struct session *session, struct instance *instance)
{
	int ret = make_folder(session, instance), folder;

	if (ret)
		return ret;
	folder = open_folder(session, instance);
	if (folder < 0)
		return -errno;
	instance->described_fd = openat(folder, FOUND_EVENTS,
			O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
	if (instance->described_fd < 0)
		ret = -errno;
	else
		flock(instance->described_fd, LOCK_EX | LOCK_NB);
	/* A later recorder must know what the trace contains already. */
	if (!ret)
		ret = journal_make(instance, folder);
	close(folder);
	return ret;
}

int buffers_complete(const struct session *session, const struct instance *instance)
{
	const struct facts facts = {session, instance};
	int folder = open_folder(session, instance), ret;

	if (folder < 0)
		return -errno;
	ret = facts_write_file(folder, FOUND_FILE, FOUND_FIRST_LINE, put_instance, &facts);
	close(folder);
	return ret;
}

int buffers_make_rings(struct session *session, struct instance *instance,
		const struct instance_channel *channel, int *fd)
{
	char name[SESSION_CHANNEL_NAME_MAX + 16];
	int folder = open_folder(session, instance);
	int ret;

	if (folder < 0)
		return -errno;
	found_ring_file(channel->channel->name, name);
	if (channel->revoked)
		ret = ring_memory_create_revoked(&channel->geometry, folder, name, fd);
	else
		ret = ring_memory_create_file(&channel->geometry, folder, name, fd);
	close(folder);
	return ret;
}

static bool buffers_overwrites(const struct instance *instance)
{
	uint32_t i;

	for (i = 0; i < instance->nr_channels; i++)
		if (channel_overwrites(instance->channels[i].channel))
			return true;
	return false;
}

static void remove_files(const struct instance *instance, int folder)
{
	char name[SESSION_CHANNEL_NAME_MAX + 16];
	uint32_t i;

	/* First: a folder without this file is ignored. */
	unlinkat(folder, FOUND_FILE, 0);
	for (i = 0; i < instance->nr_channels; i++) {
		found_ring_file(instance->channels[i].channel->name, name);
		unlinkat(folder, name, 0);
	}
	unlinkat(folder, FOUND_EVENTS, 0);
	unlinkat(folder, LOSSES_FILE, 0);
	unlinkat(folder, JOURNAL_FILE, 0);
}

bool buffers_stay(const struct instance *instance)
{
	return instance->unwritten_code && buffers_overwrites(instance);
}

void buffers_remove(struct session *session, struct instance *instance)
{
	int folder;

	if (!instance->folder || session->recovers)
		return;
	if (instance->described_fd >= 0)
		close(instance->described_fd);
	instance->described_fd = -1;
	if (buffers_stay(instance)) {
		report_instance(session, instance, true,
				"the rings of process %d (%s) are still in %s/%s: side recover reads them",
				(int)instance->peer, instance->procname, session->buffers.path,
				instance->folder);
		return;
	}
	folder = open_folder(session, instance);
	if (folder < 0)
		return;
	remove_files(instance, folder);
	close(folder);
	unlinkat(session->buffers.fd, instance->folder, AT_REMOVEDIR);
}

/* ---- reading ---- */

/*
 * Returns 0 if the error means that the entry is no directory or lacks the file; otherwise the
 * negative errno.
 */
static int not_a_folder(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES ? 0
											: -error;
}

int buffers_is_folder(int state_dir, const char *name)
{
	int folder = openat(state_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int ret;

	if (folder < 0)
		return not_a_folder(errno);
	ret = faccessat(folder, FOUND_FILE, F_OK, AT_SYMLINK_NOFOLLOW) ? not_a_folder(errno) : 1;
	close(folder);
	return ret;
}
