/* SPDX-License-Identifier: MIT */
/*
 * Builds the rows of a module from its unwind data (.eh_frame). The header (.eh_frame_hdr) has a
 * table of all entries in the order of their addresses, as linkers write it; a module without that
 * table has no rows.
 */
#include "unwind.h"

#include "probe/code/rows.h"

#define FRAME_POINTER 6
#define STACK_POINTER 7
#define WORD 8
#define CIE_BYTES_MAX 4096
#define FRAME_MAX 253 /* words */

/*
 * All linkers write it so: the count has 4 bytes; each entry is a pair of 4 bytes, relative to the
 * header.
 */
#define VERSION 1
#define COUNT_ENCODING 0x03
#define TABLE_ENCODING 0x3b

struct unwind_builder {
	const struct unwind_image *image;
	struct unwind_row *rows;
	size_t capacity, nr;
	struct unwind_row last;
	uint64_t end; /* of the code that has rows */
	/* The CIE that was read last. */
	size_t cie_at;
	struct code_cie cie;
};

static bool unwind_build_is_same_row(const struct unwind_row *one, const struct unwind_row *other)
{
	return one->kind == other->kind && one->distance == other->distance &&
			one->frame == other->frame;
}

static void unwind_build_add_row(
		struct unwind_builder *builder, uint64_t address, struct unwind_row row)
{
	uint64_t at = address - builder->image->lowest;

	if (at > UINT32_MAX || (builder->nr && unwind_build_is_same_row(&row, &builder->last)))
		return;
	row.at = (uint32_t)at;
	builder->last = row;
	if (builder->nr < builder->capacity)
		builder->rows[builder->nr] = row;
	builder->nr++;
}

static uint8_t unwind_build_frame_rule(const struct code_row *row)
{
	int64_t words = -row->frame_pointer_at / WORD;

	switch (row->frame_pointer) {
	case CODE_SAME: return UNWIND_FRAME_SAME;
	case CODE_AT_ITSELF: return UNWIND_FRAME_ITSELF;
	case CODE_AT_FRAME:
		if (words > 0 && words <= FRAME_MAX && words * WORD == -row->frame_pointer_at)
			return (uint8_t)words;
		return UNWIND_FRAME_LOST;
	default: return UNWIND_FRAME_LOST;
	}
}

static enum unwind_kind unwind_build_get_kind(const struct code_row *row)
{
	if (row->last)
		return UNWIND_LAST;
	if (!row->returns || row->offset % WORD || row->offset / WORD > INT16_MAX ||
			row->offset / WORD < INT16_MIN)
		return UNWIND_UNKNOWN;
	switch (row->base) {
	case CODE_BASE_PLAIN:
		return row->reg == STACK_POINTER            ? UNWIND_STACK
				: row->reg == FRAME_POINTER ? UNWIND_FRAME
							    : UNWIND_UNKNOWN;
	case CODE_BASE_INDIRECT: return row->reg == FRAME_POINTER ? UNWIND_SAVED : UNWIND_UNKNOWN;
	case CODE_BASE_SLOT: return UNWIND_SLOT;
	default: return UNWIND_UNKNOWN;
	}
}

static struct unwind_row unwind_build_row(const struct code_row *row, bool signal)
{
	enum unwind_kind kind = signal ? UNWIND_SIGNAL : unwind_build_get_kind(row);

	if (kind == UNWIND_SIGNAL || kind == UNWIND_UNKNOWN || kind == UNWIND_LAST)
		return (struct unwind_row){.kind = (uint8_t)kind};
	return (struct unwind_row){.kind = (uint8_t)kind,
			.distance = kind == UNWIND_SLOT ? row->slot : (int16_t)(row->offset / WORD),
			.frame = unwind_build_frame_rule(row)};
}

static void unwind_build_add_entry(struct unwind_builder *builder, const struct code_cursor *all,
		const struct code_entry *entry)
{
	uint64_t address = entry->address, end = address + entry->size, next;
	struct code_rows rows;

	/* In damaged data, addresses may decrease or overflow. */
	if (end < address || address < builder->end)
		return;
	if (address > builder->end)
		unwind_build_add_row(
				builder, builder->end, (struct unwind_row){.kind = UNWIND_UNKNOWN});
	code_rows_begin(all, entry, &rows);
	for (;;) {
		unwind_build_add_row(builder, address,
				unwind_build_row(code_rows_at(&rows, address), entry->cie.signal));
		if (!code_rows_next(&rows, &next) || next <= address || next >= end)
			break;
		address = next;
	}
	builder->end = end;
}

/* Returns the length at this offset, or 0 if it does not fit. */
static size_t unwind_build_length(const struct code_cursor *all, uint64_t at)
{
	size_t length;

	if (at > all->size || all->size - at < 8)
		return 0;
	length = (size_t)code_read(all->bytes + at, 4);
	return length >= 4 && length <= all->size - at - 4 ? length : 0;
}

static bool unwind_build_find_cie(
		struct unwind_builder *builder, const struct code_cursor *all, size_t entry)
{
	uint64_t back = code_read(all->bytes + entry, 4);
	size_t at, length;

	if (!back || back > entry)
		return false;
	at = entry - (size_t)back;
	if (at == builder->cie_at && builder->cie.ok)
		return true;
	length = unwind_build_length(all, at);
	if (!length || length > CIE_BYTES_MAX)
		return false;
	builder->cie = code_read_cie(all, at + 4, length);
	builder->cie_at = at;
	return builder->cie.ok;
}

static void unwind_build_add_entries(struct unwind_builder *builder, const struct code_cursor *all,
		const struct code_cursor *header, uint64_t count)
{
	struct code_cursor table = *header;

	while (count-- && !table.bad) {
		uint64_t at;
		struct code_entry entry;
		size_t length;

		code_take(&table, 4);
		at = builder->image->header + (uint64_t)(int64_t)(int32_t)code_take(&table, 4) -
				all->address;
		length = table.bad ? 0 : unwind_build_length(all, at);
		if (length && unwind_build_find_cie(builder, all, (size_t)at + 4) &&
				code_read_entry(all, (size_t)at + 4, length, &builder->cie, &entry))
			unwind_build_add_entry(builder, all, &entry);
	}
}

size_t unwind_build(const struct unwind_image *image, struct unwind_row *ret_rows, size_t capacity)
{
	struct code_cursor all = {image->bytes, 0, image->size, image->address, false};
	struct code_cursor header = all;
	struct unwind_builder builder = {.image = image,
			.rows = ret_rows,
			.capacity = capacity,
			.end = image->lowest};
	uint8_t frames, count, table;
	uint64_t nr;

	if (image->header < image->address || image->header - image->address >= image->size)
		return 0;
	header.at = (size_t)(image->header - image->address);
	if (code_take(&header, 1) != VERSION)
		return 0;
	frames = (uint8_t)code_take(&header, 1);
	count = (uint8_t)code_take(&header, 1);
	table = (uint8_t)code_take(&header, 1);
	code_take_pointer(&header, frames & 0x7f);
	if (header.bad || count != COUNT_ENCODING || table != TABLE_ENCODING)
		return 0;
	nr = code_take(&header, 4);
	if (!header.bad)
		unwind_build_add_entries(&builder, &all, &header, nr);
	if (builder.nr)
		unwind_build_add_row(
				&builder, builder.end, (struct unwind_row){.kind = UNWIND_UNKNOWN});
	return builder.nr;
}
