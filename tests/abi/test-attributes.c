/* SPDX-License-Identifier: MIT */
/*
 * Attributes are found by their whole name. They are refused if the encoded description ends within
 * them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <side/trace.h>

#include "abi/visit.h"
#include "../check.h"

/* Keys of attributes: only the whole name matches, in units of any size and byte order. */
static void names(void)
{
	static const struct side_attr attributes[] = {
			side_attr("std", side_attr_u8(1)),
			side_attr("std.integer", side_attr_u8(2)),
			side_attr("std.integer.base.more", side_attr_u8(3)),
			side_attr("std.integer.base", side_attr_u8(16)),
			side_attr("std.integer.base", side_attr_u8(8)),
			side_attr("", side_attr_u8(6)),
	};
	static const struct {
		const char *name;
		int found;
	} cases[] = {{"std", 0}, {"std.integer", 1}, {"std.integer.base.more", 2},
			{"std.integer.base", 3}, {"", 5}, {"st", -1}, {"std.", -1},
			{"std.integer.bas", -1}, {"std.integer.base.", -1}, {"xstd", -1}};
	struct visit_attributes all = {attributes, sizeof(attributes) / sizeof(*attributes)};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct side_attr *found = visit_attribute_find(all, cases[i].name);

		CHECK(found == (cases[i].found < 0 ? NULL : &attributes[cases[i].found]));
	}
	CHECK(visit_attribute_base(all, 10) == 16);
	all.nr = 0;
	CHECK(!visit_attribute_find(all, "std"));
}

#define ONE(type, value) side_attr_list(side_attr("k", side_attr_##type(value)))
side_static_event(ev_bool, "p", "bool", SIDE_LOGLEVEL_INFO, side_field_list(), ONE(bool, 1));
side_static_event(ev_u8, "p", "u8", SIDE_LOGLEVEL_INFO, side_field_list(), ONE(u8, 1));
side_static_event(ev_u16, "p", "u16", SIDE_LOGLEVEL_INFO, side_field_list(), ONE(u16, 1));
side_static_event(ev_u32, "p", "u32", SIDE_LOGLEVEL_INFO, side_field_list(), ONE(u32, 1));
side_static_event(ev_u64, "p", "u64", SIDE_LOGLEVEL_INFO, side_field_list(), ONE(u64, 1));
side_static_event(ev_s128, "p", "s128", SIDE_LOGLEVEL_INFO, side_field_list(), ONE(s128, 1));
side_static_event(
		ev_f64, "p", "f64", SIDE_LOGLEVEL_INFO, side_field_list(), ONE(float_binary64, 1));
side_static_event(ev_text, "p", "text", SIDE_LOGLEVEL_INFO, side_field_list(),
		ONE(string, "some text"));

/*
 * Descriptions that end with an attribute, truncated after each byte: exactly this error must be
 * reported.
 */
static void cut_attributes(void)
{
	const struct side_event_description *const all[] = {
			&ev_bool, &ev_u8, &ev_u16, &ev_u32, &ev_u64, &ev_s128, &ev_f64, &ev_text};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct visit_owned *owned;
		struct visit_buffer good;
		struct visit_error error;

		visit_buffer_heap(&good);
		CHECK(!visit_description_encode(all[i], &good, NULL));
		for (size_t cut = 12; cut < good.size; cut++) {
			/* The bytes after it are not readable. */
			unsigned char *bytes = malloc(cut);

			memcpy(bytes, good.data, cut);
			memcpy(bytes + 8, &(uint32_t){(uint32_t)cut}, 4);
			CHECK(visit_description_decode(bytes, cut, &owned, &error) == -EINVAL);
			CHECK(!strcmp(error.what, "the encoded description is cut off"));
			free(bytes);
		}
		CHECK(!visit_description_decode(good.data, good.size, &owned, &error));
		visit_owned_free(owned);
		visit_buffer_free(&good);
	}
}

int main(void)
{
	names();
	cut_attributes();
	return 0;
}
