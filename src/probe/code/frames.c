/* SPDX-License-Identifier: MIT */
/*
 * What the unwinder's data (.eh_frame) says: where functions begin, also in stripped files, and where exceptions land.
 */
#include "parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENCODING_OMIT 0xff
#define LANDINGS_MAX ((size_t)4 << 20)
#define CALL_SITES_MAX ((size_t)32 << 20)
#define CIE_BYTES_MAX 4096

/* A place in the data; `bad` once something did not fit. */
struct cursor {
	const uint8_t *bytes;
	size_t at, size;
	uint64_t address; /* of bytes[0] */
	bool bad;
};

static uint64_t take(struct cursor *cursor, unsigned int width)
{
	uint64_t value;

	if (cursor->bad || width > cursor->size - cursor->at) {
		cursor->bad = true;
		return 0;
	}
	value = code_read(cursor->bytes + cursor->at, width);
	cursor->at += width;
	return value;
}

static uint64_t take_leb(struct cursor *cursor, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)take(cursor, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= ~(uint64_t)0 << shift;
	return value;
}

/* A pointer in the encoding that was said; `base`: what is added where it says so by itself. */
static uint64_t take_pointer(struct cursor *cursor, uint8_t encoding)
{
	uint64_t place = cursor->address + cursor->at, value;

	if (encoding == ENCODING_OMIT)
		return 0;
	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c: value = take(cursor, 8); break;
	case 0x01: value = take_leb(cursor, false); break;
	case 0x02: value = take(cursor, 2); break;
	case 0x03: value = take(cursor, 4); break;
	case 0x09: value = take_leb(cursor, true); break;
	case 0x0a: value = (uint64_t)(int64_t)(int16_t)take(cursor, 2); break;
	case 0x0b: value = (uint64_t)(int64_t)(int32_t)take(cursor, 4); break;
	default: cursor->bad = true; return 0;
	}
	switch (encoding & 0x70) {
	case 0x00: return value;
	case 0x10: return value ? value + place : 0;
	default: cursor->bad = true; return 0;
	}
}

struct cie {
	uint8_t pointer, lsda;
	bool augmented;
	bool signal; /* where signal handlers return: debuggers know that code by its bytes */
	bool ok;
	size_t at; /* behind its length */
};

static struct cie read_cie(const struct cursor *all, size_t at, size_t length)
{
	struct cursor cursor = {all->bytes, at, at + length, all->address, false};
	struct cie cie = {.pointer = 0, .lsda = ENCODING_OMIT, .at = at};
	const char *text;
	uint8_t version;

	take(&cursor, 4); /* that it is a CIE */
	version = (uint8_t)take(&cursor, 1);
	text = (const char *)cursor.bytes + cursor.at;
	while (!cursor.bad && take(&cursor, 1))
		;
	if (cursor.bad || (version != 1 && version != 3))
		return cie;
	take_leb(&cursor, false);
	take_leb(&cursor, true);
	if (version == 1)
		take(&cursor, 1);
	else
		take_leb(&cursor, false);
	if (*text != 'z') {
		cie.ok = !*text && !cursor.bad;
		return cie;
	}
	cie.augmented = true;
	take_leb(&cursor, false);
	for (text++; *text && !cursor.bad; text++) {
		uint8_t encoding;

		switch (*text) {
		case 'L': cie.lsda = (uint8_t)take(&cursor, 1); break;
		case 'R': cie.pointer = (uint8_t)take(&cursor, 1); break;
		case 'P':
			encoding = (uint8_t)take(&cursor, 1);
			take_pointer(&cursor, encoding & 0x7f);
			break;
		case 'S': cie.signal = true; break;
		case 'B': break;
		default: return cie;
		}
	}
	cie.ok = !cursor.bad;
	return cie;
}

static int add_landing(struct code_file *file, uint64_t address)
{
	uint64_t *landings;

	if (!code_executable(file, address) || file->nr_landings >= LANDINGS_MAX)
		return 0;
	landings = code_grow(
			file->landings, file->nr_landings, &file->landings_room, sizeof(*landings));
	if (!landings)
		return -ENOMEM;
	file->landings = landings;
	landings[file->nr_landings++] = address;
	return 0;
}

/* The table of call sites of one function: where its exceptions land. */
static int read_landings(struct code_file *file, uint64_t table, uint64_t function)
{
	struct cursor cursor = {.address = table};
	uint64_t base = function, length;
	uint8_t encoding;

	cursor.bytes = code_bytes(file, table, &cursor.size);
	if (!cursor.bytes)
		return 0;
	encoding = (uint8_t)take(&cursor, 1);
	if (encoding != ENCODING_OMIT)
		base = take_pointer(&cursor, encoding & 0x7f);
	encoding = (uint8_t)take(&cursor, 1);
	if (encoding != ENCODING_OMIT)
		take_leb(&cursor, false);
	encoding = (uint8_t)take(&cursor, 1);
	length = take_leb(&cursor, false);
	if (cursor.bad || length > cursor.size - cursor.at)
		return 0;
	cursor.size = cursor.at + length;
	/* A damaged file may give one table to all functions. */
	while (!cursor.bad && cursor.at < cursor.size && file->call_sites++ < CALL_SITES_MAX) {
		uint64_t landing;

		take_pointer(&cursor, encoding & 0x0f);
		take_pointer(&cursor, encoding & 0x0f);
		landing = take_pointer(&cursor, encoding & 0x0f);
		take_leb(&cursor, false);
		if (!cursor.bad && landing && add_landing(file, base + landing))
			return -ENOMEM;
	}
	return 0;
}

static int add_frame(
		struct code_file *file, uint64_t address, uint64_t size, size_t cie, size_t fde)
{
	struct code_frame *frames;

	if (!size || !code_executable(file, address) || code_is_plt(file, address))
		return 0;
	frames = code_grow(file->frames, file->nr_frames, &file->frames_room, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	file->frames = frames;
	frames[file->nr_frames++] = (struct code_frame){
			.address = address, .size = size, .cie = cie, .fde = fde};
	return 0;
}

static int read_fde(struct code_file *file, const struct cursor *all, size_t at, size_t length,
		const struct cie *cie)
{
	struct cursor cursor = {all->bytes, at + 4, at + length, all->address, false};
	uint64_t begin, size, table = 0;

	if (!cie->ok || cie->signal || length < 4)
		return 0;
	begin = take_pointer(&cursor, cie->pointer & 0x7f);
	size = take_pointer(&cursor, cie->pointer & 0x0f);
	if (cie->augmented) {
		take_leb(&cursor, false);
		if (cie->lsda != ENCODING_OMIT)
			table = take_pointer(&cursor, cie->lsda & 0x7f);
	}
	if (cursor.bad || add_frame(file, begin, size, cie->at, at))
		return cursor.bad ? 0 : -ENOMEM;
	return table ? read_landings(file, table, begin) : 0;
}

static int read_all(struct code_file *file, const struct cursor *all)
{
	size_t at = 0, known = SIZE_MAX;
	struct cie cie = {.ok = false};

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
			cie = (struct cie){.ok = false};
			if (inner <= CIE_BYTES_MAX && inner <= all->size - from - 4)
				cie = read_cie(all, from + 4, inner);
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
	struct cursor all = {0}, header = {.address = file->frame_header};

	all.bytes = code_section_bytes(file, section, &all.size);
	if (all.bytes) {
		all.address = section->address;
		return read_all(file, &all);
	}
	/* Without section headers the unwinder itself finds them so. */
	header.bytes = file->frame_header ? code_bytes(file, file->frame_header, &header.size)
					  : NULL;
	if (header.bytes && take(&header, 1) == 1) {
		uint8_t encoding = (uint8_t)take(&header, 1);

		take(&header, 2);
		all.address = take_pointer(&header, encoding & 0x7f);
		all.bytes = header.bad ? NULL : code_bytes(file, all.address, &all.size);
	}
	return all.bytes ? read_all(file, &all) : 0;
}
