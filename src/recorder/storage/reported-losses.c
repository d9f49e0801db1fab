/* SPDX-License-Identifier: MIT */
/* Stores which losses of an instance its trace contains already. */
#include <stdlib.h>
#include <string.h>

#include "base/inside/search.h"
#include "recorder/core/facts.h"
#include "recorder/core/instance-state.h"
#include "recorder/storage/journal-format.h"
#include "recorder/storage/reported-losses.h"

uint64_t reported_losses_count(const struct instance *instance, uint64_t key)
{
	size_t low = search_leading(i, instance->nr_reported, instance->reported[i].key < key);

	return low < instance->nr_reported && instance->reported[low].key == key
			? instance->reported[low].count
			: 0;
}

static void reported_losses_read(struct instance *instance, const void *bytes, size_t size)
{
	size_t nr = size / sizeof(struct reported_loss);

	free(instance->reported);
	instance->reported = calloc(nr + 1, sizeof(*instance->reported));
	instance->nr_reported = instance->reported ? nr : 0;
	if (instance->reported)
		memcpy(instance->reported, bytes, nr * sizeof(*instance->reported));
}

uint32_t reported_losses_read_file(struct instance *instance, int folder)
{
	struct losses_file_head head = {0};
	char *bytes = NULL;
	size_t size;

	if (facts_read_file(folder, LOSSES_FILE, LIMIT_LOSSES_FILE, &bytes, &size))
		return 0;
	if (size >= sizeof(head))
		memcpy(&head, bytes, sizeof(head));
	if (size < sizeof(head) || head.magic != LOSSES_MAGIC || head.size != size - sizeof(head))
		head.serial = 0;
	else
		reported_losses_read(instance, bytes + sizeof(head), head.size);
	free(bytes);
	return head.serial;
}
