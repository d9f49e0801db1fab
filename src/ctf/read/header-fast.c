/* SPDX-License-Identifier: MIT */
/* Checks whether the headers of a stream's records have the common form. */
#include "ctf/read/header-fast.h"
#include "ctf/type.h"

static bool is_bits(const struct ctf_type *type)
{
	return (type->kind == CTF_INTEGER || type->kind == CTF_ENUM) && !type->is_signed &&
			!type->big_endian && !type->leb128 && !type->reversed && type->align == 1;
}

/* True for a structure that contains only the remaining bits of the word, as a clock value. */
static bool is_time(const struct ctf_type *option, unsigned int size)
{
	const struct ctf_member *member = option->kind == CTF_STRUCT && option->member_count == 1
			? option->members
			: NULL;

	return member && option->align == 1 && is_bits(member->type) &&
			member->type->size == size && member->type->clock && !member->role &&
			member->slot < 0;
}

void ctf_fast_header_make(struct ctf_fast_header *fast, const struct ctf_type *header)
{
	const struct ctf_member *tag, *remainder;
	uint64_t known = 0;

	*fast = (struct ctf_fast_header){.slot = -1};
	if (CTF_HOST_BIG_ENDIAN || !header || header->kind != CTF_STRUCT || header->align != 8 ||
			header->member_count != 2)
		return;
	tag = &header->members[0];
	remainder = &header->members[1];
	if (!is_bits(tag->type) || tag->type->size > 6 || tag->type->clock ||
			tag->role != CTF_ROLE_EVENT_ID || remainder->type->kind != CTF_VARIANT ||
			remainder->type->slot != tag->slot)
		return;
	fast->tag_bits = tag->type->size;
	fast->slot = tag->slot;
	/* If several ranges contain a tag, the first one counts. */
	for (uint32_t i = 0; i < remainder->type->range_count; i++) {
		const struct ctf_option_range *range = &remainder->type->ranges[i];
		bool usual = is_time(remainder->type->members[range->option].type,
				32u - tag->type->size);

		for (uint64_t t = range->begin; t <= range->end && t >> tag->type->size == 0; t++) {
			if (!(known >> t & 1) && usual)
				fast->compact |= UINT64_C(1) << t;
			known |= UINT64_C(1) << t;
		}
	}
}
