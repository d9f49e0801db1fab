/* SPDX-License-Identifier: MIT */
/* Compound types. What the console tracer prints for it: */
/*= provider: chess, event: move, fields: { from: { fields: { row: { value: 1 }, col: { value: 4 } } }, color: { elements: [ { value: 10 }, { value: 20 }, { value: 30 } ] }, path: { elements: [ { fields: { row: { value: 1 }, col: { value: 4 } } }, { fields: { row: { value: 3 }, col: { value: 4 } } } ] }, note: { value: "e4" }, taken: { value: <NULL TYPE> }, who: { { value: 0 }, labels: [ "white" ] }, castle: { labels: [ "kingside", "queenside" ] } } */
/* Described as: */
/*: event description: provider: chess, event: move, fields: { from: { type: struct { fields: { row: { type: integer { size: 4, signedness: true, byte_order: "le" } }, col: { type: integer { size: 4, signedness: true, byte_order: "le" } } } } }, color: { type: array { length: 3, element: { type: integer { size: 1, signedness: false, byte_order: "le" } } } }, path: { type: vla { length: { type: integer { size: 4, signedness: false, byte_order: "le" } }, element: { type: struct { fields: { row: { type: integer { size: 4, signedness: true, byte_order: "le" } }, col: { type: integer { size: 4, signedness: true, byte_order: "le" } } } } } } }, note: { type: optional {type: string { unit_size: 1 } } }, taken: { type: variant { options: {type: integer { size: 1, signedness: false, byte_order: "le" } [ 0 ]: { type: null }, [ 1 - 6 ]: { type: string { unit_size: 1 } } } } }, who: { type: enum { labels: { [ 0 ]: "white", [ 1 ]: "black" }, element: {  { type: integer { size: 1, signedness: false, byte_order: "le" } } } } }, castle: { type: enum_bitmap { labels: { [ 0 ]: "kingside", [ 1 ]: "queenside" }, element: {  { type: integer { size: 1, signedness: false, byte_order: "le" } } } } } } */
#include <side/trace.h>

static side_define_struct(st_pos, side_field_list(side_field_s32("row"), side_field_s32("col")));
static side_define_array(ar_rgb, side_elem(side_type_u8()), 3);
static side_define_vla(vl_path, side_elem(side_type_struct(st_pos)), side_length(side_type_u32()));
static side_define_optional(op_note, side_elem(side_type_string()));
static side_define_variant(va_piece, side_type_u8(),
		side_option_list(side_option(0, side_type_null()),
				side_option_range(1, 6, side_type_string()), ));
static side_define_enum(en_side,
		side_enum_mapping_list(side_enum_mapping_value("white", 0),
				side_enum_mapping_value("black", 1), ));
static side_define_enum_bitmap(bm_castle,
		side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value("kingside", 0),
				side_enum_bitmap_mapping_value("queenside", 1), ));

side_static_event(ev_move, "chess", "move", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_struct("from", st_pos),
				side_field_array("color", ar_rgb), side_field_vla("path", vl_path),
				side_field_optional("note", op_note),
				side_field_variant("taken", va_piece),
				side_field_enum("who", &en_side, side_elem(side_type_u8())),
				side_field_enum_bitmap("castle", &bm_castle,
						side_elem(side_type_u8())), ));

int main(void)
{
	if (side_event_enabled(ev_move)) {
		side_arg_define_struct(from, side_arg_list(side_arg_s32(1), side_arg_s32(4)));
		side_arg_define_struct(to, side_arg_list(side_arg_s32(3), side_arg_s32(4)));
		side_arg_define_array(color,
				side_arg_list(side_arg_u8(10), side_arg_u8(20), side_arg_u8(30)));
		side_arg_define_vla(
				path, side_arg_list(side_arg_struct(from), side_arg_struct(to)));
		side_arg_define_optional(note, side_arg_string("e4"), SIDE_OPTIONAL_ENABLED);
		side_arg_define_variant(taken, side_arg_u8(0), side_arg_null());
		side_event_call(ev_move,
				side_arg_list(side_arg_struct(from), side_arg_array(color),
						side_arg_vla(path), side_arg_optional(note),
						side_arg_variant(taken), side_arg_u8(0),
						side_arg_u8(3), ));
	}
	return 0;
}
