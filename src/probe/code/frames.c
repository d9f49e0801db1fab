/* SPDX-License-Identifier: MIT */
/*
 * Reads the starts of functions from the unwind data (.eh_frame), also in stripped files, and the
 * exception handlers.
 */
#include "parts.h"
#include "base/inside/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LANDINGS_MAX ((size_t)4 << 20)
#define CALL_SITES_MAX ((size_t)32 << 20)
#define CIE_BYTES_MAX 4096

static int add_landing(struct code_file *file, uint64_t address)
{
	uint64_t *landings;

	if (!code_executable(file, address) || file->nr_landings >= LANDINGS_MAX)
		return 0;
	landings = code_grow(file->landings, file->nr_landings, &file->landings_capacity,
			sizeof(*landings));
	if (!landings)
		return -ENOMEM;
	file->landings = landings;
	landings[file->nr_landings++] = address;
	return 0;
}

/* Reads the call site table of one function: its exception handlers. */
static int read_landings(struct code_file *file, uint64_t table, uint64_t function)
{
	struct code_cursor cursor = {.address = table};
	uint64_t base = function, length;
	uint8_t encoding;

	cursor.bytes = code_bytes(file, table, &cursor.size);
	if (!cursor.bytes)
		return 0;
	encoding = (uint8_t)code_take(&cursor, 1);
	if (encoding != CODE_ENCODING_OMIT)
		base = code_take_pointer(&cursor, encoding & 0x7f);
	encoding = (uint8_t)code_take(&cursor, 1);
	if (encoding != CODE_ENCODING_OMIT)
		code_take_leb(&cursor, false);
	encoding = (uint8_t)code_take(&cursor, 1);
	length = code_take_leb(&cursor, false);
	if (cursor.bad || length > cursor.size - cursor.at)
		return 0;
	cursor.size = cursor.at + length;
	/*
	 * A damaged file may give one table to all functions; the limit bounds the time for all of
	 * them.
	 */
	while (!cursor.bad && cursor.at < cursor.size && file->call_sites++ < CALL_SITES_MAX) {
		uint64_t landing;

		code_take_pointer(&cursor, encoding & 0x0f);
		code_take_pointer(&cursor, encoding & 0x0f);
		landing = code_take_pointer(&cursor, encoding & 0x0f);
		code_take_leb(&cursor, false);
		if (!cursor.bad && landing && add_landing(file, base + landing))
			return -ENOMEM;
	}
	return 0;
}

static int add_frame(
		struct code_file *file, uint64_t address, uint64_t size, size_t cie, size_t fde)
{
	struct code_frame *frames;

	if (!size || !code_executable(file, address) || code_is_excluded(file, address))
		return 0;
	frames = code_grow(file->frames, file->nr_frames, &file->frames_capacity, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	file->frames = frames;
	frames[file->nr_frames++] = (struct code_frame){
			.address = address, .size = size, .cie = cie, .fde = fde};
	return 0;
}

static int read_fde(struct code_file *file, const struct code_cursor *all, size_t at, size_t length,
		const struct code_cie *cie)
{
	struct code_entry entry;

	/*
	 * Debuggers recognize the code to which signal handlers return by its bytes, so it must not
	 * change.
	 */
	if (cie->signal || !code_read_entry(all, at, length, cie, &entry))
		return 0;
	if (add_frame(file, entry.address, entry.size, cie->at, at))
		return -ENOMEM;
	return entry.landings ? read_landings(file, entry.landings, entry.address) : 0;
}

static int code_frame_read_all(struct code_file *file, const struct code_cursor *all)
{
	size_t at = 0, known = SIZE_MAX;
	struct code_cie cie = {.ok = false};

	file->frame_bytes = all->bytes;
	file->frame_size = all->size;
	file->frame_address = all->address;

	while (all->size - at >= 8) {
		size_t length = (size_t)code_read(all->bytes + at, 4);
		uint64_t back = code_read(all->bytes + at + 4, 4);

		at += 4;
		if (length == 0 || length >= 0xfffffff0 || length > all->size - at)
			break;
		if (back && back <= at && at - back != known) {
			size_t from = at - (size_t)back,
			       inner = (size_t)code_read(all->bytes + from, 4);

			known = from;
			cie = (struct code_cie){.ok = false};
			if (inner <= CIE_BYTES_MAX && inner <= all->size - from - 4)
				cie = code_read_cie(all, from + 4, inner);
		}
		if (back && back <= at && read_fde(file, all, at, length, &cie))
			return -ENOMEM;
		at += length;
	}
	return 0;
}

int code_read_frames(struct code_file *file)
{
	const struct code_section *section = code_section_named(file, ".eh_frame");
	struct code_cursor all = {0}, header = {.address = file->frame_header};

	all.bytes = code_section_bytes(file, section, &all.size);
	if (all.bytes) {
		all.address = section->address;
		return code_frame_read_all(file, &all);
	}
	/* Without section headers, the data is found by its header, as the unwinder finds it. */
	header.bytes = file->frame_header ? code_bytes(file, file->frame_header, &header.size)
					  : NULL;
	if (header.bytes && code_take(&header, 1) == 1) {
		uint8_t encoding = (uint8_t)code_take(&header, 1);

		code_take(&header, 2);
		all.address = code_take_pointer(&header, encoding & 0x7f);
		all.bytes = header.bad ? NULL : code_bytes(file, all.address, &all.size);
	}
	return all.bytes ? code_frame_read_all(file, &all) : 0;
}

static const struct code_frame *code_frame_find(const struct code_file *file, uint64_t address)
{
	size_t low = search_leading(i, file->nr_frames, file->frames[i].address <= address);

	if (!low || address - file->frames[low - 1].address >= file->frames[low - 1].size)
		return NULL;
	return &file->frames[low - 1];
}

bool code_rows_open(const struct code_file *file, uint64_t address, struct code_rows *ret_rows)
{
	const struct code_frame *frame = code_frame_find(file, address);
	const struct code_cursor all = {.bytes = file->frame_bytes,
			.size = file->frame_size,
			.address = file->frame_address};
	struct code_entry entry;
	struct code_cie cie;

	if (!frame)
		return false;
	cie = code_read_cie(&all, frame->cie, (size_t)code_read(all.bytes + frame->cie - 4, 4));
	if (!code_read_entry(&all, frame->fde, (size_t)code_read(all.bytes + frame->fde - 4, 4),
			    &cie, &entry))
		return false;
	code_rows_begin(&all, &entry, ret_rows);
	return true;
}
