/* SPDX-License-Identifier: MIT */
/* The process and the thread that an event belongs to. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report-identity.h"

#define NAME_MAX_BYTES 4096 /* longer names are cut */

/* ---- processes ---- */

static char *report_thread_copy_name(const char *text, size_t size)
{
	return text ? strndup(text, size) : NULL;
}

static bool same_text(const char *one, const char *other)
{
	return one == other || (one && other && strcmp(one, other) == 0);
}

/* The last process has just been added. */
static void mark_ambiguous(struct identity *identity, uint32_t last)
{
	struct identity_process *added = &identity->processes[last];

	for (uint32_t i = 0; i < last; i++) {
		struct identity_process *other = &identity->processes[i];

		if (other->pid != added->pid)
			continue;
		added->repeated = true;
		if (same_text(other->name, added->name))
			added->ambiguous = other->ambiguous = true;
	}
}

/*
 * An exec begins another trace with the name of the new program. A trace of several processes (of
 * the kernel) has names of threads. Without memory, the process keeps its name.
 */
static void report_identity_rename(struct identity_process *process, const struct ctf_trace *trace,
		const char *name, size_t name_size)
{
	char *copy;

	if (process->trace == trace->index || trace->vpid < 0)
		return;
	process->trace = trace->index;
	copy = report_thread_copy_name(name, name_size);
	if (!copy)
		return;
	free((void *)(uintptr_t)process->name);
	process->name = copy;
}

/*
 * A pid on a host identifies a process, also after an exec. A trace without a pid is a process of
 * its own.
 */
static uint32_t add_process(struct identity *identity, const struct ctf_trace *trace, int64_t pid,
		const char *name, size_t name_size)
{
	const char *hostname = trace->hostname ? trace->hostname : "";
	struct {
		int64_t pid;
		uint32_t trace;
		char hostname[256];
	} key;
	uint32_t number;
	struct identity_process *processes, added;

	memset(&key, 0, sizeof(key));
	key.pid = pid;
	key.trace = pid < 0 ? trace->index : 0;
	strncpy(key.hostname, hostname, sizeof(key.hostname) - 1);
	number = keys_find(&identity->keys, &key, sizeof(key));
	if (number != KEYS_NONE) {
		report_identity_rename(&identity->processes[number], trace, name, name_size);
		return number;
	}
	number = identity->keys.count;
	if (!(number & (number - 1))) { /* The array grows at 0, 1, 2, 4, … processes. */
		processes = realloc(identity->processes,
				(number ? (size_t)number * 2 : 1) * sizeof(*processes));
		if (!processes)
			return KEYS_NONE;
		identity->processes = processes;
	}
	added = (struct identity_process){
			.hostname = report_thread_copy_name(trace->hostname, NAME_MAX_BYTES),
			.name = report_thread_copy_name(name, name_size),
			.pid = pid,
			.trace = trace->index,
	};
	if (!added.hostname != !trace->hostname || !added.name != !name ||
			keys_add(&identity->keys, &key, sizeof(key)) == KEYS_NONE) {
		free((void *)(uintptr_t)added.hostname);
		free((void *)(uintptr_t)added.name);
		return KEYS_NONE;
	}
	identity->processes[number] = added;
	mark_ambiguous(identity, number);
	return number;
}

uint32_t identity_of_trace(struct identity *identity, const struct ctf_trace *trace)
{
	return add_process(identity, trace, trace->vpid, trace->procname, NAME_MAX_BYTES);
}

static void report_thread_find_contexts(struct identity *identity, struct identity_class *class,
		const struct ctf_item *item)
{
	class->known = true;
	event_member_find_context(&class->vpid, item, "vpid");
	event_member_find_context(&class->procname, item, "procname");
	if (!event_member_find_context(&class->vtid, item, "vtid"))
		event_member_find_context(&class->vtid, item, "tid");
	if (!event_member_find_context(&class->thread_name, item, "thread_name"))
		event_member_find_context(&class->thread_name, item, "pthread_name");
	class->fixed = item->trace->vpid >= 0 || !class->vpid.scope;
	if (class->fixed)
		class->process = identity_of_trace(identity, item->trace);
}

uint32_t identity_process(struct identity *identity, struct identity_class *class,
		const struct ctf_item *item)
{
	const struct ctf_value *name;
	uint64_t pid;

	if (__builtin_expect(!class->known, 0))
		report_thread_find_contexts(identity, class, item);
	if (class->fixed)
		return class->process;
	if (!event_member_number(&class->vpid, item, &pid))
		return identity_of_trace(identity, item->trace);
	name = event_member_value(&class->procname, item);
	if (!name || !name->is_text)
		return add_process(identity, item->trace, (int64_t)pid, item->trace->procname,
				NAME_MAX_BYTES);
	return add_process(identity, item->trace, (int64_t)pid, name->text, (size_t)name->size);
}

int64_t identity_thread(const struct identity_class *class, const struct ctf_item *item)
{
	uint64_t thread;

	return event_member_number(&class->vtid, item, &thread) ? (int64_t)thread : -1;
}

const char *identity_thread_name(
		const struct identity_class *class, const struct ctf_item *item, size_t *ret_size)
{
	const struct ctf_value *name = event_member_value(&class->thread_name, item);

	if (!name || !name->is_text)
		return NULL;
	*ret_size = (size_t)name->size;
	return name->text;
}

void identity_text(const struct identity *identity, uint32_t number, char *text, size_t size)
{
	const struct identity_process *process =
			number < identity->keys.count ? &identity->processes[number] : NULL;
	const char *on = process && process->ambiguous ? " on " : "";
	const char *host = process && process->hostname ? process->hostname : "?";

	if (!process)
		snprintf(text, size, "?");
	else if (process->name && process->pid >= 0)
		snprintf(text, size, "%.200s:%" PRId64 "%s%.200s", process->name, process->pid, on,
				*on ? host : "");
	else if (process->name)
		snprintf(text, size, "%.200s%s%.200s", process->name, on, *on ? host : "");
	else if (process->pid >= 0)
		snprintf(text, size, "pid %" PRId64 "%s%.200s", process->pid, on, *on ? host : "");
	else
		snprintf(text, size, "%.200s", host);
}

void identity_free(struct identity *identity)
{
	for (uint32_t i = 0; i < identity->keys.count; i++) {
		/* Nothing refers to these texts any more: identity_text() copies them. */
		free((void *)(uintptr_t)identity->processes[i].hostname);
		free((void *)(uintptr_t)identity->processes[i].name);
	}
	free(identity->processes);
	keys_free(&identity->keys);
}
