/* SPDX-License-Identifier: MIT */
/* One event with fields of every type, and its arguments. */
#ifndef TESTS_FILTER_SAMPLE_H
#define TESTS_FILTER_SAMPLE_H

#include <stdbool.h>

#include <side/trace.h>

#include "filter/filter.h"

/* A callback that gets the description and the arguments; they live during the call. */
typedef void (*sample_func)(const struct side_event_description *desc,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *variadic,
		void *priv, void *caller);
void sample_fire(sample_func func, void *priv);

/* The application's visitors fail from now on. */
extern bool sample_visitors_fail;

/* Contexts: vpid 42, procname "redis-server", load 0.5, ip the caller; "absent" has no value. */
extern const struct filter_names sample_names;
extern const struct filter_contexts sample_contexts;

#endif /* TESTS_FILTER_SAMPLE_H */
