/* SPDX-License-Identifier: MIT */
/* Declarations that the files of this module share; private to it. */
#ifndef SIDE_KERNEL_EVENTS_PARTS_H
#define SIDE_KERNEL_EVENTS_PARTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/error.h"
#include "kernel-events/eventheader.h"
#include "kernel-events/format.h"
#include "kernel-events/late.h"
#include "kernel-events/layout.h"
#include "kernel-events/record-types.h"
#include "kernel-events/tasks.h"
#include "protocol/pattern.h"

struct kernel_record;

#define EVENT_CLASS_IDS 65536
#define KERNEL_WAITING_MAX 64 /* programs waiting at the same time */

/* A description in the EventHeader records of a tracepoint. */
struct event_class_variant {
	struct event_class_variant *next;
	uint64_t hash;
	uint8_t *key; /* metadata, and the numbers of the header */
	size_t key_size;
	struct ctf_arena *arena; /* NULL: its records cannot be decoded */
	struct eventheader_class class;
	struct kernel_event event;
	bool described;
};

/* An event of the kernel that a choice matches. */
struct kernel_event_class {
	struct kernel_event_class *next;
	uint16_t id; /* the kernel's number */
	char *system, *name;
	const char *filter;            /* of a choice, or `combined->all`, or NULL */
	struct class_filter *combined; /* kernel-filter.c, or NULL */
	struct format format;
	struct layout layout;
	struct kernel_event event;
	bool described, on;
	struct ctf_arena *arena; /* of the types; freed with the event class */
	struct event_class_variant *classes;
	uint32_t nr_classes;
	uint64_t *received, *reported; /* by CPU: records received, losses reported */
};

struct record_cpu {
	struct ctf_stream *stream;
	struct byte_buffer packet;
	uint64_t begin, last; /* ticks of the first and last record in the packet */
	uint64_t end;         /* ticks at the end of the last written packet */
	uint64_t discarded;   /* losses so far, for the next packet's header */
	uint64_t written;     /* losses in the last packet's header */
};

/* A converted record. */
struct converted {
	uint32_t cpu;
	uint64_t ticks;
	pid_t pid, tid;
	const char *comm; /* COMM_SIZE bytes */
	const struct byte_buffer *context, *fields;
};

/* Receives events and records: the trace (trace.c), or a listener (listen.c). */
struct kernel_sink {
	/*
	 * Called before the first record of an event. Returns 0, or a negative errno to ignore the
	 * event's records.
	 */
	int (*describe)(struct kernel_record *record, struct kernel_event *event);
	void (*put)(struct kernel_record *record, const struct kernel_event *event,
			const struct converted *converted);
	void (*discard)(struct kernel_record *record, uint32_t cpu, uint64_t count);
	void (*flush)(struct kernel_record *record, uint32_t cpu);
	/*
	 * The sink chooses the enabled events (kernel_listen_switch()), so events are described
	 * when they are found.
	 */
	bool chooses;
	void (*gone)(struct kernel_record *record, struct kernel_event *event);
};

extern const struct kernel_sink sink_trace, sink_listener;

struct kernel_record {
	struct kernel_record_options options; /* owns its strings and choices */
	struct pattern *patterns;
	size_t nr_patterns;
	char tracefs[64];
	struct kernel_event_class *event_classes, **by_id;
	bool waits_for_dynamic; /* programs may still register events that a pattern matches */
	uint32_t nr_cpus;

	const struct kernel_backend *backend;
	void *backend_state;
	char why[ERROR_TEXT_SIZE];

	const struct kernel_sink *sink;
	struct kernel_listener listener;
	/* events that match the initial choices are enabled when they are found */
	bool enables_found;
	bool has_new_losses; /* records were lost since the last report of losses */
	uint64_t lost_unnamed, lost_named;
	struct byte_buffer context, fields; /* of the record that is being converted */

	/* The state of the trace (trace.c). */
	struct ctf_writer *writer;
	struct record_cpu *cpus;
	struct ctf_arena *arena;
	uint32_t next_id;
	char problem[ERROR_TEXT_SIZE];
	char problem_hint[ERROR_HINT_SIZE]; /* may be empty */

	struct tasks *tasks;
	pthread_t thread;
	bool is_running;
	atomic_bool stop;
	int wake;   /* eventfd that ends the wait when the recording stops */
	int notice; /* -1, or the socket for notifications of new events */
	int waiting[KERNEL_WAITING_MAX];
	uint32_t nr_waiting;
	int extra_fd; /* -1, or a further descriptor that ends the wait */
	struct kernel_record_summary summary;
	struct kernel_late late; /* owned by the draining thread until it has ended */
	struct kernel_record_loss *losses;
};

/*
 * A backend: a method to read the kernel's buffers. All functions return 0 or a negative errno;
 * those with a parameter `error` set it on failure.
 */
struct kernel_backend {
	/*
	 * No event is enabled yet. -EPERM, -EACCES, -ENOSYS, -ENOENT: try the other method. The
	 * caller must call close() after an error, too.
	 */
	int (*open)(struct kernel_record *record, struct error *error);
	int (*add)(struct kernel_record *record, struct kernel_event_class *event_class,
			struct error *error);
	/*
	 * Widen the filter of an event class, without losing or repeating records meanwhile. `more`
	 * matches the records that the previous filter rejected; `all` is both, or NULL for no
	 * filter.
	 */
	int (*widen)(struct kernel_record *record, struct kernel_event_class *event_class,
			const char *more, const char *all);
	/* Stop this event class. `lost` no longer counts its losses. */
	void (*remove)(struct kernel_record *record, struct kernel_event_class *event_class);
	int (*start)(struct kernel_record *record);
	/* Sleep until there are records, at most `timeout_ms`. */
	void (*wait)(struct kernel_record *record, int timeout_ms);
	/* Pass the available records to the sink. Returns true if there were any. */
	bool (*drain)(struct kernel_record *record);
	/* Stop recording. */
	void (*stop)(struct kernel_record *record);
	/*
	 * Called after the last drain: the number of records of an event class on a CPU that are
	 * certainly not in the trace.
	 */
	uint64_t (*lost)(struct kernel_record *record, const struct kernel_event_class *event_class,
			uint32_t cpu);
	void (*close)(struct kernel_record *record);
	const char *(*name)(const struct kernel_record *record);
};

extern const struct kernel_backend backend_perf, backend_instance;

/* tracefs.c */

/* Find the mount point of tracefs. Returns 0, or a negative errno with *error and its hint set. */
int tracefs_find(char *path, size_t capacity, struct error *error);
/*
 * Read a whole file. Returns the number of bytes, or a negative errno. A terminating zero is added,
 * which is not counted.
 */
ssize_t tracefs_read(const char *path, char **ret_text);
int tracefs_write(const char *path, const char *text);

/*
 * instance.c: remove the instances of side whose process has exited, and no others. Those that may
 * not be removed are left.
 */
void kernel_instances_clean(const struct kernel_record *record);

/*
 * closing.c: close disabled perf events. May continue in the background after the return. Sorts
 * `fds`.
 */
void kernel_close_many(int *fds, size_t nr);

/* notice.c */

/* Listen for notifications of new events. On failure, only the periodic scan finds them. */
void kernel_notice_open(struct kernel_record *record);
/* Returns true if programs wait: scan, enable their events, then call kernel_notice_answer(). */
bool kernel_notice_take(struct kernel_record *record);
void kernel_notice_answer(struct kernel_record *record);
void kernel_notice_close(struct kernel_record *record);

/* kernel-filter.c */

/*
 * Set the filter of an event class before it is enabled, from the expressions of the choices that
 * match it.
 */
void kernel_filter_set(const struct kernel_record *record, struct kernel_event_class *event_class);
/*
 * Widen the filter of an enabled event class after new choices. Returns a negative errno if the
 * kernel refuses the filter; the previous one is then unchanged.
 */
int kernel_filter_widen(struct kernel_record *record, struct kernel_event_class *event_class);
/* Drop the filter of an event class that is disabled or needs every record. */
void kernel_filter_drop(struct kernel_event_class *event_class);

/* select.c */

int kernel_classes_take_choices(struct kernel_record *record, struct error *error);
/*
 * Find and add the events that match the choices. `late`: scan only the groups whose events appear
 * while programs run, and ignore failures.
 */
int kernel_classes_scan(struct kernel_record *record, bool late, struct error *error);
/* True if the pattern matches an event of the kernel, or one that a program may still register. */
bool kernel_classes_know(const struct kernel_record *record, const char *text);
/* Free all event classes, as if none had been found yet. */
void kernel_classes_forget(struct kernel_record *record);
void kernel_classes_free(struct kernel_record *record);

/* convert.c */

int kernel_describe_class(struct kernel_record *record, struct kernel_event_class *event_class);
/* Convert a record of the kernel, including its common bytes, and pass it to the sink. */
void kernel_put(struct kernel_record *record, uint32_t cpu, uint64_t ticks, pid_t pid, pid_t tid,
		const char comm[COMM_SIZE], const uint8_t *data, size_t size);

/* kernel-events.c */

/* Create a recording without its sink's state. `listener` is for sink_listener, or NULL. */
int kernel_record_prepare(const struct kernel_record_options *options,
		const struct kernel_sink *sink, const struct kernel_listener *listener,
		struct kernel_record **ret_record, struct error *error);
/* Stop the backend, and drain the remaining records. */
void kernel_record_drain_all(struct kernel_record *record);

/* trace.c */

int kernel_trace_open(struct kernel_record *record, struct error *error);
void kernel_trace_end(struct kernel_record *record, uint64_t ticks, const struct ctf_clock *clock);
void kernel_trace_close(struct kernel_record *record);
/* Set the problem of the trace. Only the first one is kept. */
void kernel_trace_problem(struct kernel_record *record, const char *text, const char *hint);

#endif /* SIDE_KERNEL_EVENTS_PARTS_H */
