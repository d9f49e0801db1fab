/* SPDX-License-Identifier: MIT */
/*
 * Continues the recordings of a killed recorder: each folder of the state directory becomes an
 * instance again. A running process has not noticed the kill and continues as the same instance;
 * the rings of a dead one are drained.
 *
 * A folder that its recorder had not finished is ignored: no program uses it. A program may have
 * changed the content of other folders, so it is checked like all data from programs. A folder that
 * cannot be used is reported and left unchanged, and affects no other folder.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "ctf/ctf.h"
#include "protocol/protocol.h"
#include "recorder/core/channels.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/facts.h"
#include "recorder/core/instance.h"
#include "recorder/core/memory.h"
#include "recorder/core/report.h"
#include "recorder/core/service.h"
#include "recorder/core/session.h"
#include "recorder/recovery/adopt-chunks.h"
#include "recorder/recovery/adopt-instance.h"
#include "recorder/recovery/adopt-mapped.h"
#include "recorder/recovery/adopt-process.h"
#include "recorder/recovery/adopt.h"
#include "recorder/recovery/recovered.h"
#include "recorder/session-state.h"
#include "recorder/storage/buffers.h"
#include "recorder/storage/found.h"
#include "recorder/storage/instance-free.h"
#include "recorder/storage/journal.h"
#include "recorder/storage/state-directory.h"
#include "ring/ring.h"

#define LIMIT_FOLDERS 65536
#define LIMIT_LEFTOVERS 256 /* files in an incomplete folder */
#define SCAN_EVERY_MS 100   /* for folders that programs create */
/* Maximum time that a process that appends to its descriptions can hold the lock. */
#define LOCK_TRIES 100
#define LOCK_PAUSE_NS 1000000

static int recovery_adopt_set_error(
		struct error *error, int code, const char *file, const char *why)
{
	return error_set(error, code, NULL, "%s: %s", file, why ? why : strerror(-code));
}

/* ---- its process ---- */

/* Returns the pidfd, or -1 if the process is dead, which includes processes of another boot. */
static int find_recorded(const struct recovery_facts *found)
{
	struct pollfd ended = {.events = POLLIN};
	char boot[40];

	state_directory_boot(boot);
	if (!found->has_peer || !*boot || strcmp(boot, found->boot) != 0)
		return -1;
	ended.fd = (int)syscall(SYS_pidfd_open, found->peer, 0);
	if (ended.fd < 0)
		return -1;
	/*
	 * Check in this order: it is the process with that start time, and it has not ended since.
	 */
	if (found->start && session_process_start(found->peer) == found->start &&
			poll(&ended, 1, 0) == 0)
		return ended.fd;
	close(ended.fd);
	return -1;
}

/*
 * Finds a process that has created its rings itself. It knows only the id in its own namespace, and
 * nothing else if /proc was not mounted. But it has mapped the rings.
 */
static int find_maker(struct instance *instance, const struct recovery_facts *found, int folder)
{
	char name[SESSION_CHANNEL_NAME_MAX + 16];
	struct pollfd ended = {.events = POLLIN};
	struct stat status;
	pid_t pid;

	found_ring_file(instance->channels[0].channel->name, name);
	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW))
		return -1;
	pid = adopt_find_mapper(&status, found->pid, found->peer);
	if (pid < 0)
		return find_recorded(found);
	if (!pid)
		return -1;
	ended.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (ended.fd < 0)
		return -1;
	/* Check in this order: it has not ended since, so it is the process that was examined. */
	if (adopt_find_mapper(&status, found->pid, pid) == pid && poll(&ended, 1, 0) == 0) {
		instance->peer = pid;
		return ended.fd;
	}
	close(ended.fd);
	return -1;
}

static int find_process(const struct session *session, struct instance *instance,
		const struct recovery_facts *found, int folder)
{
	/*
	 * If programs create folders themselves, rings that a recorder has created for a process
	 * may also not be those that the process uses.
	 */
	return found->by_agent || (session->service && session->service->boot)
			? find_maker(instance, found, folder)
			: find_recorded(found);
}

/* ---- its rings ---- */

/* Files of rings have no write permission, so that only the recorder writes to them (ring.h). */
static int open_rings(int folder, const char *name, struct ring_geometry *ret_geometry)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int ret = fd < 0 ? -errno : ring_memory_inspect(fd, ret_geometry);

	if (!ret)
		ret = adopt_open_writable(fd);
	if (fd >= 0)
		close(fd);
	return ret;
}

/* Memory that an earlier recorder has revoked is not charged. */
static int note_revoked(struct instance_channel *channel, int fd)
{
	uint64_t size = ring_memory_size(&channel->geometry);
	struct stat status;

	if (!(channel->geometry.flags & RING_LEASED))
		return 0;
	if (fstat(fd, &status))
		return -errno;
	channel->revoked = (uint64_t)status.st_size < size ? size - (uint64_t)status.st_size : 0;
	return 0;
}

static int adopt_lease(struct instance_channel *channel, int fd)
{
	uint64_t missing;
	int ret = ring_lease_adopt(channel->rings, fd, &missing);

	if (ret || !(channel->geometry.flags & RING_LEASED))
		return ret;
	if (missing != channel->revoked)
		return -EPROTO;
	channel->ring_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return channel->ring_fd < 0 ? -errno : 0;
}

static int adopt_channel(struct instance_channel *channel, struct channel *own, int fd,
		const struct ring_geometry *geometry)
{
	int ret = ring_consumer_map(fd, geometry, &channel->rings);

	if (!ret)
		ret = adopt_lease(channel, fd);
	if (ret)
		return ret;
	if (channel->channel == own) {
		own->mode = geometry->mode;
		own->placement = geometry->placement;
		own->rings = geometry->rings;
		own->ring_size = geometry->size;
	}
	return memory_make_tables(channel) ? 0 : -ENOMEM;
}

static int recovery_adopt_rings(
		struct session *session, struct instance *instance, int folder, struct error *error)
{
	int fds[SESSION_CHANNELS_MAX] = {0}, ret = 0;
	char name[SESSION_CHANNEL_NAME_MAX + 16] = "";
	uint32_t i, nr;

	for (nr = 0; nr < instance->nr_channels && !ret; nr++) {
		struct instance_channel *channel = &instance->channels[nr];

		found_ring_file(channel->channel->name, name);
		fds[nr] = open_rings(folder, name, &channel->geometry);
		ret = fds[nr] < 0 ? fds[nr] : note_revoked(channel, fds[nr]);
	}
	if (!ret && !memory_take_found(session, instance)) {
		snprintf(name, sizeof(name), "rings");
		ret = -ENOSPC;
	}
	for (i = 0; i < instance->nr_channels && !ret; i++) {
		struct channel *own = instance->own_channels ? &instance->own_channels[i] : NULL;

		found_ring_file(instance->channels[i].channel->name, name);
		ret = adopt_channel(&instance->channels[i], own, fds[i],
				&instance->channels[i].geometry);
	}
	while (nr--)
		if (fds[nr] >= 0)
			close(fds[nr]);
	if (ret)
		return recovery_adopt_set_error(error, ret, name,
				ret == -EPROTO ? "it has no rings of this version"
						: ret == -ENOSPC
						? "they are larger than the session's memory"
						: NULL);
	return 0;
}

/* ---- its descriptions ---- */

static int try_lock(int fd)
{
	const struct timespec pause = {0, LOCK_PAUSE_NS};
	int try;

	for (try = 0; flock(fd, LOCK_EX | LOCK_NB); try++) {
		if (errno != EWOULDBLOCK || try == LOCK_TRIES)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int lock_events(int folder, int *ret_fd)
{
	struct stat status;
	int ret;

	*ret_fd = openat(folder, FOUND_EVENTS,
			O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (*ret_fd < 0)
		return -errno;
	ret = fstat(*ret_fd, &status)              ? -errno
			: !S_ISREG(status.st_mode) ? -EINVAL
						   : try_lock(*ret_fd);
	if (!ret)
		return 0;
	close(*ret_fd);
	*ret_fd = -1;
	return ret;
}

static int adopt_events(
		struct session *session, struct instance *instance, int folder, struct error *error)
{
	struct recovered recovered = {.session = session, .instance = instance};
	struct class_stream stream = {0};
	char *bytes = NULL;
	size_t size = 0;
	int fd, ret = lock_events(folder, &fd);

	/* A process that creates its folder itself appends only while it holds the lock. */
	if (!ret)
		ret = facts_read_file(folder, FOUND_EVENTS, 2 * LIMIT_INSTANCE_DESCRIPTIONS, &bytes,
				&size);
	if (!ret)
		ret = class_stream_feed(&stream, bytes, size, recover_class, &recovered);
	/*
	 * Remove an incomplete description, so that others can follow. No event of it was recorded.
	 */
	if (!ret && stream.size && ftruncate(fd, (off_t)(size - stream.size)))
		ret = -errno;
	/* Set this last: the descriptions in the file must not be appended again. */
	instance->described_fd = fd;
	class_stream_free(&stream);
	free(bytes);
	return ret ? recovery_adopt_set_error(error, ret, FOUND_EVENTS,
				     ret == -EWOULDBLOCK ? "another recorder uses it" : NULL)
		   : 0;
}

/* ---- the instance ---- */

/*
 * A process may have begun when the machine's time was not set. The recorder has the correct time.
 */
static bool is_this_boot(const struct recovery_facts *found)
{
	char boot[40];

	state_directory_boot(boot);
	/*
	 * Without /proc, the process could not know the boot. Such a directory is in memory and
	 * does not survive a reboot.
	 */
	return *boot && (!strcmp(found->boot, boot) || !strcmp(found->boot, "-"));
}

static bool keep_clock(const struct session *session, struct instance *instance,
		const struct recovery_facts *found)
{
	const struct ctf_clock *ours = &session->clock.first;

	if (found->clock_kind == session->clock.kind && found->clock.frequency == ours->frequency &&
			found->clock.offset_s == ours->offset_s &&
			found->clock.offset == ours->offset)
		return true;
	if (found->by_agent && found->clock_kind == session->clock.kind && is_this_boot(found))
		return true;
	instance->own_clock = malloc(sizeof(*instance->own_clock));
	if (instance->own_clock &&
			!(found->by_agent && is_this_boot(found) &&
					adopt_know_clock(found->clock_kind, instance->own_clock)))
		*instance->own_clock = found->clock;
	return instance->own_clock;
}

static void recovery_adopt_fill_instance(
		struct instance *instance, const struct recovery_facts *found)
{
	instance->token = found->token;
	instance->uid = instance->account = found->uid;
	instance->gid = found->gid;
	instance->control = found->control;
	instance->control_signal = found->control_signal;
	instance->takes_probes = found->takes_probes;
	instance->family = found->family;
	instance->family_started = found->family_started;
}

/* The folder's name must match its content, so that no two folders refer to the same trace. */
static bool is_folder_of(const struct recovery_facts *found, const char *name)
{
	unsigned long long number;
	char *prefix, *end, *clean = instance_clean_name(found->procname);
	bool is = false;

	if (clean && asprintf(&prefix, "%s-%u-", clean, found->pid) >= 0) {
		is = !strncmp(name, prefix, strlen(prefix));
		name += is ? strlen(prefix) : 0;
		free(prefix);
	}
	free(clean);
	if (!is || *name < '0' || *name > '9')
		return false;
	number = strtoull(name, &end, 10);
	return !*end && number % LIMIT_INSTANCES == found->number;
}

/* Returns 0, 1 if there is nothing left to do, or a negative errno. */
static int adopt_parts(struct session *session, struct instance *instance,
		const struct recovery_facts *found, int folder, struct error *error)
{
	int ret;

	recovery_adopt_fill_instance(instance, found);
	if (!keep_clock(session, instance, found))
		return recovery_adopt_set_error(error, -ENOMEM, FOUND_FILE, NULL);
	ret = recovery_adopt_rings(session, instance, folder, error);
	if (!ret)
		ret = adopt_events(session, instance, folder, error);
	if (ret)
		return ret;
	/* If no recorder has opened the folder, nothing was drained, so it has no journal yet. */
	if (found->by_agent && faccessat(folder, JOURNAL_FILE, F_OK, AT_SYMLINK_NOFOLLOW) &&
			errno == ENOENT) {
		ret = journal_make(instance, folder);
		return ret ? recovery_adopt_set_error(error, ret, JOURNAL_FILE, NULL) : 0;
	}
	return journal_adopt(session, instance, folder, error);
}

/* ---- folders ---- */

/*
 * Removes an incomplete folder if it contains only files that a recorder creates; any other file
 * keeps it unchanged.
 */
static void remove_leftovers(int state_dir, const char *name, int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	unsigned int nr = 0;

	if (!directory) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(directory)) && nr++ < LIMIT_LEFTOVERS) {
		const char *suffix = strrchr(entry->d_name, '.');

		if (!strcmp(entry->d_name, FOUND_EVENTS) || !strcmp(entry->d_name, JOURNAL_FILE) ||
				!strcmp(entry->d_name, LOSSES_FILE) ||
				!strcmp(entry->d_name, LOSSES_FILE_NEW) ||
				!strcmp(entry->d_name, FOUND_FILE) ||
				!strcmp(entry->d_name, "." FOUND_FILE ".new") ||
				(suffix && !strcmp(suffix, ".rings")))
			unlinkat(folder, entry->d_name, 0);
	}
	closedir(directory);
	unlinkat(state_dir, name, AT_REMOVEDIR);
}

static int adopt_found(struct session *session, struct recovery_facts *found, int folder,
		const char *name, struct error *error)
{
	struct instance *instance;
	int ret;

	if (!is_folder_of(found, name))
		return recovery_adopt_set_error(
				error, -EINVAL, FOUND_FILE, "it belongs to another directory");
	instance = found_instance(found);
	if (!instance)
		return recovery_adopt_set_error(error, -ENOMEM, FOUND_FILE, NULL);
	instance->folder = strdup(name);
	ret = instance->folder ? adopt_parts(session, instance, found, folder, error) : -ENOMEM;
	if (ret) {
		instance_free(session, instance);
		return ret;
	}
	adopt_add(session, instance, find_process(session, instance, found, folder));
	return 0;
}

static int adopt_folder(struct session *session, int folder, const char *name, struct error *error)
{
	struct recovery_facts *found;
	struct stat status;
	int ret;

	if (fstat(folder, &status) || status.st_uid != state_directory_owner(session))
		return recovery_adopt_set_error(
				error, -EPERM, "the directory", "it belongs to another user");
	if (faccessat(folder, FOUND_FILE, F_OK, AT_SYMLINK_NOFOLLOW) && errno == ENOENT)
		return 1;
	found = calloc(1, sizeof(*found));
	if (!found)
		return recovery_adopt_set_error(error, -ENOMEM, FOUND_FILE, NULL);
	ret = found_read(folder, found, error);
	if (!ret)
		ret = adopt_found(session, found, folder, name, error);
	found_free(found);
	free(found);
	return ret;
}

/* ---- folders that programs create ---- */

static bool recovery_adopt_channel_is_known(const struct session *session, const char *name)
{
	const struct instance *instance;
	size_t i;

	for (instance = session->instances.list; instance; instance = instance->next)
		if (instance->folder && !strcmp(instance->folder, name))
			return true;
	for (i = 0; i < session->service->nr_useless; i++)
		if (!strcmp(session->service->useless[i], name))
			return true;
	return false;
}

static void remember_useless(struct service *service, const char *name)
{
	char **more = realloc(service->useless, (service->nr_useless + 1) * sizeof(*more));

	if (!more)
		return;
	service->useless = more;
	more[service->nr_useless] = strdup(name);
	service->nr_useless += more[service->nr_useless] != NULL;
}

void adopt_forget(struct session *session)
{
	struct service *service = session->service;

	while (service->nr_useless)
		free(service->useless[--service->nr_useless]);
	free(service->useless);
	service->useless = NULL;
}

static void adopt_entry(struct session *session, const char *name)
{
	int folder = openat(session->buffers.fd, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct error error;
	int ret;

	/* A file, a link, or a folder that was removed. */
	if (folder < 0 && (errno == ENOTDIR || errno == ELOOP || errno == ENOENT))
		return;
	if (folder < 0) {
		ret = recovery_adopt_set_error(&error, -errno, "the directory", NULL);
	} else {
		error_set_no_memory(&error);
		ret = adopt_folder(session, folder, name, &error);
	}
	if (ret > 0)
		remove_leftovers(session->buffers.fd, name, folder);
	else if (ret < 0)
		report(session, true, "cannot adopt %s/%s: %s%s%s", session->buffers.path, name,
				error.text, *error.hint ? "\n" : "", error.hint);
	if (ret < 0 && session->service)
		remember_useless(session->service, name);
	if (folder >= 0)
		close(folder);
}

/* ---- all of them ---- */

static int recovery_adopt_compare_names(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

/* *ret_error: errno why the list is incomplete; 0: it is complete. */
static size_t list_entries(DIR *directory, char **names, size_t capacity, int *ret_error)
{
	struct dirent *entry;
	size_t nr = 0;

	*ret_error = 0;
	while (errno = 0, nr < capacity && (entry = readdir(directory))) {
		if (*entry->d_name == '.' ||
				(entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
			continue;
		names[nr] = strdup(entry->d_name);
		if (!names[nr])
			break;
		nr++;
	}
	*ret_error = errno;
	qsort(names, nr, sizeof(*names), recovery_adopt_compare_names);
	return nr;
}

/* Continues the numbers of instances after the largest one that is in use. */
static void count_on(struct session *session)
{
	const struct instance *instance;
	uint32_t next = 0;

	for (instance = session->instances.list; instance; instance = instance->next)
		if (instance->number >= next)
			next = instance->number + 1;
	pthread_mutex_lock(&session->lock);
	if (next > session->instances.nr) {
		session->instances.nr_freed += next - session->instances.nr;
		session->instances.nr = next;
	}
	pthread_mutex_unlock(&session->lock);
}

int adopt_all(struct session *session, struct error *error)
{
	int fd = openat(session->buffers.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	/* One more entry than allowed, to detect that there are too many. */
	char **names = calloc(LIMIT_FOLDERS + 1, sizeof(*names));
	size_t nr, i;
	int code;

	if (!directory || !names) {
		if (directory)
			closedir(directory);
		else if (fd >= 0)
			close(fd);
		free(names);
		return error_set(error, -ENOMEM, NULL, "cannot read %s: out of memory",
				session->buffers.path);
	}
	/* Sorted, so that the order does not depend on the file system. */
	nr = list_entries(directory, names, LIMIT_FOLDERS + 1, &code);
	if (code)
		report(session, true, "not all directories of %s are adopted: %s",
				session->buffers.path, strerror(code));
	if (nr > LIMIT_FOLDERS) {
		report(session, true, "%s has too many directories: not all of them are adopted",
				session->buffers.path);
		free(names[--nr]);
	}
	for (i = 0; i < nr; i++) {
		adopt_entry(session, names[i]);
		free(names[i]);
	}
	free(names);
	closedir(directory);
	if (session->service && session->service->boot)
		adopt_mapped_all(session);
	if (state_directory_is_adopted(session))
		adopt_chunks(session);
	count_on(session);
	return 0;
}

void adopt_new(struct session *session, bool now)
{
	struct service *service = session->service;
	uint64_t time = clock_monotonic_ns();
	struct dirent *entry;
	bool any = false;
	DIR *directory;
	int fd;

	if (!service->boot || (!now && time < service->next_check))
		return;
	service->next_check = wire_deadline(SCAN_EVERY_MS);
	if (now)
		adopt_mapped_all(session);
	fd = openat(session->buffers.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	directory = fd < 0 ? NULL : fdopendir(fd);
	if (!directory) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(directory))) {
		if (*entry->d_name == '.' ||
				recovery_adopt_channel_is_known(session, entry->d_name) ||
				buffers_is_folder(session->buffers.fd, entry->d_name) <= 0)
			continue;
		adopt_entry(session, entry->d_name);
		any = true;
	}
	closedir(directory);
	if (any)
		count_on(session);
}
