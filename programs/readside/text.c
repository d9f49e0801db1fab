/* SPDX-License-Identifier: MIT */
/* Converts text of descriptions, which may be UTF-8, UTF-16 or UTF-32 in either byte order. */
#include "form.h"

#include <stdlib.h>
#include <string.h>

char *form_utf8(const struct visit_text *text, size_t *ret_size)
{
	char *utf8;

	*ret_size = 0;
	if (!text->at)
		return NULL;
	*ret_size = visit_text_utf8(text->at, text->unit_size, text->byte_order, NULL, 0);
	utf8 = malloc(*ret_size + 1);
	if (!utf8) {
		*ret_size = 0;
		message_out_of_memory();
		return NULL;
	}
	visit_text_utf8(text->at, text->unit_size, text->byte_order, utf8, *ret_size);
	utf8[*ret_size] = '\0';
	return utf8;
}
