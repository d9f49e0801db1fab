/* SPDX-License-Identifier: MIT */
/* Allocates keys of tracers. */
#include "keys.h"

#include "export.h"
#include "functions.h"
#include "lock.h"

static struct futex_lock lock;
static uint64_t next_key = SIDE_KEY_FIRST; /* 0: none is left */

void keys_lock(void)
{
	futex_lock(&lock);
}

void keys_unlock(void)
{
	futex_unlock(&lock);
}

EXPORT int side_tracer_request_key(uint64_t *key)
{
	int result = SIDE_ERROR_NOMEM;

	if (!key)
		return SIDE_ERROR_INVAL;
	keys_lock();
	if (next_key) {
		*key = next_key;
		/* Relaxed: the owner of a key orders passing it to other threads. */
		__atomic_store_n(&next_key, next_key + 1, __ATOMIC_RELAXED);
		result = SIDE_ERROR_OK;
	}
	keys_unlock();
	return result;
}

#if __SIZEOF_POINTER__ == 8
bool key_is_allocated(uint64_t key)
{
	uint64_t next = __atomic_load_n(&next_key, __ATOMIC_RELAXED);

	return key == SIDE_KEY_MATCH_ALL || (key >= SIDE_KEY_FIRST && (!next || key < next));
}
#else
/*
 * On 32-bit hosts the two words are not read atomically: while a key is being allocated, accept
 * all.
 */
bool key_is_allocated(uint64_t key)
{
	bool is_allocated;

	if (key == SIDE_KEY_MATCH_ALL || !futex_trylock(&lock))
		return !key_is_reserved(key);
	is_allocated = key >= SIDE_KEY_FIRST && (!next_key || key < next_key);
	futex_unlock(&lock);
	return is_allocated;
}
#endif
