/* SPDX-License-Identifier: MIT */
/* The structures of a reader, shared by reader.c and follow.c. */
#ifndef SIDE_CTF_READ_READER_PARTS_H
#define SIDE_CTF_READ_READER_PARTS_H

#include <dirent.h>

#include "ctf/read/stream.h"

/* Total size of the windows of all streams, unless there are thousands of them. */
#define WINDOWS_SIZE ((size_t)64 << 20)

struct reader_note {
	struct reader_note *next;
	struct ctf_trace_classes *classes;
	char text[256 + ERROR_TEXT_SIZE];
};

/* Contains the time, so that comparing does not access the streams, which are far apart in
   memory. */
struct reader_heap_entry {
	int64_t ns;
	struct ctf_stream_reader *stream;
};

struct ctf_reader {
	char *dir;
	uint64_t nr_searched; /* directories that the search has read */
	struct ctf_trace_classes **traces;
	uint32_t trace_count;
	struct ctf_stream_reader **streams;
	uint32_t stream_count;
	struct reader_heap_entry *heap; /* The streams that have an item, earliest first. */
	uint32_t heap_count;
	uint32_t heap_capacity;
	bool top_shown; /* The first of the heap must advance before it is compared again. */
	struct reader_note *notes; /* Damage of complete traces and files, shown first. */
	struct reader_note **last_note;
	struct reader_note *shown_note;
	bool merging; /* The heap was built. */
	struct ctf_trace_dir *dirs;
	/* For a trace that is being recorded (follow.c). */
	bool growing; /* Chunks that are being written are included. */
	bool follows;
	void (*forget)(void *user);
	struct ctf_trace_classes *retired; /* Replaced by newer ones, but still used. */
	bool grown_reported;
	char grown[768];
};

/* Make space for one more pointer in an array of `count` pointers, which grows at 0, 1, 2, 4, … 0
   or -ENOMEM. */
int ctf_reader_grow(void *array, uint32_t count);

/* Add a file of a trace, with the result of stat(). */
int ctf_reader_add_stream(struct ctf_reader *reader, struct ctf_trace_classes *classes,
		const char *name, const struct stat *stat);
/* Add a trace with its files. */
int ctf_reader_add_trace(struct ctf_reader *reader, int dir_fd, const char *path,
		struct dirent **names, const struct stat *stats, int count);

/* Call stat() for each name; a size of 0: cannot be a stream. NULL: out of memory. */
struct stat *ctf_reader_stat(int dir_fd, struct dirent **names, int count);

/* Free classes that were replaced, and the data that the user of the reader keeps in them. */
void ctf_reader_forget(const struct ctf_reader *reader, struct ctf_trace_classes *classes);

/* Limit windows over one ring (overlap.c): at the beginning, and after streams were added. 0 or
   -ENOMEM. */
int ctf_reader_limit_overlaps(struct ctf_reader *reader);
int ctf_reader_continue_overlaps(struct ctf_reader *reader);

/* Divide the memory for windows among all streams. */
void ctf_reader_size_windows(struct ctf_reader *reader);

/* Advance the stream to its next item, and put it into the heap if it has one. 0 or -ENOMEM. */
int ctf_reader_wait_for(struct ctf_reader *reader, struct ctf_stream_reader *stream);

#endif /* SIDE_CTF_READ_READER_PARTS_H */
