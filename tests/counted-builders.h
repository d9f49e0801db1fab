/* SPDX-License-Identifier: MIT */
/*
 * Counts the memory blocks and builders of the code under test, and makes one of its calls fail.
 * For tests that include a file which makes events at run time; the test redirects the calls to
 * these functions by macros.
 */
#ifndef TESTS_COUNTED_BUILDERS_H
#define TESTS_COUNTED_BUILDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <side/builder.h>

/* Calls that allocate memory or a builder are counted. Call number `failing_at` fails. */
static unsigned int failing_at, failing_seen, nr_blocks, nr_builders;
static size_t nr_elements; /* of all blocks */

static inline bool is_failing(void)
{
	failing_seen++;
	return failing_seen == failing_at;
}

static inline void *counted_calloc(size_t count, size_t size)
{
	void *block = is_failing() ? NULL : calloc(count, size);

	nr_blocks += block != NULL;
	nr_elements += count;
	return block;
}

static inline void counted_free(void *block)
{
	nr_blocks -= block != NULL;
	free(block);
}

static inline struct side_builder *counted_create(
		const char *provider, const char *event, enum side_loglevel level, uint64_t flags)
{
	struct side_builder *builder =
			is_failing() ? NULL : side_builder_create(provider, event, level, flags);

	nr_builders += builder != NULL;
	return builder;
}

static inline int counted_register(struct side_builder *builder)
{
	return is_failing() ? SIDE_ERROR_NOMEM : side_builder_register(builder);
}

static inline int counted_destroy(struct side_builder *builder)
{
	nr_builders -= builder != NULL;
	return side_builder_destroy(builder);
}

#endif /* TESTS_COUNTED_BUILDERS_H */
