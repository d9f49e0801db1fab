/* SPDX-License-Identifier: MIT */
/* Runs filters, one a line, on the event of docs/reference/filters.md, and prints the results. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <side/trace.h>

#include "filter/filter.h"

static side_define_struct(
		address, side_field_list(side_field_string("street"), side_field_u16("door")));
static side_define_array(color, side_elem(side_type_u8()), 3);
static side_define_struct(
		item, side_field_list(side_field_string("name"), side_field_u32("count")));
static side_define_vla(items, side_elem(side_type_struct(item)), side_length(side_type_u32()));
static side_define_optional(optional_text, side_elem(side_type_string()));
static side_define_struct(
		transfer, side_field_list(side_field_string("bank"), side_field_u32("code")));
static side_define_variant(payment, side_type_u8(),
		side_option_list(side_option(0, side_type_u64()),
				side_option(1, side_type_struct(transfer))));
static side_define_enum(states,
		side_enum_mapping_list(side_enum_mapping_value("new", 0),
				side_enum_mapping_range("in work", 1, 3),
				side_enum_mapping_value("packed", 3),
				side_enum_mapping_value("done", 4)));
static side_define_enum_bitmap(flags,
		side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value("gift", 0),
				side_enum_bitmap_mapping_value("express", 1),
				side_enum_bitmap_mapping_range("reserved", 2, 7)));

#define FIELDS                                                                              \
	side_field_list(side_field_u64("order"), side_field_u32("limit"),                   \
			side_field_s32("balance"), side_field_float_binary64("total"),      \
			side_field_bool("paid"), side_field_string("customer"),             \
			side_field_string("file"), side_field_struct("address", address),   \
			side_field_array("color", color), side_field_vla("items", items),   \
			side_field_optional("note", optional_text),                         \
			side_field_optional("gift", optional_text),                         \
			side_field_variant("payment", payment),                             \
			side_field_enum("state", &states, side_elem(side_type_u8())),       \
			side_field_enum_bitmap("flags", &flags, side_elem(side_type_u8())), \
			side_field_u128("serial"), side_field_dynamic("extra"), )

side_static_event_variadic(order, "shop", "order", SIDE_LOGLEVEL_INFO, FIELDS);
side_static_event(plain, "shop", "plain", SIDE_LOGLEVEL_INFO, FIELDS);

static int resolve(void *user, const char *name)
{
	static const char *const names[] = {"vpid", "procname", "app:shop:request"};
	int i;

	(void)user;
	for (i = 0; i < 3; i++) {
		if (!strcmp(name, names[i]))
			return i;
	}
	return -1;
}

static bool load(void *user, int index, const void *caller, struct filter_value *value)
{
	(void)user;
	(void)caller;
	if (!index)
		filter_value_signed(value, 42);
	else
		filter_value_text(value, index == 1 ? "redis-server" : "GET /", FILTER_TERMINATED);
	return true;
}

static const struct filter_names names = {.resolve = resolve};
static const struct filter_contexts contexts = {.load = load};

static struct filter *make(const void *program, size_t size,
		const struct side_event_description *desc, struct filter_error *error)
{
	ssize_t need = filter_link_size(program, size, desc, &names, error);
	struct filter *filter = NULL;

	if (need > 0 &&
			filter_link(program, size, desc, &names, malloc((size_t)need), (size_t)need,
					&filter, error))
		abort();
	return filter;
}

static void answer(const char *text, const struct side_event_description *desc,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *variadic)
{
	struct filter_error error;
	struct filter *filter;
	void *program;
	size_t size;

	if (filter_parse(text, &program, &size, &error)) {
		printf("column %u: %s%s%s\n", error.column, error.text,
				*error.hint ? "; hint: " : "", error.hint);
		return;
	}
	filter = make(program, size, desc, &error);
	if (!filter)
		printf("never: %s%s%s\n", error.text, *error.hint ? "; hint: " : "", error.hint);
	else
		printf("%s\n",
				filter_matches(filter, args, variadic, NULL, &contexts) ? "yes"
											: "no");
	free(filter);
	/* The result for the same event without variadic fields. */
	filter = make(program, size, &plain, &error);
	printf("%s%s%s\n", filter ? "" : error.text, !filter && *error.hint ? "; hint: " : "",
			filter ? "" : error.hint);
	free(filter);
	free(program);
}

static void on_event(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic, void *priv, void *caller)
{
	char line[4096];

	(void)priv;
	(void)caller;
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		answer(line, desc, args, variadic);
	}
}

int main(void)
{
	side_arg_define_struct(home, side_arg_list(side_arg_string("Long Lane"), side_arg_u16(12)));
	side_arg_define_array(
			rgb, side_arg_list(side_arg_u8(10), side_arg_u8(20), side_arg_u8(30)));
	side_arg_define_struct(tea, side_arg_list(side_arg_string("tea"), side_arg_u32(2)));
	side_arg_define_struct(cup, side_arg_list(side_arg_string("cup"), side_arg_u32(40)));
	side_arg_define_vla(bought, side_arg_list(side_arg_struct(tea), side_arg_struct(cup)));
	side_arg_define_optional(note, side_arg_string(""), SIDE_OPTIONAL_DISABLED);
	side_arg_define_optional(gift, side_arg_string("bow"), SIDE_OPTIONAL_ENABLED);
	side_arg_define_struct(
			bank, side_arg_list(side_arg_string("Thread & Needle"), side_arg_u32(77)));
	side_arg_define_variant(paid, side_arg_u8(1), side_arg_struct(bank));
	side_arg_dynamic_define_vec(list,
			side_arg_list(side_arg_dynamic_u8(1), side_arg_dynamic_string("two")));
	side_arg_dynamic_define_struct(extra,
			side_arg_list(side_arg_dynamic_field("list", side_arg_dynamic_vla(&list)),
					side_arg_dynamic_field("ok", side_arg_dynamic_bool(true))));

	if (side_tracer_callback_variadic_register(&order, on_event, NULL, 0) != SIDE_ERROR_OK)
		return 1;
	side_event_call_variadic(order,
			side_arg_list(side_arg_u64(4711), side_arg_u32(100), side_arg_s32(-5),
					side_arg_float_binary64(19.5), side_arg_bool(true),
					side_arg_string("Ada"), side_arg_string("what*.txt"),
					side_arg_struct(home), side_arg_array(rgb),
					side_arg_vla(bought), side_arg_optional(note),
					side_arg_optional(gift), side_arg_variant(paid),
					side_arg_u8(3), side_arg_u8(3),
					side_arg_u128((unsigned __int128)1 << 100),
					side_arg_dynamic_struct(&extra)),
			side_arg_list(side_arg_dynamic_field(
						      "device", side_arg_dynamic_string("till 3")),
					side_arg_dynamic_field(
							"latency_us", side_arg_dynamic_u32(250))));
	return 0;
}
