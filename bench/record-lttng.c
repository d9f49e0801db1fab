/* SPDX-License-Identifier: MIT */
/* Fires the recorded payloads as LTTng-UST tracepoints; bench/run sets up the session. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "record-lttng-tp.h"

#include "payload.h"

static inline void fire_u32(uint32_t i)
{
	lttng_ust_tracepoint(bench, u32, i);
}

static inline void fire_u32_string(uint32_t i)
{
	lttng_ust_tracepoint(bench, u32_string, i, "fifteen letters");
}

static inline void fire_u64x8(uint32_t i)
{
	lttng_ust_tracepoint(bench, u64x8, i, 1, 2, 3, 4, 5, 6, 7);
}

static inline void fire_kib(uint32_t i)
{
	kib[0] = (uint8_t)i;
	lttng_ust_tracepoint(bench, kib, kib);
}
