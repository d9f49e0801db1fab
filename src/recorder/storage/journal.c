/* SPDX-License-Identifier: MIT */
/*
 * Records which records of a process's rings are in which file, so that a recorder can be killed at
 * any instant and the next one writes each record exactly once.
 *
 *     0      struct journal_head
 *     4096   struct journal_slot[rings][2], for the rings of all channels
 *
 * A packet moves from a ring to a file in three steps. A later recorder repairs a kill between any
 * two of them:
 *
 *     append    The file has grown. The ring's tail and both slots are unchanged: the slot with the
 *               tail's position contains the valid length of the file, so the file is truncated.
 *               The packet is written again.
 *     note      The other slot contains the position after the packet, and the file's new length.
 *               The tail is unchanged, so the repair is the same.
 *     release   The tail has the new position: the packet is in the file, and stays.
 *
 * The slots are used alternately, so that the valid one is never being written. One call writes a
 * slot within one page, so a kill cannot split it. A packet without records, which only counts
 * losses, is noted with the previous position; the later note is valid. Windows of overwrite rings
 * are written only at the end and have no note: they are truncated and written again. Each trace
 * reports losses once, in its stream `side_session`; after that, the file "told" contains the
 * reported losses. A `side_session` without a matching "told" is removed.
 *
 * Each recorder writes traces of its own (`serial` counts them): a slot with the serial of an
 * earlier trace means that the current trace contains nothing of this ring. The program could have
 * changed the journal: so it can name only traces of this process, and can truncate them, but not
 * extend them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "ctf/compress.h"
#include "ctf/ctf.h"
#include "recorder/core/facts.h"
#include "recorder/core/instance.h"
#include "recorder/core/maps.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/core/totals.h"
#include "recorder/session-state.h"
#include "recorder/storage/journal-format.h"
#include "recorder/storage/journal.h"
#include "recorder/storage/reported-losses.h"
#include "ring/ring.h"

struct journal *journal_allocate(const struct instance *instance)
{
	struct journal *journal = calloc(1, sizeof(*journal));
	uint32_t i;

	if (!journal)
		return NULL;
	journal->fd = -1;
	for (i = 0; i < instance->nr_channels; i++) {
		journal->first[i] = journal->rings;
		journal->rings += instance->channels[i].geometry.rings;
	}
	journal->which = calloc(journal->rings + 1, 1);
	if (journal->which)
		return journal;
	free(journal);
	return NULL;
}

void journal_close(struct instance *instance)
{
	if (!instance->journal)
		return;
	if (instance->journal->fd >= 0)
		close(instance->journal->fd);
	free(instance->journal->which);
	free(instance->journal);
	instance->journal = NULL;
}

uint32_t journal_life(const struct instance *instance)
{
	return instance->journal ? instance->journal->life : 1;
}

static off_t slot_at(uint32_t ring, unsigned int which)
{
	return HEAD_BYTES + (off_t)sizeof(struct journal_slot) * ((off_t)ring * 2 + which);
}

static int journal_write_at(const struct journal *journal, const void *bytes, size_t size, off_t at)
{
	return io_write_all_at(journal->fd, bytes, size, (uint64_t)at);
}

/* ---- writing ---- */

int journal_make(struct instance *instance, int folder)
{
	struct journal *journal = journal_allocate(instance);
	struct journal_head head = {.magic = JOURNAL_MAGIC, .version = JOURNAL_VERSION, .life = 1};
	int ret;

	if (!journal)
		return -ENOMEM;
	instance->journal = journal;
	journal->life = 1;
	head.rings = journal->rings;
	journal->fd = openat(folder, JOURNAL_FILE,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (journal->fd < 0)
		return -errno;
	/* Allocate all blocks now, so that a note can never fail for lack of space. */
	ret = -posix_fallocate(journal->fd, 0, slot_at(journal->rings, 0));
	return ret ? ret : journal_write_at(journal, &head, sizeof(head), 0);
}

/* Stores the path of the trace after the current one, below the output directory. */
static int put_next_path(
		const struct session *session, const struct journal *journal, const char *path)
{
	size_t above = strlen(session->output.path);
	char below[PATH_BYTES] = "";

	if (strncmp(path, session->output.path, above) != 0 || path[above] != '/' ||
			strlen(path + above + 1) >= sizeof(below))
		return -ENAMETOOLONG;
	strcpy(below, path + above + 1);
	return journal_write_at(journal, below, sizeof(below),
			(off_t)offsetof(struct journal_head, traces) +
					(off_t)((journal->serial + 1) & 1) * PATH_BYTES);
}

void journal_expect_trace(
		const struct session *session, const struct instance *instance, const char *path)
{
	if (instance->journal)
		(void)put_next_path(session, instance->journal, path);
}

int journal_begin_trace(const struct session *session, struct instance *instance, const char *path)
{
	struct journal *journal = instance->journal;
	uint32_t serial;
	int ret;

	if (!journal)
		return 0;
	serial = journal->serial + 1;
	ret = put_next_path(session, journal, path);
	/* After this write, the files of the earlier trace do not change any more. */
	if (!ret)
		ret = journal_write_at(journal, &serial, sizeof(serial),
				offsetof(struct journal_head, serial));
	if (!ret)
		journal->serial = serial;
	return ret;
}

int journal_note(struct instance *instance, uint32_t channel, uint32_t ring, uint64_t position)
{
	struct journal *journal = instance->journal;
	const struct instance_ring *each = &instance->channels[channel].each[ring];
	struct journal_slot slot = {
			.position = position,
			.discarded = each->discarded,
			.unwritten = each->unwritten,
			.recorded = each->recorded,
			.end_timestamp = each->begin,
	};
	uint32_t index;
	int ret;

	if (!journal)
		return 0;
	if (each->stream) {
		slot.size = ctf_stream_size(each->stream);
		slot.end_timestamp = ctf_stream_end(each->stream);
		slot.serial = journal->serial;
	}
	slot.count = ++journal->count;
	index = journal->first[channel] + ring;
	ret = journal_write_at(
			journal, &slot, sizeof(slot), slot_at(index, journal->which[index] ^ 1));
	if (!ret)
		journal->which[index] ^= 1;
	return ret;
}

int journal_finish(struct instance *instance)
{
	const uint32_t done = 1;

	return instance->journal ? journal_write_at(instance->journal, &done, sizeof(done),
						   offsetof(struct journal_head, done))
				 : 0;
}

static int journal_write_losses_file(
		int folder, const struct losses_file_head *head, const void *losses)
{
	int fd, ret;

	unlinkat(folder, LOSSES_FILE_NEW, 0);
	fd = openat(folder, LOSSES_FILE_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	if (fd < 0)
		return -errno;
	ret = io_write_all(fd, head, sizeof(*head));
	if (!ret)
		ret = io_write_all(fd, losses, head->size);
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && renameat(folder, LOSSES_FILE_NEW, folder, LOSSES_FILE))
		ret = -errno;
	if (ret)
		unlinkat(folder, LOSSES_FILE_NEW, 0);
	return ret;
}

int journal_write_losses(const struct session *session, const struct instance *instance,
		const void *losses, size_t size)
{
	struct losses_file_head head = {.magic = LOSSES_MAGIC, .size = (uint32_t)size};
	int folder, ret;

	if (!instance->journal)
		return 0;
	head.serial = instance->journal->serial;
	folder = openat(session->buffers.fd, instance->folder,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return -errno;
	ret = journal_write_losses_file(folder, &head, losses);
	close(folder);
	return ret;
}

/* ---- the journal of an earlier recorder ---- */

struct journal_adoption {
	struct session *session;
	struct instance *instance;
	int folder;
	struct journal_head head;
	int trace;  /* its directory, or -1 if it has none or it was removed */
	char *path; /* path of the trace */
	uint32_t losses_serial;
	unsigned int unknown; /* rings without a valid slot */
};

/*
 * True for the name of a trace of this process: "<procname>-<pid>-<number>" with an optional
 * suffix.
 */
static bool is_own_trace(const struct instance *instance, const char *name)
{
	char *end, *prefix;
	unsigned long long number;
	bool own;

	if (asprintf(&prefix, "%s-%u-", instance->procname, instance->pid) < 0)
		return false;
	own = !strncmp(name, prefix, strlen(prefix));
	name += own ? strlen(prefix) : 0;
	free(prefix);
	if (!own || *name < '0' || *name > '9')
		return false;
	number = strtoull(name, &end, 10);
	if (number % LIMIT_INSTANCES != instance->number)
		return false;
	if (end[0] == '-' && end[1] == 'r')
		end += 2 + strspn(end + 2, "0123456789");
	return !*end;
}

/*
 * Opens a directory below the output directory. Follows no links and no "..", so that the path
 * cannot leave it.
 */
static int journal_open_below(
		const struct session *session, char *path, const struct instance *instance)
{
	int at = open(session->output.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *remainder = path, *part, *last = NULL;

	while (at >= 0 && (part = strsep(&remainder, "/"))) {
		int next = -1;

		last = part;
		/* The name of a chunk that is being written begins with a dot. */
		if (*part && strcmp(part, ".") != 0 && strcmp(part, "..") != 0)
			next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(at);
		at = next;
	}
	if (at >= 0 && (!last || !is_own_trace(instance, last))) {
		close(at);
		at = -1;
	}
	return at;
}

/* Opens the current trace, if there is one. */
static void open_trace(struct journal_adoption *adoption)
{
	char *path = adoption->head.traces[adoption->head.serial & 1];
	char below[PATH_BYTES];

	path[PATH_BYTES - 1] = 0;
	if (!adoption->head.serial || !*path)
		return;
	memcpy(below, path, sizeof(below));
	adoption->trace = journal_open_below(adoption->session, below, adoption->instance);
	if (adoption->trace >= 0 &&
			asprintf(&adoption->path, "%s/%s", adoption->session->output.path, path) <
					0)
		adoption->path = NULL;
}

/*
 * Removes the directory of the next trace if a recorder was killed before it wrote anything there.
 */
static void journal_remove_incomplete(const struct journal_adoption *adoption)
{
	const char *path = adoption->head.traces[(adoption->head.serial + 1) & 1];
	char below[PATH_BYTES], *whole = NULL;
	struct error error;
	int trace;

	memcpy(below, path, sizeof(below));
	below[PATH_BYTES - 1] = 0;
	if (!*below || asprintf(&whole, "%s/%s", adoption->session->output.path, below) < 0)
		return;
	trace = journal_open_below(adoption->session, below, adoption->instance);
	/* rmdir() fails if the directory is not empty, which is harmless. */
	if (trace >= 0 && faccessat(trace, "metadata", F_OK, AT_SYMLINK_NOFOLLOW))
		(void)ctf_repair_metadata(whole, &error);
	if (trace >= 0)
		close(trace);
	free(whole);
}

/*
 * Truncates a file; returns 1 if it exists, else 0 or a negative errno. A file that is shorter than
 * `size` stays unchanged.
 */
static int cut_file(int trace, const char *name, uint64_t size)
{
	struct stat status;
	int fd, ret = 1;

	if (!size)
		return unlinkat(trace, name, 0) ? (errno == ENOENT ? 0 : -errno) : 1;
	fd = openat(trace, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || (uint64_t)status.st_size < size)
		ret = -EBADMSG;
	else if ((uint64_t)status.st_size > size && ftruncate(fd, (off_t)size))
		ret = -errno;
	close(fd);
	return ret;
}

static int cut_stream(const struct journal_adoption *adoption, const char *name, uint64_t size)
{
	char compressed[SESSION_CHANNEL_NAME_MAX + 32];
	int ret, other;

	if (adoption->trace < 0)
		return 0;
	snprintf(compressed, sizeof(compressed), "%s" CTF_COMPRESSED_SUFFIX, name);
	ret = cut_file(adoption->trace, name, size);
	other = cut_file(adoption->trace, compressed, size);
	if (ret < 0 || other < 0)
		return ret < 0 ? ret : other;
	return ret || other || !size ? 0 : -EBADMSG;
}

/* Finds the slot for the ring's position. Returns false if there is none. */
bool journal_find_slot(struct journal *journal, uint32_t index, uint64_t position,
		struct journal_slot *slot, unsigned char *ret_which)
{
	struct journal_slot slots[2];
	bool found = false;
	unsigned char i;

	if (pread(journal->fd, slots, sizeof(slots), slot_at(index, 0)) != (ssize_t)sizeof(slots))
		return false;
	for (i = 0; i < 2; i++) {
		if (slots[i].count > journal->count)
			journal->count = slots[i].count;
		if (slots[i].position != position || (found && slots[i].count < slot->count))
			continue;
		*slot = slots[i];
		*ret_which = i;
		found = true;
	}
	return found;
}

/*
 * Restores the statistics from the slot: everything before the position is in files, or was counted
 * as unwritten.
 */
static void journal_adopt_stats(struct instance *instance, struct instance_channel *channel,
		struct instance_ring *ring, const struct journal_slot *slot)
{
	uint64_t bytes = slot->position > slot->unwritten ? slot->position - slot->unwritten : 0;

	ring->written = bytes;
	channel->written += bytes;
	instance->written += bytes;
	ring->recorded = slot->recorded;
	channel->recorded += slot->recorded;
	instance->recorded += slot->recorded;
}

static void adopt_ring(struct journal_adoption *adoption, uint32_t channel, uint32_t ring)
{
	struct instance_channel *of = &adoption->instance->channels[channel];
	struct journal *journal = adoption->instance->journal;
	uint32_t index = journal->first[channel] + ring;
	struct instance_ring *each = &of->each[ring];
	char name[SESSION_CHANNEL_NAME_MAX + 16];
	struct journal_slot slot = {0};

	if (!journal_find_slot(journal, index, ring_consumer_position(of->rings, ring), &slot,
			    &journal->which[index])) {
		adoption->unknown++;
		return;
	}
	each->discarded = each->discarded_before = slot.discarded;
	each->unwritten = slot.unwritten;
	each->begin = slot.end_timestamp;
	journal_adopt_stats(adoption->instance, of, each, &slot);
	snprintf(name, sizeof(name), "%s_%u", of->channel->name, ring);
	if (cut_stream(adoption, name, slot.serial == adoption->head.serial ? slot.size : 0))
		adoption->unknown++;
}

/*
 * Restores the mapped code for the next trace: for a dead process, the earlier trace is the only
 * source.
 */
static void adopt_maps(struct journal_adoption *adoption)
{
	char *text = NULL;
	size_t size;

	if (adoption->trace < 0 ||
			facts_read_file(adoption->trace, MAPS_FILE, LIMIT_MAPS, &text, &size))
		return;
	maps_adopt(adoption->instance, text, size);
	free(text);
}

static void journal_adopt_mapped_rings(struct journal_adoption *adoption)
{
	const struct instance *instance = adoption->instance;
	struct error error = {.text = ""};
	uint32_t i, ring;

	for (i = 0; i < instance->nr_channels; i++)
		for (ring = 0; ring < instance->channels[i].geometry.rings; ring++)
			adopt_ring(adoption, i, ring);
	if (adoption->losses_serial != adoption->head.serial)
		cut_stream(adoption, SESSION_STREAM, 0);
	if (adoption->unknown)
		report_instance(adoption->session, instance, true,
				"cannot determine what was written of %u rings of process %u (%s): their last packets may be in two traces, or in none",
				adoption->unknown, instance->pid, instance->procname);
	if (adoption->path && ctf_repair_metadata(adoption->path, &error))
		report_instance(adoption->session, instance, true, "%s", error.text);
}

int journal_read_head(const struct journal *journal, struct journal_head *head)
{
	struct stat status;

	if (fstat(journal->fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size < slot_at(journal->rings, 0))
		return -EINVAL;
	if (pread(journal->fd, head, sizeof(*head), 0) != (ssize_t)sizeof(*head))
		return -EIO;
	if (head->magic != JOURNAL_MAGIC || head->version != JOURNAL_VERSION ||
			head->rings != journal->rings || head->done > 1 ||
			head->life >= UINT32_MAX || head->serial >= UINT32_MAX)
		return -EINVAL;
	return 0;
}

/* Increment this first, so that the next recorder sees it even if this one is killed at once. */
static int begin_life(const struct journal_adoption *adoption)
{
	struct journal *journal = adoption->instance->journal;

	journal->serial = adoption->head.serial;
	journal->life = adoption->head.life + 1;
	return journal_write_at(journal, &journal->life, sizeof(journal->life),
			offsetof(struct journal_head, life));
}

static int journal_set_error(struct error *error, int code)
{
	return error_set(error, code, NULL, JOURNAL_FILE ": %s",
			code == -EINVAL ? "it is not a file of a recorder" : strerror(-code));
}

int journal_adopt(
		struct session *session, struct instance *instance, int folder, struct error *error)
{
	struct journal_adoption adoption = {
			.session = session, .instance = instance, .folder = folder, .trace = -1};
	struct journal *journal = journal_allocate(instance);
	int ret;

	if (!journal)
		return journal_set_error(error, -ENOMEM);
	instance->journal = journal;
	journal->fd = openat(folder, JOURNAL_FILE, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ret = journal->fd < 0 ? -errno : journal_read_head(journal, &adoption.head);
	if (ret)
		return journal_set_error(error, ret);
	if (adoption.head.done)
		return 1;
	totals_reopen(session, instance);
	journal_remove_incomplete(&adoption);
	open_trace(&adoption);
	adoption.losses_serial = reported_losses_read_file(instance, folder);
	adopt_maps(&adoption);
	journal_adopt_mapped_rings(&adoption);
	ret = begin_life(&adoption);
	if (adoption.trace >= 0)
		close(adoption.trace);
	free(adoption.path);
	return ret ? journal_set_error(error, ret) : 0;
}
