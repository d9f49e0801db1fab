/* SPDX-License-Identifier: MIT */
/* Follows the tables of an image to the descriptions and states of its events. */
#include "elf/events.h"

#include <errno.h>
#include <string.h>

uint64_t image_decode(uint8_t byte_order, const unsigned char *bytes, unsigned int size)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < size; i++) {
		unsigned int offset = byte_order == SIDE_TYPE_BYTE_ORDER_BE ? size - 1 - i : i;

		value |= (uint64_t)bytes[offset] << (8 * i);
	}
	return value;
}

struct visit_memory image_memory(struct image *image)
{
	return (struct visit_memory){
			.read = image_read,
			.priv = image,
			.byte_order = image_byte_order(image),
	};
}

static int each_of_table(const struct image_table *table, const struct visit_memory *memory,
		unsigned int width, uint64_t bias, int (*each)(void *priv, uint64_t address),
		void *priv)
{
	for (uint64_t at = 0; at + width <= table->size; at += width) {
		unsigned char bytes[8];
		uint64_t address;
		int result = memory->read(memory->priv, table->address + bias + at, bytes, width);

		if (result)
			return result == -EIO ? result : -EFAULT;
		address = image_decode(memory->byte_order, bytes, width);
		result = address ? each(priv, address) : 0;
		if (result)
			return result;
	}
	return 0;
}

int image_each_event(const struct image *image, const struct visit_memory *memory, uint64_t bias,
		int (*each)(void *priv, uint64_t address), void *priv)
{
	size_t count;
	const struct image_table *tables = image_tables(image, &count);
	const uint64_t *found;
	int result = 0;

	for (size_t i = 0; i < count && !result; i++)
		result = each_of_table(
				&tables[i], memory, image_pointer_size(image), bias, each, priv);
	found = image_found(image, &count);
	for (size_t i = 0; i < count && !result; i++)
		result = each(priv, found[i] + bias);
	return result;
}

int image_read_event(const struct visit_memory *memory, uint64_t address,
		struct visit_owned **ret_owned, uint64_t *ret_bytes, struct visit_error *error)
{
	struct visit_buffer buffer;
	int result;

	*ret_owned = NULL;
	visit_buffer_heap(&buffer);
	result = visit_description_read(memory, address, &buffer, error);
	if (!result)
		result = visit_description_decode(buffer.data, buffer.size, ret_owned, error);
	*ret_bytes = buffer.size;
	visit_buffer_free(&buffer);
	return result;
}

/* The state: a version, a 32-bit number, three pointers. */
#define STATE_CALLBACKS_OFFSET 4
#define STATE_ENABLED_OFFSET 8
#define STATE_SIZE(width) (STATE_ENABLED_OFFSET + 3 * (width))

void image_read_state(const struct visit_memory *memory, unsigned int pointer_size,
		uint64_t address, struct image_state *ret_state)
{
	unsigned char slot[16], bytes[STATE_SIZE(8)];
	/* On big-endian machines the pointer is at the end of its slot. */
	unsigned int offset = memory->byte_order == SIDE_TYPE_BYTE_ORDER_BE ? 16 - pointer_size : 0;
	uint64_t at;

	*ret_state = (struct image_state){0};
	if (memory->read(memory->priv, address + offsetof(struct side_event_description, state),
			    slot, sizeof(slot)))
		return;
	at = image_decode(memory->byte_order, slot + offset, pointer_size);
	ret_state->there = at != 0;
	ret_state->address = at;
	if (!at || memory->read(memory->priv, at, bytes, 4))
		return;
	ret_state->version = (uint32_t)image_decode(memory->byte_order, bytes, 4);
	if (ret_state->version != SIDE_EVENT_STATE_ABI_VERSION ||
			memory->read(memory->priv, at, bytes, STATE_SIZE(pointer_size)))
		return;
	ret_state->readable = true;
	ret_state->nr_callbacks = (uint32_t)image_decode(
			memory->byte_order, bytes + STATE_CALLBACKS_OFFSET, 4);
	ret_state->enabled = image_decode(
			memory->byte_order, bytes + STATE_ENABLED_OFFSET, pointer_size);
	ret_state->description = image_decode(memory->byte_order,
			bytes + STATE_ENABLED_OFFSET + (size_t)2 * pointer_size, pointer_size);
}
