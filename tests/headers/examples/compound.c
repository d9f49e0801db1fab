/* SPDX-License-Identifier: MIT */
#include <side/trace.h>

static side_define_struct(st_pos,
	side_field_list(side_field_s32("row"), side_field_s32("col")));
static side_define_array(ar_rgb, side_elem(side_type_u8()), 3);
static side_define_vla(vl_path, side_elem(side_type_struct(st_pos)), side_length(side_type_u32()));
static side_define_optional(op_note, side_elem(side_type_string()));
static side_define_variant(va_piece, side_type_u8(),
	side_option_list(
		side_option(0, side_type_null()),
		side_option_range(1, 6, side_type_string()),
	)
);
static side_define_enum(en_side,
	side_enum_mapping_list(
		side_enum_mapping_value("white", 0),
		side_enum_mapping_value("black", 1),
	)
);
static side_define_enum_bitmap(bm_castle,
	side_enum_bitmap_mapping_list(
		side_enum_bitmap_mapping_value("kingside", 0),
		side_enum_bitmap_mapping_value("queenside", 1),
	)
);

side_static_event(ev_move, "chess", "move", SIDE_LOGLEVEL_DEBUG,
	side_field_list(
		side_field_struct("from", st_pos),
		side_field_array("color", ar_rgb),
		side_field_vla("path", vl_path),
		side_field_optional("note", op_note),
		side_field_variant("taken", va_piece),
		side_field_enum("who", &en_side, side_elem(side_type_u8())),
		side_field_enum_bitmap("castle", &bm_castle, side_elem(side_type_u8())),
	)
);

int main(void)
{
	if (side_event_enabled(ev_move)) {
		side_arg_define_struct(from, side_arg_list(side_arg_s32(1), side_arg_s32(4)));
		side_arg_define_struct(to, side_arg_list(side_arg_s32(3), side_arg_s32(4)));
		side_arg_define_array(color, side_arg_list(side_arg_u8(10), side_arg_u8(20), side_arg_u8(30)));
		side_arg_define_vla(path, side_arg_list(side_arg_struct(from), side_arg_struct(to)));
		side_arg_define_optional(note, side_arg_string("e4"), SIDE_OPTIONAL_ENABLED);
		side_arg_define_variant(taken, side_arg_u8(0), side_arg_null());
		side_event_call(ev_move,
			side_arg_list(
				side_arg_struct(from),
				side_arg_array(color),
				side_arg_vla(path),
				side_arg_optional(note),
				side_arg_variant(taken),
				side_arg_u8(0),
				side_arg_u8(3),
			)
		);
	}
	return 0;
}
