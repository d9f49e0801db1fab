/* SPDX-License-Identifier: MIT */
/* Free the events of batches. */
#include <stddef.h>

#include "tracers/agent/core/event.h"
#include "tracers/agent/core/memory.h"

void agent_batch_free(struct agent_batch *batch)
{
	agent_pages_give(batch, batch->mapped);
}

void agent_batches_free(struct agent_batch *list)
{
	while (list) {
		struct agent_batch *batch = list;

		list = batch->next;
		agent_batch_free(batch);
	}
}
