/* SPDX-License-Identifier: MIT */
/*
 * Writes data stream files: appends packets of complete event records.
 *
 * A packet is written with one pwritev(): a killed recorder leaves at most the last packet cut. If
 * the call fails, the file is truncated, so that it always consists of complete packets.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ctf/compress.h"
#include "ctf/type.h"
#include "ctf/write/writer.h"

struct packet_header {
	uint32_t magic;
	unsigned char uuid[16];
	uint32_t stream_id;
	uint64_t stream_instance_id;
	uint64_t timestamp_begin;
	uint64_t timestamp_end;
	uint64_t content_size;
	uint64_t packet_size;
	uint64_t packet_seq_num;
	uint64_t events_discarded;
	uint32_t cpu_id; /* Only if a ring belongs to a CPU. */
} __attribute__((packed));

_Static_assert(sizeof(struct packet_header) == 84, "recording.md says 32 + 52 bytes");

int ctf_write_error(struct error *error, int code, const char *dir, const char *file)
{
	const char *hint = NULL, *limit = "";

	if (code == -ENOSPC || code == -EDQUOT)
		hint = "free some space there, or write to another directory";
	else if (code == -EACCES || code == -EPERM || code == -EROFS)
		hint = "choose a directory that you may write to";
	else if (code == -EEXIST)
		hint = "choose another name or remove it";
	else if (code == -EFBIG)
		limit = ": the limit on the size of files (ulimit -f) is reached";
	return error_set(error, code, hint, "cannot write %s%s%s: %s%s", dir, *file ? "/" : "",
			file, strerror(-code), limit);
}

int ctf_file_append(int fd, off_t *size, const void *head, size_t head_size, const void *body,
		size_t body_size)
{
	/* The type of iov_base is not const, but pwritev() only reads. */
	struct iovec parts[2] = {
			{(void *)(uintptr_t)head, head_size}, {(void *)(uintptr_t)body, body_size}};
	off_t at = *size, end = *size + (off_t)(head_size + body_size);

	while (at < end) {
		ssize_t done = pwritev(fd, parts, 2, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			int code = done < 0 ? -errno : -EIO;

			/* If this fails too, the next packet overwrites the cut one. */
			return ftruncate(fd, *size) ? -EIO : code;
		}
		at += done;
		for (unsigned int i = 0; i < 2; i++) {
			size_t part = parts[i].iov_len < (size_t)done ? parts[i].iov_len
								      : (size_t)done;

			if (part) /* The body may be NULL. */
				parts[i].iov_base = (char *)parts[i].iov_base + part;
			parts[i].iov_len -= part;
			done -= (ssize_t)part;
		}
	}
	*size = end;
	return 0;
}

int ctf_stream_open(struct ctf_writer *writer, const char *name, uint32_t class_id, uint32_t ring,
		struct ctf_stream **ret_stream, struct error *error)
{
	struct ctf_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return error_set(error, -ENOMEM, NULL, "out of memory for the stream %s", name);
	stream->writer = writer;
	stream->class_id = class_id;
	stream->ring = ring;
	if (asprintf(&stream->name, "%s%s", name, writer->compressor ? CTF_COMPRESSED_SUFFIX : "") <
			0) {
		free(stream);
		return error_set(error, -ENOMEM, NULL, "out of memory for the stream %s", name);
	}
	stream->fd = openat(writer->dir_fd, stream->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			0644);
	if (stream->fd < 0) {
		int code = -errno;

		ctf_write_error(error, code, writer->config.dir, stream->name);
		free(stream->name);
		free(stream);
		return code;
	}
	stream->next = writer->streams;
	writer->streams = stream;
	*ret_stream = stream;
	return 0;
}

int ctf_stream_close(struct ctf_stream *stream, struct error *error)
{
	int ret = close(stream->fd) ? -errno : 0;

	if (ret)
		ctf_write_error(error, ret, stream->writer->config.dir, stream->name);
	free(stream->name);
	free(stream);
	return ret;
}

/* True if the packets contain their CPU. */
static bool has_cpu(const struct ctf_stream *stream)
{
	const struct ctf_writer *writer = stream->writer;

	return stream->class_id < writer->nr_channels &&
			writer->channels[stream->class_id].placement == CTF_PER_CPU;
}

/* Append a complete packet or nothing. With compression it is one frame. */
static int append_packet(struct ctf_stream *stream, const struct packet_header *header,
		size_t header_size, const struct ctf_span *span)
{
	struct ctf_compressor *compressor = stream->writer->compressor;
	const void *frame;
	size_t size;
	int ret;

	if (!compressor)
		return ctf_file_append(stream->fd, &stream->size, header, header_size,
				span->records, span->size);
	ret = ctf_compress(
			compressor, header, header_size, span->records, span->size, &frame, &size);
	return ret ? ret : ctf_file_append(stream->fd, &stream->size, frame, size, NULL, 0);
}

/* Count records when they are written: the kernel has just copied their bytes, so they are in the
   cache. */
static void stream_write_count_records(struct ctf_stream *stream, const struct ctf_span *span)
{
	const struct ctf_writer *writer = stream->writer;
	uint64_t count;

	if (!writer->config.counts || stream->class_id >= writer->nr_channels)
		return;
	(void)ctf_tally_count(&writer->channels[stream->class_id].tally, span->records, span->size,
			&count);
	stream->records += count;
}

int ctf_stream_append(struct ctf_stream *stream, const struct ctf_span *span, struct error *error)
{
	struct packet_header header = {
			.magic = CTF_PACKET_MAGIC,
			.stream_id = stream->class_id,
			.stream_instance_id = stream->ring,
			.timestamp_begin = span->timestamp_begin,
			.timestamp_end = span->timestamp_end,
			.packet_seq_num = stream->sequence,
			.events_discarded = span->events_discarded,
			.cpu_id = stream->ring,
	};
	size_t size = sizeof(header);
	int ret;

	if (!has_cpu(stream))
		size -= sizeof(header.cpu_id);
	if (header.timestamp_begin < stream->last_end)
		header.timestamp_begin = stream->last_end;
	if (header.timestamp_end < header.timestamp_begin)
		header.timestamp_end = header.timestamp_begin;
	header.content_size = header.packet_size = (uint64_t)(size + span->size) * 8;
	memcpy(header.uuid, stream->writer->uuid, sizeof(header.uuid));
	ret = append_packet(stream, &header, size, span);
	if (ret)
		return ctf_write_error(error, ret, stream->writer->config.dir, stream->name);
	stream_write_count_records(stream, span);
	stream->sequence++;
	stream->last_end = header.timestamp_end;
	return 0;
}

/* Undo the opening of a stream: it is the writer's newest, and empty. */
static void stream_forget(struct ctf_stream **stream)
{
	struct ctf_writer *writer = (*stream)->writer;
	struct error ignored;

	writer->streams = (*stream)->next;
	unlinkat(writer->dir_fd, (*stream)->name, 0);
	ctf_stream_close(*stream, &ignored);
	*stream = NULL;
}

uint64_t ctf_stream_size(const struct ctf_stream *stream)
{
	return (uint64_t)stream->size;
}

uint64_t ctf_stream_records(const struct ctf_stream *stream)
{
	return stream->records;
}

uint64_t ctf_stream_end(const struct ctf_stream *stream)
{
	return stream->last_end;
}

int ctf_writer_open_stream(struct ctf_writer *writer, uint32_t channel, uint32_t ring,
		uint64_t timestamp, struct ctf_stream **ret_stream, struct error *error)
{
	struct ctf_span empty = {.timestamp_begin = timestamp, .timestamp_end = timestamp};
	char *name;
	int ret;

	if (channel >= writer->nr_channels)
		return error_set(error, -EINVAL, NULL, "there is no channel %u in %s", channel,
				writer->config.dir);
	ret = ctf_writer_describe_channel(writer, channel, error);
	if (ret)
		return ret;
	if (asprintf(&name, "%s_%u", writer->channels[channel].name, ring) < 0)
		return error_set(error, -ENOMEM, NULL, "out of memory for a stream of %s",
				writer->config.dir);
	ret = ctf_stream_open(writer, name, channel, ring, ret_stream, error);
	free(name);
	if (ret)
		return ret;
	ret = ctf_stream_append(*ret_stream, &empty, error);
	if (ret)
		stream_forget(ret_stream);
	return ret;
}
