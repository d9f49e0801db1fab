/* SPDX-License-Identifier: MIT */
/*
 * Reads the events of an image: its tables, and the descriptions and states that they point to, in
 * the memory of a file or of a process that has the file mapped.
 */
#ifndef SIDE_ELF_EVENTS_H
#define SIDE_ELF_EVENTS_H

#include "elf/image.h"
#include "abi/visit.h"

/* Decode an unsigned number of 1 to 8 bytes. */
uint64_t image_decode(uint8_t byte_order, const unsigned char *bytes, unsigned int size);

/* The memory of the image, with the contents of its file. */
struct visit_memory image_memory(struct image *image);

/*
 * Call @each with the address of each description in the tables, in @memory, where the image is
 * mapped @bias higher. Skips NULL pointers. Returns 0, the result of @each if it was not 0, -EIO if
 * the file cannot be read, or -EFAULT if a table is incomplete.
 */
int image_each_event(const struct image *image, const struct visit_memory *memory, uint64_t bias,
		int (*each)(void *priv, uint64_t address), void *priv);

/*
 * Read a description. 0 or a negative errno, with *error filled in. @ret_bytes: the size of its
 * encoded form, as a measure of memory.
 */
int image_read_event(const struct visit_memory *memory, uint64_t address,
		struct visit_owned **ret_owned, uint64_t *ret_bytes, struct visit_error *error);

/* The state of an event: struct side_event_state_0, whose layout depends on the size of a
   pointer. */
struct image_state {
	bool there; /* false: the pointer is NULL; no other member is set */
	uint64_t address;
	bool readable;    /* false: its address is not mapped, or its version is unknown */
	uint32_t version; /* of the state; only version 0 is known */
	uint32_t nr_callbacks;
	uint64_t enabled;
	uint64_t description; /* the description that the state points to */
};

/* Read the state of the description at @address. */
void image_read_state(const struct visit_memory *memory, unsigned int pointer_size,
		uint64_t address, struct image_state *ret_state);

#endif /* SIDE_ELF_EVENTS_H */
