/* SPDX-License-Identifier: MIT */
/*
 * A simulated kernel: the files of tracefs are those of a folder, events and buffers of perf are
 * descriptors and memory of the test. It has PLAYED_CPUS CPUs.
 */
#ifndef TESTS_KERNEL_PLAYED_H
#define TESTS_KERNEL_PLAYED_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAYED_CPUS 2
#define PLAYED_EVENTS 256

/* One call of perf_event_open(). */
struct played_perf {
	struct perf_event_attr attr;
	int pid, cpu, fd, output;
	char filter[200];
	unsigned int enabled, disabled;
	bool closed;
	uint64_t lost; /* what a reader of the descriptor gets */
	struct perf_event_mmap_page *page;
	size_t size; /* of the mapping */
};

extern struct played_perf played_perfs[PLAYED_EVENTS];
extern unsigned int played_nr_perfs;
extern char played_log
		[16384]; /* "FILE=TEXT;" of each write to tracefs, "+FOLDER;" and "-FOLDER;" */
extern char played_root[64];

/* Errors of the next calls: 0 or an errno. */
extern int played_open_errors[PLAYED_CPUS]; /* of perf_event_open() for a buffer of the CPU */
extern int played_event_error;              /* of perf_event_open() for an event */
extern int played_output_error, played_enable_error;
extern bool played_without_lost; /* PERF_FORMAT_LOST is unknown */
extern size_t played_map_max;    /* larger mappings are not permitted */
extern const char *
		played_refused; /* a write to a file whose path ends like this fails with played_refusal */
extern int played_refusal;
extern bool played_no_conversion, played_no_tracefs;
extern bool played_no_processes; /* /proc cannot be listed */

void played_begin(void);
void played_end(void);
/* Creates a file below the root, with its folders. */
void played_file(const char *name, const char *text);
/* Creates an event. `fields`: lines of a description, "u32 a;8;4;0|...". */
void played_event(const char *system, const char *name, unsigned int id, const char *fields);
void played_remove(const char *name);
/* Returns the buffer of a CPU; names: that of the threads. */
struct played_perf *played_buffer(int cpu, bool names);
void played_put(struct played_perf *buffer, const void *record, size_t size);
/* Returns an open event. */
struct played_perf *played_find(uint64_t id, int cpu);
unsigned int played_nr_open(void);
/* Writes a page into the pipe of an instance. */
void played_page(const char *instance, int cpu, const void *page, size_t size);

#endif /* TESTS_KERNEL_PLAYED_H */
