/* SPDX-License-Identifier: MIT */
/*
 * CTF: how SIDE events are described, written and read (docs/spec/recording.md).
 *
 * Three parts stand behind this header:
 *  - the field-class tree (struct ctf_type): made from a SIDE description, or from metadata;
 *  - the writer: the directory of one traced process (metadata, one file a ring, losses);
 *  - the reader: all traces below a directory, merged by time, from any CTF producer.
 */
#ifndef SIDE_CTF_CTF_H
#define SIDE_CTF_CTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* In the directory of a trace that is sent: the number of the user whose program it is of, and a newline. Readers ignore it. */
#define CTF_USER_FILE ".user"

struct side_event_description;
struct context_spec; /* protocol/context.h */

/* Filled when a function that takes it fails: one sentence for a person, without newline. */
struct ctf_error {
	char text[512];
	char hint[96]; /* what the user can do about it; may be empty */
};

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

/* What a field means to the reader, beside its value. */
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

/*
 * The wall clock of a trace: tick T is offset_s + (offset + T) / frequency seconds after the
 * epoch.
 */
struct ctf_clock {
	const char *name;
	const char *description;
	char uuid[37]; /* Text, "" when there is none. */
	uint64_t frequency;
	int64_t offset_s;
	uint64_t offset;
	uint64_t precision;
	bool absolute;
};

/* One range of an enumeration. Signed values stand as two's complement. */
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
	bool hidden;        /* A length, tag or selector that only serves its neighbour. */
	enum ctf_role role; /* Set by the reader. */
	int32_t slot; /* Reader: where the value is kept for a length or tag reference, or -1. */
};

/* Which option a tag value selects (reader). */
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

/* CTF 2: where a length or a selector stands. */
struct ctf_location {
	int origin; /* enum ctf_scope, or -1: from the structure that holds the field. */
	uint32_t count;
	const char **path; /* Names of members; NULL, only in front: one structure up. */
	/* Variants: what the selector chooses, until the reader has found the selector. */
	struct ctf_wide_range *ranges;
	uint32_t range_count;
};

/* CTF_VARIANT: a field in one of its options is a length or tag elsewhere, kept in that slot. */
struct ctf_guard {
	struct ctf_guard *next;
	int32_t slot;
};

struct ctf_type {
	enum ctf_kind kind;
	uint32_t align;    /* Bits, a power of two. */
	uint32_t depth;    /* Reader: levels of types, this one included. */
	uint64_t min_bits; /* Reader: least number of bits that a value takes. */
	uint8_t fast; /* Reader: bytes of an integer as the host has them, + 0x80 when signed; or 0. */

	/* CTF_INTEGER, CTF_ENUM, CTF_FLOAT. */
	uint8_t size; /* Bits, 1 to 64. */
	uint8_t base; /* 2, 8, 10, 16. */
	bool is_signed;
	bool big_endian;
	bool text;     /* An 8-bit character: arrays of it are text. */
	bool boolean;  /* CTF_ENUM: a truth value; its labels are false and true. */
	bool bitmap;   /* CTF_INTEGER: the labels name bits, from the lowest, 0. */
	bool byte;     /* CTF_INTEGER: a byte without meaning: arrays are BLOBs. */
	bool leb128;   /* CTF 2: of variable length, 7 bits a byte. size is 64. */
	bool reversed; /* CTF 2: the bits of the number stand the other way round. */
	const struct ctf_clock *clock; /* The clock that it reads, or NULL. */

	/*
	 * CTF_STRING, and arrays whose element is `text` (their length counts bytes): CTF 2 knows
	 * more than UTF-8. The decoder converts, values are always UTF-8.
	 */
	enum ctf_encoding encoding;
	const char *media_type; /* CTF 2: of a BLOB, which is an array of bytes here; or NULL. */

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

struct ctf_arena *ctf_arena_create(void);
void ctf_arena_destroy(struct ctf_arena *arena);

/*
 * Make the tree of a description's fields: a structure, allocated in the arena. Returns 0, -ENOMEM,
 * or -EINVAL when the description cannot be recorded (a sentence says why).
 */
int ctf_type_from_description(struct ctf_arena *arena,
		const struct side_event_description *description, struct ctf_type **type,
		struct ctf_error *error);

/* Write a type as TSDL, as it stands in `fields := …`. Returns 0 or -ENOMEM. */
int ctf_type_print_tsdl(const struct ctf_type *type, FILE *out);

/* ---- Writer ---- */

struct ctf_writer;
struct ctf_stream;

/* The same records are described in CTF 1.8 (TSDL) or in CTF 2 (JSON). */
enum ctf_format {
	CTF_FORMAT_1,
	CTF_FORMAT_2,
};

enum ctf_placement {
	CTF_PER_CPU, /* A ring is a CPU's: packets say which. */
	CTF_PER_THREAD,
};

/* A channel is one data stream class; each of its rings is a file <name>_<ring>. */
struct ctf_channel_config {
	const char *name;
	enum ctf_placement placement;
	const struct context_spec *contexts; /* Recorded before the event's own ones. */
	uint32_t nr_contexts;
	/* Instead of contexts: a structure that lives as long as the writer, or NULL. */
	const struct ctf_type *context;
};

struct ctf_writer_config {
	const char *dir;        /* Made by the writer; its parent must exist, it must not. */
	struct ctf_clock clock; /* name may be NULL: "monotonic". */
	const char *hostname;
	const char *procname;
	const char *exe;
	const char *domain;  /* who said the events; NULL: "ust" */
	int64_t vpid;        /* -1: not of one process; procname and exe are not written then. */
	uint32_t version[3]; /* Of the tracer. */
	enum ctf_format format;
	int compression; /* zstd level of the data streams (files end in .zst); 0: none. */
	const struct ctf_channel_config *channels; /* Copied. */
	uint32_t nr_channels; /* 0: one channel `ring`, per CPU and without contexts. */
	bool counts; /* Records: see ctf_stream_records(). Trees must be of our own making. */
};

/*
 * Make the directory and its metadata. The files appear at once and can be read at any instant.
 * Not thread-safe: one thread at a time a writer. Strings are copied.
 */
int ctf_writer_create(const struct ctf_writer_config *config, struct ctf_writer **writer,
		struct ctf_error *error);

/*
 * Describe an event of a channel, with the contexts that stand in its records behind those of the
 * channel. Must come before the first record with this id. -EEXIST: the channel has the id.
 */
int ctf_writer_add_event(struct ctf_writer *writer, uint32_t channel, uint32_t id,
		const struct side_event_description *description,
		const struct context_spec *contexts, uint32_t nr_contexts, struct ctf_error *error);

/*
 * The same from a description's JSON form (or NULL) and ready trees, for who has them already;
 * context may be NULL.
 */
int ctf_writer_add_event_json(struct ctf_writer *writer, uint32_t channel, uint32_t id,
		const char *name, int side_loglevel, const struct ctf_type *context,
		const struct ctf_type *fields, const char *json, struct ctf_error *error);

/*
 * Open the data stream file <channel's name>_<ring>[.zst]. It begins with an empty packet at
 * `timestamp` (clock ticks), so that losses before the first real packet can be seen. The writer
 * owns the stream.
 */
int ctf_writer_open_stream(struct ctf_writer *writer, uint32_t channel, uint32_t ring,
		uint64_t timestamp, struct ctf_stream **stream, struct ctf_error *error);

/* A run of whole event records of one ring, the first of them in the extended form. */
struct ctf_span {
	const void *records;
	size_t size; /* Bytes; 0 makes an empty packet that only carries the counter. */
	uint64_t timestamp_begin;  /* Ticks: not after the first record … */
	uint64_t timestamp_end;    /* … and not before the last one. */
	uint64_t events_discarded; /* Since the ring exists, not since the last span. */
};

/*
 * Append one packet. When it fails (-ENOSPC, -EIO, …) the file is cut back to its last whole
 * packet. A begin before the end of the previous packet is moved to it, readers refuse anything
 * else.
 */
int ctf_stream_append(
		struct ctf_stream *stream, const struct ctf_span *span, struct ctf_error *error);

/* The mode of each directory of a trace: other users cannot read it, with any umask. */
#define CTF_DIRECTORY_MODE 0750

struct ctf_lost {
	const char *ring;  /* "ring_3" */
	const char *event; /* "provider:event", "" when not known */
	const char *reason;
	uint64_t count;
};

/* So begins the reason when the count is not one of events: what could not be written is known by its bytes. */
#define CTF_LOST_BYTES "bytes not written: "

static inline bool ctf_lost_is_bytes(const char *reason, size_t size)
{
	const size_t begin = sizeof(CTF_LOST_BYTES) - 1;

	return size >= begin && !memcmp(reason, CTF_LOST_BYTES, begin);
}

/* Note what was lost in the file side_session, all at one time. */
int ctf_writer_lost(struct ctf_writer *writer, uint64_t timestamp, const struct ctf_lost *lost,
		size_t count, struct ctf_error *error);

/* Replace the clock's figures (not its name): metadata is rewritten beside and moved into place. */
int ctf_writer_set_clock(
		struct ctf_writer *writer, const struct ctf_clock *clock, struct ctf_error *error);

/* Bytes of a stream's whole packets, and the end of the last of them in ticks. */
uint64_t ctf_stream_size(const struct ctf_stream *stream);
uint64_t ctf_stream_end(const struct ctf_stream *stream);

/*
 * Records in a stream's packets so far, if the writer counts them: found by their lengths, nobody looks at their
 * values. Behind something that is no record of a described event nothing is counted to the end of the packet; it is
 * where a reader stops, too.
 */
uint64_t ctf_stream_records(const struct ctf_stream *stream);

/* Bytes written so far, metadata included. */
uint64_t ctf_writer_bytes(const struct ctf_writer *writer);

/* Close all files and free. Returns the first error of closing; the writer is gone in any case. */
int ctf_writer_close(struct ctf_writer *writer, struct ctf_error *error);

/*
 * Make the traces in `dir` and below it whole whose writer was killed: the last packet of a stream
 * that was cut is shortened to its whole records, a half-written last event block is taken off the
 * metadata. *repaired counts the files that were changed. A trace that cannot be mended makes an
 * error, and the others are mended all the same; -EBUSY: its writer is at work.
 */
int ctf_repair(const char *dir, unsigned int *repaired, struct ctf_error *error);
/*
 * Of one trace only the metadata, for who knows where its streams end. What has none, because its
 * recorder was killed just then, is no trace: it goes. 0 or a negative errno.
 */
int ctf_repair_metadata(const char *dir, struct ctf_error *error);

/* ---- Compressed traces ---- */

struct ctf_expand_result {
	uint64_t expanded; /* Files. */
	uint64_t copied;
	uint64_t bytes_in;
	uint64_t bytes_out;
	uint64_t damaged; /* Sentences that were said. */
};

typedef void ctf_expand_message_fn(void *user, const char *sentence);
/* The new directory exists, and nothing has been read. */
typedef void ctf_expand_ready(const char *dir, const char *out);

/*
 * Make the directory `out` a copy of `dir` in which all data streams are plain. Damage is told by
 * `report` and counted, and the rest is expanded all the same; an error is what ends the work.
 */
int ctf_expand(const char *dir, const char *out, ctf_expand_ready *ready,
		ctf_expand_message_fn *report, void *user, struct ctf_expand_result *result,
		struct ctf_error *error);

/* ---- Packets as they are, for who passes traces of ours on ---- */

struct ctf_packet {
	unsigned char *bytes; /* Header and records, decompressed; owned. */
	size_t size;
	size_t capacity;
	uint64_t next; /* Where the next one begins in the file. */
	unsigned char uuid[16];
	uint32_t class_id;
	uint64_t instance;
	uint64_t begin; /* Ticks. */
	uint64_t end;
	uint64_t sequence;
	uint64_t discarded;
};

/*
 * Read the packet that begins at byte `at` of a data stream file (whose name says whether it is
 * compressed). 1: it is there; 0: it is not, or not wholly; -EBADMSG: something else stands there.
 */
int ctf_packet_read(int fd, const char *name, uint64_t at, struct ctf_packet *packet);
/* Take the figures out of the bytes. 0 or -EBADMSG. */
int ctf_packet_parse(struct ctf_packet *packet);
void ctf_packet_set_uuid(struct ctf_packet *packet, const unsigned char uuid[16]);
void ctf_packet_set_discarded(struct ctf_packet *packet, uint64_t discarded);
void ctf_packet_set_sequence(struct ctf_packet *packet, uint64_t sequence);
void ctf_packet_set_times(struct ctf_packet *packet, uint64_t begin, uint64_t end);
/* Make a packet without records of the figures: header_size bytes, for which there is room. */
void ctf_packet_make_empty(struct ctf_packet *packet, size_t header_size);
void ctf_packet_free(struct ctf_packet *packet);

/* How many records a packet has needs the metadata in `dir`, which is read again when it has grown. */
struct ctf_counter;
struct ctf_counter *ctf_counter_create(void);
void ctf_counter_free(struct ctf_counter *counter);
int ctf_counter_renew(struct ctf_counter *counter, const char *dir);
int ctf_counter_count(struct ctf_counter *counter, const char *dir, const struct ctf_packet *packet,
		uint64_t *records);
/* As it was when the metadata was read last, or NULL. */
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
	const char *side_event; /* The SIDE description as JSON, or NULL: a foreign event. */
	struct ctf_type *context;
	struct ctf_type *fields;
	void *user;     /* For whoever shows events: what it made of side_event. */
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
	bool is_side;         /* env says tracer_name = "side". */
	const char *procname; /* NULL when not known, as the others. */
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
 * A value of an event. Values stand in pre-order in one array: a compound value is followed by
 * what it holds, and `span` values later comes its next sibling. Arrays of integers are not
 * spread out: use a cursor, which hides the difference. Valid until the next ctf_reader_next().
 */
struct ctf_value {
	const struct ctf_type *type;
	const struct ctf_member *member; /* NULL for elements. */
	union {
		uint64_t u; /* CTF_INTEGER, CTF_ENUM: sign-extended when signed. */
		int64_t s;
		double f;
		struct {
			const char *text; /* CTF_STRING and text arrays; not NUL-terminated. */
			uint64_t size;
		};
		struct {
			const uint8_t *base; /* Packed arrays: where they begin, in bits. */
			uint64_t bit;
		};
	};
	uint32_t count; /* Members, elements; 1 for a variant (the chosen option follows). */
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

void ctf_cursor_start(struct ctf_cursor *cursor, const struct ctf_value *parent);
/* The next member, element or chosen option; NULL at the end. */
const struct ctf_value *ctf_cursor_next(struct ctf_cursor *cursor);

/*
 * The elements of a packed array of integers from number `from` on, at most `capacity` of them,
 * sign-extended when signed. Returns how many there were, 0 at the end.
 */
uint32_t ctf_value_integers(
		const struct ctf_value *array, uint32_t from, uint64_t *numbers, uint32_t capacity);

/* The labels of an enumeration value: call with *at = 0 until it returns NULL. */
const char *ctf_value_label(const struct ctf_value *value, uint32_t *at);

/* A member by its TSDL name, or NULL. */
const struct ctf_value *ctf_value_member(const struct ctf_value *structure, const char *name);

enum ctf_item_kind {
	CTF_ITEM_EVENT,
	CTF_ITEM_DISCARDED,    /* A packet's counter says that `count` events were lost. */
	CTF_ITEM_LOST_PACKETS, /* A gap of `count` packets. */
	CTF_ITEM_DAMAGE,       /* Something cannot be read; `text` is the sentence. */
	CTF_ITEM_NOTE,         /* Something that is no damage; `text` is the sentence. */
};

struct ctf_item {
	enum ctf_item_kind kind;
	int64_t ns;       /* Since the Unix epoch (by the trace's clock). */
	int64_t begin_ns; /* Losses: not before. */
	bool timed;       /* false: ns means nothing. */
	uint64_t cycles;  /* The clock's value. */
	uint64_t count;
	const char *text;
	bool cut; /* CTF_ITEM_DAMAGE as a killed recorder leaves it: ctf_repair() mends it. */
	const struct ctf_trace *trace;
	const struct ctf_stream_info *stream; /* NULL: damage of a whole trace. */
	struct ctf_event_class *event;        /* CTF_ITEM_EVENT */
	/* Structures; NULL where there is none, and a header that only has the id and the time. */
	const struct ctf_value *header;
	const struct ctf_value *common_context;
	const struct ctf_value *context;
	const struct ctf_value *fields;
	/* CTF_ITEM_EVENT: its bytes behind the header: contexts and fields. NULL: not at a byte. */
	const uint8_t *body;
	uint64_t body_size; /* Of an incomplete last byte the rest is undefined. */
};

/*
 * Open all traces in `dir` and below it. If a recorder is running, this includes those of the current chunk. Data that cannot be read
 * becomes CTF_ITEM_DAMAGE items. Only a directory without any trace is an error (-ENOENT), or lack of memory.
 */
int ctf_reader_open(const char *dir, struct ctf_reader **reader, struct ctf_error *error);

/* A search for traces reads at most so many directories. */
#define CTF_FIND_DIRECTORIES_MAX 1000000u
/* A callback that a search calls with the current directory and the number of directories read so far. NULL: no callback. */
typedef void ctf_search_show(const char *path, uint64_t nr_directories);
void ctf_reader_on_search(ctf_search_show *show);
/* Returns the number of directories that ctf_reader_open() has read. */
uint64_t ctf_reader_searched(const struct ctf_reader *reader);

/*
 * The same of a directory that is to be followed: chunks that are not finished are opened, too, and traces stay what
 * they are when their directory gets another name.
 */
int ctf_reader_open_growing(const char *dir, struct ctf_reader **reader, struct ctf_error *error);

/*
 * Only what happened between these times is wanted, both included: packets outside are not read, and what
 * is broken in them is not told. Items of other times may come all the same. Before the first item.
 */
void ctf_reader_set_times(struct ctf_reader *reader, int64_t from_ns, int64_t to_ns);
/* The latest begin of a packet that was skipped because it ends too early, up to here. INT64_MIN: none was. */
int64_t ctf_reader_skipped_begin(const struct ctf_reader *reader);

/* 1: *item is the next in time; 0: the end; -ENOMEM. Allocates nothing in the steady state. */
int ctf_reader_next(struct ctf_reader *reader, struct ctf_item *item);

/* The same, but nothing later than that: 0 when there is nothing, for now or for ever. */
int ctf_reader_next_until(struct ctf_reader *reader, int64_t ns, struct ctf_item *item);

/*
 * Follow a trace while it is being recorded, from behind ctf_reader_open() on: what is not there, or
 * not whole, is waited for. forget() is called for each ctf_event_class.user that goes because the
 * metadata has grown; it may be NULL.
 */
void ctf_reader_follow(struct ctf_reader *reader, void (*forget)(void *user));

/*
 * Look for what has been added: packets, files, traces, metadata. *recording says whether anybody
 * is at work; if nobody is, what is there is all, and is read as without following. -ENOMEM.
 */
int ctf_reader_refresh(struct ctf_reader *reader, bool *recording);

/* Whether a recorder is at work in `dir`, even if there is no trace in it yet. */
bool ctf_is_recorded(const char *dir);

/*
 * The streams one by one, for who decodes them in threads and merges them himself: instead of
 * ctf_reader_next(). Different streams may be read by different threads at the same time. An item's
 * parts are valid until the next one of the same stream.
 */
uint32_t ctf_reader_stream_count(const struct ctf_reader *reader);
uint64_t ctf_reader_stream_size(const struct ctf_reader *reader, uint32_t stream); /* Bytes. */
const struct ctf_trace *ctf_reader_stream_trace(const struct ctf_reader *reader, uint32_t stream);
/* Its class and CPU are known when an item of it has been read. */
const struct ctf_stream_info *ctf_reader_stream_info(
		const struct ctf_reader *reader, uint32_t stream);
int ctf_reader_stream_next(
		struct ctf_reader *reader, uint32_t stream, const struct ctf_item **item);
/* What concerns whole traces: notes that come before all streams, and those behind them. */
int ctf_reader_note_next(struct ctf_reader *reader, bool behind, struct ctf_item *item);

uint32_t ctf_reader_trace_count(const struct ctf_reader *reader);
const struct ctf_trace *ctf_reader_trace(const struct ctf_reader *reader, uint32_t index);

/* Data stream classes of a trace, in the order of the metadata. */
struct ctf_stream_class_info {
	uint64_t id;
	const struct ctf_type *context; /* Of each of its events; NULL: none. */
	bool per_cpu;                   /* Its packets say of which CPU they are. */
};
uint32_t ctf_trace_class_count(const struct ctf_trace *trace);
void ctf_trace_class(
		const struct ctf_trace *trace, uint32_t index, struct ctf_stream_class_info *info);

/* Event classes of a trace, in the order of the metadata. */
uint32_t ctf_trace_event_count(const struct ctf_trace *trace);
struct ctf_event_class *ctf_trace_event(const struct ctf_trace *trace, uint32_t index);

/* The id of the stream class in which the recorder itself speaks (a trace of ours). */
uint64_t ctf_trace_session_stream(const struct ctf_trace *trace);

void ctf_reader_close(struct ctf_reader *reader);

#endif /* SIDE_CTF_CTF_H */
