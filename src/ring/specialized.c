/* SPDX-License-Identifier: MIT */
/*
 * Chooses the fastest publish function for all records of one event whose payload has a fixed size.
 */
#include "ring/ring.h"
#include "ring/section.h"

#if RING_HAS_SECTION
/* Functions by: overwrite mode, per thread, id in the tag; and the sizes that FORMS lists. */
#define RING_VARIANTS(FORMS)                                                                    \
	{                                                                                       \
		{{FORMS(medium, keep, cpu), FORMS(compact, keep, cpu)},                         \
				{FORMS(medium, keep, thread), FORMS(compact, keep, thread)}},   \
				{{FORMS(medium, over, cpu), FORMS(compact, over, cpu)},         \
						{FORMS(medium, over, thread),                   \
								FORMS(compact, over, thread)}}, \
	}
#define RING_CHOOSE(variants, producer, event_id, size)     \
	(variants)[(producer)->mode == RING_MODE_OVERWRITE] \
		  [(producer)->placement == RING_PER_THREAD][(event_id) < RING_TAG_MEDIUM][size]
#define RING_SCALAR_FORMS(form, mode, placement)                               \
	{                                                                      \
		ring_scalar_##form##_##mode##_##placement##_1,                 \
				ring_scalar_##form##_##mode##_##placement##_2, \
				ring_scalar_##form##_##mode##_##placement##_4, \
				ring_scalar_##form##_##mode##_##placement##_8  \
	}
#define RING_TIMED_FORMS(form, mode, placement)                               \
	{                                                                     \
		ring_timed_##form##_##mode##_##placement##_0,                 \
				ring_timed_##form##_##mode##_##placement##_4, \
				ring_timed_##form##_##mode##_##placement##_8, \
				ring_timed_##form##_##mode##_##placement##_16 \
	}
#endif

/* For rings without a section of this size. */
#define RING_SCALAR_OTHER(size)                                                                \
	static int ring_scalar_other_##size(struct ring_producer *producer, uint32_t event_id, \
			const void *unused, const void *scalar)                                \
	{                                                                                      \
		(void)unused;                                                                  \
		return ring_publish(producer, event_id, scalar, size);                         \
	}

RING_SCALAR_OTHER(1)
RING_SCALAR_OTHER(2)
RING_SCALAR_OTHER(4)
RING_SCALAR_OTHER(8)
RING_SCALAR_OTHER(16)

static ring_publish_scalar *ring_scalar_other(size_t size)
{
	switch (size) {
	case 1: return ring_scalar_other_1;
	case 2: return ring_scalar_other_2;
	case 4: return ring_scalar_other_4;
	case 8: return ring_scalar_other_8;
	default: return ring_scalar_other_16;
	}
}

ring_publish_scalar *ring_choose_scalar(
		const struct ring_producer *producer, uint32_t event_id, size_t size)
{
#if RING_HAS_SECTION
	static ring_publish_scalar *const variants[2][2][2][4] = RING_VARIANTS(RING_SCALAR_FORMS);

	if (producer->path == RING_PATH_RSEQ_TSC && event_id <= UINT16_MAX && size <= 8)
		return RING_CHOOSE(variants, producer, event_id, __builtin_ctzl(size));
#else
	(void)producer;
	(void)event_id;
#endif
	return ring_scalar_other(size);
}

ring_publish_timed *ring_choose_timed(
		const struct ring_producer *producer, uint32_t event_id, size_t size)
{
#if RING_HAS_SECTION
	static ring_publish_timed *const variants[2][2][2][4] = RING_VARIANTS(RING_TIMED_FORMS);
	static const size_t sizes[] = {0, 4, 8, 16};

	if (producer->path != RING_PATH_RSEQ_TSC || event_id > UINT16_MAX)
		return NULL;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i] == size)
			return RING_CHOOSE(variants, producer, event_id, i);
#else
	(void)producer;
	(void)event_id;
	(void)size;
#endif
	return NULL;
}

ring_publish_prefixed *ring_choose_prefixed(
		const struct ring_producer *producer, uint32_t event_id, size_t size)
{
#if RING_HAS_SECTION
	/* By: overwrite mode, id in the tag, scalar of 8 bytes. */
	static ring_publish_prefixed *const variants[2][2][2] = {
			{{ring_prefixed_medium_keep_4, ring_prefixed_medium_keep_8},
					{ring_prefixed_compact_keep_4,
							ring_prefixed_compact_keep_8}},
			{{ring_prefixed_medium_over_4, ring_prefixed_medium_over_8},
					{ring_prefixed_compact_over_4,
							ring_prefixed_compact_over_8}},
	};

	if (producer->path == RING_PATH_RSEQ_TSC && producer->placement == RING_PER_CPU &&
			event_id <= UINT16_MAX && (size == 4 || size == 8))
		return variants[producer->mode == RING_MODE_OVERWRITE][event_id < RING_TAG_MEDIUM]
			       [size == 8];
#else
	(void)producer;
	(void)event_id;
	(void)size;
#endif
	return NULL;
}
