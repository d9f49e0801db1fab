/* SPDX-License-Identifier: MIT */
#include "keys.h"

#include "callbacks.h"
#include "export.h"
#include "functions.h"
#include "lock.h"

static struct futex_lock lock;
static uint64_t next_key = SIDE_KEY_FIRST; /* 0: all have been given out */

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
		*key = next_key++;
		result = SIDE_ERROR_OK;
	}
	keys_unlock();
	return result;
}
