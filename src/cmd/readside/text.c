/* SPDX-License-Identifier: MIT */
/* Text of descriptions, which may be UTF-8, 16 or 32, in either byte order. */
#include "form.h"

#include <stdlib.h>
#include <string.h>

char *form_utf8(const struct visit_text *text, size_t *size)
{
	char *utf8;

	*size = 0;
	if (!text->at)
		return NULL;
	*size = visit_text_utf8(text->at, text->unit_size, text->byte_order, NULL, 0);
	utf8 = malloc(*size + 1);
	if (!utf8)
		return NULL;
	visit_text_utf8(text->at, text->unit_size, text->byte_order, utf8, *size);
	utf8[*size] = '\0';
	return utf8;
}

bool same_text(const struct side_type_raw_string *one, const struct side_type_raw_string *other)
{
	struct visit_text a = {
			side_ptr_get(one->p), one->unit_size, side_enum_get(one->byte_order)};
	struct visit_text b = {
			side_ptr_get(other->p), other->unit_size, side_enum_get(other->byte_order)};
	unsigned char first[VISIT_TEXT_UNIT_MAX], second[VISIT_TEXT_UNIT_MAX];
	unsigned int size;

	if (!a.at || !b.at)
		return a.at == b.at;
	do {
		size = visit_text_next(&a, first);
		if (visit_text_next(&b, second) != size || memcmp(first, second, size))
			return false;
	} while (size);
	return true;
}
