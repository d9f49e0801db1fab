/* SPDX-License-Identifier: MIT */
/* Stores which losses of an instance its trace contains already. */
#include <stdlib.h>
#include <string.h>

#include "base/inside/search.h"
#include "recorder/core/instance.h"
#include "recorder/storage/reported-losses.h"

uint64_t reported_losses_count(const struct instance *instance, uint64_t key)
{
	size_t low = search_leading(i, instance->nr_reported, instance->reported[i].key < key);

	return low < instance->nr_reported && instance->reported[low].key == key
			? instance->reported[low].count
			: 0;
}

void reported_losses_read(struct instance *instance, const void *bytes, size_t size)
{
	size_t nr = size / sizeof(struct reported_loss);

	free(instance->reported);
	instance->reported = calloc(nr + 1, sizeof(*instance->reported));
	instance->nr_reported = instance->reported ? nr : 0;
	if (instance->reported)
		memcpy(instance->reported, bytes, nr * sizeof(*instance->reported));
}
