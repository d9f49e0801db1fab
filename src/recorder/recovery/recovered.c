/* SPDX-License-Identifier: MIT */
/* Loads the rings and event classes of ended instances, and writes their traces. */
#include <errno.h>

#include "protocol/protocol.h"
#include "recorder/core/channels.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/instance.h"
#include "recorder/core/memory.h"
#include "recorder/core/report.h"
#include "recorder/recovery/recovered.h"
#include "recorder/rotation/trace-end.h"
#include "recorder/session-state.h"
#include "recorder/storage/trace.h"
#include "ring/ring.h"

int recover_map(struct instance_channel *channel, struct channel *own, int fd)
{
	int ret = ring_consumer_map(fd, NULL, &channel->rings);

	if (ret)
		return ret;
	channel->geometry = *ring_consumer_geometry(channel->rings);
	own->mode = channel->geometry.mode;
	own->placement = channel->geometry.placement;
	own->rings = channel->geometry.rings;
	own->ring_size = channel->geometry.size;
	return memory_make_tables(channel) ? 0 : -ENOMEM;
}

bool recover_class(void *user, const struct wire_event_head *head, const void *bytes,
		enum wire_refusal refusal)
{
	struct recovered *recovered = user;
	bool is_out_of_memory;

	errno = 0;
	if (!refusal)
		refusal = classes_add(recovered->session, recovered->instance, head, bytes);
	/* The reasons of the protocol do not include lack of memory. */
	is_out_of_memory = refusal && errno == ENOMEM;
	if (is_out_of_memory)
		report_failure(recovered->session, ENOMEM);
	if (refusal && !recovered->refused++)
		report(recovered->session, true, "event %u of %s cannot be recovered: %s", head->id,
				recovered->instance->procname,
				is_out_of_memory ? "out of memory" : wire_refusal_text(refusal));
	return true;
}

void recover_add(struct session *session, struct instance *instance)
{
	*session->instances.end = instance;
	session->instances.end = &instance->next;
	session->instances.nr++;
	trace_end(session, instance);
	trace_close(session, instance, NULL);
}
