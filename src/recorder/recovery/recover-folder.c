/* SPDX-License-Identifier: MIT */
/* Loads a folder of buffers as an ended instance. Changes nothing in the folder. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/io.h"
#include "ctf/ctf.h"
#include "recorder/core/channels.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/facts.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/recovery/journal-scan.h"
#include "recorder/recovery/recover-folder.h"
#include "recorder/recovery/recovered.h"
#include "recorder/session-state.h"
#include "recorder/storage/found.h"
#include "recorder/storage/instance-free.h"
#include "ring/ring.h"

struct ring_file {
	int fd, error; /* errno of the last failed read, or 0 */
};

static int read_ring_file(void *user, uint64_t address, void *to, size_t size)
{
	struct ring_file *file = user;
	ssize_t got = io_read_at(file->fd, to, size, address);

	if (got < 0) {
		file->error = (int)-got;
		return (int)got;
	}
	return (size_t)got == size ? 0 : -ENODATA;
}

/* Loads a copy of the rings, so that the folder is not changed. */
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
	/* Recover the part that was read. The command still fails. */
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
	struct class_stream stream = {0};
	char *bytes = NULL;
	size_t size;
	int ret = facts_read_file(
			folder, FOUND_EVENTS, 2 * LIMIT_INSTANCE_DESCRIPTIONS, &bytes, &size);

	if (!ret)
		ret = class_stream_feed(&stream, bytes, size, recover_class, &recovered);
	/* The last description can be truncated: no event of it was recorded. */
	class_stream_free(&stream);
	free(bytes);
	return ret;
}

static struct instance *recover_folder_make_instance(
		struct session *session, struct recovery_facts *found)
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

/*
 * Returns whether the recorder of this folder runs: 0 or 1, or a negative errno if the lock cannot
 * be checked.
 */
static int recover_folder_has_recorder(int folder)
{
	int fd = openat(folder, FOUND_EVENTS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int ret = fd < 0 || flock(fd, LOCK_SH | LOCK_NB) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	/* Without the file there is no recorder. load_events() reports that it does not exist. */
	return ret == -EWOULDBLOCK ? 1 : ret == -ENOENT ? 0 : ret;
}

static struct instance *recover_folder_load_instance(struct session *session, int folder,
		struct recovery_facts *found, struct error *error)
{
	struct instance *instance;
	uint32_t i;
	int ret = recover_folder_has_recorder(folder);

	if (ret > 0)
		error_set(error, -EBUSY, NULL,
				"its recorder still runs, and writes the trace when it ends");
	else if (ret)
		error_set(error, ret, NULL, FOUND_EVENTS ": %s", strerror(-ret));
	if (ret)
		return NULL;
	instance = recover_folder_make_instance(session, found);
	if (!instance)
		return NULL;
	for (i = 0; i < instance->nr_channels; i++) {
		struct channel *own = &instance->own_channels[i];

		ret = load_rings(session, &instance->channels[i], own, folder);
		if (ret) {
			error_set(error, ret, NULL, "%s.rings: %s", own->name,
					ret == -EPROTO ? "it has no rings of this version"
						       : strerror(-ret));
			break;
		}
	}
	if (!ret) {
		ret = load_events(session, instance, folder);
		if (ret)
			error_set(error, ret, NULL, FOUND_EVENTS ": %s", strerror(-ret));
	}
	if (!ret)
		return instance;
	instance_free(session, instance);
	return NULL;
}

struct instance *buffers_load(
		struct session *session, int state_dir, const char *name, struct error *error)
{
	int folder = openat(state_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct instance *instance = NULL;
	struct recovery_facts *found = calloc(1, sizeof(*found));
	int ret = 0;

	/* The message of each failure that sets no other one. */
	error_set_no_memory(error);
	if (folder < 0)
		error_set(error, -errno, NULL, FOUND_FILE ": %s", strerror(errno));
	else if (found && !found_read(folder, found, error))
		instance = recover_folder_load_instance(session, folder, found, error);
	if (instance)
		ret = journal_scan(instance, folder, found->trace);
	if (ret) {
		if (ret > 0)
			error_set(error, -EEXIST, NULL, "all of it is in %s", found->trace);
		else
			error_set_no_memory(error);
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
