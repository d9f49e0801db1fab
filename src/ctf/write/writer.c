/* SPDX-License-Identifier: MIT */
/*
 * Writes the trace directory of one process.
 *
 * The metadata is plain text and is only appended to: an event is appended before the first packet
 * that needs it. Only a more exact clock replaces the whole file, by renaming a new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <side/abi/event-description.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/compress.h"
#include "ctf/write/describe.h"
#include "ctf/type.h"
#include "ctf/write/writer.h"
#include "abi/visit.h"
#include "base/inside/search.h"

static const char METADATA[] = "metadata";
static const char METADATA_NEW[] = ".metadata.new"; /* Readers skip names with a dot. */

/* ---- making and closing ---- */

static char *ctf_writer_copy_text(const char *text)
{
	return strdup(text ? text : "");
}

/* Reduce the offset to less than one second, as readers require. */
static void ctf_writer_set_clock_parameters(struct ctf_clock *clock, const struct ctf_clock *from)
{
	clock->frequency = from->frequency ? from->frequency : 1;
	clock->precision = from->precision ? from->precision : 1;
	clock->offset_s = from->offset_s + (int64_t)(from->offset / clock->frequency);
	clock->offset = from->offset % clock->frequency;
	clock->absolute = true;
}

static void free_writer(struct ctf_writer *writer)
{
	if (writer->metadata_fd >= 0)
		close(writer->metadata_fd);
	if (writer->dir_fd >= 0)
		close(writer->dir_fd);
	/* copy_config() has allocated all of these. */
	free((void *)(uintptr_t)writer->config.dir);
	free((void *)(uintptr_t)writer->config.hostname);
	free((void *)(uintptr_t)writer->config.procname);
	free((void *)(uintptr_t)writer->config.exe);
	free((void *)(uintptr_t)writer->config.domain);
	free((void *)(uintptr_t)writer->clock.name);
	free((void *)(uintptr_t)writer->clock.description);
	for (uint32_t i = 0; i < writer->nr_channels; i++) {
		free(writer->channels[i].name);
		free(writer->channels[i].ids);
		ctf_tally_free(&writer->channels[i].tally);
	}
	free(writer->channels);
	ctf_arena_destroy(writer->arena);
	ctf_compressor_free(writer->compressor);
	free(writer);
}

static int copy_config(struct ctf_writer *writer, const struct ctf_writer_config *config)
{
	const struct ctf_clock *clock = &config->clock;

	writer->config = *config;
	writer->config.dir = ctf_writer_copy_text(config->dir);
	writer->config.hostname = ctf_writer_copy_text(config->hostname);
	writer->config.procname = ctf_writer_copy_text(config->procname);
	writer->config.exe = ctf_writer_copy_text(config->exe);
	writer->config.domain = ctf_writer_copy_text(config->domain ? config->domain : "ust");
	writer->clock.name = ctf_writer_copy_text(
			clock->name && *clock->name ? clock->name : "monotonic");
	writer->clock.description = clock->description ? strdup(clock->description) : NULL;
	ctf_writer_set_clock_parameters(&writer->clock, clock);
	if (!writer->config.dir || !writer->config.hostname || !writer->config.procname ||
			!writer->config.exe || !writer->config.domain || !writer->clock.name ||
			(clock->description && !writer->clock.description))
		return -ENOMEM;
	return 0;
}

static int copy_channels(struct ctf_writer *writer, const struct ctf_writer_config *config,
		struct error *error)
{
	static const struct ctf_channel_config one = {.name = "ring"};
	const struct ctf_channel_config *channels = config->nr_channels ? config->channels : &one;
	uint32_t count = config->nr_channels ? config->nr_channels : 1;

	writer->config.channels = NULL;
	writer->channels = calloc(count, sizeof(*writer->channels));
	writer->arena = ctf_arena_create();
	if (!writer->channels || !writer->arena)
		return error_set(error, -ENOMEM, NULL, "out of memory for the trace %s",
				config->dir);
	for (uint32_t i = 0; i < count; i++) {
		struct ctf_channel *channel = &writer->channels[i];
		struct ctf_type *context = NULL;
		int ret = 0;

		writer->nr_channels++;
		channel->placement = channels[i].placement;
		channel->name = strdup(channels[i].name);
		if (!channel->name)
			return error_set(error, -ENOMEM, NULL, "out of memory for the trace %s",
					config->dir);
		if (!channels[i].context)
			ret = ctf_describe_contexts(writer->arena, channels[i].contexts,
					channels[i].nr_contexts, &context);
		channel->context = channels[i].context ? channels[i].context : context;
		channel->late = config->format == CTF_FORMAT_1 && ctf_tsdl_is_late(channel);
		if (ret)
			return error_set(error, ret, NULL, "out of memory for the trace %s",
					config->dir);
	}
	return 0;
}

static bool is_ctf2(const struct ctf_writer *writer)
{
	return writer->config.format == CTF_FORMAT_2;
}

/* Write a new metadata file: the head, and the events of the old one if there is one. */
static int write_metadata(struct ctf_writer *writer)
{
	char *head = NULL, *buffer = NULL;
	off_t size = 0, from = writer->head_size, end = writer->metadata_size;
	size_t head_size;
	int fd = -1, ret = (is_ctf2(writer) ? ctf2_head : ctf_tsdl_head)(writer, &head, &head_size);

	if (ret)
		return ret;
	ret = -ENOMEM;
	buffer = malloc(64u << 10);
	if (!buffer)
		goto out;
	/* Remove an existing file, link or pipe instead of writing to it. */
	if (unlinkat(writer->dir_fd, METADATA_NEW, 0) && errno != ENOENT) {
		ret = -errno;
		goto out;
	}
	fd = openat(writer->dir_fd, METADATA_NEW,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	ret = fd < 0 ? -errno : ctf_file_append(fd, &size, head, head_size, NULL, 0);
	while (!ret && from < end) {
		size_t want = end - from < (64 << 10) ? (size_t)(end - from) : 64u << 10;
		ssize_t got = pread(writer->metadata_fd, buffer, want, from);

		if (got <= 0) {
			ret = got < 0 ? -errno : -EIO;
			break;
		}
		ret = ctf_file_append(fd, &size, buffer, (size_t)got, NULL, 0);
		from += got;
	}
	/* The lock shows that the trace is being recorded, until the writer exits; repair checks
	   it. */
	if (!ret)
		(void)flock(fd, LOCK_EX | LOCK_NB);
	if (!ret && renameat(writer->dir_fd, METADATA_NEW, writer->dir_fd, METADATA))
		ret = -errno;
	if (ret) {
		unlinkat(writer->dir_fd, METADATA_NEW, 0);
		goto out;
	}
	if (writer->metadata_fd >= 0)
		close(writer->metadata_fd);
	writer->metadata_fd = fd;
	fd = -1;
	writer->head_size = (off_t)head_size;
	writer->metadata_size = size;
out:
	if (fd >= 0)
		close(fd);
	free(buffer);
	free(head);
	return ret;
}

int ctf_writer_create(const struct ctf_writer_config *config, struct ctf_writer **ret_writer,
		struct error *error)
{
	struct ctf_writer *writer = calloc(1, sizeof(*writer));
	int ret;

	if (!writer)
		return error_set(error, -ENOMEM, NULL, "out of memory for the trace %s",
				config->dir);
	writer->dir_fd = writer->metadata_fd = -1;
	ret = copy_config(writer, config);
	if (ret) {
		error_set(error, ret, NULL, "out of memory for the trace %s", config->dir);
		goto fail;
	}
	ret = copy_channels(writer, config, error);
	if (ret)
		goto fail;
	writer->compressor =
			config->compression ? ctf_compressor_create(config->compression) : NULL;
	if (config->compression && !writer->compressor) {
		ret = error_set(error, -ENOMEM, NULL, "out of memory for the trace %s",
				config->dir);
		goto fail;
	}
	if (getrandom(writer->uuid, sizeof(writer->uuid), 0) != sizeof(writer->uuid)) {
		ret = error_set(error, -EIO, NULL, "cannot get random numbers for the UUID of %s",
				config->dir);
		goto fail;
	}
	writer->uuid[6] = (writer->uuid[6] & 0x0f) | 0x40;
	writer->uuid[8] = (writer->uuid[8] & 0x3f) | 0x80;
	if (mkdir(config->dir, CTF_DIRECTORY_MODE)) {
		ret = ctf_write_error(error, -errno, config->dir, "");
		goto fail;
	}
	/* Do not follow a link that another user has created since. */
	writer->dir_fd = open(config->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	ret = writer->dir_fd < 0 ? -errno : write_metadata(writer);
	if (ret) {
		ctf_write_error(error, ret, config->dir, METADATA);
		rmdir(config->dir); /* So that the user can try the name again. */
		goto fail;
	}
	*ret_writer = writer;
	return 0;
fail:
	free_writer(writer);
	return ret;
}

int ctf_writer_close(struct ctf_writer *writer, struct error *error)
{
	int ret = 0;

	while (writer->streams) {
		struct ctf_stream *next = writer->streams->next;
		int code = ctf_stream_close(writer->streams, ret ? NULL : error);

		ret = ret ? ret : code;
		writer->streams = next;
	}
	free_writer(writer);
	return ret;
}

/* ---- metadata that grows ---- */

/* The index of the id in the sorted list, or where it would be inserted. */
static uint32_t ctf_writer_find_event_id(const struct ctf_channel *channel, uint32_t id)
{
	return search_leading(i, channel->id_count, channel->ids[i] < id);
}

static int add_id(struct ctf_channel *channel, uint32_t id)
{
	uint32_t at = ctf_writer_find_event_id(channel, id);

	if (at < channel->id_count && channel->ids[at] == id)
		return -EEXIST;
	if (channel->id_count == channel->id_capacity) {
		uint32_t capacity = channel->id_capacity ? channel->id_capacity * 2 : 64;
		uint32_t *ids = realloc(channel->ids, capacity * sizeof(*ids));

		if (!ids)
			return -ENOMEM;
		channel->ids = ids;
		channel->id_capacity = capacity;
	}
	memmove(channel->ids + at + 1, channel->ids + at,
			(channel->id_count - at) * sizeof(*channel->ids));
	channel->ids[at] = id;
	channel->id_count++;
	return 0;
}

static void remove_id(struct ctf_channel *channel, uint32_t id)
{
	uint32_t at = ctf_writer_find_event_id(channel, id);

	channel->id_count--;
	memmove(channel->ids + at, channel->ids + at + 1,
			(channel->id_count - at) * sizeof(*channel->ids));
}

int ctf_writer_describe_channel(struct ctf_writer *writer, uint32_t index, struct error *error)
{
	struct ctf_channel *channel = &writer->channels[index];
	char *text;
	size_t size;
	int ret;

	if (!channel->late || channel->described)
		return 0;
	ret = ctf_tsdl_channel(channel, index, &text, &size);
	if (ret)
		return error_set(error, ret, NULL, "out of memory for the channel %s",
				channel->name);
	ret = ctf_file_append(writer->metadata_fd, &writer->metadata_size, text, size, NULL, 0);
	free(text);
	if (ret)
		return ctf_write_error(error, ret, writer->config.dir, METADATA);
	channel->described = true;
	return 0;
}

static int learn_event(struct ctf_channel *channel, const struct ctf_event_parts *event,
		struct error *error)
{
	const struct ctf_type *const trees[] = {channel->context, event->context, event->fields};
	int ret = ctf_tally_learn(
			&channel->tally, event->id, trees, sizeof(trees) / sizeof(trees[0]));

	return ret ? error_set(error, ret, NULL, "out of memory to count the records of %s",
				     event->name)
		   : 0;
}

static int ctf_writer_add_class(
		struct ctf_writer *writer, const struct ctf_event_parts *event, struct error *error)
{
	struct ctf_channel *channel;
	char *text;
	size_t size;
	int ret;

	if (event->channel >= writer->nr_channels)
		return error_set(error, -EINVAL, NULL,
				"the event %s is in channel %u, which does not exist", event->name,
				event->channel);
	channel = &writer->channels[event->channel];
	ret = ctf_writer_describe_channel(writer, event->channel, error);
	if (ret)
		return ret;
	ret = add_id(channel, event->id);
	if (ret == -EEXIST)
		return error_set(error, ret, NULL, "the event id %u of %s is already in use",
				event->id, event->name);
	if (ret)
		return error_set(error, ret, NULL, "out of memory for the description of %s",
				event->name);
	ret = (is_ctf2(writer) ? ctf2_event : ctf_tsdl_event)(event, &text, &size);
	if (ret) {
		remove_id(channel, event->id);
		return error_set(error, ret, NULL, "out of memory for the description of %s",
				event->name);
	}
	ret = ctf_file_append(writer->metadata_fd, &writer->metadata_size, text, size, NULL, 0);
	free(text);
	if (ret) {
		remove_id(channel, event->id);
		return ctf_write_error(error, ret, writer->config.dir, METADATA);
	}
	return writer->config.counts ? learn_event(channel, event, error) : 0;
}

int ctf_writer_add_event_json(struct ctf_writer *writer, uint32_t channel, uint32_t id,
		const char *name, int side_loglevel, const struct ctf_type *context,
		const struct ctf_type *fields, const char *json, struct error *error)
{
	const struct ctf_event_parts event = {
			.id = id,
			.channel = channel,
			.name = name,
			.side_loglevel = side_loglevel,
			.context = context,
			.fields = fields,
			.json = json,
	};

	return ctf_writer_add_class(writer, &event, error);
}

int ctf_writer_add_event(struct ctf_writer *writer, uint32_t channel, uint32_t id,
		const struct side_event_description *description,
		const struct context_spec *contexts, uint32_t nr_contexts, struct error *error)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct visit_buffer json;
	struct visit_error why = {0};
	char sentence[sizeof(error->text)];
	struct ctf_type *context = NULL, *fields;
	char *name = NULL;
	int ret;

	visit_buffer_heap(&json);
	if (!arena)
		return ctf_describe_set_no_memory(error);
	ret = ctf_type_from_description(arena, description, &fields, error);
	if (ret)
		goto out;
	ret = ctf_describe_contexts(arena, contexts, nr_contexts, &context);
	if (ret) {
		ctf_describe_set_no_memory(error);
		goto out;
	}
	ret = visit_description_json(description, &json, &why);
	if (!ret)
		ret = visit_buffer_append(&json, "", 1);
	if (ret) {
		error_set(error, ret, NULL, "%s",
				visit_error_sentence(&why, sentence, sizeof(sentence)));
		goto out;
	}
	if (asprintf(&name, "%s:%s", side_ptr_get(description->provider_name),
			    side_ptr_get(description->event_name)) < 0) {
		name = NULL;
		ret = ctf_describe_set_no_memory(error);
		goto out;
	}
	ret = ctf_writer_add_event_json(writer, channel, id, name,
			(int)side_enum_get(description->loglevel), context, fields,
			(const char *)json.data, error);
out:
	free(name);
	visit_buffer_free(&json);
	ctf_arena_destroy(arena);
	return ret;
}

int ctf_writer_set_clock(
		struct ctf_writer *writer, const struct ctf_clock *clock, struct error *error)
{
	struct ctf_clock old = writer->clock;
	int ret;

	ctf_writer_set_clock_parameters(&writer->clock, clock);
	ret = write_metadata(writer);
	if (ret) {
		writer->clock = old;
		return ctf_write_error(error, ret, writer->config.dir, METADATA);
	}
	return 0;
}

uint64_t ctf_writer_bytes(const struct ctf_writer *writer)
{
	uint64_t bytes = (uint64_t)writer->metadata_size;

	for (const struct ctf_stream *stream = writer->streams; stream; stream = stream->next)
		bytes += (uint64_t)stream->size;
	return bytes;
}

/* ---- losses ---- */

static size_t ctf_writer_append_bytes(unsigned char *to, size_t at, const void *bytes, size_t size)
{
	if (to)
		memcpy(to + at, bytes, size);
	return at + size;
}

/* Write the records of side:lost in order; if `to` is NULL, only count the bytes. Returns their
   size. */
static size_t put_lost(
		unsigned char *to, uint64_t timestamp, const struct ctf_lost *lost, size_t count)
{
	const uint32_t id = 0;
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		at = ctf_writer_append_bytes(to, at, &id, sizeof(id));
		at = ctf_writer_append_bytes(to, at, &timestamp, sizeof(timestamp));
		at = ctf_writer_append_bytes(to, at, lost[i].ring, strlen(lost[i].ring) + 1);
		at = ctf_writer_append_bytes(to, at, lost[i].event, strlen(lost[i].event) + 1);
		at = ctf_writer_append_bytes(to, at, lost[i].reason, strlen(lost[i].reason) + 1);
		at = ctf_writer_append_bytes(to, at, &lost[i].count, sizeof(lost[i].count));
	}
	return at;
}

int ctf_writer_lost(struct ctf_writer *writer, uint64_t timestamp, const struct ctf_lost *lost,
		size_t count, struct error *error)
{
	struct ctf_span span = {.timestamp_begin = timestamp, .timestamp_end = timestamp};
	unsigned char *records;
	int ret;

	if (!writer->session) {
		ret = ctf_stream_open(writer, "side_session", writer->nr_channels, 0,
				&writer->session, error);
		if (!ret)
			ret = ctf_stream_append(writer->session, &span, error);
		if (ret)
			return ret;
	}
	if (timestamp < writer->session->last_end)
		timestamp = writer->session->last_end;
	span.size = put_lost(NULL, timestamp, lost, count);
	records = malloc(span.size + 1);
	if (!records)
		return error_set(error, -ENOMEM, NULL,
				"out of memory: cannot write the counts of lost events");
	put_lost(records, timestamp, lost, count);
	span.records = records;
	ret = ctf_stream_append(writer->session, &span, error);
	free(records);
	return ret;
}
