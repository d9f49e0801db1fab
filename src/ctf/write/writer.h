/* SPDX-License-Identifier: MIT */
/* Structures and functions that the parts of the writer share: the directory, its metadata and its
   data streams. */
#ifndef SIDE_CTF_WRITE_WRITER_H
#define SIDE_CTF_WRITE_WRITER_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "ctf/ctf.h"
#include "ctf/tally.h"

#define CTF_PACKET_MAGIC 0xc1fc1fc1u

/* The environment describes the conversion of text in section 3. */
#define CTF_STRING_NOTE                                                                            \
	"UTF-16 and UTF-32 text is converted to UTF-8; lone surrogates and values above U+10FFFF " \
	"are kept in generalised UTF-8"

/* Finish a text of open_memstream(). After a failed allocation the text is incomplete or missing:
   returns -ENOMEM and no text. 0 otherwise. */
static inline int ctf_text_end(FILE *out, char **ret_text)
{
	bool is_whole = !ferror(out);

	is_whole = !fclose(out) && is_whole && *ret_text;
	if (is_whole)
		return 0;
	free(*ret_text);
	*ret_text = NULL;
	return -ENOMEM;
}

struct ctf_stream {
	struct ctf_stream *next;
	struct ctf_writer *writer;
	char *name;
	int fd;
	/* Index of the channel; the session's stream has the next number behind all channels. */
	uint32_t class_id;
	uint32_t ring;
	uint64_t sequence;
	uint64_t last_end;
	uint64_t records; /* For a channel, if records are counted. */
	off_t size;       /* Size of complete packets. */
};

struct ctf_channel {
	char *name;
	enum ctf_placement placement;
	const struct ctf_type *context; /* Of all its events; NULL: none. */
	bool late;      /* Its metadata is written with its first event: see ctf_tsdl_channel(). */
	bool described; /* Its metadata was written. */
	uint32_t *ids;  /* Of its events, sorted. */
	uint32_t id_count;
	uint32_t id_capacity;
	struct ctf_tally tally; /* If records are counted. */
};

struct ctf_writer {
	struct ctf_writer_config config; /* Strings are owned. */
	struct ctf_clock clock;
	struct ctf_arena *arena; /* Context types of the channels. */
	struct ctf_channel *channels;
	uint32_t nr_channels;              /* At least one. */
	struct ctf_compressor *compressor; /* NULL: plain files. */
	unsigned char uuid[16];
	int dir_fd;
	int metadata_fd;
	off_t head_size; /* Size of the metadata before the first event block. */
	off_t metadata_size;
	struct ctf_stream *streams;
	struct ctf_stream *session; /* One of the streams; NULL until events are lost. */
};

/* The parts of an event's metadata; context and json may be NULL. */
struct ctf_event_parts {
	uint32_t id;
	uint32_t channel;
	const char *name;
	int side_loglevel;
	const struct ctf_type *context;
	const struct ctf_type *fields;
	const char *json;
};

/* Make the metadata before the events, in TSDL or CTF 2. The caller frees *text. */
int ctf_tsdl_head(const struct ctf_writer *writer, char **text, size_t *ret_size);
int ctf2_head(const struct ctf_writer *writer, char **text, size_t *ret_size);

/*
 * Make the stream block of a late channel. The caller frees *ret_text. Babeltrace 2.0.4 aborts if a
 * stream with a variant in its contexts has no event.
 */
int ctf_tsdl_channel(
		const struct ctf_channel *channel, uint32_t id, char **ret_text, size_t *ret_size);
bool ctf_tsdl_is_late(const struct ctf_channel *channel);

/* Make the metadata of one event. The caller frees *text. */
int ctf_tsdl_event(const struct ctf_event_parts *event, char **text, size_t *ret_size);
int ctf2_event(const struct ctf_event_parts *event, char **text, size_t *ret_size);

/* Write the channel's stream block if it is missing. Call it before writing anything of the
   channel. */
int ctf_writer_describe_channel(struct ctf_writer *writer, uint32_t index, struct error *error);

/* Open a stream file, without a packet. */
int ctf_stream_open(struct ctf_writer *writer, const char *name, uint32_t class_id, uint32_t ring,
		struct ctf_stream **ret_stream, struct error *error);
int ctf_stream_close(struct ctf_stream *stream, struct error *error);

/* Write all bytes and increase *size, or truncate the file to its old size. 0 or a negative
   errno. */
int ctf_file_append(int fd, off_t *size, const void *head, size_t head_size, const void *body,
		size_t body_size);

/* Format the error of a file of a trace that cannot be written. Returns code. */
int ctf_write_error(struct error *error, int code, const char *dir, const char *file);

#endif /* SIDE_CTF_WRITE_WRITER_H */
