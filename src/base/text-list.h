/* SPDX-License-Identifier: MIT */
/* An array of texts with its length. The owner of the array owns the texts, too. */
#ifndef SIDE_BASE_TEXT_LIST_H
#define SIDE_BASE_TEXT_LIST_H

#include <stddef.h>

struct text_list {
	const char **items;
	size_t count;
};

#endif /* SIDE_BASE_TEXT_LIST_H */
