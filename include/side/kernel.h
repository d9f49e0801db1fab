/* SPDX-License-Identifier: MIT */
/*
 * SIDE: events as the kernel's user_events, so that ftrace and perf record them.
 *
 * The environment variable SIDE_USER_EVENTS has the effect of side_kernel_start() before main(). docs/how-to/kernel.md
 * lists what both accept. Without the variable or a call, this header has no effect.
 */
#ifndef SIDE_KERNEL_H
#define SIDE_KERNEL_H

#pragma GCC system_header

#include <stdint.h>

#include <side/abi/event-description.h>
#include <side/abi/type-argument.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Register events with the kernel: those that exist, and later ones when the program registers them.
 * `events` is a list of patterns separated by commas, "all", or the path of a file. Not async-signal-safe.
 * A second call changes nothing.
 *
 * SIDE_ERROR_OK (side/trace.h): also if the kernel refuses single events (`side kernel status` lists them).
 * SIDE_ERROR_INVAL: `events` cannot be parsed. SIDE_ERROR_NOENT: libside-kernel.so is missing, or the
 * kernel has no user_events. SIDE_ERROR_EXIST: already started. SIDE_ERROR_NOMEM: out of memory.
 * With SIDE_DEBUG=1 in the environment the library prints the reason to standard error.
 */
extern int side_kernel_start(const char *events);

/* For libside-kernel.so: set the function that libside calls for events whose bit the kernel has set. */
typedef void (*side_kernel_write_func)(const struct side_event_state_0 *state,
		const struct side_arg_vec *side_arg_vec,
		const struct side_arg_dynamic_struct *var_struct, void *caller_addr);
extern void side_kernel_hook(side_kernel_write_func write);

/*
 * The object side_kernel_table_0, in which other processes read the state of libside-kernel.so. Its
 * blocks of events do not move until the process ends.
 */
#define SIDE_KERNEL_TABLE_EVENTS 32

enum side_kernel_event_state {
	SIDE_KERNEL_EVENT_FREE = 0,
	SIDE_KERNEL_EVENT_REGISTERED = 1,
	SIDE_KERNEL_EVENT_REFUSED = 2, /* see reason */
};

struct side_kernel_event_0 {
	uint64_t written;
	uint64_t cut;  /* written, with texts or arrays shortened */
	uint64_t lost; /* too long, or not accepted by the kernel */
	uint8_t state; /* enum side_kernel_event_state */
	uint8_t eventheader;
	/* another event has this name and other fields: the kernel's group user_events_multi */
	uint8_t multi_format;
	uint8_t padding[5];
	char name[112];        /* provider:event */
	char tracepoint[272];  /* the name in the kernel */
	char reason[112];      /* why it was refused, or why an encoding was not used */
};

struct side_kernel_table_0 {
	uint32_t size;       /* of this object */
	uint32_t event_size; /* from one event to the next */
	uint64_t first;      /* address of the first block, or 0; a block: address of the next one, then events */
	uint64_t reserved;
	/*
	 * why nothing is registered, and a second line with a hint; empty if events are registered
	 */
	char problem[256];
};

#ifdef __cplusplus
}
#endif

#endif /* SIDE_KERNEL_H */
