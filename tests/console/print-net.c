/* SPDX-License-Identifier: MIT */
/* Gather. What the console tracer prints for it: */
/*= provider: net, event: rx, fields: { packet: { fields: { id: { value: 5 }, prio: { value: 3 }, host: { value: "example" }, words: { elements: [ { value: 7 }, { value: 8 }, { value: 9 } ] } } } } */
/* Described as: */
/*: event description: provider: net, event: rx, fields: { packet: { type: gather_struct { size: 32, offset: 0, access_mode: "direct", fields: { id: { type: gather_integer { size: 2, signedness: false, byte_order: "le", offset: 0, offset_bits: 0, access_mode: "direct" } }, prio: { type: gather_integer { size: 2, signedness: false, byte_order: "le", len_bits: 4, offset: 2, offset_bits: 4, access_mode: "direct" } }, host: { type: gather_string { unit_size: 1, offset: 8, access_mode: "pointer" } }, words: { type: gather_vla { offset: 24, access_mode: "pointer", length: { type: gather_integer { size: 1, signedness: false, byte_order: "le", offset: 16, offset_bits: 0, access_mode: "direct" } }, element: { type: gather_integer { size: 4, signedness: false, byte_order: "le", offset: 0, offset_bits: 0, access_mode: "direct" } } } } } } } } */
#include <stddef.h>
#include <side/trace.h>

struct packet {
	uint16_t id;
	uint16_t flags; /* bits 4..7 = priority */
	const char *host;
	uint8_t nr;
	uint32_t *words;
};

static side_define_struct(st_packet,
		side_field_list(side_field_gather_unsigned_integer("id",
						offsetof(struct packet, id),
						side_struct_field_sizeof(struct packet, id), 0, 0,
						SIDE_TYPE_GATHER_ACCESS_DIRECT),
				side_field_gather_unsigned_integer("prio",
						offsetof(struct packet, flags),
						side_struct_field_sizeof(struct packet, flags), 4,
						4, SIDE_TYPE_GATHER_ACCESS_DIRECT),
				side_field_gather_string("host", offsetof(struct packet, host),
						SIDE_TYPE_GATHER_ACCESS_POINTER),
				side_field_gather_vla("words",
						side_elem(side_type_gather_unsigned_integer(0,
								sizeof(uint32_t), 0, 0,
								SIDE_TYPE_GATHER_ACCESS_DIRECT)),
						offsetof(struct packet, words),
						SIDE_TYPE_GATHER_ACCESS_POINTER,
						side_length(side_type_gather_unsigned_integer(
								offsetof(struct packet, nr),
								sizeof(uint8_t), 0, 0,
								SIDE_TYPE_GATHER_ACCESS_DIRECT))), ));

side_static_event(ev_rx, "net", "rx", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_gather_struct("packet", st_packet, 0,
						sizeof(struct packet),
						SIDE_TYPE_GATHER_ACCESS_DIRECT), ));

int main(void)
{
	uint32_t words[] = {7, 8, 9};
	struct packet p = {5, 0x0030, "example", 3, words};

	side_event(ev_rx, side_arg_list(side_arg_gather_struct(&p)));
	return 0;
}
