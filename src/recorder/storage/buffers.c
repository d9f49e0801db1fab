/* SPDX-License-Identifier: MIT */
/*
 * Rings in files of a directory that the user named, so that they outlive everybody, and beside them
 * what somebody needs who finds them:
 *
 *	DIR/<procname>-<pid>-<n>/
 *		instance	who it was, the clock, the channels with their contexts; text
 *		events		the descriptions, in the form in which they arrive
 *		<channel>.rings	the memory of its rings
 *		journal, told	what of it is in the trace already: journal.c
 *
 * Each file is complete before the program hears of what is in it, and "instance" comes last and goes
 * first: a folder without it is nothing. A folder goes when all that is in its rings is in the trace,
 * and stays when recorder or machine die. `events` is locked while its recorder lives.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ctf/ctf.h"
#include "protocol/protocol.h"
#include "recorder/core/channels.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/session-state.h"
#include "recorder/core/session.h"
#include "recorder/recovery/facts.h"
#include "recorder/recovery/journal-scan.h"
#include "recorder/recovery/recovered.h"
#include "recorder/storage/buffers.h"
#include "recorder/storage/journal.h"
#include "recorder/storage/state-directory.h"
#include "ring/ring.h"

#define NAME_TRIES 100

/* ---- the directory ---- */

/* Permissions do not tell of a directory in which nobody can make anything (as in /proc). */
static int buffers_probe(int fd)
{
	char name[64];

	snprintf(name, sizeof(name), ".side-%ld", (long)getpid());
	if (mkdirat(fd, name, 0700))
		return errno == EEXIST ? 0 : errno;
	unlinkat(fd, name, AT_REMOVEDIR);
	return 0;
}

int buffers_open(struct session *session, const struct session_options *options,
		struct session_error *error)
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
		return session_fail(error, session_error_kind_of(code), code,
				"cannot keep buffers in %s: %s", options->buffers, strerror(code));
	}
	code = buffers_probe(session->buffers.fd);
	if (code) {
		session_fail(error, session_error_kind_of(code), code,
				"cannot keep buffers in %s: %s", options->buffers, strerror(code));
		return session_hint(error, "`--buffers DIRECTORY` names another one");
	}
	session->buffers.path = realpath(options->buffers, NULL);
	if (!session->buffers.path)
		return session_fail(error, SESSION_ERROR_FAILED, ENOMEM, "out of memory");
	return 0;
}

void buffers_close(struct session *session)
{
	if (session->buffers.fd >= 0)
		close(session->buffers.fd);
	session->buffers.fd = -1;
	/* Only an empty one can be removed. */
	if (session->buffers.path && session->buffers.ours)
		rmdir(session->buffers.path);
}

/* ---- writing ---- */

struct facts {
	const struct session *session;
	const struct instance *instance;
};

/* Of a place, so that a later recorder finds the process itself again. */
static void buffers_write_peer(FILE *file, const struct instance *instance)
{
	char boot[40];

	place_boot(boot);
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
	if (session->place)
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

/* A name that nobody has: after a crash, folders of an earlier session may be there. */
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
	/* Who comes after us must know what is in the trace already. */
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

int buffers_note_kind(
		struct instance *instance, const struct wire_event_head *head, const void *bytes)
{
	struct iovec parts[] = {
			{.iov_base = (void *)(uintptr_t)head, .iov_len = sizeof(*head)},
			{.iov_base = (void *)(uintptr_t)bytes,
					.iov_len = (size_t)head->contexts_size + head->size},
	};
	ssize_t wanted = (ssize_t)(parts[0].iov_len + parts[1].iov_len), written;
	off_t end;

	if (instance->described_fd < 0)
		return 0;
	end = lseek(instance->described_fd, 0, SEEK_END);
	written = writev(instance->described_fd, parts, 2);
	if (written == wanted)
		return 0;
	/* Half an entry would hide those behind it. */
	if (end >= 0 && ftruncate(instance->described_fd, end))
		return -EIO;
	return written < 0 ? -errno : -ENOSPC;
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

	/* First: without it nobody takes the rest for anything. */
	unlinkat(folder, FOUND_FILE, 0);
	for (i = 0; i < instance->nr_channels; i++) {
		found_ring_file(instance->channels[i].channel->name, name);
		unlinkat(folder, name, 0);
	}
	unlinkat(folder, FOUND_EVENTS, 0);
	unlinkat(folder, TOLD_FILE, 0);
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

/* 0 if the error means that the entry is no directory or lacks the file; otherwise the negative errno. */
static int not_a_folder(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES ? 0
											: -error;
}

int buffers_is_folder(int place, const char *name)
{
	int folder = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int ret;

	if (folder < 0)
		return not_a_folder(errno);
	ret = faccessat(folder, FOUND_FILE, F_OK, AT_SYMLINK_NOFOLLOW) ? not_a_folder(errno) : 1;
	close(folder);
	return ret;
}

struct ring_file {
	int fd, error; /* errno of the last failed read, or 0 */
};

static int read_ring_file(void *user, uint64_t address, void *to, size_t size)
{
	struct ring_file *file = user;
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(
				file->fd, (char *)to + done, size - done, (off_t)(address + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			file->error = errno;
		if (got <= 0)
			return got < 0 ? -errno : -ENODATA;
		done += (size_t)got;
	}
	return 0;
}

/* A copy: nothing in the directory is touched. */
static int load_rings(struct session *session, struct instance_channel *channel,
		struct channel *own, int folder)
{
	char name[SESSION_CHANNEL_NAME_MAX + 16];
	struct ring_file file = {.fd = -1};
	int copy, ret;

	found_ring_file(own->name, name);
	file.fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file.fd < 0)
		return -errno;
	ret = ring_memory_import(read_ring_file, &file, 0, &copy);
	close(file.fd);
	if (ret)
		return ret;
	/* Recover the part that was read. The command fails nevertheless. */
	if (file.error) {
		report(session, true, "cannot read all of %s: %s", name, strerror(file.error));
		report_failure(session, file.error);
	}
	ret = recover_map(channel, own, copy);
	close(copy);
	return ret;
}

static int load_events(struct session *session, struct instance *instance, int folder)
{
	struct recovered recovered = {.session = session, .instance = instance};
	struct kind_stream stream = {0};
	char *bytes = NULL;
	size_t size;
	int ret = facts_read_file(
			folder, FOUND_EVENTS, 2 * LIMIT_INSTANCE_DESCRIPTIONS, &bytes, &size);

	if (!ret)
		ret = kind_stream_feed(&stream, bytes, size, recover_kind, &recovered);
	/* The last one may be cut: nothing was recorded of it. */
	kind_stream_free(&stream);
	free(bytes);
	return ret;
}

static struct instance *buffers_make_instance(struct session *session, struct found *found)
{
	struct instance *instance = found_instance(found);

	if (!instance)
		return NULL;
	session->clock.first = found->clock;
	memcpy(session->hostname, found->hostname, sizeof(session->hostname));
	if (!*session->hostname)
		strcpy(session->hostname, "unknown");
	return instance;
}

/* Whether the recorder of this folder runs: 0 or 1, or a negative errno if the lock cannot be checked. */
static int buffers_has_recorder(int folder)
{
	int fd = openat(folder, FOUND_EVENTS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int ret = fd < 0 || flock(fd, LOCK_SH | LOCK_NB) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	/* Without the file there is no recorder. load_events() reports that it is missing. */
	return ret == -EWOULDBLOCK ? 1 : ret == -ENOENT ? 0 : ret;
}

static struct instance *buffers_load_instance(
		struct session *session, int folder, struct found *found, struct ctf_error *error)
{
	struct instance *instance;
	uint32_t i;
	int ret = buffers_has_recorder(folder);

	if (ret > 0)
		snprintf(error->text, sizeof(error->text),
				"its recorder still runs, and writes the trace when it ends");
	else if (ret)
		snprintf(error->text, sizeof(error->text), FOUND_EVENTS ": %s", strerror(-ret));
	if (ret)
		return NULL;
	instance = buffers_make_instance(session, found);
	if (!instance)
		return NULL;
	for (i = 0; i < instance->nr_channels; i++) {
		struct channel *own = &instance->own_channels[i];

		ret = load_rings(session, &instance->channels[i], own, folder);
		if (ret) {
			snprintf(error->text, sizeof(error->text), "%s.rings: %s", own->name,
					ret == -EPROTO ? "there are no rings of this version in it"
						       : strerror(-ret));
			break;
		}
	}
	if (!ret) {
		ret = load_events(session, instance, folder);
		if (ret)
			snprintf(error->text, sizeof(error->text), FOUND_EVENTS ": %s",
					strerror(-ret));
	}
	if (!ret)
		return instance;
	instance_free(session, instance);
	return NULL;
}

struct instance *buffers_load(
		struct session *session, int place, const char *name, struct ctf_error *error)
{
	int folder = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct instance *instance = NULL;
	struct found *found = calloc(1, sizeof(*found));
	int ret = 0;

	snprintf(error->text, sizeof(error->text), "out of memory");
	if (folder < 0)
		snprintf(error->text, sizeof(error->text), FOUND_FILE ": %s", strerror(errno));
	else if (found && !found_read(folder, found, error))
		instance = buffers_load_instance(session, folder, found, error);
	if (instance)
		ret = journal_look(instance, folder, found->trace);
	if (ret) {
		snprintf(error->text, sizeof(error->text),
				ret > 0 ? "all of it is in %s" : "out of memory", found->trace);
		instance_free(session, instance);
		instance = NULL;
	}
	if (instance && *found->trace)
		report_instance(session, instance, false,
				"earlier data of process %u (%s) is in %s", found->pid,
				instance->procname, found->trace);
	if (found)
		found_free(found);
	free(found);
	if (folder >= 0)
		close(folder);
	return instance;
}
