/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: the decoder refuses the bytes, or they are the only encoding of the description that
 * they decode to.
 */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct visit_buffer out;
	struct visit_owned *owned;
	struct visit_error error;

	if (visit_description_decode(data, size, &owned, &error))
		return 0;
	visit_buffer_heap(&out);
	if (visit_description_encode(owned->desc, &out, &error) || out.size != size ||
			memcmp(out.data, data, size))
		abort();
	out.size = 0;
	if (visit_description_json(owned->desc, &out, &error) ||
			visit_fields_text(owned->desc, &out))
		abort();
	visit_buffer_free(&out);
	visit_description_lint(owned->desc, 8, take_finding, NULL);
	visit_owned_free(owned);
	return 0;
}
