/* SPDX-License-Identifier: MIT */
/* SIDE ABI: event description and event state. */
#ifndef SIDE_ABI_EVENT_DESCRIPTION_H
#define SIDE_ABI_EVENT_DESCRIPTION_H

#pragma GCC system_header

#include <stdint.h>

#include <side/abi/attribute.h>
#include <side/abi/type-description.h>
#include <side/abi/type-value.h>
#include <side/macros.h>

/*
 * The version of the description changes only if existing members change their meaning; new members
 * are added before `end` and included in struct_size. The version of the state selects struct
 * side_event_state_<version>; a state is never extended.
 */
#define SIDE_EVENT_DESCRIPTION_ABI_VERSION 0
#define SIDE_EVENT_STATE_ABI_VERSION 0

#define SIDE_BEGIN_ABI(_version) __extension__ char side_begin_abi_tag_##_version[0]
#define SIDE_END_ABI(_version) __extension__ char side_end_abi_tag_##_version[0]

struct side_callback;
struct side_event_description;

enum side_event_flags {
	SIDE_EVENT_FLAG_VARIADIC = (1 << 0),
};

enum side_loglevel {
	SIDE_LOGLEVEL_EMERG = 0,
	SIDE_LOGLEVEL_ALERT = 1,
	SIDE_LOGLEVEL_CRIT = 2,
	SIDE_LOGLEVEL_ERR = 3,
	SIDE_LOGLEVEL_WARNING = 4,
	SIDE_LOGLEVEL_NOTICE = 5,
	SIDE_LOGLEVEL_INFO = 6,
	SIDE_LOGLEVEL_DEBUG = 7,
};

/* Common head of all versions of the state. Readers must refuse unknown versions. */
struct side_event_state {
	uint32_t version;
};
side_check_size(struct side_event_state, 4);

/*
 * Version 0. Created by the application, then written by the library only. Exception: the kernel
 * and debuggers may set the shared bits of `enabled` with atomic operations; call sites only read
 * it. Not packed, because it holds atomic words.
 */
struct side_event_state_0 {
	struct side_event_state parent; /* first, required */
	uint32_t nr_callbacks;
	uintptr_t enabled;                     /* any bit set: call */
	const struct side_callback *callbacks; /* private to the library; a NULL function ends it */
	struct side_event_description *desc;
};
side_check_size(struct side_event_state_0, (__SIZEOF_POINTER__ == 4 ? 20 : 32));

/*
 * Writable and of variable size: must not be put in an array or copied. It exists until the event
 * is unregistered.
 */
struct side_event_description {
	SIDE_BEGIN_ABI(0);
	uint32_t struct_size; /* offset of `end` for the producer */
	uint32_t version;     /* SIDE_EVENT_DESCRIPTION_ABI_VERSION */
	side_ptr_t(struct side_event_state) state;
	side_ptr_t(const char) provider_name; /* UTF-8 */
	side_ptr_t(const char) event_name;    /* UTF-8 */
	side_array_t(const struct side_event_field) fields;
	side_array_t(const struct side_attr) attributes;
	uint64_t flags;              /* enum side_event_flags */
	uint16_t nr_side_type_label; /* number of labels in the producer's headers */
	uint16_t nr_side_attr_type;  /* number of attribute types in the producer's headers */
	side_enum_t(enum side_loglevel, uint32_t) loglevel;
	SIDE_END_ABI(0);
	__extension__ char end[0]; /* new members go before it */
} SIDE_PACKED;

/* Last member known to a reader of version 0. */
#define side_event_description_orig_abi_last side_end_abi_tag_0
side_check_size(struct side_event_description, 112);

#endif /* SIDE_ABI_EVENT_DESCRIPTION_H */
