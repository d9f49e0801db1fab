/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: the input is the whole memory of a process of either byte order, addresses are offsets
 * into it, and the description is at 1.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/visit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each finding is reported completely: a message, a hint, and the event. */
static void take_finding(void *priv, enum visit_severity severity, const struct visit_node *node,
		const struct visit_error *error)
{
	(void)priv;
	(void)severity;
	(void)node;
	if (!error->what[0] || !error->hint[0] || !error->where[0])
		abort();
}

struct input {
	const uint8_t *data;
	size_t size;
};

static int read_input(void *priv, uint64_t address, void *to, size_t size)
{
	const struct input *input = priv;

	if (address > input->size || size > input->size - address)
		return -EFAULT;
	memcpy(to, input->data + address, size);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	struct visit_memory memory = {.read = read_input, .priv = &input};
	struct visit_buffer out;
	struct visit_owned *owned;
	struct visit_error error;

	if (!size)
		return 0;
	memory.byte_order = data[0] & 1;
	visit_buffer_heap(&out);
	if (!visit_description_read(&memory, 1, &out, &error) &&
			!visit_description_decode(out.data, out.size, &owned, &error)) {
		visit_description_lint(owned->desc, 4, take_finding, NULL);
		visit_owned_free(owned);
	}
	visit_buffer_free(&out);
	return 0;
}
