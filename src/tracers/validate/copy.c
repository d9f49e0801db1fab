/* SPDX-License-Identifier: MIT */
/*
 * Keeps copies of descriptions, against which calls are checked: the program may change or free
 * what it has registered.
 *
 * A copy is decoded from the encoded description, which contains everything but functions. Those
 * come from the description itself, in the order of a walk over both.
 *
 * Copies are never freed; a library that is loaded again gets its previous copy.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/inside/hash.h"
#include "tracers/validate/copy.h"
#include "tracers/validate/memory.h"

#define BUCKETS 1024u

static struct validate_copy *copies[BUCKETS];

struct functions {
	side_visitor_func *at;
	size_t nr, capacity;
};

static int validate_copy_collect_function(void *priv, const struct visit_node *node)
{
	struct functions *functions = priv;
	side_visitor_func *more;
	size_t capacity;

	if (side_enum_get(node->type->type) != SIDE_TYPE_VLA_VISITOR)
		return 0;
	if (functions->nr == functions->capacity) {
		capacity = functions->capacity ? 2 * functions->capacity : 4;
		more = realloc(functions->at, capacity * sizeof(*more));
		if (!more)
			return -ENOMEM;
		functions->at = more;
		functions->capacity = capacity;
	}
	functions->at[functions->nr++] =
			side_ptr_get(side_ptr_get(node->type->u.side_vla_visitor)->visitor);
	return 0;
}

static int validate_copy_set_function(void *priv, const struct visit_node *node)
{
	struct functions *functions = priv;
	struct side_type_vla_visitor *visitor;

	if (side_enum_get(node->type->type) != SIDE_TYPE_VLA_VISITOR)
		return 0;
	/* The program changed the description between the two walks. */
	if (functions->nr == functions->capacity)
		return -EINVAL;
	/* The copy is writable: this module allocated it. */
	visitor = (struct side_type_vla_visitor *)(uintptr_t)side_ptr_get(
			node->type->u.side_vla_visitor);
	side_ptr_set(visitor->visitor, functions->at[functions->nr++]);
	return 0;
}

static void validate_copy_free(struct validate_copy *copy)
{
	visit_owned_free(copy->owned);
	free(copy->bytes);
	free(copy->visitors);
	free(copy);
}

static bool validate_copy_is_same(
		const struct validate_copy *one, const struct validate_copy *other)
{
	return one->size == other->size && one->nr_visitors == other->nr_visitors &&
			!memcmp(one->bytes, other->bytes, one->size) &&
			(!one->nr_visitors ||
					!memcmp(one->visitors, other->visitors,
							one->nr_visitors * sizeof(*one->visitors)));
}

static struct validate_copy **validate_copy_hash_bucket(const struct validate_copy *copy)
{
	uint32_t hash = hash_fnv1a_32(HASH_FNV1A_32_BEGIN, copy->bytes, copy->size);

	return &copies[hash % BUCKETS];
}

static struct validate_copy *validate_copy_find(
		struct validate_copy *first, const struct validate_copy *wanted)
{
	for (; first && !validate_copy_is_same(first, wanted); first = first->next)
		;
	return first;
}

/* Build the copy from copy->bytes. */
static int validate_copy_build(const struct side_event_description *desc,
		struct validate_copy *copy, struct visit_error *error)
{
	static const struct visit_description_ops
			take = {.type_begin = validate_copy_collect_function},
			give = {.type_begin = validate_copy_set_function};
	struct functions functions = {.at = NULL};
	int ret = visit_description_decode(copy->bytes, copy->size, &copy->owned, error);

	/* The whole description is readable, so it can be walked directly. */
	if (!ret)
		ret = visit_description(desc, &take, &functions, error);
	copy->visitors = functions.at;
	copy->nr_visitors = functions.nr;
	functions.capacity = functions.nr;
	functions.nr = 0;
	return ret ? ret : visit_description(copy->owned->desc, &give, &functions, error);
}

int validate_copy_get(const struct side_event_description *desc,
		const struct validate_copy **ret_copy, struct visit_error *error)
{
	static const struct visit_memory memory = {
			.read = validate_memory_read, .byte_order = SIDE_TYPE_BYTE_ORDER_HOST};
	struct validate_copy *copy = calloc(1, sizeof(*copy)), *known, **bucket;
	struct visit_buffer bytes;
	int ret;

	memset(error, 0, sizeof(*error));
	*ret_copy = NULL;
	if (!copy) {
		(void)snprintf(error->what, sizeof(error->what), "out of memory: cannot read it");
		return -ENOMEM;
	}
	visit_buffer_heap(&bytes);
	ret = visit_description_read(&memory, (uintptr_t)desc, &bytes, error);
	copy->bytes = bytes.data;
	copy->size = bytes.size;
	if (!ret)
		ret = validate_copy_build(desc, copy, error);
	if (ret) {
		validate_copy_free(copy);
		return ret;
	}
	bucket = validate_copy_hash_bucket(copy);
	known = validate_copy_find(*bucket, copy);
	if (known) {
		validate_copy_free(copy);
	} else {
		copy->next = *bucket;
		*bucket = known = copy;
	}
	*ret_copy = known;
	return 0;
}
