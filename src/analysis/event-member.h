/* SPDX-License-Identifier: MIT */
/*
 * The position of a field or context in the records of an event class, and its value in a record.
 *
 * If each member before it has exactly one value, the position in a record is fixed. Otherwise it
 * is searched in each record.
 */
#ifndef SIDE_ANALYSIS_EVENT_MEMBER_H
#define SIDE_ANALYSIS_EVENT_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

struct ctf_event_class;
struct ctf_item;
struct ctf_value;

enum event_scope { EVENT_NOWHERE, EVENT_FIELDS, EVENT_CONTEXT, EVENT_COMMON_CONTEXT };

/* All zero: the records do not have the member. */
struct event_member {
	enum event_scope scope;
	uint32_t index;
	uint32_t direct; /* its distance, in values, from the scope's value; 0: it varies */
};

/* The fields or contexts of a record; NULL: none. */
const struct ctf_value *event_member_scope(enum event_scope scope, const struct ctf_item *item);
/* Finds a member by its name, with or without the underscore of CTF. False: there is none. */
bool event_member_find(struct event_member *ret_member, enum event_scope scope,
		const struct ctf_item *item, const char *name);
/* True if records of the event have a field of this name. */
bool event_member_is_described(const struct ctf_event_class *event, const char *name);
/* Finds a context in the common context, then in the context of the event. */
bool event_member_find_context(
		struct event_member *ret_member, const struct ctf_item *item, const char *name);
static inline bool event_member_exists(const struct event_member *member)
{
	return member->scope != EVENT_NOWHERE;
}

/* NULL: the record does not have it. */
const struct ctf_value *event_member_value(
		const struct event_member *member, const struct ctf_item *item);
/* False: the record does not have it, or it is no integer. */
bool event_member_number(const struct event_member *member, const struct ctf_item *item,
		uint64_t *ret_number);

/*
 * The upper 16 bits of a call's number are the number of its thread in its process
 * (probe/patch/hit.c).
 */
static inline uint32_t event_call_thread(uint64_t call)
{
	return (uint32_t)(call >> 48);
}

#endif /* SIDE_ANALYSIS_EVENT_MEMBER_H */
