/* SPDX-License-Identifier: MIT */
/* Computes addresses and lengths of gathered values (ABI reference, section 8.6). */
#include <errno.h>
#include <string.h>

#include "abi/visit.h"

int visit_gather_access(const void *base, uint64_t offset, unsigned int access_mode,
		const void **ret_address)
{
	const void *at = visit_gather_at(base, offset);

	if (!base)
		return -EFAULT;
	if (access_mode == SIDE_TYPE_GATHER_ACCESS_POINTER) {
		memcpy(ret_address, at, sizeof(*ret_address));
		if (!*ret_address)
			return -EFAULT;
		return 0;
	}
	*ret_address = at;
	return 0;
}

static int gather_load_string(const struct side_type_gather_string *type, const void *base,
		struct visit_value *ret_value)
{
	const void *address = NULL;
	int ret;

	ret = visit_gather_access(base, type->offset, side_enum_get(type->access_mode), &address);
	/* A NULL member is a NULL string; a NULL base is an error. */
	if (ret && !base)
		return ret;
	visit_load_string(&type->type, address, ret_value);
	return 0;
}

int visit_load_gather(const struct side_type *type, const void *base, struct visit_value *value)
{
	const struct side_type_gather *gather = &type->u.side_gather;
	const void *address;
	int ret;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_BOOL:
		ret = visit_gather_access(base, gather->u.side_bool.offset,
				side_enum_get(gather->u.side_bool.access_mode), &address);
		if (ret)
			return ret;
		return visit_load_bool(&gather->u.side_bool.type, gather->u.side_bool.offset_bits,
				address, value);
	case SIDE_TYPE_GATHER_INTEGER:
	case SIDE_TYPE_GATHER_POINTER:
		ret = visit_gather_access(base, gather->u.side_integer.offset,
				side_enum_get(gather->u.side_integer.access_mode), &address);
		if (ret)
			return ret;
		ret = visit_load_integer(&gather->u.side_integer.type,
				gather->u.side_integer.offset_bits, address, value);
		if (side_enum_get(type->type) == SIDE_TYPE_GATHER_POINTER)
			value->kind = VISIT_POINTER;
		return ret;
	case SIDE_TYPE_GATHER_BYTE:
		ret = visit_gather_access(base, gather->u.side_byte.offset,
				side_enum_get(gather->u.side_byte.access_mode), &address);
		if (ret)
			return ret;
		visit_load_byte(address, value);
		return 0;
	case SIDE_TYPE_GATHER_FLOAT:
		ret = visit_gather_access(base, gather->u.side_float.offset,
				side_enum_get(gather->u.side_float.access_mode), &address);
		if (ret)
			return ret;
		return visit_load_float(&gather->u.side_float.type, address, value);
	case SIDE_TYPE_GATHER_STRING:
		return gather_load_string(&gather->u.side_string, base, value);
	case SIDE_TYPE_GATHER_ENUM:
		return visit_load_gather(side_ptr_get(gather->u.side_enum.elem_type), base, value);
	default: return -EINVAL;
	}
}

/* The size of all elements of an inline array whose elements begin at base. */
static int gather_array_bytes(
		const struct side_type_array *array, const void *base, size_t *ret_bytes)
{
	const struct side_type *elem = side_ptr_get(array->elem_type);
	size_t stride, total = 0;
	uint32_t i;
	int ret;

	/* Only inline strings have different sizes; they make this loop necessary. */
	for (i = 0; i < array->length; i++) {
		ret = visit_gather_stride(elem, visit_gather_at(base, total), &stride);
		if (ret)
			return ret;
		if (side_enum_get(elem->type) != SIDE_TYPE_GATHER_STRING &&
				side_enum_get(elem->type) != SIDE_TYPE_GATHER_ARRAY) {
			total = stride * array->length;
			break;
		}
		total += stride;
	}
	*ret_bytes = total;
	return 0;
}

int visit_gather_stride(const struct side_type *type, const void *base, size_t *ret_stride)
{
	const struct side_type_gather *gather = &type->u.side_gather;
	unsigned int mode;
	size_t size;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_BOOL:
		mode = side_enum_get(gather->u.side_bool.access_mode);
		size = gather->u.side_bool.type.bool_size;
		break;
	case SIDE_TYPE_GATHER_INTEGER:
	case SIDE_TYPE_GATHER_POINTER:
		mode = side_enum_get(gather->u.side_integer.access_mode);
		size = gather->u.side_integer.type.integer_size;
		break;
	case SIDE_TYPE_GATHER_BYTE:
		mode = side_enum_get(gather->u.side_byte.access_mode);
		size = 1;
		break;
	case SIDE_TYPE_GATHER_FLOAT:
		mode = side_enum_get(gather->u.side_float.access_mode);
		size = gather->u.side_float.type.float_size;
		break;
	case SIDE_TYPE_GATHER_STRING:
		mode = side_enum_get(gather->u.side_string.access_mode);
		size = 0;
		if (mode == SIDE_TYPE_GATHER_ACCESS_DIRECT) {
			if (!base)
				return -EFAULT;
			size = visit_text_bytes(visit_gather_at(base, gather->u.side_string.offset),
					gather->u.side_string.type.unit_size);
		}
		break;
	case SIDE_TYPE_GATHER_ENUM:
		return visit_gather_stride(
				side_ptr_get(gather->u.side_enum.elem_type), base, ret_stride);
	case SIDE_TYPE_GATHER_STRUCT:
		mode = side_enum_get(gather->u.side_struct.access_mode);
		size = gather->u.side_struct.size;
		break;
	case SIDE_TYPE_GATHER_ARRAY:
		mode = side_enum_get(gather->u.side_array.access_mode);
		size = 0;
		if (mode == SIDE_TYPE_GATHER_ACCESS_DIRECT) {
			int ret = gather_array_bytes(&gather->u.side_array.type,
					visit_gather_at(base, gather->u.side_array.offset), &size);

			if (ret)
				return ret;
		}
		break;
	default: return -EINVAL;
	}
	*ret_stride = mode == SIDE_TYPE_GATHER_ACCESS_POINTER ? sizeof(void *) : size;
	return 0;
}

int visit_gather_length(const struct side_type_vla *vla, const void *base, uint32_t *ret_length)
{
	struct visit_value value;
	int ret = visit_load_gather(side_ptr_get(vla->length_type), base, &value);

	if (ret)
		return ret;
	if (value.hi || value.lo > UINT32_MAX)
		return -EINVAL;
	*ret_length = (uint32_t)value.lo;
	return 0;
}
