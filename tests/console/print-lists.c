/* SPDX-License-Identifier: MIT */
/* VLA visitor. What the console tracer prints for it: */
/*= provider: lists, event: dump, fields: { items: { elements: [ { value: 1 }, { value: 2 } ] } } */
/* Described as: */
/*: event description: provider: lists, event: dump, fields: { items: { type: vla_visitor { length: { type: integer { size: 4, signedness: false, byte_order: "le" } }, element: { type: integer { size: 4, signedness: true, byte_order: "le" } } } } } */
#include <side/trace.h>

struct node {
	int value;
	struct node *next;
};

static enum side_visitor_status walk_list(
		const struct side_tracer_visitor_ctx *tracer, struct node *n)
{
	for (; n; n = n->next) {
		const struct side_arg elem = side_visit_dynamic_arg(side_arg_s32, n->value);

		if (tracer->write_elem(tracer, &elem) != SIDE_VISITOR_STATUS_OK)
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return SIDE_VISITOR_STATUS_OK;
}

side_define_static_vla_visitor(vv_list, side_elem(side_type_s32()), side_length(side_type_u32()),
		walk_list, struct node);

side_static_event(ev_list, "lists", "dump", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_vla_visitor("items", vv_list)));

int main(void)
{
	struct node b = {2, NULL}, a = {1, &b};

	if (side_event_enabled(ev_list)) {
		side_arg_define_vla_visitor(items, &a);
		side_event_call(ev_list, side_arg_list(side_arg_vla_visitor(items)));
	}
	return 0;
}
