/* SPDX-License-Identifier: MIT */
/* The same payloads as LTTng-UST tracepoints. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "record-lttng-tp.h"

#if !defined(SIDE_BENCH_RECORD_LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SIDE_BENCH_RECORD_LTTNG_TP_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench, u32, LTTNG_UST_TP_ARGS(uint32_t, i),
		LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, i, i)))

LTTNG_UST_TRACEPOINT_EVENT(bench, u32_string, LTTNG_UST_TP_ARGS(uint32_t, i, const char *, text),
		LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, i, i)
						lttng_ust_field_string(text, text)))

LTTNG_UST_TRACEPOINT_EVENT(bench, u64x8,
		LTTNG_UST_TP_ARGS(uint64_t, a, uint64_t, b, uint64_t, c, uint64_t, d, uint64_t, e,
				uint64_t, f, uint64_t, g, uint64_t, h),
		LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, a, a) lttng_ust_field_integer(
				uint64_t, b, b) lttng_ust_field_integer(uint64_t, c,
				c) lttng_ust_field_integer(uint64_t, d,
				d) lttng_ust_field_integer(uint64_t, e,
				e) lttng_ust_field_integer(uint64_t, f,
				f) lttng_ust_field_integer(uint64_t, g, g)
						lttng_ust_field_integer(uint64_t, h, h)))

LTTNG_UST_TRACEPOINT_EVENT(bench, kib, LTTNG_UST_TP_ARGS(const uint8_t *, data),
		LTTNG_UST_TP_FIELDS(lttng_ust_field_array(uint8_t, data, data, 1024)))

#endif

#include <lttng/tracepoint-event.h>
