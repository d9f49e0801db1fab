/* SPDX-License-Identifier: MIT */
/*
 * The calls of an allocator in the events of a trace: what each call frees and returns.
 *
 * An event of a wrapper is a whole call. Of a probe, one event is the begin of a call and another
 * one its return; both have the number of the call.
 */
#ifndef SIDE_ANALYSIS_LEAKS_CALLS_H
#define SIDE_ANALYSIS_LEAKS_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/event-member.h"

#include "ctf/ctf.h"

/* Calls that have begun and not returned, in all threads of a trace. A power of two. */
#define LEAKS_CALLS_MAX 65536

enum leaks_form {
	LEAKS_FORM_NONE, /* no event of an allocator */
	LEAKS_FORM_WHOLE,
	LEAKS_FORM_BEGIN,
	LEAKS_FORM_RETURN,
};

/* The meaning of the events of one class. */
struct leaks_form_class {
	enum leaks_form form;
	bool allocates;   /* the call returns a block */
	bool is_free;     /* the call frees and returns nothing */
	bool hides_block; /* the class does not contain the block that the call returned */
	struct event_member call, size, count, freed, block, status;
};

/* A call of the allocator. */
struct leaks_call {
	uint64_t number; /* of a probe's call */
	uint64_t size;
	uint64_t freed; /* the block that it frees, or 0 */
	int64_t ns;     /* its begin; for a wrapper, the time of the event */
	uint32_t image;
	uint32_t stack;
};

/* Calls that have begun. All zero is an empty table. */
struct leaks_calls {
	struct leaks_call *slots; /* LEAKS_CALLS_MAX; the number 0 is a free slot */
	uint64_t dropped;         /* calls that were replaced because their slots were used */
};

/* The name without the provider of libc's functions or of probes. NULL: of another provider. */
const char *leaks_event_plain(const char *name);
/* True if events of this name are calls of the allocator. */
bool leaks_event_is_known(const char *name);
/* Finds the meaning of a class from the name of its event and its fields. */
void leaks_form_find(struct leaks_form_class *class, const struct ctf_item *item);
/* The member if it is a number. `name` is NULL if the event has no such member. */
struct event_member leaks_member_find(const struct ctf_item *item, const char *name);
/* The value of a member; 0: the record has none. */
uint64_t leaks_member_number(const struct event_member *member, const struct ctf_item *item);
/* The bytes that a call requests: SIZE * COUNT, or UINT64_MAX. */
uint64_t leaks_form_size(const struct leaks_form_class *class, const struct ctf_item *item);

/* 0 or -ENOMEM. */
int leaks_calls_begin(struct leaks_calls *calls, const struct leaks_call *call);
/* False: the begin of the call is not in the trace. */
bool leaks_calls_return(struct leaks_calls *calls, uint32_t image, uint64_t number,
		struct leaks_call *ret_call);
void leaks_calls_free(struct leaks_calls *calls);

#endif /* SIDE_ANALYSIS_LEAKS_CALLS_H */
