/* SPDX-License-Identifier: MIT */
/*
 * Rings in files of a directory that the user named, so that they outlive everybody, and beside them
 * what somebody needs who finds them:
 *
 *	DIR/<procname>-<pid>-<n>/
 *		instance	who it was, the clock, the channels with their contexts; text
 *		events		the descriptions, in the form in which they arrive
 *		<channel>.rings	the memory of its rings
 *
 * Each file is complete before the program hears of what is in it. A folder goes when all that is in
 * its rings is in the trace, and stays when recorder or machine die. `events` is locked while its
 * recorder lives. "instance" has one fact a line, a word and its values; in values, bytes that are
 * not printable, blanks and "%" are written as %XX.
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

#include "session/parts.h"

#define INSTANCE "instance"
#define EVENTS "events"
#define FIRST_LINE "side-buffers 1"
#define LAST_LINE "end"
#define LIMIT_INSTANCE_FILE (1u << 20)
#define NAME_TRIES 100

static void ring_file(const char *channel, char name[SESSION_CHANNEL_NAME_MAX + 16])
{
	snprintf(name, SESSION_CHANNEL_NAME_MAX + 16, "%s.rings", channel);
}

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
		session->buffers_ours = true;
	session->buffers_fd = open(options->buffers, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	code = errno;
	if (session->buffers_fd < 0 || faccessat(session->buffers_fd, ".", W_OK | X_OK, 0)) {
		code = session->buffers_fd < 0 ? code : errno;
		return session_fail(error, session_error_kind_of(code), code,
				"cannot keep buffers in %s: %s", options->buffers, strerror(code));
	}
	code = buffers_probe(session->buffers_fd);
	if (code)
		return session_fail(error, session_error_kind_of(code), code,
				"cannot keep buffers in %s: %s; choose another directory",
				options->buffers, strerror(code));
	session->buffers = realpath(options->buffers, NULL);
	if (!session->buffers)
		return session_fail(error, SESSION_ERROR_FAILED, ENOMEM, "no memory");
	return 0;
}

void buffers_close(struct session *session)
{
	if (session->buffers_fd >= 0)
		close(session->buffers_fd);
	session->buffers_fd = -1;
	/* Only an empty one can be removed. */
	if (session->buffers && session->buffers_ours)
		rmdir(session->buffers);
}

/* ---- writing ---- */

static void put_value(FILE *file, const char *text)
{
	putc(' ', file);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte <= ' ' || byte >= 0x7f || byte == '%')
			fprintf(file, "%%%02x", byte);
		else
			putc(byte, file);
	}
}

static void put_line(FILE *file, const char *word, const char *value)
{
	fputs(word, file);
	put_value(file, value);
	putc('\n', file);
}

static void put_instance(FILE *file, const struct session *session, const struct instance *instance)
{
	const struct ctf_clock *clock = &session->ctf_clock;
	char *output = realpath(session->output, NULL);
	uint32_t i, k;

	fputs(FIRST_LINE "\n", file);
	put_line(file, "procname", instance->procname);
	put_line(file, "exe", instance->exe);
	put_line(file, "hostname", session->hostname);
	put_line(file, "trace", output ? output : session->output);
	free(output);
	fprintf(file, "process %u %u %u\n", instance->pid, instance->parent, instance->number);
	fprintf(file, "clock %u %llu %lld %llu\n", (unsigned int)session->clock,
			(unsigned long long)clock->frequency, (long long)clock->offset_s,
			(unsigned long long)clock->offset);
	fprintf(file, "begin %llu\n", (unsigned long long)instance->begin_ticks);
	for (i = 0; i < instance->nr_channels; i++) {
		const struct channel *channel = instance->channels[i].channel;

		put_line(file, "channel", channel->name);
		for (k = 0; k < channel->contexts.nr; k++)
			put_line(file, "context", channel->contexts.specs[k].name);
	}
	fputs(LAST_LINE "\n", file);
}

static int write_instance(
		const struct session *session, const struct instance *instance, int folder)
{
	int fd = openat(folder, INSTANCE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	int ret = 0;

	if (!file) {
		ret = -errno;
		if (fd >= 0)
			close(fd);
		return ret;
	}
	put_instance(file, session, instance);
	if (ferror(file))
		ret = -EIO;
	if (fclose(file) && !ret)
		ret = -errno;
	return ret;
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
		if (!mkdirat(session->buffers_fd, name, 0755)) {
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
	return openat(session->buffers_fd, instance->folder,
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
	ret = write_instance(session, instance, folder);
	if (!ret) {
		instance->described_fd = openat(folder, EVENTS,
				O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
		if (instance->described_fd < 0)
			ret = -errno;
		else
			flock(instance->described_fd, LOCK_EX | LOCK_NB);
	}
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
	ring_file(channel->channel->name, name);
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

static bool overwrites(const struct instance *instance)
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

	for (i = 0; i < instance->nr_channels; i++) {
		ring_file(instance->channels[i].channel->name, name);
		unlinkat(folder, name, 0);
	}
	unlinkat(folder, EVENTS, 0);
	unlinkat(folder, INSTANCE, 0);
}

void buffers_remove(struct session *session, struct instance *instance)
{
	int folder;

	if (!instance->folder || session->recovers)
		return;
	if (instance->described_fd >= 0)
		close(instance->described_fd);
	instance->described_fd = -1;
	if (instance->unwritten_code && overwrites(instance)) {
		report(session, true,
				"the rings of process %d (%s) are still in %s/%s: side recover "
				"reads "
				"them",
				(int)instance->peer, instance->procname, session->buffers,
				instance->folder);
		return;
	}
	folder = open_folder(session, instance);
	if (folder < 0)
		return;
	remove_files(instance, folder);
	close(folder);
	unlinkat(session->buffers_fd, instance->folder, AT_REMOVEDIR);
}

/* ---- reading ---- */

/* What stands in "instance". */
struct found {
	char *procname, *exe, *trace;
	char hostname[65];
	uint32_t pid, parent, number;
	struct ctf_clock clock;
	uint64_t begin;
	struct channel channels[SESSION_CHANNELS_MAX];
	uint32_t nr_channels;
	bool has_process, has_clock, complete;
};

static void found_free(struct found *found)
{
	uint32_t i;

	free(found->procname);
	free(found->exe);
	free(found->trace);
	for (i = 0; i < found->nr_channels; i++)
		channel_free(&found->channels[i]);
}

static int hex(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* In place. False: no text that put_value() makes. */
static bool unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		int high, low;

		if (*text != '%') {
			*to++ = *text;
			continue;
		}
		high = hex(text[1]);
		low = high < 0 ? -1 : hex(text[2]);
		if (low < 0 || !(high * 16 + low))
			return false;
		*to++ = (char)(high * 16 + low);
		text += 2;
	}
	*to = 0;
	return true;
}

static bool take_text(char **to, const char *value)
{
	if (*to)
		return false;
	*to = strdup(value);
	return *to;
}

static bool take_channel(struct found *found, const char *name)
{
	struct channel *channel;

	if (found->nr_channels == SESSION_CHANNELS_MAX || !channel_is_name(name))
		return false;
	channel = &found->channels[found->nr_channels++];
	channel->name = strdup(name);
	channel->contexts.specs = calloc(WIRE_CONTEXTS_MAX, sizeof(*channel->contexts.specs));
	return channel->name && channel->contexts.specs;
}

static bool take_context(struct found *found, const char *name)
{
	struct context_list *list;
	struct context_error error;

	if (!found->nr_channels)
		return false;
	list = &found->channels[found->nr_channels - 1].contexts;
	return list->nr < WIRE_CONTEXTS_MAX &&
			!context_parse(name, &list->specs[list->nr], &error) && ++list->nr;
}

static bool take_clock(struct found *found, const char *value)
{
	unsigned long long frequency, offset;
	unsigned int kind;
	long long offset_s;

	if (found->has_clock ||
			sscanf(value, "%u %llu %lld %llu", &kind, &frequency, &offset_s, &offset) !=
					4)
		return false;
	if (kind > RING_CLOCK_MONOTONIC || !frequency || frequency > UINT64_C(1000000000000) ||
			offset >= frequency || offset_s < -INT64_C(1000000000000) ||
			offset_s > INT64_C(1000000000000))
		return false;
	session_fill_clock(&found->clock,
			&(struct ring_clock_calibration){
					.frequency = frequency,
					.offset_s = offset_s,
					.offset = offset,
			});
	found->has_clock = true;
	return true;
}

static bool take_line(struct found *found, const char *word, char *value)
{
	if (!strcmp(word, "clock"))
		return take_clock(found, value);
	if (!strcmp(word, "process")) {
		found->has_process = sscanf(value, "%u %u %u", &found->pid, &found->parent,
						     &found->number) == 3;
		return found->has_process && found->number < LIMIT_INSTANCES;
	}
	if (!strcmp(word, "begin"))
		return sscanf(value, "%" SCNu64, &found->begin) == 1;
	if (!unescape(value))
		return false;
	if (!strcmp(word, "procname"))
		return take_text(&found->procname, value);
	if (!strcmp(word, "exe"))
		return take_text(&found->exe, value);
	if (!strcmp(word, "trace"))
		return take_text(&found->trace, value);
	if (!strcmp(word, "hostname")) {
		snprintf(found->hostname, sizeof(found->hostname), "%s", value);
		return true;
	}
	if (!strcmp(word, "channel"))
		return take_channel(found, value);
	return !strcmp(word, "context") && take_context(found, value);
}

/* Lines that a writer of ours has made, all of them. */
static bool parse_instance(struct found *found, char *text)
{
	char *line, *rest = text;

	line = strsep(&rest, "\n");
	if (strcmp(line, FIRST_LINE) != 0)
		return false;
	while (rest) {
		char *value, *word;

		line = strsep(&rest, "\n");
		if (!strcmp(line, LAST_LINE)) {
			found->complete = true;
			break;
		}
		value = line;
		word = strsep(&value, " ");
		if (!value || !take_line(found, word, value))
			return false;
	}
	return found->complete && found->has_clock && found->has_process && found->procname &&
			found->exe && found->trace && found->nr_channels;
}

static int read_file(int folder, const char *name, size_t limit, char **bytes, size_t *size)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	ssize_t got = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || (uint64_t)status.st_size > limit) {
		close(fd);
		return -EINVAL;
	}
	*bytes = malloc((size_t)status.st_size + 1);
	*size = 0;
	while (*bytes && *size < (size_t)status.st_size) {
		got = read(fd, *bytes + *size, (size_t)status.st_size - *size);
		if (got <= 0)
			break;
		*size += (size_t)got;
	}
	close(fd);
	if (!*bytes)
		return -ENOMEM;
	(*bytes)[*size] = 0;
	return 0;
}

bool buffers_is_folder(int place, const char *name)
{
	int folder = openat(place, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is;

	if (folder < 0)
		return false;
	is = !faccessat(folder, INSTANCE, F_OK, AT_SYMLINK_NOFOLLOW);
	close(folder);
	return is;
}

static int read_ring_file(void *user, uint64_t address, void *to, size_t size)
{
	const int *fd = user;
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(*fd, (char *)to + done, size - done, (off_t)(address + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -ENODATA;
		done += (size_t)got;
	}
	return 0;
}

/* A copy: nothing in the directory is touched. */
static int load_rings(struct instance_channel *channel, struct channel *own, int folder)
{
	char name[SESSION_CHANNEL_NAME_MAX + 16];
	int file, copy, ret;

	ring_file(own->name, name);
	file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file < 0)
		return -errno;
	ret = ring_memory_import(read_ring_file, &file, 0, &copy);
	close(file);
	if (ret)
		return ret;
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
	int ret = read_file(folder, EVENTS, 2 * LIMIT_INSTANCE_DESCRIPTIONS, &bytes, &size);

	if (!ret)
		ret = kind_stream_feed(&stream, bytes, size, recover_kind, &recovered);
	/* The last one may be cut: nothing was recorded of it. */
	kind_stream_free(&stream);
	free(bytes);
	return ret;
}

static struct instance *make_instance(struct session *session, struct found *found)
{
	struct channel *channels = calloc(found->nr_channels, sizeof(*channels));
	struct instance *instance;

	if (!channels)
		return NULL;
	memcpy(channels, found->channels, found->nr_channels * sizeof(*channels));
	instance = instance_allocate(found->procname, found->exe, channels, found->nr_channels);
	if (!instance || !instance->nr_channels) {
		free(channels);
		free(instance);
		return NULL;
	}
	instance->own_channels = channels;
	found->nr_channels = 0;
	instance->pid = found->pid;
	instance->peer = (pid_t)found->pid;
	instance->parent = found->parent;
	instance->number = found->number;
	instance->begin_ticks = found->begin;
	session->ctf_clock = found->clock;
	memcpy(session->hostname, found->hostname, sizeof(session->hostname));
	if (!*session->hostname)
		strcpy(session->hostname, "unknown");
	return instance;
}

static bool is_locked(int folder)
{
	int fd = openat(folder, EVENTS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return locked;
}

static struct instance *load(
		struct session *session, int folder, struct found *found, struct ctf_error *error)
{
	struct instance *instance;
	uint32_t i;
	int ret = 0;

	if (is_locked(folder)) {
		snprintf(error->text, sizeof(error->text),
				"its recorder is at work; when it ends, it writes the trace "
				"itself");
		return NULL;
	}
	instance = make_instance(session, found);
	if (!instance)
		return NULL;
	for (i = 0; i < instance->nr_channels; i++) {
		struct channel *own = &instance->own_channels[i];

		ret = load_rings(&instance->channels[i], own, folder);
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
			snprintf(error->text, sizeof(error->text), EVENTS ": %s", strerror(-ret));
	}
	if (!ret)
		return instance;
	instance_free(session, instance);
	return NULL;
}

struct instance *buffers_load(
		struct session *session, int place, const char *name, struct ctf_error *error)
{
	int folder = openat(place, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct instance *instance = NULL;
	struct found *found = calloc(1, sizeof(*found));
	char *text = NULL;
	size_t size;
	int ret;

	snprintf(error->text, sizeof(error->text), "no memory");
	ret = folder < 0 ? -errno : read_file(folder, INSTANCE, LIMIT_INSTANCE_FILE, &text, &size);
	if (ret || !found)
		snprintf(error->text, sizeof(error->text), INSTANCE ": %s", strerror(-ret));
	else if (!text || strlen(text) != size || !parse_instance(found, text))
		snprintf(error->text, sizeof(error->text),
				INSTANCE ": this is not what side record writes there");
	else
		instance = load(session, folder, found, error);
	if (instance && *found->trace)
		report(session, false, "what process %u (%s) had said before is in %s", found->pid,
				instance->procname, found->trace);
	if (found)
		found_free(found);
	free(found);
	free(text);
	if (folder >= 0)
		close(folder);
	return instance;
}
