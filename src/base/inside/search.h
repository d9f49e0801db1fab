/* SPDX-License-Identifier: MIT */
/*
 * Binary search in a sorted array: the number of elements at its beginning for which a condition is
 * true.
 *
 * The condition is an expression over `i`, an index that exists inside the macro only. It must be
 * true for all elements up to some point and false behind it. It is compiled into the loop, so that
 * a search costs no calls.
 *
 *     search_leading(i, nr, items[i].key < key)        the first element whose key is `key` or
 *     larger, or nr ("lower bound")
 *     search_leading(i, nr, items[i].begin <= key)     the first that begins behind `key`; the one
 *     before it begins at or before `key`
 */
#ifndef SIDE_BASE_INSIDE_SEARCH_H
#define SIDE_BASE_INSIDE_SEARCH_H

#define search_leading(i, count, condition)                                                \
	({                                                                                 \
		/* + 0u: a type that is not const and at least as wide as unsigned int. */ \
		__typeof__((count) + 0u) search_low = 0, search_high = (count);            \
                                                                                           \
		while (search_low < search_high) {                                         \
			const __typeof__((count) + 0u) i =                                 \
					search_low + (search_high - search_low) / 2;       \
                                                                                           \
			if (condition)                                                     \
				search_low = i + 1;                                        \
			else                                                               \
				search_high = i;                                           \
		}                                                                          \
		search_low;                                                                \
	})

#endif /* SIDE_BASE_INSIDE_SEARCH_H */
