/* SPDX-License-Identifier: MIT */
/*
 * Reading what stands in folders of buffers, by somebody who believes nothing of it.
 */
#include "ctf/ctf.h"
#include "protocol/context.h"
#include "protocol/protocol.h"
#include "recorder/core/channels.h"
#include "recorder/core/clock.h"
#include "recorder/core/instance.h"
#include "recorder/core/session.h"
#include "recorder/recovery/facts.h"
#include "ring/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FREQUENCY_MAX UINT64_C(1000000000000)
#define OFFSET_S_MAX INT64_C(1000000000000)
#define TRIES_ASIDE 100

/* ---- facts ---- */

void facts_put_value(FILE *file, const char *text)
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

void facts_put_line(FILE *file, const char *word, const char *value)
{
	fputs(word, file);
	facts_put_value(file, value);
	putc('\n', file);
}

static int hex(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool facts_unescape(char *text)
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

bool facts_parse(char *text, size_t size, const char *first, facts_take_line *take_line, void *user)
{
	char *line, *rest = text;

	if (strlen(text) != size)
		return false;
	line = strsep(&rest, "\n");
	if (strcmp(line, first) != 0)
		return false;
	while (rest) {
		char *value, *word;

		line = strsep(&rest, "\n");
		if (!strcmp(line, FACTS_LAST_LINE))
			return true;
		value = line;
		word = strsep(&value, " ");
		if (!value || !take_line(user, word, value))
			return false;
	}
	return false;
}

int facts_read_file(int folder, const char *name, size_t limit, char **bytes, size_t *size)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	ssize_t got = 0;
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status))
		ret = -errno;
	else if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size > limit)
		ret = -EINVAL;
	if (ret) {
		close(fd);
		return ret;
	}
	*bytes = malloc((size_t)status.st_size + 1);
	*size = 0;
	while (*bytes && *size < (size_t)status.st_size) {
		got = read(fd, *bytes + *size, (size_t)status.st_size - *size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			ret = -errno;
		if (got <= 0)
			break;
		*size += (size_t)got;
	}
	close(fd);
	if (ret) {
		free(*bytes);
		*bytes = NULL;
		return ret;
	}
	if (!*bytes)
		return -ENOMEM;
	(*bytes)[*size] = 0;
	return 0;
}

void facts_make_way(int folder, const char *name)
{
	char aside[96];
	unsigned int try;

	if (!unlinkat(folder, name, 0) || !unlinkat(folder, name, AT_REMOVEDIR))
		return;
	for (try = 0; try < TRIES_ASIDE && errno != ENOENT; try++) {
		snprintf(aside, sizeof(aside), ".%.64s.old-%u", name, try);
		if (!renameat2(folder, name, folder, aside, RENAME_NOREPLACE))
			return;
	}
}

static int write_lines_to(int folder, const char *name, const char *first,
		facts_write_lines *write_lines, const void *user)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	int ret = 0;

	if (!file) {
		ret = -errno;
		if (fd >= 0)
			close(fd);
		return ret;
	}
	fprintf(file, "%s\n", first);
	write_lines(file, user);
	fputs(FACTS_LAST_LINE "\n", file);
	if (ferror(file))
		ret = -EIO;
	if (fclose(file) && !ret)
		ret = -errno;
	return ret;
}

int facts_write_file(int folder, const char *name, const char *first,
		facts_write_lines *write_lines, const void *user)
{
	char temporary[64];
	int ret;

	snprintf(temporary, sizeof(temporary), ".%s.new", name);
	/* Of somebody who was killed here. */
	facts_make_way(folder, temporary);
	ret = write_lines_to(folder, temporary, first, write_lines, user);
	if (!ret && renameat(folder, temporary, folder, name)) {
		facts_make_way(folder, name);
		ret = renameat(folder, temporary, folder, name) ? -errno : 0;
	}
	if (ret)
		unlinkat(folder, temporary, 0);
	return ret;
}

void facts_put_clock(FILE *file, enum ring_clock kind, const struct ctf_clock *clock)
{
	fprintf(file, "clock %u %llu %lld %llu\n", (unsigned int)kind,
			(unsigned long long)clock->frequency, (long long)clock->offset_s,
			(unsigned long long)clock->offset);
}

bool facts_take_clock(const char *value, enum ring_clock *kind, struct ctf_clock *clock)
{
	unsigned long long frequency, offset;
	unsigned int number;
	long long offset_s;

	if (sscanf(value, "%u %llu %lld %llu", &number, &frequency, &offset_s, &offset) != 4)
		return false;
	if (number > RING_CLOCK_MONOTONIC || !frequency || frequency > FREQUENCY_MAX ||
			offset >= frequency || offset_s < -OFFSET_S_MAX || offset_s > OFFSET_S_MAX)
		return false;
	*kind = (enum ring_clock)number;
	session_fill_clock(clock,
			&(struct ring_clock_calibration){
					.frequency = frequency,
					.offset_s = offset_s,
					.offset = offset,
			});
	return true;
}

/* ---- the file "instance" ---- */

void found_ring_file(const char *channel, char name[SESSION_CHANNEL_NAME_MAX + 16])
{
	snprintf(name, SESSION_CHANNEL_NAME_MAX + 16, "%s.rings", channel);
}

void found_free(struct found *found)
{
	uint32_t i;

	free(found->procname);
	free(found->exe);
	free(found->trace);
	for (i = 0; i < found->nr_channels; i++)
		channel_free(&found->channels[i]);
}

static bool recovery_facts_copy_text(char **to, const char *value)
{
	if (*to)
		return false;
	*to = strdup(value);
	return *to;
}

/* Two of the same name would be one file. */
static bool recovery_facts_parse_channel(struct found *found, const char *name)
{
	struct channel *channel;
	uint32_t i;

	if (found->nr_channels == SESSION_CHANNELS_MAX || !channel_is_name(name))
		return false;
	for (i = 0; i < found->nr_channels; i++)
		if (!strcmp(found->channels[i].name, name))
			return false;
	channel = &found->channels[found->nr_channels++];
	channel->name = strdup(name);
	channel->contexts.specs = calloc(WIRE_CONTEXTS_MAX, sizeof(*channel->contexts.specs));
	return channel->name && channel->contexts.specs;
}

static bool recovery_facts_parse_context(struct found *found, const char *name)
{
	struct context_list *list;
	struct context_error error;

	if (!found->nr_channels)
		return false;
	list = &found->channels[found->nr_channels - 1].contexts;
	return list->nr < WIRE_CONTEXTS_MAX &&
			!context_parse(name, &list->specs[list->nr], &error) && ++list->nr;
}

static bool take_peer(struct found *found, const char *value)
{
	unsigned int peer;

	if (found->has_peer ||
			sscanf(value, "%39s %u %" SCNu64 " %" SCNu64 " %u %u %u %u", found->boot,
					&peer, &found->start, &found->token, &found->uid,
					&found->gid, &found->control, &found->control_signal) != 8)
		return false;
	found->peer = (pid_t)peer;
	found->has_peer = found->peer > 0;
	return found->has_peer;
}

static bool take_numbers(struct found *found, const char *word, const char *value, bool *mine)
{
	*mine = true;
	if (!strcmp(word, "clock")) {
		if (found->has_clock)
			return false;
		found->has_clock = facts_take_clock(value, &found->clock_kind, &found->clock);
		return found->has_clock;
	}
	if (!strcmp(word, "process")) {
		found->has_process = sscanf(value, "%u %u %u", &found->pid, &found->parent,
						     &found->number) == 3;
		return found->has_process && found->number < LIMIT_INSTANCES;
	}
	if (!strcmp(word, "begin"))
		return sscanf(value, "%" SCNu64, &found->begin) == 1;
	if (!strcmp(word, "peer"))
		return take_peer(found, value);
	if (!strcmp(word, "probes")) {
		found->takes_probes = sscanf(value, "%u %" SCNu64, &found->family,
						      &found->family_started) == 2;
		return found->takes_probes;
	}
	*mine = false;
	return false;
}

static bool recovery_facts_parse_line(void *user, const char *word, char *value)
{
	struct found *found = user;
	bool mine, taken = take_numbers(found, word, value, &mine);

	if (mine)
		return taken;
	if (!facts_unescape(value))
		return false;
	if (!strcmp(word, "procname"))
		return recovery_facts_copy_text(&found->procname, value);
	if (!strcmp(word, "exe"))
		return recovery_facts_copy_text(&found->exe, value);
	if (!strcmp(word, "trace"))
		return recovery_facts_copy_text(&found->trace, value);
	if (!strcmp(word, "maker")) {
		found->by_agent = !strcmp(value, "agent");
		return found->by_agent;
	}
	if (!strcmp(word, "hostname")) {
		snprintf(found->hostname, sizeof(found->hostname), "%s", value);
		return true;
	}
	if (!strcmp(word, "channel"))
		return recovery_facts_parse_channel(found, value);
	return !strcmp(word, "context") && recovery_facts_parse_context(found, value);
}

static bool is_complete(const struct found *found)
{
	return found->has_clock && found->has_process && found->procname && found->exe &&
			found->trace && found->nr_channels;
}

int found_read(int folder, struct found *found, struct ctf_error *error)
{
	char *text = NULL;
	size_t size = 0;
	int ret = facts_read_file(folder, FOUND_FILE, FOUND_LIMIT, &text, &size);

	if (!text)
		ret = ret ? ret : -ENOMEM;
	if (ret) {
		snprintf(error->text, sizeof(error->text), FOUND_FILE ": %s", strerror(-ret));
		return ret;
	}
	errno = 0;
	if (!facts_parse(text, size, FOUND_FIRST_LINE, recovery_facts_parse_line, found) ||
			!is_complete(found)) {
		ret = errno == ENOMEM ? -ENOMEM : -EINVAL;
		snprintf(error->text, sizeof(error->text), FOUND_FILE ": %s",
				ret == -ENOMEM ? "out of memory"
					       : "this is not what side record writes there");
	}
	free(text);
	return ret;
}

struct instance *found_instance(struct found *found)
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
	instance->peer = found->has_peer ? found->peer : (pid_t)found->pid;
	instance->parent = found->parent;
	instance->number = found->number;
	instance->begin_ticks = found->begin;
	return instance;
}
