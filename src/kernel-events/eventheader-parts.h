/* SPDX-License-Identifier: MIT */
/* Private to eventheader*.c: numbers of the EventHeader format, and its fields after parsing. */
#ifndef SIDE_KERNEL_EVENTS_EVENTHEADER_PARTS_H
#define SIDE_KERNEL_EVENTS_EVENTHEADER_PARTS_H

#include <stdint.h>
#include <string.h>

enum eventheader_encoding {
	EH_STRUCT = 1,
	EH_VALUE8,
	EH_VALUE16,
	EH_VALUE32,
	EH_VALUE64,
	EH_VALUE128,
	EH_ZERO8,
	EH_ZERO16,
	EH_ZERO32,
	EH_COUNTED8,
	EH_COUNTED16,
	EH_COUNTED32,
	EH_BINARY,
};

enum eventheader_format {
	EH_FORMAT_DEFAULT,
	EH_FORMAT_UNSIGNED,
	EH_FORMAT_SIGNED,
	EH_FORMAT_HEX,
	EH_FORMAT_ERRNO,
	EH_FORMAT_PID,
	EH_FORMAT_TIME,
	EH_FORMAT_BOOLEAN,
	EH_FORMAT_FLOAT,
	EH_FORMAT_HEX_BYTES,
	EH_FORMAT_TEXT8,
	EH_FORMAT_TEXT_UTF,
	EH_FORMAT_TEXT_BOM,
	EH_FORMAT_XML,
	EH_FORMAT_JSON,
	EH_FORMAT_UUID,
	EH_FORMAT_PORT,
	EH_FORMAT_IP,
	EH_FORMAT_IP_OLD,
};

/* How a value is copied to CTF. */
enum eventheader_form {
	EH_FORM_STRUCT,
	EH_FORM_COPY,  /* `size` bytes, unchanged */
	EH_FORM_TEXT,  /* ended by a zero or counted; units of `size` bytes */
	EH_FORM_BYTES, /* counted bytes, preceded by a u16 in CTF */
	/* counted bytes that are a number or absent: in CTF a tag, then 8 bytes if present */
	EH_FORM_OPTIONAL,
};

enum eventheader_array { EH_NO_ARRAY, EH_FIXED_ARRAY, EH_COUNTED_ARRAY };

static inline uint16_t eventheader_u16(const uint8_t *from, bool is_swapped)
{
	uint16_t value;

	memcpy(&value, from, sizeof(value));
	return is_swapped ? __builtin_bswap16(value) : value;
}

static inline uint32_t eventheader_u32(const uint8_t *from, bool is_swapped)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return is_swapped ? __builtin_bswap32(value) : value;
}

struct eventheader_node {
	const char *name;
	uint8_t encoding; /* without the bits for arrays */
	uint8_t format;
	enum eventheader_array array;
	uint16_t count;   /* elements of an EH_FIXED_ARRAY */
	uint16_t members; /* direct members of an EH_STRUCT; they follow this node */
	/* index of the first node after this one and all nodes that it contains */
	uint32_t end;
	enum eventheader_form form;
	uint8_t size;
};

#endif /* SIDE_KERNEL_EVENTS_EVENTHEADER_PARTS_H */
