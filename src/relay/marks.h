/* SPDX-License-Identifier: MIT */
/*
 * What is confirmed sent, in a file, so that a sender that was killed goes on where it was.
 *
 * The file is blocks of MARKS_BLOCK bytes. The first one says whose marks these are; each other one
 * is free, a trace or a stream, and is written by itself, in place: a kill of the sender leaves each
 * block as it was or as it is to be. Each ends with a sum (CRC-32C), for machines that crash. A block that
 * is wrong is nobody's: what it spoke of is sent again, under a new number.
 *
 * Nothing that is read is believed: names are paths below the directory or nothing, numbers are within
 * limits, and no two blocks speak of the same thing.
 */
#ifndef SIDE_RELAY_MARKS_H
#define SIDE_RELAY_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MARKS_BLOCK 512
#define MARKS_BLOCKS_MAX 262144 /* 128 MiB */
#define MARKS_NAME_MAX 320
#define MARKS_STREAM_MAX 128
#define MARKS_URL_MAX 300
#define MARKS_NUMBER_MAX (1u << 24)

/* A place between two packets of a stream. */
struct marks_position {
	uint64_t offset; /* In the file. */
	uint64_t packets;
	uint64_t events; /* If the sink counts them. */
};

struct marks_sums {
	uint64_t packets;
	uint64_t bytes;
	uint64_t events;
	uint64_t dropped_packets;
	uint64_t dropped_events;
	uint64_t traces;
};

struct marks_head {
	uint64_t id;       /* Of the sender, for the receiver. */
	uint64_t sequence; /* No frame had this number or a higher one. */
	uint64_t connections;
	uint32_t nr_traces;     /* No trace has this number or a higher one. */
	struct marks_sums past; /* Of traces that are gone. */
	char url[MARKS_URL_MAX + 1];
};

struct marks_trace {
	uint32_t number;
	uint32_t generation; /* Of its metadata, as it was sent last. */
	uint64_t inode;
	bool done; /* Everything has arrived, and nothing comes any more. */
	char name[MARKS_NAME_MAX + 1];
};

struct marks_stream {
	uint32_t trace; /* Number of the trace. */
	uint32_t number;
	struct marks_position delivered;
	uint64_t freed;
	uint64_t dropped_packets;
	uint64_t dropped_events;
	uint64_t dropped_bytes;
	bool seen;           /* The rest is known. */
	uint8_t header_size; /* Of packets; 0: not known. */
	uint64_t first;      /* Ticks. */
	uint64_t begin;      /* Of the last packet. */
	uint64_t end;
	uint64_t sequence;
	uint64_t discarded;
	uint32_t class_id;
	uint64_t instance;
	unsigned char uuid[16];
	char name[MARKS_STREAM_MAX + 1];
};

enum marks_kind { MARKS_FREE, MARKS_TRACE, MARKS_STREAM };

struct marks_entry {
	enum marks_kind kind;
	union {
		struct marks_trace trace;
		struct marks_stream stream;
	};
};

struct marks {
	int fd;
	struct marks_head head;
	/* What was found: slot 0 is the head's. Slots are used again when they are free. */
	struct marks_entry *entries;
	uint32_t nr;
	uint32_t capacity;
	uint32_t next_free; /* No slot before it is free. */
	uint32_t bad;       /* Blocks that said nothing sensible. */
};

/* Take the file's contents apart. -EBADMSG: the head is none; -ENOMEM. */
int marks_parse(const unsigned char *bytes, size_t size, struct marks *marks);
void marks_put_block(const struct marks_entry *entry, unsigned char block[MARKS_BLOCK]);
void marks_put_head(const struct marks_head *head, unsigned char block[MARKS_BLOCK]);

/*
 * The file at `path`; a new one if there is none of this URL that can be read. *found: there was one. 0 or
 * a negative errno; -EBUSY: another sender is at work.
 */
int marks_open(const char *path, const char *url, struct marks *marks, bool *found);
void marks_close(struct marks *marks);
/* Whether the file is there, and speaks of this URL. Nothing is changed. */
bool marks_are_of(const char *path, const char *url);

/* By name, or by inode and the last part of the name (it was moved). 0: there is none. */
uint32_t marks_find_trace(const struct marks *marks, const char *name, uint64_t inode);
/* The next slot behind `after` that is a stream of this trace, or 0. */
uint32_t marks_next_stream(const struct marks *marks, uint32_t trace, uint32_t after);

/* Write an entry into its slot; *slot 0: into one that is free. 0 or a negative errno. */
int marks_write(struct marks *marks, uint32_t *slot, const struct marks_entry *entry);
int marks_write_head(struct marks *marks);
/* Nobody's any more. */
int marks_release(struct marks *marks, uint32_t slot);

#endif /* SIDE_RELAY_MARKS_H */
