/* SPDX-License-Identifier: MIT */
/* Which events are operations of locks, and their fields. */
#include <stdlib.h>
#include <string.h>

#include "analysis/locks-state.h"

static const struct locks_operation operations[] = {
		{"pthread_mutex_init", LOCKS_MUTEX, LOCKS_INIT, false, false},
		{"pthread_mutex_destroy", LOCKS_MUTEX, LOCKS_DESTROY, false, false},
		{"pthread_mutex_lock", LOCKS_MUTEX, LOCKS_WAIT, false, false},
		{"pthread_mutex_trylock", LOCKS_MUTEX, LOCKS_TRY, false, false},
		{"pthread_mutex_timedlock", LOCKS_MUTEX, LOCKS_WAIT, false, true},
		{"pthread_mutex_clocklock", LOCKS_MUTEX, LOCKS_WAIT, false, true},
		{"pthread_mutex_unlock", LOCKS_MUTEX, LOCKS_RELEASE, false, false},
		{"pthread_rwlock_init", LOCKS_RWLOCK, LOCKS_INIT, false, false},
		{"pthread_rwlock_destroy", LOCKS_RWLOCK, LOCKS_DESTROY, false, false},
		{"pthread_rwlock_rdlock", LOCKS_RWLOCK, LOCKS_WAIT, true, false},
		{"pthread_rwlock_wrlock", LOCKS_RWLOCK, LOCKS_WAIT, false, false},
		{"pthread_rwlock_tryrdlock", LOCKS_RWLOCK, LOCKS_TRY, true, false},
		{"pthread_rwlock_trywrlock", LOCKS_RWLOCK, LOCKS_TRY, false, false},
		{"pthread_rwlock_timedrdlock", LOCKS_RWLOCK, LOCKS_WAIT, true, true},
		{"pthread_rwlock_timedwrlock", LOCKS_RWLOCK, LOCKS_WAIT, false, true},
		{"pthread_rwlock_clockrdlock", LOCKS_RWLOCK, LOCKS_WAIT, true, true},
		{"pthread_rwlock_clockwrlock", LOCKS_RWLOCK, LOCKS_WAIT, false, true},
		{"pthread_rwlock_unlock", LOCKS_RWLOCK, LOCKS_RELEASE, false, false},
		{"pthread_spin_lock", LOCKS_SPIN, LOCKS_WAIT, false, false},
		{"pthread_spin_trylock", LOCKS_SPIN, LOCKS_TRY, false, false},
		{"pthread_spin_unlock", LOCKS_SPIN, LOCKS_RELEASE, false, false},
		{"pthread_cond_init", LOCKS_CONDITION, LOCKS_INIT, false, false},
		{"pthread_cond_destroy", LOCKS_CONDITION, LOCKS_DESTROY, false, false},
		{"pthread_cond_wait", LOCKS_CONDITION, LOCKS_WAIT, false, false},
		{"pthread_cond_timedwait", LOCKS_CONDITION, LOCKS_WAIT, false, true},
		{"pthread_cond_clockwait", LOCKS_CONDITION, LOCKS_WAIT, false, true},
		{"pthread_cond_signal", LOCKS_CONDITION, LOCKS_RELEASE, false, false},
		{"pthread_cond_broadcast", LOCKS_CONDITION, LOCKS_RELEASE, false, false},
		{"sem_wait", LOCKS_SEMAPHORE, LOCKS_WAIT, false, false},
		{"sem_timedwait", LOCKS_SEMAPHORE, LOCKS_WAIT, false, true},
		{"sem_clockwait", LOCKS_SEMAPHORE, LOCKS_WAIT, false, true},
		{"sem_trywait", LOCKS_SEMAPHORE, LOCKS_TRY, false, false},
		{"sem_post", LOCKS_SEMAPHORE, LOCKS_RELEASE, false, false},
		{"pthread_barrier_wait", LOCKS_BARRIER, LOCKS_WAIT, false, false},
		{"pthread_join", LOCKS_JOIN, LOCKS_WAIT, false, false},
		{"pthread_create", LOCKS_JOIN, LOCKS_CREATE, false, false},
		{"pthread_exit", LOCKS_JOIN, LOCKS_EXIT, false, false},
};

static const char *const object_names[LOCKS_KINDS] = {
		[LOCKS_MUTEX] = "mutex",
		[LOCKS_RWLOCK] = "rwlock",
		[LOCKS_SPIN] = "spinlock",
		[LOCKS_CONDITION] = "cond",
		[LOCKS_SEMAPHORE] = "semaphore",
		[LOCKS_BARRIER] = "barrier",
		[LOCKS_JOIN] = "thread",
};

const char *locks_kind_name(enum locks_kind kind)
{
	static const char *const names[LOCKS_KINDS] = {
			[LOCKS_MUTEX] = "mutex",
			[LOCKS_RWLOCK] = "rwlock",
			[LOCKS_SPIN] = "spin lock",
			[LOCKS_CONDITION] = "condition",
			[LOCKS_SEMAPHORE] = "semaphore",
			[LOCKS_BARRIER] = "barrier",
			[LOCKS_JOIN] = "join",
	};

	return names[kind];
}

/* ---- fields ---- */

static bool locks_find_field(
		struct event_member *field, const struct ctf_item *item, const char *name)
{
	return event_member_find(field, EVENT_FIELDS, item, name);
}

/* ---- classes ---- */

static bool locks_ends_with(const char *name, size_t length, const char *suffix)
{
	size_t size = strlen(suffix);

	return length > size && memcmp(name + length - size, suffix, size) == 0;
}

/* The operation with this function, or NULL. */
static const struct locks_operation *locks_operation_of(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		if (strlen(operations[i].function) == length &&
				memcmp(operations[i].function, name, length) == 0)
			return &operations[i];
	return NULL;
}

static const char *locks_event_name(const char *event)
{
	const char *colon = strchr(event, ':');

	return colon ? colon + 1 : event;
}

/* Finds the function without the suffix of its event. */
static void locks_find_operation(struct locks_class *class, const char *event, bool is_probe)
{
	const char *name = locks_event_name(event), *suffix = is_probe ? "_return" : "_req";
	size_t length = strlen(name);
	bool has_suffix = locks_ends_with(name, length, suffix), is_pair;
	const struct locks_operation *operation =
			locks_operation_of(name, length - (has_suffix ? strlen(suffix) : 0));

	if (!operation)
		return;
	is_pair = operation->action == LOCKS_WAIT || (is_probe && operation->action == LOCKS_TRY);
	/* The return of another function says no more than its entry. */
	if (has_suffix && !is_pair)
		return;
	class->operation = operation;
	class->phase = !is_pair                  ? LOCKS_SINGLE
			: has_suffix == is_probe ? LOCKS_RESULT
						 : LOCKS_REQUEST;
}

uint8_t locks_class_releases(const struct ctf_trace *trace)
{
	uint8_t kinds = 0;

	for (uint32_t i = 0; i < ctf_trace_event_count(trace); i++) {
		const char *name = locks_event_name(ctf_trace_event(trace, i)->name);
		const struct locks_operation *operation = locks_operation_of(name, strlen(name));

		if (operation && operation->action == LOCKS_RELEASE)
			kinds |= (uint8_t)(1u << operation->kind);
	}
	return kinds;
}

bool locks_class_is_described(const struct ctf_trace *trace)
{
	struct locks_class class = {.operation = NULL};

	for (uint32_t i = 0; i < ctf_trace_event_count(trace) && !class.operation; i++) {
		const char *name = ctf_trace_event(trace, i)->name;

		locks_find_operation(&class, name, false);
		locks_find_operation(&class, name, true);
	}
	return class.operation != NULL;
}

struct locks_class *locks_class_create(const struct ctf_item *item, const struct view_event *view)
{
	struct locks_class *class = calloc(1, sizeof(*class));
	const char *name = item->event->name;
	bool is_probe;

	if (!class)
		return NULL;
	is_probe = locks_find_field(&class->call, item, "call");
	/* A probe without `--exit` has no number of a call: releases need none. */
	locks_find_operation(class, name, is_probe || strncmp(name, "pthread:", 8) != 0);
	if (!class->operation)
		return class;
	(void)locks_find_field(&class->object, item, object_names[class->operation->kind]);
	if (class->operation->kind == LOCKS_CONDITION)
		(void)locks_find_field(&class->mutex, item, "mutex");
	if (!locks_find_field(&class->result, item, "result"))
		(void)locks_find_field(&class->result, item, "return_value");
	if (class->operation->action == LOCKS_CREATE)
		(void)locks_find_field(&class->start, item, "start");
	event_stack_bind(&class->stack, item, view);
	return class;
}

bool locks_class_read(const struct locks_class *class, const struct ctf_item *item,
		struct locks_event *event)
{
	uint64_t result;

	event->operation = class->operation;
	event->has_object = event_member_number(&class->object, item, &event->object);
	if (!event_member_number(&class->mutex, item, &event->mutex))
		event->mutex = 0;
	if (!event_member_number(&class->call, item, &event->call))
		event->call = 0;
	/* The result of a function is an int; probes record the whole register. */
	event->result = event_member_number(&class->result, item, &result)
			? (int32_t)(uint32_t)result
			: 0;
	if (!event_member_number(&class->start, item, &event->start))
		event->start = 0;
	return event->has_object || event->call || class->operation->action == LOCKS_EXIT;
}
