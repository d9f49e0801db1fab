/* SPDX-License-Identifier: MIT */
/*
 * Contexts of the application: their names, and the functions that provide them.
 *
 * A name gets a slot once and for ever, so a tracer may keep a pointer to the slot before the first
 * registration and after the last. A slot points to the registration that provides the name, or to
 * NULL. Events read that pointer within the read-side section of their callback, so a registration
 * is freed after a grace period.
 *
 * There is no lock: a compare-and-swap appends a slot to the list, sets a registration, or removes
 * it. A fork at any moment leaves the child a complete list.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "functions.h"
#include "rcu.h"
#include "registry-lock.h"

#include <side/context.h>

enum {
	NAMES_MAX = 73, /* bytes of provider and name */
	CONTEXTS_MAX = 1024,
};

struct side_context_handle {
	struct side_context_handle *next_retired;
	uintptr_t retired_at;
	struct side_context_place *slot;
	side_context_func get;
	void *priv;
};

struct side_context_place {
	struct side_context_place *next;
	struct side_context_handle *provider;
	char names[NAMES_MAX + 2]; /* provider, NUL, name, NUL */
};

/* Memory that costs nothing before the first context is used. */
static struct side_context_place slots[CONTEXTS_MAX];
static uint32_t nr_taken; /* slots ever taken */
static struct side_context_place *first_slot;
static struct side_context_handle *first_retired;

/* ---- slots ---- */

static bool context_is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			c == '.' || c == '_' || c == '-';
}

/* Bytes of a name, 0 if it is invalid. */
static size_t context_name_size(const char *name)
{
	size_t size = 0;

	if (!name)
		return 0;
	while (size <= NAMES_MAX && context_is_name_byte(name[size]))
		size++;
	return name[size] ? 0 : size;
}

static bool libside_context_slot_matches(
		const struct side_context_place *slot, const char *provider, const char *name)
{
	return !strcmp(slot->names, provider) &&
			!strcmp(slot->names + strlen(slot->names) + 1, name);
}

static struct side_context_place *libside_context_new_slot(
		const char *provider, size_t provider_size, const char *name, size_t size)
{
	struct side_context_place *slot;
	uint32_t index = __atomic_load_n(&nr_taken, __ATOMIC_RELAXED);

	do {
		if (index >= CONTEXTS_MAX)
			return NULL;
		/* Relaxed: only the number. The list publishes the content of the slot. */
	} while (!__atomic_compare_exchange_n(
			&nr_taken, &index, index + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	slot = &slots[index];
	memcpy(slot->names, provider, provider_size + 1);
	memcpy(slot->names + provider_size + 1, name, size + 1);
	return slot;
}

/*
 * Find the first slot of the name in the list; *ret_end is the link where the next one must be
 * appended.
 */
static struct side_context_place *libside_context_search(struct side_context_place **from,
		const char *provider, const char *name, struct side_context_place ***ret_end)
{
	struct side_context_place *slot;

	/* Acquire: the names in the slot. Pairs with the release in side_context_find(). */
	for (; (slot = __atomic_load_n(from, __ATOMIC_ACQUIRE)); from = &slot->next)
		if (libside_context_slot_matches(slot, provider, name))
			break;
	*ret_end = from;
	return slot;
}

EXPORT struct side_context_place *side_context_find(const char *provider, const char *name)
{
	size_t provider_size = context_name_size(provider);
	size_t size = context_name_size(name);
	struct side_context_place **end = &first_slot;
	struct side_context_place *slot, *added;

	if (!provider_size || !size || provider_size + size > NAMES_MAX)
		return NULL;
	slot = libside_context_search(end, provider, name, &end);
	if (slot)
		return slot;
	added = libside_context_new_slot(provider, provider_size, name, size);
	if (!added)
		return NULL;
	for (;;) {
		struct side_context_place *expected = NULL;

		/*
		 * Release: the names before the pointer. Pairs with the acquire in
		 * libside_context_search().
		 */
		if (__atomic_compare_exchange_n(end, &expected, added, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED))
			return added;
		/*
		 * Another thread appended a slot; if it has this name, the new slot stays unused.
		 */
		slot = libside_context_search(end, provider, name, &end);
		if (slot)
			return slot;
	}
}

/* ---- retired registrations ---- */

/* Put a chain of registrations, from first to last, back on the list. */
static void context_push_retired(
		struct side_context_handle *first, struct side_context_handle *last)
{
	struct side_context_handle *seen = __atomic_load_n(&first_retired, __ATOMIC_RELAXED);

	do {
		last->next_retired = seen;
		/* Release: the chain. Pairs with the acquire in libside_context_free_retired(). */
	} while (!__atomic_compare_exchange_n(
			&first_retired, &seen, first, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static void libside_context_free_retired(void)
{
	uintptr_t completed = rcu_last_elapsed();
	struct side_context_handle *handle, *next;

	/*
	 * Acquire: the chain. Pairs with the release in context_push_retired(). From here on, no
	 * other thread has it.
	 */
	handle = __atomic_exchange_n(&first_retired, NULL, __ATOMIC_ACQUIRE);
	for (; handle; handle = next) {
		next = handle->next_retired;
		if ((intptr_t)(handle->retired_at - completed) < 0)
			free(handle);
		else
			context_push_retired(handle, handle);
	}
}

/* ---- functions for applications ---- */

EXPORT int side_context_register(const char *provider, const char *name, side_context_func get,
		void *priv, struct side_context_handle **handle)
{
	struct side_context_handle *added, *expected = NULL;
	struct side_context_place *slot;
	size_t provider_size = context_name_size(provider);
	size_t size = context_name_size(name);

	if (!get || !provider_size || !size || provider_size + size > NAMES_MAX)
		return SIDE_ERROR_INVAL;
	side_init();
	if (registry_is_finished())
		return SIDE_ERROR_EXITING;
	libside_context_free_retired();
	slot = side_context_find(provider, name);
	if (!slot)
		return SIDE_ERROR_NOMEM;
	added = calloc(1, sizeof(*added));
	if (!added)
		return SIDE_ERROR_NOMEM;
	added->slot = slot;
	added->get = get;
	added->priv = priv;
	/*
	 * Before the registration can be found: after that it belongs to the thread that
	 * unregisters it, which may be another one.
	 */
	if (handle)
		__atomic_store_n(handle, added, __ATOMIC_RELAXED);
	/* Release: the registration before the pointer. Pairs with side_context_read(). */
	if (__atomic_compare_exchange_n(&slot->provider, &expected, added, false, __ATOMIC_RELEASE,
			    __ATOMIC_RELAXED))
		return SIDE_ERROR_OK;
	if (handle)
		__atomic_store_n(handle, NULL, __ATOMIC_RELAXED);
	free(added);
	return SIDE_ERROR_EXIST;
}

EXPORT void side_context_unregister(struct side_context_handle *handle)
{
	struct side_context_handle *expected = handle;

	if (!handle)
		return;
	/*
	 * Sequentially consistent: no thread can find the context any more, before we check whether
	 * a thread is in a section. Pairs with the fence in rcu_enter_slow(). The caller must not
	 * unregister a handle twice.
	 */
	if (!__atomic_compare_exchange_n(&handle->slot->provider, &expected, NULL, false,
			    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return;
	/*
	 * Destructors run while other threads emit events: those may use the registration for ever.
	 */
	if (registry_is_finished())
		return;
	handle->retired_at = rcu_now();
	if (rcu_is_started() && registry_may_wait()) {
		rcu_synchronize();
		free(handle);
	} else if (rcu_is_started()) {
		context_push_retired(handle, handle);
	} else {
		/* No thread ever entered a section. */
		free(handle);
	}
	libside_context_free_retired();
}

/* ---- functions for tracers ---- */

EXPORT void side_context_read(
		const struct side_context_place *place, struct side_context_value *value)
{
	const struct side_context_handle *provider;
	struct rcu_reader *reader = NULL;
	bool leave = false;
	int saved_errno = errno;

	value->kind = SIDE_CONTEXT_NONE;
	if (!place)
		return;
	/* An event callback is in a section already. A caller outside of one needs this section. */
	if (!rcu_inside()) {
		reader = rcu_enter_slow(&leave);
		if (!reader)
			return;
	}
	/*
	 * Acquire: the content of the registration. Pairs with the release in
	 * side_context_register().
	 */
	provider = __atomic_load_n(&place->provider, __ATOMIC_ACQUIRE);
	if (provider)
		provider->get(value, provider->priv);
	if (leave)
		rcu_leave(reader);
	errno = saved_errno;
}
