/* SPDX-License-Identifier: MIT */
/* The public part of a plan, which the functions in its operations know. */
#ifndef SIDE_TRACERS_AGENT_PLAN_PLAN_TYPES_H
#define SIDE_TRACERS_AGENT_PLAN_PLAN_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct side_arg_dynamic_struct;
struct side_arg_vec;

/* Levels of types within types that a description may have; a dynamic value has at most 255. */
#define PLAN_DEPTH_MAX 128
#define PLAN_DYNAMIC_DEPTH_MAX 255

/* Why a record was not written. The values are stable: they index counters. */
enum plan_reason {
	PLAN_REASON_NONE = 0,
	PLAN_REASON_TOO_BIG = 1,        /* does not fit the buffer */
	PLAN_REASON_ARGUMENT_COUNT = 2, /* more or fewer arguments than fields, or none at all */
	PLAN_REASON_ARGUMENT_LABEL = 3, /* an argument of another type, or a broken dynamic type */
	PLAN_REASON_LENGTH = 4,         /* wrong array length, or a length its type cannot hold */
	PLAN_REASON_NULL_POINTER = 5,   /* nothing to read from */
	PLAN_REASON_SELECTOR = 6,       /* a 128-bit selector that does not fit 64 bits */
	PLAN_REASON_VISITOR = 7,        /* the application's visitor reported an error */
	PLAN_REASON_DEPTH = 8,          /* a dynamic value nested too deeply */
};
#define PLAN_REASON_COUNT 9

/*
 * Write the payload of one record. variadic is NULL unless the event is variadic.
 *
 * Returns its size, -E2BIG (does not fit) or -EINVAL (the arguments do not match), then with the
 * reason when that is not NULL. The buffer beyond the returned size has unspecified content.
 */
struct plan;
typedef ssize_t (*plan_serialize_func)(const struct plan *plan,
		const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *buffer, size_t capacity,
		enum plan_reason *ret_reason);

/* What may be done with a plan beside serialising it. */
enum plan_kind {
	PLAN_KIND_ANY, /* may run functions of the application: visitors */
	/* runs nothing but itself, so errno and everything else stays as it is */
	PLAN_KIND_GP_ONLY,
	/* quiet, and the payload is the first bytes of the one argument's union */
	PLAN_KIND_SCALAR,
	PLAN_KIND_SPAN, /* quiet, and the last field is a straight copy: plan_serialize_span() */
};

/* The public part: the shortest function that does all that this plan needs. */
struct plan {
	plan_serialize_func serialize;
	uint8_t kind;          /* enum plan_kind */
	uint8_t scalar_size;   /* PLAN_KIND_SCALAR: bytes, 1, 2, 4, 8 or 16 */
	uint16_t scalar_label; /* and the label that the argument must have */
};

/* The bytes behind what was serialised, where the application has them. */
struct plan_span {
	const void *bytes;
	size_t size;
};

#endif /* SIDE_TRACERS_AGENT_PLAN_PLAN_TYPES_H */
