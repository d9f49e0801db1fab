/* SPDX-License-Identifier: MIT */
/*
 * A trace as a new trace of CTF 1.8 or CTF 2.
 *
 * The content of a record is copied byte by byte. The header is made again (docs/spec/recording.md,
 * section 1), because its form depends on the previous record, which may not be selected. Each
 * trace keeps its position below the new directory, and each data stream its file. Records of
 * losses, and the losses that packets counted, are copied, too.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/export-types.h"
#include "export/export.h"
#include "base/error.h"

#define PACKET_SIZE (256u << 10)

enum { TAG_MEDIUM = 30, TAG_EXTENDED = 31, TAG_BITS = 5, TIME_BITS = 27 };

struct copy_stream {
	struct ctf_stream *stream; /* NULL: not created */
	struct view_out records;
	uint64_t begin, end; /* of the current packet */
	uint64_t last;       /* time of the previous record */
	uint64_t discarded;
};

struct copy_trace {
	struct ctf_writer *writer;
	struct export_types types;
	uint64_t *classes; /* ids of stream classes, one for each channel */
	uint32_t class_count;
};

struct export_ctf {
	const struct export_options *options;
	enum ctf_format format;
	struct report_walk walk;
	struct copy_trace *traces;
	struct copy_stream *streams;
	uint32_t stream_capacity;
	uint64_t lost_packets;
	struct error error;
	struct error *failure; /* the caller's; it has the first error */
	bool is_failed;
};

/* ---- traces ---- */

static int export_ctf_set_writer_error(struct export_ctf *copy, int code)
{
	copy->is_failed = true;
	return error_set_kind(copy->failure, ERROR_FAILED, code, copy->error.hint, "%s",
			copy->error.text);
}

static int export_ctf_set_error(struct export_ctf *copy, int code)
{
	if (copy->is_failed)
		return code;
	if (copy->error.text[0])
		return export_ctf_set_writer_error(copy, code);
	copy->is_failed = true;
	return error_set_kind(copy->failure, ERROR_FAILED, code, NULL,
			"cannot continue to export %s: %s", copy->walk.options.dir,
			strerror(-code));
}

static int export_ctf_cannot_describe(
		struct export_ctf *copy, const struct ctf_trace *trace, const char *name)
{
	copy->is_failed = true;
	return error_set_kind(copy->failure, ERROR_FAILED, -ENOTSUP, "leave it out with `-e`",
			"cannot export %s of %s: it has %s", name, trace->path,
			copy->traces[trace->index].types.why);
}

/* "DIR/a/b" below "DIR" is "a+b". The directory itself is "trace". */
static char *export_ctf_make_path(const struct export_ctf *copy, const struct ctf_trace *trace)
{
	const char *dir = copy->walk.options.dir, *remainder = trace->path;
	size_t size = strlen(dir);
	char *path;

	if (strncmp(remainder, dir, size) == 0)
		remainder += size;
	remainder += strspn(remainder, "/");
	if (asprintf(&path, "%s/%s", copy->options->output, *remainder ? remainder : "trace") < 0)
		return NULL;
	for (char *at = path + strlen(copy->options->output) + 1; *at; at++) {
		if (*at == '/')
			*at = '+';
	}
	return path;
}

static const char *environment_text(const struct ctf_trace *trace, const char *key)
{
	for (uint32_t i = 0; i < trace->environment_count; i++) {
		if (strcmp(trace->environment[i].key, key) == 0)
			return trace->environment[i].text;
	}
	return NULL;
}

static uint64_t environment_number(const struct ctf_trace *trace, const char *key)
{
	for (uint32_t i = 0; i < trace->environment_count; i++) {
		if (strcmp(trace->environment[i].key, key) == 0 && !trace->environment[i].text)
			return (uint64_t)trace->environment[i].number;
	}
	return 0;
}

/* The name of the files of a stream class, without their number. */
static char *export_ctf_channel_name(
		const struct export_ctf *copy, const struct ctf_trace *trace, uint64_t class)
{
	for (uint32_t i = 0; i < ctf_reader_stream_count(copy->walk.reader); i++) {
		const struct ctf_stream_info *info = ctf_reader_stream_info(copy->walk.reader, i);
		const char *number;

		if (ctf_reader_stream_trace(copy->walk.reader, i) != trace ||
				info->class_id != class)
			continue;
		number = strrchr(info->name, '_');
		if (number && number != info->name && number[1] >= '0' && number[1] <= '9')
			return strndup(info->name, (size_t)(number - info->name));
		break;
	}
	return strdup("ring");
}

/* Two channels must not write the same files: the name of the second one includes its class. */
static int name_channel(const struct export_ctf *copy, const struct ctf_trace *trace,
		uint64_t class, struct ctf_channel_config *channels, uint32_t at)
{
	char *name = export_ctf_channel_name(copy, trace, class), *longer;

	if (!name)
		return -ENOMEM;
	for (uint32_t i = 0; i < at; i++) {
		if (!channels[i].name || strcmp(channels[i].name, name) != 0)
			continue;
		if (asprintf(&longer, "%s%" PRIu64, name, class) < 0)
			longer = NULL;
		free(name);
		channels[at].name = longer;
		return longer ? 0 : -ENOMEM;
	}
	channels[at].name = name;
	return 0;
}

static bool is_session(const struct ctf_trace *trace, uint64_t class)
{
	return trace->is_side && class == ctf_trace_session_stream(trace);
}

/* For events without fields. */
static const struct ctf_type no_fields = {.kind = CTF_STRUCT, .align = 1};

static int export_ctf_make_channels(struct export_ctf *copy, const struct ctf_trace *trace,
		struct ctf_channel_config *channels)
{
	struct copy_trace *own = &copy->traces[trace->index];

	for (uint32_t i = 0; i < ctf_trace_class_count(trace); i++) {
		struct ctf_channel_config *channel = &channels[own->class_count];
		struct ctf_stream_class_info info;
		int ret;

		ctf_trace_class(trace, i, &info);
		if (is_session(trace, info.id))
			continue;
		channel->placement = info.per_cpu ? CTF_PER_CPU : CTF_PER_THREAD;
		ret = export_types_convert(&own->types, "stream.event.context.", info.context,
				&channel->context);
		if (ret == -ENOTSUP)
			return export_ctf_cannot_describe(copy, trace, "the contexts");
		if (!ret)
			ret = name_channel(copy, trace, info.id, channels, own->class_count);
		if (ret)
			return ret;
		own->classes[own->class_count++] = info.id;
	}
	return 0;
}

static int export_ctf_get_channel(
		const struct export_ctf *copy, const struct ctf_trace *trace, uint64_t class)
{
	const struct copy_trace *own = &copy->traces[trace->index];

	for (uint32_t i = 0; i < own->class_count; i++) {
		if (own->classes[i] == class)
			return (int)i;
	}
	return -1;
}

/* Adds all selected event classes, with or without records. */
static int export_ctf_add_events(struct export_ctf *copy, const struct ctf_trace *trace)
{
	struct copy_trace *own = &copy->traces[trace->index];
	const struct text_list *patterns = &copy->options->patterns;
	int ret = 0;

	for (uint32_t i = 0; !ret && i < ctf_trace_event_count(trace); i++) {
		const struct ctf_event_class *event = ctf_trace_event(trace, i);
		const struct ctf_type *context, *fields;
		int channel = export_ctf_get_channel(copy, trace, event->stream_id);

		if (channel < 0 || event->id > UINT32_MAX ||
				(patterns->count &&
						!walk_pattern_wants(copy->walk.patterns,
								patterns->count, event->name,
								event->loglevel)))
			continue;
		ret = export_types_convert(&own->types, "event.context.", event->context, &context);
		if (!ret)
			ret = export_types_convert(
					&own->types, "event.fields.", event->fields, &fields);
		if (ret == -ENOTSUP)
			return export_ctf_cannot_describe(copy, trace, event->name);
		if (!ret)
			ret = ctf_writer_add_event_json(own->writer, (uint32_t)channel,
					(uint32_t)event->id, event->name,
					event->loglevel > 7 ? 7 : event->loglevel, context,
					fields ? fields : &no_fields, event->side_event,
					&copy->error);
	}
	return ret;
}

static int make_trace(struct export_ctf *copy, const struct ctf_trace *trace)
{
	struct copy_trace *own = &copy->traces[trace->index];
	uint32_t count = ctf_trace_class_count(trace);
	struct ctf_channel_config *channels = calloc(count + 1u, sizeof(*channels));
	struct ctf_writer_config config = {
			.hostname = trace->hostname,
			.procname = trace->procname,
			.exe = environment_text(trace, "exe"),
			.vpid = trace->vpid,
			.version = {(uint32_t)environment_number(trace, "tracer_major"),
					(uint32_t)environment_number(trace, "tracer_minor"),
					(uint32_t)environment_number(trace, "tracer_patchlevel")},
			.format = copy->format,
	};
	char *path = export_ctf_make_path(copy, trace);
	int ret = -ENOMEM;

	export_types_start(&own->types, copy->format);
	own->classes = calloc(count + 1u, sizeof(*own->classes));
	if (trace->clock)
		config.clock = *trace->clock;
	else
		config.clock.frequency = 1000000000;
	if (channels && path && own->classes)
		ret = export_ctf_make_channels(copy, trace, channels);
	if (!ret) {
		config.dir = path;
		config.channels = channels;
		config.nr_channels = own->class_count;
		ret = ctf_writer_create(&config, &own->writer, &copy->error);
	}
	if (!ret)
		ret = export_ctf_add_events(copy, trace);
	for (uint32_t i = 0; channels && i < count; i++)
		free((void *)(uintptr_t)channels[i].name); /* The writer has copied it. */
	free(channels);
	free(path);
	return ret;
}

/* ---- streams ---- */

static struct copy_stream *stream_of(struct export_ctf *copy, const struct ctf_item *item)
{
	uint32_t index = item->stream->index;

	if (index >= copy->stream_capacity) {
		uint32_t capacity = index < 8 ? 16 : index * 2;
		struct copy_stream *grown = realloc(copy->streams, capacity * sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + copy->stream_capacity, 0,
				(capacity - copy->stream_capacity) * sizeof(*grown));
		copy->streams = grown;
		copy->stream_capacity = capacity;
	}
	return &copy->streams[index];
}

/* The number after the name of the channel, or else the number of the stream in the whole trace. */
static uint32_t ring_of(const struct ctf_item *item)
{
	const char *number = strrchr(item->stream->name, '_');

	if (number && number[1] >= '0' && number[1] <= '9')
		return (uint32_t)strtoul(number + 1, NULL, 10);
	return item->stream->index;
}

static int export_ctf_open_stream(
		struct export_ctf *copy, const struct ctf_item *item, struct copy_stream *stream)
{
	struct copy_trace *own = &copy->traces[item->trace->index];
	int channel = export_ctf_get_channel(copy, item->trace, item->stream->class_id);

	if (channel < 0)
		return -EINVAL;
	stream->begin = stream->end = item->cycles;
	return ctf_writer_open_stream(own->writer, (uint32_t)channel, ring_of(item), item->cycles,
			&stream->stream, &copy->error);
}

static int flush_stream(struct export_ctf *copy, struct copy_stream *stream)
{
	struct ctf_span span = {stream->records.begin, view_out_size(&stream->records),
			stream->begin, stream->end, stream->discarded};
	int ret;

	if (stream->records.failed)
		return -ENOMEM;
	ret = ctf_stream_append(stream->stream, &span, &copy->error);
	stream->records.at = stream->records.begin;
	stream->begin = stream->end;
	return ret;
}

static void export_ctf_write_tag(struct view_out *out, uint32_t tag, uint64_t time)
{
	uint32_t low = (uint32_t)time & ((1u << TIME_BITS) - 1);
	uint32_t word = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? tag << TIME_BITS | low
							       : low << TAG_BITS | tag;

	view_out_put(out, (const char *)&word, sizeof(word));
}

static void export_ctf_write_header(struct copy_stream *stream, uint32_t id, uint64_t time)
{
	struct view_out *out = &stream->records;
	bool first = out->at == out->begin;
	uint16_t medium = (uint16_t)id;

	if (first || id > UINT16_MAX || time >> TIME_BITS != stream->last >> TIME_BITS) {
		uint8_t tag = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? TAG_EXTENDED << 3
								     : TAG_EXTENDED;

		view_out_put(out, (const char *)&tag, 1);
		view_out_put(out, (const char *)&id, sizeof(id));
		view_out_put(out, (const char *)&time, sizeof(time));
	} else if (id < TAG_MEDIUM) {
		export_ctf_write_tag(out, id, time);
	} else {
		export_ctf_write_tag(out, TAG_MEDIUM, time);
		view_out_put(out, (const char *)&medium, sizeof(medium));
	}
	stream->last = time;
}

static int export_ctf_copy_event(struct export_ctf *copy, const struct ctf_item *item)
{
	struct copy_stream *stream = stream_of(copy, item);
	int ret = 0;

	if (!stream)
		return -ENOMEM;
	if (item->event->id > UINT32_MAX || !item->body) {
		copy->traces[item->trace->index].types.why = item->body
				? "an id of more than 32 bits"
				: "fields that do not begin at a byte";
		return export_ctf_cannot_describe(copy, item->trace, item->event->name);
	}
	if (!stream->stream)
		ret = export_ctf_open_stream(copy, item, stream);
	if (ret)
		return ret;
	if (stream->records.at == stream->records.begin)
		stream->begin = item->cycles;
	export_ctf_write_header(stream, (uint32_t)item->event->id, item->cycles);
	view_out_put(&stream->records, (const char *)item->body, (size_t)item->body_size);
	stream->end = item->cycles;
	return view_out_size(&stream->records) < PACKET_SIZE ? 0 : flush_stream(copy, stream);
}

/* The counter increases with the packet that reports it. */
static int copy_discarded(struct export_ctf *copy, const struct ctf_item *item)
{
	struct copy_stream *stream = stream_of(copy, item);
	int ret = 0;

	if (item->kind == CTF_ITEM_LOST_PACKETS) {
		copy->lost_packets += item->count;
		return 0;
	}
	if (!stream)
		return -ENOMEM;
	if (is_session(item->trace, item->stream->class_id))
		return 0;
	if (!stream->stream)
		ret = export_ctf_open_stream(copy, item, stream);
	stream->discarded += item->count;
	if (item->cycles > stream->end)
		stream->end = item->cycles;
	return ret ? ret : flush_stream(copy, stream);
}

static int copy_lost(struct export_ctf *copy, const struct ctf_item *item)
{
	static const char *const names[] = {"ring", "event", "reason"};
	char *texts[3] = {NULL, NULL, NULL};
	struct ctf_lost lost;
	int ret = 0;

	for (unsigned int i = 0; i < 3; i++) {
		size_t size;
		const char *text = walk_lost_text(item, names[i], &size);

		texts[i] = strndup(text, size);
		ret = texts[i] ? ret : -ENOMEM;
	}
	lost = (struct ctf_lost){texts[0], texts[1], texts[2], walk_lost_count(item)};
	if (!ret)
		ret = ctf_writer_lost(copy->traces[item->trace->index].writer, item->cycles, &lost,
				1, &copy->error);
	for (unsigned int i = 0; i < 3; i++)
		free(texts[i]);
	return ret;
}

/* ---- the whole ---- */

static int make_traces(struct export_ctf *copy)
{
	uint32_t count = ctf_reader_trace_count(copy->walk.reader);
	int ret = 0;

	copy->traces = calloc(count + 1u, sizeof(*copy->traces));
	if (!copy->traces)
		return -ENOMEM;
	for (uint32_t i = 0; !ret && i < count; i++)
		ret = make_trace(copy, ctf_reader_trace(copy->walk.reader, i));
	return ret;
}

static int copy_items(struct export_ctf *copy)
{
	struct walk_class *class;
	struct ctf_item item;
	int ret;

	while ((ret = walk_next(&copy->walk, &item, &class)) > 0) {
		/* The stream classes are known only after the first item has been read. */
		if (!copy->traces && (ret = make_traces(copy)))
			return ret;
		ret = !class                  ? copy_discarded(copy, &item)
				: class->lost ? copy_lost(copy, &item)
					      : export_ctf_copy_event(copy, &item);
		if (ret)
			return ret;
	}
	if (!ret && !copy->traces)
		ret = make_traces(copy);
	for (uint32_t i = 0; !ret && i < copy->stream_capacity; i++) {
		if (copy->streams[i].stream &&
				copy->streams[i].records.at != copy->streams[i].records.begin)
			ret = flush_stream(copy, &copy->streams[i]);
	}
	return ret;
}

/* Writes the data that the writers still buffer. */
static int export_ctf_close_writers(struct export_ctf *copy)
{
	uint32_t count = copy->traces ? ctf_reader_trace_count(copy->walk.reader) : 0;
	int ret = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct copy_trace *own = &copy->traces[i];
		int closed;

		copy->error = (struct error){.text = ""};
		closed = own->writer ? ctf_writer_close(own->writer, &copy->error) : 0;
		own->writer = NULL;
		if (closed && !copy->is_failed)
			ret = export_ctf_set_writer_error(copy, closed);
	}
	return ret;
}

static void export_ctf_note_lost_packets(const struct export_ctf *copy)
{
	const struct analysis_listener *listener = &copy->walk.options.listener;
	char text[128];

	if (!copy->lost_packets || !listener->report)
		return;
	snprintf(text, sizeof(text),
			"%" PRIu64 " packet%s missing: CTF cannot express that in a new trace",
			copy->lost_packets, copy->lost_packets == 1 ? " is" : "s are");
	listener->report(listener->user, ANALYSIS_NOTE, NULL, text);
}

int export_ctf_prepare(struct export_ctf **ret_ctf, const struct export_options *options,
		const char *dir, const struct analysis_listener *listener, struct error *error)
{
	struct report_walk_options walk = {.verb = "export",
			.dir = dir,
			.patterns = &options->patterns,
			.where = options->filter,
			.times = options->times,
			.listener = *listener};
	struct export_ctf *copy;
	int ret;

	*ret_ctf = NULL;
	if (!options->output)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, "add `-o DIR`",
				"a CTF trace is a directory");
	copy = calloc(1, sizeof(*copy));
	if (!copy)
		return error_set_no_memory(error);
	copy->options = options;
	copy->format = options->format == EXPORT_CTF2 ? CTF_FORMAT_2 : CTF_FORMAT_1;
	ret = walk_prepare(&copy->walk, &walk, error);
	if (ret)
		export_ctf_free(copy);
	else
		*ret_ctf = copy;
	return ret;
}

int export_ctf_write(struct export_ctf *copy, struct error *error)
{
	int ret = walk_open(&copy->walk, error), closed;

	if (ret)
		return ret;
	copy->failure = error;
	ret = copy_items(copy);
	if (ret)
		export_ctf_set_error(copy, ret);
	else
		export_ctf_note_lost_packets(copy);
	closed = export_ctf_close_writers(copy);
	return ret ? ret : closed;
}

const struct report_walk *export_ctf_walk(const struct export_ctf *copy)
{
	return &copy->walk;
}

void export_ctf_free(struct export_ctf *copy)
{
	struct error error;
	uint32_t count;

	if (!copy)
		return;
	count = copy->traces ? ctf_reader_trace_count(copy->walk.reader) : 0;
	for (uint32_t i = 0; i < count; i++) {
		if (copy->traces[i].writer)
			(void)ctf_writer_close(copy->traces[i].writer, &error);
		export_types_free(&copy->traces[i].types);
		free(copy->traces[i].classes);
	}
	for (uint32_t i = 0; i < copy->stream_capacity; i++)
		view_out_free(&copy->streams[i].records);
	free(copy->traces);
	free(copy->streams);
	walk_close(&copy->walk);
	free(copy);
}
