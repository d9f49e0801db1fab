# SPDX-License-Identifier: MIT
"""The names of types, in the order of enum side_type_label."""
LABELS = """null bool u8 u16 u32 u64 u128 s8 s16 s32 s64 s128 byte pointer float16 float32 float64
float128 string string16 string32 struct variant optional array vla vla_visitor enum enum_bitmap
dynamic gather_bool gather_integer gather_byte gather_pointer gather_float gather_string gather_struct
gather_array gather_vla gather_enum dynamic_null dynamic_bool dynamic_integer dynamic_byte
dynamic_pointer dynamic_float dynamic_string dynamic_struct dynamic_struct_visitor dynamic_vla
dynamic_vla_visitor""".split()
LABEL = {name: number for number, name in enumerate(LABELS)}


def label_name(label):
    return LABELS[label] if label < len(LABELS) else f"unknown type {label}"
