/* SPDX-License-Identifier: MIT */
/*
 * Descriptions that readers must not follow, registered at run time: the validator reports the
 * error of each, and the program runs on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE_STATIC_CHECK_DISABLE
#include <side/trace.h>

static side_define_struct(st, side_field_list(side_field_u8("inner")));
side_static_event(ev_good, "d", "good", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_struct("s", st), side_field_u32("n")));
side_static_event(ev_twice, "d", "twice", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u8("same"), side_field_u8("same")));

/* Invalid data must stay valid memory as long as it is registered. */
struct wrong {
	struct side_event_description desc;
	struct side_event_state_0 state;
	struct side_event_field fields[2];
	struct side_type_struct structure;
	struct side_event_description *list[1];
};

static struct wrong *begin(const char *name)
{
	struct wrong *wrong = calloc(1, sizeof(*wrong));
	const struct side_event_field *fields = side_array_elements(&ev_good.fields);

	if (!wrong)
		exit(1);
	memcpy(&wrong->desc, &ev_good, sizeof(wrong->desc));
	memcpy(wrong->fields, fields, sizeof(wrong->fields));
	memcpy(&wrong->structure, &st, sizeof(st));
	wrong->state.parent.version = SIDE_EVENT_STATE_ABI_VERSION;
	wrong->state.callbacks = (const struct side_callback *)&side_empty_callback[0];
	wrong->state.desc = &wrong->desc;
	side_ptr_set(wrong->desc.state, &wrong->state.parent);
	side_ptr_set(wrong->desc.event_name, name);
	side_ptr_set(wrong->desc.fields.elements, wrong->fields);
	side_ptr_set(wrong->fields[0].side_type.u.side_struct, &wrong->structure);
	wrong->list[0] = &wrong->desc;
	fprintf(stderr, "# %s\n", name);
	return wrong;
}

/* A description that is passed to no tracer is known to no tracer. */
static struct wrong *registered[8];

static void register_it(struct wrong *wrong)
{
	static unsigned int nr;

	registered[nr++] = wrong;
	(void)side_events_register(wrong->list, 1);
}

int main(void)
{
	static struct side_type_vla_visitor visitor;
	struct wrong *wrong = begin("cycle");

	/* A structure whose member is the structure itself. */
	side_ptr_set(wrong->structure.fields.elements, wrong->fields);
	register_it(wrong);

	wrong = begin("label");
	wrong->fields[1].side_type.type.v = 777;
	register_it(wrong);

	wrong = begin("unreadable");
	side_ptr_set(wrong->desc.fields.elements, (const struct side_event_field *)0x1000);
	register_it(wrong);

	wrong = begin("length");
	wrong->desc.fields.length = UINT32_MAX;
	register_it(wrong);

	wrong = begin("size");
	wrong->fields[1].side_type.u.side_integer.integer_size = 3;
	register_it(wrong);

	wrong = begin("function");
	side_ptr_set(visitor.elem_type, &side_array_at(&ev_twice.fields, 0)->side_type);
	side_ptr_set(visitor.length_type, &side_array_at(&ev_twice.fields, 0)->side_type);
	side_enum_set(wrong->fields[1].side_type.type, SIDE_TYPE_VLA_VISITOR);
	side_ptr_set(wrong->fields[1].side_type.u.side_vla_visitor, &visitor);
	register_it(wrong);
	fprintf(stderr, "# end\n");
	return 0;
}
