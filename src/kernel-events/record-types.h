/* SPDX-License-Identifier: MIT */
/* Options, results and listeners of a recording of the kernel's events (kernel-events.h). */
#ifndef SIDE_KERNEL_EVENTS_RECORD_TYPES_H
#define SIDE_KERNEL_EVENTS_RECORD_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctf/ctf.h"
#include "ring/ring.h"

#define KERNEL_RECORD_BUFFER_DEFAULT (2ull << 20)
#define KERNEL_RECORD_DIRECTORY "kernel" /* of the trace, inside the recording's directory */

/* Events by "system:name" globs (protocol/pattern.h), with filters of their fields. */
struct kernel_record_choice {
	const char *pattern;
	const char *filter; /* in the kernel's filter language, or NULL */
	/*
	 * For listeners that choose events: a filter of side (filter/filter.h), or NULL. The kernel
	 * evaluates as much of it as it can, so that rejected records take no buffer space; the
	 * listener evaluates all of it.
	 */
	const char *expression;
};

enum kernel_record_backend {
	KERNEL_RECORD_BEST,
	KERNEL_RECORD_PERF,
	KERNEL_RECORD_TRACEFS,
};

struct kernel_record_options {
	const struct kernel_record_choice *choices;
	size_t nr_choices;
	/*
	 * all processes; otherwise the processes that this thread starts from now on, after their
	 * exec
	 */
	bool machine;
	enum kernel_record_backend backend;
	uint64_t buffer_size; /* bytes of each CPU's buffer; 0: the default */

	/* Options of the trace. */
	const char *directory; /* is created; its parent must exist */
	const char *hostname;
	enum ring_clock clock;
	struct ctf_clock parameters;
	enum ctf_format format;
	int compression;
};

struct kernel_record_loss {
	char ring[32];
	char event[160];
	const char *reason;
	uint64_t count;
};

struct kernel_record_summary {
	const char *backend;    /* "perf buffers" or "the tracefs instance side-..." */
	const char *why;        /* why the other backend is not used: a sentence, or "" */
	uint64_t event_classes; /* enabled events */
	uint64_t events;        /* records in the trace */
	uint64_t bytes;
	uint64_t lost;
	/* event classes that were found some time after programs had registered them */
	uint64_t late;
	/* EventHeader records that are stored as bytes, because they cannot be decoded */
	uint64_t plain;
	const struct kernel_record_loss *losses;
	size_t nr_losses;
	const char *problem;      /* why the trace is incomplete, or "" */
	const char *problem_hint; /* what the user can do about it, or "" */
};

/* An event of the kernel, or an event that an EventHeader record describes. */
struct kernel_event {
	const char *system, *name;      /* the name of an EventHeader event is "TRACEPOINT:NAME" */
	int level;                      /* -1: none */
	const struct ctf_type *context; /* a structure, or NULL */
	const struct ctf_type *fields;  /* a structure */
	/* enabled only together with the tracepoint that carries it */
	bool has_carrier;
	void *listener_data; /* for use by the listener */
};

struct kernel_moment {
	uint64_t ticks; /* of the requested clock */
	uint32_t cpu;
	int32_t pid, tid; /* -1: not known */
	const char *comm;
};

struct kernel_payload {
	const uint8_t *data;
	size_t size;
};

/* Runs in the thread that calls the functions below. */
struct kernel_listener {
	void *user;
	/*
	 * The event and its types are valid until gone(). A return value other than 0 refuses the
	 * event: no records of it are delivered.
	 */
	int (*found)(void *user, struct kernel_event *event);
	void (*gone)(void *user, struct kernel_event *event);
	/* Payloads in the form of CTF: one value after the other. */
	void (*record)(void *user, const struct kernel_event *event,
			const struct kernel_moment *moment, struct kernel_payload context,
			struct kernel_payload fields);
	/* event: NULL if unknown. */
	void (*lost)(void *user, const struct kernel_event *event, uint32_t cpu, uint64_t count);
};

#endif /* SIDE_KERNEL_EVENTS_RECORD_TYPES_H */
