/* SPDX-License-Identifier: MIT */
/* What a reader is made of; for reader.c and follow.c. */
#ifndef SIDE_CTF_READ_READER_PARTS_H
#define SIDE_CTF_READ_READER_PARTS_H

#include <dirent.h>

#include "ctf/read/stream.h"

/* What the windows of all streams take together, unless there are thousands of them. */
#define WINDOWS_SIZE ((size_t)64 << 20)

struct reader_note {
	struct reader_note *next;
	struct ctf_trace_classes *classes;
	char text[768];
};

/* The time stands beside: comparing does not look into streams, which are far apart. */
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
	struct reader_heap_entry *heap; /* The streams that have an item, the earliest first. */
	uint32_t heap_count;
	uint32_t heap_capacity;
	bool top_shown; /* The first of the heap must go on before it is looked at again. */
	struct reader_note *notes; /* Damage of whole traces and files, shown first. */
	struct reader_note **last_note;
	struct reader_note *shown_note;
	bool merging; /* The heap has been made. */
	struct ctf_trace_dir *dirs;
	/* While it is being recorded (follow.c). */
	bool growing; /* Chunks that are being written are looked at, too. */
	bool follows;
	void (*forget)(void *user);
	struct ctf_trace_classes *retired; /* Replaced by newer ones, but still in use. */
	bool grown_reported;
	char grown[768];
};

/* Room for one pointer more in an array of `count` of them, which is grown at 0, 1, 2, 4, … */
int ctf_reader_grow(void *array, uint32_t count);

/* A file of a trace, as it was seen. */
int ctf_reader_add_stream(struct ctf_reader *reader, struct ctf_trace_classes *classes,
		const char *name, const struct stat *stat);
/* A trace that was found, with its files. */
int ctf_reader_add_trace(struct ctf_reader *reader, int dir_fd, const char *path,
		struct dirent **names, const struct stat *stats, int count);

/* What there is of each name; a size of 0: nothing that can be a stream. NULL without memory. */
struct stat *ctf_reader_stat(int dir_fd, struct dirent **names, int count);

/* Free classes that were replaced, and what their user keeps there. */
void ctf_reader_forget(const struct ctf_reader *reader, struct ctf_trace_classes *classes);

/* Windows over one ring (overlap.c): at the begin, and when streams were added meanwhile. 0 or -ENOMEM. */
int ctf_reader_limit_overlaps(struct ctf_reader *reader);
int ctf_reader_continue_overlaps(struct ctf_reader *reader);

/* Share the memory for windows among all streams. */
void ctf_reader_size_windows(struct ctf_reader *reader);

/* The stream goes on with its next item, if it has one. Returns 0 or -ENOMEM. */
int ctf_reader_wait_for(struct ctf_reader *reader, struct ctf_stream_reader *stream);

#endif /* SIDE_CTF_READ_READER_PARTS_H */
