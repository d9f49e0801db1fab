/* SPDX-License-Identifier: MIT */
/*
 * Stores the delivered positions in a file, so that the next sender continues there after a kill.
 *
 * The file is an array of blocks of MARKS_BLOCK bytes. The first one is the head, with the URL and
 * the sender's id. Each other block is free, a trace or a stream. A sender writes each block in
 * place with one call, so a kill leaves the old or the new block. Each block ends with a CRC-32C,
 * for machines that crash. An invalid block is ignored: what it described is sent again, under a
 * new number.
 *
 * The parser checks everything that it reads: names are paths below the directory, numbers are
 * within limits, and no two blocks describe the same object.
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

/* A position between two packets of a stream. */
struct marks_position {
	uint64_t offset; /* Offset in the file. */
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
	uint64_t id;       /* Identifies the sender to the receiver. */
	uint64_t sequence; /* No frame had this number or a higher one. */
	uint64_t connections;
	uint32_t nr_traces;     /* No trace has this number or a higher one. */
	struct marks_sums past; /* Sums of traces that were removed. */
	char url[MARKS_URL_MAX + 1];
};

struct marks_trace {
	uint32_t number;
	uint32_t generation; /* Generation of the metadata that was sent last. */
	uint64_t inode;
	bool done; /* Everything was delivered, and no process writes to it. */
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
	bool seen;           /* The members below are set. */
	uint8_t header_size; /* Size of packet headers; 0: not known. */
	uint64_t first;      /* In ticks. */
	uint64_t begin;      /* Begin of the last packet. */
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
	/* The contents of the file: slot 0 is the head. Free slots are reused. */
	struct marks_entry *entries;
	uint32_t nr;
	uint32_t capacity;
	uint32_t next_free; /* No slot before it is free. */
	uint32_t bad;       /* Number of invalid blocks. */
};

/* Parse the contents of the file. 0, -EBADMSG (the head is invalid) or -ENOMEM. */
int marks_parse(const unsigned char *bytes, size_t size, struct marks *marks);
void marks_put_block(const struct marks_entry *entry, unsigned char block[MARKS_BLOCK]);
void marks_put_head(const struct marks_head *head, unsigned char block[MARKS_BLOCK]);

/*
 * Open the file at `path`; create one if there is none, or none of this URL that is valid.
 * *ret_found: a valid one existed. 0 or a negative errno; -EBUSY: another sender uses it.
 */
int marks_open(const char *path, const char *url, struct marks *marks, bool *ret_found);
void marks_close(struct marks *marks);
/* True if the file exists and is of this URL. Changes nothing. */
bool marks_are_of(const char *path, const char *url);

/* Find the slot of a trace by name, or by inode and the last component of the name (it was moved).
   0: not found. */
uint32_t marks_find_trace(const struct marks *marks, const char *name, uint64_t inode);
/* The next slot behind `after` that is a stream of this trace, or 0. */
uint32_t marks_next_stream(const struct marks *marks, uint32_t trace, uint32_t after);

/* Write an entry into its slot; *slot 0: into one that is free. 0 or a negative errno. */
int marks_write(struct marks *marks, uint32_t *slot, const struct marks_entry *entry);
int marks_write_head(struct marks *marks);
/* Free the slot. */
int marks_release(struct marks *marks, uint32_t slot);

#endif /* SIDE_RELAY_MARKS_H */
