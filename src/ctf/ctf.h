/* SPDX-License-Identifier: MIT */
/*
 * CTF: describes, writes and reads SIDE events (docs/spec/recording.md).
 *
 * This header declares three parts:
 *   - the field-class tree (struct ctf_type): made from a SIDE description, or from metadata;
 *   - the writer: the directory of one traced process (metadata, one file a ring, losses);
 *   - the reader: all traces below a directory, merged by time, from any CTF producer.
 */
#ifndef SIDE_CTF_CTF_H
#define SIDE_CTF_CTF_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A file in the directory of a trace that is sent: the id of the user whose program is traced, and
   a newline. Readers ignore it. */
#define CTF_USER_FILE ".user"

struct side_event_description;
struct context_spec; /* protocol/context.h */

/* ---- Field classes ---- */

enum ctf_kind {
	CTF_INTEGER,
	CTF_FLOAT,
	CTF_ENUM,   /* An integer with labels. */
	CTF_STRING, /* Bytes up to a NUL. */
	CTF_STRUCT,
	CTF_ARRAY,
	CTF_SEQUENCE,
	CTF_VARIANT,
};

/* The meaning of a field for the reader, apart from its value. */
enum ctf_role {
	CTF_ROLE_NONE,
	CTF_ROLE_MAGIC,
	CTF_ROLE_UUID,
	CTF_ROLE_STREAM_ID,
	CTF_ROLE_STREAM_INSTANCE_ID,
	CTF_ROLE_TIMESTAMP_BEGIN,
	CTF_ROLE_TIMESTAMP_END,
	CTF_ROLE_CONTENT_SIZE,
	CTF_ROLE_PACKET_SIZE,
	CTF_ROLE_PACKET_SEQ_NUM,
	CTF_ROLE_EVENTS_DISCARDED,
	CTF_ROLE_CPU_ID,
	CTF_ROLE_EVENT_ID,
};

/* The clock of a trace: tick T is offset_s + (offset + T) / frequency seconds after the epoch. */
struct ctf_clock {
	const char *name;
	const char *description;
	char uuid[37]; /* Text, "" if there is none. */
	uint64_t frequency;
	int64_t offset_s;
	uint64_t offset;
	uint64_t precision;
	bool absolute;
};

/* One range of an enumeration. Signed bounds are stored as two's complement. */
struct ctf_label {
	const char *text;
	uint64_t begin;
	uint64_t end;
};

struct ctf_type;

/* A member of a structure or an option of a variant. */
struct ctf_member {
	const char *name; /* As in TSDL, underscore included. */
	struct ctf_type *type;
	bool hidden;        /* A length, tag or selector that only describes another member. */
	enum ctf_role role; /* Set by the reader. */
	/* Reader: the slot that stores the value for a length or tag reference, or -1. */
	int32_t slot;
};

/* The option that a range of tag values selects (reader). */
struct ctf_option_range {
	uint64_t begin;
	uint64_t end;
	uint32_t option;
};

enum ctf_encoding {
	CTF_UTF8,
	CTF_UTF16LE,
	CTF_UTF16BE,
	CTF_UTF32LE,
	CTF_UTF32BE,
};

/* CTF 2: the location of a length or a selector. */
struct ctf_location {
	int origin; /* enum ctf_scope, or -1: relative to the structure that contains the field. */
	uint32_t count;
	const char **path; /* Names of members; NULL, only at the beginning: one structure up. */
	/* Variants: the ranges of the selector, until the reader has found the selector. */
	struct ctf_wide_range *ranges;
	uint32_t range_count;
};

/* CTF_VARIANT: one of its options contains a field that is a length or tag for another field; the
   slot stores its value. */
struct ctf_guard {
	struct ctf_guard *next;
	int32_t slot;
};

struct ctf_type {
	enum ctf_kind kind;
	uint32_t align;    /* Bits, a power of two. */
	uint32_t depth;    /* Reader: levels of types, this one included. */
	uint64_t min_bits; /* Reader: least size of a value in bits. */
	/* Reader: size in bytes of an integer in host layout, + 0x80 if signed; or 0. */
	uint8_t fast;

	/* CTF_INTEGER, CTF_ENUM, CTF_FLOAT. */
	uint8_t size; /* Bits, 1 to 64. */
	uint8_t base; /* 2, 8, 10, 16. */
	bool is_signed;
	bool big_endian;
	bool text;                     /* An 8-bit character: arrays of it are text. */
	bool boolean;                  /* CTF_ENUM: a truth value; its labels are false and true. */
	bool bitmap;                   /* CTF_INTEGER: the labels name bits, the lowest is 0. */
	bool byte;                     /* CTF_INTEGER: a raw byte: arrays of it are BLOBs. */
	bool leb128;                   /* CTF 2: variable length, 7 bits per byte. size is 64. */
	bool reversed;                 /* CTF 2: the bits of the number are in reverse order. */
	const struct ctf_clock *clock; /* The clock whose time it contains, or NULL. */

	/*
	 * CTF_STRING, and arrays whose element is `text` (their length counts bytes): CTF 2 also
	 * has other encodings than UTF-8. The decoder converts; values are always UTF-8.
	 */
	enum ctf_encoding encoding;
	/* CTF 2: media type of a BLOB, which is an array of bytes here; or NULL. */
	const char *media_type;

	/* CTF_ENUM, and CTF_INTEGER with bitmap. */
	struct ctf_label *labels;
	uint32_t label_count;

	/* CTF_STRUCT: members. CTF_VARIANT: options. */
	struct ctf_member *members;
	uint32_t member_count;
	bool optional; /* CTF_VARIANT: the options are `none` (an empty structure) and `some`. */

	/* CTF_ARRAY: length. CTF_SEQUENCE, CTF_VARIANT: the name of the length or tag field. */
	uint64_t length;
	const char *reference;
	const struct ctf_location *location; /* CTF 2: instead of the name, or NULL. */
	struct ctf_type *element;

	/* Reader: the resolved reference. */
	int32_t slot;
	bool tag_signed;
	struct ctf_option_range *ranges;
	uint32_t range_count;
	struct ctf_guard *guards;
};

struct ctf_arena;

/* Memory that is freed all at once (ctf/arena.h). NULL: out of memory. */
struct ctf_arena *ctf_arena_create(void);
void ctf_arena_destroy(struct ctf_arena *arena);

/*
 * Build the tree of a description's fields: a structure, allocated in the arena. 0, -ENOMEM, or
 * -EINVAL if the description cannot be recorded (with a sentence).
 */
int ctf_type_from_description(struct ctf_arena *arena,
		const struct side_event_description *description, struct ctf_type **ret_type,
		struct error *error);

/* Write a type as TSDL, in the form of `fields := …`. 0 or -ENOMEM. */
int ctf_type_print_tsdl(const struct ctf_type *type, FILE *out);

/* ---- Writer ---- */

struct ctf_writer;
struct ctf_stream;

/* The metadata describes the same records in CTF 1.8 (TSDL) or in CTF 2 (JSON). */
enum ctf_format {
	CTF_FORMAT_1,
	CTF_FORMAT_2,
};

enum ctf_placement {
	CTF_PER_CPU, /* A ring belongs to a CPU: packets contain its number. */
	CTF_PER_THREAD,
};

/* A channel is one data stream class; each of its rings is a file <name>_<ring>. */
struct ctf_channel_config {
	const char *name;
	enum ctf_placement placement;
	const struct context_spec *contexts; /* Recorded before the event's own contexts. */
	uint32_t nr_contexts;
	/* Instead of contexts: a structure that lives as long as the writer, or NULL. */
	const struct ctf_type *context;
};

struct ctf_writer_config {
	/* Created by the writer; its parent must exist, the directory must not. */
	const char *dir;
	struct ctf_clock clock; /* name may be NULL: "monotonic". */
	const char *hostname;
	const char *procname;
	const char *exe;
	const char *domain; /* the source of the events; NULL: "ust" */
	int64_t vpid;       /* -1: not of one process; procname and exe are not written then. */
	/* A channel overwrites older events; a rule of a channel has a filter. */
	bool overwrites, filters;
	int64_t forked_from; /* vpid of the process that forked this one; 0: not forked, or unknown */
	uint32_t version[3]; /* Of the tracer. */
	enum ctf_format format;
	int compression; /* zstd level of the data streams (files end in .zst); 0: none. */
	const struct ctf_channel_config *channels; /* Copied. */
	uint32_t nr_channels; /* 0: one channel `ring`, per CPU and without contexts. */
	/* Count records: see ctf_stream_records(). Trees must be made by this library. */
	bool counts;
};

/*
 * Create the directory and its metadata. The files exist at once and are readable at any time. Not
 * thread-safe: only one thread at a time may use a writer. Copies strings.
 */
int ctf_writer_create(const struct ctf_writer_config *config, struct ctf_writer **ret_writer,
		struct error *error);

/*
 * Describe an event of a channel, with the contexts that follow those of the channel in its
 * records. Must precede the first record with this id. -EEXIST: the channel has the id.
 */
int ctf_writer_add_event(struct ctf_writer *writer, uint32_t channel, uint32_t id,
		const struct side_event_description *description,
		const struct context_spec *contexts, uint32_t nr_contexts, struct error *error);

/* The same from a description's JSON form (or NULL) and existing trees; context may be NULL. */
int ctf_writer_add_event_json(struct ctf_writer *writer, uint32_t channel, uint32_t id,
		const char *name, int side_loglevel, const struct ctf_type *context,
		const struct ctf_type *fields, const char *json, struct error *error);

/*
 * Open the data stream file <channel's name>_<ring>[.zst]. It begins with an empty packet at
 * `timestamp` (clock ticks), so that readers detect losses before the first real packet. The writer
 * owns the stream.
 */
int ctf_writer_open_stream(struct ctf_writer *writer, uint32_t channel, uint32_t ring,
		uint64_t timestamp, struct ctf_stream **ret_stream, struct error *error);

/* Consecutive complete event records of one ring, the first of them in the extended form. */
struct ctf_span {
	const void *records;
	size_t size;               /* Bytes; 0 writes an empty packet with only the counter. */
	uint64_t timestamp_begin;  /* Ticks: not after the first record. */
	uint64_t timestamp_end;    /* Not before the last record. */
	uint64_t events_discarded; /* Since the ring was created, not since the last span. */
};

/*
 * Append one packet. If that fails (-ENOSPC, -EIO, …), the file is truncated to its last complete
 * packet. A begin before the end of the previous packet is replaced by that end, because readers
 * refuse overlapping packets.
 */
int ctf_stream_append(struct ctf_stream *stream, const struct ctf_span *span, struct error *error);

/* The mode of each directory of a trace: other users cannot read it, with any umask. */
#define CTF_DIRECTORY_MODE 0750

struct ctf_lost {
	const char *ring;  /* "ring_3" */
	const char *event; /* "provider:event", "" if not known */
	const char *reason;
	uint64_t count;
};

/* Prefix of the reason if the count is not in events: of data that could not be written, only the
   bytes are known. */
#define CTF_LOST_BYTES "bytes not written: "

static inline bool ctf_lost_is_bytes(const char *reason, size_t size)
{
	const size_t begin = sizeof(CTF_LOST_BYTES) - 1;

	return size >= begin && !memcmp(reason, CTF_LOST_BYTES, begin);
}

/* Record losses in the file side_session, all with the same timestamp. */
int ctf_writer_lost(struct ctf_writer *writer, uint64_t timestamp, const struct ctf_lost *lost,
		size_t count, struct error *error);

/* Replace the clock's values (not its name): the metadata is written to a second file that replaces
   the first. */
int ctf_writer_set_clock(
		struct ctf_writer *writer, const struct ctf_clock *clock, struct error *error);

/* Size of a stream's complete packets, and the end of the last of them in ticks. */
uint64_t ctf_stream_size(const struct ctf_stream *stream);
uint64_t ctf_stream_end(const struct ctf_stream *stream);

/*
 * Number of records in a stream's packets so far, if the writer counts them. It finds them by their
 * lengths, without decoding values. In a packet, it stops at the first bytes that are no record of
 * a described event; a reader stops there as well.
 */
uint64_t ctf_stream_records(const struct ctf_stream *stream);

/* Bytes written so far, metadata included. */
uint64_t ctf_writer_bytes(const struct ctf_writer *writer);

/* Close all files and free the writer, also after an error. Returns the first error of closing. */
int ctf_writer_close(struct ctf_writer *writer, struct error *error);

/*
 * Repair the traces in `dir` and below it whose writer was killed: if the last packet of a stream
 * is cut, it is shortened to its complete records; an incomplete last event block is removed from
 * the metadata. *ret_repaired counts the changed files. A trace that cannot be repaired gives an
 * error, but the other traces are repaired nevertheless; -EBUSY: its writer is running.
 */
int ctf_repair(const char *dir, unsigned int *ret_repaired, struct error *error);
/*
 * Repair only the metadata of one trace, for callers that know where its streams end. A directory
 * whose recorder was killed before it wrote metadata is no trace: it is removed. 0 or a negative
 * errno.
 */
int ctf_repair_metadata(const char *dir, struct error *error);

/* ---- Compressed traces ---- */

struct ctf_expand_result {
	uint64_t expanded; /* Files. */
	uint64_t copied;
	uint64_t bytes_in;
	uint64_t bytes_out;
	uint64_t damaged; /* Number of reports. */
};

typedef void ctf_expand_message_fn(void *user, const char *sentence);
/* Called when the new directory exists, before anything is read. */
typedef void ctf_expand_ready(const char *dir, const char *out);

/*
 * Copy `dir` to the new directory `out`, with all data streams decompressed. Damage is passed to
 * `report` and counted, and the work continues; an error is what ends it.
 */
int ctf_expand(const char *dir, const char *out, ctf_expand_ready *ready,
		ctf_expand_message_fn *report, void *user, struct ctf_expand_result *ret_summary,
		struct error *error);

/* ---- Packets without decoding, to forward traces of side ---- */

struct ctf_packet {
	unsigned char *bytes; /* Header and records, decompressed; owned by the struct. */
	size_t size;
	size_t capacity;
	uint64_t next; /* Offset of the next packet in the file. */
	unsigned char uuid[16];
	uint32_t class_id;
	uint64_t instance;
	uint64_t begin; /* Ticks. */
	uint64_t end;
	uint64_t sequence;
	uint64_t discarded;
};

/*
 * Read the packet at byte `at` of a data stream file (its name shows whether it is compressed). 1:
 * read; 0: the file does not contain it completely; -EBADMSG: no packet begins there.
 */
int ctf_packet_read(int fd, const char *name, uint64_t at, struct ctf_packet *packet);
/* Set the members from the bytes. 0 or -EBADMSG. */
int ctf_packet_parse(struct ctf_packet *packet);
void ctf_packet_set_uuid(struct ctf_packet *packet, const unsigned char uuid[16]);
void ctf_packet_set_discarded(struct ctf_packet *packet, uint64_t discarded);
void ctf_packet_set_sequence(struct ctf_packet *packet, uint64_t sequence);
void ctf_packet_set_times(struct ctf_packet *packet, uint64_t begin, uint64_t end);
/* Build a packet without records from the members: header_size bytes, which must fit the
   capacity. */
void ctf_packet_make_empty(struct ctf_packet *packet, size_t header_size);
void ctf_packet_free(struct ctf_packet *packet);

/* Counts the records of packets. This needs the metadata in `dir`, which the counter reads again if
   it has grown. */
struct ctf_counter;
struct ctf_counter *ctf_counter_create(void);
void ctf_counter_free(struct ctf_counter *counter);
int ctf_counter_renew(struct ctf_counter *counter, const char *dir);
int ctf_counter_count(struct ctf_counter *counter, const char *dir, const struct ctf_packet *packet,
		uint64_t *ret_records);
/* The trace as of the last read of its metadata, or NULL. */
const struct ctf_trace *ctf_counter_trace(const struct ctf_counter *counter);

/* ---- Reader ---- */

struct ctf_reader;

struct ctf_environment {
	const char *key;
	const char *text; /* NULL: a number. */
	int64_t number;
};

struct ctf_event_class {
	uint64_t id;
	uint64_t stream_id;
	const char *name;
	int loglevel;           /* LTTng's scale, -1: none. */
	const char *side_event; /* The SIDE description as JSON, or NULL: of another tracer. */
	struct ctf_type *context;
	struct ctf_type *fields;
	void *user;     /* For the user of the reader: its data about side_event. */
	uint32_t index; /* Dense number within the trace. */
};

struct ctf_trace {
	const char *path;
	uint32_t index;
	const struct ctf_environment *environment;
	uint32_t environment_count;
	const struct ctf_clock *clock; /* The first one, or NULL. */
	uint8_t uuid[16];
	bool big_endian;
	bool is_side;         /* env contains tracer_name = "side". */
	const char *procname; /* NULL if not known, as the next one. */
	const char *hostname;
	int64_t vpid; /* -1: not known. */
};

struct ctf_stream_info {
	const char *name; /* File name. */
	uint32_t index;   /* Within all streams of the reader. */
	uint64_t class_id;
	int64_t cpu; /* -1: not known. */
};

/*
 * A value of an event. Values are in pre-order in one array: a compound value is followed by its
 * parts, and its next sibling is `span` values later. Arrays of integers have no values for their
 * elements: use a cursor, which hides the difference. Valid until the next ctf_reader_next().
 */
struct ctf_value {
	const struct ctf_type *type;
	const struct ctf_member *member; /* NULL for elements. */
	union {
		uint64_t u; /* CTF_INTEGER, CTF_ENUM: sign-extended if signed. */
		int64_t s;
		double f;
		struct {
			const char *text; /* CTF_STRING and text arrays; not NUL-terminated. */
			uint64_t size;
		};
		struct {
			const uint8_t *base; /* Packed arrays: their beginning, in bits. */
			uint64_t bit;
		};
	};
	uint32_t count; /* Members, elements; 1 for a variant (the selected option follows). */
	uint32_t span;  /* Values from this one to its next sibling. */
	bool packed;    /* An array whose elements have no values of their own. */
	bool is_text;   /* A string, or an array that is text. */
};

struct ctf_cursor {
	const struct ctf_value *parent;
	const struct ctf_value *next;
	uint32_t left;
	uint32_t index;
	struct ctf_value scratch;
};

/* Iterate over the direct parts of a compound value or an array, packed or not. */
void ctf_cursor_start(struct ctf_cursor *cursor, const struct ctf_value *parent);
/* The next member, element or selected option; NULL at the end. */
const struct ctf_value *ctf_cursor_next(struct ctf_cursor *cursor);

/*
 * Copy elements of a packed array of integers, from number `from` on, at most `capacity` of them,
 * sign-extended if signed. Returns their number, 0 at the end.
 */
uint32_t ctf_value_integers(const struct ctf_value *array, uint32_t from, uint64_t *ret_numbers,
		uint32_t capacity);

/* The labels of an enumeration value: call with *at = 0 until it returns NULL. */
const char *ctf_value_label(const struct ctf_value *value, uint32_t *at);

/* A member by its TSDL name, or NULL. */
const struct ctf_value *ctf_value_member(const struct ctf_value *structure, const char *name);

enum ctf_item_kind {
	CTF_ITEM_EVENT,
	CTF_ITEM_DISCARDED,    /* A packet's counter shows that `count` events were lost. */
	CTF_ITEM_LOST_PACKETS, /* A gap of `count` packets. */
	CTF_ITEM_DAMAGE,       /* Something is unreadable; `text` is the sentence. */
	CTF_ITEM_NOTE,         /* A message other than damage; `text` is the sentence. */
};

struct ctf_item {
	enum ctf_item_kind kind;
	int64_t ns;       /* Since the Unix epoch (by the trace's clock). */
	int64_t begin_ns; /* Losses: the earliest time. */
	bool timed;       /* false: ns is not set. */
	uint64_t cycles;  /* The clock's value. */
	uint64_t count;
	const char *text;
	bool cut; /* CTF_ITEM_DAMAGE of a killed recorder: ctf_repair() repairs it. */
	const struct ctf_trace *trace;
	const struct ctf_stream_info *stream; /* NULL: damage of a complete trace. */
	struct ctf_event_class *event;        /* CTF_ITEM_EVENT */
	/* Structures; NULL if missing, and for a header that contains only the id and the time. */
	const struct ctf_value *header;
	const struct ctf_value *common_context;
	const struct ctf_value *context;
	const struct ctf_value *fields;
	/* CTF_ITEM_EVENT: its bytes behind the header: contexts and fields. NULL: not byte
	   aligned. */
	const uint8_t *body;
	uint64_t body_size; /* The unused bits of an incomplete last byte are undefined. */
};

/*
 * Open all traces in `dir` and below it. If a recorder is running, this includes those of the
 * current chunk. Unreadable data becomes CTF_ITEM_DAMAGE items. Only a directory without any trace
 * (-ENOENT) and lack of memory are errors.
 */
int ctf_reader_open(const char *dir, struct ctf_reader **ret_reader, struct error *error);

/* A search for traces reads at most this number of directories. */
#define CTF_FIND_DIRECTORIES_MAX 1000000u
/* A callback that a search calls with the current directory and the number of directories read so
   far. NULL: no callback. */
typedef void ctf_search_show(const char *path, uint64_t nr_directories);
void ctf_reader_on_search(ctf_search_show *show);
/* Returns the number of directories that ctf_reader_open() has read. */
uint64_t ctf_reader_searched(const struct ctf_reader *reader);

/*
 * The same for a directory that will be followed: also opens unfinished chunks, and keeps traces
 * open when their directory is renamed.
 */
int ctf_reader_open_growing(const char *dir, struct ctf_reader **ret_reader, struct error *error);

/*
 * Restrict the reader to the times from from_ns to to_ns, inclusive: it skips packets outside
 * without reading them or reporting damage in them. It may return items of other times
 * nevertheless. Call it before the first item.
 */
void ctf_reader_set_times(struct ctf_reader *reader, int64_t from_ns, int64_t to_ns);
/* The latest begin of a packet that was skipped so far because it ends too early. INT64_MIN:
   none. */
int64_t ctf_reader_skipped_begin(const struct ctf_reader *reader);

/* 1: *ret_item is the next in time; 0: the end; -ENOMEM. Allocates no memory in the steady
   state. */
int ctf_reader_next(struct ctf_reader *reader, struct ctf_item *ret_item);

/* The same for items up to `ns`: 0 if there is none, now or ever. */
int ctf_reader_next_until(struct ctf_reader *reader, int64_t ns, struct ctf_item *ret_item);

/*
 * Follow a trace while it is being recorded; call it after ctf_reader_open(). The reader then waits
 * for data that is missing or incomplete. It calls forget() for each ctf_event_class.user that it
 * frees because the metadata has grown; forget may be NULL.
 */
void ctf_reader_follow(struct ctf_reader *reader, void (*forget)(void *user));

/*
 * Find new packets, files, traces and metadata. *ret_recording is true if a recorder is running; if
 * it is false, the data is complete and is read as without following. 0 or -ENOMEM.
 */
int ctf_reader_refresh(struct ctf_reader *reader, bool *ret_recording);

/* True if a recorder is running in `dir`, even if it contains no trace yet. */
bool ctf_is_recorded(const char *dir);

/*
 * Access to single streams, for callers that decode them in threads and merge them themselves,
 * instead of ctf_reader_next(). Different threads may read different streams at the same time. The
 * parts of an item are valid until the next item of the same stream.
 */
uint32_t ctf_reader_stream_count(const struct ctf_reader *reader);
uint64_t ctf_reader_stream_size(const struct ctf_reader *reader, uint32_t stream); /* In bytes. */
const struct ctf_trace *ctf_reader_stream_trace(const struct ctf_reader *reader, uint32_t stream);
/* Its class and CPU are known after the first item. */
const struct ctf_stream_info *ctf_reader_stream_info(
		const struct ctf_reader *reader, uint32_t stream);
int ctf_reader_stream_next(
		struct ctf_reader *reader, uint32_t stream, const struct ctf_item **ret_item);
/* Items of complete traces: those that precede all streams, and (behind) those that follow them. */
int ctf_reader_note_next(struct ctf_reader *reader, bool behind, struct ctf_item *ret_item);

/* Traces have the numbers from 0 to ctf_reader_trace_count() - 1. */
uint32_t ctf_reader_trace_count(const struct ctf_reader *reader);
const struct ctf_trace *ctf_reader_trace(const struct ctf_reader *reader, uint32_t index);

/* Data stream classes of a trace, in the order of the metadata. */
struct ctf_stream_class_info {
	uint64_t id;
	const struct ctf_type *context; /* Context of each of its events; NULL: none. */
	bool per_cpu;                   /* Its packets contain their CPU. */
};
uint32_t ctf_trace_class_count(const struct ctf_trace *trace);
void ctf_trace_class(const struct ctf_trace *trace, uint32_t index,
		struct ctf_stream_class_info *ret_info);

/* Event classes of a trace, in the order of the metadata. */
uint32_t ctf_trace_event_count(const struct ctf_trace *trace);
struct ctf_event_class *ctf_trace_event(const struct ctf_trace *trace, uint32_t index);

/* The id of the stream class with the recorder's own events (in a trace of side). */
uint64_t ctf_trace_session_stream(const struct ctf_trace *trace);

void ctf_reader_close(struct ctf_reader *reader);

#endif /* SIDE_CTF_CTF_H */
