/* SPDX-License-Identifier: MIT */
/*
 * SIDE: events as the kernel's user_events, so that ftrace and perf record them.
 *
 * SIDE_USER_EVENTS in the environment does the same as side_kernel_start() before main(); docs/how-to/kernel.md
 * says what both take. Neither does anything where nobody asks for it.
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
 * Register with the kernel the events that the text says, now and whenever they come: patterns with
 * commas between them, "all", or the path of a file. Not in signal handlers. A second call changes nothing.
 *
 * SIDE_ERROR_OK (side/trace.h) also when the kernel refuses single events (`side kernel status` says which).
 * SIDE_ERROR_INVAL: the text cannot be understood. SIDE_ERROR_NOENT: libside-kernel.so is not there, or the
 * kernel has no user_events here. SIDE_ERROR_EXIST: it runs
 * already. SIDE_ERROR_NOMEM. With SIDE_DEBUG=1 in the environment the reason is on standard error.
 */
extern int side_kernel_start(const char *events);

/* For the library that writes: the function that libside calls for events whose bit the kernel has set. */
typedef void (*side_kernel_write_func)(const struct side_event_state_0 *state,
		const struct side_arg_vec *side_arg_vec,
		const struct side_arg_dynamic_struct *var_struct, void *caller_addr);
extern void side_kernel_hook(side_kernel_write_func write);

/*
 * What libside-kernel.so shows of itself to whoever reads the memory of a process:
 * the object side_kernel_table_0, and blocks of events that stay where they are as long as the process.
 */
#define SIDE_KERNEL_TABLE_EVENTS 32

enum side_kernel_event_state {
	SIDE_KERNEL_EVENT_FREE = 0,
	SIDE_KERNEL_EVENT_REGISTERED = 1,
	SIDE_KERNEL_EVENT_REFUSED = 2, /* reason says why */
};

struct side_kernel_event_0 {
	uint64_t written;
	uint64_t cut;  /* written, with texts or arrays shortened */
	uint64_t lost; /* too long, or not accepted by the kernel */
	uint8_t state; /* enum side_kernel_event_state */
	uint8_t eventheader;
	uint8_t multi_format; /* the name is another's with other fields: kernel's group user_events_multi */
	uint8_t padding[5];
	char name[112];        /* provider:event */
	char tracepoint[272];  /* as the kernel has it */
	char reason[112];      /* sentence, or why an encoding was not taken */
};

struct side_kernel_table_0 {
	uint32_t size;       /* of this object */
	uint32_t event_size; /* from one event to the next */
	uint64_t first;      /* address of the first block, or 0; a block: address of the next one, then events */
	uint64_t reserved;
	char problem[256]; /* why nothing is registered at all; empty: it is */
};

#ifdef __cplusplus
}
#endif

#endif /* SIDE_KERNEL_H */
