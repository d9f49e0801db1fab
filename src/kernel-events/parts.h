/* SPDX-License-Identifier: MIT */
/* What the parts of this room share. Private to it. */
#ifndef SIDE_KERNEL_EVENTS_PARTS_H
#define SIDE_KERNEL_EVENTS_PARTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "kernel-events/eventheader.h"
#include "kernel-events/format.h"
#include "kernel-events/late.h"
#include "kernel-events/layout.h"
#include "kernel-events/kernel-events.h"
#include "protocol/pattern.h"

#define EVENT_CLASS_IDS 65536
#define COMM_SIZE 16
#define SENTENCE_MAX 512
#define KERNEL_WAITING_MAX 64 /* programs at a time */

/* One description that EventHeader records of a tracepoint have brought. */
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

/* An event that was switched on. */
struct kernel_event_class {
	struct kernel_event_class *next;
	uint16_t id; /* of the kernel */
	char *system, *name;
	const char *filter;        /* or NULL; if it is not a choice's, it is the one of asked */
	struct class_asked *asked; /* ask.c, or NULL */
	struct format format;
	struct layout layout;
	struct kernel_event event;
	bool described, on;
	struct ctf_arena *arena; /* of the types, as long as somebody needs them */
	struct event_class_variant *classes;
	uint32_t nr_classes;
	uint64_t *received, *reported; /* by CPU; told: losses */
};

struct record_cpu {
	struct ctf_stream *stream;
	struct byte_buffer packet;
	uint64_t begin, last; /* ticks, of the packet's records */
	uint64_t end;         /* of what was written */
	uint64_t discarded;   /* that the next packet says */
	uint64_t written;     /* that the last one said */
};

struct tasks; /* tasks.h */

/* A record, converted. */
struct converted {
	uint32_t cpu;
	uint64_t ticks;
	pid_t pid, tid;
	const char *comm; /* of COMM_SIZE bytes */
	const struct byte_buffer *context, *fields;
};

/* Who gets them: the room's own trace, or a listener. */
struct kernel_sink {
	/* Before the first record of an event. 0, or it is as if there were no records of it. */
	int (*describe)(struct kernel_record *record, struct kernel_event *event);
	void (*put)(struct kernel_record *record, const struct kernel_event *event,
			const struct converted *converted);
	void (*discard)(struct kernel_record *record, uint32_t cpu, uint64_t count);
	void (*flush)(struct kernel_record *record, uint32_t cpu);
	/* It chooses what is switched on (kernel_listen_switch()), so events are described when they are found. */
	bool chooses;
	void (*gone)(struct kernel_record *record, struct kernel_event *event);
};

extern const struct kernel_sink sink_trace, sink_listener;

struct kernel_record {
	struct kernel_record_options options; /* strings and choices are copied */
	struct pattern *patterns;
	size_t nr_patterns;
	char tracefs[64];
	struct kernel_event_class *event_classes, **by_id;
	bool waits_for_late; /* events that programs may still register */
	uint32_t nr_cpus;

	const struct kernel_backend *backend;
	void *backend_state;
	char why[SENTENCE_MAX];

	const struct kernel_sink *sink;
	struct kernel_listener listener;
	bool all_on;    /* what was chosen at the beginning is switched on when it is found */
	bool lost_some; /* since kernel_listen_drain() last told losses */
	uint64_t lost_unnamed, lost_named;
	struct byte_buffer context, fields; /* of the record that is being converted */

	/* The trace: trace.c. */
	struct ctf_writer *writer;
	struct record_cpu *cpus;
	struct ctf_arena *arena;
	uint32_t next_id;
	char problem[SENTENCE_MAX];
	char problem_hint[96]; /* may be empty */

	struct tasks *tasks;
	pthread_t thread;
	bool runs;
	atomic_bool stop;
	int wake;   /* eventfd: stop */
	int notice; /* -1, or where programs tell of new events */
	int waiting[KERNEL_WAITING_MAX];
	uint32_t nr_waiting;
	int also; /* -1, or what whoever waits wants to know of */
	struct kernel_record_summary summary;
	struct kernel_late late; /* of the recorder's own thread until it has ended */
	struct kernel_record_loss *losses;
};

/* One of the ways to the kernel's buffers. All return 0 or a negative errno, with a sentence where it is asked for. */
struct kernel_backend {
	/* No event is enabled yet. -EPERM, -EACCES, -ENOSYS, -ENOENT: try the other method. The caller must call close() after an error, too. */
	int (*open)(struct kernel_record *record, struct kernel_record_error *error);
	int (*add)(struct kernel_record *record, struct kernel_event_class *event_class,
			struct kernel_record_error *error);
	/*
	 * Of a kind with a filter more comes from now on, and nothing meanwhile is lost or comes twice: what `more` is true of, which
	 * its filter is not; `all` is both, NULL: everything.
	 */
	int (*widen)(struct kernel_record *record, struct kernel_event_class *event_class,
			const char *more, const char *all);
	/* Stop this event class. `lost` no longer counts its losses. */
	void (*remove)(struct kernel_record *record, struct kernel_event_class *event_class);
	int (*start)(struct kernel_record *record);
	/* Sleep until there is something, at most so long. */
	void (*wait)(struct kernel_record *record, int timeout_ms);
	/* What is there goes into the trace; true: there was something. */
	bool (*drain)(struct kernel_record *record);
	/* Nothing is recorded from now on. */
	void (*stop)(struct kernel_record *record);
	/* After the last drain: attempts of a kind on a CPU that cannot be in the trace. */
	uint64_t (*lost)(struct kernel_record *record, const struct kernel_event_class *event_class,
			uint32_t cpu);
	void (*close)(struct kernel_record *record);
	const char *(*name)(const struct kernel_record *record);
};

extern const struct kernel_backend backend_perf, backend_instance;

int record_fail(struct kernel_record_error *error, int code, const char *hint, const char *format,
		...) __attribute__((format(printf, 4, 5)));

/* tracefs.c */

/* 0, or why there is none, with the mend. */
int tracefs_find(char *path, size_t capacity, struct kernel_record_error *error);
/* -ENOENT, -EACCES, ... or the number of bytes; ends with a zero that is not counted. */
ssize_t tracefs_read(const char *path, char **text);
int tracefs_write(const char *path, const char *text);

/* instance.c: instances of ours whose process is gone, and no others, are removed; what may not be stays. */
void kernel_instances_clean(const struct kernel_record *record);

/* closing.c: of perf's events, switched off; may take a while after the return. The order changes. */
void kernel_close_many(int *fds, size_t nr);

/* notice.c */

/* Programs that register events tell us; else it is looked now and then. */
void kernel_notice_open(struct kernel_record *record);
/* Some wait for us: look, switch on, and then answer. */
bool kernel_notice_take(struct kernel_record *record);
void kernel_notice_answer(struct kernel_record *record);
void kernel_notice_close(struct kernel_record *record);

/* kernel-filter.c */

/* Before a kind is switched on: its filter, from the expressions of the choices that mean it. */
void kernel_ask_begin(const struct kernel_record *record, struct kernel_event_class *event_class);
/* After another choice, of one that is on. Not 0: the kernel does not want to be asked so; as much comes as before. */
int kernel_ask_more(struct kernel_record *record, struct kernel_event_class *event_class);
/* Everything comes, or nothing. */
void kernel_ask_end(struct kernel_event_class *event_class);

/* wanted.c */

int kernel_classes_take_choices(struct kernel_record *record, struct kernel_record_error *error);
/*
 * Find and add what is wanted and not there yet. `late`: only in the groups whose events come and go while programs
 * run, and what fails is left out.
 */
int kernel_classes_scan(struct kernel_record *record, bool late, struct kernel_record_error *error);
/* As if none had been found yet. */
bool kernel_classes_know(const struct kernel_record *record, const char *text);
void kernel_classes_forget(struct kernel_record *record);
void kernel_classes_free(struct kernel_record *record);

/* convert.c */

int kernel_describe_class(struct kernel_record *record, struct kernel_event_class *event_class);
/* A record as the kernel wrote it, common bytes included. */
void kernel_put(struct kernel_record *record, uint32_t cpu, uint64_t ticks, pid_t pid, pid_t tid,
		const char comm[COMM_SIZE], const uint8_t *data, size_t size);

/* kernel-events.c */

/* All but the sink. The listener is that of sink_listener, or NULL. */
int kernel_record_prepare(const struct kernel_record_options *options,
		const struct kernel_sink *sink, const struct kernel_listener *listener,
		struct kernel_record **result, struct kernel_record_error *error);
/* The last of a recording: nothing more is recorded, and what was is there. */
void kernel_record_drain_all(struct kernel_record *record);

/* trace.c */

int kernel_trace_open(struct kernel_record *record, struct kernel_record_error *error);
void kernel_trace_end(struct kernel_record *record, uint64_t ticks, const struct ctf_clock *clock);
void kernel_trace_close(struct kernel_record *record);
/* Only the first one is kept. */
void kernel_trace_problem(struct kernel_record *record, const char *text, const char *hint);

#endif /* SIDE_KERNEL_EVENTS_PARTS_H */
