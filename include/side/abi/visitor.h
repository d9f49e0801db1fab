/* SPDX-License-Identifier: MIT */
/*
 * SIDE ABI: visitors, functions of the application that pass elements one by one.
 *
 * The tracer builds a context and calls the application's function with it. That function calls
 * write_elem or write_field once for each element, which must be valid during that call only. It
 * returns SIDE_VISITOR_STATUS_ERROR as soon as a call returns anything but SIDE_VISITOR_STATUS_OK,
 * and SIDE_VISITOR_STATUS_OK at the end. Each tracer of the event runs it again, so it must be
 * repeatable and must not change the data. It runs in the thread of the call site.
 */
#ifndef SIDE_ABI_VISITOR_H
#define SIDE_ABI_VISITOR_H

#pragma GCC system_header

struct side_arg;
struct side_arg_dynamic_field;
struct side_tracer_visitor_ctx;
struct side_tracer_dynamic_struct_visitor_ctx;

enum side_visitor_status {
	SIDE_VISITOR_STATUS_OK = 0,
	SIDE_VISITOR_STATUS_ERROR = -1,
};

/* Functions of the tracer. */
typedef enum side_visitor_status (*side_write_elem_func)(
		const struct side_tracer_visitor_ctx *tracer_ctx, const struct side_arg *elem);
typedef enum side_visitor_status (*side_write_field_func)(
		const struct side_tracer_dynamic_struct_visitor_ctx *tracer_ctx,
		const struct side_arg_dynamic_field *field);

/* Functions of the application. */
typedef enum side_visitor_status (*side_visitor_func)(
		const struct side_tracer_visitor_ctx *tracer_ctx, void *app_ctx);
typedef enum side_visitor_status (*side_dynamic_struct_visitor_func)(
		const struct side_tracer_dynamic_struct_visitor_ctx *tracer_ctx, void *app_ctx);

/* Native pointers, not packed: both sides are in the same process. */
struct side_tracer_visitor_ctx {
	side_write_elem_func write_elem;
	void *priv; /* of the tracer */
};

struct side_tracer_dynamic_struct_visitor_ctx {
	side_write_field_func write_field;
	void *priv; /* of the tracer */
};

#endif /* SIDE_ABI_VISITOR_H */
