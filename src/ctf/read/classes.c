/* SPDX-License-Identifier: MIT */
/* Finds the classes that the metadata defines. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/tsdl.h"
#include "base/inside/search.h"

int ctf_metadata_set_no_memory(struct error *error)
{
	return error_set(error, -ENOMEM, NULL, "out of memory for the metadata");
}

struct ctf_stream_class *ctf_stream_class_find(const struct ctf_trace_classes *classes, uint64_t id)
{
	for (uint32_t i = 0; i < classes->stream_count; i++) {
		if (classes->streams[i]->id == id)
			return classes->streams[i];
	}
	return NULL;
}

static int compare_events(const void *a, const void *b)
{
	const struct ctf_event_class *left = *(struct ctf_event_class *const *)a;
	const struct ctf_event_class *right = *(struct ctf_event_class *const *)b;

	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

/* Sort by id; of two with the same id, the first is kept. */
int ctf_stream_class_index(struct ctf_stream_class *stream, struct error *error)
{
	uint32_t kept = 0;
	int ret = 0;

	if (!stream->event_count)
		return 0;
	qsort(stream->events, stream->event_count, sizeof(*stream->events), compare_events);
	for (uint32_t i = 0; i < stream->event_count; i++) {
		if (kept && stream->events[kept - 1]->id == stream->events[i]->id) {
			ret = error_set(error, -EINVAL, NULL,
					"the metadata has two events with the id %" PRIu64
					" (\"%s\" and \"%s\")",
					stream->events[i]->id, stream->events[kept - 1]->name,
					stream->events[i]->name);
			continue;
		}
		stream->events[kept++] = stream->events[i];
	}
	stream->event_count = kept;
	stream->direct = stream->events[kept - 1]->id == kept - 1;
	return ret;
}

struct ctf_event_class *ctf_event_class_find(const struct ctf_stream_class *stream, uint64_t id)
{
	uint32_t low;

	if (stream->direct)
		return id < stream->event_count ? stream->events[id] : NULL;
	low = search_leading(i, stream->event_count, stream->events[i]->id < id);
	return low < stream->event_count && stream->events[low]->id == id ? stream->events[low]
									  : NULL;
}

void ctf_trace_note_environment(struct ctf_trace *trace)
{
	trace->vpid = -1;
	for (uint32_t i = 0; i < trace->environment_count; i++) {
		const struct ctf_environment *env = &trace->environment[i];

		if (strcmp(env->key, "procname") == 0)
			trace->procname = env->text;
		else if (strcmp(env->key, "hostname") == 0)
			trace->hostname = env->text;
		else if (strcmp(env->key, "vpid") == 0 && !env->text)
			trace->vpid = env->number;
		else if (strcmp(env->key, "tracer_name") == 0 && env->text)
			trace->is_side = strcmp(env->text, "side") == 0;
	}
}

bool ctf_tsdl_usable(const struct ctf_trace_classes *classes)
{
	return classes->has_trace && (classes->stream_count || classes->is_whole);
}

/* ---- access through struct ctf_trace ---- */

/* The public part is the first member of struct ctf_trace_classes. */
uint32_t ctf_trace_class_count(const struct ctf_trace *trace)
{
	return ((const struct ctf_trace_classes *)trace)->stream_count;
}

void ctf_trace_class(const struct ctf_trace *trace, uint32_t index,
		struct ctf_stream_class_info *ret_info)
{
	const struct ctf_stream_class *class =
			((const struct ctf_trace_classes *)trace)->streams[index];
	const struct ctf_type *packet = class->packet_context;

	*ret_info = (struct ctf_stream_class_info){
			.id = class->id, .context = class->event_context};
	for (uint32_t i = 0; packet && i < packet->member_count; i++)
		ret_info->per_cpu |= packet->members[i].role == CTF_ROLE_CPU_ID;
}
